"""Facts of a world about a search's candidates, for the stages after fusion."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.core.quads.dictionary import Dictionary, Ids, json_ids
from worlds.core.search.candidates import Candidates, Fused
from worlds.core.search.filters import Filters, among
from worlds.core.search.stages import Decay, Floats, greatest
from worlds.graph.query.query_limits import Limits
from worlds.sql import statements
from worlds.sql.bound_values import as_text, integers
from worlds.sql.connection import Connection, Row

_SQL = statements("stages.sql")
_RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_TRUE = ("true", "1")

Read: TypeAlias = Callable[[str], float | None]
Bools: TypeAlias = NDArray[np.bool_]


class Embedded(NamedTuple):
    """The vectors of texts, float32 [texts, d], and which of them there are, boolean [texts]."""

    vectors: NDArray[np.float32]
    known: Bools


class CandidateFacts(Protocol):
    """Facts about n candidates and their texts."""

    def matching(self, pattern: str) -> Bools:
        """Which candidates have a subject that matches a pattern over ?subject, [n]."""

    def greatest(self, predicate: ox.NamedNode, read: Read) -> tuple[Floats, list[str]]:
        """Each candidate's greatest value under a predicate, NaN without one, [n], and the unreadable values."""

    def evergreen(self, decay: Decay) -> Bools:
        """Which candidates never age, [n]."""

    def names(self) -> Bools:
        """Which candidates are labels or aliases, [n]."""

    def embedded(self) -> Embedded:
        """The vectors of the rows."""

    def texts(self, rows: Sequence[Fused]) -> list[str]:
        """The texts of rows."""


class FactReader:
    """Reads facts from one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, filters: Filters) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._filters = filters
        self._naming: tuple[object, Ids] | None = None  # of which state and policy, and the predicates

    def of(self, found: Candidates, graphs: tuple[Any, ...] | None, state: object, limits: Limits | None) -> WorldFacts:
        """The facts of candidates as of `state`, from `graphs` or from all; `limits` are those of patterns."""
        known = (self._connection, self._dictionary, self._filters)
        return WorldFacts(*known, lambda: self._name_predicates(state), found, graphs, state, limits)

    def _name_predicates(self, state: object) -> Ids:
        """The predicates of labels and aliases."""
        policy = self._filters.policy
        if self._naming is None or self._naming[0] != (state, policy):
            iris = [ox.NamedNode(iri) for iri in policy.predicates("label", "alias")]
            self._naming = (state, policy), self._filters.known(iris)
        return self._naming[1]


@dataclass(eq=False, repr=False)
class WorldFacts:
    """`CandidateFacts` of one world."""

    _connection: Connection
    _dictionary: Dictionary
    _filters: Filters
    _name_predicates: Callable[[], Ids]
    _found: Candidates
    _graphs: tuple[Any, ...] | None
    _state: object
    _limits: Limits | None

    def matching(self, pattern: str) -> Bools:
        """Which candidates have a subject that matches a pattern over ?subject, [n]."""
        matching = self._filters.matching(pattern, self._graphs, self._state, self._limits)
        return self._of_quads(among(self._found.subjects, matching))

    def greatest(self, predicate: ox.NamedNode, read: Read) -> tuple[Floats, list[str]]:
        """Each candidate's greatest value under a predicate, NaN without one, [n], and the unreadable values."""
        distinct = self._found.distinct
        subjects, texts = self._values(predicate)
        values = [None if text is None else read(text) for text in texts]
        wrong = ["an IRI" if text is None else text for text, value in zip(texts, values, strict=True) if value is None]
        by_subject = greatest(np.array(values, np.float64), np.searchsorted(distinct, subjects), len(distinct))
        values_of_quads = by_subject[np.searchsorted(distinct, self._found.subjects)]
        return greatest(values_of_quads, self._found.owner, len(self._found)), wrong

    def evergreen(self, decay: Decay) -> Bools:
        """Which candidates never age, [n]."""
        subjects = set(self._with_object(_RDF_TYPE, decay.evergreen_types))
        for flag in decay.evergreen_flags:
            subjects |= {subject for subject, value in zip(*self._values(flag), strict=True) if value in _TRUE}
        quads = among(self._found.subjects, np.array(sorted(subjects), dtype=np.int64))
        quads |= among(self._found.predicates, self._filters.known(decay.evergreen_predicates))
        return self._of_quads(quads)

    def names(self) -> Bools:
        """Which candidates are labels or aliases, [n]."""
        return self._of_quads(among(self._found.predicates, self._name_predicates()))

    def embedded(self) -> Embedded:
        """The vectors of the rows."""
        numbers = [row.vector or 0 for row in self._found.rows]
        positions = embeddings = None
        if any(numbers):  # else the world may have no table of vectors
            positions, embeddings = self._connection.rows(_SQL["embeddings"], (json_ids(numbers),))[0]
        at = integers(positions)
        table = np.frombuffer(embeddings or b"", dtype="<f4").reshape(len(at) or 1, -1)
        vectors = np.zeros((len(numbers), table.shape[1]), np.float32)
        known = np.zeros(len(vectors), dtype=bool)
        vectors[at], known[at] = table[: len(at)], True
        return Embedded(vectors, known)

    def texts(self, rows: Sequence[Fused]) -> list[str]:
        """The texts of rows."""
        return texts_of(self._connection, rows)

    def _of_quads(self, quads: Bools) -> Bools:
        """Which candidates have one of the quads."""
        found = np.zeros(len(self._found), dtype=bool)
        found[self._found.owner[quads]] = True
        return found

    def _values(self, predicate: ox.NamedNode) -> tuple[list[int], list[str | None]]:
        """Subjects, and the lexical forms that they have under a predicate; None for what is no literal."""
        subjects, texts = self._row("values", predicate)
        return integers(subjects).tolist(), json.loads(texts)

    def _with_object(self, predicate: ox.NamedNode, objects: Sequence[ox.NamedNode]) -> list[int]:
        """The subjects that have one of the objects under a predicate."""
        known = self._filters.known(objects)
        if not len(known):
            return []
        subjects: list[int] = integers(self._row("with_object", predicate, objects_json=json_ids(known))[0]).tolist()
        return subjects

    def _row(self, statement: str, predicate: ox.NamedNode, **values: object) -> Row:
        graphs = None if self._graphs is None else json_ids(self._filters.known(self._graphs))
        values |= {
            "subjects_json": json_ids(self._found.distinct),
            "predicate": self._dictionary.find([predicate])[0],
            "graphs_json": graphs,
        }
        return self._connection.rows(_SQL[statement], _SQL[statement].bind(**values))[0]


def texts_of(connection: Connection, rows: Sequence[Fused]) -> list[str]:
    """The texts of rows of the statement, which it has given for none of them or for all."""
    texts = {row.chunk: row.text for row in rows}
    if None in texts.values():
        texts = dict(connection.rows(_SQL["texts"], (json_ids(texts),)))
    return [as_text(texts[row.chunk] or "") for row in rows]
