"""The SPARQL index: a pyoxigraph store that is derived from the quads and kept in step with their revisions.

The world's shapes are not in it, unless a query names their graph: so they are in no union.

It is built at the first query: in memory for a small world, in a cache folder for a larger one, from where it moves to
memory, a slice with each query, once queries have taken longer than the move. After a large write, it is built in the
cache folder at once, by a process beside. Dropping it loses nothing.
"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dataset import of_data, own_graphs, quads_named
from worlds.core.quads.delta import Delta, Follower
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID, Dictionary, Ids, json_ids
from worlds.core.quads.rows import NO_QUADS, decoded, distinct, read_quads, stored
from worlds.core.sparql.cache import Cache, Copy, Stamp, reporting
from worlds.core.sparql.filling import (
    HELD,
    AppliedDelta,
    IndexBuilder,
    IndexMove,
    IsUsed,
    Taken,
    from_cache,
    read_terms,
)
from worlds.core.sparql.merging import WorldMerging, room
from worlds.errors import QueryError
from worlds.graph.lexical import LexicalForms
from worlds.graph.query.query import Query
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("queries.sql")
_REBUILD = 100_000  # quads: a smaller delta is always applied, not read anew
DISK_FROM = 100_000  # quads from which on the index is kept on disk
BESIDE_FROM = 100_000  # quads that come in before any query, from which on the index is built beside
_BULK = 20_000  # quads that are put into a store past its log
_REPUBLISH = 0.02  # the share of the quads that must have changed for the cache to be published anew
_QUAD = 500  # bytes in memory
MOVED = 200_000  # quads a second, from disk to memory
PATIENCE = 0.5  # seconds of queries on disk that are too few to move for
_SHARE = 0.5  # of the memory that is free, which the index may take where nobody asked for it
_DAMAGED = ("Corruption", "IO error", "No such file")  # what RocksDB says of a store that it cannot read
Place: TypeAlias = Literal["auto", "memory", "disk"]
PLACES = get_args(Place)
Progress = Callable[[int, int], None]  # (quads done, quads to do)
T = TypeVar("T")
_log = logging.getLogger("worlds")


class SparqlIndex(Follower):
    """The pyoxigraph store of one world; a follower of its gate."""

    def __init__(self, connection: Connection, dictionary: Dictionary, place: Place = "auto") -> None:
        if connection.encryption_key is not None:  # the store on disk would have all terms in plain text
            place = "memory"
            with reporting("it could not be removed, and has the world's quads in plain text"):
                Cache(connection.file).remove()
        self.place = place
        self._users = 0  # of the store, one within another
        self._asked = 0.0  # seconds that queries have taken on disk
        self._move: IndexMove | None = None
        self._connection = connection
        self._dictionary = dictionary
        self._store: ox.Store | None = None
        self._copy: Copy | None = None  # where the store is, if on disk
        self._published = 0  # quads changed since the copy was taken from its generation
        self.forms = LexicalForms(self._is_used)
        self.merging = WorldMerging(connection, dictionary, self)
        self._markers: set[int] = set()  # ids of the named graphs that were created
        self._revision = 0
        self._row = ""  # what the world says of that revision: a restored one may have another of that number
        self._mark = ""  # of what else the store has, for its generation
        self._agreed: object = None  # the state of the file that the store was brought to last
        self._writing = False
        self._steps: list[AppliedDelta | None] = []  # of the open transaction; None: the store was dropped
        self._count = 0  # quads that the store stands for; its own len() reads them all
        self._dead = 0  # removed quads whose memory the store never gives back
        self._unseen = 0  # quads that came in while there was no store
        self._builder = IndexBuilder(connection.file, connection.driver.name)

    def store(self, progress: Progress | None = None) -> ox.Store:
        """The store, agreeing with the file as it is now, other processes' writes and an open transaction included."""
        with self._connection.lock:
            if self._store is not None and self._agreed is self._connection.state() and not self._full:
                return self._store
            with self._connection.snapshot():
                if not self._writing:
                    self._catch_up()
                if self._full:
                    self.drop()
                if self._store is None:
                    self._open(progress)
                assert self._store is not None
                self._agreed = self._connection.state()
                return self._store

    @property
    def view_lock(self) -> contextlib.AbstractContextManager[Any]:
        """The lock to take before the world's; a view that is made takes its own first, too."""
        return contextlib.nullcontext()

    @property
    def _full(self) -> bool:
        """Whether more of the memory is of removed quads than of others."""
        return self._copy is None and self._dead > max(self._count, _REBUILD)

    def apart(self, begin: Callable[[ox.Store], Callable[[], T]], progress: Progress | None = None) -> T:
        """Finish the work that `begin` starts on the store; meanwhile, others may use the world."""
        with self._connection.lock:
            finish = self.use(begin, progress)
            self._users += 1
        try:
            return finish()
        except QueryError as error:
            if not self._damaged(error):
                raise
            return self.use(lambda store: begin(store)())
        finally:
            with self._connection.lock:
                self._users -= 1

    def _damaged(self, error: QueryError) -> bool:
        """Whether an error is one of damaged files, which are thrown away then."""
        with self._connection.lock:
            if not self.on_disk or not any(sign in str(error) for sign in _DAMAGED):
                return False
            _log.warning("%s: the SPARQL cache is damaged, and is built anew: %s", self._connection.path, error)
            self.discard()
            return True

    def use(self, work: Callable[[ox.Store], T], progress: Progress | None = None) -> T:
        """Run `work` on the store; once more on a new store if this one's files turn out to be damaged."""
        with self._connection.lock:
            if not (self._users or self._writing):
                self._go_on(progress)
            self._users += 1
            try:
                return work(self.store(progress))
            except QueryError as error:
                if not self._damaged(error):
                    raise
                return work(self.store(progress))
            finally:
                self._users -= 1

    @contextlib.contextmanager
    def with_own(self, store: ox.Store, query: Query) -> Iterator[None]:
        """Add to the store, within the block, the world's own graphs that a query names."""
        named, quads = quads_named(self._connection, self._dictionary, query)
        store.extend(quads)
        try:
            with self.merging.astray() if quads else contextlib.nullcontext():
                yield
        finally:
            for quad in quads:
                store.remove(quad)
            for graph in named if quads else ():
                store.remove_graph(graph)
            self._dead += len(quads)

    @contextlib.contextmanager
    def before(self, added: Ids, removed: Ids) -> Iterator[None]:
        """Let the store be, in the block, as it was before quads were added and removed, int64 [n, 4] each."""
        if self._store is None:  # nobody asks it, or it will be made of what is there now
            self.store()
        self._apply(removed, added)
        try:
            yield
        finally:
            self._apply(added, removed)

    def _seen(self, quads: Ids) -> Ids:
        """The quads that the store has: the quads of data graphs."""
        return of_data(self._dictionary, quads)

    def asked(self, seconds: float) -> None:
        """Record the time of a query; after a slow one, the next query finds the index in memory."""
        if self._copy is not None:
            self._asked += seconds

    @property
    def _pays(self) -> bool:
        """Whether queries have taken so long on disk that the move to memory would have paid."""
        moving = max(self._count / MOVED, PATIENCE)
        return self._asked > moving and self.place == "auto"

    @property
    def _cache(self) -> Cache:
        """The folder of the index's generations."""
        return Cache(self._connection.file)

    @property
    def _worn(self) -> bool:
        """Whether much changed since the copy was taken from its generation."""
        return self._published > _REPUBLISH * self._count

    @property
    def on_disk(self) -> bool:
        """Whether the store is in the cache folder."""
        return self._copy is not None

    @property
    def idle(self) -> bool:
        """Whether nobody asks the store."""
        return not self._users

    @property
    def count(self) -> int:
        """Quads in the store."""
        return self._count

    def drop(self) -> None:
        """Forget the store; the next query makes it again."""
        self._store = self._move = None
        self.merging.clear()
        if self._copy is not None:
            self._copy.remove()
            self._copy = None

    def discard(self) -> None:
        """Drop a damaged store, and its cache folder."""
        self.drop()
        for generation, _ in self._cache.generations():
            self._cache.discard(generation)

    def compare(self) -> tuple[list[ox.Quad], int] | None:
        """The file's quads that the store lacks, and how many it has too many; None where no store was made yet."""
        with self._connection.lock:
            if self._store is None and not self._fitting():
                return None
            store = self.store()
            missing, by_value = [], ox.Store()  # quads of which another form may be one with them to the store
            expected = 0
            for block in map(self._seen, read_quads(self._connection, "quads_by_subject")):
                quads = list(decoded(block, self._dictionary.terms(distinct(block.ravel()).tolist())))
                missing += [quad for quad in quads if quad not in store]
                several = [quad for quad in quads if self.forms.several(quad.object)]
                by_value.extend(several)
                expected += len(quads) - len(several)
            return missing, len(store) - (expected + len(by_value) - len(missing))

    def close(self) -> None:
        """The world is being closed: leave a store on disk to the next process, if much changed in it."""
        if self._worn and self._copy is not None and self._store is not None and not self._writing:
            with reporting("it could not be published"):
                self._publish()
        self.drop()

    # -- the gate's follower --------------------------------------------------------------------------------------

    def begin(self) -> None:
        """A write begins."""
        self._catch_up()
        self._writing = True

    def apply(self, delta: Delta) -> None:
        """Follow a delta of the open transaction."""
        if self._store is not None and len(delta.added) > max(self._count, _REBUILD):
            self.drop()  # building is faster
        self._steps.append(None)  # should following it fail, too
        if self._store is not None:
            self._steps[-1] = self._apply(delta.added, delta.removed)
        else:
            self._unseen += len(delta.added)

    def revert(self) -> None:
        """Revert the last delta."""
        step = self._steps.pop()
        if step is None:
            self.drop()
            return
        if self._store is None:
            return
        for quad in step.added:
            self._store.remove(quad)
        self._store.extend(step.removed)
        if self._move is not None:
            self._move.follow(step.added, step.removed)
        self.forms.unlearn(step.learned)
        self._markers = step.markers
        self._settle(step.graphs)
        self.merging.follow(step.added, step.removed, step.graphs.values())
        self._count = step.count

    def committed(self, revision: int) -> None:
        """The open transaction became this revision."""
        self._at(revision)
        if self._unseen >= BESIDE_FROM and self._store is None and self._can_be_built_beside():
            self._unseen = 0
            self._builder.start()

    def _can_be_built_beside(self) -> bool:
        """Whether another process may read the file and build an index on disk, and has the memory for it."""
        connection = self._connection
        if self.place == "memory" or type(connection) is not Connection or not Cache.possible(connection.file):
            return False
        return bool(min(connection.value(_SQL["last_term"]), HELD) * _QUAD < room() * _SHARE)

    def end(self) -> None:
        """The write is over, kept or not."""
        self._steps.clear()
        self._writing = False

    # -- in step --------------------------------------------------------------------------------------------------

    def _catch_up(self) -> None:
        """Read the later writes of other processes."""
        if self._store is None:
            return
        revision = self._connection.value(_SQL["last_revision"])
        same = self._row == self._recorded(self._revision)
        if same and revision == self._revision:
            return
        horizon = self._connection.meta("history_from") or 0
        if not same or revision < self._revision or self._revision + 1 < horizon:
            self.drop()  # the world was restored, or what was removed since is forgotten
            return
        self._read_since(self._revision)
        self._at(revision)

    def _read_since(self, since: int) -> None:
        """Apply the writes since a revision."""
        for removed in read_quads(self._connection, "quads_removed_since", markers=True, revision=since):
            self._apply(NO_QUADS, removed)
        first = self._connection.value(_SQL["first_quad_since"], (since,))
        for added in read_quads(self._connection, "quads_added_since", markers=True, after=first - 1, revision=since):
            self._apply(added, NO_QUADS)

    def _at(self, revision: int) -> None:
        """The store is at a revision."""
        self._revision = revision
        self._row = "" if self._store is None else self._recorded(revision)

    def _apply(self, added: Ids, removed: Ids) -> AppliedDelta:
        store = self._store
        assert store is not None
        added, removed = self._seen(added), self._seen(removed)
        terms = self._dictionary.terms(distinct(np.concatenate([added, removed]).ravel()).tolist())
        named = distinct(np.concatenate([added[:, 3], removed[:, 3]])).tolist()
        graphs = {number: terms[number] for number in named if number != DEFAULT_GRAPH_ID}
        step = AppliedDelta([], [], self._markers, graphs, self._count)
        gone = list(decoded(removed, terms))
        kept = self._still_stood_for(gone) if self.forms else set()
        step.removed += [quad for position, quad in enumerate(gone) if position not in kept]
        for quad in step.removed:
            store.remove(quad)
        come = list(decoded(added, terms))
        step.learned = self.forms.changed({quad.object for quad in gone}, {quad.object for quad in come})
        alike = [quad for quad in come if not self.forms.several(quad.object)]
        (store.bulk_extend if len(alike) >= _BULK else store.extend)(alike)
        step.added += alike
        for quad in come:
            if self.forms.several(quad.object) and quad not in store:
                store.add(quad)
                step.added.append(quad)
        if self._move is not None:
            self._move.follow(step.removed, step.added)
        self._markers = (self._markers - set(removed[removed[:, 0] == 0, 3].tolist())) | set(
            added[added[:, 0] == 0, 3].tolist()
        )
        self._settle(graphs)
        self.merging.follow(step.removed, step.added, graphs.values())
        self._count += len(come) - len(gone)
        self._dead += len(removed)
        self._published += len(added) + len(removed)
        return step

    def _still_stood_for(self, gone: list[ox.Quad]) -> set[int]:
        """Positions of removed quads of which the file still has another form: the store has one quad for both."""
        places: list[int] = []
        others: list[ox.Quad] = []
        for position, quad in enumerate(gone):
            for term in self.forms.others(quad.object):
                places.append(position)
                others.append(ox.Quad(quad.subject, quad.predicate, term, quad.graph_name))
        return {places[index] for index in self._stored(others)}

    def _stored(self, quads: list[ox.Quad]) -> list[int]:
        """Positions of the quads that the world has."""
        return stored(self._connection, self._dictionary, quads)

    def _is_used(self, terms: Sequence[Any]) -> list[bool]:
        numbers = self._dictionary.find(terms)
        known = json_ids([number for number in numbers if number is not None])
        used = {number for (number,) in self._connection.rows(_SQL["objects"], (known,))}
        return [number in used for number in numbers]

    def _settle(self, graphs: dict[int, Any]) -> None:
        """Set the named graphs of the store: the graphs that hold quads or were created, and no others."""
        assert self._store is not None
        for number, graph in graphs.items():
            if number in self._markers:
                self._store.add_graph(graph)
            elif next(self._store.quads_for_pattern(None, None, None, graph), None) is None:
                self._store.remove_graph(graph)

    # -- making it ------------------------------------------------------------------------------------------------

    def _open(self, progress: Progress | None) -> None:
        """Open the store: from the cache if it has one that fits, else from the quads."""
        total = self._connection.value(_SQL["count_quads"])
        # The cache has what is committed; so may an open transaction, until it changes something.
        large = self.place == "disk" or (self.place == "auto" and total >= DISK_FROM)
        if large and Cache.possible(self._connection.file) and not self._steps:
            with reporting("it cannot be used"):
                if self._taken_and_agrees():
                    return
                with self._cache.building():
                    if self._taken_and_agrees():  # it was built meanwhile
                        return
                    self._build_on_disk(total, progress)
                if self._take_from_cache():
                    return
        self._build(ox.Store(), total, progress)

    def _created(self) -> set[int]:
        own = own_graphs(self._dictionary)
        return {number for (number,) in self._connection.rows(_SQL["markers"]) if number not in own}

    def _go_on(self, progress: Progress | None) -> None:
        """Move a slice of the store from disk into memory, if that pays and there is room."""
        if self._pays:
            self._asked = 0.0
            if self._store is not None and self._move is None and self._count * _QUAD < room() * _SHARE:
                self._move = IndexMove(self._store)
        if self._move is None:
            return
        if progress:
            progress(self._move.done, self._count)
        asked, self._asked = self._asked, 0.0
        if not self._move.go_on(asked):
            return
        memory = self._move.memory
        for graph in self._store.named_graphs() if self._store is not None else ():
            memory.add_graph(graph)
        with reporting("it could not be published"):
            if self._worn:
                self._publish()
        markers, revision, row = self._markers, self._revision, self._row
        self.drop()
        self._store, self._markers, self._revision, self._row = memory, markers, revision, row
        self._dead = self._published = 0

    def _fitting(self) -> list[Any]:
        found: list[Any] = []
        with reporting("it cannot be used"):
            found += self._cache.fitting(self._world(), self._recorded)
        return found

    def refresh(self) -> None:
        """Bring the cache up to date, as the one process that builds it."""
        with self._connection.lock, self._connection.snapshot():
            if not self._taken_and_agrees():
                self._build_on_disk(self._connection.value(_SQL["count_quads"]), None)
        self.close()

    def _taken_and_agrees(self) -> bool:
        """Whether the store was taken from the cache, and brought up to date."""
        if self._take_from_cache():
            self._catch_up()
        return self._store is not None

    def _take_from_cache(self) -> bool:
        found = self._published_one(self._is_used)
        if found is not None:
            self._take(found)
        return found is not None

    def _take(self, found: Taken) -> None:
        """Use a store that was taken from the cache."""
        self._store, self._copy, self.forms = found.store, found.copy, found.forms
        self._revision, self._row, self._count = found.revision, found.recorded, found.count
        self._mark = found.mark
        self._markers = self._created()
        self._published = 0

    def taken(self, is_used: IsUsed) -> Taken | None:
        """A store of its own, with what this one has, or had at an earlier revision; None while it is written to."""
        with self._connection.lock:
            found = self._published_one(is_used)
            store = None if found else self.store()
            if self.on_disk and found is None:  # it was published just now
                found = self._published_one(is_used)
            if store is None or found or self._steps:
                return found
            copy = ox.Store()
            copy.bulk_extend(store)
            for graph in store.named_graphs():
                copy.add_graph(graph)
            return Taken(copy, None, self.forms.among(is_used), self._revision, self._row, self._count)

    def _published_one(self, is_used: IsUsed) -> Taken | None:
        possible = Cache.possible(self._connection.file)
        return from_cache(self._cache, self._fitting(), is_used) if possible else None

    def _build_on_disk(self, total: int, progress: Progress | None) -> None:
        if progress is None:
            _log.info("%s: building the SPARQL index of %s quads", self._connection.path, f"{total:,}")
        self._copy = self._cache.new_copy()
        try:
            self._build(ox.Store(str(self._copy.folder)), total, progress)
            self._publish()
        finally:
            self.drop()

    def _publish(self) -> None:
        """Make the store, which is closed by it, a generation of the cache."""
        assert self._store is not None
        assert self._copy is not None
        self._move = None
        stamp = Stamp(self._world(), self._revision, self._row, self._count, {}, self._mark)
        self._store.flush()
        self._store = None
        copy, self._copy = self._copy, None
        try:
            self._cache.publish(copy, stamp, self.forms.dump())
        except BaseException:
            copy.remove()
            raise

    def _world(self) -> str:
        return f"{self._connection.meta('created')} {one.stamp if (one := self._connection.identity) else 0}"

    def _recorded(self, revision: int) -> str:
        return str(self._connection.row(_SQL["recorded_revision"], (revision,)))

    def _build(self, store: ox.Store, total: int, progress: Progress | None) -> None:
        connection = self._connection
        self._store = None
        self.forms = LexicalForms(self._is_used)
        terms, odd = read_terms(connection, self._dictionary)
        self.forms.learn(odd, used=False)
        self._count = 0

        def blocks() -> Iterator[Ids]:
            # In memory quads lie as they come, and those of one subject are asked for together.
            for block in map(self._seen, read_quads(connection, "quads_by_subject")):
                yield block
                self._count += len(block)
                if progress:
                    progress(self._count, total)

        def of(block: Ids) -> dict[int, Any]:
            return self._dictionary.terms(distinct(block.ravel()).tolist()) if terms is None else terms

        store.bulk_extend(quad for block in blocks() for quad in decoded(block, of(block)))
        self._markers = self._created()
        self._store = store
        graphs = self._dictionary.terms(self._markers)
        self._settle({number: graphs[number] for number in self._markers})
        self._dead = self._published = 0
        self._at(connection.value(_SQL["last_revision"]))


def build() -> None:
    """Build the index of the world at a path, the process's first argument, by a driver, the second: see `beside`."""
    file, driver = sys.argv[1:]
    with Cache(file).building():  # who waits for it finds the file closed
        connection = Connection(file, read_only=True, create=False, driver=driver)
        connection.identify()
        SparqlIndex(connection, Dictionary(connection), "disk").refresh()
        connection.close()
