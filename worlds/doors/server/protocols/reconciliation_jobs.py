"""The jobs of the Reconciliation API: names that are matched with entities, suggestions, previews, values."""

from __future__ import annotations

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from typing import Any
from weakref import WeakKeyDictionary

from rdflib import RDF, RDFS, XSD, BNode, Literal, URIRef

from worlds import World
from worlds.doors.server.api.jobs import encoded
from worlds.doors.server.problem_documents import NotFound
from worlds.doors.server.workers.jobs import job
from worlds.extras.entities.names import alike, stands_out, weighed
from worlds.graph.terms import local_name, shorten, to_oxigraph, to_rdflib
from worlds.records import Schema

_COMPARED = 20  # candidates whose properties are looked at
_TOLD = 5.0  # how much likelier a candidate is at least that has a value
_SURE = 200.0  # how much likelier a candidate is at most that has a value
_OTHER = 10.0  # how much less likely a candidate is that has another value
_SAME = 0.9  # how alike values are at least that are the same
_LIKE = 0.5  # how alike a value of a match is at least
_MOST_CLASSES = 1000  # below a type
_MOST_NAMED = 3000  # classes and predicates that are suggested
_LONGEST = 300  # characters of a description
_TIMES = {XSD.date, XSD.dateTime, XSD.gYear, XSD.gYearMonth}
_INTEGERS = {XSD.integer, XSD.int, XSD.long, XSD.short, XSD.byte, XSD.nonNegativeInteger, XSD.positiveInteger}
_NUMBERS = {XSD.decimal, XSD.double, XSD.float}
_DAY = re.compile(r"-?[0-9]{4,}-[01][0-9]-[0-3][0-9]")
_WHOLE_TIME = re.compile(_DAY.pattern + r"T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?")

Values = Sequence[Any]  # texts, numbers, booleans, or entities as {"id": …}
_schemas: WeakKeyDictionary[World, tuple[int, Schema]] = WeakKeyDictionary()


@dataclass
class _Found:
    """An entity that a query may mean, and the chance that it is meant."""

    iri: Any
    label: str | None
    chance: float
    types: Sequence[Any]
    description: str | None = None
    fits: bool = True  # its type and its values, as far as they are known
    features: dict[str, float | bool] = field(default_factory=dict)

    @classmethod
    def of(cls, one: Any) -> _Found:
        """A candidate of `resolve`."""
        features: dict[str, float | bool] = {"name": one.score, "exact": one.kind == "exact"}
        if one.similarity is not None:
            features["meaning"] = one.similarity
        return cls(one.iri, one.label, one.confidence, one.types, one.apart, features=features)


class _EntityIdentifiers:
    """The entities of one world by the identifiers of the protocol.

    An identifier is the IRI; of one with a fragment the prefixed name, where there is a prefix: OpenRefine cuts off
    fragments where it puts identifiers into addresses.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self._prefixes = world.prefixes
        self._counts: dict[tuple[Any, Any], int] = {}

    def term(self, identifier: str) -> Any:
        """The entity of an identifier; None for a text that cannot be an identifier."""
        try:
            term = to_rdflib(to_oxigraph(identifier, prefixes=self._prefixes))
        except ValueError:
            return None
        return term if isinstance(term, URIRef | BNode) else None

    def identifier(self, term: Any) -> str:
        """The identifier of an entity."""
        if isinstance(term, BNode):
            return term.n3()
        short = shorten(str(term), self._prefixes) if "#" in term else "<"
        return str(term) if short.startswith("<") else short

    def known(self, identifier: str) -> Any:
        """The entity of an identifier, if the world says something of it."""
        term = self.term(identifier)
        return None if term is None or next(self.world.quads(term), None) is None else term

    def named(self, terms: Iterable[Any]) -> dict[Any, dict[str, str]]:
        """The identifier and the name of each: its label, else the words of its IRI."""
        every = list(dict.fromkeys(terms))
        labels = self.world.labels(every)
        return {one: {"id": self.identifier(one), "name": labels.get(str(one)) or local_name(one)} for one in every}

    def objects(self, subject: Any, predicate: Any) -> list[Any]:
        """The values of a property."""
        return list(dict.fromkeys(quad[2] for quad in self.world.quads(subject, predicate)))

    def rarity(self, predicate: Any, value: Any) -> float:
        """The likelihood ratio of a value as evidence for an entity: its rarity among the values of the predicate."""
        for one in ((predicate, value), (predicate, None)):
            if one not in self._counts:  # a table has the same values again and again
                self._counts[one] = self.world.count(None, *one)
        return min(max(self._counts[predicate, None] / max(self._counts[predicate, value], 1), _TOLD), _SURE)

    def below(self, types: Iterable[str]) -> list[Any]:
        """The classes of identifiers, and their subclasses."""
        found = dict.fromkeys(term for term in map(self.term, types) if isinstance(term, URIRef))
        waiting = list(found)
        while waiting and len(found) < _MOST_CLASSES:
            for one, *_ in self.world.quads(None, RDFS.subClassOf, waiting.pop()):
                if one not in found and isinstance(one, URIRef):
                    found[one] = None
                    waiting.append(one)
        return list(found)


# --- queries ----------------------------------------------------------------------------------------------------------


@job("reconcile")
def reconcile(world: World, *, queries: Mapping[str, Mapping[str, Any]]) -> bytes:
    """The candidates of each query of a batch, the likeliest first.

    A query has `name`, `types`, `limit`, `strict` and `properties`, pairs of an identifier and values.
    """
    terms = _EntityIdentifiers(world)
    groups: dict[tuple[Any, ...], list[str]] = defaultdict(list)
    for key, query in queries.items():
        groups[tuple(query["types"])].append(key)
    found: dict[str, list[_Found]] = {}
    for types, keys in groups.items():
        found |= _of_types(terms, types, {key: queries[key] for key in keys})
    told = terms.named(kind for group in found.values() for one in group for kind in one.types)
    return encoded({key: {"result": [*_results(terms, found[key], told)]} for key in queries})


def _of_types(
    terms: _EntityIdentifiers, types: Sequence[str], queries: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[_Found]]:
    """The candidates of queries with the same types.

    Candidates are those of the types. Where there is none, a type that only "should" fit lets others in, which are no
    match.
    """
    classes = terms.below(types)
    found = _resolved(terms, queries, classes)
    others = {key: queries[key] for key, group in found.items() if types and not group}
    found |= _resolved(terms, {key: one for key, one in others.items() if one["strict"] == "should"}, ())
    for key, group in found.items():
        query = queries[key]
        if query["strict"] == "all":
            wanted = set(map(terms.term, types))
            group = [one for one in group if wanted <= set(one.types)]
        if types:
            for one in group:
                one.fits = one.features["type"] = not set(one.types).isdisjoint(classes)
        _weigh(terms, group, query["properties"])
        found[key] = sorted(group, key=lambda one: -one.chance)[: query["limit"]]
    return found


def _resolved(
    terms: _EntityIdentifiers, queries: Mapping[str, Mapping[str, Any]], classes: Sequence[Any]
) -> dict[str, list[_Found]]:
    """The candidates for the names of queries, or for their properties where they have no name."""
    found: dict[str, list[_Found]] = {}
    names: dict[str, str] = {}
    limit = 1
    for key, query in queries.items():
        if (one := terms.known(query["name"])) is not None:
            found[key] = [_described(terms, one)]
        elif query["name"].strip():
            names[key] = query["name"]
            limit = max(limit, query["limit"], _COMPARED if query["properties"] else 0)
        else:
            found[key] = list(_having(terms, query["properties"], set(classes)))
    for key, one in zip(
        names, terms.world.entities.resolve_all(names.values(), types=classes or None, limit=limit), strict=True
    ):
        found[key] = [_Found.of(candidate) for candidate in one.candidates]
    return found


def _described(terms: _EntityIdentifiers, iri: Any, chance: float = 1.0) -> _Found:
    return _Found(iri, terms.named([iri])[iri]["name"], chance, terms.objects(iri, RDF.type))


def _having(terms: _EntityIdentifiers, properties: Sequence[tuple[str, Values]], classes: set[Any]) -> Iterator[_Found]:
    """The entities that have a value of a property, equally likely before it is looked at how well all fit."""
    subjects: dict[Any, None] = {}
    for identifier, values in properties:
        if isinstance(predicate := terms.term(identifier), URIRef):
            for value in values:
                subjects |= dict.fromkeys(_subjects(terms, predicate, value))
    chosen = [_described(terms, one) for one in list(subjects)[:_COMPARED]]
    chosen = [one for one in chosen if not classes or not classes.isdisjoint(one.types)]
    for one in chosen:
        one.chance = 1 / (len(chosen) + 1)
        yield one


def _subjects(terms: _EntityIdentifiers, predicate: URIRef, value: Any) -> Iterator[Any]:
    """The entities that have a value under a predicate, in any of its forms; or, of a text, its words."""
    world = terms.world
    entity = terms.term(value["id"] if isinstance(value, dict) else str(value))
    forms = [entity] if entity is not None else []
    if not isinstance(value, dict):
        forms += [Literal(value), Literal(str(value))]
    for form in forms:
        yield from (quad[0] for quad in world.quads(None, predicate, form))
    if isinstance(value, str) and (words := re.findall(r"\w+", value)):
        phrase = '"' + " ".join(words) + '"'
        options: dict[str, Any] = {"mode": "text", "syntax": "fts5", "group_by": "subject", "limit": _COMPARED}
        yield from (hit.subject for hit in world.search(phrase, predicates=[predicate], **options))


_first = itemgetter(0)


def _weigh(terms: _EntityIdentifiers, found: Sequence[_Found], properties: Sequence[tuple[str, Values]]) -> None:
    """Let the values that candidates have under properties count for them or against them."""
    if not properties:
        return
    ratios = []
    for one in found:
        ratio = 1.0
        for identifier, values in properties:
            predicate = terms.term(identifier)
            objects = terms.objects(one.iri, predicate) if isinstance(predicate, URIRef) else []
            if not objects or not values:
                continue
            best = [max(((_alike(terms, value, other), other) for other in objects), key=_first) for value in values]
            for fit, other in best:
                ratio *= terms.rarity(predicate, other) if fit >= _SAME else 1.0 if fit >= _LIKE else 1 / _OTHER
            one.features[identifier] = sum(map(_first, best)) / len(best)
            one.fits = one.fits and max(map(_first, best)) >= _LIKE
        ratios.append(ratio)
    for one, chance in zip(found, weighed([one.chance for one in found], ratios), strict=True):
        one.chance = chance


def _alike(terms: _EntityIdentifiers, value: Any, term: Any) -> float:
    """The similarity of a query's value and a world's value, from 0 to 1."""
    if isinstance(value, dict):
        if terms.term(value["id"]) == term:
            return 1.0
        if terms.known(value["id"]) is not None or not isinstance(value.get("name"), str):
            return 0.0
        value = value["name"]
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(term, URIRef | BNode):
        return 1.0 if terms.term(text) == term else alike(text, terms.named([term])[term]["name"])
    return alike(text, str(term), times=getattr(term, "datatype", None) in _TIMES)


def _results(
    terms: _EntityIdentifiers, found: Sequence[_Found], told: Mapping[Any, Mapping[str, str]]
) -> Iterator[dict[str, Any]]:
    """Candidates as the protocol has them; the first is a match if it stands out."""
    sure = stands_out([one.chance for one in found])
    for at, one in enumerate(found):
        shown: dict[str, Any] = {
            "id": terms.identifier(one.iri),
            "name": one.label or local_name(one.iri),
            "score": round(100 * one.chance, 2),
            "match": sure and at == 0 and one.fits,
            "type": [told[kind] for kind in one.types],
            "features": [{"id": name, "value": value} for name, value in one.features.items()],
        }
        yield {**shown, "description": one.description} if one.description else shown


# --- suggestions ------------------------------------------------------------------------------------------------------


@job("suggest")
def suggest(world: World, *, kind: str, prefix: str, skip: int, limit: int) -> bytes:
    """The entities, types or properties that begin with a text, or have it in their names."""
    terms = _EntityIdentifiers(world)
    if kind == "entity":
        return encoded({"result": [*_entities(terms, prefix.strip(), skip, limit)]})
    schema = _schema(world)
    listed = schema.classes if kind == "type" else schema.predicates
    named = [(one.label or local_name(one.iri), terms.identifier(one.iri)) for one in listed]
    sought = prefix.strip().casefold()
    fitting = [one for one in named if sought in one[0].casefold() or sought in one[1].casefold()]
    fitting.sort(key=lambda one: not one[0].casefold().startswith(sought))  # the commonest first
    return encoded({"result": [{"id": one, "name": name} for name, one in fitting[skip : skip + limit]]})


def _entities(terms: _EntityIdentifiers, prefix: str, skip: int, limit: int) -> Iterator[dict[str, Any]]:
    """The entity of an identifier or an exact name, then entities with these words, or beginnings of words."""
    world = terms.world
    *words, last = re.findall(r"\w+", prefix) or [""]
    if not last:
        return
    known = terms.known(prefix)
    exact = (one.iri for one in world.resolve(prefix, limit=_COMPARED).candidates if one.score == 1.0)
    options: dict[str, Any] = {"mode": "text", "syntax": "fts5", "group_by": "subject", "limit": skip + limit}
    text = " ".join([*(f'"{word}"' for word in words), f'"{last}"*'])
    hits = world.search(text, predicates=world.policy.predicates("label", "alias"), **options)
    found = dict.fromkeys(chain([] if known is None else [known], exact, (hit.subject for hit in hits)))
    for one in list(found)[skip : skip + limit]:
        told = world.describe(one, limit=1)
        types = [
            {"id": terms.identifier(kind.term), "name": kind.label or local_name(kind.term)} for kind in told.types
        ]
        shown = {"id": terms.identifier(one), "name": told.label or local_name(one), "notable": types}
        yield {**shown, "description": _short(told.description)} if told.description else shown


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1].rstrip() + "…"


def _schema(world: World) -> Schema:
    """The classes and predicates of a world, which are read once a revision."""
    revision = next((one.revision for one in world.history(1)), 0)
    known = _schemas.get(world)
    if known is None or known[0] != revision:
        known = _schemas[world] = revision, world.schema(limit=_MOST_NAMED)
    return known[1]


@job("extension_properties")
def extension_properties(world: World, *, of_type: str, limit: int) -> list[dict[str, str]]:
    """The properties of the instances of a type, the commonest first; of all entities if the type has no instances."""
    terms = _EntityIdentifiers(world)
    schema, kind = _schema(world), terms.term(of_type)
    own = [one for one in schema.predicates if kind in one.subject_classes]
    return [{"id": terms.identifier(one.iri), "name": one.label} for one in (own or schema.predicates)[:limit]]


# --- entities ---------------------------------------------------------------------------------------------------------


@job("preview")
def preview(world: World, *, id: str) -> bytes:
    """A small HTML page about an entity; NotFound for an unknown one."""
    terms = _EntityIdentifiers(world)
    found = None if (term := terms.known(id)) is None else world.describe(term, limit=3)
    if not found:
        raise NotFound(f"the world has no quads about {id!r}")
    shown = [f"<h1>{html.escape(found.label or local_name(found.iri))}</h1>"]
    kinds = ", ".join(kind.label or local_name(kind.term) for kind in found.types)
    shown += [f"<p><i>{html.escape(kinds)}</i></p>"] if kinds else []
    shown += [f"<p>{html.escape(_short(found.description))}</p>"] if found.description else []
    for one in found.properties:
        if one.predicate not in (RDF.type, RDFS.label):
            values = "; ".join(_short(value.label or str(value.term)) for value in one.values)
            shown.append(f"<p><b>{html.escape(one.label)}</b>: {html.escape(values)}</p>")
    head = f'<meta charset="utf-8"><title>{html.escape(found.label or id)}</title>'
    return f"<!doctype html><html><head>{head}</head><body>{''.join(shown)}</body></html>".encode("utf-8", "replace")


@job("extend")
def extend(world: World, *, ids: Sequence[str], properties: Sequence[tuple[str, int]]) -> bytes:
    """The values of properties, each with the number of its values at most, of entities; none for unknown ones."""
    terms = _EntityIdentifiers(world)
    wanted = {identifier: (terms.term(identifier), limit) for identifier, limit in properties}
    said: dict[tuple[str, str], list[Any]] = {}
    for one in dict.fromkeys(ids):
        term = terms.term(one)
        for identifier, (predicate, limit) in wanted.items():
            there = term is not None and isinstance(predicate, URIRef)
            values = terms.objects(term, predicate) if there else []
            said[one, identifier] = values[: limit or None]
    named = terms.named(
        term
        for term in chain(chain.from_iterable(said.values()), (predicate for predicate, _ in wanted.values()))
        if isinstance(term, URIRef | BNode)
    )
    meta = [{"id": one, "name": named[term]["name"] if term in named else one} for one, (term, _) in wanted.items()]
    rows = {one: {name: [_cell(value, named) for value in said[one, name]] for name in wanted} for one in ids}
    return encoded({"meta": meta, "rows": rows})


def _cell(term: Any, named: Mapping[Any, Mapping[str, str]]) -> Mapping[str, Any]:
    """A value as the protocol has it."""
    if term in named:
        return named[term]
    text, datatype = str(term), getattr(term, "datatype", None)
    if datatype in _INTEGERS and re.fullmatch(r"[+-]?[0-9]{1,9}", text):  # OpenRefine's have 32 bits
        return {"int": int(text)}
    if datatype in _NUMBERS and re.fullmatch(r"[+-]?[0-9]*\.?[0-9]*([eE][+-]?[0-9]{1,2})?", text):
        return {"float": float(text)}
    if datatype in _TIMES and (_DAY.fullmatch(text) or _WHOLE_TIME.fullmatch(text)):
        return {"date": text if "T" in text else f"{text}T00:00:00Z"}
    return {"str": text}
