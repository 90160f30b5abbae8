"""The history of a world: its revisions, what they did, how the world was, taking back, patches, forgetting.

Nothing is recorded here. The gate keeps each quad's revision, and the quads that were removed; all else follows from
these. A revision that was forgotten (`prune`) takes the quads along that it had removed.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import re
import uuid
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Integral, Real
from typing import Any, BinaryIO, NoReturn, TypeAlias, overload

import numpy as np
import pyoxigraph as ox
from numpy.typing import NDArray

from worlds.errors import ArgumentError, ConflictError, ParseError, QueryError, WorldsError
from worlds.graph.lexical import LexicalForms
from worlds.graph.patches import Row, read_patch, write_patch
from worlds.graph.query.evaluation import evaluate
from worlds.graph.query.query import Query
from worlds.graph.query.results import Solutions, Triples
from worlds.graph.search.rewriting import mentions_search, rewrite
from worlds.graph.sources import sources
from worlds.graph.terms import GraphName, format_term, to_object, to_rdflib
from worlds.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary, Ids, Interner
from worlds.quads.export import export
from worlds.quads.namespaces import Namespaces
from worlds.quads.rows import NO_QUADS, decoded, difference, find_quads
from worlds.sql import statements
from worlds.sql.connection import Connection

Quad: TypeAlias = tuple[Any, Any, Any, Any]

_QUERIES = statements("queries.sql")
_SQL = statements("history.sql")
_PAGE = 50_000  # rows read at a time
_BLOCK = 20_000  # quads whose terms are decoded together
_PENDING = 100_000  # terms that wait for their ids
_MOST_DAYS = 1_000_000
_NEVER = 2**31 - 1  # later than any revision
_SHOWN = 3  # quads that a conflict names
_PATCHES = uuid.UUID("5d0e6f3c-1c52-4d2c-9a57-6a5f1c3f2b10")  # what the names of patches are made in
_TEXT = re.compile(r"\s*(?:[AD]|T[XCA]|P[AD]|H)\s.*\.\s*")  # a patch of one row


@dataclass(frozen=True, slots=True)
class Entry:
    """One revision: when (in UTC), by whom and why it was made, and how many quads it added and removed."""

    revision: int
    time: datetime.datetime
    author: str | None
    message: str | None
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class Retention:
    """How much history is kept: the newest `revisions`, and those of the last `days`; None sets no bound.

    A revision is forgotten when none of the bounds that are set keeps it. Without any, all history is kept.
    """

    revisions: int | None = None
    days: float | None = None

    def __post_init__(self) -> None:
        if self.revisions is not None and not _whole(self.revisions):
            raise ValueError(f"revisions is a whole number from 0 on, or None, not {self.revisions!r}")
        if self.days is not None and not (_number(self.days) and 0 <= self.days < _MOST_DAYS):
            raise ValueError(f"days is a number from 0 to a million, or None, not {self.days!r}")


class Quads(Sequence[Quad]):
    """Quads as tuples of rdflib terms, subject, predicate, object and graph (None for the default graph).

    They are decoded when they are read; their number costs nothing.
    """

    def __init__(self, dictionary: Dictionary, ids: Ids) -> None:
        self._dictionary = dictionary
        self._ids = ids
        self._read: list[ox.Quad] | None = None

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Quad]:
        return map(_shown, self.terms())

    def read(self) -> None:
        """Decode all of them at once."""
        self._read = list(self.terms())

    def terms(self) -> Iterator[ox.Quad]:
        """The quads as pyoxigraph has them."""
        return _decoded(self._dictionary, self._ids) if self._read is None else iter(self._read)

    @overload
    def __getitem__(self, index: int) -> Quad: ...
    @overload
    def __getitem__(self, index: slice) -> Quads: ...
    def __getitem__(self, index: int | slice) -> Quad | Quads:
        whole = isinstance(index, slice)
        part = Quads(self._dictionary, self._ids[index] if whole else self._ids[index][np.newaxis])
        if self._read is not None:
            part._read = self._read[index] if isinstance(index, slice) else [self._read[index]]
        return part if whole else next(iter(part))

    def __repr__(self) -> str:
        return f"<Quads: {len(self)}>"


class Diff:
    """What is different after revision `b` from how it was after revision `a`.

    `added` and `removed` are quads; `created` and `dropped` are the named graphs that came to exist, or ceased to,
    apart from their quads.
    """

    def __init__(
        self, dictionary: Dictionary, a: int, b: int, added: Ids, removed: Ids, headers: Mapping[str, ox.NamedNode]
    ) -> None:
        self.a = a
        self.b = b
        self.added = Quads(dictionary, _ordered(added[added[:, 0] != 0]))
        self.removed = Quads(dictionary, _ordered(removed[removed[:, 0] != 0]))
        self.created = _graphs(dictionary, added)
        self.dropped = _graphs(dictionary, removed)
        self._headers = dict(headers)

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.created or self.dropped)

    def __repr__(self) -> str:
        return f"<Diff from {self.a} to {self.b}: {len(self.added)} added, {len(self.removed)} removed>"

    def pieces(self) -> Iterator[str]:
        """The text of `patch`, some thousand rows at a time."""
        return write_patch(self.removed.terms(), self.added.terms(), self._headers)

    def patch(self) -> str:
        """The difference as an RDF Patch, as `World.apply_patch` takes it. Graphs without a quad have no row there."""
        return "".join(self.pieces())


class _NoSearch:
    """What a query of the past that searches meets."""

    def select(self, *_: object) -> NoReturn:
        raise QueryError(
            "a search sees only the present: revisions of the past have no full-text index and no vectors; ask "
            "World.query, or leave the search out"
        )

    search = similarity = select


class Past:
    """The world as it was after a revision. It has no verbs that write, and later writes do not change it."""

    def __init__(self, history: History, revision: int) -> None:
        self.revision = revision
        self._history = history
        self._prefixes = history.namespaces.prefixes
        self._known: Ids | None = None
        self._index: tuple[ox.Store, LexicalForms] | None = None

    def __enter__(self) -> Past:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Past {self._history.connection.path} at revision {self.revision}>"

    def __bool__(self) -> bool:
        return True  # an empty world is a world

    def __len__(self) -> int:
        """The number of quads that there were."""
        if self._known is not None:
            return int((self._known[:, 0] != 0).sum())
        return self._history.count(self.revision)

    def close(self) -> None:
        """Give the memory back; the next call reads the past again."""
        self._known = self._index = None

    def _ids(self) -> Ids:
        """All rows that there were, markers included, int64 [n, 4]."""
        with self._history.connection.lock:
            if self._known is None:
                self._known = self._history.state(self.revision)
            return self._known

    def quads(
        self, subject: object = None, predicate: object = None, object: object = None, graph: object = None
    ) -> Iterator[Quad]:
        """The quads with these terms, as rdflib terms; None stands for any term, graph "default" for the default one.

        The fourth of each is None for the default graph. Lexical forms are as they were given.
        """
        dictionary = self._history.dictionary
        ids = self._ids()
        ids = ids[ids[:, 0] != 0]
        for column, value in enumerate((subject, predicate, object, graph)):
            if value is not None:
                found = self._number(value, graph=column == 3)
                ids = ids[:0] if found is None else ids[ids[:, column] == found]
        return iter(Quads(dictionary, _ordered(ids)))

    def _number(self, value: object, *, graph: bool) -> int | None:
        namespaces = self._history.namespaces
        if not graph:
            return self._history.dictionary.find(namespaces.pattern(value))[0]  # type: ignore[arg-type]  # not None
        name = namespaces.graph(value)
        return DEFAULT_GRAPH_ID if isinstance(name, ox.DefaultGraph) else self._history.dictionary.find([name])[0]

    def query(
        self,
        query: str,
        *,
        bindings: Mapping[str, object] | None = None,
        union: bool = False,
        timeout: float | None = None,
        max_results: int | None = None,
        max_memory: int | None = None,
    ) -> Solutions | Triples | bool:
        """Answer a SPARQL query, as `World.query` does. The first one reads the past into an index in memory.

        The past has no full-text index and no vectors: a query that searches it is a QueryError.
        """
        asked = Query(
            query,
            self._prefixes,
            {name: to_object(value, prefixes=self._prefixes) for name, value in (bindings or {}).items()},
            union=union,
            timeout=timeout,
            max_results=max_results,
            max_memory=max_memory,
        )
        if mentions_search(query):
            rewrite(asked, _NoSearch())  # raises where there is a search
        with self._history.connection.lock:
            if self._index is None:
                self._index = self._indexed()
            store, forms = self._index
        return evaluate(store, asked.started(), forms)

    def _indexed(self) -> tuple[ox.Store, LexicalForms]:
        ids = self._ids()
        dictionary = self._history.dictionary
        store = ox.Store()
        store.bulk_extend(_decoded(dictionary, ids))
        for graph in _terms(dictionary, ids[ids[:, 0] == 0, 3]):
            store.add_graph(graph)
        objects = np.unique(ids[ids[:, 0] != 0, 2])
        held = set(objects.tolist())
        forms = LexicalForms(lambda terms: [number in held for number in dictionary.find(terms)])
        for start in range(0, len(objects), _BLOCK):
            forms.learn(_terms(dictionary, objects[start : start + _BLOCK]))
        return store, forms

    def export(
        self, target: str | os.PathLike[str] | BinaryIO, *, format: str | None = None, graph: object = None
    ) -> int:
        """Write the quads as they were to a file or a stream, and give their number, as `World.export` does."""
        history = self._history
        name = None if graph is None else history.namespaces.graph(graph)
        ids = self._ids()
        past = ids[ids[:, 0] != 0]
        return export(
            history.connection, history.dictionary, target, format, name, history.namespaces.declared, past=past
        )


class History:
    """What one world remembers of itself. Its methods that write run inside the caller's transaction."""

    def __init__(self, connection: Connection, dictionary: Dictionary, namespaces: Namespaces) -> None:
        self.connection = connection
        self.dictionary = dictionary
        self.namespaces = namespaces

    # -- revisions ------------------------------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """The number of the last revision, 0 for a world without one."""
        return int(self.connection.value(_QUERIES["last_revision"]))

    @property
    def first(self) -> int:
        """The first revision that is not forgotten; how the world was can be told from the one before it on."""
        return int(self._meta("history_from") or 1)

    def _meta(self, name: str) -> Any:
        return self.connection.meta(name)

    def entries(self, limit: int | None) -> list[Entry]:
        """The revisions, newest first."""
        if limit is not None and not _whole(limit):
            raise ValueError(f"limit is a whole number from 0 on, or None, not {limit!r}")
        most = -1 if limit is None else min(int(limit), _NEVER)
        with self.connection.snapshot():
            rows = self.connection.rows(_SQL["entries"], _SQL["entries"].bind(first=self.first, limit=most))
        return [Entry(number, _time(time), *others) for number, time, *others in rows]

    def _now(self) -> int:
        """The last revision, or the one that is being written."""
        return self.last + (1 if self.connection.in_transaction else 0)

    def check(self, revision: object) -> int:
        """The number of a revision after which it can be told how the world was; 0 is the world before the first."""
        if not _number(revision) or not isinstance(revision, Integral):
            raise TypeError(f"a revision is a whole number, not {revision!r}")
        number, last = int(revision), self.last
        if number < 0 or number > last:
            raise ArgumentError(f"there is no revision {number}: the last one is {last}", kind="revision")
        self._require(number, self.first - 1)
        return number

    def _require(self, revision: int, first: int) -> None:
        if revision < first:
            told = f"revision {revision} is forgotten: history begins with revision {self.first}"
            raise WorldsError(told, kind="revision")

    # -- states ---------------------------------------------------------------------------------------------------

    def _rows(self, name: str, **parameters: int) -> Ids:
        """All rows of the statement `name`, which pages by `page`, int64 [n, columns]."""
        statement = _SQL[name]
        pages: list[Ids] = []
        while True:
            last, page = self.connection.page(statement, statement.bind(limit=_PAGE, **parameters))
            pages.append(page)
            if last is None:
                return np.concatenate(pages)
            parameters["page"] = last

    def _held(self, after: int, last: int) -> Ids:
        """Quads that hold now, with the revision that added them, after one and up to another: int64 [n, 5]."""
        first = self.connection.value(_SQL["first_quad"], _SQL["first_quad"].bind(after=after, last=last))
        return self._rows("held_rows", page=first - 1 if after >= self.first - 1 else 0, after=after, last=last)

    def _gone(self, removed_after: int, last: int) -> Ids:
        """Quads removed after one revision and added up to another, with both revisions: int64 [n, 6]."""
        first = self.connection.value(_SQL["first_removed"], (removed_after,))
        if first is None:
            return np.empty((0, 6), dtype=np.int64)
        return self._rows("removed_rows", page=first - 1, removed_after=removed_after, last=last)

    def count(self, revision: int) -> int:
        """The number of quads after a revision."""
        with self.connection.snapshot():
            revision = self.check(revision)
            return int(self.connection.value(_SQL["count_at"], (revision,)))

    def state(self, revision: int) -> Ids:
        """The quads after a revision, markers included, int64 [n, 4]."""
        with self.connection.snapshot():
            revision = self.check(revision)
            held, gone = self._held(0, revision), self._gone(revision, revision)
        return np.concatenate([held[:, :4], gone[:, :4]])

    def diff(self, a: int, b: int | None) -> Diff:
        """The difference between two states; `b` None is the world as it is now, an open transaction included."""
        with self.connection.snapshot():
            a = self.check(a)
            b = self._now() if b is None else self.check(b)
            first, last = sorted((a, b))
            held, gone = self._held(first, last), self._gone(first, last)
            came = (gone[:, 4] > first) & (gone[:, 5] > last)
            went = (gone[:, 4] <= first) & (gone[:, 5] <= last)
            later = np.concatenate([held[:, :4], gone[came, :4]])
            earlier = gone[went, :4]
            # What was removed and added again in between stands in both.
            added, removed = difference(later, earlier), difference(earlier, later)
            if a > b:
                added, removed = removed, added
            headers = {"id": self._name(b), "prev": self._name(a)}
            found = Diff(self.dictionary, a, b, added, removed, {key: value for key, value in headers.items() if value})
            if self.connection.in_transaction:  # one that is undone frees its ids, which may come to mean other terms
                found.added.read()
                found.removed.read()
        return found

    def _name(self, revision: int) -> ox.NamedNode | None:
        """What the state after a revision is called in patches: the same in every copy of the world."""
        row = self.connection.row(_SQL["entry"], (revision,))
        if row is None:
            return None
        return ox.NamedNode(uuid.uuid5(_PATCHES, json.dumps([self._meta("created"), *row])).urn)

    def past(self, revision: int) -> Past:
        """The world after a revision."""
        with self.connection.snapshot():
            return Past(self, self.check(revision))

    # -- taking back ----------------------------------------------------------------------------------------------

    def inverse(self, revision: int, *, force: bool) -> tuple[Ids, Ids]:
        """(quads to add, quads to remove), int64 [n, 4], that take back what a revision did.

        ConflictError where a later revision has done so for some of its quads already; `force` leaves those out.
        """
        revision = self.check(revision)
        if revision == 0:
            raise ArgumentError("there is no revision 0: it stands for the empty world", kind="revision")
        self._require(revision, self.first)
        held, gone = self._held(revision - 1, revision), self._gone(revision - 1, _NEVER)
        lost, taken = gone[gone[:, 4] == revision, :4], gone[gone[:, 5] == revision, :4]
        back, again = self._find(lost), self._find(taken)  # those that hold now, in spite of a later revision or by it
        conflicts = np.concatenate([np.delete(lost, back[:, 0], axis=0), taken[again[:, 0]]])
        if len(conflicts) and not force:
            removals = {tuple(quad): number for *quad, _, number in gone.tolist()}  # the last one of each
            absent = [removals[tuple(quad)] for quad in conflicts[: len(lost) - len(back)].tolist()]
            raise ConflictError(self._conflict(revision, conflicts, {*absent, *again[:, 1].tolist()}))
        quads = np.delete(taken, again[:, 0], axis=0)
        return quads, np.concatenate([held[:, :4], lost[back[:, 0]]])

    def _find(self, quads: Ids) -> Ids:
        """(position in `quads`, the revision that added it) of those that hold now, int64 [n, 2]."""
        rows = [(position, revision) for position, _, revision in find_quads(self.connection, quads)]
        return np.array(rows, dtype=np.int64).reshape(-1, 2)

    def _conflict(self, revision: int, quads: Ids, later: set[int]) -> str:
        numbers = list(map(str, sorted(later)))
        named = f"revision {numbers[0]}"
        if len(numbers) > 1:
            named = f"revisions {', '.join(numbers[:-1])} and {numbers[-1]}"
        return (
            f"revision {revision} cannot be undone as a whole, because {named} changed {_counted(len(quads))} of it "
            f"back: {self._named(quads)}; undo {'it' if len(numbers) == 1 else 'them'} first, or force, which leaves "
            "such quads as they are"
        )

    def _named(self, quads: Ids) -> str:
        """Some of the quads, for a person."""
        terms = self.dictionary.terms(np.unique(quads[:_SHOWN]).tolist())
        shown = [
            " ".join(format_term(terms[part]) for part in quad if part) if quad[0] else f"graph {terms[quad[3]]}"
            for quad in quads[:_SHOWN].tolist()
        ]
        return "; ".join(shown) + ("; …" if len(quads) > _SHOWN else "")

    # -- patches --------------------------------------------------------------------------------------------------

    def read_patch(self, source: object, *, strict: bool) -> tuple[Ids, Ids]:
        """(quads that a patch adds, quads that it removes), int64 [n, 4]; its prefixes are set.

        ConflictError, if `strict`, where it adds what is there or deletes what is not.
        """
        interner = Interner(self.connection, self.dictionary, rename_blank_nodes=False)
        numbers, adds = array("q"), array("b")
        aborted: list[tuple[int, int]] = []
        prefixes: list[Row] = []
        begun, kept = 0, 0  # changes, and prefixes, at the last TX
        with interner.bulk(), _opened(source) as (stream, name):
            for row in read_patch(stream, name):
                code, quad = row.code, row.quad
                if quad is not None:
                    for term in (quad.subject, quad.predicate, quad.object, quad.graph_name):
                        numbers.append(interner.local(term))  # type: ignore[arg-type]  # the default graph is known
                    adds.append(code == "A")
                    if len(interner.pending) > _PENDING:
                        interner.flush()
                elif code == "TX":
                    begun, kept = len(adds), len(prefixes)
                elif code == "TA":
                    aborted.append((begun, len(adds)))
                    del prefixes[kept:]
                elif code in ("PA", "PD"):
                    prefixes.append(row)
            ids = interner.resolve(np.array(numbers, dtype=np.int64).reshape(-1, 4))
        self._set_prefixes(prefixes)
        valid = np.ones(len(ids), dtype=np.bool_)
        for first, last in aborted:
            valid[first:last] = False
        return self._net(ids[valid], np.array(adds, dtype=np.bool_)[valid], strict=strict)

    def _set_prefixes(self, rows: Sequence[Row]) -> None:
        for row in rows:
            if row.code == "PD":
                self.namespaces.unbind(row.name)
            else:
                assert isinstance(row.value, ox.NamedNode)
                self.namespaces.bind(row.name, row.value.value)

    def _net(self, quads: Ids, adds: NDArray[np.bool_], *, strict: bool) -> tuple[Ids, Ids]:
        """What changes that follow each other come to; `quads` int64 [n, 4], `adds` [n]."""
        if not len(quads):
            return NO_QUADS, NO_QUADS
        order = np.lexsort((quads[:, 3], quads[:, 2], quads[:, 1], quads[:, 0]))  # stable: equal ones keep their order
        ordered, adds = quads[order], adds[order]
        first = np.append(True, np.any(np.diff(ordered, axis=0) != 0, axis=1))
        distinct = ordered[first]
        there = np.zeros(len(distinct), dtype=np.bool_)
        there[self._find(distinct)[:, 0]] = True
        before = np.append(False, adds[:-1])
        before[first] = there
        idle = np.sort(order[adds == before])
        if strict and len(idle):
            self._refuse(quads[idle], added=bool(adds[np.flatnonzero(order == idle[0])[0]]))
        after = adds[np.append(first[1:], True)]
        return distinct[after & ~there], distinct[~after & there]

    def _refuse(self, idle: Ids, *, added: bool) -> None:
        what = "adds what is there already" if added else "deletes what is not there"
        more = f", and {len(idle) - 1:,} more such rows" if len(idle) > 1 else ""
        raise ConflictError(
            f"the patch does not fit this world: it {what}, {self._named(idle[:1])}{more}; strict=False ignores them"
        )

    # -- forgetting -----------------------------------------------------------------------------------------------

    @property
    def retention(self) -> Retention:
        """How much history is kept, as it is stored in the file."""
        stored = self._meta("retention")
        return Retention() if stored is None else Retention(**json.loads(stored))

    def set_retention(self, retention: Retention) -> None:
        """Store another one."""
        if not isinstance(retention, Retention):
            raise TypeError(f"a retention is a Retention, not {retention!r}")
        self.connection.run(_QUERIES["set_meta"], ("retention", json.dumps(asdict(retention))))

    def retain(self) -> None:
        """Forget what the retention does not keep."""
        retention = self.retention
        if retention == Retention():
            return
        with self.connection.snapshot():
            first = self._kept_from(retention)
            due = first > self.first
        if due:
            with self.connection.transaction():
                self.prune(self._kept_from(retention))

    def _kept_from(self, retention: Retention) -> int:
        bounds = []
        if retention.revisions is not None:
            bounds.append(self.last + 1 - retention.revisions)
        if retention.days is not None:
            now = datetime.datetime.now(datetime.UTC)
            bounds.append(self._first_since(now - datetime.timedelta(days=retention.days)))
        return max(min(bounds), 1)

    def _first_since(self, time: datetime.datetime) -> int:
        text = time.astimezone(datetime.UTC).isoformat(timespec="milliseconds")
        statement = _SQL["first_since"]
        found = self.connection.value(statement, statement.bind(first=self.first, time=text))
        return self.last + 1 if found is None else int(found)

    def prune(self, before: object) -> int:
        """Forget the revisions before a number or a time; gives how many."""
        first, last = self.first, self.last
        if isinstance(before, datetime.datetime):
            if before.tzinfo is None:
                raise ValueError(f"{before!r} has no time zone: datetime.now(UTC) has one")
            target = self._first_since(before)
        elif _number(before) and isinstance(before, Integral):
            target = int(before)
        else:
            raise TypeError(f"revisions are forgotten before a number or a datetime, not before {before!r}")
        if target > last + 1:
            raise ValueError(f"there is no revision {target}: the last one is {last}; {last + 1} forgets all")
        if target <= first:
            return 0
        self.connection.run(_SQL["forget_removed"], (target,))
        self.connection.run(_SQL["forget_revisions"], (target,))
        self.connection.run(_QUERIES["set_meta"], ("history_from", target))
        return target - first


# --- helpers ----------------------------------------------------------------------------------------------------------


def _time(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def _number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _whole(value: object) -> bool:
    """Whether it is a whole number, Python's or NumPy's, from 0 on."""
    return _number(value) and isinstance(value, Integral) and int(value) >= 0


def _counted(number: int) -> str:
    return f"{number:,} quad{'' if number == 1 else 's'}"


def _ordered(ids: Ids) -> Ids:
    """Graph by graph, and subject by subject."""
    return ids[np.lexsort((ids[:, 2], ids[:, 1], ids[:, 0], ids[:, 3]))]


def _decoded(dictionary: Dictionary, ids: Ids) -> Iterator[ox.Quad]:
    """The quads among rows of ids, without markers."""
    for start in range(0, len(ids), _BLOCK):
        block = ids[start : start + _BLOCK]
        yield from decoded(block, dictionary.terms(np.unique(block).tolist()))


def _terms(dictionary: Dictionary, ids: Ids) -> list[Any]:
    terms = dictionary.terms(ids.tolist())
    return [terms[number] for number in np.sort(ids).tolist()]


def _graphs(dictionary: Dictionary, quads: Ids) -> tuple[Any, ...]:
    """The graphs of the markers among quads."""
    return tuple(map(to_rdflib, _terms(dictionary, quads[quads[:, 0] == 0, 3])))


def _shown(quad: ox.Quad) -> Quad:
    graph: GraphName = quad.graph_name
    named = None if isinstance(graph, ox.DefaultGraph) else to_rdflib(graph)
    return (to_rdflib(quad.subject), to_rdflib(quad.predicate), to_rdflib(quad.object), named)


@contextlib.contextmanager
def _opened(source: object) -> Iterator[tuple[BinaryIO, str]]:
    """The bytes of a patch, and its name: a path, bytes, a file object, or the text itself."""
    if isinstance(source, str) and ("\n" in source or _TEXT.fullmatch(source)):
        source = source.encode("utf-8", "surrogatepass")  # a lone surrogate is the parser's to refuse
    found = iter(sources(source, format="nq"))
    patch = next(found, None)
    if patch is None or next(found, None) is not None:
        raise ParseError(f"{source!r} is not one patch")
    with patch.open() as stream:
        yield stream, patch.name
