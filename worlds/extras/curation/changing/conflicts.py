"""Values that exclude one another, where entities become one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, Ids, json_ids
from worlds.core.quads.rows import NO_QUADS, find_quads
from worlds.errors import ConflictError
from worlds.extras.curation.changing.entity_substitution import Rewriting
from worlds.graph.terms import RDF, XSD, Term, format_term, to_oxigraph, to_rdflib
from worlds.sql import statements
from worlds.sql.connection import Connection

Rule: TypeAlias = Literal["report", "kept", "newest", "refuse"]

_SQL = statements("curation.sql")
_SAMPLE = 500  # subjects that are looked at
_FEWEST = 10  # subjects that a predicate must have, to be called functional by its data
_SEVERAL = 0.01  # the share of them that may have several values
_MANY = 100  # values that no functional property has, unless it is declared
_SHACL = "http://www.w3.org/ns/shacl#"
_TERMS: dict[str, Term] = {
    "rdf_type": ox.NamedNode(RDF + "type"),
    "functional": ox.NamedNode("http://www.w3.org/2002/07/owl#FunctionalProperty"),
    "path": ox.NamedNode(_SHACL + "path"),
    "max_count": ox.NamedNode(_SHACL + "maxCount"),
    "one": ox.Literal("1", datatype=ox.NamedNode(XSD + "integer")),
}


@dataclass(frozen=True, slots=True)
class FunctionalConflict:
    """A functional property of which entities that become one have several values, as rdflib terms.

    It is `declared` so (owl:FunctionalProperty, or a shape with sh:maxCount 1), or nearly all of its subjects have one
    value. `kept` is the value that a rule chose; None where all stay.
    """

    predicate: Any
    values: tuple[Any, ...]
    declared: bool
    kept: Any = None

    def __str__(self) -> str:
        predicate, *values = (format_term(to_oxigraph(term)) for term in (self.predicate, *self.values))
        why = "which is functional" if self.declared else "which has one value elsewhere"
        end = "all stay" if self.kept is None else f"{format_term(to_oxigraph(self.kept))} is kept"
        return f"{predicate}, {why}, has {len(values)} values: {', '.join(values)}; {end}"


class Conflicts:
    """Finds and settles the conflicts of one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary

    def settle(
        self, rewriting: Rewriting, quads: Ids, found: Ids, own: Ids, rule: Rule, names: Collection[int]
    ) -> tuple[tuple[FunctionalConflict, ...], Ids]:
        """The conflicts, and the quads that the rule lets go, of `own` or `found`; int64 [n, 4] all.

        `found` are the `quads` as they become, row by row, `own` those that the kept entity has. The predicates `names`
        have as many values as they like. ConflictError if the rule is to refuse them.
        """
        moved = found[:, 0] == rewriting.kept
        before = np.concatenate([own, quads[moved]])
        after = np.concatenate([own, found[moved]])
        free = np.isin(after[:, 1], [*names, self._dictionary.find([_TERMS["rdf_type"]])[0] or -1])
        before, after = before[~free], after[~free]
        groups = self._several(after)
        declared = self.declared({predicate for predicate, _ in groups})
        conflicts: list[FunctionalConflict] = []
        lost = [NO_QUADS]
        for (predicate, _), rows in groups.items():
            values = np.unique(after[rows, 2])
            if predicate not in declared and not self._by_data(predicate, len(values), rewriting):
                continue
            chosen = None if rule in ("report", "refuse") else self._chosen(rule, before[rows], after[rows])
            terms = self._dictionary.terms([predicate, *values.tolist()])
            if chosen is not None:
                lost.append(after[rows][after[rows, 2] != chosen])
            conflicts.append(
                FunctionalConflict(
                    to_rdflib(terms[predicate]),
                    tuple(to_rdflib(terms[value]) for value in values.tolist()),
                    predicate in declared,
                    None if chosen is None else to_rdflib(terms[chosen]),
                )
            )
        if conflicts and rule == "refuse":
            raise ConflictError(f"the entities do not agree: {'; '.join(map(str, conflicts))}")
        return tuple(conflicts), np.concatenate(lost)

    def _several(self, quads: Ids) -> dict[tuple[int, str | None], list[int]]:
        """(predicate, language) → the rows of its quads, where they have several values."""
        terms = self._dictionary.terms(np.unique(quads[:, 2]).tolist())
        groups: defaultdict[tuple[int, str | None], list[int]] = defaultdict(list)
        for row, (predicate, value) in enumerate(quads[:, 1:3].tolist()):
            groups[predicate, getattr(terms[value], "language", None)].append(row)
        return {key: rows for key, rows in groups.items() if len(np.unique(quads[rows, 2])) > 1}

    def declared(self, predicates: Collection[int]) -> set[int]:
        """The predicates among these that are declared functional."""
        known = dict(zip(_TERMS, self._dictionary.find(list(_TERMS.values())), strict=True))
        statement = _SQL["declared_functional"]
        values = {name: -1 if number is None else number for name, number in known.items()}
        rows = self._connection.rows(statement, statement.bind(ids_json=json_ids(sorted(predicates)), **values))
        return {number for (number,) in rows}

    def _by_data(self, predicate: int, values: int, rewriting: Rewriting) -> bool:
        """Whether nearly all other subjects of a predicate have one value."""
        if values > _MANY:
            return False
        statement = _SQL["how_many_values"]
        given = statement.bind(ids_json=json_ids(rewriting.merged), predicate=predicate, sample=_SAMPLE)
        subjects, several = self._connection.rows(statement, given)[0]
        return bool(subjects >= _FEWEST and several <= _SEVERAL * subjects)

    def _chosen(self, rule: Rule, before: Ids, after: Ids) -> int:
        """The value that stays: the kept entity's own, if the rule says so, else the newest."""
        revisions = {position: revision for position, _, revision in find_quads(self._connection, before)}
        mine = np.flatnonzero((before == after).all(axis=1)).tolist()
        among = mine if rule == "kept" and mine else range(len(after))
        return int(after[max(among, key=lambda row: revisions.get(row, 0)), 2])
