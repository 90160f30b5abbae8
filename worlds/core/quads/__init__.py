"""Quads as ids: the dictionary of terms, the tables of quads, what matches a pattern, and their export."""
