"""Help, usage, exit codes and tables of the command line."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sqlite3
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import worlds
from tests.support.command_line import DATA, fails, ok
from tests.support.commands import commands
from worlds import errors
from worlds.doors import cli
from worlds.doors.cli.command import COMMANDS as MADE
from worlds.doors.cli.exit_codes import EXIT_CODES, CommandGroup, exit_code
from worlds.doors.cli.terminal import clean
from worlds.doors.cli.text_table import folded, table

COMMANDS = ("load", "embed", "search", "sparql", "export", "stats", "check", "file backup", "file compact")


# --- help and usage ---------------------------------------------------------------------------------------------------


def test_help_names_every_command_and_exit_code() -> None:
    text = ok("--help")
    for command in COMMANDS:
        assert re.search(rf"\b{command.split()[-1]}\b", text)
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in " ".join(text.split())


def test_no_command_is_help() -> None:
    assert ok() == ok("--help")


def test_version() -> None:
    assert ok("--version").startswith("worlds ")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["--nonsense"], "no such option"),
        (["nonsense"], "no such command"),
        (["search"], "missing argument"),
        (["search", "w"], "missing argument"),
        (["search", "w", "x", "--mode", "nonsense"], "'nonsense' is not one of"),
        (["search", "w", "x", "--limit", "many"], "--limit"),
        (["search", "w", "x", "-rover"], "words that begin with -"),
        (["load", "w"], "missing argument"),
    ],
)
def test_wrong_usage_is_one_line(line: list[str], said: str) -> None:
    message = fails(2, *line)
    assert said in message
    assert re.search(r"See `worlds[a-z ]*--help`\.$", message)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--limit", "0"], "limit"),
        (["--limit", "-3"], "limit"),
        (["--limit", "99999999"], "limit"),
        (["--candidates", "0"], "candidates"),
        (["--weight-text", "-1"], "weights"),
        (["--weight-text", "nan"], "weights"),
        (["--k", "-1"], "k must be"),
    ],
)
def test_impossible_values_are_wrong_usage(made: Path, options: list[str], said: str) -> None:
    assert said in fails(2, "search", made, "red", *options)


# --- exit codes -------------------------------------------------------------------------------------------------------


def test_every_error_has_the_exit_code_of_its_class() -> None:
    expected = {
        "OpenError": 3,
        "SchemaError": 3,
        "ParseError": 4,
        "ShapesError": 4,
        "QueryError": 5,
        "QueryTimeout": 5,
        "FilterError": 5,
        "EmbedderError": 6,
        "ReadOnlyError": 7,
        "ConflictError": 7,
        "UncertainError": 7,
        "ValidationError": 4,
        "IntegrityError": 8,
        "WorldsError": 9,
    }
    public = {
        name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.WorldsError)
    }
    assert {name for name in public if not name.startswith("_")} == set(expected), "a new error needs an exit code"
    for name, code in expected.items():
        assert exit_code(getattr(errors, name)("message")) == code


def test_foreign_errors_have_exit_codes_too() -> None:
    assert exit_code(ValueError()) == 2
    assert exit_code(FileNotFoundError()) == 3
    assert exit_code(KeyboardInterrupt()) == 130
    assert exit_code(BrokenPipeError()) == 141
    assert exit_code(TypeError()) == 70


def test_a_mistake_of_ours_is_shown_whole() -> None:
    broken = typer.Typer(cls=CommandGroup)
    broken.callback()(lambda: None)

    @broken.command()
    def fail() -> None:
        raise TypeError("oops")

    result = CliRunner().invoke(broken, ["fail"])
    assert result.exit_code == 70
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("error: a mistake in worlds")


@pytest.mark.parametrize(
    "line",
    [
        ["search", "{}", "red"],
        ["sparql", "{}", "ASK {}"],
        ["stats", "{}"],
        ["check", "{}"],
        ["export", "{}"],
        ["embed", "{}", "--embedder", "none"],
        ["file backup", "{}", "{}.copy"],
        ["file compact", "{}"],
    ],
)
def test_a_missing_world_is_an_error_and_is_not_made(tmp_path: Path, line: list[str]) -> None:
    path = tmp_path / "no.db"
    message = fails(3, *(part.format(path) for part in line))
    assert "does not exist" in message
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_world_is_an_error(tmp_path: Path, birds: Path) -> None:
    assert "not a world" in fails(3, "search", birds, "red")
    assert "folder" in fails(3, "search", tmp_path, "red")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE t (x)")
    other.close()
    assert "not a world" in fails(3, "stats", tmp_path / "other.db")
    assert birds.read_text() == DATA


def test_a_world_of_a_newer_schema_is_an_error(made: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    path.write_bytes(made.read_bytes())
    change = sqlite3.connect(path)
    change.execute("UPDATE meta SET value = 999 WHERE name = 'schema_version'")
    change.commit()
    change.close()
    assert "schema 999" in fails(3, "search", path, "red")


# --- tables -----------------------------------------------------------------------------------------------------------


def test_a_table_aligns_and_sets_numbers_to_the_right() -> None:
    assert list(table(["?a", "?n"], [["x", "1"], ["分词", "1,000"]], width=80)) == [
        "?a       ?n",
        "────  ─────",
        "x         1",
        "分词  1,000",
    ]


def test_a_table_without_rows_is_its_head() -> None:
    assert list(table(["?a", "?bc"], [], width=80)) == ["?a  ?bc", "──  ───"]
    assert list(table([], [[]], width=80)) == ["", "", ""]


def test_cells_that_are_too_wide_go_on_below() -> None:
    lines = list(table(["?a", "?b"], [["short", "many words " * 5]], width=30))
    assert all(len(line) <= 30 for line in lines)
    assert " ".join(" ".join(lines[2:]).split()) == "short " + ("many words " * 5).strip()


def test_columns_that_do_not_fit_become_lists() -> None:
    names = [f"?column{number}" for number in range(9)]
    lines = list(table(names, [[f"value {number} of a row" for number in range(9)]] * 2, width=60))
    assert lines[0] == "─── 1"
    assert "?column8  value 8 of a row" in lines


@pytest.mark.parametrize(
    "text", ["a b", "word " * 30, "分词测试" * 20, "x" * 100, "", "é " * 50, "a" * 9 + " " + "b" * 30]
)
@pytest.mark.parametrize("width", [2, 10, 33])
def test_folded_text_loses_nothing(text: str, width: int) -> None:
    from rich.cells import cell_len

    lines = folded(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_control_characters_are_shown_not_obeyed(tmp_path: Path) -> None:
    assert clean("\x1b[31mred\x07\x9b\n") == "␛[31mred␇\ufffd\n"
    (tmp_path / "x.nt").write_text('<a:a> <a:b> "evil \\u001B[2J \\u0007 text" .\n')
    path = tmp_path / "kb.db"
    ok("load", path, tmp_path / "x.nt", "--no-embed")
    for command in (["search", "evil", "--mode", "text"], ["sparql", "SELECT ?o { ?s ?p ?o }"]):
        shown = ok(command[0], path, *command[1:])
        assert "evil" in shown
        assert "\x1b" not in shown
        assert "\x07" not in shown


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (3, ("load", "nofile.ttl")),
        (4, ("load", "bad.ttl")),
        (3, ("sources add-document", "nofile.md", "--base", "urn:x/")),
        (3, ("update", "DELETE WHERE { <urn:a> ?p ?o }")),
        (4, ("init", "bad.ttl")),
    ],
)
def test_an_error_leaves_no_empty_world(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.ttl").write_text("<urn:a")
    verb, *rest = arguments
    fails(code, verb, "new.db", *rest)
    assert [file.name for file in tmp_path.iterdir()] == ["bad.ttl"]
    with worlds.open("old.db", create=True, embedder=None):
        pass
    fails(4, "load", "old.db", "bad.ttl")
    assert Path("old.db").exists()


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("query", "sparql"),
        ("history", "log"),
        ("import", "load"),
        ("merge", "curate merge"),
        ("propose", "proposals add"),
        ("validate", "shapes validate"),
        ("use", "rules use"),
    ],
)
def test_what_other_programs_call_a_command_is_told(typed: str, meant: str) -> None:
    assert f"there is no command '{typed}': `worlds {meant}` does that" in fails(2, typed, "kb.db")


def test_the_table_of_commands_has_all_that_the_modules_make() -> None:
    for module in pkgutil.iter_modules(cli.__path__):
        importlib.import_module(f"worlds.doors.cli.{module.name}")
    assert set(MADE) == {" ".join(words) for words in commands()}
