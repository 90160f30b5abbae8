"""The file as a whole: what it holds, exports, backups, giving space back."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import itertools
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import numpy as np
import pyoxigraph as ox

from worlds.dictionary import BLANK_NODE, DEFAULT_GRAPH_ID, IRI, LITERAL, TRIPLE, Dictionary, Ids
from worlds.embedding import Embeddings
from worlds.errors import OpenError, ReadOnlyError, WorldsError
from worlds.files import file_name
from worlds.graph.formats import EXTENSIONS, FORMATS, find_format, serialize
from worlds.graph.terms import RDF, GraphName
from worlds.quads import NO_QUADS
from worlds.sql import statements
from worlds.sql.connection import Connection

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
            vector_index=embeddings.indexed,
            predicates=dict(predicates),
            types=dict(types),
        )


def _size(path: str) -> int:
    """Bytes of the file and its log; 0 for a world that lies nowhere."""
    files = [] if path == ":memory:" else [Path(path), Path(path + "-wal")]
    return sum(file.stat().st_size for file in files if file.exists())


# --- export -----------------------------------------------------------------------------------------------------------


def export(
    connection: Connection,
    dictionary: Dictionary,
    target: str | os.PathLike[str] | BinaryIO,
    format: str | None,
    graph: GraphName | None,
    prefixes: Mapping[str, str],
    *,
    past: Ids | None = None,
) -> int:
    """Write the quads of one snapshot, all or one graph's, and give their number; see `World.export`.

    `past`, int64 [n, 4], are quads to write in the place of those that hold now. Terms are decoded block by block.
    Formats that group quads by graph need 32 bytes of memory for each quad of the largest named graph.
    """
    stream = target if hasattr(target, "write") else None
    name = "" if stream is not None else file_name(target)
    found = FORMATS[_format_of(name)] if format is None else find_format(format)
    with connection.snapshot():
        if graph is None and not found.graphs and _has_named_graphs(connection, past):
            raise ValueError(
                f"{found.name} cannot hold the named graphs of this world: export one with graph=… ('default' is the "
                "default graph), or use trig, nq or jsonld"
            )
        if graph is not None:
            number = _graph_id(connection, dictionary, graph, past)
            blocks = _blocks_of_graph(connection, number) if past is None else _sorted([past[past[:, 3] == number]])
        elif past is not None:
            blocks = _sorted([past])
        elif found.name == "nq":
            blocks = _blocks(connection, "quads_by_subject")
        else:
            blocks = _blocks_by_graph(connection)
        quads = _Quads(dictionary, blocks, graphs=graph is None)
        if stream is not None:
            serialize(quads, cast(BinaryIO, stream), found.name, prefixes)
        else:
            with _replacing(name, connection.file) as out, _compressing(out, name) as packed:
                serialize(quads, packed, found.name, prefixes)
        return quads.count


def _graph_id(connection: Connection, dictionary: Dictionary, graph: GraphName, past: Ids | None) -> int:
    """The id of a graph that exists now, or in the past; ValueError."""
    if isinstance(graph, ox.DefaultGraph):
        return DEFAULT_GRAPH_ID
    number = dictionary.find([graph])[0]
    if number is not None and past is not None and (past[:, 3] == number).any():
        return number
    if number is None or past is not None or connection.row(_QUERIES["graph_exists"], (number,)) is None:
        raise ValueError(f"there is no graph {graph} to export")
    return number


def _has_named_graphs(connection: Connection, past: Ids | None) -> bool:
    return connection.row(_SQL["any_named_graph"]) is not None if past is None else bool(past[:, 3].any())


def _format_of(name: str) -> str:
    """The format that a file's name asks for; N-Quads for one without an extension. ValueError for an unknown one."""
    path = Path(name.lower())
    extension = (path.with_suffix("") if path.suffix in _COMPRESSIONS else path).suffix.removeprefix(".")
    if extension and extension not in EXTENSIONS:
        raise ValueError(f"the format of {name} cannot be told from '.{extension}'; name one: {', '.join(FORMATS)}")
    return EXTENSIONS.get(extension, "nq")


class _Quads:
    """The quads of blocks of term ids, decoded, and counted as they are taken."""

    def __init__(self, dictionary: Dictionary, blocks: Iterator[Ids], *, graphs: bool) -> None:
        self._dictionary = dictionary
        self._blocks = blocks
        self._graphs = graphs
        self.count = 0

    def __iter__(self) -> Iterator[ox.Quad]:
        return itertools.chain.from_iterable(map(self._decoded, self._blocks))

    def _decoded(self, block: Ids) -> Iterator[ox.Quad]:
        self.count += len(block)
        if not self._graphs:
            block[:, 3] = DEFAULT_GRAPH_ID
        terms = self._dictionary.terms(np.unique(block).tolist())
        subjects, predicates, objects, graphs = (map(terms.__getitem__, column.tolist()) for column in block.T)
        return map(ox.Quad, subjects, predicates, objects, graphs)


def _table(columns: tuple[Any, ...]) -> Ids:
    """Columns given as comma-separated strings, as int64 [n, 4]."""
    if columns[0] is None:
        return NO_QUADS
    return np.stack([np.fromstring(column, dtype=np.int64, sep=",") for column in columns], axis=1)


def _blocks(connection: Connection, name: str) -> Iterator[Ids]:
    """Blocks int64 [n, 4] by subject, of a statement that pages by the last quad."""
    statement = _SQL[name]
    last = (-1, -1, -1, -1)
    while True:
        values = dict(zip(("subject", "predicate", "object", "graph"), last, strict=True))
        block = _table(connection.rows(statement, statement.bind(**values, limit=_BLOCK))[0])
        if not len(block):
            return
        last = tuple(block[-1].tolist())
        yield block


def _blocks_by_graph(connection: Connection) -> Iterator[Ids]:
    """Blocks by graph and subject: the default graph, then the named ones."""
    yield from _blocks(connection, "default_quads_by_subject")
    yield from _named(connection, 0, _LAST_ID)


def _blocks_of_graph(connection: Connection, graph: int) -> Iterator[Ids]:
    """Blocks by subject, of one graph."""
    if graph == DEFAULT_GRAPH_ID:
        return _blocks(connection, "default_quads_by_subject")
    return _named(connection, graph, graph)


def _named(connection: Connection, first: int, last: int) -> Iterator[Ids]:
    """Blocks by graph and subject, of the named graphs from id `first` to id `last`.

    The index has a graph's quads as they were added; they are collected and sorted by subject, for a short file.
    """
    statement = _SQL["quads_by_graph"]
    held: list[Ids] = []
    graph, after = first, 0
    while True:
        values = {"graph": graph, "after": after, "last": last, "limit": _BLOCK}
        after, *columns = connection.rows(statement, statement.bind(**values))[0]
        block = _table(tuple(columns))
        if not len(block):
            break
        graph = int(block[-1, 3])
        begun = int(np.searchsorted(block[:, 3], graph))
        if begun:
            yield from _sorted([*held, block[:begun]])
            held.clear()
        held.append(block[begun:])
    yield from _sorted(held)


def _sorted(blocks: list[Ids]) -> Iterator[Ids]:
    quads = np.concatenate([NO_QUADS, *blocks])
    order = np.lexsort((quads[:, 2], quads[:, 1], quads[:, 0], quads[:, 3]))
    for start in range(0, len(quads), _BLOCK):
        yield quads[order[start : start + _BLOCK]]


@contextlib.contextmanager
def _replacing(name: str, world: str) -> Iterator[IO[bytes]]:
    """A file that takes the place of `name` when the block ends, and is gone if the block raises.

    What is no regular file (a pipe), and what is below /dev, such as /dev/stdout, is written to as it is.
    """
    given, final = Path(name), Path(os.path.realpath(name))  # of /dev/stdout, a pipe's real path is none
    if world != ":memory:" and str(final) in {os.path.realpath(world + end) for end in ("", "-wal", "-shm")}:
        raise ValueError(f"{name} is the world itself; choose another name for the export")
    try:
        if given.exists() and (not given.is_file() or given.is_relative_to("/dev")):
            with given.open("ab") as out:  # a folder raises, as it should
                yield out
            return
        draft = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
        try:
            with draft.open("xb") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            if final.exists():
                shutil.copymode(final, draft)
            draft.replace(final)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OpenError(f"{name} cannot be written: {error.strerror or error}") from error


@contextlib.contextmanager
def _compressing(out: IO[bytes], name: str) -> Iterator[BinaryIO]:
    """What compresses into `out` as the extension of `name` says; closed, but not `out`, when the block ends."""
    extension = Path(name.lower()).suffix
    packed: Any
    if extension == ".gz":
        packed = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=out)
    elif extension == ".bz2":
        packed = bz2.BZ2File(out, "wb")
    elif extension == ".zst":
        import zstandard  # not before it is needed: importing worlds stays quick

        packed = zstandard.ZstdCompressor().stream_writer(out, closefd=False)
    else:
        yield cast(BinaryIO, out)
        return
    with packed:
        yield packed


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
    embeddings.drop_index()  # rebuilding the file would build it too, and wrongly
    connection.vacuum()
    with connection.transaction():
        if embeddings.stored is not None and connection.meta("vector_index") != 0:
            embeddings.drop_index()  # another process may have built one before the file was rebuilt
            embeddings.create_index()
    connection.run("PRAGMA wal_checkpoint(TRUNCATE)")


def _delete_unused_terms(connection: Connection) -> None:
    # Other processes remember ids. One that no term has any longer is never given again, and that terms
    # were removed is counted, for those who remember which id a term has.
    last = connection.value(_QUERIES["last_term"])
    connection.run(_SQL["delete_unused_terms"])
    if connection.value(_SQL["deleted"]):
        connection.run(_QUERIES["set_meta"], ("last_term", last))
        connection.run(_QUERIES["add_to_meta"], ("term_removals", 1))
