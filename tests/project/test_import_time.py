"""What importing costs: the public names come when they are asked for, and help needs no engine."""

from __future__ import annotations

import ast
import importlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import worlds
import worlds.records
from tests.support.commands import commands

ROOT = Path(__file__).resolve().parents[2]
ENGINE = {"libsql", "libsql_experimental", "numpy", "pyoxigraph", "rdflib"}
HEAVY = {
    "httpx",
    "langchain_core",
    "llama_index",
    "mcp",
    "onnxruntime",
    "pandas",
    "prometheus_client",
    "scipy",
    "sentence_transformers",
    "sklearn",
    "starlette",
    "tokenizers",
    "torch",
    "transformers",
    "uvicorn",
}
QUIET = "import contextlib, io, json, os, sys, time\n"
# Seconds of CPU. On a machine that does nothing else they are 0.03, 0.25 and 0.4, all compiled from source.
MOST_OF_IMPORT, MOST_OF_HELP, MOST_OF_OPEN = 0.25, 0.8, 1.5


def python(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", QUIET + code], capture_output=True, encoding="utf-8", env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded(code: str) -> set[str]:
    """The packages that a process has after this code."""
    modules = python(f"{code}\nprint(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))")
    return set(json.loads(modules.splitlines()[-1]))


def takes_at_most(most: float, code: str) -> bool:
    """Whether a process that runs this code needs no more seconds of CPU, user and system, in one of three tries."""
    return any(
        float(python(f"{code}\nimport time; print(time.process_time())").splitlines()[-1]) <= most for _ in range(3)
    )


def helped(*words: str) -> str:
    """Code that prints a help text to nowhere."""
    return (
        "import worlds.doors.cli\n"
        f"sys.argv = {['worlds', *words, '--help']!r}\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    worlds.doors.cli.main()"
    )


# --- what is imported -------------------------------------------------------------------------------------------------


def test_importing_worlds_imports_nothing_of_weight() -> None:
    packages = loaded("import worlds")
    assert "worlds" in packages
    assert not packages & (ENGINE | HEAVY | {"typer", "click", "rich"})
    assert loaded("import worlds; worlds.World") >= {"numpy", "pyoxigraph"}, "the test sees what is imported"


def test_opening_a_world_imports_no_door() -> None:
    code = "import worlds\nworlds.open(embedder=None).close()"
    assert not loaded(code) & (HEAVY | {"rdflib", "typer", "click", "rich"})


def test_no_help_imports_the_engine_or_a_door() -> None:
    """One process prints every third help text, and looks after each what it has loaded."""
    code = f"""
import worlds.doors.cli
loaded = {{}}
for words in {[[], *map(list, [*commands()][::3])]!r}:
    sys.argv = ["worlds", *words, "--help"]
    with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as said:
        worlds.doors.cli.main()
    assert "Usage: worlds" in said.getvalue(), words
    found = {{name.partition(".")[0] for name in sys.modules}} & set({sorted(ENGINE | HEAVY)!r})
    if found:
        loaded[" ".join(words)] = sorted(found)
        break
print(json.dumps(loaded))
"""
    assert json.loads(python(code)) == {}


# --- what it costs ----------------------------------------------------------------------------------------------------


def test_importing_worlds_takes_no_time() -> None:
    assert takes_at_most(MOST_OF_IMPORT, "import worlds")
    assert not takes_at_most(0.001, "import worlds"), "the test can fail"


@pytest.mark.parametrize("words", [(), ("search",)], ids=["worlds", "search"])
def test_help_is_soon_there(words: tuple[str, ...]) -> None:
    assert takes_at_most(MOST_OF_HELP, helped(*words))


def test_a_world_is_soon_open() -> None:
    assert takes_at_most(MOST_OF_OPEN, "import worlds\nworlds.open(embedder=None).close()")


# --- the public names, though they come late --------------------------------------------------------------------------


@pytest.mark.parametrize("module", [worlds, worlds.records])
def test_every_public_name_is_there_and_is_listed(module: Any) -> None:
    here = module.__name__
    names = f"[getattr({here}, name).__name__ for name in {here}.__all__]"
    listed, found = json.loads(python(f"import {here}\nprint(json.dumps([dir({here}), {names}]))"))
    assert set(module.__all__) <= set(listed)
    assert found == module.__all__


@pytest.mark.parametrize("module", [worlds, worlds.records])
def test_a_type_checker_sees_the_names_that_there_are(module: Any) -> None:
    tree = ast.parse(Path(module.__file__).read_text("utf-8"))
    (guarded,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    typed: dict[str, str] = {}
    for node in guarded.body:
        assert isinstance(node, ast.ImportFrom)
        typed |= {alias.name: str(node.module) for alias in node.names}
    typed.pop("records", None)  # the module
    assert set(typed) == set(module.__all__)
    for name, home in typed.items():
        assert getattr(importlib.import_module(home), name) is getattr(module, name)


def test_a_star_import_brings_them_all() -> None:
    names: dict[str, object] = {}
    exec("from worlds import *", names)
    assert {name for name in names if name != "__builtins__"} == set(worlds.__all__)
    assert names["open"] is worlds.open


def test_modules_are_there_as_attributes() -> None:
    assert python("import worlds\nprint(worlds.errors.OpenError is worlds.OpenError)") == "True\n"
    assert python("import worlds\nprint(worlds.verbs.__name__)") == "worlds.verbs\n"
    with pytest.raises(AttributeError, match="no attribute 'errors2'"):
        worlds.errors2  # type: ignore[attr-defined]  # noqa: B018


def test_other_names_are_not_there() -> None:
    for name in ("nonsense", "__wrapped__", "_private"):
        assert not hasattr(worlds, name)
    with pytest.raises(AttributeError, match=r"^module 'worlds' has no attribute 'nonsense'$"):
        worlds.nonsense  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'nonsense'"):
        exec("from worlds import nonsense")


def test_values_of_public_classes_can_be_pickled() -> None:
    with worlds.open(embedder=None) as world:
        change = world.add([("urn:a", "rdfs:label", '"red kite"')])
    assert pickle.loads(pickle.dumps(change)) == change
    assert pickle.loads(pickle.dumps(worlds.records.TextPolicy())) == worlds.records.TextPolicy()
    assert pickle.loads(pickle.dumps(worlds.open)) is worlds.open
