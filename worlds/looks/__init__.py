"""How a world is looked at: one class of worlds, and what a view of one does differently."""
