"""The worlds that a server has: one file, or a folder of them, and nothing outside of it."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

import worlds
from worlds.doors.server.problem_documents import Forbidden, NotFound
from worlds.errors import ConflictError, OpenError
from worlds.world import SUFFIXES

SUFFIX = ".db"
"""The end of the file name of a world that is made over HTTP."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MAGIC = b"SQLite format 3\0"
_COMPANIONS = ("-wal", "-shm", "-journal", "-sparql")


@dataclass(frozen=True, slots=True)
class ListedWorld:
    """A world in a list; `bytes` counts its file and its log, `modified` is in seconds since 1970."""

    name: str
    bytes: int
    modified: float


@dataclass(frozen=True, slots=True)
class WorldRef:
    """A world as a request names it. `base` is its absolute URL as the client wrote it, without a slash at the end."""

    name: str
    path: Path
    base: str


class Hosting:
    """One file, or the worlds of a folder by their names. A single file is at `/`, too."""

    def __init__(self, target: Path) -> None:
        self.folder = target if target.is_dir() else None
        self.single = None if self.folder is not None else target
        if self.single is not None and not is_name(self.single.stem):
            raise OpenError(
                f"the world at {target} has no name for its address: {self.single.stem!r} is not made of letters, "
                "digits, '.', '_' and '-'"
            )

    # -- finding --------------------------------------------------------------------------------------------------

    def world(self, request: Request) -> WorldRef:
        """The world that a request names, the first of several; NotFound where there is none."""
        origin = str(request.base_url).rstrip("/")
        name = self.named(request)
        if name is not None:
            return WorldRef(name, self.find(name), f"{origin}/worlds/{name}")
        if self.single is None:
            raise NotFound("there are several worlds here: name them by world=NAME, which may be repeated")
        return WorldRef(self.single.stem, self.find(self.single.stem), origin)

    def named(self, request: Request) -> str | None:
        """The world's name in a request's path or, where there are several worlds, its first parameter `world`."""
        name: str | None = request.path_params.get("world")
        if name is None and self.single is None:
            name = next(iter(request.query_params.getlist("world")), None)
        return name

    def find(self, name: str) -> Path:
        """The file of a world; NotFound where there is none."""
        if is_name(name):
            if self.single is not None:
                if name == self.single.stem:
                    return self.single
            else:
                for suffix in SUFFIXES:
                    if self._holds(path := self.path(name, suffix)):
                        return path
        raise NotFound(f"there is no world {name!r} here; /worlds lists the worlds")

    def list(self) -> list[ListedWorld]:
        """The worlds, by name."""
        if self.single is not None:
            return [_listed(self.single)]
        assert self.folder is not None
        names = {path.stem for path in self.folder.iterdir() if path.suffix in SUFFIXES and is_name(path.stem)}
        found = []
        for name in sorted(names):
            with contextlib.suppress(NotFound, OSError):  # deleted meanwhile
                found.append(_listed(self.find(name)))
        return found

    def path(self, name: str, suffix: str = SUFFIX) -> Path:
        """The path of a world of this name in the folder, whether or not it exists."""
        assert self.folder is not None
        return self.folder / (name + suffix)

    def _holds(self, path: Path) -> bool:
        """Whether it is a file in the folder, as SQLite makes them; a link must not lead out."""
        assert self.folder is not None
        try:
            if not path.is_file() or path.resolve().parent != self.folder.resolve():
                return False
            with path.open("rb") as stream:
                start = stream.read(len(_MAGIC))
        except OSError:
            return False
        return start in (_MAGIC, b"")

    # -- making and deleting --------------------------------------------------------------------------------------

    def create(self, name: str) -> ListedWorld:
        """Make an empty world. ConflictError where there is one, Forbidden where none can be made."""
        path = self.new(name)
        hidden = _hidden(path)
        try:
            worlds.open(hidden, embedder=None).close()
            for companion in _COMPANIONS:  # what a delete that was interrupted has left is not this world's
                _remove(path.with_name(path.name + companion))
            os.link(hidden, path)  # whole from the first moment, and never over another
        except FileExistsError as error:
            raise ConflictError(f"there is a world {name!r} already") from error
        except OSError as error:
            raise OpenError(f"{name!r} cannot be made: {error.strerror}") from error
        finally:
            _remove_world(hidden)
        return _listed(path)

    def new(self, name: str) -> Path:
        """The path for a new world of this name. Errors as `create`."""
        self.require_folder()
        if not is_name(name):
            raise Forbidden(
                f"{name!r} cannot name a world: up to 64 letters, digits, '.', '_' and '-', the first of them a letter "
                "or a digit"
            )
        for suffix in SUFFIXES:
            if os.path.lexists(self.path(name, suffix)):
                raise ConflictError(f"there is a world {name!r} already")
        return self.path(name)

    def delete(self, name: str) -> None:
        """Delete a world, with its log and its cache. NotFound where there is none."""
        self.require_folder()
        path = self.find(name)
        hidden = _hidden(path)
        path.rename(hidden)  # nobody opens it from now on, so nobody makes a new log for it
        for companion in _COMPANIONS:
            _remove(path.with_name(path.name + companion))
        hidden.unlink()

    def require_folder(self) -> None:
        """Forbidden where worlds cannot be made and deleted."""
        if self.folder is None:
            raise Forbidden("this server has one world; worlds are made and deleted on a server of a folder")


def is_name(name: str) -> bool:
    """Whether a world can have this name in an address."""
    return _NAME.fullmatch(name) is not None and ".." not in name


def _hidden(path: Path) -> Path:
    """A name beside a world that is no world's."""
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")


def _remove_world(path: Path) -> None:
    for part in (*_COMPANIONS, ""):
        _remove(path.with_name(path.name + part))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _listed(path: Path) -> ListedWorld:
    status = path.stat()
    log = path.with_name(path.name + "-wal")
    size = status.st_size + (log.stat().st_size if log.exists() else 0)
    return ListedWorld(path.stem, size, status.st_mtime)
