"""The conclusions that are kept are those that follow, whatever was written, removed, undone and merged."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import worlds
from tests.conclusions.oracle import SPECS, conclusions
from tests.history.test_crash import killed_while_writing
from tests.support.concluding import concluded, written
from worlds.errors import ArgumentError, ReadOnlyError

T = "urn:t:"
_SKOS = ["broader", "narrower", "related", "broadMatch", "exactMatch", "topConceptOf", "broaderTransitive"]
_SCHEMA = ["rdfs:subClassOf", "rdfs:subPropertyOf", "rdfs:domain", "rdfs:range", "owl:inverseOf"]
_MORE = ["owl:equivalentClass", "owl:equivalentProperty"]
_NODES = [f"{T}n{n}" for n in range(3)]  # of lists, and classes by restrictions and lists


def quads(draw: random.Random, count: int, restricted: int = 0) -> list[tuple[Any, ...]]:
    """Quads about few things, so that much follows of them; so many times as often of restrictions and lists."""
    things, classes, properties = (
        [f"{T}{name}{n}" for n in range(size)] for name, size in (("x", 5), ("C", 4), ("p", 4))
    )
    made: list[tuple[Any, ...]] = []
    for _ in range(count):
        kind = min(draw.randrange(6 + restricted), 6)
        predicate = draw.choice(_SCHEMA + _MORE)
        of = classes if predicate in ("rdfs:subClassOf", "owl:equivalentClass") else properties
        schema = (
            draw.choice(of),
            predicate,
            draw.choice(classes if predicate in ("rdfs:domain", "rdfs:range") else of),
        )
        kinds = {
            0: schema,
            1: (draw.choice(things), "rdf:type", draw.choice(classes)),
            2: (draw.choice(properties), "rdf:type", draw.choice(["owl:TransitiveProperty", "owl:SymmetricProperty"])),
            3: (draw.choice(things), draw.choice(properties), draw.choice([*things, '"text"'])),
            4: (draw.choice(things), draw.choice(properties), draw.choice(things)),
            5: (draw.choice(things), f"skos:{draw.choice(_SKOS)}", draw.choice(things)),
        }
        graph = draw.choice([None, None, f"{T}g1", f"{T}g2"])
        quad = restriction(draw, things, classes, properties) if kind == 6 else kinds[kind]
        made.append(quad if graph is None else (*quad, graph))
    return made


def restriction(draw: random.Random, things: list[str], classes: list[str], properties: list[str]) -> tuple[Any, ...]:
    """A quad of a restriction, of a list, or of a class or a property by a list."""
    class_or_thing = {"hasValue": things, "someValuesFrom": [*classes, "owl:Thing"], "allValuesFrom": classes}
    by_list = ["intersectionOf", "unionOf", "oneOf", "propertyChainAxiom", "propertyChainAxiom"]
    name = draw.choice([*class_or_thing, *["onProperty"] * 2, *["first", "rest"] * 4, *by_list])
    if name in class_or_thing:
        return draw.choice(classes), f"owl:{name}", draw.choice(class_or_thing[name])
    if name == "onProperty":
        return draw.choice(classes), "owl:onProperty", draw.choice(properties)
    node = draw.randrange(len(_NODES))
    if name == "first":
        of = draw.choice([classes, properties, properties, things])
        return _NODES[node], "rdf:first", draw.choice(of)
    if name == "rest":
        usual = [*_NODES, "rdf:nil"][node + 1]
        return _NODES[node], "rdf:rest", draw.choice([usual] * 6 + ["rdf:nil", _NODES[0]])
    return draw.choice(properties if name == "propertyChainAxiom" else classes), f"owl:{name}", _NODES[node]


def expect_followed(world: worlds.World, *sets: str) -> None:
    """The table is what the slow model says, and what making it anew gives."""
    assert concluded(world) == conclusions(written(world), [spec for name in sets for spec in SPECS[name]])
    report = world.check()
    assert report.ok, str(report)


@pytest.mark.parametrize("name", SPECS)
def test_a_set_concludes_what_its_specification_says(name: str) -> None:
    for seed in range(2):
        with worlds.open(":memory:", embedder=None) as world:
            world.add(quads(random.Random(seed), 30, 6 * (name == "owl-rl")))
            told = world.rules.use(name)
            assert told.sets == (name,)
            assert told.conclusions == len(concluded(world)) > 0
            expect_followed(world, name)


@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6), name=st.sampled_from(list(SPECS)))
def test_what_is_kept_follows_after_any_history(seed: int, name: str) -> None:
    any_history(random.Random(seed), name, 8)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in range(1, 250))])
@pytest.mark.timeout(3600)
def test_what_is_kept_follows_in_any_view_with_purges_and_kills(tmp_path: Path, seed: int, long: bool) -> None:
    """16 turns, or 40, of a file, in a world and in a scope, with a memory that is purged, and processes that die."""
    draw, path = random.Random(seed), tmp_path / "kb.db"
    name = list(SPECS)[seed % len(SPECS)]
    with worlds.open(path, embedder=None) as world:
        world.policy = world.policy.with_(memory_sees=draw.choice(["nothing", "vocabulary", "all"]))
        world.rules.use(name)
        world.add(quads(draw, 15))
    for _ in range(2):
        if draw.random() < 0.2:
            killed_while_writing(path, draw)
        with worlds.open(path, embedder=None) as world:
            for _ in range(20 if long else 8):
                any_turn(world, draw, name)


def any_turn(world: worlds.World, draw: random.Random, name: str) -> None:
    """One write to a world, to a scope of it or to a memory, compared there and in another view."""
    graphs = ["default", f"{T}g1"]
    ann = world.memory(scope=("user", "ann"))
    kind = draw.randrange(10)
    if kind == 0:
        facts = [(f"thing {draw.randrange(3)}", draw.choice(["p", "q"]), f"thing {draw.randrange(3)}")]
        ann.retain(f"told {draw.randrange(9)}", key=str(draw.randrange(4)), facts=facts)
    elif kind == 1:
        ann.forget(key=str(draw.randrange(4)), purge=draw.random() < 0.7)
    else:
        with contextlib.suppress(*[ReadOnlyError] * (kind == 2)):  # of what would change another graph
            turn(world.only(graphs=graphs) if kind == 2 else world, draw, 4 * (name == "owl-rl"))
    expect_followed(world, name)
    revision = world.history(1)[0].revision
    views = [world.only(graphs=graphs), world.at(draw.randrange(1, revision + 1)), *([ann.world] if kind < 2 else [])]
    for view in views if kind < 2 else draw.sample(views, draw.randrange(2)):
        blind = view is views[-1] and kind < 2 and world.policy.memory_sees == "nothing"
        held = written(view)
        assert written(view.entailed) == held | conclusions(held, [] if blind else SPECS[name])


def any_history(draw: random.Random, name: str, turns: int) -> None:
    """Write at random, and compare after each turn."""
    with worlds.open(":memory:", embedder=None) as world:
        world.rules.use(name)
        restricted = 4 * (name == "owl-rl")
        world.add(quads(draw, 15, restricted))
        for _ in range(turns):
            turn(world, draw, restricted)
            expect_followed(world, name)


def turn(world: worlds.World, draw: random.Random, restricted: int = 0) -> None:
    """One write of any kind."""
    kind = draw.randrange(9)
    held = list(world.quads())
    some = draw.sample(held, min(len(held), draw.randrange(1, 4)))
    if kind == 0:
        world.add(quads(draw, draw.randrange(1, 8), restricted))
    elif kind in (1, 2):
        world.remove(some)
    elif kind == 3:
        world.edit(add=quads(draw, 3, restricted), remove=some)
    elif kind == 4:
        world.undo(draw.choice(world.history()).revision, force=True)
    elif kind == 5:
        with pytest.raises(ZeroDivisionError), world.transaction():
            world.remove(some)
            world.add(quads(draw, 3))
            raise ZeroDivisionError
        world.edit(add=quads(draw, 3), remove=some, dry_run=True)
        with world.transaction():
            world.remove(some)
            world.add(quads(draw, 3))
            world.add(some[:1])
    elif kind == 6:
        lines = [f"<{T}x{draw.randrange(5)}> a <{T}C{draw.randrange(4)}> ." for _ in range(draw.randrange(1, 9))]
        world.load("\n".join(lines).encode(), format="turtle", graph=draw.choice([None, f"{T}g1"]))
    elif kind == 7:
        for quad in some[:1]:
            world.facts.end(quad)
    else:
        with contextlib.suppress(ArgumentError):  # of one that there is nothing about
            made = world.curation.merge(f"{T}x0", f"{T}x{draw.randrange(1, 5)}", conflicts="report")
            if made.revision is not None and draw.random() < 0.5:
                world.curation.split(made.revision)


def test_a_merge_and_its_split_are_followed() -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.rules.use("rdfs+")
        world.add([(f"{T}p", "rdfs:domain", f"{T}C"), (f"{T}a", f"{T}p", f"{T}b"), (f"{T}b", "rdf:type", f"{T}D")])
        merged = world.curation.merge(f"{T}b", f"{T}a")
        expect_followed(world, "rdfs+")
        assert merged.revision is not None
        world.curation.split(merged.revision)
        expect_followed(world, "rdfs+")


def test_a_load_is_followed_as_a_whole() -> None:
    lines = "".join(f"<{T}x{n}> a <{T}C{n % 7}> ; <{T}p{n % 3}> <{T}x{n + 1}> .\n" for n in range(250))
    with worlds.open(":memory:", embedder=None) as world:
        world.rules.use("rdfs+")
        world.add([(f"{T}C{n}", "rdfs:subClassOf", f"{T}C{n + 1}") for n in range(8)])
        world.add([(f"{T}p0", "owl:inverseOf", f"{T}p1"), (f"{T}p2", "rdfs:subPropertyOf", f"{T}p0")])
        world.load(lines.encode(), format="turtle")
        expect_followed(world, "rdfs+")
        world.undo(3)
        expect_followed(world, "rdfs+")


def test_a_long_chain_is_closed_and_opened() -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.add([(f"{T}p", "rdf:type", "owl:TransitiveProperty")])
        world.add([(f"{T}x{n}", f"{T}p", f"{T}x{n + 1}") for n in range(60)])
        assert world.rules.use("rdfs+").conclusions == 61 * 60 // 2 - 60
        world.remove([(f"{T}x30", f"{T}p", f"{T}x31")])
        assert world.rules.list().conclusions == 31 * 30 // 2 + 30 * 29 // 2 - 59
        assert world.check().ok
        world.add([(f"{T}x60", f"{T}p", f"{T}x31")])  # a ring
        assert world.check().ok


def test_a_large_component_is_made_anew_and_says_so() -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.rules.use("rdfs+")
        world.add([(f"{T}p", "rdf:type", "owl:TransitiveProperty")])
        chain = [(f"{T}x{n}", f"{T}p", f"{T}x{n + 1}") for n in range(200)]
        world.add(chain)
        assert world.rules.list().conclusions == 201 * 200 // 2 - 200
        change = world.remove(chain[100:101])
        assert any("made anew" in note for note in change.notes)
        assert world.check().ok


@pytest.mark.slow
def test_a_process_that_dies_leaves_what_follows(tmp_path: Path) -> None:
    path, chance = tmp_path / "world.db", random.Random(4)
    with worlds.open(path, embedder=None) as world:
        world.rules.add("back", "CONSTRUCT { ?y <urn:t:from> ?x } WHERE { ?x ?p ?y FILTER(isIRI(?y)) }")
    for _ in range(4):
        killed_while_writing(path, chance)
        with worlds.open(path, embedder=None) as world:
            report = world.check()
            assert report.ok, str(report)
