"""The commands about facts: state, tell, end, reinstate, timeline."""

from __future__ import annotations

import sys
import time
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from worlds.cli.errors import NO
from worlds.cli.options import Command, DryRun, Embed, EmbedderName, Json, WorldPath, examples, of_verb, opened
from worlds.cli.terminal import clean, note, output, write_json
from worlds.cli.write import report as report_write
from worlds.errors import ArgumentError, OpenError
from worlds.verbs.table import VERBS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from worlds.validity.timeline import Held, Timeline

_OF = VERBS["state"].options


@of_verb("state")
def state(
    path: WorldPath,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help=_OF["subject"].help, show_default=False)],
    predicate: Annotated[str, typer.Argument(metavar="PREDICATE", help=_OF["predicate"].help, show_default=False)],
    object: Annotated[str, typer.Argument(metavar="OBJECT", help=_OF["object"].help, show_default=False)],
    *,
    supersede: Annotated[
        bool, typer.Option("--supersede", help="End the other value of a predicate that is declared to have one.")
    ] = False,
    embed: Embed = True,
    embedder: EmbedderName = "auto",
    dry_run: DryRun = False,
    json: Json = False,
    **given: Any,
) -> None:
    """What is stated is asserted, and a reifier says when; with `--to`, it has ended and is not asserted."""
    start = time.perf_counter()
    given |= {"supersede": "functional" if supersede else None, "embed": embed, "dry_run": dry_run}
    with opened(path, write=True, embedder=embedder if embed and not dry_run else "none", dry_run=dry_run) as world:
        report_write(world, world.state(subject, predicate, object, **given), time.perf_counter() - start, as_json=json)


@of_verb("tell")
def tell(
    path: WorldPath,
    fact: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SUBJECT PREDICATE OBJECT]", help="A fact, its parts in words.", show_default=False),
    ] = None,
    *,
    file: Annotated[
        str | None,
        typer.Option("--file", "-f", metavar="FILE", help="Facts as JSON lines, one list a line; - is standard input."),
    ] = None,
    begun: Annotated[str | None, typer.Option("--from", metavar="TIME", help="The time at which it began.")] = None,
    ended: Annotated[str | None, typer.Option("--to", metavar="TIME", help="The time at which it ended.")] = None,
    cites: Annotated[
        list[str] | None, typer.Option("--cites", metavar="SOURCE", help=_OF["cites"].help + " May be repeated.")
    ] = None,
    embed: Embed = True,
    embedder: EmbedderName = "auto",
    dry_run: DryRun = False,
    json: Json = False,
    **given: Any,
) -> None:
    """What is sure is one revision. The exit code is 1 if a fact was refused."""
    if (file is None) == (not fact) or (fact and len(fact) != 3):
        raise ArgumentError(
            "a fact is SUBJECT PREDICATE OBJECT, each in quotes if it has several words; or --file FILE"
        )
    times = {"from": begun, "to": ended, "cites": cites}
    times = {name: value for name, value in times.items() if value}
    facts: list[Any] = [[*fact, times]] if fact else _lines(file or "-")
    if file and times:
        raise ArgumentError("--from, --to and --cites are of one fact; in a file each has its own, as its fourth part")
    chosen = embedder if embed and not dry_run else "none"
    with opened(path, write=True, embedder=chosen, dry_run=dry_run) as world:
        receipt = world.tell(facts, embed=embed, dry_run=dry_run, **given)
    if json:
        write_json(receipt.to_dict())
    else:
        for one in receipt.facts:
            more = [f"new: {' '.join(map(str, one.new))}"] if one.new else []
            more += [one.why] if one.why else []
            more += [f"proposal {one.proposal}"] if one.proposal else []
            told = f"{one.became}: {' '.join(one.fact)}" + (f" ({'; '.join(more)})" if more else "")
            output().print(clean(told), markup=False, highlight=False, soft_wrap=True)
        note(str(receipt) + ("" if receipt.revision is None else f"; revision {receipt.revision}"))
    if receipt.of("refused"):
        raise typer.Exit(NO)


def _lines(file: str) -> list[Any]:
    """The facts of a file."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OpenError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    facts = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            facts += [loads(line)] if line.strip() else []
        except (ValueError, RecursionError) as error:
            raise OpenError(f"{file}, line {number}: no list in JSON: {getattr(error, 'msg', error)}") from error
    return facts


@of_verb("end")
def end(
    path: WorldPath,
    *,
    at: Annotated[str | None, typer.Option("--at", metavar="TIME", help=VERBS["end"].options["at"].help)] = None,
    json: Json = False,
    **given: Any,
) -> None:
    """A named graph is the fourth term."""
    start = time.perf_counter()
    with opened(path, write=True, dry_run=bool(given.get("dry_run"))) as world:
        report_write(world, world.end(at=at, **given), time.perf_counter() - start, as_json=json)


@of_verb("reinstate")
def reinstate(
    path: WorldPath,
    *,
    embed: Embed = True,
    embedder: EmbedderName = "auto",
    json: Json = False,
    **given: Any,
) -> None:
    """A named graph is the fourth term."""
    start = time.perf_counter()
    dry_run = bool(given.get("dry_run"))
    with opened(path, write=True, embedder=embedder if embed and not dry_run else "none", dry_run=dry_run) as world:
        change = world.reinstate(embed=embed, **given)
        report_write(world, change, time.perf_counter() - start, as_json=json)


@of_verb("timeline")
def timeline(path: WorldPath, *, json: Json = False, **given: Any) -> None:
    """The exit code is 1 if the world says nothing of the entity."""
    with opened(path) as world:
        found = world.timeline(**given)
        if json:
            write_json(found.to_dict())
        elif found:
            _print(found, world.prefixes)
        else:
            note("this world says nothing of it")
    if not found:
        raise typer.Exit(NO)


def _print(found: Timeline, prefixes: Mapping[str, str]) -> None:
    from worlds.graph.terms import format_term, to_oxigraph  # help is printed without them

    def shown(term: Any) -> str:
        return clean(format_term(to_oxigraph(term), prefixes))

    def fact(one: Held) -> str:
        return f"{shown(one.value)}  {clean(one.interval)}".rstrip()

    heading = None
    for one in found.facts:
        if heading != (heading := f"{'^' if one.incoming else ''}{shown(one.predicate)}"):
            output().print(Text(heading, style="bold"), soft_wrap=True)
        line = Text(f"  {fact(one)}", style="" if one.holds else "dim")
        if one.graph is not None:
            line.append(f"  in {shown(one.graph)}", style="dim")
        output().print(line, soft_wrap=True)
    for name, pairs in (("nothing is said between", found.gaps), ("overlap", found.overlaps)):
        for pair in pairs:
            note(f"{shown(pair.predicate)}: {fact(pair.earlier)} and {fact(pair.later)}: {name}")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command, lines in (
        (state, ("worlds state kb.db ex:Acme ex:director ex:Ann --from 2019-05 --cites ex:report --supersede",)),
        (
            tell,
            (
                "worlds tell kb.db 'Ann Smith' 'works at' Acme --from 2026-05",
                "worlds tell kb.db --file facts.jsonl --dry-run",
            ),
        ),
        (end, ("worlds end kb.db ex:Acme ex:director ex:Ann --at 2024-03 --reason 'she left'",)),
        (reinstate, ("worlds reinstate kb.db ex:Acme ex:director ex:Ann",)),
        (timeline, ("worlds timeline kb.db ex:Acme",)),
    ):
        app.command(cls=Command, epilog=examples(*lines))(command)
