"""DELETE and INSERT with WHERE: a pattern is asked, and its solutions fill templates."""

from __future__ import annotations

from collections.abc import Sequence

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.query.bindings import written_in
from worlds.graph.query.evaluation import try_out
from worlds.graph.query.tokens import Edit, Token, error_at, scan, spliced
from worlds.graph.terms import GraphName, NamedGraph, Term
from worlds.graph.update.datablocks import read_block
from worlds.graph.update.request import OperationTokens, UpdateRequest
from worlds.graph.update.target import Target, UpdateOperation
from worlds.graph.update.templates import MARKER, Template

_BLANK = "is bound to a blank node, which can stand in a template, but not in a pattern"
Using = tuple[Sequence[GraphName], Sequence[NamedGraph]]


def modification(request: UpdateRequest, statement: OperationTokens, graphs: Using | None) -> UpdateOperation:
    """The operation; `graphs` has the default graphs and the named graphs of its pattern, if not the request."""
    tokens, closing, end = statement
    start = tokens[0].start
    piece = request.text[start:end]
    header = request.header(piece)
    inert = _inert(request.text, statement)
    request.try_out(header, inert, start, end)
    at = 0
    with_: list[Token] = []
    if tokens[0].is_word("WITH"):
        with_ = [tokens[1]]
        at = 2
    blocks: dict[str, tuple[int, int]] = {}
    if _is_delete_where(tokens):  # the pattern is the template
        blocks["DELETE"] = (2, closing[2])
        at = 1
    while tokens[at].is_word("DELETE", "INSERT"):
        blocks[tokens[at].text.upper()] = (at + 1, closing[at + 1])
        at = closing[at + 1] + 1
    using: list[Token] = []
    using_named: list[Token] = []
    while tokens[at].is_word("USING"):
        named = tokens[at + 1].is_word("NAMED")
        (using_named if named else using).append(tokens[at + 2 if named else at + 1])
        at += 3 if named else 2
    group = tokens[at + 1 :]
    _check_labels(request, group)

    iris = request.iris([*with_, *using, *using_named])
    with_graph = iris[0] if with_ else None
    default_graphs: list[GraphName] | None = None
    named_graphs: list[NamedGraph] | None = None
    if using or using_named:
        rest = iris[len(with_) :]
        default_graphs, named_graphs = [*rest[: len(using)]], [*rest[len(using) :]]
    elif with_graph is not None:
        default_graphs = [with_graph]
    if graphs is not None:
        if iris:
            message = "the dataset is given with the request, so neither USING nor WITH may name another"
            raise error_at(message, request.text, (*with_, *using, *using_named)[0].start)
        default_graphs, named_graphs = [*graphs[0]], [*graphs[1]]

    read = {word: _template(request, header, tokens[first : last + 1]) for word, (first, last) in blocks.items()}
    variables = list(dict.fromkeys(name for _, names in read.values() for name in names))
    templates = {
        word: Template(quads, variables, request.bindings, with_graph or ox.DefaultGraph())
        for word, (quads, _) in read.items()
    }
    fresh = any(template.blank_nodes for template in templates.values())
    pattern, exact = _pattern(request, header, group)
    query = f"{header} {_projection(variables, group, fresh)} WHERE\n{pattern}"
    if not variables and not fresh:
        query += " LIMIT 1"
    where = group[0].start

    def run(target: Target) -> None:
        if not any(quads for quads, _ in read.values()):
            return
        try:
            names, found = target.select(query, default_graphs=default_graphs, named_graphs=named_graphs)
            rows: list[Sequence[Term | None]] = list(found)
        except QueryError as error:
            raise request.moved(error, where, exact=exact) from error
        if names != variables:  # without variables, a solution is there or not
            order = [names.index(name) for name in variables]
            rows = [[row[column] for column in order] for row in rows]
        removed = templates["DELETE"].filled(rows) if "DELETE" in templates else []
        added = templates["INSERT"].filled(rows) if "INSERT" in templates else []
        if added or removed:
            target.apply(added, removed)

    return UpdateOperation(run)


def _inert(text: str, statement: OperationTokens) -> str:
    """An operation that parses as it did, but finds nothing and reaches no network; places stay the same."""
    tokens, closing, end = statement
    start = tokens[0].start
    changes: list[Edit] = []
    last = len(tokens) - 1
    opened = next((index for index, closed in closing.items() if closed == last), None)
    if _is_delete_where(tokens):
        changes += [(tokens[1].start, tokens[1].end, "     "), (end, end, " WHERE { FILTER(false) }")]
    elif opened is not None and tokens[last].text == "}":
        if tokens[opened + 1].is_word("SELECT"):  # no FILTER can stand beside it
            brace = tokens[opened]
            spaced = text[brace.start - 1 : brace.start] == " " and brace.start > start
            changes.append((brace.start - spaced, brace.end, "{{"))
            changes.append((tokens[last].start, end, "} FILTER(false)}"))
        else:
            changes.append((tokens[last].start, end, " FILTER(false)}"))
    for index, token in enumerate(tokens):
        if token.is_word("SERVICE"):
            changes.append((token.start, token.end, "GRAPH  "))
            if index < last and tokens[index + 1].is_word("SILENT"):
                changes.append((tokens[index + 1].start, tokens[index + 1].end, "      "))
    return spliced(text, changes, start, end)


def _check_labels(request: UpdateRequest, tokens: list[Token]) -> None:
    labels = {token.text: token.start for token in tokens if token.kind == "blank"}
    for label, offset in labels.items():
        if label in request.pattern_labels:
            raise request.shared(label, offset)
    request.pattern_labels |= labels.keys()


def _template(request: UpdateRequest, header: str, tokens: list[Token]) -> tuple[list[ox.Quad], list[str]]:
    """The quads of a template, with markers for its variables, and the variables that a solution has to give."""
    variables = [token for token in tokens if token.kind == "variable"]
    start, end = tokens[0].start, tokens[-1].end
    changes = [(token.start, token.end, f"<{MARKER}{token.text[1:]}>") for token in variables]
    block = spliced(request.text, changes, start, end)
    _, graphs = read_block(block, 0)
    quads = request.quads(header, f"INSERT DATA {block}", (start, end), block, graphs)
    names = dict.fromkeys(token.text[1:] for token in variables)
    return quads, [name for name in names if name not in request.bindings]


def _pattern(request: UpdateRequest, header: str, group: list[Token]) -> tuple[str, bool]:
    """The text of a WHERE with its bindings written in, and whether its columns are still those of the request."""
    start, end = group[0].start, group[-1].end
    changes = list(written_in(request.text, group, request.bindings, blank=_BLANK))
    pattern = spliced(request.text, changes, start, end)
    if not changes:
        return pattern, True
    try:
        bound = f"INSERT {{}} WHERE {pattern}"
        inert = _inert(bound, UpdateRequest(bound, {}, {}).statement(next(scan(bound))))
        try_out(inert, lambda: ox.Store().update(f"{header}\n{inert}"), request.limits)
    except (SyntaxError, ValueError, RuntimeError) as error:
        message = "with its bindings this pattern is not SPARQL: a term stands where it cannot"
        raise error_at(message, request.text, start) from error
    return pattern, False


def _is_delete_where(tokens: list[Token]) -> bool:
    return tokens[0].is_word("DELETE") and len(tokens) > 1 and tokens[1].is_word("WHERE")


def _projection(variables: list[str], pattern: list[Token], fresh: bool) -> str:
    """The SELECT clause that gives a template what it needs; with `fresh` blank nodes every solution counts.

    DISTINCT saves time where the pattern has variables that the template has not; it changes nothing.
    """
    taken = {token.text[1:] for token in pattern if token.kind == "variable"}
    if variables:
        distinct = "" if fresh or taken <= set(variables) else "DISTINCT "
        return f"SELECT {distinct}{' '.join('?' + name for name in variables)}"
    name = "solution"
    while name in taken:
        name += "_"
    return f"SELECT (true AS ?{name})"
