"""A scheme, a class, or any property and value as the scope of a verb: `where`, the same at each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rdflib import URIRef

import worlds
from worlds import World
from worlds.errors import FilterError

EX = "http://example.org/"
WORDS = "amber birch cedar delta ember falcon granite harbour iris juniper".split()  # noqa: SIM905


def concepts(seed: int) -> str:
    """Concepts of two schemes with names in common, each a class of its scheme as well, and texts that name them."""
    chance = random.Random(seed)
    lines = [
        "@prefix ex: <http://example.org/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .",
        "@prefix dct: <http://purl.org/dc/terms/> .",
    ]
    for n in range(60):
        scheme = chance.choice("ab")
        name = " ".join(chance.sample(WORDS, chance.choice([1, 1, 2])))
        notation = f"{chance.randrange(10)}.{n // 2}"
        lines.append(
            f'ex:c{n} a skos:Concept, ex:Of_{scheme} ; skos:inScheme ex:{scheme} ; skos:prefLabel "{name}"@en ;'
            f' skos:notation "{notation}" ; skos:broader ex:c{chance.randrange(60)} .'
        )
        told = " and ".join(chance.sample(WORDS, 2))
        lines.append(f'ex:d{n} dct:description "Of {told}" ; ex:place ex:c{chance.randrange(60)} .')
        lines.append(f'ex:e{n} ex:place "{chance.choice(WORDS)}" .')
    return "\n".join(lines)


@pytest.fixture(params=[1, 2, 3])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with worlds.open(embedder=None) as opened:
        opened.bind("ex", EX)
        opened.load(concepts(request.param).encode(), format="turtle")
        yield opened


VERBS: dict[str, Callable[..., Any]] = {
    "search": lambda w, **scope: [(hit.score, hit.subject) for hit in w.search("amber", mode="text", **scope)],
    "resolve": lambda w, **scope: [w.resolve(word, **scope).to_dict() for word in WORDS],
    "resolve_all": lambda w, **scope: [one.to_dict() for one in w.entities.resolve_all(WORDS, **scope)],
    "mentions": lambda w, **scope: w.entities.mentions(" and ".join(WORDS), **scope).to_dict(),
    "suggest_links": lambda w, **scope: w.curation.links(score=0.0, **scope).to_dict(),
    "duplicates": lambda w, **scope: w.curation.duplicates(score=0.0, **scope).to_dict(),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_scheme_is_a_scope_as_a_class_is(world: World, verb: str) -> None:
    ask = VERBS[verb]
    every = ask(world)
    for scheme in "ab":
        of_class = ask(world, types=f"ex:Of_{scheme}")
        assert ask(world, where=f"?subject skos:inScheme ex:{scheme}") == of_class
        assert ask(world, where=f"?subject skos:inScheme ex:{scheme}", types="skos:Concept") == of_class
        assert of_class != every
    with pytest.raises(FilterError, match="over \\?subject"):
        ask(world, where="?s ?p ?o")


def test_only_what_a_scope_has_is_named(world: World) -> None:
    inside = {str(s) for s, *_ in world.quads(None, "skos:inScheme", "ex:a")}
    where = "?subject skos:inScheme ex:a"
    assert {str(one.iri) for word in WORDS for one in world.resolve(word, where=where).candidates} <= inside
    assert {str(one.iri) for one in world.entities.mentions(" and ".join(WORDS), where=where)} <= inside
    assert {str(one) for pair in world.curation.duplicates(score=0.0, where=where) for one in pair.subjects} <= inside
    links = {str(end) for one in world.curation.links(score=0.0, where=where) for quad in one.links for end in quad[:3]}
    assert {one for one in links if one.startswith(EX + "c")} <= inside


def test_a_notation_names_a_concept_of_its_scheme() -> None:
    lines = ["@prefix ex: <http://example.org/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> ."]
    for scheme in "abc":
        lines += [
            f'ex:{scheme}{n} a skos:Concept ; skos:inScheme ex:{scheme} ; skos:notation "0{n}.1" ;'
            f' skos:prefLabel "{WORDS[n]} of {scheme}" .'
            for n in range(8)
        ]
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.load("\n".join(lines).encode(), format="turtle")
        assert world.resolve("03.1").outcome == "ambiguous"
        best = world.resolve("03.1", where="?subject skos:inScheme ex:b").best
        assert best is not None
        assert (best.iri, best.kind) == (URIRef(EX + "b3"), "identifier")


def test_what_stands_above_tells_namesakes_apart() -> None:
    turtle = """
    @prefix ex: <http://example.org/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
    ex:cat skos:prefLabel "jaguar" ; skos:broader ex:animals . ex:animals skos:prefLabel "animals" .
    ex:car skos:prefLabel "jaguar" ; skos:broader ex:vehicles . ex:vehicles skos:prefLabel "vehicles" .
    """
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.load(turtle.encode(), format="turtle")
        assert world.resolve("jaguar").outcome == "ambiguous"
        for context, meant in (("animals", "cat"), ("vehicles", "car")):
            assert world.resolve("jaguar", context=context).candidates[0].iri == URIRef(EX + meant)
            below = world.resolve("jaguar", where=f"?subject skos:broader+ ex:{context}").best
            assert below is not None
            assert below.iri == URIRef(EX + meant)


def test_a_column_names_entities_of_a_scheme(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("id,kind\n1,amber\n2,birch\n")
    columns = [
        {"name": "id", "suppressOutput": True},
        {"name": "kind", "propertyUrl": EX + "kind", "worlds:where": "?subject skos:inScheme ex:b"},
    ]
    mapping = {"tableSchema": {"aboutUrl": EX + "{id}", "columns": columns}}
    lines = ["@prefix ex: <http://example.org/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> ."]
    for scheme in "ab":
        lines += [f'ex:{scheme}{n} skos:inScheme ex:{scheme} ; skos:prefLabel "{WORDS[n]}" .' for n in range(3)]
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.load("\n".join(lines).encode(), format="turtle")
        world.load(file, mapping=mapping)
        told = {(str(s), str(o)) for s, _, o, _ in world.quads(None, EX + "kind")}
        assert told == {(EX + "1", EX + "b0"), (EX + "2", EX + "b1")}
