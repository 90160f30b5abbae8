"""Arrays of quads, beside what sorting tuples gives."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from worlds.core.quads.rows import NO_QUADS, difference, in_storing_order, unique_quads

few = st.lists(st.tuples(*[st.sampled_from([0, 1, 2, 7, 2**31 - 1])] * 4), max_size=40)


@given(few, few)
def test_distinct_in_order(rows: list[tuple[int, int, int, int]], others: list[tuple[int, int, int, int]]) -> None:
    quads, rest = (np.array(given, dtype=np.int64).reshape(-1, 4) for given in (rows, others))
    assert list(map(tuple, unique_quads(quads).tolist())) == sorted(set(rows))
    stored = sorted(set(rows), key=lambda row: (row[3], row[1], row[2], row[0]))
    assert list(map(tuple, in_storing_order(quads).tolist())) == stored
    left = difference(unique_quads(quads), unique_quads(rest)) if rows else NO_QUADS
    assert sorted(map(tuple, left.tolist())) == sorted(set(rows) - set(others))


def test_many_graphs() -> None:
    quads = np.array([[1, 2, 3, 70_000 - graph] for graph in range(70_000)], dtype=np.int64)
    assert in_storing_order(np.concatenate([quads, quads])).tolist() == quads[::-1].tolist()
