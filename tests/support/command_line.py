"""What the tests of the command line share."""

from __future__ import annotations

import functools
import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer import testing
from typer.testing import CliRunner, Result

from tests.support import forking
from tests.support.forking import Forked
from worlds.doors.cli import app

DATA = """\
@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Bird a rdfs:Class . ex:Raptor rdfs:subClassOf ex:Bird .
ex:kite a ex:Raptor ; rdfs:label "Red kite"@en , "Rotmilan"@de ; ex:year 1758 ;
    rdfs:comment "The red kite is a bird of prey with a forked tail."@en .
ex:robin a ex:Bird ; rdfs:label "Robin"@en ; rdfs:comment "A small bird with a red breast."@en .
ex:box a ex:Thing ; rdfs:comment "A red box." .
ex:crate a ex:Thing ; rdfs:comment "A red box." .
"""
NAMED = '<http://example.org/g1> { <http://example.org/a> <http://example.org/note> "A red note in a graph." }'
HERE = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(HERE), "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8", "TERM": "xterm"}

# A runner makes the tree of all commands for each command line, which takes longer than most of them: here, once.
vars(testing)["_get_command"] = functools.cache(vars(testing)["_get_command"])


def words(*args: str | Path) -> list[str]:
    """A command line as its words: a command in a group is given as one, as in "curate merge"."""
    return [*(str(args[0]).split() if args else ()), *map(str, args[1:])]


def run(*args: str | Path, input: str | bytes | None = None) -> Result:
    """A command line in this process; whatever it raises but an exit is a failure of the test."""
    result = CliRunner().invoke(app, words(*args), input=input, prog_name="worlds")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.stderr
    return result


def ok(*args: str | Path, input: str | bytes | None = None) -> str:
    result = run(*args, input=input)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def fails(code: int, *args: str | Path, input: str | bytes | None = None) -> str:
    """The one line that a failing command says, without what marks it as an error."""
    result = run(*args, input=input)
    assert (result.exit_code, result.stdout) == (code, ""), result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    return lines[0].removeprefix("error: ")


def process(*args: str | Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """A command line in a process of its own."""
    before = options.pop("before", [])
    command = [*before, sys.executable, "-m", "worlds", *words(*args)]
    environment = {**ENVIRONMENT, **options.pop("env", {})}
    if before or "PYTHONIOENCODING" in environment:
        return subprocess.run(command, capture_output=True, timeout=60, env=environment, **options)
    return forking.run(command, timeout=60, env=environment, **options)


def hits(path: Path, *args: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ok("search", path, *args, "--mode", "text", "--json"))["hits"]
    return found


def terminal(*args: str | Path, columns: int = 80, env: dict[str, str] | None = None) -> str:
    """What a terminal shows of a command, its escape sequences included."""
    pytest.importorskip("pty", reason="terminals of POSIX")
    screen, end = os.openpty()
    environment = {**ENVIRONMENT, "COLUMNS": str(columns), "LINES": "24", **(env or {})}
    command = [sys.executable, "-m", "worlds", *words(*args)]
    child = Forked(command, stdin=end, stdout=end, stderr=end, env=environment, start_new_session=True)
    os.close(end)
    shown = b""
    while select.select([screen], [], [], 60)[0]:
        try:
            piece = os.read(screen, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(screen)
    child.wait(60)
    return shown.decode("utf-8", "replace").replace("\r\n", "\n")
