"""The default graph is a set, however many graphs it is made of."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.graph.test_graph_operator import DATA, GRAPHS, asked, datasets, patterns, stored
from tests.support.algebra import Dataset, Pattern, counted, solutions, written
from worlds import QueryError
from worlds.graph.query.default_graph import MergedStores
from worlds.graph.query.evaluation import run
from worlds.graph.query.query import Query


@pytest.mark.parametrize("how", ["union", "from", "outside"])
@given(data=datasets, pattern=patterns(2), listed=st.lists(st.sampled_from(GRAPHS), min_size=1, max_size=3))
def test_a_triple_of_several_graphs_is_one(how: str, data: Dataset, pattern: Pattern, listed: list[Any]) -> None:
    triples = {triple for name in listed for triple in data.named.get(name, ())}
    clause, named = "", data.named
    options: dict[str, Any] = {}
    listed = [*listed, listed[0]]  # a graph that is named twice is one
    if how == "union":
        options = {"union": True}
        triples = set(data.default).union(*data.named.values())
    elif how == "from":
        clause = " ".join(f"FROM {name}" for name in listed) + f" FROM NAMED {GRAPHS[0]}"
        named = {GRAPHS[0]: data.named.get(GRAPHS[0], frozenset())}
    else:
        options = {"default_graphs": listed}
    query = Query(f"SELECT * {clause} {{ {written(pattern)} }}", **options)
    seen = Dataset(frozenset(triples), named)
    expected = counted(solutions(seen, pattern))
    assert asked(data, query) == expected, query.text


@given(before=datasets, after=datasets)
def test_what_is_merged_follows_changes(before: Dataset, after: Dataset) -> None:
    store, later = stored(before), stored(after)
    merging = MergedStores()
    merging.wanted = lambda *_: True  # type: ignore[method-assign]  # as a small world has it
    query = Query("SELECT * { ?s ?p ?o OPTIONAL { GRAPH ?g { ?s ?p ?o } } }", union=True)
    pattern = ("optional", (triple := ("triples", (("s", "p", "o"),))), ("graph", "g", triple), None)
    for data, other in ((before, later), (after, stored(before)), (before, later)):
        found: Any = run(store, query, merging=merging)
        columns = [variable.value for variable in found.variables]
        seen = Dataset(data.default.union(*data.named.values()), data.named)
        assert counted(dict(zip(columns, one, strict=True)) for one in found) == counted(solutions(seen, pattern))
        removed, added = [one for one in store if one not in other], [one for one in other if one not in store]
        names = {*store.named_graphs(), *other.named_graphs()}
        for quad in removed:
            store.remove(quad)
        store.extend(added)
        for name in names:
            (store.add_graph if other.contains_named_graph(name) else store.remove_graph)(name)
        merging.follow(removed, added, names)


def test_a_mistake_beside_from_keeps_its_place() -> None:
    with pytest.raises(QueryError, match="line 1, column"):
        asked(DATA, Query("SELECT * FROM <urn:g0> FROM <urn:g1> { ?s ?p }"))
    with pytest.raises(QueryError):
        asked(DATA, Query("SELECT * FROM"))


def test_names_are_resolved_as_the_query_has_them() -> None:
    text = (
        "BASE <urn:> PREFIX : <urn:> SELECT (COUNT(*) AS ?n) FROM :g0 FROM <urn:g1> { ?s ?p ?o FILTER('FROM' != ?o) }"
    )
    store = stored(Dataset(frozenset(), {GRAPHS[0]: DATA.named[GRAPHS[0]], GRAPHS[1]: DATA.named[GRAPHS[0]]}))
    (row,) = run(store, Query(text))  # type: ignore[misc]  # a SELECT
    assert row[0] == ox.Literal(2)
