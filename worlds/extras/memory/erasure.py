"""Forgetting of which nothing is left: quads, their history, and what was said of them; terms and vectors go with them.

Revisions keep their number, author and counts, so that it can be told that something was there. The file is rebuilt
afterwards, since SQLite leaves copies of rows between others.
"""

from __future__ import annotations

import json
import mmap
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.file.opening import MEMORIES, REPLICAS
from worlds.core.quads.dictionary import IRI, LITERAL, Ids, batches, json_ids
from worlds.core.quads.rows import unique_quads
from worlds.errors import ArgumentError, OpenError
from worlds.extras.facts.spans import REIFIES
from worlds.extras.memory.linked_facts import Keeping
from worlds.extras.memory.memory_records import CITES
from worlds.sql import statements
from worlds.sql.bound_values import as_text

_SQL = statements("memory.sql")
_QUERIES = statements("queries.sql")
_BATCH = 5000
_NEEDLE = 8  # characters from which on a text is looked for in the messages of its revisions
_PIECE = 48  # bytes: SQLite cuts long texts, at places that it chooses, but none so short
_SHORTEST = 4  # characters of a text; a shorter one is in every file
_BESIDE = ("", "-wal", "-shm", "-journal", "-sparql", REPLICAS, MEMORIES)


class Purging:
    """Removes the content of purged memories from one world."""

    def __init__(self, world: Any) -> None:
        self._connection = world._core.connection
        self._dictionary = world._core.dictionary
        self._keeping = Keeping(world)

    def ever(self, graph: int, memories: Iterable[int], *, everything: bool) -> Ids:
        """The quads that memories, or a whole graph, have had and have no longer, int64 [n, 4]. In a transaction."""
        if everything:
            removed: Ids = self._connection.table(_SQL["removed_of_graph"], (graph,))
            return removed
        about = self._keeping.concerning(list(memories), graph)
        cites, reifies = self._dictionary.find([CITES, REIFIES])
        reifiers = np.unique(about[about[:, 1] == cites, 0]).tolist()  # of facts that were told because of them
        said = self._keeping.concerning(reifiers, graph)
        triples = json_ids(said[said[:, 1] == reifies, 2])
        parts = [as_text(row[2]).split() for row in self._connection.rows(_QUERIES["terms_by_id"], (triples,))]
        facts = np.array([[*map(int, part), graph] for part in parts], dtype=np.int64).reshape(-1, 4)
        return np.concatenate([about, said, facts])

    def forget_removed(self, graph: int) -> None:
        """Leave nothing of the quads that were ever removed from a graph. In a transaction."""
        quads = self.ever(graph, (), everything=True)
        if len(quads):
            self._erase(unique_quads(quads))

    def purge(self, name: ox.NamedNode, quads: Ids, *, everything: bool) -> None:
        """Delete the history of quads that were removed from a graph, and all annotations of them.

        With `everything`, nor of any proposal about the graph. In a transaction.
        """
        rows = self._connection.rows(_QUERIES["terms_by_id"], (json_ids(np.unique(quads[:, [0, 2]])),))
        texts = [as_text(row[2]) for row in rows if row[1] == LITERAL]
        iris = [as_text(row[2]) for row in rows if row[1] == IRI and as_text(row[2]).startswith(f"{name.value}#")]
        self._forget_sayings(name, iris, texts, self._erase(quads), everything=everything)

    def _erase(self, quads: Ids) -> list[int]:
        """Delete the history of quads, and count it in the revisions that it was of; gives these."""
        counts: Counter[tuple[str, int]] = Counter()
        for start in range(0, len(quads), _BATCH):
            rows = self._connection.rows(_SQL["removals"], (str(quads[start : start + _BATCH].tolist()),))
            for _, added, removed in rows:
                counts["added", added] += 1
                counts["removed", removed] += 1
            for ids in batches(np.array([row[0] for row in rows], dtype=np.int64)):
                self._connection.run(_QUERIES["delete_removed"], (ids,))
        statement = _QUERIES["purged"]
        for (what, revision), count in counts.items():
            values = {"added": 0, "removed": 0, what: count}
            self._connection.run(statement, statement.bind(revision=revision, **values))
        self._connection.run(_QUERIES["add_to_meta"], ("purges", 1))
        return sorted({revision for _, revision in counts})

    def _forget_sayings(
        self, graph: ox.NamedNode, iris: list[str], texts: list[str], revisions: list[int], *, everything: bool
    ) -> None:
        """Delete proposals on purged content or with quotes of it, and messages that quote it or are on it alone."""
        own = [f"<{graph.value}{end}".encode() for end in (">", "#")]
        named = [f"<{iri}>".encode() for iri in iris]
        quotes = [one.encode() for text in texts if len(text) >= _NEEDLE for one in forms(text)]

        def is_gone(parts: list[bytes]) -> bool:
            of_scope = any(one in part for part in parts for one in own)
            sought = [*named, *(own if everything else quotes if of_scope else ())]
            return any(one in part for part in parts for one in sought)

        rows = self._connection.rows(_SQL["proposals"])
        proposals = [number for number, *parts in rows if is_gone(list(map(_bytes, parts)))]
        for name in ("forget_proposals", "forget_proposal_quads"):
            self._connection.run(_SQL[name], (json_ids(proposals),))
        quoted = [*iris, *(text for text in texts if len(text) >= _NEEDLE)]
        for revision, message, alone in self._connection.rows(_SQL["messages"], (json.dumps(revisions),)):
            if alone or any(one in message for one in quoted):
                self._connection.run(_SQL["forget_message"], (revision,))


def elsewhere(world: Any) -> tuple[str, ...]:
    """Other files that may still have quads that were purged from a world."""
    told = ["backups, exports and copies of the file that were made before"]
    if world.replica is not None:
        told.append(
            "the server's own file and log until it is compacted there, and every other replica until it has "
            "synchronised and is compacted"
        )
    return tuple(told)


def _bytes(part: object) -> bytes:
    return part.encode() if isinstance(part, str) else bytes(part)  # type: ignore[call-overload]


def forms(text: str) -> tuple[str, ...]:
    """A text as it is, and as patches and JSON write it."""
    return tuple(dict.fromkeys((text, str(ox.Literal(text))[1:-1], json.dumps(text)[1:-1])))


@dataclass(frozen=True, slots=True)
class Trace:
    """Where a text, or a piece of it, stands: the file, and how many bytes before."""

    file: Path
    place: int
    piece: bytes


@dataclass(frozen=True, slots=True)
class Proof:
    """The files in which a text was looked for, and where it, or a piece of it, stands; false where it does."""

    files: tuple[Path, ...]
    traces: tuple[Trace, ...]

    def __bool__(self) -> bool:
        return not self.traces


def prove(text: str, path: str | os.PathLike[str]) -> Proof:
    """Look for a text in all that is written of a world on this machine: the first place of each piece in each file.

    That is its file, what lies beside it (logs, the SPARQL index, the folder of a replica, and what killed backups,
    exports, pushes and pulls left), and the copies of worlds in the folder for temporary files.

    It is looked for as it is, and as patches and JSON write it. A text of some length is looked for in pieces, since
    SQLite cuts it. ArgumentError for a text of less than four characters, OpenError for a file that cannot be read.
    """
    path = Path(path)
    if len(text.strip()) < _SHORTEST:
        raise ArgumentError(f"the text must have at least {_SHORTEST} characters: shorter texts occur everywhere")
    if not path.is_file():
        raise OpenError(f"{path} does not exist")
    pieces = list(
        dict.fromkeys(piece for form in forms(text) for piece in _pieces(form.encode("utf-8", "surrogatepass")))
    )
    found = tuple(_files(path))
    return Proof(found, tuple(trace for file in found for trace in _looked_for(pieces, file)))


def _files(path: Path) -> Iterator[Path]:
    """The files of a world that there are, and drafts and copies that a killed process left."""
    places = [path.with_name(path.name + end) for end in _BESIDE]
    left = [one for one in sorted(path.parent.iterdir()) if one.name.startswith((f".{path.name}.", ".push-", ".pull-"))]
    copies = sorted(Path(tempfile.gettempdir()).glob("worlds-*"))
    copies = [one for one in copies if one.is_file() and os.access(one, os.R_OK)]
    for place in (*places, *left, *copies):
        if place.is_dir():
            yield from (one for one in sorted(place.rglob("*")) if one.is_file())
        elif place.is_file():
            yield place


def _pieces(text: bytes) -> list[bytes]:
    if len(text) < 2 * _PIECE:
        half = len(text) // 2
        return [text] if half < _PIECE // 4 else [text[:half], text[half:]]
    return [text[start : start + _PIECE] for start in range(0, len(text) - _PIECE + 1, _PIECE)]


def _looked_for(pieces: list[bytes], file: Path) -> Iterator[Trace]:
    try:
        with file.open("rb") as stream:
            if not file.stat().st_size:
                return
            with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
                for piece in pieces:
                    if (place := content.find(piece)) >= 0:
                        yield Trace(file, place, piece)
    except FileNotFoundError:  # it was removed just now
        return
    except OSError as error:
        raise OpenError(f"{file} cannot be read: {error.strerror or error}") from error
