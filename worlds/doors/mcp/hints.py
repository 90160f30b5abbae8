"""Errors and empty answers, with what an agent can do about them: the nearest name, the known prefixes, the line."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from worlds.errors import ArgumentError, EmbedderError, FilterError, ParseError, WorldsError
from worlds.graph.terms import shorten

if TYPE_CHECKING:
    from worlds.extras.entities.schema import Schema
    from worlds.world import World

_KNOWN = 3000  # classes, and predicates, that names are compared with
_NEAREST = 3
_REMEDIES = {
    "timeout": "Narrow it: add a LIMIT, begin with the pattern that matches least, avoid patterns that share no\n"
    "variable, or use `search`, which is fast. `timeout` may be raised to 120.",
    "conflict": "Call `history` to see what was written meanwhile; then try again.",
    "read-only": "Tell the user, who may give a key with the level write, or start the server with --allow-writes.",
    "results": "Add a LIMIT, or count and group: SELECT ?x (COUNT(*) AS ?n) … GROUP BY ?x.",
    "memory": "Narrow the patterns, or leave out ORDER BY and DISTINCT over many rows.",
    "network": "Only `SERVICE w:search { … }`, this world's own search, works here; read world://guide.",
    "cursor": "Leave `cursor` out to begin anew; a cursor goes with the very arguments that gave it.",
    "no shapes": "`contradictions` needs none: it finds what vocabularies declare and the data break, and what is\n"
    "unlike the rest; `report` counts what is missing. Shapes are the quads of the graph <urn:worlds:shapes>: the\n"
    "user loads them by `worlds shapes load`, or allows `update`: INSERT DATA { GRAPH <urn:worlds:shapes> { … } }.",
    "revision": "Call `history` to see which revisions there are.",
}
"""The next step, by the kind of an error."""
_SAID = {"no shapes": "this world has no shapes, so nothing was checked"}
"""The message for an error of a kind, where its own tells a programmer what to do."""
_OF_TOOLS = (
    (r"a text is written rdflib\.Literal\(.*?\) or in quotes", "a text is written in quotes"),
    (r", or store it once by `worlds prefix`, or World\.bind", ""),
    (r"`worlds (sparql|update)` and World\.\w+ (answer|run) it", r"`\1` \2s it"),
    (r"`worlds ([\w-]+)`", r"`\1`"),
    (r"\bWorld\.(\w+)", r"`\1`"),
)
"""Words for the command line and Python in an error, and the words that agents have for them."""


_AMONG: Mapping[str, Literal["classes", "predicates"]] = {"types": "classes", "predicates": "predicates"}
"""The values of a filter, by its name, with which its error begins."""


class AgentHints:
    """Hints for an agent about one world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._lock = threading.Lock()
        self._known: Schema | None = None

    def _schema(self) -> Schema:
        """The names that the world uses."""
        with self._lock:
            entries = self._world.history(1)
            if self._known is None or self._known.revision != (entries[0].revision if entries else 0):
                self._known = self._world.schema(limit=_KNOWN)
            return self._known

    def nearest(self, name: str, among: Literal["classes", "predicates"] | None = None) -> list[str]:
        """The names that are spelt most like one."""
        return [shorten(iri, self._world.prefixes) for iri in self._schema().nearest(name, among)]

    def error(self, error: Exception, *, source: str | None = None) -> str:
        """The message of an error, and the next step; `source` is the query or the input that it is about."""
        lines = [_message(error)]
        line, column = getattr(error, "line", None), getattr(error, "column", None)
        if source is not None and line is not None:
            lines += _quoted(source, line, column)
        lines += self._remedies(error)
        return "\n".join(lines)

    def _remedies(self, error: Exception) -> Iterator[str]:
        kind, name, prefix = _told(error)
        if prefix is not None:
            yield from self._prefixes(prefix)
        elif name is not None:
            nearest = self.nearest(name, _AMONG.get(str(error).partition(":")[0])) or self.named(name)
            if nearest:
                yield f"Did you mean {either(nearest)}?"
            yield "Names are written with a prefix (ex:Thing) or as <IRI>; call `schema` to see them, or `resolve`."
        elif isinstance(error, EmbedderError):
            yield 'Search by words instead: mode="text".'
        elif kind in _REMEDIES:
            yield _REMEDIES[kind]

    def _prefixes(self, given: str) -> Iterator[str]:
        known, used = self._world.prefixes, self._schema().prefixes
        if close := get_close_matches(given, known, n=1, cutoff=0.5):
            yield f"Did you mean {close[0]}: <{known[close[0]]}>?"
        shown = [f"{prefix}: <{iri}>" for prefix, iri in used.items()]
        rest = [f"{prefix}:" for prefix in known if prefix not in used]
        yield f"Prefixes that this world uses: {', '.join(shown) or 'none'}."
        yield f"Known besides: {', '.join(rest)} Declare others with PREFIX, or write the IRI as <…>."

    def named(self, name: str) -> list[str]:
        """The entities that a name may mean, with their labels."""
        found = self._world.resolve(name, limit=_NEAREST).candidates
        prefixes = self._world.prefixes
        return [f"{shorten(str(one.iri), prefixes)} ({one.label})" for one in found]


def _told(error: BaseException) -> tuple[str, str | None, str | None]:
    """The kind of an error, and the name or the prefix that it is about; a filter's error has them from its cause."""
    if isinstance(error, FilterError) and error.__cause__ is not None:
        return _told(error.__cause__)
    kind = error.kind if isinstance(error, WorldsError | ArgumentError) else ""
    return kind, getattr(error, "name", None), getattr(error, "prefix", None)


def _message(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    text = _SAID.get(_told(error)[0]) or str(error) or type(error).__name__
    for said, told in _OF_TOOLS:
        text = re.sub(said, told, text)
    kind = "the input does not parse: " if isinstance(error, ParseError) else ""
    return f"{kind}{text}"


def _quoted(source: str, line: int, column: int | None) -> Iterator[str]:
    """The line of the input that an error is about, and a mark under the place."""
    lines = source.splitlines()
    if not 1 <= line <= len(lines):
        return
    text, place = lines[line - 1], column or 1
    start = max(0, place - 60) if len(text) > 120 else 0
    number = f"{line:>4} | "
    yield number + text[start : start + 120].replace("\t", " ")
    if column is not None:
        yield " " * (len(number) + place - 1 - start) + "^"


def either(names: list[str]) -> str:
    """The names as a choice: `a, b or c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
