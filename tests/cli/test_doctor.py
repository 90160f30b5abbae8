"""`worlds doctor`: what it looks at, what it makes of it, and that everything it minds has a remedy."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

import worlds
from tests.support import seams
from tests.support.command_line import DATA, ok, run
from tests.support.embedder import HashingEmbedder
from worlds.doors.server import bundle


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, on a machine that can run no model."""
    for name in [name for name in os.environ if name.startswith("WORLDS_") and name != "WORLDS_CACHE"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    (tmp_path / "birds.ttl").write_text(DATA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def findings(*args: str | Path, code: int = 0) -> dict[str, dict[str, Any]]:
    """What the doctor finds, by topic."""
    result = run("doctor", *args, "--json")
    assert result.exit_code == code, result.stdout
    told = json.loads(result.stdout)
    assert told["ok"] == (code == 0)
    assert any(finding["state"] == "problem" for finding in told["findings"]) == (code == 1)
    for finding in told["findings"]:
        assert finding.keys() == {"topic", "state", "message", "remedy"}
        assert (finding["remedy"] is None) == (finding["state"] == "ok"), finding
    return {finding["topic"]: finding for finding in told["findings"]}


# --- the installation -------------------------------------------------------------------------------------------------


def test_it_tells_versions_and_that_the_database_works() -> None:
    found = findings()
    assert found["worlds"]["message"] == f"{metadata.version('worlds-kg')} in {Path(worlds.__file__).parent}"
    assert found["python"]["message"].startswith(platform.python_version())
    assert f"pyoxigraph {metadata.version('pyoxigraph')}" in found["packages"]["message"]
    assert (found["database"]["state"], "full-text" in found["database"]["message"]) == ("ok", True)


def test_it_tells_how_to_get_a_cross_encoder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    found = findings()["reranker"]
    if found["state"] == "ok":
        return  # it is on this machine
    assert "rerank=True" in found["message"] or "sentence-transformers" in found["message"]
    assert "pip install" in found["remedy"] or "hf download" in found["remedy"]


def test_it_tells_which_extras_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        "pyoxigraph>=0.5",
        "numpy>=2 ; extra == 'whole'",
        'no-such-package<2,>=1; python_version >= "3.11" and extra == "partly"',
        'numpy>=2; extra == "partly"',
        'no-such-package; extra == "dev"',
    ]
    monkeypatch.setattr(metadata, "requires", lambda name: lines)  # what is installed here differs
    found = findings()
    assert found["[whole]"]["message"] == f"numpy {metadata.version('numpy')}"
    assert found["[partly]"]["message"] == "not installed: no-such-package"
    assert found["[partly]"]["remedy"] == "if you want it: pip install 'worlds-kg[partly]'"
    assert "[dev]" not in found


def test_it_tells_which_query_editor_the_page_has(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    vendor = folder / "vendor"
    seams.page_folder(monkeypatch, vendor)
    assert findings()["web page"]["message"].endswith("it was not built")
    vendor.mkdir()
    (vendor / bundle.MISSING).write_text("there is no Node.js\n")
    told = findings()["web page"]
    assert (told["state"], told["message"]) == ("note", "with a plain editor: there is no Node.js")
    (vendor / bundle.FILE).touch()
    assert findings()["web page"]["state"] == "ok"


def test_without_a_model_it_says_what_to_install() -> None:
    model = findings()["model"]
    assert (model["state"], model["remedy"][:34]) == ("note", "pip install 'worlds-kg[semantic,mo")
    assert "sentence-transformers is not installed" in model["message"]


def test_a_model_that_is_switched_off_is_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    assert findings("--embedder", "none")["model"]["state"] == "note"
    monkeypatch.setenv("WORLDS_EMBEDDER", "none")
    assert findings()["model"]["state"] == "note"


def test_a_model_that_is_none_is_a_problem(folder: Path) -> None:
    model = findings("--embedder", folder, code=1)["model"]
    assert "is not a folder of a model" in model["message"]


@pytest.mark.model
def test_a_model_that_is_there_is_told_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sentence_transformers")
    monkeypatch.delitem(sys.modules, "onnxruntime")
    from worlds.core.embedders import reason_without

    if reason := reason_without():
        pytest.skip(reason)
    found = findings()
    assert "all-MiniLM-L6-v2 in /" in found["model"]["message"]
    assert found["runtime"]["state"] in ("ok", "note")


def test_settings_are_counted_and_unknown_ones_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "worlds.toml").write_text('author = "ann"\n')
    assert findings()["settings"]["message"] == f"{folder}/worlds.toml; 1 of {len(worlds_settings())} set"
    monkeypatch.setenv("WORLDS_NONSENSE", "1")
    assert "WORLDS_NONSENSE is not a setting" in findings()["settings"]["message"]


def worlds_settings() -> list[Any]:
    told: list[Any] = json.loads(ok("config", "--json"))["settings"]
    return told


# --- a world ----------------------------------------------------------------------------------------------------------


def test_a_world_with_texts_that_wait(folder: Path) -> None:
    ok("load", "kb.db", "birds.ttl", "--no-embed")
    before = (folder / "kb.db").read_bytes()
    found = findings("kb.db")
    assert found["world"]["message"] == "kb.db: 14 quads, 6 text chunks, 1 revision"
    assert found["vectors"]["message"] == "6 of 6 chunks have no vector, and are found by words only"
    assert found["vectors"]["remedy"] == "worlds embed kb.db"
    assert found["check"] == {
        "topic": "check",
        "state": "ok",
        "message": "quads, chunks, full-text and vectors agree",
        "remedy": None,
    }
    assert (folder / "kb.db").read_bytes() == before


def test_a_world_whose_vectors_are_by_another_embedder(folder: Path) -> None:
    with worlds.open("kb.db", embedder=HashingEmbedder()) as world:
        world.load("birds.ttl")
        name = world.stats().embedder
    found = findings("kb.db")
    assert (found["vectors"]["state"], found["index"]["state"]) == ("ok", "ok")
    assert found["embedder"]["state"] == "note"
    assert str(name) in found["embedder"]["message"]


@pytest.mark.model
def test_an_embedder_that_does_not_fit_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    with worlds.open("kb.db", embedder=HashingEmbedder()) as world:
        world.load("birds.ttl")
    monkeypatch.delitem(sys.modules, "sentence_transformers")
    monkeypatch.delitem(sys.modules, "onnxruntime")
    from worlds.core.embedders import reason_without

    if reason := reason_without():
        pytest.skip(reason)
    embedder = findings("kb.db", code=1)["embedder"]
    assert embedder["remedy"].endswith("worlds embed kb.db --rebuild")


def test_an_empty_world_has_nothing_to_mind() -> None:
    ok("init", "my kb.db")
    found = findings("my kb.db")
    assert {topic for topic in ("world", "access", "check") if found[topic]["state"] == "ok"} == {
        "world",
        "access",
        "check",
    }
    assert "vectors" not in found


def test_a_world_that_is_missing_is_a_problem_and_is_not_made(folder: Path) -> None:
    found = findings("no.db", code=1)
    assert found["world"]["message"] == "no.db does not exist"
    assert found["world"]["remedy"].startswith("`worlds ")
    assert not (folder / "no.db").exists()
    assert found["database"]["state"] == "ok", "the rest is told all the same"


def test_what_is_no_world_is_a_problem() -> None:
    assert "not a world" in findings("birds.ttl", code=1)["world"]["message"]


def test_a_damaged_world_is_a_problem() -> None:
    ok("load", "kb.db", "birds.ttl", "--no-embed")
    change = sqlite3.connect("kb.db")
    change.execute("DELETE FROM quads WHERE id = (SELECT min(id) FROM quads WHERE object IN (SELECT term FROM chunks))")
    change.commit()
    change.close()
    found = findings("kb.db", code=1)["check"]
    assert (found["state"], found["remedy"]) == ("problem", "worlds check kb.db")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_world_that_cannot_be_written_to(folder: Path) -> None:
    ok("init", "kb.db")
    (folder / "kb.db").chmod(0o444)
    assert findings("kb.db")["access"]["state"] == "note"


def test_for_people_a_remedy_stands_below_what_it_is_for() -> None:
    ok("load", "kb.db", "birds.ttl", "--no-embed")
    lines = ok("doctor", "kb.db").splitlines()
    (at,) = (place for place, line in enumerate(lines) if "have no vector" in line)
    assert lines[at].startswith("note     vectors")
    assert lines[at + 1].strip() == "→ worlds embed kb.db"
    result = run("doctor", "no.db")
    assert (result.exit_code, result.stderr) == (1, "")
    assert "problem  world" in result.stdout


def test_known_faults_are_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip-audit is a program of its own: here one that answers as it does, found before the one of the machine."""
    answers: dict[str, Any] = {"dependencies": [{"name": "rdflib", "version": "7.1.0", "vulns": []}]}
    program = folder / "pip_audit.py"
    program.write_text("import pathlib; print(pathlib.Path('answer.json').read_text())")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    (folder / "answer.json").write_text(json.dumps(answers))
    assert findings("--audit")["audit"]["message"] == "1 package without known faults"
    answers["dependencies"][0]["vulns"] = [{"id": "CVE-2026-1", "fix_versions": ["7.9"]}]
    (folder / "answer.json").write_text(json.dumps(answers))
    found = findings("--audit", code=1)["audit"]
    assert found["message"] == "rdflib 7.1.0 has known faults: CVE-2026-1"
    assert found["remedy"] == "pip install -U rdflib (mended in 7.9)"
    (folder / "answer.json").write_text("no network")
    assert findings("--audit")["audit"]["message"].startswith("the list of known faults cannot be fetched")
    assert "audit" not in findings()
