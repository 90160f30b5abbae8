"""RDF: terms, formats, SPARQL. Knows nothing of search or of the World.

It is imported as `worlds.graph`; CONTRIBUTING.md says why it stands beside `worlds`.
"""
