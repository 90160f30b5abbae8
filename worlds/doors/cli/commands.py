"""The commands in their groups, and the help of `worlds`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from rich.text import Text
from typer.main import get_command_from_info
from typer.models import CommandInfo

from worlds.doors import version
from worlds.doors.cli.command import COMMANDS
from worlds.doors.cli.exit_codes import EXIT_CODES, CommandGroup
from worlds.doors.cli.options import Command, Commands
from worlds.doors.cli.terminal import output

_HOMES = {
    "ask": "sparql",
    "config": "init config completion",
    "curate": "curate: contradictions duplicates links link-texts report",
    "decide": "curate: merge split proposals: accept add amend decide get list reject",
    "doctor": "doctor",
    "file": "export policy prefix file: backup compact publish restore vector-index",
    "history": "log diff compare revisions: apply patch provenance prune tag tags untag",
    "mcp": "mcp memory file: purge",
    "plain": "check context describe resolve schema stats undo curate: decisions distinct verify "
    "entities: form members mentions mint similar tree facts: carry-out due end reinstate state tell timeline "
    "questions: brief",
    "remote": "remote: follow primary pull push replica token",
    "rules": "shapes: guard load show validate rules: add list load remove use why "
    "questions: add check list load near remove",
    "search": "search",
    "serve": "serve keys: add list revoke",
    "sources": "sources: add-document list remove set sync trust",
    "write": "embed load update remote: shard",
}
"""The commands of each module, those of a group behind its name: one is imported when it is run or asked for help."""
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


class _Members(Mapping[str, Any]):
    """The commands of a group, or of all groups, each made when it is asked for."""

    def __init__(self, names: Iterable[str], make: Callable[[str], Any]) -> None:
        self._names = list(names)
        self._make = cache(make)

    def __getitem__(self, name: str) -> Any:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _made(name: str) -> Any:
    """A command of no group, or of the group that its name begins with."""
    import_module(f"worlds.doors.cli.{_MODULES[name]}")
    made = COMMANDS[name]
    about = CommandInfo(name=name.rpartition(" ")[2], cls=Command, callback=made.callback, epilog=made.epilog)
    return get_command_from_info(about, pretty_exceptions_short=True, rich_markup_mode="rich")


def _top(name: str) -> Any:
    """A command of no group, or a group."""
    if name not in _GROUPS:
        return _made(name)
    group = Commands(name=name, help=_GROUPS[name], rich_markup_mode="rich", no_args_is_help=True)
    group.commands = _Members(_members(name), lambda member: _made(f"{name} {member}"))  # type: ignore[assignment]
    return group


class Root(CommandGroup):
    """All commands."""

    def __init__(self, **about: Any) -> None:
        super().__init__(**about)
        self.commands = _Members([*" ".join(_FLAT.values()).split(), *_GROUPS], _top)  # type: ignore[assignment]

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
        yield f"  {group:9}  {', '.join(_members(group))}"
    yield "\nExamples"
    yield from (f"  $ {line}" for line in _EXAMPLES)
    yield "Exit codes"
    yield f"  {'; '.join(f'{code} {meaning}' for code, meaning in EXIT_CODES.items())}"


def _by_name() -> dict[str, str]:
    """The module of each command, by its whole name."""
    homes = {}
    for home, names in _HOMES.items():
        group = ""
        for name in names.split():
            if name.endswith(":"):
                group = name.replace(":", " ")
            else:
                homes[group + name] = home
    return homes


_MODULES = _by_name()


def _members(group: str) -> list[str]:
    """The names of the commands of a group, from A to Z."""
    return sorted(name.partition(" ")[2] for name in _MODULES if name.startswith(f"{group} "))


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
