"""Several worlds at once, and results that outlive what they came from."""

from __future__ import annotations

import copy
import io
import pickle
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rdflib

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.odd_input import EX, P, exported, select, texts
from tests.support.oracle import problems
from worlds import OpenError, World
from worlds.records import Change


def test_two_worlds_at_once(tmp_path: Path) -> None:
    embedder = HashingEmbedder()
    with (
        worlds.open(tmp_path / "a.db", embedder=embedder) as a,
        worlds.open(tmp_path / "b.db", embedder=embedder) as b,
        worlds.open(embedder=embedder) as c,
        worlds.open(embedder=embedder) as d,
    ):
        with pytest.raises(ZeroDivisionError), a.transaction():
            a.add([(EX + "a", P, '"kite in a"')])
            with b.transaction(), c.transaction():
                b.add([(EX + "b", P, '"kite in b"')])
                c.load(exported(b), format="nq")
            d.load(exported(c), format="nq")
            raise ZeroDivisionError
        for world, found in ((a, []), (b, ["kite in b"]), (c, ["kite in b"]), (d, ["kite in b"])):
            assert texts(world, "kite") == found
            assert problems(world) == []


def test_writes_by_turns_through_two_worlds_of_one_file(path: Path) -> None:
    one = worlds.open(path, embedder=HashingEmbedder())
    other = worlds.open(path, embedder=HashingEmbedder())
    for number in range(20):
        writer, reader = (one, other) if number % 2 else (other, one)
        assert writer.add([(f"{EX}{number}", P, f'"kite number{number}"')]).revision == number + 1
        assert len(reader.search("kite", limit=100)) == number + 1
        assert texts(reader, f"number{number}") == [f"kite number{number}"]
        assert reader.query(f"ASK {{ <{EX}{number}> ?p ?o }}") is True
    one.close()
    assert other.add([(EX, P, '"kite still open"')]).revision == 21
    other.close()
    assert [item.name for item in path.parent.iterdir()] == [path.name]


def test_an_iterable_that_uses_the_world(world: World) -> None:
    world.add([(EX + "1", P, '"red kite"')])

    def quads() -> Iterator[tuple[str, str, str]]:
        for hit in world.search("kite"):
            yield (str(hit.subject), EX + "q", f'"{hit.text} again"')
        world.add([(EX + "2", P, '"blue kite"')])
        for row in select(world, "SELECT ?o { ?s ?p ?o FILTER CONTAINS(?o, 'blue') }"):
            yield (EX + "3", EX + "q", f'"{row.o} too"')

    assert world.add(quads()) == Change(3, 2, 0, 2, 2)
    assert set(texts(world, "kite")) == {"red kite", "red kite again", "blue kite", "blue kite too"}


def test_sources_of_all_kinds_in_one_list(world: World, path: Path) -> None:
    path.with_name("a.ttl").write_bytes(b'<http://a/1> <http://a/p> "kite in a file" .')
    graph = rdflib.Graph().parse(data='<http://a/2> <http://a/p> "kite in a graph" .', format="turtle")
    change = world.load(
        [
            path.with_name("a.ttl"),
            graph,
            b'<http://a/3> <http://a/p> "kite in bytes" .',
            io.BytesIO(b'<http://a/4> <http://a/p> "kite in a stream" .'),
            io.StringIO('<http://a/5> <http://a/p> "kite in a téxt" .'),
            bytearray(b'<http://a/6> <http://a/p> "kite in a bytearray" .'),
            b"",
            [],
            (b"# nothing\n",),
        ]
    )
    assert (change.revision, change.added) == (1, 6)
    assert len(world.search("kite")) == 6
    assert world.load([]).revision is None
    assert world.load(io.BytesIO()).revision is None


def copies(value: Any) -> list[Any]:
    return [pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)]


def test_results_can_be_copied_and_pickled(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.load(
            b'<http://a/1> <http://a/p> "red kite"@he--rtl , "blue kite"@en , 1 .',
            format="turtle",
        )
        results = world.search("kite", explain=True)
        solutions: Any = world.query("SELECT * { ?s ?p ?o OPTIONAL { ?s <http://a/none> ?none } }")
        triples: Any = world.query("CONSTRUCT WHERE { ?s ?p ?o }")
        copied = [copies(value) for value in (results, results[0], solutions, solutions[0], triples)]
        change = world.add([(EX, P, '"x"')])
        stats = world.stats()
        assert copies(change) == [change] * 3
        assert copies(stats) == [stats] * 3
        assert copies(world.policy) == [world.policy] * 3
        for shallow in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(
                TypeError, match="cannot be copied or sent to another process: open it there by its path"
            ):
                shallow(world)
    for found in copied[0]:
        assert list(found) == list(results)
        assert found.explain.plan == results.explain.plan
        assert found.notes == ()
    for hit in (copied[1][0], copied[1][1], copied[1][2]):
        assert hit == results[0]
        assert hit.quads[0][0] == rdflib.URIRef("http://a/1")
        assert "**kite**" in hit.snippet
        assert hit.to_dict()["explain"]["text"]["rank"] >= 1
    for found in copied[2]:
        assert found.to_dicts() == solutions.to_dicts()
        assert found.serialize("xml") == solutions.serialize("xml")
    for row in copied[3]:
        assert row == solutions[0]
        assert row.none is None
    for found in copied[4]:
        assert set(found) == set(triples)


def test_results_stay_as_they_were_read(world: World) -> None:
    world.add([(EX + "1", P, '"red kite"'), (EX + "2", P, '"red kite"')])
    (hit,) = world.search("kite")
    solutions: Any = world.query("SELECT * { ?s ?p ?o }")
    triples: Any = world.query("CONSTRUCT WHERE { ?s ?p ?o }")
    world.remove([(EX + "1", P, '"red kite"'), (EX + "2", P, '"red kite"')])
    world.add([(EX + "3", P, '"another"')])
    assert len(solutions) == len(triples) == len(hit.quads) == 2
    assert hit.text == "red kite"


def test_a_world_closed_by_one_thread_while_another_reads(path: Path) -> None:
    world = worlds.open(path, embedder=HashingEmbedder())
    world.add([(f"{EX}{n}", P, f'"kite {n}"') for n in range(200)])
    ended: list[BaseException | None] = []

    def read() -> None:
        uses: list[Callable[[], object]] = [
            lambda: world.search("kite"),
            lambda: world.query("SELECT * { ?s ?p ?o }"),
            lambda: len(world),
        ]
        try:
            while True:
                for use in uses:
                    use()
        except BaseException as error:
            ended.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    world.close()
    for thread in threads:
        thread.join(20)
    assert len(ended) == 4
    for error in ended:
        assert isinstance(error, OpenError)
