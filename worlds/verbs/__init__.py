"""The verbs of a world, a module for each kind; `worlds.world.World` is all of them."""
