"""The commands of shapes: validate, show, load, guard."""

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
    given("[SHAPES]", "A file of SHACL shapes; else the world's own, see `worlds shapes load`.", show_default=True),
    given("--limit -n N", f"The most results; by default {_SHOWN}, and all with --json or --turtle.", int, min=1),
    ENTAILED,
    given("--turtle", "Print the report as a SHACL graph in Turtle."),
)
def validate(world: World, shapes: str | None, *, limit: int | None, turtle: bool, json: bool, **given: Any) -> None:
    """The exit code is 1 if they do not conform, or a shape cannot be checked.

    $ worlds shapes validate kb.db shapes.ttl
    $ worlds shapes validate kb.db --turtle
    """
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


_FORMAT = given("--format -f FORMAT", "turtle, nt, nq, trig, rdfxml or jsonld.")


@command("shapes.show", _FORMAT)
def shown(world: World, *, format: str | None, json: bool) -> Any:
    """Print the shapes of a world as Turtle, or in another format.

    They are the graph <urn:worlds:shapes>, which is no text and in no union.

    $ worlds shapes show kb.db
    """
    kept = world.shapes
    text = kept.serialize(format or "turtle")
    if json:
        return {"triples": len(kept), "shapes": text, "left_out": kept.left_out}
    sys.stdout.write(text)
    for one in kept.left_out:
        note(str(one))
    return None


@command(
    "shapes.load",
    given("SHAPES...", "Files, folders, globs or - of SHACL shapes.", name="sources"),
    given("--replace", "Replace the present shapes."),
    *(_FORMAT, AUTHOR, MESSAGE),
    writes=True,
    waiting="loading",
)
def load(world: World, sources: list[str], *, replace: bool, **given: Any) -> Any:
    """Load SHACL shapes, which `shapes validate` and `shapes guard` then go by.

    Shapes that cannot be checked are left out, and named with the reason; if there are no others, they are refused.

    $ worlds shapes load kb.db shapes.ttl
    $ worlds shapes load kb.db new.ttl --replace
    """
    return world.shapes.load(sources, mode="replace" if replace else "merge", **given)


@command(
    "shapes.set_guard",
    given("[SETTING]", "off, warn, queue or reject; without it the guard is shown."),
    writes="setting",
)
def guard(world: World, setting: str | None, **given: Any) -> dict[str, str]:
    """Without a setting, the present one is shown.

    "warn" keeps it and says so, "queue" makes it a proposal, "reject" refuses it. What was violated before counts for
    nothing. It is refused where a shape cannot be checked, unless it goes by the others (--partly).

    $ worlds shapes guard kb.db reject
    $ worlds shapes guard kb.db
    """
    if setting is not None:
        world.shapes.set_guard(setting, **given)  # type: ignore[arg-type]  # it complains
    return {"guard": world.shapes.guard}
