"""A memory: what an assistant was told in a scope, found again by words and meaning, until it is forgotten."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.file.compaction import forget_unused
from worlds.core.history.gate import Change
from worlds.core.quads.dictionary import Ids
from worlds.core.quads.namespaces import listed
from worlds.core.quads.reader import quad_ids
from worlds.core.quads.rows import NO_QUADS, difference, find_quads, unique_quads
from worlds.errors import ArgumentError, ReadOnlyError, WorldsError
from worlds.extras.facts.times import literal, microseconds, now
from worlds.extras.memory.erasure import Purging, elsewhere
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
    TIME,
    TOKEN,
    TYPE,
    Forgotten,
    Keep,
    Kind,
    Recalled,
    Retained,
    checked,
    days_of,
    graph_of,
    is_beneath,
    memory_iri,
    scope_of,
    session_iri,
)
from worlds.extras.memory.recall import Recalling
from worlds.graph.terms import to_oxigraph, to_rdflib
from worlds.sql.retry import retried

_LONGEST = 1_000_000  # characters of what is told at once
# A name of one to three words with a capital, or a role of a chat, as a transcript has it.
_SPOKEN = re.compile(r"((?:(?=[^\W\d_a-z])[\w.’'-]{1,30}(?: (?=\w))?){1,3}(?<! )|user|assistant|system): (?=\S)")

Turn = str | tuple[str, str] | Mapping[str, str]
"""A turn of a conversation: a text, (role, text), or {"role": …, "content": …}."""


class Memory(Recalling):
    """The memory of one scope; made by `World.memory`.

    It is the graph `.graph` in a world of its own, `.world`, whose file is made when it is first told something. What
    narrower scopes were told is recalled with it; what is outlived is not.
    """

    def __init__(self, asked: Any, scope: object, memories: Any) -> None:
        """`asked` is the world whose texts and entities are meant, `memories` are all of its memories."""
        self._name = graph_of(scope)
        self.graph = to_rdflib(self._name)
        self.scope = scope_of(self._name.value)
        self._asked = asked
        self._memories = memories

    def __repr__(self) -> str:
        return f"<Memory {'/'.join(self.scope)} of {self._asked.path}>"

    def within(self, scope: object, asked: Any) -> Memory:
        """The memory of a narrower scope, for whoever sees this one alone; ReadOnlyError for another."""
        if not is_beneath(graph_of(scope).value, self._name.value):
            raise ReadOnlyError("this would read a memory outside of the scope", kind="scope")
        found: Memory = self._memories.of(scope, asked)
        return found

    @property
    def around(self) -> Any:
        """The world whose names are known in it."""
        return self._memories.around

    # -- how long -------------------------------------------------------------------------------------------------

    @property
    def keep(self) -> Keep:
        """How long the scope keeps its memories: its own setting, or else the setting of the nearest wider scope."""
        return self._memories.keep(self.scope)  # type: ignore[no-any-return]

    @keep.setter
    def keep(self, keep: Keep) -> None:
        if not isinstance(keep, Keep):
            raise TypeError(f"keep must be a Keep, not {keep!r}")
        self._memories.set_keep(self.scope, keep)

    @retried
    def sweep(self) -> Forgotten:
        """Delete expired memories. They are no longer recalled even before this; they only take space."""
        if not self._memories.has(self._home):
            return Forgotten(0, 0, None)
        with self._writing(None, "outlived") as (world, writing, keep):
            gone, quads = self._outlived(world, keep)
            writing.apply(removed=quads)
        return self._forgotten(writing, len(gone), purged=not keep.history)

    @property
    def scopes(self) -> list[tuple[str, ...]]:
        """The scopes with memories: this one and narrower ones."""
        found: list[str] = []
        for home in self._memories.beneath(self.scope):
            with self._memories.using(home) as world:
                found += [] if world is None else Keeping(world).beneath(self._name.value)
        return sorted(map(scope_of, found))

    def _outlived(self, world: Any, keep: Keep) -> tuple[list[int], Ids]:
        graph = self._number(world)
        if graph is None:
            return [], NO_QUADS
        gone = Keeping(world).outlived({graph: keep}, microseconds(now()))
        return gone, self._held(world, gone, graph)

    def _held(self, world: Any, memories: list[int], graph: int) -> Ids:
        """The present quads of some memories, with the quads stated because of them alone."""
        keeping = Keeping(world)
        quads = keeping.concerning(memories, graph)
        quads = unique_quads(np.concatenate([quads, keeping.because_of(memories, graph)]))
        return quads[[place for place, _, _ in find_quads(world._core.connection, quads)]]

    def _number(self, world: Any) -> int | None:
        found: int | None = world._core.dictionary.find([self._name])[0]
        return found

    def transaction(self, **options: Any) -> Any:
        """One revision of the memory's file for all that the block writes into it; see `World.transaction`."""
        return self._memories.world(self._home, make=True).transaction(**options)

    # -- writing --------------------------------------------------------------------------------------------------

    @retried
    def retain(
        self,
        told: str | Sequence[Turn],
        *,
        at: object = None,
        session: str | None = None,
        role: str | None = None,
        cites: object = None,
        about: object = None,
        facts: Iterable[object] = (),
        key: str | None = None,
        kind: Kind = "episode",
        days: float | None = None,
        author: str | None = None,
        message: str | None = None,
    ) -> Retained:
        """Remember a text, or the turns of a conversation, as one revision; each turn is a memory of its own.

        `at` is when it was said, now if it is not given. `session` names the conversation, `role` who spoke; of a
        conversation, "Ann: …" is a turn of Ann's, whose text is sought without the name, and shown with it. `cites`
        are IRIs of what it was taken from. `about` are the entities that it is about, by IRI or by name: a name that
        means one for sure is linked, one that does not is a proposal. With a `key`, it takes the place of what has the
        same key. `kind` is "episode", "fact", "preference" or "entity"; `days` is its time to live. `facts` are told as
        by `tell`, and cite it. ArgumentError for what is not a text, and for a key of several turns.

        What is outlived goes in the same revision. Texts are embedded after it; where the embedder fails, words find
        them.
        """
        turns = self._turns(told, role, session)
        if key is not None and len(turns) != 1:
            raise ArgumentError("a key needs a single text, not turns")
        if kind not in KINDS:
            raise ArgumentError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
        lives = days_of("days", days)
        began = self._time(at)
        sources = [self._asked._core.namespaces.term(one) for one in listed(cites or [])]
        known, unsure = self._entities(listed(about or []))
        graph = self._name
        iris = [memory_iri(graph, None if key is None else checked("a key", key)) for _ in turns]
        quads: list[ox.Quad] = []
        for place, (iri, (who, text, form)) in enumerate(zip(iris, turns, strict=True)):
            moment = began + datetime.timedelta(microseconds=place)
            said: list[tuple[ox.NamedNode, Any]] = [
                (TYPE, CLASSES[kind]),
                (TEXT, ox.Literal(text)),
                (CREATED, _timestamp(moment)),
                *((CITES, one) for one in sources),
                *((ABOUT, one) for one in known),
            ]
            if session is not None:
                said.append((SESSION, session_iri(graph, checked("a session", session))))
            if who is not None:
                said.append((ROLE, ox.Literal(checked("a role", who), datatype=form)))
            if lives is not None:
                said.append((EXPIRES, _timestamp(moment + datetime.timedelta(days=lives))))
            quads += [ox.Quad(iri, predicate, value, graph) for predicate, value in said]
        change, outlived, receipt = self._remember(
            iris, quads, list(facts), keyed=key is not None, author=author, message=message
        )
        return Retained(
            tuple(map(to_rdflib, iris)),
            change.revision if isinstance(change, Change) else None,
            outlived,
            self._proposed(iris[0], unsure, author),
            receipt,
            tuple(change.notes),
        )

    @retried
    def put(
        self,
        key: str,
        said: Mapping[str, object],
        *,
        kind: Kind = "fact",
        at: object = None,
        days: float | None = None,
        author: str | None = None,
        message: str | None = None,
    ) -> Retained:
        """Remember triples of one's own, in the place of a memory with the same key.

        `said` maps predicates (IRIs) to values or lists of values, as `World.add` takes objects; texts under
        https://schema.org/text are found by `recall`. The rest is as in `retain`.
        """
        if kind not in KINDS:
            raise ArgumentError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
        iri, began, lives = memory_iri(self._name, checked("a key", key)), self._time(at), days_of("days", days)
        told = [(predicate, value) for predicate, values in said.items() for value in listed(values)]
        quads = self._asked._core.namespaces.quads([(iri, predicate, value, self._name) for predicate, value in told])
        quads.append(ox.Quad(iri, TYPE, CLASSES[kind], self._name))
        quads.append(ox.Quad(iri, CREATED, _timestamp(began), self._name))
        if lives is not None:
            quads.append(ox.Quad(iri, EXPIRES, _timestamp(began + datetime.timedelta(days=lives)), self._name))
        change, outlived, _ = self._remember([iri], quads, [], keyed=True, author=author, message=message)
        revision = change.revision if isinstance(change, Change) else None
        return Retained((to_rdflib(iri),), revision, outlived, notes=tuple(change.notes))

    def _remember(
        self,
        iris: Sequence[ox.NamedNode],
        quads: Sequence[ox.Quad],
        facts: Sequence[object],
        *,
        keyed: bool,
        author: str | None,
        message: str | None,
    ) -> tuple[Any, int, Any]:
        """Write memories; returns the change, the number of expired others, and the outcomes of facts."""
        with self._writing(author, message) as (world, writing, keep):
            added = quad_ids(world._core.connection, world._core.dictionary, quads)
            gone = self._replaced(world, iris, added) if keyed else NO_QUADS
            writing.apply(difference(added, gone), difference(gone, added))
            outlived, swept = self._outlived(world, keep)
            writing.apply(removed=swept)
            receipt = self.tell(facts, cites=[to_rdflib(one) for one in iris], author=author) if facts else None
        return writing.change, len(outlived), receipt

    def tell(self, facts: Iterable[object], *, cites: object = None, **options: Any) -> Any:
        """State facts by the names of things in this memory, as `World.facts.tell` does; `cites` are sources of all."""
        sources = list(listed(cites or []))
        given = [_citing(fact, sources) if sources else fact for fact in facts]
        self._memories.world(self._home, make=True, see=True)
        return self.world.facts.tell(given, **options)

    def _turns(self, told: Any, role: str | None, session: str | None) -> list[tuple[str | None, str, ox.NamedNode]]:
        """The roles and texts of what is told, with the datatypes of the roles."""
        turns = [told] if isinstance(told, str | Mapping) else told
        if not isinstance(turns, Sequence) or not turns:
            raise ArgumentError(f"a memory retains a text, or a list of turns, not {told!r:.80}")
        found: list[tuple[str | None, str, ox.NamedNode]] = []
        plain = [turn for turn in turns if isinstance(turn, str)]
        spoken = role is None and (session is not None or len(plain) > 1) and all(map(_SPOKEN.match, plain))
        for turn in turns:
            if isinstance(turn, Mapping):
                who, text = turn.get("role", role), turn.get("content")
            elif isinstance(turn, tuple) and len(turn) == 2:
                who, text = turn
            else:
                who, text = role, turn
            text = checked("what is told", text, _LONGEST)
            if spoken and isinstance(turn, str) and (leading := _SPOKEN.match(turn)):
                found.append((leading[1], turn[leading.end() :], LEADING))
            else:
                found.append((who, text, TOKEN))
        return found

    def _time(self, at: object) -> datetime.datetime:
        if at is None:
            return now()
        given = literal("at", at)
        read = datetime.datetime.fromisoformat(given.value) if len(given.value) > 9 else None
        if read is None:
            raise ArgumentError(f"at must be a day or a time, not {at!r}", kind="time")
        return read if read.tzinfo else read.replace(tzinfo=datetime.UTC)

    def _entities(self, names: Iterable[object]) -> tuple[list[Any], list[tuple[str, Any]]]:
        """The entities that are meant for sure, and the names that may mean one, with the likeliest."""
        known, unsure = [], []
        for name in names:
            try:
                known.append(self._asked._core.namespaces.entity(name))
                continue
            except ValueError:
                if not isinstance(name, str):
                    raise
            found = self.world.resolve(name)
            if found.best is None:
                found = self._asked.resolve(name)
            if found.best is not None:
                known.append(to_oxigraph(found.best.iri))
            elif found.candidates:
                unsure.append((name, found.candidates[0]))
        return known, unsure

    def _proposed(self, memory: ox.NamedNode, unsure: Sequence[tuple[str, Any]], author: str | None) -> tuple[int, ...]:
        made = []
        for name, candidate in unsure:
            with contextlib.suppress(WorldsError):  # it waits already, or was rejected
                quad = ox.Quad(memory, ABOUT, to_oxigraph(candidate.iri), self._name)
                why = f"{name!r} may mean {candidate.label or candidate.iri}"
                confidence = candidate.confidence
                found = self.world.proposals.add(add=[quad], kind="link", why=why, confidence=confidence, author=author)
                made.append(found.id)
        return tuple(made)

    def _replaced(self, world: Any, iris: Sequence[ox.NamedNode], added: Ids) -> Ids:
        numbers = [number for number in world._core.dictionary.find(list(iris)) if number is not None]
        graph = self._number(world)
        if graph is None or not numbers:
            return NO_QUADS
        held = self._held(world, numbers, graph)
        return held[np.isin(held[:, 0], numbers) | ~np.isin(held[:, 2], numbers)]  # what others say of it stays

    @property
    def _written(self) -> Any:
        """The connection by which it is written."""
        return self._memories.world(self._home, make=True)._written

    @contextlib.contextmanager
    def _writing(self, author: str | None, message: str | None) -> Iterator[Any]:
        """A revision of the memory's file, which is made if it is missing: the whole world in it, and its settings."""
        keep = self.keep
        with self._memories.using(self._home, make=True) as world, world._core.connection.lock:
            with world._core.writer.revision(author=author, message=message, embed=True) as writing:
                yield world, writing, keep
            if not keep.history and not world._core.writer.writing and (graph := self._number(world)) is not None:
                with world._core.connection.transaction():
                    Purging(world).forget_removed(graph)

    # -- forgetting -----------------------------------------------------------------------------------------------

    @retried
    def forget(
        self,
        what: object = None,
        *,
        key: str | None = None,
        session: str | None = None,
        everything: bool = False,
        purge: bool = False,
        author: str | None = None,
        message: str | None = None,
    ) -> Forgotten:
        """Forget memories: results of `recall` or IRIs, the memory of a key, or the memories of a session.

        The facts that were told because of them alone go with them. With `everything`, all of this scope goes, but not
        what lies beneath it. It is one revision, which can be undone. With `purge`, nothing is left of them in the file
        that no other text has, and it is rebuilt; with `everything` beside it, the file itself goes. What backups,
        replicas and shards hold is told in `.elsewhere`. ArgumentError where nothing is named, or something that is
        none of this memory.
        """
        if not self._memories.has(self._home):
            self._chosen(None, what, key, session, everything=everything)
            return Forgotten(0, 0, None, purge, elsewhere(self._asked) if purge else ())
        with self._memories.using(self._home) as world:
            with self._writing(author, message) as (_, writing, keep):
                iris = self._chosen(world, what, key, session, everything=everything)
                graph = self._number(world)
                numbers = [number for number in world._core.dictionary.find(iris) if number is not None]
                if graph is None:
                    quads, once, numbers = NO_QUADS, NO_QUADS, []
                else:
                    quads = self._held(world, numbers, graph)
                    if everything:
                        quads = world._core.patterns.matching((None, None, None), self._name)
                    writing.apply(removed=quads)
                    once = Purging(world).ever(graph, numbers, everything=everything) if purge else NO_QUADS
                count = len(set(numbers) & {*quads[:, 0].tolist(), *once[:, 0].tolist()})
            if purge:
                with world._core.connection.transaction():
                    left = unique_quads(np.concatenate([once, quads]))
                    Purging(world).purge(self._name, left, everything=everything)
                    forget_unused(world._core.connection)
                world._core.dictionary.forget()
                if world.replica is None:  # a server rebuilds its own
                    world.file.compact()
            others = Keeping(world).beneath(self._name.value) or world.proposals.list(status="any", limit=1)
        if purge and everything and not others and self.scope == self._home:
            self._memories.remove(self._home)
        told = elsewhere(self._asked) if purge else ()
        return self._forgotten(writing, count, purged=purge or not keep.history, elsewhere=told)

    def _forgotten(self, writing: Any, count: int, *, purged: bool, elsewhere: tuple[str, ...] = ()) -> Forgotten:
        change = writing.change
        revision = change.revision if isinstance(change, Change) else None
        return Forgotten(count, writing.removed, revision, purged, elsewhere, tuple(change.notes))

    def _chosen(
        self, world: Any, what: object, key: str | None, session: str | None, *, everything: bool
    ) -> list[ox.NamedNode]:
        if sum((what is not None, key is not None, session is not None, everything)) != 1:
            raise ArgumentError("name the memories to forget: their IRIs, a key, a session, or everything")
        if key is not None:
            return [memory_iri(self._name, checked("a key", key))]
        if session is not None or everything:
            return [] if world is None else self._all(world, session)
        given = what if isinstance(what, list | tuple | Recalled) else [what]
        iris = [ox.NamedNode(str(getattr(one, "iri", one))) for one in given]
        for iri in iris:
            if iri.value.partition("#")[0] != self._name.value:
                raise ArgumentError(f"{iri.value} is not of {'/'.join(self.scope)}: forget it in its own scope")
        return iris

    def _all(self, world: Any, session: str | None) -> list[ox.NamedNode]:
        """All memories of this scope, or of a session."""
        said = (TEXT, None) if session is None else (SESSION, session_iri(self._name, checked("a session", session)))
        rows = world._core.patterns.matching((None, *said), self._name)
        numbers = dict.fromkeys(rows[:, 0].tolist())
        terms = world._core.dictionary.terms(numbers)
        return [terms[one] for one in numbers]


def _timestamp(time: datetime.datetime) -> ox.Literal:
    return ox.Literal(time.astimezone(datetime.UTC).isoformat(), datatype=TIME)


def _citing(fact: object, sources: Sequence[Any]) -> object:
    """A fact that also cites `sources`; a value of another shape is returned as it is."""
    if isinstance(fact, str) or not isinstance(fact, Sequence) or len(fact) not in (3, 4):
        return fact
    times = fact[3] if len(fact) == 4 else {}
    if not isinstance(times, Mapping):
        return fact
    return (*fact[:3], {**times, "cites": [*listed(times.get("cites") or []), *sources]})
