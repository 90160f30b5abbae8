"""Any history: each past state, each difference and each undo, against a list of states."""

from __future__ import annotations

import contextlib
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.readback import EX, quads_of
from worlds import ConflictError
from worlds.graph.terms import to_oxigraph
from worlds.records import Retention

NAMES = "abc"


def as_quads(rows: Any) -> set[ox.Quad]:
    """Quads of rdflib terms as pyoxigraph has them."""
    found: set[ox.Quad] = set()
    for subject, predicate, value, graph in rows:
        named: Any = ox.DefaultGraph() if graph is None else to_oxigraph(graph)
        terms: list[Any] = [to_oxigraph(term) for term in (subject, predicate, value)]
        found.add(ox.Quad(terms[0], terms[1], terms[2], named))
    return found


iris = st.sampled_from(NAMES).map(lambda name: ox.NamedNode(EX + name))
objects = st.one_of(
    iris,
    st.sampled_from(["red kite", "grey heron"]).map(ox.Literal),
    st.sampled_from(["1", "01"]).map(lambda text: ox.Literal(text, datatype=ox.NamedNode("urn:number"))),
    st.just(ox.BlankNode("b")),
)
graphs = st.sampled_from([ox.DefaultGraph(), ox.NamedNode(EX + "g")])
some_quads = st.lists(st.builds(ox.Quad, iris, iris, objects, graphs), max_size=5)
picks = st.integers(0, 1000)


class HistoryMachine(RuleBasedStateMachine):
    """Writes, undoes, patches and forgets, and compares with the set of quads that there was after each revision."""

    def __init__(self) -> None:
        super().__init__()
        self.world = worlds.open(embedder=HashingEmbedder(8), vector_index=False)
        self.states: list[set[ox.Quad]] = [set()]  # by revision
        self.first = 1  # that is not forgotten

    def teardown(self) -> None:
        report = self.world.check()
        assert report.ok, str(report)
        self.world.close()

    @property
    def now(self) -> set[ox.Quad]:
        return self.states[-1]

    def pick(self, number: int, first: int) -> int:
        """A revision from `first` to the last."""
        return first + number % (len(self.states) - first)

    def expect(self, change: worlds.records.Change, after: set[ox.Quad]) -> None:
        if after == self.now:
            assert change.revision is None
            return
        assert change.revision == len(self.states)
        assert (change.added, change.removed) == (len(after - self.now), len(self.now - after))
        self.states.append(after)
        self.forget()

    def forget(self) -> None:
        if self.world.revisions.retention.revisions is not None:
            self.first = max(self.first, len(self.states) - self.world.revisions.retention.revisions)

    @rule(quads=some_quads)
    def add(self, quads: list[ox.Quad]) -> None:
        self.expect(self.world.add(quads), self.now | set(quads))

    @rule(quads=some_quads, pick=picks)
    def remove(self, quads: list[ox.Quad], pick: int) -> None:
        gone = {*quads, *sorted(self.now, key=str)[: pick % 4]}
        self.expect(self.world.remove(gone), self.now - gone)

    @rule(added=some_quads, removed=some_quads)
    def write_both(self, added: list[ox.Quad], removed: list[ox.Quad]) -> None:
        with self.world.transaction():
            self.world.remove(removed)
            self.world.add(added)
            with contextlib.suppress(ZeroDivisionError), self.world.transaction():
                self.world.remove(self.now)
                raise ZeroDivisionError
        after = self.now - set(removed) | set(added)
        assert quads_of(self.world) == after
        if after != self.now:
            self.states.append(after)
            self.forget()

    @rule(quads=some_quads)
    def load(self, quads: list[ox.Quad]) -> None:
        graph = ox.NamedNode(EX + "g")
        new = {
            ox.Quad(quad.subject, quad.predicate, quad.object, graph)
            for quad in quads
            if not isinstance(quad.object, ox.BlankNode)
        }
        data = b"".join(f"{quad.triple} .\n".encode() for quad in new)
        kept = {quad for quad in self.now if quad.graph_name != graph}
        self.expect(self.world.load(data, format="nt", graph=graph, mode="replace"), kept | new)

    @precondition(lambda self: len(self.states) > self.first)
    @rule(pick=picks, force=st.booleans())
    def undo(self, pick: int, force: bool) -> None:
        revision = self.pick(pick, self.first)
        before, after = self.states[revision - 1], self.states[revision]
        added, removed = after - before, before - after
        blocked = (added - self.now) | (removed & self.now)
        if blocked and not force:
            with pytest.raises(ConflictError, match=f"revision {revision} cannot be undone as a whole"):
                self.world.undo(revision)
            return
        self.expect(self.world.undo(revision, force=force), self.now - added | removed)

    @rule(a=picks, b=picks, strict=st.booleans())
    def patch(self, a: int, b: int, strict: bool) -> None:
        a, b = self.pick(a, self.first - 1), self.pick(b, self.first - 1)
        text = self.world.revisions.patch(a, b)
        added, removed = self.states[b] - self.states[a], self.states[a] - self.states[b]
        if strict and ((added & self.now) or (removed - self.now)):
            with pytest.raises(ConflictError):
                self.world.revisions.apply(text)
            return
        self.expect(self.world.revisions.apply(text, strict=strict), self.now - removed | added)

    @rule(pick=picks)
    def prune(self, pick: int) -> None:
        before = 1 + pick % (len(self.states))
        assert self.world.revisions.prune(before) == max(before - self.first, 0)
        self.first = max(self.first, before)

    @rule(revisions=st.sampled_from([None, 0, 4]))
    def retain(self, revisions: int | None) -> None:
        self.world.revisions.retention = Retention(revisions=revisions)
        self.forget()

    @rule(a=picks, b=picks)
    def compare(self, a: int, b: int) -> None:
        a, b = self.pick(a, self.first - 1), self.pick(b, self.first - 1)
        found = self.world.diff(a, b)
        assert as_quads(found.added) == self.states[b] - self.states[a]
        assert as_quads(found.removed) == self.states[a] - self.states[b]
        assert len(found.added) == len(self.states[b] - self.states[a])

    @rule(a=picks)
    def look_back(self, a: int) -> None:
        revision = self.pick(a, self.first - 1)
        with self.world.at(revision) as past:
            assert quads_of(past) == as_quads(past.quads()) == self.states[revision]
            named = past.query("SELECT * { GRAPH ?g { ?s ?p ?o } }")
            assert len(named) == sum(isinstance(quad.graph_name, ox.NamedNode) for quad in self.states[revision])  # type: ignore[arg-type]

    @invariant()
    def the_log_is_complete(self) -> None:
        entries = self.world.history()
        assert [entry.revision for entry in entries] == list(range(len(self.states) - 1, self.first - 1, -1))
        for entry in entries[:2]:
            before, after = self.states[entry.revision - 1], self.states[entry.revision]
            assert (entry.added, entry.removed) == (len(after - before), len(before - after))
        assert quads_of(self.world) == self.now


# --- any history ------------------------------------------------------------------------------------------------------


TestHistory = HistoryMachine.TestCase


TestHistory.settings = settings(max_examples=8, stateful_step_count=25)
