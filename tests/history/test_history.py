"""The history of a world: revisions, differences, the past, undo, forgetting."""

from __future__ import annotations

import datetime
import io
from pathlib import Path
from typing import Any

import pytest
import rdflib

import worlds
from tests.support import tables
from tests.support.readback import EX, quads_of
from worlds import ConflictError, ReadOnlyError, World, WorldsError
from worlds.records import Diff, Retention


@pytest.fixture
def birds(world: World) -> World:
    """Three revisions: two quads, another label, and a graph."""
    world.bind("ex", EX)
    world.add([("ex:a", "rdfs:label", '"red kite"'), ("ex:a", "ex:count", '"01"^^xsd:integer')], author="ann")
    with world.transaction(author="bob", message="it is black"):
        world.remove([("ex:a", "rdfs:label", '"red kite"')])
        world.add([("ex:a", "rdfs:label", '"black kite"')])
    world.add([("_:n", "ex:p", "ex:a", "ex:g")])
    return world


# --- revisions and differences ----------------------------------------------------------------------------------------


def test_the_history_says_when_who_and_why(birds: World) -> None:
    newest, middle, oldest = birds.history()
    assert (oldest.author, oldest.message, oldest.added, oldest.removed) == ("ann", None, 2, 0)
    assert (middle.author, middle.message, middle.added, middle.removed) == ("bob", "it is black", 1, 1)
    assert oldest.time <= middle.time <= newest.time <= datetime.datetime.now(datetime.UTC)
    assert newest.time.utcoffset() == datetime.timedelta(0)
    assert birds.history(1) == [newest]
    assert birds.history(0) == []
    for wrong in (-1, 1.5, "1", True):
        with pytest.raises(ValueError, match="limit"):
            birds.history(wrong)  # type: ignore[arg-type]


def test_a_difference_is_a_pair_of_sequences(birds: World) -> None:
    found = birds.diff(1)
    assert isinstance(found, Diff)
    assert repr(found) == "<Diff from 1 to 3: 2 added, 1 removed>"
    assert (found.a, found.b) == (1, 3)
    subject, _, label, graph = found.removed[0]
    assert (subject, label, graph) == (rdflib.URIRef(EX + "a"), rdflib.Literal("red kite"), None)
    assert found.added[-1][3] == rdflib.URIRef(EX + "g")
    assert list(found.added[:1]) == [found.added[0]]
    assert found.removed[0] in found.removed
    back = birds.diff(3, 1)
    assert (list(back.added), list(back.removed)) == (list(found.removed), list(found.added))
    assert found
    assert not birds.diff(2, 2)
    assert str(list(birds.diff(0, 1).added)[1][2]) == "01"


def test_a_difference_costs_no_terms_until_they_are_read(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.add([("urn:a", "urn:p", '"a"'), ("urn:b", "urn:p", '"b"')])
    with worlds.open(path, embedder=None) as world:
        tables.run(world, "DELETE FROM terms")
        found = world.diff(0)
        assert (len(found.added), len(found.removed)) == (2, 0)
        with pytest.raises(worlds.IntegrityError):
            list(found.added)


def test_now_includes_what_is_being_written(birds: World) -> None:
    with birds.transaction():
        birds.add([("ex:b", "rdfs:label", '"grey heron"')])
        found = birds.diff(3)
        assert (found.b, len(found.added)) == (4, 1)
        assert len(birds.at(3)) == 3
        with pytest.raises(ValueError, match="no revision 4"):
            birds.undo(4)


def test_a_difference_outlives_the_transaction_that_it_was_of(birds: World) -> None:
    with pytest.raises(ZeroDivisionError), birds.transaction():
        birds.add([("ex:b", "rdfs:label", '"grey heron"')])
        found = birds.diff(3)
        raise ZeroDivisionError
    birds.add([("ex:other", "ex:other", '"something else"')])
    expected = (rdflib.URIRef(EX + "b"), rdflib.RDFS.label, rdflib.Literal("grey heron"), None)
    assert found.added[0] == found.added[:1][0] == next(iter(found.added)) == expected
    assert "grey heron" in found.patch()


@pytest.mark.parametrize("wrong", [4, -1])
def test_a_revision_that_there_is_not_is_a_value_error(wrong: int, birds: World) -> None:
    for ask in (birds.at, birds.diff, birds.undo, lambda number: birds.diff(0, number), birds.revisions.patch):
        with pytest.raises(ValueError, match=f"there is no revision {wrong}"):
            ask(wrong)
    with pytest.raises(ValueError, match="stands for the empty world"):
        birds.undo(0)
    with pytest.raises(TypeError):
        birds.at(1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        birds.undo(True)


# --- the past ---------------------------------------------------------------------------------------------------------


def test_the_past_is_asked_and_exported(birds: World, tmp_path: Path) -> None:
    past = birds.at(1)
    assert repr(past) == "<World :memory: at revision 1>"
    assert (past.file.view.revision, len(past)) == (1, 2)
    names = past.query("SELECT ?name { ?s rdfs:label ?name }", bindings={"s": "ex:a"})
    assert [row.name.value for row in names] == ["red kite"]  # type: ignore[union-attr]
    assert past.query("ASK { ?s ex:count 1 }")
    assert [str(row.n) for row in past.query("SELECT ?n { ?s ex:count ?n }")] == ["01"]  # type: ignore[union-attr]
    target = tmp_path / "past.ttl"
    assert past.export(target) == 2
    assert "ex:count" in target.read_text()
    assert "ex:count 01 " in target.read_text()
    assert past.export(io.BytesIO(), format="nt", graph="default") == 2
    with pytest.raises(ValueError, match="there is no graph"):
        past.export(io.BytesIO(), format="nt", graph="ex:g")
    with pytest.raises(ReadOnlyError):
        past.add([("urn:a", "urn:b", "urn:c")])
    later = birds.at(3)
    assert later.export(io.BytesIO(), format="nt", graph="ex:g") == 1
    with pytest.raises(ValueError, match="cannot hold the named graphs"):
        later.export(io.BytesIO(), format="nt")
    with pytest.raises(ValueError, match="named by an IRI"):
        later.export(io.BytesIO(), graph=rdflib.Literal("g"))
    assert not later.query("ASK { ?s ex:p ?o }")
    assert later.query("ASK { ?s ex:p ?o }", union=True)
    with pytest.raises(worlds.QueryError, match="column"):
        later.query("SELECT ?x {")
    assert len(list(later.quads("ex:a"))) == 2
    assert len(list(later.quads(None, None, "ex:a"))) == 1
    assert [quad[3] for quad in later.quads(graph="ex:g")] == [rdflib.URIRef(EX + "g")]
    assert len(list(later.quads(graph="default"))) == 2
    assert list(later.quads(object=rdflib.Literal("red kite"))) == list(later.quads("ex:unheard-of")) == []


def test_the_past_does_not_change(birds: World) -> None:
    before, opened = quads_of(birds), birds.at(3)
    birds.load(b"<urn:new> <urn:p> 'new' .", format="turtle", mode="replace")
    assert len(opened) == len(before) == 3
    assert quads_of(opened) == before
    with opened:
        assert opened.query("ASK { ?s rdfs:label 'black kite' }")
    assert opened.query("ASK { ?s rdfs:label 'black kite' }"), "closed, it is read again"


def test_a_past_that_is_forgotten_is_no_past(birds: World) -> None:
    past = birds.at(1)
    list(past.quads())
    birds.revisions.prune(3)
    assert past.query("ASK { ?s rdfs:label 'red kite' }"), "what was read stays"
    past.close()
    with pytest.raises(WorldsError, match="revision 1 is forgotten: history begins with revision 3"):
        past.query("ASK {}")


# --- taking back ------------------------------------------------------------------------------------------------------


def test_undoing_brings_texts_back_and_takes_them_away(birds: World) -> None:
    change = birds.undo(2, author="ann")
    assert (change.revision, change.added, change.removed) == (4, 1, 1)
    entry = birds.history(1)[0]
    assert (entry.author, entry.message) == ("ann", "undo of revision 2")
    assert [hit.text for hit in birds.search("kite")] == ["red kite"]
    assert birds.query("ASK { ?s rdfs:label 'red kite' }")
    assert birds.stats().pending == 0
    again = birds.undo(4, message="it was black after all")
    assert (again.added, again.removed) == (1, 1)
    assert [hit.text for hit in birds.search("kite")] == ["black kite"]
    assert birds.history(1)[0].message == "it was black after all"
    assert not birds.diff(3)
    assert birds.check().ok


def test_a_conflict_names_revisions_and_quads_and_leaves_the_world_alone(birds: World) -> None:
    birds.add([("ex:a", "rdfs:label", '"red kite"')])
    birds.remove([("ex:a", "rdfs:label", '"black kite"')])
    before = birds.history()
    with pytest.raises(ConflictError) as raised:
        birds.undo(2)
    assert str(raised.value) == (
        "revision 2 cannot be undone as a whole, because revisions 4 and 5 changed 2 quads of it back: "
        f'<{EX}a> <http://www.w3.org/2000/01/rdf-schema#label> "black kite"; '
        f'<{EX}a> <http://www.w3.org/2000/01/rdf-schema#label> "red kite"; '
        "undo them first, or force, which leaves such quads as they are"
    )
    assert birds.history() == before
    assert birds.undo(2, force=True).revision is None
    birds.undo(5)
    birds.undo(4)
    assert birds.undo(2).revision is not None, "after those that stood in the way"


def test_an_undo_belongs_to_the_transaction_around_it(birds: World) -> None:
    with birds.transaction(message="both"):
        birds.undo(3)
        birds.undo(2)
    assert birds.history(1)[0].message == "both"
    assert quads_of(birds) == quads_of(birds.at(1))
    with pytest.raises(ZeroDivisionError), birds.transaction():
        birds.undo(1)
        raise ZeroDivisionError
    assert len(birds) == 2
    assert birds.check().ok


def test_an_undone_revision_says_so(world: World) -> None:
    world.add([("urn:a", "urn:p", "urn:b")])
    world.add([("urn:c", "urn:p", "urn:d")])
    world.undo(1)
    assert [(entry.undoes, entry.undone_by) for entry in world.history()] == [(1, None), (None, None), (None, 3)]
    world.undo(3)
    assert [entry.undone_by for entry in world.history()] == [None, 4, None, None]
    world.undo(4, message="again")
    assert [entry.undone_by for entry in world.history()] == [None, 5, None, None, 3]
    assert [entry.undone_by for entry in world.history(1)] == [None]
    with world.transaction():  # it does more than to take back
        world.undo(2)
        world.add([("urn:e", "urn:p", "urn:f")])
    assert world.history(1)[0].undoes is None


def test_the_log_and_the_difference_agree_on_graphs(world: World) -> None:
    world.add([("urn:a", "urn:p", "urn:b")])
    world.update("CREATE GRAPH <urn:g>; CREATE GRAPH <urn:h>; INSERT DATA { <urn:x> <urn:p> <urn:y> }")
    world.update("DROP GRAPH <urn:g>")
    world.undo(3)
    with world.transaction():
        world.update("DROP GRAPH <urn:g>")
        world.update("CREATE GRAPH <urn:g>; CREATE GRAPH <urn:i>")
    for entry in world.history():
        diff = world.diff(entry.revision - 1, entry.revision)
        assert (entry.added, entry.removed) == (len(diff.added), len(diff.removed)), entry
        assert (entry.created, entry.dropped) == (len(diff.created), len(diff.dropped)), entry
    assert [(entry.created, entry.dropped) for entry in world.history()] == [(1, 0), (1, 0), (0, 1), (2, 0), (0, 0)]


def test_a_read_only_world_tells_its_history_and_takes_nothing_back(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.add([("urn:a", "urn:p", "urn:b")])
    with worlds.open(path, embedder=None, read_only=True) as world:
        assert len(world.at(1)) == len(world.diff(0).added) == len(world.history()) == 1
        assert world.revisions.patch(0).count("\nA ") == 1
        for write in (
            lambda: world.undo(1),
            lambda: world.revisions.apply(""" D <urn:a> <urn:p> <urn:b> . """),
            lambda: world.revisions.prune(1),
            lambda: setattr(world.revisions, "retention", Retention(1)),
        ):
            with pytest.raises(ReadOnlyError):
                write()


def test_graphs_that_were_created_are_told_apart_from_quads(world: World) -> None:
    world.add([("urn:a", "urn:p", "urn:b")])
    world.update(f"CREATE GRAPH <{EX}empty>")
    world.update(f"DROP GRAPH <{EX}empty>")
    created, dropped = world.diff(1, 2), world.diff(2, 3)
    assert created.created == dropped.dropped == (rdflib.URIRef(EX + "empty"),)
    assert not created.added
    assert not created.dropped
    assert created
    assert len(world.at(2)) == world.at(2).export(io.BytesIO()) == len(list(world.at(2).quads())) == 1
    assert len(world.at(2).query("SELECT ?g { GRAPH ?g {} }")) == 1  # type: ignore[arg-type]
    assert len(world.at(3).query("SELECT ?g { GRAPH ?g {} }")) == 0  # type: ignore[arg-type]
    world.undo(3)
    assert world.diff(1).created == created.created
    assert world.revisions.patch(1).splitlines()[2:] == ["TX .", "TC ."]
    assert world.check().ok


# --- forgetting -------------------------------------------------------------------------------------------------------


def test_what_is_forgotten_can_no_longer_be_asked(birds: World) -> None:
    assert birds.revisions.prune(2) == 1
    assert [entry.revision for entry in birds.history()] == [3, 2]
    for ask in (birds.undo, lambda number: birds.at(number - 1), lambda number: birds.diff(number - 1)):
        with pytest.raises(WorldsError, match="is forgotten: history begins with revision 2") as raised:
            ask(1)
        assert type(raised.value) is WorldsError
    assert len(birds.at(1)) == 2, "the state that the first revision left changed"
    assert birds.undo(2).removed == 1
    assert birds.revisions.prune(1) == birds.revisions.prune(2) == 0
    assert birds.revisions.prune(5) == 3
    assert birds.history() == []
    assert tables.rows(birds, "SELECT count(*) FROM removed_quads") == [(0,)]
    assert len(birds.at(4)) == len(birds) == 3
    assert birds.add([("urn:a", "urn:b", "urn:c")]).revision == 5
    assert [entry.revision for entry in birds.history()] == [5]
    assert birds.check().ok
    with pytest.raises(ValueError, match="there is no revision 7: the last one is 5; 6 forgets all"):
        birds.revisions.prune(7)
    for wrong in (None, 1.5, True):
        with pytest.raises(TypeError):
            birds.revisions.prune(wrong)  # type: ignore[arg-type]


def test_what_is_forgotten_leaves_the_file(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.add([("urn:a", "urn:p", '"a secret name"'), ("urn:a", "urn:p", '"a public name"')])
        world.remove([("urn:a", "urn:p", '"a secret name"')])
        world.revisions.prune(3)
        world.file.compact()
        assert world.check().ok
    assert b"secret" not in path.read_bytes()
    assert b"public" in path.read_bytes()


def test_a_time_forgets_what_is_older(birds: World, monkeypatch: pytest.MonkeyPatch) -> None:
    days = [datetime.datetime(2025, 1, day, tzinfo=datetime.UTC) for day in (1, 2, 3)]
    for revision, day in enumerate(days, 1):
        text = day.isoformat(timespec="milliseconds")
        tables.run(birds, "UPDATE revisions SET time = ?1 WHERE revision = ?2", (text, revision))
    zone = datetime.timezone(datetime.timedelta(hours=5))
    assert birds.revisions.prune(datetime.datetime(2024, 6, 1, tzinfo=datetime.UTC)) == 0
    assert birds.revisions.prune(datetime.datetime(2025, 1, 2, 5, 0, tzinfo=zone)) == 1, "the second is as old as that"
    with pytest.raises(ValueError, match="no time zone"):
        birds.revisions.prune(datetime.datetime(2025, 1, 2))
    birds.add([("urn:a", "urn:p", "urn:b")])
    birds.revisions.retention = Retention(days=7)
    assert [entry.revision for entry in birds.history()] == [4]
    assert birds.revisions.prune(datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)) == 1


def test_a_retention_is_kept_in_the_file_and_applied_after_every_write(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        assert world.revisions.retention == Retention(None, None)
        for number in range(5):
            world.add([("urn:a", "urn:p", number)])
        world.revisions.retention = Retention(revisions=4)
        assert len(world.history()) == 4
    with worlds.open(path, embedder=None) as world:
        assert world.revisions.retention == Retention(revisions=4)
        with world.transaction():
            world.add([("urn:a", "urn:p", 5)])
            world.remove([("urn:a", "urn:p", 0)])
            assert [entry.revision for entry in world.history()] == [5, 4, 3, 2]
        assert [entry.revision for entry in world.history()] == [6, 5, 4, 3]
        world.revisions.retention = Retention(revisions=1, days=1)
        world.add([("urn:a", "urn:p", 6)])
        assert len(world.history()) == 5, "either of them keeps"
        assert world.check().ok
        with pytest.raises(TypeError):
            world.revisions.retention = 3  # type: ignore[assignment]


@pytest.mark.parametrize("wrong", [{"revisions": -1}, {"revisions": 1.5}, {"revisions": True}, {"days": -1}])
@pytest.mark.parametrize("other", [{}, {"days": float("nan")}])
def test_an_impossible_retention_is_refused(wrong: dict[str, Any], other: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"revisions must|days must"):
        Retention(**other | wrong)


def test_another_process_notices_that_history_was_forgotten(path: Path) -> None:
    with worlds.open(path, embedder=None) as world, worlds.open(path, embedder=None) as other:
        world.add([("urn:a", "urn:p", number) for number in range(3)])
        assert len(other.query("SELECT * { ?s ?p ?o }")) == 3  # type: ignore[arg-type]
        world.remove([("urn:a", "urn:p", 0)])
        world.remove([("urn:a", "urn:p", 1)])
        world.revisions.prune(4)
        assert len(other.query("SELECT * { ?s ?p ?o }")) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("DELETE FROM revisions WHERE revision = 3", "missing-revisions"),
        ("INSERT INTO removed_quads VALUES (1, 2, 3, 0, 1, 1)", "missing-revisions"),
        ("UPDATE meta SET value = 1 WHERE name = 'history_from'", "missing-revisions"),
    ],
)
def test_damage_to_a_pruned_history_is_seen(sql: str, kind: str, birds: World) -> None:
    birds.undo(2)
    birds.revisions.prune(3)
    assert birds.check().ok
    tables.run(birds, sql)
    assert kind in {problem.kind for problem in birds.check().problems}
