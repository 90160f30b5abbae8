"""Capabilities on top of the core, a room for each; they know the core, and of each other what pyproject.toml lists."""
