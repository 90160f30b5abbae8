"""What a group of worlds asks each of its worlds for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worlds.graph.query.query import Query
    from worlds.graph.terms import Term
    from worlds.search.engine import Searches


def solutions_of(world: Any, select: str, asked: Query) -> tuple[list[str], Iterator[Sequence[Term | None]]]:
    """The variables and the solutions of a part of a query that a group was `asked`, under that one's limits."""
    own = world._query(select, bindings=asked.bindings, max_memory=asked.max_memory, timeout=asked.timeout)
    return world._queries.rows(own.replaced(prefixes={**asked.prefixes, **own.prefixes}))  # type: ignore[no-any-return]


def unknown_to(world: Any, asked: Query) -> dict[str, list[str]]:
    """The names in a query that a group was `asked` which the world does not know → those that are nearest."""
    return world._notes.unknown(asked)  # type: ignore[no-any-return]


def searches_of(world: Any) -> Searches:
    """What a group of worlds asks a world for its part in a search."""
    return world._searches  # type: ignore[no-any-return]
