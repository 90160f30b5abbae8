"""The folders and what is made of them: the wheel, the links, and which layer may know which."""

from __future__ import annotations

import ast
import functools
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import worlds
import worlds.records

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = {"worlds": "worlds", "graph": "worlds/graph", "sql": "worlds/sql"}  # in the repository → in the wheel

# What doors may use of the engine while they run, besides the public names: terms, formats and SPARQL; kinds of
# documents; which embedder a name means, where it lies, how it is run, and why there is none; what embedders of other
# libraries share; worlds on servers, and shards; the options of a search; the settings.
OPEN_TO_DOORS = {
    "worlds.aio",
    "worlds.extras.documents.conversion",
    "worlds.doors.version",  # that all of them tell
    "worlds.core.embedders.DEFAULT_MODEL",
    "worlds.extras.entities.names.alike",  # how what a protocol gives beside a name counts
    "worlds.extras.entities.names.stands_out",
    "worlds.extras.entities.names.weighed",
    "worlds.core.texts.policy.DOCUMENT",
    "worlds.core.texts.policy.TEXT",
    "worlds.core.embedders.adapted",
    "worlds.core.embedders.exported",
    "worlds.core.embedders.models.find_local",
    "worlds.core.embedders.models.installed",
    "worlds.extras.memory.memory_records.seen_through",  # what a key or an agent is shown
    "worlds.core.search.rerank.DEFAULT_RERANKER",
    "worlds.core.search.rerank.how_to_get",
    "worlds.core.embedders.reason_without",
    "worlds.core.embedders.resolve_embedder",
    "worlds.extras.sources.tables.quads",  # the rows of a table before it is loaded
    "worlds.extras.sources.tables.rows",
    "worlds.graph",
    "worlds.groups.parallel_embedding",
    "worlds.groups.shards",
    "worlds.permissions",
    "worlds.extras.remote",
    "worlds.core.search.options",
    "worlds.settings",
    "worlds.looks.look.answering",  # with conclusions or without, as the policy has it
    "worlds.verbs.table",
    "worlds.verbs.verb",
    "worlds.world",
}


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def files() -> list[str]:
    """The files of the repository: those that git tracks, and new ones that it does not ignore."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone, so git cannot tell which files belong to it")
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return sorted(name for name in listed if name and os.path.lexists(ROOT / name))


@pytest.fixture(scope="session")
def wheel(files: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built in a copy of the repository."""
    pytest.importorskip("setuptools", "77", reason="building the wheel needs setuptools>=77, which is in the dev extra")
    copy = tmp_path_factory.mktemp("clone")
    for name in files:
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
    out = tmp_path_factory.mktemp("wheel")
    code = f"from setuptools.build_meta import build_wheel; build_wheel({str(out)!r})"
    run(sys.executable, "-c", code, cwd=copy, WORLDS_WITHOUT_NODE="1")
    (built,) = out.iterdir()
    return built


# --- the wheel --------------------------------------------------------------------------------------------------------


def test_the_wheel_has_the_files_of_the_three_folders_and_no_others(files: list[str], wheel: Path) -> None:
    expected = set()
    for name in files:
        folder, _, rest = name.partition("/")
        if folder in FOLDERS and not (ROOT / name).is_symlink():
            expected.add(f"{FOLDERS[folder]}/{rest}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert len(names) == len(set(names))
    code = {name for name in names if ".dist-info/" not in name}
    assert code == expected
    assert {"worlds/py.typed", "worlds/graph/terms.py", "worlds/sql/schema.sql"} <= code
    assert {name.partition("/")[2] for name in set(names) - code} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "entry_points.txt",
        "licenses/LICENSE",
        "top_level.txt",
    }


def test_an_installed_wheel_works(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    pip = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-index", "--no-deps")
    run(sys.executable, *pip, "--target", site, wheel)
    assert {path.name for path in site.iterdir()} - {"bin", "Scripts"} == {"worlds", "worlds_kg-0.1.0.dist-info"}
    script = """
import worlds, worlds.doors.cli, worlds.graph.terms
from worlds.sql import SQL_FOLDER, migrations, schema, statements
for file in SQL_FOLDER.glob("*.sql"):
    statements(file.name)
print(worlds.__file__)
print(len(schema()), len(migrations()), statements("queries.sql")["any_quad"].sql)
with worlds.open("world.db", embedder=None) as world:
    world.add([("urn:s", "urn:p", '"red kite"')])
    print(world.search("kite")[0].text)
"""
    printed = run(sys.executable, "-c", script, cwd=tmp_path, PYTHONPATH=str(site)).splitlines()
    assert Path(printed[0]).is_relative_to(site)
    assert printed[1].endswith("SELECT 1 FROM quads LIMIT 1")
    assert printed[-1] == "red kite"
    version = run(sys.executable, "-m", "worlds", "--version", cwd=tmp_path, PYTHONPATH=str(site))
    assert version == "worlds 0.1.0\n"


# --- the names of modules ---------------------------------------------------------------------------------------------


def test_no_module_name_stands_more_than_twice(files: list[str]) -> None:
    names = Counter(Path(name).name for name in files if name.endswith(".py") and name.partition("/")[0] in FOLDERS)
    assert {name: count for name, count in names.items() if count > 2 and not name.startswith("__")} == {}


# --- the links --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["graph", "sql"])
def test_a_package_outside_worlds_is_linked_into_it(name: str, files: list[str]) -> None:
    assert f"worlds/{name}" in files
    mode, _, _, path = run("git", "ls-files", "--stage", f"worlds/{name}").split()
    assert (mode, path) == ("120000", f"worlds/{name}"), "git tracks it as a symbolic link"
    target = (ROOT / "worlds" / name).readlink()
    assert target == Path("..") / name


def test_a_checkout_without_symbolic_links_installs_and_imports(files: list[str], tmp_path: Path) -> None:
    """As git makes one on Windows, where a link is a file that holds its target."""
    pytest.importorskip("setuptools", "77", reason="installing needs setuptools>=77, which is in the dev extra")
    checkout, out, site = (tmp_path / name for name in ("checkout", "out", "site"))
    for name in files:
        target = checkout / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_symlink():
            target.write_text(str((ROOT / name).readlink()))
        else:
            shutil.copy2(ROOT / name, target)
    out.mkdir()
    build = f"from setuptools.build_meta import build_editable; build_editable({str(out)!r})"
    run(sys.executable, "-c", build, cwd=checkout, WORLDS_WITHOUT_NODE="1")
    with zipfile.ZipFile(next(out.iterdir())) as archive:
        archive.extractall(site)
    script = f"""
import site, sys
sys.path += {[str(site), *(path for path in sys.path if path.endswith("site-packages"))]!r}
site.addsitedir({str(site)!r})
import worlds, worlds.graph.terms, worlds.sql
with worlds.open(embedder=None) as world:
    world.add([("urn:s", "urn:p", '"red kite"')])
    print(world.search("kite")[0].text, worlds.__file__, worlds.graph.terms.__file__, worlds.sql.__file__, sep="\\n")
"""
    text, *places = run(sys.executable, "-S", "-c", script, cwd=tmp_path, PYTHONPATH="").splitlines()
    assert text == "red kite"
    found = [Path(place).relative_to(checkout).as_posix() for place in places]
    assert found == ["worlds/__init__.py", "graph/terms.py", "sql/__init__.py"]


# --- ruff -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    ["import graph", "import sql", "import graph.terms", "from graph import terms", "from sql.connection import Row"],
)
def test_ruff_bans_the_folders_as_packages_of_their_own(line: str, tmp_path: Path) -> None:
    assert banned(line, tmp_path)
    assert not banned(line.replace("graph", "worlds.graph").replace("sql", "worlds.sql"), tmp_path)


def banned(line: str, folder: Path) -> bool:
    file = folder / "module.py"
    file.write_text(line + "\n")
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--config", str(ROOT / "pyproject.toml")]
    done = subprocess.run(
        [*command, "--output-format", "json", str(file)], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return "TID251" in {finding["code"] for finding in json.loads(done.stdout)}


# --- layers -----------------------------------------------------------------------------------------------------------


def sources() -> dict[str, Path]:
    """Module → file, of the whole package."""
    found = {}
    for folder, package in FOLDERS.items():
        for file in sorted((ROOT / folder).rglob("*.py")):
            if not (folder == "worlds" and file.relative_to(ROOT / "worlds").parts[0] in FOLDERS):
                parts = [*Path(package).parts, *file.relative_to(ROOT / folder).with_suffix("").parts]
                found[".".join(parts).removesuffix(".__init__")] = file
    return found


MODULES = sources()


def imported(module: str, *, types: bool = True) -> set[str]:
    """What a module imports, at its top or later; with `types`, also what only a type checker sees."""
    return {name for name, only_types in _imports(module) if types or not only_types}


def _imports(module: str) -> Iterator[tuple[str, bool]]:
    for node, only_types in import_nodes(module):
        if isinstance(node, ast.Import):
            yield from ((alias.name, only_types) for alias in node.names)
        else:
            assert node.level == 0, f"a relative import: {ast.unparse(node)}"
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield (name if name in MODULES else str(node.module)), only_types


@functools.cache
def parsed(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text("utf-8"))


@functools.cache
def import_nodes(module: str) -> list[tuple[ast.Import | ast.ImportFrom, bool]]:
    return list(_import_nodes(parsed(module)))


def _import_nodes(tree: ast.AST, only_types: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node, only_types
        elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):
            guarded = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            yield from _import_nodes(node, only_types or guarded)


def ours(names: set[str]) -> set[str]:
    return {name for name in names if name.split(".")[0] == "worlds"}


def within(package: str) -> list[str]:
    return [module for module in MODULES if module == package or module.startswith(f"{package}.")]


def test_every_module_is_seen() -> None:
    assert {
        "worlds",
        "worlds.world",
        "worlds.doors.cli",
        "worlds.doors.cli.ask",
        "worlds.graph.terms",
        "worlds.sql",
    } <= set(MODULES)
    assert "worlds.sql.connection" in imported("worlds.verbs.parts")
    assert "worlds.core.file.check" in imported("worlds.verbs.reading"), "the whole of it"
    assert "worlds.world" in imported("worlds.doors.cli.options", types=False), "inside a function"
    assert "worlds.core.search.hits" in imported("worlds.doors.cli.show") - imported(
        "worlds.doors.cli.show", types=False
    )


def test_no_module_needs_itself() -> None:
    """No circle of imports, those for types and those inside functions included; a package may list its modules."""
    needs = {
        module: {name for name in imported(module) & set(MODULES) if not f"{module}.".startswith(f"{name}.")}
        for module in MODULES
    }
    while leaves := {module for module, wanted in needs.items() if not wanted}:
        needs = {module: wanted - leaves for module, wanted in needs.items() if module not in leaves}
    assert needs == {}


def test_one_module_touches_each_driver() -> None:
    # Both drivers and the standard library's sqlite3 in one process would take away each other's locks.
    touching = {module for module in MODULES if imported(module) & {"libsql", "libsql_experimental", "sqlite3", "apsw"}}
    assert touching == {"worlds.sql.by_sqlite"}, "libSQL's is imported by its name, where there is one"


DOORS = ("doors.cli", "doors.mcp", "doors.server", "adapters")


@pytest.mark.parametrize("door", DOORS)
def test_a_door_uses_public_names(door: str) -> None:
    """Rooms of the engine are entered by World alone; results and terms are what it gives and takes."""
    public = {f"worlds.{name}" for name in worlds.__all__}
    public |= {"worlds.records", *(f"worlds.{name}" for name in worlds.records.__all__)}
    allowed = OPEN_TO_DOORS | {f"worlds.{other}" for other in DOORS[DOORS.index(door) :]}
    modules = within(f"worlds.{door}")
    assert modules
    for module in modules:
        for name, only_types in engine_names(module):
            package, _, last = name.rpartition(".")
            rooms = {".".join(name.split(".")[:length]) for length in range(2, 6)}
            assert not name.startswith("worlds.sql"), f"{module}: {name}"
            assert only_types or f"worlds.{last}" in public or package == "worlds.errors" or rooms & allowed, (
                f"{module} uses {name}"
            )


def engine_names(module: str) -> list[tuple[str, bool]]:
    """What a module imports from the package, name by name."""
    found = []
    for node, only_types in import_nodes(module):
        package = "" if isinstance(node, ast.Import) else f"{node.module}."
        found += [(package + alias.name, only_types) for alias in node.names]
    return [(name, only) for name, only in found if name.startswith("worlds.")]


@pytest.mark.parametrize("door", DOORS)
def test_a_door_uses_no_private_name(door: str) -> None:
    modules = within(f"worlds.{door}")
    assert modules
    for module in modules:
        tree = parsed(module)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                names = [alias.name for alias in node.names if node.module != "__future__"]
                assert not [name for name in names if name.startswith("_")], f"{module}: {ast.unparse(node)}"
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.endswith("__"):
                assert ast.unparse(node.value) in ("self", "cls", "os"), f"{module}: {ast.unparse(node)}"


POSIX = {"fcntl", "grp", "pwd", "resource", "termios"}
REPLICAS = {"worlds.extras.remote.replica", "worlds.extras.remote.replica_process"}  # a system without flock lacks them


def test_only_replicas_need_what_windows_does_not_have() -> None:
    needed = {}
    for module in MODULES:
        for node in parsed(module).body:  # what is imported whatever the system
            names = {name.name for name in node.names} if isinstance(node, ast.Import) else set()
            if found := POSIX & (names | ({node.module or ""} if isinstance(node, ast.ImportFrom) else set())):
                needed[module] = found
    assert set(needed) == REPLICAS
    doors = "worlds.doors.cli.commands, worlds.doors.server.app, worlds.doors.server.workers.worker"
    program = f"import sys, {doors}; print(*sys.modules)"
    assert not REPLICAS & set(run(sys.executable, "-c", program).split())
