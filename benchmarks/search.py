"""Search latency and recall beside a peer, in one process: `python -m benchmarks.search [--rows 50000]`.

The world: `rows` entities with one text each, 384 dimensions, in 400 topics; a query is near a stored text's vector
and uses some of its words. The peer: NumPy brute force over the eligible rows of a float32 matrix, FTS5 with the
eligible rowids, Reciprocal Rank Fusion in Python; it gets its eligible rows for nothing and gives bare ids. Worlds
resolves the filter by itself (the first time, a column of its own; then from its cache) and gives whole hits with
their quads and labels. Recall is that of the vector list, at 10, against exact float64 cosine.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import worlds
from benchmarks.common import STOP_WORDS, Sentences, environment, median, table, vocabulary
from worlds.core.search.words import expression, read_query
from worlds.sql.by_libsql import library

DIMENSION = 384
TOPICS = 400
EX = "https://example.org/"
LARGE = 500_000  # texts
BY_RANK = worlds.Ranking(fusion="rrf")
SELECTIVITIES = (0.0001, 0.001, 0.01, 0.1, 0.5, 1.0)


class Prepared:
    """An embedder that knows the vector of every text beforehand."""

    name = "prepared"
    dimension = DIMENSION
    max_tokens = 100_000

    def __init__(self) -> None:
        self.known: dict[str, NDArray[np.float32]] = {}

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        return np.stack([self.known[text] for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.known[text]


def unit(matrix: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(matrix / np.linalg.norm(matrix, axis=-1, keepdims=True), dtype=np.float32)


class Data:
    """Entities with texts, vectors, and the classes that the filters name."""

    def __init__(self, rows: int, repeated: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        words = Sentences(vocabulary(20_000), seed)
        lengths = random.Random(seed)
        self.topics = rng.integers(0, TOPICS, rows)
        centres = rng.normal(size=(TOPICS, DIMENSION))
        self.texts = [f"{words(lengths.randint(10, 80))} {seed}x{row}" for row in range(rows)]
        self.vectors = np.empty((rows, DIMENSION), dtype=np.float32)
        for begin in range(0, rows, 100_000):
            piece = centres[self.topics[begin : begin + 100_000]]
            self.vectors[begin : begin + 100_000] = unit(piece + 0.8 * rng.normal(size=piece.shape))
        for row in range(int(rows * repeated)):
            self.texts[row], self.vectors[row] = self.texts[0], self.vectors[0]
        self.classes: dict[str, NDArray[np.int64]] = {}
        order = rng.permutation(rows)
        for share in SELECTIVITIES[:-1]:
            self.classes[f"random {share:.2%}"] = np.sort(order[: max(1, round(rows * share))])
        by_topic = np.argsort(self.topics, kind="stable")
        for share in (0.01, 0.1):
            self.classes[f"far clusters {share:.0%}"] = np.sort(by_topic[: round(rows * share)])

    def quads(self, prefix: str) -> list[tuple[str, str, object]]:
        found: list[tuple[str, str, object]] = []
        for row, text in enumerate(self.texts):
            found.append((f"{EX}{prefix}{row}", f"{EX}text", worlds_literal(text)))
        for number, members in enumerate(self.classes.values()):
            found += [(f"{EX}{prefix}{row}", "rdf:type", f"{EX}Class{number}") for row in members]
        return found

    def queries(self, count: int, seed: int) -> list[tuple[str, NDArray[np.float32]]]:
        rng = np.random.default_rng(seed)
        chosen = rng.integers(len(self.texts) // 2, len(self.texts), count)
        noise = rng.normal(size=(count, DIMENSION)) * 0.3 / np.sqrt(DIMENSION)
        vectors = unit(self.vectors[chosen] + noise)
        content = [[word for word in self.texts[row].split()[:-1] if word not in STOP_WORDS] for row in chosen]
        texts = [" ".join(rng.choice(words or ["none"], 5)) for words in content]
        return list(zip(texts, vectors, strict=True))


def worlds_literal(text: str) -> object:
    import pyoxigraph as ox

    return ox.Literal(text)


class Peer:
    """What one would write by hand, with the eligible rows given."""

    def __init__(self, data: Data) -> None:
        # One row for each distinct text: what is found is texts, as in Worlds.
        first = {text: row for row, text in reversed(list(enumerate(data.texts)))}
        self.rows = np.array(sorted(first.values()))
        self.canonical = np.array([first[text] for text in data.texts])
        self.vectors = data.vectors
        self.connection = library.connect(":memory:", isolation_level=None)
        self.connection.execute("CREATE VIRTUAL TABLE fts USING fts5 (text, tokenize = 'porter unicode61')")
        self.connection.execute("BEGIN")
        for row in self.rows.tolist():
            self.connection.execute("INSERT INTO fts (rowid, text) VALUES (?, ?)", (row, data.texts[row]))
        self.connection.execute("COMMIT")

    def eligible(self, members: NDArray[np.int64] | None) -> NDArray[np.int64]:
        return self.rows if members is None else np.unique(self.canonical[members])

    def search(self, text: str, vector: NDArray[np.float32], eligible: NDArray[np.int64], every: bool) -> list[int]:
        matrix = self.vectors if every and len(eligible) == len(self.vectors) else self.vectors[eligible]
        similarity = matrix @ vector
        depth = min(100, len(eligible))
        best = np.argpartition(-similarity, depth - 1)[:depth]
        best = eligible[best[np.argsort(-similarity[best])]]
        match = expression(*read_query(text))
        if every:
            sql = "SELECT rowid FROM fts WHERE fts MATCH ? ORDER BY bm25(fts) LIMIT 100"
            found = self.connection.execute(sql, (match,)).fetchall()
        else:
            sql = (
                "SELECT rowid FROM fts WHERE fts MATCH ? AND +rowid IN (SELECT value FROM json_each(?)) "
                "ORDER BY bm25(fts) LIMIT 100"
            )
            found = self.connection.execute(sql, (match, str(eligible.tolist()))).fetchall()
        scores: dict[int, float] = {}
        for ranked in (best.tolist(), [row for (row,) in found]):
            for rank, row in enumerate(ranked, 1):
                scores[row] = scores.get(row, 0.0) + 1 / (60 + rank)
        return sorted(scores, key=lambda row: (-scores[row], row))[:10]

    def nearest(self, vector: NDArray[np.float32], eligible: NDArray[np.int64]) -> NDArray[np.int64]:
        """The ten by exact cosine; of many, among the hundred that single precision finds."""
        near = self.vectors[eligible] @ vector
        if len(eligible) > 100:
            eligible = np.sort(eligible[np.argpartition(-near, 100)[:100]])
        similarity = self.vectors[eligible].astype(np.float64) @ vector.astype(np.float64)
        return eligible[np.argsort(-similarity, kind="stable")[:10]]


def measure(world: worlds.World, data: Data, queries: int, title: str, clock: Callable[[], float]) -> None:
    def timed(work: Callable[[], object]) -> float:
        began = clock()
        work()
        return (clock() - began) * 1e3

    peer = Peer(data)
    row_of = {text: row for row, text in reversed(list(enumerate(data.texts)))}
    asked = data.queries(queries, seed=7)
    filters: list[tuple[str, dict[str, Any], NDArray[np.int64] | None]] = [("none", {}, None)]
    filters += [
        (name, {"types": f"{EX}Class{number}"}, chosen) for number, (name, chosen) in enumerate(data.classes.items())
    ]
    world.search("warm up", vector=asked[0][1])
    rows = []
    for name, options, members in filters:
        eligible = peer.eligible(members)
        first = timed(lambda: world.search(asked[0][0], vector=asked[0][1], **options))  # noqa: B023
        ours: list[float] = []
        ranked: list[float] = []
        theirs: list[float] = []
        recall: list[float] = []
        complete = True
        plan: str | None = None
        for text, vector in asked:  # alternately, so that both meet the same machine
            ours.append(timed(lambda: world.search(text, vector=vector, **options)))  # noqa: B023
            ranked.append(timed(lambda: world.search(text, vector=vector, ranking=BY_RANK, **options)))  # noqa: B023
            theirs.append(timed(lambda: peer.search(text, vector, eligible, members is None)))  # noqa: B023
            hits = world.search(text, vector=vector, mode="vector", **options)
            plan = hits.explain.plan
            complete = complete and len(hits) == min(10, len(eligible))
            exact = set(peer.nearest(vector, eligible).tolist())
            recall.append(len(exact & {row_of[hit.text] for hit in hits}) / len(exact))
        limit = aim(len(peer.rows), len(eligible), median(theirs))
        rows.append(
            (name, len(eligible), plan, first, median(ours), float(np.percentile(ours, 95)), median(ranked),
             median(theirs), limit, "yes" if median(ours) <= limit else "NO", float(np.mean(recall)),
             "yes" if complete else "NO")
        )  # fmt: skip
    table(
        title,
        ("filter", "eligible texts", "plan", "first_ms", "worlds_ms", "p95_ms", "by rank_ms", "peer_ms", "aim_ms",
         "within", "recall@10", "complete"),
        rows,
    )  # fmt: skip


def aim(rows: int, eligible: int, peer: float) -> float:
    """Milliseconds: of a small world those of the peer, of a large one a third where many are eligible."""
    if rows < LARGE:
        return peer if eligible == rows else peer + 2
    return peer / 3 if eligible >= rows // 10 else peer + 5


def build(path: Path, data: Data, embedder: Prepared) -> worlds.World:
    embedder.known.update(zip(data.texts, data.vectors, strict=True))
    world = worlds.open(path, embedder=embedder)
    world.add(data.quads("r"))
    return world


def measure_start(path: Path, data: Data) -> None:
    """A process that opens the world and asks one question four times: without a filter, and with three."""
    text, vector = data.queries(1, seed=8)[0]
    path.with_suffix(".npy").write_bytes(vector.tobytes())
    command = [sys.executable, "-m", "benchmarks.search", "--start", str(path), text]
    subprocess.run(command, check=True)


def start(path: Path, text: str) -> None:
    """What that process does."""
    vector = np.frombuffer(path.with_suffix(".npy").read_bytes(), dtype=np.float32)
    filters: list[dict[str, Any]] = [{}, *({"types": f"{EX}Class{number}"} for number in (2, 3, 4))]
    began = [time.perf_counter()]
    with worlds.open(path, embedder=Prepared(), read_only=True) as world:
        for options in filters:
            world.search(text, vector=vector, **options)
            began.append(time.perf_counter())
        status = Path("/proc/self/status").read_text()
    own = int(status.partition("RssAnon:")[2].split()[0]) / 1024
    steps = ", ".join(f"{after - before:.2f}" for before, after in pairwise(began))
    print(f"a new process: first answer after {steps} s without a filter, at 1 %, 10 %, 50 %; {own:.0f} MB of its own")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--only", choices=("distinct", "repeated", "replaced"))
    parser.add_argument("--start", nargs=2, metavar=("FILE", "TEXT"), help=argparse.SUPPRESS)
    parser.add_argument("--cpu", action="store_true", help="CPU time, for a machine that is busy")
    options = parser.parse_args()
    if options.start:
        start(Path(options.start[0]), options.start[1])
        return
    clock = time.process_time if options.cpu else time.perf_counter
    environment()
    with tempfile.TemporaryDirectory() as folder:
        embedder = Prepared()
        if options.only in (None, "distinct", "replaced"):
            data = Data(options.rows, 0.0, seed=1)
            path = Path(folder, "distinct.db")
            began, cpu = time.perf_counter(), time.process_time()
            with build(path, data, embedder) as world:
                print(f"filled in {time.perf_counter() - began:.1f} s, {time.process_time() - cpu:.1f} s of CPU")
                if options.only != "replaced":
                    measure(world, data, options.queries, f"{options.rows:,} distinct texts", clock)
                if options.only != "distinct":
                    replace_half(world, data, embedder)
                    measure(world, data, options.queries, "after deleting and replacing half of them", clock)
            if options.only == "distinct":
                measure_start(path, data)
        if options.only in (None, "repeated"):
            data = Data(options.rows, 0.1, seed=2)
            with build(Path(folder, "repeated.db"), data, embedder) as world:
                measure(world, data, options.queries, f"{options.rows:,} rows, 10 % of them under one text", clock)


def replace_half(world: worlds.World, data: Data, embedder: Prepared) -> None:
    """Give every second entity another text with another vector."""
    other = Data(len(data.texts), 0.0, seed=3)
    every_second = range(0, len(data.texts), 2)
    gone = [(f"{EX}r{row}", f"{EX}text", worlds_literal(data.texts[row])) for row in every_second]
    for row in every_second:
        data.texts[row], data.vectors[row] = other.texts[row], other.vectors[row]
        embedder.known[data.texts[row]] = data.vectors[row]
    world.remove(gone)
    world.add([(f"{EX}r{row}", f"{EX}text", worlds_literal(data.texts[row])) for row in every_second])


if __name__ == "__main__":
    main()
