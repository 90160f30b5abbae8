"""Which commands there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from worlds.doors.cli import app


def commands() -> dict[tuple[str, ...], Any]:
    """Every command by its words, those below another one too: ("search",), ("keys", "add"), …"""
    return dict(_below((), typer.main.get_command(app)))


def _below(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield words, command
    else:
        for name, below in inner.items():
            yield from _below((*words, name), below)
