"""How alike many pairs of texts are written, against the table that textbooks fill."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.extras.curation.duplicates.string_similarity import Spellings


def longest_common_subsequence(one: str, other: str) -> int:
    row = [0] * (len(other) + 1)
    for a in one:
        before = 0
        for at, b in enumerate(other, 1):
            before, row[at] = row[at], before + 1 if a == b else max(row[at], row[at - 1])
    return row[-1]


TEXTS = st.text(st.sampled_from("abcdé中🚀"), max_size=140)


@given(st.lists(TEXTS, min_size=2, max_size=6))
def test_ratios_are_those_of_the_longest_common_subsequence(texts: list[str]) -> None:
    left, right = (side.ravel() for side in np.meshgrid(np.arange(len(texts)), np.arange(len(texts))))
    spelt = Spellings(texts)
    found = spelt.ratios(left, right)
    for a, b, ratio in zip(left.tolist(), right.tolist(), found.tolist(), strict=True):
        one, other = texts[a][:128], texts[b][:128]
        if a == b:
            assert ratio == 1
        elif 2 * min(len(one), len(other)) < max(len(one), len(other)):
            assert ratio == 0
        else:
            total = max(len(one) + len(other), 1)
            assert ratio == pytest.approx(2 * longest_common_subsequence(one, other) / total)
    begins = spelt.begins(left, right).tolist()
    for a, b, does in zip(left.tolist(), right.tolist(), begins, strict=True):
        short, long = sorted((texts[a][:128], texts[b][:128]), key=len)
        assert does == long.startswith(short)
