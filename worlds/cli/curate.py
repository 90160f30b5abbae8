"""The commands that find what is wrong: report, contradictions, duplicates, distinct, decisions, evaluate,
suggest-shapes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from worlds.cli import show
from worlds.cli.errors import NO, Interrupted
from worlds.cli.options import Author, Command, Json, WorldPath, examples, of_verb, opened
from worlds.cli.terminal import clean, counted, note, output, waiting, write_json, write_utf8
from worlds.cli.write import report as report_write
from worlds.verbs.table import VERBS

if TYPE_CHECKING:
    from worlds.curation.changing.proposals import Proposal
    from worlds.curation.duplicates.finder import Duplicate
    from worlds.curation.findings.drafted import ShapeSuggestion
    from worlds.curation.findings.findings import Finding, Findings
    from worlds.world import World

SHOWN = 20  # findings of a kind, for people
_CAUSES = 5  # that are told before the findings
_iris = re.compile(r"<([^<>\s]*)>").sub

Propose = Annotated[
    bool, typer.Option("--propose", help="Propose what would put each finding right; see `worlds proposals`.")
]
By = Annotated[str | None, typer.Option("--by", help=VERBS["contradictions"].options["author"].help)]
Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        "-n",
        min=1,
        help=f"The number of findings of each kind at most; by default {SHOWN}, and all with --json.",
    ),
]


@of_verb("contradictions")
def contradictions(
    path: WorldPath,
    *,
    limit: Limit = None,
    propose: Propose = False,
    by: By = None,
    author: Author = None,
    json: Json = False,
    **given: Any,
) -> None:
    """The exit code is 1 if what is declared is contradicted."""
    with opened(path, write=propose) as world:
        with waiting("reading"):
            found = world.contradictions(author=by, limit=limit or (None if json or propose else SHOWN), **given)
        proposed = propose_all(world, found, author) if propose else None
        prefixes = world.prefixes
    if not json:
        for cause in found.causes[:_CAUSES]:
            output().print(Text(clean(cause.message), style="bold"), soft_wrap=True)
            for message in cause.findings:
                output().print(Text(f"  {clean(message)}"), soft_wrap=True)
    print_findings(found, limit, json=json, proposed=proposed, prefixes=prefixes)
    if any(one.severity == "error" for one in found):
        raise typer.Exit(NO)


def propose_all(world: World, found: Findings[Any], author: str | None) -> list[Proposal]:
    """Propose what would put findings right; those that an interrupt leaves are proposed by the next run."""
    try:
        return world.propose_all(found, author=author)
    except KeyboardInterrupt as interrupt:
        state = "what was proposed before waits; the same command can be run again"
        raise Interrupted(state) from interrupt


def print_findings(
    found: Findings[Any],
    limit: int | None = None,
    *,
    json: bool,
    proposed: list[Proposal] | None,
    prefixes: Mapping[str, str],
    head: tuple[str, ...] = ("severity", "kind", "message", "said by"),
    row: Callable[[Any], tuple[str, ...]] | None = None,
) -> None:
    """The findings, as JSON, or as a table of `limit`, and what was proposed, where that was asked for."""
    if json:
        told: dict[str, object] = found.to_dict()
        write_json(told if proposed is None else {**told, "proposed": [one.id for one in proposed]})
        return
    if not found:
        output().print("nothing was found")
    else:
        shown = found[: limit or SHOWN] if proposed is not None else found
        rows = [(row or _row)(one) for one in shown]
        show.print_table(output(), head, [tuple(named(cell, prefixes) for cell in cells) for cells in rows])
    hidden = sum(found.counts.values()) - len(found[: limit or SHOWN] if proposed is not None else found)
    if hidden:
        note(f"and {hidden:,} more: --limit shows more, --json all")
    if proposed is not None:
        numbers = f": {proposed[0].id} to {proposed[-1].id}" if len(proposed) > 1 else ""
        nothing = "nothing is proposed" + (
            ": what was found waits already, or is for people to repair" if found else ""
        )
        note(f"{counted(len(proposed), 'proposal')} made{numbers}" if proposed else nothing)


def named(text: str, prefixes: Mapping[str, str]) -> str:
    """A text with prefixed names in the place of the IRIs in it."""
    from worlds.graph.terms import shorten

    return _iris(lambda iri: shorten(iri[1], prefixes), text)


def _row(one: Finding) -> tuple[str, ...]:
    return one.severity, one.kind, clean(one.message), _by(one)


def _by(one: Finding) -> str:
    entries = {said.added.revision: said.added for said in one.quads if said.added is not None}
    told = [f"{number} {clean(entry.author or '')}".strip() for number, entry in sorted(entries.items())]
    return ", ".join(told[:3]) + (", …" if len(told) > 3 else "")


@of_verb("duplicates")
def duplicates(
    path: WorldPath,
    *,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option("--between", metavar="GRAPH GRAPH", help=VERBS["duplicates"].options["between"].help),
    ] = None,
    limit: Limit = None,
    propose: Propose = False,
    author: Author = None,
    json: Json = False,
    **given: Any,
) -> None:
    """The likeliest come first."""
    from worlds.graph.terms import format_term, to_oxigraph

    with opened(path, write=propose) as world:
        with waiting("comparing"):
            found = world.duplicates(between=between, limit=limit or (None if json or propose else SHOWN), **given)
        proposed = propose_all(world, found, author) if propose else None
        prefixes = world.prefixes
        entities = () if json else {iri for one in found[: limit or SHOWN] for iri in one.subjects}
        labels = {iri: world.describe(iri, limit=1).label or "" for iri in entities}

    def row(one: Duplicate) -> tuple[str, ...]:
        named = (f"{labels[iri]} {format_term(to_oxigraph(iri), prefixes)}".strip() for iri in one.subjects)
        reasons = ("; ".join(told) for told in (one.evidence, one.against))
        return (f"{one.score:.2f}", *map(clean, (*named, *reasons)))

    head = ("probability", "one", "other", "for", "against")
    print_findings(found, limit, json=json, proposed=proposed, prefixes=prefixes, head=head, row=row)


@of_verb("decisions")
def decisions(path: WorldPath, *, json: Json = False) -> None:
    """Decided proposals to merge, merges, and what `worlds distinct` keeps apart; the oldest come first."""
    with opened(path) as world:
        found, prefixes = world.decisions(), world.prefixes
    if json:
        write_json([one.to_dict() for one in found])
        return
    if not found:
        output().print("nothing was decided")
        return
    rows = [
        (
            "one" if one.same else "two",
            *(named(f"<{iri}>", prefixes) for iri in one.entities),
            one.how,
            "" if one.confidence is None else f"{one.confidence:.2f}",
            clean(one.author or ""),
        )
        for one in found
    ]
    show.print_table(output(), ("decision", "one", "other", "how", "probability", "by"), rows)


@of_verb("evaluate")
def evaluate(
    path: WorldPath,
    truth: Annotated[
        Path | None,
        typer.Argument(metavar="[TRUTH]", help="A CSV or TSV file of what is known; by default the decided proposals."),
    ] = None,
    *,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option("--between", metavar="GRAPH GRAPH", help=VERBS["evaluate"].options["between"].help),
    ] = None,
    page: Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with pictures.")] = None,
    json: Json = False,
    **given: Any,
) -> None:
    """A row is two entities, a link, a name and its entity, or a text and an entity, and maybe yes or no."""
    with opened(path) as world, waiting("comparing"):
        found = world.evaluate(truth, between=between, **given)
    if page is not None:
        page.write_text(found.to_html(Path(path).stem), encoding="utf-8")
    if json:
        write_json(found.to_dict())
        return

    def told(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    rows = [(f"{one.minimum:g}", f"{one.found:,}", told(one.precision), told(one.recall)) for one in found.thresholds]
    show.print_table(output(), ("from", "found", "precision", "recall"), rows)
    rows = [
        (f"{one.low:.1f} to {one.high:.1f}", f"{one.cases:,}", told(one.promised), told(one.held)) for one in found.bins
    ]
    show.print_table(output(), ("probability", "cases", "promised", "held"), rows)
    output().print(f"{found.truths:,} to be found; calibration error {told(found.error)}")


@of_verb("suggest_shapes")
def suggest_shapes(
    path: WorldPath,
    *,
    limit: Limit = None,
    format: Annotated[
        str, typer.Option("--format", "-f", metavar="FORMAT", help="table, json or turtle (a draft of the shapes).")
    ] = "table",
    propose: Propose = False,
    author: Author = None,
    json: Json = False,
    **given: Any,
) -> None:
    """Axioms come first; --propose proposes these."""
    if format not in ("table", "json", "turtle"):
        raise ValueError(f"--format is one of table, json, turtle, not {format!r}")
    json = json or format == "json"
    with opened(path, write=propose) as world:
        with waiting("reading"):
            every = json or propose or format == "turtle"
            found = world.suggest_shapes(limit=limit or (None if every else SHOWN), **given)
        proposed = propose_all(world, found, author) if propose else None
        prefixes = world.prefixes
    if format == "turtle":
        write_utf8(found.turtle)
        return

    def row(one: ShapeSuggestion) -> tuple[str, ...]:
        return one.kind, clean(one.message), f"{one.exceptions:,}", f"{one.revisions:,}"

    head = ("kind", "what the data keep", "exceptions", "revisions")
    print_findings(found, limit, json=json, proposed=proposed, prefixes=prefixes, head=head, row=row)


@of_verb("distinct")
def distinct(path: WorldPath, *, json: Json = False, **given: Any) -> None:
    """It is kept as an owl:differentFrom."""
    start = time.perf_counter()
    with opened(path, write=True) as world:
        change = world.distinct(**given)
        report_write(world, change, time.perf_counter() - start, as_json=json)


_FORMATS = ("table", "json", "markdown", "html")
_LEVELS = ("error", "warning", "info", "never")
_DRAWN = 10  # points of a page
_POINTS = f"{VERBS['report'].options['points'].help[:-1]}; by default {_DRAWN} in a page of HTML."


@of_verb("report")
def report(
    path: WorldPath,
    *,
    points: Annotated[
        int | None,
        typer.Option("--points", metavar="NUMBER", min=0, max=100, help=_POINTS),
    ] = None,
    fail_on: Annotated[
        str, typer.Option("--fail-on", metavar="LEVEL", help=f"Exit with 1 from this level on: {', '.join(_LEVELS)}.")
    ] = "error",
    format: Annotated[str, typer.Option("--format", "-f", metavar="FORMAT", help=f"{', '.join(_FORMATS)}.")] = "table",
    target: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to this file instead.")
    ] = None,
    json: Json = False,
    **given: Any,
) -> None:
    """Each count comes with examples and a query that gives all. The exit code is 1 if something so grave is found."""
    for what, chosen, known in (("--fail-on", fail_on, _LEVELS), ("--format", format, _FORMATS)):
        if chosen not in known:
            raise ValueError(f"{what} is one of {', '.join(known)}, not {chosen!r}")
    with opened(path) as world, waiting("reading"):
        found = world.report(points=points if points is not None else _DRAWN if format == "html" else 0, **given)
    if json or format == "json":
        text = dumps(found.to_dict(), ensure_ascii=False, indent=2) + "\n"
    elif format == "table":
        text = f"{found}\n"
    else:
        name = Path(path).stem
        text = found.to_markdown(name) if format == "markdown" else found.to_html(name)
    if target is not None:
        target.write_text(text, encoding="utf-8")
    elif format == "table" and not json:
        after = given["after"] is not None
        rows = [
            (one.level, f"{one.count:,}", *(["" if one.new is None else f"{one.new:,}"] if after else []), one.title,
             clean("; ".join(one.examples)))
            for one in found
            if one.count
        ]  # fmt: skip
        for cause in found.causes[:_CAUSES]:
            output().print(Text(clean(cause.message), style="bold"), soft_wrap=True)
        if rows:
            show.print_table(output(), ("level", "count", *(["new"] if after else []), "what", "examples"), rows)
        else:
            output().print("nothing was found")
    else:
        write_utf8(text)
    if found.fails(fail_on):
        raise typer.Exit(NO)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command, lines in (
        (report, ("worlds report kb.db --fail-on warning --after 12", "worlds report kb.db -f html -o report.html")),
        (
            contradictions,
            ("worlds contradictions kb.db", "worlds contradictions kb.db --kind functional --by ann"),
        ),
        (
            duplicates,
            ("worlds duplicates kb.db --type ex:Person", "worlds duplicates kb.db --between default ex:new"),
        ),
        (decisions, ("worlds decisions kb.db --json",)),
        (
            evaluate,
            (
                "worlds evaluate kb.db truth.csv --between default ex:new",
                "worlds evaluate kb.db --html evaluation.html",
            ),
        ),
        (
            suggest_shapes,
            ("worlds suggest-shapes kb.db --type ex:Person", "worlds suggest-shapes kb.db -f turtle > shapes.ttl"),
        ),
        (distinct, ("worlds distinct kb.db ex:paris ex:paris-texas --author ann",)),
    ):
        app.command(command.__name__.replace("_", "-"), cls=Command, epilog=examples(*lines))(command)
