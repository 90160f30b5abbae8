"""Any filter over any small world, and plans over a larger one: the hits are those that an oracle works out."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from tests.support import seams, tables
from tests.support.drivers import PLANS
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import (
    Oracle,
)
from tests.support.search_worlds import CLASSES, GRAPHS, OPTIONS, SUBJECTS, TERMS, WORDS, compare, filters, quad
from worlds.core.search.options import gathered

LITERALS = [name for name, term in TERMS.items() if isinstance(term, ox.Literal)]


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


@st.composite
def searches(draw: st.DrawFn) -> dict[str, Any]:
    filter_ = draw(filters)
    return {
        "words": draw(st.lists(st.sampled_from([*WORDS, "number", "osprey"]), min_size=1, max_size=3, unique=True)),
        "filter_": filter_,
        "mode": draw(st.sampled_from(["hybrid", "hybrid", "vector", "text"])),
        "plan": draw(st.sampled_from(["auto", *PLANS])),
        "limit": draw(st.sampled_from([1, 2, 3, 5, 10, 50])),
        "candidates": draw(st.sampled_from([None, None, 1, 2, 4, 100])),
        "k": draw(st.sampled_from([60, 60, 0, 0.5, 10])),
        "weights": draw(st.sampled_from([None, None, {"vector": 0.3, "text": 2.0}, {"text": 0.0}, {"vector": 0.0}])),
        "fusion": draw(st.sampled_from(["rrf", "relative"])),
        "normalise": draw(st.sampled_from(["minmax", "theoretical"])),
        "min_similarity": draw(st.sampled_from([None, None, 0.1234, 0.4321])),
    }


@pytest.mark.timeout(1200)  # to make a failing example small takes longer than the test
@given(
    names=small_worlds,
    asked=st.lists(searches(), min_size=1, max_size=6),
    wide=st.booleans(),
)
def test_finds_what_the_reference_finds(names: list[str], asked: list[dict[str, Any]], wide: bool) -> None:
    quads = [quad(name) for name in names]
    embedder = HashingEmbedder()
    with pytest.MonkeyPatch.context() as patch, worlds.open(embedder=embedder) as world:
        if wide:
            seams.take_filters_for_wide(patch)
        world.add(quads)
        oracle = Oracle(quads, embedder)
        for search in asked:
            if search["plan"] == "index" and not oracle.chunks:
                continue  # there is no vector, so there is no index
            found = compare(world, oracle, search)
            if search["mode"] != "text" and world.stats().embedder is not None and search["plan"] != "auto":
                assert found.explain.plan == search["plan"]
            if search["plan"] == "index" and search["fusion"] == "rrf" and search["candidates"] in (None, 100):
                steps = [one.step for one in found.explain.statements]
                assert steps.count("statement") == 1, "and nothing that vectors or words come from"
            if search["filter_"].empty:
                assert found.explain.eligible is None
            else:
                assert found.explain.eligible == len({chunk.text for chunk in oracle.eligible(search["filter_"])})


@settings(max_examples=settings.default.max_examples // 2)  # type: ignore[union-attr]  # there is a default
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
        found = world.search(query, **gathered(options))
        ran = world.search_sql(query, **gathered(options))
        _, sql, parameters = [one for one in ran if one.step == "statement"][-1]
        rows = tables.rows(world, sql, parameters)
        assert [(row[0], row[1]) for row in rows][: len(found)] == [(hit.chunk, hit.score) for hit in found]
        assert len(rows) <= len(found) + 1


def test_a_filter_by_a_link_finds_the_profiles_that_tell_of_it() -> None:
    quads = [
        ("urn:solaris", "rdfs:label", '"Solaris"'),
        ("urn:solaris", "urn:director", "urn:andrei"),
        ("urn:andrei", "rdfs:label", '"Andrei Tarkovsky"'),
        ("urn:stalker", "rdfs:label", '"Stalker"'),
        ("urn:stalker", "urn:year", '"1979"'),
    ]
    with worlds.open(embedder=None) as world:
        world.add(quads)
        asked: dict[str, Any] = {"predicates": "urn:director"}
        assert not world.search("tarkovsky", **asked), "there is no profile"
        world.policy = world.policy.with_(profiles=True)
        (hit,) = world.search("tarkovsky", **asked)
        assert str(hit.subject) == "urn:solaris"
        assert "urn:director" in {str(quad[1]) for quad in hit.quads}
        assert not world.search("stalker", **asked)
        assert {str(hit.predicate) for hit in world.search("solaris", predicates="rdfs:label")} == {
            "http://www.w3.org/2000/01/rdf-schema#label"
        }
        assert [str(hit.predicate) for hit in world.search("1979", predicates="urn:year")] == ["urn:year"]
        world.policy = world.policy.with_(profile_predicates=["urn:year"])
        assert not world.search("tarkovsky", **asked), "the profiles do not tell of it"
