"""The action for two entities that are the same: merge them, in which direction, or link them."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Literal, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Ids
from worlds.extras.curation.columns.quad_columns import QuadTable
from worlds.extras.curation.columns.vocabularies import OWL, PART_OF, SKOS
from worlds.sql import statements
from worlds.sql.connection import Connection

Action: TypeAlias = Literal["merge", "skos:exactMatch", "skos:closeMatch", "owl:sameAs", "different"]

PREDICATES = {
    "skos:exactMatch": SKOS + "exactMatch",
    "skos:closeMatch": SKOS + "closeMatch",
    "owl:sameAs": OWL + "sameAs",
    "different": OWL + "differentFrom",
}
"""The predicate of the quad that an action adds; a merge adds none."""

_SQL = statements("sources.sql")


class Actions:
    """The actions for pairs of entities, by their ids: `keep` decides the direction of all merges alike."""

    def __init__(self, connection: Connection, table: QuadTable, entities: Ids, keep: object) -> None:
        """`keep` is "links" (the entity that more links lead to stays), "older" (the entity that the world knew first),
        or a term: the entity stays that the graph says something of, or that the scheme has."""
        ids = np.unique(entities)
        rows = np.flatnonzero(np.isin(table.subjects, ids))
        owned = [graph for graph, _ in connection.rows(_SQL["owned"])]
        self._owned = set(table.subjects[rows[np.isin(table.graphs[rows], owned)]].tolist())
        self._schemes: dict[int, set[int]] = defaultdict(set)
        for predicate in ("inScheme", "topConceptOf"):
            concepts, schemes = table.pairs(SKOS + predicate)
            of = np.isin(concepts, ids)
            for concept, scheme in zip(concepts[of].tolist(), schemes[of].tolist(), strict=True):
                self._schemes[concept].add(scheme)
        upward = np.isin(table.predicates, table.ids(list(PART_OF)))
        upward &= np.isin(table.subjects, ids) & np.isin(table.objects, ids)
        self._above = set(zip(table.subjects[upward].tolist(), table.objects[upward].tolist(), strict=True))
        self._since: dict[int, int] = {}
        for subject, revision in zip(table.subjects[rows].tolist(), table.revisions[rows].tolist(), strict=True):
            self._since[subject] = min(revision, self._since.get(subject, revision))
        self._led: Counter[int] = Counter()
        self._first: set[int] = set()
        if isinstance(keep, str):
            self._led.update(table.objects[np.isin(table.objects, ids)].tolist() if keep == "links" else ())
        else:
            named = 0 if isinstance(keep, ox.DefaultGraph) else table.id(getattr(keep, "value", ""))
            self._first = set(table.subjects[rows[table.graphs[rows] == named]].tolist())
            self._first |= {concept for concept, schemes in self._schemes.items() if named in schemes}

    def directed(self, pair: tuple[int, int]) -> tuple[int, int]:
        """A pair with the entity first that stays, which no spelling decides; the older one where nothing else does."""
        one, other = sorted(pair, key=lambda entity: (
            entity not in self._first, -self._led[entity], self._since.get(entity, 0), entity,
        ))  # fmt: skip
        return one, other

    def of(self, pair: tuple[int, int], *, same_name: bool, apart: bool) -> Action:
        """The action for a pair; `apart` marks a pair that was decided to be two."""
        one, other = pair
        schemes = self._schemes.get(one, set()), self._schemes.get(other, set())
        if apart or (one, other) in self._above or (other, one) in self._above:
            return "different"
        if schemes[0] and schemes[1] and not schemes[0] & schemes[1]:
            return "skos:exactMatch" if same_name else "skos:closeMatch"
        return "owl:sameAs" if self._owned & {one, other} else "merge"
