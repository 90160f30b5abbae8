"""What becomes of terms and blank nodes that are written, and which literals are text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyoxigraph as ox
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import (
    Oracle,
    problems,
    rolled_back,
)
from tests.support.readback import (
    EX,
    XSD,
    chunks_held,
    exported,
    iri,
    nquads,
    queried,
    revisions,
)
from worlds import World
from worlds.records import ChunkSize, TextPolicy


def only_objects(world: World) -> set[Any]:
    return {quad.object for quad in exported(world)}


# --- terms ------------------------------------------------------------------------------------------------------------


def test_five_terms_that_look_alike_are_five(path: Path) -> None:
    one: list[Any] = [
        ox.Literal("1"),
        ox.Literal("01"),
        ox.Literal("1", language="en"),
        ox.Literal("1", datatype=ox.NamedNode(XSD + "integer")),
        ox.NamedNode(EX + "1"),
    ]
    with worlds.open(path, embedder=None) as world:
        for term in one:
            assert world.add([(iri("s"), iri("p"), term)]).added == 1
            assert world.add([(iri("s"), iri("p"), term)]).revision is None
        assert set(exported(world)) == {ox.Quad(iri("s"), iri("p"), term) for term in one}
        assert {quad.object for quad in queried(world)} == set(one)
    with worlds.open(path, embedder=None) as world:
        for term in one:
            assert world.remove([(iri("s"), iri("p"), term)]).removed == 1
            assert term not in only_objects(world)
        assert len(world) == 0


def test_forms_of_one_value_stay_apart_though_sparql_takes_them_for_one(world: World) -> None:
    forms = [ox.Literal(form, datatype=ox.NamedNode(XSD + "integer")) for form in ("1", "01", "+1")]
    forms.append(ox.Literal("1", datatype=ox.NamedNode(XSD + "int")))
    world.add([(iri("s"), iri("p"), form) for form in forms])
    assert len(world) == 4
    assert only_objects(world) == set(forms)
    assert world.query("ASK { ?s ?p 1 }") is True
    assert world.remove([(iri("s"), iri("p"), forms[0])]).removed == 1
    assert only_objects(world) == set(forms[1:])
    assert world.query("ASK { ?s ?p 1 }") is True, "01 is there still"
    with rolled_back(world):
        world.remove([(iri("s"), iri("p"), form) for form in forms])
        assert world.query("ASK { ?s ?p 1 }") is False
    assert world.query("ASK { ?s ?p 1 }") is True


def test_directions_are_part_of_a_term(path: Path) -> None:
    terms = [
        ox.Literal("x", language="ar"),
        ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL),
        ox.Literal("x", language="ar", direction=ox.BaseDirection.LTR),
        ox.Literal("x", language="en", direction=ox.BaseDirection.LTR),
    ]
    with worlds.open(path, embedder=None) as world:
        assert world.add([(iri("s"), iri("p"), term) for term in terms]).added == 4
        assert world.remove([(iri("s"), iri("p"), terms[1])]).removed == 1
    with worlds.open(path, embedder=None) as world:
        assert only_objects(world) == {terms[0], *terms[2:]}
        assert [len(hit.quads) for hit in world.search("x", languages="ar")] == [2]


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=20, unique=True))
def test_any_text_is_kept_and_cut_into_chunks(texts: list[str]) -> None:
    literals = [ox.Literal(text) for text in texts] + [ox.Literal(text, language="en") for text in texts]
    quads = [ox.Quad(iri("s"), iri("p"), literal) for literal in literals]
    with worlds.open(embedder=None) as world:
        assert world.add(quads).added == len(quads)
        assert set(exported(world)) == set(quads)
        assert set(chunks_held(world)) == set(Oracle(quads).chunks)
        assert world.add(quads).revision is None
        assert problems(world) == []
        assert world.remove(quads).removed == len(quads)
        assert chunks_held(world) == []
        assert problems(world) == []


def test_null_characters_survive_everywhere(path: Path) -> None:
    quads = [
        ox.Quad(iri("s"), iri("p"), ox.Literal("a\0b")),
        ox.Quad(iri("s"), iri("p"), ox.Literal("a\0b", language="en")),
        ox.Quad(iri("s"), iri("p"), ox.Literal("a\0c")),
        ox.Quad(iri("s"), iri("p"), ox.Literal("a")),
        ox.Quad(iri("s"), iri("p"), ox.Triple(iri("s"), iri("p"), ox.Literal("\0"))),
        ox.Quad(iri("s"), iri("p"), ox.Literal("x\0" + "A sentence with a kite. " * 100 + "\0")),
    ]
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert world.load(nquads(quads), format="nq").added == len(quads)
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert set(exported(world)) == set(queried(world)) == set(quads)
        assert problems(world) == []
        assert world.load(nquads(quads), format="nq").revision is None
        assert world.remove(quads[:1]).removed == 1
        assert set(exported(world)) == set(quads[1:])


def subjects_by_object(world: World) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for quad in exported(world):
        if isinstance(quad.object, ox.Literal):
            found.setdefault(quad.object.value, set()).add(str(quad.subject))
    return found


# --- blank nodes ------------------------------------------------------------------------------------------------------


def test_the_blank_nodes_of_two_documents_are_different_nodes(tmp_path: Path) -> None:
    (tmp_path / "one.ttl").write_bytes(b'_:b <http://example.org/p> "one" , "same" .')
    (tmp_path / "two.ttl").write_bytes(b'_:b <http://example.org/p> "two" , "same" .')
    for together in (True, False):
        with worlds.open(embedder=None) as world:
            if together:
                world.load([tmp_path / "one.ttl", tmp_path / "two.ttl"])
            else:
                world.load(tmp_path / "one.ttl")
                world.load(tmp_path / "two.ttl")
            found = subjects_by_object(world)
            assert len(found["same"]) == 2
            assert found["one"] | found["two"] == found["same"]
            assert world.load(tmp_path / "one.ttl").added == 0, "the same node, with all that it has"
            assert len(set(queried(world))) == len(world) == 4


def test_the_blank_nodes_in_triple_terms_are_their_documents_own() -> None:
    document = b"""
        @prefix : <http://example.org/> .
        _:b :name "b" . _:c :name "c" .
        :s :says <<( _:b :p <<( _:c :p _:b )>> )>> .
    """
    with worlds.open(embedder=None) as world:
        world.load([document, document], format="ttl")
        found = subjects_by_object(world)
        said = [quad.object for quad in exported(world) if isinstance(quad.object, ox.Triple)]
        assert len(said) == 2
        assert {str(triple.subject) for triple in said} == found["b"]
        inner = [triple.object for triple in said if isinstance(triple.object, ox.Triple)]
        assert {str(triple.subject) for triple in inner} == found["c"]
        for triple in said:
            assert isinstance(triple.object, ox.Triple)
            assert triple.object.object == triple.subject


def test_a_loaded_blank_node_is_none_that_was_added_by_its_label() -> None:
    with worlds.open(embedder=None) as world:
        mine = [ox.Quad(ox.BlankNode(f"w{number}"), iri("p"), ox.Literal(str(number))) for number in range(600, 900)]
        world.add(mine)  # and so the next terms have the numbers in these labels
        for number in range(3):
            world.load(b'_:b <http://example.org/p> "new", "newer", "new %d" .' % number, format="ttl")
        found = subjects_by_object(world)
        assert len(found["new"]) == 3
        assert found["new"] == found["newer"]
        assert not found["new"] & {str(quad.subject) for quad in mine}
        assert {quad for quad in exported(world) if '"new' not in str(quad)} == set(mine)


def test_a_blank_node_is_added_to_and_removed_by_its_label(world: World) -> None:
    world.load(b'_:b <http://example.org/p> "kite" .', format="ttl")
    ((node, _, _, _),) = world.search("kite")[0].quads
    assert world.add([(node, iri("q"), ox.Literal("heron"))]).added == 1
    assert len(subjects_by_object(world)["kite"] | subjects_by_object(world)["heron"]) == 1
    assert world.remove([(node, iri("p"), ox.Literal("kite"))]).removed == 1


def held_texts(world: World) -> set[str]:
    assert problems(world) == []
    return {chunk.text for chunk in chunks_held(world)}


# --- which literals are text ------------------------------------------------------------------------------------------


def test_a_literal_is_text_for_as_long_as_a_predicate_makes_it_text(world: World) -> None:
    number = ox.Literal("5", datatype=ox.NamedNode(XSD + "integer"))
    included, other, excluded = (iri(name) for name in ("included", "other", "excluded"))
    world.policy = TextPolicy(include=frozenset([included.value]), exclude=frozenset([excluded.value]))
    world.add([(iri("s"), other, number), (iri("s"), excluded, ox.Literal("hidden"))])
    assert held_texts(world) == set()
    world.add([(iri("s"), included, number), (iri("s"), other, ox.Literal("hidden"))])
    assert held_texts(world) == {"5", "hidden"}
    (hit,) = world.search("hidden", mode="text")
    assert [str(quad[1]) for quad in hit.quads] == [other.value], "an excluded predicate's quad is cited"
    world.remove([(iri("s"), included, number), (iri("s"), other, ox.Literal("hidden"))])
    assert held_texts(world) == set()
    assert len(world) == 2


def test_a_policy_may_change_back_and_forth(world: World) -> None:
    date = ox.Literal("2020-01-01", datatype=ox.NamedNode(XSD + "date"))
    world.add(
        [
            (iri("s"), iri("p"), ox.Literal("kite")),
            (iri("s"), iri("q"), ox.Literal("heron")),
            (iri("s"), iri("p"), date),
        ]
    )
    policies = [
        (TextPolicy(), {"kite", "heron"}),
        (TextPolicy(exclude=frozenset([EX + "q"])), {"kite"}),
        (TextPolicy(datatypes=frozenset([XSD + "date"])), {"kite", "heron", "2020-01-01"}),
        (TextPolicy(include=frozenset([EX + "p"]), exclude=frozenset([EX + "q"])), {"kite", "2020-01-01"}),
        (TextPolicy(include=frozenset([EX + "q"])), {"kite", "heron"}),
        (TextPolicy(exclude=frozenset([EX + "p", EX + "q"])), set()),
        (TextPolicy(), {"kite", "heron"}),
    ]
    for policy, texts in policies:
        world.policy = policy
        assert world.policy == policy
        assert held_texts(world) == texts
        world.embed()
        assert {hit.text for hit in world.search("kite", mode="vector")} == texts
        assert {hit.text for hit in world.search("kite heron 2020", mode="text")} == texts
    assert len(revisions(world)) == 1, "a policy is no change of the quads"


def test_a_literal_takes_the_smallest_size_of_its_predicates(world: World) -> None:
    text = ox.Literal(" ".join(f"This is sentence number {number}." for number in range(40)))
    world.policy = TextPolicy(sizes={EX + "short": ChunkSize(100, 0), EX + "long": ChunkSize(5000, 0)})

    def longest() -> int:
        return max(len(chunk.text) for chunk in chunks_held(world))

    world.add([(iri("s"), iri("long"), text)])
    assert longest() > 500
    world.add([(iri("s"), iri("short"), text)])
    assert longest() <= 100
    assert world.stats().pending == 0
    world.remove([(iri("s"), iri("short"), text)])
    assert longest() > 500
    with rolled_back(world):
        world.add([(iri("s"), iri("short"), text)])
        assert longest() <= 100
    assert longest() > 500
    world.policy = TextPolicy(sizes={EX + "long": ChunkSize(200, 0)})
    assert longest() <= 200
    assert problems(world) == []
