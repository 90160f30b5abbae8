"""worlds questions: keeping questions with their queries, finding and checking them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import ok, run

QUERY = 'SELECT ?kite { ?kite rdfs:label "Red kite"@en }'


def test_questions_are_kept_listed_found_checked_and_forgotten(made: Path, tmp_path: Path) -> None:
    assert "no such questions are kept" in ok("questions", made)
    ok("questions", made, "--add", "Which bird is red?", "--query", "-", "--message", "asked often", input=QUERY)
    assert "Which bird is red?" in ok("questions", made)
    assert json.loads(ok("questions", made, "--json"))[0]["query"].endswith(QUERY)
    assert "asked often" in ok("log", made)
    near = json.loads(ok("questions", made, "--near", "which bird is red", "--embedder", "none", "--json"))
    assert near[0]["score"] == 1
    assert "Which bird is red?" in ok("questions", made, "--near", "red birds", "--embedder", "none")
    assert ok("questions", made, "--check") == "1 question, none broken\n"
    (tmp_path / "birds of prey.rq").write_text("SELECT ?b { ?b a <urn:none> }")
    ok("questions", made, tmp_path)
    done = run("questions", made, "--check")
    assert done.exit_code == 1
    assert "birds of prey" in done.stdout
    assert json.loads(run("questions", made, "--check", "--json").stdout)[0]["trouble"] == "empty"
    assert "sh:select" in ok("questions", made, "--format", "turtle")
    ok("questions", made, "--remove", "which bird is red")
    assert [one["question"] for one in json.loads(ok("questions", made, "--json"))] == ["birds of prey"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--add", "Why?"], "--add needs --query"),
        (["--query", "ASK {}"], "--add needs --query"),
        (["--add", "Why?", "--query", "ASK {"], "not closed"),
        (["--add", "Why?", "--query", "CLEAR ALL"], "not an update"),
        (["--check", "--near", "Why?"], ", not both"),
        (["--replace"], "--replace needs FILE"),
        (["--add", "", "--query", "ASK {}"], "a question must be a text"),
        (["--add", "Why?", "--query", ""], "the query of a kept question"),
        (["--remove", "Why?"], "no such question"),
        (["missing.rq"], "missing.rq cannot be read: No such file"),
    ],
)
def test_what_is_wrong_is_said(made: Path, options: list[str], said: str) -> None:
    done = run("questions", made, *options)
    assert (done.exit_code > 1, said in done.stderr) == (True, True), done.stderr
