"""The commands of kept questions: questions list, load, add, remove, near, check."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from worlds.doors.cli.ask import read_stdin
from worlds.doors.cli.command import command
from worlds.doors.cli.options import AUTHOR, EMBEDDER, MESSAGE, given

if TYPE_CHECKING:
    from worlds.world import World

_FORMAT = given("--format -f FORMAT", "turtle, nt, nq, trig, rdfxml or jsonld.")


@command(
    "questions.list", _FORMAT, empty="no questions are kept: `worlds questions add WORLD QUESTION SPARQL` keeps one"
)
def listed(world: World, *, format: str | None, json: bool) -> Any:
    """List the questions that are kept with their queries, or print them as RDF.

    `context` and `questions brief` answer by the query of the same question, and show those that are near. The
    questions are the graph <urn:worlds:questions>, which is no text and in no union.

    $ worlds questions list kb.db
    $ worlds questions list kb.db --format turtle
    """
    if json or not format:
        return world.questions.kept
    sys.stdout.write(world.questions.serialize(format))
    return None


@command(
    "questions.load",
    given("FILE...", "Files and folders of questions: .rq files, and RDF.", name="sources"),
    given("--replace", "Replace all kept questions."),
    *(_FORMAT, AUTHOR, MESSAGE),
    writes=True,
    waiting="loading",
)
def load(world: World, sources: list[str], *, replace: bool, **given: Any) -> Any:
    """Keep the questions of files: grlc's .rq files, and SPARQL examples as the SIB has them.

    $ worlds questions load kb.db examples/
    """
    return world.questions.load(sources, mode="replace" if replace else "merge", **given)


@command(
    "questions.add",
    given("QUESTION", "The question."),
    given("SPARQL", "Its query; - is standard input.", name="query"),
    given("--description TEXT", "A description of the question."),
    *(AUTHOR, MESSAGE),
    writes=True,
)
def add(world: World, question: str, query: str, **given: Any) -> Any:
    """Keep a question with its query.

    $ worlds questions add kb.db 'Who works at Acme?' 'SELECT ?p { ?p ex:worksAt ex:acme }'
    """
    return world.questions.add(question, read_stdin() if query == "-" else query, **given)


@command(
    "questions.remove", given("QUESTION", "The question, by its text or its IRI."), *(AUTHOR, MESSAGE), writes=True
)
def remove() -> None:
    """Remove a kept question.

    $ worlds questions remove kb.db 'Who works at Acme?'
    """


@command("questions.near", given("QUESTION", "A question."), EMBEDDER, empty="no questions are kept")
def near() -> None:
    """Show the kept questions nearest to a question.

    $ worlds questions near kb.db 'staff of Acme'
    """


@command("questions.check", waiting="asking", empty="none is broken", fails=bool)
def check() -> None:
    """Run the queries of all kept questions, and list the broken ones. The exit code is 1 if there are any.

    $ worlds questions check kb.db
    """
