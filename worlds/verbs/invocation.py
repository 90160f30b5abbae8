"""How a verb of `World` is called: its arguments checked, refused by a view, stopped, done anew after a conflict."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from worlds.core.views.seen import UnseenError
from worlds.errors import WorldsError
from worlds.graph.query.running import Interruptible, works
from worlds.sql.drivers import ended_by
from worlds.sql.retry import retried
from worlds.verbs.table import VERBS, WITHIN
from worlds.verbs.typed import typed

F = TypeVar("F", bound=Callable[..., Any])
V = TypeVar("V")  # also a method whose type depends on `dry_run`

AT_ONCE = {"transaction", "only", "at", "as_of", "memory", "interrupt", "refresh", "close"}
"""Verbs that do no work which could be stopped, or give an object that does it."""


SIGHTED = {
    *("search", "search_sql", "context", "resolve", "describe", "labels", "schema"),
    *("quads", "count", "graphs", "to_rdflib"),
    *("entities.similar", "entities.resolve_all", "entities.neighbourhood", "entities.paths", "entities.mentions"),
    *("entities.tree", "entities.members", "questions.brief", "sources.chunk"),
}
"""Verbs that a scope asks of its world's own database, and of its slice where that does not tell."""


def verb(verb: V, room: str = "") -> V:
    """Make the method of a verb of `World`, or of one of its rooms, with its row in the table of verbs.

    Its arguments are checked; with `graphs` it may be asked of a scope; a view may refuse it; if it reads,
    `World.interrupt` stops it; if it writes, a world on a server does it anew after a conflict.
    """
    method: Any = verb
    about = VERBS[f"{room}.{method.__name__}" if room else method.__name__]
    reads = about.effect == "reads"
    if not reads:
        method = allowed(about.name, method)
        method = retried(method) if about.retried else method
    elif about.name not in AT_ONCE:
        method = stoppable(sighted(method) if about.name in SIGHTED else method)
    if about.options.get("graphs") is WITHIN:
        method = within(method)
    return typed(about, method)  # type: ignore[no-any-return]  # the same signature


def verb_of(room: str) -> Callable[[V], V]:
    """`verb`, for the verbs of a room."""
    return functools.partial(verb, room=room)


def setting(method: F) -> F:
    """The setter of a setting of `World`, which a view refuses; a world on a server does it anew after a conflict."""
    return retried(allowed(f"setting {method.__name__}", method))


def allowed(what: str, method: F) -> F:
    """The method as the world's look does it, or a ReadOnlyError where that does not allow it."""

    @functools.wraps(method)
    def asked(world: Any, *arguments: Any, **options: Any) -> Any:
        world._require(what)
        return world._look.way(what, method)(world, *arguments, **options)

    return asked  # type: ignore[return-value]  # the same signature


def within(verb: F) -> F:
    """The verb, which is asked of the scope of the `graphs` that it is given."""

    @functools.wraps(verb)
    def asked(world: Any, *arguments: Any, graphs: object = None, **options: Any) -> Any:
        if graphs is None:
            return verb(world, *arguments, **options)
        return getattr(world._through(graphs), verb.__name__)(*arguments, **options)

    return asked  # type: ignore[return-value]  # the same signature


def sighted(verb: F) -> F:
    """The verb, which a scope asks of its world's own database if it can; errors are told by the slice."""

    @functools.wraps(verb)
    def asked(world: Any, *arguments: Any, **options: Any) -> Any:
        try:
            if (there := world._sight()) is not None:
                return verb(there, *arguments, **options)
        except (UnseenError, WorldsError, ValueError, TypeError) as error:
            if getattr(error, "kind", None) in ("interrupted", "timeout"):
                raise
        return verb(world, *arguments, **options)

    return asked  # type: ignore[return-value]  # the same signature


def stoppable(verb: F) -> F:
    """The verb, which `World.interrupt` ends in another thread."""

    @functools.wraps(verb)
    def stopped(world: Any, *arguments: Any, **options: Any) -> Any:
        if works():  # who can stop it is known
            return verb(world, *arguments, **options)
        running, work = world._core.running, Interruptible()
        running.add(work)
        try:
            with work, ended_by(work.go_on):
                return verb(world, *arguments, **options)
        finally:
            running.discard(work)

    return stopped  # type: ignore[return-value]  # the same signature


@contextlib.contextmanager
def interruptible() -> Iterator[Interruptible]:
    """Let another thread stop this thread's work in the block."""
    with Interruptible() as work, ended_by(work.go_on):
        yield work
