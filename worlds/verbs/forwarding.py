"""The verbs of a scope that its world does, where they touch nothing but the scope's graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from worlds.verbs.invocation import verb
from worlds.verbs.parts import Parts
from worlds.verbs.refusing import refuse

if TYPE_CHECKING:
    from worlds.core.history.writer import Progress
    from worlds.core.views.slice import Slice

_QUADS = ("add", "remove", "relies_on")  # of a proposal


class Forwarding(Parts):
    """The verbs of a scope that write no quads: proposals, decisions, vectors."""

    _world: Any
    _slice: Slice
    proposal: Callable[[int], Any]
    merge: Callable[..., Any]
    update: Callable[..., Any]
    _listed: Callable[[Any], int]

    @property
    def _whole(self) -> Parts:
        return self._world  # type: ignore[no-any-return]

    def _inside(self, verb: Callable[..., Any], *given: object, **options: Any) -> Any:
        """Call a verb of the world, which may change the scope's graphs alone."""
        with self._core.connection.lock, self._world._core.gate.within(self._slice.require):
            return verb(*given, **options)

    @verb
    def embed(self, *, rebuild: bool = False, embedder: Any = None, progress: Progress | None = None) -> int:
        """Give the world's pending chunks their vectors; see `World.embed`."""
        if rebuild:
            refuse("embed(rebuild=True)")
        return self._world.embed(  # type: ignore[no-any-return]
            embedder=embedder, progress=progress
        )

    @verb
    def add_document(self, iri: object, *given: Any, graph: object = None, **options: Any) -> Any:
        """See `World.add_document`."""
        home = self._slice.single if graph is None else graph
        return self._inside(self._world.add_document, iri, *given, graph=home, **options)

    @verb
    def undo(self, revision: Any, **options: Any) -> Any:
        """See `World.undo`."""
        return self._inside(self._world.undo, self._listed(revision), **options)

    @verb
    def split(self, revision: Any, **options: Any) -> Any:
        """See `World.split`."""
        return self._inside(self._world.split, self._listed(revision), **options)

    @verb
    def accept(self, id: int, **options: Any) -> Any:
        """See `World.accept`."""
        return self._inside(self._world.accept, self.proposal(id).id, **options)

    def backup(self, *given: Any, **options: Any) -> NoReturn:
        """ReadOnlyError: a backup is of the whole file."""
        refuse("backup")

    @verb
    def propose(self, **change: Any) -> Any:
        """See `World.propose`."""
        if merged := change.get("merge"):  # as the scope sees it, first: the world knows of more
            self.merge(*merged, dry_run=True)
        return self._left(self._world.propose, **self._of_scope(change))

    @verb
    def amend(self, id: int, **change: Any) -> Any:
        """See `World.amend`."""
        self.proposal(id)
        return self._left(self._world.amend, id, **self._of_scope(change))

    def _of_scope(self, change: dict[str, Any]) -> dict[str, Any]:
        """The change of a proposal as quads: an update reads nothing but the scope."""
        update = change.pop("update", None)
        if update is not None:
            tried = self.update(update, max_quads=change.get("max_quads"), dry_run=True)
            change["add"] = [*(change.get("add") or ()), *tried.added.terms()]
            change["remove"] = [*(change.get("remove") or ()), *tried.removed.terms()]
        quads = {name: self._core.namespaces.quads(given) for name in _QUADS if (given := change.get(name)) is not None}
        if not all(self._slice.has(quad.graph_name) for given in quads.values() for quad in given):  # there or not
            refuse("a proposal about other graphs")
        return {**change, **quads}

    def _left(self, verb: Callable[..., Any], *given: object, **options: Any) -> Any:
        """The proposal that a verb of the world leaves; nothing is kept of one that reaches out of the scope."""
        with self._core.connection.lock, self._world._core.connection.transaction():
            made = self._inside(verb, *given, **options)
            if not self._slice.sees(made):
                refuse("a proposal that relies on other graphs")
        return self.proposal(made.id)

    @verb
    def reject(self, id: int, why: str | None = None, *, reviewer: str | None = None) -> Any:
        """See `World.reject`."""
        self._world.reject(self.proposal(id).id, why, reviewer=reviewer)
        return self.proposal(id)

    @verb
    def reject_all(self, ids: Iterable[int], why: str | None = None, *, reviewer: str | None = None) -> list[Any]:
        """See `World.reject_all`."""
        numbers = [self.proposal(id).id for id in ids]
        self._world.reject_all(numbers, why, reviewer=reviewer)
        return [self.proposal(number) for number in numbers]
