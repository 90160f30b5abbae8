"""How much code there is: `python -m benchmarks.lines [FOLDER]`, of this repository or of another checkout.

A line of Python counts if it has more than a comment, and is not of a docstring; of SQL, JavaScript and CSS if it is
neither empty nor a comment. The engine is worlds/, graph/ and sql/.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

from benchmarks.common import table

_ENGINE = ("worlds", "graph", "sql")
_FOLDERS = (*_ENGINE, "tests", "benchmarks", "examples")
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
_COMMENTS = {".sql": ("--",), ".js": ("//", "/*", "*"), ".css": ("/*", "*")}


def python(text: str) -> int:
    """Lines of Python with code."""
    quoted: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and body:
            first = body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                quoted.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - quoted)


def other(text: str, comments: tuple[str, ...]) -> int:
    """Lines of another language with code."""
    return sum(bool(line.strip()) and not line.strip().startswith(comments) for line in text.splitlines())


def main() -> None:
    """Print a row for each folder and language."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    counted: Counter[tuple[str, str]] = Counter()
    for folder in _FOLDERS:
        for path in (root / folder).rglob("*"):
            if path.is_file() and not any(part.is_symlink() for part in path.parents):  # sql/ and graph/ are linked
                if path.suffix == ".py":
                    counted[folder, "Python"] += python(path.read_text("utf-8"))
                elif path.suffix in _COMMENTS:
                    counted[folder, path.suffix[1:]] += other(path.read_text("utf-8"), _COMMENTS[path.suffix])
    engine = sum(lines for (folder, language), lines in counted.items() if folder in _ENGINE and language == "Python")
    rows = [[folder, language, lines] for (folder, language), lines in sorted(counted.items())]
    table("Lines of code", ["folder", "language", "lines"], [*rows, ["the engine", "Python", engine]])


if __name__ == "__main__":
    main()
