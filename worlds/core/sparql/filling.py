"""The quads that fill the SPARQL index, at once or beside other work, in memory or on disk, and in step by deltas."""

from __future__ import annotations

import itertools
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
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
SLICE = 0.1  # seconds of one query that go to the move, at most, and no more than queries took since the last slice
AT_ONCE = 5000  # quads that are moved between two looks at the clock
_START = "from worlds.core.sparql.index import build; build()"


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


class IndexMove:
    """The way of a store from disk to memory, a slice at a time, while the store goes on changing."""

    def __init__(self, store: ox.Store) -> None:
        self.memory = ox.Store()
        self.done = 0
        self._quads = iter(store)  # as they are now, whatever becomes of the store
        self._since: list[tuple[list[ox.Quad], list[ox.Quad]]] = []

    def follow(self, removed: list[ox.Quad], added: list[ox.Quad]) -> None:
        """Record a change of the store."""
        self._since.append((removed, added))

    def go_on(self, asked: float) -> bool:
        """Copy the next slice, after queries of so many seconds; True if it was the last: both stores are equal."""
        end = time.perf_counter() + min(SLICE, asked)
        while quads := list(itertools.islice(self._quads, AT_ONCE)):
            self.memory.bulk_extend(quads)
            self.done += len(quads)
            if len(quads) == AT_ONCE and time.perf_counter() > end:
                return False
        for removed, added in self._since:
            for quad in removed:
                self.memory.remove(quad)
            self.memory.extend(added)
        return True


class IndexBuilder:
    """Starts the processes that bring the cache of one world up to date, one after another."""

    def __init__(self, file: str, driver: str) -> None:
        self._given = file, driver
        self._thread: Thread | None = None
        self._wanted = False

    def start(self) -> None:
        """Have a process build the index of what the file has now; a running one is waited for, by a thread."""
        self._wanted = True
        if self._thread is None or not self._thread.is_alive():
            self._thread = Thread(target=self._run, name="SPARQL index", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while self._wanted:
            self._wanted = False
            os.waitpid(self._spawned(), 0)

    def _spawned(self) -> int:
        path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)  # "" is the current folder
        quiet = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
        command = (sys.executable, "-P", "-c", _START, *self._given)
        # A group of its own: an interrupt at the terminal is not meant for it.
        return os.posix_spawn(
            sys.executable, command, {**os.environ, "PYTHONPATH": path}, file_actions=quiet, setpgroup=0
        )
