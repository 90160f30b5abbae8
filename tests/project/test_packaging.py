"""What pyproject.toml promises: a door's extra brings what the door imports, the set-up what the tests import."""

from __future__ import annotations

import re
import runpy
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.project.test_layout import MODULES, imported

ROOT = Path(__file__).resolve().parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
# Which extras a module may need, besides the dependencies; the first that fits.
NEEDS = {
    "worlds.doors.server.": ("server",),
    "worlds.doors.mcp.": ("mcp",),
    "worlds.doors.cli.mcp": ("mcp",),
    "worlds.doors.cli.sources": ("sources",),
    "worlds.extras.sources.tables.rows": ("sources",),
    "worlds.extras.documents.pdf": ("sources",),
    "worlds.doors.cli.": ("server",),
    "worlds.adapters.langchain": ("langchain",),
    "worlds.adapters.llamaindex": ("llamaindex",),
    "worlds.core.embedders.": ("semantic", "onnx", "model"),
    "worlds.groups.parallel_embedding": ("cluster",),
    "worlds.core.search.rerank": ("semantic",),
    "worlds.extras.documents.html": ("html",),
    "worlds.extras.publishing.site": ("publish",),
    "worlds.extras.remote.": ("remote",),
    "worlds.adapters.langgraph.": ("langgraph",),
    "worlds.sql.hrana": ("remote",),
}
# What is imported where it is there, and comes with another package: torch and the hub with sentence-transformers.
COMES_ALONG = {"huggingface_hub", "torch", "transformers"}


def names(requirements: list[str]) -> set[str]:
    """The distributions that requirements name, in lower case."""
    return {re.split(r"[^\w.-]", line, maxsplit=1)[0].lower().replace("_", "-") for line in requirements}


def distributions() -> dict[str, set[str]]:
    """Importable name → the distributions that bring it."""
    return {
        name: {one.lower().replace("_", "-") for one in found}
        for name, found in metadata.packages_distributions().items()
    }


def foreign(module: str) -> set[str]:
    """The packages that a module imports, wherever in it, that are neither ours nor Python's."""
    found = {name.partition(".")[0] for name in imported(module)}
    return found - set(sys.stdlib_module_names) - {"worlds", "__future__"}


def test_every_door_imports_what_its_extra_brings() -> None:
    known = distributions()
    for module in MODULES:
        extras = next((given for start, given in NEEDS.items() if f"{module}.".startswith(start)), ())
        declared = names(PROJECT["project"]["dependencies"]).union(*(names(EXTRAS[extra]) for extra in extras))
        for package in foreign(module) - COMES_ALONG:
            brought = known.get(package, set()) | {package.replace("_", "-")}
            assert brought & declared, f"{module} imports {package}, which {extras or 'the dependencies'} do not bring"


def test_one_extra_brings_all_features() -> None:
    (line,) = EXTRAS["all"]
    assert set(re.findall(r"[\w-]+", line.partition("[")[2])) == set(EXTRAS) - {
        "all",
        "dev",
        "docs",
        "cluster",
        "libsql",
        "rivals",
        "sqlite",
    }  # Ray is larger than all else; rivals are measured alone; the drivers come with the package
    assert '".[all,docs,dev]"' in (ROOT / "dev.py").read_text("utf-8")


def test_the_tests_import_what_the_set_up_brings() -> None:
    known = distributions()
    declared = names(PROJECT["project"]["dependencies"]).union(*map(names, EXTRAS.values()))
    for file in sorted((ROOT / "tests").glob("*.py")):
        text = file.read_text("utf-8")
        for package in set(re.findall(r"(?m)^(?:from|import) (\w+)", text)):
            if package in sys.stdlib_module_names or package in {"worlds", "tests", "benchmarks", "__future__"}:
                continue
            brought = known.get(package, set()) | {package.replace("_", "-")}
            assert brought & declared, f"{file.name} imports {package}"


def test_every_package_is_in_the_wheel() -> None:
    folders = {file.parent.relative_to(ROOT) for file in (ROOT / "worlds").rglob("__init__.py")}
    for name in ("graph", "sql"):  # links, which rglob does not follow
        folders |= {Path("worlds") / file.parent.relative_to(ROOT) for file in (ROOT / name).rglob("__init__.py")}
    found = {".".join(folder.parts) for folder in folders if "node_modules" not in folder.parts}
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == found


@pytest.mark.parametrize("extra", EXTRAS)
def test_no_requirement_is_without_a_bound(extra: str) -> None:
    for line in EXTRAS[extra]:
        assert line.startswith("worlds-kg[") or re.search(r"[<>=]=?\d", line), line


def test_what_is_installed_here_satisfies_what_is_asked_for() -> None:
    requirements = pytest.importorskip("packaging.requirements", reason="packaging comes with pytest")
    for line in [*PROJECT["project"]["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]:
        asked = requirements.Requirement(line)
        if asked.name == "worlds-kg" or (asked.marker is not None and not asked.marker.evaluate()):
            continue
        try:
            version = metadata.version(asked.name)
        except metadata.PackageNotFoundError:
            continue
        assert asked.specifier.contains(version, prereleases=True), f"{asked}, and {version} is installed"


def test_the_set_up_takes_the_versions_that_were_tested() -> None:
    requirements = pytest.importorskip("packaging.requirements", reason="packaging comes with pytest")
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == [], "a name and a version, no more"
    pinned = {re.sub(r"[-_.]+", "-", name).lower(): version for name, _, version in (x.partition("==") for x in lines)}
    assert "torch" not in pinned, "dev.py pins it: the index that has a build for the CPU differs"
    for line in [*PROJECT["project"]["dependencies"], *EXTRAS["all"], *(one for x in EXTRAS.values() for one in x)]:
        asked = requirements.Requirement(line)
        version = pinned.get(re.sub(r"[-_.]+", "-", asked.name).lower())
        if asked.name not in ("worlds-kg", "ray") and (asked.marker is None or asked.marker.evaluate()):
            assert version is not None, f"constraints.txt has no {asked.name}"
            assert asked.specifier.contains(version, prereleases=True), line


def test_the_environment_is_made_anew_when_its_packages_change_and_for_nothing_else() -> None:
    needed = runpy.run_path(str(ROOT / "dev.py"))["needed"]
    text, pinned = (ROOT / "pyproject.toml").read_text("utf-8"), "numpy==2.4.0\n"
    assert needed(text, pinned) != needed(text, "numpy==2.4.1\n")
    for same in ("# a comment\n" + text, text.replace('license = "MIT"', 'license = "ISC"')):
        assert same != text
        assert needed(same, pinned) == needed(text, pinned)
    for other in (text.replace("numpy>=2.0", "numpy>=2.1"), text.replace('    "worlds.doors.cli",\n', "")):
        assert other != text
        assert needed(other, pinned) != needed(text, pinned)
