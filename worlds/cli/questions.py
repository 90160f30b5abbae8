"""The command of kept questions: questions."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from worlds.cli import show
from worlds.cli.errors import NO
from worlds.cli.options import Author, Command, EmbedderName, Json, Message, WorldPath, examples, opened
from worlds.cli.terminal import counted, note, output, waiting, write_json
from worlds.cli.write import report

if TYPE_CHECKING:
    from worlds.world import World


def questions(
    path: WorldPath,
    sources: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]…", help="Files and folders of questions to load: .rq files, and RDF."),
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Put them in the place of all that are kept.")] = False,
    format: Annotated[
        str | None, typer.Option("--format", "-f", metavar="FORMAT", help="turtle, nt, nq, trig, rdfxml or jsonld.")
    ] = None,
    add: Annotated[str | None, typer.Option("--add", metavar="QUESTION", help="Keep this question.")] = None,
    query: Annotated[
        str | None, typer.Option("--query", "-q", metavar="SPARQL", help="The query of --add; - is standard input.")
    ] = None,
    description: Annotated[
        str | None, typer.Option("--description", metavar="TEXT", help="What there is to say of --add.")
    ] = None,
    remove: Annotated[
        str | None, typer.Option("--remove", metavar="QUESTION", help="Keep a question no longer; also by its IRI.")
    ] = None,
    near: Annotated[
        str | None, typer.Option("--near", metavar="QUESTION", help="Show the questions nearest to this one.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Ask all queries anew, and tell which are broken.")] = False,
    author: Author = None,
    message: Message = None,
    embedder: EmbedderName = "auto",
    json: Json = False,
) -> None:
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
    began = time.perf_counter()
    change: Any = None
    given = {"author": author, "message": message}
    write = bool(sources) or add is not None or remove is not None
    with opened(path, write=write, embedder="none" if near is None else embedder) as world:
        if sources:
            with waiting("loading"):
                change = world.questions.load(sources, format=format, mode="replace" if replace else "merge", **given)
        elif add is not None and query is not None:
            text = sys.stdin.read() if query == "-" else query
            change = world.questions.add(add, text, description=description, **given)
        elif remove is not None:
            change = world.questions.remove(remove, **given)
        if change is not None:
            report(world, change, time.perf_counter() - began, as_json=json)
        elif check:
            _check(world, json=json)
        elif near is not None:
            _near(world, near, json=json)
        else:
            _list(world, format, json=json)


def _list(world: World, format: str | None, *, json: bool) -> None:
    kept = world.questions.kept
    if json:
        write_json([one.to_dict() for one in kept])
    elif format:
        sys.stdout.write(world.questions.serialize(format))
    elif kept:
        show.print_table(output(), ["question", "query"], [(one.question, _line(one.query)) for one in kept])
    else:
        note("no questions are kept: `worlds questions WORLD --add QUESTION --query SPARQL` keeps one")


def _near(world: World, question: str, *, json: bool) -> None:
    found = world.questions.near(question)
    if json:
        write_json([one.to_dict() for one in found])
        return
    rows = [
        (f"{one.score:.2f}", one.question, "; ".join(f"{part.words} → {part.asked or '?'}" for part in one.differs),
         _line(one.adapted or one.query))
        for one in found
    ]  # fmt: skip
    show.print_table(output(), ["near", "question", "differs", "query"], rows)


def _check(world: World, *, json: bool) -> None:
    with waiting("asking"):
        broken = world.questions.check()
    if json:
        write_json([one.to_dict() for one in broken])
    elif broken:
        rows = [(one.trouble, one.question, one.why, _line(one.repair or "")) for one in broken]
        show.print_table(output(), ["trouble", "question", "why", "nearest query that finds something"], rows)
    else:
        output().print(f"{counted(len(world.questions), 'question')}, none broken")
    if broken:
        raise typer.Exit(NO)


def _line(query: str) -> str:
    """A query in a line, without what declares prefixes."""
    return " ".join(line for line in query.splitlines() if not line.upper().startswith("PREFIX ")).strip()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        cls=Command,
        epilog=examples(
            "worlds questions kb.db --add 'Who works at Acme?' --query 'SELECT ?p { ?p ex:worksAt ex:acme }'",
            "worlds questions kb.db examples/",
            "worlds questions kb.db --near 'staff of Acme'",
            "worlds questions kb.db --check",
        ),
    )(questions)
