"""The commands, and what `worlds --help` says."""

from __future__ import annotations

from typing import Annotated

import typer

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
from worlds.doors.cli.command import COMMANDS
from worlds.doors.cli.exit_codes import EXIT_CODES, CommandGroup
from worlds.doors.cli.options import Command, Commands, examples

_CODES = "\n".join(f"{code:5}  {meaning}" for code, meaning in EXIT_CODES.items())

app = typer.Typer(
    name="worlds",
    cls=CommandGroup,
    help="Knowledge graphs with hybrid search: one world is one file of RDF, texts and vectors.",
    epilog=examples(
        "worlds init kb.db papers.ttl",
        "worlds search kb.db solar cell stability --type ex:Paper",
        "worlds sparql kb.db 'SELECT ?s WHERE { ?s a ex:Paper } LIMIT 5'",
        "worlds serve kb.db",
    )
    + "\n\n[bold]Exit codes[/bold]\n"
    + _CODES,
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


_PANELS = {
    "Begin": "init doctor config completion",
    "Write": "load add-document sync sources state tell end reinstate carry-out update embed purge",
    "Ask": "search sparql context brief questions memory resolve mint form similar describe timeline due tree members "
    "schema prefix policy",
    "Curate": "verify mentions suggest-links link-texts report contradictions duplicates distinct decisions merge "
    "split propose amend proposals accept reject decide validate shapes guard why",
    "History": "log blame diff compare undo patch apply prune",
    "The file": "export publish stats check backup restore compact vector-index",
    "Serve": "serve mcp",
    "Servers": "primary token push pull follow replica shard",
}
for _panel, _names in _PANELS.items():
    for _name in _names.split():
        _made = COMMANDS[_name]
        app.command(_name, cls=Command, epilog=_made.epilog, rich_help_panel=_panel)(_made.callback)
_GROUPS = {
    "rules": (
        "Curate",
        "Rules by which quads follow from others: use, add, load, remove, list.",
        "use add load remove list",
    ),
    "tags": ("History", "Names of revisions, such as releases: add, list, remove.", "add list remove"),
    "keys": ("Serve", "API keys for `worlds serve`: add, list, revoke.", "add list revoke"),
}
for _group, (_panel, _help, _names) in _GROUPS.items():
    _inner = typer.Typer(name=_group, cls=Commands, help=_help, rich_markup_mode="rich", no_args_is_help=True)
    for _name in _names.split():
        _made = COMMANDS[f"{_group} {_name}"]
        _inner.command(_name, cls=Command, epilog=_made.epilog)(_made.callback)
    app.add_typer(_inner, name=_group, rich_help_panel=_panel)
