"""The jobs that worker processes do: functions of a world, each registered by its name.

    @job("search")
    def search(world: World, *, text: str, limit: int = 10) -> dict[str, Any]: …

    @job("query", streams=True)
    def query(world: World, *, query: str) -> tuple[dict[str, Any], Iterator[bytes]]: …

What a job gets and gives passes through a pipe, so all of it must be picklable. A `WorldsError` or a `ValueError` that
it raises is raised again in the server as it is; any other exception is a bug, which the server logs and answers with
500.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import worlds
from worlds.doors.server.workers.starting import MODULES as MODULES
from worlds.extras.memory.memory_records import seen_through

if TYPE_CHECKING:
    from worlds import Embedder, Group, World

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Job:
    """A job of a worker: `write` needs a world that is open for writing, `streams` gives bytes piecewise.

    `unlimited` is one that may take any memory: no client can shape it, or only those who may write.

    The function of a job that streams gives its head, a dict, and an iterator of bytes.
    """

    name: str
    function: Callable[..., Any]
    write: bool = False
    streams: bool = False
    unlimited: bool = False


JOBS: dict[str, Job] = {}


def job(name: str, *, write: bool = False, streams: bool = False, unlimited: bool | None = None) -> Callable[[F], F]:
    """Register a function as the job of this name, which is unlimited if it writes, unless it says otherwise."""

    def register(function: F) -> F:
        if name in JOBS:
            raise ValueError(f"there are two jobs of the name {name!r}")
        JOBS[name] = Job(name, function, write, streams, write if unlimited is None else unlimited)
        return function

    return register


@contextmanager
def together(world: World, own: str, beside: Mapping[str, Path], embedder: Embedder | None) -> Iterator[Group]:
    """The group of a world, under its `own` name, and the worlds `beside` it, by names and paths; all in its scope."""
    with ExitStack() as stack:
        members = {own: world}
        for name, path in beside.items():
            one = stack.enter_context(worlds.open(path, embedder=embedder, read_only=True, create=False))
            members[name] = one if (graphs := world.file.view.names) is None else seen_through(one, list(graphs))
        yield stack.enter_context(worlds.group(members, embedder=embedder))


def load_jobs(modules: Iterable[str] = MODULES) -> dict[str, Job]:
    """Import the modules that define jobs, and give all jobs by their names."""
    for module in modules:
        import_module(module)
    return JOBS
