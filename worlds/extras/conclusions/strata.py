"""Strata of rules with negation: each is followed after all rules that conclude what it negates.

A conclusion is known by its predicate, or by its class where that is rdf:type. Predicates and classes that a rule
takes from the vocabulary are those that the vocabulary has now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from worlds.core.quads.dictionary import Ids
from worlds.errors import QueryError
from worlds.extras.conclusions.joins import ANY_GRAPH, Hot, Join, Matches
from worlds.extras.conclusions.rules import Atom, Rule

_ANY = -1  # predicate, or class
_RULE = -2  # and less: nodes that are rules


def strata(rules: Sequence[Rule], hot: Iterable[Hot], join: Join, kind: int) -> list[list[Rule]]:
    """The rules with negation, in the order in which they are followed. `kind` is the id of rdf:type.

    QueryError where a rule depends on its own absence, or concludes what patterns of the vocabulary, `hot`, match.
    """
    negating = [rule for rule in rules if rule.absent]
    numbers = {rule.name: _RULE - at for at, rule in enumerate(negating)}
    edges = np.concatenate([edge for rule in rules for edge in _edges(rule, numbers.get(rule.name), join, kind)])
    vocabulary = [(predicate, 0 if of is None else of) for predicate, of in hot]
    rows = np.array([*vocabulary, *((number, 0) for number in numbers.values())], dtype=np.int64)
    nodes, at = np.unique(np.concatenate([edges[:, :4].reshape(-1, 2), rows]), axis=0, return_inverse=True)
    sources, targets = at.reshape(-1)[: 2 * len(edges)].reshape(-1, 2).T
    named = at.reshape(-1)[2 * len(edges) :]
    level, seen = np.zeros(len(nodes), dtype=np.int64), np.zeros(len(nodes), dtype=np.int64)
    while level.max() <= len(negating):
        seen = _seen(nodes, level, kind)
        before = level.copy()
        np.maximum.at(level, targets, seen[sources] + edges[:, 4])
        if (before == level).all():
            break
    own = level[named[len(vocabulary) :]]
    if circular := [rule.name for rule, number in zip(negating, own.tolist(), strict=True) if number > len(negating)]:
        shown = ", ".join(circular)
        raise QueryError(f"the absence of something that follows by rules with negation is their condition: {shown}")
    if seen[named[: len(vocabulary)]].any():
        shown = ", ".join(rule.name for rule in negating)
        raise QueryError(f"vocabulary would follow by rules with negation, one of {shown}: they conclude data alone")
    return [
        [rule for rule, number in zip(negating, own.tolist(), strict=True) if number == one]
        for one in sorted(set(own.tolist()))
    ]


def _edges(rule: Rule, number: int | None, join: Join, kind: int) -> Iterable[Ids]:
    """Rows of source, target and what the target comes later, int64 [n, 5]: a rule with a number is a node itself."""
    negated = [atom for one in rule.absent for atom in one.body]
    cold = [atom for atom, one in zip(rule.body, rule.hot, strict=True) if not one]
    sought = {atom.predicate for atom in (*cold, *rule.head, *negated)}
    sought |= {atom.object for atom in (*cold, *rule.head, *negated)}
    found: Iterable[Matches] = [Matches({}, np.full(1, ANY_GRAPH, dtype=np.int64))]
    places = [at for at, one in enumerate(rule.hot) if one]
    if any(isinstance(item, str) and item in sought for at in places for item in rule.body[at]):
        (start,) = found
        found = join.all(start, rule, places)
    for block in found:
        own = None if number is None else np.tile(np.array([number, 0], dtype=np.int64), (len(block), 1))
        heads = [_keys(atom, block, kind) for atom in rule.head]
        pairs = [(_keys(atom, block, kind), one, 0) for atom in rule.body for one in (heads if own is None else [own])]
        if own is not None:
            pairs += [(_keys(atom, block, kind), own, 1) for atom in negated] + [(own, one, 0) for one in heads]
        for source, target, cost in pairs:
            rows = np.column_stack([source, target, np.full(len(source), cost, dtype=np.int64)])
            yield np.unique(rows, axis=0)


def _keys(atom: Atom, matches: Matches, kind: int) -> Ids:
    """The predicate and the class of quads that a pattern matches, int64 [n, 2]; 0 for no class."""

    def column(item: int | str) -> Ids:
        known = not isinstance(item, str) or item in matches.columns
        return matches.column(item) if known else np.full(len(matches), _ANY, dtype=np.int64)

    predicates = column(atom.predicate)
    return np.column_stack([predicates, np.where(predicates == kind, column(atom.object), 0)])


def _seen(nodes: Ids, level: Ids, kind: int) -> Ids:
    """The level that each node has as a source: that of all which it may be the same as."""
    seen = level.copy()
    quads, anything, typed = nodes[:, 0] > _RULE, nodes[:, 0] == _ANY, nodes[:, 0] == kind
    whole = typed & (nodes[:, 1] == _ANY)
    seen[typed] = np.maximum(seen[typed], level[whole].max(initial=0))
    seen[whole] = level[typed].max(initial=0)
    seen[quads] = np.maximum(seen[quads], level[anything].max(initial=0))
    seen[anything] = level[quads].max(initial=0)
    return seen
