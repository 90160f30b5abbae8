"""How an agent is shown terms and results: prefixed names, short texts, and no more than a budget of tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from worlds.graph.terms import format_term, to_oxigraph

T = TypeVar("T")
CUT = "Cut: raise `token_budget`, or ask for less."
_LONG = 60  # characters of a text that can be cut
_FIELDS = 16  # of an object, beyond which it is a map
_BYTES_A_TOKEN = 3.5  # of UTF-8; English prose has more, IRIs and most other scripts have fewer


def tokens(text: str) -> int:
    """About how many tokens a language model makes of a text."""
    return int(len(text.encode("utf-8", "replace")) / _BYTES_A_TOKEN) + 1


class TokenBudget:
    """The tokens that are left of an answer, its text and its structured form together."""

    def __init__(self, most: int) -> None:
        self.left = most
        self.spent = 0

    def take(self, text: str, structured: object = None) -> bool:
        """Spend the cost of an item, if the budget has that much left."""
        cost = tokens(text)
        if structured is not None:
            cost += tokens(json.dumps(structured, ensure_ascii=False))
        if cost > self.left:
            return False
        self.left -= cost
        self.spent += cost
        return True

    def fill(self, items: Sequence[T], line: Callable[[T], str] = str) -> list[T]:
        """The first of the items that fit, the very first in any case; a `line` of an item is its text."""
        taken: list[T] = []
        for item in items:
            if not self.take(line(item), item) and taken:
                break
            taken.append(item)
        return taken


def fitted(text: str, structured: dict[str, Any], most: int) -> tuple[str, dict[str, Any]]:
    """An answer in at most `most` tokens: if it has more, long texts and lists in it are cut, with a note."""
    sizes = tokens(text), tokens(json.dumps(structured, ensure_ascii=False))
    if sum(sizes) <= most:
        return text, structured
    cut = json.loads(json.dumps(structured))
    if isinstance(cut.setdefault("notes", []), list):
        cut["notes"].insert(0, CUT)
    room = most * sizes[1] // sum(sizes)
    while tokens(json.dumps(cut, ensure_ascii=False)) > room and _shrink(cut):
        pass
    left = int((most - tokens(json.dumps(cut, ensure_ascii=False)) - 1) * _BYTES_A_TOKEN) - len(CUT) - 1
    kept = text.encode("utf-8", "replace")[: max(left, 0)].decode("utf-8", "ignore")
    return f"{kept}\n{CUT}", cut


def _shrink(value: Any) -> bool:
    """Halve a long text in a structure, or else the largest list or object; return whether there was one."""
    texts: list[tuple[int, Any, Any]] = []
    groups: list[tuple[int, Any, Any]] = []
    waiting: list[Any] = [value]
    while waiting:
        holder = waiting.pop()
        for key, part in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(part, str) and len(part) > _LONG and part != CUT:
                texts.append((len(part), holder, key))
            elif isinstance(part, list | dict) and part and part != [CUT]:
                waiting.append(part)
                if isinstance(part, list) or len(part) > _FIELDS or all(map(str.isdecimal, part)):
                    groups.append((len(json.dumps(part)) * min(len(part) - 1, 1) or 1, holder, key))
    none: tuple[int, Any, Any] = (0, {}, "")
    text, group = (max(found, default=none, key=lambda one: one[0]) for found in (texts, groups))
    size, most, key = text if 4 * text[0] >= group[0] else group
    if size:
        part = most[key]
        half = len(part) // 2
        if isinstance(part, dict):
            most[key] = dict(list(part.items())[:half])
        else:
            most[key] = clip(part, half) if isinstance(part, str) else part[:half]
    return size > 0


def clip(text: str, most: int) -> str:
    """The text in one line, cut after `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def quoted(label: str | None, most: int = 120) -> str:
    """A label or a text of the graph, after a space, in one line and in quotes; "" for none.

    Others wrote it, so it must not look like a line of the answer.
    """
    shown = clip(label or "", most).replace('"', "'")
    return f' "{shown}"' if label else ""


class Part(dict[str, Any]):
    """A part of an answer in its structured form, and the `line` of the text that says the same."""

    def __init__(self, line: str, fields: Mapping[str, Any]) -> None:
        super().__init__(fields)
        self._line = line

    def __str__(self) -> str:
        return self._line


class TermRenderer:
    """Shows terms, and records that have some, by a world's prefixes."""

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

    def fields(self, record: object, names: str, most: int = 120) -> dict[str, Any]:
        """Fields of a record as JSON: see `plain`."""
        return {name: self.plain(getattr(record, name), most) for name in names.split()}

    def plain(self, value: Any, most: int = 120) -> Any:
        """A value as JSON: terms as in Turtle, texts in one line and cut, numbers rounded; of a value its term."""
        value = getattr(value, "term", value)
        if hasattr(value, "n3") or type(value).__module__ == "pyoxigraph":
            return self.show(value, most)
        if isinstance(value, str):
            return clip(value, most)
        if isinstance(value, float):
            return round(value, 4)
        if isinstance(value, datetime):
            return value.isoformat(timespec="seconds")
        return [self.plain(one, most) for one in value] if isinstance(value, list | tuple) else value
