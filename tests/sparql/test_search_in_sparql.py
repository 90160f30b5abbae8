"""Search inside SPARQL: what it finds beside an oracle that searches everything and joins, and how it complains."""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import worlds
from tests.support.embedder import HashingEmbedder
from worlds.core.search.options import gathered
from worlds.errors import EmbedderError, FilterError, QueryError
from worlds.graph.search.rewriting import MOST_SEARCHES, mentions_search
from worlds.graph.search.vocabulary import PROPERTIES

EX = "https://example.org/"
WORDS = ("moon", "rock", "sample", "rover", "engine", "orbit", "crater", "telescope", "ice", "dust")
TEXTS = [f"{first} {second}" for first in WORDS for second in WORDS if first < second]
GRAPHS = (None, f"<{EX}g1>", f"<{EX}g2>")
WANTED = "moon rock orbit"
TEXT = (f"{EX}note", f"{EX}remark")


def ask(world: worlds.World, query: str, **options: Any) -> list[tuple[Any, ...]]:
    found = world.query(query, **options)
    assert isinstance(found, worlds.records.Solutions)
    return [tuple(row) for row in found]


def as_names(rows: list[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    return [tuple(str(value).removeprefix(EX) for value in row) for row in rows]


def complaint(world: worlds.World, query: str, **options: Any) -> QueryError:
    with pytest.raises(QueryError) as raised:
        ask(world, query, **options)
    return raised.value


# -- the oracle ------------------------------------------------------------------------------------------------------


@st.composite
def quads(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """Entities, some of them blank nodes, with texts, kinds, years and links, in three graphs."""
    found: list[tuple[Any, ...]] = []
    size = draw(st.integers(2, 9))
    names = [f"_:b{number}" if draw(st.integers(0, 3)) == 0 else f"{EX}e{number}" for number in range(size)]
    for name in names:
        for predicate in ("note", "remark"):
            for text in draw(st.lists(st.sampled_from(TEXTS), max_size=2)):
                language = draw(st.sampled_from((None, "en", "de")))
                found.append((name, EX + predicate, ox.Literal(text, language=language), draw(st.sampled_from(GRAPHS))))
        graph = draw(st.sampled_from(GRAPHS))
        found.append((name, f"{EX}year", draw(st.integers(2018, 2024)), graph))
        for kind in draw(st.lists(st.sampled_from("AB"), max_size=2)):
            found.append((name, f"{EX}kind", f"{EX}{kind}", draw(st.sampled_from(GRAPHS))))
        for other in draw(st.lists(st.sampled_from(names), max_size=2)):
            found.append((name, f"{EX}link", other, draw(st.sampled_from(GRAPHS))))
    return found


CONJUNCTS = (
    "?s ex:kind ex:A .",
    "?s ex:kind ?kind .",
    "?s ex:year ?year ; ex:link ?other .",
    "?other ex:link ?s .",
    "?other ex:kind ex:B .",
    "?s ex:year ?year . FILTER(?year > 2020)",
    "?s ex:year ?year . FILTER(?year > 2019 && EXISTS { ?s ex:link ?anyone })",
    "VALUES ?kind { ex:A }",
    "VALUES (?s ?mark) { (ex:e0 1) (ex:e1 2) (ex:e1 3) (ex:e2 4) (ex:e3 5) }",
    "GRAPH ex:g1 { ?s ex:year ?when }",
    "GRAPH ?g { ?s ex:kind ?kind . ?s ex:year ?when }",
    "{ ?s ex:kind ex:A } UNION { ?s ex:link ?other }",
    "{ ?s ex:kind ex:A } UNION { ?x ex:year 2021 }",
    "{ SELECT ?s (COUNT(?link) AS ?links) WHERE { ?s ex:link ?link } GROUP BY ?s }",
    "{ SELECT ?s WHERE { ?s ex:year ?hidden FILTER(?hidden < 2022) } }",
    "?s ex:year ?year . BIND(?year + 1 AS ?next) FILTER(?next < 2023)",
    "OPTIONAL { ?s ex:kind ?kind }",
    "?s ex:link [ ex:kind ex:A ] .",
    "?s ex:link/ex:link ?third .",
)
TAILS = (
    "",
    "?s ex:year ?last . MINUS { ?s ex:kind ex:B }",
    "?s ex:year ?last . FILTER NOT EXISTS { ?s ex:kind ex:A }",
    "MINUS { ?s ex:kind ex:B }",
    "FILTER NOT EXISTS { ?s ex:link ?nobody }",
)


PLACES = (
    "{}",
    "{ {} }",
    "{ {} ?s ex:year ?here }",
    "{ {} } UNION { ?s ex:year 2021 }",
    "GRAPH ?where { {} }",
    "GRAPH ex:g1 { ?s ex:kind ?there . {} }",
    "?s ex:year ?always . OPTIONAL { {} }",
    "?s ex:year ?always . OPTIONAL { {} ?s ex:kind ex:A }",
    "?s ex:kind ?always . OPTIONAL { ?s ex:link ?linked . { {} FILTER(?s != ex:e0) } }",
)


@settings(suppress_health_check=list(HealthCheck))
@given(
    quads(),
    st.lists(st.sampled_from(CONJUNCTS), max_size=3, unique=True),
    st.integers(0, 3),
    st.sampled_from(PLACES),
    st.sampled_from(TAILS),
    st.sampled_from((1, 2, 5)),
    st.booleans(),
    st.sampled_from(("", "FROM ex:g1", "FROM ex:g1 FROM ex:g2 FROM NAMED ex:g2")),
)
def test_the_best_are_those_of_an_oracle(
    data: list[tuple[Any, ...]],
    conjuncts: list[str],
    position: int,
    place: str,
    tail: str,
    limit: int,
    union: bool,
    dataset: str,
) -> None:
    # A MINUS beside the group that a search stands in is not resolved before it: the list is shorter then.
    assume(place == "{}" or "MINUS" not in tail)
    before, after = "\n".join(conjuncts[:position]), "\n".join([*conjuncts[position:], tail])

    def with_search(block: str) -> str:
        return f"SELECT ?s ?o ?p {dataset} WHERE {{ {before} {place.replace('{}', block)} {after} }}"

    def found_everywhere(rows: list[tuple[Any, ...]]) -> str:
        return f"{{ VALUES (?s ?p ?o) {{ {' '.join(f'({s.n3()} {p.n3()} {o.n3()})' for s, p, o in rows)} }} }}"

    with opened(named(data)) as world:  # IRIs for blank nodes, which VALUES cannot hold
        ranked = [hit.text for hit in world.search(WANTED, mode="vector", limit=1000)]
        rows = list(dict.fromkeys((s, p, o) for s, p, o, _ in world.quads() if str(p) in TEXT))
        everything = ask(world, with_search(found_everywhere(rows)), union=union)
        allowed = {subject for subject, literal, _ in everything if literal is not None}
        texts = {str(literal) for subject, _, literal in rows if subject in allowed}
        best = [text for text in ranked if text in texts][:limit]
        found = [(s, p, o) for s, p, o in rows if s in allowed and str(o) in best]
        expected = Counter(ask(world, with_search(found_everywhere(found)), union=union))
    search = f"""SERVICE w:search {{ ?hit w:query "{WANTED}" ; w:mode "vector" ; w:limit {limit} ;
        w:subject ?s ; w:predicate ?p ; w:object ?o }}"""
    with opened(data) as world:
        answer = ask(world, with_search(search), union=union)
    assert Counter((as_named(row[0]), *row[1:]) for row in answer) == expected


def as_named(term: Any) -> Any:
    return rdflib.URIRef(EX + term) if isinstance(term, rdflib.BNode) else term


def opened(data: list[tuple[Any, ...]]) -> worlds.World:
    world = worlds.open(embedder=HashingEmbedder())
    world.bind("ex", EX)
    world.add(data)
    return world


def named(data: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [
        tuple(EX + part[2:] if isinstance(part, str) and part.startswith("_:") else part for part in row)
        for row in data
    ]


# -- one world -------------------------------------------------------------------------------------------------------

DATA = """
@prefix ex: <https://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Rover rdfs:subClassOf ex:Machine .
ex:a a ex:Rover ; rdfs:label "moon rover"@en, "Mondrover"@de ; ex:note "a rover drills moon rock" ; ex:year 2021 .
ex:b a ex:Rover ; rdfs:label "mars rover"@en ; ex:note "a rover drills mars rock" ; ex:year 2012 .
ex:c a ex:Orbiter ; rdfs:label "moon orbiter"@en ; ex:note "an orbiter maps moon ice" ; ex:year 2009 ; ex:retired true .
ex:d a ex:Lander ; rdfs:label "moon lander"@en ; ex:note "a lander scoops moon dust and rock" ; ex:year 2020 .
ex:x ex:asks "moon rock" ; ex:of ex:Rover .
ex:y ex:asks "moon ice" ; ex:of ex:Orbiter .
[] a ex:Nameless ; ex:note "moon rock from nowhere" ; ex:part ex:d .
"""
GRAPH = '<https://example.org/e> <https://example.org/note> "moon rock in a graph"@en-GB <https://example.org/g> .'


@pytest.fixture(scope="module")
def world() -> Iterator[worlds.World]:
    with worlds.open(embedder=HashingEmbedder()) as made:
        made.load(DATA.encode(), format="turtle")
        made.load(GRAPH.encode(), format="nquads")
        made.bind("ex", EX)
        yield made


VECTOR = "; w:mode 'vector'"
ONE, TWO, MANY = "; w:limit 1", "; w:limit 2 ; w:mode 'text'", "; w:limit 30"


def block(words: str = "moon rock", more: str = "") -> str:
    query = words if words.startswith("?") else f"'{words}'"
    return f"SERVICE w:search {{ ?hit w:query {query} ; w:subject ?s ; w:rank ?rank {more} }}"


def test_all_outputs_are_those_of_a_search(world: worlds.World) -> None:
    outputs = [name for name, known in PROPERTIES.items() if known.gives]
    query = (
        f"SELECT {' '.join('?' + name for name in outputs)} WHERE {{ SERVICE w:search {{ ?hit w:query 'moon rock' ; "
    )
    query += f"w:limit 4 ; {' ; '.join(f'w:{name} ?{name}' for name in outputs)} }} }} ORDER BY ?rank ?subject"
    expected = []
    results = world.search("moon rock", limit=4, explain=True)
    for rank, hit in enumerate(results, 1):
        vector, text = (hit.explain or {}).get("vector"), (hit.explain or {}).get("text")
        for subject, predicate, literal, graph in sorted(hit.quads, key=str):
            expected.append({
                "subject": subject, "predicate": predicate, "object": literal, "graph": graph,
                "language": literal.language or "", "text": hit.text, "snippet": hit.snippet, "label": hit.label,
                "start": hit.start, "end": hit.end, "score": hit.score, "rank": rank, "cursor": results.cursor,
                "vectorRank": vector and vector.rank, "vectorScore": vector and vector.value,
                "textRank": text and text.rank, "textScore": text and text.value,
            })  # fmt: skip
    found = [
        {name: value if name in ("subject", "predicate", "object", "graph") or value is None else value.toPython()
         for name, value in zip(outputs, row, strict=True)}
        for row in ask(world, query)
    ]  # fmt: skip
    assert found == expected
    assert len(found) >= 4


@pytest.mark.parametrize(
    ("properties", "options"),
    [
        ("w:limit 3", {"limit": 3}),
        ("w:mode 'text'", {"mode": "text"}),
        ("w:mode 'vector' ; w:plan 'exact'", {"mode": "vector", "plan": "exact"}),
        ("w:k 1.5 ; w:vectorWeight 2 ; w:textWeight 0.5e0", {"k": 1.5, "weights": {"vector": 2, "text": 0.5}}),
        ("w:candidates 3 ; w:limit 1", {"candidates": 3, "limit": 1}),
        ("w:fusion 'relative' ; w:normalise 'theoretical'", {"fusion": "relative", "normalise": "theoretical"}),
        ("w:minSimilarity 0.3 ; w:mode 'vector'", {"min_similarity": 0.3, "mode": "vector"}),
        ("w:boost '3 ?subject a ex:Lander', '0.1 ex:year'", {"boost": ["3 ?subject a ex:Lander", "0.1 ex:year"]}),
        ("w:decayPredicate ex:year ; w:decayHalfLife 90 ; w:decayNow '2022-01-01' ; w:evergreenTypes ex:Lander",
         {"decay": {"predicate": "ex:year", "half_life": 90, "now": "2022-01-01", "evergreen_types": ["ex:Lander"]}}),
        ("w:diversity 0.2 ; w:rerank false", {"diversity": 0.2}),
        ("w:groupBy 'subject' ; w:perSubject 1", {"group_by": "subject"}),
        ("w:type ex:Rover, ex:Lander", {"types": ["ex:Rover", "ex:Lander"]}),
        ("w:types (ex:Machine) ; w:subclasses true", {"types": "ex:Machine", "subclasses": True}),
        ("w:subject ex:a", {"subjects": "ex:a"}),
        ("w:subjects (ex:a <https://example.org/b>)", {"subjects": ["ex:a", "ex:b"]}),
        ("w:predicate rdfs:label", {"predicates": "rdfs:label"}),
        ("w:graph ex:g", {"graphs": "ex:g"}),
        ("w:graphs 'default'", {"graphs": "default"}),
        ("w:language 'en'", {"languages": "en"}),
        ("w:languages ('de' '')", {"languages": ["de", ""]}),
        ("w:where '?subject ex:year ?y FILTER(?y > 2015)'", {"where": "?subject ex:year ?y FILTER(?y > 2015)"}),
        ("w:excludeType ex:Rover ; w:excludeLanguages 'de'", {"exclude": {"types": "ex:Rover", "languages": "de"}}),
        ("w:excludeSubject ex:a ; w:excludeWhere '?subject ex:retired true'",
         {"exclude": {"subjects": "ex:a", "where": "?subject ex:retired true"}}),
        ("w:syntax 'fts5' ; w:mode 'text'", {"syntax": "fts5", "mode": "text"}),
        (f"w:vector '{[1.0] + [0.5] * 31}'", {"vector": [1.0] + [0.5] * 31}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_each_option_is_that_of_a_search(world: worlds.World, properties: str, options: dict[str, Any]) -> None:
    inside = f"?hit w:query 'moon rock' ; w:object ?o ; w:score ?score ; {properties}"
    query = f"SELECT ?o ?score {{ SERVICE w:search {{ {inside} }} }}"
    expected = [(hit.literal, hit.score) for hit in world.search("moon rock", **gathered(options)) for _ in hit.quads]
    assert [(literal, score.toPython()) for literal, score in ask(world, query)] == expected
    assert expected


@pytest.mark.parametrize("mode", ["hybrid", "text", "vector"])
def test_ranks_are_given_after_the_filter(world: worlds.World, mode: str) -> None:
    chosen = f"; w:mode '{mode}'"
    query = f"SELECT ?s ?rank {{ {block(more=chosen)} ?s ex:year ?y FILTER(?y > 2010) }} ORDER BY ?rank"
    hits = world.search("moon rock", mode=mode, subjects=["ex:a", "ex:b", "ex:d"])  # type: ignore[arg-type]
    expected = [(quad[0], rank) for rank, hit in enumerate(hits, 1) for quad in hit.quads]
    assert [(s, rank.toPython()) for s, rank in ask(world, query)] == expected


def test_a_blank_node_joins_with_itself(world: worlds.World) -> None:
    query = f"SELECT ?s ?part {{ {block()} ?s a ex:Nameless ; ex:part ?part }}"
    assert [(type(s), part) for s, part in ask(world, query)] == [(rdflib.BNode, rdflib.URIRef(EX + "d"))]
    assert ask(world, f"SELECT ?s {{ ?s a ex:Nameless OPTIONAL {{ {block()} }} FILTER(BOUND(?rank)) }}")


SHAPES = {
    "in a sub-SELECT, which stands alone": (
        f"SELECT ?s {{ {{ SELECT ?s {{ {block(more=ONE)} }} }} ?s ex:asks ?q }}", {"x"}),
    "in a sub-SELECT with its own patterns": (
        f"SELECT ?s {{ {{ SELECT ?s {{ ?s a ex:Orbiter . {block(more=ONE)} }} }} ?s ex:year ?y }}", {"c"}),
    "in EXISTS": (
        f"SELECT ?s {{ ?s ex:year ?y FILTER EXISTS {{ {block(more=TWO)} }} }}", {"a", "b"}),
    "in NOT EXISTS": (
        f"SELECT ?s {{ ?s ex:year ?y FILTER NOT EXISTS {{ {block(more=TWO)} }} }}", {"c", "d"}),
    "in MINUS": (f"SELECT ?s {{ ?s ex:year ?y MINUS {{ {block(more=TWO)} }} }}", {"c", "d"}),
    "in both branches of a UNION": (
        f"SELECT ?s {{ ?s ex:year ?y {{ {block('moon ice', ONE)} }} UNION {{ {block('mars', ONE)} }} }}",
        {"c", "b"}),
    "two searches for one subject": (
        "SELECT ?s { SERVICE w:search { ?h w:query 'moon' ; w:subject ?s ; w:mode 'text' }"
        " SERVICE w:search { ?i w:query 'dust' ; w:subject ?s ; w:mode 'text' } }", {"d"}),
    "two searches for two subjects": (
        "SELECT ?s { ?s ex:of ?kind . ?found a ?kind . "
        "SERVICE w:search { ?h w:query 'ice' ; w:subject ?s ; w:mode 'text' } "
        "SERVICE w:search { ?i w:query 'moon' ; w:subject ?found ; w:mode 'text' } }", {"y"}),
    "with an aggregate": (
        f"SELECT ?s {{ {block(more=MANY)} }} GROUP BY ?s HAVING(COUNT(DISTINCT ?hit) > 2)", {"a"}),
    "after VALUES at the end": (f"SELECT ?s {{ {block(more=ONE)} }} VALUES ?s {{ ex:b ex:c }}", {"b"}),
    "without the retired": (
        f"SELECT ?s {{ {block('moon ice', ONE)} FILTER NOT EXISTS {{ ?s ex:retired true }} }}", {"y"}),
    "with a subject from BIND": (f"SELECT ?s {{ BIND(ex:b AS ?s) {block(more=ONE)} }}", {"b"}),
    "with a prefix of its own, SILENT": (
        "PREFIX q: <urn:worlds:> SELECT ?s { ?s a ex:Lander "
        "SERVICE SILENT q:search { [] q:query 'rock' ; q:subject ?s } }",
        {"d"}),
    "with the full IRIs, as one bracket": (
        "SELECT ?s { ?s a ex:Lander "
        "SERVICE <urn:worlds:search> { [ w:query 'rock' ; <urn:worlds:subject> ?s ] } }", {"d"}),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_searches_stand_anywhere(world: worlds.World, shape: str) -> None:
    query, expected = SHAPES[shape]
    assert {name for (name,) in as_names(ask(world, query))} == expected


def test_every_form_of_query_can_search(world: worlds.World) -> None:
    assert world.query(f"ASK {{ {block()} }}") is True
    assert world.query(f"ASK {{ ?s ex:year 1066 . {block()} }}") is False
    made = world.query(f"CONSTRUCT {{ ?s ex:found ?rank }} WHERE {{ {block(more=TWO)} ?s ex:year ?y }}")
    assert isinstance(made, worlds.records.Triples)
    assert {str(o) for _, _, o in made} == {"1", "2"}
    described = world.query(f"DESCRIBE ?s WHERE {{ {block(more=ONE)} ?s a ex:Lander }}")
    assert isinstance(described, worlds.records.Triples)
    assert (rdflib.URIRef(EX + "d"), rdflib.URIRef(EX + "year"), rdflib.Literal(2020)) in set(described)


def test_columns_of_a_star_are_in_the_order_of_the_query(world: worlds.World) -> None:
    found = world.query("SELECT * { ?s a ?kind . SERVICE w:search { ?hit w:query 'ice' ; w:score ?z ; w:subject ?s } }")
    assert isinstance(found, worlds.records.Solutions)
    assert found.variables == ["s", "kind", "hit", "z"]


# -- values from data and from the caller ----------------------------------------------------------------------------


def test_the_words_may_come_from_the_data(world: worlds.World) -> None:
    query = f"SELECT ?topic ?s {{ ?topic ex:asks ?q ; ex:of ?kind . ?s a ?kind . {block('?q', ONE)} }}"
    assert sorted(as_names(ask(world, query))) == [("x", "a"), ("y", "c")]  # each among the things of its own kind
    query = f"SELECT ?topic ?s {{ ?topic ex:asks ?q . {block('?q', ONE)} ?s ex:year ?y }}"
    assert sorted(as_names(ask(world, query))) == [("x", "a"), ("y", "c")]
    query = "SELECT ?n (COUNT(?s) AS ?found) { VALUES (?n ?kind) { (1 ex:Rover) (2 ex:Rover) (9 ex:Orbiter) }"
    query += (
        " SERVICE w:search { ?hit w:query 'moon' ; w:subject ?s ; w:limit ?n ; w:type ?kind } } GROUP BY ?n ORDER BY ?n"
    )
    assert as_names(ask(world, query)) == [("1", "1"), ("2", "2"), ("9", "2")]


def test_the_words_may_come_from_another_search(world: worlds.World) -> None:
    like = f"SERVICE w:search {{ ?h w:query 'drills mars' ; w:object ?found ; w:limit 1 }} {block('?found', MANY)}"
    [(literal,)] = set(ask(world, f"SELECT ?found {{ {like} }}"))
    assert str(literal) == "a rover drills mars rock"
    expected = [hit.subject for hit in world.search(str(literal), limit=30)]
    assert [s for (s,) in ask(world, f"SELECT ?s {{ {like} }} ORDER BY ?rank")] == expected
    words = "BIND(REPLACE(?found, 'mars', 'moon') AS ?other)"
    query = like.replace(block("?found", MANY), f"{words} {block('?other', ONE)} ?s ex:year ?y")
    assert as_names(ask(world, f"SELECT ?s {{ {query} }}")) == [("a",)]
    circle = f"{block('?a', '; w:text ?b')} {block('?b', '; w:text ?a').replace('?s', '?t')}"
    assert "no pattern around the search binds" in str(complaint(world, f"SELECT ?s {{ {circle} }}"))


def test_values_may_come_from_the_caller(world: worlds.World) -> None:
    query = f"SELECT ?s {{ ?s ex:year ?y . {block('?q', '; w:limit ?n')} }}"
    assert len(ask(world, query, bindings={"q": rdflib.Literal("moon"), "n": 2})) == 2
    assert as_names(ask(world, f"SELECT ?rank {{ {block()} }}", bindings={"s": "ex:d"})) == [("1",), ("2",)]
    assert as_names(ask(world, f"SELECT ?s ?rank {{ {block()} }}", bindings={"s": "ex:d"})) == [("d", "1"), ("d", "2")]
    assert as_names(ask(world, f"SELECT ?s {{ {block()} }}", bindings={"rank": 1})) == [("x",)]


def test_one_block_searches_only_so_often(world: worlds.World) -> None:
    values = " ".join(f"'{number}'" for number in range(MOST_SEARCHES + 1))
    error = complaint(world, f"SELECT ?s {{ VALUES ?q {{ {values} }} {block('?q')} }}")
    assert "1,001 times, for each value of ?q; at most 1,000" in str(error)


# -- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inside", "column", "says"),
    [
        ("?hit w:qery 'x'", 6, "no property w:qery; the nearest that it has is w:query"),
        ("?hit w:query 'x' ; rdfs:label ?l", 20, "no property rdfs:label; the nearest that it has is w:label"),
        ("?hit w:query 'x' ; w:limit 'five'", 28, "w:limit takes a whole number, not \"five\""),
        ("?hit w:query 'x' ; w:limit 0", 20, "w:limit: limit must be a whole number from 1"),
        ("?hit w:query 'x' ; w:limit 1, 2", 20, "w:limit is given twice"),
        ("?hit w:query 'x' ; w:mode 'both'", 20, "w:mode: mode must be one of"),
        ("?hit w:query 'x' ; w:type 'Rover'", 27, "w:type takes an IRI, not \"Rover\""),
        ("?hit w:query 'x' ; w:graph 'g'", 28, "w:graph takes an IRI or \"default\""),
        ("?hit w:query 'x' ; w:language 'not a tag'", 20, "w:language: languages takes language tags"),
        ("?hit w:query 'x' ; w:subclasses 'yes'", 33, "w:subclasses takes a boolean"),
        ("?hit w:query 'x' ; w:score 1", 28, "w:score gives a value, so its object must be a variable, not 1"),
        ("?hit w:query 'x' ; w:where '?a ?b ?c'", 20, "w:where: where takes a SPARQL group pattern over ?subject"),
        ("?hit w:query 'x' ; w:limit ?nowhere", 28, "no pattern around the search binds ?nowhere"),
        ("?hit w:query <x:y>", 14, "w:query takes a text, not <x:y>"),
        ("?hit w:query [ w:limit 3 ]", 14, "neither a variable nor a value"),
        ("?hit w:query 'x OR' ; w:syntax 'fts5'", 6, "w:query: the FTS5 expression"),
        ("?hit w:query 'x' . ?other w:limit 3", 20, "a search has one hit, ?hit"),
        ("FILTER(?x > 1)", 1, "'FILTER' is not allowed in a search"),
        ("?hit w:subject ?s", 0, "a search needs w:query"),
    ],
)  # fmt: skip
def test_a_wrong_property_or_value_is_named_with_its_place(
    world: worlds.World, inside: str, column: int, says: str
) -> None:
    error = complaint(world, f"SELECT *\n{{ SERVICE w:search {{\n{inside}\n}} }}")
    assert says in str(error)
    assert (error.line, error.column) == ((3, column) if column else (2, 11))


def test_errors_after_a_search_keep_their_place(world: worlds.World) -> None:
    assert complaint(world, f"SELECT ?s {{ {block()} }}\nORDER BY ?s LIMIT many").line == 2
    assert complaint(world, f"SELECT ?s {{ {block(more='4')} }}").line == 1
    error = complaint(world, f"SELECT ?s {{ {block()}\n SERVICE <http://example.org/> {{ ?s ?p ?o }} }}")
    assert error.line == 2
    deep = "{" * 250 + block() + "}" * 250
    assert ask(world, f"SELECT ?s {{ {deep} }}") or True
    assert "nested" in str(complaint(world, f"SELECT ?s {{ {'{' * 9000} {block()} {'}' * 9000} }}"))


def test_without_a_search_a_query_stays_as_it_is(world: worlds.World) -> None:
    assert not mentions_search("SELECT ?s { ?s w:limit 10 }")
    assert ask(world, "SELECT ?s { ?s ?p 'SERVICE w:search' }") == []  # in a string it is none
    assert ask(world, "SELECT ?s { ?s <urn:worlds:search> ?o } # text:query") == []


def test_the_documentation_has_every_property() -> None:
    text = (Path(__file__).parents[2] / "docs" / "sparql.md").read_text("utf-8")
    told = set(re.findall(r"`w:(\w+)`", text))
    plurals = {f"{name}s" for name in told}
    assert set(PROPERTIES) <= told | plurals
    assert told - {"search"} <= set(PROPERTIES) | {"similarity"}


# -- functions -------------------------------------------------------------------------------------------------------


def test_similarity_is_that_of_a_search(world: worlds.World) -> None:
    hits = world.search("moon rock", mode="vector", explain=True, predicates="ex:note", graphs="default")
    expected = {str(hit.literal): hit.explain["vector"].value for hit in hits}  # type: ignore[index]
    query = "SELECT ?o ?like { ?s ex:note ?o BIND(w:similarity(?o, 'moon rock') AS ?like) FILTER(?like > -1) }"
    found = {str(literal): like.toPython() for literal, like in ask(world, query + " ORDER BY DESC(?like)")}
    assert found == pytest.approx(expected, abs=1e-6)
    assert list(found) == list(expected)


def test_similarity_of_texts_that_are_not_stored(world: worlds.World) -> None:
    query = "SELECT (w:similarity('moon ice', 'moon ice') AS ?same) (w:similarity('moon', 'quartz') AS ?other) "
    query += "(w:similarity('', 'x') AS ?blank) (w:similarity(ex:a, 'x') AS ?iri) {}"
    [(same, other, blank, iri)] = ask(world, query)
    assert same.toPython() == pytest.approx(1, abs=1e-5)
    assert other.toPython() < 0.5
    assert (blank, iri) == (None, None)


def test_similarity_narrows_what_a_search_may_find(world: worlds.World) -> None:
    query = f"SELECT ?s {{ ?s rdfs:label ?l FILTER(w:similarity(?l, 'mars rover') > 0.99) {block(more=ONE)} }}"
    assert as_names(ask(world, query)) == [("b",)]


def test_without_an_embedder() -> None:
    with worlds.open(embedder=None) as world:
        world.load(DATA.encode(), format="turtle")
        world.bind("ex", EX)
        with pytest.raises(EmbedderError):
            world.query("SELECT (w:similarity('a', 'b') AS ?x) {}")
        assert len(ask(world, f"SELECT ?s {{ {block()} }}"))
        with pytest.raises(EmbedderError):
            ask(world, f"SELECT ?s {{ {block(more=VECTOR)} }}")
        silent = block(more=VECTOR).replace("SERVICE", "SERVICE SILENT")
        assert ask(world, f"SELECT ?s ?rank {{ {silent} }}") == [(None, None)]


# -- Jena ------------------------------------------------------------------------------------------------------------

JENA = "PREFIX text: <http://jena.apache.org/text#>\n"
FORMS = {
    "?s text:query 'ice' .": {"c", "y"},
    "?s text:query ('ice') .": {"c", "y"},
    "?s text:query ('moon rock' 1) .": {"x"},
    "?s a ex:Rover . ?s text:query ('rock' 1) .": {"a"},
    "?s text:query (rdfs:label 'rover') .": {"a", "b"},
    "?s text:query (rdfs:label ex:asks 'ice rover' 10) .": {"a", "b", "y"},
    "?s a ex:Rover ; text:query 'moon' ; ex:year ?year .": {"a"},
    "?s text:query 'rover' ; text:query 'mars' .": {"b"},
    "?s text:query 'rover'@en .": {"a", "b"},
    "?s text:query (rdfs:label 'mondrover' 'lang:de') .": {"a"},
    "?s text:query (rdfs:label 'mondrover' 'lang:en') .": set(),
    "?s text:query ('ice' 'lang:none') .": {"c", "y"},
    "(?s ?score) text:query 'ice' . FILTER(?score > 0)": {"c", "y"},
    "(?s ?score ?literal) text:query (ex:note 'ice') . FILTER(STRSTARTS(?literal, 'an orbiter'))": {"c"},
    "(?s ?score ?literal ?g) text:query 'graph' . FILTER(?g = ex:g)": {"e"},
    "(?s ?score ?literal ?g ?p) text:query 'ice' . FILTER(?p = ex:asks)": {"y"},
    "?s text:query (rdfs:label 'rover AND mars') .": {"b"},
    "?s text:query (rdfs:label 'rover NOT mars') .": {"a"},
    "GRAPH ex:g { ?s text:query 'moon' }": {"e"},
    "GRAPH ?g { ?s text:query 'moon' }": {"e"},
    "?x ex:asks ?q ; ex:of ex:Orbiter . ?s a ex:Orbiter . ?s text:query ?q .": {"c"},
    "BIND(ex:c AS ?s) ex:c text:query 'ice' .": {"c"},
    "ex:a text:query 'ice' . BIND(ex:c AS ?s)": set(),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_property_function_of_jena(world: worlds.World, form: str) -> None:
    assert {name for (name,) in as_names(ask(world, f"{JENA}SELECT ?s {{ {form} }}"))} == FORMS[form]


def test_jena_highlights(world: worlds.World) -> None:
    query = (
        "SELECT ?h { (?s ?score ?h) text:query (ex:note 'drills moon' \"highlight:s:<b> | e:</b>\") . ?s ex:year 2021 }"
    )
    assert as_names(ask(world, JENA + query)) == [("a rover <b>drills</b> <b>moon</b> rock",)]


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("?s text:query (rdfs:label)", "needs the words"),
        ("?s text:query ('x' 'fast')", "does not know 'fast'"),
        ("(?s 'x') text:query 'x'", "this must be a variable, for an output"),
        ("?s text:query 'x', 'y'", "one list"),
        ("?s text:query/rdfs:label ?o", "text:query"),
        ("?s rdfs:label/text:query ?o", "text:query is the predicate"),
    ],
)
def test_what_jena_would_not_take(world: worlds.World, pattern: str, says: str) -> None:
    error = complaint(world, f"{JENA}SELECT ?s {{ {pattern} }}")
    assert says in str(error)
    assert error.line == 2


# -- limits -----------------------------------------------------------------------------------------------------------

HEAVY = "?subject ?p ?o . ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER(CONCAT(STR(?a), STR(?d), STR(?g)) = 'zzz')"


@pytest.fixture(scope="module")
def wide() -> Iterator[worlds.World]:
    with worlds.open(embedder=None) as world:
        world.load("".join(f"<urn:s{n}> <urn:p> 'word {n}', {n} .\n" for n in range(600)).encode(), format="turtle")
        yield world


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("option", ["where", "boost"])
def test_a_limit_holds_for_the_patterns_of_a_search(wide: worlds.World, option: str) -> None:
    value = HEAVY if option == "where" else f"2 {HEAVY}"
    query = f'SELECT * {{ SERVICE w:search {{ ?h w:query "word" ; w:subject ?s ; w:{option} "{value}" }} }}'
    began = time.monotonic()
    with pytest.raises(worlds.QueryTimeout):
        wide.query(query, timeout=0.5)
    with pytest.raises(worlds.QueryTimeout):
        wide.update(f"INSERT {{ ?s <urn:q> 1 }} WHERE {query.removeprefix('SELECT * ')}", timeout=0.5)
    wide.file.pattern_timeout = 0.5
    try:
        with pytest.raises(worlds.QueryTimeout):
            wide.search(
                "word",
                where=value if option == "where" else None,
                ranking=worlds.Ranking(boost=value if option == "boost" else None),
            )
        wide.file.pattern_timeout = 5  # a process that grew large takes long to fork
        assert len(wide.search("word", where="?subject <urn:p> 7")) == 1
    finally:
        wide.file.pattern_timeout = None
    assert time.monotonic() - began < 10
    with pytest.raises(ValueError, match="above 0"):
        wide.file.pattern_timeout = 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_limit_holds_for_the_plan_of_a_short_text(wide: worlds.World) -> None:
    many = "5 " * 300
    began = time.monotonic()
    with pytest.raises(worlds.QueryTimeout):
        wide.query(f"SELECT ?s {{ ?s <http://jena.apache.org/text#query> (<urn:p> 'word' {many}) }}", timeout=0.5)
    with pytest.raises(worlds.QueryTimeout):
        wide.update(f"INSERT {{ ?s <urn:q> 1 }} WHERE {{ ?s <urn:p> ({many}) }}", timeout=0.5)
    assert time.monotonic() - began < 5


@pytest.mark.skipif(sys.platform != "linux", reason="memory limits need Linux")
def test_a_limit_of_memory_holds_for_the_patterns_of_a_search(wide: worlds.World) -> None:
    pattern = "{ SELECT ?subject { ?subject ?p ?o . ?a ?b ?c . ?d ?e ?f } ORDER BY ?c }"
    query = f'SELECT * {{ SERVICE w:search {{ ?h w:query "word" ; w:subject ?s ; w:where "{pattern}" }} }}'
    with pytest.raises(worlds.QueryError, match="bytes of memory, its limit"):
        wide.query(query, max_memory=50_000_000, timeout=60)


def test_solutions_that_are_equal_in_all_that_is_bound_are_one() -> None:
    with worlds.open(embedder=None) as world:
        world.add([("urn:a", "rdfs:label", '"Zebra"'), ("urn:a", "urn:name", '"Zebra"')])
        search = "[] w:query 'zebra' ; w:limit 1 ; w:subject ?s"
        assert len(ask(world, f"SELECT * {{ SERVICE w:search {{ {search} ; w:text ?t }} }}")) == 1
        assert len(ask(world, f"SELECT * {{ SERVICE w:search {{ {search} ; w:predicate ?p }} }}")) == 2


@pytest.mark.parametrize(
    ("service", "told"),
    [("w:serch", "a world has no service w:serch: the one that it has is w:search"),
     ("<urn:worlds:find>", "a world has no service <urn:worlds:find>: the one that it has is w:search")],
)  # fmt: skip
def test_another_service_of_a_world_is_named(service: str, told: str) -> None:
    with worlds.open(embedder=None) as world, pytest.raises(QueryError, match=told) as caught:
        world.query(f"SELECT * {{ SERVICE {service} {{ ?hit w:query 'x' }} }}")
    assert (caught.value.line, caught.value.column) == (1, 20)


def test_a_search_in_the_pattern_of_a_search_is_named() -> None:
    with worlds.open(embedder=None) as world, pytest.raises(FilterError, match="a search cannot stand in a pattern"):
        world.search("x", where="SERVICE w:search { ?hit w:query 'y' ; w:subject ?subject }")


def test_what_lucene_alone_knows_is_refused_with_its_place() -> None:
    with worlds.open(embedder=None) as world, pytest.raises(QueryError, match="'~' in 'rover~'") as caught:
        world.query("PREFIX text: <http://jena.apache.org/text#> SELECT * { ?s text:query 'rover~' }")
    assert caught.value.line == 1


def test_a_label_is_that_of_the_row_s_own_subject() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://example.org/")
        data = "PREFIX ex: <http://example.org/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
        note = 'ex:note "a red kite above the lake"'
        world.load(
            f'{data} ex:a rdfs:label "Ann" ; {note} . ex:b rdfs:label "Bob" ; {note} . ex:c {note} .'.encode(),
            format="ttl",
        )
        asked = (
            "PREFIX w: <urn:worlds:> SELECT ?s ?label "
            "{ SERVICE w:search { ?hit w:query 'kite' ; w:subject ?s ; w:label ?label } }"
        )
        found = {str(row[0])[-1]: row[1] for row in world.query(asked)}  # type: ignore[union-attr]
        assert {name: label and str(label) for name, label in found.items()} == {"a": "Ann", "b": "Bob", "c": None}
