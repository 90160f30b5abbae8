"""SHACL: whole validations, and writes under a guard, in worlds of two sizes; other libraries beside, in the same run.

Persons and organisations, one person in fifty wrong, and shapes with eight property shapes. All times are
seconds or milliseconds of CPU of a process, medians of the rounds. A write adds a person with ten quads; it is timed
with its commit, with the guard off and on, in turn. pySHACL validates the smaller world's data; of pyrudof, pyshifty
and pyshacl-turbo each that is installed validates the data of every size, in a process of its own, since they take
gigabytes. What they take to read the data counts apart, where they read them apart. All have to find as many results.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Literal

import rdflib

import worlds
from benchmarks.common import environment, table

EX = "http://example.org/"
SHAPES = b"""
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix ex: <http://example.org/> .
ex:PersonShape a sh:NodeShape ; sh:targetClass ex:Person ;
  sh:property [ sh:path ex:name ; sh:minCount 1 ; sh:maxCount 1 ; sh:datatype xsd:string ; sh:maxLength 60 ] ,
              [ sh:path ex:born ; sh:maxCount 1 ; sh:datatype xsd:integer ; sh:minInclusive 1800 ] ,
              [ sh:path ex:email ; sh:pattern "^[^@]+@[^@]+$" ] ,
              [ sh:path ex:worksFor ; sh:class ex:Organisation ] ,
              [ sh:path ( ex:worksFor ex:name ) ; sh:minCount 1 ] ,
              [ sh:path ex:knows ; sh:class ex:Person ; sh:nodeKind sh:IRI ] .
ex:OrganisationShape a sh:NodeShape ; sh:targetClass ex:Organisation ;
  sh:property [ sh:path ex:name ; sh:minCount 1 ] ,
              [ sh:path [ sh:inversePath ex:worksFor ] ; sh:minCount 1 ] .
"""


def data(quads: int, seed: int = 1) -> str:
    """Turtle of about `quads` triples; one person in fifty was born too early, or twice."""
    choose = random.Random(seed)
    persons = quads // 6
    organisations = max(persons // 20, 1)
    lines = [f'<{EX}o{n}> a <{EX}Organisation> ; <{EX}name> "Organisation {n}" .' for n in range(organisations)]
    for n in range(persons):
        born = "1700" if n % 100 == 0 else "1950, 1951" if n % 100 == 50 else str(choose.randrange(1900, 2000))
        lines.append(
            f'<{EX}p{n}> a <{EX}Person> ; <{EX}name> "Person {n}" ; <{EX}born> {born} ; '
            f'<{EX}email> "p{n}@example.org" ; '
            f"<{EX}worksFor> <{EX}o{n % organisations}> ; <{EX}knows> <{EX}p{choose.randrange(persons)}> ."
        )
    return "\n".join(lines)


def by_pyshacl(path: str, shapes: str) -> Iterator[int]:
    """Each library reads the data, yields, validates them, and yields how many results it found."""
    import pyshacl

    graph, wanted = rdflib.Graph().parse(path), rdflib.Graph().parse(shapes)
    yield 0
    _, found, _ = pyshacl.validate(graph, shacl_graph=wanted, inference="none")
    yield _results(found)


def by_pyrudof(path: str, shapes: str) -> Iterator[int]:
    """See `by_pyshacl`."""
    import pyrudof  # type: ignore[import-not-found]  # optional

    rudof = pyrudof.Rudof(pyrudof.RudofConfig())
    rudof.read_data(Path(path))
    rudof.read_shacl(Path(shapes))
    yield 0
    yield len(rudof.validate_shacl())


def by_pyshifty(path: str, shapes: str) -> Iterator[int]:
    """See `by_pyshacl`; it reads as it validates."""
    import shifty  # type: ignore[import-not-found]  # optional

    yield 0
    _, found, _ = shifty.validate(path, shapes, infer=False)
    yield _results(found)


def by_turbo(path: str, shapes: str) -> Iterator[int]:
    """See `by_pyshacl`; it reads as it validates."""
    import pyshacl_turbo  # type: ignore[import-not-found]  # optional

    yield 0
    _, found, _ = pyshacl_turbo.validate(path, shacl_graph=shapes, inference="none")
    yield _results(found)


PEERS: dict[str, Callable[[str, str], Iterator[int]]] = {
    "pyshacl": by_pyshacl,
    "pyrudof": by_pyrudof,
    "shifty": by_pyshifty,
    "pyshacl_turbo": by_turbo,
}


def _results(report: rdflib.Graph) -> int:
    return len(list(report.objects(None, rdflib.URIRef("http://www.w3.org/ns/shacl#result"))))


def beside(name: str, path: str, shapes: str) -> tuple[float, float, int]:
    """Seconds of CPU, of all its threads, that a library takes to read and to validate; and its results."""
    began = time.process_time()
    steps = PEERS[name](path, shapes)
    next(steps)
    read = time.process_time()
    found = next(steps)
    return read - began, time.process_time() - read, found


def guarded(world: worlds.World, rounds: int, persons: int) -> tuple[float, float]:
    """Milliseconds of CPU of a write of ten quads, with the guard off and with it on."""
    taken: dict[str, list[float]] = {"off": [], "reject": []}
    settings: tuple[Literal["off", "reject"], ...] = ("off", "reject")
    choose = random.Random(2)
    for round_ in range(rounds):
        for setting in settings:
            world.shapes.guard = setting
            person = f"{EX}{setting}{round_}"
            rows: list[tuple[object, ...]] = [
                (person, "rdf:type", f"{EX}Person"),
                (person, f"{EX}name", rdflib.Literal(f"Somebody {setting} {round_}")),
                (person, f"{EX}born", 1960),
                (person, f"{EX}worksFor", f"{EX}o{choose.randrange(10)}"),
                *((person, f"{EX}knows", f"{EX}p{choose.randrange(persons)}") for _ in range(6)),
            ]
            began = time.process_time()
            world.add(rows, embed=False)
            taken[setting].append((time.process_time() - began) * 1000)
            world.shapes.guard = "off"
            world.remove(rows)
    return median(taken["off"]), median(taken["reject"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, nargs="+", default=[100_000, 1_000_000], help="in each world")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    environment()
    rows, writes = [], []
    with tempfile.TemporaryDirectory() as folder:
        shapes = Path(folder, "shapes.ttl")
        shapes.write_bytes(SHAPES)
        for quads in options.quads:
            text = Path(folder, f"{quads}.ttl")
            text.write_text(data(quads))
            with worlds.open(Path(folder, f"{quads}.db"), embedder=None) as world:
                began = time.process_time()
                world.load(text, embed=False)
                world.shapes.load(SHAPES, format="turtle")
                loaded = time.process_time()
                report = world.shapes.validate()
                rows.append((f"{quads:,}", "worlds", loaded - began, time.process_time() - loaded, len(report)))
                off, on = guarded(world, options.rounds, quads // 6)
                writes.append((f"{quads:,}", f"{off:.1f}", f"{on:.1f}", f"{on - off:.1f}"))
            for name in PEERS:
                if importlib.util.find_spec(name) and (name != "pyshacl" or quads == min(options.quads)):
                    context = multiprocessing.get_context("spawn")
                    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as alone:
                        figures = alone.submit(beside, name, str(text), str(shapes)).result()
                    assert figures[-1] == len(report), "all find the same"
                    rows.append((f"{quads:,}", name, *figures))
    table(
        "Whole validations",
        ("quads", "library", "read, CPU s", "validate, CPU s", "results"),
        [(*row[:2], *(f"{seconds:.2f}" for seconds in row[2:4]), f"{row[4]:,}") for row in rows],
    )
    table("Writes of ten quads", ("quads", "CPU ms", "the same guarded, CPU ms", "the guard adds, CPU ms"), writes)


if __name__ == "__main__":
    main()
