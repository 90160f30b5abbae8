"""The common part of the commands: arguments, options, and how a world is opened."""

from __future__ import annotations

import contextlib
import datetime
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from worlds.core.search.options import REQUIRED, Option
from worlds.doors.cli.terminal import announce_terminal, as_text, output, read_stdin
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

    return load_settings({setting: given.get(option) for option, setting in options.items()})


def _option(name: str, of: str) -> inspect.Parameter:
    from worlds.settings import SETTINGS

    setting = SETTINGS[of]
    option = typer.Option(
        *_flags_of(name, on=setting.kind == "boolean" and setting.default is None),
        metavar={"list": "TEXT", "path": "FILE"}.get(setting.kind) or setting.unit.upper() or None,
        help=setting.help + (" May be repeated." if setting.kind == "list" else ""),
        show_default=setting.by_default or False,
    )
    value = Literal[setting.choices] if setting.choices else _VALUES[setting.kind]
    return _keyword(name, value | None, option, None)


# -- the values of options, as verbs take them -------------------------------------------------------------------------


def from_stdin(value: Any) -> Any:
    """A text of the command line, or of standard input where it is -."""
    return read_stdin() if value == "-" else value


def mode(value: bool) -> Any:
    """The mode of a load, by the flag --replace."""
    return "replace" if value else "merge"


def announced(value: Any) -> Any:
    """A source of the command line; a terminal that is to be read is announced."""
    if "-" in ([value] if isinstance(value, str) else value):
        announce_terminal()
    return value


def _quads(value: Any) -> Any:
    """The quads of options in N-Quads; ParseError."""
    from worlds.graph.longtexts import parse_quads

    return parse_quads(value) if value else None


def _local_time(ctx: typer.Context, param: Any, value: Any) -> Any:
    """A time in ISO 8601, without a zone of this machine's; ValueError."""
    try:
        return None if value is None else datetime.datetime.fromisoformat(value).astimezone()
    except ValueError as error:
        raise ValueError(f"{param.name} must be a time such as 2025-01-31, not {value!r}") from error


def _bindings(value: Any) -> Any:
    """The pairs of variables and values of `--bind`, as Typer makes a list of them; ValueError."""
    return list(map(_binding, value)) if value else None


def _binding(item: str) -> tuple[str, object]:
    """The variable and the value of `name=value`, which is a term in Turtle's notation."""
    name, equals, value = item.partition("=")
    name = name.strip().lstrip("?$")
    if not equals or not name:
        raise ValueError(f"--bind takes NAME=TERM, not {item!r}")
    return name, _term(as_text(value.strip()))


_BARE = {
    "integer": r"[+-]?[0-9]+",
    "decimal": r"[+-]?[0-9]*\.[0-9]+",
    "double": r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+",
    "boolean": r"true|false",
}


def _term(value: str) -> str:
    """The term as N-Triples has it, where Turtle also has a bare form: numbers, true, false."""
    from worlds.graph.terms import XSD

    for name, pattern in _BARE.items():
        if re.fullmatch(pattern, value):
            return f'"{value}"^^<{XSD}{name}>'
    return value


_READ: Mapping[str, Any] = {
    **dict.fromkeys(("add", "remove", "relies_on"), _quads), **dict.fromkeys(("since", "until"), _local_time),
}  # fmt: skip

# -- the options of a verb, of the table of verbs ----------------------------------------------------------------------

_FLAGS = {
    "--limit -n": "limit",
    "--subject -s": "subjects",
    "--predicate -p": "predicates predicate",
    "--type -t": "types",
    "--kind": "kinds",
    "--graph -g": "graphs graph",
    "--source": "sources",
    "--source-kind": "source_kinds",
    "--language --lang -l": "languages language",
    "--where -w": "where",
    "--context -c": "context",
    "--message -m": "message",
    "--format -f": "format",
    "--union/--strict": "union",
    "--valid-from --from": "valid_from",
    "--valid-to --to": "valid_to",
}
FLAGS: Mapping[str, list[str]] = {name: flags.split() for flags, names in _FLAGS.items() for name in names.split()}
_METAVARS = {
    "PATTERN": "where",
    "TAG": "languages language",
    "TOKENS": "budget",
    "IRI": "type subjects predicates predicate types graphs graph entity iri merge a b base",
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
    """The parameter of an option: an argument where it is required, a flag where it has one choice."""
    kind = Literal[of.choices] if of.choices else _KINDS[of.kind]
    metavar = metavar or METAVARS.get(of.name)
    if of.default is REQUIRED:
        many = "..." if of.kind == "texts" else ""
        named = of.name.upper() if metavar in (None, "IRI") else metavar
        argument = typer.Argument(metavar=f"{named}{many}", help=of.help, show_default=False)
        return _keyword(of.name, kind, argument, inspect.Parameter.empty)
    callback = from_settings if of.name == "author" and of.help == _AUTHOR.help else _READ.get(of.name)
    default = None if of.default == () else of.default
    if len(of.choices) == 1:
        kind, default, callback = bool, False, lambda value: of.choices[0] if value else None
    option = typer.Option(
        *(flags or _flags_of(of.name, on=of.default is True or of.usual is True)),
        metavar=of.unit.upper() or metavar,
        help=of.told + (" May be repeated." if of.kind in ("texts", "json") else ""),
        rich_help_panel=panel,
        callback=callback,
    )
    return _keyword(of.name, kind | None if default is None else kind, option, default)


def _flags_of(name: str, *, on: bool) -> list[str]:
    """The flags of an option: also one that turns it off, where it is `on` by default."""
    flag = name.replace("_", "-")
    return FLAGS.get(name) or [f"--{flag}/--no-{flag}" if on else f"--{flag}"]


def _keyword(name: str, kind: Any, told: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, told])


def is_argument(one: inspect.Parameter) -> bool:
    """Whether the parameter of a command is an argument."""
    return isinstance(one.annotation.__metadata__[0], typer.models.ArgumentInfo)


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
    callback=_bindings,
)
TARGET = given("--output -o FILE", "Write it to this file instead.", Path, name="target")
FORMAT = given("--format -f FORMAT", "turtle, nt, nq, trig, rdfxml or jsonld.")
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
            output().print(Text.from_markup(epilog), soft_wrap=True)


def _no_type(ctx: Any) -> None:
    """The type of an argument in the help: empty, as its name says it."""


class Command(Help, TyperCommand):
    """A command."""


class Commands(Help, TyperGroup):
    """A command that has commands, such as `worlds keys`."""


def embedder_of(name: str) -> str | None:
    """The `embedder` of `worlds.open` for the value of `--embedder`."""
    return None if name == "none" else name


def at_moment(world: World, text: str) -> Any:
    """A revision as a command takes it: a tag, a number, or a time of this machine where it names no zone."""
    if text.isdecimal() or any(one.name == text for one in world.revisions.list()):
        return text
    with contextlib.suppress(ValueError):
        return datetime.datetime.fromisoformat(text).astimezone()
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
