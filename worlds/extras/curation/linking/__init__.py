"""Which entities texts name, and the links that are missing."""
