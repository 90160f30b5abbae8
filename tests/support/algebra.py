"""The SPARQL algebra (SPARQL 1.1, section 18.6), word for word and slow: what queries with GRAPH are compared with.

A pattern is a tuple of its operator and its parts; a variable is a text, any other term one of pyoxigraph's. `written`
gives a pattern as the inside of a group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

Pattern = tuple[Any, ...]
Solution = dict[str, Any]
Triple = tuple[Any, Any, Any]


@dataclass(frozen=True)
class Dataset:
    """A default graph, and the named ones."""

    default: frozenset[Triple]
    named: Mapping[Any, frozenset[Triple]]


def solutions(data: Dataset, pattern: Pattern) -> list[Solution]:
    """The multiset of solutions over the default graph."""
    return list(_evaluated(data, data.default, pattern))


def counted(found: Iterable[Mapping[str, Any]]) -> Counter[frozenset[tuple[str, Any]]]:
    """Solutions as they are compared."""
    return Counter(frozenset((name, term) for name, term in one.items() if term is not None) for one in found)


# --- evaluation ---------------------------------------------------------------------------------------------------


def _evaluated(data: Dataset, graph: frozenset[Triple], pattern: Pattern) -> Iterator[Solution]:
    kind, *parts = pattern
    if kind == "triples":
        found: list[Solution] = [{}]
        for triple in parts[0]:
            found = [more for one in found for given in graph if (more := _matched(triple, given, one)) is not None]
        yield from found
    elif kind == "path":
        yield from _along(graph, *parts)
    elif kind == "values":
        name, terms = parts
        yield from ({} if term is None else {name: term} for term in terms)
    elif kind == "join":
        left, right = (list(_evaluated(data, graph, part)) for part in parts)
        yield from (one | other for one in left for other in right if _compatible(one, other))
    elif kind == "union":
        for part in parts:
            yield from _evaluated(data, graph, part)
    elif kind == "optional":
        right = list(_evaluated(data, graph, parts[1]))
        for one in _evaluated(data, graph, parts[0]):
            both = [one | other for other in right if _compatible(one, other)]
            both = [more for more in both if parts[2] is None or _true(data, graph, parts[2], more)]
            yield from both or [one]
    elif kind == "minus":
        right = list(_evaluated(data, graph, parts[1]))
        for one in _evaluated(data, graph, parts[0]):
            if not any(one.keys() & other.keys() and _compatible(one, other) for other in right):
                yield one
    elif kind == "filter":
        yield from (one for one in _evaluated(data, graph, parts[0]) if _true(data, graph, parts[1], one))
    elif kind == "bind":
        yield from (one | {parts[1]: parts[2]} for one in _evaluated(data, graph, parts[0]))
    elif kind == "select":
        rows = ({name: one[name] for name in parts[1] if name in one} for one in _evaluated(data, graph, parts[0]))
        seen: set[Any] = set()
        for row in rows:
            key = frozenset(row.items())
            if not parts[2] or key not in seen:
                yield row
            seen.add(key)
    elif kind == "count":
        yield {parts[1]: ox.Literal(sum(1 for _ in _evaluated(data, graph, parts[0])))}
    elif kind == "graph":
        name, inside = parts
        if isinstance(name, str):
            for one, triples in data.named.items():
                for found_there in _evaluated(data, triples, inside):
                    if found_there.get(name, one) == one:
                        yield found_there | {name: one}
        elif name in data.named:
            yield from _evaluated(data, data.named[name], inside)
    else:
        raise ValueError(kind)


def _matched(triple: Triple, given: Triple, one: Solution) -> Solution | None:
    found = dict(one)
    for ours, theirs in zip(triple, given, strict=True):
        if (found.setdefault(ours, theirs) if isinstance(ours, str) else ours) != theirs:
            return None
    return found


def _along(graph: frozenset[Triple], start: Any, predicate: Any, end: Any, many: bool) -> Iterator[Solution]:
    nodes = {term for triple in graph for term in (triple[0], triple[2])}
    for one in nodes if isinstance(start, str) else [start]:
        reached = front = {one}
        while front:
            front = {triple[2] for triple in graph if triple[1] == predicate and triple[0] in front} - reached
            reached = reached | front
            if not many:
                break
        for other in reached:
            found = _matched((start, predicate, end), (one, predicate, other), {})
            if found is not None:
                yield found
    if isinstance(start, str) and not isinstance(end, str) and end not in nodes:
        yield {start: end}


def _compatible(one: Solution, other: Solution) -> bool:
    return all(other[name] == one[name] for name in one.keys() & other.keys())


def _true(data: Dataset, graph: frozenset[Triple], expression: Pattern, one: Solution) -> bool:
    return _value(data, graph, expression, one) is True


def _value(data: Dataset, graph: frozenset[Triple], expression: Pattern, one: Solution) -> bool | None:
    """None for an error."""
    kind, *parts = expression
    if kind == "exists":
        return any(True for _ in _evaluated(data, graph, _substituted(parts[0], one)))
    if kind == "not":
        inner = _value(data, graph, parts[0], one)
        return None if inner is None else not inner
    if kind == "bound":
        return parts[0] in one or not isinstance(parts[0], str)
    left, right = (one.get(part) if isinstance(part, str) else part for part in parts)
    return None if left is None or right is None else left == right


def _substituted(pattern: Pattern, one: Solution) -> Pattern:
    """The pattern with values in the place of variables; those that it gives values itself are joined with them."""
    given = set(_assigned(pattern))
    found: Pattern = _replaced(pattern, {name: term for name, term in one.items() if name not in given})
    for name in given & one.keys():
        found = ("join", ("values", name, (one[name],)), found)
    return found


def _assigned(pattern: Pattern) -> Iterator[str]:
    if pattern[0] == "values":
        yield pattern[1]
    if pattern[0] == "bind":
        yield pattern[2]
    if pattern[0] == "count":
        yield pattern[2]
    for part in pattern[1:]:
        if isinstance(part, tuple) and part and isinstance(part[0], str) and part[0] in _OPERATORS:
            yield from _assigned(part)


def _replaced(part: Any, values: Solution) -> Any:
    if isinstance(part, str):
        return values.get(part, part)
    if not isinstance(part, tuple) or not part or not values:
        return part
    if part[0] == "select":
        inner = {name: term for name, term in values.items() if name in part[2]}
        return ("select", _replaced(part[1], inner), tuple(name for name in part[2] if name not in inner), part[3])
    if part[0] == "count":
        return part
    if part[0] == "values":
        return part
    return tuple(_replaced(one, values) for one in part)


_OPERATORS = (
    *("triples", "path", "values", "join", "union", "optional", "minus", "filter", "bind", "select", "count", "graph"),
    *("exists", "not", "bound", "="),
)

# --- as text ------------------------------------------------------------------------------------------------------


def names(pattern: Pattern) -> set[str]:
    """The variables that are visible outside of a pattern."""
    kind, *parts = pattern
    if kind == "triples":
        return {term for triple in parts[0] for term in triple if isinstance(term, str)}
    if kind == "path":
        return {term for term in parts[:3] if isinstance(term, str)}
    if kind == "values":
        return {parts[0]}
    if kind == "select":
        return set(parts[1])
    if kind == "count":
        return {parts[1]}
    if kind in ("minus", "filter"):
        return names(parts[0])
    if kind == "bind":
        return names(parts[0]) | {parts[1]}
    if kind == "graph":
        return names(parts[1]) | ({parts[0]} if isinstance(parts[0], str) else set())
    return names(parts[0]) | names(parts[1])


def written(pattern: Pattern) -> str:
    """A pattern as the inside of a group."""
    kind, *parts = pattern
    if kind == "triples":
        return " ".join(f"{' '.join(map(_term, triple))} ." for triple in parts[0])
    if kind == "path":
        start, predicate, end, many = parts
        return f"{_term(start)} {predicate}{'*' if many else '? '} {_term(end)} ."
    if kind == "values":
        return f"VALUES {_term(parts[0])} {{ {' '.join('UNDEF' if one is None else _term(one) for one in parts[1])} }}"
    if kind == "graph":
        return f"GRAPH {_term(parts[0])} {{ {written(parts[1])} }}"
    left = f"{{ {written(parts[0])} }}"
    if kind == "join":
        return f"{left} {{ {written(parts[1])} }}"
    if kind == "union":
        return f"{left} UNION {{ {written(parts[1])} }}"
    if kind == "optional":
        test = "" if parts[2] is None else f" FILTER{_tested(parts[2])}"
        right = written(parts[1])
        if parts[1][0] == "filter":  # of the right side alone
            right = f"{{ {right} }}"
        return f"{left} OPTIONAL {{ {right}{test} }}"
    if kind == "minus":
        return f"{left} MINUS {{ {written(parts[1])} }}"
    if kind == "filter":
        return f"{left} FILTER{_tested(parts[1])}"
    if kind == "bind":
        return f"{left} BIND({_term(parts[2])} AS ?{parts[1]})"
    if kind == "select":
        return f"{{ SELECT {'DISTINCT ' * parts[2]}{' '.join(map(_term, parts[1]))} {left} }}"
    return f"{{ SELECT (COUNT(*) AS ?{parts[1]}) {left} }}"


def _tested(expression: Pattern) -> str:
    kind, *parts = expression
    if kind == "exists":
        return f"(EXISTS {{ {written(parts[0])} }})"
    if kind == "not" and parts[0][0] == "exists":
        return f"(NOT EXISTS {{ {written(parts[0][1])} }})"
    if kind == "not":
        return f"(!{_tested(parts[0])})"
    if kind == "bound":
        return f"(BOUND({_term(parts[0])}))"
    return f"({_term(parts[0])} = {_term(parts[1])})"


def _term(term: Any) -> str:
    return f"?{term}" if isinstance(term, str) else str(term)
