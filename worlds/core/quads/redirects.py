"""Where the names of entities lead that were merged into others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, Ids, batches, json_ids
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("curation.sql")

REDIRECTS = ox.NamedNode("urn:worlds:redirects")
"""The graph of redirects: `old predicate kept`, one for each entity that was merged into another."""
REDIRECTING = {
    "owl:sameAs": ox.NamedNode("http://www.w3.org/2002/07/owl#sameAs"),
    "dcterms:isReplacedBy": ox.NamedNode("http://purl.org/dc/terms/isReplacedBy"),
}
"""The predicates of redirects; another quad of their graph says something of one, such as when it ended."""


class Redirects:
    """Follows the redirects of one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary

    @property
    def predicates(self) -> list[int]:
        """The ids of the predicates of redirects that the world has."""
        return [number for number in self._dictionary.find(list(REDIRECTING.values())) if number is not None]

    def of(self, ids: Iterable[int]) -> dict[int, int]:
        """Old id → kept id, for the ids that redirect, to the end of each chain; cycles are left out."""
        graph = self._dictionary.find([REDIRECTS])[0]
        if graph is None:
            return {}
        predicates_json = json_ids(self.predicates)
        steps: dict[int, int] = {}
        new = {number for number in ids if number > 0}
        while new:
            found: dict[int, int] = {}
            for ids_json in batches(np.array(sorted(new), dtype=np.int64)):
                statement = _SQL["redirects"]
                found.update(
                    self._connection.rows(
                        statement, statement.bind(ids_json=ids_json, graph=graph, predicates_json=predicates_json)
                    )
                )
            steps |= found
            new = set(found.values()) - steps.keys()
        return ends(steps)

    def follow(self, terms: Sequence[Any]) -> list[Any]:
        """The terms, in which each redirected term is replaced by its target."""
        numbers = self._dictionary.find(terms)
        leads = self.of([number for number in numbers if number is not None])
        ends = self._dictionary.terms(leads.values()) if leads else {}
        return [ends[leads[number]] if number in leads else term for term, number in zip(terms, numbers, strict=True)]

    def widened(self, ids: Ids) -> Ids:
        """The ids and the targets of their redirects; ascending and distinct."""
        leads = self.of(ids.tolist())
        return np.union1d(ids, np.array(sorted(leads.values()), dtype=np.int64)) if leads else ids


def ends(steps: Mapping[int, int]) -> dict[int, int]:
    """The last target of each chain of steps; circles have none."""
    return {old: kept for old in steps if (kept := _end(old, steps)) is not None}


def _end(old: int, steps: Mapping[int, int]) -> int | None:
    seen = {old}
    at = steps[old]
    while at in steps and at not in seen:
        seen.add(at)
        at = steps[at]
    return None if at in seen else at
