"""Many workers give the texts of a world the vectors that one would."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import problems
from worlds import EmbedderError
from worlds.groups.parallel_embedding import parallel_embedder

EX = "http://example.org/"
RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray, of the extra cluster, is not installed")


@pytest.mark.parametrize("ray", [None, pytest.param("local", marks=[RAY, pytest.mark.slow])])
def test_the_vectors_are_those_of_one(tmp_path: Path, ray: str | None) -> None:
    document = "\n".join(f'<{EX}s{n}> <{EX}p> "{"kite " * (n % 9)}number {n}" .' for n in range(700)).encode()
    with worlds.open(embedder=HashingEmbedder()) as one, worlds.open(tmp_path / "many.db", embedder=None) as many:
        one.load(document, format="nt")
        many.load(document, format="nt")
        with parallel_embedder(HashingEmbedder(), workers=3, ray=ray) as embedder:
            many.embedder = embedder
            assert many.embed() == 700
            wanted = one.search("kite 12", mode="vector", limit=50, ranking=worlds.Ranking(plan="exact"))
            found = many.search("kite 12", mode="vector", limit=50, ranking=worlds.Ranking(plan="exact"))
            assert [(hit.text, hit.score) for hit in found] == [(hit.text, hit.score) for hit in wanted]
            assert many.embed(rebuild=True) == 700
        many.embedder = HashingEmbedder()
        assert many.stats().pending == 0
        assert problems(many) == []


def test_what_cannot_be_embedded(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.load(f'<{EX}s> <{EX}p> "a kite" .'.encode(), format="nt")
        with parallel_embedder(HashingEmbedder(fail_after=0), workers=2) as embedder:
            world.embedder = embedder
            with pytest.raises(EmbedderError, match="told to fail"):
                world.embed()
    with pytest.raises(EmbedderError), parallel_embedder(None):
        pass
