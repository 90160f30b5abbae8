"""Reads Apache Jena's property function `text:query`."""

from __future__ import annotations

import pyoxigraph as ox

from worlds.graph.search.service_pattern import SearchObject, SearchReader, WrittenSearch
from worlds.graph.terms import to_python

LIMIT = 10_000
"""How many hits a `text:query` without a limit gives at most; Jena has the same."""


def property_function(reader: SearchReader, search: WrittenSearch) -> WrittenSearch:
    """Read Jena's `(?s ?score ?literal ?graph ?property) text:query (property … "words" limit "option" …)`."""
    element = search.element
    search.is_jena = True
    outputs = ("subject", "jenaScore", "object", "graph", "predicate")
    subjects, end = reader.values(element.subject[0], many=True)
    if end != element.subject[1] or not 1 <= len(subjects) <= len(outputs):
        raise reader.error(
            "the subject of text:query must be ?s or (?s ?score ?literal ?graph ?property)", search.place
        )
    for name, value in zip(outputs, subjects, strict=False):
        if value.variable:
            search.outputs.append((name, value.variable))
        elif name == "subject":
            reader.take(search, "subject", search.place, value)
        else:
            raise reader.error("this must be a variable, for an output of text:query", value.place)
    arguments, end = reader.values(element.predicate + 1, many=True)
    if end != element.last:
        raise reader.error('text:query takes one list: (property … "words" limit "lang:…")', search.place)
    search.options = {"mode": "text", "limit": LIMIT}
    rest = iter(arguments)
    for value in rest:
        if isinstance(value.term, ox.NamedNode):
            reader.take(search, "predicate", search.place, value)
        else:
            reader.take(search, "query", value.place, value)
            language = getattr(value.term, "language", None)
            break
    else:
        raise reader.error("text:query needs the words to search for", search.place)
    for value in rest:
        _argument(reader, search, value, language)
    if language is not None:  # of the words; it goes before "lang:…"
        reader.take(search, "language", search.place, SearchObject(value.place, ox.Literal(language)))
    _in_graph(reader, search)
    return search


def _in_graph(reader: SearchReader, search: WrittenSearch) -> None:
    """Restrict a `text:query` in GRAPH to that graph."""
    for _, element in reversed(search.path[:-1]):
        if element.kind == "graph":
            name, _ = reader.value(element.first + 1)
            if name.variable:
                search.outputs.append(("graph", name.variable))
                search.named_only = True
            else:
                reader.take(search, "graph", search.place, name)
            return


def _argument(reader: SearchReader, search: WrittenSearch, value: SearchObject, language: str | None) -> None:
    """Read an argument after the words of a `text:query`: the limit, `lang:…`, `highlight:…`."""
    term = value.term
    option = term.value if isinstance(term, ox.Literal) else ""
    number = to_python(term)
    if isinstance(number, int):
        if 0 < number < LIMIT:  # what is less is Jena's way to say: no limit
            search.options["limit"] = number
    elif option.startswith("lang:"):
        if language is None:
            tag = "" if option == "lang:none" else option.removeprefix("lang:")
            reader.take(search, "language", value.place, SearchObject(value.place, ox.Literal(tag)))
    elif option.startswith("highlight:"):
        parts = dict(part.strip().split(":", 1) for part in option.removeprefix("highlight:").split("|") if ":" in part)
        search.marks = (parts.get("s", "↦"), parts.get("e", "↤"))
        search.outputs = [("marked" if name == "object" else name, variable) for name, variable in search.outputs]
    else:
        raise reader.error(
            f"text:query does not know {value.place.text}; after the words it takes a limit, \"lang:…\" and "
            '"highlight:…"', value.place,
        )  # fmt: skip
