"""The server for long: `python -m benchmarks.soak [--minutes 10] [--clients 16] [--seed 1] [--replica]`.

A real `worlds serve` of a folder, on loopback, whose embedder costs next to nothing. Of 16 clients ten read (searches,
SPARQL, history, statistics), four write (add, remove, update, undo) to two worlds that stay, and two make worlds, write
to them and delete them, each as fast as it is answered. With `--replica` the server answers from the replica of one
world on a primary, to which it forwards every write; twelve read and four write.

Every minute it notes the memory and the open files of each process, and how many processes, files (in the folder of the
worlds and in that for temporary files) and bytes of log there are. At the end the server stops, and what is left in the
folder is told, the log beside a line for each request, and what `check` finds in the worlds. The clients are threads
of this process and use the same processors.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx

import worlds
from benchmarks.common import environment, table
from benchmarks.server import EMBEDDER
from worlds.doors.server.keys import KeyStore

_KEPT = ("first", "second")
_WORDS = ["heron", "kite", "lake", "pine", "river", "stone", "willow"]
_FINE = {200, 201, 204}
# Two that write at once: what one would undo, the other has changed; a world was deleted meanwhile.
_MAY_BE = {"undo": {409}, "world": {404, 409}}


class Load:
    """What the clients ask, and what they were answered."""

    def __init__(self, url: str, key: str, seed: int, worlds_: list[str]) -> None:
        self._url, self._key, self._seed, self._worlds = url, key, seed, worlds_
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.strange: list[str] = []
        self._over = threading.Event()

    def run(self, clients: int, minutes: float, each_minute: Callable[[], None]) -> None:
        """Let all clients ask for so long."""
        make = self._read if self._worlds == [""] else self._make
        kinds = [self._read, self._read, self._read, self._write, self._read, make, self._write, self._read]
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
        world, word = chance.choice(self._worlds), chance.choice(_WORDS)
        kind = chance.randrange(8)
        if kind < 4:
            found = self._send(client, "search", "GET", f"{world}/search", params={"q": word, "limit": 5})
            if not all(hit["quads"] for hit in found.json().get("hits", [])):
                self.strange.append("a hit without quads")
        elif kind < 6:
            query = f'SELECT * {{ ?s ?p ?o FILTER(CONTAINS(STR(?o), "{word}")) }} LIMIT 20'
            self._send(client, "query", "GET", f"{world}/sparql?{urlencode({'query': query})}")
        else:
            self._send(client, "history", "GET", f"{world}/history", params={"limit": 10})

    def _write(self, client: httpx.Client, chance: random.Random, number: int) -> None:
        world = chance.choice(self._worlds)
        subject = f"urn:{number}:{chance.randrange(500)}"
        line = f'<{subject}> <urn:note> "{" ".join(chance.choices(_WORDS, k=8))} {chance.randrange(10**6)}" .'
        change = self._send(client, "write", "POST", f"{world}/quads", json={"add": line}).json()
        kind = chance.randrange(3)
        if kind == 0 and change.get("revision"):
            self._send(client, "undo", "POST", f"{world}/history/{change['revision']}/undo", json={})
        elif kind == 1:
            self._send(client, "write", "POST", f"{world}/quads", json={"remove": line})
        else:
            update = f"DELETE WHERE {{ <{subject}> ?p ?o }}"
            self._send(client, "update", "POST", f"{world}/sparql", data={"update": update})

    def _make(self, client: httpx.Client, chance: random.Random, number: int) -> None:
        name = f"/worlds/made{chance.randrange(3)}"
        self._send(client, "world", "PUT", name)
        for _ in range(chance.randrange(4)):
            self._send(client, "world", "POST", f"{name}/quads", json={"add": f'<urn:a> <urn:p> "{chance.random()}" .'})
        self._send(client, "world", "GET", f"{name}/search", params={"q": "kite"})
        self._send(client, "world", "DELETE", name)


def held(server: int, folders: list[Path], log: Path) -> dict[str, float]:
    """The memory (MB) and the open files of each process that descends from the server's; how many there are of all."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    family = {server}
    while more := {process for process, parent in parents.items() if parent in family} - family:
        family |= more
    found: dict[str, float] = {}
    for process in sorted(family):
        with contextlib.suppress(OSError, IndexError):  # it has ended meanwhile
            status = Path(f"/proc/{process}/status").read_text()
            name = "server" if process == server else f"{status.split()[1]} {process}"
            found[f"{name}, MB"] = int(status.partition("RssAnon:")[2].split()[0]) / 1024
            found[f"{name}, open files"] = sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())
    found["processes"] = len(family)
    found["files"] = sum(1 for folder in folders for _ in folder.rglob("*"))
    found["log, kB"] = log.stat().st_size / 1000
    return found


@contextlib.contextmanager
def served(folder: Path, replica: bool) -> Iterator[tuple[list[str], list[str], dict[str, str], Callable[[], object]]]:
    """The arguments of `worlds serve`, the paths of the worlds, its environment, and the check of the worlds."""
    if not replica:
        for kept in _KEPT:
            worlds.open(folder / f"{kept}.db", embedder=None).close()
        yield (
            [str(folder)],
            [f"/worlds/{kept}" for kept in _KEPT],
            {},
            lambda: [check(folder / f"{k}.db") for k in _KEPT],
        )
        return
    from worlds.extras.remote.file_transfer import push
    from worlds.extras.remote.primary import Primary

    with tempfile.TemporaryDirectory() as name, Primary(Path(name) / "primary") as primary:
        assert primary.keys is not None
        worlds.open(Path(name) / "kb.db", embedder=None).close()
        url = f"{primary.address}/kb"
        push(Path(name) / "kb.db", url, key=primary.keys.admin)
        told = [str(folder / "kb.db"), "--follow", url]
        yield told, [""], {"WORLDS_PRIMARY_TOKEN": primary.keys.token("kb")}, lambda: check(folder / "kb.db")


def check(file: Path) -> None:
    """Print what `World.check` finds."""
    with worlds.open(file, embedder=None, read_only=True) as world:
        found = world.check().problems or "sound"
        print(f"{file.stem}: {len(world):,} quads, {len(world.history()):,} revisions; {found}")


def main() -> None:
    """Run it, and print the tables."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replica", action="store_true", help="serve a replica, and write to its primary")
    given = parser.parse_args()
    environment()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder, passing, log = Path(name) / "worlds", Path(name) / "tmp", Path(name) / "log"
        folder.mkdir()
        passing.mkdir()
        told, paths, environ, check_all = stack.enter_context(served(folder, given.replica))
        place = folder / "kb.db" if given.replica else folder
        keys = Path(name) / "keys.json"
        key = KeyStore(keys).add("soak", {"*": "admin"})[1]
        command = [sys.executable, "-m", "worlds", "serve", *told, "--port", "0", "--embedder", EMBEDDER]
        with (
            log.open("w") as errors,
            subprocess.Popen(
                [*command, "--key-file", str(keys)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **environ, "TMPDIR": str(passing)},
            ) as run,
        ):
            assert run.stdout is not None
            load = Load(run.stdout.readline().rpartition(" ")[2].strip(), key, given.seed, paths)
            seen: list[dict[str, float]] = []
            load.run(given.clients, given.minutes, lambda: seen.append(held(run.pid, [folder, passing], log)))
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
        minutes = [*range(1, len(seen) + 1)]
        shown = sorted({*minutes[:: max(1, len(minutes) // 6)], minutes[-1]})
        table(
            f"What is held: by {place.name}'s server, and beside it",
            ["", *(f"minute {minute}" for minute in shown)],
            [
                [one, *(seen[minute - 1].get(one, "-") for minute in shown)]
                for one in dict.fromkeys(one for each in seen for one in each)
                if sum(one in each for each in seen) > 1
            ],
        )
        tracebacks = log.read_text().count("Traceback")
        left = sorted(str(path.relative_to(name)) for place in (folder, passing) for path in place.rglob("*"))
        print(f"\nThe server ended with {code}; tracebacks in its log: {tracebacks}; left: {', '.join(left)}")
        requests = re.compile(r"(?m)^[0-9:]+ (GET|POST|PUT|DELETE) .*\n")
        print(f"The log beside its requests: {requests.sub('', log.read_text())[-3000:]}")
        check_all()
        for one, count in Counter(load.strange).most_common(10):
            print(f"strange, {count} times: {one}")


if __name__ == "__main__":
    main()
