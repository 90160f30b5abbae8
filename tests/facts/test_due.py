"""Time without a clock: what comes due is listed, and carried out when somebody says so."""

from __future__ import annotations

import datetime
import random
import sys
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rdflib import RDF, RDFS, Literal, URIRef

import worlds
from tests.support.command_line import ok, run
from tests.support.embedder import HashingEmbedder
from tests.support.forking import Forked
from tests.support.seams import set_the_clock
from worlds import World
from worlds.errors import ArgumentError, ConflictError, ReadOnlyError, ValidationError
from worlds.records import Retention

EX = "https://example.org/"
HEAD = ("ex:acme", "ex:head", "ex:ann")
UTC = datetime.UTC


class Hands:
    """The hands of a clock that tests set."""

    def __init__(self) -> None:
        self.time = datetime.datetime(2020, 6, 1, tzinfo=UTC)

    def set(self, text: str) -> None:
        """Set it to a time in ISO 8601."""
        self.time = datetime.datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Hands:
    hands = Hands()
    set_the_clock(monkeypatch, lambda: hands.time)
    return hands


@pytest.fixture(params=["file", "memory"])
def world(request: pytest.FixtureRequest, tmp_path: Path, clock: Hands) -> Iterator[World]:
    path = str(tmp_path / "kb.db") if request.param == "file" else ":memory:"
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.bind("ex", EX)
        world.add([(EX + name, RDFS.label, Literal(name.capitalize())) for name in ("acme", "ann", "bob")])
        yield world


def heads(world: Any) -> list[str]:
    return sorted(str(quad[2]).removeprefix(EX) for quad in world.quads("ex:acme", "ex:head"))


def due(world: World) -> list[tuple[str, bool, str]]:
    return [(str(one.object).removeprefix(EX), one.begins, str(one.time)) for one in world.facts.due()]


def everywhere(world: World) -> set[bool]:
    """Whether Ann is the head, as each kind of reader tells it."""
    return {
        bool(heads(world)),
        bool(world.query("ASK { ex:acme ex:head ex:ann }")),
        "head: Ann" in world.context("Who is the head of Acme?").text,
        EX + "head" in {str(one.predicate) for one in world.describe("ex:acme").properties},
        bool(world.search("Acme", where="?subject ex:head ex:ann", mode="text")),
        world.count("ex:acme", "ex:head") == 1,
        bool(heads(world.only(graphs="default"))),
        any(fact.holds for fact in world.facts.timeline("ex:acme").facts if str(fact.predicate) == EX + "head"),
        bool(worlds.group({"one": world}).query("ASK { ex:acme ex:head ex:ann }", bindings={})),
    }


def test_nothing_changes_because_time_has_passed_until_it_is_carried_out(world: World, clock: Hands) -> None:
    world.facts.state(*HEAD, valid_from="2021", valid_to="2022-03")
    before, size = world.history()[0].revision, len(world)
    assert due(world) == []
    for moment, holds in (("2020-12-31T23:59:59", False), ("2021-01-01", True), ("2022-03-31T23:59", True),
                          ("2022-04-01", False)):  # fmt: skip
        clock.set(moment)
        assert everywhere(world) == {False}, moment
        assert bool(heads(world.as_of("now"))) is bool(heads(world.as_of(clock.time))) is holds, moment
        assert due(world) == ([("ann", True, "2021")] if holds else [])
    assert (world.history()[0].revision, len(world)) == (before, size), "a reader writes nothing"
    clock.set("2021-07-01")
    world.add([("ex:bob", "rdf:type", "ex:Person")], author="eve")
    assert (world.history()[0].revision, everywhere(world)) == (before + 1, {False}), "nor does another write"
    change = world.facts.carry_out(author="night")
    (entry,) = world.history(1)
    assert (change.revision, change.added, change.removed) == (before + 2, 1, 0)
    assert (entry.time, entry.author, entry.message) == (clock.time, "night", "what has come due is carried out")
    assert everywhere(world) == {True}
    assert (due(world), world.facts.carry_out().revision) == ([], None), "the second night has nothing to do"
    clock.set("2022-05-01")
    assert everywhere(world) == {True}
    assert due(world) == [("ann", False, "2022-03")]
    diff = world.facts.carry_out(dry_run=True)
    assert (len(diff.added), [str(quad[2]) for quad in diff.removed]) == (0, [EX + "ann"])
    assert (everywhere(world), due(world)) == ({True}, [("ann", False, "2022-03")])
    world.facts.carry_out()
    assert (everywhere(world), due(world)) == ({False}, [])
    assert world.check().ok
    assert [heads(world.as_of(time)) for time in ("2020-12", "2021", "2022-03-31", "2022-04")] == [
        [], ["ann"], ["ann"], [],
    ]  # fmt: skip


@pytest.mark.parametrize("begins", [True, False])
@pytest.mark.parametrize("pruned", [True, False])
def test_an_undo_of_what_was_carried_out_is_a_decision(world: World, clock: Hands, begins: bool, pruned: bool) -> None:
    if begins:
        world.facts.state(*HEAD, valid_from="2021")
    else:
        world.facts.state(*HEAD, valid_to="2021")
    stated = world.history()[0].revision
    clock.set("2022-06-01")
    carried = world.facts.carry_out().revision or 0
    clock.set("2022-06-02")
    if not begins:
        with pytest.raises(ConflictError, match=f"because revision {carried}"):
            world.undo(stated)
    taken = world.undo(carried).revision or 0
    for _ in range(2):
        assert heads(world) == heads(world.as_of("now")) == ([] if begins else ["ann"]), "somebody's word stands"
        assert (due(world), world.facts.carry_out().revision) == ([], None)
        if pruned:
            world.revisions.prune(world.stats().last_revision + 1)
        clock.set("2024-01-01")
    if not pruned:
        world.undo(taken)
        assert heads(world) == (["ann"] if begins else [])
        assert due(world) == []


def test_who_asserts_or_removes_a_fact_after_its_time_has_decided(world: World, clock: Hands) -> None:
    world.facts.state(*HEAD, valid_from="2021")
    world.facts.state("ex:acme", "ex:head", "ex:bob", valid_to="2021")
    clock.set("2022-06-01")
    world.add([HEAD])
    world.remove([("ex:acme", "ex:head", "ex:bob")])
    assert due(world) == []
    clock.set("2022-06-02")
    world.remove([HEAD])
    world.add([("ex:acme", "ex:head", "ex:bob")])
    assert due(world) == []
    assert heads(world) == heads(world.as_of("now")) == ["bob"]


def test_an_end_that_is_due_is_moved_and_taken_back(world: World, clock: Hands) -> None:
    world.facts.state(*HEAD, valid_from="2019")
    world.facts.end(HEAD, at="2021")
    world.facts.end(HEAD, at="2022")
    assert [str(one.valid_to) for one in world.facts.timeline("ex:acme").facts[1:]] == ["2022"]
    clock.set("2023-06-01")
    assert (heads(world), due(world)) == (["ann"], [("ann", False, "2022")])
    world.facts.end(HEAD, at="2024")
    assert [str(one.valid_to) for one in world.facts.timeline("ex:acme").facts[1:]] == ["2024"]
    assert (heads(world), due(world)) == (["ann"], [])
    clock.set("2025-06-01")
    assert (heads(world.as_of("now")), due(world)) == ([], [("ann", False, "2024")])
    world.facts.reinstate(HEAD)
    assert (heads(world), heads(world.as_of("now")), due(world)) == (["ann"], ["ann"], [])
    with pytest.raises(ArgumentError, match="without an end"):
        world.facts.state(*HEAD, valid_from="2030")


def test_a_value_to_come_takes_the_place_of_another_in_one_revision(world: World, clock: Hands) -> None:
    world.add([("ex:head", "rdf:type", "owl:FunctionalProperty")])
    world.facts.state(*HEAD, valid_from="2015")
    world.facts.state("ex:acme", "ex:head", "ex:bob", valid_from="2021-05", supersede="functional")
    clock.set("2021-04-30T23:00")
    assert due(world) == []
    clock.set("2021-05-01")
    assert (heads(world), heads(world.as_of("now"))) == (["ann"], ["bob"])
    assert due(world) == [("ann", False, "2021-04"), ("bob", True, "2021-05")] or due(world) == [
        ("bob", True, "2021-05"), ("ann", False, "2021-04"),
    ]  # fmt: skip
    change = world.facts.carry_out()
    assert (change.added, change.removed, heads(world)) == (1, 1, ["bob"])
    assert [heads(world.as_of(time)) for time in ("2021-04", "2030")] == [["ann"], ["bob"]]


def test_only_what_was_written_before_its_time_comes_due(world: World, clock: Hands) -> None:
    said = """PREFIX ex: <https://example.org/> PREFIX s: <https://schema.org/>
        ex:acme ex:head ex:ann {| s:validThrough "2019" |} , ex:bob {| s:validThrough "2021" |} .
        [] <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ex:acme ex:head ex:cid )>> ; s:validFrom "2018" .
        [] <http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( ex:acme ex:head ex:dan )>> ; s:validFrom "2021" ."""
    world.load(said.encode(), format="turtle")
    assert (heads(world), due(world)) == (["ann", "bob"], [])
    assert heads(world.as_of("now")) == ["ann", "bob"], "what is asserted holds, and cid is only spoken of"
    clock.set("2022-02-01")
    assert due(world) == [("dan", True, "2021"), ("bob", False, "2021")]
    world.facts.carry_out()
    assert heads(world) == heads(world.as_of("now")) == ["ann", "dan"]


def test_a_guard_may_refuse_and_what_it_refuses_stays_due(world: World, clock: Hands) -> None:
    world.shapes.load(b"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <https://example.org/> .
        [] a sh:NodeShape ; sh:targetNode ex:acme ; sh:property [ sh:path ex:head ; sh:minCount 1 ] .""")
    world.facts.state(*HEAD, valid_to="2020-12")
    world.shapes.guard = "reject"
    clock.set("2021-01-01")
    assert "the guard would reject it" in str(world.facts.carry_out(dry_run=True).notes)
    with pytest.raises(ValidationError):
        world.facts.carry_out()
    assert (heads(world), due(world)) == (["ann"], [("ann", False, "2020-12")])
    world.shapes.guard = "queue"
    number = world.facts.carry_out().proposal or 0
    assert (heads(world), due(world)) == (["ann"], [("ann", False, "2020-12")])
    assert world.facts.carry_out().proposal == number, "each night proposes the same"
    world.proposals.accept(number)
    assert (heads(world), due(world)) == ([], [])


def test_graphs_that_sources_own_are_changed(world: World, clock: Hands, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "one.ttl").write_text(
        "PREFIX ex: <https://example.org/> PREFIX s: <https://schema.org/> ex:acme ex:head ex:ann "
        '{| s:validThrough "2021" |} .'
    )
    world.sources.add(str(tmp_path / "data"), kind="rdf", graph=EX + "owned", name="data")
    world.sources.sync()
    clock.set("2022-06-01")
    quad = (*HEAD, EX + "owned")
    with pytest.raises(ReadOnlyError):
        world.remove([quad])
    assert due(world.only(graphs=EX + "owned")) == [("ann", False, "2021")]
    assert world.only(graphs=EX + "owned").facts.carry_out().removed == 1
    with pytest.raises(ReadOnlyError):
        world.add([quad])
    world.sources.sync()
    assert (heads(world), due(world)) == ([], [])


def test_a_scope_carries_out_what_is_due_in_its_graphs(world: World, clock: Hands) -> None:
    for graph in ("ex:one", "ex:two"):
        world.facts.state(*HEAD, valid_from="2021", graph=graph)
    clock.set("2021-06-01")
    scope = world.only(graphs="ex:one")
    assert (len(scope.facts.due()), len(world.facts.due())) == (1, 2)
    assert [str(one.graph) for one in scope.facts.due()] == [EX + "one"]
    change = scope.facts.carry_out()
    assert (change.added, len(scope.facts.due())) == (1, 0)
    assert [str(one.graph) for one in world.facts.due()] == [EX + "two"]
    assert heads(scope) == ["ann"]
    assert not heads(world.only(graphs="ex:two"))
    with pytest.raises(ReadOnlyError):
        world.as_of("now").facts.carry_out()
    assert heads(world.as_of("2020").as_of("2022")) == ["ann", "ann"], "another time is of the world, not of its copy"


def test_history_is_kept_as_long_as_something_is_due(world: World, clock: Hands) -> None:
    world.revisions.retention = Retention(revisions=2)
    world.facts.state(*HEAD, valid_from="2021", valid_to="2022")
    stated = world.history()[0].revision
    clock.set("2021-06-01")
    for number in range(5):
        world.add([("ex:bob", "ex:size", Literal(number))])
        assert due(world) == [("ann", True, "2021")]
    assert world.history()[-1].revision == stated
    assert world.revisions.prune(stated + 3) == 0
    world.facts.carry_out()
    world.add([("ex:bob", "ex:size", Literal(9))])
    assert len(world.history()) == 2
    clock.set("2023-06-01")
    assert due(world) == [("ann", False, "2022")], "what lay ahead when its revision was forgotten comes due"


def test_a_merge_decides_nothing(world: World, clock: Hands) -> None:
    world.facts.state(*HEAD, valid_to="2021")
    world.facts.state("ex:acme", "ex:head", "ex:bob", valid_from="2021")
    clock.set("2022-06-01")
    for name in ("ann", "bob"):
        world.add([(f"ex:{name}2", "rdf:type", "ex:Person")])
        world.curation.merge(f"ex:{name}2", f"ex:{name}")
    assert sorted(due(world)) == [("ann2", False, "2021"), ("bob2", True, "2021")]
    change = world.facts.carry_out()
    assert heads(world) == ["bob2"]
    world.undo(change.revision or 0)
    for name in ("ann", "bob"):
        world.add([(f"ex:{name}3", "rdf:type", "ex:Person")])
        world.curation.merge(f"ex:{name}3", f"ex:{name}2")
    assert (heads(world), due(world)) == (["ann3"], []), "nor does it take a decision back"


def test_a_clock_that_was_wrong_once_changes_nothing(world: World, clock: Hands) -> None:
    world.facts.state(*HEAD, valid_from="2015", valid_to="2021")
    clock.set("2036-01-01")
    world.add([("ex:bob", "rdf:type", "ex:Person")])
    world.undo(world.facts.carry_out().revision or 0)
    clock.set("2020-07-01")
    assert (heads(world), heads(world.as_of("now")), due(world)) == (["ann"], ["ann"], [])


def test_times_without_a_zone_are_of_the_worlds_zone(world: World, clock: Hands) -> None:
    world.policy = world.policy.with_(time_zone="America/New_York")
    world.facts.state(*HEAD, valid_from="2021-07-04", valid_to="2021-07-04")
    for moment, holds in (("2021-07-04T03:59", False), ("2021-07-04T04:00", True), ("2021-07-05T03:59", True),
                          ("2021-07-05T04:00", False)):  # fmt: skip
        clock.set(moment)
        assert bool(heads(world.as_of("now"))) is bool(due(world)) is holds, moment
    assert heads(world.as_of("2021-07-04")) == heads(world.as_of("2021-07-04T12:00-04:00")) == ["ann"]
    world.policy = world.policy.with_(time_zone="Asia/Tokyo")
    assert heads(world.as_of("2021-07-04T12:00-04:00")) == []
    world.facts.state(*HEAD, valid_from="11999", valid_to="12000")
    assert heads(world.as_of("11999-06")) == ["ann"]
    with pytest.raises(ValueError, match="time_zone must be a name such as"):
        world.policy.with_(time_zone="Mars/Olympus")


def test_transactions_state_and_carry_out(world: World, clock: Hands) -> None:
    world.facts.state(*HEAD, valid_from="2021")
    clock.set("2022-01-01")
    with world.transaction():
        world.facts.state("ex:acme", "ex:head", "ex:bob", valid_to="2022-06")
        assert world.facts.carry_out().added == 1
        assert heads(world) == ["ann", "bob"]
        assert due(world) == []
        clock.set("2023-01-01")
    assert due(world) == [("bob", False, "2022-06")], "it ended while the transaction lasted"


WRITER = """
import sys, time, datetime, worlds
with worlds.open(sys.argv[1], embedder=None) as world:
    for number in range(20):
        now = datetime.datetime.now(datetime.UTC)
        world.facts.state("urn:s", "urn:p", f"urn:{sys.argv[2]}{number}", valid_from=now,
                    valid_to=now + datetime.timedelta(seconds=2))
        assert len(list(world.quads("urn:s", "urn:p", f"urn:{sys.argv[2]}{number}"))) == 1
        if number % 5 == 0:
            world.facts.carry_out()
    time.sleep(2)
"""


def test_processes_that_state_and_carry_out_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        writers = [Forked([sys.executable, "-c", WRITER, str(path), name]) for name in "ab"]
        assert [one.wait() for one in writers] == [0, 0]
        world.facts.carry_out()
        assert not list(world.quads("urn:s", "urn:p"))
        assert world.facts.due() == []
        assert len(world.facts.timeline("urn:s").facts) == 40
        assert world.check().ok


def test_the_commands_list_and_carry_out(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.bind("ex", EX)
        assert "nothing is due" in run("facts due", path).output
        soon = datetime.datetime.now(UTC) + datetime.timedelta(seconds=1)
        world.facts.state(*HEAD, valid_from=soon)
        assert not list(world.quads(*HEAD))
        while datetime.datetime.now(UTC) < soon:
            time.sleep(0.1)
    assert "ex:head" in ok("facts due", path)
    assert '"begins": true' in ok("facts due", path, "--json")
    assert "1 quad added" in ok("facts carry-out", path, "--dry-run", "--embedder", "none")
    assert "1 quad added" in ok("facts carry-out", path, "--author", "night", "--embedder", "none")
    assert "nothing is due" in ok("facts carry-out", path, "--embedder", "none")


# -- the oracle -------------------------------------------------------------------------------------------------------


@dataclass
class Span:
    """An interval of years, both included, and when its beginning and its end were told."""

    first: int
    last: int | None
    told: list[datetime.datetime]

    def at(self, time: datetime.datetime) -> bool:
        return self.first <= time.year and (self.last is None or time.year <= self.last)

    def edge(self, which: int) -> datetime.datetime:
        year = self.first if which == 0 else 9999 if self.last is None else self.last + 1
        return datetime.datetime(year, 1, 1, tzinfo=UTC)


@dataclass
class Fact:
    """A fact as plain lists: its intervals, whether it is asserted, and when that was changed."""

    spans: list[Span] = field(default_factory=list)
    asserted: bool = False
    changed: datetime.datetime = datetime.datetime(1, 1, 1, tzinfo=UTC)

    def become(self, asserted: bool, now: datetime.datetime) -> None:
        if asserted != self.asserted:
            self.asserted, self.changed = asserted, now

    def waits(self, span: Span, which: int, time: datetime.datetime) -> bool:
        """Whether a beginning, or an end, has come by a time, and was told before, and nobody has decided it."""
        return max(span.told[which], self.changed) < span.edge(which) <= time

    def holds(self, time: datetime.datetime) -> bool:
        then = [span for span in self.spans if span.at(time)]
        if not self.asserted:
            return any(
                span.last is not None or self.waits(span, 0, datetime.datetime.max.replace(tzinfo=UTC)) for span in then
            )
        over = all(span.last is not None and span.last < time.year for span in self.spans)
        return bool(then) or (over and not any(self.waits(span, 1, time) for span in self.spans))

    def due(self, now: datetime.datetime) -> bool:
        came = any(self.waits(span, int(self.asserted), now) for span in self.spans)
        return came and self.holds(now) != self.asserted


Facts = dict[str, Fact]


@pytest.mark.timeout(7200)
def test_random_histories_are_those_of_plain_lists(clock: Hands, pytestconfig: pytest.Config) -> None:
    for seed in range(10_000 if pytestconfig.getoption("--long") else 6):
        draw = random.Random(seed)
        clock.set("2010-06-01")
        with worlds.open(":memory:", embedder=None) as world:
            facts: Facts = {}
            states: dict[int, Facts] = {}
            for step in range(12 if seed % 4 == 0 else 6):
                clock.time += datetime.timedelta(hours=1)
                if draw.random() < 0.4:
                    clock.set(f"{clock.time.year + draw.randrange(1, 4)}-06-01")
                _step(world, facts, states, draw, clock.time, undoing=seed % 2 == 0)
                states.setdefault(world.stats().last_revision, deepcopy(facts))
                where = (seed, step, clock.time.year, facts)
                _compare(world, facts, clock.time, where)
                year = draw.randrange(2005, 2035)
                then = datetime.datetime(year, 6, 1, tzinfo=UTC)
                wanted = {name for name, fact in facts.items() if fact.holds(then)}
                assert _held(world.as_of(f"{year}-06")) == wanted, (*where, year)
                if seed % 2:
                    assert wanted == {name for name, fact in facts.items() if any(one.at(then) for one in fact.spans)}
            if pruned := draw.random() < 0.3 and world.stats().last_revision > 2:
                world.revisions.prune(draw.randrange(1, world.history()[0].revision + 2))
                _compare(world, facts, clock.time, (seed, "pruned"))
                clock.time += datetime.timedelta(days=700)
                _compare(world, facts, clock.time, (seed, "pruned, and later"))
            first = min((one.revision for one in world.history()), default=99)
            kept = [one for one in states if one >= first]
            for revision in sorted(draw.sample(kept, min(2, len(kept)))):
                past, before = world.at(revision), states[revision]
                assert _held(past) == {name for name, fact in before.items() if fact.asserted}, (seed, revision)
                year = draw.randrange(2005, 2035)
                then = datetime.datetime(year, 6, 1, tzinfo=UTC)
                wanted = {name for name, fact in before.items() if fact.holds(then)}
                if not pruned:  # else it is forgotten what lay ahead then
                    assert _held(past.as_of(f"{year}-06")) == wanted, (seed, revision, year, before)


def _compare(world: World, facts: Facts, now: datetime.datetime, where: object) -> None:
    assert _held(world) == {name for name, fact in facts.items() if fact.asserted}, where
    assert {str(one.object): one.begins for one in world.facts.due()} == {
        name: not fact.asserted for name, fact in facts.items() if fact.due(now)
    }, where
    assert _held(world.as_of("now")) == {name for name, fact in facts.items() if fact.holds(now)}, where


def _held(world: World) -> set[str]:
    return {str(quad[2]) for quad in world.quads("urn:s", "urn:p")}


def _step(
    world: World, facts: Facts, states: dict[int, Facts], draw: random.Random, now: datetime.datetime, *, undoing: bool
) -> None:
    name, year = f"urn:{draw.choice('abc')}", now.year
    fact = facts.setdefault(name, Fact())
    quad = ("urn:s", "urn:p", name)
    current = next((one for one in fact.spans if one.at(now)), None)
    after = max((span.last or 9999 for span in fact.spans), default=2004) + 1
    match draw.randrange(9):
        case 0 | 1 | 2 if current is None and after < 2030:
            first = draw.randrange(after, 2031)
            last = draw.choice([None, draw.randrange(first, 2032)])
            if fact.asserted and first > year and not any(fact.waits(span, 1, now) for span in fact.spans):
                with pytest.raises(ArgumentError, match="without an end"):
                    world.facts.state(*quad, valid_from=str(first))
                return
            world.facts.state(*quad, valid_from=str(first), valid_to=None if last is None else str(last))
            fact.spans.append(Span(first, last, [now, now]))
            if first <= year and (last is None or last >= year):
                fact.become(True, now)
        case 3 if current is not None and fact.asserted and len(fact.spans) == 1:
            last = draw.randrange(current.first, 2032)
            last += last == year  # a year that is not over would end now
            world.facts.end(quad, at=str(last))
            if last != current.last:
                current.last, current.told[1] = last, now
            fact.become(last > year, now)
        case 4 if current is None and fact.spans and all((span.last or 9999) < year for span in fact.spans):
            waits = any(fact.waits(span, 1, now) for span in fact.spans)
            if fact.asserted and not waits:
                return
            rows = [one for one in fact.spans if not fact.asserted or fact.waits(one, 1, now)]
            world.facts.reinstate(quad)
            max(rows, key=lambda one: one.last or 0).last = None
            fact.become(True, now)
        case 5 if len(states) > 1 and undoing:
            last_revision = world.stats().last_revision
            if (before := states.get(last_revision - 1)) is not None:
                world.undo(last_revision)
                _taken_back(facts, deepcopy(before), now)
        case 6:
            other = f"{name}/{len(states)}"
            world.add([(other, RDF.type, URIRef("urn:T"))])
            if fact.spans:
                changed = world.curation.merge(other, name)
                assert _held(world) == {other if one == name else one for one, two in facts.items() if two.asserted}
                world.curation.split(changed.revision or 0)
        case 7 | 8:
            wanted = {name for name, one in facts.items() if one.due(now)}
            change = world.facts.carry_out()
            assert (change.revision is None) is not bool(wanted)
            assert change.added + change.removed == len(wanted)
            for one in wanted:
                facts[one].become(not facts[one].asserted, now)
            assert world.facts.due() == []


def _taken_back(facts: Facts, before: Facts, now: datetime.datetime) -> None:
    """Have the facts as they were before, which is told now."""
    for name, fact in facts.items():
        was = before.get(name, Fact())
        known = {(which, one.edge(which)): one.told[which] for one in fact.spans for which in (0, 1)}
        for span in was.spans:
            span.told = [known.get((which, span.edge(which)), now) for which in (0, 1)]
        fact.spans = was.spans
        fact.become(was.asserted, now)
