"""The commands that show the settings, and a shell's completion script."""

from __future__ import annotations

import json as json_format
import os
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from worlds.doors.cli import show
from worlds.doors.cli.command import command
from worlds.doors.cli.options import given
from worlds.doors.cli.terminal import clean, note, output, write_json
from worlds.errors import WorldsError

if TYPE_CHECKING:
    from worlds.settings import Setting


_EXAMPLES = {  # of settings without a default
    "text": '""', "path": '""', "boolean": "true", "integer": "10", "number": "1.0", "list": '["en"]',
}  # fmt: skip


def template() -> str:
    """A `worlds.toml` with every setting, its default and its help, all commented out."""
    import textwrap

    from worlds.settings import SETTINGS

    lines = ["# Settings of Worlds: https://toml.io; `worlds config` shows the values and their sources.", ""]
    section = ""
    for setting in SETTINGS.values():
        place, _, key = setting.name.rpartition(".")
        if place != section:
            lines += [f"[{place}]", ""]
            section = place
        lines += [f"# {line}" for line in textwrap.wrap(setting.help, 100)]
        if setting.meaning is not None:
            lines.append(f"# By default: {setting.meaning}.")
        value = None
        if setting.default is None:
            value = json_format.dumps(setting.choices[0]) if setting.choices else _EXAMPLES[setting.kind]
        lines += [f"# {key} = {value or json_format.dumps(setting.default)}", ""]
    return "\n".join(lines)


@command(None, given("[NAME]", "One setting, whose value is printed alone, or a section, such as server."))
def config(name: str | None, *, json: bool) -> None:
    """Show the settings: their values, and where each came from.

    The environment is stronger than ./worlds.toml (or the file that WORLDS_CONFIG names), and that is stronger than
    the user's worlds/worlds.toml. An option of a command is stronger than all of them.

    $ worlds config
    $ worlds config server
    $ WORLDS_SERVER_PORT=9000 worlds config server.port
    $ worlds config --json | jq '.settings[] | select(.source != "default")'
    """
    from worlds.settings import SETTINGS, load_settings, unknown_variables

    settings = load_settings()
    shown = [one for one in SETTINGS.values() if name in (None, one.name, one.name.partition(".")[0])]
    if name is not None and not shown:
        settings.source(name)  # the error names the nearest
    if json:
        told = [_document(one, settings[one.name], settings.source(one.name)) for one in shown]
        if name in SETTINGS:
            write_json(told[0])
        else:
            write_json({"files": list(map(str, settings.files)), "settings": told})
    elif name in SETTINGS:
        output().print(Text(clean(_value(shown[0], settings[name]))), soft_wrap=True)
    else:
        rows = [(one.name, clean(_value(one, settings[one.name])), settings.source(one.name)) for one in shown]
        show.print_table(output(), ("setting", "value", "from"), rows)
    for variable in unknown_variables():
        note(f"{variable} is not a setting, and is ignored")


def _value(setting: Setting, value: Any) -> str:
    """The printed value of a setting; the meaning of a missing value, in brackets."""
    if value is None:
        return f"({setting.meaning})"
    if isinstance(value, str):
        return value
    return json_format.dumps(value)


def _document(setting: Setting, value: Any, source: str) -> dict[str, object]:
    return {
        "name": setting.name,
        "value": value,
        "source": source,
        "default": setting.default,
        "variable": setting.variable,
        "help": setting.help,
    }


SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


@command(None, given("[SHELL]", f"{', '.join(SHELLS)}; else the one that you use."), json=False)
def completion(shell: str | None) -> None:
    """Print the script that completes commands and options with the Tab key.

    Put the line that loads it into your shell's start file: see the examples.

    $ echo 'eval "$(worlds completion bash)"' >> ~/.bashrc
    $ echo 'eval "$(worlds completion zsh)"' >> ~/.zshrc
    $ worlds completion fish > ~/.config/fish/completions/worlds.fish
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]  # Typer's own

    name = shell or PurePath(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        if shell is None:
            raise WorldsError(f"your shell is unknown: name one of {', '.join(SHELLS)}")
        raise ValueError(f"{shell!r} is not a shell that can be completed: use one of {', '.join(SHELLS)}")
    typer.echo(get_completion_script(prog_name="worlds", complete_var="_WORLDS_COMPLETE", shell=name))
