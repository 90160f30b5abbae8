"""Differences as the command line shows them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from worlds.cli.terminal import clean, counted, output, write_json

if TYPE_CHECKING:
    from worlds.revisions.diff import Diff
    from worlds.world import World

SHOWN = 50
"""Quads of a difference that are printed for people, of each kind."""


def show_diff(world: World, found: Diff, limit: int | None = None, *, as_json: bool) -> None:
    """Print a difference, at most `limit` quads of each kind; without one, `SHOWN` for people and all for programs."""
    if as_json:
        write_json(diff_document(found, limit))
    else:
        _print(found, SHOWN if limit is None else limit, world.prefixes)


def diff_document(found: Diff, limit: int | None = None) -> dict[str, Any]:
    """A difference for programs, with at most `limit` quads of each kind."""
    from worlds.graph.terms import format_term, to_oxigraph

    def shown(term: object) -> str | None:
        return None if term is None else format_term(to_oxigraph(term))

    return {
        "from": found.a,
        "to": found.b,
        "counts": {"added": len(found.added), "removed": len(found.removed)},
        "added": [list(map(shown, quad)) for quad in islice(found.added, limit)],
        "removed": [list(map(shown, quad)) for quad in islice(found.removed, limit)],
        "created": list(map(shown, found.created)),
        "dropped": list(map(shown, found.dropped)),
    }


def _print(found: Diff, limit: int, prefixes: Mapping[str, str]) -> None:
    from rich.text import Text

    from worlds.graph.terms import format_term, to_oxigraph

    def shown(term: object) -> str:
        return clean(format_term(to_oxigraph(term), prefixes)).replace("\n", " ")

    console = output()
    totals = f"{counted(len(found.added), 'quad')} added, {len(found.removed):,} removed"
    console.print(Text(f"from revision {found.a} to {found.b}: {totals}", style="bold"), soft_wrap=True)
    for sign, style, quads, graphs in (
        ("-", "red", found.removed, found.dropped),
        ("+", "green", found.added, found.created),
    ):
        for graph in graphs:
            console.print(Text(f"{sign} graph {shown(graph)}", style=style), soft_wrap=True)
        for *triple, graph in islice(quads, limit):
            where = "" if graph is None else f" in {shown(graph)}"
            console.print(Text(f"{sign} {' '.join(map(shown, triple))}{where}", style=style), soft_wrap=True)
        if len(quads) > limit:
            console.print(Text(f"{sign} … and {len(quads) - limit:,} more", style="dim"), soft_wrap=True)
