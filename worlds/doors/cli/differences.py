"""The commands that show differences: diff, compare."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from worlds.doors.cli.changes import SHOWN, print_diff
from worlds.doors.cli.command import command
from worlds.doors.cli.options import at_moment, given
from worlds.doors.cli.terminal import clean, counted, note, output, waiting, write_utf8

if TYPE_CHECKING:
    from worlds.core.history.diff import Diff
    from worlds.world import World

_FORMATS = ("table", "json", "markdown", "html", "patch")

FORM = given("--format -f FORMAT", f"{', '.join(_FORMATS)}.", default="table")
TARGET = given("--output -o FILE", "Write it to this file instead.", Path, name="target")
_SUMMARY = given("--summary", "Count the changes by predicate and class.")
_LIMIT = given(
    "--limit -n N",
    f"The most entities, and quads of each kind; else {SHOWN}, and all with --json.",
    int,
    min=0,
)
FROM = given("A", "A revision: its number, a tag or a time; 0 is the empty world.")
TO = given("[B]", "A later revision; now by default.")


def _summary(found: Diff, prefixes: Mapping[str, str]) -> None:
    from worlds.doors.cli.show import print_table
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
            print_diff(found, what, SHOWN if limit is None else limit, prefixes)
        for remark in found.notes:
            note(remark)
        return
    if format == "json":
        text = dumps(document or found.to_dict(limit), ensure_ascii=False, indent=2) + "\n"
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
        raise ValueError(f"--format must be one of {', '.join(_FORMATS)}, not {format!r}")
    return "json" if as_json else format


@command("diff", *(FROM, TO, FORM, _SUMMARY, _LIMIT, TARGET))
def diff(world: World, a: str, b: str | None, *, format: str, json: bool, **shown: Any) -> None:
    """Changes are listed by entity: changed values (~ old → new), added (+) and removed (-) values.

    $ worlds diff kb.db 3
    $ worlds diff kb.db 3 7 --summary
    $ worlds diff kb.db 3 -f html -o diff.html
    """
    format = _format(format, as_json=json)
    found = world.diff(at_moment(world, a), None if b is None else at_moment(world, b))
    what = f"from revision {found.a} to {found.b}"
    _write(found, what, world.prefixes, format=format, **shown)


@command(
    None,
    given("A", "A world's file, or a file, folder or glob of RDF."),
    given("B", "The other side of the comparison; - for standard input."),
    given("--base OLD", "The common ancestor of both: shows their conflicts."),
    given("--graph -g IRI", "The graph of a world, and of the files' quads."),
    *(FORM, _SUMMARY, _LIMIT, TARGET),
)
def compare(
    a: str, b: str, *, base: str | None, graph: str | None, format: str, limit: int | None, json: bool, **shown: Any
) -> None:
    """Compare two worlds, two files, or a file and a world; blank nodes are matched by their statements.

    $ worlds compare yesterday.ttl today.ttl
    $ worlds compare kb.db today.ttl --graph https://example.org/import -f markdown
    $ worlds compare mine.ttl theirs.ttl --base old.ttl
    """
    from worlds.comparison import compare as compared

    format = _format(format, as_json=json)
    if [a, b, base].count("-") > 1:
        raise ValueError("standard input (-) can be read once: name a file for the others")
    with waiting("comparing"):
        found = compared(a, b, base=base, graph=graph)
    document = None
    if format == "json":
        document = found.to_dict(limit) | {
            "conflicts": [one.to_dict() for one in found.conflicts],
            "agreed": found.agreed,
            "notes": list(found.notes),
        }
        del document["from"], document["to"]
    prefixes = found.prefixes
    what = f"from {a} to {b}"
    _write(found, what, prefixes, format=format, limit=limit, document=document, **shown)
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
