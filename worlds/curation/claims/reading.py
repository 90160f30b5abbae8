"""What a claim says: triples of terms, from terms, prefixed names, or the names of entities and predicates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox

from worlds.curation.claims.predicates import PredicateNames
from worlds.entities.resolving import Resolver
from worlds.graph.terms import format_term
from worlds.quads.dictionary import Dictionary
from worlds.sql import statements
from worlds.sql.connection import Connection
from worlds.texts.chunks import ChunkStore

_SQL = statements("queries.sql")
_LOOKED_AT = 1000  # objects of a predicate, from either end


@dataclass
class Reading:
    """A claim as it was read: its triples, what names were read as, and what could not be read."""

    words: str
    triples: list[tuple[Any, Any, Any]] = field(default_factory=list)
    readings: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


class ClaimReader:
    """Reads claims about one world."""

    def __init__(
        self,
        connection: Connection,
        dictionary: Dictionary,
        chunks: ChunkStore,
        resolver: Resolver,
        to_pattern: Callable[..., list[Any]],
    ) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._resolver = resolver
        self._to_pattern = to_pattern
        self._names = PredicateNames(connection, dictionary, chunks)

    def terms(self, triple: object) -> tuple[Any, Any, Any]:
        """A triple of terms or prefixed names; TypeError or ValueError if it is none."""
        if isinstance(triple, str) or not isinstance(triple, (tuple, list, ox.Triple, ox.Quad)):
            raise TypeError(f"a claim is a triple, or words, not {triple!r}")
        parts = list(triple)[:3]
        if len(list(triple)) not in (3, 4) or None in parts:
            raise ValueError(f"a claim has a subject, a predicate and an object, not {triple!r}")
        subject, predicate, value = self._to_pattern(*parts)
        if not isinstance(predicate, ox.NamedNode) or isinstance(subject, ox.Literal):
            raise ValueError(f"no triple has these parts: {triple!r}")
        return subject, predicate, value

    def read(self, words: str, given: Iterable[object]) -> Reading:
        """The triples that were given for a claim in words, "" for a claim that is a triple."""
        found = Reading(words)
        for item in given:
            if isinstance(item, str) or not isinstance(item, (tuple, list, ox.Triple, ox.Quad)):
                raise TypeError(f"a claim is a triple, or words with extract= that gives triples, not {item!r}")
            parts = list(item)
            if len(parts) not in (3, 4) or None in parts[:3]:
                raise ValueError(f"a claim has a subject, a predicate and an object, not {item!r}")
            predicate = self._predicate(parts[1], found)
            value = predicate is not None and self._has_texts(predicate)
            read = [self._entity(parts[0], found), predicate, self._entity(parts[2], found, value=value)]
            if None not in read:
                found.triples.append(self.terms(read))
            if not words:
                found.words = " ".join(map(str, parts[:3]) if None in read else map(format_term, found.triples[-1]))
        return found

    def _entity(self, part: object, found: Reading, *, value: bool = False) -> Any:
        """The term of a subject or an object; None for a name that means nobody here."""
        try:
            return self._to_pattern(part)[0]
        except ValueError:
            if type(part) is not str or ":" in part:
                raise
        resolved = self._resolver.resolve(part, context=found.words or None, types=None, graphs=None, limit=2)
        best = resolved.best
        if best is not None:
            found.readings.append(f"{part!r} is read as {best.iri} ({best.confidence:.2f})")
            return best.iri
        if value and resolved.outcome == "no match":
            found.readings.append(f"{part!r} is read as a text")
            return ox.Literal(part)
        near = ", ".join(f"{one.label or one.matched} <{one.iri}>" for one in resolved.candidates)
        found.unread.append(
            f"{part!r} is the name of {'several entities' if resolved.outcome == 'ambiguous' else 'no entity'}"
            + (f"; near it: {near}" if near else "")
        )
        return None

    def _has_texts(self, predicate: ox.NamedNode) -> bool:
        """Whether a text can be meant under a predicate: one that has entities alone takes no name for a text."""
        (number,) = self._dictionary.find([predicate])
        statement = _SQL["has_texts"]
        return number is None or bool(
            self._connection.value(statement, statement.bind(predicate=number, most=_LOOKED_AT))
        )

    def _predicate(self, part: object, found: Reading) -> Any:
        try:
            return self._to_pattern(part)[0]
        except ValueError:
            if type(part) is not str or ":" in part:
                raise
        with self._connection.snapshot():
            named = self._names.of(part)
        if len(named) == 1:
            found.readings.append(f"{part!r} is read as {named[0].value}")
            return named[0]
        found.unread.append(f"{part!r} is the name of {'several predicates' if named else 'no predicate'}")
        return None
