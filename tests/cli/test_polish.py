"""What all commands have in common: help, names of options, tables, pipes, interruptions."""

from __future__ import annotations

import gzip
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support import forking
from tests.support.command_line import DATA, ENVIRONMENT, ok, process, run, terminal
from tests.support.commands import commands
from worlds.errors import EmbedderError

COMMANDS = commands()
# A script, an RDF Patch, what goes on and on, and what moves whole files.
WITHOUT_JSON = {
    tuple(name.split())
    for name in (
        *("completion", "revisions patch", "serve", "mcp"),
        *(f"remote {name}" for name in ("primary", "follow", "push", "pull", "token", "shard")),
    )
}
SHORT = {"--limit": "-n", "--graph": "-g", "--message": "-m", "--help": "-h"}
EVERYTHING = "SELECT * { ?s ?p ?o }"
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small world, not to be changed."""
    folder = tmp_path_factory.mktemp("polish")
    (folder / "birds.ttl").write_text(DATA)
    ok("load", folder / "kb.db", folder / "birds.ttl", "--no-embed")
    return folder / "kb.db"


def ids(words: tuple[str, ...]) -> str:
    return " ".join(words)


# --- help -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", COMMANDS, ids=ids)
def test_help_explains_every_option_and_has_examples_that_could_be_run(words: tuple[str, ...]) -> None:
    text = ok(*words, "--help")
    assert "<bool>" not in text
    for param in COMMANDS[words].params:
        assert param.help, param.name
    lines = re.findall(r"(?m)^  \$ (.*)$", text)
    assert any(f"worlds {' '.join(words)}" in line for line in lines)
    for line in lines:
        for part in re.split(r"&&|\||\$\(", line):
            part = part.replace("'", " ").replace('"', " ") if part.count("'") % 2 or part.count('"') % 2 else part
            shown = shlex.split(part)
            if "worlds" in shown[:2]:
                named = shown[shown.index("worlds") + 1 :]
                command = COMMANDS.get(tuple(named[:1])) or COMMANDS.get(tuple(named[:2]))
                assert command is not None, line
                used = {word for word in named if re.match(r"--[a-z]", word)}
                known = {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}
                assert used <= known | {"--help"}, line


@pytest.mark.parametrize("columns", [60, 120])
def test_help_fits_the_terminal(columns: int) -> None:
    for words in ((), ("search",)):
        shown = process(*words, "--help", env={"COLUMNS": str(columns), "NO_COLOR": "1"}).stdout.decode()
        boxed = shown.partition("\nExamples\n")[0]
        assert 40 < max(map(len, boxed.splitlines())) <= columns


def test_on_a_terminal_all_but_command_lines_fits() -> None:
    lines = ESCAPES.sub("", terminal("--help", columns=70)).splitlines()
    assert len([line for line in lines if line.startswith("  $ ")]) >= 4
    assert max(len(line) for line in lines if not line.startswith("  $ ")) <= 70


def test_options_of_one_meaning_have_one_name() -> None:
    for words, command in COMMANDS.items():
        options = {option: param for param in command.params for option in param.opts}
        for long, short in SHORT.items():
            if long in options:
                assert short in options[long].opts, (words, long)
        for wrong, right in {
            "--max": "--limit",
            "--lines": "--limit",
            "--who": "--author",
            "--as-json": "--json",
        }.items():
            assert wrong not in options, f"{words}: {right}"


def test_every_command_that_gives_data_gives_json() -> None:
    without = {
        words for words, command in COMMANDS.items() if not any("--json" in param.opts for param in command.params)
    }
    assert without == WITHOUT_JSON


def test_every_group_and_every_other_command_stands_in_the_document() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text("utf-8")
    shown = "\n".join(re.findall(r"(?ms)^```(?:console|sh)\n(.*?)^```", text))
    assert {words[0] for words in COMMANDS if f"worlds {words[0]}" not in shown} == {"remote"}


# --- tables -----------------------------------------------------------------------------------------------------------


def test_numbers_are_shown_without_their_datatype() -> None:
    query = """SELECT ?a ?b ?c ?d ?e WHERE { VALUES (?a ?b ?c ?d ?e) {
      (1.0e0 2.5 42 "7"^^xsd:int "2024-05-01"^^xsd:date)
      ("-1.5e-7"^^xsd:double "1"^^xsd:float "NaN"^^xsd:double "x"^^xsd:integer "1") } }"""
    lines = [line.split() for line in ok_rows(query)]
    assert list(map(float, lines[0][:4])) == [1, 2.5, 42, 7]
    assert list(map(float, lines[1][:2])) == [-1.5e-7, 1]
    assert lines[0][4] == '"2024-05-01"^^xsd:date'
    assert lines[1][2:] == ['"NaN"^^xsd:double', '"x"^^xsd:integer', '"1"']


def ok_rows(query: str) -> list[str]:
    """The rows of the table that a query gives."""
    path = Path("numbers.db")
    ok("init", path)
    return ok("sparql", path, query).splitlines()[2:]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_averages_stand_to_the_right() -> None:
    values = "{ (1 1.0e0) (1 2.0e0) (2 100.5e0) }"
    rows = ok_rows(f"SELECT ?n (AVG(?x) AS ?mean) {{ VALUES (?n ?x) {values} }} GROUP BY ?n ORDER BY ?n")
    assert [len(row) for row in rows] == [len(rows[0])] * 2
    assert [row.split()[0] for row in rows] == ["1", "2"]
    assert "xsd" not in "".join(rows)


def test_wide_answers_fit_80_columns(folder: Path) -> None:
    long = "http://a-very-long-host-name.example.org/with/a/long/path/of/many/parts"
    (folder / "long.nt").write_text(
        "".join(f'<{long}/{number}> <{long}#says> "{"many words " * 20}"@en <{long}/g> .\n' for number in range(3))
    )
    ok("load", "kb.db", "long.nt", "--format", "nq", "--no-embed")
    for line in (
        ["sparql", "kb.db", "SELECT * { GRAPH ?g { ?s ?p ?o } }"],
        ["describe", "kb.db", f"{long}/1"],
        ["search", "kb.db", "many", "--mode", "text"],
        ["log", "kb.db"],
        ["config"],
    ):
        shown = ESCAPES.sub("", terminal(*line, columns=80))
        assert max(map(len, shown.splitlines())) <= 80, line
    assert "many parts" not in shown


def test_iris_are_shortened_by_the_prefixes_of_the_world(made: Path) -> None:
    shown = ok("sparql", made, "SELECT DISTINCT ?s ?p { ?s ?p ?o }")
    assert "ex:kite" in shown
    assert "rdfs:label" in shown
    assert "http://example.org/kite" not in shown


def test_colours_are_forced_and_forbidden(made: Path) -> None:
    line = ("search", made, "forked tail", "--mode", "text")
    assert b"\x1b[" not in process(*line).stdout
    assert b"\x1b[1;33mforked" in process(*line, env={"FORCE_COLOR": "1"}).stdout
    assert not re.search(rb"\x1b\[[0-9;]*3\dm", process(*line, env={"FORCE_COLOR": "1", "NO_COLOR": "1"}).stdout)


# --- pipes ------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="/dev/stdout")
def test_export_to_dev_stdout(made: Path, folder: Path) -> None:
    expected = process("export", made).stdout
    assert expected.count(b" .\n") == 14
    assert process("export", made, "/dev/stdout").stdout == expected
    with (folder / "out.nq").open("ab") as out:
        out.write(b"# before\n")
        out.flush()
        command = [sys.executable, "-m", "worlds", "export", str(made), "/dev/stdout"]
        forking.run(command, stdout=out, env=ENVIRONMENT, check=True)
    assert (folder / "out.nq").read_bytes() == b"# before\n" + expected
    code = f"import worlds; worlds.open({str(made)!r}, embedder=None).export('/dev/stdout', format='nq')"
    through_the_library = forking.run([sys.executable, "-c", code], env=ENVIRONMENT, check=True)
    assert through_the_library.stdout == expected


@pytest.mark.skipif(os.name != "posix", reason="named pipes")
def test_export_to_a_named_pipe_compresses_by_its_name(made: Path, folder: Path) -> None:
    os.mkfifo(folder / "pipe.nq.gz")
    with subprocess.Popen(["cat", "pipe.nq.gz"], stdout=subprocess.PIPE) as reader:
        told = ok("export", made, "pipe.nq.gz")
        packed, _ = reader.communicate(timeout=60)
    assert told == "target  pipe.nq.gz\nquads   14\n"
    assert gzip.decompress(packed) == process("export", made).stdout


def test_a_json_answer_goes_through_a_pipe(made: Path) -> None:
    code = "import json, sys; print(json.load(sys.stdin)['hits'][0]['subject'])"
    line = f"{sys.executable} -m worlds search {made} kite --mode text --json | {sys.executable} -c {shlex.quote(code)}"
    done = subprocess.run(line, shell=True, capture_output=True, env=ENVIRONMENT, check=True)
    assert (done.stdout, done.stderr) == (b"http://example.org/kite\n", b"")


@pytest.mark.parametrize(
    "words",
    [("--help",), ("search", "--help"), ("export", "{}", "/dev/stdout"), ("config",), ("completion", "bash")],
    ids=" ".join,
)
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_reader_that_is_gone_already_is_no_error(made: Path, words: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "worlds", *(word.format(made) for word in words)]
    done = forking.run(command, stdout=writing, env=ENVIRONMENT)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


# --- interruptions ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize(
    "module",
    [
        *("typer", "numpy"),
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("rich.text", "worlds.doors.cli.search", "pyoxigraph")
        ),
        pytest.param("worlds.core.search.engine", marks=pytest.mark.long),
    ],
)
def test_ctrl_c_while_something_is_imported(made: Path, module: str) -> None:
    code = f"""
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
sys.argv = ["worlds", "search", {str(made)!r}, "kite", "--mode", "text"]
from worlds.doors.cli import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stdout) == (130, b"")
    assert done.stderr in (b"", b"interrupted: nothing was changed\n")


# --- what a message says ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?s { SERVICE w:search { ?hit w:query 'kite' ; w:subject ?s } }",
        "SELECT ?s { SERVICE SILENT w:search { ?hit w:query 'kite' ; w:subject ?s } }",
        "PREFIX text: <http://jena.apache.org/text#> SELECT ?s { ?s text:query 'kite' }",
        "SELECT ?s { ?s ?p ?o FILTER(w:similarity(?o, 'kite') > 0.5) }",
    ],
)
def test_a_query_that_searches_the_past_is_answered_by_its_texts(query: str) -> None:
    with worlds.open(embedder=None) as world:
        change = world.add([("urn:a", "rdfs:label", '"red kite"')])
        world.remove([("urn:a", "rdfs:label", '"red kite"')])
        past = world.at(int(change.revision or 0))
        if "similarity" in query:
            with pytest.raises(EmbedderError, match="without an embedder"):
                past.query(query)
        else:
            found: Any = past.query(query)
            assert [str(row.s) for row in found] == ["urn:a"]
        rows: Any = past.query("SELECT ?search { ?search ?p 'red kite' }")
        assert [str(row.search) for row in rows] == ["urn:a"], "a word like search is no search"


def test_an_error_is_one_line_also_as_json(made: Path) -> None:
    done = process("search", made, "kite", "--limit", "0", "--json")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1


def test_json_is_whole_whatever_the_width(made: Path) -> None:
    told = process("search", made, "kite", "--mode", "text", "--json", env={"COLUMNS": "20", "FORCE_COLOR": "1"}).stdout
    assert json.loads(told)["hits"][0]["label"] == "Red kite"


def test_signals_are_as_they_were_found_where_nothing_may_be_interrupted(made: Path) -> None:
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    code += f"import sys; sys.argv = ['worlds', 'stats', {str(made)!r}]\n"
    code += "import worlds.doors.cli\ntry: worlds.doors.cli.main()\n"
    code += "except SystemExit: print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)"
    done = forking.run([sys.executable, "-c", code], env=ENVIRONMENT, check=True)
    assert done.stdout.endswith(b"True\n")
    assert signal.getsignal(signal.SIGINT) == signal.default_int_handler


def test_a_pipe_gets_iris_whole(tmp_path: Path) -> None:
    long = "https://example.org/" + "a" * 100
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.add([(long, "rdf:type", f"{long}b"), (long, f"{long}c", 1)])
    told = ok("schema", tmp_path / "kb.db")
    assert all(f"{long}{end}" in told for end in "bc")


def test_commands_ask_the_past(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.add([("urn:a", "rdfs:label", '"red kite"'), ("urn:a", "urn:eats", '"mice"')])
        world.remove(list(world.quads("urn:a")))
    none = ("--embedder", "none")
    assert "red kite" in ok("search", path, "kite", "--at", "1", *none)
    assert "kite" not in ok("search", path, "kite", *none)
    assert "mice" in ok("context", path, "What eats a red kite?", "--at", "1", *none)
    assert "mice" in ok("describe", path, "urn:a", "--at", "1")
    asked = ("sparql", path, "SELECT ?o { ?s <urn:eats> ?o }", "--format", "csv")
    assert ok(*asked, "--at", "1").splitlines() == ["o", "mice"]
    assert ok(*asked, "--at", "2").splitlines() == ["o"]
    assert ok(*asked, "--at", "2999-01-01").splitlines() == ["o"]
    for wrong, message in (("9", "revision 9"), ("soon", "a time such as 2025-01-31")):
        done = run("describe", path, "urn:a", "--at", wrong)
        assert done.exit_code == 2
        assert message in done.stderr
    assert run("search", "kite", "--worlds", path, "--at", "1", *none).exit_code == 2
