"""Operations on whole graphs: LOAD, CLEAR, DROP, CREATE, COPY, MOVE, ADD."""

from __future__ import annotations

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.query.tokens import Token, error_at, scan
from worlds.graph.terms import NamedGraph
from worlds.graph.update.request import UpdateRequest
from worlds.graph.update.target import Target, UpdateOperation


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
