"""worlds sources add-document."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rdflib import Literal
from typer.testing import CliRunner

import worlds
from tests.support.documents import KITES, said
from worlds.doors.cli import app
from worlds.extras.documents.conversion import FORMATS, PACKED


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)
    notes = tmp_path / "notes"
    (notes / "deep").mkdir(parents=True)
    (notes / "red kite.md").write_text(KITES)
    (notes / "deep" / "page.html").write_text("<title>A page</title><p>Herons.")
    (notes / "deep" / ".hidden.md").write_text("hidden")
    (notes / "picture.png").write_bytes(b"\x89PNG")

    def run(*arguments: str, code: int = 0) -> Any:
        result = CliRunner().invoke(app, ["sources", "add-document", "kb.db", *arguments, "--embedder", "none"])
        assert result.exit_code == code, result.output
        return result

    return run


def test_the_command_adds_a_folder(run: Callable[..., Any]) -> None:
    told = json.loads(run("notes", "--base", "https://example.org/n/", "--author", "ann", "--json").stdout)
    assert (told["revision"], told["added"], told["removed"], told["pending"]) == (1, 6, 0, 4)
    assert [(document["iri"], document["changed"]) for document in told["documents"]] == [
        ("https://example.org/n/deep/page", True),
        ("https://example.org/n/red%20kite", True),
    ]
    Path("notes/deep/page.html").write_text("<title>A page</title><p>Cranes.")
    shown = run("notes", "--base", "https://example.org/n/").stdout
    assert re.search(r"(?m)^https://example.org/n/red%20kite .* no$", shown)
    assert re.search(r"(?m)^revision  2\nadded     1\nremoved   1$", shown)
    assert "revision" not in run("notes", "--base", "https://example.org/n/").stdout


@pytest.mark.parametrize("ending", PACKED)
def test_a_folder_s_packed_documents_are_read(ending: str, run: Callable[..., Any]) -> None:
    Path(f"notes/broken{ending.upper()}").write_bytes(b"no such document")
    assert f"broken{ending.upper()}" in run("notes", "--base", "urn:", code=4).output


def test_the_command_adds_a_file(run: Callable[..., Any]) -> None:
    run("notes/red kite.md", "--iri", "urn:kite", "--title", "Kite", "--date", "2024", "--graph", "urn:g", "--no-embed")
    run(
        "notes/red kite.md",
        "--iri",
        "urn:kite",
        "--type",
        "foaf:Document",
        "--predicate",
        "sioc:content",
        "--no-replace",
    )
    with worlds.open("kb.db", embedder=None) as world:
        assert said(world, "urn:kite", "urn:g")["title"] == {Literal("Kite")}
        assert {str(quad[2]) for quad in world.quads("urn:kite", "rdf:type", graph="default")} == {
            "http://xmlns.com/foaf/0.1/Document"
        }
        assert len(list(world.quads("urn:kite", "sioc:content"))) == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["notes"], 2),
        (["notes", "--base", "urn:a", "--iri", "urn:b"], 2),
        (["notes", "--iri", "urn:b"], 2),
        (["notes", "--base", "no iri "], 2),
        (["notes/red kite.md", "notes", "--base", "urn:"], 0),
        (["notes/red kite.md", "copy/red kite.txt", "--base", "urn:"], 2),
        (["nowhere", "--base", "urn:"], 3),
        (["empty", "--base", "urn:"], 3),
        (["notes/picture.png", "--base", "urn:"], 4),
        (["notes", "--base", "urn:", "--format", "pdf"], 2),
        (["notes", "--base", "urn:", "--date", "soon"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_exit_codes(arguments: list[str], code: int, run: Callable[..., Any]) -> None:
    Path("empty").mkdir()
    Path("copy").mkdir()
    Path("copy/red kite.txt").write_text("text")
    run(*arguments, code=code)
    if code:
        with worlds.open("kb.db", embedder=None) as world:
            assert not len(world)


def test_every_ending_has_one_format() -> None:
    endings = [ending for some in (*FORMATS.values(), PACKED) for ending in some]
    assert len(endings) == len(set(endings))
