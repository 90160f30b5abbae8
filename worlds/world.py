"""The World: one file of quads, texts and vectors, and the verbs on it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from worlds.core.core import Core
from worlds.core.embedders import Embedder, resolve_embedder
from worlds.core.file import opening
from worlds.core.history.history import Moment
from worlds.core.history.writer import Progress as Progress
from worlds.core.sparql.index import PLACES
from worlds.core.views.copied import Copies
from worlds.errors import WorldsError
from worlds.extras.facts.times import moment, now
from worlds.extras.remote.address import is_address
from worlds.graph.targets import file_name
from worlds.looks.look import Look
from worlds.sql.connection import Connection
from worlds.sql.drivers import SQLITE
from worlds.verbs.invocation import verb
from worlds.verbs.knowing import Knowing
from worlds.verbs.querying import Querying
from worlds.verbs.reading import ReadingVerbs
from worlds.verbs.remembering import Remembering
from worlds.verbs.searching import Searching
from worlds.verbs.settings import SettingVerbs
from worlds.verbs.writing import QuadLike as QuadLike
from worlds.verbs.writing import WritingVerbs

if TYPE_CHECKING:
    from worlds.core.views.view import View
    from worlds.extras.conclusions.ruling import Rules
    from worlds.extras.remote.status import Replica
    from worlds.graph.terms import GraphName
    from worlds.rooms.curation import CurationRoom
    from worlds.rooms.entities import EntitiesRoom
    from worlds.rooms.facts import FactsRoom
    from worlds.rooms.file import FileRoom
    from worlds.rooms.proposals import ProposalsRoom
    from worlds.rooms.questions import QuestionsRoom
    from worlds.rooms.revisions import RevisionsRoom
    from worlds.rooms.shapes import ShapesRoom
    from worlds.rooms.sources import SourcesRoom

SUFFIXES = (".db", ".world", ".sqlite", ".sqlite3")
"""The endings of a world's file name, where its name has to identify it."""
_SCOPES = 16  # that a world keeps, the newest
_SETTINGS = ("created", "history_from", "purges", "term_removals", "policy", "default_graph", "embedder")
"""The rows of the table meta that a revision's world depends on."""


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
    driver: Literal["auto", "libsql", "sqlite"] = "auto",
    replica: str | os.PathLike[str] | None = None,
    token: str | None = None,
    max_staleness: float | None = None,
    search: Mapping[str, Any] | None = None,
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
    is small, up to 3,000 vectors: see `file.build_vector_index`. `sparql_index` says where SPARQL is
    evaluated: in memory, at some 500 bytes a quad, or on disk, in a folder beside the file; "auto" takes memory for a
    small world, and for a larger one the disk, until its queries have taken so long that moving to memory pays, and if
    half of the free memory is enough. With an `encryption_key` it is in memory, and nothing of the world is on disk in
    plain text. `durability="full"` keeps an acknowledged write through a power loss too, not only through the death of
    the process. `timeout` is how many seconds a write waits for another process's. `driver` is what reads the file,
    which is the same to both: libSQL ("libsql") has the native index, encryption and worlds on servers; SQLite
    ("sqlite") lets other threads run beside a statement, and stops it at once. "auto" is what the environment's
    WORLDS_DRIVER names, else SQLite for a file from 8 MiB on that has no native index, and libSQL for others; a file
    that is open in this process already has one driver. `search` are options of `World.search` that hold unless a call
    gives others; they come before those of the world's policy.

    OpenError if there is no file and `create` is False, it is not a world, or the driver cannot be had; SchemaError if
    it is of a newer version, or of before the first release; EmbedderError if `embedder` was named and does not fit
    the vectors of the world; ReadOnlyError if the folder cannot be written to and `read_only` is False.
    """
    address = isinstance(path, str) and is_address(path)
    if address and (vector_index is True or encryption_key is not None or durability != "normal" or driver == SQLITE):
        raise ValueError(
            "vector_index, encryption_key, durability and SQLite's driver are those of a file, not of a world on a "
            "server, whose replica libSQL keeps"
        )
    if not address and (replica, token, max_staleness) != (None, None, None):
        raise ValueError(f"replica, token and max_staleness are for a world on a server; {path!r} is a file")
    name = str(path) if address else file_name(path)
    if vector_index != "auto" and not isinstance(vector_index, bool):
        raise ValueError(f"vector_index must be True, False or 'auto', not {vector_index!r}")
    if sparql_index not in PLACES:
        raise ValueError(f"sparql_index must be one of {', '.join(map(repr, PLACES))}, not {sparql_index!r}")
    if sparql_index == "disk" and encryption_key is not None:
        raise ValueError("sparql_index='disk' would write an encrypted world's quads in plain text: choose 'memory'")
    chosen = resolve_embedder(embedder)
    if address:
        from worlds.extras.remote.replica import open_replica  # a world in a file pays nothing for it

        connection: Connection = open_replica(
            name, replica=replica, token=token, max_staleness=max_staleness, timeout=timeout, read_only=read_only
        )
    else:
        connection = opening.open_file(
            name, read_only=read_only, create=create, durability=durability, timeout=timeout,
            encryption_key=encryption_key, driver=driver, vector_index=vector_index,
        )  # fmt: skip
    return _opened(
        connection, chosen, demanded=embedder not in ("auto", None), vector_index="auto" if address else vector_index,
        sparql_index=sparql_index, search=search,
    )  # fmt: skip


def _opened(connection: Connection, embedder: Embedder | None, **options: Any) -> World:
    """The world of a connection, which is closed where it is none."""
    try:
        return World(Core(connection, embedder, now=now, **options), Look())
    except BaseException:
        connection.close()
        raise


class World(SettingVerbs, Searching, Querying, Knowing, Remembering, ReadingVerbs, WritingVerbs):
    """A knowledge graph with search, in one file. Made by `worlds.open`; safe to share between threads.

    It is written by `add`, `remove`, `edit`, `load`, `update` and `transaction`; read by `quads`, `count`, `graphs` and
    `export`; asked by `query`, `search`, `context`, `resolve`, `describe` and `schema`; its past by `history`, `diff`,
    `undo`, `at` and `as_of`. What else it does is in rooms, an attribute each: `entities`, `curation`, `proposals`,
    `shapes`, `sources`, `facts`, `revisions`, `file`, `questions`, `rules`, and the `memory` of a scope.
    """

    @property
    def entities(self) -> EntitiesRoom:
        """The room of entities: `similar`, `mentions`, `mint`, `form`, `paths`, `tree`, `members`."""
        from worlds.rooms.entities import EntitiesRoom

        return EntitiesRoom(self)

    @property
    def curation(self) -> CurationRoom:
        """The room of curation: `report`, `contradictions`, `duplicates`, `links`, `merge`, `split`, `verify`."""
        from worlds.rooms.curation import CurationRoom

        return CurationRoom(self)

    @property
    def proposals(self) -> ProposalsRoom:
        """The room of proposals: `add`, `list`, `get`, `amend`, `accept`, `reject`."""
        from worlds.rooms.proposals import ProposalsRoom

        return ProposalsRoom(self)

    @property
    def shapes(self) -> ShapesRoom:
        """The room of SHACL shapes: `load`, `add`, `remove`, `validate`, `guard`."""
        from worlds.rooms.shapes import ShapesRoom

        return ShapesRoom(self)

    @property
    def sources(self) -> SourcesRoom:
        """The room of sources and documents: `add`, `sync`, `mappings`, `add_document`, `chunk`."""
        from worlds.rooms.sources import SourcesRoom

        return SourcesRoom(self)

    @property
    def facts(self) -> FactsRoom:
        """The room of facts in time: `state`, `tell`, `end`, `reinstate`, `timeline`, `due`, `carry_out`."""
        from worlds.rooms.facts import FactsRoom

        return FactsRoom(self)

    @property
    def revisions(self) -> RevisionsRoom:
        """The room of revisions: `tag`, `patch`, `apply`, `provenance`, `retention`, `prune`."""
        from worlds.rooms.revisions import RevisionsRoom

        return RevisionsRoom(self)

    @property
    def file(self) -> FileRoom:
        """The room of the file: `backup`, `compact`, `publish`, the vector index, `default_graph`."""
        from worlds.rooms.file import FileRoom

        return FileRoom(self)

    @property
    def questions(self) -> QuestionsRoom:
        """The room of kept questions: `add`, `load`, `remove`, `near`, `check`, `brief`."""
        from worlds.rooms.questions import QuestionsRoom

        return QuestionsRoom(self)

    @property
    def rules(self) -> Rules:
        """The rules by which conclusions follow from the quads: `use`, `add` and `remove` set them, `why` explains.

        A world without rules concludes nothing. Conclusions are no quads: they are kept beside them, in step.
        """
        return self._rules

    @property
    def path(self) -> str:
        """The path of the world's file; the address of a world on a server; ":memory:" for a world without a file."""
        return self._core.connection.location

    @property
    def driver(self) -> str:
        """The driver by which its file is open, "libsql" or "sqlite"; see `worlds.open`."""
        return self._core.connection.driver.name

    @property
    def replica(self) -> Replica | None:
        """The state of the replica of a world on a server; None for a world that is a file of its own."""
        replica: Replica | None = self._written.replica
        return replica

    @verb
    def refresh(self) -> None:
        """Wait until all that the server has now is here; nothing for a world that is a file of its own.

        OpenError if the server cannot be reached.
        """
        self._written.refresh()

    @verb
    def only(self, *, graphs: object) -> World:
        """The world seen through these graphs ("default" is the default graph): it reads as if it held nothing else.

        Words are ranked, names compared, classes counted and notes made by what the graphs hold; only their prefixes,
        revisions and proposals are listed. A write is made in the world itself: it goes into the scope's graph where
        it names none and there is one, and is a ReadOnlyError of the kind "scope" where it touches another graph; so
        are settings, backups and all else that is of the whole world. Searches, contexts and descriptions
        read the world's own database, queries its index; all else copies the scope into memory when it is first read.
        ValueError where no graph is named.
        """
        return self._look.only(self._look.names(graphs))  # type: ignore[no-any-return]

    # -- other looks at it, which are kept ------------------------------------------------------------------------

    @cached_property
    def _scopes(self) -> dict[tuple[GraphName, ...], World]:
        return {}

    def _scope(self, names: tuple[GraphName, ...]) -> World:
        """The scope of some graphs, of the newest scopes that were asked for."""
        from worlds.looks.scope import Scope

        with self._core.connection.lock:
            found = self._scopes.pop(names, None)
            if found is None or found._core.connection.closed:
                found = Scope(self, names).open()
            self._scopes[names] = found  # the newest last
            while len(self._scopes) > _SCOPES:
                del self._scopes[next(iter(self._scopes))]
        return found

    @cached_property
    def _copies(self) -> Copies[World]:
        """The worlds of other times."""
        return Copies(self._core.connection, self._past, self._settings)

    def _past(self, view: View) -> World:
        from worlds.looks.past import Past

        return Past(self, view).open()  # type: ignore[no-any-return]

    def _settings(self) -> object:
        """The settings that a revision's world depends on besides the revision: forgotten history, policy, prefixes."""
        return tuple(map(self._core.connection.meta, _SETTINGS)), self._core.namespaces.declared

    @cached_property
    def _concluded(self) -> World:
        """The world with its conclusions."""
        from worlds.looks.entailment import Entailed

        return Entailed(self._look.concluding()).open()  # type: ignore[no-any-return]

    def _beside(self, path: str, *, make: bool) -> World:
        own = self._core.connection
        if own.replica is not None:
            from worlds.extras.remote.replica import open_memories  # a world in a file pays nothing for it

            connection: Connection = open_memories(own)  # type: ignore[arg-type]  # that of a replica
        else:
            connection = opening.open_file(
                path, read_only=own.read_only and not make, create=make, durability=own.durability,
                timeout=own.timeout, encryption_key=own.encryption_key, driver=own.driver.name,
            )  # fmt: skip
        made = _opened(
            connection, self.embedder, demanded=False, vector_index=False if make and own.replica is None else "auto",
            sparql_index="memory", search=self._core.search_defaults,
        )  # fmt: skip
        made._core.running = self._core.running
        return made

    @verb
    def at(self, revision: Moment) -> World:
        """The world as it was after a revision, or at a time, with its history until then, which can only be read.

        It is a world that had stopped there, and later writes do not change it: texts have the vectors that the world
        has, or has retired; policy and prefixes are those of when it is first read; there are no sources and no
        proposals. Queries take the world's SPARQL index and take back what came since. All else reads a copy of the
        file, which is made when it is first needed, and gone with the process; the last three are kept. `close` gives
        a copy back, also at the end of `with`; the next call makes it again. Errors are those of `diff`.
        """
        return self._look.at(revision)  # type: ignore[no-any-return]

    @verb
    def as_of(self, time: object) -> World:
        """The quads that held at a time, as far as the world knows now, as a `World` that can only be read.

        It is a world that was told so at that time. A quad that is asserted and whose reifiers say no time is in it;
        one whose interval does not have the time is not; a triple that nobody asserts, which has ended or is to begin,
        is in it if its interval has the time. `time` is a date, a datetime, a text in ISO 8601 or "now"; a year, a
        month or a day is its beginning. It is a copy of the file, gone with the process; the last three are kept.
        `w.at(revision).as_of(time)` is what the file held then of that time.
        """
        return self._look.as_of(moment("time", time, self._validity.zone))  # type: ignore[no-any-return]

    @property
    def entailed(self) -> World:
        """The `World` with its conclusions, to query, search, describe and export; it can only be read.

        It reads as a world in which all that follows by `rules` was written, and is brought in step before each
        reading. What follows from a scope follows from its graphs alone; so it does of a revision, or as of a time.
        The first reading copies the file and adds the conclusions, at some 100,000 a second. `close` gives the copy
        back; the next call makes it again.
        """
        return self._look.entailed  # type: ignore[no-any-return]

    @verb
    def close(self) -> None:
        """Close the file. All writes are kept; a second call does nothing."""
        self._copies.close()
        if "_concluded" in self.__dict__:
            self._concluded.close()
        if not self._look.close():
            return
        with self._core.connection.lock, contextlib.suppress(WorldsError):
            self._core.sparql.close()
        if "_memories" in self.__dict__:
            self._memories.close()
        self._core.connection.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} cannot be copied or sent to another process: open it there by its path")

    def __enter__(self) -> World:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<World {self.path}{self._look.words}>"

    def __len__(self) -> int:
        """The number of quads."""
        return self.count()

    def __bool__(self) -> bool:
        return True  # an empty world is a world


def connection_of(world: World) -> Connection:
    """The world's connection, for tests and benchmarks that read its tables: the one way to its inside.

    What is written through it goes past the writer, so the full-text index, the vectors and SPARQL may miss it.
    """
    return world._core.connection
