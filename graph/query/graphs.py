"""GRAPH as the operator that it is (SPARQL 1.1, section 18.6): its group is evaluated once for each named graph.

pyoxigraph hands the graph down to triple patterns instead, so that whatever else stands in the group knows nothing of
it. Such a group is asked of each graph of the query's dataset, which is then the default graph, from the innermost one
outwards, and its solutions take its place in the query.
"""

from __future__ import annotations

import itertools
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyoxigraph as ox

from worlds.graph.query.query import Query
from worlds.graph.query.query_limits import remaining
from worlds.graph.query.running import Functions, go_on
from worlds.graph.query.shape import Element, GroupGraphPattern, QueryShape
from worlds.graph.query.tables import Tables
from worlds.graph.query.tokens import Edit, Token, closing, error_at, spliced

_NONE = ox.NamedNode("urn:worlds:unbound")
_TABLE = f"urn:worlds:table:{uuid.uuid4().hex}:"  # no query has it
_tables = re.compile(rf"(?:UNDEF )?<{_TABLE}([0-9]+)>").sub
_FEW = 20  # rows that stand in a query as they are
_EXISTS = "urn:worlds:exists:"

Put = Callable[[Query, Functions | None], Any]


Table = Callable[[str, Any], str]  # a group pattern that binds a variable to a term


def substituted(shape: QueryShape, group: GroupGraphPattern, values: Mapping[str, Any], table: Table) -> str:
    """The text of a group with values in the place of variables.

    In each group that uses one, a variable of its own has the value, which nothing joins with: so MINUS, OPTIONAL and
    sub-SELECTs see a constant. A variable that the group gives values itself is joined with the value.
    """
    tokens = shape.tokens
    assigned = set()
    in_values = False
    for at in range(group.first, group.last):
        in_values = (in_values and tokens[at].text != "{") or tokens[at].is_word("VALUES")
        if tokens[at].kind == "variable" and (in_values or tokens[at - 1].is_word("AS")):
            assigned.add(tokens[at].text[1:])
    constant = {name: term for name, term in values.items() if name not in assigned}
    joined = " ".join(table(name, term) for name, term in values.items() if name in assigned)
    start = tokens[group.first].start
    edits = list(_edits(shape, group, constant, table))
    text = spliced(shape.text, [edit for edit in edits if edit[0] >= start], 0, tokens[group.last - 1].end)[start:]
    return f"{{ {joined} {text} }}" if joined else text


def _edits(shape: QueryShape, group: GroupGraphPattern, values: Mapping[str, Any], table: Table) -> Iterator[Edit]:
    tokens = shape.tokens
    if group.body is not None:
        visible = shape.mentions(group.body) if group.projected is None else group.projected
        values = {name: term for name, term in values.items() if name in visible}
    inner = [*group.others, *([group.body] if group.body else ())]
    inner += [one for element in group.elements for one in element.groups]
    for one in inner:
        yield from _edits(shape, one, values, table)
    nested = {at for one in inner for at in range(one.first, one.last)}
    direct = {
        at for element in group.elements if element.kind == "triples" for at in range(element.subject[0], element.last)
    }
    direct |= {element.first + 1 for element in group.elements if element.kind == "graph"}
    # the clauses of a sub-SELECT speak of the variables of its body
    number = group.body.first if group.body is not None else group.first
    used = {}
    for at in range(group.first, group.last):
        name = tokens[at].text[1:]
        if tokens[at].kind != "variable" or at in nested or name not in values:
            continue
        if at in direct and isinstance(values[name], ox.NamedNode):
            yield tokens[at].start, tokens[at].end, f"{values[name]}"
        else:
            used[name] = f"{name}_{number}"
            yield tokens[at].start, tokens[at].end, f"?{used[name]}"
    place = tokens[number].end
    for name, own in used.items():
        yield place, place, f" {table(own, values[name])} "


class Operators:
    """Rewrites queries over one store so that pyoxigraph's answers agree with the specification.

    What its functions raise goes to `failures`, since pyoxigraph makes an unbound
    value of it.
    """

    def __init__(self, store: ox.Store, put: Put, functions: Functions | None, failures: list[BaseException]) -> None:
        self._store = store
        self._put = put
        self._functions: dict[Any, Callable[..., Any]] = dict(functions or {})
        self._tables = Tables("graph", self._functions)
        self._kept: list[str] = []  # rows of VALUES, which nobody reads before pyoxigraph does
        self._failures = failures

    def plain(self, query: Query) -> Query:
        """The query, which parses, without the parts that pyoxigraph answers wrongly."""
        while elements := _innermost(self._hard(query, query.shape.query)):
            query = query.spliced([self._solved(query, element) for element in elements])
        query = query.spliced(self._tests(query))
        return query.spliced([*self._paths(query), *_void(query.shape)])

    def answer(self, query: Query) -> Any:
        """The answer of pyoxigraph to a query, which parses."""
        return self._asked(self.plain(query))

    def _asked(self, query: Query) -> Any:
        if self._kept and _TABLE in query.text:
            query = query.replaced(text=_tables(lambda mark: self._kept[int(mark[1])], query.text))
        return self._put(query, self._functions)

    # -- which groups ---------------------------------------------------------------------------------------------

    def _hard(self, query: Query, group: GroupGraphPattern) -> Iterator[Element]:
        """The GRAPH patterns that must be evaluated here; ones that depend on the surroundings of EXISTS wait."""
        for test in group.others:
            if not self._depends(query, test):
                yield from self._hard(query, test)
        if group.body is not None:
            yield from self._hard(query, group.body)
        for element in group.elements:
            if element.kind == "service":
                continue
            for inner in element.groups:
                depends = element.kind in ("filter", "bind", "lateral") and self._depends(query, inner)
                if depends and element.kind == "lateral":
                    told = "LATERAL cannot give values to a GRAPH with such a group: write it without LATERAL"
                    raise error_at(told, query.text, query.tokens[element.first].start)
                if not depends:
                    yield from self._hard(query, inner)
            if element.kind == "graph" and self._is_hard(query, element):
                yield element

    def _is_hard(self, query: Query, element: Element) -> bool:
        shape, group = query.shape, element.groups[0]
        name = shape.tokens[element.first + 1]
        if not group.elements and group.body is None:
            return False
        if name.kind == "variable":
            own = any(one.kind == "variable" and one.text[1:] == name.text[1:] for one in _inside(shape, group))
            return own or not _is_easy(shape, group)
        if _is_easy(shape, group):
            return False
        inside = _inside(shape, group)
        return any(one.is_word("GRAPH") or one.text in ("*", "?") for one in inside) or not self._graphs(query, name)

    def _depends(self, query: Query, test: GroupGraphPattern) -> bool:
        """Whether the group of EXISTS has a GRAPH that needs the values of the variables around it."""
        shape = query.shape
        around: frozenset[str] | None = None
        for element in self._hard(query, test):
            if around is None:
                around = frozenset(shape.names(0, test.first) | shape.names(test.last, len(shape.tokens)))
            shared = shape.mentions(element.groups[0]) & around
            if not all(_joins(shape, element.groups[0], name) for name in shared):
                return True
        return any(self._depends(query, inner) for inner in _tests_in(test))

    # -- their solutions ------------------------------------------------------------------------------------------

    def _graphs(self, query: Query, name: Token) -> list[Any]:
        """The graphs of the dataset that a GRAPH ranges over."""
        named = query.dataset()[1]
        if name.kind != "variable":
            (given,) = query.resolved([name])
        elif (given := query.bindings.get(name.text[1:])) is None:
            return list(self._store.named_graphs()) if named is None else list(dict.fromkeys(named))
        there = given in named if named is not None else _is_graph(given) and self._store.contains_named_graph(given)
        return [given] if there else []

    def _solved(self, query: Query, element: Element) -> Edit:
        """The solutions of a GRAPH, to stand in its place."""
        shape, group = query.shape, element.groups[0]
        name = shape.tokens[element.first + 1]
        start, end = shape.tokens[element.first].start, shape.tokens[element.last - 1].end
        if not _reads(shape, group):
            return start, end, f"{{ {shape.source(group.first, group.last)} GRAPH {name.text} {{}} }}"
        names = sorted(_visible(shape, group))
        columns, own = names, None
        if name.kind == "variable":
            own = name.text[1:]
            columns = names if own in names else [*names, own]
        projected = " ".join(f"?{one}" for one in names) or "(1 AS ?_)"
        inner = query.replaced(
            text=f"{shape.source(0, shape.prologue)} SELECT {projected} {{ {shape.source(group.first, group.last)} }}",
            bindings={one: term for one, term in query.bindings.items() if one in names},
            union=False,
            named_graphs=query.dataset()[1] if any(one.is_word("GRAPH") for one in _inside(shape, group)) else None,
        )
        tests = (self._depends(inner, test) for test in _tests_in(inner.shape.query))
        varies = any(tests) or any(True for _ in _nullable(inner.shape))  # with the graph
        rows: list[list[Any]] = []
        for graph in self._graphs(query, name):
            go_on()
            remaining(query.deadline)
            asked = inner.replaced(default_graphs=[graph])
            for solution in self._asked(self.plain(asked) if varies else asked):
                row = list(solution)[: len(names)]
                if own is not None:
                    place = columns.index(own)
                    if place < len(row) and row[place] not in (None, graph):
                        continue
                    row[place:] = [graph, *row[place + 1 :]]
                rows.append(row)
        return start, end, self._table(columns, rows)

    def _table(self, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
        """A group pattern that has the rows as its solutions."""

        def keep(lines: list[str]) -> str:
            if len(lines) <= _FEW:
                return " ".join(lines)
            self._kept.append(" ".join(lines))
            return f"{'UNDEF ' * any(None in row for row in rows)}<{_TABLE}{len(self._kept) - 1}>"

        return self._tables.table(names, rows, keep)

    # -- EXISTS that depends on what is around it -----------------------------------------------------------------

    def _tests(self, query: Query) -> Iterator[Edit]:
        """Such a test becomes a call of a function, which asks it with the values of the variables around it."""
        tokens = query.tokens
        for test in _tests_in(query.shape.query):
            if not self._depends(query, test):
                continue
            names = sorted(one for one in query.shape.mentions(test) if not one.startswith("_:"))
            function = ox.NamedNode(f"{_EXISTS}{len(self._functions)}")
            self._functions[function] = self._test(query, test, names)
            given = ", ".join(f"COALESCE(?{name}, {_NONE})" for name in names)
            negated = tokens[test.first - 2].is_word("NOT")
            start = tokens[test.first - 1 - negated].start
            yield start, tokens[test.last - 1].end, f"({'!' * negated}{function}({given}))"

    def _test(self, query: Query, test: GroupGraphPattern, names: Sequence[str]) -> Callable[..., ox.Literal]:
        shape = query.shape
        first, last = shape.query.dataset
        head = f"{shape.source(0, shape.prologue)} ASK {shape.source(first, last)} "
        known: dict[tuple[Any, ...], ox.Literal] = {}

        def ask(*values: Any) -> ox.Literal:
            if values not in known:
                given = {name: value for name, value in zip(names, values, strict=True) if value != _NONE}
                try:
                    text = head + substituted(shape, test, given, lambda name, term: self._table([name], [[term]]))
                    known[values] = ox.Literal(bool(self.answer(query.replaced(text=text, bindings={}))))
                except BaseException as error:
                    self._failures.append(error)
                    raise
            return known[values]

        return ask

    # -- paths of length zero from or to a node that is not in the active graph -----------------------------------

    def _paths(self, query: Query) -> Iterator[Edit]:
        """Where nothing is known of a node, `<node> path* ?x` is `VALUES ?x { <node> }`; EXISTS may be given it."""
        for start, stop, ends in _nullable(query.shape):
            if ends[0][0] in "?$" and ends[1][0] in "?$":
                one, two = ends
                given = f"IF(BOUND({one}) && BOUND({two}), sameTerm({one}, {two}), BOUND({one}) || BOUND({two}))"
                yield start, stop, f"{{ {query.text[start:stop]} }} UNION {{ FILTER({given}) }}"
                continue
            node, other = ends[::-1] if ends[0][0] in "?$" else ends
            if self._is_known(query, node):
                continue
            if other[0] in "?$":
                yield start, stop, f" VALUES {other} {{ {node} }} "
            elif other == node:
                yield start, stop, " {} "

    def _is_known(self, query: Query, node: str) -> bool:
        first, last = query.shape.query.dataset
        head = f"{query.shape.source(0, query.shape.prologue)} ASK {query.shape.source(first, last)}"
        text = f"{head} {{ {{ VALUES ?n {{ {node} }} ?n ?p ?o }} UNION {{ ?s ?p {node} }} }}"
        return bool(self._put(query.replaced(text=text, bindings={}), None))


def _void(shape: QueryShape) -> Iterator[Edit]:
    """Drop a MINUS without a common variable, which removes nothing; in EXISTS, pyoxigraph shares others."""
    for path, element in shape.walk():
        if element.kind == "minus" and any(through.kind in ("filter", "bind") for _, through in path):
            first = path[-1][0].first
            if shape.names(first, element.first).isdisjoint(shape.names(element.first, element.last)):
                yield shape.tokens[element.first].start, shape.tokens[element.last - 1].end, ""


def _is_graph(term: Any) -> bool:
    return isinstance(term, ox.NamedNode | ox.BlankNode)


def _innermost(elements: Iterable[Element]) -> list[Element]:
    """The elements that hold none of the others."""
    ordered = sorted(elements, key=lambda element: element.first)
    following = [element.first for element in ordered[1:]]
    return [one for one, after in itertools.zip_longest(ordered, following) if after is None or after >= one.last]


def _nullable(shape: QueryShape) -> Iterator[tuple[int, int, tuple[str, str]]]:
    """Where a path that may have length zero stands alone, and its two ends.

    One of them is an IRI or a literal, or they are variables that stand nowhere else in an EXISTS.
    """
    tokens = shape.tokens
    for path, element in shape.walk():
        if element.kind != "triples" or element.statement != (element.subject[0], element.last):
            continue
        first = element.subject[1]
        marks = [at for at in range(first, element.last) if tokens[at].text in ("*", "?")]
        if first - element.subject[0] != 1 or not marks or any(through.kind == "service" for _, through in path):
            continue
        steps, ends = tokens[first : marks[-1]], (tokens[first - 1 : first], tokens[marks[-1] + 1 : element.last])
        whole = len(steps) == 1 or (steps[0].text == "(" and closing(steps, 0) == len(steps) - 1)
        terms = [_is_term(end) for end in ends]
        outer = next((at for at, (_, through) in enumerate(path) if through.kind in ("filter", "bind")), len(path))
        names = [token.text for group, _ in path[outer + 1 : outer + 2] for token in _inside(shape, group)]
        counts = [names.count(end[0].text) for end in ends]
        tested = counts == [1, 1] or (any(counts) and ends[0][0].text == ends[1][0].text)
        if (
            whole
            and (any(terms) or tested)
            and all(term or end[0].kind == "variable" for term, end in zip(terms, ends, strict=True))
        ):
            start, stop = ends[0][0].start, ends[1][-1].end
            yield start, stop, (ends[0][0].text, shape.text[ends[1][0].start : stop])


def _is_term(tokens: Sequence[Token]) -> bool:
    """Whether they are one IRI or literal."""
    first = tokens[0]
    if len(tokens) == 1:
        return first.kind in ("iri", "name", "string", "number") or first.is_word("TRUE", "FALSE")
    if first.kind == "string":
        return tokens[1].kind == "language" or (tokens[1].text == "^^" and len(tokens) == 3)
    return first.text in ("+", "-") and len(tokens) == 2


def _reads(shape: QueryShape, group: GroupGraphPattern) -> bool:
    """Whether a group, or a test in it, reads the graph that it stands in."""
    if any(_reads(shape, inner) for inner in (*group.others, *([group.body] if group.body else ()))):
        return True
    kinds = ((element.kind, element.groups) for element in group.elements if element.kind not in ("graph", "service"))
    return any(kind == "triples" or any(_reads(shape, inner) for inner in groups) for kind, groups in kinds)


def _visible(shape: QueryShape, group: GroupGraphPattern) -> set[str]:
    """The variables that are in scope outside of a group."""
    if group.body is not None:
        return _visible(shape, group.body) if group.projected is None else set(group.projected)
    found: set[str] = set()
    for element in group.elements:
        if element.kind == "bind":
            found.add(shape.tokens[element.last - 2].text[1:])
        elif element.groups and element.kind not in ("minus", "filter"):
            found |= shape.names(element.first, element.groups[0].first)
            found = found.union(*(_visible(shape, inner) for inner in element.groups))
        elif element.kind in ("triples", "values"):
            found |= {name for name in shape.mentions(element) if not name.startswith("_:")}
    return found


def _inside(shape: QueryShape, group: GroupGraphPattern) -> Sequence[Token]:
    return shape.tokens[group.first : group.last]


def _is_easy(shape: QueryShape, group: GroupGraphPattern) -> bool:
    """Whether pyoxigraph evaluates a group in each graph: triple patterns bind the graph in each of its parts."""
    if group.body is not None:
        return False
    binds = False
    for element in group.elements:
        if element.kind == "triples":
            binds = True
            if any(token.text in ("*", "?") for token in shape.tokens[element.subject[0] : element.last]):
                return False
        elif element.kind in ("group", "optional"):
            if not all(_is_easy(shape, inner) for inner in element.groups):
                return False
            binds = binds or element.kind == "group"
        elif element.kind not in ("filter", "bind", "values") or element.groups:
            return False
    return binds


def _joins(shape: QueryShape, group: GroupGraphPattern, name: str) -> bool:
    """Whether a value of a variable may as well be joined with the solutions of a group as be written into it."""
    if group.body is not None:
        return name not in shape.mentions(group)
    for element in group.elements:
        if name not in shape.mentions(element):
            continue
        if element.kind == "triples":
            if any(token.text in ("*", "?") for token in shape.tokens[element.subject[0] : element.last]):
                return False
        elif element.kind in ("group", "graph"):
            if not all(_joins(shape, inner, name) for inner in element.groups):
                return False
        elif element.kind == "filter":
            if element.groups or name not in shape.certain(group):
                return False
        elif element.kind != "values":
            return False
    return True


def _tests_in(group: GroupGraphPattern) -> Iterator[GroupGraphPattern]:
    """The groups that the outermost EXISTS in a group test."""
    yield from group.others
    if group.body is not None:
        yield from _tests_in(group.body)
    for element in group.elements:
        for inner in element.groups:
            if element.kind in ("filter", "bind"):
                yield inner
            elif element.kind != "service":
                yield from _tests_in(inner)
