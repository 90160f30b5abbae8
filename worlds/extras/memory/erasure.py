"""Forgetting of which nothing is left: quads, their history, and what was said of them; terms and vectors go with them.

Revisions keep their number, author and counts, so that it can be told that something was there. The file is rebuilt
afterwards, since SQLite leaves copies of rows between others.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import IRI, LITERAL, Ids, batches, json_ids
from worlds.core.quads.rows import unique_quads
from worlds.extras.facts.spans import REIFIES
from worlds.extras.memory.linked_facts import Keeping
from worlds.extras.memory.names import CITES
from worlds.sql import statements
from worlds.sql.bound_values import as_text

_SQL = statements("memory.sql")
_QUERIES = statements("queries.sql")
_BATCH = 5000
_NEEDLE = 8  # characters from which on a text is looked for in the messages of its revisions


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
