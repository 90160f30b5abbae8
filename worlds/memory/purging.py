"""Forgetting of which nothing is left: quads, their history, terms, vectors, and what was said of them.

Revisions keep their number, author and counts, so that it can be told that something was there. A text that another
scope states, or any other quad or chunk, keeps its term. What is deleted is overwritten with zeros where it stood; what
SQLite has left between the rows of a page goes when the file is rebuilt (`compact`).
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.errors import WorldsError
from worlds.memory.keeping import Keeping
from worlds.memory.names import CITES, around
from worlds.quads.dictionary import IRI, LITERAL, TRIPLE, Dictionary, Ids, batches, json_ids
from worlds.quads.rows import NO_QUADS, unique_quads
from worlds.sql import aside, statements
from worlds.sql.connection import Connection, Row
from worlds.sql.values import as_text
from worlds.texts.chunks import ChunkStore
from worlds.validity.spans import REIFIES
from worlds.vectors.embedding import text_digest

_SQL = statements("memory.sql")
_QUERIES = statements("queries.sql")
_BATCH = 5000
_NEEDLE = 8  # characters from which on a text is looked for in the messages of its revisions


class Purging:
    """Takes what memories held out of the file of one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, keeping: Keeping) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._keeping = keeping

    # -- history --------------------------------------------------------------------------------------------------

    def ever(self, graph: ox.NamedNode, memories: Iterable[int], *, everything: bool) -> Ids:
        """The quads that memories, or the whole graph, have had and have no longer, int64 [n, 4]. In a transaction."""
        number = self._dictionary.find([graph])[0]
        if number is None:
            return NO_QUADS
        if everything:
            return self._connection.table(_SQL["removed_of_graph"], (number,))
        about = self._keeping.concerning(list(memories), number)
        cites, reifies = self._dictionary.find([CITES, REIFIES])
        reifiers = np.unique(about[about[:, 1] == cites, 0]).tolist()  # of facts that were told because of them
        said = self._keeping.concerning(reifiers, number)
        triples = json_ids(said[said[:, 1] == reifies, 2])
        parts = [as_text(row[2]).split() for row in self._connection.rows(_QUERIES["terms_by_id"], (triples,))]
        facts = np.array([[*map(int, part), number] for part in parts], dtype=np.int64).reshape(-1, 4)
        return np.concatenate([about, said, facts])

    def forget_removed(self, graph: ox.NamedNode) -> None:
        """Leave nothing of the quads that were ever removed from a graph. In a transaction."""
        quads = self.ever(graph, (), everything=True)
        if len(quads):
            self._erase(unique_quads(quads))

    def _erase(self, quads: Ids) -> list[int]:
        """Delete the history of quads, and count it in the revisions that it was of; gives these."""
        counts: Counter[tuple[str, int]] = Counter()
        for start in range(0, len(quads), _BATCH):
            rows = self._connection.rows(_SQL["removals"], (str(quads[start : start + _BATCH].tolist()),))
            for _, added, removed in rows:
                counts["added", added] += 1
                counts["removed", removed] += 1
            for ids in batches(np.array([row[0] for row in rows], dtype=np.int64)):
                self._connection.run(aside(_QUERIES["delete_removed"]), (ids,))
        statement = _QUERIES["purged"]
        for (what, revision), count in counts.items():
            values = {"added": 0, "removed": 0, what: count}
            self._connection.run(statement, statement.bind(revision=revision, **values))
        self._connection.run(_QUERIES["add_to_meta"], ("purges", 1))
        return sorted({revision for _, revision in counts})

    # -- everything -----------------------------------------------------------------------------------------------

    def purge(self, graph: ox.NamedNode, quads: Ids, chunks: ChunkStore, *, everything: bool) -> None:
        """Leave nothing of quads that a graph has no longer, int64 [n, 4], and of what nobody else says of them.

        With `everything`, nor of any proposal about the graph.
        """
        with contextlib.suppress(WorldsError):  # a server's
            self._connection.rows("PRAGMA secure_delete = ON")
        try:
            with self._connection.transaction():
                revisions = self._erase(quads)
                texts, iris = self._forget_terms(graph, quads, chunks)
                self._forget_sayings(graph, iris, texts, revisions, everything=everything)
        finally:
            with contextlib.suppress(WorldsError):
                self._connection.rows("PRAGMA secure_delete = OFF")
        with contextlib.suppress(WorldsError):  # others are reading: it is emptied with the next write
            self._connection.run("PRAGMA wal_checkpoint(TRUNCATE)")

    def _forget_terms(self, graph: ox.NamedNode, quads: Ids, chunks: ChunkStore) -> tuple[list[str], list[str]]:
        """Forget terms that nobody else uses, and the vectors of texts; gives these, and the graph's IRIs that went."""
        sought = {number: None for number in np.unique(quads).tolist() if number}
        rows: dict[int, Row] = {}
        waiting = list(sought)
        while waiting:  # the parts of triple terms, too
            found = self._connection.rows(_QUERIES["terms_by_id"], (json_ids(waiting),))
            rows |= {row[0]: row for row in found}
            parts = {int(part) for row in found if row[1] == TRIPLE for part in as_text(row[2]).split()}
            parts |= {row[3] for row in found if row[1] == LITERAL and row[3] is not None}
            waiting = list(parts - rows.keys())
        last = self._connection.value(_QUERIES["last_term"])
        gone: dict[int, None] = {}
        while left := rows.keys() - gone.keys():  # the parts of what has gone may be free now
            unused = [number for (number,) in self._connection.rows(_SQL["unused"], (json_ids(left),))]
            if not unused:
                break
            for ids in batches(np.array(unused, dtype=np.int64)):
                self._connection.run(_SQL["forget_graphs"], (ids,))
                self._connection.run(_QUERIES["delete_terms"], (ids,))
            gone |= dict.fromkeys(unused)
        if gone:
            self._connection.run(_QUERIES["set_meta"], ("last_term", last))
            self._connection.run(_QUERIES["add_to_meta"], ("term_removals", 1))
        texts = [as_text(row[2]) for row in rows.values() if row[1] == LITERAL]
        self._forget_vectors(graph, texts, chunks)
        iris = [as_text(rows[number][2]) for number in gone if rows[number][1] == IRI]
        return texts, [one for one in iris if one.startswith(f"{graph.value}#")]

    def _forget_vectors(self, graph: ox.NamedNode, texts: list[str], chunks: ChunkStore) -> None:
        """The vectors of texts go; a scope that still has one makes it anew."""
        pieces = {piece for text in texts for piece in chunks.pieces(text)}
        digests = json.dumps([text_digest(piece).hex() for piece in sorted(pieces)])
        scopes = json.dumps(around(graph.value))
        statement = _SQL["forget_texts"]
        self._connection.run(statement, statement.bind(scopes_json=scopes, digests_json=digests))
        retired = [number for (number,) in self._connection.rows(_SQL["retired_with"], (digests,))]
        self._connection.run(_SQL["forget_embedded"], (digests,))
        self._connection.run(_SQL["forget_retired_among"], (json_ids(retired),))

    def _forget_sayings(
        self, graph: ox.NamedNode, iris: list[str], texts: list[str], revisions: list[int], *, everything: bool
    ) -> None:
        """Proposals about what is gone, or that quote it, and what revisions' messages quote or say of it alone."""
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
        for revision, message, alone in self._connection.rows(_SQL["messages"], (json_ids(revisions),)):
            if alone or any(one in message for one in quoted):
                self._connection.run(_SQL["forget_message"], (revision,))

    def elsewhere(self, world: Any) -> tuple[str, ...]:
        """What other files may still have."""
        told = ["backups, exports and copies of the file that were made before"]
        replica = getattr(world, "replica", None)
        if replica is not None:
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
