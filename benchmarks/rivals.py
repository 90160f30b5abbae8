"""Worlds beside other embedded engines: `python -m benchmarks.rivals [--quads 300000] [--texts 50000] [--rounds 3]`.

Every engine (`benchmarks.rival_engines`) gets the same graph and the same questions, each in a process of its own, by
turns: which begins changes with the round. A process loads, inserts ten times 100 quads with a text each, answers
each kind of question several times, and closes; another opens what is on the disk and answers once. Figures are
medians: CPU time of all threads and children, by the system's account, which other work disturbs least; those of a new
process begin with its start, its modules compiled before, as those of installed packages are. An engine that lacks
something, or is not installed (`pip install 'worlds-kg[rivals]'`), has a dash.

Rows of queries are counted and must be as many as pyoxigraph's; hits behind a filter must be members of the class;
recall is of the ten nearest by exact cosine. `--write` puts the table into docs/benchmarks.md; `--small` is a trial.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.common import environment, median, peak_memory
from benchmarks.rival_engines import ENGINES, EX, Engine, Row

CLASSES = {"half": 0.5, "hundredth": 0.01, "thousandth": 0.001, "myriadth": 0.0001}
SHARES = {None: "no filter", "half": "1/2", "hundredth": "1/100", "thousandth": "1/1,000", "myriadth": "1/10,000"}
BATCH, BATCHES = 100, 10
WARM, POINTS = 8, 100  # of each query, then of the first, before they are measured: caches fill, and Worlds moves its
# index of quads into memory once queries have taken long on disk
TURNS = 5  # of each query
_P = f"PREFIX ex: <{EX}> "
QUERIES = {
    "point": "SELECT ?p ?o { ex:r100 ?p ?o }",
    "three hops": "SELECT ?c ?y { ex:r100 ex:cites ?a . ?a ex:cites ?b . ?b ex:cites ?c . ?c ex:year ?y }",
    "join over classes": "SELECT ?s ?o { ?s a ex:half ; ex:author ?a ; ex:cites ?o . ?o a ex:hundredth }",
    "GROUP BY, top 10": "SELECT ?a (COUNT(*) AS ?n) { ?s ex:author ?a } GROUP BY ?a ORDER BY DESC(?n) ?a LIMIT 10",
    "OPTIONAL": "SELECT ?s ?o { ?s ex:year 1999 OPTIONAL { ?s ex:cites ?o } }",
    "regex over texts": "SELECT ?s { ?s ex:text ?t FILTER(REGEX(?t, '^b.*n 1x', 'i')) }",
    "property path": "SELECT ?b { ex:r400 ex:cites+ ?b }",
    "filter on years": "SELECT ?s { ?s ex:year ?y FILTER(?y > 1990) }",
}
PACKAGES = tuple(dict.fromkeys(kind.package for kind in ENGINES.values()))
BEGIN, END = "<!-- rivals -->", "<!-- /rivals -->"
DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"

Figures = dict[str, float]


def spent() -> float:
    """CPU milliseconds of this process and of its children that have ended."""
    used = [resource.getrusage(which) for which in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) * 1e3


def cost(work: Callable[[], object]) -> float:
    began = spent()
    work()
    return spent() - began


# --- the data ---------------------------------------------------------------------------------------------------------


def generate(folder: Path, quads: int, texts: int, asked: int) -> None:
    """Write the graph, its texts and vectors, and the questions with their exact answers."""
    import numpy as np

    from benchmarks.search import Data, unit

    data = Data(texts + BATCH * BATCHES, 0.0, seed=1)
    rng, draw = np.random.default_rng(2), random.Random(2)
    order = rng.permutation(texts)
    classes = {name: np.sort(order[: max(1, round(texts * share))]) for name, share in CLASSES.items()}
    lines = [f'<{EX}text> "{data.texts[row]}"' for row in range(texts)]
    with (folder / "graph.nt").open("w", encoding="utf-8") as file:
        integer = "http://www.w3.org/2001/XMLSchema#integer"
        rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
        for row in range(texts):
            about = [
                lines[row],
                f'<{EX}year> "{draw.randrange(1960, 2025)}"^^<{integer}>',
                f"<{EX}author> <{EX}author{int(texts / 8 * draw.random() ** 3)}>",
            ]
            file.writelines(f"<{EX}r{row}> {line} .\n" for line in about)
        for name, members in classes.items():
            file.writelines(f"<{EX}r{row}> <{rdf_type}> <{EX}{name}> .\n" for row in members)
        left = quads - 3 * texts - sum(map(len, classes.values()))
        for turn in range(max(left, texts)):  # an entity cites some that stand up to 300 before it
            row = turn % texts
            file.write(f"<{EX}r{row}> <{EX}cites> <{EX}r{max(0, row - draw.randint(1, 300))}> .\n")
    data.vectors.tofile(folder / "vectors.f4")
    chosen = rng.integers(0, texts, asked)
    near = unit(data.vectors[chosen] + rng.normal(size=(asked, data.vectors.shape[1])) * 0.3 / 384**0.5)
    questions = []
    for row, vector in zip(chosen.tolist(), near, strict=True):
        words = [word for word in dict.fromkeys(data.texts[row].split()[:-1]) if len(word) > 3]
        nearest = {}
        for part in SHARES:
            members = np.arange(texts) if part is None else classes[part]
            close = data.vectors[members].astype(np.float64) @ vector.astype(np.float64)
            nearest[part or ""] = members[np.argsort(-close, kind="stable")[:10]].tolist()
        questions.append((" ".join(draw.sample(words, min(3, len(words)))), vector.tolist(), row, nearest))
    held = {name: members.tolist() for name, members in classes.items()}
    (folder / "data.json").write_text(json.dumps({"texts": data.texts, "classes": held, "questions": questions}))


# --- one engine, in a process of its own ------------------------------------------------------------------------------


def work(engine: Engine, folder: Path, data: dict[str, Any], rows: list[Row]) -> Iterator[tuple[str, float]]:
    """All that an engine does with the data."""
    loaded, later = rows[: -BATCH * BATCHES], rows[-BATCH * BATCHES :]
    engine.open()
    if engine.load is not None:
        yield "load, s", cost(lambda: engine.load(folder / "graph.nt")) / 1e3
    if engine.load_vectors is not None:
        yield "texts with vectors, s", cost(lambda: engine.load_vectors(loaded)) / 1e3
    if engine.query is not None:
        first = [*list(QUERIES.values()) * WARM, *[QUERIES["point"]] * POINTS]
        yield f"first {len(first)} queries, s", cost(lambda: [engine.query(_P + query) for query in first]) / 1e3
        for name, query in QUERIES.items():
            count = engine.query(_P + query)
            yield f"rows: {name}", count
            yield f"{name}, ms", median([cost(lambda: engine.query(_P + query)) for _ in range(TURNS)])  # noqa: B023
    questions = data["questions"]
    if engine.text is not None:
        found = [engine.text(text) for text, _, _, _ in questions]
        yield "full text, ms", median([cost(lambda: engine.text(text)) for text, *_ in questions])  # noqa: B023
        if engine.ranked:
            yield (
                "full text, share of first 10 with its text",
                share(row in some for (_, _, row, _), some in zip(questions, found, strict=True)),
            )
    if engine.vector is not None:
        recalls = []
        for part in SHARES:
            for _, vector, _, nearest in questions:
                best = nearest[part or ""]
                recalls.append(len(set(best) & set(engine.vector(vector, part))) / len(best))
        yield "recall@10, all filters", sum(recalls) / len(recalls)
        yield "vectors, ms", median([cost(lambda: engine.vector(vector, None)) for _, vector, *_ in questions])  # noqa: B023
    if engine.hybrid is not None:
        for part, title in SHARES.items():
            members = set(range(len(loaded))) if part is None else set(engine.classes[part])
            for text, vector, *_ in questions:
                assert set(engine.hybrid(text, vector, part)) <= members, (engine.name, part)
            took = [cost(lambda: engine.hybrid(text, vector, part)) for text, vector, *_ in questions]  # noqa: B023
            yield f"hybrid, {title}, ms", median(took)
    if engine.insert is not None:
        pieces = [later[at : at + BATCH] for at in range(0, len(later), BATCH)]
        yield "insert of 100, ms", median([cost(lambda: engine.insert(piece)) for piece in pieces])  # noqa: B023
    yield "memory, MB", peak_memory()
    engine.close()
    if engine.on_disk:
        files = [file for file in engine.folder.rglob("*") if file.is_file()]
        yield "files, MB", sum(file.stat().st_size for file in files) / 1e6


def first(engine: Engine, question: dict[str, Any], what: str) -> Iterator[tuple[str, float]]:
    """The first answer of a new process, its start included."""
    engine.open()
    if what == "query":
        engine.query(_P + QUERIES["three hops"])
    elif engine.hybrid is not None:
        vector = question["vector"]
        if engine.package != "lancedb":
            import numpy as np

            vector = np.array(vector, dtype=np.float32)
        engine.hybrid(question["text"], vector, None)
    else:
        engine.text(question["text"])
    yield f"first {what} of a process, ms", spent()
    if what == "search" or engine.hybrid is engine.text is None:
        yield "memory after it, MB", peak_memory()


def child(name: str, source: Path, folder: Path, what: str) -> None:
    kind = ENGINES[name]
    if what == "work":
        import numpy as np

        data = json.loads((source / "data.json").read_text())
        vectors = np.fromfile(source / "vectors.f4", dtype="<f4").reshape(len(data["texts"]), -1)
        for question in data["questions"]:
            question[1] = np.array(question[1], dtype=np.float32)
        rows = list(zip(range(len(vectors)), data["texts"], vectors, strict=True))
        figures = dict(work(kind(folder, data["classes"], rows), source, data, rows))
    else:
        question = json.loads((source / "question.json").read_text())
        figures = dict(first(kind(folder, {}, []), question, what))
    print(json.dumps(figures))


def share(held: Iterator[bool]) -> float:
    every = list(held)
    return sum(every) / len(every)


# --- by turns ---------------------------------------------------------------------------------------------------------


def available(kind: type[Engine]) -> str:
    """Nothing, or why an engine is not measured."""
    try:
        version(kind.package)
    except PackageNotFoundError:
        return "needs Python 3.12" if kind.package == "grafeo" and sys.version_info < (3, 12) else "not installed"
    return "" if kind.insert is not None else "not measured"


def run(name: str, source: Path, folder: Path, what: str) -> Figures:
    command = [sys.executable, "-m", "benchmarks.rivals", "--child", name, str(source), str(folder), what]
    keeping = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=keeping)
    found: Figures = json.loads(done.stdout.splitlines()[-1])
    return found


def measured(names: list[str], source: Path, rounds: int) -> dict[str, Figures]:
    """The medians of each engine's figures."""
    every: dict[str, list[Figures]] = {name: [] for name in names}
    data = json.loads((source / "data.json").read_text())
    text, vector, *_ = data["questions"][0]
    (source / "question.json").write_text(json.dumps({"text": text, "vector": vector}))
    for turn in range(rounds):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            kind = ENGINES[name]
            with tempfile.TemporaryDirectory(dir=source) as folder:
                figures = run(name, source, Path(folder), "work")
                if kind.on_disk and kind.query is not None:
                    figures |= run(name, source, Path(folder), "query")
                if kind.on_disk and (kind.text is not None or kind.hybrid is not None):
                    figures |= run(name, source, Path(folder), "search")
                every[name].append(figures)
    return {name: {key: median([one[key] for one in some]) for key in some[0]} for name, some in every.items()}


def check(figures: dict[str, Figures]) -> None:
    """AssertionError where two engines give another number of rows for a query."""
    for query in QUERIES:
        counts = {name: some[f"rows: {query}"] for name, some in figures.items() if f"rows: {query}" in some}
        assert len(set(counts.values())) <= 1, (query, counts)


def lines(figures: dict[str, Figures], missing: dict[str, str]) -> list[str]:
    """The table: a row for each figure, a column for each engine."""
    every = sorted(figures.values(), key=len, reverse=True)  # that with most figures has them in their order
    titles = [title for title in dict.fromkeys(title for some in every for title in some) if title[:6] != "rows: "]
    names = [name for name in ENGINES if name in figures or name in missing]
    found = ["| | " + " | ".join(names) + " |", "| --- |" + " --- |" * len(names)]
    for title in titles:
        cells = [shown(figures[name][title]) if title in figures.get(name, {}) else "–" for name in names]
        found.append(f"| {title} | {' | '.join(cells)} |")
    return found


def shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, default=300_000)
    parser.add_argument("--texts", type=int, default=50_000)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=list(ENGINES), default=list(ENGINES))
    parser.add_argument("--small", action="store_true", help="3,000 quads, 500 texts, one round")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, source, folder, what = options.child
        child(name, Path(source), Path(folder), what)
        return
    if options.small:
        options.quads, options.texts, options.questions, options.rounds = 3000, 500, 5, 1
    missing = {name: why for name in options.only if (why := available(ENGINES[name]))}
    names = [name for name in options.only if name not in missing]
    environment()
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), options.quads, options.texts, options.questions)
        figures = measured(names, Path(folder), options.rounds)
    check(figures)
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES if name and installed(name))
    said = (
        f"{options.quads:,} quads, {options.texts:,} texts of 384 dimensions, medians of {options.rounds} rounds; "
        f"{versions}; load average {Path('/proc/loadavg').read_text().split()[0]}, {time.strftime('%Y-%m-%d')}."
        + "".join(f" {name}: {why}." for name, why in missing.items())
    )
    table = "\n".join([said, "", *lines(figures, missing)])
    print(f"\n{table}")
    if options.write:
        before, _, rest = DOCUMENT.read_text().partition(BEGIN)
        DOCUMENT.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}")


def installed(package: str) -> bool:
    try:
        return bool(version(package))
    except PackageNotFoundError:
        return False


if __name__ == "__main__":
    main()
