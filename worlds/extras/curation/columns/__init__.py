"""The quads of a world as columns of ids: what its vocabularies declare of them, and values as numbers."""
