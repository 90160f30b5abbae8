"""A verification, and its trail: a document of PROV-O (https://www.w3.org/TR/prov-o/) that can be replayed."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox

from worlds.curation.claims.evidence import Evidence, FoundPassage, Oddity, Outcome
from worlds.entities.neighbours import CitedQuad
from worlds.errors import ArgumentError
from worlds.graph.records import Count, Node, Record
from worlds.graph.tabular import Tabular
from worlds.graph.terms import RDF, XSD, to_oxigraph, to_rdflib

PROV = "http://www.w3.org/ns/prov#"
TRAIL = "urn:worlds:trail:"
_BLANK = "urn:worlds:blank:"  # a blank node keeps its identity in the world only; a document names it so
_NAMES = uuid.UUID("6c0c7f0e-7a0d-4bb0-9d3b-0a8f4b1f8a55")  # what the names of trails are made in


@dataclass(frozen=True)
class Verification(Record, Tabular):
    """Whether a claim holds in a world at a revision: `outcome` is "supported", "contradicted" or "unknown".

    A claim of several triples (`triples`, with their `outcomes`) is supported where each is, and contradicted where one
    is. `readings` says which names were read as which terms, `unread` what could not be. `paths` are the shortest ways
    between subject and object of what is not decided; `undecided` says what could not be told, and why. `visited` are
    the quads that were read and are not cited, `left_out` is how many more there were. `passages` belong to a claim in
    words; they are found by today's index, and so are no part of what is compared.
    """

    claim: str
    revision: Count
    outcome: Outcome
    triples: tuple[tuple[Node, Node, Node], ...]
    outcomes: tuple[Outcome, ...]
    readings: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    supporting: tuple[Evidence, ...] = ()
    contradicting: tuple[Evidence, ...] = ()
    paths: tuple[tuple[CitedQuad, ...], ...] = ()
    undecided: tuple[str, ...] = ()
    odd: tuple[Oddity, ...] = ()
    visited: tuple[CitedQuad, ...] = ()
    left_out: Count = 0
    passages: tuple[FoundPassage, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        lines = [f"{self.outcome} at revision {self.revision}: {self.claim}"]
        lines += [f"  for: {one.message}" for one in self.supporting]
        lines += [f"  against: {one.message}" for one in self.contradicting]
        lines += [f"  not decided: {told}" for told in (*self.unread, *self.undecided)]
        lines += [f"  odd: {one.message}" for one in self.odd]
        lines += [f"  passage: {one.text}" for one in self.passages]
        return "\n".join(lines)

    @property
    def cited(self) -> tuple[CitedQuad, ...]:
        """All quads that are cited, each once."""
        return tuple(dict.fromkeys(self._cited()))

    def _cited(self) -> Iterator[CitedQuad]:
        for one in (*self.supporting, *self.contradicting):
            yield from one.quads
        for odd in self.odd:
            yield from odd.quads
        for path in self.paths:
            yield from path

    @property
    def _columns(self) -> tuple[str, ...]:
        return ("verdict", "triple", "rule", "score", "message", "quads")

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dict a piece of evidence."""
        return [
            {"verdict": verdict, **one.to_dict()}
            for verdict, found in (("supports", self.supporting), ("contradicts", self.contradicting))
            for one in found
        ]

    def rdf(self) -> str:
        """The trail as a document: PROV-O in Turtle, which any world can load, and `World.verify` replays as bytes."""
        quads = list(_Writer(self).triples())
        prefixes = {"prov": PROV, "rdf": RDF, "trail": TRAIL, "xsd": XSD}
        return (ox.serialize(quads, format=ox.RdfFormat.TURTLE, prefixes=prefixes) or b"").decode()


def read(document: str | bytes) -> Verification:
    """What a trail claims and at which revision, for `World.verify` to replay; ArgumentError for what is no trail."""
    triples = list(ox.parse(document, format=ox.RdfFormat.TURTLE))
    about: dict[Any, dict[str, list[Any]]] = {}
    for triple in triples:
        about.setdefault(triple.subject, {}).setdefault(triple.predicate.value, []).append(triple.object)
    roots = [node for node, told in about.items() if ox.NamedNode(TRAIL + "Verification") in told.get(RDF + "type", ())]
    if len(roots) != 1:
        raise ArgumentError(f"a document with {len(roots)} verifications is no trail", kind="trail")
    told = about[roots[0]]
    claimed: dict[int, tuple[Any, Any, Any]] = {}
    for node in told.get(TRAIL + "triple", []):
        parts = about[node]
        s, p, o = (to_rdflib(_shown(parts[RDF + name][0])) for name in ("subject", "predicate", "object"))
        claimed[int(parts[TRAIL + "place"][0].value)] = (s, p, o)
    texts = {
        name: tuple(value.value for value in sorted(told.get(TRAIL + name, []), key=str))
        for name in ("reading", "unread")
    }
    return Verification(
        claim=told[TRAIL + "claim"][0].value,
        revision=int(told[TRAIL + "revision"][0].value),
        outcome=told[TRAIL + "outcome"][0].value,
        triples=tuple(claimed[place] for place in sorted(claimed)),
        outcomes=(),
        readings=texts["reading"],
        unread=texts["unread"],
    )


class _Writer:
    def __init__(self, found: Verification) -> None:
        self._found = found
        name = uuid.uuid5(_NAMES, repr(found.to_dict())).urn
        self._root = ox.NamedNode(name)
        self._activity = ox.NamedNode(f"{name}#activity")
        self._name = name
        self._quads: dict[CitedQuad, ox.NamedNode] = {}

    def triples(self) -> Iterator[ox.Triple]:
        """All triples of the document."""
        found, root, activity = self._found, self._root, self._activity
        yield _type(root, PROV + "Entity")
        yield _type(root, TRAIL + "Verification")
        yield ox.Triple(root, _iri(PROV + "wasGeneratedBy"), activity)
        yield _type(activity, PROV + "Activity")
        yield _text(root, "claim", found.claim)
        yield _text(root, "outcome", found.outcome)
        yield _whole(root, "revision", found.revision)
        yield _whole(root, "leftOut", found.left_out)
        for name, texts in (("reading", found.readings), ("unread", found.unread), ("undecided", found.undecided)):
            for text in texts:
                yield _text(root, name, text)
        for place, triple in enumerate(found.triples):
            node = ox.NamedNode(f"{self._name}#triple{place}")
            yield ox.Triple(root, _iri(TRAIL + "triple"), node)
            yield from _statement(node, triple)
            yield _whole(node, "place", place)
            if place < len(found.outcomes):
                yield _text(node, "outcome", found.outcomes[place])
        for verdict, evidence in (("supports", found.supporting), ("contradicts", found.contradicting)):
            for place, one in enumerate(evidence):
                yield from self._evidence(verdict, place, one)
        for place, path in enumerate(found.paths):
            yield from self._group(f"path{place}", "path", path)
        for place, odd in enumerate(found.odd):
            yield from self._group(f"odd{place}", "odd", odd.quads)
            yield _text(self._node(f"odd{place}"), "kind", odd.kind)
            yield _text(self._node(f"odd{place}"), "message", odd.message)
        for place, passage in enumerate(found.passages):
            node = self._node(f"passage{place}")
            yield ox.Triple(root, _iri(TRAIL + "passage"), node)
            yield _text(node, "text", passage.text)
            yield _number(node, "score", passage.score)
        for quad in found.visited:
            yield ox.Triple(activity, _iri(TRAIL + "visited"), self._quad(quad))
        for quad, node in self._quads.items():
            yield _type(node, PROV + "Entity")
            yield from _statement(node, quad[:3])
            yield _whole(node, "revision", quad.revision)
            if quad.graph is not None:
                yield ox.Triple(node, _iri(TRAIL + "graph"), _hidden(to_oxigraph(quad.graph)))
            yield ox.Triple(activity, _iri(PROV + "used"), node)

    def _evidence(self, verdict: str, place: int, one: Evidence) -> Iterator[ox.Triple]:
        node = self._node(f"{verdict}{place}")
        yield from self._group(f"{verdict}{place}", verdict, one.quads)
        yield ox.Triple(node, _iri(TRAIL + "about"), self._node(f"triple{one.triple}"))
        yield _text(node, "rule", one.rule)
        yield _text(node, "message", one.message)
        yield _number(node, "score", one.score)

    def _group(self, name: str, predicate: str, quads: Sequence[CitedQuad]) -> Iterator[ox.Triple]:
        """What is derived from quads, with these in their order."""
        node = self._node(name)
        yield ox.Triple(self._root, _iri(TRAIL + predicate), node)
        yield _type(node, PROV + "Entity")
        for place, quad in enumerate(quads):
            yield ox.Triple(node, _iri(PROV + "wasDerivedFrom"), self._quad(quad))
            yield ox.Triple(node, _iri(f"{RDF}_{place + 1}"), self._quad(quad))

    def _node(self, name: str) -> ox.NamedNode:
        return ox.NamedNode(f"{self._name}#{name}")

    def _quad(self, quad: CitedQuad) -> ox.NamedNode:
        if quad not in self._quads:
            self._quads[quad] = self._node(f"quad{len(self._quads)}")
        return self._quads[quad]


def _iri(text: str) -> ox.NamedNode:
    return ox.NamedNode(text)


def _type(node: ox.NamedNode, iri: str) -> ox.Triple:
    return ox.Triple(node, _iri(RDF + "type"), _iri(iri))


def _text(node: ox.NamedNode, name: str, text: str) -> ox.Triple:
    return ox.Triple(node, _iri(TRAIL + name), ox.Literal(text.encode("utf-8", "replace").decode()))


def _whole(node: ox.NamedNode, name: str, number: int) -> ox.Triple:
    return ox.Triple(node, _iri(TRAIL + name), ox.Literal(str(number), datatype=_iri(XSD + "integer")))


def _number(node: ox.NamedNode, name: str, number: float) -> ox.Triple:
    return ox.Triple(node, _iri(TRAIL + name), ox.Literal(f"{number:.4f}", datatype=_iri(XSD + "decimal")))


def _statement(node: ox.NamedNode, triple: Sequence[Any]) -> Iterator[ox.Triple]:
    yield _type(node, RDF + "Statement")
    for name, term in zip(("subject", "predicate", "object"), triple, strict=True):
        yield ox.Triple(node, _iri(RDF + name), _hidden(to_oxigraph(term)))


def _hidden(term: Any) -> Any:
    return _iri(_BLANK + term.value) if isinstance(term, ox.BlankNode) else term


def _shown(term: Any) -> Any:
    if isinstance(term, ox.NamedNode) and term.value.startswith(_BLANK):
        return ox.BlankNode(term.value.removeprefix(_BLANK))
    return term
