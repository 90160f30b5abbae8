"""What is found again in a memory: by words and meaning, by its age, by what it is about."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyoxigraph as ox
from rdflib import Literal

from worlds.entities.context import Context
from worlds.entities.neighbours import CitedQuad
from worlds.entities.passages import ContextFact, tokens
from worlds.errors import ArgumentError
from worlds.graph.terms import to_oxigraph, to_python, to_rdflib
from worlds.memory.names import (
    ABOUT,
    CITES,
    CLASSES,
    CREATED,
    EXPIRES,
    KINDS,
    ROLE,
    SESSION,
    TEXT,
    TYPE,
    key_of,
    scope_of,
    session_iri,
    session_of,
)
from worlds.memory.records import Keep, Kind, Recalled, Remembered
from worlds.quads.dictionary import json_ids
from worlds.quads.namespaces import listed
from worlds.quads.rows import find_quads
from worlds.search.hits import Hit
from worlds.sql import statements
from worlds.validity.spans import REIFIES

_QUERIES = statements("queries.sql")
_told_because = re.compile(r"(?:; source|(?<=\()source): [0-9a-f]{32}|\(source: [0-9a-f]{32}\)")
_HITS = 10_000  # that are looked at
_MOST = 1000  # memories that are recalled or listed
_OWN = {one.value for one in (ABOUT, CITES, CREATED, EXPIRES, ROLE, SESSION, TEXT, REIFIES)}
_KINDS: dict[str, Kind] = {iri.value: kind for kind, iri in CLASSES.items()}  # type: ignore[misc]  # the same texts


class Recalling:
    """The reading of one scope's memory."""

    keep: Keep
    _name: ox.NamedNode
    _asked: Any

    def _only(self, as_of: object = None) -> Any:
        scope = self._asked.only(graphs=self._name)
        return scope if as_of is None else scope.as_of(as_of)

    @property
    def world(self) -> Any:
        """The scope as a `World`: what is written there without a graph goes into the memory's."""
        return self._only()

    def recall(
        self,
        question: str,
        *,
        limit: int = 5,
        memory_kinds: object = None,
        session: str | None = None,
        as_of: object = None,
        documents: bool = False,
        **search: Any,
    ) -> Recalled:
        """The memories that best answer a question, best first, with what cites them.

        `memory_kinds` and `session` narrow it. `as_of` is a time: what was known by then, and held then. With
        `documents`, texts of the world are in the same ranking. All else is as in `World.search`. Nothing that is
        outlived is recalled. ValueError for wrong options.
        """
        _require_limit(limit)
        world = self._only(as_of)
        kinds = [_kind(one) for one in listed(memory_kinds or [])]
        options: dict[str, Any] = dict(search)
        if kinds and "types" not in search:
            options["types"] = [to_rdflib(CLASSES[one]) for one in kinds]
        if session is not None:
            inside = f"?subject {SESSION} {session_iri(self._name, session)}"
            options["where"] = f"{inside} . {search['where']}" if search.get("where") else inside
        keep = self.keep
        if keep.half_life is not None and "decay" not in search:
            options["decay"] = {
                "predicate": CREATED.value,
                "half_life": keep.half_life,
                "evergreen_types": [CLASSES[one].value for one in keep.evergreen],
            }
        worlds = {"memory": world, "documents": self._asked}
        if not documents:
            options = {"predicates": TEXT.value, **options}
        asked = limit
        while True:  # several hits may be of one memory
            options["limit"] = asked
            found = self._asked._fused(worlds, question, options) if documents else world.search(question, **options)
            told = _each(found)
            if len(told) >= limit or len(found) < asked or asked >= _HITS:
                return Recalled(self._described(world, told[:limit]), found.notes)
            asked = min(4 * asked, _HITS)

    def memories(
        self, *, limit: int = 100, memory_kinds: object = None, session: str | None = None, as_of: object = None
    ) -> list[Remembered]:
        """The memories themselves, the newest first, those beneath the scope with them."""
        _require_limit(limit)
        world = self._only(as_of)
        kinds = {_kind(one) for one in listed(memory_kinds or [])}
        with world._connection.snapshot():
            rows = world._patterns.matching((None, TEXT, None), None)
            among = set(rows[:, 0].tolist())
            if session is not None:
                said = world._patterns.matching((None, SESSION, session_iri(self._name, session)), None)
                among &= set(said[:, 0].tolist())
            terms = world._dictionary.terms({number for row in rows.tolist() for number in row})
        found = [
            Remembered(
                to_rdflib(terms[s]), str(to_rdflib(terms[o])), 0.0, None, None, (), graph=to_rdflib(terms[g])
            )
            for s, _, o, g in rows.tolist()
            if s in among
        ]  # fmt: skip
        described = self._described(world, found)
        chosen = [one for one in described if not kinds or one.kind in kinds]
        return sorted(chosen, key=lambda one: (one.at is not None, one.at, one.iri), reverse=True)[:limit]

    def context(
        self, question: str, *, budget: int = 2000, limit: int = 20, documents: bool = False, **options: Any
    ) -> Context:
        """What the memory knows that bears on a question, for a language model, in at most `budget` tokens.

        First what was said, the best `limit` of it with when and by whom, then the facts that were told of the entities
        that the question names. Numbers in brackets cite, as in `World.context`; `options` narrow what is recalled.
        With `documents`, the rest of the budget tells what the world itself knows.
        """
        recalled = self.recall(question, limit=limit, **options)
        world = self._only(options.get("as_of"))
        known = world.context(question, budget=budget)
        lines: list[str] = []
        facts: list[ContextFact] = []

        def put(line: str, fact: ContextFact) -> None:
            if tokens("\n".join([*lines, line])) <= budget:
                lines.append(line)
                facts.append(replace(fact, number=len(facts) + 1))

        revisions = self._revisions(world, recalled)
        for one in recalled:
            said = ", ".join(part for part in (f"{one.at:%Y-%m-%d}" if one.at else None, one.role) if part)
            quad = CitedQuad(one.iri, to_rdflib(TEXT), Literal(one.text), one.graph, revisions.get(one.iri, 0))
            text = f"{said}: {one.text}" if said else one.text
            put(f"[{len(facts) + 1}] {text}", ContextFact(len(facts) + 1, text, one.iri, 0, one.score, (quad,)))
        for fact in known.facts:
            own = any(str(quad[1]) in _OWN or str(quad[2]) in _KINDS for quad in fact.quads)
            if not own and not str(fact.entity).startswith("_:"):
                text = _told_because.sub("", fact.text)
                put(f"[{len(facts) + 1}] {text}", replace(fact, text=text))
        notes = (*recalled.notes, *known.notes)
        if documents:
            more = self._asked.context(question, budget=budget)
            for fact in more.facts:
                put(f"[{len(facts) + 1}] {fact.text}", fact)
            notes = (*notes, *more.notes)
        return replace(known, text="\n".join(lines), facts=tuple(facts), notes=notes)  # type: ignore[no-any-return]

    def _revisions(self, world: Any, found: Sequence[Remembered]) -> dict[Any, int]:
        """The revisions that memories were told in."""
        subjects = list(dict.fromkeys(to_oxigraph(one.iri) for one in found))
        with world._connection.snapshot():
            numbers = dict(zip(world._dictionary.find(subjects), subjects, strict=True))
            rows = world._connection.table(_QUERIES["quads_touching"], (json_ids(one for one in numbers if one),))
            rows = rows[rows[:, 1] == world._dictionary.find([TEXT])[0]]
            added = {int(rows[place, 0]): revision for place, _, revision in find_quads(world._connection, rows)}
        return {to_rdflib(numbers[number]): revision for number, revision in added.items() if number in numbers}

    def search(self, question: str, **options: Any) -> Any:
        """The texts of the memory that best answer a question; see `World.search`."""
        return self.world.search(question, **options)

    def _described(self, world: Any, found: Sequence[Remembered]) -> list[Remembered]:
        """The memories, with what is said of them."""
        subjects = list(dict.fromkeys(to_oxigraph(one.iri) for one in found))
        said: dict[str, dict[str, list[Any]]] = {}
        with world._connection.snapshot():
            numbers = [number for number in world._dictionary.find(subjects) if number is not None]
            rows = world._connection.table(_QUERIES["quads_touching"], (str(numbers),))
            rows = rows[np.isin(rows[:, 0], numbers)]
            terms = world._dictionary.terms({number for row in rows.tolist() for number in row})
        for s, p, o, _ in rows.tolist():
            said.setdefault(terms[s].value, {}).setdefault(terms[p].value, []).append(terms[o])
        described = []
        for one in found:
            about = said.get(str(one.iri), {})
            kind = next((_KINDS[term.value] for term in about.get(TYPE.value, ()) if term.value in _KINDS), None)
            if kind is None or TEXT.value not in about:
                described.append(one)
                continue
            created, session, role = (about.get(name.value, [None])[0] for name in (CREATED, SESSION, ROLE))
            at = to_python(created)
            described.append(
                replace(
                    one,
                    kind=kind,
                    at=at if isinstance(at, datetime.datetime) else None,
                    scope=scope_of(str(one.graph)),
                    session=None if session is None else session_of(session.value),
                    role=None if role is None else role.value,
                    key=key_of(str(one.iri)),
                    cites=tuple(map(to_rdflib, about.get(CITES.value, ()))),
                    about=tuple(map(to_rdflib, about.get(ABOUT.value, ()))),
                )
            )
        return described


def _each(hits: Iterable[Hit]) -> list[Remembered]:
    """What hits are about, each once: several memories may have the same text."""
    found: dict[Any, Remembered] = {}
    for hit in hits:
        own = hit.world in (None, "memory") and not hit.composed
        about = [(quad[0], quad[3]) for quad in hit.quads if str(quad[1]) == TEXT.value] if own else []
        for iri, graph in about or [(hit.subject, hit.graph)]:
            found.setdefault((iri, graph), Remembered(iri, hit.text, hit.score, None, None, (), graph=graph))
    return list(found.values())


def _kind(given: object) -> str:
    if given not in KINDS:
        raise ArgumentError(f"a kind of memory is one of {', '.join(KINDS)}, not {given!r}")
    return str(given)


def _require_limit(limit: object) -> None:
    if type(limit) is not int or not 1 <= limit <= _MOST:
        raise ArgumentError(f"limit is a whole number from 1 to {_MOST:,}, not {limit!r}")
