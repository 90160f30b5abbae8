"""Words that are found by posting lists in memory find what a scan of the full-text index finds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support import seams
from tests.support.embedder import HashingEmbedder
from worlds import World
from worlds.core.search.options import gathered

WORDS = ("kite", "kites", "heron", "running", "run", "über", "b2b", "the", "zero\0word", "pine-tree", "中文分词", "a")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), min_size=1, max_size=14, unique=True)
ASKED = (*WORDS, "nowhere", '"kite heron"', '"kite kite"', "-heron", '-"run kites"', "run*", "covid-19", "中文", "🤔")
QUESTIONS = st.lists(st.sampled_from(ASKED), max_size=6).map(" ".join)
OPTIONS = st.sampled_from((
    {}, {"mode": "text"}, {"limit": 2}, {"predicates": "urn:p"}, {"predicates": "urn:q", "mode": "text"},
    {"min_similarity": 0.1}, {"candidates": 3},
))  # fmt: skip


def found(world: World, text: str, lists: bool, options: dict[str, Any], postings: int = 1000) -> list[tuple[Any, ...]]:
    with pytest.MonkeyPatch.context() as patch:
        seams.keep_posting_lists(patch, lists, postings)
        options = gathered({"fusion": "rrf", **options})  # in which lengths count as in FTS5
        hits = world.search(text, explain=True, **options)
    assert hits.explain.words in ((None, "lists", "scan", "eligible") if lists else (None, "scan", "eligible"))
    legs = [hit.explain or {} for hit in hits]
    return [
        (hit.text, hit.score, *((leg[name].rank, leg[name].value) if leg.get(name) else (None, None) for name in leg))
        for hit, leg in zip(hits, legs, strict=True)
    ]


def same(world: World, text: str, options: dict[str, Any], postings: int = 1000) -> None:
    lists, scanned = (found(world, text, always, options, postings) for always in (True, False))
    assert [hit[0] for hit in lists] == [hit[0] for hit in scanned]
    for mine, other in zip(lists, scanned, strict=True):
        assert math.isclose(mine[1], other[1], rel_tol=1e-12)
        for (rank, value), (scan_rank, scan_value) in zip(mine[2:], other[2:], strict=True):
            assert rank == scan_rank
            assert (value is None) == (scan_value is None)
            assert value is None or math.isclose(value, scan_value, rel_tol=1e-12, abs_tol=1e-15)


def test_beginnings_find_what_a_scan_finds(world: World) -> None:
    world.add(
        [("urn:s", "urn:p", f'"{text}"') for text in ("kite", "kites run", "runner heron", "über kit", "a b-kit")]
    )
    for asked in ('"kit"*', '"kit"* OR "run"*', '"her"* OR "kit"* OR "xyz"*'):
        same(world, asked, {"mode": "text", "syntax": "fts5"})


def quads(texts: list[str], predicate: str) -> list[tuple[str, str, str]]:
    return [("urn:s", predicate, f'"{text}"') for text in texts if text.strip()]


@given(TEXTS, TEXTS, st.lists(QUESTIONS, min_size=1, max_size=3), OPTIONS, st.sampled_from((1, 1000)))
def test_they_find_what_a_scan_finds(
    texts: list[str], others: list[str], asked: list[str], options: dict[str, Any], postings: int
) -> None:
    with worlds.open(embedder=HashingEmbedder(8), vector_index=False) as world:
        world.add(quads(texts, "urn:p") + quads(others, "urn:q"))
        for text in asked:
            same(world, text, options, postings)


class UndoneError(Exception):
    pass


@given(st.data())
def test_they_follow_every_write(data: st.DataObject) -> None:
    """Also those of an open transaction, what it takes back, and what another connection writes."""
    with worlds.open(embedder=HashingEmbedder(8), vector_index=False) as world:
        world.add(quads(["kite heron", "kite kite run"], "urn:p"))
        for _ in range(data.draw(st.integers(1, 6))):
            texts = data.draw(TEXTS)
            match data.draw(st.sampled_from(("add", "remove", "undo", "transaction", "rollback", "policy"))):
                case "add":
                    world.add(quads(texts, "urn:p"))
                case "remove":
                    world.remove(quads(texts, "urn:p"))
                case "undo" if world.history():
                    world.undo(world.history()[0].revision)
                case "policy":
                    world.policy = worlds.records.TextPolicy(
                        tokenizer=data.draw(st.sampled_from(("porter", "unicode")))
                    )
                case _ as kind:
                    with pytest.MonkeyPatch.context() as patch:
                        seams.keep_posting_lists(patch, True)
                        try:
                            with world.transaction():
                                world.add(quads(texts, "urn:p"))
                                same(world, data.draw(QUESTIONS), {})
                                if kind == "rollback":
                                    raise UndoneError
                        except UndoneError:
                            pass
            same(world, data.draw(QUESTIONS), {})


def test_another_process_and_a_reader_see_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.keep_posting_lists(monkeypatch, True)
    with (
        worlds.open(tmp_path / "kb.db", embedder=None) as writer,
        worlds.open(tmp_path / "kb.db", embedder=None) as other,
        worlds.open(tmp_path / "kb.db", embedder=None, read_only=True) as reader,
    ):
        for text in ("a kite", "kites and herons", "no bird"):
            writer.add([("urn:s", "urn:p", f'"{text}"')])
            for world in (writer, other, reader):
                hits = world.search("kite heron")
                assert hits.explain.words == "lists"
                assert {hit.text for hit in hits} == {hit.text for hit in writer.search("kite OR heron", syntax="fts5")}
        with pytest.raises(worlds.ReadOnlyError):
            reader.add([("urn:s", "urn:p", '"a kite"')])


def test_large_worlds_have_them() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(f"urn:s{number}", "urn:p", f'"kite {number}"') for number in range(4000)])
        assert world.search("kite 17").explain.words == "lists"
        assert world.search("kite 17", subjects="urn:s17").explain.words == "lists"
        assert world.search("kit*").explain.words == "lists"
        assert world.search("kite AND 17", syntax="fts5").explain.words == "scan"
        assert [hit.text for hit in world.search("kite 17")][:1] == ["kite 17"]
