"""A group of worlds answers as one world of the same data does."""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import EmbedderError, Group, World
from worlds.core.search.options import gathered
from worlds.records import SearchResults

EX = "http://example.org/"
SHARDS = 4
WORDS = [f"{first}{second}" for first in ("kite", "lake", "pine", "river", "stone", "cloud") for second in "abcdefghij"]


class Both(NamedTuple):
    one: World
    group: Group


def _text(random_: random.Random) -> str:
    """Words by Zipf's law, so that some stand in most texts and some in few."""
    weights = [1 / rank for rank in range(1, len(WORDS) + 1)]
    return " ".join(random_.choices(WORDS, weights, k=random_.randint(3, 140)))


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    """Subjects with two texts, a type and a year, in one world and by subject in four."""
    random_ = random.Random(7)
    documents: list[list[str]] = [[] for _ in range(SHARDS)]
    for number in range(400):
        subject = f"<{EX}s{number}>"
        lines = [
            f"{subject} a <{EX}{'Bird' if number % 3 else 'Toy'}> .",
            f"{subject} <{EX}year> {1990 + number % 40} .",
            f'{subject} <{EX}note> "{_text(random_)} {number}"@{random_.choice(["en", "de"])} .',
            f'{subject} <{EX}more> "{_text(random_)}" .',
            f'{subject} <http://www.w3.org/2000/01/rdf-schema#label> "{random_.choice(WORDS)} number {number}" .',
        ]
        # Shards of different sizes, so that their statistics differ.
        documents[min(number % 7, SHARDS - 1)] += lines
    embedder = HashingEmbedder()
    one = worlds.open(embedder=embedder)
    shards = {}
    for number, lines in enumerate(documents):
        one.load("\n".join(lines).encode(), format="turtle")  # one by one: of equals the first is best
        shards[f"shard{number}"] = worlds.open(embedder=embedder)
        shards[f"shard{number}"].load("\n".join(lines).encode(), format="turtle")
    with one, worlds.group(shards) as group:
        yield Both(one, group)
        for shard in shards.values():
            shard.close()


FILTERS: list[dict[str, Any]] = [
    {},
    {"types": EX + "Toy"},
    {"languages": "de"},
    {"where": f"?subject <{EX}year> ?y FILTER(?y > 2000)", "exclude": {"predicates": EX + "more"}},
]


def _scores(results: SearchResults) -> list[float]:
    return [hit.score for hit in results]


def _same(one: SearchResults, many: SearchResults) -> None:
    """The same scores in the same order, and the same hits but where scores are equal."""
    assert _scores(many) == pytest.approx(_scores(one), abs=1e-6)
    last = one[-1].score if len(one) else 0.0
    wanted = {(str(hit.subject), hit.text) for hit in one if hit.score > last + 1e-6}
    found = {(str(hit.subject), hit.text) for hit in many if hit.score > last + 1e-6}
    assert found == wanted


@pytest.mark.parametrize("filter_", FILTERS, ids=["all", "types", "languages", "where"])
@pytest.mark.parametrize(
    "how",
    [{"mode": "text"}, {"mode": "vector"}, {}, {"fusion": "rrf"}, {"group_by": "subject"}],
)
def test_a_group_answers_as_one_world(both: Both, how: dict[str, Any], filter_: dict[str, Any]) -> None:
    random_ = random.Random(11)
    for _ in range(4 if how in ({}, {"mode": "text"}) else 2):
        query = " ".join(random_.choices(WORDS, k=random_.randint(1, 5)))
        if random_.random() < 0.3:
            query += f' "{random_.choice(WORDS)} {random_.choice(WORDS)}" -{random_.choice(WORDS)} {WORDS[3][:3]}*'
        how = {"plan": "exact", **how}  # the scan of sign bits may miss another one of the hundredth in each
        _same(both.one.search(query, **gathered(how), **filter_), both.group.search(query, **gathered(how), **filter_))


class ByLetters:
    """A cross-encoder's stand-in, which looks at each text by itself."""

    def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
        return [zlib.crc32(f"{question} {text}".encode()) / 2**32 for question, text in pairs]


OLDER = {"predicate": EX + "year", "half_life": 2000, "now": "2040-01-01"}
STAGES: list[dict[str, Any]] = [
    {"rerank": ByLetters()},
    {"rerank": ByLetters(), "rerank_top": 7, "group_by": "subject"},
    {"boost": [{"where": f"?subject a <{EX}Toy>", "factor": 2}, {"predicate": EX + "year", "weight": 0.5}]},
    {"decay": OLDER},
    {"decay": {**OLDER, "evergreen_types": EX + "Toy", "evergreen_predicates": EX + "more"}},
    {"diversity": 0.6},
    {"diversity": 0.3, "group_by": "subject", "per_subject": 2},
    {"rerank": ByLetters(), "boost": f"3 ?subject a <{EX}Toy>", "decay": OLDER, "diversity": 0.7},
]


@pytest.mark.parametrize("filter_", FILTERS[1:3], ids=["types", "languages"])
@pytest.mark.parametrize("how", STAGES, ids=[" ".join(how) for how in STAGES])
def test_stages_after_fusion_as_in_one_world(both: Both, how: dict[str, Any], filter_: dict[str, Any]) -> None:
    random_ = random.Random(13)
    for _ in range(2):
        query = " ".join(random_.choices(WORDS, k=random_.randint(2, 5)))
        one, many = (world.search(query, **gathered({"plan": "exact", **how}), **filter_) for world in both)
        _same(one, many)
        assert many.explain.stages == one.explain.stages
        # Pages go on from there.
        more = both.group.search(query, cursor=many.cursor, **gathered({"plan": "exact", **how}), **filter_)
        shown = {(hit.subject, hit.text) for hit in many}
        assert not shown & {(hit.subject, hit.text) for hit in more}


@pytest.mark.parametrize("how", [{"diversity": 0.4}, {"boost": f"2 ?subject a <{EX}Toy>"}])
def test_stages_without_vectors(both: Both, how: dict[str, Any]) -> None:
    one, many = (world.search("kitea lakeb pinec 17", mode="text", **gathered(how)) for world in both)
    _same(one, many)


def test_a_stage_knows_what_each_world_says_of_a_text() -> None:
    """A text that several worlds have is boosted by what any of them says of it, as in one world."""
    lines = [
        [f'<{EX}a> <{EX}p> "the red kite" .', f"<{EX}a> <{EX}n> 5 ."],
        [f'<{EX}b> <{EX}p> "the red kite" .', f"<{EX}b> <{EX}n> 50 .", f'<{EX}b> <{EX}n> "many" .'],
        [f'<{EX}c> <{EX}p> "a kite" .', f"<{EX}c> <{EX}n> 1 ."],
    ]
    opened = [worlds.open(embedder=None) for _ in lines]
    for world, said in zip(opened, lines, strict=True):
        world.load("\n".join(said).encode(), format="turtle")
    with worlds.open(embedder=None) as one, worlds.group({str(n): w for n, w in enumerate(opened)}) as group:
        for said in lines:
            one.load("\n".join(said).encode(), format="turtle")
        grouping: list[dict[str, Any]] = [{}, {"group_by": "subject"}]
        for how in grouping:
            wanted, found = (
                w.search("kite", explain=True, **gathered({"boost": f"1 {EX}n", **how})) for w in (one, group)
            )
            assert wanted[0].steps is not None
            assert found[0].steps is not None
            assert found[0].steps[0].detail == wanted[0].steps[0].detail
            assert found.notes == wanted.notes != ()
        many = [f"{EX}b", f"{EX}a", f"{EX}c"]
        assert [
            str(hit.subject)
            for hit in group.search("kite", ranking=worlds.Ranking(boost=f"1 {EX}n"), group_by="subject")
        ] == many


def test_each_list_has_the_raw_values_of_one_world(both: Both) -> None:
    for query in ("kitea pinec", "rivera stoneb cloudj", '"kitea kiteb"'):
        one, many = (w.search(query, limit=50, explain=True, ranking=worlds.Ranking(plan="exact")) for w in both)
        for wanted, found in zip(one, many, strict=True):
            assert wanted.explain is not None
            assert found.explain is not None
            for name, leg in wanted.explain.items():
                assert found.explain[name].value == pytest.approx(leg.value, abs=1e-5), (query, name)
                assert found.explain[name].contribution == pytest.approx(leg.contribution, abs=1e-5)


def test_facets_are_summed(both: Both) -> None:
    for filter_ in FILTERS:
        one, many = both.one.search("kitea", **filter_).facets, both.group.search("kitea", **filter_).facets
        assert many.types == one.types
        assert many.languages == one.languages
        assert many.predicates == one.predicates


@pytest.mark.parametrize("how", [{}, {"group_by": "subject"}])
def test_pages_follow_one_another(both: Both, how: dict[str, Any]) -> None:
    whole = both.group.search("kitea lakeb", limit=30, **gathered(how))
    paged: list[tuple[str | None, str]] = []
    cursor = None
    for _ in range(3):
        page = both.group.search("kitea lakeb", limit=10, cursor=cursor, **gathered(how))
        paged += [(hit.world, hit.text) for hit in page]
        cursor = page.cursor
    assert paged == [(hit.world, hit.text) for hit in whole]
    with pytest.raises(ValueError, match="another search"):
        both.group.search("kitea", cursor=cursor, **gathered(how))


def test_hits_cite_their_world(both: Both) -> None:
    for hit in both.group.search("kitea lakeb"):
        assert hit.world is not None
        (quad,) = hit.quads
        assert quad in set(both.group.worlds[hit.world].quads(subject=hit.subject))
        assert "**" in hit.snippet
        assert hit.to_dict()["world"] == hit.world
    assert "world" not in both.one.search("kitea")[0].to_dict()


def test_a_text_of_two_worlds_is_one_hit() -> None:
    text = f'<{EX}s> <{EX}p> "the red kite" .'.encode()
    other = f'<{EX}t> <{EX}p> "the red kite" .'.encode()
    with worlds.open(embedder=None) as a, worlds.open(embedder=None) as b:
        a.load(text, format="nt")
        b.load(other, format="nt")
        with worlds.group({"a": a, "b": b}) as group:
            (hit,) = group.search("kite")
            assert [hit.world, *(one.world for one in hit.others)] == ["a", "b"]
            assert [str(one.subject) for one in (hit, *hit.others)] == [EX + "s", EX + "t"]
            assert len(group.search("kite", group_by="subject")) == 2


def test_an_fts5_expression_is_asked_of_each_world(both: Both) -> None:
    for expression in ("NEAR(kitea lakeb, 20)", "kiteb NOT lakeb"):
        one, many = (world.search(expression, syntax="fts5", mode="text", limit=1000) for world in both)
        assert {hit.text for hit in many} == {hit.text for hit in one} != set()
        assert len({hit.world for hit in many}) == SHARDS


def test_worlds_whose_letters_are_tokens_answer_as_one() -> None:
    random_ = random.Random(5)
    texts = [(f"{EX}s{number}", f"{EX}p", f'"{_text(random_)}"') for number in range(60)]
    opened = [worlds.open(embedder=None) for _ in range(3)]
    for world in opened:
        world.policy = world.policy.with_(tokenizer="trigram")
    one, *others = opened
    one.add(texts)
    others[0].add(texts[:20])
    others[1].add(texts[20:])
    with worlds.group({"a": others[0], "b": others[1]}) as group:
        whole, found = (each.search("tea cloudb", limit=60) for each in (one, group))
        assert {hit.text for hit in found} == {hit.text for hit in whole} != set()  # each in its own world's order
    for world in opened:
        world.close()


def test_what_a_group_refuses(both: Both) -> None:
    with pytest.raises(ValueError, match="at least one world"):
        worlds.group([])
    for strange in ("kb.db", None, {5: both.one}):
        with pytest.raises(TypeError, match="a group"):
            worlds.group(strange)  # type: ignore[arg-type]  # what is wrong
    with worlds.open(embedder=HashingEmbedder(16)) as other:
        other.load(f'<{EX}s> <{EX}p> "a kite" .'.encode(), format="nt")
        mixed = worlds.group({"a": both.one, "b": other})
        with pytest.raises(EmbedderError, match="different models"):
            mixed.search("kite")
        assert mixed.search("kite", mode="text")
