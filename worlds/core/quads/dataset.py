"""The default graph of a query that names none, and which graphs are the world's own."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, Ids
from worlds.core.quads.rows import quads_of
from worlds.graph.query.query import Query
from worlds.sql import OWN_GRAPHS, statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
SHAPES_GRAPH, QUESTIONS_GRAPH, LINKS_GRAPH = _OWN = tuple(map(ox.NamedNode, OWN_GRAPHS))
"""The named graphs of a world's own SHACL shapes, of its kept questions, and of the rules by which links are made: no
text, in no union, not validated."""

DefaultGraphSetting: TypeAlias = Literal["strict", "union"]


def default_graph(connection: Connection) -> DefaultGraphSetting:
    """The world's setting: "strict", the default graph alone, or "union", all graphs together."""
    return "union" if connection.meta("default_graph") == "union" else "strict"


def set_default_graph(connection: Connection, setting: DefaultGraphSetting) -> None:
    """Store the setting in the file; ValueError for an unknown one."""
    if setting not in get_args(DefaultGraphSetting):
        raise ValueError(f"default_graph must be 'strict' or 'union', not {setting!r}")
    with connection.transaction():
        connection.run(_SQL["set_meta"], ("default_graph", setting))


def own_graphs(dictionary: Dictionary) -> Ids:
    """The ids of the world's own graphs, as far as it has them."""
    return np.array([number for number in dictionary.find(_OWN) if number is not None], dtype=np.int64)


def of_data(dictionary: Dictionary, quads: Ids) -> Ids:
    """The rows, int64 [n, 4 or more] with a graph as the fourth column, that are in none of the own graphs."""
    own = own_graphs(dictionary)
    return quads[~np.isin(quads[:, 3], own)] if len(own) else quads


def own_named(query: Query) -> tuple[ox.NamedNode, ...]:
    """The world's own graphs that a query names, in full or by a prefix."""
    given = (*(query.default_graphs or ()), *(query.named_graphs or ()), *query.bindings.values())
    space = _OWN[0].value.rpartition(":")[0]
    known = space in query.text or f"{space}:" in query.prefixes.values()
    return tuple(
        graph
        for graph in _OWN
        if graph in given or graph.value in query.text or (known and f":{graph.value.rpartition(':')[2]}" in query.text)
    )


def quads_named(
    connection: Connection, dictionary: Dictionary, query: Query
) -> tuple[tuple[ox.NamedNode, ...], list[ox.Quad]]:
    """The world's own graphs that a query names, which no union has, and their quads."""
    own = own_named(query)
    return own, [quad for one in dictionary.find(own) for quad in quads_of(connection, dictionary, one)]
