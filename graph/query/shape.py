"""The shape of a query: its groups, and what stands in them; read from its tokens.

For queries that pyoxigraph's parser has taken: nothing here complains, but of a text that ends too early.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from worlds.graph.query.tokens import CLOSING, OPENING, Token, error_at

Kind: TypeAlias = Literal[
    "triples", "filter", "bind", "values", "optional", "minus", "lateral", "graph", "group", "service"
]
Names: TypeAlias = frozenset[str]  # of variables, without `?`, and of blank nodes, with `_:`

_KEYWORDS = ("OPTIONAL", "MINUS", "LATERAL", "GRAPH", "SERVICE", "FILTER", "BIND", "VALUES")
NO_NAMES: Names = frozenset()


@dataclass(eq=False)
class Element:
    """One conjunct of a group: tokens `first` up to `last`, and the groups in it.

    Of triples, an element is a subject with one predicate and its objects, where the subject is a single token;
    its tokens then begin at the predicate.
    """

    kind: Kind
    first: int
    last: int
    groups: list[GroupGraphPattern] = field(default_factory=list)
    subject: tuple[int, int] = (0, 0)  # of triples, as tokens
    statement: tuple[int, int] = (0, 0)  # the triples with this subject, up to the full stop
    predicate: int = 0


@dataclass(eq=False)
class GroupGraphPattern:
    """The text between braces; a sub-SELECT, and a query, has a `body` instead of elements."""

    first: int
    last: int = 0
    elements: list[Element] = field(default_factory=list)
    body: GroupGraphPattern | None = None
    projected: dict[str, bool] | None = None  # name → whether it is a plain variable; None for all, or no SELECT
    others: list[GroupGraphPattern] = field(default_factory=list)  # in expressions outside the body
    dataset: tuple[int, int] = (0, 0)  # the FROM clauses, as tokens
    short: bool = False  # CONSTRUCT WHERE, whose body can only hold triples


Path: TypeAlias = tuple[tuple[GroupGraphPattern, Element], ...]


class QueryShape:
    """A query's groups: `query.body` is its WHERE clause, `prologue` the number of tokens before its form."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.prologue = 0
        while self.prologue < len(tokens) and tokens[self.prologue].is_word("PREFIX", "BASE", "VERSION"):
            self.prologue += 3 if tokens[self.prologue].is_word("PREFIX") else 2
        self.replaced: dict[Element, tuple[str, Names]] = {}  # by what, and the names that it always binds
        self._mentions: dict[Element | GroupGraphPattern, Names] = {}
        self._certain: dict[Element | GroupGraphPattern, Names] = {}
        self.query = GroupGraphPattern(0)
        try:
            self._clauses(self.prologue, self.query)
        except (IndexError, RecursionError):
            raise error_at("the query ends too early, or is nested too deeply", text, len(text)) from None

    # -- reading --------------------------------------------------------------------------------------------------

    def _is(self, at: int, mark: str) -> bool:
        return self.tokens[at].kind == "mark" and self.tokens[at].text == mark

    def _is_word(self, at: int, *words: str) -> bool:
        return self.tokens[at].is_word(*words)

    def _clauses(self, at: int, into: GroupGraphPattern) -> int:
        """Read a query, or a sub-SELECT up to its closing brace, from its form on."""
        if self._is_word(at, "SELECT"):
            at = self._projection(at + 1, into)
        elif self._is_word(at, "CONSTRUCT"):
            at += 1
            if self._is(at, "{"):
                at = self.after(at, [])
            else:
                into.short = True
        grouped = False
        while at < len(self.tokens) and not self._is(at, "}"):
            if self._is_word(at, "FROM"):
                begin = at
                at += 3 if self._is_word(at + 1, "NAMED") else 2
                into.dataset = (into.dataset[0] or begin, at)
            elif self._is_word(at, "VALUES"):
                values, at = self._values(at)
                if into.body is not None and not grouped:  # joined with what the body gives
                    into.body.elements.append(values)
            elif self._is(at, "{"):
                group, at = self._group(at)
                if into.body is None:
                    into.body = group
                else:
                    into.others.append(group)
            elif self._is(at, "("):
                at = self.after(at, into.others)
            else:
                grouped = grouped or self._is_word(at, "GROUP")
                at += 1
        return at

    def _projection(self, at: int, into: GroupGraphPattern) -> int:
        if self._is_word(at, "DISTINCT", "REDUCED"):
            at += 1
        if self._is(at, "*"):
            return at + 1
        into.projected = {}
        while not (self._is(at, "{") or self._is_word(at, "WHERE", "FROM")):
            if self._is(at, "("):
                begin, at = at, self.after(at, into.others)
                names = [token.text[1:] for token in self.tokens[begin:at] if token.kind == "variable"]
                into.projected[names[-1]] = False  # (… AS ?name)
            else:
                into.projected[self.tokens[at].text[1:]] = True
                at += 1
        return at

    def after(self, at: int, groups: list[GroupGraphPattern]) -> int:
        """The place after the group that the bracket at `at` opens; `groups` gets the groups of EXISTS in it."""
        depth = 0
        while True:
            token = self.tokens[at]
            if token.is_word("EXISTS") and self._is(at + 1, "{"):
                group, at = self._group(at + 1)
                groups.append(group)
                continue
            if token.kind == "mark":
                depth += (token.text in OPENING) - (token.text in CLOSING)
            at += 1
            if depth == 0:
                return at

    def _group(self, at: int) -> tuple[GroupGraphPattern, int]:
        group = GroupGraphPattern(at)
        at += 1
        if self._is_word(at, "SELECT"):
            at = self._clauses(at, group)
        while not self._is(at, "}"):
            at = at + 1 if self._is(at, ".") else self._element(at, group.elements)
        group.last = at + 1
        self.mentions(group), self.certain(group)  # from the inside out, so that nothing recurses deeply later
        return group, at + 1

    def _element(self, at: int, into: list[Element]) -> int:
        token = self.tokens[at]
        if self._is(at, "{"):
            return self._grouped("group", at, at, into)
        for word in ("OPTIONAL", "MINUS", "LATERAL", "GRAPH", "SERVICE"):
            if token.is_word(word):
                inside = at + 1
                while not self._is(inside, "{"):
                    inside += 1
                return self._grouped(word.lower(), at, inside, into)  # type: ignore[arg-type]  # these are kinds
        if token.is_word("VALUES"):
            element, at = self._values(at)
            into.append(element)
            return at
        if token.is_word("FILTER", "BIND"):
            element = Element("filter" if token.is_word("FILTER") else "bind", at, at)
            at += 1
            while not self._is(at, "("):
                if self._is(at, "{"):  # FILTER EXISTS
                    group, at = self._group(at)
                    element.groups.append(group)
                    break
                at += 1
            else:
                at = self.after(at, element.groups)
            element.last = at
            into.append(element)
            return at
        return self._triples(at, into)

    def _grouped(self, kind: Kind, first: int, at: int, into: list[Element]) -> int:
        element = Element(kind, first, first)
        group, at = self._group(at)
        element.groups.append(group)
        while kind == "group" and self._is_word(at, "UNION"):
            group, at = self._group(at + 1)
            element.groups.append(group)
        element.last = at
        into.append(element)
        return at

    def _values(self, at: int) -> tuple[Element, int]:
        first = at
        while not self._is(at, "{"):
            at += 1
        at = self.after(at, [])
        return Element("values", first, at), at

    def _triples(self, at: int, into: list[Element]) -> int:
        first = at
        at = self.after(at, [])  # the subject: a token, or what its bracket opens
        subject = (first, at)
        cuts = [at]
        while not self._ends_triples(at):
            if self._is(at, ";"):
                cuts += [at, at + 1]
                at += 1
            else:
                at = self.after(at, [])
        cuts.append(at)
        parts = [(begin, end) for begin, end in zip(cuts[::2], cuts[1::2], strict=True) if begin < end]
        if subject[1] - first > 1 or not parts:
            into.append(Element("triples", first, at, [], subject, (first, at), subject[1]))
        else:
            into += [Element("triples", begin, end, [], subject, (first, at), begin) for begin, end in parts]
        return at

    def _ends_triples(self, at: int) -> bool:
        return self._is(at, ".") or self._is(at, "{") or self._is(at, "}") or self._is_word(at, *_KEYWORDS)

    # -- asking ---------------------------------------------------------------------------------------------------

    def source(self, first: int, last: int) -> str:
        """The text of the tokens `first` up to `last`."""
        return self.text[self.tokens[first].start : self.tokens[last - 1].end] if last > first else ""

    def is_not_exists(self, element: Element) -> bool:
        """Whether it is FILTER NOT EXISTS { … }, and nothing more."""
        return (
            element.kind == "filter"
            and self._is_word(element.first + 1, "NOT")
            and [group.first for group in element.groups] == [element.first + 3]
        )

    def text_of(self, element: Element) -> str:
        """The element, to stand in a group of its own."""
        if element in self.replaced:
            return self.replaced[element][0]
        if element.kind != "triples":
            return self.source(element.first, element.last)
        subject = "" if element.first == element.subject[0] else self.source(*element.subject) + " "
        return f"{subject}{self.source(element.first, element.last)} ."

    def walk(self) -> Iterator[tuple[Path, Element]]:
        """Every element, with the way to it from the innermost SELECT: each group, and the element gone through."""
        yield from self._walk(self.query, ())

    def _walk(self, group: GroupGraphPattern, path: Path) -> Iterator[tuple[Path, Element]]:
        if group.body is not None:
            yield from self._walk(group.body, ())
        for other in group.others:
            yield from self._walk(other, ())
        for element in group.elements:
            yield (*path, (group, element)), element
            for inner in element.groups:
                yield from self._walk(inner, (*path, (group, element)))

    def names(self, first: int, last: int) -> set[str]:
        """The variables and blank nodes among the tokens `first` up to `last`."""
        found = set()
        for token in self.tokens[first:last]:
            if token.kind == "variable":
                found.add(token.text[1:])
            elif token.kind == "blank":
                found.add(token.text)
        return found

    def mentions(self, item: Element | GroupGraphPattern) -> Names:
        """The names that are visible outside: of a sub-SELECT, the projected ones."""
        if item not in self._mentions:
            self._mentions[item] = self._find_mentions(item)
        return self._mentions[item]

    def _find_mentions(self, item: Element | GroupGraphPattern) -> Names:
        if isinstance(item, GroupGraphPattern):
            if item.body is None:
                return NO_NAMES.union(*(self.mentions(element) for element in item.elements))
            return self.mentions(item.body) if item.projected is None else frozenset(item.projected)
        found = self.names(*item.subject)
        at = item.first
        for group in item.groups:
            found |= self.names(at, group.first) | self.mentions(group)
            at = group.last
        return frozenset(found | self.names(at, item.last))

    def certain(self, item: Element | GroupGraphPattern) -> Names:
        """The names that are bound in each solution."""
        if item not in self._certain:
            self._certain[item] = self._find_certain(item)
        return self._certain[item]

    def _find_certain(self, item: Element | GroupGraphPattern) -> Names:
        if isinstance(item, GroupGraphPattern):
            if item.body is None:
                return NO_NAMES.union(*(self.certain(element) for element in item.elements))
            inside = self.certain(item.body)
            if item.projected is None:
                return inside
            return inside & {name for name, plain in item.projected.items() if plain}
        if item.kind == "triples":
            return self.mentions(item)
        if item.kind == "values":
            undefined = any(token.is_word("UNDEF") for token in self.tokens[item.first : item.last])
            return NO_NAMES if undefined else self.mentions(item)
        if item.kind == "graph":
            return self.certain(item.groups[0]) | self.names(item.first, item.groups[0].first)
        if item.kind == "group":
            return frozenset.intersection(*(self.certain(group) for group in item.groups))
        return NO_NAMES
