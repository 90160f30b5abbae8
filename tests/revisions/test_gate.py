"""What writes do, against a plain set of quads."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import worlds
from tests.support import tables
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import (
    DEFAULT,
    RDF_TYPE,
    Chunk,
    Conditions,
    Filter,
    Oracle,
    UndoneError,
    any_word,
    expect,
    problems,
    rolled_back,
)
from worlds import Change, ChunkSize, TextPolicy, World
from worlds.graph.terms import format_term, to_oxigraph
from worlds.vectors.codes import sign_codes

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
WORDS = ("kite", "red", "blue", "heron", "river")


def iri(name: str) -> ox.NamedNode:
    return ox.NamedNode(EX + name)


# -- reading a world back -------------------------------------------------------------------------------------------


def exported(world: World) -> list[ox.Quad]:
    target = io.BytesIO()
    count = world.export(target, format="nq")
    found = list(ox.parse(target.getvalue(), format=ox.RdfFormat.N_QUADS))
    assert count == len(found)
    return found


def queried(world: World) -> list[ox.Quad]:
    found = []
    for row in world.query("SELECT ?s ?p ?o ?g WHERE { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }"):  # type: ignore[union-attr]  # a SELECT
        s, p, o, g = (None if term is None else to_oxigraph(term) for term in row)
        found.append(ox.Quad(s, p, o, g or DEFAULT))  # type: ignore[arg-type]  # terms in their places
    return found


def as_sparql_has_them(quads: Iterable[ox.Quad]) -> set[ox.Quad]:
    """Numbers, dates and booleans in their canonical forms."""
    store = ox.Store()
    store.extend(quads)
    return set(store)


def expect_answers(world: World, model: set[ox.Quad]) -> None:
    """SPARQL has each quad once, in its given form or, where several are known, in the canonical one."""
    found = queried(world)
    expected = as_sparql_has_them(model)
    assert len(found) == len(expected)
    assert as_sparql_has_them(found) == expected
    assert set(found) <= model | expected


def nquads(quads: Iterable[ox.Quad]) -> bytes:
    return ox.serialize(quads, format=ox.RdfFormat.N_QUADS)  # type: ignore[return-value]  # bytes where no output is given


def ntriples(quads: Iterable[ox.Quad]) -> bytes:
    return ox.serialize([quad.triple for quad in quads], format=ox.RdfFormat.N_TRIPLES)  # type: ignore[return-value]  # as above


def revisions(world: World) -> list[tuple[int, int, int]]:
    return tables.rows(world, "SELECT revision, added, removed FROM revisions ORDER BY revision")


def stored_quads(world: World) -> dict[ox.Quad, int]:
    """Each quad that holds now, with the revision that it is said to come from."""
    rows = tables.rows(world, "SELECT subject, predicate, object, graph, revision FROM quads")
    return {quad: revision for quad, (revision,) in _decoded(world, rows)}


def removed_quads(world: World) -> list[tuple[ox.Quad, int, int]]:
    """Each quad that held once, with the revisions that added and removed it."""
    rows = tables.rows(world, "SELECT subject, predicate, object, graph, revision, removed FROM removed_quads")
    return [(quad, *numbers) for quad, numbers in _decoded(world, rows)]  # type: ignore[misc]  # two numbers


def _decoded(world: World, rows: list[Any]) -> list[tuple[ox.Quad, tuple[int, ...]]]:
    terms = tables.terms(world, {number for row in rows for number in row[:4]})
    return [(ox.Quad(*[terms[number] for number in row[:4]]), row[4:]) for row in rows]


def chunks_held(world: World) -> list[Chunk]:
    rows = tables.rows(world, "SELECT term, start, end FROM chunks")
    terms = tables.terms(world, {term for term, _, _ in rows})
    return [Chunk(terms[term], start, end) for term, start, end in rows]


def expect_vectors(world: World) -> None:
    """Every chunk that has a vector has its text's, and there is no vector besides."""
    if world.stats().embedder is None:
        return
    rows = tables.rows(
        world,
        "SELECT coalesce(chunks.text, terms.value), vectors.id, vectors.embedding, vector_codes.code "
        "FROM chunks JOIN terms ON terms.id = chunks.term "
        "LEFT JOIN vectors ON vectors.id = chunks.vector LEFT JOIN vector_codes ON vector_codes.id = vectors.id "
        "WHERE chunks.vector IS NOT NULL",
    )
    embedder = HashingEmbedder()
    for text, vector, embedding, code in rows:
        assert vector is not None, "a chunk has a vector that does not exist"
        expected = embedder.embed_query(text.decode() if isinstance(text, bytes) else text)
        stored = np.frombuffer(embedding, dtype="<f4")
        assert np.abs(expected - stored).max() < 1e-6
        assert code == sign_codes(stored[None, :]).tobytes()
    used = {row[1] for row in rows}
    assert {number for (number,) in tables.rows(world, "SELECT id FROM vectors")} == used
    assert {number for (number,) in tables.rows(world, "SELECT id FROM vector_codes")} == used


# -- the state machine ----------------------------------------------------------------------------------------------

# Drawn by name, so that a falsifying example can be read: "a p kite g" is a quad.
LONG = " ".join(f"A {word} is number {number}." for number, word in enumerate(WORDS * 30))
TERMS: dict[str, Any] = {
    **{name: iri(name) for name in "abcpqrghT"},
    "type": RDF_TYPE,
    "default": DEFAULT,
    "_:n": ox.BlankNode("n"),
    **{text.replace(" ", "_"): ox.Literal(text) for text in ("kite", "red kite", "blue heron", "river", "1")},
    "kite_NUL_river": ox.Literal("kite\0river"),
    "long": ox.Literal(LONG),
    "blank": ox.Literal(" "),
    **{
        f"{text}@{language}": ox.Literal(text, language=language) for text in ("kite", "1") for language in ("en", "de")
    },
    "kite@ar--rtl": ox.Literal("kite", language="ar", direction=ox.BaseDirection.RTL),
    "integer": ox.Literal("1", datatype=ox.NamedNode(XSD + "integer")),
    "same_integer": ox.Literal("01", datatype=ox.NamedNode(XSD + "integer")),
    "date": ox.Literal("2020-01-01", datatype=ox.NamedNode(XSD + "date")),
    "triple": ox.Triple(iri("a"), iri("p"), ox.Literal("kite")),
    "same_triple": ox.Triple(iri("a"), iri("p"), ox.Literal("+1", datatype=ox.NamedNode(XSD + "integer"))),
    "one_triple": ox.Triple(iri("a"), iri("p"), ox.Literal("1", datatype=ox.NamedNode(XSD + "integer"))),
    "nested": ox.Triple(iri("a"), iri("p"), ox.Triple(ox.BlankNode("n"), iri("p"), ox.Literal("heron"))),
}
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


def quad(name: str) -> ox.Quad:
    return ox.Quad(*[TERMS[part] for part in name.split()])


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
    for quad in quads:
        if canonical(quad) not in held:
            held.add(canonical(quad))
            after.add(quad)
    return after


def deleted(model: set[ox.Quad], quads: Iterable[ox.Quad]) -> set[ox.Quad]:
    """What DELETE DATA leaves: without all forms of the quads."""
    gone = {canonical(quad) for quad in quads}
    return {quad for quad in model if canonical(quad) not in gone}


def written(quads: Iterable[ox.Quad]) -> str:
    """The quads as an update has them."""
    parts = []
    for quad in quads:
        triple = f"{quad.subject} {quad.predicate} {format_term(quad.object)} ."
        parts.append(triple if quad.graph_name == DEFAULT else f"GRAPH {quad.graph_name} {{ {triple} }}")
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
        for quad in last - self.model:
            self.removed[quad, self.since.pop(quad), revision] += 1
        for quad in self.model - last:
            self.since[quad] = revision
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
        results = self.world.search("red kite", mode="vector", plan=plan, limit=5, explain=True, **filter_.arguments())
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
        assert {to_oxigraph(hit.literal) for hit in results} == expected

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
    max_examples=settings.default.max_examples * 3 // 10,  # type: ignore[union-attr]  # there is a default
    stateful_step_count=40,
)


# To make a failing example small takes longer than the test.
TestGate = pytest.mark.timeout(1200)(GateMachine.TestCase)


# -- terms ----------------------------------------------------------------------------------------------------------


def only_objects(world: World) -> set[Any]:
    return {quad.object for quad in exported(world)}


def test_five_terms_that_look_alike_are_five(path: Path) -> None:
    one: list[Any] = [
        ox.Literal("1"),
        ox.Literal("01"),
        ox.Literal("1", language="en"),
        ox.Literal("1", datatype=ox.NamedNode(XSD + "integer")),
        ox.NamedNode(EX + "1"),
    ]
    with worlds.open(path, embedder=None) as world:
        for term in one:
            assert world.add([(iri("s"), iri("p"), term)]).added == 1
            assert world.add([(iri("s"), iri("p"), term)]).revision is None
        assert set(exported(world)) == {ox.Quad(iri("s"), iri("p"), term) for term in one}
        assert {quad.object for quad in queried(world)} == set(one)
    with worlds.open(path, embedder=None) as world:
        for term in one:
            assert world.remove([(iri("s"), iri("p"), term)]).removed == 1
            assert term not in only_objects(world)
        assert len(world) == 0


def test_forms_of_one_value_stay_apart_though_sparql_takes_them_for_one(world: World) -> None:
    forms = [ox.Literal(form, datatype=ox.NamedNode(XSD + "integer")) for form in ("1", "01", "+1")]
    forms.append(ox.Literal("1", datatype=ox.NamedNode(XSD + "int")))
    world.add([(iri("s"), iri("p"), form) for form in forms])
    assert len(world) == 4
    assert only_objects(world) == set(forms)
    assert world.query("ASK { ?s ?p 1 }") is True
    assert world.remove([(iri("s"), iri("p"), forms[0])]).removed == 1
    assert only_objects(world) == set(forms[1:])
    assert world.query("ASK { ?s ?p 1 }") is True, "01 is there still"
    with rolled_back(world):
        world.remove([(iri("s"), iri("p"), form) for form in forms])
        assert world.query("ASK { ?s ?p 1 }") is False
    assert world.query("ASK { ?s ?p 1 }") is True


def test_directions_are_part_of_a_term(path: Path) -> None:
    terms = [
        ox.Literal("x", language="ar"),
        ox.Literal("x", language="ar", direction=ox.BaseDirection.RTL),
        ox.Literal("x", language="ar", direction=ox.BaseDirection.LTR),
        ox.Literal("x", language="en", direction=ox.BaseDirection.LTR),
    ]
    with worlds.open(path, embedder=None) as world:
        assert world.add([(iri("s"), iri("p"), term) for term in terms]).added == 4
        assert world.remove([(iri("s"), iri("p"), terms[1])]).removed == 1
    with worlds.open(path, embedder=None) as world:
        assert only_objects(world) == {terms[0], *terms[2:]}
        assert len(world.search("x", languages="ar")) == 2


@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=20, unique=True))
def test_any_text_is_kept_and_cut_into_chunks(texts: list[str]) -> None:
    literals = [ox.Literal(text) for text in texts] + [ox.Literal(text, language="en") for text in texts]
    quads = [ox.Quad(iri("s"), iri("p"), literal) for literal in literals]
    with worlds.open(embedder=None) as world:
        assert world.add(quads).added == len(quads)
        assert set(exported(world)) == set(quads)
        assert set(chunks_held(world)) == set(Oracle(quads).chunks)
        assert world.add(quads).revision is None
        assert problems(world) == []
        assert world.remove(quads).removed == len(quads)
        assert chunks_held(world) == []
        assert problems(world) == []


def test_null_characters_survive_everywhere(path: Path) -> None:
    quads = [
        ox.Quad(iri("s"), iri("p"), ox.Literal("a\0b")),
        ox.Quad(iri("s"), iri("p"), ox.Literal("a\0b", language="en")),
        ox.Quad(iri("s"), iri("p"), ox.Literal("a\0c")),
        ox.Quad(iri("s"), iri("p"), ox.Literal("a")),
        ox.Quad(iri("s"), iri("p"), ox.Triple(iri("s"), iri("p"), ox.Literal("\0"))),
        ox.Quad(iri("s"), iri("p"), ox.Literal("x\0" + "A sentence with a kite. " * 100 + "\0")),
    ]
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert world.load(nquads(quads), format="nq").added == len(quads)
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        assert set(exported(world)) == set(queried(world)) == set(quads)
        assert problems(world) == []
        assert world.load(nquads(quads), format="nq").revision is None
        assert world.remove(quads[:1]).removed == 1
        assert set(exported(world)) == set(quads[1:])


# -- blank nodes ----------------------------------------------------------------------------------------------------


def subjects_by_object(world: World) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for quad in exported(world):
        if isinstance(quad.object, ox.Literal):
            found.setdefault(quad.object.value, set()).add(str(quad.subject))
    return found


def test_the_blank_nodes_of_two_documents_are_different_nodes(tmp_path: Path) -> None:
    (tmp_path / "one.ttl").write_bytes(b'_:b <http://example.org/p> "one" , "same" .')
    (tmp_path / "two.ttl").write_bytes(b'_:b <http://example.org/p> "two" , "same" .')
    for together in (True, False):
        with worlds.open(embedder=None) as world:
            if together:
                world.load([tmp_path / "one.ttl", tmp_path / "two.ttl"])
            else:
                world.load(tmp_path / "one.ttl")
                world.load(tmp_path / "two.ttl")
            found = subjects_by_object(world)
            assert len(found["same"]) == 2
            assert found["one"] | found["two"] == found["same"]
            assert world.load(tmp_path / "one.ttl").added == 2, "a third node"
            assert len(set(queried(world))) == len(world) == 6


def test_the_blank_nodes_in_triple_terms_are_their_documents_own() -> None:
    document = b"""
        @prefix : <http://example.org/> .
        _:b :name "b" . _:c :name "c" .
        :s :says <<( _:b :p <<( _:c :p _:b )>> )>> .
    """
    with worlds.open(embedder=None) as world:
        world.load([document, document], format="ttl")
        found = subjects_by_object(world)
        said = [quad.object for quad in exported(world) if isinstance(quad.object, ox.Triple)]
        assert len(said) == 2
        assert {str(triple.subject) for triple in said} == found["b"]
        inner = [triple.object for triple in said if isinstance(triple.object, ox.Triple)]
        assert {str(triple.subject) for triple in inner} == found["c"]
        for triple in said:
            assert isinstance(triple.object, ox.Triple)
            assert triple.object.object == triple.subject


def test_a_loaded_blank_node_is_none_that_was_added_by_its_label() -> None:
    with worlds.open(embedder=None) as world:
        mine = [ox.Quad(ox.BlankNode(f"w{number}"), iri("p"), ox.Literal(str(number))) for number in range(600, 900)]
        world.add(mine)  # and so the next terms have the numbers in these labels
        for _ in range(3):
            world.load(b'_:b <http://example.org/p> "new", "newer" .', format="ttl")
        found = subjects_by_object(world)
        assert len(found["new"]) == 3
        assert found["new"] == found["newer"]
        assert not found["new"] & {str(quad.subject) for quad in mine}
        assert {quad for quad in exported(world) if '"new' not in str(quad)} == set(mine)


def test_a_blank_node_is_added_to_and_removed_by_its_label(world: World) -> None:
    world.load(b'_:b <http://example.org/p> "kite" .', format="ttl")
    ((node, _, _, _),) = world.search("kite")[0].quads
    assert world.add([(node, iri("q"), ox.Literal("heron"))]).added == 1
    assert len(subjects_by_object(world)["kite"] | subjects_by_object(world)["heron"]) == 1
    assert world.remove([(node, iri("p"), ox.Literal("kite"))]).removed == 1


# -- which literals are text ------------------------------------------------------------------------------------------


def held_texts(world: World) -> set[str]:
    assert problems(world) == []
    return {chunk.text for chunk in chunks_held(world)}


def test_a_literal_is_text_for_as_long_as_a_predicate_makes_it_text(world: World) -> None:
    number = ox.Literal("5", datatype=ox.NamedNode(XSD + "integer"))
    included, other, excluded = (iri(name) for name in ("included", "other", "excluded"))
    world.policy = TextPolicy(include=frozenset([included.value]), exclude=frozenset([excluded.value]))
    world.add([(iri("s"), other, number), (iri("s"), excluded, ox.Literal("hidden"))])
    assert held_texts(world) == set()
    world.add([(iri("s"), included, number), (iri("s"), other, ox.Literal("hidden"))])
    assert held_texts(world) == {"5", "hidden"}
    (hit,) = world.search("hidden", mode="text")
    assert [str(quad[1]) for quad in hit.quads] == [other.value], "an excluded predicate's quad is cited"
    world.remove([(iri("s"), included, number), (iri("s"), other, ox.Literal("hidden"))])
    assert held_texts(world) == set()
    assert len(world) == 2


def test_a_policy_may_change_back_and_forth(world: World) -> None:
    date = ox.Literal("2020-01-01", datatype=ox.NamedNode(XSD + "date"))
    world.add(
        [
            (iri("s"), iri("p"), ox.Literal("kite")),
            (iri("s"), iri("q"), ox.Literal("heron")),
            (iri("s"), iri("p"), date),
        ]
    )
    policies = [
        (TextPolicy(), {"kite", "heron"}),
        (TextPolicy(exclude=frozenset([EX + "q"])), {"kite"}),
        (TextPolicy(datatypes=frozenset([XSD + "date"])), {"kite", "heron", "2020-01-01"}),
        (TextPolicy(include=frozenset([EX + "p"]), exclude=frozenset([EX + "q"])), {"kite", "2020-01-01"}),
        (TextPolicy(include=frozenset([EX + "q"])), {"kite", "heron"}),
        (TextPolicy(exclude=frozenset([EX + "p", EX + "q"])), set()),
        (TextPolicy(), {"kite", "heron"}),
    ]
    for policy, texts in policies:
        world.policy = policy
        assert world.policy == policy
        assert held_texts(world) == texts
        world.embed()
        assert {hit.text for hit in world.search("kite", mode="vector")} == texts
        assert {hit.text for hit in world.search("kite heron 2020", mode="text")} == texts
    assert len(revisions(world)) == 1, "a policy is no change of the quads"


def test_a_literal_takes_the_smallest_size_of_its_predicates(world: World) -> None:
    text = ox.Literal(" ".join(f"This is sentence number {number}." for number in range(40)))
    world.policy = TextPolicy(sizes={EX + "short": ChunkSize(100, 0), EX + "long": ChunkSize(5000, 0)})

    def longest() -> int:
        return max(len(chunk.text) for chunk in chunks_held(world))

    world.add([(iri("s"), iri("long"), text)])
    assert longest() > 500
    world.add([(iri("s"), iri("short"), text)])
    assert longest() <= 100
    assert world.stats().pending == 0
    world.remove([(iri("s"), iri("short"), text)])
    assert longest() > 500
    with rolled_back(world):
        world.add([(iri("s"), iri("short"), text)])
        assert longest() <= 100
    assert longest() > 500
    world.policy = TextPolicy(sizes={EX + "long": ChunkSize(200, 0)})
    assert longest() <= 200
    assert problems(world) == []


# -- failures leave nothing -----------------------------------------------------------------------------------------


def test_an_iterator_that_fails_adds_nothing(world: World) -> None:
    def failing() -> Iterator[tuple[Any, ...]]:
        yield iri("s"), iri("p"), ox.Literal("kite")
        raise UndoneError

    with pytest.raises(UndoneError):
        world.add(failing())
    for wrong in [("s",), (iri("s"), iri("p"), "no term"), (ox.Literal("s"), iri("p"), iri("o")), 5, "text"]:
        with pytest.raises((ValueError, TypeError)):
            world.add([(iri("s"), iri("p"), ox.Literal("kite")), wrong])  # type: ignore[list-item]  # that is tested
    assert len(world) == 0
    assert revisions(world) == []
    assert problems(world) == []


@pytest.mark.parametrize("error", [UndoneError, KeyboardInterrupt, SystemExit])
def test_a_transaction_that_is_interrupted_leaves_nothing(world: World, error: type[BaseException]) -> None:
    world.add([(iri("s"), iri("p"), ox.Literal("kite"))])
    before = (revisions(world), set(exported(world)), queried(world))

    def write() -> None:
        with world.transaction():
            world.load(b'<http://example.org/s> <http://example.org/p> "heron" .', format="ttl", mode="replace")
            assert len(world.search("heron", mode="text")) == 1
            raise error

    with pytest.raises(error):
        write()
    assert (revisions(world), set(exported(world)), queried(world)) == before
    assert len(world.search("kite", mode="text")) == 1
    assert world.add([(iri("s"), iri("p"), ox.Literal("river"))]).revision == 2


def many_quads(count: int, *, first: int = 0) -> bytes:
    """N-Triples, long enough for the ways of loading in bulk."""
    lines = (
        f'<{EX}s{number}> <{EX}p{number % 7}> "text number {number}" .\n' for number in range(first, first + count)
    )
    return "".join(lines).encode()


@pytest.mark.slow
def test_a_bulk_load_is_whole_or_nothing(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        with pytest.raises(worlds.ParseError) as caught:
            world.load(many_quads(30_000) + b"<oops", format="nt")
        assert caught.value.line == 30_001
        with rolled_back(world):
            world.load(many_quads(21_000), format="nt")
            assert len(world.search("20999", mode="text")) == 1
        assert (len(world), revisions(world), problems(world)) == (0, [], [])
        assert len(world.search("20999", mode="text")) == 0

        change = world.load(many_quads(21_000), format="nt")
        assert (change.added, change.chunks) == (21_000, 21_000)
        assert len(queried(world)) == 21_000
        change = world.load(many_quads(42_000, first=1_000), format="nt")  # more than there was
        assert (change.added, change.chunks) == (22_000, 22_000)
        change = world.load(many_quads(10_000, first=40_000), format="nt", mode="replace")
        assert (change.added, change.removed) == (7_000, 40_000)
        assert revisions(world) == [(1, 21_000, 0), (2, 22_000, 0), (3, 7_000, 40_000)]
        assert {str(quad.subject)[1:-1] for quad in exported(world)} == {f"{EX}s{n}" for n in range(40_000, 50_000)}
        assert len(world) == len(queried(world)) == 10_000
        assert len(world.search("39999 40000 49999", mode="text")) == 2
        assert problems(world) == []


def test_a_failing_embedder_leaves_texts_pending_and_loses_nothing(path: Path) -> None:
    embedder = HashingEmbedder(fail_after=300)
    quads = [(iri(f"s{number}"), iri("p"), ox.Literal(f"text number {number}")) for number in range(1000)]
    with worlds.open(path, embedder=embedder) as world:
        with contextlib.suppress(worlds.EmbedderError):
            world.add(quads)
        assert len(world) == 1000
        assert len(world.search("999", mode="text")) == 1
        assert world.stats().pending == 1000 - embedder.documents
        assert problems(world) == []
    embedder.fail_after = None
    with worlds.open(path, embedder=embedder) as world:
        assert world.embed() == 1000 - 256
        assert embedder.documents == 1000, "no text is embedded twice"
        assert world.stats().pending == 0
        expect_vectors(world)
        assert problems(world) == []


def test_a_text_that_comes_back_is_not_embedded_again(world: World) -> None:
    assert isinstance(world.embedder, HashingEmbedder)
    held = [(iri("s"), iri("p"), ox.Literal("kite")), (iri("s"), iri("q"), ox.Literal("heron"))]
    for _ in range(3):
        assert world.add(held).chunks == 2
        assert world.search("kite", mode="vector", plan="codes")[0].text == "kite"
        assert world.search("kite", mode="vector", plan="index")[0].text == "kite"
        world.remove(held)
    assert world.embedder.documents == 2


# -- who wrote what -------------------------------------------------------------------------------------------------


def test_revisions_say_who_and_why(world: World) -> None:
    with world.transaction(author="ann", message="all of it"):
        world.add([(iri("s"), iri("p"), ox.Literal("kite"))], author="bob", message="a part")
        with world.transaction(author="cid"):
            world.add([(iri("s"), iri("p"), ox.Literal("heron"))])
    world.remove([(iri("s"), iri("p"), ox.Literal("kite"))], author="bob")
    rows = tables.rows(world, "SELECT revision, author, message, added, removed, time FROM revisions ORDER BY 1")
    assert [row[:5] for row in rows] == [(1, "ann", "all of it", 2, 0), (2, "bob", None, 0, 1)]
    times = [datetime.fromisoformat(row[5]) for row in rows]
    assert times == sorted(times)
    assert all(time.tzinfo == UTC for time in times)
    assert abs(times[0] - datetime.now(UTC)).total_seconds() < 60


def test_a_quad_that_is_removed_and_put_back_keeps_its_revision(world: World) -> None:
    kite, heron, river = (ox.Quad(iri("s"), iri("p"), ox.Literal(text)) for text in ("kite", "heron", "river"))
    world.add([kite])
    world.add([heron])
    with world.transaction():
        assert world.remove([kite, heron]).removed == 2
        assert world.add([kite, river]).added == 2
        with world.transaction():
            world.remove([kite])
            world.add([kite, heron])
        world.remove([heron])
    assert stored_quads(world) == {kite: 1, river: 3}
    assert removed_quads(world) == [(heron, 2, 3)]
    assert revisions(world) == [(1, 1, 0), (2, 1, 0), (3, 1, 1)]
    with world.transaction():
        world.remove([kite, river])
        world.add([river, kite])
    assert len(revisions(world)) == 3, "nothing changed"
    assert stored_quads(world) == {kite: 1, river: 3}


def test_a_replacing_load_touches_only_what_differs(world: World) -> None:
    first = ox.Quad(iri("s"), iri("p"), ox.Literal("kite"), iri("g"))
    second = ox.Quad(iri("s"), iri("p"), ox.Literal("heron"), iri("g"))
    other = ox.Quad(iri("s"), iri("p"), ox.Literal("heron"), iri("h"))
    world.load(nquads([first, second, other]), format="nq")
    change = world.load(nquads([second]), format="nq", mode="replace")
    assert (change.added, change.removed, change.chunks, change.embedded) == (0, 1, 0, 0)
    assert stored_quads(world) == {second: 1, other: 1}
    assert world.load(nquads([second]), format="nq", mode="replace").revision is None
    assert world.load(b"", format="nq", mode="replace", graph=iri("g")).removed == 1
    assert stored_quads(world) == {other: 1}


def test_a_read_only_world_refuses_every_write(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.add([(iri("s"), iri("p"), ox.Literal("kite"))])
    with worlds.open(path, embedder=HashingEmbedder(), read_only=True) as world:
        writes: list[Callable[[], object]] = [
            lambda: world.add([(iri("s"), iri("p"), iri("o"))]),
            lambda: world.add([]),
            lambda: world.remove([(iri("s"), iri("p"), ox.Literal("kite"))]),
            lambda: world.load(b"", format="nt"),
            lambda: world.bind("ex", EX),
            lambda: world.embed(),
            lambda: setattr(world, "policy", TextPolicy(exclude=frozenset([EX + "p"]))),
        ]
        for write in writes:
            with pytest.raises(worlds.ReadOnlyError):
                write()
        assert len(world.search("kite")) == 1
        assert queried(world) == [ox.Quad(iri("s"), iri("p"), ox.Literal("kite"))]
        assert problems(world) == []
