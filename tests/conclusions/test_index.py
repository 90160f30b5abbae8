"""SPARQL with conclusions: the second index has each quad once, in any process, and within a transaction."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.conclusions.oracle import SPECS, conclusions
from tests.conclusions.test_following import quads, turn
from tests.support.concluding import as_quad, written
from worlds.core.sparql.cache import Cache

T = "urn:t:"
_NUMBERS = [
    (f"{T}x{n}", f"{T}p{n % 4}", f'"{form}"^^xsd:integer') for n, form in enumerate(["1", "01", "2", "02", "03"])
]
_PLACES = [
    "memory",
    pytest.param("disk", marks=pytest.mark.skipif(sys.platform == "win32", reason="there is no cache without flock")),
]


def expect_indexed(world: worlds.World) -> None:
    """SPARQL finds what is written and what the slow model concludes, each once."""
    held = written(world)
    found: Any = world.entailed.query("SELECT ?s ?p ?o ?g { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }")
    rows = [as_quad((row["s"], row["p"], row["o"], row.get("g"))) for row in found]
    assert len(rows) == len(set(rows))
    expected = held | conclusions(held, SPECS["rdfs+"])
    assert set(filter(_plain, rows)) == set(filter(_plain, expected))


def _plain(quad: Any) -> bool:
    """Whether the model, which is a store of pyoxigraph too, has the form that was written."""
    return not str(quad.object).endswith("integer>")


def generations(path: Path) -> list[str]:
    return [folder.name for folder, _ in Cache(str(path), "entailed").generations()]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
@pytest.mark.parametrize("place", _PLACES)
def test_it_is_in_step_in_every_process(tmp_path: Path, place: Any, seed: int, long: bool) -> None:
    draw = random.Random(seed)
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.add([*quads(draw, 30), *_NUMBERS])
        world.rules.use("rdfs+")
    for _ in range(4 if long else 2):
        with worlds.open(path, embedder=None, sparql_index=place) as world, worlds.open(path, embedder=None) as other:
            expect_indexed(world)
            for _ in range(3):
                turn(draw.choice([world, other]), draw)
                expect_indexed(world)
            with pytest.raises(ZeroDivisionError), world.transaction():
                turn(world, draw)
                expect_indexed(world)
                world.add(quads(draw, 3))
                expect_indexed(world)
                raise ZeroDivisionError
            expect_indexed(world)
            with world.transaction():
                world.add(_NUMBERS[draw.randrange(4) :])
                world.remove(_NUMBERS[: draw.randrange(4)])
                expect_indexed(world)
            expect_indexed(world)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no cache without flock")
def test_a_new_process_goes_on_from_the_last_generation(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    draw = random.Random(0)
    with worlds.open(path, embedder=None, sparql_index="disk") as world:
        world.add([(f"{T}y{n}", f"{T}name", f'"{n}"') for n in range(2000)])
        world.add(quads(draw, 30))
        world.rules.use("rdfs+")
        expect_indexed(world)
    (kept,) = generations(path)
    with worlds.open(path, embedder=None, sparql_index="disk") as world:
        world.add([(f"{T}y0", f"{T}name", '"nought"')])
        expect_indexed(world)
        assert world.entailed.explain("ASK {}").index == "disk"
    assert generations(path) == [kept]
    with worlds.open(path, embedder=None, sparql_index="disk") as world:
        world.rules.use("rdfs")
        world.rules.use("rdfs+")  # all was made anew: the generation does not lead here
        expect_indexed(world)
    assert kept not in generations(path)
    (kept,) = generations(path)
    with worlds.open(path, embedder=None, sparql_index="disk") as world:
        world.add([(f"{T}z{n}", f"{T}name", f'"{n}"') for n in range(200)])
        expect_indexed(world)
    assert kept not in generations(path)  # much has changed: it was left to the next process


def test_a_query_needs_no_copy_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.add([(f"{T}years", "rdfs:subPropertyOf", f"{T}number"), (f"{T}oak", f"{T}years", '"007"^^xsd:integer')])
        world.add([(f"{T}number", "rdfs:domain", f"{T}LivingThing")])
        world.rules.use("rdfs+")
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
        found: Any = world.entailed.query(f"SELECT ?n {{ ?x a <{T}LivingThing> ; <{T}number> ?n }}")
        (row,) = found
        assert str(row["n"]) == "007"
        found = world.entailed.query(f"SELECT ?x {{ ?x a <{T}LivingThink> }}")
        assert "does not occur in this world" in " ".join(found.notes)
        with pytest.raises(FileNotFoundError):
            world.entailed.search("oak")
