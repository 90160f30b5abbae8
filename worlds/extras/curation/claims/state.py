"""The quads of a world as they were after a revision, read by pattern; what was read is remembered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import pyoxigraph as ox

from worlds.core.history.history import History
from worlds.core.quads.dataset import SHAPES_GRAPH, of_data
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary
from worlds.extras.entities.neighbours import CitedQuad
from worlds.graph.terms import to_rdflib
from worlds.sql import statements
from worlds.sql.connection import Connection

Row: TypeAlias = tuple[int, int, int, int, int]
"""A quad as ids: subject, predicate, object, graph, and the revision that added it."""
Rows: TypeAlias = tuple[Row, ...]

UNKNOWN = -1
"""The id of a term that the world does not know; no term has it."""

_SQL = statements("verifying.sql")
_MOST = 2000  # quads of one pattern
_ORDERS = {  # by what the quads of a pattern are ordered, as the indexes have them
    "of_subject": (1, 2, 3),
    "of_subject_predicate": (2, 3),
    "of_predicate": (2, 0, 3),
    "of_predicate_object": (0, 3),
    "of_object": (1, 0, 3),
}


class State:
    """One world after one revision, over all graphs of data; with `shapes`, that of the shapes alone."""

    def __init__(
        self, connection: Connection, dictionary: Dictionary, history: History, revision: int, *, shapes: bool = False
    ) -> None:
        self.revision = revision
        self.read: dict[Row, None] = {}
        self.cut: set[str] = set()  # what was not read to its end
        self._connection = connection
        self._dictionary = dictionary
        self._shapes = (dictionary.find([SHAPES_GRAPH])[0] or UNKNOWN) if shapes else None
        gone = history.gone(revision, revision)
        self._gone = gone[gone[:, 3] == self._shapes] if shapes else of_data(dictionary, gone)
        self._ids: dict[Any, int] = {}
        self._terms: dict[int, Any] = {}
        self._known: dict[tuple[str, int, int, int, int], Rows] = {}

    # -- terms --------------------------------------------------------------------------------------------------------

    def id(self, term: Any) -> int:
        """The id of a term, or of an IRI given as a str; -1 for one that the world does not know."""
        found = self._ids.get(term)
        if found is None:
            number = self._dictionary.find([ox.NamedNode(term) if isinstance(term, str) else term])[0]
            found = self._ids[term] = UNKNOWN if number is None else number
        return found

    def claimed(self, term: Any) -> int:
        """The id of a term of a claim; one that the world does not know gets one of its own, below -1.

        So what is looked at does not depend on what became known later.
        """
        found = self.id(term)
        if found == UNKNOWN:
            found = self._ids[term] = -2 - len(self._ids)
            self._terms[found] = term
        return found

    def known(self, node: int) -> bool:
        """Whether anything is said of a node, or with it."""
        return bool(self.quads(node, most=1) or self.quads(None, None, node, most=1) or self.quads(None, node, most=1))

    def term(self, number: int) -> Any:
        """The term of an id."""
        if number not in self._terms:
            self._terms |= self._dictionary.terms([number])
        return self._terms[number]

    def terms(self, numbers: Iterable[int]) -> dict[int, Any]:
        """The terms of ids, read at once."""
        wanted = set(numbers)
        missing = wanted - self._terms.keys()
        if missing:
            self._terms |= self._dictionary.terms(missing)
        return {number: self._terms[number] for number in wanted}

    # -- quads --------------------------------------------------------------------------------------------------------

    def quads(
        self, subject: int | None = None, predicate: int | None = None, object: int | None = None, *, most: int = _MOST
    ) -> Rows:
        """The quads of a pattern, of which one term is given at least, in a settled order; the first `most`."""
        if any(number is not None and number < 0 for number in (subject, predicate, object)):
            return ()
        if subject is not None:
            name = "of_subject" if predicate is None else "of_subject_predicate"
        elif predicate is not None:
            name = "of_predicate" if object is None else "of_predicate_object"
        else:
            name = "of_object"
        s, p, o = (UNKNOWN if number is None else number for number in (subject, predicate, object))
        given = (s, p, o)
        key = (name, *given, most)
        if key not in self._known:
            found = self._now(name, given, most + 1) + self._then(given)
            order = _ORDERS[name]
            found.sort(key=lambda row: [row[place] for place in order])
            if len(found) > most == _MOST:
                self.cut.add(name)
            self._known[key] = tuple(found[:most])
            self.read |= dict.fromkeys(self._known[key])
        rows = self._known[key]
        # Of a subject's quads with an object there is no statement of its own.
        return tuple(row for row in rows if row[2] == object) if name == "of_subject" and object is not None else rows

    def _now(self, name: str, given: tuple[int, ...], most: int) -> list[Row]:
        values: dict[str, int | None] = dict(zip(("subject", "predicate", "object"), given, strict=True))
        values |= {"at": self.revision, "shapes": self._shapes, "most": most}
        statement = _SQL[name]
        bound = statement.bind(**{parameter: values[parameter] for parameter in statement.parameters})
        return [tuple(row) for row in self._connection.table(statement, bound).tolist()]

    def _then(self, given: tuple[int, ...]) -> list[Row]:
        """The quads that held then and do not hold now."""
        gone = self._gone
        if not len(gone):
            return []
        chosen = gone[:, 0] != 0
        for column, number in enumerate(given):
            if number != UNKNOWN:
                chosen &= gone[:, column] == number
        return [tuple(row) for row in np.unique(gone[chosen][:, :5], axis=0).tolist()]

    def objects(self, subject: int, predicate: int | str) -> dict[int, Row]:
        """The objects of a subject under a predicate, each with a quad that has it."""
        number = self.id(predicate) if isinstance(predicate, str) else predicate
        found: dict[int, Row] = {}
        for row in self.quads(subject, number):
            found.setdefault(row[2], row)
        return found

    def subjects(self, predicate: int | str, object: int) -> dict[int, Row]:
        """The subjects of an object under a predicate, each with a quad that has it."""
        number = self.id(predicate) if isinstance(predicate, str) else predicate
        found: dict[int, Row] = {}
        for row in self.quads(None, number, object):
            found.setdefault(row[0], row)
        return found

    def cited(self, rows: Iterable[Row]) -> tuple[CitedQuad, ...]:
        """Rows as quads, each once, in their order."""
        given = list(dict.fromkeys(rows))
        terms = self.terms({number for row in given for number in row[:4] if number})
        shown = {number: to_rdflib(term) for number, term in terms.items()}
        shown[DEFAULT_GRAPH_ID] = None
        return tuple(CitedQuad(shown[s], shown[p], shown[o], shown[g], revision) for s, p, o, g, revision in given)
