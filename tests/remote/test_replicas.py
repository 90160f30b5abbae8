"""A world on a server is a World with all its verbs; what is written is on the server, and here."""

from __future__ import annotations

import contextlib
import io
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import problems
from tests.support.primaries import EX, RED, Served, kill, kite, until
from worlds import ConflictError, OpenError, ReadOnlyError, UncertainError
from worlds.extras.remote.file_transfer import pull
from worlds.records import Retention
from worlds.sql.hrana import Hrana


def test_a_world_on_a_server_has_all_verbs(served: Served, tmp_path: Path) -> None:
    w = served.open(embedder=HashingEmbedder())
    assert len(w) == 1
    assert w.path == served.url
    change = w.add([kite(1), kite(2)], author="ann")
    assert (change.revision, change.added, change.embedded) == (2, 2, 2)
    assert [hit.text for hit in w.search("number 1", limit=1)] == ["kite number 1"]
    w.bind("ex", EX)
    assert w.update("DELETE WHERE { ex:s1 ?p ?o }").removed == 1
    assert w.query("ASK { ex:s2 ?p ?o }") is True
    assert w.embed() == 1
    assert w.undo(3).added == 1
    w.sources.add_document("ex:doc", "# A title\n\nThe red kite soars.", format="markdown")
    with w.transaction(message="both"):
        w.add([kite(3)])
        with pytest.raises(ZeroDivisionError), w.transaction():
            w.add([kite(4)])
            raise ZeroDivisionError
        w.remove([kite(2)])
    assert w.history(1)[0].message == "both"
    assert w.prefixes["ex"] == EX
    assert w.count("ex:s4") == 0
    assert not w.check().problems
    assert w.replica is not None
    assert (w.replica.revision, w.replica.error) == (w.history(1)[0].revision, None)
    pull(served.url, tmp_path / "pulled.db", token=served.token())
    with worlds.open(tmp_path / "pulled.db", embedder=HashingEmbedder()) as pulled:
        assert set(pulled.quads()) == set(w.quads())
        assert not pulled.check().problems
        assert problems(pulled) == []
        pulled.add([kite(9)])


def test_others_see_what_was_written(served: Served) -> None:
    one, other = served.open("one"), served.open("other")
    for number in range(5):
        one.add([kite(number)])
        other.refresh()
        assert other.query(f"ASK {{ <{EX}s{number}> ?p ?o }}") is True
        assert other.search(f"number {number}", limit=1)[0].text == f"kite number {number}"
    until(lambda: other.replica is not None and other.replica.age < 1)


def test_a_write_that_another_was_faster_than(served: Served) -> None:
    one, other = served.open("one"), served.open("other")
    with pytest.raises(ConflictError, match="another writer"), one.transaction():
        one.add([kite(1)])
        other.add([kite(2)])
    assert one.count(EX + "s1") == 0
    one.refresh()
    assert one.count(EX + "s2") == 1
    # A single verb is done anew, by what the world is then.
    other.add([kite(3)])
    assert one.update(f"DELETE WHERE {{ ?s <{EX}p> ?o }}").removed == 3
    other.refresh()
    assert len(other) == 0
    assert not other.check().problems


def test_every_single_verb_is_done_anew(served: Served) -> None:
    one, other = served.open("one"), served.open("other")
    one.add([kite(number) for number in range(4)])
    entities = [f"{EX}s{number}" for number in range(4)]
    shape = "@prefix sh: <http://www.w3.org/ns/shacl#> . <urn:shape> a sh:NodeShape ; sh:targetClass <urn:C> ."
    merged: list[Any] = []
    proposed: list[int] = []
    verbs: dict[str, Callable[[], object]] = {
        "merge": lambda: merged.append(one.curation.merge(*entities[:2]).revision),
        "split": lambda: one.curation.split(merged[0]),
        "distinct": lambda: one.curation.distinct(*entities[2:]),
        "propose": lambda: proposed.append(one.proposals.add(add=[kite(7)], why="seen").id),
        "propose a second": lambda: proposed.append(one.proposals.add(add=[kite(8)], why="seen").id),
        "amend": lambda: one.proposals.amend(proposed[0], why="surely"),
        "accept": lambda: one.proposals.accept(proposed[0]),
        "reject": lambda: one.proposals.reject(proposed[1], "no"),
        "policy": lambda: setattr(one, "policy", one.policy.changed({"exclude": [EX + "q"]}, {})),
        "retention": lambda: setattr(one.revisions, "retention", Retention(revisions=100)),
        "default_graph": lambda: setattr(one.file, "default_graph", "union"),
        "shapes": lambda: one.shapes.load(shape.encode(), mode="replace"),
        "guard": lambda: setattr(one.shapes, "guard", "off"),
    }
    conflicts = 0
    for number, (name, verb) in enumerate(verbs.items()):
        other.refresh()
        other.add([kite(100 + number)])
        assert one.replica is not None
        before = one.replica.conflicts
        try:
            verb()
        except ConflictError as error:
            pytest.fail(f"{name}: {error}")
        conflicts += one.replica.conflicts - before
    assert conflicts
    assert one.proposals.get(proposed[0]).status == "accepted"
    assert not one.check().problems


@pytest.mark.parametrize(("own", "listed"), [(False, False), (True, True)], ids=["a stream", "a list, of shapes"])
def test_a_stream_that_a_conflict_has_used_up_is_not_taken_for_an_empty_one(
    served: Served, own: bool, listed: bool
) -> None:
    one, other = served.open("one"), served.open("other")
    one.add([kite(1)])

    def load() -> int:
        stream = io.BytesIO(f"<{EX}s> <{EX}p> <{EX}o> .".encode())
        return (one.shapes if own else one).load([stream] if listed else stream, format="nt").added

    other.refresh()
    other.add([kite(2)])
    try:
        added = load()
    except ConflictError:  # unless the replica has caught up by then
        one.refresh()
        added = load()
    assert added == 1


def test_two_worlds_on_one_replica(served: Served) -> None:
    one, two = served.open(), served.open()
    one.add([kite(1)])
    assert two.count(EX + "s1") == 1
    assert len({one.replica.process, two.replica.process}) == 1  # type: ignore[union-attr]


def test_a_large_write_goes_in_pieces(served: Served) -> None:
    w = served.open()
    lines = "\n".join(f'<{EX}s{n}> <{EX}p> "kite number {n} over the lake {n % 97}" .' for n in range(60_000))
    assert w.load(lines.encode(), format="nt").added == 60_000
    assert len(w) == 60_001
    assert not w.check().problems


def test_a_replica_is_not_written_to(served: Served) -> None:
    served.open()
    replica = served.replica()
    for path in (replica, replica.resolve()):
        with pytest.raises(ReadOnlyError, match="replica"):
            worlds.open(path, embedder=None)
        with worlds.open(path, read_only=True, embedder=None) as w:
            assert len(w) == 1
    with pytest.raises(ReadOnlyError):
        served.open(read_only=True).add([kite(1)])


def test_what_cannot_be_opened(served: Served, tmp_path: Path) -> None:
    file = tmp_path / "own.db"
    worlds.open(file, embedder=None).close()
    with pytest.raises(OpenError, match="file of its own"):
        worlds.open(served.url, replica=file, token=served.token())
    with pytest.raises(OpenError, match="refuses the token"):
        served.open("wrong", token="wrong")
    with pytest.raises(OpenError, match="no such world"):
        served.stack.enter_context(
            worlds.open(f"{served.primary.address}/none", replica=served.replica("n"), token=served.token())
        )
    with pytest.raises(OpenError, match="cannot be reached"):
        worlds.open("http://127.0.0.1:9/kb", replica=served.replica("down"), timeout=1)
    with pytest.raises(OpenError, match="HOST/NAME"):
        worlds.open("http://127.0.0.1/a/b")
    with pytest.raises(ValueError, match="is a file"):
        worlds.open(file, token="x")
    with pytest.raises(ConflictError, match="already"):
        served.push()


def test_a_write_whose_stream_the_server_has_forgotten(served: Served) -> None:
    """A write goes by the stream of the one before it; the server forgets that after ten seconds."""
    server = Hrana(served.primary.address, served.name, served.token())
    nothing = [("UPDATE meta SET value = value WHERE name = 'nothing'", ())]
    server.write(nothing)
    assert server.stream is not None
    server.stream = server.stream[:-8] + "AAAAAAA="
    server.write(nothing)
    assert server.stream is not None
    server.close()
    w, other = served.open(), served.open("other")
    for number in range(3):
        w.add([kite(number)])
    served.push(f'<{EX}b> <{EX}p> "blue lake" .'.encode(), replace=True)
    with contextlib.suppress(ConflictError):  # made from what is no longer there
        w.add([kite(4)])
    until(lambda: w.count(EX + "b") == 1)
    w.add([kite(5)])
    other.refresh()
    assert set(w.quads()) == set(other.quads())
    assert w.count(f"{EX}s5") == 1


def test_a_token_that_may_not_write(served: Served) -> None:
    w = served.open(token=served.token(read_only=True))
    assert len(w) == 1
    with pytest.raises(OpenError, match=r"refuses|not authorized|read"):
        w.add([kite(1)])
    assert len(w) == 1


def test_a_follower_that_is_killed_is_started_again(served: Served) -> None:
    w = served.open()
    for number in range(2):
        status = served.status()
        kill(status.process)
        if number % 2:
            kill(status.supervisor)
        w.add([kite(number)])
        assert w.count(f"{EX}s{number}") == 1
    assert not w.check().problems


def test_a_primary_that_is_replaced_is_fetched_anew(served: Served) -> None:
    w, reader = served.open(), worlds.open(served.replica(), read_only=True, embedder=None)
    w.add([kite(1)])
    assert w.query(f"ASK {{ <{EX}s1> ?p ?o }}") is True
    served.push(f'<{EX}b> <{EX}p> "blue lake" .'.encode(), replace=True)
    until(lambda: w.count(EX + "b") == 1)
    assert len(w) == 1
    assert w.query(f"ASK {{ <{EX}s1> ?p ?o }}") is False
    assert [hit.text for hit in w.search("lake")] == ["blue lake"]
    assert w.replica is not None
    assert w.replica.fetched == 2
    w.add([kite(5)])
    assert not w.check().problems
    reader.close()


READS: dict[str, Callable[[worlds.World], object]] = {
    "search": lambda w: w.search("kite"),
    "query": lambda w: w.query("ASK { ?s ?p ?o }"),
    "quads": lambda w: list(w.quads()),
    "len": len,
    "describe": lambda w: w.describe(f"{EX}a"),
    "resolve": lambda w: w.resolve("kite"),
    "schema": lambda w: w.schema(),
    "stats": lambda w: w.stats(),
    "history": lambda w: w.history(),
    "at": lambda w: len(w.at(1)),
    "graphs": lambda w: list(w.graphs()),
    "proposals": lambda w: w.proposals.list(),
    "count": lambda w: w.count(),
    "export": lambda w: w.export(io.BytesIO(), format="nt"),
    "prefixes": lambda w: dict(w.prefixes),
    "policy": lambda w: w.policy,
    "mentions": lambda w: w.entities.mentions("kite"),
}


def test_a_primary_that_is_frozen_or_down(served: Served) -> None:
    w, patient = served.open(max_staleness=1.0, timeout=0.2), served.open(timeout=1.0)
    for read in READS.values():
        read(w)
    sqld = served.primary.process.pid
    os.kill(sqld, signal.SIGSTOP)
    try:
        until(lambda: w.replica is not None and w.replica.age > 1)
        for name, read in READS.items():
            with pytest.raises(OpenError, match="behind"):
                pytest.fail(f"{name} gives {read(w)}")
            read(patient)
    finally:
        os.kill(sqld, signal.SIGCONT)
    until(lambda: w.replica is not None and w.replica.age < 1)
    assert len(w.search("kite")) == 1
    kill(sqld)
    with contextlib.suppress(OpenError, UncertainError):
        patient.add([kite(1)])
    until(lambda: served.primary.process.poll() is None and served.primary.process.pid != sqld)
    until(lambda: w.replica is not None and w.replica.error is None and w.replica.age < 1)
    patient.add([kite(1), kite(2)])
    w.refresh()
    assert len(w) == 3
    assert not w.check().problems


def test_the_server_knows_no_other_paths(served: Served) -> None:
    import httpx

    answer = httpx.post(f"{served.primary.address}/dev/{served.name}/v2/pipeline", json={"requests": []})
    assert answer.status_code == 404
    for path in ("//dev/x/v2/pipeline", "/%64ev/x/v2/pipeline", "/v1/namespaces/x", "/metrics"):
        assert httpx.get(served.primary.address + path).status_code == 404
    other = served.primary.keys.token("other") if served.primary.keys else None
    with pytest.raises(OpenError):
        served.open("other", token=other)
    assert httpx.put(f"{served.primary.address}/worlds/x", content=RED).status_code == 401
