"""The commands about entities: resolve, mint, form, similar, describe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.text import Text

from worlds.cli import show
from worlds.cli.errors import NO
from worlds.cli.options import AsOf, At, Command, EmbedderName, Json, WorldPath, examples, of_verb, opened
from worlds.cli.terminal import clean, note, output, write_json
from worlds.errors import OpenError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from worlds.entities.describing import Description, Property, Value
    from worlds.entities.names import Resolution

_LEAST = 0.01  # confidence of a candidate that is printed
_UNKNOWN = "the world says nothing of it"


@of_verb("resolve")
def resolve(
    path: WorldPath,
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME...",
            help="The names; quote a name of several words. '-' reads them from standard input, one a line.",
            show_default=False,
        ),
    ],
    *,
    context: Annotated[str | None, typer.Option("--context", "-c", help="The text around the names.")] = None,
    embedder: EmbedderName = "auto",
    json: Json = False,
    **given: Any,
) -> None:
    """The exit code is 1 unless each name has a match."""
    names = [name for given in names for name in (_read_names() if given == "-" else [given])]
    with opened(path, embedder=embedder) as world:
        found = [world.resolve(name, context=context, **given) for name in names]
        if json:
            write_json([one.to_dict() for one in found])
        else:
            for remark in dict.fromkeys(remark for one in found for remark in one.notes):
                note(remark)
            for one in found:
                _print_resolution(output(), one, world.prefixes)
    if any(one.outcome != "match" for one in found):
        raise typer.Exit(NO)


@of_verb("mint")
def mint(
    path: WorldPath,
    label: Annotated[
        str | None, typer.Argument(metavar="[LABEL]", help="The name of the entity.", show_default=False)
    ] = None,
    *,
    json: Json = False,
    **given: Any,
) -> None:
    """`worlds policy WORLD iris=NAMESPACE` says how new IRIs begin."""
    with opened(path) as world:
        found = world.mint(label, **given)
    if json:
        write_json(found.to_dict())
        return
    for remark in found.notes:
        note(remark)
    output().print(str(found.iri), soft_wrap=True, markup=False, highlight=False)


@of_verb("form")
def form(
    path: WorldPath,
    iri: Annotated[str | None, typer.Argument(metavar="[IRI]", help="The entity.", show_default=False)] = None,
    *,
    json: Json = False,
    **given: Any,
) -> None:
    """With --type and no entity, the form of a new one."""
    with opened(path) as world:
        found = world.form(iri, **given)
        prefixes = world.prefixes
    if json:
        write_json(found.to_dict())
        return
    console = output()
    for one in found.fields:
        most = "any number" if one.most is None else str(one.most)
        takes = most if one.most == one.least or (one.most is None and not one.least) else f"{one.least} to {most}"
        origin = ", by a shape" if one.declared else "" if one.share is None else f", as {one.share:.0%} of others"
        line = Text(f"{clean(one.label)}: ", style="dim")
        line.append(", ".join(_value(value, prefixes) for value in one.values), style="not dim")
        line.append(f" ({one.widget}, {takes}{origin})", style="dim")
        show.print_wrapped(console, line, 0, 2)
    if not found.fields:
        note("nothing is known of such entities: neither a shape nor others of these classes")
    for problem in (*found.problems, *(text for one in found.fields for text in one.problems)):
        note(problem)


@of_verb("similar")
def similar(
    path: WorldPath,
    *,
    mode: Annotated[
        Literal["vector", "text"], typer.Option("--mode", help="By meaning, where there are vectors, or by words.")
    ] = "vector",
    words: Annotated[bool, typer.Option("--words", help="The same as --mode text.")] = False,
    json: Json = False,
    **given: Any,
) -> None:
    """The exit code is 1 if the world says nothing of the entity."""
    options: dict[str, Any] = {"mode": "text"} if words or mode == "text" else {}
    with opened(path) as world:
        hits = world.similar(**given, **options)
        known = bool(hits) or bool(world.describe(given["iri"], limit=1))
        if json:
            write_json(hits.to_dict(sql=False))
        else:
            for remark in hits.notes:
                note(remark)
            show.print_hits(output(), hits, world.prefixes)
    if not known:
        raise typer.Exit(NO)


@of_verb("describe")
def describe(path: WorldPath, *, at: At = None, as_of: AsOf = None, json: Json = False, **given: Any) -> None:
    """The exit code is 1 if the world says nothing of the entity."""
    with opened(path, at=at, as_of=as_of) as world:
        found = world.describe(**given)
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
        apart = f"  {clean(one.apart)}" if one.apart else ""
        console.print(line.append(f"  {one.kind}{matched}{apart}", style="dim not bold"), soft_wrap=True)


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
    for fact in found.former:
        name, value = (
            label or _term(term, prefixes)
            for label, term in ((fact.predicate_label, fact.predicate), (fact.label, fact.value))
        )
        line = Text(f"{clean(name)}, ended: ", style="dim").append(f"{clean(value)}  {clean(fact.interval)}")
        show.print_wrapped(console, line, 2, 6)


def _print_property(console: Console, part: Property, name: str, prefixes: Mapping[str, str]) -> None:
    values = ", ".join(_value(value, prefixes) for value in part.values)
    more = part.count - len(part.values)
    line = Text(f"{clean(name)}: ", style="dim").append(values, style="not dim")
    line.append(f" and {more:,} more" if more else "", style="dim")
    if part.conflict:
        line.append(f" ({part.conflict})", style="not dim red")
    show.print_wrapped(console, line, 2, 6)


def _term(term: object, prefixes: Mapping[str, str]) -> str:
    from worlds.graph.terms import format_term, to_oxigraph

    return clean(format_term(to_oxigraph(term), prefixes))


def _value(value: Value, prefixes: Mapping[str, str]) -> str:
    shown = clean(value.label) if value.label else _term(value.term, prefixes)
    said = "; ".join(f"{clean(one.label)}: {_term(one.value, prefixes)}" for one in value.annotations)
    return f"{shown} ({said})" if said else shown


def register(app: typer.Typer) -> None:
    """Add the commands."""
    names = examples("worlds resolve kb.db 'Fritz Lang' --type ex:Person", "worlds resolve kb.db - --json < names.txt")
    app.command(cls=Command, epilog=names)(resolve)
    minting = examples(
        "worlds policy kb.db iris=https://example.org/id/", "worlds mint kb.db 'Fritz Lang' --type ex:Person"
    )
    app.command(cls=Command, epilog=minting)(mint)
    forms = examples("worlds form kb.db ex:metropolis", "worlds form kb.db --type ex:Film --json")
    app.command(cls=Command, epilog=forms)(form)
    app.command(cls=Command, epilog=examples("worlds similar kb.db ex:metropolis --type ex:Film"))(similar)
    app.command(cls=Command, epilog=examples("worlds describe kb.db ex:metropolis"))(describe)
