"""What of the engine tests may change from outside: the limits that are too large, or too short, for a test.

A test that patches anything else of ours would break when code moves, and says nothing of what a user sees.
"""

from __future__ import annotations

import contextlib
import datetime
import importlib
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from worlds.graph.query.running import hand_over

if TYPE_CHECKING:
    import pytest


class Setter(Protocol):
    """A `pytest.MonkeyPatch`, or `ForGood`."""

    def setattr(self, target: str, name: object, /) -> None: ...


class ForGood:
    """Changes a limit in a process of a test's own, which need not import pytest."""

    def setattr(self, target: str, value: object, /) -> None:
        module, _, name = target.rpartition(".")
        setattr(importlib.import_module(module), name, value)


def keep_small_indexes_on_disk(monkeypatch: Setter, quads: int) -> None:
    """Let a world of so many quads have its SPARQL index on disk; otherwise it takes 100,000."""
    monkeypatch.setattr("worlds.core.sparql.index.DISK_FROM", quads)


def build_small_indexes_beside(monkeypatch: Setter, quads: int) -> None:
    """Let a process build the SPARQL index after a write of so many quads; otherwise it takes 100,000."""
    monkeypatch.setattr("worlds.core.sparql.index.BESIDE_FROM", quads)


def hide_driver(monkeypatch: Setter, name: str) -> None:
    """Let one of the drivers not be installed."""
    monkeypatch.setattr("worlds.sql.drivers.installed", lambda other: other != name)


def set_the_clock(monkeypatch: Setter, clock: Callable[[], datetime.datetime]) -> None:
    """Let facts begin and end by another clock."""
    monkeypatch.setattr("worlds.extras.facts.times.clock", clock)


def take_files_for_large(monkeypatch: Setter, size: int) -> None:
    """Let files of so many bytes be those of large worlds; otherwise it takes eight million."""
    monkeypatch.setattr("worlds.core.file.opening.LARGE", size)


def build_few_native_indexes(monkeypatch: Setter, vectors: int) -> None:
    """Let worlds of more vectors than this have no native index unless it is asked for; otherwise it takes 3,000."""
    monkeypatch.setattr("worlds.core.vectors.index.MOST", vectors)


def hold_few_terms(monkeypatch: Setter) -> None:
    """Let the SPARQL index be built of terms read block by block; otherwise it takes four million terms."""
    monkeypatch.setattr("worlds.core.sparql.filling.HELD", 0)


def move_indexes_to_memory_at_once(monkeypatch: Setter) -> None:
    """Let the first query on disk be enough to move the index to memory; otherwise it takes half a second and more."""
    monkeypatch.setattr("worlds.core.sparql.index.PATIENCE", 0.0)
    monkeypatch.setattr("worlds.core.sparql.index.MOVED", 1e12)


def move_indexes_slowly(monkeypatch: Setter) -> None:
    """Let each query move three quads to memory; otherwise it is what a tenth of a second suffices for."""
    monkeypatch.setattr("worlds.core.sparql.filling.SLICE", -1.0)
    monkeypatch.setattr("worlds.core.sparql.filling.AT_ONCE", 3)


def parse_beside_from(monkeypatch: Setter, size: int) -> None:
    """Let documents of so many bytes together be parsed in a process of their own; otherwise it takes six million."""
    monkeypatch.setattr("worlds.core.quads.reader.WORTH", size)


def read_in_small_blocks(monkeypatch: Setter, quads: int) -> None:
    """Let documents be read in blocks of so many quads, and two texts be indexed at once; otherwise it is 20,000."""
    monkeypatch.setattr("worlds.core.quads.reader.SLICE", quads)
    monkeypatch.setattr("worlds.core.quads.reader.BLOCK", quads)
    monkeypatch.setattr("worlds.core.texts.chunks.INDEXED_AT_ONCE", 2)


def take_native_indexes(monkeypatch: Setter, vectors: int) -> None:
    """Let searches without a filter take the native index from so many vectors on; otherwise from four million."""
    monkeypatch.setattr("worlds.core.search.plans.INDEX_FROM", vectors)
    monkeypatch.setattr("worlds.core.search.plans.EXACT", 1)


def read_quads_in_pages(monkeypatch: Setter, quads: int) -> None:
    """Let so many quads be read at a time; otherwise it is 50,000."""
    monkeypatch.setattr("worlds.core.quads.rows.BLOCK", quads)


def keep_posting_lists(monkeypatch: Setter, always: bool, postings: int = 1000) -> None:
    """Let words be found by posting lists in memory, of so many postings together, or never."""
    monkeypatch.setattr("worlds.core.search.statement.LISTS", always)
    monkeypatch.setattr("worlds.core.search.postings.MOST", postings)
    monkeypatch.setattr("worlds.core.search.postings.MORE", 0)


def narrow_candidates(monkeypatch: Setter) -> None:
    """Let candidates be narrowed where they are more than 250; otherwise more than 3,000 are."""
    monkeypatch.setattr("worlds.core.vectors.codes.MANY", 250)


def take_filters_for_wide(monkeypatch: Setter) -> None:
    """Let any filter be found among all texts' quads in memory; otherwise those of many subjects are."""
    monkeypatch.setattr("worlds.core.search.filters.FEW_SUBJECTS", -1)
    monkeypatch.setattr("worlds.core.search.filters.MANY_SUBJECTS", 0)
    monkeypatch.setattr("worlds.core.search.filters.A_SUBJECT", 1e9)
    monkeypatch.setattr("worlds.core.search.filters.A_TEXT", 1e9)


def take_short_texts_for_long(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Let texts of so many bytes be kept from the parser, whose buffer they would overflow from 16 MiB on."""
    monkeypatch.setattr("worlds.graph.longtexts.LONG", size)


def wait_for_hints(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let what explains an empty answer take as long as it does on a busy machine."""
    monkeypatch.setattr("worlds.core.sparql.notes.SECONDS", seconds)
    monkeypatch.setattr("worlds.core.search.notes.SECONDS", seconds)


def page_folder(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let the page's editor be looked for here, not where the clone has it, or has it not."""
    monkeypatch.setattr("worlds.doors.server.bundle.VENDOR", folder)


def without_node(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """As where there is no Node.js, neither on the PATH nor from PyPI."""
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr("worlds.doors.server.bundle.importlib.util.find_spec", lambda name: None)


def let_no_union_fit(monkeypatch: Setter) -> None:
    """No union of a group's worlds fits into memory."""
    monkeypatch.setattr("worlds.groups.group.SHARE", 0.0)


def give_services_few_solutions(monkeypatch: Setter, most: int) -> None:
    """Let a SERVICE of a group have so many solutions; otherwise it may have a million."""
    monkeypatch.setattr("worlds.groups.group.ROWS", most)


def call_short(monkeypatch: Setter, seconds: float) -> None:
    """Let a query be known as short that took less than this; otherwise it is 20 ms."""
    monkeypatch.setattr("worlds.graph.query.running.SHORT", seconds)


def tell_evaluations(monkeypatch: Setter, told: Callable[[], object]) -> None:
    """Call `told` whenever an evaluation begins in a thread of its own."""

    def begun(work: Callable[[], None]) -> None:
        hand_over(work)
        told()

    monkeypatch.setattr("worlds.graph.query.running.hand_over", begun)


def walk_few_paths(monkeypatch: Setter, deep: int, dense: int) -> None:
    """Let paths without end be closed from so many steps on, 30 otherwise, and be kept as bits up to so many nodes."""
    monkeypatch.setattr("worlds.extras.shapes.paths.DEEP", deep)
    monkeypatch.setattr("worlds.extras.shapes.paths.DENSE", dense)


def keep_small_orders_in_step(monkeypatch: Setter) -> None:
    """Let the order of three entities be kept and mended; otherwise it takes a thousand."""
    monkeypatch.setattr("worlds.extras.entities.label_order.WORTH", 3)


def start_templates(setter: Setter, start: Callable[[Sequence[str]], object]) -> None:
    """Let the templates of workers be started by `start`, of the modules with their jobs."""
    setter.setattr("worlds.doors.server.workers.starting.start", start)


def fork_templates(setter: Setter) -> None:
    """Let a server fork the template of its workers, whose modules it has; otherwise another process imports them."""
    from worlds.doors.server.workers import template

    def start(modules: Sequence[str]) -> tuple[_Child, socket.socket]:
        ours, theirs = socket.socketpair()
        if not (pid := os.fork()):
            ours.close()
            os.dup2(theirs.fileno(), 0)
            theirs.close()
            sys.argv = ["-c", *modules]
            try:
                template.main()
            finally:
                os._exit(0)
        theirs.close()
        ours.setblocking(False)
        return _Child(pid), ours

    start_templates(setter, start)


class _Child:
    """A process that was forked, as `subprocess` would have it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
