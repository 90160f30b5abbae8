"""The commands that find what is wrong: report, contradictions, duplicates, distinct."""

from __future__ import annotations

import time
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from worlds.cli import show
from worlds.cli.errors import NO
from worlds.cli.options import Author, Command, DryRun, Json, Message, WorldPath, examples, opened
from worlds.cli.terminal import clean, note, output, waiting, write_json, write_utf8
from worlds.cli.write import report as report_write

if TYPE_CHECKING:
    from worlds.curation.findings.findings import Finding, Findings

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


def print_findings(found: Findings[Finding], *, json: bool) -> None:
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


def duplicates(
    path: WorldPath,
    type: Annotated[
        list[str] | None, typer.Option("--type", "-t", metavar="IRI", help="Only entities of this class.")
    ] = None,
    graph: Annotated[
        list[str] | None, typer.Option("--graph", "-g", metavar="IRI", help="Only entities in this graph.")
    ] = None,
    between: Annotated[
        tuple[str, str] | None, typer.Option("--between", metavar="GRAPH GRAPH", help="Those of one with the other's.")
    ] = None,
    probability: Annotated[
        float, typer.Option("--probability", "-p", help="Only pairs that are one with this probability, or more.")
    ] = 0.5,
    limit: Limit = None,
    json: Json = False,
) -> None:
    """Find entities that may be one, with what is for and against it."""
    with opened(path) as world, waiting("comparing"):
        found = world.duplicates(
            types=type or None,
            graphs=graph or None,
            between=between,
            probability=probability,
            limit=limit or (None if json else _SHOWN),
        )
    if json:
        write_json({"counts": found.counts, "findings": found.to_dicts()})
        return
    rows = [
        (f"{one.score:.2f}", *(clean(str(iri)) for iri in one.subjects), *map(_reasons, (one.evidence, one.against)))
        for one in found
    ]
    if not rows:
        output().print("nothing was found")
        return
    show.print_table(output(), ("probability", "one", "other", "for", "against"), rows)
    hidden = sum(found.counts.values()) - len(found)
    if hidden:
        note(f"and {hidden:,} more: --limit shows more, --json all")


def _reasons(told: tuple[str, ...]) -> str:
    return clean("; ".join(told))


def distinct(
    path: WorldPath,
    one: Annotated[str, typer.Argument(metavar="IRI", help="An entity.", show_default=False)],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="Another one.", show_default=False)],
    author: Author = None,
    message: Message = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Keep the decision that two entities are two, so that `duplicates` does not give them again."""
    start = time.perf_counter()
    with opened(path, write=True) as world:
        change = world.distinct(one, other, author=author, message=message, dry_run=dry_run)
        report_write(world, change, time.perf_counter() - start, as_json=json)


_FORMATS = ("table", "json", "markdown", "html")
_LEVELS = ("error", "warning", "info", "never")


def report(
    path: WorldPath,
    fail_on: Annotated[
        str, typer.Option("--fail-on", metavar="LEVEL", help=f"Exit with 1 from this level on: {', '.join(_LEVELS)}.")
    ] = "error",
    format: Annotated[str, typer.Option("--format", "-f", metavar="FORMAT", help=f"{', '.join(_FORMATS)}.")] = "table",
    target: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to this file instead.")
    ] = None,
    json: Json = False,
) -> None:
    """Tell what a world lacks and what is untidy in it: counts, examples, and queries that give all."""
    for what, given, known in (("--fail-on", fail_on, _LEVELS), ("--format", format, _FORMATS)):
        if given not in known:
            raise ValueError(f"{what} is one of {', '.join(known)}, not {given!r}")
    with opened(path) as world, waiting("reading"):
        found = world.report()
    if json or format == "json":
        text = dumps(found.to_dict(), ensure_ascii=False, indent=2) + "\n"
    elif format == "table":
        text = f"{found}\n"
    else:
        text = found.to_markdown() if format == "markdown" else found.to_html()
    if target is not None:
        target.write_text(text, encoding="utf-8")
    elif format == "table" and not json:
        rows = [(one.level, f"{one.count:,}", one.title, clean("; ".join(one.examples))) for one in found if one.count]
        if rows:
            show.print_table(output(), ("level", "count", "what", "examples"), rows)
        else:
            output().print("nothing was found")
    else:
        write_utf8(text)
    if found.fails(fail_on):
        raise typer.Exit(NO)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command, lines in (
        (report, ("worlds report kb.db --fail-on warning", "worlds report kb.db -f html -o report.html")),
        (contradictions, ("worlds contradictions kb.db", "worlds contradictions kb.db --declared --json")),
        (
            duplicates,
            ("worlds duplicates kb.db --type ex:Person", "worlds duplicates kb.db --between default ex:new"),
        ),
        (distinct, ("worlds distinct kb.db ex:paris ex:paris-texas --author ann",)),
    ):
        app.command(cls=Command, epilog=examples(*lines))(command)
