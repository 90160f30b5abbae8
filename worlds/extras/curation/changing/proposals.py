"""Changes that wait for somebody to decide on them."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.history.diff import Diff
from worlds.core.history.edits import READ, Surroundings
from worlds.core.history.gate import Change, remark
from worlds.core.history.history import is_whole
from worlds.core.history.pending_changes import Status, now, share
from worlds.core.history.scale import Learned, Scored, decided, learned
from worlds.core.quads.dictionary import Ids
from worlds.core.quads.reader import quad_ids
from worlds.errors import ArgumentError, ConflictError, ReadOnlyError
from worlds.extras.curation.changing.conflicts import Rule
from worlds.extras.curation.changing.entity_merge import EntityMerging
from worlds.extras.curation.changing.ground import StalenessCheck
from worlds.extras.curation.changing.proposal import Chosen, Listed, Proposal, Remark
from worlds.extras.shapes.guard import Guard
from worlds.graph.longtexts import parse_all
from worlds.graph.terms import entity_of, quad_to_rdflib, to_oxigraph, to_rdflib
from worlds.sql import statements
from worlds.sql.bound_values import reading
from worlds.sql.connection import Row

_SQL = statements("curation.sql")
_MOST = 2**31 - 1


class Proposals:
    """The proposals of one world."""

    def __init__(
        self, core: Core, merging: EntityMerging, guard: Guard, *, against: Callable[[Ids], list[str]]
    ) -> None:
        """`against` returns the contradictions that added quads would cause."""
        self._against = against
        self._core = core
        self._merging = merging
        self._guard = guard
        self._ground = StalenessCheck(core.connection, core.dictionary)

    # -- changing them --------------------------------------------------------------------------------------------

    def amend(
        self,
        number: int,
        diff: Change | Diff | None,
        *,
        why: str | None,
        confidence: float | None,
        author: str | None,
        own: bool,
    ) -> Proposal:
        """Revise the change (unless `diff` is None) and confidence of a proposal; records the author and the reason."""
        author, why = remark("author", author), remark("why", why)
        with self._core.connection.transaction():
            found = self._undecided(number)
            if own and (diff is not None or confidence is not None) and (author is None or author != found.author):
                raise ReadOnlyError(
                    f"proposal {number} is {found.author or 'somebody'}'s: only its author, or a key that may write, "
                    "can revise it; comment on it, or make another proposal"
                )
            statement = _SQL["amend_proposal"]
            values: dict[str, Any] = {"base": found.base, "digest": None, "validation": found.validation}
            if isinstance(diff, Diff):
                if found.merged:
                    raise ValueError(f"proposal {number} merges entities: reject it, and propose another")
                digest = self._core.writer.waiting.replace(number, diff)
                values = {"base": self._core.history.last, "digest": digest, "validation": diff.violations}
            discussion = [[one.time.isoformat(), one.author, one.text, one.replaced] for one in found.discussion]
            changed = [] if diff is None else [f"version {found.version + 1}"]
            if confidence is not None:
                changed.append(f"confidence {confidence:g}" + _before(found.confidence))
            if why is not None or changed:
                text = why or ", ".join(changed)
                discussion.append([now(), author, text, None if diff is None else found.patch])
            values["validation"] = json.dumps(values["validation"])
            values["confidence"] = share(confidence)
            given = statement.bind(discussion=json.dumps(discussion), proposal=number, **values)
            self._core.connection.run(statement, given)
        return self.get(number)

    # -- reading them ---------------------------------------------------------------------------------------------

    def get(self, number: object) -> Proposal:
        """One proposal, by its number; ArgumentError if there is none."""
        with self._core.connection.snapshot():
            return self._beside([self._numbered(number)])[0]

    def _numbered(self, number: object) -> Proposal:
        if not is_whole(number):
            raise TypeError(f"a proposal is given by its number, not by {number!r}")
        rows = self._core.connection.rows(_SQL["proposal"], (min(int(number), _MOST),))  # type: ignore[call-overload]  # whole
        if not rows:
            raise ArgumentError(f"there is no proposal {number}", kind="proposal")
        return self._read(rows[0], self._scales())

    def find(
        self,
        *,
        status: Chosen | None,
        author: str | None,
        entities: Sequence[Any] | None,
        kind: str | None,
        minimum: float | None,
        limit: int | None,
        after: int | None = None,
    ) -> Listed:
        """The proposals that all of this holds for; see `ProposalsRoom.list`."""
        if status is not None and status not in get_args(Chosen):
            raise ValueError(f"status must be one of {', '.join(get_args(Chosen))}, not {status!r}")
        if limit is not None and not is_whole(limit):
            raise ValueError(f"limit must be a whole number from 0 on, or None, not {limit!r}")
        if after is not None and not is_whole(after):
            raise ValueError(f"after is the number of a proposal, or None, not {after!r}")
        scales = self._scales()
        statement, scored = _SQL["proposals"], _SQL["uncalibrated_proposals"]
        among = {"status": None if status == "any" else status, "author": author, "kind": kind}
        given = statement.bind(
            **among,
            minimum=share(minimum, "minimum"),
            **{kind: scale.least(minimum) if scale and minimum is not None else None for kind, scale in scales.items()},
            entities_json=None if entities is None else json.dumps([str(entity) for entity in entities]),
            limit=_MOST if limit is None else min(limit, _MOST),
            after=min(after or 0, _MOST),
        )
        with self._core.connection.snapshot():
            rows = self._core.connection.rows(statement, given)
            unknown = json.dumps([kind for kind, scale in scales.items() if minimum is not None and scale is None])
            left_out = self._core.connection.value(scored, scored.bind(**among, kinds_json=unknown))
            found = self._beside([self._read(row[:-1], scales) for row in rows])
            return Listed(found, rows[0][-1] if rows else 0, left_out)

    def _scales(self) -> dict[str, Learned | None]:
        """The scales on which scores are probabilities, by kind."""
        return {kind: learned(*decided(self._core.connection, kind)) for kind in get_args(Scored)}

    def _beside(self, found: list[Proposal]) -> list[Proposal]:
        """The proposals with the quads around theirs, which can be read after the world is closed, too."""
        quads = [quad for one in found for part in one.quads for quad in part[:READ]]
        around = Surroundings(quads, self._core.history.around)
        return [replace(one, around=around) for one in found]

    def _read(self, row: Row, scales: dict[str, Learned | None]) -> Proposal:
        """The proposal of a row, with what has moved under it if it is open."""
        with reading(f"proposal {row[0]}"):
            return self._made(scales, *row)

    def _made(
        self, scales: dict[str, Learned | None], number: int, status: Status, kind: str, time: str, author: str | None,
        why: str | None, confidence: float | None, base: int, merged: str | None, validation: str, discussion: str,
        reviewer: str | None, decided: str | None, decision: str | None, revision: int | None, *quads: str | None,
    ) -> Proposal:  # fmt: skip
        added, removed, relied = (tuple(parse_all(part or "", ox.RdfFormat.N_QUADS)) for part in quads)
        names = () if merged is None else tuple(map(entity_of, json.loads(merged)))
        changed = ((), ()) if names else (added, removed)  # a merge is evaluated anew
        moved = self._ground.moved(base, changed[0], (*changed[1], *relied), names[1:]) if status == "open" else ()
        score = confidence if kind in scales else None
        if score is not None:
            scale = scales[kind]
            confidence = None if scale is None else float(scale(np.array(score)))
        return Proposal(
            number, status, kind, _instant(time), author, why, confidence, score, base, (added, removed),
            tuple(map(to_rdflib, names)), tuple(map(quad_to_rdflib, relied)), tuple(json.loads(validation)),
            tuple(Remark(_instant(when), *said) for when, *said in json.loads(discussion)),
            reviewer, None if decided is None else _instant(decided), decision,
            None if status == "open" else revision, tuple(moved),
        )  # fmt: skip

    def _undecided(self, number: object) -> Proposal:
        found = self._numbered(number)
        if found.status != "open":
            by = f" by {found.reviewer}" if found.reviewer else ""
            raise ConflictError(f"proposal {number} was {found.status} already{by}")
        return found

    # -- deciding -------------------------------------------------------------------------------------------------

    def accept(
        self, number: int, *, reviewer: str | None, why: str | None, version: int | None, force: bool, dry_run: bool
    ) -> Change | Diff:
        """Make the change of a proposal, by its author; see `World.proposals.accept`."""
        reviewer, why = remark("reviewer", reviewer), remark("why", why)
        if version is not None and not is_whole(version):
            raise ValueError(f"version must be a whole number from 1 on, or None, not {version!r}")
        guard = "warn" if self._guard.setting == "queue" else None  # somebody has looked at it
        with self._core.writer.revision(embed=True, dry_run=dry_run, guard=guard) as writing:
            proposal = self._undecided(number)
            if version not in (None, proposal.version):
                raise ConflictError(
                    f"proposal {number} is at version {proposal.version} now, given by "
                    f"{proposal.content_author or 'somebody'}: look at it, and accept version={proposal.version}"
                )
            if proposal.moved and not force:
                told = "; ".join(proposal.moved)
                raise ConflictError(
                    f"quads that proposal {number} relies on have changed: {told}; force accepts it anyway"
                )
            by = f"accepted by {reviewer}" if reviewer else "accepted"
            message = f"{proposal.why or proposal.kind} (proposal {number}, {by})"
            writing.sign(proposal.content_author, message)
            if proposal.merged:
                kept, *others = map(to_oxigraph, proposal.merged)
                rule: Rule | None = "report" if force else None
                self._merging.merge(kept, others, conflicts=rule, author=None, message=message)
            else:
                added, removed = (
                    quad_ids(self._core.connection, self._core.dictionary, quads) for quads in proposal.quads
                )
                writing.apply(added, removed)
                against = self._against(added)
                if against and not force:
                    raise ConflictError(f"{'; '.join(against)}; force accepts proposal {number} anyway")
                writing.note(*against)
            changed = writing.number if writing.added or writing.removed or proposal.merged else None
            self._core.writer.waiting.decide(number, "accepted", reviewer, why, changed)
        return writing.change

    def reject(self, number: int, why: str | None, *, reviewer: str | None) -> Proposal:
        """Decide that a change is not made."""
        reviewer, why = remark("reviewer", reviewer), remark("why", why)
        with self._core.connection.transaction():
            self._undecided(number)
            self._core.writer.waiting.decide(number, "rejected", reviewer, why, None)
        return self.get(number)


def _instant(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def _before(confidence: float | None) -> str:
    return "" if confidence is None else f" (before: {confidence:g})"
