"""Conclusions from the quads of a world by rules: kept beside the quads, in step with them, and explained."""
