"""Every write is a revision: the gate that makes it, and the history that tells, compares and undoes it."""
