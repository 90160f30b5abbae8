"""Parts of a world that a group of worlds asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from worlds.core.search.engine import Searches
    from worlds.graph.query.query import Query
    from worlds.graph.terms import Term


def solutions_of(world: Any, select: str, asked: Query) -> tuple[list[str], Iterator[Sequence[Term | None]]]:
    """The variables and the solutions of a part of a query that a group was `asked`, under that one's limits."""
    own = world._query(select, bindings=asked.bindings, max_memory=asked.max_memory, timeout=asked.timeout)
    return world._core.queries.rows(own.replaced(prefixes={**asked.prefixes, **own.prefixes}))  # type: ignore[no-any-return]


def unknown_to(world: Any, asked: Query) -> dict[str, list[str]]:
    """The names in the query of a group (`asked`) that a world does not know → the nearest known names."""
    return world._core.notes.unknown(asked)  # type: ignore[no-any-return]


def searches_of(world: Any) -> Searches:
    """The searches of a world, for its part in a search of a group."""
    return world._core.searches  # type: ignore[no-any-return]
