"""`World.only`: a scope reads as a world does that holds nothing else, and writes nothing outside of itself."""

from __future__ import annotations

import json
import random
import re
import threading
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support import scoping, seams
from tests.support.embedder import HashingEmbedder
from worlds import ReadOnlyError, World

BYTES = re.compile("[A-Za-z0-9+/]{40,}=*")  # vectors among the parameters of statements, in which any two letters stand


def said(world: World) -> set[str]:
    return set(map(str, world.quads()))


OUTSIDE = "ex:theirs"
MINE = "ex:mine"


@pytest.fixture
def world() -> World:
    made = scoping.opened()
    made.add(
        [
            ("ex:ann", "rdfs:label", '"Ann Smith"@en', MINE),
            ("ex:ann", "rdfs:comment", '"likes tea"', MINE),
            ("ex:ann", "ex:knows", "ex:bob", MINE),
            ("ex:bob", "rdfs:label", '"Bob Jones"', OUTSIDE),
            ("ex:bob", "ex:pin", '"secret 1234"', OUTSIDE),
        ],
        message="both",
    )
    made.add([("ex:ann", "ex:age", 30, MINE)], message="mine")
    made.add([("ex:bob", "ex:age", 40, OUTSIDE)], message="theirs")
    return made


@pytest.mark.parametrize("seed", range(2))
def test_a_scope_answers_as_a_world_that_holds_nothing_else(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.wait_for_hints(monkeypatch, 60.0)
    compare(seed, 40)


@pytest.mark.long
@pytest.mark.parametrize("batch", range(30))
def test_ten_thousand_calls_over_three_hundred_scopes(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seams.wait_for_hints(monkeypatch, 60.0)
    for seed in range(1000 + 10 * batch, 1010 + 10 * batch):
        compare(seed, 40)


def compare(seed: int, count: int) -> None:
    """Call verbs of a scope and of its oracle, after a first part of their history, and after all of it."""
    chosen = random.Random(seed)
    steps, inside = scoping.history(chosen, chosen.randint(2, 4), chosen.randint(3, 14))
    cut = chosen.randint(2, len(steps))
    with scoping.opened() as world, scoping.opened() as oracle:
        scope = world.only(graphs=inside)
        for part in (steps[:cut], steps[cut:]):
            scoping.play(world, part)
            scoping.play(oracle, part, inside)
            for name, call in scoping.calls(chosen, count // 2):
                found, expected = scoping.answer(call, scope), scoping.answer(call, oracle)
                assert found == expected, (seed, name, inside)
                if name not in scoping.ASKED:
                    told = BYTES.sub("", json.dumps(scoping.whole(call, scope), default=str))
                    assert scoping.SECRET not in told, (seed, name, re.findall(rf"\w*{scoping.SECRET}\w*", told))
        assert not scope.check().problems


@pytest.mark.parametrize("seed", range(20, 22))
def test_a_scope_is_written_as_a_world_that_holds_nothing_else(seed: int) -> None:
    chosen = random.Random(seed)
    steps, inside = scoping.history(chosen, 3, 14)
    with scoping.opened() as world, scoping.opened() as oracle:
        scoping.play(world, steps[:6])
        scoping.play(oracle, steps[:6], inside)
        scope = world.only(graphs=inside)
        outside = said(world) - said(scope)
        updates = (
            f"DELETE {{ GRAPH ?g {{ ?s ?p ?o }} }} WHERE {{ GRAPH ?g {{ ?s ?p ?o FILTER(?s = ex:{one}) }} }}"
            for one in "abcd"
        )
        for step, update in zip(steps[6:10], updates, strict=False):
            for one in (scope, oracle):
                scoping.play(one, [step], inside)
                one.update(update, message=scoping.MESSAGE)
            assert said(scope) == said(oracle)
            assert said(world) == said(scope) | outside
        for name, call in scoping.calls(chosen, 10):
            assert scoping.answer(call, scope) == scoping.answer(call, oracle), (seed, name)
        assert not world.check().problems


def test_only_its_own_is_listed(world: World) -> None:
    world.bind("other", "http://other.org/")
    world.add([("other:x", "rdfs:label", '"X"', OUTSIDE)])
    scope = world.only(graphs=MINE)
    assert [(one.revision, one.message, one.added) for one in scope.history()] == [(2, "mine", 1), (1, None, 3)]
    assert "ex" in scope.prefixes
    assert "other" not in scope.prefixes
    assert len(scope) == 4
    assert [str(name) for name in scope.graphs()] == [scoping.EX + "mine"]
    assert scope.path == world.path
    assert "only <http://example.org/mine>" in repr(scope)


def test_every_view_is_a_world(world: World) -> None:
    scope = world.only(graphs=MINE)
    for one in (world, scope):
        views = (one, one.at(1), one.as_of("now"), one.entailed, one.entailed.at(1), one.at(1).as_of("2020"))
        assert {type(view) for view in views} == {World}
        assert len({repr(view) for view in views}) == len(views)
    seen = scope.at(1).entailed.file.view
    assert (seen.names, seen.revision, seen.time, seen.entailed) == ((scoping.EX + "mine",), 1, None, True)


def test_what_is_cached_is_another_scope_s(world: World) -> None:
    mine, theirs = world.only(graphs=[MINE]), world.only(graphs=[OUTSIDE])
    for _ in range(2):
        assert {hit.text for hit in mine.search("secret tea")} == {"Ann Smith", "likes tea"}
        assert "secret 1234" in [hit.text for hit in theirs.search("secret tea")]
    assert world.only(graphs=[MINE]) is mine
    mine.close()
    assert len(world.only(graphs=[MINE])) == 4
    both = world.only(graphs=[MINE, OUTSIDE])
    assert len(both.only(graphs=MINE)) == 4
    with pytest.raises(ReadOnlyError, match="outside of the scope"):
        mine_again = world.only(graphs=MINE)
        mine_again.only(graphs=[MINE, OUTSIDE])
    with pytest.raises(ValueError, match="at least one graph"):
        world.only(graphs=[])


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("describe", ["ex:bob"]),
        ("context", ["What is the pin of Bob Jones?"]),
        ("entities.mentions", ["Bob Jones drinks tea"]),
        ("entities.neighbourhood", ["ex:bob"]),
        ("entities.paths", ["ex:ann", "ex:elsewhere"]),
        ("curation.verify", [("ex:bob", "ex:pin", '"secret 1234"')]),
        ("resolve", ["Bob Jones"]),
        ("schema", []),
    ],
)
def test_verbs_of_some_graphs_tell_nothing_of_others(world: World, verb: str, given: list[Any]) -> None:
    world.add([("ex:bob", "ex:knows", "ex:elsewhere", OUTSIDE)])

    def told(**options: Any) -> str:
        found = attrgetter(verb)(world)(*given, **options)
        return json.dumps([one.to_dict() for one in found] if isinstance(found, list) else found.to_dict(), default=str)

    secret = (
        "Bob Jones"
        if verb in ("resolve", "entities.mentions")
        else "supported"
        if verb == "curation.verify"
        else "theirs"
    )
    for graphs in ([MINE], MINE):
        inside = told(graphs=graphs).replace('"name": "Bob Jones"', "")
        assert secret not in inside.replace("unsupported", "")
        assert "1234" not in inside or verb == "curation.verify"
    assert secret in told()
    assert secret in told(graphs=[MINE, OUTSIDE])


def test_a_new_graph_is_a_scope_too(world: World) -> None:
    scope = world.only(graphs=["ex:new", "default"])
    assert len(scope) == 0
    assert repr(scope).endswith("only <http://example.org/new>, default>")
    assert scope.file.view.names == (scoping.EX + "new", "default")
    scope.add([("ex:dan", "rdfs:label", '"Dan"', "ex:new"), ("ex:dan", "ex:likes", "ex:tea")])
    assert len(scope) == 2
    assert world.file.view.graphs is None


def test_threads_in_several_scopes(world: World) -> None:
    failures: list[Exception] = []

    def work(number: int) -> None:
        try:
            for count in range(10):
                scope = world.only(graphs=f"ex:t{number % 3}")
                scope.add([(f"ex:n{number}x{count}", "rdfs:label", f'"name {number} {count}"')])
                assert scope.search("name")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [len(world.only(graphs=f"ex:t{number}")) for number in range(3)] == [20, 20, 20]
    assert not world.check().problems


def test_the_past_of_a_scope(world: World) -> None:
    scope = world.only(graphs=MINE)
    world.remove([("ex:ann", "rdfs:comment", '"likes tea"', MINE)])
    assert len(scope.at(1)) == 3
    assert len(scope) == 3
    assert str(scope.diff(1).removed[0][2]) == "likes tea"
    world.revisions.prune(4)
    assert [one.revision for one in scope.history()] == [4]
    with pytest.raises(worlds.WorldsError, match="forgotten"):
        scope.at(1)


def test_a_group_of_scopes(world: World) -> None:
    with worlds.group({"a": world.only(graphs=MINE), "b": scoping.opened()}) as group:
        assert {hit.text for hit in group.search("Bob tea secret", limit=20)} == {"Ann Smith", "likes tea"}


# -- writing ------------------------------------------------------------------------------------------------------


def test_writes_go_into_the_scope(world: World, tmp_path: Path) -> None:
    scope = world.only(graphs=MINE)
    (tmp_path / "more.ttl").write_text('<http://example.org/cid> <http://example.org/said> "by file" .')
    (tmp_path / "note.md").write_text("# A note\n\nof the scope")
    before = said(world.only(graphs=OUTSIDE))
    made = [
        scope.add([("ex:cid", "rdfs:label", '"Cid"')], message="a label"),
        scope.load(tmp_path / "more.ttl"),
        scope.update("INSERT DATA { ex:cid ex:likes ex:tea }"),
        scope.sources.add_document("ex:note", tmp_path / "note.md"),
        scope.remove([("ex:ann", "rdfs:comment", '"likes tea"')]),
    ]
    assert [change.revision for change in made] == [4, 5, 6, 7, 8]
    assert {str(quad[3]) for quad in world.quads("ex:cid")} == {scoping.EX + "mine"}
    assert scope.search("by file")[0].text == "by file"
    assert scope.search("of the scope")
    assert said(world.only(graphs=OUTSIDE)) == before
    assert scope.history(1)[0].revision == 8
    assert scope.history()[4].message == "a label"
    assert not world.check().problems
    assert not scope.check().problems


def test_a_scope_of_several_graphs_needs_a_graph_named(world: World) -> None:
    scope = world.only(graphs=[MINE, OUTSIDE])
    with pytest.raises(ReadOnlyError, match="outside of the scope"):
        scope.add([("ex:cid", "rdfs:label", '"Cid"')])
    scope.add([("ex:cid", "rdfs:label", '"Cid"', OUTSIDE)])
    assert world.count("ex:cid") == 1


REFUSED: list[Callable[[World], Any]] = [
    lambda scope: scope.add([("ex:x", "ex:y", "ex:z", OUTSIDE)]),
    lambda scope: scope.update("INSERT DATA { GRAPH ex:theirs { ex:a ex:b 1 } }"),
    lambda scope: scope.update("CREATE GRAPH ex:new"),
    lambda scope: scope.load(b"<http://a/b> <http://a/c> <http://a/d> <http://a/e> .", format="nq"),
    lambda scope: scope.sources.add_document("ex:d", "a text", graph=OUTSIDE),
    lambda scope: scope.curation.merge("ex:ann", "ex:bob"),
    lambda scope: scope.undo(1),
    lambda scope: scope.curation.split(1),
    lambda scope: scope.bind("q", "http://q.org/"),
    lambda scope: scope.revisions.prune(2),
    lambda scope: scope.file.compact(),
    lambda scope: scope.file.backup("/nowhere/copy.db"),
    lambda scope: scope.embed(rebuild=True),
    lambda scope: setattr(scope, "policy", scope.policy),
    lambda scope: setattr(scope.shapes, "guard", "reject"),
    lambda scope: setattr(scope.file, "default_graph", "union"),
    lambda scope: scope.proposals.add(add=[("ex:x", "ex:y", "ex:z", OUTSIDE)]),
    lambda scope: scope.proposals.add(add=[("ex:x", "ex:y", "ex:z")], relies_on=[("ex:bob", "ex:age", 40, OUTSIDE)]),
]


@pytest.mark.parametrize("write", REFUSED, ids=range(len(REFUSED)))
def test_what_a_scope_may_not(world: World, write: Callable[[World], Any]) -> None:
    scope = world.only(graphs=MINE)
    before = (said(world), len(world.history()), world.proposals.list())
    with pytest.raises(ReadOnlyError) as error:
        write(scope)
    assert error.value.kind == "scope"
    assert "bob" not in str(error.value)
    assert "theirs" not in str(error.value)
    assert (said(world), len(world.history()), world.proposals.list()) == before
    assert len(scope) == 4


def test_clear_all_clears_the_scope(world: World) -> None:
    scope = world.only(graphs=MINE)
    scope.update("CLEAR ALL")
    assert len(scope) == 0
    assert world.count(graph=OUTSIDE) == 3
    scope.undo(scope.history(1)[0].revision)
    assert len(scope) == 4


def test_updates_read_nothing_else(world: World) -> None:
    scope = world.only(graphs=MINE)
    change = scope.update("INSERT { GRAPH ex:mine { ex:ann ex:copied ?o } } WHERE { GRAPH ?g { ex:bob ?p ?o } }")
    assert change.added == 0


def test_undo_of_a_revision_elsewhere_says_no_more(world: World) -> None:
    with pytest.raises(ValueError, match="no revision 3 in this scope|last one is 2"):
        world.only(graphs=MINE).undo(3)


def test_transactions_and_rehearsals(world: World) -> None:
    scope = world.only(graphs=MINE)
    with scope.transaction(author="cid", message="two") as same:
        same.add([("ex:one", "rdfs:label", '"first of two"')])
        assert scope.search("first of two")
        with pytest.raises(ZeroDivisionError), scope.transaction():
            scope.add([("ex:lost", "rdfs:label", '"lost"')])
            raise ZeroDivisionError
        same.add([("ex:two", "rdfs:label", '"second"')], dry_run=True)
        same.update("INSERT { ?s ex:seen true } WHERE { GRAPH ?g { ?s rdfs:label ?l } FILTER(?s = ex:one) }")
    entry = world.history(1)[0]
    assert (entry.author, entry.message, entry.added) == ("cid", "two", 2)
    assert world.count("ex:lost") == world.count("ex:two") == 0
    with pytest.raises(ZeroDivisionError), scope.transaction():
        scope.add([("ex:lost", "rdfs:label", '"lost"')])
        raise ZeroDivisionError
    assert len(scope) == 6 == len(world.only(graphs=MINE))
    assert not scope.search("lost").explain.eligible
    diff = scope.add([("ex:three", "rdfs:label", '"three"')], dry_run=True)
    assert [str(quad[0]) for quad in diff.added] == [scoping.EX + "three"]
    assert world.count("ex:three") == 0


def test_a_transaction_of_the_world_is_seen_and_taken_back(world: World) -> None:
    scope = world.only(graphs=MINE)
    with pytest.raises(ZeroDivisionError), world.transaction():
        world.add([("ex:lost", "rdfs:label", '"passing by"', MINE)])
        assert scope.search("passing")[0].text == "passing by"
        raise ZeroDivisionError
    world.add([("ex:other", "rdfs:label", '"something else"', MINE)])
    assert "passing by" not in [hit.text for hit in scope.search("passing something")]
    assert len(scope) == 5
    assert not scope.check().problems


def test_blank_nodes_are_no_other_graph_s(world: World) -> None:
    world.add([("_:x", "rdfs:label", '"theirs"', OUTSIDE)])
    scope = world.only(graphs=MINE)
    scope.add([("_:x", "rdfs:label", '"mine"')])
    for number in range(3):
        for _ in range(2):  # the second time it is the same node
            scope.load(b'_:x <http://example.org/says> "loaded %d" .' % number, format="nt")
    nodes = {str(quad[0]): str(quad[3]) for quad in world.quads() if type(quad[0]).__name__ == "BNode"}
    assert len(nodes) == 5
    assert sorted(nodes.values()).count(scoping.EX + "theirs") == 1
    (label,) = [quad[0] for quad in scope.quads(None, "rdfs:label") if str(quad[2]) == "mine"]
    scope.add([(label, "ex:more", '"of the same node"')])
    assert world.count(label) == 2


def test_proposals_of_a_scope(world: World) -> None:
    scope = world.only(graphs=MINE)
    outside = world.proposals.add(add=[("ex:bob", "ex:pin", '"5678"', OUTSIDE)], why="secret")
    made = scope.proposals.add(
        add=[("ex:ann", "ex:age", 31)], remove=[("ex:ann", "ex:age", 30)], author="bob", why="older"
    )
    assert [one.id for one in scope.proposals.list()] == [made.id]
    assert len(world.proposals.list()) == 2
    for verb in (
        scope.proposals.get,
        scope.proposals.accept,
        scope.proposals.reject,
        lambda id: scope.proposals.amend(id, why="no"),
    ):
        with pytest.raises(ValueError, match=f"there is no proposal {outside.id}"):
            verb(outside.id)
    assert scope.proposals.amend(made.id, why="in fact", update="INSERT DATA { ex:ann ex:age 32 }").version == 2
    assert scope.proposals.accept(made.id, reviewer="cid").added == 1
    assert scope.proposals.get(made.id).status == "accepted"
    other = scope.proposals.add(update="DELETE WHERE { GRAPH ex:mine { ex:ann ex:age ?a } }")
    assert len(other.removed) == 2
    assert scope.proposals.reject(other.id, "no").status == "rejected"
    assert [one.status for one in scope.proposals.reject_all([], "no")] == []


def test_two_processes_see_each_other(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=HashingEmbedder(64)) as one:
        one.bind("ex", scoping.EX)
        one.add([("ex:a", "rdfs:label", '"first"', MINE), ("ex:b", "rdfs:label", '"hidden"', OUTSIDE)])
        scope = one.only(graphs=MINE)
        assert len(scope) == 1
        with worlds.open(tmp_path / "kb.db", embedder=HashingEmbedder(64)) as two:
            two.add([("ex:a", "rdfs:label", '"second"', MINE)])
            assert [hit.text for hit in scope.search("second", limit=1)] == ["second"]
            two.only(graphs=MINE).add([("ex:a", "rdfs:label", '"third"')])
            two.file.compact()
        assert len(scope) == 3
        assert scope.search("third", limit=1)[0].text == "third"
    with pytest.raises(worlds.OpenError):
        len(scope)


def test_vectors_without_an_embedder(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=HashingEmbedder(64)) as world:
        world.bind("ex", scoping.EX)
        world.add([(f"ex:{n}", "rdfs:label", f'"amber number {n % 3}"', MINE) for n in range(6)])
        expected = [(str(hit.subject), round(hit.score, 4)) for hit in world.only(graphs=MINE).entities.similar("ex:1")]
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        scope = world.only(graphs=MINE)
        assert [(str(hit.subject), round(hit.score, 4)) for hit in scope.entities.similar("ex:1")] == expected
        world.add([("ex:7", "rdfs:label", '"a text without a vector"', MINE)])
        assert scope.stats().quads == 7
    embedder = HashingEmbedder(64)
    with worlds.open(tmp_path / "kb.db", embedder=embedder) as world:
        world.embed()
        before = embedder.documents
        assert len(world.only(graphs=MINE).search("vector", mode="vector", limit=3)) == 3
        assert embedder.documents == before  # what the world has is not embedded again
