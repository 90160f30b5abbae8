"""The verbs of curation that decide: merge and split, propose and accept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.history.history import Moment
from worlds.core.quads.dataset import LINKS_GRAPH
from worlds.core.quads.namespaces import listed
from worlds.errors import ArgumentError, ConflictError
from worlds.extras.curation.changing.entity_merge import Merge, Redirect, Split
from worlds.verbs.invocation import verb
from worlds.verbs.querying import Querying
from worlds.verbs.writing import WritingVerbs

if TYPE_CHECKING:
    from worlds.extras.curation.changing.conflicts import Rule
    from worlds.extras.curation.changing.proposal import Chosen, Listed, Proposal
    from worlds.extras.curation.findings.findings import Finding
    from worlds.verbs.writing import QuadLike


_DIFFERENT = ox.NamedNode("http://www.w3.org/2002/07/owl#differentFrom")


class Deciding(Querying, WritingVerbs):
    """The verbs of curation that decide."""

    if TYPE_CHECKING:

        @property
        def scope(self) -> tuple[Any, ...] | None:
            """See `World.scope`."""

    @verb
    @rehearsable(Merge)
    def merge(
        self,
        kept: object,
        *others: object,
        redirect: Redirect = "owl:sameAs",
        conflicts: Rule | None = None,
        author: str | None = None,
        message: str | None = None,
        dry_run: bool = False,
    ) -> Merge | Diff:
        """Let `kept` take the place of the others in every quad: in all graphs and positions, triple terms too.

        Labels become other names (skos:altLabel, or what the world has most), but one in a language in which `kept` has
        none. What linked the entities to one another goes. The old names lead on: the graph <urn:worlds:redirects> gets
        `old redirect kept`, and `describe`, `resolve`, `similar` and the filters `subjects` and `types` follow it.

        A property that is functional (by owl:FunctionalProperty, sh:maxCount 1, or nearly all its subjects in the data)
        and now has several values is a conflict: with "report" all stay, with "kept" those of `kept`, with "newest"
        the one that was added last; with "refuse" it is a ConflictError. The change tells them all, in `.conflicts` and
        in its notes; a Diff has the notes. What would close a circle of a transitive or hierarchical predicate, and
        entities that are declared to be different or are of disjoint classes, are a ConflictError unless `conflicts`
        is given: the Diff of a dry run says so before. ArgumentError if an entity to be merged is in no quad. `undo`
        takes a merge back as long as nothing changed since, `split` also later.
        """
        one, *more = (self._core.namespaces.entity(entity) for entity in (kept, *others))
        return self._merging.merge(
            one, more, redirect=redirect, conflicts=conflicts, author=author, message=message, dry_run=dry_run
        )

    @verb
    @rehearsable(Split)
    def split(
        self, revision: Moment, *, author: str | None = None, message: str | None = None, dry_run: bool = False
    ) -> Split | Diff:
        """Take a merge back that was made by `revision`, whatever has changed since.

        Each quad that the merge rewrote is as it was before, unless what became of it was removed since. What was added
        to the kept entity since stays there, and is listed in the change's `.unassigned`. ConflictError if the
        merge was taken back already, or the kept entity was itself merged into another since; ArgumentError for a
        revision that merged nothing. Other errors are those of `diff`.
        """
        revision = self._core.history.check(revision)
        return self._merging.split(revision, author=author, message=message, dry_run=dry_run)

    @verb
    def propose(
        self,
        *,
        add: Iterable[QuadLike] = (),
        remove: Iterable[QuadLike] = (),
        update: str | None = None,
        merge: Sequence[object] = (),
        why: str | None = None,
        confidence: float | None = None,
        author: str | None = None,
        kind: str | None = None,
        relies_on: Iterable[QuadLike] = (),
        max_open: int | None = None,
        max_quads: int | None = None,
        again: bool = False,
    ) -> Proposal:
        """Propose a change, for somebody else to decide on: quads, a SPARQL Update, or entities to merge.

        Nothing of it is found, counted or exported before it is accepted. `merge` is the entity to keep, and the
        others. `confidence` is from 0 to 1; `kind` a word for those who look for it, else "edit" or "merge". The change
        is tried once, and with it is kept what it would violate. It relies on what it removes and on the quads of
        `relies_on`; and where it replaces a value, or gives a functional property one, on nobody having given another:
        what has changed of that since, `Proposal.moved` says. ValueError if it changes nothing, or merges and changes
        quads; QueryError if the update changes more than `max_quads`; ConflictError if `max_open` proposals of this
        author wait already, and, unless `again`, for a merge of what was decided to be two: by a rejected proposal, a
        `split` or `distinct`.
        """
        relied = self._core.namespaces.quads(relies_on)
        merged = [self._core.namespaces.entity(entity) for entity in merge]
        add, remove = list(add), list(remove)
        if not (add or remove or merged or update):
            raise ArgumentError("a proposal needs a change: quads to add or remove, an update, or entities to merge")
        if merged and (add or remove or update):
            raise ArgumentError("a proposal merges entities or changes quads, not both: make two proposals")
        with self._core.writer.trial() as trial:
            self._change(add, remove, update, max_quads)
            notes = self._merge_tried(merged, why, again=again)
        number = self._core.writer.waiting.propose(
            trial.change, notes=notes, again=again, author=author, why=why,
            kind=kind or ("merge" if merged else "edit"),
            confidence=confidence, merged=merged, relies_on=relied, max_open=max_open,
        )  # fmt: skip
        return self._proposals.get(number)

    def _merge_tried(self, merged: Sequence[Any], why: str | None, *, again: bool) -> tuple[str, ...]:
        """Try to merge; returns the objections."""
        if not merged:
            return ()
        if not again and any(self._said_distinct(merged[0], other) for other in merged[1:]):
            told = "they are said to be different (owl:differentFrom); again=True proposes to merge them anyway"
            raise ConflictError(told, kind="decided")
        numbers = [number for number in self._core.dictionary.find(merged) if number is not None]
        against = self._joining.merged(numbers)
        self._merging.merge(merged[0], merged[1:], conflicts="report", author=None, message=why)
        return tuple(against)

    def _said_distinct(self, one: Any, other: Any) -> bool:
        """Whether an owl:differentFrom between two entities holds."""
        said = (self._core.provenances.of((a, _DIFFERENT, b), None) for a, b in ((one, other), (other, one)))
        return any(each.removed is None for some in said for each in some)

    def _change(
        self,
        add: Iterable[QuadLike] | None,
        remove: Iterable[QuadLike] | None,
        update: str | None,
        max_quads: int | None,
    ) -> None:
        """Make a change that is proposed, in the transaction that tries it."""
        if update is not None:
            self.update(update, max_quads=max_quads)
        if add or remove:
            self.edit(add=add or (), remove=remove or ())

    @verb
    def proposals(
        self,
        *,
        status: Chosen | None = "open",
        author: str | None = None,
        entity: object = None,
        kind: str | None = None,
        minimum: float | None = None,
        limit: int | None = None,
        after: int | None = None,
    ) -> Listed:
        """The proposals, the oldest first: the open ones, the ones of another `status`, or all for "any" or None.

        `entity` is the subject or object of a quad in it, or one to be merged, or several of which one is; `minimum`
        the lowest confidence. At most `limit` are given, of those
        `after` one, by its number; `.total` is how many there are from there on, and `.notes` say how to go on.
        """
        about = None if entity is None else [self._core.namespaces.entity(one) for one in listed(entity)]
        return self._proposals.find(
            status=status, author=author, entities=about, kind=kind, minimum=minimum, limit=limit,
            after=after,
        )  # fmt: skip

    @verb
    def proposal(self, id: int) -> Proposal:
        """One proposal, by its number; ArgumentError if there is none."""
        return self._proposals.get(id)

    @verb
    def amend(
        self,
        id: int,
        *,
        add: Iterable[QuadLike] | None = None,
        remove: Iterable[QuadLike] | None = None,
        update: str | None = None,
        why: str | None = None,
        confidence: float | None = None,
        author: str | None = None,
        own: bool = False,
        max_quads: int | None = None,
    ) -> Proposal:
        """Say something of an open proposal (`why`), and put another change in its place, if one is given.

        The change that it had stays in its discussion, with who replaced it. With `own`, only who made the proposal may
        give it another change or confidence (ReadOnlyError): the doors set it for those who may propose and not write.
        ConflictError if it is decided; ValueError for another change of a proposal to merge, or one that changes
        nothing; QueryError for an update of more than `max_quads`.
        """
        self._proposals.get(id)
        diff: Change | Diff | None = None
        if not add is remove is update is None:
            with self._core.writer.trial() as trial:
                self._change(add, remove, update, max_quads)
            diff = trial.change
        return self._proposals.amend(id, diff, why=why, confidence=confidence, author=author, own=own)

    @verb
    @rehearsable(Change)
    def accept(
        self,
        id: int,
        *,
        reviewer: str | None = None,
        why: str | None = None,
        version: int | None = None,
        force: bool = False,
        dry_run: bool = False,
    ) -> Change | Diff:
        """Make the change of a proposal: one revision, by who gave the change, whose message names the reviewer.

        `version` is the one that was reviewed. ConflictError if it was amended since, if it is decided already, or if
        what it relies on has changed; with `force=True` that is no error, and what is left to do is done. The guard
        validates it as any write; one that is set to queue writes only notes, since somebody has looked at this one.
        """
        self._proposals.get(id)
        with self._ownership.of_proposal(id):
            return self._proposals.accept(id, reviewer=reviewer, why=why, version=version, force=force, dry_run=dry_run)

    @verb
    def accept_all(
        self,
        ids: Iterable[int] | Mapping[int, int | None],
        *,
        reviewer: str | None = None,
        why: str | None = None,
        force: bool = False,
    ) -> list[Change]:
        """Accept several proposals in their order, a revision each. A mapping gives each the version that was reviewed.

        An error ends it at the proposal that it names; those before it are accepted.
        """
        versions = ids if isinstance(ids, Mapping) else dict.fromkeys(ids)
        return [
            self.accept(id, reviewer=reviewer, why=why, version=version, force=force)
            for id, version in versions.items()
        ]

    @verb
    def reject(self, id: int, why: str | None = None, *, reviewer: str | None = None) -> Proposal:
        """Decide that the change of a proposal is not made. ConflictError if it is decided already."""
        self._proposals.get(id)
        return self._proposals.reject(id, why, reviewer=reviewer)

    @verb
    def reject_all(self, ids: Iterable[int], why: str | None = None, *, reviewer: str | None = None) -> list[Proposal]:
        """Reject several proposals, or, after an error, none."""
        with self._core.connection.transaction():
            return [self.reject(id, why, reviewer=reviewer) for id in ids]

    @verb
    def propose_all(
        self, findings: Iterable[Finding], *, author: str | None = None, follow: bool = True
    ) -> list[Proposal]:
        """Propose a repair of each finding: a merge, or quads to `add` and to `remove`.

        Each becomes a proposal of its own, with its message as the reason and its score as the confidence; of
        duplicates and links it is the proposal's `score`, which has a confidence once enough were decided (see
        `duplicates`), and the `action` of duplicates says whether they are merged. Links that a rule of the world
        explains are accepted at once, unless `follow` is False; a view of graphs keeps no rule. Passed over are
        findings of which it is not clear what would put them right, those for which an open proposal waits already, or
        one was rejected, and links of a rule that waits.
        """
        from worlds.extras.curation.duplicates.finder import Duplicate
        from worlds.extras.curation.linking.link import Link

        known = [one for status in ("open", "rejected") for one in self.proposals(status=status)]
        seen = {_change(one.merged, one.added, one.removed) for one in known}
        waiting = {quad for one in known for quad in one.added}
        keeps = self.scope is None or LINKS_GRAPH.value in map(str, self.scope)
        proposals: list[Proposal] = []
        for one in findings:
            merged = one.subjects if isinstance(one, Duplicate) and one.action == "merge" else ()
            add = one.links if isinstance(one, Link) and not keeps else one.add
            change = _change(merged, add, one.remove)
            if any(change) and change not in seen and not (isinstance(one, Link) and waiting & {*add}):
                seen.add(change)
                said: dict[str, Any] = {"why": one.message, "confidence": one.score, "author": author, "kind": one.kind}
                if isinstance(one, Duplicate) and one.action == "different":
                    said |= {"confidence": None, "kind": "different"}
                following = follow and isinstance(one, Link) and one.follows
                if following:
                    said["confidence"] = None  # nobody looks at it
                try:
                    made = self.propose(add=add, remove=one.remove, merge=merged, **said)
                except ConflictError as error:
                    if error.kind != "decided":
                        raise
                else:
                    if following:
                        with suppress(ConflictError):  # what contradicts something waits for somebody
                            self.accept(made.id, why="by a rule that the world follows")
                    proposals.append(self.proposal(made.id))
        return proposals


def _change(merged: Iterable[Any], added: Iterable[Any], removed: Iterable[Any]) -> tuple[frozenset[Any], ...]:
    """The key of a change: equal for equal changes, and for merges of the same entities."""
    entities = frozenset(merged)
    return (entities, frozenset(), frozenset()) if entities else (entities, frozenset(added), frozenset(removed))
