"""Evaluates SPARQL queries over a pyoxigraph store."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.lexical import LexicalForms
from worlds.graph.query.default_graph import MergedStores, names_graphs
from worlds.graph.query.exact import Exactly
from worlds.graph.query.expressions import UnreadError, rewritten
from worlds.graph.query.functions import FUNCTIONS, uses_functions
from worlds.graph.query.graphs import Operators
from worlds.graph.query.guard import check
from worlds.graph.query.lexical_forms import marked, unmarked
from worlds.graph.query.mistakes import mistake
from worlds.graph.query.query import Query
from worlds.graph.query.query_limits import CAN_FORK, Child, ChildOutput, Limits, in_time, remaining
from worlds.graph.query.repairs import checked, concerned, repaired
from worlds.graph.query.results import Solutions, Triples
from worlds.graph.query.running import MOST_ABANDONED, Functions, Running, abandoned, go_on
from worlds.graph.query.running import run as run_aside
from worlds.graph.query.tokens import Token, error_at, scan, spliced
from worlds.graph.query.transfer import Solution, distinct, read_empty_solutions, read_solutions, read_triples
from worlds.graph.query.transfer import write as write_answer

_PLACE = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_QUERIES = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_UPDATES = ("INSERT", "DELETE", "WITH", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY")
_WANTED = re.compile(r"(one of )?(BY|DATA|WHERE|\"[^\"]+\")(, (BY|DATA|WHERE|\"[^\"]+\"))*")  # the rest is noise
_NO_FUNCTION = re.compile(r"custom function <([^>]*)> is not supported")
_BEGUN = b"!"  # what the child writes when it could touch the store
_BEGINNING = 1.0  # seconds to wait for that
_FORKS = 3  # children that may fail to begin
_CHUNK = 1000  # solutions between two looks whether anybody still waits
_PLANNED_AT_ONCE = (
    100  # words whose plan takes milliseconds, and a third of a second at worst; twice as many take eight
)
_WORD = re.compile(r"[^\s.;,/|(){}\[\]]+")


class Selected(list[ox.QuerySolution]):
    """The solutions of a SELECT, with its variables as pyoxigraph orders them."""

    def __init__(self, solutions: Iterable[ox.QuerySolution], variables: Sequence[ox.Variable]) -> None:
        super().__init__(solutions)
        self.variables = variables


Found: TypeAlias = Selected | list[ox.Triple] | bool


def evaluate(
    store: ox.Store,
    query: Query,
    forms: LexicalForms | None = None,
    running: Running | None = None,
    merging: MergedStores | None = None,
) -> Solutions | Triples | bool:
    """Answer a query: `Solutions` for SELECT, a bool for ASK, `Triples` for CONSTRUCT and DESCRIBE.

    Everything is fetched before it returns, so that later writes to the store change nothing; terms are made when
    they are read. Those that the query matched in the data have the lexical `forms` that were given. Limits and errors
    as for `run`.
    """
    return answer(query, run(store, query, running, merging), forms)


def answer(
    query: Query, found: Found, forms: LexicalForms | None = None, notes: Callable[[], tuple[str, ...]] = tuple
) -> Solutions | Triples | bool:
    """The solutions, triples or truth of a query, as `evaluate` gives them, with a function for their notes.

    A term that a pattern matched can have its given form back; one that the query computed or wrote itself cannot be
    told from it by its looks, and stays.
    """
    if isinstance(found, bool):
        return found
    if isinstance(found, Selected):
        names = [variable.value for variable in found.variables]
        solutions = Solutions(found, query.ordered(names), notes)
        return solutions.restored(set(names) - query.computed, forms.restored) if forms else solutions
    triples = Triples(found, query.prefixes, notes)
    if not forms or query.computed or query.makes_literals:
        return triples
    return triples.restored(forms.restored)


def run(store: ox.Store, query: Query, running: Running | None = None, merging: MergedStores | None = None) -> Found:
    """The result of `begin`, once it is finished."""
    return begin(store, query, running, merging)()


def begin(
    store: ox.Store, query: Query, running: Running | None = None, merging: MergedStores | None = None
) -> Callable[[], Found]:
    """Begin a query; the returned function must be called, and returns all that pyoxigraph answers.

    Where a query has limits, the store may change meanwhile. `default_graphs` are merged to be the default graph;
    `union` merges all. `merging` keeps what that takes.

    The `deadline`, and `max_memory`, in bytes on top of what the process holds, stop the query wherever it is: it then
    runs in a forked child, whose answer is the same (see `limits`). Where nothing can be forked, the deadline is looked
    at between solutions only, and `max_memory`, which needs Linux, is a QueryError. More than `max_results` solutions
    or triples are a QueryError too, before more are fetched. SERVICE reaches the hosts that `allow_network` names, or
    all. `functions` are called in this thread and process; what they raise is an unbound value. `running` can interrupt
    it, the child, or the thread in which a query without limits is evaluated (see `running`).

    QueryError, with line and column where the parser tells, for what does not parse, cannot be evaluated, or is too
    deep or long (see `guard`); QueryTimeout.
    """
    check(query.text, query.scan(), allow_network=query.allow_network)
    given = query
    query = checked(query.bound())
    if MergedStores.concerns(query):
        if names_graphs(query.text):
            _parse(query, given)
        store, query = (merging or MergedStores()).seen(store, query)
    deadline, most = query.deadline, query.max_results
    standard = FUNCTIONS if uses_functions(query.text) else {}
    passed = marked(query)
    exact, asked, widely = _exactly(passed)
    if merging is not None:
        same = asked is widely
        asked = merging.reordered(store, asked)
        widely = asked if same else merging.reordered(store, widely)
    operators = concerned(query)
    failures: list[BaseException] = []  # of what is asked while the query is evaluated

    def ask(functions: Functions | None, asked: Query = asked) -> ox.QuerySolutions | ox.QueryTriples | ox.QueryBoolean:
        if asked is not query or operators:  # errors are those of the query as it is written
            if "SERVICE" in query.text.upper():
                read_only(query.text, query.prefixes)
            else:
                put(query, functions, ox.Store())
        if not operators:
            return put(asked, functions)  # parses, and evaluates nothing yet
        return Operators(store, put, functions, failures).answer(repaired(asked))  # type: ignore[no-any-return]

    def put(
        query: Query, functions: Functions | None, store: ox.Store = store
    ) -> ox.QuerySolutions | ox.QueryTriples | ox.QueryBoolean:
        return store.query(
            query.text,
            prefixes=dict(query.prefixes),
            substitutions={ox.Variable(name): term for name, term in query.bindings.items()} or None,
            use_default_graph_as_union=bool(query.union),
            default_graph=None if query.default_graphs is None else list(query.default_graphs),
            named_graphs=None if query.named_graphs is None else list(query.named_graphs),
            custom_functions={**standard, **(functions or {}), **(exact.functions if exact else {})} or None,
            custom_aggregate_functions=exact.aggregates if exact else None,
        )

    def fetch(functions: Functions | None) -> Found:
        found = fetch_once(functions, asked)
        if exact is not None:
            if exact.wide and asked is not widely:
                found = fetch_once(functions, widely)
            exact.finish()
        _raise(failures)
        return found

    def fetch_once(functions: Functions | None, asked: Query) -> Found:
        found = ask(functions, asked)
        try:
            if isinstance(found, ox.QuerySolutions):
                return Selected(_fetched(in_time(found, deadline), most), found.variables)
            if isinstance(found, ox.QueryTriples):
                return _fetched(in_time(found if most is None else distinct(found), deadline), most)
            return bool(found)
        finally:
            del found

    def work(functions: Functions | None, out: ChildOutput) -> None:
        next(store.quads_for_pattern(None, None, None), None)
        out.write(_BEGUN)
        if exact is None:
            write_answer(ask(functions), out)
            _raise(failures)
            return
        written = io.BytesIO()  # until it is known whether it is right
        write_answer(ask(functions), written)  # type: ignore[arg-type]  # a binary stream, too
        if exact.wide and asked is not widely:
            written = io.BytesIO()
            write_answer(ask(functions, widely), written)  # type: ignore[arg-type]
        exact.finish()
        _raise(failures)
        out.write(written.getbuffer())

    def child() -> Child:
        return Child(work, functions=query.functions, limits=query.limits, running=running or Running())

    def fork(_: Functions | None) -> Child:
        # A store on disk has threads, which hold its locks now and then: a child that was forked just then waits for
        # a lock that nobody will release. It shows at the first touch of the store.
        for _attempt in range(_FORKS):
            patience = min(_BEGINNING, (remaining(deadline) or 4 * _BEGINNING) / 4)
            forked = child()
            if forked.begins(patience):
                return forked
            forked.__exit__()
        return child()

    with _query_errors(query, given):
        crowded = running is not None and abandoned() >= MOST_ABANDONED and not running.is_short(query.text)
        if query.max_memory is None and not (CAN_FORK and (deadline is not None or crowded)):
            found = run_aside(widely.text, fetch, query.functions, running=running, deadline=deadline)
            return lambda: found if passed is query else _unmarked(found)
        forked = run_aside(widely.text, fork)

    def finish() -> Found:
        with _query_errors(query, given), forked:
            found = _read(forked, most)
            return found if passed is query else _unmarked(found)

    return finish


def _unmarked(found: Found) -> Found:
    """The results with the literals that the query only passed on, in their own form."""
    if isinstance(found, Selected):
        names = [variable.value for variable in found.variables]
        own: Any = (Solution(names, [unmarked(term) for term in solution]) for solution in found)  # read as one
        return Selected(own, found.variables)
    if isinstance(found, list):
        return [ox.Triple(one.subject, one.predicate, unmarked(one.object)) for one in found]  # type: ignore[union-attr]  # of one kind
    return found


def _exactly(query: Query) -> tuple[Exactly | None, Query, Query]:
    """The functions that a query's repaired expressions call, the query with them, and the one for any numbers."""
    try:
        text = rewritten(query, wide=query.wide)
    except UnreadError as error:
        return Exactly(error), query, query
    if text is None:
        return None, query, query
    asked = query.replaced(text=text)
    widely = asked if query.wide else query.replaced(text=rewritten(query, wide=True) or text)
    return Exactly(), asked, widely


def _raise(failures: Sequence[BaseException]) -> None:
    for failure in failures:
        raise failure


def _parse(query: Query, given: Query) -> None:
    """QueryError for a query that does not parse; errors of evaluation are raised when it is evaluated."""
    with _query_errors(query, given), contextlib.suppress(OSError, RuntimeError, ValueError):
        run_aside(query.text, lambda _: read_only(query.text, query.prefixes))


def try_out(text: str, work: Callable[[], object], limits: Limits) -> None:
    """Let pyoxigraph complain of a text, on a stack that has room for it; QueryTimeout where it takes too long.

    To plan a long text can take it minutes, even over nothing. Results of `work` can't leave the thread that made them.
    """
    if limits.deadline is None or not CAN_FORK or len(_WORD.findall(text)) <= _PLANNED_AT_ONCE:
        run_aside(text, lambda _: bool(work()))
        return

    def begin(_: Functions | None) -> Child:
        return Child(lambda _, out: bool(work()), functions=None, limits=limits, running=Running())  # type: ignore[arg-type]  # gives nothing

    with run_aside(text, begin) as child:
        child.read()


@contextlib.contextmanager
def _query_errors(query: Query, given: Query | None = None) -> Iterator[None]:
    """Turns pyoxigraph's errors into QueryErrors; `given` is the query before its bindings were written in."""
    try:
        yield
    except SyntaxError as error:
        if given is not None and given.bindings:
            parse(checked(given))
            raise QueryError(
                "with its bindings the query is not valid SPARQL: a term is in a place that does not allow it"
            ) from error
        raise syntax_error(error, query.text, query.prefixes) from error
    except RecursionError:
        raise QueryError("the query cannot be answered: a term is nested too deeply") from None
    except (OSError, RuntimeError, ValueError, MemoryError) as error:
        if unknown := _NO_FUNCTION.search(str(error)):
            places = (token.start for token in query.tokens if query.iri(token) == unknown[1])
            told = f"the function <{unknown[1]}> is not supported; docs/sparql.md lists those that are"
            raise error_at(told, query.text, next(places, 0)) from error
        raise QueryError(f"the query cannot be answered: {error}") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # a BaseException, as a KeyboardInterrupt is
            raise QueryError(f"the query cannot be answered, pyoxigraph failed: {error}") from error
        raise


# Results of pyoxigraph may be dropped only in the thread that made them. An error, of a custom function too, keeps the
# frames that it passed and their callers', and can be dropped anywhere: by its handler or the garbage collector, in
# any thread. So a frame that is left has no variable that is such a result.


def _fetched(items: Iterable[Any], most: int | None) -> list[Any]:
    fetched: list[Any] = []
    try:
        items = iter(items if most is None else islice(items, most + 1))
        while chunk := list(islice(items, _CHUNK)):
            fetched += chunk
            if len(chunk) < _CHUNK:
                break
            go_on()
    finally:
        del items
    if most is not None and len(fetched) > most:
        raise QueryError(f"the query has more than {most:,} results, its limit", kind="results")
    return fetched


def _read(child: Child, most: int | None) -> Found:
    child.read(len(_BEGUN))
    form = child.read(1)
    if form == b"T":
        variables, solutions = read_solutions(child.read)
        return Selected(_fetched(solutions, most), variables)
    if form == b"J":
        return Selected(_fetched(read_empty_solutions(child.read), most), [])
    if form == b"N":
        return _fetched(distinct(read_triples(child.read)), most)
    child.read()
    return form == b"1"


def first_keyword(text: str) -> tuple[Token, bool | None] | None:
    """The first keyword of a query or an update after its prologue, and whether it is an update's, None if neither's.

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


def parse(query: Query) -> None:
    """QueryError, with line and column, for a query that does not parse, or fails `check`; nothing is evaluated.

    SERVICE may name any host.
    """
    check(query.text, query.scan(), allow_network=True)
    with _query_errors(query):
        try_out(query.text, lambda: read_only(query.text, query.prefixes), query.limits)


def read_only(text: str, prefixes: Mapping[str, str]) -> None:
    """Have pyoxigraph read a query, and evaluate nothing: it would answer an ASK, and ask a SERVICE, at once."""
    options: Any = {"prefixes": dict(prefixes), "custom_functions": dict(FUNCTIONS)}
    words = {"SERVICE": "GRAPH  ", "SILENT": " " * 6}  # which is read alike
    if asks := "SERVICE" in text.upper():
        found = [one for one in scan(text) if one.is_word(*words)]
        text = spliced(text, [(one.start, one.end, words[one.text.upper()]) for one in found])
    begin = first_keyword(text)
    with contextlib.suppress(*((OSError, RuntimeError, ValueError) if asks else ())):  # of functions of an endpoint
        if begin is not None and begin[0].is_word("ASK"):
            name = next(name for number in itertools.count() if (name := f"ask{number}") not in text)
            with contextlib.suppress(SyntaxError):  # then the query as it is does not parse either
                ox.Store().query(spliced(text, [(begin[0].start, begin[0].end, f"SELECT(1AS?{name})")]), **options)
                return
        ox.Store().query(text, **options)


def _parses(text: str, prefixes: Mapping[str, str]) -> bool:
    """Whether a query parses; False for one that would take long."""
    try:
        if len(_WORD.findall(text)) <= _PLANNED_AT_ONCE:
            run_aside(text, lambda _: read_only(text, prefixes))
            return True
    except (SyntaxError, OSError, RuntimeError, ValueError):
        pass
    return False


def syntax_error(error: SyntaxError, query: str, prefixes: Collection[str], *, update: bool = False) -> QueryError:
    """The parser's error without its long list of expected tokens.

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
    offset = sum(map(len, lines[: line - 1])) + line + column - 2
    kind = "update" if update else "query"
    message = f"unexpected {near!r}" if near else f"unexpected end of the {kind}"
    if "Prefix not found" in expected:
        unfinished = re.search(r"([\w.-]*):[^\s:]*$", lines[line - 1][: column - 1])
        return _unknown(unfinished[1] if unfinished else "", line, column)
    if unknown := _unknown_prefix(query, prefixes, offset):
        place = error_at("", query, unknown.start)
        return _unknown(unknown.text.partition(":")[0], place.line, place.column)
    parses = None if update or not isinstance(prefixes, Mapping) else partial(_parses, prefixes=prefixes)
    if known := mistake(query, (expected, offset), parses):
        return error_at(known[0], query, known[1])
    if not near and query.rstrip().endswith("}"):  # every bracket is closed
        message = f"the {kind} is complete, but breaks a rule of SPARQL, or has a word too many before its last bracket"
    elif _WANTED.fullmatch(wanted := expected.removeprefix("expected ")):
        message += f"; expected {wanted}"
    return QueryError(message, line=line, column=column)


def _unknown(prefix: str, line: int | None, column: int | None) -> QueryError:
    message = (
        f"the prefix {prefix + ':'!r} is not declared, and the world does not know it: write PREFIX {prefix}: <…> "
        "before the query, or store it once by `worlds prefix`, or World.bind"
    )
    return QueryError(message, line=line, column=column, kind="prefix", prefix=prefix)
