"""SPARQL constraints and components (SHACL, sections 5 and 6): read, checked for what pre-binding forbids, and asked.

A query is asked once for many focus nodes, which stand in VALUES in each of its groups that would not know them
otherwise; one by one where it aggregates or limits, since that is about the solutions of one node.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import pyoxigraph as ox

from worlds.core.quads.dataset import SHAPES_GRAPH
from worlds.errors import QueryError, ShapesError
from worlds.extras.shapes.paths import PropertyPath
from worlds.graph.query.evaluation import read_only, syntax_error, try_out
from worlds.graph.query.guard import check
from worlds.graph.query.query import Query
from worlds.graph.query.query_limits import NO_LIMITS
from worlds.graph.query.shape import Element, GroupGraphPattern
from worlds.graph.query.tokens import Edit, Token, tokenize
from worlds.graph.terms import RDF, format_term

Ask: TypeAlias = Callable[[Query], tuple[Sequence[str], Iterator[Sequence[Any]]]]
"""Gives the variables and the solutions of a SELECT over the data, as they are validated."""

_BATCH = 500  # focus nodes of one query
_ROW = "worlds_row"
_AGGREGATES = ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT", "GROUP", "HAVING", "LIMIT", "OFFSET")
_FORBIDDEN = ("MINUS", "VALUES", "SERVICE")
_TOLD = 200  # characters of what a parser says
_PLAIN = ("iri", "name", "variable", "string", "number", "language")
_TYPE = ox.NamedNode(RDF + "type")


@dataclass(frozen=True)
class SparqlViolation:
    """One violation: the place of the (focus, value) pair in the query, and the query's solution for it."""

    row: int
    value: Any = None
    path: Any = None
    message: str | None = None


@dataclass(frozen=True)
class LinkedPattern:
    """A triple pattern whose subject, or object if `inverse`, the `steps` lead to from a focus node or a value."""

    predicate: Any  # None for any
    path: bool  # whether it is the path of the shape
    inverse: bool
    of_value: bool  # the steps begin at a value, not at the focus node
    steps: tuple[PropertyPath, ...]


@dataclass(frozen=True)
class SparqlConstraint:
    """A query that finds violations, or with `ask` one that is true for a valid value."""

    term: Any
    text: str
    ask: bool
    prefixes: tuple[tuple[str, str], ...]
    parameters: tuple[tuple[str, Any], ...]  # name → value, $currentShape among them
    messages: tuple[ox.Literal, ...]
    path: PropertyPath | None
    own: bool = field(default=False)  # whether it is the value of sh:sparql

    @cached_property
    def query(self) -> Query:
        """The query, with the path in the place of $PATH."""
        tokens = tokenize(self.text)
        edits = [(one.start, one.end, str(self.path)) for one in tokens if one.text in ("$PATH", "?PATH")]
        if edits and self.path is None:
            raise ShapesError(f"{format_term(self.term)} asks for $PATH, but is of a node shape")
        return Query(self.text, dict(self.prefixes), union=True).spliced(edits)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables that are given a value for each node."""
        return ("this", "value") if self.ask else ("this",)

    def expect(self) -> None:
        """ShapesError for a query that does not parse, or has syntax that pre-binding forbids (SHACL, appendix A)."""
        name = format_term(self.term) if isinstance(self.term, ox.NamedNode) else "its constraint"
        try:
            check(self.text, allow_network=True)  # how deep it is
            prefixes = dict(self.prefixes)
            try_out(self.text, lambda: read_only(self.query.text, prefixes), NO_LIMITS)
            self._expect(name, self.query.tokens)
        except (SyntaxError, ValueError, QueryError) as error:
            told = syntax_error(error, self.query.text, prefixes) if isinstance(error, SyntaxError) else error
            if isinstance(told, QueryError) and told.kind == "prefix":  # those of the world are not those of shapes
                where = f"line {told.line}, column {told.column}"
                told = QueryError(f"{where}: the prefix '{told.prefix}:' is declared neither in it nor by sh:prefixes")
            raise ShapesError(f"the query of {name} does not parse: {str(told)[:_TOLD]}") from error
        except RecursionError:
            raise ShapesError(f"the query of {name} is nested too deeply") from None

    def _expect(self, name: str, tokens: Sequence[Token]) -> None:
        bound = {*self.names, *(parameter for parameter, _ in self.parameters), "shapesGraph"}
        for index, token in enumerate(tokens):
            if token.is_word(*_FORBIDDEN):
                raise ShapesError(f"the query of {name} has {token.text.upper()}, which pre-binding does not allow")
            if token.kind == "variable" and token.text[1:] in bound and tokens[index - 1].is_word("AS"):
                raise ShapesError(f"the query of {name} gives {token.text} another value")
        form = tokens[self.query.shape.prologue].text.upper()
        if form != ("ASK" if self.ask else "SELECT"):
            raise ShapesError(f"the query of {name} is no {'ASK' if self.ask else 'SELECT'}")
        for group in self._groups(self.query.shape.query):
            if group.body is not None and group is not self.query.shape.query and "this" not in (group.projected or ()):
                raise ShapesError(f"the query of {name} has a sub-SELECT that does not give $this")
        projected = self.query.shape.query.projected
        if not self.ask and projected is not None and "this" not in projected:
            raise ShapesError(f"the query of {name} does not give $this")

    def _groups(self, group: GroupGraphPattern) -> Iterator[GroupGraphPattern]:
        yield group
        inner = [*group.others, *(() if group.body is None else (group.body,))]
        for one in (*inner, *(part for element in group.elements for part in element.groups)):
            yield from self._groups(one)

    # -- asking ---------------------------------------------------------------------------------------------------

    def solutions(self, pairs: Sequence[tuple[Any, Any]], ask: Ask) -> Iterator[SparqlViolation]:
        """The violations among pairs of a focus node and a value, which is the focus node where there is none."""
        parameters = {**dict(self.parameters), "shapesGraph": SHAPES_GRAPH}
        used = {token.text[1:] for token in self.query.tokens if token.kind == "variable"}
        given = {name: term for name, term in parameters.items() if name in used}
        alone = not self.ask and any(token.is_word(*_AGGREGATES) for token in self.query.tokens)
        blank = {row for row, pair in enumerate(pairs) if any(isinstance(term, ox.BlankNode) for term in pair)}
        named = sorted(set(range(len(pairs))) - blank)
        batches = [[row] for row in sorted(blank)]
        size = 1 if alone else _BATCH
        batches += [named[start : start + size] for start in range(0, len(named), size)]
        for rows in batches:
            apart = rows[0] in blank
            query = self._asked(rows, pairs, ask_apart=apart, alone=alone or apart)
            bound = {**given, **dict(zip(self.names, pairs[rows[0]], strict=False))} if apart else given
            names, found = ask(query.replaced(bindings=bound))
            place = {name: index for index, name in enumerate(names)}
            seen = set()
            for solution in found:
                row = rows[0] if _ROW not in place else int(solution[place[_ROW]].value)
                seen.add(row)
                if not self.ask:
                    value, path, message = (
                        solution[place[name]] if name in place else None for name in ("value", "path", "message")
                    )
                    text = message.value if isinstance(message, ox.Literal) else self._message(solution, names)
                    yield SparqlViolation(row, value, path if isinstance(path, ox.NamedNode) else None, text)
            if self.ask:
                for row in sorted(set(rows) - seen):
                    yield SparqlViolation(row, pairs[row][1], None, self._message((), ()))

    def _message(self, solution: Sequence[Any], names: Sequence[str]) -> str | None:
        """Its message, English first, with the values of variables in the place of {?name}."""
        if not self.messages:
            return None
        text = min(self.messages, key=lambda one: (one.language or "en") != "en").value
        values = {**dict(self.parameters), **dict(zip(names, solution, strict=False))}
        for name, term in values.items():
            if term is not None:
                shown = str(getattr(term, "value", term))
                text = text.replace(f"{{?{name}}}", shown).replace(f"{{${name}}}", shown)
        return text

    def _asked(self, rows: Sequence[int], pairs: Sequence[tuple[Any, Any]], *, ask_apart: bool, alone: bool) -> Query:
        """The query about some pairs, as a SELECT."""
        shape, tokens = self.query.shape, self.query.tokens
        first = tokens[shape.prologue]
        edits: list[Edit] = []
        if self.ask:
            projected = "?this ?value" if ask_apart else f"?{_ROW}"
            edits.append((first.start, first.end, f"SELECT DISTINCT {projected}"))
        elif not alone and shape.query.projected is not None:
            after = tokens[shape.prologue + 1]
            end = after.end if after.is_word("DISTINCT", "REDUCED") else first.end
            edits.append((end, end, f" ?{_ROW} "))
        body = shape.query.body
        if not ask_apart and body is not None:
            names = self.names if alone and not self.ask else (*self.names, _ROW)
            known = [(*pairs[row][: len(self.names)], ox.Literal(row)) for row in rows]
            for group in self._unknowing(body):
                given = names if group is body else self.names
                table = " ".join(f"({' '.join(format_term(term) for term in row[: len(given)])})" for row in known)
                at = tokens[group.first].end
                edits.append((at, at, f" VALUES ({' '.join(f'?{name}' for name in given)}) {{ {table} }} "))
        return self.query.spliced(edits)

    def _unknowing(self, body: GroupGraphPattern) -> Iterator[GroupGraphPattern]:
        """The groups that speak of a node without a triple pattern that binds it, and the outermost one."""
        shape = self.query.shape

        def inside(group: GroupGraphPattern) -> Iterator[GroupGraphPattern]:
            if group.body is not None:
                yield from inside(group.body)
                return
            mentioned = shape.mentions(group) & set(self.names)
            if group is body or mentioned - shape.certain(group):
                yield group
            for element in group.elements:
                if element.kind not in ("filter", "bind"):  # EXISTS knows what stands around it
                    for one in element.groups:
                        yield from inside(one)

        return inside(body)

    # -- which changes can touch it -------------------------------------------------------------------------------

    @cached_property
    def links(self) -> tuple[LinkedPattern, ...] | None:
        """Its triple patterns, as the ways from a node to them; None where they are not all connected so."""
        try:
            body = self.query.shape.query.body
            assert body is not None
            return tuple(itertools.chain(*self._linked(body, {})))
        except _UnconnectedError:
            return None

    def _linked(
        self, group: GroupGraphPattern, around: Mapping[str, tuple[bool, tuple[PropertyPath, ...]]]
    ) -> Iterator[Iterator[LinkedPattern]]:
        if group.body is not None:
            yield from self._linked(group.body, {})
            return
        ways = {name: (name == "value", ()) for name in self.names} | dict(around)
        patterns = [
            pattern for element in group.elements if element.kind == "triples" for pattern in self._patterns(element)
        ]
        while patterns:
            rest = []
            for subject, predicate, whole, value in patterns:
                if subject in ways:
                    of_value, steps = ways[subject]
                    yield iter((LinkedPattern(predicate, whole, False, of_value, steps),))
                    if (value and predicate is not None) or whole:
                        step = self.path if whole else PropertyPath("predicate", predicate=predicate)
                        assert step is not None
                        ways.setdefault(value, (of_value, (*steps, step)))
                elif value in ways and predicate is not None and not whole:
                    of_value, steps = ways[value]
                    yield iter((LinkedPattern(predicate, False, True, of_value, steps),))
                    back = PropertyPath("inverse", (PropertyPath("predicate", predicate=predicate),))
                    ways.setdefault(subject, (of_value, (*steps, back)))
                else:
                    rest.append((subject, predicate, whole, value))
            if len(rest) == len(patterns):
                raise _UnconnectedError
            patterns = rest
        ways.pop("", None)
        for element in group.elements:
            if element.kind == "graph":
                raise _UnconnectedError
            for inner in element.groups:
                yield from self._linked(inner, ways)

    def _patterns(self, element: Element) -> Iterator[tuple[str, Any, bool, str]]:
        """(subject, predicate, whether it is the shape's path, object) of an element; names of variables, else ''."""
        shape, tokens = self.query.shape, self.query.tokens
        first, last = element.subject
        subject = tokens[first]
        if last - first != 1 or subject.kind != "variable":
            raise _UnconnectedError
        parts = tokens[element.predicate : element.last]
        path = "" if self.path is None else str(self.path)
        length = len(tokenize(path))
        whole = bool(path) and shape.source(element.predicate, element.predicate + length) == path
        predicate = None
        if not whole:
            length = 1
            if parts[0].kind in ("iri", "name") or parts[0].text == "a":
                predicate = self._iri(parts[0].text)
            elif parts[0].kind != "variable":
                raise _UnconnectedError
        values: list[list[Any]] = [[]]
        for token in parts[length:]:
            if token.text == ",":
                values.append([])
            elif token.kind in _PLAIN or token.text in ("^^", "true", "false", "-", "+"):
                values[-1].append(token)
            else:
                raise _UnconnectedError
        for value in values:
            name = value[0].text[1:] if len(value) == 1 and value[0].kind == "variable" else ""
            if not value or (value[0].kind == "variable" and len(value) > 1) or (value[0].text in ("+", "-") and whole):
                raise _UnconnectedError
            yield subject.text[1:], predicate, whole, name

    def _iri(self, text: str) -> Any:
        if text == "a":
            return _TYPE
        (row,) = ox.Store().query(  # type: ignore[misc]  # a SELECT
            f"SELECT ({text} AS ?iri) {{}}", prefixes={**dict(self.prefixes), **self._declared}
        )
        return row[0]

    @cached_property
    def _declared(self) -> dict[str, str]:
        """The prefixes that the query itself declares."""
        tokens = self.query.tokens[: self.query.shape.prologue]
        return {
            tokens[index + 1].text[:-1]: tokens[index + 2].text[1:-1]
            for index, token in enumerate(tokens)
            if token.is_word("PREFIX")
        }


class _UnconnectedError(Exception):
    """A query that is not made of triple patterns that lead from one to the other."""
