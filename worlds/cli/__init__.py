"""The command line: the verbs of `World`, for people and for programs.

What was asked for goes to standard output; progress, notes and errors go to standard error. `errors.EXIT_CODES` says
what the exit codes mean.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from worlds.cli import ask, documents, entities, history, keep, write
from worlds.cli.errors import EXIT_CODES, INTERRUPTED, Group
from worlds.cli.options import examples

_CODES = "\n".join(f"{code:5}  {meaning}" for code, (meaning, _) in EXIT_CODES.items())

app = typer.Typer(
    name="worlds",
    cls=Group,
    help="Knowledge graphs with hybrid search: one world is one file of RDF, texts and vectors.",
    epilog=examples(
        "worlds load kb.db papers.ttl",
        "worlds search kb.db solar cell stability --type ex:Paper",
        "worlds sparql kb.db 'SELECT ?s WHERE { ?s a ex:Paper } LIMIT 5'",
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


for _module in (write, documents, ask, entities, history, keep):
    _module.register(app)


def main() -> None:
    """Run the command line of this process."""
    try:
        app(prog_name="worlds")
    except KeyboardInterrupt:  # before there was anything to interrupt
        sys.exit(INTERRUPTED)
