"""Entities: which one a name means, which are alike, what is said of one, and what kinds there are."""
