"""The commands that one begins with: init, config, completion."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import worlds
from tests.support.command_line import DATA, ENVIRONMENT, fails, ok, process, run
from worlds.settings import SETTINGS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, without any settings, with one file of RDF."""
    for name in [name for name in os.environ if name.startswith("WORLDS_") and name != "WORLDS_CACHE"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    here = tmp_path / "here"
    here.mkdir()
    (here / "birds.ttl").write_text(DATA)
    monkeypatch.chdir(here)
    return here


def there(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# --- init -------------------------------------------------------------------------------------------------------------


def test_init_makes_an_empty_world_and_says_what_is_next() -> None:
    told = ok("init", "kb.db")
    assert told.startswith("kb.db: an empty world\n\nNext:\n")
    assert "\n  worlds load kb.db FILE " in told
    assert json.loads(ok("stats", "kb.db", "--json"))["quads"] == 0


def test_init_loads_files() -> None:
    told = ok("init", "kb.db", "birds.ttl", "--no-embed", "--author", "ann")
    assert told.startswith("kb.db: revision 1: 14 quads added, 6 text chunks (")
    assert "worlds search kb.db WORDS" in told
    (entry,) = json.loads(ok("log", "kb.db", "--json"))["revisions"]
    assert entry["author"] == "ann"


@pytest.mark.parametrize(
    ("options", "setting", "pattern"),
    [
        ((), "union", "{ ?s ?p ?o }"),
        (("--default-graph", "strict"), "strict", "{ GRAPH ?g { ?s ?p ?o } }"),
        (("--default-graph", "union"), "union", "{ ?s ?p ?o }"),
    ],
)
def test_init_recommends_a_query_that_finds_what_is_in_named_graphs(
    folder: Path, options: tuple[str, ...], setting: str, pattern: str
) -> None:
    Path("a.nq").write_text('<urn:a> <urn:b> "c" <urn:g> .\n')
    told = ok("init", "kb.db", "a.nq", "--no-embed", *options)
    assert f"SELECT * {pattern} LIMIT 10" in told
    assert f"1 named graph: a query that names none sees {'all' if setting == 'union' else 'the default graph'}" in told
    assert "c" in ok("sparql", "kb.db", f"SELECT * {pattern} LIMIT 10")
    with worlds.open("kb.db", embedder=None) as world:
        assert world.file.default_graph == setting


def test_init_keeps_to_the_specification_where_the_default_graph_has_data(folder: Path) -> None:
    Path("a.nq").write_text('<urn:a> <urn:b> "c" <urn:g> .\n<urn:a> <urn:b> "d" .\n')
    assert json.loads(ok("init", "kb.db", "a.nq", "--no-embed", "--json"))["default_graph"] == "strict"


def test_the_policy_is_shown_and_changed(folder: Path) -> None:
    Path("a.ttl").write_text("@prefix ex: <http://e/> . ex:a a ex:T ; ex:knows ex:b .")
    ok("init", "kb.db", "a.ttl", "--no-embed")
    assert json.loads(ok("policy", "kb.db", "--json"))["profiles"] is False
    told = json.loads(
        ok("policy", "kb.db", "profiles=ex:T", 'size={"max_chars": 500}', "default_graph=union", "--json")
    )
    assert (told["profiles"], told["default_graph"]) == (["http://e/T"], "union")
    assert (told["size"]["max_chars"], told["size"]["overlap"]) == (500, 200)
    with worlds.open("kb.db", embedder=None) as world:
        assert world.file.default_graph == "union"
        assert [str(hit.predicate) for hit in world.search("knows")] == ["urn:worlds:profile"]
    for wrong in ("nothing=1", "profiles=ex", "tokenizer=7", "sizes=3", "default_graph=all", "profiles"):
        fails(2, "policy", "kb.db", wrong)


def test_init_takes_profiles_from_an_option_and_from_the_settings(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ok("init", "one.db", "--profiles")
    monkeypatch.setenv("WORLDS_PROFILES", "true")
    monkeypatch.setenv("WORLDS_DEFAULT_GRAPH", "union")
    ok("init", "two.db")
    for name in ("one.db", "two.db"):
        with worlds.open(name, embedder=None) as world:
            assert world.policy.profiles is True
            assert world.file.default_graph == ("union" if name == "two.db" else "strict")


def test_init_as_json() -> None:
    assert json.loads(ok("init", "kb.db", "--json")) == {"world": "kb.db", "default_graph": "strict"}
    told = json.loads(ok("init", "other.db", "birds.ttl", "--no-embed", "--settings", "--json"))
    assert told["seconds"] >= 0
    assert (told["world"], told["settings"], told["added"], told["pending"]) == ("other.db", "worlds.toml", 14, 6)


def test_a_name_with_a_space_is_quoted() -> None:
    assert "worlds load 'my kb.db' FILE" in ok("init", "my kb.db")
    assert "`worlds load 'my kb.db' FILE`" in fails(3, "init", "my kb.db")


def test_init_overwrites_no_world_and_no_settings(folder: Path) -> None:
    ok("init", "kb.db", "birds.ttl", "--no-embed")
    assert "kb.db exists already" in fails(3, "init", "kb.db")
    (folder / "worlds.toml").write_text("# mine\n")
    assert "worlds.toml exists already" in fails(3, "init", "new.db", "--settings")
    assert (folder / "worlds.toml").read_text() == "# mine\n"
    assert there(folder) == {"birds.ttl", "kb.db", "worlds.toml"}
    (folder / "dead.db").symlink_to(folder / "nowhere" / "x.db")
    assert "dead.db exists already" in fails(3, "init", "dead.db")


@pytest.mark.parametrize(
    ("sources", "code"), [(("birds.ttl", "nowhere.ttl"), 3), (("birds.ttl", "broken.nt"), 4)], ids=["missing", "broken"]
)
def test_a_load_that_fails_leaves_nothing(folder: Path, sources: tuple[str, ...], code: int) -> None:
    (folder / "broken.nt").write_text("no RDF\n")
    fails(code, "init", "kb.db", *sources, "--settings", "--no-embed")
    assert there(folder) == {"birds.ttl", "broken.nt"}


def test_init_needs_the_folder(folder: Path) -> None:
    fails(3, "init", "nowhere/kb.db")
    assert there(folder) == {"birds.ttl"}


def test_the_settings_that_init_writes_change_nothing(folder: Path) -> None:
    before = json.loads(ok("config", "--json"))["settings"]
    assert "worlds.toml: all settings, each commented out\n" in ok("init", "kb.db", "--settings")
    assert tomllib.loads((folder / "worlds.toml").read_text("utf-8")).keys() == {"search", "server", "mcp"}
    after = json.loads(ok("config", "--json"))
    assert after["settings"] == before
    assert after["files"] == [str(folder / "worlds.toml")]


# --- config -----------------------------------------------------------------------------------------------------------


def test_config_shows_every_setting_with_its_source(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "worlds.toml").write_text('author = "ann"\n[server]\ncors = ["https://a.example"]\n')
    monkeypatch.setenv("WORLDS_SERVER_PORT", "9000")
    rows = dict(re.findall(r"(?m)^(\S+) {2,}(.*)$", ok("config")))
    assert {name for name in rows if name.strip("─")} == {"setting", *SETTINGS}
    assert re.fullmatch(r"9000 +WORLDS_SERVER_PORT", rows["server.port"])
    assert re.fullmatch(rf"ann +{re.escape(str(folder))}/worlds\.toml", rows["author"])
    assert rows["server.cors"].startswith('["https://a.example"] ')
    assert re.fullmatch(r"\(on a loopback address only\) +default", rows["server.public_reads"])
    assert re.fullmatch(r"false +default", rows["mcp.allow_writes"])


def test_config_of_one_setting_or_one_section(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDS_MCP_PORT", "9001")
    assert ok("config", "mcp.port") == "9001\n"
    assert [line.split()[0] for line in ok("config", "mcp").splitlines()[2:]] == [
        name for name in SETTINGS if name.startswith("mcp.")
    ]
    told = json.loads(ok("config", "mcp.port", "--json"))
    assert (told["value"], told["source"], told["default"]) == (9001, "WORLDS_MCP_PORT", 8090)
    assert "did you mean server.port?" in fails(2, "config", "server.prot")


def test_config_says_what_is_wrong(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDS_NONSENSE", "1")
    assert run("config", "mcp").stderr == "note: WORLDS_NONSENSE is not a setting, and is ignored\n"
    (folder / "worlds.toml").write_text("[server]\nport = 'x'\n")
    assert fails(2, "config").startswith(f"{folder}/worlds.toml: server.port: 'x' is not a whole number")


# --- the settings of the other commands -------------------------------------------------------------------------------


def test_the_author_is_a_setting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "worlds.toml").write_text('author = "of the file"\n')
    ok("load", "kb.db", "birds.ttl", "--no-embed")
    monkeypatch.setenv("WORLDS_AUTHOR", "of the environment")
    ok("update", "kb.db", "INSERT DATA { ex:a ex:b 1 }", "--no-embed")
    ok("update", "kb.db", "INSERT DATA { ex:a ex:b 2 }", "--no-embed", "--author", "of the option")
    authors = [entry["author"] for entry in json.loads(ok("log", "kb.db", "--json"))["revisions"]]
    assert authors == ["of the option", "of the environment", "of the file"]


def test_the_embedder_is_a_setting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDS_EMBEDDER", str(folder))  # no model lies here
    ok("load", "kb.db", "birds.ttl", "--embedder", "none")
    assert "is not a folder of a model" in fails(6, "search", "kb.db", "kite")
    monkeypatch.setenv("WORLDS_EMBEDDER", "none")
    assert "without an embedder" in fails(6, "search", "kb.db", "kite", "--mode", "vector")


def test_a_wrong_setting_stops_a_write_before_it_begins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLDS_DURABILITY", "high")
    message = fails(2, "load", "kb.db", "birds.ttl")
    assert message == "WORLDS_DURABILITY: 'high' is not one of 'normal', 'full'"
    assert there(folder) == {"birds.ttl"}
    monkeypatch.setenv("WORLDS_DURABILITY", "full")
    ok("load", "kb.db", "birds.ttl", "--no-embed")


# --- completion -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell", "pwsh"])
def test_completion_prints_a_script(shell: str) -> None:
    assert "_WORLDS_COMPLETE" in ok("completion", shell)


def test_completion_takes_the_shell_that_one_uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/local/bin/fish")
    assert ok("completion") == ok("completion", "fish")
    monkeypatch.setenv("SHELL", "/bin/csh")
    assert "your shell is unknown" in fails(9, "completion")
    assert "'csh' is not one of 'bash', 'zsh'" in fails(2, "completion", "csh")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("worlds comp", {"compare", "completion"}),
        ("worlds file com", {"compact"}),
        ("worlds search kb.db kite --exclude-l", {"--exclude-lang", "--exclude-language"}),
        ("worlds keys rev", {"revoke"}),
        ("worlds search kb.db kite --mode h", {"hybrid"}),
    ],
)
def test_bash_completes(folder: Path, line: str, expected: set[str]) -> None:
    script = folder / "completion.sh"
    script.write_text(ok("completion", "bash"))
    program = folder / "worlds"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m worlds "$@"\n')
    program.chmod(0o755)
    words = line.split()
    code = f"""
source "{script}"
COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}
_worlds_completion worlds
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    path = f"{folder}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", code], capture_output=True, encoding="utf-8", env={**ENVIRONMENT, "PATH": path}
    )
    assert (set(done.stdout.split()), done.stderr) == (expected, "")


def test_completion_works_though_the_settings_are_wrong() -> None:
    shown = process(
        env={
            "_WORLDS_COMPLETE": "complete_bash",
            "COMP_WORDS": "worlds search kb.db x --m",
            "COMP_CWORD": "4",
            "WORLDS_EMBEDDER": "",
            "WORLDS_SERVER_PORT": "wrong",
        }
    )
    assert shown.stdout.split() == [b"--mode", b"--min-similarity"]
