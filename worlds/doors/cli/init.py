"""The command that begins: a world, and a file for the settings."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from worlds.doors.cli.changes import note_pending, outcome, sentence
from worlds.doors.cli.command import command
from worlds.doors.cli.exit_codes import Interrupted
from worlds.doors.cli.options import AUTHOR, EMBEDDER, from_settings, given, opened
from worlds.doors.cli.terminal import counted, output, progress, write_json
from worlds.errors import OpenError

if TYPE_CHECKING:
    from worlds.core.history.gate import Change


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
    from worlds.doors.cli.config import template
    from worlds.settings import FILE

    path, target, file = asked.path, Path(asked.path), Path(FILE)
    if target.exists() or target.is_symlink():
        raise OpenError(f"{path} exists already; `worlds load {shlex.quote(path)} FILE` adds to it")
    if asked.settings and file.exists():
        raise OpenError(f"{FILE} exists already, and is not overwritten")
    change = None
    began = time.perf_counter()
    try:
        embedder = "none" if asked.no_embed else asked.embedder
        with opened(path, write=True, create=True, embedder=embedder) as world:
            if asked.profiles:
                world.policy = world.policy.with_(profiles=True)
            if asked.sources:
                with progress() as bar:
                    change = world.load(asked.sources, author=asked.author, embed=not asked.no_embed, progress=bar)
            named = bool(len(world)) and not world.count(graph="default")
            world.file.default_graph = cast("Any", asked.default_graph or ("union" if named else "strict"))
            graphs = len(world.graphs()), world.file.default_graph
            pending = world.stats().pending
            if change is not None and embedder != "none":
                note_pending(world, change)
    except KeyboardInterrupt as interrupt:
        told = f"{path} is made and loaded; now run `worlds embed {shlex.quote(path)}`" if target.exists() else ""
        raise Interrupted(told or "nothing was made") from interrupt
    if asked.settings:
        with file.open("x", encoding="utf-8") as out:
            out.write(template())
    if asked.json:
        told_settings = {"settings": str(file)} if asked.settings else {}
        loaded = {} if change is None else outcome(change, pending, time.perf_counter() - began)
        write_json({"world": path, "default_graph": graphs[1], **told_settings, **loaded})
    else:
        _report(path, change, time.perf_counter() - began, graphs, settings=asked.settings)


def _report(path: str, change: Change | None, seconds: float, graphs: tuple[int, str], *, settings: bool) -> None:
    from worlds.settings import FILE

    console = output()
    console.print(f"{path}: {'an empty world' if change is None else sentence(change, seconds)}", soft_wrap=True)
    if settings:
        console.print(f"{FILE}: all settings, each commented out", soft_wrap=True)
    world = shlex.quote(path)
    named, setting = graphs
    if named:
        other = "strict" if setting == "union" else "union"
        seen = "all graphs together" if setting == "union" else "the default graph alone"
        console.print(
            f"{counted(named, 'named graph')}: a query that names none sees {seen} "
            f"(`worlds policy {world} default_graph={other}` changes that)",
            soft_wrap=True,
        )
    pattern = "?s ?p ?o" if not named or setting == "union" else "GRAPH ?g { ?s ?p ?o }"
    steps = {
        f"worlds load {world} FILE": "load RDF",
        f"worlds sources add-document {world} FOLDER --base IRI": "load Markdown, text and HTML",
    }
    if change is not None:
        steps = {
            f"worlds stats {world}": "what is in it",
            f"worlds search {world} WORDS": "find texts",
            f"worlds sparql {world} 'SELECT * {{ {pattern} }} LIMIT 10'": "ask",
        }
    steps["worlds doctor"] = "what is installed, and what is missing"
    console.print("\nNext:", style="bold")
    width = max(map(len, steps))
    for line, text in steps.items():
        console.print(f"  {line.ljust(width)}  {text}", soft_wrap=True)
