"""The world as it was, as a world: it is searched, described and asked as one that had stopped there."""

from __future__ import annotations

import itertools
import random
import re
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from rdflib import RDF, RDFS, Literal, URIRef

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import World
from worlds.errors import ReadOnlyError, WorldsError
from worlds.verbs.table import VERBS
from worlds.world import connection_of

EX = "https://example.org/"
WORDS = "river stone bridge garden window mountain harbour lantern forest meadow".split()  # noqa: SIM905
QUESTIONS = ("river bridge", "garden", "lantern in the harbour", "mountain")
Step = Callable[[World], object]


def opened(path: Any = ":memory:") -> World:
    return worlds.open(path, embedder=HashingEmbedder())


def steps(draw: random.Random, count: int) -> list[Step]:
    """Random writes, each of which is a revision, or none."""
    found: list[Step] = []
    for _ in range(count):
        subject, other = (URIRef(f"{EX}{draw.randrange(8)}") for _ in range(2))
        graph = draw.choice([None, URIRef(EX + "g")])
        match draw.randrange(6):
            case 0 | 1 | 2:
                one, two = (Literal(" ".join(draw.choices(WORDS, k=draw.randint(2, 5)))) for _ in range(2))
                rows = [(subject, RDFS.label, one, graph), (subject, URIRef(EX + "knows"), other, graph)]
                rows += [(subject, RDF.type, URIRef(EX + "Thing"), graph), (subject, RDFS.comment, two, graph)]
                found.append(partial(World.add, quads=draw.sample(rows, draw.randint(1, 4))))
            case 3:
                found.append(partial(_remove, subject=subject))
            case 4:
                found.append(partial(_undo, place=draw.random()))
            case 5:
                target = "DEFAULT" if graph is None else f"GRAPH <{graph}>"
                found.append(partial(_drop, target=target))
    return found


def _remove(world: World, subject: Any) -> None:
    world.remove(sorted(world.quads(subject), key=str)[:2])


def _drop(world: World, target: str) -> None:
    world.update(f"DROP SILENT {target}")


def _undo(world: World, place: float) -> None:
    if entries := world.history():
        world.undo(entries[int(place * len(entries))].revision, force=True)


def said(world: World) -> dict[str, Any]:
    """What a reader is told: ids and times aside."""
    found: dict[str, Any] = {"quads": set(world.quads())}
    for question in QUESTIONS:
        for options in ({}, {"mode": "text"}, {"types": EX + "Thing"}, {"graphs": EX + "g"}):
            hits = world.search(question, limit=50, **options)  # type: ignore[arg-type]
            found[f"{question} {options}"] = {(hit.text, round(hit.score, 9), frozenset(hit.quads)) for hit in hits}
        # In any order: within a revision, the order in which quads came is not remembered of those that are gone.
        found[question] = sorted(re.findall(r"[\w:]+", world.context(question).text))
    for number in range(8):
        told = world.describe(EX + str(number)).to_dict()
        found[f"describe {number}"] = told
        around = world.entities.neighbourhood(EX + str(number))
        found[f"around {number}"] = set(around.quads)
    return found


def test_a_past_world_is_one_that_had_stopped_there(pytestconfig: pytest.Config) -> None:
    for seed in range(40 if pytestconfig.getoption("--long") else 1):
        draw = random.Random(seed)
        with opened() as world, opened() as other:
            kept: dict[int, dict[str, Any]] = {}
            for step in steps(draw, 14):
                step(world)
                step(other)
                number = other.stats().last_revision
                if number not in kept and draw.random() < 0.4:
                    kept[number] = said(other)
            for number, wanted in kept.items():
                with world.at(number) as past:
                    found = said(past)
                    for name, value in wanted.items():
                        assert found[name] == value, (seed, number, name)
                    assert past.check()
                    assert [one.revision for one in past.history()] == [
                        one.revision for one in world.history() if one.revision <= number
                    ]


def test_the_past_answers_queries_that_search_and_is_not_changed(tmp_path: Path) -> None:
    with opened(tmp_path / "kb.db") as world:
        world.add(
            [(EX + "a", RDFS.label, Literal("a stone bridge")), (EX + "a", URIRef(EX + "over"), Literal("the Rhine"))],
            author="ann",
        )
        world.remove(list(world.quads(EX + "a")))
        world.add([(EX + "b", RDFS.label, Literal("a new bridge"))])
        past = world.at(1)
        query = "SELECT ?s { SERVICE w:search { ?hit w:query 'bridge' ; w:subject ?s } }"
        assert {str(row[0]) for row in past.query(query)} == {EX + "a"}  # type: ignore[union-attr]
        assert {str(hit.subject) for hit in past.search("bridge")} == {EX + "a"}
        assert past.describe(EX + "a").label == "a stone bridge"
        assert "the Rhine" in past.context("what is the stone bridge over?").text
        assert [one.author for one in past.history()] == ["ann"]
        assert past.revisions.provenance(EX + "a")[0].added == past.history()[0]
        assert not past.search("new", mode="text")
        assert past.only(graphs=["default"]).search("bridge")
        world.file.compact()  # the vector of the text that is gone may be, too
        assert [str(hit.subject) for hit in world.at(1).search("bridge", mode="text")] == [EX + "a"]
        assert {str(hit.subject) for hit in past.search("bridge")} == {EX + "a"}
        for verb in VERBS.values():
            if verb.effect != "reads":
                with pytest.raises(ReadOnlyError, match="cannot be changed"):
                    verb.of(past)()
        settings = {"policy": past, "embedder": past, "default_graph": past.file, "retention": past.revisions}
        for name, room in {**settings, "guard": past.shapes}.items():
            with pytest.raises(ReadOnlyError, match="cannot be changed"):
                setattr(room, name, None)
        with pytest.raises(ReadOnlyError, match="cannot be changed"), past.transaction():
            pass
        with pytest.raises(ReadOnlyError, match="cannot be changed"):
            past.shapes.add([(EX + "s", RDF.type, URIRef("http://www.w3.org/ns/shacl#NodeShape"))])
        past.close()
        assert past.search("bridge")
        world.revisions.prune(3)
        assert past.search("bridge"), "it was read before"
        past.close()
        with pytest.raises(WorldsError, match="revision 1 is forgotten"):
            past.search("bridge")


def test_views_combine_in_any_order(tmp_path: Path) -> None:
    with opened(tmp_path / "kb.db") as world:
        world.facts.state(EX + "a", EX + "head", EX + "ann", valid_from="2001", valid_to="2009", graph=EX + "g")
        world.facts.state(EX + "a", EX + "head", EX + "bob", valid_from="2010", graph=EX + "g")
        world.facts.state(EX + "b", EX + "head", EX + "cy", valid_from="2001", valid_to="2009")
        world.remove(list(world.quads(graph=EX + "g")))
        steps: dict[str, Callable[[World], World]] = {
            "only": lambda view: view.only(graphs=EX + "g"),
            "at": lambda view: view.at(2),
            "as of": lambda view: view.as_of("2005"),
        }
        told = set()
        for order in itertools.permutations(steps):
            view = world
            for name in order:
                view = steps[name](view)
            heads = tuple(sorted(str(quad[2]) for quad in view.quads(predicate=EX + "head")))
            told.add((view.file.view.revision, view.file.view.time, view.file.view.graphs, heads))
        ((revision, _, graphs, heads),) = told
        assert (revision, graphs, heads) == (2, (ox.NamedNode(EX + "g"),), (EX + "ann",))


def test_threads_read_several_revisions_and_close_them(tmp_path: Path) -> None:
    with opened(tmp_path / "kb.db") as world:
        for number in range(5):
            world.add([(f"{EX}{number}", RDFS.label, Literal(f"the bridge {number}"))])
        wrong: list[object] = []

        def work(first: int) -> None:
            try:
                for turn in range(12):
                    number = (first + turn) % 5 + 1
                    view = world.at(number)
                    assert len(view) == number
                    assert len(view.query("SELECT ?s { ?s ?p ?o }")) == number  # type: ignore[arg-type]
                    assert len(view.search("bridge", limit=9)) == number
                    if turn % 4 == 3:
                        view.close()
            except BaseException as error:
                wrong.append(error)

        threads = [threading.Thread(target=work, args=(first,)) for first in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert wrong == []
        assert not [thread for thread in threads if thread.is_alive()]


def test_a_query_that_waits_for_a_view_keeps_nobody_from_the_world(tmp_path: Path) -> None:
    """A thread that reads a world of the past looks at the world: a query that kept it from it would wait for ever."""
    query = "SELECT ?s { ?s ?p ?o }"
    with opened(tmp_path / "kb.db") as world:
        world.add([(EX + "1", RDFS.label, Literal("the bridge"), EX + "g")])
        past = world.at(1)
        for ask in (past.query, past.explain):
            waiting = threading.Thread(target=ask, args=(query,))
            reading = threading.Thread(target=world.count)
            with connection_of(past).lock:
                waiting.start()
                waiting.join(0.1)
                assert waiting.is_alive()
                reading.start()
                reading.join(60)
                assert not reading.is_alive()
            waiting.join(60)
            assert not waiting.is_alive()


def test_a_revision_that_is_being_read_keeps_its_copy_while_others_are_read(tmp_path: Path) -> None:
    with opened(tmp_path / "kb.db") as world:
        for number in range(6):
            world.add([(f"{EX}{number}", RDFS.label, Literal(f"the bridge {number}"))])
        first = world.at(1)
        connection = connection_of(first)
        with connection.snapshot():
            before = connection.value("SELECT count(*) FROM quads")
            for number in range(2, 7):
                assert len(world.at(number)) == number
            assert connection.value("SELECT count(*) FROM quads") == before == 1
        for number in range(2, 7):
            assert len(world.at(number)) == number
        assert connection.value("SELECT count(*) FROM quads") == 0, "it gave its copy back"
        assert len(first) == 1


@pytest.mark.parametrize("read", ["quads", "a patch"])
def test_a_reader_of_a_revision_outlives_the_copy_that_it_was_read_from(path: Path, read: str) -> None:
    """Copies of three revisions are kept: what others read between two blocks of a reader takes its copy away."""
    with worlds.open(path, embedder=None) as world:
        world.load("".join(f"<urn:s{n}> <urn:p> <urn:o{n}> .\n" for n in range(500)).encode(), format="nt")
        expected = [*world.quads()] if read == "quads" else [*world.diff(0, 1).pieces()]
        for n in range(4):
            world.add([("urn:x", "urn:y", f"urn:z{n}")])
        past = world.at(1)
        reader = past.quads() if read == "quads" else past.diff(0, 1).pieces()
        found: list[Any] = [next(reader)]
        world.update("DELETE WHERE { ?s <urn:p> ?o }")
        for revision in (2, 3, 4):
            assert len(world.at(revision)) == 499 + revision
        assert [*found, *reader] == expected
