"""Data frames, and the tables that a notebook shows."""

from __future__ import annotations

import pytest

import worlds


@pytest.fixture
def world() -> worlds.World:
    found = worlds.open(":memory:", embedder=None)
    found.add([(f"urn:s{number}", "rdfs:label", f'"<b>text</b> {number}"') for number in range(60)])
    return found


def test_searches_resolutions_solutions_and_histories_are_tables(world: worlds.World) -> None:
    hits = world.search("text", limit=3)
    rows = hits.to_dicts()
    assert [row["subject"] for row in rows] == [str(hit.subject) for hit in hits]
    assert list(rows[0]) == ["rank", "score", "subject", "label", "predicate", "graph", "snippet"]
    candidate = world.resolve("<b>text</b> 7").to_dicts()[0]
    assert (candidate["iri"], candidate["label"]) == ("urn:s7", "<b>text</b> 7")
    solutions = world.query("SELECT ?s ?l { ?s rdfs:label ?l }")
    assert isinstance(solutions, worlds.records.Solutions)
    revisions = world.history()
    assert revisions == list(revisions)
    assert [row["revision"] for row in revisions.to_dicts()] == [1]
    for told in (hits, world.resolve("text 7"), solutions, revisions):
        shown = told._repr_html_()
        assert shown.startswith("<table>")
        assert "<b>" not in shown
    assert "and 10 more" in solutions._repr_html_()
    assert world.search("nothing")._repr_html_().count("<tr>") == 1


def test_searches_resolutions_and_histories_are_data_frames(world: worlds.World) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    assert list(world.search("text", limit=2).to_dataframe()["rank"]) == [1, 2]
    assert "confidence" in world.resolve("text 7").to_dataframe().columns
    assert list(world.history().to_dataframe()["added"]) == [60]
