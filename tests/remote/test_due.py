"""What is due in a world on a server: every replica lists it, and one carries it out."""

from __future__ import annotations

import datetime

import pytest

from tests.support.primaries import Served
from tests.support.seams import set_the_clock


def test_what_is_due_is_listed_on_every_replica_and_carried_out_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    years = [2020]
    set_the_clock(monkeypatch, lambda: datetime.datetime(years[0], 6, 1, tzinfo=datetime.UTC))
    world = served.open()
    world.bind("ex", "https://example.org/")
    world.facts.state("ex:acme", "ex:head", "ex:ann", valid_to="2021")
    world.facts.state("ex:acme", "ex:head", "ex:bob", valid_from="2022")
    other = served.open("other")
    other.refresh()

    def held() -> list[list[str]]:
        return [
            sorted(str(quad[2])[-3:] for quad in one.quads("ex:acme", "ex:head"))
            for one in (world, other, world.only(graphs="default"))
        ]

    years[0] = 2022
    last = world.history()[0].revision
    other.add([("ex:acme", "ex:size", "ex:large")])
    world.refresh()
    assert held() == [["ann"]] * 3
    assert [[one.begins for one in each.facts.due()] for each in (world, other)] == [[False, True]] * 2
    assert (other.facts.carry_out().revision, world.facts.carry_out().revision) == (last + 2, None)
    world.refresh()
    assert held() == [["bob"]] * 3
    assert world.facts.due() == other.facts.due() == []
    assert world.check().ok
