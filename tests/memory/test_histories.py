"""Random histories of memories, against plain lists; what was purged is in no file, and nothing crosses a scope."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import ConflictError, World
from worlds.errors import WorldsError
from worlds.records import Keep, prove

SCOPES = [("u", "ann"), ("u", "bob"), ("u", "ann", "p", "x"), ("u", "an"), ("team",)]
KINDS = ["episode", "fact", "preference", "entity"]
DATA = b"""
@prefix ex: <https://ex.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:worksAt rdfs:label "works at" ; rdfs:domain ex:Person ; rdfs:range ex:Company .
ex:Person a rdfs:Class ; rdfs:label "person" . ex:Company a rdfs:Class ; rdfs:label "company" .
ex:acme a ex:Company ; rdfs:label "Acme" ; rdfs:comment "Acme makes kites and boats." .
ex:bob a ex:Person ; rdfs:label "Bob" ; ex:worksAt ex:acme .
"""
WORDS = ["kite", "boat", "garden", "letter", "piano", "river", "winter", "bridge", "copper", "meadow", "lantern"]
Told = dict[tuple[str, ...], dict[str, tuple[str, str]]]  # scope → key → (text, kind)


def sentence(dice: random.Random, scope: tuple[str, ...], number: int) -> str:
    """A text of which no half is like another's: a word of its scope, and one of its own at its beginning and end."""
    own = f"own{number}w{dice.randrange(10**9)}"
    return f"{dice.choice(WORDS)} {own} {' '.join(dice.choices(WORDS, k=3))} secret{SCOPES.index(scope)}q {own}"


def within(scope: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [one for one in SCOPES if one[: len(scope)] == scope]


def same(world: World, told: Told) -> None:
    for scope in SCOPES:
        held = {(text, kind) for one in within(scope) for text, kind in told[one].values()}
        memory = world.memory(scope=scope)
        assert {(one.text, one.kind) for one in memory.memories(limit=1000)} == held
        found = memory.recall("kite boat", limit=1000)
        assert {(one.text, one.kind) for one in found} == held
        own = told[scope]
        assert {one.key: (one.text, one.kind) for one in memory.memories(limit=1000) if one.scope == scope} == own


def own_quads(world: World) -> list[str]:
    """The quads of each scope's memory, without those that it sees of its world."""
    quads = [quad for scope in SCOPES for quad in world.memory(scope=scope).world.quads()]
    return sorted(" ".join(map(str, quad)) for quad in quads if str(quad[3]) != "urn:worlds:seen")


def replay(steps: list[Callable[[World], object]], path: Path) -> list[str]:
    """What the memories hold in a world that did these steps alone."""
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.load(DATA, format="turtle")
        for step in steps:
            step(world)
        return own_quads(world)


def run(seed: int, folder: Path, length: int) -> int:
    """One random history; gives the number of its purges."""
    dice = random.Random(seed)
    path = folder / f"{seed}.db"
    told: Told = {scope: {} for scope in SCOPES}
    purged: list[str] = []
    kept: dict[tuple[tuple[str, ...], str], Callable[[World], object]] = {}  # what made what is there
    world = worlds.open(path, embedder=HashingEmbedder())
    world.load(DATA, format="turtle")
    for number in range(length):
        scope = dice.choice(SCOPES)
        memory = world.memory(scope=scope)
        does = dice.random()
        known = list(told[scope])
        if does < 0.5 or not known:
            key, text, kind = f"k{dice.randrange(6)}", sentence(dice, scope, number), dice.choice(KINDS)
            at = f"2026-01-{1 + number % 28:02}T00:00:00Z"

            def step(
                world: World, scope: Any = scope, key: str = key, text: str = text, kind: Any = kind, at: str = at
            ) -> object:
                return world.memory(scope=scope).retain(text, key=key, kind=kind, at=at, session="s")

            made = step(world)
            before = told[scope].get(key)
            told[scope][key] = text, kind
            if dice.random() < 0.2:
                with_undo = memory.world.undo(made.revision)  # type: ignore[attr-defined]
                assert with_undo.revision is not None
                if before is None:
                    del told[scope][key]
                else:
                    told[scope][key] = before
            else:
                kept[scope, key] = step
        elif does < 0.65:
            key = dice.choice(known)
            gone = memory.forget(key=key)
            assert gone.memories == 1
            if dice.random() < 0.3:
                assert gone.revision is not None
                memory.world.undo(gone.revision)
            else:
                del told[scope][key]
        elif does < 0.9:
            key = dice.choice(known)
            purged.append(told[scope].pop(key)[0])
            gone = memory.forget(key=key, purge=True)
            assert gone.purged
            assert gone.revision is not None
            with pytest.raises(ConflictError, match="purged"):
                world.memory(scope=scope[:2]).world.undo(gone.revision)
        else:
            world.close()
            world = worlds.open(path, embedder=HashingEmbedder())
        if number % 7 == 0:
            same(world, told)
    same(world, told)
    report = world.check()
    assert report.ok, report
    now = own_quads(world)
    world.close()
    for text in purged:
        assert prove(text.split()[-1], path), text
        assert prove(text, path), text
    steps = [kept[scope, key] for scope in SCOPES for key in told[scope]]
    assert now == replay(steps, folder / f"{seed}-again.db")
    return len(purged)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_random_histories_are_those_of_plain_lists(seed: int, tmp_path: Path) -> None:
    assert run(seed, tmp_path, 30) > 0


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_thousand_random_purges_leave_nothing(tmp_path: Path) -> None:
    assert sum(run(seed, tmp_path, 60) for seed in range(100, 220)) >= 1000


# --- nothing crosses a scope ------------------------------------------------------------------------------------------


def searched(seen: World, words: str) -> list[Any]:
    found = seen.search(words, limit=20, explain=True)
    return [*((hit.to_dict(), hit.quads, hit.snippet) for hit in found), found.notes, found.facets]


def answers(world: World, dice: random.Random, scope: tuple[str, ...] | None) -> str:
    """What one random question is told in a scope, or on the whole world, with its notes, or its error."""
    words = " ".join(dice.choices([*WORDS, "secret0q", "secret1q", "Bob", "Zoe", "works at"], k=dice.randrange(1, 4)))
    seen: Any = world if scope is None else world.memory(scope=scope).world
    memory = None if scope is None else world.memory(scope=scope)
    asked: list[Callable[[], Any]] = [
        lambda: searched(seen, words),
        lambda: seen.context(words).to_dict(),
        lambda: seen.resolve(words).to_dict(),
        lambda: seen.query("SELECT * { GRAPH ?g { ?s ?p ?o } }").to_dicts(),
        lambda: seen.query("SELECT * { ?s ?p ?o }", union=True).to_dicts(),
        lambda: seen.query(f"SELECT * {{ ?s <urn:x> '{words}' }}").notes,
        lambda: seen.query("SELECT * { ?s ?p ?o ", union=True),
        lambda: seen.schema().to_dict(),
        lambda: seen.curation.report().to_dict(),
        lambda: [str(seen.describe(one.iri)) for one in seen.resolve(words).candidates],
        lambda: [seen.questions.brief(words).to_dict(), seen.curation.verify(words).to_dict()],
        lambda: [one.to_dict() for one in seen.proposals.list(status="any")],
        lambda: [len(seen), seen.graphs(), seen.stats().to_dict(), list(seen.quads())],
        lambda: [one.to_dict() for one in seen.entities.mentions(words).mentions],
        lambda: [str(seen.search(words, where="?subject <urn:x> ?y").notes), seen.describe(f"urn:{words[:3]}")],
        lambda: list(seen.curation.duplicates()),
    ]
    if memory is not None:
        asked += [
            lambda: memory.recall(words, limit=20).to_dict(),
            lambda: memory.context(words).to_dict(),
            lambda: [one.to_dict() for one in memory.memories()],
            lambda: [entry.message for entry in seen.history()],
        ]
    try:
        return str(dice.choice(asked)())
    except (WorldsError, ValueError) as error:
        return f"{error}"


def telling(world: World) -> dict[tuple[str, ...], list[str]]:
    """Tell each scope something; gives the words that are its own, which no question has."""
    world.load(DATA, format="turtle")
    dice = random.Random(7)
    own: dict[tuple[str, ...], list[str]] = {scope: [] for scope in SCOPES}
    for scope in SCOPES:
        memory = world.memory(scope=scope)
        secret = f"secret{SCOPES.index(scope)}q"
        for number in range(8):
            text = sentence(dice, scope, number)
            word = text.split()[-1]
            own[scope].append(word)
            told = [(f"Zoe {word}", "works at", "Acme")] if number == 3 else []
            memory.retain(text, facts=told, message=f"about {word}", session=word, about=f"Bobb {word}")
        memory.retain(f"{secret} is over", at="2020-01-01T00:00:00Z", days=2, key="over")
    world.memory(scope=("team",)).keep = Keep(count=3)
    return own


def ask(world: World, own: dict[tuple[str, ...], list[str]], seed: int, count: int) -> None:
    dice = random.Random(seed)
    for _ in range(count):
        scope = dice.choice([None, *SCOPES])
        mine = [] if scope is None else within(scope)
        others = [word for one in SCOPES if one not in mine for word in own[one]]
        told = answers(world, dice, scope)
        leaked = [word for word in others if word in told]
        assert not leaked, (scope, leaked, told[:2000])
        assert "is over" not in told


@pytest.mark.parametrize("disk", [False, True])
def test_nothing_of_another_scope_is_told(path: Path, disk: bool) -> None:
    with worlds.open(path, embedder=HashingEmbedder(), sparql_index="disk" if disk else "memory") as world:
        ask(world, telling(world), 1, 25)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_nothing_of_another_scope_is_told_in_ten_thousand_answers(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        ask(world, telling(world), 2, 10_000)
