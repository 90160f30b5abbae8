"""What the documents show works, and what there is, they name."""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import worlds
from tests.support.drivers import native
from tests.support.embedder import HashingEmbedder
from worlds.core.embedders import reason_without
from worlds.core.search.options import gathered
from worlds.core.search.plans import EXACT, EXACT_WITHOUT_CODES, INDEX_CANDIDATES, INDEX_FROM
from worlds.core.vectors.codes import MOST
from worlds.doors.cli import app
from worlds.sql import schema

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

RUN = {"python", "pycon", "console", "sql"}  # languages of blocks that the tests run
SHOWN = {"html", "http", "json", "jsonc", "py", "sh", "sparql", "text", "toml", "yaml"}  # py: what needs a server


@dataclass(frozen=True)
class Block:
    """A fenced block of a document; `line` is where its content begins, from 1."""

    file: Path
    line: int
    language: str
    content: str

    def __str__(self) -> str:
        return f"{self.file.name}:{self.line}"


def blocks(*languages: str, files: list[Path] = DOCUMENTS) -> list[Block]:
    found = []
    for file in files:
        text = file.read_text("utf-8")
        for match in re.finditer(r"^```(\w*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
            block = Block(file, text.count("\n", 0, match.start()) + 2, match[1], match[2])
            if block.language in languages:
                found.append(block)
    return found


# --- what runs --------------------------------------------------------------------------------------------------------

# A process in which nothing that runs a model is installed, whatever this machine has.
WITHOUT_MODEL = "import sys; sys.modules['sentence_transformers'] = sys.modules['onnxruntime'] = None; "


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the examples."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def python(code: str, *arguments: str, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        [sys.executable, "-W", "error::ResourceWarning", "-c", code, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


NATIVE = ("search.md",)  # which shows a search by the native vector index


@pytest.mark.parametrize(
    "file",
    [pytest.param(file, marks=[native] if file.name in NATIVE else []) for file in DOCUMENTS],
    ids=lambda file: file.name,
)
def test_the_python_of_a_document_runs(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # as where it is not installed
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    run_document(file)


@native
def test_the_sql_of_the_readme_is_the_statement_that_runs(folder: Path) -> None:
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.load("examples/space.ttl")
        asked: dict[str, Any] = {"types": "s:Rover", "plan": "index", "fusion": "rrf"}
        ran = [one.sql for one in world.search_sql("drilling", **gathered(asked)) if one.step == "statement"]
    (block,) = blocks("sql")
    assert "vector_top_k" in block.content
    assert "chunks_fts" in block.content
    for piece in block.content.split("…\n"):
        assert piece.rstrip() in ran[0]


@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(1800)
def test_the_python_of_the_readme_runs_with_the_model(folder: Path) -> None:
    if reason := reason_without():
        pytest.skip(reason)
    run_document(ROOT / "README.md")


def run_document(file: Path) -> None:
    names: dict[str, object] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for block in blocks("python", "pycon", files=[file]):
        if block.language == "python":
            exec(compile(block.content, str(block), "exec"), names)
        else:
            test = doctest.DocTestParser().get_doctest(block.content, names, str(block), str(block), block.line - 1)
            said: list[str] = []
            runner.run(test, out=said.append, clear_globs=False)
            names.update(test.globs)
            assert not runner.failures, "".join(said)


def test_the_readme_shows_the_output_of_its_code(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that ends in an ellipsis is shown in part."""
    for module in ("sentence_transformers", "onnxruntime"):
        monkeypatch.setitem(sys.modules, module, None)
    readme = [ROOT / "README.md"]
    printed, names = io.StringIO(), dict[str, object]()
    compared = 0
    for block in blocks("python", "console", "text", files=readme):
        if block.language == "text":
            for line in block.content.splitlines():
                assert line.rstrip("…") in printed.getvalue(), block
                compared += 1
        elif block.language == "python":
            with contextlib.redirect_stdout(printed):
                exec(compile(block.content, str(block), "exec"), names)
        else:
            for line in block.content.splitlines():
                if (words := shlex.split(line))[1] == "worlds":
                    printed.write(CliRunner().invoke(app, words[2:], prog_name="worlds", env={"COLUMNS": "300"}).output)
    assert compared >= 6


def commands() -> Iterator[tuple[Block, list[str]]]:
    for block in blocks("console"):
        for line in block.content.splitlines():
            assert line.startswith("$ "), f"{block} has output, which nothing compares: {line}"
            yield block, shlex.split(line.removeprefix("$ "))


def test_the_commands_shown_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    shown = [command for _, command in commands() if command[0] == "worlds"]
    assert len(shown) >= 6
    for _, *arguments in shown:
        assert not {"|", ">", "&&", ";"} & set(arguments), f"the test knows no shell: {arguments}"
        result = CliRunner().invoke(app, arguments, prog_name="worlds")
        assert result.exit_code == 0, f"{arguments}\n{result.output}"
        assert result.stdout, arguments


def test_the_other_commands_shown_are_known() -> None:
    known = runpy.run_path(str(ROOT / "dev.py"))["__doc__"]
    for block, command in commands():
        if command[:2] == ["python3", "dev.py"]:
            assert f"python3 dev.py {command[2]} " in known, block
        else:
            assert command[0] in ("worlds", "pip"), block


def test_the_commands_that_only_are_shown_have_these_options() -> None:
    """What waits for clients, or goes through a pipe, does not run here; but its commands and options exist."""
    shown = [
        (block, words)
        for block in blocks("sh")
        for line in re.split(r"[|;&]+|\n|\$\(", block.content.replace("\\\n", " "))
        if (words := shlex.split(line.replace("'", " ").replace('"', " "), comments=True))[:1] == ["worlds"]
    ]
    assert shown
    tree = typer.main.get_command(app)
    for block, (_, *words) in shown:
        command = tree
        while words and (inner := getattr(command, "commands", {}).get(words[0])):
            command, words = inner, words[1:]
        assert not hasattr(command, "commands"), f"{block}: there is no command {words[:1]}"
        options = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
        used = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        assert used <= options | {"--help"}, block


def test_torch_is_pinned_as_in_the_set_up() -> None:
    torch = runpy.run_path(str(ROOT / "dev.py"))["TORCH"]
    assert [line for block in blocks("console") for line in block.content.splitlines() if torch in line]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.name)
def test_an_example_runs_without_a_model(example: Path, tmp_path: Path) -> None:
    run_example(example, tmp_path, before=WITHOUT_MODEL)


@pytest.mark.long
@pytest.mark.model
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda file: file.name)
def test_an_example_runs_with_the_model(example: Path, tmp_path: Path) -> None:
    if reason := reason_without():
        pytest.skip(reason)
    said = run_example(example, tmp_path)
    assert "all-MiniLM-L6-v2" in said


def run_example(example: Path, folder: Path, before: str = "") -> str:
    said = python(f"{before}import runpy; runpy.run_path({str(example)!r}, run_name='__main__')", folder=folder)
    assert "vectors agree: yes" in said
    return said


# --- what is named ----------------------------------------------------------------------------------------------------


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_every_block_says_its_language() -> None:
    for file in DOCUMENTS:
        fences = re.findall(r"^```(\w*)$", file.read_text("utf-8"), flags=re.MULTILINE)
        assert set(fences[::2]) <= RUN | SHOWN, file
        assert set(fences[1::2]) <= {""}, file


def test_every_link_leads_somewhere() -> None:
    for file in [*DOCUMENTS, ROOT / "CHANGELOG.md"]:
        for target in re.findall(r"\]\(([^)]+)\)", file.read_text("utf-8")):
            path, _, anchor = target.partition("#")
            if path.startswith("https://"):
                continue
            linked = file.parent / path if path else file
            assert linked.is_file(), f"{file.name}: {target}"
            if anchor:
                headings = re.findall(r"^#+ (.+)$", linked.read_text("utf-8"), flags=re.MULTILINE)
                assert anchor in {heading.lower().replace(" ", "-") for heading in headings}, target


def test_the_design_names_every_folder() -> None:
    design = text_of("docs/design.md")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    if tracked.returncode:
        pytest.skip("this is no clone")
    folders = {name.split("/")[0] for name in tracked.stdout.splitlines() if "/" in name}
    assert {folder for folder in folders if f"`{folder}/`" not in design} == set()


def test_the_readme_fits_on_two_screens() -> None:
    assert len(text_of("README.md").splitlines()) <= 110


def test_every_member_of_a_hit_is_documented() -> None:
    document = text_of("docs/search.md")
    members = {name for name in worlds.records.Hit.__dataclass_fields__ if not name.startswith("_")} | {
        "quads",
        "snippet",
    }
    assert {name for name in members - {"chunk"} if f"`{name}`" not in document} == set()


def test_every_table_is_documented() -> None:
    document = text_of("docs/storage.md")
    tables = re.findall(r"^CREATE (?:VIRTUAL )?(?:TABLE|VIEW) (\w+)", schema(), flags=re.MULTILINE)
    assert len(tables) > 10
    assert {table for table in [*tables, "vectors"] if f"| `{table}` |" not in document} == set()


def test_the_limits_of_the_plans_are_as_documented() -> None:
    document = text_of("docs/storage.md")
    for limit in (EXACT, EXACT_WITHOUT_CODES, INDEX_FROM, INDEX_CANDIDATES, MOST):
        assert f"{limit:,}" in document


def test_the_changelog_has_this_version() -> None:
    version = re.search(r'^version = "(.+)"$', text_of("pyproject.toml"), flags=re.MULTILINE)
    assert version
    assert f"## [{version[1]}]" in text_of("CHANGELOG.md")
