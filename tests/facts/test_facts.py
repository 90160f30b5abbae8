"""Facts in time: state, end, reinstate, timelines, and what held at a time."""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rdflib import OWL, RDF, RDFS, Literal, URIRef

import worlds
from tests.support.command_line import ok, run
from tests.support.embedder import HashingEmbedder
from worlds import World
from worlds.errors import ArgumentError

EX = "https://example.org/"
NOW = datetime.datetime.now(datetime.UTC)
REIFIES = URIRef(str(RDF) + "reifies")


@pytest.fixture
def world() -> Iterator[World]:
    with worlds.open(":memory:", embedder=HashingEmbedder()) as world:
        world.bind("ex", EX)
        for name in ("acme", "ann", "bob", "cid"):
            world.add([(EX + name, RDFS.label, Literal(name.capitalize()))])
        world.add([("ex:head", RDF.type, OWL.FunctionalProperty), ("ex:head", RDFS.label, Literal("head"))])
        yield world


def heads(world: Any) -> list[str]:
    return sorted(str(quad[2]).removeprefix(EX) for quad in world.quads(EX + "acme", EX + "head"))


def test_a_fact_that_ends_is_gone_and_was_there(world: World) -> None:
    world.facts.state(
        "ex:acme", "ex:head", "ex:ann", valid_from="2015", cites=["ex:report", '"a letter"'], confidence=0.9
    )
    world.facts.end(("ex:acme", "ex:head", "ex:ann"), at="2021-04", reason="she left", author="eve")
    entry = world.history()[0]
    assert (entry.message, entry.author) == ("she left", "eve")
    assert heads(world) == []
    assert [heads(world.as_of(time)) for time in ("2014-12-31", "2015", "2021-04-30", "2021-05")] == [
        [], ["ann"], ["ann"], [],
    ]  # fmt: skip
    assert "Ann" not in world.context("Who is the head of Acme?").text
    past = world.as_of("2016")
    assert "head: Ann" in past.context("Who is the head of Acme?").text
    assert past.describe("ex:acme")
    assert past.check().ok
    told = world.facts.timeline("ex:acme").facts[1]
    assert (str(told.valid_from), str(told.valid_to), told.holds) == ("2015", "2021-04", False)
    world.facts.reinstate(("ex:acme", "ex:head", "ex:ann"))
    assert heads(world) == ["ann"]
    assert heads(world.as_of("2022")) == ["ann"]
    world.undo(world.history()[0].revision)
    assert heads(world) == []
    assert heads(world.as_of("2016")) == ["ann"]


def test_the_same_again_changes_nothing_and_another_beginning_replaces_it(world: World) -> None:
    first = world.facts.state("ex:acme", "ex:head", "ex:ann", valid_from="2015", cites="ex:report")
    assert (first.added, world.facts.state("ex:acme", "ex:head", "ex:ann", valid_from="2015").revision) == (4, None)
    world.facts.state("ex:acme", "ex:head", "ex:ann", valid_from="2016-03")
    (fact,) = [one for one in world.facts.timeline("ex:acme").facts if str(one.predicate) == EX + "head"]
    assert str(fact.valid_from) == "2016-03"
    assert world.facts.state("ex:acme", "ex:head", "ex:bob", valid_from="2001", valid_to="2003").added == 3
    assert world.facts.state("ex:acme", "ex:head", "ex:bob", valid_from="2001", valid_to="2003").revision is None
    assert heads(world) == ["ann"]
    found = world.facts.timeline("ex:acme")
    (gap,) = found.gaps
    assert (str(gap.earlier.valid_to), str(gap.later.valid_from), found.overlaps) == ("2003", "2016-03", ())
    world.facts.state("ex:acme", "ex:head", "ex:cid", valid_from="2016")
    (overlap,) = world.facts.timeline("ex:acme").overlaps
    assert {str(overlap.earlier.value), str(overlap.later.value)} == {EX + "ann", EX + "cid"}


def test_overlaps_of_functional_values_are_contradictions(world: World) -> None:
    world.facts.state("ex:acme", "ex:head", "ex:ann", valid_from="2015", valid_to="2018", author="eve")
    world.facts.state("ex:acme", "ex:head", "ex:bob", valid_from="2019")
    world.facts.state("ex:acme", "ex:head", "ex:cid", valid_from="2001", valid_to="2014", graph="ex:other")
    assert world.curation.contradictions().counts == {}
    world.facts.state("ex:acme", "ex:head", "ex:cid", valid_from="2018-05", valid_to="2018-06")
    (found,) = world.curation.contradictions(kinds=["overlap"])
    assert (
        found.message == "ex:acme had two values of ex:head at one time, which may have at most one: ex:ann and ex:cid"
    )
    assert (found.severity, [one.added.author for one in found.quads if one.added]) == ("warning", ["eve", None])
    assert world.at(world.history()[1].revision).curation.contradictions().counts == {}


def test_an_interval_with_an_unknown_end_is_another_one(world: World) -> None:
    world.facts.state("ex:acme", "ex:head", "ex:ann", valid_from="2015")
    world.facts.state("ex:acme", "ex:head", "ex:ann", valid_from="2015", valid_to="2017-03")
    spans = {(str(one.valid_from), str(one.valid_to), one.holds) for one in world.facts.timeline("ex:acme").facts[1:]}
    assert spans == {("2015", "None", True), ("2015", "2017-03", False)}


def test_one_value_takes_the_place_of_another(world: World) -> None:
    world.facts.state("ex:acme", "ex:head", "ex:ann", valid_from="2015")
    world.facts.state("ex:acme", "ex:head", "ex:bob", valid_from="2021-05", supersede="functional")
    assert heads(world) == ["bob"]
    assert [heads(world.as_of(time)) for time in ("2021-04-30", "2021-05-01")] == [["ann"], ["bob"]]
    assert world.facts.timeline("ex:acme").gaps == ()
    world.add([("ex:acme", "ex:head", "ex:ann")])
    before = len(world)
    change = world.facts.state("ex:acme", "ex:head", "ex:cid", supersede="functional")
    assert (change.revision, len(world)) == (None, before)
    assert change.proposal is not None
    proposal = world.proposals.get(change.proposal)
    assert proposal.kind == "supersede"
    world.proposals.accept(proposal.id)
    assert heads(world) == ["cid"]
    world.facts.state("ex:acme", "ex:owns", "ex:bob", supersede=[("ex:acme", "ex:head", "ex:cid")])
    assert heads(world) == []
    with pytest.raises(ArgumentError, match="is not declared to have one value"):
        world.facts.state("ex:acme", "ex:owns", "ex:cid", supersede="functional")


def test_a_transaction_sees_what_it_has_stated(world: World) -> None:
    with world.transaction():
        world.facts.state("ex:acme", "ex:head", "ex:ann", valid_from="2015")
        world.facts.end(("ex:acme", "ex:head", "ex:ann"), at="2016")
        assert heads(world.as_of("2015-06")) == ["ann"]
    assert (heads(world), heads(world.as_of("2015-06"))) == ([], ["ann"])
    assert len(world.history()) == 6


def test_a_fact_belongs_to_its_graph(world: World) -> None:
    world.facts.state("ex:acme", "ex:head", "ex:ann", valid_from="2015", graph="ex:one")
    world.add([("ex:acme", "ex:head", "ex:ann", "ex:two")])
    world.facts.end(("ex:acme", "ex:head", "ex:ann", "ex:one"), at="2016")
    assert [str(quad[3]) for quad in world.quads("ex:acme", "ex:head")] == [EX + "two"]
    found = {str(quad[3]).removeprefix(EX) for quad in world.as_of("2015-06").quads("ex:acme", "ex:head")}
    assert found == {"one", "two"}
    assert not list(world.only(graphs=["ex:one"]).as_of("2018").quads("ex:acme", "ex:head"))
    assert list(world.only(graphs=["ex:one"]).as_of("2015-06").quads("ex:acme", "ex:head"))


def test_other_vocabularies_are_read_as_they_are(world: World) -> None:
    world.load(
        b"""@prefix e: <https://example.org/> . @prefix pq: <http://www.wikidata.org/prop/qualifier/> .
        @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
        [] rdf:reifies <<( e:acme e:head e:ann )>> ; pq:P580 "1999-01-01" ; pq:P582 "2004-12-31" .
        [] rdf:reifies <<( e:acme e:head e:bob )>> ; e:start "2005" ; e:stop "2006" .
        [] rdf:reifies <<( e:acme e:head e:cid )>> ; e:said e:ann .""",
        format="turtle",
    )
    assert heads(world.as_of("2003")) == ["ann"]
    assert heads(world.as_of("2005-05")) == []
    world.policy = world.policy.with_(roles={EX + "start": "valid_from", EX + "stop": "valid_to"})
    assert [heads(world.as_of(time)) for time in ("2003", "2005-05", "2007")] == [["ann"], ["bob"], []]
    assert [str(one.value) for one in world.facts.timeline("ex:acme").facts] == ["Acme", EX + "ann", EX + "bob"]


def test_what_is_wrong_is_said(world: World) -> None:
    world.facts.state("ex:acme", "ex:head", "ex:ann", valid_from="2015")
    tomorrow = (NOW + datetime.timedelta(days=1)).date()
    for call, message in (
        (lambda: world.facts.state("ex:acme", "ex:head", "ex:ann", valid_from=tomorrow), "without an end"),
        (lambda: world.facts.end(("ex:acme", "ex:head", "ex:ann"), at="2014"), "before it began"),
        (lambda: world.facts.state("ex:a", "ex:p", "ex:b", valid_from="2015", valid_to="2014"), "before it began"),
        (lambda: world.facts.state("ex:a", "ex:p", "ex:b", valid_from="soon"), "a time such as"),
        (lambda: world.facts.state("ex:a", "ex:p", "ex:b", confidence=2), "from 0 to 1"),
        (lambda: world.facts.end(("ex:acme", "ex:head", "ex:bob")), "does not hold"),
        (lambda: world.facts.end(("ex:acme", "ex:head")), "a fact must have a subject"),
        (lambda: world.facts.end("ex:acme"), "a fact must have a subject"),
        (lambda: world.facts.reinstate(("ex:acme", "ex:head", "ex:ann")), "this holds"),
        (lambda: world.facts.reinstate(("ex:acme", "ex:head", "ex:bob")), "has no end to take back"),
        (lambda: world.as_of("yesterday"), "a time such as"),
    ):
        before = world.history()[0].revision
        with pytest.raises(ArgumentError, match=message):
            call()
        assert world.history()[0].revision == before
    world.facts.end(("ex:acme", "ex:head", "ex:ann"), at=NOW.date())  # a day that is not over ends now
    assert heads(world) == heads(world.as_of(datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=1))) == []
    diff = world.facts.state("ex:acme", "ex:head", "ex:ann", dry_run=True)
    assert (len(diff.added), heads(world)) == (1, [])


Interval = tuple[int, int | None]
YEARS = range(2000, 2020)


def test_random_histories_are_those_of_plain_lists(pytestconfig: pytest.Config) -> None:
    """The oracle: for each fact a list of [first year, last year or None], and a copy of all for each revision."""
    for seed in range(300 if pytestconfig.getoption("--long") else 3):
        draw = random.Random(seed)
        with worlds.open(":memory:", embedder=None) as world:
            facts: dict[str, list[Interval]] = {}
            states: dict[int, dict[str, list[Interval]]] = {0: {}}
            for _ in range(12):
                _step(world, facts, states, draw)
                states.setdefault(world.stats().last_revision, {name: [*spans] for name, spans in facts.items()})
            for revision in sorted(draw.sample(sorted(states), min(3, len(states)))):
                past = world.at(revision)
                assert _held(past) == {
                    name for name, spans in states[revision].items() if spans and spans[-1][1] is None
                }
                for year in draw.sample(YEARS, 3):
                    wanted = {
                        name for name, spans in states[revision].items() if any(_in(year, span) for span in spans)
                    }
                    assert _held(past.as_of(f"{year}-06")) == wanted, (seed, revision, year)


def _in(year: int, span: Interval) -> bool:
    return span[0] <= year and (span[1] is None or year <= span[1])


def _held(world: World) -> set[str]:
    return {str(quad[2]) for quad in world.quads("urn:s", "urn:p")}


def _step(world: World, facts: dict[str, list[Interval]], states: dict[int, Any], draw: random.Random) -> None:
    name = f"urn:{draw.choice('abcd')}"
    spans = facts.setdefault(name, [])
    holds = bool(spans) and spans[-1][1] is None
    after = max((span[1] or span[0] for span in spans), default=1999) + 1
    match draw.randrange(5):
        case 0 | 1 if not holds and after < 2019:
            first = draw.randrange(after, 2020)
            if draw.random() < 0.5:
                last = draw.randrange(first, 2020)
                world.facts.state("urn:s", "urn:p", name, valid_from=str(first), valid_to=str(last))
                spans.append((first, last))
            else:
                world.facts.state("urn:s", "urn:p", name, valid_from=str(first))
                spans.append((first, None))
        case 2 if holds:
            last = draw.randrange(spans[-1][0], 2020)
            world.facts.end(("urn:s", "urn:p", name), at=str(last))
            spans[-1] = (spans[-1][0], last)
        case 3 if spans and not holds:
            world.facts.reinstate(("urn:s", "urn:p", name))
            spans[-1] = (spans[-1][0], None)
        case 4 if len(states) > 1:
            last = world.stats().last_revision
            if last and (before := states.get(last - 1)) is not None:
                world.undo(last)
                facts.clear()
                facts.update({key: [*value] for key, value in before.items()})


def test_the_commands_state_end_and_show(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.bind("ex", EX)
    none = ("--embedder", "none")
    ok("facts state", path, "ex:acme", "ex:head", "ex:ann", "--from", "2015", "--cites", "ex:report", *none)
    ok("facts end", path, "ex:acme", "ex:head", "ex:ann", "--at", "2020-02", "--reason", "she left")
    assert re.search(r"(?m)^ex:head +ex:ann +2015 +2020-02 +no", ok("facts timeline", path, "ex:acme"))
    assert '"holds": false' in ok("facts timeline", path, "ex:acme", "--json")
    assert re.search(r"former \(1\)(?s:.*)ex:ann +2015 +2020-02 +no", ok("describe", path, "ex:acme"))
    asked = ("sparql", path, "SELECT ?h { ex:acme ex:head ?h }", "--format", "csv")
    assert ok(*asked).split() == ["h"]
    assert ok(*asked, "--as-of", "2016").split() == ["h", EX + "ann"]
    assert ok(*asked, "--as-of", "2016", "--at", "1").split() == ["h", EX + "ann"]
    assert ok(*asked, "--as-of", "2021", "--at", "1").split() == ["h", EX + "ann"]
    assert ok(*asked, "--as-of", "2021").split() == ["h"]
    assert run(*asked, "--as-of", "soon").exit_code == 2
    ok("facts reinstate", path, "ex:acme", "ex:head", "ex:ann", *none)
    assert re.search(r"(?m)^ex:head +ex:ann +2015 +yes", ok("facts timeline", path, "ex:acme"))
    assert "1 removed" in ok("facts end", path, "ex:acme", "ex:head", "ex:ann")
    assert run("facts end", path, "ex:acme", "ex:head").exit_code == 2
    assert run("facts timeline", path, "ex:nobody").exit_code == 1


def test_things_with_intervals_are_there_in_their_time(world: World) -> None:
    world.policy = world.policy.with_(roles={EX + "start": "valid_from", EX + "end": "valid_to"})
    world.load(
        f"""@prefix ex: <{EX}> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
        ex:m1 ex:member ex:ann ; ex:of ex:acme ; ex:start 2010 ; ex:end "2012-05" ; ex:note "She led the sales" .
        ex:m2 ex:member ex:bob ; ex:of ex:acme ; ex:start "2013"^^xsd:gYear .
        ex:acme ex:seat ex:m3 . ex:m3 ex:end "2011-01-01"^^xsd:date . ex:m4 ex:member ex:cid .""".encode(),
        format="ttl",
    )
    for time, there in (("2009", "m3 m4"), ("2010-06", "m1 m3 m4"), ("2012-06", "m4"), ("2020", "m2 m4")):
        past = world.as_of(time)
        found = {str(term).removeprefix(EX) for quad in past.quads() for term in quad[:3]} & {"m1", "m2", "m3", "m4"}
        assert found == set(there.split()), time
        assert bool(past.search("led the sales", mode="text")) is ("m1" in found)
        assert past.check().ok
    assert len(list(world.quads(None, "ex:of"))) == 2, "what nobody removes is there in the present"
    told = [
        (str(one.predicate).removeprefix(EX), str(one.value).removeprefix(EX), one.interval, one.holds, one.incoming)
        for one in world.facts.timeline("ex:acme").facts[1:]
    ]
    assert told == [
        ("seat", "m3", "– 2011-01-01", False, False),
        ("of", "m1", "2010 – 2012-05", False, True),
        ("of", "m2", "2013 –", True, True),
    ]
    (gap,) = world.facts.timeline("ex:acme").gaps
    assert (gap.earlier.interval, gap.later.interval) == ("2010 – 2012-05", "2013 –")
    assert {one.interval for one in world.facts.timeline("ex:m2").facts} == {"2013 –", ""}


def test_a_reifier_is_no_thing_and_statements_of_wikidata_are(world: World) -> None:
    wikidata = "http://www.wikidata.org/"
    world.load(
        f"""PREFIX ex: <{EX}> PREFIX p: <{wikidata}prop/> PREFIX pq: <{wikidata}prop/qualifier/>
        PREFIX ps: <{wikidata}prop/statement/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        ex:acme ex:head ex:bob {{| pq:P580 "2015-01-01T00:00:00Z"^^xsd:dateTime |}} ; p:P169 ex:s1 .
        ex:s1 ps:P169 ex:ann ; pq:P580 "2001-01-01T00:00:00Z"^^xsd:dateTime ;
          pq:P582 "2014-12-31T00:00:00Z"^^xsd:dateTime .""".encode(),
        format="ttl",
    )
    assert [bool(world.as_of(time).query("ASK { ?s ?p ex:ann }")) for time in ("2000", "2010", "2016")] == [
        False, True, False,
    ]  # fmt: skip
    assert [heads(world.as_of(time)) for time in ("2010", "2016")] == [[], ["bob"]]
    assert len(list(world.as_of("2010").quads(None, REIFIES))) == 1, "what is said of a fact is said at all times"


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 20))])
def test_random_things_are_there_in_their_years(seed: int) -> None:
    """The oracle: a thing is there from its earliest beginning to its latest end."""
    draw = random.Random(seed)
    with worlds.open(":memory:", embedder=None) as world:
        world.policy = world.policy.with_(roles={EX + "start": "valid_from", EX + "end": "valid_to"})
        bounds: dict[str, tuple[int, int]] = {}
        for number in range(20):
            thing = f"{EX}m{number}"
            starts, ends = ([draw.randrange(1990, 2030) for _ in range(draw.randrange(3))] for _ in range(2))
            graph = draw.choice([None, "urn:g"])
            world.add([(thing, EX + "of", EX + "acme"), (EX + "x", EX + "has", thing, "urn:h")])
            world.add([(thing, EX + "start", Literal(str(one)), graph) for one in starts])
            world.add([(thing, EX + "end", Literal(str(one)), graph) for one in ends])
            bounds[thing] = min(starts, default=0), max(ends, default=9999)
        for year in range(1988, 2032, 3):
            there = {thing for thing, (first, last) in bounds.items() if first <= year <= last}
            past = world.as_of(f"{year}-06")
            assert {str(quad[0]) for quad in past.quads(None, EX + "of")} == there
            assert {str(quad[2]) for quad in past.quads(None, EX + "has")} == there
        assert {str(one.value) for one in world.facts.timeline(EX + "acme").facts if one.incoming} == {
            thing for thing, pair in bounds.items() if pair != (0, 9999)
        }


@pytest.mark.parametrize("began", [None, "2015", str(NOW.year + 2)])
@pytest.mark.parametrize("ended", ["2020", str(NOW.year + 5)])
def test_what_is_reinstated_is_as_if_it_had_never_had_an_end(began: str | None, ended: str) -> None:
    fact = ("urn:acme", "urn:head", "urn:bob")
    if began is not None and began > ended:
        return

    def seen(world: World) -> list[object]:
        times = ["2010", "2016", "2021", NOW, str(NOW.year + 3), str(NOW.year + 9)]
        told = [(str(one.valid_from), one.valid_to, one.holds) for one in world.facts.timeline("urn:acme").facts]
        return [world.count(*fact), *(world.as_of(time).count(*fact) for time in times), told]

    with worlds.open(embedder=None) as world, worlds.open(embedder=None) as other:
        world.facts.state(*fact, valid_from=began, valid_to=ended)
        world.facts.reinstate(fact)
        other.facts.state(*fact, valid_from=began)
        if began is not None:  # else a fact that holds has no reifier
            assert seen(world) == seen(other)
        assert world.count(*fact) == (began is None or began < str(NOW.year))
        assert world.count(*fact) == world.as_of(NOW).count(*fact)
