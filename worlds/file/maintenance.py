"""The file as a whole: what it holds, exports, backups, giving space back."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import pyoxigraph as ox

from worlds.errors import OpenError, ReadOnlyError, WorldsError
from worlds.graph.terms import RDF
from worlds.quads.dictionary import BLANK_NODE, IRI, LITERAL, TRIPLE, Dictionary
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.vectors.embedding import Embeddings

_QUERIES = statements("queries.sql")
_SQL = statements("maintenance.sql")
_COMMONEST = 10  # predicates and types that stats() names
_BLOCK = 20_000  # quads whose terms are decoded together
_LAST_ID = 2**31 - 1
_PAGES = 1000  # pages of the file read at a time
_MOST_BYTES = 2**29  # of one value; SQLite allows 10^9
_UNUSED_OFFSET = 2**30  # SQLite never uses the page that begins here
_COMPRESSIONS = (".gz", ".bz2", ".zst")


# --- stats ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stats:
    """What a world holds, as of one moment."""

    path: str
    bytes: int  # the file and its log
    created: str  # UTC, ISO 8601
    quads: int
    graphs: int  # named graphs with a quad
    iris: int  # terms that are stored, for the history too
    blank_nodes: int
    literals: int
    triple_terms: int
    revisions: int  # that are kept
    last_revision: int
    texts: int  # literals that are text
    chunks: int
    characters: int  # of all chunks, their overlap counted twice
    pending: int  # chunks without a vector yet
    vectors: int  # distinct ones
    retired_vectors: int  # kept for texts that are gone, until compact()
    embedder: str | None  # None before the first text was embedded
    dimension: int | None
    vector_index: bool
    predicates: Mapping[str, int]  # the ten commonest: IRI → quads
    types: Mapping[str, int]  # the ten commonest: IRI → instances

    @property
    def terms(self) -> int:
        """The number of distinct terms."""
        return self.iris + self.blank_nodes + self.literals + self.triple_terms

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON-ready values."""
        return {**asdict(self), "terms": self.terms}


def stats(connection: Connection, embeddings: Embeddings) -> Stats:
    """What the world holds, read in one snapshot; a tenth of a second for a million quads and more with the texts."""
    with connection.snapshot():
        size, created, quads, graphs, revisions, last, texts, chunks, pending, characters, retired = connection.rows(
            _SQL["counts"]
        )[0]
        kinds: dict[int, int] = dict(connection.rows(_SQL["terms_by_kind"]))
        stored = embeddings.stored
        predicates = connection.rows(_SQL["commonest_predicates"], (_COMMONEST,))
        rdf_type = Dictionary(connection).find([ox.NamedNode(RDF + "type")])[0]
        commonest = _SQL["commonest_types"]
        types = connection.rows(commonest, commonest.bind(rdf_type=rdf_type, limit=_COMMONEST))
        return Stats(
            path=connection.path,
            bytes=_size(connection.file) or size,
            created=created,
            quads=quads,
            graphs=graphs,
            iris=kinds.get(IRI, 0),
            blank_nodes=kinds.get(BLANK_NODE, 0),
            literals=kinds.get(LITERAL, 0),
            triple_terms=kinds.get(TRIPLE, 0),
            revisions=revisions,
            last_revision=last,
            texts=texts,
            chunks=chunks,
            characters=characters,
            pending=pending,
            vectors=0 if stored is None else connection.value(_SQL["count_vectors"]),
            retired_vectors=retired,
            embedder=None if stored is None else str(stored["name"]),
            dimension=None if stored is None else cast(int, stored["dimension"]),
            vector_index=embeddings.index.built,
            predicates=dict(predicates),
            types=dict(types),
        )


def _size(path: str) -> int:
    """Bytes of the file and its log; 0 for a world that lies nowhere."""
    files = [] if path == ":memory:" else [Path(path), Path(path + "-wal")]
    return sum(file.stat().st_size for file in files if file.exists())


# --- backup -----------------------------------------------------------------------------------------------------------


def backup(connection: Connection, path: str) -> None:
    """Write a complete copy of the world to a new file, as of now; see `World.backup`.

    The pages are copied as one read transaction sees them, so nobody waits, and all indexes are in the copy as they
    are here. Reading the file itself would not do: closing a file takes away the locks that this process has on it.
    """
    if connection.in_transaction:
        raise WorldsError("backup() cannot run inside a transaction")
    target = Path(path)
    if os.path.lexists(target):
        raise OpenError(f"{path} exists already; a backup is always a new file")
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            with connection.snapshot():
                if connection.encryption_key is None:
                    _copy(connection, draft)
                else:
                    _copy_encrypted(connection, draft, connection.encryption_key)
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
            _put_in_place(draft, target)
        finally:
            for end in ("", "-wal", "-shm", "-journal"):
                Path(f"{draft}{end}").unlink(missing_ok=True)
    except FileExistsError as error:
        raise OpenError(f"{path} exists already; a backup is always a new file") from error
    except OSError as error:
        raise OpenError(f"{path} cannot be written: {error.strerror or error}") from error


def _pages(connection: Connection) -> Iterator[tuple[int, bytes]]:
    """The pages of the file, from 1 on."""
    count, size = connection.rows(_SQL["file_shape"])[0]
    statement = _SQL["pages"]
    done = 0
    while done < count:
        last = min(done + _PAGES, count)
        for number, content in connection.rows(statement, statement.bind(first=done + 1, last=last)):
            if number != done + 1 or len(content) != size:
                raise WorldsError(f"{connection.path}: page {done + 1} of {count} could not be read")
            yield number, content
            done = number
        if done < last:
            raise WorldsError(f"{connection.path}: page {done + 1} of {count} could not be read")


def _copy(connection: Connection, draft: Path) -> None:
    with draft.open("xb") as file:
        for _, content in _pages(connection):
            file.write(content)


def _copy_encrypted(connection: Connection, draft: Path, key: str) -> None:
    count, size = connection.rows(_SQL["file_shape"])[0]
    copy = Connection(str(draft), encryption_key=key)
    try:
        copy.run("PRAGMA journal_mode = OFF")
        with copy.transaction():
            copy.run(_SQL["make_room"])
            for start in range(0, count * size, _MOST_BYTES):
                copy.run(_SQL["fill_room"], (min(_MOST_BYTES, count * size - start),))
            pages = _pages(connection)
            first = next(pages)
            # The first comes last: it has the schema, whose tables must be there by then.
            for number, content in itertools.chain(pages, [first]):
                if (number - 1) * size != _UNUSED_OFFSET:
                    copy.run(_SQL["put_page"], _SQL["put_page"].bind(content=content, page=number))
    finally:
        copy.close()
    os.truncate(draft, count * size)


def _put_in_place(draft: Path, target: Path) -> None:
    """Give the finished file its name, unless that was taken meanwhile (FileExistsError)."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if target.exists():
            raise FileExistsError(target) from None
        draft.rename(target)
    if os.name == "posix":  # a new name is safe once its folder is
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


# --- compact ----------------------------------------------------------------------------------------------------------


def compact(connection: Connection, embeddings: Embeddings) -> None:
    """Give unused space back, and build the derived indexes anew; see `World.compact`.

    Every step is kept as soon as it is done, and a second call does what is left after a crash. Between the last two
    steps the native vector index is missing, and stays so after a crash there, which `check` reports. Other processes
    may read all the time; their writes wait while the file is rebuilt, and while the vector index is.
    """
    if connection.read_only:
        raise ReadOnlyError(f"{connection.path} was opened read-only")
    if connection.in_transaction:
        raise WorldsError("compact() cannot run inside a transaction")
    with connection.transaction():
        connection.run(_SQL["forget_retired_texts"])
        connection.run(_SQL["forget_all_retired"])
        _delete_unused_terms(connection)
    with connection.transaction():
        connection.run(_QUERIES["rebuild_fts"])
        connection.run(_SQL["merge_texts"])
    embeddings.index.drop()  # rebuilding the file would build it too, and wrongly
    connection.vacuum()
    with connection.transaction():
        embeddings.index.drop()  # another process may have built one before the file was rebuilt
        embeddings.index.mend()
    connection.run("PRAGMA wal_checkpoint(TRUNCATE)")


def _delete_unused_terms(connection: Connection) -> None:
    # Other processes remember ids. One that no term has any longer is never given again, and that terms
    # were removed is counted, for those who remember which id a term has.
    last = connection.value(_QUERIES["last_term"])
    connection.run(_SQL["delete_unused_terms"])
    if connection.value(_SQL["deleted"]):
        connection.run(_QUERIES["set_meta"], ("last_term", last))
        connection.run(_QUERIES["add_to_meta"], ("term_removals", 1))
