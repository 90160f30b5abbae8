"""The World: one file of quads, texts and vectors, and the verbs on it."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from worlds.embedders import Embedder, resolve_embedder
from worlds.errors import WorldsError
from worlds.file import opening
from worlds.graph.targets import file_name
from worlds.remote.address import is_address
from worlds.remote.retrying import retried
from worlds.revisions.writer import Progress as Progress
from worlds.search.engine import Searches
from worlds.sparql.index import PLACES, Place
from worlds.sql import statements
from worlds.sql.connection import Connection

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from worlds.graph.query.query import Query
    from worlds.graph.terms import Term
    from worlds.remote.replica import ReplicaConnection
    from worlds.remote.status import Replica

from worlds.verbs.auditing import Auditing
from worlds.verbs.curating import Curating
from worlds.verbs.deciding import Deciding
from worlds.verbs.knowing import Knowing
from worlds.verbs.querying import Querying
from worlds.verbs.reading import Reading
from worlds.verbs.remembering import Remembering
from worlds.verbs.searching import Searching
from worlds.verbs.settings import Settings
from worlds.verbs.table import VERBS
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
    replica: str | os.PathLike[str] | None = None,
    token: str | None = None,
    max_staleness: float | None = None,
) -> World:
    """Open the world at `path`, or make it; `":memory:"` is a world that is gone when it is closed.

    A `path` such as `https://host/NAME` is a world on a libSQL server. It is read from a replica here, at the path
    `replica` or in the user's cache, that a process of its own keeps in step; what is written goes to the server, and
    is here when the verb returns. `token` is what the server asks for, else the environment's WORLDS_PRIMARY_TOKEN.
    With `max_staleness`, reading is an OpenError where the replica is for certain no younger than so many seconds.
    ConflictError if another writer was first in a `transaction()` (single verbs are done again), UncertainError if the
    server does not say whether it kept a write.

    `embedder` is "auto" (the default model where it is installed, else none), None, the name or path of a
    sentence-transformers model, or an `Embedder`. `vector_index` says whether the native index is part of the world,
    for other programs: True at any size, False never; "auto" keeps what the file has, and has a new one while that
    is small, up to 3,000 vectors: see `build_vector_index`. `sparql_index` says where SPARQL is
    evaluated: in memory, at some 500 bytes a quad, or on disk, in a folder beside the file; "auto" takes memory for a
    small world, and for a larger one the disk, until its queries have taken so long that moving to memory pays, and if
    half of the free memory is enough. With an `encryption_key` it is in memory, and nothing of the world is
    on disk in plain text. `durability="full"` keeps an acknowledged write
    through a power loss too, not only through the death of the process. `timeout` is how many seconds a write waits
    for another process's.

    OpenError if there is no file and `create` is False, or it is not a world; SchemaError if it is a newer world;
    EmbedderError if `embedder` was named and does not fit what the world was embedded with; ReadOnlyError if the
    folder cannot be written to and `read_only` is False.
    """
    if isinstance(path, str) and is_address(path):
        if vector_index is True or encryption_key is not None or durability != "normal":
            raise ValueError(
                "vector_index, encryption_key and durability are those of a file, not of a world on a server"
            )
        return _open_replica(
            path, embedder, sparql_index, replica=replica, token=token, max_staleness=max_staleness, timeout=timeout,
            read_only=read_only,
        )  # fmt: skip
    if replica is not None or token is not None or max_staleness is not None:
        raise ValueError(f"replica, token and max_staleness are for a world on a server; {path!r} is a file")
    name = file_name(path)
    if vector_index != "auto" and not isinstance(vector_index, bool):
        raise ValueError(f"vector_index is True, False or 'auto', not {vector_index!r}")
    if sparql_index not in PLACES:
        raise ValueError(f"sparql_index is one of {', '.join(map(repr, PLACES))}, not {sparql_index!r}")
    if sparql_index == "disk" and encryption_key is not None:
        raise ValueError("sparql_index='disk' would write an encrypted world's quads in plain text: choose 'memory'")
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


def _open_replica(url: str, embedder: str | Embedder | None, sparql_index: Place, **options: Any) -> World:
    from worlds.remote.replica import open_replica  # a world in a file pays nothing for it

    chosen = resolve_embedder(embedder)
    connection = open_replica(url, **options)
    try:
        return RemoteWorld(
            connection,
            chosen,
            demanded=embedder not in ("auto", None),
            vector_index="auto",
            sparql_index=sparql_index,
        )
    except BaseException:
        connection.close()
        raise


class World(Settings, Deciding, Auditing, Curating, Knowing, Searching, Querying, Remembering, Reading, Writing):
    """A knowledge graph with search, in one file. Made by `worlds.open`; safe to share between threads.

    Its verbs stand in `worlds.verbs`: it is set by `bind`, `policy`, `default_graph`, `embedder`, `embed`; written by
    `add`, `remove`, `load`, `add_document`, `transaction`; read by `quads`, `count`, `graphs`, `export`, `stats`;
    remembered by `history`, `provenance`, `diff`, `at`, `undo`, `patch`; asked by `query`, `update`, `explain` and
    `search`; its entities known by `resolve`, `similar`, `describe`, `context`, `paths`; curated by `merge`, `split`,
    `propose`, `proposals`, `accept`, `reject`, `validate`, `guard` and `contradictions`.
    """

    @property
    def path(self) -> str:
        """The path of the world's file; ":memory:" for a world without one."""
        return self._connection.path

    @property
    def replica(self) -> Replica | None:
        """How the replica of a world on a server stands to that; None for a world that is a file of its own."""
        return None

    def refresh(self) -> None:
        """Wait until all that the server has now is here; nothing for a world that is a file of its own."""

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
        with self._connection.snapshot():
            return int(self._connection.value(_SQL["count_quads"]))

    def __bool__(self) -> bool:
        return True  # an empty world is a world


class RemoteWorld(World):
    """A world on a server, read from a replica here. A single verb that another writer was faster than is done anew."""

    _connection: ReplicaConnection

    def __init__(self, connection: ReplicaConnection, *arguments: Any, **options: Any) -> None:
        super().__init__(connection, *arguments, **options)
        connection.changed.append(self._forget)

    @property
    def path(self) -> str:
        """The world's address."""
        return str(self._connection.address)

    @property
    def replica(self) -> Replica | None:
        """How the replica stands to the server."""
        return self._connection.replica

    def refresh(self) -> None:
        """Wait until all that the server has now is here; OpenError if the server cannot be reached."""
        self._connection.refresh()

    def _forget(self) -> None:
        """Forget what was read from a file that another has replaced."""
        self._dictionary.forget()
        self._codes.forget()
        self._sparql.drop()


for _verb in VERBS.values():
    if _verb.retried:
        setattr(RemoteWorld, _verb.name, retried(getattr(World, _verb.name)))
for _setting in ("policy", "default_graph", "retention", "guard", "shapes"):
    _made = getattr(World, _setting)
    setattr(RemoteWorld, _setting, _made.setter(retried(_made.fset)))


def connection_of(world: World) -> Connection:
    """The world's connection, for tests and benchmarks that read its tables: the one way to its inside.

    What is written through it goes past the writer, so the full-text index, the vectors and SPARQL may miss it.
    """
    return world._connection


def solutions_of(world: World, select: str, asked: Query) -> tuple[list[str], Iterator[Sequence[Term | None]]]:
    """The variables and the solutions of a part of a query that a group was `asked`, under that one's limits."""
    own = world._query(select, bindings=asked.bindings, max_memory=asked.max_memory, timeout=asked.timeout)
    return world._queries.rows(own.replaced(prefixes={**own.prefixes, **asked.prefixes}))


def searches_of(world: World) -> Searches:
    """What a group of worlds asks a world for its part in a search."""
    return world._searches
