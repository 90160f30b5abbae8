"""The native vector index: kept while it is cheap, built and dropped by a verb, and whole or not there."""

from __future__ import annotations

from pathlib import Path

import pytest

import worlds
from tests.support import seams, tables
from tests.support.drivers import native
from tests.support.embedder import HashingEmbedder
from tests.support.search_worlds import add_texts
from worlds import ReadOnlyError, World, WorldsError
from worlds.core.vectors.index import NativeIndex
from worlds.world import connection_of

WIDE = 384 * 2  # dimensions, of which "auto" keeps half as many vectors


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than 50 such vectors are kept in an index that was not asked for."""
    seams.build_few_native_indexes(monkeypatch, 100)


def fill(world: World, start: int, end: int) -> worlds.records.Change:
    return world.add([(f"urn:s{number}", "urn:p", f'"text number {number} of many"') for number in range(start, end)])


def state(world: World) -> tuple[int, bool]:
    assert world.check().ok
    stats = world.stats()
    return stats.vectors, stats.vector_index


@native
@pytest.mark.usefixtures("few")
def test_a_world_that_grows_leaves_it_out_and_says_so_once(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder(WIDE)) as world:
        assert fill(world, 0, 40).notes == ()
        assert state(world) == (40, True)
        (note,) = fill(world, 40, 55).notes
        assert "build_vector_index()" in note
        assert state(world) == (55, False)
        assert fill(world, 55, 60).notes == ()
        with pytest.raises(WorldsError, match=r"build_vector_index\(\)"):
            world.search("text", ranking=worlds.Ranking(plan="index"))
        world.remove(list(world.quads())[:50])  # small again
        world.file.compact()
    with worlds.open(path, embedder=HashingEmbedder(WIDE)) as world:
        assert state(world) == (10, False)


@pytest.mark.usefixtures("few")
def test_what_is_large_at_once_never_has_it() -> None:
    with worlds.open(embedder=HashingEmbedder(WIDE)) as world:
        assert len(fill(world, 0, 60).notes) == 1
        assert state(world) == (60, False)


@native
@pytest.mark.usefixtures("few")
def test_it_is_kept_at_any_size_where_it_was_asked_for(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder(WIDE), vector_index=True) as world:
        assert fill(world, 0, 60).notes == ()
        assert state(world) == (60, True)
    with worlds.open(path, embedder=HashingEmbedder(WIDE)) as world:
        fill(world, 60, 65)
        assert state(world) == (65, True)


@native
def test_it_is_built_later_and_dropped_again(path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    with worlds.open(path, embedder=HashingEmbedder(), vector_index=False) as world:
        assert world.file.build_vector_index() == 0
        world.file.drop_vector_index()
        fill(world, 0, 700)
        world.remove([("urn:s699", "urn:p", '"text number 699 of many"')])
        answers = [hit.text for hit in world.search("text 17", limit=3)]
        count = world.file.build_vector_index(progress=lambda *step: told.append(step))
        assert told[0] == ("vector index", 0, count)
        assert told[-1] == ("vector index", count, count)
        assert len(told) == 3
        assert state(world) == (count, True)
        assert [hit.text for hit in world.search("text 17", limit=3)] == answers
        assert len(world.search("text 17", ranking=worlds.Ranking(plan="index"), mode="vector")) == 10
        fill(world, 699, 720)  # one that is back, and new ones
        assert state(world)[1]
        world.file.drop_vector_index()
        assert not state(world)[1]
    with worlds.open(path, embedder=None, read_only=True) as world, pytest.raises(ReadOnlyError):
        world.file.build_vector_index()


@native
def test_an_interruption_leaves_the_world_as_it_was(path: Path) -> None:
    def stop(step: str, done: int, total: int | None) -> None:
        if done:
            raise KeyboardInterrupt

    with worlds.open(path, embedder=HashingEmbedder(), vector_index=False) as world:
        fill(world, 0, 600)
        with pytest.raises(KeyboardInterrupt):
            world.file.build_vector_index(progress=stop)
        assert not state(world)[1]
        add_texts(world, "one more")
        assert world.file.build_vector_index() == world.stats().vectors
        assert state(world)[1]
        with world.transaction(), pytest.raises(WorldsError, match="inside a transaction"):
            world.file.build_vector_index()


@native
def test_it_is_dropped_by_who_does_not_know_yet_that_the_file_was_rebuilt(path: Path) -> None:
    with (
        worlds.open(path, embedder=HashingEmbedder(), vector_index=True) as one,
        worlds.open(path, embedder=HashingEmbedder()) as other,
    ):
        index = NativeIndex(connection_of(other))
        for turn in range(3):
            add_texts(one, *(f"kite {turn} {number}" for number in range(30)))
            assert len(other) == len(one)
            one.remove(list(one.quads())[:20])
            one.file.compact()  # every table is elsewhere in the file now
            index.drop()
            index.mend()
            for world in (one, other):
                # libSQL's index of some twenty vectors may not reach all of them, and says so.
                assert {problem.kind for problem in world.check().problems} <= {"index-recall"}


@native
def test_one_that_a_killed_compaction_left_doubled_is_built_anew_at_opening(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder(), vector_index=True) as world:
        add_texts(world, "red kite", "grey heron")
        tables.run(world, "VACUUM")
        assert [problem.kind for problem in world.check().problems] == ["vector-index"]
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert world.check().ok
        assert world.stats().vector_index
