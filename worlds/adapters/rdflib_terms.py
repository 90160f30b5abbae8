"""rdflib's terms, patterns and queries as a world takes them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

import pyoxigraph as ox
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Dataset, Graph
from rdflib.query import Result
from rdflib.term import BNode, Literal, URIRef, Variable

from worlds.errors import QueryError
from worlds.graph.query.bindings import variables_of
from worlds.graph.query.results import Solutions
from worlds.graph.query.tokens import Token, error_at, tokenize
from worlds.graph.terms import to_oxigraph

_ODD_IRI = "urn:worlds:rdflib:"
_ODD_LABEL = "worlds-rdflib-"
_AFTER_FROM = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES")
_REACHING = ("SERVICE", "LOAD", "FROM", "USING")  # what lets rdflib's own engine read from the network
Triple: TypeAlias = tuple[Any, Any, Any]
Context: TypeAlias = Any  # a Graph, its identifier, or None


def world_term(term: Any) -> Any:
    """The world's term for rdflib's; ValueError or TypeError where RDF has none."""
    if isinstance(term, URIRef):
        if not term.startswith(_ODD_IRI):
            with contextlib.suppress(ValueError):
                return ox.NamedNode(str(term))
        return ox.NamedNode(_ODD_IRI + quote(str(term), safe=""))
    if isinstance(term, BNode):
        if not term.startswith(_ODD_LABEL):
            with contextlib.suppress(ValueError):
                return to_oxigraph(term)
        return ox.BlankNode(_ODD_LABEL + str(term).encode().hex())
    return to_oxigraph(term)


def rdflib_term(term: Any) -> Any:
    """rdflib's term as it was given; ValueError for a term that rdflib has no class for."""
    if isinstance(term, Literal):
        return term
    if isinstance(term, URIRef):
        return URIRef(unquote(term[len(_ODD_IRI) :])) if term.startswith(_ODD_IRI) else term
    if isinstance(term, BNode):
        return BNode(bytes.fromhex(term[len(_ODD_LABEL) :]).decode()) if term.startswith(_ODD_LABEL) else term
    raise ValueError(f"rdflib has no term for {term}; WorldsStore(…, triple_terms='skip') leaves it out")


def world_quad(triple: Triple, context: Context) -> ox.Quad:
    """The world's quad for a triple in a context of rdflib; ValueError where RDF has none."""
    subject, predicate, value = map(world_term, triple)
    if not isinstance(subject, ox.NamedNode | ox.BlankNode) or not isinstance(predicate, ox.NamedNode):
        raise ValueError(f"a subject must be an IRI or a blank node, a predicate an IRI: {triple!r}")
    graph = world_graph(context, writing=True)
    return ox.Quad(subject, predicate, value, ox.DefaultGraph() if graph is None else graph)


def world_pattern(triple: Triple) -> Triple | None:
    """The world's terms of a pattern; None where one of them can't be in any world, so that nothing matches."""
    try:
        s, p, o = (None if term is None else world_term(term) for term in triple)
        return s, p, o
    except (TypeError, ValueError):
        return None


def world_graph(context: Context, *, writing: bool = False) -> Any:
    """The world's graph that a context stands for; None for all of them."""
    if isinstance(context, ConjunctiveGraph):
        if context.default_union and not writing:
            return None
        context = context.default_graph if isinstance(context, Dataset) else context.default_context
    name = context.identifier if isinstance(context, Graph) else context
    if name is None:
        return None
    if name == DATASET_DEFAULT_GRAPH_ID:
        return ox.DefaultGraph()
    graph = world_term(name)
    if not isinstance(graph, ox.NamedNode | ox.BlankNode):
        raise ValueError(f"a graph must be named by an IRI or a blank node, not by {name!r}")
    return graph


def query_text(
    query: Any, prefixes: Mapping[str, Any], options: dict[str, Any]
) -> tuple[str, dict[str, str], str | None]:
    """The text of a query or update, its prefixes and its base; NotImplementedError where rdflib has no text of it."""
    options.pop("DEBUG", None)
    base = options.pop("base", None)
    if not isinstance(query, str):  # prepared by rdflib
        original = getattr(query, "_original_args", None)
        if original is None:
            raise NotImplementedError
        query, own, own_base = original
        prefixes, base = {**prefixes, **(own or {})}, own_base or base
    return str(query), {prefix: str(iri) for prefix, iri in prefixes.items()}, base


def shown_bindings(given: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The bindings of a query in the world's form; rdflib ignores bindings of variables that the query lacks."""
    shown = {str(name).lstrip("?$"): world_term(term) for name, term in given.items()}
    has = variables_of(text) or ()
    return {name: term for name, term in shown.items() if name in has}


def has_blank(bindings: Mapping[str, Any]) -> bool:
    """Whether a variable is bound to a blank node."""
    return any(isinstance(term, ox.BlankNode) for term in bindings.values())


@contextlib.contextmanager
def declared(
    tokens: list[Token], known: Mapping[str, str], prefixes: Mapping[str, str], base: str | None
) -> Iterator[str]:
    """A line that declares the base, and the prefixes that are used and that the world has otherwise or not at all.

    A QueryError of the block has its line counted without it.
    """
    used = {token.text.partition(":")[0] for token in tokens if token.kind == "name"}
    declarations = [] if base is None else [f"BASE <{base}>"]
    declarations += [f"PREFIX {p}: <{iri}>" for p, iri in prefixes.items() if p in used and known.get(p) != iri]
    try:
        yield " ".join(declarations) + "\n" * bool(declarations)
    except QueryError as error:
        if not declarations or error.line is None:
            raise
        raise type(error)(str(error).partition(": ")[2], line=error.line - 1, column=error.column) from error


def place_of_from(tokens: list[Token], form: Token) -> int | None:
    """The place to insert a FROM clause; None if the query has one already."""
    depth = 0
    template = form.is_word("CONSTRUCT")
    at = form.end
    for token in tokens:
        if token.start < form.end:
            continue
        if depth == 0:
            if token.is_word("FROM"):
                return None
            if token.is_word(*_AFTER_FROM) or (token.text == "{" and not template):
                return token.start
        if token.kind == "mark":
            depth += (token.text in ("{", "(")) - (token.text in ("}", ")"))
            template = template and not (token.text == "}" and depth == 0)
        at = token.end
    return at


def refuse_network(text: str) -> None:
    """QueryError if rdflib's engine, which is to answer, would read from the network."""
    for token in tokenize(text):
        if token.is_word(*_REACHING):
            message = f"{token.text} is not allowed here: rdflib's own engine would answer, and reach the network"
            raise error_at(message, text, token.start)


def rdflib_result(form: str, answer: Any, shown: Callable[[Any, Callable[[Any], Any]], Iterable[Any]]) -> Result:
    """The answer of a world as rdflib has it; `form` is SELECT, ASK, CONSTRUCT or DESCRIBE.

    `shown` chooses the rows by their terms, which are given by a function.
    """
    result = Result(form)
    if isinstance(answer, bool):
        result.askAnswer = answer
    elif isinstance(answer, Solutions):
        names = {name: Variable(name) for name in answer.variables}
        result.vars = list(names.values())
        result.bindings = [
            {names[name]: rdflib_term(term) for name, term in row.asdict().items() if term is not None}
            for row in shown(answer, tuple)
        ]
    else:
        result.graph = Graph()
        for s, p, o in shown(answer, lambda triple: triple[2:]):
            result.graph.add((rdflib_term(s), rdflib_term(p), rdflib_term(o)))
    return result
