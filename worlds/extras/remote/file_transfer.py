"""A world's file becomes one on a server, and back."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from worlds.core.file.backup import backup
from worlds.core.file.opening import open_file
from worlds.errors import ConflictError, OpenError, UncertainError
from worlds.extras.remote.address import read_address
from worlds.extras.remote.replica import open_replica
from worlds.sql import statements, texts

_SQL = statements("remote.sql")
_VECTORS = texts("vectors.sql")
_QUERIES = statements("queries.sql")


def push(path: str | os.PathLike[str], url: str, *, key: str | None = None, replace: bool = False) -> None:
    """Make the world in a file one on a server that `worlds remote primary` serves, by the primary's own key.

    The file stays as it is. ConflictError if there is one of that name, unless `replace`: then it takes its place, and
    every replica fetches it anew. The native vector index is left out: through a server it costs twenty times the rest.
    """
    import httpx

    address = read_address(url)
    if address.name is None:
        raise OpenError(f"{url!r} does not name a world: push to https://HOST/NAME")
    source = open_file(
        os.fspath(path), read_only=True, create=False, durability="normal", timeout=10.0, encryption_key=None
    )
    with tempfile.TemporaryDirectory(dir=Path(source.file).parent, prefix=".push-") as folder:
        copy = Path(folder) / "world.db"
        try:
            backup(source, str(copy))
        finally:
            source.close()
        _prepare(copy)
        headers = {"content-length": str(copy.stat().st_size)}
        if key is not None:
            headers["authorization"] = f"Bearer {key}"
        with copy.open("rb") as file, httpx.Client(timeout=600, trust_env=False) as client:
            try:
                answer = client.put(
                    f"{address.base}/worlds/{address.name}{'?replace=1' if replace else ''}",
                    content=iter(lambda: file.read(1 << 20), b""),
                    headers=headers,
                )
            except httpx.ConnectError as error:
                raise OpenError(f"{address}: the primary cannot be reached: {error}") from error
            except httpx.HTTPError as error:
                raise UncertainError(f"{address}: the primary did not answer: {error}") from error
    if answer.status_code == 409:
        raise ConflictError(f"{address}: {answer.text}; --replace overwrites it")
    if answer.status_code != 201:
        raise OpenError(f"{address}: the primary answered {answer.status_code}: {answer.text[:300]}")


def pull(url: str, path: str | os.PathLike[str], *, token: str | None = None) -> None:
    """Copy a world on a server into a file of its own; OpenError if there is something at `path`."""
    target = Path(path).absolute()
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".pull-") as folder:
        connection = open_replica(
            url, replica=Path(folder) / "replica.db", token=token, max_staleness=None, timeout=10.0, read_only=True
        )
        try:
            connection.refresh()
            backup(connection, str(target))
        finally:
            connection.close()
            connection.dismiss()


def _prepare(copy: Path) -> None:
    """Make a copy one that a server can have: with an epoch of its own, and no native vector index."""
    connection = open_file(
        str(copy), read_only=False, create=False, durability="normal", timeout=10.0, encryption_key=None
    )
    try:
        with connection.transaction():
            connection.run("DELETE FROM writes WHERE true")
            connection.run(_SQL["set_epoch"], (secrets.token_hex(8),))
            if connection.row(_QUERIES["find_vector_index"]) is not None:
                connection.script(_VECTORS["drop_vector_index"])
            connection.run(_QUERIES["set_meta"], ("vector_index", 0))
    finally:
        connection.close()
