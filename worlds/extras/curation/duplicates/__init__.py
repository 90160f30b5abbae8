"""Which entities may be one."""
