"""Mutated shapes graphs: whatever they hold, a validation gives a report or a WorldsError, within seconds."""

from __future__ import annotations

import random
import time
from typing import Any

import pyoxigraph as ox
import pytest

import worlds
from tests.shapes.test_validate import PREFIXES
from worlds import World
from worlds.extras.shapes.nodes import SH, sh
from worlds.extras.shapes.shapes import PLAIN, SILENT

DATA = """
ex:a a ex:T ; ex:p ex:b, 1, "x"@en, "y"@EN, "1999-02-30"^^xsd:date, ex:a ; ex:q 1.5, "z", _:b .
ex:b ex:p ex:c ; a ex:U .
ex:c ex:p ex:a ; ex:q "2020-01-01"^^xsd:date . _:b ex:p _:b ; a ex:T .
ex:U rdfs:subClassOf ex:T . ex:T rdfs:subClassOf ex:U .
"""
SEED = """
ex:S a sh:NodeShape ; sh:targetClass ex:T ; sh:nodeKind sh:IRI ; sh:closed true ; sh:ignoredProperties ( ex:q ) ;
  sh:property [ sh:path ex:p ; sh:minCount 1 ; sh:datatype xsd:string ; sh:uniqueLang true ; sh:languageIn ( "en" ) ] ,
    [ sh:path [ sh:alternativePath ( ex:p [ sh:zeroOrMorePath [ sh:inversePath ex:p ] ] ( ex:p ex:q ) ) ] ;
      sh:node ex:N ; sh:qualifiedValueShape [ sh:class ex:T ] ; sh:qualifiedMinCount 1 ;
      sh:qualifiedValueShapesDisjoint true ] .
ex:N sh:or ( ex:M [ sh:not ex:M ] ) ; sh:xone ( ex:M ) ; sh:pattern "^h" ; sh:flags "i" ; sh:minLength 2 ;
  sh:in ( ex:a 1 ) .
ex:M sh:targetNode ex:a, 5 ; sh:targetObjectsOf ex:p ; sh:minInclusive 3 ; sh:and ( ex:K ) ; sh:severity sh:Info .
ex:K a sh:PropertyShape ; sh:targetSubjectsOf ex:p ; sh:path ex:q ; sh:lessThan ex:p ; sh:equals ex:p ;
  sh:disjoint ex:p ; sh:hasValue 1 ; sh:message "no {$this}" ; ex:of 2 ;
  sh:sparql [ sh:select "SELECT $this ?value { $this $PATH ?value }" ] .
ex:C a sh:ConstraintComponent ; sh:parameter [ sh:path ex:of ; sh:optional false ] ;
  sh:validator [ sh:ask "ASK { FILTER($value != $of) }" ; sh:message "{$of}" ] ; sh:prefixes ex:O .
ex:O sh:declare [ sh:prefix "ex" ; sh:namespace "http://ex/"^^xsd:anyURI ] .
"""
PREDICATES = [sh(name) for name in (*PLAIN, *SILENT, "targetNode", "targetClass", "zeroOrMorePath", "inversePath")]
PREDICATES += [ox.NamedNode(f"http://www.w3.org/1999/02/22-rdf-syntax-ns#{name}") for name in ("first", "rest", "type")]


def mutated(drawn: random.Random) -> list[ox.Triple]:
    """The seed's triples, of which some are gone, doubled, or have another subject, predicate or object."""
    parsed = ox.parse((PREFIXES + SEED).encode(), format=ox.RdfFormat.TURTLE)
    triples: list[Any] = [(one.subject, one.predicate, one.object) for one in parsed]
    odd: list[Any] = [ox.Literal(text) for text in ("", "(", "-1", "true", "9" * 40, "SELECT $this {", "\u0661")]
    odd += [ox.Literal("en", language="en"), ox.Triple(*triples[0]), sh("Nonsense"), ox.NamedNode(SH)]
    odd += [ox.Literal("5", datatype=ox.NamedNode("http://ex/dt")), ox.NamedNode("urn:" + "x" * 300)]
    for _ in range(drawn.choice((1, 2, 4, 12))):
        place = drawn.randrange(len(triples))
        subject, predicate, value = triples[place]
        of = drawn.choice(triples)
        done = drawn.randrange(4)
        if done == 0:
            triples.pop(place)
        elif done == 1:
            triples[place] = (of[0], predicate, value)
        elif done == 2:
            triples[place] = (subject, drawn.choice([of[1], *drawn.sample(PREDICATES, 2)]), value)
        else:
            fresh = (subject, predicate, drawn.choice([of[0], of[2], *drawn.sample(odd, 2)]))
            triples[place] = fresh if done < 5 else triples[place]
            triples.append(fresh)
    return [ox.Triple(*one) for one in triples]


def run(world: World, seed: int) -> None:
    triples = mutated(random.Random(seed))
    text = "".join(f"{one.subject} {one.predicate} {one.object} .\n" for one in triples).encode()
    began = time.perf_counter()
    try:
        report = world.shapes.validate(shapes=text, timeout=20)
        assert str(report) is not None
        report.to_dict()
        report.to_rdflib()
    except worlds.WorldsError:
        pass
    except Exception as error:
        raise AssertionError(f"seed {seed}:\n{text.decode()}") from error
    assert time.perf_counter() - began < 25, seed


@pytest.fixture
def fuzzed(world: World) -> World:
    world.load((PREFIXES + DATA).encode(), format="turtle")
    return world


def test_mutated_shapes_are_validated_or_refused(fuzzed: World) -> None:
    for seed in range(4):
        run(fuzzed, seed)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_twenty_thousand_mutated_shapes_are_validated_or_refused(fuzzed: World) -> None:
    for seed in range(20_000):
        run(fuzzed, seed)
