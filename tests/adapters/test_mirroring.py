"""A mirror in another SPARQL engine has what the world has; the engine here is a second `worlds serve`."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from rdflib import BNode, URIRef

import worlds
from tests.support.command_line import ok, run
from tests.support.serving import Served, served
from worlds import ConflictError, OpenError, World, WorldsError
from worlds.adapters.mirroring import BLANK, STATE_GRAPH, Mirror

EX = "http://example.org/"
TEXT = f"""
<{EX}a> <{EX}p> "red \\"kite\\"\\n\\u00e9"@en .
<{EX}a> <{EX}n> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .
<{EX}a> <{EX}q> _:b <{EX}g> .
_:b <{EX}r> "in a graph" <{EX}g> .
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("engine")
    worlds.open(folder / "engine.db", embedder=None).close()
    with served(folder / "engine.db", "--allow-writes") as server:
        yield server


@pytest.fixture
def endpoint(engine: Served) -> str:
    """Of the engine, emptied."""
    with engine.client() as client:
        client.post("/sparql", content="DROP ALL", headers={"content-type": "application/sparql-update"})
    return f"{engine.url}/sparql"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with worlds.open(tmp_path / "kb.db", embedder=None) as made:
        made.load(TEXT.encode(), format="nq")
        yield made


def quads(engine: Served) -> set[tuple[Any, ...]]:
    with worlds.open(engine.log.parent / "engine.db", embedder=None, read_only=True) as read:
        return {quad for quad in read.quads() if str(quad[3]) != STATE_GRAPH}


def wanted(world: World) -> set[tuple[Any, ...]]:
    """The world's quads with IRIs for blank nodes."""
    return {tuple(URIRef(BLANK + term) if isinstance(term, BNode) else term for term in quad) for quad in world.quads()}


class Cutting:
    """Forwards to the engine, but for one update, which it does not answer, done or not."""

    def __init__(self, engine: Served) -> None:
        self.left = -1  # updates until the one that is not answered; below 0 it never comes
        self.done = True  # whether that is done
        cutting = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                cut = False
                if "update" in self.headers["content-type"]:
                    cutting.left -= 1
                    cut = cutting.left == 0
                if not cut or cutting.done:
                    headers = {name: self.headers[name] for name in ("content-type", "accept")}
                    answer = httpx.post(f"{engine.url}/sparql", content=body, headers=headers, timeout=60)
                if cut:
                    self.close_connection = True
                    return
                self.send_response(answer.status_code)
                self.send_header("content-length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def test_it_follows_every_kind_of_write(engine: Served, endpoint: str, world: World) -> None:
    with Mirror(world, endpoint) as mirror:
        assert mirror.step() == 4
        assert quads(engine) == wanted(world)
        assert any(str(quad[0]).startswith(BLANK) for quad in quads(engine))
        assert mirror.step() == 0
        world.update(f"DELETE WHERE {{ <{EX}a> <{EX}n> ?n }} ; CREATE GRAPH <{EX}empty>")
        world.add([(f"{EX}c", f"{EX}p", f'"{number}"') for number in range(2500)])
        world.undo(1, force=True)
        assert mirror.step() == 2500 + 4
        assert quads(engine) == wanted(world)
        assert mirror.verify(sample=60) == []


@pytest.mark.parametrize("done", [True, False])
def test_it_goes_on_after_a_break(engine: Served, endpoint: str, world: World, done: bool) -> None:
    relay = Cutting(engine)
    relay.done = done
    texts = ["red kite " * 20 + str(number) for number in range(5000)]
    with Mirror(world, relay.address) as mirror:
        for broken in (1, 2, 3):
            world.update(f"DELETE WHERE {{ ?s <{EX}t> ?o }}")
            world.add([(f"{EX}c{broken}", f"{EX}t", f'"{text}"') for text in texts])
            relay.left = broken
            with pytest.raises(OpenError, match="cannot be reached"):
                mirror.step()
            mirror.step()
            assert quads(engine) == wanted(world)
            assert mirror.step() == 0
    relay.close()


def test_a_world_that_was_restored_or_has_forgotten_is_sent_as_a_whole(
    engine: Served, endpoint: str, world: World, tmp_path: Path
) -> None:
    world.backup(tmp_path / "backup.db")
    with Mirror(world, endpoint) as mirror:
        mirror.step()
        world.add([(f"{EX}x", f"{EX}p", '"later"')])
        mirror.step()
    with worlds.open(tmp_path / "backup.db", embedder=None) as other, Mirror(other, endpoint) as mirror:
        other.add([(f"{EX}y", f"{EX}p", '"another past"')])
        mirror.step()
        assert quads(engine) == wanted(other)
        other.remove([(f"{EX}y", f"{EX}p", '"another past"')])
        other.add([(f"{EX}z", f"{EX}p", '"new"')])
        other.prune(5)
        mirror.step()
        assert quads(engine) == wanted(other)


def test_what_the_engine_says(engine: Served, endpoint: str, world: World) -> None:
    with engine.client() as client:
        insert = f"INSERT DATA {{ <{EX}own> <{EX}p> 1 }}"
        client.post("/sparql", content=insert, headers={"content-type": "application/sparql-update"})
    with Mirror(world, endpoint) as mirror:
        with pytest.raises(ConflictError, match="not of a mirror"):
            mirror.step()
        mirror.step(replace=True)
        assert quads(engine) == wanted(world)
    with engine.client() as client:
        for change in (
            f"INSERT DATA {{ GRAPH <{EX}h> {{ <{EX}s> <{EX}p> 1 }} }}",
            f"DELETE WHERE {{ <{EX}a> <{EX}p> ?o }}",
        ):
            client.post("/sparql", content=change, headers={"content-type": "application/sparql-update"})
    with Mirror(world, endpoint) as mirror:
        found = mirror.verify()
        assert len(found) == 3
        assert "alone" in "".join(found)
        assert "missing" in "".join(found)
    with Mirror(world, "http://127.0.0.1:9/sparql") as mirror, pytest.raises(OpenError, match="cannot be reached"):
        mirror.step()
    with Mirror(world, f"{engine.url}/nothing") as mirror, pytest.raises(WorldsError, match="answered 404"):
        mirror.step()


def test_it_follows_until_it_is_told(engine: Served, endpoint: str, world: World) -> None:
    told: list[int] = []
    over, came = threading.Event(), threading.Event()

    def tell(sent: int, error: WorldsError | None) -> None:
        assert error is None
        told.append(sent)
        came.set()

    with Mirror(world, endpoint) as mirror:
        thread = threading.Thread(target=mirror.follow, args=(0.05, over, tell))
        thread.start()
        assert came.wait(20)
        came.clear()
        world.add([(f"{EX}x", f"{EX}p", '"later"')])
        assert came.wait(20)
        over.set()
        thread.join()
    assert told == [4, 1]
    assert quads(engine) == wanted(world)


def test_the_command(engine: Served, endpoint: str, world: World) -> None:
    assert "4 quads" in ok("mirror", world.path, endpoint, "--once")
    assert "no difference" in ok("mirror", world.path, endpoint, "--verify")
    world.add([(f"{EX}x", f"{EX}p", '"later"')])
    differing = run("mirror", world.path, endpoint, "--verify")
    assert differing.exit_code == 1
    assert "missing" in differing.stdout
    command = [sys.executable, "-m", "worlds", "mirror", world.path, endpoint, "--every", "0.1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "1 quad" in process.stdout.readline()
        process.terminate()
        assert process.wait(20) == 0
