"""Fusion where the answer can be worked out by hand; test_search.py compares it with the reference for any search."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import World
from worlds.core.search.options import gathered
from worlds.records import SearchResults

# Text → its cosine to the question's vector.
PLAIN = {"kite": 0.9, "kite red hill": 0.5, "heron": 0.7, "pine": -0.2}
COSINES = {**PLAIN, "late kite": 0.0, "Kite": 0.9, "KITE": 0.9}
P = "urn:says"


class Known:
    """An embedder in a plane: a text's direction is that of its cosine."""

    name, dimension, max_tokens = "known", 2, 100

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        cosines = np.array([COSINES[text] for text in texts])
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.array([1, 0], dtype=np.float32)


@pytest.fixture
def world() -> Iterator[World]:
    with worlds.open(embedder=Known()) as world:
        world.add([(f"urn:{number}", P, f'"{text}"') for number, text in enumerate(PLAIN)])
        yield world


def scores(hits: SearchResults) -> dict[str, float]:
    return {hit.text: hit.score for hit in hits}


def parts(hits: SearchResults, leg: str) -> dict[str, Any]:
    return {hit.text: (hit.explain or {}).get(leg) for hit in hits}


def test_ranks(world: World) -> None:
    found = scores(world.search("kite", ranking=worlds.Ranking(fusion="rrf", k=9, weights={"vector": 2})))
    assert found["kite"] == pytest.approx(2 / 10 + 1 / 10)
    assert found["kite red hill"] == pytest.approx(2 / 12 + 1 / 11)
    assert found["heron"] == pytest.approx(2 / 11)
    assert found["pine"] == pytest.approx(2 / 13)


@pytest.mark.parametrize("mode", ["hybrid", "vector"])
def test_a_lone_vector_counts_by_its_cosine(world: World, mode: Any) -> None:
    found = world.search("osprey", ranking=worlds.Ranking(min_similarity=0.8), mode=mode)
    assert scores(found) == {"kite": pytest.approx(0.9)}
    with worlds.open(embedder=Known()) as other:
        other.add([("urn:1", P, '"pine"')])
        assert scores(other.search("osprey", mode=mode)) == {"pine": 0}
        assert scores(other.search("osprey", mode=mode, ranking=worlds.Ranking(normalise="theoretical"))) == {
            "pine": pytest.approx(1)
        }
        with worlds.group({"one": world, "other": other}) as group:
            together = group.search("osprey", ranking=worlds.Ranking(min_similarity=0.8), mode=mode)
            assert {hit.text: hit.score for hit in together} == {"kite": pytest.approx(0.9)}


def test_values_between_the_least_and_the_greatest(world: World) -> None:
    hits = world.search("kite", explain=True)
    assert hits.explain.fusion == "relative, minmax", "the default"
    text = {name: leg and leg.value for name, leg in parts(hits, "text").items()}
    assert text["heron"] is text["pine"] is None
    best, other = text["kite"], text["kite red hill"]
    assert best < other < 0, "lower is better"
    found = scores(hits)
    assert found["kite"] == pytest.approx(1 + 1)
    assert found["kite red hill"] == pytest.approx((0.5 + 0.2) / 1.1 + other / best, abs=1e-5), "no words count as 0"
    assert found["heron"] == pytest.approx((0.7 + 0.2) / 1.1, abs=1e-5)
    assert found["pine"] == pytest.approx(0)


def test_values_above_the_least_in_theory(world: World) -> None:
    found = scores(world.search("kite", ranking=worlds.Ranking(normalise="theoretical", weights={"vector": 3})))
    assert found["kite"] == pytest.approx(3 + 1)
    assert found["heron"] == pytest.approx(3 * 1.7 / 1.9, abs=1e-5)
    assert found["pine"] == pytest.approx(3 * 0.8 / 1.9, abs=1e-5)


@pytest.mark.parametrize(("mode", "best"), [("vector", 0.9), ("text", 1.0)])
def test_equal_values_count_alike(mode: Any, best: float) -> None:
    with worlds.open(embedder=Known()) as world:
        world.add([(f"urn:{number}", P, f'"{text}"') for number, text in enumerate(["kite", "Kite", "KITE"])])
        assert [hit.score for hit in world.search("kite", mode=mode)] == pytest.approx([best] * 3)
        assert [
            hit.score for hit in world.search("kite", mode=mode, ranking=worlds.Ranking(normalise="theoretical"))
        ] == [1.0] * 3


@pytest.mark.parametrize("embed", [True, False], ids=["embedded", "pending"])
@pytest.mark.parametrize("fusion", ["relative", "rrf", "weighted"])
def test_a_hit_is_one_text_whatever_its_literals(fusion: Any, embed: bool) -> None:
    quads = [
        ("urn:vesta", "rdfs:label", '"Vesta"@en'),
        ("urn:vesta", "rdfs:label", '"Vesta"@de'),
        ("urn:vesta", "urn:name", '"Vesta"'),
        ("urn:goddess", "rdfs:label", '"Vesta"@de'),
        ("urn:other", "rdfs:label", '"vesta matches"@en'),
    ]
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.add(quads, embed=embed)
        hits = world.search("Vesta", limit=2, ranking=worlds.Ranking(fusion=fusion), explain=True)
        assert [hit.text for hit in hits] == ["Vesta", "vesta matches"], "the second place is another text's"
        assert len(hits[0].quads) == 4
        assert hits[0].quads[0] == (hits[0].subject, hits[0].predicate, hits[0].literal, hits[0].graph)
        (german,) = world.search("Vesta", languages=["de"], ranking=worlds.Ranking(fusion=fusion), explain=True)
        assert (german.literal.language, len(german.quads)) == ("de", 2), "only quads that pass the filter are cited"
        assert world.search("Vesta", types=["urn:none"], explain=True).explain.eligible == 0
        assert world.search("Vesta", subjects=["urn:vesta"], explain=True).explain.eligible == 1
        grouped = world.search(
            "Vesta", ranking=worlds.Ranking(fusion=fusion), group_by="subject", per_subject=2, limit=3
        )
        assert {str(hit.subject): len(hit.quads) for hit in grouped} == {
            "urn:vesta": 3,
            "urn:goddess": 1,
            "urn:other": 1,
        }


def test_text_that_is_repeated_does_not_shorten_a_list() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(f"urn:{number}", P, f'"kite"@x-{number}') for number in range(150)])
        world.add([("urn:late", P, '"kite and more words than the others have"')])
        hits = world.search("kite", limit=2, explain=True)
        assert [hit.text[:8] for hit in hits] == ["kite", "kite and"]
        assert len(hits[0].quads) == 150
        assert hits.explain.depth > 150
        first = world.search("kite", limit=1)
        assert [hit.text[:8] for hit in world.search("kite", limit=1, cursor=first.cursor)] == ["kite and"]


def test_each_list_tells_its_value_of_what_only_the_other_found(world: World) -> None:
    world.add([("urn:late", P, '"late kite"')])
    hits = world.search("kite", ranking=worlds.Ranking(candidates=1), limit=1, explain=True)
    assert [hit.text for hit in hits] == ["kite"]
    with_depth = world.search(
        "kite", ranking=worlds.Ranking(candidates=2), limit=2, explain=True
    )  # by vectors: kite, heron
    legs = parts(with_depth, "vector")
    assert legs["kite"].rank == 1
    (other,) = set(legs) - {"kite"}
    ranks = {leg: parts(with_depth, leg)[other] for leg in ("vector", "text")}
    assert {leg and leg.rank for leg in ranks.values()} == {None, 2}, "it is in one list, and has a value in the other"
    assert all(leg is not None and leg.value == leg.value for leg in ranks.values() if other != "heron")
    by_ranks = world.search("kite", ranking=worlds.Ranking(candidates=2, fusion="rrf"), limit=2, explain=True)
    assert all(leg.rank for hit in by_ranks for leg in (hit.explain or {}).values())


def test_a_floor_of_similarity(world: World) -> None:
    floored = {"kite", "heron"}
    assert set(scores(world.search("kite", mode="vector", ranking=worlds.Ranking(min_similarity=0.6)))) == floored
    hits = world.search("kite", ranking=worlds.Ranking(min_similarity=0.6), explain=True)
    assert set(scores(hits)) == floored | {"kite red hill"}, "what has the words stays"
    assert parts(hits, "vector")["kite red hill"] is None, "but has nothing of its similarity"
    assert scores(hits)["heron"] == pytest.approx(0)
    assert len(world.search("kite", mode="vector", ranking=worlds.Ranking(min_similarity=0.95))) == 0


def test_words_count_beside_vectors_as_much_as_the_best_text_holds_of_them() -> None:
    with worlds.open(embedder=Known()) as world:
        world.add([(f"urn:{number}", P, f'"{text}"') for number, text in enumerate([*PLAIN, "late kite"])])
        world.add([(f"urn:other{number}", P, f'"pine"@x-{number}') for number in range(20)])
        only = parts(world.search("kite", explain=True), "text")
        assert only["kite"].contribution == pytest.approx(1), "the best text holds the only word"
        some = parts(world.search("kite eagle falcon osprey hill", explain=True), "text")
        # 25 texts, of which 3 have "kite", 1 has "hill", and none the others.
        weights = {count: math.log((25 - count + 0.5) / (count + 0.5)) for count in (0, 1, 3)}
        share = (weights[3] + weights[1]) / (weights[3] + weights[1] + 3 * weights[0])
        assert some["kite red hill"].contribution == pytest.approx(math.sqrt(share))
        ratio = some["kite"].value / some["kite red hill"].value
        assert some["kite"].contribution == pytest.approx(math.sqrt(share) * ratio)
        alone = parts(world.search("kite eagle falcon osprey hill", explain=True, mode="text"), "text")
        assert alone["kite red hill"].contribution == pytest.approx(1)
        by_ranks = parts(
            world.search("kite eagle falcon osprey hill", explain=True, ranking=worlds.Ranking(fusion="rrf")), "text"
        )
        assert by_ranks["kite red hill"].contribution == pytest.approx(1 / 61)


# -- a text whose vector is pending -----------------------------------------------------------------------------------

WOMBAT = "The wombat burrow was mapped in spring."
NOISE = [
    "The ferry leaves the harbour at noon.",
    "A burrow of rabbits lies behind the mill.",
    "Nobody has seen the comet since.",
    "Spring came late to the valley.",
]


@pytest.mark.parametrize("fusion", ["relative", "rrf", "weighted"])
@pytest.mark.parametrize("inside", [False, True], ids=["after", "inside a transaction"])
def test_a_text_whose_vector_is_pending_does_not_lose_to_noise(fusion: Any, inside: bool) -> None:
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.add([(f"urn:{number}", P, f'"{text}"') for number, text in enumerate(NOISE)])
        with world.transaction() if inside else contextlib.nullcontext():
            world.add([("urn:wombat", P, f'"{WOMBAT}"')], embed=False)
            (hit,) = world.search("wombat burrow", limit=1, ranking=worlds.Ranking(fusion=fusion), explain=True)
            assert hit.text == WOMBAT
            assert hit.explain is not None
            assert hit.explain["text"].factors == {"weight": 1.0, "pending": 2.0}
            half = worlds.Ranking(fusion=fusion, weights={"text": 0.5})
            weighed = world.search("wombat burrow", limit=1, ranking=half, explain=True)[0]
            assert weighed.explain is not None
            assert weighed.explain["text"].factors["pending"] == 3.0
            for mode in ("text", "vector"):
                found = world.search("wombat burrow", mode=mode, ranking=worlds.Ranking(fusion=fusion), explain=True)
                told = found[0].explain or {}
                assert all("pending" not in leg.factors for leg in told.values()), "there is one list alone"


# -- what a score is made of ------------------------------------------------------------------------------------------


def labelled() -> World:
    world = worlds.open(embedder=HashingEmbedder())
    world.add([("urn:a", "rdfs:label", '"grey heron"'), ("urn:b", P, '"a grey heron, grey as the grey heron it met"')])
    return world


@pytest.mark.parametrize(
    ("options", "has"),
    [
        ({}, True),
        ({"label_bonus": False}, False),
        ({"mode": "text"}, False),
        ({"mode": "vector"}, False),
        ({"fusion": "rrf"}, False),
        ({"fusion": "weighted"}, False),
    ],
)
def test_the_bonus_of_an_exact_label_belongs_to_hybrid_relative(options: dict[str, Any], has: bool) -> None:
    with labelled() as world:
        hits = world.search("grey heron", explain=True, **gathered(options))
        assert any("label" in (hit.explain or {}) for hit in hits) == has
        if not has:
            assert max(hit.score for hit in hits) <= 2


def test_weighted_is_the_plain_sum_of_values() -> None:
    with worlds.open(embedder=Known()) as world:
        world.add([(f"urn:{number}", P, f'"{text}"') for number, text in enumerate([*PLAIN, "late kite"])])
        weights = {"vector": 0.6, "text": 0.4}
        query = "kite eagle falcon osprey hill"
        plain = world.search(query, ranking=worlds.Ranking(fusion="weighted", weights=weights), explain=True)
        assert plain.explain.fusion == "weighted, minmax"
        bm25 = {hit.text: hit.explain["text"].value for hit in plain if "text" in (hit.explain or {})}  # type: ignore[index]
        low, high = min(COSINES.values()), max(COSINES.values())
        for hit in plain:
            near = (COSINES[hit.text] - low) / (high - low)
            relevant = bm25.get(hit.text, 0.0) / min(bm25.values())
            assert hit.score == pytest.approx(0.6 * near + 0.4 * relevant, abs=1e-6)
        covered = parts(world.search(query, ranking=worlds.Ranking(weights=weights), explain=True), "text")[
            "kite red hill"
        ]
        assert covered.factors["weight"] == 0.4
        assert covered.weight == pytest.approx(0.4 * covered.factors["coverage"])
        assert covered.contribution == pytest.approx(covered.weight), "the best has all of it"


def test_an_explanation_has_the_weight_of_the_role() -> None:
    with labelled() as world:
        world.policy = worlds.records.TextPolicy(weights={"label": 3})
        leg = parts(world.search("heron", explain=True), "text")["grey heron"]
        assert leg.factors["role"] == 3
