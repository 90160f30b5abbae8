"""The style of words of CONTRIBUTING.md, as far as it can be counted."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.words import draw
from worlds.core.search.options import OPTIONS
from worlds.verbs.table import VERBS

ROOT = Path(__file__).resolve().parents[2]
BANNED = re.compile(r"\b(?:what|those|tells?|told)\b|\bso that it is\b|^Give ", re.IGNORECASE)
LONGEST = 120


def docstrings(source: str) -> Iterator[str]:
    """The docstrings of a module, and the texts below its constants and attributes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value.strip()


def begins_badly(text: str) -> bool:
    return text.startswith(("What ", "That "))


def faults(help: str) -> list[str]:
    """The faults of a help line; names of JSON's members do not count as its length."""
    found = [] if re.match(r"[A-Z]", help) else ["no capital"]
    found += [] if help.endswith(".") else ["no full stop"]
    found += [] if len(re.sub(r'"\w+",? ?', "", help)) <= LONGEST else [f"more than {LONGEST} characters"]
    return found + [f"the word {match[0]!r}" for match in BANNED.finditer(help)]


@pytest.mark.parametrize("folder", ["worlds", "graph", "sql"])
def test_no_docstring_begins_with_what_or_that(folder: str) -> None:
    modules = sorted((ROOT / folder).rglob("*.py"))
    assert modules
    found = [
        f"{module.relative_to(ROOT)}: {text.splitlines()[0]}"
        for module in modules
        for text in docstrings(module.read_text("utf-8"))
        if begins_badly(text)
    ]
    assert found == []


def test_the_help_lines_of_verbs_and_options_are_plain() -> None:
    lines = {name: verb.help for name, verb in VERBS.items()}
    lines |= {f"{name}.{option.name}": option.help for name, verb in VERBS.items() for option in verb.options.values()}
    lines |= {f"search.{name}": option.help for name, option in OPTIONS.items()}
    assert {name: found for name, line in lines.items() if (found := faults(line))} == {}


def test_a_fault_is_seen() -> None:
    assert faults("what an assistant was told") == ["no capital", "no full stop", "the word 'what'", "the word 'told'"]
    assert faults("Give the quads.") == ["the word 'Give '"]
    assert faults(f"The {'very ' * 30}long line.") == [f"more than {LONGEST} characters"]
    assert faults('Scores by {"a", "b"}.') == []
    assert [begins_badly(text) for text in docstrings('"""What."""\nX = 1\n"""What X is."""')] == [False, True]


def test_a_draw_has_lines_of_each_kind() -> None:
    drawn = draw(7, 4)
    assert drawn == draw(7, 4) != draw(8, 4)
    assert drawn[0].text.endswith(".")
    assert [line.context.partition(" of ")[0] for line in drawn] == ["help", "message", "docstring", "label"]
    assert all((ROOT / line.place.partition(":")[0]).exists() for line in drawn[1:3])
    assert all("(" in line.context or "class" in line.context for line in drawn[1:3])
