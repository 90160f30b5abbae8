"""The clock: facts that begin and end while nobody writes, in every reader at once."""

from __future__ import annotations

import datetime
import random
import subprocess
import sys
import time as real
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rdflib import RDF, RDFS, Literal, URIRef

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.passing import plan
from tests.support.seams import set_the_clock
from tests.support.serving import ROOT
from worlds import World
from worlds.errors import ArgumentError
from worlds.validity import times

EX = "https://example.org/"
HEAD = ("ex:acme", "ex:head", "ex:ann")


class Hands:
    """The hands of a clock that tests set."""

    def __init__(self) -> None:
        self.time = datetime.datetime(2020, 6, 1, tzinfo=datetime.UTC)

    def set(self, text: str) -> None:
        """Set it to a time in ISO 8601."""
        self.time = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)


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


def everywhere(world: World) -> set[bool]:
    """Whether Ann is the head, as each kind of reader tells it."""
    world.only(graphs="default").quads("ex:acme", "ex:head")
    return {
        bool(heads(world)),
        bool(world.query("ASK { ex:acme ex:head ex:ann }")),
        "head: Ann" in world.context("Who is the head of Acme?").text,
        EX + "head" in {str(one.predicate) for one in world.describe("ex:acme").properties},
        bool(world.search("Acme", where="?subject ex:head ex:ann", mode="text")),
        world.count("ex:acme", "ex:head") == 1,
        bool(heads(world.only(graphs="default"))),
        any(fact.holds for fact in world.timeline("ex:acme").facts if str(fact.predicate) == EX + "head"),
        bool(worlds.group({"one": world}).query("ASK { ex:acme ex:head ex:ann }", bindings={})),
    }


def test_what_is_due_begins_and_ends_for_every_reader_and_the_next_write_carries_it_out(
    world: World, clock: Hands
) -> None:
    world.state(*HEAD, valid_from="2021", valid_to="2022-03")
    before = world.history()[0].revision
    for time, holds in (("2020-12-31T23:59:59", False), ("2021-01-01", True), ("2022-03-31T23:59", True),
                        ("2022-04-01", False)):  # fmt: skip
        clock.set(time)
        assert everywhere(world) == {holds}, time
    assert world.history()[0].revision == before, "a reader writes nothing"
    clock.set("2021-07-01")
    world.add([("ex:bob", "rdf:type", "ex:Person")], author="eve")
    told = [(one.revision, one.author, one.message, one.added, one.removed) for one in world.history(2)]
    assert told == [
        (before + 2, "eve", None, 1, 0),
        (before + 1, None, "by the clock: 1 begun, 0 ended", 1, 0),
    ]
    assert everywhere(world) == {True}
    clock.set("2022-05-01")
    world.add([("ex:bob", "rdf:type", "ex:Person")])
    assert world.history()[0].message == "by the clock: 0 begun, 1 ended", "a write without a change"
    assert everywhere(world) == {False}
    assert world.check().ok
    assert [heads(world.as_of(time)) for time in ("2020-12", "2021", "2022-03-31", "2022-04")] == [
        [], ["ann"], ["ann"], [],
    ]  # fmt: skip
    world.undo(world.history()[0].revision)
    assert heads(world) == ["ann"], "the person's word stands"


def test_an_undo_decides_anew_what_time_has_taken_back(world: World, clock: Hands) -> None:
    stated = world.state(*HEAD, valid_from="2020-01", valid_to="2021")
    clock.set("2022-06-01")
    world.add([("ex:bob", "rdf:type", "ex:Person")])
    assert world.history()[1].message == "by the clock: 0 begun, 1 ended"
    world.undo(stated.revision or 0)
    assert heads(world) == heads(world.as_of("2020-06")) == []
    world.undo(world.history()[0].revision)
    assert (heads(world), heads(world.as_of("2020-06"))) == ([], ["ann"])


def test_an_end_to_come_is_moved_taken_back_and_carried_out(world: World, clock: Hands) -> None:
    world.state(*HEAD, valid_from="2019")
    world.end(HEAD, at="2021")
    world.end(HEAD, at="2022")
    assert heads(world) == ["ann"]
    assert [str(one.valid_to) for one in world.timeline("ex:acme").facts[1:]] == ["2022"]
    clock.set("2022-06-01")
    assert heads(world) == ["ann"]
    world.reinstate(HEAD)
    clock.set("2023-06-01")
    assert heads(world) == ["ann"]
    world.end(HEAD, at="2024")
    clock.set("2025-01-01")
    assert heads(world) == []
    world.reinstate(HEAD)
    assert heads(world) == ["ann"]
    with pytest.raises(ArgumentError, match="without an end"):
        world.state(*HEAD, valid_from="2030")


def test_a_value_to_come_takes_the_place_of_another(world: World, clock: Hands) -> None:
    world.add([("ex:head", "rdf:type", "owl:FunctionalProperty")])
    world.state(*HEAD, valid_from="2015")
    world.state("ex:acme", "ex:head", "ex:bob", valid_from="2021-05", supersede="functional")
    assert heads(world) == ["ann"]
    clock.set("2021-04-30T23:00")
    assert heads(world) == ["ann"]
    clock.set("2021-05-01")
    assert heads(world) == ["bob"]
    assert heads(world.as_of("2021-04")) == ["ann"]
    assert heads(world.as_of("2030")) == ["bob"]


def test_guards_and_owners_do_not_stop_time(world: World, clock: Hands) -> None:
    world.shapes = b"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <https://example.org/> .
        [] a sh:NodeShape ; sh:targetNode ex:acme ; sh:property [ sh:path ex:head ; sh:minCount 1 ] ."""
    world.state(*HEAD, valid_to="2020-12")
    world.guard = "reject"
    clock.set("2021-01-01")
    assert heads(world) == []
    assert not world.validate().conforms
    world.add([("ex:bob", "rdf:type", "ex:Person")])
    assert [one.message for one in world.history(2)][1] == "by the clock: 0 begun, 1 ended"


def test_rehearsals_transactions_and_proposals_see_the_present(world: World, clock: Hands) -> None:
    world.state(*HEAD, valid_to="2020-12")
    before = world.history()[0].revision
    clock.set("2021-01-01")
    diff = world.add([HEAD], dry_run=True)
    assert (len(diff.added), world.history()[0].revision) == (1, before)
    assert len(world.update("DELETE WHERE { ex:acme ex:head ?x }", dry_run=True).removed) == 0
    with world.transaction():
        assert heads(world) == []
    clock.set("2021-01-02")
    world.state(*HEAD, valid_from="2021-01-02T00:00Z", valid_to="2021-02")
    clock.set("2021-03-01")
    number = world.propose(add=[HEAD]).id
    assert heads(world) == []
    world.accept(number)
    assert heads(world) == ["ann"]


def test_as_of_is_an_option(world: World, clock: Hands) -> None:
    world.state(*HEAD, valid_from="2010", valid_to="2015")
    assert world.query("ASK { ex:acme ex:head ex:ann }", as_of="2012") is True
    assert world.query("ASK { ex:acme ex:head ex:ann }", as_of="2016") is False
    assert world.search("Acme", where="?subject ex:head ex:ann", as_of="2012")
    assert not world.search("Acme", where="?subject ex:head ex:ann")
    assert "head: Ann" in world.context("Who is the head of Acme?", as_of="2012").text
    assert EX + "head" in str(world.describe("ex:acme", as_of="2012").to_dict())
    told = world.describe("ex:acme")
    assert EX + "head" not in {str(one.predicate) for one in told.properties}
    assert [(str(one.value), str(one.valid_to), one.label) for one in told.former] == [(EX + "ann", "2015", "Ann")]
    assert len(world.neighbourhood("ex:acme", as_of="2012").quads) > len(world.neighbourhood("ex:acme").quads)
    assert world.only(graphs="default").query("ASK { ex:acme ex:head ex:ann }", as_of="2012") is True


def test_times_without_a_zone_are_of_the_worlds_zone(world: World, clock: Hands) -> None:
    world.policy = world.policy.with_(time_zone="America/New_York")
    world.state(*HEAD, valid_from="2021-07-04", valid_to="2021-07-04")
    for time, holds in (("2021-07-04T03:59", False), ("2021-07-04T04:00", True), ("2021-07-05T03:59", True),
                        ("2021-07-05T04:00", False)):  # fmt: skip
        clock.set(time)
        assert bool(heads(world)) is holds, time
    assert heads(world.as_of("2021-07-04")) == heads(world.as_of("2021-07-04T12:00-04:00")) == ["ann"]
    world.policy = world.policy.with_(time_zone="Asia/Tokyo")
    assert heads(world.as_of("2021-07-04T12:00-04:00")) == []
    world.state(*HEAD, valid_from="11999", valid_to="12000")
    assert heads(world.as_of("11999-06")) == ["ann"]
    with pytest.raises(ValueError, match="time_zone is a name such as"):
        world.policy.with_(time_zone="Mars/Olympus")


WRITER = """
import sys, time, datetime, worlds
with worlds.open(sys.argv[1], embedder=None) as world:
    for number in range(20):
        now = datetime.datetime.now(datetime.UTC)
        world.state("urn:s", "urn:p", f"urn:{sys.argv[2]}{number}", valid_from=now,
                    valid_to=now + datetime.timedelta(milliseconds=150))
        world.add([("urn:k", "urn:q", f"urn:{sys.argv[2]}{number}")])
        time.sleep(0.02)
"""


def test_two_processes_that_write_lose_nothing_and_nobody_sees_an_ended_fact(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    ends: dict[str, float] = {}
    with worlds.open(path, embedder=None) as world:
        writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "ab"]
        reads = 0
        while any(one.poll() is None for one in writers) or reads < 50:
            for _ in range(2):  # a write that ended between the question and its answer may have begun long before
                asked = real.time()
                held = {str(quad[2]) for quad in world.quads("urn:s", "urn:p")}
                if not (stale := {name for name in held if ends.get(name, asked) < asked - 0.002}):
                    break
            assert not stale
            asked_too = bool(world.query("ASK { <urn:s> <urn:p> ?o }")) if reads % 3 == 0 else None
            for fact in world.timeline("urn:s").facts:
                if fact.valid_to is not None:
                    ends[str(fact.value)] = times.period(str(fact.valid_to))[1] / 1e6  # type: ignore[index]
            assert asked_too is not True or any(end >= asked for end in ends.values()) or held
            reads += 1
        assert [one.wait() for one in writers] == [0, 0]
        real.sleep(0.2)
        assert not list(world.quads("urn:s", "urn:p"))
        assert len(list(world.quads("urn:k", "urn:q"))) == 40
        assert len(world.timeline("urn:s").facts) == 40
        world.add([("urn:k", "urn:q", "urn:last")])
        assert world.check().ok


READER = """
import sys, worlds
from tests.support.passing import watch
path, begin, count, asks, seed = sys.argv[1:]
with worlds.open(path, embedder=None) as world:
    print(watch(world, float(begin), int(count), int(asks), int(seed)))
"""


@pytest.mark.timeout(1200)
def test_two_processes_are_told_what_holds_while_time_passes_and_a_third_writes(tmp_path: Path, long: bool) -> None:
    count, asks = (400, 5000) if long else (30, 150)
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        plan(world, begin := real.time() + 3, count)
        readers = [
            subprocess.Popen(
                [sys.executable, "-c", READER, *map(str, (path, begin, count, asks, seed))],
                stdout=subprocess.PIPE,
                cwd=ROOT,
                text=True,
            )
            for seed in (1, 2)
        ]
        draw = random.Random(3)
        written = 0
        while any(one.poll() is None for one in readers):
            real.sleep(draw.choice([0.02, 0.3, 0.7]))
            world.add([("urn:k", "urn:q", f"urn:{(written := written + 1)}")])
        assert [one.returncode for one in readers] == [0, 0], "what a reader was told wrongly is above"
        assert sum(int(one.communicate()[0]) for one in readers) >= 2 * asks
        assert not list(world.quads("urn:s", "urn:says"))
        assert len(list(world.quads("urn:k", "urn:q"))) == written
        assert world.check().ok


# -- the oracle -------------------------------------------------------------------------------------------------------

Interval = tuple[int, int | None]
Facts = dict[str, list[Interval]]


@pytest.mark.timeout(7200)
def test_random_histories_with_a_clock_are_those_of_plain_lists(clock: Hands, pytestconfig: pytest.Config) -> None:
    """The oracle: for each fact a list of [first year, last year or None]; it holds in the years of its intervals."""
    for seed in range(10_000 if pytestconfig.getoption("--long") else 100):
        draw = random.Random(seed)
        year = 2010
        clock.set("2010-06-01")
        with worlds.open(":memory:", embedder=None) as world:
            facts: Facts = {}
            states: dict[int, tuple[int, Facts]] = {}
            for step in range(12):
                clock.time += datetime.timedelta(hours=1)
                if draw.random() < 0.4:
                    year += draw.randrange(1, 4)
                    clock.set(f"{year}-06-01")
                _step(world, facts, states, draw, year)
                last = world.stats().last_revision
                states.setdefault(last, (year, _copy(facts)))
                where = (seed, step, year)
                assert _held(world) == _true(facts, year), where
                then = draw.randrange(2005, 2035)
                assert _held(world.as_of(f"{then}-06")) == _true(facts, then), (*where, then, facts)
            if draw.random() < 0.3 and world.history()[0].revision > 2:
                world.prune(draw.randrange(1, world.history()[0].revision))
                assert _held(world) == _true(facts, year), (seed, "pruned")
            kept = [one for one in states if one >= world.history()[-1].revision]
            for revision in sorted(draw.sample(kept, min(2, len(kept)))):
                written, then_facts = states[revision]
                past = world.at(revision).world
                assert _held(past) == _true(then_facts, written), (seed, revision)
                then = draw.randrange(2005, 2035)
                assert _held(past.as_of(f"{then}-06")) == _true(then_facts, then), (seed, revision, then)


def _copy(facts: Facts) -> Facts:
    return {name: [*spans] for name, spans in facts.items()}


def _true(facts: Facts, year: int) -> set[str]:
    return {
        name
        for name, spans in facts.items()
        if any(first <= year and (last is None or year <= last) for first, last in spans)
    }


def _held(world: World) -> set[str]:
    return {str(quad[2]) for quad in world.quads("urn:s", "urn:p")}


def _step(world: World, facts: Facts, states: dict[int, tuple[int, Facts]], draw: random.Random, year: int) -> None:
    name = f"urn:{draw.choice('abc')}"
    spans = facts.setdefault(name, [])
    current = next((one for one in spans if one[0] <= year and (one[1] is None or one[1] >= year)), None)
    after = max((span[1] or 9999 for span in spans), default=2004) + 1
    match draw.randrange(7):
        case 0 | 1 | 2 if current is None and after < 2030:
            first = draw.randrange(after, 2031)
            last = draw.choice([None, draw.randrange(first, 2032)])
            world.state("urn:s", "urn:p", name, valid_from=str(first), valid_to=None if last is None else str(last))
            spans.append((first, last))
        case 3 if current is not None:
            last = draw.randrange(current[0], 2032)
            if last == year:
                last += 1  # a year that is not over would end now
            if len(spans) == 1:
                world.end(("urn:s", "urn:p", name), at=str(last))
                spans[0] = (current[0], last)
        case 4 if current is None and spans and all(span[1] is not None and span[1] < year for span in spans):
            world.reinstate(("urn:s", "urn:p", name))
            place = max(range(len(spans)), key=lambda one: spans[one][1] or 0)
            spans[place] = (spans[place][0], None)
        case 5 if len(states) > 1:
            last = world.stats().last_revision
            before = states.get(last - 1)
            if before is not None and not (world.history()[0].message or "").startswith("by the clock"):
                world.undo(last)
                facts.clear()
                facts.update(_copy(before[1]))
        case 6:
            other = f"{name}/{len(states)}"
            world.add([(other, RDF.type, URIRef("urn:T"))])
            if spans:
                changed = world.merge(other, name)
                assert _held(world) == {other if one == name else one for one in _true(facts, year)}
                world.split(changed.revision or 0)
