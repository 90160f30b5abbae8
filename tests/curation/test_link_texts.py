"""Links from texts to the entities that they name: made at once, kept in step with writes, walked by searches."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support.command_line import ok
from tests.support.readback import EX
from tests.support.serving import served
from worlds import ReadOnlyError, World

GRAPH = "urn:worlds:mentions"
FILMS = f"""
@prefix ex: <{EX}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
ex:Person a owl:Class ; rdfs:label "person" . ex:Lang a ex:Person ; rdfs:label "Fritz Lang" . ex:Metropolis a ex:Film ;
rdfs:label "Metropolis" . ex:note rdfs:comment "A person called Fritz Lang directed Metropolis in 1927." .
ex:Lang rdfs:comment "Fritz Lang was born in Vienna." . ex:Harbou rdfs:label "Thea von Harbou" ;
rdfs:comment "Thea von Harbou wrote novels." . ex:essay ex:text "The tower of Metropolis is a clock." .
""".encode()


def links(world: World) -> set[tuple[str, str]]:
    found = world.quads(None, "schema:mentions", None, GRAPH) if "schema" in world.prefixes else ()
    return {(str(one[0]).removeprefix(EX), str(one[2]).removeprefix(EX)) for one in found}


@pytest.fixture
def films(world: World) -> World:
    world.bind("schema", "https://schema.org/")
    world.load(FILMS, format="turtle")
    return world


ALL = {("note", "Lang"), ("note", "Metropolis"), ("essay", "Metropolis")}


def test_texts_are_linked_as_one_revision(films: World) -> None:
    tried = films.curation.link_texts(dry_run=True)
    assert len(tried.added) == 3
    assert links(films) == set()
    change = films.curation.link_texts(author="ann", message="links")
    assert (change.added, change.removed) == (3, 0)
    assert links(films) == ALL, "neither a class nor the entity of a text itself"
    assert films.history(1)[0].author == "ann"
    assert films.curation.link_texts().revision is None
    films.undo(films.history(1)[0].revision)
    assert links(films) == set()


def test_types_and_scores_narrow_the_links(films: World) -> None:
    films.curation.link_texts(types="ex:Film")
    assert links(films) == {("note", "Metropolis"), ("essay", "Metropolis")}
    films.curation.link_texts(score=1.0)
    assert links(films) == set(), "the graph is made anew as a whole"


def test_links_can_be_proposed(films: World) -> None:
    proposed = films.curation.link_texts(propose=True, author="ann", message="of all texts")
    assert (proposed.revision, links(films)) == (None, set())
    [one] = films.proposals.list(kind="mentions")
    assert (one.id, one.author, len(one.added)) == (proposed.proposal, "ann", 3)
    films.proposals.accept(one.id)
    assert links(films) == ALL
    assert films.curation.link_texts(propose=True).proposal is None


def test_writes_keep_the_links_in_step(films: World) -> None:
    films.policy = films.policy.with_(mentions=True)
    films.curation.link_texts()
    change = films.add([("ex:review", "ex:text", '"Fritz Lang at his best."')])
    assert (change.added, links(films)) == (2, ALL | {("review", "Lang")})
    films.undo(films.history(1)[0].revision)
    assert links(films) == ALL
    films.add([("ex:Vienna", "rdfs:label", '"Vienna"')])
    assert links(films) == ALL | {("Lang", "Vienna")}, "an older text names what has a name only now"
    films.remove([("ex:Metropolis", "rdfs:label", '"Metropolis"')])
    assert links(films) == {("note", "Lang"), ("Lang", "Vienna")}
    films.remove([("ex:note", "rdfs:comment", '"A person called Fritz Lang directed Metropolis in 1927."')])
    assert links(films) == {("Lang", "Vienna")}
    with pytest.raises(ZeroDivisionError), films.transaction():
        films.add([("ex:review", "ex:text", '"Fritz Lang at his best."')])
        assert ("review", "Lang") in links(films)
        1 / 0  # noqa: B018
    assert links(films) == {("Lang", "Vienna")}


def test_an_undo_takes_the_links_of_its_texts(films: World) -> None:
    films.policy = films.policy.with_(mentions=True)
    text = films.add([("ex:new", "rdfs:comment", '"Zanzibar Nights is long."')]).revision
    films.add([("ex:z", "rdfs:label", '"Zanzibar Nights"')])
    assert ("new", "z") in links(films)
    assert text is not None
    undone = films.undo(text).revision
    assert ("new", "z") not in links(films)
    assert undone is not None
    films.undo(undone)
    assert ("new", "z") in links(films)


def test_a_policy_of_classes_links_their_instances_alone(films: World) -> None:
    films.policy = films.policy.with_(mentions={EX + "Film"})
    films.add([("ex:review", "ex:text", '"Fritz Lang made Metropolis."')])
    assert links(films) == {("review", "Metropolis")}
    assert worlds.records.TextPolicy.from_json(films.policy.to_json()) == films.policy


def test_an_entity_that_gets_its_class_later_is_linked_from_older_texts(films: World) -> None:
    films.policy = films.policy.with_(mentions={EX + "Place"})
    films.add([("ex:Vienna", "rdfs:label", '"Vienna"')])
    assert links(films) == set()
    films.add([("ex:Vienna", "rdf:type", "ex:Place")])
    assert links(films) == {("Lang", "Vienna")}
    films.remove([("ex:Vienna", "rdf:type", "ex:Place")])
    assert links(films) == set()


def test_an_older_text_names_an_entity_by_another_form_of_its_name(films: World) -> None:
    films.policy = films.policy.with_(mentions=True)
    films.add([("ex:essay", "ex:text", '"Alfred Abel plays the master."')])
    films.add([("ex:Abel", "rdfs:label", '"Abel, Alfred"')])
    assert ("essay", "Abel") in links(films)


def test_writes_of_a_scope_are_not_followed(films: World) -> None:
    films.policy = films.policy.with_(mentions=True)
    scope = films.only(graphs="default")
    change = scope.add([("ex:review", "ex:text", '"Fritz Lang at his best."')])
    assert (change.added, links(films)) == (1, set())
    scope.undo(scope.history(1)[0].revision)
    with pytest.raises(ReadOnlyError):
        scope.curation.link_texts()
    with pytest.raises(ReadOnlyError):
        films.at(1).curation.link_texts()


def test_a_search_walks_along_the_links(films: World) -> None:
    films.add([("ex:Vienna", "rdfs:label", '"Vienna"'), ("ex:guide", "ex:text", '"Vienna has a giant wheel."')])
    question = "born in Vienna"
    before = [
        str(hit.subject)
        for hit in films.search(question, ranking=worlds.Ranking(related=True), mode="text", limit=10)
        if hit.path
    ]
    films.curation.link_texts()
    after = [
        str(hit.subject)
        for hit in films.search(question, ranking=worlds.Ranking(related=True), mode="text", limit=10)
        if hit.path
    ]
    assert (before, EX + "essay" in after) == ([], True)


NAMES = ["Ann Lee", "Bob", "Oak Hill", "river Thames"]
TEXTS = [
    "Ann Lee met Bob at Oak Hill.",
    "The river Thames floods.",
    "Nobody was there.",
    "BOB, and ann lee!",
    "Oak Hill",
]
SAID = [("rdfs:label", json.dumps(one)) for one in NAMES] + [("ex:text", json.dumps(one)) for one in TEXTS]
SAID += [("rdf:type", "ex:Place"), ("rdf:type", "owl:Class")]
ACTS = st.tuples(st.booleans(), st.sampled_from("stuv"), st.sampled_from(SAID))


@given(st.lists(st.lists(ACTS, min_size=1, max_size=4), max_size=6), st.sampled_from([None, EX + "Place"]))
def test_links_in_step_are_those_of_a_call(
    writes: list[list[tuple[bool, str, tuple[str, str]]]], of: str | None
) -> None:
    """The oracle is the same world without the policy, whose texts are linked at the end."""
    with worlds.open(embedder=None) as kept, worlds.open(embedder=None) as plain:
        for world in (kept, plain):
            world.bind("ex", EX)
            world.bind("schema", "https://schema.org/")
        kept.policy = kept.policy.with_(mentions={of} if of else True)
        for acts in writes:
            for world in (kept, plain):
                with world.transaction():
                    for adds, subject, (predicate, value) in acts:
                        quad = (f"ex:{subject}", predicate, value)
                        (world.add if adds else world.remove)([quad])
        plain.curation.link_texts(types=of)
        assert links(kept) == links(plain)
        assert kept.curation.link_texts().revision is None


# --- the doors --------------------------------------------------------------------------------------------------------


def test_the_doors_link_texts(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.load(FILMS, format="turtle")
    told = json.loads(ok("curate link-texts", tmp_path / "kb.db", "--dry-run", "--json"))
    assert told["counts"]["added"] == 3
    with served(tmp_path / "kb.db", "--allow-writes") as server, httpx.Client(base_url=server.url) as client:
        assert client.post("/links/texts", json={"types": ["http://x/none"]}).json()["added"] == 0
        assert client.post("/links/texts").json()["added"] == 3
    assert "already" in ok("curate link-texts", tmp_path / "kb.db")
