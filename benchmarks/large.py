"""A world as large as one machine takes: `python -m benchmarks.large --path FILE [--rows 10000000]`.

Each of `rows` subjects has a text, a type and a link to an earlier one: three quads, one chunk, one vector. They are
made while loading, block by block, from numbers that depend on the block alone, and by an embedder that makes the
vector of a row anew from the number at its text's end. There are 2,500 rows in a topic; a question is near one row's
vector and uses some of its words, as in `benchmarks.search`.

The file stays, with what is beside it, and filling goes on where it stopped; a full one is only searched. The world is
written in commits of `--commit` rows, each embedded in turn, and keeps 30 days of history (nothing is removed here).
`--peer N` compares the first N questions with NumPy over the eligible rows of a float32 matrix and the world's own FTS5
table with the eligible rowids, given for nothing. Recall is that of the vector list, at 10, against an exact scan in
float32. Times are of the clock, or with `--cpu`, for a machine that is busy, of the CPU.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

import worlds
from benchmarks.common import STOP_WORDS, environment, median, table, vocabulary
from worlds.core.search.words import expression, read_query
from worlds.sql.by_libsql import library

EX = "https://example.org/"
BLOCK = 10_000  # rows made at a time
A_TOPIC = 2500  # rows
WORDS = 20_000
# The type of a row: of the first topics one of two, else by lot. Shares of all rows.
CLUSTERS = (("far clusters 1%", 0.01), ("far clusters 10%", 0.10))
LOTS = (
    ("random 0.01%", 0.0001),
    ("random 0.10%", 0.001),
    ("random 1%", 0.01),
    ("random 10%", 0.1),
    ("random 50%", 0.5),
)
TYPES = [name for name, _ in (*CLUSTERS, *LOTS)]
SHAPES = {
    "point lookup": "SELECT ?p ?o { ex:r%d ?p ?o }",
    "2 hops": "SELECT ?b ?t { ex:r%d ex:cites ?a . ?a ex:cites ?b . ?b a ?t }",
    "who cites it": "SELECT ?s { ?s ex:cites ex:r%d }",
    "COUNT of a type of 1 %": "SELECT (COUNT(*) AS ?n) { ?s a ex:Type4 }",
    "join of 0.1 %": "SELECT (COUNT(*) AS ?n) { ?s a ex:Type3 ; ex:cites ?o . ?o a ?t }",
}
PARTS = {
    "vectors, their keys and sign bits": ("vectors", "vector_codes", "sqlite_autoindex_vectors"),
    "which texts were embedded": ("embedded_texts",),
    "full-text index": ("chunks_fts",),
    "chunks": ("chunks",),
    "terms, the texts among them": ("terms",),
    "quads": ("quads",),
}
Vectors = NDArray[np.float32]


class Rows:
    """The rows of the world, and the embedder of their texts."""

    name = "rows"
    max_tokens = 100_000
    batch = 4096

    def __init__(self, rows: int, dimension: int) -> None:
        self.rows = rows
        self.dimension = dimension
        self._topics = max(400, rows // A_TOPIC)
        self._centres = np.random.default_rng(1).standard_normal((self._topics, dimension), dtype=np.float32)
        self._words = np.array([*vocabulary(WORDS), *STOP_WORDS], dtype=object)
        weights = np.cumsum(1 / (np.arange(WORDS) + 3))
        self._shares = weights / weights[-1]
        self._vectors = lru_cache(4)(self.vectors)

    def topics(self, block: int) -> NDArray[np.int64]:
        return np.random.default_rng([1, block]).integers(0, self._topics, BLOCK)

    def types(self, block: int) -> NDArray[np.int64]:
        """The numbers of the rows' types, as of `TYPES`; one more for those that are none of them."""
        bounds = np.cumsum([round(share * self._topics) for _, share in CLUSTERS])
        found = np.searchsorted(bounds, self.topics(block), side="right")
        left = 1 - bounds[-1] / self._topics
        lots = np.cumsum([share / left for _, share in LOTS])
        drawn = len(CLUSTERS) + np.searchsorted(lots, np.random.default_rng([2, block]).random(BLOCK), side="right")
        return np.where(found < len(CLUSTERS), found, drawn)

    def texts(self, block: int) -> list[str]:
        """Words by Zipf's law, a third of them stop-words of English; the row's number is the last."""
        rng = np.random.default_rng([3, block])
        lengths = rng.integers(10, 81, BLOCK)
        drawn = np.searchsorted(self._shares, rng.random(lengths.sum()))
        stops = rng.random(len(drawn)) < 0.35
        drawn[stops] = rng.integers(WORDS, len(self._words), stops.sum())
        words = self._words[drawn].tolist()
        ends = np.cumsum(lengths).tolist()
        first = block * BLOCK
        return [f"{' '.join(words[begin:end])} 1x{first + at}" for at, (begin, end) in enumerate(pairwise([0, *ends]))]

    def vectors(self, block: int) -> Vectors:
        """float32 [BLOCK, dimension], of length 1."""
        noise = np.random.default_rng([4, block]).standard_normal((BLOCK, self.dimension), dtype=np.float32)
        return unit(self._centres[self.topics(block)] + np.float32(0.8) * noise)

    def quads(self, block: int) -> Iterator[ox.Quad]:
        kind, text, cites = ox.NamedNode(f"{RDF}type"), ox.NamedNode(f"{EX}text"), ox.NamedNode(f"{EX}cites")
        types = [ox.NamedNode(f"{EX}Type{number}") for number in range(len(TYPES) + 1)]
        first = block * BLOCK
        cited = (np.random.default_rng([5, block]).random(BLOCK) * (first + np.arange(BLOCK) + 1)).astype(np.int64)
        for at, words in enumerate(self.texts(block)[: self.rows - first]):
            subject = ox.NamedNode(f"{EX}r{first + at}")
            yield ox.Quad(subject, text, ox.Literal(words))
            yield ox.Quad(subject, cites, ox.NamedNode(f"{EX}r{cited[at]}"))
        for at, number in enumerate(self.types(block)[: self.rows - first].tolist()):
            yield ox.Quad(ox.NamedNode(f"{EX}r{first + at}"), kind, types[number])

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def embed_documents(self, texts: list[str]) -> Vectors:
        rows = [divmod(int(text.rpartition("x")[2]), BLOCK) for text in texts]
        return np.stack([self._vectors(block)[at] for block, at in rows])

    def embed_query(self, text: str) -> Vectors:
        return self.questions(1, seed=9)[0][1]

    def questions(self, count: int, seed: int) -> list[tuple[str, Vectors]]:
        rng = np.random.default_rng(seed)
        found = []
        for row in rng.integers(self.rows // 2, self.rows, count).tolist():
            block, at = divmod(row, BLOCK)
            noise = rng.standard_normal(self.dimension, dtype=np.float32) * np.float32(0.3 / np.sqrt(self.dimension))
            content = [word for word in self.texts(block)[at].split()[:-1] if word not in STOP_WORDS]
            found.append((" ".join(rng.choice(content or ["none"], 5)), unit(self._vectors(block)[at] + noise)))
        return found


RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


def unit(matrix: Vectors) -> Vectors:
    return np.asarray(matrix / np.linalg.norm(matrix, axis=-1, keepdims=True), dtype=np.float32)


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


class Clock:
    """Clock and CPU of the steps of filling, summed up."""

    def __init__(self) -> None:
        self.spent: dict[str, tuple[float, float]] = {}
        self._mark = self._now()

    def _now(self) -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    def lap(self, step: str) -> float:
        """Count what has passed since the last lap for this step; gives its seconds."""
        now, before = self._now(), self._mark
        clock, cpu = self.spent.get(step, (0.0, 0.0))
        self.spent[step] = clock + now[0] - before[0], cpu + now[1] - before[1]
        self._mark = now
        return now[0] - before[0]

    def __str__(self) -> str:
        return ", ".join(f"{step} {clock:,.0f} s ({cpu:,.0f} s of CPU)" for step, (clock, cpu) in self.spent.items())


def fill(world: worlds.World, rows: Rows, path: Path, commit: int) -> None:
    """Write and embed what is not there yet."""
    done = world.stats().quads // 3
    clock = Clock()
    while done < rows.rows:
        end = min(done + commit, rows.rows)
        quads = [quad for block in range(done // BLOCK, -(-end // BLOCK)) for quad in rows.quads(block)]
        clock.lap("texts made")
        world.add(quads, embed=False)
        writing = clock.lap("quads, texts and words written")
        del quads
        world.embed()
        embedding = clock.lap("vectors written")
        memory, disk = own_memory(), sum(size for _, size in parts(path))
        say(
            f"{end:,} rows; the last {end - done:,}: {3 * (end - done) / writing:,.0f} quads/s, "
            f"{(end - done) / embedding:,.0f} vectors/s; {memory:,.0f} MB of its own, {disk / 1e9:,.2f} GB on disk; "
            f"{clock}"
        )
        done = end
    if clock.spent:
        print(f"filled: {clock}; at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB in memory")


def parts(path: Path) -> list[tuple[str, int]]:
    """The bytes of the file and of what is beside it."""
    found = []
    for one in sorted(path.parent.glob(f"{path.name}*")):
        files = [one] if one.is_file() else [file for file in one.rglob("*") if file.is_file()]
        found.append((one.name, sum(file.stat().st_size for file in files)))
    return found


def measure_disk(rows: Rows, path: Path) -> None:
    """What the tables of the file take, with their indexes."""
    connection = library.connect(str(path), isolation_level=None)
    sizes: dict[str, int] = {}
    for name, size in connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall():
        part = next((part for part, beginnings in PARTS.items() if name.startswith(beginnings)), "the rest")
        sizes[part] = sizes.get(part, 0) + size
    connection.close()
    ordered = sorted(sizes.items(), key=lambda item: -item[1])
    found = [(part, round(size / 1e6), round(size / rows.rows)) for part, size in ordered]
    table("The file", ("what", "MB", "bytes a text"), found)


def own_memory() -> float:
    """MB of this process alone, without what it maps of the file."""
    return int(Path("/proc/self/status").read_text().partition("RssAnon:")[2].split()[0]) / 1024


def members(rows: Rows) -> list[NDArray[np.int64]]:
    """The rows of each type, ascending."""
    types = np.concatenate([rows.types(block) for block in range(-(-rows.rows // BLOCK))])[: rows.rows]
    return [np.flatnonzero(types == number) for number in range(len(TYPES))]


def exact(rows: Rows, questions: Vectors) -> list[list[NDArray[np.int64]]]:
    """For each filter (none, then those of `TYPES`) and question, the ten nearest rows: one pass over all vectors."""
    best: list[list[tuple[Vectors, NDArray[np.int64]]]] = [
        [(np.empty(0, np.float32), np.empty(0, np.int64)) for _ in questions] for _ in range(len(TYPES) + 1)
    ]
    for block in range(-(-rows.rows // BLOCK)):
        similarity = rows.vectors(block)[: rows.rows - block * BLOCK] @ questions.T
        types = rows.types(block)[: len(similarity)]
        for number, found in enumerate(best):
            eligible = np.arange(len(similarity)) if number == 0 else np.flatnonzero(types == number - 1)
            for at, (values, chosen) in enumerate(found):
                values = np.append(values, similarity[eligible, at])
                chosen = np.append(chosen, eligible + block * BLOCK)
                order = np.argpartition(-values, 9)[:10] if len(values) > 10 else np.arange(len(values))
                found[at] = values[order], chosen[order]
    return [[chosen for _, chosen in found] for found in best]


class Peer:
    """What one would write by hand, with the eligible rows given."""

    def __init__(self, rows: Rows, path: Path) -> None:
        self.vectors = np.empty((rows.rows, rows.dimension), dtype=np.float32)
        for block in range(-(-rows.rows // BLOCK)):
            begin = block * BLOCK
            self.vectors[begin : begin + BLOCK] = rows.vectors(block)[: rows.rows - begin]
        self.connection = library.connect(str(path), isolation_level=None)
        self.connection.execute("PRAGMA mmap_size = 34359738368")
        wrong = self.connection.execute("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH '1x0' AND rowid <> 1")
        if wrong.fetchone()[0]:
            raise SystemExit("the chunks are not numbered as the rows are: fill the world anew")

    def search(self, text: str, vector: Vectors, eligible: NDArray[np.int64] | None) -> list[int]:
        similarity = (self.vectors if eligible is None else self.vectors[eligible]) @ vector
        best = np.argpartition(-similarity, min(100, len(similarity)) - 1)[:100]
        best = best[np.argsort(-similarity[best])]
        near = (best if eligible is None else eligible[best]) + 1
        wanted, given = "", (expression(*read_query(text)),)
        if eligible is not None:
            wanted = " AND +rowid IN (SELECT value FROM json_each(?))"
            given = (expression(*read_query(text)), str((eligible + 1).tolist()))  # type: ignore[assignment]
        sql = f"SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?{wanted} ORDER BY bm25(chunks_fts) LIMIT 100"
        scores: dict[int, float] = {}
        for ranked in (near.tolist(), [row for (row,) in self.connection.execute(sql, given).fetchall()]):
            for rank, row in enumerate(ranked, 1):
                scores[row] = scores.get(row, 0.0) + 1 / (60 + rank)
        return sorted(scores, key=lambda row: (-scores[row], row))[:10]


Timed = Callable[[Callable[[], object]], float]  # milliseconds


def milliseconds(clock: Callable[[], float]) -> Timed:
    def timed(work: Callable[[], object]) -> float:
        began = clock()
        work()
        return (clock() - began) * 1e3

    return timed


def measure_searches(
    world: worlds.World, rows: Rows, path: Path, queries: int, compared: int, milliseconds: Timed
) -> None:
    asked = rows.questions(queries, seed=7)
    say("the exact scan")
    nearest = exact(rows, np.stack([vector for _, vector in asked]))
    say("the peer" if compared else "no peer")
    peer = Peer(rows, path) if compared else None
    eligible = [None, *members(rows)]
    found = []
    world.search("warm up", vector=asked[0][1])
    for number, name in enumerate(("none", *TYPES)):
        options: dict[str, Any] = {} if number == 0 else {"types": f"{EX}Type{number - 1}"}
        first = milliseconds(lambda: world.search(asked[0][0], vector=asked[0][1], **options))  # noqa: B023
        ours, theirs, recall = [], [], []
        for at, (text, vector) in enumerate(asked):
            ours.append(milliseconds(lambda: world.search(text, vector=vector, **options)))  # noqa: B023
            if peer is not None and at < compared:
                theirs.append(milliseconds(lambda: peer.search(text, vector, eligible[number])))  # noqa: B023
            hits = world.search(text, vector=vector, mode="vector", **options)
            hit = {int(hit.text.rpartition("x")[2]) for hit in hits}
            wanted = set(nearest[number][at].tolist())
            recall.append(len(hit & wanted) / len(wanted))
        many = rows.rows if number == 0 else len(eligible[number])  # type: ignore[arg-type]
        found.append(
            (name, many, hits.explain.plan, first, median(ours), float(np.percentile(ours, 95)),
             median(theirs) if theirs else "-", float(np.mean(recall)))
        )  # fmt: skip
        say(str(found[-1]))
    table(
        f"{rows.rows:,} texts, {rows.dimension} dimensions",
        ("filter", "eligible texts", "plan", "first_ms", "worlds_ms", "p95_ms", "peer_ms", "recall@10"),
        found,
    )
    print(f"{own_memory():,.0f} MB of its own")


def measure_queries(world: worlds.World, rows: Rows, milliseconds: Timed) -> None:
    began = time.perf_counter()
    world.query("ASK {}")
    say(f"the SPARQL index is ready after {time.perf_counter() - began:,.1f} s; {own_memory():,.0f} MB of its own")
    rng = np.random.default_rng(6)
    found = []
    for name, query in SHAPES.items():
        texts = [query % row if "%d" in query else query for row in rng.integers(0, rows.rows, 7).tolist()]
        times = [milliseconds(lambda: len(world.query(text))) for text in texts]  # type: ignore[arg-type]  # noqa: B023  # no ASK
        found.append((name, times[0], median(times[1:])))
    table(f"SPARQL from disk, {3 * rows.rows:,} quads", ("query", "first_ms", "median_ms"), found)


def start(path: Path, rows: Rows) -> None:
    """What a new process does: searches without a filter, and with three."""
    text, vector = rows.questions(1, seed=8)[0]
    filters: list[dict[str, Any]] = [{}, *({"types": f"{EX}Type{TYPES.index(name)}"} for name, _ in LOTS[2:])]
    began = [time.perf_counter()]
    with worlds.open(path, embedder=rows, read_only=True) as world:
        began.append(time.perf_counter())
        for options in filters:
            world.search(text, vector=vector, **options)
            began.append(time.perf_counter())
        steps = ", ".join(f"{after - before:.2f}" for before, after in pairwise(began))
        say(
            f"a new process: opens and answers in {steps} s (no filter, 1, 10, 50 %); {own_memory():,.0f} MB of its own"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--dimensions", type=int, default=128)
    parser.add_argument("--commit", type=int, default=250_000, help="rows written at a time, in whole blocks of 10,000")
    parser.add_argument("--queries", type=int, default=25)
    parser.add_argument("--peer", type=int, default=0, metavar="N")
    parser.add_argument("--only", choices=("fill", "searches", "queries"))
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--start", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    timed = milliseconds(time.process_time if options.cpu else time.perf_counter)
    rows = Rows(options.rows, options.dimensions)
    if options.start:
        start(options.path, rows)
        return
    environment()
    with worlds.open(options.path, embedder=rows, sparql_index="disk") as world:
        world.revisions.retention = worlds.records.Retention(days=30)
        world.bind("ex", EX)
        fill(world, rows, options.path, options.commit // BLOCK * BLOCK)
        if options.only == "fill":
            return
        if options.only != "queries":
            measure_searches(world, rows, options.path, options.queries, options.peer, timed)
        if options.only != "searches":
            measure_queries(world, rows, timed)
        say(f"stats {timed(world.stats):,.0f} ms")
    print(f"on disk {', '.join(f'{name} {size / 1e9:.2f} GB' for name, size in parts(options.path))}")
    measure_disk(rows, options.path)
    arguments = ["--path", str(options.path), "--rows", str(options.rows), "--dimensions", str(options.dimensions)]
    subprocess.run([sys.executable, "-m", "benchmarks.large", *arguments, "--start"], check=True)


if __name__ == "__main__":
    main()
