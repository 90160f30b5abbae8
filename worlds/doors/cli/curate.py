"""The commands that find what is wrong: report, contradictions, duplicates, suggest-links."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import NO, stopping
from worlds.doors.cli.options import AUTHOR, EMBEDDER, TARGET, given
from worlds.doors.cli.show import print_answer
from worlds.doors.cli.terminal import counted, json_text, note, print_text, waiting, write_document
from worlds.verbs.table import VERBS

if TYPE_CHECKING:
    from worlds.world import World

_SHOWN = 20  # findings of a kind, for people
_ALL = 10_000  # of each kind that are proposed, or told to programs
_CAUSES = 5  # that are told before the findings


def _finder(verb: str, *more: inspect.Parameter, **words: Any) -> Callable[[Callable[[], None]], None]:
    """Make the command of a verb that returns findings, which can be proposed, from its help."""

    def run(
        world: World, *, limit: int | None, propose: bool, author: str | None, json: bool, by: Any = None, **given: Any
    ) -> Any:
        if by is not None:
            given["author"] = by
        found = VERBS[verb].of(world)(limit=limit or (_ALL if json or propose else _SHOWN), **given)
        told = found.to_dict()
        if propose:
            with stopping("the proposals made so far are kept; run the same command again"):
                proposed = world.proposals.add_all(found, author=author)
            told["proposed"] = [one.id for one in proposed]
            found = found[: limit or _SHOWN]
        if json:
            return told
        if hidden := sum(told["counts"].values()) - len(found):
            note(f"and {hidden:,} more: --limit shows more, --json all")
        if propose:
            note(_proposed(told["proposed"], bool(found)))
        shown = [{**one, "said by": _authors(one["quads"])} for one in told["findings"][: len(found)]]
        return {"causes": told["causes"][:_CAUSES], "findings": shown}

    limit = f"The number of findings of each kind at most; by default {_SHOWN}, and all with --json."
    propose = "Propose the remedy of each finding; see `worlds proposals list`."
    more = (*more, given("--limit -n N", limit, int, min=1), given("--propose", propose), AUTHOR)

    def decorate(function: Callable[[], None]) -> None:
        run.__doc__ = function.__doc__
        command(verb, *more, writes="propose", **words)(run)

    return decorate


def _authors(quads: list[dict[str, Any]]) -> list[str]:
    """The revisions that said the quads of a finding, and their authors."""
    said = sorted({(quad["revision"], quad["author"] or "") for quad in quads if quad["revision"] is not None})
    return [f"{revision} {author}".strip() for revision, author in said]


def _proposed(numbers: list[int], found: bool) -> str:
    if not numbers:
        return "no new proposals" + (": all findings are open already, or need a manual repair" if found else "")
    between = f": {numbers[0]} to {numbers[-1]}" if len(numbers) > 1 else ""
    return f"{counted(len(numbers), 'proposal')} made{between}"


@_finder(
    "curation.contradictions",
    given("--by NAME", VERBS["curation.contradictions"].options["author"].help),
    waiting="reading",
    fails=lambda told: any(one["severity"] == "error" for one in told.get("findings", ())),
)
def contradictions() -> None:
    """The exit code is 1 if a declaration is contradicted.

    $ worlds curate contradictions kb.db
    $ worlds curate contradictions kb.db --kind functional --by ann
    """


_BETWEEN = VERBS["curation.duplicates"].options["between"].help


@_finder("curation.duplicates", given("--between GRAPH GRAPH", _BETWEEN, tuple[str, str]), waiting="comparing")
def duplicates() -> None:
    """The likeliest come first.

    $ worlds curate duplicates kb.db --type ex:Person
    $ worlds curate duplicates kb.db --between default ex:new
    """


@_finder("curation.links", waiting="reading")
def links() -> None:
    """The surest come first.

    $ worlds curate links kb.db --type ex:Person
    """


@command("curation.link_texts", EMBEDDER, waiting="reading", nothing="nothing changed: the texts are linked already")
def link_texts() -> None:
    """`worlds policy kb.db mentions=true` keeps the links in step with writes.

    $ worlds curate link-texts kb.db
    $ worlds curate link-texts kb.db --type ex:Person --propose
    """


_POINTS = VERBS["curation.report"].options["points"].help.removesuffix(".")
_FORMATS = Literal["table", "json", "markdown", "html"]
_DRAWN = 10  # points of a page


@command(
    "curation.report",
    given("--points NUMBER", f"{_POINTS}; by default {_DRAWN} in a page of HTML.", int, min=0, max=100),
    given("--fail-on", "Exit with 1 from this level on.", Literal["error", "warning", "info", "never"], "error"),
    given("--format -f", "The format.", _FORMATS, "table"),
    TARGET,
)
def report(world: World, asked: Any) -> None:
    """Each count comes with examples and a query that gives all. The exit code is 1 if something so grave is found.

    $ worlds curate report kb.db --fail-on warning --after 12
    $ worlds curate report kb.db -f html -o report.html
    """
    drawn = _DRAWN if asked.format == "html" else 0
    with waiting("reading"):
        found = world.curation.report(points=drawn if asked.points is None else asked.points, after=asked.after)
    made = {
        "json": lambda: json_text(found.to_dict()),
        "html": lambda: found.to_html(Path(asked.path).stem),
        "markdown": lambda: found.to_markdown(Path(asked.path).stem),
        "table": lambda: f"{found}\n",
    }
    format = "json" if asked.json else asked.format
    if format != "table" or asked.target is not None:
        write_document(made[format](), asked.target)
    else:
        for cause in found.causes[:_CAUSES]:
            print_text(cause.message, "bold")
        rows = [
            {"level": one.level, "count": one.count, "new": one.new, "what": one.title, "examples": list(one.examples)}
            for one in found
            if one.count
        ]
        print_answer(rows or "nothing was found", world.prefixes)
    if found.fails(asked.fail_on):
        raise typer.Exit(NO)
