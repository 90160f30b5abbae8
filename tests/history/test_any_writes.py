"""Writes of any kind in any order, against a set of quads and the list of its states."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import worlds
from tests.support import tables
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import (
    DEFAULT,
    Conditions,
    Filter,
    Oracle,
    UndoneError,
    any_word,
    expect,
    problems,
)
from tests.support.readback import (
    EX,
    TERMS,
    WORDS,
    XSD,
    as_sparql_has_them,
    chunks_held,
    expect_vectors,
    exported,
    iri,
    nquads,
    quad,
    queried,
    removed_quads,
    revisions,
    stored_quads,
)
from worlds import World
from worlds.graph.terms import format_term, to_oxigraph
from worlds.records import Change, ChunkSize, TextPolicy


def expect_answers(world: World, model: set[ox.Quad]) -> None:
    """SPARQL has each quad once, in its given form or, where several are known, in the canonical one."""
    found = queried(world)
    expected = as_sparql_has_them(model)
    assert len(found) == len(expected)
    assert as_sparql_has_them(found) == expected
    assert set(found) <= model | expected


def ntriples(quads: Iterable[ox.Quad]) -> bytes:
    return ox.serialize([quad.triple for quad in quads], format=ox.RdfFormat.N_TRIPLES)  # type: ignore[return-value]  # as above


OBJECTS = [name for name in TERMS if name not in ("default", "type", *"bcpqrgh")]
POLICIES = {
    "default": TextPolicy(),
    "exclude": TextPolicy(exclude=frozenset([EX + "q"])),
    "include": TextPolicy(include=frozenset([EX + "r"]), datatypes=frozenset([XSD + "date"])),
    "short": TextPolicy(include=frozenset([EX + "p"]), exclude=frozenset([EX + "r"]), size=ChunkSize(300, 50)),
    "sizes": TextPolicy(sizes={EX + "p": ChunkSize(400, 0)}),
}
FILTERS = {
    "none": Filter(),
    "subjects": Filter(Conditions(subjects=frozenset([iri("a"), ox.BlankNode("n")]))),
    "predicates": Filter(Conditions(predicates=frozenset([iri("p")]))),
    "graphs": Filter(Conditions(graphs=frozenset([DEFAULT, iri("h")]))),
    "types": Filter(Conditions(types=frozenset([iri("T")]))),
    "languages": Filter(Conditions(languages=frozenset(["en", ""]))),
    "exclude": Filter(exclude=Conditions(predicates=frozenset([iri("q")]))),
}
names = st.builds(
    "{} {} {} {}".format,
    st.sampled_from(["a", "b", "c", "_:n"]),
    st.sampled_from(["p", "q", "r", "type"]),
    st.sampled_from(OBJECTS),
    st.sampled_from(["default", "default", "g", "h"]),
)
batches = st.lists(names, min_size=1, max_size=8)


def in_graph(quad: ox.Quad, graph: Any) -> ox.Quad:
    return ox.Quad(quad.subject, quad.predicate, quad.object, graph)


def without_blank_nodes(quads: Iterable[ox.Quad]) -> list[ox.Quad]:
    return [quad for quad in quads if "_:" not in str(quad)]


def canonical(quad: ox.Quad) -> ox.Quad:
    """The quad as SPARQL has it."""
    return as_sparql_has_them([quad]).pop()


def canonical_term(term: Any) -> Any:
    if isinstance(term, ox.NamedNode | ox.BlankNode):
        return term
    return canonical(ox.Quad(iri("a"), iri("p"), term)).object


def inserted(model: set[ox.Quad], quads: Iterable[ox.Quad]) -> set[ox.Quad]:
    """What INSERT DATA leaves: of quads that SPARQL cannot tell apart the first."""
    after = set(model)
    held = {canonical(quad) for quad in model}
    for one in quads:
        if canonical(one) not in held:
            held.add(canonical(one))
            after.add(one)
    return after


def deleted(model: set[ox.Quad], quads: Iterable[ox.Quad]) -> set[ox.Quad]:
    """What DELETE DATA leaves: without all forms of the quads."""
    gone = {canonical(quad) for quad in quads}
    return {quad for quad in model if canonical(quad) not in gone}


def written(quads: Iterable[ox.Quad]) -> str:
    """The quads as an update has them."""
    parts = []
    for one in quads:
        triple = f"{one.subject} {one.predicate} {format_term(one.object)} ."
        parts.append(triple if one.graph_name == DEFAULT else f"GRAPH {one.graph_name} {{ {triple} }}")
    return " ".join(parts)


_WRITER = """
import json, os, sys, time
import worlds

for line in sys.stdin:
    path, kept, lost = json.loads(line)
    if os.fork() == 0:
        world = worlds.open(path, embedder=None)
        for request in kept:
            world.update(request)
        with world.transaction():
            for request in lost:
                world.update(request)
            print(os.getpid(), flush=True)
            time.sleep(60)
    os.wait()
    print("over", flush=True)
"""
_writers: list[subprocess.Popen[str]] = []


def teardown_module() -> None:
    for writer in _writers:
        writer.kill()
        writer.communicate()
    _writers.clear()


def kill_a_writer(path: Path, kept: list[str], lost: list[str]) -> None:
    """Let another process run updates, the last of them in a transaction, and kill it there."""
    if not _writers:
        _writers.append(
            subprocess.Popen([sys.executable, "-c", _WRITER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
    writer = _writers[0]
    assert writer.stdin is not None
    assert writer.stdout is not None
    print(json.dumps([str(path), kept, lost]), file=writer.stdin, flush=True)
    os.kill(int(writer.stdout.readline()), signal.SIGKILL)
    assert writer.stdout.readline() == "over\n"


class GateMachine(RuleBasedStateMachine):
    """Writes of all kinds, against a set of quads and a list of its states."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.path = Path(self.folder) / "world.db"
        self.embedder = HashingEmbedder()
        self.world = worlds.open(self.path, embedder=self.embedder)
        self.witness = worlds.open(self.path, embedder=None)  # sees what was committed, as another process would
        self.model: set[ox.Quad] = set()
        self.policy = TextPolicy()
        self.stack: list[tuple[contextlib.AbstractContextManager[World], set[ox.Quad], TextPolicy]] = []
        self.states: list[set[ox.Quad]] = [set()]  # by revision
        self.since: dict[ox.Quad, int] = {}  # the revision that each quad of the last state comes from
        self.removed: Counter[tuple[ox.Quad, int, int]] = Counter()

    def teardown(self) -> None:
        try:
            while self.stack:
                self.commit()
            for revision, state in enumerate(self.states):  # what history is made of
                held = {quad for quad, number in self.since.items() if number <= revision}
                held |= {quad for quad, added, gone in self.removed if added <= revision < gone}
                assert held == state
        finally:
            self.witness.close()
            self.world.close()
            shutil.rmtree(self.folder)

    # -- the model --------------------------------------------------------------------------------------------------

    def oracle(self) -> Oracle:
        return Oracle(self.model, self.embedder, self.policy)

    def wrote(self, change: Change, after: set[ox.Quad], *, between: Sequence[set[ox.Quad]] = ()) -> None:
        """The world says that it did `change`; the model says that it holds `after` now.

        Of a request of several steps, `between` has what it held between them: inside a transaction each one counts.
        """
        before, self.model = self.model, after
        steps = [before, *(between if self.stack else ()), after]
        added = sum(len(new - old) for old, new in pairwise(steps))
        removed = sum(len(old - new) for old, new in pairwise(steps))
        assert (change.added, change.removed) == (added, removed)
        assert change.revision == (len(self.states) if added or removed else None)
        made = set(self.oracle().chunks) - set(Oracle(before, policy=self.policy).chunks)
        assert change.chunks >= len(made)
        if not self.policy.sizes and not between:
            assert change.chunks == len(made)
        if not self.stack:
            self.settle()

    def settle(self) -> None:
        """No transaction is open any longer: what changed since the last revision is the next one."""
        last = self.states[-1]
        if self.model == last:
            return
        revision = len(self.states)
        for gone in last - self.model:
            self.removed[gone, self.since.pop(gone), revision] += 1
        for new in self.model - last:
            self.since[new] = revision
        self.states.append(set(self.model))

    # -- rules ------------------------------------------------------------------------------------------------------

    @rule(names=batches, embed=st.sampled_from([True, True, False]))
    def add(self, names: list[str], embed: bool) -> None:
        quads = [quad(name) for name in names]
        self.wrote(self.world.add(quads, embed=embed), self.model | set(quads))

    @rule(names=batches, picks=st.lists(st.integers(0, 50), max_size=8))
    def remove(self, names: list[str], picks: list[int]) -> None:
        held = sorted(self.model, key=str)
        quads = [quad(names[0]), *(held[pick % len(held)] for pick in picks if held)]
        self.wrote(self.world.remove(quads), self.model - set(quads))

    @rule(
        names=st.lists(names, max_size=8),
        mode=st.sampled_from(["merge", "replace"]),
        graph=st.sampled_from([None, None, "default", "g", "c"]),
        plain=st.booleans(),
    )
    def load(self, names: list[str], mode: Any, graph: str | None, plain: bool) -> None:
        given = without_blank_nodes(map(quad, names))
        data, format = (ntriples(given), "nt") if plain else (nquads(given), "nq")
        target: Any = None if graph is None else TERMS[graph]
        change = self.world.load(data, format=format, graph=target, mode=mode)
        if plain:
            given = [in_graph(quad, DEFAULT) for quad in given]
        emptied = {quad.graph_name for quad in given} | ({DEFAULT} if plain else set())
        if graph is not None:
            given = [in_graph(quad, target) for quad in given]
            emptied = {target}
        kept = {quad for quad in self.model if mode == "merge" or quad.graph_name not in emptied}
        self.wrote(change, kept | set(given))

    @rule(
        names=batches,
        kind=st.sampled_from(["INSERT DATA", "DELETE DATA", "both"]),
        picks=st.lists(st.integers(0, 50), max_size=4),
    )
    def update(self, names: list[str], kind: str, picks: list[int]) -> None:
        held = sorted(self.model, key=str)
        quads = without_blank_nodes([*map(quad, names), *(held[pick % len(held)] for pick in picks if held)])
        first, second = (quads[:2], quads[2:]) if kind == "both" else (quads, [])
        after = deleted(self.model, first) if kind != "INSERT DATA" else inserted(self.model, first)
        between = []
        if kind == "both":
            between, after = [after], inserted(after, second)
            request = f"DELETE DATA {{ {written(first)} }} ;\nINSERT DATA {{ {written(second)} }}"
        else:
            request = f"{kind} {{ {written(first)} }}"
        self.wrote(self.world.update(request), after, between=between)

    @rule(predicate=st.sampled_from("pqr"), to=st.sampled_from("pqr"), graph=st.sampled_from(["default", "g", "h"]))
    def rewrite(self, predicate: str, to: str, graph: str) -> None:
        where = "" if graph == "default" else f"WITH {TERMS[graph]} "
        pattern = f"{{ ?s {TERMS[predicate]} ?o }}"
        change = self.world.update(f"{where}DELETE {pattern} INSERT {{ ?s {TERMS[to]} ?o }} WHERE {pattern}")
        found = [one for one in self.model if one.predicate == TERMS[predicate] and one.graph_name == TERMS[graph]]
        kept = deleted(self.model, found)
        held = set(exported(self.world))
        new = set()
        for one in found:
            (stored,) = as_sparql_has_them([one])
            # What was given in one form alone keeps it; of several, one takes their place.
            known = self.forms_given(stored.object)
            forms = {ox.Quad(one.subject, iri(to), value, one.graph_name) for value in known | {stored.object}}
            new |= forms & held if len(known) > 1 else {quad for quad in forms if quad.object in known}
        self.wrote(change, inserted(kept, new))

    def forms_given(self, value: Any) -> set[Any]:
        """The forms of a term that the world knows: a term that was written once stays known."""
        rows = tables.rows(self.world, "SELECT id FROM terms")
        terms = tables.terms(self.world, [number for (number,) in rows])
        return {term for term in terms.values() if term != DEFAULT and canonical_term(term) == value}

    @rule(
        verb=st.sampled_from(["COPY", "ADD", "MOVE", "CLEAR", "DROP SILENT"]),
        source=st.sampled_from(["default", "g", "h"]),
        destination=st.sampled_from(["default", "g", "h", "c"]),
    )
    def change_graphs(self, verb: str, source: str, destination: str) -> None:
        one, other = (TERMS[name] for name in (source, destination))
        held = {quad for quad in self.model if quad.graph_name == one}
        between: list[set[ox.Quad]] = []
        if verb in ("COPY", "ADD", "MOVE"):
            if not held and one != DEFAULT:
                return
            written_ = " TO ".join("DEFAULT" if term == DEFAULT else f"GRAPH {term}" for term in (one, other))
            after = set(self.model)
            if one != other:
                if verb != "ADD":
                    after = {quad for quad in after if quad.graph_name != other}
                    between.append(after)
                after = after | {in_graph(quad, other) for quad in held}
                if verb == "MOVE":
                    between.append(after)
                    after = after - held
        else:
            if not held and one != DEFAULT and verb == "CLEAR":
                return
            written_ = "DEFAULT" if one == DEFAULT else f"GRAPH {one}"
            after = self.model - held
        self.wrote(self.world.update(f"{verb} {written_}"), after, between=between)

    @precondition(lambda self: not self.stack and len(self.states) > 1)
    @rule(pick=st.integers(0, 100), force=st.booleans())
    def undo(self, pick: int, force: bool) -> None:
        revision = 1 + pick % (len(self.states) - 1)
        before, then = self.states[revision - 1 : revision + 1]
        gone = (then - before) - self.model
        back = (before - then) & self.model
        if (gone or back) and not force:
            with pytest.raises(worlds.ConflictError):
                self.world.undo(revision)
            return
        change = self.world.undo(revision, force=force)
        self.wrote(change, self.model - (then - before) | (before - then))

    @precondition(lambda self: not self.stack)
    @rule(names=st.lists(names, max_size=6), committed=st.integers(0, 6))
    def kill_a_writer(self, names: list[str], committed: int) -> None:
        quads = without_blank_nodes(map(quad, names))
        requests = [f"INSERT DATA {{ {written([quad])} }}" for quad in quads]
        kill_a_writer(self.path, requests[:committed], requests[committed:])
        for one in quads[:committed]:
            self.model = inserted(self.model, [one])
            self.settle()

    @rule()
    def fail_to_load(self) -> None:
        data = nquads([ox.Quad(iri("x"), iri("p"), ox.Literal("red kite"), iri("g"))]) + b"no RDF\n"
        with pytest.raises(worlds.ParseError):
            self.world.load(data, format="nq", mode="replace")

    @precondition(lambda self: len(self.stack) < 3)
    @rule()
    def begin(self) -> None:
        transaction = self.world.transaction()
        transaction.__enter__()
        self.stack.append((transaction, set(self.model), self.policy))

    @precondition(lambda self: self.stack)
    @rule()
    def commit(self) -> None:
        transaction, _, _ = self.stack.pop()
        transaction.__exit__(None, None, None)
        if not self.stack:
            self.settle()

    @precondition(lambda self: self.stack)
    @rule()
    def roll_back(self) -> None:
        transaction, self.model, self.policy = self.stack.pop()
        assert not transaction.__exit__(UndoneError, UndoneError(), None)

    @precondition(lambda self: not self.stack)
    @rule()
    def reopen(self) -> None:
        self.world.close()
        self.embedder = HashingEmbedder()
        self.world = worlds.open(self.path, embedder=self.embedder, create=False)

    @rule(name=st.sampled_from(sorted(POLICIES)))
    def adopt(self, name: str) -> None:
        self.world.policy = self.policy = POLICIES[name]

    @precondition(lambda self: not self.stack)
    @rule()
    def embed(self) -> None:
        self.world.embed()
        assert self.world.stats().pending == 0

    @rule(name=st.sampled_from(sorted(FILTERS)), by_witness=st.booleans())
    def search(self, name: str, by_witness: bool) -> None:
        if by_witness and self.stack:
            return
        world = self.witness if by_witness else self.world
        filter_ = FILTERS[name]
        results = world.search("kite river", mode="text", limit=50, explain=True, **filter_.arguments())
        match = any_word(["kite", "river"])
        expect(world, self.oracle(), results, filter_=filter_, query=None, match=match, limit=50)

    @precondition(lambda self: not self.stack)
    @rule(name=st.sampled_from(sorted(FILTERS)), plan=st.sampled_from(["auto", "exact", "codes"]))
    def search_vectors(self, name: str, plan: Any) -> None:
        filter_ = FILTERS[name]
        self.world.embed()
        if not self.oracle().chunks and self.world.stats().embedder is None:
            return
        results = self.world.search(
            "red kite", mode="vector", ranking=worlds.Ranking(plan=plan), limit=5, explain=True, **filter_.arguments()
        )
        expect(self.world, self.oracle(), results, filter_=filter_, query="red kite", match=None, limit=5)

    # -- what always holds ------------------------------------------------------------------------------------------

    @invariant()
    def holds_the_quads(self) -> None:
        assert len(self.world) == len(self.model)
        found = exported(self.world)
        assert len(found) == len(self.model)
        assert set(found) == self.model

    @invariant()
    def answers_queries(self) -> None:
        expect_answers(self.world, self.model)
        graphs = {str(row[0]) for row in self.world.query("SELECT ?g { GRAPH ?g {} }")}  # type: ignore[union-attr]  # a SELECT
        assert graphs == {str(quad.graph_name)[1:-1] for quad in self.model if quad.graph_name != DEFAULT}

    @invariant()
    def others_see_what_was_committed(self) -> None:
        expect_answers(self.witness, self.states[-1])

    @invariant()
    def chunks_the_texts(self) -> None:
        found = chunks_held(self.world)
        assert len(found) == len(set(found))
        assert set(found) == set(self.oracle().chunks)
        words = any_word([*WORDS, "1", "2020"])
        results = self.world.search(words, syntax="fts5", mode="text", limit=1000)
        expected = {chunk.literal for chunk in self.oracle().bm25(words)} if found else set()
        assert {to_oxigraph(object) for hit in results for _, _, object, _ in hit.quads} == expected

    @invariant()
    def has_vectors(self) -> None:
        expect_vectors(self.world)

    @invariant()
    def counts_revisions(self) -> None:
        changes = [
            (number, len(after - before), len(before - after))
            for number, (before, after) in enumerate(zip(self.states, self.states[1:], strict=False), 1)
        ]
        assert revisions(self.world) == changes
        if not self.stack:
            assert stored_quads(self.world) == self.since
            assert Counter(removed_quads(self.world)) == self.removed

    @invariant()
    def is_sound(self) -> None:
        if not self.stack:
            assert problems(self.world) == []


GateMachine.TestCase.settings = settings(
    max_examples=max(2, settings.default.max_examples // 20),  # type: ignore[union-attr]  # there is a default
    stateful_step_count=40,
)


# --- the state machine ------------------------------------------------------------------------------------------------


# To make a failing example small takes longer than the test.
TestGate = pytest.mark.timeout(1200)(GateMachine.TestCase)
