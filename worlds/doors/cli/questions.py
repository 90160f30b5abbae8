"""The commands of kept questions: questions list, load, add, remove, near, check."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from worlds.doors.cli.ask import read_stdin
from worlds.doors.cli.command import command, verbs_own
from worlds.doors.cli.options import AUTHOR, EMBEDDER, MESSAGE, given

if TYPE_CHECKING:
    from worlds.world import World

_FORMAT = given("--format -f FORMAT", "turtle, nt, nq, trig, rdfxml or jsonld.")


@command(
    None,
    _FORMAT,
    name="questions list",
    empty="no questions are kept: `worlds questions add WORLD QUESTION SPARQL` keeps one",
    examples=("worlds questions list kb.db", "worlds questions list kb.db --format turtle"),
)
def listed(world: World, *, format: str | None, json: bool) -> Any:
    """List the questions that are kept with their queries, or print them as RDF.

    `context` and `questions brief` answer by the query of the same question, and show those that are near. The
    questions are the graph <urn:worlds:questions>, which is no text and in no union.
    """
    if json or not format:
        return world.questions.kept
    sys.stdout.write(world.questions.serialize(format))
    return None


@command(
    None,
    given("FILE...", "Files and folders of questions: .rq files, and RDF.", name="sources"),
    given("--replace", "Replace all kept questions."),
    *(_FORMAT, AUTHOR, MESSAGE),
    name="questions load",
    writes=True,
    waiting="loading",
    examples=("worlds questions load kb.db examples/",),
)
def load(world: World, sources: list[str], *, replace: bool, **given: Any) -> Any:
    """Keep the questions of files: grlc's .rq files, and SPARQL examples as the SIB has them."""
    return world.questions.load(sources, mode="replace" if replace else "merge", **given)


@command(
    None,
    given("QUESTION", "The question."),
    given("SPARQL", "Its query; - is standard input.", name="query"),
    given("--description TEXT", "A description of the question."),
    *(AUTHOR, MESSAGE),
    name="questions add",
    writes=True,
    examples=("worlds questions add kb.db 'Who works at Acme?' 'SELECT ?p { ?p ex:worksAt ex:acme }'",),
)
def add(world: World, question: str, query: str, **given: Any) -> Any:
    """Keep a question with its query."""
    return world.questions.add(question, read_stdin() if query == "-" else query, **given)


verbs_own(
    "questions.remove",
    given("QUESTION", "The question, by its text or its IRI."),
    *(AUTHOR, MESSAGE),
    writes=True,
    help="Remove a kept question.",
    examples=("worlds questions remove kb.db 'Who works at Acme?'",),
)
verbs_own(
    "questions.near",
    given("QUESTION", "A question."),
    EMBEDDER,
    help="Show the kept questions nearest to a question.",
    empty="no questions are kept",
    examples=("worlds questions near kb.db 'staff of Acme'",),
)
verbs_own(
    "questions.check",
    help="Run the queries of all kept questions, and list the broken ones. The exit code is 1 if there are any.",
    waiting="asking",
    empty="none is broken",
    fails=bool,
    examples=("worlds questions check kb.db",),
)
