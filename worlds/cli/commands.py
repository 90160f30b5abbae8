"""The commands, and what `worlds --help` says."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from worlds.cli import (
    ask,
    claims,
    completion,
    config,
    context,
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
    mirror,
    policy,
    prefix,
    questions,
    remote,
    rules,
    schema,
    search,
    serve,
    shard,
    sources,
    write,
)
from worlds.cli.errors import EXIT_CODES, Group
from worlds.cli.options import examples

_CODES = "\n".join(f"{code:5}  {meaning}" for code, meaning in EXIT_CODES.items())

app = typer.Typer(
    name="worlds",
    cls=Group,
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
        from importlib import metadata

        try:
            typer.echo(f"worlds {metadata.version('worlds-kg')}")
        except metadata.PackageNotFoundError:
            typer.echo("worlds (from a source tree that is not installed)")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


_PANELS = {
    "Begin": ("init", "doctor", "config", "completion"),
    "Write": (
        "load",
        "add-document",
        "sync",
        "sources",
        "state",
        "tell",
        "end",
        "reinstate",
        "update",
        "embed",
        "purge",
    ),
    "Ask": (
        "search",
        "sparql",
        "context",
        "brief",
        "questions",
        "memory",
        "resolve",
        "mint",
        "form",
        "similar",
        "describe",
        "timeline",
        "schema",
        "prefix",
        "policy",
    ),
    "Curate": (
        "verify",
        "mentions",
        "suggest-links",
        "suggest-shapes",
        "report",
        "contradictions",
        "duplicates",
        "distinct",
        "decisions",
        "evaluate",
        "merge",
        "split",
        "propose",
        "amend",
        "proposals",
        "accept",
        "reject",
        "decide",
        "validate",
        "shapes",
        "guard",
    ),
    "History": ("log", "blame", "diff", "compare", "undo", "patch", "apply", "prune"),
    "The file": ("export", "stats", "check", "backup", "restore", "compact", "vector-index"),
    "Serve": ("serve", "keys", "mcp"),
    "Servers": ("primary", "token", "push", "pull", "follow", "replica", "mirror", "shard"),
}
for _module in (
    init, doctor, config, completion, write, documents, sources, search, ask, context, questions, memory, entities,
    facts, schema, prefix, policy, rules, history, differences, decide, curate, claims, file, serve, keys, mcp, remote,
    mirror, shard,
):  # fmt: skip
    _module.register(app)


def _sort(registered: list[Any]) -> None:
    """Bring the commands into the order and the panels of `_PANELS`."""
    places = {name: (panel, place) for panel, names in _PANELS.items() for place, name in enumerate(names)}
    order = list(_PANELS)
    for command in registered:
        command.rich_help_panel = places[_name_of(command)][0]
    registered.sort(key=lambda command: (order.index(places[_name_of(command)][0]), places[_name_of(command)][1]))


def _name_of(command: Any) -> str:
    return str(command.name or command.callback.__name__)


_sort(app.registered_commands)
_sort(app.registered_groups)
