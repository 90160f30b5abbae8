"""How an agent is shown terms and results: prefixed names, short texts, and no more than a budget of tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from worlds.graph.terms import format_term, to_oxigraph

T = TypeVar("T")
_BYTES_A_TOKEN = 3.5  # of UTF-8; English prose has more, IRIs and most other scripts have fewer


def tokens(text: str) -> int:
    """About how many tokens a language model makes of a text."""
    return int(len(text.encode("utf-8", "replace")) / _BYTES_A_TOKEN) + 1


class Budget:
    """The tokens that are left of an answer.

    A client hands a model the text of an answer or its structured form, so the larger of both counts.
    """

    def __init__(self, most: int) -> None:
        self.left = most
        self.spent = 0

    def take(self, text: str, structured: object = None) -> bool:
        """Spend what an item costs, if that much is left."""
        cost = tokens(text)
        if structured is not None:
            cost = max(cost, tokens(json.dumps(structured, ensure_ascii=False)))
        if cost > self.left:
            return False
        self.left -= cost
        self.spent += cost
        return True

    def fill(self, items: Sequence[T], show: Any) -> list[T]:
        """The first of the items that fit, the very first in any case; `show` gives text and structured form."""
        taken: list[T] = []
        for item in items:
            text, structured = show(item)
            if not self.take(text, structured) and taken:
                break
            taken.append(item)
        return taken


def clip(text: str, most: int) -> str:
    """The text in one line, cut after so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def quoted(label: str | None, most: int = 120) -> str:
    """A label or a text of the graph, after a space, in one line and in quotes; "" for none.

    Others wrote it, so it must not look like a line of the answer.
    """
    shown = clip(label or "", most).replace('"', "'")
    return f' "{shown}"' if label else ""


class Terms:
    """Shows terms by a world's prefixes."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self.prefixes = prefixes

    def show(self, term: object, most: int = 200) -> str:
        """A term as in Turtle; a literal's text in one line, cut after `most` characters. "" where unbound."""
        if term is None:
            return ""
        text = format_term(to_oxigraph(term), self.prefixes)
        if len(text) <= most or not text.startswith('"'):
            return text.replace("\n", " ")
        body, _, tag = text.rpartition('"')  # the language or the datatype comes after the text
        return f'{clip(body, most)}"{tag}'

    def quad(self, quad: Sequence[object], most: int = 60) -> str:
        """A quad in one line, its graph in the fourth place; the object's text cut."""
        return " ".join(self.show(term, most) for term in quad if term is not None)

    def list(self, terms: Iterable[object]) -> str:
        """Terms, separated by commas."""
        return ", ".join(map(self.show, terms))
