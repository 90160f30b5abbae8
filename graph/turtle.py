"""Turtle as people write it: blank nodes stand where they are used, in brackets."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import pyoxigraph as ox

from worlds.graph.terms import XSD, to_rdflib

_MOST = 1_000  # triples that are written so
_NONE = re.compile(r"(?!)")
_FORMS = {
    "integer": re.compile(r"[+-]?\d+"),
    "decimal": re.compile(r"[+-]?\d*\.\d+"),
    "boolean": re.compile(r"true|false"),
    "double": _NONE,
    "float": _NONE,
}


def nested(triples: Sequence[ox.Triple], prefixes: Mapping[str, str]) -> str | None:
    """The triples as Turtle with their blank nodes nested, as rdflib writes it.

    None where that is no gain (no blank node, or too many triples), or where rdflib would not give each term back as it
    is: triple terms, base directions, numbers that it writes in another form, blank nodes hundreds deep.
    """
    import rdflib

    terms = {term for triple in triples for term in (triple.subject, triple.object)}
    if len(triples) > _MOST or not any(isinstance(term, ox.BlankNode) for term in terms):
        return None
    if any(isinstance(term, ox.Triple) or (isinstance(term, ox.Literal) and not _is_kept(term)) for term in terms):
        return None
    graph = rdflib.Graph(bind_namespaces="none")
    for prefix, namespace in prefixes.items():
        graph.bind(prefix, namespace, replace=True)
    for triple in triples:
        graph.add((to_rdflib(triple.subject), to_rdflib(triple.predicate), to_rdflib(triple.object)))
    try:
        text: str = graph.serialize(format="turtle")
    except RecursionError:  # blank nodes within blank nodes, hundreds deep
        return None
    return text if _same(text, triples) else None


def _is_kept(term: ox.Literal) -> bool:
    """Whether rdflib writes a literal as it is, and without a warning."""
    form = _FORMS.get(term.datatype.value.removeprefix(XSD))
    return term.direction is None and (form is None or form.fullmatch(term.value) is not None)


def _same(text: str, triples: Sequence[ox.Triple]) -> bool:
    """Whether a document has these triples, blank nodes aside: rdflib nests them as they are."""
    try:
        read = [quad.triple for quad in ox.parse(text, format=ox.RdfFormat.TURTLE)]
    except (SyntaxError, ValueError):
        return False
    return Counter(map(_masked, read)) == Counter(map(_masked, triples))


def _masked(triple: ox.Triple) -> tuple[str, str, str]:
    s, o = ("_:" if isinstance(term, ox.BlankNode) else str(term) for term in (triple.subject, triple.object))
    return s, str(triple.predicate), o
