"""The World: one file of quads, texts and vectors, and the verbs on it."""

from __future__ import annotations

import contextlib
import os
from typing import Literal, NoReturn

from worlds.embedders import Embedder, resolve_embedder
from worlds.errors import WorldsError
from worlds.file import opening
from worlds.graph.targets import file_name
from worlds.revisions.writer import Progress as Progress
from worlds.search.engine import Searches
from worlds.sparql.index import PLACES
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.verbs.auditing import Auditing
from worlds.verbs.curating import Curating
from worlds.verbs.knowing import Knowing
from worlds.verbs.querying import Querying
from worlds.verbs.reading import Reading
from worlds.verbs.remembering import Remembering
from worlds.verbs.searching import Searching
from worlds.verbs.settings import Settings
from worlds.verbs.writing import QuadLike as QuadLike
from worlds.verbs.writing import Writing

_SQL = statements("queries.sql")


def open(
    path: str | os.PathLike[str] = ":memory:",
    *,
    embedder: str | Embedder | None = "auto",
    read_only: bool = False,
    create: bool = True,
    vector_index: bool | Literal["auto"] = "auto",
    sparql_index: Literal["auto", "memory", "disk"] = "auto",
    durability: Literal["normal", "full"] = "normal",
    timeout: float = 10.0,
    encryption_key: str | None = None,
) -> World:
    """Open the world at `path`, or make it; `":memory:"` is a world that is gone when it is closed.

    `embedder` is "auto" (the default model where it is installed, else none), None, the name or path of a
    sentence-transformers model, or an `Embedder`. `vector_index` says whether the native index is part of the world,
    for other programs: True at any size, False never; "auto" keeps what the file has, and has a new one while that
    is small, up to 3,000 vectors: see `build_vector_index`. `sparql_index` says where SPARQL is
    evaluated: in memory, at some 500 bytes a quad, or on disk, in a folder beside the file; "auto" takes memory for a
    small world, and for a larger one the disk, until its queries have taken so long that moving to memory pays, and if
    half of the free memory is enough. `durability="full"` keeps an acknowledged write
    through a power loss too, not only through the death of the process. `timeout` is how many seconds a write waits
    for another process's.

    OpenError if there is no file and `create` is False, or it is not a world; SchemaError if it is a newer world;
    EmbedderError if `embedder` was named and does not fit what the world was embedded with; ReadOnlyError if the
    folder cannot be written to and `read_only` is False.
    """
    name = file_name(path)
    if vector_index != "auto" and not isinstance(vector_index, bool):
        raise ValueError(f"vector_index is True, False or 'auto', not {vector_index!r}")
    if sparql_index not in PLACES:
        raise ValueError(f"sparql_index is one of {', '.join(map(repr, PLACES))}, not {sparql_index!r}")
    chosen = resolve_embedder(embedder)
    connection = opening.open_file(
        name,
        read_only=read_only,
        create=create,
        durability=durability,
        timeout=timeout,
        encryption_key=encryption_key,
    )
    try:
        return World(
            connection,
            chosen,
            demanded=embedder not in ("auto", None),
            vector_index=vector_index,
            sparql_index=sparql_index,
        )
    except BaseException:
        connection.close()
        raise


class World(Settings, Writing, Reading, Remembering, Querying, Searching, Knowing, Curating, Auditing):
    """A knowledge graph with search, in one file. Made by `worlds.open`; safe to share between threads.

    Its verbs stand in `worlds.verbs`: it is set by `bind`, `policy`, `default_graph`, `embedder`, `embed`; written by
    `add`, `remove`, `load`, `add_document`, `transaction`; read by `quads`, `count`, `graphs`, `export`, `stats`;
    remembered by `history`, `provenance`, `diff`, `at`, `undo`, `patch`; asked by `query`, `update`, `explain` and
    `search`; its entities known by `resolve`, `similar`, `describe`, `context`, `paths`; curated by `validate`,
    `guard` and `contradictions`.
    """

    @property
    def path(self) -> str:
        """The path of the world's file; ":memory:" for a world without one."""
        return self._connection.path

    def close(self) -> None:
        """Close the file. What was written is kept; a second call does nothing."""
        with self._connection.lock, contextlib.suppress(WorldsError):
            self._sparql.close()
        self._connection.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} cannot be copied or sent to another process: open it there by its path")

    def __enter__(self) -> World:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<World {self.path}>"

    def __len__(self) -> int:
        """The number of quads."""
        return int(self._connection.value(_SQL["count_quads"]))

    def __bool__(self) -> bool:
        return True  # an empty world is a world


def connection_of(world: World) -> Connection:
    """The world's connection, for tests and benchmarks that read its tables: the one way to its inside.

    What is written through it goes past the writer, so the full-text index, the vectors and SPARQL may miss it.
    """
    return world._connection


def searches_of(world: World) -> Searches:
    """What a group of worlds asks a world for its part in a search."""
    return world._searches
