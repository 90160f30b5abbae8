"""Which entity a name means, and what a world says of one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import World
from worlds.doors.cli import app
from worlds.extras.entities.names import (
    FEATURES,
    WEIGHTS,
    Named,
    bounds,
    confidence,
    likeness,
    nearest,
    normal,
    readings,
)

EX = "http://example.org/"

PLACES = f"""
@prefix ex: <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
ex:paris a ex:City ; skos:prefLabel "Paris"@en ; ex:in ex:france ; skos:definition "The capital on the Seine"@en .
ex:texan a ex:City ; skos:prefLabel "Paris"@en ; ex:in ex:texas ; skos:definition "A town in Lamar County"@en .
ex:hilton a ex:Person ; skos:prefLabel "Paris Hilton"@en .
ex:lyon a ex:City ; skos:prefLabel "Lyon"@en ; skos:altLabel "Lugdunum" ; ex:in ex:france .
ex:marseille a ex:City ; skos:prefLabel "Marseille"@en ; ex:in ex:france .
ex:france rdfs:label "France" . ex:texas rdfs:label "Texas" . ex:City rdfs:label "city" .
""".encode()


@pytest.fixture(params=["text", "hybrid"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with worlds.open(embedder=HashingEmbedder() if request.param == "hybrid" else None) as opened:
        opened.bind("ex", EX)
        opened.load(PLACES, format="turtle")
        yield opened


def iris(found: Any) -> list[str]:
    return [str(candidate.iri).removeprefix(EX) for candidate in found.candidates]


@pytest.mark.parametrize(
    ("name", "iri", "kind"),
    [
        ("Lyon", "lyon", "exact"),
        ("  LYON ", "lyon", "exact"),
        ("lugdunum", "lyon", "alias"),
        ("Marsielle", "marseille", "fuzzy"),
        ("paris hilton", "hilton", "exact"),
    ],
)
def test_a_name_means_an_entity(world: World, name: str, iri: str, kind: str) -> None:
    found = world.resolve(name)
    assert found.outcome == "match"
    best = found.best
    assert best is not None
    assert (str(best.iri), best.kind) == (EX + iri, kind)
    assert best == found.candidates[0]
    assert best.confidence >= 0.5
    assert best.label == {"lyon": "Lyon", "marseille": "Marseille", "hilton": "Paris Hilton"}[iri]
    confidences = [candidate.confidence for candidate in found.candidates]
    assert confidences == sorted(confidences, reverse=True)
    assert all(0 <= value <= 1 for value in confidences)


@pytest.mark.parametrize("name", ["Ouagadougou", "", "  ", "?!", "\0\ud800", "x" * 5000, "the of", '"'])
def test_nothing_is_meant(world: World, name: str) -> None:
    found = world.resolve(name)
    assert (found.outcome, found.best) == ("no match", None)


def test_namesakes_are_told_apart_by_a_fact(world: World) -> None:
    found = world.resolve("Paris")
    told = {str(one.iri).removeprefix(EX): one.apart for one in found.candidates}
    assert {name: fact for name, fact in told.items() if fact} == {"paris": "in: France", "texan": "in: Texas"}
    world.add([("ex:third", "rdf:type", "ex:Ship"), ("ex:third", "skos:prefLabel", '"Paris"@en')])
    world.add([("ex:fourth", "rdf:type", "ex:City"), ("ex:fourth", "skos:prefLabel", '"Paris"@en')])
    apart = {str(one.iri).removeprefix(EX): one.apart for one in world.resolve("Paris").candidates}
    assert apart["paris"] == "in: France", "by most of them"
    assert apart["third"] is None, "nothing that the chosen predicate says"
    world.update("DELETE WHERE { ?c ex:in ?x }")
    assert {one.apart for one in world.resolve("Paris", types="ex:City").candidates} == {
        "definition: The capital on the Seine",
        "definition: A town in Lamar County",
        None,
    }
    alike = [("ex:a", "rdfs:label", '"Twin"'), ("ex:b", "rdfs:label", '"Twin"')]
    world.add(alike)
    assert {one.apart for one in world.resolve("Twin").candidates if one.label == "Twin"} == {None}


def test_a_name_of_two_is_ambiguous_until_something_tells_them_apart(world: World) -> None:
    found = world.resolve("paris")
    assert (found.outcome, found.best, set(iris(found)[:2])) == ("ambiguous", None, {"paris", "texan"})
    one, other = found.candidates[:2]
    assert one.confidence == other.confidence
    told = world.resolve("paris", context="a town in Lamar county, Texas")
    assert iris(told)[0] == "texan"
    assert told.candidates[0].context > told.candidates[1].context
    assert iris(world.resolve("paris", types="ex:Person")) == ["hilton"]
    assert world.resolve("paris", types=["ex:Nothing"]).candidates == ()


@pytest.mark.parametrize("bearers", [2, 3, 5])
@pytest.mark.parametrize("embedder", [None, HashingEmbedder()], ids=["words", "vectors"])
def test_namesakes_share_the_chance_that_one_is_meant(bearers: int, embedder: HashingEmbedder | None) -> None:
    with worlds.open(embedder=embedder) as world:
        world.add([(f"urn:{number}", "rdfs:label", '"Paris"') for number in range(bearers)])
        world.add([(f"urn:other{number}", "rdfs:label", f'"{name}"') for number, name in enumerate(("Rome", "Oslo"))])
        found = world.resolve("Paris")
        assert found.outcome == "ambiguous"
        assert sum(one.confidence for one in found.candidates if one.label == "Paris") <= 1 + 1e-9
        world.add([("urn:0", "rdfs:comment", '"A town in Texas, far from the sea."')])
        told = world.resolve("Paris", context="They drove from Texas").candidates
        assert str(told[0].iri) == "urn:0"


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("Armstrong, Neil", "Neil Armstrong"),
        ("Smith, John", "John Smith"),
        ("Neil Armstrong", "Armstrong, Neil"),
        ("I.B.M.", "IBM"),
        ("IBM", "I.B.M."),
        ("i. b. m.", "IBM"),
    ],
)
def test_names_in_another_order_and_initials(name: str, label: str) -> None:
    with worlds.open(embedder=None) as world:
        others = ["John Adams", "Adam Smith", "Neil Young", "Louis Armstrong", "IBN", "BMI", "Ibiza"]
        world.add([(f"urn:{number}", "rdfs:label", f'"{one}"') for number, one in enumerate([label, *others])])
        best = world.resolve(name).best
        assert best is not None
        assert (best.label, best.kind) == (label, "exact")


def test_a_name_that_several_begin_with_is_ambiguous() -> None:
    with worlds.open(embedder=None) as world:
        labels = ["Voyager 1", "Voyager 2", "Pioneer 10", "Voyage to the Moon"]
        world.add([(f"urn:{number}", "rdfs:label", f'"{label}"') for number, label in enumerate(labels)])
        found = world.resolve("Voyager")
        assert found.outcome == "ambiguous"
        assert {one.label for one in found.candidates[:2]} == {"Voyager 1", "Voyager 2"}
        assert world.resolve("Pioneer").outcome != "ambiguous"
        assert world.resolve("Galileo").outcome == "no match"


def test_candidates_are_bounded_and_can_be_of_a_graph(world: World) -> None:
    world.add([(EX + "other", "rdfs:label", '"Lyon"', EX + "g")])
    assert world.resolve("lyon").outcome == "ambiguous"
    assert iris(world.resolve("lyon", graphs=EX + "g")) == ["other"]
    assert len(world.resolve("lyon", limit=1).candidates) == 1


def test_many_names_are_resolved_in_their_order(world: World) -> None:
    found = world.entities.resolve_all(["lyon", ("paris", "Texas Lamar County town"), "Nowhere"], types="ex:City")
    assert [one.name for one in found] == ["lyon", "paris", "Nowhere"]
    assert [iris(one)[:1] for one in found[:2]] == [["lyon"], ["texan"]]
    assert found[2].outcome == "no match"
    assert json.loads(json.dumps([one.to_dict() for one in found]))[0]["candidates"][0]["kind"] == "exact"


@pytest.mark.parametrize("bearers", [2, 3, 12])
def test_a_misspelt_name_of_several_is_ambiguous(world: World, bearers: int) -> None:
    world.add([(f"{EX}springfield{number}", "rdfs:label", '"Springfield"') for number in range(bearers)])
    found = world.resolve("Sprngfield")
    assert found.outcome == "ambiguous"
    assert {one.matched for one in found.candidates[:bearers]} == {"Springfield"}
    assert world.resolve("Ouagadougou").outcome == "no match"


def test_all_candidates_have_their_types(world: World) -> None:
    world.add([(f"{EX}lyon{number}", "rdfs:label", '"Lyon"') for number in (2, 3, 4)])
    world.add([(EX + "lyon2", "rdf:type", EX + "Person")])
    world.add([(EX + "lyon3", "rdf:type", EX + kind, graph) for kind in ("City", "Club") for graph in (None, EX + "g")])
    found = world.resolve("lyon").candidates
    types = {str(one.iri): sorted(str(kind).removeprefix(EX) for kind in one.types) for one in found}
    wanted = {"lyon": ["City"], "lyon2": ["Person"], "lyon3": ["City", "Club"], "lyon4": []}
    assert {name: types[EX + name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("name", "iri", "kind"),
    [
        ("the ISS", "iss", "exact"),
        ("  An  iss", "iss", "exact"),
        ("the who", "the_who", "exact"),
        ("Who", "who", "exact"),
        ("a Who", "who", "exact"),
        ("the hobit", "hobbit", "fuzzy"),
        ("the Marsielle", "marseille", "fuzzy"),
    ],
)
def test_a_leading_article_matters_only_where_it_stands(world: World, name: str, iri: str, kind: str) -> None:
    labels = {"iss": "ISS", "the_who": "The Who", "who": "Who", "hobbit": "The Hobbit"}
    world.add([(EX + entity, "rdfs:label", f'"{label}"') for entity, label in labels.items()])
    found = world.resolve(name)
    assert found.best is not None
    assert (str(found.best.iri), found.best.kind) == (EX + iri, kind)


def test_what_only_begins_as_an_article_is_none() -> None:
    assert [readings(name) for name in ("The Who", "A. Smith", "Theodor", "the", "a b")] == [
        ["the who", "who"],
        ["a smith"],
        ["theodor"],
        ["the"],
        ["a b", "b"],
    ]


def test_with_an_embedder_all_candidates_have_cosines() -> None:
    embedder = HashingEmbedder()
    with worlds.open(embedder=embedder) as world:
        names = ["star formation", *(f"formaton {number}" for number in range(80))]
        world.add([(f"{EX}{number}", "rdfs:label", f'"{name}"') for number, name in enumerate(names)])
        world.add([(ox.BlankNode(), "rdfs:label", '"star formation cloud"')])
        found = world.resolve("star formaton", limit=100)
        assert str(found.candidates[0].iri) == EX + "0"
        asked = embedder.embed_query("star formaton")
        cosines = [float(embedder.embed_query(one.matched) @ asked) for one in found.candidates]
        assert [one.similarity for one in found.candidates] == pytest.approx(cosines, abs=1e-5)


def test_names_by_their_words_and_by_identifiers() -> None:
    names = ["IDE Tunneling", "Impact Assessment of Data", "mortgage", "Ada Lovelace", "Charles Babbage", "Exploits"]
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.add([(f"{EX}{number}", "rdfs:label", f'"{name}"') for number, name in enumerate(names)])
        world.add([(f"{EX}{number}", EX + "code", f'"T{number}-X"') for number in range(6)])
        world.add([(f"{EX}{number}", EX + "status", '"open"') for number in range(6)])
        meant = {
            "Data Impact Assessment of": "1", "lovelace": "3", "Babbage": "4", "T2-X": "2", "t5-x": "5",
            "mortgage": "2",
            "babage charles": "4", "DNS Tunneling": None, "mortgage loan": None, "open": None, "T9-X": None,
        }  # fmt: skip
        for name, number in meant.items():
            best = world.resolve(name).best
            assert (None if best is None else str(best.iri)) == (number and EX + number), (name, world.resolve(name))
        assert world.resolve("T2-X").candidates[0].kind == "identifier"
        assert world.resolve("lovelace").candidates[0].kind == "part"


@pytest.mark.parametrize("names", [["star", "starling", "stars and more"], ["Ada", "Ada Lovelace", "Bob"]])
def test_vectors_take_no_match_away(names: list[str]) -> None:
    found = []
    for embedder in (None, HashingEmbedder()):
        with worlds.open(embedder=embedder) as world:
            world.add([(f"{EX}{number}", "rdfs:label", f'"{name}"') for number, name in enumerate(names)])
            asked = [*names, "lovelace", "str", "starlng", "more", "Grace Hopper"]
            found.append([world.resolve(name) for name in asked])
    for alone, hybrid in zip(*found, strict=True):
        assert alone.best is None or hybrid.best is not None
        assert [(one.iri, one.confidence) for one in alone.candidates] == [
            (one.iri, one.confidence) for one in hybrid.candidates if one.kind != "semantic"
        ][: len(alone.candidates)]


def test_labels_are_those_of_the_policy(world: World) -> None:
    world.add([(EX + "berlin", EX + "called", '"Berlin"')])
    assert world.resolve("Berlin").outcome == "no match"
    world.policy = world.policy.with_(roles={EX + "called": "label"})
    assert world.resolve("Berlin").outcome == "match"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"name": 3}, TypeError),
        ({"name": "a", "context": 3}, TypeError),
        ({"name": "a", "limit": 0}, ValueError),
        ({"name": "a", "types": '"text"'}, worlds.FilterError),
    ],
    ids=str,
)
def test_wrong_arguments(world: World, arguments: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        world.resolve(**arguments)


@pytest.mark.parametrize(
    "names", ["Stars", [("a", "b", "c")], [None], ["Lyon", ("Paris",)], [3], [("a", 3)], 3], ids=str
)
def test_wrong_names(world: World, names: Any) -> None:
    with pytest.raises(TypeError, match="not"):
        world.entities.resolve_all(names)


def test_how_names_are_compared() -> None:
    assert normal("  Straße-Nr. 5! ") == "strasse nr 5"
    assert normal("C++") == "c"
    assert normal("?!") == "?!"
    assert likeness("a b", "a b") == 1
    assert 0.8 < likeness("marsielle", "marseille") < 1
    assert len(WEIGHTS) == len(FEATURES) + 1
    assert confidence([1.0, 2.0], [0.5, -0.25, 0.0]) == 0.5


NAMES = st.text("abcé ", max_size=9) | st.text("ab", min_size=55, max_size=70)


@given(NAMES, st.lists(NAMES, min_size=1, max_size=8))
def test_no_name_is_more_alike_than_its_bound(name: str, others: list[str]) -> None:
    for other, most in zip(others, bounds(name, others), strict=True):
        assert likeness(name, other) <= most


@given(NAMES, st.lists(st.lists(NAMES, min_size=1, max_size=3), max_size=8), st.integers(1, 4))
def test_the_nearest_are_those_of_all_that_are_compared(name: str, called: list[list[str]], count: int) -> None:
    def named() -> list[Named]:
        return [Named(at, None, (), {(text, "label") for text in texts}) for at, texts in enumerate(called)]

    every = named()
    spelt = sorted((one.compare(name) for one in every), reverse=True)
    least = spelt[:count][-1] if spelt else 0.0
    found = nearest(name, named(), count)
    assert {one.subject: one.spelling for one in found} == {
        one.subject: one.spelling for one in every if one.spelling >= least
    }


# -- describe ---------------------------------------------------------------------------------------------------------


def test_a_description_has_what_is_said_of_an_entity(world: World) -> None:
    found = world.describe("ex:paris")
    assert found
    assert (str(found.iri), found.label, found.description) == (EX + "paris", "Paris", "The capital on the Seine")
    assert [(str(kind.term), kind.label) for kind in found.types] == [(EX + "City", "city")]
    assert {part.label: [value.label or str(value.term) for value in part.values] for part in found.properties} == {
        "pref label": ["Paris"],
        "in": ["France"],
        "definition": ["The capital on the Seine"],
    }
    assert found.incoming == ()
    shown = found.to_dict()
    assert json.loads(json.dumps(shown)) == shown
    sources = [{"graph": None, "revision": 1}]
    assert shown["properties"][1]["values"] == [{"term": f"<{EX}france>", "label": "France", "sources": sources}]


def test_a_description_counts_what_it_leaves_out(world: World) -> None:
    found = world.describe("ex:france", limit=2)
    (incoming,) = found.incoming
    assert (incoming.label, incoming.count, len(incoming.values)) == ("in", 3, 2)


def test_what_is_not_known_is_described_by_nothing(world: World) -> None:
    for iri in ("ex:nowhere", EX + "in"):
        found = world.describe(iri)
        assert not found
        assert (found.label, found.properties, found.incoming) == (None, (), ())
    with pytest.raises(ValueError, match="an entity must be"):
        world.describe('"text"')
    with pytest.raises(ValueError, match="limit"):
        world.describe("ex:paris", limit=0)


# -- the command line -------------------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> str:
    name = str(tmp_path / "kb.db")
    with worlds.open(name, embedder=None) as opened:
        opened.load(PLACES, format="turtle")
    return name


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["resolve", "lyon", "--embedder", "none"], 0, ["name     lyon", "outcome  match", "ex:lyon  Lyon"]),
        (["resolve", "lyon", "paris", "--embedder", "none"], 1, ["name     paris\noutcome  ambiguous"]),
        (["describe", "ex:paris"], 0, ["label        Paris", "types        city", "France  "]),
        (["describe", "ex:france", "-n", "1"], 0, ["incoming (1)", "Paris       3"]),
        (["describe", "ex:nowhere"], 1, []),
        (["entities similar", "ex:paris", "--type", "ex:City", "--words"], 0, ["ex:texan"]),
        (
            ["entities similar", "ex:paris", "--mode", "text", "--predicate", "skos:prefLabel", "--lang", "en"],
            0,
            ["ex:hilton"],
        ),
        (
            ["entities similar", "ex:paris", "--mode", "text", "--lang", "de"],
            0,
            ["No other entity has texts"],
        ),
        (["entities similar", "ex:nowhere"], 1, ["ex:nowhere is not an entity of this world"]),
    ],
    ids=str,
)
def test_the_commands(path: str, arguments: list[str], code: int, expected: list[str]) -> None:
    verb, *rest = arguments
    found = CliRunner().invoke(app, [*verb.split(), path, *rest])
    assert found.exit_code == code, found.output
    for text in expected:
        assert text in found.output
    document = CliRunner().invoke(app, [*verb.split(), path, *rest, "--json"])
    assert document.exit_code == code
    assert json.loads(document.stdout)


def test_names_come_from_standard_input(path: str) -> None:
    resolve = ["resolve", path, "-", "--embedder", "none", "--json"]
    told = CliRunner().invoke(app, resolve, input="\ufefflyon\n\n  Paris Hilton \r\n\t\nmarseille")
    assert told.exit_code == 0, told.output
    assert [one["name"] for one in json.loads(told.stdout)] == ["lyon", "Paris Hilton", "marseille"]
    both = CliRunner().invoke(app, [*resolve, "Nowhere"], input="lyon\n")
    assert both.exit_code == 1
    assert [one["name"] for one in json.loads(both.stdout)] == ["lyon", "Nowhere"]
    assert CliRunner().invoke(app, resolve, input="\n \n").stdout == "[]\n"


def test_candidates_that_are_hardly_meant_are_not_printed(path: str) -> None:
    resolve = ["resolve", path, "paris hilton", "--embedder", "none"]
    shown = CliRunner().invoke(app, resolve)
    document = json.loads(CliRunner().invoke(app, [*resolve, "--json"]).stdout)
    assert re.findall(r"(?m)^(ex:\S+) .* (0\.98) ", shown.stdout) == [("ex:hilton", "0.98")]
    assert shown.stdout.count("ex:") == 2, "its type, too"
    assert len(document[0]["candidates"]) == 3


def test_an_abbreviation_in_brackets_is_a_name() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://example.org/")
        labels = {
            "dpia": "Data Protection Impact Assessment (DPIA)",
            "ropa": "Record of Processing Activities (ROPA)",
            "mars": "Mars (planet)",
            "apollo": "Apollo programme (NASA)",
        }
        world.add([(f"ex:{name}", "rdfs:label", f'"{label}"') for name, label in labels.items()])
        for name, entity in (
            ("DPIA", "dpia"),
            ("data protection impact assessment", "dpia"),
            ("ROPA", "ropa"),
            ("Record of Processing Activities", "ropa"),
        ):
            found = world.resolve(name)
            assert found.best is not None, (name, found)
            assert str(found.best.iri) == f"http://example.org/{entity}"
        assert world.resolve("NASA").best is None, "these are not the letters of its words"


@pytest.mark.parametrize("title", ["Dr. ", "Prof. Dr. ", "sir ", "Mrs ", "MISS "])
def test_titles_are_no_part_of_a_name(title: str) -> None:
    with worlds.open(embedder=None) as world:
        label = "http://www.w3.org/2000/01/rdf-schema#label"
        world.add([("urn:a", label, '"Ann Lee"'), ("urn:b", label, '"Sir Bob"'), ("urn:c", label, '"Bob"')])
        for name in (f"{title}Ann Lee", f"{title}Ann Lee, PhD"):
            best = world.resolve(name).best
            assert best is not None
            assert str(best.iri) == "urn:a"
        best = world.resolve("Sir Bob").best
        assert best is not None
        assert str(best.iri) == "urn:b"
