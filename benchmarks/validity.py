"""Facts in time: what state and end cost, and what a world with ended facts costs who asks for the present or the past.

python -m benchmarks.validity [--quads 1000000] [--ended 100000]
"""

from __future__ import annotations

import argparse
import datetime
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import worlds
from benchmarks.common import environment, table

QUERY = "SELECT (COUNT(*) AS ?n) { ?s <urn:p3> ?o . ?o <urn:p4> ?o2 }"
WORDS = [f"word{number}" for number in range(2000)]


def lines(quads: int, draw: random.Random) -> str:
    """N-Triples: one label for every five links."""
    found = []
    entities = quads // 6
    for number in range(entities):
        label = " ".join(draw.choices(WORDS, k=4))
        found.append(f'<urn:e{number}> <http://www.w3.org/2000/01/rdf-schema#label> "{label}" .')
        found += [f"<urn:e{number}> <urn:p{draw.randrange(8)}> <urn:e{draw.randrange(entities)}> ." for _ in range(5)]
    return "\n".join(found)


def ended(count: int, entities: int, draw: random.Random) -> str:
    """Turtle of as many facts that have ended."""
    head = "@prefix s: <https://schema.org/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
    return head + "\n".join(
        f"[] rdf:reifies <<( <urn:e{draw.randrange(entities)}> <urn:p3> <urn:f{number}> )>> ; "
        f's:validFrom "{(year := draw.randrange(1950, 2015))}" ; s:validThrough "{year + draw.randrange(9)}" .'
        for number in range(count)
    )


def median(call: Callable[[int], object], times: int = 21) -> float:
    """The median of the milliseconds that a call takes."""
    taken = []
    for number in range(times):
        began = time.perf_counter()
        call(number)
        taken.append((time.perf_counter() - began) * 1e3)
    return statistics.median(taken)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, default=1_000_000)
    parser.add_argument("--ended", type=int, default=100_000)
    options = parser.parse_args()
    environment()
    draw = random.Random(5)
    entities = options.quads // 6
    with tempfile.TemporaryDirectory() as folder:
        text = lines(options.quads, draw).encode()
        plain = worlds.open(Path(folder, "plain.db"), embedder=None)
        plain.load(text, format="nt")
        dated = worlds.open(Path(folder, "dated.db"), embedder=None)
        dated.load(text, format="nt")
        dated.load(ended(options.ended, entities, draw).encode(), format="turtle")
        rows = []
        facts = [(f"urn:e{number}", "urn:p9", f"urn:e{number + 1}") for number in range(100, 121)]
        rows.append(("state", f"{median(lambda n: dated.facts.state(*facts[n], valid_from='2019-05')):.1f}"))
        rows.append(("end", f"{median(lambda n: dated.facts.end(facts[n])):.1f}"))
        title = f"{options.quads:,} quads and {options.ended:,} ended facts, milliseconds, medians of 21"
        table(title, ("verb", "milliseconds"), rows)
        began = time.perf_counter()
        past = dated.as_of("1990")
        past.query(QUERY)
        first = time.perf_counter() - began
        rows = []
        calls: list[tuple[str, Callable[[worlds.World, int], object]]] = [
            ("search", lambda world, n: world.search(f"{WORDS[n]} {WORDS[n + 50]}")),
            ("search, types of subjects", lambda world, n: world.search(WORDS[n], where="?subject <urn:p3> ?o")),
            ("SPARQL", lambda world, n: world.query(QUERY)),
        ]
        for name, call in calls:
            for world in (plain, dated, past):
                call(world, 99)
            taken = {"plain": [0.0], "dated": [0.0], "past": [0.0]}
            for number in range(21):  # by turns
                for key, world in (("plain", plain), ("dated", dated), ("past", past)):
                    began = time.perf_counter()
                    call(world, number)
                    taken[key].append((time.perf_counter() - began) * 1e3)
            a, b, c = (statistics.median(taken[key][1:]) for key in ("plain", "dated", "past"))
            rows.append((name, f"{a:.1f}", f"{b:.1f}", f"{b / a:.2f}", f"{c:.1f}", f"{c / b:.2f}"))
        heads = ("what", "no ended facts", "with them", "ratio", "as of 1990", "ratio ")
        past.close()
        soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=3)
        dated.facts.state("urn:e1", "urn:p9", "urn:e2", valid_from=soon)
        time.sleep(3)
        nothing, one = median(lambda n: plain.facts.due()), median(lambda n: dated.due())
        began = time.perf_counter()
        dated.facts.carry_out()
        carried = (time.perf_counter() - began) * 1e3
        print(
            f"due: {nothing:.1f} ms without facts in time, {one:.1f} with one that is due; carry_out {carried:.1f} ms"
        )
        table(f"The present and the past, milliseconds; the first query as of a time takes {first:.1f} s", heads, rows)


if __name__ == "__main__":
    main()
