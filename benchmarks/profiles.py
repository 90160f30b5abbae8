"""What profiles and statements cost and give: `python -m benchmarks.profiles [SET] [--embedder auto] [--each 5]`.

A world is made of an RDF file of the shared data, by its labels alone, with profiles, and with statements. Told is the
size of its file, and of questions that name an entity the share in which that entity is the subject of one of the first
five hits, and in which these cite an answer: of metaqa-movies its own questions of one hop, of others, which have no
answers, one in some words around a label.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import worlds
from benchmarks.common import environment, table
from benchmarks.quality import shared_data
from benchmarks.quality_cache import CachedEmbedder, default_folder
from worlds.core.embedders import resolve_embedder

_FRAMES = ("what is related to {}", "which {} are there and what do they belong to", "tell me who is behind {}")
_FIRST = 5
_LABELLED = "SELECT ?s (SAMPLE(?l) AS ?label) { ?s rdfs:label|skos:prefLabel ?l FILTER(isIRI(?s)) } GROUP BY ?s"


def questions(world: worlds.World, folder: Path, each: int) -> list[tuple[str, str, list[str]]]:
    """Questions, the label of the entity that each names, and those of its answers."""
    own = folder / "questions.jsonl"
    if own.exists():
        found = [json.loads(line) for line in own.read_text(encoding="utf-8").splitlines()]
        return [(one["question"], one["topic"], one["answers"]) for one in found if one["hops"] == 1][::each]
    rows: Any = world.query(_LABELLED)
    labels = [str(row["label"]) for row in rows][::each]
    return [(_FRAMES[place % len(_FRAMES)].format(label), label, []) for place, label in enumerate(labels)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", nargs="?", default="metaqa-movies")
    parser.add_argument("--data", type=Path, default=shared_data())
    parser.add_argument("--embedder", default="none")
    parser.add_argument("--each", type=int, default=1, help="ask every n-th question")
    options = parser.parse_args()
    environment()
    folder = options.data / options.set
    (source,) = folder.glob("*.nt.gz")
    found = None if options.embedder == "none" else resolve_embedder(options.embedder)
    embedder = None if found is None else CachedEmbedder(found, default_folder())
    rows = []
    for policy in ({}, {"profiles": True}, {"statements": True}):
        with tempfile.TemporaryDirectory() as made:
            path = Path(made) / "world.db"
            began = time.process_time()
            with worlds.open(path, embedder=embedder, vector_index=False) as world:
                world.policy = world.policy.with_(**policy)
                world.load(source)
                seconds = time.process_time() - began
                asked = questions(world, folder, options.each)
                held = cited = 0
                for question, label, answers in asked:
                    hits = world.search(question, limit=_FIRST)
                    held += any(hit.label is not None and hit.label.casefold() == label.casefold() for hit in hits)
                    cited += any(str(quad[2]) in answers for hit in hits for quad in hit.quads)
                texts = world.stats().chunks
            size = path.stat().st_size / 1e6
        shares = f"{held / len(asked):.3f}", f"{cited / len(asked):.3f}"
        name = ", ".join(policy) or "labels alone"
        rows.append((name, len(asked), *shares, f"{texts:,}", f"{size:.1f}", f"{seconds:.1f}"))
    found_in = f"entity among the first {_FIRST}", f"answer cited by the first {_FIRST}"
    head = ("texts", "questions", *found_in, "chunks", "file_mb", "load_cpu_s")
    table(f"{options.set}, embedder {options.embedder}", head, rows)


if __name__ == "__main__":
    main()
