"""Takes back what a revision did, unless a later one changed it."""

from __future__ import annotations

import numpy as np

from worlds.core.history.diff import named
from worlds.core.history.history import NEVER, History
from worlds.core.quads.dictionary import Dictionary, Ids
from worlds.core.quads.rows import find_quads
from worlds.errors import ArgumentError, ConflictError
from worlds.sql.connection import Connection


def inverse(
    connection: Connection, dictionary: Dictionary, history: History, revision: int, *, force: bool
) -> tuple[Ids, Ids]:
    """(quads to add, quads to remove), int64 [n, 4], that undo a revision.

    ConflictError where a later revision has done so for some of its quads already; `force` leaves those out.
    """
    revision = history.check(revision)
    if revision == 0:
        raise ArgumentError("there is no revision 0: it stands for the empty world", kind="revision")
    history.require(revision, history.first)
    entry = history.numbered([revision]).get(revision)
    if entry is None:
        raise ArgumentError(f"there is no revision {revision}", kind="revision")
    if entry.purged and not force:
        told = f"revision {revision} cannot be undone as a whole: some of its quads were purged; force leaves those out"
        raise ConflictError(told)
    held, gone = (part(revision - 1, last) for part, last in ((history.held, revision), (history.gone, NEVER)))
    lost, taken = gone[gone[:, 4] == revision, :4], gone[gone[:, 5] == revision, :4]
    back, again = (
        held_quads(connection, lost),
        held_quads(connection, taken),
    )  # those that hold now, in spite of a later revision or by it
    conflicts = np.concatenate([np.delete(lost, back[:, 0], axis=0), taken[again[:, 0]]])
    if len(conflicts) and not force:
        removals = {tuple(quad): number for *quad, _, number in gone.tolist()}  # the last one of each
        absent = [removals[tuple(quad)] for quad in conflicts[: len(lost) - len(back)].tolist()]
        raise ConflictError(_conflict(dictionary, revision, conflicts, {*absent, *again[:, 1].tolist()}))
    quads = np.delete(taken, again[:, 0], axis=0)
    return quads, np.concatenate([held[:, :4], lost[back[:, 0]]])


def held_quads(connection: Connection, quads: Ids) -> Ids:
    """(position in `quads`, the revision that added it) of the quads that are present now, int64 [n, 2]."""
    rows = [(position, revision) for position, _, revision in find_quads(connection, quads)]
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def _conflict(dictionary: Dictionary, revision: int, quads: Ids, later: set[int]) -> str:
    numbers = list(map(str, sorted(later)))
    which = f"revision {numbers[0]}"
    if len(numbers) > 1:
        which = f"revisions {', '.join(numbers[:-1])} and {numbers[-1]}"
    examples = named(dictionary, quads)
    return (
        f"revision {revision} cannot be undone as a whole, because {which} changed {_counted(len(quads))} of it "
        f"back: {examples}; undo {'it' if len(numbers) == 1 else 'them'} first, or force, which leaves "
        "such quads as they are"
    )


def _counted(number: int) -> str:
    return f"{number:,} quad{'' if number == 1 else 's'}"
