"""The documentation site builds without a warning, its commands run, and all there is is documented in it."""

from __future__ import annotations

import asyncio
import doctest
import importlib.util
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import typer
from typer.testing import CliRunner

import worlds
import worlds.records
from tests.project.test_readme import RUN, SHOWN, Block, blocks, folder
from worlds.core.search.options import OPTIONS
from worlds.doors.cli import app
from worlds.settings import SETTINGS
from worlds.verbs.table import VERBS

__all__ = ["folder"]  # a fixture

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GUIDES = sorted((DOCS / "how-to").glob("*.md"))
TUTORIAL = DOCS / "tutorial.md"


# --- the site ---------------------------------------------------------------------------------------------------------


WITHOUT_SIGNATURES = f"""
INHERIT: {ROOT / "mkdocs.yml"}
docs_dir: {DOCS}
hooks: [{DOCS / "generate.py"}]
plugins: []
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """The site, with --long built as a user would build it; else without Python's signatures and a search index."""
    for name in ("mkdocs", "material", "mkdocstrings", "mkdocstrings_handlers"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name}, of the extra docs, is not installed")
    need_the_doors()
    target, config = tmp_path_factory.mktemp("site"), ROOT / "mkdocs.yml"
    if not pytestconfig.getoption("--long"):
        config = tmp_path_factory.mktemp("config") / "mkdocs.yml"
        config.write_text(WITHOUT_SIGNATURES)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "--site-dir", str(target)],
        cwd=ROOT,
        env={**os.environ, "NO_COLOR": "1", "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    assert "WARNING" not in done.stderr, done.stderr
    return target


class Page(HTMLParser):
    """What a page links to, loads, and can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in ("script", "img") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "link" and given.get("rel") in ("stylesheet", "icon", "preconnect"):
            self.loaded.append(given["href"])


@pytest.mark.slow
def test_every_link_of_the_site_leads_somewhere(site: Path) -> None:
    pages = {file: Page(file.read_text("utf-8")) for file in site.rglob("*.html")}
    assert len(pages) > 30
    dead = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or file.name == "404.html":
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            known = pages[target].anchors if target in pages else set()
            if not target.exists() or (anchor and target in pages and anchor not in known and anchor != "__top"):
                dead.append(f"{file.relative_to(site)}: {link}")
    assert dead == []


@pytest.mark.slow
def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    for file in site.rglob("*.html"):
        for address in Page(file.read_text("utf-8")).loaded:
            assert not urlsplit(address).netloc, f"{file.relative_to(site)}: {address}"


def test_the_navigation_has_every_page() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    named = set(re.findall(r"(?:- |: )([\w/-]+\.md)$", navigation, flags=re.MULTILINE))
    written = {file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md")}
    assert named == written | generated().pages().keys()


def need_the_doors() -> None:
    """Skip where the reference cannot be generated."""
    for name, extra in (("starlette", "server"), ("mcp", "mcp")):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name}, of the extra {extra}, is not installed")


def generated() -> Any:
    """The hook that generates pages."""
    need_the_doors()
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- what the guides show ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", GUIDES, ids=lambda file: file.stem)
@pytest.mark.usefixtures("folder")
def test_a_guide_works(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # as where it is not installed
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    languages = re.findall(r"^```(\w+)$", file.read_text("utf-8"), flags=re.MULTILINE)
    assert set(languages) <= RUN | SHOWN
    names: dict[str, object] = {"__name__": "__main__"}
    printed, after = "", 0  # the output of the last block of commands, and the line where it may be shown
    for block in blocks("python", "pycon", "console", "text", files=[file]):
        if block.language == "text":
            shown = block.content.splitlines() if block.line == after else []
            assert [line for line in shown if line.rstrip("…") not in printed] == [], f"{block}:\n{printed}"
        elif block.language == "console":
            printed, after = "", block.line + block.content.count("\n") + 3
            for line in block.content.splitlines():
                assert line.startswith("$ worlds "), block
                command = shlex.split(line)[2:]
                result = CliRunner().invoke(app, command, prog_name="worlds", env={"COLUMNS": "120"})
                assert result.exit_code == 0, f"{block}: {line}\n{result.output}"
                printed += result.output
        else:
            run_block(block, names)


def run_block(block: Block, names: dict[str, object]) -> None:
    if block.language == "python":
        exec(compile(block.content, str(block), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.content, names, str(block), str(block), block.line - 1)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=said.append, clear_globs=False)
    names.update(test.globs)
    assert not runner.failures, "".join(said)


def test_the_commands_of_a_guide_have_these_options() -> None:
    tree = typer.main.get_command(app)
    for block in blocks("sh", files=[*GUIDES, TUTORIAL]):
        for line in re.split(r"[|;&]+|\n|\$\(", block.content.replace("\\\n", " ")):
            words = shlex.split(line.replace("'", " ").replace('"', " "), comments=True)
            if words[:1] != ["worlds"]:
                continue
            command: Any = tree
            names = words[1:]
            while names and (inner := getattr(command, "commands", {}).get(names[0])):
                command, names = inner, names[1:]
            assert not hasattr(command, "commands"), f"{block}: {line}"
            options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
            assert {word.partition("=")[0] for word in names if re.match(r"--?[a-z]", word)} <= options, block


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_the_tutorial_can_be_followed_word_for_word(tmp_path: Path) -> None:
    if shutil.which("bash") is None or shutil.which("curl") is None:
        pytest.skip("the tutorial is written for bash and curl")
    need_the_doors()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shown = blocks("sh", "text", files=[TUTORIAL])
    script, expected = ["set -e", "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT"], []
    for number, block in enumerate(shown):
        content = block.content.replace("8080", str(port))
        if block.language == "sh" and not content.startswith("pip "):
            script += [f"echo; echo '=== {number}'", content]
        elif block.language == "text" and not any(
            one.content.startswith("pip ") for one in shown[number - 1 : number + 1]
        ):
            expected.append((number - 1, content))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "worlds").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m worlds "$@"\n')
    (tmp_path / "bin" / "worlds").chmod(0o755)
    (tmp_path / "empty").mkdir()
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=tmp_path / "empty",
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "120"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    parts = dict(re.findall(r"^=== (\d+)\n(.*?)(?=^=== |\Z)", done.stdout, flags=re.MULTILINE | re.DOTALL))
    assert len(expected) > 10
    for number, content in expected:
        pattern = re.escape(content.strip()).replace(re.escape("..."), ".+")
        lines = "\n".join(line.rstrip() for line in parts[str(number)].strip().splitlines())
        assert re.fullmatch(pattern, lines), f"{shown[number]}:\n{lines}\n--- instead of\n{content}"


# --- how much there is to read ----------------------------------------------------------------------------------------


def test_the_documents_have_at_most_45_000_words() -> None:
    """A word has a letter or a digit; tables that are made from the code or by a benchmark do not count."""
    made = [generated().doors().rstrip(), generated().search_options()]
    setting = re.compile(r"^\| `[\w.]+` \| `WORLDS_\w+` \|.*$", flags=re.MULTILINE)
    words = 0
    for file in (ROOT / "README.md", *DOCS.rglob("*.md")):
        text = re.sub("<!-- rivals -->.*<!-- /rivals -->", "", file.read_text("utf-8"), flags=re.DOTALL)
        for table in made:
            text = text.replace(table, "")
        words += sum(re.search(r"\w", word) is not None for word in setting.sub("", text).split())
    assert 20_000 < words <= 45_000


def test_measured_figures_stand_below_commands_that_there_are() -> None:
    document = (DOCS / "benchmarks.md").read_text("utf-8")
    for section in document.partition("\n## ")[2].split("\n## "):
        commands = re.findall(r"-m benchmarks\.(\w+)|(dev\.py attack|`worlds \w+)", section)
        assert commands, section.partition("\n")[0]
        assert all((ROOT / "benchmarks" / f"{name}.py").exists() for name, other in commands if not other)


# --- what there is, is documented -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def everything() -> str:
    """All that is written in docs/ and the README; what is generated documents itself."""
    files = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
    return "\n".join(file.read_text("utf-8") for file in files)


def commands(group: Any, prefix: str = "worlds") -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}"


def test_every_command_is_documented(everything: str) -> None:
    names = list(commands(typer.main.get_command(app)))
    assert len(names) > 20
    assert [name for name in names if not re.search(rf"{name}\b", everything)] == []
    reference = generated().commands()
    assert [name for name in names if f"\n## {name}\n" not in reference] == []


def test_the_design_names_modules_and_layers_that_there_are() -> None:
    document = (DOCS / "design.md").read_text("utf-8")
    modules = set(re.findall(r"`((?:worlds|graph|sql)/[\w/.]+)`", document))
    assert len(modules) > 20
    assert [name for name in sorted(modules) if not (ROOT / name).exists()] == []
    drawn = document.partition("\n## Layers\n")[2].partition("\n## ")[0]
    lines = [
        line for line in re.sub(r"^\|.*\n\| --- ", "", drawn, flags=re.MULTILINE).splitlines() if line.startswith("| `")
    ]
    rows = [set(re.findall(r"`(\w+)(?:/|\.py)`", line.split(" | ")[0])) for line in lines]
    face, *floors = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][:4]
    for contract in floors:
        layers = [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]
        assert [row for row in rows if row in layers] == layers
    named = {name for layer in face["layers"] for name in re.findall(r"\w+", layer)} - {"__main__"}
    assert [name for name in sorted(named) if not re.search(rf"`{name}(?:/|\.py)`", document)] == []


def test_the_table_of_search_options_is_as_they_are() -> None:
    table = generated().search_options()
    document = (DOCS / "search.md").read_text("utf-8")
    assert table in document, f"docs/search.md wants this table:\n{table}"
    assert [name for name in OPTIONS if not re.search(rf"`{name}[`=]", document.replace(table, ""))] == []


def test_the_tables_of_the_doors_are_the_tables_of_the_verbs() -> None:
    tables = generated().doors()
    assert tables.rstrip() in (DOCS / "verbs.md").read_text("utf-8"), f"docs/verbs.md wants these tables:\n{tables}"


def test_every_setting_is_documented(everything: str) -> None:
    assert [name for name in SETTINGS if f"`{name}`" not in everything] == []


def test_every_public_name_is_documented(everything: str) -> None:
    names = [*worlds.__all__, *worlds.records.__all__]
    assert [name for name in names if not re.search(rf"\b{name}\b", everything)] == []
    reference = generated().python() + generated().errors()
    assert [name for name in names if not re.search(rf"^::: worlds\.\S*\b{name}$", reference, re.MULTILINE)] == []


def test_the_errors_have_the_codes_that_are_documented() -> None:
    need_the_doors()
    from worlds.doors.cli.exit_codes import exit_code

    rows = re.findall(r"^\| `(\w+)` \|.*\| (\d+) \| (\d+) \|$", (DOCS / "python.md").read_text("utf-8"), re.MULTILINE)
    errors = {name: getattr(worlds, name) for name in worlds.__all__ if generated().is_error(getattr(worlds, name))}
    told = {name: (int(code), int(status)) for name, code, status in rows}
    assert told == {name: (exit_code(error("")), error.status) for name, error in errors.items()}


def test_every_verb_of_a_world_is_documented(everything: str) -> None:
    verbs = [row.method for row in VERBS.values()]
    assert [verb for verb in verbs if not re.search(rf"\b{verb}\b", everything)] == []


@pytest.mark.long
def test_every_verb_of_a_world_is_in_the_reference(site: Path) -> None:
    reference = (site / "reference" / "python.html").read_text("utf-8")
    verbs = [row.method for row in VERBS.values()]
    assert [verb for verb in verbs if not re.search(rf'id="worlds\.[\w.]+\.{verb}"', reference)] == []


def test_every_endpoint_is_documented() -> None:
    need_the_doors()
    from worlds.doors.server.api.operations import operations

    there = {(operation.method, operation.path) for operation in operations() if operation.path}
    assert len(there) > 20
    page = (DOCS / "server.md").read_text("utf-8")
    told = set(re.findall(r"`(GET|HEAD|PUT|POST|DELETE) (/[^`]*)`", (DOCS / "verbs.md").read_text("utf-8")))
    for route in re.findall(r"^\| (`(?:GET|HEAD|PUT|POST|DELETE)`[^|]*) \|", page, flags=re.MULTILINE):
        names = re.findall(r"`([^`]+)`", route)
        paths = [name for name in names if name.startswith("/")]
        told |= {(method, path) for method in names if method not in paths for path in paths}
    assert told == there
    reference = generated().http()
    for operation in operations():
        path = f"/worlds/{{world}}{operation.path}" if operation.of_world else operation.path
        assert f"## {operation.method} {path}\n" in reference, path


def test_every_tool_is_documented() -> None:
    need_the_doors()
    from worlds.doors.mcp.server import WorldServer
    from worlds.doors.mcp.toolbox import Service

    with worlds.open(embedder=None) as world:
        tools = asyncio.run(WorldServer(Service(world, allow_writes=True)).list_tools())
    reference = generated().tools()
    assert len(tools) > 6
    assert [tool.name for tool in tools if f"\n## {tool.name}\n" not in reference] == []
    page = (DOCS / "mcp.md").read_text("utf-8")
    assert [tool.name for tool in tools if f"`{tool.name}`" not in page] == []
    assert [tool.name for tool in tools if not (tool.description or "").strip()] == []
