"""SHACL: whole validations, and writes under a guard, in worlds of two sizes; pySHACL beside, in the same process.

Persons and organisations, one person in fifty wrong, and shapes with eight property shapes. All times are
seconds or milliseconds of CPU of this process, medians of the rounds. A write adds a person with ten quads; it is timed
with its commit, with the guard off and on, in turn. pySHACL validates the smaller world's data, which rdflib has parsed
before; its results are counted beside the world's.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Literal

import pyshacl
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


def guarded(world: worlds.World, rounds: int, persons: int) -> tuple[float, float]:
    """Milliseconds of CPU of a write of ten quads, with the guard off and with it on."""
    taken: dict[str, list[float]] = {"off": [], "reject": []}
    settings: tuple[Literal["off", "reject"], ...] = ("off", "reject")
    choose = random.Random(2)
    for round_ in range(rounds):
        for setting in settings:
            world.guard = setting
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
            world.guard = "off"
            world.remove(rows)
    return median(taken["off"]), median(taken["reject"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, nargs="+", default=[100_000, 1_000_000], help="in each world")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    environment()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for quads in options.quads:
            text = data(quads).encode()
            beside = ""
            with worlds.open(Path(folder, f"{quads}.db"), embedder=None) as world:
                world.load(text, format="turtle", embed=False)
                world.shapes.load(SHAPES, format="turtle")
                began = time.process_time()
                report = world.validate()
                whole = time.process_time() - began
                off, on = guarded(world, options.rounds, quads // 6)
            if quads == min(options.quads):
                graph = rdflib.Graph().parse(data=text, format="turtle")
                shapes = rdflib.Graph().parse(data=SHAPES, format="turtle")
                began = time.process_time()
                _, found, _ = pyshacl.validate(graph, shacl_graph=shapes, inference="none")
                beside = f"{time.process_time() - began:.1f}"
                assert isinstance(found, rdflib.Graph)
                sh = rdflib.Namespace("http://www.w3.org/ns/shacl#")
                assert len(list(found.objects(None, sh.result))) == len(report), "both find the same"
            rows.append((f"{quads:,}", f"{len(report):,}", f"{whole:.2f}", beside, f"{off:.1f}", f"{on:.1f}"))
    table(
        "SHACL",
        (
            "quads",
            "results",
            "validate, CPU s",
            "pySHACL, CPU s",
            "write of 10 quads, CPU ms",
            "the same guarded, CPU ms",
        ),
        rows,
    )


if __name__ == "__main__":
    main()
