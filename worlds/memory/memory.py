"""A memory: what an assistant was told in a scope, found again by words and meaning, until it is forgotten."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.embedders.base import checked_documents
from worlds.errors import ArgumentError, WorldsError
from worlds.graph.terms import to_oxigraph, to_rdflib
from worlds.memory.keeping import Keeping
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
    TIME,
    TOKEN,
    TYPE,
    checked,
    graph_of,
    memory_iri,
    scope_of,
    session_iri,
)
from worlds.memory.purging import Purging
from worlds.memory.recalling import Recalling
from worlds.memory.records import Forgotten, Keep, Kind, Recalled, Retained, days_of
from worlds.quads.dictionary import Ids
from worlds.quads.namespaces import listed
from worlds.quads.reader import quad_ids
from worlds.quads.rows import NO_QUADS, difference, find_quads, unique_quads
from worlds.revisions.gate import Change
from worlds.sql import statements
from worlds.sql.retrying import retried
from worlds.validity.times import literal, microseconds, now
from worlds.vectors.embedding import text_digest

_QUERIES = statements("queries.sql")
_LONGEST = 1_000_000  # characters of what is told at once
_MOST = 1000  # memories that are recalled or listed
_SHORT = 1000  # characters of a text that is embedded as it is told; a longer one is when it is read

Turn = str | tuple[str, str] | Mapping[str, str]
"""What was said: a text, (role, text), or {"role": …, "content": …}."""


class Memory(Recalling):
    """The memory of one scope; made by `World.memory`.

    It is the graph `.graph` of the world, which nobody sees but who names it or its scope. `.world` is the scope as a
    `World`, with all verbs: what is beneath the scope is in it, what is outlived is not.
    """

    def __init__(self, world: Any, scope: object, parts: Any) -> None:
        """`world` is that whose verbs are asked, `parts` those of the whole one, which is written."""
        self.graph = to_rdflib(graph_of(scope))
        self.scope = scope_of(str(self.graph))
        self._name = graph_of(scope)
        self._asked = world
        self._parts = parts
        self._keeping = Keeping(parts._connection, parts._dictionary)
        self._purging = Purging(parts._connection, parts._dictionary, self._keeping)
        self._only()  # ReadOnlyError for what is outside of a scope

    def __repr__(self) -> str:
        return f"<Memory {'/'.join(self.scope)} of {self._parts.path}>"

    @property
    def _written(self) -> Any:
        return self._parts._written

    # -- how long -------------------------------------------------------------------------------------------------

    @property
    def keep(self) -> Keep:
        """How long it keeps what it is told: as it was set for this scope, or for the narrowest around it."""
        return self._keeping.keep(self._name.value)

    @keep.setter
    def keep(self, keep: Keep) -> None:
        if not isinstance(keep, Keep):
            raise TypeError(f"keep is a Keep, not {keep!r}")
        try:
            with self._parts._connection.transaction():
                self._keeping.set_keeping(self._name, keep)
        except BaseException:
            self._parts._dictionary.forget()
            raise

    @retried
    def sweep(self) -> Forgotten:
        """Write what time has brought: what is outlived goes. Nobody sees it before, either; it takes up space."""
        with self._writing(None, "outlived") as (writing, keep):
            gone, quads = self._outlived()
            writing.apply(removed=quads)
        return self._forgotten(writing, len(gone), purged=not keep.history)

    @property
    def scopes(self) -> list[tuple[str, ...]]:
        """The scopes that were told something: this one and those beneath it."""
        return [scope_of(name) for name in self._keeping.beneath(self._name.value)]

    def _outlived(self) -> tuple[list[int], Ids]:
        graph = self._number()
        if graph is None:
            return [], NO_QUADS
        gone, _ = self._keeping.outlived({self._name.value: graph}, microseconds(now()))
        return gone, self._held(gone, graph)

    def _held(self, memories: list[int], graph: int) -> Ids:
        """The quads of some memories that hold now, with what is said because of them alone."""
        quads = self._keeping.concerning(memories, graph)
        quads = unique_quads(np.concatenate([quads, self._keeping.because_of(memories, graph)]))
        return quads[[place for place, _, _ in find_quads(self._parts._connection, quads)]]

    def _number(self) -> int | None:
        found: int | None = self._keeping.beneath(self._name.value).get(self._name.value)
        return found

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

        `at` is when it was said, now if it is not given. `session` names the conversation, `role` who spoke. `cites`
        are IRIs of what it was taken from. `about` are the entities that it is about, by IRI or by name: a name that
        means one for sure is linked, one that does not is a proposal. With a `key`, it takes the place of what has the
        same key. `kind` is "episode", "fact", "preference" or "entity"; `days` is its time to live. `facts` are told as
        by `tell`, and cite it. ArgumentError for what is not a text, and for a key of several turns.

        What is outlived goes in the same revision. Texts of up to 1,000 characters are embedded at once; others, and
        all where the embedder fails, when they are read.
        """
        turns = self._turns(told, role)
        if key is not None and len(turns) != 1:
            raise ArgumentError("a key is of one text: turns have none")
        if kind not in KINDS:
            raise ArgumentError(f"kind is one of {', '.join(KINDS)}, not {kind!r}")
        lives = days_of("days", days)
        began = self._time(at)
        sources = [self._asked._namespaces.term(one) for one in listed(cites or [])]
        known, unsure = self._entities(listed(about or []))
        graph = self._name
        iris = [memory_iri(graph, None if key is None else checked("a key", key)) for _ in turns]
        quads: list[ox.Quad] = []
        for place, (iri, (who, text)) in enumerate(zip(iris, turns, strict=True)):
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
                said.append((ROLE, ox.Literal(checked("a role", who), datatype=TOKEN)))
            if lives is not None:
                said.append((EXPIRES, _timestamp(moment + datetime.timedelta(days=lives))))
            quads += [ox.Quad(iri, predicate, value, graph) for predicate, value in said]
        change, outlived, receipt = self._remember(
            iris, quads, [text for _, text in turns], list(facts), keyed=key is not None, author=author, message=message
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
        """Remember something by triples of one's own, in the place of what has the same key.

        `said` maps predicates (IRIs) to values or lists of values, as `World.add` takes objects; texts under
        https://schema.org/text are found by `recall`. The rest is as in `retain`.
        """
        if kind not in KINDS:
            raise ArgumentError(f"kind is one of {', '.join(KINDS)}, not {kind!r}")
        iri, began, lives = memory_iri(self._name, checked("a key", key)), self._time(at), days_of("days", days)
        told = [(predicate, value) for predicate, values in said.items() for value in listed(values)]
        quads = self._asked._namespaces.quads([(iri, predicate, value, self._name) for predicate, value in told])
        quads.append(ox.Quad(iri, TYPE, CLASSES[kind], self._name))
        quads.append(ox.Quad(iri, CREATED, _timestamp(began), self._name))
        if lives is not None:
            quads.append(ox.Quad(iri, EXPIRES, _timestamp(began + datetime.timedelta(days=lives)), self._name))
        texts = [one.object.value for one in quads if one.predicate == TEXT and isinstance(one.object, ox.Literal)]
        change, outlived, _ = self._remember([iri], quads, texts, [], keyed=True, author=author, message=message)
        revision = change.revision if isinstance(change, Change) else None
        return Retained((to_rdflib(iri),), revision, outlived, notes=tuple(change.notes))

    def _remember(
        self,
        iris: Sequence[ox.NamedNode],
        quads: Sequence[ox.Quad],
        texts: Sequence[str],
        facts: Sequence[object],
        *,
        keyed: bool,
        author: str | None,
        message: str | None,
    ) -> tuple[Any, int, Any]:
        """Write memories; gives the change, how many others were outlived, and what became of facts."""
        vectors = self._vectors(texts)
        with self._writing(author, message) as (writing, _):
            added = quad_ids(self._parts._connection, self._parts._dictionary, quads)
            gone = self._replaced(iris, added) if keyed else NO_QUADS
            writing.apply(difference(added, gone), difference(gone, added))
            outlived, swept = self._outlived()
            writing.apply(removed=swept)
            self._keep_vectors(vectors)
            receipt = self.tell(facts, cites=[to_rdflib(one) for one in iris], author=author) if facts else None
        return writing.change, len(outlived), receipt

    def tell(self, facts: Iterable[object], *, cites: object = None, **options: Any) -> Any:
        """State facts by the names of things in this memory, as `World.tell` does; `cites` are sources of all."""
        sources = list(listed(cites or []))
        given = [_citing(fact, sources) if sources else fact for fact in facts]
        return self.world.tell(given, **options)

    def _turns(self, told: Any, role: str | None) -> list[tuple[str | None, str]]:
        turns = [told] if isinstance(told, str | Mapping) else told
        if not isinstance(turns, Sequence) or not turns:
            raise ArgumentError(f"what is told is a text, or a list of turns, not {told!r:.80}")
        found = []
        for turn in turns:
            if isinstance(turn, Mapping):
                who, text = turn.get("role", role), turn.get("content")
            elif isinstance(turn, tuple) and len(turn) == 2:
                who, text = turn
            else:
                who, text = role, turn
            found.append((who, checked("what is told", text, _LONGEST)))
        return found

    def _time(self, at: object) -> datetime.datetime:
        if at is None:
            return now()
        given = literal("at", at)
        read = datetime.datetime.fromisoformat(given.value) if len(given.value) > 9 else None
        if read is None:
            raise ArgumentError(f"at is a day or a time, not {at!r}", kind="time")
        return read if read.tzinfo else read.replace(tzinfo=datetime.UTC)

    def _entities(self, names: Iterable[object]) -> tuple[list[Any], list[tuple[str, Any]]]:
        """The entities that are meant for sure, and the names that may mean one, with the likeliest."""
        known, unsure = [], []
        for name in names:
            try:
                known.append(self._asked._namespaces.entity(name))
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
                found = self.world.propose(add=[quad], kind="link", why=why, confidence=confidence, author=author)
                made.append(found.id)
        return tuple(made)

    def _replaced(self, iris: Sequence[ox.NamedNode], added: Ids) -> Ids:
        numbers = [number for number in self._parts._dictionary.find(list(iris)) if number is not None]
        graph = self._parts._dictionary.find([self._name])[0]
        if graph is None or not numbers:
            return NO_QUADS
        held = self._held(numbers, graph)
        return held[np.isin(held[:, 0], numbers) | ~np.isin(held[:, 2], numbers)]  # what others say of it stays

    def _vectors(self, texts: Sequence[str]) -> tuple[list[bytes], Any] | None:
        """The vectors of short texts, by their digests; None where there are none to make."""
        embedder, source = self._parts._embedder.embedder, self._parts._embeddings
        short = list(dict.fromkeys(text for text in texts if len(text) <= _SHORT))
        if embedder is None or not short or not source.fits(embedder):
            return None
        try:
            vectors, _ = checked_documents(embedder, short)
            source.adopt(embedder)
        except WorldsError:
            return None  # they are found by their words, and embedded when they are read
        return [text_digest(text) for text in short], vectors

    def _keep_vectors(self, vectors: tuple[list[bytes], Any] | None) -> None:
        if vectors is not None:
            self._keeping.keep_vectors(self._name.value, *vectors)

    @contextlib.contextmanager
    def _writing(self, author: str | None, message: str | None) -> Any:
        """A revision of the whole world, which changes this memory alone, and what is kept of it."""
        parts, keep = self._parts, self.keep
        with parts._connection.lock, self._asked._within(self._name):
            with parts._writer.revision(author=author, message=message) as writing:
                yield writing, keep
            if not keep.history and not parts._writer.writing:
                with parts._connection.transaction():
                    self._purging.forget_removed(self._name)

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
        """Forget memories: what `recall` gave, one of it or its IRI, or several; that of a key; those of a session.

        The facts that were told because of them alone go with them. With `everything`, all of this scope goes, but not
        what lies beneath it. It is one revision, which can be undone. With `purge`, nothing is left of them in the file
        that no other text has: see `worlds.memory.purging`; what backups, replicas and shards hold is told in
        `.elsewhere`. `compact` gives the space back, and overwrites what SQLite has left between its rows.
        ArgumentError where nothing is named, or something that is none of this memory.
        """
        iris = self._chosen(what, key, session, everything=everything)
        with self._writing(author, message) as (writing, keep):
            graph = self._number()
            numbers = [number for number in self._parts._dictionary.find(iris) if number is not None]
            if graph is None:
                numbers = []
            if everything and graph is not None:
                quads = self._parts._patterns.matching((None, None, None), self._name)
            else:
                quads = self._held(numbers, graph or 0)
            writing.apply(removed=quads)
            once = self._purging.ever(self._name, numbers, everything=everything) if purge else NO_QUADS
            count = len(set(numbers) & {*quads[:, 0].tolist(), *once[:, 0].tolist()})
        purged = purge or not keep.history
        if purge:
            with self._parts._connection.lock, self._asked._within(self._name):
                left = unique_quads(np.concatenate([once, quads]))
                self._purging.purge(self._name, left, self._parts._chunks, everything=everything)
            self._parts._dictionary.forget()
        elsewhere = self._purging.elsewhere(self._parts) if purge else ()
        return self._forgotten(writing, count, purged=purged, elsewhere=elsewhere)

    def _forgotten(self, writing: Any, count: int, *, purged: bool, elsewhere: tuple[str, ...] = ()) -> Forgotten:
        change = writing.change
        revision = change.revision if isinstance(change, Change) else None
        return Forgotten(count, writing.removed, revision, purged, elsewhere, tuple(change.notes))

    def _chosen(self, what: object, key: str | None, session: str | None, *, everything: bool) -> list[ox.NamedNode]:
        if sum((what is not None, key is not None, session is not None, everything)) != 1:
            raise ArgumentError("name what is forgotten: memories, a key, a session, or everything")
        if key is not None:
            return [memory_iri(self._name, checked("a key", key))]
        if session is not None or everything:
            return self._all(session)
        given = what if isinstance(what, list | tuple | Recalled) else [what]
        iris = [ox.NamedNode(str(getattr(one, "iri", one))) for one in given]
        for iri in iris:
            if iri.value.partition("#")[0] != self._name.value:
                raise ArgumentError(f"{iri.value} is no memory of {'/'.join(self.scope)}: its own scope forgets it")
        return iris

    def _all(self, session: str | None) -> list[ox.NamedNode]:
        """All memories of this scope, or those of a session."""
        said = (TEXT, None) if session is None else (SESSION, session_iri(self._name, checked("a session", session)))
        rows = self._parts._patterns.matching((None, *said), self._name)
        numbers = dict.fromkeys(rows[:, 0].tolist())
        terms = self._parts._dictionary.terms(numbers)
        return [terms[one] for one in numbers]


def _timestamp(time: datetime.datetime) -> ox.Literal:
    return ox.Literal(time.astimezone(datetime.UTC).isoformat(), datatype=TIME)


def _citing(fact: object, sources: Sequence[Any]) -> object:
    """A fact that cites some sources, too; what is no fact stays, and is told so."""
    if isinstance(fact, str) or not isinstance(fact, Sequence) or len(fact) not in (3, 4):
        return fact
    times = fact[3] if len(fact) == 4 else {}
    if not isinstance(times, Mapping):
        return fact
    return (*fact[:3], {**times, "cites": [*listed(times.get("cites") or []), *sources]})
