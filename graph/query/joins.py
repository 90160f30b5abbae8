"""The order of joins: by how many triples match each pattern.

pyoxigraph takes the patterns of a basic graph pattern by their form alone: first those with a class or a value, and of
one form in the order of the text. A class of a million members then comes before a property of ten. So a query is asked
in other words: its patterns stand with the rarest first, and a frequent pattern whose only variable others bind is a
FILTER EXISTS, since it holds once or not at all. Neither changes a solution, or how often it is given.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import pyoxigraph as ox

from worlds.errors import QueryError
from worlds.graph.query.query import Query
from worlds.graph.query.shape import Element, GroupGraphPattern, Names, QueryShape
from worlds.graph.query.tokens import OPENING, Edit, by_text

TIMES = 5  # as many matches as the rarest pattern has: another order pays
FREQUENT = 1000  # matches of a pattern from which on it can pay
MOST = 20_000  # matches that are counted
_LONGEST = 10_000  # characters of a query that is read for it: longer ones have their solutions written in
_KEPT = 4096  # patterns whose matches are known
_CHANGES = 1000  # quads, after which they are counted again
_LIMITED = re.compile(r"\bLIMIT\b|\bASK\b", re.IGNORECASE).search
_SORTED = re.compile(r"\b(ORDER|GROUP)\b", re.IGNORECASE).search

Count = Callable[[str, int], int]
"""How many triples match a pattern, as it is written; at most so many are counted."""


@dataclass(frozen=True)
class Pattern:
    """A pattern of a basic graph pattern as it is written, without a full stop, and its variables and blank nodes."""

    text: str
    names: Names
    plain: bool  # one triple without a path and without blank nodes
    is_anchored: bool = False  # its subject and its predicate are IRIs

    @property
    def is_counted(self) -> bool:
        """Whether its matches are counted: it has a variable, and a term that is none."""
        return self.plain and len(self.names) in (1, 2)

    @property
    def can_be_tested(self) -> bool:
        """Whether it holds once or not at all where its variable has a value."""
        return self.plain and len(self.names) == 1


@dataclass(frozen=True)
class Block:
    """A basic graph pattern: its patterns, and the places of the text that they take."""

    patterns: tuple[Pattern, ...]
    places: tuple[tuple[int, int], ...]

    def edits(self, count: Count, frequent: int, *, all_read: bool) -> Iterator[Edit]:
        """The edits by which its rarest patterns come first; none where the order hardly matters."""
        if any(one.is_anchored and count(one.text, frequent) * TIMES <= frequent for one in self.patterns):
            return  # the evaluator begins there
        counted = {one.text: count(one.text, frequent) for one in self.patterns if one.is_counted}
        least = min(counted.values())
        if least < frequent or all_read:
            most = MOST if least >= frequent else max(frequent, TIMES * least)
            counted = {text: count(text, most) if number >= frequent else number for text, number in counted.items()}
            least = min(counted.values())
        often = {text for text, number in counted.items() if number >= max(frequent, TIMES * max(least, 1))}
        if not often:
            return
        known = [counted.get(one.text, MOST) for one in self.patterns]
        order = sorted(range(len(known)), key=known.__getitem__)  # equal ones stay in the order of the text
        kept = [self.patterns[place] for place in order]
        tested = []
        for one in kept[::-1]:
            others = [other for other in kept if other is not one]
            if one.text in often and one.can_be_tested and any(one.names <= other.names for other in others):
                kept = others
                tested.append(f" FILTER EXISTS {{ {one.text} }}")
        if tested or order != sorted(order):
            yield (*self.places[0], " . ".join(one.text for one in kept) + "".join(tested))
            yield from ((start, end, "") for start, end in self.places[1:])


def reordered(query: Query, count: Count, frequent: int = FREQUENT) -> Query:
    """The query with its patterns in an order that is cheap; itself where that is none, or it does not parse."""
    if query.bindings or len(query.text) > _LONGEST:
        return query
    with contextlib.suppress(QueryError, SyntaxError, ValueError, OSError):  # which the query itself will tell
        blocks = _blocks(query.text)
        if not blocks:
            return query
        all_read = not _LIMITED(query.text) or _SORTED(query.text) is not None
        return query.spliced(edit for block in blocks for edit in block.edits(count, frequent, all_read=all_read))
    return query


@by_text(512)
def _blocks(text: str) -> tuple[Block, ...]:
    """The basic graph patterns of two patterns or more that stand in the default graph, and in no EXISTS."""
    query = Query(text)
    shape = query.shape
    return () if shape.query.short or shape.query.dataset[1] else tuple(_in_group(shape, shape.query))


def _in_group(shape: QueryShape, group: GroupGraphPattern) -> Iterator[Block]:
    if group.body is not None:
        yield from _in_group(shape, group.body)
    run: list[Element] = []
    for element in group.elements:
        if element.kind == "triples":
            run.append(element)
        elif element.kind != "filter":  # which stands anywhere in its group
            yield from _block(shape, run)
            run = []
        # A FILTER in a group that is joined with more keeps pyoxigraph from joining it in a good order.
        alone = all(other is element or other.kind == "filter" for other in group.elements)
        if element.kind == "group":
            inside = [inner for inner in element.groups if alone or inner.body is not None]
            yield from (block for inner in inside for block in _in_group(shape, inner))
    yield from _block(shape, run)


def _block(shape: QueryShape, run: Sequence[Element]) -> Iterator[Block]:
    tokens = shape.tokens
    places: list[tuple[int, int]] = []
    patterns: list[Pattern] = []
    for element in run:
        found = _patterns(shape, element)
        if found is None:
            return
        patterns += found
        first, last = element.statement
        last += bool(places) and tokens[last].text == "."
        if not places or places[-1][1] <= tokens[first].start:
            places.append((tokens[first].start, tokens[last - 1].end))
    if len(patterns) > 1 and any(one.is_counted for one in patterns):
        yield Block(tuple(patterns), tuple(places))


def _patterns(shape: QueryShape, element: Element) -> list[Pattern] | None:
    """The patterns of a subject with one predicate and its objects; None for what has brackets."""
    tokens = shape.tokens[element.first : element.last]
    if element.subject[1] - element.subject[0] > 1 or any(one.text in OPENING or one.text == "~" for one in tokens):
        return None
    subject = shape.source(*element.subject)
    whole = f"{subject} {shape.source(element.first, element.last)}"
    if len(tokens) < 2 or (tokens[0].kind not in ("iri", "name", "variable") and tokens[0].text != "a"):
        return [Pattern(whole, shape.certain(element), plain=False)]
    if tokens[1].kind == "mark" and tokens[1].text not in "+-":  # a path
        return [Pattern(whole, shape.certain(element), plain=False)]
    found, begin = [], element.first + 1
    for at in range(begin, element.last + 1):
        if at == element.last or shape.tokens[at].text == ",":
            names = shape.names(*element.subject) | shape.names(element.first, element.first + 1)
            names |= shape.names(begin, at)
            text = f"{subject} {tokens[0].text} {shape.source(begin, at)}"
            plain = not any(name.startswith("_:") for name in names)
            anchored = shape.tokens[element.subject[0]].kind != "variable" and tokens[0].kind != "variable" and plain
            found.append(Pattern(text, frozenset(names), plain, anchored))
            begin = at + 1
    return found


class Counts:
    """How many triples match the patterns that queries had, as long as their store hardly changes."""

    def __init__(self) -> None:
        self._held: dict[Hashable, int] = {}
        self._changes = 0

    def clear(self) -> None:
        """Forget them."""
        self._held.clear()
        self._changes = 0

    def changed(self, quads: int) -> None:
        """So many quads came or went."""
        self._changes += quads
        if self._changes > _CHANGES:
            self.clear()

    def of(self, store: ox.Store, query: Query) -> Count:
        """Counts what matches a pattern of a query in the store."""

        def count(pattern: str, most: int) -> int:
            prologue = query.shape.source(0, query.shape.prologue)
            graphs = None if query.default_graphs is None else list(query.default_graphs)
            key = id(store), str(graphs), prologue, pattern, most
            if key not in self._held:
                if len(self._held) >= _KEPT:
                    self.clear()
                text = f"{prologue} SELECT (COUNT(*) AS ?n) {{ SELECT (1 AS ?one) {{ {pattern} }} LIMIT {most} }}"
                (row,) = store.query(  # type: ignore[misc]  # a SELECT
                    text, prefixes=dict(query.prefixes), default_graph=graphs,
                    use_default_graph_as_union=bool(query.union),
                )  # fmt: skip
                self._held[key] = int(row[0].value)
            return self._held[key]

        return count
