"""What it costs to keep conclusions: `python -m benchmarks.conclusions [--quads 1000000] [--turns 60] [--seed 0]`.

The generated world has a tree of 1,000 classes, three transitive properties along short chains, ten properties with an
inverse, and twenty with a domain and a range, of which ten are subproperties. A turn adds ten quads of a new thing, and
removes ten. All are CPU times of this process, in milliseconds, with the rule set "rdfs+" and without rules, by turns.
One removal each is of a link in the middle of a chain of 1,000 things, and of the class that most classes stand below.
`--peers` measures two engines with rules of OWL 2 RL on the same quads, which conclude all anew after a removal, each
in its own process, of ten minutes at most.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

import worlds
from benchmarks.common import environment, table

EX = "https://example.org/"
RDF, RDFS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#", "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
CLASSES, TRANSITIVE, INVERSE, PLAIN = 1000, 3, 10, 20
CHAIN = 6  # things along one chain of a transitive property
COMPONENT = 1000  # things along one long chain
MINUTES = 10  # of a peer
PROOFS = 200


def vocabulary(draw: random.Random) -> Iterator[tuple[str, str, str]]:
    """The quads of the vocabulary. The tree of classes has a mean depth of some seven."""
    for number in range(1, CLASSES):
        yield f"C{number}", f"{RDFS}subClassOf", f"<{EX}C{draw.randrange(number)}>"
    for number in range(TRANSITIVE):
        yield f"t{number}", f"{RDF}type", f"<{OWL}TransitiveProperty>"
    for number in range(INVERSE):
        yield f"i{number}", f"{OWL}inverseOf", f"<{EX}j{number}>"
    for number in range(PLAIN):
        yield f"p{number}", f"{RDFS}domain", f"<{EX}C{draw.randrange(20)}>"
        yield f"p{number}", f"{RDFS}range", f"<{EX}C{draw.randrange(20)}>"
        if number >= PLAIN // 2:
            yield f"p{number}", f"{RDFS}subPropertyOf", f"<{EX}p{number - PLAIN // 2}>"


def thing(name: str, number: int, things: int, draw: random.Random) -> Iterator[tuple[str, str, str]]:
    """The ten quads of one thing."""
    yield name, f"{RDF}type", f"<{EX}C{draw.randrange(CLASSES)}>"
    for _ in range(5):
        yield name, f"{EX}value{draw.randrange(10)}", f'"{draw.randrange(1000)}"'
    yield name, f"{EX}i{draw.randrange(INVERSE)}", f"<{EX}n{draw.randrange(things)}>"
    for _ in range(2):
        yield name, f"{EX}p{draw.randrange(PLAIN)}", f"<{EX}n{draw.randrange(things)}>"
    last = number % (CHAIN * TRANSITIVE) >= (CHAIN - 1) * TRANSITIVE
    yield name, f"{EX}t{number % TRANSITIVE}", f"<{EX}n{number if last else number + TRANSITIVE}>"


def document(quads: int, seed: int) -> bytes:
    """N-Triples of about so many quads."""
    draw, things = random.Random(seed), (quads - CLASSES) // 10
    triples = list(vocabulary(draw))
    for number in range(things):
        triples += thing(f"n{number}", number, things, draw)
    return "".join(f"<{EX}{s}> <{p}> {o} .\n" for s, p, o in triples).encode()


def timed(work: Callable[[], Any]) -> float:
    """The CPU time of some work, in milliseconds."""
    began = time.process_time()
    work()
    return 1000 * (time.process_time() - began)


def percentiles(times: list[float]) -> str:
    """The median, and the 95th percentile."""
    return f"{np.median(times):.1f} ({np.percentile(times, 95):.1f})"


def turns(world: worlds.World, count: int, things: int, draw: random.Random) -> tuple[list[float], list[float]]:
    """The times of adding ten quads, and of removing ten, of so many turns."""
    news = [
        [(f"<{EX}{s}>", f"<{p}>", o) for s, p, o in thing(f"new{draw.random()}", number, things, draw)]
        for number in range(count)
    ]
    added = [timed(lambda new=new: world.add(new)) for new in news]  # type: ignore[misc]  # a default binds it
    return added, [timed(lambda new=new: world.remove(new)) for new in news]  # type: ignore[misc]


def measured(world: worlds.World, quads: int, count: int, seed: int) -> list[tuple[str, str]]:
    """The rows of the figures."""
    draw, things = random.Random(seed), (quads - CLASSES) // 10
    world.file.compact()
    before = world.stats().bytes
    plain = turns(world, count, things, draw)
    whole = timed(lambda: world.rules.use("rdfs+"))
    told = world.rules.list()
    world.file.compact()
    after = world.stats().bytes
    kept = turns(world, count, things, draw)
    sample = [(f"<{EX}n{number}>", f"<{RDF}type>", f"<{EX}C0>") for number in draw.sample(range(things), PROOFS)]
    rows = list(large(world))
    proofs = [timed(lambda quad=quad: world.rules.why(quad)) for quad in sample]  # type: ignore[misc]
    rows += [
        ("all made anew, s", f"{whole / 1000:.1f}"),
        ("conclusions", f"{told.conclusions:,}"),
        ("file, with and without them, MB", f"{after / 1e6:.0f}, {before / 1e6:.0f}"),
    ]
    for name, without, with_rules in zip(("add", "remove"), plain, kept, strict=True):
        rows += [
            (f"{name} ten quads, no rules, ms (p95)", percentiles(without)),
            (f"{name} ten quads, rdfs+, ms (p95)", percentiles(with_rules)),
        ]
    return [*rows, ("why, ms (p95)", percentiles(proofs))]


def large(world: worlds.World) -> Iterator[tuple[str, str]]:
    """The rows of removals of which much follows; they say where all was made anew."""
    chain = [(f"<{EX}m{n}>", f"<{EX}t0>", f"<{EX}m{n + 1}>") for n in range(COMPONENT - 1)]
    world.add(chain)
    yield "remove a link in a component of 1,000, ms", removed(world, chain[COMPONENT // 2])
    world.remove(chain)
    below = f"SELECT ?c {{ ?c rdfs:subClassOf+ <{EX}C0> . ?d rdfs:subClassOf+ ?c }} GROUP BY ?c ORDER BY DESC(count(*))"
    found: Any = world.query(f"{below} LIMIT 1")
    (above,) = [quad for row in found for quad in world.quads(row["c"], "rdfs:subClassOf")]
    yield "remove a class near the root, ms", removed(world, above)
    world.add([above])


def removed(world: worlds.World, quad: Any) -> str:
    """The time of a removal, and whether all was made anew."""
    changes: list[Any] = []
    took = timed(lambda: changes.append(world.remove([quad])))
    return f"{took:.0f}{', all made anew' if any('made anew' in note for note in changes[0].notes) else ''}"


def reasonable(data: bytes, connection: Connection) -> None:
    """Send the conclusions of the engine reasonable, and the times of the whole and after a removal."""
    import reasonable as engine

    lines = data.decode().splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data.ttl"
        for kept in (lines, lines[:-10]):
            file.write_text("".join(kept))
            reasoner = engine.PyReasoner()
            reasoner.load_file(str(file))
            found: list[int] = []
            took = timed(lambda own=reasoner, found=found: found.append(len(own.reason())))  # type: ignore[misc]
            connection.send((found[0] - len(set(kept)), took))


def oxilite(data: bytes, connection: Connection) -> None:
    """Send the same of oxilite."""
    import oxilite as engine

    lines = data.decode().splitlines(keepends=True)
    store = engine.Store()
    store.bulk_load(data, engine.RdfFormat.N_TRIPLES)
    for gone in ([], lines[-10:]):
        for quad in list(engine.parse("".join(gone), engine.RdfFormat.N_TRIPLES)):
            store.remove(quad)
        found: list[int] = []
        took = timed(lambda found=found: found.append(store.materialize()))  # type: ignore[misc]
        connection.send((found[0], took))


def peers(data: bytes) -> Iterator[tuple[str, ...]]:
    """(name, conclusions, seconds of the whole, seconds after ten quads are removed) of other engines."""
    for name, run in (("reasonable", reasonable), ("oxilite", oxilite)):
        if find_spec(name) is None:
            yield name, "not installed", "–", "–"
            continue
        spawning = multiprocessing.get_context("spawn")
        receiving, sending = spawning.Pipe(duplex=False)
        process = spawning.Process(target=run, args=(data, sending))
        process.start()
        sending.close()
        told: list[tuple[int, float]] = []
        began = time.monotonic()
        with contextlib.suppress(EOFError):
            while len(told) < 2 and receiving.poll(max(0.0, 60 * MINUTES - (time.monotonic() - began))):
                told.append(receiving.recv())
        late = process.is_alive() and len(told) < 2
        process.kill()
        process.join()
        ended = f"not done in {MINUTES} minutes" if late else "failed"
        times = [*(f"{took / 1000:.1f}" for _, took in told), ended, ended][:2]
        yield name, f"{told[0][0]:,}" if told else "–", *times


def entailed(path: Path) -> list[tuple[str, str]]:
    """The rows of `World.entailed`: its index, which stays on disk, and its copy for searches."""
    ask = f"ASK {{ ?x a <{EX}C0> }}"
    with worlds.open(path, embedder=None) as world:
        world.query(ask)
        made = timed(lambda: world.entailed.query(ask))
    folder = Path(f"{path}-sparql")
    own = {file.stat().st_ino: file.stat().st_size for file in folder.glob("r*/*")}
    more = {file.stat().st_ino: file.stat().st_size for file in folder.glob("entailed/r*/*")}
    with worlds.open(path, embedder=None) as world:
        first = timed(lambda: world.entailed.query(ask))
        read = timed(lambda: world.entailed.search("5", limit=3))
        world.add([(f"<{EX}late>", "rdf:type", f"<{EX}C9>")])
        later = timed(lambda: world.entailed.query(ask)), timed(lambda: world.entailed.search("5", limit=3))
    return [
        ("index with conclusions made, s", f"{made / 1000:.1f}"),
        ("both indexes on disk, MB", f"{sum(own.values()) / 1e6:.0f}, {sum((own | more).values()) / 1e6:.0f}"),
        ("first query of a process, s", f"{first / 1000:.2f}"),
        ("first search of a process, s", f"{read / 1000:.1f}"),
        ("query and search after a write, ms", ", ".join(f"{one:.0f}" for one in later)),
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--peers", action="store_true", help="measure the other engines, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kb.db"
        with worlds.open(path, embedder=None) as world:
            world.load(document(given.quads, given.seed), format="nt")
            rows = measured(world, given.quads, given.turns, given.seed)
        rows += entailed(path)
    environment()
    table("conclusions", ("measured", f"{given.quads:,} quads"), rows)
    if given.peers:
        names = ("engine", "conclusions", "whole, s", "after ten are removed, s")
        table("other engines", names, list(peers(document(given.quads, given.seed))))


if __name__ == "__main__":
    main()
