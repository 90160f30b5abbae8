"""Names in tables that mean no entity for sure: what their links would be, for somebody to decide on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np
import pyoxigraph as ox

from worlds.core.history.dry_runs import Trial
from worlds.core.quads.dictionary import Dictionary
from worlds.core.quads.patterns import Patterns
from worlds.extras.sources.tables.quads import RowNotes
from worlds.graph.terms import GraphName

_CANDIDATES = 3


class Resolving(Protocol):
    """Gives a `Resolution`; see `Resolver.resolve`."""

    def __call__(self, name: str, *, context: None, graphs: None, limit: int, types: object, where: object) -> Any: ...  # noqa: D102


def unsure_links(
    told: Iterable[RowNotes], graph: GraphName, dictionary: Dictionary, patterns: Patterns, resolve: Resolving
) -> Iterator[Trial]:
    """For each name that stayed a text and may mean an entity: the likeliest in its place, in every row that has it."""
    for predicate, among, name in (one for table in told for one in table.unsure_names()):
        found = resolve(name, context=None, graphs=None, limit=_CANDIDATES, **among._asdict()).candidates
        if not found:
            continue
        held = patterns.matching((None, ox.NamedNode(predicate), ox.Literal(name)), graph)
        (entity,) = dictionary.find([ox.NamedNode(str(found[0].iri))])
        if not len(held) or entity is None:
            continue
        linked = held.copy()
        linked[:, 2] = np.int64(entity)
        likely = ", ".join(f"{one.label or one.iri} <{one.iri}> {one.confidence:.2f}" for one in found)
        yield Trial(linked, held, f"{name!r} in a table may mean {likely}", "name", found[0].confidence)
