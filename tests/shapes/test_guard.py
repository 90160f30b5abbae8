"""World.shapes.guard: what a write brings is what validating everything before and after it tells apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.shapes.test_validate import PERSONS, PREFIXES, SHAPES, shapes, triples
from worlds import World
from worlds.extras.shapes.report import ValidationReport

OWN = "urn:worlds:shapes"
Rows = list[tuple[str, str, str]]


def turtle(rows: Rows) -> bytes:
    return (PREFIXES + "".join(f"{s} {p} {o} .\n" for s, p, o in rows)).encode()


def told(report: ValidationReport) -> Counter[Any]:
    return Counter((one.focus, one.path, one.value, one.component, one.shape, one.severity) for one in report)


def quads(world: World) -> set[Any]:
    return set(world.quads())


def write(world: World, added: Rows, removed: Rows, again: Rows) -> None:
    """Remove and add triples; and of the removed ones add some again."""
    for rows, verb in ((removed, world.remove), (added, world.add), (again, world.add)):
        verb(ox.parse(turtle(rows), format=ox.RdfFormat.TURTLE))


def check_one(data: Rows, asked: list[str], added: Rows, removed: Rows, again: Rows) -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.load(turtle(data), format="turtle")
        world.load((PREFIXES + "\n".join(asked)).encode(), format="turtle", graph=OWN)
        before, known = quads(world), told(world.shapes.validate())
        with world.transaction(guard="off"):
            write(world, added, removed, again)
        expected = told(world.shapes.validate()) - known
        if quads(world) != before:
            world.undo(world.history()[0].revision)
        assert quads(world) == before
        world.shapes.guard = "reject"
        if not expected:
            with world.transaction():
                write(world, added, removed, again)
            return
        with pytest.raises(worlds.ValidationError) as caught, world.transaction():
            write(world, added, removed, again)
        assert told(caught.value.report) == expected
        assert all(one.new for one in caught.value.report)
        assert quads(world) == before


def changes(some: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[Rows, list[str], Rows, Rows, Rows]]:
    """Data, shapes among some, triples to add, triples to remove, and those of these that are added again."""
    drawn = st.tuples(
        st.lists(triples, max_size=14),
        st.lists(some, min_size=1, max_size=3),
        st.lists(triples, max_size=4),
        st.lists(st.integers(0, 13), max_size=4),
        st.integers(0, 2),
    )

    def of(parts: tuple[Rows, list[str], Rows, list[int], int]) -> tuple[Rows, list[str], Rows, Rows, Rows]:
        data, asked, added, places, again = parts
        removed = [data[place] for place in places if place < len(data)]
        return data, asked, added, removed, removed[:again]

    return drawn.map(of)


@given(changes(shapes))
def test_it_finds_what_is_new(change: tuple[Rows, list[str], Rows, Rows, Rows]) -> None:
    check_one(*change)


@pytest.fixture
def guarded(world: World) -> World:
    """Persons and shapes; ex:bob is born twice already."""
    world.load(PERSONS, format="turtle", graph="http://ex/persons")
    world.load(SHAPES, format="turtle", graph=OWN)
    world.bind("ex", "http://ex/")
    return world


def test_a_new_world_has_no_guard(guarded: World, path: Path) -> None:
    assert guarded.shapes.guard == "off"
    assert guarded.add([("ex:ann", "ex:born", 1991)]).notes == ()
    with worlds.open(path, embedder=None) as world:
        world.shapes.guard = "warn"
    with worlds.open(path, embedder=None) as world:
        assert world.shapes.guard == "warn"
    with pytest.raises(ValueError, match="guard must be one of"):
        guarded.shapes.guard = "on"  # type: ignore[assignment]


def test_reject_raises_with_the_report_and_changes_nothing(guarded: World) -> None:
    guarded.shapes.guard = "reject"
    before, revisions = quads(guarded), len(guarded.history())
    with pytest.raises(worlds.ValidationError, match="ex:ann") as caught:
        guarded.add([("ex:ann", "ex:born", 1991)])
    (result,) = caught.value.report
    assert (str(result.focus), result.severity, result.new) == ("http://ex/ann", "Violation", True)
    assert (quads(guarded), len(guarded.history())) == (before, revisions)
    assert guarded.search("Ann")[0].text == "Ann"


def test_what_was_violated_before_rejects_nothing(guarded: World) -> None:
    guarded.shapes.guard = "reject"
    assert guarded.add([("ex:bob", "ex:name", '"Bob"')]).added == 1
    assert guarded.add([("ex:bob", "ex:born", 1990)]).added == 1, "too many before, too many now"
    with pytest.raises(worlds.ValidationError):
        guarded.add([("ex:bob", "ex:born", 2001)])
    assert guarded.remove([("ex:bob", "ex:born", 1992, "ex:persons")]).removed == 1


def test_warn_keeps_the_write_and_says_so(guarded: World, caplog: pytest.LogCaptureFixture) -> None:
    guarded.shapes.guard = "warn"
    change = guarded.add([("ex:ann", "ex:born", 1991)])
    assert change.added == 1
    assert "ex:ann" in change.notes[0]
    with guarded.transaction():
        guarded.add([("ex:eve", "rdf:type", "ex:Person")])
    assert "a person has a name" in caplog.messages[-1]


def test_queue_changes_nothing_and_proposes_the_write(guarded: World) -> None:
    guarded.shapes.guard = "queue"
    before, revisions = quads(guarded), len(guarded.history())
    change = guarded.add([("ex:ann", "ex:born", 1991)], author="eve", message="from the parish book")
    assert (change.revision, change.added) == (None, 0)
    assert (quads(guarded), len(guarded.history())) == (before, revisions)
    (proposal,) = guarded.proposals.list()
    assert f"proposal {proposal.id}" in change.notes[0]
    assert "ex:ann" in change.notes[0]
    assert (proposal.author, proposal.why) == ("eve", "from the parish book")
    assert "ex:ann" in proposal.validation[0]
    assert guarded.proposals.accept(proposal.id, reviewer="bob").added == 1
    assert len(quads(guarded)) == len(before) + 1
    with guarded.transaction(guard="queue", author="eve"):
        guarded.remove([("ex:bob", "ex:born", 1992, "ex:persons")])
        guarded.add([("ex:carl", "rdf:type", "ex:Person"), ("ex:carl", "ex:born", 1), ("ex:carl", "ex:born", 2)])
    assert guarded.count("ex:carl") == 0
    assert len(guarded.proposals.list(status="open")) == 1
    assert guarded.add([("ex:dora", "ex:born", 1)]).added == 1, "what violates nothing is kept"


def test_other_severities_are_notes(guarded: World) -> None:
    guarded.shapes.guard = "reject"
    change = guarded.add([("ex:eve", "rdf:type", "ex:Person")])
    assert change.added == 1
    assert "Warning: ex:eve" in change.notes[0]


def test_every_verb_is_guarded(guarded: World, tmp_path: Path) -> None:
    wrong = guarded.add([("ex:ann", "ex:born", 1980)]).revision
    assert wrong is not None
    patch = guarded.revisions.patch(wrong - 1, wrong)
    revision = guarded.undo(wrong).revision
    assert revision is not None
    guarded.shapes.guard = "reject"
    writes: list[Callable[[], object]] = [
        lambda: guarded.load(b"@prefix ex: <http://ex/> . ex:ann ex:born 1991 .", format="turtle"),
        lambda: guarded.update("INSERT DATA { ex:ann ex:born 1991 }"),
        lambda: guarded.update("INSERT { ?s ex:born 1900 } WHERE { GRAPH ?g { ?s a ex:Person } }"),
        lambda: guarded.undo(revision),
        lambda: guarded.revisions.apply(patch),
        lambda: guarded.sources.add_document("ex:ann", "# Text", metadata={"ex:born": 1991}),
    ]
    before = quads(guarded)
    for one in writes:
        with pytest.raises(worlds.ValidationError):
            one()
    assert quads(guarded) == before


def test_a_transaction_is_validated_once_at_its_end(guarded: World) -> None:
    guarded.shapes.guard = "reject"
    with guarded.transaction():
        guarded.add([("ex:ann", "ex:born", 1991)])
        guarded.remove([("ex:ann", "ex:born", 1990, "ex:persons")])
    with pytest.raises(worlds.ValidationError), guarded.transaction():
        guarded.add([("ex:ann", "ex:age", 5)])
        with guarded.transaction():
            guarded.add([("ex:ann", "ex:born", 1980)])
    with guarded.transaction(guard="off"):
        guarded.add([("ex:ann", "ex:born", 1980)])
    with pytest.raises(ValueError, match="outermost"), guarded.transaction(), guarded.transaction(guard="off"):
        pass
    with pytest.raises(ValueError, match="guard must be one of"), guarded.transaction(guard="maybe"):  # type: ignore[arg-type]
        pass


def test_shapes_that_cannot_be_checked_are_refused_where_there_is_a_guard(guarded: World) -> None:
    guarded.shapes.guard = "reject"
    wrong = b"@prefix sh: <http://www.w3.org/ns/shacl#> . <http://ex/S> a sh:NodeShape ; sh:minCount 'x' ."
    with pytest.raises(worlds.ShapesError):
        guarded.load(wrong, format="turtle", graph=OWN)
    with guarded.transaction(guard="off"):
        guarded.load(wrong, format="turtle", graph=OWN)
    guarded.shapes.guard = "off"
    with pytest.raises(worlds.ShapesError):
        guarded.shapes.guard = "warn"
    assert guarded.shapes.guard == "off"


def test_new_shapes_reject_nothing_that_was_there(guarded: World) -> None:
    guarded.shapes.guard = "reject"
    more = b"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <http://ex/> .
    ex:Dated a sh:NodeShape ; sh:targetSubjectsOf ex:name ; sh:property [ sh:path ex:died ; sh:minCount 1 ] ."""
    assert guarded.load(more, format="turtle", graph=OWN).notes == ()
    with pytest.raises(worlds.ValidationError):
        guarded.add([("ex:bob", "ex:name", '"Bob"')])


def test_another_process_changes_shapes_and_guard(path: Path) -> None:
    with worlds.open(path, embedder=None) as one, worlds.open(path, embedder=None) as other:
        one.load(PERSONS, format="turtle")
        one.shapes.guard = "reject"
        other.load(SHAPES, format="turtle", graph=OWN)
        with pytest.raises(worlds.ValidationError):
            one.add([("http://ex/ann", "http://ex/born", 1991)])
        other.shapes.guard = "off"
        assert one.add([("http://ex/ann", "http://ex/born", 1991)]).added == 1


def test_subclasses_are_followed(guarded: World) -> None:
    guarded.add([("ex:zoe", "rdf:type", "ex:Pilot"), ("ex:zoe", "ex:born", 1), ("ex:zoe", "ex:born", 2)])
    guarded.shapes.guard = "reject"
    with pytest.raises(worlds.ValidationError, match="ex:zoe"):
        guarded.add([("ex:Pilot", "rdfs:subClassOf", "ex:Person")])
    with guarded.transaction(guard="off"):
        guarded.add([("ex:Pilot", "rdfs:subClassOf", "ex:Person")])
    assert guarded.remove([("ex:Pilot", "rdfs:subClassOf", "ex:Person")]).removed == 1


@pytest.mark.parametrize(
    ("setting", "expected"), [("reject", "would reject it"), ("queue", "would wait as a proposal"), ("warn", "new")]
)
def test_a_dry_run_says_what_the_guard_would_do(setting: Any, expected: str) -> None:
    with worlds.open(":memory:", embedder=None) as world:
        world.bind("ex", "http://ex/")
        shape = "@prefix ex: <http://ex/> . @prefix sh: <http://www.w3.org/ns/shacl#> . "
        shape += "ex:S sh:targetSubjectsOf ex:p ; sh:property [ sh:path ex:p ; sh:maxCount 1 ] ."
        world.shapes.load(shape.encode(), format="turtle")
        world.add([("ex:a", "ex:p", 1)])
        world.shapes.guard = setting
        (note,) = world.add([("ex:a", "ex:p", 2)], dry_run=True).notes
        assert expected in note
        assert "http://ex/p" in note or "ex:p" in note
        assert len(quads(world)) == 1 + len(list(world.quads(None, None, None, OWN)))
        assert world.add([("ex:b", "ex:p", 2)], dry_run=True).notes == ()
        assert not world.proposals.list()
        update = world.update("INSERT DATA { ex:a ex:p 3 }", dry_run=True)
        assert expected in update.notes[0]


@pytest.mark.parametrize(
    "update",
    [
        "CREATE GRAPH <urn:g>",
        f"INSERT DATA {{ GRAPH <{OWN}> {{ <urn:shape> a <http://www.w3.org/ns/shacl#NodeShape> }} }}",
    ],
)
def test_a_write_without_data_passes_a_shape_that_anything_can_touch(update: str) -> None:
    query = "SELECT $this WHERE { $this a ex:Person . ?other ex:flag ?flag }"
    shape = f"""{PREFIXES} ex:Flagged a sh:NodeShape ; sh:targetClass ex:Person ; sh:sparql [
        sh:prefixes [ sh:declare [ sh:prefix "ex" ; sh:namespace "http://ex/"^^xsd:anyURI ] ] ;
        sh:select '''{query}''' ] ."""
    with worlds.open(":memory:", embedder=None) as world:
        world.load(turtle([("ex:ann", "a", "ex:Person")]), format="turtle")
        world.load(shape.encode(), format="turtle", graph=OWN)
        world.shapes.guard = "reject"
        assert world.update(update).revision == 3
        with pytest.raises(worlds.ValidationError):
            world.load(turtle([("ex:bob", "ex:flag", "true")]), format="turtle")
