"""Repairs of queries: where pyoxigraph departs from the specification, the same question in words it answers right.

Most queries have none of the words concerned and stay as they are. Places in the text are kept up to the first repair.
"""

from __future__ import annotations

import itertools
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyoxigraph as ox

from worlds.graph.query.query import Query
from worlds.graph.query.shape import Element, Group, Shape
from worlds.graph.query.tokens import Edit, Token, error_at, spliced

_BOOLEAN = re.compile(r"\b(?!(?-i:true|false)\b)(?:true|false)\b", re.IGNORECASE)
_CHECKED = re.compile(r"<<\(|\(\s*(?:DISTINCT\s*)?(?:COUNT|SUM|MIN|MAX|AVG|SAMPLE|GROUP_CONCAT)\b", re.IGNORECASE)
_CONCERNED = re.compile(
    r"\bGROUP_CONCAT\b|\bBNODE\s*\(\s*[^\s)]|\bGRAPH\s*[?$]|(?<=[\w>)])(?:\*|\?(?!\w))", re.IGNORECASE
)
_AGGREGATES = ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")
_MOST_GRAPHS = 100  # one branch for each; beyond, the query stays as it is
_LONGEST = 200_000  # characters of a repaired query


def checked(query: Query) -> Query:
    """The query as pyoxigraph's parser takes it; QueryError for what it takes and the specification does not.

    Keeps the places of everything, but in a SELECT whose expressions use what another one has made of aggregates.
    """
    if not _BOOLEAN.search(query.text) and not _CHECKED.search(query.text):
        return query
    tokens = query.tokens
    _check(query.text, tokens)
    words = [(token.start, token.end, token.text.lower()) for token in tokens if token.is_word("TRUE", "FALSE")]
    return query.spliced([*words, *_reused(query.text, tokens)])


def _reused(query: str, tokens: Sequence[Token]) -> Iterator[Edit]:
    """`(COUNT(?x) AS ?n) (?n + 1 AS ?m)`: pyoxigraph knows no ?n, so what it stands for is written in its place."""
    for at, token in enumerate(tokens):
        if not token.is_word("SELECT"):
            continue
        made: dict[str, str] = {}
        at += 1
        while at < len(tokens) and (
            tokens[at].text == "(" or tokens[at].kind == "variable" or tokens[at].is_word("DISTINCT", "REDUCED")
        ):
            if tokens[at].text != "(":
                at += 1
                continue
            end = _closing(tokens, at)
            expression = tokens[at + 1 : max(at + 1, end - 2)]
            edits = [
                (used.start, used.end, made[used.text[1:]])
                for used in expression
                if used.kind == "variable" and used.text[1:] in made
            ]
            yield from edits
            if expression and (edits or any(word.is_word(*_AGGREGATES) for word in expression)):
                text = spliced(query, edits, expression[0].start, expression[-1].end)
                if len(text) > _LONGEST:
                    raise error_at("too long with what it uses of other expressions written in", query, token.start)
                made[tokens[end - 1].text[1:]] = f"({text})"
            at = end + 1


def _check(query: str, tokens: Sequence[Token]) -> None:
    """Refuse an aggregate in another, and a triple term of an expression whose subject no triple can have."""
    inside: list[tuple[bool, bool]] = []  # for each open bracket, whether it is of an expression, and of an aggregate
    for before, token in itertools.pairwise(tokens):
        expression, aggregate = inside[-1] if inside else (True, False)
        if token.text == "(":
            is_call = before.kind == "word" and before.text != "a"
            is_aggregate = before.is_word(*_AGGREGATES)
            if is_aggregate and aggregate:
                raise error_at("an aggregate stands inside of another", query, before.start)
            inside.append((expression or is_call, aggregate or is_aggregate))
        elif token.text == "{":
            inside.append((False, False))
        elif token.text in (")", "}") and inside:
            inside.pop()
        elif before.text == "<<(" and expression and (token.text == "<<(" or token.kind in ("string", "number")):
            raise error_at("the subject of a triple term is an IRI or a blank node", query, token.start)


def concerned(query: Query) -> bool:
    """Whether `repaired` may have something to do."""
    return _CONCERNED.search(query.text) is not None


def repaired(query: Query, store: ox.Store) -> Query:
    """The query, which parses, so that pyoxigraph's answer over the store is that of the specification."""
    given = query
    shape = query.shape
    query = query.spliced([*_texts(shape), *_paths(shape, store, query.prefixes), *_blank_nodes(shape)])
    graphs: list[str] | None = None
    while elements := _outermost(_graphs(query.shape)):
        if graphs is None:
            names = list(store.named_graphs()) if query.named_graphs is None else query.named_graphs
            graphs = _named_graphs(query.shape, names)
        if graphs is None or len(graphs) > _MOST_GRAPHS or len(query.text) > _LONGEST:
            return given
        query = query.spliced(_one_by_one(query.shape, element, graphs) for element in elements)
    return query


# --- GROUP_CONCAT: a language that all texts share is not the result's


def _texts(shape: Shape) -> Iterator[Edit]:
    for at, token in enumerate(shape.tokens):
        if token.is_word("GROUP_CONCAT"):
            last = shape.tokens[_closing(shape.tokens, at + 1)]
            yield token.start, token.start, "STR("
            yield last.end, last.end, ")"


def _closing(tokens: Sequence[Token], at: int) -> int:
    depth = 0
    for place in range(at, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[place].text, 0)
        if depth == 0:
            return place
    return len(tokens) - 1  # it will not parse


# --- BNODE("x"): another blank node in each solution, and never a stored one


def _blank_nodes(shape: Shape) -> Iterator[Edit]:
    """For SELECT clauses; a solution is told from others by a text that is made at the end of WHERE."""
    body = shape.query.body
    tokens = shape.tokens
    if body is None or body.body is not None or shape.query.projected is None:
        return
    clause = range(shape.prologue, body.first)
    calls = [
        at for at in clause if tokens[at].is_word("BNODE") and tokens[at + 1].text == "(" and tokens[at + 2].text != ")"
    ]
    if not calls or any(token.is_word(*_AGGREGATES, "GROUP") for token in tokens):
        return
    row = f"?row_{uuid.uuid4().hex}"
    for at in calls:
        yield tokens[at + 1].end, tokens[at + 1].end, f'CONCAT("b", MD5(CONCAT({row}, '
        yield (end := tokens[_closing(tokens, at + 1)].start), end, ")))"
    yield (end := tokens[body.last - 1].start), end, f" BIND(STRUUID() AS {row}) "


# --- paths of length zero from or to a node that is in no triple


def _paths(shape: Shape, store: ox.Store, prefixes: Mapping[str, str]) -> Iterator[Edit]:
    """Where nothing is known of a node, `<node> path* ?x` is `VALUES ?x { <node> }`."""
    tokens = shape.tokens
    for _, element in shape.walk():
        if element.kind != "triples" or element.statement != (element.subject[0], element.last):
            continue
        first, last = tokens[element.subject[0]], tokens[element.last - 1]
        path = tokens[element.subject[1] : element.last - 1]
        if element.subject[1] - element.subject[0] != 1 or not path or path[-1].text not in ("*", "?"):
            continue
        if not (len(path) == 2 or (path[0].text == "(" and _closing(path, 0) == len(path) - 2)):
            continue
        ends = (first, last) if last.kind == "variable" else (last, first)
        node, variable = ends
        if variable.kind == "variable" and node.kind in ("iri", "name") and not _is_known(shape, store, prefixes, node):
            yield first.start, last.end, f" VALUES {variable.text} {{ {node.text} }} "


def _is_known(shape: Shape, store: ox.Store, prefixes: Mapping[str, str], node: Token) -> bool:
    triples = f"{{ {node.text} ?p ?o }} UNION {{ ?s ?p {node.text} }}"
    query = f"{shape.source(0, shape.prologue)} ASK {{ {triples} UNION {{ GRAPH ?g {{ {triples} }} }} }}"
    return bool(store.query(query, prefixes=dict(prefixes)))


# --- GRAPH ?g: its group once for each graph, without ?g


def _graphs(shape: Shape) -> Iterator[Element]:
    """The GRAPH ?g for whose group it matters: where ?g is in it, or a part that says nothing about the graph."""
    for _, element in shape.walk():
        name = shape.tokens[element.first + 1]
        if element.kind == "graph" and name.kind == "variable":
            group = element.groups[0]
            inside = shape.tokens[group.first : group.last]
            if (
                any(token.is_word("MINUS", "SELECT") for token in inside)
                or any(token.kind == "variable" and token.text[1:] == name.text[1:] for token in inside)
                or any(_only_values(part) for part in _groups(group))
            ):
                yield element


def _outermost(elements: Iterable[Element]) -> list[Element]:
    """The elements that are not inside of another one."""
    found: list[Element] = []
    for element in sorted(elements, key=lambda element: element.first):
        if not found or element.first >= found[-1].last:
            found.append(element)
    return found


def _groups(group: Group) -> Iterator[Group]:
    yield group
    for element in group.elements:
        for inner in element.groups:
            yield from _groups(inner)


def _only_values(group: Group) -> bool:
    kinds = {element.kind for element in group.elements}
    return "values" in kinds and "triples" not in kinds


def _named_graphs(shape: Shape, names: Sequence[ox.NamedNode | ox.BlankNode]) -> list[str] | None:
    """The graphs that GRAPH ?g ranges over, as SPARQL writes them; None where it cannot."""
    first, last = shape.query.dataset
    if last:
        clause = shape.tokens[first:last]
        return [after.text for token, after in itertools.pairwise(clause) if token.is_word("NAMED")]
    return None if any(isinstance(name, ox.BlankNode) for name in names) else [str(name) for name in names]


def _one_by_one(shape: Shape, element: Element, graphs: Sequence[str]) -> Edit:
    group = element.groups[0]
    variable = shape.tokens[element.first + 1].text
    inside = shape.tokens[group.first : group.last]
    branches = []
    for number, graph in enumerate(graphs):
        # a label stands in one basic graph pattern only
        labels = [(token.start, token.end, f"{token.text}_{number}") for token in inside if token.kind == "blank"]
        text = spliced(shape.text, labels, inside[0].start, inside[-1].end)
        branches.append(f"{{ GRAPH {graph} {text} VALUES {variable} {{ {graph} }} }}")
    if not branches:
        branches.append(f"{{ {shape.source(group.first, group.last)} VALUES {variable} {{ }} }}")
    start, end = shape.tokens[element.first].start, shape.tokens[element.last - 1].end
    return start, end, f"{{ {' UNION '.join(branches)} }}"
