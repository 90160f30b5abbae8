"""Runs cases in a process that may die: `python -m tests.attack.worker KIND SEED FIRST LAST [limited | URL KEY LOG]`.

LAST is the number after the last. Before each case it says the case's number; of one that went wrong it says what
happened, as JSON; and now and then, how much memory it came to hold. Queries have no limits of their own, unless they
are `limited`: where this process is stopped by one, its limits are what is to be tried.
"""

from __future__ import annotations

import base64
import itertools
import json
import resource
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.attack.cases import case
from tests.sparql.test_fuzz import fresh
from worlds import World, WorldsError

MOST_MEMORY = 3 << 30  # bytes of address space
MOST_GROWTH = 1 << 30  # bytes that a process may come to hold
SLOW = 10.0  # seconds
PATIENCE = 3 * SLOW  # seconds after which the system ends a process: those of a busy machine, too
_RENEWED = 100  # cases
_LIMIT = 2.0  # seconds that are given to a query or an update
_HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_CLIENTS = 4  # that send requests at a time


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
    limits: dict[str, Any] = {"timeout": _LIMIT, "max_memory": 1 << 29} if given.get("limited") else {}
    answer = world.query(given["text"], max_results=2000, **limits)
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
        if "died of signal" in str(error) or "pyoxigraph failed" in str(error):
            return f"a crash: {error}"
        if before is not None and before != (len(world), len(world.history(1))):
            return f"the world changed, though it failed: {error!r}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return traceback.format_exc()[-3000:]
    return None


def in_process(kind: str, seed: int, first: int, last: int, limited: bool) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    world, patience = fresh(), _LIMIT if kind == "query" and not limited else PATIENCE
    for number in range(first, last):
        say(number)
        begin = time.monotonic()
        signal.setitimer(signal.ITIMER_REAL, patience)
        wrong = run(world, {"limited": limited, **case(kind, seed, number)})
        signal.setitimer(signal.ITIMER_REAL, 0)
        if wrong is None and time.monotonic() - begin > SLOW:
            wrong = f"it took {time.monotonic() - begin:.1f} seconds"
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        if wrong is None and peak > MOST_GROWTH:
            wrong = f"the process came to hold {peak >> 20} MB"
        if wrong is not None:
            say({"wrong": wrong})
            if peak > MOST_GROWTH:
                return
        if (number + 1 - first) % _RENEWED == 0 or number + 1 == last:
            if not (checked := world.check()).ok:
                say({"wrong": f"check() fails after the cases up to {number}: {checked.problems}"})
            say({"peak": peak})
            world.close()
            world = fresh()


def over_http(seed: int, first: int, last: int, url: str, key: str, log: str) -> None:
    """Send requests; after each one the server answers a well-behaved client at once, and logs no traceback."""
    host, port = str(urlsplit(url).hostname), int(urlsplit(url).port or 80)
    numbers = itertools.chain(range(first, last))
    logged, saying = Path(log).open(encoding="utf-8", errors="replace"), threading.Lock()  # noqa: SIM115
    logged.seek(0, 2)

    def send() -> None:
        while True:
            with saying:
                if (number := next(numbers, None)) is None:
                    return
                say(number)
            data = base64.b64decode(case("request", seed, number)["data"]).replace(
                b"Bearer KEY", f"Bearer {key}".encode()
            )
            for _ in range(3):  # a machine at work keeps others waiting, too, but seldom thrice at the same case
                answer = exchanged(host, port, data, 2.0)  # it may wait for more of it
                wrong = [f"500: {answer[-1000:]!r}"] if b"HTTP/1.1 500" in answer[:20] else []
                asked = time.monotonic()
                health = exchanged(host, port, _HEALTH, SLOW)
                waited = time.monotonic() - asked
                if b" 200 " not in health[:20]:
                    wrong.append(f"no health: {health!r}, {waited:.1f} s")
                if wrong or waited < 1:
                    break
            else:
                wrong.append(f"others waited {waited:.1f} seconds")
            with saying:
                _, traceback, told = logged.read().partition("Traceback")
                if traceback:
                    wrong.append(f"one of the last {2 * _CLIENTS} cases: {traceback}{told[:3000]}")
                for one in wrong:
                    say({"wrong": f"about case {number}: {one}"})

    threads = [threading.Thread(target=send) for _ in range(_CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


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
    kind, seed, first, last, *given = sys.argv[1:]
    if kind == "request":
        over_http(int(seed), int(first), int(last), *given)
    else:
        in_process(kind, int(seed), int(first), int(last), "limited" in given)
