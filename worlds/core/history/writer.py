"""The one way in: every verb that writes does so inside a revision of the writer."""

from __future__ import annotations

import contextlib
import copy
import datetime
import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from worlds.core.extension import TELL, Extension, Queued
from worlds.core.history.diff import Diff
from worlds.core.history.dry_runs import Trial
from worlds.core.history.gate import Change, Gate, Revision
from worlds.core.history.leading import Leading
from worlds.core.history.pending_changes import ProposalStore
from worlds.core.history.retention import Forgetting
from worlds.core.quads.dictionary import Ids
from worlds.core.quads.rows import NO_QUADS
from worlds.errors import ConflictError, ValidationError, WorldsError
from worlds.sql.connection import Connection

_log = logging.getLogger("worlds")


class Progress(Protocol):
    """A callback for the progress of long work."""

    def __call__(self, step: str, done: int, total: int | None) -> None:
        """`step` names the work ("read …", "write", "embed", …); `total` is None where it is unknown.

        While documents are read, "quads" says how many were found in them so far.
        """


Rehearsed = Callable[[Ids, Ids], Diff]
"""Makes the difference of what was added and removed, decoded while its terms are there."""

EmbedNew = Callable[[int, Progress | None], tuple[int, tuple[str, ...]]]
"""Embeds the chunks above an id; gives the number of texts, and what there is to say if some stay pending."""


class Writing:
    """A write: call `apply` for each delta; afterwards `change` has the outcome.

    That of a rehearsal is a `Diff`.
    """

    def __init__(self, gate: Gate, revision: Revision, *, whole: bool) -> None:
        self._gate = gate
        self._revision = revision
        self._whole = whole
        self.number, self.first_quad = revision.number, revision.first_quad
        self.added = self.removed = self.chunks = 0
        self._notes: list[str] = []
        self._change: Change | Diff = Change(None, 0, 0)

    @property
    def change(self) -> Change | Diff:
        """The change that was made, or would be, with its notes."""
        told = self._change
        return replace(told, notes=(*self._notes, *told.notes)) if isinstance(told, Change) else told

    @change.setter
    def change(self, change: Change | Diff) -> None:
        if isinstance(change, Diff):
            change.notes = (*self._notes, *change.notes)
        self._change = change

    def sign(self, author: str | None, message: str | None) -> None:
        """Set author and message where they become known during a write; a nested write has the ones of the whole."""
        if self._whole:
            self._revision.author, self._revision.message = author, message

    @property
    def signed(self) -> tuple[str | None, str | None]:
        """The author and the message of the write."""
        return self._revision.author, self._revision.message

    def note(self, *notes: str) -> None:
        """Add notes to the result of the write."""
        self._notes += notes

    def apply(
        self,
        added: Ids = NO_QUADS,
        removed: Ids = NO_QUADS,
        report: Callable[[int], None] | None = None,
        *,
        as_given: bool = False,
    ) -> None:
        """Remove quads and add quads, int64 [n, 4] of distinct rows, none in both; see `Gate.apply`."""
        before = self._revision.led
        self.count(*self._gate.apply(added, removed, report, as_given=as_given))
        self.note(*(note for note in self._revision.led if note not in before))

    def looks_ahead(self, time: datetime.datetime | None) -> None:
        """Date the revision before a time that is still ahead, even if that time comes before the write ends."""
        before = [one for one in (self._revision.before, time) if one is not None]
        self._revision.before = min(before, default=None)

    @property
    def ahead(self) -> datetime.datetime | None:
        """The first time that lay ahead of it."""
        return self._revision.before

    @property
    def leading(self) -> Leading | None:
        """The redirects from the names of merged entities to the kept ones; None where there are none."""
        return self._gate.leading

    def count(self, added: int, removed: int, chunks: int) -> None:
        """Add the counts of another write to this one."""
        self.added += added
        self.removed += removed
        self.chunks += chunks


@dataclass(eq=False, repr=False)
class Writer:
    """The writer of one world's revisions, followed by retention and embedding."""

    _connection: Connection
    _gate: Gate
    _extensions: Sequence[Extension]
    _rehearsed: Rehearsed
    _forgetting: Forgetting
    _embed_new: EmbedNew
    _waiting: ProposalStore

    def rehearsing(self, rehearsed: Rehearsed) -> Writer:
        """A writer whose dry runs convert the added and removed quads by `rehearsed`."""
        made = copy.copy(self)
        made._rehearsed = rehearsed
        return made

    def unasked(self) -> None:
        """Write from now on without asking the extensions."""
        self._extensions = ()
        self._gate.unasked()

    @property
    def waiting(self) -> ProposalStore:
        """The store of the world's proposals."""
        return self._waiting

    @property
    def writing(self) -> bool:
        """Whether this thread is writing a revision."""
        return self._gate.writing

    @contextlib.contextmanager
    def revision(
        self,
        *,
        author: str | None = None,
        message: str | None = None,
        embed: bool = False,
        progress: Progress | None = None,
        undoes: int | None = None,
        dry_run: bool = False,
        base: int | None = None,
        guard: Any = None,
    ) -> Iterator[Writing]:
        """A revision, or a part of the one that this thread is writing: kept when the block ends, undone if it raises.

        With `dry_run` it is undone in any case, and its `change` is the difference that it would have made, whose notes
        say what the guard would have done.

        What is kept is followed up once the outermost block is over: older revisions are forgotten as the retention
        asks, and new texts embedded if one of the writes wants it (`embed`). A failure of that undoes nothing.
        With a `base` it is refused where a subject that it changes has changed since that revision. `guard` is that of
        this revision, instead of the world's. Where it queues, the write becomes a proposal.
        """
        whole = not self._gate.writing  # the guard looks at what is kept, not at its parts
        opened = self._gate.write(
            author=author, message=message, undoes=undoes, base=base, guard=None if dry_run else guard
        )
        diff: Diff | None = None
        with contextlib.suppress(_TakenBackError), opened as revision:
            writing = Writing(self._gate, revision, whole=whole)
            before = len(revision.effects)
            yield writing
            limited = self._forgetting.limited
            told, queued = self._judged(revision, guard, dry_run=dry_run) if whole or guard == TELL else ((), None)
            if dry_run or queued:
                effects = revision.effects[before:]
                diff = self._rehearsed(*_net([(one.added, one.removed) for one in effects]))
                if not self._gate.limited:  # what follows for the whole world is not for who sees a part
                    diff.conclude(*_net([(one.concluded, one.retracted) for one in effects]))
                diff.notes += tuple(note for one in effects for note in one.notes)
                diff.violations = told
                raise _TakenBackError
            revision.notes += told
        if diff is not None and dry_run:
            diff.notes = (*diff.violations, *diff.notes)
            writing.change = diff
            return
        if diff is not None:
            number = self.waiting.propose(diff, author=author, why=message, kind="guard")
            note = f"nothing was changed: proposal {number} waits for a decision; it brings {queued}"
            _log.warning("%s: %s", self._connection.path, note)
            writing.change = Change(None, 0, 0, notes=(note,), proposal=number)
            return
        if self._gate.writing:
            if writing.added or writing.removed:
                revision.embed |= embed
                writing.change = Change(revision.number, writing.added, writing.removed, writing.chunks)
        elif revision.added or revision.removed:  # what was added and removed again is no change
            for note in revision.notes:
                _log.warning("%s: %s", self._connection.path, note)
            if limited:
                self._forget()
            wanted = revision.chunks and (embed or revision.embed)
            embedded, notes = self._embed_new(revision.last_chunk, progress) if wanted else (0, ())
            writing.change = Change(
                revision.number, revision.added, revision.removed, revision.chunks, embedded, (*revision.notes, *notes)
            )

    def trial(self) -> contextlib.AbstractContextManager[Writing]:
        """A trial of a write; its change has the difference and the violations."""
        return self.revision(dry_run=True, guard=TELL)

    def propose(
        self, trials: Iterable[Trial], author: str | None = None, ids: Callable[[Any], Ids] = lambda rows: rows
    ) -> str:
        """Propose changes one by one, without open and rejected ones; returns the new numbers.

        `ids` stores the terms of trials that have quads in the place of rows of ids.
        """
        numbers = []
        for one in trials:
            with self.trial() as trial:
                trial.apply(ids(one.added), ids(one.removed))
            said: Any = {"author": author, "why": one.why, "kind": one.kind, "confidence": one.confidence}
            with contextlib.suppress(ConflictError):
                numbers.append(self.waiting.propose(trial.change, renew=one.kind == "conflict", **said))
        return ", ".join(map(str, numbers))

    def _judged(self, revision: Revision, guard: Any, *, dry_run: bool) -> tuple[tuple[str, ...], str | None]:
        """The guard's notes on a revision, and the reason where it must wait as a proposal."""
        if not (revision.added or revision.removed):
            return (), None
        asked = revision.number, revision.first_quad, guard if dry_run else revision.guard
        try:
            return tuple(note for extension in self._extensions for note in extension.check(*asked)), None
        except ValidationError as error:
            if not dry_run:
                raise
            return (f"the guard would reject it: {error}",), None
        except Queued as queued:
            if dry_run:
                return (f"it would wait as a proposal: it brings {queued.brings}",), queued.brings
            return queued.violations, queued.brings

    def _forget(self) -> None:
        """Delete the history that the retention does not keep; an error here does not fail the committed write."""
        try:
            self._forgetting.retain()
        except WorldsError as error:
            _log.warning("%s: older revisions are not forgotten yet: %s", self._connection.path, error)


class _TakenBackError(Exception):
    """Undoes a write that was only tried."""


def _net(effects: Sequence[tuple[Ids, Ids]]) -> tuple[Ids, Ids]:
    """(added, removed): the net effect of changes in sequence, each of which took effect."""
    rows = np.concatenate([NO_QUADS, *itertools.chain.from_iterable(effects)])
    signs = np.repeat([1, -1] * len(effects), [len(part) for one in effects for part in one])
    quads, places = np.unique(rows, axis=0, return_inverse=True)
    sums = np.bincount(places.ravel(), weights=signs, minlength=len(quads))
    return quads[sums > 0], quads[sums < 0]
