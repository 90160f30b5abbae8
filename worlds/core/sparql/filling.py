"""The quads that fill the SPARQL index, and the effect of a delta on it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyoxigraph as ox

from worlds.core.quads.dictionary import DEFAULT_GRAPH, DEFAULT_GRAPH_ID, LITERAL, TRIPLE, Dictionary
from worlds.core.sparql.cache import Cache, Copy, Stamp
from worlds.graph.lexical import STABLE, Learned, LexicalForms
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_log = logging.getLogger("worlds")
IsUsed: TypeAlias = Callable[[Sequence[Any]], Sequence[bool]]
"""Says which terms are objects of quads."""
_TERMS = 20_000  # rows read at a time
HELD = 4_000_000
"""Terms that are held in memory while the index is built, of half a kilobyte each; more are read in turn."""


@dataclass
class AppliedDelta:
    """The effect of one delta on the store, so that it can be taken back."""

    added: list[ox.Quad]
    removed: list[ox.Quad]
    markers: set[int]  # as they were before
    graphs: dict[int, Any]  # that may have come or gone
    count: int
    learned: Sequence[Learned] = ()  # forms of literals


@dataclass(frozen=True)
class Taken:
    """A store with the content of an index at a revision."""

    store: ox.Store
    copy: Copy | None  # where it is, if on disk
    forms: LexicalForms
    revision: int
    recorded: str  # what the world says of that revision
    count: int
    mark: str = ""  # what else it has, as the index writes it


def from_cache(cache: Cache, generations: Iterable[tuple[Path, Stamp]], is_used: IsUsed) -> Taken | None:
    """A copy of the first of some generations that is whole; the damaged ones before it go. None where none is."""
    for generation, stamp in generations:
        copy = None
        try:
            copy, known = cache.copy(generation, stamp)
            store = ox.Store(str(copy.folder))
            forms = LexicalForms(is_used, known)
        except (OSError, RuntimeError, ValueError) as error:
            if copy is not None:
                copy.remove()
            if generation.exists():
                _log.warning("the SPARQL cache %s is damaged, and is built anew: %s", generation, error)
                cache.discard(generation)
            continue
        return Taken(store, copy, forms, stamp.revision, stamp.recorded, stamp.quads, stamp.mark)
    return None


def read_terms(connection: Connection, dictionary: Dictionary) -> tuple[dict[int, Any] | None, list[Any]]:
    """The terms of a world by their ids, None where they are too many, and those whose form a store may change."""
    odd: list[Any] = []
    terms: dict[int, Any] | None = {DEFAULT_GRAPH_ID: DEFAULT_GRAPH}
    if connection.value(_SQL["last_term"]) > HELD:
        terms = None
    typed = dictionary.find([ox.NamedNode(iri) for iri in STABLE])
    stable = {number: pattern for number, pattern in zip(typed, STABLE.values(), strict=True) if number}
    read = _SQL["typed_in_range" if terms is None else "terms_in_range"]
    after = 0
    while rows := connection.rows(read, read.bind(after=after, limit=_TERMS)):
        after = rows[-1][0]
        held: dict[int, Any] = {} if terms is None else terms
        dictionary.decode(rows, held)
        for number, kind, value, datatype, _, _ in rows:
            if kind == TRIPLE or (
                kind == LITERAL
                and datatype in stable
                and not (type(value) is str and stable[datatype].fullmatch(value))
            ):
                odd.append(held[number])
    return terms, odd
