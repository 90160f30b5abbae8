"""What a search says of itself is so: its plan, its cursor, its notes, and why a score is what it is."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support.drivers import native
from tests.support.embedder import HashingEmbedder

EX = "http://example.org/"
NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
RERANKED = """
    PREFIX w: <urn:worlds:>
    SELECT ?text { SERVICE w:search { ?hit w:query "kite" ; w:text ?text ; w:rerank true } }
"""


@pytest.fixture
def world() -> Iterator[worlds.World]:
    with worlds.open(embedder=HashingEmbedder(16), vector_index=True) as world:
        world.add([(f"{EX}{number}", EX + "text", f'"red kite number {number}"') for number in range(7)])
        yield world


@native
def test_the_plan_that_is_told_is_the_one_that_was_followed(world: worlds.World) -> None:
    found = world.search("kite", ranking=worlds.Ranking(plan="index"), explain=True).explain
    assert (found.plan, found.compared, found.reason) == ("index", None, "as asked")
    assert any("vector_top_k" in one.sql for one in found.statements)


@given(texts=st.integers(1, 12), limit=st.integers(1, 6), mode=st.sampled_from(["text", "vector", "hybrid"]))
def test_there_is_a_cursor_where_something_follows_and_nowhere_else(texts: int, limit: int, mode: str) -> None:
    with worlds.open(embedder=HashingEmbedder(16)) as world:
        world.add([(f"{EX}{number}", EX + "text", f'"red kite number {number}"') for number in range(texts)])
        given: list[str] = []
        cursor = None
        for _ in range(texts // limit + 2):
            page = world.search("kite", limit=limit, mode=mode, cursor=cursor)  # type: ignore[arg-type]
            assert len(page), "a page that a cursor leads to is never empty"
            given += [str(hit.subject) for hit in page]
            cursor = page.cursor
            assert (cursor is None) == (len(given) == texts)
            if cursor is None:
                break
        assert len(set(given)) == texts


def test_a_group_gives_a_cursor_where_something_follows_and_nowhere_else() -> None:
    with worlds.open(embedder=None) as one, worlds.open(embedder=None) as other:
        for world, name in ((one, "one"), (other, "other")):
            world.add([(f"{EX}{name}{number}", EX + "text", f'"kite {name} {number}"') for number in range(3)])
        with worlds.group({"one": one, "other": other}) as group:
            assert group.search("kite", limit=6).cursor is None
            assert group.search("kite", limit=10).cursor is None
            page = group.search("kite", limit=4)
            assert page.cursor is not None
            assert len(last := group.search("kite", limit=4, cursor=page.cursor)) == 2
            assert last.cursor is None


def test_a_subject_with_more_texts_than_are_shown_leaves_nothing_to_follow(world: worlds.World) -> None:
    world.add([(EX + "0", EX + "text", f'"a kite, once more {number}"') for number in range(5)])
    page = world.search("kite", mode="text", group_by="subject", per_subject=2, limit=20)
    assert page.cursor is None


def test_sparql_says_that_it_was_not_reranked(world: worlds.World) -> None:
    found = world.query(RERANKED)
    assert len(found) == 7  # type: ignore[arg-type]
    assert [note for note in found.notes if note.startswith("not reranked: ")]  # type: ignore[union-attr]
    assert [note for note in world.explain(RERANKED).notes if note.startswith("not reranked: ")]


def test_a_folder_that_is_not_there_is_no_model_to_download(world: worlds.World) -> None:
    (note,) = world.search("kite", rerank="/nonexistent/model").notes
    if "not installed" not in note:
        assert "hf download" not in note
        assert "there is no such folder" in note


def test_a_text_without_a_date_does_not_win_by_its_lack_of_one() -> None:
    """Decay scales the fused score: a worse text without a date stays behind a better one that is not old."""
    with worlds.open(embedder=None) as world:
        date = '"2026-05-20"^^<http://www.w3.org/2001/XMLSchema#date>'
        world.add([(EX + "good", EX + "text", '"kite kite kite"'), (EX + "good", EX + "date", date)])
        world.add([(f"{EX}poor{n}", EX + "text", f'"a kite, and {"many other words " * 9}{n}"') for n in range(5)])
        decay = {
            "predicate": EX + "date",
            "half_life": 30,
            "now": NOW,
        }
        plain = {hit.subject: hit.score for hit in world.search("kite", mode="text")}
        found = world.search("kite", mode="text", ranking=worlds.Ranking(decay=decay), explain=True)
        assert str(found[0].subject) == EX + "good"
        for hit in found:
            assert hit.steps
            assert hit.score == pytest.approx(plain[hit.subject] * hit.steps[-1].detail["factor"])  # type: ignore[operator]


def test_rdflib_is_imported_when_a_term_of_a_hit_is_read_first() -> None:
    script = """
import sys, worlds
with worlds.open(embedder=None) as world:
    world.add([("urn:a", "rdfs:label", '"red kite"@en'), ("urn:a", "rdf:type", "urn:Bird")])
    (hit,) = found = world.search("kite")
    told = found.to_dict()["hits"][0]
    assert (told["subject"], told["types"], told["quads"][0][2]) == ("urn:a", ["urn:Bird"], '"red kite"@en')
    assert (hit.text, hit.label, hit.language, hit.graph) == ("red kite", "red kite", "en", None)
    assert "rdflib" not in sys.modules
    subject, predicate, literal, graph = hit.quads[0]
    assert isinstance(hit.subject, sys.modules["rdflib"].URIRef)
    assert (hit.subject, hit.predicate, hit.literal, hit.graph) == (subject, predicate, literal, graph)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=100, check=False)
    assert not ended.returncode, ended.stderr


def test_a_hit_has_the_label_and_types_that_its_subject_has_now(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "a.db", embedder=None) as world, worlds.open(tmp_path / "a.db", embedder=None) as other:
        world.add([("urn:a", EX + "text", '"red kite"')])
        for number, writer in enumerate((world, other, world)):
            (hit,) = world.search("kite")
            assert (hit.label, len(hit.types)) == (f"name {number}" if number else None, number)
            if number:
                writer.remove([("urn:a", "rdfs:label", f'"name {number}"')])
            writer.add([("urn:a", "rdfs:label", f'"name {number + 1}"'), ("urn:a", "rdf:type", f"urn:Kind{number}")])
        with pytest.raises(RuntimeError), world.transaction():
            world.add([("urn:a", "rdf:type", "urn:Undone")])
            assert len(world.search("kite")[0].types) == 4
            raise RuntimeError
        assert len(world.search("kite")[0].types) == 3
