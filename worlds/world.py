"""The World: one file of quads, texts and vectors, and the verbs on it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import pyoxigraph as ox

from worlds.core.embedders import Embedder, resolve_embedder
from worlds.core.file import opening
from worlds.core.history.history import Moment
from worlds.core.history.writer import Progress as Progress
from worlds.core.quads.dataset import default_graph, own_named
from worlds.core.quads.dictionary import Dictionary
from worlds.core.quads.namespaces import listed
from worlds.core.sparql.copied import CopiedIndex, EarlierIndex
from worlds.core.sparql.index import PLACES, SparqlIndex
from worlds.core.sparql.index import Progress as Built
from worlds.core.sparql.patterns import SubjectPatterns
from worlds.core.sparql.queries import Queries
from worlds.core.views.copied import Copies, ViewCopy
from worlds.core.views.dataset import Dataset, DatasetIndex, DatasetPatterns, IndexNotes
from worlds.core.views.scope_writes import ScopedWriter
from worlds.core.views.seen import SeenCore, UnseenError
from worlds.core.views.slice import Slice, ViewConnection
from worlds.core.views.view import View
from worlds.errors import ArgumentError, ReadOnlyError, WorldsError
from worlds.extras.remote.address import is_address
from worlds.graph.search.rewriting import mentions_search
from worlds.graph.targets import file_name
from worlds.rooms.forwarding import Forwarding
from worlds.sql.connection import Connection
from worlds.sql.drivers import SQLITE
from worlds.verbs.concluding import Concluding, concluding_slice
from worlds.verbs.refusing import OUTSIDE, refuse, refuse_past

if TYPE_CHECKING:
    from worlds.extras.conclusions.ruling import Rules
    from worlds.extras.remote.status import Replica
    from worlds.graph.query.results import Solutions, Triples
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

from worlds.extras.conclusions.following import Conclusions
from worlds.extras.facts.spans import Validity
from worlds.extras.facts.times import in_calendar, moment
from worlds.verbs.invocation import verb
from worlds.verbs.knowing import Knowing
from worlds.verbs.querying import Querying
from worlds.verbs.reading import ReadingVerbs
from worlds.verbs.remembering import Remembering
from worlds.verbs.searching import Searching
from worlds.verbs.settings import SettingVerbs
from worlds.verbs.writing import QuadLike as QuadLike
from worlds.verbs.writing import WritingVerbs

SUFFIXES = (".db", ".world", ".sqlite", ".sqlite3")
"""The endings of a world's file name, where its name has to identify it."""
_SCOPES = 16  # that a world keeps, the newest
_SETTINGS = ("created", "history_from", "purges", "term_removals", "policy", "default_graph", "embedder")
"""The rows of the table meta that a revision's world depends on."""
_Scopes: TypeAlias = "dict[tuple[GraphName, ...], ScopedWorld]"


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


def _opened(connection: Connection, *known: Any, **options: Any) -> World:
    """The world of a connection, which is closed where it is none."""
    try:
        return World(connection, *known, **options)
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
        return self._only(self._names(graphs))

    def _only(self, names: tuple[GraphName, ...]) -> World:
        """The scope of some graphs."""
        with self._core.connection.lock:
            found = self._scopes.pop(names, None)
            if found is None or found._core.connection.closed:
                found = ScopedWorld(self, names)
            self._scopes[names] = found  # the newest last
            while len(self._scopes) > _SCOPES:
                del self._scopes[next(iter(self._scopes))]
        return found

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

    @property
    def _view(self) -> View:
        """How the world is looked at."""
        return View() if self._memory is None else View(graphs=(ox.NamedNode(str(self._memory.graph)),))

    @cached_property
    def _copies(self) -> Copies[CopiedWorld]:
        return Copies(self._core.connection, lambda view: CopiedWorld(self, view), self._settings)

    def _settings(self) -> object:
        """The settings that a revision's world depends on besides the revision: forgotten history, policy, prefixes."""
        return tuple(map(self._core.connection.meta, _SETTINGS)), self._core.namespaces.declared

    @verb
    def at(self, revision: Moment) -> World:
        """The world as it was after a revision, or at a time, with its history until then, which can only be read.

        It is a world that had stopped there, and later writes do not change it: texts have the vectors that the world
        has, or has retired; policy and prefixes are those of when it is first read; there are no sources and no
        proposals. Queries take the world's SPARQL index and take back what came since. All else reads a copy of the
        file, which is made when it is first needed, and gone with the process; the last three are kept. `close` gives
        a copy back, also at the end of `with`; the next call makes it again. Errors are those of `diff`.
        """
        with self._core.connection.snapshot():
            return self._copies.of(View(revision=self._core.history.check(revision)))

    @verb
    def as_of(self, time: object) -> World:
        """The quads that held at a time, as far as the world knows now, as a `World` that can only be read.

        It is a world that was told so at that time. A quad that is asserted and whose reifiers say no time is in it;
        one whose interval does not have the time is not; a triple that nobody asserts, which has ended or is to begin,
        is in it if its interval has the time. `time` is a date, a datetime, a text in ISO 8601 or "now"; a year, a
        month or a day is its beginning. It is a copy of the file, gone with the process; the last three are kept.
        `w.at(revision).as_of(time)` is what the file held then of that time.
        """
        found = self._copies.of(View(time=moment("time", time, self._validity.zone)))
        with found._core.connection.snapshot():  # what the world knows now
            return found

    @property
    def entailed(self) -> World:
        """The `World` with its conclusions, to query, search, describe and export; it can only be read.

        It reads as a world in which all that follows by `rules` was written, and is brought in step before each
        reading. What follows from a scope follows from its graphs alone; so it does of a revision, or as of a time.
        The first reading copies the file and adds the conclusions, at some 100,000 a second. `close` gives the copy
        back; the next call makes it again.
        """
        return self._with_conclusions

    def _require(self, what: str) -> None:
        """Refuse, with a ReadOnlyError, a verb or a setting that this view does not allow."""

    def _names(self, graphs: object) -> tuple[GraphName, ...]:
        """The graphs of a scope, each once, in one order."""
        names = sorted({self._core.namespaces.graph(graph) for graph in listed(graphs)}, key=str)
        if not names:
            raise ValueError("a scope needs at least one graph")
        return tuple(names)

    @property
    def _written(self) -> Connection:
        """The connection by which it is written."""
        return self._core.connection

    @cached_property
    def _scopes(self) -> _Scopes:
        return {}

    @cached_property
    def _with_conclusions(self) -> World:
        return EntailedWorld(self, View(entailed=True))

    @verb
    def close(self) -> None:
        """Close the file. All writes are kept; a second call does nothing."""
        self._copies.close()
        if "_with_conclusions" in self.__dict__:
            self._with_conclusions.close()
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
        return f"<World {self.path}>"

    def __len__(self) -> int:
        """The number of quads."""
        return self.count()

    def __bool__(self) -> bool:
        return True  # an empty world is a world


class ScopedWorld(Forwarding, World):  # type: ignore[misc]  # the verbs that it forwards take any options
    """A world seen through some of its graphs; made by `World.only`. It reads its slice, and writes to the world."""

    _connection: ViewConnection
    _world: World
    _entire = False

    def __init__(self, world: World, graphs: tuple[GraphName, ...]) -> None:
        connection = ViewConnection(world.path, world.driver)
        connection.lock = world._core.connection.lock  # else each waits for the other one
        super().__init__(connection, world.embedder, demanded=False, vector_index="auto", sparql_index="memory")
        self._core.search_defaults, self._core.running = world._core.search_defaults, world._core.running
        self._world = world
        self._graphs = graphs
        self._slice = self._cut(connection)
        self._core.gate.slice = True
        self._core.namespaces.home = self._slice.single
        self._core.writer = ScopedWriter(world._core, self._core, self._slice)

    def _require(self, what: str) -> None:
        if what in OUTSIDE or what.startswith("setting "):
            refuse(what)

    def _cut(self, connection: ViewConnection) -> Slice:
        given = self._graphs, lambda id: self._world._proposals.get(id), self._seen
        return Slice(self._world._core, self._core, connection, *given)

    @property
    def _written(self) -> Connection:
        return self._world._written

    def at(self, revision: Moment) -> World:
        """The scope as it was after a revision; see `World.at`."""
        with self._core.connection.snapshot():
            number = self._core.history.check(revision)
        return self._world.at(number)._only(self._graphs)

    def as_of(self, time: object) -> World:
        """The quads that held at a time, in these graphs; see `World.as_of`."""
        return self._world.as_of(time)._only(self._graphs)

    def __repr__(self) -> str:
        names = ("default" if isinstance(name, ox.DefaultGraph) else str(name) for name in self._graphs)
        return f"<World {self.path}, only {', '.join(names)}>"

    @property
    def _view(self) -> View:
        """How the world is looked at."""
        return replace(self._world._view, graphs=self._graphs)

    @cached_property
    def _with_conclusions(self) -> World:
        return EntailedWorld(ConcludingScope(self._world, self._graphs), View(entailed=True))

    def only(self, *, graphs: object) -> World:
        """The part of this scope that has these graphs alone. ReadOnlyError for a graph outside of it."""
        names = self._names(graphs)
        if not all(map(self._slice.has, names)):
            raise ReadOnlyError("this would read a graph outside of the scope", kind="scope")
        return self._world._only(names)

    @cached_property
    def _seen(self) -> SeenCore | None:
        """The scope in its world's own database; None for one of the world's own graphs."""
        possible = SeenCore.possible(self._graphs)
        return SeenCore(self._world._core, self._graphs, self._patterns) if possible else None

    def _patterns(self, seen: SeenCore) -> SubjectPatterns:
        own = self._core.subject_patterns
        if not Dataset.possible(self._graphs):
            return own
        return DatasetPatterns(DatasetIndex(self._world._core, self._core, seen), own, seen)

    @cached_property
    def _dataset(self) -> Dataset | None:
        """The scope as a dataset of its world's index; None for one of many graphs."""
        if self._seen is None or not Dataset.possible(self._graphs):
            return None
        return Dataset(self._world._core, self._core, self._seen)

    def _answer(self, text: str, progress: Built | None, **how: Any) -> Solutions | Triples | bool:
        if self._dataset is not None:
            found = self._dataset.answer(text, lambda known: self._query(text, known=known, **how), progress)
            if found is not None:
                return found
        return super()._answer(text, progress, **how)

    def _sight(self) -> World | None:
        if self._seen is None or self._core.connection.in_transaction or not self._seen.clear:
            return None
        return self._there

    @cached_property
    def _there(self) -> World:
        assert self._seen is not None
        return SeenWorld(self, self._seen)

    def _listed(self, revision: Moment) -> int:
        """A revision that touched the scope alone; ReadOnlyError or ArgumentError for another."""
        with self._core.connection.snapshot():
            revision = self._core.history.check(revision)
            if revision in self._slice.partial:
                raise ReadOnlyError(f"revision {revision} touched graphs outside of the scope, too", kind="scope")
            if revision and not self._core.history.numbered([revision]):
                raise ArgumentError(f"there is no revision {revision} in this scope", kind="revision")
        return revision


class SeenWorld(World):
    """A scope in its world's own database, of which verbs that read are asked; made by a `ScopedWorld`."""

    _entire = False

    def __init__(self, scope: ScopedWorld, core: SeenCore) -> None:
        self._scope = scope
        self._core = core
        self._validity, self._conclusions = Validity(core), Conclusions(core)

    def __getattr__(self, name: str) -> NoReturn:
        raise UnseenError(name)

    @property
    def _view(self) -> View:
        """How the world is looked at."""
        return self._scope._view

    def _require(self, what: str) -> None:
        self._scope._require(what)


class CopiedWorld(World):
    """A world of another time, which can only be read; made by `World.at` and `World.as_of`."""

    _connection: ViewConnection
    _entire = False

    def __init__(self, world: World, view: View) -> None:
        connection = ViewConnection(world.path, world.driver)
        index = partial(self._index, world, view)
        super().__init__(connection, world.embedder, demanded=False, vector_index="auto", sparql_index=index)
        self._core.search_defaults, self._core.running = world._core.search_defaults, world._core.running
        self._base = world
        self._own = view
        self._copy = self._copied(connection)

    def _copied(self, connection: ViewConnection) -> Any:
        return ViewCopy(self._base._core, self._core, connection, self._own, self._taking)

    def _index(self, world: World, view: View, connection: Connection, dictionary: Dictionary) -> SparqlIndex:
        core = world._core
        if view.revision is None:
            return CopiedIndex(connection, dictionary, core.sparql)
        known = core.dictionary, core.sparql, core.history
        return EarlierIndex(connection, dictionary, *known, view.revision, self._taking)

    def _taking(self) -> None:
        self._base._copies.fill(self)

    @property
    def _view(self) -> View:
        """How the world is looked at."""
        given = {name: value for name, value in asdict(self._own).items() if value is not None and value is not False}
        return replace(self._base._view, **given)

    def _require(self, what: str) -> None:
        refuse_past(what)

    def at(self, revision: Moment) -> World:
        """The world as it was after an earlier revision; see `World.at`."""
        if self._own.time is None:
            return super().at(revision)
        return self._base.at(revision)._copies.of(View(time=self._own.time))

    def as_of(self, time: object) -> World:
        """The quads that held at another time; see `World.as_of`."""
        return super().as_of(time) if self._own.time is None else self._base.as_of(time)

    @cached_property
    def _aside(self) -> Queries:
        """Answers queries without the copy."""
        own = self._core
        return own.asking(Queries, self._base._core, own.sparql, IndexNotes(own, own.sparql.store))

    def _answer(self, text: str, progress: Built | None, **how: Any) -> Solutions | Triples | bool:
        if self._own.time is not None or mentions_search(text):
            return super()._answer(text, progress, **how)
        base = self._base
        query = self._query(text, known=(base._core.namespaces.prefixes, default_graph(base._core.connection)), **how)
        return super()._answer(text, progress, **how) if own_named(query) else self._aside.answer(query, progress)

    def close(self) -> None:
        """Give the copy back; the next call makes it again."""
        self._copies.close()
        self._copy.forget()

    def __repr__(self) -> str:
        view = self._own
        when = f"as of {in_calendar(view.time or 0)}" if view.revision is None else f"at revision {view.revision}"
        return f"<World {self.path} {when}>"


class ConcludingScope(ScopedWorld):
    """A scope that keeps the conclusions from its quads, for `World.entailed`."""

    _seen = None

    def _cut(self, connection: ViewConnection) -> Slice:
        return concluding_slice(self._world, self, connection, self._graphs)


class EntailedWorld(Concluding, CopiedWorld):
    """A world with its conclusions, which can only be read; made by `World.entailed`."""


def connection_of(world: World) -> Connection:
    """The world's connection, for tests and benchmarks that read its tables: the one way to its inside.

    What is written through it goes past the writer, so the full-text index, the vectors and SPARQL may miss it.
    """
    return world._core.connection
