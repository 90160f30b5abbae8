"""Where the SPARQL index is: in memory, on disk, or on disk until its queries have taken long."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

import worlds
from tests.support import seams
from worlds import World
from worlds.world import connection_of

EX = "http://example.org/"


def path_with(tmp_path: Path, quads: int) -> Path:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.update(f"CREATE GRAPH <{EX}empty>")
        world.add([(f"{EX}{number}", f"{EX}n", f'"0{number}"^^xsd:integer', f"{EX}g") for number in range(quads)])
        world.add([("_:b", f"{EX}n", "_:c")])
    return path


def place(world: World) -> str:
    return world.explain("ASK {}", counts=False).index


def everything(world: World) -> set[str]:
    rows = world.query("SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }")
    graphs = world.query("SELECT ?g { GRAPH ?g {} }")
    assert isinstance(rows, worlds.records.Solutions)
    assert isinstance(graphs, worlds.records.Solutions)
    return {repr(tuple(row)) for found in (rows, graphs) for row in found}


def test_it_is_where_it_was_asked_for(tmp_path: Path) -> None:
    path = path_with(tmp_path, 20)
    with worlds.open(path, embedder=None, sparql_index="disk") as world:
        assert place(world) == "disk"
        whole = everything(world)
    with worlds.open(path, embedder=None, sparql_index="memory") as world:
        assert place(world) == "memory"
        assert everything(world) == whole
    with worlds.open(embedder=None, sparql_index="disk") as world:  # there is no file to put it beside
        assert place(world) == "memory"
    with pytest.raises(ValueError, match="sparql_index must be one of 'auto', 'memory', 'disk', not 'fast'"):
        worlds.open(path, sparql_index="fast")  # type: ignore[arg-type]  # that is what is tested


@pytest.mark.parametrize("page", [1, 2, 5, 7])
def test_it_is_built_from_pages_of_whole_subjects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: int) -> None:
    path = path_with(tmp_path, 3)
    rng = random.Random(page)
    with worlds.open(path, embedder=None) as world:
        for number in range(30):
            world.add([(f"{EX}{rng.choice((1, 2, 2, 2, 4))}", f"{EX}p", f"{EX}{number}", rng.choice((EX, f"{EX}g")))])
        followed = everything(world)  # from one page
    seams.read_quads_in_pages(monkeypatch, page)
    with worlds.open(path, embedder=None) as world:
        assert everything(world) == followed


def test_that_of_a_world_of_many_terms_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = path_with(tmp_path, 20)
    with worlds.open(path, embedder=None) as world:
        world.update(f'INSERT DATA {{ <{EX}s> <{EX}says> <<( <{EX}a> <{EX}n> "01"^^xsd:integer )>>, "1"@en, "x", 1 }}')
        whole = everything(world)
    seams.hold_few_terms(monkeypatch)
    for place in ("memory", "disk"):
        with worlds.open(path, embedder=None, sparql_index=place) as world:
            assert everything(world) == whole


def test_it_moves_once_its_queries_have_taken_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.keep_small_indexes_on_disk(monkeypatch, 10)
    path = path_with(tmp_path, 20)
    with worlds.open(path, embedder=None) as world:
        assert [place(world) for _ in range(3)] == ["disk"] * 3
        seams.move_indexes_to_memory_at_once(monkeypatch)
        told: list[tuple[str, int, int | None]] = []
        assert world.query(f"ASK {{ GRAPH <{EX}empty> {{}} }}", progress=lambda *step: told.append(step)) is True
        assert told == [("index", 0, 21)]
        assert place(world) == "memory"
        assert not list(Path(f"{path}-sparql").glob("copy-*"))
    with worlds.open(path, embedder=None, sparql_index="disk") as world:
        world.query("ASK {}")
        assert place(world) == "disk"


@pytest.mark.parametrize("slowly", [False, True])
def test_what_is_written_before_during_and_after_the_move_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slowly: bool
) -> None:
    seams.keep_small_indexes_on_disk(monkeypatch, 10)
    seams.move_indexes_to_memory_at_once(monkeypatch)
    if slowly:
        seams.move_indexes_slowly(monkeypatch)
    path = path_with(tmp_path, 30)
    chosen = random.Random(3)
    with worlds.open(path, embedder=None) as world, worlds.open(path, embedder=None) as other:
        for turn in range(12):
            writer = chosen.choice([world, other])
            quads = list(writer.quads())
            with contextlib.suppress(KeyError), writer.transaction():
                writer.remove(chosen.sample(quads, 5))
                writer.add([(f"{EX}{turn}", f"{EX}m", 0, f"{EX}g")])  # another form of "00"
                raise KeyError
            writer.remove(chosen.sample(quads, 2))
            writer.add([(f"{EX}{turn}", f"{EX}m", f'"{turn}.0"^^xsd:decimal', f"{EX}g{turn % 3}")])
            if turn % 4 == 0:
                writer.update(f"CREATE GRAPH <{EX}e{turn}>")
            asked = chosen.choice([world, other])
            with worlds.open(path, embedder=None, sparql_index="memory") as fresh:
                assert everything(asked) == everything(fresh)
        assert {place(world), place(other)} == {"memory"}
        assert world.check().ok


def test_a_world_that_was_restored_to_another_revision_of_the_same_number(tmp_path: Path) -> None:
    path = path_with(tmp_path, 3)
    with worlds.open(path, embedder=None) as world, worlds.open(path, embedder=None) as other:
        assert world.query(f"ASK {{ ?s <{EX}n> _:b }}") is True
        connection = connection_of(other)
        with connection.transaction():
            connection.run("DELETE FROM quads WHERE graph = 0 AND subject <> 0")
            connection.run("UPDATE revisions SET time = '2001-01-01T00:00:00.000+00:00'")
        assert world.query(f"ASK {{ ?s <{EX}n> _:b }}") is False
