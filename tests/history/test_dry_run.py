"""dry_run: the difference that a write would make, and no trace of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given

import worlds
from tests.history.test_any_history import some_quads
from tests.support.command_line import DATA, ok
from tests.support.readback import quads_of
from worlds.graph.terms import format_term, to_oxigraph

INSERT = 'INSERT { ?s <urn:q> "new" } WHERE { ?s <urn:p> ?o }'
TRIPLE = ("urn:a", "urn:p", '"red kite"')
OTHER = ("urn:b", "urn:p", '"grey heron"')


@pytest.fixture
def world() -> Any:
    with worlds.open(embedder=None) as world:
        world.add([TRIPLE])
        world.sources.add_document("urn:d", "# Kites\n\nfly.")
        yield world


def rows(quads: Any) -> set[tuple[str, ...]]:
    return {tuple(str(term) for term in quad[:3]) for quad in quads}


WRITES = {
    "add": lambda w, **o: w.add([TRIPLE, OTHER], **o),
    "remove": lambda w, **o: w.remove([TRIPLE, OTHER], **o),
    "load": lambda w, **o: w.load(b"<urn:b> <urn:p> 'x' . _:b <urn:p> 'y' .", format="turtle", mode="replace", **o),
    "update": lambda w, **o: w.update(INSERT, **o),
    "graphs": lambda w, **o: w.update("CREATE GRAPH <urn:g>", **o),
    "undo": lambda w, **o: w.undo(1, **o),
    "apply_patch": lambda w, **o: w.revisions.apply(b"TX .\nA <urn:x> <urn:p> <urn:y> .\nTC .\n", **o),
    "add_document": lambda w, **o: w.sources.add_document("urn:d", "# Herons\n\nwade.", **o),
    "nothing": lambda w, **o: w.add([TRIPLE], **o),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("asked", [False, True], ids=["before any query", "with an index"])
def test_a_dry_run_gives_the_difference_that_the_write_makes(world: Any, name: str, asked: bool) -> None:
    count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    if asked:
        world.query(count)
    before, stats = quads_of(world), world.stats()
    diff = WRITES[name](world, dry_run=True)
    assert isinstance(diff, worlds.records.Diff)
    shown = json.loads(json.dumps(diff.to_dict()))
    assert shown["counts"] == {"added": len(diff.added), "removed": len(diff.removed)}
    assert shown["added"] == [[one and format_term(to_oxigraph(one)) for one in quad] for quad in diff.added]
    assert len(diff.to_dict(1)["added"]) == min(1, len(diff.added))
    assert quads_of(world) == before
    assert world.stats() == stats
    assert world.query(count)[0].n.toPython() == len(before)
    assert world.check().ok
    WRITES[name](world)
    real = world.diff(stats.last_revision)
    if name != "load":  # whose blank nodes are new ones each time
        assert (rows(diff.added), rows(diff.removed)) == (rows(real.added), rows(real.removed))
    assert (len(diff.added), len(diff.removed)) == (len(real.added), len(real.removed))
    assert (diff.created, diff.dropped) == (real.created, real.dropped)
    assert bool(diff) is (name != "nothing")


def test_its_patch_does_what_the_write_would_have_done(world: Any) -> None:
    diff = world.update("DELETE { ?s ?p ?o } INSERT { ?s ?p 'all' } WHERE { ?s ?p ?o }", dry_run=True)
    world.revisions.apply(diff.patch())
    assert {str(quad[2]) for quad in world.quads()} == {"all"}


def test_in_a_transaction_it_tells_its_own_part_alone(world: Any) -> None:
    with world.transaction():
        world.add([OTHER])
        diff = world.remove([OTHER, TRIPLE], dry_run=True)
        assert rows(diff.removed) == {("urn:a", "urn:p", "red kite"), ("urn:b", "urn:p", "grey heron")}
        assert not diff.added
        world.remove([TRIPLE])
    assert [str(quad[2]) for quad in world.quads(predicate="urn:p")] == ["grey heron"]
    assert world.check().ok


def test_an_error_is_the_same(world: Any) -> None:
    with pytest.raises(worlds.ParseError):
        world.load(b"no turtle", format="turtle", dry_run=True)
    with pytest.raises(worlds.ConflictError):
        world.revisions.apply(b"TX .\nD <urn:x> <urn:p> <urn:y> .\nTC .\n", dry_run=True)


@given(some_quads, some_quads, some_quads)
def test_any_two_writes_come_to_their_net_difference(
    held: list[ox.Quad], added: list[ox.Quad], removed: list[ox.Quad]
) -> None:
    with worlds.open(embedder=None) as world:
        world.add(held)
        before = quads_of(world)

        def data(quads: list[ox.Quad]) -> str:
            return " ".join(
                f"GRAPH {quad.graph_name} {{ {quad.triple} }}"
                if isinstance(quad.graph_name, ox.NamedNode)
                else f"{quad.triple} ."
                for quad in quads
                if not isinstance(quad.object, ox.BlankNode)
            )

        request = f"INSERT DATA {{ {data(added)} }} ; DELETE DATA {{ {data(removed)} }}"
        diff = world.update(request, dry_run=True)
        assert quads_of(world) == before
        world.update(request)
        real = world.diff(1 if held else 0)
        assert (set(diff.added), set(diff.removed)) == (set(real.added), set(real.removed))
        assert world.check().ok


def document(*args: str | Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(ok(*args))
    return told


# --- the command line -------------------------------------------------------------------------------------------------


def test_commands_that_write_show_the_difference(tmp_path: Path) -> None:
    world, data = tmp_path / "kb.db", tmp_path / "data.ttl"
    data.write_text(DATA)
    shown = ok("load", world, data, "--dry-run", "--no-embed")
    assert shown.startswith("from revision 0 to 1: ")
    assert not world.exists()
    ok("load", world, data, "--no-embed")
    count = document("stats", world, "--json")["quads"]
    note = tmp_path / "note.md"
    note.write_text("# Note\n\nA text.")
    for line in (
        ("update", world, "DELETE WHERE { ?s ?p ?o }"),
        ("undo", world, "1"),
        ("sources add-document", world, note, "--iri", "urn:note"),
    ):
        told = document(*line, "--dry-run", "--json")
        assert told["counts"]["added"] + told["counts"]["removed"] > 0
        assert {"from", "to", "added", "removed"} <= set(told)
    patch = tmp_path / "a.rdfp"
    patch.write_text("TX .\nA <urn:x> <urn:p> <urn:y> .\nTC .\n")
    assert "<urn:x>\n  + <urn:p>: <urn:y>" in ok("revisions apply", world, patch, "--dry-run")
    assert document("stats", world, "--json")["quads"] == count
    assert document("log", world, "--json")["revisions"][0]["revision"] == 1
