"""What the predicate that a text stands under does to its rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import World
from worlds.core.search.options import gathered
from worlds.records import SearchResults

EX = "http://example.org/"
LABEL, ALIAS, COMMENT = "rdfs:label", "skos:altLabel", "rdfs:comment"

TEXTS = [
    ("a", LABEL, '"Kite"'),
    ("b", LABEL, '"kites and kites"@en'),
    ("c", COMMENT, '"kite"'),
    ("d", ALIAS, '"kite kite kite"'),
    ("e", EX + "note", '"kite kite"'),
    ("f", COMMENT, '"the red kite is a bird of prey"'),
    ("g", LABEL, '"ÉTUDE"'),
    ("h", COMMENT, '"étude étude"'),
]


@pytest.fixture(params=["text", "hybrid"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with worlds.open(embedder=HashingEmbedder() if request.param == "hybrid" else None) as opened:
        opened.add([(EX + subject, predicate, text) for subject, predicate, text in TEXTS])
        yield opened


def order(hits: SearchResults) -> list[str]:
    return [str(hit.subject).removeprefix(EX) for hit in hits]


@pytest.mark.parametrize("grouped", [None, "subject"])
@pytest.mark.parametrize(("query", "first"), [("kite", "a"), (" KITE ", "a"), ("Étude", "g"), ("kites AND KITES", "b")])
def test_an_entity_with_exactly_this_label_comes_first(world: World, query: str, first: str, grouped: Any) -> None:
    world.add([(EX + "c", COMMENT, f'"kite {number} etude kites"') for number in range(20)])
    hits = world.search(query, group_by=grouped, explain=True, limit=20)
    assert order(hits)[0] == first
    legs = hits[0].explain
    assert legs is not None
    assert "label" in legs
    assert hits[0].score >= sum(leg.contribution for leg in legs.values()) - 1e-12
    assert all("label" not in (hit.explain or {}) for hit in hits[1:])


def test_only_a_label_that_was_asked_in_words_comes_first(world: World) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [("kite", {"syntax": "fts5"}), ("kite bird", {}), ("red kite", {})]
    for query, options in asked:
        assert all("label" not in (hit.explain or {}) for hit in world.search(query, explain=True, **gathered(options)))
    world.policy = world.policy.with_(roles={"http://www.w3.org/2000/01/rdf-schema#label": "other"})
    assert all("label" not in (hit.explain or {}) for hit in world.search("kite", explain=True))


@pytest.mark.parametrize("fusion", ["rrf", "relative"])
def test_weights_multiply_what_the_lists_give(world: World, fusion: Any) -> None:
    query = "kite prey"
    plain = {hit.chunk: hit for hit in world.search(query, ranking=worlds.Ranking(fusion=fusion), explain=True)}
    weights = {"label": 0.5, "description": 3.0, "other": 0.25}
    world.policy = world.policy.with_(weights=weights)
    hits = world.search(query, ranking=worlds.Ranking(fusion=fusion), explain=True)
    assert {hit.chunk for hit in hits} == plain.keys()
    for hit in hits:
        weight = weights.get(world.policy.role(str(hit.predicate)), 1.0)
        assert hit.score == pytest.approx(plain[hit.chunk].score * weight)
        assert hit.explain is not None
        assert hit.score == pytest.approx(sum(leg.contribution for leg in hit.explain.values()))
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert world.policy.role(str(hits[0].predicate)) == "description"


def test_the_best_predicate_of_a_text_counts(world: World) -> None:
    world.policy = world.policy.with_(weights={"label": 5.0, "other": 0.1})
    before = {hit.text: hit.score for hit in world.search("kite prey")}
    world.add([(EX + "z", LABEL, '"kite kite"')])
    after = {hit.text: hit.score for hit in world.search("kite prey")}
    assert after["kite kite"] == pytest.approx(before["kite kite"] * 50)
