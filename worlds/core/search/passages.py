"""A passage by itself: what a hit cites as urn:worlds:chunk:N, with what stands before and behind it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from worlds.core.quads.dictionary import Dictionary
from worlds.errors import ArgumentError
from worlds.graph.records import Count, Quad, Record
from worlds.graph.terms import to_rdflib
from worlds.sql import statements
from worlds.sql.bound_values import as_text
from worlds.sql.connection import Connection

_SQL = statements("hits.sql")
_urn = re.compile(r"(?:urn:worlds:chunk:)?([1-9]\d{0,15})").fullmatch


@dataclass(frozen=True, slots=True)
class Beside(Record):
    """A passage beside another, of the same text."""

    chunk: int
    text: str


@dataclass(frozen=True, slots=True)
class Passage(Record):
    """One passage: `start` and `end` count characters in its literal, which `quads` hold.

    `before` and `after` are its neighbours in the text, the nearest last and first. The text of a profile or a
    statement is held by no quads.
    """

    uri: str
    chunk: int
    text: str
    start: Count
    end: Count
    quads: tuple[Quad, ...]
    before: tuple[Beside, ...]
    after: tuple[Beside, ...]


def passage(connection: Connection, dictionary: Dictionary, id: int | str, around: int) -> Passage:
    """See `World.sources.chunk`."""
    found = _urn(str(id))
    if found is None or isinstance(id, bool):
        raise ArgumentError(f"a chunk must be a number or urn:worlds:chunk:NUMBER, not {id!r}")
    number = int(found[1])
    with connection.snapshot():
        rows = connection.rows(_SQL["passages_beside"], _SQL["passages_beside"].bind(chunk=number, around=around))
        if number not in {row[0] for row in rows}:
            raise ArgumentError(f"there is no chunk {number}", kind="chunk")
        held = connection.rows(_SQL["quads_of_chunk"], (number,))
    texts = {chunk: as_text(text) for chunk, _, _, text in rows}
    start, end = next((row[1], row[2]) for row in rows if row[0] == number)
    terms = dictionary.terms({one for row in held for one in row})
    shown = {one: to_rdflib(term) if one else None for one, term in terms.items()}
    quads = tuple((shown[s], shown[p], shown[o], shown[g]) for s, p, o, g in held)
    before = tuple(Beside(row[0], texts[row[0]]) for row in rows if (row[1], row[0]) < (start, number))
    after = tuple(Beside(row[0], texts[row[0]]) for row in rows if (row[1], row[0]) > (start, number))
    return Passage(f"urn:worlds:chunk:{number}", number, texts[number], start, end, quads, before, after)
