"""The sources of a world as its file keeps them, the writers of their graphs, and the ledger of added documents."""

from __future__ import annotations

import contextlib
import datetime
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote, unquote, urlsplit

import numpy as np
import pyoxigraph as ox

from worlds.core.extension import Extension
from worlds.core.quads.dictionary import Ids, hash_of, json_ids
from worlds.core.quads.rows import NO_QUADS, difference, find_quads
from worlds.errors import ArgumentError, OpenError, ReadOnlyError
from worlds.graph.records import Count, Iri, Record
from worlds.graph.terms import to_rdflib
from worlds.permissions import consent, consents, home_of, withdraw_consent
from worlds.sql import statements
from worlds.sql.bound_values import reading
from worlds.sql.connection import Connection

_SQL = statements("sources.sql")
_name = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}").fullmatch

Kind: TypeAlias = Literal["documents", "rdf", "tables"]
KINDS: tuple[Kind, ...] = ("documents", "rdf", "tables")
Edits: TypeAlias = Literal["refuse", "keep"]
"""The treatment of others' writes in a source's graph."""
UNTRUSTED = "untrusted"
"""The kind of an OpenError for a source that nobody trusts on this machine."""
_OPTIONS = ("base", "patterns", "mapping", "language", "edits", "hosts", "user", "password_variable")
_STATE = ("run", "revision", "proposal", "error", "fingerprint")
_LEDGER = statements("documents.sql")
_KEPT = 1000  # quads of one document's versions; with more, the oldest are no longer known as its own


class FileRow(NamedTuple):
    """How a file was read last, and the last revision then; `digest` is "" for one that never could be read."""

    stamp: str
    digest: str
    error: str | None
    revision: int
    places: str | None = None


@dataclass(frozen=True, slots=True)
class FileProblem(Record):
    """A file of a source that could not be read, and the reason; quads read from it earlier are kept."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class WorldSource(Record):
    """A source that a world follows: `kind` is "documents", "rdf" or "tables", `place` an absolute path or a URL.

    Its quads are in `graph`, which it owns: others' writes there are refused, or, with `edits` "keep", merged three
    ways with what the files say. A document's IRI is `base` and its path from the place. `files` counts those
    that are read, `errors` are those that are not. `run` is when it ran last, `revision` what that wrote, None where it
    wrote nothing; `proposal` is that of a run that a guard queued, `error` says that its place is away. One that is
    not `trusted` came with the file, and is not read before the user of this machine trusts it.
    """

    name: str
    kind: Kind
    place: str
    graph: Iri
    base: str
    patterns: tuple[str, ...] = ()
    mapping: str | None = None
    language: str | None = None
    edits: Edits = "refuse"
    hosts: tuple[str, ...] = ()
    user: str | None = None
    password_variable: str | None = None
    files: Count = 0
    errors: tuple[FileProblem, ...] = ()
    run: datetime.datetime | None = None
    revision: int | None = None
    proposal: int | None = None
    error: str | None = None
    trusted: bool = False
    fingerprint: str | None = None
    _untold = ("fingerprint",)

    @property
    def is_address(self) -> bool:
        """Whether its place is a URL."""
        return urlsplit(self.place).scheme in ("http", "https")


def _reached(source: WorldSource) -> dict[str, object]:
    """The parts of a source that a user who trusts it trusts: its place and its way of reading."""
    parts = ("name", "kind", "place", "graph", *(one for one in _OPTIONS if one != "edits"))
    return {"source": {one: getattr(source, one) for one in parts}}


class SourceStore:
    """The tables of sources of one world."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._world = home_of(connection)

    def all(self) -> list[WorldSource]:
        """All sources, by name."""
        with self._connection.snapshot():
            counts = {name: (read, failed) for name, read, failed in self._connection.rows(_SQL["counts"])}
            rows = self._connection.rows(_SQL["sources"])
            return [self._read(row, counts.get(row[0], (0, 0))) for row in rows]

    def get(self, name: str) -> WorldSource:
        """One source; ArgumentError if there is none of this name."""
        found = {one.name: one for one in self.all()}
        if name not in found:
            known = ", ".join(found) or "none"
            raise ArgumentError(f"there is no source {name!r}; the sources are: {known}", kind="source")
        return found[name]

    def _read(self, row: Sequence[Any], counts: tuple[int, int]) -> WorldSource:
        name, kind, place, graph, options, state = row
        errors = self._connection.rows(_SQL["errors"], (name,)) if counts[1] else []
        failed = tuple(FileProblem(unquote(path), told) for path, told in errors)
        known = {field.name for field in fields(WorldSource)}
        with reading(f"the source {name}"):
            if not _name(name):  # which commands are shown with
                raise ValueError(name)
            given, told = json.loads(options), json.loads(state)
            for one in ("patterns", "hosts"):
                given[one] = tuple(given.get(one, ()))
            if told.get("run"):
                told["run"] = datetime.datetime.fromisoformat(told["run"])
            more = {key: value for key, value in {**given, **told}.items() if key in known - {"trusted"}}
            found = WorldSource(
                name, kind, place, to_rdflib(ox.NamedNode(graph)), files=counts[0], errors=failed, **more
            )
            return replace(found, trusted=consents(self._world, _reached(found)))

    def trust(self, source: WorldSource) -> None:
        """Let a source be read on this machine; within a transaction, which may be undone, in this process alone."""
        consent(self._world, _reached(source), keep=not self._connection.in_transaction)

    def require_trusted(self, source: WorldSource) -> None:
        """OpenError for a source that nobody trusts on this machine."""
        if not source.trusted:
            error = OpenError(
                f"the source {source.name} came with the file and is not trusted here: look at what it reads (`worlds "
                f"sources list WORLD {source.name}`), then say so (`worlds sources trust WORLD {source.name}`)",
                kind=UNTRUSTED,
            )
            error.status = 403
            raise error
        self.trust(source)  # which a transaction around its adding could not keep

    def distrust(self, source: WorldSource) -> None:
        """Have a source be read here no longer."""
        withdraw_consent(self._world, _reached(source))

    def add(self, source: WorldSource) -> None:
        """Keep a new source."""
        if not _name(source.name):
            raise ArgumentError(f"a source's name has up to 100 letters, digits, '.', '_' and '-', not {source.name!r}")
        for one in self.all():
            if source.name == one.name:
                raise ArgumentError(f"there is a source {source.name!r} already: {one.place}", kind="source")
            if str(source.graph) == str(one.graph):
                raise ArgumentError(f"the source {one.name!r} has the graph {source.graph} already", kind="source")
        graph = str(source.graph)
        statement = _SQL["add_source"]
        values = statement.bind(
            name=source.name, kind=source.kind, place=source.place, graph=graph, graph_hash=hash_of(graph),
            options=_json({key: getattr(source, key) for key in _OPTIONS}),
        )  # fmt: skip
        self._connection.run(statement, values)

    def set_options(self, source: WorldSource) -> None:
        """Keep how a source is read."""
        options = _json({key: getattr(source, key) for key in _OPTIONS})
        self._connection.run(_SQL["set_options"], _SQL["set_options"].bind(name=source.name, options=options))

    def set_state(self, name: str, **state: Any) -> None:
        """Store the result of a run."""
        told = _json({key: state.get(key) for key in _STATE})
        self._connection.run(_SQL["set_state"], _SQL["set_state"].bind(name=name, state=told))

    def remove(self, name: str) -> None:
        """Forget a source."""
        for statement in ("remove_source", "forget_files", "forget_runs"):
            self._connection.run(_SQL[statement], (name,))

    # -- files and runs -------------------------------------------------------------------------------------------

    def files(self, name: str) -> dict[str, FileRow]:
        """Path → row, of the files as they were read last."""
        return {row[0]: FileRow(*row[1:]) for row in self._connection.rows(_SQL["files"], (name,))}

    def note_files(self, name: str, rows: Mapping[str, FileRow], gone: Sequence[str]) -> None:
        """Store the state in which files were read, and forget files that are gone."""
        paths = [*gone, *rows]
        if paths:
            self._connection.run(_SQL["remove_files"], _SQL["remove_files"].bind(name=name, paths_json=_json(paths)))
        self._connection.insert(
            "INSERT INTO source_files (source, path, stamp, digest, error, revision, places)",
            [(name, path, *row) for path, row in rows.items()],
        )

    def note_run(self, name: str, revision: int) -> None:
        """Keep that a revision is a source's."""
        self._connection.run(_SQL["note_run"], _SQL["note_run"].bind(name=name, revision=revision))

    def runs(self, name: str) -> Ids:
        """The revisions of a source: its runs, and the undos of its runs."""
        told = self._connection.value(_SQL["runs"], (name,))
        return np.array(sorted(map(int, told.split(","))) if told else [], dtype=np.int64)


class Ownership(Extension):
    """Keeps others' writes out of the graphs that sources own."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._allowed: str | None = None
        self._lifted = False
        self.reserved: int | None = None
        """The graph of a memory's world that is written only where all graphs may be."""

    @contextlib.contextmanager
    def lifted(self) -> Iterator[None]:
        """Let the block write into the graphs of all sources; no other thread writes meanwhile."""
        with self._connection.lock:
            before, self._lifted = self._lifted, True
            try:
                yield
            finally:
                self._lifted = before

    @contextlib.contextmanager
    def by(self, name: str) -> Iterator[None]:
        """Let the block write into the graph of a source; no other thread writes meanwhile."""
        with self._connection.lock:
            before, self._allowed = self._allowed, name
            try:
                yield
            finally:
                self._allowed = before

    @contextlib.contextmanager
    def of_proposal(self, number: int) -> Iterator[None]:
        """Let the block write into the graph of the source whose run is a proposal, if it is that of one."""
        name = self._connection.value(_SQL["source_of_proposal"], (number,))
        with contextlib.nullcontext() if name is None else self.by(name):
            yield

    def refuse(self, quads: Ids) -> None:
        """ReadOnlyError for quads, int64 [n, 4], in the graph of a source that is not the block's."""
        if self._lifted:
            return
        if self.reserved is not None and (quads[:, 3] == self.reserved).any():
            raise ReadOnlyError("the world is read-only from its memory: change the world itself", kind="scope")
        owned: dict[int, str] = dict(self._connection.rows(_SQL["owned"]))
        taken = [owned[graph] for graph in owned if owned[graph] != self._allowed and (quads[:, 3] == graph).any()]
        if taken:
            raise ReadOnlyError(
                f"the graph belongs to the source {taken[0]!r}, which keeps it as its files are; change the files, or "
                f"let it keep others' edits: `worlds sources set WORLD {taken[0]} --edits keep`",
                kind="source",
            )


def absolute(place: str) -> str:
    """A place as it is kept: a URL, or an absolute path; ArgumentError for one that is not there."""
    if urlsplit(place).scheme in ("http", "https"):
        if urlsplit(place).password is not None:
            raise ArgumentError(
                "a password in a URL would be stored: give user, and the variable that has the password"
            )
        return place
    try:
        path = Path(place).expanduser().absolute()
        if "\0" not in place and path.exists():
            return str(path)
    except (OSError, ValueError, RuntimeError) as error:
        raise ArgumentError(f"{place[:200]!r} is not a path: {error}") from error
    raise ArgumentError(f"{place[:200]!r} is not there: a source is a folder, a file or a URL", kind="source")


def named(place: str) -> str:
    """The name that a place gives a source: that of the folder or file, in the letters that a name has."""
    last = Path(urlsplit(place).path).stem if urlsplit(place).scheme in ("http", "https") else Path(place).stem
    return re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip("-._")[:100] or "source"


def graph_of(name: str) -> str:
    """The graph of a source, where none is given."""
    return f"urn:worlds:source:{quote(name)}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


class Ledger:
    """The ledger of one world.

    It knows every version's quads, not only the last one's: an undo brings earlier ones back.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def replaced(self, quads: Ids) -> Ids:
        """The quads, int64 [n, 4], that a new version's quads replace."""
        return difference(self._earlier(quads), quads)

    def note(self, quads: Ids) -> None:
        """Record the quads of a version before they are written, except quads that others wrote already."""
        if not len(quads):
            return
        new = difference(quads, self._earlier(quads))
        others = new[[position for position, _, _ in find_quads(self._connection, new)]]
        own = difference(quads, others)
        document = {"subject": int(quads[0, 0]), "graph": int(quads[0, 3])}
        pairs_json = json_ids(own[:, 1] << 32 | own[:, 2])
        self._connection.run(_LEDGER["note"], _LEDGER["note"].bind(pairs_json=pairs_json, **document))
        kept = max(_KEPT, len(quads))
        self._connection.run(_LEDGER["forget_oldest"], _LEDGER["forget_oldest"].bind(kept=kept, **document))

    def _earlier(self, quads: Ids) -> Ids:
        """The quads of all versions of the document that `quads` are of."""
        if not len(quads):
            return NO_QUADS
        subject, graph = int(quads[0, 0]), int(quads[0, 3])
        written = self._connection.table(_LEDGER["written"], (subject, graph))
        return np.column_stack([np.full(len(written), subject), written, np.full(len(written), graph)])
