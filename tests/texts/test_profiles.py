"""Profiles: what they say, and that they say it after every write."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import worlds
from tests.support import tables
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import problems, rolled_back
from worlds import World
from worlds.records import TextPolicy

EX = "http://example.org/"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
PREFERRED = "http://www.w3.org/2004/02/skos/core#prefLabel"
PROFILE = "urn:worlds:profile"

Row = tuple[str, str, Any, str | None]

FILMS = f"""
@prefix ex: <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:m a ex:Film ; rdfs:label "Metropolis" ; ex:directedBy ex:l ; ex:released 1927 ; ex:shownIn "Berlin"@de .
ex:l a ex:Person ; rdfs:label "Fritz Lang" .
ex:Film rdfs:label "film" .
""".encode()


@pytest.fixture
def world() -> Iterator[World]:
    with worlds.open(embedder=None) as opened:
        opened.policy = TextPolicy(profiles=True)
        yield opened


def said(world: World) -> dict[str, str]:
    """IRI or blank node → profile, as it is stored."""
    rows = tables.rows(world, "SELECT subject, text FROM profiles")
    terms = tables.terms(world, [subject for subject, _ in rows])
    return {terms[subject].value: text for subject, text in rows}


# -- what they say --------------------------------------------------------------------------------------------------


def test_a_profile_puts_an_entity_and_its_triples_into_words(world: World) -> None:
    world.load(FILMS, format="turtle")
    assert said(world) == {
        EX + "m": "Metropolis (film). directed by: Fritz Lang; released: 1927; shown in: Berlin",
        EX + "l": "Fritz Lang (Person). directed by of: Metropolis",
        EX + "Film": "film.",
    }
    assert problems(world) == []


def test_a_long_profile_has_passages_that_begin_with_the_label(world: World) -> None:
    world.add([(f"{EX}{n}", EX + "in", EX + "city") for n in range(40)])
    world.add([(f"{EX}{n}", LABEL, f'"a house with number {n}"') for n in range(40)])
    world.add([(EX + "city", LABEL, '"Delft"')])
    rows = tables.rows(
        world,
        "SELECT start, end, text FROM chunks WHERE term = (SELECT -1 - subject FROM profiles WHERE text LIKE 'Delft%') "
        "ORDER BY start",
    )
    whole = said(world)[EX + "city"]
    assert len(rows) > 4
    assert all(text == whole[start:end] and text.startswith("Delft. in of: a house") for start, end, text in rows)
    assert all(f"number {n}" in whole for n in range(40))
    assert problems(world) == []


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"profiles": [EX + "Film"]}, {"m"}),
        ({"profiles": [EX + "Nothing"]}, set()),
        ({"profiles": False}, set()),
        ({}, set()),
    ],
    ids=str,
)
def test_the_policy_says_who_has_one(world: World, policy: dict[str, Any], expected: set[str]) -> None:
    world.load(FILMS, format="turtle")
    world.policy = TextPolicy(**policy)
    assert set(said(world)) == {EX + name for name in expected}
    assert tables.value(world, "SELECT count(*) FROM chunks WHERE term < 0") == len(expected)
    assert problems(world) == []


@pytest.mark.parametrize(
    ("policy", "film"),
    [
        ({"profile_predicates": [EX + "released"]}, "Metropolis (film). released: 1927"),
        ({"exclude": [EX + "released"]}, "Metropolis (film). directed by: Fritz Lang; shown in: Berlin"),
        ({"roles": {EX + "shownIn": "label"}},
         "Berlin (film). directed by: Fritz Lang; label: Metropolis; released: 1927"),
        ({"roles": {LABEL: "other"}}, "m (Film). directed by: l; label: Metropolis; released: 1927; shown in: Berlin"),
    ],
    ids=str,
)  # fmt: skip
def test_the_policy_says_what_it_says(world: World, policy: dict[str, Any], film: str) -> None:
    world.load(FILMS, format="turtle")
    world.policy = TextPolicy(profiles=True, **policy)
    assert said(world)[EX + "m"] == film
    assert problems(world) == []


def test_an_entity_that_too_many_point_to_does_not_name_them(world: World) -> None:
    world.add([(f"{EX}{name}", EX + "in", EX + "city") for name in "abc"])
    world.add([(EX + "city", LABEL, '"Delft"')])
    for most, text in ((2, "Delft."), (3, "Delft. in of: a, b, c"), (0, "Delft.")):
        world.policy = TextPolicy(profiles=True, profile_values=most)
        assert said(world)[EX + "city"] == text
    world.policy = TextPolicy(profiles=True, profile_values=3)
    world.add([(EX + "d", EX + "in", EX + "city")])
    assert said(world)[EX + "city"] == "Delft."


def test_odd_values_stay_out_or_are_cleaned(world: World) -> None:
    long = "x" * 300
    blank = ox.BlankNode("nameless")
    subject = ox.NamedNode(EX + "%C3%A9tudeOf_1")
    for value in (
        ox.Literal(long),
        blank,
        ox.Literal("a\0b\n c"),
        ox.Literal("  "),
        ox.Triple(subject, subject, blank),
    ):
        world.add([(subject, ox.NamedNode(EX + "has"), value)])
    assert said(world) == {subject.value: "étude of 1. has: a b c"}
    world.add([(blank, LABEL, '"named"')])
    assert said(world)[subject.value] == "étude of 1. has: a b c, named"
    assert said(world)["nameless"] == "named. has of: étude of 1"
    assert problems(world) == []


# -- that they say it after every write -------------------------------------------------------------------------------


def expected_profiles(quads: set[Row]) -> dict[str, tuple[str, tuple[str | None, ...]]]:
    """Each entity's profile and the graphs it is from, from nothing but the quads; short enough for one passage."""

    def label(iri: str) -> tuple[str, list[Row]]:
        named = [q for q in quads if q[0] == iri and q[1] in (PREFERRED, LABEL)]
        if not named:
            return "pref label" if iri == PREFERRED else iri.rsplit("/", 1)[1].rsplit("#", 1)[-1], []
        best = min(named, key=lambda q: (q[1] != PREFERRED, q[2]))
        return best[2].strip('"'), [q for q in named if q[1:3] == best[1:3]]

    found = {}
    for entity in {q[0] for q in quads}:
        name, used = label(entity)
        types, own, others = set(), defaultdict(set), defaultdict(set)
        for quad in quads:
            subject, predicate, value, _ = quad
            literal = value.startswith('"')
            if subject == entity and predicate == RDF_TYPE:
                text, more = label(value)
                types.add(text)
                used = [*used, quad, *more]
            elif subject == entity and quad not in label(entity)[1]:
                text, more = (value.strip('"'), []) if literal else label(value)
                words, naming = label(predicate)
                own[words].add(text)
                used = [*used, quad, *more, *naming]
            if value == entity and predicate != RDF_TYPE:
                text, more = label(subject)
                words, naming = label(predicate)
                others[f"{words} of"].add(text)
                used = [*used, quad, *more, *naming]
        groups = [*sorted(own.items()), *sorted(others.items())]
        facts = "; ".join(f"{words}: {', '.join(sorted(values))}" for words, values in groups)
        head = f"{name} ({', '.join(sorted(types))}). " if types else f"{name}. "
        found[entity] = ((head + facts).rstrip(), tuple(sorted({q[3] for q in used}, key=str)))
    return found


ENTITIES = [EX + name for name in ("a", "b", "c")]
CLASSES = [EX + "T", EX + "U"]
quads = st.one_of(
    st.tuples(st.sampled_from([*ENTITIES, EX + "p"]), st.sampled_from([LABEL, PREFERRED]),
              st.sampled_from(['"kite"', '"heron"', '"crane"'])),
    st.tuples(st.sampled_from(ENTITIES), st.sampled_from([EX + "p", EX + "q"]),
              st.sampled_from([*ENTITIES, '"2024"', EX + "p"])),
    st.tuples(st.sampled_from(ENTITIES), st.just(RDF_TYPE), st.sampled_from([*CLASSES, ENTITIES[0]])),
).flatmap(lambda triple: st.sampled_from([None, EX + "g", EX + "h"]).map(lambda graph: (*triple, graph)))  # fmt: skip
writes = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "undone"]), st.lists(quads, min_size=1, max_size=5)), max_size=8
)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(writes)
def test_profiles_are_what_the_quads_say_after_any_writes(steps: list[tuple[str, list[Row]]]) -> None:
    held: set[Row] = set()
    with worlds.open(embedder=None) as world:
        world.policy = TextPolicy(profiles=True)
        for verb, given_quads in steps:
            if verb == "undone":
                with rolled_back(world):
                    world.add(given_quads)
                    assert_profiles(world, held | set(given_quads))
            elif verb == "add":
                world.add(given_quads)
                held |= set(given_quads)
            else:
                world.remove(given_quads)
                held -= set(given_quads)
            assert_profiles(world, held)
        assert problems(world) == []
        stored = said(world)
        world.policy = TextPolicy()
        world.policy = TextPolicy(profiles=True)
        assert said(world) == stored


def assert_profiles(world: World, held: set[Row]) -> None:
    expected = expected_profiles(held)
    assert said(world) == {entity: text for entity, (text, _) in expected.items()}
    rows = tables.rows(world, "SELECT subject, graphs FROM profiles")
    for subject, graphs in rows:
        entity = tables.terms(world, [subject])[subject].value
        ids = [int(number) for number in graphs.strip("[]").split(",")]
        terms = tables.terms(world, ids)
        named = tuple(sorted((terms[number].value if number else None for number in ids), key=str))
        assert named == expected[entity][1], (entity, expected[entity])


def test_history_brings_profiles_back(world: World) -> None:
    world.load(FILMS, format="turtle")
    before = said(world)
    changed = world.update(f'DELETE DATA {{ <{EX}l> <{LABEL}> "Fritz Lang" }}')
    assert said(world)[EX + "m"] == "Metropolis (film). directed by: l; released: 1927; shown in: Berlin"
    assert changed.revision is not None
    world.undo(changed.revision)
    assert said(world) == before
    assert problems(world) == []


def test_a_failed_write_changes_no_profile(world: World) -> None:
    world.load(FILMS, format="turtle")
    before = said(world)
    with contextlib.suppress(RuntimeError), world.transaction():
        world.add([(EX + "l", LABEL, '"Aaron"')])
        raise RuntimeError
    assert said(world) == before
    assert problems(world) == []


# -- vectors ----------------------------------------------------------------------------------------------------------


def test_profiles_are_embedded_and_cut_to_what_the_embedder_reads() -> None:
    embedder = HashingEmbedder(max_tokens=12)
    with worlds.open(embedder=embedder) as world:
        world.policy = TextPolicy(profiles=True)
        world.add([(f"{EX}{n}", EX + "in", EX + "city") for n in range(9)])
        world.add([(f"{EX}{n}", LABEL, f'"house {n}"') for n in range(9)])
        world.add([(EX + "city", LABEL, '"Delft"')])
        assert world.stats().pending == 0
        rows = tables.rows(world, "SELECT text FROM chunks WHERE term < 0")
        assert len(rows) > 10
        assert all(len(text.split()) <= 10 for (text,) in rows)
        assert problems(world) == []
        embedded = embedder.documents
        world.policy = world.policy.with_(profile_values=100)  # says the same
        assert world.stats().pending == 0
        assert embedder.documents == embedded


# -- search -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def films(world: World) -> World:
    world.load(FILMS, format="turtle")
    world.load(f'<{EX}n> <{EX}directedBy> <{EX}l> ; <{LABEL}> "M" .'.encode(), format="turtle", graph=EX + "g")
    return world


def found(world: World, **options: Any) -> list[tuple[str, bool]]:
    hits = world.search("who was directed by fritz lang", **options)
    return sorted((str(hit.subject).removeprefix(EX), str(hit.predicate) == PROFILE) for hit in hits)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [("l", False), ("l", True), ("m", True), ("n", True)]),
        ({"predicates": PROFILE}, [("l", True), ("m", True), ("n", True)]),
        ({"predicates": "rdfs:label"}, [("l", False)]),
        ({"exclude": {"predicates": PROFILE}}, [("l", False)]),
        ({"types": EX + "Film"}, [("m", True)]),
        ({"subjects": [EX + "l"], "predicates": PROFILE}, [("l", True)]),
        ({"exclude": {"subjects": EX + "l"}}, [("m", True), ("n", True)]),
        ({"where": f"?subject <{EX}directedBy> <{EX}l>"}, [("m", True), ("n", True)]),
        ({"graphs": "default"}, [("l", False), ("m", True)]),  # Lang's and M's are made from both graphs
        ({"graphs": [EX + "g"]}, []),
        ({"graphs": [EX + "g", "default"]}, [("l", False), ("l", True), ("m", True), ("n", True)]),
        ({"exclude": {"graphs": [EX + "g"]}}, [("l", False), ("m", True)]),
        ({"languages": ""}, [("l", False)]),
        ({"exclude": {"languages": "de"}}, [("l", False), ("l", True), ("m", True), ("n", True)]),
    ],
    ids=str,
)
def test_filters_know_profiles(films: World, filters: dict[str, Any], expected: list[tuple[str, bool]]) -> None:
    assert found(films, **filters) == expected


def test_a_name_in_the_question_is_found_beside_profiles() -> None:
    """Profiles hold the name of every neighbour: an entity with many would be found by theirs only."""
    with worlds.open(embedder=None) as world:
        world.policy = TextPolicy(profiles=True)
        films = [(f"{EX}f{number}", f"{EX}directedBy", f"{EX}lang") for number in range(30)]
        world.add([(f"{EX}lang", LABEL, '"Fritz Lang"'), *films])
        world.add([(f"{EX}f{number}", LABEL, f'"Fritz Lang film {number}"') for number in range(30)])
        for question in ("who is Fritz Lang?", "Fritz Lang's films", "what did fritz lang (director) make"):
            assert f"{EX}lang" in [str(hit.subject) for hit in world.search(question, limit=5)], question


def test_a_hit_on_a_profile_cites_what_it_was_made_from(films: World) -> None:
    hit = films.search("directed by fritz lang", predicates=PROFILE, types=EX + "Film")[0]
    assert (str(hit.subject), hit.label, str(hit.predicate)) == (EX + "m", "Metropolis", PROFILE)
    assert str(hit.literal)[hit.start : hit.end] == hit.text == said(films)[EX + "m"]
    cited = {tuple(str(term) for term in quad[:3]) for quad in hit.quads}
    assert cited == {
        (EX + "m", LABEL, "Metropolis"),
        (EX + "m", RDF_TYPE, EX + "Film"),
        (EX + "Film", LABEL, "film"),
        (EX + "m", EX + "directedBy", EX + "l"),
        (EX + "l", LABEL, "Fritz Lang"),
        (EX + "m", EX + "released", "1927"),
        (EX + "m", EX + "shownIn", "Berlin"),
    }
    assert hit.to_dict()["predicate"] == PROFILE
    rows = films.query(
        'PREFIX w: <urn:worlds:> SELECT ?s ?p { SERVICE w:search { ?h w:query "directed by fritz lang" ; '
        "w:subject ?s ; w:predicate ?p ; w:limit 1 } }"
    )
    assert [tuple(map(str, row)) for row in rows] == [(EX + "n", PROFILE)]  # type: ignore[union-attr]
