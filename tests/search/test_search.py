"""Search, against a slow reference, and where the answer is known."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from heapq import nlargest
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import worlds
from tests.support import tables
from tests.support.embedder import HashingEmbedder
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
    problems,
    rolled_back,
)
from worlds import EmbedderError, FilterError, QueryError, SearchResults, World, WorldsError

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"


def iri(name: str) -> ox.NamedNode:
    return ox.NamedNode(EX + name)


def texts(results: SearchResults) -> list[str]:
    return [hit.text for hit in results]


# -- small worlds, any filter ---------------------------------------------------------------------------------------

# Each text has its words in alphabetic order, and none twice: texts that differ in less share a vector.
WORDS = ["heron", "kite", "lake", "pine", "river"]
TEXTS = ["kite", "kite lake", "heron lake pine", "heron kite lake pine river"]
LONG = {
    "long": " ".join(f"The {word} has number {number}." for number, word in enumerate(WORDS * 20)),
    "longer": " ".join(f"Number {number} is a {word}." for number, word in enumerate(WORDS * 30, 500)),
}
LANGUAGES = ["en", "en-gb", "de"]
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
a_statement = st.one_of(a_text, a_text, a_text, a_type, a_fact, a_class)
small_worlds = st.one_of(
    st.lists(a_statement, max_size=8, unique=True), st.lists(a_statement, min_size=20, max_size=50, unique=True)
)


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
    _some(["", "en", "en-GB", "de", "fr"]),
    st.sampled_from(["", "", *PATTERNS]).map(PATTERNS.get),
)
one_condition = st.one_of(
    _some([*SUBJECTS, "unknown"]).map(lambda names: Conditions(subjects=_of_terms(names))),
    _some(["label", "note", "year", "unknown"]).map(lambda names: Conditions(predicates=_of_terms(names))),
    _some([*CLASSES, "unknown"]).map(lambda names: Conditions(types=_of_terms(names))),
    _some([*GRAPHS, "unknown"]).map(lambda names: Conditions(graphs=_of_terms(names))),
    _some(["", "en", "en-GB", "de", "fr"]).map(lambda tags: Conditions(languages=tags)),
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
        "fusion": draw(st.sampled_from(["rrf", "relative"])),
        "normalise": draw(st.sampled_from(["minmax", "theoretical"])),
        "min_similarity": draw(st.sampled_from([None, None, 0.1234, 0.4321])),
    }


OPTIONS = ("limit", "candidates", "k", "weights", "fusion", "normalise", "min_similarity")


def compare(world: World, oracle: Oracle, asked: dict[str, Any]) -> SearchResults:
    """Search the world, and compare it with the oracle."""
    mode, words, filter_ = asked["mode"], asked["words"], asked["filter_"]
    options = {name: asked[name] for name in OPTIONS if asked.get(name) is not None}
    query = " ".join(words)
    if "plan" in asked:
        found = world.search(query, mode=mode, plan=asked["plan"], explain=True, **options, **filter_.arguments())
    else:
        found = world.search(query, mode=mode, explain=True, **options, **filter_.arguments())
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


@pytest.mark.timeout(1200)  # to make a failing example small takes longer than the test
@settings(max_examples=settings.default.max_examples * 3)  # type: ignore[union-attr]  # there is a default
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
            if search["mode"] != "text" and world.stats().embedder is not None and search["plan"] != "auto":
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
        if world.stats().embedder is None:
            return
        options = {name: asked[name] for name in ("mode", "plan", *OPTIONS)}
        options |= asked["filter_"].arguments()
        query = " ".join(asked["words"])
        found = world.search(query, **options)
        sql, parameters = world.search_sql(query, **options)
        rows = tables.rows(world, sql, parameters)
        assert [(row[0], row[1]) for row in rows] == [(hit.chunk, hit.score) for hit in found]
        assert (sql, parameters) == (found.explain.sql, found.explain.parameters)


# -- a larger world -------------------------------------------------------------------------------------------------

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
        graph: Any = chance.choice([DEFAULT, iri("g"), iri("h"), iri("i")])
        subject = iri(f"doc{number}")
        quads.append(ox.Quad(subject, iri(chance.choice(["label", "note"])), text, graph))
        quads.append(ox.Quad(subject, RDF_TYPE, iri(f"Topic{topic}"), graph))
    return quads


INDEX_RECALL = 0.95  # the native index is built by chance, and is chosen for very large worlds alone


class Large:
    """About 3,000 texts, after half of 3,000 were removed and others put in their place."""

    def __init__(self, path: Path) -> None:
        chance = random.Random(11)
        vocabulary = _vocabulary(chance)
        self.embedder = HashingEmbedder(256)
        self.world = worlds.open(path, embedder=self.embedder)
        self.quads = _documents(chance, vocabulary, 3000, 0)
        self.world.add(self.quads)
        self.queries = [chance.sample(chance.choice(vocabulary), 3) for _ in range(25)]
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
        eligible = set(self.oracle.eligible(filter_))
        found = wanted = 0
        for words in self.queries:
            query = " ".join(words)
            similarities = self.oracle.similarities(query)
            tenth = nlargest(10, (value for chunk, value in similarities.items() if chunk in eligible))[-1]
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
    assert compared < 0.6 * len(large.oracle.chunks), "the codes do not cut"
    assert large.recall("codes") >= 0.99
    assert large.recall("codes", LARGE_FILTERS["language"]) >= 0.99
    assert large.recall("codes", LARGE_FILTERS["topic"]) >= 0.99
    assert large.recall("auto") >= 0.99


def test_a_larger_world(large: Large) -> None:
    _compare_large(large)
    assert large.recall("index") >= INDEX_RECALL


def test_a_larger_world_after_half_of_it_was_replaced(large: Large) -> None:
    large.replace_half()
    _compare_large(large)
    assert problems(large.world) == []
    large.world.compact()
    assert large.world.check().ok
    assert large.recall("index") >= INDEX_RECALL
    assert large.recall("auto") >= 0.99


# -- the statement's plan -------------------------------------------------------------------------------------------

BY_VECTORS = """
MATERIALIZE vector_matches
CO-ROUTINE (subquery)
MATERIALIZE nearest
{candidates}
SEARCH vectors USING INTEGER PRIMARY KEY (rowid=?)
USE TEMP B-TREE FOR ORDER BY
SCAN nearest
SEARCH chunks USING COVERING INDEX chunks_vector (vector=?)
USE TEMP B-TREE FOR ORDER BY
SCAN (subquery)
SCAN vector_matches
"""
BY_WORDS = """
MATERIALIZE text_matches
CO-ROUTINE (subquery)
MATERIALIZE best_texts
SCAN chunks_fts VIRTUAL TABLE INDEX 0:M1
USE TEMP B-TREE FOR ORDER BY
SCAN best_texts
USE TEMP B-TREE FOR ORDER BY
SCAN (subquery)
SCAN text_matches
"""
COMPLETED = """
UNION ALL
SCAN text_matches
SEARCH chunks USING INTEGER PRIMARY KEY (rowid=?)
LIST SUBQUERY
SCAN vector_matches
SEARCH vectors USING INTEGER PRIMARY KEY (rowid=?)
UNION ALL
SCAN chunks_fts VIRTUAL TABLE INDEX 0:M1
LIST SUBQUERY
COMPOUND QUERY
LEFT-MOST SUBQUERY
SCAN vector_matches
EXCEPT USING TEMP B-TREE
SCAN text_matches
"""
FUSED = """
USE TEMP B-TREE FOR GROUP BY
SCAN found
{normalised}
SEARCH chunks USING INTEGER PRIMARY KEY (rowid=?)
SEARCH terms USING INTEGER PRIMARY KEY (rowid=?) LEFT-JOIN
CORRELATED SCALAR SUBQUERY
SEARCH quads USING INDEX quads_o (object=?)
CORRELATED SCALAR SUBQUERY
SCAN json_each VIRTUAL TABLE INDEX 1:
LIST SUBQUERY
SCAN json_each VIRTUAL TABLE INDEX 1:
CORRELATED SCALAR SUBQUERY
SEARCH quads USING INDEX quads_o (object=?)
LIST SUBQUERY
SCAN json_each VIRTUAL TABLE INDEX 1:
SCAN weighed
USE TEMP B-TREE FOR ORDER BY
SCAN fused
SEARCH chunks USING INTEGER PRIMARY KEY (rowid=?)
CORRELATED SCALAR SUBQUERY
SEARCH terms USING INTEGER PRIMARY KEY (rowid=?)
USE TEMP B-TREE FOR ORDER BY
"""
LISTED = f"CO-ROUTINE listed\nCOMPOUND QUERY\nLEFT-MOST SUBQUERY\n{BY_VECTORS}\nUNION ALL\n{BY_WORDS}"
RANKS = f"CO-ROUTINE fused\nMATERIALIZE weighed\nCO-ROUTINE found\n{LISTED}SCAN listed{FUSED.format(normalised='')}"
ALONE = FUSED.format(
    normalised="SCAN (subquery)\nMATERIALIZE coverage\nSCAN CONSTANT ROW\nSCAN (subquery)\nSCAN coverage"
)
# Of each term, whether one text has it: a search for that row alone.
COVERED = """
SCAN json_each VIRTUAL TABLE INDEX 1:
CORRELATED SCALAR SUBQUERY
SCAN chunks_fts VIRTUAL TABLE INDEX 0:=M1
SCALAR SUBQUERY
BLOOM FILTER ON text_matches (rank=?)
SEARCH text_matches USING AUTOMATIC PARTIAL COVERING INDEX (rank=?)
REUSE SUBQUERY
"""
NORMALISED = ALONE.replace("SCAN CONSTANT ROW\n", COVERED)
VALUES = "CO-ROUTINE fused\nMATERIALIZE weighed\nCO-ROUTINE (subquery)\nCO-ROUTINE (subquery)\nCO-ROUTINE found\n"
BOTH = f"{VALUES}{LISTED}{COMPLETED}SCAN listed{NORMALISED}"
# With few eligible chunks, the text index is read once.
ONCE = BOTH.replace(
    "CO-ROUTINE (subquery)\nMATERIALIZE best_texts\nSCAN chunks_fts VIRTUAL TABLE INDEX 0:M1\n"
    "USE TEMP B-TREE FOR ORDER BY\nSCAN best_texts\nUSE TEMP B-TREE FOR ORDER BY\n",
    "CO-ROUTINE (subquery)\nCO-ROUTINE (subquery)\nMATERIALIZE all_texts\nSCAN chunks_fts VIRTUAL TABLE INDEX 0:M1\n"
    "SCAN all_texts\nUSE TEMP B-TREE FOR ORDER BY\nSCAN (subquery)\nUSE TEMP B-TREE FOR ORDER BY\n",
).replace("UNION ALL\nSCAN chunks_fts VIRTUAL TABLE INDEX 0:M1\nLIST", "UNION ALL\nSCAN all_texts\nLIST")


def numberless(match: re.Match[str]) -> str:
    return "(subquery)" if match[0].startswith("(") else ""


GIVEN = "SCAN json_each VIRTUAL TABLE INDEX 1:"
INDEX = "SCAN vector_top_k VIRTUAL TABLE INDEX 1:"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"plan": "exact"}, BOTH.format(candidates=GIVEN)),
        ({"plan": "codes"}, BOTH.format(candidates=GIVEN)),
        ({"plan": "codes", "languages": "de", "boost": "2 ?subject ?p ?o"}, ONCE.format(candidates=GIVEN)),
        ({"plan": "index"}, BOTH.format(candidates=INDEX)),
        ({"plan": "exact", "fusion": "rrf"}, RANKS.format(candidates=GIVEN)),
        ({"mode": "text"}, VALUES + BY_WORDS + ALONE),
        ({"mode": "vector"}, VALUES + BY_VECTORS.format(candidates=GIVEN) + ALONE),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_no_statement_scans_a_table(large: Large, options: dict[str, Any], expected: str) -> None:
    sql, parameters = large.world.search_sql("some words", **options)
    rows = tables.rows(large.world, "EXPLAIN QUERY PLAN " + sql, parameters)
    plan = [re.sub(r"\(subquery-\d+\)|(?<=SUBQUERY) \d+", numberless, row[3]) for row in rows]
    assert plan == [line for line in expected.splitlines() if line]


# -- known answers: texts and words ---------------------------------------------------------------------------------


def add_texts(world: World, *texts: str, **options: Any) -> None:
    """Each text the label of a subject s0, s1, …"""
    world.add([(iri(f"s{number}"), iri("label"), ox.Literal(text)) for number, text in enumerate(texts)], **options)


def test_a_text_with_a_null_character_is_found_on_both_sides_of_it_and_given_back_whole(world: World) -> None:
    add_texts(world, "red\0kite", "blue heron", "\0")
    for word in ("red", "kite"):
        hits = world.search(word, mode="text")
        assert texts(hits) == ["red\0kite"]
        assert hits[0].literal == rdflib.Literal("red\0kite")
        assert (hits[0].start, hits[0].end) == (0, 8)
        assert f"**{word}**" in hits[0].snippet
    assert world.search("red\0kite", mode="text")[0].text == "red\0kite"
    assert len(world.search("red kite")) == 3


def test_results_say_how_many_they_are(world: World) -> None:
    world.add([("urn:a", "rdfs:label", '"osprey"'), ("urn:b", "rdfs:label", '"osprey nest"')])
    assert repr(world.search("osprey", mode="text")) == "<SearchResults: 2 hits, text, plan None>"
    assert repr(world.search("osprey", mode="text", limit=1)) == "<SearchResults: 1 hit, text, plan None>"


@pytest.mark.slow
def test_a_literal_of_ten_megabytes_is_searched_in_pieces() -> None:
    sentence = "The kites of the lake were counted again in the year that followed, and there were more. "
    half = sentence * (5_000_000 // len(sentence))
    text = half + "Then an osprey came. " + half
    with worlds.open(embedder=None) as world:
        began = time.process_time()
        change = world.add([(iri("s"), iri("note"), ox.Literal(text))])
        assert change.chunks > 8_000
        hits = world.search("osprey")
        assert time.process_time() - began < 30
        assert len(hits) in (1, 2)  # the sentence may be repeated by the next chunk
        for hit in hits:
            assert "osprey" in hit.text
            assert hit.text == text[hit.start : hit.end]
            assert "**osprey**" in hit.snippet
        assert len(hits[0].snippet) < 300
        world.remove([(iri("s"), iri("note"), ox.Literal(text))])
        assert len(world.search("osprey")) == 0


@pytest.mark.parametrize("query", ["kite " * 200_000, "k" * 1_000_000, '"' * 1_000_000, "(kite) -" * 125_000], ids=len)
def test_a_query_of_a_million_characters_is_answered(world: World, query: str) -> None:
    add_texts(world, "red kite", "blue heron")
    began = time.process_time()
    world.search(query, mode="text")
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    "query",
    [
        "?!",
        "…",
        '"',
        "''",
        "*",
        "-",
        "()",
        "^",
        "~",
        ":",
        "%",
        "\\",
        "🦅",
        "🦅🪁 👩‍👩‍👧",
        "\ud800",
        "AND",
        "NEAR(",
        "\x1f",
    ],
)
@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_no_query_raises(world: World, query: str, mode: Any) -> None:
    add_texts(world, "red kite", "blue heron 🦅")
    hits = world.search(query, mode=mode)
    assert len(hits) == 0 or mode == "hybrid"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("中文", "这是中文分词测试"),
        ("分词", "这是中文分词测试"),
        ("東京都", "東京都は日本の首都です"),
        ("한국어", "이것은 한국어를 배우는 책입니다"),
        ("ภาษา", "นี่คือภาษาไทย"),
        ("كتاب", "هذا كتاب جديد"),
        ("zurich", "Ein Tag in Zürich"),
        ("ZÜRICH", "Ein Tag in Zürich"),
        ("Ελλάδα", "Η Ελλάδα είναι όμορφη"),
        ("москва", "Москва — столица"),
        ("running", "She runs every day"),
    ],
)
def test_words_are_found_in_every_script(world: World, query: str, found: str) -> None:
    add_texts(world, found, "something else", "другое", "别的东西", "อื่น")
    hits = world.search(query, mode="text")
    assert texts(hits) == [found]
    assert "**" in hits[0].snippet
    assert "\x1f" not in hits[0].snippet + hits[0].text


def test_phrases_exclusions_and_prefixes(world: World) -> None:
    add_texts(world, "red kite", "kite red", "red heron", "redstart")
    assert texts(world.search('"red kite"', mode="text")) == ["red kite"]
    assert set(texts(world.search("red -heron", mode="text"))) == {"red kite", "kite red"}
    assert set(texts(world.search("redst*", mode="text"))) == {"redstart"}


@pytest.mark.parametrize(
    "expression", ['"red', "red AND", "AND", "(red", "nocolumn:red", "red NEAR(", "", "re\0d", "*"]
)
def test_a_wrong_fts5_expression_is_a_query_error(world: World, expression: str) -> None:
    add_texts(world, "red kite")
    for mode in ("text", "hybrid"):
        with pytest.raises(QueryError):
            world.search(expression, syntax="fts5", mode=mode)


def test_an_unquoted_hyphen_or_colon_in_fts5_is_explained(world: World) -> None:
    add_texts(world, "red kite")
    for expression, column in (("main-sequence", "sequence"), ("label:red", "label")):
        with pytest.raises(QueryError, match=f"no column '{column}'; words with a hyphen or a colon go into") as told:
            world.search(expression, syntax="fts5", mode="text")
        assert "damaged" not in str(told.value)


def test_a_prefix_that_another_connection_binds_anew_counts_at_once(path: Path) -> None:
    with worlds.open(path, embedder=None) as writer:
        writer.load(
            b'<urn:A:x> a <urn:A:C>; <urn:p> "solar one". <urn:B:x> a <urn:B:C>; <urn:p> "solar two".', format="ttl"
        )
        with worlds.open(path, embedder=None, read_only=True) as reader:
            for namespace, text in (("urn:A:", "solar one"), ("urn:B:", "solar two")):
                writer.bind("mine", namespace)
                for _ in range(2):
                    assert texts(reader.search("solar", where="?subject a mine:C")) == [text]
                assert texts(reader.search("solar", boost="5 ?subject a mine:C"))[0] == text


def test_a_hit_names_a_blank_node_as_filters_take_it(world: World) -> None:
    world.load(b'[] <http://www.w3.org/2000/01/rdf-schema#comment> "unnamed quokka" .', format="turtle")
    name = world.search("quokka").to_dict()["hits"][0]["subject"]
    assert name.startswith("_:")
    assert len(world.search("quokka", subjects=name)) == 1
    assert world.describe(name).iri is not None


@pytest.mark.parametrize(
    "pattern", ["FILTER(isIRI(?subject))", "FILTER EXISTS { ?subject ?p ?o }", "MINUS { ?subject ?p 1 }"]
)
def test_a_pattern_that_binds_nothing_is_refused(world: World, pattern: str) -> None:
    add_texts(world, "red kite")
    for options in ({"where": pattern}, {"exclude": {"where": pattern}}, {"boost": f"2 {pattern}"}):
        with pytest.raises(FilterError, match="has to bind .subject"):
            world.search("kite", **options)
    assert not world.search("kite", where="VALUES ?subject { <urn:none> }")


def test_an_fts5_expression_is_handed_over(world: World) -> None:
    add_texts(world, "red kite", "blue kite", "red heron")
    assert texts(world.search("red AND kite", syntax="fts5", mode="text")) == ["red kite"]
    assert set(texts(world.search("kite NOT red", syntax="fts5", mode="text"))) == {"blue kite"}


# -- known answers: embedders ---------------------------------------------------------------------------------------


class FailingAtQueries(HashingEmbedder):
    def embed_query(self, text: str) -> NDArray[np.float32]:
        raise RuntimeError("the service is down")


def test_an_embedder_that_fails_at_a_query_leaves_the_words() -> None:
    with worlds.open(embedder=FailingAtQueries()) as world:
        add_texts(world, "red kite", "blue heron")
        hits = world.search("kite")
        assert texts(hits) == ["red kite"]
        assert hits.explain.mode == "text"
        assert "the service is down" in " ".join(hits.notes)
        with pytest.raises(EmbedderError, match="the service is down"):
            world.search("kite", mode="vector")
        assert world.search("kite", mode="text").notes == ()


def test_without_an_embedder_the_words_are_searched() -> None:
    with worlds.open(embedder=None) as world:
        add_texts(world, "red kite", "blue heron")
        hits = world.search("kite")
        assert texts(hits) == ["red kite"]
        assert "without an embedder" in " ".join(hits.notes)
        with pytest.raises(EmbedderError):
            world.search("kite", mode="vector")
        with pytest.raises(EmbedderError):
            world.embed()


def test_another_embedder_than_the_worlds(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        add_texts(world, "red kite", "blue heron")
    for other in (HashingEmbedder(name="other"), HashingEmbedder(64)):
        with pytest.raises(EmbedderError, match="rebuild"):
            worlds.open(path, embedder=other)
    with worlds.open(path, embedder=None) as world:
        vector = HashingEmbedder().embed_query("red kite")
        assert texts(world.search("nothing", mode="vector", vector=vector, limit=1)) == ["red kite"]


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
@pytest.mark.parametrize("query", ["", " ", "\n\t"])
def test_a_blank_query_finds_nothing(world: World, query: str, mode: Any) -> None:
    add_texts(world, "red kite")
    assert len(world.search(query, mode=mode)) == 0


@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
@pytest.mark.parametrize("plan", ["auto", "exact", "codes"])
def test_an_empty_world_has_nothing(world: World, mode: Any, plan: Any) -> None:
    assert len(world.search("kite", mode=mode, plan=plan)) == 0
    assert len(world.search("kite", mode=mode, plan=plan, languages="en")) == 0
    add_texts(world, "red kite")
    world.remove([(iri("s0"), iri("label"), ox.Literal("red kite"))])
    assert len(world.search("kite", mode=mode, plan=plan)) == 0
    assert len(world.search("kite", mode=mode, plan=plan, languages="")) == 0


def test_the_callers_own_vector(world: World) -> None:
    add_texts(world, "red kite", "blue heron", "river")
    vector = HashingEmbedder().embed_query("river")
    hits = world.search("heron", vector=vector * 5, explain=True)
    assert {hit.text: set(hit.explain or ()) for hit in hits} == {
        "river": {"vector"},
        "blue heron": {"vector", "text"},
        "red kite": {"vector"},
    }
    assert texts(world.search("", vector=list(vector), mode="vector"))[0] == "river"
    for error, wrong in [
        (EmbedderError, vector[:-1]),
        (EmbedderError, []),
        (EmbedderError, np.stack([vector, vector])),
        (ValueError, vector * 0),
        (ValueError, vector * np.nan),
    ]:
        for mode in ("vector", "hybrid"):
            with pytest.raises(error):
                world.search("heron", vector=wrong, mode=mode)  # type: ignore[arg-type]  # a mode


def test_what_is_not_embedded_yet_is_found_by_its_words(world: World) -> None:
    add_texts(world, "red kite", "blue kite")
    world.add([(iri("new"), iri("label"), ox.Literal("black kite"))], embed=False)
    assert "black kite" in texts(world.search("kite"))
    assert "black kite" not in texts(world.search("kite", mode="vector"))
    assert world.stats().pending == 1
    assert world.embed() == 1
    assert "black kite" in texts(world.search("kite", mode="vector"))


def test_a_text_without_a_direction_is_found_by_its_words_alone() -> None:
    with worlds.open(embedder=HashingEmbedder(zero_at="void", nan_at="chaos")) as world:
        add_texts(world, "red kite", "void kite", "chaos kite")
        for plan in ("auto", "exact", "codes", "index"):
            assert texts(world.search("kite", mode="vector", plan=plan)) == ["red kite"]
        assert len(world.search("kite")) == 3
        assert world.stats().pending == 0
        assert problems(world) == []


def test_a_text_is_embedded_once_for_all_its_literals(world: World) -> None:
    assert isinstance(world.embedder, HashingEmbedder)
    literals = [ox.Literal("kite"), *(ox.Literal("kite", language=language) for language in LANGUAGES)]
    world.add([(iri(f"s{number}"), iri("label"), literal) for number, literal in enumerate(literals)])
    assert world.embedder.documents == 1
    hits = world.search("kite", explain=True)
    assert [hit.literal for hit in hits] == [
        rdflib.Literal(literal.value, lang=literal.language) for literal in literals
    ]
    assert len({hit.explain["vector"].value for hit in hits if hit.explain}) == 1


# -- known answers: hits --------------------------------------------------------------------------------------------


def test_a_text_that_many_quads_hold_is_one_hit_that_cites_them_all(world: World) -> None:
    many = [(iri(f"s{number}"), iri("label"), ox.Literal("red kite")) for number in range(100)]
    for quad in many:
        world.add([quad])
    world.add([(iri("other"), iri("label"), ox.Literal("red heron"))])
    hits = world.search("red", limit=2)
    assert texts(hits) == ["red kite", "red heron"] or texts(hits) == ["red heron", "red kite"]
    hit = next(hit for hit in hits if hit.text == "red kite")
    assert [str(quad[0]) for quad in hit.quads] == [f"{EX}s{number}" for number in range(100)], "oldest first"
    assert str(hit.subject) == EX + "s0"
    (narrowed,) = world.search("kite", subjects=[iri("s7"), iri("s50")], mode="text")
    assert [str(quad[0]) for quad in narrowed.quads] == [EX + "s7", EX + "s50"]


def test_a_hit_says_what_it_is_about(world: World) -> None:
    world.bind("ex", EX)
    world.load(
        b"""
        @prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        ex:kite a ex:Bird, ex:Raptor ; rdfs:label "Rotmilan"@de, "red kite"@en ;
            ex:note "A bird of prey that soars over open country." .
        """,
        format="ttl",
    )
    (hit,) = world.search("soars", mode="text", explain=True)
    assert str(hit.subject) == EX + "kite"
    assert str(hit.predicate) == EX + "note"
    assert hit.graph is None
    assert hit.label == "red kite"
    assert {str(kind) for kind in hit.types} == {EX + "Bird", EX + "Raptor"}
    assert hit.snippet == "A bird of prey that **soars** over open country."
    assert hit.to_dict()["quads"] == [
        [f"<{EX}kite>", f"<{EX}note>", '"A bird of prey that soars over open country."', None]
    ]


# -- known answers: filters -----------------------------------------------------------------------------------------


@pytest.fixture
def birds(world: World) -> World:
    world.bind("ex", EX)
    world.load(
        b"""
        @prefix ex: <http://example.org/> .
        ex:kite a ex:Bird ; ex:label "the red kite"@en-GB , "der Milan"@de , "the kite" ; ex:year 2020 .
        ex:toy a ex:Toy ; ex:label "a kite of paper"@en ; ex:year 1999 .
        GRAPH ex:g { ex:kite ex:note "the kite soars"@en . _:b ex:note "the kite of nobody" }
        """,
        format="trig",
    )
    return world


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"subjects": "ex:kite"}, 4),
        ({"subjects": rdflib.URIRef(EX + "kite"), "predicates": "ex:label"}, 3),
        ({"subjects": f"<{EX}kite>"}, 4),
        ({"predicates": ["ex:label", iri("note")]}, 6),
        ({"predicates": ("ex:label",)}, 4),
        ({"predicates": {"ex:label"}}, 4),
        ({"types": "ex:Bird"}, 4),
        ({"graphs": "default"}, 4),
        ({"graphs": ox.DefaultGraph()}, 4),
        ({"graphs": "ex:g"}, 2),
        ({"graphs": ["ex:g", "default"]}, 6),
        ({"types": "ex:Bird", "graphs": "ex:g"}, 0),  # the type stands in the default graph
        ({"types": "ex:Bird", "graphs": ["ex:g", "default"]}, 4),
        ({"languages": "en"}, 3),
        ({"languages": "EN-gb"}, 1),
        ({"languages": ""}, 2),
        ({"languages": ["", "de"]}, 3),
        ({"languages": "e"}, 0),
        ({"where": "?subject ex:year ?y FILTER(?y > 2000)"}, 4),
        ({"where": "?subject ex:year 2020", "graphs": "ex:g"}, 0),
        ({"exclude": {"types": "ex:Bird"}}, 2),
        ({"exclude": {"predicates": "ex:note", "languages": "de"}}, 3),
        ({"exclude": {"where": "?subject ex:year ?y"}}, 1),
        ({"exclude": {"graphs": "default"}}, 2),
        ({"exclude": {}}, 6),
        ({"subjects": []}, 0),
        ({"graphs": []}, 0),
        ({"exclude": {"subjects": []}}, 6),
        ({"subjects": "ex:unknown"}, 0),
        ({"predicates": "http://nowhere.example/p"}, 0),
        ({"types": "ex:Unknown", "subclasses": True}, 0),
        ({"graphs": "ex:unknown"}, 0),
        ({"languages": "xx"}, 0),
        ({"where": "?subject a ex:Unknown"}, 0),
        ({"where": "?subject ex:year ?y", "graphs": "ex:unknown"}, 0),
        ({"exclude": {"subjects": "ex:unknown"}}, 6),
    ],
    ids=str,
)
def test_filters(birds: World, filters: dict[str, Any], expected: int) -> None:
    for mode in ("vector", "hybrid"):
        assert len(birds.search("kite milan", mode=mode, **filters)) == expected
    assert len(birds.search("kite milan", mode="text", **filters)) == expected
    assert birds.search("kite", explain=True, **filters).explain.eligible in (expected, None)


def test_a_blank_node_is_a_subject_to_filter_by(birds: World) -> None:
    (hit,) = birds.search("nobody", mode="text")
    assert len(birds.search("kite", subjects=hit.subject)) == 1
    assert len(birds.search("kite", exclude={"subjects": hit.subject})) == 5


@pytest.mark.parametrize(
    "filters",
    [
        {"subjects": "no iri"},
        {"subjects": "nowhere:x y"},
        {"subjects": 5},
        {"subjects": ox.Literal("kite")},
        {"subjects": ox.DefaultGraph()},
        {"subjects": [None]},
        {"predicates": ox.BlankNode("b")},
        {"types": '"text"'},
        {"graphs": "graph"},
        {"languages": 5},
        {"languages": "e n"},
        {"languages": ["en", None]},
        {"where": ""},
        {"where": "  "},
        {"where": 5},
        {"where": "?subject ex:year"},
        {"where": "?subject unknown:year 5"},
        {"where": "?subject ex:year ?y } LIMIT 1 #"},
        {"where": "SERVICE <http://localhost/> { ?subject ?p ?o }"},
        {"exclude": "ex:kite"},
        {"exclude": {"subject": "ex:kite"}},
        {"exclude": {"exclude": {}}},
        {"exclude": {"types": "no iri"}},
        {"exclude": {"where": "?subject"}},
    ],
    ids=str,
)
def test_what_cannot_be_a_filter_is_an_error(birds: World, filters: dict[str, Any]) -> None:
    with pytest.raises(FilterError):
        birds.search("kite", **filters)


def test_wrong_options_are_errors(birds: World) -> None:
    wrong: list[dict[str, Any]] = [
        {"limit": 0},
        {"limit": -1},
        {"limit": 2.5},
        {"limit": 10**9},
        {"candidates": 0},
        {"mode": "both"},
        {"plan": "fast"},
        {"syntax": "sql"},
        {"k": -1},
        {"k": float("nan")},
        {"weights": {"words": 1}},
        {"weights": {"text": -1}},
        {"weights": {"text": float("inf")}},
        {"fusion": "sum"},
        {"normalise": "z"},
        {"min_similarity": 1.5},
        {"min_similarity": float("nan")},
        {"rerank": 5},
        {"rerank": ""},
        {"rerank_top": 0},
        {"rerank_timeout": -1},
        {"boost": "much"},
        {"boost": {"factor": 2}},
        {"boost": {"predicate": '"text"', "weight": 1}},
        {"boost": {"where": "?subject ?p ?o", "factor": -1}},
        {"decay": "ex:date"},
        {"decay": {"predicate": "ex:year"}},
        {"decay": {"predicate": "ex:year", "half_life": 0}},
        {"decay": {"predicate": "ex:year", "half_life": 1, "now": "soon"}},
        {"decay": {"predicate": "ex:year", "half_life": 1, "evergreen_types": "no iri"}},
        {"diversity": -0.1},
        {"group_by": "predicate"},
        {"per_subject": 0, "group_by": "subject"},
        {"per_subject": 2},
        {"cursor": "no cursor"},
        {"cursor": 5},
    ]
    for options in wrong:
        with pytest.raises(ValueError, match=next(iter(options))):
            birds.search("kite", **options)
    with pytest.raises(TypeError):
        birds.search(5)  # type: ignore[arg-type]  # that is what is tested
    with pytest.raises(WorldsError, match="cannot be filtered"):
        birds.search("kite", plan="index", languages="en")


def test_the_native_index_must_be_there(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder(), vector_index=False) as world:
        add_texts(world, "red kite")
        with pytest.raises(WorldsError, match="vector_index=True"):
            world.search("kite", plan="index")
    with worlds.open(path, embedder=HashingEmbedder(), vector_index=True) as world:
        assert texts(world.search("kite", plan="index")) == ["red kite"]


def test_a_class_hierarchy_with_a_cycle(world: World) -> None:
    world.bind("ex", EX)
    world.load(
        b"""
        @prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        ex:A rdfs:subClassOf ex:B . ex:B rdfs:subClassOf ex:C . ex:C rdfs:subClassOf ex:A , ex:Top .
        ex:a a ex:A ; ex:label "kite a" . ex:c a ex:C ; ex:label "kite c" . ex:t a ex:Top ; ex:label "kite top" .
        """,
        format="ttl",
    )
    assert set(texts(world.search("kite", types="ex:A"))) == {"kite a"}
    assert set(texts(world.search("kite", types="ex:A", subclasses=True))) == {"kite a", "kite c"}
    assert len(world.search("kite", types="ex:Top", subclasses=True)) == 3
    world.load(
        b"""
        @prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        GRAPH ex:g { ex:x a ex:A ; ex:label "kite x" . ex:y a ex:X ; ex:label "kite y" . ex:X rdfs:subClassOf ex:A }
        """,
        format="trig",
    )
    assert set(texts(world.search("kite", types="ex:C", subclasses=True, graphs="ex:g"))) == set()
    assert set(texts(world.search("kite", types="ex:A", subclasses=True, graphs="ex:g"))) == {"kite x", "kite y"}
    assert len(world.search("kite", types="ex:A", subclasses=True, graphs="default")) == 2
    assert len(world.search("kite", types="ex:C", subclasses=True)) == 4
    assert len(world.search("kite", exclude={"types": "ex:A"}, subclasses=True)) == 1


# -- what a search must not remember --------------------------------------------------------------------------------


@pytest.mark.parametrize("embedder", [None, HashingEmbedder()], ids=["words", "vectors"])
def test_a_search_sees_the_writes_of_its_transaction_and_forgets_them_with_it(embedder: HashingEmbedder | None) -> None:
    options: dict[str, Any] = {"mode": "text", "predicates": iri("label")}
    with worlds.open(embedder=embedder) as world:
        add_texts(world, "red kite")
        assert len(world.search("kite", **options)) == 1
        with rolled_back(world):
            world.add([(iri("new"), iri("label"), ox.Literal("black kite"))])
            assert len(world.search("kite", **options)) == 2
            with rolled_back(world):
                world.remove([(iri("s0"), iri("label"), ox.Literal("red kite"))])
                assert texts(world.search("kite", **options)) == ["black kite"]
            assert len(world.search("kite", **options)) == 2
        assert texts(world.search("kite", **options)) == ["red kite"]
        world.add([(iri("other"), iri("note"), ox.Literal("white kite"))])  # its chunk has the black one's number
        assert texts(world.search("kite", **options)) == ["red kite"]


def test_the_codes_forget_what_was_rolled_back(world: World) -> None:
    add_texts(world, "red kite", "blue heron")
    assert len(world.search("kite", mode="vector", plan="codes")) == 2
    with rolled_back(world):
        world.remove([(iri("s0"), iri("label"), ox.Literal("red kite"))])
        assert texts(world.search("kite", mode="vector", plan="codes")) == ["blue heron"]
    world.remove([(iri("s1"), iri("label"), ox.Literal("blue heron"))])  # as many vectors as were removed before
    assert texts(world.search("kite", mode="vector", plan="codes")) == ["red kite"]


def test_a_removed_and_restored_text_is_found_in_both_worlds_of_a_file(path: Path) -> None:
    with worlds.open(path, embedder=None) as world, worlds.open(path, embedder=None) as other:
        add_texts(world, "red kite")
        held = [(iri("s0"), iri("label"), ox.Literal("red kite"))]
        assert len(other.search("kite", subjects=iri("s0"))) == 1
        with world.transaction():
            world.remove(held)
            world.add(held)
        for each in (world, other):
            assert len(each.search("kite", subjects=iri("s0"))) == 1
        world.policy = worlds.TextPolicy(exclude=frozenset([EX + "label"]))
        world.policy = worlds.TextPolicy()
        for each in (world, other):
            assert len(each.search("kite", subjects=iri("s0"))) == 1


def test_a_prefix_that_is_bound_anew_changes_a_pattern(birds: World) -> None:
    assert len(birds.search("kite", where="?subject a ex:Bird")) == 4
    birds.bind("ex", "http://elsewhere.example/")
    assert len(birds.search("kite", where="?subject a ex:Bird")) == 0
