"""The rooms of a world: the verbs of one capability each, as attributes of `World`."""
