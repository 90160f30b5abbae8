"""The likeness of two names as they are written, and the effect of evidence on the chances of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_ALMOST = 0.99  # of names that are not equal
_WORD = 64  # characters of a name that fit into a machine word
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LIKELY = 0.75  # chance of a match: below it, too many are wrong
_APART = 0.2  # by how much the best has to lead


@lru_cache(maxsize=1 << 15)  # candidates are compared by each reading, then by the best one, as are names of a batch
def likeness(one: str, other: str) -> float:
    """The similarity of two normalised names, from 0 to 1; 1 only if they are equal.

    The share of characters in matching blocks (Ratcliff and Metzener 1988), as difflib's SequenceMatcher counts it.
    """
    if one == other:
        return 1.0
    return min(2.0 * _matching(one, other) / (len(one) + len(other)), _ALMOST)


def _matching(one: str, other: str) -> int:
    """The characters of the longest block that two texts share, of the longest before it and after it, and so on."""
    places, total = _places(other), 0
    waiting = [(0, len(one), 0, len(other))]
    while waiting:
        start, end, low, high = waiting.pop()
        at = to = size = 0
        before: dict[int, int] = {}  # how long the block is that ends at a place of the other
        for place in range(start, end):
            ends: dict[int, int] = {}
            for met in places.get(one[place], ()):
                if low <= met < high:
                    length = ends[met] = before.get(met - 1, 0) + 1
                    if length > size:
                        at, to, size = place - length + 1, met - length + 1, length
            before = ends
        if size:
            total += size
            if at > start and to > low:
                waiting.append((start, at, low, to))
            if at + size < end and to + size < high:
                waiting.append((at + size, end, to + size, high))
    return total


@lru_cache(maxsize=1 << 13)
def _places(text: str) -> dict[str, list[int]]:
    """Character → its positions in a text."""
    found: dict[str, list[int]] = {}
    for at, each in enumerate(text):
        found.setdefault(each, []).append(at)
    return found


def bounds(name: str, others: Sequence[str]) -> NDArray[np.float64]:
    """How alike a normal name and each of others, one at least, can be at most.

    Matching blocks are a common subsequence. The longest takes a step for each character of the others, of all at once
    (Hyyrö 2004, Bit-parallel LCS-length computation revisited); of a name beyond 64 characters only lengths count.
    """
    lengths = np.array([len(other) for other in others])
    short = len(name) <= _WORD
    common = _common(name, others, int(lengths.max())) if short else np.minimum(lengths, len(name))
    most = np.minimum(2.0 * common / np.maximum(lengths + len(name), 1), _ALMOST)
    return np.where([other == name for other in others], 1.0, most)


def _common(name: str, others: Sequence[str], width: int) -> NDArray[np.int64]:
    """The lengths of the longest common subsequences."""
    shown = np.array(others, dtype=f"U{max(width, 1)}").view(np.uint32).reshape(len(others), -1)
    own = np.array(sorted(set(name)) or [""], dtype="U1").view(np.uint32)
    bits = np.array(
        [sum(1 << at for at, each in enumerate(name) if ord(each) == code) for code in own], dtype=np.uint64
    )
    at = np.minimum(np.searchsorted(own, shown), len(own) - 1)
    steps = np.where((own[at] == shown) & (shown > 0), bits[at], np.uint64(0))
    state = np.full(len(others), _ALL)
    for step in steps.T:
        met = state & step
        state = (state + met) | (state - met)
    low = _ALL >> np.uint64(_WORD - len(name)) if name else np.uint64(0)
    common: NDArray[np.int64] = np.bitwise_count(~state & low).astype(np.int64)
    return common


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
