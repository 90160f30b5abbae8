"""Tables as quads, by a mapping: a subset of CSVW's metadata, written by hand or proposed from the table itself."""
