"""Sources at the command line and over HTTP; those of an address."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from rdflib import Literal

import worlds
from tests.support.command_line import fails, ok, run
from tests.support.mcp_clients import Agent, ask, inside
from tests.support.serving import served
from worlds.doors.server.keys import keys_of
from worlds.errors import FilterError, OpenError, ReadOnlyError

NOTE = "# A kite\n\nIt flies.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text(NOTE)
    return folder


def test_the_command_follows_a_folder(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "kb.db"
    tried = dict(
        line.split() for line in ok("sources sync", path, folder, "--dry-run", "--embedder", "none").splitlines()[:3]
    )
    assert tried == {"source": "notes", "new": "a.md", "unchanged": "0"}
    assert not path.exists()
    told = ok("sources sync", path, folder, "--embedder", "none").split()
    assert (told[told.index("new") + 1], told[told.index("revision") + 1]) == ("a.md", "1")
    assert "dry" not in ok("sources list", path)
    (folder / "b.md").write_bytes(b"\x80")
    result = run("sources sync", path, "--embedder", "none", "--json")
    assert result.exit_code == 1
    (ran,) = json.loads(result.stdout)["runs"]
    assert (ran["source"], ran["errors"][0]["path"], ran["unchanged"]) == ("notes", "b.md", 1)
    assert "b.md" in ok("sources list", path, "notes")
    assert json.loads(ok("sources list", path, "--json"))["sources"][0]["kind"] == "documents"
    assert "'b.md'" not in fails(2, "sources sync", path, folder / "none")
    assert "is a source already" in run("sources sync", path, "notes", "--kind", "rdf").stderr
    assert run("sources sync", path, "--kind", "rdf").exit_code == 2
    assert run("sources remove", path).exit_code == 2
    assert "no source 'x'" in run("sources list", path, "x").stderr
    assert "keep" in ok("sources set", path, "notes", "--edits", "keep").split()
    ok("sources remove", path, "notes", "--dry-run")
    ok("sources remove", path, "notes")
    assert ok("sources list", path).startswith("no sources")
    assert "has no sources" in run("sources sync", path).stderr


def test_a_server_lists_and_runs_sources_and_tells_no_place(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kb.db"
    ok("sources sync", path, folder, "--embedder", "none")
    (folder / "b.md").write_text("# B")
    writer = keys_of(path).add("ann", {"*": "write"})[1]
    reader = keys_of(path).add("bob", {"*": "read"})[1]
    scoped = keys_of(path).add("cid", {"*": "write"}, graphs=["urn:worlds:source:notes"])[1]
    with served(path) as server:
        with server.client(reader) as client:
            (told,) = client.get("/sources").json()["sources"]
            assert (told["name"], told["files"]) == ("notes", 1)
            assert str(folder) not in json.dumps(told)
            assert client.post("/sync").status_code == 403
        with server.client(scoped) as client:
            assert client.post("/sync").status_code == 403
            assert client.get("/sources").status_code == 403
        with server.client(writer) as client:
            assert client.get("/sources").json()["sources"][0]["trusted"] is False
            assert client.post("/sync", json={"name": "notes"}).json()["kind"] == "untrusted"
            (told,) = client.post("/sync").json()["runs"]
            assert "worlds sources trust WORLD notes" in told["errors"][0]["message"]
            assert str(tmp_path) not in json.dumps(told)
            monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))  # that of the server's user
            ok("sources trust", path, "notes")
            (done,) = client.post("/sync", json={"name": "notes"}).json()["runs"]
            assert (done["new"], done["revision"]) == (["b.md"], 2)
            assert client.post("/sync", json={"name": "x"}).status_code == 400
            (tmp_path / "bad.ttl").write_text("broken")
            run("sources sync", path, tmp_path / "bad.ttl", "--embedder", "none")
            folder.rename(tmp_path / "away")
            told = client.post("/sync").json()["runs"]
            assert [bool(one["errors"]) for one in told] == [True, True]
            assert str(tmp_path) not in json.dumps([told, client.get("/sources").json()])
            assert client.get("/history").json()["revisions"][0]["author"] == "ann"
            assert client.post("/sources", json={"place": "/etc"}).status_code == 405


def test_an_agent_lists_and_runs_sources(folder: Path) -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.sources.add(str(folder))
        (folder / "bad.md").write_bytes(b"\x80")

        async def scenario(agent: Agent) -> None:
            told = await agent.client.read_resource("world://sources")
            assert "notes (documents) in urn:worlds:source:notes: 0 files" in str(told)
            assert str(folder) not in str(told)
            (run,) = (await agent.data("sync", name="notes", message="new notes"))["runs"]
            assert (run["new"], run["revision"]) == (1, 1)
            assert "bad.md" in run["errors"][0]
            assert "no source 'x'" in await agent.error("sync", name="x")
            assert world.history()[0].message == "new notes"

        ask(inside(world, allow_writes=True), scenario)


def test_a_group_searches_the_sources_that_its_worlds_have(tmp_path: Path, folder: Path) -> None:
    with contextlib.ExitStack() as stack:
        one, two, three = (
            stack.enter_context(worlds.open(tmp_path / f"{n}.db", embedder=None)) for n in ("one", "two", "three")
        )
        one.sources.add(str(folder))
        two.sources.add(str(folder), "others", base="https://example.org/")
        for world in (one, two, three):
            world.sources.sync()
            world.add([("https://example.org/x", "https://example.org/p", Literal("a kite of its own"))])
        group = worlds.group({"one": one, "two": two, "three": three})

        def told(**options: Any) -> set[tuple[Any, ...]]:
            hits = group.search("kite flies", mode="text", limit=50, **options)
            return {(one.world, one.source) for hit in hits for one in (hit, *hit.others)}

        assert told() == {("one", "notes"), ("two", "others"), ("one", None), ("two", None), ("three", None)}
        assert told(sources="notes") == {("one", "notes")}
        assert told(sources=["notes", "others"]) == {("one", "notes"), ("two", "others")}
        assert told(source_kinds="documents") == {("one", "notes"), ("two", "others")}
        assert ("one", "notes") not in told(exclude={"sources": "notes"})
        with pytest.raises(FilterError, match="no source 'nothing'"):
            told(sources=["notes", "nothing"])


def test_a_scope_has_no_sources(folder: Path) -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.sources.add(str(folder))
        scope = world.only(graphs="urn:worlds:source:notes")
        for asked in (lambda: len(scope.sources), scope.sources.sync):
            with pytest.raises(ReadOnlyError, match="scope"):
                asked()


class Site(BaseHTTPRequestHandler):
    """What is under /data asks for a password; /away leads to another host."""

    body = b"<https://example.org/a> <https://example.org/p> 1 ."
    seen: list[str | None]

    def do_GET(self) -> None:
        Site.seen.append(self.headers["Authorization"])
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", f"http://localhost:{self.connection.getsockname()[1]}/data.ttl")
            self.end_headers()
            return
        self.send_response(200 if self.headers["Authorization"] else 401)
        self.send_header("Content-Type", "text/turtle")
        self.end_headers()
        self.wfile.write(Site.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    Site.seen = []
    server = HTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_address_is_read_with_a_password_that_is_nowhere_kept(
    site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.sources.add(
            f"{site}/data.ttl", kind="rdf", hosts=["127.0.0.1"], user="ann", password_variable="SITE_PASSWORD"
        )
        with pytest.raises(OpenError, match="SITE_PASSWORD is not set"):
            world.sources.sync("data")
        monkeypatch.setenv("SITE_PASSWORD", "s3cret-and-more")
        assert world.sources.sync()[0].new == ("data.ttl",)
        assert world.sources.sync()[0].revision is None
        Site.body += b"<https://example.org/a> <https://example.org/p> 2 ."
        assert world.sources.sync()[0].added == 1
        assert base64.b64decode((Site.seen[0] or "").split()[1]) == b"ann:s3cret-and-more"
        world.sources.add(f"{site}/away", "away", kind="rdf", hosts=["127.0.0.1"], password_variable="SITE_PASSWORD")
        with pytest.raises(OpenError, match="the network is not allowed"):
            world.sources.sync("away")
        assert len(world) == 2
    assert b"s3cret" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
