"""Merges entities that are one, and splits them again."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from worlds.core.core import Core
from worlds.core.history.diff import Diff, Quads, ordered
from worlds.core.history.gate import Change, noted
from worlds.core.history.history import NEVER
from worlds.core.history.undo import held_quads
from worlds.core.quads.dictionary import Ids
from worlds.core.quads.interner import Interner
from worlds.core.quads.redirects import REDIRECTING, REDIRECTS
from worlds.core.quads.rows import NO_QUADS, difference, unique_quads
from worlds.errors import ArgumentError, ConflictError
from worlds.extras.curation.changing.conflicts import Conflicts, FunctionalConflict, Rule
from worlds.extras.curation.changing.entity_substitution import Rewriting
from worlds.graph.records import Quad
from worlds.graph.terms import format_term
from worlds.sql import statements

Redirect: TypeAlias = Literal["owl:sameAs", "dcterms:isReplacedBy"]

_SQL = statements("curation.sql")


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
