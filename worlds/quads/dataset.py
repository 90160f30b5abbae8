"""What the default graph of a query is, where the query does not say."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import pyoxigraph as ox

from worlds.graph.query.query import Query
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
SHAPES_GRAPH = ox.NamedNode("urn:worlds:shapes")
"""The named graph of a world's own SHACL shapes: no text, in no union, and not validated itself."""

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


def names_shapes(query: Query) -> bool:
    """Whether a query names the graph of the shapes, in full or by a prefix."""
    given = (*(query.default_graphs or ()), *(query.named_graphs or ()), *query.bindings.values())
    space, _, name = SHAPES_GRAPH.value.rpartition(":")
    known = space in query.text or f"{space}:" in query.prefixes.values()
    return SHAPES_GRAPH in given or SHAPES_GRAPH.value in query.text or (known and f":{name}" in query.text)
