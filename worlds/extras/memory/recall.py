"""Recall from a memory: by words and meaning, by age, by entities."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray
from rdflib import BNode, Literal

from worlds.core.quads.dictionary import json_ids
from worlds.core.quads.namespaces import listed
from worlds.core.quads.rows import find_quads
from worlds.core.search.hits import Hit
from worlds.core.search.options import Ranking
from worlds.core.search.sequences import Sequence as InSequence
from worlds.errors import ArgumentError
from worlds.extras.entities.context import Context
from worlds.extras.entities.context_text import ContextFact, tokens
from worlds.extras.entities.neighbours import CitedQuad
from worlds.extras.facts.spans import REIFIES
from worlds.extras.facts.times import microseconds, moment, now
from worlds.extras.memory.linked_facts import Keeping
from worlds.extras.memory.memory_records import (
    ABOUT,
    CITES,
    CLASSES,
    CREATED,
    EXPIRES,
    KINDS,
    LEADING,
    ROLE,
    SESSION,
    TEXT,
    TYPE,
    Keep,
    Kind,
    Recalled,
    Remembered,
    is_memory,
    key_of,
    scope_of,
    session_iri,
    session_of,
)
from worlds.extras.memory.seen_graph import SEEN
from worlds.extras.memory.supersession import newest_first
from worlds.graph.terms import to_oxigraph, to_python, to_rdflib
from worlds.sql import statements

_QUERIES = statements("queries.sql")
_SQL = statements("memory.sql")
_told_because = re.compile(r"; source: [0-9a-f]{32}|(?<=\()source: [0-9a-f]{32}; |\s*\(source: [0-9a-f]{32}\)")
_HITS = 10_000  # that are looked at
_LOOKED_AT = 20  # memories of which the newer come first
_GROUP = 64  # files that are read together
_DOCUMENTS = "documents"
_MOST = 1000  # memories that are recalled or listed
_OWN = {one.value for one in (ABOUT, CITES, CREATED, EXPIRES, ROLE, SESSION, TEXT, REIFIES)}
_IN_SEQUENCE = InSequence(TEXT, SESSION, CREATED, ROLE)
_KINDS: dict[str, Kind] = {iri.value: kind for kind, iri in CLASSES.items()}  # type: ignore[misc]  # the same texts


class Recalling:
    """The reading of one scope's memory."""

    keep: Keep
    scope: tuple[str, ...]
    _name: ox.NamedNode
    _asked: Any
    _memories: Any

    @property
    def _home(self) -> tuple[str, ...]:
        return self._memories.home(self.scope)  # type: ignore[no-any-return]

    @property
    def world(self) -> Any:
        """The scope as a `World`, with all verbs: quads written without a graph go into the memory's graph.

        It has what narrower scopes were told as far as these lie in the same file. Asking for it makes the file, if
        there is none. It stays open while it is among the 128 that were used last; ask again for it then.
        """
        if self._asked._core.connection.read_only and not self._memories.has(self._home):
            return self._memories.empty()
        return self._part(self._memories.world(self._home, make=True))

    def _part(self, world: Any) -> Any:
        """The part of a home's world that the scope sees."""
        home = self._home
        if len(home) == len(self.scope) or home[: len(self.scope)] == self.scope:
            return world
        beneath = Keeping(world).beneath(self._name.value)
        names = map(ox.NamedNode, sorted({*beneath, self._name.value}))
        part = world._look.only(world._look.names([*names, SEEN]))
        part._memory, part._core.namespaces.home = self, self._name
        return part

    @contextlib.contextmanager
    def _reading(self, most: int | None = _GROUP) -> Iterator[tuple[dict[str, Any], list[str]]]:
        """The worlds that have the scope's memories, by their scopes, and notes on worlds that could not be read."""
        homes = self._memories.beneath(self.scope)
        notes = []
        if most is not None and len(homes) > most:
            beneath = "/".join(self.scope)
            notes.append(
                f"of {len(homes):,} files of scopes beneath {beneath}, the {most} that were written last are read"
            )
        with contextlib.ExitStack() as stack:
            found = {}
            for home in homes[:most]:
                world = stack.enter_context(self._memories.using(home))
                if world is not None:
                    found[_title(home)] = self._part_of(world, home)
            yield found, notes

    def _part_of(self, world: Any, home: tuple[str, ...]) -> Any:
        return self._part(world) if len(home) < len(self.scope) else world

    def _hidden(self, world: Any, as_of: object) -> list[int]:
        """The memories in a world that are expired, or were not yet written at a time, by their ids."""
        keeping = Keeping(world)
        graphs = keeping.beneath(self._name.value)
        scopes = {scope_of(name): number for name, number in graphs.items()}
        keeps = {scopes[scope]: keep for scope, keep in self._memories.keeps(scopes).items()}
        time = None if as_of is None else moment("as_of", as_of, world._validity.zone)
        return keeping.outlived(keeps, microseconds(now()), time)

    def _hidden_iris(self, world: Any, as_of: object) -> list[Any]:
        numbers = self._hidden(world, as_of)
        terms = world._core.dictionary.terms(numbers)
        return [to_rdflib(terms[number]) for number in numbers]

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
        """The memories that best answer a question, best first, with the facts that cite them.

        Of memories that say nearly the same of the same thing, the newest comes first; an older one tells by
        `superseded_by` which took its place. `memory_kinds` and `session` narrow it. `as_of` is a time: what was told
        by then. With `documents`, texts of the world are in the same ranking. All else is as in `World.search`;
        `Ranking(decay={})` ranks without the ages. Nothing that is outlived is recalled. ValueError for wrong options.
        """
        _require_limit(limit)
        kinds = [_kind(one) for one in listed(memory_kinds or [])]
        options: dict[str, Any] = dict(search)
        if kinds and "types" not in search:
            options["types"] = [to_rdflib(CLASSES[one]) for one in kinds]
        if session is not None:
            inside = f"?subject {SESSION} {session_iri(self._name, session)}"
            options["where"] = f"{inside} . {search['where']}" if search.get("where") else inside
        keep, ranking = self.keep, search.get("ranking") or Ranking()
        if keep.half_life is not None and ranking.decay is None:
            age = {"predicate": CREATED.value, "half_life": keep.half_life}
            lasting = [CLASSES[one].value for one in keep.evergreen]
            options["ranking"] = replace(ranking, decay={**age, "evergreen_types": lasting})
        elif ranking.decay == {}:
            options["ranking"] = replace(ranking, decay=None)
        if not documents:
            options = {"predicates": TEXT.value, **options}
        exclude = dict(search.get("exclude") or {})
        options["exclude"] = {**exclude, "graphs": [*listed(exclude.get("graphs") or []), SEEN]}
        with self._reading() as (worlds, notes):
            hidden = [term for world in worlds.values() for term in self._hidden_iris(world, as_of)]
            if hidden:
                options["exclude"]["subjects"] = [*listed(exclude.get("subjects") or []), *hidden]
            asked = {**worlds, _DOCUMENTS: self._asked} if documents else worlds
            if not asked:
                return Recalled((), notes)
            if not documents:
                question, named = _nameless(question, {one for world in worlds.values() for one in self._roles(world)})
                options["sequence"] = replace(_IN_SEQUENCE, named=named)
            told, found = self._asked_for(asked, question, max(limit, _LOOKED_AT), options)
            described = self._described(worlds, told)
            ordered = newest_first(described, self._vectors(worlds, described))
            return Recalled(ordered[:limit], (*notes, *found))

    def _asked_for(
        self, worlds: Mapping[str, Any], question: str, limit: int, options: Mapping[str, Any]
    ) -> tuple[list[Remembered], tuple[str, ...]]:
        """The memories found in several worlds, and the notes; asks for more hits where several are of one memory."""
        asked = limit
        while True:
            given = {**options, "limit": asked, "explain": True}
            found = self._asked._fused(worlds, question, given)
            told = _each(found)
            if len(told) >= limit or len(found) < asked or asked >= _HITS:
                return told[:limit], found.notes
            asked = min(4 * asked, _HITS)

    def _roles(self, world: Any) -> list[str]:
        """The speakers in the scope's memories of a world."""
        with world._core.connection.snapshot():
            graphs = json_ids(Keeping(world).beneath(self._name.value).values())
            role = world._core.dictionary.find([ROLE])[0]
            read = partial(
                world._core.connection.rows, _SQL["roles"], _SQL["roles"].bind(graphs_json=graphs, role=role)
            )
            return [value for (value,) in world._core.connection.remembered(("roles", graphs), read)]

    def nameless(self, world: Any, text: str) -> str:
        """A text without the names of the scope's speakers, as it is embedded."""
        return _nameless(text, self._roles(world))[0]

    def _vectors(self, worlds: Mapping[str, Any], found: Sequence[Remembered]) -> dict[Any, NDArray[np.float32]]:
        """The vectors of memories' texts, for the texts that have one, by IRI."""
        subjects = list(dict.fromkeys(to_oxigraph(one.iri) for one in found if one.kind is not None))
        vectors: dict[Any, NDArray[np.float32]] = {}
        for world in worlds.values():
            if world._core.embeddings.stored is None:
                continue
            with world._core.connection.snapshot():
                numbers = dict(zip(world._core.dictionary.find(subjects), subjects, strict=True))
                text = world._core.dictionary.find([TEXT])[0]
                given = json_ids(one for one in numbers if one is not None)
                for number, vector in world._core.connection.rows(
                    _SQL["vectors"], _SQL["vectors"].bind(ids_json=given, text=text)
                ):
                    vectors[to_rdflib(numbers[number])] = np.frombuffer(vector, dtype="<f4")
        return vectors

    def memories(
        self, *, limit: int = 100, memory_kinds: object = None, session: str | None = None, as_of: object = None
    ) -> list[Remembered]:
        """The memories themselves, the newest first, including those of narrower scopes."""
        _require_limit(limit)
        kinds = {_kind(one) for one in listed(memory_kinds or [])}
        with self._reading() as (worlds, _):
            found = [one for world in worlds.values() for one in self._listed(world, session, as_of)]
            described = self._described(worlds, found)
        chosen = [one for one in described if not kinds or one.kind in kinds]
        return sorted(chosen, key=lambda one: (one.at is not None, one.at, one.iri), reverse=True)[:limit]

    def _listed(self, world: Any, session: str | None, as_of: object) -> list[Remembered]:
        with world._core.connection.snapshot():
            rows = world._core.patterns.matching((None, TEXT, None), None)
            among = set(rows[:, 0].tolist()) - set(self._hidden(world, as_of))
            if session is not None:
                said = world._core.patterns.matching((None, SESSION, session_iri(self._name, session)), None)
                among &= set(said[:, 0].tolist())
            terms = world._core.dictionary.terms({number for row in rows.tolist() for number in row})
        return [
            Remembered(
                to_rdflib(terms[s]), str(to_rdflib(terms[o])), 0.0, None, None, (), graph=to_rdflib(terms[g])
            )
            for s, _, o, g in rows.tolist()
            if s in among
        ]  # fmt: skip

    def context(
        self, question: str, *, budget: int = 2000, limit: int = 20, documents: bool = False, **options: Any
    ) -> Context:
        """The context of a question from the memory, for a language model, in at most `budget` tokens.

        First what was said, the best `limit` of it with when and by whom, then the facts that were told of the entities
        that the question names. Numbers in brackets cite, as in `World.context`; `options` narrow what is recalled.
        With `documents`, the rest of the budget tells what the world itself knows.
        """
        recalled = self.recall(question, limit=limit, **options)
        lines: list[str] = []
        facts: list[ContextFact] = []
        notes = list(recalled.notes)

        def put(line: str, fact: ContextFact) -> None:
            if tokens("\n".join([*lines, line])) <= budget:
                lines.append(line)
                facts.append(replace(fact, number=len(facts) + 1))

        with self._reading() as (worlds, _):
            revisions = self._revisions(worlds, recalled)
            for one in recalled:
                who = None if one.text.startswith(f"{one.role}: ") else one.role
                said = ", ".join(part for part in (f"{one.at:%Y-%m-%d}" if one.at else None, who) if part)
                quad = CitedQuad(one.iri, to_rdflib(TEXT), Literal(one.text), one.graph, revisions.get(one.iri, 0))
                text = f"{said}: {one.text}" if said else one.text
                put(f"[{len(facts) + 1}] {text}", ContextFact(len(facts) + 1, text, one.iri, 0, one.score, (quad,)))
            homes = [self._home, *(self._memories.home(one.scope) for one in recalled)]
            asked = [worlds[name] for name in dict.fromkeys(map(_title, homes)) if name in worlds]
            known = [self._known(world, question, budget, options.get("as_of")) for world in asked]
        for context in known:
            for fact in context.facts:
                own = any(str(quad[1]) in _OWN or str(quad[2]) in _KINDS for quad in fact.quads)
                seen = all(str(quad[3]) == SEEN.value for quad in fact.quads)
                if not own and not seen and not isinstance(fact.entity, BNode):
                    text = _told_because.sub("", fact.text)
                    put(f"[{len(facts) + 1}] {text}", replace(fact, text=text))
        if documents or not known:
            known.append(self._asked.context(question, budget=budget))
        if documents:
            for fact in known[-1].facts:
                put(f"[{len(facts) + 1}] {fact.text}", fact)
        notes += [note for context in known for note in context.notes]
        found: Context = known[0]
        return replace(found, text="\n".join(lines), facts=tuple(facts), notes=tuple(dict.fromkeys(notes)))

    def _known(self, world: Any, question: str, budget: int, as_of: object) -> Any:
        seen = world if as_of is None else world.as_of(as_of)
        return seen.context(question, budget=budget)

    def _revisions(self, worlds: Mapping[str, Any], found: Sequence[Remembered]) -> dict[Any, int]:
        """The revisions that wrote memories."""
        subjects = list(dict.fromkeys(to_oxigraph(one.iri) for one in found))
        revisions: dict[Any, int] = {}
        for world in worlds.values():
            with world._core.connection.snapshot():
                numbers = dict(zip(world._core.dictionary.find(subjects), subjects, strict=True))
                rows = world._core.connection.table(
                    _QUERIES["quads_touching"], (json_ids(one for one in numbers if one),)
                )
                rows = rows[rows[:, 1] == world._core.dictionary.find([TEXT])[0]]
                added = {
                    int(rows[place, 0]): revision for place, _, revision in find_quads(world._core.connection, rows)
                }
            revisions |= {
                to_rdflib(numbers[number]): revision for number, revision in added.items() if number in numbers
            }
        return revisions

    def search(self, question: str, **options: Any) -> Any:
        """The texts of the memory that best answer a question; see `World.search`."""
        with self._reading() as (worlds, _):
            return self._asked._fused(worlds or {"": self._memories.empty()}, question, options)

    def quads(self, subject: object = None, predicate: object = None) -> list[Any]:
        """The quads of the memory and of narrower ones, without expired memories."""
        found = []
        with self._reading(most=None) as (worlds, _):
            for world in worlds.values():
                hidden = set(self._hidden_iris(world, None))
                told = world.quads(subject, predicate)
                found += [quad for quad in told if is_memory(quad[3]) and quad[0] not in hidden]
        return found

    def _described(self, worlds: Mapping[str, Any], found: Sequence[Remembered]) -> list[Remembered]:
        """The memories, with their annotations."""
        subjects = list(dict.fromkeys(to_oxigraph(one.iri) for one in found))
        said: dict[str, dict[str, list[Any]]] = {}
        for world in worlds.values():
            with world._core.connection.snapshot():
                numbers = [number for number in world._core.dictionary.find(subjects) if number is not None]
                rows = world._core.connection.table(_QUERIES["quads_touching"], (str(numbers),))
                rows = rows[np.isin(rows[:, 0], numbers)]
                terms = world._core.dictionary.terms({number for row in rows.tolist() for number in row})
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
            leads = role is not None and role.datatype == LEADING and about[TEXT.value][0].value.startswith(one.text)
            described.append(
                replace(
                    one,
                    text=f"{role.value}: {one.text}" if leads else one.text,
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
    """The memories of hits, each once: several memories may have the same text."""
    found: dict[Any, Remembered] = {}
    for hit in (one for first in hits for one in (first, *first.others)):
        own = hit.world != _DOCUMENTS and not hit.composed
        about = [(quad[0], quad[3]) for quad in hit.quads if str(quad[1]) == TEXT.value] if own else []
        for iri, graph in about or [(hit.subject, hit.graph)]:
            nearness = None if hit.explain is None or "vector" not in hit.explain else hit.explain["vector"].value
            made = Remembered(iri, hit.text, hit.score, None, None, (), graph=graph, similarity=nearness)
            found.setdefault((iri, graph), made)
    return list(found.values())


def _nameless(text: str, roles: Iterable[str]) -> tuple[str, frozenset[str]]:
    """A text without the names of speakers, as far as anything is left, and the speakers that it names.

    A vector ranks by a name that all turns have in common. Roles of a chat, in small letters, are words as any.
    """
    names = "|".join(re.escape(role) for role in sorted(roles, key=len, reverse=True) if not role.islower())
    if not names:
        return text, frozenset()
    named = re.compile(rf"(?<!\w)({names})(?:['’]s)?(?!\w)")
    rest = " ".join(named.sub(" ", text).split()).strip(" ,")
    return rest if re.search(r"\w", rest) else text, frozenset(named.findall(text))


def _title(home: tuple[str, ...]) -> str:
    return "/".join(home) or "memory"


def _kind(given: object) -> str:
    if given not in KINDS:
        raise ArgumentError(f"a kind of memory must be one of {', '.join(KINDS)}, not {given!r}")
    return str(given)


def _require_limit(limit: object) -> None:
    if type(limit) is not int or not 1 <= limit <= _MOST:
        raise ArgumentError(f"limit must be a whole number from 1 to {_MOST:,}, not {limit!r}")
