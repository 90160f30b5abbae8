"""Worlds: an embedded RDF knowledge-graph engine with hybrid retrieval."""
