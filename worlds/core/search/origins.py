"""Which source a quad comes from, by its graph: the names and kinds that searches filter by and hits tell."""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pyoxigraph as ox

from worlds.errors import FilterError
from worlds.sql import statements
from worlds.sql.bound_values import reading
from worlds.sql.connection import Connection

_SQL = statements("sources.sql")
_WORDS = 12  # of a passage, that are quoted
_heading = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
_link = re.compile(r"!?\[([^\]]*)\]\([^)]*\)").sub
_mark = re.compile(r"\\(?=[^\w\s])|[*`|>]+|^\s*(?:[-+]|\d+[.)])\s|-{3,}", re.MULTILINE).sub


class Origin(NamedTuple):
    """A source, as shown by a hit; `base` is the beginning of its documents' IRIs."""

    name: str
    kind: str
    base: str

    def path(self, subject: str) -> str | None:
        """The path of a document from the source's place, percent-encoded; None if it is not of the source."""
        return subject.removeprefix(self.base) if self.kind == "documents" and subject.startswith(self.base) else None


def place_of(stored: str | None, text: str, start: int, end: int) -> dict[str, Any] | None:
    """Where a passage, `start` to `end` of a document's text, stands in the file; see `Hit.place`."""
    if stored is None:
        return None
    told = json.loads(stored)
    if "offset" in told:
        return {"start": told["offset"] + start, "end": told["offset"] + end}
    place: dict[str, Any] = {}
    if told.get("starts"):
        at = max(bisect.bisect_right(told["starts"], start) - 1, 0)
        place = {told["part"]: told["parts"][at]}
        if told["part"] == "page":
            return {**place, "offset": start - told["starts"][at]}
        if told["part"] == "paragraph":
            return place
    return {**place, "headings": _headings(text, start), "words": " ".join(_words(text[start:end])[:_WORDS])}


def _headings(text: str, start: int) -> list[str]:
    """The headings above a place in Markdown, the highest first."""
    above: dict[int, str] = {}
    for match in _heading.finditer(text):
        if match.start() > start:
            break
        level = len(match[1])
        above = {**{one: told for one, told in above.items() if one < level}, level: match[2].strip()}
    return [above[level] for level in sorted(above)]


def _words(text: str) -> list[str]:
    """The words of Markdown up to the next heading, without its marks."""
    parts = [part for part in _heading.split(text)[::3] if part.strip()]  # two groups stand between
    return _mark(" ", _link(r"\1", parts[0] if parts else "")).split()


class GraphSources:
    """The sources of one world by their graphs."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def by_graph(self) -> Mapping[str, Origin]:
        """IRI of a graph → its source."""
        return self._connection.remembered("sources", self._read)

    def _read(self) -> Mapping[str, Origin]:
        rows = self._connection.rows(_SQL["sources"])
        with reading("a source"):
            return {graph: Origin(name, kind, json.loads(options)["base"]) for name, kind, _, graph, options, _ in rows}

    def places(self, name: str, path: str) -> str | None:
        """Where the parts of a document stand in its file, as it is stored."""
        found: str | None = self._connection.value(_SQL["places"], _SQL["places"].bind(name=name, path=path))
        return found

    def graphs(self, what: str, wanted: Iterable[object]) -> tuple[ox.NamedNode, ...]:
        """The graphs of sources by their names, or by their kinds; FilterError for a name that there is not."""
        known = self.by_graph()
        if what == "source_kinds":
            kinds = set(wanted)
            if strange := kinds - {"documents", "rdf", "tables"}:
                raise FilterError(f"source_kinds takes documents, rdf and tables, not {min(map(repr, strange))}")
            return tuple(ox.NamedNode(graph) for graph, one in known.items() if one.kind in kinds)
        names = {one.name: graph for graph, one in known.items()}
        for name in wanted:
            if name not in names:
                raise FilterError(f"there is no source {name!r}; the sources are: {', '.join(names) or 'none'}")
        return tuple(ox.NamedNode(names[str(name)]) for name in wanted)
