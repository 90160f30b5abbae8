"""compact() gives space back and loses nothing, also where it is interrupted, and beside other processes."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import worlds
from tests.support import tables
from tests.support.drivers import NATIVE, PLANS, RECALL, native
from tests.support.embedder import HashingEmbedder
from tests.support.forking import Forked
from worlds import ReadOnlyError, World, WorldsError
from worlds.records import TextPolicy

EX = "http://example.org/"
WORDS = ("red", "grey", "old", "kite", "heron", "river", "stone", "north", "seven", "light", "cloud", "winter")


def text(number: int) -> str:
    chosen = random.Random(number)
    return f"{' '.join(chosen.choices(WORDS, k=8))} {number}"


def quads(numbers: range) -> list[tuple[str, str, str]]:
    return [(f"{EX}{n}", "rdfs:label", f'"{text(n)}"') for n in numbers]


def exported(world: World) -> set[bytes]:
    out = io.BytesIO()
    world.export(out)
    return set(out.getvalue().splitlines())


def terms(world: World) -> set[str]:
    return {str(value) for (value,) in tables.rows(world, "SELECT value FROM terms")}


def nearest_by_index(world: World, query: NDArray[np.float32], count: int) -> list[int]:
    sql = "SELECT id FROM vector_top_k('vectors_embedding', ?1, ?2)"
    return [number for (number,) in tables.rows(world, sql, (query.tobytes(), count))]


def assert_sound(world: World) -> None:
    report = world.check()
    assert report.ok, str(report)
    if report.checked.get("vectors"):
        assert report.recall == RECALL
    stored = tables.rows(world, "SELECT id, embedding FROM vectors")
    vectors = np.frombuffer(b"".join(blob for _, blob in stored), dtype="<f4").reshape(len(stored), -1)
    for row in range(0, len(stored), 7):
        best = [stored[position][0] for position in np.argsort(-(vectors @ vectors[row]), kind="stable")[:5]]
        if NATIVE:
            assert set(best[:1]) <= set(nearest_by_index(world, vectors[row], 5))
            assert set(best) <= set(nearest_by_index(world, vectors[row], 400))


def test_it_gives_space_back_and_keeps_what_is_there(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.add(quads(range(300)))
        world.remove(quads(range(100, 300)))
        before, size = exported(world), world.stats().bytes
        hits = [
            [hit.text for hit in world.search(text(n), limit=5, ranking=worlds.Ranking(plan="exact"))]
            for n in range(0, 100, 9)
        ]
        state = tables.rows(world, "SELECT id, term, vector FROM chunks")
        world.file.compact()
        assert exported(world) == before
        assert world.stats().bytes < size * 0.7
        assert Path(f"{path}-wal").stat().st_size == 0
        assert world.stats().retired_vectors == 0
        assert world.stats().vector_index == NATIVE
        # What others remember by number is still so.
        assert tables.rows(world, "SELECT id, term, vector FROM chunks") == state
        assert [
            [hit.text for hit in world.search(text(n), limit=5, ranking=worlds.Ranking(plan="exact"))]
            for n in range(0, 100, 9)
        ] == hits
        for n in range(0, 100, 9):
            assert world.search(text(n), ranking=worlds.Ranking(plan=PLANS[-1]), mode="vector")[0].text == text(n)
            assert world.search(text(n), mode="text")[0].text == text(n)
        assert_sound(world)
        size = world.stats().bytes
        world.file.compact()
        assert world.stats().bytes == size
        assert_sound(world)
        world.add(quads(range(90, 120)))
        assert_sound(world)


def test_texts_that_are_gone_are_forgotten_and_those_that_are_there_are_not(world: World) -> None:
    world.add(quads(range(20)))
    world.remove(quads(range(10)))
    world.add([("urn:x", "urn:y", f'"{text(12)}"@en')])  # one vector for two literals
    world.file.compact()
    assert tables.value(world, "SELECT count(*) FROM embedded_texts") == 10
    assert world.add(quads(range(5, 8))).embedded == 3
    world.remove(quads(range(10, 20)))
    assert world.add(quads(range(10, 20))).embedded == 0
    world.file.compact()
    assert_sound(world)


def test_terms_go_when_nothing_needs_them(world: World) -> None:
    world.load(
        b"""@prefix ex: <http://example.org/> .
        ex:a ex:b "1"^^ex:typed , <<( ex:inner ex:deep <<( ex:s ex:p "leaf"@en )>> )>> .
        ex:graph { [] ex:c "label" . }""",
        format="trig",
    )
    world.add([(EX + "once", EX + "once", '"history"')])
    world.remove([(EX + "once", EX + "once", '"history"')])
    needed = terms(world)
    with world.transaction():  # it leaves no trace in the history
        passing = [
            (EX + "x", EX + "y", f'"z"^^<{EX}unknown>', EX + "elsewhere"),
            (EX + "x", EX + "y", '"passing text"'),
        ]
        world.add(passing)
        world.remove(passing)
    assert EX + "unknown" in terms(world)
    before = exported(world)
    world.file.compact()
    assert terms(world) == needed
    assert exported(world) == before
    assert_sound(world)
    # Without their history, what only the history needs goes too.
    tables.run(world, "DELETE FROM removed_quads WHERE true")
    world.file.compact()
    assert needed - terms(world) == {EX + "once", "history"}
    assert exported(world) == before


def test_no_number_is_ever_given_twice(world: World) -> None:
    world.add([("urn:a", "urn:b", "urn:c")])
    with world.transaction():
        world.load(b"[] <urn:passing> [] .", format="turtle")
        world.load(b"", format="turtle", mode="replace")
        world.add([("urn:a", "urn:b", "urn:c")])
    last = tables.value(world, "SELECT max(id) FROM terms")
    world.file.compact()
    assert tables.value(world, "SELECT max(id) FROM terms") == 3 < last
    world.load(b"[] <urn:b> <urn:c> .", format="turtle")
    assert tables.value(world, "SELECT max(id) FROM terms") > last
    world.file.compact()
    world.load(b"[] <urn:b> <urn:c> .", format="turtle")
    assert world.check().ok


def test_another_connection_learns_that_a_term_has_another_number(path: Path) -> None:
    with worlds.open(path, embedder=None) as world, worlds.open(path, embedder=None) as other:
        typed = [(EX + "a", "rdf:type", EX + "T"), (EX + "a", "rdfs:label", '"a thing"')]
        world.add([*typed, (EX + "b", "rdfs:label", '"a thing"')])
        assert len(other.search("thing", types=EX + "T")[0].quads) == 1
        world.remove(typed[:1])
        tables.run(world, "DELETE FROM removed_quads WHERE true")  # as if the history were pruned
        world.file.compact()
        assert EX + "T" not in terms(world)
        world.add(typed)
        assert [str(hit.subject) for hit in other.search("thing", types=EX + "T")] == [EX + "a"]
        other.policy = TextPolicy(exclude=frozenset({EX + "T"}))
        assert len(other.search("thing", types=EX + "T")) == 1


def test_other_connections_go_on(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world, worlds.open(path, embedder=HashingEmbedder()) as other:
        world.add(quads(range(50)))
        world.remove(quads(range(25, 50)))
        assert len(other) == 25
        assert other.query(f"ASK {{ <{EX}3> ?p ?o }}") is True
        assert other.search(text(3), ranking=worlds.Ranking(plan="codes"))[0].text == text(3)
        world.file.compact()
        assert len(other) == 25
        assert other.search(text(3), ranking=worlds.Ranking(plan="codes"))[0].text == text(3)
        assert other.search(text(3), ranking=worlds.Ranking(plan=PLANS[-1]))[0].text == text(3)
        assert other.add(quads(range(25, 30))).embedded == 5  # the vectors of these were forgotten
        assert other.query(f"ASK {{ <{EX}27> ?p ?o }}") is True
        assert world.query(f"ASK {{ <{EX}27> ?p ?o }}") is True
        other.file.compact()
        assert_sound(world)
        assert_sound(other)


@pytest.mark.parametrize("embedder", [None, HashingEmbedder()])
def test_a_world_without_a_native_index_gets_none(path: Path, embedder: HashingEmbedder | None) -> None:
    with worlds.open(path, embedder=embedder, vector_index=False) as world:
        world.file.compact()
        world.add(quads(range(20)))
        world.remove(quads(range(10)))
        world.file.compact()
        assert not world.stats().vector_index
        assert world.check().ok
        assert len(world.search(text(12), limit=3)) == 3


@native
def test_the_next_opening_for_writing_builds_a_missing_index(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.add(quads(range(60)))
        tables.run(world, "DROP INDEX vectors_embedding")
        tables.run(world, "DROP TABLE libsql_vector_meta_shadow")
        assert [problem.kind for problem in world.check().problems] == ["vector-index"]
    with worlds.open(path, embedder=None, read_only=True) as world:
        assert not world.stats().vector_index
    with worlds.open(path, embedder=None) as world:
        assert_sound(world)
        assert world.stats().vector_index == NATIVE
    with worlds.open(path, embedder=None, vector_index=False):
        pass
    with worlds.open(path, embedder=None) as world:
        assert not world.stats().vector_index


@native
def test_a_missing_index_is_built_by_compact(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.add(quads(range(60)))
        tables.run(world, "DROP INDEX vectors_embedding")
        world.file.compact()
        assert_sound(world)


@native
@pytest.mark.parametrize("times", [1, 2])
def test_an_index_that_another_program_broke_can_be_dropped_and_built(path: Path, times: int) -> None:
    """After VACUUM, DROP INDEX and CREATE INDEX would leave it silently empty."""
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.add(quads(range(60)))
        for _ in range(times):
            tables.run(world, "VACUUM")
    with worlds.open(path, embedder=HashingEmbedder(), vector_index=False) as world:
        assert world.check().ok
    with worlds.open(path, embedder=HashingEmbedder(), vector_index=True) as world:
        assert_sound(world)


def test_where_it_cannot_run(path: Path) -> None:
    with worlds.open(path, embedder=None) as world, world.transaction():
        world.add([("urn:a", "urn:b", "urn:c")])
        with pytest.raises(WorldsError, match="inside a transaction"):
            world.file.compact()
    with worlds.open(path, embedder=None, read_only=True) as world:
        with pytest.raises(ReadOnlyError):
            world.file.compact()
        assert len(world) == 1


CHILD = """
import sys
import worlds
from tests.support.embedder import HashingEmbedder
with worlds.open(sys.argv[1], embedder=HashingEmbedder()) as world:
    print("begin", flush=True)
    while True:
        world.file.compact()
        print("done", flush=True)
"""


def test_a_process_that_dies_in_it_loses_nothing(path: Path, long: bool) -> None:
    many = 4 if long else 2
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.add(quads(range(60)))
        world.remove(quads(range(30, 60)))
        with world.transaction():  # what makes the other steps as long as building the vector index
            for part in range(2):
                lines = [f"<urn:{n}> <urn:p> <urn:{part}-{n}> .\n" for n in range(8_000)]
                world.load("".join(lines).encode(), format="nt", mode="replace", graph="urn:g")
        before = exported(world)
        began = time.monotonic()
        world.file.compact()
        took = time.monotonic() - began
    for attempt in range(many):
        child = Forked([sys.executable, "-c", CHILD, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        assert child.stdout.readline() == "begin\n"
        time.sleep(took * (attempt + 0.5) / many)
        child.kill()
        child.wait()
        child.stdout.close()
        with worlds.open(path, embedder=HashingEmbedder()) as world:
            report = world.check()
            assert {problem.kind for problem in report.problems} <= {"vector-index", "index-recall"}, str(report)
            assert exported(world) == before
            if attempt % 2:  # else the next process finds it so
                world.file.compact()
                assert world.stats().vector_index == NATIVE
                assert world.check().ok
                world.add(quads(range(60, 70)))
                world.remove(quads(range(60, 70)))
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.file.compact()
        assert_sound(world)
        assert exported(world) == before


@native
def test_every_step_after_which_a_process_may_die_can_be_repaired(path: Path) -> None:
    for steps in (
        ["DROP INDEX vectors_embedding"],
        ["DROP INDEX vectors_embedding", "DROP TABLE libsql_vector_meta_shadow"],
        ["DROP INDEX vectors_embedding", "DROP TABLE libsql_vector_meta_shadow", "VACUUM"],
        ["VACUUM"],
    ):
        with worlds.open(path, embedder=HashingEmbedder()) as world:
            world.add(quads(range(60)))
            for step in steps:
                tables.run(world, step)
            assert [problem.kind for problem in world.check().problems] == ["vector-index"]
            world.add(quads(range(60, 70)))  # what is embedded meanwhile
            world.file.compact()
            assert_sound(world)
            world.remove(quads(range(60, 70)))
