"""Evaluates SPARQL queries over a pyoxigraph store."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.results import Solutions, Triples, projected_variables, tokens
from worlds.graph.terms import format_term

DEEPEST = 256  # nested groups and brackets; pyoxigraph's parser overflows its stack somewhere beyond a thousand
_PLACE = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)


def evaluate(
    store: ox.Store,
    query: str,
    *,
    prefixes: Mapping[str, str],
    bindings: Mapping[str, Any] | None = None,
    union: bool = False,
    functions: Mapping[ox.NamedNode, Any] | None = None,
) -> Solutions | Triples | bool:
    """Answer a query: `Solutions` for SELECT, a bool for ASK, `Triples` for CONSTRUCT and DESCRIBE.

    Everything is fetched before it returns, so that later writes to the store change nothing; terms are made when
    they are read. QueryError as for `run`.
    """
    found = run(store, query, prefixes=prefixes, bindings=bindings, union=union, functions=functions)
    try:
        if isinstance(found, ox.QuerySolutions):
            names = projected_variables(query, [variable.value for variable in found.variables])
            return Solutions(list(found), names)
        if isinstance(found, ox.QueryTriples):
            return Triples(list(found), prefixes)
        return bool(found)
    except (OSError, RuntimeError, ValueError) as error:
        raise QueryError(f"the query failed while it ran: {error}") from error


def run(
    store: ox.Store,
    query: str,
    *,
    prefixes: Mapping[str, str],
    bindings: Mapping[str, Any] | None = None,
    union: bool = False,
    default_graphs: Sequence[Any] | None = None,
    named_graphs: Sequence[Any] | None = None,
    functions: Mapping[ox.NamedNode, Any] | None = None,
) -> ox.QuerySolutions | ox.QueryTriples | ox.QueryBoolean:
    """pyoxigraph's own answer. `default_graphs` are merged to be the default graph; `union` merges all graphs.

    QueryError, with line and column where the parser tells, for what does not parse, is nested deeper than DEEPEST,
    or asks another endpoint (SERVICE): queries reach no network.
    """
    _guard(query)
    bindings = {name.lstrip("?$"): term for name, term in (bindings or {}).items()}
    if bindings:
        query, bindings = _written_in(query, bindings)
    try:
        return store.query(
            query,
            prefixes=dict(prefixes),
            substitutions={ox.Variable(name): term for name, term in bindings.items()} or None,
            use_default_graph_as_union=union,
            default_graph=None if default_graphs is None else list(default_graphs),
            named_graphs=None if named_graphs is None else list(named_graphs),
            custom_functions=dict(functions) if functions else None,
        )
    except SyntaxError as error:
        raise syntax_error(error, query) from error
    except (OSError, RuntimeError, ValueError) as error:
        raise QueryError(f"the query cannot be answered: {error}") from error


def _guard(query: str) -> None:
    if not isinstance(query, str):
        raise TypeError(f"a query is a str, not {type(query).__name__}")
    deep = query.count("{") + query.count("(") + query.count("[") > DEEPEST
    if not deep and "service" not in query.lower():
        return
    depth = 0
    for token in tokens(query):
        mark = token["mark"]
        if mark is None:
            if token["word"] and token["word"].upper() == "SERVICE":
                raise _at("SERVICE is not allowed: queries reach no network", query, token.start())
        elif mark in "{([":
            depth += 1
            if depth > DEEPEST:
                raise _at(f"nested deeper than {DEEPEST}", query, token.start())
        elif mark in "})]":
            depth -= 1


def _written_in(query: str, bindings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The query with values in the place of those variables that its SELECT doesn't give, and the other bindings.

    pyoxigraph substitutes only variables that a SELECT projects.
    """
    clause: list[str] = []
    depth = 0
    for token in tokens(query):
        if token["word"] and token["word"].upper() in ("ASK", "CONSTRUCT", "DESCRIBE") and not clause:
            return query, dict(bindings)
        if token["word"] and token["word"].upper() == "SELECT" and not clause:
            clause.append("SELECT")
        elif clause:
            if token["mark"] == "{" or (token["word"] and token["word"].upper() in ("WHERE", "FROM")):
                break
            depth += {"(": 1, ")": -1}.get(token["mark"] or "", 0)
            if depth == 0:
                clause.append(token["mark"] or token["variable"] or "")
    if "*" in clause:
        return query, dict(bindings)
    hidden = {name: term for name, term in bindings.items() if name not in clause}
    pieces: list[str] = []
    at = 0
    for token in tokens(query):
        name = token["variable"]
        if name in hidden:
            term = hidden[name]
            if isinstance(term, ox.BlankNode):
                raise QueryError(f"?{name} is bound to a blank node, so the SELECT must give it too: SELECT ?{name} …")
            pieces += [query[at : token.start()], format_term(term)]
            at = token.end()
    pieces.append(query[at:])
    return "".join(pieces), {name: term for name, term in bindings.items() if name not in hidden}


def _at(message: str, query: str, offset: int) -> QueryError:
    before = query[:offset]
    return QueryError(message, line=before.count("\n") + 1, column=offset - before.rfind("\n"))


def syntax_error(error: SyntaxError, query: str) -> QueryError:
    """The parser's complaint without its long list of what it would have taken."""
    found = _PLACE.match(str(error))
    if not found:
        return QueryError(str(error))
    line, column, expected = int(found[1]), int(found[2]), found[3]
    lines = query.split("\n")
    near = lines[line - 1][column - 1 :].strip()[:40] if line <= len(lines) else ""
    message = f"unexpected {near!r}" if near else "unexpected end of the query"
    if "Prefix not found" in expected:
        prefix = re.search(r"([\w.-]*):[^\s:]*$", lines[line - 1][: column - 1])
        message = f"the prefix {prefix[1] + ':' if prefix else ''!r} is not declared, and the world does not know it"
    elif len(expected) < 80:
        message += f"; expected {expected.removeprefix('expected ')}"
    return QueryError(message, line=line, column=column)
