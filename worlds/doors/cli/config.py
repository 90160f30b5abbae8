"""The commands that one begins with: init, config, completion."""

from __future__ import annotations

import json as json_format
import os
import shlex
import textwrap
import time
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Literal, cast

import typer

from worlds.doors.cli.changes import note_pending, outcome, sentence
from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import stopping
from worlds.doors.cli.options import AUTHOR, EMBEDDER, from_settings, given, opened
from worlds.doors.cli.show import print_table
from worlds.doors.cli.terminal import clean, counted, note, print_text, progress, write_json
from worlds.errors import OpenError, WorldsError

if TYPE_CHECKING:
    from worlds.settings import Setting

_EXAMPLES = {  # of settings without a default
    "text": '""', "path": '""', "boolean": "true", "integer": "10", "number": "1.0", "list": '["en"]',
}  # fmt: skip


def template() -> str:
    """A `worlds.toml` with every setting, its default and its help, all commented out."""
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
        told = [
            {"name": one.name, "value": settings[one.name], "source": settings.source(one.name)}
            | {"default": one.default, "variable": one.variable, "help": one.help}
            for one in shown
        ]
        write_json(told[0] if name in SETTINGS else {"files": list(map(str, settings.files)), "settings": told})
    elif name in SETTINGS:
        print_text(_value(shown[0], settings[name]))
    else:
        rows = [(one.name, clean(_value(one, settings[one.name])), settings.source(one.name)) for one in shown]
        print_table(("setting", "value", "from"), rows)
    for variable in unknown_variables():
        note(f"{variable} is not a setting, and is ignored")


def _value(setting: Setting, value: Any) -> str:
    """The printed value of a setting; the meaning of a missing value, in brackets."""
    if value is None:
        return f"({setting.meaning})"
    return value if isinstance(value, str) else json_format.dumps(value)


SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


@command(None, given("[SHELL]", f"{', '.join(SHELLS)}; else yours.", Literal[SHELLS]), json=False)
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
        raise WorldsError(f"your shell is unknown: name one of {', '.join(SHELLS)}")
    typer.echo(get_completion_script(prog_name="worlds", complete_var="_WORLDS_COMPLETE", shell=name))


# -- init ---


@command(
    None,
    given("WORLD", "The file to make, such as kb.db.", name="path"),
    given("[SOURCE...]", "RDF to load: files, folders, globs.", name="sources"),
    given("--settings", "Also write ./worlds.toml, with every setting and its meaning."),
    given(
        "--default-graph SETTING",
        "What queries see that name no graph: [bold]strict[/bold], the default graph alone, or [bold]union[/bold], all "
        "graphs together; else union if all data are in named graphs.",
        callback=from_settings,
    ),
    given("--profiles", "Give each entity a text of its own, its triples in words.", callback=from_settings),
    given("--no-embed", "Leave the texts to `worlds embed`."),
    *(EMBEDDER, AUTHOR),
)
def init(asked: Any) -> None:
    """Make a world, load files into it if some are given, and say what can be done next.

    Nothing is ever overwritten. After an error or Ctrl-C, nothing was made.

    $ worlds init kb.db
    $ worlds init kb.db papers.ttl people.nq.gz --settings
    """
    from worlds.settings import FILE

    path, target, file = asked.path, Path(asked.path), Path(FILE)
    if target.exists() or target.is_symlink():
        raise OpenError(f"{path} exists already; `worlds load {shlex.quote(path)} FILE` adds to it")
    if asked.settings and file.exists():
        raise OpenError(f"{FILE} exists already, and is not overwritten")
    change = None
    began = time.perf_counter()
    embedder = "none" if asked.no_embed else asked.embedder
    made = f"{path} is made and loaded; now run `worlds embed {shlex.quote(path)}`"
    stopped = stopping(lambda: made if target.exists() else "nothing was made")
    with stopped, opened(path, write=True, create=True, embedder=embedder) as world:
        if asked.profiles:
            world.policy = world.policy.with_(profiles=True)
        if asked.sources:
            with progress() as bar:
                change = world.load(asked.sources, author=asked.author, embed=not asked.no_embed, progress=bar)
        named = bool(len(world)) and not world.count(graph="default")
        world.file.default_graph = cast("Any", asked.default_graph or ("union" if named else "strict"))
        graphs, default = len(world.graphs()), world.file.default_graph
        pending = world.stats().pending
        if change is not None and embedder != "none":
            note_pending(world, change)
    if asked.settings:
        with file.open("x", encoding="utf-8") as out:
            out.write(template())
    seconds = time.perf_counter() - began
    if asked.json:
        settings = {"settings": str(file)} if asked.settings else {}
        loaded = {} if change is None else outcome(change, pending, seconds)
        write_json({"world": path, "default_graph": default, **settings, **loaded})
        return
    print_text(f"{path}: {'an empty world' if change is None else sentence(change, seconds)}")
    if asked.settings:
        print_text(f"{FILE}: all settings, each commented out")
    _print_next(shlex.quote(path), graphs, default, loaded=change is not None)


def _print_next(world: str, graphs: int, default: str, *, loaded: bool) -> None:
    """Print the use of named graphs, and the commands that come next."""
    union = default == "union"
    if graphs:
        seen = "all graphs together" if union else "the default graph alone"
        change = f"worlds policy {world} default_graph={'strict' if union else 'union'}"
        print_text(f"{counted(graphs, 'named graph')}: a query that names none sees {seen} (`{change}` changes that)")
    pattern = "?s ?p ?o" if not graphs or union else "GRAPH ?g { ?s ?p ?o }"
    steps = {
        f"worlds load {world} FILE": "load RDF",
        f"worlds sources add-document {world} FOLDER --base IRI": "load Markdown, text and HTML",
    }
    if loaded:
        steps = {
            f"worlds stats {world}": "what is in it",
            f"worlds search {world} WORDS": "find texts",
            f"worlds sparql {world} 'SELECT * {{ {pattern} }} LIMIT 10'": "ask",
        }
    steps["worlds doctor"] = "what is installed, and what is missing"
    print_text("\nNext:", "bold")
    width = max(map(len, steps))
    for line, text in steps.items():
        print_text(f"  {line.ljust(width)}  {text}")
