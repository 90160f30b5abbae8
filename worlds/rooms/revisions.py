"""The room of revisions: tags, patches, provenance, retention."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from worlds.core.history.diff import Diff, decoded_quads
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.history.history import Moment
from worlds.core.history.patches import Patches
from worlds.core.history.provenance import Provenance
from worlds.core.history.retention import Retention
from worlds.core.history.tags import Tags
from worlds.core.history.threeway import Conflicting
from worlds.core.quads.reader import quad_ids
from worlds.extras.facts.times import now
from worlds.rooms.room import Room
from worlds.verbs.invocation import setting, verb_of

if TYPE_CHECKING:
    from worlds.verbs.parts import Parts

verb = verb_of("revisions")


class RevisionsRoom(Room, Tags):
    """The revisions of a world: tags, patches, the origin of quads, and how much history is kept.

    A tag is given wherever a revision is: `w.at("2026-11")`, `w.diff("2026-10", "2026-11")`."""

    _name = "revisions"
    __repr__ = Tags.__repr__

    def __init__(self, world: Parts) -> None:
        Room.__init__(self, world)
        core = world._core
        Tags.__init__(self, core.connection, core.history, core.gate, now)

    @verb
    def patch(self, a: Moment, b: Moment | None = None) -> str:
        """The difference between two revisions (see `diff`) as an RDF Patch; `patch(n - 1, n)` is the change of n."""
        return self._world.diff(a, b).patch()

    @verb
    @rehearsable(Change)
    def apply(
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

        Today's quads stay. `at` and `diff` reach back to the revision before `before` and no further. `file.compact()`
        gives the space back. ValueError for a number greater than the next revision will have.
        """
        with self._core.connection.transaction():
            return self._core.forgetting.prune(self._core.history.check(before) if isinstance(before, str) else before)
