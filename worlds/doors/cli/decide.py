"""The commands of decisions: curate merge, split; proposals add, amend, list, get, accept, reject, decide."""

from __future__ import annotations

import contextlib
import csv
import io
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from worlds.doors.cli.ask import given_query
from worlds.doors.cli.changes import finish, print_edits
from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import stopping
from worlds.doors.cli.options import AUTHOR, EMBEDDER, FILE, given
from worlds.doors.cli.show import print_answer, term
from worlds.doors.cli.terminal import counted, note, print_text, read_text
from worlds.errors import ArgumentError, ConflictError, ParseError, WorldsError
from worlds.graph.cells import cell, records, unescaped

if TYPE_CHECKING:
    from worlds.extras.curation.changing.proposals import Proposal
    from worlds.world import World

_SHOWN = 20  # entities of a proposal
_NOTHING = "nothing changed"

_CHOSEN = (
    given("[PROPOSAL...]", "The numbers of proposals.", list[int], name="numbers"),
    given(
        "--minimum --min NUMBER",
        "All open proposals of at least this confidence; of duplicates and links, this probability.",
        float,
    ),
    given("--kind KIND", "All open proposals of this kind."),
    given("--proposer NAME", "All open proposals of this author."),
    given("--entity IRI", "All open proposals about this entity."),
    given("--query SELECT", "All open proposals about an entity in this query's first column; - reads it."),
)
_UPDATE = given("[UPDATE]", "A SPARQL Update, or - for standard input.")


@command("curation.merge", EMBEDDER, nothing=_NOTHING)
def merge(world: World, kept: str, others: list[str], **given: Any) -> Any:
    """A merge can be taken back by `split`.

    $ worlds curate merge kb.db ex:Perseverance ex:Mars2020Rover --dry-run
    """
    return world.curation.merge(kept, *others, **given)


@command("curation.split", EMBEDDER, nothing=_NOTHING)
def split(world: World, **given: Any) -> Any:
    """Quads added since stay where they are, and are listed: somebody has to decide whose they are.

    $ worlds curate split kb.db 4 --author ann
    """
    change = world.curation.split(**given)
    unassigned = () if given["dry_run"] else change.unassigned
    if unassigned:
        count = len(unassigned)
        note(f"{count:,} quads added since stay where they are:" if count > 1 else "a quad added since stays:")
    for quad in unassigned[:_SHOWN]:
        note("  " + " ".join(term(part, world.prefixes) for part in quad if part is not None))
    return change


_TOLD = ("id", "status", "kind", "author", "version", "content_author", "why", "score", "confidence", "merged")
_TOLD_LAST = ("changed since", "violates", "reviewer", "decided", "decision", "discussion")


def _print(one: Proposal, prefixes: Mapping[str, str]) -> None:
    told = {**one.to_dict(), "changed since": list(one.moved), "violates": list(one.validation)}
    print_answer({name: told[name] for name in (*_TOLD, *_TOLD_LAST)}, prefixes)
    print_text()
    print_edits(one.edits, _SHOWN, prefixes)


@command("proposals.add", *(_UPDATE, FILE), show=_print)
def propose(world: World, update: str | None, *, file: str | None, **given: Any) -> Any:
    """Quads are given in N-Quads; - is an update on standard input.

    $ worlds proposals add kb.db 'DELETE DATA { ex:a ex:b 1 }' --why 'it is 2' --author bot
    """
    return world.proposals.add(update=_text(update, file), **given)


@command(
    "proposals.amend", given("PROPOSAL", "The number of a proposal.", int, name="id"), *(_UPDATE, FILE), show=_print
)
def amend(world: World, update: str | None, *, file: str | None, **given: Any) -> Any:
    """The change that it had stays in its discussion.

    $ worlds proposals amend kb.db 7 --why 'the source says so on page 3' --author ann
    """
    return world.proposals.amend(update=_text(update, file), **given)


def _text(update: str | None, file: str | None) -> str | None:
    return None if update is None and file is None else given_query(update, file)


@command("proposals.get", show=_print)
def get() -> None:
    """
    $ worlds proposals get kb.db 7
    """


def _print_proposals(found: Any, prefixes: Mapping[str, str]) -> None:
    rows = [
        {**one.to_dict(), **{name: len(quads) for name, quads in zip(("added", "removed"), one.quads, strict=True)}}
        for one in found["proposals"]
    ]
    print_answer(rows, prefixes)


@command(
    "proposals.list",
    given("--csv", "Print a table to decide in, for `worlds proposals decide`."),
    defaults={"limit": 100},
    show=_print_proposals,
)
def proposals(world: World, *, csv: bool, **given: Any) -> Any:
    """`proposals get` shows a proposal in full.

    $ worlds proposals list kb.db
    $ worlds proposals list kb.db --csv > decisions.csv
    """
    listed = world.proposals.list(**given)
    if csv:
        for told in listed.notes:
            note(told)
        sys.stdout.write(_as_table(listed, world.prefixes))
        return None
    return {"proposals": list(listed), "total": listed.total, "notes": listed.notes}


@contextlib.contextmanager
def _counting() -> Iterator[list[Any]]:
    """A list that collects the decisions made, which an interrupt reports: each decision is a revision of its own."""
    decided: list[Any] = []
    with stopping(lambda: f"{counted(len(decided), 'proposal')} decided; the others stay open"):
        yield decided


def _chosen(world: World, given: dict[str, Any]) -> dict[int, int]:
    """The proposals chosen by number or by options, each with its present version.

    What chooses them is taken from the options of the command.
    """
    numbers, query = given.pop("numbers", None), given.pop("query", None)
    names = {"minimum": "minimum", "kind": "kind", "entity": "entity", "proposer": "author"}
    asked = {names[name]: given.pop(name) for name in names if name in given}
    if bool(numbers) == bool(query is not None or asked):
        options = "--minimum, --kind, --proposer, --entity and --query"
        raise typer.BadParameter(f"give the numbers of proposals, or one of {options}")
    if query is not None:
        if "entity" in asked:
            raise typer.BadParameter("use --entity or --query, not both")
        asked["entity"] = _entities(world, given_query(query, None))
    if numbers:
        return {number: world.proposals.get(number).version for number in numbers}
    found = world.proposals.list(**asked)
    if found.uncalibrated:
        raise typer.BadParameter(f"{found.notes[-1]}; or choose them by --kind, --entity or their numbers")
    return {one.id: one.version for one in found}


def _entities(world: World, query: str) -> list[Any]:
    """The entities in the first column of a query's solutions."""
    from worlds.graph.query.results import Solutions

    found = world.query(query)
    if not isinstance(found, Solutions):
        raise typer.BadParameter("--query is a SELECT whose first column has entities")
    return [row[0] for row in found if row[0] is not None]


@command("proposals.accept", *_CHOSEN, *(EMBEDDER, AUTHOR), defaults={"version": 1})
def accept(
    world: World, *, version: int, author: str | None, reviewer: str | None, embedder: str, json: bool, **given: Any
) -> None:
    """The author of each revision is who gave the change; its message names the reviewer.

    Those that are accepted before an error stay so.

    $ worlds proposals accept kb.db 7 --reviewer ann
    $ worlds proposals accept kb.db --min 0.95 --kind duplicate --dry-run
    """
    by_number = "numbers" in given
    chosen = _chosen(world, given)
    given["reviewer"] = reviewer or author
    with _counting() as decided:
        for number, now in chosen.items():
            began = time.perf_counter()
            change = world.proposals.accept(number, version=version if by_number else now, **given)
            decided.append(number)
            finish(world, change, began, {"json": json, "embedder": embedder}, nothing=_NOTHING)
    if not chosen:
        note("no open proposal matches all of these options")


@command("proposals.reject", *_CHOSEN, AUTHOR, empty="no open proposal matches all of these options")
def reject(world: World, *, author: str | None, reviewer: str | None, **given: Any) -> Any:
    """All of them are rejected or, after an error, none.

    $ worlds proposals reject kb.db 7 8 --why 'no source' --reviewer ann
    """
    chosen = _chosen(world, given)
    return {"proposals": world.proposals.reject_all(chosen, reviewer=reviewer or author, **given)}


@command(
    "proposals.decide",
    given("FILE", "A table of `worlds proposals list --csv`.", Path),
    given("--force", "Accept even if quads that a proposal relies on have changed."),
    given("--dry-run", "Show the changes without making them."),
    *(EMBEDDER, AUTHOR),
    writes=True,
    fails=lambda told: any(row["outcome"] == "refused" for row in told["decisions"]),
    empty="the table decides nothing",
)
def decide(world: World, file: Path, *, force: bool, dry_run: bool, author: str | None) -> dict[str, list[Any]]:
    """Accept and reject proposals by the column `decision` of a table, each by itself.

    A proposal that has moved, or has another version than the table, is refused and stays open: the exit code is 1.

    $ worlds proposals list kb.db --csv > decisions.csv
    $ worlds proposals decide kb.db decisions.csv --dry-run
    """
    with _counting() as told:
        for row in _carried_out(world, _read_table(file), author, force=force, dry_run=dry_run):
            told.append(row)  # what is done is known when it is interrupted
    if dry_run:
        note("nothing is written: these would be the outcomes")
    return {"decisions": told}


# -- proposals as a table to decide in, and back ------

COLUMNS = (
    *("proposal", "version", "kind", "score", "confidence", "author"),
    *("why", "change", "moved", "decision", "reason"),
)
_DECISIONS = ("accept", "reject")
_DIGITS = 18  # of a number; there is no proposal of more


def _as_table(proposals: Iterable[Proposal], prefixes: Mapping[str, str]) -> str:
    """The proposals as CSV (RFC 4180), with columns for a decision and its reason."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for one in proposals:
        sure = ("" if share is None else f"{share:g}" for share in (one.score, one.confidence))
        texts = (one.kind, *sure, one.author or "", one.why or "", _change(one, prefixes), "; ".join(one.moved))
        whole = f"worlds proposals get FILE {one.id}"
        writer.writerow([one.id, one.version, *(cell(text, whole) for text in texts), "", ""])
    return written.getvalue()


def _change(one: Proposal, prefixes: Mapping[str, str]) -> str:
    from worlds.graph.terms import format_term, to_oxigraph

    lines = []
    if one.merged:
        kept, *others = (format_term(to_oxigraph(iri), prefixes) for iri in one.merged)
        lines.append(f"merge {', '.join(others)} into {kept}")
    for sign, quads in (("-", one.quads[1]), ("+", one.quads[0])):
        for quad in [] if one.merged else quads:
            terms: tuple[Any, ...] = (quad.subject, quad.predicate, quad.object)
            lines.append(f"{sign} {' '.join(format_term(term, prefixes) for term in terms)}")
    return "\n".join(lines)


def _read_table(path: Path) -> list[dict[str, Any]]:
    """The rows that decide something; OpenError for a file that cannot be read, ArgumentError for one that is none."""
    text = read_text(path)
    head = text.partition("\n")[0]
    mark = ";" if ";" in head and "," not in head else ","
    try:
        return _decisions(records(io.StringIO(text, newline=""), str(path), delimiter=mark), path)
    except ParseError as error:
        raise ArgumentError(str(error)) from error


def _decisions(rows: Iterator[tuple[int, list[str]]], path: Path) -> list[dict[str, Any]]:
    names = next(rows, (1, []))[1]
    if missing := {"proposal", "version", "decision"} - {*names}:
        lacking = ", ".join(sorted(missing))
        raise ArgumentError(f"{path} lacks the columns {lacking}: worlds proposals list --csv writes them")
    found: dict[int, dict[str, Any]] = {}
    for line, cells in rows:
        where = f"line {line} of {path}"
        row = dict(zip_longest(names, cells[: len(names)], fillvalue=""))
        told = row["decision"].strip().casefold()
        if not told:
            continue
        if told not in _DECISIONS:
            raise ArgumentError(f"{where}: a decision must be accept, reject or empty, not {row['decision']!r}")
        try:
            number, version = (int(row[name][:_DIGITS]) for name in ("proposal", "version"))
        except ValueError:
            raise ArgumentError(f"{where}: a proposal and its version must be numbers") from None
        if number in found:
            raise ArgumentError(f"{where}: proposal {number} is decided twice")
        why = unescaped(row.get("reason", "")) or None
        found[number] = {"proposal": number, "version": version, "decision": told, "why": why}
    return list(found.values())


def _carried_out(
    world: World, decisions: Iterable[dict[str, Any]], reviewer: str | None, *, force: bool, dry_run: bool
) -> Iterator[dict[str, Any]]:
    """Apply the decisions, a revision each, and yield each; a refused proposal (moved, changed, missing) stays."""
    for one in decisions:
        number, version = one["proposal"], one["version"]
        row: dict[str, Any] = {"proposal": number, "decision": one["decision"]}
        who = {"reviewer": reviewer, "why": one["why"]}
        try:
            if one["decision"] == "accept":
                change = world.proposals.accept(number, version=version, force=force, dry_run=dry_run, **who)
                row |= {"outcome": "accepted", "revision": None if dry_run else change.to_dict()["revision"]}
            else:
                waiting = world.proposals.get(number)
                if waiting.version != version or waiting.status != "open":
                    there = f"{waiting.status}, at version {waiting.version} now"
                    raise ConflictError(f"proposal {number} is {there}")
                if not dry_run:
                    world.proposals.reject(number, **who)
                row["outcome"] = "rejected"
        except (WorldsError, ArgumentError) as error:
            row |= {"outcome": "refused", "why": str(error)}
        yield row
