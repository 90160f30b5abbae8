"""Which names of SHACL and of datatypes there are, and which of them a wrong one was meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import pyoxigraph as ox
from rdflib.namespace import SH as _TERMS
from rdflib.namespace import XSD as _DATATYPES

from worlds.graph.terms import RDF, XSD

SH = "http://www.w3.org/ns/shacl#"
_MORE = ("and", "class", "in", "not", "or", "codeIdentifier", "intent", "agentInstruction", "values", "Debug", "Trace")


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
