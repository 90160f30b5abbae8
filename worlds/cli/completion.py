"""The command that prints the completion script of a shell."""

from __future__ import annotations

import os
from pathlib import PurePath

import typer

from worlds.cli.command import command
from worlds.cli.options import given
from worlds.errors import WorldsError

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


@command(
    None,
    given("[SHELL]", f"{', '.join(SHELLS)}; else the one that you use."),
    json=False,
    examples=(
        "echo 'eval \"$(worlds completion bash)\"' >> ~/.bashrc",
        "echo 'eval \"$(worlds completion zsh)\"' >> ~/.zshrc",
        "worlds completion fish > ~/.config/fish/completions/worlds.fish",
    ),
)
def completion(shell: str | None) -> None:
    """Print the script that completes commands and options with the Tab key.

    Put the line that loads it into your shell's start file: see the examples.
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # Typer's own

    name = shell or PurePath(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        if shell is None:
            raise WorldsError(f"your shell cannot be told: name it, one of {', '.join(SHELLS)}")
        raise ValueError(f"{shell!r} is not a shell that can be completed: use one of {', '.join(SHELLS)}")
    typer.echo(get_completion_script(prog_name="worlds", complete_var="_WORLDS_COMPLETE", shell=name))
