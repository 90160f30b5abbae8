"""The room of proposals: changes that wait for a decision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

import pyoxigraph as ox

from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import rehearsable
from worlds.core.history.gate import Change
from worlds.core.quads.dataset import LINKS_GRAPH
from worlds.core.quads.namespaces import listed
from worlds.errors import ArgumentError, ConflictError
from worlds.rooms.room import Room
from worlds.verbs.invocation import verb_of
from worlds.verbs.writing import QuadLike

if TYPE_CHECKING:
    from worlds.extras.curation.changing.proposals import Chosen, Listed, Proposal
    from worlds.extras.curation.findings.findings import Finding

verb = verb_of("proposals")
_DIFFERENT = ox.NamedNode("http://www.w3.org/2002/07/owl#differentFrom")
_Changes: TypeAlias = "list[Change]"
_Several: TypeAlias = "list[Proposal]"


class ProposalsRoom(Room):
    """The proposals of a world: `add` makes one, `list` and `get` show them, `accept` and `reject` decide."""

    _name = "proposals"

    @verb
    def add(
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
        `curation.split` or `.distinct`.
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
        return self._world._proposals.get(number)

    def _merge_tried(self, merged: Sequence[Any], why: str | None, *, again: bool) -> tuple[str, ...]:
        """Try to merge; returns the objections."""
        if not merged:
            return ()
        if not again and any(self._said_distinct(merged[0], other) for other in merged[1:]):
            told = "they are said to be different (owl:differentFrom); again=True proposes to merge them anyway"
            raise ConflictError(told, kind="decided")
        numbers = [number for number in self._core.dictionary.find(merged) if number is not None]
        against = self._world._joining.merged(numbers)
        self._world._merging.merge(merged[0], merged[1:], conflicts="report", author=None, message=why)
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
            self._world.update(update, max_quads=max_quads)
        if add or remove:
            self._world.edit(add=add or (), remove=remove or ())

    @verb
    def list(
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
        return self._world._proposals.find(
            status=status, author=author, entities=about, kind=kind, minimum=minimum, limit=limit,
            after=after,
        )  # fmt: skip

    @verb
    def get(self, id: int) -> Proposal:
        """One proposal, by its number; ArgumentError if there is none."""
        return self._world._proposals.get(id)

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
        self._world._proposals.get(id)
        diff: Change | Diff | None = None
        if not add is remove is update is None:
            with self._core.writer.trial() as trial:
                self._change(add, remove, update, max_quads)
            diff = trial.change
        return self._world._proposals.amend(id, diff, why=why, confidence=confidence, author=author, own=own)

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
        self._world._proposals.get(id)
        with self._world._ownership.of_proposal(id):
            return self._world._proposals.accept(
                id, reviewer=reviewer, why=why, version=version, force=force, dry_run=dry_run
            )

    @verb
    def accept_all(
        self,
        ids: Iterable[int] | Mapping[int, int | None],
        *,
        reviewer: str | None = None,
        why: str | None = None,
        force: bool = False,
    ) -> _Changes:
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
        self._world._proposals.get(id)
        return self._world._proposals.reject(id, why, reviewer=reviewer)

    @verb
    def reject_all(self, ids: Iterable[int], why: str | None = None, *, reviewer: str | None = None) -> _Several:
        """Reject several proposals, or, after an error, none."""
        with self._core.connection.transaction():
            return [self.reject(id, why, reviewer=reviewer) for id in ids]

    @verb
    def add_all(self, findings: Iterable[Finding], *, author: str | None = None, follow: bool = True) -> _Several:
        """Propose a repair of each finding: a merge, or quads to `add` and to `remove`.

        Each becomes a proposal of its own, with its message as the reason and its score as the confidence; of
        duplicates and links it is the proposal's `score`, which has a confidence once enough were decided (see
        `curation.duplicates`), and the `action` of duplicates says whether they are merged. Links that a rule of the
        world explains are accepted at once, unless `follow` is False; a view of graphs keeps no rule. Passed over are
        findings of which it is not clear what would put them right, those for which an open proposal waits already, or
        one was rejected, and links of a rule that waits.
        """
        from worlds.extras.curation.duplicates.finder import Duplicate
        from worlds.extras.curation.linking.link_rules import Link

        known = [one for status in ("open", "rejected") for one in self.list(status=status)]
        seen = {_key(one.merged, one.added, one.removed) for one in known}
        waiting = {quad for one in known for quad in one.added}
        graphs = self._look.view.names
        keeps = graphs is None or LINKS_GRAPH.value in graphs
        proposals: _Several = []
        for one in findings:
            merged = one.subjects if isinstance(one, Duplicate) and one.action == "merge" else ()
            add = one.links if isinstance(one, Link) and not keeps else one.add
            change = _key(merged, add, one.remove)
            if any(change) and change not in seen and not (isinstance(one, Link) and waiting & {*add}):
                seen.add(change)
                said: dict[str, Any] = {"why": one.message, "confidence": one.score, "author": author, "kind": one.kind}
                if isinstance(one, Duplicate) and one.action == "different":
                    said |= {"confidence": None, "kind": "different"}
                following = follow and isinstance(one, Link) and one.follows
                if following:
                    said["confidence"] = None  # nobody looks at it
                try:
                    made = self.add(add=add, remove=one.remove, merge=merged, **said)
                except ConflictError as error:
                    if error.kind != "decided":
                        raise
                else:
                    if following:
                        with suppress(ConflictError):  # what contradicts something waits for somebody
                            self.accept(made.id, why="by a rule that the world follows")
                    proposals.append(self.get(made.id))
        return proposals


def _key(merged: Iterable[Any], added: Iterable[Any], removed: Iterable[Any]) -> tuple[frozenset[Any], ...]:
    """The key of a change: equal for equal changes, and for merges of the same entities."""
    entities = frozenset(merged)
    return (entities, frozenset(), frozenset()) if entities else (entities, frozenset(added), frozenset(removed))
