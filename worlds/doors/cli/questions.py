"""The command of kept questions: questions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from worlds.doors.cli.ask import read_stdin
from worlds.doors.cli.command import command, document
from worlds.doors.cli.exit_codes import NO
from worlds.doors.cli.options import AUTHOR, EMBEDDER, MESSAGE, given
from worlds.doors.cli.show import print_answer
from worlds.doors.cli.terminal import counted, output, waiting, write_json

if TYPE_CHECKING:
    from worlds.world import World


@command(
    None,
    given("[FILE]…", "Files and folders of questions to load: .rq files, and RDF.", name="sources"),
    given("--replace", "Replace all kept questions."),
    given("--format -f FORMAT", "turtle, nt, nq, trig, rdfxml or jsonld."),
    given("--add QUESTION", "Keep this question."),
    given("--query -q SPARQL", "The query of --add; - is standard input."),
    given("--description TEXT", "A description of the question of --add."),
    given("--remove QUESTION", "Remove a kept question, by its text or its IRI."),
    given("--near QUESTION", "Show the questions nearest to this one."),
    given("--check", "Run all queries again, and list the broken ones."),
    *(AUTHOR, MESSAGE, EMBEDDER),
    writes="sources add remove",
    empty="no such questions are kept: `worlds questions WORLD --add QUESTION --query SPARQL` keeps one",
    embedder=lambda given: "none" if given["near"] is None else given["embedder"],
    examples=(
        "worlds questions kb.db --add 'Who works at Acme?' --query 'SELECT ?p { ?p ex:worksAt ex:acme }'",
        "worlds questions kb.db examples/",
        "worlds questions kb.db --near 'staff of Acme'",
        "worlds questions kb.db --check",
    ),
)
def questions(world: World, asked: Any) -> Any:
    """List the questions that are kept with their queries, or change them.

    `context` and `brief` answer by the query of the same question, and show those that are near. The questions are the
    graph <urn:worlds:questions>, which is no text and in no union. Files are grlc's .rq files and SPARQL examples as
    the SIB has them; --format prints what is kept. With --check, the exit code is 1 if a question is broken.
    """
    several = {"FILE": "sources", "--add": "add", "--remove": "remove", "--near": "near", "--check": "check"}
    chosen = [name for name, option in several.items() if getattr(asked, option) not in (None, False)]
    if len(chosen) > 1:
        raise ValueError(f"use {chosen[0]} or {chosen[1]}, not both")
    if (asked.add is None) != (asked.query is None) or (asked.description and asked.add is None):
        raise ValueError("--add needs --query; --query and --description need --add")
    if asked.replace and not asked.sources:
        raise ValueError("--replace needs FILE")
    kept, said = world.questions, {"author": asked.author, "message": asked.message}
    if asked.sources:
        with waiting("loading"):
            mode: Any = "replace" if asked.replace else "merge"
            return kept.load(asked.sources, format=asked.format, mode=mode, **said)
    if asked.add is not None and asked.query is not None:
        query = read_stdin() if asked.query == "-" else asked.query
        return kept.add(asked.add, query, description=asked.description, **said)
    if asked.remove is not None:
        return kept.remove(asked.remove, **said)
    if asked.near is not None:
        return kept.near(asked.near)
    if asked.check:
        return _check(world, json=asked.json)
    if asked.json or not asked.format:
        return kept.kept
    sys.stdout.write(kept.serialize(asked.format))
    return None


def _check(world: World, *, json: bool) -> None:
    with waiting("asking"):
        broken = world.questions.check()
    if json:
        write_json(document(broken))
    elif broken:
        print_answer(output(), document(broken), world.prefixes)
    else:
        output().print(f"{counted(len(world.questions), 'question')}, none broken")
    if broken:
        raise typer.Exit(NO)
