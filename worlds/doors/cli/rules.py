"""The commands about rules: validate, shapes, guard."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from worlds.doors.cli import show
from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import NO
from worlds.doors.cli.options import AUTHOR, ENTAILED, MESSAGE, given
from worlds.doors.cli.terminal import note, output, waiting, write_json

if TYPE_CHECKING:
    from worlds.world import World

_SHOWN = 20  # results, for people


@command(
    "shapes.validate",
    given("[SHAPES]", "A file of SHACL shapes; else the world's own, see `worlds shapes`.", show_default=True),
    given("--limit -n N", f"The most results; by default {_SHOWN}, and all with --json or --turtle.", int, min=1),
    ENTAILED,
    given("--turtle", "Print the report as a SHACL graph in Turtle."),
    examples=("worlds validate kb.db shapes.ttl", "worlds validate kb.db --turtle"),
)
def validate(world: World, shapes: str | None, *, limit: int | None, turtle: bool, json: bool, **given: Any) -> None:
    """The exit code is 1 if they do not conform, or a shape cannot be checked."""
    with waiting("validating"):
        found = world.shapes.validate(shapes=shapes, **given)
    if json:
        write_json(found.to_dict())
    elif turtle:
        typer.echo(found.triples.serialize("turtle"))
    elif found.conforms:
        output().print("the data conform")
    else:
        columns = ("severity", "focus node", "path", "value", "message", "revision")
        rows = found.rows()
        show.print_table(output(), columns, rows[: limit or _SHOWN])
        if len(rows) > (limit or _SHOWN):
            note(f"and {len(rows) - (limit or _SHOWN):,} more: --limit shows more, --json all")
    for one in () if json else (*found.left_out, *found.notes):
        note(str(one))
    if not found:
        raise typer.Exit(NO)


@command(
    None,
    given("[SHAPES]…", "Files, folders, globs or - of SHACL shapes to load.", name="sources"),
    given("--replace", "Replace the present shapes."),
    given("--format -f FORMAT", "turtle, nt, nq, trig, rdfxml or jsonld."),
    *(AUTHOR, MESSAGE),
    writes="sources",
    examples=("worlds shapes kb.db shapes.ttl", "worlds shapes kb.db", "worlds shapes kb.db new.ttl --replace"),
)
def shapes(
    world: World, sources: list[str] | None, *, replace: bool, format: str | None, json: bool, **given: Any
) -> Any:
    """Print the shapes of a world as Turtle, or load shapes, which `validate` and `guard` then go by.

    They are kept in the graph <urn:worlds:shapes>, which is no text and in no union. Shapes that cannot be checked are
    left out, and named with the reason; if there are no others, they are refused.
    """
    if replace and not sources:
        raise ValueError("--replace needs SHAPES")
    if sources:
        with waiting("loading"):
            return world.shapes.load(sources, format=format, mode="replace" if replace else "merge", **given)
    kept = world.shapes
    text = kept.serialize(format or "turtle")
    if json:
        return {"triples": len(kept), "shapes": text, "left_out": kept.left_out}
    sys.stdout.write(text)
    for one in kept.left_out:
        note(str(one))
    return None


@command(
    "shapes.set_guard",
    given("[SETTING]", "off, warn, queue or reject; without it the guard is shown."),
    name="guard",
    writes="setting",
    examples=("worlds guard kb.db reject", "worlds guard kb.db"),
)
def guard(world: World, setting: str | None, **given: Any) -> dict[str, str]:
    """Without a setting, the present one is shown.

    "warn" keeps it and says so, "queue" makes it a proposal, "reject" refuses it. What was violated before counts for
    nothing. It is refused where a shape cannot be checked, unless it goes by the others (--partly).
    """
    if setting is not None:
        world.shapes.set_guard(setting, **given)  # type: ignore[arg-type]  # it complains
    return {"guard": world.shapes.guard}
