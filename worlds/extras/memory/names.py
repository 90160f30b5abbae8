"""The names of memories: a scope is a graph, below which those of narrower scopes lie, and its file has a name."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, unquote

import pyoxigraph as ox

from worlds.errors import ArgumentError, ReadOnlyError
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
