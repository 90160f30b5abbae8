"""The commands about texts and claims: mentions, verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from worlds.cli.ask import read_stdin
from worlds.cli.command import command
from worlds.cli.options import given

if TYPE_CHECKING:
    from worlds.world import World


@command(
    "mentions",
    given("TEXT", "A text, a document's IRI, or '-' for standard input."),
    examples=("worlds mentions kb.db 'Fritz Lang shot Metropolis in Babelsberg'",),
)
def mentions(world: World, text: str, **given: Any) -> Any:
    """Positions are counted in characters."""
    return world.mentions(read_stdin("a text") if text == "-" else text, **given)


@command(
    "verify",
    given(
        "SUBJECT PREDICATE OBJECT | WORDS",
        "A triple, of IRIs, prefixed names or names; or words, for which passages are found.",
        list[str],
        name="claim",
    ),
    embedder=lambda given: "auto" if len(given["claim"]) == 1 else "none",
    fails=lambda found: found.outcome != "supported",
    examples=("worlds verify kb.db ex:metropolis ex:director ex:fritz-lang",),
)
def verify(world: World, claim: list[str], **given: Any) -> Any:
    """The exit code is 1 unless the claim is supported."""
    if len(claim) not in (1, 3):
        raise typer.BadParameter("give a triple (three arguments), or words (one argument, quoted)")
    return world.verify(claim[0] if len(claim) == 1 else tuple(claim), **given)
