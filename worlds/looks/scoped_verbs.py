"""The verbs that a scope has done by its world, where they touch nothing but the scope's graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

_QUADS = ("add", "remove", "relies_on")  # of a proposal


def embed(world: Any, *, rebuild: bool = False, **options: Any) -> Any:
    """See `World.embed`."""
    if rebuild:
        world._look.require_whole("embed(rebuild=True)")
    return world._look.base.embed(**options)


def undo(world: Any, revision: Any, **options: Any) -> Any:
    """See `World.undo`."""
    look = world._look
    return look.inside(look.base.undo, look.listed(revision), **options)


def split(curation: Any, revision: Any, **options: Any) -> Any:
    """See `World.curation.split`."""
    look = curation._world._look
    return look.inside(look.base.curation.split, look.listed(revision), **options)


def add_document(sources: Any, iri: object, *given: Any, graph: object = None, **options: Any) -> Any:
    """See `World.sources.add_document`."""
    look = sources._world._look
    home = look.slice.single if graph is None else graph
    return look.inside(look.base.sources.add_document, iri, *given, graph=home, **options)


def accept(proposals: Any, id: int, **options: Any) -> Any:
    """See `World.proposals.accept`."""
    look = proposals._world._look
    return look.inside(look.base.proposals.accept, proposals.get(id).id, **options)


def add(proposals: Any, **change: Any) -> Any:
    """See `World.proposals.add`."""
    world = proposals._world
    if merged := change.get("merge"):  # as the scope sees it, first: the world knows of more
        world.curation.merge(*merged, dry_run=True)
    return _left(proposals, world._look.base.proposals.add, **_of_scope(world, change))


def amend(proposals: Any, id: int, **change: Any) -> Any:
    """See `World.proposals.amend`."""
    proposals.get(id)
    world = proposals._world
    return _left(proposals, world._look.base.proposals.amend, id, **_of_scope(world, change))


def _of_scope(world: Any, change: dict[str, Any]) -> dict[str, Any]:
    """The change of a proposal as quads: an update reads nothing but the scope."""
    update = change.pop("update", None)
    if update is not None:
        tried = world.update(update, max_quads=change.get("max_quads"), dry_run=True)
        change["add"] = [*(change.get("add") or ()), *tried.added.terms()]
        change["remove"] = [*(change.get("remove") or ()), *tried.removed.terms()]
    quads = {name: world._core.namespaces.quads(given) for name in _QUADS if (given := change.get(name)) is not None}
    has = world._look.slice.has
    if not all(has(quad.graph_name) for given in quads.values() for quad in given):  # there or not
        world._look.require_whole("a proposal about other graphs")
    return {**change, **quads}


def _left(proposals: Any, verb: Callable[..., Any], *given: object, **options: Any) -> Any:
    """The proposal that a verb of the world leaves; nothing is kept of one that reaches out of the scope."""
    look = proposals._world._look
    with proposals._core.connection.lock, look.base._core.connection.transaction():
        made = look.inside(verb, *given, **options)
        if not look.slice.sees(made):
            look.require_whole("a proposal that relies on other graphs")
    return proposals.get(made.id)


def reject(proposals: Any, id: int, why: str | None = None, *, reviewer: str | None = None) -> Any:
    """See `World.proposals.reject`."""
    proposals._world._look.base.proposals.reject(proposals.get(id).id, why, reviewer=reviewer)
    return proposals.get(id)


def reject_all(proposals: Any, ids: Iterable[int], why: str | None = None, *, reviewer: str | None = None) -> Any:
    """See `World.proposals.reject_all`."""
    numbers = [proposals.get(id).id for id in ids]
    proposals._world._look.base.proposals.reject_all(numbers, why, reviewer=reviewer)
    return [proposals.get(number) for number in numbers]


WAYS: Mapping[str, Callable[..., Any]] = {
    "embed": embed,
    "undo": undo,
    "curation.split": split,
    "sources.add_document": add_document,
    "proposals.accept": accept,
    "proposals.add": add,
    "proposals.amend": amend,
    "proposals.reject": reject,
    "proposals.reject_all": reject_all,
}
"""How a scope does these verbs, by their names in the table of verbs."""
