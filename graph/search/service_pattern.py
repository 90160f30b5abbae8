"""Reads what a search in a query asks for: the properties between the braces of `SERVICE w:search { … }`."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.query.query import Query
from worlds.graph.query.shape import Element, Path, QueryShape
from worlds.graph.query.tokens import Token, error_at
from worlds.graph.search.vocabulary import NAMESPACE, PROPERTIES
from worlds.graph.terms import Term, format_term, to_python


@dataclass(frozen=True)
class SearchObject:
    """An object in a search: a constant, or the name of a variable."""

    place: Token
    term: Term | None = None
    variable: str = ""


@dataclass
class WrittenSearch:
    """One search as it is written."""

    element: Element
    path: Path
    place: Token
    inputs: list[tuple[str, Token, SearchObject]] = field(default_factory=list)  # (property, its place, value)
    outputs: list[tuple[str, str]] = field(default_factory=list)  # (output, variable)
    options: dict[str, Any] = field(default_factory=dict)
    silent: bool = False
    named_only: bool = False  # not in the default graph
    is_jena: bool = False
    marks: tuple[str, str] = ("", "")  # of Jena's highlighting
    without: set[Term | None] = field(default_factory=set)  # subjects that what surrounds it excludes

    @property
    def variables(self) -> set[str]:
        """The variables that it needs to know."""
        return {value.variable for _, _, value in self.inputs if value.variable}

    @property
    def subject(self) -> str | None:
        """The variable of its subjects."""
        return next((variable for name, variable in self.outputs if name == "subject"), None)


class SearchReader:
    """Reads the searches of one query."""

    def __init__(self, query: Query, shape: QueryShape) -> None:
        self.query = query
        self.tokens = query.tokens
        self.shape = shape

    def error(self, message: str, place: Token) -> QueryError:
        """An error with its place."""
        return error_at(message, self.query.text, place.start)

    def block(self, search: WrittenSearch) -> WrittenSearch:
        """Read `?hit w:query "…" ; …` between the braces."""
        group = search.element.groups[0]
        at, end = group.first + 1, group.last - 1
        tokens = self.tokens
        hit: str | None = None
        while at < end:
            token = tokens[at]
            closing = end
            if token.kind in ("variable", "blank"):
                subject = token.text
                at += 1
            elif token.kind == "mark" and token.text == "[":
                closing = self.shape.after(at, []) - 1
                subject = f"[{at}"
                at += 1
                if at == closing:
                    at, closing = at + 1, end
            else:
                raise self.error(
                    f"{token.text!r} is not allowed in a search, which is `?hit w:query \"…\" ; w:limit 10 ; …`; "
                    "patterns stand beside it", token
                )  # fmt: skip
            if hit is not None and subject != hit:
                raise self.error(f"a search has one hit, {hit}: for another hit write another SERVICE w:search", token)
            if hit is None and token.kind == "variable":
                search.outputs.append(("hit", subject[1:]))
            hit = subject
            at = self._properties(search, at, closing)
            while at < end and tokens[at].kind == "mark" and tokens[at].text in ".]":
                at += 1
        if not any(name == "query" for name, _, _ in search.inputs):
            raise self.error("a search needs w:query, the words to search for", search.place)
        return search

    def _properties(self, search: WrittenSearch, at: int, end: int) -> int:
        tokens = self.tokens
        while at < end and not (tokens[at].kind == "mark" and tokens[at].text == "."):
            if tokens[at].kind == "mark" and tokens[at].text == ";":
                at += 1
                continue
            place = tokens[at]
            name = self._property(place)
            at += 1
            while True:
                values, at = self.values(at, PROPERTIES[name].many)
                for value in values:
                    self.take(search, name, place, value)
                if at < end and tokens[at].kind == "mark" and tokens[at].text == ",":
                    at += 1
                    continue
                break
        return at

    def _property(self, place: Token) -> str:
        iri = self.query.iri(place) or ""
        name = iri.removeprefix(NAMESPACE)
        if iri.startswith(NAMESPACE) and name in PROPERTIES:
            return name
        local = iri.rpartition("#")[2].rpartition("/")[2].rpartition(":")[2] or place.text
        near = get_close_matches(local, PROPERTIES, 1)
        hint = f"; the nearest that it has is w:{near[0]}" if near else ""
        raise self.error(f"a search has no property {place.text}{hint}", place)

    def values(self, at: int, many: bool) -> tuple[list[SearchObject], int]:
        """The object at `at`, or the members of the collection there, and where it ends."""
        token = self.tokens[at]
        if many and token.kind == "mark" and token.text == "(":
            found: list[SearchObject] = []
            at += 1
            while not (self.tokens[at].kind == "mark" and self.tokens[at].text == ")"):
                value, at = self.value(at)
                found.append(value)
            return found, at + 1
        value, at = self.value(at)
        return [value], at

    def value(self, at: int) -> tuple[SearchObject, int]:
        """The object at `at`, and where it ends."""
        token = self.tokens[at]
        if token.kind == "variable":
            return SearchObject(token, variable=token.text[1:]), at + 1
        end = at + 1
        if token.kind == "string" and self.tokens[end].kind == "language":
            end += 1
        elif token.kind == "string" and self.tokens[end].text == "^^":
            end += 2
        elif token.kind == "mark" and token.text in "+-" and self.tokens[end].kind == "number":
            end += 1
        elif token.kind not in ("iri", "name", "string", "number") and not token.is_word("TRUE", "FALSE"):
            raise self.error(f"{token.text!r} is neither a variable nor a value that a search takes", token)
        prologue = self.shape.source(0, self.shape.prologue)
        values = f"{prologue}\nSELECT ?x WHERE {{ VALUES ?x {{ {self.shape.source(at, end)} }} }}"
        return SearchObject(token, next(ox.Store().query(values, prefixes=dict(self.query.prefixes)))[0]), end  # type: ignore[arg-type]

    def take(self, search: WrittenSearch, name: str, place: Token, value: SearchObject) -> None:
        """Note a property and its value, as an input or an output of the search."""
        known = PROPERTIES[name]
        if value.variable and known.gives:
            search.outputs.append((name, value.variable))
            return
        if not known.option:
            raise self.error(
                f"w:{name} gives a value, so its object must be a variable, not {value.place.text}", value.place
            )
        if not known.many and any(other == name for other, _, _ in search.inputs):
            raise self.error(f"w:{name} is given twice", place)
        if value.term is not None:
            self.python(name, value.term, value.place)  # complains if it is of the wrong form
        search.inputs.append((name, place, value))

    def python(self, name: str, term: Term, place: Token) -> Any:
        """The value of an input as World.search takes it."""
        form = PROPERTIES[name].form
        if form in ("IRI", "graph") and isinstance(term, ox.NamedNode | ox.BlankNode):
            return term
        if isinstance(term, ox.Literal):
            value = to_python(term)
            number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
            if form == "text" or (form == "language tag" and isinstance(value, str)):
                return term.value
            if form == "number" and number:
                return float(term.value)
            if (form == "whole number" and number and isinstance(value, int)) or (
                form == "boolean" and isinstance(value, bool)
            ):
                return value
            if form == "graph" and value == "default":
                return value
            if form == "numbers" and isinstance(value, str):
                with contextlib.suppress(TypeError, ValueError):
                    return [float(item) for item in json.loads(value)]
        takes = {"numbers": 'a list of numbers in quotes, "[0.1, …]"', "IRI": "an IRI",
                 "graph": 'an IRI or "default"'}.get(form, f"a {form}")  # fmt: skip
        raise self.error(f"w:{name} takes {takes}, not {format_term(term, self.query.prefixes)}", place)
