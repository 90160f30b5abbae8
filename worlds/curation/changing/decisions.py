"""What people decided of two entities: that they are one, or two."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from worlds.graph.records import Iri, Record

if TYPE_CHECKING:
    from worlds.curation.changing.proposal import Proposal
    from worlds.revisions.provenance import Provenance

How: TypeAlias = Literal["accepted", "rejected", "merged", "split", "distinct"]


@dataclass(frozen=True, slots=True)
class Decision(Record):
    """What was decided of two entities, the one that was kept first: that they are one (`same`), or two.

    `how` is "accepted" or "rejected" (a proposal to merge or link them, with the `score` that it had), "merged"
    (without a proposal), "split" (such a merge, taken apart) or "distinct" (an owl:differentFrom). `author` is who
    decided, as far as it is known.
    """

    entities: tuple[Iri, Iri]
    same: bool
    how: How
    score: float | None = None
    author: str | None = None
    time: datetime.datetime | None = None
    proposal: int | None = None
    revision: int | None = None


def decisions(
    proposals: Iterable[Proposal], redirects: Sequence[Provenance], different: Sequence[Provenance]
) -> list[Decision]:
    """The decisions that hold, oldest first: of decided proposals of duplicates, merges, and what is said different.

    A merge that was taken back decides nothing.
    """
    found: list[Decision] = []
    led = {one.quad[0]: one for one in redirects if one.removed is None}
    told: set[Any] = set()
    for proposal in proposals:
        linked = [(one[0], one[2]) for one in proposal.added if proposal.kind == "duplicate"]
        entities = proposal.merged or next(iter(linked), ())
        if len(entities) < 2 or proposal.status == "open":
            continue
        kept, *others = entities
        same = proposal.status == "accepted"
        for other in others:
            if same and proposal.merged and other not in led:
                continue
            if same:
                told.add(other)
            found.append(
                Decision(
                    (kept, other),
                    same,
                    "accepted" if same else "split" if proposal.kind == "split" else "rejected",
                    proposal.confidence if proposal.score is None else proposal.score,
                    proposal.reviewer,
                    proposal.decided,
                    proposal.id,
                    proposal.revision,
                )
            )
    merged = ((one.quad[2], one.quad[0], True, one) for one in led.values() if one.quad[0] not in told)
    apart = ((one.quad[0], one.quad[2], False, one) for one in different if one.removed is None)
    found += list(_said(chain(merged, apart)))
    earliest = datetime.datetime.min.replace(tzinfo=datetime.UTC)
    return sorted(found, key=lambda one: (one.time or earliest, tuple(map(str, one.entities))))


def _said(pairs: Iterable[tuple[Any, Any, bool, Provenance]]) -> Iterator[Decision]:
    for one, other, same, said in pairs:
        entry = said.added
        how: How = "merged" if same else "distinct"
        if entry is None:
            yield Decision((one, other), same, how)
        else:
            yield Decision((one, other), same, how, None, entry.author, entry.time, None, entry.revision)
