"""SPARQL 1.1 Update, and what pyoxigraph parses of 1.2: every change as the quads that it adds and removes.

pyoxigraph's own `Store.update` does not tell what it changed. So a request is split into its operations, each is
checked by pyoxigraph's parser on an empty store, and only then are they run, one after the other, on a `Target`.
There is no grammar here: templates have their variables replaced by marker IRIs and are read as data.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import pyoxigraph as ox

from worlds.errors import IntegrityError, QueryError, QueryTimeout, WorldsError
from worlds.graph.query.evaluation import syntax_error
from worlds.graph.query.guard import DEEPEST, check, check_characters, with_room
from worlds.graph.query.tokens import CLOSING, OPENING, Token, error_at, scan, tokenize
from worlds.graph.terms import GraphName, NamedGraph, Term, format_term
from worlds.graph.update.datablocks import as_trig, read_block
from worlds.graph.update.templates import MARKER, Template, read_quads

Rows: TypeAlias = Iterable[Sequence[Term | None]]


class Target(Protocol):
    """What an update works on: a dataset inside one transaction. Each call sees what the calls before did.

    A call that raises changes nothing.
    """

    def select(
        self,
        query: str,
        *,
        default_graphs: Sequence[GraphName] | None,
        named_graphs: Sequence[NamedGraph] | None,
    ) -> tuple[list[str], Rows]:
        """The variables and the solutions of a SELECT, which declares every prefix that it uses.

        `default_graphs` are merged to be the default graph; None stands for the dataset's own default graph, and for
        all named graphs.
        """

    def apply(self, added: Sequence[ox.Quad], removed: Sequence[ox.Quad]) -> None:
        """Remove quads, then add quads: one that is in both stays. Literals have the forms that were written."""

    def graphs(self) -> Sequence[NamedGraph]:
        """The named graphs that exist, empty ones that were created included."""

    def exists(self, graph: NamedGraph) -> bool:
        """Whether a named graph is among `graphs()`."""

    def create(self, graph: NamedGraph) -> None:
        """Make an empty graph, which does not exist yet."""

    def clear(self, graph: GraphName, *, drop: bool) -> None:
        """Remove all quads of a graph, which may not exist; with `drop`, the named graph too."""

    def copy(self, source: GraphName, destination: GraphName) -> None:
        """Add the quads of a graph to another one."""

    def load(self, iri: str, graph: NamedGraph | None) -> None:
        """Add what is found at an IRI to a graph, or to the default graph; WorldsError where that fails."""


def run_update(
    text: str,
    target: Target,
    *,
    prefixes: Mapping[str, str],
    bindings: Mapping[str, Term] | None = None,
    using: tuple[Sequence[GraphName], Sequence[NamedGraph]] | None = None,
) -> None:
    """Run a whole update request. All of it is parsed and checked before the first operation changes anything.

    `prefixes` work undeclared. `bindings` give variables of patterns and templates their terms; a variable that
    does not occur is ignored. `using` has the default graphs and the named graphs of every pattern; the request may
    then have neither USING nor WITH. QueryError, with its place in the request, for what does not parse, is nested
    deeper than DEEPEST, or cannot be done, and what the target raises; the target is then half changed, so its
    transaction has to be rolled back. SILENT swallows each WorldsError of its operation, save a time limit and a
    damaged file.
    """
    if not isinstance(text, str):
        raise TypeError(f"an update is a str, not {type(text).__name__}")
    check_characters(text)
    for operation in _Request(text, prefixes, bindings or {}, using).operations():
        try:
            operation.run(target)
        except (IntegrityError, QueryTimeout):
            raise
        except WorldsError:
            if not operation.silent:
                raise


class _Operation(NamedTuple):
    run: Callable[[Target], None]
    silent: bool = False


# --- the request --------------------------------------------------------------------------------------------------

_PLACE = re.compile(r"error at (\d+):(\d+)(.*)", re.DOTALL)
_MAY_BE_BLANK = re.compile(r"_:|[\[(~]|<<|\{\|")
_LONG = 20_000  # characters that take longer to search than a prefix to declare


class _Statement(NamedTuple):
    """The tokens of an operation without the `;` after it, and where its brackets close, by their index."""

    tokens: list[Token]
    closing: dict[int, int]
    end: int


class _Request:
    """A request while it is read: the prologue so far, and the blank node labels that may not occur again."""

    def __init__(
        self,
        text: str,
        prefixes: Mapping[str, str],
        bindings: Mapping[str, Term],
        using: tuple[Sequence[GraphName], Sequence[NamedGraph]] | None = None,
    ) -> None:
        self.text = text
        self._using = using
        self.bindings = {name.lstrip("?$"): term for name, term in bindings.items()}
        self._namespaces = {f"{name}:": iri for name, iri in prefixes.items()}
        self._known = frozenset(prefixes)
        self._base: str | None = None
        self._pattern_labels: set[str] = set()
        self._labelled_data: list[tuple[int, int]] = []

    def operations(self) -> list[_Operation]:
        found: list[_Operation] = []
        at = 0
        while (first := self._prologue(at)) is not None:
            operation, at = self._operation(first)
            found.append(operation)
            following = next(scan(self.text, at), None)
            if following is None:
                break
            if following.text != ";":
                raise self.unexpected(following)
            at = following.end
        self._check_data_labels()
        return found

    def _prologue(self, at: int) -> Token | None:
        """Take in PREFIX, BASE and VERSION; the first token after them."""
        tokens = scan(self.text, at)
        first = token = next(tokens, None)
        names: dict[str, None] = {}
        rebased = False
        end = at
        while token is not None and token.is_word("PREFIX", "BASE", "VERSION"):
            parts = {"PREFIX": ("name", "iri"), "BASE": ("iri",), "VERSION": ("string",)}[token.text.upper()]
            for kind in parts:
                part = next(tokens, None)
                if part is None or part.kind != kind or (kind == "name" and not part.text.endswith(":")):
                    raise self.unexpected(part)
                if kind == "name":
                    names[part.text] = None
                end = part.end
            rebased = rebased or token.is_word("BASE")
            token = next(tokens, None)
        if first is not None and (names or rebased):
            self._declare(first.start, end, list(names), rebased)
        return token

    def _declare(self, start: int, end: int, names: list[str], rebased: bool) -> None:
        """The absolute IRIs of the declarations in a part of the text."""
        written = ["<>"] if rebased else []
        try:
            found = self._resolved([*written, *names], self.text[start:end])
        except SyntaxError as error:
            raise self._syntax_error(error, start) from error
        if rebased:
            self._base = found.pop(0)
        self._namespaces.update(zip(names, found, strict=True))

    def _resolved(self, iris: list[str], prologue: str = "") -> list[str]:
        """The absolute IRIs that IRIs and prefixed names stand for, after a further prologue."""
        wanted = " ".join(f"({iri} AS ?i{number})" for number, iri in enumerate(iris))
        query = f"{self._header(prologue + wanted)}\n{prologue} SELECT {wanted} {{}}"
        solution: Iterable[Term | None] = next(ox.Store().query(query))  # type: ignore[arg-type]  # solutions, kept nowhere
        return [term.value for term in solution if isinstance(term, ox.NamedNode)]

    def iris(self, tokens: Sequence[Token]) -> list[ox.NamedNode]:
        """The IRIs that tokens stand for."""
        found: list[ox.NamedNode] = []
        for token in tokens:
            try:
                found += [ox.NamedNode(iri) for iri in self._resolved([token.text])]
            except SyntaxError as error:
                reason = "its prefix is not declared" if token.kind == "name" else "it is not absolute, or not valid"
                raise error_at(f"{token.text} is no IRI here: {reason}", self.text, token.start) from error
        return found

    def _header(self, piece: str) -> str:
        """One line that declares the base and the prefixes that a piece of the request may use."""
        long = len(piece) > _LONG
        declared = [f"PREFIX {name} <{iri}>" for name, iri in self._namespaces.items() if long or name in piece]
        if self._base is not None:
            declared.insert(0, f"BASE <{self._base}>")
        return " ".join(declared)

    def _operation(self, first: Token) -> tuple[_Operation, int]:
        if first.is_word("INSERT", "DELETE"):
            second = next(scan(self.text, first.end), None)
            if second is not None and second.is_word("DATA"):
                return self._data(first, second)
        if first.text == ";":
            raise self.unexpected(first)
        if first.is_word("SELECT", "ASK", "CONSTRUCT", "DESCRIBE"):
            told = f"{first.text.upper()} begins a query, not an update: `worlds sparql` and World.query answer it"
            raise error_at(told, self.text, first.start)
        statement = self._statement(first)
        if first.is_word("WITH", "INSERT", "DELETE"):
            return self._modification(statement), statement.end
        return _graph_operation(self, statement.tokens), statement.end

    def _statement(self, first: Token) -> _Statement:
        tokens: list[Token] = []
        closing: dict[int, int] = {}
        opened: list[tuple[str, int]] = []
        for token in scan(self.text, first.start):
            if token.kind == "mark":
                if token.text == ";" and not opened:
                    break
                if token.text in OPENING:
                    opened.append((token.text, len(tokens)))
                elif token.text in CLOSING and any(mark == CLOSING[token.text] for mark, _ in reversed(opened)):
                    while (last := opened.pop())[0] != CLOSING[token.text]:
                        pass  # what an expression such as ?a<<iri> seemed to open
                    closing[last[1]] = len(tokens)
            tokens.append(token)
        if len(tokens) > DEEPEST:
            check(self.text, tokens, allow_network=True)  # whether SERVICE may is the target's affair
        return _Statement(tokens, closing, tokens[-1].end)

    # --- errors

    def unexpected(self, token: Token | None) -> QueryError:
        if token is None:
            return error_at("unexpected end of the update", self.text, len(self.text))
        return error_at(f"unexpected {token.text[:40]!r}", self.text, token.start)

    def _syntax_error(self, error: SyntaxError, start: int, end: int | None = None) -> QueryError:
        """The error of a text whose second line began at an offset of the request, with its place in the request.

        The parser may have gone past the `end`, to which something was added: then the last character is the place.
        """
        place = _PLACE.match(str(error))
        if place is None or place[1] == "1":
            return error_at(str(error), self.text, start)
        line, column = int(place[1]), int(place[2])
        if line == 2:
            column += start - self.text.rfind("\n", 0, start) - 1
        line += self.text.count("\n", 0, start) - 1
        if end is not None:
            last = error_at("", self.text, end - 1)
            if last.line is not None and last.column is not None:
                line, column = min((line, column), (last.line, last.column))
        return syntax_error(SyntaxError(f"error at {line}:{column}{place[3]}"), self.text, self._known, update=True)

    def _moved(self, error: QueryError, start: int, *, exact: bool) -> QueryError:
        """An error of a query whose second line began at an offset of the request, with its place in the request."""
        if error.line is None or error.column is None:
            return error
        message = str(error).removeprefix(f"line {error.line}, column {error.column}: ")
        place = error_at("", self.text, start)
        assert place.line is not None
        assert place.column is not None
        if error.line == 1:
            return type(error)(message, line=place.line, column=place.column)
        column = error.column + place.column - 1 if error.line == 2 else error.column
        return type(error)(message, line=place.line + error.line - 2, column=column if exact else None)

    def _scratch(self, header: str, piece: str, start: int, end: int) -> ox.Store:
        """An empty store after a piece of the request, or after its like, between two offsets of the request."""
        store = ox.Store()
        try:
            with_room(piece, lambda _: store.update(f"{header}\n{piece}"))
        except SyntaxError as error:
            raise self._syntax_error(error, start, end) from error
        except (OSError, RuntimeError, ValueError) as error:
            raise error_at(str(error), self.text, start) from error
        return store

    # --- INSERT DATA, DELETE DATA

    def _data(self, first: Token, second: Token) -> tuple[_Operation, int]:
        brace = next(scan(self.text, second.end), None)
        if brace is None or brace.text != "{":
            raise self.unexpected(brace)
        end, graphs = read_block(self.text, brace.start)
        graphs = [(opened - brace.start, closed - brace.start) for opened, closed in graphs]
        block = self.text[brace.start : end]
        rest = self.text[first.end : end]
        header = self._header(block)
        insert = first.is_word("INSERT")
        if not insert and _MAY_BE_BLANK.search(block):
            self._scratch(header, f"DELETE{rest}", first.start, end)
        elif insert and "_:" in block:
            self._labelled_data.append((brace.start, end))
        quads = self._quads(header, f"INSERT{rest}", (first.start, end), block, graphs)
        return _Operation(_data_change(quads, insert)), end

    def _quads(
        self, header: str, piece: str, place: tuple[int, int], block: str, graphs: list[tuple[int, int]]
    ) -> list[ox.Quad]:
        """The quads of a block of data, whose INSERT DATA is `piece`; blank nodes are new ones.

        pyoxigraph's SPARQL parser decides what is valid, its store canonicalises literals. So the block is read once
        more as TriG, which keeps their forms, and believed where both agree.
        """
        scratch = self._scratch(header, piece, *place)
        trig = as_trig(block, graphs)
        given: list[ox.Quad] = []
        if trig is not None:
            with contextlib.suppress(SyntaxError):  # as for a list alone: (1 2) .
                parsed = ox.parse(f"{header}\n{trig}", format=ox.RdfFormat.TRIG, rename_blank_nodes=True)
                given = list(dict.fromkeys(parsed))
        if len(given) >= len(scratch) and all(quad in scratch or _has_blank_node(quad) for quad in given):
            return given
        return read_quads([f"{quad} .\n" for quad in scratch])

    def _check_data_labels(self) -> None:
        if len(self._labelled_data) < 2:
            return
        seen: dict[str, int] = {}
        for start, end in self._labelled_data:
            for token in tokenize(self.text[start:end]):
                if token.kind == "blank" and seen.setdefault(token.text, start) != start:
                    raise self._shared(token.text, start + token.start)

    def _shared(self, label: str, offset: int) -> QueryError:
        return error_at(f"the blank node {label} stands in an earlier operation too", self.text, offset)

    # --- DELETE, INSERT … WHERE

    def _modification(self, statement: _Statement) -> _Operation:
        tokens, closing, end = statement
        start = tokens[0].start
        piece = self.text[start:end]
        header = self._header(piece)
        inert = self._inert(self.text, statement)
        self._scratch(header, inert, start, end)
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
        self._check_pattern_labels(group)

        iris = self.iris([*with_, *using, *using_named])
        with_graph = iris[0] if with_ else None
        default_graphs: list[GraphName] | None = None
        named_graphs: list[NamedGraph] | None = None
        if using or using_named:
            rest = iris[len(with_) :]
            default_graphs, named_graphs = [*rest[: len(using)]], [*rest[len(using) :]]
        elif with_graph is not None:
            default_graphs = [with_graph]
        if self._using is not None:
            if iris:
                message = "the dataset is given with the request, so neither USING nor WITH may name another"
                raise error_at(message, self.text, (*with_, *using, *using_named)[0].start)
            default_graphs, named_graphs = [*self._using[0]], [*self._using[1]]

        read = {word: self._template(header, tokens[first : last + 1]) for word, (first, last) in blocks.items()}
        variables = list(dict.fromkeys(name for _, names in read.values() for name in names))
        templates = {
            word: Template(quads, variables, self.bindings, with_graph or ox.DefaultGraph())
            for word, (quads, _) in read.items()
        }
        fresh = any(template.blank_nodes for template in templates.values())
        pattern, exact = self._pattern(header, group)
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
                raise self._moved(error, where, exact=exact) from error
            if names != variables:  # without variables, a solution is there or not
                order = [names.index(name) for name in variables]
                rows = [[row[column] for column in order] for row in rows]
            removed = templates["DELETE"].filled(rows) if "DELETE" in templates else []
            added = templates["INSERT"].filled(rows) if "INSERT" in templates else []
            if added or removed:
                target.apply(added, removed)

        return _Operation(run)

    def _inert(self, text: str, statement: _Statement) -> str:
        """An operation that parses as it did, but finds nothing and reaches no network; places stay the same."""
        tokens, closing, end = statement
        start = tokens[0].start
        changes: list[tuple[int, int, str]] = []
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
        return _spliced(text, start, end, sorted(changes))

    def _check_pattern_labels(self, tokens: list[Token]) -> None:
        labels = {token.text: token.start for token in tokens if token.kind == "blank"}
        for label, offset in labels.items():
            if label in self._pattern_labels:
                raise self._shared(label, offset)
        self._pattern_labels |= labels.keys()

    def _template(self, header: str, tokens: list[Token]) -> tuple[list[ox.Quad], list[str]]:
        """The quads of a template, with markers for its variables, and the variables that a solution has to give."""
        variables = [token for token in tokens if token.kind == "variable"]
        start, end = tokens[0].start, tokens[-1].end
        changes = [(token.start, token.end, f"<{MARKER}{token.text[1:]}>") for token in variables]
        block = _spliced(self.text, start, end, changes)
        _, graphs = read_block(block, 0)
        quads = self._quads(header, f"INSERT DATA {block}", (start, end), block, graphs)
        names = dict.fromkeys(token.text[1:] for token in variables)
        return quads, [name for name in names if name not in self.bindings]

    # --- bindings

    def _pattern(self, header: str, group: list[Token]) -> tuple[str, bool]:
        """The text of a WHERE with its bindings written in, and whether its columns are still those of the request."""
        start, end = group[0].start, group[-1].end
        changes = list(self._written_in(group))
        pattern = _spliced(self.text, start, end, changes)
        if not changes:
            return pattern, True
        try:
            bound = f"INSERT {{}} WHERE {pattern}"
            request = _Request(bound, {}, {})
            inert = request._inert(bound, request._statement(next(scan(bound))))
            with_room(inert, lambda _: ox.Store().update(f"{header}\n{inert}"))
        except (SyntaxError, ValueError, RuntimeError) as error:
            message = "with its bindings this pattern is no SPARQL: a term stands where it cannot"
            raise error_at(message, self.text, start) from error
        return pattern, False

    def _written_in(self, tokens: list[Token]) -> Iterator[tuple[int, int, str]]:
        """What has to be written in the place of bound variables."""
        clause, depth = "", 0  # a clause that lists variables, and the brackets open in it
        around: list[tuple[str, int]] = []
        for index, token in enumerate(tokens):
            if token.text == "{":
                around.append((clause if depth else "", depth))
                clause, depth = "", 0
            elif token.text == "}" and around:
                clause, depth = around.pop()
            elif token.text in ("(", ")"):
                depth += 1 if token.text == "(" else -1
            elif token.is_word("SELECT", "VALUES", "BY"):
                clause, depth = token.text.upper(), 0
            elif token.is_word("WHERE", "HAVING", "ORDER", "LIMIT", "OFFSET"):
                clause = ""
            elif token.kind == "variable" and token.text[1:] in self.bindings:
                if clause == "VALUES" or tokens[index - 1].is_word("AS"):
                    message = f"{token.text} has a binding, so the pattern cannot give it another value"
                    raise error_at(message, self.text, token.start)
                if tokens[index - 1].text == "(" and tokens[index - 2].is_word("BOUND"):
                    yield tokens[index - 2].start, token.end, "(true"
                    continue
                term = self._written(token)
                if clause and not depth:
                    term = f"({term} AS {token.text})" if clause == "SELECT" else f"({term})"
                yield token.start, token.end, f" {term} "

    def _written(self, variable: Token) -> str:
        term = self.bindings[variable.text[1:]]
        if isinstance(term, ox.BlankNode):
            message = f"{variable.text} is bound to a blank node, which can stand in a template, but not in a pattern"
            raise error_at(message, self.text, variable.start)
        return format_term(term)


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


def _spliced(text: str, start: int, end: int, changes: Iterable[tuple[int, int, str]]) -> str:
    """A part of a text with some of its places (start, end, new text), which are in order, written anew."""
    pieces: list[str] = []
    for first, last, new in changes:
        pieces += [text[start:first], new]
        start = last
    pieces.append(text[start:end])
    return "".join(pieces)


def _has_blank_node(quad: ox.Quad | ox.Triple) -> bool:
    if isinstance(quad, ox.Quad) and isinstance(quad.graph_name, ox.BlankNode):
        return True
    return isinstance(quad.subject, ox.BlankNode) or (
        _has_blank_node(quad.object) if isinstance(quad.object, ox.Triple) else isinstance(quad.object, ox.BlankNode)
    )


def _data_change(quads: list[ox.Quad], insert: bool) -> Callable[[Target], None]:
    def run(target: Target) -> None:
        if quads:
            target.apply(quads if insert else [], [] if insert else quads)

    return run


# --- graph management -------------------------------------------------------------------------------------------------


class _Cursor:
    """Reads the tokens of an operation on whole graphs."""

    def __init__(self, request: _Request, tokens: list[Token]) -> None:
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


def _graph_operation(request: _Request, tokens: list[Token]) -> _Operation:
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
        return _Operation(lambda target: target.load(source.value, into[0] if into else None), silent)
    if word in ("COPY", "MOVE", "ADD"):
        origin = cursor.graph_or_default()
        cursor.need("TO")
        destination = cursor.graph_or_default()
        cursor.end()
        first, second = (request.iris([token])[0] if token else ox.DefaultGraph() for token in (origin, destination))
        return _Operation(lambda target: _transfer(request, here, target, word, first, second), silent)
    if word != "CREATE" and (all_of := cursor.word("DEFAULT", "NAMED", "ALL")) is not None:
        cursor.end()
        return _Operation(lambda target: _clear(target, all_of, drop=word == "DROP"), silent)
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

    return _Operation(run, silent)


def _need(request: _Request, here: int, target: Target, graph: NamedGraph) -> None:
    if not target.exists(graph):
        raise error_at(f"the graph {graph} does not exist", request.text, here)


def _clear(target: Target, which: str, *, drop: bool) -> None:
    if which != "DEFAULT":
        for graph in list(target.graphs()):
            target.clear(graph, drop=drop)
    if which != "NAMED":
        target.clear(ox.DefaultGraph(), drop=drop)


def _transfer(
    request: _Request,
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
