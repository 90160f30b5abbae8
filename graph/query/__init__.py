"""SPARQL queries: their text read, guarded and repaired; evaluated within limits; their results."""
