"""What a stranger's file names is read when the user of this machine has said so, and not because the file says it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.command_line import ok, run
from tests.support.mcp_clients import Agent, ask, inside
from worlds import World
from worlds.errors import OpenError, WorldsError

reached: list[str] | None = None


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if reached is not None and event in ("open", "os.scandir", "os.listdir", "socket.connect"):
        reached.append(f"{event} {arguments!r}")


sys.addaudithook(_heard)  # for good, as a hook cannot be taken away


@pytest.fixture
def reaching() -> Iterator[list[str]]:
    """What this process opens and connects to from now on."""
    global reached
    reached = []
    yield reached
    reached = None


@pytest.fixture
def site() -> Iterator[tuple[int, list[str | None]]]:
    """The port of the stranger's own host, and the passwords that it was shown."""
    shown: list[str | None] = []

    class Site(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append(self.headers["Authorization"])
            self.send_response(200)
            self.send_header("Content-Type", "text/turtle")
            self.end_headers()
            self.wfile.write(b"<urn:a> <urn:b> <urn:c> .")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1], shown
    server.shutdown()
    thread.join()
    server.server_close()


def gift(path: Path, port: int, folder: Path) -> None:
    """A world as a stranger makes it, with all that might make whoever opens it read something."""
    host = f"http://127.0.0.1:{port}"
    folder.mkdir()
    (folder / "a.md").write_text("# private")
    with worlds.open(path, embedder=None) as w:
        w.load(b'<urn:x> a <urn:C> ; <http://www.w3.org/2000/01/rdf-schema#label> "a kite" .', format="turtle")
        w.sources.add(f"{host}/v.ttl", kind="rdf", hosts=["127.0.0.1"], password_variable="HOME_SECRET_TOKEN")
        w.sources.add(str(folder), "notes", kind="documents")
        w.policy = w.policy.with_(search={"rerank": str(folder)})
        w.questions.add("Which kites are there?", "SELECT ?x { ?x a <urn:C> }")
        shapes = f"""
            PREFIX sh: <http://www.w3.org/ns/shacl#> PREFIX owl: <http://www.w3.org/2002/07/owl#>
            <urn:o> a owl:Ontology ; owl:imports <{host}/o.ttl> , <file://{folder}/a.ttl> .
            <urn:s> a sh:NodeShape ; sh:targetClass <urn:C> ; sh:js [ sh:jsLibrary [ sh:jsLibraryURL "{host}/a.js" ] ] ;
                sh:sparql [ sh:select "SELECT $this {{ SERVICE SILENT <{host}/sparql> {{ $this a ?y }} }}" ] ."""
        w.load(shapes.encode(), format="turtle", graph="urn:worlds:shapes")
        query = f"SELECT ?x {{ SERVICE SILENT <{host}/sparql> {{ ?x a ?y }} }}"
        (where,) = [quad for quad in w.quads(graph="urn:worlds:questions") if "SELECT" in str(quad[2])]
        w.edit(remove=[where], add=[(*where[:2], json.dumps(query), where[3])])


def used(path: Path) -> None:
    """Do with a world whatever reads it."""
    with worlds.open(path, embedder=None) as w:
        for verb in (
            w.sources.sync, lambda: w.sources.sync("notes"), lambda: w.sources.sync("v", again=True),
            lambda: w.search("kite"),
            lambda: w.search("kite", rerank=True), lambda: w.only(graphs="default").search("kite"),
            lambda: w.context("kite"), lambda: w.questions.brief("Which kites are there?"), w.shapes.validate,
            w.curation.report, w.questions.check, lambda: w.query("SELECT * { ?s ?p ?o }"), w.check, w.stats,
            lambda: list(w.sources), lambda: w.load(b"<urn:y> a <urn:C> .", format="turtle"), w.file.compact,
        ):  # fmt: skip
            with contextlib.suppress(WorldsError):
                verb()


def test_a_strangers_file_reads_and_asks_nothing(
    tmp_path: Path, site: tuple[int, list[str | None]], reaching: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME_SECRET_TOKEN", "ghp_secret")
    port, shown = site
    made, bait = tmp_path / "made.db", tmp_path / "bait"
    gift(made, port, bait)
    path = tmp_path / "gift.db"
    shutil.copy(made, path)
    reaching.clear()
    used(path)
    assert shown == []
    assert [one for one in reaching if str(bait) in one or str(port) in one] == []
    with worlds.open(path, embedder=None) as w:
        assert [one.trusted for one in w.sources] == [False, False]
        runs = {one.source: one.errors[0].message for one in w.sources.sync()}
        assert "worlds sources trust WORLD notes" in runs["notes"]
        assert "sources trust WORLD v" in runs["v"]
        with pytest.raises(OpenError, match="sources trust WORLD notes") as raised:
            w.sources.sync("notes")
        assert (raised.value.kind, raised.value.status) == ("untrusted", 403)
        assert any("was not chosen on this machine" in note for note in w.search("kite").notes)
        assert not any("nobody" in note for note in w.search("kite", rerank=False).notes)
        assert w.sources["notes"].error is None
        w.sources.trust("notes")
        (notes, v) = sorted(w.sources.sync(), key=lambda one: one.source)
        assert (notes.new, bool(v.errors), shown) == (("a.md",), True, [])
        w.sources.trust("v")
        assert w.sources.sync("v")[0].added == 1
        assert shown == ["Bearer ghp_secret"]


def changed(path: Path, options: str) -> Path:
    with sqlite3.connect(path) as file:
        file.execute(f"UPDATE sources SET {options}")
    file.close()
    return path


def moved(path: Path, target: Path) -> Path:
    path.rename(target)
    return target


def linked(path: Path, target: Path) -> Path:
    target.symlink_to(path)
    return target


def backed_up(path: Path, target: Path) -> Path:
    with worlds.open(path, embedder=None) as w:
        w.file.backup(target)
    return target


def restored_over(path: Path, target: Path) -> Path:
    worlds.restore(backed_up(path, target), path)
    return path


def removed_and_back(path: Path, target: Path) -> Path:
    backed_up(path, target)
    with worlds.open(path, embedder=None) as w:
        w.sources.remove("notes")
    worlds.restore(target, path)
    return path


@pytest.mark.parametrize(
    ("become", "trusted"),
    [
        (lambda path, other: path, True),
        (lambda path, other: shutil.copy(path, other), False),
        (moved, False),
        (backed_up, False),
        (restored_over, True),
        (removed_and_back, False),
        (linked, True),
        (lambda path, other: changed(path, "place = '/etc'"), False),
        (lambda path, other: changed(path, "kind = 'rdf'"), False),
        (lambda path, other: changed(path, "options = json_set(options, '$.patterns', json('[\"*\"]'))"), False),
        (lambda path, other: changed(path, "options = json_set(options, '$.password_variable', 'X')"), False),
        (lambda path, other: changed(path, "options = json_set(options, '$.hosts', json('[\"e\"]'))"), False),
        (lambda path, other: changed(path, "options = json_set(options, '$.trusted', json('true'))"), True),
        (lambda path, other: changed(path, "state = json_set(state, '$.trusted', json('true'))"), True),
        (lambda path, other: changed(path, "options = json_set(options, '$.edits', 'keep')"), True),
    ],
)
def test_trust_is_in_one_definition_in_one_world(
    tmp_path: Path, become: Callable[[Path, Path], Any], trusted: bool
) -> None:
    (tmp_path / "notes").mkdir()
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as w:
        assert w.sources.add(str(tmp_path / "notes"), kind="documents").trusted
    there = become(path, tmp_path / "other.db") or path
    with worlds.open(there, embedder=None) as w:
        assert w.sources["notes"].trusted is trusted


def test_a_name_that_is_a_command_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as w:
        w.sources.add(str(tmp_path), "notes", kind="documents")
    changed(path, "name = 'a; rm -rf ~'")
    with worlds.open(path, embedder=None) as w, pytest.raises(WorldsError, match="damaged"):
        w.sources.sync()


def test_a_source_that_was_only_tried_is_not_trusted_later(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    folder = Path(os.environ["XDG_CONFIG_HOME"]) / "worlds" / "trusted"
    before = set(folder.glob("*"))
    with worlds.open(tmp_path / "kb.db", embedder=None) as w:
        ok(
            "sources sync",
            tmp_path / "kb.db",
            tmp_path / "notes",
            "--dry-run",
            "--kind",
            "documents",
            "--embedder",
            "none",
        )
        assert set(folder.glob("*")) == before
        with w.transaction():
            w.sources.add(str(tmp_path / "notes"), kind="documents")
        w.sources.sync()
        assert len(set(folder.glob("*")) - before) == 1


def test_the_command_names_what_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.md").write_text("# A kite")
    made, path = tmp_path / "made.db", tmp_path / "gift.db"
    ok("sources sync", made, tmp_path / "notes", "--embedder", "none")
    shutil.copy(made, path)
    (tmp_path / "notes" / "b.md").write_text("# B")
    result = run("sources sync", path, "--embedder", "none")
    assert result.exit_code == 1
    assert "errors (1)" in result.stdout
    assert "worlds sources trust WORLD notes" in " ".join(result.stdout.split())
    assert ok("sources list", path).split()[-1] == "no"
    assert ok("sources trust", path, "notes").split()[-1] == "yes"
    assert re.search(r"(?m)^new +b\.md$", ok("sources sync", path, "--embedder", "none"))


def test_an_agent_is_told_what_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    made, path = tmp_path / "made.db", tmp_path / "gift.db"
    ok("sources sync", made, tmp_path / "notes", "--kind", "documents", "--embedder", "none")
    shutil.copy(made, path)

    async def scenario(agent: Agent) -> None:
        assert "not trusted on this machine" in str(await agent.client.read_resource("world://sources"))
        (told,) = (await agent.data("sync"))["runs"]
        assert "sources trust WORLD notes" in told["errors"][0]
        assert "sources trust WORLD notes" in await agent.error("sync", name="notes")

    with worlds.open(path, embedder=None) as world:
        ask(inside(world, allow_writes=True), scenario)


def test_a_mapping_beside_a_table_is_no_link_that_leads_out(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "a.csv").write_text("name,size\nx,1\n")
    (tmp_path / "secret.json").write_text('{"ghp_secret": 1}')
    (folder / "a.csv-metadata.json").symlink_to(tmp_path / "secret.json")
    with worlds.open(embedder=None) as w:
        w.sources.add(str(folder), kind="tables")
        assert "ghp_secret" not in str(w.sources.sync())
        assert len(w)


def test_a_reranker_that_was_chosen_here_is_asked_and_one_of_a_copy_is_not(tmp_path: Path) -> None:
    path, other = tmp_path / "kb.db", tmp_path / "other.db"

    def notes(w: World) -> str:
        return " ".join(w.search("kite").notes)

    with worlds.open(path, embedder=None) as w:
        w.add([("urn:a", "rdfs:label", '"a kite"')])
        w.policy = w.policy.with_(search={"rerank": "/no/such-model"})
        assert "not reranked" in notes(w)
        assert "not reranked" in notes(w.only(graphs="default"))
    shutil.copy(path, other)
    with worlds.open(other, embedder=None) as w:
        assert "was not chosen on this machine" in notes(w)
        w.policy = w.policy.with_(tokenizer="trigram")
        assert "was not chosen on this machine" in notes(w)
        assert "nobody" not in " ".join(w.search("kite", rerank="/no/such-model").notes)


def test_the_network_of_the_test_can_be_seen(reaching: list[str], site: tuple[int, list[str | None]]) -> None:
    socket.create_connection(("127.0.0.1", site[0])).close()
    assert any(str(site[0]) in one for one in reaching)
