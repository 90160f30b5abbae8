"""The command that shows and changes what a world's file says of itself: which literals are text, what queries see."""

from __future__ import annotations

import json as json_format
from typing import Annotated, Any

import typer

from worlds.cli import show
from worlds.cli.options import Command, Json, WorldPath, examples, opened
from worlds.cli.terminal import counted, note, output, write_json

_DEFAULT_GRAPH = "default_graph"


def policy(
    path: WorldPath,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=VALUE...]",
            help="What to change. A value is a word, a list of IRIs with commas between them, or JSON.",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show which literals of a world are text, and what queries see that name no graph; or change that.

    With `profiles=true` each entity gets a text of its own, its triples in words; of a list of classes, their
    instances do. With `statements=true` each quad between two entities gets one; of a list of predicates, their
    quads do. A change cuts and indexes anew what it concerns, in one transaction; `worlds embed` gives new texts their
    vectors.
    """
    given = dict(map(_pair, changes or ()))
    setting = given.pop(_DEFAULT_GRAPH, None)
    with opened(path, write=bool(changes)) as world:
        if given:
            world.policy = world.policy.changed(given, world.prefixes)
        if setting is not None:
            world.default_graph = setting
        told: dict[str, Any] = {**json_format.loads(world.policy.to_json()), _DEFAULT_GRAPH: world.default_graph}
        pending = world.stats().pending
    if json:
        write_json(told)
    else:
        show.print_table(output(), ("name", "value"), [(name, _shown(value)) for name, value in told.items()])
    if pending and changes:
        note(f"{counted(pending, 'text')} without a vector; `worlds embed {path}` embeds")


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"a change is NAME=VALUE, not {text!r}")
    try:
        return name, json_format.loads(value)
    except ValueError:
        return name, value


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json_format.dumps(value, ensure_ascii=False)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        cls=Command,
        epilog=examples(
            "worlds policy kb.db",
            "worlds policy kb.db profiles=true",
            "worlds policy kb.db profiles=ex:Film,ex:Person tokenizer=trigram",
            "worlds policy kb.db statements=true",
            "worlds policy kb.db default_graph=union",
        ),
    )(policy)
