"""Differences by entity, comparisons of files and worlds, three ways, and edits that outlive a load."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.history.test_recognition import canonical, documents, file_of, parsed, renamed
from tests.support.oracle import problems
from tests.support.readback import exported
from worlds import ConflictError, World, WorldsError

HEAD = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . """
OLD = (
    HEAD
    + """
:A a owl:Class ; rdfs:label "colour"@en , "Farbe"@de ; rdfs:comment "one" ;
   rdfs:subClassOf [ owl:onProperty :p ; owl:someValuesFrom :B ] .
:B a owl:Class ; rdfs:label "bee"@en ; :size 1 , 2 . :C a owl:Class ; rdfs:label "sea"@en .
"""
)
EX = "http://example.org/"


def turtle(world: World, text: str, **options: Any) -> Any:
    return world.load(text.encode(), format="ttl", **{"mode": "replace", **options})


def told(found: Any) -> list[str]:
    return [
        f"{kind} {text}" for kind, text in found.edits.lines({"": EX, "rdfs": "http://www.w3.org/2000/01/rdf-schema#"})
    ]


# --- by entity --------------------------------------------------------------------------------------------------------


def test_the_old_value_stands_beside_the_new_one() -> None:
    new = OLD.replace("colour", "color").replace("someValuesFrom :B", "someValuesFrom :C").replace(":size 1", ":size 3")
    with worlds.open(embedder=None) as world:
        turtle(world, OLD)
        tried = turtle(world, new, dry_run=True)
        assert tried.edits
        turtle(world, new)
        done = world.diff(1, 2)
        assert done.edits
    expected = [
        "head color (:A)",
        'changed rdfs:label: "colour"@en → "color"@en',
        "changed rdfs:subClassOf / <http://www.w3.org/2002/07/owl#someValuesFrom>: :B → :C",
        "head bee (:B)",
        "changed :size: 1 → 3",
    ]
    assert told(done) == expected
    assert told(tried) == ["head colour (:A)", *expected[1:]], "the label is that of now"
    counts = {(row.changed, row.added, row.removed) for row in done.edits.summary}
    assert counts == {(1, 0, 0)}
    assert done.edits.to_dict()["entities"][0]["edits"][0]["old"] == '"colour"@en'


def test_a_blank_node_that_went_is_told_by_its_values() -> None:
    gone = OLD.replace("rdfs:subClassOf [ owl:onProperty :p ; owl:someValuesFrom :B ]", "rdfs:subClassOf []")
    (_, *lines) = told(worlds.compare(b"", gone.encode(), format="ttl"))
    assert [line.startswith("added rdfs:subClassOf: _:") for line in lines].count(True) == 1, "it has nothing"
    lines = told(worlds.compare(b"", OLD.encode(), format="ttl"))
    assert not [line for line in lines if ": _:" in line]
    assert "added rdfs:subClassOf / <http://www.w3.org/2002/07/owl#onProperty>: :p" in lines


def test_values_are_paired_by_language_and_likeness() -> None:
    new = OLD.replace('"colour"@en , "Farbe"@de', '"the colour"@en , "hue"@en , "Farben"@de')
    found = worlds.compare(OLD.encode(), new.encode(), format="ttl")
    assert told(found)[1:] == [
        'changed rdfs:label: "Farbe"@de → "Farben"@de',
        'changed rdfs:label: "colour"@en → "the colour"@en',
        'added rdfs:label: "hue"@en',
    ]


def test_no_more_than_a_part_of_a_large_difference_is_read() -> None:
    text = "".join(f"<{EX}{n}> <{EX}p> {n} .\n" for n in range(20_100))
    found = worlds.compare(b"", (HEAD + text).encode(), format="ttl")
    assert len(found.edits.entities) == 20_000
    assert found.edits.unread == 100
    assert list(found.edits.lines(limit=2))[-2:] == [
        ("more", "… and 19,998 more entities"),
        ("more", "… and 100 more quads, which were not read"),
    ]


def test_nothing_of_a_hostile_value_is_taken_for_a_page_or_for_markdown() -> None:
    value = "<script>alert(1)</script> [a](javascript:b) *c* | `d` \\n # e"
    found = worlds.compare(b"", f'{HEAD} :A rdfs:label "{value}" ; :p "x" .'.encode(), format="ttl")
    assert "<script>" not in found.edits.to_html("<b>")
    assert "<b>" not in found.edits.to_html("<b>")
    markdown = found.edits.to_markdown()
    assert "<script>" not in markdown
    assert "[a]" not in markdown.replace("\\[a\\]", "")


# --- files and worlds -------------------------------------------------------------------------------------------------


def test_a_file_a_world_and_a_past_state_are_compared(tmp_path: Path) -> None:
    file = tmp_path / "old.ttl"
    file.write_text(OLD)
    new = OLD.replace("sea", "see")
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.load(file)
        assert not worlds.compare(file, world)
        assert not worlds.compare(world, str(file))
        turtle(world, new)
        assert told(worlds.compare(world.at(1), world))[1:] == ['changed rdfs:label: "sea"@en → "see"@en']
        patch = worlds.compare(world, file).patch()
        assert world.revisions.apply(patch).added == 1
        assert not worlds.compare(file, world)
    assert not worlds.compare(tmp_path / "kb.db", file), "by its path"


def test_a_graph_is_compared_with_a_file_without_graphs(tmp_path: Path) -> None:
    with worlds.open(embedder=None) as world:
        turtle(world, OLD, graph=EX + "g")
        world.add([(EX + "other", EX + "p", 1)])
        assert worlds.compare(world, OLD.encode(), format="ttl")
        assert not worlds.compare(world, OLD.encode(), format="ttl", graph=EX + "g")


@given(documents, documents, st.integers(0, 1000))
def test_a_comparison_is_a_patch_from_the_one_to_the_other(one: Any, other: Any, seed: int) -> None:
    def quads(versions: Any) -> list[ox.Quad]:
        text = "".join(f"GRAPH {g} {{ {s} {p} {o} }}\n" for version in versions for s, p, o, g in version)
        return parsed("@prefix : <http://example.org/> . " + text)

    a, b = quads(one), renamed(quads(other), random.Random(seed))
    with worlds.open(embedder=None) as world:
        world.load(file_of(a), format="nq")
        found = worlds.compare(world, file_of(b), format="nq")
        world.revisions.apply(found.patch())
        assert canonical(exported(world)) == canonical(set(b))
        assert not worlds.compare(world, file_of(b), format="nq")
        assert problems(world) == []


@given(documents, documents, st.integers(0, 1000))
def test_a_patch_of_two_files_is_applied_to_a_world_that_holds_the_first(one: Any, other: Any, seed: int) -> None:
    def quads(versions: Any) -> list[ox.Quad]:
        text = "".join(f"GRAPH {g} {{ {s} {p} {o} }}\n" for version in versions for s, p, o, g in version)
        return parsed("@prefix : <http://example.org/> . " + text)

    a, b = quads(one), renamed(quads(other), random.Random(seed))
    with worlds.open(embedder=None) as world:
        world.load(file_of(renamed(a, random.Random(seed + 1))), format="nq")
        world.revisions.apply(worlds.compare(file_of(a), file_of(b), format="nq").patch())
        assert canonical(exported(world)) == canonical(set(b))
        assert problems(world) == []


def test_a_patch_tells_its_nodes_by_all_that_is_beside_them() -> None:
    new = OLD.replace("owl:someValuesFrom :B", "owl:someValuesFrom :C")
    patch = worlds.compare(OLD.encode(), new.encode(), format="ttl").patch()
    with worlds.open(embedder=None) as world:
        turtle(world, OLD)
        change = world.revisions.apply(patch)
        assert (change.added, change.removed) == (1, 1)
        assert not worlds.compare(world, new.encode(), format="ttl")
        with pytest.raises(ConflictError, match="deletes what is not there"):
            world.revisions.apply(patch)  # the node is another one now
        turtle(world, OLD)
        world.update("INSERT { :other :says ?n } WHERE { ?n owl:onProperty ?p }")
        with pytest.raises(ConflictError, match="deletes what is not there"):
            world.revisions.apply(patch)  # something more is said of it, which the patch does not know
        terms = world.stats().terms
        with pytest.raises(ConflictError):
            world.revisions.apply(patch)
        assert world.stats().terms == terms
        assert problems(world) == []


def test_a_patch_that_tells_a_part_of_a_node_names_none() -> None:
    with worlds.open(embedder=None) as world:
        turtle(world, OLD)
        with pytest.raises(ConflictError, match="deletes what is not there"):
            world.revisions.apply(f"D _:r <http://www.w3.org/2002/07/owl#onProperty> <{EX}p> .")


def test_nodes_that_are_alike_are_removed_one_by_one() -> None:
    text = "@prefix : <http://example.org/> . :a :p [ :q 1 ] , [ :q 1 ] , [ :q 1 ] , [ :q 2 ] ."
    fewer = "@prefix : <http://example.org/> . :a :p [ :q 1 ] , [ :q 2 ] ."
    with worlds.open(embedder=None) as world:
        world.load(text.encode(), format="ttl")
        patch = worlds.compare(text.encode(), fewer.encode(), format="ttl").patch()
        assert world.revisions.apply(patch).removed == 4
        assert not worlds.compare(world, fewer.encode(), format="ttl")


# --- three ways -------------------------------------------------------------------------------------------------------


def test_what_both_changed_differently_conflicts() -> None:
    mine = OLD.replace("colour", "color").replace('"one"', '"two"').replace(":size 1 , 2", ":size 1 , 2 , 3")
    theirs = OLD.replace("colour", "hue").replace('"one"', '"two"').replace(":size 1 , 2", ":size 1 , 4")
    found = worlds.compare(mine.encode(), theirs.encode(), base=OLD.encode(), format="ttl")
    (one,) = found.conflicts
    values = [[str(value) for value in part] for part in (one.base, one.mine, one.theirs)]
    assert (str(one.subject), values) == (EX + "A", [["colour"], ["color"], ["hue"]])
    assert found.agreed == 2, "the comment, away and new"


@pytest.mark.parametrize(
    ("mine", "theirs", "conflicts"),
    [
        (":X :name 'x' .", ":X :name 'y' .", 1),  # a first value of what has one
        (":B :size 7 .", ":B :size 8 .", 0),  # of what has several
        (":X :name 'x' .", ":X :name 'x' .", 0),
        (":X :name 'x'@en .", ":X :name 'x'@de .", 0),
    ],
)
def test_added_values(mine: str, theirs: str, conflicts: int) -> None:
    base = OLD + ":Y :name 'y' . :Z :name 'z' ."
    found = worlds.compare((base + mine).encode(), (base + theirs).encode(), base=base.encode(), format="ttl")
    assert len(found.conflicts) == conflicts


def test_an_entity_that_one_removes_and_the_other_edits_conflicts() -> None:
    gone = OLD.replace(':C a owl:Class ; rdfs:label "sea"@en .', "")
    more = OLD + ":C :size 3 ."
    for a, b in ((gone, more), (more, gone)):
        assert worlds.compare(a.encode(), b.encode(), base=OLD.encode(), format="ttl").conflicts


def test_a_patch_is_applied_three_ways() -> None:
    with worlds.open(embedder=None) as world:
        turtle(world, OLD)
        patch = worlds.compare(world, OLD.replace("colour", "hue").replace("sea", "see").encode(), format="ttl").patch()
        turtle(world, OLD.replace("colour", "color"))
        tried = world.revisions.apply(patch, three_way=True, dry_run=True)
        assert tried.notes == ("1 conflicts would become proposals",)
        assert world.proposals.list() == []
        change = world.revisions.apply(patch, three_way=True)
        assert (change.added, change.removed) == (1, 1)
        (waiting,) = world.proposals.list()
        assert f"proposals {waiting.id} wait" in change.notes[0]
        assert [str(quad[2]) for quad in (*waiting.removed, *waiting.added)] == ["color", "hue"]
        world.proposals.accept(waiting.id)
        assert world.query("ASK { :A rdfs:label 'hue'@en FILTER NOT EXISTS { :A rdfs:label 'color'@en } }") is True
        assert world.revisions.apply(patch, three_way=True).revision is None, "the second night"
        assert world.proposals.list() == []


@pytest.mark.parametrize("graph", ["urn:g", None], ids=["of a scope", "of a write that is queued"])
def test_conflicts_of_a_patch_wait_where_the_ids_of_its_terms_are_gone(graph: str | None) -> None:
    """A scope tries a write on its slice, and a guard that queues takes it back."""
    with worlds.open(embedder=None) as world, worlds.open(embedder=None) as other:
        turtle(world, OLD, graph=graph)
        turtle(other, OLD.replace("colour", "hue").replace("sea", "see"), graph=graph)
        patch = worlds.compare(world, other).patch()
        turtle(world, OLD.replace("colour", "color"), graph=graph)
        world.shapes.load(
            b"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
            [] a sh:NodeShape ; sh:targetNode <http://example.org/C> ;
               sh:property [ sh:path rdfs:label ; sh:hasValue "sea"@en ] .""",
            format="ttl",
        )
        world.shapes.guard = "off" if graph else "queue"
        change = (world.only(graphs=[graph]) if graph else world).revisions.apply(patch, three_way=True)
        assert (change.proposal is None) == bool(graph)
        (waiting,) = world.proposals.list(kind="conflict")
        assert [(str(quad[2]), str(quad[3])) for quad in waiting.added] == [("hue", str(graph))]


# --- every night ------------------------------------------------------------------------------------------------------


def test_edits_since_the_last_load_are_told_and_kept() -> None:
    with worlds.open(embedder=None) as world:
        turtle(world, OLD)
        world.update(
            'DELETE DATA { :A rdfs:label "colour"@en } ; INSERT DATA { :A rdfs:label "color"@en . :B :note "mine" }'
        )
        (note,) = turtle(world, OLD, dry_run=True).notes
        assert "taken back: 2 quads added here go, 1 removed here come again" in note
        for text, labels in (
            (OLD, {"color"}),
            (OLD.replace("sea", "see"), {"color"}),
            (OLD.replace("sea", "see"), {"color"}),
            (OLD.replace("bee", "wasp"), {"color"}),
        ):
            change = turtle(world, text, keep_edits=True)
            assert change.notes == ()
            rows = world.quads(EX + "A", "rdfs:label")
            found = {str(value) for _, _, value, _ in rows if value.language == "en"}
            assert found == labels
            assert world.query("ASK { :B :note 'mine' }") is True
            assert turtle(world, text, keep_edits=True).revision is None
        assert world.query("ASK { :B rdfs:label 'wasp'@en . :C rdfs:label 'sea'@en }") is True
        conflict = turtle(world, OLD.replace("colour", "hue"), keep_edits=True)
        (waiting,) = world.proposals.list()
        assert conflict.notes == (f"1 changes of the file conflict with edits: proposals {waiting.id} wait",)
        assert [str(quad[2]) for quad in (*waiting.removed, *waiting.added)] == ["color", "hue"]
        assert turtle(world, OLD.replace("colour", "hue"), keep_edits=True).revision is None
        assert len(world.proposals.list()) == 1, "told once"
        assert turtle(world, OLD).notes, "and without keeping, they go"
        assert canonical(exported(world)) == canonical(set(ox.parse(OLD.encode(), format=ox.RdfFormat.TURTLE)))
        assert problems(world) == []


def test_edits_cannot_be_kept_where_the_last_load_is_not_known() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(EX + "A", EX + "p", 1)])
        with pytest.raises(WorldsError, match="is not known"):
            turtle(world, OLD, keep_edits=True)
        turtle(world, OLD)
        world.add([(EX + "A", EX + "p", 2)])
        world.revisions.prune(3)
        assert turtle(world, OLD, keep_edits=True, dry_run=True).notes == ()
        with pytest.raises(ValueError, match="mode='replace'"):
            world.load(OLD.encode(), format="ttl", keep_edits=True)


@given(st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 11), max_size=5)), max_size=6))
def test_kept_edits_are_those_of_an_oracle(steps: list[tuple[bool, set[int]]]) -> None:
    """Predicates with values of their own never conflict, so that the merge is that of sets."""

    def quad(number: int) -> tuple[str, str, int]:
        return (EX + "many", EX + f"p{number % 3}", number)

    file = {0, 1, 2, 3, 4, 5}
    held = set(file)
    with worlds.open(embedder=None) as world:

        def night() -> None:
            text = "".join(f"<{s}> <{p}> {o} .\n" for s, p, o in map(quad, sorted(file)))
            turtle(world, f"<{EX}kept> <{EX}q> 1 .\n" + text, keep_edits=True)

        night()
        for nightly, changed in steps:
            if nightly:
                before = set(file)
                file ^= changed
                held = (held | (file - before)) - (before - file)
                night()
            else:
                world.remove([quad(number) for number in changed & held])
                world.add([quad(number) for number in changed - held])
                held ^= changed
            proposed = {int(quad[2]) for one in world.proposals.list() for quad in (*one.added, *one.removed)}
            numbers = {int(value) for _, p, value, _ in world.quads(EX + "many")}
            assert numbers ^ held <= proposed, "what differs waits for somebody"


def test_a_load_into_a_scope_of_one_graph_replaces_what_the_graph_held() -> None:
    with worlds.open(embedder=None) as world:
        turtle(world, OLD, graph=EX + "g")
        world.add([(EX + "A", EX + "p", 1), (EX + "A", EX + "p", 1, EX + "h")])
        scope = world.only(graphs=[EX + "g"])
        scope.add([(EX + "A", EX + "note", '"mine"')])
        before = world.count(graph=EX + "g")
        assert turtle(scope, OLD.replace("sea", "see"), dry_run=True).removed
        change = turtle(scope, OLD.replace("sea", "see"))
        assert (change.added, change.removed, world.count(graph=EX + "g")) == (1, 2, before - 1)
        assert turtle(scope, OLD.replace("sea", "see")).revision is None
        assert world.count() == before - 1 + 2
        with pytest.raises(WorldsError, match="is not known"):
            turtle(scope, OLD, keep_edits=True)
