"""The command that shows the settings."""

from __future__ import annotations

import json as json_format
from typing import TYPE_CHECKING, Any

from rich.text import Text

from worlds.cli import show
from worlds.cli.command import command
from worlds.cli.options import given
from worlds.cli.terminal import clean, note, output, write_json

if TYPE_CHECKING:
    from worlds.settings import Setting

_EXAMPLES = {  # of settings without a default
    "text": '""', "path": '""', "boolean": "true", "integer": "10", "number": "1.0", "list": '["en"]',
}  # fmt: skip


def template() -> str:
    """A `worlds.toml` with every setting, its default and what it does, all commented out."""
    import textwrap

    from worlds.settings import SETTINGS

    lines = ["# Settings of Worlds: https://toml.io; `worlds config` shows what holds, and why.", ""]
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


@command(
    None,
    given("[NAME]", "One setting, whose value is printed alone, or a section, such as server."),
    examples=(
        "worlds config",
        "worlds config server",
        "WORLDS_SERVER_PORT=9000 worlds config server.port",
        "worlds config --json | jq '.settings[] | select(.source != \"default\")'",
    ),
)
def config(name: str | None, *, json: bool) -> None:
    """Show the settings: their values, and where each came from.

    The environment is stronger than ./worlds.toml (or the file that WORLDS_CONFIG names), and that is stronger than
    the user's worlds/worlds.toml. An option of a command is stronger than all of them.
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
        note(f"{variable} is no setting, and is ignored")


def _value(setting: Setting, value: Any) -> str:
    """A value as TOML has it; what no value means."""
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
