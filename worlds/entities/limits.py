"""How many: the limit that the verbs on entities take."""

from __future__ import annotations

from numbers import Integral


def check_limit(limit: object, name: str = "limit") -> None:
    """ValueError unless it is a whole number from 1 on."""
    if isinstance(limit, bool) or not isinstance(limit, Integral) or int(limit) < 1:
        raise ValueError(f"{name} is a whole number from 1 on, not {limit!r}")
