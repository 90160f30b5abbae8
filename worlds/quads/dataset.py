"""What the default graph of a query is, where the query does not say."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
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
