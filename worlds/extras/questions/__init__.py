"""Questions in words: which kind each is, the query that answers it, and those that were answered before."""
