"""The nodes of a shapes graph: their values, lists and paths, their names for people; the terms of SHACL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import pyoxigraph as ox
from rdflib.namespace import SH as _TERMS
from rdflib.namespace import XSD as _DATATYPES

from worlds.errors import ShapesError
from worlds.extras.shapes.paths import PropertyPath
from worlds.graph.terms import RDF, XSD, format_term

SH = "http://www.w3.org/ns/shacl#"
_MORE = ("and", "class", "in", "not", "or", "codeIdentifier", "intent", "agentInstruction", "values", "Debug", "Trace")
RDF_TYPE = ox.NamedNode(RDF + "type")
TARGETS = ("targetNode", "targetClass", "targetSubjectsOf", "targetObjectsOf")
_FIRST, _REST, _NIL = (ox.NamedNode(RDF + name) for name in ("first", "rest", "nil"))
_DEEPEST = 100  # paths inside one another
_LARGEST = 1000  # paths in a path, written out
_BOOLEAN = re.compile("true|false|1|0")
_WHOLE = re.compile(r"\+?[0-9]{1,400}")
_PATHS = {
    **{"inversePath": "inverse", "alternativePath": "alternative"},
    **{"zeroOrMorePath": "*", "oneOrMorePath": "+", "zeroOrOnePath": "?"},
}


def _local(namespace: Any) -> list[str]:
    return [term.rpartition("#")[2] for term in dir(namespace)]


_OF = {  # namespace → its prefix, what it is called, and its names; of RDF those that are datatypes
    SH: ("sh", "term of SHACL", {*_local(_TERMS), *_MORE}),
    XSD: ("xsd", "datatype of XML Schema", {*_local(_DATATYPES), "anyType", "anySimpleType", "anyAtomicType"}),
    RDF: ("rdf", "datatype", {"langString", "dirLangString", "HTML", "XMLLiteral", "JSON", "PlainLiteral"}),
}


def near(name: str, known: Iterable[str], prefix: str = "sh:") -> str:
    """ "; did you mean sh:x?" for the known name that is nearest to one, if any is near."""
    cased = {one.lower(): one for one in known}
    found = get_close_matches(name[:100].lower(), cased, 1, 0.8)
    return f"; did you mean {prefix}{cased[found[0]]}?" if found else ""


def wrong(term: Any, *, datatype: bool = False) -> str | None:
    """The fault of a term in a namespace whose names are known, RDF's only for a `datatype`; None if it has none."""
    if not isinstance(term, ox.NamedNode):
        return None
    start, hash_, name = term.value.rpartition("#")
    prefix, called, names = _OF.get(start + hash_, ("", "", {name}))
    if not name or name in names or (prefix == "rdf" and not datatype):
        return None
    return f"{prefix}:{name} is not a {called}{near(name, names, f'{prefix}:')}"


def sh(name: str) -> ox.NamedNode:
    """A name of SHACL's vocabulary."""
    return ox.NamedNode(SH + name)


class Nodes:
    """A shapes graph by its nodes. A ShapesError describes the fault of a node, but does not name it."""

    def __init__(self, triples: Iterable[Any]) -> None:
        """`triples` have `.subject`, `.predicate` and `.object`, terms of pyoxigraph."""
        self._graph: dict[Any, dict[Any, dict[Any, None]]] = {}  # subject → predicate → its objects
        for triple in triples:
            self._graph.setdefault(triple.subject, {}).setdefault(triple.predicate, {})[triple.object] = None
        self._paths: dict[Any, PropertyPath] = {}
        self._same: dict[PropertyPath, PropertyPath] = {}

    def values(self, term: Any, predicate: Any) -> list[Any]:
        """The objects of a subject and a predicate."""
        return list(self._graph.get(term, {}).get(predicate, ()))

    # -- what they are called -------------------------------------------------------------------------------------

    @cached_property
    def _owners(self) -> dict[Any, list[Any]]:
        """Node → the subjects that have it as a value."""
        found: dict[Any, list[Any]] = {}
        for subject, values in self._graph.items():
            for value in {value for objects in values.values() for value in objects}:
                found.setdefault(value, []).append(subject)
        return found

    def owners(self, term: Any, predicate: Any) -> Iterator[Any]:
        """The subjects that have a node as a value of a predicate."""
        return (one for one in self._owners.get(term, ()) if term in self._graph[one].get(predicate, ()))

    def name(self, term: Any) -> str:
        """A node's IRI, or of a blank node the nearest one that leads to it, and the paths on the way."""
        last, ways = term, {term: self._told_path(term)}
        for node in (waiting := [term]):  # it grows
            if isinstance(node, ox.NamedNode):
                return f"{format_term(node)}, path {ways[node]}" if ways[node] and node != term else format_term(node)
            last = node
            for owner in self._owners.get(node, ()):
                if owner not in ways:
                    path = "" if isinstance(owner, ox.NamedNode) else self._told_path(owner)
                    ways[owner] = " / ".join(filter(None, (path, ways[node])))
                    waiting.append(owner)
        of = [f" of sh:{name} {format_term(value)}" for name in TARGETS for value in self.values(last, sh(name))]
        return f"a shape without an IRI{of[0] if of else ''}{f', path {ways[last]}' if ways[last] else ''}"

    def _told_path(self, term: Any) -> str:
        try:
            path = self.one(term, "path")
            return "" if path is None else str(self.path(path))
        except ShapesError:
            return ""

    # -- values ---------------------------------------------------------------------------------------------------

    def one(self, term: Any, name: str) -> Any:
        """The value of a predicate of SHACL, which a node has once at most; None where it has none."""
        found = self.values(term, sh(name))
        if len(found) > 1:
            raise ShapesError(f"it has {len(found)} values of sh:{name}, which takes one")
        return found[0] if found else None

    def members(self, head: Any, name: str) -> list[Any]:
        """The members of an rdf:List, which is the value of a predicate."""
        members: list[Any] = []
        seen = set()
        while head != _NIL:
            first, rest = self.values(head, _FIRST), self.values(head, _REST)
            if head in seen or len(first) != 1 or len(rest) != 1:
                raise ShapesError(f"the value of sh:{name} is not a well-formed list")
            seen.add(head)
            members.append(first[0])
            head = rest[0]
        return members

    def path(self, term: Any, depth: int = 0) -> PropertyPath:
        """The property path that a node stands for; equal paths are the same object."""
        if term not in self._paths:
            found = self._path(term, depth)
            if found.size > _LARGEST:
                raise ShapesError(f"its path has more than {_LARGEST:,} parts")
            self._paths[term] = self._same.setdefault(found, found)
        return self._paths[term]

    def _path(self, term: Any, depth: int) -> PropertyPath:
        if isinstance(term, ox.NamedNode) and term != _NIL:
            return PropertyPath("predicate", predicate=term)
        shown = format_term(term) if isinstance(term, ox.Literal) else "the value of sh:path"
        if depth > _DEEPEST or not isinstance(term, ox.NamedNode | ox.BlankNode):
            raise ShapesError(f"{shown} is not a property path")
        if term == _NIL or self.values(term, _FIRST):
            members = self.members(term, "path")
            if len(members) < 2:
                raise ShapesError("a path that is a list must have at least two members")
            return PropertyPath("sequence", tuple(self.path(member, depth + 1) for member in members))
        for name, kind in _PATHS.items():
            if (value := self.one(term, name)) is not None:
                of = self.members(value, name) if kind == "alternative" else [value]
                if not of:
                    raise ShapesError("the list of sh:alternativePath is empty")
                return PropertyPath(kind, tuple(self.path(member, depth + 1) for member in of))
        raise ShapesError(f"{shown} is not a property path")

    def boolean(self, term: Any, name: str) -> bool:
        """Whether a value is true; False where there is none."""
        return self._lexical(term, name, _BOOLEAN, "true or false") in ("true", "1")

    def whole(self, term: Any, name: str) -> int | None:
        """A value that is a whole number."""
        found = self._lexical(term, name, _WHOLE, "a whole number")
        return None if found is None else int(found)

    def _lexical(self, term: Any, name: str, form: re.Pattern[str], what: str) -> str | None:
        value = self.one(term, name)
        if value is not None and not (isinstance(value, ox.Literal) and form.fullmatch(value.value)):
            raise ShapesError(f"sh:{name} must be {what}, not {format_term(value)}")
        return None if value is None else str(value.value)

    def iri(self, name: str, value: Any) -> Any:
        """A value that is an IRI; of sh:class it may be a blank node."""
        if not isinstance(value, ox.NamedNode) and not (name == "class" and isinstance(value, ox.BlankNode)):
            raise ShapesError(f"sh:{name} must be an IRI, not {format_term(value)}")
        return value

    def literal(self, name: str, value: Any) -> ox.Literal:
        """A value that is a literal."""
        if not isinstance(value, ox.Literal):
            raise ShapesError(f"sh:{name} must be a literal, not {format_term(value)}")
        return value

    def text(self, name: str, value: Any, *, language: bool = False) -> ox.Literal:
        """A value that is an xsd:string, or a text with a `language` where it may be one."""
        if not isinstance(value, ox.Literal) or (
            value.datatype.value != XSD + "string" and not (language and value.language)
        ):
            kind = "xsd:string or a text with a language" if language else "xsd:string"
            raise ShapesError(f"sh:{name} must be an {kind}, not {format_term(value)}")
        return value
