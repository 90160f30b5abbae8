"""Which literals are text, how a text is cut into chunks, and the chunks kept in step with the quads."""
