"""Addresses of worlds on servers, and where their replicas lie."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from worlds.errors import OpenError

TOKEN = "WORLDS_PRIMARY_TOKEN"
"""The environment's variable that has the token of worlds on servers, where none is given."""

_SCHEMES = {"http": "http", "https": "https", "libsql": "https"}
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Address:
    """A world on a server. `name` is None where the host's name says which world is meant, or there is one alone."""

    scheme: str
    host: str
    port: int
    name: str | None

    @property
    def base(self) -> str:
        """The server's address."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def __str__(self) -> str:
        return self.base if self.name is None else f"{self.base}/{self.name}"


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the address of a world on a server."""
    return isinstance(path, str) and path.partition("://")[0].lower() in _SCHEMES and "://" in path


def read_address(text: str) -> Address:
    """`http://host:8080/NAME`, `https://NAME.host` or `libsql://…`, which is the same; OpenError for another."""
    try:
        parts = urlsplit(text)
        scheme, port = _SCHEMES[parts.scheme.lower()], parts.port
    except (KeyError, ValueError) as error:
        raise OpenError(f"{text!r} is not the address of a world on a server: {error}") from error
    name = parts.path.strip("/")
    wrong = "/" in name or parts.query or parts.fragment or not parts.hostname
    if wrong or not all(letter.isalnum() or letter in "-_" for letter in name):
        raise OpenError(f"{text!r} is not the address of a world on a server, which is https://HOST/NAME")
    if parts.username or parts.password:
        raise OpenError(f"an address holds no password: give the token as `token`, or in {TOKEN}")
    return Address(scheme, parts.hostname or "", port or _PORTS[scheme], name or None)


def replica_of(path: str) -> Path:
    """The file of a world by its path: for the address of one on a server, its replica's in the user's cache."""
    return cached_replica(read_address(path)) if is_address(path) else Path(path)


def cached_replica(address: Address) -> Path:
    """Where the replica of a world lies for which no path was given."""
    import platformdirs  # others have no use for it

    digest = hashlib.blake2b(str(address).encode(), digest_size=6).hexdigest()
    folder = Path(os.environ.get("WORLDS_CACHE") or platformdirs.user_cache_dir("worlds", appauthor=False)) / "replicas"
    return folder / digest / f"{address.name or address.host}.db"
