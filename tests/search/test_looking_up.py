"""Few eligible texts are looked up in the full-text index one by one, which finds what a scan of it finds."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from tests.support import seams, tables
from tests.support.embedder import HashingEmbedder
from worlds import World
from worlds.core.search.options import gathered

WORDS = ("kite", "kites", "heron", "running", "run", "über", "b2b", "the", "zero\0word", "pine-tree", "a")
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join), min_size=1, max_size=12, unique=True)
QUESTIONS = st.lists(st.sampled_from((*WORDS, "nowhere", '"red kite"', "-heron", "run*")), max_size=6).map(" ".join)
OPTIONS = st.sampled_from(({}, {"mode": "text"}, {"fusion": "rrf"}, {"fusion": "weighted"}, {"limit": 2}))


def found(world: World, text: str, always: bool, options: dict[str, Any]) -> list[tuple[str, float, float | None]]:
    with pytest.MonkeyPatch.context() as patch:
        seams.look_up_texts(patch, always)
        hits = world.search(text, predicates="urn:p", explain=True, **gathered(options))
    return [(hit.text, hit.score, leg.value if (leg := (hit.explain or {}).get("text")) else None) for hit in hits]


@settings(max_examples=60, deadline=None)
@given(TEXTS, TEXTS, QUESTIONS, OPTIONS)
def test_it_finds_what_a_scan_finds(texts: list[str], others: list[str], asked: str, options: dict[str, Any]) -> None:
    with worlds.open(embedder=HashingEmbedder(8), vector_index=False) as world:
        world.add([("urn:s", "urn:p", f'"{text}"') for text in texts if text.strip()])
        world.add([("urn:s", "urn:q", f'"{text}"') for text in others if text.strip()])
        looked_up, scanned = (found(world, asked, always, options) for always in (True, False))
        assert [text for text, _, _ in looked_up] == [text for text, _, _ in scanned]
        for (_, score, bm25), (_, scan_score, scan_bm25) in zip(looked_up, scanned, strict=True):
            assert math.isclose(score, scan_score, rel_tol=1e-6, abs_tol=1e-9)
            assert (bm25 is None) == (scan_bm25 is None)
            assert bm25 is None or scan_bm25 is None or math.isclose(bm25, scan_bm25, rel_tol=1e-6, abs_tol=1e-12)


def test_it_is_taken_where_it_costs_less() -> None:
    words = random.Random(5)
    with worlds.open(embedder=None) as world:
        world.add([(f"urn:s{number}", "urn:p", f'"kite {words.random()}"') for number in range(2000)])
        for subjects, few in ((["urn:s7"], True), ([f"urn:s{number}" for number in range(50)], False)):
            assert ("highlight(" in tables.fused(world, "kite", subjects=subjects)[0]) == few
            assert len(world.search("kite", subjects=subjects, limit=50)) == len(subjects)
        assert "highlight(" not in tables.fused(world, "kite -pine", subjects="urn:s7")[0]
        assert "highlight(" not in tables.fused(world, "kite")[0]
