"""A world's file: opened, checked, counted, backed up, compacted."""
