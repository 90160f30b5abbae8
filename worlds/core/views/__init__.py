"""A world seen through some of its graphs: what it reads, what it writes, and nothing beside."""
