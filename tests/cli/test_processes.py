"""The file, processes, pipes and terminals."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import worlds
from tests.support.command_line import ENVIRONMENT, fails, ok, process, run, terminal
from tests.support.forking import Forked
from tests.support.processes import family
from worlds.doors.cli import app

# --- the file ---------------------------------------------------------------------------------------------------------


def test_export(made: Path, tmp_path: Path) -> None:
    assert ok("export", made).count(" .\n") == 15
    assert ok("export", made, "-", "--graph", "ex:g1", "--format", "nt").count("\n") == 1
    assert ok("export", made, tmp_path / "out.nq.gz").endswith("quads   15\n")
    ok("load", tmp_path / "again.db", tmp_path / "out.nq.gz", "--no-embed")
    assert ok("export", tmp_path / "again.db") == ok("export", made)
    told = json.loads(ok("export", made, tmp_path / "out.trig", "--json"))
    assert told == {"target": str(tmp_path / "out.trig"), "quads": 15}


def test_export_errors(made: Path, tmp_path: Path) -> None:
    told = fails(2, "export", made, "--format", "turtle")
    assert "named graphs" in told
    assert "the option graph" in told
    assert "graph=" not in told, "that is how Python spells it"
    assert "cannot be written" in fails(3, "export", made, tmp_path / "no" / "out.nq")
    assert "cannot be told" in fails(2, "export", made, tmp_path / "out.doc")
    assert "--json" in fails(2, "export", made, "--json")
    assert list(tmp_path.iterdir()) == []


def test_stats(made: Path) -> None:
    shown = ok("stats", made)
    assert re.search(r"(?m)^quads +15$", shown)
    assert re.search(r"(?m)^rdfs:comment +4$", shown)
    told = json.loads(ok("stats", made, "--json"))
    assert told["quads"] == 15
    assert told["pending"] == told["chunks"] == 7


def test_check(made: Path, tmp_path: Path) -> None:
    assert ok("check", made).endswith("\nno problems\n")
    assert json.loads(ok("check", made, "--json"))["ok"] is True
    path = tmp_path / "broken.db"
    path.write_bytes(made.read_bytes())
    change = sqlite3.connect(path)
    change.execute("DELETE FROM quads WHERE id = (SELECT min(id) FROM quads WHERE object IN (SELECT term FROM chunks))")
    change.commit()
    change.close()
    result = run("check", path)
    assert result.exit_code == 1
    assert result.stdout
    assert result.stderr == ""
    told = run("check", path, "--json")
    assert told.exit_code == 1
    assert json.loads(told.stdout)["ok"] is False


def test_backup_restore_and_compact(made: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert re.fullmatch(rf"target +{re.escape(str(copy))}\nbytes +[\d.]+ kB\n", ok("file backup", made, copy))
    assert ok("export", copy) == ok("export", made)
    assert "exists already" in fails(3, "file backup", made, copy)
    assert re.match(r"before +[\d,]+\nafter +[\d,]+\n", ok("file compact", copy))
    told = json.loads(ok("file compact", copy, "--json"))
    assert told["after"] <= told["before"]
    assert ok("check", copy).endswith("\nno problems\n")
    assert set(json.loads(ok("file backup", made, tmp_path / "copy2.db", "--json"))) == {"target", "bytes"}
    assert re.fullmatch(rf"path +{re.escape(str(made))}\nbytes +[\d.]+ kB\n", ok("file restore", copy, made))
    assert ok("export", copy) == ok("export", made)
    assert set(json.loads(ok("file restore", copy, made, "--json"))) == {"path", "bytes"}
    with worlds.open(made, embedder=None):
        assert "is open" in fails(3, "file restore", copy, made)


# --- processes, pipes and terminals -----------------------------------------------------------------------------------


def test_a_process_of_its_own(made: Path) -> None:
    found = process("search", made, "kite", "--mode", "text", "--json")
    assert (found.returncode, found.stderr) == (0, b"")
    assert json.loads(found.stdout)["hits"]
    missing = process("search", "no.db", "kite")
    assert (missing.returncode, missing.stdout) == (3, b"")
    assert missing.stderr.count(b"\n") == 1


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, many: Path) -> None:
    path = tmp_path / "kb.db"
    few = tmp_path / "few.nt"
    few.write_text("".join(many.read_text().splitlines(keepends=True)[:2500]))
    ok("load", path, few, "--no-embed")
    everything = "SELECT * { ?s ?p ?o }"
    for args in (
        ["export", path],
        ["sparql", path, everything],
        ["sparql", path, everything, "--json"],
        ["search", path, "many", "--mode", "text", "--limit", "1000"],
    ):
        command = [sys.executable, "-m", "worlds", *map(str, args)]
        writer = Forked(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.read(100)
        writer.stdout.close()
        said = writer.stderr.read()
        writer.stderr.close()
        assert (writer.wait(30), said) == (141, b""), args


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("all_read", [False, True])
def test_ctrl_c_leaves_the_world_as_it_was(path: Path, many: Path, birds: Path, all_read: bool) -> None:
    ok("load", path, birds, "--no-embed")
    before = ok("export", path)
    command = [sys.executable, "-m", "worlds", "load", str(path), "-", "--format", "nt", "--no-embed"]
    with Forked(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as child:
        assert child.stdin is not None
        child.stdin.write(many.read_bytes())  # waits until nearly all of it was taken
        child.stdin.flush()
        if all_read:
            child.stdin.close()
            child.stdin = None
            time.sleep(0.3)  # now it is being written
        child.send_signal(signal.SIGINT)
        out, said = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, b""), said
    assert said == b"interrupted: nothing was changed; run the same command again\n"
    assert ok("export", path) == before
    assert ok("check", path).endswith("\nno problems\n")
    if all_read:
        ok("load", path, many, "--no-embed")
        assert json.loads(ok("stats", path, "--json"))["quads"] == 14 + 30_000


ENDLESS = "{ ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o FILTER(?a = ?o) }"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a query cannot be stopped where nothing can be forked")
@pytest.mark.parametrize(
    ("verb", "text"),
    [
        (("sparql",), f"SELECT (COUNT(*) AS ?n) {ENDLESS}"),
        (("sparql", "--world"), f"SELECT (COUNT(*) AS ?n) {ENDLESS}"),
        (("update",), f"INSERT {{ ?a <urn:p> ?f }} WHERE {ENDLESS}"),
    ],
    ids=["sparql", "sparql of a group", "update"],
)
def test_ctrl_c_ends_a_query(path: Path, verb: tuple[str, ...], text: str) -> None:
    some = "".join(f"<urn:s{number}> <urn:p> <urn:o{number}> .\n" for number in range(1000))
    ok("load", path, "-", "--format", "nt", "--no-embed", input=some)
    command = [sys.executable, "-m", "worlds", *verb, str(path), text]
    with Forked(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as child:
        deadline = time.monotonic() + 60
        while not family(child.pid):  # the process that asks
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.3)
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        out, said = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, b""), said
    assert len(json.loads(ok("log", path, "--json"))["revisions"]) == 1


def test_on_a_terminal_lines_fit_and_matches_stand_out(made: Path) -> None:
    shown = terminal("search", made, "forked tail", "--mode", "text", columns=40)
    assert "\x1b[1;33mforked\x1b[0m" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert max(map(len, plain.splitlines())) <= 40
    rows = terminal("sparql", made, "SELECT ?s ?c { ?s rdfs:comment ?c }", columns=40)
    assert max(len(line) for line in re.sub(r"\x1b\[[0-9;]*m", "", rows).splitlines()) <= 40
    assert "4 rows" in rows


def test_no_color_is_heard(made: Path) -> None:
    shown = terminal("search", made, "forked tail", "--mode", "text", env={"NO_COLOR": "1"})
    assert re.findall(r"\x1b\[[0-9;]*3\d", shown) == []
    assert "forked" in shown
    plain = terminal("search", made, "forked tail", "--mode", "text", env={"TERM": "dumb"})
    assert "\x1b" not in plain


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("cp1252", marks=pytest.mark.long)])
def test_terminals_that_are_not_unicode(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "x.nt").write_text('<a:a> <a:b> "分词 naïve … text"@zh .\n', encoding="utf-8")
    path = tmp_path / "kb.db"
    ok("load", path, tmp_path / "x.nt", "--no-embed")
    runner = CliRunner(charset=encoding)
    for args in (
        ["search", path, "text", "--mode", "text", "--explain"],
        ["sparql", path, "SELECT * { ?s ?p ?o }"],
        ["stats", path],
        ["--help"],
        ["search", path, "--help"],
    ):
        shown = runner.invoke(app, [str(arg) for arg in args])
        assert (shown.exit_code, shown.stderr) == (0, ""), args
        shown.stdout_bytes.decode(encoding)
    told = runner.invoke(app, ["search", str(path), "text", "--mode", "text", "--json"])
    assert json.loads(told.stdout_bytes.decode(encoding))["hits"][0]["text"] == "分词 naïve … text"
    for data in (["export", path], ["sparql", path, "SELECT * { ?s ?p ?o }", "--format", "csv"]):
        assert "分词 naïve".encode() in runner.invoke(app, [str(arg) for arg in data]).stdout_bytes
    missing = process("search", tmp_path / "分词.db", "text", env={"PYTHONIOENCODING": encoding})
    assert missing.returncode == 3
    assert b"?" in missing.stderr


@pytest.mark.skipif(os.name != "posix", reason="shell redirections")
def test_closed_and_full_outputs(made: Path) -> None:
    command = f"{sys.executable} -m worlds search {made} kite --mode text"
    closed = subprocess.run(f"{command} >&-", shell=True, capture_output=True, env=ENVIRONMENT)
    assert (closed.returncode, closed.stderr) == (0, b"")
    if Path("/dev/full").exists():
        for line in (("search", made, "kite", "--mode", "text"), ("sparql", made, "ASK { ?s a ex:Fish }")):
            with Path("/dev/full").open("w") as out:
                full = process(*line, stdout=out)
            assert full.returncode == 3
            assert [line for line in full.stderr.splitlines() if not line.startswith(b"note: ")][1:] == []
            assert b"No space left" in full.stderr
