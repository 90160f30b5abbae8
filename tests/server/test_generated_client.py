"""A client that openapi-python-client makes of the document can be type-checked, and calls the server.

The command is taken from OPENAPI_CLIENT, or the PATH. It has a Typer of its own, so it is not among the dependencies:
`python -m venv /somewhere && /somewhere/bin/pip install openapi-python-client`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.project.test_parity import make
from tests.support.serving import served
from worlds.doors.server.api.openapi import document
from worlds.doors.server.keys import keys_of

_PLAIN = (  # what is no JSON is sent and given as bytes
    *("text/turtle", "application/n-triples", "application/n-quads", "application/trig", "application/rdf+xml"),
    *("application/ld+json", "application/sparql-query", "application/sparql-update", "text/csv", "text/html"),
    *("application/sparql-results+json", "application/sparql-results+xml", "text/tab-separated-values", "text/plain"),
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    command = shutil.which(os.environ.get("OPENAPI_CLIENT") or "openapi-python-client")
    if command is None:
        pytest.skip("there is no openapi-python-client: install it apart, and name it by OPENAPI_CLIENT")
    folder = tmp_path_factory.mktemp("client")
    (folder / "openapi.json").write_text(json.dumps(document("kb")))
    types = {**dict.fromkeys(_PLAIN, "application/octet-stream"), "application/problem+json": "application/json"}
    (folder / "config.json").write_text(json.dumps({"content_type_overrides": types}))
    target = folder / "worlds_client"
    options = ["--path", folder / "openapi.json", "--config", folder / "config.json", "--output-path", target]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where ruff is
    done = subprocess.run(
        [command, "generate", *map(str, options), "--meta", "none"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout, done.stdout
    sys.path.insert(0, str(folder))
    yield target
    sys.path.remove(str(folder))


def test_every_operation_has_a_function(made: Path) -> None:
    wanted = {
        operation["operationId"]
        for path in document("kb")["paths"].values()
        for operation in path.values()
        if isinstance(operation, dict) and "operationId" in operation
    }
    there = {file.stem for file in (made / "api").glob("*/*.py")} - {"__init__"}
    assert there == wanted


def test_it_calls_the_server(made: Path, tmp_path: Path) -> None:
    make(tmp_path / "kb.db")
    key = keys_of(tmp_path / "kb.db").add("ann", {"*": "admin"})[1]
    package: Any = import_module("worlds_client")
    models: Any = import_module("worlds_client.models")

    def call(name: str, *arguments: Any, **options: Any) -> Any:
        return import_module(f"worlds_client.api.{name}").sync_detailed(*arguments, client=client, **options)

    with served(tmp_path / "kb.db") as server:
        client = package.AuthenticatedClient(base_url=server.url, token=key)
        found = call("world.search", q="water", limit=3).parsed
        assert [type(hit) for hit in found.hits] == [models.RankedHit] * 3
        assert call("world.entity", "ex:Curiosity").parsed.label == "Mars Science Laboratory"
        report = call("world.shapes.validate").parsed
        assert report.conforms is False
        assert report.results[0].severity
        facts = call("world.context", q="What did Stardust bring?").parsed.facts
        assert facts[0].quads[0].revision == 1
        found = call("world.curation.contradictions", limit=3).parsed
        assert {finding.kind for finding in found.findings} <= set(found.counts.additional_properties)
        proposed = call("curation.propose", body=models.ProposeBody(add="<urn:a> <urn:b> <urn:c> .", why="heard"))
        assert (proposed.status_code, proposed.parsed.status) == (201, "open")
        assert call("graph_store.delete_graph", graph="urn:none").status_code == 404
        client.get_httpx_client().close()


@pytest.mark.slow
def test_it_can_be_type_checked(made: Path) -> None:
    use = made.parent / "use.py"
    use.write_text(USE)
    command = [sys.executable, "-m", "mypy", "--no-incremental", "--strict", "--follow-imports=silent", str(use)]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, cwd=made.parent)
    assert checked.returncode == 1, checked.stdout
    assert [line.partition(": ")[0] for line in checked.stdout.splitlines()[:-1]] == ["use.py:10"], checked.stdout


USE = """\
from worlds_client import AuthenticatedClient
from worlds_client.api.world import search
from worlds_client.models import RankedHit, SearchResults

found = search.sync(client=AuthenticatedClient(base_url="http://localhost", token="k"), q="water", limit=3)
assert isinstance(found, SearchResults)
hits: list[RankedHit] = found.hits
score: float = hits[0].score
quad: list[str | None] = hits[0].quads[0]
wrong: int = hits[0].subject
"""
