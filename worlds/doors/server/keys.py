"""API keys: who may do what, on which world, until when.

A key is `wk_<id>_<secret>`. The file holds the SHA-256 of the secret, never the secret: as that is 256 random bits and
no password that a person chose, there is nothing to guess, and a slow hash would only slow the server down. The id
finds the key, the hashes are compared in constant time.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from worlds.errors import OpenError
from worlds.graph.targets import replacing
from worlds.permissions import believe
from worlds.verbs.verb import LEVELS, Level

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FILE = "worlds.keys.json"
"""The name of the file in a folder of worlds; the keys of `kb.db` alone lie in `kb.db.keys.json`."""
ANY = "*"  # every world

_KEY = re.compile(r"wk_([0-9a-z]{8})_([A-Za-z0-9-]{43})")
_NAME = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]{0,98}[^\s\x00-\x1f\x7f])?")
_UNSEEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}  # controls, and what changes the direction of the text around
_WORLD = re.compile(r"\*|[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")
_AGE = re.compile(r"([1-9][0-9]{0,5})([smhdwy])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
_ID_CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is stored. `levels` maps worlds, or "*", to one of `LEVELS`; times are in UTC.

    `graphs` are those that it sees, by their IRIs or "default"; None for all.
    """

    id: str
    name: str
    levels: Mapping[str, str]
    hash: str  # SHA-256 of the secret, hexadecimal
    created: datetime
    expires: datetime | None = None
    revoked: datetime | None = None
    graphs: tuple[str, ...] | None = None

    def state(self, now: datetime | None = None) -> str:
        """ "valid", "expired" or "revoked"."""
        if self.revoked is not None:
            return "revoked"
        expired = self.expires is not None and self.expires <= (now or datetime.now(UTC))
        return "expired" if expired else "valid"

    def to_dict(self) -> dict[str, Any]:
        """The parts of it that may be shown, as JSON-ready values; not its hash."""
        told = {name: _written(value) for name, value in asdict(self).items() if name != "hash"}
        return {**told, "state": self.state()}


class KeyStore:
    """The keys of a file, which need not be there yet. Reads it again when it was changed; safe between processes.

    With `beside`, a world or a folder of worlds, the file is read only if no stranger can have written it (OpenError).
    """

    def __init__(self, path: Path, *, beside: Path | None = None) -> None:
        self.path = path
        self._beside = beside
        self._lock = threading.Lock()
        self._seen: tuple[int, int, int] | None = None
        self._keys: dict[str, Key] = {}

    def all(self) -> list[Key]:
        """All keys, oldest first; OpenError for a file that cannot be read, or holds something else."""
        return list(self._current().values())

    def find(self, text: str) -> Key | None:
        """The key that a client sent, whatever its state; None for an unknown one."""
        match = _KEY.fullmatch(text)
        if match is None:
            return None
        key = self._current().get(match[1])
        given = _hash(match[2])
        if key is None:  # takes as long as with a key
            hmac.compare_digest(given, _hash(""))
            return None
        return key if hmac.compare_digest(given, key.hash) else None

    def add(
        self,
        name: str,
        levels: Mapping[str, str],
        *,
        expires: datetime | None = None,
        graphs: Sequence[str] | None = None,
    ) -> tuple[Key, str]:
        """Make a key; returns it with its text, which is not stored.

        ValueError for an impossible name, level, time or graph, and for the level admin within a scope of some graphs.
        """
        if not _NAME.fullmatch(name) or any(unicodedata.category(one) in _UNSEEN for one in name):
            raise ValueError(f"a key's name must be 1 to 100 characters that can be seen, not {name!r}")
        if not levels:
            raise ValueError("a key needs a level for at least one world")
        for world, level in levels.items():
            if level not in LEVELS:
                raise ValueError(f"a level must be one of {', '.join(LEVELS)}, not {level!r}")
            if not _WORLD.fullmatch(world):
                raise ValueError(f"{world!r} is not the name of a world, or '*' for all")
        if graphs is not None:
            _check_scope(graphs, levels)
        now = _now()
        if expires is not None and expires <= now:
            raise ValueError(f"the key would have expired already, {expires.isoformat(timespec='seconds')}")
        secret = secrets.token_urlsafe(32).replace("_", "-")
        with self._writing() as keys:
            if any(key.name == name and key.state(now) == "valid" for key in keys.values()):
                raise ValueError(f"there is a valid key named {name!r} already: the history needs unique names")
            number = ""
            while not number or number in keys:
                number = "".join(secrets.choice(_ID_CHARACTERS) for _ in range(8))
            until = None if expires is None else expires.replace(microsecond=0)
            scope = None if graphs is None else tuple(dict.fromkeys(graphs))
            key = Key(number, name, dict(levels), _hash(secret), now, until, graphs=scope)
            keys[number] = key
        return key, f"wk_{number}_{secret}"

    def revoke(self, which: str) -> list[Key]:
        """Revoke the keys with this id or name, and return the ones that were valid; ValueError if there is none."""
        now = _now()
        with self._writing() as keys:
            named = [key for key in keys.values() if which in (key.id, key.name)]
            if not named:
                known = ", ".join(sorted({key.name for key in keys.values()})) or "there are none"
                raise ValueError(f"there is no key {which!r}; known: {known}")
            valid = [key for key in named if key.revoked is None]
            for key in valid:
                keys[key.id] = replace(key, revoked=now)
        return [keys[key.id] for key in valid]

    # -- the file -------------------------------------------------------------------------------------------------

    def _current(self) -> dict[str, Key]:
        with self._lock:
            try:
                status = self.path.stat()
                seen = (status.st_mtime_ns, status.st_ino, status.st_size)
                if seen != self._seen:
                    self._believe(self.path)
                    self._keys, self._seen = _read(self.path), seen
            except FileNotFoundError:
                self._keys, self._seen = {}, None
            except OSError as error:
                raise OpenError(f"the keys in {self.path} cannot be read: {error.strerror}") from error
            return self._keys

    def _believe(self, *files: Path) -> None:
        if self._beside is not None:
            for file in files:
                believe(file, self._beside)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[dict[str, Key]]:
        """The keys of the file, which are written back if the block does not raise; others wait meanwhile."""
        path = Path(os.path.realpath(self.path))  # a link stays one
        lock = path.with_name(path.name + ".lock")
        self._believe(self.path, lock)
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError as error:
            raise OpenError(f"the keys in {self.path} cannot be changed: {error.strerror}") from error
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            try:
                keys = _read(path)
            except FileNotFoundError:
                keys = {}
            yield keys
            _write(path, keys)
        finally:
            os.close(descriptor)


def keys_of(target: Path, named: str | Path | None = None) -> KeyStore:
    """The keys of a world's file or a folder of worlds: the file of keys beside it, or the named file."""
    if named is not None:
        return KeyStore(Path(named))
    return KeyStore(target / FILE if target.is_dir() else target.with_name(target.name + ".keys.json"), beside=target)


def check_graphs(graphs: Sequence[str]) -> None:
    """Raise ValueError for a name that is neither an absolute IRI nor "default"."""
    for graph in graphs:
        if graph != "default" and not _IRI.fullmatch(graph):
            raise ValueError(f'a graph is named by its whole IRI, or is "default", not {graph!r}')


def _check_scope(graphs: Sequence[str], levels: Mapping[str, str]) -> None:
    if not graphs:
        raise ValueError("a scope needs at least one graph")
    check_graphs(graphs)
    if "admin" in levels.values():
        raise ValueError("a key with --graph cannot have the level admin")


def expiry(text: str) -> datetime | None:
    """The time that `--expires` names: "90d" (s, m, h, d, w, y) from now, an ISO 8601 date or time, or "never"."""
    if text == "never":
        return None
    if match := _AGE.fullmatch(text):
        try:
            return datetime.now(UTC) + timedelta(seconds=int(match[1]) * _SECONDS[match[2]])
        except OverflowError as error:
            raise ValueError(f"{text!r} is too far away") from error
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a time such as 90d, 12h, 2027-01-31, or never") from error
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)  # as the file has it


def _written(value: Any) -> Any:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else value


def _time(text: str) -> datetime:
    """The time of a text; one that names no zone is in UTC."""
    time = datetime.fromisoformat(text)
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _read(path: Path) -> dict[str, Key]:
    text = path.read_bytes()
    try:
        found = [
            Key(
                id=str(item["id"]),
                name=str(item["name"]),
                levels={str(world): str(level) for world, level in item["levels"].items()},
                hash=str(item["hash"]),
                created=_time(item["created"]),
                expires=None if item["expires"] is None else _time(item["expires"]),
                revoked=None if item["revoked"] is None else _time(item["revoked"]),
                graphs=None if item.get("graphs") is None else tuple(map(str, item["graphs"])),
            )
            for item in json.loads(text)["keys"]
        ]
        if not all(level in LEVELS for key in found for level in key.levels.values()):
            raise ValueError("an unknown level")
        for key in found:
            if key.graphs is not None:
                _check_scope(key.graphs, key.levels)
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError) as error:
        raise OpenError(f"{path} is not a file of API keys: {type(error).__name__}: {error}") from error
    return {key.id: key for key in found}


def _write(path: Path, keys: Mapping[str, Key]) -> None:
    """Replace the file as a whole, readable by its owner alone."""
    listed = [{name: _written(value) for name, value in asdict(key).items()} for key in keys.values()]
    with replacing(str(path), most=0o600) as out:
        out.write(json.dumps({"keys": listed}, ensure_ascii=False, indent=1).encode())


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller. `name`, the name of the key, is the author of revisions; None is anonymous."""

    name: str | None
    key: str | None = None  # the key's id
    levels: Mapping[str, Level] = field(default_factory=dict)  # world, or "*" for all, → level
    graphs: tuple[str, ...] | None = None  # that it sees; None for all
    remembered: bool = False  # by the browser, which sends the key for pages of others, too (Basic authentication)

    def may(self, level: Level, world: str | None) -> bool:
        """Whether it may, in a world; None stands for all worlds."""
        held = [self.levels[name] for name in ("*", world) if name is not None and name in self.levels]
        return any(LEVELS.index(each) >= LEVELS.index(level) for each in held)
