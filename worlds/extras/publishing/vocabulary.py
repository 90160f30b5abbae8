"""A vocabulary as a site shows it: concepts, classes and properties with labels, notes, hierarchy and releases."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dataset import of_data
from worlds.core.quads.dictionary import Ids, json_ids
from worlds.core.quads.rows import distinct
from worlds.core.texts.entity_facts import clean
from worlds.errors import ArgumentError
from worlds.extras.entities.trees import OWL, RDFS, SKOS, Trees
from worlds.graph.terms import RDF, XSD, format_term

_TYPE = RDF + "type"
_IN_SCHEME, _TOP_OF, _HAS_TOP = SKOS + "inScheme", SKOS + "topConceptOf", SKOS + "hasTopConcept"
_UP, _DOWN = (SKOS + "broader", RDFS + "subClassOf", RDFS + "subPropertyOf"), (SKOS + "narrower",)
_KINDS = (
    *(SKOS + "Concept", OWL + "Class", RDFS + "Class", RDF + "Property", OWL + "ObjectProperty"),
    *(OWL + "DatatypeProperty", OWL + "AnnotationProperty"),
)
_NOTES = ("definition", "scopeNote", "note", "example", "changeNote", "editorialNote", "historyNote")
_MAPPINGS = ("exactMatch", "closeMatch", "broadMatch", "narrowMatch", "relatedMatch")
_ORDER = {
    iri: place
    for place, iri in enumerate(
        (*(SKOS + name for name in _NOTES), RDFS + "comment", SKOS + "notation", *(SKOS + name for name in _MAPPINGS))
    )
}
_IN_PLACE = {_IN_SCHEME, _TOP_OF, _HAS_TOP, SKOS + "related", *_UP, *_DOWN}  # shown by the site in other ways
_NAMES = {RDFS + "comment": "Comment", _TYPE: "Type", RDFS + "seeAlso": "See also", OWL + "sameAs": "Same as"}

_DATES = {XSD + "date", XSD + "dateTime"}
_DATE = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)(?:T(?P<time>\d\d:\d\d):[\d.]+)?(?P<zone>Z|[+-]\d\d:\d\d)?"
)
_MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905

Labels: TypeAlias = dict[str, str]
"""Language → label; "" is no language."""


class ShownTerm(NamedTuple):
    """A value of a concept: a text with its language, another entity by its IRI, or a concept of the site."""

    text: str
    language: str = ""
    iri: str = ""
    concept: int = 0


class Release(NamedTuple):
    """A release's change of a concept: `what` is "added" or "changed"; `tag` is empty after the last release."""

    tag: str
    what: str


@dataclass
class Concept:
    """A concept, a class or a property; others of the site by their numbers."""

    number: int
    iri: str
    labels: Labels = field(default_factory=dict)
    others: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))  # by language
    broader: set[int] = field(default_factory=set)
    narrower: set[int] = field(default_factory=set)
    related: set[int] = field(default_factory=set)
    deprecated: bool = False
    rows: dict[str, list[ShownTerm]] = field(default_factory=dict)  # by the heading, in the order of the site
    releases: list[Release] = field(default_factory=list)


@dataclass
class PublishedVocabulary:
    """The concepts of a scheme, or all concepts, classes and properties of a world, by their numbers."""

    iri: str
    titles: Labels
    notes: list[ShownTerm]
    concepts: dict[int, Concept]
    roots: list[int]
    languages: list[str]


class Vocabularies:
    """Reads the vocabularies of one world."""

    def __init__(self, core: Core, trees: Trees) -> None:
        self._core = core
        self._trees = trees
        policy = core.chunks.policy
        self._label_order = {iri: place for place, iri in enumerate(policy.predicates("label"))}
        self._aliases = set(policy.predicates("alias"))

    def named(self, scheme: object) -> ox.NamedNode:
        """The scheme of an IRI, a prefixed name, or a label that no other scheme has, in any language."""
        labels = self._core.facts.numbers(self._label_order)
        rows = self._core.facts.quads_by("quads_under", self._trees.schemes(), predicates_json=json_ids(labels))
        terms = self._core.dictionary.terms({*rows[:, 0].tolist(), *rows[:, 2].tolist()})
        sought = str(scheme).casefold()
        found = {terms[s] for s, _, o, _ in rows.tolist() if clean(str(terms[o].value)).casefold() == sought}
        if len(found) > 1:
            listed = ", ".join(sorted(format_term(one, self._core.namespaces.prefixes) for one in found))
            raise ArgumentError(f"several schemes are called {scheme!r}: choose {listed}", kind="scheme")
        return found.pop() if found else self._core.namespaces.iri("scheme", scheme)

    def read(self, scheme: ox.NamedNode | None) -> PublishedVocabulary:
        """The vocabulary of a scheme; ArgumentError where the scheme, or the world, has no concept."""
        known = self._trees.schemes()
        own = known if len(known) == 1 else []
        if scheme is not None:
            own = [number for number in self._core.dictionary.find([scheme]) if number]
        members = self._of_kinds() if scheme is None else set(self._trees.within(own)[1].tolist())
        terms = self._core.dictionary.terms(members)
        concepts = {
            number: Concept(number, terms[number].value) for number in sorted(members) if _is_iri(terms[number])
        }
        if not concepts:
            raise ArgumentError(self._none(scheme), kind="scheme")
        quads = self._about(concepts)
        self._fill(concepts, quads)
        self._link(concepts)
        head = Concept(0, "" if scheme is None else scheme.value)
        if own:
            self._fill({own[0]: head}, self._about(own))
        spoken = {language for one in concepts.values() for language in one.labels if language}
        notes = [value for values in head.rows.values() for value in values if not value.iri]
        return PublishedVocabulary(head.iri, head.labels, notes, concepts, self._roots(concepts, own), sorted(spoken))

    # -- what belongs to it -------------------------------------------------------------------------------------------

    def _pairs(self, predicate: str, value: int) -> Ids:
        """(subject, object) of a predicate's quads of data, int64 [n, 2]."""
        given = self._core.dictionary.terms([value])[value]
        found = self._core.patterns.matching((None, ox.NamedNode(predicate), given), None)
        return of_data(self._core.dictionary, found)[:, [0, 2]]

    def _of_kinds(self) -> set[int]:
        kinds = self._core.dictionary.find([ox.NamedNode(kind) for kind in _KINDS])
        found = [*(self._pairs(_TYPE, kind)[:, 0] for kind in kinds if kind), self._trees.within()[1]]
        return set(self._trees.with_below(distinct(np.concatenate(found))).tolist())  # as if of a scheme 0

    def _none(self, scheme: ox.NamedNode | None) -> str:
        if scheme is None:
            return "there is nothing to publish: the world has no concept, no class and no property"
        known = self._trees.schemes()[:5]
        terms, prefixes = self._core.dictionary.terms(known), self._core.namespaces.prefixes
        listed = ", ".join(sorted(format_term(terms[number], prefixes) for number in known))
        remedy = (
            f"; the world's schemes are {listed}" if listed else "; the world has no scheme: publish it without one"
        )
        return f"no concept is in the scheme {format_term(scheme, prefixes)}{remedy}"

    def _about(self, numbers: Iterable[int]) -> Ids:
        found = self._core.facts.quads_by("quads_of_entities", sorted(numbers))
        return found[np.unique(found[:, :3], axis=0, return_index=True)[1]] if len(found) else found

    # -- what is said of it -------------------------------------------------------------------------------------------

    def _fill(self, concepts: Mapping[int, Concept], quads: Ids) -> None:
        terms = self._core.dictionary.terms({*np.unique(quads[:, 1:3]).tolist()})
        outside = {number for number in np.unique(quads[:, 1:3]).tolist() if number not in concepts}
        labels = self._core.facts.labels(self._core.chunks.policy, outside)
        named = {number: text.label for number, text in labels.items()}
        for subject, predicate, object, _ in sorted(quads.tolist(), key=lambda row: self._place(terms, row)):
            one, iri, term = concepts[subject], terms[predicate].value, terms[object]
            if isinstance(term, ox.Literal):
                language, text = term.language or "", clean(term.value)
                if iri in self._label_order and text and language not in one.labels:
                    one.labels[language] = text
                elif iri in self._label_order or iri in self._aliases:
                    if text and text != one.labels.get(language) and text not in one.others[language]:
                        one.others[language].append(text)
                else:
                    one.deprecated |= iri == OWL + "deprecated" and term.value in ("true", "1")
                    self._row(one, iri, named.get(predicate), ShownTerm(text_of(term), language))
            elif object in concepts and iri in _IN_PLACE:
                _relate(one, iri, object)
            elif _is_iri(term) and (iri in _UP if iri in _IN_PLACE else iri != _TYPE or term.value not in _KINDS):
                shown = named.get(object) or name_in_words(term.value)
                self._row(
                    one,
                    iri,
                    named.get(predicate),
                    ShownTerm(shown, "", term.value, object if object in concepts else 0),
                )

    def _place(self, terms: Mapping[int, Any], row: Sequence[int]) -> tuple[Any, ...]:
        iri, value = terms[row[1]].value, terms[row[2]]
        return row[0], self._label_order.get(iri, -1), _ORDER.get(iri, 99), iri, str(value)

    def _row(self, one: Concept, iri: str, label: str | None, value: ShownTerm) -> None:
        heading = _NAMES.get(iri) or label or name_in_words(iri)
        heading = heading[:1].upper() + heading[1:]
        one.rows.setdefault(heading, []).append(value)

    def _link(self, concepts: Mapping[int, Concept]) -> None:
        """Have each link stand at both of its ends."""
        for number, one in concepts.items():
            for other in one.broader:
                concepts[other].narrower.add(number)
            for other in one.narrower:
                concepts[other].broader.add(number)
            for other in one.related:
                concepts[other].related.add(number)

    def _roots(self, concepts: Mapping[int, Concept], scheme: list[int]) -> list[int]:
        """The concepts at the top of the tree: top concepts, ones without a broader one, or one of each circle."""
        tops = set(self._trees.tops(scheme[0])[0]) if scheme else set()
        roots = {number for number, one in concepts.items() if number in tops or not (one.broader or one.deprecated)}
        reached: set[int] = set()
        for number in (*sorted(roots), *sorted(concepts)):
            if number not in reached and not concepts[number].deprecated:
                roots.add(number)
            stack = [number]
            while stack:
                if (each := stack.pop()) not in reached:
                    reached.add(each)
                    stack += concepts[each].narrower
        return sorted(roots)

    def releases(self, concepts: Mapping[int, Concept], tags: Sequence[tuple[str, int]], last: int) -> None:
        """Record at each concept the releases that added or changed it, and the changes since the last release."""
        history = self._core.history
        before = history.first - 1
        seen = set(history.state(before)[:, 0].tolist()) if before else set()
        for tag, number in (*tags, ("", last)):
            added, removed = history.changed(before, number)
            came = set(added[:, 0].tolist())
            for subject in sorted((came | set(removed[:, 0].tolist())) & concepts.keys()):
                what = "changed" if subject in seen else "added"
                concepts[subject].releases.append(Release(tag, what))
            seen |= came
            before = number


def _relate(one: Concept, iri: str, object: int) -> None:
    if object == one.number:
        return
    if iri in _UP:
        one.broader.add(object)
    elif iri in _DOWN:
        one.narrower.add(object)
    elif iri == SKOS + "related":
        one.related.add(object)


def _is_iri(term: Any) -> bool:
    return isinstance(term, ox.NamedNode)


def text_of(literal: ox.Literal) -> str:
    """A literal as a person reads it: a date in words, a time to the minute."""
    found = _DATE.fullmatch(literal.value) if literal.datatype.value in _DATES else None
    if found is None or not 1 <= int(found["month"]) <= 12:
        return literal.value
    zone = {"": "", "Z": " UTC", "+00:00": " UTC"}.get(found["zone"] or "", f" {found['zone']}")
    time = f", {found['time']}{zone}" if found["time"] else ""
    return f"{int(found['day'])} {_MONTHS[int(found['month']) - 1]} {found['year']}{time}"


def name_in_words(iri: str) -> str:
    """The last part of an IRI, in words: https://example.org/terms#broader_term is "broader term"."""
    last = iri.rstrip("/#").replace("#", "/").rpartition("/")[2] or iri
    words = re.sub(r"(?<=[a-z])[A-Z]", lambda found: f" {found[0].lower()}", last)
    return words.replace("_", " ").strip() or iri
