"""`worlds.adapters.rdflib_store` under its earlier name."""

from worlds.adapters.rdflib_store import WorldsStore

__all__ = ["WorldsStore"]
