"""Which entities may be one: pairs with a score, and what is for and against each."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyoxigraph as ox
from rdflib import URIRef

from worlds.core.core import Core
from worlds.core.history.scale import decided, learned
from worlds.core.quads.dictionary import IRI, Ids
from worlds.errors import ArgumentError
from worlds.extras.curation.columns.axioms import OWL, PART_OF, SKOS, Axioms
from worlds.extras.curation.columns.quad_columns import NO_IDS, QuadTable, code, distinct, place
from worlds.extras.curation.duplicates.likeness import INITIALS, JOINED
from worlds.extras.curation.duplicates.match_probability import Where, features, scores_of
from worlds.extras.curation.duplicates.pairs import TEXTS_CODE, CandidatePairs, Pairs, Weights
from worlds.extras.curation.duplicates.string_similarity import Shares
from worlds.extras.curation.findings.findings import Finding, FindingPresenter, Findings
from worlds.graph.records import Score
from worlds.graph.terms import entity_of, listed
from worlds.sql import statements
from worlds.sql.connection import Connection

Action: TypeAlias = Literal["merge", "skos:exactMatch", "skos:closeMatch", "owl:sameAs", "different"]

PREDICATES = {
    "skos:exactMatch": SKOS + "exactMatch",
    "skos:closeMatch": SKOS + "closeMatch",
    "owl:sameAs": OWL + "sameAs",
    "different": OWL + "differentFrom",
}
"""The predicate of the quad that an action adds; a merge adds none."""

_SOURCES = statements("sources.sql")
_SQL = statements("curation.sql")
_SHOWN = 6  # values that are named for and against a pair
_TELLING = np.array([0.0, 0.15, 0.15, 1.0, 0.0, 0.0, 0.0, 0.0])  # of a likeness's `apart`, to be told
_APART = (
    "their numbers differ",
    "a word that the other lacks",
    "each has a word that the other lacks",
    "the words that differ stand in other names, too",
    "the words that differ begin with other letters",
    "a code differs",
    "the signs between the words differ",
    "the words stand in another order",
)
_ALONE = 0.49  # score, at most, of two that have one value in common and nothing else
_UNLIKE = 0.2  # likeness of names that speaks for nothing
_WEIGHTIEST = 3  # reasons in a sentence


class Actions:
    """The actions for pairs of entities, by their ids: `keep` decides the direction of all merges alike."""

    def __init__(self, connection: Connection, table: QuadTable, entities: Ids, keep: object) -> None:
        """`keep` is "links" (the entity that more links lead to stays), "older" (the entity that the world knew first),
        or a term: the entity stays that the graph says something of, or that the scheme has."""
        ids = np.unique(entities)
        rows = np.flatnonzero(np.isin(table.subjects, ids))
        owned = [graph for graph, _ in connection.rows(_SOURCES["owned"])]
        self._owned = set(table.subjects[rows[np.isin(table.graphs[rows], owned)]].tolist())
        self._schemes: dict[int, set[int]] = defaultdict(set)
        for predicate in ("inScheme", "topConceptOf"):
            concepts, schemes = table.pairs(SKOS + predicate)
            of = np.isin(concepts, ids)
            for concept, scheme in zip(concepts[of].tolist(), schemes[of].tolist(), strict=True):
                self._schemes[concept].add(scheme)
        upward = np.isin(table.predicates, table.ids(list(PART_OF)))
        upward &= np.isin(table.subjects, ids) & np.isin(table.objects, ids)
        self._above = set(zip(table.subjects[upward].tolist(), table.objects[upward].tolist(), strict=True))
        self._since: dict[int, int] = {}
        for subject, revision in zip(table.subjects[rows].tolist(), table.revisions[rows].tolist(), strict=True):
            self._since[subject] = min(revision, self._since.get(subject, revision))
        self._led: Counter[int] = Counter()
        self._first: set[int] = set()
        if isinstance(keep, str):
            self._led.update(table.objects[np.isin(table.objects, ids)].tolist() if keep == "links" else ())
        else:
            named = 0 if isinstance(keep, ox.DefaultGraph) else table.id(getattr(keep, "value", ""))
            self._first = set(table.subjects[rows[table.graphs[rows] == named]].tolist())
            self._first |= {concept for concept, schemes in self._schemes.items() if named in schemes}

    def directed(self, pair: tuple[int, int]) -> tuple[int, int]:
        """A pair with the entity first that stays, which no spelling decides; the older one where nothing else does."""
        one, other = sorted(pair, key=lambda entity: (
            entity not in self._first, -self._led[entity], self._since.get(entity, 0), entity,
        ))  # fmt: skip
        return one, other

    def of(self, pair: tuple[int, int], *, same_name: bool, apart: bool) -> Action:
        """The action for a pair; `apart` marks a pair that was decided to be two."""
        one, other = pair
        schemes = self._schemes.get(one, set()), self._schemes.get(other, set())
        if apart or (one, other) in self._above or (other, one) in self._above:
            return "different"
        if schemes[0] and schemes[1] and not schemes[0] & schemes[1]:
            return "skos:exactMatch" if same_name else "skos:closeMatch"
        return "owl:sameAs" if self._owned & {one, other} else "merge"


@dataclass(frozen=True, slots=True)
class Duplicate(Finding):
    """Two entities that may be one; `score` orders the pairs, and is no probability.

    `evidence` says what is for it and `against` what is against it, each in short sentences, the weightiest first.
    `action` is what to do where they are one: to merge the second into the first; to link them, by the quad of `add`,
    where they are concepts of two schemes ("skos:exactMatch" by one name, else "skos:closeMatch") or a source keeps the
    graph of one ("owl:sameAs"). "different" is a pair that was decided to be two, or of which one is above the other.
    `probability` is how likely they are one by what the world decided of other pairs; None where it decided too few.
    """

    evidence: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    action: Action = "merge"
    probability: Score | None = None


class Duplicates(Findings[Duplicate]):
    """Pairs that may be one entity, the likeliest first; `learned` is how many decisions the probabilities stand on."""

    _also = ("counts", "causes", "learned", "findings")
    learned: int = 0

    def clusters(self, *, score: float = 0.5) -> list[tuple[Any, ...]]:
        """The entities that pairs of at least this score hold together, the largest groups first."""
        leader: dict[Any, Any] = {}

        def top(one: Any) -> Any:
            while leader.setdefault(one, one) != one:
                leader[one] = leader[leader[one]]
                one = leader[one]
            return one

        for pair in self:
            if pair.score >= score:
                leader[top(pair.subjects[0])] = top(pair.subjects[1])
        groups: dict[Any, list[Any]] = defaultdict(list)
        for one in leader:
            groups[top(one)].append(one)
        return sorted((tuple(sorted(group)) for group in groups.values()), key=lambda group: (-len(group), group))


def rejected_pairs(merged: str) -> list[tuple[Any, Any]]:
    """The kept entity and each of the others, of the terms in N-Triples of a merge that was rejected, in JSON."""
    kept, *others = map(entity_of, json.loads(merged))
    return [(kept, other) for other in others]


class DuplicateFinder:
    """Finds the duplicates of one world."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def find(
        self,
        *,
        types: Sequence[Any] | None,
        graphs: Sequence[Any] | None,
        between: tuple[Any, Any] | None,
        score: float,
        limit: int | None,
        prefixes: Mapping[str, str],
        keep: object = "links",
        again: bool = False,
        among: Ids | None = None,
    ) -> Duplicates:
        """See `World.curation.duplicates`."""
        if not 0 <= score <= 1:
            raise ArgumentError(f"a score must be a number from 0 to 1, not {score!r}")
        with self._core.connection.snapshot():
            table = QuadTable(self._core.connection, self._core.dictionary)
            asked: dict[str, Any] = {
                "types": types,
                "graphs": graphs,
                "between": between,
                "again": again,
                "among": among,
            }
            pairs, found, weights = self.compared(table, **asked)
            scores = _scores(pairs, found, weights)
            likely = np.flatnonzero(scores >= score)
            likely = likely[np.lexsort((found.b[likely], found.a[likely], -scores[likely]))]
            shown = likely[:limit]
            told = _told(pairs, found.of(shown), weights.of(shown), scores[shown].tolist())
            scale = learned(*decided(self._core.connection, "duplicate"))
            chances = [None] * len(shown) if scale is None else scale(scores[shown]).tolist()
            every = np.array([number for pair in told for number in pair.entities], dtype=np.int64)
            actions = Actions(self._core.connection, table, every, keep)
            apart = self._apart(Axioms(table)) if again else set()
            duplicates = self._shown(table, pairs, told, len(likely), prefixes, chances, actions, apart)
            duplicates.learned = 0 if scale is None else scale.decisions
            return duplicates

    def likely(self, table: QuadTable) -> list[tuple[int, int]]:
        """The pairs within a world that are more likely one entity than two."""
        pairs, found, weights = self.compared(table)
        likely = _scores(pairs, found, weights) >= 0.5
        both = pairs.entities[found.a[likely]], pairs.entities[found.b[likely]]
        return list(zip(*(column.tolist() for column in both), strict=True))

    def compared(
        self,
        table: QuadTable,
        *,
        types: Sequence[Any] | None = None,
        graphs: Sequence[Any] | None = None,
        between: tuple[Any, Any] | None = None,
        again: bool = False,
        among: Ids | None = None,
    ) -> tuple[Pairs, CandidatePairs, Weights]:
        """All candidate pairs with the evidence for and against them, unordered, and the comparer.

        With `again` also those that were decided to be two.
        """
        axioms = Axioms(table)
        policy = self._core.chunks.policy
        roles = {role: [n for n in table.ids(list(policy.predicates(role))) if n > 0] for role in ("label", "alias")}
        # A name that was merged into another is no entity, though a partner's file may speak of it again.
        entities = self._entities(table, axioms, types, roles)
        merged = np.array(sorted(self._core.redirects.of(entities.tolist())), dtype=np.int64)
        entities = np.setdiff1d(entities, merged, assume_unique=True)
        if among is not None:
            entities = np.intersect1d(entities, among, assume_unique=True)
        sides: Ids | None = None
        if between is not None:
            first, second = (distinct(table.subjects[table.within([graph])]) for graph in between)
            entities = np.intersect1d(entities, np.union1d(first, second), assume_unique=True)
            sides = np.isin(entities, first) + 2 * np.isin(entities, second)
        elif graphs is not None:
            entities = np.intersect1d(entities, distinct(table.subjects[table.within(graphs)]), assume_unique=True)
        pairs = Pairs(table, axioms, entities, roles["label"], roles["alias"])
        found = pairs.candidates(sides, self._decided(table, axioms, entities, again=again))
        return pairs, found, pairs.weigh(found)

    def _entities(
        self, table: QuadTable, axioms: Axioms, types: Sequence[Any] | None, roles: Mapping[str, list[int]]
    ) -> Ids:
        """The entities of the types; without types, all with a type or a name that are not OWL's vocabulary, and are no
        ontology: its header speaks of a document, as those of all documents of one publisher do."""
        if types is not None:
            known = [number for number in self._core.dictionary.find(list(types)) if number is not None]
            return axioms.instances(axioms.below(known))
        named = [table.pairs(number)[0] for number in (*roles["label"], *roles["alias"])]
        found = distinct(np.concatenate([NO_IDS, axioms.types[0], *named]))
        found = np.setdiff1d(found, axioms.instances(axioms.below([table.id(OWL + "Ontology")])), assume_unique=True)
        iris: Ids = found[table.kinds[found] == IRI]
        return iris

    def _decided(self, table: QuadTable, axioms: Axioms, entities: Ids, *, again: bool) -> Ids:
        """Codes of the pairs of entities, by their places, that are said to be the same, or decided to be two."""
        apart = [] if again else sorted(self._apart(axioms))
        said = np.array(apart, dtype=np.int64).reshape(-1, 2).T
        same = (table.pairs(iri) for action, iri in PREDICATES.items() if action != "different")
        one, other = (np.concatenate(both) for both in zip(*same, said, strict=True))
        a, b = place(one, entities), place(other, entities)
        of = (a >= 0) & (b >= 0)
        return distinct(code(np.minimum(a, b)[of], np.maximum(a, b)[of]))

    def _apart(self, axioms: Axioms) -> set[tuple[int, int]]:
        """The pairs that are said to be two, or were decided to be: a proposal was rejected, or a merge taken apart."""
        merged = [rejected_pairs(row[2]) for row in self._core.connection.rows(_SQL["rejected_merges"])]
        pairs = [pair for some in merged for pair in some]
        terms = list(dict.fromkeys(term for pair in pairs for term in pair))
        ids = dict(zip(terms, self._core.dictionary.find(terms), strict=True))
        found = {(ids[one], ids[other]) for one, other in pairs}
        return axioms.different | {(one, other) for one, other in found if one is not None and other is not None}

    # -- for people -----------------------------------------------------------------------------------------------

    def _shown(
        self,
        table: QuadTable,
        pairs: Pairs,
        likely: Sequence[ExplainedPair],
        total: int,
        prefixes: Mapping[str, str],
        chances: Sequence[float | None],
        actions: Actions,
        apart: set[tuple[int, int]],
    ) -> Duplicates:
        rows = [self._rows(table, pairs, pair) for pair in likely]
        compared = {number for pair in likely for both in pair.agreeing for number in both}
        compared |= {number for pair in likely for number in (*pair.entities, *pair.close, *pair.differing)}
        every = {row for found in rows for row in found}
        shown = FindingPresenter(table, self._core.history, prefixes, every, compared)
        found: list[Duplicate] = []
        for pair, its, chance in zip(likely, rows, chances, strict=True):
            evidence, against = _reasons(pair, shown)
            first, second = pair.entities  # the older first, so that a link is the same, whatever leads to either
            both = actions.directed(pair.entities)
            one, other = map(shown.text, both)
            same_name = bool(pair.found.likeness.how[0] <= JOINED)
            action = actions.of(both, same_name=same_name, apart=bool({both, both[::-1]} & apart))
            predicate = URIRef(PREDICATES[action]) if action != "merge" else None
            found.append(
                Duplicate(
                    "duplicate",
                    "warning" if pair.score >= 0.5 else "info",
                    pair.score,
                    f"{one} and {other} may be the same: {listed(evidence, _WEIGHTIEST, between='; ') or 'little'}"
                    + (f"; against it: {listed(against, _WEIGHTIEST, between='; ')}" if against else ""),
                    tuple(map(shown.term, both)),
                    tuple(map(shown.said, its)),
                    add=() if predicate is None else ((shown.term(first), predicate, shown.term(second), None),),
                    evidence=evidence,
                    against=against,
                    action=action,
                    probability=chance,
                )
            )
        return Duplicates(found, {"duplicate": total} if total else {})

    @staticmethod
    def _rows(table: QuadTable, pairs: Pairs, pair: ExplainedPair) -> list[int]:
        """The rows of the names and values that were compared."""
        found: list[int] = []
        for entity, name in zip(pair.entities, pair.numbers, strict=True):
            if name >= 0:
                found += pairs.names.rows(entity, name)
        told = {predicate for predicate, _ in pair.agreeing[:_SHOWN]} | {*pair.close[:_SHOWN], *pair.differing[:_SHOWN]}
        for predicate in sorted(told):
            for entity in pair.entities:
                found += table.values_of(entity, predicate)[:3]
        return found


def _scores(pairs: Pairs, found: CandidatePairs, weights: Weights) -> Shares:
    """The probability that each pair is one entity: very low without a similar name, a common value or code."""
    where: Where = "within" if pairs.taken is None else "between"
    scores = scores_of(found, features(found, weights, where), where, taken=pairs.taken)
    alone = (found.names[0] < 0) & (weights.agreeing < 2)
    nothing = (found.likeness.score < _UNLIKE) & (weights.agreeing == 0) & (weights.words[:, TEXTS_CODE] == 0)
    return np.where(nothing, 0.0, np.where(alone, np.minimum(scores, _ALONE), scores))


@dataclass(frozen=True, slots=True)
class ExplainedPair:
    """A pair with the evidence for and against it, by the ids of terms; `found` and `weights` are its own."""

    score: float
    entities: tuple[int, int]
    numbers: tuple[int, int]  # of the names that are most alike
    names: tuple[str, str] | None
    agreeing: list[tuple[int, int]]  # predicate and value
    close: list[int]  # predicates
    differing: list[int]
    found: CandidatePairs
    weights: Weights


def _told(pairs: Pairs, found: CandidatePairs, weights: Weights, scores: Sequence[float]) -> list[ExplainedPair]:
    """The facts about each pair, for the reasons that are shown."""
    met = pairs.met(found.a, found.b)
    predicates, shown = pairs.values.predicates, pairs.values.shown
    agreeing: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row, kind, key in zip(*(column.tolist() for column in met.agreeing), strict=True):
        agreeing[row].append((int(predicates[kind]), int(shown[key])))
    others: list[dict[int, list[int]]] = []
    for rows, kinds in (met.close, met.differing):
        others.append(defaultdict(list))
        for row, kind in zip(rows.tolist(), predicates[kinds].tolist(), strict=True):
            others[-1][row].append(kind)
    texts = pairs.names.index.names
    told: list[ExplainedPair] = []
    for row, score in enumerate(scores):
        own = np.array([row])
        names = int(found.names[0][row]), int(found.names[1][row])
        entities = int(pairs.entities[found.a[row]]), int(pairs.entities[found.b[row]])
        called = (texts[names[0]], texts[names[1]]) if names[0] >= 0 else None
        values = agreeing[row], others[0][row], others[1][row]
        told.append(ExplainedPair(score, entities, names, called, *values, found.of(own), weights.of(own)))
    return told


def _reasons(pair: ExplainedPair, shown: FindingPresenter) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The reasons for a pair, and the reasons against it."""
    evidence: list[str] = []
    against: list[str] = []
    alike, weights = pair.found.likeness, pair.weights
    how, score, namesakes, systematic = alike.how[0], alike.score[0], weights.namesakes[0], weights.systematic[0]
    if pair.names is not None:
        one, other = pair.names
        if one == other:
            evidence.append(f"both are called {one!r}")
        elif how <= JOINED:
            evidence.append(f"{one!r} is {other!r} in other words or signs")
        elif how == INITIALS:
            evidence.append(f"{one!r} may stand for {other!r}")
        else:
            (evidence if score >= 0.8 else against).append(f"{one!r} is like {other!r} ({score:.2f})")
        if namesakes:
            against.append(f"{namesakes:,} more have that name")
    for predicate, value in pair.agreeing[:_SHOWN]:
        evidence.append(f"the same {shown.text(predicate)}, {_short(shown.text(value))}")
    evidence += [f"{shown.text(predicate)} is alike" for predicate in pair.close[:_SHOWN]]
    if weights.types[0] > 0:
        evidence.append("of one type")
    against += [f"{shown.text(predicate)} differs" for predicate in pair.differing[:_SHOWN]]
    against[:0] = [text for text, apart in zip(_APART, alike.apart[0] > _TELLING, strict=True) if apart]
    if how > JOINED and systematic > 1:
        against.append(f"{systematic:,} more pairs of names differ in the same way")
    if weights.identifiers[0]:
        against.append("their identifiers differ")
    if weights.siblings[0] and how > JOINED:
        against.append("siblings under one parent")
    if weights.types[0] < 0:
        against.append("of different types")
    if weights.linked[0]:
        against.append("one points to the other")
    return tuple(evidence), tuple(against)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"
