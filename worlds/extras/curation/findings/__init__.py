"""Faults in a world, certain or likely: contradictions, and the report on all of them."""
