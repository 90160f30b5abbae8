"""The commands about entities: resolve, similar, describe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.text import Text

from worlds.cli import show
from worlds.cli.errors import NO
from worlds.cli.options import Command, EmbedderName, Json, WorldPath, examples, opened
from worlds.cli.terminal import clean, note, output, write_json
from worlds.errors import OpenError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from worlds.entities.describing import Description, Property, Value
    from worlds.entities.names import Resolution

_LEAST = 0.01  # confidence of a candidate that is printed
_UNKNOWN = "the world says nothing of it"

Iri = Annotated[str, typer.Argument(metavar="IRI", help="The entity, by IRI or prefixed name.", show_default=False)]
Types = Annotated[
    list[str] | None, typer.Option("--type", "-t", metavar="IRI", help="Entities of this type; may be repeated.")
]
Graphs = Annotated[
    list[str] | None,
    typer.Option("--graph", "-g", metavar="IRI", help="In this graph ('default': the default one); may be repeated."),
]


def resolve(
    path: WorldPath,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="Names; quote one of several words. '-' reads them from standard input, one a line.",
            show_default=False,
        ),
    ],
    context: Annotated[str | None, typer.Option("--context", "-c", help="The text around the names.")] = None,
    types: Types = None,
    graph: Graphs = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="The most candidates of a name.")] = 5,
    embedder: EmbedderName = "auto",
    json: Json = False,
) -> None:
    """Find the entity that a name means, and how sure that is.

    The exit code is 1 unless each name has a match.
    """
    names = [name for given in names for name in (_read_names() if given == "-" else [given])]
    with opened(path, embedder=embedder) as world:
        asked = [(name, context) for name in names]
        found = world.resolve_all(asked, types=types or None, graphs=graph or None, limit=limit)
        if json:
            write_json([one.to_dict() for one in found])
        else:
            for remark in dict.fromkeys(remark for one in found for remark in one.notes):
                note(remark)
            for one in found:
                _print_resolution(output(), one, world.prefixes)
    if any(one.outcome != "match" for one in found):
        raise typer.Exit(NO)


def similar(
    path: WorldPath,
    iri: Iri,
    limit: Annotated[int, typer.Option("--limit", "-n", help="The most entities.")] = 10,
    types: Types = None,
    graph: Graphs = None,
    where: Annotated[
        str | None, typer.Option("--where", "-w", metavar="PATTERN", help="A SPARQL pattern over ?subject.")
    ] = None,
    subclasses: Annotated[bool, typer.Option("--subclasses", help="--type takes in the classes below it.")] = False,
    predicate: Annotated[
        list[str] | None, typer.Option("--predicate", "-p", metavar="IRI", help="By texts under this predicate.")
    ] = None,
    lang: Annotated[
        list[str] | None,
        typer.Option("--lang", "-l", metavar="TAG", help="By texts in this language ('': without one)."),
    ] = None,
    mode: Annotated[
        Literal["vector", "text"], typer.Option("--mode", help="By meaning, where there are vectors, or by words.")
    ] = "vector",
    words: Annotated[bool, typer.Option("--words", help="The same as --mode text.")] = False,
    json: Json = False,
) -> None:
    """Find the entities that are most like one.

    The exit code is 1 if the world says nothing of it.
    """
    options: dict[str, Any] = {
        "types": types or None,
        "subclasses": subclasses,
        "predicates": predicate or None,
        "graphs": graph or None,
        "languages": lang or None,
        "where": where,
    }
    if words or mode == "text":
        options["mode"] = "text"
    with opened(path) as world:
        hits = world.similar(iri, limit=limit, **options)
        known = bool(hits) or bool(world.describe(iri, limit=1))
        if json:
            write_json(hits.to_dict(sql=False))
        else:
            for remark in hits.notes:
                note(remark)
            show.print_hits(output(), hits, world.prefixes)
    if not known:
        raise typer.Exit(NO)


def describe(
    path: WorldPath,
    iri: Iri,
    limit: Annotated[int, typer.Option("--limit", "-n", help="The most values of a predicate.")] = 20,
    lang: Annotated[
        str | None, typer.Option("--lang", "-l", metavar="TAG", help="Labels and the description in it come first.")
    ] = None,
    json: Json = False,
) -> None:
    """Show what the world says of an entity, and what points to it."""
    with opened(path) as world:
        found = world.describe(iri, limit=limit, language=lang)
        if json:
            write_json(found.to_dict())
        elif found:
            _print_description(output(), found, world.prefixes)
        else:
            note(_UNKNOWN)
    if not found:
        raise typer.Exit(NO)


def _read_names() -> list[str]:
    """The lines of standard input that are not blank."""
    stream = sys.stdin
    if stream is None:
        raise OpenError("there is no standard input")
    if stream.isatty():
        note("reading names from the terminal, one a line; Ctrl-D ends them")
    lines = stream.buffer.read().decode("utf-8-sig", "replace").splitlines()
    return [line.strip() for line in lines if line.strip()]


def _print_resolution(console: Console, found: Resolution, prefixes: Mapping[str, str]) -> None:
    line = Text(clean(found.name), style="bold")
    console.print(line.append(f"  {found.outcome}", style="not bold dim"), soft_wrap=True)
    for one in found.candidates:
        if one.confidence < _LEAST:
            continue
        line = Text(f"  {one.confidence:.2f}  ", style="dim")
        line.append(clean(one.label or str(one.iri)), style="not dim bold")
        line.append(f"  {_term(one.iri, prefixes)}", style="not dim not bold cyan")
        matched = "" if one.matched == one.label else f" {clean(one.matched)}"
        console.print(line.append(f"  {one.kind}{matched}", style="dim not bold"), soft_wrap=True)


def _print_description(console: Console, found: Description, prefixes: Mapping[str, str]) -> None:
    iri = _term(found.iri, prefixes)
    line = Text(clean(found.label or iri), style="bold")
    if found.label:
        line.append(f"  {iri}", style="not bold cyan")
    if found.types:
        line.append(f"  a {', '.join(_value(value, prefixes) for value in found.types)}", style="not bold green")
    show.print_wrapped(console, line, 0, 2)
    for part in found.properties:
        _print_property(console, part, part.label, prefixes)
    for part in found.incoming:
        _print_property(console, part, f"{part.label} of", prefixes)


def _print_property(console: Console, part: Property, name: str, prefixes: Mapping[str, str]) -> None:
    values = ", ".join(_value(value, prefixes) for value in part.values)
    more = part.count - len(part.values)
    line = Text(f"{clean(name)}: ", style="dim").append(values, style="not dim")
    show.print_wrapped(console, line.append(f" and {more:,} more" if more else "", style="dim"), 2, 6)


def _term(term: object, prefixes: Mapping[str, str]) -> str:
    from worlds.graph.terms import format_term, to_oxigraph

    return clean(format_term(to_oxigraph(term), prefixes))


def _value(value: Value, prefixes: Mapping[str, str]) -> str:
    return clean(value.label) if value.label else _term(value.term, prefixes)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    names = examples("worlds resolve kb.db 'Fritz Lang' --type ex:Person", "worlds resolve kb.db - --json < names.txt")
    app.command(cls=Command, epilog=names)(resolve)
    app.command(cls=Command, epilog=examples("worlds similar kb.db ex:metropolis --type ex:Film"))(similar)
    app.command(cls=Command, epilog=examples("worlds describe kb.db ex:metropolis"))(describe)
