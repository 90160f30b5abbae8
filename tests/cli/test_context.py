"""worlds context, and what commands say of empty answers."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command_line import ok, run


def test_the_context_of_a_question_is_a_text_with_citations(made: Path) -> None:
    told = ok("context", made, "What", "is", "a", "red kite?", "--embedder", "none")
    assert "Red kite" in told
    document = json.loads(ok("context", made, "red kite", "--embedder", "none", "--budget", "300", "--json"))
    assert document["text"]
    assert document["tokens"] <= 300
    assert document["facts"][0]["quads"][0]["revision"] == 1


def test_an_empty_answer_says_why(made: Path) -> None:
    done = run("sparql", made, "SELECT * { ?s ex:note ?o }")
    assert done.exit_code == 0
    assert "named graphs" in done.stderr
