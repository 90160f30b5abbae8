"""A larger world: what each plan finds, and how SQLite runs the statement."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from heapq import nlargest
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
from numpy.typing import NDArray

import worlds
from tests.support import seams, tables
from tests.support.drivers import NATIVE, native
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import (
    ANYTHING,
    DEFAULT,
    RDF_TYPE,
    Conditions,
    Filter,
    Oracle,
    problems,
)
from tests.support.search_worlds import compare, iri
from worlds.core.search.options import gathered

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
        text = ox.Literal(words, language=chance.choice(["en", "la"])) if number % 3 else ox.Literal(words)
        graph: Any = chance.choice([DEFAULT, iri("g"), iri("h"), iri("i")])
        subject = iri(f"doc{number}")
        quads.append(ox.Quad(subject, iri(chance.choice(["label", "note"])), text, graph))
        quads.append(ox.Quad(subject, RDF_TYPE, iri(f"Topic{topic}"), graph))
    return quads


SIZE = 1700
INDEX_RECALL = 0.95  # the native index is built by chance, and is chosen for very large worlds alone


class Large:
    """As many texts as are more than are compared without codes, after half of them were replaced."""

    def __init__(self, path: Path) -> None:
        chance = random.Random(11)
        vocabulary = _vocabulary(chance)
        self.embedder = HashingEmbedder(256)
        self.world = worlds.open(path, embedder=self.embedder)
        self.quads = _documents(chance, vocabulary, SIZE, 0)
        self.world.add(self.quads)
        self.queries = [chance.sample(chance.choice(vocabulary), 3) for _ in range(8)]
        self.chance, self.vocabulary = chance, vocabulary
        self.oracle = Oracle(self.quads, self.embedder)

    def replace_half(self) -> None:
        doomed = {iri(f"doc{number}") for number in self.chance.sample(range(SIZE), SIZE // 2)}
        gone = [quad for quad in self.quads if quad.subject in doomed]
        new = _documents(self.chance, self.vocabulary, SIZE // 2, SIZE)
        self.world.search("to have the codes in memory", ranking=worlds.Ranking(plan="codes"))
        assert self.world.remove(gone).removed == len(gone)
        self.world.add(new[:500])
        self.world.search("to have only some of the new codes in memory", ranking=worlds.Ranking(plan="codes"))
        self.world.add(new[500:])
        self.quads = [quad for quad in self.quads if quad.subject not in doomed] + new
        self.oracle = Oracle(self.quads, self.embedder)

    def recall(self, plan: Any, filter_: Filter = ANYTHING, **options: Any) -> float:
        """The share of the truly nearest ten that the plan finds, over all queries."""
        eligible = set(self.oracle.eligible(filter_))
        found = wanted = 0
        for words in self.queries:
            query = " ".join(words)
            similarities = self.oracle.similarities(query)
            tenth = nlargest(10, (value for chunk, value in similarities.items() if chunk in eligible))[-1]
            results = self.world.search(
                query, mode="vector", explain=True, **filter_.arguments(), **gathered({"plan": plan, **options})
            )
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
    "language": Filter(Conditions(languages=frozenset(["la"]))),
    "topic": Filter(Conditions(types=frozenset([iri("Topic3")]))),
    "not a topic": Filter(Conditions(), Conditions(types=frozenset([iri("Topic3")]))),
    "label or none": Filter(Conditions(predicates=frozenset([iri("label")]), languages=frozenset([""]))),
}


def _compare_large(large: Large) -> None:
    assert 0.96 * SIZE < len(large.oracle.chunks) <= SIZE
    for number, words in enumerate(large.queries[:5]):
        compare(large.world, large.oracle, {"words": words, "filter_": ANYTHING, "mode": "hybrid", "plan": "exact"})
        asked: dict[str, Any] = {"words": words, "mode": ["hybrid", "vector", "text"][number % 3], "limit": 20}
        compare(large.world, large.oracle, asked | {"filter_": list(LARGE_FILTERS.values())[number % 5]})
    assert large.recall("exact") == 1.0
    compared = large.world.search(" ".join(large.queries[0]), ranking=worlds.Ranking(plan="codes")).explain.compared
    assert compared is not None
    assert compared < 0.75 * len(large.oracle.chunks), "the codes do not cut"
    assert large.recall("codes") >= 0.99
    assert large.recall("codes", LARGE_FILTERS["language"]) >= 0.99
    assert large.recall("codes", LARGE_FILTERS["topic"]) >= 0.99
    assert large.recall("auto") >= 0.99


# --- a larger world ---------------------------------------------------------------------------------------------------


def test_a_larger_world(large: Large) -> None:
    _compare_large(large)
    assert not NATIVE or large.recall("index") >= INDEX_RECALL


def test_a_larger_world_after_half_of_it_was_replaced(large: Large) -> None:
    large.replace_half()
    _compare_large(large)
    assert problems(large.world) == []
    large.world.file.compact()
    assert large.world.check().ok
    assert not NATIVE or large.recall("index") >= INDEX_RECALL
    assert large.recall("auto") >= 0.99


def test_candidates_without_clear_neighbours_are_narrowed(large: Large, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(12)
    queries = large.queries
    large.queries = [[chance.choice(words) for words in chance.sample(large.vocabulary, 4)] for _ in range(12)]

    def compared() -> int:
        found = [
            large.world.search(" ".join(words), mode="vector", ranking=worlds.Ranking(plan="codes", candidates=20))
            for words in large.queries
        ]
        return sum(hits.explain.compared or 0 for hits in found)

    before = compared()
    seams.narrow_candidates(monkeypatch)
    assert compared() < 0.8 * before
    assert large.recall("codes", candidates=20) >= 0.99
    large.queries = queries


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
FUSED = """
SCAN found
{normalised}
SEARCH chunks USING INTEGER PRIMARY KEY (rowid=?)
{weighed}
SCALAR SUBQUERY
USE TEMP B-TREE FOR count(DISTINCT)
SCAN weighed
SCAN weighed
USE TEMP B-TREE FOR ORDER BY
SCAN compared
SEARCH chunks USING INTEGER PRIMARY KEY (rowid=?)
USE TEMP B-TREE FOR GROUP BY
CORRELATED SCALAR SUBQUERY
SEARCH terms USING INTEGER PRIMARY KEY (rowid=?)
CORRELATED SCALAR SUBQUERY
SEARCH terms USING INTEGER PRIMARY KEY (rowid=?)
SCAN (subquery)
USE TEMP B-TREE FOR GROUP BY
USE TEMP B-TREE FOR ORDER BY
SCAN fused
SEARCH chunks USING INTEGER PRIMARY KEY (rowid=?)
CORRELATED SCALAR SUBQUERY
SEARCH terms USING INTEGER PRIMARY KEY (rowid=?)
USE TEMP B-TREE FOR ORDER BY
"""
# Where a label is asked for: its text, and whether a quad says that it is one.
WEIGHED = """
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
"""
STEPS = "CO-ROUTINE fused\nCO-ROUTINE (subquery)\nCO-ROUTINE compared\nMATERIALIZE weighed\n"
GIVEN = "MATERIALIZE found\nSCAN json_each VIRTUAL TABLE INDEX 1:"
RANKS = FUSED.format(normalised="", weighed=WEIGHED)
VALUES = FUSED.format(normalised="SCAN bounds\nSCAN found", weighed=WEIGHED)
HERE = f"""MATERIALIZE found
CO-ROUTINE (subquery)
COMPOUND QUERY
LEFT-MOST SUBQUERY
{BY_VECTORS}
UNION ALL
{BY_WORDS}
SCAN (subquery)
USE TEMP B-TREE FOR GROUP BY
"""


def numberless(match: re.Match[str]) -> str:
    return "(subquery)" if match[0].startswith("(") else ""


# The scan of all chunks that have a vector is behind two counts: it is made where the neighbours are too few.
INDEX = """MATERIALIZE candidates
COMPOUND QUERY
LEFT-MOST SUBQUERY
MATERIALIZE admitted
MATERIALIZE neighbours
SCAN vector_top_k VIRTUAL TABLE INDEX 1:
SCAN neighbours
SEARCH chunks USING COVERING INDEX chunks_vector (vector=?)
USE TEMP B-TREE FOR DISTINCT
SCAN admitted
UNION USING TEMP B-TREE
SEARCH chunks USING COVERING INDEX chunks_vector (vector>?)
SCALAR SUBQUERY
SCAN admitted
SCALAR SUBQUERY
SCAN neighbours
SCAN candidates"""


class Crowded(HashingEmbedder):
    """Half of the texts "number 0" to "number 59" are near to each other, where libSQL's graph loses the rest."""

    def __init__(self) -> None:
        super().__init__(8)
        random = np.random.default_rng(1)
        vectors = random.normal(size=(60, self.dimension))
        vectors[:30] = vectors[0] + random.normal(size=(30, self.dimension)) * 0.01
        self.vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        return np.stack(list(map(self.embed_query, texts)))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.asarray(self.vectors[int(text.removeprefix("number "))], np.float32)


@native
def test_the_index_loses_no_vector_of_a_world_that_has_no_more_than_it_is_asked_for() -> None:
    with worlds.open(embedder=Crowded(), vector_index=True) as world:
        world.add([(f"urn:{number}", "urn:p", f'"number {number}"') for number in range(60)])
        for number in (0, 20, 40):
            asked: dict[str, Any] = {"text": f"number {number}", "mode": "vector", "limit": 60}
            found = world.search(**gathered({"plan": "index", **asked}))
            assert [hit.text for hit in found] == [
                hit.text for hit in world.search(**gathered({"plan": "exact", **asked}))
            ]
            assert (found.explain.plan, len(found)) == ("index", 60)


@native
def test_a_large_world_takes_the_index_only_if_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    seams.take_native_indexes(monkeypatch, 60)
    with worlds.open(embedder=Crowded(), vector_index=False) as world:
        world.add([(f"urn:{number}", "urn:p", f'"number {number}"') for number in range(60)])
        assert world.search("number 20").explain.plan == "codes"
        world.file.build_vector_index()
        found = world.search("number 20")
        assert found.explain.plan == "index"
        assert found[0].text == "number 20"


# --- the statement's plan ---------------------------------------------------------------------------------------------


@native
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, STEPS + "MATERIALIZE bounds\n" + GIVEN + VALUES),
        ({"mode": "text", "boost": "2 ?subject ?p ?o"}, STEPS + "MATERIALIZE bounds\n" + GIVEN + VALUES),
        ({"fusion": "rrf"}, STEPS + GIVEN + RANKS),
        ({"plan": "index", "fusion": "rrf"}, f"{STEPS}{HERE}{RANKS}"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_no_statement_scans_a_table(large: Large, options: dict[str, Any], expected: str) -> None:
    sql, parameters = tables.fused(large.world, "some words", **options)
    rows = tables.rows(large.world, "EXPLAIN QUERY PLAN " + sql, parameters)
    plan = [re.sub(r"\(subquery-\d+\)|(?<=SUBQUERY) \d+", numberless, row[3]) for row in rows]
    assert plan == [line for line in expected.format(candidates=INDEX).splitlines() if line]


@pytest.mark.parametrize("embedded", ["all", "some", "none"])
def test_passages_are_found_behind_many_chunks_of_the_same(embedded: str) -> None:
    """Those that are compared at first, forty for ten hits, hold three passages; the others come all the same."""
    tags = [f"{one}{two}" for one in "abcdefgh" for two in "abcdefgh"]
    quads = [
        (f"urn:{number}:{tag}", "urn:p", f'"kite {"kite " * number}"@{tag}') for number in (7, 8, 9) for tag in tags
    ]
    quads += [(f"urn:other{number}", "urn:p", f'"kite {"sand " * (60 + number)}"') for number in range(20)]
    with worlds.open(embedder=None if embedded == "none" else HashingEmbedder()) as world:
        world.add(quads[::2])
        world.add(quads[1::2], embed=embedded == "all")
        found = world.search("kite", explain=True)
        whole = tables.rows(world, found.explain.sql, found.explain.parameters)
        assert [hit.chunk for hit in found] == [row[0] for row in whole][:10]
        assert len({hit.text for hit in found}) == 10
        assert sorted(len(hit.quads) for hit in found) == [1] * 7 + [64] * 3


def test_posting_lists_come_into_the_statement_as_they_are(large: Large, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.keep_posting_lists(monkeypatch, True)
    rows = tables.rows(
        large.world, "EXPLAIN QUERY PLAN " + (said := tables.fused(large.world, "some words"))[0], said[1]
    )
    reads = [row[3] for row in rows if row[3].startswith(("SCAN", "SEARCH")) and "chunks_fts" in row[3]]
    assert not reads


def test_few_vectors_are_read_once_while_the_world_stays_as_it_is() -> None:
    with worlds.open(embedder=HashingEmbedder()) as world:
        kites = [(f"urn:{number}", "rdfs:label", f'"kite number {number}"') for number in range(40)]
        world.add([*kites, *((f"urn:{number}", "rdf:type", "urn:Even") for number in range(0, 40, 2))])

        def asked(**options: Any) -> tuple[list[str], bool]:
            found = world.search("kite number 7", mode="vector", limit=50, **gathered(options))
            assert found.explain.plan == "exact"
            return [hit.text for hit in found], any("embedding" in one.sql for one in found.explain.statements)

        for options in ({}, {"types": "urn:Even"}):
            best, read = asked(**options)
            assert read
            assert asked(**options) == (best, False)
        world.add([("urn:100", "rdfs:label", '"kite number 7 again"'), ("urn:100", "rdf:type", "urn:Even")])
        for options in ({}, {"types": "urn:Even"}):
            best, read = asked(**options)
            assert read
            assert "kite number 7 again" in best
        world.remove([("urn:100", "rdfs:label", '"kite number 7 again"')])
        assert "kite number 7 again" not in asked()[0]
