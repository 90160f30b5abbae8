"""A world in plain files: whoever has no Worlds reads them, and `restore` makes the same world of them again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
import rdflib

import worlds
from tests.support import any_verbs
from tests.support.embedder import HashingEmbedder
from worlds import OpenError, ReadOnlyError, Retention, SchemaError, TextPolicy, WorldsError
from worlds.file.archive import FILES, SETTINGS, SUMS
from worlds.sql import SQL_FOLDER

EX = "http://example.org/"
# Counters, and what the indexes were made with; `embedder` stands in world.json.
NOT_WRITTEN = {
    *("format", "schema_version", "embedder", "embedding_changes", "vector_removals", "term_removals", "last_term"),
    *("languages", "stems", "stems_read", "readings", "next_edge", "epoch"),
}


def made(path: Path) -> Path:
    """A world with some of everything."""
    with worlds.open(path, embedder=HashingEmbedder()) as w:
        w.bind("ex", EX)
        w.add(
            [("ex:a", "rdfs:label", '"red kite"'), ("ex:a", "ex:knows", "ex:b", "ex:g")], author="ann", message="first"
        )
        w.add([("ex:b", "rdfs:label", rdflib.Literal('early "owl"\nof the mill', lang="en"))])
        w.remove([("ex:a", "rdfs:label", '"red kite"')], author="bob")
        w.update(f"CREATE GRAPH <{EX}empty>")
        w.add([("ex:a", "rdfs:label", '"red kite"')])
        w.add_document("ex:doc", "# Mills\n\nA mill by the river.\n\n## Stones\n\nTwo stones.", format="markdown")
        w.propose(add=[("ex:a", "ex:p", "ex:c")], why="heard", confidence=0.5)
        w.reject(w.propose(remove=[("ex:a", "ex:knows", "ex:b", "ex:g")]).id, "no")
        w.memory(scope=("user", "ann")).retain("Ann keeps owls")
        w.bind("zoo", "http://zoo.example/")
        notes = path.parent / "notes.nt"
        notes.write_text(f"<{EX}n> <{EX}note> <<( <{EX}a> <{EX}knows> <{EX}b> )>> .\n")
        w.sources.add(str(notes), "notes")
        w.sync("notes")
        added = w.add([("_:x", "ex:p", '"node"')]).revision
        assert added is not None
        w.undo(added)
    return path


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The world `world.db`, and all of it in the folder `plain`."""
    folder = tmp_path_factory.mktemp("archive")
    with worlds.open(made(folder / "world.db"), embedder=None, read_only=True) as w:
        of_memories = w.memory(scope=("user", "ann")).world.count()
        assert w.export(folder / "plain", everything=True) == w.count() + of_memories > w.count() > 0
    return folder


def state(path: Path) -> dict[str, Any]:
    """What a world has, and its past, whatever its rows are numbered."""
    told = any_verbs.told(path)
    for name, hits in told["hits"].items():  # equal scores come in any order, and the last may be any of several
        told["hits"][name] = sorted(hit for hit in hits if hit[2] > hits[-1][2]), [hit[2] for hit in hits]
    with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as w:
        entries = list(w.history(limit=None))
        told["history"] = entries
        told["diffs"] = [sorted(w.patch(e.revision - 1, e.revision).splitlines()) for e in entries]
        told["graphs"] = w.graphs()
        told["policies"] = w.policy, w.retention, w.guard, w.default_graph
        told["proposals"] = list(w.proposals(status="any"))
        told["sources"] = [dataclasses.replace(one, trusted=False) for one in w.sources]  # trust is not in the file
        memory = w.memory(scope=("user", "ann"))
        told["memories"] = [one.to_dict() for one in memory.memories()]
        told["recalled"] = [one.text for one in memory.recall("owl")]
        told["pending"] = w.stats().pending
    return told


def patched(text: str, revisions: list[dict[str, Any]], until: int) -> set[str]:
    """The quads after a revision, by the words of README.txt alone."""
    quads: set[str] = set()
    for part, revision in zip(re.split(r"^TX \.$", text, flags=re.MULTILINE)[1:], revisions, strict=True):
        if revision["revision"] > until:
            break
        for line in part.splitlines():
            if line.startswith("A "):
                quads.add(line[2:])
            elif line.startswith("D "):
                quads.remove(line[2:])
    return quads


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_world_is_restored(written: Path) -> None:
    worlds.restore(written / "plain", written / "back.db")
    assert state(written / "back.db") == state(written / "world.db")


def test_twice_gives_the_same_files(written: Path) -> None:
    worlds.restore(written / "plain", written / "back.db")
    with worlds.open(written / "back.db", embedder=None) as w:
        w.export(written / "again", everything=True)
    for file in (one for one in (written / "plain").rglob("*") if one.is_file()):
        if file.name in ("world.json", SUMS):  # the time
            continue
        again = (written / "again" / file.relative_to(written / "plain")).read_bytes()
        if file.suffix == ".npy" or "texts" in file.name:  # vectors in any order
            assert len(again) == len(file.read_bytes())
        else:
            assert again == file.read_bytes(), file.name


@pytest.mark.timeout(7200)  # with --long
def test_any_sequence_of_writes_is_restored(tmp_path: Path, long: bool) -> None:
    for number in range(500 if long else 6):
        chance = random.Random(number)
        folder = tmp_path / str(number)
        folder.mkdir()
        for name in ["add", *chance.choices(list(any_verbs.STEPS), k=10)]:
            any_verbs.do(folder / "world.db", name, seed=chance.random())  # type: ignore[arg-type]  # any seed
        with worlds.open(folder / "world.db", embedder=None) as w:
            w.export(folder / "plain", everything=True)
        worlds.restore(folder / "plain", folder / "back.db")
        assert state(folder / "back.db") == state(folder / "world.db"), number
        shutil.rmtree(folder)


def test_the_past_is_read_by_anybody(written: Path) -> None:
    plain = written / "plain"
    text, revisions = (plain / "history.rdfp").read_text(), lines(plain / "revisions.jsonl")
    with worlds.open(written / "world.db", embedder=None) as w:
        assert [entry.revision for entry in w.history(limit=None)][::-1] == [one["revision"] for one in revisions]
        for revision in revisions:
            w.at(revision["revision"]).export(written / "past.nq")
            found = patched(text, revisions, revision["revision"])
            assert found == set((written / "past.nq").read_text().splitlines()), revision


def test_a_history_is_a_patch(written: Path) -> None:
    with worlds.open(written / "world.db", embedder=None) as w, worlds.open(embedder=None) as other:
        other.apply_patch(written / "plain" / "history.rdfp")
        found = {str(quad) for quad in other.quads()}
        assert {str(quad) for quad in w.quads()} <= found


def test_vectors_are_those_of_their_texts(written: Path) -> None:
    plain, embedder = written / "plain", HashingEmbedder()
    for folder in (plain, plain / "memories" / "m.user.ann"):
        stored, told = np.load(folder / "vectors.npy"), lines(folder / "texts.jsonl")
        assert sorted({one["row"] for one in told}) == list(range(len(stored)))
        known = [one["text"] for one in told if "text" in one]
        by_digest = {hashlib.blake2b(text.encode(), digest_size=16).hexdigest(): text for text in known}
        assert by_digest
        for one in told:
            if one["digest"] in by_digest:
                expected = embedder.embed_documents([by_digest[one["digest"]]])[0]
                assert np.allclose(stored[one["row"]], expected / np.linalg.norm(expected), atol=1e-3)


def test_all_settings_are_written_or_made_anew() -> None:
    """What the code keeps in the table meta is known here."""
    root = Path(worlds.__file__).parent
    sources = [*root.rglob("*.py"), *SQL_FOLDER.rglob("*.py")]
    text = "\n".join(path.read_text("utf-8") for path in sources)
    found = set(re.findall(r'(?:set_meta|add_to_meta)"\], \(\s*"([a-z_]+)"', text))
    assert len(found) > 10
    assert found <= {*SETTINGS, *NOT_WRITTEN}


def test_what_is_in_the_file_is_in_the_folder(written: Path) -> None:
    """Each table is written, or can be made anew; README.txt tells of each file."""
    derived = {"chunks", "vector_codes", "profiles", "writes"}  # and the tables of the full-text index
    merged = {
        *("meta", "terms", "quads", "removed_quads", "document_quads"),
        *("embedded_texts", "retired_vectors"),
        "merged_quads",  # under which names quads came in: docs/curation.md
    }
    tables = set(re.findall(r"^CREATE TABLE (\w+)", (SQL_FOLDER / "schema.sql").read_text(), flags=re.MULTILINE))
    files = {file.name for file in (written / "plain").iterdir()}
    assert tables - derived - merged == {name.removesuffix(".jsonl") for name in files} & tables
    assert files == {*FILES, "README.txt", "memories"}
    readme = (written / "plain" / "README.txt").read_text()
    assert all(f"{name}\n" in readme for name in FILES)


def test_policies_come_back(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "world.db", embedder=None) as w:
        w.policy = TextPolicy(profiles=frozenset([EX + "T"]), tokenizer="trigram", exclude=frozenset([EX + "q"]))
        w.retention = Retention(revisions=3)
        for number in range(6):
            w.add(
                [
                    (EX + "a", "rdfs:label", f'"name {number}"'),
                    (EX + "a", "rdf:type", EX + "T"),
                    (EX + "a", EX + "q", '"no"'),
                ]
            )
        w.export(tmp_path / "plain", everything=True)
        expected = [(hit.text, str(hit.predicate)) for hit in w.search("name", mode="text")]
        assert {str(predicate) for _, predicate in expected} >= {"urn:worlds:profile"}
    worlds.restore(tmp_path / "plain", tmp_path / "back.db")
    with worlds.open(tmp_path / "back.db", embedder=None) as back:
        assert [(hit.text, str(hit.predicate)) for hit in back.search("name", mode="text")] == expected
        assert [entry.revision for entry in back.history()] == [6, 5, 4]
        assert back.add([(EX + "a", "rdfs:label", '"new"')]).revision == 7
        assert back.check().ok


def test_it_goes_on_after_it(written: Path) -> None:
    worlds.restore(written / "plain", written / "on.db")
    with worlds.open(written / "on.db", embedder=HashingEmbedder()) as w, worlds.open(written / "world.db") as old:
        number = next(iter(old.history())).revision
        assert w.undo(number).revision == number + 1
        assert w.propose(add=[("ex:z", "ex:p", "ex:z")]).id == max(one.id for one in old.proposals(status="any")) + 1
        w.sources.trust("notes")
        assert [run.added for run in w.sync("notes")] == [0]
        w.memory(scope=("user", "ann")).retain("and kites")
        assert w.memory(scope=("user", "ann")).recall("kites")[0].text == "and kites"
        assert w.check().ok


def test_terms_as_they_were_given(tmp_path: Path) -> None:
    terms = [
        *(ox.Literal("a\0b"), ox.Literal("c\r\nd\u2028e\u0085"), ox.Literal("y" * 3_000_000)),
        ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL),
        ox.Literal("01", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer")),
        ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:b"), ox.Literal("t\0")),
        *(ox.BlankNode("x1"), ox.NamedNode("urn:ü€")),
    ]
    with worlds.open(tmp_path / "world.db", embedder=None) as w:
        w.add([(EX + "s", EX + "p", term, ox.BlankNode("g")) for term in terms], author="a\nb", message="\u2028 😀")
        w.export(tmp_path / "plain", everything=True)
        quads, history = sorted(map(str, w.quads())), w.history()
    worlds.restore(tmp_path / "plain", tmp_path / "back.db")
    with worlds.open(tmp_path / "back.db", embedder=None) as back:
        assert (sorted(map(str, back.quads())), back.history()) == (quads, history)
        with back.transaction():
            back.add([(EX + "s", EX + "p", EX + "q")])
            with pytest.raises(WorldsError, match="inside a transaction"):
                back.export(tmp_path / "half", everything=True)


def test_an_encrypted_world(written: Path, tmp_path: Path) -> None:
    key = "a key"
    worlds.restore(written / "plain", tmp_path / "secret.db", encryption_key=key)
    assert b"SQLite format" not in (tmp_path / "secret.db").read_bytes()
    with worlds.open(tmp_path / "secret.db", encryption_key=key, embedder=None) as w:
        w.export(tmp_path / "plain", everything=True)
    worlds.restore(tmp_path / "plain", tmp_path / "open.db")
    assert state(tmp_path / "open.db") == state(written / "world.db")


def test_an_empty_world(tmp_path: Path) -> None:
    with worlds.open(embedder=None) as w:
        assert w.export(tmp_path / "plain", everything=True) == 0
    worlds.restore(tmp_path / "plain", tmp_path / "back.db")
    with worlds.open(tmp_path / "back.db", embedder=None) as w:
        assert (w.count(), list(w.history())) == (0, [])


def test_names_that_are_refused(written: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").touch()
    (tmp_path / "empty").mkdir()
    with worlds.open(written / "world.db", embedder=None) as w:
        for name in ("there", "there/file"):
            with pytest.raises(OpenError, match="exists already"):
                w.export(tmp_path / name, everything=True)
        with pytest.raises(OpenError, match="cannot be written"):
            w.export(tmp_path / "no" / "plain", everything=True)
        for options in ({"format": "nq"}, {"graph": "default"}, {"table": "ex:T"}):
            with pytest.raises(ValueError, match="without format, graph and table"):
                w.export(tmp_path / "new", everything=True, **options)
        assert w.export(tmp_path / "empty", everything=True) > w.count()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "there"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_who_may_read_the_world_may_read_its_files(tmp_path: Path, mode: int) -> None:
    with worlds.open(tmp_path / "world.db", embedder=None) as w:
        w.add([("urn:a", "urn:p", 1)])
        (tmp_path / "world.db").chmod(mode)
        w.export(tmp_path / "plain", everything=True)
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "plain").iterdir()} == {mode}
    assert (tmp_path / "plain").stat().st_mode & 0o077 == mode & 0o044 | (mode & 0o044) >> 2


def test_a_scope_has_not_everything(written: Path, tmp_path: Path) -> None:
    with worlds.open(written / "world.db", embedder=None) as w:
        with pytest.raises(ReadOnlyError, match="whole world"):
            w.only(graphs=EX + "g").export(tmp_path / "plain", everything=True)
        assert w.only(graphs=EX + "g").export(tmp_path / "part.nq") == 1


def _cut(plain: Path) -> None:
    history = (plain / "history.rdfp").read_text()
    (plain / "history.rdfp").write_text(history[: history.rindex("TX .")])


def _append(plain: Path, rows: str, *, before: bool = False) -> None:
    history = (plain / "history.rdfp").read_text()
    (plain / "history.rdfp").write_text(rows + history if before else history + rows)


def _header(plain: Path) -> None:
    array = (plain / "vectors.npy").read_bytes()
    (plain / "vectors.npy").write_bytes(array.replace(b"(", b"((", 1))


def _twice(plain: Path) -> None:
    history = (plain / "history.rdfp").read_text()
    added = re.search(r"^A .*\n", history, flags=re.MULTILINE)
    assert added is not None
    (plain / "history.rdfp").write_text(history.replace(added[0], added[0].replace("A ", "D "), 1))


def _value(plain: Path, file: str, value: object) -> None:
    found = json.loads(
        (plain / file).read_text().splitlines()[0] if file != "world.json" else (plain / file).read_text()
    )
    (plain / file).write_text(json.dumps({**found, **value}) + "\n")  # type: ignore[dict-item]  # a dict


WRONG: dict[str, Callable[[Path], object]] = {
    "a transaction too few": _cut,
    "a transaction too many": lambda plain: _append(plain, "TX .\nTC .\n"),
    "a change before the first transaction": lambda plain: _append(plain, "A <a:> <a:> <a:> .\n", before=True),
    "a quad removed that is not there": _twice,
    "no patch": lambda plain: (plain / "history.rdfp").write_text("Z\n"),
    "no JSON": lambda plain: (plain / "revisions.jsonl").write_text("{\n"),
    "a list": lambda plain: (plain / "settings.jsonl").write_text("[]\n"),
    "a policy of another kind": lambda plain: (plain / "settings.jsonl").write_text('{"name": "policy", "value": 3}\n'),
    "no N-Quads": lambda plain: (plain / "documents.nq").write_text("<a:> <b c> <d:> .\n"),
    "a list without end": lambda plain: (plain / "prefixes.jsonl").write_text("[" * 100_000 + "\n"),
    "an array without a header's end": lambda plain: _header(plain),
    "not UTF-8": lambda plain: (plain / "documents.nq").write_bytes(b"\xff"),
    "an array of objects": lambda plain: np.save(plain / "vectors.npy", np.array([{}]), allow_pickle=True),
    "vectors of another dimension": lambda plain: np.save(plain / "vectors.npy", np.zeros((1, 3), dtype=np.float32)),
    "no vectors": lambda plain: (plain / "vectors.npy").write_bytes(b""),
    "a row too many": lambda plain: (plain / "texts.jsonl").write_text('{"digest": "00", "row": 1000}\n'),
    "a number out of range": lambda plain: _value(plain, "proposals.jsonl", {"id": 2**40}),
    "no embedder": lambda plain: _value(plain, "world.json", {"embedder": {"name": "?"}}),
    "another format": lambda plain: _value(plain, "world.json", {"format": "zip"}),
    "a version that is no number": lambda plain: _value(plain, "world.json", {"version": "2"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_files_that_are_of_no_world(written: Path, tmp_path: Path, name: str) -> None:
    plain = shutil.copytree(written / "plain", tmp_path / "plain")
    WRONG[name](plain)
    with pytest.raises(OpenError, match="is not as it was written"):
        worlds.restore(plain, tmp_path / "back.db")
    told = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in plain.iterdir() if file.is_file()
    ]
    (plain / SUMS).write_text("".join(told))
    with pytest.raises(WorldsError) as raised:
        worlds.restore(plain, tmp_path / "back.db")
    assert len(str(raised.value)) < 400
    assert "as it was written" not in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["plain"]


PIECES = [
    *(b"{", b"[", b"null", b"-1", b"9" * 30, b'"', b"1e999", b"<a:>", b"TX .\n"),
    *(b"TC .\n", b"D ", b"\n", b"\0", b"\xff"),
]


def mutated(content: bytes, chance: random.Random) -> bytes:
    place, kind = chance.randrange(len(content) + 1), chance.choice(["into", "out", "lines", "byte"])
    if kind == "lines":
        rows = content.split(b"\n")
        rows.insert(chance.randrange(len(rows)), chance.choice(rows))
        return b"\n".join(rows)
    piece = {"into": chance.choice(PIECES), "out": b"", "byte": bytes([chance.randrange(256)])}[kind]
    return content[:place] + piece + content[place + {"into": 0, "out": chance.choice([1, 20, 200]), "byte": 1}[kind] :]


@pytest.mark.timeout(1200)  # with --long
def test_any_change_of_a_file_is_refused_or_read(written: Path, tmp_path: Path, long: bool) -> None:
    outcomes, longest = set(), 0
    for number in range(5000 if long else 60):
        chance = random.Random(number)
        plain = shutil.copytree(written / "plain", tmp_path / "plain", dirs_exist_ok=True)
        file = plain / chance.choice([name for name in FILES if name != SUMS])
        file.write_bytes(mutated(file.read_bytes(), chance))
        told = [
            f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.name}\n" for one in plain.iterdir() if one.is_file()
        ]
        (plain / SUMS).write_text("".join(told))
        try:
            worlds.restore(plain, tmp_path / "back.db")
            with worlds.open(tmp_path / "back.db", embedder=None, read_only=True) as w:
                assert w.check().ok
                w.stats(), list(w.quads()), w.history(), w.search("kite"), w.proposals(status="any"), list(w.sources)
                w.memory(scope=("user", "ann")).memories()
                outcomes.add("read")
        except WorldsError as error:
            outcomes.add("refused")
            longest = max(longest, len(str(error)))
    assert outcomes == {"read", "refused"}
    assert longest < 1000


def test_files_that_are_missing(written: Path, tmp_path: Path) -> None:
    for file in FILES:
        plain = shutil.copytree(written / "plain", tmp_path / file)
        (plain / file).unlink()
        with pytest.raises(OpenError):
            worlds.restore(plain, tmp_path / "back.db")
    assert not (tmp_path / "back.db").exists()
    with pytest.raises(OpenError, match="is a folder"):
        worlds.restore(tmp_path, tmp_path / "back.db")


def test_a_newer_release(written: Path, tmp_path: Path) -> None:
    for name, value in (("version", 2), ("schema", 99)):
        plain = shutil.copytree(written / "plain", tmp_path / name)
        _value(plain, "world.json", {name: value})
        sums = (plain / SUMS).read_text()
        (plain / SUMS).write_text(
            re.sub(r"\w+(?=  world.json)", hashlib.sha256((plain / "world.json").read_bytes()).hexdigest(), sums)
        )
        with pytest.raises(SchemaError, match="newer release"):
            worlds.restore(plain, tmp_path / "back.db")


def test_the_commands(written: Path, tmp_path: Path) -> None:
    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "worlds", *map(str, arguments)], capture_output=True, text=True, check=False
        )

    told = run("export", written / "world.db", tmp_path / "plain", "--everything")
    assert (told.returncode, told.stdout.split()[2]) == (0, "quads"), told.stderr
    assert run("export", written / "world.db", "--everything").returncode == 2
    assert run("restore", tmp_path / "plain", tmp_path / "back.db").returncode == 0
    assert state(tmp_path / "back.db") == state(written / "world.db")
