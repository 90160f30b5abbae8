"""Trees against a slow oracle: circles, several parents, orphans, blank nodes, inverses, and orders kept in step."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import worlds
from tests.support.seams import keep_small_orders_in_step
from worlds import World
from worlds.errors import ArgumentError

EX = "http://example.org/"
SKOS = "http://www.w3.org/2004/02/skos/core#"
CONCEPTS = [*(EX + name for name in "abcdefg"), "_:x", "_:y"]
SCHEMES = [EX + "S", EX + "T"]


class Oracle:
    """A set of quads, and what the trees of it are, slowly."""

    def __init__(self) -> None:
        self.quads: set[tuple[str, ...]] = set()

    def pairs(self, predicate: str) -> set[tuple[str, str]]:
        return {(s, o) for s, p, o, *_ in self.quads if p == predicate}

    def edges(self) -> set[tuple[str, str]]:
        """Pairs of a concept and one above it."""
        both = self.pairs("skos:broader") | {(o, s) for s, o in self.pairs("skos:narrower")}
        return {(low, high) for low, high in both if low != high}

    def members(self, scheme: str) -> set[str]:
        return {s for s, o in self.pairs("skos:inScheme") if o == scheme}

    def tops(self, scheme: str) -> set[str]:
        declared = self.pairs("skos:topConceptOf") | {(o, s) for s, o in self.pairs("skos:hasTopConcept")}
        return {concept for concept, of in declared if of == scheme}

    def below(self, scheme: str) -> dict[str, set[str]]:
        elsewhere = {s for s, _ in self.pairs("skos:inScheme")} - self.members(scheme)
        found: dict[str, set[str]] = {concept: set() for concept in CONCEPTS}
        for low, high in self.edges():
            if low not in elsewhere:
                found[high].add(low)
        return found

    def reached(self, scheme: str, start: set[str]) -> set[str]:
        found, queue = set(start), list(start)
        while queue:
            for low in self.below(scheme)[queue.pop()] - found:
                found.add(low)
                queue.append(low)
        return found

    def label(self, concept: str, language: str) -> str | None:
        texts = [o for s, p, o, *_ in self.quads if s == concept and p == "skos:prefLabel"]
        order = {f"@{language}": -1, "@en": 0, '"': 1}
        ranked = sorted(
            (next((rank for end, rank in order.items() if text.endswith(end)), 2), text.split('"')[1]) for text in texts
        )
        return ranked[0][1] if ranked else None


labels = st.builds(
    lambda text, tag: f'"{text}"{tag}',
    st.text("aBcÄé 1", min_size=1, max_size=3).map(str.strip).filter(bool),
    st.sampled_from(["", "@de", "@en", "@fr"]),
)
concepts, schemes = st.sampled_from(CONCEPTS), st.sampled_from(SCHEMES)
triples = st.one_of(
    st.tuples(concepts, st.sampled_from(["skos:broader", "skos:narrower"]), concepts),
    st.tuples(concepts, st.sampled_from(["skos:inScheme", "skos:topConceptOf"]), schemes),
    st.tuples(schemes, st.just("skos:hasTopConcept"), concepts),
    st.tuples(concepts, st.just("skos:prefLabel"), labels),
)
quads = st.one_of(triples, triples.map(lambda triple: (*triple, EX + "graph")))


def all_of(world: World, of: str | None, page: int = 3, **options: Any) -> list[Any]:
    """All nodes of a level, page by page."""
    found: list[Any] = []
    while True:
        level = world.entities.tree(of, offset=len(found), limit=page, **options)
        found += level.nodes
        if not level.nodes or len(found) >= level.total:
            assert len(found) == level.total
            return found


def names(nodes: list[Any]) -> list[str]:
    return [str(node.iri) if str(node.iri).startswith("http") else f"_:{node.iri}" for node in nodes]


def check(world: World, oracle: Oracle, language: str) -> None:
    trees = {str(one.iri): (one.instances, one.children) for one in all_of(world, None) if one.kind == "scheme"}
    for scheme in SCHEMES:
        below, top = oracle.below(scheme), oracle.tops(scheme)
        every = oracle.reached(scheme, top | oracle.members(scheme))
        assert trees.get(scheme, (0, 0)) == (len(every), len(top)), "all its concepts, and those at the top"
        fixed = top | {one for one in every if not any(one in below[high] for high in every)}
        nodes = all_of(world, scheme)
        roots = names(nodes)
        assert len(roots) == len(set(roots))
        assert fixed <= set(roots) <= every
        assert oracle.reached(scheme, set(roots)) == every, "nothing is out of sight"
        for extra in set(roots) - fixed:
            assert extra not in oracle.reached(scheme, fixed), "a way leads to it already"
            assert any(extra in oracle.reached(scheme, {low}) for low in below[extra]), "it is in no circle"
        for name in every:
            given = all_of(world, scheme, parent=name, language=language)
            assert set(names(given)) == below[name]
            assert [one.label for one in given] == [oracle.label(one, language) for one in names(given)]
            assert [one.children for one in given] == [len(below[one]) for one in names(given)]
            known = [folded(one.label) for one in given if one.label]
            assert known == sorted(known)
            assert not any(one.label for one in given[len(known) :])
            steps = names(list(world.entities.tree(scheme, parent=name).path))
            assert steps[-1] == name
            assert steps[0] in roots
            assert all(low in below[high] for high, low in itertools.pairwise(steps))


def folded(label: str | None) -> str:
    return (label or "").strip().lower().replace("ä", "a").replace("é", "e")


@given(
    st.lists(
        st.tuples(st.sampled_from(["de", "en", None]), st.lists(quads, min_size=1, max_size=8)), min_size=1, max_size=4
    )
)
@example([("de", [(EX + "b", "skos:broader", EX + "a"), (EX + "a", "skos:inScheme", SCHEMES[0]),
                  (SCHEMES[1], "skos:hasTopConcept", EX + "a")])])  # fmt: skip
def test_a_tree_holds_all_once_whatever_its_shape_and_stays_in_step(steps: list[tuple[str | None, list[Any]]]) -> None:
    with pytest.MonkeyPatch.context() as patch, worlds.open(embedder=None) as world:
        keep_small_orders_in_step(patch)
        oracle = Oracle()
        world.bind("ex", EX)
        world.add([("_:x", EX + "is", "_:x"), ("_:y", EX + "is", "_:y")])
        for language, some in steps:
            if language:
                world.add(some)
                oracle.quads.update(map(tuple, some))
            else:
                chosen = sorted(oracle.quads)[: len(some)]
                world.remove(chosen)
                oracle.quads.difference_update(chosen)
            check(world, oracle, language or "en")


@pytest.fixture
def parts() -> Iterator[World]:
    """Parts of a car, said both ways, and classes."""
    with worlds.open(embedder=None) as world:
        world.load(
            b"""@prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
            @prefix owl: <http://www.w3.org/2002/07/owl#> .
            ex:wheel ex:partOf ex:car . ex:car ex:hasPart ex:engine . ex:hasPart owl:inverseOf ex:partOf .
            ex:piston ex:partOf ex:engine . ex:nut ex:partOf ex:wheel , ex:engine .
            ex:nut rdfs:label "nut"@en , "Mutter"@de . ex:car rdfs:label "car"@en , "Auto"@de .
            ex:Beetle rdfs:subClassOf ex:Car , [ a owl:Restriction ] . ex:Car a owl:Class ; rdfs:subClassOf owl:Thing .
            ex:mine a ex:Beetle . ex:yours a ex:Car . ex:lone a ex:Alone .""",
            format="turtle",
        )
        yield world


def test_any_property_makes_a_tree_and_its_inverse_belongs_to_it(parts: World) -> None:
    for of in ("ex:partOf", "^ex:hasPart"):
        assert names(all_of(parts, of)) == [EX + "car"]
        assert names(all_of(parts, of, parent="ex:car")) == [EX + "engine", EX + "wheel"]
        assert names(all_of(parts, of, parent="ex:engine")) == [EX + "nut", EX + "piston"]
    assert [one.label for one in parts.entities.tree("ex:partOf", language="de").nodes] == ["Auto"]
    (found,) = parts.entities.tree("ex:partOf", matching="mutt", language="de").nodes
    assert found.label == "Mutter"
    assert [step.label for step in found.path] == ["Auto", None]
    assert not parts.entities.tree("ex:partOf", matching="beetle")


def test_classes_are_a_tree_without_restrictions_and_count_their_instances(parts: World) -> None:
    assert [(str(one.iri), one.children, one.instances) for one in all_of(parts, "rdfs:subClassOf")] == [
        (EX + "Alone", 0, 1), (EX + "Car", 1, 1),
    ]  # fmt: skip
    assert [one.instances for one in all_of(parts, "rdfs:subClassOf", parent="ex:Car")] == [1]
    kinds = {(str(one.iri), one.kind) for one in parts.entities.tree().nodes}
    assert kinds == {("http://www.w3.org/2000/01/rdf-schema#subClassOf", "classes"), (EX + "partOf", "property")}


def test_what_is_unknown_has_no_tree(parts: World) -> None:
    assert not parts.entities.tree("ex:nothing")
    assert not parts.entities.tree("ex:partOf", parent="ex:nothing")
    assert not worlds.open(embedder=None).entities.tree()
    with pytest.raises(ValueError, match="limit"):
        parts.entities.tree("ex:partOf", limit=0)


def test_many_siblings_are_paged_in_one_order() -> None:
    with worlds.open(embedder=None) as world:
        numbers = list(range(3000))
        random.Random(1).shuffle(numbers)
        world.add(
            [
                quad
                for n in numbers
                for quad in (
                    (f"{EX}c{n}", "skos:topConceptOf", EX + "S"),
                    (f"{EX}c{n}", "skos:prefLabel", f'"name {n:05}"@en'),
                )
            ]
        )
        told = [one.label for one in all_of(world, EX + "S", page=700)]
        assert told == [f"name {n:05}" for n in range(3000)]
        world.add(
            [(EX + "c7", "skos:prefLabel", '"name 02000 and a half"@de'), (EX + "new", "skos:topConceptOf", EX + "S")]
        )
        world.remove([(EX + "c7", "skos:prefLabel", '"name 00007"@en'), (EX + "c9", "skos:topConceptOf", EX + "S")])
        told = [one.label for one in all_of(world, EX + "S", page=700)]
        expected = [f"name {n:05}" for n in range(3000) if n not in (7, 9)] + ["name 02000 and a half"]
        assert told == [*sorted(expected), None]


# --- moving -----------------------------------------------------------------------------------------------------------


@given(
    st.lists(quads, min_size=3, max_size=14), concepts, st.one_of(st.none(), concepts), schemes,
    st.one_of(st.none(), concepts, schemes),
)  # fmt: skip
def test_a_move_puts_it_there_closes_no_circle_and_keeps_the_rest(
    given_quads: list[Any], moved: str, to: str | None, scheme: str, away: str | None
) -> None:
    with worlds.open(embedder=None) as world:
        world.add([*given_quads, *((one, EX + "is", one) for one in (*CONCEPTS, *SCHEMES))])
        before, after = Oracle(), Oracle()
        before.quads = set(map(tuple, given_quads))
        low = set() if to is None else circle(before, moved)
        try:
            move = world.entities.moving(moved, to, of=scheme, away=away)
        except ArgumentError as error:
            why = error.kind
        else:
            why = ""
        if why or to in low:
            assert why == ("circle" if to in low else "tree")
            return
        world.edit(add=move.add, remove=move.remove)
        after.quads = {named(quad) for quad in world.quads() if str(quad[1]) != EX + "is"}
        above = {high for one, high in after.edges() if one == moved}
        old = {high for one, high in before.edges() if one == moved}
        left = old if away is None else {away} & old
        assert {str(one) if str(one).startswith("http") else f"_:{one}" for one in move.stays} == old - left - {to}
        assert above == (old - left) | ({to} if to is not None else set()) | (old & {to})
        others = [{(one, high) for one, high in each.edges() if one != moved} for each in (before, after)]
        assert others[0] == others[1], "nothing else moved"
        if to is None:
            assert moved in after.tops(scheme)
        elif away in (None, scheme):
            assert moved not in after.tops(scheme)


def circle(oracle: Oracle, moved: str) -> set[str]:
    """A concept and all that is below it, in any scheme."""
    found = {moved}
    while more := {low for low, high in oracle.edges() if high in found} - found:
        found |= more
    return found


def named(quad: Any) -> tuple[str, ...]:
    def term(one: Any) -> str:
        return f"_:{one}" if type(one).__name__ == "BNode" else str(one).replace(SKOS, "skos:")

    return tuple(term(one) for one in quad if one is not None)


def test_a_move_to_a_scheme_is_one_to_its_top() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.add(
            [("ex:b", "skos:broader", "ex:a"), ("ex:a", "skos:topConceptOf", "ex:S"), ("ex:b", "skos:inScheme", "ex:S")]
        )
        assert world.entities.moving("ex:b", "ex:S", of="ex:S") == world.entities.moving("ex:b", None, of="ex:S")
        assert [named(quad) for quad in world.entities.moving("ex:b", None, of="ex:S").add] == [
            (EX + "b", "skos:topConceptOf", EX + "S")
        ]
        with pytest.raises(ArgumentError, match="the world says nothing of"):
            world.entities.moving("ex:b", None, of="ex:typo")


@pytest.mark.parametrize("wrong", [{"offset": -1}, {"offset": "1"}, {"limit": 0}])
def test_a_page_that_cannot_be_is_refused(parts: World, wrong: dict[str, Any]) -> None:
    for read in (parts.entities.tree, lambda **page: parts.entities.members("ex:Part", **page)):
        with pytest.raises(ValueError, match="must be a whole number"):
            read(**wrong)


def test_a_part_of_no_tree_is_refused(parts: World) -> None:
    for part in ({"parent": "ex:car"}, {"matching": "car"}):
        with pytest.raises(ArgumentError, match="need a tree"):
            parts.entities.tree(**part)  # type: ignore[arg-type]


def test_a_move_is_said_as_the_place_was(parts: World) -> None:
    move = parts.entities.moving("ex:engine", "ex:wheel", of="ex:partOf")
    assert [named(quad) for quad in move.add] == [(EX + "wheel", EX + "hasPart", EX + "engine")]
    assert [named(quad) for quad in move.remove] == [(EX + "car", EX + "hasPart", EX + "engine")]
    with pytest.raises(ValueError, match="nut cannot be moved below nut, which is the same"):
        parts.entities.moving("ex:nut", "ex:nut", of="ex:partOf")
    with pytest.raises(ValueError, match="close a circle"):
        parts.entities.moving("ex:engine", "ex:piston", of="ex:partOf")
    with pytest.raises(ValueError, match="says nothing of"):
        parts.entities.moving("ex:nobody", "ex:car", of="ex:partOf")
    assert [named(quad)[0] for quad in parts.entities.moving("ex:nut", of="ex:partOf", away="ex:wheel").remove] == [
        EX + "nut"
    ]


def test_a_scheme_that_only_a_graph_of_the_world_s_own_names_takes_no_concept_away() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(EX + "a", "skos:topConceptOf", SCHEMES[0]), (EX + "b", "skos:broader", EX + "a")])
        world.add([(EX + "b", "skos:inScheme", SCHEMES[1], "urn:worlds:questions")])
        assert [str(one.iri) for one in world.entities.tree(SCHEMES[0], parent=EX + "a").nodes] == [EX + "b"]
