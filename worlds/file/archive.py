"""A world as a folder of plain files, and back: all that is no index, for whoever has no Worlds, or no SQLite.

`FILES` says what is in which. Quads stand by revision, as an RDF Patch; rows of tables as JSON, a line each; vectors as
NumPy's .npy. Chunks, profiles and indexes are made again from these.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill, indent
from typing import Any, BinaryIO

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.errors import OpenError, WorldsError
from worlds.file.backup import FOLDER, clear_drafts, draft_beside, sync_folder
from worlds.graph.patches import write_patch
from worlds.permissions import create_like
from worlds.quads.dictionary import Dictionary, Ids
from worlds.sql import SCHEMA_VERSION, Statement, statements
from worlds.sql.connection import Connection, Row
from worlds.sql.values import as_text
from worlds.vectors.embedding import text_digest

_SQL = statements("archive.sql")
FORMAT, VERSION = "worlds-archive", 1
SUMS = "SHA256SUMS"
MEMORIES = "memories"
"""The folder in which each file of a world's memories is a folder of plain files."""
_PAGE = 20_000  # rows read, or terms decoded, together

FILES = {
    "world.json": "the version of this form, when it was written, how many quads, and whose the vectors are",
    "history.rdfp": "the quads by revision, as an RDF Patch (https://afs.github.io/rdf-delta/rdf-patch.html): each "
    "transaction is what one revision removed (D) and added (A). Applied in order they give the world as it is; up to "
    "the n-th, as it was",
    "revisions.jsonl": "the revisions, in the order of those transactions: number, time (UTC), author, message; "
    "'creates' and 'drops' are named graphs that exist without quads from then on, or no longer",
    "settings.jsonl": "the policies of the world: its texts, its guard, how much history is kept",
    "prefixes.jsonl": "prefixes and the IRIs that they stand for",
    "proposals.jsonl": "changes that wait for a decision, and those that were decided",
    "proposal_quads.jsonl": "their quads, each with a 'sign': 1 where the change adds it, -1 where it removes it, 0 "
    "where it takes it for granted. Terms are in N-Triples, the default graph is an empty text",
    "sources.jsonl": "the folders, files and addresses that the world follows",
    "source_files.jsonl": "their files as they were read last",
    "source_runs.jsonl": "the revisions that they made",
    "documents.nq": "the quads that were written of documents, in N-Quads, whichever version of them",
    "texts.jsonl": "the texts that have a vector: 'row' is its row in vectors.npy, from 0 on; a text without it has no "
    "direction. 'digest' is the BLAKE2b-128 of the text's UTF-8; a line without 'text' is of one that is gone",
    "vectors.npy": "the vectors: float32, a row each",
    SUMS: f"the digest of each file: `sha256sum -c {SUMS}` tells whether all are as they were written",
}
_HEAD = """A knowledge graph in plain files, written by Worlds.
`worlds restore FOLDER kb.db` makes a world of it again.

"""
TABLES = {
    f"{table}.jsonl": table
    for table in ("prefixes", "proposals", "proposal_quads", "sources", "source_files", "source_runs")
}
SETTINGS = (
    *("created", "default_graph", "guard", "history_from", "memory_keep", "memory_scope", "policy", "purges"),
    *("retention", "vector_index"),
)
"""Of the table meta. The others are counters, or tell what the indexes were made with."""
_PARSED = {"value", "options", "state", "places", "merged", "validation", "discussion"}  # columns


def write_archive(
    connection: Connection, dictionary: Dictionary, about: Mapping[str, object] | None, folder: str
) -> int:
    """Write all of one snapshot into a new folder, and give the number of quads; see `World.export`.

    `about` is what the file says of its embedder, None without one.
    """
    target = Path(folder).absolute()
    if connection.in_transaction:
        raise WorldsError("export(everything=True) cannot run inside a transaction")
    try:
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            raise OpenError(f"{folder} exists already; everything is exported to a new folder")
        clear_drafts(target.parent)
        with draft_beside(target, like=connection.file) as draft:
            files = Path(f"{draft}{FOLDER}")
            files.mkdir(0o700)
            with connection.snapshot():
                count = _Writing(connection, dictionary, files).write(about)
            readable = draft.stat().st_mode & 0o444
            files.chmod(0o700 | readable | readable >> 2)
            if target.exists():
                target.rmdir()
            files.rename(target)
            sync_folder(target.parent)
    except OSError as error:
        raise OpenError(f"{folder} cannot be written: {error.strerror or error}") from error
    return count


class _Writing:
    """Writes one world into a folder. All runs inside the caller's snapshot."""

    def __init__(self, connection: Connection, dictionary: Dictionary, folder: Path) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._folder = folder
        self._sums: dict[str, str] = {}

    def write(self, about: Mapping[str, object] | None) -> int:
        """Write all files, and give the number of quads."""
        quads, changes = self._changes()
        self._history(changes)
        settings = [(name, self._connection.meta(name)) for name in SETTINGS]
        told = [{"name": name, "value": _plain("value", value)} for name, value in settings if value is not None]
        self._lines("settings.jsonl", told)
        for file, table in TABLES.items():
            self._lines(file, self._rows(table))
        with self._file("documents.nq") as out:
            for page in self._pages(_SQL["document_quads"]):
                ox.serialize(self._quads(page), out, ox.RdfFormat.N_QUADS)
        if about is not None:
            self._vectors(int(str(about["dimension"])))
        world = {
            "format": FORMAT,
            "version": VERSION,
            "schema": SCHEMA_VERSION,
            "written": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "quads": quads,
            "embedder": about,
        }
        with self._file("world.json") as out:
            out.write(_encoded(world, indent=2))
        with self._file("README.txt") as out:
            out.write(_readme(self._sums).encode())
        with self._file(SUMS) as out:
            out.write("".join(f"{found}  {name}\n" for name, found in sorted(self._sums.items())).encode())
        return quads

    @contextlib.contextmanager
    def _file(self, name: str) -> Iterator[BinaryIO]:
        with os.fdopen(create_like(self._folder / name, self._connection.file), "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            self._sums[name] = hashlib.file_digest(file, "sha256").hexdigest()

    def _lines(self, name: str, rows: Iterable[Mapping[str, object]]) -> None:
        with self._file(name) as out:
            out.writelines(map(_line, rows))

    def _rows(self, table: str) -> Iterator[dict[str, object]]:
        columns = columns_of(self._connection, table)
        for row in self._connection.rows(f"SELECT {', '.join(columns)} FROM {table} ORDER BY 1, 2"):
            yield {name: _plain(name, value) for name, value in zip(columns, row, strict=True)}

    def _pages(self, statement: Statement) -> Iterator[Ids]:
        """Pages of ids, of a statement that gives a page as its last id and its columns."""
        after: int | None = 0
        while True:
            after, page = self._connection.page(statement, statement.bind(after=after, limit=_PAGE), after=after)
            if after is None:
                return
            yield page

    def _listed(self, name: str, *keys: str, first: Sequence[object]) -> Iterator[Row]:
        """The rows of a statement that pages by its first columns, the parameters `keys`."""
        statement, after = _SQL[name], first
        while True:
            rows = self._connection.rows(statement, statement.bind(**dict(zip(keys, after, strict=True)), limit=_PAGE))
            if not rows:
                return
            yield from rows
            after = rows[-1][: len(keys)]

    # -- quads ----------------------------------------------------------------------------------------------------

    def _changes(self) -> tuple[int, Ids]:
        """The number of quads, and what came and went, int64 [n, 6]: revision, 1 for what came or 0, and the quad.

        Of a revision, quads that hold stand as they are stored: which of a text's subjects a hit names follows that.
        """
        read = [list(self._pages(_SQL[name])) for name in ("quads", "removed")]
        quads = np.concatenate([np.empty((0, 5), dtype=np.int64), *read[0]])
        gone = np.concatenate([np.empty((0, 6), dtype=np.int64), *read[1]])
        came = np.concatenate([quads, gone[:, :5]])
        changes = np.concatenate(
            [np.insert(came[:, [4, 0, 1, 2, 3]], 1, 1, axis=1), np.insert(gone[:, [5, 0, 1, 2, 3]], 1, 0, axis=1)]
        )
        return int((quads[:, 0] > 0).sum()), changes[np.lexsort((changes[:, 1], changes[:, 0]))]

    def _history(self, changes: Ids) -> None:
        numbers, starts = np.unique(changes[:, 0], return_index=True)
        parts = dict(zip(numbers.tolist(), np.split(changes, starts)[1:], strict=True))
        kept: dict[Any, dict[str, object]] = {row["revision"]: row for row in self._rows("revisions")}
        lines: list[dict[str, object]] = []
        with self._file("history.rdfp") as out:
            for number in sorted(kept.keys() | parts):
                part = parts.get(number, changes[:0])
                went, came = ([part[(part[:, 1] == kind) & marks, 2:] for marks in _marked(part)] for kind in (0, 1))
                lines.append(kept.get(number, {"revision": number, "forgotten": True}))
                lines[-1] |= {"first_quad": None, "creates": self._names(came[0]), "drops": self._names(went[0])}
                out.write(f"# revision {number}\n".encode())
                out.writelines(piece.encode() for piece in write_patch(self._quads(went[1]), self._quads(came[1])))
        self._lines("revisions.jsonl", lines)

    def _names(self, markers: Ids) -> list[str] | None:
        terms = self._dictionary.terms(markers[:, 3].tolist())
        return [str(terms[number]) for number in markers[:, 3].tolist()] or None

    def _quads(self, quads: Ids) -> Iterator[ox.Quad]:
        for start in range(0, len(quads), _PAGE):
            part = quads[start : start + _PAGE]
            terms = self._dictionary.terms(np.unique(part).tolist())
            for subject, predicate, value, graph in part.tolist():
                yield ox.Quad(terms[subject], terms[predicate], terms[value], terms[graph])

    # -- vectors --------------------------------------------------------------------------------------------------

    def _vectors(self, dimension: int) -> None:
        rows: dict[int, int] = {}
        with self._file("vectors.npy") as out:
            _begin_array(out, self._connection.value(_SQL["count_vectors"]), dimension)
            for name in ("vectors", "retired_vectors"):
                for number, embedding in self._listed(name, "after", first=[0]):
                    rows[number] = len(rows)
                    out.write(embedding)
        self._lines("texts.jsonl", self._texts(rows))

    def _texts(self, rows: Mapping[int, int]) -> Iterator[dict[str, object]]:
        seen: set[bytes] = set()
        for _, stored, vector in self._listed("texts", "after", first=[0]):
            text = as_text(stored)
            if (digest := text_digest(text)) not in seen:
                seen.add(digest)
                yield {"digest": digest.hex(), "row": rows.get(vector), "text": text}
        for digits, vector in self._listed("embedded_texts", "digest", first=[""]):
            if bytes.fromhex(digits) not in seen:
                yield {"digest": digits.lower(), "row": rows.get(vector)}


def _marked(changes: Ids) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which changes are of markers, that a named graph exists, and which of quads."""
    return changes[:, 2] == 0, changes[:, 2] > 0


def columns_of(connection: Connection, table: str) -> dict[str, str]:
    """The columns of a table, and their types."""
    return {name: kind for _, name, kind, *_ in connection.rows(f"PRAGMA table_info({table})")}


def _plain(column: str, stored: object) -> object:
    """A value for a file: text for a BLOB, and JSON for text that is JSON, where it is written again as it was."""
    value = stored.decode() if isinstance(stored, bytes) else stored
    if column in _PARSED and isinstance(value, str) and value[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            parsed = json.loads(value)
            if json.dumps(parsed) == value:
                return parsed
    return value


def _encoded(value: object, indent: int | None = None) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=indent) + "\n").encode()


def _line(row: Mapping[str, object]) -> bytes:
    return _encoded({name: value for name, value in row.items() if value is not None})


def _begin_array(out: BinaryIO, rows: int, dimension: int) -> None:
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, dimension)}
    np.lib.format.write_array_header_1_0(out, header)


def _readme(files: Iterable[str]) -> str:
    written = {"world.json", *files, SUMS}
    told = {name: fill(f"{said}.", 76, break_on_hyphens=False) for name, said in FILES.items() if name in written}
    return _HEAD + "\n".join(f"{name}\n{indent(said, '    ')}\n" for name, said in told.items())
