"""The world as a memory sees it: a graph of its own, <urn:worlds:seen>, that is brought in step with the world.

By the world's policy that is nothing, or its vocabulary (classes, predicates and what is said of them, the labels and
types of entities that the memory names, and, in graphs of the same names, its shapes and redirects), or all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dataset import SHAPES_GRAPH, of_data
from worlds.core.quads.dictionary import Ids, json_ids
from worlds.core.quads.reader import quad_ids
from worlds.core.quads.redirects import REDIRECTS
from worlds.core.quads.rows import NO_QUADS, decoded, difference, distinct, quads_of
from worlds.extras.conclusions.following import RuleSettings
from worlds.extras.memory.linked_facts import Keeping
from worlds.extras.memory.memory_records import MEMORY, TYPE
from worlds.graph.terms import RDF
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
    """Keeps the copy of the world `around` that a memory's world sees in step with it."""

    def __init__(self, around: Any) -> None:
        self._around = around
        self._vocabulary: tuple[object, list[ox.Quad]] = (None, [])  # of a state
        self._brought: dict[Any, object] = {}  # home → the state of the world, and how many IRIs the memory named then

    def bring(self, home: object, world: Any, *, always: bool = False) -> None:
        """Update a home's copy of the surrounding world; does nothing while either is written, or cannot be.

        Nor in a world that was told nothing, unless `always`.
        """
        around, own = self._around._core.connection, world._core.connection
        if own.read_only or own.in_transaction or around.in_transaction:
            return
        if not always and not Keeping(world).told():
            return
        state = around.state(), self._named(world)
        before = self._brought.get(home)
        if before is not None and before[0] is state[0] and before[1] == state[1]:  # type: ignore[index]
            return
        wanted = self._wanted(world)
        rules = RuleSettings() if self._around.policy.memory_sees == "nothing" else self._around._conclusions.settings
        if world._conclusions.settings != (rules := replace(rules, graphs=None)):  # which are not the memory's graphs
            world._conclusions.put(rules)
        with world._ownership.lifted(), world._core.writer.revision(message="what is seen of the world") as writing:
            there = [
                world._core.patterns.matching((None, None, None), graph) for graph in (SEEN, SHAPES_GRAPH, REDIRECTS)
            ]
            held = np.concatenate(there)
            new = quad_ids(own, world._core.dictionary, wanted) if wanted else NO_QUADS
            writing.apply(difference(new, held), difference(held, new))
        world._ownership.reserved = world._core.dictionary.find([SEEN])[0]
        self._brought[home] = state[0], self._named(world)

    def _named(self, world: Any) -> Any:
        """How many IRIs a memory's world has that are not of a memory."""
        counted = _SQL["count_named"]
        read = partial(world._core.connection.value, counted, counted.bind(prefix=MEMORY, seen=len(MEMORY)))
        return world._core.connection.remembered("named", read)

    def _wanted(self, world: Any) -> list[ox.Quad]:
        around = self._around
        sees = around.policy.memory_sees
        if sees == "nothing":
            return []
        with around._core.connection.snapshot():
            state = around._core.connection.state()
            if self._vocabulary[0] is not state:
                self._vocabulary = state, self._of_world(everything=sees == "all")
            return list(dict.fromkeys([*self._vocabulary[1], *(() if sees == "all" else self._labels(world))]))

    def _of_world(self, *, everything: bool) -> list[ox.Quad]:
        """The quads that every memory sees: all, or the vocabulary; and the shapes and the redirects."""
        around = self._around
        if everything:
            ids = around._core.patterns.matching((None, None, None), None)
        else:
            (of_type,) = around._core.dictionary.find([TYPE])
            kinds = [number for number in around._core.dictionary.find(_KINDS) if number is not None]
            statement = _SQL["vocabulary"]
            given = statement.bind(type=of_type or 0, kinds_json=json_ids(kinds))
            ids = self._said(around._core.connection.column(statement, given))
        own = [
            quad
            for graph in (SHAPES_GRAPH, REDIRECTS)
            for quad in quads_of(
                around._core.connection, around._core.dictionary, around._core.dictionary.find([graph])[0]
            )
        ]
        return [*self._seen(ids), *own]

    def _labels(self, world: Any) -> Iterable[ox.Quad]:
        """The labels and types of the entities that a memory names."""
        around = self._around
        rows = world._core.connection.rows(_SQL["named"], _SQL["named"].bind(prefix=MEMORY, seen=len(MEMORY)))
        found = around._core.dictionary.find([ox.NamedNode(iri) for (iri,) in rows])
        ids = self._said(np.array([number for number in found if number is not None], dtype=np.int64))
        labels = [ox.NamedNode(iri) for iri in around.policy.predicates("label", "alias")]
        wanted = [number for number in around._core.dictionary.find([*labels, TYPE]) if number is not None]
        return self._seen(ids[np.isin(ids[:, 1], wanted)])

    def _said(self, subjects: Ids) -> Ids:
        """The quads of the world about terms, int64 [n, 4]."""
        if not len(subjects):
            return NO_QUADS
        found: Ids = self._around._core.connection.table(_SQL["said"], (json_ids(subjects),))
        return found

    def _seen(self, ids: Ids) -> list[ox.Quad]:
        """Quads of the world as a memory sees them: data without blank nodes."""
        ids = of_data(self._around._core.dictionary, ids)
        redirects = self._around._core.dictionary.find([REDIRECTS])[0]
        ids = ids[ids[:, 3] != redirects] if redirects is not None else ids
        terms = self._around._core.dictionary.terms(distinct(ids.ravel()).tolist())
        return [
            ox.Quad(quad.subject, quad.predicate, quad.object, SEEN)
            for quad in decoded(ids, terms)
            if isinstance(quad.subject, ox.NamedNode) and isinstance(quad.object, ox.NamedNode | ox.Literal)
        ]
