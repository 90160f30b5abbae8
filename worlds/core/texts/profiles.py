"""Profiles: what is said of an entity, put into words, so that a search finds it by its neighbours' names.

A profile is made of the entity's label and types, and of the triples around it: `Metropolis (film). directed by: Fritz
Lang; starring: Brigitte Helm`. Triples that point to the entity stand as `directed by of: Metropolis`. It is cut into
passages at once, each of which begins with the label.

A statement is one quad between two entities in words, by itself: `Ann works for Acme`. Where profiles and statements
are stored and cut, `owner` is the entity's id, or `STATEMENT` plus the quad's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.delta import Delta
from worlds.core.quads.dictionary import Dictionary, Ids, json_ids
from worlds.core.quads.rows import NO_QUADS, find_quads
from worlds.core.texts.entity_facts import Facts, QuadRow, Text, clean
from worlds.core.texts.policy import TextPolicy
from worlds.sql import STATEMENT, statements
from worlds.sql.bound_values import integers
from worlds.sql.connection import Connection

_SQL = statements("entities.sql")
_BATCH = 5000
_LONGEST_VALUE = 200  # characters of a literal that is put into words, and of a label
_PASSAGE = 160  # characters of a passage beside the label: short ones find best
_MOST_TYPES = 5
_SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"  # says that two names are one thing's, as every merge does

_camel = re.compile(r"(?<=[a-z0-9])(?=[A-Z])").sub


@dataclass(frozen=True)
class ProfileSentence:
    """A sentence of a profile, the quads that say it, and the entities that it names."""

    words: str  # of the predicate
    value: str
    quads: tuple[QuadRow, ...]
    named: tuple[int, ...]


@dataclass(frozen=True)
class Profile:
    """The description of one entity, in passages; `graphs` are ids, ascending, of all quads that it was made from."""

    passages: tuple[tuple[str, tuple[ProfileSentence, ...]], ...]
    graphs: tuple[int, ...]

    @property
    def text(self) -> str:
        """The whole of it."""
        return "\n".join(passage for passage, _ in self.passages)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where the passages begin and end in the text, in characters."""
        spans, at = [], 0
        for passage, _ in self.passages:
            spans.append((at, at + len(passage)))
            at += len(passage) + 1
        return spans


_Number = TypeVar("_Number", int, Ids)


def term_of(owner: _Number) -> _Number:
    """The term id of the chunks of a profile or a statement; its own inverse."""
    return -1 - owner


def words_of(iri: str) -> str:
    """The words of an IRI's last part: `http://example.org/p#directedBy` → `directed by`."""
    parts = [part for part in re.split(r"[/#:]", iri) if part]
    last = unquote(parts[-1]) if parts else iri
    spaced = _camel(" ", last)
    return clean((spaced.lower() if spaced != last else last).replace("_", " ")) or iri


class Profiles:
    """Composes the profiles of one world's entities from its quads."""

    def __init__(self, connection: Connection, dictionary: Dictionary) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self.facts = Facts(connection, dictionary)

    # -- which ------------------------------------------------------------------------------------------------------

    def everyone(self, policy: TextPolicy) -> Ids:
        """All owners that have or may have a profile or a statement, ascending."""
        found = [self.stored()]
        if policy.profiles:
            found.append(self._connection.column(_SQL["entities"]))
        if policy.statements:
            found.append(STATEMENT + self._connection.column(_SQL["quads"]))
        return np.unique(np.concatenate(found))

    def stored(self) -> Ids:
        """The owners that have a profile or a statement."""
        return self._connection.column(_SQL["profiled"])

    def concerned(self, policy: TextPolicy, delta: Delta) -> Ids:
        """The owners of profiles and statements that may say something else after this delta."""
        quads = np.concatenate([delta.added, delta.removed])
        quads = quads[quads[:, 0] > 0]
        found = [quads[:, 0], quads[:, 2]] if policy.profiles else []
        if policy.statements:
            added = [number for _, number, _ in find_quads(self._connection, delta.added)]
            found += [STATEMENT + delta.touched, STATEMENT + np.array(added, dtype=np.int64)]
        naming = np.unique(quads[np.isin(quads[:, 1], self.facts.numbers(policy.predicates("label"))), 0])
        for start in range(0, len(naming), _BATCH):
            ids = json_ids(naming[start : start + _BATCH])
            for quad_ids, *ends in self._connection.rows(_SQL["neighbours"], (ids,)):
                found += map(integers, ends) if policy.profiles else ()
                found += (STATEMENT + integers(quad_ids),) if policy.statements else ()
        return np.unique(np.concatenate(found))

    # -- what they say ------------------------------------------------------------------------------------------------

    def compose(self, policy: TextPolicy, owners: Ids) -> Iterator[tuple[int, Profile]]:
        """The profiles and statements of owners, composed from their quads."""
        for batch in _batches(owners[owners < STATEMENT]):
            yield from _Composer(self, policy, batch).profiles()
        for batch in _batches(owners[owners >= STATEMENT] - STATEMENT):
            for number, text, quads in _Statements(self, policy, batch).said():
                graphs = tuple(sorted({row[3] for row in quads}))
                yield STATEMENT + number, Profile(((text, ()),), graphs)

    def cited(self, policy: TextPolicy, owner: int, start: int) -> list[QuadRow]:
        """The quads that the passage at character `start` of a profile, or a statement, was made from."""
        if owner >= STATEMENT:
            said = _Statements(self, policy, np.array([owner - STATEMENT], dtype=np.int64)).said()
            return [row for _, _, quads in said for row in quads]
        composer = _Composer(self, policy, np.array([owner], dtype=np.int64))
        for _, profile in composer.profiles():
            for (begin, end), (_, facts) in zip(profile.spans, profile.passages, strict=True):
                if begin <= start < end:
                    return composer.quads(owner, facts)
        return []

    def pointed_to(self, ids: list[int], rdf_type: int, most: int) -> list[int]:
        """The entities that at most `most` quads point to, rdf:type aside."""
        statement = _SQL["entities_pointed_to"]
        values = statement.bind(ids_json=json_ids(ids), rdf_type=rdf_type, most=most)
        found: list[int] = self._connection.column(statement, values).tolist()
        return found

    def between_entities(self, ids: Ids, rdf_type: int) -> Ids:
        """The quads, given by id, whose object is an entity, rdf:type aside; int64 [n, 5], the id first."""
        statement = _SQL["quads_between_entities"]
        return self._connection.table(statement, statement.bind(ids_json=json_ids(ids), rdf_type=rdf_type))

    def terms(self, ids: Iterable[int]) -> dict[int, Any]:
        """The terms of ids."""
        return self._dictionary.terms(ids)


def _batches(ids: Ids) -> Iterator[Ids]:
    for start in range(0, len(ids), _BATCH):
        yield ids[start : start + _BATCH]


class _Naming:
    """Names entities and predicates by their labels, or by the words of their IRIs."""

    _terms: dict[int, Any]
    _labels: dict[int, Text]

    def __init__(self, source: Profiles, policy: TextPolicy) -> None:
        self._source = source
        self._policy = policy
        self._rdf_type = source.facts.rdf_type

    def _read(self, rows: Ids) -> None:
        """Read the terms of quads, and the labels of their entities."""
        named = np.unique(rows).tolist()
        self._terms = self._source.terms(named)
        self._labels = self._source.facts.labels(
            self._policy, (n for n in named if not isinstance(self._terms[n], ox.Literal))
        )

    def _label_quads(self, number: int) -> list[QuadRow]:
        return self._labels[number].quads if number in self._labels else []

    def _name(self, number: int) -> str | None:
        """The name of an entity; None where it has none."""
        term = self._terms.get(number)
        if term is None and number not in self._labels:  # none of its triples is put into words
            term = self._source.terms([number])[number]
            self._labels.update(self._source.facts.labels(self._policy, [number]))
        if number in self._labels:
            return self._labels[number].whole[:_LONGEST_VALUE].rstrip()
        return words_of(term.value) if isinstance(term, ox.NamedNode) else None


class _Statements(_Naming):
    """Puts quads between entities, given by their ids, into words."""

    def __init__(self, source: Profiles, policy: TextPolicy, ids: Ids) -> None:
        super().__init__(source, policy)
        self._rows = source.between_entities(ids, self._rdf_type)
        every = isinstance(policy.statements, bool)
        keep = ~np.isin(self._rows[:, 2], source.facts.numbers([*policy.exclude, *([_SAME_AS] if every else [])]))
        if not isinstance(policy.statements, bool):
            keep &= np.isin(self._rows[:, 2], source.facts.numbers(policy.statements))
        self._rows = self._rows[keep] if policy.statements else self._rows[:0]
        self._read(self._rows[:, 1:4])

    def said(self) -> Iterator[tuple[int, str, list[QuadRow]]]:
        """(quad id, its statement as text, its sources: the quad itself, and the labels of its parts)."""
        for number, *row in self._rows.tolist():
            names = [self._name(part) for part in row[:3]]
            if None not in names:
                quads = dict.fromkeys([tuple(row), *(quad for part in row[:3] for quad in self._label_quads(part))])
                yield number, " ".join(map(str, names)), list(quads)


class _Composer(_Naming):
    """Puts a batch of entities into words."""

    def __init__(self, source: Profiles, policy: TextPolicy, subjects: Ids) -> None:
        super().__init__(source, policy)
        own = source.facts.quads_by("quads_of_entities", subjects.tolist())
        if not isinstance(policy.profiles, bool):
            classes = source.facts.numbers(policy.profiles)
            typed = own[(own[:, 1] == self._rdf_type) & np.isin(own[:, 2], classes), 0]
            own = own[np.isin(own[:, 0], typed)]
        if not policy.profiles:
            own = own[:0]
        self._entities = np.unique(own[:, 0]).tolist()
        incoming = NO_QUADS
        if self._entities and policy.profile_values:
            pointed = source.pointed_to(self._entities, self._rdf_type, policy.profile_values)
            incoming = source.facts.quads_by("quads_to_entities", pointed, rdf_type=self._rdf_type)
        own, incoming = self._wanted(own), self._wanted(incoming)
        self._read(np.concatenate([own[:, :3], incoming[:, :3]]))
        self._own, self._incoming = _grouped(own, 0), _grouped(incoming, 2)

    def _wanted(self, rows: Ids) -> Ids:
        """The quads that are put into words."""
        policy, source = self._policy, self._source
        keep = ~np.isin(rows[:, 1], source.facts.numbers(policy.exclude))
        if policy.profile_predicates is not None:
            always = [self._rdf_type] if self._rdf_type else []
            keep &= np.isin(rows[:, 1], source.facts.numbers(policy.profile_predicates) + always)
        return rows[keep]

    def profiles(self) -> Iterator[tuple[int, Profile]]:
        """The entities that have a profile, with the text of the profile."""
        for entity in self._entities:
            label = self._name(entity)
            if label is None:
                continue
            types, facts = self._facts(entity, label)
            head = f"{label} ({', '.join(fact.value for fact in types[:_MOST_TYPES])}). " if types else f"{label}. "
            passages = _passages(head, facts, tuple(types[:_MOST_TYPES]))
            quads = [row for _, part in passages for row in self.quads(entity, part)]
            yield entity, Profile(tuple(passages), tuple(sorted({row[3] for row in quads})))

    def quads(self, entity: int, facts: Iterable[ProfileSentence]) -> list[QuadRow]:
        """The quads that facts about an entity are made from."""
        found = dict.fromkeys(self._label_quads(entity))
        for fact in facts:
            found.update(dict.fromkeys(fact.quads))
            for number in fact.named:
                found.update(dict.fromkeys(self._label_quads(number)))
        return list(found)

    def _value(self, number: int) -> str | None:
        """An object in words; None for what is left out."""
        term = self._terms[number]
        if isinstance(term, ox.Literal):
            return clean(term.value) or None if len(term.value) <= _LONGEST_VALUE else None
        return self._name(number)

    def _facts(self, entity: int, label: str) -> tuple[list[ProfileSentence], list[ProfileSentence]]:
        """The entity's types, and all else, in the order that they are said."""
        types: dict[tuple[str, str], list[tuple[QuadRow, int]]] = {}
        said: tuple[dict[tuple[str, str], list[tuple[QuadRow, int]]], ...] = ({}, {})
        for row in self._own.get(entity, ()):
            value = self._value(row[2])
            if value is None:
                continue
            if row[1] == self._rdf_type:
                types.setdefault(("", value), []).append((row, row[2]))
            elif (entity not in self._labels) or row not in self._labels[entity].quads:
                said[0].setdefault((self._predicate(row[1]), value), []).append((row, row[2]))
        for row in self._incoming.get(entity, ()):
            value = self._name(row[0])
            if value is not None:
                said[1].setdefault((f"{self._predicate(row[1])} of", value), []).append((row, row[0]))
        own, others = _ordered(said[0]), _ordered(said[1])
        return _ordered(types), own + others

    def _predicate(self, number: int) -> str:
        return self._name(number) or ""


def _grouped(rows: Ids, column: int) -> Mapping[int, list[QuadRow]]:
    found: dict[int, list[QuadRow]] = {}
    for row in map(tuple, rows.tolist()):
        found.setdefault(row[column], []).append(row)
    return found


def _ordered(said: Mapping[tuple[str, str], list[tuple[QuadRow, int]]]) -> list[ProfileSentence]:
    facts = []
    for (words, value), rows in sorted(said.items()):
        named = {number for row, other in rows for number in ((row[1], other) if words else (other,))}
        facts.append(ProfileSentence(words, value, tuple(sorted(row for row, _ in rows)), tuple(sorted(named))))
    return facts


def _passages(
    head: str, facts: list[ProfileSentence], types: tuple[ProfileSentence, ...]
) -> list[tuple[str, tuple[ProfileSentence, ...]]]:
    """Facts as sentences of bounded length, each beginning with the head."""
    found: list[tuple[str, tuple[ProfileSentence, ...]]] = []
    text, part, words = "", list(types), None
    for fact in facts:
        more = f", {fact.value}" if fact.words == words else f"{'; ' if text else ''}{fact.words}: {fact.value}"
        if text and len(text) + len(more) > _PASSAGE:
            found.append((head + text, tuple(part)))
            text, part, more = "", list(types), f"{fact.words}: {fact.value}"
        text += more
        words = fact.words
        part.append(fact)
    return [*found, ((head + text).rstrip(), tuple(part))]
