"""What is kept of memories: which graphs there are, what they outlive, and the vectors of their texts."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.memory.names import CITES, CLASSES, CREATED, EXPIRES, TYPE, around
from worlds.memory.records import Keep
from worlds.quads.dictionary import Dictionary, Ids, json_ids
from worlds.quads.interner import Interner
from worlds.quads.rows import NO_QUADS, unique_quads
from worlds.sql import aside, statements
from worlds.sql.connection import Connection, Row
from worlds.sql.values import as_text
from worlds.validity.spans import REIFIES
from worlds.validity.times import ALWAYS, period

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
    """Reads what the memories of one world keep."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary

    def beneath(self, name: str) -> dict[str, int]:
        """The graphs of a scope and of those beneath it: IRI → id."""

        def read() -> dict[str, int]:
            return {found: number for number, found in self._connection.rows(_SQL["beneath"], (name,))}

        return self._connection.remembered(("beneath", name), read)

    def keep(self, name: str) -> Keep:
        """What holds for a scope's graph: what it says itself, or else the narrowest scope around it that does."""
        rows = self._connection.rows(_SQL["keepings"], (json.dumps(around(name)),))
        stored = max(rows, key=lambda row: len(row[0]), default=None)
        return Keep() if stored is None else Keep(**json.loads(stored[1]))

    def set_keeping(self, graph: ox.NamedNode, keep: Keep) -> None:
        """Store how long a scope keeps. In a transaction."""
        interner = Interner(self._connection, self._dictionary, rename_blank_nodes=False)
        (number,) = interner.resolve(np.array([interner.local(graph)], dtype=np.int64)).tolist()
        self._connection.run(_QUERIES["add_memory"], (number, graph.value))
        statement = _SQL["set_keeping"]
        self._connection.run(statement, statement.bind(keeping=keep.to_json(), name=graph.value))

    def settings(self) -> list[Row]:
        """What all scopes say of how long they keep, (IRI, JSON)."""
        return self._connection.remembered("keepings", lambda: self._connection.rows(_SQL["all_keepings"]))

    def timed(self, predicates: Ids, graphs: Iterable[str]) -> bool:
        """Whether new quads of these predicates may be outlived at once, or outlive others."""
        created, expires = self._dictionary.find([CREATED, EXPIRES])
        if expires is not None and (predicates == expires).any():
            return True
        told = created is not None and bool((predicates == created).any())
        return told and any(self.keep(name).limited for name in graphs)

    def outlived(self, graphs: Mapping[str, int], present: int, time: int | None = None) -> tuple[list[int], int]:
        """The memories in some graphs that are outlived, or were not there at a time, and when the next one will be."""
        classes = self._dictionary.find(list(CLASSES.values()))
        kinds = {number: kind for kind, number in zip(CLASSES, classes, strict=True) if number is not None}
        of_type, created, expires = self._dictionary.find([TYPE, CREATED, EXPIRES])
        keeps = {number: self.keep(name) for name, number in graphs.items()}
        wanted = [expires] if time is None and not any(one.limited for one in keeps.values()) else [expires, created]
        predicates = [number for number in wanted if number is not None]
        if not predicates:
            return [], ALWAYS
        statement = _SQL["told"]
        if created in predicates and of_type is not None:
            predicates.append(of_type)
        bound = statement.bind(graphs_json=json_ids(graphs.values()), predicates_json=json_ids(predicates))
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
        return self._sorted_out(found, keeps, present, time)

    def _sorted_out(
        self, found: Mapping[int, _Times], keeps: Mapping[int, Keep], present: int, time: int | None
    ) -> tuple[list[int], int]:
        gone: set[int] = set()
        following = ALWAYS
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
            else:
                following = min(following, edge)
        for graph, held in newest.items():
            left = sorted(one for one in held if one[1] not in gone)
            gone.update(memory for _, memory in left[: max(len(left) - (keeps[graph].count or 0), 0)])
        return sorted(gone), following

    def concerning(self, memories: Collection[int], graph: int) -> Ids:
        """The quads of a graph, now and once, of which some terms are the subject or the object, int64 [n, 4]."""
        if not memories:
            return NO_QUADS
        statement = _SQL["concerning"]
        return self._connection.table(statement, statement.bind(ids_json=json_ids(memories), graph=graph))

    def because_of(self, memories: Collection[int], graph: int) -> Ids:
        """The quads that were told because of some memories alone: what cites nothing else, and reifies a triple."""
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
        statement = aside(_QUERIES[name])
        return self._connection.table(statement, statement.bind(**values))

    def keep_vectors(self, scope: str, digests: list[bytes], vectors: NDArray[np.float32]) -> None:
        """Keep the vectors of texts, float32 [n, d], for a scope."""
        rows = [
            [digest.hex(), vector.astype("<f4").tobytes().hex() if vector.any() else None]
            for digest, vector in zip(digests, vectors, strict=True)
        ]
        with self._connection.transaction():
            statement = _SQL["keep_vectors"]
            self._connection.run(statement, statement.bind(scope=scope, rows_json=json.dumps(rows)))
