"""Small worlds that searches are compared in: their terms, filters, and the comparison with the oracle."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
from hypothesis import strategies as st

from tests.support.oracle import (
    ANYTHING,
    DEFAULT,
    RDF_TYPE,
    SUBCLASS_OF,
    Conditions,
    Filter,
    Oracle,
    Where,
    any_word,
    expect,
)
from worlds import World
from worlds.core.search.options import gathered
from worlds.records import SearchResults

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"


def iri(name: str) -> ox.NamedNode:
    return ox.NamedNode(EX + name)


def texts(results: SearchResults) -> list[str]:
    return [hit.text for hit in results]


# Each text has its words in alphabetic order, and none twice: texts that differ in less share a vector.
WORDS = ["heron", "kite", "lake", "pine", "river"]
TEXTS = ["kite", "kite lake", "heron lake pine", "heron kite lake pine river"]
LONG = {
    "long": " ".join(f"The {word} has number {number}." for number, word in enumerate(WORDS * 20)),
    "longer": " ".join(f"Number {number} is a {word}." for number, word in enumerate(WORDS * 30, 500)),
}
LANGUAGES = ["en", "en-gb", "la"]
TERMS: dict[str, Any] = {
    **{
        name: iri(name)
        for name in ("s0", "s1", "s2", "s3", "A", "B", "C", "D", "label", "note", "year", "cites", "g", "h")
    },
    "_:n": ox.BlankNode("n"),
    "type": RDF_TYPE,
    "below": SUBCLASS_OF,
    "default": DEFAULT,
    **{text.replace(" ", "_"): ox.Literal(text) for text in TEXTS},
    **{
        f"{text.replace(' ', '_')}@{language}": ox.Literal(text, language=language)
        for text in TEXTS
        for language in LANGUAGES
    },
    **{name: ox.Literal(text) for name, text in LONG.items()},
    "long@la": ox.Literal(LONG["long"], language="la"),
    "kite@en--ltr": ox.Literal("kite", language="en", direction=ox.BaseDirection.LTR),
    "blank": ox.Literal(" \n"),
    **{str(year): ox.Literal(str(year), datatype=ox.NamedNode(XSD + "integer")) for year in (2000, 2010, 2020)},
    "triple": ox.Triple(iri("s0"), iri("label"), ox.Literal("kite")),
}
SUBJECTS = ["s0", "s1", "s2", "s3", "_:n"]
CLASSES = ["A", "B", "C", "D"]
GRAPHS = ["default", "default", "g", "h"]


def quad(name: str) -> ox.Quad:
    return ox.Quad(*[TERMS[part] for part in name.split()])


def _since_2010(quads: frozenset[ox.Quad]) -> set[Any]:
    return {quad.subject for quad in quads if quad.predicate == iri("year") and int(quad.object.value) >= 2010}  # type: ignore[union-attr]  # a literal


def _citing_a_b(quads: frozenset[ox.Quad]) -> set[Any]:
    of_class = {quad.subject for quad in quads if quad.predicate == RDF_TYPE and quad.object == iri("B")}
    return {quad.subject for quad in quads if quad.predicate == iri("cites") and quad.object in of_class}


def _untyped(quads: frozenset[ox.Quad]) -> set[Any]:
    return {quad.subject for quad in quads} - {quad.subject for quad in quads if quad.predicate == RDF_TYPE}


PATTERNS = {
    "since 2010": Where(f"?subject <{EX}year> ?y FILTER(?y >= 2010)", _since_2010),
    "citing a B": Where(f"?subject <{EX}cites> ?other . ?other a <{EX}B> . # its kind", _citing_a_b),
    "untyped": Where("?subject ?p ?o FILTER NOT EXISTS { ?subject a ?class }", _untyped),
    "all": Where("{ ?subject ?p ?o } UNION { ?o ?p ?subject }", lambda quads: {quad.subject for quad in quads}),
}


def _some(choices: list[str]) -> st.SearchStrategy[frozenset[str] | None]:
    return st.none() | st.frozensets(st.sampled_from(choices), min_size=1, max_size=2)


def _of_terms(names: frozenset[str] | None) -> frozenset[Any] | None:
    return None if names is None else frozenset(TERMS.get(name, iri(name)) for name in names)


conditions = st.builds(
    Conditions,
    _some([*SUBJECTS, "unknown"]).map(_of_terms),
    _some(["label", "note", "year", "unknown"]).map(_of_terms),
    _some([*CLASSES, "unknown"]).map(_of_terms),
    _some([*GRAPHS, "unknown"]).map(_of_terms),
    _some(["", "en", "en-GB", "la", "fr"]),
    st.sampled_from(["", "", *PATTERNS]).map(PATTERNS.get),
)
one_condition = st.one_of(
    _some([*SUBJECTS, "unknown"]).map(lambda names: Conditions(subjects=_of_terms(names))),
    _some(["label", "note", "year", "unknown"]).map(lambda names: Conditions(predicates=_of_terms(names))),
    _some([*CLASSES, "unknown"]).map(lambda names: Conditions(types=_of_terms(names))),
    _some([*GRAPHS, "unknown"]).map(lambda names: Conditions(graphs=_of_terms(names))),
    _some(["", "en", "en-GB", "la", "fr"]).map(lambda tags: Conditions(languages=tags)),
    st.sampled_from(sorted(PATTERNS)).map(lambda name: Conditions(where=PATTERNS[name])),
)
filters = st.one_of(
    st.just(ANYTHING),
    st.builds(Filter, one_condition, st.just(Conditions()), st.booleans()),
    st.builds(Filter, st.just(Conditions()), one_condition, st.booleans()),
    st.builds(
        lambda types, graphs: Filter(Conditions(types=_of_terms(types), graphs=_of_terms(graphs)), subclasses=True),
        st.frozensets(st.sampled_from(CLASSES), min_size=1, max_size=1),
        st.frozensets(st.sampled_from(GRAPHS), min_size=1, max_size=2),
    ),
    st.builds(Filter, conditions, one_condition, st.booleans()),
    st.builds(Filter, conditions, conditions, st.booleans()),
)
OPTIONS = ("limit", "candidates", "k", "weights", "fusion", "normalise", "min_similarity")


def compare(world: World, oracle: Oracle, asked: dict[str, Any]) -> SearchResults:
    """Search the world, and compare it with the oracle."""
    mode, words, filter_ = asked["mode"], asked["words"], asked["filter_"]
    options = {name: asked[name] for name in OPTIONS if asked.get(name) is not None}
    query = " ".join(words)
    if "plan" in asked:
        found = world.search(
            query, mode=mode, explain=True, **gathered({"plan": asked["plan"], **options}), **filter_.arguments()
        )
    else:
        found = world.search(query, mode=mode, explain=True, **gathered(options), **filter_.arguments())
    vectors = mode != "text" and world.stats().embedder is not None
    expect(
        world,
        oracle,
        found,
        filter_=filter_,
        query=query if vectors else None,
        match=None if mode == "vector" else any_word(words),
        **options,
    )
    return found


def add_texts(world: World, *texts: str, **options: Any) -> None:
    """Each text the label of a subject s0, s1, …"""
    world.add([(iri(f"s{number}"), iri("label"), ox.Literal(text)) for number, text in enumerate(texts)], **options)
