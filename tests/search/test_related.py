"""`related=True`: a walk over the quads from the first hits adds the texts that a question over two of them needs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import World
from worlds.core.search.related import page_rank

EX = "http://example.org/"
QUESTION = "which firm pays for the project that Ann Ferro leads"
FILLERS = [f"Minutes number {number}: the budget of the yearly fair was read and nobody spoke." for number in range(40)]
SAID = {
    "ex:d1": "Ann Ferro leads the Halden project.",
    "ex:d2": "Money for Halden comes from Norvik.",
    "ex:d3": "Bob Hale leads the Tyra project.",
    "ex:d4": "Money for Tyra comes from Ostmark.",
}
LINKS = {"ex:d1": ("ex:ann", "ex:halden"), "ex:d2": ("ex:halden", "ex:norvik"), "ex:d3": ("ex:bob", "ex:tyra")}
LINKS["ex:d4"] = ("ex:tyra", "ex:ostmark")


def opened(how: str, embedder: Any = None) -> World:
    """A world of documents, whose facts are connected with them by mentions, by their graphs, or by reifiers."""
    world = worlds.open(":memory:", embedder=embedder)
    world.bind("ex", EX)
    world.policy = world.policy.with_(statements=how == "reifiers")
    quads: list[tuple[Any, ...]] = [(f"ex:f{number}", "ex:text", f'"{text}"') for number, text in enumerate(FILLERS)]
    quads += [(document, "ex:text", f'"{text}"') for document, text in SAID.items()]
    for document, (start, end) in LINKS.items():
        if how == "mentions":
            quads += [(document, "schema:mentions", start), (document, "schema:mentions", end)]
        elif how == "graphs":
            quads.append((start, "ex:about", end, document))
        elif how == "reifiers":
            subject, object_ = (f"<{EX}{one[3:]}>" for one in (start, end))
            world.update(
                f"PREFIX ex: <{EX}> INSERT DATA {{ {subject} ex:about {object_} . "
                f"<{EX}r{document[4:]}> rdf:reifies <<( {subject} ex:about {object_} )>> ; ex:source {document} }}"
            )
    world.add(quads)
    return world


def subjects(hits: Any) -> list[str]:
    return [str(hit.subject).removeprefix(EX) for hit in hits]


@pytest.mark.parametrize("how", ["mentions", "graphs", "reifiers"])
@pytest.mark.parametrize("embedder", [None, HashingEmbedder()], ids=["words", "vectors"])
def test_both_documents_of_a_question_are_found(how: str, embedder: Any) -> None:
    with opened(how, embedder) as world:
        plain = world.search(QUESTION, limit=50)
        hits = world.search(QUESTION, limit=50, ranking=worlds.Ranking(related=True))
        assert subjects(hits)[:2] == subjects(plain)[:2]
        assert subjects(hits).index("d2") < (10 if how == "reifiers" else 4)
        assert embedder or "d2" not in subjects(plain)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert not any(hit.path for hit in plain)


def test_a_hit_tells_the_path_to_it_and_its_stage() -> None:
    with opened("mentions") as world:
        hits = world.search("Ann Ferro leads", limit=10, ranking=worlds.Ranking(related=True), explain=True)
        (second,) = [hit for hit in hits if hit.subject.endswith("d2")]
        assert [[str(part).removeprefix(EX) for part in (quad[0], quad[2])] for quad in second.path] == [
            ["d1", "halden"],
            ["d2", "halden"],
        ]
        assert all(quad in set(world.quads()) for quad in second.path)
        told = json.loads(hits.to_json())["hits"][list(hits).index(second)]
        assert len(told["path"]) == 2
        assert second.steps is not None
        assert [step.stage for step in second.steps] == ["related"]
        assert 0 < second.steps[0].detail["weight"] <= 1  # type: ignore[operator]
        assert hits.explain.stages == ("related",)
        assert "related" in hits.explain.milliseconds


def test_without_links_all_is_as_without_the_walk() -> None:
    with opened("nothing", HashingEmbedder()) as world:
        for question in (QUESTION, "budget of the fair", "", "nobody"):
            plain, related = (
                world.search(question, limit=50, ranking=worlds.Ranking(related=flag)) for flag in (False, True)
            )
            assert [(hit.chunk, hit.score) for hit in plain] == [(hit.chunk, hit.score) for hit in related]


def test_the_walk_keeps_to_the_filters() -> None:
    with opened("graphs") as world:
        kept = world.search(QUESTION, limit=50, ranking=worlds.Ranking(related=True), graphs=["default"])
        assert not any(hit.path for hit in kept)
        assert subjects(kept) == subjects(world.search(QUESTION, limit=50, graphs=["default"]))
    with opened("mentions") as world:
        hits = world.search(QUESTION, limit=50, ranking=worlds.Ranking(related=True), exclude={"subjects": "ex:d2"})
        assert "d1" in subjects(hits)
        assert "d2" not in subjects(hits)
        scope = world.only(graphs=["default"])
        assert subjects(scope.search(QUESTION, ranking=worlds.Ranking(related=True))) == subjects(
            world.search(QUESTION, ranking=worlds.Ranking(related=True))
        )


def test_pages_are_parts_of_the_whole() -> None:
    with opened("mentions", HashingEmbedder()) as world:
        whole = world.search(QUESTION, limit=12, ranking=worlds.Ranking(related=True))
        pages, cursor = [], None
        for _ in range(4):
            page = world.search(QUESTION, limit=3, ranking=worlds.Ranking(related=True), cursor=cursor)
            pages += list(page)
            cursor = page.cursor
        assert [hit.chunk for hit in pages] == [hit.chunk for hit in whole]


def test_other_stages_follow_it() -> None:
    with opened("mentions") as world:
        hits = world.search(
            QUESTION, limit=5, ranking=worlds.Ranking(related=True, boost="3 ?subject a ex:Nothing"), group_by="subject"
        )
        assert "d2" in subjects(hits)
        assert hits.explain.stages == ("related", "boost", "group")
        assert len(set(subjects(hits))) == len(hits)


def test_it_may_be_a_default_of_the_world_and_stands_in_queries() -> None:
    with opened("mentions") as world:
        expected = subjects(world.search(QUESTION, limit=4, ranking=worlds.Ranking(related=True)))
        asked = f'SERVICE w:search {{ ?hit w:query "{QUESTION}" ; w:related true ; w:limit 4 ; w:subject ?s }}'
        rows: Any = world.query(f"SELECT ?s {{ {asked} }}")
        assert sorted(str(row["s"]).removeprefix(EX) for row in rows) == sorted(expected)
        assert "Norvik" in world.context(QUESTION, ranking=worlds.Ranking(related=True), hops=0).text
        world.policy = world.policy.with_(search={"related": True})
        assert subjects(world.search(QUESTION, limit=4)) == expected
        assert world.search(QUESTION).explain.defaults["related"] == "policy"
        with pytest.raises(ValueError, match="related must be True or False"):
            world.search(QUESTION, ranking=worlds.Ranking(related="yes"))  # type: ignore[arg-type]


def test_several_worlds_say_that_they_are_not_walked() -> None:
    with opened("mentions") as one, opened("mentions") as other:
        hits = worlds.group({"one": one, "other": other}).search(QUESTION, ranking=worlds.Ranking(related=True))
        assert [note for note in hits.notes if "related" in note]


@given(st.data())
def test_page_rank_is_the_walkers_share_of_time(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 8))
    nodes = st.integers(0, count - 1)
    pairs = data.draw(st.sets(st.tuples(nodes, nodes), max_size=20))
    start = np.array(data.draw(st.lists(st.integers(0, 5), min_size=count, max_size=count)), dtype=float)
    start[data.draw(nodes)] += 1
    start /= start.sum()
    moves = np.zeros((count, count))
    for source in range(count):
        targets = [target for one, target in pairs if one == source]
        for target in targets:
            moves[source, target] = 1 / len(targets)
        if not targets:
            moves[source] = start
    expected = np.linalg.solve(np.eye(count) - 0.5 * moves.T, 0.5 * start)
    edges = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    found = page_rank(edges[:, 0], edges[:, 1], start)
    assert np.allclose(found, expected, atol=1e-4)
