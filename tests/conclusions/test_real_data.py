"""The conclusions from published vocabularies are those of a naive loop, and the engine `reasonable` has them too."""

from __future__ import annotations

import gzip
import random
import time
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pyoxigraph as ox
import pytest

import worlds
from tests.conclusions.oracle import SPECS, closed
from tests.support.concluding import concluded, written
from worlds.graph.terms import to_oxigraph

RDF, RDFS, OWL = (
    f"http://www.w3.org/{name}#" for name in ("1999/02/22-rdf-syntax-ns", "2000/01/rdf-schema", "2002/07/owl")
)
_NOT_SHARED = {
    f"{RDFS}subPropertyOf", f"{OWL}equivalentClass", f"{OWL}equivalentProperty", f"{RDFS}domain", f"{RDFS}range"
}  # fmt: skip  # of which `reasonable` concludes nothing


def named(quads: Iterable[ox.Quad]) -> list[ox.Triple]:
    """Triples, whose blank nodes have names, so that they are compared."""

    def name(term: object) -> object:
        return ox.NamedNode(f"urn:b:{term.value}") if isinstance(term, ox.BlankNode) else term

    return [ox.Triple(name(q.subject), q.predicate, name(q.object)) for q in quads]  # type: ignore[arg-type]  # terms


def published(folder: Path, name: str) -> list[ox.Triple]:
    with gzip.open(folder / name / f"{name}.nt.gz") as file:
        return named(ox.parse(file.read(), ox.RdfFormat.N_TRIPLES))


def by_reasonable(triples: list[ox.Triple]) -> set[ox.Triple]:
    """The closure of a set of triples by `reasonable`."""
    reasonable = pytest.importorskip("reasonable", reason="it is in the dev extra")
    reasoner = reasonable.PyReasoner()
    from rdflib import Graph

    graph = Graph()
    graph.parse(data=ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES) or b"", format="nt")
    reasoner.from_graph(graph)
    found: Any = [tuple(map(to_oxigraph, one)) for one in reasoner.reason()]
    return {ox.Triple(*one) for one in found if not isinstance(one[0], ox.Literal)}


class Closed(NamedTuple):
    """A closure by a naive loop, that of `reasonable`, and the seconds of CPU of the world's."""

    naive: set[ox.Quad]
    by_reasonable: set[ox.Triple]
    took: float


def expect_closed(triples: list[ox.Triple], name: str, *, contained: bool = True) -> Closed:
    """The world has what a naive loop has, and `reasonable` has no less."""
    with worlds.open(":memory:", embedder=None) as world:
        world.load(ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES), format="nt")
        began = time.process_time()
        world.rules.use(name)
        took = time.process_time() - began
        held, found = written(world), concluded(world)
    naive, other = closed(held, SPECS[name]), set[ox.Triple]()
    assert naive == set(_store(held | found))
    if contained:
        alone = _NOT_SHARED | ({f"{RDFS}subClassOf"} if name == "owl-rl" else set())
        follows = {ox.Triple(q.subject, q.predicate, q.object) for q in found if q.predicate.value not in alone}
        other = by_reasonable([ox.Triple(q.subject, q.predicate, q.object) for q in held])
        assert follows
        assert follows <= other
    return Closed(naive, other, took)


def _quad(triple: ox.Triple) -> ox.Quad:
    return ox.Quad(triple.subject, triple.predicate, triple.object)


def _store(quads: Iterable[ox.Quad]) -> ox.Store:
    store = ox.Store()  # in which literals of one value are one
    store.extend(quads)
    return store


@pytest.mark.parametrize("name", ["owl-rl", "skos"])
def test_schema_org(shared_data: Path, name: str) -> None:
    expect_closed(published(shared_data, "schemaorg"), name, contained=name != "skos")


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("data", ["schemaorg", "d3fend", "fibo"])
def test_published_vocabularies(shared_data: Path, data: str, name: str) -> None:
    took = expect_closed(published(shared_data, data), name, contained=name in ("rdfs", "rdfs+")).took
    assert took <= 5 * (1 + (name == "owl-rl"))


def building(draw: random.Random, rooms: int, brick: str) -> list[ox.Triple]:
    """A building in the classes and properties of Brick, a namespace."""
    own = "urn:building:"

    def triple(s: str, p: str, o: str) -> ox.Triple:
        return ox.Triple(*(ox.NamedNode(one) for one in (own + s, p, o)))

    made = [triple("building", f"{RDF}type", f"{brick}Building")]
    for number in range(rooms):
        floor, room, box, sensor = f"floor{number % 7}", f"room{number}", f"vav{number}", f"sensor{number}"
        made += [
            triple(floor, f"{brick}isPartOf", f"{own}building"),
            triple(room, f"{RDF}type", brick + draw.choice(["Office", "Laboratory", "Conference_Room"])),
            triple(floor, f"{brick}hasPart", own + room),
            triple(box, f"{RDF}type", brick + draw.choice(["VAV", "Variable_Air_Volume_Box_With_Reheat"])),
            triple(box, f"{brick}feeds", own + room),
            triple("ahu", f"{brick}feeds", own + box),
            triple(sensor, f"{RDF}type", brick + draw.choice(["Zone_Air_Temperature_Sensor", "CO2_Sensor"])),
            triple(sensor, f"{brick}isPointOf", own + box),
        ]
    return list(dict.fromkeys(made))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=[pytest.mark.long, pytest.mark.timeout(3600)])])
def test_a_building_of_brick(whole: bool) -> None:
    """By the shared rules, `reasonable` concludes the same types and links of the building."""
    found = find_spec("brickschema")
    if found is None or found.origin is None:
        pytest.skip("the package brickschema is in the dev extra")
    version, space = ("1.4", "") if whole else ("1.1", "1.1/")
    file = Path(found.origin).parent / "ontologies" / version / "Brick.ttl"
    brick = named(ox.parse(file.read_bytes(), ox.RdfFormat.TURTLE, base_iri="urn:brick:"))
    triples = [
        *brick,
        *building(random.Random(0), 200 if whole else 20, f"https://brickschema.org/schema/{space}Brick#"),
    ]
    both = expect_closed(triples, "owl-rl")
    mine = {one for one in both.naive if "urn:building:" in str(one.subject)}
    theirs = {_quad(one) for one in both.by_reasonable if "urn:building:" in str(one.subject)}
    assert len(mine) > len(triples) - len(brick)
    left: set[Any] = {
        ox.NamedNode(f"{OWL}Thing")
    }  # of everything, and what is the same as another follows there, and not here
    left |= {term for one in brick if one.predicate.value == f"{OWL}sameAs" for term in (one.subject, one.object)}
    assert {one for one in theirs if one.object not in left} == {one for one in mine if one.object not in left}
