"""Entities like one: by the vectors of their texts, and by the words that they share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import World
from worlds.core.search.options import gathered
from worlds.records import TextPolicy

EX = "http://example.org/"
TEXTS = {
    "kite": ["red kite", "a bird of prey with a forked tail"],
    "hawk": ["hawk", "a bird of prey with broad wings"],
    "swan": ["swan", "a bird of the lake"],
    "loom": ["loom", "a machine that weaves cloth"],
    "mute": [],
}


@pytest.fixture(params=["vectors", "words"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with worlds.open(embedder=HashingEmbedder() if request.param == "vectors" else None) as opened:
        opened.bind("ex", EX)
        for name, texts in TEXTS.items():
            opened.add([(EX + name, "rdf:type", EX + ("Machine" if name == "loom" else "Bird"))])
            opened.add([(EX + name, EX + "text", f'"{text}"') for text in texts])
        yield opened


def found(world: World, iri: str, **options: Any) -> list[str]:
    return [str(hit.subject).removeprefix(EX) for hit in world.entities.similar(iri, **gathered(options))]


def test_the_likest_comes_first_and_the_entity_itself_not_at_all(world: World) -> None:
    order = found(world, "ex:kite")
    assert order[0] == "hawk"
    assert "kite" not in order
    assert len(order) == len(set(order))
    assert set(order) <= {"hawk", "swan", "loom"}


def test_what_is_like_one_can_be_filtered(world: World) -> None:
    assert set(found(world, "ex:kite", types="ex:Machine")) <= {"loom"}
    assert found(world, "ex:kite", exclude={"subjects": "ex:hawk"})[0] == "swan"
    assert found(world, "ex:kite", exclude={"subjects": ["ex:hawk", "ex:swan"], "types": "ex:Machine"}) == []
    assert found(world, "ex:kite", where=f"?subject a <{EX}Bird>", limit=1) == ["hawk"]


def test_nothing_is_like_what_has_no_texts(world: World) -> None:
    assert found(world, "ex:mute") == found(world, "ex:nowhere") == []


def test_vectors_are_compared_by_their_mean() -> None:
    embedder = HashingEmbedder()
    with worlds.open(embedder=embedder) as world:
        for name, texts in TEXTS.items():
            world.add([(EX + name, EX + "text", f'"{text}"') for text in texts])

        def mean(name: str) -> Any:
            vectors = embedder.embed_documents(TEXTS[name])
            total = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).mean(axis=0)
            return total / np.linalg.norm(total)

        wanted = {EX + name: float(mean("kite") @ mean(name)) for name in TEXTS if name not in ("kite", "mute")}
        hits = world.entities.similar(EX + "kite")
        assert {str(hit.subject): hit.score for hit in hits} == pytest.approx(wanted, abs=1e-6)
        assert [hit.score for hit in hits] == sorted(wanted.values(), reverse=True)
        assert len(world.entities.similar(EX + "kite", limit=1)) == 1
        nearest = world.search("", vector=mean("kite"), mode="vector", exclude={"subjects": EX + "kite"},
                               group_by="subject", per_subject=1)  # fmt: skip
        staged = world.entities.similar(EX + "kite", ranking=worlds.Ranking(diversity=1))
        assert [hit.subject for hit in staged] == [hit.subject for hit in nearest], "as who asks for stages wants it"
        words = world.entities.similar(EX + "kite", mode="text")
        assert words.explain.mode == "text"
        assert str(words[0].subject) == EX + "hawk"


def test_options_that_say_nothing_change_nothing(world: World) -> None:
    nothing: dict[str, Any] = {
        **dict.fromkeys(("cursor", "boost", "decay", "diversity", "min_similarity", "rerank", "group_by")),
        "per_subject": 1,
    }
    plain = world.entities.similar("ex:kite", limit=3)
    for given in (nothing, {"rerank": False}, *({name: value} for name, value in nothing.items())):
        hits = world.entities.similar("ex:kite", limit=3, **gathered(given))
        assert [(hit.subject, hit.score) for hit in hits] == [(hit.subject, hit.score) for hit in plain]


@pytest.mark.parametrize("limit", [0, -1, True, "3", 10_001])
def test_a_limit_is_a_number(world: World, limit: Any) -> None:
    with pytest.raises(ValueError, match="limit must be a whole number from 1"):
        world.entities.similar("ex:kite", limit=limit)


@pytest.mark.parametrize("page", [23, 60, 130, 250])
def test_pages_follow_one_another(page: int) -> None:
    with worlds.open(embedder=HashingEmbedder()) as world:
        for number in range(230):
            texts = (f"bird {number}", f"{'lake' if number % 3 else 'wood'} {number % 17}")
            world.add([(f"{EX}{number}", EX + "text", f'"{text}"') for text in texts])
        whole = [hit.subject for hit in world.entities.similar(EX + "0", limit=250)]
        assert len(whole) == len(set(whole)) == 229
        found, cursor = [], None
        while True:
            hits = world.entities.similar(EX + "0", limit=page, cursor=cursor)
            found += [hit.subject for hit in hits]
            cursor = hits.cursor
            if cursor is None:
                break
        assert found == whole


def test_a_cursor_belongs_to_its_entity_and_options() -> None:
    with worlds.open(embedder=HashingEmbedder()) as world:
        for name, texts in TEXTS.items():
            world.add([(EX + name, EX + "text", f'"{text}"') for text in texts])
        cursor = world.entities.similar(EX + "kite", limit=1).cursor
        assert cursor is not None
        assert (
            world.entities.similar(EX + "kite", limit=3, cursor=cursor, ranking=worlds.Ranking(diversity=None)).cursor
            is None
        )
        for iri, options in (("hawk", {}), ("kite", {"predicates": EX + "text"}), ("kite", {"diversity": 1})):
            with pytest.raises(ValueError, match="another search"):
                world.entities.similar(EX + iri, cursor=cursor, **gathered(options))
        with pytest.raises(ValueError, match="cursor is not the cursor"):
            world.entities.similar(EX + "kite", cursor="nonsense")


def test_profiles_make_entities_alike_that_share_nothing_else() -> None:
    with worlds.open(embedder=None) as world:
        for name, place in (("a", "delft"), ("b", "delft"), ("c", "gouda")):
            world.add([(EX + name, EX + "in", EX + place)])
        assert list(world.entities.similar(EX + "a")) == []
        world.policy = TextPolicy(profiles=True)
        order = [str(hit.subject) for hit in world.entities.similar(EX + "a")]
        assert order.index(EX + "b") < order.index(EX + "c") if EX + "c" in order else EX + "b" in order
