"""Merges entities that are one, and splits them again."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pyoxigraph as ox

from worlds.curation.changing.conflicts import Conflict, Conflicts, Rule
from worlds.curation.changing.rewriting import Rewriting
from worlds.errors import ArgumentError, ConflictError
from worlds.graph.records import Quad
from worlds.graph.terms import format_term
from worlds.quads.dictionary import Dictionary, Ids
from worlds.quads.interner import Interner
from worlds.quads.redirects import REDIRECTS, Redirects
from worlds.quads.rows import NO_QUADS, difference, unique_quads
from worlds.revisions.diff import Diff, Quads, ordered
from worlds.revisions.gate import Change, noted
from worlds.revisions.history import NEVER, History
from worlds.revisions.othernames import OtherNames
from worlds.revisions.undoing import held_quads
from worlds.revisions.writer import Writer
from worlds.sql import statements
from worlds.sql.connection import Connection

Redirect: TypeAlias = Literal["owl:sameAs", "dcterms:isReplacedBy"]

_SQL = statements("curation.sql")
_REDIRECTS = {
    "owl:sameAs": ox.NamedNode("http://www.w3.org/2002/07/owl#sameAs"),
    "dcterms:isReplacedBy": ox.NamedNode("http://purl.org/dc/terms/isReplacedBy"),
}


@dataclass(frozen=True, slots=True)
class Merge(Change):
    """What merging entities did. `conflicts` are the functional properties of which the kept one has several values."""

    conflicts: tuple[Conflict, ...] = ()


@dataclass(frozen=True, slots=True)
class Split(Change):
    """What splitting entities did. `unassigned` are the quads of the kept one that were added since the merge.

    They stay with it: whose they are is for somebody to decide.
    """

    unassigned: Sequence[Quad] = ()


def _fields(change: Change) -> dict[str, Any]:
    return {field.name: getattr(change, field.name) for field in fields(change)}


class Merging:
    """Merges and splits the entities of one world."""

    def __init__(
        self,
        connection: Connection,
        dictionary: Dictionary,
        names: OtherNames,
        history: History,
        writer: Writer,
        against: Callable[[Sequence[int]], list[str]],
    ) -> None:
        """`against` tells why entities cannot be one."""
        self._against = against
        self._connection = connection
        self._dictionary = dictionary
        self._names = names
        self._history = history
        self._writer = writer
        self._redirects = Redirects(connection, dictionary)
        self._conflicts = Conflicts(connection, dictionary)

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
        """See `World.merge`."""
        if redirect not in _REDIRECTS:
            raise ValueError(f"redirect is {' or '.join(map(repr, _REDIRECTS))}, not {redirect!r}")
        if conflicts is not None and conflicts not in get_args(Rule):
            raise ValueError(f"conflicts is one of {', '.join(get_args(Rule))}, not {conflicts!r}")
        if not others:
            raise ValueError("merge takes the entity to keep, and those that are merged into it")
        if message is None:
            message = f"merge of {', '.join(map(format_term, others))} into {format_term(kept)}"
        with self._writer.revision(author=author, message=message, embed=True, dry_run=dry_run) as writing:
            rewriting = self._rewriting(kept, others)
            against = self._against([rewriting.kept, *rewriting.others.tolist()])
            if against and conflicts in (None, "refuse") and not dry_run:
                told = "; ".join(against)
                raise ConflictError(f'{told}; conflicts="report" merges them all the same', kind="merge")
            found, added, removed = self._merged(rewriting, conflicts or "report")
            added = unique_quads(np.concatenate([added, self._redirect(rewriting, redirect)]))
            writing.apply(difference(added, removed), difference(removed, added))
        change = noted(writing.change, (*against, *map(str, found)))
        return change if isinstance(change, Diff) else Merge(**_fields(change), conflicts=found)

    def _rewriting(self, kept: Any, others: Sequence[Any]) -> Rewriting:
        """What puts the one in the place of the others; redirects of both are followed."""
        numbers = self._dictionary.find(others)
        for term, number in zip(others, numbers, strict=True):
            if number is None or not self._is_used(number):  # a memory may know the term
                raise ArgumentError(f"there is nothing about {format_term(term)}", kind="entity")
        target = self._ids([self._redirects.follow([kept])[0]])[0]
        given = {number for number in numbers if number is not None}
        merged = given | set(self._redirects.of(given).values())
        if merged == {target}:
            same = self._dictionary.find([kept])[0] in given
            told = "cannot be merged with itself" if same else "and what it is to replace are one entity already"
            raise ValueError(f"{format_term(kept)} {told}")
        return Rewriting(self._connection, self._dictionary, target, merged - {target})

    def _is_used(self, number: int) -> bool:
        """Whether a quad, or a triple term, has an entity."""
        statement = _SQL["is_used"]
        if self._connection.row(statement, statement.bind(entity=number)) is not None:
            return True
        return len(Rewriting(self._connection, self._dictionary, number, [number]).quads()) > 0

    def _ids(self, terms: Sequence[Any]) -> list[int]:
        """The ids of terms, made where there are none."""
        interner = Interner(self._connection, self._dictionary, rename_blank_nodes=False)
        found: list[int] = interner.resolve(np.array([interner.local(term) for term in terms])).tolist()
        return found

    def _merged(self, rewriting: Rewriting, rule: Rule) -> tuple[tuple[Conflict, ...], Ids, Ids]:
        """(conflicts, quads to add, quads to remove)."""
        quads = rewriting.quads()
        found = rewriting.rewritten(quads)
        statement = _SQL["quads_of"]
        own = self._connection.table(statement, statement.bind(subject=rewriting.kept))
        labels, aliases = map(self._names.known, ("label", "alias"))
        rows = np.flatnonzero(np.isin(quads[:, 1], labels) & np.isin(quads[:, 0], rewriting.others)).tolist()
        self._names.rename(quads, found, rows, own[np.isin(own[:, 1], labels)])
        # What linked the entities to one another would link the one with itself.
        stays = (found[:, 0] != found[:, 2]) | (quads[:, 0] == quads[:, 2])
        conflicts, lost = self._conflicts.settle(
            rewriting, quads[stays], found[stays], own, rule, names=[*labels, *aliases]
        )
        lost = unique_quads(lost)
        gone = lost[held_quads(self._connection, lost)[:, 0]]
        return conflicts, difference(unique_quads(found[stays]), lost), unique_quads(np.concatenate([quads, gone]))

    def _redirect(self, rewriting: Rewriting, redirect: Redirect) -> Ids:
        predicate, graph = self._ids([_REDIRECTS[redirect], REDIRECTS])
        there = self._redirects.of(rewriting.others.tolist())
        rows = [[old, predicate, rewriting.kept, graph] for old in rewriting.others.tolist() if old not in there]
        return np.array(rows, dtype=np.int64).reshape(-1, 4)

    # -- splitting ------------------------------------------------------------------------------------------------

    def split(self, revision: int, *, author: str | None, message: str | None, dry_run: bool) -> Split | Diff:
        """See `World.split`."""
        message = f"split of revision {revision}" if message is None else message
        with self._writer.revision(
            author=author, message=message, embed=True, undoes=revision, dry_run=dry_run
        ) as writing:
            number = self._history.check(revision)
            made, before = self._of(number)
            since = NO_QUADS
            for kept in np.unique(made[:, 2]).tolist():
                since = unique_quads(np.concatenate([since, self._since(kept, number)]))
            writing.apply(difference(before, made), difference(made, before))
            unassigned = since[held_quads(self._connection, since)[:, 0]]
            self._keep_apart(number, made, author, writing.number)
        change = writing.change
        if isinstance(change, Diff):
            return change
        left = Quads(self._dictionary, ordered(unassigned))
        return Split(**_fields(change), unassigned=left)

    def _keep_apart(self, number: int, made: Ids, author: str | None, split: int) -> None:
        """Keep the decision that what was merged is two."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        said = {"time": now, "author": author, "said": f"split by revision {split}", "revision": number}
        statement = _SQL["reject_split"]
        self._connection.run(statement, statement.bind(**said))
        if self._connection.value(_SQL["changed"]):
            return
        terms = self._dictionary.terms(np.unique(made[:, [0, 2]]).tolist())
        statement = _SQL["insert_split"]
        for kept in np.unique(made[:, 2]).tolist():
            merged = [kept, *made[made[:, 2] == kept, 0].tolist()]
            names = json.dumps([str(terms[one]) for one in merged])
            self._connection.run(statement, statement.bind(merged=names, **said))

    def _of(self, number: int) -> tuple[Ids, Ids]:
        """(the redirects that a merge made and that lead still, those that lead as they did before it)."""
        self._history.require(number, self._history.first)
        entry = self._history.numbered([number]).get(number)
        if entry is not None and entry.undone_by is not None:
            raise ConflictError(f"revision {number} was taken back by revision {entry.undone_by}")
        graph = self._dictionary.find([REDIRECTS])[0]
        held, gone = self._history.held(number - 1, number), self._history.gone(number - 1, NEVER)
        added = np.concatenate([held[:, :4], gone[gone[:, 4] == number, :4]])
        made = unique_quads(added[(added[:, 3] == graph) & (added[:, 0] != 0)]) if graph is not None else NO_QUADS
        if not len(made):
            raise ArgumentError(f"revision {number} merged nothing", kind="revision")
        for kept in np.unique(made[:, 2]).tolist():
            self._refuse_if_merged(kept)
        made = made[held_quads(self._connection, made)[:, 0]]
        before = gone[(gone[:, 5] == number) & (gone[:, 3] == graph) & np.isin(gone[:, 0], made[:, 0]), :4]
        return made, unique_quads(before)

    def _refuse_if_merged(self, kept: int) -> None:
        """ConflictError where the kept one was itself merged into another."""
        end = self._redirects.of([kept]).get(kept)
        if end is not None:
            terms = self._dictionary.terms([kept, end])
            one, other = format_term(terms[kept]), format_term(terms[end])
            raise ConflictError(f"{one} was merged into {other} since: split that first")

    def _since(self, kept: int, number: int) -> Ids:
        """The quads of an entity that were added after a revision."""
        quads = Rewriting(self._connection, self._dictionary, kept, [kept]).quads()
        held = held_quads(self._connection, quads)
        found: Ids = quads[held[held[:, 1] > number, 0]]
        return found
