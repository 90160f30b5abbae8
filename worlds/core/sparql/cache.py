"""The SPARQL index of a large world on disk, beside its file, so that a fresh process need not build it.

The folder holds *generations*, which nobody ever writes to, and *copies*, one for each process that uses one. A copy
shares the large files of its generation by hard links (RocksDB never changes a table that it has written), so making
one takes milliseconds, and what a process writes there nobody else sees. A crash leaves a copy behind, which the next
process removes; it cannot damage a generation. The whole folder may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import re
import secrets
import shutil
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from pathlib import Path

from worlds.errors import OpenError
from worlds.permissions import believe, give_tree, private_folder

try:
    import fcntl
except ImportError:  # Windows has no such lock, and gets no cache
    fcntl = None  # type: ignore[assignment]

ENGINE = f"pyoxigraph {version('pyoxigraph')}, format 1"
_STAMP = "worlds.json"
_FORMS = "worlds-forms.json"
_LOCK = "worlds.lock"
_TABLE = ".sst"
_PASSING = re.compile(r"LOCK|LOG.*|worlds\.lock")
_GENERATION = re.compile(r"r(\d+)-[0-9a-f]{8}")
_DYING = "copy-0-"  # a folder of this name is being deleted: nobody uses it, whatever is still in it

_log = logging.getLogger("worlds")


@dataclass(frozen=True)
class Stamp:
    """The origin of a generation."""

    world: str  # tells one world from another
    revision: int
    recorded: str  # what the world says of that revision; a restored backup may have another of that number
    quads: int
    files: dict[str, list[int]]  # name → size, and CRC-32 of what RocksDB does not check itself
    mark: str = ""  # what else the store has, as its index writes it
    engine: str = ENGINE


class Copy:
    """A folder that one process may do with as it likes, until `remove` or `Cache.publish`."""

    _process = 0  # that has made it

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700)
        self.folder = folder
        # The lock says that its process lives; it goes with the process, however that ends.
        self._lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self._process = os.getpid()

    def release(self) -> None:
        """Release the lock."""
        held, self._lock = self._lock, -1  # before it is closed: another thread may give it up meanwhile
        if held >= 0:
            os.close(held)

    def remove(self) -> None:
        """Delete the folder. The store in it must be gone."""
        _delete(self.folder)
        self.release()

    def __del__(self) -> None:
        if self._process == os.getpid():  # nobody has its store any more; a forked process must not delete it
            with contextlib.suppress(Exception):  # Python is ending: the next process sweeps
                self.remove()


def folder_beside(world_file: str) -> Path:
    """Where the cache of a world lies; it may be deleted at any time."""
    return Path(world_file + "-sparql")


class Cache:
    """The folder of one world's generations and copies."""

    def __init__(self, world_file: str, within: str = "") -> None:
        """`within` names a folder in the cache of the world, for other generations than the world's own."""
        self._world = world_file
        self.folder = folder_beside(world_file) / within

    @staticmethod
    def possible(world_file: str) -> bool:
        """Whether there can be one."""
        return fcntl is not None and world_file != ":memory:" and os.access(Path(world_file).parent, os.W_OK)

    def check(self) -> None:
        """OpenError if somebody else may have put the folder there."""
        believe(self.folder, self._world)

    def remove(self) -> None:
        """Delete the folder, unless it is a stranger's."""
        self.check()
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def building(self) -> Iterator[None]:
        """Build a generation in the block, alone: a process that builds one is waited for, however it ends."""
        private_folder(self.folder, self._world)
        lock = os.open(self.folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)

    def settle(self) -> None:
        """Wait for a process that builds a generation."""
        if (self.folder / _LOCK).exists():
            with self.building():
                pass

    def new_copy(self) -> Copy:
        """An empty copy, to build a store in; OSError where the folder cannot be written to."""
        private_folder(self.folder, self._world)
        self.folder.chmod(0o700)  # it may be of an earlier version
        self.sweep()
        return Copy(self.folder / f"copy-{os.getpid()}-{secrets.token_hex(4)}")

    def generations(self) -> list[tuple[Path, Stamp]]:
        """The generations of this engine, the newest first; OpenError if a stranger may have written them."""
        self.check()
        found = []
        with contextlib.suppress(OSError):
            for folder in self.folder.iterdir():
                if _GENERATION.fullmatch(folder.name):
                    with contextlib.suppress(OSError, ValueError, TypeError):
                        stamp = Stamp(**json.loads((folder / _STAMP).read_text("utf-8")))
                        found.append((folder, stamp))
        usable = (item for item in found if item[1].engine == ENGINE and "CURRENT" in item[1].files)
        return sorted(usable, key=lambda item: -item[1].revision)

    def fitting(self, world: str, recorded: Callable[[int], str]) -> list[tuple[Path, Stamp]]:
        """The generations that were made of a world, which has `recorded` the same of their revisions."""
        found = self.generations()
        return [item for item in found if item[1].world == world and item[1].recorded == recorded(item[1].revision)]

    def copy(self, generation: Path, stamp: Stamp) -> tuple[Copy, str]:
        """A copy of a generation, and the forms that were published with it; OSError where it is not whole."""
        copy = self.new_copy()
        try:
            for name, sum_ in stamp.files.items():
                if _sum(generation / name) != sum_:
                    raise OSError(f"{name} is not as it was published")
                if name != _FORMS:
                    _link(generation / name, copy.folder / name)
            return copy, (generation / _FORMS).read_text("utf-8")
        except BaseException:
            copy.remove()
            raise

    def publish(self, copy: Copy, stamp: Stamp, forms: str) -> Path:
        """Make a copy, whose store must be closed, the newest generation; older ones are deleted."""
        private_folder(self.folder, self._world)
        (copy.folder / _FORMS).write_text(forms, "utf-8")
        files = (entry for entry in copy.folder.iterdir() if not _PASSING.fullmatch(entry.name))
        stamp = replace(stamp, files={entry.name: _sum(entry) for entry in files})
        (copy.folder / _STAMP).write_text(json.dumps(asdict(stamp)), "utf-8")
        target = self.folder / f"r{stamp.revision}-{secrets.token_hex(4)}"
        copy.folder.rename(target)
        give_tree(self.folder, Path(self._world).stat())
        copy.release()
        for folder in self.folder.iterdir():
            match = _GENERATION.fullmatch(folder.name)
            if match and folder != target and int(match[1]) <= stamp.revision:
                self.discard(folder)
        return target

    def discard(self, generation: Path) -> None:
        """Delete a generation. Who copies it meanwhile sees an OSError, and takes another."""
        _delete(generation)

    def sweep(self) -> None:
        """Delete the left-overs of dead processes."""
        with contextlib.suppress(OSError):
            for folder in self.folder.iterdir():
                if folder.name.startswith("copy-") and not _in_use(folder):
                    _delete(folder)


def _delete(folder: Path) -> None:
    dying = folder.with_name(f"{_DYING}{secrets.token_hex(4)}")
    with contextlib.suppress(OSError):
        folder.rename(dying)  # it must look neither whole nor young while it goes
        shutil.rmtree(dying, ignore_errors=True)


def _in_use(folder: Path) -> bool:
    if folder.name.startswith(_DYING):
        return False
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return _young(folder)  # perhaps its process has not come to making the lock yet
    except OSError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(lock)


def _young(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return abs(time.time() - folder.stat().st_mtime) < 10  # the clock may have been set back
    return False


def _sum(file: Path) -> list[int]:
    """The size, and the CRC-32 of all but RocksDB's tables, which it checks itself, block by block, as it reads."""
    return [file.stat().st_size, 0 if file.suffix == _TABLE else zlib.crc32(file.read_bytes())]


def _link(source: Path, target: Path) -> None:
    if source.suffix == _TABLE:
        try:
            os.link(source, target)
            return
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise
    shutil.copyfile(source, target)


@contextlib.contextmanager
def reporting(what: str) -> Iterator[None]:
    """Log a failure of the cache, which is optional."""
    try:
        yield
    except (OSError, OpenError) as error:
        _log.warning("the SPARQL cache: %s: %s", what, error)
