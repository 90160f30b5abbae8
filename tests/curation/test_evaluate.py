"""World.decisions, World.evaluate and duplicates(learn=True): what was decided, and how well probabilities agree."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from worlds import World
from worlds.curation.findings.evaluating import evaluated, learned
from worlds.errors import ArgumentError, ParseError

EX = "http://ex/"
FIRST = "Ann Bea Cleo Dora Ella Fay Gina Hope Ida June Kay Lea Mia Nora Olga Pia Rita Sue Tess Vera".split()  # noqa: SIM905
LAST = "Archer Baker Carter Draper Farmer Gardner Hunter Mason Potter Sawyer Taylor Weaver".split()  # noqa: SIM905


def family(seed: int = 1, persons: int = 80) -> World:
    """Persons, half of them a second time under another IRI."""
    chance = random.Random(seed)
    world = worlds.open(embedder=None)
    world.bind("", EX)
    quads: list[Any] = []
    for n in range(persons):
        name = f"{chance.choice(FIRST)} {chance.choice(LAST)}"
        born = f'"{chance.randint(1950, 2000)}-0{chance.randint(1, 9)}-{chance.randint(10, 28)}"^^xsd:date'
        for iri in (f":p{n}", f":q{n}")[: 1 + n % 2]:
            quads += [(iri, "rdf:type", ":Person"), (iri, "rdfs:label", f'"{name}"'), (iri, ":born", born)]
    world.add(quads)
    return world


def true(pair: worlds.Duplicate) -> bool:
    one, other = (str(iri).removeprefix(EX) for iri in pair.subjects)
    return one[1:] == other[1:]


def test_decisions_are_those_that_hold() -> None:
    with family() as world:
        proposals = world.propose_all(world.duplicates(limit=4))
        first, second, third, fourth = proposals
        done = world.accept(first.id, reviewer="ann")
        world.reject(second.id, "two sisters", reviewer="bob")
        taken_back = world.accept(third.id, reviewer="ann")
        assert taken_back.revision is not None
        world.split(taken_back.revision)
        merge = world.merge(":p0", ":p2", author="cid")
        world.distinct(":p4", ":p6", author="dan")
        found = {(one.how, one.same, one.author, one.proposal, one.confidence) for one in world.decisions()}
        assert found == {
            ("accepted", True, "ann", first.id, first.confidence),
            ("rejected", False, "bob", second.id, second.confidence),
            ("merged", True, "cid", None, None),
            ("distinct", False, "dan", None, None),
        }
        assert fourth.status == "open"
        told = {one.how: one for one in world.decisions()}
        assert told["accepted"].revision == done.revision
        assert [str(iri) for iri in told["merged"].entities] == [EX + "p0", EX + "p2"]
        assert merge.revision is not None
        world.undo(merge.revision)
        assert "merged" not in {one.how for one in world.decisions()}


def test_duplicates_are_evaluated_by_a_table(tmp_path: Path) -> None:
    with family() as world:
        pairs = [(f":p{n}", f":q{n}") for n in range(1, 80, 2)]
        found = world.evaluate(pairs)
        given = world.duplicates(probability=0.05, limit=None)
        right = sum(map(true, given))
        (half,) = [one for one in found.thresholds if one.minimum == 0.5]
        above = [pair for pair in given if pair.score >= 0.5]
        assert (found.truths, found.judged) == (40, len(given))
        assert half.found == len(above)
        assert half.right == sum(map(true, above))
        assert half.recall == half.right / 40
        assert right <= 40
        table = tmp_path / "truth.csv"
        table.write_text("a,b\n" + "".join(f"{a},<{EX}{b[1:]}>\n" for a, b in pairs))
        assert world.evaluate(table) == found
        table.write_text("\ufeffa\tb\tsame\n" + "".join(f"{a}\t{b}\tyes\n" for a, b in pairs[:5]) + ":p0\t:p2\tno\n")
        judged = world.evaluate(str(table))
        assert judged.truths == 5
        assert judged.judged <= 6
        assert "<svg" in found.to_html("<b>")
        assert "<b>" not in found.to_html("<b>")


def test_names_texts_and_links_are_evaluated() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("", EX)
        world.add(
            [
                (":lang", "rdfs:label", '"Fritz Lang"'),
                (":lorre", "rdfs:label", '"Peter Lorre"'),
                (":m", "rdfs:comment", '"Fritz Lang shot it with Peter Lorre."'),
            ]
        )
        names = world.evaluate([("Fritz Lang", ":lang"), ("Peter Lorre", ":lorre"), ("Nobody", "")], of="resolve")
        assert (names.truths, names.thresholds[4].precision, names.thresholds[4].recall) == (2, 1.0, 1.0)
        text = "Was Fritz Lang there?"
        mentions = world.evaluate([(text, ":lang"), (text, ":lorre")], of="mentions")
        assert (mentions.truths, mentions.thresholds[0].right) == (2, 1)
        links = world.evaluate([(":m", ":by", ":lang")], of="links")
        assert (links.truths, links.thresholds[0].right, links.thresholds[0].recall) == (1, 0, 0.0)


def test_decided_proposals_are_a_truth_and_teach() -> None:
    chance = random.Random(3)
    with family(2, 160) as world:
        with pytest.raises(ArgumentError, match="30 decided proposals"):
            world.duplicates(learn=True)
        with pytest.raises(ArgumentError, match="no decided proposals"):
            world.evaluate()
        before = world.duplicates(probability=0.02, limit=None)
        for one in world.propose_all(before):
            # A curator who is less sure than the numbers are.
            likely = 0.1 + 0.7 * (one.confidence or 0.0)
            (world.accept if chance.random() < likely else world.reject)(one.id, reviewer="ann")
        found = world.evaluate()
        assert found.judged >= 30
        for n in range(3):
            iri = f":z{n}"
            for name in (iri, iri + "b"):
                world.add([(name, "rdf:type", ":Person"), (name, "rdfs:label", f'"Zoe Zimmer{n * 111}"')])
        plain = {one.subjects: one for one in world.duplicates(probability=0.0, limit=None)}
        taught = world.duplicates(probability=0.0, limit=None, learn=True)
        assert taught.learned == found.judged
        assert {one.subjects: one.unlearned for one in taught} == {key: one.score for key, one in plain.items()}
        told = [one.unlearned for one in taught if one.unlearned and one.unlearned > 1e-5]
        assert told == sorted(told, reverse=True), "a scale leaves the order"
        new = next(one for one in taught if str(one.subjects[0]).startswith(EX + "z"))
        (again,) = world.propose_all([new])
        assert again.confidence == pytest.approx(new.unlearned), "on the scale that is learnt from"


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=60), st.integers(0, 5))
def test_an_evaluation_is_what_the_definition_says(cases: list[tuple[float, bool]], missed: int) -> None:
    found = evaluated("duplicates", [p for p, _ in cases], [y for _, y in cases], missed)
    for one in found.thresholds:
        these = [y for p, y in cases if p >= one.minimum]
        assert (one.found, one.right) == (len(these), sum(these))
        assert one.precision == (sum(these) / len(these) if these else None)
    assert sum(one.cases for one in found.bins) == len(cases)
    if cases:
        error = 0.0
        for at in range(10):
            here = [(p, y) for p, y in cases if min(int(p * 10), 9) == at]
            error += abs(sum(p for p, _ in here) - sum(y for _, y in here)) / len(cases)
        assert found.error == pytest.approx(error)


@given(st.integers(0, 1000), st.floats(0.3, 2.0), st.floats(-2.0, 2.0))
def test_a_scale_is_learnt(seed: int, slope: float, intercept: float) -> None:
    chance = random.Random(seed)
    chances = [chance.uniform(0.02, 0.98) for _ in range(4000)]
    right = [chance.random() < 1 / (1 + math.exp(-slope * math.log(p / (1 - p)) - intercept)) for p in chances]
    scale = learned(chances, right)
    assert scale.slope == pytest.approx(slope, abs=0.3)
    assert scale.intercept == pytest.approx(intercept, abs=0.3)


@pytest.mark.parametrize(
    ("truth", "options", "error"),
    [
        ([(":x",)], {}, ParseError),
        ([(":a", ":b", ":c", ":d")], {}, ParseError),
        ([], {}, ArgumentError),
        ([(":a", ":b")], {"of": "nothing"}, ArgumentError),
        ([("no such:name", ":b")], {}, ArgumentError),
        ([(":a", ":b")], {"of": "links"}, ParseError),
        (None, {"of": "resolve"}, ArgumentError),
        ("/nowhere/truth.csv", {}, FileNotFoundError),
    ],
)
def test_a_wrong_truth(truth: Any, options: dict[str, Any], error: type[Exception]) -> None:
    with worlds.open(embedder=None) as world:
        world.bind("", EX)
        with pytest.raises(error):
            world.evaluate(truth, **options)


def test_a_table_that_is_no_text(tmp_path: Path) -> None:
    table = tmp_path / "truth.csv"
    table.write_bytes(b"\xff\xfe\x00")
    with worlds.open(embedder=None) as world, pytest.raises(ParseError, match="UTF-8"):
        world.evaluate(table)
