"""Proofs of conclusions, down to quads that are written with their authors; contradictions that follow from several."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from worlds.core.core import Core
from worlds.core.quads.dictionary import Ids
from worlds.core.quads.rows import find_quads
from worlds.errors import ArgumentError, WorldsError
from worlds.extras.conclusions.following import Conclusions
from worlds.extras.conclusions.rules import Construct, read
from worlds.graph.records import Number, Quad, Record
from worlds.graph.terms import to_oxigraph, to_rdflib

Key: TypeAlias = tuple[int, ...]
"""The ids of a quad's terms."""
_Derivation: TypeAlias = tuple[str, tuple[Key, ...]]
_SLACK = 2  # steps more than the shortest proof
_EACH = 200  # derivations of a conclusion by one rule that are looked at
_MOST = 5000  # conclusions that are looked at
_LARGEST, _TRIED = 3, 500  # quads of a set that would end something, and sets of a size that are tried
_MOST_CLASHES = 200  # contradictions whose quads are looked for; others name their written premises alone
_DISJOINT = "{0} is an instance of {1} and of {2}, which are disjoint"
_DENIED = ("negative assertion", "{0} has {2} by {1}, which is denied", "xpy")


@dataclass(frozen=True, slots=True)
class WhyStep(Record):
    """A quad of a proof: by a rule from other steps, by their numbers; or written, with its revision, author and time.

    A quad whose revision was forgotten has no author and no time.
    """

    number: Number
    quad: Quad
    rule: str | None
    premises: tuple[int, ...]
    revision: int | None
    author: str | None
    time: datetime | None

    @property
    def reason(self) -> str:
        """The rule and the premises of the step, or the revision and the author of the quad, in words."""
        if self.rule is not None:
            return f"by {self.rule} from {', '.join(map(str, self.premises))}"
        return f"written in revision {self.revision}{f' by {self.author}' if self.author else ''}"

    @property
    def line(self) -> str:
        """The step in one line."""
        words = " ".join(str(to_oxigraph(term)) for term in self.quad if term is not None)
        return f"{self.number}. {words}  {self.reason}"


@dataclass(frozen=True, slots=True)
class Why(Record):
    """Why a quad holds: its steps, the first of which is the quad itself, each before its premises."""

    steps: tuple[WhyStep, ...]

    def __str__(self) -> str:
        return "\n".join(step.line for step in self.steps)


class Explaining:
    """Explains the conclusions of one world."""

    def __init__(self, core: Core, conclusions: Conclusions) -> None:
        self._connection = core.connection
        self._dictionary = core.dictionary
        self._conclusions = conclusions
        self._history = core.history

    def why(self, triple: Sequence[Any], graph: Any, *, anywhere: bool) -> Why:
        """The proof of a quad, or of a triple in any graph; ArgumentError where it neither is written nor follows."""
        with self._connection.snapshot():
            numbers = self._dictionary.find([*triple, *(() if graph is None else (graph,))])
            held = [] if None in numbers else self._graphs_of(numbers[:3])  # type: ignore[arg-type]  # none is None
            if not anywhere:
                held = [one for one in held if one == (0 if graph is None else numbers[3])]
            if not held:
                raise ArgumentError("the quad is neither written nor a conclusion of the world's rules", kind="unknown")
            goals = [(*numbers[:3], one) for one in held]
            written = self._written(goals)  # type: ignore[arg-type]  # none is None
            goal: Any = next((one for one in goals if one in written), goals[0])
            return self._shown(goal, self._derived(goal))

    def _graphs_of(self, triple: list[int]) -> list[int]:
        """The graphs that a triple is in, written or concluded."""
        found = self._conclusions.about(triple[0], triple[1])
        graphs: list[int] = found[found[:, 2] == triple[2], 3].tolist()
        return graphs

    def _written(self, quads: Iterable[Key]) -> dict[Key, int]:
        """Quad → the revision that wrote it, for the written quads."""
        listed = list(quads)
        rows = find_quads(self._connection, np.array(listed, dtype=np.int64).reshape(-1, 4))
        return {listed[place]: revision for place, _, revision in rows}

    def _derived(self, goal: Key) -> dict[Key, _Derivation]:
        """The derivations of a short proof, by their conclusions."""
        known: dict[Key, list[_Derivation]] = {}
        cost: dict[Key, float] = dict.fromkeys(self._written([goal]), 0)
        best: dict[Key, _Derivation] = {}
        waiting = [] if cost else [goal]
        level = 0
        while waiting and len(known) < _MOST:
            level += 1
            found = self._steps(waiting)
            known |= {quad: found.get(quad, []) for quad in waiting}
            premises = {one for quad in waiting for _, used in known[quad] for one in used} - cost.keys()
            cost |= dict.fromkeys(self._written(premises), 0)
            self._weigh(known, cost, best)
            if cost.get(goal, math.inf) <= level + 1 + _SLACK:  # no proof that goes deeper has fewer steps
                break
            waiting = sorted(one for one in premises if one not in known and cost.get(one) != 0)
        if goal not in cost:
            raise WorldsError("the shortest proof of this quad is too long to be looked for", kind="limit")
        return best

    def ends(self, ways: Sequence[Sequence[Key]]) -> tuple[set[Key], list[tuple[Key, ...]]]:
        """The written quads that lead to one of several sets of quads, and the least without which none holds."""
        known: dict[Key, list[_Derivation]] = {}
        waiting: list[Key] = sorted({quad for way in ways for quad in way})
        while waiting and len(known) < _MOST:
            found = self._steps(waiting)
            known |= {quad: found.get(quad, []) for quad in waiting}
            waiting = sorted({one for quad in waiting for _, used in known[quad] for one in used} - known.keys())
        written = set(self._written({*known, *waiting}))

        def leaves(without: frozenset[Key]) -> set[Key] | None:
            cost: dict[Key, float] = dict.fromkeys(written - without, 0)
            best: dict[Key, _Derivation] = {}
            self._weigh(known, cost, best)
            way = next((one for one in ways if cost.keys() >= set(one)), None)
            if way is None:
                return None
            needed, left = set[Key](), list(way)
            while left:
                if (quad := left.pop()) not in needed:
                    needed.add(quad)
                    left += best[quad][1] if quad in best else ()
            return needed - best.keys()

        tried: list[frozenset[Key]] = [frozenset()]
        for _ in range(_LARGEST + 1):
            rest = {one: leaves(one) for one in tried}
            if least := [tuple(sorted(one)) for one, left in rest.items() if left is None]:
                return leaves(frozenset()) or set(), least
            larger = {one | {quad} for one, left in rest.items() for quad in left or ()}
            tried = sorted(larger, key=sorted)[:_TRIED]
        return leaves(frozenset()) or set(), []

    @staticmethod
    def _weigh(known: dict[Key, list[_Derivation]], cost: dict[Key, float], best: dict[Key, _Derivation]) -> None:
        """Find the derivation of each quad whose proof has the fewest steps."""
        changed = True
        while changed:
            changed = False
            for quad, derivations in known.items():
                for one in derivations:
                    steps = 1 + sum(cost.get(premise, math.inf) for premise in one[1])
                    if steps < cost.get(quad, math.inf):
                        cost[quad], best[quad], changed = steps, one, True

    def _steps(self, quads: list[Key]) -> dict[Key, list[_Derivation]]:
        """The derivations of quads in one step, the ones from written quads first."""
        table = np.array(quads, dtype=np.int64)
        found: dict[Key, list[_Derivation]] = {}
        for rule, matches in self._conclusions.derivations(table):
            used = np.stack([matches.used[at] for at in sorted(matches.used)], axis=1) if matches.used else None
            if used is None or not len(matches):
                continue
            flat = used.reshape(-1, 4)
            written = np.zeros(len(flat), dtype=bool)
            written[[place for place, _, _ in find_quads(self._connection, flat)]] = True
            order = np.argsort(-written.reshape(len(used), -1).sum(axis=1), kind="stable")
            self._take(found, rule.name, quads, used[order], matches.columns[""][order])
        return found

    @staticmethod
    def _take(found: dict[Key, list[_Derivation]], rule: str, quads: list[Key], used: Ids, of: Ids) -> None:
        taken: dict[int, int] = {}
        for premises, place in zip(used.tolist(), of.tolist(), strict=True):
            taken[place] = taken.get(place, 0) + 1
            keys = tuple(dict.fromkeys(map(tuple, premises)))
            if taken[place] <= _EACH and quads[place] not in keys:
                found.setdefault(quads[place], []).append((rule, keys))

    def _shown(self, goal: Key, best: dict[Key, _Derivation]) -> Why:
        order: dict[Key, int] = {}
        waiting = [goal]
        while waiting:  # a quad that several steps use stands behind all of them
            quad = waiting.pop(0)
            order.pop(quad, None)
            order[quad] = 0
            waiting += best[quad][1] if quad in best else ()
        order = {quad: number for number, quad in enumerate(order, 1)}
        written = self._written(order)
        entries = self._history.numbered(set(written.values()))
        terms = self._dictionary.terms({number for quad in order for number in quad})
        shown: dict[int, Any] = {number: to_rdflib(term) if number else None for number, term in terms.items()}
        steps = []
        for quad, number in order.items():
            rule, premises = best.get(quad, (None, ()))
            entry = entries.get(written.get(quad, 0))
            s, p, o, g = (shown[one] for one in quad)
            steps.append(
                WhyStep(
                    number,
                    (s, p, o, g),
                    rule,
                    tuple(order[one] for one in premises),
                    written.get(quad),
                    None if entry is None else entry.author,
                    None if entry is None else entry.time,
                )
            )
        return Why(tuple(steps))


class _False(NamedTuple):
    """A rule that concludes a contradiction: kind, message with places for variables, these, and pattern."""

    kind: str
    text: str
    parts: str
    pattern: str


_FALSE = {
    "cax-dw": _False("disjoint classes", _DISJOINT, "xcd", "?c owl:disjointWith ?d . ?x a ?c , ?d"),
    "cls-com": _False("disjoint classes", _DISJOINT, "xcd", "?c owl:complementOf ?d . ?x a ?c , ?d"),
    "cls-nothing2": _False("disjoint classes", "{0} is an instance of owl:Nothing", "x", "?x a owl:Nothing"),
    "prp-pdw": _False(
        "disjoint properties",
        "{0} has {1} by {2} and by {3}, which exclude each other",
        "xypq",
        "?p owl:propertyDisjointWith ?q . ?x ?p ?y ; ?q ?y",
    ),
    "prp-asyp": _False(
        "asymmetric",
        "{1} holds from {0} to {2} and back, though it is asymmetric",
        "xpy",
        "?p a owl:AsymmetricProperty . ?x ?p ?y . ?y ?p ?x",
    ),
    "prp-irp": _False("irreflexive", "{0} has itself as its {1}", "xp", "?p a owl:IrreflexiveProperty . ?x ?p ?x"),
    "prp-npa1": _False(
        *_DENIED, "?n owl:sourceIndividual ?x ; owl:assertionProperty ?p ; owl:targetIndividual ?y . ?x ?p ?y"
    ),
    "prp-npa2": _False(
        *_DENIED, "?n owl:sourceIndividual ?x ; owl:assertionProperty ?p ; owl:targetValue ?y . ?x ?p ?y"
    ),
    "prp-fp": _False(
        "functional",
        "{0} has 2 values of {1}, which may have at most one: {2}, {3}",
        "xpyz",
        "?p a owl:FunctionalProperty . ?x ?p ?y , ?z FILTER(?y != ?z)",
    ),
    "prp-ifp": _False(
        "inverse functional",
        "2 entities have the same {0}, {1}, which may belong to at most one: {2}, {3}",
        "pxyz",
        "?p a owl:InverseFunctionalProperty . ?y ?p ?x . ?z ?p ?x FILTER(?y != ?z)",
    ),
}


@cache
def _rules() -> tuple[Construct, ...]:
    """The rules; their templates are of no use, and name no term."""
    return tuple(
        read(name, f"CONSTRUCT {{ ?x ?x ?x }} WHERE {{ {rule.pattern} }}", {}) for name, rule in _FALSE.items()
    )


class Clash(NamedTuple):
    """A contradiction found by rules: `parts` are the terms of its message, `quads` the quads that lead to it.

    Without all quads of one of `ends`, which are the least sets of this kind, it does not follow.
    """

    kind: str
    text: str
    parts: tuple[int, ...]
    quads: tuple[Key, ...]
    ends: tuple[tuple[Key, ...], ...]


def same(kind: str, parts: tuple[int, ...]) -> tuple[object, ...]:
    """The key by which two contradictions are the same: the order of two classes, properties or values is none."""
    fixed, either = (parts[1:2], parts[::2]) if kind == "asymmetric" else (parts[:-2], parts[-2:])
    return kind, fixed, frozenset(either)


def clashes(conclusions: Conclusions, explaining: Explaining) -> Iterator[Clash]:
    """The contradictions that have a conclusion among their premises, each once."""
    if not conclusions.settings.rules:
        return
    said = 0
    for rule in _rules():
        kind, text, names, _ = _FALSE[rule.name]
        found: dict[object, tuple[tuple[int, ...], list[tuple[Key, ...]]]] = {}
        follows: set[Key] = set()
        for matches in conclusions.matches(rule):
            used = np.stack([matches.used[at] for at in sorted(matches.used)], axis=1)
            follows |= set(map(tuple, conclusions.of(np.unique(used.reshape(-1, 4), axis=0)).tolist()))
            terms = np.column_stack([matches.columns[name] for name in names])
            for numbers, premises in zip(map(tuple, terms.tolist()), used.tolist(), strict=True):
                ways = found.setdefault(same(kind, numbers), (numbers, []))[1]
                ways.append(tuple(dict.fromkeys(map(tuple, premises))))
        for parts, ways in found.values():
            quads = {quad for way in ways for quad in way}
            if follows.isdisjoint(quads):
                continue
            said += 1
            chain, ends = explaining.ends(ways) if said <= _MOST_CLASHES else (quads - follows, [])
            yield Clash(kind, text, parts, tuple(sorted(chain)), tuple(ends))
