"""Proposals as a table to decide in, and back: `worlds proposals list --csv` and `worlds proposals decide`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from worlds.doors.cli.terminal import read_text
from worlds.errors import ArgumentError, ConflictError, ParseError, WorldsError
from worlds.graph.cells import cell, records, unescaped

if TYPE_CHECKING:
    from worlds.extras.curation.changing.proposals import Proposal
    from worlds.world import World

COLUMNS = (
    *("proposal", "version", "kind", "score", "confidence", "author"),
    *("why", "change", "moved", "decision", "reason"),
)
DECISIONS = ("accept", "reject")
_DIGITS = 18  # of a number; there is no proposal of more


class DecisionRow(NamedTuple):
    """A row of the table: the decision on a version of a proposal, with its reason."""

    proposal: int
    version: int
    decision: str
    reason: str | None


def as_table(proposals: Iterable[Proposal], prefixes: Mapping[str, str]) -> str:
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


def read_table(path: Path) -> list[DecisionRow]:
    """The rows that decide something; OpenError for a file that cannot be read, ArgumentError for one that is none."""
    text = read_text(path)
    head = text.partition("\n")[0]
    mark = ";" if ";" in head and "," not in head else ","
    try:
        return _decisions(records(io.StringIO(text, newline=""), str(path), delimiter=mark), path)
    except ParseError as error:
        raise ArgumentError(str(error)) from error


def _decisions(rows: Iterator[tuple[int, list[str]]], path: Path) -> list[DecisionRow]:
    names = next(rows, (1, []))[1]
    if missing := {"proposal", "version", "decision"} - {*names}:
        lacking = ", ".join(sorted(missing))
        raise ArgumentError(f"{path} lacks the columns {lacking}: worlds proposals list --csv writes them")
    found: dict[int, DecisionRow] = {}
    for line, cells in rows:
        where = f"line {line} of {path}"
        row = dict(zip_longest(names, cells[: len(names)], fillvalue=""))
        told = row["decision"].strip().casefold()
        if not told:
            continue
        if told not in DECISIONS:
            raise ArgumentError(f"{where}: a decision must be accept, reject or empty, not {row['decision']!r}")
        try:
            number, version = (int(row[name][:_DIGITS]) for name in ("proposal", "version"))
        except ValueError:
            raise ArgumentError(f"{where}: a proposal and its version must be numbers") from None
        if number in found:
            raise ArgumentError(f"{where}: proposal {number} is decided twice")
        found[number] = DecisionRow(number, version, told, unescaped(row.get("reason", "")) or None)
    return list(found.values())


def decide(
    world: World, decisions: Iterable[DecisionRow], *, reviewer: str | None, force: bool, dry_run: bool
) -> Iterator[dict[str, Any]]:
    """Apply the decisions, a revision each, and yield each; a refused proposal (moved, changed, missing) stays."""
    for one in decisions:
        row: dict[str, Any] = {"proposal": one.proposal, "decision": one.decision}
        who = {"reviewer": reviewer, "why": one.reason}
        try:
            if one.decision == "accept":
                change = world.proposals.accept(one.proposal, version=one.version, force=force, dry_run=dry_run, **who)
                row |= {"outcome": "accepted", "revision": None if dry_run else change.to_dict()["revision"]}
            else:
                waiting = world.proposals.get(one.proposal)
                if waiting.version != one.version or waiting.status != "open":
                    there = f"{waiting.status}, at version {waiting.version} now"
                    raise ConflictError(f"proposal {one.proposal} is {there}")
                if not dry_run:
                    world.proposals.reject(one.proposal, **who)
                row["outcome"] = "rejected"
        except (WorldsError, ArgumentError) as error:
            row |= {"outcome": "refused", "why": str(error)}
        yield row
