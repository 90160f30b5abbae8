"""Changes that wait for somebody to decide on them, as they are kept: what was tried becomes a proposal."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any, Literal, TypeAlias

import pyoxigraph as ox

from worlds.core.history.diff import Diff
from worlds.core.history.gate import Change, remark
from worlds.core.history.history import History
from worlds.core.quads.dictionary import Dictionary
from worlds.errors import ConflictError
from worlds.graph.blanknodes import blank_nodes, renamed
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("curation.sql")

Status: TypeAlias = Literal["open", "accepted", "rejected"]
_Signed: TypeAlias = tuple[int, str, str, str, str]  # sign and terms of a quad, as they are stored


class ProposalStore:
    """The stored proposals of one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, history: History) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._history = history

    def propose(
        self,
        diff: Change | Diff,
        *,
        notes: Iterable[str] = (),
        author: str | None,
        why: str | None,
        kind: str = "edit",
        confidence: float | None = None,
        merged: Sequence[Any] = (),
        relies_on: Iterable[ox.Quad] = (),
        max_open: int | None = None,
        renew: bool = True,
        again: bool = False,
    ) -> int:
        """Store a change that was tried as a proposal; returns its number. ValueError if it changes nothing.

        ConflictError if the same change waits already, or, unless `renew`, was rejected; and if it merges, unless
        `again`, what was decided to be two.
        """
        author, why = remark("author", author), remark("why", why)
        assert isinstance(diff, Diff)
        rows, digest = self._settled(diff)
        if not isinstance(kind, str) or not kind:
            raise ValueError(f"kind must be a word, not {kind!r}")
        with self._connection.transaction():
            same = self._same("open", digest)
            if same is not None and kind == "guard":  # a refused write was tried again
                return same
            if same is not None:
                raise ConflictError(f"proposal {same} has the same change, and is open: comment on it by `amend`")
            if not renew and (same := self._same("rejected", digest)) is not None:
                raise ConflictError(f"proposal {same}, with the same change, was rejected")
            if not again and (told := self._decided_apart(merged)) is not None:
                raise ConflictError(f"{told}; again=True proposes to merge them anyway", kind="decided")
            if max_open is not None and self._connection.value(_SQL["open_proposals_of"], (author,)) >= max_open:
                raise ConflictError(
                    f"{max_open:,} proposals of {author or 'nobody named'} wait for a decision already, as many as may"
                )
            statement = _SQL["insert_proposal"]
            given = statement.bind(
                kind=remark("kind", kind),
                time=now(),
                author=author,
                why=why,
                confidence=share(confidence),
                base=self._history.last,
                digest=digest,
                merged=json.dumps([str(term) for term in merged]) if merged else None,
                validation=json.dumps([*notes, *diff.violations]),
            )
            number = int(self._connection.value(statement, given))
            self._keep(number, [*rows, *((0, *_texts(quad)) for quad in relies_on)])
        return number

    def _same(self, status: Status, digest: str) -> int | None:
        """The number of a proposal of the same change."""
        statement = _SQL["proposal_of_change"]
        found: int | None = self._connection.value(statement, statement.bind(status=status, digest=digest))
        return found

    def _keep(self, number: int, rows: Iterable[_Signed]) -> None:
        into = "INSERT INTO proposal_quads (proposal, sign, subject, predicate, object, graph)"
        self._connection.insert(into, [(number, *row) for row in rows])

    def replace(self, number: int, diff: Diff) -> str:
        """Replace the change of a proposal; returns its digest. ValueError if the new change does nothing."""
        rows, digest = self._settled(diff)
        self._connection.run(_SQL["forget_change"], (number,))
        self._keep(number, rows)
        return digest

    def withdraw(self, number: int, why: str | None) -> tuple[Status, int | None]:
        """Status and revision of a proposal; where it is open and a reason is given, it is rejected."""
        status, revision = self._connection.rows(_SQL["proposal_state"], (number,))[0]
        if status == "open" and why is not None:
            self.decide(number, "rejected", None, why, None)
        return status, None if status == "open" else revision

    def decide(self, number: int, status: Status, reviewer: str | None, why: str | None, revision: int | None) -> None:
        """Record the decision on a proposal, with reviewer, reason and revision."""
        statement = _SQL["decide_proposal"]
        given = statement.bind(
            status=status, reviewer=reviewer, time=now(), decision=why, revision=revision, proposal=number
        )
        self._connection.run(statement, given)

    def _settled(self, diff: Diff) -> tuple[list[_Signed], str]:
        """The rows of a change, and its digest. New blank nodes get unique names.

        They are in one order, so that the same change has the same digest. ValueError for none.
        """
        added, removed = list(diff.added.terms()), list(diff.removed.terms())
        if not added and not removed:
            raise ValueError("the change has no effect: the world has it already")
        nodes = {node for quad in added for node in blank_nodes(quad)}
        known = dict(zip(nodes, self._dictionary.find(list(nodes)), strict=True))
        fresh = {node: ox.BlankNode() for node in nodes if known[node] is None}
        rows: list[_Signed] = [(1, *_texts(renamed(quad, fresh))) for quad in added]
        rows = sorted([*rows, *((-1, *_texts(quad)) for quad in removed)])
        return rows, hashlib.blake2b(json.dumps(rows).encode(), digest_size=16).hexdigest()

    def _decided_apart(self, merged: Sequence[Any]) -> str | None:
        """The decision against a merge of these entities, in words; None where there is none."""
        pairs = {frozenset((str(merged[0]), str(other))) for other in merged[1:]}
        for number, why, names in self._connection.rows(_SQL["rejected_merges"]) if pairs else ():
            kept, *others = json.loads(names)
            if pairs & {frozenset((kept, other)) for other in others}:
                return f"they were decided to differ: proposal {number}, {why or 'without a reason'}"
        return None


def now() -> str:
    """The time, as proposals have it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def share(confidence: object, name: str = "confidence") -> float | None:
    """A number from 0 to 1, or None; ValueError for anything else."""
    if confidence is None:
        return None
    if isinstance(confidence, bool) or not isinstance(confidence, Real) or not 0 <= float(confidence) <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, not {confidence!r}")
    return float(confidence)


def _texts(quad: ox.Quad) -> tuple[str, str, str, str]:
    value = f"<<( {quad.object} )>>" if isinstance(quad.object, ox.Triple) else str(quad.object)
    graph = "" if isinstance(quad.graph_name, ox.DefaultGraph) else str(quad.graph_name)
    return str(quad.subject), str(quad.predicate), value, graph
