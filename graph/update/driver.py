"""SPARQL 1.1 Update, and what pyoxigraph parses of 1.2: every change as the quads that it adds and removes.

pyoxigraph's own `Store.update` does not tell what it changed. So a request is split into its operations, each is
checked by pyoxigraph's parser on an empty store, and only then are they run, one after the other, on a `Target`.
There is no grammar here: templates have their variables replaced by marker IRIs and are read as data.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pyoxigraph as ox

from worlds.errors import IntegrityError, QueryError, QueryTimeout, WorldsError
from worlds.graph.query.guard import check_characters
from worlds.graph.query.query_limits import NO_LIMITS, Limits, remaining
from worlds.graph.query.tokens import Token, error_at, scan, tokenize
from worlds.graph.terms import NamedGraph, Term
from worlds.graph.update.datablocks import read_block
from worlds.graph.update.modification import Using, modification
from worlds.graph.update.request import UpdateRequest
from worlds.graph.update.target import Target, UpdateOperation

_MAY_BE_REFUSED = re.compile(r"_:|[\[(~]|<<|\{\||[?$]\w")


class _Cursor:
    """Reads the tokens of an operation on whole graphs."""

    def __init__(self, request: UpdateRequest, tokens: list[Token]) -> None:
        self._request = request
        self._tokens = tokens
        self._at = 0

    def word(self, *words: str) -> str | None:
        """The next token, where it is one of these words."""
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if token is None or not token.is_word(*words):
            return None
        self._at += 1
        return token.text.upper()

    def need(self, *words: str) -> str:
        found = self.word(*words)
        if found is None:
            raise self.unexpected()
        return found

    def iri(self) -> Token:
        token = self._tokens[self._at] if self._at < len(self._tokens) else None
        if token is None or token.kind not in ("iri", "name"):
            raise self.unexpected()
        self._at += 1
        return token

    def graph_or_default(self) -> Token | None:
        if self.word("DEFAULT"):
            return None
        self.word("GRAPH")
        return self.iri()

    def end(self) -> None:
        if self._at < len(self._tokens):
            raise self.unexpected()

    def unexpected(self) -> QueryError:
        if self._at < len(self._tokens):
            return self._request.unexpected(self._tokens[self._at])
        following = next(scan(self._request.text, self._tokens[-1].end), None)
        return self._request.unexpected(following)


def graph_operation(request: UpdateRequest, tokens: list[Token]) -> UpdateOperation:
    """The operation that these tokens are; QueryError, with its place, where they are none."""
    cursor = _Cursor(request, tokens)
    word = cursor.need("LOAD", "CLEAR", "DROP", "CREATE", "COPY", "MOVE", "ADD")
    silent = cursor.word("SILENT") is not None
    here = tokens[0].start
    if word == "LOAD":
        named = [cursor.iri()]
        if cursor.word("INTO"):
            cursor.need("GRAPH")
            named.append(cursor.iri())
        cursor.end()
        source, *into = request.iris(named)
        return UpdateOperation(lambda target: target.load(source.value, into[0] if into else None), silent)
    if word in ("COPY", "MOVE", "ADD"):
        origin = cursor.graph_or_default()
        cursor.need("TO")
        destination = cursor.graph_or_default()
        cursor.end()
        first, second = (request.iris([token])[0] if token else ox.DefaultGraph() for token in (origin, destination))
        return UpdateOperation(lambda target: _transfer(request, here, target, word, first, second), silent)
    if word != "CREATE" and (all_of := cursor.word("DEFAULT", "NAMED", "ALL")) is not None:
        cursor.end()
        return UpdateOperation(lambda target: _clear(target, all_of, drop=word == "DROP"), silent)
    cursor.need("GRAPH")
    named = [cursor.iri()]
    cursor.end()
    (graph,) = request.iris(named)

    def run(target: Target) -> None:
        if word == "CREATE":
            if target.exists(graph):
                raise error_at(f"the graph {graph} exists already", request.text, here)
            target.create(graph)
        else:
            _need(request, here, target, graph)
            target.clear(graph, drop=word == "DROP")

    return UpdateOperation(run, silent)


def _need(request: UpdateRequest, here: int, target: Target, graph: NamedGraph) -> None:
    if not target.exists(graph):
        raise error_at(f"the graph {graph} does not exist", request.text, here)


def _clear(target: Target, which: str, *, drop: bool) -> None:
    if which != "DEFAULT":
        for graph in list(target.graphs()):
            target.clear(graph, drop=drop)
    if which != "NAMED":
        target.clear(ox.DefaultGraph(), drop=drop)


def _transfer(
    request: UpdateRequest,
    here: int,
    target: Target,
    word: str,
    source: ox.NamedNode | ox.DefaultGraph,
    destination: ox.NamedNode | ox.DefaultGraph,
) -> None:
    if source == destination:
        return
    if isinstance(source, ox.NamedNode):
        _need(request, here, target, source)
    if word != "ADD":
        target.clear(destination, drop=True)
    target.copy(source, destination)
    if word == "MOVE":
        target.clear(source, drop=True)


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
