"""The command of kept questions: questions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from worlds.cli.ask import read_stdin
from worlds.cli.command import command, document
from worlds.cli.errors import NO
from worlds.cli.options import AUTHOR, EMBEDDER, MESSAGE, given
from worlds.cli.show import print_answer
from worlds.cli.terminal import counted, output, waiting, write_json

if TYPE_CHECKING:
    from worlds.world import World


@command(
    None,
    given("[FILE]…", "Files and folders of questions to load: .rq files, and RDF.", name="sources"),
    given("--replace", "Put them in the place of all that are kept."),
    given("--format -f FORMAT", "turtle, nt, nq, trig, rdfxml or jsonld."),
    given("--add QUESTION", "Keep this question."),
    given("--query -q SPARQL", "The query of --add; - is standard input."),
    given("--description TEXT", "What there is to say of --add."),
    given("--remove QUESTION", "Keep a question no longer; also by its IRI."),
    given("--near QUESTION", "Show the questions nearest to this one."),
    given("--check", "Ask all queries anew, and tell which are broken."),
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
def questions(
    world: World,
    sources: list[str] | None,
    *,
    replace: bool,
    format: str | None,
    add: str | None,
    query: str | None,
    description: str | None,
    remove: str | None,
    near: str | None,
    check: bool,
    json: bool,
    **given: Any,
) -> Any:
    """List the questions that are kept with their queries, or change them.

    `context` and `brief` answer by the query of the same question, and show those that are near. The questions are the
    graph <urn:worlds:questions>, which is no text and in no union. Files are grlc's .rq files and SPARQL examples as
    the SIB has them; --format prints what is kept. With --check, the exit code is 1 if a question is broken.
    """
    chosen = [name for name, value in (("FILE", sources), ("--add", add), ("--remove", remove), ("--near", near),
                                       ("--check", check)) if value not in (None, False)]  # fmt: skip
    if len(chosen) > 1:
        raise ValueError(f"{chosen[0]} and {chosen[1]} are two commands")
    if (add is None) != (query is None) or (description and add is None):
        raise ValueError("--add needs --query, which with --description belongs to it")
    if replace and not sources:
        raise ValueError("--replace needs FILE")
    kept = world.questions
    if sources:
        with waiting("loading"):
            return kept.load(sources, format=format, mode="replace" if replace else "merge", **given)
    if add is not None and query is not None:
        return kept.add(add, read_stdin() if query == "-" else query, description=description, **given)
    if remove is not None:
        return kept.remove(remove, **given)
    if near is not None:
        return kept.near(near)
    if check:
        return _check(world, json=json)
    if json or not format:
        return kept.kept
    sys.stdout.write(kept.serialize(format))
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
