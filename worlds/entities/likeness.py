"""How alike two names are written, and how alike they can be at most, which many are asked at once."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_ALMOST = 0.99  # of names that are not equal
_WORD = 64  # characters of a name that fit into a machine word
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


@lru_cache(maxsize=4096)  # candidates are compared by each reading, then by the best one
def likeness(one: str, other: str) -> float:
    """How alike two normal names are written, from 0 to 1; 1 only where they are equal."""
    if one == other:
        return 1.0
    return min(SequenceMatcher(None, one, other, autojunk=False).ratio(), _ALMOST)


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
