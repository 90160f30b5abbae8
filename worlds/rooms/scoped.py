"""The rooms of a scope, whose world does what touches nothing but the scope's graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from worlds.rooms.curation import CurationRoom
from worlds.rooms.file import FileRoom
from worlds.rooms.proposals import ProposalsRoom
from worlds.rooms.sources import SourcesRoom
from worlds.verbs.invocation import verb_of
from worlds.verbs.refusing import refuse

_QUADS = ("add", "remove", "relies_on")  # of a proposal
_of_proposals = verb_of("proposals")


class ScopedCuration(CurationRoom):
    """The room of curation of a scope."""

    _world: Any

    @verb_of("curation")
    def split(self, revision: Any, **options: Any) -> Any:  # type: ignore[override]
        """See `CurationRoom.split`."""
        scope = self._world
        return scope._inside(scope._world.curation.split, scope._listed(revision), **options)


class ScopedSources(SourcesRoom):
    """The documents of a scope; its world's sources are not its own."""

    _world: Any

    @verb_of("sources")
    def add_document(self, iri: object, *given: Any, graph: object = None, **options: Any) -> Any:  # type: ignore[override]
        """See `SourcesRoom.add_document`."""
        scope = self._world
        home = scope._slice.single if graph is None else graph
        return scope._inside(scope._world.sources.add_document, iri, *given, graph=home, **options)


class ScopedFile(FileRoom):
    """The room of the file, for who sees a scope of it."""

    def backup(self, *given: Any, **options: Any) -> NoReturn:
        """ReadOnlyError: a backup is of the whole file."""
        refuse("backup")


class ScopedProposals(ProposalsRoom):
    """The proposals of a scope, which its world keeps."""

    _world: Any

    @property
    def _asked(self) -> ProposalsRoom:
        return self._world._world.proposals  # type: ignore[no-any-return]

    @_of_proposals
    def accept(self, id: int, **options: Any) -> Any:  # type: ignore[override]
        """See `ProposalsRoom.accept`."""
        return self._world._inside(self._asked.accept, self.get(id).id, **options)

    @_of_proposals
    def add(self, **change: Any) -> Any:
        """See `ProposalsRoom.add`."""
        if merged := change.get("merge"):  # as the scope sees it, first: the world knows of more
            self._world.curation.merge(*merged, dry_run=True)
        return self._left(self._asked.add, **self._of_scope(change))

    @_of_proposals
    def amend(self, id: int, **change: Any) -> Any:
        """See `ProposalsRoom.amend`."""
        self.get(id)
        return self._left(self._asked.amend, id, **self._of_scope(change))

    def _of_scope(self, change: dict[str, Any]) -> dict[str, Any]:
        """The change of a proposal as quads: an update reads nothing but the scope."""
        update = change.pop("update", None)
        if update is not None:
            tried = self._world.update(update, max_quads=change.get("max_quads"), dry_run=True)
            change["add"] = [*(change.get("add") or ()), *tried.added.terms()]
            change["remove"] = [*(change.get("remove") or ()), *tried.removed.terms()]
        quads = {name: self._core.namespaces.quads(given) for name in _QUADS if (given := change.get(name)) is not None}
        has = self._world._slice.has
        if not all(has(quad.graph_name) for given in quads.values() for quad in given):  # there or not
            refuse("a proposal about other graphs")
        return {**change, **quads}

    def _left(self, verb: Callable[..., Any], *given: object, **options: Any) -> Any:
        """The proposal that a verb of the world leaves; nothing is kept of one that reaches out of the scope."""
        with self._core.connection.lock, self._world._world._core.connection.transaction():
            made = self._world._inside(verb, *given, **options)
            if not self._world._slice.sees(made):
                refuse("a proposal that relies on other graphs")
        return self.get(made.id)

    @_of_proposals
    def reject(self, id: int, why: str | None = None, *, reviewer: str | None = None) -> Any:
        """See `ProposalsRoom.reject`."""
        self._asked.reject(self.get(id).id, why, reviewer=reviewer)
        return self.get(id)

    @_of_proposals
    def reject_all(self, ids: Iterable[int], why: str | None = None, *, reviewer: str | None = None) -> Any:
        """See `ProposalsRoom.reject_all`."""
        numbers = [self.get(id).id for id in ids]
        self._asked.reject_all(numbers, why, reviewer=reviewer)
        return [self.get(number) for number in numbers]
