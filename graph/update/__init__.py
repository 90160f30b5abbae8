"""SPARQL updates as the quads that they add and remove."""
