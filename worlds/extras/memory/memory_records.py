"""Records that a memory returns, its times to live, and the names of scopes, graphs, files and keys."""

from __future__ import annotations

import datetime
import hashlib
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import quote, unquote

import pyoxigraph as ox

from worlds.errors import ArgumentError, ReadOnlyError
from worlds.graph.records import Count, Iri, Record, Spare
from worlds.graph.terms import RDF, XSD

MEMORY = "urn:worlds:memory:"
"""The beginning of the IRI of a memory's graph."""
SUFFIX = ".db"
_VOCABULARY = "urn:worlds:memory#"
_MOST_PARTS = 16
_LONGEST = 500  # characters of a part
_LONGEST_NAME = 72  # characters of a part in the name of a file
_unnamed = re.compile(rb"[^a-z0-9-]")
_escaped = re.compile("_([0-9a-f]{2})")
_unwritable = re.compile("[\0\ud800-\udfff]")

KINDS = ("episode", "fact", "preference", "entity")
CLASSES = {kind: ox.NamedNode(_VOCABULARY + kind.capitalize()) for kind in KINDS}
TYPE = ox.NamedNode(RDF + "type")
TEXT = ox.NamedNode("https://schema.org/text")
CREATED = ox.NamedNode("http://purl.org/dc/terms/created")
EXPIRES = ox.NamedNode("https://schema.org/expires")
ABOUT = ox.NamedNode("https://schema.org/about")
CITES = ox.NamedNode("http://purl.org/dc/terms/source")
SESSION = ox.NamedNode(_VOCABULARY + "session")
ROLE = ox.NamedNode(_VOCABULARY + "role")
TOKEN = ox.NamedNode(XSD + "token")
LEADING = ox.NamedNode(XSD + "normalizedString")
"""The datatype of a role that stood before the text, "Ann: …", and is shown there."""
TIME = ox.NamedNode(XSD + "dateTime")
Kind: TypeAlias = Literal["episode", "fact", "preference", "entity"]
_MOST_DAYS = 1_000_000


def graph_of(scope: object) -> ox.NamedNode:
    """The graph of a scope, ("user", "ann") or "user"; ArgumentError for none."""
    parts = (scope,) if isinstance(scope, str) else scope
    if not isinstance(parts, Sequence) or not 1 <= len(parts) <= _MOST_PARTS:
        raise ArgumentError(f"a memory's scope is a text or up to {_MOST_PARTS} texts, such as ('user', 'ann')")
    return ox.NamedNode(MEMORY + "/".join(quote(checked("a part of a scope", part), safe="") for part in parts))


def scope_of(graph: str) -> tuple[str, ...]:
    """The scope whose graph this is."""
    return tuple(unquote(part) for part in graph.removeprefix(MEMORY).split("/"))


def is_memory(graph: object) -> bool:
    """Whether a graph's name is that of a memory."""
    return str(graph).removeprefix("<").startswith(MEMORY)


def is_beneath(graph: str, name: str) -> bool:
    """Whether a graph is that of a scope, by its name, or of a narrower one."""
    return graph == name or graph.startswith(f"{name}/")


def file_of(scope: Sequence[str]) -> str:
    """The name of a scope's file without its suffix, on any file system, also one without upper and lower case."""
    return ".".join(["m", *map(_named, scope)])


def _named(part: str) -> str:
    name = _unnamed.sub(lambda found: b"_%02x" % ord(found[0]), part.encode()).decode()
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME // 2]}__{hashlib.blake2b(part.encode(), digest_size=12).hexdigest()}"


def scope_in(file: str) -> tuple[str, ...] | None:
    """The scope whose file has a name; None where the name is too short for it, so that the file itself has to say."""
    if "__" in file:
        return None
    _, *parts = file.split(".")
    return tuple(bytes(_escaped.sub(lambda found: chr(int(found[1], 16)), part), "latin-1").decode() for part in parts)


def seen_through(world: Any, graphs: Sequence[str]) -> Any:
    """The world seen through graphs, as `World.only` gives it; that of a memory where they name one.

    ReadOnlyError for several memories, and for a memory beside other graphs.
    """
    if not any(map(is_memory, graphs)):
        return world.only(graphs=graphs)
    if len(graphs) > 1:
        raise ReadOnlyError("a scope must be graphs of the world, or one memory", kind="scope")
    return world.memory(scope=scope_of(graphs[0].strip("<>"))).world


def checked(what: str, given: object, most: int = _LONGEST) -> str:
    """A text that says something, and that a file can hold; ArgumentError."""
    if not isinstance(given, str) or not given.strip() or len(given) > most or _unwritable.search(given):
        raise ArgumentError(f"{what} must be a text of 1 to {most:,} characters, without U+0000, not {given!r:.80}")
    return given


def memory_iri(graph: ox.NamedNode, key: str | None) -> ox.NamedNode:
    """The IRI of a memory: by its key, or a new one."""
    return ox.NamedNode(f"{graph.value}#{uuid.uuid4().hex if key is None else 'key/' + quote(key, safe='')}")


def key_of(iri: str) -> str | None:
    """The key of a memory; None where it has none."""
    name = iri.partition("#")[2]
    return unquote(name[4:]) if name.startswith("key/") else None


def session_iri(graph: ox.NamedNode, session: str) -> ox.NamedNode:
    """The IRI of a session of a scope."""
    return ox.NamedNode(f"{graph.value}#session/{quote(session, safe='')}")


def session_of(iri: str) -> str:
    """The name of a session."""
    return unquote(iri.partition("#session/")[2])


def days_of(name: str, given: Any) -> float | None:
    """A number of days above 0, or None; ArgumentError."""
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < _MOST_DAYS:
        raise ArgumentError(f"{name} must be a number of days above 0 and below a million, or None, not {given!r}")
    return float(given)


@dataclass(frozen=True)
class Keep:
    """How long a memory keeps its content. Expired memories are never found, and are deleted by the next write.

    `days` is the age that nothing outlives, `count` the number of the newest that are kept. `kinds` maps kinds to days
    of their own; None is for ever, whatever `days` and `count` say. With `half_life`, in days, the score of what is
    recalled halves with its age. With `history=False`, what is replaced, forgotten or outlived leaves nothing behind:
    such revisions cannot be undone.
    """

    days: float | None = None
    count: int | None = None
    kinds: Mapping[str, float | None] = field(default_factory=dict)
    half_life: float | None = None
    history: bool = True

    def __post_init__(self) -> None:
        days_of("days", self.days)
        days_of("half_life", self.half_life)
        if self.count is not None and (type(self.count) is not int or self.count < 1):
            raise ArgumentError(f"count must be a whole number from 1 on, or None, not {self.count!r}")
        if not isinstance(self.kinds, Mapping) or not set(self.kinds) <= set(KINDS):
            raise ArgumentError(f"kinds maps some of {', '.join(KINDS)} to days, not {self.kinds!r}")
        for name, days in self.kinds.items():
            days_of(f"kinds[{name!r}]", days)
        if not isinstance(self.history, bool):
            raise ArgumentError(f"history must be True or False, not {self.history!r}")

    @property
    def evergreen(self) -> list[str]:
        """The kinds that are kept for ever, and whose score does not halve."""
        return [kind for kind, days in self.kinds.items() if days is None]

    @property
    def limited(self) -> bool:
        """Whether anything is outlived."""
        return self.days is not None or self.count is not None or any(self.kinds.values())

    def days_for(self, kind: str) -> float | None:
        """The age that a kind does not outlive; None for ever."""
        return self.kinds.get(kind, self.days)

    def to_dict(self) -> dict[str, Any]:
        """The setting in its stored form."""
        return {**asdict(self), "kinds": dict(self.kinds)}


@dataclass(frozen=True, slots=True)
class Remembered(Record):
    """A memory that was recalled: `text` is the passage of it that was found, and `quads` cite it.

    `scope` is that in which it was told, `at` when. `score` is higher for a better one; memories that were not
    searched for, but listed, have 0. `similarity` is the cosine of the passage and the question, whatever else was
    found: near 0 where nothing fits; None without vectors. `superseded_by` is a newer memory that says otherwise:
    certainly if it cites this one, else likely. `kind` is None for other texts of the scope, such as labels of its
    facts.
    """

    iri: Iri
    text: str
    score: float
    kind: Kind | None
    at: datetime.datetime | None
    scope: tuple[str, ...]
    session: Annotated[str | None, Spare] = None
    role: Annotated[str | None, Spare] = None
    key: Annotated[str | None, Spare] = None
    cites: Annotated[tuple[Iri, ...], Spare] = ()
    about: Annotated[tuple[Iri, ...], Spare] = ()
    graph: Iri | None = None
    similarity: Annotated[float | None, Spare] = None
    superseded_by: Annotated[Iri | None, Spare] = None


class Recalled(Sequence[Remembered]):
    """The memories that were recalled, the best first; `notes` report parts of the request that were not possible."""

    def __init__(self, found: Sequence[Remembered], notes: Sequence[str] = ()) -> None:
        self._found = tuple(found)
        self.notes = tuple(notes)

    def __getitem__(self, place: Any) -> Any:
        return self._found[place]

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return "\n".join(f"{one.score:.3f} {one.text[:100]}" for one in self._found) or "nothing is remembered"

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {"memories": [one.to_dict() for one in self._found], "notes": list(self.notes)}


@dataclass(frozen=True, slots=True)
class Retained(Record):
    """The outcome of `retain`: the IRIs of the memories, in their order, and the revision.

    `proposals` are links to entities that wait for a decision. `facts` is the receipt of the facts.
    """

    memories: tuple[Iri, ...]
    revision: int | None
    outlived: Count = 0
    proposals: Annotated[tuple[int, ...], Spare] = ()
    facts: Any = None
    notes: Annotated[tuple[str, ...], Spare] = ()


@dataclass(frozen=True, slots=True)
class Forgotten(Record):
    """The outcome of `forget`: how many memories and quads, in which revision; `purged` is true if nothing is left.

    `elsewhere` says what other files may still hold, which only who keeps them can purge.
    """

    memories: Count
    quads: Count
    revision: int | None
    purged: bool = False
    elsewhere: Annotated[tuple[str, ...], Spare] = ()
    notes: Annotated[tuple[str, ...], Spare] = ()
