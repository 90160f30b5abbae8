"""Lists of members, from A to Z, with facets that count all of them; against a slow oracle."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support.seams import keep_small_orders_in_step
from worlds import FilterError, World

EX = "http://example.org/"
things = st.sampled_from([EX + name for name in "abcdef"])
kinds = [EX + "Bird", EX + "Owl", EX + "Barn"]
quads = st.one_of(
    st.tuples(things, st.just("rdf:type"), st.sampled_from(kinds)),
    st.tuples(st.sampled_from(kinds[1:]), st.just("rdfs:subClassOf"), st.sampled_from(kinds[:2])),
    st.tuples(things, st.just(EX + "eats"), st.sampled_from([EX + "mouse", EX + "worm", '"seeds"'])),
    st.tuples(things, st.just("rdfs:label"), st.sampled_from(['"Eule"@de', '"owl"', '"Ärger"@de', '"1st"', '"zoo"'])),
)  # fmt: skip


def below(held: set[Any], kind: str) -> set[str]:
    found = {kind}
    while more := {s for s, p, o, *_ in held if p == "rdfs:subClassOf" and o in found} - found:
        found |= more
    return found


@given(st.lists(st.lists(st.tuples(quads, st.booleans()), min_size=1, max_size=8), min_size=1, max_size=3))
def test_all_members_are_listed_and_counted(steps: list[list[tuple[Any, bool]]]) -> None:
    with pytest.MonkeyPatch.context() as patch, worlds.open(embedder=None) as world:
        keep_small_orders_in_step(patch)
        held: set[Any] = set()
        for step in steps:
            for quad, adds in step:
                (world.add if adds else world.remove)([quad])
                (held.add if adds else held.discard)(quad)
            for subclasses in (False, True):
                kinds = below(held, EX + "Bird") if subclasses else {EX + "Bird"}
                expected = {s for s, p, o in held if p == "rdf:type" and o in kinds}
                check(world, held, expected, EX + "Bird", subclasses=subclasses)
            if not any(o == EX + "eats" for _, _, o in held):
                check(world, held, {s for s, p, _ in held if p == EX + "eats"}, EX + "eats")


def check(world: World, held: set[Any], expected: set[str], of: str, **options: Any) -> None:
    pages = [
        world.entities.members(of, facet=EX + "eats", language="de", limit=2, offset=at, **options) for at in (0, 2, 4)
    ]
    shown = [one for page in pages for one in page.members]
    assert {str(one.iri) for one in shown} == expected
    assert len(shown) == len(expected) == pages[0].total
    texts = [world.labels([one.iri], language="de").get(str(one.iri)) for one in shown]
    assert [one.label for one in shown] == texts
    known = [text.lower().replace("ä", "a") for text in texts if text]
    assert known == sorted(known)
    assert not any(texts[len(known) :])
    initials = [text[0].upper() if text[0].isalpha() else "#" for text in known]
    assert pages[0].letters == {letter: initials.index(letter) for letter in initials}
    counted = Counter(o for s, p, o in held if p == EX + "eats" and s in expected)
    assert {str(value.term): value.count for facet in pages[0].facets for value in facet.values} == {
        one.strip('"'): n for one, n in counted.items()
    }


def test_a_pattern_narrows_the_list_and_its_facets() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(f"{EX}{n}", p, o) for n in range(6) for p, o in (("rdf:type", EX + "T"), (EX + "of", n % 2))])
        world.add([(EX + "T", "rdfs:label", '"Thing"@en'), (EX + "4", EX + "size", 9)])
        found = world.entities.members(
            EX + "T", where=f"?subject <{EX}of> 0", facet=[EX + "of", EX + "size", EX + "none"]
        )
        assert (found.label, found.kind, found.total) == ("Thing", "class", 3)
        assert [[(str(v.term), v.count) for v in facet.values] for facet in found.facets] == [
            [("0", 3)],
            [("9", 1)],
            [],
        ]
        assert {str(one) for one in found.properties} >= {EX + "of", EX + "size"}
        with pytest.raises(FilterError):
            world.entities.members(EX + "T", where="no pattern")
        assert not world.entities.members(EX + "Nothing")


def test_namesakes_are_told_apart() -> None:
    with worlds.open(embedder=None) as world:
        for n, country in (("1", "France"), ("2", "Texas")):
            world.add(
                [
                    (EX + n, "rdf:type", EX + "City"),
                    (EX + n, "rdfs:label", '"Paris"'),
                    (EX + n, EX + "in", f'"{country}"'),
                ]
            )
        assert [one.apart for one in world.entities.members(EX + "City").members] == ["in: France", "in: Texas"]
        world.remove([(EX + n, EX + "in", f'"{country}"') for n, country in (("1", "France"), ("2", "Texas"))])
        assert [one.apart for one in world.entities.members(EX + "City").members] == [EX + "1", EX + "2"]


def test_a_scheme_lists_its_concepts_and_a_scope_its_own() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(EX + "a", "skos:inScheme", EX + "S"), (EX + "b", "skos:topConceptOf", EX + "S", EX + "g")])
        found = world.entities.members(EX + "S")
        assert (found.kind, found.total) == ("scheme", 2)
        assert [str(one.iri) for one in world.entities.members(EX + "S", graphs=EX + "g").members] == [EX + "b"]
        assert [str(one.iri) for one in world.entities.tree(EX + "S", graphs="default").nodes] == [EX + "a"]
        assert world.entities.tree(EX + "S").total == 2
