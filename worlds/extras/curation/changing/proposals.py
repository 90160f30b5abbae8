"""Changes that wait for somebody to decide on them, with the quads that they rely on."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias, get_args

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.history.diff import Diff
from worlds.core.history.edits import READ, Around, Edits, InQuads, Surroundings, edits_of
from worlds.core.history.gate import Change, remark
from worlds.core.history.history import is_whole
from worlds.core.history.pending_changes import Status, now, share
from worlds.core.history.scale import Learned, Scored, decided, learned
from worlds.core.history.undo import held_quads
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary, Ids
from worlds.core.quads.reader import quad_ids
from worlds.core.quads.redirects import Redirects
from worlds.errors import ArgumentError, ConflictError, ReadOnlyError
from worlds.extras.curation.changing.entity_merge import Conflicts, EntityMerging, Rule
from worlds.extras.shapes.guard import Guard
from worlds.graph.longtexts import parse_all
from worlds.graph.patches import write_patch
from worlds.graph.records import As, Count, Node, Number, Record
from worlds.graph.terms import entity_of, format_term, quad_to_rdflib, to_oxigraph, to_rdflib
from worlds.sql import statements
from worlds.sql.bound_values import reading
from worlds.sql.connection import Connection, Row

Chosen: TypeAlias = Literal["open", "accepted", "rejected", "any"]

_UNCALIBRATED = (
    "{:,} proposed duplicates and links have a score, but no probability yet: decide 30 of a kind one by one (`worlds "
    "proposals accept`, `reject`, or a table of `list --csv`), at least five accepted and five rejected"
)
_QUERIES = statements("queries.sql")
_CURATION = statements("curation.sql")
_TOLD = 5  # sentences of each kind
_SQL = statements("curation.sql")
_MOST = 2**31 - 1


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


class StalenessCheck:
    """The quads that proposals rely on, compared with the present."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._redirects = Redirects(connection, dictionary)
        self._conflicts = Conflicts(connection, dictionary)

    def moved(
        self, base: int, added: Sequence[ox.Quad], needed: Sequence[ox.Quad], merged: Sequence[Any] = ()
    ) -> list[str]:
        """Changes since revision `base` that touch the proposal, in sentences.

        The `needed` quads must hold. Where a value is replaced (by one of `added`), or is added to a functional
        property, nobody may have given another one. The entities `merged` must be there still.
        """
        ids = self._ids(needed)
        held = set(held_quads(self._connection, ids)[:, 0].tolist())
        gone = [quad for place, quad in enumerate(needed) if place not in held]
        found = [f"{_told(quad)} no longer holds" for quad in gone[:_TOLD]]
        numbers = self._dictionary.find(merged)
        ends = self._redirects.of([number for number in numbers if number is not None])
        for term, number in zip(merged, numbers, strict=True):
            if number is None or not self._is_used(number):
                found.append(f"no quad names {format_term(term)} any more")
            elif number in ends:
                found.append(f"{format_term(term)} was merged already")
        return found + self._rivals(base, added, needed)[:_TOLD]

    def _is_used(self, number: int) -> bool:
        statement = _CURATION["is_used"]
        return self._connection.row(statement, statement.bind(entity=number)) is not None

    def _ids(self, quads: Sequence[ox.Quad]) -> Ids:
        """The ids of quads, int64 [n, 4]; -1 for a term that the world does not know."""
        terms = [term for quad in quads for term in (quad.subject, quad.predicate, quad.object, quad.graph_name)]
        sought = list(dict.fromkeys(term for term in terms if not isinstance(term, ox.DefaultGraph)))
        known: dict[Any, int | None] = dict(zip(sought, self._dictionary.find(sought), strict=True))
        numbers = [known.get(term, DEFAULT_GRAPH_ID) for term in terms]
        return np.array([-1 if one is None else one for one in numbers], dtype=np.int64).reshape(-1, 4)

    def _rivals(self, base: int, added: Sequence[ox.Quad], needed: Sequence[ox.Quad]) -> list[str]:
        """Values that somebody gave since, where the proposal would give one."""
        if base == self._connection.value(_QUERIES["last_revision"]) and not self._connection.in_transaction:
            return []  # nobody has written since
        ids = self._ids(added)
        functional = self._conflicts.declared({int(number) for number in ids[:, 1] if number > 0})
        replaced = {_place(quad) for quad in needed}
        places = {
            _place(quad): (int(row[0]), int(row[1]))
            for quad, row in zip(added, ids, strict=True)
            if row[0] > 0 and row[1] > 0 and (int(row[1]) in functional or _place(quad) in replaced)
        }
        expected = {(quad.subject, quad.predicate, quad.object) for quad in (*added, *needed)}
        found = []
        statement = _QUERIES["quads_of_subject_predicate"]
        for (subject, predicate, language), (s, p) in places.items():
            quads = self._connection.table(statement, statement.bind(subject=s, predicate=p, graph=-1))
            held = held_quads(self._connection, quads)
            newer = quads[held[held[:, 1] > base, 0], 2].tolist()
            terms = self._dictionary.terms(newer)
            for value in dict.fromkeys(terms[number] for number in newer):
                if _language(value) == language and (subject, predicate, value) not in expected:
                    names = " ".join(map(format_term, (subject, predicate, value)))
                    found.append(f"{names} was added since")
        return found


def _language(term: Any) -> str | None:
    return term.language if isinstance(term, ox.Literal) else None


def _place(quad: ox.Quad) -> tuple[Any, Any, str | None]:
    return quad.subject, quad.predicate, _language(quad.object)


def _told(quad: ox.Quad) -> str:
    return " ".join(map(format_term, (quad.subject, quad.predicate, quad.object)))


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
