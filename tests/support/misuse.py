"""What the tests of wrong and unlucky use share."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rdflib

import worlds
from tests.support import tables
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import problems
from worlds import World
from worlds.graph.terms import WELL_KNOWN_PREFIXES
from worlds.records import TextPolicy

EX = "http://example.org/"
P = EX + "p"
LINE = b'<http://example.org/new> <http://example.org/p> "a new text" .\n'
A_QUAD = (EX + "new", P, '"a new text"')


class Thing:
    """Nothing that any method takes; its repr is the same in every process, as the names of tests must be."""

    def __repr__(self) -> str:
        return "<a thing>"


def state(world: World) -> tuple[object, ...]:
    """All that a write could change."""
    target = io.BytesIO()
    world.export(target)
    return (
        sorted(target.getvalue().splitlines()),
        *(
            tables.rows(world, f"SELECT * FROM {table} ORDER BY 1")
            for table in ("revisions", "removed_quads", "prefixes", "meta", "chunks", "chunks_fts_docsize")
        ),
    )


def files_of(path: Path) -> set[str]:
    """The world's own files, and any that were left behind beside it."""
    return {item.name for item in path.parent.iterdir()}


class Stream:
    """Gives one good line, and then does what it is told."""

    def __init__(self, then: Callable[[], object]) -> None:
        self._then: list[Callable[[], object]] = [lambda: LINE, then]

    def read(self, _: int = -1) -> object:
        return self._then.pop(0)()


def fail(kind: type[Exception] = ZeroDivisionError) -> Any:
    raise kind("told to fail")


def made(path: Path, count: int = 200, **options: Any) -> Path:
    """A world of some size, closed."""
    with worlds.open(path, **{"embedder": HashingEmbedder(), **options}) as world:
        world.load(
            b"".join(
                b'<http://example.org/%d> <http://example.org/p> "the red kite number %d flies over the hills"@en .\n'
                % (number, number)
                for number in range(count)
            ),
            format="nt",
        )
    return path


def writes(world: World) -> list[Callable[[], object]]:
    """Every verb that writes."""

    def policy() -> None:
        world.policy = TextPolicy(exclude=frozenset([P]))

    def transaction() -> None:
        with world.transaction():
            pass

    return [
        lambda: world.add([A_QUAD]),
        lambda: world.add([]),
        lambda: world.remove([(EX + "1", P, '"the red kite number 1 flies over the hills"@en')]),
        lambda: world.load(LINE, format="nt"),
        lambda: world.load(b"", format="nt", mode="replace"),
        lambda: world.embed(rebuild=True),
        lambda: world.bind("mine", EX),
        world.file.compact,
        lambda: world.update(f'INSERT DATA {{ <{EX}new> <{P}> "a new text" }}'),
        lambda: world.update(f"CREATE GRAPH <{EX}new>"),
        lambda: world.undo(1),
        lambda: world.revisions.apply(b'A <http://example.org/new> <http://example.org/p> "a new text" .\n'),
        lambda: world.revisions.prune(1),
        policy,
        transaction,
    ]


def reads(world: World) -> None:
    """Every verb that reads."""
    hits = world.search("kite number 1", where="?subject ?p ?o", subjects=EX + "1")
    assert hits[0].quads[0][0] == rdflib.URIRef(EX + "1")
    assert "**kite**" in hits[0].snippet
    assert hits.explain.mode == "hybrid"
    assert world.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")[0].n.toPython() == 3  # type: ignore[index]  # solutions
    assert world.export(io.BytesIO()) == len(world) == world.stats().quads == 3
    assert world.prefixes == WELL_KNOWN_PREFIXES
    assert world.policy == TextPolicy()
    assert world.search_sql("kite")[0].sql
    assert problems(world) == []
