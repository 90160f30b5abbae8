"""Reads documents and other quads in bulk, as blocks of numbers of their terms, in this process or beside it."""

from __future__ import annotations

import gc
import marshal
import os
import pickle
import sys
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from queue import Queue
from threading import Thread
from typing import Any, NamedTuple

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import DEFAULT_GRAPH, Dictionary, Ids
from worlds.core.quads.interner import Interner, Numbering, Terms
from worlds.core.quads.rows import NO_QUADS, unique_quads
from worlds.errors import WorldsError
from worlds.graph.formats import FORMATS, rdflib_quads
from worlds.graph.parsing import parsing
from worlds.graph.query.query_limits import Child, ChildOutput
from worlds.graph.rdf_sources import Input
from worlds.graph.terms import GraphName
from worlds.sql.connection import Connection

SLICE = 2000  # quads between two looks at how much was read
BLOCK = 20_000  # quads
_BLOCK_BYTES = 1 << 23  # of a document, its texts among them
_REMEMBERED = 3_000_000  # terms kept in memory; beyond it the file is asked
_AHEAD = 8  # blocks
WORTH = 6_000_000  # bytes of documents for which a process pays


class ParsedBlock(NamedTuple):
    """A part of a document: its new terms, and its quads, int64 [n, 4] of local numbers, as bytes.

    `taken` of the document's `size` in bytes have been read up to here; `size` is None where it is not known. The last
    block of a document has its prefixes, and says whether its format has named graphs.
    """

    terms: Terms
    numbers: bytes
    name: str
    taken: int = 0
    size: int | None = None
    prefixes: dict[str, str] | None = None
    graphs: bool = True


def read_documents(documents: Iterable[Input], numbering: Numbering, graph: GraphName | None) -> Generator[ParsedBlock]:
    """The quads of documents, parsed while they are asked for; all in `graph` where it is given."""
    for document in documents:
        taken = 0

        def count(size: int) -> None:
            nonlocal taken
            taken += size

        graphs = FORMATS[document.format].graphs
        with parsing(document, on_bytes=count) as quads:
            target = graph if graphs else graph or DEFAULT_GRAPH
            for numbers in _slices(quads, numbering, target, lambda quads=quads: quads.bytes_read):  # type: ignore[misc]
                yield ParsedBlock(numbering.take(), numbers, document.name, taken, document.size)
            prefixes = quads.prefixes
        yield ParsedBlock(numbering.take(), b"", document.name, taken, document.size, prefixes, graphs)
        numbering.end_document()


def read_graph(graph: Any, numbering: Numbering, target: GraphName | None) -> Generator[ParsedBlock]:
    """The quads of an rdflib graph, all in `target` where it is given."""
    for numbers in _slices(rdflib_quads(graph), numbering, target):
        yield ParsedBlock(numbering.take(), numbers, "")
    prefixes = {str(prefix): str(iri) for prefix, iri in graph.namespaces()}
    yield ParsedBlock(numbering.take(), b"", "", prefixes=prefixes, graphs=hasattr(graph, "quads"))
    numbering.end_document()


def quad_ids(connection: Connection, dictionary: Dictionary, quads: Iterable[ox.Quad]) -> Ids:
    """The distinct quads, int64 [n, 4] of term ids; new terms are stored, blank nodes keep their labels."""
    interner = Interner(connection, dictionary, rename_blank_nodes=False)
    numbers = _slices(quads, interner.numbering, None)
    return unique_quads(np.concatenate([NO_QUADS, *(interner.quads(block) for block in numbers)]))


def _slices(
    quads: Iterable[ox.Quad], numbering: Numbering, graph: GraphName | None, read: Callable[[], int] = lambda: 0
) -> Iterator[bytes]:
    """The local numbers of quads, in slices after each of which the terms are to be taken from the numbering.

    `read` tells how many bytes were read.
    """
    stream = iter(quads)
    more = True
    with _no_collection():
        while more:
            numbers = array("q")
            end = read() + _BLOCK_BYTES
            while more and len(numbers) < 4 * BLOCK and read() < end:
                more = _take(islice(stream, SLICE), numbers, numbering, graph)
            if numbers:
                yield numbers.tobytes()
                numbering.trim(_REMEMBERED)


def _take(quads: Iterator[ox.Quad], into: array[int], numbering: Numbering, graph: GraphName | None) -> bool:
    # The hot loop of loading: no call but what the two libraries do themselves.
    known, local = numbering.numbers.get, numbering.local
    target = None if graph is None else 0 if graph == DEFAULT_GRAPH else local(graph)  # type: ignore[arg-type]  # known
    numbers: list[int] = []
    term: Any
    for quad in quads:
        term = quad.subject
        s = known(term)
        if s is None:
            s = local(term)
        term = quad.predicate
        p = known(term)
        if p is None:
            p = local(term)
        term = quad.object
        o = known(term)
        if o is None:
            o = local(term)
        if target is None:
            term = quad.graph_name
            g = known(term)
            if g is None:
                g = local(term)
        else:
            g = target
        numbers += (s, p, o, g)
    into.extend(numbers)
    return bool(numbers)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the cyclic garbage collector: millions of terms, none in a cycle, make it a sixth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def pays(documents: Sequence[Input]) -> bool:
    """Whether it is worth while, and possible, to parse these in a process of their own."""
    return (
        sys.platform == "linux"  # elsewhere a fork is slow, unsafe beside threads, or not there
        and len(os.sched_getaffinity(0)) > 1
        and all(document.apart for document in documents)
        and sum(document.size or 0 for document in documents) >= WORTH
    )


def read_beside(documents: Sequence[Input], interner: Interner, graph: GraphName | None) -> Generator[ParsedBlock]:
    """Yield the blocks of `read_documents` in the interner's numbering. WorldsError where the process dies.

    Errors of `read_documents` are raised here. The process ends with the iterator, which must be closed, and is a few
    blocks ahead at most.
    """
    numbering = interner.numbering

    def work(_: object, writer: ChildOutput) -> None:
        with _sending(writer) as send:
            try:
                for block in read_documents(documents, numbering, graph):
                    send(marshal.dumps((tuple(block.terms), *block[1:])))
            except WorldsError as error:
                send(marshal.dumps(pickle.dumps(error)))

    with Child(work, task="parser", error=WorldsError) as child:
        while (message := child.message()) is not None:
            found: Any = marshal.loads(message)
            if isinstance(found, bytes):
                raise pickle.loads(found)
            yield ParsedBlock(Terms(*found[0]), *found[1:])
    interner.renumber()


@contextmanager
def _sending(writer: ChildOutput) -> Iterator[Callable[[bytes], None]]:
    """Write to a pipe by a thread, so that parsing continues while the other process is busy, up to some blocks."""
    waiting: Queue[bytes | None] = Queue(_AHEAD)

    def send() -> None:
        try:
            while (message := waiting.get()) is not None:
                writer.write(message)
        except OSError:  # nobody is there any longer
            os._exit(0)

    sender = Thread(target=send)
    sender.start()
    try:
        yield waiting.put
    finally:
        waiting.put(None)
        sender.join()
