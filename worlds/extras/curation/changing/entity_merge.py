"""Merges of entities that are the same, with the conflicts of their values, and the splits that undo them."""

from __future__ import annotations

import datetime
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.history.diff import Diff, Quads, ordered
from worlds.core.history.gate import Change, noted
from worlds.core.history.history import NEVER
from worlds.core.history.undo import held_quads
from worlds.core.quads.dictionary import Dictionary, Ids, batches, json_ids
from worlds.core.quads.interner import Interner
from worlds.core.quads.redirects import REDIRECTING, REDIRECTS, substituted, triples_with
from worlds.core.quads.rows import NO_QUADS, difference, find_quads, unique_quads
from worlds.errors import ArgumentError, ConflictError
from worlds.graph.records import Quad
from worlds.graph.terms import RDF, XSD, Term, format_term, to_oxigraph, to_rdflib
from worlds.sql import statements
from worlds.sql.connection import Connection

Rule: TypeAlias = Literal["report", "kept", "newest", "refuse"]

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
_QUERIES = statements("queries.sql")
Redirect: TypeAlias = Literal["owl:sameAs", "dcterms:isReplacedBy"]
_SQL = statements("curation.sql")


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


class Rewriting:
    """Replaces other entities by one, given by id. Needs a transaction, as it may make triple terms."""

    def __init__(self, connection: Connection, dictionary: Dictionary, kept: int, others: Collection[int]) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self.kept = kept
        self.others: Ids = np.unique(np.array(list(others), dtype=np.int64))
        self.merged: Ids = np.union1d(self.others, [kept])
        self._graph = dictionary.find([REDIRECTS])[0] or -1

    def quads(self) -> Ids:
        """The quads that have one of the others anywhere, int64 [n, 4]; markers too."""
        statement = _QUERIES["quads_touching"]
        found = [NO_QUADS]
        for ids_json in batches(np.concatenate([self.others, triples_with(self._connection, self.others)])):
            found.append(self._connection.table(statement, statement.bind(ids_json=ids_json)))
        return unique_quads(np.concatenate(found))

    def rewritten(self, quads: Ids) -> Ids:
        """The quads as they are then, int64 [n, 4], row by row: all others replaced, but the subject of a redirect."""
        leads = dict.fromkeys(self.others.tolist(), self.kept)
        found = substituted(self._connection, self._dictionary, quads, leads)
        redirect = quads[:, 3] == self._graph
        found[redirect, 0] = quads[redirect, 0]
        return found


@dataclass(frozen=True, slots=True)
class Merge(Change):
    """The outcome of a merge. `conflicts` are the functional properties of which the kept entity has several values."""

    conflicts: tuple[FunctionalConflict, ...] = ()


@dataclass(frozen=True, slots=True)
class Split(Change):
    """The outcome of a split. `unassigned` are the quads of the kept entity that were added since the merge.

    They stay with it: whose they are is for somebody to decide.
    """

    unassigned: Sequence[Quad] = ()


def _fields(change: Change) -> dict[str, Any]:
    return {field.name: getattr(change, field.name) for field in fields(change)}


class EntityMerging:
    """Merges and splits the entities of one world."""

    def __init__(self, core: Core, against: Callable[[Sequence[int]], list[str]]) -> None:
        """`against` tells why entities cannot be one."""
        self._against = against
        self._core = core
        self._names = core.leading.names
        self._conflicts = Conflicts(core.connection, core.dictionary)

    # -- merging --------------------------------------------------------------------------------------------------

    def merge(
        self,
        kept: Any,
        others: Sequence[Any],
        *,
        redirect: Redirect = "owl:sameAs",
        conflicts: Rule | None = None,
        author: str | None,
        message: str | None,
        dry_run: bool = False,
    ) -> Merge | Diff:
        """See `World.curation.merge`."""
        if redirect not in REDIRECTING:
            raise ValueError(f"redirect is {' or '.join(map(repr, REDIRECTING))}, not {redirect!r}")
        if conflicts is not None and conflicts not in get_args(Rule):
            raise ValueError(f"conflicts must be one of {', '.join(get_args(Rule))}, not {conflicts!r}")
        if not others:
            raise ValueError("merge takes the entity to keep, then the entities to merge into it")
        if message is None:
            message = f"merge of {', '.join(map(format_term, others))} into {format_term(kept)}"
        with self._core.writer.revision(author=author, message=message, embed=True, dry_run=dry_run) as writing:
            rewriting = self._rewriting(kept, others)
            against = self._against([rewriting.kept, *rewriting.others.tolist()])
            if against and conflicts in (None, "refuse") and not dry_run:
                told = "; ".join(against)
                raise ConflictError(f'{told}; conflicts="report" merges them anyway', kind="merge")
            found, added, removed = self._merged(rewriting, conflicts or "report")
            added = unique_quads(np.concatenate([added, self._redirect(rewriting, redirect)]))
            writing.apply(difference(added, removed), difference(removed, added))
        change = noted(writing.change, (*against, *map(str, found)))
        return change if isinstance(change, Diff) else Merge(**_fields(change), conflicts=found)

    def _rewriting(self, kept: Any, others: Sequence[Any]) -> Rewriting:
        """The rewriting that puts the kept entity in the place of the others; redirects of both are followed."""
        numbers = self._core.dictionary.find(others)
        for term, number in zip(others, numbers, strict=True):
            if number is None or not self._is_used(number):  # a memory may know the term
                raise ArgumentError(f"no quad names {format_term(term)}", kind="entity")
        target = self._ids([self._core.redirects.follow([kept])[0]])[0]
        given = {number for number in numbers if number is not None}
        merged = given | set(self._core.redirects.of(given).values())
        if merged == {target}:
            same = self._core.dictionary.find([kept])[0] in given
            told = "cannot be merged with itself" if same else "and what it is to replace are one entity already"
            raise ValueError(f"{format_term(kept)} {told}")
        return Rewriting(self._core.connection, self._core.dictionary, target, merged - {target})

    def _is_used(self, number: int) -> bool:
        """Whether a quad, or a triple term, has an entity."""
        statement = _SQL["is_used"]
        if self._core.connection.row(statement, statement.bind(entity=number)) is not None:
            return True
        return len(Rewriting(self._core.connection, self._core.dictionary, number, [number]).quads()) > 0

    def _ids(self, terms: Sequence[Any]) -> list[int]:
        """The ids of terms, made where there are none."""
        interner = Interner(self._core.connection, self._core.dictionary, rename_blank_nodes=False)
        found: list[int] = interner.resolve(np.array([interner.local(term) for term in terms])).tolist()
        return found

    def _merged(self, rewriting: Rewriting, rule: Rule) -> tuple[tuple[FunctionalConflict, ...], Ids, Ids]:
        """(conflicts, quads to add, quads to remove)."""
        quads = rewriting.quads()
        found = rewriting.rewritten(quads)
        statement = _SQL["quads_of"]
        own = self._core.connection.table(statement, statement.bind(subject=rewriting.kept))
        labels, aliases = map(self._names.known, ("label", "alias"))
        rows = np.flatnonzero(np.isin(quads[:, 1], labels) & np.isin(quads[:, 0], rewriting.others)).tolist()
        self._names.rename(quads, found, rows, own[np.isin(own[:, 1], labels)])
        # What linked the entities to one another would link the one with itself.
        stays = (found[:, 0] != found[:, 2]) | (quads[:, 0] == quads[:, 2])
        conflicts, lost = self._conflicts.settle(
            rewriting, quads[stays], found[stays], own, rule, names=[*labels, *aliases]
        )
        lost = unique_quads(lost)
        gone = lost[held_quads(self._core.connection, lost)[:, 0]]
        return conflicts, difference(unique_quads(found[stays]), lost), unique_quads(np.concatenate([quads, gone]))

    def _redirect(self, rewriting: Rewriting, redirect: Redirect) -> Ids:
        predicate, graph = self._ids([REDIRECTING[redirect], REDIRECTS])
        there = self._core.redirects.of(rewriting.others.tolist())
        rows = [[old, predicate, rewriting.kept, graph] for old in rewriting.others.tolist() if old not in there]
        return np.array(rows, dtype=np.int64).reshape(-1, 4)

    # -- splitting ------------------------------------------------------------------------------------------------

    def split(self, revision: int, *, author: str | None, message: str | None, dry_run: bool) -> Split | Diff:
        """See `World.curation.split`."""
        message = f"split of revision {revision}" if message is None else message
        with self._core.writer.revision(
            author=author, message=message, embed=True, undoes=revision, dry_run=dry_run
        ) as writing:
            number = self._core.history.check(revision)
            made, before = self._of(number)
            since = NO_QUADS
            for kept in np.unique(made[:, 2]).tolist():
                since = unique_quads(np.concatenate([since, self._since(kept, number)]))
            writing.apply(difference(before, made), difference(made, before))
            unassigned = since[held_quads(self._core.connection, since)[:, 0]]
            self._keep_apart(number, made, author, writing.number)
        change = writing.change
        if isinstance(change, Diff):
            return change
        left = Quads(self._core.dictionary, ordered(unassigned))
        return Split(**_fields(change), unassigned=left)

    def _keep_apart(self, number: int, made: Ids, author: str | None, split: int) -> None:
        """Record that the merged entities differ."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        said = {"time": now, "author": author, "said": f"split by revision {split}", "revision": number}
        statement = _SQL["reject_split"]
        self._core.connection.run(statement, statement.bind(**said))
        if self._core.connection.value(_SQL["changed"]):
            return
        terms = self._core.dictionary.terms(np.unique(made[:, [0, 2]]).tolist())
        statement = _SQL["insert_split"]
        for kept in np.unique(made[:, 2]).tolist():
            merged = [kept, *made[made[:, 2] == kept, 0].tolist()]
            names = json.dumps([str(terms[one]) for one in merged])
            self._core.connection.run(statement, statement.bind(merged=names, **said))

    def _of(self, number: int) -> tuple[Ids, Ids]:
        """(the redirects that a merge made and that lead still, those that lead as they did before it)."""
        self._core.history.require(number, self._core.history.first)
        entry = self._core.history.numbered([number]).get(number)
        if entry is not None and entry.undone_by is not None:
            raise ConflictError(f"revision {number} was taken back by revision {entry.undone_by}")
        graph, *redirects = self._core.dictionary.find([REDIRECTS, *REDIRECTING.values()])
        held, gone = self._core.history.held(number - 1, number), self._core.history.gone(number - 1, NEVER)
        added = np.concatenate([held[:, :4], gone[gone[:, 4] == number, :4]])
        added = added[np.isin(added[:, 1], [one for one in redirects if one is not None]) & (added[:, 0] != 0)]
        made = NO_QUADS if graph is None else unique_quads(added[added[:, 3] == graph])
        if not len(made):
            raise ArgumentError(f"revision {number} merged nothing", kind="revision")
        for kept in np.unique(made[:, 2]).tolist():
            self._refuse_if_merged(kept)
        made = made[held_quads(self._core.connection, made)[:, 0]]
        before = gone[(gone[:, 5] == number) & (gone[:, 3] == graph) & np.isin(gone[:, 0], made[:, 0]), :4]
        return made, unique_quads(before)

    def _refuse_if_merged(self, kept: int) -> None:
        """ConflictError where the kept one was itself merged into another."""
        end = self._core.redirects.of([kept]).get(kept)
        if end is not None:
            terms = self._core.dictionary.terms([kept, end])
            one, other = format_term(terms[kept]), format_term(terms[end])
            raise ConflictError(f"{one} was merged into {other} since: split that first")

    def _since(self, kept: int, number: int) -> Ids:
        """The quads of an entity that were added after a revision."""
        quads = Rewriting(self._core.connection, self._core.dictionary, kept, [kept]).quads()
        held = held_quads(self._core.connection, quads)
        found: Ids = quads[held[held[:, 1] > number, 0]]
        return found
