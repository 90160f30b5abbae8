"""Changes that wait for somebody to decide on them."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any, TypeAlias, get_args

import pyoxigraph as ox

from worlds.curation.changing.conflicts import Rule
from worlds.curation.changing.ground import Ground
from worlds.curation.changing.merging import Merging
from worlds.curation.changing.proposal import Chosen, Listed, Proposal, Remark, Status
from worlds.errors import ArgumentError, ConflictError, ReadOnlyError
from worlds.graph.blanknodes import blank_nodes, renamed
from worlds.graph.longtexts import parse_all
from worlds.graph.terms import quad_to_rdflib, to_oxigraph, to_rdflib
from worlds.quads.dictionary import Dictionary, Ids
from worlds.quads.reader import quad_ids
from worlds.revisions.diff import Diff
from worlds.revisions.edits import READ, Fetched
from worlds.revisions.gate import Change, remark
from worlds.revisions.history import History, is_whole
from worlds.revisions.rehearsing import Trial
from worlds.revisions.threeway import Conflicting
from worlds.revisions.writer import Writer, Writing
from worlds.rules.guard import TELL
from worlds.sql import statements
from worlds.sql.connection import Connection, Row
from worlds.sql.values import reading

_SQL = statements("curation.sql")
_MOST = 2**31 - 1
_CONFLICT = "another version changed this in another way"

_Quads: TypeAlias = tuple[ox.Quad, ...]
_Signed: TypeAlias = tuple[int, str, str, str, str]  # sign and terms of a quad, as they are stored


class Proposals:
    """The proposals of one world."""

    def __init__(
        self,
        connection: Connection,
        dictionary: Dictionary,
        history: History,
        writer: Writer,
        merging: Merging,
        *,
        setting: Callable[[], str],
        against: Callable[[Ids], list[str]],
    ) -> None:
        """`setting` is the guard's; `against` tells what added quads bring that cannot be."""
        self._against = against
        self._connection = connection
        self._dictionary = dictionary
        self._history = history
        self._writer = writer
        self._merging = merging
        self._setting = setting
        self._ground = Ground(connection, dictionary)

    def trial(self) -> contextlib.AbstractContextManager[Writing]:
        """A write that is only tried; its change tells what it would do, and what it would violate."""
        return self._writer.revision(dry_run=True, guard=TELL)

    # -- making them ----------------------------------------------------------------------------------------------

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
        """Keep a change, which was only tried, as a proposal; gives its number. ValueError if it changes nothing.

        ConflictError if the same change waits already, or, unless `renew`, was rejected; and if it merges, unless
        `again`, what was decided to be two.
        """
        author, why = remark("author", author), remark("why", why)
        assert isinstance(diff, Diff)
        rows, digest = self._settled(diff)
        if not isinstance(kind, str) or not kind:
            raise ValueError(f"kind is a word, not {kind!r}")
        with self._connection.transaction():
            same = self._same("open", digest)
            if same is not None and kind == "guard":  # a refused write was tried again
                return same
            if same is not None:
                raise ConflictError(f"proposal {same} waits already, with the same change: amend says more of it")
            if not renew and (same := self._same("rejected", digest)) is not None:
                raise ConflictError(f"proposal {same}, with the same change, was rejected")
            if not again and (told := self._decided_apart(merged)) is not None:
                raise ConflictError(f"{told}; again=True proposes to merge them all the same", kind="decided")
            if max_open is not None and self._connection.value(_SQL["open_proposals_of"], (author,)) >= max_open:
                raise ConflictError(
                    f"{max_open:,} proposals of {author or 'nobody named'} wait for a decision already, as many as may"
                )
            statement = _SQL["insert_proposal"]
            given = statement.bind(
                kind=remark("kind", kind),
                time=_now(),
                author=author,
                why=why,
                confidence=_share(confidence),
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

    def queue(self, diff: Diff, author: str | None, message: str | None) -> int:
        """Keep a write that a guard refused as a proposal; gives its number."""
        return self.propose(diff, author=author, why=message, kind="guard")

    def conflicting(self, conflicts: Iterable[Conflicting], author: str | None = None) -> list[int]:
        """Propose what conflicts with changes of this world, each for itself; gives the numbers of what waits."""
        return self.propose_each((Trial(one.added, one.removed, _CONFLICT, "conflict") for one in conflicts), author)

    def propose_each(self, trials: Iterable[Trial], author: str | None = None) -> list[int]:
        """Propose changes, each for itself, but those that wait or were rejected; gives the numbers of what is new."""
        numbers = []
        for one in trials:
            with self.trial() as trial:
                trial.apply(one.added, one.removed)
            with contextlib.suppress(ConflictError):
                numbers.append(
                    self.propose(
                        trial.change, author=author, why=one.why, kind=one.kind, confidence=one.confidence,
                        renew=one.kind == "conflict",
                    )
                )  # fmt: skip
        return numbers

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
        """Give a proposal another change (where `diff` is not None) and confidence, and note who did, and why."""
        author, why = remark("author", author), remark("why", why)
        with self._connection.transaction():
            found = self._undecided(number)
            if own and (diff is not None or confidence is not None) and (author is None or author != found.author):
                raise ReadOnlyError(
                    f"proposal {number} is {found.author or 'somebody'}'s: only its author, or who may write, gives it "
                    "another change or confidence; say what is wrong with it, or propose another"
                )
            statement = _SQL["amend_proposal"]
            values: dict[str, Any] = {"base": found.base, "digest": None, "validation": found.validation}
            if isinstance(diff, Diff):
                if found.merged:
                    raise ValueError(f"proposal {number} merges entities: reject it, and propose another")
                rows, digest = self._settled(diff)
                values = {"base": self._history.last, "digest": digest, "validation": diff.violations}
                self._connection.run(_SQL["forget_change"], (number,))
                self._keep(number, rows)
            discussion = [[one.time.isoformat(), one.author, one.text, one.replaced] for one in found.discussion]
            changed = [] if diff is None else [f"version {found.version + 1}"]
            if confidence is not None:
                changed.append(f"confidence {confidence:g}" + _before(found.confidence))
            if why is not None or changed:
                text = why or ", ".join(changed)
                discussion.append([_now(), author, text, None if diff is None else found.patch])
            values["validation"] = json.dumps(values["validation"])
            values["confidence"] = found.confidence if confidence is None else _share(confidence)
            given = statement.bind(discussion=json.dumps(discussion), proposal=number, **values)
            self._connection.run(statement, given)
        return self.get(number)

    def _settled(self, diff: Diff) -> tuple[list[_Signed], str]:
        """The rows of a change, and its digest. Blank nodes that are new get names that no other write gives.

        They are in one order, so that the same change has the same digest. ValueError for none.
        """
        added, removed = list(diff.added.terms()), list(diff.removed.terms())
        if not added and not removed:
            raise ValueError("this changes nothing: the world is so already")
        nodes = {node for quad in added for node in blank_nodes(quad)}
        known = dict(zip(nodes, self._dictionary.find(list(nodes)), strict=True))
        fresh = {node: ox.BlankNode() for node in nodes if known[node] is None}
        rows: list[_Signed] = [(1, *_texts(renamed(quad, fresh))) for quad in added]
        rows = sorted([*rows, *((-1, *_texts(quad)) for quad in removed)])
        return rows, hashlib.blake2b(json.dumps(rows).encode(), digest_size=16).hexdigest()

    def _decided_apart(self, merged: Sequence[Any]) -> str | None:
        """What says that entities to merge were decided to be two; None if nothing does."""
        pairs = {frozenset((str(merged[0]), str(other))) for other in merged[1:]}
        for number, why, names in self._connection.rows(_SQL["rejected_merges"]) if pairs else ():
            kept, *others = json.loads(names)
            if pairs & {frozenset((kept, other)) for other in others}:
                return f"they were decided to be two: proposal {number}, {why or 'without a reason'}"
        return None

    # -- reading them ---------------------------------------------------------------------------------------------

    def get(self, number: object) -> Proposal:
        """One proposal, by its number; ArgumentError if there is none."""
        with self._connection.snapshot():
            return self._beside(self._numbered(number))[0]

    def _numbered(self, number: object) -> list[Proposal]:
        if not is_whole(number):
            raise TypeError(f"a proposal is given by its number, not by {number!r}")
        rows = self._connection.rows(_SQL["proposal"], (min(int(number), _MOST),))  # type: ignore[call-overload]  # whole
        if not rows:
            raise ArgumentError(f"there is no proposal {number}", kind="proposal")
        return self._read(rows)

    def find(
        self,
        *,
        status: Chosen | None,
        author: str | None,
        entities: Sequence[Any] | None,
        kind: str | None,
        minimum: float | None,
        limit: int | None,
        memories: bool,
        after: int | None = None,
    ) -> Listed:
        """The proposals that all of this holds for; see `World.proposals`. With `memories`, those of memories too."""
        if status is not None and status not in get_args(Chosen):
            raise ValueError(f"status is one of {', '.join(get_args(Chosen))}, not {status!r}")
        if limit is not None and not is_whole(limit):
            raise ValueError(f"limit is a whole number from 0 on, or None, not {limit!r}")
        if after is not None and not is_whole(after):
            raise ValueError(f"after is the number of a proposal, or None, not {after!r}")
        statement = _SQL["proposals"]
        given = statement.bind(
            status=None if status == "any" else status,
            author=author,
            kind=kind,
            minimum=_share(minimum, "minimum"),
            entities_json=None if entities is None else json.dumps([str(entity) for entity in entities]),
            limit=_MOST if limit is None else min(limit, _MOST),
            memories=int(memories),
            after=min(after or 0, _MOST),
        )
        with self._connection.snapshot():
            rows = self._connection.rows(statement, given)
            return Listed(self._beside(self._read([row[:-1] for row in rows])), rows[0][-1] if rows else 0)

    def _beside(self, found: list[Proposal]) -> list[Proposal]:
        """The proposals with what stands beside their quads, which is told when the world is closed, too."""
        quads = [quad for one in found for part in one.quads for quad in part[:READ]]
        around = Fetched(quads, self._history.around)
        return [replace(one, around=around) for one in found]

    def _read(self, rows: Sequence[Row]) -> list[Proposal]:
        """The proposals of rows, with their quads, and with what has moved under those that are open."""
        quads: dict[tuple[int, int], list[ox.Quad]] = defaultdict(list)
        with reading("a proposal"):
            kept = self._connection.rows(_SQL["proposal_quads"], (json.dumps([row[0] for row in rows]),))
            read = parse_all("\n".join(line for _, _, line in kept), ox.RdfFormat.N_QUADS)
            for (number, sign, _), quad in zip(kept, read, strict=True):
                quads[number, sign].append(quad)
            return [self._made(row, *(tuple(quads[row[0], sign]) for sign in (1, -1, 0))) for row in rows]

    def _made(self, row: Row, added: _Quads, removed: _Quads, relied: _Quads) -> Proposal:
        (number, status, kind, time, author, why, confidence, base, merged, validation, discussion,
         reviewer, decided, decision, revision) = row  # fmt: skip
        names = () if merged is None else tuple(map(_term, json.loads(merged)))
        changed = ((), ()) if names else (added, removed)  # a merge is evaluated anew
        moved = self._ground.moved(base, changed[0], (*changed[1], *relied), names[1:]) if status == "open" else ()
        return Proposal(
            number, status, kind, _instant(time), author, why, confidence, base, (added, removed),
            tuple(map(to_rdflib, names)), tuple(map(quad_to_rdflib, relied)), tuple(json.loads(validation)),
            tuple(Remark(_instant(when), *said) for when, *said in json.loads(discussion)),
            reviewer, None if decided is None else _instant(decided), decision,
            None if status == "open" else revision, tuple(moved),
        )  # fmt: skip

    def _undecided(self, number: object) -> Proposal:
        (found,) = self._numbered(number)
        if found.status != "open":
            by = f" by {found.reviewer}" if found.reviewer else ""
            raise ConflictError(f"proposal {number} was {found.status} already{by}")
        return found

    # -- deciding -------------------------------------------------------------------------------------------------

    def accept(
        self, number: int, *, reviewer: str | None, why: str | None, version: int | None, force: bool, dry_run: bool
    ) -> Change | Diff:
        """Make the change of a proposal, as who gave it; see `World.accept`."""
        reviewer, why = remark("reviewer", reviewer), remark("why", why)
        if version is not None and not is_whole(version):
            raise ValueError(f"version is a whole number from 1 on, or None, not {version!r}")
        guard = "warn" if self._setting() == "queue" else None  # somebody has looked at it
        with self._writer.revision(embed=True, dry_run=dry_run, guard=guard) as writing:
            proposal = self._undecided(number)
            if version not in (None, proposal.version):
                raise ConflictError(
                    f"proposal {number} is at version {proposal.version} now, given by "
                    f"{proposal.content_author or 'somebody'}: look at it, and accept version={proposal.version}"
                )
            if proposal.moved and not force:
                told = "; ".join(proposal.moved)
                raise ConflictError(
                    f"what proposal {number} relies on has changed: {told}; force accepts it all the same"
                )
            by = f"accepted by {reviewer}" if reviewer else "accepted"
            message = f"{proposal.why or proposal.kind} (proposal {number}, {by})"
            writing.sign(proposal.content_author, message)
            if proposal.merged:
                kept, *others = map(to_oxigraph, proposal.merged)
                rule: Rule | None = "report" if force else None
                self._merging.merge(kept, others, conflicts=rule, author=None, message=message)
            else:
                added, removed = (quad_ids(self._connection, self._dictionary, quads) for quads in proposal.quads)
                writing.apply(added, removed)
                against = self._against(added)
                if against and not force:
                    raise ConflictError(f"{'; '.join(against)}; force accepts proposal {number} all the same")
                writing.note(*against)
            changed = writing.number if writing.added or writing.removed or proposal.merged else None
            self._decide(number, "accepted", reviewer, why, changed)
        return writing.change

    def reject(self, number: int, why: str | None, *, reviewer: str | None) -> Proposal:
        """Decide that a change is not made."""
        reviewer, why = remark("reviewer", reviewer), remark("why", why)
        with self._connection.transaction():
            self._undecided(number)
            self._decide(number, "rejected", reviewer, why, None)
        return self.get(number)

    def _decide(self, number: int, status: Status, reviewer: str | None, why: str | None, revision: int | None) -> None:
        statement = _SQL["decide_proposal"]
        given = statement.bind(
            status=status, reviewer=reviewer, time=_now(), decision=why, revision=revision, proposal=number
        )
        self._connection.run(statement, given)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def _instant(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def _before(confidence: float | None) -> str:
    return "" if confidence is None else f" (before: {confidence:g})"


def _share(confidence: object, name: str = "confidence") -> float | None:
    if confidence is None:
        return None
    if isinstance(confidence, bool) or not isinstance(confidence, Real) or not 0 <= float(confidence) <= 1:
        raise ValueError(f"{name} is a number from 0 to 1, not {confidence!r}")
    return float(confidence)


def _term(text: str) -> Any:
    return ox.BlankNode(text[2:]) if text.startswith("_:") else ox.NamedNode(text[1:-1])


def _texts(quad: ox.Quad) -> tuple[str, str, str, str]:
    value = f"<<( {quad.object} )>>" if isinstance(quad.object, ox.Triple) else str(quad.object)
    graph = "" if isinstance(quad.graph_name, ox.DefaultGraph) else str(quad.graph_name)
    return str(quad.subject), str(quad.predicate), value, graph
