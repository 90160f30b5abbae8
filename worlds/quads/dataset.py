"""What the default graph of a query is, where the query does not say, and which graphs are the world's own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.query.query import Query
from worlds.quads.dictionary import Dictionary, Ids
from worlds.quads.rows import quads_of
from worlds.sql import MEMORY, OWN_GRAPHS, statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_named_memory = re.compile(f"<({MEMORY}[^<>\\s#]+)>")
SHAPES_GRAPH, QUESTIONS_GRAPH = _OWN = tuple(map(ox.NamedNode, OWN_GRAPHS))
"""The named graphs of a world's own SHACL shapes, and of its kept questions: no text, in no union, not validated."""

SCOPE_ALONE = "a memory is for who has a scope that names it"
"""What is told where memories are hidden, whether the one that was named is there or not."""

DefaultGraphSetting: TypeAlias = Literal["strict", "union"]


def default_graph(connection: Connection) -> DefaultGraphSetting:
    """The world's setting: "strict", the default graph alone, or "union", all graphs together."""
    return "union" if connection.meta("default_graph") == "union" else "strict"


def set_default_graph(connection: Connection, setting: DefaultGraphSetting) -> None:
    """Store the setting in the file; ValueError for what is none."""
    if setting not in get_args(DefaultGraphSetting):
        raise ValueError(f"default_graph is 'strict' or 'union', not {setting!r}")
    with connection.transaction():
        connection.run(_SQL["set_meta"], ("default_graph", setting))


def own_graphs(dictionary: Dictionary) -> Ids:
    """The ids of the world's own graphs, as far as it has them."""
    return np.array([number for number in dictionary.find(_OWN) if number is not None], dtype=np.int64)


def of_data(dictionary: Dictionary, quads: Ids, kept: Sequence[int | None] = ()) -> Ids:
    """The rows, int64 [n, 4 or more] with a graph as the fourth column, that are in no own graph but those `kept`."""
    own = np.array([number for number in own_graphs(dictionary).tolist() if number not in kept], dtype=np.int64)
    return quads[~np.isin(quads[:, 3], own)] if len(own) else quads


def is_memory(name: object) -> bool:
    """Whether it is the name of a memory's graph, as a term or as text."""
    return str(getattr(name, "value", name)).removeprefix("<").startswith(MEMORY)


def own_named(query: Query) -> tuple[ox.NamedNode, ...]:
    """Which of the world's own graphs a query names, in full or by a prefix."""
    given = (*(query.default_graphs or ()), *(query.named_graphs or ()), *query.bindings.values())
    space = _OWN[0].value.rpartition(":")[0]
    known = space in query.text or f"{space}:" in query.prefixes.values()
    return tuple(
        graph
        for graph in _OWN
        if graph in given or graph.value in query.text or (known and f":{graph.value.rpartition(':')[2]}" in query.text)
    )


def quads_named(
    connection: Connection,
    dictionary: Dictionary,
    query: Query,
    remembered: Callable[[ox.NamedNode], Iterable[ox.Quad]] | None,
    *,
    on_disk: bool,
) -> tuple[list[ox.NamedNode], list[ox.Quad]]:
    """The graphs that a query names of those that no union has, and their quads.

    They are the world's own, and memories in full, where these stand aside and `remembered` gives what one shows.
    QueryError where a memory would come into an index `on_disk`.
    """
    own = list(own_named(query))
    quads = [quad for one in dictionary.find(own) for quad in quads_of(connection, dictionary, one)]
    given = (*(query.default_graphs or ()), *(query.named_graphs or ()), *query.bindings.values())
    names = [one.value for one in given if isinstance(one, ox.NamedNode) and one.value.startswith(MEMORY)]
    names += _named_memory.findall(query.text)
    for name in dict.fromkeys(names):
        if remembered is None:
            break
        if on_disk:
            told = f"memories are not written to this world's SPARQL index on disk: only(graphs=[…]) answers for {name}"
            raise QueryError(told)
        own.append(ox.NamedNode(name))
        quads += remembered(own[-1])
    return own, quads
