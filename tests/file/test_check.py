"""Every kind of damage is told from every other, and a sound world from all."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias
from zlib import crc32

import numpy as np
import pytest
from numpy.typing import NDArray

import worlds
from tests.support import tables
from tests.support.drivers import NATIVE, RECALL, native
from tests.support.embedder import HashingEmbedder
from worlds import ParseError, World
from worlds.core.file.problems import Problem
from worlds.records import ChunkSize, TextPolicy

Vector: TypeAlias = NDArray[np.float32]

LONG = "A red kite circles above the old mill. " * 60

TRIG = f"""
    @prefix ex: <http://example.org/> .
    @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
    ex:kite a ex:Bird ; ex:name "red kite"@en , "Rotmilan"@de , "红色的风筝" ; ex:count 01 , 1 ; ex:text "{LONG}" .
    ex:heron a ex:Bird ; ex:name "grey heron" , "" , "   " , "nul\\u0000byte" ; ex:note "red kite"@en .
    ex:mill a ex:Building ; ex:size "12"^^ex:metres ; ex:said <<( ex:kite ex:near "the mill"@en--ltr )>> .
    [] ex:name "somebody" .
    ex:nests {{ ex:kite ex:name "red kite"@en . ex:kite ex:nest [ ex:name "a nest of twigs" ] . }}
""".encode()


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A world's file: three revisions, all kinds of terms, two graphs, texts of several chunks, all embedded."""
    path = tmp_path_factory.mktemp("sound") / "world.db"
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.load(TRIG, format="trig")
        world.add([(f"http://example.org/{number}", "rdfs:label", f'"thing number {number}"') for number in range(40)])
        world.remove([("http://example.org/7", "rdfs:label", '"thing number 7"')])
    return path.read_bytes()


@pytest.fixture
def world(path: Path, sound: bytes) -> Iterator[World]:
    path.write_bytes(sound)
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        yield world


def only(world: World) -> Problem:
    """The one problem that the world has."""
    report = world.check()
    assert not report.ok
    assert len(report.problems) == 1, str(report)
    return report.problems[0]


def kinds(world: World) -> set[str]:
    return {problem.kind for problem in world.check().problems}


def damage(world: World, *sql: str) -> None:
    for statement in sql:
        tables.run(world, statement)


# --- sound worlds


def test_a_sound_world_is_verified_in_all_its_parts(world: World) -> None:
    report = world.check()
    assert report.ok, str(report)
    assert report.problems == []
    checked = report.checked
    assert checked["quads"] == len(world)
    assert checked["removed quads"] == 1
    assert checked["revisions"] == 3
    assert checked["chunks"] == world.stats().chunks
    assert checked["vectors"] == world.stats().vectors > 40
    assert not NATIVE or checked["indexed vectors"] == checked["vectors"]
    assert checked["pending chunks"] == 0
    assert report.recall == RECALL
    assert json.loads(json.dumps(report.to_dict()))["ok"] is True
    assert "no problems" in str(report)


@pytest.mark.parametrize("embedder", [None, HashingEmbedder()])
def test_an_empty_world_is_sound(embedder: HashingEmbedder | None) -> None:
    with worlds.open(embedder=embedder) as world:
        assert world.check().ok


def test_pending_texts_are_no_problem(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder(fail_after=4)) as world:
        world.load(TRIG, format="trig", embed=False)
        report = world.check()
        assert report.ok, str(report)
        assert report.checked["pending chunks"] == report.checked["chunks"] > 0


def test_it_stays_sound_whatever_is_written(world: World) -> None:
    ttl = "@prefix ex: <http://example.org/> . ex:kite ex:name 'buzzard', '红色'@zh . [] ex:name 'x' .".encode()
    world.load(ttl, format="turtle", graph="http://example.org/nests", mode="replace")
    assert world.check().ok, str(world.check())
    with contextlib.suppress(ZeroDivisionError), world.transaction():
        world.add([("http://example.org/z", "rdfs:label", '"never"')])
        raise ZeroDivisionError
    with world.transaction():
        world.add([("http://example.org/z", "rdfs:label", '"once"'), ("http://example.org/y", "rdfs:label", '"twice"')])
        world.remove(
            [
                ("http://example.org/z", "rdfs:label", '"once"'),
                ("http://example.org/9", "rdfs:label", '"thing number 9"'),
            ]
        )
        world.add([("http://example.org/9", "rdfs:label", '"thing number 9"')])
    assert world.check().ok, str(world.check())
    with pytest.raises(ParseError):
        world.load(b"<http://example.org/q> <http://example.org/p> 'q' . <", format="turtle")
    world.load(b"", format="turtle", mode="replace")
    assert len(world) == 3
    report = world.check()
    assert report.checked["removed quads"] > 40
    # Of a native index that lost nearly all its rows, the others cannot all be reached any longer.
    assert {problem.kind for problem in report.problems} <= {"index-recall"}, str(report)
    world.embed(rebuild=True)
    assert world.check().ok, str(world.check())


def test_every_policy_is_checked_by_its_own_rules(world: World) -> None:
    ex = "http://example.org/"
    for policy in (
        TextPolicy(exclude=frozenset({ex + "name"})),
        TextPolicy(datatypes=frozenset({ex + "metres"}), size=ChunkSize(100, 20)),
        TextPolicy(include=frozenset({ex + "count"}), sizes={ex + "text": ChunkSize(200, 0)}),
        TextPolicy(),
    ):
        world.policy = policy
        world.embed()
        report = world.check()
        assert report.ok, str(report)


def test_a_zero_vector_is_sound(path: Path) -> None:
    with worlds.open(path, embedder=HashingEmbedder(zero_at="heron", nan_at="nest")) as world:
        world.load(TRIG, format="trig")
        report = world.check()
        assert report.ok, str(report)
        assert not NATIVE or report.checked["indexed vectors"] < report.checked["vectors"]


def test_it_changes_nothing_and_works_in_a_read_only_world(world: World, path: Path) -> None:
    world.close()
    content = path.read_bytes()
    with worlds.open(path, embedder=None) as world:
        assert world.check().ok
    assert path.read_bytes() == content
    with worlds.open(path, embedder=None, read_only=True) as world:
        report = world.check()
        assert report.ok, str(report)
        assert report.checked["sampled texts"] == report.checked["chunks"]
        assert report.recall == RECALL
    assert path.read_bytes() == content


def test_it_checks_what_a_transaction_sees(world: World) -> None:
    with world.transaction():
        world.add([("http://example.org/z", "rdfs:label", '"in between"')])
        # The revision is recorded at the end of the transaction.
        assert kinds(world) == {"missing-revisions"}
    assert world.check().ok


# --- damage


def _hash(value: str) -> int:
    return crc32(value.encode()) & 0x7FFFFFFF


KITE = "(SELECT id FROM terms WHERE value = 'red kite')"
CHUNK = f"(SELECT id FROM chunks WHERE term = {KITE})"
DAMAGE = {
    "a quad without its object": (
        "missing-terms",
        [f"UPDATE quads SET object = 999999 WHERE object = {KITE} AND graph <> 0"],
    ),
    "a quad of the history without its subject": ("missing-terms", ["UPDATE removed_quads SET subject = 999999"]),
    "a literal as a predicate": (
        "wrong-terms",
        [f"UPDATE quads SET predicate = {KITE} WHERE graph <> 0 AND object = {KITE}"],
    ),
    "a literal without its datatype": (
        "missing-terms",
        ["UPDATE terms SET datatype = 999999 WHERE value = '12'"],
    ),
    "a triple term without a part": (
        "missing-terms",
        [f"UPDATE terms SET value = '1 2 999999', hash = {_hash('1 2 999999')} WHERE kind = 4"],
    ),
    "a term with another hash": ("lost-terms", ["UPDATE terms SET hash = hash + 1 WHERE value = 'Rotmilan'"]),
    "a text as bytes": (
        "lost-terms",
        ["UPDATE terms SET value = CAST('grey heron' AS BLOB) WHERE value = 'grey heron'"],
    ),
    "a term twice": (
        "duplicate-terms",
        ["INSERT INTO terms (kind, value, hash) SELECT kind, value, hash FROM terms WHERE value = 'grey heron'"],
    ),
    "an IRI that is none": (
        "unreadable-terms",
        [f"UPDATE terms SET value = 'no iri', hash = {_hash('no iri')} WHERE value = 'http://example.org/mill'"],
    ),
    "a quad without its revision": ("missing-revisions", ["DELETE FROM revisions WHERE revision = 3"]),
    "a quad too few": ("wrong-revisions", ["DELETE FROM quads WHERE object = (SELECT id FROM terms WHERE value = 'http://example.org/Building')"]),
    "a removal that was not recorded": (
        "wrong-revisions",
        ["UPDATE revisions SET removed = 2 WHERE revision = 3"],
    ),
    "a revision that begins too late": (
        "wrong-revisions",
        ["UPDATE revisions SET first_quad = first_quad + 1 WHERE revision = 2"],
    ),
    "a chunk without its literal": ("chunks-without-terms", [
            "DROP TRIGGER chunks_rewritten",
            f"UPDATE chunks SET term = 999999 WHERE id = {CHUNK}"]),
    "a chunk that ends too early": ("wrong-chunks", [f"UPDATE chunks SET end = end - 1 WHERE id = {CHUNK}"]),
    "a chunk of other text": (
        "wrong-chunks",
        ["UPDATE chunks SET end = end - 3 WHERE id = (SELECT min(id) FROM chunks WHERE text IS NOT NULL)"],
    ),
    "a gap between chunks": (
        "uncovered-texts",
        ["DELETE FROM chunks WHERE id = (SELECT min(id) FROM chunks WHERE start > 0)"],
    ),
    "a literal without chunks": ("missing-chunks", [f"DELETE FROM chunks WHERE id = {CHUNK}"]),
    "chunks of what is no text": (
        "needless-chunks",
        ["INSERT INTO chunks (term, start, end) SELECT id, 0, 2 FROM terms WHERE value = '01'"],
    ),
    "a full-text row of other words": (
        "full-text",
        [f"INSERT INTO chunks_fts (chunks_fts, rowid, text) VALUES ('delete', {CHUNK}, 'red kite')",
         f"INSERT INTO chunks_fts (rowid, text) VALUES ({CHUNK}, 'blue kite')"],
    ),
    "a full-text row too few": (
        "full-text",
        [f"INSERT INTO chunks_fts (chunks_fts, rowid, text) VALUES ('delete', {CHUNK}, 'red kite')"],
    ),
    "a full-text row too many": ("full-text", ["INSERT INTO chunks_fts (rowid, text) VALUES (9999, 'more')"]),
    "a chunk without its vector": ("missing-vectors", [f"UPDATE chunks SET vector = 9999 WHERE id = {CHUNK}"]),
    "a chunk with another's vector": (
        "wrong-vectors",
        ["UPDATE chunks SET vector = (SELECT vector FROM chunks WHERE id = 2) WHERE id = 3"],
    ),
    "a vector of no chunk": ("orphan-vectors", [f"UPDATE chunks SET vector = NULL WHERE id = {CHUNK}"]),
    "a vector that is retired too": (
        "orphan-vectors",
        ["INSERT INTO retired_vectors (id, key) SELECT max(id), 'key' FROM vectors"],
    ),
    "an embedded text without vector": (
        "missing-vectors",
        ["INSERT INTO embedded_texts (digest, vector) VALUES ('digest', 9999)"],
    ),
    "a vector without code": ("wrong-codes", ["DELETE FROM vector_codes WHERE id = 3"]),
    "a vector with another's code": (
        "wrong-codes",
        ["UPDATE vector_codes SET code = (SELECT code FROM vector_codes WHERE id = 2) WHERE id = 3"],
    ),
    "a code of no vector": ("wrong-codes", ["INSERT INTO vector_codes (id, code) VALUES (9999, x'00000000')"]),
    "an index that is missing": ("vector-index", ["DROP INDEX vectors_embedding"]),
    "an index with a row too few": ("vector-index", ["DELETE FROM vectors_embedding_shadow WHERE index_key = 3"]),
    "an index with a row too many": (
        "vector-index",
        ["INSERT INTO vectors_embedding_shadow SELECT 9999, data FROM vectors_embedding_shadow LIMIT 1"],
    ),
    "a file rebuilt by another program": ("vector-index", ["VACUUM"]),
    "a missing trigger": ("schema", ["DROP TRIGGER chunks_deleted"]),
    "an embedder that is forgotten": ("embedder", ["DELETE FROM meta WHERE name = 'embedder'"]),
}  # fmt: skip
if not NATIVE:
    DAMAGE = {name: what for name, what in DAMAGE.items() if what[0] != "vector-index"}
# What cannot be done without doing something else too.
BESIDES = {
    "a literal without its datatype": {"unreadable-terms"},
    "a chunk without its literal": {"missing-chunks", "schema", "full-text"},
    "a chunk that ends too early": {"uncovered-texts"},
    "a gap between chunks": {"orphan-vectors"},
    "a literal without chunks": {"orphan-vectors"},
    "a chunk with another's vector": {"orphan-vectors"},
    "a chunk without its vector": {"orphan-vectors", "wrong-vectors"},
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_reported_by_its_kind(world: World, name: str) -> None:
    kind, statements = DAMAGE[name]
    damage(world, *statements)
    report = world.check()
    assert not report.ok
    found = {problem.kind for problem in report.problems}
    assert kind in found, str(report)
    assert found <= {kind} | BESIDES.get(name, set()), str(report)
    for problem in report.problems:
        assert problem.count >= 1
        assert problem.message
        assert problem.remedy
        assert problem.message in str(report)
        assert problem.remedy in str(report)
    assert json.loads(json.dumps(report.to_dict()))["problems"]


def test_a_problem_tells_how_many_and_shows_some(world: World) -> None:
    damage(world, "DELETE FROM vector_codes WHERE id <= 5")
    problem = only(world)
    assert problem.count == 5
    assert len(problem.examples) == 3
    assert "5 vectors" in str(problem)
    assert "embed(rebuild=True)" in str(problem)
    damage(world, "UPDATE terms SET hash = 1 WHERE value = 'Rotmilan'")
    lost = next(problem for problem in world.check().problems if problem.kind == "lost-terms")
    assert '"Rotmilan"@de' in lost.examples[0]


@pytest.mark.parametrize(
    ("change", "messages"),
    [
        (lambda vector: vector * 2, {"finite"}),
        (lambda vector: np.full_like(vector, np.nan), {"finite", "code"}),
        (lambda vector: vector[:8], {"finite"}),
        (lambda vector: np.roll(vector, 1), {"key", "code"}),
    ],
)
def test_a_broken_vector_is_reported(path: Path, change: Callable[[Vector], Vector], messages: set[str]) -> None:
    with worlds.open(path, embedder=HashingEmbedder(), vector_index=False) as world:
        world.load(TRIG, format="trig")
        vector = np.frombuffer(tables.value(world, "SELECT embedding FROM vectors WHERE id = 3"), dtype="<f4")
        tables.run(world, "UPDATE vectors SET embedding = ?1 WHERE id = 3", (change(vector).astype("<f4").tobytes(),))
        problems = world.check().problems
        assert {problem.kind for problem in problems} <= {"broken-vectors", "wrong-codes"}
        for message in messages:
            assert any(message in problem.message for problem in problems), problems


@native
def test_an_index_that_finds_too_little_is_reported(world: World) -> None:
    # Every row knows the same few neighbours now.
    one = "(SELECT data FROM vectors_embedding_shadow WHERE index_key = 5)"
    damage(world, f"UPDATE vectors_embedding_shadow SET data = {one}")
    report = world.check()
    assert [problem.kind for problem in report.problems] == ["index-recall"], str(report)
    assert report.recall["index"] < 0.9
    assert "find themselves" in str(report)
    world.file.compact()
    assert world.check().ok


def test_a_world_that_is_not_readable_is_reported_not_raised(world: World) -> None:
    damage(world, "ALTER TABLE chunks RENAME COLUMN start TO begin")
    report = world.check()
    assert "unreadable" in {problem.kind for problem in report.problems}


@pytest.mark.parametrize(
    "name",
    ["a full-text row of other words", "a full-text row too few", "a full-text row too many"],
)
def test_the_full_text_index_is_sampled_where_nothing_can_be_written(world: World, path: Path, name: str) -> None:
    damage(world, *DAMAGE[name][1])
    world.close()
    with worlds.open(path, embedder=None, read_only=True) as reader:
        assert kinds(reader) == {"full-text"}


@pytest.mark.parametrize(
    "name",
    [name for name, (kind, _) in DAMAGE.items() if kind in ("full-text", "vector-index")],
)
def test_compact_repairs_what_it_is_the_remedy_of(world: World, name: str) -> None:
    damage(world, *DAMAGE[name][1])
    assert all("compact()" in problem.remedy for problem in world.check().problems)
    world.file.compact()
    report = world.check()
    assert report.ok, str(report)
    assert report.recall == RECALL


@pytest.mark.parametrize(
    "name",
    ["a chunk that ends too early", "a gap between chunks", "a literal without chunks", "chunks of what is no text"],
)
def test_the_policy_set_anew_repairs_chunks(world: World, name: str) -> None:
    damage(world, *DAMAGE[name][1])
    assert any("set the policy" in problem.remedy for problem in world.check().problems)
    world.policy = world.policy.with_(size=ChunkSize(999, 100))
    world.policy = TextPolicy()
    world.embed()
    report = world.check()
    assert report.ok, str(report)


@pytest.mark.parametrize("name", ["a vector without code", "a vector with another's code", "a code of no vector"])
def test_embedding_anew_repairs_vectors(world: World, name: str) -> None:
    damage(world, *DAMAGE[name][1])
    assert "embed(rebuild=True)" in only(world).remedy
    world.embed(rebuild=True)
    assert world.check().ok


def test_a_damaged_file_is_reported(world: World, path: Path) -> None:
    size = tables.value(world, "PRAGMA page_size")
    root = tables.value(world, "SELECT rootpage FROM sqlite_master WHERE name = 'quads_posg'")
    world.close()
    content = bytearray(path.read_bytes())
    content[(root - 1) * size + 200 : root * size] = bytes(size - 200)
    path.write_bytes(content)
    with worlds.open(path, embedder=None) as damaged:
        assert "file" in kinds(damaged)
