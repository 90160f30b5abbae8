"""Rules that data shall keep: SHACL shapes, checked over the quads' table as sets of term ids."""
