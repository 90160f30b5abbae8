"""Solutions in the text of a query: they are the same terms when it is evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyoxigraph as ox
from hypothesis import given
from hypothesis import strategies as st

from worlds.graph.query.tables import Tables

S = ox.NamedNode("http://ex/s")
TERMS = [
    None,
    S,
    ox.NamedNode("http://ex/a/../b"),
    ox.NamedNode("urn:worlds:term:test:0"),
    ox.BlankNode("b"),
    ox.Literal('a\n"b"\\u0041'),
    ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL),
    ox.Literal("1", datatype=ox.NamedNode("http://ex/./type")),
    ox.Triple(S, S, ox.Literal("x")),
]


@given(st.lists(st.tuples(*[st.sampled_from(TERMS)] * 2), max_size=6))
def test_a_table_gives_its_rows(rows: list[tuple[Any, Any]]) -> None:
    functions: dict[Any, Callable[..., Any]] = {}
    table = Tables("test", functions).table(["a", "stand_in0_a"], rows)
    query = f"BASE <http://other/> SELECT ?a ?stand_in0_a {{ {table} }}"
    found: Any = ox.Store().query(query, custom_functions=functions)
    assert [tuple(row) for row in found] == rows


def test_rows_without_columns_are_counted() -> None:
    found: Any = ox.Store().query(f"SELECT * {Tables('test', {}).table([], [[], []])}")
    assert len(list(found)) == 2
