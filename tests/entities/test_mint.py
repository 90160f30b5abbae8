"""World.entities.mint: an IRI by policy, never two things under one, and none for what is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import RDF, RDFS, Literal, URIRef

import worlds
from tests.support.command_line import ok
from tests.support.serving import served
from worlds import World
from worlds.doors.server.keys import keys_of
from worlds.errors import ArgumentError
from worlds.extras.entities.new_iris import slug

SPACE = "https://example.org/id/"
CITY = URIRef("https://example.org/City")


def opened(**iris: str) -> World:
    world = worlds.open(":memory:", embedder=None)
    world.policy = world.policy.with_(iris={"namespace": SPACE, **iris})
    return world


def test_what_is_there_is_given_and_what_is_new_has_its_label() -> None:
    with opened() as world:
        world.add([(f"{SPACE}berlin", RDF.type, CITY), (f"{SPACE}berlin", RDFS.label, Literal("Berlin"))])
        there = world.entities.mint("Berlin", type=CITY)
        assert (there.iri, there.new) == (URIRef(f"{SPACE}berlin"), False)
        new = world.entities.mint("Köln am Rhein", type=CITY)
        assert (new.iri, new.new, new.notes) == (URIRef(f"{SPACE}koln-am-rhein"), True, ())
        other = world.entities.mint("Berlin", type="https://example.org/Ship")
        assert (str(other.iri), other.new) == (f"{SPACE}berlin-2", True)
        assert "is taken" in other.notes[0]
        world.add([(f"{SPACE}berlin-2", RDF.type, URIRef("https://example.org/Ship"))])
        assert str(world.entities.mint("Berlin", type="https://example.org/Ship").iri) == f"{SPACE}berlin-3"
        assert len(world.history()) == 2, "nothing is written"


def test_what_may_be_meant_is_told() -> None:
    with opened() as world:
        for n in "ab":
            world.add([(f"urn:{n}", RDF.type, CITY), (f"urn:{n}", RDFS.label, Literal("Frankfurt"))])
        found = world.entities.mint("Frankfurt", type=CITY)
        assert found.new
        assert "may mean an existing entity: urn:a, urn:b" in found.notes[0]
        assert found.resolution is not None
        assert found.resolution.outcome == "ambiguous"


@pytest.mark.parametrize(
    ("template", "form"),
    [
        ("{uuid}", r"[0-9a-f]{8}-[0-9a-f-]{27}"),
        ("{hash}", r"[0-9a-f]{12}"),
        ("{type}/{slug}", "city/old-town"),
        ("c{counter}", "c1"),
        ("{key}", "A%2F1"),
    ],
)
def test_templates(template: str, form: str) -> None:
    with opened(template=template) as world:
        made = world.entities.mint("Old Town", type=CITY, key="A/1")
        assert re.fullmatch(form, str(made.iri).removeprefix(SPACE)), made.iri
        world.add([(made.iri, RDFS.seeAlso, CITY)])
        again = world.entities.mint("Old Town", type=CITY, key="A/1")
        assert again.new is (template != "{key}")
        assert (again.iri == made.iri) is (template == "{key}")


@pytest.mark.parametrize(
    ("iris", "message"),
    [
        ({"namespace": "no iri"}, "absolute IRI"),
        ({"namespace": SPACE, "template": "{name}"}, r"no \{name\}"),
        ({"namespace": SPACE, "template": "same"}, "in braces"),
        ({"namespace": SPACE, "other": "x"}, "'other'"),
        ({"template": "{slug}"}, "namespace"),
    ],
)
def test_a_policy_that_is_wrong_is_refused(iris: dict[str, str], message: str) -> None:
    with worlds.open(":memory:", embedder=None) as world, pytest.raises(ValueError, match=message):
        world.policy = world.policy.with_(iris=iris)


def test_what_is_missing_is_asked_for() -> None:
    with worlds.open(":memory:", embedder=None) as world:
        with pytest.raises(ArgumentError, match="no namespace"):
            world.entities.mint("x")
        world.policy = world.policy.changed({"iris": SPACE}, {})
        with pytest.raises(ArgumentError, match="give one"):
            world.entities.mint()
        assert str(world.entities.mint("!").iri) == f"{SPACE}unnamed"
        assert world.sources.add("examples/notes").base == f"{SPACE}notes/"


def test_the_command_and_the_server_give_the_same(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    worlds.open(path, embedder=None).close()
    ok("policy", path, f"iris={SPACE}")
    assert ok("entities mint", path, "Old Town", "--type", str(CITY)) == f"{SPACE}old-town\n"
    key = keys_of(path).add("ann", {"*": "read"})[1]
    with served(path) as server, server.client(key) as client:
        told = client.get("/mint", params={"label": "Old Town"}).json()
        assert (told["iri"], told["new"]) == (f"{SPACE}old-town", True)
        assert client.get("/mint").status_code == 400


@given(st.text(max_size=80))
def test_a_slug_is_the_end_of_an_iri(text: str) -> None:
    made = slug(text)
    assert made == slug(made)
    assert len(made) <= 60
    assert not re.search(r"[\s<>\"{}|^`\\/#?]", made)
