"""This tree beside an earlier commit: `python -m benchmarks.compare BASE [search load mapping sparql service]`.

With `--drivers`, instead of BASE, the same tree with each of its two drivers: libSQL, then SQLite.

A worktree of BASE is made in a temporary folder. In each round the two trees do the same small work in turn, which one
begins changes with the round, and each benchmark has a process of its own. Both take their data from their own
`benchmarks`, and only the public interface is used, so a commit can be compared with one that has other modules.

Figures are seconds of CPU, which other work on the machine disturbs least. `ratio` is the median of the rounds' ratios,
this tree's seconds by the base's, beside their quartiles: a difference is one where the quartiles are on one side of 1.
Every figure of every round stays in the file that --rows names, one JSON object a line. There are --rounds rounds;
after --minutes no further one begins.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TREES = ("base", "this")
DRIVERS = ("libsql", "sqlite")
SEARCHES = 40  # of each kind
TURNS = 60  # of each SPARQL query

Figures = dict[str, float]


# --- what is measured, in a process of its own ------------------------------------------------------------------------


def cpu(work: Callable[[], object]) -> float:
    """The CPU seconds that some work took, in this process and in those that it made and that have ended."""
    began = _spent()
    work()
    return _spent() - began


def _spent() -> float:
    used = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def searched(folder: Path, size: float) -> Iterator[tuple[str, float]]:
    """Hybrid, vector and text searches, among all texts and among a class."""
    from benchmarks.search import EX, Data, Prepared, build

    data, embedder = Data(int(4000 * size), 0.0, seed=1), Prepared()
    with build(folder / "world.db", data, embedder) as world:
        asked = data.queries(SEARCHES, seed=7)
        world.search("warm up", vector=asked[0][1])
        options: dict[str, dict[str, Any]] = {
            "hybrid": {},
            "hybrid, 1 % of the texts": {"types": f"{EX}Class{list(data.classes).index('random 1.00%')}"},
            "hybrid, 50 % of the texts": {"types": f"{EX}Class{list(data.classes).index('random 50.00%')}"},
            "vector": {"mode": "vector"},
            "text": {"mode": "text"},
        }
        for name, chosen in options.items():
            yield name, cpu(lambda: [world.search(text, vector=vector, **chosen) for text, vector in asked])  # noqa: B023


def loaded(folder: Path, size: float) -> Iterator[tuple[str, float]]:
    """A load of N-Triples, small writes, an export, and what a new process does first."""
    import worlds
    from benchmarks.load import EX, generate

    source, target = folder / "source.nt", folder / "world.db"
    generate(source, int(20_000 * size))
    with worlds.open(target, embedder=None) as world:
        yield "load", cpu(lambda: world.load(source))
        yield "100 adds", cpu(lambda: [world.add([(f"{EX}new{n}", f"{EX}p", f'"text {n}"')]) for n in range(100)])
        yield "export", cpu(lambda: world.export(folder / "exported.nq"))

    def opened() -> None:
        for _ in range(50):
            with worlds.open(target, embedder=None):
                pass

    yield "50 openings", cpu(opened)


def mapped(folder: Path, size: float) -> Iterator[tuple[str, float]]:
    """A table that a mapping makes quads of: eight columns, at size 10 with 200,000 rows."""
    import worlds

    space, source = "https://example.org/", folder / "table.csv"
    kinds = {
        "label": "string",
        "born": "date",
        "mass": "decimal",
        "height": "integer",
        "alive": "boolean",
        "note": "string",
    }
    columns: list[dict[str, Any]] = [{"name": "id", "titles": "id", "suppressOutput": True}]
    columns += [
        {"name": name, "titles": name, "propertyUrl": space + name, "datatype": kind} for name, kind in kinds.items()
    ]
    columns.append(
        {"name": "knows", "titles": "knows", "propertyUrl": space + "knows", "valueUrl": space + "p/{knows}"}
    )
    with source.open("w", encoding="utf-8") as file:
        print("id", *kinds, "knows", sep=",", file=file)
        for n in range(int(20_000 * size)):
            born = f"19{n % 100:02}-{n % 12 + 1:02}-{n % 28 + 1:02}"
            cells = (
                n,
                f"Person {n}",
                born,
                f"{n % 97}.5",
                n % 211,
                "true",
                f'"a note, the {n % 5000}th"',
                n * 7 % 1000,
            )
            print(*cells, sep=",", file=file)
    mapping = {"tableSchema": {"aboutUrl": space + "p/{id}", "columns": columns}}
    with worlds.open(folder / "world.db", embedder=None) as world:
        yield "load by a mapping", cpu(lambda: world.load(source, mapping=mapping))


def queried(folder: Path, size: float) -> Iterator[tuple[str, float]]:
    """Each query of benchmarks.sparql, its rows counted; the index that is built first; terms that are read."""
    import worlds
    from benchmarks.sparql import EX, QUADS_AN_ENTITY, SHAPES, quads

    with worlds.open(embedder=None, vector_index=False) as world:
        world.add(quads(int(30_000 * size) // QUADS_AN_ENTITY, seed=1))
        world.bind("ex", EX)
        yield "the index is built", cpu(lambda: world.query("ASK {}"))
        for name, query in SHAPES.items():
            yield name, cpu(lambda: [len(world.query(query)) for _ in range(TURNS)])  # type: ignore[arg-type]  # noqa: B023
        found = world.query("SELECT ?s ?t ?y { ?s ex:title ?t ; ex:year ?y }")
        yield "terms to rdflib's", cpu(lambda: [tuple(row) for row in found])  # type: ignore[union-attr]  # a SELECT


def searched_in_sparql(folder: Path, size: float) -> Iterator[tuple[str, float]]:
    """SERVICE w:search among the members of a class: the same ones again, and others each time."""
    import worlds
    from benchmarks.search import EX, Data, Prepared, build

    data, embedder = Data(int(4000 * size), 0.0, seed=1), Prepared()
    with build(folder / "world.db", data, embedder) as world:
        world.add([(f"{EX}r{row}", f"{EX}year", 1971 + row % 50) for row in range(len(data.texts))])
        asked = data.queries(SEARCHES, seed=7)
        embedder.known.update(asked)
        world.bind("ex", EX)
        world.query("ASK {}")
        world.search("warm up", vector=asked[0][1])

        def ask(text: str, members: int, since: int) -> int:
            found = world.query(
                f"""SELECT ?s ?year ?score {{
                    SERVICE w:search {{ ?hit w:query "{text}" ; w:subject ?s ; w:score ?score }}
                    ?s a ex:Class{members} ; ex:year ?year FILTER(?year >= {since}) }}"""
            )
            assert isinstance(found, worlds.records.Solutions)
            return len(found)

        for name in ("random 1.00%", "random 10.00%"):
            number = list(data.classes).index(name)
            yield f"{name}, the same", cpu(lambda: [ask(text, number, 0) for text, _ in asked])  # noqa: B023
            yield (
                f"{name}, others",
                cpu(lambda: [ask(text, number, 1971 + turn) for turn, (text, _) in enumerate(asked)]),  # noqa: B023
            )


WORK = {"search": searched, "load": loaded, "mapping": mapped, "sparql": queried, "service": searched_in_sparql}


# --- both trees in turn -----------------------------------------------------------------------------------------------


@contextlib.contextmanager
def worktree(commit: str) -> Iterator[Path]:
    """A folder that holds the files of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "base")
        git = ("git", "-C", str(ROOT), "worktree")
        subprocess.run([*git, "add", "--quiet", "--detach", str(made), commit], check=True)
        try:
            yield made
        finally:
            subprocess.run([*git, "remove", "--force", str(made)], check=True)


def figures(tree: Path, name: str, size: float, driver: str) -> Figures:
    """What a tree measures by a driver, in a process of its own."""
    command = [sys.executable, "-P", str(Path(__file__).resolve()), "--child", name, "--size", str(size)]
    environment = {**os.environ, "PYTHONPATH": str(tree), "WORLDS_DRIVER": driver}
    done = subprocess.run(command, cwd=tree, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: Figures = json.loads(done.stdout)
    return found


def quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def report(rounds: list[dict[str, Figures]], title: str, sides: tuple[str, str]) -> None:
    from benchmarks.common import table

    rows = []
    for figure in rounds[0][sides[1]]:
        base, this = ([one[side][figure] for one in rounds] for side in sides)
        low, middle, high = quartiles([mine / theirs for mine, theirs in zip(this, base, strict=True)])
        rows.append(
            (figure, statistics.median(base), statistics.median(this), f"{middle:.3f}", f"{low:.3f}–{high:.3f}")
        )
    table(title, ("figure", f"{sides[0]}_cpu_s", f"{sides[1]}_cpu_s", "ratio", "quartiles"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", help="the commit to compare with")
    parser.add_argument("benchmarks", nargs="*", choices=[[], *WORK], default=[], help="all, if none is named")
    parser.add_argument("--drivers", action="store_true", help="compare the two drivers; no BASE then")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--size", type=float, default=1.0, help="how much larger the data are than the small ones")
    parser.add_argument("--rows", type=Path, default=Path("compare.jsonl"), help="where each round's figures are kept")
    parser.add_argument("--child", choices=WORK, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(dict(WORK[options.child](Path(folder), options.size))))
        return
    if options.drivers and options.base is not None:
        options.base, options.benchmarks = None, [options.base, *options.benchmarks]
    if options.base is None and not options.drivers:
        parser.error("name the commit to compare with")
    from benchmarks.common import environment

    environment()
    began = time.monotonic()
    names = options.benchmarks or list(WORK)
    found: dict[str, list[dict[str, Figures]]] = {name: [] for name in names}
    other = contextlib.nullcontext(ROOT) if options.drivers else worktree(options.base)
    sides = DRIVERS if options.drivers else TREES
    with other as base, options.rows.open("w", encoding="utf-8") as kept:
        folders = dict(zip(sides, (base, ROOT), strict=True))
        for number in range(options.rounds):
            if number and time.monotonic() - began > options.minutes * 60:
                break
            for name in names:
                order = sides if number % 2 else sides[::-1]
                driver = {side: side if options.drivers else "auto" for side in sides}
                found[name].append({side: figures(folders[side], name, options.size, driver[side]) for side in order})
                print(json.dumps({"benchmark": name, "round": number, **found[name][-1]}), file=kept, flush=True)
    for name, rounds in found.items():
        what = "libsql and sqlite" if options.drivers else f"{options.base} and this tree"
        report(rounds, f"{name}: {what}, {len(rounds)} rounds", sides)
    print(f"\nload average at the end {os.getloadavg()[0]:.1f}; all rows are in {options.rows}")


if __name__ == "__main__":
    main()
