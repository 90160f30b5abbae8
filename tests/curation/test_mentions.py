"""Which entities a text names: dictionary matching beside a slow oracle, namesakes, scripts, documents."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st

import worlds
from worlds import World

EX = "http://example.org/"
PLACES = f"""
@prefix ex: <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix dct: <http://purl.org/dc/terms/> .
ex:paris a ex:City ; skos:prefLabel "Paris"@en ; ex:in ex:france ; skos:definition "The capital on the Seine"@en .
ex:texan a ex:City ; skos:prefLabel "Paris"@en ; ex:in ex:texas ; skos:definition "A town in Lamar County"@en .
ex:hilton a ex:Person ; skos:prefLabel "Paris Hilton"@en .
ex:neil a ex:Person ; rdfs:label "Armstrong, Neil" ; skos:altLabel "the first man" .
ex:cafe rdfs:label "Café" . ex:it rdfs:label "It" . ex:tokyo rdfs:label "東京" . ex:hindi rdfs:label "हिन्दी" .
ex:france rdfs:label "France" . ex:texas rdfs:label "Texas" . ex:lamar rdfs:label "Lamar County Hall" .
ex:doc a ex:Report ; dct:title "On Paris" ; ex:year 2020 ;
    dct:description "Neil Armstrong came to Paris, which is in France." .
""".encode()


@pytest.fixture
def world() -> Iterator[World]:
    with worlds.open(embedder=None) as opened:
        opened.bind("ex", EX)
        opened.load(PLACES, format="turtle")
        yield opened


def told(world: World, text: object, **options: object) -> list[tuple[str, str]]:
    return [(one.text, str(one.iri).removeprefix(EX)) for one in world.entities.mentions(text, **options)]


def test_names_are_found_with_their_offsets(world: World) -> None:
    text = "Yesterday NEIL ARMSTRONG, the first man, saw a cafe in France's south."
    found = world.entities.mentions(text)
    assert [str(one.iri).removeprefix(EX) for one in found] == ["neil", "neil", "cafe", "france"]
    assert all(text[one.start : one.end] == one.text for one in found)
    assert all(one.confidence > 0.5 for one in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He met Paris Hilton.", [("Paris Hilton", "hilton")]),
        ("Was it there? It was.", [("It", "it")]),
        ("it was", []),
        ("We saw France. Paris came later", [("France", "france"), ("Paris", "paris")]),
        ("She is in Paris. Hilton is a hotel.", [("Paris", "paris")]),
        ("我在東京都", [("東京", "tokyo")]),
        ("यह हिन्दी है", [("हिन्दी", "hindi")]),
        ("Cafe\u0301 au lait", [("Cafe\u0301", "cafe")]),
        ("", []),
        ("\0 France \ud800", [("France", "france")]),
    ],
)
def test_what_is_a_name(world: World, text: str, expected: list[tuple[str, str]]) -> None:
    assert told(world, text) == expected


def test_the_words_around_tell_namesakes_apart(world: World) -> None:
    text = "He came to Paris, a town in Texas. She is in Paris, the capital on the Seine."
    found = [one for one in world.entities.mentions(text) if one.text == "Paris"]
    assert [str(one.iri) for one in found] == [EX + "texan", EX + "paris"]
    for one in found:
        assert len(one.candidates) == 2
        assert one.confidence > one.candidates[1].confidence
        assert sum(each.confidence for each in one.candidates) <= 1 + 1e-9


def test_confidence_is_that_of_resolve(world: World) -> None:
    for name in ("France", "Paris", "neil armstrong"):
        resolved = world.resolve(name).candidates[0]
        assert world.entities.mentions(f"“{name}”")[0].confidence == pytest.approx(resolved.confidence, abs=0.05)


def test_types_narrow_whom_a_name_means_but_not_what_is_a_name(world: World) -> None:
    assert told(world, "Paris and Paris Hilton", types="ex:Person") == [("Paris Hilton", "hilton")]
    assert told(world, "Paris and Paris Hilton", types=["ex:City"]) == [("Paris", "paris")]


def test_a_document_is_read_without_itself(world: World) -> None:
    found = world.entities.mentions("ex:doc")
    assert {(one.text, str(one.iri).removeprefix(EX)) for one in found} == {
        ("Neil Armstrong", "neil"),
        ("Paris", "paris"),
        ("France", "france"),
    }
    for one in found:
        assert one.quad is not None
        assert str(one.quad.object)[one.start : one.end] == one.text
        assert one.quad[:4] in set(world.quads("ex:doc"))
        assert one.quad.revision == 1
        assert one.to_dict()["quad"]["revision"] == 1
    assert world.entities.mentions(rdflib.URIRef(EX + "doc")) == found


def test_what_is_no_document_is_a_text(world: World) -> None:
    assert told(world, "France") == [("France", "france")]
    assert told(world, "nothing:here") == []
    assert world.entities.mentions(rdflib.URIRef(EX + "unknown")) == []
    with pytest.raises((TypeError, ValueError)):
        world.entities.mentions(3)


def test_names_follow_the_world(world: World) -> None:
    world.add([("ex:lyon", "rdfs:label", rdflib.Literal("Lyon"))])
    assert told(world, "in Lyon") == [("Lyon", "lyon")]
    world.remove([("ex:lyon", "rdfs:label", rdflib.Literal("Lyon"))])
    assert told(world, "in Lyon") == []


WORDS = ["alpha", "beta", "gamma", "delta"]


def oracle(text: str, names: dict[str, set[str]]) -> list[tuple[int, int, frozenset[str]]]:
    """Of all spans of words that are a name, the longest first; those that overlap one that is there are left out."""
    found = [match.span() for match in re.finditer(r"[a-z]+", text)]
    spans = []
    for first in range(len(found)):
        for last in range(first, len(found)):
            start, end = found[first][0], found[last][1]
            called = " ".join(re.findall(r"[a-z]+", text[start:end]))
            if called in names:
                spans.append((start, end, frozenset(names[called])))
    kept: list[tuple[int, int, frozenset[str]]] = []
    for start, end, entities in sorted(spans, key=lambda span: (span[0] - span[1], span[0])):
        if all(end <= other[0] or other[1] <= start for other in kept):
            kept.append((start, end, entities))
    return sorted(kept)


@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join), min_size=1, max_size=8),
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from([" ", ", ", "-", " (", "\n"])), max_size=25),
)
def test_matching_is_that_of_the_oracle(names: list[str], pieces: list[tuple[str, str]]) -> None:
    by_name: dict[str, set[str]] = {}
    for place, name in enumerate(names):
        by_name.setdefault(name, set()).add(f"{EX}{place}")
    text = "".join(word + gap for word, gap in pieces)
    with worlds.open(embedder=None) as world:
        world.add((f"<{iri}>", "rdfs:label", rdflib.Literal(name)) for name, iris in by_name.items() for iri in iris)
        found = world.entities.mentions(rdflib.Literal(text))
    assert [(one.start, one.end) for one in found] == [span[:2] for span in oracle(text, by_name)]
    for one, (_, _, entities) in zip(found, oracle(text, by_name), strict=True):
        assert {str(each.iri) for each in one.candidates} <= entities


@pytest.mark.slow
def test_time_is_linear_in_the_text() -> None:
    with worlds.open(embedder=None) as world:
        lines = (f'<{EX}{number}> <{EX}called> "name {number % 700} of {number}" .' for number in range(3000))
        world.policy = world.policy.with_(roles={EX + "called": "label"})
        world.load("\n".join(lines).encode(), format="ntriples")
        piece = "And then name 5 of 5 met name 6 of 706, of whom name and name 7 of said nothing. " * 50
        world.entities.mentions(piece)
        # Collecting the garbage of all tests before may take longer than the text: the quickest of three counts.
        times = {1: math.inf, 16: math.inf}
        for size in (*times, *times, *times):
            started = time.process_time()
            assert len(world.entities.mentions(piece * size)) == 100 * size
            times[size] = min(times[size], time.process_time() - started)
        assert times[16] < 16 * 4 * max(times[1], 0.01)


def test_a_word_of_the_language_is_no_name_unless_the_sentence_speaks_for_it() -> None:
    notes = "".join(f'ex:n{number} rdfs:comment "In that year number {number} came." . ' for number in range(60))
    entities = 'ex:year a ex:Unit ; rdfs:label "year" ; rdfs:comment "A unit of time." . ex:kite a ex:Bird ; '
    entities += 'rdfs:label "kite" . ex:ann a ex:Person ; rdfs:label "Ann Lee" . '
    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://example.org/")
        prefixes = "@prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . "
        world.load((prefixes + entities + notes).encode(), format="turtle")

        def named(text: str) -> list[str]:
            return [one.text for one in world.entities.mentions(text)]

        assert named("In that year a kite bit Ann Lee.") == ["kite", "Ann Lee"]  # a kite is in few texts
        assert named("The unit is the year.") == ["year"]
        assert named("Year by year it came.") == ["Year"]  # written as a name is
