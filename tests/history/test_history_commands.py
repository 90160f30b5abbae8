"""worlds log, diff, undo and prune."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest

import worlds
from tests.support.command_line import fails, ok, run
from tests.support.readback import EX, quads_of
from worlds import ParseError
from worlds.records import Retention


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    """A world of two revisions."""
    path = tmp_path / "kb.db"
    ok("load", path, "-", "-f", "turtle", "--no-embed", "--author", "ann", "-m", "first\nof all", input=TURTLE)
    ok("load", path, "-", "-f", "turtle", "--no-embed", "-g", EX + "g", input=f"<{EX}b> <{EX}p> 'a robin' .")
    return path


TURTLE = f"@prefix ex: <{EX}> . ex:a ex:p 'a kite' , 01 ."
BARE = ["--embedder", "none"]


def test_the_log_is_a_table(kb: Path) -> None:
    lines = ok("log", kb).splitlines()
    assert lines[0].split() == ["revision", "time", "author", "message", "added"]
    assert [line.split()[0] for line in lines[2:]] == ["2", "1"]
    assert "ann     first of all" in lines[3]
    told = json.loads(ok("log", kb, "--json", "-n", "1"))["revisions"]
    assert [entry["revision"] for entry in told] == [2]
    assert datetime.datetime.fromisoformat(told[0]["time"]).tzinfo is not None
    assert "limit" in fails(2, "log", kb, "-n", "-1")


def test_a_difference_is_shown_with_signs(kb: Path) -> None:
    assert ok("diff", kb, "1").splitlines() == [
        "from revision 1 to 2: 1 quad added, 0 removed",
        "ex:b",
        '  + ex:p: "a robin" in ex:g',
    ]
    assert ok("diff", kb, "2", "0", "-n", "1").splitlines()[1:] == [
        "ex:a",
        "  - ex:p: 01",
        '  - ex:p: "a kite"',
        "… and 1 more entities",
    ]
    told = json.loads(ok("diff", kb, "0", "--json"))
    assert (told["from"], told["to"], told["counts"]) == (0, 2, {"added": 3, "removed": 0})
    assert told["added"][1] == [f"<{EX}a>", f"<{EX}p>", "01", None]
    assert told["added"][2][3] == f"<{EX}g>"
    assert fails(2, "diff", kb, "3") == "there is no revision 3: the last one is 2"
    assert "--limit" in fails(2, "diff", kb, "0", "-n", "-1")


def test_a_difference_has_the_form_that_is_asked_for(kb: Path, tmp_path: Path) -> None:
    ok("update", kb, "DELETE DATA { ex:a ex:p 'a kite' } ; INSERT DATA { ex:a ex:p 'a red kite' }", *BARE)
    assert '  ~ ex:p: "a kite" → "a red kite"' in ok("diff", kb, "2").splitlines()
    assert '- ex:p: "a kite" → "a red kite"' in ok("diff", kb, "2", "--format", "markdown")
    assert ok("diff", kb, "2", "-f", "patch").splitlines()[-3:-1] == [
        f'D <{EX}a> <{EX}p> "a kite" .',
        f'A <{EX}a> <{EX}p> "a red kite" .',
    ]
    page = tmp_path / "diff.html"
    assert ok("diff", kb, "2", "-f", "html", "-o", page) == ""
    assert "a red kite" in page.read_text("utf-8")
    assert ok("diff", kb, "2", "--summary").splitlines()[::2] == ["predicate  changed", "ex:p             1"]
    told = json.loads(ok("diff", kb, "2", "--json"))
    assert told["entities"][0]["edits"] == [
        {"path": [f"<{EX}p>"], "old": '"a kite"', "new": '"a red kite"', "graph": None}
    ]
    assert "--format" in fails(2, "diff", kb, "2", "-f", "pdf")


def test_files_and_worlds_are_compared(kb: Path, tmp_path: Path) -> None:
    mine, theirs, old = (tmp_path / f"{name}.ttl" for name in ("mine", "theirs", "old"))
    head = f"@prefix ex: <{EX}> . ex:a ex:p 'a kite' , 01 . ex:b ex:name "
    for file, name in ((mine, "'mine'"), (theirs, "'theirs'"), (old, "'old'")):
        file.write_text(f"{head}{name} .")
    assert ok("compare", mine, theirs).splitlines() == [
        f"from {mine} to {theirs}: 1 quad added, 1 removed",
        "ex:b",
        '  ~ ex:name: "mine" → "theirs"',
    ]
    assert ok("compare", mine, theirs, "--base", old).splitlines()[-4:] == [
        "1 conflict, 0 quads changed alike by both",
        "subject  predicate  base   mine    theirs",
        "───────  ─────────  ─────  ──────  ────────",
        'ex:b     ex:name    "old"  "mine"  "theirs"',
    ]
    told = json.loads(ok("compare", kb, old, "--base", old, "--json"))
    assert (told["counts"], told["conflicts"]) == ({"added": 1, "removed": 1}, [])
    assert json.loads(ok("compare", kb, kb, "--json"))["entities"] == []
    assert "nothing.ttl" in fails(3, "compare", kb, tmp_path / "nothing.ttl")
    assert "can be read once" in fails(2, "compare", "-", "-")


def test_a_patch_is_applied_three_ways(kb: Path, tmp_path: Path) -> None:
    patch = tmp_path / "a.rdfp"
    rows = f'D <{EX}a> <{EX}p> "a hawk" .\nA <{EX}a> <{EX}p> "an eagle" .\nA <{EX}c> <{EX}p> <{EX}a> .'
    patch.write_text(f"TX .\n{rows}\nTC .\n")
    done = ok("revisions apply", kb, patch, "--three-way", *BARE)
    assert done.startswith("revision 3: 1 quad added")
    assert json.loads(ok("proposals list", kb, "--json"))["proposals"][0]["kind"] == "conflict"


def test_an_undo_and_its_conflict(kb: Path) -> None:
    assert "1 removed" in ok("undo", kb, "2", "--author", "bob", "-m", "wrong file", *BARE)
    assert "bob     wrong file" in ok("log", kb, "-n", "1")
    assert "cannot be undone as a whole, because revision 3 changed 1 quad" in fails(7, "undo", kb, "2", *BARE)
    assert ok("undo", kb, "2", "--force", *BARE) == "nothing changed: later revisions reversed all of it\n"
    told = json.loads(ok("undo", kb, "3", "--json", *BARE))
    assert (told["revision"], told["added"], told["removed"], told["pending"]) == (4, 1, 0, 2)


def test_a_patch_is_printed_and_applied(kb: Path, tmp_path: Path) -> None:
    text = ok("revisions patch", kb, "0", "1")
    assert text.splitlines()[1:] == [
        "TX .",
        f'A <{EX}a> <{EX}p> "a kite" .',
        f'A <{EX}a> <{EX}p> "01"^^<http://www.w3.org/2001/XMLSchema#integer> .',
        "TC .",
    ]
    assert "adds what is there already" in fails(7, "revisions apply", kb, "-", "--no-embed", input=text)
    shown = ok("revisions apply", kb, "-", "--no-strict", "--no-embed", input=text)
    assert shown == "nothing changed: the world has all changes of the patch already\n"
    patch = tmp_path / "back.rdfp"
    patch.write_text(ok("revisions patch", kb, "2", "0"))
    told = json.loads(ok("revisions apply", kb, patch, "--json", "--no-embed", "--author", "eve", "-m", "all gone"))
    assert told["removed"] == 3
    assert "eve     all gone" in ok("log", kb, "-n", "1")
    assert "line 1, column 1" in fails(4, "revisions apply", kb, "-", "--no-embed", input="nonsense\n")
    fails(3, "revisions apply", kb, tmp_path / "none", "--no-embed")


def test_pruning(kb: Path) -> None:
    assert ok("revisions prune", kb, "2") == "forgotten  1\nfirst      2\n"
    assert fails(9, "undo", kb, "1", *BARE) == "revision 1 is forgotten: history begins with revision 2"
    assert json.loads(ok("revisions prune", kb, "--keep", "5", "--json")) == {"forgotten": 0, "first": 2}
    with worlds.open(kb, embedder=None) as world:
        assert world.revisions.retention == Retention(revisions=5)
    assert ok("revisions prune", kb, "--keep", "0") == "forgotten  1\n"
    ok("revisions prune", kb, "--keep-all")
    ok("revisions prune", kb, "2025-01-31")
    for arguments in ([], ["2", "--keep", "1"], ["tomorrow"], ["9"], ["--keep-days", "-1"]):
        assert run("revisions prune", kb, *arguments).exit_code == 2
    assert ok("check", kb).endswith("\nno problems\n")


@pytest.mark.parametrize("command", ["log", "diff", "undo", "revisions patch", "revisions apply", "revisions prune"])
def test_help_shows_lines_that_are_commands(command: str) -> None:
    assert f"worlds {command} " in ok(command, "--help").partition("Examples")[2]


def test_a_patch_that_fails_changes_nothing(kb: Path) -> None:
    with worlds.open(kb, embedder=None) as world:
        before = quads_of(world), world.prefixes
        with pytest.raises(ParseError):
            world.revisions.apply("PA new <urn:new> .\nA <urn:a> <urn:p> 'x' .\n")
        assert (quads_of(world), world.prefixes) == before
