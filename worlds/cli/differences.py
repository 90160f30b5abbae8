"""Differences as the command line shows them, and the commands that make them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worlds.cli.options import Command, Json, WorldPath, examples, of_verb, opened
from worlds.cli.terminal import clean, counted, note, output, waiting, write_json, write_utf8

if TYPE_CHECKING:
    from worlds.revisions.diff import Diff
    from worlds.revisions.edits import Edits
    from worlds.world import World

SHOWN = 50
"""Entities of a difference that are printed for people."""
_FORMATS = ("table", "json", "markdown", "html", "patch")
_STYLES = {"head": "bold", "changed": "yellow", "added": "green", "removed": "red", "more": "dim"}
_SIGNS = {"head": "", "changed": "  ~ ", "added": "  + ", "removed": "  - ", "more": ""}

Form = Annotated[str, typer.Option("--format", "-f", metavar="FORMAT", help=f"{', '.join(_FORMATS)}.")]
Target = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to this file instead.")]
Summary = Annotated[bool, typer.Option("--summary", help="Count the changes by predicate and class.")]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit", "-n", min=0, help=f"The most entities, and quads of each kind; else {SHOWN}, and all with --json."
    ),
]
From = Annotated[int, typer.Argument(metavar="A", help="A revision, or 0 for the empty world.", show_default=False)]
To = Annotated[int | None, typer.Argument(metavar="[B]", help="A later revision; now by default.", show_default=False)]


def show_diff(world: World, found: Diff, limit: int | None = None, *, as_json: bool) -> None:
    """Print a difference, at most `limit` entities; without one, `SHOWN` for people and all for programs."""
    if as_json:
        write_json(diff_document(found, limit))
    else:
        _print(found, f"from revision {found.a} to {found.b}", SHOWN if limit is None else limit, world.prefixes)


def diff_document(found: Diff, limit: int | None = None) -> dict[str, Any]:
    """A difference for programs, with at most `limit` quads of each kind, and as many entities."""
    from worlds.graph.terms import format_term, to_oxigraph

    def shown(term: object) -> str | None:
        return None if term is None else format_term(to_oxigraph(term))

    edits = found.edits.to_dict()
    return {
        "from": found.a,
        "to": found.b,
        "counts": {"added": len(found.added), "removed": len(found.removed)},
        "added": [list(map(shown, quad)) for quad in islice(found.added, limit)],
        "removed": [list(map(shown, quad)) for quad in islice(found.removed, limit)],
        "created": list(map(shown, found.created)),
        "dropped": list(map(shown, found.dropped)),
        "entities": edits["entities"][:limit],
        "summary": edits["summary"],
    }


def print_edits(edits: Edits, limit: int | None, prefixes: Mapping[str, str]) -> None:
    """Print a difference by entity."""
    from rich.text import Text

    for kind, text in edits.lines(prefixes, limit):
        line = Text(_SIGNS[kind] + clean(text).replace("\n", " "), style=_STYLES[kind])
        output().print(line, soft_wrap=True)


def _print(found: Diff, what: str, limit: int, prefixes: Mapping[str, str]) -> None:
    from rich.text import Text

    totals = f"{counted(len(found.added), 'quad')} added, {len(found.removed):,} removed"
    output().print(Text(f"{what}: {totals}", style="bold"), soft_wrap=True)
    print_edits(found.edits, limit, prefixes)


def _summary(found: Diff, prefixes: Mapping[str, str]) -> None:
    from worlds.cli.show import print_table
    from worlds.graph.terms import format_term, to_oxigraph

    def shown(term: Any) -> str:
        return "" if term is None else format_term(to_oxigraph(term), prefixes)

    rows = [
        (shown(row.predicate), shown(row.type), f"{row.changed:,}", f"{row.added:,}", f"{row.removed:,}")
        for row in found.edits.summary
    ]
    print_table(output(), ("predicate", "class", "changed", "added", "removed"), rows)


def _write(
    found: Diff,
    what: str,
    prefixes: Mapping[str, str],
    *,
    format: str,
    target: Path | None,
    limit: int | None,
    summary: bool,
    document: dict[str, Any] | None = None,
) -> None:
    from json import dumps

    if format == "table" and target is None:
        if summary:
            _summary(found, prefixes)
        else:
            _print(found, what, SHOWN if limit is None else limit, prefixes)
        for remark in found.notes:
            note(remark)
        return
    if format == "json":
        text = dumps(document or diff_document(found, limit), ensure_ascii=False, indent=2) + "\n"
    elif format == "patch":
        text = found.patch()
    elif format == "html":
        text = found.edits.to_html(what, prefixes, limit)
    else:
        text = found.edits.to_markdown(prefixes, limit)
    if target is None:
        write_utf8(text)
    else:
        target.write_text(text, encoding="utf-8")


def _format(format: str, *, as_json: bool) -> str:
    if format not in _FORMATS:
        raise ValueError(f"--format is one of {', '.join(_FORMATS)}, not {format!r}")
    return "json" if as_json else format


@of_verb("diff")
def diff(
    path: WorldPath,
    a: From,
    b: To = None,
    format: Form = "table",
    summary: Summary = False,
    limit: Limit = None,
    target: Target = None,
    json: Json = False,
) -> None:
    """By entity, with the old value (~ old → new), or what was added (+) or removed (-)."""
    format = _format(format, as_json=json)
    with opened(path) as world:
        found = world.diff(a, b)
        what = f"from revision {found.a} to {found.b}"
        _write(found, what, world.prefixes, format=format, target=target, limit=limit, summary=summary)


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="A world's file, or a file, folder or glob of RDF.")],
    b: Annotated[str, typer.Argument(metavar="B", help="What it is compared with; - for standard input.")],
    base: Annotated[
        str | None, typer.Option("--base", metavar="OLD", help="What both come from: tells what conflicts.")
    ] = None,
    graph: Annotated[
        str | None, typer.Option("--graph", "-g", metavar="IRI", help="The graph of a world, and of the files' quads.")
    ] = None,
    format: Form = "table",
    summary: Summary = False,
    limit: Limit = None,
    target: Target = None,
    json: Json = False,
) -> None:
    """Compare two worlds, two files, or a file and a world; blank nodes are matched by what they have."""
    from worlds.comparison import compare as compared

    format = _format(format, as_json=json)
    if [a, b, base].count("-") > 1:
        raise ValueError("standard input (-) can be read once: name a file for the others")
    with waiting("comparing"):
        found = compared(a, b, base=base, graph=graph)
    document = None
    if format == "json":
        document = diff_document(found, limit) | {
            "conflicts": [one.to_dict() for one in found.conflicts],
            "agreed": found.agreed,
            "notes": list(found.notes),
        }
        del document["from"], document["to"]
    prefixes = found.prefixes
    what = f"from {a} to {b}"
    _write(found, what, prefixes, format=format, target=target, limit=limit, summary=summary, document=document)
    if base is not None and format == "table":
        _print_conflicts(found, prefixes)


def _print_conflicts(found: Any, prefixes: Mapping[str, str]) -> None:
    from rich.text import Text

    from worlds.graph.terms import format_term, to_oxigraph

    def shown(*terms: Any) -> str:
        return ", ".join(format_term(to_oxigraph(term), prefixes) for term in terms) or "nothing"

    console = output()
    many = f"{counted(len(found.conflicts), 'conflict')}, {found.agreed:,} quads changed alike by both"
    console.print(Text(many, style="bold"), soft_wrap=True)
    for one in found.conflicts[:SHOWN]:
        told = f"{shown(one.subject)} {shown(one.predicate)}: {shown(*one.base)}"
        console.print(
            Text(clean(f"  ! {told} → {shown(*one.mine)} | {shown(*one.theirs)}"), style="red"), soft_wrap=True
        )
    if len(found.conflicts) > SHOWN:
        console.print(Text(f"… and {len(found.conflicts) - SHOWN:,} more", style="dim"))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        cls=Command,
        epilog=examples(
            "worlds diff kb.db 3", "worlds diff kb.db 3 7 --summary", "worlds diff kb.db 3 -f html -o diff.html"
        ),
    )(diff)
    app.command(
        cls=Command,
        epilog=examples(
            "worlds compare yesterday.ttl today.ttl",
            "worlds compare kb.db today.ttl --graph https://example.org/import -f markdown",
            "worlds compare mine.ttl theirs.ttl --base old.ttl",
        ),
    )(compare)
