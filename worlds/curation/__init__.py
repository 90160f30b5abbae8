"""Curation: duplicates merged and split, changes proposed and decided."""
