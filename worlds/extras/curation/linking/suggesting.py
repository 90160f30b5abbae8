"""Links that are missing: literals that name an entity where others point to one, and documents that name entities."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dataset import own_graphs
from worlds.core.quads.dictionary import Ids
from worlds.core.quads.namespaces import listed
from worlds.core.search.words import STOP_WORDS
from worlds.core.texts.profiles import words_of
from worlds.errors import ArgumentError
from worlds.extras.curation.findings.findings import Findings
from worlds.extras.curation.linking.implied_links import Context, Learnt, LinkConclusions, Naming, Way
from worlds.extras.curation.linking.link_rules import LITERAL, MOST, Borne, Case, Link, LinkGrouping, RawLink
from worlds.extras.curation.linking.links import Disambiguation, Linker, is_text, is_vocabulary, sentence
from worlds.extras.entities.gazetteer import Span, Word, words
from worlds.extras.entities.limits import check_limit
from worlds.extras.entities.neighbours import Neighbours
from worlds.graph.terms import format_term, to_oxigraph
from worlds.sql import statements

_SQL = statements("linking.sql")
_NAME = 200  # characters of a literal that can be a name
_TEXT = 1_000_000  # characters of a text that is read
_SAMPLE = 2000  # objects of a predicate that tell which classes it leads to
_BLOCK = 5000  # quads that are looked at together
_ENOUGH = 20  # times the limit: suggestions of a kind after which no more are sought
_LEARNT = 200_000  # namings of entities in texts, beyond which no further predicate's texts are read
_MENTIONS = "https://schema.org/mentions"
_ENDINGS = {"name", "names", "label", "text", "string", "literal", "title"}


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
    """The scope of a request, as ids; None is anything."""

    choice: Disambiguation
    graphs: set[int | None] | None
    predicates: set[int | None] | None
    enough: int
    score: float
    following: LinkConclusions
    borne: dict[Context, Borne]

    def of(self, predicate: int) -> bool:
        """Whether a predicate's literals are looked at."""
        return self.predicates is None or predicate in self.predicates


class Suggesting:
    """Suggests links in one world."""

    def __init__(self, core: Core, neighbours: Neighbours, linker: Linker) -> None:
        self._connection = core.connection
        self._dictionary = core.dictionary
        self._chunks = core.chunks
        self._history = core.history
        self._neighbours = neighbours
        self._linker = linker
        self._to_term = core.namespaces.term
        self._to_graph = core.namespaces.graph
        self._facts = core.facts

    def suggest(
        self, *, types: object, graphs: object, predicates: object, limit: int, score: float, among: Ids | None
    ) -> Findings[Link]:
        """See `World.curation.links`."""
        check_limit(limit)
        if not 0 <= score <= 1:
            raise ArgumentError(f"a score must be a number from 0 to 1, not {score!r}")
        given = None if predicates is None else [self._to_term(predicate) for predicate in listed(predicates)]
        kinds = None if types is None else [self._to_term(kind) for kind in listed(types)]
        names = None if graphs is None else [self._to_graph(graph) for graph in listed(graphs)]
        with self._connection.snapshot():
            asked = _Asked(
                Disambiguation(self._dictionary, self._chunks, self._neighbours, kinds, among),
                None if names is None else self._graphs(names),
                None if given is None else {*self._dictionary.find(given)},
                _ENOUGH * limit,
                score,
                LinkConclusions(self._connection, self._dictionary),
                {},
            )
            counts = self._connection.rows(_SQL["objects_of_predicates"])
            found = [*self._literals(asked, counts), *self._documents(asked, counts)]
            found.sort(key=lambda one: (-one.score, one.quad, one.start))
            explaining = LinkGrouping(self._connection, self._dictionary, self._history, found)
            rules = explaining.grouped(self._new(asked.following, explaining.undecided()))
            shown = explaining.shown(rules[:limit], asked.borne)
            return Findings(shown, {"link": len(rules)} if rules else {})

    def _new(self, following: LinkConclusions, found: Iterable[tuple[RawLink, tuple[int, int, int]]]) -> list[RawLink]:
        """The new links among `found`: along no hierarchy, from present or surer links, and without a circle."""
        return [one for one, link in found if following.is_new(*link)]

    def _graphs(self, names: Sequence[Any]) -> set[int | None]:
        named = [name for name in names if not isinstance(name, ox.DefaultGraph)]
        found: set[int | None] = {*self._dictionary.find(named)}
        return found | ({0} if len(named) < len(names) else set())

    # -- literals -----------------------------------------------------------------------------------------------------

    def _literals(self, asked: _Asked, counts: Sequence[Sequence[int]]) -> Iterator[RawLink]:
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
                context = (LITERAL, predicate, target)
                asked.borne[context] = Borne(with_entities[target], with_entities[target])
                for one in self._named(asked, predicate, target, terms[target], expected):
                    if one.score * reliable >= asked.score:
                        yield replace(one, score=one.score * reliable, told=told, contexts=(context,))
                        found += 1
                if found > asked.enough:
                    return
                break  # the nearest that leads to entities

    def _targets(self, predicate: int, with_entities: dict[int, int], terms: dict[int, Any]) -> Iterator[int]:
        """The predicate itself if its objects are entities, then its siblings: predicates with a similar name."""
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
        return None if any(is_vocabulary(term) for term in self._dictionary.terms(found).values()) else found

    def _named(self, asked: _Asked, predicate: int, target: int, term: Any, expected: set[int]) -> Iterator[RawLink]:
        borne = asked.borne[LITERAL, predicate, target]
        for block in self._quads(asked, predicate, _NAME):
            texts = self._dictionary.terms(set(block[:, 1].tolist()))
            called = {number: self._linker.gazetteer.called(text.value) for number, text in texts.items() if number}
            asked.choice.learn({name for names in called.values() for name in names})
            rows = [row for row in block.tolist() if called[row[1]]]
            borne.cases += len(block) - len(rows)
            nobody = (row for row in block.tolist() if not called[row[1]])
            borne.exceptions += [
                Case((subject, predicate, literal, graph), target)
                for subject, literal, graph, _ in islice(nobody, MOST - len(borne.exceptions))
            ]
            several = {row[0] for row in rows if len(called[row[1]]) > 1}
            about = asked.choice.words_about(several)
            found: list[tuple[RawLink, int, int]] = []
            for subject, literal, graph, revision in rows:
                text = texts[literal].value
                of_kind = asked.choice.of_kinds(called[literal], expected)
                names = tuple(name for name in of_kind if name.entity != subject)
                own = {word.folded for word in words(text)}
                candidates = asked.choice.named(text, names, [about.get(subject, set()) - own])
                if candidates:
                    best = candidates[0]
                    why = f"{text!r} is the name of {format_term(to_oxigraph(best.iri))}"
                    quad = (subject, predicate, literal, graph)
                    replaces = target == predicate
                    raw = RawLink(quad, revision, term, best.iri, best.confidence, 0, len(text), replaces, why)
                    found.append((raw, subject, asked.choice.number(best.iri)))
            joined = self._joined([(subject, entity) for _, subject, entity in found])
            follows = asked.following.ways((target, False))
            yield from (raw for (raw, _, _), by in zip(found, joined, strict=True) if not follows & by)

    # -- documents --------------------------------------------------------------------------------------------------

    def _documents(self, asked: _Asked, counts: Sequence[Sequence[int]]) -> Iterator[RawLink]:
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
        subjects = {one.subject for one in namings}
        having = self._having(subjects, to=True)
        having |= self._having({one.entity for one in namings} - subjects, to=False)
        learnt = Learnt(namings, joined, having)
        ways = self._dictionary.terms({number for by in joined for number, _ in by})
        nothing = not any(isinstance(ways[number], ox.NamedNode) for by in joined for number, _ in by)
        best: dict[tuple[int, int, Any, bool], RawLink] = {}
        for one, naming, by in zip(found, namings, joined, strict=True):
            if not asked.of(naming.predicate):
                continue
            found_for: list[tuple[Any, bool, float, str, tuple[Context, ...]]] = []
            if nothing and not one.is_vocabulary:
                told = f"{format_term(ox.NamedNode(_MENTIONS))} is used where no predicate links such texts yet"
                found_for.append((ox.NamedNode(_MENTIONS), False, one.score, told, ()))
            for chance in learnt.chances(naming, by):
                if chance.linked and not asked.following.ways(chance.way) & by:
                    way = format_term(ways[chance.way[0]])
                    told = f"in {chance.linked:,} of {chance.cases:,} similar cases the link {way} exists"
                    contexts = (chance.context, *reversed(naming.contexts(chance.way)))
                    asked.borne.setdefault(chance.context, Borne(chance.linked, chance.cases))
                    found_for.append((ways[chance.way[0]], chance.way[1], one.score * chance.share, told, contexts))
            for link, inverse, score, told, contexts in found_for:
                key = (naming.subject, naming.entity, link, inverse)
                if score < asked.score or (key in best and best[key].score >= score):
                    continue
                under, named = format_term(terms[naming.predicate]), format_term(to_oxigraph(one.iri))
                why = f"a text under {under} names {named}"
                best[key] = RawLink(
                    one.quad, one.revision, link, one.iri, score, one.start, one.end, False, why, told, contexts,
                    inverse, one.around,
                )  # fmt: skip
        told_first = {one.contexts[0] for one in best.values() if one.contexts}
        for context, places in learnt.exceptions(told_first, MOST).items():
            without = (found[place] for place in places)
            asked.borne[context].exceptions += [
                Case(one.quad, context[0][0], one.iri, context[0][1], one.around) for one in without
            ]
        yield from best.values()

    def _mentioned(
        self, asked: _Asked, predicate: int, rows: Sequence[Sequence[int]], texts: dict[int, Any]
    ) -> Iterator[_Named]:
        """The entities that texts mention."""
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
                    (near[0].start, near[-1].end), any(is_vocabulary(kind) for kind in candidates[0].types),
                )  # fmt: skip

    def _namings(self, found: Sequence[_Named]) -> list[Naming]:
        ids = {one.quad[0] for one in found} | {one.number for one in found}
        _, kinds = self._facts.labels_and_types(self._chunks.policy, ids)
        of = {number: tuple(sorted(kinds.get(number, ()))) for number in ids}
        return [
            Naming(one.quad[0], one.number, one.quad[1], (of[one.quad[0]], of[one.number]), one.cue, one.beside)
            for one in found
        ]

    def _having(self, subjects: set[int], *, to: bool) -> dict[int, dict[Way, int]]:
        """The number of entities that each predicate leads to from each subject; with `to`, from which to it, too."""
        ways = ((_SQL["leading_from"], False), (_SQL["leading_to"], True))
        found: dict[int, dict[Way, int]] = defaultdict(dict)
        ids = sorted(subjects)
        for start in range(0, len(ids), _BLOCK):
            values = (json.dumps(ids[start : start + _BLOCK]),)
            for statement, leads_to in ways if to else ways[:1]:
                for subject, predicate, count in self._connection.rows(statement, values):
                    found[subject][predicate, leads_to] = count
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


def _stem(iri: str) -> str:
    """The stem that predicates of one meaning share: `hasAuthor`, `author_name` and `author` are author."""
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
