"""Several worlds as one."""
