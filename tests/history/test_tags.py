"""Tags: names of revisions, kept in the file, which stand for revisions at every door."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support.command_line import run
from tests.support.readback import EX
from tests.support.serving import served
from worlds import ReadOnlyError, World, WorldsError
from worlds.errors import ArgumentError


@pytest.fixture
def birds(world: World) -> World:
    """Four revisions, of which the second is the release "one", and the last "two"."""
    world.bind("ex", EX)
    world.add([("ex:a", "rdfs:label", '"red kite"')])
    world.add([("ex:b", "rdfs:label", '"buzzard"')])
    world.revisions.tag("one", author="ann", message="the first")
    world.remove([("ex:a", "rdfs:label", '"red kite"')])
    world.add([("ex:a", "rdfs:label", '"black kite"', "ex:g")])
    world.revisions.tag("two", 4)
    return world


def test_a_tag_stands_for_its_revision(birds: World) -> None:
    assert [(one.name, one.revision, one.author, one.message) for one in birds.revisions.list()] == [
        ("one", 2, "ann", "the first"),
        ("two", 4, None, None),
    ]
    assert [entry.tags for entry in birds.history()] == [("two",), (), ("one",), ()]
    assert birds.revisions.patch("one", "two") == birds.revisions.patch(2, 4)
    assert birds.diff("one").a == 2
    assert birds.at("one").count() == 2
    assert birds.curation.verify(["ex:a", "rdfs:label", '"red kite"'], at="one").outcome == "supported"
    assert birds.at("two").revisions.list() == birds.revisions.list()
    birds.undo("two")
    assert birds.count() == 1
    assert [one.revision for one in birds.revisions.list()] == [2, 4]


def test_a_number_and_a_time_may_be_texts_too(birds: World) -> None:
    assert birds.revisions.patch("1", "3") == birds.revisions.patch(1, 3)
    birds.revisions.tag("2026-11-28", 1)
    assert birds.diff("2026-11-28").a == 1, "a tag goes before a time"
    assert birds.diff("2020-01-01").a == 0
    with pytest.raises(ArgumentError, match=r"'three' is not a tag of this world \(its tags are 'one', 'two', "):
        birds.at("three")


@pytest.mark.parametrize("name", ["", "  ", "12", "x" * 201, "a\0b"])
def test_a_name_is_a_text_and_no_number(birds: World, name: str) -> None:
    with pytest.raises(ValueError, match="tag"):
        birds.revisions.tag(name)


def test_a_name_is_of_one_revision(birds: World) -> None:
    with pytest.raises(ArgumentError, match="the tag 'one' is of revision 2; remove it first"):
        birds.revisions.tag("one")
    assert birds.revisions.tag("one", 2, message="again").message == "again"
    assert birds.revisions.remove("one").revision == 2
    assert birds.revisions.tag("one").revision == 4
    with pytest.raises(ArgumentError, match="no tag 'none'"):
        birds.revisions.remove("none")
    with pytest.raises(ArgumentError, match="there is no revision 9"):
        birds.revisions.tag("nine", 9)


def test_a_tag_of_a_forgotten_revision_says_so(birds: World) -> None:
    birds.revisions.prune("two")
    assert [(one.name, one.forgotten) for one in birds.revisions.list()] == [("one", True), ("two", False)]
    with pytest.raises(WorldsError, match="the tag 'one' is of revision 2, which is forgotten"):
        birds.at("one")


def test_a_view_reads_tags_and_sets_none(birds: World) -> None:
    scope = birds.only(graphs="ex:g")
    assert [one.name for one in scope.revisions.list()] == ["two"]
    assert len(scope.diff(0, "two").added) == 1
    for view in (scope, birds.at(3), birds.entailed):
        with pytest.raises(ReadOnlyError):
            view.revisions.tag("three")
    scope.undo("two")
    assert birds.count() == 1


def test_a_scope_has_the_tags_of_its_revisions() -> None:
    with worlds.open(embedder=None) as world:
        scope = world.only(graphs=EX + "open")
        for number, graphs in enumerate((["open"], ["secret"], ["open", "secret"]), 1):
            world.add([(EX + "a", EX + "p", EX + f"b{number}", EX + graph) for graph in graphs])
            world.revisions.tag(f"tag {number}", message="why")
            assert [entry.revision for entry in scope.history()] == [one for one in (3, 1) if one <= number]
            shown = [(tag.name, tag.message) for tag in scope.revisions.list()]
            assert shown == [("tag 1", "why"), ("tag 3", None)][: 1 + (number == 3)], (
                "as the history of the scope has it"
            )
        with pytest.raises(ArgumentError, match="its tags are 'tag 1', 'tag 3'"):
            scope.at("tag 2")
        assert len(scope.at("tag 1")) == 1
        world.revisions.remove("tag 1")
        assert [tag.name for tag in scope.revisions.list()] == ["tag 3"]
        world.revisions.prune(3)
        assert [tag.name for tag in world.entailed.revisions.list()] == ["tag 2", "tag 3"]


def test_tags_live_as_long_as_the_file(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.add([(EX + "a", EX + "p", EX + "b"), (EX + "c", EX + "p", EX + "d")])
        world.revisions.tag("one")
        world.curation.merge(EX + "a", EX + "c")
        world.file.compact()
        world.file.backup(tmp_path / "copy.db")
    worlds.restore(tmp_path / "copy.db", tmp_path / "again.db")
    for name in ("kb.db", "copy.db", "again.db"):
        with worlds.open(tmp_path / name, embedder=None) as world:
            assert world.at("one").count(EX + "c") == 1
            assert not world.check().problems


ACTS = st.sampled_from(["write", "tag", "untag", "both", "net nothing", "fail", "prune"])


@given(st.lists(st.tuples(ACTS, st.sampled_from("abc")), max_size=12))
def test_tags_name_the_states_that_they_named_first(acts: list[tuple[str, str]]) -> None:
    """The oracle remembers the state of the world, not the number of its revision."""
    states: dict[str, int] = {}
    written = pruned = 0
    with worlds.open(embedder=None) as world:
        for act, name in acts:
            quad = (EX + "s", EX + "p", written)
            with contextlib.suppress(ArgumentError, ZeroDivisionError), world.transaction():
                if act in ("write", "both", "fail", "net nothing"):
                    world.add([quad])
                if act in ("tag", "both", "fail", "net nothing"):
                    world.revisions.tag(name)
                if act == "untag":
                    world.revisions.remove(name)
                if act == "net nothing":
                    world.remove([quad])
                if act == "fail":
                    1 / 0  # noqa: B018
            taken = states.get(name)
            if act == "prune":
                world.revisions.prune(written)
                pruned = max(pruned, written - 1)
            elif act == "untag":
                states.pop(name, None)
            elif act == "write" or (act == "both" and taken is None):
                written += 1
            if act in ("tag", "both", "net nothing") and taken is None:
                states[name] = written
        told = {one.name: one for one in world.revisions.list()}
        assert {name: one.revision for name, one in told.items()} == states
        for name, count in states.items():
            assert told[name].forgotten == (count < pruned)
            if count >= pruned:
                assert world.at(name).count() == count


# --- the doors --------------------------------------------------------------------------------------------------------


def test_commands_take_tags(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.add([(EX + "a", EX + "p", 1)])
        world.add([(EX + "a", EX + "p", 2)])
    assert json.loads(run("revisions tag", path, "2026-10", "1", "--json").stdout)["revision"] == 1
    run("revisions tag", path, "2026-11", "-m", "the second")
    listed = json.loads(run("revisions tags", path, "--json").stdout)["tags"]
    assert [(one["name"], one["revision"]) for one in listed] == [("2026-10", 1), ("2026-11", 2)]
    assert "2" in run("revisions patch", path, "2026-10", "2026-11").stdout
    assert "2026-10" in run("diff", path, "2026-12").stderr
    asked = "SELECT (count(*) AS ?n) { ?s ?p ?o }"
    assert '"1"' in run("sparql", path, asked, "--at", "2026-10", "--format", "json").stdout
    run("undo", path, "2026-11")
    assert json.loads(run("revisions untag", path, "2026-11", "--json").stdout)["revision"] == 2


def test_http_takes_tags(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.add([(EX + "a", EX + "p", 1)])
    with served(tmp_path / "kb.db", "--allow-writes") as server, httpx.Client(base_url=server.url) as client:
        made: dict[str, Any] = client.post("/tags", json={"name": "a release"}).raise_for_status().json()
        assert made["revision"] == 1
        assert client.get("/tags").json()["tags"] == [made]
        assert client.get("/history/a%20release").json()["tags"] == ["a release"]
        assert client.get("/history/none").status_code == 404
        assert client.post("/history/a%20release/undo").json()["removed"] == 1
        assert client.delete("/tags", params={"name": "a release"}).json()["name"] == "a release"
        assert client.get("/tags").json() == {"tags": []}
