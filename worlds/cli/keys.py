"""The commands `keys add`, `keys list` and `keys revoke`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from worlds.cli.command import command
from worlds.cli.options import given
from worlds.cli.terminal import note
from worlds.errors import OpenError

if TYPE_CHECKING:
    from worlds.server.keys import KeyStore

_TARGET = given("WORLD|FOLDER", "What is served: a file, or a folder.", Path, name="target")
_KEY_FILE = given("--key-file FILE", "The file of the API keys.", Path, show_default="beside the world")
_LEVELS = Literal["read", "propose", "write", "admin"]


@command(
    None,
    _TARGET,
    given("NAME", "Who it is for: the author of what is written with it."),
    given("--level", "What it allows; each includes those before it.", _LEVELS, "read"),
    given("--world -w NAME...", "On this world; may be repeated.", show_default="all"),
    given("--graph -g IRI...", "On this graph; may be repeated.", show_default="all"),
    given("--expires WHEN", "90d, 12h, a date such as 2027-01-31, or never.", default="never"),
    _KEY_FILE,
    name="keys add",
    examples=(
        "worlds keys add kb.db ann --level write --expires 90d",
        "worlds keys add folder/ reader --world kb --world papers",
    ),
)
def add(
    target: Path,
    name: str,
    *,
    level: Any,
    world: list[str] | None,
    graph: list[str] | None,
    expires: str,
    key_file: Path | None,
    json: bool,
) -> Any:
    """Make an API key, and print it: this once, as only its hash is kept.

    With the level read one may search and query, with propose also propose changes, with write also change quads and
    decide on proposals, with admin also make and delete worlds.
    """
    from worlds.server.keys import ANY, expiry

    store = _store(target, key_file)
    key, text = store.add(name, dict.fromkeys(world or [ANY], level), expires=expiry(expires), graphs=graph)
    if json:
        return {**key.to_dict(), "key": text}
    note(f"this is the only time that the key is shown; its id is {key.id}, and {store.path} has its hash")
    return text


@command(
    None,
    *(_TARGET, _KEY_FILE),
    name="keys list",
    empty="there are no keys; `worlds keys add` makes one",
    examples=("worlds keys list kb.db", "worlds keys list folder/ --json"),
)
def listed(target: Path, *, key_file: Path | None) -> Any:
    """List the API keys: their ids, names, levels and times, not the keys themselves."""
    return _store(target, key_file).all()


@command(
    None,
    _TARGET,
    given("KEY", "The key's id or name."),
    _KEY_FILE,
    name="keys revoke",
    empty="it was revoked before",
    examples=("worlds keys revoke kb.db ann",),
)
def revoke(target: Path, key: str, *, key_file: Path | None) -> Any:
    """Make an API key useless, at once and for good; a server that runs notices."""
    return _store(target, key_file).revoke(key)


def _store(target: Path, given: Path | None) -> KeyStore:
    from worlds.server.keys import keys_of
    from worlds.settings import load_settings

    if not target.exists():
        raise OpenError(f"there is no {target}")
    named = load_settings({"server.keys": given})["server.keys"]
    return keys_of(target.absolute(), named)
