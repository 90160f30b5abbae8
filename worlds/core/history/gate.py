"""The one gate through which every write goes.

A write is a delta: quads added, quads removed. The gate writes it in one transaction, as one revision, with what those
who derive something from the quads make of it: its followers.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from worlds.core.extension import Extension
from worlds.core.history.leading import Leading
from worlds.core.quads.delta import Delta, Follower
from worlds.core.quads.dictionary import Dictionary, Ids, batches
from worlds.core.quads.rows import NO_QUADS, distinct, find_quads, in_storing_order, marker
from worlds.errors import ConflictError, ReadOnlyError
from worlds.graph.records import Record
from worlds.graph.terms import format_term
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.sql.index_rebuild import without

_SQL = statements("queries.sql")
_CURATION = statements("curation.sql")
_HISTORY = statements("history.sql")
_BULK = 20_000  # quads from which on rebuilding the indexes pays
_BATCH = 5000
_NAMED = 3  # subjects that an error names
_INSERTED = 0.2  # the share of the time of inserting many quads that is not spent on their indexes


Now = Callable[[], datetime.datetime]
"""Gives the time by the clock, with its zone."""

Limit = Callable[[Ids], None]
"""Is asked before quads are written, int64 [n, 4]; raises where they may not be."""
_PAIRS = 20_000  # pairs a statement


def insert(connection: Connection, quads: Ids, revision: int, report: Callable[[int], None] | None = None) -> None:
    """Insert by predicate and graph, so that a pair of integers stands for a quad."""
    if not len(quads):
        return
    quads = in_storing_order(quads)
    pairs = quads[:, 0] << 32 | quads[:, 2]
    groups = quads[:, [1, 3]]
    starts = [0, *(np.flatnonzero((groups[1:] != groups[:-1]).any(axis=1)) + 1).tolist()]
    statement = _SQL["insert_quads"]
    for start, end in itertools.pairwise([*starts, len(quads)]):
        predicate, graph = int(quads[start, 1]), int(quads[start, 3])
        for at in range(start, end, _PAIRS):
            connection.run(
                statement,
                statement.bind(
                    pairs_json=str(pairs[at : min(end, at + _PAIRS)].tolist()),
                    predicate=predicate,
                    graph=graph,
                    revision=revision,
                ),
            )
            if report is not None:
                report(min(end, at + _PAIRS))


@dataclass(frozen=True, slots=True)
class Change(Record):
    """The outcome of a write: quads added and removed, chunks made, texts embedded.

    `revision` is the number of the revision that holds the change, None when nothing changed; `proposal` is that of
    the proposal as which it waits, where the guard queued it. `notes` say what could not be done: the change itself is
    kept, but texts of it may be pending because the embedder failed.
    """

    revision: int | None
    added: int
    removed: int
    chunks: int = 0
    embedded: int = 0
    notes: tuple[str, ...] = ()
    proposal: int | None = None


C = TypeVar("C")


def noted(change: C, notes: Sequence[str]) -> C:
    """A change, or the difference of a rehearsal, with further notes."""
    if isinstance(change, Change):
        return replace(change, notes=(*change.notes, *notes))
    told: Any = change
    told.notes = (*told.notes, *notes)
    return change


@dataclass
class Revision:
    """A revision while it is written."""

    number: int
    first_quad: int
    last_chunk: int  # chunks made by it have larger ids
    last_term: int  # stored quads have no term with a larger id
    author: str | None
    message: str | None
    undoes: int | None = None
    added: int = 0
    removed: int = 0
    graphs: bool = False  # whether graphs without quads were created or dropped
    chunks: int = 0
    notes: tuple[str, ...] = ()  # what there is to say of it
    led: tuple[str, ...] = ()  # of quads that name entities that were merged
    guard: Any = None  # what its guard is, where it says so
    base: int | None = None  # what it changes may not have changed since
    embed: bool = False  # whether a write asked for its new texts to be embedded
    before: datetime.datetime | None = None  # a time that lay ahead when it was written
    deltas: int = 0  # that its followers were told of
    effects: list[Delta] = field(default_factory=list)  # all deltas
    thread: int = field(default_factory=threading.get_ident)


def remark(name: str, given: object) -> str | None:
    """The text of a message or an author, as SQL can hold it."""
    if given is None:
        return None
    if not isinstance(given, str):
        raise TypeError(f"{name} must be a str, not {given!r}")
    if "\0" in given or any("\ud800" <= character <= "\udfff" for character in given):
        raise ValueError(f"{name} holds U+0000 or a lone surrogate: {given!r}")
    return str(given)  # a subclass's instance would not be bound


@dataclass(eq=False, repr=False)
class Gate:
    """Writes deltas as revisions; `_now` gives the time of one.

    The extensions may refuse every write but one that takes a revision back. `_leading` has quads that come in under
    the name of a merged entity stand under the one that was kept.
    """

    _connection: Connection
    _dictionary: Dictionary
    _followers: Follower
    _now: Now
    _extensions: Sequence[Extension] = ()
    _leading: Leading | None = None
    _revision: Revision | None = None
    _limit: Limit | None = None
    slice: bool = False
    """Whether it writes the slice of a scope, whose redirects are its world's."""

    def unasked(self) -> None:
        """Write from now on without asking the extensions."""
        self._extensions = ()

    @contextlib.contextmanager
    def within(self, limit: Limit) -> Iterator[None]:
        """Restrict the block's writes to the quads that a limit allows; no other thread writes meanwhile."""
        with self._connection.lock:
            before, self._limit = self._limit, limit
            try:
                yield
            finally:
                self._limit = before

    @property
    def limited(self) -> bool:
        """Whether it writes for who may not touch all."""
        return self._limit is not None

    @property
    def writing(self) -> bool:
        """Whether this thread is writing a revision."""
        revision = self._revision
        return revision is not None and revision.thread == threading.get_ident()

    @property
    def present(self) -> int:
        """The number of the revision that is being written and has changed something; else that of the last one."""
        revision = self._revision
        if revision is not None and (revision.added or revision.removed):
            return revision.number
        return int(self._connection.value(_SQL["last_revision"]))

    @contextlib.contextmanager
    def write(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        undoes: int | None = None,
        base: int | None = None,
        guard: Any = None,
    ) -> Iterator[Revision]:
        """A revision, or a part of the one that is being written: kept whole or not at all.

        `guard` takes the place of the world's setting; ValueError for a part that has another one than its whole.
        """
        author, message = remark("author", author), remark("message", message)
        with self._connection.lock:
            if self._revision is None:
                with self._outermost(author, message, undoes, guard) as revision:
                    revision.base = base
                    yield revision
            else:
                if guard not in (None, self._revision.guard):
                    raise ValueError("only the outermost transaction takes a guard")
                with self._part(self._revision) as revision:
                    yield revision

    @contextlib.contextmanager
    def _outermost(self, author: str | None, message: str | None, undoes: int | None, guard: Any) -> Iterator[Revision]:
        revision = None
        try:
            with self._connection.transaction():
                self._followers.begin()
                revision = self._begin(author, message, undoes, guard)
                try:
                    yield revision
                    if revision.added or revision.removed:
                        self._record(revision)
                    else:
                        if (leading := self.leading) is not None:
                            leading.unnumbered(revision.number)
                        if self._connection.meta("tags") is not None:  # perhaps of the revision that is not made
                            self._connection.run(_HISTORY["unnumber_tags"], (revision.number,))
                        if revision.deltas:  # the same quads, but perhaps other chunks
                            self._connection.run(_SQL["add_to_meta"], ("embedding_changes", 1))
                except BaseException:
                    self._take_back(revision, 0)
                    raise
        except BaseException:
            self._dictionary.forget()
            if revision is not None and revision.deltas:  # the commit itself failed
                self._followers.drop()
            raise
        else:
            if revision.added or revision.removed:
                self._followers.committed(revision.number)
        finally:
            self._revision = None
            self._followers.end()

    def _begin(self, author: str | None, message: str | None, undoes: int | None, guard: Any) -> Revision:
        last, quad, chunk, term = self._connection.rows(_SQL["bounds"])[0]
        self._revision = Revision(last + 1, quad, chunk, term, author, message, undoes, guard=guard)
        return self._revision

    @contextlib.contextmanager
    def _part(self, revision: Revision) -> Iterator[Revision]:
        mark = revision.deltas
        counts = (revision.added, revision.removed, revision.chunks)
        effects = len(revision.effects)
        try:
            with self._connection.transaction():
                try:
                    yield revision
                except BaseException:
                    self._take_back(revision, mark)
                    raise
        except BaseException:
            revision.added, revision.removed, revision.chunks = counts
            del revision.effects[effects:]
            self._dictionary.forget()
            raise

    def _record(self, revision: Revision) -> None:
        statement = _SQL["insert_revision"]
        time = self._now()
        if revision.before is not None and revision.before <= time:  # it came while this was written
            time = revision.before - datetime.timedelta(milliseconds=1)
        at = time.isoformat(timespec="milliseconds")
        created, dropped = (
            self._connection.value(_SQL[name], (revision.number,)) if revision.graphs else 0
            for name in ("graphs_created", "graphs_dropped")
        )
        self._connection.run(
            statement,
            statement.bind(
                revision=revision.number,
                time=at,
                author=revision.author,
                message=revision.message,
                added=revision.added,
                removed=revision.removed,
                first_quad=revision.first_quad,
                created=created,
                dropped=dropped,
                undoes=None if revision.undoes is None else int(revision.undoes),  # NumPy's, too
            ),
        )
        if revision.undoes is not None:  # a proposal whose change is taken back waits again
            statement, undone = _CURATION["turn_proposals"], int(revision.undoes)
            said = f"revision {revision.number} took back revision {undone}"
            given = statement.bind(time=at, author=revision.author, said=said, revision=undone, by=revision.number)
            self._connection.run(statement, given)

    def _take_back(self, revision: Revision, mark: int) -> None:
        while revision.deltas > mark:
            revision.deltas -= 1
            self._followers.revert()

    @property
    def leading(self) -> Leading | None:
        """The redirects from old names to kept ones; None for a scope that does not include them."""
        if self._leading is None or self.slice or (graph := self._leading.graph) is None:
            return None
        with contextlib.suppress(ReadOnlyError):
            if self._limit is not None:
                self._limit(marker(graph))
            return self._leading
        return None

    def apply(
        self,
        added: Ids,
        removed: Ids = NO_QUADS,
        report: Callable[[int], None] | None = None,
        *,
        as_given: bool = False,
    ) -> tuple[int, int, int]:
        """Write a delta, int64 [n, 4] each, distinct rows, none in both; returns the quads that took effect.

        What is there already is not added, what is not there is not removed. Gives (added, removed, chunks made).
        `report` is told how many of those that are added have been written, with their indexes. With `as_given` the
        removed ones are as they came, not as merges have them stand: see `Leading.given`.
        """
        revision = self._revision
        assert revision is not None, "apply() belongs inside write()"
        added, removed = self._follow(revision, added, removed, as_given=as_given)
        if self._limit is not None:
            self._limit(np.concatenate([added, removed]))
        if revision.base is not None:
            self._require_unchanged(revision, np.concatenate([added, removed]))
        if revision.undoes is None:
            for extension in self._extensions:
                extension.refuse(np.concatenate([added, removed]))
        changed = self._apply(revision, added, removed, report)
        if self._limit is None and not self.slice:
            for extension in self._extensions:
                if (more := extension.follow(added, removed)) is not None:
                    a, r, chunks = self._apply(revision, *more)
                    changed = changed[0] + a, changed[1] + r, changed[2] + chunks
        return changed

    def _follow(self, revision: Revision, added: Ids, removed: Ids, *, as_given: bool = False) -> tuple[Ids, Ids]:
        """The quads that a write adds and removes, rewritten as merges demand."""
        if (leading := self.leading) is None:
            return added, removed
        added, removed, notes = leading.follow(added, removed, revision.number, revision.undoes, as_given=as_given)
        revision.led = tuple(dict.fromkeys((*revision.led, *notes)))
        return added, removed

    def _apply(
        self, revision: Revision, added: Ids, removed: Ids, report: Callable[[int], None] | None = None
    ) -> tuple[int, int, int]:
        removed, removed_net, touched = self._remove(removed, revision)
        added, restored = self._add(added, revision, report)
        # A quad that this revision had added and now removes, or the other way round, is no change of the revision.
        revision.removed += removed_net - restored
        revision.added += len(added) - restored - (len(removed) - removed_net)
        revision.graphs |= bool((added[:, 0] == 0).any() or (removed[:, 0] == 0).any())
        delta = Delta(added, removed, touched)
        if len(added) or len(removed):
            revision.deltas += 1
            revision.effects.append(delta)
            self._followers.apply(delta)
        revision.chunks += delta.chunks
        revision.notes += tuple(delta.notes)
        return len(added), len(removed), delta.chunks

    def _require_unchanged(self, revision: Revision, quads: Ids) -> None:
        """ConflictError where a subject of the quads has changed since the base, other than by this revision."""
        statement, base = _SQL["changed_since"], revision.base
        for ids in batches(distinct(quads[:, 0])):
            given = statement.bind(ids_json=ids, revision=base, own=revision.number)
            changed = self._connection.columns(statement, given)[0]
            if len(changed):
                terms = self._dictionary.terms(changed[:_NAMED].tolist())
                names = ", ".join(format_term(terms[number]) for number in changed[:_NAMED].tolist())
                more = f" and {len(changed) - _NAMED:,} more" if len(changed) > _NAMED else ""
                raise ConflictError(
                    f"{names}{more} changed after revision {base}; read it again, and change it then",
                    kind="changed since",
                )

    def _find(self, quads: Ids) -> tuple[Ids, Ids, Ids]:
        """(positions in `quads`, quad ids, revisions) of the quads that the file has."""
        table = np.array(list(find_quads(self._connection, quads)), dtype=np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]

    def _remove(self, quads: Ids, revision: Revision) -> tuple[Ids, int, Ids]:
        if not len(quads):
            return NO_QUADS, 0, NO_QUADS[:, 0]
        positions, numbers, revisions = self._find(quads)
        for ids in batches(numbers):
            statement = _SQL["record_removed"]
            self._connection.run(statement, statement.bind(ids_json=ids, revision=revision.number))
            self._connection.run(_SQL["delete_quads"], (ids,))
        return quads[positions], int((revisions != revision.number).sum()), numbers

    def _add(self, quads: Ids, revision: Revision, report: Callable[[int], None] | None) -> tuple[Ids, int]:
        if not len(quads):
            return NO_QUADS, 0
        connection = self._connection
        empty = connection.row(_SQL["any_quad"]) is None
        if not empty:
            may = np.flatnonzero(quads.max(axis=1) <= revision.last_term)
            there = may[self._find(quads[may])[0]]
            quads = np.delete(quads, there, axis=0) if len(there) else quads
        revision.last_term = max(revision.last_term, int(quads.max(initial=0)))
        restored = self._restorable(quads, revision) if revision.removed else {}
        bulk = len(quads) >= _BULK and (
            empty or len(quads) > connection.value(_SQL["count_quads"]) * connection.rebuilding_pays
        )
        share = _INSERTED if bulk else 1.0
        written = None if report is None else lambda done: report(int(done * share))

        def indexed(done: int, of: int) -> None:
            if report is not None:
                report(int(len(quads) * (share + (1 - share) * done / of)))

        with without(connection, "index", "quads", indexed) if bulk else contextlib.nullcontext():
            new = np.delete(quads, list(restored), axis=0) if restored else quads
            insert(connection, new, revision.number, written)
            for number in sorted(set(restored.values())):
                group = [position for position, first in restored.items() if first == number]
                insert(connection, quads[group], number)
        return quads, len(restored)

    def _restorable(self, quads: Ids, revision: Revision) -> dict[int, int]:
        """Position → first revision, of the quads that this revision itself removed; their removal is forgotten."""
        restorable: dict[int, int] = {}
        forgotten: list[int] = []
        statement = _SQL["restore_quads"]
        for start in range(0, len(quads), _BATCH):
            rows_json = str(quads[start : start + _BATCH].tolist())
            for position, row, first in self._connection.rows(
                statement, statement.bind(rows_json=rows_json, revision=revision.number)
            ):
                restorable[start + int(position)] = first
                forgotten.append(row)
        for ids in batches(np.array(forgotten, dtype=np.int64)):
            self._connection.run(_SQL["delete_removed"], (ids,))
        return restorable
