"""What a memory sees of its world: a graph of its own, <urn:worlds:seen>, that is brought in step with the world.

By the world's policy that is nothing, or its vocabulary (classes, predicates and what is said of them, the labels and
types of entities that the memory names, and, in graphs of the same names, its shapes and redirects), or all.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.graph.terms import RDF
from worlds.memory.keeping import Keeping
from worlds.memory.names import MEMORY, TYPE
from worlds.quads.dataset import SHAPES_GRAPH, of_data
from worlds.quads.dictionary import Ids, json_ids
from worlds.quads.reader import quad_ids
from worlds.quads.redirects import REDIRECTS
from worlds.quads.rows import NO_QUADS, decoded, difference, distinct, quads_of
from worlds.sql import statements

SEEN = ox.NamedNode("urn:worlds:seen")
"""The graph in a memory's world that has what it sees of its world; nobody else writes into it."""
_SQL = statements("memory.sql")
_OWL, _RDFS = "http://www.w3.org/2002/07/owl#", "http://www.w3.org/2000/01/rdf-schema#"
_KINDS = [
    ox.NamedNode(iri)
    for iri in (
        *(_RDFS + name for name in ("Class", "Datatype")),
        RDF + "Property",
        *(_OWL + name for name in ("Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty")),
        *(_OWL + name for name in ("FunctionalProperty", "InverseFunctionalProperty", "SymmetricProperty")),
        *(_OWL + name for name in ("AsymmetricProperty", "TransitiveProperty", "IrreflexiveProperty")),
    )
]


class Seeing:
    """Brings what a memory's world sees of the `around` in step with that."""

    def __init__(self, around: Any) -> None:
        self._around = around
        self._vocabulary: tuple[object, list[ox.Quad]] = (None, [])  # of a state
        self._brought: dict[Any, object] = {}  # home → the state of the world, and how many IRIs the memory named then

    def bring(self, home: object, world: Any, *, always: bool = False) -> None:
        """Have a home's world see what there is to see; nothing while one of the two is written, or cannot be.

        Nor in a world that was told nothing, unless `always`.
        """
        around, own = self._around._connection, world._connection
        if own.read_only or own.in_transaction or around.in_transaction:
            return
        named = _SQL["count_named"]
        if not always and not Keeping(world).told():
            return
        state = around.state(), own.value(named, named.bind(prefix=MEMORY, seen=len(MEMORY)))
        before = self._brought.get(home)
        if before is not None and before[0] is state[0] and before[1] == state[1]:  # type: ignore[index]
            return
        wanted = self._wanted(world)
        with world._ownership.lifted(), world._writer.revision(message="what is seen of the world") as writing:
            there = [world._patterns.matching((None, None, None), graph) for graph in (SEEN, SHAPES_GRAPH, REDIRECTS)]
            held = np.concatenate(there)
            new = quad_ids(own, world._dictionary, wanted) if wanted else NO_QUADS
            writing.apply(difference(new, held), difference(held, new))
        world._ownership.reserved = world._dictionary.find([SEEN])[0]
        self._brought[home] = state[0], own.value(named, named.bind(prefix=MEMORY, seen=len(MEMORY)))

    def _wanted(self, world: Any) -> list[ox.Quad]:
        around = self._around
        sees = around.policy.memory_sees
        if sees == "nothing":
            return []
        with around._connection.snapshot():
            state = around._connection.state()
            if self._vocabulary[0] is not state:
                self._vocabulary = state, self._of_world(everything=sees == "all")
            return list(dict.fromkeys([*self._vocabulary[1], *(() if sees == "all" else self._labels(world))]))

    def _of_world(self, *, everything: bool) -> list[ox.Quad]:
        """What every memory sees: all, or the vocabulary; and the shapes and the redirects."""
        around = self._around
        if everything:
            ids = around._patterns.matching((None, None, None), None)
        else:
            (of_type,) = around._dictionary.find([TYPE])
            kinds = [number for number in around._dictionary.find(_KINDS) if number is not None]
            statement = _SQL["vocabulary"]
            given = statement.bind(type=of_type or 0, kinds_json=json_ids(kinds))
            ids = self._said(around._connection.column(statement, given))
        own = [
            quad
            for graph in (SHAPES_GRAPH, REDIRECTS)
            for quad in quads_of(around._connection, around._dictionary, around._dictionary.find([graph])[0])
        ]
        return [*self._seen(ids), *own]

    def _labels(self, world: Any) -> Iterable[ox.Quad]:
        """The labels and types of the entities that a memory names."""
        around = self._around
        rows = world._connection.rows(_SQL["named"], _SQL["named"].bind(prefix=MEMORY, seen=len(MEMORY)))
        found = around._dictionary.find([ox.NamedNode(iri) for (iri,) in rows])
        ids = self._said(np.array([number for number in found if number is not None], dtype=np.int64))
        labels = [ox.NamedNode(iri) for iri in around.policy.predicates("label", "alias")]
        wanted = [number for number in around._dictionary.find([*labels, TYPE]) if number is not None]
        return self._seen(ids[np.isin(ids[:, 1], wanted)])

    def _said(self, subjects: Ids) -> Ids:
        """What the world says of terms, int64 [n, 4]."""
        if not len(subjects):
            return NO_QUADS
        found: Ids = self._around._connection.table(_SQL["said"], (json_ids(subjects),))
        return found

    def _seen(self, ids: Ids) -> list[ox.Quad]:
        """Quads of the world as a memory sees them: those of data, without blank nodes."""
        ids = of_data(self._around._dictionary, ids)
        redirects = self._around._dictionary.find([REDIRECTS])[0]
        ids = ids[ids[:, 3] != redirects] if redirects is not None else ids
        terms = self._around._dictionary.terms(distinct(ids.ravel()).tolist())
        return [
            ox.Quad(quad.subject, quad.predicate, quad.object, SEEN)
            for quad in decoded(ids, terms)
            if isinstance(quad.subject, ox.NamedNode) and isinstance(quad.object, ox.NamedNode | ox.Literal)
        ]
