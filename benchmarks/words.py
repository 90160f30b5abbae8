"""Lines to be judged by readers who do not know the project: `python -m benchmarks.words [--seed 7] [--lines 40]`.

Each line is drawn from the help of verbs and options, the messages of errors, the first lines of docstrings, or the
labels of the page, as often from one as from another. Below each stands what a reader of it sees besides: its kind,
and the verb and option, the function with its parameters, or the module of the page to which it belongs. A reader
writes what each line means and does. `--places` adds the file and line, for the comparison with the code.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from worlds.core.search.options import OPTIONS
from worlds.verbs.table import VERBS

ROOT = Path(__file__).resolve().parents[1]
LABEL = re.compile(r'"([A-Z][a-z]+ [^"<>]{3,})"').findall
Scope = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Line(NamedTuple):
    """A line to be judged, the kind and name that its reader sees with it, and its file and line number."""

    text: str
    context: str
    place: str = ""


def helps() -> Iterator[Line]:
    """The help lines of verbs, of their options, and of a search."""
    for name, verb in VERBS.items():
        yield Line(verb.help, f"help of the command and method `{name}`")
        for option in verb.options.values():
            yield Line(option.help, f"help of the option `{option.name}` of `{name}` ({verb.help})")
    for option in OPTIONS.values():
        yield Line(option.help, f"help of the option `{option.name}` of `search` ({VERBS['search'].help})")


def signature(scope: Scope) -> str:
    """The name of a function with its parameters and result, or of a class."""
    if isinstance(scope, ast.ClassDef):
        return f"class {scope.name}"
    returned = f" -> {ast.unparse(scope.returns)}" if scope.returns else ""
    return f"{scope.name}({ast.unparse(scope.args)}){returned}"


def nodes(tree: ast.AST) -> Iterator[tuple[Scope | ast.Raise, list[Scope]]]:
    """The classes, functions and raise statements of a module, each with the classes and functions around it."""
    left: list[tuple[ast.AST, list[Scope]]] = [(tree, [])]
    while left:
        node, scopes = left.pop()
        if isinstance(node, Scope):
            scopes = [*scopes, node]
        if scopes and isinstance(node, Scope | ast.Raise):
            yield node, scopes
        left += [(below, scopes) for below in ast.iter_child_nodes(node) if not isinstance(below, ast.expr)]


@cache
def written() -> list[tuple[Path, str, Scope | ast.Raise]]:
    """The classes, functions and raise statements of the engine, with file, qualified name and signature."""
    found = []
    for file in chain(*(sorted((ROOT / folder).rglob("*.py")) for folder in ("worlds", "graph", "sql"))):
        if ROOT in file.resolve().parents and not file.parent.is_symlink():
            module = str(file.relative_to(ROOT).with_suffix("")).replace("/", ".")
            for node, scopes in nodes(ast.parse(file.read_text("utf-8"))):
                named = ".".join([*(scope.name for scope in scopes[:-1]), signature(scopes[-1])])
                found.append((file, f"{module}: {named}", node))
    return found


def errors() -> Iterator[Line]:
    """The messages of errors, with their fields in braces."""
    for file, name, node in written():
        for call in ast.walk(node) if isinstance(node, ast.Raise) else ():
            if isinstance(call, ast.Call) and call.args and isinstance(call.args[0], ast.JoinedStr | ast.Constant):
                text = ast.unparse(call.args[0]).removeprefix("f")[1:-1]
                if " " in text:
                    context = f"message of {ast.unparse(call.func)}, raised in {name}"
                    yield Line(text, context, f"{file.relative_to(ROOT)}:{call.lineno}")
                break


def docstrings() -> Iterator[Line]:
    """The first lines of docstrings."""
    for file, name, node in written():
        if isinstance(node, Scope) and (text := ast.get_docstring(node)):
            first = text.partition("\n\n")[0].replace("\n", " ")
            yield Line(first, f"docstring of {name}", f"{file.relative_to(ROOT)}:{node.lineno}")


def labels() -> Iterator[Line]:
    """The labels of the page: texts of several words that begin with a capital."""
    for file in sorted((ROOT / "worlds" / "doors" / "server" / "page").glob("*.js")):
        lines = file.read_text("utf-8").splitlines()
        shown = f"label of the page in a browser, {file.name}: {lines[0].removeprefix('// ')}"
        for number, line in enumerate(lines, 1):
            yield from (Line(text, shown, f"{file.name}:{number}") for text in LABEL(line))


@cache
def kinds() -> list[list[Line]]:
    """The lines of each kind, in order."""
    return [sorted({line.text: line for line in kind()}.values()) for kind in (helps, errors, docstrings, labels)]


def draw(seed: int, lines: int) -> list[Line]:
    """The lines of a draw, the same for the same seed and code."""
    drawn, left = random.Random(seed), [list(kind) for kind in kinds()]
    for kind in left:
        drawn.shuffle(kind)
    return [left[number % len(left)].pop() for number in range(lines)]


def main() -> None:
    """Print the seed and the lines."""
    parser = argparse.ArgumentParser(description="Draw lines to be judged by readers.")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000))
    parser.add_argument("--lines", type=int, default=40)
    parser.add_argument("--places", action="store_true", help="show where each line stands")
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    for number, line in enumerate(draw(asked.seed, asked.lines), 1):
        print(f"{number}. {line.text}\n     {line.context}" + (f"  [{line.place}]" if asked.places else ""))


if __name__ == "__main__":
    main()
