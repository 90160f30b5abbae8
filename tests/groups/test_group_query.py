"""SPARQL over a group: the union of its worlds, and each by itself as a service."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import worlds
from tests.support import seams
from worlds import QueryError
from worlds.groups.group import Group
from worlds.records import Solutions

EX = "http://ex/"
PREFIX = f"PREFIX ex: <{EX}>\n"
BIRDS = f"""
<{EX}kite> <{EX}eats> <{EX}mouse> .
<{EX}kite> <{EX}name> "kite"@en .
<{EX}kite> <{EX}nest> _:b .
_:b <{EX}in> <{EX}oak> <{EX}g> .
<{EX}finch> <{EX}eats> <{EX}seed> .
"""
MAMMALS = f"""
<{EX}mouse> <{EX}eats> <{EX}seed> .
<{EX}mouse> <{EX}weighs> "20"^^<http://www.w3.org/2001/XMLSchema#integer> .
_:b <{EX}in> <{EX}hole> <{EX}g> .
<{EX}kite> <{EX}nest> _:b .
"""


@pytest.fixture
def group() -> Iterator[Group]:
    with worlds.open(embedder=None) as birds, worlds.open(embedder=None) as mammals:
        birds.load(BIRDS.encode(), format="nq")
        mammals.load(MAMMALS.encode(), format="nq")
        with worlds.group({"birds": birds, "mammals": mammals}) as found:
            yield found


def rows(group: Group, query: str, **options: object) -> list[tuple[str | None, ...]]:
    found = group.query(PREFIX + query, **options)  # type: ignore[arg-type]
    assert isinstance(found, Solutions)
    return sorted((tuple(None if term is None else str(term) for term in row) for row in found), key=repr)


def test_the_union(group: Group) -> None:
    found = rows(group, "SELECT ?a ?c { ?a ex:eats ?b . ?b ex:eats ?c }")
    assert found == [(EX + "kite", EX + "seed")]
    # Graphs of one name are one; blank nodes of one name are not.
    assert rows(group, "SELECT ?place { ex:kite ex:nest ?n . GRAPH ex:g { ?n ex:in ?place } }") == [
        (EX + "hole",),
        (EX + "oak",),
    ]
    group.worlds["mammals"].add([(EX + "seed", EX + "eats", EX + "light")])
    assert len(rows(group, "SELECT ?a ?c { ?a ex:eats ?b . ?b ex:eats ?c }")) == 3
    assert group.query(PREFIX + "ASK { ex:finch ex:eats ?x }") is True


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT ?a ?c { SERVICE <worlds:birds> { ?a ex:eats ?b } SERVICE <worlds:mammals> { ?b ex:eats ?c } }",
            [(EX + "kite", EX + "seed")],
        ),
        (
            "SELECT ?a ?w { SERVICE <worlds:birds> { ?a ex:eats ?b } "
            "OPTIONAL { SERVICE SILENT <worlds:mammals> { ?b ex:weighs ?w } } }",
            [(EX + "finch", None), (EX + "kite", "20")],
        ),
        ("SELECT (count(*) AS ?n) { SERVICE <worlds:birds> { ?s ex:eats ?o } }", [("2",)]),
        ("SELECT ?n { SERVICE <worlds:birds> { SELECT (count(*) AS ?n) { ?s ?p ?o } } }", [("4",)]),
        ("ASK { SERVICE <worlds:birds> { ex:kite ex:eats ?o } }", True),
        ("ASK { SERVICE <worlds:birds> { ex:kite ex:eats ex:seed } }", False),
        ("SELECT ?s { ?s ex:eats ex:seed MINUS { SERVICE <worlds:birds> { ?s ?p ?o } } }", [(EX + "mouse",)]),
        ("SELECT ?s { SERVICE <worlds:mammals> { ?s ex:eats ex:mouse } }", []),
        ("SELECT (1 AS ?one) { SERVICE <worlds:mammals> { ex:mouse ex:eats ex:seed } }", [("1",)]),
        ("SELECT ?p { SERVICE <worlds:birds> { ex:kite ex:nest ?n GRAPH ex:g { ?n ex:in ?p } } }", [(EX + "oak",)]),
        ("SELECT (lang(?n) AS ?l) { SERVICE <worlds:birds> { ?s ex:name ?n } }", [("en",)]),
        (
            "SELECT ?s { ?s ex:eats ?o FILTER EXISTS { SERVICE <worlds:mammals> { ?o ex:weighs ?w } } }",
            [(EX + "kite",)],
        ),
    ],
)  # fmt: skip
def test_a_world_by_itself(group: Group, query: str, expected: bool | list[tuple[str | None, ...]]) -> None:
    if isinstance(expected, bool):
        assert group.query(PREFIX + query) is expected
    else:
        assert rows(group, query) == expected


def test_a_service_needs_no_union(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = group.query(PREFIX + "SELECT ?n { SERVICE <worlds:birds> { ex:kite ex:nest ?n } }")  # type: ignore[misc]
    assert type(row[0]).__name__ == "BNode"
    seams.let_no_union_fit(monkeypatch)
    assert len(rows(group, "SELECT ?s { SERVICE <worlds:birds> { ?s ex:eats ?o } }")) == 2
    with pytest.raises(worlds.WorldsError, match="does not fit into memory"):
        rows(group, "SELECT ?s { ?s ex:eats ?o }")


def test_bindings_prefixes_and_limits(group: Group) -> None:
    group.worlds["birds"].bind("b", EX)
    found = group.query("SELECT ?s { SERVICE <worlds:birds> { ?s b:eats ?o } }", bindings={"o": EX + "seed"})
    sums = group.query("SELECT ?y { BIND(?x + 1 AS ?y) }", bindings={"x": 1})
    assert [str(row[0]) for row in sums] == ["2"]  # type: ignore[union-attr]
    assert group.query("SELECT ?t { FILTER(?t = rdfs:label) }", bindings={"t": "rdfs:label"})
    assert [str(row[0]) for row in found] == [EX + "finch"]  # type: ignore[union-attr]
    with pytest.raises(QueryError, match="no world 'fish': birds, mammals"):
        rows(group, "SELECT * { SERVICE <worlds:fish> { ?s ?p ?o } }")
    with pytest.raises(QueryError, match="no world 'fish'"):
        group.query("ASK { SERVICE <worlds:fish> { ?s ?p ?o } } GROUP BY ?s")
    with pytest.raises(QueryError):
        rows(group, "SELECT * { ?s ?p ?o }", max_results=2)
    for wrong in (
        "SELECT * { ?s ?p",
        "SELECT * { SERVICE <worlds:birds> { ?s } }",
        "DELETE WHERE { ?s ?p ?o }",
        "ASK {",
    ):
        with pytest.raises(QueryError, match="line 1"):
            group.query(wrong)
    with pytest.raises(QueryError):
        rows(group, "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }")


def test_a_prefix_that_means_two_things_is_refused() -> None:
    with worlds.open(embedder=None) as one, worlds.open(embedder=None) as two:
        one.bind("ex", "http://one/")
        two.bind("ex", "http://two/")
        one.add([("http://one/a", "http://one/p", 1)])
        two.add([("http://two/a", "http://two/p", 2)])
        with worlds.group({"one": one, "two": two}) as group:
            with pytest.raises(QueryError, match="ex: is <http://one/> in one and <http://two/> in two: declare it"):
                group.query("SELECT * { ?s ex:p ?o }")
            assert group.query("PREFIX ex: <http://two/> ASK { ?s ex:p 2 }") is True
            for name, value in (("one", 1), ("two", 2)):
                assert group.query(f"ASK {{ SERVICE <worlds:{name}> {{ ?s ex:p {value} }} }}") is True
                assert group.query(f"ASK {{ SERVICE <worlds:{name}> {{ ?s ex:p {3 - value} }} }}") is False


def test_an_empty_answer_tells_names_that_no_world_knows(group: Group) -> None:
    found = group.query(PREFIX + "SELECT * { ?s ex:eatz ?o ; ex:weighs ?w }")
    assert isinstance(found, Solutions)
    assert not found
    assert found.notes == ("ex:eatz does not occur in any world of the group: did you mean ex:eats?",)
    found = group.query(PREFIX + "SELECT * { ?s ex:eats ?o }")
    assert isinstance(found, Solutions)
    assert found.notes == ()


def test_a_service_has_a_limit_of_solutions(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.give_services_few_solutions(monkeypatch, 2)
    assert len(rows(group, "SELECT * { SERVICE <worlds:mammals> { ?s ex:eats ?o } }")) == 1
    with pytest.raises(QueryError, match="a SERVICE has more than 2 solutions"):
        group.query("SELECT * { SERVICE <worlds:mammals> { ?s ?p ?o } }")
