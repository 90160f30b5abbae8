"""Search inside SPARQL."""
