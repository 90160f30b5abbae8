"""The command `serve`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worlds.doors.cli.command import command
from worlds.doors.cli.options import given, of_settings, settings_of
from worlds.doors.cli.terminal import note, output
from worlds.errors import OpenError, WorldsError
from worlds.extras.remote.address import is_address

if TYPE_CHECKING:
    from worlds.doors.server.configuration import ServerSettings
    from worlds.doors.server.http.base import Server


_OPTIONS = {
    **{"host": "server.host", "port": "server.port", "allow_writes": "server.allow_writes"},
    **{"public_reads": "server.public_reads", "key_file": "server.keys", "host_name": "server.hosts"},
    **{"graph": "server.graphs", "cors": "server.cors", "allow_network": "server.allow_network"},
    **{"default_graph": "server.default_graph", "sparql_index": "sparql_index", "embedder": "embedder"},
    **{name: f"server.{name}" for name in ("readers", "most_workers", "timeout", "max_body", "max_results")},
    **{name: f"server.{name}" for name in ("max_queries", "max_memory", "rate", "grace", "log")},
}


@command(
    None,
    given("WORLD|FOLDER", "A world's file, or its address on a server; or a folder of files.", name="target"),
    given("--follow URL", "The address of the world on a server that WORLD replicates.", show_default=False),
    *of_settings(_OPTIONS),
    json=False,
)
def serve(target: str, *, follow: str | None, **given: Any) -> None:
    """Serve a world, or a folder of worlds, over HTTP: SPARQL, search, the web page.

    A world on a server is answered from a replica, which is followed as long as this runs; what is written goes to
    the server, by the token in WORLDS_PRIMARY_TOKEN.

    Without options it listens on this machine only, answers reads, and takes writes with a key alone (`worlds keys
    add`). It stops at Ctrl-C, or SIGTERM, when running requests are done.

    Each option is also a setting; see `worlds config`.

    $ worlds serve kb.db
    $ worlds serve kb.db --port 0 --allow-writes
    $ worlds keys add kb.db ann --level write --expires 90d
    $ worlds serve replica.db --follow https://host/kb
    $ worlds serve folder/ --host 0.0.0.0 --host-name kb.example.org --log json
    """
    settings = settings_of(_OPTIONS, given)
    from worlds.doors.server.workers.starting import begun

    with begun() if find_spec("starlette") and Path(target).exists() else contextlib.nullcontext():
        try:
            from worlds.doors.server.configuration import ServerSettings
            from worlds.doors.server.running import serve as run
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("worlds"):
                raise
            raise WorldsError(f"{error.name} is not installed; pip install 'worlds-kg[server]' brings it") from error
        with _there(target, follow) as path:
            run(path.absolute(), ServerSettings(settings), _announce, _say_ready)


@contextlib.contextmanager
def _there(target: str, follow: str | None) -> Iterator[Path]:
    """The files to serve. OpenError or SchemaError unless the target is a world or a folder."""
    remote = is_address(target)
    if remote and follow is not None:
        raise OpenError("with --follow, WORLD must be the replica's path; for one in the cache give the address alone")
    if not remote and follow is None:
        _check_target(Path(target))
        yield Path(target)
        return
    from worlds.extras.remote.replica import followed

    with followed(target if follow is None else follow, None if remote else target) as replica:
        yield replica


def _check_target(target: Path) -> None:
    """OpenError or SchemaError unless it is a world or a folder."""
    if target.is_dir():
        return
    if not target.exists():
        raise OpenError(f"there is no {target}; `worlds init {target}` makes a world")
    from worlds.world import open as open_world

    open_world(str(target), embedder=None, read_only=True, create=False).close()


def _announce(address: str, server: Server) -> None:
    single = server.hosting.single
    what = single.stem if single is not None else f"{len(server.hosting.list())} worlds"
    output().print(f"Serving {what} at {address}", soft_wrap=True)
    for line in _allowed(server.settings, sum(key.state() == "valid" for key in server.keys.all())):
        note(line)
    readers = server.settings.readers
    note(f"starting {readers} reader{'s' * (readers != 1)} and a writer; requests wait until they are there")


def _say_ready(seconds: float) -> None:
    note(f"ready, {seconds:.1f} s after the start")


def _allowed(settings: ServerSettings, keys: int) -> list[str]:
    """The rights of readers and writers, in words."""
    reads = settings.loopback if settings.public_reads is None else settings.public_reads
    writes = settings.allow_writes and settings.loopback
    counted = f"{keys} valid key" + ("" if keys == 1 else "s")
    return [
        f"reads: {'anyone who reaches this address' if reads else 'with a key'}; "
        f"writes: {'anyone who reaches this address' if writes else 'with a key'} ({counted})"
    ]
