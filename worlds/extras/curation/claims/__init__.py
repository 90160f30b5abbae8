"""Whether a claim holds, and why."""
