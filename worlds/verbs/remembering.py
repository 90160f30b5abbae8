"""The verbs of the past: history, provenance, diff, undo, patches, retention."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from worlds.revisions.diff import Diff
from worlds.revisions.gate import Change
from worlds.revisions.history import Entries, Moment
from worlds.revisions.patches import Patches
from worlds.revisions.provenance import Provenance
from worlds.revisions.rehearsing import rehearsable
from worlds.revisions.retention import Retention
from worlds.revisions.threeway import Conflicting
from worlds.revisions.undoing import inverse
from worlds.verbs.calling import setting, verb
from worlds.verbs.parts import Parts

if TYPE_CHECKING:
    from worlds.memory.memory import Memory
    from worlds.search.hits import SearchResults


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
        about, of = self._namespaces.pattern(entity, predicate)
        name = None if graph is None else self._namespaces.graph(graph)
        anything = about is None and of is None and name is None
        among = None if anything else self._provenances.touching(about, of, name)
        return self._history.entries(
            limit, author=author, message=message, since=since, until=until, before=before, among=among
        )

    @verb
    def memory(self, *, scope: object) -> Memory:
        """Give what an assistant was told for somebody or something: the `Memory` of a scope, ("user", "ann").

        It is a world of its own, in a file beside this one's that is made when it is first told something, and that
        nothing sees which is asked of this world. ArgumentError for what is no scope. ReadOnlyError for a part of a
        world, or for the world as it was; a memory's own world has those of narrower scopes.
        """
        return self._memory_of(scope)

    def _fused(self, worlds: Mapping[str, Any], question: str, options: Mapping[str, Any]) -> SearchResults:
        """A search of several worlds in one ranking."""
        from worlds.search.federation import GroupSearches
        from worlds.verbs.grouped import searches_of

        return GroupSearches({name: searches_of(world) for name, world in worlds.items()}).run(question, **options)

    @verb
    def provenance(
        self, subject: object = None, predicate: object = None, object: Any = None, graph: Any = None
    ) -> list[Provenance]:
        """Who said what: for each quad that matches, now or once, the revisions that added and removed it.

        Terms are given as for `quads`. One that was removed and added again has several; they are in the order in which
        they were added. What `prune` forgot is not there. `said` looks through merges, splits and undo to who first
        said it.
        """
        pattern = self._namespaces.pattern(subject, predicate, object)
        return self._provenances.of(pattern, None if graph is None else self._namespaces.graph(graph))

    @verb
    def diff(self, a: Moment, b: Moment | None = None) -> Diff:
        """What is different after revision `b` from how it was after revision `a`: the quads added and removed.

        `a` may be 0, the empty world; `b` None is now; a time, with its zone, is the last revision up to it. With `a`
        after `b`, it is what leads back. ValueError for an unknown revision, WorldsError for one before those that
        `prune` left.
        """
        return self._history.diff(a, b)

    @verb
    @rehearsable(Change)
    def undo(
        self,
        revision: int,
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
        message = f"undo of revision {revision}" if message is None else message
        with self._writer.revision(
            author=author, message=message, embed=True, undoes=revision, dry_run=dry_run
        ) as written:
            added, removed = inverse(self._connection, self._dictionary, self._history, revision, force=force)
            written.apply(added, removed)
        return written.change

    @verb
    def patch(self, a: Moment, b: Moment | None = None) -> str:
        """The difference between two revisions (see `diff`) as an RDF Patch; `patch(n - 1, n)` is what n did."""
        return self.diff(a, b).patch()

    @verb
    @rehearsable(Change)
    def apply_patch(
        self,
        source: object,
        *,
        strict: bool = True,
        three_way: bool = False,
        max_unpacked: int | None = None,
        author: str | None = None,
        message: str | None = None,
        embed: bool = True,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Apply an RDF Patch as one revision: its path, its bytes or its text, or a file object.

        The labels of its blank nodes name nodes of this world; one that no node has means the node of which the world
        holds all that the patch deletes beside it, and no more, or else a new one. ConflictError if it adds a quad that
        is there, or deletes one that is not; `strict=False` ignores these. ParseError (with line and column) if it is
        not an RDF Patch, or a compressed one that unpacks to more than `max_unpacked` bytes.

        `three_way=True` takes a patch that was made for another state: where the world has another value in the place
        of one that it deletes, or has none of an entity any more, its version becomes a proposal; the rest is applied.
        """
        patches = Patches(self._connection, self._dictionary, self._namespaces)
        conflicts: tuple[Conflicting, ...] = ()
        with self._writer.revision(author=author, message=message, embed=embed, dry_run=dry_run) as revision:
            added, removed = patches.read(source, strict=strict and not three_way, max_unpacked=max_unpacked)
            if three_way:
                outcome = patches.merged(self._patterns)
                added, removed, conflicts = outcome.added, outcome.removed, outcome.conflicts
            revision.apply(added, removed)
            if conflicts and dry_run:
                revision.note(f"{len(conflicts):,} conflicts would become proposals")
        if conflicts and not dry_run:
            numbers = self._writer.propose(conflicts, author)
            revision.note(f"{len(conflicts):,} changes of the patch conflict with the world: proposals {numbers} wait")
        return revision.change

    @property
    def retention(self) -> Retention:
        """How much history is kept, all of it unless set. It is applied when it is set, and after every write."""
        return self._forgetting.retention

    @retention.setter
    @setting
    def retention(self, retention: Retention) -> None:
        with self._connection.transaction():
            self._forgetting.set_retention(retention)
            self._forgetting.retain()

    @verb
    def prune(self, before: int | datetime.datetime) -> int:
        """Forget the revisions before a number or a time, with the quads that they removed; gives how many.

        Today's quads stay. `at` and `diff` reach back to the revision before `before` and no further. `compact()` gives
        the space back. ValueError for a number greater than the next revision will have.
        """
        with self._connection.transaction():
            return self._forgetting.prune(before)
