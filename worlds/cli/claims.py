"""The commands about texts and claims: mentions, suggest-links, verify."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from worlds.cli import show
from worlds.cli.curate import SHOWN, Limit, Propose, named, print_findings, propose_all
from worlds.cli.errors import NO
from worlds.cli.options import Author, Command, Json, WorldPath, examples, of_verb, opened
from worlds.cli.terminal import clean, note, output, waiting, write_json
from worlds.errors import OpenError

if TYPE_CHECKING:
    from worlds.curation.claims.verification import Verification
    from worlds.curation.linking.suggesting import Link

_ALL = 10_000  # links that are proposed, or told to programs


@of_verb("mentions")
def mentions(
    path: WorldPath,
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", help="A text, a document's IRI, or '-' for standard input.", show_default=False),
    ],
    *,
    json: Json = False,
    **given: Any,
) -> None:
    """Positions are counted in characters."""
    from worlds.graph.terms import format_term, to_oxigraph

    if text == "-":
        if sys.stdin is None:
            raise OpenError("there is no standard input")
        text = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    with opened(path) as world:
        found = world.mentions(text, **given)
        prefixes = world.prefixes
    if json:
        write_json([one.to_dict() for one in found])
        return
    for remark in found.notes:
        note(remark)
    rows = [
        (
            f"{one.start}–{one.end}",
            clean(one.text),
            format_term(to_oxigraph(one.iri), prefixes),
            f"{one.confidence:.2f}",
        )
        for one in found
    ]
    if rows:
        show.print_table(output(), ("characters", "text", "entity", "confidence"), rows)


@of_verb("suggest_links")
def suggest_links(
    path: WorldPath,
    *,
    limit: Limit = None,
    propose: Propose = False,
    author: Author = None,
    json: Json = False,
    **given: Any,
) -> None:
    """The surest come first."""
    from worlds.graph.terms import format_term, to_oxigraph

    with opened(path, write=propose) as world:
        with waiting("reading"):
            found = world.suggest_links(limit=limit or (_ALL if json or propose else SHOWN), **given)
        proposed = propose_all(world, found, author) if propose else None
        prefixes = world.prefixes

    def row(one: Link) -> tuple[str, ...]:
        link = (format_term(to_oxigraph(term), prefixes) for term in (one.subject, one.predicate, one.object))
        return (f"{one.score:.2f}", *link, clean(one.sentence))

    head = ("probability", "subject", "predicate", "object", "in the words")
    print_findings(found, limit, json=json, proposed=proposed, prefixes=prefixes, head=head, row=row)


@of_verb("verify")
def verify(
    path: WorldPath,
    claim: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SUBJECT PREDICATE OBJECT | WORDS]",
            help="A triple, of IRIs, prefixed names or names; or words, for which passages are found.",
            show_default=False,
        ),
    ] = None,
    *,
    replay: Annotated[
        Path | None, typer.Option("--replay", metavar="FILE", help="Verify again what a trail claims, as it was then.")
    ] = None,
    trail: Annotated[bool, typer.Option("--trail", help="Print the trail: PROV-O in Turtle.")] = False,
    json: Json = False,
    **given: Any,
) -> None:
    """The exit code is 1 unless the claim is supported."""
    words = claim or []
    if (replay is None) == (len(words) not in (1, 3)):
        raise typer.BadParameter("give a triple (three arguments), words (one argument, quoted), or --replay")
    try:
        asked: object = (words[0] if len(words) == 1 else tuple(words)) if replay is None else replay.read_bytes()
    except OSError as error:
        raise OpenError(f"{replay} cannot be read: {error.strerror}") from error
    with opened(path, embedder="auto" if len(words) == 1 else "none") as world:
        found = world.verify(asked, **given)
        prefixes = world.prefixes
    if trail:
        sys.stdout.write(found.rdf())
    elif json:
        write_json(found.to_dict())
    else:
        _print(found, prefixes)
    if found.outcome != "supported":
        raise typer.Exit(NO)


def _print(found: Verification, prefixes: Mapping[str, str]) -> None:
    first, *rest = named(str(found), prefixes).splitlines()
    output().print(Text(clean(first), style="bold"), soft_wrap=True)
    for line in rest:
        output().print(Text(f"  {clean(line.strip())}"), soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command, lines in (
        (mentions, ("worlds mentions kb.db 'Fritz Lang shot Metropolis in Babelsberg'",)),
        (suggest_links, ("worlds suggest-links kb.db --type ex:Person",)),
        (verify, ("worlds verify kb.db ex:metropolis ex:director ex:fritz-lang", "worlds verify kb.db --replay t.ttl")),
    ):
        app.command(command.__name__.replace("_", "-"), cls=Command, epilog=examples(*lines))(command)
