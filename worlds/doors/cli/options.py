"""The common part of the commands: arguments, options, and how a world is opened."""

from __future__ import annotations

import contextlib
import datetime
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from worlds.core.search.options import REQUIRED, Option
from worlds.doors.cli.terminal import output
from worlds.verbs.table import AUTHOR as _AUTHOR
from worlds.verbs.table import DRY_RUN as _DRY_RUN
from worlds.verbs.table import EMBED as _EMBED
from worlds.verbs.table import MESSAGE as _MESSAGE

if TYPE_CHECKING:
    from worlds.settings import Settings
    from worlds.world import World

_TYPES = {"<str>": "TEXT", "<int>": "N", "<float>": "NUMBER"}  # what the newer Typer shows, and what people read


def from_settings(ctx: typer.Context, param: Any, value: Any) -> Any:
    """The value of an option that is also a setting: from the command line, or else from the settings."""
    if ctx.resilient_parsing:  # to complete a command line
        return value
    from worlds.settings import load_settings

    source = ctx.get_parameter_source(param.name)
    given = value if source is not None and source.name == "COMMANDLINE" else None
    return load_settings({param.name: given})[param.name]


_VALUES: Mapping[str, Any] = {
    "text": str, "integer": int, "number": float, "boolean": bool, "list": list[str], "path": Path,
}  # fmt: skip


def of_settings(options: Mapping[str, str]) -> list[inspect.Parameter]:
    """The options of a command that are also settings; maps names of options to names of settings."""
    return [_option(name, setting) for name, setting in options.items()]


def settings_of(options: Mapping[str, str], given: Mapping[str, Any]) -> Settings:
    """All settings that hold where a command is given options that are settings, too."""
    from worlds.settings import load_settings

    return load_settings({setting: given[option] for option, setting in options.items()})


def _option(name: str, of: str) -> inspect.Parameter:
    from worlds.settings import SETTINGS

    setting = SETTINGS[of]
    flag = "--" + name.replace("_", "-")
    if setting.kind == "boolean" and setting.default is None:
        flag += f"/--no-{name.replace('_', '-')}"
    value = Literal[setting.choices] if setting.choices else _VALUES[setting.kind]
    told = setting.help + (" May be repeated." if setting.kind == "list" else "")
    flags = FLAGS["graph"] if name == "graph" else (flag,)
    metavar = {"list": "TEXT", "path": "FILE"}.get(setting.kind) or setting.unit.upper() or None
    option = typer.Option(*flags, metavar=metavar, help=told, show_default=setting.by_default or False)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[value | None, option]
    )


# -- the options of a verb, of the table of verbs ----------------------------------------------------------------------

FLAGS: Mapping[str, tuple[str, ...]] = {
    "limit": ("--limit", "-n"),
    "subjects": ("--subject", "-s"),
    "predicates": ("--predicate", "-p"),
    "predicate": ("--predicate", "-p"),
    "types": ("--type", "-t"),
    "kinds": ("--kind",),
    "graphs": ("--graph", "-g"),
    "sources": ("--source",),
    "source_kinds": ("--source-kind",),
    "graph": ("--graph", "-g"),
    "languages": ("--language", "--lang", "-l"),
    "language": ("--language", "--lang", "-l"),
    "where": ("--where", "-w"),
    "context": ("--context", "-c"),
    "message": ("--message", "-m"),
    "format": ("--format", "-f"),
    "union": ("--union/--strict",),
    "bindings": ("--bind", "-b"),
    "valid_from": ("--valid-from", "--from"),
    "valid_to": ("--valid-to", "--to"),
}
_METAVARS = {
    "PATTERN": "where",
    "TAG": "languages language",
    "TOKENS": "budget",
    "IRI": "type subjects predicates predicate types graphs graph entity iri subject object merge a b base",
    "IRI|TEXT": "source cites",
    "YYYY-MM-DD": "date",
    "COSINE": "min_similarity",
    "'NUMBER PATTERN|IRI'": "boost",
    "0..1": "diversity",
    "CURSOR": "cursor",
    "TIME": "since until valid_from valid_to",
    "REVISION": "before at",
    "TERM": "quad",
    "PROPOSAL": "id",
    "GRAPH GRAPH": "between",
    "NAME": "name sources author reviewer",
    "KIND": "source_kinds",
    "TEXT": "message context why kind title",
    "N-QUADS": "add remove relies_on",
    "OTHER": "others",
}
METAVARS: Mapping[str, str] = {name: shown for shown, names in _METAVARS.items() for name in names.split()}
_KINDS: Mapping[str, Any] = {
    "integer": int, "number": float, "boolean": bool, "text": str, "texts": list[str], "json": list[str],
    "revision": str,
}  # fmt: skip


def parameter(of: Option, *flags: str, panel: str | None = None, metavar: str | None = None) -> inspect.Parameter:
    """The parameter of an option: an argument where it is required."""
    kind = Literal[of.choices] if of.choices else _KINDS[of.kind]
    metavar = metavar or METAVARS.get(of.name)
    shown = of.unit.upper() or metavar
    if of.default is REQUIRED:
        many = "..." if of.kind == "texts" else ""
        argument = typer.Argument(metavar=f"{metavar or of.name.upper()}{many}", help=of.help, show_default=False)
        return _keyword(of.name, kind, argument, inspect.Parameter.empty)
    flag = of.name.replace("_", "-")
    on = of.default is True or of.usual is True
    given = flags or FLAGS.get(of.name, (f"--{flag}/--no-{flag}" if on else f"--{flag}",))
    told = of.told + (" May be repeated." if of.kind in ("texts", "json") else "")
    callback = from_settings if of.name == "author" and of.help == _AUTHOR.help else None
    option = typer.Option(*given, metavar=shown, help=told, rich_help_panel=panel, callback=callback)
    default = None if of.default == () else of.default
    return _keyword(of.name, kind | None if default is None else kind, option, default)


def _keyword(name: str, kind: Any, told: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, told])


def read_quads(texts: Iterable[str] | None) -> list[Any]:
    """The quads of arguments in N-Quads; ParseError."""
    from worlds.graph.longtexts import parse_quads

    return parse_quads(texts or ())


def given(
    words: str, help: str, kind: Any = None, default: Any = None, *, name: str | None = None, **more: Any
) -> inspect.Parameter:
    """An argument or an option of a command as the line of its usage has it, which names it if `name` does not.

    "FILE" is an argument, "[FILE...]" one that may lack or be repeated; "--file -f FILE" is an option with a value,
    "--file FILE..." one that may be repeated, and "--watch" one without a value.
    """
    flags = [word for word in words.split() if word.startswith("-")]
    metavar = " ".join(word for word in words.split() if not word.startswith("-"))
    many = metavar.rstrip("]").endswith(("...", "…"))
    kind = kind or (list[str] if many else str if metavar else bool)
    if flags:
        told = typer.Option(*flags, metavar=metavar.removesuffix("...") or None, help=help, **more)
        default = False if default is None and kind is bool and "/" not in flags[0] else default
        missing = default is None
    else:
        told = typer.Argument(metavar=metavar, help=help, **{"show_default": default is not None, **more})
        missing = default is None and metavar.startswith("[")
        default = default if missing or default is not None else inspect.Parameter.empty
    default = inspect.Parameter.empty if default is REQUIRED else default
    found = name or re.sub(r"\W+", "_", (flags[0].partition("/")[0] if flags else metavar).lower()).strip("_")
    return _keyword(found, kind | None if missing else kind, told, default)


WORLD_HELP = "The world's file, or its address on a server."
PATH = given("WORLD", WORLD_HELP, name="path")
JSON = given("--json", "Print one JSON document.")
AUTHOR, MESSAGE, DRY_RUN, EMBED = map(parameter, (_AUTHOR, _MESSAGE, _DRY_RUN, _EMBED))
EMBEDDER = given(
    "--embedder MODEL",
    "A sentence-transformers model by name or folder, [bold]auto[/bold] for the default model where it is installed, "
    "or [bold]none[/bold].",
    default="auto",
    callback=from_settings,
)
AT = given("--at REVISION", "Ask the world as it was after a revision (its number, or a tag), or at a time.")
AS_OF = given("--as-of TIME", "Answer from the facts that held at a time, such as 2019-05.")
ENTAILED = given("--entailed/--no-entailed", "The world's conclusions in the answer; else as its policy has it.")
ENTAILED_TOO = given("--entailed", "Write what follows by the world's rules, too, see `worlds rules use`.")
VIEWS = (AT, AS_OF, ENTAILED)
"""The options by which a command looks at a world through a view."""
WORLDS = given(
    "--world WORLD...", "Take several worlds as one, each given by this option, and none as an argument.", name="worlds"
)
RAY = given("--ray ADDRESS", 'Have tasks of Ray do it, on a cluster at this address, or "local" for one here.')
FILE = given("--file -f FILE", "Read the update from a file.")
BINDINGS = given(
    "--bind -b NAME=TERM...",
    "Give a variable a value: an IRI, a prefixed name, a number, true, false, or '\"a text\"@en'; may be repeated.",
    name="bindings",
)
HOSTS = given("--allow-network HOST...", "Read from this host. May be repeated; others are refused.")


def examples(*lines: str) -> str:
    """An epilog that shows command lines."""
    shown = [line.replace("[", r"\[") for line in lines]
    return "\n".join(["[bold]Examples[/bold]", *(f"  [dim]$[/dim] {line}" for line in shown)])


class Help:
    """Prints a command's help alike in Typer's releases: types in words, paragraphs and epilogs as they are."""

    epilog: str | None
    help: str | None

    def get_params(self, ctx: Any) -> Any:
        """The arguments and options."""
        params = super().get_params(ctx)  # type: ignore[misc]  # Typer's
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
            elif param.param_type_name == "argument":
                param.display_type_rich = _no_type
            elif param.metavar is None and hasattr(param, "display_type"):
                param.metavar = _TYPES.get(str(param.display_type(ctx)))
            if isinstance(getattr(param, "show_default", None), str):  # Typer sets it in brackets twice
                param.help = f"{param.help} By default: {param.show_default}."
                param.show_default = False
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The parts of the line that shows the usage, arguments as they are named below it."""
        pieces = super().collect_usage_pieces(ctx)  # type: ignore[misc]  # Typer's
        shown = [re.sub(r"^\{(.+)\}(\.\.\.)?$", r"\1", piece) for piece in pieces]
        return [piece.replace("[[", "[").replace("]]", "]") for piece in shown]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        epilog, self.epilog = self.epilog, None
        self.help = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.cleandoc(self.help or "")) or None
        try:
            super().format_help(ctx, formatter)  # type: ignore[misc]  # Typer's
        finally:
            self.epilog = epilog
        if epilog:
            _print_epilog(Text.from_markup(epilog))


def _print_epilog(text: Text) -> None:
    """Print an epilog line by line; lines that are no commands are wrapped to the terminal."""
    console = output()
    for line in text.split("\n"):
        hang = len(line.plain) - len(line.plain.lstrip(" 0123456789"))
        if not console.is_terminal or line.cell_len <= console.width or line.plain.lstrip().startswith("$"):
            console.print(line, soft_wrap=True)
            continue
        first, rest = line.divide([hang])
        for number, part in enumerate(rest.wrap(console, console.width - hang)):
            part.rstrip()
            console.print(Text(" " * hang).append_text(part) if number else first.append_text(part), soft_wrap=True)


def _no_type(ctx: Any) -> None:
    """The type of an argument in the help: empty, as its name says it."""


class Command(Help, TyperCommand):
    """A command."""


class Commands(Help, TyperGroup):
    """A command that has commands, such as `worlds keys`."""


def embedder_of(name: str) -> str | None:
    """The `embedder` of `worlds.open` for the value of `--embedder`."""
    return None if name == "none" else name


def moment(name: str, text: str, otherwise: str = "") -> datetime.datetime:
    """A time in ISO 8601; ValueError for another text. Without a zone it is one of this machine's."""
    try:
        return datetime.datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        raise ValueError(f"{name} must be {otherwise}a time such as 2025-01-31, not {text!r}") from error


def at_moment(world: World, text: str) -> Any:
    """A revision as a command takes it: a tag, a number, or a time of this machine where it names no zone."""
    if any(one.name == text for one in world.revisions.list()):
        return text
    try:
        return moment("a revision", text) if not text.isdecimal() else int(text)
    except ValueError:
        return text


@contextlib.contextmanager
def opened(
    path: str,
    *,
    write: bool = False,
    create: bool = False,
    embedder: str = "none",
    dry_run: bool = False,
    sparql_index: str | None = None,
    at: str | None = None,
    as_of: str | None = None,
    entailed: bool | None = False,
) -> Iterator[World]:
    """The world at `path`, read-only unless `write`; without an embedder unless one is named.

    `at`, a revision or a time, gives it as it was then; `as_of` what held at a time, as far as it knows;
    `entailed` with its conclusions, None as its policy has it.

    One that is made here, and holds nothing when an error ends the block, is removed again. With `dry_run`, none is
    made but in memory.
    """
    from worlds.looks.look import answering
    from worlds.world import open as open_world

    if dry_run and create and not Path(path).exists():
        path = ":memory:"
    remote = "://" in path
    empty = create and not remote and not Path(path).exists() and path != ":memory:"
    from worlds.settings import load_settings, search_defaults

    settings = load_settings()
    try:
        with open_world(
            path,
            embedder=embedder_of(embedder),
            read_only=not write,
            create=create,
            durability=settings["durability"] if write and not remote else "normal",
            sparql_index=settings["sparql_index"] if sparql_index is None else sparql_index,  # type: ignore[arg-type]  # checked there
            search=search_defaults(settings),
        ) as world:
            try:
                seen = world
                if at is not None:
                    seen = world.at(at_moment(world, at))
                seen = seen if as_of is None else seen.as_of(as_of)
                yield answering(seen, entailed)
            finally:
                empty = empty and not world.history(1)
    except BaseException:
        if empty:
            _remove(Path(path))
        raise


def _remove(world: Path) -> None:
    for file in (world, *world.parent.glob(f"{world.name}-*")):
        if file.is_dir():
            for inner in file.iterdir():
                inner.unlink()
            file.rmdir()
        else:
            file.unlink(missing_ok=True)


INTERRUPTIBLE = 30 * 86_400.0  # seconds: a query with any time limit runs in a process of its own, which Ctrl-C ends
