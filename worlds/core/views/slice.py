"""The slice of a world that a scope sees: a database in memory, with the quads of some graphs and what follows of them.

Reading within a scope is reading its slice, so nothing else can be counted, ranked by, hinted at or told. The slice has
the world's own ids and revision numbers, and texts, profiles and vectors of its own. It is brought in step with the
world before each reading: by what was added and removed since, or, where that cannot be told, as a whole.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dataset import default_graph, set_default_graph
from worlds.core.quads.delta import Delta
from worlds.core.quads.dictionary import DEFAULT_GRAPH, DEFAULT_GRAPH_ID, LITERAL, TRIPLE, Ids, batches, hash_of
from worlds.core.quads.rows import difference, distinct, find_quads, unique_quads
from worlds.core.views.borrowed_vectors import Borrowing, known_vectors
from worlds.core.views.seen import SeenCore, sources_of
from worlds.errors import EmbedderError, ReadOnlyError
from worlds.graph.terms import GraphName, to_oxigraph
from worlds.sql import Statement, schema, statements
from worlds.sql.bound_values import as_text
from worlds.sql.connection import Connection, Row
from worlds.sql.index_rebuild import without

_SQL = statements("scopes.sql")
_QUERIES = statements("queries.sql")
_PAGE = 50_000  # rows
_BATCH = 5000  # rows a statement
_BULK = 20_000  # quads from which on making the indexes anew pays
_ALONE = ("PRAGMA journal_mode = MEMORY", "PRAGMA locking_mode = EXCLUSIVE", "PRAGMA synchronous = OFF")
_COPIED = ("created", "history_from", "purges")
"""Of the table meta; the policy is adopted, and the embedder with the first vector."""


class ViewConnection(Connection):
    """The connection to the database of a view; `follow` is called before each read."""

    def __init__(self, path: str, driver: str) -> None:
        self.follow: Callable[[], None] | None = None
        super().__init__(":memory:", driver=driver)
        self.path = path  # what errors name
        self.renew()

    @property
    def in_use(self) -> bool:
        """Whether a snapshot or a transaction is open."""
        return bool(self._depth or self._reading)

    def renew(self, file: str = ":memory:", encryption_key: str | None = None) -> None:
        """Begin again with an empty database, or with a world in a file that nobody else has."""
        with self.lock:
            self._handle.close()
            self.file, self.encryption_key = file, encryption_key
            self._connect()
            if file == ":memory:":
                self.script(schema())
            else:
                for pragma in _ALONE:
                    self.run(pragma)
            self._version = None
            self._forget()
            self.rollbacks += 1  # whatever was read before may not be there
            self.renewed += 1

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let the block's statements read one state of the slice, in step with its world."""
        with self.lock:
            self._follow()
            with super().snapshot():
                yield

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """A write transaction, on the slice alone."""
        with self.lock:
            self._follow()
            with super().transaction():
                yield

    def _agree(self) -> None:
        self._follow()
        super()._agree()

    def _follow(self) -> None:
        if self.follow is not None and not (self._depth or self._reading):
            following, self.follow = self.follow, None  # it reads and writes the slice
            try:
                following()
            finally:
                self.follow = following


class Slice:
    """The database of a scope, kept in step with the `world` whose graphs it has."""

    def __init__(
        self,
        world: Core,
        own: Core,
        connection: ViewConnection,
        graphs: Sequence[GraphName],
        proposal: Callable[[int], Any],
        seen: SeenCore | None = None,
    ) -> None:
        """`proposal` returns a proposal of the world by its number; `seen` is the scope in the world's own database."""
        self._world = world
        self._seen = seen
        self._proposal = proposal
        self._own = own
        self._connection = connection
        self._graphs = tuple(graphs)
        self._begin_anew()
        connection.follow = self.bring

    def _begin_anew(self) -> None:
        self._state: object = None  # of the world, when it was followed last
        self._uncertain = False  # whether an open transaction was followed, which may be undone
        self.last_term = 0  # of the world; what the slice's own writes number lies behind it
        self._revision = 0
        self._last = 0, 0  # the last quad, and the last removed
        self._adopted: object = None  # the world's policy, as it is stored
        self._recorded: Row | None = None  # the world's row of that revision
        self._sources: list[tuple[Any, ...]] = []
        self._proposals: Row | None = None
        self._prefixes: dict[str, str] = {}
        self._blank = False  # whether texts have no vector that the world had none for
        self._embedded: object = None  # how often the world's vectors had changed then
        self._alike = False  # whether its chunks are the world's, with their ids
        self._recuts: object = None  # how often texts were cut anew for an embedder
        self.partial: set[int] = set()  # revisions that touched other graphs, too

    def require(self, quads: Ids) -> None:
        """ReadOnlyError unless the graphs of quads, int64 [n, 4] of the world's ids, are in the scope."""
        others = set(distinct(quads[:, 3]).tolist()) - set(self._numbers())
        terms = self._world.dictionary.terms(others) if others else {}
        if not all(self.has(terms[number]) for number in others):
            raise ReadOnlyError("this would change a graph outside of the scope", kind="scope")

    def has(self, name: GraphName) -> bool:
        """Whether a graph is in the scope."""
        return name in self._graphs

    @property
    def single(self) -> GraphName | None:
        """The scope's graph, if it is one and named."""
        return self._graphs[0] if len(self._graphs) == 1 and self._graphs[0] != DEFAULT_GRAPH else None

    # -- in step --------------------------------------------------------------------------------------------------

    def bring(self) -> None:
        """Bring the slice in step with the present world, including an open transaction of this thread."""
        base = self._world.connection
        if base.state() is self._state:
            return
        with base.snapshot():
            state = base.state()
            if state is not self._state:
                if not (self._continues() and self._follow()):
                    self._renew()
                    self._follow()
                self._state, self._embedded = state, base.meta("embedding_changes")
                self._uncertain = base.in_transaction
        self._embed()

    def _continues(self) -> bool:
        """Whether the world is a later state of the one that was followed last."""
        base = self._world.connection
        alike = self._seen is not None and self._seen.alike
        if self._uncertain or alike != self._alike or base.meta("recuts") != self._recuts:
            return False
        if self._blank and base.meta("embedding_changes") != self._embedded:
            return False
        recorded = base.row(_SQL["revision"], (self._revision,))
        forgotten = any(base.meta(name) != self._connection.meta(name) for name in ("history_from", "purges"))
        return recorded == self._recorded and not forgotten

    def _renew(self) -> None:
        self._connection.renew()
        self._begin_anew()
        self._own.dictionary.forget()
        self._own.codes.forget()
        self._own.sparql.drop()

    def _follow(self) -> bool:
        """Copy the world's changes into the slice; False, and nothing kept, if it would differ from the world."""
        base, own = self._world.connection, self._connection
        followers = self._own.followers
        if self._recorded is None:
            self._alike, self._recuts = self._seen is not None and self._seen.alike, base.meta("recuts")
            self._own.chunks.known = self._chunks if self._alike else None
        try:
            added, gone = self._read()
            with own.transaction():
                self._set(base)
                followers.begin()
                self._copy_terms(np.concatenate([added[:, 1:5].ravel(), gone[:, :4].ravel()]))
                delta = self._copy_quads(added, gone)
                if not self._agrees(base):
                    raise LostError
                self._copy_revisions(added, gone)
                self._copy_tags()
                self._copy_prefixes()
                self._copy_sources()
                self._copy_proposals()
                if len(delta.added) or len(delta.removed):
                    followers.apply(delta)
                if self._alike and self._recorded is not None:
                    self._renumber(distinct(np.concatenate([added[:, 3], gone[:, 2]])))
                last = own.value(_QUERIES["last_revision"])
            followers.committed(last)
        except BaseException as error:
            followers.drop()
            self._own.dictionary.forget()
            if isinstance(error, LostError) and self._recorded is not None:
                return False
            self._renew()
            raise
        finally:
            followers.end()
        return True

    def _read(self) -> tuple[Ids, Ids]:
        """The quads added since, int64 [n, 6] from their id to their revision, and removed since, [n, 6]."""
        base = self._world.connection
        added: list[Ids] = [np.empty((0, 6), dtype=np.int64)]
        removed: list[Ids] = [np.empty((0, 6), dtype=np.int64)]
        numbers = self._numbers()
        last_quad, last_removed = self._last
        for number in numbers:
            named = number != DEFAULT_GRAPH_ID
            statement = _SQL["quads_of_named" if named else "quads_of_default"]
            added += self._pages(statement, last_quad, **({"graph": number} if named else {}))
        if numbers:
            removed += self._pages(_SQL["removed"], last_removed, graphs_json=str(numbers))
        self._last = base.value(_SQL["last_quad"]), base.value(_SQL["last_removed"])
        return np.concatenate(added), np.concatenate(removed)

    def _numbers(self) -> list[int]:
        """The ids of the scope's graphs that the world has."""
        named = [name for name in self._graphs if not isinstance(name, ox.DefaultGraph)]
        numbers = [number for number in self._world.dictionary.find(named) if number is not None]
        return ([DEFAULT_GRAPH_ID] if DEFAULT_GRAPH in self._graphs else []) + sorted(numbers)

    def _pages(self, statement: Statement, after: int, **parameters: object) -> Iterator[Ids]:
        while True:
            last, page = self._world.connection.page(
                statement, statement.bind(after=after, limit=_PAGE, **parameters), after=after
            )
            if last is None:
                return
            yield page
            after = last

    def _agrees(self, base: Connection) -> bool:
        """Whether there are as many quads as the world has in the scope's graphs."""
        numbers = self._numbers()
        named = [number for number in numbers if number != DEFAULT_GRAPH_ID]
        counts = (base.value(_SQL["count_named"], (one,)) for one in named)
        count = sum(counts) + (base.value(_SQL["count_default"]) if DEFAULT_GRAPH_ID in numbers else 0)
        return bool(count == self._connection.value(_SQL["count_all"]))

    def _set(self, base: Connection) -> None:
        """The world's settings that reading depends on; ids that the slice gives begin behind all of the world's."""
        own = self._connection
        values = {name: base.meta(name) for name in _COPIED}
        self.last_term = base.value(_QUERIES["last_term"])
        values |= {"last_term": self.last_term, "vector_index": 0}
        if self._alike and self._seen is not None:
            values |= {name: self._seen.connection.meta(name) for name in ("languages", "stems")}
        for name, value in values.items():
            if value is not None and own.meta(name) != value:
                own.run(_QUERIES["set_meta"], (name, value))
        if default_graph(own) != default_graph(base):
            set_default_graph(own, default_graph(base))
        if base.meta("policy") != self._adopted:
            self._own.embeddings.retired.retire(self._own.chunks.adopt(self._world.chunks.policy).orphans)
            self._adopted = base.meta("policy")

    def _chunks(self, literals: str) -> list[Row]:
        """The world's chunks of literals, given by their ids, as far as the slice has none of them."""
        here = {row[1] for row in self._connection.rows(_SQL["chunks_of_literals"], (literals,))}
        rows = self._world.connection.rows(_SQL["chunks_of_literals"], (literals,))
        return [row for row in rows if row[1] not in here] if here else rows

    def _renumber(self, literals: Ids) -> None:
        """Give the chunks of literals the numbers that the world gave them, where it dropped the texts meanwhile."""
        for ids in batches(literals):
            here = {row[0]: row for row in self._connection.rows(_SQL["chunks_of_literals"], (ids,))}
            there = self._world.connection.rows(_SQL["chunks_of_literals"], (ids,))
            stale = here.keys() - {row[0] for row in there}
            if stale:
                terms = {here[number][1] for number in stale}
                self._own.embeddings.retired.retire(self._own.chunks.delete(stale).orphans)
                self._own.chunks.insert([row for row in there if row[1] in terms and row[0] not in here])

    def _copy_terms(self, wanted: Ids) -> None:
        """Copy these terms into the slice, with their datatypes and the parts of triple terms."""
        base, own = self._world.connection, self._connection
        wanted = distinct(wanted)
        wanted = wanted[wanted > 0]
        iris: list[str] = []
        with without(own, "index", "terms") if len(wanted) >= _BULK else contextlib.nullcontext():
            while len(wanted):
                known = [number for ids in batches(wanted) for (number,) in own.rows(_SQL["known_terms"], (ids,))]
                wanted = np.setdiff1d(wanted, np.array(known, dtype=np.int64), assume_unique=True)
                further: set[int] = set()
                for ids in batches(wanted):
                    rows = base.rows(_SQL["terms"], (ids,))
                    own.insert("INSERT INTO terms (id, kind, value, datatype, language, direction, hash)", rows)
                    for _, kind, value, datatype, *_ in rows:
                        if kind == TRIPLE:
                            further.update(map(int, value.split()))
                        elif kind == LITERAL and datatype is not None:
                            further.add(datatype)
                        elif kind == 1:
                            iris.append(as_text(value))
                wanted = np.array(sorted(further), dtype=np.int64)
        self._own.dictionary.learn(iris)
        self._note_namespaces(iris)

    def _note_namespaces(self, iris: list[str]) -> None:
        """Copy the prefixes that are used by the scope's terms or graph names."""
        iris = [*iris, *(name.value for name in self._graphs if isinstance(name, ox.NamedNode))]
        declared = {
            prefix: iri for prefix, iri in self._world.namespaces.declared.items() if prefix not in self._prefixes
        }
        for prefix, iri in declared.items():
            if any(one.startswith(iri) for one in iris):
                self._prefixes[prefix] = iri

    def _copy_quads(self, added: Ids, gone: Ids) -> Delta:
        """Write the added and removed quads; return the difference of the present quads."""
        own = self._connection
        # What a revision removed and put back has another id, and no past.
        sought = [gone[:, :4], added[:, 1:5]] if self._recorded else [gone[:, :4]]
        before, ids = self._held(np.concatenate(sought))
        self._delete(before)
        bulk = len(added) >= _BULK
        with without(own, "index", "quads") if bulk else contextlib.nullcontext():
            insert_quads(own, added[np.argsort(added[:, 0])])
        for start in _starts(gone):
            own.run(_SQL["insert_removed"], (str(gone[start : start + _BATCH].tolist()),))
        came = added[:, 1:5]
        return Delta(difference(came, before), difference(before, came), np.concatenate([added[:, 0], ids]))

    def _delete(self, quads: Ids) -> None:
        for start in _starts(quads):
            self._connection.run(_SQL["delete_quads"], (str(quads[start : start + _BATCH].tolist()),))

    def _held(self, quads: Ids) -> tuple[Ids, Ids]:
        """The distinct quads among these that the slice has now, and their ids."""
        rows = list(find_quads(self._connection, quads))
        ids = np.array([number for _, number, _ in rows], dtype=np.int64)
        return unique_quads(quads[[position for position, _, _ in rows]]), ids

    def _copy_revisions(self, added: Ids, gone: Ids) -> None:
        """List the revisions since that touched the scope, with its counts; the message of one that touched no more."""
        counts = counts_of(added, gone)
        base, own = self._world.connection, self._connection
        rows: list[Row] = []
        listed = {number for (number,) in own.rows("SELECT revision FROM revisions")}
        numbers = json.dumps([number for number in sorted(counts) if number > self._revision])
        for number, time, author, message, *given, undoes in base.rows(_SQL["revisions_among"], (numbers,)):
            came, went, created, dropped = counts[number]
            first_quad = given.pop(2)
            if [came, went, created, dropped] != given:
                self.partial.add(number)
                message = None
            undone = undoes if undoes in listed else None
            listed.add(number)
            rows.append((number, time, author, message, came, went, first_quad, created, dropped, undone))
        self._revision = base.value(_QUERIES["last_revision"])
        own.insert(
            "INSERT INTO revisions (revision, time, author, message, added, removed, first_quad, created, dropped,"
            " undoes)",
            rows,
        )
        self._recorded = base.row(_SQL["revision"], (self._revision,))

    def _copy_tags(self) -> None:
        """Copy the tags of the listed revisions; leave out messages of revisions that touched other graphs."""
        own, tags = self._connection, self._world.history.tags
        listed = {number for (number,) in own.rows("SELECT revision FROM revisions")} if tags else set()
        kept = {
            name: {**told, "message": None} if told["revision"] in self.partial else told
            for name, told in tags.items()
            if told["revision"] in listed
        }
        if kept != self._own.history.tags:
            own.run(_QUERIES["set_meta"], ("tags", json.dumps(kept, ensure_ascii=False)))

    def _copy_prefixes(self) -> None:
        declared = self._world.namespaces.declared
        kept = {prefix: declared[prefix] for prefix in self._prefixes if prefix in declared}
        if kept != self._own.namespaces.declared:
            self._connection.run(_SQL["forget_prefixes"])
            self._connection.insert("INSERT INTO prefixes (prefix, iri)", list(kept.items()))

    def _copy_sources(self) -> None:
        """Copy the sources of the scope's graphs."""
        base, own = self._world.connection, self._connection
        rows = [(*row[:4], hash_of(row[3]), *row[4:]) for row in sources_of(base, self._graphs)]
        if rows != self._sources:
            self._sources = rows
            own.run("DELETE FROM sources")
            own.insert("INSERT INTO sources (name, kind, place, graph, graph_hash, options, state)", rows)

    def _copy_proposals(self) -> None:
        """Copy the proposals that change and rely on quads of the scope's graphs alone."""
        base, own = self._world.connection, self._connection
        state = base.row(_SQL["proposals_state"])
        if state == self._proposals:
            return
        self._proposals = state
        if state is None or not state[0]:
            return
        seen = [row for row in base.rows(_SQL["all_proposals"]) if self.sees(self._proposal(row[0]))]
        place = 10  # of `validation`: the guard has looked at the whole world
        rows = [(*row[:place], "[]", *row[place + 1 :]) for row in seen]
        numbers = json.dumps([row[0] for row in rows])
        for name in ("forget_proposals", "forget_proposal_quads"):
            own.run(_SQL[name])
        own.insert("INSERT INTO proposals", rows)
        quads = base.rows(_SQL["proposal_quads"], (numbers,))
        own.insert("INSERT INTO proposal_quads (proposal, sign, subject, predicate, object, graph)", quads)

    def sees(self, proposal: Any) -> bool:
        """Whether a proposal changes, and relies on, nothing but the scope's graphs."""
        added, removed = proposal.quads
        names: set[Any] = {quad.graph_name for quad in (*added, *removed)}
        names |= {DEFAULT_GRAPH if quad[3] is None else to_oxigraph(quad[3]) for quad in proposal.relies_on}
        return all(map(self.has, names))

    # -- vectors --------------------------------------------------------------------------------------------------

    def _embed(self) -> None:
        """Assign the world's vectors to the slice's texts; other texts are left to the embedder."""
        own, source = self._own.embeddings, self._world.embeddings
        embedder = self._own.embedder.embedder = self._world.embedder.embedder
        stored = source.stored
        if stored is None or (own.stored is not None and not own.pending()):
            return
        fitting = embedder if embedder and source.fits(embedder) else None
        borrowing = Borrowing(stored, fitting, partial(known_vectors, self._world.connection), whole=self._alike)
        with contextlib.suppress(EmbedderError):  # the texts stay pending, and are found by words
            own.adopt(borrowing)
            own.embed(borrowing)
        self._blank = self._blank or bool(borrowing.blank)


def insert_quads(connection: Connection, rows: Ids) -> None:
    """Write quads, int64 [n, 6] from their id to their revision."""
    for start in _starts(rows):
        connection.run(_SQL["insert_quads"], (str(rows[start : start + _BATCH].tolist()),))


def counts_of(added: Ids, gone: Ids) -> dict[int, list[int]]:
    """Of each revision how many of these quads, [n, 6] and [n, 6], it added and removed, and how many markers."""
    counts: dict[int, list[int]] = {}
    columns = ((added[:, 1], added[:, 5], 0), (gone[:, 0], gone[:, 4], 0), (gone[:, 0], gone[:, 5], 1))
    for subjects, revisions, column in columns:
        for markers, at in ((False, column), (True, column + 2)):
            chosen = revisions[(subjects == 0) == markers]
            for number, count in zip(*np.unique(chosen, return_counts=True), strict=True):
                counts.setdefault(int(number), [0, 0, 0, 0])[at] += int(count)
    return counts


def _starts(rows: Ids) -> range:
    return range(0, len(rows), _BATCH)


class LostError(Exception):
    """The state that was read is not an ancestor of the present state of the world."""
