"""Facts that memories outlive, and facts that were stated because of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from worlds.core.quads.dictionary import Ids, json_ids
from worlds.core.quads.rows import NO_QUADS, unique_quads
from worlds.extras.facts.spans import REIFIES
from worlds.extras.facts.times import ALWAYS, period
from worlds.extras.memory.memory_records import CITES, CLASSES, CREATED, EXPIRES, TYPE, Keep, is_beneath, is_memory
from worlds.sql import statements
from worlds.sql.bound_values import as_text

_SQL = statements("memory.sql")
_QUERIES = statements("queries.sql")
_DAY = 86_400_000_000  # microseconds


@dataclass
class _Times:
    graph: int
    created: int | None = None  # microseconds since 1970
    expires: int = ALWAYS
    kinds: list[str] = field(default_factory=list)


class Keeping:
    """Reads the facts that memories in one world keep."""

    def __init__(self, world: Any) -> None:
        self._connection = world._core.connection
        self._dictionary = world._core.dictionary

    def beneath(self, name: str) -> dict[str, int]:
        """The graphs of a scope and of narrower ones that have quads: IRI → id."""
        return {graph: number for number, graph in self._graphs() if is_beneath(graph, name)}

    def told(self) -> bool:
        """Whether any memory has quads."""
        return any(is_memory(graph) for _, graph in self._graphs())

    def _graphs(self) -> list[tuple[int, str]]:
        """The named graphs that have quads, (id, IRI)."""
        found: list[tuple[int, str]] = self._connection.remembered(
            "graphs", lambda: self._connection.rows(_SQL["graphs"])
        )
        return found

    def outlived(self, graphs: Mapping[int, Keep], present: int, time: int | None = None) -> list[int]:
        """The memories in some graphs, by their ids, that are outlived, or were not there at a time."""
        classes = self._dictionary.find(list(CLASSES.values()))
        kinds = {number: kind for kind, number in zip(CLASSES, classes, strict=True) if number is not None}
        of_type, created, expires = self._dictionary.find([TYPE, CREATED, EXPIRES])
        wanted = [expires] if time is None and not any(one.limited for one in graphs.values()) else [expires, created]
        predicates = [number for number in wanted if number is not None]
        if not predicates or not graphs:
            return []
        if created in predicates and of_type is not None:
            predicates.append(of_type)
        statement = _SQL["told"]
        bound = statement.bind(graphs_json=json_ids(graphs), predicates_json=json_ids(predicates))
        rows = self._connection.table(statement, bound)
        values = self._dictionary.terms(set(rows[rows[:, 1] != of_type, 2].tolist()))
        found: dict[int, _Times] = {}
        for memory, predicate, value, graph in rows.tolist():
            times = found.setdefault(memory, _Times(graph))
            if predicate == of_type:
                times.kinds += [kinds[value]] if value in kinds else []
            elif (read := period(getattr(values[value], "value", ""))) is not None:
                if predicate == expires:
                    times.expires = min(times.expires, read[0])
                else:
                    times.created = read[0]
        return _sorted_out(found, graphs, present, time)

    def concerning(self, memories: Collection[int], graph: int) -> Ids:
        """The quads of a graph, now and once, of which some terms are the subject or the object, int64 [n, 4]."""
        if not memories:
            return NO_QUADS
        statement = _SQL["concerning"]
        found: Ids = self._connection.table(statement, statement.bind(ids_json=json_ids(memories), graph=graph))
        return found

    def because_of(self, memories: Collection[int], graph: int) -> Ids:
        """The quads that were stated because of some memories alone: annotated triples that cite nothing else."""
        cites, reifies = self._dictionary.find([CITES, REIFIES])
        if cites is None or reifies is None:
            return NO_QUADS
        found, told = [NO_QUADS], set(memories)
        for memory in told:
            for reifier in self._read("quads_of_predicate_object", predicate=cites, object=memory, graph=graph)[:, 0]:
                said = self._read("quads_of_subject", subject=int(reifier), graph=graph)
                triples = said[said[:, 1] == reifies, 2].tolist()
                if not triples or not set(said[said[:, 1] == cites, 2].tolist()) <= told:
                    continue
                found.append(said)
                for triple in triples:
                    others = self._read("quads_of_predicate_object", predicate=reifies, object=triple, graph=graph)
                    if set(others[:, 0].tolist()) == {int(reifier)}:
                        (term,) = self._connection.rows(_QUERIES["terms_by_id"], (str([triple]),))
                        found.append(np.array([[*map(int, as_text(term[2]).split()), graph]], dtype=np.int64))
        return unique_quads(np.concatenate(found))

    def _read(self, name: str, **values: int) -> Ids:
        statement = _QUERIES[name]
        found: Ids = self._connection.table(statement, statement.bind(**values))
        return found


def _sorted_out(found: Mapping[int, _Times], keeps: Mapping[int, Keep], present: int, time: int | None) -> list[int]:
    gone: set[int] = set()
    newest: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for memory, times in found.items():
        keep, edge = keeps[times.graph], times.expires
        if times.created is not None:
            days = [keep.days_for(kind) for kind in times.kinds]
            edge = min([edge, *(times.created + int(one * _DAY) for one in days if one is not None)])
            if times.kinds and keep.count is not None and not set(times.kinds) & set(keep.evergreen):
                newest[times.graph].append((times.created, memory))
            if time is not None and times.created > time:
                gone.add(memory)
        if edge <= present:
            gone.add(memory)
    for graph, held in newest.items():
        left = sorted(one for one in held if one[1] not in gone)
        gone.update(memory for _, memory in left[: max(len(left) - (keeps[graph].count or 0), 0)])
    return sorted(gone)
