"""Moving an entity in a tree: the quads to add and remove, or the reason why it may not stand there."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from rdflib import URIRef

from worlds.core.core import Core
from worlds.core.quads.dictionary import json_ids
from worlds.errors import ArgumentError
from worlds.extras.entities.trees import SKOS, Trees, TreeShape
from worlds.graph.records import Count, Iri, Quad, Record
from worlds.graph.terms import to_rdflib
from worlds.sql import statements

_SQL = statements("browse.sql")
_QUERIES = statements("queries.sql")
TOP = SKOS + "topConceptOf"
_Row: TypeAlias = tuple[int, int, int, int]


@dataclass(frozen=True)
class Move(Record):
    """The quads to add and remove that move an entity in a tree, as of a `revision`, for `edit` and `proposals.add`.

    `stays` are the others that it goes on to stand below.
    """

    revision: Count
    add: tuple[Quad, ...]
    remove: tuple[Quad, ...]
    stays: tuple[Iri, ...] = ()


class Moving:
    """Works out moves in one world's trees."""

    def __init__(self, core: Core, trees: Trees) -> None:
        self._core = core
        self._trees = trees

    def move(self, entity: Any, to: Any, of: str, away: Any) -> Move:
        """See `World.entities.moving`."""
        with self._core.connection.snapshot():
            shape = self._trees.shape(of)
            moved, target, left = (None if one is None else self._number(one) for one in (entity, to, away))
            assert moved is not None
            if shape.scheme is not None:
                self._number(self._trees.iri(of))
                target = None if target == shape.scheme else target  # the top
            if target is not None:
                self._refuse_circle(shape, moved, target)
            parents = self._trees.below(shape._replace(up=shape.down, down=shape.up, scheme=None), [moved])[1].tolist()
            if left not in (None, shape.scheme, *parents):
                raise ArgumentError(f"{self._name(moved)} is not below {away}", kind="tree")
            olds = [one for one in (parents if left is None else [left]) if one not in (target, shape.scheme)]
            remove = self._between(((moved, one) for one in olds), shape.up)
            remove += self._between(((one, moved) for one in olds), shape.down)
            add = [(moved, p, target, g) if s == moved else (target, p, moved, g) for s, p, _, g in remove if target]
            on_top, on, under = self._on_top(shape, moved)
            new: tuple[Any, ...] = ()
            if target is None and shape.scheme is not None and not on_top:
                new = self._new(moved, shape.scheme, TOP, on, under, remove)
            elif target is not None and (left is None or left == shape.scheme):
                remove += on_top
            if target is not None and not add and target not in parents:
                name = SKOS + "broader" if shape.scheme is not None else shape.name
                new = self._new(moved, target, name, shape.up, shape.down, remove)
            if not add and not new and not remove:
                raise ArgumentError(f"{self._name(moved)} is there already", kind="tree")
            revision = int(self._core.connection.value(_QUERIES["last_revision"]))
            stays = sorted({*parents} - {*olds, target})
            terms = self._core.dictionary.terms(stays)
            others = tuple(to_rdflib(terms[one]) for one in stays)
            return Move(revision, (*self._quads(add), *new), self._quads(remove), others)

    def _number(self, entity: Any) -> int:
        number = self._core.dictionary.find([entity])[0]
        if number is None:
            raise ArgumentError(f"the world says nothing of {entity}", kind="entity")
        return number

    def _name(self, number: int) -> str:
        term = self._core.dictionary.terms([number])[number]
        return self._trees.ordering.labels([number], None).get(number) or str(to_rdflib(term))

    def _refuse_circle(self, shape: TreeShape, moved: int, target: int) -> None:
        """ArgumentError if the target is the moved entity, or stands below it."""
        upwards = shape._replace(up=shape.down, down=shape.up, scheme=None)
        seen, frontier = {target}, [target]
        while frontier and moved not in seen:
            frontier = sorted(set(self._trees.below(upwards, frontier)[1].tolist()) - seen)
            seen.update(frontier)
        if moved in seen:
            where = "is the same" if moved == target else f"stands below {self._name(moved)}"
            told = f"{self._name(moved)} cannot be moved below {self._name(target)}, which {where}"
            raise ArgumentError(f"{told}: that would close a circle", kind="circle")

    def _on_top(self, shape: TreeShape, moved: int) -> tuple[list[_Row], list[int], list[int]]:
        """The quads that put an entity at the top of its scheme, and the predicates that do so, from it and to it."""
        if shape.scheme is None:
            return [], [], []
        _, on, under = self._trees.tops(shape.scheme)
        return self._between([(moved, shape.scheme)], on) + self._between([(shape.scheme, moved)], under), on, under

    def _new(
        self, moved: int, target: int, name: str, up: list[int], down: list[int], removed: list[_Row]
    ) -> tuple[Any, ...]:
        """The quad that puts an entity below another, by the predicate that the world uses, in the entity's graph."""
        values = _SQL["graph_of"].bind(subject=moved)
        graph = removed[0][3] if removed else self._core.connection.value(_SQL["graph_of"], values) or 0
        used = [
            (one, upwards) for upwards, each in ((True, up), (False, down)) for one in each if self._trees.used(one)
        ]
        predicate, upwards = used[0] if used else (0, True)
        ((s, p, o, g),) = self._quads(
            [(moved, predicate, target, graph) if upwards else (target, predicate, moved, graph)]
        )
        return ((s, p or URIRef(name), o, g),)

    def _between(self, pairs: Iterable[tuple[int, int]], predicates: list[int]) -> list[_Row]:
        values = _SQL["quads_between"].bind(pairs_json=json.dumps(list(pairs)), predicates_json=json_ids(predicates))
        return [(s, p, o, g) for s, p, o, g in self._core.connection.rows(_SQL["quads_between"], values)]

    def _quads(self, rows: Iterable[_Row]) -> tuple[Any, ...]:
        distinct = list(dict.fromkeys(rows))
        terms = self._core.dictionary.terms(np.unique(distinct).tolist())
        shown = {number: to_rdflib(term) if number else None for number, term in terms.items()}
        return tuple((shown[s], shown[p], shown[o], shown[g]) for s, p, o, g in distinct)
