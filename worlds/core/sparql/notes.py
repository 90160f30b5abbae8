"""Why a query found nothing, as far as can be told in a moment: unknown names, empty patterns, other graphs.

What is told comes of looking patterns up one by one, in the SPARQL index; what a quick query leaves out, it counts
itself.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyoxigraph as ox

from worlds.core.quads.dictionary import DEFAULT_GRAPH, Dictionary
from worlds.core.quads.used_names import TimeBudget, Vocabulary
from worlds.core.sparql.hints import Hint, Hints, Terms, TriplePattern
from worlds.core.sparql.index import SparqlIndex
from worlds.errors import WorldsError
from worlds.graph.query.evaluation import Found, Selected
from worlds.graph.query.query import UNION_GRAPH, Query
from worlds.graph.query.shape import Element, Path
from worlds.graph.query.tokens import Token
from worlds.graph.search.vocabulary import NAMESPACE, TEXT_QUERY
from worlds.graph.terms import RDF, XSD, Term, format_term, shorten, to_python
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
SECONDS = 0.04  # for all notes of one query
_LONGEST = 50_000  # characters of a query that are read again
_MOST_ROWS = 10_000  # solutions that are looked at for a column that holds nothing
_MOST_COUNTED = 2000  # quads of a pattern; beyond, there are "many"
_MOST_NAMED = 10_000  # quads in named graphs, likewise
_MOST_BELOW = 3000  # classes
_SHOWN = 3  # of forms of a literal, and of subclasses
_LITERALS = 3  # of a query that are looked for in other forms
_AGGREGATES = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"})
_OF_OTHERS = (NAMESPACE, XSD, TEXT_QUERY, UNION_GRAPH.value, "http://www.w3.org/2005/xpath-functions")
_ONLY = "The only quad is in a named graph, none"
_RDF_TYPE = ox.NamedNode(RDF + "type")
_SUBCLASS = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#subClassOf")


class _NotPlain(Exception):  # noqa: N818  # it is no failure
    """A pattern that is no plain triple: a path, a list, a triple term."""


class Notes:
    """Notes on queries over one world that found nothing."""

    def __init__(
        self, connection: Connection, dictionary: Dictionary, index: SparqlIndex, vocabulary: Vocabulary
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._index = index
        self._vocabulary = vocabulary

    def of(self, query: Query, found: Found, count: Callable[[Query], Found] | None = None) -> tuple[str, ...]:
        """Notes on a query and its results; none where nothing is odd.

        `count` answers a query that counts what this one leaves out; None where that may take long.
        """
        with self._connection.lock, contextlib.suppress(WorldsError):
            if len(query.text) <= _LONGEST:
                reading = _Reading(self, query)
                return (*reading.unbound(), *reading.told(found, count))
        return ()

    def strangers(self, query: Query) -> tuple[str, ...]:
        """Notes on the names in a query, or in a piece of one, that the world does not know."""
        with self._connection.lock, contextlib.suppress(WorldsError):
            return tuple(_Reading(self, query).strangers()) if len(query.text) <= _LONGEST else ()
        return ()

    def unknown(self, query: Query) -> dict[str, list[str]]:
        """Unknown names in a query → the nearest known names."""
        with self._connection.lock, contextlib.suppress(WorldsError):
            return dict(_Reading(self, query).unknown()) if len(query.text) <= _LONGEST else {}
        return {}

    def of_pattern(self, pattern: str, prefixes: Mapping[str, str]) -> tuple[str, ...]:
        """The notes on unknown names in a group pattern."""
        return self.strangers(Query(f"SELECT * WHERE {{\n{pattern}\n}}", prefixes))


def absent(name: str, nearest: Sequence[str], where: str) -> str:
    """A note on a name that does not occur."""
    if not nearest:
        return f"{name} does not occur in {where}."
    return Hint(f"{name} does not occur in {where}: did you mean {_either(nearest)}?", name, nearest[0])


class _Reading:
    """The notes on one query."""

    def __init__(self, notes: Notes, query: Query) -> None:
        self._connection = notes._connection
        self._dictionary = notes._dictionary
        self._vocabulary = notes._vocabulary
        self._query = query
        self._prefixes = query.prefixes
        self._index = notes._index
        self._store = notes._index.store()
        self._budget = TimeBudget(SECONDS)
        self._words = {token.text.upper() for token in query.tokens if token.kind == "word"}
        self._hints = Hints(query, self._dictionary, self._quads, self._term, self._budget)

    def told(self, found: Found, count: Callable[[Query], Found] | None) -> Iterator[str]:
        """Notes on the solutions, or on their absence."""
        if not isinstance(found, Selected):
            yield from () if found else self.nothing(joined=isinstance(found, bool))
            return
        blank = set(range(len(found.variables)))
        for solution in itertools.islice(found, _MOST_ROWS):
            blank = {at for at in blank if solution[at] is None or getattr(solution[at], "value", "-") in ("0", "")}
            if not blank:
                break
        aggregates = self._words & _AGGREGATES
        if aggregates and len(found) == 1 and len(blank) == len(found.variables):
            yield from self.sums()
            yield from self.nothing(joined=aggregates != {"COUNT"})
            return
        if not found:
            yield from self.nothing()
        else:
            yield from self.strangers() if blank else ()
            yield from self.losses(count)
        yield from self.texts()

    def nothing(self, *, joined: bool = False) -> Iterator[str]:
        """Why there are no results; `joined` says that the patterns may have solutions together all the same."""
        yield from self.strangers()
        patterns, plain = self._patterns()
        if elsewhere := self._elsewhere(patterns):
            yield elsewhere
            return
        empty = [one for one in patterns if not self._number(one.terms, one.graphs, 1)]
        if self._budget.spent:  # so not everything was looked at
            return
        for one in empty:
            if not self._budget.spent:
                yield f"Line {one.line}: {_inline(one.text)} matches nothing."
                yield from self._below(one)
                if not (yield from self._written_otherwise(one)):
                    yield from self._hints.of_empty(one)
        if empty or joined or not patterns or not plain or not self._words.isdisjoint({"OFFSET", "HAVING", "SERVICE"}):
            return
        filtered = "FILTER" in self._words
        counts = []
        for one in patterns:
            count = self._number(one.terms, one.graphs)
            counts.append(f"{_inline(one.text)} {'many' if count > _MOST_COUNTED else f'{count:,}'}")
        if len(counts) == 1 and filtered:
            yield f"The FILTER leaves nothing of {counts[0]}."
        elif len(counts) > 1:
            yield f"Each pattern alone matches, but they do not join, or a FILTER leaves nothing: {'; '.join(counts)}"
        if filtered:
            written = list(self._compared_with())
            yield from written
            for hint in self._hints.of_filters(patterns):
                if not any(hint.rpartition(" ")[2].rstrip(".") in told for told in written):  # the literal is told
                    yield hint

    def losses(self, count: Callable[[Query], Found] | None) -> Iterator[str]:
        """Notes on solutions lost by a pattern that OPTIONAL would keep."""
        patterns, plain = self._patterns()
        return iter(()) if count is None or not plain else self._hints.of_losses(patterns, count)

    def texts(self) -> Iterator[str]:
        """Notes on numbers that are compared as text."""
        return self._hints.of_texts(self._patterns()[0])

    def sums(self) -> Iterator[str]:
        """Notes on sums over values that are not numbers."""
        return self._hints.of_sums(self._patterns()[0])

    # -- names ----------------------------------------------------------------------------------------------------

    def unbound(self) -> Iterator[str]:
        """Notes on variables that the query uses and never binds."""
        shape, tokens = self._query.shape, self._query.tokens
        bound = {name.text[1:] for word, name in itertools.pairwise(tokens) if word.is_word("AS")}
        bound.update(self._query.bindings)
        for _, element in shape.walk():
            if element.kind in ("triples", "values", "graph", "service"):
                last = element.groups[0].first if element.groups else element.last
                bound |= shape.names(*element.subject) | shape.names(element.first, last)
        for name in dict.fromkeys(token.text[1:] for token in tokens if token.kind == "variable"):
            if name not in bound:
                near = difflib.get_close_matches(name, bound, 1)
                told = f"?{name} is bound nowhere in the query"
                yield Hint(f"{told}: did you mean ?{near[0]}?", f"?{name}", f"?{near[0]}") if near else f"{told}."

    def strangers(self) -> Iterator[str]:
        """Notes on names that do not occur."""
        for name, nearest in self.unknown():
            yield absent(name, nearest, "this world")

    def unknown(self) -> Iterator[tuple[str, list[str]]]:
        """The unknown names of a query, each with the nearest known names."""
        for iri in self._names():
            if not self._occurs(iri) and not self._budget.spent:
                nearest = self._vocabulary.nearest(iri, TimeBudget(SECONDS / 2))
                yield shorten(iri, self._prefixes), [shorten(one, self._prefixes) for one in nearest]

    def _names(self) -> list[str]:
        """The IRIs of the query, except in its prologue, functions and datatypes."""
        tokens = self._query.tokens
        found: dict[str, None] = {}
        declares = False  # the IRI that comes next, and the prefix before it
        for at, token in enumerate(tokens):
            if token.is_word("PREFIX", "BASE"):
                declares = True
            if declares:
                declares = token.kind != "iri"
                continue
            if token.kind not in ("iri", "name") or "\\" in token.text or (at and tokens[at - 1].text == "^^"):
                continue
            if at + 1 < len(tokens) and tokens[at + 1].text == "(":
                continue
            iri = self._query.iri(token)
            if iri is not None and ":" in iri and not iri.startswith(_OF_OTHERS):
                found[iri] = None
        return list(found)

    def _occurs(self, iri: str) -> bool:
        with contextlib.suppress(ValueError):
            node = ox.NamedNode(iri)
            places: list[tuple[Any, Any, Any, Any]] = [
                (node, None, None, None), (None, node, None, None), (None, None, node, None), (None, None, None, node),
            ]  # fmt: skip
            return any(next(self._store.quads_for_pattern(*place), None) is not None for place in places)
        return True  # what is no IRI is left to the parser

    # -- patterns -------------------------------------------------------------------------------------------------

    def _patterns(self) -> tuple[list[TriplePattern], bool]:
        """The plain triple patterns that must have a solution, and whether these are all."""
        shape = self._query.shape
        found: list[TriplePattern] = []
        plain = True
        for path, element in shape.walk():
            around = [through.kind for _, through in path[:-1]]
            if element.kind != "triples" or not {"optional", "minus", "filter", "service", "bind"}.isdisjoint(around):
                continue
            start = self._query.tokens[element.first].start
            line = self._query.text.count("\n", 0, start) + 1
            try:
                graphs = self._graphs(path)
                found += [TriplePattern(line, parts, terms, graphs) for parts, terms in self._triples(element)]
            except _NotPlain:
                plain = False
        return found, plain

    def _triples(self, element: Element) -> Iterator[tuple[tuple[str, str, str], Terms]]:
        """Each triple of a subject, a predicate and several objects, as the query has it; ^p is p the other way."""
        source = self._query.shape.source
        first, end = element.subject
        subject, after = self._term(first)
        inverse = self._query.tokens[element.predicate].text == "^"
        predicate, at = self._term(element.predicate + inverse)
        verb = source(element.predicate + inverse, at)
        if after != end:
            raise _NotPlain
        while True:
            begin = at
            value, at = self._term(at)
            parts = (source(first, end), verb, source(begin, at))
            if inverse:
                yield parts[::-1], (value, predicate, subject)
            else:
                yield parts, (subject, predicate, value)
            if at == element.last:
                return
            if self._query.tokens[at].text != ",":
                raise _NotPlain
            at += 1

    def _term(self, at: int) -> tuple[Term | None, int]:
        """The term at a token, None for one that may be any, and where it ends."""
        tokens = self._query.tokens
        token = tokens[at]
        if token.kind == "variable":
            return self._query.bindings.get(token.text[1:]), at + 1
        if token.kind == "blank":
            return None, at + 1
        if token.is_word("A") and token.text == "a":
            return _RDF_TYPE, at + 1
        end = _literal_end(tokens, at)
        if end is None and token.kind not in ("iri", "name"):
            raise _NotPlain
        shape = self._query.shape
        end = end or at + 1
        values = f"{shape.source(0, shape.prologue)} SELECT ?x {{ VALUES ?x {{ {shape.source(at, end)} }} }}"
        try:
            return next(ox.Store().query(values, prefixes=dict(self._prefixes)))[0], end  # type: ignore[arg-type]  # a solution
        except SyntaxError as error:  # of a search, whose prefix the evaluation adds
            raise _NotPlain from error

    def _graphs(self, path: Path) -> Sequence[Any] | None:
        for _, element in reversed(path[:-1]):
            if element.kind == "graph":
                name, _ = self._term(element.first + 1)
                return None if name is None else [name]
        return [DEFAULT_GRAPH] if self._is_strict else [None]

    @property
    def _is_strict(self) -> bool:
        """Whether the query is on the world's own default graph."""
        query = self._query
        return not query.union and query.default_graphs is query.named_graphs is None and "FROM" not in self._words

    def _quads(self, terms: Terms, graphs: Sequence[Any] | None) -> Iterator[ox.Quad]:
        with contextlib.suppress(TypeError, ValueError):  # a literal as the subject
            if graphs is not None and graphs != [DEFAULT_GRAPH]:
                for graph in graphs:
                    yield from self._store.quads_for_pattern(*terms, graph)
                return
            seen = 0
            for quad in itertools.islice(self._store.quads_for_pattern(*terms, None), _MOST_COUNTED + 1):
                seen += 1
                if (quad.graph_name == DEFAULT_GRAPH) == (graphs is not None):
                    yield quad
            if graphs is None and seen > _MOST_COUNTED:
                for graph in self._store.named_graphs():
                    if self._budget.spent:
                        return
                    yield from self._store.quads_for_pattern(*terms, graph)

    def _number(self, terms: Terms, graphs: Sequence[Any] | None, most: int = _MOST_COUNTED + 1) -> int:
        return sum(1 for _ in itertools.islice(self._quads(terms, graphs), most))

    # -- graphs ---------------------------------------------------------------------------------------------------

    def _elsewhere(self, patterns: list[TriplePattern]) -> str | None:
        """A note on data in other graphs than the query reads."""
        query = self._query
        if query.default_graphs is not None or query.named_graphs is not None or "FROM" in self._words:
            return None
        named = self._connection.value(_SQL["count_in_named_graphs"], (_MOST_NAMED,))
        of_all = self._index.count
        if not of_all:
            return "The world is empty: nothing is loaded."
        if "GRAPH" in self._words:
            if not named:
                return f"All {of_all:,} quads are in the default graph, which GRAPH does not read: leave GRAPH out."
            if any(query.iri(token) == UNION_GRAPH.value for token in query.tokens):
                name = f"<{UNION_GRAPH.value}>"
                return f"GRAPH does not know {name} beside other patterns: ask with union=true, or write FROM."
        if not self._is_strict or not named:
            return None
        strict = [
            one for one in patterns if one.graphs == [DEFAULT_GRAPH] and not self._number(one.terms, one.graphs, 1)
        ]
        if patterns and not any(next(self._quads(one.terms, None), None) is not None for one in strict):
            return None
        if not patterns and not self._described_elsewhere(default_empty=named == of_all):
            return None
        if next(self._store.quads_for_pattern(None, None, None, DEFAULT_GRAPH), None) is None:
            counts = f"All {of_all:,} quads are in named graphs, none" if of_all > 1 else _ONLY
        elif named == _MOST_NAMED:
            counts = f"More than {named:,} quads are in named graphs, others"
        else:
            counts = f"{named:,} quads are in named graphs, {of_all - named:,}"
        return (
            f"{counts} in the default graph, which alone a query reads: give union=true (--union), or write "
            "GRAPH ?g { … }."
        )

    def _described_elsewhere(self, *, default_empty: bool) -> bool:
        """Whether named graphs hold the answer of a query without plain patterns, such as DESCRIBE."""
        if "DESCRIBE" not in self._words or self._query.shape.query.body is not None:
            return default_empty and self._query.shape.query.body is not None
        nodes = [ox.NamedNode(iri) for iri in self._names()]
        return any(next(self._quads((node, None, None), None), None) is not None for node in nodes)

    # -- classes and literals -------------------------------------------------------------------------------------

    def _below(self, pattern: TriplePattern) -> Iterator[str]:
        """Notes on a class without instances whose subclasses have some."""
        _, predicate, given = pattern.terms
        if predicate != _RDF_TYPE or not isinstance(given, ox.NamedNode):
            return
        below: dict[Any, None] = {given: None}
        waiting: list[Any] = [given]
        while waiting and len(below) < _MOST_BELOW and not self._budget.spent:
            for quad in self._store.quads_for_pattern(None, _SUBCLASS, waiting.pop(0), None):
                if isinstance(quad.subject, ox.NamedNode) and quad.subject not in below:
                    below[quad.subject] = None
                    waiting.append(quad.subject)
        counts = {one: self._number((None, _RDF_TYPE, one), [None]) for one in below if one != given}
        used = sorted((one for one in counts if counts[one]), key=counts.__getitem__, reverse=True)
        if used:
            name = shorten(given.value, self._prefixes)
            shown = [shorten(one.value, self._prefixes) for one in used[:_SHOWN]]
            yield (
                f"{name} has no instances of its own, but its subclasses have ({', '.join(shown)}"
                f"{', …' if len(used) > _SHOWN else ''}): `search` takes subclasses=true, SPARQL is "
                f"?x a/rdfs:subClassOf* {name}."
            )

    def _written_otherwise(self, pattern: TriplePattern) -> Generator[str, None, bool]:
        """How the literal of a pattern that matches nothing is written in its place; whether it is there at all."""
        subject, predicate, given = pattern.terms
        if not isinstance(given, ox.Literal):
            return False
        place = itertools.islice(self._quads((subject, predicate, None), [None]), _MOST_COUNTED)
        found = {one for one in self._like(given) if next(self._quads((subject, predicate, one), [None]), None)}
        for quad in place:
            if len(found) >= _SHOWN or self._budget.spent:
                break
            if isinstance(quad.object, ox.Literal) and _same_but_for_form(given, quad.object):
                found.add(quad.object)
        yield from self._told(given, found, "there")
        return bool(found)

    def _compared_with(self) -> Iterator[str]:
        """The forms in the data of the texts in FILTERs that no quad has."""
        tokens = self._query.tokens
        places = [at for at, token in enumerate(tokens) if token.kind == "string"]
        for at in places[:_LITERALS]:
            given, _ = self._term(at)
            if isinstance(given, ox.Literal) and not self._is_stored(given):
                yield from self._told(given, filter(self._is_stored, self._like(given)), "in the data")

    def _is_stored(self, term: Term) -> bool:
        return next(self._quads((None, None, term), [None]), None) is not None

    def _like(self, given: ox.Literal) -> Iterator[ox.Literal]:
        """Literals of the world with the same text in another case, language or datatype."""
        text = given.value
        forms = dict.fromkeys((text, text.lower(), text.upper(), text.capitalize(), text.title()))
        for form in forms:
            yield from (one for one in self._dictionary.literals(form) if one != given)

    def _told(self, given: ox.Literal, found: Iterable[ox.Literal], where: str) -> Iterator[str]:
        if shown := sorted({format_term(one, self._prefixes) for one in found})[:_SHOWN]:
            text = self._written(given)
            told = f"{text if len(text) <= 80 else text[:79] + '…'} is written {_either(shown)} {where}."
            yield Hint(told, text, shown[0])

    def _written(self, given: ox.Literal) -> str:
        """A literal as the query writes it."""
        tokens = self._query.tokens
        for at in range(len(tokens)):
            end = _literal_end(tokens, at)
            if end is not None and self._term(at)[0] == given:
                return self._query.shape.source(at, end)
        return format_term(given, self._prefixes)


def _literal_end(tokens: Sequence[Token], at: int) -> int | None:
    """Where the literal that begins at a token ends; None where none does."""
    token = tokens[at]
    if token.kind == "string":
        following = tokens[at + 1] if at + 1 < len(tokens) else None
        if following is not None and following.kind == "language":
            return at + 2
        return at + 3 if following is not None and following.text == "^^" else at + 1
    if token.kind == "mark" and token.text in "+-" and at + 1 < len(tokens) and tokens[at + 1].kind == "number":
        return at + 2
    return at + 1 if token.kind == "number" or token.is_word("TRUE", "FALSE") else None


def _same_but_for_form(one: ox.Literal, other: ox.Literal) -> bool:
    if one.value.casefold() == other.value.casefold():
        return True
    ours, theirs = to_python(one), to_python(other)
    with contextlib.suppress(ArithmeticError, TypeError, ValueError):
        return not isinstance(ours, str) and not isinstance(theirs, str) and bool(ours == theirs)
    return False


def _either(names: Sequence[str]) -> str:
    """The names as a choice: `a, b or c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _inline(pattern: str) -> str:
    return "{ " + " ".join(pattern.split())[:160] + " }"
