"""What embedding costs: `python -m benchmarks.embedding torch|onnx|int8|command [--texts 240] [--rounds 3]`.

The first three embed generated texts whose lengths vary as those of labels and abstracts do: by the model itself, which
gets them sorted by length; by the package's embedder, which gets them in any order; and by `World.embed` in a world in
memory. The ways take turns in going first, and the texts are other ones in each round. The share is of the model's own
throughput, by the processor's time, which other work on the machine disturbs less than the clock's.

`command` runs `worlds search --mode vector` in a process of its own, start included, with the model's ONNX form and,
by way of an empty cache and no `onnxruntime`, with torch. WORLDS_CACHE names another place for the ONNX form.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import worlds
from benchmarks.common import Sentences, environment, median, table, vocabulary
from worlds.core.embedders import Embedder
from worlds.core.embedders.exported import FILES
from worlds.core.embedders.runner import Runner

BATCH = 8
SEARCH = "import worlds.doors.cli; worlds.doors.cli.main()"
WITHOUT_ONNX = f"import sys; sys.modules['onnxruntime'] = None; {SEARCH}"


def make_texts(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    sentences = Sentences(vocabulary(3000), seed)
    return [sentences(min(150, max(2, round(rng.lognormvariate(2.9, 0.8))))) for _ in range(count)]


def embedder_of(runtime: str) -> tuple[Embedder, Callable[[list[str]], object]]:
    """The package's embedder, and the model itself: both loaded."""
    if runtime == "torch":
        torch = worlds.SentenceTransformerEmbedder(device="cpu", batch_size=BATCH)
        encode = torch.model().encode
        return torch, lambda texts: encode(texts, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)
    quick = worlds.OnnxEmbedder(precision="int8" if runtime == "int8" else "float32", batch_size=BATCH)
    quick.load()
    runner = Runner(quick.folder, quick.folder / FILES["int8" if runtime == "int8" else "float32"])
    return quick, lambda texts: runner.run(texts, BATCH)


def throughput(runtime: str, count: int, rounds: int) -> None:
    embedder, direct = embedder_of(runtime)
    direct(["warm up"] * BATCH)
    embedder.embed_documents(["warm up"] * BATCH)
    clock: dict[str, list[float]] = {}
    processor: dict[str, list[float]] = {}
    ways: list[tuple[str, Callable[[], object]]] = []
    for number in range(rounds):
        texts = make_texts(count, number)
        with worlds.open(embedder=embedder) as world:
            world.load([f'<urn:{at}> <urn:p> "{text}" .'.encode() for at, text in enumerate(texts)], embed=False)
            ways = [
                ("the model, sorted", partial(direct, sorted(texts, key=len))),
                ("embed_documents", partial(embedder.embed_documents, texts)),
                ("World.embed", world.embed),
            ]
            for name, way in ways[number % 3 :] + ways[: number % 3]:
                began, began_cpu = time.perf_counter(), time.process_time()
                way()
                clock.setdefault(name, []).append(count / (time.perf_counter() - began))
                processor.setdefault(name, []).append(count / (time.process_time() - began_cpu))
    own = median(processor["the model, sorted"])
    table(
        f"{runtime}: {count} texts, {rounds} rounds",
        ["way", "texts_s", "texts_cpu_s", "share"],
        [[name, median(clock[name]), median(processor[name]), median(processor[name]) / own] for name, _ in ways],
    )


def command(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "world.db")
        worlds.OnnxEmbedder()
        with worlds.open(path, embedder=worlds.OnnxEmbedder()) as world:
            world.load([f'<urn:{n}> <urn:p> "{text}" .'.encode() for n, text in enumerate(make_texts(100, 0))])
        rows: list[list[object]] = []
        for name, code in (("onnxruntime", SEARCH), ("torch", WITHOUT_ONNX)):
            seconds, spent = [], []
            for _ in range(rounds):
                before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
                subprocess.run(
                    [sys.executable, "-c", code, "search", path, "a question of some words", "--mode", "vector"],
                    check=True,
                    stdout=subprocess.DEVNULL,
                    env=os.environ,
                )
                seconds.append(time.perf_counter() - began)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
            rows.append([name, min(seconds), median(seconds), median(spent)])
        table(f"worlds search, {rounds} times", ["runtime", "least_s", "median_s", "cpu_s"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("torch", "onnx", "int8", "command"))
    parser.add_argument("--texts", type=int, default=240)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    environment()
    if given.what == "command":
        command(given.rounds)
    else:
        throughput(given.what, given.texts, given.rounds)
    print(f"\nload average {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    main()
