"""Writes that fail leave nothing, and each revision says who wrote what."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import worlds
from tests.support import tables
from tests.support.drivers import PLANS
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import (
    UndoneError,
    problems,
    rolled_back,
)
from tests.support.readback import (
    EX,
    expect_vectors,
    exported,
    iri,
    nquads,
    queried,
    removed_quads,
    revisions,
    stored_quads,
)
from worlds import World
from worlds.records import TextPolicy

# --- failures leave nothing -------------------------------------------------------------------------------------------


def test_an_iterator_that_fails_adds_nothing(world: World) -> None:
    def failing() -> Iterator[tuple[Any, ...]]:
        yield iri("s"), iri("p"), ox.Literal("kite")
        raise UndoneError

    with pytest.raises(UndoneError):
        world.add(failing())
    for wrong in [("s",), (iri("s"), iri("p"), "no term"), (ox.Literal("s"), iri("p"), iri("o")), 5, "text"]:
        with pytest.raises((ValueError, TypeError)):
            world.add([(iri("s"), iri("p"), ox.Literal("kite")), wrong])  # type: ignore[list-item]  # that is tested
    assert len(world) == 0
    assert revisions(world) == []
    assert problems(world) == []


@pytest.mark.parametrize("error", [UndoneError, KeyboardInterrupt, SystemExit])
def test_a_transaction_that_is_interrupted_leaves_nothing(world: World, error: type[BaseException]) -> None:
    world.add([(iri("s"), iri("p"), ox.Literal("kite"))])
    before = (revisions(world), set(exported(world)), queried(world))

    def write() -> None:
        with world.transaction():
            world.load(b'<http://example.org/s> <http://example.org/p> "heron" .', format="ttl", mode="replace")
            assert len(world.search("heron", mode="text")) == 1
            raise error

    with pytest.raises(error):
        write()
    assert (revisions(world), set(exported(world)), queried(world)) == before
    assert len(world.search("kite", mode="text")) == 1
    assert world.add([(iri("s"), iri("p"), ox.Literal("river"))]).revision == 2


def many_quads(count: int, *, first: int = 0) -> bytes:
    """N-Triples, long enough for the ways of loading in bulk."""
    lines = (
        f'<{EX}s{number}> <{EX}p{number % 7}> "text number {number}" .\n' for number in range(first, first + count)
    )
    return "".join(lines).encode()


@pytest.mark.slow
def test_a_bulk_load_is_whole_or_nothing(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        with pytest.raises(worlds.ParseError) as caught:
            world.load(many_quads(1_000) + b"<oops", format="nt")
        assert caught.value.line == 1_001
        with rolled_back(world):
            world.load(many_quads(21_000), format="nt")
            assert len(world.search("20999", mode="text")) == 1
        assert (len(world), revisions(world), problems(world)) == (0, [], [])
        assert len(world.search("20999", mode="text")) == 0

        change = world.load(many_quads(21_000), format="nt")
        assert (change.added, change.chunks) == (21_000, 21_000)
        assert len(queried(world)) == 21_000
        change = world.load(many_quads(22_500, first=20_500), format="nt")  # more than there was
        assert (change.added, change.chunks) == (22_000, 22_000)
        change = world.load(many_quads(2_000, first=42_000), format="nt", mode="replace")
        assert (change.added, change.removed) == (1_000, 42_000)
        assert revisions(world) == [(1, 21_000, 0), (2, 22_000, 0), (3, 1_000, 42_000)]
        assert {str(quad.subject)[1:-1] for quad in exported(world)} == {f"{EX}s{n}" for n in range(42_000, 44_000)}
        assert len(world) == len(queried(world)) == 2_000
        assert len(world.search("41999 42000 43999", mode="text")) == 2
        assert problems(world) == []


def test_a_failing_embedder_leaves_texts_pending_and_loses_nothing(path: Path) -> None:
    embedder = HashingEmbedder(fail_after=300)
    quads = [(iri(f"s{number}"), iri("p"), ox.Literal(f"text number {number}")) for number in range(1000)]
    with worlds.open(path, embedder=embedder) as world:
        with contextlib.suppress(worlds.EmbedderError):
            world.add(quads)
        assert len(world) == 1000
        assert len(world.search("999", mode="text")) == 1
        assert world.stats().pending == 1000 - embedder.documents
        assert problems(world) == []
    embedder.fail_after = None
    with worlds.open(path, embedder=embedder) as world:
        assert world.embed() == 1000 - 256
        assert embedder.documents == 1000, "no text is embedded twice"
        assert world.stats().pending == 0
        expect_vectors(world)
        assert problems(world) == []


def test_a_text_that_comes_back_is_not_embedded_again(world: World) -> None:
    assert isinstance(world.embedder, HashingEmbedder)
    held = [(iri("s"), iri("p"), ox.Literal("kite")), (iri("s"), iri("q"), ox.Literal("heron"))]
    for _ in range(3):
        assert world.add(held).chunks == 2
        assert world.search("kite", mode="vector", ranking=worlds.Ranking(plan="codes"))[0].text == "kite"
        assert world.search("kite", mode="vector", ranking=worlds.Ranking(plan=PLANS[-1]))[0].text == "kite"
        world.remove(held)
    assert world.embedder.documents == 2


# --- who wrote what ---------------------------------------------------------------------------------------------------


def test_revisions_say_who_and_why(world: World) -> None:
    with world.transaction(author="ann", message="all of it"):
        world.add([(iri("s"), iri("p"), ox.Literal("kite"))], author="bob", message="a part")
        with world.transaction(author="cid"):
            world.add([(iri("s"), iri("p"), ox.Literal("heron"))])
    world.remove([(iri("s"), iri("p"), ox.Literal("kite"))], author="bob")
    rows = tables.rows(world, "SELECT revision, author, message, added, removed, time FROM revisions ORDER BY 1")
    assert [row[:5] for row in rows] == [(1, "ann", "all of it", 2, 0), (2, "bob", None, 0, 1)]
    times = [datetime.fromisoformat(row[5]) for row in rows]
    assert times == sorted(times)
    assert all(time.tzinfo == UTC for time in times)
    assert abs(times[0] - datetime.now(UTC)).total_seconds() < 60


def test_a_quad_that_is_removed_and_put_back_keeps_its_revision(world: World) -> None:
    kite, heron, river = (ox.Quad(iri("s"), iri("p"), ox.Literal(text)) for text in ("kite", "heron", "river"))
    world.add([kite])
    world.add([heron])
    with world.transaction():
        assert world.remove([kite, heron]).removed == 2
        assert world.add([kite, river]).added == 2
        with world.transaction():
            world.remove([kite])
            world.add([kite, heron])
        world.remove([heron])
    assert stored_quads(world) == {kite: 1, river: 3}
    assert removed_quads(world) == [(heron, 2, 3)]
    assert revisions(world) == [(1, 1, 0), (2, 1, 0), (3, 1, 1)]
    with world.transaction():
        world.remove([kite, river])
        world.add([river, kite])
    assert len(revisions(world)) == 3, "nothing changed"
    assert stored_quads(world) == {kite: 1, river: 3}


def test_a_replacing_load_touches_only_what_differs(world: World) -> None:
    first = ox.Quad(iri("s"), iri("p"), ox.Literal("kite"), iri("g"))
    second = ox.Quad(iri("s"), iri("p"), ox.Literal("heron"), iri("g"))
    other = ox.Quad(iri("s"), iri("p"), ox.Literal("heron"), iri("h"))
    world.load(nquads([first, second, other]), format="nq")
    change = world.load(nquads([second]), format="nq", mode="replace")
    assert (change.added, change.removed, change.chunks, change.embedded) == (0, 1, 0, 0)
    assert stored_quads(world) == {second: 1, other: 1}
    assert world.load(nquads([second]), format="nq", mode="replace").revision is None
    assert world.load(b"", format="nq", mode="replace", graph=iri("g")).removed == 1
    assert stored_quads(world) == {other: 1}


def test_a_read_only_world_refuses_every_write(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.add([(iri("s"), iri("p"), ox.Literal("kite"))])
    with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world:
        writes: list[Callable[[], object]] = [
            lambda: world.add([(iri("s"), iri("p"), iri("o"))]),
            lambda: world.add([]),
            lambda: world.remove([(iri("s"), iri("p"), ox.Literal("kite"))]),
            lambda: world.load(b"", format="nt"),
            lambda: world.bind("ex", EX),
            lambda: world.embed(),
            lambda: setattr(world, "policy", TextPolicy(exclude=frozenset([EX + "p"]))),
        ]
        for write in writes:
            with pytest.raises(worlds.ReadOnlyError):
                write()
        assert len(world.search("kite")) == 1
        assert queried(world) == [ox.Quad(iri("s"), iri("p"), ox.Literal("kite"))]
        assert problems(world) == []
