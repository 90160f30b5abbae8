from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

import worlds
from tests.support.embedder import HashingEmbedder
from worlds import errors
from worlds.cli import app
from worlds.cli.errors import EXIT_CODES, Group, exit_code
from worlds.cli.table import folded, table
from worlds.cli.terminal import clean
from worlds.embedders import reason_without

DATA = """\
@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Bird a rdfs:Class . ex:Raptor rdfs:subClassOf ex:Bird .
ex:kite a ex:Raptor ; rdfs:label "Red kite"@en , "Rotmilan"@de ; ex:year 1758 ;
    rdfs:comment "The red kite is a bird of prey with a forked tail."@en .
ex:robin a ex:Bird ; rdfs:label "Robin"@en ; rdfs:comment "A small bird with a red breast."@en .
ex:box a ex:Thing ; rdfs:comment "A red box." .
ex:crate a ex:Thing ; rdfs:comment "A red box." .
"""
NAMED = '<http://example.org/g1> { <http://example.org/a> <http://example.org/note> "A red note in a graph." }'

HERE = Path(__file__).resolve().parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(HERE), "PYTHONUTF8": "0", "LC_ALL": "C.UTF-8", "TERM": "xterm"}


def run(*args: str | Path, input: str | bytes | None = None) -> Result:
    """A command line in this process; whatever it raises but an exit is a failure of the test."""
    result = CliRunner().invoke(app, [str(arg) for arg in args], input=input, prog_name="worlds")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.stderr
    return result


def ok(*args: str | Path, input: str | bytes | None = None) -> str:
    result = run(*args, input=input)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def fails(code: int, *args: str | Path, input: str | bytes | None = None) -> str:
    """The one line that a failing command says, without what marks it as an error."""
    result = run(*args, input=input)
    assert (result.exit_code, result.stdout) == (code, ""), result.stderr
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    return lines[0].removeprefix("error: ")


def process(*args: str | Path, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """A command line in a process of its own."""
    command = [*options.pop("before", []), sys.executable, "-m", "worlds", *map(str, args)]
    environment = {**ENVIRONMENT, **options.pop("env", {})}
    return subprocess.run(command, capture_output=True, timeout=60, env=environment, **options)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small world, not to be changed."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "birds.ttl").write_text(DATA)
    (folder / "named.trig").write_text(NAMED)
    ok("load", folder / "kb.db", folder / "birds.ttl", folder / "named.trig", "--no-embed")
    return folder / "kb.db"


@pytest.fixture
def birds(tmp_path: Path) -> Path:
    file = tmp_path / "birds.ttl"
    file.write_text(DATA)
    return file


def hits(path: Path, *args: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(ok("search", path, *args, "--mode", "text", "--json"))["hits"]
    return found


def subjects(path: Path, *args: str) -> set[str]:
    return {hit["subject"].rpartition("/")[2] for hit in hits(path, *args)}


# --- help and usage ---------------------------------------------------------------------------------------------------


COMMANDS = ("load", "embed", "search", "sparql", "export", "stats", "check", "backup", "compact")


def test_help_names_every_command_and_exit_code() -> None:
    text = ok("--help")
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", text)
    for code, meaning in EXIT_CODES.items():
        assert f"{code:5}  {meaning}\n" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_shows_lines_that_are_commands(command: str) -> None:
    text = ok(command, "--help")
    assert re.search(rf"(?m)^  \$ .*worlds {command} ", text)


def test_no_command_is_help() -> None:
    assert ok() == ok("--help")


def test_version() -> None:
    assert ok("--version").startswith("worlds ")


def test_completion_is_offered() -> None:
    shown = process(env={"_WORLDS_COMPLETE": "complete_bash", "COMP_WORDS": "worlds sea", "COMP_CWORD": "1"})
    assert shown.stdout.split() == [b"search"]


def test_help_imports_neither_torch_nor_a_model() -> None:
    code = (
        "import sys; from worlds.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'torch', 'sentence_transformers', 'rdflib'} & set(sys.modules)), file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, env=ENVIRONMENT, check=True)
    assert shown.stderr.strip() == b"[]"


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
        (["--k", "-1"], "k is"),
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
        "QueryError": 5,
        "QueryTimeout": 5,
        "FilterError": 5,
        "EmbedderError": 6,
        "ReadOnlyError": 7,
        "ConflictError": 7,
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
    broken = typer.Typer(cls=Group)
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
        ["backup", "{}", "{}.copy"],
        ["compact", "{}"],
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


# --- load -------------------------------------------------------------------------------------------------------------


def test_load_makes_a_world_and_says_what_it_did(path: Path, birds: Path) -> None:
    assert re.fullmatch(r"revision 1: 14 quads added, 6 text chunks \(\d.*s\)\n", ok("load", path, birds, "--no-embed"))
    assert ok("load", path, birds, "--no-embed") == "nothing changed: all of it is there already\n"


def test_load_as_json(path: Path, birds: Path) -> None:
    told = json.loads(ok("load", path, birds, "--no-embed", "--json"))
    assert told.pop("seconds") >= 0
    assert told == {"revision": 1, "added": 14, "removed": 0, "chunks": 6, "embedded": 0, "pending": 6, "notes": []}


def test_load_replaces_a_graph(path: Path, tmp_path: Path, birds: Path) -> None:
    ok("load", path, birds, "--graph", "http://example.org/g", "--no-embed")
    (tmp_path / "one.ttl").write_text('<http://example.org/x> <http://example.org/p> "one" .')
    told = json.loads(
        ok("load", path, tmp_path / "one.ttl", "-g", "http://example.org/g", "--replace", "--no-embed", "--json")
    )
    assert (told["added"], told["removed"]) == (1, 14)
    assert ok("export", path) == ('<http://example.org/x> <http://example.org/p> "one" <http://example.org/g> .\n')


def test_load_reads_standard_input(path: Path) -> None:
    ok("load", path, "-", "--format", "turtle", "--base", "http://base/", "--no-embed", input='<a> <b> "c" .')
    assert ok("export", path) == '<http://base/a> <http://base/b> "c" .\n'


def test_load_takes_author_and_message(path: Path, birds: Path) -> None:
    ok("load", path, birds, "--author", "ann", "-m", "first birds", "--no-embed")
    database = sqlite3.connect(path)
    assert database.execute("SELECT author, message FROM revisions").fetchall() == [("ann", "first birds")]
    database.close()


def test_a_broken_file_is_named_with_line_and_column(path: Path, tmp_path: Path, birds: Path) -> None:
    broken = tmp_path / "broken.ttl"
    broken.write_text('<http://a/b> <http://a/c> "fine" .\n<http://a/b> oops "x" .\n')
    ok("load", path, birds, "--no-embed")
    message = fails(4, "load", path, birds, broken, "--no-embed")
    assert re.match(rf"{re.escape(str(broken))}, line 2, column \d+: ", message)
    assert json.loads(ok("stats", path, "--json"))["quads"] == 14


def test_load_errors(path: Path, tmp_path: Path, birds: Path) -> None:
    assert "does not exist" in fails(3, "load", path, tmp_path / "no.ttl", "--no-embed")
    assert "--allow-network example.org" in fails(3, "load", path, "https://example.org/x.ttl", "--no-embed")
    assert "'nonsense' is not a format" in fails(2, "load", path, birds, "--format", "nonsense", "--no-embed")
    assert "'no iri' is neither" in fails(2, "load", path, birds, "--graph", "no iri", "--no-embed")
    assert "folder" in fails(3, "load", tmp_path / "no" / "kb.db", birds, "--no-embed")


def test_an_allowed_host_is_asked(path: Path) -> None:
    message = fails(3, "load", path, "http://127.0.0.1:9/x.ttl", "--allow-network", "127.0.0.1", "--no-embed")
    assert "cannot be fetched" in message


def test_an_embedder_that_is_not_there(path: Path, birds: Path, tmp_path: Path) -> None:
    fails(6, "load", path, birds, "--embedder", str(tmp_path))
    ok("load", path, birds, "--embedder", "none")
    fails(6, "embed", path, "--embedder", "none")
    fails(6, "search", path, "red", "--mode", "vector", "--embedder", "none")


def without_root_powers() -> list[str]:
    """What makes a process respect file modes, where root runs the tests."""
    if os.name == "posix" and os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere")
        return ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    return []


def test_a_read_only_folder(made: Path, tmp_path: Path, birds: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    path = folder / "kb.db"
    path.write_bytes(made.read_bytes())
    powers = without_root_powers()
    folder.chmod(0o555)
    try:
        found = process("search", path, "kite", "--mode", "text", before=powers)
        assert (found.returncode, found.stderr) == (0, b"")
        assert b"Red kite" in found.stdout
        refused = process("load", path, birds, "--no-embed", before=powers)
        assert refused.returncode == 7
        assert b"read-only" in refused.stderr
        assert process("load", folder / "new.db", birds, "--no-embed", before=powers).returncode == 3
        assert process("export", path, folder / "out.nq", before=powers).returncode == 3
        assert [file.name for file in folder.iterdir()] == ["kb.db"]
    finally:
        folder.chmod(0o755)


@pytest.mark.long
def test_another_writer_is_waited_for_and_named(path: Path, birds: Path) -> None:
    ok("load", path, birds, "--no-embed")
    other = sqlite3.connect(path)
    other.execute("BEGIN IMMEDIATE")
    try:
        refused = process("load", path, "-", "-f", "nt", "--no-embed", input=b'<a:a> <a:b> "c" .')
        assert refused.returncode == 7
        assert b"write lock" in refused.stderr
        assert b"Red kite" in process("search", path, "kite", "--mode", "text").stdout
    finally:
        other.close()


def test_a_damaged_file(made: Path, tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    content = bytearray(made.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    for command in (["stats"], ["search", "red", "--mode", "text"], ["sparql", "ASK {}"]):
        assert "damaged" in fails(8, command[0], path, *command[1:])


@pytest.mark.model
def test_another_embedder_takes_over_by_rebuilding(path: Path) -> None:
    if reason := reason_without():
        pytest.skip(reason)
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        world.load(b'<a:a> <a:b> "a red kite" .', format="nt")
    assert "worlds embed --rebuild" in fails(6, "embed", path, "--embedder", "all-MiniLM-L6-v2")
    told = json.loads(ok("embed", path, "--rebuild", "--json"))
    assert (told["embedded"], told["pending"]) == (1, 0)
    assert ok("embed", path) == "nothing to embed\n"
    assert "a red kite" in ok("search", path, "bird of prey", "--mode", "vector")


# --- search -----------------------------------------------------------------------------------------------------------


def test_search_shows_what_a_person_reads(made: Path) -> None:
    first, second, *rest = ok("search", made, "forked", "tail", "--mode", "text").splitlines()
    assert re.fullmatch(r"1\. Red kite  ex:kite a ex:Raptor  1\.0000", first.strip())
    assert second.strip() == "rdfs:comment@en: The red kite is a bird of prey with a forked tail."
    assert rest == []


def test_a_text_of_several_subjects_names_them(made: Path) -> None:
    assert "also ex:crate" in ok("search", made, "box", "--mode", "text")


def test_a_graph_is_named(made: Path) -> None:
    assert " in ex:g1  " in ok("search", made, "note", "--mode", "text")


def test_no_hits_is_a_note(made: Path, path: Path) -> None:
    result = run("search", made, "nothingofthekind", "--mode", "text")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "note: no hits\n")
    for blank in ("", "  ", "!?"):
        result = run("search", made, blank, "--mode", "text")
        assert (result.exit_code, result.stdout) == (0, "")
    with worlds.open(path, embedder=None):
        pass
    assert "is empty" in run("search", path, "red", "--mode", "text").stderr


def test_search_as_json(made: Path) -> None:
    told = json.loads(ok("search", made, "forked", "tail", "--mode", "text", "--json", "--explain"))
    assert told["query"] == "forked tail"
    (hit,) = told["hits"]
    assert hit["rank"] == 1
    assert hit["subject"] == "http://example.org/kite"
    assert hit["snippet"].count("**") == 4
    assert set(hit["explain"]) == {"text"}
    assert told["explain"]["mode"] == "text"
    assert told["explain"]["milliseconds"]["all"] > 0


def test_without_an_embedder_a_note_says_so(made: Path) -> None:
    result = run("search", made, "kite", "--embedder", "none")
    assert result.exit_code == 0
    assert "Red kite" in result.stdout
    assert result.stderr.startswith("note: only words were searched: ")
    told = json.loads(ok("search", made, "kite", "--embedder", "none", "--json"))
    assert told["explain"]["notes"]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([], {"kite", "robin", "box", "a"}),
        (["--limit", "1"], {"kite"}),
        (["--type", "ex:Bird"], {"robin"}),
        (["--type", "ex:Bird", "--subclasses"], {"robin", "kite"}),
        (["-t", "ex:Raptor", "-t", "ex:Thing"], {"kite", "box"}),
        (["--predicate", "rdfs:comment"], {"kite", "robin", "box"}),
        (["-s", "http://example.org/kite"], {"kite"}),
        (["--graph", "ex:g1"], {"a"}),
        (["--graph", "default"], {"kite", "robin", "box"}),
        (["--lang", "en"], {"kite", "robin"}),
        (["--lang", ""], {"box", "a"}),
        (["--where", "?subject ex:year ?y FILTER(?y < 1800)"], {"kite"}),
        (["--exclude-type", "ex:Raptor"], {"robin", "box", "a"}),
        (["--exclude-type", "ex:Raptor", "--exclude-type", "ex:Thing"], {"robin", "a"}),
        (["--exclude-predicate", "rdfs:comment"], {"kite", "a"}),
        (["--exclude-subject", "ex:kite", "--exclude-graph", "ex:g1"], {"robin", "box"}),
        (["--exclude-lang", "en"], {"box", "a"}),
        (["--exclude-where", "?subject ex:year ?y"], {"robin", "box", "a"}),
    ],
)
def test_filters(made: Path, options: list[str], found: set[str]) -> None:
    assert subjects(made, "red", *options) == found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--type", "nope:Bird"], "nope:Bird"),
        (["--type", "Bird"], "'Bird' is neither an IRI nor a name with a known prefix, such as rdfs:label; `worlds"),
        (["--lang", "not a tag"], "languages"),
        (["--where", "?subject nope:p ?o"], "nope:"),
        (["--where", "?subject"], "where takes a SPARQL group pattern"),
        (["--syntax", "fts5"], "FTS5"),
    ],
)
def test_filters_that_cannot_be(made: Path, options: list[str], said: str) -> None:
    assert said in fails(5, "search", made, 'red "', *options, "--mode", "text")


def test_words_that_are_operators(made: Path) -> None:
    assert subjects(made, "red -breast -box") == {"kite", "a"}
    after_options = ok("search", made, "--mode", "text", "--json", "--", "red", "-breast", "-box")
    assert {hit["label"] for hit in json.loads(after_options)["hits"]} == {"Red kite", None}
    assert subjects(made, '"forked tail"') == {"kite"}
    assert subjects(made, "fork*") == {"kite"}
    assert subjects(made, "rotmilan") == {"kite"}


def test_a_huge_query_is_answered(made: Path) -> None:
    assert subjects(made, "kite " * 20_000) == {"kite"}
    assert json.loads(ok("search", made, "-", "--mode", "text", "--json", input="robin\n"))["query"].strip() == "robin"


def test_bytes_that_are_no_text_are_answered(made: Path) -> None:
    found = process("search", made, b"kite \xff\xfe".decode("utf-8", "surrogateescape"), "--mode", "text", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["hits"][0]["label"] == "Red kite"


def test_explain_shows_legs_plan_and_time(made: Path) -> None:
    shown = ok("search", made, "kite", "--mode", "text", "--explain")
    assert re.search(r"(?m)^rank +score +text # +BM25 +gives +hit$", shown)
    assert re.search(r"(?m)^ +1  1\.00000 +1  -\d\.\d+  1\.00000  Red kite$", shown)
    assert re.search(r"(?m)^ +1 +ex:kite rdfs:label$", shown)
    assert re.search(r"(?m)^mode +text$", shown)
    assert re.search(r"(?m)^fusion +relative, minmax$", shown)
    assert "best_texts (chunk, bm25) AS" in shown
    assert re.search(r"(?m)^time +filter [\d.]+, ", shown)


@pytest.mark.parametrize(
    ("options", "first", "count"),
    [
        (["--boost", "9 ?subject a ex:Thing"], "box", 5),
        (["--boost", "0.5 ex:year"], "kite", 5),
        (["--decay", "ex:year", "--half-life", "30"], "box", 5),
        (["--decay", "ex:year", "--evergreen-type", "ex:Raptor"], "kite", 5),
        (["--diversity", "0.5", "--fusion", "rrf", "--k", "5"], "kite", 5),
        (["--group-by", "subject", "--per-subject", "2"], "kite", 6),
        (["--group", "--per-subject", "2"], "kite", 6),
        (["--reranker", "no such folder", "--rerank-timeout", "60"], "kite", 5),
    ],
)
def test_stages(made: Path, options: list[str], first: str, count: int) -> None:
    shown = json.loads(ok("search", made, "red", "--mode", "text", "--json", "--explain", *options))
    assert shown["hits"][0]["subject"] == f"http://example.org/{first}"
    assert len(shown["hits"]) == count
    assert ok("search", made, "red", "--mode", "text", "--explain", *options)


def test_pages(made: Path) -> None:
    first = json.loads(ok("search", made, "red", "--mode", "text", "--json", "--limit", "3"))
    second = json.loads(ok("search", made, "red", "--mode", "text", "--json", "--cursor", first["cursor"]))
    assert [len(first["hits"]), len(second["hits"]), second["cursor"]] == [3, 2, None]
    assert "another search" in run("search", made, "kite", "--mode", "text", "--cursor", first["cursor"]).stderr


def test_sql_shows_the_statement(made: Path) -> None:
    shown = ok("search", made, "kite", "--mode", "text", "--sql", "--type", "ex:Raptor")
    assert shown.startswith("WITH\n")
    assert re.search(r"(?m)^-- \?1 = ", shown)
    told = json.loads(ok("search", made, "kite", "--mode", "text", "--sql", "--json", "--type", "ex:Raptor"))
    assert told["sql"].startswith("WITH\n")
    assert {"base64"} in [set(value) for value in told["parameters"] if isinstance(value, dict)]


def test_text_mode_touches_no_embedder(made: Path) -> None:
    code = (
        "import sys; from worlds.cli import app\n"
        f"try: app(['search', {str(made)!r}, 'kite', '--mode', 'text', '--embedder', 'no/such-model'])\n"
        "except SystemExit as end: print(end.code, {'torch', 'tokenizers'} & set(sys.modules), file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, env=ENVIRONMENT, check=True)
    assert shown.stderr.strip() == b"0 set()"


# --- sparql -----------------------------------------------------------------------------------------------------------

LABELS = "SELECT ?bird ?label WHERE { ?bird a/rdfs:subClassOf* ex:Bird ; rdfs:label ?label } ORDER BY ?label"


def test_rows_are_a_table_with_short_names(made: Path) -> None:
    assert ok("sparql", made, LABELS).splitlines() == [
        "?bird     ?label",
        "────────  ─────────────",
        'ex:kite   "Red kite"@en',
        'ex:robin  "Robin"@en',
        'ex:kite   "Rotmilan"@de',
    ]


def test_rows_in_every_format(made: Path) -> None:
    document = json.loads(ok("sparql", made, LABELS, "--json"))
    assert document["head"]["vars"] == ["bird", "label"]
    assert document["results"]["bindings"][0]["label"] == {"type": "literal", "value": "Red kite", "xml:lang": "en"}
    assert json.loads(ok("sparql", made, LABELS, "--format", "json")) == document
    assert ok("sparql", made, LABELS, "--format", "csv").splitlines()[1] == "http://example.org/kite,Red kite"
    assert ok("sparql", made, LABELS, "--format", "tsv").splitlines()[1] == '<http://example.org/kite>\t"Red kite"@en'
    assert ok("sparql", made, LABELS, "--format", "xml").startswith("<?xml")


def test_ask_prints_its_answer_and_exits_with_it(made: Path) -> None:
    assert ok("sparql", made, "ASK { ?s a ex:Raptor }") == "true\n"
    no = run("sparql", made, "ASK { ?s a ex:Fish }")
    assert (no.exit_code, no.stdout, no.stderr) == (1, "false\n", "")
    assert json.loads(run("sparql", made, "ASK { ?s a ex:Fish }", "--json").stdout) == {"head": {}, "boolean": False}
    assert "<boolean>true</boolean>" in ok("sparql", made, "ASK {}", "--format", "xml")


def test_triples_are_turtle_or_what_is_asked_for(made: Path) -> None:
    query = "CONSTRUCT WHERE { ex:robin rdfs:label ?l }"
    turtle = ok("sparql", made, query)
    assert "@prefix ex:" in turtle
    assert 'ex:robin rdfs:label "Robin"@en .' in turtle
    assert ok("sparql", made, query, "--format", "nt").count(" .\n") == 1
    assert json.loads(ok("sparql", made, query, "--json"))
    assert ok("sparql", made, "DESCRIBE ex:robin", "--format", "nt").count("\n") == 3


def test_the_query_comes_from_an_argument_a_file_or_standard_input(made: Path, tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text("ASK {}")
    assert ok("sparql", made, "--file", tmp_path / "q.rq") == "true\n"
    assert ok("sparql", made, "-", input="ASK {}") == "true\n"
    assert "give one query" in fails(2, "sparql", made)
    assert "give one query" in fails(2, "sparql", made, "ASK {}", "--file", tmp_path / "q.rq")
    assert "cannot be read" in fails(3, "sparql", made, "--file", tmp_path / "no.rq")
    (tmp_path / "latin.rq").write_bytes(b'ASK { ?s ?p "\xe9" }')
    assert "UTF-8" in fails(3, "sparql", made, "--file", tmp_path / "latin.rq")


def test_bindings(made: Path) -> None:
    query = "SELECT ?s ?y WHERE { ?s ex:year ?y }"
    assert ok("sparql", made, query, "--bind", "s=ex:kite", "--format", "csv").splitlines()[1:] == [
        "http://example.org/kite,1758"
    ]
    assert ok("sparql", made, query, "--bind", "?y=1758", "--format", "csv").splitlines()[1:] != []
    assert ok("sparql", made, query, "-b", "y=1759", "--format", "csv").splitlines()[1:] == []
    label = 'l="Robin"@en'
    assert ok("sparql", made, "ASK { ?s rdfs:label ?l }", "--bind", label) == "true\n"
    assert "NAME=TERM" in fails(2, "sparql", made, query, "--bind", "nonsense")
    assert "known prefix" in fails(2, "sparql", made, query, "--bind", "s=kite")


def test_the_union_of_all_graphs_on_request(made: Path) -> None:
    assert run("sparql", made, "ASK { ?s ex:note ?o }").exit_code == 1
    assert ok("sparql", made, "ASK { ?s ex:note ?o }", "--union") == "true\n"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT ?s WHERE { ?s a ex:Bird", "line 1, column"),
        ("SELECT ?s\nWHERE { ?s a nope:Bird }", "line 2, column 23: the prefix 'nope:' is not declared"),
        ("", "unexpected end"),
        ("SELECT * { SERVICE <http://x/> { ?s ?p ?o } }", "SERVICE is not allowed"),
        ("DELETE WHERE { ?s a ex:Bird }", "line 1, column 1: DELETE begins an update, not a query: `worlds update`"),
        ("SELEC ?s { ?s a ex:Bird }", "line 1, column 1: a query begins with SELECT, ASK, CONSTRUCT or DESCRIBE, not"),
        ("SELECT * {" + "{" * 10_000 + "}" * 10_000 + "}", "nested deeper"),
    ],
)
def test_queries_that_cannot_be_answered(made: Path, query: str, said: str) -> None:
    assert said in fails(5, "sparql", made, "-", input=query)


def test_formats_that_do_not_suit_the_query(made: Path) -> None:
    assert "is not a format" in fails(2, "sparql", made, "ASK {}", "--format", "nonsense")
    assert "gives rows" in fails(2, "sparql", made, LABELS, "--format", "turtle")
    assert "gives triples" in fails(2, "sparql", made, "DESCRIBE ex:robin", "--format", "csv")
    assert "true or false" in fails(2, "sparql", made, "ASK {}", "--format", "nt")
    assert "exclude each other" in fails(2, "sparql", made, "ASK {}", "--format", "xml", "--json")


# --- the file ---------------------------------------------------------------------------------------------------------


def test_export(made: Path, tmp_path: Path) -> None:
    assert ok("export", made).count(" .\n") == 15
    assert ok("export", made, "-", "--graph", "ex:g1", "--format", "nt").count("\n") == 1
    assert ok("export", made, tmp_path / "out.nq.gz") == f"15 quads in {tmp_path / 'out.nq.gz'}\n"
    ok("load", tmp_path / "again.db", tmp_path / "out.nq.gz", "--no-embed")
    assert ok("export", tmp_path / "again.db") == ok("export", made)
    told = json.loads(ok("export", made, tmp_path / "out.trig", "--json"))
    assert told == {"target": str(tmp_path / "out.trig"), "quads": 15}


def test_export_errors(made: Path, tmp_path: Path) -> None:
    assert "named graphs" in fails(2, "export", made, "--format", "turtle")
    assert "cannot be written" in fails(3, "export", made, tmp_path / "no" / "out.nq")
    assert "cannot be told" in fails(2, "export", made, tmp_path / "out.doc")
    assert "--json" in fails(2, "export", made, "--json")
    assert list(tmp_path.iterdir()) == []


def test_stats(made: Path) -> None:
    shown = ok("stats", made)
    assert re.search(r"(?m)^quads +15$", shown)
    assert re.search(r"(?m)^  +4  rdfs:comment$", shown)
    told = json.loads(ok("stats", made, "--json"))
    assert told["quads"] == 15
    assert told["pending"] == told["chunks"] == 7


def test_check(made: Path, tmp_path: Path) -> None:
    assert ok("check", made) == "no problems\n"
    assert json.loads(ok("check", made, "--json"))["ok"] is True
    path = tmp_path / "broken.db"
    path.write_bytes(made.read_bytes())
    change = sqlite3.connect(path)
    change.execute("DELETE FROM quads WHERE id = (SELECT min(id) FROM quads WHERE object IN (SELECT term FROM chunks))")
    change.commit()
    change.close()
    result = run("check", path)
    assert result.exit_code == 1
    assert result.stdout
    assert result.stderr == ""
    told = run("check", path, "--json")
    assert told.exit_code == 1
    assert json.loads(told.stdout)["ok"] is False


def test_backup_and_compact(made: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    assert re.fullmatch(rf"[\d.]+ kB in {re.escape(str(copy))}\n", ok("backup", made, copy))
    assert ok("export", copy) == ok("export", made)
    assert "exists already" in fails(3, "backup", made, copy)
    assert re.fullmatch(r"[\d.]+ kB before, [\d.]+ kB now\n", ok("compact", copy))
    told = json.loads(ok("compact", copy, "--json"))
    assert told["after"] <= told["before"]
    assert ok("check", copy) == "no problems\n"
    assert set(json.loads(ok("backup", made, tmp_path / "copy2.db", "--json"))) == {"target", "bytes"}


# --- processes, pipes and terminals -----------------------------------------------------------------------------------


def test_a_process_of_its_own(made: Path) -> None:
    found = process("search", made, "kite", "--mode", "text", "--json")
    assert (found.returncode, found.stderr) == (0, b"")
    assert json.loads(found.stdout)["hits"]
    missing = process("search", "no.db", "kite")
    assert (missing.returncode, missing.stdout) == (3, b"")
    assert missing.stderr.count(b"\n") == 1


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """N-Triples enough for a load of seconds."""
    file = tmp_path_factory.mktemp("many") / "many.nt"
    with file.open("w") as out:
        for number in range(50_000):
            out.write(f'<http://example.org/{number}> <http://example.org/p> "text number {number} of many words" .\n')
    return file


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, many: Path) -> None:
    path = tmp_path / "kb.db"
    few = tmp_path / "few.nt"
    few.write_text("".join(many.read_text().splitlines(keepends=True)[:8000]))
    ok("load", path, few, "--no-embed")
    everything = "SELECT * { ?s ?p ?o }"
    for args in (
        ["export", path],
        ["sparql", path, everything],
        ["sparql", path, everything, "--json"],
        ["search", path, "many", "--mode", "text", "--limit", "1000"],
    ):
        command = [sys.executable, "-m", "worlds", *map(str, args)]
        writer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.read(100)
        writer.stdout.close()
        said = writer.stderr.read()
        writer.stderr.close()
        assert (writer.wait(30), said) == (141, b""), args


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("all_read", [False, True])
def test_ctrl_c_leaves_the_world_as_it_was(path: Path, many: Path, birds: Path, all_read: bool) -> None:
    ok("load", path, birds, "--no-embed")
    before = ok("export", path)
    command = [sys.executable, "-m", "worlds", "load", str(path), "-", "--format", "nt", "--no-embed"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as child:
        assert child.stdin is not None
        child.stdin.write(many.read_bytes())  # waits until nearly all of it was taken
        child.stdin.flush()
        if all_read:
            child.stdin.close()
            child.stdin = None
            time.sleep(0.3)  # now it is being written
        child.send_signal(signal.SIGINT)
        out, said = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, b""), said
    assert said == b"interrupted: nothing was changed; the same command can be run again\n"
    assert ok("export", path) == before
    assert ok("check", path) == "no problems\n"
    if all_read:
        ok("load", path, many, "--no-embed")
        assert json.loads(ok("stats", path, "--json"))["quads"] == 14 + 50_000


ENDLESS = "{ ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n ?o FILTER(?a = ?o) }"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a query cannot be stopped where nothing can be forked")
@pytest.mark.parametrize(
    ("verb", "text"),
    [("sparql", f"SELECT (COUNT(*) AS ?n) {ENDLESS}"), ("update", f"INSERT {{ ?a <urn:p> ?f }} WHERE {ENDLESS}")],
    ids=["sparql", "update"],
)
def test_ctrl_c_ends_a_query(path: Path, many: Path, verb: str, text: str) -> None:
    ok("load", path, many, "--no-embed")
    command = [sys.executable, "-m", "worlds", verb, str(path), text]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as child:
        with pytest.raises(subprocess.TimeoutExpired):
            child.communicate(timeout=4)
        child.send_signal(signal.SIGINT)
        out, said = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, b""), said
    assert len(json.loads(ok("log", path, "--json"))["revisions"]) == 1


def terminal(*args: str | Path, columns: int = 80, env: dict[str, str] | None = None) -> str:
    """What a terminal shows of a command, its escape sequences included."""
    pty = pytest.importorskip("pty", reason="terminals of POSIX")
    child, screen = pty.fork()
    if child == 0:
        os.environ.clear()
        os.environ.update({**ENVIRONMENT, "COLUMNS": str(columns), "LINES": "24", **(env or {})})
        os.execv(sys.executable, [sys.executable, "-m", "worlds", *map(str, args)])
    shown = b""
    while select.select([screen], [], [], 60)[0]:
        try:
            piece = os.read(screen, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(screen)
    os.waitpid(child, 0)
    return shown.decode("utf-8", "replace").replace("\r\n", "\n")


def test_on_a_terminal_lines_fit_and_matches_stand_out(made: Path) -> None:
    shown = terminal("search", made, "forked tail", "--mode", "text", columns=40)
    assert "\x1b[1;33mforked\x1b[0m" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert max(map(len, plain.splitlines())) <= 40
    rows = terminal("sparql", made, "SELECT ?s ?c { ?s rdfs:comment ?c }", columns=40)
    assert max(len(line) for line in re.sub(r"\x1b\[[0-9;]*m", "", rows).splitlines()) <= 40
    assert "4 rows" in rows


def test_no_color_is_heard(made: Path) -> None:
    shown = terminal("search", made, "forked tail", "--mode", "text", env={"NO_COLOR": "1"})
    assert re.findall(r"\x1b\[[0-9;]*3\d", shown) == []
    assert "forked" in shown
    plain = terminal("search", made, "forked tail", "--mode", "text", env={"TERM": "dumb"})
    assert "\x1b" not in plain


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_terminals_that_are_not_unicode(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "x.nt").write_text('<a:a> <a:b> "分词 naïve … text"@zh .\n', encoding="utf-8")
    path = tmp_path / "kb.db"
    ok("load", path, tmp_path / "x.nt", "--no-embed")
    runner = CliRunner(charset=encoding)
    for args in (
        ["search", path, "text", "--mode", "text", "--explain"],
        ["sparql", path, "SELECT * { ?s ?p ?o }"],
        ["stats", path],
        ["--help"],
        ["search", path, "--help"],
    ):
        shown = runner.invoke(app, [str(arg) for arg in args])
        assert (shown.exit_code, shown.stderr) == (0, ""), args
        shown.stdout_bytes.decode(encoding)
    told = runner.invoke(app, ["search", str(path), "text", "--mode", "text", "--json"])
    assert json.loads(told.stdout_bytes.decode(encoding))["hits"][0]["text"] == "分词 naïve … text"
    for data in (["export", path], ["sparql", path, "SELECT * { ?s ?p ?o }", "--format", "csv"]):
        assert "分词 naïve".encode() in runner.invoke(app, [str(arg) for arg in data]).stdout_bytes
    missing = process("search", tmp_path / "分词.db", "text", env={"PYTHONIOENCODING": encoding})
    assert missing.returncode == 3
    assert b"?" in missing.stderr


@pytest.mark.skipif(os.name != "posix", reason="shell redirections")
def test_closed_and_full_outputs(made: Path) -> None:
    command = f"{sys.executable} -m worlds search {made} kite --mode text"
    closed = subprocess.run(f"{command} >&-", shell=True, capture_output=True, env=ENVIRONMENT)
    assert (closed.returncode, closed.stderr) == (0, b"")
    if Path("/dev/full").exists():
        no = f"{sys.executable} -m worlds sparql {made} 'ASK {{ ?s a ex:Fish }}'"
        for line in (command, no):
            full = subprocess.run(f"{line} >/dev/full", shell=True, capture_output=True, env=ENVIRONMENT)
            assert full.returncode == 3
            assert full.stderr.count(b"\n") == 1
            assert b"No space left" in full.stderr


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
        (3, ("add-document", "nofile.md", "--base", "urn:x/")),
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
