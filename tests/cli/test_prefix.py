"""worlds prefix."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command_line import fails, ok


def test_prefixes_are_listed_told_and_declared(birds: Path, tmp_path: Path) -> None:
    world = tmp_path / "kb.db"
    ok("load", world, birds, "--no-embed")
    assert json.loads(ok("prefix", world, "--json"))["ex"] == "http://example.org/"
    assert "http://example.org/" in ok("prefix", world, "ex:")
    assert "`worlds prefix" in fails(2, "prefix", world, "new")
    asked = ("sparql", world, "ASK { new:kite ?p ?o }")
    assert "store it once by `worlds prefix`" in fails(5, *asked)
    assert "http://example.org/" in ok("prefix", world, "new:", "<http://example.org/>")
    assert ok(*asked) == "true\n"
    assert "absolute IRI" in fails(2, "prefix", world, "new", "here")


def test_prefixes_that_a_vocabulary_prefers_are_taken_over(tmp_path: Path) -> None:
    world, file = tmp_path / "kb.db", tmp_path / "vocabulary.nt"
    vann, about = "http://purl.org/vocab/vann/preferredNamespace", "<http://example.org/onto>"
    file.write_text(
        f'{about} <{vann}Prefix> "onto" .\n{about} <{vann}Uri> "http://example.org/onto#" .\n'
        f'<http://example.org/other> <{vann}Prefix> "none" .\n<a:a> <{vann}Prefix> "not a prefix" .\n'
        f'<a:a> <{vann}Uri> "http://example.org/a" .\n'
    )
    ok("load", world, file, "--no-embed")
    known = json.loads(ok("prefix", world, "--json"))
    assert known["onto"] == "http://example.org/onto#"
    assert not {"none", "not a prefix"} & set(known)
