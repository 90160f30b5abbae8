"""Entities by their names: which one is meant, which are alike, what is said of one."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from difflib import SequenceMatcher
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.errors import EmbedderError
from worlds.graph.terms import RDF, to_oxigraph, to_rdflib
from worlds.quads.dictionary import Dictionary
from worlds.search.hits import Hit, SearchResults
from worlds.search.options import DEFAULTS, MOST_CANDIDATES
from worlds.search.request import Identity
from worlds.search.stages import Cursor, sent_cursor
from worlds.search.words import STOP_WORDS
from worlds.sql import statements
from worlds.sql.connection import Connection, as_text
from worlds.texts.chunks import ChunkStore
from worlds.texts.facts import Facts
from worlds.texts.profiles import words_of

_SQL = statements("entities.sql")
_QUERIES = statements("queries.sql")
_HITS = 50  # of each search for names
_LONGEST = 300  # characters of a name that are compared
_COMPARED = 20  # candidates that are looked at closely
_ALIKE = 0.8  # similarity of spelling from which on a name is a misspelt one
_LIKELY = 0.5  # confidence of a match
_POSSIBLE = 0.3  # confidence below which nothing matches
_APART = 0.2  # by how much the best has to lead
_NEAREST = 100  # entities near one whose means are compared
_RANKING = ("boost", "decay", "diversity", "min_similarity", "per_subject", "rerank")
_QUERY_WORDS = 60  # of an entity's texts, that others are sought by

_words = re.compile(r"\w+").findall
_article = re.compile(r"\s*(?:the|an?)\s+(?=\w)", re.IGNORECASE)
Search: TypeAlias = Callable[..., SearchResults]

FEATURES = ("label", "alias", "spelling", "words", "prefix", "rivals", "lead", "cosine", "context")
"""What a confidence is made from; see `features`."""

# By `python -m benchmarks.resolving`: a logistic regression on hidden, misspelt and absent names of vocabularies.
WEIGHTS: Mapping[str, tuple[float, ...]] = {
    "text": (2.744, 0.502, 6.250, -0.132, 0.063, -0.820, 6.957, 0.000, 1.348, -6.462),
    "hybrid": (2.969, 0.630, 3.696, -1.273, 0.015, -0.554, 8.779, 2.297, 1.532, -5.581),
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity that a name may mean, and why.

    `confidence`, from 0 to 1, is the chance that it is meant. `kind` says how `matched`, one of its names, fits:
    "exact" (its label), "alias", "prefix" (one begins with the other), "fuzzy" (written alike) or "semantic" (near in
    meaning only). `score` is the likeness of spelling, `similarity` the cosine or None, `context` the share of the
    context's words that are said of the entity; all from 0 to 1.
    """

    iri: Any
    label: str | None
    confidence: float
    kind: str
    matched: str
    score: float
    similarity: float | None
    context: float
    types: tuple[Any, ...]

    def to_dict(self) -> dict[str, Any]:
        """The candidate as JSON-ready values."""
        return {**asdict(self), "iri": str(self.iri), "types": [str(kind) for kind in self.types]}


@dataclass(frozen=True)
class Resolution:
    """Whom a name means: "match", "ambiguous" (several are as likely), or "no match"."""

    name: str
    outcome: str
    candidates: tuple[Candidate, ...]  # the likeliest first

    @property
    def best(self) -> Candidate | None:
        """The one that is meant; None unless the outcome is "match"."""
        return self.candidates[0] if self.outcome == "match" else None

    def to_dict(self) -> dict[str, Any]:
        """The resolution as JSON-ready values."""
        found = [candidate.to_dict() for candidate in self.candidates]
        return {"name": self.name, "outcome": self.outcome, "candidates": found}


@dataclass(frozen=True, slots=True)
class Value:
    """A term, and the label of what it names; `label` is None for literals and what has no label."""

    term: Any
    label: str | None

    def to_dict(self) -> dict[str, Any]:
        """The term as in N-Triples, and the label."""
        return {"term": str(to_oxigraph(self.term)), "label": self.label}


@dataclass(frozen=True, slots=True)
class Property:
    """What an entity has under one predicate, or who has it there; `count` is how many there are in all."""

    predicate: Any
    label: str
    values: tuple[Value, ...]
    count: int

    def to_dict(self) -> dict[str, Any]:
        """The property as JSON-ready values."""
        values = [value.to_dict() for value in self.values]
        return {"predicate": str(self.predicate), "label": self.label, "count": self.count, "values": values}


@dataclass(frozen=True)
class Description:
    """What a world says of an entity. `properties` are its triples by predicate, `incoming` those that point to it."""

    iri: Any
    label: str | None
    types: tuple[Value, ...]
    description: str | None
    properties: tuple[Property, ...]
    incoming: tuple[Property, ...]

    def __bool__(self) -> bool:
        """Whether anything is said at all."""
        return bool(self.types or self.properties or self.incoming)

    def to_dict(self) -> dict[str, Any]:
        """The description as JSON-ready values."""
        return {
            "iri": str(self.iri),
            "label": self.label,
            "types": [value.to_dict() for value in self.types],
            "description": self.description,
            "properties": [part.to_dict() for part in self.properties],
            "incoming": [part.to_dict() for part in self.incoming],
        }


@dataclass
class _Named:
    """An entity that has a name like the one sought."""

    subject: Any
    label: str | None
    types: tuple[Any, ...]
    names: set[tuple[str, str]] = field(default_factory=set)  # (text, role)
    matched: str = ""
    role: str = "alias"
    spelling: float = -1.0
    similarity: float | None = None
    context: float = 0.0

    def near(self, similarity: float) -> None:
        """Keep the greatest cosine."""
        self.similarity = similarity if self.similarity is None else max(similarity, self.similarity)

    def compare(self, sought: str) -> float:
        """Choose the name that fits best; how alike it is written."""
        spellings = ((likeness(sought, normal(text[:_LONGEST])), role == "label", text) for text, role in self.names)
        self.spelling, label, self.matched = max(spellings)
        self.role = "label" if label else "alias"
        return self.spelling


def normal(text: str) -> str:
    """What two spellings of a name have in common: the words in lower case, without punctuation."""
    readable = text.encode("utf-8", "replace").decode().replace("\0", " ")
    folded = unicodedata.normalize("NFKC", readable).casefold()
    return " ".join(_words(folded)) or folded.strip()


def readings(name: str) -> list[str]:
    """The normal name, and where it begins with an English article, the one without."""
    return list(dict.fromkeys((normal(name), normal(_article.sub("", name, count=1)))))


def likeness(one: str, other: str) -> float:
    """How alike two normal names are written, from 0 to 1; 1 only where they are equal."""
    if one == other:
        return 1.0
    return min(SequenceMatcher(None, one, other, autojunk=False).ratio(), 0.99)


def overlap(one: Iterable[str], other: Iterable[str]) -> float:
    """The share of words that two names have in common, of all their words."""
    a, b = set(one), set(other)
    return len(a & b) / len(a | b) if a | b else 0.0


def features(sought: str, named: _Named, others: Sequence[_Named]) -> tuple[float, ...]:
    """What tells a right candidate from a wrong one, in the order of `FEATURES`."""
    found = normal(named.matched[:_LONGEST])
    exact = named.spelling == 1.0
    rivals = [other.spelling for other in others if other is not named]
    return (
        float(exact and named.role == "label"),
        float(exact and named.role != "label"),
        named.spelling,
        overlap(sought.split(), found.split()),
        float(not exact and (found.startswith(sought) or sought.startswith(found))),
        math.log1p(sum(spelling >= named.spelling for spelling in rivals)),
        named.spelling - max(rivals, default=0.0),
        0.0 if named.similarity is None else max(named.similarity, 0.0),
        named.context - max((other.context for other in others if other is not named), default=0.0),
    )


def confidence(values: Sequence[float], weights: Sequence[float]) -> float:
    """The logistic function of the weighted features; the last weight stands alone."""
    total = sum(value * weight for value, weight in zip(values, weights, strict=False)) + weights[-1]
    return 1 / (1 + math.exp(-total))


def _ranked(sought: str, close: Sequence[_Named]) -> list[tuple[tuple[float, ...], Candidate]]:
    """The candidates, the likeliest first, each with its features."""
    weights = WEIGHTS["hybrid" if any(one.similarity is not None for one in close) else "text"]
    found = []
    for one in close:
        values = features(sought, one, close)
        found.append((values, _candidate(sought, one, confidence(values, weights))))
    return sorted(found, key=lambda item: (-item[1].confidence, -item[1].score, str(item[1].iri)))


def _outcome(sought: str, close: Sequence[_Named], found: Sequence[Candidate]) -> str:
    """What candidates, the likeliest first, come to.

    Several that bear one name share its confidence. So whether the name is there at all is asked of the best one as if
    it bore the name alone.
    """
    if not found:
        return "no match"
    best, name = found[0], normal(found[0].matched[:_LONGEST])
    others = [one for one in close if one.subject == best.iri or normal(one.matched[:_LONGEST]) != name]
    alone = next(one for _, one in _ranked(sought, others) if one.iri == best.iri)
    if alone.confidence < _POSSIBLE:
        return "no match"
    lead = best.confidence - (found[1].confidence if len(found) > 1 else 0.0)
    return "match" if best.confidence >= _LIKELY and lead >= _APART else "ambiguous"


class Entities:
    """Answers for the entities of one world. `search` is the world's."""

    def __init__(self, connection: Connection, dictionary: Dictionary, chunks: ChunkStore, search: Search) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._chunks = chunks
        self._search = search
        self._facts = Facts(connection, dictionary)

    # -- resolve ----------------------------------------------------------------------------------------------------

    def resolve(self, name: str, *, context: str | None, types: object, graphs: object, limit: int) -> Resolution:
        """See `World.resolve`."""
        for what, text in (("name", name), ("context", context)):
            if not isinstance(text, str) and not (what == "context" and text is None):
                raise TypeError(f"{what} is a str, not {text!r}")
        _check_limit(limit)
        with self._connection.snapshot():
            sought, close = self._compared(name, context=context, types=types, graphs=graphs)
        found = [candidate for _, candidate in _ranked(sought, close)]
        return Resolution(name, _outcome(sought, close, found), tuple(found[:limit]))

    def candidates(
        self, name: str, *, context: str | None = None, types: object = None, graphs: object = None
    ) -> list[tuple[tuple[float, ...], Candidate]]:
        """The candidates for a name, the likeliest first, each with its features."""
        return _ranked(*self._compared(name, context=context, types=types, graphs=graphs))

    def _compared(self, name: str, *, context: str | None, types: object, graphs: object) -> tuple[str, list[_Named]]:
        """The name as it is compared, and the entities that have one like it."""
        read = readings(name)
        if not read[0]:
            return "", []
        named = self._named(name, read[-1], types=types, graphs=graphs)
        sought = max(read, key=lambda reading: max((one.compare(reading) for one in named), default=0.0))
        for one in named:
            one.compare(sought)
        ordered = sorted(named, key=lambda one: (-one.spelling, -(one.similarity or 0.0), str(one.subject)))
        by_meaning = sorted(named, key=lambda one: -(one.similarity or 0.0))[: _COMPARED // 4]
        close = list({id(one): one for one in (*ordered[:_COMPARED], *by_meaning)}.values())
        self._learn_facts(close, context)
        if any(one.similarity is not None for one in close):
            self._learn_cosines(close, name, graphs=graphs)
        return sought, close

    def _named(self, name: str, sought: str, **filters: Any) -> list[_Named]:
        """The entities with names like the one sought, by words, by beginnings of words, and by meaning."""
        policy = self._chunks.policy
        predicates = policy.predicates("label", "alias")
        phrase = '"' + sought.replace('"', " ") + '"'
        beginnings = " OR ".join(f'"{word[:3]}"*' for word in sought.split()[:8] if len(word) > 3)
        asked: list[tuple[str, dict[str, Any]]] = [
            (name, {"explain": True, "fusion": "rrf"}),
            (phrase, {"mode": "text", "syntax": "fts5"}),
        ]
        if beginnings:
            asked.append((beginnings, {"mode": "text", "syntax": "fts5", "limit": 4 * _HITS, "candidates": 4 * _HITS}))
        found: dict[Any, _Named] = {}
        for text, options in asked:
            for hit in self._search(text, **{"limit": _HITS, "predicates": predicates, **filters, **options}):
                leg = (hit.explain or {}).get("vector")
                for subject, predicate, literal, _ in hit.quads:
                    one = found.get(subject)
                    if one is None:
                        one = found[subject] = _Named(subject, None, ())
                    one.names.add((str(literal), policy.role(str(predicate))))
                    if leg is not None:
                        one.near(leg.value)
                    if subject == hit.subject:
                        one.label = hit.label
        return list(found.values())

    def _learn_facts(self, named: Sequence[_Named], context: str | None) -> None:
        """The labels and types of each, and what share of the context's words are said of it."""
        wanted = {word for word in _words((context or "").casefold()) if word not in STOP_WORDS}
        numbers = self._dictionary.find([to_oxigraph(one.subject) for one in named])
        known = [number for number in numbers if number is not None]
        labels, kinds = self._facts.labels_and_types(self._chunks.policy, known)
        terms = self._dictionary.terms({kind for group in kinds.values() for kind in group})
        for number, one in zip(numbers, named, strict=True):
            if number is None:
                continue
            one.types = tuple(to_rdflib(terms[kind]) for kind in kinds.get(number, ()))
            if number in labels:
                one.label = labels[number].label
            if wanted:
                said = self._words_about(number)
                one.context = len(wanted & said) / len(wanted)

    def _learn_cosines(self, named: Sequence[_Named], name: str, *, graphs: object) -> None:
        """The cosine of each whose name was found by its words alone."""
        unknown = {one.subject: one for one in named if one.similarity is None}
        if not unknown:
            return
        predicates = self._chunks.policy.predicates("label", "alias")
        wanted = {"subjects": list(unknown), "predicates": predicates, "graphs": graphs, "limit": len(unknown)}
        try:
            near = self._search(name, mode="vector", group_by="subject", explain=True, **wanted)
        except EmbedderError:  # as an endpoint can, though it answered a moment ago
            return
        for hit in near:
            unknown[hit.subject].near((hit.explain or {})["vector"].value)

    def _words_about(self, number: int) -> set[str]:
        """The words of what is said of an entity: its texts, and the labels of what it points to."""
        rows = self._facts.quads_by("quads_of_entities", [number])
        terms = self._dictionary.terms(set(rows[:, 2].tolist()))
        texts = [term.value for term in terms.values() if isinstance(term, ox.Literal)]
        others = [other for other, term in terms.items() if other and not isinstance(term, ox.Literal)]
        texts += [text.whole for text in self._facts.labels(self._chunks.policy, others).values()]
        return set(_words(" ".join(texts).casefold()))

    # -- similar ----------------------------------------------------------------------------------------------------

    def similar(self, iri: Any, *, limit: int, **options: Any) -> SearchResults:
        """See `World.similar`."""
        _check_limit(limit)
        exclude = dict(options.pop("exclude", None) or {})
        subjects = exclude.get("subjects", ())
        others = list(subjects) if isinstance(subjects, (list, tuple, set, frozenset)) else [subjects]
        given = {**options, "limit": limit, "exclude": {**exclude, "subjects": [*others, iri]}}
        if given.get("group_by") is None:
            given["group_by"] = "subject"
        number = self._dictionary.find([iri])[0]
        embedded = self._connection.meta("embedder") is not None
        mean = self._mean(number) if embedded and options.get("mode") != "text" else None
        if mean is not None:
            near = {**given, "mode": "vector", "vector": mean}
            if any(_given(name, options.get(name)) for name in _RANKING):  # who ranks otherwise gets that ranking
                return self._search("", **near)
            return self._by_means(iri, near, mean)
        text = "" if number is None else self._words_of(number)
        return self._search(text, **{**given, "mode": "text"})

    def _mean(self, number: int | None) -> NDArray[np.float32] | None:
        """The mean of the vectors of an entity's texts, of unit length; None without any, or a direction."""
        rows = [] if number is None else self._connection.rows(_SQL["vectors_of_entity"], (number,))
        if not rows:
            return None
        mean = np.frombuffer(b"".join(blob for (blob,) in rows), dtype="<f4").reshape(len(rows), -1).mean(axis=0)
        length = float(np.linalg.norm(mean))
        return mean / length if length > 0 else None

    def _by_means(self, iri: Any, options: dict[str, Any], mean: NDArray[np.float32]) -> SearchResults:
        """The entities whose own mean is nearest: else short labels would be near everything.

        The entities with the nearest texts are taken `_NEAREST` at a time, and ordered by their means within these.
        """
        limit, cursor = options["limit"], options.pop("cursor", None)
        fixed = ("limit", "vector", "explain", *_RANKING)
        asked = {name: value for name, value in options.items() if name not in fixed and value is not None}
        digest = Identity("similar", str(iri), sorted(asked.items())).digest
        given = Cursor() if cursor is None else sent_cursor(cursor, digest)
        needed = -(-(limit + len(given.keys)) // _NEAREST) * _NEAREST
        near = self._search("", **{**options, "limit": max(limit, min(needed, MOST_CANDIDATES))})
        numbers = self._dictionary.find([to_oxigraph(hit.subject) for hit in near])
        ranked: list[tuple[int, float, int, Hit]] = []
        for place, (hit, number) in enumerate(zip(near, numbers, strict=True)):
            other = None if number is None or given.of(number) else self._mean(number)
            if number is not None and other is not None:
                score = min(float(mean @ other), 1.0)
                ranked.append((place // _NEAREST, -score, number, replace(hit, score=score)))
        ranked.sort(key=lambda item: item[:2])
        page = ranked[:limit]

        def following() -> str:
            return Cursor([*given.keys, *((number, 0) for _, _, number, _ in page)]).text(digest)

        more = len(ranked) > limit or len(near) == needed
        return SearchResults([hit for *_, hit in page], near.explain, following if page and more else None)

    def _words_of(self, number: int) -> str:
        """The words of an entity's texts, as a query."""
        rows = self._connection.rows(_SQL["texts_of_entity"], (number,))
        texts = [as_text(text) for (text,) in rows]
        words = dict.fromkeys(word for text in sorted(texts, key=len) for word in _words(text))
        return " ".join([word for word in words if word.casefold() not in STOP_WORDS][:_QUERY_WORDS])

    # -- describe ---------------------------------------------------------------------------------------------------

    def describe(self, iri: Any, *, limit: int) -> Description:
        """See `World.describe`."""
        _check_limit(limit)
        with self._connection.snapshot():
            return self._described(iri, limit)

    def _described(self, iri: Any, limit: int) -> Description:
        number = self._dictionary.find([iri])[0]
        if number is None:
            return Description(to_rdflib(iri), None, (), None, (), ())
        rdf_type = self._dictionary.find([ox.NamedNode(RDF + "type")])[0]
        own, incoming = self._groups("properties_of", number, limit), self._groups("properties_to", number, limit)
        needed = {other for _, others, _ in (*own, *incoming) for other in others}
        needed |= {predicate for predicate, _, _ in (*own, *incoming)} | {number}
        terms = self._dictionary.terms(needed)
        entities = [other for other in needed if not isinstance(terms[other], ox.Literal)]
        labels = self._facts.labels(self._chunks.policy, entities)
        description = self._facts.descriptions(self._chunks.policy, [number]).get(number)

        def value(other: int) -> Value:
            return Value(to_rdflib(terms[other]), labels[other].label if other in labels else None)

        def properties(groups: list[tuple[int, list[int], int]]) -> tuple[Property, ...]:
            return tuple(
                Property(
                    to_rdflib(terms[predicate]),
                    labels[predicate].label if predicate in labels else words_of(terms[predicate].value),
                    tuple(map(value, others)),
                    count,
                )
                for predicate, others, count in groups
            )

        types = tuple(value(other) for predicate, others, _ in own if predicate == rdf_type for other in others)
        return Description(
            to_rdflib(iri),
            labels[number].label if number in labels else None,
            types,
            None if description is None else description.whole,
            properties([group for group in own if group[0] != rdf_type]),
            properties(incoming),
        )

    def _groups(self, name: str, number: int, limit: int) -> list[tuple[int, list[int], int]]:
        """(predicate, the first of the others, how many there are), by predicate."""
        statement = _SQL[name]
        rows = self._connection.rows(statement, statement.bind(entity=number, limit=limit))
        groups: dict[int, tuple[list[int], int]] = {}
        for predicate, other, count in rows:
            groups.setdefault(predicate, ([], count))[0].append(other)
        return [(predicate, others, count) for predicate, (others, count) in groups.items()]


def _check_limit(limit: object) -> None:
    if isinstance(limit, bool) or not isinstance(limit, Integral) or int(limit) < 1:
        raise ValueError(f"limit is a whole number from 1 on, not {limit!r}")


def _given(name: str, value: object) -> bool:
    """Whether an option of a search is given at all."""
    return value is not None and value is not False and value != DEFAULTS[name]


def _candidate(sought: str, one: _Named, chance: float) -> Candidate:
    return Candidate(
        iri=one.subject,
        label=one.label,
        confidence=chance,
        kind=_kind(sought, one),
        matched=one.matched,
        score=one.spelling,
        similarity=one.similarity,
        context=one.context,
        types=one.types,
    )


def _kind(sought: str, one: _Named) -> str:
    found = normal(one.matched[:_LONGEST])
    if one.spelling == 1.0:
        return "exact" if one.role == "label" else "alias"
    if f"{found} ".startswith(f"{sought} ") or f"{sought} ".startswith(f"{found} "):
        return "prefix"
    return "fuzzy" if one.spelling >= _ALIKE or one.similarity is None else "semantic"
