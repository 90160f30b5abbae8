"""The tests go through what is public, so that code may move: no private name of ours, and patches in one place."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PATCHES = TESTS / "support" / "seams.py"  # the one module that changes something of ours from outside


@functools.cache
def trees() -> dict[Path, ast.AST]:
    return {file: ast.parse(file.read_text("utf-8")) for file in sorted(TESTS.rglob("*.py"))}


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def uses(tree: ast.AST) -> Iterator[str]:
    """What of ours a test names that it should not: private names, and what it puts something else in the place of."""
    nodes = list(ast.walk(tree))
    own = {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    own |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            public = node.attr.startswith("_repr_") or ast.unparse(node) == "os._exit"  # IPython's, and Python's own
            if not public and not (ast.unparse(node.value) in ("self", "cls") and node.attr in own):
                yield ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in ("worlds", "tests"):
            if any(map(is_private, [*str(node.module).split("."), *(alias.name for alias in node.names)])):
                yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("worlds."):
            yield from (ast.unparse(node) for part in node.value.split(".") if is_private(part) and part.isidentifier())


def patches(tree: ast.AST) -> Iterator[str]:
    """The calls that put something in the place of a name of ours."""
    nodes = list(ast.walk(tree))
    ours = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == "worlds"
        for alias in node.names
    } | {"worlds"}
    for node in nodes:
        if not (isinstance(node, ast.Call) and getattr(node.func, "attr", None) in ("setattr", "delattr")):
            continue
        if ast.unparse(node.func).startswith("monkeypatch."):
            target = ast.unparse(node.args[0]).strip("'\"")
            if target.split(".")[0] in ours:
                yield ast.unparse(node)


def test_no_test_uses_a_private_name_of_ours() -> None:
    assert [f"{file}: {use}" for file, tree in trees().items() for use in uses(tree)] == []


def test_no_test_changes_anything_of_ours_from_outside() -> None:
    assert [f"{file}: {patch}" for file, tree in trees().items() if file != PATCHES for patch in patches(tree)] == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("world._core.connection.rows('SELECT 1')", True),
        ("self._mine = 1\nself._mine", False),
        ("self._theirs", True),
        ("from worlds.graph.terms import _odd", True),
        ("from worlds._inner import odd", True),
        ("from worlds import World", False),
        ("row.__class__", False),
        ("seam = 'worlds.core.search._LIMIT'", True),
    ],
)
def test_what_counts_as_private(code: str, found: bool) -> None:
    assert bool(list(uses(ast.parse(code)))) is found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("monkeypatch.setattr('worlds.core.search.LIMIT', 1)", True),
        ("from worlds.core.sparql import index\nmonkeypatch.setattr(index, 'LIMIT', 1)", True),
        ("import time\nmonkeypatch.setattr(time, 'sleep', print)", False),
    ],
)
def test_what_counts_as_a_patch(code: str, found: bool) -> None:
    assert bool(list(patches(ast.parse(code)))) is found
