"""The effect of evidence on the chances that candidates are meant."""

from __future__ import annotations

from collections.abc import Sequence

from worlds.extras.entities.likeness import likeness

_LIKELY = 0.75  # chance of a match: below it, too many are wrong
_APART = 0.2  # by how much the best has to lead


def stands_out(chances: Sequence[float]) -> bool:
    """Whether the first of chances, the greatest, is that of a match: likely, and well before the next."""
    return bool(chances) and chances[0] >= _LIKELY and chances[0] - max(chances[1:], default=0.0) >= _APART


def weighed(chances: Sequence[float], ratios: Sequence[float]) -> list[float]:
    """Chances, of which one at most comes true, after evidence that is so much likelier where it does.

    The evidence is as likely as 1 where none does.
    """
    found = []
    for at, (chance, ratio) in enumerate(zip(chances, ratios, strict=True)):
        rivals = [(other, ratios[place]) for place, other in enumerate(chances) if place != at]
        none = max(0.0, 1.0 - chance - sum(other for other, _ in rivals))
        against = sum(other * each for other, each in rivals) + none
        mean = against / (sum(other for other, _ in rivals) + none or 1.0)
        found.append(chance * ratio / (chance * ratio + (1.0 - chance) * mean or 1.0))
    return found


def alike(value: str, other: str, *, times: bool = False) -> float:
    """How alike two values are, from 0 to 1: numbers are equal or not, `times` if one begins with the other."""
    if times and min(len(value), len(other)) >= len("2026"):
        return float(value.startswith(other) or other.startswith(value))
    try:
        return float(float(value) == float(other))
    except ValueError:
        return likeness(" ".join(value.casefold().split()), " ".join(other.casefold().split()))
