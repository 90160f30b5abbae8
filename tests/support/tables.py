"""The tables of an open world, for tests of what lies in them, and for those that damage it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from worlds import World
from worlds.core.quads.dictionary import Dictionary
from worlds.core.search.options import gathered
from worlds.sql.connection import Row
from worlds.world import connection_of


def rows(world: World, sql: str, parameters: Sequence[object] = ()) -> list[Row]:
    """All rows of a statement; inside a transaction, as it left them."""
    return connection_of(world).rows(sql, parameters)


def value(world: World, sql: str, parameters: Sequence[object] = ()) -> Any:
    """The first column of a statement's first row; None if there is none."""
    return connection_of(world).value(sql, parameters)


def run(world: World, sql: str, parameters: Sequence[object] = ()) -> None:
    """Run a statement behind the world's back."""
    connection_of(world).run(sql, parameters)


def terms(world: World, ids: Iterable[int]) -> dict[int, Any]:
    """The terms that the file has under these numbers."""
    return dict(Dictionary(connection_of(world)).terms(ids))


def fused(world: World, text: str, **options: Any) -> tuple[str, Sequence[object]]:
    """The statement that a search finds and fuses by, and its parameters."""
    explain = world.search(text, **gathered(options)).explain
    return explain.sql, explain.parameters
