"""Worlds on a server: replicas of them here, what follows, and what serves."""
