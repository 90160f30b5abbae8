"""Quads in which one entity takes the place of others, in every position, triple terms too."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.quads.dictionary import Dictionary, Ids, batches
from worlds.quads.interner import Interner
from worlds.quads.redirects import REDIRECTS
from worlds.quads.rows import NO_QUADS, unique_quads
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("curation.sql")
_QUERIES = statements("queries.sql")


class Rewriting:
    """Puts one entity, by its id, in the place of others. In a transaction, as it may make triple terms."""

    def __init__(self, connection: Connection, dictionary: Dictionary, kept: int, others: Collection[int]) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self.kept = kept
        self.others: Ids = np.unique(np.array(list(others), dtype=np.int64))
        self.merged: Ids = np.union1d(self.others, [kept])
        self._graph = dictionary.find([REDIRECTS])[0] or -1
        self._triples = self._affected()
        self._from = self._to = self.others

    def quads(self) -> Ids:
        """The quads that have one of the others anywhere, int64 [n, 4]; markers too."""
        statement = _QUERIES["quads_touching"]
        found = [NO_QUADS]
        for ids_json in batches(np.concatenate([self.others, self._triples])):
            found.append(self._connection.table(statement, statement.bind(ids_json=ids_json)))
        return unique_quads(np.concatenate(found))

    def rewritten(self, quads: Ids) -> Ids:
        """The quads as they are then, int64 [n, 4], row by row: all others replaced, but the subject of a redirect."""
        self._map(quads)
        found = quads.copy()
        for column in range(4):
            places = np.searchsorted(self._from, quads[:, column])
            places[places == len(self._from)] = 0
            hit = self._from[places] == quads[:, column]
            found[hit, column] = self._to[places[hit]]
        redirect = quads[:, 3] == self._graph
        found[redirect, 0] = quads[redirect, 0]
        return found

    def touched(self, quads: Ids) -> NDArray[np.bool_]:
        """Which of the quads have one of the others anywhere."""
        return np.asarray(np.isin(quads, np.concatenate([self.others, self._triples])).any(axis=1), dtype=np.bool_)

    def _affected(self) -> Ids:
        """The triple terms that have one of the others in them, however deep."""
        ids, parts = self._connection.columns(_SQL["triple_terms"])
        parts = parts.reshape(-1, 3)
        inside = np.isin(parts, self.others).any(axis=1)
        while True:
            more = inside | np.isin(parts[:, 2], ids[inside])
            if (more == inside).all():
                return np.sort(ids[inside])
            inside = more

    def _map(self, quads: Ids) -> None:
        """Learn what becomes of each id that is replaced."""
        used = np.intersect1d(self._triples, quads) if len(self._triples) else self._triples
        mapping = dict.fromkeys(self.others.tolist(), self.kept)
        if len(used):
            terms = self._dictionary.terms([*used.tolist(), *self.merged.tolist()])
            replaced = {terms[other]: terms[self.kept] for other in self.others.tolist()}
            interner = Interner(self._connection, self._dictionary, rename_blank_nodes=False)
            local = [interner.local(_replaced(terms[number], replaced)) for number in used.tolist()]
            mapping |= dict(zip(used.tolist(), interner.resolve(np.array(local)).tolist(), strict=True))
        self._from = np.array(sorted(mapping), dtype=np.int64)
        self._to = np.array([mapping[number] for number in self._from.tolist()], dtype=np.int64)


def _replaced(term: Any, terms: Mapping[Any, Any]) -> Any:
    """A term with others in the place of some, inside triple terms too."""
    if isinstance(term, ox.Triple):
        return ox.Triple(
            terms.get(term.subject, term.subject),
            terms.get(term.predicate, term.predicate),
            _replaced(term.object, terms),
        )
    return terms.get(term, term)
