"""Who waits for whom: `python -m benchmarks.shares [--seconds 120] [--timeout 30]`, against a real `worlds serve`.

Guests beside four clients with a key, who never stop: each of the four asks searches, SPARQL that groups all quads, and
SPARQL without an end (which the time limit stops), at random; two guests ask the same but the endless, over a new
connection each time, and wait a moment between. Then a writer who adds a quad ten times a second, beside six clients
with a propose key who propose by a SPARQL Update over all quads, or by 500 quads, as fast as they are answered. Printed
are the answers' times and statuses. All clients are threads of this process, and use the same processors.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx

import worlds
from benchmarks.common import environment, table
from benchmarks.server import EMBEDDER
from worlds.doors.server.keys import keys_of

_GROUPING = "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p"
_ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
_WORDS = ["heron", "kite", "lake", "pine", "river", "stone", "willow"]


class Clients:
    """Threads that ask until they are told to stop, and what they were answered."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.seconds: dict[str, list[float]] = {}
        self.statuses: dict[str, Counter[int]] = {}
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self, name: str, key: str | None, count: int, pause: float, ask: Callable[..., httpx.Response]) -> None:
        """So many clients of a name, each of which calls `ask(client, chance)` and pauses."""
        self.seconds.setdefault(name, [])
        self.statuses.setdefault(name, Counter())
        for number in range(count):
            chance = random.Random(f"{name} {number}")
            self._threads.append(threading.Thread(target=self._run, args=(name, key, pause, ask, chance)))

    def run(self, seconds: float) -> None:
        """Let them all ask for so long."""
        for thread in self._threads:
            thread.start()
        time.sleep(seconds)
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _run(
        self, name: str, key: str | None, pause: float, ask: Callable[..., httpx.Response], chance: random.Random
    ) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        client = httpx.Client(base_url=self._url, headers=headers, timeout=120)
        while not self._over.is_set():
            if key is None:
                client.close()
                client = httpx.Client(base_url=self._url, timeout=120)
            began = time.monotonic()
            status = ask(client, chance).status_code
            self.seconds[name].append(time.monotonic() - began)
            self.statuses[name][status] += 1
            time.sleep(chance.uniform(0, 2 * pause))
        client.close()

    def rows(self) -> list[list[object]]:
        """A row for each name: how many answers, their times in seconds, and their statuses."""
        found = []
        for name, took in self.seconds.items():
            ordered = sorted(took)
            statuses = ", ".join(f"{count} × {status}" for status, count in sorted(self.statuses[name].items()))
            found.append(
                [name, len(took), statistics.median(took), ordered[int(len(took) * 0.95)], ordered[-1], statuses]
            )
        return found


def reading(client: httpx.Client, chance: random.Random, *, endless: bool) -> httpx.Response:
    """A search, a query that groups, or one without an end."""
    kind = chance.randrange(3 if endless else 2)
    if kind == 0:
        return client.get("/search", params={"q": " ".join(chance.choices(_WORDS, k=3))})
    return client.get("/sparql", params={"query": _GROUPING if kind == 1 else _ENDLESS})


def proposing(client: httpx.Client, chance: random.Random) -> httpx.Response:
    """A proposal by an update over all quads, or by 500 quads."""
    if chance.random() < 0.5:
        return client.post("/proposals", json={"update": "DELETE WHERE { ?s <urn:p1> ?o }", "why": "so"})
    lines = [f"<urn:{chance.random()}> <urn:p> <urn:o> ." for _ in range(500)]
    return client.post("/proposals", json={"add": lines, "why": "so"})


def adding(client: httpx.Client, chance: random.Random) -> httpx.Response:
    """One quad."""
    return client.post("/quads", json={"add": f'<urn:{chance.random()}> <urn:p> "a kite" .'})


def main() -> None:
    """Run it, and print the tables."""
    parser = argparse.ArgumentParser(prog="shares", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--quads", type=int, default=60_000)
    parser.add_argument("--timeout", type=int, default=30, help="the server's limit, seconds")
    given = parser.parse_args()
    environment()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.db"
        chance = random.Random(1)
        lines = (
            f'<urn:s{n}> <urn:p{n % 9}> "{" ".join(chance.choices(_WORDS, k=6))} {n}" .\n'
            if n % 10 == 0
            else f"<urn:s{n}> <urn:p{n % 9}> <urn:o{n % 999}> .\n"
            for n in range(given.quads)
        )
        with worlds.open(path, embedder=None) as world:
            world.load("".join(lines).encode(), format="nt")
        keys = {name: keys_of(path).add(name, {"*": name})[1] for name in ("read", "propose", "write")}
        command = [sys.executable, "-m", "worlds", "serve", str(path), "--port", "0", "--embedder", EMBEDDER]
        with (
            (Path(folder) / "log").open("w") as log,
            subprocess.Popen(
                [*command, "--timeout", str(given.timeout)], stdout=subprocess.PIPE, stderr=log, text=True
            ) as run,
        ):
            assert run.stdout is not None
            url = run.stdout.readline().rpartition(" ")[2].strip()
            columns = ["clients", "answers", "median, s", "p95, s", "longest, s", "statuses"]
            for name in ("guests", "writers"):
                clients = Clients(url)
                if name == "guests":
                    clients.start("with a key", keys["read"], 4, 0, lambda c, r: reading(c, r, endless=True))
                    clients.start("without", None, 2, 0.2, lambda c, r: reading(c, r, endless=False))
                else:
                    clients.start("six proposers", keys["propose"], 6, 0, proposing)
                    clients.start("one writer", keys["write"], 1, 0.1, adding)
                httpx.get(f"{url}/stats", timeout=60)
                clients.run(given.seconds)
                table(f"{name.capitalize()}, {given.seconds:g} s", columns, clients.rows())
            run.terminate()
            run.wait(60)


if __name__ == "__main__":
    main()
