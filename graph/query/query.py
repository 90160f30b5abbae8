"""A SPARQL query and how it is to be evaluated: made once, and handed on."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.blanknodes import blank_nodes
from worlds.graph.query.bindings import HIDDEN, written_in
from worlds.graph.query.query_limits import CAN_FORK, Limits, deadline_of
from worlds.graph.query.running import Functions
from worlds.graph.query.shape import QueryShape
from worlds.graph.query.tokens import Edit, Token, closing, error_at, scan, spliced, tokenize
from worlds.graph.terms import format_term

UNION_GRAPH = ox.NamedNode("urn:x-arq:UnionGraph")
"""Jena's name for all graphs together."""


@dataclass(frozen=True)
class Query:
    """A query's text, its prefixes and base, its dataset, and its limits; see `evaluation.run`.

    Its tokens and its shape are read when they are first wanted, and then kept.
    """

    text: str
    prefixes: Mapping[str, str] = field(default_factory=dict)  # those that it need not declare
    bindings: Mapping[str, Any] = field(default_factory=dict)  # values of variables, by their names without ?
    union: bool | None = None  # None: as the world has it, see `settled`
    default_graphs: Sequence[Any] | None = None
    named_graphs: Sequence[Any] | None = None
    timeout: float | None = None
    max_results: int | None = None
    max_memory: int | None = None
    allow_network: bool | Collection[str] = False
    functions: Functions = field(default_factory=dict)
    deadline: float | None = None  # by time.monotonic; `started` sets it
    wide: bool = False  # whether the data may have numbers that pyoxigraph has no room for

    def __post_init__(self) -> None:
        object.__setattr__(self, "bindings", {name.lstrip("?$"): term for name, term in self.bindings.items()})
        if not isinstance(self.text, str):
            raise TypeError(f"a query must be a str, not {type(self.text).__name__}")
        for name, limit in (("max_results", self.max_results), ("max_memory", self.max_memory)):
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
                raise ValueError(f"{name} must be a whole number above 0, not {limit!r}")

    def replaced(self, **changes: Any) -> Query:
        """The query with other values of some of its fields; cached readings of the text stay, if the text does."""
        found = object.__new__(Query)  # a tenth of the time of dataclasses.replace, which checks all again
        held = self.__dict__
        found.__dict__.update(
            {name: held[name] for name in _FIELDS} if "text" in changes or "bindings" in changes else held, **changes
        )
        if not changes.keys().isdisjoint(("prefixes", "bindings")):
            found.__dict__.pop("_namespaces", None)
        return found

    def started(self) -> Query:
        """The query, whose time limit begins now; ValueError where that is none."""
        return self if self.timeout is None else self.replaced(deadline=deadline_of(self.timeout))

    def settled(self, *, union: bool) -> Query:
        """The query with its default graph decided: all graphs where it says so, or says nothing and `union` does.

        `urn:x-arq:UnionGraph` among the default graphs, from outside or by FROM, stands for all graphs, and so does
        `GRAPH <urn:x-arq:UnionGraph>`, as long as nothing outside of it is matched with the default graph alone.
        """
        if "UnionGraph" in self.text and (whole := self._union_graph_left_out(union=union)):
            return whole
        if self.default_graphs is not None:
            if UNION_GRAPH in self.default_graphs:
                return self.replaced(union=True, default_graphs=None)
            return self.replaced(union=False)
        named = self._default_graphs_in_text() if "from" in self.text.lower() else []
        if UNION_GRAPH.value in named:
            return self.replaced(union=True)
        return self.replaced(union=union and not named if self.union is None else self.union)

    def _union_graph_left_out(self, *, union: bool) -> Query | None:
        """The query without `GRAPH <urn:x-arq:UnionGraph>`, over all graphs; None where that is another query."""
        edits: list[Edit] = []
        outside = False
        with contextlib.suppress(QueryError):  # which is told when it is asked
            for path, element in self.shape.walk():
                around = [through.first for _, through in path if through.kind == "graph"]
                all_graphs = [self.iri(self.tokens[first + 1]) == UNION_GRAPH.value for first in around]
                if element.kind == "graph" and all_graphs[-1]:
                    edits.append((self.tokens[element.first].start, self.tokens[element.first + 1].end, ""))
                outside = outside or (element.kind == "triples" and not around)
        if not edits or self.default_graphs is not None or (outside and not (self.union or union)):
            return None
        return self.spliced(edits).replaced(union=True)

    def _default_graphs_in_text(self) -> list[str | None]:
        """The graphs that FROM names."""
        with contextlib.suppress(QueryError):  # which is told when it is asked
            pairs = itertools.pairwise(self.tokens)
            return [self.iri(name) for word, name in pairs if word.is_word("FROM") and not name.is_word("NAMED")]
        return []

    def dataset(self) -> tuple[Sequence[Any] | None, Sequence[Any] | None]:
        """The default graphs and the named graphs that it, which parses, is asked of; None for those of the store."""
        first, last = self.shape.query.dataset
        if not last:
            return self.default_graphs, self.named_graphs
        pairs = list(itertools.pairwise(self.tokens[first:last]))
        merged = self.resolved([name for word, name in pairs if word.is_word("FROM") and not name.is_word("NAMED")])
        named = self.resolved([name for word, name in pairs if word.is_word("NAMED")])
        return (
            merged if self.default_graphs is None else self.default_graphs,
            named if self.named_graphs is None else self.named_graphs,
        )

    def resolved(self, names: Sequence[Token]) -> list[Any]:
        """The IRIs that tokens of the query, which parses, stand for."""
        if not names:
            return []
        select = " ".join(f"({name.text} AS ?_{place})" for place, name in enumerate(names))
        prologue = self.shape.source(0, self.shape.prologue)
        (row,) = ox.Store().query(f"{prologue} SELECT {select} {{}}", prefixes=dict(self.prefixes))  # type: ignore[misc]
        return list(row)

    @property
    def limited(self) -> bool:
        """Whether it is evaluated in a process of its own."""
        return CAN_FORK and (self.timeout is not None or self.max_memory is not None)

    @property
    def limits(self) -> Limits:
        """The limits of the query, which hold for the patterns of its searches, too."""
        return Limits(self.deadline, self.max_memory)

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens of the text; QueryError, with its place, where there is none."""
        return tokenize(self.text)

    def scan(self) -> Iterator[Token]:
        """The tokens one after the other, so that who needs but the first does not wait for all."""
        return iter(self.tokens) if "tokens" in self.__dict__ else scan(self.text)

    @cached_property
    def shape(self) -> QueryShape:
        """The groups of the text, which parses."""
        return QueryShape(self.text, self.tokens)

    def spliced(self, edits: Iterable[Edit]) -> Query:
        """The query with some of its places written anew."""
        changes = list(edits)
        return self.replaced(text=spliced(self.text, changes)) if changes else self

    # -- names ----------------------------------------------------------------------------------------------------

    @cached_property
    def _namespaces(self) -> dict[str, str]:
        tokens = self.tokens
        declared = {
            prefix.text[:-1]: iri.text[1:-1]
            for word, prefix, iri in zip(tokens, tokens[1:], tokens[2:], strict=False)
            if word.is_word("PREFIX") and prefix.kind == "name" and iri.kind == "iri"
        }
        return {**self.prefixes, **declared}

    def iri(self, token: Token) -> str | None:
        """The IRI of a token, as it is written or by its prefix; None for what names none."""
        if token.kind == "iri":
            return token.text[1:-1]
        prefix, _, local = token.text.partition(":")
        return self._namespaces[prefix] + local if token.kind == "name" and prefix in self._namespaces else None

    # -- variables ------------------------------------------------------------------------------------------------

    def bound(self) -> Query:
        """The query with values in the place of variables, but for blank nodes, which no text can name.

        pyoxigraph substitutes those in what a SELECT gives, and neither in BIND nor in MINUS nor in a sub-SELECT.
        """
        if not self.bindings:
            return self
        given = self._given_by_select()
        used = {token.text[1:] for token in self.tokens if token.kind == "variable"}
        left = {
            name: term
            for name, term in self.bindings.items()
            if (given is None or name in given) and (name not in used or blank_nodes(term))
        }
        for start, end in self._closed() if left else ():
            for token in self.tokens[start:end]:
                if token.kind == "variable" and token.text[1:] in left:
                    told = f"{token.text} is bound to a blank node, so no BIND, MINUS or sub-SELECT can have it"
                    raise error_at(told, self.text, token.start)
        written = {name: term for name, term in self.bindings.items() if name not in left}
        blank = "is bound to a blank node, so the SELECT must give it too"
        edits = [*written_in(self.text, self.tokens, written, blank=blank), *self._all_given(written)]
        return self.spliced(edits).replaced(bindings=left)

    def _closed(self) -> Iterator[tuple[int, int]]:
        """The tokens of each BIND, MINUS and sub-SELECT."""
        for at, (token, after) in enumerate(itertools.pairwise(self.tokens)):
            if token.is_word("BIND"):
                yield at, closing(self.tokens, at + 1) + 1
            elif token.is_word("MINUS") or (token.text == "{" and after.is_word("SELECT")):
                yield at, closing(self.tokens, at + token.is_word("MINUS"), "{", "}") + 1

    def _all_given(self, values: Mapping[str, Any]) -> Iterator[Edit]:
        """The edits by which `*` gives the values of variables, too."""
        tokens = self.tokens
        form = next((at for at, token in enumerate(tokens) if token.is_word("SELECT", "DESCRIBE")), len(tokens))
        first = next((at for at in range(form, len(tokens)) if tokens[at].text == "{"), 0)
        if first and any(token.text == "*" for token in tokens[form + 1 : form + 3]):
            binds = " ".join(f"BIND({format_term(term)} AS ?{name})" for name, term in values.items())
            end = tokens[closing(tokens, first, "{", "}")].end
            yield tokens[first].start, tokens[first].start, "{ "
            yield end, end, f" {binds} }}"

    def _given_by_select(self) -> set[str] | None:
        """The variables in the clause of its SELECT; None for another form of query, and for SELECT *."""
        given: set[str] | None = None
        depth = 0
        for token in self.scan():
            if given is None:
                if token.is_word("ASK", "CONSTRUCT", "DESCRIBE"):
                    break
                given = set() if token.is_word("SELECT") else None
            elif token.text == "{" or token.is_word("WHERE", "FROM"):
                break
            else:
                depth += {"(": 1, ")": -1}.get(token.text, 0)
                if token.text == "*" and not depth:
                    return None
                if token.kind == "variable" and not depth:
                    given.add(token.text[1:])
        return given

    def ordered(self, variables: Sequence[str]) -> list[str]:
        """The variables of a SELECT in query order: for `SELECT *`, by their first appearance in the text.

        `variables` are those that pyoxigraph gives, which for `SELECT *` are in no useful order.
        """
        if "*" not in self.text:
            return list(variables)
        tokens = self.scan()
        for token in tokens:
            if token.is_word("SELECT"):
                break
        for token in tokens:
            if not token.is_word("DISTINCT", "REDUCED"):
                if token.text != "*":
                    return list(variables)
                break
        seen = dict.fromkeys(token.text[1:] for token in tokens if token.kind == "variable")
        found = [name for name in seen if name in variables]
        return found + [name for name in variables if name not in seen and not name.startswith(HIDDEN)]

    @cached_property
    def computed(self) -> frozenset[str]:
        """The variables that an expression, VALUES or a binding gives values; all others match data."""
        names: set[str] = set(self.bindings)
        before = ""
        in_values = in_list = False
        for token in self.tokens:
            if token.kind == "variable" and (before == "AS" or in_values):
                names.add(token.text[1:])
                in_values = in_list
            elif in_values and token.text == "(":
                in_list = True
            elif in_values:
                in_values = in_list = False
            if token.is_word("VALUES"):
                in_values = True
            before = token.text.upper() if token.kind == "word" else ""
        return frozenset(names)

    @property
    def makes_literals(self) -> bool:
        """Whether a CONSTRUCT may have literals of its own that look like canonical ones of the data."""
        if not any(token.is_word("CONSTRUCT") for token in self.tokens):
            return False
        return any(
            token.kind == "number" or token.text == "^^" or token.is_word("TRUE", "FALSE") for token in self.tokens
        )


_FIELDS = tuple(item.name for item in fields(Query))
