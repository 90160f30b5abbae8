"""When quads hold: the intervals that their reifiers tell."""
