"""The outcome of writes, tried or made, and differences, in the words of the command line."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from worlds.doors.cli.terminal import clean, counted, note, output, write_json

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

    seconds, as_json = time.perf_counter() - began, given["json"]
    nothing = nothing or ("nothing changed" if change.notes else "nothing changed: all of it is there already")
    if isinstance(change, Diff) and not change and not as_json:
        output().print(nothing.replace("nothing changed", "nothing would change"), soft_wrap=True)
    elif isinstance(change, Diff):
        show_diff(world, change, as_json=as_json)
    elif as_json:
        write_json(outcome(change, world.stats().pending, seconds))
    elif change.proposal is not None:
        output().print(f"proposal {change.proposal} waits for a decision; nothing is changed yet", soft_wrap=True)
    else:
        output().print(nothing if change.revision is None else sentence(change, seconds), soft_wrap=True)
    for remark in change.notes:
        note(remark)
    if getattr(change, "chunks", 0) and given.get("embed") is not False and given.get("embedder") != "none":
        note_pending(world, change)


def outcome(change: Change, pending: int, seconds: float) -> dict[str, object]:
    """The outcome of a write, for programs."""
    return {
        "revision": change.revision,
        "added": change.added,
        "removed": change.removed,
        "chunks": change.chunks,
        "embedded": change.embedded,
        "pending": pending,
        "notes": list(change.notes),
        "proposal": change.proposal,
        "seconds": round(seconds, 3),
    }


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


def show_diff(world: World, found: Diff, limit: int | None = None, *, as_json: bool) -> None:
    """Print a difference, at most `limit` entities; without one, `SHOWN` for people and all for programs."""
    if as_json:
        write_json(found.to_dict(limit))
    else:
        print_diff(found, f"from revision {found.a} to {found.b}", SHOWN if limit is None else limit, world.prefixes)


def print_edits(edits: Edits, limit: int | None, prefixes: Mapping[str, str]) -> None:
    """Print a difference by entity."""
    from rich.text import Text

    for kind, text in edits.lines(prefixes, limit):
        line = Text(_SIGNS[kind] + clean(text).replace("\n", " "), style=_STYLES[kind])
        output().print(line, soft_wrap=True)


def print_diff(found: Diff, what: str, limit: int, prefixes: Mapping[str, str]) -> None:
    """Print a difference: its counts, and the changes by entity."""
    from rich.text import Text

    totals = f"{counted(len(found.added), 'quad')} added, {len(found.removed):,} removed"
    output().print(Text(f"{what}: {totals}", style="bold"), soft_wrap=True)
    print_edits(found.edits, limit, prefixes)
