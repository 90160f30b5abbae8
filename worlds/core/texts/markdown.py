"""Finds the blocks of a Markdown text: headings, lists, tables, code, and the rest."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

MARKDOWN = "https://www.iana.org/assignments/media-types/text/markdown"
"""The datatype of literals in Markdown."""

Kind = Literal["heading", "text", "list", "table", "code"]


class Block(NamedTuple):
    """A block on the top level, without the blanks around it; `text[start:end]`."""

    start: int
    end: int
    kind: Kind


_KINDS: dict[str, Kind] = {
    "heading_open": "heading",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
}
_line_ends = re.compile(r"\r\n?|\n").finditer
_content = re.compile(r"\S").search
_heading_or_fence = re.compile(r"^ {0,3}(?:#{1,6}[ \t]+\S|```|~~~)", re.MULTILINE).search


def looks_like_markdown(text: str) -> bool:
    """Whether a line of the text is a heading with `#`, or opens a block of code.

    >>> looks_like_markdown("Some text.\\n\\n## A heading")
    True
    >>> looks_like_markdown("We are #1.")
    False
    """
    return ("#" in text or "```" in text or "~~~" in text) and _heading_or_fence(text) is not None


def blocks(text: str) -> tuple[list[Block], list[int]]:
    """The blocks of a text as CommonMark and GitHub's tables have them, and where its list items begin, in order.

    Every character that is not blank is in a block. Time is linear in the text, some 2 MB a second.
    """
    starts = [0, *(found.end() for found in _line_ends(text)), len(text)]
    last = len(starts) - 1
    found: list[Block] = []
    items: list[int] = []
    line = 0  # the first that is in no block yet

    def add(first: int, end: int, kind: Kind) -> None:
        content = _content(text, starts[first], starts[end])
        if content:
            stop = starts[end]
            while text[stop - 1].isspace():
                stop -= 1
            found.append(Block(content.start(), stop, kind))

    for token in _parser().parse(text):
        if token.map is None:
            continue
        first, end = token.map[0], min(token.map[1], last)
        if token.type == "list_item_open":
            items.append(starts[first])
        if token.level == 0:
            add(line, first, "text")  # link definitions, of which there are no tokens
            add(first, end, _KINDS.get(token.type, "text"))
            line = end
    add(line, last, "text")
    return found, items


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # a tenth of a second

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
