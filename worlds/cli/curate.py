"""The commands of curation: contradictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from worlds.cli import show
from worlds.cli.errors import NO
from worlds.cli.options import Command, Json, WorldPath, examples, opened
from worlds.cli.terminal import clean, note, output, waiting, write_json

if TYPE_CHECKING:
    from worlds.curation.findings import Finding, Findings

_SHOWN = 20  # findings of a kind, for people

Limit = Annotated[
    int | None, typer.Option("--limit", "-n", help=f"The most of a kind; else {_SHOWN}, and all with --json.")
]


def contradictions(
    path: WorldPath,
    declared: Annotated[
        bool, typer.Option("--declared", help="Only what vocabularies and shapes declare, not what the data suggest.")
    ] = False,
    limit: Limit = None,
    json: Json = False,
) -> None:
    """Find what contradicts itself, with who said it. Exits with 1 if what is declared is contradicted."""
    with opened(path) as world, waiting("reading"):
        found = world.contradictions(suggested=not declared, limit=limit or (None if json else _SHOWN))
    print_findings(found, json=json)
    if any(one.severity == "error" for one in found):
        raise typer.Exit(NO)


def print_findings(found: Findings, *, json: bool) -> None:
    """The findings, as JSON or as a table."""
    if json:
        write_json({"counts": found.counts, "findings": found.to_dicts()})
        return
    if not found:
        output().print("nothing was found")
        return
    head = ("severity", "kind", "message", "said by")
    show.print_table(output(), head, [(one.severity, one.kind, clean(one.message), _by(one)) for one in found])
    hidden = sum(found.counts.values()) - len(found)
    if hidden:
        note(f"and {hidden:,} more: --limit shows more, --json all")


def _by(one: Finding) -> str:
    entries = {said.added.revision: said.added for said in one.quads if said.added is not None}
    told = [f"{number} {clean(entry.author or '')}".strip() for number, entry in sorted(entries.items())]
    return ", ".join(told[:3]) + (", …" if len(told) > 3 else "")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command, lines in (
        (contradictions, ("worlds contradictions kb.db", "worlds contradictions kb.db --declared --json")),
    ):
        app.command(cls=Command, epilog=examples(*lines))(command)
