"""How verbs meet the clock: those that read see what is due by now, those that write carry it out first."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from worlds.quads.dataset import is_memory
from worlds.verbs.parts import Parts

if TYPE_CHECKING:
    from worlds.graph.query.query import Query
    from worlds.graph.terms import Term
    from worlds.search.engine import Searches

F = TypeVar("F", bound=Callable[..., Any])
W = TypeVar("W", bound=Parts)

OF_THE_FILE = {
    *("history", "provenance", "diff", "patch", "at", "stats", "check", "backup", "proposals", "proposal", "decisions"),
    *("transaction", "only", "interrupt", "interruptible", "refresh", "close", "as_of", "prune", "compact"),
    *("embed", "build_vector_index", "drop_vector_index", "memory", "set_guard"),
}
"""Verbs that are about what the file holds, whatever time it is."""


def in_time(verb: F, *, reads: bool) -> F:
    """The verb, which takes `as_of` if it reads; the time is looked at once, when it is called.

    ArgumentError for an `as_of` that is no time.
    """

    @functools.wraps(verb)
    def seen(world: Any, *arguments: Any, **options: Any) -> Any:
        if is_memory_named(options):
            world = world.only(graphs=options["graphs"])
        return verb(world._seen(options.pop("as_of", None)), *arguments, **options)

    @functools.wraps(verb)
    def written(world: Any, *arguments: Any, **options: Any) -> Any:
        if not options.get("dry_run"):
            world._catch_up()
        return verb(world, *arguments, **options)

    return seen if reads else written  # type: ignore[return-value]  # the same signature


def is_memory_named(options: Mapping[str, Any]) -> bool:
    """Whether the option `graphs` names a memory: it is read through a scope of these graphs."""
    given = options.get("graphs")
    named = [given] if isinstance(given, str) or hasattr(given, "value") else given
    return isinstance(named, list | tuple | set | frozenset) and any(map(is_memory, named))


def shown(world: W) -> W:
    """The world as its readers see it now: itself, or a copy in which what is due is carried out."""
    return world._seen()  # type: ignore[no-any-return]


def solutions_of(world: Any, select: str, asked: Query) -> tuple[list[str], Iterator[Sequence[Term | None]]]:
    """The variables and the solutions of a part of a query that a group was `asked`, under that one's limits."""
    world = world._seen()
    own = world._query(select, bindings=asked.bindings, max_memory=asked.max_memory, timeout=asked.timeout)
    return world._queries.rows(own.replaced(prefixes={**asked.prefixes, **own.prefixes}))  # type: ignore[no-any-return]


def unknown_to(world: Any, asked: Query) -> dict[str, list[str]]:
    """The names in a query that a group was `asked` which the world does not know → those that are nearest."""
    return world._seen()._notes.unknown(asked)  # type: ignore[no-any-return]


def searches_of(world: Any) -> Searches:
    """What a group of worlds asks a world for its part in a search."""
    return world._seen()._searches  # type: ignore[no-any-return]
