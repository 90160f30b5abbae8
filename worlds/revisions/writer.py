"""The one way in: every verb that writes does so inside a revision of the writer."""

from __future__ import annotations

import contextlib
import copy
import datetime
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from worlds.errors import ConflictError, ValidationError, WorldsError
from worlds.quads.delta import Delta
from worlds.quads.dictionary import Ids
from worlds.quads.rows import NO_QUADS
from worlds.revisions.diff import Diff
from worlds.revisions.gate import Change, Gate, Revision
from worlds.revisions.leading import Leading
from worlds.revisions.rehearsing import Trial
from worlds.revisions.retention import Forgetting
from worlds.revisions.waiting import Waiting
from worlds.rules.guard import TELL, Queued, sentence
from worlds.sql.connection import Connection

_log = logging.getLogger("worlds")


class Progress(Protocol):
    """Is told how far long work has come."""

    def __call__(self, step: str, done: int, total: int | None) -> None:
        """`step` is what is being done ("read …", "write", "embed", …), `total` None where it is not known.

        While documents are read, "quads" says how many were found in them so far.
        """


Rehearsed = Callable[[Ids, Ids], Diff]
"""Makes the difference of what was added and removed, decoded while its terms are there."""

EmbedNew = Callable[[int, Progress | None], tuple[int, tuple[str, ...]]]
"""Embeds the chunks above an id; gives the number of texts, and what there is to say if some stay pending."""


Check = Callable[[int, int, Any], tuple[str, ...]]
"""Is asked before a revision is kept: its number, its first quad's id, what its guard is. Gives notes, or raises."""


class Writing:
    """A write: `apply` what it changes, as often as need be; when it is over, `change` says what it did.

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
        """What was done, or would be, with what there is to say of it."""
        told = self._change
        return replace(told, notes=(*self._notes, *told.notes)) if isinstance(told, Change) else told

    @change.setter
    def change(self, change: Change | Diff) -> None:
        if isinstance(change, Diff):
            change.notes = (*self._notes, *change.notes)
        self._change = change

    def sign(self, author: str | None, message: str | None) -> None:
        """Say who writes, and why, where that is known only now; of a part, whoever began the whole has said so."""
        if self._whole:
            self._revision.author, self._revision.message = author, message

    @property
    def signed(self) -> tuple[str | None, str | None]:
        """Who writes, and why."""
        return self._revision.author, self._revision.message

    def note(self, *notes: str) -> None:
        """Say something of the write in its change."""
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
        """Have the revision be of a time before one that lies ahead, though that may come before the write is over."""
        before = [one for one in (self._revision.before, time) if one is not None]
        self._revision.before = min(before, default=None)

    @property
    def ahead(self) -> datetime.datetime | None:
        """The first time that lay ahead of it."""
        return self._revision.before

    @property
    def leading(self) -> Leading | None:
        """What leads from the names of merged entities to the kept ones; None where nothing does."""
        return self._gate.leading

    def count(self, added: int, removed: int, chunks: int) -> None:
        """Count what another write did as a part of this one."""
        self.added += added
        self.removed += removed
        self.chunks += chunks


class Writer:
    """Writes the revisions of one world, and sees to what follows them: older ones are forgotten, texts embedded."""

    def __init__(
        self,
        connection: Connection,
        gate: Gate,
        *,
        check: Check,
        rehearsed: Rehearsed,
        forgetting: Forgetting,
        embed_new: EmbedNew,
        waiting: Waiting,
    ) -> None:
        self._connection = connection
        self._gate = gate
        self._check: Check | None = check
        self._rehearsed = rehearsed
        self._forgetting = forgetting
        self._embed_new = embed_new
        self._waiting = waiting

    def rehearsing(self, rehearsed: Rehearsed) -> Writer:
        """A writer whose rehearsals make something else of what was added and removed."""
        made = copy.copy(self)
        made._rehearsed = rehearsed
        return made

    def unasked(self) -> None:
        """Write whatever comes, from now on, without asking anybody."""
        self._check = None
        self._gate.unasked()

    @property
    def waiting(self) -> Waiting:
        """What keeps the proposals of the world."""
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
                diff = self._rehearsed(*_net(revision.effects[before:]))
                diff.violations = told
                raise _TakenBackError
            revision.notes += told
        if diff is not None and dry_run:
            diff.notes = diff.violations
            writing.change = diff
            return
        if diff is not None:
            number = self.waiting.propose(diff, author=author, why=message, kind="guard")
            note = f"nothing is changed, but proposed: proposal {number} waits; it brings {queued}"
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
        """A write that is only tried; its change tells what it would do, and what it would violate."""
        return self.revision(dry_run=True, guard=TELL)

    def propose(self, trials: Iterable[Trial], author: str | None = None) -> str:
        """Propose changes, each for itself, but those that wait or were rejected; gives the numbers of what is new."""
        numbers = []
        for one in trials:
            with self.trial() as trial:
                trial.apply(one.added, one.removed)
            said: Any = {"author": author, "why": one.why, "kind": one.kind, "confidence": one.confidence}
            with contextlib.suppress(ConflictError):
                numbers.append(self.waiting.propose(trial.change, renew=one.kind == "conflict", **said))
        return ", ".join(map(str, numbers))

    def _judged(self, revision: Revision, guard: Any, *, dry_run: bool) -> tuple[tuple[str, ...], str | None]:
        """What the guard says of a revision, and, where it is to wait as a proposal, what it brings."""
        if self._check is None or not (revision.added or revision.removed):
            return (), None
        try:
            return self._check(revision.number, revision.first_quad, guard if dry_run else revision.guard), None
        except ValidationError as error:
            if not dry_run:
                raise
            return (f"the guard would reject it: {error}",), None
        except Queued as queued:
            brings = sentence(queued.report)
            if dry_run:
                return (f"it would wait as a proposal: it brings {brings}",), brings
            return tuple(map(queued.report.line, queued.report)), brings

    def _forget(self) -> None:
        """Forget what the retention does not keep; the write before is kept already, so it must not seem to fail."""
        try:
            self._forgetting.retain()
        except WorldsError as error:
            _log.warning("%s: older revisions are not forgotten yet: %s", self._connection.path, error)


class _TakenBackError(Exception):
    """Undoes a write that was only tried."""


def _net(effects: list[Delta]) -> tuple[Ids, Ids]:
    """(added, removed) of deltas that follow each other, each of which took effect."""
    if len(effects) == 1:
        return effects[0].added, effects[0].removed
    rows = np.concatenate([NO_QUADS, *(part for delta in effects for part in (delta.added, delta.removed))])
    signs = np.repeat([1, -1] * len(effects), [len(part) for one in effects for part in (one.added, one.removed)])
    quads, places = np.unique(rows, axis=0, return_inverse=True)
    sums = np.bincount(places.ravel(), weights=signs, minlength=len(quads))
    return quads[sums > 0], quads[sums < 0]
