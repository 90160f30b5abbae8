"""The commands in their groups, and the help of `worlds`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

import typer
from rich.text import Text

from worlds.doors import version
from worlds.doors.cli import (  # noqa: F401  # each names its commands
    ask,
    conclusions,
    config,
    curate,
    decide,
    differences,
    doctor,
    documents,
    entities,
    facts,
    file,
    history,
    init,
    keys,
    mcp,
    memory,
    plain,
    policy,
    questions,
    remote,
    rules,
    search,
    serve,
    sources,
    write,
)
from worlds.doors.cli.command import COMMANDS, Made
from worlds.doors.cli.exit_codes import EXIT_CODES, CommandGroup
from worlds.doors.cli.options import Command, Commands
from worlds.doors.cli.terminal import output

_FLAT = {
    "begin": "init doctor config completion",
    "write": "load update embed undo",
    "ask": "search sparql context resolve describe memory",
    "contents": "schema prefix policy stats check export",
    "history": "log diff compare",
    "serve": "serve mcp",
}
"""Commands of no group, by their subjects."""
_GROUPS = {
    "entities": "Entities: their names, forms, members, trees, and others like them.",
    "facts": "Facts in time: state, end and follow them.",
    "shapes": "SHACL shapes: load them, validate data, and guard writes.",
    "rules": "Rules by which quads follow from others, and why a quad follows.",
    "curate": "Curation: find contradictions, duplicates and missing links, and merge entities.",
    "proposals": "Proposals: make, list and decide on changes that wait for a person.",
    "questions": "Questions that are kept with their queries.",
    "sources": "Sources: folders, files and addresses that the world follows, and documents.",
    "revisions": "Revisions: tags, patches, the origin of quads, and how much history is kept.",
    "file": "The file as a whole: copy, restore, shrink, publish, purge.",
    "keys": "API keys for `worlds serve`.",
    "remote": "Worlds on servers and their replicas, and worlds cut into shards.",
}

_ABOUT = "Knowledge graphs with hybrid search: one world is one file of RDF, texts and vectors."
_EXAMPLES = (
    "worlds init kb.db papers.ttl",
    "worlds search kb.db solar cell stability --type ex:Paper",
    "worlds sparql kb.db 'SELECT ?s WHERE { ?s a ex:Paper } LIMIT 5'",
    "worlds curate duplicates kb.db",
)
_WIDEST = 100  # cells of a line


class Root(CommandGroup):
    """All commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the commands by name, a line a subject and a line a group."""
        console = output()
        for line in _overview():
            indent = 0 if line.startswith(("  $", "  0")) else re.match(r"(  \S+ +)?", line).end()  # type: ignore[union-attr]
            text = Text(line[indent:], style="" if line.startswith(" ") else "bold")
            width = 10**6 if line.startswith("  $") else min(console.width, _WIDEST) - indent
            for number, part in enumerate(text.wrap(console, width)):
                part.rstrip()
                console.print(Text(" " * indent if number else line[:indent]).append_text(part), soft_wrap=True)


def _overview() -> Iterator[str]:
    """The lines of `worlds --help`."""
    yield "Usage: worlds COMMAND …; worlds COMMAND --help shows its options"
    yield f"{_ABOUT}\n"
    for subject, names in _FLAT.items():
        yield f"  {subject:9}  {', '.join(names.split())}"
    yield "\nGroups, as in worlds entities similar"
    for group in _GROUPS:
        yield f"  {group:9}  {', '.join(name for name, _ in _members(group))}"
    yield "\nExamples"
    yield from (f"  $ {line}" for line in _EXAMPLES)
    yield "Exit codes"
    yield f"  {'; '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}"


def _members(group: str) -> list[tuple[str, Made]]:
    """The commands of a group, from A to Z."""
    return [(name.partition(" ")[2], made) for name, made in sorted(COMMANDS.items()) if name.startswith(f"{group} ")]


app = typer.Typer(
    name="worlds",
    cls=Root,
    help=_ABOUT,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        known = version()
        typer.echo(f"worlds {known or '(from a source tree that is not installed)'}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _add(group: typer.Typer, name: str, made: Made) -> None:
    group.command(name, cls=Command, epilog=made.epilog)(made.callback)


for _name in " ".join(_FLAT.values()).split():
    _add(app, _name, COMMANDS[_name])
for _group, _help in _GROUPS.items():
    _inner = typer.Typer(name=_group, cls=Commands, help=_help, rich_markup_mode="rich", no_args_is_help=True)
    for _name, _made in _members(_group):
        _add(_inner, _name, _made)
    app.add_typer(_inner, name=_group)
