"""What an assistant was told, for whom, until it is forgotten: graphs that stand aside, read through scopes."""
