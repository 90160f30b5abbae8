"""Loading beside peers: `python -m benchmarks.load [--quads 1000000] [--file FILE]`.

The generated file is N-Triples: for each entity a type of 50, a label, an abstract of 60 words, a date, a number and
five links, ten triples in all, so a million quads have 200,000 texts. Worlds writes terms, quads with four indexes,
chunks, the full-text index and the revision, without embeddings; rdflib parses the same file into memory; pyoxigraph
loads it into a store on disk of its own, without full-text. The three take turns, `--rounds` times, each load
in a process of its own. CPU time is of all its threads, and of the parser that Worlds runs beside it, whose peak memory
is given apart. Sizes are those of the file after closing.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import Sentences, environment, median, peak_memory, table, vocabulary

TRIPLES_AN_ENTITY = 10
EX = "http://example.org/"
LOADERS = ("world", "rdflib", "pyoxigraph")
XSD = "http://www.w3.org/2001/XMLSchema#"


def generate(path: Path, quads: int, seed: int = 1) -> None:
    """Write about `quads` triples."""
    rng = random.Random(seed)
    sentence = Sentences(vocabulary(30_000), seed)
    entities = quads // TRIPLES_AN_ENTITY
    with path.open("w", encoding="utf-8") as file:
        for number in range(entities):
            subject = f"<{EX}resource/{number}>"
            date = f"{rng.randint(1950, 2025)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
            lines = [
                f"<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{EX}class/{rng.randint(0, 49)}>",
                f'<http://www.w3.org/2000/01/rdf-schema#label> "{sentence(3)} {number}"@en',
                f'<http://purl.org/dc/terms/abstract> "{sentence(60)}."',
                f'<http://purl.org/dc/terms/issued> "{date}"^^<{XSD}date>',
                f'<{EX}size> "{rng.randint(0, 100_000)}"^^<{XSD}integer>',
                *[f"<{EX}link{link}> <{EX}resource/{rng.randrange(entities)}>" for link in range(5)],
            ]
            file.writelines(f"{subject} {line} .\n" for line in lines)


def load_world(source: Path, target: Path) -> None:
    """In a process of its own: load, and print the figures as JSON."""
    import worlds
    from worlds.world import connection_of

    with worlds.open(target, embedder=None, sparql_index="memory") as world:
        began, worked = time.perf_counter(), time.process_time()
        change = world.load(source)
        seconds, cpu = time.perf_counter() - began, time.process_time() - worked
        parser = resource.getrusage(resource.RUSAGE_CHILDREN)
        text, stored = connection_of(world).rows(
            "SELECT (SELECT sum(length(CAST(value AS BLOB))) FROM terms WHERE id IN (SELECT term FROM chunks)), "
            "(SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'terms%' OR name LIKE 'quads%')"
        )[0]
    opened = []
    for _ in range(5):
        began = time.perf_counter()
        with worlds.open(target, embedder=None):
            opened.append((time.perf_counter() - began) * 1e3)
    print(
        json.dumps(
            {
                "seconds": seconds,
                "cpu": cpu,
                "parser_cpu": parser.ru_utime + parser.ru_stime,
                "parser_peak": parser.ru_maxrss / 1024,
                "quads": change.added,
                "chunks": change.chunks,
                "peak": peak_memory(),
                "bytes": target.stat().st_size,
                "text": text,
                "stored": stored,
                "open": median(opened),
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, default=1_000_000)
    parser.add_argument("--file", type=Path, help="N-Triples to load in the place of generated ones")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        loader, source, target = options.child[0], *map(Path, options.child[1:])
        load_world(source, target) if loader == "world" else load_peer(loader, source, target)
        return
    environment()
    with tempfile.TemporaryDirectory() as folder:
        source = options.file or Path(folder, "generated.nt")
        if not options.file:
            generate(source, options.quads)
        rounds = [one_round(source, Path(folder), number) for number in range(options.rounds)]
    last = rounds[-1]["world"]
    for one in rounds:
        one["world"]["cpu"] += one["world"]["parser_cpu"]
    seconds, cpu = ({n: median([one[n][kind] for one in rounds]) for n in LOADERS} for kind in ("seconds", "cpu"))
    quads = last["quads"]
    table(
        f"{quads:,} quads, {last['chunks']:,} chunks; medians of {options.rounds} rounds",
        ("loader", "load_s", "cpu_s", "quads_per_s", "times rdflib's speed", "times pyoxigraph's"),
        [
            (n, value, cpu[n], int(quads / value), seconds["rdflib"] / value, seconds["pyoxigraph"] / value)
            for n, value in seconds.items()
        ],
    )
    for peer in LOADERS[1:]:
        ratios = [one[peer]["seconds"] / one["world"]["seconds"] for one in rounds]
        print(f"\nas fast as {peer}, times, by round: " + ", ".join(f"{ratio:.2f}" for ratio in ratios))
    table(
        "the world's file",
        ("file_MB", "file_bytes_per_quad", "chunked texts_MB", "terms, quads and their indexes_bytes_per_quad",
         "the same without chunked texts_bytes_per_quad", "peak_memory_MB", "of the parser_MB", "open_ms"),
        [(last["bytes"] / 1e6, last["bytes"] / quads, last["text"] / 1e6, last["stored"] / quads,
          (last["stored"] - last["text"]) / quads, last["peak"], last["parser_peak"], last["open"])],
    )  # fmt: skip


def load_peer(loader: str, source: Path, target: Path) -> None:
    """In a process of its own: load by a peer, and print the figures as JSON."""
    import pyoxigraph
    import rdflib

    began, worked = time.perf_counter(), time.process_time()
    if loader == "rdflib":
        rdflib.Graph().parse(source, format="nt")
    else:
        pyoxigraph.Store(str(target)).bulk_load(path=str(source), format=pyoxigraph.RdfFormat.N_TRIPLES)
    print(json.dumps({"seconds": time.perf_counter() - began, "cpu": time.process_time() - worked}))


def one_round(source: Path, folder: Path, number: int) -> dict[str, dict[str, float]]:
    found = {}
    for loader in LOADERS:
        command = [sys.executable, "-m", "benchmarks.load", "--child", loader, str(source), str(folder / loader)]
        done = subprocess.run([*command], check=True, capture_output=True, text=True)
        found[loader] = json.loads(done.stdout.splitlines()[-1])
    (folder / "world").unlink()
    shutil.rmtree(folder / "pyoxigraph")
    return found


if __name__ == "__main__":
    main()
