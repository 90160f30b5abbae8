"""The server for long: `python -m benchmarks.soak [--minutes 10] [--clients 16] [--seed 1]`.

A real `worlds serve` of a folder, on loopback, whose embedder costs next to nothing. Of 16 clients ten read (searches,
SPARQL, history, statistics), four write (add, remove, update, undo) to two worlds that stay, and two make worlds, write
to them and delete them, each as fast as it is answered. Every minute the memory of each process is noted. At the end
the server stops, and what is left in the folder is told, and what `check` finds in the worlds. The clients are threads
of this process and use the same processors.
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
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx

import worlds
from benchmarks.common import environment, table
from benchmarks.server import EMBEDDER
from worlds.server.keys import KeyStore, key_file

_KEPT = ("first", "second")
_WORDS = ["heron", "kite", "lake", "pine", "river", "stone", "willow"]
_FINE = {200, 201, 204}
# Two that write at once: what one would undo, the other has changed; a world was deleted meanwhile.
_MAY_BE = {"undo": {409}, "world": {404, 409}}


class Load:
    """What the clients ask, and what they were answered."""

    def __init__(self, url: str, key: str, seed: int) -> None:
        self._url, self._key, self._seed = url, key, seed
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.strange: list[str] = []
        self._over = threading.Event()

    def run(self, clients: int, minutes: float, each_minute: Callable[[], None]) -> None:
        """Let all clients ask for so long."""
        kinds = [self._read, self._read, self._read, self._write, self._read, self._make, self._write, self._read]
        threads = [
            threading.Thread(target=self._ask, args=(kinds[number % len(kinds)], number)) for number in range(clients)
        ]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 60 * minutes
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(60, left))
            each_minute()
        self._over.set()
        for thread in threads:
            thread.join()

    def _ask(self, kind: Callable[[Any, random.Random, int], None], number: int) -> None:
        chance = random.Random(f"{self._seed} {number}")
        with httpx.Client(base_url=self._url, headers={"Authorization": f"Bearer {self._key}"}, timeout=120) as client:
            while not self._over.is_set():
                try:
                    kind(client, chance, number)
                except httpx.HTTPError as error:
                    self.strange.append(repr(error))

    def _send(self, client: httpx.Client, what: str, method: str, path: str, **options: Any) -> Any:
        began = time.monotonic()
        response = client.request(method, path, **options)
        self.seconds[what].append(time.monotonic() - began)
        self.statuses[what, response.status_code] += 1
        if response.status_code not in _FINE | _MAY_BE.get(what, set()):
            self.strange.append(f"{what}: {response.status_code} {response.text[:300]}")
        return response

    def _read(self, client: httpx.Client, chance: random.Random, number: int) -> None:
        world, word = chance.choice(_KEPT), chance.choice(_WORDS)
        kind = chance.randrange(8)
        if kind < 4:
            found = self._send(client, "search", "GET", f"/worlds/{world}/search", params={"q": word, "limit": 5})
            if not all(hit["quads"] for hit in found.json().get("hits", [])):
                self.strange.append("a hit without quads")
        elif kind < 6:
            query = f'SELECT * {{ ?s ?p ?o FILTER(CONTAINS(STR(?o), "{word}")) }} LIMIT 20'
            self._send(client, "query", "GET", f"/worlds/{world}/sparql?{urlencode({'query': query})}")
        else:
            self._send(client, "history", "GET", f"/worlds/{world}/history", params={"limit": 10})

    def _write(self, client: httpx.Client, chance: random.Random, number: int) -> None:
        world = chance.choice(_KEPT)
        subject = f"urn:{number}:{chance.randrange(500)}"
        line = f'<{subject}> <urn:note> "{" ".join(chance.choices(_WORDS, k=8))} {chance.randrange(10**6)}" .'
        change = self._send(client, "write", "POST", f"/worlds/{world}/quads", json={"add": line}).json()
        kind = chance.randrange(3)
        if kind == 0 and change.get("revision"):
            self._send(client, "undo", "POST", f"/worlds/{world}/history/{change['revision']}/undo", json={})
        elif kind == 1:
            self._send(client, "write", "POST", f"/worlds/{world}/quads", json={"remove": line})
        else:
            update = f"DELETE WHERE {{ <{subject}> ?p ?o }}"
            self._send(client, "update", "POST", f"/worlds/{world}/sparql", data={"update": update})

    def _make(self, client: httpx.Client, chance: random.Random, number: int) -> None:
        name = f"/worlds/made{chance.randrange(3)}"
        self._send(client, "world", "PUT", name)
        for _ in range(chance.randrange(4)):
            self._send(client, "world", "POST", f"{name}/quads", json={"add": f'<urn:a> <urn:p> "{chance.random()}" .'})
        self._send(client, "world", "GET", f"{name}/search", params={"q": "kite"})
        self._send(client, "world", "DELETE", name)


def memory(server: int) -> dict[str, float]:
    """The memory of each process that is its own, in MB: of the server, and of its workers by their number."""
    found: dict[str, float] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if int(folder.name) == server or parent == server:
                    status = (folder / "status").read_text()
                    name = "server" if int(folder.name) == server else f"worker {folder.name}"
                    found[name] = int(status.partition("RssAnon:")[2].split()[0]) / 1024
            except (OSError, IndexError):
                continue  # it has ended meanwhile
    return found


def main() -> None:
    """Run it, and print the tables."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    environment()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "worlds"
        folder.mkdir()
        for kept in _KEPT:
            worlds.open(folder / f"{kept}.db", embedder=None).close()
        key = KeyStore(key_file(folder)).add("soak", {"*": "admin"})[1]
        log = Path(name) / "log"
        command = [sys.executable, "-m", "worlds", "serve", str(folder), "--port", "0", "--embedder", EMBEDDER]
        with (
            log.open("w") as errors,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as run,
        ):
            assert run.stdout is not None
            load = Load(run.stdout.readline().rpartition(" ")[2].strip(), key, given.seed)
            held: list[dict[str, float]] = []
            load.run(given.clients, given.minutes, lambda: held.append(memory(run.pid)))
            run.terminate()
            code = run.wait(60)
        rows = []
        for what, took in sorted(load.seconds.items()):
            ordered = sorted(took)
            errors_of = sum(n for (kind, status), n in load.statuses.items() if kind == what and status >= 500)
            rows.append(
                [what, len(took), errors_of, 1000 * statistics.median(took)]
                + [1000 * ordered[int(len(ordered) * share)] for share in (0.99, 0.999)]
                + [1000 * ordered[-1]]
            )
        columns = ["request", "answers", "of them 5xx", "median, ms", "p99, ms", "p99.9, ms", "longest, ms"]
        table(f"{given.clients} clients, {given.minutes:g} minutes", columns, rows)
        minutes = [*range(1, len(held) + 1)]
        shown = sorted({minutes[0], minutes[len(minutes) // 2], minutes[-1]})
        names = sorted({process for one in held for process in one})
        table(
            "Memory of each process, MB",
            ["process", *(f"minute {minute}" for minute in shown)],
            [[process, *(held[minute - 1].get(process, "-") for minute in shown)] for process in names],
        )
        tracebacks = log.read_text().count("Traceback")
        left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
        print(f"\nThe server ended with {code}; tracebacks in its log: {tracebacks}; left: {', '.join(left)}")
        for kept in _KEPT:
            with worlds.open(folder / f"{kept}.db", embedder=None) as world:
                found = world.check().problems or "sound"
                print(f"{kept}: {len(world):,} quads, {len(world.history()):,} revisions; {found}")
        for one, count in Counter(load.strange).most_common(10):
            print(f"strange, {count} times: {one}")


if __name__ == "__main__":
    main()
