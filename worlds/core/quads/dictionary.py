"""The dictionary of a world: RDF terms on one side, the ids they are stored under on the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NoReturn, TypeAlias
from zlib import crc32

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.errors import IntegrityError, WorldsError
from worlds.graph.terms import Term
from worlds.sql import statements
from worlds.sql.bound_values import as_text
from worlds.sql.connection import Connection, Row

Ids: TypeAlias = NDArray[np.int64]

IRI, BLANK_NODE, LITERAL, TRIPLE = 1, 2, 3, 4
DEFAULT_GRAPH = ox.DefaultGraph()
DEFAULT_GRAPH_ID = 0
PROFILE = ox.NamedNode("urn:worlds:profile")
"""The predicate that an entity has its profile under, in hits and in filters; no quad has it."""
PROFILE_ID = -1  # and below it -1 - subject, for the profiles themselves

_SQL = statements("queries.sql")
_ENTITIES = statements("entities.sql")
_BATCH = 5000  # rows a statement
_CACHE = 200_000  # decoded terms kept, and ids of terms that were looked for
_UNKNOWN = 1000  # IRIs that are remembered as unknown
_IMPLIED = {
    "http://www.w3.org/2001/XMLSchema#string",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString",
}
_DIRECTIONS = {"ltr": ox.BaseDirection.LTR, "rtl": ox.BaseDirection.RTL}


def json_ids(ids: Iterable[int] | Ids) -> str:
    """The ids as a JSON array."""
    return str(ids.tolist() if isinstance(ids, np.ndarray) else list(ids))


def batches(ids: Ids) -> Iterator[str]:
    """The ids as JSON arrays, a statement's worth each."""
    for start in range(0, len(ids), _BATCH):
        yield json_ids(ids[start : start + _BATCH])


class Dictionary:
    """Finds and reads terms. `worlds.core.quads.interner` adds them."""

    def __init__(self, connection: Connection, *, remembered: int = _CACHE) -> None:
        self._connection = connection
        self._remembered = remembered
        self._terms: dict[int, Term] = {}
        self._ids: dict[Term, int] = {}
        self._unknown: set[ox.NamedNode] = set()  # IRIs that were looked for in vain
        self._version: object = None  # of the file then, as others left it
        self.rollbacks = 0
        self._removals: object = None  # how often compact() had removed terms when `_ids` was filled

    def forget(self) -> None:
        """Drop the cache: after a rollback, ids may be given to other terms."""
        self.rollbacks += 1
        self._terms.clear()
        self._ids.clear()
        self._unknown.clear()

    def learn(self, iris: Iterable[str]) -> None:
        """These are stored from now on."""
        if self._unknown:
            known = set(iris)
            self._unknown = {term for term in self._unknown if term.value not in known}

    def find(self, terms: Sequence[Term]) -> list[int | None]:
        """The id of each term, None for one that the world doesn't know."""
        if not terms:
            return []
        removals = self._connection.meta("term_removals")
        if removals != self._removals:  # a term that compact() removed may be back, under another id
            self._ids.clear()
            self._removals = removals
        if self._version != self._connection.version or len(self._unknown) > _UNKNOWN:
            self._unknown.clear()
            self._version = self._connection.version
        missing = [term for term in terms if term not in self._ids and term not in self._unknown]
        if missing:
            if len(self._ids) > self._remembered:
                self._ids.clear()
                missing = list(terms)
            keys = [self._key(term) for term in missing]
            known = [(term, key) for term, key in zip(missing, keys, strict=True) if key is not None]
            for position, number in self.lookup([key for _, key in known]).items():
                self._ids[known[position][0]] = number
            # Others may come to be stored under a label that nobody gave, or with a datatype that is new.
            self._unknown |= {term for term in missing if type(term) is ox.NamedNode and term not in self._ids}
        return [self._ids.get(term) for term in terms]

    def _key(self, term: Term) -> Row | None:
        """The row to look for; None where a part of the term is unknown, and so the term."""
        if isinstance(term, ox.Literal):
            stated = stated_datatype(term)
            datatype = None if stated is None else self.find([stated])[0]
            unknown = stated is not None and datatype is None
            return None if unknown else literal_key(term, datatype)
        if isinstance(term, ox.Triple):
            parts = self.find([term.subject, term.predicate, term.object])
            return None if None in parts else triple_key(parts)
        return (IRI if isinstance(term, ox.NamedNode) else BLANK_NODE, term.value, None, None, None)

    def lookup(self, keys: Sequence[Row]) -> dict[int, int]:
        """Position in `keys` → term id, for the keys that are there.

        A key is (kind, value, datatype, language, direction).
        """
        found: dict[int, int] = {}
        for start in range(0, len(keys), _BATCH):
            batch = keys[start : start + _BATCH]
            rows = self._connection.rows(_SQL["find_terms"], (str(list({hash_of(key[1]) for key in batch})),))
            there = {tuple(stored): number for number, *stored in rows}
            for place, key in enumerate(batch if there else (), start):
                stored = key if "\0" not in key[1] else (key[0], key[1].encode(), *key[2:])
                if stored in there:
                    found[place] = there[stored]
        return found

    def literals(self, text: str, limit: int = 100) -> list[ox.Literal]:
        """The literals with this lexical form, whatever their language or datatype, at most `limit`."""
        rows = self._connection.rows(
            _SQL["literals_of_hash"], _SQL["literals_of_hash"].bind(hash=hash_of(text), limit=limit)
        )
        return [
            term for term in self.terms(number for (number,) in rows).values() if getattr(term, "value", None) == text
        ]

    def terms(self, ids: Iterable[int]) -> dict[int, Any]:
        """Id → term (or the default graph, for 0), for all `ids`; IntegrityError where one is not there, or a
        WorldsError of the kind "forgotten" where compact() may have removed it.

        Ids below 0 are the predicate `PROFILE` and the texts of profiles.
        """
        wanted = set(ids)
        wanted.discard(DEFAULT_GRAPH_ID)
        profiles = [number for number in wanted if number < 0]
        wanted.difference_update(profiles)
        cache = self._terms
        # Another thread's rollback may empty the cache at any moment.
        found: dict[int, Any] = {number: term for number in wanted if (term := cache.get(number)) is not None}
        missing = wanted - found.keys()
        found[DEFAULT_GRAPH_ID] = DEFAULT_GRAPH
        if missing:
            ordered = sorted(missing)
            fresh: dict[int, Term] = {}  # apart from the cache, which decoding datatypes may empty
            with self._connection.snapshot():  # for which a revision's copy that was given back is made again
                for start in range(0, len(ordered), _BATCH):
                    ids_json = json_ids(ordered[start : start + _BATCH])
                    self.decode(self._connection.rows(_SQL["terms_by_id"], (ids_json,)), fresh)
            if len(fresh) < len(missing):
                unknown = min(missing - fresh.keys())
                self._refuse(unknown)
            if len(cache) + len(fresh) > self._remembered:
                cache.clear()
            cache.update(fresh)
            found |= fresh
        if profiles:
            found |= self._profiles(profiles)
        return found

    def _refuse(self, unknown: int) -> NoReturn:
        """Raise an error for a term that compact() removed, since no quad and no kept history has it."""
        if unknown <= (self._connection.meta("last_term") or 0):
            raise WorldsError(
                f"term {unknown} is no longer stored: its quads were removed, their history was forgotten and the "
                "world compacted after the reference was read; read it again (`worlds check` verifies the file)",
                kind="forgotten",
            )
        raise IntegrityError(f"term {unknown} is referred to, but is not stored")

    def _profiles(self, ids: Sequence[int]) -> dict[int, Term]:
        found: dict[int, Term] = {PROFILE_ID: PROFILE}
        for start in range(0, len(ids), _BATCH):
            subjects = json_ids([-1 - number for number in ids[start : start + _BATCH]])
            rows = self._connection.rows(_ENTITIES["profiles"], (subjects,))
            found.update((-1 - subject, ox.Literal(text)) for subject, text, _ in rows)
        if unknown := set(ids) - found.keys():
            raise IntegrityError(f"entity {-1 - min(unknown)} has a profile that is not stored")
        return found

    def decode(self, rows: Sequence[Row], into: dict[int, Term]) -> None:
        """Turn rows (id, kind, value, datatype, language, direction) into terms; IntegrityError for damaged ones."""
        try:
            self._decode(rows, into)
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise IntegrityError(f"a stored term is damaged: {error}; `worlds check` shows more") from error

    def _decode(self, rows: Sequence[Row], into: dict[int, Term]) -> None:
        datatypes = {row[3] for row in rows if row[3] is not None}
        known = self.terms(datatypes) if datatypes else {}
        triples: dict[int, list[int]] = {}
        for number, kind, stored, datatype, language, direction in rows:
            value = as_text(stored)
            if kind == IRI:
                into[number] = ox.NamedNode(value)
            elif kind == LITERAL:
                if datatype is not None:
                    into[number] = ox.Literal(value, datatype=known[datatype])
                elif direction is not None:
                    into[number] = ox.Literal(value, language=language, direction=_DIRECTIONS[direction])
                else:
                    into[number] = ox.Literal(value, language=language)
            elif kind == BLANK_NODE:
                into[number] = ox.BlankNode(value)
            else:
                triples[number] = [int(part) for part in value.split()]
        if triples:  # after all others, which may be their parts
            parts = {part for one in triples.values() for part in one}
            terms = self.terms(parts - into.keys())
            terms |= {part: into[part] for part in parts & into.keys()}
            for number, one in triples.items():
                into[number] = ox.Triple(*[terms[part] for part in one])


def stated_datatype(literal: ox.Literal) -> ox.NamedNode | None:
    """The datatype to write; None for the implied ones: xsd:string, or a language-tagged string's."""
    if literal.language is not None:
        return None
    datatype = literal.datatype
    return None if datatype.value in _IMPLIED else datatype


def literal_key(literal: ox.Literal, datatype: int | None) -> Row:
    """The columns that identify a literal: (kind, value, datatype, language, direction)."""
    direction = literal.direction
    return (LITERAL, literal.value, datatype, literal.language, None if direction is None else str(direction))


def triple_key(parts: Sequence[int | None]) -> Row:
    """The columns that identify a triple term of three term ids."""
    return (TRIPLE, " ".join(map(str, parts)), None, None, None)


def hash_of(value: str) -> int:
    """The hash of a value, which the index of the terms has in its place."""
    return crc32(value.encode()) & 0x7FFFFFFF
