"""Measures what World.query adds to pyoxigraph's own Store.query on the same store, and what limits cost.

Both ask the same store, in turn, in one process; rows are counted, not converted. The aim is at most 20 % and 1 ms on
top. Then: converting the terms of a result to rdflib's (aim: 10 µs a term), and a query with a time limit, which is
evaluated in a forked process. Times are of the CPU, but for those with the fork, so that other work disturbs less.

    python -m benchmarks.sparql --quads 200000
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator

import pyoxigraph as ox

import worlds
from benchmarks.common import Sentences, environment, median, milliseconds, table, vocabulary
from worlds.graph.terms import WELL_KNOWN_PREFIXES

EX = "http://example.org/"
RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
QUADS_AN_ENTITY = 8

SHAPES = {
    "point lookup": "SELECT ?p ?o { ex:paper500 ?p ?o }",
    "2 hops": "SELECT ?b ?t { ex:paper500 ex:cites ?a . ?a ex:cites ?b . ?b ex:title ?t }",
    "3 hops": "SELECT ?c ?y { ex:paper500 ex:cites ?a . ?a ex:cites ?b . ?b ex:cites ?c . ?c ex:year ?y }",
    "regex over titles": "SELECT ?s ?t { ?s ex:title ?t FILTER(REGEX(?t, '^b.*n', 'i')) }",
    "GROUP BY, top 10": "SELECT ?a (COUNT(*) AS ?n) { ?s ex:author ?a } GROUP BY ?a ORDER BY DESC(?n) LIMIT 10",
    "COUNT": "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }",
    "OPTIONAL": "SELECT ?s ?e { ?s ex:year 1999 OPTIONAL { ?s ex:erratum ?e } }",
    "UNION": "SELECT ?s { { ?s ex:year 1999 } UNION { ?s ex:author ex:author7 } }",
    "ORDER BY LIMIT": "SELECT ?s ?y { ?s ex:year ?y } ORDER BY DESC(?y) ?s LIMIT 20",
    "DISTINCT": "SELECT DISTINCT ?a { ?s ex:year 1999 ; ex:author ?a }",
    "property path": "SELECT ?b { ex:paper500 ex:cites+ ?b } LIMIT 1000",
    "CONSTRUCT": "CONSTRUCT { ?a ex:wrote ?s } { ?s ex:author ?a ; ex:year 1999 }",
    "SELECT *": "SELECT * { ?s ex:year 1999 ; ex:title ?t ; ex:author ?a }",
}


def quads(entities: int, seed: int) -> Iterator[ox.Quad]:
    """Papers with a type, title, year, author, three citations, and for one in ten an erratum, else a note."""
    rng = random.Random(seed)
    sentence = Sentences(vocabulary(3000), seed)

    def iri(name: str) -> ox.NamedNode:
        return ox.NamedNode(EX + name)

    kind = iri("Paper")
    title, year, author, cites, erratum, note = map(iri, ("title", "year", "author", "cites", "erratum", "note"))
    for number in range(entities):
        paper = iri(f"paper{number}")
        yield ox.Quad(paper, RDF_TYPE, kind)
        yield ox.Quad(paper, title, ox.Literal(sentence(6)))
        yield ox.Quad(paper, year, ox.Literal(1960 + rng.randrange(65)))
        yield ox.Quad(paper, author, iri(f"author{int(entities / 8 * rng.random() ** 3)}"))
        for _ in range(3):
            yield ox.Quad(paper, cites, iri(f"paper{rng.randrange(entities)}"))
        yield ox.Quad(paper, erratum if number % 10 == 0 else note, ox.Literal(f"see volume {number}"))


def compare(world: worlds.World, store: ox.Store, rounds: int) -> None:
    rows = []
    prefixes = dict(world.prefixes)
    for name, query in SHAPES.items():
        ours: list[float] = []
        theirs: list[float] = []

        def ask(query: str = query, times: list[float] = ours) -> int:
            began = time.process_time()
            count = len(world.query(query))  # type: ignore[arg-type]  # no ASK
            times.append((time.process_time() - began) * 1e3)
            return count

        def ask_raw(query: str = query, times: list[float] = theirs) -> int:
            began = time.process_time()
            count = len(list(store.query(query, prefixes=prefixes)))  # type: ignore[arg-type]  # no ASK
            times.append((time.process_time() - began) * 1e3)
            return count

        for turn in range(rounds):
            counts = [call() for call in ((ask, ask_raw) if turn % 2 else (ask_raw, ask))]
            assert counts[0] == counts[1], name
        limit = 1.2 * median(theirs) + 1
        rows.append((name, counts[0], median(ours), median(theirs), limit, "yes" if median(ours) <= limit else "NO"))
    table(
        "World.query and raw Store.query",
        ("shape", "rows", "worlds_cpu_ms", "raw_cpu_ms", "limit_ms = 1.2 × raw + 1", "within"),
        rows,
    )


def conversion(world: worlds.World, rounds: int) -> None:
    query = "SELECT ?s ?t ?y { ?s ex:title ?t ; ex:year ?y } LIMIT 10000"
    times = []
    for _ in range(rounds):
        found = world.query(query)
        rows = len(found)  # type: ignore[arg-type]  # a SELECT
        began = time.process_time()
        for row in found:  # type: ignore[union-attr]  # a SELECT
            tuple(row)
        times.append((time.process_time() - began) * 1e6 / (3 * rows))
    table("Terms to rdflib's", ("terms", "cpu_us_per_term", "limit_us"), [(3 * rows, median(times), 10)])


def limits(world: worlds.World, rounds: int) -> None:
    rows = []
    for name, query in (
        ("point lookup", SHAPES["point lookup"]),
        ("10,000 rows of 3", "SELECT ?s ?t ?y { ?s ex:title ?t ; ex:year ?y } LIMIT 10000"),
    ):
        plain, timed = [], []
        for _ in range(rounds):
            plain.append(milliseconds(lambda query=query: len(world.query(query))))  # type: ignore[arg-type,misc]
            timed.append(milliseconds(lambda query=query: len(world.query(query, timeout=30))))  # type: ignore[arg-type,misc]
        rows.append((name, median(plain), median(timed), median(timed) - median(plain)))
    table("With timeout=30", ("query", "without_ms", "with_ms", "difference_ms"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=25)
    options = parser.parse_args()
    environment()
    with worlds.open(embedder=None, vector_index=False) as world:
        world.add(quads(options.quads // QUADS_AN_ENTITY, seed=1))
        world.bind("ex", EX)
        store = world._core.sparql.store()
        print(f"{len(store):,} quads, {len(WELL_KNOWN_PREFIXES)} prefixes and one more are known")
        compare(world, store, options.rounds)
        conversion(world, options.rounds)
        limits(world, options.rounds)


if __name__ == "__main__":
    main()
