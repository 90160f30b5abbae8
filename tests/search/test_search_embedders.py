"""Searches without an embedder, with one that fails, and in worlds that change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
import rdflib
from numpy.typing import NDArray

import worlds
from tests.support.drivers import PLANS
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import (
    problems,
    rolled_back,
)
from tests.support.search_worlds import EX, LANGUAGES, add_texts, iri, texts
from worlds import EmbedderError, World


class FailingAtQueries(HashingEmbedder):
    def embed_query(self, text: str) -> NDArray[np.float32]:
        raise RuntimeError("the service is down")


# --- known answers: embedders -----------------------------------------------------------------------------------------


def test_an_embedder_that_fails_at_a_query_leaves_the_words() -> None:
    with worlds.open(embedder=FailingAtQueries()) as world:
        add_texts(world, "red kite", "blue heron")
        hits = world.search("kite")
        assert texts(hits) == ["red kite"]
        assert hits.explain.mode == "text"
        assert "the service is down" in " ".join(hits.notes)
        with pytest.raises(EmbedderError, match="the service is down"):
            world.search("kite", mode="vector")
        assert world.search("kite", mode="text").notes == ()


def test_without_an_embedder_the_words_are_searched() -> None:
    with worlds.open(embedder=None) as world:
        add_texts(world, "red kite", "blue heron")
        hits = world.search("kite")
        assert texts(hits) == ["red kite"]
        assert "without an embedder" in " ".join(hits.notes)
        with pytest.raises(EmbedderError):
            world.search("kite", mode="vector")
        with pytest.raises(EmbedderError):
            world.embed()


def test_another_embedder_than_the_worlds(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        add_texts(world, "red kite", "blue heron")
    for other in (HashingEmbedder(name="other"), HashingEmbedder(64)):
        with pytest.raises(EmbedderError, match="rebuild"):
            worlds.open(path, embedder=other)
    with worlds.open(path, embedder=None) as world:
        vector = HashingEmbedder().embed_query("red kite")
        assert texts(world.search("nothing", mode="vector", vector=vector, limit=1)) == ["red kite"]


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
@pytest.mark.parametrize("query", ["", " ", "\n\t"])
def test_a_blank_query_finds_nothing(world: World, query: str, mode: Any) -> None:
    add_texts(world, "red kite")
    assert len(world.search(query, mode=mode)) == 0


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
@pytest.mark.parametrize("plan", ["auto", "exact", "codes"])
def test_an_empty_world_has_nothing(world: World, mode: Any, plan: Any) -> None:
    assert len(world.search("kite", mode=mode, ranking=worlds.Ranking(plan=plan))) == 0
    assert len(world.search("kite", mode=mode, ranking=worlds.Ranking(plan=plan), languages="en")) == 0
    add_texts(world, "red kite")
    world.remove([(iri("s0"), iri("label"), ox.Literal("red kite"))])
    assert len(world.search("kite", mode=mode, ranking=worlds.Ranking(plan=plan))) == 0
    assert len(world.search("kite", mode=mode, ranking=worlds.Ranking(plan=plan), languages="")) == 0


def test_the_callers_own_vector(world: World) -> None:
    add_texts(world, "red kite", "blue heron", "river")
    vector = HashingEmbedder().embed_query("river")
    hits = world.search("heron", vector=vector * 5, explain=True)
    assert {hit.text: set(hit.explain or ()) for hit in hits} == {
        "river": {"vector"},
        "blue heron": {"vector", "text"},
        "red kite": {"vector"},
    }
    assert texts(world.search("", vector=list(vector), mode="vector"))[0] == "river"
    for error, wrong in [
        (EmbedderError, vector[:-1]),
        (EmbedderError, []),
        (EmbedderError, np.stack([vector, vector])),
        (ValueError, vector * 0),
        (ValueError, vector * np.nan),
    ]:
        for mode in ("vector", "hybrid"):
            with pytest.raises(error):
                world.search("heron", vector=wrong, mode=mode)  # type: ignore[arg-type]  # a mode


def test_what_is_not_embedded_yet_is_found_by_its_words(world: World) -> None:
    add_texts(world, "red kite", "blue kite")
    world.add([(iri("new"), iri("label"), ox.Literal("black kite"))], embed=False)
    assert "black kite" in texts(world.search("kite"))
    assert "black kite" not in texts(world.search("kite", mode="vector"))
    assert world.stats().pending == 1
    assert world.embed() == 1
    assert "black kite" in texts(world.search("kite", mode="vector"))


def test_a_text_without_a_direction_is_found_by_its_words_alone() -> None:
    with worlds.open(embedder=HashingEmbedder(zero_at="void", nan_at="chaos")) as world:
        add_texts(world, "red kite", "void kite", "chaos kite")
        for plan in PLANS:
            assert texts(world.search("kite", mode="vector", ranking=worlds.Ranking(plan=plan))) == ["red kite"]
        assert len(world.search("kite")) == 3
        assert world.stats().pending == 0
        assert problems(world) == []


def test_a_text_is_embedded_once_for_all_its_literals(world: World) -> None:
    assert isinstance(world.embedder, HashingEmbedder)
    literals = [ox.Literal("kite"), *(ox.Literal("kite", language=language) for language in LANGUAGES)]
    world.add([(iri(f"s{number}"), iri("label"), literal) for number, literal in enumerate(literals)])
    assert world.embedder.documents == 1
    (hit,) = world.search("kite")
    assert [quad[2] for quad in hit.quads] == [
        rdflib.Literal(literal.value, lang=literal.language) for literal in literals
    ]


# --- what a search must not remember ----------------------------------------------------------------------------------


@pytest.mark.parametrize("embedder", [None, HashingEmbedder()], ids=["words", "vectors"])
def test_a_search_sees_the_writes_of_its_transaction_and_forgets_them_with_it(embedder: HashingEmbedder | None) -> None:
    options: dict[str, Any] = {"mode": "text", "predicates": iri("label")}
    with worlds.open(embedder=embedder) as world:
        add_texts(world, "red kite")
        assert len(world.search("kite", **options)) == 1
        with rolled_back(world):
            world.add([(iri("new"), iri("label"), ox.Literal("black kite"))])
            assert len(world.search("kite", **options)) == 2
            with rolled_back(world):
                world.remove([(iri("s0"), iri("label"), ox.Literal("red kite"))])
                assert texts(world.search("kite", **options)) == ["black kite"]
            assert len(world.search("kite", **options)) == 2
        assert texts(world.search("kite", **options)) == ["red kite"]
        world.add([(iri("other"), iri("note"), ox.Literal("white kite"))])  # its chunk has the black one's number
        assert texts(world.search("kite", **options)) == ["red kite"]


def test_the_codes_forget_what_was_rolled_back(world: World) -> None:
    add_texts(world, "red kite", "blue heron")
    assert len(world.search("kite", mode="vector", ranking=worlds.Ranking(plan="codes"))) == 2
    with rolled_back(world):
        world.remove([(iri("s0"), iri("label"), ox.Literal("red kite"))])
        assert texts(world.search("kite", mode="vector", ranking=worlds.Ranking(plan="codes"))) == ["blue heron"]
    world.remove([(iri("s1"), iri("label"), ox.Literal("blue heron"))])  # as many vectors as were removed before
    assert texts(world.search("kite", mode="vector", ranking=worlds.Ranking(plan="codes"))) == ["red kite"]


def test_a_removed_and_restored_text_is_found_in_both_worlds_of_a_file(path: Path) -> None:
    with worlds.open(path, embedder=None) as world, worlds.open(path, embedder=None) as other:
        add_texts(world, "red kite")
        held = [(iri("s0"), iri("label"), ox.Literal("red kite"))]
        assert len(other.search("kite", subjects=iri("s0"))) == 1
        with world.transaction():
            world.remove(held)
            world.add(held)
        for each in (world, other):
            assert len(each.search("kite", subjects=iri("s0"))) == 1
        world.policy = worlds.records.TextPolicy(exclude=frozenset([EX + "label"]))
        world.policy = worlds.records.TextPolicy()
        for each in (world, other):
            assert len(each.search("kite", subjects=iri("s0"))) == 1


def test_a_prefix_that_is_bound_anew_changes_a_pattern(birds: World) -> None:
    assert len(birds.search("kite", where="?subject a ex:Bird")) == 4
    birds.bind("ex", "http://elsewhere.example/")
    assert len(birds.search("kite", where="?subject a ex:Bird")) == 0
