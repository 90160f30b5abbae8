"""A vocabulary as a static web site."""
