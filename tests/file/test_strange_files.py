"""Files that a stranger made: SQL in them is not run, and what is not a world's is named."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import worlds
from tests.support import forking, tables
from tests.support.embedder import HashingEmbedder
from tests.support.forking import Forked
from tests.support.strange import KINDS, change
from worlds import OpenError
from worlds.core.texts.policy import TextPolicy

ENDLESS = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT {} FROM n"
STRANGE = {
    "a trigger on revisions": (
        "CREATE TRIGGER strikes AFTER INSERT ON revisions BEGIN DELETE FROM quads WHERE true; END",
        "trigger 'strikes'",
    ),
    "a trigger of a known name": (
        "DROP TRIGGER chunks_inserted; "
        "CREATE TRIGGER chunks_inserted AFTER INSERT ON chunks BEGIN DELETE FROM quads WHERE true; END",
        "trigger 'chunks_inserted'",
    ),
    "a view for the settings": (
        f"ALTER TABLE meta RENAME TO kept; CREATE VIEW meta AS {ENDLESS.format('x AS name, x AS value')}",
        "no table of settings",
    ),
    "a view for the texts": (
        f"DROP VIEW indexed_texts; CREATE VIEW indexed_texts AS {ENDLESS.format('x AS id, x AS text')}",
        "view 'indexed_texts'",
    ),
    "a further view": (f"CREATE VIEW numbers AS {ENDLESS.format('x')}", "view 'numbers'"),
    "a further table": ("CREATE TABLE notes (note)", "table 'notes'"),
    "a generated column": ("ALTER TABLE prefixes ADD COLUMN long AS (length(iri))", "table 'prefixes'"),
    "a default": ("ALTER TABLE prefixes ADD COLUMN luck DEFAULT (random())", "table 'prefixes'"),
    "a further index": ("CREATE INDEX slow ON terms (length(value))", "index 'slow'"),
    "an index with an expression": (
        "DROP INDEX terms_hash; CREATE INDEX terms_hash ON terms (abs(hash))",
        "index 'terms_hash'",
    ),
    "a check that a comment hides": (
        """DROP TABLE writes; CREATE TABLE writes (number INTEGER PRIMARY KEY, mark "--"
        CHECK (length(mark) < 3))""",
        "table 'writes'",
    ),
    "a virtual table": ("CREATE VIRTUAL TABLE words USING fts5vocab (chunks_fts, row)", "table 'words'"),
    "an index of texts over another table": (
        "DROP TABLE chunks; CREATE VIRTUAL TABLE chunks USING fts5 (text)",
        "table 'chunks'",
    ),
    "an index of a kind that is none": (
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET type = 'inde' WHERE name LIKE 'sqlite_autoindex%'",
        "inde 'sqlite_autoindex",
    ),
    "a thousand tables": (";".join(f"CREATE TABLE t{n} (a)" for n in range(1000)), "more than 200 tables"),
}


@pytest.fixture
def made(path: Path) -> Path:
    with worlds.open(path, embedder=HashingEmbedder(), vector_index=True) as world:
        world.add([("urn:a", "rdfs:label", '"red kite"')])
    return path


@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("read_only", [True, False])
def test_an_object_that_no_world_has_is_refused_by_its_name(made: Path, name: str, read_only: bool) -> None:
    script, told = STRANGE[name]
    worlds.open(made, embedder=None).close()  # its definitions are known from now on
    change(made, script)
    before = made.read_bytes()
    with pytest.raises(OpenError, match=f"is a database, but not a world: .*{told}"):
        worlds.open(made, embedder=None, read_only=read_only)
    with pytest.raises(OpenError, match=told):
        worlds.restore(made, made.with_name("restored.db"))
    assert made.read_bytes() == before
    assert [file.name for file in made.parent.iterdir()] == [made.name]


def test_texts_in_another_encoding_are_refused(made: Path) -> None:
    with contextlib.closing(sqlite3.connect(made)) as connection:
        dump = [line for line in connection.iterdump() if line.startswith(("CREATE TABLE meta", 'INSERT INTO "meta"'))]
    other = made.with_name("other.db")
    change(other, "PRAGMA encoding = 'UTF-16'; " + "".join(dump))
    with pytest.raises(OpenError, match="not in UTF-8"):
        worlds.open(other, embedder=None)


def test_functions_with_effects_are_not_called_by_the_schema(made: Path) -> None:
    with worlds.open(made, embedder=None) as world:
        assert tables.value(world, "PRAGMA trusted_schema") == 0


@pytest.mark.parametrize("tokenizer", ["porter", "unicode", "trigram"])
@pytest.mark.parametrize("vector_index", [True, False])
def test_every_world_of_ours_is_opened(path: Path, tokenizer: str, vector_index: bool) -> None:
    with worlds.open(path, embedder=HashingEmbedder(), vector_index=vector_index) as world:
        world.policy = TextPolicy(tokenizer=tokenizer)
        world.add([("urn:a", "rdfs:label", '"red kite"')])
        world.embed(rebuild=True)
        world.file.compact()
        tables.run(world, "ANALYZE")
    with worlds.open(path, embedder=None) as world:
        assert len(world) == 1
        assert world.check().ok


OPEN = """
import sys, resource, worlds
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
for line in sys.stdin:
    try:
        with worlds.open(line.strip(), embedder=None, read_only=True) as world:
            world.check(); world.stats(); world.search("kite"); list(world.quads())
            world.query("SELECT * { ?s ?p ?o }")
        print("opened", flush=True)
    except worlds.WorldsError as error:
        print(f"{type(error).__name__}: {error}"[:200].replace(chr(10), " "), flush=True)
"""


@pytest.mark.timeout(2400)  # with --long
def test_strange_files_are_opened_or_refused_in_time(made: Path, long: bool) -> None:
    """A file may end the process that opens it, by a fault of SQLite's; all else is an error of ours, or an answer."""
    generator = random.Random(20)
    original = made.read_bytes()
    answers: dict[str, int] = {}
    files = 10_000 if long else 150
    process = None
    for number in range(files):
        path = made.with_name(f"strange{number % 20}.db")
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
        path.write_bytes(original)
        kind = KINDS[number % len(KINDS)]
        kind(path, generator)
        if process is None:
            process = Forked(
                [sys.executable, "-c", OPEN],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        print(path, file=process.stdin, flush=True)
        os.set_blocking(process.stdout.fileno(), True)
        answer = process.stdout.readline()
        if not answer:
            stderr = process.communicate()[1]
            assert process.returncode < 0, f"file {number}, {kind.__name__}: {stderr[-2000:]}"  # of a signal
            answer, process = f"signal {-process.returncode}", None
        answers[answer.split(":")[0].strip()] = answers.get(answer.split(":")[0].strip(), 0) + 1
    if process is not None:
        process.communicate()
    assert answers["opened"] > files / 20
    assert answers["OpenError"] > files / 20
    assert sum(count for answer, count in answers.items() if answer.startswith("signal")) <= files / 50


def test_a_strange_file_is_refused_by_the_command(made: Path) -> None:
    change(made, STRANGE["a trigger on revisions"][0])
    for command in (["check", made], ["stats", made], ["search", made, "kite"], ["update", made, "CLEAR ALL"]):
        done = forking.run([sys.executable, "-m", "worlds", *map(str, command)], text=True, timeout=60)
        assert done.returncode not in (0, 1), command
        assert "trigger 'strikes'" in done.stderr
        assert "Traceback" not in done.stderr
