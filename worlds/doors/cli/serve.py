"""The commands `serve`, `keys add`, `keys list` and `keys revoke`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from worlds.doors.cli.command import command
from worlds.doors.cli.options import given, of_settings, settings_of
from worlds.doors.cli.terminal import counted, note, print_text
from worlds.errors import OpenError, WorldsError
from worlds.extras.remote.address import is_address

if TYPE_CHECKING:
    from worlds.doors.server.http.base import Server
    from worlds.doors.server.keys import KeyStore


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
            run(
                path.absolute(),
                ServerSettings(settings),
                _announce,
                lambda seconds: note(f"ready, {seconds:.1f} s after the start"),
            )


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
    if not target.exists():
        raise OpenError(f"there is no {target}; `worlds init {target}` makes a world")
    if not target.is_dir():
        from worlds.world import open as open_world

        open_world(str(target), embedder=None, read_only=True, create=False).close()


def _announce(address: str, server: Server) -> None:
    single, settings = server.hosting.single, server.settings
    print_text(f"Serving {single.stem if single is not None else f'{len(server.hosting.list())} worlds'} at {address}")
    keys = counted(sum(key.state() == "valid" for key in server.keys.all()), "valid key")
    public = {True: "anyone who reaches this address", False: "with a key"}
    reads = public[settings.loopback if settings.public_reads is None else settings.public_reads]
    note(f"reads: {reads}; writes: {public[settings.allow_writes and settings.loopback]} ({keys})")
    readers = counted(settings.readers, "reader")
    note(f"starting {readers} and a writer; requests wait until they are there")


# -- keys -----

_TARGET = given("WORLD|FOLDER", "The world that is served, or the folder of worlds.", Path, name="target")
_KEY_FILE = given("--key-file FILE", "The file of the API keys.", Path, show_default="beside the world")
_LEVELS = Literal["read", "propose", "write", "admin"]


@command(
    "keys.add",
    _TARGET,
    given("NAME", "The holder of the key: the author of changes made with it."),
    given("--level", "The rights of the key; each level includes the levels before it.", _LEVELS, "read"),
    given("--world -w NAME...", "On this world; may be repeated.", show_default="all"),
    given("--graph -g IRI...", "On this graph; may be repeated.", show_default="all"),
    given("--expires WHEN", "90d, 12h, a date such as 2027-01-31, or never.", default="never"),
    _KEY_FILE,
)
def add(asked: Any) -> Any:
    """Make an API key, and print it: this once, as only its hash is kept.

    With the level read one may search and query, with propose also propose changes, with write also change quads and
    decide on proposals, with admin also make and delete worlds.

    $ worlds keys add kb.db ann --level write --expires 90d
    $ worlds keys add folder/ reader --world kb --world papers
    """
    from worlds.doors.server.keys import ANY, expiry

    store = _store(asked.target, asked.key_file)
    levels = dict.fromkeys(asked.world or [ANY], asked.level)
    key, text = store.add(asked.name, levels, expires=expiry(asked.expires), graphs=asked.graph)
    if asked.json:
        return {**key.to_dict(), "key": text}
    note(f"this is the only time that the key is shown; its id is {key.id}, and {store.path} has its hash")
    return text


@command("keys.list", *(_TARGET, _KEY_FILE), empty="there are no keys; `worlds keys add` makes one")
def listed(target: Path, *, key_file: Path | None) -> Any:
    """List the API keys: their ids, names, levels and times, not the keys themselves.

    $ worlds keys list kb.db
    $ worlds keys list folder/ --json
    """
    return _store(target, key_file).all()


@command("keys.revoke", _TARGET, given("KEY", "The key's id or name."), _KEY_FILE, empty="it was revoked before")
def revoke(target: Path, key: str, *, key_file: Path | None) -> Any:
    """Make an API key useless, at once and for good; a server that runs notices.

    $ worlds keys revoke kb.db ann
    """
    return _store(target, key_file).revoke(key)


def _store(target: Path, given: Path | None) -> KeyStore:
    from worlds.doors.server.keys import keys_of
    from worlds.settings import load_settings

    if not target.exists():
        raise OpenError(f"there is no {target}")
    named = load_settings({"server.keys": given})["server.keys"]
    return keys_of(target.absolute(), named)
