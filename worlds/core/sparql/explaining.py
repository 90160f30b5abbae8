"""How a query was answered, as far as can be told: pyoxigraph shows no plan, but what goes in and comes out is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from worlds.graph.query.query import Query
from worlds.graph.query.shape import Path, QueryShape
from worlds.graph.records import Record


@dataclass(frozen=True, slots=True)
class PatternCount:
    """A subject with one predicate and its objects, at its place in the query, and how many solutions it has alone."""

    line: int
    column: int
    pattern: str
    solutions: int | None  # None where counting took too long
    milliseconds: float


@dataclass(frozen=True, slots=True)
class QueryExplanation(Record):
    """The explanation of a query: see `World.explain`. Times are in milliseconds."""

    results: int  # solutions, triples, or 1 for the answer of an ASK
    index: Literal["memory", "disk"]  # where the SPARQL index is
    quads: int  # in it
    milliseconds: dict[str, float]  # "index" (making it agree with the file), "search" (and rewriting), "evaluation"
    evaluated: str  # what pyoxigraph was given: the query, with the solutions of its searches written in
    patterns: tuple[PatternCount, ...]
    notes: tuple[str, ...] = ()  # why it found nothing, as far as can be told

    def __str__(self) -> str:
        times = ", ".join(f"{name} {value:,.1f} ms" for name, value in self.milliseconds.items())
        lines = [f"{self.results:,} results; {times}; {self.quads:,} quads, index in {self.index}"]
        if self.patterns:
            lines.append("solutions of each pattern alone:")
        for one in self.patterns:
            count = "more than could be counted" if one.solutions is None else f"{one.solutions:,}"
            pattern = " ".join(one.pattern.split())
            lines.append(f"  {one.line}:{one.column}  {pattern}  {count} ({one.milliseconds:,.1f} ms)")
        return "\n".join([*lines, *self.notes])


def pattern_queries(query: Query) -> list[tuple[int, int, str, Query]]:
    """(line, column, pattern, a query that counts its solutions) for the triples of a query that parses.

    The count is of the pattern alone, in the graph that it stands in and the query's own dataset.
    """
    shape = query.shape
    prologue = shape.source(0, shape.prologue)
    dataset = shape.source(*shape.query.dataset)
    found = []
    for path, element in shape.walk():
        if element.kind != "triples" or any(around.kind == "service" for _, around in path):
            continue
        pattern = shape.text_of(element)
        start = query.tokens[element.first].start
        before = query.text[:start]
        counting = f"{prologue} SELECT (COUNT(*) AS ?count) {dataset} WHERE {{ {_placed(shape, path, pattern)} }}"
        line, column = before.count("\n") + 1, start - before.rfind("\n")
        found.append((line, column, pattern, query.replaced(text=counting, max_results=None)))
    return found


def _placed(shape: QueryShape, path: Path, pattern: str) -> str:
    for _, element in reversed(path):
        if element.kind == "graph":
            return f"{shape.source(element.first, element.groups[0].first)} {{ {pattern} }}"
    return pattern
