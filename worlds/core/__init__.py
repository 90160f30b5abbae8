"""Quads, texts, vectors, search, SPARQL, history and views of one file: a library of its own, which knows no extra."""
