"""The command that tells what a world's data look like: schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from worlds.cli.options import Command, Json, WorldPath, examples, of_verb, opened
from worlds.cli.table import table
from worlds.cli.terminal import clean, counted, note, output, write_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from worlds.entities.schema import PredicateSummary, Schema

_CLASSES = 3  # of a predicate that are shown
_WIDEST = 60  # characters of a term in a terminal; a pipe gets the whole


@of_verb("schema")
def schema(path: WorldPath, *, json: Json = False, **given: Any) -> None:
    """The commonest come first."""
    with opened(path) as world:
        found = world.schema(**given)
        if json:
            write_json(found.to_dict())
        else:
            for remark in found.notes:
                note(remark)
            _print(found, world.prefixes)


def _print(found: Schema, prefixes: Mapping[str, str]) -> None:
    from worlds.graph.terms import format_term, to_oxigraph

    console = output()

    def term(value: object, most: int = _WIDEST) -> str:
        text = " ".join(clean(format_term(to_oxigraph(value), prefixes)).split())
        return text if len(text) <= most or not console.is_terminal else text[: most - 1] + "…"

    def objects(one: PredicateSummary) -> str:
        names = classes(one.object_classes, one.object_class_count)
        for kind in one.kinds:
            if kind.kind == "literal":
                names.append(f"@{kind.language}" if kind.language else term(kind.datatype))
            elif not names or kind.kind != "IRI":
                names.append(kind.kind)
        if one.untold:
            names.append(f"{one.untold:,} of them without quads of their own")
        return ", ".join(names)

    def classes(named: Sequence[object], count: int) -> list[str]:
        more = [f"+{count - _CLASSES} more"] if count > _CLASSES else []
        return [*map(term, named[:_CLASSES]), *more]

    console.print(Text(f"{counted(found.quads, 'quad')}, revision {found.revision}"), soft_wrap=True)
    if found.untyped or found.unlabelled:
        told = f"{found.untyped:,} subjects have no type, {found.unlabelled:,} no label"
        console.print(Text(told), soft_wrap=True)
    _section(
        "classes",
        found.class_count,
        ("class", "label", "instances", "examples"),
        [
            (term(one.iri), clean(one.label or ""), f"{one.instances:,}", ", ".join(term(v.term) for v in one.examples))
            for one in found.classes
        ],
    )
    _section(
        "predicates",
        found.predicate_count,
        ("predicate", "quads", "subjects", "of", "objects", "example"),
        [
            (
                term(one.iri),
                f"{one.quads:,}",
                f"{one.subjects:,}",
                ", ".join(classes(one.subject_classes, one.subject_class_count)),
                objects(one),
                term(one.examples[0].term, 40) if one.examples else "",
            )
            for one in found.predicates
        ],
    )
    graphs = [("default" if one.name is None else term(one.name), f"{one.quads:,}") for one in found.graphs]
    if found.graph_count:
        _section(
            "graphs", found.graph_count + sum(one.name is None for one in found.graphs), ("graph", "quads"), graphs
        )
    languages = [(language or "none", f"{texts:,}") for language, texts in found.languages.items()]
    _section("languages", len(languages), ("language", "texts"), languages)
    used = [(f"{prefix}:", clean(iri)) for prefix, iri in found.prefixes.items()]
    _section("prefixes", len(used), ("prefix", "IRI"), used)


def _section(name: str, count: int, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    if not rows:
        return
    console = output()
    console.print()
    shown = f", {len(rows):,} shown" if len(rows) < count else ""
    console.print(Text(f"{name} ({count:,}{shown})", style="bold"), soft_wrap=True)
    for line in table(head, rows, width=console.width if console.is_terminal else None):
        console.print(Text(line), soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=Command, epilog=examples("worlds schema kb.db", "worlds schema kb.db --json | jq .classes"))(schema)
