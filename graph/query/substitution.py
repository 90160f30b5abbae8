"""Values in the place of the variables of a group (SPARQL 1.1, section 18.6, substitute), for EXISTS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyoxigraph as ox

from worlds.graph.query.shape import GroupGraphPattern, QueryShape
from worlds.graph.query.tokens import Edit, spliced

Table = Callable[[str, Any], str]  # a group pattern that binds a variable to a term


def substituted(shape: QueryShape, group: GroupGraphPattern, values: Mapping[str, Any], table: Table) -> str:
    """The text of a group with values in the place of variables.

    In each group that uses one, a variable of its own has the value, which nothing joins with: so MINUS, OPTIONAL and
    sub-SELECTs see a constant. A variable that the group gives values itself is joined with the value.
    """
    tokens = shape.tokens
    assigned = set()
    in_values = False
    for at in range(group.first, group.last):
        in_values = (in_values and tokens[at].text != "{") or tokens[at].is_word("VALUES")
        if tokens[at].kind == "variable" and (in_values or tokens[at - 1].is_word("AS")):
            assigned.add(tokens[at].text[1:])
    constant = {name: term for name, term in values.items() if name not in assigned}
    joined = " ".join(table(name, term) for name, term in values.items() if name in assigned)
    start = tokens[group.first].start
    edits = list(_edits(shape, group, constant, table))
    text = spliced(shape.text, [edit for edit in edits if edit[0] >= start], 0, tokens[group.last - 1].end)[start:]
    return f"{{ {joined} {text} }}" if joined else text


def _edits(shape: QueryShape, group: GroupGraphPattern, values: Mapping[str, Any], table: Table) -> Iterator[Edit]:
    tokens = shape.tokens
    if group.body is not None:
        visible = shape.mentions(group.body) if group.projected is None else group.projected
        values = {name: term for name, term in values.items() if name in visible}
    inner = [*group.others, *([group.body] if group.body else ())]
    inner += [one for element in group.elements for one in element.groups]
    for one in inner:
        yield from _edits(shape, one, values, table)
    nested = {at for one in inner for at in range(one.first, one.last)}
    direct = {
        at for element in group.elements if element.kind == "triples" for at in range(element.subject[0], element.last)
    }
    direct |= {element.first + 1 for element in group.elements if element.kind == "graph"}
    # the clauses of a sub-SELECT speak of the variables of its body
    number = group.body.first if group.body is not None else group.first
    used = {}
    for at in range(group.first, group.last):
        name = tokens[at].text[1:]
        if tokens[at].kind != "variable" or at in nested or name not in values:
            continue
        if at in direct and isinstance(values[name], ox.NamedNode):
            yield tokens[at].start, tokens[at].end, f"{values[name]}"
        else:
            used[name] = f"{name}_{number}"
            yield tokens[at].start, tokens[at].end, f"?{used[name]}"
    place = tokens[number].end
    for name, own in used.items():
        yield place, place, f" {table(own, values[name])} "
