"""Links that are missing: literals that name an entity where others point to one, and documents that name entities."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyoxigraph as ox

from worlds.curation.findings.findings import Finding, Findings
from worlds.curation.linking.following import Following
from worlds.curation.linking.learning import Learnt, Naming, Way
from worlds.curation.linking.links import Choice, Linker, is_text, sentence
from worlds.entities.gazetteer import Span, Word, words
from worlds.entities.limits import check_limit
from worlds.entities.neighbours import Neighbours
from worlds.graph.records import Count, Iri
from worlds.graph.terms import format_term, to_oxigraph, to_rdflib
from worlds.quads.dataset import own_graphs
from worlds.quads.dictionary import Dictionary
from worlds.quads.namespaces import listed
from worlds.revisions.history import History
from worlds.revisions.provenance import Provenance
from worlds.search.words import STOP_WORDS
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.texts.chunks import ChunkStore
from worlds.texts.facts import Facts
from worlds.texts.profiles import words_of

_SQL = statements("linking.sql")
_NAME = 200  # characters of a literal that can be a name
_TEXT = 1_000_000  # characters of a text that is read
_SAMPLE = 2000  # objects of a predicate that tell which classes it leads to
_BLOCK = 5000  # quads that are looked at together
_ENOUGH = 20  # times the limit: suggestions of a kind after which no more are sought
_LEARNT = 200_000  # namings of entities in texts, beyond which no further predicate's texts are read
_MENTIONS = "https://schema.org/mentions"
_ENDINGS = {"name", "names", "label", "text", "string", "literal", "title"}
_OF_VOCABULARIES = (
    "http://www.w3.org/2002/07/owl#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
)
_VOCABULARY = ("Property", "Class", "Ontology", "Datatype")  # endings of classes whose instances no text means


@dataclass(frozen=True, slots=True)
class Link(Finding):
    """A link that is missing, as a finding of the kind "link": `add` has its quad, `remove` the literal in its place.

    `text` is what names the entity, from character `start` up to `end` of the literal of `quads[0]`, and `sentence` the
    words around it. `score` is the probability that the link is true: that the entity is meant, and that a text which
    names such an entity so speaks of such a link.
    """

    subject: Iri = None
    predicate: Iri = None
    object: Iri = None
    text: str = ""
    start: Count = 0
    end: Count = 0
    sentence: str = ""

    @property
    def confidence(self) -> float:
        """The probability that the link is true, from 0 to 1."""
        return self.score


@dataclass(frozen=True, slots=True)
class _Raw:
    """A link as ids: the quad with its text, the predicate and the entity, and whether these replace the literal."""

    quad: tuple[int, int, int, int]
    revision: int
    predicate: Any
    entity: Any
    score: float
    start: int
    end: int
    replaces: bool
    why: str
    inverse: bool = False  # from the entity to the subject
    around: tuple[int, int] = (0, 0)  # the characters of the sentence


class _Named(NamedTuple):
    """A quad with a text that names an entity: as a term and as an id, how surely, where, and the words beside."""

    quad: tuple[int, int, int, int]
    revision: int
    iri: Any
    number: int
    score: float
    start: int
    end: int
    cue: str
    beside: tuple[str, str]
    around: tuple[int, int]
    is_vocabulary: bool


@dataclass(frozen=True)
class _Asked:
    """What is asked for, as ids; None is anything."""

    choice: Choice
    graphs: set[int | None] | None
    predicates: set[int | None] | None
    enough: int
    minimum: float
    following: Following

    def of(self, predicate: int) -> bool:
        """Whether a predicate's literals are looked at."""
        return self.predicates is None or predicate in self.predicates


class Suggesting:
    """Suggests links in one world."""

    def __init__(
        self,
        connection: Connection,
        dictionary: Dictionary,
        chunks: ChunkStore,
        history: History,
        neighbours: Neighbours,
        linker: Linker,
        to_term: Callable[[object], Any],
        to_graph: Callable[[object], Any],
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._chunks = chunks
        self._history = history
        self._neighbours = neighbours
        self._linker = linker
        self._to_term = to_term
        self._to_graph = to_graph
        self._facts = Facts(connection, dictionary)

    def suggest(
        self, *, types: object, graphs: object, predicates: object, limit: int, minimum: float
    ) -> Findings[Finding]:
        """See `World.suggest_links`."""
        check_limit(limit)
        if not 0 <= minimum <= 1:
            raise ValueError(f"minimum is from 0 to 1, not {minimum!r}")
        given = None if predicates is None else [self._to_term(predicate) for predicate in listed(predicates)]
        kinds = None if types is None else [self._to_term(kind) for kind in listed(types)]
        names = None if graphs is None else [self._to_graph(graph) for graph in listed(graphs)]
        with self._connection.snapshot():
            asked = _Asked(
                Choice(self._dictionary, self._chunks, self._neighbours, kinds),
                None if names is None else self._graphs(names),
                None if given is None else {*self._dictionary.find(given)},
                _ENOUGH * limit,
                minimum,
                Following(self._connection, self._dictionary),
            )
            counts = self._connection.rows(_SQL["objects_of_predicates"])
            found = [*self._literals(asked, counts), *self._documents(asked, counts)]
            found.sort(key=lambda one: (-one.score, one.quad, one.start))
            found = self._new(asked.following, found)
            return Findings(self._shown(found[:limit]), {"link": len(found)} if found else {})

    def _new(self, following: Following, found: Sequence[_Raw]) -> list[_Raw]:
        """Those that follow along no hierarchy, from links that are there or from surer ones, and close no circle."""
        numbers = dict.fromkeys(term for one in found for term in (one.predicate, to_oxigraph(one.entity)))
        ids = dict(zip(numbers, self._dictionary.find(list(numbers)), strict=True))
        kept = []
        for one in found:
            ends = [one.quad[0], ids[to_oxigraph(one.entity)] or 0]
            subject, entity = reversed(ends) if one.inverse else ends
            if following.is_new(subject, ids[one.predicate] or 0, entity):
                kept.append(one)
        return kept

    def _graphs(self, names: Sequence[Any]) -> set[int | None]:
        named = [name for name in names if not isinstance(name, ox.DefaultGraph)]
        found: set[int | None] = {*self._dictionary.find(named)}
        return found | ({0} if len(named) < len(names) else set())

    # -- literals -----------------------------------------------------------------------------------------------------

    def _literals(self, asked: _Asked, counts: Sequence[Sequence[int]]) -> Iterator[_Raw]:
        """Literals that are, as a whole, the name of an entity, under predicates that lead others to entities."""
        names = set(self._facts.numbers(self._chunks.policy.predicates("label", "alias")))
        with_literals = {predicate for predicate, literals, _ in counts if literals} - names
        with_entities = {predicate: entities for predicate, _, entities in counts if entities}
        terms = self._dictionary.terms(with_literals | with_entities.keys())
        found = 0
        for predicate in sorted(with_literals):
            if not asked.of(predicate):
                continue
            for target in self._targets(predicate, with_entities, terms):
                expected = self._kinds_of_objects(target)
                if expected is None:
                    continue
                reliable = (with_entities[target] + 1) / (with_entities[target] + 2)
                told = f"{format_term(terms[target])} leads to entities elsewhere, {with_entities[target]} times"
                for one in self._named(asked, predicate, target, terms[target], expected, told):
                    yield replace(one, score=one.score * reliable)
                    found += 1
                if found > asked.enough:
                    return
                break  # the nearest that leads to entities

    def _targets(self, predicate: int, with_entities: dict[int, int], terms: dict[int, Any]) -> Iterator[int]:
        """The predicate itself where it leads to entities, then its siblings: those that are called alike."""
        if predicate in with_entities:
            yield predicate
        stem = _stem(terms[predicate].value)
        alike = [other for other in with_entities if other != predicate and stem and _stem(terms[other].value) == stem]
        yield from sorted(alike, key=lambda other: (-with_entities[other], other))

    def _kinds_of_objects(self, predicate: int) -> set[int] | None:
        """The classes of what a predicate leads to; None where that is vocabulary."""
        _, objects = self._connection.columns(_SQL["with_entities"], (predicate, _SAMPLE))
        _, kinds = self._facts.labels_and_types(self._chunks.policy, objects.tolist())
        found = {kind for of in kinds.values() for kind in of}
        return None if any(_is_vocabulary(term) for term in self._dictionary.terms(found).values()) else found

    def _named(
        self, asked: _Asked, predicate: int, target: int, term: Any, expected: set[int], told: str
    ) -> Iterator[_Raw]:
        for block in self._quads(asked, predicate, _NAME):
            texts = self._dictionary.terms(set(block[:, 1].tolist()))
            called = {number: self._linker.gazetteer.called(text.value) for number, text in texts.items() if number}
            asked.choice.learn({name for names in called.values() for name in names})
            rows = [row for row in block.tolist() if called[row[1]]]
            several = {row[0] for row in rows if len(called[row[1]]) > 1}
            about = asked.choice.words_about(several)
            found: list[tuple[_Raw, int, int]] = []
            for subject, literal, graph, revision in rows:
                text = texts[literal].value
                of_kind = asked.choice.of_kinds(called[literal], expected)
                names = tuple(name for name in of_kind if name.entity != subject)
                own = {word.folded for word in words(text)}
                candidates = asked.choice.named(text, names, [about.get(subject, set()) - own])
                if candidates and candidates[0].confidence >= asked.minimum:
                    best = candidates[0]
                    why = f"{text!r} is the name of {format_term(to_oxigraph(best.iri))}; {told}"
                    quad = (subject, predicate, literal, graph)
                    replaces = target == predicate
                    raw = _Raw(quad, revision, term, best.iri, best.confidence, 0, len(text), replaces, why)
                    found.append((raw, subject, asked.choice.number(best.iri)))
            joined = self._joined([(subject, entity) for _, subject, entity in found])
            follows = asked.following.ways((target, False))
            yield from (raw for (raw, _, _), by in zip(found, joined, strict=True) if not follows & by)

    # -- documents --------------------------------------------------------------------------------------------------

    def _documents(self, asked: _Asked, counts: Sequence[Sequence[int]]) -> Iterator[_Raw]:
        """Texts that name entities which their subject is not joined with."""
        policy = self._chunks.policy
        names = set(self._facts.numbers(policy.predicates("label", "alias")))
        of_texts = sorted(predicate for predicate, literals, _ in counts if literals and predicate not in names)
        terms = self._dictionary.terms(of_texts)
        found: list[_Named] = []
        for predicate in of_texts:
            for block in self._quads(asked, predicate, _TEXT):
                texts = self._dictionary.terms(set(block[:, 1].tolist()))
                rows = [row for row in block.tolist() if is_text(policy, terms[predicate].value, texts[row[1]])]
                found += self._mentioned(asked, predicate, rows, texts)
            if len(found) > _LEARNT:
                break
        namings = self._namings(found)
        joined = self._joined([(one.subject, one.entity) for one in namings])
        learnt = Learnt(namings, joined, self._having({one.subject for one in namings}))
        ways = self._dictionary.terms({number for by in joined for number, _ in by})
        nothing = not any(isinstance(ways[number], ox.NamedNode) for by in joined for number, _ in by)
        best: dict[tuple[int, int, Any, bool], _Raw] = {}
        for one, naming, by in zip(found, namings, joined, strict=True):
            if not asked.of(naming.predicate):
                continue
            found_for: list[tuple[Any, bool, float, str]] = []
            if nothing and not one.is_vocabulary:
                told = f"{format_term(ox.NamedNode(_MENTIONS))} is for what no predicate joins with its texts yet"
                found_for.append((ox.NamedNode(_MENTIONS), False, one.score, told))
            for chance in learnt.chances(naming):
                if chance.linked and not asked.following.ways(chance.way) & by:
                    way = format_term(ways[chance.way[0]])
                    told = f"in {chance.linked:,} of {chance.cases:,} similar cases the link {way} exists"
                    found_for.append((ways[chance.way[0]], chance.way[1], one.score * chance.probability, told))
            for link, inverse, score, told in found_for:
                key = (naming.subject, naming.entity, link, inverse)
                if score < asked.minimum or (key in best and best[key].score >= score):
                    continue
                under, named = format_term(terms[naming.predicate]), format_term(to_oxigraph(one.iri))
                why = f"a text under {under} names {named}; {told}"
                best[key] = _Raw(
                    one.quad, one.revision, link, one.iri, score, one.start, one.end, False, why, inverse, one.around
                )
        yield from best.values()

    def _mentioned(
        self, asked: _Asked, predicate: int, rows: Sequence[Sequence[int]], texts: dict[int, Any]
    ) -> Iterator[_Named]:
        """What texts mention."""
        read: list[tuple[Sequence[int], str, list[Word], list[Span]]] = []
        for row in rows:
            text = texts[row[1]].value
            among = words(text)
            spans = self._linker.gazetteer.spans(text, among, row[0])
            if spans and (spans[0].last - spans[0].first < len(among) or len(spans) > 1):  # a whole name is no document
                read.append((row, text, among, spans))
        asked.choice.learn({name for *_, spans in read for span in spans for name in span.named})
        for (subject, literal, graph, revision), text, among, spans in read:
            for span in spans:
                candidates = asked.choice.of(text, span, among)
                if not candidates:
                    continue
                near = sentence(text, span, among)
                yield _Named(
                    (subject, predicate, literal, graph), revision, candidates[0].iri,
                    asked.choice.number(candidates[0].iri), candidates[0].confidence, span.start, span.end,
                    _cue(text, near, span),
                    (among[span.first - 1].folded if span.first else "",
                     among[span.last].folded if span.last < len(among) else ""),
                    (near[0].start, near[-1].end), any(_is_vocabulary(kind) for kind in candidates[0].types),
                )  # fmt: skip

    def _namings(self, found: Sequence[_Named]) -> list[Naming]:
        ids = {one.quad[0] for one in found} | {one.number for one in found}
        _, kinds = self._facts.labels_and_types(self._chunks.policy, ids)
        of = {number: tuple(sorted(kinds.get(number, ()))) for number in ids}
        return [
            Naming(one.quad[0], one.number, one.quad[1], (of[one.quad[0]], of[one.number]), one.cue, one.beside)
            for one in found
        ]

    def _having(self, subjects: set[int]) -> dict[int, dict[Way, int]]:
        """How many entities each predicate leads each subject to, and each subject from."""
        found: dict[int, dict[Way, int]] = defaultdict(dict)
        ids = sorted(subjects)
        for start in range(0, len(ids), _BLOCK):
            values = (json.dumps(ids[start : start + _BLOCK]),)
            for statement, inverse in (("leading_from", False), ("leading_to", True)):
                for subject, predicate, count in self._connection.rows(_SQL[statement], values):
                    found[subject][predicate, inverse] = count
        return found

    # -- rows -------------------------------------------------------------------------------------------------------

    def _quads(self, asked: _Asked, predicate: int, most: int) -> Iterator[Any]:
        """The literals of a predicate with at most so many characters: subject, object, graph, revision; in blocks."""
        rows = self._connection.table(_SQL["with_literals"], (predicate, most))
        rows = rows[~np.isin(rows[:, 2], own_graphs(self._dictionary))]
        if asked.graphs is not None:
            rows = rows[np.isin(rows[:, 2], [graph for graph in asked.graphs if graph is not None])]
        for start in range(0, len(rows), _BLOCK):
            yield rows[start : start + _BLOCK]

    def _joined(self, pairs: Sequence[tuple[int, int]]) -> list[set[Way]]:
        """The predicates that join each pair already, whichever way."""
        found: list[set[Way]] = [set() for _ in pairs]
        for start in range(0, len(pairs), _BLOCK):
            values = (json.dumps(pairs[start : start + _BLOCK]),)
            for place, predicate, inverse in self._connection.rows(_SQL["joined"], values):
                found[start + int(place)].add((predicate, bool(inverse)))
        return found

    def _shown(self, found: Sequence[_Raw]) -> list[Link]:
        terms = self._dictionary.terms({number for one in found for number in one.quad if number})
        shown: dict[int, Any] = {number: to_rdflib(term) for number, term in terms.items()}
        shown[0] = None
        entries = self._history.numbered({one.revision for one in found})
        links = []
        for one in found:
            s, p, o, g = (shown[number] for number in one.quad)
            predicate, entity = to_rdflib(one.predicate), one.entity
            first, last = (entity, s) if one.inverse else (s, entity)
            links.append(
                Link(
                    "link",
                    "info",
                    one.score,
                    one.why,
                    (first, last),
                    (Provenance((s, p, o, g), entries.get(one.revision), None),),
                    add=((first, predicate, last, g),),
                    remove=((s, p, o, g),) if one.replaces else (),
                    subject=first,
                    predicate=predicate,
                    object=last,
                    text=str(o)[one.start : one.end],
                    start=one.start,
                    end=one.end,
                    sentence=" ".join(str(o)[slice(*one.around)].split()) or str(o),
                )
            )
        return links


def _stem(iri: str) -> str:
    """What predicates that say the same have in common: `hasAuthor`, `author_name` and `author` are author."""
    parts = words_of(iri).casefold().split()
    while len(parts) > 1 and parts[-1] in _ENDINGS:
        parts.pop()
    return " ".join(parts[1:] if len(parts) > 1 and parts[0] in ("has", "is") else parts)


def _cue(text: str, near: Sequence[Word], span: Span) -> str:
    """The last telling word before a name in its sentence: "directed" of "directed by Ann Lee and Bob Ray"."""
    for word in reversed(near):
        if word.end <= span.start and text[word.start].islower() and word.folded not in STOP_WORDS:
            return word.folded
    return ""


def _is_vocabulary(kind: object) -> bool:
    """Whether a class is one whose instances are classes or properties."""
    iri = kind.value if isinstance(kind, ox.NamedNode) else str(kind)
    return iri.startswith(_OF_VOCABULARIES) and iri.endswith(_VOCABULARY)
