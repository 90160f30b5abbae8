"""Runs cases in a process that may die.

    python -m tests.attack.worker KIND SEED FIRST LAST [limited | URL KEY LOG PID]

LAST is the number after the last. Before each case it says the case's number; of one that went wrong it says what
happened, as JSON; and now and then, how much memory it came to hold. Queries have no limits of their own, unless they
are `limited`: where this process is stopped by one, its limits are what is to be tried.

A case's time is the processor time of this process and of those that it started, since a machine at work makes any case
long. Whoever waits for something that does not come uses none: whoever started this process sees that it says nothing.
Of a server, the time in which the system gave the processor to others does not count.
"""

from __future__ import annotations

import base64
import functools
import itertools
import json
import random
import re
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import rdflib

import worlds
from tests.attack.cases import case
from tests.sparql.test_fuzz import fresh
from tests.support.strange import KINDS as STRANGE
from worlds import World, WorldsError
from worlds.core.search.options import gathered

MOST_MEMORY = 3 << 30  # bytes of address space
MOST_GROWTH = 1 << 30  # bytes that a process may come to hold
SLOW = 10.0  # seconds of processor time
PATIENCE = 2 * SLOW  # seconds of processor time after which the system ends a process
_RENEWED = 100  # cases
_LIMIT = 2.0  # seconds that are given to a query or an update
_HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_NO_WORKER = 60.0  # seconds in which one of the server's workers is free
_CLIENTS = 4  # that send requests at a time


def say(value: object) -> None:
    print(json.dumps(value), flush=True)


def document(world: World, given: dict[str, Any]) -> None:
    data, format = base64.b64decode(given["data"]), given["format"]
    if format == "patch":
        world.revisions.apply(data, strict=False, max_unpacked=10_000_000, embed=False)
    elif format in ("markdown", "html"):
        world.sources.add_document("urn:document", data, format=format, embed=False)
    else:
        world.load(data, format=format, base="http://base/", max_unpacked=10_000_000, embed=False)


def query(world: World, given: dict[str, Any]) -> None:
    limits: dict[str, Any] = {"timeout": _LIMIT, "max_memory": 1 << 29} if given.get("limited") else {}
    answer = world.query(given["text"], max_results=2000, **limits)
    if not isinstance(answer, bool):
        answer.serialize()


def kept(world: World, given: dict[str, Any]) -> None:
    """A hostile query that is kept with a question, by whoever wrote the file, changes nothing and takes no time."""
    data, said = set(world.quads()), rdflib.Graph()
    said.add((rdflib.URIRef("urn:kept"), rdflib.RDFS.comment, rdflib.Literal("What is kept here?")))
    said.add((rdflib.URIRef("urn:kept"), rdflib.SH.select, rdflib.Literal(given["text"])))
    try:
        world.questions.load(said)
        known = set(world.quads())
        world.context("What is kept here?", budget=500)
        world.questions.check()
        assert set(world.quads()) == known
    finally:
        world.questions.load(b"", format="nt", mode="replace")
    assert set(world.quads()) == data


def update(world: World, given: dict[str, Any]) -> None:
    world.update(given["text"], timeout=_LIMIT, embed=False)


def words(world: World, given: dict[str, Any]) -> None:
    try:
        for hit in world.search(given["text"], **gathered(given["options"])):
            str(hit.label), hit.snippet, hit.quads  # they are made when they are asked for
    except (TypeError, ValueError):
        if not given["options"]:
            raise


@functools.cache
def whole() -> bytes:
    """The file of a world."""
    with tempfile.TemporaryDirectory() as folder, fresh() as world:
        path = Path(folder) / "kb.db"
        world.file.backup(path)
        return path.read_bytes()


def file(_: World, given: dict[str, Any]) -> None:
    chance = random.Random(given["seed"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.db"
        path.write_bytes(whole())
        chance.choice(STRANGE)(path, chance)
        with worlds.open(path, embedder=None, read_only=True) as other:
            other.check()
            other.stats()
            other.search("kite", mode="text")
            list(other.quads())
            other.query("SELECT * { ?s ?p ?o }")


RUN: dict[str, Callable[[World, dict[str, Any]], None]] = {
    "document": document,
    "query": query,
    "update": update,
    "kept": kept,
    "words": words,
    "file": file,
}


def run(world: World, given: dict[str, Any]) -> str | None:
    """Run a case; gives what went wrong. Whatever fails leaves the world as it was."""
    kind = given["kind"]
    before = None if kind in ("query", "words", "file") else (len(world), len(world.history(1)))
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


def used() -> tuple[float, int]:
    """Seconds of processor time of this process and its children, and the bytes that one of them came to hold."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    # Its own is read elsewhere: ru_maxrss counts what the process that began this one held.
    (own,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return sum(one.ru_utime + one.ru_stime for one in usages), max(int(own), usages[1].ru_maxrss) * 1024


def kept_waiting(process: str) -> float:
    """Seconds that the main thread of a process was ready to run, and the system let others run."""
    return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9


def in_process(kind: str, seed: int, first: int, last: int, limited: bool) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    world, patience = fresh(), _LIMIT if kind == "query" and not limited else PATIENCE
    for number in range(first, last):
        say(number)
        given, begin = {"limited": limited, **case(kind, seed, number)}, used()[0]
        signal.setitimer(signal.ITIMER_PROF, patience)
        wrong = run(world, given)
        signal.setitimer(signal.ITIMER_PROF, 0)
        end, peak = used()
        if wrong is None and end - begin > SLOW:
            wrong = f"it took {end - begin:.1f} seconds"
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


def over_http(seed: int, first: int, last: int, url: str, key: str, log: str, process: str) -> None:
    """Send requests; after each one the server answers a well-behaved client at once, a worker of it does so in time,
    and it logs no traceback.
    """
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
            wrong = []
            for _ in range(3):  # this process keeps its own threads waiting, too, but seldom thrice at the same case
                answer = exchanged(host, port, data, 2.0)  # it may wait for more of it
                if b"HTTP/1.1 500" in answer[:20]:
                    wrong.append(f"500: {answer[-1000:]!r}")
                begin = time.monotonic() - kept_waiting(process) - kept_waiting("thread-self")
                alive = exchanged(host, port, _HEALTH.replace(b"health", b"health/live"), PATIENCE)
                waited = time.monotonic() - kept_waiting(process) - kept_waiting("thread-self") - begin
                if wrong or (waited < 1 and b" 200 " in alive[:20]):
                    break
            else:
                wrong.append(f"others waited {waited:.1f} seconds: {alive!r}")
            until = time.monotonic() + _NO_WORKER
            while b" 200 " not in (health := exchanged(host, port, _HEALTH, PATIENCE))[:20]:
                if time.monotonic() > until:
                    wrong.append(f"no health: {health!r}")
                    break
                time.sleep(1)
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
