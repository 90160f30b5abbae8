"""Agent memory by scopes, until it is forgotten: graphs that stand aside, read through scopes."""
