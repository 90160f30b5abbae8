"""The predicates of a world by their names: labels, and the words of their IRIs."""

from __future__ import annotations

import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary
from worlds.core.texts.chunks import ChunkStore
from worlds.core.texts.entity_facts import Facts
from worlds.core.texts.profiles import words_of
from worlds.extras.entities.names import normal
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_PREDICATES = 3000  # whose names are compared
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_DECLARING = {  # predicate → which ends of its quads are properties
    _RDFS + "domain": (0,),
    _RDFS + "range": (0,),
    _RDFS + "subPropertyOf": (0, 2),
    _OWL + "inverseOf": (0, 2),
    _OWL + "equivalentProperty": (0, 2),
}


class PredicateNames:
    """The predicates that quads use or vocabularies declare, by their names; read again when the world changes."""

    def __init__(self, connection: Connection, dictionary: Dictionary, chunks: ChunkStore) -> None:
        self._connection = connection
        self._chunks = chunks
        self._dictionary = dictionary
        self._facts = Facts(connection, dictionary)

    def of(self, name: str) -> list[ox.NamedNode]:
        """The predicates that a name is of, in any case and without punctuation: "hasManager" is "has manager", too."""
        known = self._connection.remembered("predicates by name", self._named)
        return list(
            dict.fromkeys(one for form in (normal(name), normal(words_of(name))) for one in known.get(form, ()))
        )

    def _named(self) -> dict[str, list[ox.NamedNode]]:
        numbers = sorted(self._properties())
        terms = self._dictionary.terms(numbers)
        labels = self._facts.labels(self._chunks.policy, numbers)
        found: dict[str, list[ox.NamedNode]] = {}
        for number in numbers:
            term = terms[number]
            if isinstance(term, ox.NamedNode):
                told = [words_of(term.value), *([labels[number].whole] if number in labels else [])]
                for name in dict.fromkeys(map(normal, told)):
                    found.setdefault(name, []).append(term)
        return found

    def _properties(self) -> set[int]:
        """The predicates that quads use or vocabularies declare."""
        statement = _SQL["predicates_after"]
        found = {n for (n,) in self._connection.rows(statement, statement.bind(after=0, limit=_PREDICATES))}
        statement = _SQL["quads_of_predicate"]
        for iri, ends in _DECLARING.items():
            for predicate in self._facts.numbers([iri]):
                rows = self._connection.table(statement, statement.bind(predicate=predicate, graph=-1))
                found.update(rows[:, list(ends)].ravel().tolist())
        return found
