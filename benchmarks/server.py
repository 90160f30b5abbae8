"""The server under load: `python -m benchmarks.server [--rows 50000] [--seconds 60] [--clients 16]`.

A world of `rows` entities with one text each, 384 dimensions, in 400 topics, four quads an entity, is served by a real
`worlds serve` on loopback. First one client, then many at once ask for `seconds`, half of it searches (hybrid, some
with filters), half of it SPARQL (a lookup, a join, a count, a search inside of a query), each over a connection that it
keeps; all that time one more client writes an entity every `pause` seconds and reads it back over a connection of its
own. The clients are threads of this process and use the same processors. Latencies are those that the clients see.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import numpy as np
from numpy.typing import NDArray

import worlds
from benchmarks.common import Sentences, environment, table, vocabulary

DIMENSION = 384
TOPICS = 400
EX = "https://example.org/"
EMBEDDER = "benchmarks.server:Synthetic"
_TICKS = os.sysconf("SC_CLK_TCK")


class Synthetic:
    """An embedder that costs next to nothing: a vector for each word, summed. Worker processes make one for themselves.

    A word that begins with "topic" counts for more, so that texts of one topic are near each other.
    """

    name = "synthetic"
    dimension = DIMENSION
    max_tokens = 100_000

    def __init__(self) -> None:
        self._table = np.random.default_rng(0).normal(size=(1024, DIMENSION)).astype(np.float32)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        total = np.full(DIMENSION, 1e-6, np.float32)
        for word in text.split():
            number = zlib.crc32(word.encode())
            weight = 8.0 if word.startswith("topic") else 1.0
            total += weight * (self._table[number % 1024] - self._table[number // 1024 % 1024])
        return total / np.linalg.norm(total)


def build(path: Path, rows: int) -> list[str]:
    """Make the world; gives its texts."""
    words = Sentences(vocabulary(20_000), 0)
    rng = random.Random(0)
    texts = [f"topic{rng.randrange(TOPICS)} {words(rng.randint(10, 60))}" for _ in range(rows)]
    with worlds.open(path, embedder=Synthetic(), vector_index=False) as world:
        quads = []
        for row, text in enumerate(texts):
            entity = f"{EX}e{row}"
            quads += [
                (entity, f"{EX}text", f'"{text}"'),
                (entity, "rdf:type", f"{EX}Class{row % 20}"),
                (entity, f"{EX}number", row),
                (entity, f"{EX}next", f"{EX}e{(row * 7 + 1) % rows}"),
            ]
        world.add(quads)
        world.query("ASK {}")
    return texts


# --- the server -------------------------------------------------------------------------------------------------------


class Server:
    """`worlds serve`, as anybody would start it."""

    def __init__(self, path: Path) -> None:
        command = [sys.executable, "-m", "worlds", "serve", str(path), "--port", "0", "--allow-writes"]
        self._process = subprocess.Popen(
            [*command, "--embedder", EMBEDDER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if " at http" not in line:
            raise SystemExit(f"the server did not start: {line}")
        self.address = urlsplit(line.rpartition(" ")[2].strip()).netloc

    def memory(self) -> tuple[int, int, int]:
        """The number of its processes, their resident MB, and those of them that are their own and no file's."""
        pids = [self._process.pid, *_children(self._process.pid)]
        figures = [_resident(pid) for pid in pids]
        return len(pids), sum(whole for whole, _ in figures), sum(own for _, own in figures)

    def processor_seconds(self) -> float:
        """That its processes have used so far."""
        pids = [self._process.pid, *_children(self._process.pid)]
        fields = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids)
        return sum(int(each[11]) + int(each[12]) for each in fields) / _TICKS

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=60)


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *_children(child)]
    return found


def _resident(pid: int) -> tuple[int, int]:
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return int(lines["VmRSS"].split()[0]) // 1024, int(lines["RssAnon"].split()[0]) // 1024


# --- the clients ------------------------------------------------------------------------------------------------------


class Client:
    """One client with one connection."""

    def __init__(self, address: str, texts: list[str], seed: int) -> None:
        self._connection = http.client.HTTPConnection(address, timeout=120)
        self._texts = texts
        self._rng = random.Random(seed)
        self.times: dict[str, list[float]] = {}  # kind → seconds
        self.errors: list[str] = []

    def run(self, until: float) -> None:
        kinds: list[tuple[str, Callable[[], str]]] = [
            ("search", self._search),
            ("lookup", self._lookup),
            ("search, filtered", self._filtered),
            ("join", self._join),
            ("search", self._search),
            ("count", self._count),
            ("search", self._search),
            ("search in SPARQL", self._search_in_sparql),
        ]
        at = self._rng.randrange(len(kinds))
        while time.perf_counter() < until:
            kind, path = kinds[at % len(kinds)]
            self.ask(kind, "GET", path())
            at += 1
        self._connection.close()

    def ask(self, kind: str, method: str, path: str, body: bytes | None = None, type_: str | None = None) -> bytes:
        began = time.perf_counter()
        headers = {"Content-Type": type_} if type_ else {}
        try:
            self._connection.request(method, path, body, headers)
            response = self._connection.getresponse()
            content = response.read()
            if response.status >= 300:
                self.errors.append(f"{kind}: {response.status} {content[:200].decode(errors='replace')}")
        except (OSError, http.client.HTTPException) as error:
            self.errors.append(f"{kind}: {error!r}")
            self._connection.close()
            return b""
        self.times.setdefault(kind, []).append(time.perf_counter() - began)
        return content

    def close(self) -> None:
        self._connection.close()

    def _words(self) -> str:
        words = self._rng.choice(self._texts).split()
        return " ".join([words[0], *self._rng.sample(words[1:], 4)])

    def _search(self) -> str:
        return "/search?" + urlencode({"q": self._words()})

    def _filtered(self) -> str:
        return "/search?" + urlencode({"q": self._words(), "types": f"{EX}Class{self._rng.randrange(20)}"})

    def _entity(self) -> str:
        return f"<{EX}e{self._rng.randrange(len(self._texts))}>"

    def _lookup(self) -> str:
        return _query(f"SELECT ?p ?o {{ {self._entity()} ?p ?o }}")

    def _join(self) -> str:
        return _query(f"SELECT ?b ?t {{ {self._entity()} <{EX}next>/<{EX}next> ?b . ?b <{EX}text> ?t }}")

    def _count(self) -> str:
        kind = self._rng.randrange(20)
        return _query(f"SELECT (COUNT(*) AS ?n) {{ ?s a <{EX}Class{kind}> ; <{EX}number> ?v FILTER(?v < 1000) }}")

    def _search_in_sparql(self) -> str:
        return _query(
            f'SELECT ?s ?v {{ SERVICE w:search {{ ?s w:query "{self._words()}" ; w:limit 10 }} ?s <{EX}number> ?v }}'
        )


def _query(text: str) -> str:
    return f"/sparql?query={quote(text)}"


class Writer:
    """Writes an entity, and reads it back over another connection."""

    def __init__(self, address: str, texts: list[str], pause: float, first: int) -> None:
        self._write = Client(address, texts, -1)
        self._read = Client(address, texts, -2)
        self._texts = texts
        self._pause = pause
        self.number = first
        self.lost = 0
        self.stopped = threading.Event()

    def run(self) -> None:
        while not self.stopped.wait(self._pause):
            entity = f"<{EX}new{self.number}>"
            text = f"{self._texts[self.number % len(self._texts)]} new{self.number}"
            update = f'INSERT DATA {{ {entity} <{EX}text> "{text}" ; a <{EX}Class1> ; <{EX}number> {self.number} }}'
            self._write.ask("write", "POST", "/sparql", update.encode(), "application/sparql-update")
            found = self._read.ask("read after it", "GET", _query(f"ASK {{ {entity} a ?type }}"))
            self.lost += b'"boolean":true' not in found
            self.number += 1
        self._write.close()
        self._read.close()

    @property
    def errors(self) -> list[str]:
        return self._write.errors + self._read.errors

    @property
    def times(self) -> dict[str, list[float]]:
        return {**self._write.times, **self._read.times}


def load(server: Server, texts: list[str], clients: int, seconds: float, pause: float, first: int) -> Phase:
    asking = [Client(server.address, texts, seed) for seed in range(clients)]
    writer = Writer(server.address, texts, pause, first)
    before = server.processor_seconds(), time.process_time()
    until = time.perf_counter() + seconds
    threads = [threading.Thread(target=client.run, args=(until,)) for client in asking]
    writing = threading.Thread(target=writer.run)
    for thread in (*threads, writing):
        thread.start()
    for thread in threads:
        thread.join()
    writer.stopped.set()
    writing.join()
    used = server.processor_seconds() - before[0], time.process_time() - before[1]
    return Phase(asking, writer, seconds, used)


class Phase:
    """What was measured."""

    def __init__(self, clients: list[Client], writer: Writer, seconds: float, used: tuple[float, float]) -> None:
        self.kinds: dict[str, list[float]] = {}
        for client in clients:
            for kind, times in client.times.items():
                self.kinds.setdefault(kind, []).extend(times)
        self.all = [seconds for times in self.kinds.values() for seconds in times]
        self.kinds |= writer.times
        self.rate = len(self.all) / seconds
        requests = sum(map(len, self.kinds.values()))
        self.cost = [1000 * each / max(1, requests) for each in used]  # ms a request, of the server and of the clients
        self.errors = [error for client in clients for error in client.errors] + writer.errors
        self.lost = writer.lost
        self.following = writer.number


def percentile(times: list[float], share: float) -> float:
    """Milliseconds."""
    return float(np.percentile(np.array(times), share)) * 1000 if times else float("nan")


def report(title: str, phase: Phase) -> None:
    rows = [
        (kind, len(times), percentile(times, 50), percentile(times, 95), percentile(times, 100))
        for kind, times in [*phase.kinds.items(), ("all that is read", phase.all)]
    ]
    table(title, ("request", "number", "median_ms", "p95_ms", "most_ms"), rows)
    for error in phase.errors[:5]:
        print("error:", error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between two writes")
    parser.add_argument("--world", type=Path, help="where the world is kept, to be used again")
    options = parser.parse_args()
    environment()
    with tempfile.TemporaryDirectory() as folder:
        path = options.world or Path(folder) / "served.db"
        texts_file = path.with_suffix(".json")
        if not path.exists():
            texts_file.write_text(json.dumps(build(path, options.rows)))
        texts: list[str] = json.loads(texts_file.read_text())
        server = Server(path)
        try:
            run(server, texts, options)
        finally:
            server.stop()


def run(server: Server, texts: list[str], options: argparse.Namespace) -> None:
    first = int(time.time())  # a world that is used again has other entities already
    warm = load(server, texts, options.clients, min(15.0, options.seconds / 2), options.pause, first)
    one = load(server, texts, 1, options.seconds, options.pause, warm.following)
    before = server.memory()
    many = load(server, texts, options.clients, options.seconds, options.pause, one.following)
    after = server.memory()
    report("one client", one)
    report(f"{options.clients} clients at once", many)
    median = percentile(one.all, 50)
    p95 = percentile(many.all, 95)
    table(
        "the whole",
        ("measure", "value", "aim"),
        [
            ("errors", len(warm.errors) + len(one.errors) + len(many.errors), "0"),
            ("acknowledged writes that were not read", warm.lost + one.lost + many.lost, "0"),
            ("requests a second, one client", one.rate, ""),
            (f"requests a second, {options.clients} clients", many.rate, ""),
            ("throughput ratio", many.rate / one.rate, "at least 1.5"),
            ("p95 of many / median of one", p95 / median, "at most 20"),
            ("processor ms a request, one client: server, clients", _pair(one.cost), ""),
            ("processor ms a request, many: server, clients", _pair(many.cost), ""),
            ("processes, after warm-up and at the end", f"{before[0]}, {after[0]}", ""),
            ("resident MB, after warm-up and at the end", f"{before[1]}, {after[1]}", ""),
            ("of them no file's, MB", f"{before[2]}, {after[2]}", "no growth"),
        ],
    )


def _pair(values: list[float]) -> str:
    return ", ".join(f"{value:.1f}" for value in values)


if __name__ == "__main__":
    os.environ.setdefault("XDG_CONFIG_HOME", tempfile.gettempdir())
    main()
