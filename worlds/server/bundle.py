"""Fetch the query editor of the web page: YASGUI's, from npm, in the versions that the lock file pins by their hashes.

    python -m worlds.server.bundle

The build of a wheel does it where npm is there; nothing of it is committed. Without it the page has a plain editor.
This module uses nothing but the standard library: the build runs it before anything is installed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).with_name("page")
FILES = {
    "yasqe.min.js": "@zazuko/yasqe/build/yasqe.min.js",
    "yasqe.min.css": "@zazuko/yasqe/build/yasqe.min.css",
}
LICENSES = "licenses.txt"
_TIME = 120  # seconds that npm may take


class BundleError(Exception):
    """The editor could not be fetched."""


def bundle(folder: Path = FOLDER, *, offline: bool = False) -> Path:
    """Put the editor into `folder`/vendor, whole or not at all, and give that folder; `offline` uses npm's cache alone.

    BundleError where npm is not there, fails, or gives something else.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise BundleError("npm is not on the PATH; it comes with Node.js")
    with tempfile.TemporaryDirectory(prefix="worlds-page-") as name:
        work = Path(name)
        for file in ("package.json", "package-lock.json"):
            shutil.copy(folder / file, work)
        # No package's own scripts run.
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--loglevel=error"]
        if offline:
            command.append("--offline")
        try:
            done = subprocess.run(command, cwd=work, capture_output=True, encoding="utf-8", timeout=_TIME, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BundleError(f"npm did not work: {error}") from error
        if done.returncode:
            raise BundleError(f"npm failed: {done.stderr.strip()[-1000:]}")
        made = work / "vendor"
        made.mkdir()
        for target, source in FILES.items():
            try:
                text = (work / "node_modules" / source).read_text("utf-8")
            except OSError as error:
                raise BundleError(f"{source} is not what it was: {error}") from error
            # The map of the sources is not shipped, and browsers would ask for it.
            lines = [line for line in text.splitlines(keepends=True) if "# sourceMappingURL=" not in line[:60]]
            (made / target).write_text("".join(lines), "utf-8")
        (made / LICENSES).write_text("\n".join(_licenses(work / "node_modules")), "utf-8")
        vendor = folder / "vendor"
        shutil.rmtree(vendor, ignore_errors=True)
        shutil.copytree(made, vendor)
    return vendor


def _licenses(modules: Path) -> Iterator[str]:
    """Who made what is in the bundle, and under which terms."""
    yield "The query editor contains these packages.\n"
    for file in sorted([*modules.glob("*/package.json"), *modules.glob("@*/*/package.json")]):
        told = json.loads(file.read_text("utf-8"))
        yield f"{told['name']} {told['version']}: {told.get('license', 'no licence stated')}\n"
        for text in sorted(file.parent.glob("[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*")):
            yield text.read_text("utf-8", "replace").strip() + "\n"


def main() -> None:
    """Fetch the editor and list its files."""
    try:
        vendor = bundle()
    except BundleError as error:
        sys.exit(f"The page keeps its plain query editor: {error}")
    sizes = ", ".join(f"{path.name} {path.stat().st_size:,} bytes" for path in sorted(vendor.iterdir()))
    print(f"{os.path.relpath(vendor)}: {sizes}")


if __name__ == "__main__":
    main()
