"""The commands about entities, texts and claims: resolve, form, similar, mentions, verify."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal

import typer
from rich.text import Text

from worlds.core.search.options import gathered
from worlds.doors.cli import show
from worlds.doors.cli.ask import read_stdin
from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import NO
from worlds.doors.cli.options import EMBEDDER, given
from worlds.doors.cli.terminal import clean, note, output, write_json
from worlds.errors import OpenError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from worlds.extras.entities.names import Resolution
    from worlds.world import World


_LEAST = 0.01  # confidence of a candidate that is printed


def _print_resolutions(found: Sequence[Resolution], prefixes: Mapping[str, str]) -> None:
    for remark in dict.fromkeys(remark for one in found for remark in one.notes):
        note(remark)
    for one in found:
        _print_resolution(one, prefixes)


@command(
    "resolve",
    given(
        "NAME...",
        "The names; quote a name of several words. '-' reads them from standard input, one a line.",
        name="names",
    ),
    given("--context -c TEXT", "The text around the names."),
    EMBEDDER,
    show=_print_resolutions,
    fails=lambda found: any(one.outcome != "match" for one in found),
)
def resolve(world: World, names: list[str], **given: Any) -> list[Resolution]:
    """The exit code is 1 unless each name has a match.

    $ worlds resolve kb.db 'Fritz Lang' --type ex:Person
    $ worlds resolve kb.db - --json < names.txt
    """
    every = [name for one in names for name in (_read_names() if one == "-" else [one])]
    return [world.resolve(name, **given) for name in every]


@command("entities.form", given("[IRI]", "The entity."))
def form(world: World, **given: Any) -> Any:
    """With --type and no entity, the form of a new one.

    $ worlds entities form kb.db ex:metropolis
    $ worlds entities form kb.db --type ex:Film --json
    """
    found = world.entities.form(**given)
    if not found.fields:
        note("no fields are known: there is neither a shape nor another entity of these classes")
    return found


@command(
    "entities.similar",
    given("--mode", "By meaning, where there are vectors, or by words.", Literal["vector", "text"], "vector"),
    given("--words", "The same as --mode text."),
)
def similar(world: World, iri: str, *, mode: str, words: bool, json: bool, **given: Any) -> None:
    """The exit code is 1 if the world has no quads about the entity.

    $ worlds entities similar kb.db ex:metropolis --type ex:Film
    """
    if words or mode == "text":
        given["mode"] = "text"
    hits = world.entities.similar(iri, **gathered(given))
    if json:
        write_json(hits.to_dict(sql=False))
    else:
        for remark in hits.notes:
            note(remark)
        show.print_hits(output(), hits, world.prefixes)
    if not hits and not world.describe(iri, limit=1):
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


def _print_resolution(found: Resolution, prefixes: Mapping[str, str]) -> None:
    console = output()
    line = Text(clean(found.name), style="bold")
    console.print(line.append(f"  {found.outcome}", style="not bold dim"), soft_wrap=True)
    for one in found.candidates:
        if one.confidence < _LEAST:
            continue
        line = Text(f"  {one.confidence:.2f}  ", style="dim")
        line.append(clean(one.label or str(one.iri)), style="not dim bold")
        line.append(f"  {show.term(one.iri, prefixes)}", style="not dim not bold cyan")
        matched = "" if one.matched == one.label else f" {clean(one.matched)}"
        apart = f"  {clean(one.apart)}" if one.apart else ""
        console.print(line.append(f"  {one.kind}{matched}{apart}", style="dim not bold"), soft_wrap=True)


@command("entities.mentions", given("TEXT", "A text, a document's IRI, or '-' for standard input."))
def mentions(world: World, text: str, **given: Any) -> Any:
    """Positions are counted in characters.

    $ worlds entities mentions kb.db 'Fritz Lang shot Metropolis in Babelsberg'
    """
    return world.entities.mentions(read_stdin("a text") if text == "-" else text, **given)


@command(
    "curation.verify",
    given(
        "SUBJECT PREDICATE OBJECT | WORDS",
        "A triple, of IRIs, prefixed names or names; or words, for which passages are found.",
        list[str],
        name="claim",
    ),
    embedder=lambda given: "auto" if len(given["claim"]) == 1 else "none",
    fails=lambda found: found.outcome != "supported",
)
def verify(world: World, claim: list[str], **given: Any) -> Any:
    """The exit code is 1 unless the claim is supported.

    $ worlds curate verify kb.db ex:metropolis ex:director ex:fritz-lang
    """
    if len(claim) not in (1, 3):
        raise typer.BadParameter("give a triple (three arguments), or words (one argument, quoted)")
    return world.curation.verify(claim[0] if len(claim) == 1 else tuple(claim), **given)
