"""Evaluates SPARQL queries over a pyoxigraph store."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.lexical import LexicalForms
from worlds.graph.query.functions import FUNCTIONS, uses_functions
from worlds.graph.query.guard import Functions, check, with_room
from worlds.graph.query.limits import CAN_FORK, Child, Limits, Running, Writer, in_time, remaining
from worlds.graph.query.mistakes import mistake
from worlds.graph.query.query import Query
from worlds.graph.query.repairs import checked, concerned, repaired
from worlds.graph.query.results import Solutions, Triples
from worlds.graph.query.tokens import Token, error_at, scan
from worlds.graph.query.transfer import distinct, read_empty_solutions, read_solutions, read_triples
from worlds.graph.query.transfer import write as write_answer

_PLACE = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_QUERIES = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_UPDATES = ("INSERT", "DELETE", "WITH", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY")
_KEYWORDS = re.compile(r"(one of )?(\w+|\"[^\"]+\")(, (\w+|\"[^\"]+\"))*")
_NO_FUNCTION = re.compile(r"custom function <([^>]*)> is not supported")
_BEGUN = b"!"  # what the child writes when it could touch the store
_BEGINNING = 1.0  # seconds to wait for that
_FORKS = 3  # children that may fail to begin
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
    store: ox.Store, query: Query, forms: LexicalForms | None = None, running: Running | None = None
) -> Solutions | Triples | bool:
    """Answer a query: `Solutions` for SELECT, a bool for ASK, `Triples` for CONSTRUCT and DESCRIBE.

    Everything is fetched before it returns, so that later writes to the store change nothing; terms are made when
    they are read. Those that the query matched in the data have the lexical `forms` that were given. Limits and errors
    as for `run`.
    """
    return answer(query, run(store, query, running), forms)


def answer(
    query: Query, found: Found, forms: LexicalForms | None = None, notes: Callable[[], tuple[str, ...]] = tuple
) -> Solutions | Triples | bool:
    """What was found, as `evaluate` gives it, with what makes its notes.

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


def run(store: ox.Store, query: Query, running: Running | None = None) -> Found:
    """What `begin` comes to."""
    return begin(store, query, running)()


def begin(store: ox.Store, query: Query, running: Running | None = None) -> Callable[[], Found]:
    """Begin with a query; what this gives must be called, and gives what pyoxigraph answers, all of it.

    Where a query has limits, the store may change meanwhile. `default_graphs` are merged to be the default graph;
    `union` merges all.

    The `deadline`, and `max_memory`, in bytes on top of what the process holds, stop the query wherever it is: it then
    runs in a forked child, whose answer is the same (see `limits`). Where nothing can be forked, the deadline is looked
    at between solutions only, and `max_memory`, which needs Linux, is a QueryError. More than `max_results` solutions
    or triples are a QueryError too, before more are fetched. SERVICE reaches the hosts that `allow_network` names, or
    all. `functions` are called in this thread and process; what they raise is an unbound value. `running` can interrupt
    the child.

    QueryError, with line and column where the parser tells, for what does not parse, cannot be evaluated, or is too
    deep or long (see `guard`); QueryTimeout.
    """
    check(query.text, query.scan(), allow_network=query.allow_network)
    query = checked(query.bound())
    deadline, most = query.deadline, query.max_results
    standard = FUNCTIONS if uses_functions(query.text) else {}

    def ask(functions: Functions | None) -> ox.QuerySolutions | ox.QueryTriples | ox.QueryBoolean:
        if not concerned(query):
            return put(query, functions)  # parses, and evaluates nothing yet
        put(query, functions)  # errors are those of the query as it is written
        return put(repaired(query, store), functions)

    def put(query: Query, functions: Functions | None) -> ox.QuerySolutions | ox.QueryTriples | ox.QueryBoolean:
        return store.query(
            query.text,
            prefixes=dict(query.prefixes),
            substitutions={ox.Variable(name): term for name, term in query.bindings.items()} or None,
            use_default_graph_as_union=bool(query.union),
            default_graph=None if query.default_graphs is None else list(query.default_graphs),
            named_graphs=None if query.named_graphs is None else list(query.named_graphs),
            custom_functions={**standard, **(functions or {})} or None,
        )

    def fetch(functions: Functions | None) -> Found:
        found = ask(functions)
        try:
            if isinstance(found, ox.QuerySolutions):
                return Selected(_fetched(in_time(found, deadline), most), found.variables)
            if isinstance(found, ox.QueryTriples):
                return _fetched(in_time(found if most is None else distinct(found), deadline), most)
            return bool(found)
        finally:
            del found

    def work(functions: Functions | None, out: Writer) -> None:
        next(store.quads_for_pattern(None, None, None), None)
        out.write(_BEGUN)
        write_answer(ask(functions), out)

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

    with _query_errors(query):
        if query.max_memory is None and (deadline is None or not CAN_FORK):
            found = with_room(query.text, fetch, query.functions)
            return lambda: found
        forked = with_room(query.text, fork)

    def finish() -> Found:
        with _query_errors(query), forked:
            return _read(forked, most)

    return finish


def try_out(text: str, work: Callable[[], object], limits: Limits) -> None:
    """Let pyoxigraph complain of a text, on a stack that has room for it; QueryTimeout where it takes too long.

    To plan a long text can take it minutes, even over nothing. Results of `work` can't leave the thread that made them.
    """
    if limits.deadline is None or not CAN_FORK or len(_WORD.findall(text)) <= _PLANNED_AT_ONCE:
        with_room(text, lambda _: bool(work()))
        return

    def begin(_: Functions | None) -> Child:
        return Child(lambda _, out: bool(work()), functions=None, limits=limits, running=Running())  # type: ignore[arg-type]  # gives nothing

    with with_room(text, begin) as child:
        child.read()


@contextlib.contextmanager
def _query_errors(query: Query) -> Iterator[None]:
    """Turns what pyoxigraph raises into QueryErrors."""
    try:
        yield
    except SyntaxError as error:
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
    try:
        fetched = list(items if most is None else islice(items, most + 1))
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


def parse(query: Query) -> None:
    """QueryError, with line and column, for what does not parse, and as of `check`; nothing is evaluated.

    SERVICE may name any host.
    """
    check(query.text, query.scan(), allow_network=True)
    begin = first_keyword(query.text)
    if begin is not None and begin[0].is_word("ASK"):  # which pyoxigraph would evaluate at once
        name = next(name for number in itertools.count() if (name := f"ask{number}") not in query.text)
        select = query.spliced([(begin[0].start, begin[0].end, f"SELECT(1AS?{name})")])
        with contextlib.suppress(SyntaxError):  # then the query as it is does not parse either
            ox.Store().query(select.text, prefixes=dict(query.prefixes), custom_functions=dict(FUNCTIONS))
            return
    with _query_errors(query):
        ox.Store().query(query.text, prefixes=dict(query.prefixes), custom_functions=dict(FUNCTIONS))


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
    if known := mistake(query):
        return error_at(known[0], query, known[1])
    if len(expected) < 80 and _KEYWORDS.fullmatch(wanted := expected.removeprefix("expected ")):
        message += f"; expected {wanted}"
    return QueryError(message, line=line, column=column)


def _unknown(prefix: str, line: int | None, column: int | None) -> QueryError:
    message = (
        f"the prefix {prefix + ':'!r} is not declared, and the world does not know it: write PREFIX {prefix}: <…> "
        "before the query, or store it once by `worlds prefix`, or World.bind"
    )
    return QueryError(message, line=line, column=column, kind="prefix", prefix=prefix)
