"""World.suggest_shapes: what was planted is suggested with its exceptions, and the draft of shapes finds just these."""

from __future__ import annotations

import random
from typing import Any

import pytest
import rdflib

import worlds
from worlds import World
from worlds.errors import ArgumentError

EX = "http://ex/"
HEAD = "@prefix : <http://ex/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
HOSTILE = ('a "quoted" one', "two\nlines", "{0} braces }", "back\\slash", "ünï © <b>")


def made(seed: int = 1, persons: int = 60) -> World:
    """Persons with their firms: most of them keep what a few break."""
    chance = random.Random(seed)
    world = worlds.open(embedder=None)
    world.bind("", EX)
    lines = [f":f{n} a :Firm ; rdfs:label 'firm {chance.random()}'@en ." for n in range(30)]
    for n in range(persons):
        lines.append(
            f":p{n} a :Person ; :code '{chance.choice('ABC')}{n:03}-{chance.randint(10, 99)}' ; :worksFor :f{n % 30} ; "
            f":knows :p{(n + 1) % persons} , :p{(n - 1) % persons} ; :child :c{n} ; "
            f":mood '{chance.choice(['glad', 'sad'])}' ; "
            f":born '{1950 + n % 50}-01-01'^^<http://www.w3.org/2001/XMLSchema#date> . :c{n} a :Child ; :parent :p{n} ."
        )
    world.load((HEAD + "\n".join(lines)).encode(), format="ttl")
    return world


def kinds(found: worlds.ShapeSuggestions) -> dict[str, dict[tuple[str, ...], tuple[int, int, int]]]:
    told: dict[str, dict[tuple[str, ...], tuple[int, int, int]]] = {}
    for one in found:
        named = tuple(str(subject).removeprefix(EX) for subject in one.subjects)
        told.setdefault(one.kind, {})[named] = (one.support, one.total, one.exceptions)
    return told


def test_what_all_keep() -> None:
    with made() as world:
        found = kinds(world.suggest_shapes())
    assert found["domain"] == {
        **dict.fromkeys([(name, "Person") for name in ("code", "mood", "born", "worksFor", "child")], (60, 60, 0)),
        ("knows", "Person"): (120, 120, 0),
        ("parent", "Child"): (60, 60, 0),
    }
    assert found["range"] == {
        ("code",): (60, 60, 0),
        ("mood",): (60, 60, 0),
        ("born", "http://www.w3.org/2001/XMLSchema#date"): (60, 60, 0),
        ("worksFor", "Firm"): (60, 60, 0),
        ("knows", "Person"): (120, 120, 0),
        ("child", "Child"): (60, 60, 0),
        ("parent", "Person"): (60, 60, 0),
    }
    assert found["symmetric"] == {("knows",): (120, 120, 0)}
    assert found["inverse"] == {("child", "parent"): (120, 120, 0)}
    assert set(found["disjoint"]) == {("Person", "Child"), ("Person", "Firm"), ("Child", "Firm")}
    assert found["key"] == {("Person", "code"): (60, 60, 0)}
    assert found["form"] == {("Person", "code"): (60, 60, 0)}
    assert found["one of"] == {("Person", "mood"): (60, 60, 0)}
    assert found["one a language"] == {("Firm", "http://www.w3.org/2000/01/rdf-schema#label"): (30, 30, 0)}
    assert found["class"][("Person", "worksFor")] == (60, 60, 0)


def test_exceptions_are_told_with_their_quads_and_revisions() -> None:
    with made() as world:
        world.add([(":p1", ":code", '"another"')], author="eve")
        world.add([(":p2", ":worksFor", ":p3")], author="eve")
        found = world.suggest_shapes(minimum=0.9)
        (single,) = [one for one in found if one.kind == "functional" and str(one.subjects[0]) == EX + "code"]
        assert (single.support, single.total, single.exceptions, single.revisions) == (59, 60, 1, 2)
        assert {str(said.quad[0]) for said in single.quads} == {EX + "p1"}
        assert {said.added.author for said in single.quads if said.added} == {None, "eve"}
        (of_class,) = [one for one in found if one.kind == "class" and str(one.subjects[1]) == EX + "worksFor"]
        assert (of_class.support, of_class.total, of_class.revisions) == (60, 61, 1)
        assert [tuple(map(str, said.quad[:3])) for said in of_class.quads] == [(EX + "p2", EX + "worksFor", EX + "p3")]
        assert "sh:class :Firm ;" in of_class.turtle
        assert not [one for one in world.suggest_shapes(minimum=1.0) if one.exceptions]
        assert {one.revisions for one in world.suggest_shapes(minimum=0.9, revisions=0)} == {0}


@pytest.mark.parametrize("seed", range(6))
def test_the_draft_finds_the_exceptions(seed: int) -> None:
    chance = random.Random(seed)
    with made(seed) as world:
        world.add([(f":q{n}", ":says", rdflib.Literal(text)) for n, text in enumerate(HOSTILE * 12)])
        world.add([(f":q{n}", "rdf:type", ":Quote") for n in range(60)])
        for n in chance.sample(range(60), 4):
            kind = chance.choice(["code", "mood", "worksFor", "born", "type"])
            if kind == "type":
                world.add([(f":p{n}", "rdf:type", ":Firm")])
            elif chance.random() < 0.5:
                world.add([(f":p{n}", f":{kind}", '"other"')])
            else:
                world.update(f"DELETE WHERE {{ :p{n} :{kind} ?v }}")
        found = world.suggest_shapes(minimum=0.85)
        assert "one of" in {one.kind for one in found if str(one.subjects[0]) == EX + "Quote"}
        report = world.validate(shapes=found.turtle.encode())
        assert len(report.results) == sum(one.exceptions for one in found if one.turtle)
        world.shapes.load(found.turtle.encode(), format="ttl")
        assert len(world.validate().results) == len(report.results)


def test_with_what_is_accepted_claims_are_contradicted() -> None:
    with made() as world:
        assert world.verify((":f1", "rdf:type", ":Person")).outcome == "unknown"
        proposals = world.propose_all(world.suggest_shapes())
        assert {one.kind for one in proposals} >= {"functional", "disjoint", "inverse", "key", "domain"}
        assert all(world.accept(one.id).added for one in proposals)
        assert world.verify((":f1", "rdf:type", ":Person")).outcome == "contradicted"
        kinds_left = world.suggest_shapes().counts
        assert not {"functional", "disjoint", "inverse", "domain", "range", "symmetric"} & set(kinds_left), "declared"
        assert world.propose_all(world.suggest_shapes()) == []


def test_narrowed_by_type_and_limit() -> None:
    with made() as world:
        found = world.suggest_shapes(types=":Firm")
        assert {str(one.subjects[0]) for one in found if one.turtle} == {EX + "Firm"}
        few = world.suggest_shapes(limit=3)
        assert len(few) == 3
        assert sum(few.counts.values()) > 3
        assert world.suggest_shapes(least=10_000).turtle == ""


@pytest.mark.parametrize("wrong", [{"minimum": 0.2}, {"minimum": 2}])
def test_wrong_options(wrong: dict[str, Any]) -> None:
    with worlds.open(embedder=None) as world:
        assert len(world.suggest_shapes()) == 0
        with pytest.raises(ArgumentError):
            world.suggest_shapes(**wrong)
