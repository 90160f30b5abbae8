"""What is wrong in a world, or may be: contradictions, and the report on all of it."""
