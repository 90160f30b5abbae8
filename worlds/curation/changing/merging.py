"""Merges entities that are one, and splits them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.curation.changing.conflicts import Conflict, Conflicts, Rule
from worlds.curation.changing.rewriting import Rewriting
from worlds.errors import ArgumentError, ConflictError
from worlds.graph.records import Quad
from worlds.graph.terms import format_term
from worlds.quads.dictionary import Dictionary, Ids, json_ids
from worlds.quads.interner import Interner
from worlds.quads.redirects import REDIRECTS, Redirects
from worlds.quads.rows import NO_QUADS, difference, unique_quads
from worlds.revisions.diff import Diff, Quads, ordered
from worlds.revisions.gate import Change
from worlds.revisions.history import NEVER, History
from worlds.revisions.undoing import held_quads
from worlds.revisions.writer import Writer
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.texts.chunks import ChunkStore

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
        self, connection: Connection, dictionary: Dictionary, chunks: ChunkStore, history: History, writer: Writer
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._chunks = chunks
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
        conflicts: Rule = "report",
        author: str | None,
        message: str | None,
        dry_run: bool = False,
    ) -> Merge | Diff:
        """See `World.merge`."""
        if redirect not in _REDIRECTS:
            raise ValueError(f"redirect is {' or '.join(map(repr, _REDIRECTS))}, not {redirect!r}")
        if not others:
            raise ValueError("merge takes the entity to keep, and those that are merged into it")
        if message is None:
            message = f"merge of {', '.join(map(format_term, others))} into {format_term(kept)}"
        with self._writer.revision(author=author, message=message, embed=True, dry_run=dry_run) as writing:
            rewriting = self._rewriting(kept, others)
            found, added, removed = self._merged(rewriting, conflicts)
            added = unique_quads(np.concatenate([added, self._redirect(rewriting, redirect)]))
            writing.apply(difference(added, removed), difference(removed, added))
        change = writing.change
        notes = tuple(map(str, found))
        if isinstance(change, Diff):
            change.notes = notes
            return change
        return Merge(**{**_fields(change), "notes": change.notes + notes}, conflicts=found)

    def _rewriting(self, kept: Any, others: Sequence[Any]) -> Rewriting:
        """What puts the one in the place of the others; redirects of both are followed."""
        numbers = self._dictionary.find(others)
        for term, number in zip(others, numbers, strict=True):
            if number is None:
                raise ArgumentError(f"there is nothing about {format_term(term)}", kind="entity")
        target = self._ids([self._redirects.follow([kept])[0]])[0]
        given = {number for number in numbers if number is not None}
        merged = given | set(self._redirects.of(given).values())
        if merged == {target}:
            same = self._dictionary.find([kept])[0] in given
            told = "cannot be merged with itself" if same else "and what it is to replace are one entity already"
            raise ValueError(f"{format_term(kept)} {told}")
        return Rewriting(self._connection, self._dictionary, target, merged - {target})

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
        labels, aliases = (self._known(self._chunks.policy.predicates(role)) for role in ("label", "alias"))
        self._rename(rewriting, quads, found, own, labels, aliases)
        # What linked the entities to one another would link the one with itself.
        stays = (found[:, 0] != found[:, 2]) | (quads[:, 0] == quads[:, 2])
        conflicts, lost = self._conflicts.settle(
            rewriting, quads[stays], found[stays], own, rule, names=[*labels, *aliases]
        )
        lost = unique_quads(lost)
        gone = lost[held_quads(self._connection, lost)[:, 0]]
        return conflicts, difference(unique_quads(found[stays]), lost), unique_quads(np.concatenate([quads, gone]))

    def _rename(
        self, rewriting: Rewriting, quads: Ids, found: Ids, own: Ids, labels: list[int], aliases: list[int]
    ) -> None:
        """Make labels of the others, in `found`, other names; but where there is none yet in their language."""
        rows = np.flatnonzero(np.isin(quads[:, 1], labels) & np.isin(quads[:, 0], rewriting.others))
        held = own[np.isin(own[:, 1], labels), 2]
        terms = self._dictionary.terms(np.union1d(quads[rows, 2], held).tolist())
        staying = set(held.tolist())
        languages = {getattr(terms[value], "language", None) for value in staying}
        alias = None
        for row in rows.tolist():
            value = int(quads[row, 2])
            language = getattr(terms[value], "language", None)
            if value in staying or not isinstance(terms[value], ox.Literal):
                continue
            if languages & {language, None} or (languages and language is None):
                alias = self._alias(aliases) if alias is None else alias
                found[row, 1] = alias
            else:
                staying.add(value)
                languages.add(language)

    def _known(self, iris: Sequence[str]) -> list[int]:
        return [number for number in self._dictionary.find(list(map(ox.NamedNode, iris))) if number is not None]

    def _alias(self, aliases: Sequence[int]) -> int:
        """The predicate of other names that the world uses most; skos:altLabel where it uses none."""
        found = self._connection.value(_SQL["commonest_of"], (json_ids(aliases),))
        if found is not None:
            return int(found)
        policy = self._chunks.policy
        usual = "http://www.w3.org/2004/02/skos/core#altLabel"
        return self._ids([ox.NamedNode(usual if policy.role(usual) == "alias" else policy.predicates("alias")[0])])[0]

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
            added, removed, made = self._of(number)
            restored, taken, since = [NO_QUADS], [made], [NO_QUADS]
            for kept in np.unique(made[:, 2]).tolist():
                rewriting = Rewriting(
                    self._connection, self._dictionary, kept, self._replaced(kept, made, added, removed)
                )
                self._refuse_if_merged(kept)
                back, images = self._restored(rewriting, number, added, removed)
                restored.append(back)
                taken.append(images)
                since.append(self._since(kept, number))
            gone = unique_quads(np.concatenate(taken))
            gone = gone[held_quads(self._connection, gone)[:, 0]]
            back = unique_quads(np.concatenate(restored))
            writing.apply(difference(back, gone), difference(gone, back))
            unassigned = difference(unique_quads(np.concatenate(since)), gone)
        change = writing.change
        if isinstance(change, Diff):
            return change
        left = Quads(self._dictionary, ordered(unassigned))
        return Split(**_fields(change), unassigned=left)

    def _of(self, number: int) -> tuple[Ids, Ids, Ids]:
        """(quads that a merge added, that it removed, the redirects among the added ones)."""
        self._history.require(number, self._history.first)
        entry = self._history.numbered([number]).get(number)
        if entry is not None and entry.undone_by is not None:
            raise ConflictError(f"revision {number} was taken back by revision {entry.undone_by}")
        held, gone = self._history.held(number - 1, number), self._history.gone(number - 1, NEVER)
        added = np.concatenate([held[:, :4], gone[gone[:, 4] == number, :4]])
        graph = self._dictionary.find([REDIRECTS])[0]
        made = added[(added[:, 3] == graph) & (added[:, 0] != 0)] if graph is not None else NO_QUADS
        if not len(made):
            raise ArgumentError(f"revision {number} merged nothing", kind="revision")
        return unique_quads(added), unique_quads(gone[gone[:, 5] == number, :4]), made

    def _replaced(self, kept: int, made: Ids, added: Ids, removed: Ids) -> list[int]:
        """The entities that the kept one took the place of. Those that had led to them before only lead on.

        These may be in quads that were written since they were merged, and that say so still.
        """
        graph = made[0, 3]
        led, said = removed[removed[:, 3] == graph, 0], added[added[:, 3] != graph]
        return [
            old
            for old in made[made[:, 2] == kept, 0].tolist()
            if old not in led or not Rewriting(self._connection, self._dictionary, kept, [old]).touched(said).any()
        ]

    def _refuse_if_merged(self, kept: int) -> None:
        """ConflictError where the kept one was itself merged into another."""
        end = self._redirects.of([kept]).get(kept)
        if end is not None:
            terms = self._dictionary.terms([kept, end])
            one, other = format_term(terms[kept]), format_term(terms[end])
            raise ConflictError(f"{one} was merged into {other} since: split that first")

    def _restored(self, rewriting: Rewriting, number: int, added: Ids, removed: Ids) -> tuple[Ids, Ids]:
        """(quads that come back, quads that the merge made of others and that go), of one kept entity."""
        mine = removed[rewriting.touched(removed) | (removed[:, 0] == rewriting.kept)]
        images = rewriting.rewritten(mine)
        there = self._held_at(images, number)
        renamed = self._renamed(mine, images, added, there, number)
        there |= renamed
        now = np.zeros(len(mine), dtype=bool)
        now[held_quads(self._connection, images)[:, 0]] = True
        return mine[now | ~there], _among(images[there], added)

    def _held_at(self, quads: Ids, number: int) -> NDArray[np.bool_]:
        """Which of the quads held after a revision."""
        there = np.zeros(len(quads), dtype=bool)
        now = held_quads(self._connection, quads)
        there[now[now[:, 1] <= number, 0]] = True
        once = {tuple(row) for row in self._history.gone(number, number)[:, :4].tolist()}
        if once and len(quads):
            there |= [tuple(row) in once for row in quads.tolist()]
        return there

    def _renamed(self, quads: Ids, images: Ids, added: Ids, there: NDArray[np.bool_], number: int) -> NDArray[np.bool_]:
        """Which quads were labels that the merge made other names, whose `images` are made these."""
        labels, aliases = (self._known(self._chunks.policy.predicates(role)) for role in ("label", "alias"))
        rows = np.flatnonzero(~there & np.isin(quads[:, 1], labels) & (images[:, 0] != images[:, 2]))
        forms = np.repeat(images[rows], len(aliases), axis=0)
        forms[:, 1] = np.tile(np.array(aliases, dtype=np.int64), len(rows))
        made = {tuple(quad) for quad in added.tolist()}
        found = np.zeros(len(quads), dtype=bool)
        held = [form for form, is_there in zip(forms.tolist(), self._held_at(forms, number), strict=True) if is_there]
        names = {(s, o, g): p for s, p, o, g in sorted(held, key=lambda form: tuple(form) in made)}
        for row in rows.tolist():
            subject, _, value, graph = images[row].tolist()
            if (subject, value, graph) in names:
                images[row, 1] = names[subject, value, graph]
                found[row] = True
        return found

    def _since(self, kept: int, number: int) -> Ids:
        """The quads of an entity that were added after a revision."""
        quads = Rewriting(self._connection, self._dictionary, kept, [kept]).quads()
        held = held_quads(self._connection, quads)
        found: Ids = quads[held[held[:, 1] > number, 0]]
        return found


def _among(quads: Ids, others: Ids) -> Ids:
    """The quads that are among others, each once; both int64 [n, 4]."""
    distinct = unique_quads(quads)
    return difference(distinct, difference(distinct, others))
