"""A world with its conclusions is a world in which all that follows was written, at any time and through any view."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.conclusions.oracle import SPECS, conclusions
from tests.conclusions.test_following import quads, turn
from tests.support.command_line import run
from tests.support.concluding import as_quad, written
from tests.support.embedder import HashingEmbedder
from tests.support.serving import served
from worlds.errors import ReadOnlyError

T = "urn:t:"
TEXTS = [
    (f"{T}name", "rdfs:subPropertyOf", "rdfs:label"),
    (f"{T}Owl", "rdfs:subClassOf", f"{T}Bird"),
    (f"{T}Bird", "rdfs:subClassOf", f"{T}Animal"),
    (f"{T}eats", "rdfs:domain", f"{T}Animal"),
    (f"{T}eats", "owl:inverseOf", f"{T}eatenBy"),
    (f"{T}tawny", "rdf:type", f"{T}Owl"),
    (f"{T}tawny", f"{T}name", '"Tawny owl"'),
    (f"{T}tawny", f"{T}note", '"calls at night by the mill"'),
    (f"{T}tawny", f"{T}eats", f"{T}mouse"),
    (f"{T}mouse", f"{T}name", '"Mouse of the mill"'),
]


def expect_followed(world: worlds.World, name: str = "rdfs+") -> None:
    """The view has the quads of the world and what the slow model concludes, in its index too."""
    held = written(world)
    expected = held | conclusions(held, SPECS[name])
    assert written(world.entailed) == expected
    rows: Any = world.entailed.query("SELECT DISTINCT ?s ?p ?o { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }")
    assert len(list(rows)) == len({(one.subject, one.predicate, one.object) for one in expected})


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_it_is_in_step_through_every_view(seed: int) -> None:
    draw = random.Random(seed)
    with worlds.open(":memory:", embedder=None) as world:
        world.add(quads(draw, 15))
        world.rules.use("rdfs+")
        scope = world.only(graphs=["default", f"{T}g1"])
        for _ in range(8):
            turn(world, draw)
            expect_followed(world)
            expect_followed(scope)
            expect_followed(world.at(draw.randrange(1, world.history(1)[0].revision + 1)))
            assert written(world.entailed.only(graphs=["default", f"{T}g1"])) == written(scope.entailed)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_a_difference_has_what_follows(seed: int) -> None:
    draw = random.Random(seed)
    with worlds.open(":memory:", embedder=None) as world:
        world.add(quads(draw, 15))
        world.rules.use("rdfs+")
        for _ in range(8):
            turn(world, draw)
        last = world.history(1)[0].revision
        for seen in (world, world.only(graphs=["default", f"{T}g1"])):
            a, b = sorted(draw.sample([one.revision for one in seen.history(99)], 2))
            for first, then in ((a, b), (b, a), (a, None), (0, b)):
                old, new = (
                    written(seen.at(n).entailed) if n is not None else written(seen.entailed) for n in (first, then)
                )
                told = seen.entailed.diff(first, then)
                assert (set(map(as_quad, told.added)), set(map(as_quad, told.removed))) == (new - old, old - new)
        assert last == world.history(1)[0].revision


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_it_is_in_step_for_long() -> None:
    for seed in range(100, 200):
        test_it_is_in_step_through_every_view(seed)


def answers(world: worlds.World) -> dict[str, Any]:
    """What some verbs say, but for revisions."""
    rows: Any = world.query(f"SELECT ?c {{ <{T}tawny> a ?c }}")
    told: dict[str, Any] = {
        "count": world.count(),
        "search": [
            (hit.text, str(hit.subject), hit.label, sorted(map(str, hit.types)), round(hit.score, 6))
            for hit in world.search("owl by the mill", limit=5)
        ],
        "types": [str(hit.subject) for hit in world.search("mill", types=f"{T}Animal")],
        "where": [str(hit.subject) for hit in world.search("mill", where=f"?subject <{T}eatenBy> ?x")],
        "facets": world.search("mill").facets.to_dict(world.prefixes),
        "resolve": [(str(one.iri), one.label) for one in world.resolve("Tawny owl").candidates],
        "context": world.context("What does the tawny owl eat?").text,
        "schema": world.schema().to_dict(),
        "query": sorted(str(row["c"]) for row in rows),
    }
    described = world.describe(f"{T}tawny").to_dict()
    told["describe"] = json.loads(json.dumps(described), object_hook=lambda one: {**one, "sources": None})
    for name in ("revision", "conclusions"):
        told["schema"].pop(name, None)
    return told


def test_it_answers_as_a_world_in_which_all_was_written() -> None:
    with worlds.open(":memory:", embedder=HashingEmbedder()) as world:
        world.rules.use("rdfs+")
        world.add(TEXTS[:6])
        assert world.entailed.count() > world.count()
        world.add(TEXTS[6:])
        with worlds.open(":memory:", embedder=HashingEmbedder()) as model:
            model.rules.use("rdfs+")  # its terms get the same numbers
            model.add(TEXTS)
            follows = conclusions(written(world), SPECS["rdfs+"])
            model.add(sorted(follows, key=str))
            assert answers(world.entailed) == answers(model)
            assert world.search("mill", types=f"{T}Animal") != world.entailed.search("mill", types=f"{T}Animal")
            world.remove(TEXTS[7:8])
            model.remove(TEXTS[7:8])
            assert answers(world.entailed) == answers(model)


def test_a_concluded_quad_says_so() -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.add(TEXTS)
        world.rules.use("rdfs+")
        (hit,) = [one for one in world.entailed.search("tawny") if one.text == "Tawny owl"]
        assert len(hit.quads) == 2
        assert [str(as_quad(quad).predicate) for quad in hit.concluded] == [
            "<http://www.w3.org/2000/01/rdf-schema#label>"
        ]
        assert len(hit.to_dict()["concluded"]) == 1
        assert pickle.loads(pickle.dumps(hit)).concluded == hit.concluded
        described = world.entailed.describe(f"{T}tawny")
        said = {str(value.term): value.sources for value in described.types}
        assert [one.concluded for one in said[f"{T}Bird"]] == [True]
        assert [one.revision for one in said[f"{T}Bird"]] == [None]
        assert [one.concluded for one in said[f"{T}Owl"]] == [False]
        assert "concluded" not in world.search("tawny")[0].to_dict()
        assert world.entailed.rules.why((f"{T}tawny", "rdf:type", f"{T}Bird")).steps[0].rule == "rdfs9"


def test_it_can_only_be_read() -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.rules.use("rdfs")
        view = world.entailed
        assert view.entailed is view
        assert view.file.view.entailed
        assert repr(view) == "<World :memory:, entailed>"
        writes: list[Callable[[], Any]] = [
            lambda: view.add(TEXTS), lambda: view.load(b""), lambda: view.undo(1), lambda: view.bind("a", T),
        ]  # fmt: skip
        for write in writes:
            with pytest.raises(ReadOnlyError):
                write()


def test_a_scope_reads_what_a_transaction_put_back() -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.add(TEXTS[:3])
        scope = world.only(graphs="default")
        assert scope.count() == 3
        with world.transaction():
            world.remove(TEXTS[:2])
            world.add(TEXTS[:1])
        assert written(scope) == written(world)


def test_a_scope_keeps_a_conclusion_that_was_written_and_removed_between_two_readings() -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.rules.use("rdfs")
        world.add(TEXTS[1:6])
        scope = world.only(graphs="default")
        for view in (world, scope):
            expect_followed(view, "rdfs")
        world.add([(f"{T}tawny", "rdf:type", f"{T}Animal")])
        world.remove([(f"{T}tawny", "rdf:type", f"{T}Animal")])
        for view in (world, scope):
            expect_followed(view, "rdfs")


def test_a_file_is_followed_from_another_connection(tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    with worlds.open(path, embedder=None) as world, worlds.open(path, embedder=None, read_only=True) as other:
        world.add(TEXTS)
        world.rules.use("rdfs+")
        expect_followed(other)
        world.add([(f"{T}barn", "rdf:type", f"{T}Owl")])
        expect_followed(other)
        world.rules.use("rdfs")
        expect_followed(other, "rdfs")


def test_every_door_answers_with_conclusions(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.add(TEXTS)
        world.bind("t", T)
        world.rules.use("rdfs+")
    ask = f"ASK {{ <{T}tawny> a <{T}Animal> }}"
    assert run("sparql", str(path), ask, "--entailed").exit_code == 0
    assert run("sparql", str(path), ask).exit_code == 1
    found = run("search", str(path), "mill", "--type", "t:Animal", "--mode", "text", "--entailed", "--json")
    assert [one["subject"] for one in json.loads(found.stdout)["hits"]] == [f"{T}tawny"]
    assert "Animal" in run("describe", str(path), "t:tawny", "--entailed").stdout
    assert f"<{T}Animal>" in run("export", str(path), "--entailed", "--format", "nt").stdout.split("tawny", 1)[1]
    with served(path) as server, server.client() as client:
        asked = {"query": ask, "entailed": "true"}
        assert client.get("/sparql", params=asked).json()["boolean"] is True
        assert client.get("/sparql", params={"query": ask}).json()["boolean"] is False
        hits = client.get("/search", params={"q": "mill", "types": "t:Animal", "mode": "text", "entailed": "true"})
        assert [one["subject"] for one in hits.json()["hits"]] == [f"{T}tawny"]
        proof = client.get("/why", params={"subject": "t:tawny", "predicate": "rdf:type", "object": "t:Bird"}).json()
        assert proof["steps"][0]["rule"] == "rdfs9"
        assert client.get("/rules").json()["sets"] == ["rdfs+"]
