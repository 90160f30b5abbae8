"""Texts get their vectors: those of a quick embedder are stored together, and none is asked for twice."""

from __future__ import annotations

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from worlds.errors import EmbedderError


def test_a_text_is_asked_for_once_however_far_apart_its_chunks_are() -> None:
    embedder = HashingEmbedder(64)
    with worlds.open(embedder=embedder, vector_index=False) as world:
        texts = [f"number {number}" for number in range(4500)]
        world.add([("urn:a", "urn:p", f'"{text}"@{language}') for language in ("en", "de") for text in texts])
        stats = world.stats()
        assert (stats.chunks, stats.vectors, stats.pending) == (9000, 4500, 0)
        assert embedder.documents == 4500
        assert world.check().ok


def test_what_was_embedded_before_a_failure_stays() -> None:
    embedder = HashingEmbedder(64, fail_after=1000)
    with worlds.open(embedder=embedder, vector_index=False) as world:
        change = world.add([("urn:a", "urn:p", f'"number {number}"') for number in range(2000)])
        done = embedder.documents
        assert 0 < done == change.embedded == 2000 - world.stats().pending
        with pytest.raises(EmbedderError, match="told to fail"):
            world.embed()
        embedder.fail_after = None
        assert world.embed() == 2000 - done
        assert world.stats().pending == 0
        assert world.check().ok
