"""Reads a folder of plain files that `worlds.file.archive` wrote, and makes a world of it again."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.errors import OpenError, SchemaError, WorldsError
from worlds.file.archive import FILES, FORMAT, SETTINGS, SUMS, TABLES, VERSION, columns_of
from worlds.graph.longtexts import parse_all
from worlds.graph.patches import read_patch
from worlds.graph.terms import to_oxigraph
from worlds.quads.delta import Delta
from worlds.quads.dictionary import Dictionary, Ids
from worlds.quads.interner import Interner
from worlds.quads.rows import NO_QUADS
from worlds.sql import SCHEMA_VERSION, statements
from worlds.sql.connection import Connection
from worlds.sql.rebuilding import without
from worlds.texts.chunks import ChunkStore
from worlds.texts.policy import TextPolicy
from worlds.vectors.embedding import Embeddings, vector_keys

_QUERIES = statements("queries.sql")
_SCOPES = statements("scopes.sql")
_BATCH = 5000  # rows a statement
_PENDING = 100_000  # terms that wait for their ids


def is_archive(path: Path) -> bool:
    """Whether there is a folder that `write_archive` may have written."""
    return path.is_dir() and (path / SUMS).is_file()


class Archive:
    """A folder that `write_archive` wrote; its files are as they were then. OpenError otherwise, or SchemaError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            listed = dict(line.split(maxsplit=1)[::-1] for line in (folder / SUMS).read_text("utf-8").splitlines())
            for name in listed.keys() & FILES.keys() - {SUMS}:
                with (folder / name).open("rb") as file:
                    if hashlib.file_digest(file, "sha256").hexdigest() != listed[name]:
                        raise OpenError(f"{folder / name} is not as it was written: {SUMS} has another digest of it")
            self._about = json.loads((folder / "world.json").read_text("utf-8"))
            version, schema = self._about["version"], self._about["schema"]
            if self._about["format"] != FORMAT or not isinstance(version, int) or not isinstance(schema, int):
                raise ValueError("world.json tells of another format")
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise OpenError(f"{folder} is no world in plain files: {error}") from error
        except OSError as error:
            raise OpenError(f"{folder} cannot be read: {error.strerror or error}: {error.filename}") from error
        if version > VERSION or schema > SCHEMA_VERSION:
            raise SchemaError(f"{folder} is of a newer release: upgrade with `pip install -U worlds-kg`")

    def fill(self, connection: Connection) -> None:
        """Make an empty world the one that was written; OpenError for what is none."""
        try:
            with connection.transaction():
                _Filling(connection, self._folder).fill(self._about["embedder"])
        except (WorldsError, OSError, MemoryError):
            raise
        except Exception as error:  # whatever JSON, N-Quads, arrays and rows that were changed lead to
            told = f"{type(error).__name__}: {error}"
            raise OpenError(f"{self._folder} is no world in plain files: {told[:200]}") from error


class _Filling:
    """Fills one empty world from a folder. All runs inside the caller's transaction."""

    def __init__(self, connection: Connection, folder: Path) -> None:
        self._connection = connection
        self._folder = folder
        self._dictionary = Dictionary(connection)
        self._chunks = ChunkStore(connection, self._dictionary)
        self._embeddings = Embeddings(connection, self._chunks)
        self._interner = Interner(connection, self._dictionary, rename_blank_nodes=False)

    def fill(self, about: Mapping[str, object] | None) -> None:
        """Write what the files hold, and make what follows from it."""
        for row in self._lines("settings.jsonl"):
            if row["name"] == "policy":
                self._chunks.adopt(TextPolicy.from_json(str(_stored(row["value"]))))
            elif row["name"] in SETTINGS:
                self._connection.run(_QUERIES["set_meta"], (row["name"], _stored(row["value"])))
        for file, table in TABLES.items():
            self._insert(table, list(self._lines(file)))
        revisions = list(self._lines("revisions.jsonl"))
        with self._interner.bulk():
            whose, adds, numbers = self._read_history(revisions)
            local = self._interner.local
            said = parse_all((self._folder / "documents.nq").read_bytes(), ox.RdfFormat.N_QUADS)
            documents = [[local(term) for term in quad] for quad in said]
            quads = self._interner.resolve(numbers.reshape(-1, 4))
            documents = self._interner.resolve(np.array(documents, dtype=np.int64).reshape(-1, 4)).tolist()
        rows = [(number, *quad) for number, quad in enumerate(documents, 1)]
        self._connection.insert("INSERT INTO document_quads (id, subject, predicate, object, graph)", rows)
        live, gone = _spans(quads, whose, adds)
        live = self._insert_quads(live, gone)
        for row in revisions:
            row["first_quad"] = int(np.searchsorted(live[:, 5], row["revision"])) + 1
        self._insert("revisions", [row for row in revisions if "forgotten" not in row])
        self._chunks.begin()
        self._chunks.apply(Delta(live[:, 1:5], NO_QUADS, live[:, 0]))
        if about is not None:
            self._fill_vectors(about)

    def _lines(self, name: str) -> Iterator[dict[str, Any]]:
        with (self._folder / name).open(encoding="utf-8", newline="\n") as file:
            yield from map(json.loads, file)

    def _insert(self, table: str, rows: Sequence[Mapping[str, object]]) -> None:
        kinds = columns_of(self._connection, table)
        used = [name for name in kinds if any(name in row for row in rows)]
        values = [tuple(_stored(row.get(name), blob=kinds[name] == "BLOB") for name in used) for row in rows]
        self._connection.insert(f"INSERT INTO {table} ({', '.join(used)})", values)

    # -- quads ----------------------------------------------------------------------------------------------------

    def _read_history(self, revisions: Sequence[Mapping[str, Any]]) -> tuple[Ids, Ids, Ids]:
        """What came and went: revisions, 1 for what came or 0, and local numbers of four terms each."""
        whose, adds, numbers = array("q"), array("q"), array("q")
        local = self._interner.local

        def note(kind: int, *terms: Any) -> None:
            whose.append(number)
            adds.append(kind)
            numbers.extend(map(local, terms))

        transactions = 0
        nothing = [ox.DefaultGraph()] * 3
        with (self._folder / "history.rdfp").open("rb") as file:
            for row in read_patch(file, str(self._folder / "history.rdfp")):
                if row.quad is not None and not transactions:
                    raise ValueError("history.rdfp has a change outside of a transaction")
                if row.quad is not None:
                    note(int(row.code == "A"), *row.quad)
                    if len(self._interner.numbering.pending) > _PENDING:
                        self._interner.flush()
                elif row.code == "TX":
                    of = revisions[transactions]
                    transactions += 1
                    number = int(of["revision"])
                    for kind, names in ((1, of.get("creates", ())), (0, of.get("drops", ()))):
                        for name in names:
                            note(kind, *nothing, to_oxigraph(name))
        if transactions < len(revisions):
            raise ValueError("revisions.jsonl has more revisions than history.rdfp has transactions")
        return tuple(np.array(one, dtype=np.int64) for one in (whose, adds, numbers))  # type: ignore[return-value]

    def _insert_quads(self, live: Ids, gone: Ids) -> Ids:
        """Store quads, by revision; gives them with their ids, int64 [n, 6]."""
        rows = np.insert(live, 0, np.arange(1, 1 + len(live)), axis=1)
        with without(self._connection, "index", "quads"):
            for name, among in (("insert_quads", rows), ("insert_removed", gone)):
                for start in range(0, len(among), _BATCH):
                    self._connection.run(_SCOPES[name], (str(among[start : start + _BATCH].tolist()),))
        return rows

    # -- vectors --------------------------------------------------------------------------------------------------

    def _fill_vectors(self, about: Mapping[str, object]) -> None:
        """Store the vectors as those of texts that are gone: the texts that are there take theirs back."""
        self._embeddings.make(about)
        vectors = self._array("vectors.npy", about)
        for start in range(0, len(vectors), _BATCH):
            part = vectors[start : start + _BATCH]
            named = enumerate(zip(vector_keys(part), part, strict=True), start + 1)
            rows = [(number, key, vector.tobytes()) for number, (key, vector) in named]
            self._connection.insert("INSERT INTO retired_vectors (id, key, embedding)", rows)
        texts = [(bytes.fromhex(row["digest"]), row.get("row", len(vectors)) + 1) for row in self._lines("texts.jsonl")]
        if any(number > len(vectors) for _, number in texts):
            (key,) = vector_keys(np.zeros((1, vectors.shape[1]), dtype=np.float32))
            self._connection.insert("INSERT INTO retired_vectors (id, key, embedding)", [(len(vectors) + 1, key, None)])
        self._connection.insert("INSERT INTO embedded_texts (digest, vector)", texts)
        self._embeddings.reuse()

    def _array(self, name: str, about: Mapping[str, object]) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = np.load(self._folder / name, allow_pickle=False)
        if vectors.dtype != np.dtype("<f4") or vectors.ndim != 2 or vectors.shape[1] != about["dimension"]:
            raise ValueError(f"{name} has no float32 vectors of {about['dimension']} dimensions")
        if not np.isfinite(vectors).all():
            raise ValueError(f"{name} has a number that is not finite")
        return vectors


def _stored(value: object, *, blob: bool = False) -> object:
    """A value of a file as the table has it."""
    if isinstance(value, dict | list):
        value = json.dumps(value)
    return value.encode() if isinstance(value, str) and (blob or "\0" in value) else value


def _spans(quads: Ids, whose: Ids, adds: Ids) -> tuple[Ids, Ids]:
    """The quads that hold now, int64 [n, 5], and those that held, [n, 6]: with the revisions when they came and went.

    `quads` [n, 4] came, or went, with the revisions `whose`, as `adds` says.
    """
    order = np.lexsort((adds, whose, *quads.T))
    rows = np.column_stack([quads, whose])[order]
    came = adds[order] == 1
    first = np.append(True, np.any(rows[1:, :4] != rows[:-1, :4], axis=1))[: len(rows)]
    if not np.array_equal(came, first | ~np.append(False, came[:-1])[: len(rows)]):
        raise ValueError("history.rdfp adds a quad that is there, or removes one that is not")
    stays = came & np.append(first[1:], True)[: len(rows)]
    ends = np.flatnonzero(came & ~stays)
    live, gone = rows[stays], np.column_stack([rows[ends], rows[ends + 1, 4]])
    by_revision = np.lexsort((order[stays], live[:, 4]))
    return live[by_revision], gone[np.argsort(gone[:, 5], kind="stable")]
