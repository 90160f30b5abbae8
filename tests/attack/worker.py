"""Runs cases in a process that may die: `python -m tests.attack.worker KIND SEED FIRST [URL KEY]`.

Before each case it says the case's number; of one that went wrong it says what happened, as JSON.
"""

from __future__ import annotations

import base64
import json
import resource
import socket
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from tests.attack.cases import PAST, case
from tests.sparql.test_fuzz import fresh
from worlds import World, WorldsError

MOST_MEMORY = 3 << 30  # bytes of address space
MOST_GROWTH = 1 << 30  # bytes that a process may come to hold
SLOW = 10.0  # seconds
_RENEWED = 100  # cases
_LIMIT = 2.0  # seconds that are given to a query or an update


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


def document(world: World, given: dict[str, Any]) -> None:
    data, format = base64.b64decode(given["data"]), given["format"]
    if format == "patch":
        world.apply_patch(data, strict=False, max_unpacked=10_000_000, embed=False)
    elif format in ("markdown", "html"):
        world.add_document("urn:document", data, format=format, embed=False)
    else:
        world.load(data, format=format, base="http://base/", max_unpacked=10_000_000, embed=False)


def query(world: World, given: dict[str, Any]) -> None:
    answer = world.query(given["text"], timeout=_LIMIT, max_results=2000, max_memory=1 << 29)
    if not isinstance(answer, bool):
        answer.serialize()


def update(world: World, given: dict[str, Any]) -> None:
    world.update(given["text"], timeout=_LIMIT, embed=False)


def words(world: World, given: dict[str, Any]) -> None:
    try:
        for hit in world.search(given["text"], **given["options"]):
            str(hit.label), hit.snippet, hit.quads  # they are made when they are asked for
    except (TypeError, ValueError):
        if not given["options"]:
            raise


RUN: dict[str, Callable[[World, dict[str, Any]], None]] = {
    "document": document,
    "query": query,
    "update": update,
    "words": words,
}


def run(world: World, given: dict[str, Any]) -> str | None:
    """Run a case; gives what went wrong. Whatever fails leaves the world as it was."""
    kind = given["kind"]
    before = None if kind == "words" else (len(world), len(world.history(1)))
    try:
        RUN[kind](world, given)
    except WorldsError as error:
        if isinstance(error.__cause__, MemoryError) and "longer than" not in str(error):
            return f"memory: {error}"
        if before is not None and before != (len(world), len(world.history(1))):
            return f"the world changed, though it failed: {error!r}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return traceback.format_exc()[-3000:]
    return None


def in_process(kind: str, seed: int, first: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    number, world = first, fresh()
    while kind != "past" or number < len(PAST):
        say(number)
        begin = time.monotonic()
        wrong = run(world, case(kind, seed, number))
        if wrong is None and time.monotonic() - begin > SLOW:
            wrong = f"it took {time.monotonic() - begin:.1f} seconds"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if wrong is None and peak > MOST_GROWTH:
            wrong = f"the process came to hold {peak >> 20} MB"
        if wrong is not None:
            say({"wrong": wrong})
            if peak > MOST_GROWTH:
                return
        number += 1
        if (number - first) % _RENEWED == 0:
            if not world.check().ok:
                say({"wrong": f"check() fails after the cases up to {number - 1}: {world.check().problems}"})
            world.close()
            world = fresh()


def over_http(seed: int, first: int, url: str, key: str) -> None:
    """Send requests; after each one the server answers a well-behaved client at once."""
    host, port = str(urlsplit(url).hostname), int(urlsplit(url).port or 80)
    number = first
    while True:
        say(number)
        data = base64.b64decode(case("request", seed, number)["data"]).replace(b"Bearer KEY", b"Bearer " + key.encode())
        begin = time.monotonic()
        answer = exchanged(host, port, data, 2.0)  # it may wait for more of it
        if b"HTTP/1.1 500" in answer[:20]:
            say({"wrong": f"500: {answer[-1000:]!r}"})
        asked = time.monotonic()
        health = exchanged(host, port, b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", SLOW)
        if b" 200 " not in health[:20]:
            say({"wrong": f"no health: {health!r}, {time.monotonic() - begin:.1f} s"})
        elif time.monotonic() - asked > 1:
            say({"wrong": f"others waited {time.monotonic() - asked:.1f} seconds"})
        number += 1


def exchanged(host: str, port: int, data: bytes, patience: float) -> bytes:
    """What the server answers to some bytes, as far as it comes in time."""
    answer = b""
    end = time.monotonic() + patience
    try:
        with socket.create_connection((host, port), timeout=patience) as connection:
            connection.sendall(data)
            while (left := end - time.monotonic()) > 0 and len(answer) < 1 << 20:
                connection.settimeout(left)
                piece = connection.recv(1 << 16)
                if not piece:
                    break
                answer += piece
    except OSError:  # it may close whenever it has seen enough
        pass
    return answer


if __name__ == "__main__":
    kind, seed, first, *served = sys.argv[1:]
    if kind == "request":
        over_http(int(seed), int(first), *served)
    else:
        in_process(kind, int(seed), int(first))
