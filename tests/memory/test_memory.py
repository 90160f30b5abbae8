"""A memory: what was told is found again in its scope, and nowhere else, until it is forgotten or outlived."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import ConflictError, ReadOnlyError, World, restore
from worlds.errors import ArgumentError, WorldsError
from worlds.records import Keep, Memory, prove

ANN = ("user", "ann")
DATA = b"""
@prefix ex: <https://ex.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Person a rdfs:Class ; rdfs:label "person" . ex:Company a rdfs:Class ; rdfs:label "company" .
ex:worksAt rdfs:label "works at" ; rdfs:domain ex:Person ; rdfs:range ex:Company .
ex:acme a ex:Company ; rdfs:label "Acme" ; rdfs:comment "Acme makes kites." .
ex:bob a ex:Person ; rdfs:label "Bob" ; ex:worksAt ex:acme .
"""


@pytest.fixture
def world(path: Path) -> Iterator[World]:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.bind("ex", "https://ex.example/")
        world.load(DATA, format="turtle")
        yield world
        report = world.check()
        assert report.ok, report


@pytest.fixture
def ann(world: World) -> Memory:
    return world.memory(scope=ANN)


def texts(memory: Memory, **options: Any) -> list[str]:
    return [one.text for one in memory.memories(**options)]


def test_what_was_told_is_recalled_with_what_is_known_of_it(ann: Memory) -> None:
    made = ann.retain(
        "Ann likes red kites", kind="preference", session="first", role="user", key="kites",
        cites="urn:mail:7", about="Acme", at="2026-05-01T10:00:00Z",
    )  # fmt: skip
    (found,) = ann.recall("kites")
    assert str(found.iri) == "urn:worlds:memory:user/ann#key/kites" == str(made.memories[0])
    assert (found.text, found.kind, found.session, found.role, found.key, found.scope) == (
        "Ann likes red kites", "preference", "first", "user", "kites", ANN,
    )  # fmt: skip
    assert found.at == dt.datetime(2026, 5, 1, 10, tzinfo=dt.UTC)
    assert [str(one) for one in (*found.cites, *found.about)] == ["urn:mail:7", "https://ex.example/acme"]
    assert found.score > 0
    assert found.to_dict()["kind"] == "preference"


def test_turns_are_memories_in_their_order(ann: Memory) -> None:
    made = ann.retain([("user", "I moved to Berlin"), {"role": "assistant", "content": "Nice!"}, "A note"], session="s")
    assert len(made.memories) == 3
    assert texts(ann) == ["A note", "Nice!", "I moved to Berlin"]
    assert [one.role for one in ann.memories()] == [None, "assistant", "user"]


def test_the_same_key_again_replaces(ann: Memory) -> None:
    ann.retain("Ann likes red kites", key="kites")
    again = ann.retain("Ann likes blue kites", key="kites")
    assert texts(ann) == ["Ann likes blue kites"]
    assert again.revision is not None
    ann.world.undo(again.revision)
    assert texts(ann) == ["Ann likes red kites"]


def test_one_may_recall_by_kind_session_and_time(ann: Memory) -> None:
    ann.retain("The red kite flew", session="one", at="2026-01-01T00:00:00Z")
    ann.retain("A kite is red", kind="fact", session="two", at="2026-03-01T00:00:00Z")
    assert {one.text for one in ann.recall("red kite")} == {"The red kite flew", "A kite is red"}
    assert [one.text for one in ann.recall("red kite", memory_kinds="fact")] == ["A kite is red"]
    assert [one.text for one in ann.recall("red kite", session="one")] == ["The red kite flew"]
    assert [one.text for one in ann.recall("red kite", as_of="2026-02-01T00:00:00Z")] == ["The red kite flew"]
    assert texts(ann, as_of="2026-02-01T00:00:00Z") == ["The red kite flew"]
    assert texts(ann, memory_kinds=["fact", "entity"]) == ["A kite is red"]


def test_what_was_said_twice_is_recalled_twice(ann: Memory) -> None:
    for session in ("one", "two", "three"):
        ann.retain(["yes, the red kite", "no"], session=session)
    assert sorted(str(one.session) for one in ann.recall("red kite", limit=3)) == ["one", "three", "two"]
    assert len(ann.recall("red kite", limit=1)) == 1
    assert [one.session for one in ann.recall("red kite", session="two", limit=1)] == ["two"]
    assert len(ann.recall("red kite", limit=100)) == 6


def test_scopes_nest_and_know_nothing_of_each_other(world: World, ann: Memory) -> None:
    narrow = world.memory(scope=(*ANN, "project", "x"))
    bob = world.memory(scope=("user", "bob"))
    ann.retain("Ann has a kite")
    narrow.retain("The project is about a kite")
    bob.retain("Bob has a kite")
    assert set(texts(ann)) == {"Ann has a kite", "The project is about a kite"}
    assert texts(narrow) == ["The project is about a kite"]
    assert texts(bob) == ["Bob has a kite"]
    assert len(texts(world.memory(scope="user"))) == 3
    assert ann.recall("project kite")[0].scope == (*ANN, "project", "x")
    assert texts(world.memory(scope=("user", "an"))) == []
    assert texts(world.memory(scope=("user", "ann/project"))) == []


def test_nobody_sees_it_who_asks_the_world(world: World, ann: Memory) -> None:
    def told() -> Any:
        overview, report = world.schema().to_dict(), world.curation.report().to_dict()
        return len(world), world.stats().quads, {**overview, "revision": 0}, {**report, "revision": 0, "time": 0}

    before = told()
    made = ann.retain("a secret zebra lives in Ann's kitchen", facts=[("Zoe", "works at", "Acme")])
    graph = str(ann.graph)
    assert told() == before
    assert world.graphs() == []
    assert "zebra" not in str([hit.text for hit in world.search("zebra kitchen", limit=50)])
    assert "Zoe" not in [one.label for one in world.resolve("Zoe").candidates]
    assert "zebra" not in world.context("zebra").text
    assert world.query("ASK { GRAPH ?g { ?s ?p ?o } }") is False
    assert world.query("ASK { ?s ?p ?o FILTER(CONTAINS(STR(?o), 'zebra')) }", union=True) is False
    assert not [quad for quad in world.quads() if "zebra" in str(quad[2])]
    assert "zebra" not in str(list(world.to_rdflib().quads()))
    assert "zebra" not in str(world.diff(0).added)
    assert world.query(f"ASK {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}") is False
    assert "zebra" not in str([hit.text for hit in world.search("zebra", graphs=graph)])
    assert "zebra" not in str([world.history(), world.stats(), list(world.only(graphs=[graph]).quads())])
    claim = (str(made.memories[0]), "https://schema.org/text", "a secret zebra lives in Ann's kitchen")
    assert world.curation.verify(claim, graphs=[graph]).outcome == "unknown"
    assert ann.world.curation.verify(claim).outcome != "unknown"
    # Its own world has all of it.
    seen = ann.world
    assert "zebra" in seen.search("zebra")[0].text
    assert seen.query(f"ASK {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}") is True
    assert seen.count(graph=graph) == len(list(seen.quads(graph=graph))) == len(ann.quads())
    assert "zebra" in seen.context("zebra").text
    assert seen.resolve("Zoe").best is not None


def test_an_export_has_nothing_of_it_but_that_of_its_own_world(world: World, ann: Memory, tmp_path: Path) -> None:
    ann.retain("a secret zebra")
    world.export(tmp_path / "all.nq")
    world.export(tmp_path / "all.trig")
    ann.world.export(tmp_path / "ann.nt", graph=ann.graph)
    assert "zebra" not in (tmp_path / "all.nq").read_text("utf-8") + (tmp_path / "all.trig").read_text("utf-8")
    assert "zebra" in (tmp_path / "ann.nt").read_text("utf-8")


def test_documents_and_memory_are_one_ranking_where_asked(ann: Memory) -> None:
    ann.retain("Ann flew her kite on Sunday")
    assert [one.text for one in ann.recall("who makes kites", limit=9)] == ["Ann flew her kite on Sunday"]
    both = {one.text: one for one in ann.recall("who makes kites", limit=9, documents=True)}
    assert both["Acme makes kites."].kind is None
    assert both["Ann flew her kite on Sunday"].kind == "episode"


def test_a_context_tells_what_was_said_and_the_facts(ann: Memory) -> None:
    ann.retain(
        [("user", "Zoe got a job at Acme")], at="2026-05-02T08:00:00Z", facts=[("Zoe", "works at", "Acme")]
    )  # fmt: skip
    context = ann.context("Where does Zoe work?")
    assert context.text.splitlines()[0] == "[1] 2026-05-02, user: Zoe got a job at Acme"
    assert any("works at: Acme" in line for line in context.text.splitlines()), context.text
    assert len(context.facts) == len(context.text.splitlines())
    assert str(context.facts[0].quads[0][3]) == str(ann.graph)
    assert "Acme makes kites" in ann.context("What does Acme make?", documents=True).text
    assert "Acme makes kites" not in ann.context("What does Acme make?").text


def test_a_context_shows_times_with_their_facts(ann: Memory) -> None:
    ann.retain("Zoe joined Acme", facts=[("Zoe", "works at", "Acme", {"from": "2026-05-02"})])
    ann.tell([("Zoe", "works at", "Acme", {"to": "2026-09-01"})])
    lines = ann.context("Where does Zoe work?").text.splitlines()
    assert any("(valid from: 2026-05-02" in line for line in lines), lines
    assert not any("_:" in line or "(;" in line for line in lines), lines


# --- keeping ----------------------------------------------------------------------------------------------------------


def test_what_is_outlived_is_recalled_no_more_and_goes_with_the_next_write(ann: Memory) -> None:
    first = ann.retain("for a while", days=1, at="2020-01-01T00:00:00Z")
    assert (texts(ann), list(ann.recall("for a while")), ann.quads()) == ([], [], [])
    assert ann.context("for a while").text == ""
    ann.retain("for longer", days=100_000)
    assert texts(ann) == ["for longer"]
    assert [hit.text for hit in ann.world.search("for a while")] == ["for longer"]
    assert ann.world.query("ASK { ?s ?p 'for a while' }", union=True) is False
    assert (first.outlived, first.revision) == (1, None)
    assert ann.world.count(graph=ann.graph) == 4  # kind, text, and both times


def test_a_memory_that_outlives_while_it_is_read_goes(ann: Memory) -> None:
    now = dt.datetime.now(dt.UTC)
    ann.retain("soon over", days=1, at=now - dt.timedelta(days=1) + dt.timedelta(seconds=0.4))
    assert texts(ann) == ["soon over"]
    while dt.datetime.now(dt.UTC) < now + dt.timedelta(seconds=0.45):
        pass
    assert texts(ann) == []
    assert ann.sweep().memories == 1
    assert ann.sweep().memories == 0


def test_age_count_and_evergreen_kinds(ann: Memory, world: World) -> None:
    ann.keep = Keep(days=30, count=2, kinds={"preference": None, "fact": 10})
    old = dt.datetime.now(dt.UTC) - dt.timedelta(days=20)
    ann.retain("an old preference", kind="preference", at=old - dt.timedelta(days=300))
    ann.retain("an old fact", kind="fact", at=old)
    ann.retain("an old episode", at=old)
    ann.retain("a very old episode", at=old - dt.timedelta(days=20))
    assert set(texts(ann)) == {"an old preference", "an old episode"}
    for number in range(3):
        ann.retain(f"episode {number}")
    assert set(texts(ann)) == {"an old preference", "episode 1", "episode 2"}
    assert world.memory(scope=(*ANN, "project")).keep == ann.keep
    assert world.memory(scope=("user", "bob")).keep == Keep()


def test_another_keep_holds_for_what_is_there(ann: Memory, world: World) -> None:
    old = dt.datetime.now(dt.UTC) - dt.timedelta(days=20)
    ann.retain("an old episode", at=old)
    ann.retain("a new episode")
    narrow = world.memory(scope=(*ANN, "x"))
    narrow.retain("an old one beneath", at=old)
    assert len(texts(ann)) == 3
    ann.keep = Keep(days=10)
    assert texts(ann) == ["a new episode"]
    assert texts(narrow) == []
    narrow.keep = Keep()
    assert set(texts(ann)) == {"a new episode", "an old one beneath"}
    ann.keep = Keep(count=1)
    assert set(texts(ann)) == {"a new episode", "an old one beneath"}
    ann.keep = Keep()
    assert len(texts(ann)) == 3
    ann.keep = Keep(days=10)
    assert (ann.sweep().memories, ann.sweep().memories) == (1, 0)
    ann.keep = Keep()
    assert set(texts(ann)) == {"a new episode", "an old one beneath"}


def test_without_history_what_goes_leaves_nothing(world: World, ann: Memory) -> None:
    ann.keep = Keep(history=False)
    ann.retain("Ann likes red kites", key="kites")
    again = ann.retain("Ann likes blue kites", key="kites")
    assert ann.world.history(1)[0].purged == 2  # the text, and when it was told
    assert again.revision is not None
    with pytest.raises(ConflictError, match="purged"):
        ann.world.undo(again.revision)
    ann.world.file.compact()
    assert prove("red kites", world.path)
    assert texts(ann) == ["Ann likes blue kites"]


def test_age_lowers_the_score_but_of_evergreen_kinds(ann: Memory) -> None:
    ann.keep = Keep(half_life=10, kinds={"preference": None})
    old = dt.datetime.now(dt.UTC) - dt.timedelta(days=100)
    for name, kind in (("episode", "episode"), ("preference", "preference")):
        ann.retain(f"kites in the {name}", kind=kind, at=old)  # type: ignore[arg-type]
    ann.retain("kites in the news")
    assert [one.text for one in ann.recall("kites in the", limit=3)][-1] == "kites in the episode"
    ageless = ann.recall("kites in the episode", limit=1, ranking=worlds.Ranking(decay={}))
    assert [one.text for one in ageless] == ["kites in the episode"]


# --- forgetting -------------------------------------------------------------------------------------------------------


def test_one_forgets_what_was_recalled_a_key_a_session_or_all(world: World, ann: Memory) -> None:
    ann.retain("one kite", key="k")
    ann.retain(["two kites", "three kites"], session="s")
    ann.retain("four kites")
    beneath = world.memory(scope=(*ANN, "x"))
    beneath.retain("five kites")
    assert ann.forget(key="k").memories == 1
    assert ann.forget(key="k").memories == ann.forget(key="never used").memories == 0
    assert ann.forget(session="s").memories == 2
    assert set(texts(ann)) == {"four kites", "five kites"}
    (four,) = [one for one in ann.memories() if one.text == "four kites"]
    forgotten = ann.forget(four)
    assert (forgotten.memories, forgotten.purged) == (1, False)
    assert forgotten.revision is not None
    ann.world.undo(forgotten.revision)
    assert ann.forget(everything=True).memories == 1
    assert texts(ann) == ["five kites"]
    with pytest.raises(ArgumentError, match="its own scope"):
        ann.forget(beneath.memories())


def test_facts_that_were_told_because_of_it_go_with_it(ann: Memory) -> None:
    both = [("Zoe", "works at", "Acme")]
    ann.retain("Zoe works at Acme", key="a", facts=both)
    ann.retain("Zoe said so herself", key="b", facts=both)
    works = "https://ex.example/worksAt"
    ann.forget(key="a")
    assert ann.world.count(predicate=works) == 1
    ann.forget(key="b")
    assert ann.world.count(predicate=works) == 0


def test_a_purge_reaches_what_was_forgotten_before_with_its_facts(world: World, ann: Memory) -> None:
    ann.retain("Quentin works at Acme, he said", key="a", facts=[("Quentin Zebedee", "works at", "Acme")])
    ann.retain("something else", key="b")
    ann.forget(key="a")
    forgotten = ann.forget(key="a", purge=True)
    assert (forgotten.quads, forgotten.purged, forgotten.elsewhere != ()) == (0, True, True)
    assert prove("Quentin works at Acme, he said", world.path)
    ann.forget(ann.world.resolve("Quentin Zebedee").best.iri, purge=True)
    assert prove("Quentin Zebedee", world.path)
    assert texts(ann) == ["something else"]


def test_a_purge_takes_what_was_said_of_it_and_nothing_else(world: World, ann: Memory) -> None:
    told = ann.retain("thank you very much", role="assistant", key="a", message="about thank you very much")
    ann.world.proposals.add(
        add=[(told.memories[0], "urn:about", "urn:acme")], why="the assistant said thank you very much"
    )
    other = world.proposals.add(add=[("ex:acme", "ex:motto", '"thank you very much"')], why="as the assistant says")
    world.add([("ex:acme", "ex:p", '"x"')], message="thank you very much, assistant")
    with ann.transaction(message="both"):
        ann.retain("a second zebra", key="b")
        ann.retain("a third zebra", key="c")
    ann.forget(key="a", purge=True)
    ann.forget(key="b", purge=True)
    assert [one.id for one in world.proposals.list()] == [other.id]
    assert ann.world.proposals.list() == []
    assert {one.message for one in world.history()} == {None, "thank you very much, assistant"}
    assert {one.message for one in ann.world.history()} == {None, "both", "what is seen of the world"}


def test_all_of_a_scope_is_purged_and_those_beneath_stay(world: World, ann: Memory) -> None:
    ann.retain("one zebra told", session="s")
    ann.retain("two zebras told", key="k", facts=[("Quentin Zebedee", "works at", "Acme")])
    ann.forget(session="s")
    world.memory(scope=(*ANN, "x")).retain("three beneath")
    world.memory(scope=("user", "bob")).retain("two zebras told")
    assert ann.forget(everything=True, purge=True).purged
    for text in ("one zebra told", "Quentin Zebedee"):
        assert prove(text, world.path), text
    (trace, *_) = prove("two zebras told", world.path).traces  # which somebody else was told, too
    assert "bob" in trace.file.name
    assert texts(ann) == ["three beneath"]
    assert texts(world.memory(scope=("user", "bob"))) == ["two zebras told"]


def test_the_file_of_a_scope_that_is_purged_goes_and_how_long_it_keeps_stays(world: World, ann: Memory) -> None:
    folder = Path(f"{world.path}-memory")
    assert not folder.exists()
    ann.retain("a zebra")
    world.memory(scope=("user", "bob")).retain("a kite")
    assert sorted(file.name for file in folder.glob("*.db")) == ["m.user.ann.db", "m.user.bob.db"]
    assert ann.forget(everything=True, purge=True).memories == 1
    assert [file.name for file in folder.iterdir() if "ann" in file.name] == []
    assert texts(ann) == [] == list(ann.recall("zebra"))
    ann.keep = Keep(history=False)
    ann.retain("another zebra")
    ann.forget(everything=True, purge=True)
    assert ann.keep == Keep(history=False)
    assert prove("another zebra", world.path)


@pytest.mark.parametrize("name", ["Ann", "a b/c", "ä", "con", "x" * 490, "X" * 490, "..", "a.b", "_"])
def test_any_name_has_a_file_of_its_own(name: str, world: World) -> None:
    scopes = [("user", name), ("user", name.swapcase() + "2"), ("user", "other")]
    for number, scope in enumerate(scopes):
        world.memory(scope=scope).retain(f"kite {number}")
    assert [texts(world.memory(scope=scope)) for scope in scopes] == [[f"kite {number}"] for number in range(3)]
    assert world.memory(scope="user").scopes == sorted(scopes)
    names = [file.name for file in Path(f"{world.path}-memory").glob("*.db")]
    assert len({one.lower() for one in names}) == 3
    assert all(len(one) < 200 and one == one.lower() for one in names)


def test_a_backup_takes_its_memories_along(world: World, ann: Memory, tmp_path: Path) -> None:
    ann.retain("a zebra")
    world.file.backup(tmp_path / "copy.db")
    ann.forget(everything=True, purge=True)
    world.memory(scope="other").retain("later")
    with worlds.open(tmp_path / "copy.db", embedder=None) as copy:
        assert texts(copy.memory(scope=ANN)) == ["a zebra"]
    restore(tmp_path / "copy.db", tmp_path / "again.db")
    restore(tmp_path / "copy.db", tmp_path / "again.db")
    with worlds.open(tmp_path / "again.db", embedder=None) as again:
        assert texts(again.memory(scope=ANN)) == ["a zebra"]
        assert texts(again.memory(scope="other")) == []


def test_more_scopes_than_are_open_at_once_lose_nothing(world: World) -> None:
    memories = [world.memory(scope=("user", str(number))) for number in range(90)]
    for number, memory in enumerate(memories):
        memory.retain(f"kite number {number}")
    for number in (0, 45, 89):
        memories[number].retain("boats")
        assert texts(memories[number]) == ["boats", f"kite number {number}"]
    found = world.memory(scope="user").recall("boats", limit=3)
    assert {one.scope[1] for one in found} == {"0", "45", "89"}
    assert "64 that were written last" in found.notes[0]


def test_a_world_in_memory_has_its_memories_there() -> None:
    with worlds.open(embedder=None) as world:
        world.memory(scope=ANN).retain("a zebra")
        assert texts(world.memory(scope=ANN)) == texts(world.memory(scope="user")) == ["a zebra"]


def test_memories_of_an_encrypted_world_have_its_key(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None, encryption_key="secret", driver="libsql") as world:
        world.memory(scope=ANN).retain("a Zyxophil")
        assert texts(world.memory(scope=ANN)) == ["a Zyxophil"]
        assert prove("a Zyxophil", tmp_path / "kb.db")
    with pytest.raises(WorldsError):
        worlds.open(tmp_path / "kb.db-memory/m.user.ann.db", embedder=None, create=False)


def test_all_of_a_scope_takes_its_proposals_with_all_that_was_said_of_them(world: World, ann: Memory) -> None:
    word, scope = "Zyxophil", ann.world
    world.load(b'<https://ex.example/bob2> a <https://ex.example/Person> ; '
               b'<http://www.w3.org/2000/01/rdf-schema#label> "Bob" .', format="turtle")  # fmt: skip
    unsure = world.facts.tell([("Bob", "works at", f"{word} told")], scope=ANN, vocabulary="open", author="bot")
    assert unsure.facts[0].became == "proposed"
    proposed = [
        scope.proposals.add(add=[("urn:a", f"urn:{word}-predicate", "urn:b")]),
        scope.proposals.add(add=[("urn:a", "urn:p", f'"{word} \\"quoted\\""')], why=f"{word} as the reason"),
        scope.proposals.add(add=[("urn:a", "urn:p", '"2"')], relies_on=[("urn:a", "urn:p", f'"{word} relied on"')]),
        *(scope.proposals.add(add=[("urn:a", "urn:p", number)]) for number in range(3, 7)),
    ]
    amended, remarked, accepted, rejected = (one.id for one in proposed[3:])
    scope.proposals.amend(amended, add=[("urn:a", "urn:p", f'"{word} amended"')])
    scope.proposals.amend(amended, add=[("urn:a", "urn:p", '"amended anew"')])
    scope.proposals.amend(remarked, why=f"{word} remarked")
    scope.proposals.accept(accepted, why=f"{word} accepted")
    scope.proposals.reject(rejected, f"{word} rejected")
    other = world.proposals.add(add=[("ex:acme", "ex:motto", '"kites"')], why="a proposal of the world")
    beneath = world.memory(scope=(*ANN, "x")).world.proposals.add(add=[("urn:a", "urn:p", '"beneath"')])
    assert not prove(word, world.path)
    ann.forget(everything=True, purge=True)
    assert prove(word, world.path).traces == ()
    assert [one.id for one in world.proposals.list(status="any")] == [other.id]
    assert [one.id for one in world.memory(scope=(*ANN, "x")).world.proposals.list()] == [beneath.id]


def test_a_memory_that_is_purged_takes_the_proposals_of_its_scope_that_quote_it(world: World, ann: Memory) -> None:
    ann.retain('Quentin says "no" to kites', key="a")
    quoting = ann.world.proposals.add(add=[("urn:a", "urn:p", '"Quentin says \\"no\\" to kites"')])
    reason = ann.world.proposals.add(add=[("urn:a", "urn:p", 2)], why='since Quentin says "no" to kites')
    other = ann.world.proposals.add(add=[("urn:a", "urn:p", 3)], why="for another reason")
    ann.forget(key="a", purge=True)
    assert {quoting.id, reason.id} & {one.id for one in ann.world.proposals.list()} == set()
    assert [one.id for one in ann.world.proposals.list()] == [other.id]


def test_the_proof_looks_at_what_killed_processes_left(world: World, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    for place in (
        f"{world.path}-sparql/1/a.sst", f"{world.path}-memory/m.a.db", f"{world.path}-journal",
        f"{world.path}-follow/world.db", tmp_path / ".push-1/w.db",
        tmp_path / f".{Path(world.path).name}.1a2b3c4d.backup.part", tmp_path / ".pull-2/w.db",
        tmp_path / "temporary/worlds-1.db", tmp_path / f".{Path(world.path).name}.1a2b3c4d.part",
    ):  # fmt: skip
        file = Path(place)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("a Zyxophil stands here")
        assert [one.file for one in prove("Zyxophil", world.path).traces] == [file]
        file.unlink()
    assert prove("Zyxophil", world.path)


# --- facts by name ----------------------------------------------------------------------------------------------------


def test_facts_are_told_in_a_scope_by_the_names_of_the_world(world: World, ann: Memory) -> None:
    fact = ("Zoe", "works at", "Acme", {"from": "2026-05"})
    receipt = world.facts.tell([("Zoe", "is a", "person"), fact], scope=ANN)
    assert [one.became for one in receipt.facts] == ["written", "written"]
    zoe = str(receipt.facts[0].new[0])
    assert zoe == f"{ann.graph}#entity/zoe"
    assert [one.became for one in world.facts.tell([("Zoe", "is a", "person"), fact[:3]], scope=ANN).facts] == [
        "known"
    ] * 2
    before = ann.world.count(graph=ann.graph)
    world.facts.tell([fact], scope=ANN)
    assert ann.world.count(graph=ann.graph) == before
    other = world.facts.tell([fact], scope=("user", "bob")).facts[0]
    assert str(other.new[0]) == "urn:worlds:memory:user/bob#entity/zoe"
    assert world.facts.tell([("Zoe", "likes", "Acme")], scope=ANN).facts[0].became == "refused"


def test_what_is_unsure_is_proposed_in_the_scope_alone(world: World, ann: Memory) -> None:
    world.load(b'<urn:b1> <http://www.w3.org/2000/01/rdf-schema#label> "Bo Miller" .', format="nt")
    world.load(b'<urn:b2> <http://www.w3.org/2000/01/rdf-schema#label> "Bo Miller" .', format="nt")
    made = ann.retain("Bo Miller called", about="Bo Miller")
    assert len(made.proposals) == 1
    assert world.proposals.list() == []
    (waiting,) = ann.world.proposals.list()
    assert waiting.kind == "link"
    ann.world.proposals.accept(waiting.id)
    assert len(ann.recall("called")[0].about) == 1


def test_what_is_due_elsewhere_does_not_hinder_it(world: World, ann: Memory) -> None:
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)
    world.facts.state("ex:bob", "ex:worksAt", "ex:bolt", valid_from=soon)
    ann.retain("before", facts=[("Zoe", "works at", "Acme", {"to": soon})])
    while dt.datetime.now(dt.UTC) < soon + dt.timedelta(seconds=0.05):
        pass
    later = world.memory(scope=ANN)
    assert texts(later) == ["before"]
    assert [str(fact.predicate) for fact in later.world.facts.due()] == ["https://ex.example/worksAt"]
    assert later.world.facts.carry_out().removed == 1
    assert later.world.count(predicate="https://ex.example/worksAt") == 0
    later.world.add([("urn:a", "urn:p", '"added"')])
    later.retain("after")
    assert set(texts(later)) == {"before", "after"}
    assert world.count("ex:bob", "ex:worksAt", "ex:bolt") == 0
    assert (world.facts.carry_out().added, world.facts.due()) == (1, [])


# --- who may ----------------------------------------------------------------------------------------------------------


def test_a_scope_reaches_its_own_memory_alone(world: World, ann: Memory) -> None:
    ann.retain("Ann has a kite")
    world.memory(scope=("user", "bob")).retain("Bob has a kite")
    scope = ann.world
    scope.memory(scope=(*ANN, "x")).retain("a narrower one")
    assert set(texts(scope.memory(scope=ANN))) == {"Ann has a kite", "a narrower one"}
    narrow = ann.world.memory(scope=(*ANN, "x")).world
    for reads in (scope, narrow):
        with pytest.raises(ReadOnlyError, match="outside of the scope"):
            reads.memory(scope=("user", "bob"))
    with pytest.raises(ReadOnlyError, match="outside of the scope"):
        narrow.memory(scope=ANN)
    with pytest.raises(ReadOnlyError, match="outside of the scope"):
        narrow.add([("urn:a", "urn:b", "urn:c", ann.graph)])
    assert "Ann has" not in str([list(narrow.quads()), narrow.search("Ann has a kite"), narrow.context("Ann").text])
    for view in (world.only(graphs=["default"]), world.at(1), world.as_of("2020")):
        with pytest.raises(ReadOnlyError, match="memories need the whole present world"):
            view.memory(scope=ANN)


def test_many_memories_are_one_revision(ann: Memory) -> None:
    with ann.transaction(message="a conversation"):
        for number in range(5):
            ann.retain(f"kite {number}", key=str(number))
            assert len(texts(ann)) == number + 1
    (told,) = ann.world.history(message="a conversation")
    assert len(ann.world.history()) == 2  # and what is seen of the world
    ann.world.undo(told.revision)
    assert texts(ann) == []
    with pytest.raises(RuntimeError), ann.transaction():
        ann.retain("never")
        raise RuntimeError
    assert texts(ann) == []


def test_another_process_sees_it_and_reads_its_vectors(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.memory(scope=ANN).retain(["red kites", "a long one " * 300])
        world.memory(scope=ANN).recall("kites")
    again = HashingEmbedder()
    for read_only in (True, False):
        with worlds.open(path, embedder=again, read_only=read_only) as world:
            assert world.memory(scope=ANN).recall("kites", mode="vector")[0].text == "red kites"
    assert again.documents == 0
    with worlds.open(path, embedder=again) as world:
        world.file.compact()
        assert world.memory(scope=ANN).recall("kites", mode="vector")[0].text == "red kites"
    assert again.documents == 0


def test_without_vectors_words_do(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        ann = world.memory(scope=ANN)
        ann.retain("red kites")
        found = ann.recall("kites")
        assert found[0].text == "red kites"
        assert found.notes
    with worlds.open(path, embedder=HashingEmbedder(fail_after=0)) as world:
        world.memory(scope=ANN).retain("blue kites")
        assert len(world.memory(scope=ANN).recall("kites")) == 2


def test_a_world_that_is_only_read_says_so(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.memory(scope=ANN).retain("over soon", days=1, at="2020-01-01T00:00:00Z")
    with worlds.open(path, embedder=None, read_only=True) as world:
        ann = world.memory(scope=ANN)
        assert texts(ann) == []
        for write in (lambda: ann.retain("a"), lambda: ann.forget(key="a"), lambda: ann.sweep()):
            with pytest.raises(ReadOnlyError):
                write()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m: m.retain(""),
        lambda m: m.retain("  "),
        lambda m: m.retain("a\0b"),
        lambda m: m.retain("\ud800"),
        lambda m: m.retain([]),
        lambda m: m.retain(7),
        lambda m: m.retain([("user", "")]),
        lambda m: m.retain([{"role": "user"}]),
        lambda m: m.retain("a", kind="dream"),
        lambda m: m.retain("a", days=0),
        lambda m: m.retain("a", days=True),
        lambda m: m.retain("a", at="yesterday"),
        lambda m: m.retain("a", key=""),
        lambda m: m.retain("a", session="\0"),
        lambda m: m.retain(["a", "b"], key="k"),
        lambda m: m.retain("x" * 1_000_001),
        lambda m: m.retain("a", facts=["no fact"]),
        lambda m: m.recall("a", limit=0),
        lambda m: m.recall("a", memory_kinds="dream"),
        lambda m: m.recall("a", as_of="soon"),
        lambda m: m.forget(),
        lambda m: m.forget("urn:x", key="k"),
        lambda m: m.forget("urn:x"),
        lambda m: m.memories(limit=10**9),
    ],
)
def test_what_is_wrong_is_refused_and_changes_nothing(wrong: Any, world: World, ann: Memory) -> None:
    ann.retain("a kite")
    before = len(world.history())
    with pytest.raises((WorldsError, ValueError)):
        wrong(ann)
    assert (len(world.history()), texts(ann)) == (before, ["a kite"])


@pytest.mark.parametrize("scope", [(), "", ("user", ""), ("a\0",), 7, None, ("user", 7), ("x" * 501,), ("a",) * 17])
def test_what_is_no_scope_is_refused(scope: object, world: World) -> None:
    with pytest.raises(ArgumentError):
        world.memory(scope=scope)


def test_odd_names_are_scopes_of_their_own(world: World) -> None:
    odd = [("a/b",), ("a", "b"), ("a b",), ("ä", "%2F"), ("a>", "<b"), ("..", "."), ("urn:worlds:memory:a",)]
    for place, scope in enumerate(odd):
        world.memory(scope=scope).retain(f"kite {place}", key="k/ #1", session="s >")
    for place, scope in enumerate(odd):
        memory = world.memory(scope=scope)
        assert texts(memory) == texts(memory, session="s >") == [f"kite {place}"]
        assert (memory.scope, memory.memories()[0].key) == (scope, "k/ #1")
