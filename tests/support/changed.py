"""The tests that a change reaches: `python -m tests.support.changed [COMMIT]` names them, for `dev.py test --changed`.

A file of tests is reached if it changed, if it imports a changed module, by way of tests/support too, or if it lies in
the folder of the module's room; there, if some are named like the module, these alone. A file of SQL reaches what the
modules reach that use it, a file of the page the tests of the page that are named like it. A module that more than a
few files import, such as worlds/world.py, is the whole suite's.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FEW = 12  # files that import a module
ALWAYS = ("tests/project/test_layout.py", "tests/project/test_seams.py")


def changed(commit: str = "HEAD") -> list[str]:
    """The paths that differ from a commit, and those of files that git does not know yet."""
    asked = (("diff", "--name-only", commit), ("ls-files", "--others", "--exclude-standard"))
    outputs = [
        subprocess.run(("git", *one), cwd=ROOT, capture_output=True, text=True, check=True).stdout for one in asked
    ]
    return sorted({path for output in outputs for path in output.splitlines()})


def reached(paths: Iterable[str]) -> list[str]:
    """The files of tests that a change of these paths reaches."""
    tests = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
    found = {path for path in paths if path in tests}
    drawn = {Path(path).stem for path in paths if path.startswith("worlds/doors/server/page/")}
    found |= {f"tests/server/page/test_{stem}.py" for stem in drawn} & {*tests}
    modules = {path for path in paths if path.endswith(".py")} - found
    modules |= {user for path in paths if path.endswith(".sql") for user in _users(Path(path).name)}
    for path in modules:
        room, stem = _room(path), Path(path).stem.removesuffix("ing")
        beside = {one for one in tests if room and one.startswith(f"tests/{room}/")}
        found |= {one for one in beside if stem in Path(one).stem} or beside
        importing = {one for one in tests if _module(path) in _imported(one)}
        found |= importing if len(importing) <= _FEW else set()
    return sorted({*found, *(ALWAYS if modules else ())})


def _users(file: str) -> list[str]:
    """The modules that use a file of SQL."""
    sources = [path for folder in ("worlds", "graph", "sql") for path in (ROOT / folder).rglob("*.py")]
    return [path.relative_to(ROOT).as_posix() for path in sources if f'statements("{file}")' in path.read_text("utf-8")]


def _module(path: str) -> str:
    dotted = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"worlds.{dotted}" if dotted.startswith(("graph.", "sql.")) else dotted


def _room(path: str) -> str | None:
    """The folder in tests/ of the room that a module is in."""
    parts = Path(path).parts
    rooms = [part for part in parts[:-1] if part not in ("worlds", "core", "extras", "doors")]
    names = [*rooms, "world"] if parts[0] == "worlds" else rooms
    return next((name for name in names if (ROOT / "tests" / name).is_dir()), None)


@cache
def _imported(path: str) -> frozenset[str]:
    """The modules that a file of tests imports, with those that its support imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update({node.module, *(f"{node.module}.{alias.name}" for alias in node.names)})
    for name in [name for name in found if name.startswith("tests.support.")]:
        helper = f"{name.replace('.', '/')}.py"
        if (ROOT / helper).is_file():
            found |= _imported(helper)
    return frozenset(found)


if __name__ == "__main__":
    print(*reached(changed(*sys.argv[1:2])), sep="\n")
