"""The names that lead to merged entities, and quads with a term put in the place of another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, Ids, batches, json_ids
from worlds.core.quads.interner import Interner
from worlds.core.quads.rows import distinct
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
_QUERIES = statements("queries.sql")


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


def triples_with(connection: Connection, ids: Ids) -> Ids:
    """The triple terms that have one of the ids in them, however deep; ascending."""
    triples, parts = connection.columns(_SQL["triple_terms"])
    parts = parts.reshape(-1, 3)
    inside = np.isin(parts, ids).any(axis=1)
    while True:
        more = inside | np.isin(parts[:, 2], triples[inside])
        if (more == inside).all():
            return np.sort(triples[inside])
        inside = more


def parts_of(connection: Connection, ids: Ids) -> dict[int, tuple[int, ...]]:
    """Triple term → its parts, for the triple terms among the ids, and the triple terms within them."""
    found: dict[int, tuple[int, ...]] = {}
    if connection.row(_SQL["any_triple_term"]) is None:
        return found
    while len(ids):
        rows = [row for some in batches(ids) for row in connection.rows(_SQL["triple_terms_among"], (some,))]
        new = {number: tuple(map(int, parts.split())) for number, parts in rows if number not in found}
        found |= new
        ids = np.array(sorted({parts[2] for parts in new.values()} - found.keys()), dtype=np.int64)
    return found


def substituted(connection: Connection, dictionary: Dictionary, quads: Ids, leads: Mapping[int, int]) -> Ids:
    """The quads, int64 [n, 4], row by row, with some terms replaced. Needs a transaction: it may make terms."""
    mapping = dict(leads)
    parts = parts_of(connection, distinct(quads[:, 2]))
    used: list[int] = []
    for number in sorted(parts):  # a part has a smaller id than what it is in
        if any(part in leads or part in used for part in parts[number]):
            used.append(number)
    if used:
        terms = dictionary.terms([*used, *leads, *leads.values()])
        replaced = {terms[old]: terms[new] for old, new in leads.items()}
        interner = Interner(connection, dictionary, rename_blank_nodes=False)
        local = [interner.local(_replaced(terms[number], replaced)) for number in used]
        mapping |= dict(zip(used, interner.resolve(np.array(local)).tolist(), strict=True))
    old, new = np.array(sorted(mapping.items()), dtype=np.int64).reshape(-1, 2).T
    found = quads.copy()
    if len(old):
        places = np.minimum(np.searchsorted(old, quads), len(old) - 1)
        hit = old[places] == quads
        found[hit] = new[places[hit]]
    return found


def _replaced(term: Any, terms: Mapping[Any, Any]) -> Any:
    """A term with some terms replaced, inside triple terms too."""
    if isinstance(term, ox.Triple):
        return ox.Triple(*(_replaced(part, terms) for part in (term.subject, term.predicate, term.object)))
    return terms.get(term, term)
