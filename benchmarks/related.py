"""What `related=True` finds, and what it costs: `python -m benchmarks.related [--embedder auto] [--each 5] [--size N]`.

Questions of two hops are asked with it and without. Of metaqa-movies, put into statements, a hit finds a hop if it
cites an entity that the questions' own queries give for it. The other world is generated: each document tells one fact,
whose statement stands in the graph that the document names, and a question needs two of them; a hit finds a document if
it is its text or a statement from it. Told are the shares of the hops or documents among the first hits, and the
difference with the interval that holds 95 % of 2,000 bootstrap samples.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import worlds
from benchmarks.common import environment, table
from benchmarks.quality import shared_data
from benchmarks.quality_cache import CachedEmbedder, default_folder
from worlds.core.embedders import resolve_embedder

_DEPTHS = (2, 5, 10)
_EX = "http://example.org/"
_SYLLABLES = "ba be bo dra fel gim hol jur ka lin mor nes or pel qua ros sil tam ul vor wes yar zin"
_FACTS: dict[str, tuple[str, str, tuple[str, ...]]] = {  # predicate: from, to, how documents say it
    "leads": ("person", "project", ("{} is in charge of {}.", "Since spring {} has run {}.", "{} took over {}.")),
    "fundedBy": ("project", "company", ("{} is paid for by {}.", "The money of {} comes from {}.")),
    "basedIn": ("company", "town", ("{} has its seat in {}.", "The offices of {} stand in {}.")),
    "studiedWith": ("person", "person", ("{} was taught by {}.", "{} learned the trade from {}.")),
    "uses": ("project", "device", ("{} relies on {}.", "In {} all measurements are taken by {}.")),
    "madeBy": ("device", "company", ("{} is a product of {}.", "{} is built by {}.")),
}
_ASKED = {  # pairs of predicates: what is asked of the first one's subject
    ("leads", "fundedBy"): "which company finances the project that {} heads",
    ("leads", "uses"): "what device does the project of {} work with",
    ("fundedBy", "basedIn"): "in which town is the sponsor of {} located",
    ("studiedWith", "leads"): "which project does the teacher of {} manage",
    ("uses", "madeBy"): "who manufactures the device that {} uses",
    ("madeBy", "basedIn"): "where does the maker of {} have its headquarters",
}
_FILLERS = (
    "Little else is known.",
    "The report is from last year.",
    "Nobody has confirmed it yet.",
    "More will follow.",
)


class Question(NamedTuple):
    """A question, and for each hop the IRIs of which one has to be cited."""

    text: str
    hops: tuple[frozenset[str], ...]


def generated(seed: int, size: int) -> tuple[list[str], list[Question]]:
    """N-Quads of documents and their facts, and questions that need two documents."""
    chance = random.Random(seed)
    names: dict[str, list[str]] = {kind: [] for kind in ("person", "project", "company", "town", "device")}
    seen: set[str] = set()
    length = 3 if size < 1000 else 4  # syllables
    while any(len(some) < size for some in names.values()):
        kind = min(names, key=lambda one: len(names[one]))
        words = ["".join(chance.choices(_SYLLABLES.split(), k=length)).title() for _ in range(1 + (kind == "person"))]
        name = " ".join(words)
        if name not in seen:
            seen.add(name)
            names[kind].append(name)
    lines: list[str] = []
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    for kind, some in names.items():
        lines += [f'{_node(kind, number)} {label} "{name}" .' for number, name in enumerate(some)]
    told: dict[str, dict[int, tuple[int, str]]] = {}
    for predicate, (start, end, wordings) in _FACTS.items():
        lines.append(f'<{_EX}{predicate}> {label} "{_words(predicate)}" .')
        told[predicate] = {}
        for number in range(size):
            other, document = chance.randrange(size), f"{_EX}document/{predicate}-{number}"
            told[predicate][number] = other, document
            subject, object_ = _node(start, number), _node(end, other)
            said = chance.choice(wordings).format(names[start][number], names[end][other])
            lines.append(f"{subject} <{_EX}{predicate}> {object_} <{document}> .")
            lines.append(f'<{document}> <http://schema.org/text> "{said} {chance.choice(_FILLERS)}" .')
            lines += [f"<{document}> <http://schema.org/mentions> {node} ." for node in (subject, object_)]
    questions = []
    for (first, second), wording in _ASKED.items():
        for number, (middle, document) in told[first].items():
            hops = frozenset([document]), frozenset([told[second][middle][1]])
            questions.append(Question(wording.format(names[_FACTS[first][0]][number]), hops))
    return lines, questions


def _node(kind: str, number: int) -> str:
    return f"<{_EX}{kind}/{number}>"


def _words(name: str) -> str:
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)


def of_movies(world: worlds.World, folder: Path) -> Iterator[Question]:
    """The questions of two hops, with the entities of each hop."""
    for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        if one["hops"] == 2:
            found: Any = world.query(one["sparql"].replace("DISTINCT ?x2", "DISTINCT ?x1 ?x2"))
            hops = tuple(frozenset(str(row[name]) for row in found) for name in ("x1", "x2"))
            if all(hops):
                yield Question(one["question"], hops)


def _shares(hits: Sequence[Any], hops: Sequence[frozenset[str]]) -> list[float]:
    named = [{str(part) for quad in hit.quads for part in quad} | {str(hit.graph)} for hit in hits]
    return [
        float(np.mean([any(not hop.isdisjoint(some) for some in named[:depth]) for hop in hops])) for depth in _DEPTHS
    ]


def measure(world: worlds.World, questions: Iterable[Question]) -> list[tuple[str, ...]]:
    """Rows of the table: what is asked, the shares at each depth, and the median of milliseconds."""
    asked = list(questions)
    world.search(asked[0].text, ranking=worlds.Ranking(related=True)), world.search(asked[0].text)
    shares: dict[bool, list[list[float]]] = {False: [], True: []}
    times: dict[bool, list[float]] = {False: [], True: []}
    for question in asked:
        for related in (False, True):
            began = time.perf_counter()
            hits = world.search(question.text, ranking=worlds.Ranking(related=related))
            times[related].append(1e3 * (time.perf_counter() - began))
            shares[related].append(_shares(hits, question.hops))
    plain, with_it = (np.array(shares[related]) for related in (False, True))
    chance = np.random.default_rng(0)
    samples = (with_it - plain)[chance.integers(len(asked), size=(2000, len(asked)))].mean(axis=1)
    low, high = np.percentile(samples, [2.5, 97.5], axis=0)
    rows = [
        (name, *(f"{value:.3f}" for value in some.mean(axis=0)), f"{np.median(took):.1f}")
        for name, some, took in (("without", plain, times[False]), ("with related", with_it, times[True]))
    ]
    gained = (with_it - plain).mean(axis=0)
    told = (f"{gain:+.3f} ({a:+.3f} to {b:+.3f})" for gain, a, b in zip(gained, low, high, strict=True))
    return [*rows, ("difference", *told, f"{np.median(np.subtract(times[True], times[False])):+.1f}")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=shared_data())
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--each", type=int, default=1, help="ask every n-th question")
    parser.add_argument("--size", type=int, default=150, help="entities of each kind in the generated world")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="make the worlds in this folder, and take those that are there")
    options = parser.parse_args()
    environment()
    found = None if options.embedder == "none" else resolve_embedder(options.embedder)
    embedder = None if found is None else CachedEmbedder(found, default_folder())
    lines, questions = generated(options.seed, options.size)
    movies = options.data / "metaqa-movies"
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        for name in ("generated", "metaqa-movies"):
            path = folder / f"{name}-{options.embedder}.db"
            fresh = not path.exists()
            with worlds.open(path, embedder=embedder, vector_index=False) as world:
                if fresh:
                    world.policy = world.policy.with_(statements=True)
                    if name == "generated":
                        world.load(io.BytesIO("\n".join(lines).encode()), format="nquads")
                    else:
                        world.load(movies / "movies.nt.gz")
                asked = questions if name == "generated" else list(of_movies(world, movies))
                asked = asked[:: options.each]
                head = ("search", *(f"at {depth}" for depth in _DEPTHS), "ms (median)")
                quads = world.stats().quads
                table(
                    f"{name}, {quads:,} quads, {len(asked)} questions, embedder {options.embedder}",
                    head,
                    measure(world, asked),
                )


if __name__ == "__main__":
    main()
