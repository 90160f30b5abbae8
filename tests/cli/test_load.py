"""worlds load, export and what else writes."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

import worlds
from tests.support.command_line import fails, ok, process, run
from tests.support.embedder import HashingEmbedder
from worlds.core.embedders import reason_without
from worlds.doors.cli.terminal import progress


def test_load_makes_a_world_and_says_what_it_did(path: Path, birds: Path) -> None:
    assert re.fullmatch(r"revision 1: 14 quads added, 6 text chunks \(\d.*s\)\n", ok("load", path, birds, "--no-embed"))
    assert ok("load", path, birds, "--no-embed") == "nothing changed: all of it is there already\n"


def test_load_says_that_there_is_nothing_in_a_file(path: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.ttl").write_text("# nothing\n")
    (tmp_path / "header.csv").write_text("name,age\n")
    for given in (["empty.ttl"], ["header.csv", "--map", "-"]):
        told = run("load", path, tmp_path / given[0], *given[1:], "--no-embed")
        assert (told.exit_code, told.stdout) == (0, "nothing changed\n")
        assert "the source holds no quads" in told.stderr


@pytest.mark.parametrize("name", ["report.docx", "kites.md"])
def test_load_leads_from_a_document_to_its_command(path: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("# Kites\n")
    told = f"{name} is a document: add_document (`worlds sources add-document`) takes it"
    assert told in fails(2, "load", path, tmp_path / name)
    assert ok("load", path, tmp_path / name, "--format", "turtle", "--no-embed")


def test_load_as_json(path: Path, birds: Path) -> None:
    told = json.loads(ok("load", path, birds, "--no-embed", "--json"))
    assert told.pop("seconds") >= 0
    counts = {"revision": 1, "added": 14, "removed": 0, "chunks": 6, "embedded": 0, "pending": 6}
    assert told == {**counts, "notes": [], "proposal": None}


def test_load_replaces_a_graph(path: Path, tmp_path: Path, birds: Path) -> None:
    ok("load", path, birds, "--graph", "http://example.org/g", "--no-embed")
    (tmp_path / "one.ttl").write_text('<http://example.org/x> <http://example.org/p> "one" .')
    told = json.loads(
        ok("load", path, tmp_path / "one.ttl", "-g", "http://example.org/g", "--replace", "--no-embed", "--json")
    )
    assert (told["added"], told["removed"]) == (1, 14)
    assert ok("export", path) == ('<http://example.org/x> <http://example.org/p> "one" <http://example.org/g> .\n')


def test_load_reads_standard_input(path: Path) -> None:
    ok("load", path, "-", "--format", "turtle", "--base", "http://base/", "--no-embed", input='<a> <b> "c" .')
    assert ok("export", path) == '<http://base/a> <http://base/b> "c" .\n'


def test_load_takes_author_and_message(path: Path, birds: Path) -> None:
    ok("load", path, birds, "--author", "ann", "-m", "first birds", "--no-embed")
    database = sqlite3.connect(path)
    assert database.execute("SELECT author, message FROM revisions").fetchall() == [("ann", "first birds")]
    database.close()


def test_a_broken_file_is_named_with_line_and_column(path: Path, tmp_path: Path, birds: Path) -> None:
    broken = tmp_path / "broken.ttl"
    broken.write_text('<http://a/b> <http://a/c> "fine" .\n<http://a/b> oops "x" .\n')
    ok("load", path, birds, "--no-embed")
    message = fails(4, "load", path, birds, broken, "--no-embed")
    assert re.match(rf"{re.escape(str(broken))}, line 2, column \d+: ", message)
    assert json.loads(ok("stats", path, "--json"))["quads"] == 14


def test_load_errors(path: Path, tmp_path: Path, birds: Path) -> None:
    assert "does not exist" in fails(3, "load", path, tmp_path / "no.ttl", "--no-embed")
    assert "--allow-network example.org" in fails(3, "load", path, "https://example.org/x.ttl", "--no-embed")
    assert "'nonsense' is not a format" in fails(2, "load", path, birds, "--format", "nonsense", "--no-embed")
    assert "'no iri' is neither" in fails(2, "load", path, birds, "--graph", "no iri", "--no-embed")
    assert "folder" in fails(3, "load", tmp_path / "no" / "kb.db", birds, "--no-embed")


def test_an_allowed_host_is_asked(path: Path) -> None:
    message = fails(3, "load", path, "http://127.0.0.1:9/x.ttl", "--allow-network", "127.0.0.1", "--no-embed")
    assert "cannot be fetched" in message


def test_an_embedder_that_is_not_there(path: Path, birds: Path, tmp_path: Path) -> None:
    fails(6, "load", path, birds, "--embedder", str(tmp_path))
    ok("load", path, birds, "--embedder", "none")
    fails(6, "embed", path, "--embedder", "none")
    fails(6, "search", path, "red", "--mode", "vector", "--embedder", "none")


def without_root_powers() -> list[str]:
    """What makes a process respect file modes, where root runs the tests."""
    if os.name == "posix" and os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere")
        return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    return []


def test_a_read_only_folder(made: Path, tmp_path: Path, birds: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    path = folder / "kb.db"
    path.write_bytes(made.read_bytes())
    powers = without_root_powers()
    folder.chmod(0o555)
    try:
        found = process("search", path, "kite", "--mode", "text", before=powers)
        assert (found.returncode, found.stderr) == (0, b"")
        assert b"Red kite" in found.stdout
        refused = process("load", path, birds, "--no-embed", before=powers)
        assert refused.returncode == 7
        assert b"read-only" in refused.stderr
        assert process("load", folder / "new.db", birds, "--no-embed", before=powers).returncode == 3
        assert process("export", path, folder / "out.nq", before=powers).returncode == 3
        assert [file.name for file in folder.iterdir()] == ["kb.db"]
    finally:
        folder.chmod(0o755)


@pytest.mark.long
def test_another_writer_is_waited_for_and_named(path: Path, birds: Path) -> None:
    ok("load", path, birds, "--no-embed")
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    try:
        refused = process("load", path, "-", "-f", "nt", "--no-embed", input=b'<a:a> <a:b> "c" .')
        assert refused.returncode == 7
        assert b"write lock" in refused.stderr
        assert b"Red kite" in process("search", path, "kite", "--mode", "text").stdout
    finally:
        other.close()


def test_a_damaged_file(made: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    content = bytearray(made.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    for command in (["stats"], ["search", "red", "--mode", "text"], ["sparql", "ASK {}"]):
        assert "damaged" in fails(8, command[0], path, *command[1:])


@pytest.mark.model
def test_another_embedder_takes_over_by_rebuilding(path: Path) -> None:
    if reason := reason_without():
        pytest.skip(reason)
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.load(b'<a:a> <a:b> "a red kite" .', format="nt")
    assert "worlds embed --rebuild" in fails(6, "embed", path, "--embedder", "all-MiniLM-L6-v2")
    told = json.loads(ok("embed", path, "--rebuild", "--json"))
    assert (told["embedded"], told["pending"]) == (1, 0)
    assert "a red kite" in ok("search", path, "bird of prey", "--mode", "vector")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_step_begins_with_nothing_done(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    with progress() as bar:
        bar("read a.nt", 1000, 1000)
        time.sleep(0.6)
        bar("write", 0, 5000)
        time.sleep(0.4)
    frames = [line for line in re.split(r"[\r\n]", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())) if line]
    assert any("read a.nt" in line for line in frames)
    writing = [line for line in frames if "write" in line]
    assert writing
    assert all(re.match(r"[-\\|/] write", line) for line in writing), "the spinner turns: the step is not over"


def test_loading_shows_quads_a_second_and_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, now = Terminal(), time.monotonic
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.setenv("TERM", "xterm")
    with worlds.open(":memory:", embedder=None) as world, progress() as bar:

        def slowly(step: str, done: int, total: int | None) -> None:
            time.sleep(0.4 if step.startswith("read") else 0)
            monkeypatch.setattr("time.monotonic", lambda: now() + 10)  # as if it had taken longer
            bar(step, done, total)

        data = b"".join(b'<http://e/%d> <http://e/p> "%d" .\n' % (number, number) for number in range(4_000))
        world.load(data, format="nt", progress=slowly)
    found = re.search(r"read <bytes>.* MB \((\d+) quads/s\).*left", shown.getvalue())
    assert found
    assert 300 < int(found[1]) < 400
    assert re.search(r"write.*4,000 quads", shown.getvalue())
