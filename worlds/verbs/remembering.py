"""The verbs of the past: history, provenance, diff, undo, patches, retention."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.history.history import Entries, Moment
from worlds.core.history.undo import inverse
from worlds.verbs.invocation import stoppable, verb
from worlds.verbs.parts import Parts

if TYPE_CHECKING:
    from worlds.core.search.hits import SearchResults
    from worlds.extras.memory.memory import Memory


class Remembering(Parts):
    """The verbs of the past: history, provenance, diff, undo, patches, retention."""

    @verb
    def history(
        self,
        limit: int | None = None,
        *,
        entity: object = None,
        predicate: object = None,
        graph: object = None,
        author: str | None = None,
        message: str | None = None,
        since: datetime.datetime | str | None = None,
        until: datetime.datetime | str | None = None,
        before: int | None = None,
    ) -> Entries:
        """The revisions, newest first, at most `limit`: each with its number, time, author, message, and counts.

        With `entity`, `predicate` and `graph`, those that added or removed a quad that has them all, the entity as its
        subject or object; with `author`, `message` (a part of it), `since` and `until`, those that this holds for;
        with `before`, those of a smaller number, so that the next page begins at the last one's last. A time is a
        datetime with its zone, or a text by ISO 8601, of UTC where it names no zone.
        The list is also a table: `to_dataframe()`, and in a notebook.
        """
        about, of = self._core.namespaces.pattern(entity, predicate)
        name = None if graph is None else self._core.namespaces.graph(graph)
        anything = about is None and of is None and name is None
        among = None if anything else self._core.provenances.touching(about, of, name)
        return self._core.history.entries(
            limit, author=author, message=message, since=since, until=until, before=before, among=among
        )

    @verb
    def memory(self, *, scope: object) -> Memory:
        """Return the agent memory of a scope, such as ("user", "ann"): a `Memory`.

        It is a world of its own, in a file beside this one's that is made when it is first told something, and that
        nothing sees which is asked of this world. ArgumentError for what is no scope. ReadOnlyError for a part of a
        world, or for the world as it was; a memory's own world has those of narrower scopes.
        """
        return self._memory_of(scope)

    @stoppable
    def _fused(self, worlds: Mapping[str, Any], question: str, options: Mapping[str, Any]) -> SearchResults:
        """A search of several worlds in one ranking, or of one."""
        from worlds.core.search.federation import GroupSearches
        from worlds.verbs.grouped import searches_of

        members = {name: searches_of(world) for name, world in worlds.items()}
        if len(members) == 1:
            return next(iter(members.values())).run(question, noted=True, own=True, **options)
        return GroupSearches(members).run(question, **options)

    @verb
    def diff(self, a: Moment, b: Moment | None = None) -> Diff:
        """The changes from the state after revision `a` to the state after revision `b`: quads added and removed.

        `a` may be 0, the empty world; `b` None is now; a time, with its zone, is the last revision up to it, and a text
        a tag of `revisions`. With `a` after `b`, it is what leads back. ValueError for an unknown revision, WorldsError
        for one before those that `revisions.prune` left.
        """
        return self._look.diff(a, b)

    @verb
    @rehearsable(Change)
    def undo(
        self,
        revision: Moment,
        *,
        force: bool = False,
        author: str | None = None,
        message: str | None = None,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Take back what a revision did, as a new revision; undoing that one does it again.

        ConflictError if a later revision removed a quad that it had added, or added one that it had removed, naming
        them; `force=True` leaves such quads as they are and takes back the rest. Other errors are those of `diff`.
        """
        revision = self._core.history.check(revision)
        message = f"undo of revision {revision}" if message is None else message
        with self._core.writer.revision(
            author=author, message=message, embed=True, undoes=revision, dry_run=dry_run
        ) as written:
            added, removed = inverse(
                self._core.connection, self._core.dictionary, self._core.history, revision, force=force
            )
            written.apply(added, removed)
        return written.change
