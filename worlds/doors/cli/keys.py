"""The commands `keys add`, `keys list` and `keys revoke`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from worlds.doors.cli.command import command
from worlds.doors.cli.options import given
from worlds.doors.cli.terminal import note
from worlds.errors import OpenError

if TYPE_CHECKING:
    from worlds.doors.server.keys import KeyStore

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
