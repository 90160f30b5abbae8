"""How many: the limit that the verbs on entities take."""

from __future__ import annotations

from numbers import Integral


def check_limit(limit: object, name: str = "limit", least: int = 1) -> None:
    """ValueError unless it is a whole number from `least` on."""
    if isinstance(limit, bool) or not isinstance(limit, Integral) or int(limit) < least:
        raise ValueError(f"{name} must be a whole number from {least} on, not {limit!r}")
