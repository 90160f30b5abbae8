"""The outcome of writes, tried or made, and differences, in the words of the command line."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from worlds.doors.cli.terminal import counted, note, print_text, write_json

if TYPE_CHECKING:
    from worlds.core.history.diff import Diff
    from worlds.core.history.edits import Edits
    from worlds.core.history.gate import Change
    from worlds.world import World

SHOWN = 50
"""Entities of a difference that are printed for people."""
_STYLES = {"head": "bold", "changed": "yellow", "added": "green", "removed": "red", "more": "dim"}
_SIGNS = {"head": "", "changed": "  ~ ", "added": "  + ", "removed": "  - ", "more": ""}
_MANY = 10_000  # quads from which on it is worth saying how many a second took


class _Over(Exception):  # noqa: N818  # no error: it undoes a transaction
    pass


@contextlib.contextmanager
def tried(world: World) -> Iterator[None]:
    """Undo whatever the block writes, at its end."""
    with contextlib.suppress(_Over), world.transaction():
        yield
        raise _Over


def finish(
    world: World, change: Change | Diff, began: float, given: Mapping[str, Any], nothing: str | None = None
) -> None:
    """Print the outcome of a write that `began` at a reading of the clock, and its pending texts.

    `given` are the options of the command, and `nothing` is for people, if nothing changed.
    """
    from worlds.core.history.diff import Diff

    seconds = time.perf_counter() - began
    nothing = nothing or ("nothing changed" if change.notes else "nothing changed: all of it is there already")
    if given["json"]:
        told = change.to_dict() if isinstance(change, Diff) else outcome(change, world.stats().pending, seconds)
        write_json(told)
    elif isinstance(change, Diff):
        if change:
            print_diff(change, f"from revision {change.a} to {change.b}", SHOWN, world.prefixes)
        else:
            print_text(nothing.replace("nothing changed", "nothing would change"))
    elif change.proposal is not None:
        print_text(f"proposal {change.proposal} waits for a decision; nothing is changed yet")
    else:
        print_text(nothing if change.revision is None else sentence(change, seconds))
    for remark in change.notes:
        note(remark)
    if getattr(change, "chunks", 0) and given.get("embed") is not False and given.get("embedder") != "none":
        note_pending(world, change)


def outcome(change: Change, pending: int, seconds: float) -> dict[str, object]:
    """The outcome of a write, for programs."""
    return {**change.to_dict(), "pending": pending, "seconds": round(seconds, 3)}


def sentence(change: Change, seconds: float) -> str:
    """The outcome of a write, for people."""
    parts = [f"{counted(change.added, 'quad')} added"]
    if change.removed:
        parts.append(f"{change.removed:,} removed")
    parts.append(counted(change.chunks, "text chunk"))
    if change.embedded:
        parts.append(f"{counted(change.embedded, 'text')} embedded")
    rate = f", {change.added / seconds:,.0f} quads/s" if change.added >= _MANY and not change.embedded else ""
    return f"revision {change.revision}: {', '.join(parts)} ({seconds:,.1f} s{rate})"


def note_pending(world: World, change: Change | Diff) -> None:
    """Print the number of pending texts, and the reason."""
    from worlds.core.embedders import reason_without

    pending = world.stats().pending
    if pending and not change.notes:
        why = (world.embedder is None and reason_without()) or "`worlds embed` does it"
        note(f"{counted(pending, 'chunk')} will be found by words only until embedded: {why}")


def print_edits(edits: Edits, limit: int | None, prefixes: Mapping[str, str]) -> None:
    """Print a difference by entity."""
    for kind, text in edits.lines(prefixes, limit):
        print_text((_SIGNS[kind] + text).replace("\n", " "), _STYLES[kind])


def print_diff(found: Diff, what: str, limit: int, prefixes: Mapping[str, str]) -> None:
    """Print a difference: its counts, and the changes by entity."""
    print_text(f"{what}: {counted(len(found.added), 'quad')} added, {len(found.removed):,} removed", "bold")
    print_edits(found.edits, limit, prefixes)
