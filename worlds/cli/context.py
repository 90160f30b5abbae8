"""The command that tells what bears on a question: context."""

from __future__ import annotations

from typing import Annotated

import typer

from worlds.cli.options import Command, EmbedderName, Json, WorldPath, examples, opened
from worlds.cli.terminal import clean, note, output, write_json


def context(
    path: WorldPath,
    question: Annotated[list[str], typer.Argument(metavar="QUESTION...", help="The question.", show_default=False)],
    budget: Annotated[int, typer.Option("--budget", metavar="TOKENS", help="About how long the text may be.")] = 2000,
    hops: Annotated[int, typer.Option("--hops", help="How far facts may be from an entity: 0, 1 or 2.")] = 2,
    types: Annotated[
        list[str] | None, typer.Option("--type", "-t", metavar="IRI", help="Entities of this type; may be repeated.")
    ] = None,
    lang: Annotated[str | None, typer.Option("--lang", "-l", metavar="TAG", help="Labels in this language.")] = None,
    embedder: EmbedderName = "auto",
    json: Json = False,
) -> None:
    """Tell the facts and passages that bear on a question, for a language model, with numbers to cite them by."""
    with opened(path, embedder=embedder) as world:
        found = world.context(" ".join(question), budget=budget, hops=hops, types=types or None, language=lang)
    if json:
        write_json(found.to_dict())
        return
    for remark in found.notes:
        note(remark)
    output().print("\n".join(map(clean, found.text.split("\n"))), markup=False, highlight=False, soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        cls=Command,
        epilog=examples(
            "worlds context kb.db 'Who directed the films in which Brigitte Helm played?'",
            "worlds context kb.db 'What did Curiosity find?' --budget 500 --json | jq -r .text",
        ),
    )(context)
