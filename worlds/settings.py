"""The settings: what they are, and where their values come from.

A value is taken from the first of these that gives one: the command line; the environment (`WORLDS_SERVER_PORT` for
`server.port`); `worlds.toml` in the current folder, or the file that `WORLDS_CONFIG` names; `worlds/worlds.toml` in the
user's folder for configuration (`$XDG_CONFIG_HOME` or `~/.config`, elsewhere what the system has for it); the default.

The verbs of `worlds.World` read none of them: they are for the programs that people start.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from worlds.core.search.options import KEPT, OPTIONS
from worlds.errors import OpenError
from worlds.permissions import believe, user_folder
from worlds.sql.drivers import AUTO, NAMES
from worlds.sql.drivers import VARIABLE as DRIVER

CONFIG = "WORLDS_CONFIG"
FILE = "worlds.toml"
COMMAND_LINE = "command line"
DEFAULT = "default"

Kind: TypeAlias = Literal["text", "integer", "number", "boolean", "list", "path"]

_KINDS: dict[Kind, str] = {
    "text": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "list": "a list of texts",
    "path": "a path",
}
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True)
class Setting:
    """A setting: its name ("server.port"), the kind of its values, its default, and its effect.

    `least` and `most` bound a number, `choices` are the only texts allowed, `unit` is what a number counts, `meaning`
    says what a default means that does not speak for itself.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    meaning: str | None = None
    unit: str = ""

    @property
    def variable(self) -> str:
        """The environment variable: WORLDS_SERVER_PORT."""
        return "WORLDS_" + self.name.replace(".", "_").upper()

    @property
    def by_default(self) -> str | None:
        """The default, as people read it; None where there is nothing to say."""
        if self.meaning is not None or self.default in (None, (), False):
            return self.meaning
        if self.unit == "bytes" and self.default % 2**20 == 0:
            return f"{self.default // 2**20:,} MiB"
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)

    def expects(self) -> str:
        """The kind of value that a setting takes, in words."""
        if self.choices:
            return f"one of {', '.join(map(repr, self.choices))}"
        kind = _KINDS[self.kind]
        if self.least is not None and self.most is not None:
            return f"{kind} from {_shown(self.least)} to {_shown(self.most)}"
        if self.least is not None:
            return f"{kind}, {_shown(self.least)} or more"
        return kind

    def parse(self, text: str) -> Any:
        """The value that a text stands for, as environment variables hold it; ValueError if it stands for none."""
        value: Any = text
        try:
            if self.kind == "integer":
                if not _INTEGER.fullmatch(text.strip()):
                    raise ValueError
                value = int(text)
            elif self.kind == "number":
                value = float(text)
            elif self.kind == "boolean":
                value = _WORDS[text.strip().lower()]
            elif self.kind == "list":
                value = [part.strip() for part in text.split(",") if part.strip()]
        except (ValueError, KeyError):
            raise ValueError(f"{text!r} is not {self.expects()}") from None
        return self.check(value)

    def check(self, value: Any) -> Any:
        """The value as this setting has it, a list as a tuple, a path as a str; ValueError if it cannot be one."""
        if any("\0" in str(part) for part in (value if isinstance(value, list | tuple) else [value])):
            raise ValueError(f"{value!r} holds the character U+0000, which no name and no path has")
        fits = {
            "text": isinstance(value, str),
            "integer": isinstance(value, int) and not isinstance(value, bool),
            "number": isinstance(value, int | float) and not isinstance(value, bool),
            "boolean": isinstance(value, bool),
            "list": isinstance(value, list | tuple) and all(isinstance(item, str) for item in value),
            "path": isinstance(value, str | Path),
        }[self.kind]
        if fits and isinstance(value, int | float) and self.kind != "boolean":
            # What is no number compares false.
            fits = (self.least is None or value >= self.least) and (self.most is None or value <= self.most)
        if not fits or (self.choices and value not in self.choices):
            raise ValueError(f"{value!r} is not {self.expects()}")
        if self.kind == "list":
            return tuple(value)
        if self.kind == "number":
            return float(value)
        return str(value) if self.kind == "path" else value


def _shown(bound: float) -> str:
    return f"{bound:g}" if isinstance(bound, float) else str(bound)


_LISTS = ("vector", "text")


def _search_settings() -> Iterator[Setting]:
    """One for each option of a search that may have a default of its own; the weights are two."""
    for name in KEPT:
        option = OPTIONS[name]
        usual = option.usual
        meaning = "what the world's policy says" if usual is None else f"what the world's policy says, else {usual}"
        for part in _LISTS if option.kind == "json" else ("",):
            kind: Kind = "number" if part else "list" if option.kind == "texts" else option.kind  # type: ignore[assignment]
            least = 0 if part else option.least
            key = f"search.weight_{part}" if part else f"search.{name}"
            told = f"The weight of the list by {part.replace('text', 'words')}." if part else option.help
            yield Setting(key, kind, None, told, least, option.most, option.choices, meaning, option.unit)


def search_defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of searches that settings give, as `worlds.open` takes them."""
    given = {name: settings[f"search.{name}"] for name in KEPT if f"search.{name}" in SETTINGS}
    found = {name: value for name, value in given.items() if value is not None}
    weights = {part: settings[f"search.weight_{part}"] for part in _LISTS}
    if set(weights.values()) != {None}:
        found["weights"] = {part: weight for part, weight in weights.items() if weight is not None}
    if "rerank" in found:
        found["rerank"] = _WORDS.get(found["rerank"].lower(), found["rerank"])
    return found


_MOST = 2**31 - 1
_LONGEST = 30 * 86_400.0  # seconds

_KIND_OF: dict[type, Kind] = {str: "text", int: "integer", float: "number", bool: "boolean", tuple: "list"}


def _of(name: str, default: Any, help: str, *bounds: Any, kind: Kind | None = None, **more: Any) -> Setting:
    """A setting of the kind of its default, where none is named."""
    return Setting(name, kind or _KIND_OF[type(default)], default, help, *bounds, **more)


_ALL = (
    _of(
        "embedder",
        "auto",
        "The model that makes vectors of texts: a sentence-transformers model by name or folder, auto for the default "
        "model where it is installed, or none.",
    ),
    _of(
        "durability",
        "normal",
        "What an acknowledged write survives: the death of the process (normal), or a power loss too (full; slower).",
        choices=("normal", "full"),
    ),
    _of(
        "driver",
        "auto",
        "What reads and writes a world's file: libSQL (libsql), SQLite (sqlite), or what suits the file better (auto).",
        choices=NAMES,
    ),
    _of(
        "sparql_index",
        "auto",
        "Where SPARQL is evaluated for a large world: on disk until its queries have taken so long that the move to "
        "memory pays (auto), in memory, or on disk.",
        choices=("auto", "memory", "disk"),
    ),
    _of(
        "default_graph",
        None,
        "What queries of a world that `worlds init` makes see if they name no graph: the default graph alone (strict), "
        "or all graphs together (union).",
        kind="text",
        choices=("strict", "union"),
        meaning="union if all data are in named graphs, else strict",
    ),
    _of(
        "profiles",
        False,
        "Whether each entity of a world that `worlds init` makes gets a text of its own, its triples in words.",
    ),
    _of(
        "author",
        None,
        "Who the history names for the changes made from the command line, or by agents.",
        kind="text",
        meaning="nobody; of agents, the client's name",
    ),
    *_search_settings(),
    _of("server.host", "127.0.0.1", "The address that the server listens on."),
    _of("server.port", 8080, "The port that the server listens on; 0 takes a free one.", 0, 65535),
    _of(
        "server.readers",
        max(2, min(8, os.cpu_count() or 2)),
        "How many processes answer queries and searches.",
        1,
        256,
        meaning="the number of processors, but 2 to 8",
    ),
    _of("server.most_workers", 8, "How many processes there may be in all, when long queries hold the others.", 2, 256),
    _of("server.timeout", 30.0, "Seconds that one query, search or update may take.", 0.001, _LONGEST, unit="seconds"),
    _of("server.max_body", 104_857_600, "Bytes that the body of one request may have.", 1, 2**53, unit="bytes"),
    _of("server.max_results", 1_000_000, "Rows or triples that one answer may have.", 1, _MOST),
    _of("server.max_queries", 64, "Requests that may run or wait at a time; more are turned away.", 1, _MOST),
    _of(
        "server.max_memory",
        2 * 2**30,
        "Bytes of memory that one query or search may take; on Linux. 0 for no limit.",
        0,
        2**53,
        unit="bytes",
    ),
    _of("server.max_proposals", 1000, "Proposals of one key that may wait for a decision; more are refused.", 1, _MOST),
    _of(
        "server.guest_share",
        0.25,
        "The least share of turns and processes that clients without a key have while others wait.",
        0,
        1,
    ),
    _of("server.rate", 0, "Requests a minute for each client; 0 for no limit.", 0, _MOST),
    _of("server.cors", (), "Origins of web pages that may call the server, such as https://example.org; * for all."),
    _of(
        "server.keys",
        None,
        "The file with the API keys.",
        kind="path",
        meaning="beside the world's file, or in the folder of the worlds",
    ),
    _of(
        "server.public_reads",
        None,
        "Whether one may read without a key.",
        kind="boolean",
        meaning="on a loopback address only",
    ),
    _of("server.allow_writes", False, "Whether one may write without a key; on a loopback address only."),
    _of("server.graphs", (), "A graph that clients see, and nothing beside: its IRI, or default."),
    _of("server.hosts", (), "Further host names that requests may name, such as those of a reverse proxy."),
    _of(
        "server.allow_network",
        (),
        "A host that SERVICE and LOAD may reach, such as query.wikidata.org; none by default.",
    ),
    _of(
        "server.default_graph",
        None,
        "What a query sees that names no graph: the default graph alone (strict), or all graphs together (union).",
        kind="text",
        choices=("strict", "union"),
        meaning="what the world's own setting says",
    ),
    _of("server.log", "text", "The form of the log: lines for people, or JSON.", choices=("text", "json")),
    _of(
        "server.grace",
        10.0,
        "Seconds that running requests have to finish when the server is stopped.",
        0,
        _LONGEST,
        unit="seconds",
    ),
    _of("mcp.allow_writes", False, "Whether agents may change the world."),
    _of("mcp.allow_proposals", False, "Whether agents may propose changes of the world."),
    _of("mcp.host", "127.0.0.1", "The address that the MCP server listens on, over HTTP."),
    _of("mcp.port", 8090, "The port that the MCP server listens on, over HTTP.", 0, 65535),
    _of("mcp.graphs", (), "A graph that agents see, and nothing beside: its IRI, or default."),
    _of("mcp.token_budget", 4000, "About how many tokens an answer has.", 100, _MOST),
    _of(
        "mcp.tools",
        "all",
        "The tools that agents see: those that answering takes, that curating takes, a memory's, or all but these.",
        choices=("ask", "curate", "memory", "all"),
    ),
    _of("mcp.memory", "agent", "The memory that agents have with the tools of one: user/ann."),
)

SETTINGS: dict[str, Setting] = {setting.name: setting for setting in _ALL}
"""Every setting by its name."""


class Settings(Mapping[str, Any]):
    """The settings and their values; `source` tells where a value came from, `files` which files were read."""

    def __init__(self, given: Mapping[str, tuple[Any, str]], files: tuple[Path, ...] = ()) -> None:
        self._given = dict(given)
        self.files = files

    def __getitem__(self, name: str) -> Any:
        return self._given[name][0] if name in self._given else _setting(name).default

    def __iter__(self) -> Iterator[str]:
        return iter(SETTINGS)

    def __len__(self) -> int:
        return len(SETTINGS)

    def source(self, name: str) -> str:
        """Where the value came from: "command line", the variable's name, the file's path, or "default"."""
        return self._given.get(_setting(name).name, (None, DEFAULT))[1]

    def section(self, name: str) -> dict[str, Any]:
        """The values of a section: "server" gives {"host": …, "port": …, …}."""
        return {key.removeprefix(f"{name}."): self[key] for key in self if key.startswith(f"{name}.")}


def load_settings(overrides: Mapping[str, object] | None = None) -> Settings:
    """Read the settings; `overrides` are the values that the command line gave, None for those that it did not give.

    ValueError, naming the file and the key, for an unknown setting and for a value that it cannot have;
    OpenError for a file that cannot be read.
    """
    given: dict[str, tuple[Any, str]] = {}
    files = tuple(_files())
    for path in reversed(files):
        given |= {name: (value, str(path)) for name, value in _read(path).items()}
    for setting in _ALL:
        if text := os.environ.get(setting.variable):
            try:
                given[setting.name] = setting.parse(text), setting.variable
            except ValueError as error:
                raise ValueError(f"{setting.variable}: {error}") from None
    for name, value in (overrides or {}).items():
        if value is not None:
            try:
                given[name] = _setting(name).check(value), COMMAND_LINE
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
    found = Settings(given, files)
    if found["driver"] != AUTO:  # for this process, and those that it starts
        os.environ[DRIVER] = found["driver"]
    return found


def unknown_variables() -> list[str]:
    """Environment variables that begin as settings do, but name none."""
    others = ["CACHE", "WITHOUT_NODE", "PRIMARY_TOKEN", "PRIMARY_KEY", "SQLD"]
    known = {CONFIG, *(f"WORLDS_{name}" for name in others), *(setting.variable for setting in _ALL)}
    return sorted(name for name in os.environ if name.startswith("WORLDS_") and name not in known)


def user_file() -> Path:
    """Where the user's own file is, or would be."""
    return user_folder() / FILE


def _files() -> Iterator[Path]:
    """The files that exist, the stronger first."""
    if named := os.environ.get(CONFIG):
        if not Path(named).exists():
            raise OpenError(f"{CONFIG} names {named}, which is not there")
        yield Path(named).absolute()
    elif Path(FILE).is_file():
        believe(FILE, Path.cwd())
        yield Path(FILE).absolute()
    if (path := user_file()).is_file():
        yield path


def _read(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        document = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise OpenError(f"the settings in {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8, as TOML must be") from error
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{path}: not TOML: {error}") from error
    values: dict[str, Any] = {}
    for name, value in _flat(document, path):
        try:
            setting = _setting(name)
            values[name] = setting.check(value)
        except ValueError as error:
            raise ValueError(f"{path}: {name}: {error}") from None
        if setting.kind == "path":
            values[name] = str(path.parent / Path(values[name]).expanduser())
    return values


def _flat(document: Mapping[str, Any], path: Path) -> Iterator[tuple[str, Any]]:
    sections = {name.split(".")[0] for name in SETTINGS if "." in name}
    for key, value in document.items():
        if key in sections:
            if not isinstance(value, dict):
                raise ValueError(f"{path}: {key} is a section: write [{key}] above its settings")
            yield from ((f"{key}.{inner}", item) for inner, item in value.items())
        else:
            yield key, value


def _setting(name: str) -> Setting:
    """The setting of this name; ValueError, with the nearest, if there is none."""
    if name in SETTINGS:
        return SETTINGS[name]
    import difflib

    keys = {other.rpartition(".")[2]: other for other in reversed(SETTINGS)}  # of two, the first one
    near = difflib.get_close_matches(name, SETTINGS, 1, 0.8)
    near = near or [keys[key] for key in difflib.get_close_matches(name.rpartition(".")[2], keys, 1, 0.7)]
    hint = f": did you mean {near[0]}?" if near else "; `worlds config` lists them"
    raise ValueError(f"there is no setting {name!r}{hint}")
