"""What every door takes, without its words, a line for each option: so that a change of it is seen, and is wanted.

`python -m tests.support.surface` writes `surface.txt` anew.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

import typer
from typer import Context
from typer.models import OptionInfo

import worlds
from worlds.core.search.options import REQUIRED
from worlds.doors.mcp.server import WorldServer
from worlds.doors.mcp.toolbox import Service

KEPT = Path(__file__).with_name("surface.txt")
_WORDS = ("description", "title", "example", "examples")


def surface() -> str:
    """Of each door, each operation with its options: kinds, bounds and defaults."""
    doors = {"command": commands(), "http": operations(), "agents": asyncio.run(tools())}
    return "".join(
        f"{door}: {verb}: {option}{' ' if told else ''}{json.dumps(told, sort_keys=True) if told else ''}\n"
        for door, verbs in doors.items()
        for verb, options in sorted(verbs.items())
        for option, told in (options or {"": None}).items()
    )


@cache
def commands() -> dict[str, Any]:
    """The options of each command."""
    from worlds.doors.cli.command import COMMANDS
    from worlds.doors.cli.commands import app

    for group in typer.main.get_command(app).commands.values():  # type: ignore[attr-defined]  # which names its commands
        list(getattr(group, "commands", {}).values())
    found: dict[str, Any] = {}
    for name, made in COMMANDS.items():
        parameters = inspect.signature(made.callback, eval_str=True).parameters.values()
        found[name] = {one.name: _option(one) for one in parameters if one.annotation is not Context}
    return found


def _option(one: inspect.Parameter) -> dict[str, Any]:
    kind, told = get_args(one.annotation)
    default = ["required"] if one.default is one.empty else [one.default]
    flags = [f"--{one.name.replace('_', '-')}"]
    if isinstance(told, OptionInfo):
        named = [told.default, *(told.param_decls or ())]  # in Annotated, Typer takes the first flag for a default
        flags = sorted(flag for flag in named if isinstance(flag, str)) or flags
    else:
        flags = []
    bounds = {name: getattr(told, name) for name in ("min", "max") if getattr(told, name) is not None}
    return {"kind": inspect.formatannotation(kind), "flags": flags, "default": default[0], **bounds}


@cache
def operations() -> dict[str, Any]:
    """The parameters of each operation over HTTP, with the fields of its body."""
    from worlds.doors.server.api.operations import operations as table

    return {
        f"{one.method} {one.path or '/'} ({one.name}, {one.level})": {
            field.name: _field(field) for field in (*one.parameters, *(one.fields or ()))
        }
        for one in table()
    }


def _field(one: Any) -> dict[str, Any]:
    names = ("kind", "where", "required", "default", "choices", "least", "most")
    return {name: getattr(one, name) for name in names if getattr(one, name) not in (None, False, (), REQUIRED)}


async def tools() -> dict[str, Any]:
    """The arguments of each tool of agents."""
    with worlds.open(embedder=None) as world:
        listed = await WorldServer(Service(world, allow_writes=True)).list_tools()
    return {
        f"{tool.name} ({'reads' if tool.annotations and tool.annotations.read_only_hint else 'writes'})": {
            name: _plain(schema) | ({"required": True} if name in tool.input_schema.get("required", ()) else {})
            for name, schema in sorted(tool.input_schema["properties"].items())
        }
        for tool in listed
    }


def _plain(value: Any, of: str = "") -> Any:
    """A schema without its words; options may be called as words are."""
    if isinstance(value, Mapping):
        return {key: _plain(one, key) for key, one in sorted(value.items()) if of == "properties" or key not in _WORDS}
    if isinstance(value, list):
        items = [_plain(one) for one in value]
        return sorted(items, key=json.dumps) if all(isinstance(one, str) for one in items) else items
    return value


if __name__ == "__main__":
    KEPT.write_text(surface())
