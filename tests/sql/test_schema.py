"""The tables, the road to them, and the statements on them."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support import tables
from tests.support.drivers import PLANS, native
from tests.support.embedder import HashingEmbedder
from worlds import OpenError, SchemaError
from worlds.core.search.fusion import BEST, FUSED, FUSED_OF_WORLDS, NEAREST, ONE_STATEMENT
from worlds.core.search.options import gathered
from worlds.sql import (
    FIRST_VERSION,
    SCHEMA_VERSION,
    SQL_FOLDER,
    compile_statement,
    migrations,
    schema,
    statements,
    texts,
)
from worlds.sql.connection import Connection
from worlds.sql.drivers import LIBSQL

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(file.name for file in SQL_FOLDER.glob("*.sql") if file.name != "schema.sql")
IN_PIECES = {"search.sql", "vectors.sql"}  # read by texts(): what is put together first, or has a {dimension}


# --- the schema and the migrations ------------------------------------------------------------------------------------


def database(*scripts: str) -> dict[str, object]:
    """What the scripts make: every object's definition, and the settings of the full-text index."""
    connection = Connection(":memory:")
    try:
        for script in scripts:
            connection.script(script)
        rows = connection.rows("SELECT type, name, tbl_name, sql FROM sqlite_master")
        objects: dict[str, object] = {f"{kind} {name} of {table}": normal(sql) for kind, name, table, sql in rows}
        return objects | {"full text": sorted(connection.rows("SELECT k, v FROM chunks_fts_config"))}
    finally:
        connection.close()


def normal(sql: str | None) -> str | None:
    """A definition without comments, quotes around names, and accidental space."""
    if sql is None:
        return None
    kept = re.sub(r"--[^\n]*|('(?:[^']|'')*')", lambda match: match[1] or "", sql)
    return re.sub(r" ?([(),;]) ?", r"\1", " ".join(kept.replace('"', "").split()))


def test_the_comparison_sees_a_difference() -> None:
    now = schema()
    for changed in (
        now.replace("author TEXT,", "author TEXT, tool TEXT,"),
        now.replace("ON removed_quads (removed)", "ON removed_quads (revision)"),
        now.replace("('hashsize', 33554432)", "('hashsize', 1048576)"),
        now.replace("porter unicode61", "unicode61"),
        now.replace("SELECT 'delete', id, text", "SELECT 'delete', id, text || ''"),
    ):
        assert changed != now
        assert database(changed) != database(now)
    assert database(now.replace("-- term id", "-- the id of a term").replace("(\n    ", "(")) == database(now)


def test_the_schema_says_its_version() -> None:
    assert f"as of schema version {SCHEMA_VERSION}." in schema()


def test_a_new_world_has_todays_version(path: Path) -> None:
    worlds.open(path, embedder=None).close()
    assert version_of(path) == SCHEMA_VERSION


def version_of(path: Path) -> object:
    connection = Connection(str(path), read_only=True)
    try:
        return connection.value("SELECT value FROM meta WHERE name = 'schema_version'")
    finally:
        connection.close()


# --- an older world, a newer one --------------------------------------------------------------------------------------

NEXT = """
ALTER TABLE revisions ADD COLUMN tool TEXT;
CREATE TABLE notes (revision INTEGER PRIMARY KEY, note TEXT NOT NULL);
INSERT INTO notes (revision, note) SELECT revision, 'of ' || added || ' quads' FROM revisions;
"""


@dataclass
class Release:
    """A copy of the package in another folder, run in a process of its own."""

    folder: Path

    def run(self, path: Path, *lines: str, options: str = "") -> str:
        """Open the world at `path` as `w`, run the lines, and give what they print; the error's name if one ends it."""
        body = "".join(f"        {line}\n" for line in lines or ["pass"])
        script = (
            "import sys, worlds\n"
            f"try:\n    with worlds.open(sys.argv[1], embedder=None{options}) as w:\n{body}"
            "except worlds.WorldsError as error:\n    print(f'{type(error).__name__}: {error}')\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, str(path)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(self.folder)},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def release(folder: Path, migration: str) -> Release:
    """The release after this one: it has a schema that a migration leads to."""
    shutil.copytree(ROOT / "worlds", folder / "worlds", ignore=shutil.ignore_patterns("__pycache__"))
    package = folder / "worlds" / "sql"
    code = (package / "__init__.py").read_text("utf-8")
    bumped = code.replace(f"SCHEMA_VERSION = {SCHEMA_VERSION}", f"SCHEMA_VERSION = {SCHEMA_VERSION + 1}")
    assert bumped != code
    (package / "__init__.py").write_text(bumped, "utf-8")
    (package / "migrations").mkdir(exist_ok=True)
    if not migrations():
        (package / "migrations" / f"{SCHEMA_VERSION:04}_first.sql").write_text(schema(), "utf-8")
    (package / "migrations" / f"{SCHEMA_VERSION + 1:04}_next.sql").write_text(migration, "utf-8")
    with (package / "schema.sql").open("a", encoding="utf-8") as file:
        file.write(migration)
    return Release(folder)


@pytest.fixture(scope="module")
def next_release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return release(tmp_path_factory.mktemp("next"), NEXT)


@pytest.fixture
def filled(path: Path) -> Path:
    """A world of today's schema, with quads, a history, and vectors."""
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.add([("urn:a", "rdfs:label", '"red kite"'), ("urn:b", "rdfs:label", '"grey heron"')])
        world.remove([("urn:b", "rdfs:label", '"grey heron"')])
    return path


def test_the_migrations_end_in_the_schema(next_release: Release) -> None:
    package = next_release.folder / "worlds" / "sql"
    scripts = sorted((package / "migrations").iterdir())
    assert [int(file.name[:4]) for file in scripts] == list(range(FIRST_VERSION, SCHEMA_VERSION + 2))
    made = database(*(file.read_text("utf-8") for file in scripts))
    assert made == database((package / "schema.sql").read_text("utf-8"))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_older_world_is_migrated_when_it_is_opened(filled: Path, next_release: Release) -> None:
    printed = next_release.run(
        filled,
        "print(w._core.connection.rows('SELECT * FROM notes'))",
        "print(w._core.connection.rows('SELECT revision, tool FROM revisions'))",
        "print([hit.text for hit in w.search('kite', mode='text')], len(w), w.check().ok)",
        "print(w.add([('urn:c', 'rdfs:label', '\"blue tit\"')]).revision)",
    )
    assert printed.splitlines() == [
        "[(1, 'of 2 quads'), (2, 'of 0 quads')]",
        "[(1, None), (2, None)]",
        "['red kite'] 1 True",
        "3",
    ]
    assert version_of(filled) == SCHEMA_VERSION + 1
    migrated = digest(filled)
    assert next_release.run(filled) == ""
    assert digest(filled) == migrated, "it is migrated once"


def test_a_new_world_is_made_from_the_schema_alone(path: Path, next_release: Release) -> None:
    printed = next_release.run(path, "print(w._core.connection.rows('SELECT name, value FROM meta'))")
    assert f"('schema_version', {SCHEMA_VERSION + 1})" in printed


def test_a_newer_world_is_refused_and_left_alone(filled: Path, next_release: Release) -> None:
    next_release.run(filled)
    newer = digest(filled)
    for read_only in (False, True):
        with pytest.raises(SchemaError, match=f"has schema {SCHEMA_VERSION + 1}, .* upgrade with `pip install -U"):
            worlds.open(filled, embedder=None, read_only=read_only)
    assert digest(filled) == newer


def test_an_older_world_is_not_migrated_by_who_only_reads(filled: Path, next_release: Release) -> None:
    before = digest(filled)
    printed = next_release.run(filled, options=", read_only=True")
    assert printed == f"OpenError: {filled} has the older schema {SCHEMA_VERSION} and must be opened once for writing"
    assert digest(filled) == before


def test_a_migration_that_fails_changes_nothing(filled: Path, tmp_path: Path) -> None:
    broken = release(tmp_path / "broken", NEXT + "INSERT INTO notes (revision, note) VALUES (1, 'twice');\n")
    printed = broken.run(filled)
    assert "UNIQUE constraint failed: notes.revision" in printed
    assert version_of(filled) == SCHEMA_VERSION
    with worlds.open(filled, embedder=HashingEmbedder()) as world:
        assert world.check().ok
        assert [hit.text for hit in world.search("kite")] == ["red kite"]
        assert tables.rows(world, "SELECT 1 FROM sqlite_master WHERE name = 'notes'") == []


def test_opening_a_world_again_writes_nothing(filled: Path) -> None:
    before = digest(filled)
    for _ in range(2):
        with worlds.open(filled, embedder=HashingEmbedder()) as world:
            assert len(world) == 1
        assert digest(filled) == before
    assert sorted(file.name for file in filled.parent.iterdir()) == [filled.name]


@pytest.mark.parametrize("value", ["'1'", "1.5", "NULL", "x'01'"])
def test_a_version_that_is_no_number_is_no_world(value: str, filled: Path) -> None:
    connection = Connection(str(filled))
    connection.run(f"UPDATE meta SET value = {value} WHERE name = 'schema_version'")
    connection.close()
    with pytest.raises(OpenError, match="is a database, but not a world"):
        worlds.open(filled, embedder=None)


# --- the statements ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bare() -> Iterator[Connection]:
    """The tables of a world that knows no embedder yet."""
    connection = Connection(":memory:", driver=LIBSQL)
    connection.script(schema())
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def full() -> Iterator[Connection]:
    """Every table that there can be: vectors and their index, and what a backup makes."""
    connection = Connection(":memory:", driver=LIBSQL)
    connection.script(schema())
    connection.run(texts("vectors.sql")["create_vectors"].format(dimension=8))
    connection.run(texts("vectors.sql")["create_vector_index"])
    connection.script(texts("vectors.sql")["create_new_vectors"].format(dimension=8))
    connection.run(texts("vectors.sql")["create_vectors"].format(dimension=8).replace("vectors (", "vectors_aside ("))
    connection.run(statements("maintenance.sql")["make_room"])
    connection.run(statements("postings.sql")["attach"])
    connection.run("CREATE VIRTUAL TABLE asked USING fts5 (text)")
    connection.run("CREATE VIRTUAL TABLE asked_tokens USING fts5vocab (asked, instance)")
    yield connection
    connection.close()


# What is there already where all is there.
MAKES = {"create_vectors", "create_vector_index", "native_index_tables", "make_room"}


def compiles(connection: Connection, sql: str, parameters: int) -> None:
    assert connection.rows(f"EXPLAIN {sql}", (None,) * parameters)


@pytest.mark.parametrize("file", [file for file in FILES if file not in IN_PIECES])
def test_every_statement_compiles(file: str, bare: Connection, full: Connection) -> None:
    for name, statement in statements(file).items():
        compiles(bare if name in MAKES else full, statement.sql, len(statement.parameters))


@pytest.mark.parametrize("name", texts("vectors.sql"))
def test_every_piece_on_vectors_compiles(name: str, bare: Connection, full: Connection) -> None:
    written = texts("vectors.sql")[name].replace("{dimension}", "8")
    assert "{" not in written
    if name == "native_index_tables":  # which nobody runs: see test_drivers
        return
    if name in ("create_vector_index", "set_vectors_aside"):
        connection = Connection(":memory:", driver=LIBSQL)
        connection.run(texts("vectors.sql")["create_vectors"].format(dimension=8))
    else:
        connection = bare if name in MAKES else full
    for sql in split(written):
        compiles(connection, sql, 0)


def split(script: str) -> list[str]:
    """The statements of a script."""
    found, begun = [], ""
    for line in script.splitlines(keepends=True):
        begun += line
        if sqlite3.complete_statement(begun):
            found.append(begun.strip().rstrip(";"))
            begun = ""
    assert not begun.strip(), begun
    return found


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("mode", ["hybrid", "vector", "text"])
def test_every_search_compiles(mode: str, plan: str, world: worlds.World) -> None:
    world.add([("urn:a", "rdfs:label", '"red kite"')])
    for text in ("kite", ""):
        for filters in ({}, {"subjects": "urn:a"}):
            options: dict[str, Any] = {"mode": mode, "plan": plan, **filters}
            for _, sql, parameters in world.search_sql(text, **gathered(options)):
                assert tables.rows(world, f"EXPLAIN {sql}", parameters)


@native
def test_every_piece_of_the_search_is_in_a_statement(world: worlds.World) -> None:
    world.add([("urn:a", "rdfs:label", '"red kite"')])
    found = [
        statement.sql
        for statement in (*NEAREST.values(), ONE_STATEMENT, *FUSED.values(), *FUSED_OF_WORLDS.values(), BEST)
    ]
    assert tables.fused(world, "kite", ranking=worlds.Ranking(plan="index", fusion="rrf"))[0] == ONE_STATEMENT.sql
    assert tables.fused(world, "kite")[0] == FUSED["relative"].sql
    for name, piece in texts("search.sql").items():
        # Parameters are numbered in each statement from 1, so they are left out of the comparison.
        wanted = re.sub(r"\?\d+", "?", compile_statement(piece).sql)
        assert any(wanted in re.sub(r"\?\d+", "?", sql) for sql in found), name


def test_a_name_stands_once_in_its_file() -> None:
    for file in FILES:
        names = re.findall(r"^-- name: (\w+)$", (SQL_FOLDER / file).read_text("utf-8"), flags=re.MULTILINE)
        assert sorted(names) == sorted(texts(file)), file
        assert len(set(names)) == len(names), file


# --- who uses which statement -----------------------------------------------------------------------------------------


@dataclass
class Module:
    """One module's uses of statements: by name where it says the name, by parameter where its caller does."""

    tree: ast.Module
    files: dict[str, str] = field(default_factory=dict)  # variable → .sql file
    uses: set[tuple[str, str]] = field(default_factory=set)  # (file, name)
    unclear: list[str] = field(default_factory=list)
    callers_say: dict[str, tuple[int, str, str]] = field(default_factory=dict)  # function → (place, parameter, file)


def inside(tree: ast.AST) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    """A node and all below it, each with what is around it, the outermost first."""
    left: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
    while left:
        node, around = left.pop()
        yield node, around
        within = (*around, node)
        left += [(child, within) for child in ast.iter_child_nodes(node)]


def strings(node: ast.expr, around: tuple[ast.AST, ...]) -> list[str] | None:
    """The strings that an expression can be, None if it cannot be told."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return together([strings(node.body, around), strings(node.orelse, around)])
    if isinstance(node, ast.JoinedStr):
        parts = [strings(one.value if isinstance(one, ast.FormattedValue) else one, around) for one in node.values]
        known = [part for part in parts if part is not None]
        return ["".join(words) for words in product(*known)] if len(known) == len(parts) else None
    if isinstance(node, ast.Name):
        for target, values in loops(around):
            places = target.elts if isinstance(target, ast.Tuple) else [target]
            names = [ast.unparse(place) for place in places]
            if node.id in names and isinstance(values, ast.Tuple | ast.List):
                items = values.elts
                if isinstance(target, ast.Tuple):
                    place = names.index(node.id)
                    items = [item.elts[place] for item in items if isinstance(item, ast.Tuple)]
                return together([strings(item, around) for item in items])
        function = next((place for place in reversed(around) if isinstance(place, ast.FunctionDef)), None)
        given = [
            place.value
            for place in (ast.walk(function) if function else ())
            if isinstance(place, ast.Assign) and ast.unparse(place.targets[0]) == node.id
        ]
        return together([strings(value, ()) for value in given]) if given else None
    return None


def loops(around: tuple[ast.AST, ...]) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is looped over: variable and values, the innermost loop first."""
    for node in reversed(around):
        if isinstance(node, ast.For):
            yield node.target, node.iter
        for loop in getattr(node, "generators", ()):
            yield loop.target, loop.iter


def together(groups: list[list[str] | None]) -> list[str] | None:
    known = [group for group in groups if group is not None]
    return [name for group in known for name in group] if len(known) == len(groups) else None


def read_module(file: Path) -> Module:
    module = Module(ast.parse(file.read_text("utf-8")))
    for node in module.tree.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and ast.unparse(node.value.func) in ("statements", "texts")
        ):
            (target,), (name,) = node.targets, node.value.args
            module.files[ast.unparse(target)] = ast.literal_eval(name)
    if not module.files:
        return module
    for place, around in inside(module.tree):
        if isinstance(place, ast.Subscript) and getattr(place.value, "id", None) in module.files:
            file_name = module.files[ast.unparse(place.value)]
            names = strings(place.slice, around)
            if names is not None:
                module.uses |= {(file_name, name) for name in names}
            elif (function := asks_its_caller(ast.unparse(place.slice), around)) is not None:
                called, position = function
                module.callers_say[called] = (position, ast.unparse(place.slice), file_name)
            else:
                module.unclear.append(ast.unparse(place))
    return module


def asks_its_caller(variable: str, around: tuple[ast.AST, ...]) -> tuple[str, int] | None:
    """The function of which the variable is a parameter, and at which place."""
    function = next((node for node in reversed(around) if isinstance(node, ast.FunctionDef)), None)
    parameters = [argument.arg for argument in function.args.args if argument.arg != "self"] if function else []
    return (function.name, parameters.index(variable)) if function and variable in parameters else None


def ask_callers(modules: list[Module]) -> None:
    """Take in the names with which functions such as read_quads() are called; a private one only in its module."""
    shared = {name: how for module in modules for name, how in module.callers_say.items() if name[0] != "_"}
    for module in modules:
        functions = shared | module.callers_say
        for node, around in inside(module.tree):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called not in functions:
                continue
            position, parameter, file = functions[called]
            given = [word.value for word in node.keywords if word.arg == parameter]
            given = given or node.args[position : position + 1]
            names = strings(given[0], around) if given else None
            if names is None:
                module.unclear.append(ast.unparse(node))
            else:
                module.uses |= {(file, name) for name in names}


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    files = [file for folder in ("worlds", "graph", "sql") for file in (ROOT / folder).rglob("*.py")]
    read = {file.relative_to(ROOT).as_posix(): read_module(file) for file in files}
    read = {name: module for name, module in read.items() if module.files}
    assert {"worlds/core/search/engine.py", "worlds/core/history/gate.py", "worlds/core/quads/rows.py"} <= set(read)
    ask_callers(list(read.values()))
    return read


def test_it_can_be_told_which_statements_a_module_uses(modules: dict[str, Module]) -> None:
    assert {name: module.unclear for name, module in modules.items() if module.unclear} == {}


def test_every_statement_that_is_used_exists(modules: dict[str, Module]) -> None:
    for module, found in modules.items():
        for file, name in found.uses:
            assert name in texts(file), f"{module}: {file} has no statement {name!r}"


def test_every_statement_is_used(modules: dict[str, Module]) -> None:
    used = {use for module in modules.values() for use in module.uses}
    unused = {(file, name) for file in FILES for name in texts(file)} - used
    assert not unused


def test_no_file_is_read_both_ways(modules: dict[str, Module]) -> None:
    for found in modules.values():
        for node in ast.walk(found.tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("statements", "texts"):
                file = ast.literal_eval(node.args[0])
                assert (file in IN_PIECES) == (ast.unparse(node.func) == "texts"), file
