"""The command that shows and declares prefixes."""

from __future__ import annotations

from typing import Annotated

import typer

from worlds.cli import show
from worlds.cli.options import Command, Json, WorldPath, examples, opened
from worlds.cli.terminal import output, write_json


def prefix(
    path: WorldPath,
    name: Annotated[
        str | None,
        typer.Argument(metavar="[PREFIX]", help="The prefix, with its colon or without.", show_default=False),
    ] = None,
    iri: Annotated[
        str | None, typer.Argument(metavar="[IRI]", help="What it stands for from now on.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List the prefixes of a world, tell what one stands for, or declare one.

    Queries, filters and exports use them without a declaration. Loading a file adds those that it declares.
    """
    with opened(path, write=iri is not None) as world:
        if name is not None and iri is not None:
            world.bind(name.removesuffix(":"), iri.removeprefix("<").removesuffix(">"))
        known = world.prefixes
    if name is not None:
        key = name.removesuffix(":")
        if key not in known:
            raise ValueError(f"{key!r} is no prefix of this world; `worlds prefix {path} {key}: IRI` declares it")
        known = {key: known[key]}
    if json:
        write_json(known)
    else:
        show.print_table(output(), ("prefix", "iri"), [(f"{one}:", of) for one, of in sorted(known.items())])


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        cls=Command,
        epilog=examples("worlds prefix kb.db", "worlds prefix kb.db ex: http://example.org/", "worlds prefix kb.db ex"),
    )(prefix)
