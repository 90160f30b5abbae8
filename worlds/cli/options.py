"""What the commands share: arguments, options, and how a world is opened."""

from __future__ import annotations

import contextlib
import datetime
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from worlds.cli.terminal import output
from worlds.search.options import REQUIRED, Option
from worlds.verbs.table import AUTHOR, DRY_RUN, EMBED, MESSAGE, VERBS

if TYPE_CHECKING:
    from worlds.settings import Setting
    from worlds.world import World

_TYPES = {"<str>": "TEXT", "<int>": "N", "<float>": "NUMBER"}  # what the newer Typer shows, and what people read


def from_settings(ctx: typer.Context, param: Any, value: Any) -> Any:
    """The value of an option that is a setting, too: what the command line gave, else the setting."""
    if ctx.resilient_parsing:  # to complete a command line
        return value
    from worlds.settings import load_settings

    source = ctx.get_parameter_source(param.name)
    given = value if source is not None and source.name == "COMMANDLINE" else None
    return load_settings({param.name: given})[param.name]


_VALUES: Mapping[str, Any] = {
    "text": str, "integer": int, "number": float, "boolean": bool, "list": list[str], "path": Path,
}  # fmt: skip


def with_options(
    options: Iterable[inspect.Parameter], *, key: Callable[[str], Any] | None = None, instead_of: str | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command more options than its signature names: it gets them as `**given`.

    `key` puts all in order; `instead_of` names a parameter that is no option.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(**given: Any) -> None:
            function(**given)

        own = inspect.signature(function, eval_str=True).parameters.values()
        shown = [item for item in own if item.kind is not item.VAR_KEYWORD and item.name != instead_of]
        every = [item.replace(kind=item.KEYWORD_ONLY) for item in (*shown, *options)]
        every.sort(key=lambda item: 0 if key is None else key(item.name))
        command.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        command.__annotations__ = {item.name: item.annotation for item in every}
        return command

    return decorate


def with_settings(options: Mapping[str, str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each setting; it gets all that then hold as `settings`. Maps options to settings."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(**given: Any) -> None:
            from worlds.settings import load_settings

            values = {setting: given.pop(option) for option, setting in options.items()}
            asked = {name: None if value == [] else value for name, value in values.items()}
            function(**given, settings=load_settings(asked))

        made = [_option(name, setting) for name, setting in options.items()]
        return with_options(made, instead_of="settings")(command)

    return decorate


def _option(name: str, of: str) -> inspect.Parameter:
    from worlds.settings import SETTINGS

    setting = SETTINGS[of]
    flag = "--" + name.replace("_", "-")
    if setting.kind == "boolean" and setting.default is None:
        flag += f"/--no-{name.replace('_', '-')}"
    value = Literal[setting.choices] if setting.choices else _VALUES[setting.kind]
    told = setting.help + (" May be repeated." if setting.kind == "list" else "")
    flags = FLAGS["graph"] if name == "graph" else (flag,)
    option = typer.Option(*flags, metavar=_metavar(setting), help=told, show_default=setting.by_default or False)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[value | None, option]
    )


def _metavar(setting: Setting) -> str | None:
    return {"list": "TEXT", "path": "FILE"}.get(setting.kind) or setting.unit.upper() or None


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
    "cites": ("--cites",),
}
METAVARS: Mapping[str, str] = {
    "where": "PATTERN",
    "languages": "TAG",
    "language": "TAG",
    "budget": "TOKENS",
    "type": "IRI",
    "source": "IRI|TEXT",
    "date": "YYYY-MM-DD",
    "min_similarity": "COSINE",
    "boost": "'NUMBER PATTERN|IRI'",
    "diversity": "0..1",
    "cursor": "CURSOR",
    "since": "TIME",
    "until": "TIME",
    "before": "REVISION",
    "at": "REVISION",
    "quad": "TERM",
    **dict.fromkeys(("valid_from", "valid_to"), "TIME"),
    "cites": "IRI|TEXT",
    "id": "PROPOSAL",
    "between": "GRAPH GRAPH",
    **dict.fromkeys(("name", "sources"), "NAME"),
    "source_kinds": "KIND",
    "message": "TEXT",
    "context": "TEXT",
    **dict.fromkeys(("author", "reviewer"), "NAME"),
    **dict.fromkeys(("why", "kind", "title"), "TEXT"),
    **dict.fromkeys(("subjects", "predicates", "predicate", "types", "graphs", "graph", "entity", "iri"), "IRI"),
    **dict.fromkeys(("subject", "object", "merge", "a", "b", "base"), "IRI"),
    **dict.fromkeys(("add", "remove", "relies_on"), "N-QUADS"),
    "kept": "KEPT",
    "others": "OTHER",
}
_KINDS: Mapping[str, Any] = {
    "integer": int, "number": float, "boolean": bool, "text": str, "texts": list[str], "json": list[str],
}  # fmt: skip


def of_verb(name: str, **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a verb that it does not name itself.

    It gets them as `**given`, None for a list that is empty; its help begins with the verb's. `defaults` are those of
    the command line, where they are not Python's.
    """
    row = VERBS[name]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function).parameters
        options = [one for one in row.at("command") if not {one.name, one.at("command")} & own.keys()]

        @functools.wraps(function)
        def command(*before: Any, **given: Any) -> None:
            empty = {one.name: None for one in options if given.get(one.name) == []}
            function(*before, **{**given, **empty})

        made = [parameter(replace(one, default=defaults.get(one.name, one.default))) for one in options]
        places = {one.name: place for place, one in enumerate(made)}

        def order(option: str) -> tuple[int, int]:
            """The world, arguments, the verb's options, the command's own, and last those of all commands."""
            last = ("embedder", "author", "message", "dry_run", "json")
            if option in last:
                return 4, last.index(option)
            if option not in places:
                return (
                    0 if option == "path" else 1 if own[option].kind is not inspect.Parameter.KEYWORD_ONLY else 3
                ), 0
            return (1 if row.options[option].default is REQUIRED else 2), places[option]

        decorated = with_options(made, key=order)(command)
        decorated.__doc__ = "\n\n".join(filter(None, (row.help, inspect.getdoc(function))))
        return decorated

    return decorate


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
    callback = from_settings if of.name == "author" and of.help == AUTHOR.help else None
    option = typer.Option(*given, metavar=shown, help=told, rich_help_panel=panel, callback=callback)
    default = None if of.default == () else of.default
    return _keyword(of.name, kind | None if default is None else kind, option, default)


def _keyword(name: str, kind: Any, told: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, told])


def read_quads(texts: Iterable[str] | None) -> list[Any]:
    """The quads of arguments in N-Quads; ParseError."""
    from worlds.graph.longtexts import parse_quads

    return parse_quads(texts or ())


WorldPath = Annotated[
    str, typer.Argument(metavar="WORLD", help="The world's file, or its address on a server.", show_default=False)
]
Worlds = Annotated[
    list[str] | None,
    typer.Option(
        "--world",
        metavar="WORLD",
        help="Take several worlds as one, each given by this option, and none as an argument.",
    ),
]
Ray = Annotated[
    str | None,
    typer.Option(
        "--ray",
        metavar="ADDRESS",
        help='Have tasks of Ray do it, on a cluster at this address, or "local" for one here.',
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
EmbedderName = Annotated[
    str,
    typer.Option(
        "--embedder",
        metavar="MODEL",
        help="A sentence-transformers model by name or folder, [bold]auto[/bold] for the default model where it is "
        "installed, or [bold]none[/bold].",
        callback=from_settings,
    ),
]
Author = parameter(AUTHOR).annotation
Message = parameter(MESSAGE).annotation
DryRun = parameter(DRY_RUN).annotation
Embed = parameter(EMBED).annotation


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
    """Print an epilog line by line; what is no command line fits the terminal."""
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
    """What the help says of an argument's type: its name says it."""


class Command(Help, TyperCommand):
    """A command."""


class Commands(Help, TyperGroup):
    """A command that has commands, such as `worlds keys`."""


At = Annotated[
    str | None, typer.Option("--at", metavar="REVISION", help="Ask the world as it was after a revision, or at a time.")
]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="TIME", help="Ask for what held at a time, such as 2019-05.")
]


def embedder_of(name: str) -> str | None:
    """What `worlds.open` takes for the value of `--embedder`."""
    return None if name == "none" else name


def moment(name: str, text: str, otherwise: str = "") -> datetime.datetime:
    """A time in ISO 8601; ValueError for another text. Without a zone it is one of this machine's."""
    try:
        return datetime.datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        raise ValueError(f"{name} is {otherwise}a time such as 2025-01-31, not {text!r}") from error


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
) -> Iterator[World]:
    """The world at `path`, read-only unless `write`; without an embedder unless one is named.

    `at`, a revision or a time, gives it as it was then; `as_of` what held at a time, as far as it knows.

    One that is made here, and holds nothing when an error ends the block, is removed again. With `dry_run`, none is
    made but in memory.
    """
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
                    number = int(at) if at.isdecimal() else moment("--at", at, "the number of a revision, or ")
                    seen = world.at(number).world
                yield seen if as_of is None else seen.as_of(as_of)
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
