"""The jobs of the Graph Store Protocol: to read, replace, extend and delete one graph."""

from __future__ import annotations

import json
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyoxigraph as ox

from worlds.core.history.gate import Change
from worlds.doors.server.http.negotiation import GRAPHS, choose, with_charset
from worlds.doors.server.problem_documents import NotAcceptable, NotFound, PreconditionFailed
from worlds.doors.server.workers.jobs import job
from worlds.world import World

_IN_MEMORY = 1 << 23  # bytes of an export; a longer one goes through a temporary file
_PIECE = 1 << 16
_INLINE = 100_000  # bytes whose texts are embedded before the write is acknowledged
_ATTEMPTS = 5


@dataclass(frozen=True)
class Document:
    """RDF that was sent: its bytes, or the temporary file that they lie in, and the name of its format."""

    content: bytes | Path
    format: str

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size


@dataclass(frozen=True)
class Preconditions:
    """If-Match and If-None-Match: entity tags without their quotes, ["*"] for any; None where there is none."""

    match: Sequence[str] | None = None
    none_match: Sequence[str] | None = None


@job("read_graph", streams=True)
def read_graph(
    world: World, *, graph: str | None, accept: str | None, conditions: Preconditions, body: bool
) -> tuple[dict[str, Any], Iterator[bytes]]:
    """A graph, the default one if None, in the type that is accepted.

    The head has the "status", 200 or 304, the "type", the "etag" with its quotes, and the "length" in bytes, which is
    None without a `body`.
    """
    media_type, name = choose(accept, GRAPHS)
    for _ in range(_ATTEMPTS):
        state = _state(world)
        if not _exists(world, graph):
            raise NotFound(f"there is no graph <{graph}>")
        etag = f"{state}-{name}"
        head: dict[str, Any] = {"status": 200, "type": with_charset(media_type), "etag": f'"{etag}"', "length": None}
        if conditions.match is not None and not {"*", etag} & set(conditions.match):
            raise PreconditionFailed("the graph is no longer as If-Match says")
        if conditions.none_match is not None and {"*", etag} & set(conditions.none_match):
            return {**head, "status": 304}, iter(())
        if not body:
            return head, iter(())
        document = _exported(world, graph, media_type, name)
        if _state(world) == state:  # nobody wrote meanwhile, so the tag is that of this document
            break
        document.close()
    else:
        document = _exported(world, graph, media_type, name)
        del head["etag"]
    head["length"] = document.seek(0, 2)
    document.seek(0)
    return head, _pieces(document)


@job("write_graph", write=True)
def write_graph(
    world: World,
    *,
    author: str | None,
    graph: str | None,
    documents: Sequence[Document],
    base: str,
    replace: bool,
    conditions: Preconditions,
) -> tuple[bool, int]:
    """Put documents in the place of a graph, or add them to it; gives whether that made it, and the quads changed."""
    target: Any = "default" if graph is None else ox.NamedNode(graph)
    with world.transaction(author=author, message=f"{'PUT' if replace else 'POST'} {_shown(graph)}"):
        existed = _exists(world, graph)
        _check(world, conditions, existed)
        changed = 0
        for number, document in enumerate(documents):
            mode: Any = "replace" if replace and not number else "merge"
            change = _load(world, document, target, base, mode)
            changed += change.added + change.removed
        if graph is not None and not existed and not _has_quads(world, graph):
            world.update(f"CREATE SILENT GRAPH {target}")
    return not existed, changed


@job("delete_graph", write=True)
def delete_graph(world: World, *, author: str | None, graph: str | None, conditions: Preconditions) -> None:
    """Delete a graph, or empty the default graph. NotFound where there is none."""
    with world.transaction(author=author, message=f"DELETE {_shown(graph)}"):
        if not _exists(world, graph):
            raise NotFound(f"there is no graph <{graph}>")
        _check(world, conditions, True)
        world.update("DROP DEFAULT" if graph is None else f"DROP GRAPH {ox.NamedNode(graph)}")


def _shown(graph: str | None) -> str:
    return "the default graph" if graph is None else f"<{graph}>"


def _load(world: World, document: Document, target: Any, base: str, mode: Any) -> Change:
    embed = document.size <= _INLINE
    if isinstance(document.content, bytes):
        return world.load(document.content, format=document.format, graph=target, base=base, mode=mode, embed=embed)
    with document.content.open("rb") as stream:
        return world.load(_Unnamed(stream), format=document.format, graph=target, base=base, mode=mode, embed=embed)


class _Unnamed:
    """A file whose name does not get into messages."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.read = stream.read


def _check(world: World, conditions: Preconditions, exists: bool) -> None:
    """Whether a write may be done; an entity tag of any format says how the world was."""
    for tags, wanted in ((conditions.match, True), (conditions.none_match, False)):
        if tags is None:
            continue
        states = {tag.rpartition("-")[0] for tag in tags}
        holds = exists and ("*" in tags or _state(world) in states)
        if holds is not wanted:
            raise PreconditionFailed("the graph is not as If-Match or If-None-Match says")


def _state(world: World) -> str:
    """A text that changes whenever a document of the world may: of the last revision for readers, and the prefixes."""
    last = next(iter(world.history(1)), None)
    about = [None if last is None else str(last.time), sorted(world.prefixes.items())]
    return f"r{0 if last is None else last.revision}-{zlib.crc32(json.dumps(about).encode()):08x}"


def _has_quads(world: World, graph: str | None) -> bool:
    name: Any = "default" if graph is None else ox.NamedNode(graph)
    return next(world.quads(graph=name), None) is not None


def _exists(world: World, graph: str | None) -> bool:
    """The default graph always does; a named one if it has quads, or was created."""
    if graph is None or _has_quads(world, graph):
        return True
    return world.query(f"ASK {{ GRAPH {ox.NamedNode(graph)} {{}} }}") is True


def _exported(world: World, graph: str | None, media_type: str, name: str) -> IO[bytes]:
    document = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # it is read after this
    try:
        world.export(document, format=name, graph="default" if graph is None else ox.NamedNode(graph))  # type: ignore[arg-type]  # a stream
    except ValueError as error:
        document.close()
        raise NotAcceptable(f"{media_type} cannot hold this graph: {error}") from error
    except BaseException:
        document.close()
        raise
    return document


def _pieces(document: IO[bytes]) -> Iterator[bytes]:
    with document:
        while piece := document.read(_PIECE):
            yield piece
