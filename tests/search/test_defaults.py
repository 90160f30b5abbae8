"""Defaults of the world's own: in its policy, or given when it is opened. A call precedes those, these the policy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support import tables
from tests.support.command_line import ok
from tests.support.embedder import HashingEmbedder
from worlds import FilterError, World
from worlds.core.search.options import gathered

QUADS = [
    (f"urn:{number}", "urn:p", f'"red kite number {number}"@{"en" if number % 2 else "la"}') for number in range(30)
]


@pytest.fixture
def world() -> Any:
    with worlds.open(embedder=HashingEmbedder()) as made:
        made.add([*QUADS, *((f"urn:{number}", "urn:q", '"kite"') for number in range(3))])
        yield made


def wish(world: World, **search: Any) -> None:
    world.policy = world.policy.with_(search=search)


def test_the_policy_has_defaults_that_a_call_precedes(world: World) -> None:
    plain = world.search("kite")
    assert (len(plain), plain.explain.defaults) == (10, {})
    wish(world, limit=3, fusion="rrf", k=5, candidates=40, weights={"text": 2.0})
    found = world.search("kite", explain=True)
    assert (len(found), found.explain.fusion, found.explain.depth) == (3, "rrf", 40)
    assert found.explain.defaults == dict.fromkeys(("limit", "fusion", "k", "candidates", "weights"), "policy")
    asked: dict[str, Any] = {"limit": 10, "fusion": "relative", "k": 60, "candidates": 100, "weights": {}}
    again = world.search("kite", **gathered(asked))
    assert [hit.score for hit in again] == [hit.score for hit in plain]
    assert again.explain.defaults == {}


def test_what_an_opening_is_given_precedes_the_policy(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as made:
        made.add(QUADS)
        wish(made, limit=3, languages=["la"])
    with worlds.open(path, embedder=None, search={"limit": 2}) as made:
        found = made.search("kite")
        assert found.explain.defaults == {"limit": "open", "languages": "policy"}
        assert [hit.language for hit in found] == ["la", "la"]
        assert {hit.language for hit in made.search("kite", languages="en")} == {"en"}
        assert len(made.only(graphs="default").search("kite")) == 2, "a scope has the same"
        assert len(made.query("SELECT * { SERVICE w:search { ?hit w:query 'kite' ; w:subject ?s } }")) == 2  # type: ignore[arg-type]


def test_they_cut_and_index_nothing_anew(world: World) -> None:
    before = tables.rows(world, "SELECT * FROM chunks"), len(world.history())
    wish(world, limit=3)
    assert (tables.rows(world, "SELECT * FROM chunks"), len(world.history())) == before
    assert not world.check().problems


def test_groups_can_be_the_default_and_be_refused(world: World) -> None:
    wish(world, per_subject=1, limit=50)
    found = world.search("kite")
    assert len({hit.subject for hit in found}) == len(found) == 30
    assert len(world.search("kite", group_by="none")) > 30
    assert len(world.search("kite", per_subject=2)) > 30


def test_the_cross_encoder_that_the_world_names_is_the_one_that_is_asked(world: World) -> None:
    wish(world, rerank="/no/such-model")
    questions: list[dict[str, Any]] = [{}, {"rerank": True}]
    for asked in questions:
        assert any("/no/such-model" in note for note in world.search("kite", **asked).notes)
    assert not world.search("kite", rerank=False).notes
    assert world.context("red kite").text


def test_other_verbs_do_not_take_them(world: World) -> None:
    names = [one.iri for one in world.resolve("red kite number 7").candidates]
    like = [hit.subject for hit in world.entities.similar("urn:7")]
    wish(world, limit=1, languages=["zu"], min_similarity=0.99)
    assert [one.iri for one in world.resolve("red kite number 7").candidates] == names
    assert [hit.subject for hit in world.entities.similar("urn:7")] == like


@pytest.mark.parametrize(
    ("search", "said"),
    [
        ({"limit": 0}, "limit must be a whole number"),
        ({"fusion": "sum"}, "fusion must be one of"),
        ({"cursor": "x"}, "'cursor' has no default"),
        ({"weights": {"words": 1}}, "weights map"),
        ({"languages": [3]}, "languages are language tags"),
        ({"languages": "e n"}, "languages takes language tags"),
        ({"rerank": object()}, "search must hold JSON values"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_a_default_is_refused(world: World, search: dict[str, Any], said: str) -> None:
    with pytest.raises((ValueError, FilterError), match=said):
        wish(world, **search)
    if "rerank" not in search:
        with pytest.raises((ValueError, FilterError), match=said):
            worlds.open(embedder=None, search=search)


def test_defaults_are_a_mapping() -> None:
    with pytest.raises(TypeError, match="search must map options to values"):
        worlds.open(embedder=None, search=[("limit", 3)])  # type: ignore[arg-type]  # that is what is tested


def test_the_command_line_and_the_file_of_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with worlds.open("kb.db", embedder=None) as made:
        made.add(QUADS)
    ok("policy", "kb.db", 'search={"limit": 4, "languages": "la"}')
    (tmp_path / "worlds.toml").write_text("[search]\nlimit = 3\nweight_text = 2.0\nlabel_bonus = false\n")
    told = json.loads(ok("search", "kb.db", "kite", "--json"))
    assert (len(told["hits"]), {hit["language"] for hit in told["hits"]}) == (3, {"la"})
    assert told["explain"]["defaults"] == {
        "limit": "open", "label_bonus": "open", "weights": "open", "languages": "policy",
    }  # fmt: skip
    assert len(json.loads(ok("search", "kb.db", "kite", "--json", "--limit", "5"))["hits"]) == 5
