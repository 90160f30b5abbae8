"""Search, against a slow reference, and where the answer is known."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from tests.embedder import HashingEmbedder
from tests.oracle import (
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
    problems,
)
from worlds import SearchResults, World

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"


def iri(name: str) -> ox.NamedNode:
    return ox.NamedNode(EX + name)


def texts(results: SearchResults) -> list[str]:
    return [hit.text for hit in results]


# -- small worlds, any filter -------------------------------------------------------------------------------------------

# Each text has its words in alphabetic order, and none twice: texts that differ in less share a vector.
WORDS = ["heron", "kite", "lake", "pine", "river"]
TEXTS = ["heron", "kite", "kite lake", "kite river", "heron lake pine", "pine river", "heron kite lake pine river"]
LONG = {
    "long": " ".join(f"The {word} has number {number}." for number, word in enumerate(WORDS * 20)),
    "longer": " ".join(f"Number {number} is a {word}." for number, word in enumerate(WORDS * 30, 500)),
}
LANGUAGES = ["en", "en-gb", "en-us", "de", "zh-hans"]
TERMS: dict[str, Any] = {
    **{name: iri(name) for name in ("s0", "s1", "s2", "s3", "A", "B", "C", "D", "label", "note", "year", "cites", "g", "h")},
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
    "long@de": ox.Literal(LONG["long"], language="de"),
    "kite@en--ltr": ox.Literal("kite", language="en", direction=ox.BaseDirection.LTR),
    "blank": ox.Literal(" \n"),
    **{str(year): ox.Literal(str(year), datatype=ox.NamedNode(XSD + "integer")) for year in (2000, 2010, 2020)},
    "triple": ox.Triple(iri("s0"), iri("label"), ox.Literal("kite")),
}
SUBJECTS = ["s0", "s1", "s2", "s3", "_:n"]
CLASSES = ["A", "B", "C", "D"]
GRAPHS = ["default", "default", "g", "h"]
LITERALS = [name for name, term in TERMS.items() if isinstance(term, ox.Literal)]


def quad(name: str) -> ox.Quad:
    return ox.Quad(*[TERMS[part] for part in name.split()])


def _statements(*columns: list[str]) -> st.SearchStrategy[str]:
    return st.tuples(*map(st.sampled_from, columns)).map(" ".join)


a_text = _statements(SUBJECTS, ["label", "note"], [*LITERALS, "triple", "s1"], GRAPHS)
a_type = _statements(SUBJECTS, ["type"], CLASSES, GRAPHS)
a_fact = _statements(SUBJECTS, ["year"], ["2000", "2010", "2020"], GRAPHS) | _statements(
    SUBJECTS, ["cites"], SUBJECTS, GRAPHS
)
a_class = _statements(CLASSES, ["below"], CLASSES, GRAPHS)
small_worlds = st.lists(st.one_of(a_text, a_text, a_text, a_type, a_fact, a_class), max_size=30, unique=True)


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
    lambda subjects, predicates, types, graphs, languages, where: Conditions(
        *map(_of_terms, (subjects, predicates, types, graphs)), languages, PATTERNS.get(where)
    ),
    _some([*SUBJECTS, "unknown"]),
    _some(["label", "note", "year", "unknown"]),
    _some([*CLASSES, "unknown"]),
    _some([*GRAPHS, "unknown"]),
    _some(["", "en", "en-GB", "de", "zh", "fr"]),
    st.sampled_from(["", "", *PATTERNS]),
)
one_condition = st.one_of(
    _some([*SUBJECTS, "unknown"]).map(lambda names: Conditions(subjects=_of_terms(names))),
    _some(["label", "note", "year", "unknown"]).map(lambda names: Conditions(predicates=_of_terms(names))),
    _some([*CLASSES, "unknown"]).map(lambda names: Conditions(types=_of_terms(names))),
    _some([*GRAPHS, "unknown"]).map(lambda names: Conditions(graphs=_of_terms(names))),
    _some(["", "en", "en-GB", "de", "zh", "fr"]).map(lambda tags: Conditions(languages=tags)),
    st.sampled_from(sorted(PATTERNS)).map(lambda name: Conditions(where=PATTERNS[name])),
)
filters = st.one_of(
    st.just(ANYTHING),
    st.builds(Filter, one_condition, st.just(Conditions()), st.booleans()),
    st.builds(Filter, st.just(Conditions()), one_condition, st.booleans()),
    st.builds(Filter, conditions, one_condition, st.booleans()),
    st.builds(Filter, conditions, conditions, st.booleans()),
)


@st.composite
def searches(draw: st.DrawFn) -> dict[str, Any]:
    filter_ = draw(filters)
    plans = ["auto", "exact", "codes"] + ["index"] * filter_.empty
    return {
        "words": draw(st.lists(st.sampled_from([*WORDS, "number", "osprey"]), min_size=1, max_size=3, unique=True)),
        "filter_": filter_,
        "mode": draw(st.sampled_from(["hybrid", "hybrid", "vector", "text"])),
        "plan": draw(st.sampled_from(plans)),
        "limit": draw(st.sampled_from([1, 2, 3, 5, 10, 50])),
        "candidates": draw(st.sampled_from([None, None, 1, 2, 4, 100])),
        "k": draw(st.sampled_from([60, 60, 0, 0.5, 10])),
        "weights": draw(st.sampled_from([None, None, {"vector": 0.3, "text": 2.0}, {"text": 0.0}, {"vector": 0.0}])),
    }


def compare(world: World, oracle: Oracle, asked: dict[str, Any]) -> SearchResults:
    """Search the world, and compare it with the oracle."""
    mode, words, filter_ = asked["mode"], asked["words"], asked["filter_"]
    options = {name: asked[name] for name in ("limit", "candidates", "k", "weights") if asked.get(name) is not None}
    query = " ".join(words)
    if "plan" in asked:
        found = world.search(query, mode=mode, plan=asked["plan"], explain=True, **options, **filter_.arguments())
    else:
        found = world.search(query, mode=mode, explain=True, **options, **filter_.arguments())
    vectors = mode != "text" and world._embeddings.stored is not None
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


@settings(max_examples=settings.default.max_examples)  # type: ignore[union-attr]  # there is a default
@given(names=small_worlds, asked=st.lists(searches(), min_size=1, max_size=6))
def test_finds_what_the_reference_finds(names: list[str], asked: list[dict[str, Any]]) -> None:
    quads = [quad(name) for name in names]
    embedder = HashingEmbedder()
    with worlds.open(embedder=embedder) as world:
        world.add(quads)
        oracle = Oracle(quads, embedder)
        for search in asked:
            if search["plan"] == "index" and not oracle.chunks:
                continue  # there is no vector, so there is no index
            found = compare(world, oracle, search)
            if search["mode"] != "text" and world._embeddings.stored is not None and search["plan"] != "auto":
                assert found.explain.plan == search["plan"]
            if search["filter_"].empty:
                assert found.explain.eligible is None
            else:
                assert found.explain.eligible == len(oracle.eligible(search["filter_"]))


@settings(max_examples=settings.default.max_examples // 4)  # type: ignore[union-attr]  # there is a default
@given(names=small_worlds, asked=searches())
def test_the_statement_gives_the_same_when_it_is_run_raw(names: list[str], asked: dict[str, Any]) -> None:
    embedder = HashingEmbedder()
    with worlds.open(embedder=embedder) as world:
        world.add(quad(name) for name in names)
        if world._embeddings.stored is None:
            return
        options = {name: asked[name] for name in ("mode", "plan", "limit", "candidates", "k", "weights")}
        options |= asked["filter_"].arguments()
        query = " ".join(asked["words"])
        found = world.search(query, **options)
        sql, parameters = world.search_sql(query, **options)
        rows = world._connection.rows(sql, parameters)
        assert [(row[0], row[1]) for row in rows] == [(hit.chunk, hit.score) for hit in found]
        assert (sql, parameters) == (found.explain.sql, found.explain.parameters)


# -- a larger world -----------------------------------------------------------------------------------------------------

TOPICS = 40
SYLLABLES = ["ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo", "zu"]


def _vocabulary(chance: random.Random) -> list[list[str]]:
    """For each topic its words; they overlap."""
    words = sorted({"".join(chance.choices(SYLLABLES, k=3)) for _ in range(700)})
    return [chance.sample(words, 60) for _ in range(TOPICS)]


def _documents(chance: random.Random, vocabulary: list[list[str]], count: int, first: int) -> list[ox.Quad]:
    """One text a document, of one topic's words; its topic is its class, of one of four graphs."""
    quads = []
    for number in range(first, first + count):
        topic = chance.randrange(TOPICS)
        words = " ".join(sorted(chance.sample(vocabulary[topic], chance.randint(4, 14))))
        text = ox.Literal(words, language=chance.choice(["en", "de"])) if number % 3 else ox.Literal(words)
        graph = chance.choice([DEFAULT, iri("g"), iri("h"), iri("i")])
        subject = iri(f"doc{number}")
        quads.append(ox.Quad(subject, iri(chance.choice(["label", "note"])), text, graph))
        quads.append(ox.Quad(subject, RDF_TYPE, iri(f"Topic{topic}"), graph))
    return quads


class Large:
    """About 3,000 texts, after half of 3,000 were removed and others put in their place."""

    def __init__(self, path: Path) -> None:
        chance = random.Random(11)
        vocabulary = _vocabulary(chance)
        self.embedder = HashingEmbedder(384)
        self.world = worlds.open(path, embedder=self.embedder)
        self.quads = _documents(chance, vocabulary, 3000, 0)
        self.world.add(self.quads)
        self.queries = [chance.sample(chance.choice(vocabulary), 3) for _ in range(40)]
        self.chance, self.vocabulary = chance, vocabulary
        self.oracle = Oracle(self.quads, self.embedder)

    def replace_half(self) -> None:
        doomed = {iri(f"doc{number}") for number in self.chance.sample(range(3000), 1500)}
        gone = [quad for quad in self.quads if quad.subject in doomed]
        new = _documents(self.chance, self.vocabulary, 1500, 3000)
        self.world.search("to have the codes in memory", plan="codes")
        assert self.world.remove(gone).removed == len(gone)
        self.world.add(new[:1000])
        self.world.search("to have only some of the new codes in memory", plan="codes")
        self.world.add(new[1000:])
        self.quads = [quad for quad in self.quads if quad.subject not in doomed] + new
        self.oracle = Oracle(self.quads, self.embedder)

    def recall(self, plan: Any, filter_: Filter = ANYTHING) -> float:
        """The share of the truly nearest ten that the plan finds, over all queries."""
        eligible = self.oracle.eligible(filter_)
        found = wanted = 0
        for words in self.queries:
            query = " ".join(words)
            similarities = self.oracle.similarities(query)
            values = sorted((similarities[chunk] for chunk in eligible), reverse=True)
            tenth = values[min(10, len(values)) - 1]
            results = self.world.search(query, mode="vector", plan=plan, explain=True, **filter_.arguments())
            assert len(results) == min(10, len(eligible))
            wanted += len(results)
            found += sum(hit.explain["vector"].value >= tenth - 1e-5 for hit in results if hit.explain)
        return found / wanted


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Large]:
    built = Large(tmp_path_factory.mktemp("large") / "world.db")
    yield built
    built.world.close()


LARGE_FILTERS = {
    "graph": Filter(Conditions(graphs=frozenset([iri("g")]))),
    "language": Filter(Conditions(languages=frozenset(["de"]))),
    "topic": Filter(Conditions(types=frozenset([iri("Topic3")]))),
    "not a topic": Filter(Conditions(), Conditions(types=frozenset([iri("Topic3")]))),
    "label or none": Filter(Conditions(predicates=frozenset([iri("label")]), languages=frozenset([""]))),
}


def _compare_large(large: Large) -> None:
    assert 2900 < len(large.oracle.chunks) <= 3000
    for number, words in enumerate(large.queries[:6]):
        compare(large.world, large.oracle, {"words": words, "filter_": ANYTHING, "mode": "hybrid", "plan": "exact"})
        asked: dict[str, Any] = {"words": words, "mode": ["hybrid", "vector", "text"][number % 3], "limit": 20}
        compare(large.world, large.oracle, asked | {"filter_": list(LARGE_FILTERS.values())[number % 5]})
    assert large.recall("exact") == 1.0
    compared = large.world.search(" ".join(large.queries[0]), plan="codes").explain.compared
    assert compared is not None
    assert compared < len(large.oracle.chunks) / 2, "the codes do not cut"
    assert large.recall("codes") >= 0.99
    assert large.recall("codes", LARGE_FILTERS["language"]) >= 0.99
    assert large.recall("codes", LARGE_FILTERS["topic"]) >= 0.99
    assert large.recall("auto") >= 0.99


def test_a_larger_world(large: Large) -> None:
    _compare_large(large)
    assert large.recall("index") >= 0.99


def test_a_larger_world_after_half_of_it_was_replaced(large: Large) -> None:
    large.replace_half()
    _compare_large(large)
    assert problems(large.world) == []
    large.world.compact()
    _compare_large(large)
    assert large.recall("index") >= 0.99
    assert large.world.check().ok


# -- the statement's plan -----------------------------------------------------------------------------------------------

VECTOR_LEG = [
    "MATERIALIZE nearest",
    "SEARCH vectors USING INTEGER PRIMARY KEY (rowid=?)",
    "USE TEMP B-TREE FOR ORDER BY",
]


def query_plan(world: World, query: str, **options: Any) -> list[str]:
    sql, parameters = world.search_sql(query, **options)
    rows = world._connection.rows("EXPLAIN QUERY PLAN " + sql, parameters)
    return [row[3] for row in rows]


@pytest.mark.parametrize(
    "options",
    [{"plan": "exact"}, {"plan": "codes"}, {"plan": "index"}, {"mode": "text"}, {"mode": "vector"}, {"languages": "de"}],
    ids=str,
)
def test_no_search_scans_a_table(large: Large, options: dict[str, Any]) -> None:
    plan = query_plan(large.world, "some words", **options)
    scanned = [line for line in plan if line.startswith("SCAN ") and "VIRTUAL TABLE" not in line]
    temporary = {"nearest", "best_texts", "vector_matches", "text_matches", "contributions", "fused"}
    assert [line for line in scanned if line.split()[1] not in temporary and not line.startswith("SCAN (sub")] == []
