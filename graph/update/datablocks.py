"""Blocks of data in an update, `{ … }`, which can be long: skimmed, not read token by token."""

from __future__ import annotations

import re

from worlds.graph.query.guard import DEEPEST
from worlds.graph.query.tokens import OPENING, error_at

# What stands between the brackets of data, a thousand pieces at a time. Blocks can be long, so they are skimmed and not
# read token by token. No group is possessive: before Python 3.11.5 such groups went wrong.
_BETWEEN = re.compile(
    r"""(?>(?:[^{}()\[\]"'<>\#\\]++ | \\. | <(?:[^<>"{}|^`\\\x00-\x20]++|\\[uU])*> | \#[^\r\n]*+
       | '''[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*''' | \"""[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*\"""
       | '(?!'')[^'\\\r\n]*+(?:\\.[^'\\\r\n]*+)*' | "(?!"")[^"\\\r\n]*+(?:\\.[^"\\\r\n]*+)*"
       | <(?!<) | >(?!>)){1,1000})""",
    re.VERBOSE | re.DOTALL,
)
_BRACKET = re.compile(r"<<\(?|\)?>>|\{\||\|\}|[{}()\[\]]")
_GRAPH = re.compile(
    r"""(?<![\w:.\-])GRAPH\s*(?:<[^<>"{}|^`\x00-\x20]*>|[^\s<>"'{}()\[\];,#]*:[^\s<>"'{}()\[\];,#]*)\s*\Z""",
    re.IGNORECASE,
)
_LONGEST_NAME = 4000  # characters before a brace in which the name of its graph is looked for
_DOT = re.compile(r"\s*\.")


def read_block(text: str, start: int) -> tuple[int, list[tuple[int, int]]]:
    """Where the block that opens at `start` ends, and the places of the braces of graphs inside it."""
    graphs: list[tuple[int, int]] = []
    opened: list[int] = []
    at = start
    while True:
        while between := _BETWEEN.match(text, at):
            at = between.end()
        bracket = _BRACKET.match(text, at)
        if bracket is None:
            if at < len(text):
                raise error_at("this is not SPARQL: an unfinished string or a stray backslash", text, at)
            raise error_at("this { is never closed", text, start)
        at = bracket.end()
        mark = bracket[0]
        if mark in OPENING:
            opened.append(bracket.start())
            if len(opened) > DEEPEST:
                raise error_at(f"nested deeper than {DEEPEST}", text, bracket.start())
        else:
            place = opened.pop()
            if not opened:
                return at, graphs
            if mark == "}" and len(opened) == 1:
                graphs.append((place, bracket.start()))


def as_trig(block: str, graphs: list[tuple[int, int]]) -> str | None:
    """The block in TriG, in which `GRAPH g {…}` stands beside the default graph's braces and not inside them."""
    pieces: list[str] = []
    at = 0
    for opened, closed in graphs:
        name = _GRAPH.search(block, max(at, opened - _LONGEST_NAME), opened)
        if name is None:
            return None
        pieces += [block[at : name.start()], "} ", block[name.start() : closed], "} {"]
        dot = _DOT.match(block, closed + 1)
        at = closed + 1 if dot is None else dot.end()
    pieces.append(block[at:])
    return "".join(pieces)
