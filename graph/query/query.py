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
from worlds.graph.query.bindings import written_in
from worlds.graph.query.guard import Functions
from worlds.graph.query.limits import CAN_FORK, Limits, deadline_of
from worlds.graph.query.shape import Shape
from worlds.graph.query.tokens import Edit, Token, scan, spliced, tokenize

UNION_GRAPH = ox.NamedNode("urn:x-arq:UnionGraph")
"""Jena's name for all graphs together."""


@dataclass(frozen=True)
class Query:
    """A query's text, what its names stand for, the dataset that it sees, and its limits; see `evaluation.run`.

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "bindings", {name.lstrip("?$"): term for name, term in self.bindings.items()})
        if not isinstance(self.text, str):
            raise TypeError(f"a query is a str, not {type(self.text).__name__}")
        for name, limit in (("max_results", self.max_results), ("max_memory", self.max_memory)):
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
                raise ValueError(f"{name} is a whole number above 0, not {limit!r}")

    def replaced(self, **changes: Any) -> Query:
        """The query with other values of some of its fields; what was read of the text stays, where that does."""
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
        """What FROM names."""
        with contextlib.suppress(QueryError):  # which is told when it is asked
            pairs = itertools.pairwise(self.tokens)
            return [self.iri(name) for word, name in pairs if word.is_word("FROM") and not name.is_word("NAMED")]
        return []

    @property
    def limited(self) -> bool:
        """Whether it is evaluated in a process of its own."""
        return CAN_FORK and (self.timeout is not None or self.max_memory is not None)

    @property
    def limits(self) -> Limits:
        """What the patterns of its searches may take, too."""
        return Limits(self.deadline, self.max_memory)

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens of the text; QueryError, with its place, where there is none."""
        return tokenize(self.text)

    def scan(self) -> Iterator[Token]:
        """The tokens one after the other, so that who needs but the first does not wait for all."""
        return iter(self.tokens) if "tokens" in self.__dict__ else scan(self.text)

    @cached_property
    def shape(self) -> Shape:
        """The groups of the text, which parses."""
        return Shape(self.text, self.tokens)

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
        """The query with values in the place of those variables that its SELECT doesn't give.

        pyoxigraph substitutes only variables that a SELECT projects; the other `bindings` are left to it.
        """
        given = self._given_by_select() if self.bindings else None
        if given is None or given.issuperset(self.bindings):
            return self
        hidden = {name: term for name, term in self.bindings.items() if name not in given}
        blank = "is bound to a blank node, so the SELECT must give it too"
        bound = self.spliced(written_in(self.text, self.tokens, hidden, blank=blank))
        return bound.replaced(bindings={name: self.bindings[name] for name in given & self.bindings.keys()})

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
        return found + [name for name in variables if name not in seen]

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
