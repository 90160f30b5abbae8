"""The quads that a proposal rests on, and their changes since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.history.undo import held_quads
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary, Ids
from worlds.core.quads.redirects import Redirects
from worlds.extras.curation.changing.conflicts import Conflicts
from worlds.graph.terms import format_term
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_CURATION = statements("curation.sql")
_TOLD = 5  # sentences of each kind


class StalenessCheck:
    """The quads that proposals rely on, compared with the present."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._redirects = Redirects(connection, dictionary)
        self._conflicts = Conflicts(connection, dictionary)

    def moved(
        self, base: int, added: Sequence[ox.Quad], needed: Sequence[ox.Quad], merged: Sequence[Any] = ()
    ) -> list[str]:
        """Changes since revision `base` that touch the proposal, in sentences.

        The `needed` quads must hold. Where a value is replaced (by one of `added`), or is added to a functional
        property, nobody may have given another one. The entities `merged` must be there still.
        """
        ids = self._ids(needed)
        held = set(held_quads(self._connection, ids)[:, 0].tolist())
        gone = [quad for place, quad in enumerate(needed) if place not in held]
        found = [f"{_told(quad)} no longer holds" for quad in gone[:_TOLD]]
        numbers = self._dictionary.find(merged)
        ends = self._redirects.of([number for number in numbers if number is not None])
        for term, number in zip(merged, numbers, strict=True):
            if number is None or not self._is_used(number):
                found.append(f"no quad names {format_term(term)} any more")
            elif number in ends:
                found.append(f"{format_term(term)} was merged already")
        return found + self._rivals(base, added, needed)[:_TOLD]

    def _is_used(self, number: int) -> bool:
        statement = _CURATION["is_used"]
        return self._connection.row(statement, statement.bind(entity=number)) is not None

    def _ids(self, quads: Sequence[ox.Quad]) -> Ids:
        """The ids of quads, int64 [n, 4]; -1 for a term that the world does not know."""
        terms = [term for quad in quads for term in (quad.subject, quad.predicate, quad.object, quad.graph_name)]
        sought = list(dict.fromkeys(term for term in terms if not isinstance(term, ox.DefaultGraph)))
        known: dict[Any, int | None] = dict(zip(sought, self._dictionary.find(sought), strict=True))
        numbers = [known.get(term, DEFAULT_GRAPH_ID) for term in terms]
        return np.array([-1 if one is None else one for one in numbers], dtype=np.int64).reshape(-1, 4)

    def _rivals(self, base: int, added: Sequence[ox.Quad], needed: Sequence[ox.Quad]) -> list[str]:
        """Values that somebody gave since, where the proposal would give one."""
        if base == self._connection.value(_SQL["last_revision"]) and not self._connection.in_transaction:
            return []  # nobody has written since
        ids = self._ids(added)
        functional = self._conflicts.declared({int(number) for number in ids[:, 1] if number > 0})
        replaced = {_place(quad) for quad in needed}
        places = {
            _place(quad): (int(row[0]), int(row[1]))
            for quad, row in zip(added, ids, strict=True)
            if row[0] > 0 and row[1] > 0 and (int(row[1]) in functional or _place(quad) in replaced)
        }
        expected = {(quad.subject, quad.predicate, quad.object) for quad in (*added, *needed)}
        found = []
        statement = _SQL["quads_of_subject_predicate"]
        for (subject, predicate, language), (s, p) in places.items():
            quads = self._connection.table(statement, statement.bind(subject=s, predicate=p, graph=-1))
            held = held_quads(self._connection, quads)
            newer = quads[held[held[:, 1] > base, 0], 2].tolist()
            terms = self._dictionary.terms(newer)
            for value in dict.fromkeys(terms[number] for number in newer):
                if _language(value) == language and (subject, predicate, value) not in expected:
                    names = " ".join(map(format_term, (subject, predicate, value)))
                    found.append(f"{names} was added since")
        return found


def _language(term: Any) -> str | None:
    return term.language if isinstance(term, ox.Literal) else None


def _place(quad: ox.Quad) -> tuple[Any, Any, str | None]:
    return quad.subject, quad.predicate, _language(quad.object)


def _told(quad: ox.Quad) -> str:
    return " ".join(map(format_term, (quad.subject, quad.predicate, quad.object)))
