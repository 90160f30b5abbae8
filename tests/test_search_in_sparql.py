"""Search inside SPARQL: what it finds beside an oracle that searches everything and joins, and how it complains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import worlds
from tests.embedder import HashingEmbedder
from worlds.errors import EmbedderError, QueryError
from worlds.graph.service import MOST_SEARCHES, PROPERTIES, mentions_search

EX = "https://example.org/"
WORDS = ("moon", "rock", "sample", "rover", "engine", "orbit", "crater", "telescope", "ice", "dust")
TEXTS = [f"{first} {second}" for first in WORDS for second in WORDS if first < second]
GRAPHS = (None, f"<{EX}g1>", f"<{EX}g2>")
WANTED = "moon rock orbit"
TEXT = (f"{EX}note", f"{EX}remark")


def ask(world: worlds.World, query: str, **options: Any) -> list[tuple[Any, ...]]:
    found = world.query(query, **options)
    assert isinstance(found, worlds.Solutions)
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


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
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
    before, after = "\n".join(conjuncts[:position]), "\n".join([*conjuncts[position:], tail])

    def with_search(block: str) -> str:
        return f"SELECT ?s ?o ?p {dataset} WHERE {{ {before} {place.replace('{}', block)} {after} }}"

    def found_everywhere(rows: list[tuple[Any, ...]]) -> str:
        return f"{{ VALUES (?s ?p ?o) {{ {' '.join(f'({s.n3()} {p.n3()} {o.n3()})' for s, p, o in rows)} }} }}"

    with opened(named(data)) as world:  # IRIs for blank nodes, which VALUES cannot hold
        ranked = [hit.literal for hit in world.search(WANTED, mode="vector", limit=1000)]
        rows = [(s, p, o) for s, p, o, _ in world.quads() if str(p) in TEXT]
        everything = ask(world, with_search(found_everywhere(rows)), union=union)
        allowed = {subject for subject, literal, _ in everything if literal is not None}
        texts = {literal for subject, _, literal in rows if subject in allowed}
        best = [literal for literal in ranked if literal in texts][:limit]
        found = [(s, p, o) for s, p, o in rows if s in allowed and o in best]
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
