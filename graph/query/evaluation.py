"""Evaluates SPARQL queries over a pyoxigraph store."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeAlias

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.query.guard import DEEPEST, Functions, check, with_room
from worlds.graph.query.limits import CAN_FORK, Child, Running, Writer, deadline_of, in_time, remaining
from worlds.graph.query.repairs import checked, concerned, repaired
from worlds.graph.query.results import Solutions, Triples, projected_variables
from worlds.graph.query.tokens import Token, error_at, scan
from worlds.graph.terms import format_term

__all__ = ["DEEPEST", "Selected", "evaluate", "first_keyword", "run", "syntax_error"]

_PLACE = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_QUERIES = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_UPDATES = ("INSERT", "DELETE", "WITH", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY")
_KEYWORDS = re.compile(r"(one of )?(\w+|\"[^\"]+\")(, (\w+|\"[^\"]+\"))*")
_BEGUN = b"!"  # what the child writes when it could touch the store
_BEGINNING = 1.0  # seconds to wait for that
_FORKS = 3  # children that may fail to begin
_TSV, _JSON = ox.QueryResultsFormat.TSV, ox.QueryResultsFormat.JSON


class Selected(list[ox.QuerySolution]):
    """The solutions of a SELECT, with its variables as pyoxigraph orders them."""

    def __init__(self, solutions: Iterable[ox.QuerySolution], variables: Sequence[ox.Variable]) -> None:
        super().__init__(solutions)
        self.variables = variables


Found: TypeAlias = Selected | list[ox.Triple] | bool


def evaluate(
    store: ox.Store,
    query: str,
    *,
    prefixes: Mapping[str, str],
    bindings: Mapping[str, Any] | None = None,
    union: bool = False,
    timeout: float | None = None,
    max_results: int | None = None,
    max_memory: int | None = None,
    allow_network: bool | Collection[str] = False,
    functions: Functions | None = None,
) -> Solutions | Triples | bool:
    """Answer a query: `Solutions` for SELECT, a bool for ASK, `Triples` for CONSTRUCT and DESCRIBE.

    Everything is fetched before it returns, so that later writes to the store change nothing; terms are made when
    they are read. Limits and errors as for `run`.
    """
    found = run(
        store,
        query,
        prefixes=prefixes,
        bindings=bindings,
        union=union,
        timeout=timeout,
        max_results=max_results,
        max_memory=max_memory,
        allow_network=allow_network,
        functions=functions,
    )
    if isinstance(found, bool):
        return found
    if isinstance(found, Selected):
        return Solutions(found, projected_variables(query, [variable.value for variable in found.variables]))
    return Triples(found, prefixes)


def run(
    store: ox.Store,
    query: str,
    *,
    prefixes: Mapping[str, str],
    bindings: Mapping[str, Any] | None = None,
    union: bool = False,
    default_graphs: Sequence[Any] | None = None,
    named_graphs: Sequence[Any] | None = None,
    timeout: float | None = None,
    max_results: int | None = None,
    max_memory: int | None = None,
    allow_network: bool | Collection[str] = False,
    functions: Functions | None = None,
    running: Running | None = None,
) -> Found:
    """What pyoxigraph answers, all of it. `default_graphs` are merged to be the default graph; `union` merges all.

    `timeout`, in seconds, and `max_memory`, in bytes on top of what the process holds, stop the query wherever it is:
    it then runs in a forked child, whose answer is the same (see `limits`). Where nothing can be forked, `timeout` is
    looked at between solutions only, and `max_memory`, which needs Linux, is a QueryError. More than `max_results`
    solutions or triples are a QueryError too, before more are fetched. SERVICE reaches the hosts that `allow_network`
    names, or all. `functions` are called in this thread and process; what they raise is an unbound value. `running` can
    interrupt the child.

    QueryError, with line and column where the parser tells, for what does not parse, cannot be evaluated, or is too
    deep or long (see `guard`); QueryTimeout. ValueError for what is no limit.
    """
    for name, limit in (("max_results", max_results), ("max_memory", max_memory)):
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise ValueError(f"{name} is a whole number above 0, not {limit!r}")
    deadline = deadline_of(timeout)
    check(query, allow_network=allow_network)
    bindings = {name.lstrip("?$"): term for name, term in (bindings or {}).items()}
    if bindings:
        query, bindings = _written_in(query, bindings)
    query = checked(query)

    def ask(functions: Functions | None) -> ox.QuerySolutions | ox.QueryTriples | ox.QueryBoolean:
        if not concerned(query):
            return put(query, functions)  # parses, and evaluates nothing yet
        put(query, functions)  # errors are those of the query as it is written
        return put(repaired(query, store, prefixes=prefixes, named_graphs=named_graphs), functions)

    def put(query: str, functions: Functions | None) -> ox.QuerySolutions | ox.QueryTriples | ox.QueryBoolean:
        return store.query(
            query,
            prefixes=dict(prefixes),
            substitutions={ox.Variable(name): term for name, term in bindings.items()} or None,
            use_default_graph_as_union=union,
            default_graph=None if default_graphs is None else list(default_graphs),
            named_graphs=None if named_graphs is None else list(named_graphs),
            custom_functions=dict(functions) if functions else None,
        )

    def fetch(functions: Functions | None) -> Found:
        found = ask(functions)
        try:
            if isinstance(found, ox.QuerySolutions):
                return Selected(_fetched(in_time(found, deadline), max_results), found.variables)
            if isinstance(found, ox.QueryTriples):
                return _fetched(in_time(found if max_results is None else _distinct(found), deadline), max_results)
            return bool(found)
        finally:
            del found

    def write(functions: Functions | None, out: Writer) -> None:
        next(store.quads_for_pattern(None, None, None), None)
        out.write(_BEGUN)
        _write(ask(functions), out)

    def begin() -> Child:
        return Child(write, functions=functions, deadline=deadline, max_memory=max_memory, running=running or Running())

    def fork(_: Functions | None) -> Child:
        # A store on disk has threads, which hold its locks now and then: a child that was forked just then waits for
        # a lock that nobody will release. It shows at the first touch of the store.
        for _attempt in range(_FORKS):
            patience = min(_BEGINNING, (remaining(deadline) or 4 * _BEGINNING) / 4)
            child = begin()
            if child.begins(patience):
                return child
            child.__exit__()
        return begin()

    with _query_errors(query, prefixes):
        if max_memory is None and (deadline is None or not CAN_FORK):
            return with_room(query, fetch, functions)
        with with_room(query, fork) as child:
            return _read(child, max_results)


@contextlib.contextmanager
def _query_errors(query: str, prefixes: Collection[str]) -> Iterator[None]:
    """Turns what pyoxigraph raises into QueryErrors."""
    try:
        yield
    except SyntaxError as error:
        raise syntax_error(error, query, prefixes) from error
    except (OSError, RuntimeError, ValueError, MemoryError) as error:
        raise QueryError(f"the query cannot be answered: {error}") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # a BaseException, as a KeyboardInterrupt is
            raise QueryError(f"the query cannot be answered, pyoxigraph failed: {error}") from error
        raise


# Results of pyoxigraph may be dropped only in the thread that made them. An error, of a custom function too, keeps the
# frames that it passed and their callers', and can be dropped anywhere: by its handler or the garbage collector, in
# any thread. So a frame that is left has no variable that is such a result.


def _fetched(items: Iterable[Any], most: int | None) -> list[Any]:
    try:
        fetched = list(items if most is None else islice(items, most + 1))
    finally:
        del items
    if most is not None and len(fetched) > most:
        raise QueryError(f"the query has more than {most:,} results, its limit", kind="results")
    return fetched


def _distinct(triples: Iterable[ox.Triple]) -> Iterable[ox.Triple]:
    seen: set[ox.Triple] = set()

    def is_new(triple: ox.Triple) -> bool:
        known = triple in seen
        seen.add(triple)
        return not known

    return filter(is_new, triples)


# The child's answer: a letter, then the solutions as TSV, which is read twice as fast as JSON but has no rows without
# columns, or the triples as N-Triples.


def _write(found: ox.QuerySolutions | ox.QueryTriples | ox.QueryBoolean, out: Writer) -> None:
    if isinstance(found, ox.QuerySolutions):
        out.write(b"T" if found.variables else b"J")
        found.serialize(out, format=_TSV if found.variables else _JSON)  # type: ignore[arg-type]  # a stream
    elif isinstance(found, ox.QueryTriples):
        out.write(b"N")
        found.serialize(out, format=ox.RdfFormat.N_TRIPLES)  # type: ignore[arg-type]  # a stream
    else:
        out.write(b"1" if found else b"0")


def _read(child: Child, max_results: int | None) -> Found:
    child.read(len(_BEGUN))
    form = child.read(1)
    if form in (b"T", b"J"):
        found = ox.parse_query_results(child, format=_TSV if form == b"T" else _JSON)  # type: ignore[arg-type]
        try:
            assert isinstance(found, ox.QuerySolutions)
            return Selected(_fetched(found, max_results), found.variables)
        finally:
            del found
    if form == b"N":
        quads = ox.parse(child, format=ox.RdfFormat.N_TRIPLES, lenient=True)  # type: ignore[arg-type]
        return _fetched(_distinct(quad.triple for quad in quads), max_results)
    child.read()
    return form == b"1"


def _written_in(query: str, bindings: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The query with values in the place of those variables that its SELECT doesn't give, and the other bindings.

    pyoxigraph substitutes only variables that a SELECT projects.
    """
    clause: list[str] = []
    depth = 0
    for token in scan(query):
        if token.is_word("ASK", "CONSTRUCT", "DESCRIBE") and not clause:
            return query, dict(bindings)
        if token.is_word("SELECT") and not clause:
            clause.append("SELECT")
        elif clause:
            if token.text == "{" or token.is_word("WHERE", "FROM"):
                break
            depth += {"(": 1, ")": -1}.get(token.text, 0)
            if depth == 0:
                clause.append(token.text[1:] if token.kind == "variable" else token.text)
    if "*" in clause:
        return query, dict(bindings)
    hidden = {name: term for name, term in bindings.items() if name not in clause}
    if not hidden:
        return query, dict(bindings)
    pieces: list[str] = []
    at = 0
    for token in scan(query):
        if token.kind == "variable" and (name := token.text[1:]) in hidden:
            term = hidden[name]
            if isinstance(term, ox.BlankNode):
                raise QueryError(f"?{name} is bound to a blank node, so the SELECT must give it too: SELECT ?{name} …")
            pieces += [query[at : token.start], format_term(term)]
            at = token.end
    pieces.append(query[at:])
    return "".join(pieces), {name: term for name, term in bindings.items() if name not in hidden}


def first_keyword(text: str) -> tuple[Token, bool | None] | None:
    """What a query or an update begins with after its prologue, and whether that is of an update, None if of neither.

    None where the prologue does not end.
    """
    before: Token | None = None
    with contextlib.suppress(QueryError):
        for token in scan(text):
            if token.is_word("PREFIX", "BASE", "VERSION"):
                before = token
            elif before is None:
                is_update = token.is_word(*_UPDATES)
                return token, is_update if is_update or token.is_word(*_QUERIES) else None
            elif token.kind == "name" and before.is_word("PREFIX"):
                continue
            elif token.kind in ("iri", "string"):
                before = None
            else:
                return None
    return None


def _unknown_prefix(query: str, prefixes: Collection[str], end: int) -> Token | None:
    """The first name before an offset whose prefix is neither declared nor among `prefixes`."""
    declared = set(prefixes)
    before: Token | None = None
    with contextlib.suppress(QueryError):
        for token in scan(query):
            if token.start >= end:
                break
            if token.kind == "name":
                prefix = token.text.partition(":")[0]
                if before is not None and before.is_word("PREFIX"):
                    declared.add(prefix)
                elif prefix not in declared:
                    return token
            before = token
    return None


def syntax_error(error: SyntaxError, query: str, prefixes: Collection[str], *, update: bool = False) -> QueryError:
    """The parser's complaint without its long list of what it would have taken.

    What is no query at all, or an update where a query is wanted, is told apart; `update` is where one is wanted. So is
    a prefix that is neither declared nor among the `prefixes` that need no declaration.
    """
    if not update and (begin := first_keyword(query)) is not None:
        token, is_update = begin
        if is_update:
            told = f"{token.text.upper()} begins an update, not a query: `worlds update` and World.update run it"
            return error_at(told, query, token.start)
        if is_update is None:
            told = f"a query begins with SELECT, ASK, CONSTRUCT or DESCRIBE, not with {token.text[:40]!r}"
            return error_at(told, query, token.start)
    found = _PLACE.match(str(error))
    if not found:
        return QueryError(str(error))
    line, column, expected = int(found[1]), int(found[2]), found[3]
    lines = query.split("\n")
    near = lines[line - 1][column - 1 :].strip()[:40] if line <= len(lines) else ""
    message = f"unexpected {near!r}" if near else "unexpected end of the query"
    if "Prefix not found" in expected:
        unfinished = re.search(r"([\w.-]*):[^\s:]*$", lines[line - 1][: column - 1])
        return _unknown(unfinished[1] if unfinished else "", line, column)
    if unknown := _unknown_prefix(query, prefixes, sum(map(len, lines[: line - 1])) + line + column - 2):
        place = error_at("", query, unknown.start)
        return _unknown(unknown.text.partition(":")[0], place.line, place.column)
    if len(expected) < 80 and _KEYWORDS.fullmatch(wanted := expected.removeprefix("expected ")):
        message += f"; expected {wanted}"
    return QueryError(message, line=line, column=column)


def _unknown(prefix: str, line: int | None, column: int | None) -> QueryError:
    message = f"the prefix {prefix + ':'!r} is not declared, and the world does not know it"
    return QueryError(message, line=line, column=column, kind="prefix", prefix=prefix)
