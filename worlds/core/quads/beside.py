"""Parses documents in a process beside the one that stores what is in them, so that a load uses two cores.

A thread would not do: the parsers and the database driver both hold Python's lock.
"""

from __future__ import annotations

import marshal
import os
import pickle
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from queue import Queue
from threading import Thread
from typing import Any

from worlds.core.quads.interner import Interner
from worlds.core.quads.numbering import Terms
from worlds.core.quads.reader import ParsedBlock, read_documents
from worlds.errors import WorldsError
from worlds.graph.query.query_limits import Child, ChildOutput
from worlds.graph.rdf_sources import Input
from worlds.graph.terms import GraphName

_AHEAD = 8  # blocks
WORTH = 6_000_000  # bytes of documents for which a process pays


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
