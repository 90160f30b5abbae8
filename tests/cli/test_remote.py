"""The commands about worlds on servers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import fails, ok, run
from tests.support.primaries import ended, sqld_or_skip


def test_from_one_file_to_a_primary_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sqld_or_skip()
    monkeypatch.setenv("WORLDS_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "kb.nt"
    source.write_text('<http://ex/a> <http://ex/p> "red kite" .\n')
    ok("load", tmp_path / "kb.db", source, "--embedder", "none")
    folder = tmp_path / "primary"
    command = [sys.executable, "-m", "worlds", "remote", "primary", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+:\d+", server.stdout.readline())
            assert found is not None
            url = f"{found[0]}/kb"
            assert "own key" in fails(3, "remote push", tmp_path / "kb.db", url, "--key", "wrong")
            ok("remote push", tmp_path / "kb.db", url, "--key", (folder / "keys" / "admin").read_text())
            monkeypatch.setenv("WORLDS_PRIMARY_TOKEN", ok("remote token", folder, "kb", "--days", "1").strip())
            source.write_text('<http://ex/b> <http://ex/p> "blue lake" .\n')
            ok("load", url, source, "--embedder", "none")
            assert json.loads(ok("search", url, "lake", "--mode", "text", "--json"))["hits"][0]["text"] == "blue lake"
            assert json.loads(ok("stats", url, "--json"))["quads"] == 2
            (replica,) = (tmp_path / "cache" / "replicas").glob("*/kb.db")
            assert json.loads(ok("remote replica", replica, "--json"))["revision"] == 2
            for known in (url, replica):
                told = json.loads(run("doctor", known, "--embedder", "none", "--json").stdout)["findings"]
                (finding,) = (one for one in told if one["topic"] == "replica")
                assert (finding["state"], "revision 2" in finding["message"]) == ("ok", True)
            ok("remote pull", url, tmp_path / "copy.db")
            assert json.loads(ok("stats", tmp_path / "copy.db", "--json"))["quads"] == 2
            assert "is a replica" in fails(7, "load", replica, source)
            assert "not a replica" in fails(3, "remote replica", source)
        finally:
            server.terminate()
            server.wait(20)
            ended(tmp_path / "cache" / "replicas")
