"""What was merged stays merged: what comes in later under an old name, at every way in, against a plain model."""

from __future__ import annotations

import random
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import worlds
from tests.support.readback import EX, quads_of
from worlds.core.quads.redirects import REDIRECTS
from worlds.world import connection_of

NAMES = [ox.NamedNode(EX + name) for name in "abcd"]
Quad = ox.Quad


def image(quad: Quad, ends: dict[Any, Any]) -> Quad | None:
    """As what a quad stands; None where it would link an entity with itself."""

    def led(term: Any) -> Any:
        if isinstance(term, ox.Triple):
            return ox.Triple(led(term.subject), led(term.predicate), led(term.object))
        return ends.get(term, term)

    found = Quad(led(quad.subject), led(quad.predicate), led(quad.object), quad.graph_name)
    return None if found.subject == found.object and quad.subject != quad.object else found


class Model:
    """Quads as they came, and where names lead; nothing else."""

    def __init__(self) -> None:
        self.given: set[Quad] = set()
        self.steps: dict[Any, Any] = {}

    @property
    def ends(self) -> dict[Any, Any]:
        found = {}
        for old in self.steps:
            at = old
            while at in self.steps:
                at = self.steps[at]
            found[old] = at
        return found

    def shown(self) -> set[Quad]:
        return {one for quad in self.given if (one := image(quad, self.ends)) is not None}

    def removed(self, quads: list[Quad]) -> set[Quad]:
        moved = {quad for quad in quads if image(quad, self.ends) != quad}
        return {quad for quad in self.given if quad in moved or image(quad, self.ends) in set(quads) - moved}

    def merge(self, kept: Any, olds: list[Any]) -> None:
        target = self.ends.get(kept, kept)
        merged = {*olds, *(self.ends.get(old, old) for old in olds)} - {target}
        self.steps = {old: target if to in merged else to for old, to in self.steps.items()}
        self.steps |= {old: target for old in merged if old not in self.steps}


def some_quad(choose: random.Random) -> Quad:
    value: Any = choose.choice([*NAMES, ox.Literal("1"), ox.Literal("2")])
    if choose.random() < 0.2:
        value = ox.Triple(choose.choice(NAMES), NAMES[0], choose.choice([value, ox.Triple(NAMES[1], NAMES[1], value)]))
    graph: Any = choose.choice([ox.DefaultGraph(), ox.NamedNode(EX + "g")])
    predicate = choose.choice([ox.NamedNode(EX + "p"), NAMES[3]])
    return Quad(choose.choice(NAMES), predicate, value, graph)


def as_file(quads: set[Quad]) -> bytes:
    return "".join(f"{quad} .\n" for quad in quads).encode()


def step(choose: random.Random, world: worlds.World, model: Model, done: list[Any]) -> None:
    """One change of both, that can be taken back as long as it is among the `done`."""
    before = set(model.given), dict(model.steps)
    some = [some_quad(choose) for _ in range(choose.randrange(1, 4))]
    among = sorted(model.given | model.shown(), key=str)
    what = choose.choice(
        ["add", "add", "load", "remove", "replace", "merge", "merge", "split", "undo", "update", "edit"]
    )
    change: Any = None
    if what == "add":
        change = world.add(some)
        model.given |= set(some)
    elif what == "load":
        for _ in range(2):  # the second time it changes nothing
            again = world.load(as_file(set(some)), format="nquads")
            assert change is None or again.revision is None
            change = change or again
        model.given |= set(some)
    elif what == "replace":
        graph = ox.NamedNode(EX + "g")
        kept = {Quad(one.subject, one.predicate, one.object, graph) for one in some}
        kept |= {quad for quad in model.given if quad.graph_name == graph and choose.random() < 0.7}
        change = world.load(as_file(kept), format="nquads", graph=graph, mode="replace")
        model.given = {quad for quad in model.given if quad.graph_name != graph} | kept
    elif what in ("remove", "update", "edit") and among:
        gone = choose.sample(among, min(2, len(among)))
        model.given -= model.removed(gone)
        if what == "edit":
            change = world.edit(remove=gone, add=some)
            model.given |= set(some)
        elif what == "update" and not any(isinstance(quad.object, ox.Triple) for quad in gone):
            data = " ".join(
                f"GRAPH {quad.graph_name} {{ {quad.triple} }}"
                if str(quad.graph_name) != "DEFAULT"
                else f"{quad.triple} ."
                for quad in gone
            )
            change = world.update(f"DELETE DATA {{ {data} }}")
        else:
            change = world.remove(gone)
    elif what == "merge":
        kept_name, *olds = choose.sample(NAMES, choose.choice([2, 2, 3]))
        try:
            change = world.curation.merge(kept_name, *olds, conflicts="report")
        except ValueError:  # one already, or nothing about it
            return
        model.merge(kept_name, olds)
    elif what in ("split", "undo") and done:
        number, came, went, was, now = choose.choice(done)
        if (what == "split" and was == now) or (
            was != now and any(one[3] != one[4] and one[0] > number for one in done)
        ):
            return  # the last merge first
        try:
            change = world.curation.split(number) if what == "split" else world.undo(number)
        except (worlds.ConflictError, worlds.errors.ArgumentError):  # changed since, or no merge
            return
        if was != now:
            model.steps = {old: to for old, to in model.steps.items() if now.get(old) != to or was.get(old) == to}
            model.steps |= {old: was[old] for old in was if now.get(old) != was[old]}
        model.given = model.given - came | went
        done[:] = [one for one in done if one[0] != number]
    redone = what in ("split", "undo") and model.steps != before[1]  # it moves what the merge moved, and no more
    if change is not None and change.revision is not None and not redone:
        given, steps = before
        done.append((change.revision, model.given - given, given - model.given, steps, dict(model.steps)))


# These undo, after a split, what was removed before it; a merge, after what it made was given anew; and an edit that
# removes what stands for another quad, and adds it. The last undoes what came under a merged name, after a split, a
# removal, a merge and the undo of the removal.
@pytest.mark.parametrize("seed", [0, 1, 946677645, 3132867308, 4128651053, 886525054])
def test_what_is_shown_is_what_came_led_to_where_names_lead(seed: int, long: bool) -> None:
    for more in range(100 if long else 1):
        choose, model = random.Random(1000 * more + seed), Model()
        done: list[Any] = []
        with worlds.open(embedder=None) as world:
            world.bind("ex", EX)
            for _ in range(40):
                step(choose, world, model, done)
                shown = {quad for quad in quads_of(world) if quad.graph_name != REDIRECTS}
                assert shown == model.shown(), (seed, more)
                redirects = {quad.subject: quad.object for quad in quads_of(world) if quad.graph_name == REDIRECTS}
                assert redirects == model.steps
            assert world.check().ok


@pytest.mark.parametrize("follow", [True, False])
@pytest.mark.parametrize("back", ["undo", "curation.split"])
def test_a_merge_is_taken_back_and_made_again_any_number_of_times(follow: bool, back: str) -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.policy = world.policy.with_(follow_merges=follow)
        world.add(
            [
                ("ex:a", "ex:p", 1),
                ("ex:a", "rdfs:label", '"A"'),
                ("ex:b", "rdfs:label", '"B"'),
                ("ex:c", "ex:q", "ex:b"),
            ]
        )
        world.add([("ex:b", "ex:p", 1), ("ex:b", "ex:born", 1930)])
        apart = quads_of(world)
        world.curation.merge("ex:a", "ex:b")
        joined = quads_of(world)
        last = attrgetter(back)(world)(3).revision
        for turn in range(7):
            assert quads_of(world) == (apart, joined)[turn % 2], turn
            last = world.undo(last).revision
        world.curation.split(3)
        assert quads_of(world) == apart
        assert world.check().ok


DATA = """
@prefix ex: <http://example.org/> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
ex:a a skos:Concept ; skos:prefLabel "Measured Depth"@en .
ex:b a skos:Concept ; skos:prefLabel "Depth, Measured"@en ; skos:altLabel "MD"@en ; skos:notation "b" .
"""


@pytest.fixture
def world() -> Any:
    with worlds.open(embedder=None) as world:
        world.bind("ex", EX)
        world.load(DATA.encode(), format="turtle")
        world.curation.merge("ex:a", "ex:b")
        yield world


def subjects(world: worlds.World, graph: Any = None) -> set[str]:
    rows = world.quads(graph=graph) if graph else world.quads()
    return {str(quad[0]).removeprefix(EX) for quad in rows if quad[3] is None or str(quad[3]) != REDIRECTS.value}


def test_the_same_file_again_changes_nothing_and_says_so(world: worlds.World) -> None:
    change = world.load(DATA.encode(), format="turtle")
    assert change.revision is None
    assert change.notes == (f"4 quads about merged entities were written under the kept names: <{EX}b> is <{EX}a>",)
    more = world.load(DATA.replace("MD", "depth").encode(), format="turtle", dry_run=True)
    assert len(more.added) == 1
    assert any("were written under the kept names" in note for note in more.notes)
    assert subjects(world) == {"a"}


def test_every_way_in_leads_to_the_kept_name(world: worlds.World, tmp_path: Path) -> None:
    rdf = tmp_path / "r" / "r.ttl"
    rdf.parent.mkdir()
    rdf.write_text(DATA.replace("ex:b a", "ex:b ex:seen 1 ; a"), "utf-8")
    first = world.proposals.add(add=[("ex:b", "ex:by", '"proposal"')])
    ways: dict[str, Any] = {
        "add": lambda: world.add([("ex:b", "ex:by", '"add"')]),
        "edit": lambda: world.edit(add=[("ex:b", "ex:by", '"edit"')]),
        "update": lambda: world.update('INSERT DATA { ex:b ex:by "update" }'),
        "accept": lambda: world.proposals.accept(first.id),
        "patch": lambda: world.revisions.apply(f'A <{EX}b> <{EX}by> "patch" .\n'.encode()),
        "document": lambda: world.sources.add_document("ex:b", "A text.", graph="ex:docs"),
    }
    for name, way in ways.items():
        change = way()
        assert change.revision is not None, name
        assert "b" not in subjects(world), name
    graph = str(world.sources.add(str(rdf.parent), "rdf", kind="rdf").graph)
    (told,) = world.sources.sync("rdf")
    assert any(f"<{EX}b> is <{EX}a>" in note for note in told.notes)
    assert subjects(world, graph) == {"a"}
    rdf.write_text(DATA, "utf-8")  # a row of the old name goes
    world.sources.sync("rdf")
    assert world.count("ex:a", "ex:seen") == 0
    assert world.check().ok


def test_a_split_gives_back_what_came_since_under_the_old_name(world: worlds.World) -> None:
    world.add([("ex:b", "ex:p", 1), ("ex:a", "ex:p", 1), ("ex:a", "ex:p", 2), ("ex:x", "ex:to", "ex:b")])
    world.remove([("ex:b", "skos:notation", '"b"')])
    split = world.curation.split(2)
    assert {str(quad[2]).removeprefix(EX) for quad in world.quads("ex:b", "ex:p")} == {"1"}
    assert world.count("ex:a", "ex:p") == 2
    assert world.count("ex:x", "ex:to", "ex:b") == 1
    assert world.count(None, "skos:notation") == 0, "it was removed under its old name"
    assert [str(quad[2]) for quad in split.unassigned] == ["2"] or len(split.unassigned) == 2
    assert [(one.same, one.how) for one in world.curation.decisions()] == [(False, "split")]


def test_a_removal_that_is_undone_after_a_split_gives_back_what_came(world: worlds.World) -> None:
    removed = world.remove([("ex:a", "skos:notation", '"b"')])
    world.curation.split(2)
    world.undo(removed.revision or 0)
    assert world.count("ex:b", "skos:notation") == 1
    assert world.count("ex:a", "skos:notation") == 0
    assert world.check().ok


ONE = [("ex:b", "ex:p", 1), ("ex:c", "ex:p", 1)]  # which stand as one quad of ex:a


@pytest.fixture
def twice(world: worlds.World) -> worlds.World:
    """Two entities were merged into one."""
    world.add([("ex:c", "ex:p", 0)])
    world.curation.merge("ex:a", "ex:c")
    return world


def held(world: worlds.World) -> list[str]:
    return sorted(str(quad[2]) for quad in world.quads("ex:a", "ex:p"))


def test_a_removal_that_is_undone_stands_again_beside_what_stood_on(twice: worlds.World) -> None:
    twice.add(ONE)
    removed = twice.remove([("ex:c", "ex:p", 1), ("ex:c", "ex:p", 0)])
    assert held(twice) == ["1"]
    twice.undo(removed.revision or 0)
    twice.remove([("ex:b", "ex:p", 1)])
    assert held(twice) == ["0", "1"], "ex:c states it, too"
    twice.remove([("ex:c", "ex:p", 1)])
    assert held(twice) == ["0"]


@pytest.mark.parametrize("first", ["ex:c", "ex:a"])
def test_what_was_replaced_by_the_like_comes_back_though_that_is_gone(twice: worlds.World, first: str) -> None:
    twice.add([(first, "ex:p", 1, "ex:g")])
    data = f'<{EX}b> <{EX}p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> . <{EX}b> <{EX}p> "2" .'
    replaced = twice.load(data.encode(), format="turtle", graph="ex:g", mode="replace")
    assert replaced.revision is not None
    twice.remove([("ex:a", "ex:p", 1, "ex:g")])
    twice.undo(replaced.revision)
    assert [str(quad[2]) for quad in twice.quads("ex:a", "ex:p", graph="ex:g")] == ["1"]
    assert twice.check().ok


def test_an_undo_takes_away_what_came_again_since_and_leaves_what_came_otherwise(twice: worlds.World) -> None:
    first = twice.add(ONE[:1])
    twice.remove(ONE[:1])
    twice.add(ONE[:1])
    twice.undo(first.revision or 0)
    assert held(twice) == ["0"]
    second = twice.add(ONE[:1])
    twice.remove(ONE[:1])
    twice.add([("ex:a", "ex:p", 1)])
    twice.undo(second.revision or 0)
    assert held(twice) == ["0", "1"], "it came under the kept name"


def test_a_merge_that_is_undone_leaves_what_came_since_under_the_kept_name() -> None:
    with worlds.open(embedder=None) as world:
        world.add([("urn:b", "urn:p", 1), ("urn:a", "urn:q", 1)])
        merge = world.curation.merge("urn:a", "urn:b")
        world.add([("urn:a", "urn:p", 1)])
        world.undo(merge.revision or 0)
        assert (world.count("urn:a", "urn:p"), world.count("urn:b", "urn:p")) == (1, 1)


def test_a_removal_comes_back_by_a_predicate_that_was_merged_since(twice: worlds.World) -> None:
    twice.add([("ex:c", "ex:d", 1), ("ex:a", "ex:d", 1)])
    removed = twice.remove([("ex:a", "ex:d", 1)])
    twice.add([("ex:d", "ex:p", 2)])
    twice.curation.merge("ex:a", "ex:d")
    twice.undo(removed.revision or 0)
    assert (twice.count(None, "ex:d"), twice.count("ex:a", "ex:a")) == (0, 1)


def test_what_changed_no_quad_is_not_undone_with_what_comes_next(twice: worlds.World) -> None:
    twice.add(ONE[:1])
    assert twice.add(ONE[1:]).revision is None
    after = twice.add([("ex:x", "ex:p", 1)])
    twice.undo(after.revision or 0)
    twice.remove(ONE[:1])
    assert held(twice) == ["0", "1"], "ex:c states it"


def test_the_policy_lets_names_stand_as_they_come(world: worlds.World) -> None:
    world.policy = world.policy.with_(follow_merges=False)
    change = world.load(DATA.encode(), format="turtle")
    assert change.added == 4
    assert change.notes == (f"4 quads about merged entities were written under their old names: <{EX}b> is <{EX}a>",)
    assert subjects(world) == {"a", "b"}
    check = next(one for one in world.curation.report().checks if one.name == "merged name")
    assert (check.level, check.count) == ("warning", 1)


def test_a_world_without_merges_looks_for_no_names() -> None:
    with worlds.open(embedder=None) as world:
        world.add([("urn:a", "urn:p", "urn:b")])
        said: list[str] = []
        with connection_of(world).watched(lambda sql, _: said.append(sql)):
            world.add([("urn:a", "urn:p", "urn:c")])
        assert not [sql for sql in said if "merged_quads" in sql]


def test_a_quad_about_a_redirect_leads_nowhere(world: worlds.World) -> None:
    """The reifier of a redirect that ended stands in the graph of redirects, too, and is no old name."""
    world.add([("ex:r", "ex:until", '"2020"', REDIRECTS.value), ("ex:b", "ex:q", 3)])
    world.add([("ex:r", "ex:note", '"checked"'), ("ex:x", "ex:about", "ex:r")])
    assert world.count("ex:r", "ex:note") == 1
    assert world.count("ex:x", "ex:about", "ex:r") == 1
    assert [str(quad[2]) for quad in world.quads("ex:a", "ex:q")] == ["3"]
    world.curation.split(2)
    assert world.count("ex:b", "ex:q") == 1
    assert world.check().ok
