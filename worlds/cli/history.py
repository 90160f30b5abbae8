"""The commands on the history: log, undo, patch, apply, prune."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worlds.cli import show
from worlds.cli.differences import From, To
from worlds.cli.options import Command, Embed, EmbedderName, Json, WorldPath, examples, moment, of_verb, opened
from worlds.cli.terminal import clean, counted, note, output, write_json, write_utf8
from worlds.cli.write import finish
from worlds.verbs.table import VERBS

if TYPE_CHECKING:
    from worlds.revisions.history import Entry
    from worlds.revisions.provenance import Provenance

_OF_HISTORY = VERBS["history"].options


@of_verb("history")
def log(
    path: WorldPath,
    *,
    since: Annotated[str | None, typer.Option(metavar="TIME", help=_OF_HISTORY["since"].help)] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help=_OF_HISTORY["until"].help)] = None,
    author: Annotated[str | None, typer.Option(metavar="NAME", help=_OF_HISTORY["author"].help)] = None,
    json: Json = False,
    **given: Any,
) -> None:
    """Each has its time, and its numbers of quads. A time without a zone is this machine's."""
    times: dict[str, Any] = {
        name: None if text is None else moment(name, text) for name, text in (("since", since), ("until", until))
    }
    with opened(path) as world:
        entries = world.history(author=author, **times, **given)
    if json:
        write_json({"revisions": [entry.to_dict() for entry in entries]})
        return
    head = ("revision", "time", "added", "removed", "author", "message")
    show.print_table(output(), head, [_shown(entry) for entry in entries])


def _shown(entry: Entry) -> tuple[str, ...]:
    when = entry.time.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    author, message = (" ".join(clean(text or "").split()) for text in (entry.author, entry.message))
    if entry.undone_by is not None:
        message = f"{message} (undone by {entry.undone_by})".lstrip()
    amounts = (_amount(entry.added, entry.created), _amount(entry.removed, entry.dropped))
    return (str(entry.revision), when, *amounts, author, message)


def _amount(quads: int, graphs: int) -> str:
    """Quads, and the graphs that came or went apart from them."""
    return f"{quads:,} + {counted(graphs, 'graph')}" if graphs else f"{quads:,}"


@of_verb("provenance")
def blame(
    path: WorldPath,
    entity: Annotated[
        str, typer.Argument(metavar="IRI", help="The entity: an IRI, or a prefixed name.", show_default=False)
    ],
    predicate: Annotated[
        str | None, typer.Option("--predicate", "-p", metavar="IRI", help="Only quads with this predicate.")
    ] = None,
    *,
    removed: Annotated[bool, typer.Option("--removed", help="Include quads that were removed.")] = False,
    json: Json = False,
    **given: Any,
) -> None:
    """The quads are those whose subject is the entity."""
    with opened(path) as world:
        found = [one for one in world.provenance(entity, predicate, **given) if removed or one.removed is None]
        prefixes = world.prefixes
    if json:
        write_json({"quads": [one.to_dict() for one in found]})
        return
    head = (
        "revision",
        "time",
        "author",
        "message",
        "predicate",
        "object",
        "graph",
        *(["removed by"] if removed else []),
    )
    show.print_table(output(), head, [_blamed(one, prefixes, removed=removed) for one in found])


def _blamed(one: Provenance, prefixes: Mapping[str, str], *, removed: bool) -> tuple[str, ...]:
    from worlds.graph.terms import format_term, to_oxigraph

    _, *terms = ("" if t is None else clean(format_term(to_oxigraph(t), prefixes)).replace("\n", " ") for t in one.quad)
    if one.added is None:
        number, when, author, message = "forgotten", "", "", ""
    else:
        number, when, *_, author, message = _shown(one.said or one.added)
        if one.said is not None and one.said != one.added:
            number += f" by {one.added.revision}"  # a merge, a split or an undo
    last = () if not removed else ("" if one.removed is None else f"{one.removed.revision} {one.removed.author or ''}",)
    return (number, when, author, message, *terms, *last)


@of_verb("undo")
def undo(path: WorldPath, *, embedder: EmbedderName = "auto", json: Json = False, **given: Any) -> None:
    """The newer revisions stay."""
    began = time.perf_counter()
    with opened(path, write=True, embedder=embedder) as world:
        change = world.undo(**given)
        nothing = "nothing changed: all that it did was changed back since"
        finish(world, change, began, as_json=json, nothing=nothing)


def patch(path: WorldPath, a: From, b: To = None) -> None:
    """Print the difference between two revisions as an RDF Patch, which `apply` takes.

    What one revision did is the difference from the one before it.
    """
    with opened(path) as world:
        found = world.diff(a, b)
        for piece in found.pieces():
            write_utf8(piece)
    if found.created or found.dropped:
        note("an RDF Patch cannot say that a graph without quads was created or dropped")


@of_verb("apply_patch")
def apply(
    path: WorldPath,
    source: Annotated[
        str,
        typer.Argument(metavar="PATCH", help="A file (.gz, .bz2, .zst), or - for standard input.", show_default=False),
    ],
    *,
    embed: Embed = True,
    embedder: EmbedderName = "auto",
    json: Json = False,
    **given: Any,
) -> None:
    """All of it is applied or, after an error, nothing."""
    began = time.perf_counter()
    if source == "-" and sys.stdin is not None and sys.stdin.isatty():
        note("reading a patch from the terminal; Ctrl-D ends it")
    with opened(path, write=True, embedder=embedder if embed else "none") as world:
        change = world.apply_patch(source, embed=embed, **given)
        nothing = "nothing changed: the world is as the patch would make it"
        finish(world, change, began, as_json=json, nothing=nothing)


def prune(
    path: WorldPath,
    before: Annotated[
        str | None,
        typer.Argument(
            metavar="[BEFORE]",
            help="Forget the revisions before this number, or before this day or time (2025-01-31, "
            "2025-01-31T12:00+01:00; without a zone, this machine's).",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        int | None, typer.Option("--keep", metavar="N", help="From now on, keep the newest N revisions.")
    ] = None,
    keep_days: Annotated[
        float | None, typer.Option("--keep-days", metavar="DAYS", help="From now on, keep those of so many days.")
    ] = None,
    keep_all: Annotated[bool, typer.Option("--keep-all", help="From now on, keep all revisions.")] = False,
    json: Json = False,
) -> None:
    """Forget old revisions, and the quads that they removed; what holds now stays.

    A revision that --keep or --keep-days keeps is kept; both are stored, and applied after every write too. `compact`
    gives the space back.
    """
    if sum((before is not None, keep is not None or keep_days is not None, keep_all)) != 1:
        raise ValueError("say what to forget: BEFORE, or --keep and --keep-days, or --keep-all to forget nothing more")
    with opened(path, write=True) as world:
        held = len(world.history())
        if before is not None:
            world.prune(
                int(before) if before.isdecimal() else moment("BEFORE", before, "the number of a revision, or ")
            )
        else:
            world.retention = replace(world.retention, revisions=keep, days=keep_days)
        forgotten = held - len(world.history())
        oldest = world.history()[-1:]
        first = oldest[0].revision if oldest else None
    if json:
        write_json({"forgotten": forgotten, "first": first})
    else:
        left = "no revision is left" if first is None else f"history begins with revision {first}"
        output().print(f"{counted(forgotten, 'revision')} forgotten; {left}")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command, lines in (
        (log, ("worlds log kb.db", "worlds log kb.db -n 5 --json")),
        (blame, ("worlds blame kb.db ex:Curiosity", "worlds blame kb.db ex:Curiosity -p ex:landed --removed")),
        (undo, ("worlds undo kb.db 5 --author ann --message 'wrong file'",)),
        (patch, ("worlds patch kb.db 4 5 > fifth.rdfp",)),
        (apply, ("worlds apply copy.db fifth.rdfp", "worlds patch kb.db 4 | worlds apply copy.db -")),
        (prune, ("worlds prune kb.db 2025-01-31", "worlds prune kb.db --keep 100 --keep-days 30")),
    ):
        app.command(cls=Command, epilog=examples(*lines))(command)
