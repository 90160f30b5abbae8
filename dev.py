#!/usr/bin/env python3
"""Sets up a virtual environment of its own and runs the project in it; needs Python 3.11, git and a package index.

python3 dev.py demo          set up, then load, search and ask the knowledge base in examples/
python3 dev.py test          set up, then format check, lint, types, layers and tests
python3 dev.py test ARG...   set up, then pytest alone with these arguments, such as --long or tests/search
python3 dev.py test --changed [COMMIT]
                             set up, then the tests that the difference to a commit (HEAD) reaches, but for slow ones
python3 dev.py attack ARG... set up, then look for crashes and hangs: --minutes 2 --seed 7
python3 dev.py run ARG...    set up, then python with these arguments, such as -m benchmarks.load
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
# By this exact version pip finds a build without CUDA where there is one; a later torch brings several GB of it.
TORCH = "torch==2.13.0"


def run(*command: str) -> int:
    """Run a command in the project's folder; its exit code."""
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def call(*command: str) -> None:
    """Run a command in the project's folder; leave with its exit code if it fails."""
    if code := run(*command):
        sys.exit(code)


def needed(pyproject: str, constraints: str) -> str:
    """A digest of what the environment is made from: another one asks for another environment."""
    import tomllib  # which a Python that is too old does not have

    about = tomllib.loads(pyproject)
    project = about["project"]
    installed = [project.get(name) for name in ("dependencies", "optional-dependencies", "scripts", "entry-points")]
    parts = [sys.version_info[:2], TORCH, about["build-system"], about["tool"]["setuptools"], constraints, *installed]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def set_up() -> None:
    """Make the environment, or make it anew when what it is made from changed."""
    stamp = ENVIRONMENT / "set-up-for"
    constraints = ROOT / "constraints.txt"
    wanted = needed((ROOT / "pyproject.toml").read_text("utf-8"), constraints.read_text("utf-8"))
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    print("Setting up .venv, once: a few minutes, most of them for torch.", flush=True)
    venv.create(ENVIRONMENT, with_pip=True, clear=ENVIRONMENT.exists())
    pip = (str(PYTHON), "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    call(*pip, TORCH)
    call(*pip, TORCH, "--constraint", str(constraints), "--editable", ".[all,docs,dev]")
    stamp.write_text(wanted)


def main() -> None:
    """Do what the command line says."""
    verb, *arguments = sys.argv[1:] or ["help"]
    if verb not in ("demo", "test", "attack", "run"):
        print(__doc__)
        sys.exit(0 if verb in ("help", "-h", "--help") else 2)
    if sys.version_info < (3, 11):  # noqa: UP036  # whoever runs this may have an older one
        sys.exit(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}")
    set_up()
    python = str(PYTHON)
    if verb == "demo":
        call(python, "examples/quickstart.py", *arguments)
    elif verb == "attack":
        call(python, "-m", "tests.attack", *arguments)
    elif verb == "run":
        call(python, *arguments)
    elif arguments[:1] == ["--changed"]:
        named = (python, "-m", "tests.support.changed", *arguments[1:])
        tests = subprocess.run(named, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
        print("Nothing that changed has tests." if not tests else f"{len(tests)} files of tests", flush=True)
        if tests:
            quick = () if all("/page/" in test for test in tests) else ("-m", "not slow")
            if (code := run(python, "-m", "pytest", "-q", "-n", "2", *quick, *tests)) not in (0, 5):
                sys.exit(code)  # 5: all of them are slow
    elif arguments:
        call(python, "-m", "pytest", *arguments)
    else:
        call(python, "-m", "ruff", "format", "--check", ".")
        call(python, "-m", "ruff", "check", ".")
        # Tests wait for servers and for time limits: types and layers are looked at beside them.
        with subprocess.Popen([python, "-m", "mypy"], cwd=ROOT) as types:
            call(str(PYTHON.with_name("lint-imports")), "--no-cache")
            if run(python, "-m", "pytest", "-n", "2", "--dist", "worksteal", "--durations", "10"):
                print("What failed is tried once more, by itself: beside others, a test may lack time.", flush=True)
                call(python, "-m", "pytest", "--last-failed", "--last-failed-no-failures", "none")
        if types.returncode:
            sys.exit("mypy found errors: see above, beside the tests")


if __name__ == "__main__":
    main()
