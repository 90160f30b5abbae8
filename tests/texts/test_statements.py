"""Statements: quads between entities in words, found by searches, and in step with every write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import Literal

import worlds
from tests.support import tables
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import problems
from worlds import World
from worlds.records import ChunkSize, TextPolicy
from worlds.sql import STATEMENT

EX = "http://example.org/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
PREFIXES = f"PREFIX ex: <{EX}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
STAFF = """
    ex:ann rdfs:label "Ann" ; a ex:Person ; ex:worksFor ex:acme ; ex:age 40 . ex:acme rdfs:label "Acme" .
    ex:bob ex:knows ex:ann . ex:worksFor rdfs:label "is employed by" . [] ex:knows ex:bob .
"""


@pytest.fixture
def world() -> Iterator[World]:
    with worlds.open(embedder=HashingEmbedder()) as opened:
        opened.policy = TextPolicy(statements=True)
        opened.bind("ex", EX)
        opened.update(f"{PREFIXES} INSERT DATA {{ {STAFF} }}")
        opened.embed()
        yield opened


def said(world: World) -> list[str]:
    """All statements, as they are stored."""
    return sorted(text for (text,) in tables.rows(world, f"SELECT text FROM profiles WHERE subject >= {STATEMENT}"))


# -- what they say ----------------------------------------------------------------------------------------------------


def test_quads_between_entities_are_put_into_words(world: World) -> None:
    assert said(world) == ["Ann is employed by Acme", "bob knows Ann"]
    assert problems(world) == []


def test_a_new_label_is_told_at_once_and_taken_back(world: World) -> None:
    revision = world.update(f'{PREFIXES} INSERT DATA {{ ex:knows rdfs:label "is a friend of" }}').revision
    assert revision is not None
    assert said(world) == ["Ann is employed by Acme", "bob is a friend of Ann"]
    world.update(f'{PREFIXES} DELETE DATA {{ ex:ann rdfs:label "Ann" }}')
    assert said(world) == ["ann is employed by Acme", "bob is a friend of ann"]
    world.undo(revision)
    assert said(world) == ["ann is employed by Acme", "bob knows ann"]
    assert problems(world) == []


def test_the_policy_says_which_predicates(world: World) -> None:
    world.policy = world.policy.with_(statements={EX + "knows"})
    assert said(world) == ["bob knows Ann"]
    world.policy = world.policy.with_(statements=True, exclude={EX + "knows"})
    assert said(world) == ["Ann is employed by Acme"]
    world.policy = world.policy.with_(statements=False)
    assert said(world) == []
    assert problems(world) == []
    with pytest.raises(ValueError, match="statements takes absolute IRIs"):
        world.policy.with_(statements=["knows"])


def test_profiles_and_statements_stand_side_by_side(world: World) -> None:
    world.policy = world.policy.with_(profiles=True)
    profiles = {hit.text for hit in world.search("acme", predicates="urn:worlds:profile")}
    assert "Ann (Person). age: 40; is employed by: Acme; knows of: bob" in profiles
    linked = {hit.text for hit in world.search("acme", predicates="ex:worksFor")}
    assert "Ann is employed by Acme" in linked
    assert linked - profiles == {"Ann is employed by Acme"}
    world.policy = world.policy.with_(profiles=False)
    assert said(world) == ["Ann is employed by Acme", "bob knows Ann"]
    assert problems(world) == []


# -- what finds them --------------------------------------------------------------------------------------------------


def test_a_hit_is_the_quad_and_cites_the_labels_too(world: World) -> None:
    hit = world.search("who is employed by acme", predicates="ex:worksFor")[0]
    assert (str(hit.subject), str(hit.predicate), hit.graph) == (EX + "ann", EX + "worksFor", None)
    assert hit.text == str(hit.literal) == "Ann is employed by Acme"
    assert hit.composed
    assert [tuple(str(term) for term in quad[:3]) for quad in hit.quads] == [
        (EX + "ann", EX + "worksFor", EX + "acme"),
        (EX + "ann", LABEL, "Ann"),
        (EX + "worksFor", LABEL, "is employed by"),
        (EX + "acme", LABEL, "Acme"),
    ]


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
def test_equal_statements_are_one_hit_and_one_vector(world: World, mode: Any) -> None:
    before = tables.rows(world, "SELECT count(*) FROM vectors")
    world.update(f"{PREFIXES} INSERT DATA {{ GRAPH ex:g {{ ex:ann ex:worksFor ex:acme }} }}")
    world.embed()
    assert tables.rows(world, "SELECT count(*) FROM vectors") == before
    found = world.search("employed", predicates="ex:worksFor", mode=mode)
    assert [hit.text for hit in found] == ["Ann is employed by Acme"]
    assert {str(quad[3]) for quad in found[0].quads} == {"None", EX + "g"}
    alone = world.search("employed", predicates="ex:worksFor", mode=mode, exclude={"graphs": EX + "g"})
    assert {str(quad[3]) for quad in alone[0].quads} == {"None"}


def test_a_literal_of_the_same_words_is_a_hit_of_its_own(world: World) -> None:
    world.update(f'{PREFIXES} INSERT DATA {{ ex:note rdfs:comment "Ann is employed by Acme" }}')
    found = [hit for hit in world.search("employed acme", mode="text") if hit.text == "Ann is employed by Acme"]
    assert {hit.composed for hit in found} == {True, False}


def test_a_passage_of_a_literal_with_the_same_words_cites_no_statement(world: World) -> None:
    world.policy = world.policy.with_(size=ChunkSize(max_chars=100, overlap=0))
    rest = "It rained over the harbour all day, and nobody came to see the ships that lay there."
    world.add([(EX + "note", EX + "says", Literal(f"Ann is employed by Acme\n\n{rest}"))])
    world.embed()
    found = [hit for hit in world.search("employed acme", limit=50) if hit.text == "Ann is employed by Acme"]
    assert {(hit.composed, str(hit.quads[0][0]), len(hit.quads)) for hit in found} == {
        (True, EX + "ann", 4),
        (False, EX + "note", 1),
    }


def test_a_file_of_statements_opens_again(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.policy = TextPolicy(statements=True)
        world.update(f"{PREFIXES} INSERT DATA {{ {STAFF} }}")
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        assert world.policy.statements is True
        assert said(world) == ["Ann is employed by Acme", "bob knows Ann"]
        world.file.compact()
        assert problems(world) == []
        assert {str(one) for one, _ in world.search("employed").facets.predicates} == {EX + "worksFor", LABEL}


def test_sparql_and_groups_find_statements(world: World, tmp_path: Path) -> None:
    asked = "SERVICE w:search { ?hit w:query 'employed by acme' ; w:subject ?who ; w:text ?text ; w:mode 'text' }"
    table: Any = world.query(f"SELECT ?text {{ {asked} ?who ex:worksFor ex:acme FILTER(?who = ex:ann) }}")
    assert "Ann is employed by Acme" in [str(row["text"]) for row in table]
    with worlds.open(tmp_path / "other.db", embedder=HashingEmbedder()) as other:
        other.policy = TextPolicy(statements=True)
        other.update(f"{PREFIXES} INSERT DATA {{ ex:eve ex:worksFor ex:acme }}")
        other.embed()
        with worlds.group({"one": world, "other": other}) as group:
            hits = group.search("eve works", predicates=EX + "worksFor")
            assert [(hit.world, hit.text, len(hit.quads)) for hit in hits] == [
                ("other", "eve works for acme", 1),
                ("one", "Ann is employed by Acme", 4),
            ]


def test_a_merge_rewrites_statements_and_undo_brings_them_back(world: World) -> None:
    world.update(f"{PREFIXES} INSERT DATA {{ ex:anna ex:knows ex:eve }}")
    world.curation.merge("ex:ann", "ex:anna")
    assert said(world) == ["Ann is employed by Acme", "Ann knows eve", "bob knows Ann"]
    world.undo(world.history()[0].revision)
    assert said(world) == ["Ann is employed by Acme", "anna knows eve", "bob knows Ann"]
    assert problems(world) == []


# -- in step, whatever is written -------------------------------------------------------------------------------------

NAMES = ("a", "b", "c", "p", "q")
EDGES = [EX + "p", EX + "q"]
GRAPHS = (None, "g", "h")
edges = st.tuples(st.sampled_from(NAMES[:3]), st.sampled_from(NAMES[3:]), st.sampled_from(NAMES[:3]))
labels = st.tuples(st.sampled_from(NAMES), st.just("label"), st.sampled_from(["one", "two", "three"]))
quads = st.tuples(st.one_of(edges, labels), st.sampled_from(GRAPHS))
steps = st.lists(
    st.one_of(st.tuples(st.sampled_from(["add", "add", "remove"]), st.lists(quads, max_size=4))), max_size=8
)

Quad = tuple[tuple[str, str, str], str | None]


def told(held: set[Quad], within: set[str | None]) -> set[str]:
    """The statements whose quads, labels included, are all in some graphs."""
    called: dict[str, dict[str, set[str | None]]] = defaultdict(lambda: defaultdict(set))
    for (subject, predicate, value), graph in held:
        if predicate == "label":
            called[subject][value].add(graph)
    found = set()
    for (subject, predicate, value), graph in held:
        if predicate == "label":
            continue
        words, graphs = [], {graph}
        for part in (subject, predicate, value):
            words.append(min(called[part], default=part))
            graphs |= called[part].get(words[-1], set())
        if graphs <= within:
            found.add(" ".join(words))
    return found


def written(some: list[Quad]) -> str:
    """SPARQL's quads."""
    parts = []
    for (subject, predicate, value), graph in some:
        triple = (
            f'ex:{subject} rdfs:label "{value}"' if predicate == "label" else f"ex:{subject} ex:{predicate} ex:{value}"
        )
        parts.append(triple + " ." if graph is None else f"GRAPH ex:{graph} {{ {triple} }}")
    return " ".join(parts)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(steps, st.sets(st.sampled_from(GRAPHS), min_size=1))
def test_statements_say_what_the_quads_say_after_every_write(
    steps: list[tuple[str, list[Quad]]], within: set[str | None]
) -> None:
    states: list[set[Quad]] = [set()]
    graphs = ["default" if graph is None else EX + graph for graph in within]
    with worlds.open(embedder=None) as world:
        world.policy = TextPolicy(statements=True)
        scope = world.only(graphs=graphs)
        for step, some in steps:
            held = set(states[-1])
            held = held | set(some) if step == "add" else held - set(some)
            world.update(f"{PREFIXES} {'INSERT' if step == 'add' else 'DELETE'} DATA {{ {written(some)} }}")
            states.append(held)
            assert set(said(world)) == told(held, set(GRAPHS))
            shown = world.search("a", mode="text", predicates=EDGES, graphs=graphs, limit=100)
            listed = world.search("", predicates=EDGES, graphs=graphs, limit=100)
            assert {hit.text for hit in listed} == told(held, within)
            assert {hit.text for hit in shown} <= told(held, within)
            own = {quad for quad in held if quad[1] in within}
            assert {hit.text for hit in scope.search("", predicates=EDGES, limit=100)} == told(own, within)
        assert problems(world) == []
