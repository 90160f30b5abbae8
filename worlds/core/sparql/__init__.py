"""SPARQL over a world: pyoxigraph's index of it, its cache, queries, updates, and the searches in them."""
