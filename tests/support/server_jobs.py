"""Jobs that misbehave, for the tests of the pool; worker processes import them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import worlds
from worlds import QueryError, World
from worlds.doors.server.workers.jobs import job


@job("process")
def process(world: World) -> int:
    return os.getpid()


@job("count")
def count(world: World) -> int:
    return len(world)


@job("sleep")
def sleep(world: World, *, seconds: float, mark: str | None = None) -> str:
    time.sleep(seconds)
    if mark is not None:
        Path(mark).write_text("done")
    return "slept"


@job("compute")
def compute(world: World, *, seconds: float) -> str:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return "computed"


@job("take")
def take(world: World, *, size: int, wrapped: bool = False) -> int:
    try:
        return len(bytearray(size))
    except MemoryError as error:
        if wrapped:
            raise QueryError("the query cannot be answered") from error
        raise


@job("fail")
def fail(world: World, *, how: str) -> None:
    if how == "query":
        raise QueryError("no such thing", line=3, column=7)
    if how == "embedder":
        raise worlds.EmbedderError("the key is wrong", kind="auth")
    if how == "value":
        raise ValueError("limit must be a whole number")
    if how == "panic":
        raise type("PanicException", (BaseException,), {})("in an extension module")
    if how == "bug":
        raise KeyError("secret")
    os.kill(os.getpid(), signal.SIGKILL)


def nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


@job("nest")
def nest(world: World, *, value: object = None, depth: int = 0) -> list[Any]:
    return nested(depth)


@job("lines", streams=True)
def lines(
    world: World, *, number: int, fail_at: int | None = None, pause: float = 0
) -> tuple[dict[str, Any], Iterator[bytes]]:
    def rows() -> Iterator[bytes]:
        for line in range(number):
            if line == fail_at:
                raise QueryError("in the middle")
            if pause:
                time.sleep(pause)
            yield b"%d\n" % line

    return {"type": "text/plain"}, rows()


@job("insert", write=True)
def insert(world: World, *, text: str, seconds: float = 0, embed: bool = True) -> int | None:
    change = world.add([("https://example.org/s", "https://example.org/p", f'"{text}"')], embed=embed)
    time.sleep(seconds)
    return change.revision


@job("pending")
def pending(world: World) -> int:
    return world.stats().pending
