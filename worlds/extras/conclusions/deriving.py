"""Conclusions from quads by rules: round by round from the new quads, or as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Dictionary, Ids
from worlds.core.quads.rows import NO_QUADS, difference, distinct, unique_quads
from worlds.errors import QueryError
from worlds.extras.conclusions.joins import ANY_GRAPH, Extent, Hot, Join, Matches, concluded, hot_of, matching
from worlds.extras.conclusions.rules import Atom, Rule

OfKind: TypeAlias = Callable[[Ids], NDArray[np.bool_]]
"""Tells which ids are terms of a kind."""
_ANY = -1  # predicate, or class
_RULE = -2  # and less: nodes that are rules


def strata(rules: Sequence[Rule], hot: Iterable[Hot], join: Join, kind: int) -> list[list[Rule]]:
    """The rules with negation, in the order in which they are followed. `kind` is the id of rdf:type.

    QueryError where a rule depends on its own absence, or concludes what patterns of the vocabulary, `hot`, match.
    """
    negating = [rule for rule in rules if rule.absent]
    numbers = {rule.name: _RULE - at for at, rule in enumerate(negating)}
    edges = np.concatenate([edge for rule in rules for edge in _edges(rule, numbers.get(rule.name), join, kind)])
    vocabulary = [(predicate, 0 if of is None else of) for predicate, of in hot]
    rows = np.array([*vocabulary, *((number, 0) for number in numbers.values())], dtype=np.int64)
    nodes, at = np.unique(np.concatenate([edges[:, :4].reshape(-1, 2), rows]), axis=0, return_inverse=True)
    sources, targets = at.reshape(-1)[: 2 * len(edges)].reshape(-1, 2).T
    named = at.reshape(-1)[2 * len(edges) :]
    level, seen = np.zeros(len(nodes), dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
    while level.max() <= len(negating):
        seen = _seen(nodes, level, kind)
        before = level.copy()
        np.maximum.at(level, targets, seen[sources] + edges[:, 4])
        if (before == level).all():
            break
    own = level[named[len(vocabulary) :]]
    if circular := [rule.name for rule, number in zip(negating, own.tolist(), strict=True) if number > len(negating)]:
        shown = ", ".join(circular)
        raise QueryError(f"the absence of something that follows by rules with negation is their condition: {shown}")
    if seen[named[: len(vocabulary)]].any():
        shown = ", ".join(rule.name for rule in negating)
        raise QueryError(f"vocabulary would follow by rules with negation, one of {shown}: they conclude data alone")
    return [
        [rule for rule, number in zip(negating, own.tolist(), strict=True) if number == one]
        for one in sorted(set(own.tolist()))
    ]


def _edges(rule: Rule, number: int | None, join: Join, kind: int) -> Iterable[Ids]:
    """Rows of source, target and what the target comes later, int64 [n, 5]: a rule with a number is a node itself."""
    negated = [atom for one in rule.absent for atom in one.body]
    cold = [atom for atom, one in zip(rule.body, rule.hot, strict=True) if not one]
    sought = {atom.predicate for atom in (*cold, *rule.head, *negated)}
    sought |= {atom.object for atom in (*cold, *rule.head, *negated)}
    found: Iterable[Matches] = [Matches({}, np.full(1, ANY_GRAPH, dtype=np.int64))]
    places = [at for at, one in enumerate(rule.hot) if one]
    if any(isinstance(item, str) and item in sought for at in places for item in rule.body[at]):
        (start,) = found
        found = join.all(start, rule, places)
    for block in found:
        own = None if number is None else np.tile(np.array([number, 0], dtype=np.int64), (len(block), 1))
        heads = [_keys(atom, block, kind) for atom in rule.head]
        pairs = [(_keys(atom, block, kind), one, 0) for atom in rule.body for one in (heads if own is None else [own])]
        if own is not None:
            pairs += [(_keys(atom, block, kind), own, 1) for atom in negated] + [(own, one, 0) for one in heads]
        for source, target, cost in pairs:
            rows = np.column_stack([source, target, np.full(len(source), cost, dtype=np.int64)])
            yield np.unique(rows, axis=0)


def _keys(atom: Atom, matches: Matches, kind: int) -> Ids:
    """The predicate and the class of quads that a pattern matches, int64 [n, 2]; 0 for no class."""

    def column(item: int | str) -> Ids:
        known = not isinstance(item, str) or item in matches.columns
        return matches.column(item) if known else np.full(len(matches), _ANY, dtype=np.int64)

    predicates = column(atom.predicate)
    return np.column_stack([predicates, np.where(predicates == kind, column(atom.object), 0)])


def _seen(nodes: Ids, level: Ids, kind: int) -> Ids:
    """The level that each node has as a source: that of all which it may be the same as."""
    seen = level.copy()
    quads, anything, typed = nodes[:, 0] > _RULE, nodes[:, 0] == _ANY, nodes[:, 0] == kind
    whole = typed & (nodes[:, 1] == _ANY)
    seen[typed] = np.maximum(seen[typed], level[whole].max(initial=0))
    seen[whole] = level[typed].max(initial=0)
    seen[quads] = np.maximum(seen[quads], level[anything].max(initial=0))
    seen[anything] = level[quads].max(initial=0)
    return seen


class Program:
    """The rules of a world on ids, and how they are fired."""

    def __init__(
        self,
        rules: Sequence[Rule],
        entailed: int,
        kind: int,
        dictionary: Dictionary,
        literals: OfKind,
        iris: OfKind,
    ) -> None:
        """`entailed` is the graph of what follows from several graphs, `kind` the id of rdf:type."""
        self.rules = rules
        self.entailed = entailed
        self._kind = kind
        self._dictionary = dictionary
        self._literals = literals
        self._iris = iris
        self.hot = {hot_of(atom) for rule in rules for atom, one in zip(rule.body, rule.hot, strict=True) if one}
        self._places: dict[bool, dict[int | None, list[tuple[Rule, int]]]] = {}
        self._directing: Mapping[Hot, Extent] = {}
        self._steps: list[tuple[Program, list[Rule]]] | None = None
        positive = [rule for rule in rules if not rule.absent]
        self.base = self if len(positive) == len(rules) else self._of(positive)
        """The rules without negation."""
        self.direct({})

    def _of(self, rules: Sequence[Rule]) -> Program:
        made = Program(rules, self.entailed, self._kind, self._dictionary, self._literals, self._iris)
        made.direct(self._directing)
        return made

    def strata(self, join: Join) -> list[tuple[Program, list[Rule]]]:
        """For each stratum of rules with negation, the rules up to it, and those of it alone.

        The join has all that follows by the `base`, and traces. QueryError where a rule depends on its own absence.
        """
        if self._steps is None:
            self._steps, kept = [], list(self.base.rules)
            for stratum in strata(self.rules, self.hot, join, self._kind):
                kept = [*kept, *stratum]
                self._steps.append((self._of(kept), stratum))
        return self._steps

    def direct(self, hot: Mapping[Hot, Extent]) -> None:
        """Find the rules that a quad may concern by its predicate, as the quads of the hot patterns say now."""
        self._directing, self._steps = hot, None
        if self.base is not self:
            self.base.direct(hot)
        for of_head in (False, True):
            places = self._places[of_head] = {}
            for rule in self.rules:
                for at, atom in enumerate(rule.head if of_head else rule.body):
                    for predicate in _predicates(rule, atom, hot):
                        places.setdefault(predicate, []).append((rule, at))

    def _concerned(self, quads: Ids, *, of_head: bool = False) -> list[tuple[Rule, int]]:
        places = self._places[of_head]
        found = [*places.get(None, ()), *(one for p in set(quads[:, 1].tolist()) for one in places.get(p, ()))]
        return list({(rule.name, at): (rule, at) for rule, at in found}.values())

    def fire(self, delta: Ids, join: Join) -> Ids:
        """The conclusions, in one step, of matches that have a quad of a delta; distinct quads, int64 [n, 4]."""
        found = [self.step(rule, at, delta, join) for rule, at in self._concerned(delta)]
        return unique_quads(np.concatenate([NO_QUADS, *found]))

    def step(self, rule: Rule, at: int, delta: Ids, join: Join) -> Ids:
        """The conclusions of a rule whose pattern in one place matches a quad of a delta; perhaps more than once."""
        found = [NO_QUADS]
        left = [one for one in range(len(rule.body)) if one != at]
        for block in join.all(matching(rule.body[at], delta), rule, left):
            found += map(self._sound, concluded(rule.head, self._passed(rule, block, join)), rule.checks)
        return np.concatenate(found)

    def turned(self, rule: Rule, touched: Ids, join: Join) -> Ids:
        """All quads of which a rule with negation may say something else since some quads came or went."""
        positive = replace(rule, absent=())
        found = [self.step(positive, at, touched, join) for at in range(len(rule.body))]
        for absent in rule.absent:
            for at, atom in enumerate(absent.body):
                others = [one for one in range(len(absent.body)) if one != at]
                for met in join.all(matching(atom, touched), absent, others):
                    start = Matches(met.columns, np.full(len(met), ANY_GRAPH, dtype=np.int64))
                    for block in join.all(start, rule, range(len(rule.body))):
                        found += concluded(rule.head, block)
        return unique_quads(np.concatenate(found))

    def _passed(self, rule: Rule, matches: Matches, join: Join) -> Matches:
        """The matches that pass the tests of a rule, and with which none of its negated patterns is found."""
        matches = self.tested(rule, matches)
        for absent in rule.absent:
            if not len(matches):
                break
            items = {*absent.tested, *(item for atom in absent.body for item in atom)}
            names = [name for name in matches.columns if name in items]
            rows = np.column_stack([matches.columns[name] for name in names] or [np.zeros(len(matches), dtype=int)])
            kinds, which = np.unique(rows, axis=0, return_inverse=True)
            columns = {**dict(zip(names, kinds.T, strict=False)), "": np.arange(len(kinds))}
            found = np.zeros(len(kinds), dtype=bool)
            start = Matches(columns, np.full(len(kinds), ANY_GRAPH, dtype=np.int64))
            for block in join.all(start, absent, range(len(absent.body))):
                found[self.tested(absent, block).columns[""]] = True
            matches = matches.take(np.flatnonzero(~found[which.reshape(-1)]))
        return matches

    def _sound(self, quads: Ids, checks: tuple[bool, bool]) -> Ids:
        """The quads that can be: no literal is a subject, and every predicate is an IRI."""
        if len(quads) and checks[0]:
            quads = quads[~self._literals(quads[:, 0])]
        if len(quads) and checks[1]:
            quads = quads[self._iris(quads[:, 1])]
        return quads

    def tested(self, rule: Rule, matches: Matches) -> Matches:
        """The matches that pass the tests of a rule."""
        if not rule.tests or not len(matches):
            return matches
        rows = np.column_stack([matches.columns[name] for name in rule.tested] or [matches.graph])
        kinds, which = np.unique(rows, axis=0, return_inverse=True)
        terms = self._dictionary.terms(np.unique(kinds).tolist()) if rule.tested else {}
        values = " ".join(
            f"({at} {' '.join(_written(terms[number]) for number in row) if rule.tested else ''})"
            for at, row in enumerate(kinds.tolist())
        )
        names = " ".join(f"?{name}" for name in rule.tested)
        passed = np.ones(len(kinds), dtype=bool)
        for prologue, test in rule.tests:
            query = f"{prologue}\nSELECT ?worlds_row {{ VALUES (?worlds_row {names}) {{ {values} }} FILTER {test} }}"
            solutions: Any = ox.Store().query(query)
            passed &= np.isin(np.arange(len(kinds)), [int(row[0].value) for row in solutions])
        return matches.take(np.flatnonzero(passed[which.reshape(-1)]))

    def instances(self, quads: Ids, join: Join) -> Iterator[tuple[Rule, Matches]]:
        """The rules, and the matches of their bodies, that conclude one of some quads in one step.

        That is in the graph of the quad, and each match has the column "" with the quad's place.
        """
        numbered = np.column_stack([quads[:, :3], np.arange(len(quads))])
        for rule, at in self._concerned(quads, of_head=True):
            found = matching(rule.head[at], numbered)
            nowhere = np.full(len(found), ANY_GRAPH, dtype=np.int64)
            start = Matches({**found.columns, "": found.graph}, nowhere)
            for block in join.all(start, rule, list(range(len(rule.body)))):
                passed = self._passed(rule, block, join)
                yield rule, passed.take(np.flatnonzero(passed.graph == quads[passed.columns[""], 3]))

    def derivable(self, quads: Ids, join: Join) -> Ids:
        """The quads that follow in one step from the present quads."""
        known = np.zeros(len(quads), dtype=bool)
        for _, block in self.instances(quads, join):
            known[block.columns[""]] = True
        return self._sound(quads[known], (True, True))

    def closure(self, asserted: Ids) -> Ids:
        """All that follows from quads and is none of them, int64 [n, 4] of distinct rows."""
        constants = [item for rule in self.rules for atom in rule.head for item in atom if isinstance(item, int)]
        facts = _Facts(asserted, max(int(asserted.max(initial=0)), self.entailed, *constants))
        done = dict.fromkeys((rule.name for rule in self.rules), 0)
        for rules in self._rounds(facts):
            self._close(facts, rules, done)
        return facts.since(len(asserted))

    def _rounds(self, facts: _Facts) -> Iterator[Sequence[Rule]]:
        """The rules without negation, and then those of one stratum more each time."""
        yield self.base.rules
        if self.base is not self:
            for program, _ in self.strata(Join(facts.sources, self.entailed, tracing=True)):
                yield program.rules
        self._steps = None

    def _close(self, facts: _Facts, rules: Sequence[Rule], done: dict[str, int]) -> None:
        """Add all that follows by rules; `done` is how many facts each rule has seen."""
        order = sorted(rules, key=lambda rule: (not all(rule.hot), rule.chain is not None))
        while rule := next((one for one in order if done[one.name] < len(facts)), None):
            since, done[rule.name] = done[rule.name], len(facts)
            delta = facts.since(since)
            join = Join(facts.sources, self.entailed)
            if rule.chain is not None and since == 0:  # longer and longer chains, by one quad in each round
                while len(delta):
                    delta = facts.add(self.step(rule, rule.chain[0], delta, join))
                done[rule.name] = len(facts)
            else:
                places = range(len(rule.body)) if since else [facts.narrowest(rule)]
                facts.add(np.concatenate([self.step(rule, at, delta, join) for at in places]))


class _Facts:
    """Quads in memory that become more: distinct rows, in the order in which they came."""

    def __init__(self, quads: Ids, largest: int) -> None:
        """`largest` is the largest id of any term."""
        self._size = largest + 1
        self._groups: dict[int, int] = {}  # a number for each predicate and graph
        self._count = 0
        self._blocks: list[Ids] = []
        self._sorted: list[Ids] = []  # keys of the quads, in runs
        self.extents: list[Extent] = []
        self.add(quads)

    def __len__(self) -> int:
        return self._count

    @property
    def sources(self) -> list[Extent]:
        """The quads to join with, one source at least."""
        return list(self.extents) or [Extent(NO_QUADS)]

    def since(self, count: int) -> Ids:
        """The quads that came after so many."""
        blocks, start = [NO_QUADS], 0
        for block in self._blocks:
            if start + len(block) > count:
                blocks.append(block[max(count - start, 0) :])
            start += len(block)
        return np.concatenate(blocks)

    def narrowest(self, rule: Rule) -> int:
        """The place of the pattern of a rule that the fewest quads match."""
        counts = [
            0 if hot else 1 if isinstance(atom.predicate, int) else 2
            for atom, hot in zip(rule.body, rule.hot, strict=True)
        ]
        return counts.index(min(counts))

    def _keys(self, quads: Ids) -> Ids | None:
        """One number for each quad; None where numbers are too small for it."""
        kinds, which = np.unique(quads[:, 1] << 31 | quads[:, 3], return_inverse=True)
        groups = [self._groups.setdefault(kind, len(self._groups)) for kind in kinds.tolist()]
        if len(self._groups) * self._size**2 >= 1 << 63:
            return None
        numbers = np.array(groups, dtype=np.int64)[which]
        keys: Ids = (numbers * self._size + quads[:, 0]) * self._size + quads[:, 2]
        return keys

    def add(self, quads: Ids) -> Ids:
        """Add quads, and return the new ones, each once."""
        if not len(quads):
            return quads
        keys = self._keys(quads)
        if keys is None:
            quads = unique_quads(quads)
            for block in self._blocks:
                quads = difference(quads, block)
        else:
            keys, places = np.unique(keys, return_index=True)
            for run in self._sorted:
                at = np.minimum(np.searchsorted(run, keys), len(run) - 1)
                new = run[at] != keys
                keys, places = keys[new], places[new]
            quads = quads[places]
            while self._sorted and len(self._sorted[-1]) < 2 * len(keys):
                keys = np.sort(np.concatenate([self._sorted.pop(), keys]))
            self._sorted += [keys] if len(keys) else []
        if len(quads):
            self._count += len(quads)
            self._blocks.append(quads)
            merged = quads
            while self.extents and len(self.extents[-1].quads) < 2 * len(merged):
                merged = np.concatenate([self.extents.pop().quads, merged])
            self.extents.append(Extent(merged))
        return quads


def _predicates(rule: Rule, atom: Atom, hot: Mapping[Hot, Extent]) -> Iterable[int | None]:
    """The predicates of the quads that a pattern of a rule can be about; None for any."""
    if isinstance(atom.predicate, int):
        return (atom.predicate,)
    for other, one in zip(rule.body, rule.hot, strict=True):
        if one and atom.predicate in other and hot_of(other) in hot:
            found: list[int | None] = distinct(hot[hot_of(other)].quads[:, other.index(atom.predicate)]).tolist()
            return found
    return (None,)


def _written(term: object) -> str:
    """A term as a query can name it: a blank node by an IRI."""
    if isinstance(term, ox.BlankNode):
        return f"<urn:worlds:node:{term.value}>"
    return f"<<( {term} )>>" if isinstance(term, ox.Triple) else str(term)
