"""Search inside SPARQL: `SERVICE w:search { … }`, Jena's `text:query`, and the function `w:similarity`.

A query is rewritten before pyoxigraph sees it: each search is performed, and a sub-SELECT of its solutions takes its
place. What surrounds a search says which subjects it may find (see `surroundings`); that is resolved first.
Everything else of the query stays as it is.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import pyoxigraph as ox

from worlds.errors import FilterError, QueryError, QueryTimeout, WorldsError
from worlds.graph.query.evaluation import syntax_error, try_out
from worlds.graph.query.guard import check
from worlds.graph.query.query import Query
from worlds.graph.query.query_limits import in_time
from worlds.graph.query.shape import Element, QueryShape
from worlds.graph.query.surroundings import GroupPattern, exclusions, surroundings
from worlds.graph.query.tables import Tables
from worlds.graph.query.tokens import Edit
from worlds.graph.search import jena
from worlds.graph.search.lucene import as_fts5
from worlds.graph.search.service_pattern import SearchReader, WrittenSearch
from worlds.graph.search.vocabulary import NAMESPACE, PROPERTIES, SEARCH, SIMILARITY, TEXT_QUERY
from worlds.graph.terms import XSD, Term

MOST_SEARCHES = 1000
"""One block searches at most so often, once for each combination of the values that its variables take."""

Function: TypeAlias = Callable[..., "Term | None"]

_PATH = ("/", "|", "*", "+", "?")  # after a predicate: a property path
_FLOAT = ox.NamedNode(XSD + "float")


class Searcher(Protocol):
    """The world that a rewriting asks, over the dataset of the query."""

    def select(self, query: Query) -> Iterable[Sequence[Term | None]]:
        """The solutions of a SELECT, by position."""

    def search(
        self, options: Mapping[str, Any], subjects: Collection[Term] | None, wanted: Collection[str]
    ) -> Iterable[Mapping[str, Any]]:
        """Search with options of World.search, among `subjects` only unless that is None.

        Gives for each hit, best first, and each of its quads, what is `wanted`: names of outputs; "hit", what
        identifies the passage (int); "marked", the passage with each match between U+0002 and U+0003. Terms are
        pyoxigraph's, all else is str, int or float; what has no value is None.
        """

    def similarity(self) -> Function:
        """The function behind `w:similarity`; EmbedderError where it cannot be computed."""


def mentions_search(query: str) -> bool:
    """Whether a query may hold a search or its function, so that `rewrite` should see it; costs next to nothing."""
    return "search" in query or ":query" in query or "similarity" in query or "text#query" in query


def rewrite(query: Query, searcher: Searcher) -> Query:
    """Perform the searches of a query, and put their solutions in their place.

    The prefix `w:` needs no declaration. A query that holds no search comes back as it is. QueryError, with line and
    column, for a query that does not parse, for a property or value that is wrong, and for more than MOST_SEARCHES
    searches in one block; QueryTimeout if the deadline has passed before a search; EmbedderError where a search or
    function needs an embedder that is not there.
    """
    known = query.replaced(prefixes={"w": NAMESPACE, **query.prefixes})
    uses = {known.iri(token) for token in known.tokens if token.kind in ("name", "iri")}
    if not uses & {SEARCH, SIMILARITY, TEXT_QUERY}:
        return query
    if SIMILARITY in uses:
        known = known.replaced(functions={ox.NamedNode(SIMILARITY): searcher.similarity()})
    if not uses & {SEARCH, TEXT_QUERY}:
        return known
    _check(known)
    try:
        return _Rewriting(known, searcher).result()
    except RecursionError:
        raise QueryError("nested too deeply for a query with a search") from None


def _check(query: Query) -> None:
    """Raise what the parser has to say of the query as it was written, with its places in it."""
    check(query.text, query.tokens, allow_network=True)
    words = (token for token in query.tokens if token.is_word("SERVICE", "SILENT"))
    # GRAPH has the same grammar, and asks nobody
    asked = query.spliced(
        (token.start, token.end, "GRAPH  " if token.is_word("SERVICE") else "      ") for token in words
    )
    try:
        try_out(asked.text, lambda: ox.Store().query(asked.text, prefixes=dict(asked.prefixes)), query.limits)
    except SyntaxError as error:
        raise syntax_error(error, query.text, query.prefixes) from error
    except (OSError, RuntimeError, ValueError):
        pass  # of an evaluation that was not meant; the query's own will tell


class _Rewriting:
    """A query while its searches are replaced by their solutions."""

    def __init__(self, query: Query, searcher: Searcher) -> None:
        self.query = query
        self.tokens = query.tokens
        self.searcher = searcher
        self.functions = dict(query.functions)
        self.bindings = query.bindings
        self.shape = QueryShape(query.text, query.tokens)  # one of its own: it learns what searches are replaced by
        self.reader = SearchReader(query, self.shape)
        self._waiting: set[Element] = set()  # searches that wait for others
        self._tables = Tables("search", self.functions)

    def result(self) -> Query:
        """The query without its searches."""
        self.searches = list(self._found())
        self._searched = {search.element for search in self.searches}
        self._misplaced()
        places: list[Edit] = []
        statements: dict[tuple[int, int], list[str]] = {}  # what stands in the place of triples with text:query
        for search in self.searches:
            table = self._table(search)
            element = search.element
            if element.kind == "service":
                places.append((element.first, element.last, table))
            else:
                if element.statement not in statements:
                    group = search.path[-1][0].elements
                    others = [item for item in group if item.statement == element.statement]
                    statements[element.statement] = [
                        self.shape.text_of(item) for item in others if item not in self._searched
                    ]
                statements[element.statement].append(table)
        places += [(*statement, " ".join(pieces)) for statement, pieces in statements.items()]
        edits: list[Edit] = []
        for first, last, piece in places:
            start, end = self.tokens[first].start, self.tokens[last - 1].end
            edits.append((start, end, piece + "\n" * self.query.text.count("\n", start, end)))
        return self.query.spliced(edits).replaced(functions=self.functions)

    # -- reading --------------------------------------------------------------------------------------------------

    def _found(self) -> Iterator[WrittenSearch]:
        for path, element in self.shape.walk():
            if element.kind == "service":
                silent = self.tokens[element.first + 1].is_word("SILENT")
                place = self.tokens[element.first + 1 + silent]
                if self.query.iri(place) == SEARCH:
                    yield self.reader.block(WrittenSearch(element, path, place, silent=silent))
            elif element.kind == "triples" and self.query.iri(self.tokens[element.predicate]) == TEXT_QUERY:
                place = self.tokens[element.predicate]
                if self.shape.query.short:
                    raise self.reader.error("CONSTRUCT WHERE takes no search; write CONSTRUCT { … } WHERE { … }", place)
                if self.tokens[element.predicate + 1].text not in _PATH:
                    yield jena.property_function(self.reader, WrittenSearch(element, path, place))

    def _misplaced(self) -> None:
        """Complain of a text:query that is no predicate of triples."""
        read = {search.element.predicate for search in self.searches if search.element.kind == "triples"}
        for at, token in enumerate(self.tokens):
            if at >= self.shape.prologue and self.query.iri(token) == TEXT_QUERY and at not in read:
                raise self.reader.error("text:query is the predicate of ?s or (?s …), and takes words or a list", token)

    # -- searching ------------------------------------------------------------------------------------------------

    def _solutions(self, search: WrittenSearch) -> list[dict[str, Term | None]]:
        """The solutions of the search, by variable."""
        bound = self.bindings.get(search.subject or "")
        names = {name for name, _ in search.outputs}
        wanted = {"textScore" if name == "jenaScore" else name for name in names}
        found: dict[tuple[Any, ...], dict[str, Term | None]] = {}
        resolved = self._resolved(search, None if bound else search.subject)
        for values, subjects in in_time(resolved, self.query.deadline):
            options = self._options(search, values)
            try:
                if search.is_jena and (expression := as_fts5(options["text"])) is not None:
                    options |= {"text": expression, "syntax": "fts5"}
                rows = self.searcher.search(options, [bound] if bound else subjects, wanted)
            except QueryTimeout:
                raise
            except (FilterError, QueryError, TypeError, ValueError) as error:
                raise self._blamed(search, error) from error
            except WorldsError:
                if search.silent:
                    return [{}]
                raise
            for row in rows:
                solution: dict[str, Term | None] = dict(values)
                terms = [(variable, self._term(search, name, row)) for name, variable in search.outputs]
                if all(_agree(solution, variable, term, self.bindings) for variable, term in terms):
                    found[tuple(solution.items())] = solution  # equal ones are one
        return list(found.values())

    def _resolved(
        self, search: WrittenSearch, subject: str | None
    ) -> Iterator[tuple[dict[str, Term], Collection[Term] | None]]:
        """The values of the variables that the search needs, and for each the subjects that it may find."""
        inputs = sorted(search.variables - self.bindings.keys())
        sought = [*inputs, *([subject] if subject is not None and subject not in inputs else [])]
        about, excluded = self._around(search, sought, set())
        reached = {name for part in about for name in part.names}
        if not reached.issuperset(inputs):  # so other searches may give them
            about, excluded = self._around(search, sought, self._beside(search))
            reached = {name for part in about for name in part.names}
        for name, _, value in search.inputs:
            if value.variable and value.variable not in reached | self.bindings.keys():
                raise self.reader.error(
                    f"w:{name} needs a value, but no pattern around the search binds ?{value.variable}", value.place
                )
        choices: list[list[dict[str, Term]]] = []  # of each part of the surroundings: what its inputs may be
        subjects: dict[tuple[Term, ...], list[Term] | None] = {}  # by the inputs that go with them
        by: list[str] = []
        for part in about:
            rows = self._select(part.names, part.pattern)
            by_these = [name for name in part.names if name in inputs]
            if subject in part.names:
                by = by_these
                subjects = _grouped(rows, [part.names.index(name) for name in by], part.names.index(subject))
                choices.append([dict(zip(by, key, strict=True)) for key in subjects])
            else:
                choices.append([dict(zip(by_these, row, strict=True)) for row in rows if None not in row])  # type: ignore[arg-type]
        if subject is not None and (subject not in reached or None in subjects.values()):
            search.without = {row[0] for pattern in excluded(subject) for row in self._select([subject], pattern)}
        count = math.prod(map(len, choices))
        if count > MOST_SEARCHES:
            raise self.reader.error(
                f"this would search {count:,} times, for each value of {', '.join('?' + name for name in inputs)}; "
                f"at most {MOST_SEARCHES:,} are allowed",
                search.place,
            )
        for chosen in itertools.product(*choices):
            values = {name: term for choice in chosen for name, term in choice.items()}
            yield values, subjects.get(tuple(values[name] for name in by))

    def _beside(self, search: WrittenSearch) -> set[Element]:
        """The other searches in the groups around one, performed."""
        self._waiting.add(search.element)
        around = {element for group, _ in search.path for element in group.elements}
        others = [other for other in self.searches if other.element in around - self._waiting]
        for other in others:
            self._table(other)
        self._waiting.remove(search.element)
        return {other.element for other in others}

    def _around(
        self, search: WrittenSearch, sought: Sequence[str], performed: set[Element]
    ) -> tuple[list[GroupPattern], Callable[[str], list[str]]]:
        """The surroundings of a search, and a function for its exclusions; searches `performed` count as patterns."""

        def usable(element: Element) -> bool:
            """Whether evaluating the element in advance performs no search, and asks nobody else."""
            if element.kind == "service" or element in self._searched:
                return element in performed
            inside = [part for group in element.groups for part in (group, group.body, *group.others) if part]
            return all(usable(inner) for part in inside for inner in part.elements)

        others = [other for other in self.searches if other.element not in performed]
        given = {variable for other in others for name, variable in other.outputs if name != "subject"}
        foreign = frozenset(given.difference(sought))
        about = surroundings(self.shape, search.path, sought, foreign, usable)
        return about, lambda name: exclusions(self.shape, search.path, name, foreign, usable)

    def _select(self, names: Sequence[str], pattern: str) -> Iterable[Sequence[Term | None]]:
        prologue = self.shape.source(0, self.shape.prologue)
        dataset = self.shape.source(*self.shape.query.dataset)
        variables = " ".join(f"?{name}" for name in names)
        text = f"{prologue}\nSELECT DISTINCT {variables}\n{dataset}\nWHERE {{\n{pattern}\n}}"
        return self.searcher.select(self.query.replaced(text=text, functions=self.functions, max_results=None))

    def _options(self, search: WrittenSearch, values: Mapping[str, Term]) -> dict[str, Any]:
        """The options of World.search."""
        options: dict[str, Any] = dict(search.options)
        exclude: dict[str, Any] = {}
        for name, _, value in search.inputs:
            term = value.term or self.bindings.get(value.variable) or values[value.variable]
            known = PROPERTIES[name]
            given = self.reader.python(name, term, value.place)
            outer, _, option = known.option.rpartition(".")
            into = exclude if outer == "exclude" else options.setdefault(outer, {}) if outer else options
            into[option] = [*into.get(option, ()), given] if known.many else given
        without = [term for term in search.without if isinstance(term, ox.NamedNode | ox.BlankNode)]
        if without:
            exclude["subjects"] = [*exclude.get("subjects", ()), *without]
        if search.named_only:
            exclude["graphs"] = ["default"]
        if exclude:
            options["exclude"] = exclude
        return options

    def _blamed(self, search: WrittenSearch, error: Exception) -> QueryError:
        """The error of a search, at the property that it speaks of."""
        message = str(error)
        first = message.removeprefix("the ").partition(" ")[0].rstrip(":")
        for name, place, _ in search.inputs:
            if first in (*PROPERTIES[name].option.split("."), *(("FTS5",) if name == "query" else ())):
                return self.reader.error(f"w:{name}: {message}", place)
        return self.reader.error(message, search.place)

    def _term(self, search: WrittenSearch, name: str, row: Mapping[str, Any]) -> Term | None:
        """An output of a search, as a term."""
        if name == "hit":
            return ox.NamedNode(f"{NAMESPACE}chunk:{row['hit']}")
        if name == "jenaScore":  # higher is better, as in Lucene
            return ox.Literal(str(-row["textScore"]), datatype=_FLOAT)
        value = row[name]
        if name == "marked":
            value = value.replace("\x02", search.marks[0]).replace("\x03", search.marks[1])
        return ox.Literal(value) if isinstance(value, str | int | float) else value

    # -- writing --------------------------------------------------------------------------------------------------

    def _table(self, search: WrittenSearch) -> str:
        """A sub-SELECT that gives what the search does, which is performed the first time."""
        if search.element not in self.shape.replaced:
            solutions = self._solutions(search)
            names = {variable for _, variable in search.outputs}
            always = {name for name in names if all(solution.get(name) is not None for solution in solutions)}
            self.shape.replaced[search.element] = self._written(search, solutions), frozenset(always)
        return self.shape.replaced[search.element][0]

    def _written(self, search: WrittenSearch, solutions: list[dict[str, Term | None]]) -> str:
        named = [variable for _, variable in search.outputs] + sorted(search.variables)
        variables = [name for name in dict.fromkeys(named) if name not in self.bindings]
        return self._tables.table(variables, [[solution.get(name) for name in variables] for solution in solutions])


def _agree(solution: dict[str, Term | None], variable: str, term: Term | None, bindings: Mapping[str, Term]) -> bool:
    """Give the variable a value in a solution; False where it has another one."""
    held = bindings.get(variable) or solution.get(variable)
    if held is None:
        solution[variable] = term
    return held is None or term is None or held == term


def _grouped(
    rows: Iterable[Sequence[Term | None]], by: Sequence[int], position: int
) -> dict[tuple[Term, ...], list[Term] | None]:
    """The terms at `position` in rows, by those at other places; None where any term will do."""
    if not by:
        terms = [row[position] for row in rows]
        return {(): None if None in terms else terms}  # type: ignore[dict-item]  # none is None
    found: dict[tuple[Term, ...], list[Term] | None] = {}
    for row in rows:
        key = tuple(row[at] for at in by)
        if None in key:
            continue
        term, group = row[position], found.setdefault(key, [])  # type: ignore[arg-type]  # none is None
        if term is None:
            found[key] = None  # type: ignore[index]
        elif group is not None:
            group.append(term)
    return found
