"""The IRIs of memories: a scope is a graph, below which those of narrower scopes lie."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from urllib.parse import quote, unquote

import pyoxigraph as ox

from worlds.errors import ArgumentError
from worlds.graph.terms import RDF, XSD
from worlds.sql import MEMORY

_VOCABULARY = "urn:worlds:memory#"
_MOST_PARTS = 16
_LONGEST = 500  # characters of a part
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


def around(graph: str) -> list[str]:
    """The graph and those of the wider scopes that it lies in, the narrowest first."""
    parts = graph.removeprefix(MEMORY).split("/")
    return [MEMORY + "/".join(parts[:count]) for count in range(len(parts), 0, -1)]


def checked(what: str, given: object, most: int = _LONGEST) -> str:
    """A text that says something, and that a file can hold; ArgumentError."""
    if not isinstance(given, str) or not given.strip() or len(given) > most or _unwritable.search(given):
        raise ArgumentError(f"{what} is a text of 1 to {most:,} characters, without U+0000, not {given!r:.80}")
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
