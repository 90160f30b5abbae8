"""The query that the hints on another one lead to, and what it finds."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from worlds.core.sparql.hints import Hint
from worlds.errors import QueryError, WorldsError
from worlds.graph.query.results import Repair

_ROUNDS = 4  # of hints on what the hints before led to
_OPEN = re.compile(r"the ([{(]) is not closed")
_CLOSING = {"{": " }", "(": " )"}
_ALIKE = 0.5  # of prefixes


def repaired(
    text: str,
    failed: QueryError | Iterable[str],
    prefixes: Mapping[str, str],
    ask: Callable[[str, bool | None], Any],
    union: bool | None,
) -> Repair | None:
    """The nearest query that finds something; `failed` is why the text cannot be asked, or the notes on it.

    `ask` answers a query, of all graphs if it is told so.
    """
    changes: list[str] = []
    for _ in range(_ROUNDS):
        edit = _of_error(failed, prefixes) if isinstance(failed, QueryError) else _of_notes(failed)
        if edit is None:
            return None
        old, new = edit
        if old is None:
            union = True
            changes.append("all graphs are asked")
        else:
            changed = _replaced(text, old, new)
            if changed == text:
                return None
            text = changed
            changes.append(f"{old.rstrip(':')} became {new.rstrip(':')}" if old else f"{new.strip()} was added")
        try:
            found = ask(text, union)
            if isinstance(found, bool):
                return None  # an ASK has no results to show
            if len(found):
                return Repair(text, tuple(changes), bool(union), found)
            failed = found.notes
        except QueryError as error:
            failed = error
        except WorldsError:
            return None
    return None


def _of_notes(notes: Iterable[str]) -> tuple[str | None, str] | None:
    for note in notes:
        if isinstance(note, Hint):
            return note.old, note.new
        if "give union=true" in note:
            return None, ""
    return None


def _of_error(error: QueryError, prefixes: Mapping[str, str]) -> tuple[str, str] | None:
    if error.prefix:
        near = difflib.get_close_matches(error.prefix, [prefix for prefix in prefixes if prefix], 1, _ALIKE)
        return (f"{error.prefix}:", f"{near[0]}:") if near else None
    if found := _OPEN.search(str(error)):
        return "", _CLOSING[found[1]]
    return None


def _replaced(text: str, old: str, new: str) -> str:
    """The text with one thing in place of another, wherever it stands by itself."""
    if not old:
        return text + new
    words = r"\s+".join(map(re.escape, old.split()))
    after = r"(?![\w@^-])" if not old.endswith(":") else ""
    return re.sub(rf"(?<![\w:?$]){words}{after}", lambda _: new, text)
