"""Embedding a world anew: it is searchable all the while, and what is interrupted goes on."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import ConflictError, EmbedderError, ReadOnlyError

SLICE = 256  # texts that are embedded, and kept, at a time
TEXTS = ["red kite", "solar cell", "the cat sat on the mat", "blue whale", "stellar evolution"]
MANY = [*TEXTS, *(f"heron number {number}" for number in range(SLICE))]


def fill(world: worlds.World, texts: list[str]) -> None:
    world.add([(f"urn:{text.replace(' ', '-')}", "urn:p", f'"{text}"') for text in texts])


def first(world: worlds.World, text: str) -> str:
    found = world.search(text, mode="vector", limit=1)
    return found[0].text


def other(**options: Any) -> HashingEmbedder:
    return HashingEmbedder(24, name="other", **options)


def sound(world: worlds.World) -> bool:
    report = world.check()
    assert {problem.kind for problem in report.problems} <= {"index-recall"}, str(report)  # libSQL's graph is random
    return world.stats().pending == 0


class Watching(HashingEmbedder):
    """Does something before it embeds its first texts."""

    def __init__(self, watch: Any) -> None:
        super().__init__(24, name="other")
        self.watch = watch

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        if self.watch is not None:
            watch, self.watch = self.watch, None
            watch()
        return super().embed_documents(texts)


@pytest.mark.parametrize("index", [True, False])
def test_another_embedder_takes_over_and_the_world_answers_all_the_while(path: Path, index: bool) -> None:
    old = HashingEmbedder()
    with worlds.open(path, embedder=old, vector_index=index) as world:
        fill(world, TEXTS)
        plain = [hit.subject for hit in world.search("solar cell")]

        def watch() -> None:
            assert first(world, "blue whale") == "blue whale"
            assert world.embedder is old
            with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as reader:
                assert first(reader, "red kite") == "red kite"

        new = Watching(watch)
        assert world.embed(rebuild=True, embedder=new) == len(TEXTS)
        assert new.watch is None
        assert world.embedder is new
        stats = world.stats()
        assert (stats.embedder, stats.vector_index) == ("other", index)
        assert sound(world)
        assert [first(world, text) for text in TEXTS] == TEXTS
        assert plain[0] == world.search("solar cell")[0].subject
        assert world.embed() == 0
        fill(world, ["a text that is new"])
        assert first(world, "a text that is new") == "a text that is new"
        assert sound(world)
    with worlds.open(path, embedder=other()) as world:
        assert first(world, "red kite") == "red kite"
    with pytest.raises(EmbedderError, match="was embedded with other"):
        worlds.open(path, embedder=HashingEmbedder())


def test_what_is_written_meanwhile_is_embedded_too(world: worlds.World) -> None:
    fill(world, TEXTS)

    def watch() -> None:
        world.remove([("urn:red-kite", "urn:p", '"red kite"')])
        thread = threading.Thread(target=fill, args=(world, ["grey heron", "solar cell of perovskite"]))
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
        assert first(world, "grey heron") == "grey heron"  # by the old embedder

    world.embed(rebuild=True, embedder=Watching(watch))
    assert sound(world)
    assert first(world, "grey heron") == "grey heron"
    assert first(world, "red kite") != "red kite"


def test_texts_that_the_new_one_does_not_read_whole_are_cut_anew(world: worlds.World) -> None:
    fill(world, [*TEXTS, "one sentence. " * 40])
    before = len(world.search("sentence", mode="text", limit=100))
    world.embed(rebuild=True, embedder=other(max_tokens=20))
    assert len(world.search("sentence", mode="text", limit=100)) > before
    assert sound(world)


def test_an_embedder_that_fails_leaves_the_old_vectors_and_the_next_call_goes_on(path: Path) -> None:
    new = other(fail_after=SLICE)
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        fill(world, MANY)
        with pytest.raises(EmbedderError, match=f"told to fail after {SLICE}"):
            world.embed(rebuild=True, embedder=new)
        assert world.stats().embedder == "hashing"
        assert [first(world, text) for text in TEXTS] == TEXTS
        assert sound(world)
    new.fail_after = None
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert world.embed(rebuild=True, embedder=new) == len(TEXTS)
        assert new.documents == len(MANY)
        assert [first(world, text) for text in TEXTS] == TEXTS
        assert sound(world)


def test_the_same_embedder_makes_all_anew(world: worlds.World) -> None:
    fill(world, [*TEXTS, "ZERO"])
    assert world.embed(rebuild=True) == 6
    assert sound(world)
    assert [first(world, text) for text in TEXTS] == TEXTS


def test_texts_without_a_direction_stay_so(world: worlds.World) -> None:
    fill(world, [*TEXTS, "a ZERO", "b ZERO"])
    world.embed(rebuild=True, embedder=other(zero_at="ZERO"))
    assert sound(world)
    assert len(world.search("red", mode="vector", limit=9)) == len(TEXTS)


def test_a_third_embedder_begins_anew_and_the_second_is_told(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        fill(world, MANY)

        def watch() -> None:
            with worlds.open(path, embedder=None) as beside:
                third = HashingEmbedder(8, name="third", fail_after=SLICE)
                with pytest.raises(EmbedderError):
                    beside.embed(rebuild=True, embedder=third)

        with pytest.raises(ConflictError, match="another process embeds this world anew"):
            world.embed(rebuild=True, embedder=Watching(watch))
        assert world.stats().embedder == "hashing"
        assert [first(world, text) for text in TEXTS] == TEXTS
        world.embed(rebuild=True, embedder=HashingEmbedder(8, name="third"))
        assert sound(world)


def test_two_that_embed_a_world_anew_alike_share_the_work(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        fill(world, MANY)

        def finish() -> None:
            with worlds.open(path, embedder=None) as beside:
                assert beside.embed(rebuild=True, embedder=HashingEmbedder(24, name="other")) == len(MANY)

        assert world.embed(rebuild=True, embedder=Watching(finish)) > 0
        assert world.stats().embedder == "other"
        assert sound(world)
        assert [first(world, text) for text in TEXTS] == TEXTS


def test_options_and_states_that_do_not_fit(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        fill(world, TEXTS)
        with pytest.raises(ValueError, match="with rebuild=True"):
            world.embed(embedder=other())
        assert world.embed(rebuild=True, embedder=HashingEmbedder()) == len(TEXTS)  # the first vectors
        assert sound(world)
    with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world, pytest.raises(ReadOnlyError):
        world.embed(rebuild=True)
