"""Quads in which some terms stand for others, in every position, triple terms too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, Ids, batches
from worlds.core.quads.interner import Interner
from worlds.core.quads.rows import distinct
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("curation.sql")
_QUERIES = statements("queries.sql")


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
