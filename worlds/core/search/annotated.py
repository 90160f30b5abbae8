"""Which triples a text is said of: reifiers (RDF 1.2) and the triples that they reify."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, Ids, json_ids
from worlds.core.quads.rows import distinct
from worlds.graph.terms import RDF
from worlds.sql import statements
from worlds.sql.bound_values import as_text
from worlds.sql.connection import Connection

_SQL = statements("hits.sql")
_REIFIES = ox.NamedNode(RDF + "reifies")


class Reifiers:
    """The reifiers of one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._known: tuple[Ids, Ids] | None = None  # reifiers, and the subjects of their triples

    def forget(self) -> None:
        """The world has another state."""
        self._known = None

    def beside(self, subjects: Ids) -> Ids:
        """The subjects, ascending ids, and the reifiers of their triples."""
        (reifies,) = self._dictionary.find([_REIFIES])
        if reifies is None:
            return subjects
        if self._known is None:
            reifiers, about = self._connection.columns(_SQL["reifiers"], (reifies,))
            self._known = reifiers, about
        reifiers, about = self._known
        return distinct(np.concatenate([subjects, reifiers[np.isin(about, subjects)]]))

    def triples(self, subjects: Iterable[int]) -> dict[int, list[tuple[int, int, int]]]:
        """The triples, as ids, of the subjects that are reifiers."""
        (reifies,) = self._dictionary.find([_REIFIES])
        found: dict[int, list[tuple[int, int, int]]] = {}
        if reifies is not None:
            for reifier, parts in self._connection.rows(_SQL["annotated"], (json_ids(sorted(subjects)), reifies)):
                s, p, o = map(int, as_text(parts).split(" "))
                found.setdefault(reifier, []).append((s, p, o))
        return found
