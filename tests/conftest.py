from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import worlds
from tests.support.embedder import HashingEmbedder
from worlds.settings import CONFIG, SETTINGS
from worlds.sql.drivers import NAMES, VARIABLE

# The default run always tries the same examples; --long tries new and more ones.
settings.register_profile("base", deadline=None, print_blob=True, report_multiple_bugs=False)
settings.register_profile("short", settings.get_profile("base"), derandomize=True, max_examples=10)
settings.register_profile("long", settings.get_profile("base"), max_examples=1000)

_MEMORY = Path("/dev/shm")  # a commit waits milliseconds for a disk, and for this nothing
_ROOM = 4 << 30  # bytes that must be free there: a whole run leaves a gigabyte
_IN_MEMORY = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the tests marked long, and more examples of the others")
    parser.addoption("--driver", choices=NAMES, help="the driver that worlds are opened by")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("long" if config.getoption("--long") else "short")
    # Who was started in the background by a script, or by nohup, hears no Ctrl-C, nor do its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # No test reads or fills the user's cache of exported models; xdist's workers share what the first process set.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        # Every process that a test starts would compile what it imports: half of the time that it takes.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.dont_write_bytecode = False  # nor are tests that did not change rewritten by each run and worker
        if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free >= _ROOM:
            for left in _MEMORY.glob("*-worlds"):
                if left.stat().st_mtime < time.time() - 24 * 3600:  # of a run that was killed
                    shutil.rmtree(left, ignore_errors=True)
            tempfile.tempdir = os.environ["TMPDIR"] = tempfile.mkdtemp("-worlds", dir=_MEMORY)
            config.stash[_IN_MEMORY] = True
        # A model's threads wait by spinning, which takes the time of xdist's other worker.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        os.environ["WORLDS_CACHE"] = tempfile.mkdtemp(prefix="worlds-cache-")
        # Nor is any test changed by the settings of whoever runs it.
        os.environ["XDG_CONFIG_HOME"] = os.environ["WORLDS_CACHE"]
        for name in (CONFIG, *(setting.variable for setting in SETTINGS.values())):
            os.environ.pop(name, None)
        if driver := config.getoption("--driver"):
            os.environ[VARIABLE] = driver


def pytest_unconfigure(config: pytest.Config) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        shutil.rmtree(os.environ.pop("WORLDS_CACHE", ""), ignore_errors=True)
        if config.stash.get(_IN_MEMORY, None):
            shutil.rmtree(os.environ.pop("TMPDIR"), ignore_errors=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--long"):
        skip = pytest.mark.skip(reason="takes minutes: run with --long")
        for item in items:
            if "long" in item.keywords:
                item.add_marker(skip)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # what thousands of tests and their libraries hold is looked at by no later collection


@pytest.fixture
def long(request: pytest.FixtureRequest) -> bool:
    """Whether the run may take minutes."""
    return bool(request.config.getoption("--long"))


@pytest.fixture
def world() -> Iterator[worlds.World]:
    """A fresh world in memory, with an embedder."""
    with worlds.open(embedder=HashingEmbedder()) as world:
        yield world


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a world file may be made."""
    return tmp_path / "world.db"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of the data that is not part of the repository."""
    given = os.environ.get("WORLDS_SHARED_DATA")
    folder = Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the shared data are not in {folder}; WORLDS_SHARED_DATA names another folder")
    return folder
