"""The verbs of the past: history, provenance, diff, undo, patches, retention."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from worlds.core.history.diff import Diff, decoded_quads
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.history.history import Entries, Moment
from worlds.core.history.patches import Patches
from worlds.core.history.provenance import Provenance
from worlds.core.history.retention import Retention
from worlds.core.history.tags import Revisions
from worlds.core.history.threeway import Conflicting
from worlds.core.history.undo import inverse
from worlds.core.quads.reader import quad_ids
from worlds.extras.facts.times import now
from worlds.verbs.invocation import setting, stoppable, verb
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
    def provenance(
        self, subject: object = None, predicate: object = None, object: Any = None, graph: Any = None
    ) -> list[Provenance]:
        """The origin of quads: for each match, now or in the past, the revisions that added and removed it.

        Terms are given as for `quads`. One that was removed and added again has several; they are in the order in which
        they were added. What `prune` forgot is not there. `said` looks through merges, splits and undo to who first
        said it.
        """
        pattern = self._core.namespaces.pattern(subject, predicate, object)
        return self._core.provenances.of(pattern, None if graph is None else self._core.namespaces.graph(graph))

    @verb
    def diff(self, a: Moment, b: Moment | None = None) -> Diff:
        """The changes from the state after revision `a` to the state after revision `b`: quads added and removed.

        `a` may be 0, the empty world; `b` None is now; a time, with its zone, is the last revision up to it, and a text
        a tag of `revisions`. With `a` after `b`, it is what leads back. ValueError for an unknown revision, WorldsError
        for one before those that `prune` left.
        """
        return self._core.history.diff(a, b)

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

    @verb
    def patch(self, a: Moment, b: Moment | None = None) -> str:
        """The difference between two revisions (see `diff`) as an RDF Patch; `patch(n - 1, n)` is the change of n."""
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
        known = self._core.connection, self._core.dictionary
        patches = Patches(*known, self._core.namespaces)
        conflicts: tuple[Conflicting, ...] = ()
        with self._core.writer.revision(author=author, message=message, embed=embed, dry_run=dry_run) as revision:
            added, removed = patches.read(source, strict=strict and not three_way, max_unpacked=max_unpacked)
            if three_way:
                outcome = patches.merged(self._core.patterns)
                added, removed = outcome.added, outcome.removed
                # As terms: a write that makes no revision, waits, or is a scope's leaves no new ids behind.
                conflicts = tuple(
                    replace(
                        one,
                        added=[*decoded_quads(known[1], one.added)],
                        removed=[*decoded_quads(known[1], one.removed)],
                    )
                    for one in outcome.conflicts
                )
            revision.apply(added, removed)
            if conflicts and dry_run:
                revision.note(f"{len(conflicts):,} conflicts would become proposals")
        if conflicts and not dry_run:
            numbers = self._core.writer.propose(conflicts, author, lambda quads: quad_ids(*known, quads))
            revision.note(f"{len(conflicts):,} changes of the patch conflict with the world: proposals {numbers} wait")
        return revision.change

    @property
    def revisions(self) -> Revisions:
        """The tags of revisions: `tag` names one, `list` and `remove` show and remove the names.

        A tag is given wherever a revision is: `w.at("2026-11")`, `w.diff("2026-10", "2026-11")`.
        """
        core = self._core
        return Revisions(core.connection, core.history, core.gate, now, self._require)

    @property
    def retention(self) -> Retention:
        """How much history is kept, all of it unless set. It is applied when it is set, and after every write."""
        return self._core.forgetting.retention

    @retention.setter
    @setting
    def retention(self, retention: Retention) -> None:
        with self._core.connection.transaction():
            self._core.forgetting.set_retention(retention)
            self._core.forgetting.retain()

    @verb
    def prune(self, before: Moment) -> int:
        """Forget the revisions before a number or a time, with the quads that they removed; gives how many.

        Today's quads stay. `at` and `diff` reach back to the revision before `before` and no further. `compact()` gives
        the space back. ValueError for a number greater than the next revision will have.
        """
        with self._core.connection.transaction():
            return self._core.forgetting.prune(self._core.history.check(before) if isinstance(before, str) else before)
