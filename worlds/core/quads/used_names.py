"""The names that a world uses, by which a misspelt one is corrected."""

from __future__ import annotations

import time
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cached_property

import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary
from worlds.graph.terms import RDF, local_name
from worlds.sql import Statement, statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_MOST = 3000  # names that are compared with
_AT_ONCE = 100  # names read by one statement
_NEAREST = 3
_ALIKE = 0.65  # of spelling, from 0 to 1
_COMPARED = 40  # names that are compared letter by letter
_RDF_TYPE = ox.NamedNode(RDF + "type")
_BELOW = ox.NamedNode("http://www.w3.org/2000/01/rdf-schema#subClassOf")


class TimeBudget:
    """Seconds of this thread's work, from the first question on, for something that may be left unfinished."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    @cached_property
    def _end(self) -> float:
        return time.thread_time() + self._seconds

    @property
    def spent(self) -> bool:
        """Whether they have passed."""
        return self._end < time.thread_time()


class Vocabulary:
    """The predicates and classes of one world, as far as they can be read in a moment."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._state: object = None
        self._unread: list[
            tuple[str, Statement, dict[str, int]]
        ] = []  # kinds, statements that have more names of them, and their parameters
        self._spellings: dict[str, dict[str, str]] = {}  # of which kind: local name, case-folded → IRI
        self._pairs: dict[str, frozenset[str]] = {}  # spelling → its pairs of letters

    def nearest(self, name: str, budget: TimeBudget, *, among: str | None = None) -> list[str]:
        """The IRIs that are spelt most like an IRI, a prefixed name or a bare word, the likeliest first.

        `among` is "predicates" or "classes", None for both.
        """
        with self._connection.lock:
            self._read(budget)
            kinds = self._spellings.values() if among is None else [self._spellings[among]]
            spellings: dict[str, str] = {}
            for found in kinds:
                spellings = found | spellings
            return nearest(name, spellings, self._pairs)

    def _read(self, budget: TimeBudget) -> None:
        """Continue to read the names, within the time budget."""
        state = (*self._connection.rows(_SQL["state"])[0], self._connection.rollbacks)
        if state != self._state:
            rdf_type, below = self._dictionary.find([_RDF_TYPE, _BELOW])
            self._unread = [
                ("predicates", _SQL["predicates_after"], {"after": 0}),
                ("classes", _SQL["classes_after"], {"after": 0, "predicate": rdf_type or 0}),
                ("classes", _SQL["classes_after"], {"after": 0, "predicate": below or 0}),  # may have no instances
            ]
            self._spellings, self._pairs, self._state = {"predicates": {}, "classes": {}}, {}, state
        while self._unread and len(self._pairs) < _MOST and not budget.spent:
            kind, statement, values = self._unread[0]
            rows = self._connection.rows(statement, statement.bind(limit=_AT_ONCE, **values))
            numbers = [number for (number,) in rows]
            terms = self._dictionary.terms(numbers)
            for term in (terms[number] for number in numbers):
                if isinstance(term, ox.NamedNode):
                    spelling = spelled(term.value)
                    self._spellings[kind].setdefault(spelling, term.value)
                    self._pairs[spelling] = _pairs(spelling)
            if len(numbers) < _AT_ONCE:
                self._unread.pop(0)
            else:
                values["after"] = numbers[-1]


def nearest(name: str, spellings: Mapping[str, str], pairs: Mapping[str, frozenset[str]] | None = None) -> list[str]:
    """The IRIs that are spelt most like a name; `spellings` maps to IRIs, `pairs` to a spelling's pairs of letters."""
    sought = spelled(name)
    wanted = _pairs(sought)
    shared = {one: len(wanted & (_pairs(one) if pairs is None else pairs[one])) for one in spellings}
    likely = sorted((spelling for spelling in shared if shared[spelling]), key=shared.__getitem__, reverse=True)
    matches = get_close_matches(sought, likely[:_COMPARED], n=2 * _NEAREST, cutoff=_ALIKE)
    within = [one for one in spellings if len(sought) > 3 and (sought in one or one in sought)]
    ends = [one for one in within if len(one) > 3 and (sought.endswith(one) or one.endswith(sought))]
    close = [*sorted(set(ends) & set(matches), key=lambda one: (len(one), one)), *matches, *sorted(within, key=len)]
    return list(dict.fromkeys(spellings[spelling] for spelling in close if len(spelling) > 2))[:_NEAREST]


def spelled(name: str) -> str:
    """The form of a name for comparison: the last part of an IRI or prefixed name, case-folded."""
    return local_name(name.strip("<>")).casefold()


def _pairs(name: str) -> frozenset[str]:
    return frozenset(name[at : at + 2] for at in range(len(name) - 1))
