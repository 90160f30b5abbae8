"""SPARQL Update: a world beside pyoxigraph's own `Store.update`, in one process.

Both start with the same quads and run the same requests in turn, medians of several rounds. The store is in memory and
learns nothing; the world writes terms, quads, chunks, full-text and a revision to its file, in one transaction each.
The driver alone is measured too: the same requests by `run_update` over a plain store. A single upsert is timed with
its commit.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median

import pyoxigraph as ox

import worlds
from benchmarks.common import environment, table
from worlds.graph.update.driver import run_update

EX = "http://example.org/"
PROLOGUE = f"PREFIX ex: <{EX}>\n"


class PlainTarget:
    """The driver's target over a store alone."""

    def __init__(self, store: ox.Store) -> None:
        self.store = store

    def select(
        self, query: str, *, default_graphs: object, named_graphs: object
    ) -> tuple[list[str], Iterable[Sequence[object]]]:
        found = self.store.query(query)
        return [variable.value for variable in found.variables], found  # type: ignore[union-attr]  # a SELECT

    def apply(self, added: Sequence[ox.Quad], removed: Sequence[ox.Quad]) -> None:
        for quad in removed:
            self.store.remove(quad)
        self.store.extend(added)


def data(quads: int) -> str:
    people = range(quads // 4)
    return "\n".join(
        f'<{EX}p{n}> a <{EX}Person> ; <{EX}name> "Person number {n}" ; <{EX}age> {n % 90} ; '
        f"<{EX}knows> <{EX}p{n * 7 % 1000}> ."
        for n in people
    )


def requests(size: int) -> dict[str, Callable[[int], str]]:
    """Request by name, of the number of its round; each finds the state that the one before left."""
    rows = range(size)
    return {
        f"INSERT DATA, {size:,} triples": lambda round_: (
            "INSERT DATA {" + "\n".join(f'ex:n{round_}_{n} ex:note "note {n} of {round_}" .' for n in rows) + "}"
        ),
        f"DELETE/INSERT WHERE, {size:,} solutions": lambda round_: (
            "DELETE { ?s ex:note ?o } INSERT { ?s ex:remark ?o } WHERE { ?s ex:note ?o }"
        ),
        f"DELETE WHERE, {size:,} triples": lambda round_: "DELETE WHERE { ?s ex:remark ?o }",
    }


def upsert(number: int) -> str:
    return (
        f"{PROLOGUE}DELETE {{ ex:p{number} ex:status ?old }} INSERT {{ ex:p{number} ex:status ex:s{number % 7} }} "
        f"WHERE {{ OPTIONAL {{ ex:p{number} ex:status ?old }} }}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, default=100_000, help="in the world before")
    parser.add_argument("--size", type=int, default=10_000, help="triples a request changes")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    environment()
    text = data(options.quads).encode()
    with tempfile.TemporaryDirectory() as folder, worlds.open(Path(folder, "kb.db"), embedder=None) as world:
        world.load(text, format="turtle")
        world.query("ASK {}")
        native, plain = ox.Store(), ox.Store()
        for store in (native, plain):
            store.bulk_load(text, format=ox.RdfFormat.TURTLE)
        target = PlainTarget(plain)
        ways: dict[str, Callable[[str], object]] = {
            "native": native.update,
            "driver": lambda request: run_update(request, target, prefixes={}),  # type: ignore[arg-type]  # enough of one
            "world": world.update,
        }
        names = requests(options.size)
        times: dict[tuple[str, str], list[float]] = {(name, way): [] for name in [*names, "upsert"] for way in ways}
        for number in range(options.rounds):
            for name, request in names.items():
                for way, run in ways.items():
                    times[name, way].append(milliseconds(run, PROLOGUE + request(number)))
            for way, run in ways.items():
                times["upsert", way] += [milliseconds(run, upsert(number * 50 + one)) for one in range(50)]
        assert len(native) == len(plain) == len(world)
        rows = []
        for name in [*names, "upsert"]:
            medians = {way: median(times[name, way]) for way in ways}
            rows.append(
                (
                    "single upsert" if name == "upsert" else name,
                    *medians.values(),
                    medians["driver"] / medians["native"],
                    medians["world"] / medians["native"],
                )
            )
    table(
        f"updates of a world of {options.quads:,} quads; medians of {options.rounds} rounds",
        ("request", "native_ms", "driver_ms", "world_ms", "driver_times_native", "world_times_native"),
        rows,
    )


def milliseconds(run: Callable[[str], object], request: str) -> float:
    began = time.perf_counter()
    run(request)
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    main()
