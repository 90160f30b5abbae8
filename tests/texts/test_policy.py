"""The policy: what it takes, how it is stored, and the tokenizers."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import problems
from worlds import World
from worlds.core.search.words import expression, read_query
from worlds.core.texts.policy import DEFAULT_ROLES, ROLES
from worlds.records import ChunkSize, TextPolicy

EX = "http://example.org/"
P = EX + "p"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"

WHOLE = TextPolicy(
    include=frozenset([P]),
    size=ChunkSize(300, 20),
    roles={P: "alias", EX + "q": "label"},
    weights={"label": 2, "other": 0.5},
    profiles=frozenset([EX + "Film"]),
    profile_predicates=frozenset([P]),
    profile_values=7,
    tokenizer="trigram",
)


@pytest.mark.parametrize("policy", [TextPolicy(), WHOLE, TextPolicy(profiles=True)], ids=["default", "whole", "all"])
def test_a_policy_survives_its_ways(policy: TextPolicy, tmp_path: Path) -> None:
    assert TextPolicy.from_json(policy.to_json()) == policy
    assert copy.deepcopy(policy) == pickle.loads(pickle.dumps(policy)) == policy
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.policy = policy
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        assert world.policy == policy


def test_a_policy_of_an_older_release_is_read() -> None:
    stored = json.loads(TextPolicy(include=frozenset([P])).to_json())
    for name in ("roles", "weights", "profiles", "profile_predicates", "profile_values", "tokenizer"):
        del stored[name]
    assert TextPolicy.from_json(json.dumps(stored)) == TextPolicy(include=frozenset([P]))


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"roles": {P: "title"}}, ValueError),
        ({"roles": {"p": "label"}}, ValueError),
        ({"roles": [P]}, TypeError),
        ({"weights": {"title": 1}}, ValueError),
        ({"weights": {"label": -1}}, ValueError),
        ({"weights": {"label": "1"}}, ValueError),
        ({"weights": {"label": True}}, ValueError),
        ({"weights": 2}, TypeError),
        ({"profiles": "Film"}, TypeError),
        ({"profiles": ["Film"]}, ValueError),
        ({"profiles": None}, TypeError),
        ({"profile_predicates": P}, TypeError),
        ({"profile_values": -1}, ValueError),
        ({"profile_values": 1.5}, TypeError),
        ({"tokenizer": "icu"}, ValueError),
    ],
    ids=str,
)
def test_wrong_fields(fields: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        TextPolicy(**fields)


def test_predicates_have_roles() -> None:
    policy = TextPolicy(roles={LABEL: "alias", P: "label"})
    assert [policy.role(iri) for iri in (LABEL, P, EX + "q")] == ["alias", "label", "other"]
    assert TextPolicy().role(LABEL) == "label"
    assert policy.predicates("label")[0] == P
    assert LABEL not in policy.predicates("label")
    assert set(TextPolicy().predicates(*ROLES)) == set(DEFAULT_ROLES)


# -- tokenizers -------------------------------------------------------------------------------------------------------

TEXTS = [
    "running velocities",
    "state-of-the-art C++",
    "中文分词测试",
    "Ünïcode naïve",
    "it's an x-ray",
    "日本語のテキスト",
]


@pytest.fixture
def world() -> World:
    opened = worlds.open(embedder=HashingEmbedder())
    opened.add([(f"{EX}{n}", LABEL, json.dumps(text)) for n, text in enumerate(TEXTS)])
    return opened


def found(world: World, words: str, **options: Any) -> set[int]:
    return {int(str(hit.subject).removeprefix(EX)) for hit in world.search(words, mode="text", **options)}


@pytest.mark.parametrize(
    ("tokenizer", "finds"),
    [
        ("porter", {"velocity": {0}, "elocit": set(), "中文": {2}, "run": {0}, "unicode": {3}, "C++": {1}}),
        ("unicode", {"velocity": set(), "velocities": {0}, "run": set(), "中文": {2}, "NAIVE": {3}, "veloc*": {0}}),
        (
            "trigram",
            {
                "elocit": {0},
                "中文": set(),  # two characters are too few
                "中文分": {2},
                "分词测试": {2},
                "テキスト 分詞": {5},
                "C++": {1},
                "UNICODE": {3},
                "veloc*": {0},
                "it": set(),
                "the of art": {1},
                '"x-ray"': {4},
                "ray -velocities": {4},
                "ing -veloc": set(),
            },
        ),
    ],
)
def test_a_world_has_the_tokenizer_of_its_policy(world: World, tokenizer: str, finds: dict[str, set[int]]) -> None:
    pending = world.stats().pending
    world.policy = TextPolicy(tokenizer=tokenizer)
    assert {words: found(world, words) for words in finds} == finds
    assert world.stats().pending == pending == 0
    assert problems(world) == []
    world.add([(EX + "9", LABEL, '"velocities 分词测试"')])
    world.remove([(EX + "0", LABEL, json.dumps(TEXTS[0]))])
    assert found(world, "velocities") == {9}
    world.file.compact()
    assert found(world, "velocities") == {9}
    assert problems(world) == []
    world.policy = TextPolicy()
    assert found(world, "velocity") == {9}
    assert problems(world) == []


def test_a_failed_change_keeps_the_index(world: World) -> None:
    with pytest.raises(RuntimeError), world.transaction():
        world.policy = TextPolicy(tokenizer="trigram")
        assert found(world, "elocit") == {0}
        raise RuntimeError
    assert world.policy == TextPolicy()
    assert (found(world, "elocit"), found(world, "velocity")) == (set(), {0})
    assert problems(world) == []


@pytest.mark.parametrize(
    "words", ['"', "''' *", "(((", "a b c", "\0\ud800 xyz*", "-abc", "-abc def", "NEAR(abc", "x" * 9999]
)
def test_no_words_fail_the_trigram_index(world: World, words: str) -> None:
    world.policy = TextPolicy(tokenizer="trigram")
    found(world, words)
    assert (expression(*read_query(words, "trigram")) or '""').count('"') % 2 == 0
