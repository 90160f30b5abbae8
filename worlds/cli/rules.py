"""The commands about rules: validate, shapes, guard."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer

from worlds.cli import show
from worlds.cli.errors import NO
from worlds.cli.options import Author, Command, Json, Message, WorldPath, examples, of_verb, opened
from worlds.cli.terminal import note, output, waiting, write_json
from worlds.cli.write import report

_SHOWN = 20  # results, for people


@of_verb("validate")
def validate(
    path: WorldPath,
    shapes: Annotated[
        str | None,
        typer.Argument(metavar="[SHAPES]", help="A file of SHACL shapes; else the world's own, see `worlds shapes`."),
    ] = None,
    *,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", min=1, help=f"The most results; by default {_SHOWN}, and all with --json or --turtle."
        ),
    ] = None,
    turtle: Annotated[bool, typer.Option("--turtle", help="Print the report as a SHACL graph in Turtle.")] = False,
    json: Json = False,
    **given: Any,
) -> None:
    """The exit code is 1 if they do not conform."""
    with opened(path) as world, waiting("validating"):
        found = world.validate(shapes=shapes, **given)
    if json:
        write_json({"conforms": found.conforms, "results": found.to_dicts()})
    elif turtle:
        typer.echo(found.triples.serialize("turtle"))
    elif found.conforms:
        output().print(str(found))
    else:
        columns = ("severity", "focus node", "path", "value", "message", "revision")
        rows = list(found.rows())
        show.print_table(output(), columns, rows[: limit or _SHOWN])
        if len(rows) > (limit or _SHOWN):
            note(f"and {len(rows) - (limit or _SHOWN):,} more: --limit shows more, --json all")
    if not found.conforms:
        raise typer.Exit(NO)


def shapes(
    path: WorldPath,
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SHAPES]…", help="Files, folders, globs or - of SHACL shapes to load."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Put them in the place of those that are there.")] = False,
    format: Annotated[
        str | None, typer.Option("--format", "-f", metavar="FORMAT", help="turtle, nt, nq, trig, rdfxml or jsonld.")
    ] = None,
    author: Author = None,
    message: Message = None,
    json: Json = False,
) -> None:
    """Print the shapes of a world as Turtle, or load shapes, which `validate` and `guard` then go by.

    They are kept in the graph <urn:worlds:shapes>, which is no text and in no union. Shapes that cannot be checked are
    refused.
    """
    if replace and not sources:
        raise ValueError("--replace needs SHAPES")
    began = time.perf_counter()
    with opened(path, write=bool(sources)) as world:
        if not sources:
            text = world.shapes.serialize(format or "turtle")
            write_json({"triples": len(world.shapes), "shapes": text}) if json else sys.stdout.write(text)
            return
        with waiting("loading"):
            change = world.shapes.load(
                sources, format=format, mode="replace" if replace else "merge", author=author, message=message
            )
        report(world, change, time.perf_counter() - began, as_json=json)


def guard(
    path: WorldPath,
    setting: Annotated[
        str | None,
        typer.Argument(metavar="[SETTING]", help="off, warn, queue or reject; else it is told.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Tell or set what is done with a write that violates the shapes.

    "warn" keeps it and says so, "queue" makes it a proposal, "reject" refuses it. What was violated before counts for
    nothing.
    """
    with opened(path, write=setting is not None) as world:
        if setting is not None:
            world.guard = setting  # type: ignore[assignment]  # it complains
        told = world.guard
    if json:
        write_json({"guard": told})
    else:
        output().print(told)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(cls=Command, epilog=examples("worlds validate kb.db shapes.ttl", "worlds validate kb.db --turtle"))(
        validate
    )
    app.command(
        cls=Command,
        epilog=examples(
            "worlds shapes kb.db shapes.ttl", "worlds shapes kb.db", "worlds shapes kb.db new.ttl --replace"
        ),
    )(shapes)
    app.command(cls=Command, epilog=examples("worlds guard kb.db reject", "worlds guard kb.db"))(guard)
