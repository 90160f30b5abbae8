"""A group against one world of the same data: `python -m benchmarks.groups DATA… [--worlds 3] [--searches 100]`.

RDF is loaded into one world, and by subject into several. Random words of its texts are searched by words, by vectors
and by both, in the one and in the group, over all vectors. Printed are how many texts stand in several worlds, how many
searches have a score of the first ten that differs by more than 1e-6 and by more than 0.01, the largest difference (a
score is at most 1, of both legs 2), and how many have another first hit, where its score is not that of the other.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections import Counter
from pathlib import Path

from rdflib import Literal

import worlds
from benchmarks.common import environment, table
from tests.support.embedder import HashingEmbedder
from worlds.groups.sharding import shard


def main() -> None:
    """Run it, and print a table."""
    parser = argparse.ArgumentParser(prog="groups", description=__doc__.partition("\n")[0])
    parser.add_argument("data", nargs="+", help="files of RDF")
    parser.add_argument("--worlds", type=int, default=3)
    parser.add_argument("--searches", type=int, default=100)
    given = parser.parse_args()
    environment()
    rows = [row for data in given.data for row in compared(data, given.worlds, given.searches)]
    columns = ["data", "texts", "in several", "mode", "searches", "differ", "by > .01", "at most", "another first hit"]
    table(f"A group of {given.worlds} against one world", columns, rows)


def compared(data: str, count: int, searches: int) -> list[list[object]]:
    """A row for each mode."""
    embedder, chance = HashingEmbedder(), random.Random(3)
    with tempfile.TemporaryDirectory() as folder, worlds.open(embedder=embedder) as one:
        one.load(data)
        shards = {path.stem: worlds.open(path, embedder=embedder) for path in shard(data, folder, shards=count)}
        held: Counter[str] = Counter()
        for world in shards.values():
            world.embed()
            held.update({str(quad[2]) for quad in world.quads() if isinstance(quad[2], Literal)})
        texts = sorted(text for text in held if re.search("[A-Za-z]{3}", text))
        wanted = []
        for text in chance.choices(texts, k=searches):
            words = re.findall("[A-Za-z]{3,}", text)
            wanted.append(" ".join(chance.sample(words, min(len(words), chance.randint(1, 4)))))
        found = []
        with worlds.group(shards) as group:
            for mode in ("text", "vector", "hybrid"):
                differences, others = [], 0
                for words in wanted:
                    a, b = (world.search(words, mode=mode, plan="exact") for world in (one, group))
                    differences.append(max((abs(x.score - y.score) for x, y in zip(a, b, strict=True)), default=0.0))
                    others += (
                        bool(len(a)) and a[0].text != b[0].text and differences[-1] > 0 and a[0].score != b[0].score
                    )
                found.append(
                    [Path(data).name, len(held), sum(number > 1 for number in held.values()), mode, searches]
                    + [sum(one > least for one in differences) for least in (1e-6, 0.01)]
                    + [max(differences), others]
                )
        for world in shards.values():
            world.close()
    return found


if __name__ == "__main__":
    main()
