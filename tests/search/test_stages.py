"""Boosts, decay, reranking, diversity and groups after fusion, against a slow reference."""

from __future__ import annotations

import json
import math
import pickle
import random
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.stages import DATES, EX, NUMBERS, WORDS, Answering, Counting, Known
from worlds import World
from worlds.core.search.options import gathered
from worlds.core.search.stages import read_date, words
from worlds.records import Hit

NOW = 20_000.0  # 2024-10-04
Row = dict[str, Any]


def reference(known: Known, question: str, options: dict[str, Any], fusion: dict[str, Any]) -> list[tuple[int, str]]:
    """The chunk, subject and score of each hit, worked out one by one from the fused list."""
    rows: list[Row] = []
    for place, hit in enumerate(known.everything(question, explain=True, **fusion)):
        subjects = list(dict.fromkeys(str(quad[0]) for quad in hit.quads))
        for group in [[subject] for subject in subjects] if "group_by" in options else [subjects]:
            predicates = {str(quad[1]) for quad in hit.quads if str(quad[0]) in group}
            rows.append({"hit": hit, "place": place, "subjects": group, "predicates": predicates, "score": hit.score})
    if "rerank" in options:
        rerank_slowly(rows, question, options)
    if "boost" in options:
        ranked = [1 + sum(other["score"] > row["score"] for other in rows) for row in rows]
        for row, rank in zip(rows, ranked, strict=True):
            row["score"] = 61 / (60 + rank)
    for boost in options.get("boost", ()):
        for row in rows:
            row["score"] *= boost_slowly(known, boost, row["subjects"])
        rows.sort(key=lambda row: -row["score"])
    if "decay" in options:
        for row in rows:
            row["score"] *= decay_slowly(known, options["decay"], row)
        rows.sort(key=lambda row: -row["score"])
    if "diversity" in options:
        rows = diversify_slowly(known, rows, options["diversity"])
    if "group_by" in options:
        rows = group_slowly(rows, options.get("per_subject", 1))
    return [(row["hit"].chunk, row["subjects"][0], row["score"]) for row in rows]  # type: ignore[misc]


def rerank_slowly(rows: list[Row], question: str, options: dict[str, Any]) -> None:
    top = options.get("rerank_top", 50)
    asked = [row for row in rows if row["place"] < top]
    raw = [options["rerank"].score(question, row["hit"].text) for row in asked]
    inside = all(0 <= value <= 1 for value in raw)
    last = min(row["score"] for row in asked)
    least = min(raw) if inside else 1 / (1 + math.exp(-min(raw)))
    for row in rows:
        if row["place"] < top:
            value = options["rerank"].score(question, row["hit"].text)
            row["score"] = value if inside else 1 / (1 + math.exp(-value))
        else:
            row["score"] = least * row["score"] / last if last else 0.0
    rows.sort(key=lambda row: -row["score"])


def boost_slowly(known: Known, boost: dict[str, Any], subjects: list[str]) -> float:
    if "where" in boost:
        return float(boost["factor"]) if any("A" in known.types[subject] for subject in subjects) else 1.0
    values = [NUMBERS[text] for subject in subjects for text in known.numbers[subject]]
    greatest = max((value for value in values if value is not None), default=0)
    return 1 + float(boost["weight"]) * math.log(1 + max(greatest, 0))


def decay_slowly(known: Known, decay: dict[str, Any], row: Row) -> float:
    for subject in row["subjects"]:
        if "B" in known.types[subject] and "evergreen_types" in decay:
            return 1.0
        if known.flags[subject] in ("true", "1") and "evergreen_flags" in decay:
            return 1.0
    if "evergreen_predicates" in decay and EX + "note" in row["predicates"]:
        return 1.0
    dates = [DATES[text] for subject in row["subjects"] for text in known.dates[subject]]
    newest = max((date for date in dates if date is not None), default=None)
    return 1.0 if newest is None else 0.5 ** (max(NOW - newest, 0) / decay["half_life"])


def diversify_slowly(known: Known, rows: list[Row], trade: float) -> list[Row]:
    low, high = min(row["score"] for row in rows), max(row["score"] for row in rows)
    relevance = {id(row): (row["score"] - low) / (high - low) if high > low else 1.0 for row in rows}
    nearest = {id(row): 0.0 for row in rows}
    left, taken = list(rows), []
    while left:
        best = max(left, key=lambda row: trade * relevance[id(row)] + (1 - trade) * (1 - nearest[id(row)]))
        best["score"] = trade * relevance[id(best)] + (1 - trade) * (1 - nearest[id(best)])
        left.remove(best)
        taken.append(best)
        for row in left:
            nearest[id(row)] = max(nearest[id(row)], alike(known, row["hit"], best["hit"]))
    return taken


def alike(known: Known, one: Hit, other: Hit) -> float:
    if one.chunk in known.vectors and other.chunk in known.vectors:
        return round(float(known.vectors[one.chunk] @ known.vectors[other.chunk]), 6)
    mine, theirs = set(one.text.split()), set(other.text.split())
    return len(mine & theirs) / len(mine | theirs)


def words_share(hit: Hit) -> float:
    """Which share of a fused score the words gave."""
    assert hit.explain is not None
    given = {name: leg.contribution for name, leg in hit.explain.items()}
    return given["text"] / sum(given.values()) if given.get("text") else 0.0


def group_slowly(rows: list[Row], most: int) -> list[Row]:
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: -row["score"]):
        groups.setdefault(row["subjects"][0], []).append(row)
    totals = {}
    for subject, group in groups.items():
        totals[subject] = 0.0
        named = False
        for n, row in enumerate(group):
            is_name = EX + "label" in row["predicates"]
            share = 1 if not n else 0 if is_name and named else words_share(row["hit"])
            totals[subject] += row["score"] * share / 2**n
            named = named or is_name
    found = []
    for subject in sorted(groups, key=lambda subject: -totals[subject]):
        for row in groups[subject][:most]:
            found.append({**row, "score": totals[subject]})
    return found


def random_options(chance: random.Random) -> dict[str, Any]:
    decay: dict[str, Any] = {"predicate": "ex:date", "half_life": chance.choice([30, 1000]), "now": "2024-10-04"}
    for name, value in (("types", "ex:B"), ("flags", "ex:flag"), ("predicates", ["ex:note"])):
        if chance.random() < 0.4:
            decay[f"evergreen_{name}"] = value
    every: dict[str, dict[str, Any]] = {
        "rerank": {"rerank": Counting(chance.choice([0.01, 3.0])), "rerank_top": chance.choice([5, 50])},
        "boost": {
            "boost": chance.sample(
                [
                    {"where": "?subject a ex:A", "factor": chance.choice([0.5, 2])},
                    {"predicate": "ex:size", "weight": chance.choice([0.1, 1])},
                ],
                chance.choice([1, 2]),
            )
        },
        "decay": {"decay": decay},
        "diversity": {"diversity": chance.choice([0.0, 0.3, 0.7, 1.0])},
        "group": {"group_by": "subject", "per_subject": chance.choice([1, 2, 5])},
    }
    chosen: dict[str, Any] = {}
    for name in chance.sample(sorted(every), chance.choice([1, 1, 2, 3, 5])):
        chosen |= every[name]
    return chosen


# --- the reference ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(5, 40))])
def test_stages_do_what_the_reference_does(known: Known, seed: int) -> None:
    chance = random.Random(seed)
    question = " ".join(chance.sample(WORDS, 3))
    fusion: dict[str, Any] = {
        "fusion": chance.choice(["rrf", "relative"]),
        "mode": chance.choice(["hybrid", "hybrid", "text"]),
    }
    options = random_options(chance)
    expected: Any = reference(known, question, options, fusion)
    limit = chance.choice([3, 20, 200])
    hits = known.world.search(question, limit=limit, explain=True, **gathered({**fusion, **options}))
    assert len(hits) == min(limit, len(expected))
    for at, (hit, (chunk, subject, score)) in enumerate(zip(hits, expected, strict=False)):
        assert math.isclose(hit.score, score, rel_tol=1e-4, abs_tol=1e-6), at
        if (hit.chunk, str(hit.subject)) != (chunk, subject):  # only what rounding cannot tell apart changes places
            assert any(
                (hit.chunk, str(hit.subject)) == other[:2] and math.isclose(score, other[2], rel_tol=1e-6)
                for other in expected
            ), at
        assert {quad[2] for quad in hit.quads} == {hit.literal}
        if "group_by" in options:
            assert {quad[0] for quad in hit.quads} == {hit.subject}
    done = [name for name in ("rerank", "boost", "decay", "diversity", "group") if name in {*options, "group"}]
    done = [name for name in done if name != "group" or "group_by" in options]
    assert list(hits.explain.stages) == done, "they are done in one order, whatever the caller's"
    for place, hit in enumerate(hits, 1):
        assert hit.steps is not None
        assert [step.stage for step in hit.steps] == done
        assert hit.steps[-1].score == hit.score
        assert hit.steps[-1].rank == place
        for one, other in zip(hit.steps, hit.steps[1:], strict=False):
            assert (one.score, one.rank) == (other.score_before, other.rank_before)


def test_what_changes_nothing_leaves_all_as_it_is(known: Known) -> None:
    plain = known.world.search("kite river", limit=20)
    assert plain.explain.stages == ()
    nothing: list[dict[str, Any]] = [
        {"boost": []},
        {"boost": "1 ?subject a ex:A"},
        {"boost": "0 ex:nowhere"},
        {"decay": {"predicate": "ex:nowhere", "half_life": 1}},
        {"min_similarity": -1},
        {"rerank": False},
    ]
    for options in nothing:
        found = known.world.search("kite river", limit=20, **gathered(options))
        assert [hit.chunk for hit in found] == [hit.chunk for hit in plain]
        assert all("ex:nowhere is no predicate" in note for note in found.notes)
        assert bool(found.notes) == ("ex:nowhere" in str(options))
    relevant = known.world.search("kite river", limit=20, ranking=worlds.Ranking(diversity=1))
    assert [hit.chunk for hit in relevant] == [hit.chunk for hit in plain]


def test_a_search_that_finds_nothing_has_nothing_to_rank() -> None:
    options: dict[str, Any] = {"rerank": Counting(), "boost": "2 ex:size", "diversity": 0.5, "group_by": "subject"}
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        found = world.search("kite", **gathered({"decay": {"predicate": "ex:date", "half_life": 1}, **options}))
        assert list(found) == []
        assert found.cursor is None


# --- dates and numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "days"), DATES.items())
def test_dates(text: str, days: float | None) -> None:
    assert read_date(text) == days


def test_dates_of_every_kind() -> None:
    assert read_date("1970-01-01") == 0
    assert read_date("1970-01-01T00:00:00.5Z") == pytest.approx(0.5 / 86_400)
    assert read_date("1969-12-31T23:00:00-01:00") == 0
    assert read_date("-0044-03-15") is not None
    assert read_date("2000-02-29") == read_date("2000-03-01") - 1  # type: ignore[operator]  # it is a date
    for wrong in ("1900-02-29", "2020-13-01", "2020-1-1", "20200101", "12020", "2020-01-01T25:00:00", "٢٠٢٠", "2020-"):
        assert read_date(wrong) is None, wrong
    chance = random.Random(3)
    for _ in range(500):
        days = chance.randrange(-700_000, 2_900_000)
        assert read_date(str(np.datetime64(days, "D"))) == days


def test_values_that_cannot_be_read_are_noted(known: Known) -> None:
    found = known.everything("kite", boost="0.1 ex:size", decay={"predicate": "ex:date", "half_life": 100})
    boost, decay = found.notes
    assert "not read as a number" in boost
    assert "not read as a date" in decay
    with worlds.open(embedder=None) as world:
        world.add([("urn:a", "rdfs:label", '"kite"'), ("urn:a", "urn:date", "urn:b")])
        (note,) = world.search(
            "kite", mode="text", ranking=worlds.Ranking(decay={"predicate": "urn:date", "half_life": 1})
        ).notes
        assert note == "decay: 1 value ('an IRI') of urn:date not read as a date"


def test_a_pattern_reads_the_graphs_that_the_filter_names(known: Known) -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        for name in "abc":
            world.add([(EX + name, "rdfs:label", f'"kite {name * 2}"')])
        world.add([(EX + "b", "rdf:type", EX + "A"), (EX + "c", EX + "size", 5, EX + "g")])
        for boost in ("2 ?subject a ex:A", "5 ex:size"):
            assert world.search("kites", ranking=worlds.Ranking(boost=boost))[0].score > world.search("kites")[0].score
        graphs = ["default"]
        assert (
            str(world.search("kite", ranking=worlds.Ranking(boost="2 ?subject a ex:A"), graphs=graphs)[0].subject)
            == EX + "b"
        )
        assert (
            str(world.search("kite", ranking=worlds.Ranking(boost="5 ex:size"), graphs=graphs)[0].subject) == EX + "a"
        )
        with pytest.raises(worlds.FilterError):
            world.search("kite", ranking=worlds.Ranking(boost="2 ?subject ex:year"))


# --- diversity and groups ---------------------------------------------------------------------------------------------


def test_words_of_any_script() -> None:
    assert words("Red KITE, red-tailed!") == {"red", "kite", "tailed"}
    assert words("中文分词") == {"中", "文", "分", "词"}


def test_diversity_brings_other_texts_forward(world: World) -> None:
    near = ["the red kite", "the red kite flies", "the red kite flew", "a red kite flies"]
    world.add(
        [(EX + str(number), "rdfs:label", ox.Literal(text)) for number, text in enumerate([*near, "kite in storm"])]
    )
    plain = [hit.text for hit in world.search("red kite flies", limit=3)]
    assert "kite in storm" not in plain
    assert "kite in storm" in [
        hit.text for hit in world.search("red kite flies", limit=3, ranking=worlds.Ranking(diversity=0.4))
    ]


def test_an_exact_label_does_not_make_the_others_equally_irrelevant(world: World) -> None:
    texts = ["red kite", "a red kite flies", "the kite is red", "red heron", "kite on a pine", "heron on a lake"]
    other = worlds.open(embedder=HashingEmbedder())
    for each, predicate in ((world, "rdfs:label"), (other, EX + "note")):
        each.add([(EX + str(number), predicate, ox.Literal(text)) for number, text in enumerate(texts)])
    with other:
        plain = [hit.text for hit in other.search("red kite", ranking=worlds.Ranking(diversity=0.7))]
    assert world.search("red kite")[0].score > 2
    assert [hit.text for hit in world.search("red kite", ranking=worlds.Ranking(diversity=0.7))] == plain


def test_groups_are_looked_for_beyond_the_candidates(world: World) -> None:
    world.add([(EX + "crowd", EX + "note", ox.Literal(f"kite kite number{number}")) for number in range(300)])
    world.add(
        [(f"{EX}s{number}", EX + "note", ox.Literal(f"a kite and many other words {number}")) for number in range(9)]
    )
    for options in ({"mode": "text"}, {"mode": "vector"}, {}):
        hits = world.search("kite kite", group_by="subject", limit=8, **gathered(options))
        assert len({hit.subject for hit in hits}) == len(hits) == 8
        assert str(hits[0].subject) == EX + "crowd"
    assert len(world.search("kite", group_by="subject", limit=50)) == 10


# --- what is told -----------------------------------------------------------------------------------------------------


def test_the_answer_as_json(known: Known) -> None:
    options: dict[str, Any] = random_options(random.Random(1)) | {"group_by": "subject", "rerank": Counting()}
    found = known.world.search("kite river", limit=3, explain=True, types=["ex:A", "ex:B"], **gathered(options))
    told = json.loads(found.to_json())
    assert told == json.loads(json.dumps(found.to_dict()))
    assert [hit["rank"] for hit in told["hits"]] == [1, 2, 3]
    assert told["cursor"] == found.cursor
    about = told["explain"]
    assert about["query"] == "kite river"
    assert (about["plan"], about["fusion"], about["depth"]) == ("exact", found.explain.fusion, 100)
    assert about["eligible"] > 0
    assert about["sql"].startswith("WITH")
    assert {"filter", "plan", "statement", "rerank", "group", "hits", "all"} <= about["milliseconds"].keys()
    assert about["milliseconds"]["all"] >= about["milliseconds"]["rerank"]
    for hit, shown in zip(found, told["hits"], strict=True):
        assert hit.steps is not None
        assert [step["stage"] for step in shown["steps"]] == [step.stage for step in hit.steps]
        assert shown["explain"].keys() == (hit.explain or {}).keys()
    assert known.world.search("kite", limit=1)[0].to_dict()["steps"] is None


def test_results_can_be_kept(known: Known) -> None:
    found = known.world.search(
        "kite river", limit=3, explain=True, ranking=worlds.Ranking(diversity=0.5), group_by="subject"
    )
    kept = pickle.loads(pickle.dumps(found))
    assert kept.to_dict() == found.to_dict()


def test_a_tie_is_broken_as_it_was_before(world: World) -> None:
    world.add(
        [
            (f"{EX}s{number}", EX + "label", ox.Literal("kite", language=tag))
            for number, tag in enumerate(["aa", "bb", "cc", "dd", "ee", "ff"])
        ]
    )
    plain = [hit.chunk for hit in world.search("kite")]
    for options in ({"diversity": 1.0}, {"boost": "2 ?subject ?p ?o"}, {"rerank": Answering(np.ones(6))}):
        assert [hit.chunk for hit in world.search("kite", **gathered(options))] == plain
