"""The memories of one world: each scope's file beside the world's, and the worlds in them that are open."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from worlds.core.file.opening import MEMORIES
from worlds.core.texts.policy import TextPolicy
from worlds.errors import OpenError, ReadOnlyError
from worlds.extras.memory.memory import Memory
from worlds.extras.memory.memory_records import SUFFIX, Keep, file_of, graph_of, scope_in, scope_of
from worlds.extras.memory.seen_graph import Seeing
from worlds.permissions import remove
from worlds.sql import statements

Scope = tuple[str, ...]

_QUERIES = statements("queries.sql")
_OPEN = 128  # files
_SCOPE, _KEEP = "memory_scope", "memory_keep"  # settings of a memory's world


class Memories:
    """The memories of one world.

    A scope's home is the file in which its memories lie: that of its first parts, as many as the world's policy says.
    Narrower scopes are graphs in it. A world in memory has its memories in memory, one on a server has them all in one
    world beside it, whose home is the scope without parts.
    """

    def __init__(self, world: Any) -> None:
        self._world = world
        self._lock = threading.RLock()
        self._opened: dict[Scope, Any] = {}  # the one used last at the end
        self._used: Counter[Scope] = Counter()  # how many are at work in it
        self._seeing = Seeing(world)
        self._known: TextPolicy | None = None

    def of(self, scope: object, asked: Any = None) -> Memory:
        """The memory of a scope, for whoever sees the world `asked`, by default the world itself."""
        return Memory(self._world if asked is None else asked, scope, self)

    @property
    def folder(self) -> Path | None:
        """The folder of the files; None where there are no files here."""
        file = self._world._core.connection.file
        return None if file == ":memory:" or self._world.replica is not None else Path(file + MEMORIES)

    @property
    def around(self) -> Any:
        """The world whose memories they are."""
        return self._world

    @property
    def _policy(self) -> TextPolicy:
        """The world's policy; while another thread writes the world, the one that was known before."""
        with free(self._world._core.connection) as unused:
            if unused or self._known is None:
                self._known = self._world.policy
        return self._known

    # -- homes ----------------------------------------------------------------------------------------------------

    def home(self, scope: Scope) -> Scope:
        """The first parts of a scope, whose file has its memories."""
        return scope[: self._depth]

    @property
    def _depth(self) -> int:
        return 0 if self._world.replica is not None else self._policy.memory_depth

    def beneath(self, scope: Scope) -> list[Scope]:
        """The homes of a scope and of narrower ones, the last written first."""
        home = self.home(scope)
        if len(home) < len(scope) or self._world.replica is not None:
            return [home] if self.has(home) else []
        if self.folder is None:
            with self._lock:
                return [one for one in reversed(self._opened) if one[: len(scope)] == scope]
        name = file_of(scope)
        found = [self.folder / f"{name}{SUFFIX}", *self.folder.glob(f"{name}.*{SUFFIX}")]
        return [
            self._scope_in(file) for time, file in sorted(((_written(one), one) for one in found), reverse=True) if time
        ]

    def has(self, home: Scope) -> bool:
        """Whether something is remembered there."""
        if self._world.replica is not None:
            return True
        return self._file(home).exists() if self.folder is not None else home in self._opened

    def _file(self, home: Scope) -> Path:
        assert self.folder is not None
        return self.folder / f"{file_of(home)}{SUFFIX}"

    def _scope_in(self, file: Path) -> Scope:
        known = scope_in(file.stem)
        if known is not None:
            return known
        connection = self._world._beside(str(file), make=False)._core.connection
        try:
            return tuple(json.loads(connection.meta(_SCOPE)))
        finally:
            connection.close()

    # -- worlds ---------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def using(self, home: Scope, *, make: bool = False) -> Iterator[Any]:
        """The world of a home, open for the block; None where there is none, unless it is to be made."""
        with self._lock:
            world = self.world(home, make=make)
            self._used[home] += 1
        try:
            yield world
        finally:
            with self._lock:
                self._used[home] -= 1

    def world(self, home: Scope, *, make: bool = False, see: bool = False) -> Any:
        """The world of a home: open until many others were used later. None where there is none.

        One that was told something sees its world, and any one where it is to `see` it.
        """
        with self._lock:
            found = self._opened.pop(home, None)
            if found is not None and not self._stands(found):
                found.close()
                found = None
            if found is None:
                if not (make or self.has(home)):
                    return None
                found = self._open(home, make=make)
            self._opened[home] = found
            with free(self._world._core.connection, found._core.connection) as unused:
                if unused and not self._used[home]:
                    self._seeing.bring(home, found, always=see)
            if self.folder is not None and len(self._opened) > _OPEN:
                idle = next((one for one in self._opened if not self._used[one]), home)
                with free(self._opened[idle]._core.connection) as unused:
                    if unused and idle != home:
                        self._close(idle)
            return found

    def _close(self, home: Scope) -> None:
        """Close a home's world; its file stays one that was written when it was."""
        time = 0.0 if self.folder is None else _written(self._file(home))
        self._opened.pop(home).close()
        if time:
            with contextlib.suppress(OSError):
                os.utime(self._file(home), (time, time))

    def _stands(self, world: Any) -> bool:
        """Whether a world's file is still there, and it reads by the embedder of today."""
        if self.folder is None:
            return True
        if world._core.connection.closed or world.embedder is not self._world.embedder:
            return False
        try:
            if world._core.connection.identity is not None:
                world._core.connection.identity.check()
        except OpenError:  # it was purged by another process
            return False
        return True

    def _open(self, home: Scope, *, make: bool) -> Any:
        if self._world._core.connection.read_only and not self.has(home):
            raise ReadOnlyError(f"{self._world.path} was opened read-only, and has no memory of {'/'.join(home)}")
        if self.folder is None:
            world = self._world._beside(":memory:", make=True)
        else:
            new = make and not self.has(home)
            if new:
                self.folder.mkdir(mode=0o700, exist_ok=True)
            world = self._world._beside(str(self._file(home)), make=new)
            if new:
                with world._core.connection.transaction():
                    world._core.connection.run(_QUERIES["set_meta"], (_SCOPE, json.dumps(home)))
        if home:
            world._memory = memory = self.of(home)
            world._core.embeddings.reading = partial(memory.nameless, world)
            world._core.namespaces.home = graph_of(home)
        world._core.namespaces.wider = self._world._core.namespaces
        policy = self._policy.with_(profiles=False, statements=False)
        if not world._core.connection.read_only and world.policy != policy:
            world.policy = policy
        return world

    def empty(self) -> Any:
        """An empty world in memory, for a scope without memories."""
        return self._world._beside(":memory:", make=True)

    def remove(self, home: Scope) -> None:
        """Delete a home's file with all files beside it; the settings of its retention stay, in a new file."""
        with self._lock:
            world = self._opened.pop(home)
            kept = self._settings(world)
            world.close()
            if self.folder is not None:
                for file in (self._file(home), *self.folder.glob(f"{file_of(home)}{SUFFIX}-*")):
                    remove(file)
            for graph, keep in kept.items():
                self.set_keep(scope_of(graph), keep)

    def backup(self, path: str) -> None:
        """Copy the files into the folder of the memories of a world at another path, each as of now."""
        for home, world in self._each(Path(path + MEMORIES)):
            world.file.backup(Path(path + MEMORIES) / f"{file_of(home)}{SUFFIX}")

    def _each(self, folder: Path) -> Iterator[tuple[Scope, Any]]:
        """The homes that have a file here, with their worlds; the folder is made for the first write."""
        for home in self.beneath(()) if self.folder is not None else ():
            with self.using(home) as world:
                if world is not None:
                    folder.mkdir(mode=0o700, exist_ok=True)
                    yield home, world

    def close(self) -> None:
        """Close the worlds that are open."""
        with self._lock:
            for home in list(self._opened):
                self._close(home)

    # -- how long they keep ---------------------------------------------------------------------------------------

    def keep(self, scope: Scope) -> Keep:
        """How long a scope keeps its memories: its own setting, or else the nearest wider scope's."""
        return self.keeps([scope])[scope]

    def keeps(self, scopes: Iterable[Scope]) -> dict[Scope, Keep]:
        """How long each of some scopes keeps its memories."""
        kept: dict[Scope, Mapping[str, Keep]] = {}  # home → what its file says
        found: dict[Scope, Keep] = {}
        depth = self._depth
        for scope in scopes:
            found[scope] = Keep()
            for count in range(len(scope), 0, -1):
                if (home := scope[: min(count, depth)]) not in kept:
                    with self.using(home) as world:
                        kept[home] = {} if world is None else self._settings(world)
                if kept[home] and (said := kept[home].get(graph_of(scope[:count]).value)) is not None:
                    found[scope] = said
                    break
        return found

    def set_keep(self, scope: Scope, keep: Keep) -> None:
        """Store how long a scope keeps, in its home's file."""
        with self.using(self.home(scope), make=True) as world, world._core.connection.transaction():
            kept = {**self._settings(world), graph_of(scope).value: keep}
            stored = json.dumps({graph: one.to_dict() for graph, one in kept.items()})
            world._core.connection.run(_QUERIES["set_meta"], (_KEEP, stored))

    def _settings(self, world: Any) -> Mapping[str, Keep]:
        """Graph → how long it keeps memories, for the graphs of a file with such a setting."""
        connection = world._core.connection

        def read() -> dict[str, Keep]:
            stored = json.loads(connection.meta(_KEEP) or "{}")
            return {graph: Keep(**one) for graph, one in stored.items()}

        return connection.remembered(_KEEP, read)  # type: ignore[no-any-return]


@contextlib.contextmanager
def free(*connections: Any) -> Iterator[bool]:
    """Whether no other thread is at work on any of some connections; else none waits for the other.

    Who has one of them may wait for the memories' own lock, so nobody waits for one who has that.
    """
    with contextlib.ExitStack() as stack:
        for one in connections:
            if not one.lock.acquire(blocking=False):
                yield False
                return
            stack.callback(one.lock.release)
        yield True


def _written(file: Path) -> float:
    """The time of a file's last write; 0 without a file."""
    beside = (file, file.with_name(f"{file.name}-wal"))
    return max((one.stat().st_mtime for one in beside if one.exists()), default=0.0) if file.exists() else 0.0
