"""What the commands share: arguments, options, and how a world is opened."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text
from typer.core import TyperCommand

from worlds.cli.terminal import output

if TYPE_CHECKING:
    from worlds.world import World

WorldPath = Annotated[str, typer.Argument(metavar="WORLD", help="The world's file.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
EmbedderName = Annotated[
    str,
    typer.Option(
        "--embedder",
        metavar="MODEL",
        help="A sentence-transformers model by name or folder, [bold]auto[/bold] for the default model where it is "
        "installed, or [bold]none[/bold].",
    ),
]


def examples(*lines: str) -> str:
    """An epilog that shows command lines."""
    shown = [line.replace("[", r"\[") for line in lines]
    return "\n".join(["[bold]Examples[/bold]", *(f"  [dim]$[/dim] {line}" for line in shown)])


class Epilog:
    """Prints a command's epilog line by line; Typer's releases differ in what they make of its line ends."""

    epilog: str | None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        epilog, self.epilog = self.epilog, None
        try:
            super().format_help(ctx, formatter)  # type: ignore[misc]  # Typer's
        finally:
            self.epilog = epilog
        if epilog:
            output().print(Text.from_markup(epilog), soft_wrap=True)


class Command(Epilog, TyperCommand):
    """A command."""


def embedder_of(name: str) -> str | None:
    """What `worlds.open` takes for the value of `--embedder`."""
    return None if name == "none" else name


@contextlib.contextmanager
def opened(path: str, *, write: bool = False, create: bool = False, embedder: str = "none") -> Iterator[World]:
    """The world at `path`, read-only unless `write`; without an embedder unless one is named."""
    from worlds.world import open as open_world

    with open_world(path, embedder=embedder_of(embedder), read_only=not write, create=create) as world:
        yield world


INTERRUPTIBLE = 30 * 86_400.0  # seconds: a query with any time limit runs in a process of its own, which Ctrl-C ends
