"""worlds questions: keeping questions with their queries, finding and checking them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import ok, run

QUERY = 'SELECT ?kite { ?kite rdfs:label "Red kite"@en }'


def test_questions_are_kept_listed_found_checked_and_forgotten(made: Path, tmp_path: Path) -> None:
    assert "no questions are kept" in ok("questions list", made)
    ok("questions add", made, "Which bird is red?", "-", "--message", "asked often", input=QUERY)
    assert "Which bird is red?" in ok("questions list", made)
    assert json.loads(ok("questions list", made, "--json"))[0]["query"].endswith(QUERY)
    assert "asked often" in ok("log", made)
    near = json.loads(ok("questions near", made, "which bird is red", "--embedder", "none", "--json"))
    assert near[0]["score"] == 1
    assert "Which bird is red?" in ok("questions near", made, "red birds", "--embedder", "none")
    assert ok("questions check", made) == "none is broken\n"
    (tmp_path / "birds of prey.rq").write_text("SELECT ?b { ?b a <urn:none> }")
    ok("questions load", made, tmp_path)
    done = run("questions check", made)
    assert done.exit_code == 1
    assert "birds of prey" in done.stdout
    assert json.loads(run("questions check", made, "--json").stdout)[0]["trouble"] == "empty"
    assert "sh:select" in ok("questions list", made, "--format", "turtle")
    ok("questions remove", made, "which bird is red")
    assert [one["question"] for one in json.loads(ok("questions list", made, "--json"))] == ["birds of prey"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["add", "Why?", "ASK {"], "not closed"),
        (["add", "Why?", "CLEAR ALL"], "not an update"),
        (["add", "", "ASK {}"], "a question must be a text"),
        (["add", "Why?", ""], "the query of a kept question"),
        (["remove", "Why?"], "no such question"),
        (["load", "missing.rq"], "missing.rq cannot be read: No such file"),
    ],
)
def test_what_is_wrong_is_said(made: Path, options: list[str], said: str) -> None:
    verb, *rest = options
    done = run(f"questions {verb}", made, *rest)
    assert (done.exit_code > 1, said in done.stderr) == (True, True), done.stderr
