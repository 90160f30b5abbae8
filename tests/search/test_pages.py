"""Paging by cursors."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox
import pytest

import worlds
from tests.support.stages import EX, Counting, Known
from worlds import World
from worlds.core.search.options import gathered
from worlds.records import SearchResults

PAGED: list[dict[str, Any]] = [
    {},
    {"mode": "text"},
    {"fusion": "relative"},
    {"diversity": 0.4},
    {"group_by": "subject"},
    {"group_by": "subject", "per_subject": 2, "boost": "2 ?subject a ex:A"},
    {"decay": {"predicate": "ex:date", "half_life": 900}},
]


def pages(world: World, question: str, limit: int, **options: Any) -> Iterator[SearchResults]:
    cursor: str | None = None
    while True:
        found = world.search(question, limit=limit, cursor=cursor, **gathered(options))
        yield found
        if found.cursor is None:
            return
        cursor = found.cursor


@pytest.mark.parametrize("options", PAGED, ids=str)
def test_pages_put_together_are_one_search(known: Known, options: dict[str, Any]) -> None:
    whole = known.world.search("kite river", limit=100, **gathered(options))
    found = [hit for page in pages(known.world, "kite river", 7, **options) for hit in page]
    assert [(hit.chunk, hit.subject) for hit in found] == [(hit.chunk, hit.subject) for hit in whole]
    assert [hit.score for hit in found] == pytest.approx([hit.score for hit in whole])


@pytest.mark.parametrize("mode", ["text", "vector", "hybrid"])
def test_scores_of_pages_are_those_of_a_long_search_within_the_candidates(known: Known, mode: str) -> None:
    options: dict[str, Any] = {"mode": mode, "candidates": 40}
    whole = known.world.search("kite river", limit=40, **gathered(options))
    found = [page for page, _ in zip(pages(known.world, "kite river", 10, **options), range(5), strict=False)]
    hits = [hit for page in found for hit in page]
    assert [hit.score for hit in hits[:40]] == pytest.approx([hit.score for hit in whole])
    beyond = ["is beyond the 40 candidates" in " ".join(page.notes) for page in found]
    assert len(found) == 5 or mode == "text"
    assert beyond == ([False] * 4 + [True])[: len(found)]
    rrf = [page for page, _ in zip(pages(known.world, "kite", 30, fusion="rrf", candidates=40), range(2), strict=False)]
    assert "beyond" not in " ".join(rrf[1].notes)


def test_pages_with_a_reranker(known: Known) -> None:
    whole = known.world.search("kite river", limit=40, rerank=Counting(), ranking=worlds.Ranking(rerank_top=20))
    found = [hit for page in pages(known.world, "kite river", 9, rerank=Counting(), rerank_top=20) for hit in page]
    assert [hit.chunk for hit in found][:40] == [hit.chunk for hit in whole]


@pytest.mark.parametrize("options", [PAGED[0], PAGED[3], PAGED[5]], ids=str)
def test_while_the_world_changes_no_hit_is_given_twice_and_none_that_stays_is_missed(options: dict[str, Any]) -> None:
    known = Known(100)
    chance = random.Random(0)
    with known.world as world:
        staying = {hit.chunk for hit in world.search("kite river", limit=200, mode=options.get("mode", "hybrid"))}
        subjects = {str(hit.subject) for hit in world.search("kite river", limit=200, group_by="subject")}
        found: list[tuple[int, str]] = []
        for number, page in enumerate(pages(world, "kite river", 8, **options)):
            found += [(hit.chunk, str(hit.subject)) for hit in page]
            for new in range(3):  # better than all that were there
                text = f"kite river kite river {number} {new}" if number < 6 else f"other {number} {new}"
                world.add([(f"{EX}new{number}-{new}", EX + "label", ox.Literal(text))])
            if number < 4:
                gone = f"{EX}s{chance.randrange(30)}"
                removed = [quad for quad in world.quads(gone) if str(quad[1]) in (EX + "label", EX + "note")]
                world.remove(removed)
                subjects.discard(gone)
                staying &= {hit.chunk for hit in world.search("kite river", limit=200)}
            assert number < 100
        assert len(set(found)) == len(found), "a hit was given twice"
        if "group_by" in options:
            per = options.get("per_subject", 1)
            given = [subject for _, subject in found]
            assert max(map(given.count, given)) <= per
            assert subjects <= set(given), "a subject that stayed was missed"
        else:
            assert staying <= {chunk for chunk, _ in found}, "a hit that stayed was missed"


def test_a_cursor_belongs_to_its_search(known: Known) -> None:
    cursor = known.world.search("kite river", limit=3).cursor
    assert cursor is not None
    assert len(known.world.search("kite river", limit=50, cursor=cursor)) > 3, "only the limit may differ"
    others: list[dict[str, Any]] = [{"mode": "text"}, {"types": "ex:A"}, {"boost": "2 ex:size"}, {"k": 1}]
    for options in others:
        with pytest.raises(ValueError, match="another search"):
            known.world.search("kite river", cursor=cursor, **gathered(options))
    with pytest.raises(ValueError, match="another search"):
        known.world.search("kite", cursor=cursor)
    for wrong in ("", "é", cursor[:-3], cursor + "AAAA", cursor.swapcase(), "eJw" * 9):
        with pytest.raises(ValueError, match="cursor"):
            known.world.search("kite river", cursor=wrong)


def test_a_cursor_of_many_pages_is_short() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(f"{EX}s{number}", EX + "label", ox.Literal(f"kite {number}")) for number in range(3000)])
        cursor = world.search("kite", limit=2000).cursor
    assert cursor is not None
    assert len(cursor) < 3000


def test_a_cursor_behind_some_of_the_hits_goes_on_there() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(f"urn:{n}", "urn:p", f'"kite {n} {"kite " * (n % 5)}"') for n in range(12)])
        found = world.search("kite", limit=8)
        assert found.cursor == found.cursor_after(8)
        rest = world.search("kite", limit=5, cursor=found.cursor_after(3))
        assert [hit.subject for hit in rest] == [hit.subject for hit in found][3:8]
