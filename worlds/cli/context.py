"""The commands that tell what bears on a question: context, brief."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from worlds.cli.options import AsOf, At, Command, EmbedderName, Json, WorldPath, examples, of_verb, opened
from worlds.cli.terminal import clean, note, output, write_json


@of_verb("context")
def context(
    path: WorldPath,
    question: Annotated[list[str], typer.Argument(metavar="QUESTION...", help="The question.", show_default=False)],
    *,
    embedder: EmbedderName = "auto",
    json: Json = False,
    at: At = None,
    as_of: AsOf = None,
    **given: Any,
) -> None:
    """The text is made for a language model, which cites facts by their numbers."""
    with opened(path, embedder=embedder, at=at, as_of=as_of) as world:
        found = world.context(" ".join(question), **given)
    if json:
        write_json(found.to_dict())
        return
    for remark in found.notes:
        note(remark)
    output().print("\n".join(map(clean, found.text.split("\n"))), markup=False, highlight=False, soft_wrap=True)


@of_verb("brief")
def brief(
    path: WorldPath,
    question: Annotated[list[str], typer.Argument(metavar="QUESTION...", help="The question.", show_default=False)],
    *,
    embedder: EmbedderName = "auto",
    json: Json = False,
    at: At = None,
    as_of: AsOf = None,
    **given: Any,
) -> None:
    """The text is made for a language model that writes SPARQL."""
    with opened(path, embedder=embedder, at=at, as_of=as_of) as world:
        found = world.brief(" ".join(question), **given)
    if json:
        write_json(found.to_dict())
        return
    output().print("\n".join(map(clean, found.text.split("\n"))), markup=False, highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        cls=Command,
        epilog=examples(
            "worlds context kb.db 'Who directed the films in which Brigitte Helm played?'",
            "worlds context kb.db 'What did Curiosity find?' --budget 500 --json | jq -r .text",
        ),
    )(context)
    app.command(
        cls=Command,
        epilog=examples("worlds brief kb.db 'How many films did Fritz Lang direct?' --budget 1000"),
    )(brief)
