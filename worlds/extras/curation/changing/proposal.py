"""A change that waits for somebody to decide on it, or that was decided."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias

import pyoxigraph as ox

from worlds.core.history.edits import READ, Around, Edits, InQuads, edits_of
from worlds.core.history.pending_changes import Status
from worlds.graph.patches import write_patch
from worlds.graph.records import As, Count, Node, Number, Record
from worlds.graph.terms import quad_to_rdflib, to_oxigraph

Chosen: TypeAlias = Literal["open", "accepted", "rejected", "any"]

_UNCALIBRATED = (
    "{:,} proposed duplicates and links have a score, but no probability yet: decide 30 of a kind one by one (`worlds "
    "proposals accept`, `reject`, or a table of `list --csv`), at least five accepted and five rejected"
)


def _as_nquads(quads: Iterable[Sequence[Any]]) -> list[str]:
    return [" ".join(str(to_oxigraph(term)) for term in quad if term is not None) for quad in quads]


_NQUADS = As(_as_nquads, list[str])


@dataclass(frozen=True, slots=True)
class Remark(Record):
    """A comment on a proposal, with its author and time (in UTC).

    `replaced` is the RDF Patch that the proposal had before, where its author gave it another one.
    """

    time: datetime.datetime
    author: str | None
    text: str
    replaced: str | None = None


@dataclass(frozen=True)
class Proposal(Record):
    """A change that waits, or that was decided.

    `base` is the last revision when it was made, `quads` are those to add and those to remove, as pyoxigraph has them,
    `patch` is the same as an RDF Patch, `edits` the same by entity; that of a merge is what merging would have done
    then, and `merged` names the entity to keep and the others.
    `author` made the proposal, `content_author` gave the change that it has now, which is its `version`, counted from
    1; `discussion` has the versions before. `moved` says what has changed under it since, in sentences; `validation`
    what it would violate. `revision` is what accepting it made, None as long as it is not accepted, and where nothing
    was left to do. A duplicate and a link have the `score` that they were found with, and as their `confidence` the
    probability that decisions of this world make of it, None before there are enough.
    """

    _also = ("content_author", "version", "added", "removed", "edits")
    _untold = ("quads", "relies_on", "around")

    id: Number
    status: Status
    kind: str
    time: datetime.datetime
    author: str | None
    why: str | None
    confidence: float | None
    score: float | None
    base: Count
    quads: tuple[tuple[ox.Quad, ...], tuple[ox.Quad, ...]]
    merged: tuple[Node, ...]
    relies_on: tuple[Any, ...]
    validation: tuple[str, ...]
    discussion: tuple[Remark, ...]
    reviewer: str | None
    decided: datetime.datetime | None
    decision: str | None
    revision: int | None
    moved: tuple[str, ...] = ()
    around: Around = field(default=InQuads(()), repr=False, compare=False)

    @cached_property
    def edits(self) -> Edits:
        """The change by entity, with the old value of each beside the new one; see `Diff.edits`."""
        added, removed = self.quads
        return edits_of(removed[:READ], added[:READ], self.around, counts=(len(added), len(removed)))

    @property
    def patch(self) -> str:
        """The change as an RDF Patch, as `World.revisions.apply` takes it."""
        return "".join(write_patch(self.quads[1], self.quads[0]))

    @property
    def version(self) -> int:
        """The version of the change: 1 as proposed, one more with each amendment of the change."""
        return 1 + sum(one.replaced is not None for one in self.discussion)

    @property
    def content_author(self) -> str | None:
        """The author of the present change."""
        amended = [one.author for one in self.discussion if one.replaced is not None]
        return amended[-1] if amended else self.author

    @property
    def added(self) -> Annotated[tuple[Any, ...], _NQUADS]:
        """The quads to add, as tuples of rdflib terms."""
        return tuple(map(quad_to_rdflib, self.quads[0]))

    @property
    def removed(self) -> Annotated[tuple[Any, ...], _NQUADS]:
        """The quads to remove, as tuples of rdflib terms."""
        return tuple(map(quad_to_rdflib, self.quads[1]))


class Listed(list[Proposal]):
    """Proposals, of which there are `total` from the first on; `notes` say how to go on where a limit left some out.

    `uncalibrated` is how many were left out because they have a score, and no probability.
    """

    def __init__(self, found: Iterable[Proposal], total: int, uncalibrated: int = 0) -> None:
        super().__init__(found)
        self.total = total
        self.uncalibrated = uncalibrated

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the list."""
        more = self.total - len(self)
        after = f"after={self[-1].id}" if self else "a higher limit"
        found = [f"{more:,} more of these proposals: {after} gives the next"] if more > 0 else []
        return (*found, *([_UNCALIBRATED.format(self.uncalibrated)] if self.uncalibrated else []))

    def to_dict(self) -> dict[str, Any]:
        """The proposals as JSON-ready values."""
        return {"proposals": [one.to_dict() for one in self], "total": self.total, "notes": self.notes}
