"""A hook of MkDocs: writes the pages of the reference from the code; README, changelog and examples become pages too.

Nothing of it is kept in the repository, so nothing of it can be stale.
"""

from __future__ import annotations

import inspect
import json
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
METHODS = ("get", "head", "post", "put", "delete")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are generated."""
    from mkdocs.structure.files import File

    for path, content in pages().items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Lead links that leave docs/ to the pages that stand for these files here."""
    up = "../" * page.file.src_uri.count("/")
    markdown = markdown.replace(f"]({up}../README.md", f"]({up}index.md")
    markdown = markdown.replace(f"]({up}../CHANGELOG.md", f"]({up}changelog.md")
    return re.sub(rf"\]\({re.escape(up)}\.\./examples/(\w+)\.py\)", rf"]({up}examples/\1.md)", markdown)


def pages() -> dict[str, str]:
    """The generated pages: path below docs/ → Markdown."""
    found = {
        "reference/verbs.md": verbs(),
        "reference/python.md": python(),
        "reference/errors.md": errors(),
        "reference/adapters.md": adapters(),
        "reference/cli.md": commands(),
        "reference/settings.md": settings(),
        "reference/http.md": http(),
        "reference/mcp.md": tools(),
        "index.md": (ROOT / "README.md")
        .read_text("utf-8")
        .replace("](docs/", "](")
        .replace("](CHANGELOG", "](changelog"),
        "changelog.md": (ROOT / "CHANGELOG.md").read_text("utf-8").replace("](docs/", "]("),
    }
    for example in sorted((ROOT / "examples").glob("*.py")):
        code = example.read_text("utf-8")
        found[f"examples/{example.stem}.md"] = f"# {example.name}\n\n```python\n{code}```\n"
    return found


# --- Python -----------------------------------------------------------------------------------------------------------


def python() -> str:
    """Every public name but the errors, and the rooms of a world, from its docstring."""
    import worlds
    from worlds.verbs.table import ROOMS

    names = [name for name in worlds.__all__ if not is_error(getattr(worlds, name))]
    first = ["open", "World"]
    shown = [
        *(_symbol(worlds, name) for name in first),
        *(_directive(f"worlds.rooms.{name}.{name.capitalize()}Room", level=2) for name in sorted(ROOMS - {"rules"})),
        _directive("worlds.extras.conclusions.ruling.Rules", level=2),
        *(_symbol(worlds, name) for name in names if name not in first),
        *(_symbol(worlds.records, name) for name in worlds.records.__all__),
    ]
    head = "# Python\n\nThe names of `worlds`, the rooms of a `World`, and the records of `worlds.records`.\n\n"
    return head + "\n".join(shown)


def errors() -> str:
    """Every error, from its docstring."""
    import worlds
    from worlds.doors.cli.exit_codes import EXIT_CODES

    names = [name for name in worlds.__all__ if is_error(getattr(worlds, name))]
    tree = inspect.getdoc(worlds.errors) or ""
    codes = _table(("code", "meaning"), ((str(code), meaning) for code, meaning in EXIT_CODES.items()))
    drawn = re.search(r"(?ms)^ {4}.*?(?=^\S)", tree)
    return (
        "# Errors\n\nAll of them are in `worlds`, and none but these is raised on purpose, apart from ValueError and "
        f"TypeError for arguments that make no sense.\n\n```text\n{drawn[0].rstrip() if drawn else tree}\n```\n\n"
        + "\n".join(_symbol(worlds, name) for name in names)
        + f"\n\n## Exit codes of the command line\n\n{codes}\n"
    )


def adapters() -> str:
    """The modules for other libraries."""
    listed = {
        "worlds.adapters.langchain": ("WorldsRetriever", "WorldsVectorStore", "LangChainEmbedder", "WorldsEmbeddings"),
        "worlds.adapters.llamaindex": ("WorldsRetriever", "LlamaIndexEmbedder", "WorldsEmbedding"),
        "worlds.adapters.llamaindex_graph": ("WorldsPropertyGraphStore",),
        "worlds.adapters.rdflib_store": ("WorldsStore",),
        "worlds.adapters.metadata": ("pattern",),
    }
    parts = ["# Adapters", ""]
    for module, names in listed.items():
        parts += [f"## {module}", ""]
        parts += [_directive(f"{module}.{name}", level=3) for name in names]
    return "\n".join(parts)


def is_error(value: Any) -> bool:
    """Whether it is one of the package's errors."""
    import worlds

    return isinstance(value, type) and issubclass(value, worlds.WorldsError)


def _symbol(package: Any, name: str) -> str:
    value = getattr(package, name)
    return _directive(f"{value.__module__}.{name}", level=2)


def _directive(path: str, level: int) -> str:
    return f"::: {path}\n    options:\n      heading_level: {level}\n"


# --- the command line -------------------------------------------------------------------------------------------------


def commands() -> str:
    """Every command with its arguments and options."""
    import typer

    from worlds.doors.cli import app

    parts = ["# Command line", "", "`worlds COMMAND --help` shows the same.", ""]
    for name, command in _commands(typer.main.get_command(app), "worlds"):
        parts += [f"## {name}", "", _plain(command.help or ""), ""]
        hints = typing.get_type_hints(command.callback)
        shown = [each for each in command.params if not getattr(each, "hidden", False)]
        arguments = [_metavar(each, hints) for each in shown if each.param_type_name == "argument"]
        parts += ["```text", " ".join((name, "[OPTIONS]", *arguments)), "```", ""]
        rows = [_parameter(each, hints) for each in shown]
        parts += [_table(("argument or option", "what it does", "default"), rows), ""] if rows else []
        examples = _plain(getattr(command, "epilog", None) or "")
        parts += ["```text", examples, "```", ""] if examples else []
    return "\n".join(parts)


def _commands(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


def _metavar(parameter: Any, hints: dict[str, Any]) -> str:
    """What stands for a value: its name, or its choices."""
    hint = hints.get(parameter.name)
    parts = [hint, *typing.get_args(hint)]
    choices = [str(value) for part in parts if typing.get_origin(part) is typing.Literal for value in part.__args__]
    return parameter.metavar or "|".join(choices) or parameter.name.upper().replace("_", "-")


def _parameter(parameter: Any, hints: dict[str, Any]) -> tuple[str, str, str]:
    metavar = _metavar(parameter, hints)
    if parameter.param_type_name == "argument":
        shown = f"`{metavar}`"
    else:
        value = "" if parameter.is_flag else f" {metavar}"
        shown = ", ".join(f"`{flag}{value}`" for flag in [*parameter.opts, *parameter.secondary_opts])
    default = getattr(parameter, "show_default", None)
    if not isinstance(default, str):
        told = isinstance(parameter.default, int | float | str) and not isinstance(parameter.default, bool)
        default = str(parameter.default) if told and default is not False else ""
    return shown, _plain(getattr(parameter, "help", None) or ""), default


def _plain(markup: str) -> str:
    """What Rich would show of a help text, without the style."""
    from rich.text import Text

    return Text.from_markup(inspect.cleandoc(markup)).plain.replace("\b\n", "").strip()


# --- settings, endpoints, tools ---------------------------------------------------------------------------------------


def settings() -> str:
    """Every setting."""
    from worlds.settings import SETTINGS

    rows = (
        (f"`{name}`", f"`{setting.variable}`", setting.meaning or f"`{setting.default}`", setting.help)
        for name, setting in SETTINGS.items()
    )
    head = "# Settings\n\nWhere their values come from stands in [Settings](../settings.md).\n\n"
    return head + _table(("setting", "variable", "default", "what it does"), rows) + "\n"


def search_options() -> str:
    """The tables of a search's options; docs/search.md holds them, and a test compares the two."""
    from worlds.core.search.options import OPTIONS, RANKED

    kinds = {
        "integer": "a whole number",
        "number": "a number",
        "boolean": "True or False",
        "text": "a text",
        "texts": "an IRI, or a list",
        "numbers": "numbers, one a dimension",
        "json": "a mapping",
        "revision": "a number, a tag or a time",
    }
    special = {
        "languages": "a tag, or a list",
        "rerank": "True, a text, or a cross-encoder",
        "boost": "a mapping, a text, or a list",
    }
    own, ranked = [], []
    for option in OPTIONS.values():
        kind = special.get(option.name) or ", ".join(f'`"{choice}"`' for choice in option.choices) or kinds[option.kind]
        if option.least is not None:
            kind += f" from {option.least:g}" + ("" if option.most is None else f" to {option.most:,g}")
        usual = option.default if option.usual is None else option.usual
        default = json.dumps(usual) if isinstance(usual, str) else repr(usual)
        rows = ranked if option.name in RANKED else own
        rows.append((f"`{option.name}`", kind, f"`{default}`", option.help))
    told = "type", "default", "what it does"
    fields = "The other options are fields of `ranking=worlds.Ranking(…)` in Python:"
    return f"{_table(('option', *told), own)}\n\n{fields}\n\n{_table(('field', *told), ranked)}"


def http() -> str:
    """Every endpoint of the server, from its OpenAPI document."""
    from worlds.doors.server.api.openapi import document

    described = document(None)
    parts = [
        "# HTTP",
        "",
        "A running server has this as OpenAPI at `/openapi.json`. A server of one world has the routes",
    ]
    parts += ["of `/worlds/{world}` at `/` too.", ""]
    for path, item in described["paths"].items():
        for method in METHODS:
            if method not in item:
                continue
            operation = item[method]
            parts += [f"## {method.upper()} {path}", "", operation.get("summary", ""), ""]
            if operation.get("description"):
                parts += [operation["description"], ""]
            rows = [
                (f"`{each['name']}`", each["in"], _kind(each.get("schema", {})), each.get("description", ""))
                for each in operation.get("parameters", [])
                if "name" in each
            ]
            parts += [_table(("parameter", "in", "type", "what it is"), rows), ""] if rows else []
            body = operation.get("requestBody", {}).get("content", {})
            parts += ["Body: " + ", ".join(f"`{kind}`" for kind in body) + ".", ""] if body else []
            answers = ((str(status), each.get("description", "")) for status, each in operation["responses"].items())
            parts += [_table(("status", "answer"), ((s, t or "a problem (RFC 9457)") for s, t in answers)), ""]
    return "\n".join(parts)


def tools() -> str:
    """Every tool of the MCP server, from its input schema."""
    import asyncio

    import worlds
    from worlds.doors.mcp.server import WorldServer
    from worlds.doors.mcp.toolbox import Service

    async def listed() -> Any:
        with worlds.open(embedder=None) as world:
            return await WorldServer(Service(world, allow_writes=True)).list_tools()

    parts = ["# MCP tools", "", "`update`, `add` and `undo` are there with `--allow-writes` only.", ""]
    for tool in asyncio.run(listed()):
        parts += [f"## {tool.name}", "", inspect.cleandoc(tool.description or ""), ""]
        properties = tool.input_schema.get("properties", {})
        rows = [(f"`{name}`", _kind(each), each.get("description", "")) for name, each in properties.items()]
        parts += [_table(("argument", "type", "what it is"), rows), ""] if rows else []
    return "\n".join(parts)


def _kind(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"] if each.get("type") != "null")
    if "enum" in schema:
        return " ".join(f"`{value}`" for value in schema["enum"])
    kind = str(schema.get("type", "any"))
    return f"{kind} of {_kind(schema['items'])}" if kind == "array" and "items" in schema else kind


def _table(head: tuple[str, ...], rows: Any) -> str:
    lines = [head, ("---",) * len(head), *rows]
    cells = [[_cell(cell) for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _cell(text: str) -> str:
    """A text as it stands in a table: on one line, and without bars that would end the cell."""
    parts = re.split(r"(`[^`]*`)", re.sub(r"\s+", " ", text))
    return "".join(part if part.startswith("`") else part.replace("|", "\\|") for part in parts)


# --- the verbs --------------------------------------------------------------------------------------------------------

DOORS = (("command", "command line"), ("http", "HTTP"), ("agents", "agents"))


def doors() -> str:
    """The tables of docs/verbs.md: each verb at each door, other names, and what a door leaves out with the reason."""
    from worlds.doors.server.api.operations import operations
    from worlds.verbs.table import VERBS

    routes = {one.name: f"`{one.method} {one.path}`" for one in operations()}

    def at(row: Any, door: str) -> str:
        if door in row.absent:
            return "no"
        name = row.called(door)
        if door == "http":
            return routes[name]
        return f"`worlds {name}`" if door == "command" else f"`{name}`"

    verbs = [
        (
            f"`{row.name}`",
            row.help,
            row.level,
            *(at(row, door) for door, _ in DOORS),
            "no" if "group" in row.absent else "yes",
        )
        for row in VERBS.values()
    ]
    left = [
        (told, f"`{row.name}`", "", row.absent[door])
        for door, told in (*DOORS, ("remote", "a world on a server"))
        for row in VERBS.values()
        if door in row.absent
    ]
    left += [
        (told, f"`{row.name}`", f"`{option.name}`", option.absent[door])
        for door, told in DOORS
        for row in VERBS.values()
        if door not in row.absent
        for option in row.options.values()
        if door in option.absent
    ]
    names = [
        (
            f"`{row.name}`",
            f"`{option.name}`",
            *(f"`{option.at(door)}`" if option.at(door) != option.name else "" for door, _ in DOORS),
        )
        for row in VERBS.values()
        for option in row.options.values()
        if any(
            door not in row.absent and door not in option.absent and option.at(door) != option.name for door, _ in DOORS
        )
    ]
    heads = [told for _, told in DOORS]
    return "\n\n".join(
        (
            _table(("verb", "what it does", "level", *heads, "a group"), verbs),
            "## Other names\n\n" + _table(("verb", "option", *heads), names),
            "## Left out, and the reason\n\n" + _table(("door", "verb", "option", "the reason"), left),
        )
    )


def verbs() -> str:
    """Every verb with its signature, its options, its errors and the same call at the other doors."""
    import worlds
    from worlds.core.search.options import REQUIRED
    from worlds.verbs.table import VERBS

    world = worlds.open(embedder=None)
    parts = ["# Every verb\n\nThe options, with what each door calls them; *no* where a door has no such option.\n"]
    for row in VERBS.values():
        method = row.of(world)
        signature = inspect.signature(method)
        parts += [f"## {row.name}\n", f"{row.help}\n", f"```python\nworld.{row.name}{signature}\n```\n"]
        rows = []
        for option in row.options.values():
            bounds = "" if option.least is None else f" from {option.least:g}"
            bounds += "" if option.most is None or option.kind not in ("integer", "number") else f" to {option.most:,g}"
            kind = ", ".join(f"`{choice}`" for choice in option.choices) or option.kind + bounds
            default = "" if option.default is REQUIRED else f"`{option.default!r}`"
            said = ["no" if {door} & {*option.absent, *row.absent} else f"`{option.at(door)}`" for door, _ in DOORS]
            rows.append((f"`{option.name}`", kind, default, option.help, *said))
        if rows:
            parts.append(
                _table(("option", "kind", "default", "what it does", *(told for _, told in DOORS)), rows) + "\n"
            )
        rest = (inspect.getdoc(method) or "").partition("\n\n")[2]
        parts.append(f"{rest}\n" if rest else "")
    return "\n".join(parts)
