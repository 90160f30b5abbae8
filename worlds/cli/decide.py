"""The commands of curation: merge, split, propose, amend, proposals, accept, reject, decide."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worlds.cli import show
from worlds.cli.ask import given_query
from worlds.cli.decisions import as_table, read_table
from worlds.cli.decisions import decide as carried_out
from worlds.cli.differences import print_edits
from worlds.cli.errors import NO, Interrupted
from worlds.cli.options import Author, Command, EmbedderName, Json, WorldPath, examples, of_verb, opened, read_quads
from worlds.cli.terminal import clean, counted, note, output, write_json
from worlds.cli.write import finish

if TYPE_CHECKING:
    from worlds.curation.changing.proposals import Proposal
    from worlds.world import World

_SHOWN = 20  # entities of a proposal

Numbers = Annotated[
    list[int] | None, typer.Argument(metavar="[PROPOSAL...]", help="The numbers of proposals.", show_default=False)
]
Minimum = Annotated[
    float | None,
    typer.Option("--minimum", "--min", metavar="NUMBER", help="All open proposals of at least this confidence."),
]
Kind = Annotated[str | None, typer.Option("--kind", metavar="KIND", help="All open proposals of this kind.")]
Proposer = Annotated[str | None, typer.Option("--proposer", metavar="NAME", help="All open proposals of this author.")]
About = Annotated[str | None, typer.Option("--entity", metavar="IRI", help="All open proposals about this entity.")]
Query = Annotated[
    str | None,
    typer.Option(
        "--query", metavar="SELECT", help="All open proposals about an entity of this query's first column; - reads it."
    ),
]
Update = Annotated[
    str | None, typer.Argument(metavar="[UPDATE]", help="A SPARQL Update, or - for standard input.", show_default=False)
]
File = Annotated[str | None, typer.Option("--file", "-f", metavar="FILE", help="Read the update from a file.")]


@of_verb("merge")
def merge(path: WorldPath, *, embedder: EmbedderName = "auto", json: Json = False, **given: Any) -> None:
    """A merge can be taken back by `split`."""
    began = time.perf_counter()
    with opened(path, write=True, embedder=embedder) as world:
        change = world.merge(given.pop("kept"), *given.pop("others"), **given)
        finish(world, change, began, as_json=json)


@of_verb("split")
def split(path: WorldPath, *, embedder: EmbedderName = "auto", json: Json = False, **given: Any) -> None:
    """What was added since stays where it is, and is listed: somebody has to say whose it is."""
    from worlds.graph.terms import format_term, to_oxigraph

    began = time.perf_counter()
    with opened(path, write=True, embedder=embedder) as world:
        change = world.split(**given)
        finish(world, change, began, as_json=json)
        if not given["dry_run"] and change.unassigned:
            count = len(change.unassigned)
            note(f"{count:,} quads added since stay where they are:" if count > 1 else "a quad added since stays:")
            for quad in change.unassigned[:_SHOWN]:
                note(
                    "  " + " ".join(format_term(to_oxigraph(term), world.prefixes) for term in quad if term is not None)
                )


@of_verb("propose")
def propose(path: WorldPath, update: Update = None, *, file: File = None, json: Json = False, **given: Any) -> None:
    """Quads are given in N-Quads; - is an update on standard input."""
    text = None if update is None and file is None and _sides(given, "merge") else given_query(update, file)
    given |= {name: read_quads(given[name]) for name in ("add", "remove", "relies_on")}
    with opened(path, write=True) as world:
        _tell(world.propose(update=text, **{**given, "merge": given["merge"] or ()}), world, json=json)


@of_verb("amend")
def amend(
    path: WorldPath,
    id: Annotated[int, typer.Argument(metavar="PROPOSAL", help="The number of a proposal.", show_default=False)],
    update: Update = None,
    *,
    file: File = None,
    json: Json = False,
    **given: Any,
) -> None:
    """The change that it had stays in its discussion."""
    text = None if update is None and file is None else given_query(update, file)
    given |= {name: read_quads(given[name]) for name in ("add", "remove") if given[name] is not None}
    with opened(path, write=True) as world:
        _tell(world.amend(id, update=text, **given), world, json=json)


def _sides(given: Mapping[str, Any], *more: str) -> bool:
    """Whether a change is given by quads, or by entities to merge."""
    return any(given[name] for name in ("add", "remove", *more))


def _tell(found: Proposal, world: World, *, json: bool) -> None:
    if json:
        write_json(found.to_dict())
    else:
        _print(found, world)


@of_verb("proposals", limit=100)
def proposals(
    path: WorldPath,
    number: Annotated[
        int | None, typer.Argument(metavar="[PROPOSAL]", help="Show this proposal.", show_default=False)
    ] = None,
    *,
    csv: Annotated[bool, typer.Option("--csv", help="Print a table to decide in, for `worlds decide`.")] = False,
    json: Json = False,
    **given: Any,
) -> None:
    """With the number of a proposal, show it in full."""
    with opened(path) as world:
        if number is not None:
            _tell(world.proposal(number), world, json=json)
            return
        status = given.pop("status")
        listed = world.proposals(status=None if status == "any" else status, **given)
        prefixes = world.prefixes
    if csv:
        sys.stdout.write(as_table(listed, prefixes))
        return
    if json:
        write_json({"proposals": [one.to_dict() for one in listed]})
        return
    head = ("proposal", "status", "kind", "author", "sure", "added", "removed", "moved", "why")
    show.print_table(output(), head, [_row(one) for one in listed])


def _row(one: Proposal) -> tuple[str, ...]:
    added, removed = one.quads
    sure = "" if one.confidence is None else f"{one.confidence:.2f}"
    violated = f"violates the shapes: {one.validation[0]}" if one.validation else ""
    author, why = (" ".join(clean(text or "").split()) for text in (one.author, one.why or violated))
    moved = "moved" if one.moved else ""
    return (str(one.id), one.status, one.kind, author, sure, str(len(added)), str(len(removed)), moved, why)


def _print(one: Proposal, world: World) -> None:
    from rich.text import Text

    from worlds.graph.terms import format_term, to_oxigraph

    console = output()

    def said(text: str, style: str = "") -> None:
        console.print(Text(clean(text).replace("\n", " "), style=style), soft_wrap=True)

    said(f"proposal {one.id}, {one.status} ({one.kind}), by {one.author or 'nobody named'}", "bold")
    if one.version > 1:
        said(f"version {one.version}, given by {one.content_author or 'nobody named'}", "bold")
    for text in (one.why, None if one.confidence is None else f"confidence {one.confidence:.2f}"):
        if text is not None:
            said(text)
    if one.merged:
        kept, *others = (format_term(to_oxigraph(iri), world.prefixes) for iri in one.merged)
        said(f"merges {', '.join(others)} into {kept}:")
    print_edits(one.edits, _SHOWN, world.prefixes)
    for text in one.moved:
        said(f"since then: {text}", "yellow")
    for text in one.validation:
        said(f"it violates the shapes: {text}", "yellow")
    for remark in one.discussion:
        said(f"{remark.author or 'somebody'}: {remark.text}")
    if one.decided is not None:
        said(f"{one.status} by {one.reviewer or 'somebody'}" + (f": {one.decision}" if one.decision else ""))


@of_verb("accept", version=1)
def accept(
    path: WorldPath,
    numbers: Numbers = None,
    *,
    minimum: Minimum = None,
    kind: Kind = None,
    proposer: Proposer = None,
    entity: About = None,
    query: Query = None,
    embedder: EmbedderName = "auto",
    author: Author = None,
    json: Json = False,
    **given: Any,
) -> None:
    """The author of each revision is who gave the change; its message names the reviewer.

    Those that are accepted before an error stay so.
    """
    reviewer = given.pop("reviewer") or author
    with opened(path, write=True, embedder=embedder) as world:
        chosen = _chosen(world, numbers, query, minimum=minimum, kind=kind, author=proposer, entity=entity)
        with _counting() as decided:
            for number, version in chosen.items():
                began = time.perf_counter()
                options = given if numbers else {**given, "version": version}
                change = world.accept(number, reviewer=reviewer, **options)
                decided.append(number)
                finish(world, change, began, as_json=json)
    if not chosen:
        note("no proposal waits that all of this holds for")


@of_verb("reject")
def reject(
    path: WorldPath,
    numbers: Numbers = None,
    *,
    minimum: Minimum = None,
    kind: Kind = None,
    proposer: Proposer = None,
    entity: About = None,
    query: Query = None,
    author: Author = None,
    json: Json = False,
    **given: Any,
) -> None:
    """All of them are rejected or, after an error, none."""
    reviewer = given.pop("reviewer") or author
    with opened(path, write=True) as world:
        chosen = _chosen(world, numbers, query, minimum=minimum, kind=kind, author=proposer, entity=entity)
        decided = world.reject_all(chosen, reviewer=reviewer, **given)
    if json:
        write_json({"proposals": [one.to_dict() for one in decided]})
    else:
        output().print(f"{counted(len(decided), 'proposal')} rejected")


@contextlib.contextmanager
def _counting() -> Iterator[list[Any]]:
    """A list of what was decided, which an interrupt tells: each decision is a revision of its own."""
    decided: list[Any] = []
    try:
        yield decided
    except KeyboardInterrupt as interrupt:
        raise Interrupted(f"{counted(len(decided), 'proposal')} decided before; the rest waits") from interrupt


def _chosen(world: World, numbers: list[int] | None, query: str | None, **asked: Any) -> dict[int, int]:
    """The proposals that are given by their numbers, or by what holds of them, each with its version now."""
    if bool(numbers) == any(value is not None for value in (query, *asked.values())):
        options = "--minimum, --kind, --proposer, --entity and --query"
        raise typer.BadParameter(f"give the numbers of proposals, or one of {options}")
    if query is not None:
        if asked["entity"] is not None:
            raise typer.BadParameter("give --entity or --query: each says which entities are meant")
        asked["entity"] = _entities(world, given_query(query, None))
    found = [world.proposal(number) for number in numbers] if numbers else world.proposals(**asked)
    return {one.id: one.version for one in found}


def _entities(world: World, query: str) -> list[Any]:
    """The entities in the first column of a query's solutions."""
    from worlds.graph.query.results import Solutions

    found = world.query(query)
    if not isinstance(found, Solutions):
        raise typer.BadParameter("--query is a SELECT whose first column has entities")
    return [row[0] for row in found if row[0] is not None]


def decide(
    path: WorldPath,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A table of `worlds proposals --csv`.", show_default=False)
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Accept even if what a proposal relies on has changed.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would come of it.")] = False,
    embedder: EmbedderName = "auto",
    author: Author = None,
    json: Json = False,
) -> None:
    """Accept and reject what the column `decision` of a table says, each by itself.

    A proposal that has moved, or has another version than the table, is refused and stays open: the exit code is 1.
    """
    decisions = read_table(file)
    with opened(path, write=True, embedder=embedder) as world, _counting() as told:
        for row in carried_out(world, decisions, reviewer=author, force=force, dry_run=dry_run):
            told.append(row)  # what is done is known when it is interrupted
    refused = [row for row in told if row["outcome"] == "refused"]
    if json:
        write_json({"decisions": told})
    else:
        for row in refused:
            note(f"proposal {row['proposal']} is not decided: {row['why']}")
        counts = {outcome: sum(row["outcome"] == outcome for row in told) for outcome in ("accepted", "rejected")}
        would = "would be " if dry_run else ""
        parts = [f"{counted(count, 'proposal')} {would}{outcome}" for outcome, count in counts.items()]
        output().print(", ".join([*parts, f"{len(refused)} refused"]))
    if refused:
        raise typer.Exit(NO)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command, lines in (
        (merge, ("worlds merge kb.db ex:Perseverance ex:Mars2020Rover --dry-run",)),
        (split, ("worlds split kb.db 4 --author ann",)),
        (propose, ("worlds propose kb.db 'DELETE DATA { ex:a ex:b 1 }' --why 'it is 2' --author bot",)),
        (amend, ("worlds amend kb.db 7 --why 'the source says so on page 3' --author ann",)),
        (proposals, ("worlds proposals kb.db", "worlds proposals kb.db 7")),
        (accept, ("worlds accept kb.db 7 --reviewer ann", "worlds accept kb.db --min 0.95 --kind duplicate --dry-run")),
        (reject, ("worlds reject kb.db 7 8 --why 'no source' --reviewer ann",)),
        (decide, ("worlds proposals kb.db --csv > decisions.csv", "worlds decide kb.db decisions.csv --dry-run")),
    ):
        app.command(cls=Command, epilog=examples(*lines))(command)
