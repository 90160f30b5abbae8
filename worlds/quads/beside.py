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

from worlds.errors import WorldsError
from worlds.graph.query.limits import Child, Writer
from worlds.graph.sources import Source
from worlds.graph.terms import GraphName
from worlds.quads.interner import Interner
from worlds.quads.numbering import Terms
from worlds.quads.reader import Block, read_documents

_AHEAD = 8  # blocks
WORTH = 6_000_000  # bytes of documents for which a process pays


def pays(documents: Sequence[Source]) -> bool:
    """Whether it is worth while, and possible, to parse these in a process of their own."""
    return (
        sys.platform == "linux"  # elsewhere a fork is slow, unsafe beside threads, or not there
        and len(os.sched_getaffinity(0)) > 1
        and all(document.apart for document in documents)
        and sum(document.size or 0 for document in documents) >= WORTH
    )


def read_beside(documents: Sequence[Source], interner: Interner, graph: GraphName | None) -> Generator[Block]:
    """What `read_documents` gives for the interner's numbering, and its errors. WorldsError where the process dies.

    It ends with the iterator, which must be closed. It is a few blocks ahead at most.
    """
    numbering = interner.numbering

    def work(_: object, writer: Writer) -> None:
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
            yield Block(Terms(*found[0]), *found[1:])
    interner.renumber()


@contextmanager
def _sending(writer: Writer) -> Iterator[Callable[[bytes], None]]:
    """Write by a thread, so that parsing goes on while the other process is busy, up to some blocks."""
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
