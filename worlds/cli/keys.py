"""The commands `keys add`, `keys list` and `keys revoke`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from worlds.cli.options import Command, Commands, Json, examples
from worlds.cli.table import table
from worlds.cli.terminal import clean, note, output, write_json
from worlds.errors import OpenError

if TYPE_CHECKING:
    from worlds.server.keys import Key, KeyStore

Target = Annotated[
    Path, typer.Argument(metavar="WORLD|FOLDER", help="What is served: a file, or a folder.", show_default=False)
]
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="The file of the API keys.", show_default="beside the world"),
]


def add(
    target: Target,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who it is for: the author of what is written with it.")],
    level: Annotated[
        Literal["read", "propose", "write", "admin"],
        typer.Option(help="What it allows; each includes those before it."),
    ] = "read",
    world: Annotated[
        list[str] | None,
        typer.Option("--world", "-w", metavar="NAME", help="On this world; may be repeated.", show_default="all"),
    ] = None,
    graph: Annotated[
        list[str] | None,
        typer.Option("--graph", "-g", metavar="IRI", help="On this graph; may be repeated.", show_default="all"),
    ] = None,
    expires: Annotated[
        str, typer.Option(metavar="WHEN", help="90d, 12h, a date such as 2027-01-31, or never.")
    ] = "never",
    key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Make an API key, and print it: this once, as only its hash is kept.

    With the level read one may search and query, with propose also propose changes, with write also change quads and
    decide on proposals, with admin also make and delete worlds.
    """
    from worlds.server.keys import ANY, expiry

    store = _store(target, key_file)
    key, text = store.add(name, dict.fromkeys(world or [ANY], level), expires=expiry(expires), graphs=graph)
    if json:
        write_json({**key.to_dict(), "key": text})
        return
    output().print(text, soft_wrap=True)
    note(f"this is the only time that the key is shown; its id is {key.id}, and {store.path} has its hash")


def list_(target: Target, key_file: KeyFile = None, json: Json = False) -> None:
    """List the API keys: their ids, names, levels and times, not the keys themselves."""
    store = _store(target, key_file)
    keys = store.all()
    if json:
        write_json([key.to_dict() for key in keys])
        return
    if not keys:
        note(f"there are no keys in {store.path}; `worlds keys add` makes one")
        return
    for line in table(["id", "name", "levels", "created", "expires", "state"], [_row(key) for key in keys], width=None):
        output().print(line, soft_wrap=True)


def revoke(
    target: Target,
    key: Annotated[str, typer.Argument(metavar="KEY", help="The key's id or name.", show_default=False)],
    key_file: KeyFile = None,
    json: Json = False,
) -> None:
    """Make an API key useless, at once and for good; a server that runs notices."""
    revoked = _store(target, key_file).revoke(key)
    if json:
        write_json([each.to_dict() for each in revoked])
    elif not revoked:
        note(f"{key} was revoked before")
    else:
        output().print(f"revoked {', '.join(f'{each.name} ({each.id})' for each in revoked)}", soft_wrap=True)


def _store(target: Path, given: Path | None) -> KeyStore:
    from worlds.server.keys import keys_of
    from worlds.settings import load_settings

    if not target.exists():
        raise OpenError(f"there is no {target}")
    named = load_settings({"server.keys": given})["server.keys"]
    return keys_of(target.absolute(), named)


def _row(key: Key) -> list[str]:
    levels = ", ".join(f"{level} {world}" for world, level in key.levels.items())
    if key.graphs is not None:
        levels += " in " + ", ".join(key.graphs)
    return [key.id, clean(key.name), levels, _day(key.created), _day(key.expires) or "never", key.state()]


def _day(time: datetime | None) -> str:
    return "" if time is None else f"{time:%Y-%m-%d %H:%M}"


def register(app: typer.Typer) -> None:
    """Add the commands."""
    keys = typer.Typer(
        name="keys",
        cls=Commands,
        help="API keys for `worlds serve`: add, list, revoke.",
        rich_markup_mode="rich",
        no_args_is_help=True,
    )
    keys.command(
        cls=Command,
        epilog=examples(
            "worlds keys add kb.db ann --level write --expires 90d",
            "worlds keys add folder/ reader --world kb --world papers",
        ),
    )(add)
    keys.command("list", cls=Command, epilog=examples("worlds keys list kb.db", "worlds keys list folder/ --json"))(
        list_
    )
    keys.command(cls=Command, epilog=examples("worlds keys revoke kb.db ann"))(revoke)
    app.add_typer(keys, name="keys")
