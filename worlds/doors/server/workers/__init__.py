"""The worker processes, in which every job runs that touches a world."""
