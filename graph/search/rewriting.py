"""Search inside SPARQL: `SERVICE w:search { … }`, Jena's `text:query`, and the function `w:similarity`.

A query is rewritten before pyoxigraph sees it: each search is performed, and a sub-SELECT of its solutions takes its
place. What surrounds a search says which subjects it may find (see `shape.surroundings`); that is resolved first.
Everything else of the query stays as it is.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Literal, Protocol, TypeAlias

import pyoxigraph as ox

from worlds.errors import FilterError, QueryError, QueryTimeout, WorldsError
from worlds.graph.query.evaluation import syntax_error
from worlds.graph.query.guard import check, with_room
from worlds.graph.query.limits import in_time
from worlds.graph.query.shape import Element, Path, Shape, Surroundings, exclusions, surroundings
from worlds.graph.query.tokens import Token, error_at, tokenize
from worlds.graph.terms import XSD, Term, format_term, to_python

NAMESPACE = "urn:worlds:"
SEARCH = NAMESPACE + "search"
SIMILARITY = NAMESPACE + "similarity"
TEXT_QUERY = "http://jena.apache.org/text#query"

MOST_SEARCHES = 1000
"""One block searches at most so often, once for each combination of the values that its variables take."""
JENA_LIMIT = 10_000
"""How many hits a `text:query` without a limit gives at most; Jena has the same."""

Function: TypeAlias = Callable[..., "Term | None"]
Form: TypeAlias = Literal["text", "whole number", "number", "boolean", "IRI", "graph", "language tag", "numbers"]


@dataclass(frozen=True)
class Property:
    """A property of a search: an input has an `option` of World.search and a `form`, an output has what it `gives`."""

    option: str = ""
    form: Form = "text"
    many: bool = False  # takes several values, any of which will do
    gives: str = ""


_FILTERS: dict[str, Form] = {
    "type": "IRI",
    "subject": "IRI",
    "predicate": "IRI",
    "graph": "graph",
    "language": "language tag",
}
PROPERTIES: Mapping[str, Property] = {
    "query": Property("text"),
    "limit": Property("limit", "whole number"),
    "mode": Property("mode"),
    "syntax": Property("syntax"),
    "fusion": Property("fusion"),
    "normalise": Property("normalise"),
    "k": Property("k", "number"),
    "vectorWeight": Property("weights.vector", "number"),
    "textWeight": Property("weights.text", "number"),
    "candidates": Property("candidates", "whole number"),
    "plan": Property("plan"),
    "vector": Property("vector", "numbers"),
    "minSimilarity": Property("min_similarity", "number"),
    "rerank": Property("rerank", "boolean"),  # a name would let a query load any model
    "rerankTop": Property("rerank_top", "whole number"),
    "rerankTimeout": Property("rerank_timeout", "number"),
    "boost": Property("boost", many=True),
    "decayPredicate": Property("decay.predicate", "IRI"),
    "decayHalfLife": Property("decay.half_life", "number"),
    "decayNow": Property("decay.now"),
    "evergreenTypes": Property("decay.evergreen_types", "IRI", many=True),
    "evergreenPredicates": Property("decay.evergreen_predicates", "IRI", many=True),
    "evergreenFlags": Property("decay.evergreen_flags", "IRI", many=True),
    "diversity": Property("diversity", "number"),
    "groupBy": Property("group_by"),
    "perSubject": Property("per_subject", "whole number"),
    "cursor": Property("cursor", gives="what w:cursor takes to give the hits that follow; unbound at the end"),
    "subclasses": Property("subclasses", "boolean"),
    "where": Property("where"),
    **{
        name: Property(option, form, many=True)
        for singular, form in _FILTERS.items()
        for name, option in (
            (f"{singular}s", f"{singular}s"),
            (f"exclude{singular.title()}", f"exclude.{singular}s"),
            (f"exclude{singular.title()}s", f"exclude.{singular}s"),
        )
    },
    "type": Property("types", "IRI", many=True),
    "excludeWhere": Property("exclude.where"),
    "subject": Property("subjects", "IRI", many=True, gives="the subject of a quad that holds the text"),
    "predicate": Property("predicates", "IRI", many=True, gives="the quad's predicate"),
    "graph": Property("graphs", "graph", many=True, gives="the quad's graph; unbound for the default graph"),
    "language": Property("languages", "language tag", many=True, gives='the literal\'s language, "" for none'),
    "object": Property(gives="the literal"),
    "text": Property(gives="the passage of the literal that was found"),
    "snippet": Property(gives="its part with most of the query's words, each as **word**"),
    "label": Property(gives="a label of the hit's first subject"),
    "start": Property(gives="where the passage begins in the literal, in characters"),
    "end": Property(gives="where it ends"),
    "score": Property(gives="the fused score, higher is better"),
    "rank": Property(gives="the hit's place, from 1"),
    "vectorRank": Property(gives="its place among the vectors' matches; unbound where it is not one"),
    "vectorScore": Property(gives="cosine similarity"),
    "textRank": Property(gives="its place among the words' matches; unbound where it is not one"),
    "textScore": Property(gives="BM25 as SQLite gives it, lower is better"),
}  # fmt: skip
"""The vocabulary, by local name. What has an option and gives something is an input where its object is a constant."""

_FUNCTION = NAMESPACE + "term"  # gives the terms that a query's text cannot hold: blank nodes
_PATH = ("/", "|", "*", "+", "?")  # after a predicate: a property path
_FLOAT = ox.NamedNode(XSD + "float")


class Searcher(Protocol):
    """What a rewriting asks of the world, over the dataset of the query."""

    def select(self, query: str, functions: Mapping[ox.NamedNode, Function]) -> Iterable[Sequence[Term | None]]:
        """The solutions of a SELECT, by position; evaluated as the query itself will be."""

    def search(
        self, options: Mapping[str, Any], subjects: Collection[Term] | None, wanted: Collection[str]
    ) -> Iterable[Mapping[str, Any]]:
        """Search with options of World.search, among `subjects` only unless that is None.

        Gives for each hit, best first, and each of its quads, what is `wanted`: names of outputs; "hit", what
        identifies the passage (int); "marked", the passage with each match between U+0002 and U+0003. Terms are
        pyoxigraph's, all else is str, int or float; what has no value is None.
        """

    def similarity(self) -> Function:
        """What `w:similarity` computes; EmbedderError where it can't."""


@dataclass(frozen=True)
class Rewritten:
    """A query without searches, and what evaluating it needs."""

    query: str
    prefixes: Mapping[str, str]
    functions: Mapping[ox.NamedNode, Function] = field(default_factory=dict)


def mentions_search(query: str) -> bool:
    """Whether a query may hold a search or its function, so that `rewrite` should see it; costs next to nothing."""
    return "search" in query or ":query" in query or "similarity" in query or "text#query" in query


def rewrite(
    query: str,
    *,
    prefixes: Mapping[str, str],
    searcher: Searcher,
    bindings: Mapping[str, Term] | None = None,
    deadline: float | None = None,
) -> Rewritten:
    """Perform the searches of a query, and put their solutions in their place.

    `prefixes` need no declaration, nor does `w:`; `bindings` are the values of variables that the caller gives.
    A query that holds no search comes back as it is. QueryError, with line and column, for a query that does not
    parse, for a property or value that is wrong, and for more than MOST_SEARCHES searches in one block; QueryTimeout
    if `deadline`, by `time.monotonic`, has passed before a search; EmbedderError where a search or function needs an
    embedder that is not there.
    """
    known = {"w": NAMESPACE, **prefixes}
    tokens = tokenize(query)
    names = _Names(tokens, known)
    uses = {names.iri(token) for token in tokens if token.kind in ("name", "iri")}
    if not uses & {SEARCH, SIMILARITY, TEXT_QUERY}:
        return Rewritten(query, prefixes)
    functions: dict[ox.NamedNode, Function] = {}
    if SIMILARITY in uses:
        functions[ox.NamedNode(SIMILARITY)] = searcher.similarity()
    if not uses & {SEARCH, TEXT_QUERY}:
        return Rewritten(query, known, functions)
    _check(query, tokens, known)
    given = {name.lstrip("?$"): term for name, term in (bindings or {}).items()}
    try:
        text = _Rewriting(query, tokens, names, known, searcher, functions, given, deadline).text()
    except RecursionError:
        raise QueryError("nested too deeply for a query with a search") from None
    return Rewritten(text, known, functions)


def _check(query: str, tokens: Sequence[Token], prefixes: Mapping[str, str]) -> None:
    """Raise what the parser has to say of the query as it was written, with its places in it."""
    check(query, tokens, allow_network=True)
    pieces: list[str] = []
    at = 0
    for token in tokens:
        if token.is_word("SERVICE", "SILENT"):  # GRAPH has the same grammar, and asks nobody
            pieces += [query[at : token.start], "GRAPH  " if token.is_word("SERVICE") else "      "]
            at = token.end
    text = "".join([*pieces, query[at:]])
    try:
        with_room(text, lambda _: bool(ox.Store().query(text, prefixes=dict(prefixes))))  # results can't leave it
    except SyntaxError as error:
        raise syntax_error(error, query, prefixes) from error
    except (OSError, RuntimeError, ValueError):
        pass  # of an evaluation that was not meant; the query's own will tell


class _Names:
    """The prefixes of a query."""

    def __init__(self, tokens: Sequence[Token], prefixes: Mapping[str, str]) -> None:
        self._prefixes = dict(prefixes)
        for word, prefix, iri in zip(tokens, tokens[1:], tokens[2:], strict=False):
            if word.is_word("PREFIX") and prefix.kind == "name" and iri.kind == "iri":
                self._prefixes[prefix.text[:-1]] = iri.text[1:-1]

    def iri(self, token: Token) -> str | None:
        """The IRI of a token, as far as it can be one of the vocabulary's."""
        if token.kind == "iri":
            return token.text[1:-1]
        prefix, _, local = token.text.partition(":")
        return self._prefixes[prefix] + local if token.kind == "name" and prefix in self._prefixes else None


@dataclass(frozen=True)
class _Value:
    """An object in a search: a constant, or the name of a variable."""

    place: Token
    term: Term | None = None
    variable: str = ""


@dataclass
class _Search:
    """One search as it is written."""

    element: Element
    path: Path
    place: Token
    inputs: list[tuple[str, Token, _Value]] = field(default_factory=list)  # (property, its place, value)
    outputs: list[tuple[str, str]] = field(default_factory=list)  # (output, variable)
    options: dict[str, Any] = field(default_factory=dict)
    silent: bool = False
    named_only: bool = False  # not in the default graph
    marks: tuple[str, str] = ("", "")  # of Jena's highlighting
    without: set[Term | None] = field(default_factory=set)  # subjects that what surrounds it excludes

    @property
    def variables(self) -> set[str]:
        """The variables that it needs to know."""
        return {value.variable for _, _, value in self.inputs if value.variable}

    @property
    def subject(self) -> str | None:
        return next((variable for name, variable in self.outputs if name == "subject"), None)


class _Rewriting:
    """One query on its way."""

    def __init__(
        self,
        query: str,
        tokens: Sequence[Token],
        names: _Names,
        prefixes: Mapping[str, str],
        searcher: Searcher,
        functions: dict[ox.NamedNode, Function],
        bindings: Mapping[str, Term],
        deadline: float | None,
    ) -> None:
        self.query = query
        self.tokens = tokens
        self.names = names
        self.prefixes = prefixes
        self.searcher = searcher
        self.functions = functions
        self.bindings = bindings
        self.deadline = deadline
        self.shape = Shape(query, tokens)
        self._waiting: set[Element] = set()  # searches that wait for others
        self._terms: list[Term] = []  # what the query's text cannot hold
        taken = {token.text[1:] for token in tokens if token.kind == "variable"}
        self._fresh = (name for number in itertools.count() if (name := f"w{number}") not in taken)

    def text(self) -> str:
        """The query without its searches."""
        self.searches = list(self._found())
        self._searched = {search.element for search in self.searches}
        self._misplaced()
        tokens = self.tokens
        edits: list[tuple[int, int, str]] = []
        statements: dict[tuple[int, int], list[str]] = {}  # what stands in the place of triples with text:query
        for search in self.searches:
            table = self._table(search)
            element = search.element
            if element.kind == "service":
                edits.append((tokens[element.first].start, tokens[element.last - 1].end, table))
            else:
                if element.statement not in statements:
                    group = search.path[-1][0].elements
                    others = [item for item in group if item.statement == element.statement]
                    statements[element.statement] = [
                        self.shape.text_of(item) for item in others if item not in self._searched
                    ]
                statements[element.statement].append(table)
        edits += [
            (tokens[first].start, tokens[last - 1].end, " ".join(pieces))
            for (first, last), pieces in statements.items()
        ]
        pieces: list[str] = []
        at = 0
        for start, end, piece in sorted(edits):
            pieces += [self.query[at:start], piece, "\n" * self.query.count("\n", start, end)]
            at = end
        return "".join([*pieces, self.query[at:]])

    # -- reading --------------------------------------------------------------------------------------------------

    def _found(self) -> Iterator[_Search]:
        for path, element in self.shape.walk():
            if element.kind == "service":
                silent = self.tokens[element.first + 1].is_word("SILENT")
                place = self.tokens[element.first + 1 + silent]
                if self.names.iri(place) == SEARCH:
                    yield self._block(_Search(element, path, place, silent=silent))
            elif element.kind == "triples" and self.names.iri(self.tokens[element.predicate]) == TEXT_QUERY:
                place = self.tokens[element.predicate]
                if self.shape.query.short:
                    raise self._error("CONSTRUCT WHERE takes no search; write CONSTRUCT { … } WHERE { … }", place)
                if self.tokens[element.predicate + 1].text not in _PATH:
                    yield self._property_function(_Search(element, path, place))

    def _misplaced(self) -> None:
        """Complain of a text:query that is no predicate of triples."""
        read = {search.element.predicate for search in self.searches if search.element.kind == "triples"}
        for at, token in enumerate(self.tokens):
            if at >= self.shape.prologue and self.names.iri(token) == TEXT_QUERY and at not in read:
                raise self._error("text:query is the predicate of ?s or (?s …), and takes words or a list", token)

    def _error(self, message: str, place: Token) -> QueryError:
        return error_at(message, self.query, place.start)

    def _block(self, search: _Search) -> _Search:
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
                closing = self.shape._after(at, []) - 1
                subject = f"[{at}"
                at += 1
                if at == closing:
                    at, closing = at + 1, end
            else:
                raise self._error(
                    f"{token.text!r} has no place in a search, which is `?hit w:query \"…\" ; w:limit 10 ; …`; "
                    "patterns stand beside it", token
                )  # fmt: skip
            if hit is not None and subject != hit:
                raise self._error(f"one search has one hit, {hit}; another one is another SERVICE w:search", token)
            if hit is None and token.kind == "variable":
                search.outputs.append(("hit", subject[1:]))
            hit = subject
            at = self._properties(search, at, closing)
            while at < end and tokens[at].kind == "mark" and tokens[at].text in ".]":
                at += 1
        if not any(name == "query" for name, _, _ in search.inputs):
            raise self._error("a search needs w:query, the words to search for", search.place)
        return search

    def _properties(self, search: _Search, at: int, end: int) -> int:
        tokens = self.tokens
        while at < end and not (tokens[at].kind == "mark" and tokens[at].text == "."):
            if tokens[at].kind == "mark" and tokens[at].text == ";":
                at += 1
                continue
            place = tokens[at]
            name = self._property(place)
            at += 1
            while True:
                values, at = self._values(at, PROPERTIES[name].many)
                for value in values:
                    self._take(search, name, place, value)
                if at < end and tokens[at].kind == "mark" and tokens[at].text == ",":
                    at += 1
                    continue
                break
        return at

    def _property(self, place: Token) -> str:
        iri = self.names.iri(place) or ""
        name = iri.removeprefix(NAMESPACE)
        if iri.startswith(NAMESPACE) and name in PROPERTIES:
            return name
        local = iri.rpartition("#")[2].rpartition("/")[2].rpartition(":")[2] or place.text
        near = get_close_matches(local, PROPERTIES, 1)
        hint = f"; the nearest that it has is w:{near[0]}" if near else ""
        raise self._error(f"a search has no property {place.text}{hint}", place)

    def _values(self, at: int, many: bool) -> tuple[list[_Value], int]:
        """The object at `at`, or the members of the collection there, and where it ends."""
        token = self.tokens[at]
        if many and token.kind == "mark" and token.text == "(":
            found: list[_Value] = []
            at += 1
            while not (self.tokens[at].kind == "mark" and self.tokens[at].text == ")"):
                value, at = self._value(at)
                found.append(value)
            return found, at + 1
        value, at = self._value(at)
        return [value], at

    def _value(self, at: int) -> tuple[_Value, int]:
        token = self.tokens[at]
        if token.kind == "variable":
            return _Value(token, variable=token.text[1:]), at + 1
        end = at + 1
        if token.kind == "string" and self.tokens[end].kind == "language":
            end += 1
        elif token.kind == "string" and self.tokens[end].text == "^^":
            end += 2
        elif token.kind == "mark" and token.text in "+-" and self.tokens[end].kind == "number":
            end += 1
        elif token.kind not in ("iri", "name", "string", "number") and not token.is_word("TRUE", "FALSE"):
            raise self._error(f"{token.text!r} is neither a variable nor a value that a search takes", token)
        prologue = self.shape.source(0, self.shape.prologue)
        values = f"{prologue}\nSELECT ?x WHERE {{ VALUES ?x {{ {self.shape.source(at, end)} }} }}"
        return _Value(token, next(ox.Store().query(values, prefixes=dict(self.prefixes)))[0]), end  # type: ignore[arg-type]

    def _take(self, search: _Search, name: str, place: Token, value: _Value) -> None:
        known = PROPERTIES[name]
        if value.variable and known.gives:
            search.outputs.append((name, value.variable))
            return
        if not known.option:
            raise self._error(
                f"w:{name} gives a value, so its object is a variable, not {value.place.text}", value.place
            )
        if not known.many and any(other == name for other, _, _ in search.inputs):
            raise self._error(f"w:{name} is given twice", place)
        if value.term is not None:
            self._python(name, value.term, value.place)  # complains if it is of the wrong form
        search.inputs.append((name, place, value))

    def _property_function(self, search: _Search) -> _Search:
        """Read Jena's `(?s ?score ?literal ?graph ?property) text:query (property … "words" limit "option" …)`."""
        element = search.element
        outputs = ("subject", "jenaScore", "object", "graph", "predicate")
        subjects, end = self._values(element.subject[0], many=True)
        if end != element.subject[1] or not 1 <= len(subjects) <= len(outputs):
            raise self._error("what text:query gives is ?s or (?s ?score ?literal ?graph ?property)", search.place)
        for name, value in zip(outputs, subjects, strict=False):
            if value.variable:
                search.outputs.append((name, value.variable))
            elif name == "subject":
                self._take(search, "subject", search.place, value)
            else:
                raise self._error("this is a variable in what text:query gives", value.place)
        arguments, end = self._values(element.predicate + 1, many=True)
        if end != element.last:
            raise self._error('text:query takes one list: (property … "words" limit "lang:…")', search.place)
        search.options = {"mode": "text", "limit": JENA_LIMIT}
        rest = iter(arguments)
        for value in rest:
            if isinstance(value.term, ox.NamedNode):
                self._take(search, "predicate", search.place, value)
            else:
                self._take(search, "query", value.place, value)
                language = getattr(value.term, "language", None)
                break
        else:
            raise self._error("text:query needs the words to search for", search.place)
        for value in rest:
            self._argument(search, value, language)
        if language is not None:  # of the words; it goes before "lang:…"
            self._take(search, "language", search.place, _Value(value.place, ox.Literal(language)))
        self._in_graph(search)
        return search

    def _in_graph(self, search: _Search) -> None:
        """A `text:query` in GRAPH finds what is in that graph."""
        for _, element in reversed(search.path[:-1]):
            if element.kind == "graph":
                name, _ = self._value(element.first + 1)
                if name.variable:
                    search.outputs.append(("graph", name.variable))
                    search.named_only = True
                else:
                    self._take(search, "graph", search.place, name)
                return

    def _argument(self, search: _Search, value: _Value, language: str | None) -> None:
        """What follows the words of a `text:query`: the limit, `lang:…`, `highlight:…`."""
        term = value.term
        option = term.value if isinstance(term, ox.Literal) else ""
        number = to_python(term)
        if isinstance(number, int):
            if 0 < number < JENA_LIMIT:  # what is less is Jena's way to say: no limit
                search.options["limit"] = number
        elif option.startswith("lang:"):
            if language is None:
                tag = "" if option == "lang:none" else option.removeprefix("lang:")
                self._take(search, "language", value.place, _Value(value.place, ox.Literal(tag)))
        elif option.startswith("highlight:"):
            parts = dict(
                part.strip().split(":", 1) for part in option.removeprefix("highlight:").split("|") if ":" in part
            )
            search.marks = (parts.get("s", "↦"), parts.get("e", "↤"))
            search.outputs = [("marked" if name == "object" else name, variable) for name, variable in search.outputs]
        else:
            raise self._error(
                f"text:query does not know {value.place.text}; after the words it takes a limit, \"lang:…\" and "
                '"highlight:…"', value.place,
            )  # fmt: skip

    # -- searching ------------------------------------------------------------------------------------------------

    def _solutions(self, search: _Search) -> list[dict[str, Term | None]]:
        """What the search gives, by variable."""
        bound = self.bindings.get(search.subject or "")
        names = {name for name, _ in search.outputs}
        wanted = {"textScore" if name == "jenaScore" else name for name in names}
        found: list[dict[str, Term | None]] = []
        resolved = self._resolved(search, None if bound else search.subject)
        for values, subjects in in_time(resolved, self.deadline):
            options = self._options(search, values)
            try:
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
                    found.append(solution)
        return found

    def _resolved(
        self, search: _Search, subject: str | None
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
                raise self._error(
                    f"w:{name} needs a value, and nothing around the search gives ?{value.variable} one", value.place
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
            raise self._error(
                f"this would search {count:,} times, for each value of {', '.join('?' + name for name in inputs)}; "
                f"at most {MOST_SEARCHES:,} are allowed",
                search.place,
            )
        for chosen in itertools.product(*choices):
            values = {name: term for choice in chosen for name, term in choice.items()}
            yield values, subjects.get(tuple(values[name] for name in by))

    def _beside(self, search: _Search) -> set[Element]:
        """The other searches in the groups around one, performed."""
        self._waiting.add(search.element)
        around = {element for group, _ in search.path for element in group.elements}
        others = [other for other in self.searches if other.element in around - self._waiting]
        for other in others:
            self._table(other)
        self._waiting.remove(search.element)
        return {other.element for other in others}

    def _around(
        self, search: _Search, sought: Sequence[str], performed: set[Element]
    ) -> tuple[list[Surroundings], Callable[[str], list[str]]]:
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
        query = f"{prologue}\nSELECT DISTINCT {variables}\n{dataset}\nWHERE {{\n{pattern}\n}}"
        return self.searcher.select(query, self.functions)

    def _options(self, search: _Search, values: Mapping[str, Term]) -> dict[str, Any]:
        """The options of World.search."""
        options: dict[str, Any] = dict(search.options)
        exclude: dict[str, Any] = {}
        for name, _, value in search.inputs:
            term = value.term or self.bindings.get(value.variable) or values[value.variable]
            known = PROPERTIES[name]
            given = self._python(name, term, value.place)
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

    def _python(self, name: str, term: Term, place: Token) -> Any:
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
        raise self._error(f"w:{name} takes {takes}, not {format_term(term, self.prefixes)}", place)

    def _blamed(self, search: _Search, error: Exception) -> QueryError:
        """The error of a search, at the property that it speaks of."""
        message = str(error)
        first = message.removeprefix("the ").partition(" ")[0].rstrip(":")
        for name, place, _ in search.inputs:
            if first in (*PROPERTIES[name].option.split("."), *(("FTS5",) if name == "query" else ())):
                return self._error(f"w:{name}: {message}", place)
        return self._error(message, search.place)

    def _term(self, search: _Search, name: str, row: Mapping[str, Any]) -> Term | None:
        """One output of one solution."""
        if name == "hit":
            return ox.NamedNode(f"{NAMESPACE}chunk:{row['hit']}")
        if name == "jenaScore":  # higher is better, as in Lucene
            return ox.Literal(str(-row["textScore"]), datatype=_FLOAT)
        value = row[name]
        if name == "marked":
            value = value.replace("\x02", search.marks[0]).replace("\x03", search.marks[1])
        return ox.Literal(value) if isinstance(value, str | int | float) else value

    # -- writing --------------------------------------------------------------------------------------------------

    def _table(self, search: _Search) -> str:
        """A sub-SELECT that gives what the search does, which is performed the first time."""
        if search.element not in self.shape.replaced:
            solutions = self._solutions(search)
            names = {variable for _, variable in search.outputs}
            always = {name for name in names if all(solution.get(name) is not None for solution in solutions)}
            self.shape.replaced[search.element] = self._written(search, solutions), frozenset(always)
        return self.shape.replaced[search.element][0]

    def _written(self, search: _Search, solutions: list[dict[str, Term | None]]) -> str:
        named = [variable for _, variable in search.outputs] + sorted(search.variables)
        variables = [name for name in dict.fromkeys(named) if name not in self.bindings]
        columns: list[str] = []
        binds: list[str] = []
        cells: list[list[str]] = []
        for name in variables:
            terms = [solution.get(name) for solution in solutions]
            if all(map(_is_writable, terms)):
                columns.append(f"?{name}")
                cells.append(["UNDEF" if term is None else str(term) for term in terms])
            else:
                column = next(self._fresh)
                columns.append(f"?{column}")
                binds.append(f"BIND(<{_FUNCTION}>(?{column}) AS ?{name})")
                cells.append([self._numbered(term) for term in terms])
        rows = [f"({' '.join(row)})" for row in zip(*cells, strict=True)] if cells else ["()"] * len(solutions)
        values = f"VALUES ({' '.join(columns)}) {{ {' '.join(rows)} }}"
        if not variables:
            return f"{{ {values} }}"
        names = " ".join(f"?{name}" for name in variables)
        return f"{{ SELECT {names} WHERE {{ {' '.join([values, *binds])} }} }}"

    def _numbered(self, term: Term | None) -> str:
        """What the function of `_FUNCTION` turns into the term."""
        if term is None:
            return "UNDEF"
        terms = self._terms
        if not terms:
            self.functions[ox.NamedNode(_FUNCTION)] = lambda number: terms[int(number.value)]
        terms.append(term)
        return str(len(terms) - 1)


def _is_writable(term: Term | None) -> bool:
    """Whether a query's text can hold the term, so that it is the same one there."""
    return term is None or isinstance(term, ox.NamedNode) or (isinstance(term, ox.Literal) and term.direction is None)


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
