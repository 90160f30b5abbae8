"""A slow model of what follows: rules as patterns, asked of pyoxigraph until nothing more follows; and proofs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyoxigraph as ox

ENTAILED = "urn:worlds:entailed"
_HEAD = """PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> PREFIX skos: <http://www.w3.org/2004/02/skos/core#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX owl: <http://www.w3.org/2002/07/owl#> PREFIX : <urn:t:>
"""
_DEFAULT = ox.NamedNode("urn:t:the-default-graph")


class Spec(NamedTuple):
    """A rule as a specification has it: patterns, and triples that follow."""

    body: tuple[str, ...]
    head: tuple[str, ...]


def _spec(body: str, head: str) -> Spec:
    return Spec(tuple(body.split(" . ")), tuple(head.split(" . ")))


RDFS = [
    _spec("?p rdfs:domain ?c . ?x ?p ?y", "?x rdf:type ?c"),
    _spec("?p rdfs:range ?c . ?x ?p ?y", "?y rdf:type ?c"),
    _spec("?a rdfs:subPropertyOf ?b . ?b rdfs:subPropertyOf ?c", "?a rdfs:subPropertyOf ?c"),
    _spec("?p rdfs:subPropertyOf ?q . ?x ?p ?y", "?x ?q ?y"),
    _spec("?c rdfs:subClassOf ?d . ?x rdf:type ?c", "?x rdf:type ?d"),
    _spec("?a rdfs:subClassOf ?b . ?b rdfs:subClassOf ?c", "?a rdfs:subClassOf ?c"),
]
RDFS_PLUS = [
    *RDFS,
    _spec("?p owl:inverseOf ?q . ?x ?p ?y", "?y ?q ?x"),
    _spec("?p owl:inverseOf ?q . ?x ?q ?y", "?y ?p ?x"),
    _spec("?p rdf:type owl:SymmetricProperty . ?x ?p ?y", "?y ?p ?x"),
    _spec("?p rdf:type owl:TransitiveProperty . ?x ?p ?y . ?y ?p ?z", "?x ?p ?z"),
    _spec("?c owl:equivalentClass ?d", "?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?c"),
    _spec("?p owl:equivalentProperty ?q", "?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?p"),
]
_PAIRS = (
    "broader narrower, narrower broader, broaderTransitive narrowerTransitive, narrowerTransitive "
    "broaderTransitive, topConceptOf hasTopConcept, hasTopConcept topConceptOf, broadMatch narrowMatch, "
    "narrowMatch broadMatch, related related, closeMatch closeMatch, relatedMatch relatedMatch, "
    "exactMatch exactMatch"
)
_KINDS = (
    "broader broaderTransitive, narrower narrowerTransitive, topConceptOf inScheme, broaderTransitive "
    "semanticRelation, narrowerTransitive semanticRelation, related semanticRelation, mappingRelation "
    "semanticRelation, broadMatch broader, narrowMatch narrower, relatedMatch related, exactMatch "
    "closeMatch, broadMatch mappingRelation, narrowMatch mappingRelation, relatedMatch mappingRelation, "
    "closeMatch mappingRelation"
)
SKOS = [
    *[_spec(f"?x skos:{p} ?y", f"?y skos:{q} ?x") for p, q in map(str.split, _PAIRS.split(", "))],
    *[_spec(f"?x skos:{p} ?y", f"?x skos:{q} ?y") for p, q in map(str.split, _KINDS.split(", "))],
    *[
        _spec(f"?x skos:{p} ?y . ?y skos:{p} ?z", f"?x skos:{p} ?z")
        for p in ("broaderTransitive", "narrowerTransitive", "exactMatch")
    ],
]
_VALUES = "?c owl:{} ?d . ?c owl:onProperty ?p"
_SVF, _AVF, _HV = map(_VALUES.format, ("someValuesFrom", "allValuesFrom", "hasValue"))
_TWO = "?c owl:{0} ?e . ?c owl:onProperty ?p . ?d owl:{0} ?{1} . ?d owl:onProperty ?{2} . {3}"
_PLAIN_OWL = [
    _spec("?c rdfs:subClassOf ?d . ?d rdfs:subClassOf ?c", "?c owl:equivalentClass ?d"),
    _spec("?p rdfs:subPropertyOf ?q . ?q rdfs:subPropertyOf ?p", "?p owl:equivalentProperty ?q"),
    _spec("?p rdfs:domain ?c . ?c rdfs:subClassOf ?d", "?p rdfs:domain ?d"),
    _spec("?q rdfs:domain ?c . ?p rdfs:subPropertyOf ?q", "?p rdfs:domain ?c"),
    _spec("?p rdfs:range ?c . ?c rdfs:subClassOf ?d", "?p rdfs:range ?d"),
    _spec("?q rdfs:range ?c . ?p rdfs:subPropertyOf ?q", "?p rdfs:range ?c"),
    _spec(f"{_SVF} . ?x ?p ?y . ?y rdf:type ?d", "?x rdf:type ?c"),
    _spec("?c owl:someValuesFrom owl:Thing . ?c owl:onProperty ?p . ?x ?p ?y", "?x rdf:type ?c"),
    _spec(f"{_AVF} . ?x rdf:type ?c . ?x ?p ?y", "?y rdf:type ?d"),
    _spec(f"{_HV} . ?x rdf:type ?c", "?x ?p ?d"),
    _spec(f"{_HV} . ?x ?p ?d", "?x rdf:type ?c"),
    _spec(_TWO.format("someValuesFrom", "f", "p", "?e rdfs:subClassOf ?f"), "?c rdfs:subClassOf ?d"),
    _spec(_TWO.format("allValuesFrom", "f", "p", "?e rdfs:subClassOf ?f"), "?c rdfs:subClassOf ?d"),
    _spec(_TWO.format("hasValue", "e", "q", "?p rdfs:subPropertyOf ?q"), "?c rdfs:subClassOf ?d"),
    _spec(_TWO.format("someValuesFrom", "e", "q", "?p rdfs:subPropertyOf ?q"), "?c rdfs:subClassOf ?d"),
    _spec(_TWO.format("allValuesFrom", "e", "q", "?p rdfs:subPropertyOf ?q"), "?d rdfs:subClassOf ?c"),
]


def _listed() -> Iterable[Spec]:
    """Eight members of a list one by one, and lists of four members as a whole."""
    way: list[str] = []
    for n in range(8):
        for name, head in (
            ("intersectionOf", "?c rdfs:subClassOf ?m"),
            ("unionOf", "?m rdfs:subClassOf ?c"),
            ("oneOf", "?m rdf:type ?c"),
        ):
            yield _spec(" . ".join([f"?c owl:{name} ?l0", *way, f"?l{n} rdf:first ?m"]), head)
        way.append(f"?l{n} rdf:rest ?l{n + 1}")
        if n < 4:
            members = [f"?l{at} rdf:first ?m{at}" for at in range(n + 1)]
            links = [*way[:-1], f"?l{n} rdf:rest rdf:nil", *members]
            every = [f"?x rdf:type ?m{at}" for at in range(n + 1)]
            yield _spec(" . ".join(["?c owl:intersectionOf ?l0", *links, *every]), "?x rdf:type ?c")
            chain = [f"?x{at} ?m{at} ?x{at + 1}" for at in range(n + 1)]
            yield _spec(" . ".join(["?c owl:propertyChainAxiom ?l0", *links, *chain]), f"?x0 ?c ?x{n + 1}")


OWL_RL = [*RDFS_PLUS, *_PLAIN_OWL, *_listed()]
SPECS = {"rdfs": RDFS, "rdfs+": RDFS_PLUS, "owl-rl": OWL_RL, "skos": SKOS}


def applied(spec: Spec, store: ox.Store) -> Iterable[tuple[ox.Quad, tuple[ox.Quad, ...]]]:
    """What a rule concludes in one step, and from what, of a store whose quads are all in named graphs."""
    patterns = " ".join(f"GRAPH ?g{at} {{ {pattern} }}" for at, pattern in enumerate(spec.body))
    solutions: Any = store.query(f"{_HEAD} SELECT * WHERE {{ {patterns} }}")
    for row in solutions:

        def term(name: str, row: Any = row) -> Any:
            return row[name[1:]] if name.startswith("?") else _named(name)

        graphs = [row[f"g{at}"] for at in range(len(spec.body))]
        graph = graphs[0] if len(set(graphs)) == 1 else ox.NamedNode(ENTAILED)
        premises = tuple(
            ox.Quad(*[*map(term, pattern.split()), own]) for pattern, own in zip(spec.body, graphs, strict=True)
        )
        for triple in spec.head:
            subject, predicate, object = map(term, triple.split())
            if not isinstance(subject, ox.Literal) and isinstance(predicate, ox.NamedNode):
                yield ox.Quad(subject, predicate, object, graph), premises


def _named(name: str) -> ox.NamedNode:
    prefix, _, local = name.partition(":")
    declared = dict(part.split(": <") for part in _HEAD.replace("\n", " ").split("PREFIX ")[1:])
    return ox.NamedNode(declared[prefix].strip().rstrip(">") + local)


def named_store(quads: Iterable[ox.Quad]) -> ox.Store:
    """A store of quads in which the default graph has a name."""
    store = ox.Store()
    store.extend(
        ox.Quad(
            q.subject, q.predicate, q.object, _DEFAULT if isinstance(q.graph_name, ox.DefaultGraph) else q.graph_name
        )
        for q in quads
    )
    return store


def back(quad: ox.Quad) -> ox.Quad:
    """A quad of such a store as it was."""
    graph: Any = ox.DefaultGraph() if quad.graph_name == _DEFAULT else quad.graph_name
    return ox.Quad(quad.subject, quad.predicate, quad.object, graph)


def rounds(store: ox.Store, specs: Iterable[Spec]) -> None:
    """Add all that follows from the quads of such a store."""
    before = -1
    while before != len(store):
        before = len(store)
        for spec in specs:
            store.extend([quad for quad, _ in applied(spec, store)])


def conclusions(quads: Iterable[ox.Quad], specs: Iterable[Spec]) -> set[ox.Quad]:
    """All that follows from quads and is none of them."""
    store = named_store(quads)
    written = set(store)
    rounds(store, list(specs))
    return {back(quad) for quad in set(store) - written}


def closed(quads: Iterable[ox.Quad], specs: Iterable[Spec]) -> set[ox.Quad]:
    """Quads of the default graph with all that follows, by CONSTRUCTs until nothing more does."""
    store, size = ox.Store(), -1
    store.extend(quads)
    queries = [f"{_HEAD} CONSTRUCT {{ {' . '.join(one.head)} }} WHERE {{ {' . '.join(one.body)} }}" for one in specs]
    while size != len(store):
        size = len(store)
        for query in queries:
            found: Any = store.query(query)
            store.extend([ox.Quad(one.subject, one.predicate, one.object) for one in found])
    return set(store)


def steps(quads: Iterable[ox.Quad], specs: Iterable[Spec]) -> Mapping[ox.Quad, float]:
    """The number of applications of rules in the smallest proof tree of each conclusion."""
    store, specs = named_store(quads), list(specs)
    cost: dict[ox.Quad, float] = dict.fromkeys(store, 0)
    for quad in conclusions(quads, specs):
        store.extend(named_store([quad]))
    ways = list(itertools.chain.from_iterable(applied(spec, store) for spec in specs))
    changed = True
    while changed:
        changed = False
        for quad, premises in ways:
            new = 1 + sum(cost.get(one, math.inf) for one in set(premises))
            if new < cost.get(quad, math.inf):
                cost[quad], changed = new, True
    return {back(quad): number for quad, number in cost.items()}
