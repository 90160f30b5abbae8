"""How often a question is answered rightly, and how often wrongly, by the query that is derived from it.

`python -m benchmarks.questions --seeds 40` asks the generated companies, `--staff` those about a firm's staff, and
`--movies DIR` the questions of metaqa-movies.
Told are, by kind, questions, right answers and wrong ones; what is not told as an answer is neither.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

import worlds
from benchmarks.company import STYLES, Asked, company
from benchmarks.staff import staff
from worlds import World
from worlds.entities.answers import Answer

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
Counts = Counter[tuple[str, str]]


def names_of(world: World) -> dict[str, str]:
    """IRI → label."""
    return {str(row[0]): str(row[1]) for row in world.query(f"SELECT ?x ?l {{ ?x <{LABEL}> ?l }}")}  # type: ignore[union-attr]


def is_right(asked: Asked, answer: Answer, names: dict[str, str]) -> bool:
    """Whether an answer that was told is the right one."""
    if asked.answer is None:
        return False
    if isinstance(asked.answer, bool):
        return answer.value is asked.answer
    if isinstance(asked.answer, (int, float)):
        value = float(str(answer.rows[0][0])) if len(answer.rows) == 1 else None
        return value is not None and abs(value - asked.answer) <= 1e-6 * max(1.0, abs(asked.answer))
    return {names.get(str(row[0])) for row in answer.rows} == set(asked.answer)


def companies(seeds: range) -> tuple[Counts, list[float], list[str]]:
    """Ask the worlds of some seeds in every style: counts by (kind, outcome), seconds, and what was told wrongly."""
    counts: Counts = Counter()
    seconds, wrong = [], []
    for seed in seeds:
        for style in STYLES:
            made = company(seed, style)
            with worlds.open(embedder=None) as world:
                world.load(made.document, format="turtle")
                names = names_of(world)
                world.context("How many are there?")
                for asked in made.questions:
                    began = time.perf_counter()
                    answer = world.context(asked.question).answer
                    seconds.append(time.perf_counter() - began)
                    counts[asked.kind, "asked"] += 1
                    if answer is None or not answer.told:
                        continue
                    outcome = "right" if is_right(asked, answer, names) else "wrong"
                    counts[asked.kind, outcome] += 1
                    if outcome == "wrong":
                        wrong.append(f"{style.name}: {asked.question}: {answer.query}")
    return counts, seconds, wrong


def firms(seeds: range) -> tuple[Counts, list[str]]:
    """Ask the worlds of a firm's staff: counts, and the questions told wrongly; of several that have the most, any."""
    counts: Counts = Counter()
    wrong = []
    for seed in seeds:
        document, questions = staff(seed)
        with worlds.open(embedder=None) as world:
            world.load(document, format="turtle")
            for question, query in questions:
                gold: Any = None if query is None else world.query(query)
                there = gold is not None and (isinstance(gold, bool) or len(gold) > 0)
                counts["answerable" if there else "unanswerable", "asked"] += 1
                answer = world.context(question).answer
                if answer is None or not answer.told:
                    continue
                outcome = "right" if there and _agrees(answer, gold, one="LIMIT 1" in str(query)) else "wrong"
                counts["answerable" if there else "unanswerable", outcome] += 1
                if outcome == "wrong":
                    wrong.append(f"{question}: {answer.query}")
    return counts, wrong


def _agrees(answer: Answer, gold: Any, *, one: bool) -> bool:
    if isinstance(gold, bool) or answer.value is not None:
        return answer.value is gold
    found, meant = ({_plain(row[0]) for row in rows} for rows in (answer.rows, gold))
    return meant <= found if one else found == meant


def _plain(term: Any) -> str:
    try:
        return f"{float(str(term)):.6f}"
    except ValueError:
        return str(term)


def movies(world: World, folder: Path, every: int) -> tuple[Counts, list[str]]:
    """Ask questions whose SPARQL reproduces the answers: complete contexts, and answers that were told, by hops."""
    counts: Counts = Counter()
    wrong = []
    lines = (folder / "questions.jsonl").read_text("utf-8").splitlines()
    asked = [one for one in map(json.loads, lines) if one["sparql_answers_match"]]
    for one in asked[::every]:
        hops = f"{one['hops']} hops"
        found = world.context(one["question"], budget=2000)
        counts[hops, "asked"] += 1
        counts[hops, "complete"] += all(
            re.search(rf"(?<!\w){re.escape(text)}(?!\w)", found.text) for text in one["answers"]
        )
        if found.answer is not None and found.answer.told:
            right = {_name(world, row[0]) for row in found.answer.rows} == set(one["answers"])
            counts[hops, "right" if right else "wrong"] += 1
            if not right:
                wrong.append(f"{one['question']}: {found.answer.query}")
    return counts, wrong


def _name(world: World, term: Any) -> str:
    if not str(term).startswith("http"):
        return str(term)
    rows: Any = world.query("SELECT ?l { ?x rdfs:label ?l }", bindings={"x": term})
    return str(next(iter(rows))[0])


def share(counts: Counts, outcome: str, kinds: tuple[str, ...] | None = None) -> float:
    """The share of an outcome: of wrong ones among what was told, of others among what was asked."""
    chosen = {kind for kind, _ in counts} if kinds is None else set(kinds)
    of = ("right", "wrong") if outcome == "wrong" else ("asked",)
    total = sum(counts[kind, one] for kind in chosen for one in of)
    return sum(counts[kind, outcome] for kind in chosen) / max(total, 1)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--movies", type=Path)
    parser.add_argument("--staff", action="store_true")
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    if given.movies is not None:
        with worlds.open(embedder=None) as world:
            world.load(gzip.decompress((given.movies / "movies.nt.gz").read_bytes()), format="nt")
            counts, wrong = movies(world, given.movies, given.every)
    elif given.staff:
        counts, wrong = firms(range(given.seeds))
    else:
        counts, seconds, wrong = companies(range(given.seeds))
        print(f"median {statistics.median(seconds) * 1000:.1f} ms a context")
    for kind in sorted({kind for kind, _ in counts}):
        print(kind, {outcome: number for (one, outcome), number in counts.items() if one == kind})
    print(f"wrong of told {share(counts, 'wrong'):.3f}")
    print(*wrong[:20], sep="\n")


if __name__ == "__main__":
    main()
