"""Contradictions by what follows: those of a slow model, with all that leads there, and what ends them."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pyoxigraph as ox
import pytest

import worlds
from tests.conclusions.oracle import OWL_RL, closed
from tests.support.concluding import as_quad, written

T = "urn:t:"
_HEAD = "PREFIX owl: <http://www.w3.org/2002/07/owl#> "
_FALSE = {  # kind → pattern, and the variables that tell contradictions apart
    "disjoint classes": ("{ ?c owl:disjointWith ?d } UNION { ?c owl:complementOf ?d } ?x a ?c , ?d", "xcd"),
    "disjoint properties": ("?p owl:propertyDisjointWith ?q . ?x ?p ?y ; ?q ?y", "xypq"),
    "asymmetric": ("?p a owl:AsymmetricProperty . ?x ?p ?y . ?y ?p ?x", "pxy"),
    "irreflexive": ("?p a owl:IrreflexiveProperty . ?x ?p ?x", "xp"),
    "functional": ("?p a owl:FunctionalProperty . ?x ?p ?y , ?z FILTER(?y != ?z)", "xpyz"),
    "inverse functional": ("?p a owl:InverseFunctionalProperty . ?y ?p ?x . ?z ?p ?x FILTER(?y != ?z)", "pxyz"),
}
Clash = tuple[str, tuple[Any, ...], frozenset[Any]]  # of two classes, properties or values, the order is none


def false(quads: set[ox.Quad]) -> set[Clash]:
    """The contradictions of quads and all that follows."""
    store = ox.Store()
    store.extend(closed(quads, OWL_RL))
    found: set[Clash] = set()
    for kind, (pattern, names) in _FALSE.items():
        rows: Any = store.query(f"{_HEAD} SELECT * {{ {pattern} }}")
        found |= {told(kind, [row[name] for name in names]) for row in rows}
    return found


def some(draw: random.Random, count: int) -> list[tuple[str, str, str]]:
    """Quads of which many contradict each other by what follows."""
    classes, properties, things = ([f"{T}{name}{n}" for n in range(3)] for name in "Cpx")
    kinds = [f"owl:{name}Property" for name in ("Asymmetric", "Irreflexive", "Functional", "InverseFunctional")]
    made = []
    for _ in range(count):
        of, other = draw.choice(
            [(classes, ["rdfs:subClassOf", "owl:disjointWith"]), (properties, ["rdfs:subPropertyOf", "owl:inverseOf"])]
        )
        made.append(
            draw.choice([
                (draw.choice(of), draw.choice(other), draw.choice(of)),
                (draw.choice(properties), draw.choice(["rdfs:domain", "rdfs:range"]), draw.choice(classes)),
                (draw.choice(properties), "rdf:type", draw.choice([*kinds, "owl:SymmetricProperty"])),
                (draw.choice(properties), "owl:propertyDisjointWith", draw.choice(properties)),
                (draw.choice(things), "rdf:type", draw.choice(classes)),
                (draw.choice(things), draw.choice(properties), draw.choice(things)),
                (draw.choice(things), draw.choice(properties), draw.choice(things)),
            ])
        )  # fmt: skip
    return list(dict.fromkeys(made))


def told(kind: str, terms: list[Any]) -> Clash:
    return kind, tuple(terms[:-2]), frozenset(terms[-2:])


def named(one: Any) -> list[Any]:
    """The terms of a contradiction, in the order of its message."""
    return [ox.NamedNode(word.strip(",;:.<>")) for word in one.message.split() if word.startswith("<urn:t:")]


@pytest.mark.parametrize("seed", [2, *(pytest.param(seed, marks=pytest.mark.long) for seed in (4, 5, *range(10, 60)))])
def test_contradictions_are_those_of_a_slow_model_and_end_without_the_least_sets(seed: int) -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.add(some(random.Random(seed), 16))
        world.rules.use("owl-rl")
        held = written(world)
        found = [
            one for one in world.curation.contradictions(suggested=False, kinds=list(_FALSE), limit=1000) if one.ends
        ]
        expected = false(held)
        smaller: dict[frozenset[ox.Quad], set[Clash]] = {}
        for one in found:
            said = told(one.kind, named(one))
            assert said in expected, one.message
            assert {as_quad(quad) for ends in one.ends for quad in ends} <= {as_quad(each.quad) for each in one.quads}
            size = len(one.ends[0])
            least = set()
            for gone in itertools.chain.from_iterable(
                itertools.combinations(sorted(held, key=str), count) for count in range(1, min(size, 2) + 1)
            ):
                if (without := frozenset(gone)) not in smaller:
                    smaller[without] = false(held - without)
                if said not in smaller[without]:
                    least.add(without)
            if size <= 2:
                assert {frozenset(map(as_quad, ends)) for ends in one.ends} == {
                    each for each in least if len(each) == size
                }
                assert not any(len(each) < size for each in least)
        plain = [(one.kind, set(named(one))) for one in world.curation.contradictions(suggested=False, limit=1000)]
        assert all(
            any(kind == one and {*fixed, *rest} <= terms for one, terms in plain) for kind, fixed, rest in expected
        )


def test_the_whole_chain_is_named_with_what_would_end_it() -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.bind("t", T)
        chain = [
            ("t:tom", "rdf:type", "t:Cat"), ("t:Cat", "rdfs:subClassOf", "t:Animal"), ("t:tom", "t:grows", "t:leaf"),
            ("t:grows", "rdfs:domain", "t:Plant"), ("t:Animal", "owl:disjointWith", "t:Plant"),
        ]  # fmt: skip
        world.add(chain, author="ann")
        assert not world.curation.contradictions(kinds=["disjoint classes"])
        world.rules.use("rdfs")
        (found,) = world.curation.contradictions(kinds=["disjoint classes"])
        assert found.message == "t:tom is an instance of t:Animal and of t:Plant, which are disjoint"
        assert len(found.quads) == 5
        assert sorted(len(one) for one in found.ends) == [1] * 5
        world.add([("t:tom", "rdf:type", "t:Animal")])
        (found,) = world.curation.contradictions(kinds=["disjoint classes"])
        assert len(found.ends) == 3  # neither of the two ways to t:Animal alone
        world.remove([found.ends[0][0]])
        assert not world.curation.contradictions(kinds=["disjoint classes"])
