"""SPARQL 1.1 Update, and what pyoxigraph parses of 1.2: every change as the quads that it adds and removes.

pyoxigraph's own `Store.update` does not tell what it changed. So a request is split into its operations, each is
checked by pyoxigraph's parser on an empty store, and only then are they run, one after the other, on a `Target`.
There is no grammar here: templates have their variables replaced by marker IRIs and are read as data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pyoxigraph as ox

from worlds.errors import IntegrityError, QueryTimeout, WorldsError
from worlds.graph.query.guard import check_characters
from worlds.graph.query.query_limits import NO_LIMITS, Limits, remaining
from worlds.graph.query.tokens import Token, error_at, scan, tokenize
from worlds.graph.terms import Term
from worlds.graph.update.datablocks import read_block
from worlds.graph.update.graphs import graph_operation
from worlds.graph.update.modification import Using, modification
from worlds.graph.update.request import UpdateRequest
from worlds.graph.update.target import Target, UpdateOperation

_MAY_BE_REFUSED = re.compile(r"_:|[\[(~]|<<|\{\||[?$]\w")


def run_update(
    text: str,
    target: Target,
    *,
    prefixes: Mapping[str, str],
    bindings: Mapping[str, Term] | None = None,
    using: Using | None = None,
    limits: Limits = NO_LIMITS,
) -> None:
    """Run a whole update request. All of it is parsed and checked before the first operation changes anything.

    `prefixes` work undeclared. `bindings` give variables of patterns and templates their terms; a variable that
    does not occur is ignored. `using` has the default graphs and the named graphs of every pattern; the request may
    then have neither USING nor WITH. `limits` are those of the reading. QueryError, with its place in the request, for
    what does not parse, is nested deeper than DEEPEST, or cannot be done, and what the target raises; the target is
    then half changed, so its transaction has to be rolled back. SILENT swallows each WorldsError of its operation, save
    a time limit and a damaged file.
    """
    if not isinstance(text, str):
        raise TypeError(f"an update must be a str, not {type(text).__name__}")
    check_characters(text)
    for operation in _operations(UpdateRequest(text, prefixes, bindings or {}, limits), using):
        try:
            operation.run(target)
        except (IntegrityError, QueryTimeout):
            raise
        except WorldsError:
            if not operation.silent:
                raise


def _operations(request: UpdateRequest, using: Using | None) -> list[UpdateOperation]:
    found: list[UpdateOperation] = []
    at = 0
    while (first := request.prologue(at)) is not None:
        remaining(request.limits.deadline)
        operation, at = _operation(request, first, using)
        found.append(operation)
        following = next(scan(request.text, at), None)
        if following is None:
            break
        if following.text != ";":
            raise request.unexpected(following)
        at = following.end
    _check_labels(request)
    return found


def _operation(request: UpdateRequest, first: Token, using: Using | None) -> tuple[UpdateOperation, int]:
    if first.is_word("INSERT", "DELETE"):
        second = next(scan(request.text, first.end), None)
        if second is not None and second.is_word("DATA"):
            return _data(request, first, second)
    if first.text == ";":
        raise request.unexpected(first)
    if first.is_word("SELECT", "ASK", "CONSTRUCT", "DESCRIBE"):
        told = f"{first.text.upper()} begins a query, not an update: `worlds sparql` and World.query answer it"
        raise error_at(told, request.text, first.start)
    statement = request.statement(first)
    if first.is_word("WITH", "INSERT", "DELETE"):
        return modification(request, statement, using), statement.end
    return graph_operation(request, statement.tokens), statement.end


def _data(request: UpdateRequest, first: Token, second: Token) -> tuple[UpdateOperation, int]:
    """INSERT DATA, DELETE DATA."""
    brace = next(scan(request.text, second.end), None)
    if brace is None or brace.text != "{":
        raise request.unexpected(brace)
    end, graphs = read_block(request.text, brace.start)
    graphs = [(opened - brace.start, closed - brace.start) for opened, closed in graphs]
    block = request.text[brace.start : end]
    rest = request.text[first.end : end]
    header = request.header(block)
    insert = first.is_word("INSERT")
    if not insert and _MAY_BE_REFUSED.search(block):
        request.scratch(header, f"DELETE{rest}", first.start, end)
    elif insert and "_:" in block:
        request.labelled_data.append((brace.start, end))
    quads = request.quads(header, f"INSERT{rest}", (first.start, end), block, graphs)
    return UpdateOperation(_data_change(quads, insert)), end


def _data_change(quads: list[ox.Quad], insert: bool) -> Callable[[Target], None]:
    def run(target: Target) -> None:
        if quads:
            target.apply(quads if insert else [], [] if insert else quads)

    return run


def _check_labels(request: UpdateRequest) -> None:
    if len(request.labelled_data) < 2:
        return
    seen: dict[str, int] = {}
    for start, end in request.labelled_data:
        for token in tokenize(request.text[start:end]):
            if token.kind == "blank" and seen.setdefault(token.text, start) != start:
                raise request.shared(token.text, start + token.start)
