"""The conclusions of a world, kept in a table in step with its quads, in the transaction of each write.

What a write adds is followed round by round. What follows of something that it removes is taken away, and what follows
from the rest all the same is put back. Beyond a size the whole is made anew, by sets.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.core import Core
from worlds.core.extension import Extension, Inspected
from worlds.core.quads.dataset import of_data
from worlds.core.quads.delta import Delta
from worlds.core.quads.dictionary import IRI, LITERAL, Ids, json_ids
from worlds.core.quads.interner import Interner
from worlds.core.quads.rows import NO_QUADS, difference, distinct, read_quads, unique_quads
from worlds.extras.conclusions.deriving import Program
from worlds.extras.conclusions.joins import (
    ANY_GRAPH,
    Extent,
    Hot,
    Join,
    Matches,
    Path,
    QuadSource,
    TooManyError,
    keys_of,
)
from worlds.extras.conclusions.rules import TYPE, Construct, Rule, known, read
from worlds.graph.terms import Term
from worlds.sql import Statement, statements
from worlds.sql.connection import Connection
from worlds.sql.index_rebuild import without

ENTAILED = ox.NamedNode("urn:worlds:entailed")
"""The graph of conclusions whose premises are in several graphs."""

_SQL = statements("conclusions.sql")
_QUERIES = statements("queries.sql")
_REMEDY = "rules.use(…) makes them anew"
_BATCH = 5000  # rows a statement
_PAIRS = 20_000
_MOST = 50_000  # quads, or matches of a pattern, that are followed one by one
_FEW = 2000  # quads that are followed one by one in any world
_SHARE = 10  # of the quads of a world, from which on making all anew is quicker
_KINDS = 200_000  # of terms that are remembered
_BY_PATH = {
    (0, 1): _SQL["of_subject_predicate"], (1, 2): _SQL["of_predicate_object"], (0,): _SQL["of_subject"],
    (1,): _SQL["of_predicate"], (2,): _SQL["of_object"],
}  # fmt: skip


@dataclass(frozen=True)
class RuleSettings:
    """The rules that a world goes by: sets, rules of its own by their names, and the graphs that they read.

    `graphs` are in N-Triples, "" for the default graph; None for all graphs of data.
    """

    sets: tuple[str, ...] = ()
    own: Mapping[str, str] = field(default_factory=dict)
    graphs: tuple[str, ...] | None = None

    @cached_property
    def rules(self) -> tuple[Construct, ...]:
        """The rules, each once."""
        named = {rule.name: rule for name in self.sets for rule in known(name)}
        return (*named.values(), *(read(name, text, {}) for name, text in self.own.items()))

    @property
    def terms(self) -> list[Term]:
        """The terms of the rules and graphs."""
        named = [ox.NamedNode(name) for name in self.graphs or () if name]
        return list(dict.fromkeys([ENTAILED, TYPE, *named, *(term for rule in self.rules for term in rule.terms)]))


def _read_settings(kept: Any) -> RuleSettings:
    given = json.loads(kept)
    graphs = given["graphs"]
    return RuleSettings(tuple(given["sets"]), dict(given["own"]), None if graphs is None else tuple(graphs))


class Conclusions(Extension):
    """Keeps the conclusions of one world."""

    def __init__(self, core: Core) -> None:
        self._connection = core.connection
        self._dictionary = core.dictionary
        self._stored = _Stored(core.connection, self)
        self.interning = True
        """Whether terms of rules that the file has not may be stored in it."""
        self._forget()

    @property
    def settings(self) -> RuleSettings:
        """The rules that the world goes by."""
        return self._connection.setting("rules", _read_settings) or RuleSettings()

    def put(self, settings: RuleSettings) -> None:
        """Set other rules; all conclusions are made anew, in a transaction."""
        with self._connection.transaction():
            self._connection.run(_QUERIES["set_meta"], ("rules", json.dumps(asdict(settings), ensure_ascii=False)))
            self._forget()
            self.make()

    def count(self) -> int:
        """The number of conclusions."""
        return int(self._connection.value(_SQL["count_conclusions"]))

    def all(self) -> Ids:
        """The conclusions, int64 [n, 4]."""
        return self._connection.table(_SQL["all_conclusions"])

    def inspect(self) -> Inspected | None:
        """The kept conclusions beside what follows."""
        kept = self.all()
        if not self.settings.rules and not len(kept):
            return None
        follow = self.closure()
        compared = {"is missing": difference(follow, kept), "does not follow": difference(kept, follow)}
        wrong = {what: quads for what, quads in compared.items() if len(quads)}
        return Inspected("conclusions", len(kept), wrong, _REMEDY)

    def about(self, subject: int, predicate: int) -> Ids:
        """The quads of a subject and a predicate, written or concluded, int64 [n, 4]."""
        self.program()
        path: Path = (0, 1)
        return self._stored.fetch(path, keys_of(path, [np.array([subject]), np.array([predicate])]))

    def derivations(self, quads: Ids) -> Iterator[tuple[Rule, Matches]]:
        """The rules and the matches that conclude quads in one step; see `Program.instances`."""
        self.begin()
        program = self.program()
        return program.instances(quads, self._join(NO_QUADS, tracing=True))

    def matches(self, rule: Construct) -> Iterator[Matches]:
        """The matches of a pattern among quads and conclusions, in blocks, with the quads of each match.

        Of two values of which a condition says that they differ, ?y and ?z, the smaller id is that of ?y.
        """
        compiled = rule.on(self._numbers(list(rule.terms), writing=False))
        if compiled is None:
            return
        program = self.program()
        join = Join([self._stored], program.entailed, tracing=True)
        nothing = Matches({}, np.full(1, ANY_GRAPH, dtype=np.int64))
        for block in join.all(nothing, compiled, range(len(compiled.body))):
            if rule.tests:
                block = block.take(np.flatnonzero(block.columns["y"] < block.columns["z"]))
            if len(block := program.tested(compiled, block)):
                yield block

    # -- in step --------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._program: Program | None = None
        self._compiled: object = None
        self._hot: dict[Hot, Extent] = {}
        self._directed: Program | None = None
        self._kinds: dict[int, int] = {}
        self._graphs: set[int] | None = None
        self._changed: list[tuple[Ids, Ids]] = []  # what came and went by the delta that is being followed
        self._state: object = None

    def begin(self) -> None:
        """Bring the conclusions in step with the stored quads; a world without rules reads nothing."""
        if self._connection.meta("rules") is not None and self._state != (state := self._stamp()):
            self._hot, self._state = {}, state

    def _stamp(self) -> object:
        meta = self._connection.meta
        return self._connection.value(_QUERIES["last_revision"]), meta("rules"), meta("purges")

    def revert(self) -> None:
        """Forget the data read in the transaction."""
        self._forget()

    def drop(self) -> None:
        """Drop the cached rules and program; they are read again."""
        self._forget()

    def committed(self, revision: int) -> None:
        """Store the program that was read as the one of this revision."""
        if self._program is not None:
            self._state = revision, self._connection.meta("rules"), self._connection.meta("purges")

    def apply(self, delta: Delta) -> None:
        """Follow a delta; a world without rules does nothing."""
        if self._connection.meta("rules") is None or not self.settings.rules:
            return
        program = self.program(writing=True)
        added, removed = self.mine(delta.added), self.mine(delta.removed)
        size = len(added) + len(removed)
        try:
            if size > _MOST or (size > _FEW and size * _SHARE > self._connection.value(_QUERIES["count_quads"])):
                raise TooManyError
            self._step(program, added, removed)
            delta.concluded, delta.retracted = map(
                np.concatenate, zip((NO_QUADS, NO_QUADS), *self._changed, strict=True)
            )
            self._note(np.concatenate([delta.concluded, delta.retracted]))
        except TooManyError:
            before = self.count()
            self.make()
            told = f"what follows by the rules was made anew as a whole: {self.count():,} quads, {before:,} before"
            delta.notes.append(told)

    def _step(self, program: Program, added: Ids, removed: Ids) -> None:
        back = NO_QUADS
        if len(removed):
            found = program.base.fire(removed, self._join(removed, more=[Extent(removed)]))
            back = self._settle(program.base, found, removed, removed)
        held = self.of(added)
        self._retract(held)
        self._follow(program.base, np.concatenate([difference(added, held), back]))
        if program.base is not program:
            for upto, stratum in program.strata(self._join(NO_QUADS, tracing=True)):
                touched = unique_quads(np.concatenate([added, removed, *itertools.chain(*self._changed)]))
                join = self._join(NO_QUADS, more=[Extent(touched)])
                found = unique_quads(np.concatenate([program.turned(rule, touched, join) for rule in stratum]))
                self._follow(upto, self._settle(upto, found, np.concatenate([found, touched]), touched))

    def _settle(self, program: Program, found: Ids, candidates: Ids, before: Ids) -> Ids:
        """Retract what was found and what follows from it, and put back what follows all the same, which is returned.

        Of the `candidates`, too, what follows is concluded. `before` are quads that no longer hold, among others.
        """
        gone = NO_QUADS
        while len(doubtful := difference(self.of(found), gone)):
            gone = np.concatenate([gone, doubtful])
            _bound(gone)
            found = program.fire(doubtful, self._join(doubtful, more=[Extent(before)]))
        self._retract(gone)
        candidates = self.fresh(unique_quads(np.concatenate([gone, candidates])))
        back = program.derivable(candidates, self._join(candidates))
        self._conclude(back)
        return back

    def _follow(self, program: Program, frontier: Ids) -> None:
        """Conclude what follows from quads that came, round by round."""
        total = len(frontier)
        while len(frontier):
            frontier = self.fresh(program.fire(frontier, self._join(frontier)))
            self._conclude(frontier)
            total += len(frontier)
            if total > _MOST:
                raise TooManyError

    def _join(self, changed: Ids, more: Sequence[QuadSource] = (), *, tracing: bool = False) -> Join:
        """A join with what is stored, after some quads have changed."""
        program = self.program()
        touched = set(changed[:, 1].tolist()) & {predicate for predicate, _ in program.hot}
        classes = {None, *changed[:, 2].tolist()} if touched else set()
        if stale := [one for one in program.hot if one not in self._hot or (one[0] in touched and one[1] in classes)]:
            for predicate, object in stale:
                path: Path = (1,) if object is None else (1, 2)
                keys = keys_of(path, [np.array([one]) for one in (predicate, object) if one is not None])
                self._hot[predicate, object] = Extent(self._stored.fetch(path, keys))
            program.direct(self._hot)
        elif self._directed is not program:
            program.direct(self._hot)
        self._directed = program
        most = None if tracing else 4 * _MOST
        return Join([self._stored, *more], program.entailed, hot=self._hot, most=most, tracing=tracing)

    def make(self) -> None:
        """Make all conclusions anew, by sets."""
        with self._connection.transaction():
            self._connection.run(_SQL["retract_all"])
            self._connection.run(_QUERIES["add_to_meta"], ("conclusions_made", 1))
            self._hot, self._changed = {}, []
            if self.settings.rules:
                self._conclude_all(self.closure())

    def closure(self) -> Ids:
        """All that follows from the quads, int64 [n, 4], made anew."""
        program = self.program(writing=self._connection.in_transaction)
        blocks = [self.mine(block) for block in read_quads(self._connection, "quads_in_range")]
        return program.closure(np.concatenate([NO_QUADS, *blocks]))

    # -- rules on ids ---------------------------------------------------------------------------------------------

    def program(self, *, writing: bool = False) -> Program:
        """The rules on ids. Where it is not `writing`, rules with terms that the world has not are left out."""
        state = self._connection.meta("rules"), self._connection.meta("term_removals"), self._dictionary.rollbacks
        if self._program is None or self._compiled not in ((state, True), (state, writing)):
            settings, numbers = self.settings, self._numbers(self.settings.terms, writing=writing)
            rules = [rule for one in settings.rules if (rule := one.on(numbers)) is not None]
            graphs = settings.graphs
            self._graphs = None
            if graphs is not None:
                named = (numbers[ox.NamedNode(name)] if name else 0 for name in (*graphs, ENTAILED.value))
                self._graphs = {number for number in named if number is not None}
            kinds = (lambda ids: self._of_kind(ids, LITERAL)), (lambda ids: self._of_kind(ids, IRI))
            fixed = numbers[ENTAILED] or -2, numbers[TYPE] or 0
            self._program = Program(rules, *fixed, self._dictionary, *kinds)
            self._compiled = state, writing
            self._hot, self._kinds = {}, {}
        return self._program

    def _numbers(self, terms: list[Term], *, writing: bool) -> dict[Term, int | None]:
        """The ids of terms, which are stored where it is `writing`."""
        found = dict(zip(terms, self._dictionary.find(terms), strict=True))
        missing = [term for term, number in found.items() if number is None]
        if missing and writing and self.interning:
            interner = Interner(self._connection, self._dictionary, rename_blank_nodes=False)
            local = np.array([interner.local(term) for term in missing], dtype=np.int64)
            found.update(zip(missing, interner.resolve(local).tolist(), strict=True))
        return found

    def mine(self, quads: Ids) -> Ids:
        """The quads that rules read, of int64 [n, 4]."""
        quads = quads[quads[:, 0] > 0]
        if not len(quads):
            return quads
        if self._graphs is not None:
            return quads[np.isin(quads[:, 3], list(self._graphs))]
        return of_data(self._dictionary, quads)

    def _of_kind(self, ids: Ids, kind: int) -> NDArray[np.bool_]:
        wanted = distinct(ids)
        if len(wanted) > _MOST:
            return np.isin(ids, self._connection.column(_SQL["ids_of_kind"], (kind,)))
        missing = [number for number in wanted.tolist() if number not in self._kinds]
        if len(self._kinds) > _KINDS:
            self._kinds, missing = {}, wanted.tolist()
        for start in range(0, len(missing), _BATCH):
            self._kinds.update(self._connection.rows(_SQL["kinds"], (json_ids(missing[start : start + _BATCH]),)))
        return np.isin(ids, [number for number in wanted.tolist() if self._kinds.get(number) == kind])

    # -- the table ------------------------------------------------------------------------------------------------

    def fresh(self, quads: Ids) -> Ids:
        """The quads that are neither written nor concluded."""
        return np.delete(quads, self._positions(quads, _SQL["known"]), axis=0)

    def _positions(self, quads: Ids, statement: Statement) -> Ids:
        found = [
            start + self._connection.column(statement, (str(quads[start : start + _BATCH].tolist()),))
            for start in range(0, len(quads), _BATCH)
        ]
        return np.concatenate([NO_QUADS[:, 0], *found])

    def _note(self, quads: Ids) -> None:
        """Record the conclusions that were added and removed."""
        self._changed = []
        if len(quads):
            for start in range(0, len(quads), _BATCH):
                self._connection.run(_SQL["note_changes"], (str(quads[start : start + _BATCH].tolist()),))
            self._connection.run(_SQL["trim_changes"])

    @property
    def change(self) -> str:
        """State of the conclusions: how often they were made anew, and the last change since."""
        made = self._connection.meta("conclusions_made"), self._connection.renewed
        return f"{made} {self._connection.value(_SQL['last_change'])}"

    def changes(self, since: str) -> Ids | None:
        """The quads that came to follow, or no longer did, since a state, int64 [n, 4]; None where it is not known."""
        (made, last), (before, then) = self.change.rsplit(" ", 1), since.rsplit(" ", 1)
        if made != before or int(last) < int(then):
            return None
        first = self._connection.value(_SQL["first_change"])
        if last == then or first is None or first > int(then) + 1:
            return NO_QUADS if last == then else None
        return unique_quads(self._connection.table(_SQL["changes"], (int(then),)))

    def of(self, quads: Ids) -> Ids:
        """The quads that are conclusions."""
        return quads[self._positions(quads, _SQL["concluded"])]

    def _retract(self, quads: Ids) -> None:
        self._changed.append((NO_QUADS, quads))
        for start in range(0, len(quads), _BATCH):
            self._connection.run(_SQL["retract"], (str(quads[start : start + _BATCH].tolist()),))

    def _conclude(self, quads: Ids) -> None:
        self._changed.append((quads, NO_QUADS))
        for start in range(0, len(quads), _BATCH):
            self._connection.run(_SQL["conclude"], (str(quads[start : start + _BATCH].tolist()),))

    def _conclude_all(self, quads: Ids) -> None:
        """Fill the empty table."""
        quads = quads[np.lexsort((quads[:, 2], quads[:, 0], quads[:, 3], quads[:, 1]))]
        pairs, groups = quads[:, 0] << 32 | quads[:, 2], quads[:, [1, 3]]
        starts = [0, *(np.flatnonzero((groups[1:] != groups[:-1]).any(axis=1)) + 1).tolist()]
        statement = _SQL["conclude_pairs"]
        with without(self._connection, "index", "conclusions"):
            for start, end in itertools.pairwise([*starts, len(quads)]):
                for at in range(start, end, _PAIRS):
                    given = {"pairs_json": str(pairs[at : min(end, at + _PAIRS)].tolist())}
                    predicate, graph = quads[start, [1, 3]].tolist()
                    self._connection.run(statement, statement.bind(**given, predicate=predicate, graph=graph))


class _Stored:
    """The quads and the conclusions of the file."""

    def __init__(self, connection: Connection, own: Conclusions) -> None:
        self._connection = connection
        self._own = own

    def fetch(self, path: Path, keys: Ids) -> Ids:
        """See `QuadSource.fetch`."""
        if not path:
            return self._own.mine(self._connection.table(_SQL["of_anything"]))
        statement = _BY_PATH[path]
        found = [
            self._connection.table(statement, (json_ids(keys[start : start + _BATCH]),))
            for start in range(0, len(keys), _BATCH)
        ]
        return self._own.mine(np.concatenate([NO_QUADS, *found]))


def _bound(quads: Ids) -> None:
    if len(quads) > _MOST:
        raise TooManyError
