"""The clock of a world on a server: every replica sees what is due, and one writer carries it out."""

from __future__ import annotations

import datetime
import threading
import time

import pytest

from tests.support.passing import plan, watch
from tests.support.primaries import Served
from tests.support.seams import set_the_clock


def test_what_is_due_is_seen_on_every_replica_and_carried_out_once(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    years = [2020]
    set_the_clock(monkeypatch, lambda: datetime.datetime(years[0], 6, 1, tzinfo=datetime.UTC))
    world = served.open()
    world.bind("ex", "https://example.org/")
    world.state("ex:acme", "ex:head", "ex:ann", valid_to="2021")
    world.state("ex:acme", "ex:head", "ex:bob", valid_from="2022")
    other = served.open("other")
    other.refresh()

    def held() -> list[list[str]]:
        return [
            [str(quad[2])[-3:] for quad in one.quads("ex:acme", "ex:head")]
            for one in (world, other, world.only(graphs="default"))
        ]

    assert held() == [["ann"]] * 3
    years[0] = 2022
    assert held() == [["bob"]] * 3
    last = world.history()[0].revision
    other.add([("ex:acme", "ex:size", "ex:large")])
    world.refresh()
    assert held() == [["bob"]] * 3
    assert [entry.message for entry in world.history(2)] == [None, "by the clock: 1 begun, 1 ended"]
    world.add([("ex:acme", "ex:size", "ex:larger")])
    assert world.history()[0].revision == last + 3
    assert world.check().ok


@pytest.mark.timeout(1200)
def test_a_replica_tells_what_holds_while_time_passes_and_others_write(served: Served, long: bool) -> None:
    count, asks = (200, 2000) if long else (20, 50)
    writer, reader = served.open(), served.open("other")
    plan(writer, begin := time.time() + 3, count)
    reader.refresh()
    over = threading.Event()

    def write() -> None:
        number = 0
        while not over.wait(0.3):
            writer.add([("urn:k", "urn:q", f"urn:{(number := number + 1)}")])

    others = threading.Thread(target=write)
    others.start()
    try:
        assert watch(reader, begin, count, asks, seed=4) >= asks
    finally:
        over.set()
        others.join()
    reader.refresh()
    assert not list(reader.quads("urn:s", "urn:says"))
    assert reader.check().ok
