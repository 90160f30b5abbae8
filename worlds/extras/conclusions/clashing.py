"""Contradictions by what follows: the rules of OWL 2 RL that conclude what is false, and what would end them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from worlds.extras.conclusions.explaining import Explaining, Key
from worlds.extras.conclusions.following import Conclusions
from worlds.extras.conclusions.rules import Construct, read

_MOST = 200  # contradictions whose quads are looked for; others name their written premises alone


class _False(NamedTuple):
    """A rule that concludes a contradiction: kind, message with places for variables, these, and pattern."""

    kind: str
    text: str
    parts: str
    pattern: str


_DISJOINT = "{0} is an instance of {1} and of {2}, which are disjoint"
_DENIED = ("negative assertion", "{0} has {2} by {1}, which is denied", "xpy")
_FALSE = {
    "cax-dw": _False("disjoint classes", _DISJOINT, "xcd", "?c owl:disjointWith ?d . ?x a ?c , ?d"),
    "cls-com": _False("disjoint classes", _DISJOINT, "xcd", "?c owl:complementOf ?d . ?x a ?c , ?d"),
    "cls-nothing2": _False("disjoint classes", "{0} is an instance of owl:Nothing", "x", "?x a owl:Nothing"),
    "prp-pdw": _False(
        "disjoint properties",
        "{0} has {1} by {2} and by {3}, which exclude each other",
        "xypq",
        "?p owl:propertyDisjointWith ?q . ?x ?p ?y ; ?q ?y",
    ),
    "prp-asyp": _False(
        "asymmetric",
        "{1} holds from {0} to {2} and back, though it is asymmetric",
        "xpy",
        "?p a owl:AsymmetricProperty . ?x ?p ?y . ?y ?p ?x",
    ),
    "prp-irp": _False("irreflexive", "{0} has itself as its {1}", "xp", "?p a owl:IrreflexiveProperty . ?x ?p ?x"),
    "prp-npa1": _False(
        *_DENIED, "?n owl:sourceIndividual ?x ; owl:assertionProperty ?p ; owl:targetIndividual ?y . ?x ?p ?y"
    ),
    "prp-npa2": _False(
        *_DENIED, "?n owl:sourceIndividual ?x ; owl:assertionProperty ?p ; owl:targetValue ?y . ?x ?p ?y"
    ),
    "prp-fp": _False(
        "functional",
        "{0} has 2 values of {1}, which may have at most one: {2}, {3}",
        "xpyz",
        "?p a owl:FunctionalProperty . ?x ?p ?y , ?z FILTER(?y != ?z)",
    ),
    "prp-ifp": _False(
        "inverse functional",
        "2 entities have the same {0}, {1}, which may belong to at most one: {2}, {3}",
        "pxyz",
        "?p a owl:InverseFunctionalProperty . ?y ?p ?x . ?z ?p ?x FILTER(?y != ?z)",
    ),
}


@cache
def _rules() -> tuple[Construct, ...]:
    """The rules; their templates are of no use, and name no term."""
    return tuple(
        read(name, f"CONSTRUCT {{ ?x ?x ?x }} WHERE {{ {rule.pattern} }}", {}) for name, rule in _FALSE.items()
    )


class Clash(NamedTuple):
    """A contradiction found by rules: `parts` are the terms of its message, `quads` the quads that lead to it.

    Without all quads of one of `ends`, which are the least sets of this kind, it does not follow.
    """

    kind: str
    text: str
    parts: tuple[int, ...]
    quads: tuple[Key, ...]
    ends: tuple[tuple[Key, ...], ...]


def same(kind: str, parts: tuple[int, ...]) -> tuple[object, ...]:
    """The key by which two contradictions are the same: the order of two classes, properties or values is none."""
    fixed, either = (parts[1:2], parts[::2]) if kind == "asymmetric" else (parts[:-2], parts[-2:])
    return kind, fixed, frozenset(either)


def clashes(conclusions: Conclusions, explaining: Explaining) -> Iterator[Clash]:
    """The contradictions that have a conclusion among their premises, each once."""
    if not conclusions.settings.rules:
        return
    said = 0
    for rule in _rules():
        kind, text, names, _ = _FALSE[rule.name]
        found: dict[object, tuple[tuple[int, ...], list[tuple[Key, ...]]]] = {}
        follows: set[Key] = set()
        for matches in conclusions.matches(rule):
            used = np.stack([matches.used[at] for at in sorted(matches.used)], axis=1)
            follows |= set(map(tuple, conclusions.of(np.unique(used.reshape(-1, 4), axis=0)).tolist()))
            terms = np.column_stack([matches.columns[name] for name in names])
            for numbers, premises in zip(map(tuple, terms.tolist()), used.tolist(), strict=True):
                ways = found.setdefault(same(kind, numbers), (numbers, []))[1]
                ways.append(tuple(dict.fromkeys(map(tuple, premises))))
        for parts, ways in found.values():
            quads = {quad for way in ways for quad in way}
            if follows.isdisjoint(quads):
                continue
            said += 1
            chain, ends = explaining.ends(ways) if said <= _MOST else (quads - follows, [])
            yield Clash(kind, text, parts, tuple(sorted(chain)), tuple(ends))
