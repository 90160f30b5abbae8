"""The dictionary of a world: RDF terms on one side, the ids they are stored under on the other."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TypeAlias
from zlib import crc32

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.errors import IntegrityError, ParseError, WorldsError
from worlds.graph.terms import Term
from worlds.sql import statements
from worlds.sql.connection import Connection, Row, as_text

Ids: TypeAlias = NDArray[np.int64]

IRI, BLANK_NODE, LITERAL, TRIPLE = 1, 2, 3, 4
DEFAULT_GRAPH = ox.DefaultGraph()
DEFAULT_GRAPH_ID = 0
PROFILE = ox.NamedNode("urn:worlds:profile")
"""The predicate that an entity has its profile under, in hits and in filters; no quad has it."""
PROFILE_ID = -1  # and below it -1 - subject, for the profiles themselves
DEEPEST = 100  # triple terms inside one another

_SQL = statements("queries.sql")
_ENTITIES = statements("entities.sql")
_BATCH = 5000  # rows a statement
_CACHE = 200_000  # decoded terms kept, and ids of terms that were looked for
_UNKNOWN = 1000  # IRIs that are remembered as unknown
_LAST_ID = 2**31 - 1
_IMPLIED = {
    "http://www.w3.org/2001/XMLSchema#string",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString",
}
_OF_DOCUMENTS = {ox.BlankNode, ox.Triple}  # kinds of terms that may mean something in their document alone
_DIRECTIONS = {"ltr": ox.BaseDirection.LTR, "rtl": ox.BaseDirection.RTL}


def json_ids(ids: Iterable[int] | Ids) -> str:
    """The ids as a JSON array."""
    return str(ids.tolist() if isinstance(ids, np.ndarray) else list(ids))


def batches(ids: Ids) -> Iterator[str]:
    """The ids as JSON arrays, a statement's worth each."""
    for start in range(0, len(ids), _BATCH):
        yield json_ids(ids[start : start + _BATCH])


class Dictionary:
    """Finds and reads terms. `Interner` adds them."""

    def __init__(self, connection: Connection, *, remembered: int = _CACHE) -> None:
        self._connection = connection
        self._remembered = remembered
        self._terms: dict[int, Term] = {}
        self._ids: dict[Term, int] = {}
        self._unknown: set[Term] = set()  # IRIs that were looked for in vain
        self._version: object = None  # of the file then, as others left it
        self._removals: object = None  # how often compact() had removed terms when `_ids` was filled

    def forget(self) -> None:
        """Drop what is cached: a transaction was rolled back, and its ids may come to mean other terms."""
        self._terms.clear()
        self._ids.clear()
        self._unknown.clear()

    def learn(self, terms: Container[Term]) -> None:
        """These are stored from now on."""
        self._unknown = {term for term in self._unknown if term not in terms}

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
            batch = [_sought(key) for key in keys[start : start + _BATCH]]
            rows = self._connection.rows(_SQL["find_terms"], (json.dumps(batch, ensure_ascii=False),))
            found.update((start + int(position), number) for position, number in rows)
        return found

    def literals(self, text: str, limit: int = 100) -> list[ox.Literal]:
        """The literals with this lexical form, whatever their language or datatype, at most `limit`."""
        rows = self._connection.rows(
            _SQL["literals_of_hash"], _SQL["literals_of_hash"].bind(hash=_hash(text), limit=limit)
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
        """Say that a term is not stored; compact() removes those that no quad, and no history that is kept, has."""
        if unknown <= (self._connection.meta("last_term") or 0):
            raise WorldsError(
                f"term {unknown} is no longer stored: what refers to it was read before its quads were removed, their "
                "history forgotten and the world compacted; read it again (`worlds check` tells whether all is well)",
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
            raise IntegrityError(f"a stored term is damaged: {error}; `worlds check` tells more") from error

    def _decode(self, rows: Sequence[Row], into: dict[int, Term]) -> None:
        datatypes = {row[3] for row in rows if row[3] is not None}
        known = self.terms(datatypes) if datatypes else {}
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
                parts = [int(part) for part in value.split()]
                terms = self.terms(parts)
                into[number] = ox.Triple(*[terms[part] for part in parts])


def stated_datatype(literal: ox.Literal) -> ox.NamedNode | None:
    """The datatype; None where it goes without saying: xsd:string, or a language-tagged string's."""
    if literal.language is not None:
        return None
    datatype = literal.datatype
    return None if datatype.value in _IMPLIED else datatype


def literal_key(literal: ox.Literal, datatype: int | None) -> Row:
    """What identifies a literal: (kind, value, datatype, language, direction)."""
    direction = literal.direction
    return (LITERAL, literal.value, datatype, literal.language, None if direction is None else str(direction))


def triple_key(parts: Sequence[int | None]) -> Row:
    """What identifies a triple term of three term ids."""
    return (TRIPLE, " ".join(map(str, parts)), None, None, None)


def _hash(value: str) -> int:
    return crc32(value.encode()) & 0x7FFFFFFF


def _sought(key: Row) -> list[Any]:
    kind, value, datatype, language, direction = key
    if "\0" in value:
        return [_hash(value), kind, value.encode().hex(), datatype, language, direction, 1]
    return [_hash(value), kind, value, datatype, language, direction, 0]


def _of_document(term: object) -> bool:
    """Whether the term is, or contains, a blank node, and so means something in its document alone."""
    depth, found = 0, False
    while isinstance(term, ox.Triple):
        depth += 1
        if depth > DEEPEST:
            raise ParseError(f"triple terms are nested deeper than {DEEPEST}")
        found = found or isinstance(term.subject, ox.BlankNode)
        term = term.object
    return found or isinstance(term, ox.BlankNode)


def _depth(term: object) -> int:
    depth = 0
    while isinstance(term, ox.Triple):
        depth, term = depth + 1, term.object
    return depth


class Interner:
    """Gives ids to the terms of one write, inside its transaction, adding those that the world doesn't have.

    Terms get a local number at once (`local`), and their ids in batches (`flush`), so that no term costs a round
    trip of its own; `resolve` turns local numbers into ids at the end.
    """

    def __init__(self, connection: Connection, dictionary: Dictionary, *, rename_blank_nodes: bool) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._rename = rename_blank_nodes
        self._last = connection.value(_SQL["last_term"])
        self._all_new = self._last == 0  # nothing to look up in an empty world
        self._before_lookup: Callable[[], None] = lambda: None
        self.numbers: dict[Any, int] = {DEFAULT_GRAPH: 0}
        self.pending: list[Term] = []
        self._ids = array("q", [DEFAULT_GRAPH_ID])
        self._blank_nodes: list[Term] = []  # and the triple terms that have one

    @contextmanager
    def bulk(self) -> Iterator[None]:
        """Many terms are to come: the index of an empty world, which has nothing to look up, can wait."""
        if not self._all_new:
            yield
            return
        with self._connection.without("index", "terms") as make_again:
            self._before_lookup = make_again
            yield

    def local(self, term: Term) -> int:
        """The term's local number."""
        number = self.numbers.get(term)
        if number is None:
            number = self.numbers[term] = len(self._ids) + len(self.pending)
            self.pending.append(term)
            if type(term) in _OF_DOCUMENTS and _of_document(term):
                self._blank_nodes.append(term)
        return number

    def end_document(self) -> None:
        """Forget the blank nodes so far: the next document's labels are other nodes."""
        self.flush()
        for node in self._blank_nodes:
            del self.numbers[node]
        self._blank_nodes.clear()

    def trim(self, most: int) -> None:
        """Forget terms, blank nodes aside, if more than `most` are remembered; they are looked up when they return."""
        if len(self.numbers) > most:
            kept = {term: self.numbers[term] for term in (DEFAULT_GRAPH, *self._blank_nodes)}
            self.numbers.clear()
            self.numbers.update(kept)
            self._before_lookup()
            self._all_new = False

    def resolve(self, local: NDArray[np.int64]) -> Ids:
        """Local numbers to term ids, in an array of the same shape."""
        self.flush()
        return np.frombuffer(self._ids, dtype=np.int64)[local]

    def flush(self) -> None:
        """Give ids to all pending terms."""
        pending = self.pending
        if not pending:
            return
        datatypes = self._add_parts()
        self._dictionary.learn(self.numbers)
        first = len(self._ids)
        self._ids.frombytes(bytes(8 * len(pending)))
        atoms: list[int] = []
        literals: list[int] = []
        triples: list[int] = []
        for position, term in enumerate(pending):
            kind = type(term)
            (literals if kind is ox.Literal else triples if kind is ox.Triple else atoms).append(position)
        self._store(first, atoms, [self._atom_key(pending[position]) for position in atoms])
        keys = [self._literal_key(pending[position], datatypes.get(position)) for position in literals]  # type: ignore[arg-type]  # literals
        self._store(first, literals, keys)
        depths = {position: _depth(pending[position]) for position in triples}
        for depth in sorted(set(depths.values())):  # parts before wholes
            level = [position for position in triples if depths[position] == depth]
            self._store(first, level, [self._triple_key(pending[position]) for position in level])  # type: ignore[arg-type]  # triples
        self.pending = []

    def _add_parts(self) -> dict[int, ox.NamedNode]:
        """Give local numbers to the datatypes of literals and the parts of triple terms; the datatypes by position."""
        datatypes: dict[int, ox.NamedNode] = {}
        position = 0
        while position < len(self.pending):  # the list grows while it is read
            term = self.pending[position]
            position += 1
            if type(term) is ox.Literal:
                datatype = stated_datatype(term)
                if datatype is not None:
                    datatypes[position - 1] = datatype
                    self.local(datatype)
            elif type(term) is ox.Triple:
                for part in (term.subject, term.predicate, term.object):
                    self.local(part)
        return datatypes

    def _id(self, term: Term) -> int:
        return self._ids[self.numbers[term]]

    def _atom_key(self, term: Any) -> Row:
        if type(term) is ox.NamedNode:
            return (IRI, term.value, None, None, None)
        return (BLANK_NODE, None if self._rename else term.value, None, None, None)

    def _literal_key(self, literal: ox.Literal, datatype: ox.NamedNode | None) -> Row:
        return literal_key(literal, None if datatype is None else self._id(datatype))

    def _triple_key(self, triple: ox.Triple) -> Row:
        return triple_key([self._id(part) for part in (triple.subject, triple.predicate, triple.object)])

    def _store(self, first: int, positions: list[int], keys: list[Row]) -> None:
        known: dict[int, int] = {}
        if not self._all_new:
            sought = [index for index, key in enumerate(keys) if key[1] is not None]
            found = self._dictionary.lookup([keys[index] for index in sought])
            known = {sought[index]: number for index, number in found.items()}
        ids = self._ids
        last = self._last
        rows: list[Row] = []
        for index, position in enumerate(positions):
            number = known.get(index)
            if number is None:
                number = last = last + 1
                kind, value, datatype, language, direction = keys[index]
                if value is None:
                    value = f"w{number}"  # unique, but for labels that a caller brought along
                code = value.encode()
                stored = code if "\0" in value else value
                rows.append((number, kind, stored, datatype, language, direction, crc32(code) & 0x7FFFFFFF))
            ids[first + position] = number
        if last > _LAST_ID:
            raise IntegrityError(f"a world holds at most {_LAST_ID:,} terms")
        self._last = last
        if self._rename and not self._all_new:
            self._keep_apart(rows)
        self._connection.insert("INSERT INTO terms (id, kind, value, datatype, language, direction, hash)", rows)

    def _keep_apart(self, rows: list[Row]) -> None:
        """Give those of the new blank nodes another label whose label is taken already."""
        nodes = [index for index, row in enumerate(rows) if row[1] == BLANK_NODE]
        while nodes:
            taken = self._dictionary.lookup([(BLANK_NODE, rows[index][2], None, None, None) for index in nodes])
            nodes = [nodes[position] for position in taken]
            for index in nodes:
                label = rows[index][2] + "x"
                rows[index] = (rows[index][0], BLANK_NODE, label, None, None, None, _hash(label))
