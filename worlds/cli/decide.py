"""The commands of curation: merge, split, propose, amend, proposals, accept, reject."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from worlds.cli import show
from worlds.cli.ask import given_query
from worlds.cli.options import Author, Command, DryRun, EmbedderName, Json, Message, WorldPath, examples, opened
from worlds.cli.terminal import clean, counted, note, output, write_json
from worlds.cli.write import finish

if TYPE_CHECKING:
    from worlds.curation.changing.proposals import Proposal
    from worlds.world import World

_SHOWN = 20  # quads of a proposal, of each kind

Number = Annotated[int, typer.Argument(metavar="PROPOSAL", help="Its number.", show_default=False)]
Numbers = Annotated[list[int], typer.Argument(metavar="PROPOSAL...", help="Their numbers.", show_default=False)]
Reviewer = Annotated[str | None, typer.Option("--reviewer", metavar="NAME", help="Who decides; else the author.")]
Why = Annotated[str | None, typer.Option("--why", metavar="TEXT", help="The reason.")]


def merge(
    path: WorldPath,
    kept: Annotated[str, typer.Argument(metavar="KEPT", help="The entity that stays.", show_default=False)],
    others: Annotated[
        list[str], typer.Argument(metavar="OTHER...", help="Those that it replaces.", show_default=False)
    ],
    redirect: Annotated[
        Literal["owl:sameAs", "dcterms:isReplacedBy"], typer.Option(help="How the old names lead on.")
    ] = "owl:sameAs",
    conflicts: Annotated[
        Literal["report", "kept", "newest", "refuse"],
        typer.Option(help="Of functional properties with several values: keep all, or one, or change nothing."),
    ] = "report",
    embedder: EmbedderName = "auto",
    author: Author = None,
    message: Message = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Let one entity take the place of others, in all graphs and positions; the old names lead to it."""
    began = time.perf_counter()
    with opened(path, write=True, embedder=embedder) as world:
        change = world.merge(
            kept, *others, redirect=redirect, conflicts=conflicts, author=author, message=message, dry_run=dry_run
        )
        finish(world, change, began, as_json=json)


def split(
    path: WorldPath,
    revision: Annotated[int, typer.Argument(metavar="REVISION", help="The merge's, in the log.", show_default=False)],
    embedder: EmbedderName = "auto",
    author: Author = None,
    message: Message = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Take a merge back, whatever has changed since, and list what was added since: somebody has to say whose it is."""
    from worlds.graph.terms import format_term, to_oxigraph

    began = time.perf_counter()
    with opened(path, write=True, embedder=embedder) as world:
        change = world.split(revision, author=author, message=message, dry_run=dry_run)
        finish(world, change, began, as_json=json)
        if not dry_run and change.unassigned:
            count = len(change.unassigned)
            note(f"{count:,} quads added since stay where they are:" if count > 1 else "a quad added since stays:")
            for quad in change.unassigned[:_SHOWN]:
                note(
                    "  " + " ".join(format_term(to_oxigraph(term), world.prefixes) for term in quad if term is not None)
                )


def propose(
    path: WorldPath,
    update: Annotated[
        str | None,
        typer.Argument(metavar="[UPDATE]", help="A SPARQL Update, or - for standard input.", show_default=False),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Read the update from a file.")
    ] = None,
    merge: Annotated[
        list[str] | None,
        typer.Option("--merge", metavar="IRI", help="Merge entities instead; repeated, the one to keep first."),
    ] = None,
    why: Why = None,
    confidence: Annotated[float | None, typer.Option(metavar="NUMBER", help="How sure it is, from 0 to 1.")] = None,
    kind: Annotated[str | None, typer.Option(metavar="WORD", help="What to find it by; else edit or merge.")] = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Propose a change for somebody else to decide on; nothing of it is found or counted before."""
    text = None if merge and update is None and file is None else given_query(update, file)
    with opened(path, write=True) as world:
        found = world.propose(update=text, merge=merge or (), why=why, confidence=confidence, kind=kind, author=author)
        if json:
            write_json(found.to_dict())
        else:
            _print(found, world)


def amend(
    path: WorldPath,
    number: Number,
    update: Annotated[
        str | None,
        typer.Argument(metavar="[UPDATE]", help="A SPARQL Update to put in its place, or -.", show_default=False),
    ] = None,
    file: Annotated[
        str | None, typer.Option("--file", "-f", metavar="FILE", help="Read the update from a file.")
    ] = None,
    why: Why = None,
    confidence: Annotated[float | None, typer.Option(metavar="NUMBER", help="How sure it is, from 0 to 1.")] = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Say something of an open proposal, or put another change in its place."""
    text = None if update is None and file is None else given_query(update, file)
    with opened(path, write=True) as world:
        found = world.amend(number, update=text, why=why, confidence=confidence, author=author)
        if json:
            write_json(found.to_dict())
        else:
            _print(found, world)


def proposals(
    path: WorldPath,
    number: Annotated[
        int | None, typer.Argument(metavar="[PROPOSAL]", help="Show this one.", show_default=False)
    ] = None,
    status: Annotated[Literal["open", "accepted", "rejected", "any"], typer.Option(help="Those that are so.")] = "open",
    author: Annotated[str | None, typer.Option(metavar="NAME", help="Of this author.")] = None,
    entity: Annotated[str | None, typer.Option(metavar="IRI", help="On this entity.")] = None,
    kind: Annotated[str | None, typer.Option(metavar="WORD", help="Of this kind.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="The most that are listed.")] = 100,
    json: Json = False,
) -> None:
    """List what is proposed, the oldest first, or show one proposal."""
    with opened(path) as world:
        if number is not None:
            found = world.proposal(number)
            if json:
                write_json(found.to_dict())
            else:
                _print(found, world)
            return
        listed = world.proposals(
            status=None if status == "any" else status, author=author, entity=entity, kind=kind, limit=limit
        )
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
    for sign, style, quads in (("-", "red", one.quads[1]), ("+", "green", one.quads[0])):
        for quad in quads[:_SHOWN]:
            terms: list[Any] = [quad.subject, quad.predicate, quad.object]
            said(f"{sign} {' '.join(format_term(term, world.prefixes) for term in terms)}", style)
        if len(quads) > _SHOWN:
            said(f"{sign} … and {len(quads) - _SHOWN:,} more", "dim")
    for text in one.moved:
        said(f"since then: {text}", "yellow")
    for text in one.validation:
        said(f"it violates the shapes: {text}", "yellow")
    for remark in one.discussion:
        said(f"{remark.author or 'somebody'}: {remark.text}")
    if one.decided is not None:
        said(f"{one.status} by {one.reviewer or 'somebody'}" + (f": {one.decision}" if one.decision else ""))


def accept(
    path: WorldPath,
    numbers: Numbers,
    reviewer: Reviewer = None,
    why: Why = None,
    version: Annotated[
        int, typer.Option(metavar="NUMBER", min=1, help="The version that you have read; each amendment makes another.")
    ] = 1,
    force: Annotated[
        bool, typer.Option("--force", help="Also if what a proposal relies on has changed; do what is left to do.")
    ] = False,
    embedder: EmbedderName = "auto",
    author: Author = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Make the changes of proposals, a revision each, by who gave them; the message names the reviewer."""
    with opened(path, write=True, embedder=embedder) as world:
        for number in numbers:  # all, before any is accepted
            world.proposal(number)
        for number in numbers:
            began = time.perf_counter()
            change = world.accept(
                number, reviewer=reviewer or author, why=why, version=version, force=force, dry_run=dry_run
            )
            finish(world, change, began, as_json=json)


def reject(
    path: WorldPath,
    numbers: Numbers,
    why: Why = None,
    reviewer: Reviewer = None,
    author: Author = None,
    json: Json = False,
) -> None:
    """Decide that the changes of proposals are not made."""
    with opened(path, write=True) as world:
        decided = world.reject_all(numbers, why, reviewer=reviewer or author)
    if json:
        write_json({"proposals": [one.to_dict() for one in decided]})
    else:
        output().print(f"{counted(len(decided), 'proposal')} rejected")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command, lines in (
        (merge, ("worlds merge kb.db ex:Perseverance ex:Mars2020Rover --dry-run",)),
        (split, ("worlds split kb.db 4 --author ann",)),
        (propose, ("worlds propose kb.db 'DELETE DATA { ex:a ex:b 1 }' --why 'it is 2' --author bot",)),
        (amend, ("worlds amend kb.db 7 --why 'the source says so on page 3' --author ann",)),
        (proposals, ("worlds proposals kb.db", "worlds proposals kb.db 7")),
        (accept, ("worlds accept kb.db 7 --reviewer ann",)),
        (reject, ("worlds reject kb.db 7 8 --why 'no source' --reviewer ann",)),
    ):
        app.command(cls=Command, epilog=examples(*lines))(command)
