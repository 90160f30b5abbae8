"""Names in tables that mean no entity for sure: what their links would be, for somebody to decide on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np
import pyoxigraph as ox

from worlds.graph.terms import GraphName
from worlds.quads.dictionary import Dictionary
from worlds.quads.patterns import Patterns
from worlds.revisions.rehearsing import Trial
from worlds.sources.tables.quads import Told

_CANDIDATES = 3


class Resolving(Protocol):
    """Gives a `Resolution`; see `Resolver.resolve`."""

    def __call__(self, name: str, *, context: None, types: object, graphs: None, exclude: None, limit: int) -> Any: ...  # noqa: D102


def unsure_links(
    told: Iterable[Told], graph: GraphName, dictionary: Dictionary, patterns: Patterns, resolve: Resolving
) -> Iterator[Trial]:
    """For each name that stayed a text and may mean an entity: the likeliest in its place, in every row that has it."""
    for predicate, types, name in (one for table in told for one in table.unsure_names()):
        found = resolve(name, context=None, types=tuple(types), graphs=None, exclude=None, limit=_CANDIDATES).candidates
        if not found:
            continue
        held = patterns.matching((None, ox.NamedNode(predicate), ox.Literal(name)), graph)
        (entity,) = dictionary.find([ox.NamedNode(str(found[0].iri))])
        if not len(held) or entity is None:
            continue
        linked = held.copy()
        linked[:, 2] = np.int64(entity)
        likely = ", ".join(f"{one.label or one.iri} <{one.iri}> {one.confidence:.2f}" for one in found)
        yield Trial(linked, held, f"{name!r} in a table may mean {likely}", "link", found[0].confidence)
