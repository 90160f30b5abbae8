"""RDF: terms, formats, SPARQL. Knows nothing of search or of the World."""
