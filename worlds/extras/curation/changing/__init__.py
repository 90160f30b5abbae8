"""Changes that are decided on: merges and splits, proposals, the shapes that guard a world."""
