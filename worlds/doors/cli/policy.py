"""The commands that show and change what a world's file says of itself: policy, prefix."""

from __future__ import annotations

import json as json_format
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from worlds.doors.cli.command import command
from worlds.doors.cli.options import given
from worlds.doors.cli.show import print_table
from worlds.doors.cli.terminal import clean, counted, note, output

if TYPE_CHECKING:
    from worlds.world import World

_DEFAULT_GRAPH = "default_graph"


def _print(told: Mapping[str, Any], _: Mapping[str, str]) -> None:
    """The names as they are given to the command, and the values as JSON."""
    values = [one if isinstance(one, str) else json_format.dumps(one, ensure_ascii=False) for one in told.values()]
    print_table(output(), ("name", "value"), list(zip(map(clean, told), map(clean, values), strict=True)))


@command(
    None,
    given(
        "[NAME=VALUE...]",
        "What to change. A value is a word, a list of IRIs with commas between them, or JSON.",
        name="changes",
    ),
    writes="changes",
    show=_print,
)
def policy(world: World, path: str, changes: list[str] | None) -> dict[str, Any]:
    """Show or change which literals of a world are text, and the default graph of queries.

    With `profiles=true` each entity gets a text of its own, its triples in words; of a list of classes, their
    instances do. With `statements=true` each quad between two entities gets one; of a list of predicates, their
    quads do. A change cuts and indexes anew what it concerns, in one transaction; `worlds embed` gives new texts their
    vectors.

    $ worlds policy kb.db
    $ worlds policy kb.db profiles=true
    $ worlds policy kb.db profiles=ex:Film,ex:Person tokenizer=trigram
    $ worlds policy kb.db statements=true
    $ worlds policy kb.db default_graph=union
    """
    given = dict(map(_pair, changes or ()))
    setting = given.pop(_DEFAULT_GRAPH, None)
    if given:
        world.policy = world.policy.changed(given, world.prefixes)
    if setting is not None:
        world.file.default_graph = setting
    pending = world.stats().pending
    if pending and changes:
        note(f"{counted(pending, 'text')} without a vector; `worlds embed {path}` embeds")
    return {**json_format.loads(world.policy.to_json()), _DEFAULT_GRAPH: world.file.default_graph}


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"a change is NAME=VALUE, not {text!r}")
    try:
        return name, json_format.loads(value)
    except ValueError:
        return name, value


@command(
    None,
    given("[PREFIX]", "The prefix, with its colon or without.", name="name"),
    given("[IRI]", "The IRI that the prefix stands for from now on."),
    writes="iri",
    show=_print,
)
def prefix(world: World, path: str, name: str | None, iri: str | None) -> dict[str, str]:
    """List the prefixes of a world, print the namespace of one, or declare one.

    Queries, filters and exports use them without a declaration. Loading a file adds those that it declares.

    $ worlds prefix kb.db
    $ worlds prefix kb.db ex: http://example.org/
    $ worlds prefix kb.db ex
    """
    key = (name or "").removesuffix(":")
    if iri is not None:
        world.bind(key, iri.removeprefix("<").removesuffix(">"))
    known = dict(sorted(world.prefixes.items()))
    if name is None:
        return known
    if key not in known:
        raise ValueError(f"{key!r} is not a prefix of this world; `worlds prefix {path} {key}: IRI` declares it")
    return {key: known[key]}
