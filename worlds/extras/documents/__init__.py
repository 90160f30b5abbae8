"""Documents as quads: Markdown, text and HTML."""
