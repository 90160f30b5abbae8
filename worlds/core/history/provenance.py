"""Who said that: the revisions that added and removed quads, and those that touched an entity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.history.history import Entry, History
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary
from worlds.core.quads.patterns import Patterns
from worlds.core.quads.redirects import REDIRECTS
from worlds.core.quads.rows import find_quads
from worlds.graph.records import Quad, Record
from worlds.graph.terms import GraphName, Term, to_rdflib
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("history.sql")
_ANY = -1  # no term has this id
_Ids: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Provenance(Record):
    """A quad, and one time during which it held: since the revision `added`, up to the revision `removed`.

    The quad is a tuple of four rdflib terms, the fourth None in the default graph. `removed` is None for a quad that
    holds now, `added` for one whose revision was forgotten. `said` is the revision that said it first: where a merge, a
    split or an undo brought the quad here, the one that added it before, of the entity that it was said of then; else
    `added`. It is None where nobody looked.
    """

    quad: Quad
    added: Entry | None
    removed: Entry | None
    said: Entry | None = None


class Origins:
    """Search for the first revision of statements that merges, splits or undos moved."""

    def __init__(self, connection: Connection, dictionary: Dictionary, history: History) -> None:
        self._connection = connection
        self._history = history
        self._redirects = dictionary.find([REDIRECTS])[0]
        self._brought: dict[int, dict[_Ids, tuple[_Ids, int]]] = {}
        self._undoes: dict[int, int | None] = {}

    def of(self, quad: _Ids, added: int) -> int:
        """The revision that first said a quad, which another one added as it is."""
        seen = set()
        while added not in seen:
            seen.add(added)
            if added not in self._brought:
                self._brought[added] = self._moved(added)
                self._undoes[added] = next((one.undoes for one in self._history.numbered([added]).values()), None)
            moved, undoes = self._brought[added], self._undoes[added]
            if undoes is not None:
                added = self._connection.value(_SQL["added_before"], (*quad, undoes)) or added
            else:
                quad, added = moved.get(quad) or moved.get((quad[0], _ANY, *quad[2:])) or (quad, added)
        return added

    def _moved(self, revision: int) -> dict[_Ids, tuple[_Ids, int]]:
        """Quad that a merge or split added → (its form before, the revision that added that form)."""
        if self._redirects is None:
            return {}
        statement = _SQL["redirected_in"]
        rows = self._connection.rows(statement, statement.bind(graph=self._redirects, revision=revision))
        came, went = ({old: kept for old, kept, gone in rows if bool(gone) is which} for which in (False, True))
        # A redirect that only leads elsewhere now is of an earlier merge.
        leads = {old: kept for old, kept in came.items() if old not in went}
        leads |= {kept: old for old, kept in went.items() if old not in came}
        if not leads:
            return {}
        found: dict[_Ids, tuple[_Ids, int]] = {}
        for *quad, added in self._connection.table(_SQL["removed_in"], (revision,)).tolist():
            s, p, o, g = (leads.get(number, number) for number in quad)
            found[s, p, o, g] = found[s, _ANY, o, g] = (quad[0], quad[1], quad[2], quad[3]), added  # labels: as aliases
        return found


class Provenances:
    """Provenance of quads in one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, patterns: Patterns, history: History) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._patterns = patterns
        self._history = history

    def of(self, triple: Sequence[Term | None], graph: GraphName | None) -> list[Provenance]:
        """The provenance of the quads that match, removed ones too, oldest first; see `World.revisions.provenance`."""
        with self._connection.snapshot():
            ids = self._ids([*triple, graph])
            if ids is None:
                return []
            held = self._patterns.matching(triple, graph)
            rows = [
                (added, None, tuple(held[position].tolist()))
                for position, _, added in find_quads(self._connection, held)
            ]
            values = dict(zip(("subject", "predicate", "object", "graph"), ids, strict=True))
            gone = self._connection.table(_SQL["removed_matching"], _SQL["removed_matching"].bind(**values))
            rows += [(added, removed, (s, p, o, g)) for s, p, o, g, added, removed in gone.tolist()]
            rows.sort(key=lambda row: (row[0], row[2]))
            origins = Origins(self._connection, self._dictionary, self._history)
            said = [origins.of(quad, added) for added, _, quad in rows]
            wanted = {number for row in rows for number in row[:2] if number is not None} | set(said)
            entries = self._history.numbered(wanted)
            terms = self._dictionary.terms({number for row in rows for number in row[2]})
        shown = {number: to_rdflib(term) if number else None for number, term in terms.items()}
        return [
            Provenance(
                (shown[s], shown[p], shown[o], shown[g]),
                entries.get(added),
                None if removed is None else entries.get(removed),
                entries.get(first),
            )
            for (added, removed, (s, p, o, g)), first in zip(rows, said, strict=True)
        ]

    def touching(self, entity: Term | None, predicate: Term | None, graph: GraphName | None) -> set[int]:
        """The revisions that added or removed a quad of an entity (its subject or object), predicate and graph."""
        with self._connection.snapshot():
            ids = self._ids([entity, predicate, graph])
            if ids is None:
                return set()
            statement = _SQL["revisions_touching" if entity is None else "revisions_touching_entity"]
            values = dict(zip(("entity", "predicate", "graph"), ids, strict=True))
            found = self._connection.rows(
                statement, statement.bind(**{name: values[name] for name in statement.parameters})
            )
        return {number for (number,) in found}

    def _ids(self, terms: Sequence[Any]) -> list[int] | None:
        """The ids of terms, -1 for None; None if the world does not know one of them."""
        sought = [term for term in terms if term is not None and not isinstance(term, ox.DefaultGraph)]
        known: dict[Any, int | None] = dict(zip(sought, self._dictionary.find(sought), strict=True))
        ids = [
            _ANY if term is None else DEFAULT_GRAPH_ID if isinstance(term, ox.DefaultGraph) else known[term]
            for term in terms
        ]
        return None if None in ids else np.array(ids, dtype=np.int64).tolist()
