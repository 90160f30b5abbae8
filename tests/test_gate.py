"""What writes do, against a plain set of quads."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyoxigraph as ox
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

import worlds
from tests.embedder import HashingEmbedder
from tests.oracle import DEFAULT, RDF_TYPE, Chunk, Conditions, Filter, Oracle, any_word, expect, problems
from worlds import Change, ChunkSize, TextPolicy, World
from worlds.codes import sign_codes
from worlds.graph.terms import to_oxigraph

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
WORDS = ("kite", "red", "blue", "heron", "river")


def iri(name: str) -> ox.NamedNode:
    return ox.NamedNode(EX + name)


# -- reading a world back -----------------------------------------------------------------------------------------------


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


def nquads(quads: Iterable[ox.Quad]) -> bytes:
    return ox.serialize(quads, format=ox.RdfFormat.N_QUADS)  # type: ignore[return-value]  # bytes where no output is given


def ntriples(quads: Iterable[ox.Quad]) -> bytes:
    return ox.serialize([quad.triple for quad in quads], format=ox.RdfFormat.N_TRIPLES)  # type: ignore[return-value]  # as above


def revisions(world: World) -> list[tuple[int, int, int]]:
    return world._connection.rows("SELECT revision, added, removed FROM revisions ORDER BY revision")


def stored_quads(world: World) -> dict[ox.Quad, int]:
    """Each quad that holds now, with the revision that it is said to come from."""
    rows = world._connection.rows("SELECT subject, predicate, object, graph, revision FROM quads")
    return {quad: revision for quad, (revision,) in _decoded(world, rows)}


def removed_quads(world: World) -> list[tuple[ox.Quad, int, int]]:
    """Each quad that held once, with the revisions that added and removed it."""
    rows = world._connection.rows("SELECT subject, predicate, object, graph, revision, removed FROM removed_quads")
    return [(quad, *numbers) for quad, numbers in _decoded(world, rows)]  # type: ignore[misc]  # two numbers


def _decoded(world: World, rows: list[Any]) -> list[tuple[ox.Quad, tuple[int, ...]]]:
    terms = world._dictionary.terms({number for row in rows for number in row[:4]})
    return [(ox.Quad(*[terms[number] for number in row[:4]]), row[4:]) for row in rows]


def chunks_held(world: World) -> list[Chunk]:
    rows = world._connection.rows("SELECT term, start, end FROM chunks")
    terms = world._dictionary.terms({term for term, _, _ in rows})
    return [Chunk(terms[term], start, end) for term, start, end in rows]


def expect_vectors(world: World) -> None:
    """Every chunk that has a vector has its text's, and there is no vector besides."""
    connection = world._connection
    if world._embeddings.stored is None:
        return
    rows = connection.rows(
        "SELECT coalesce(chunks.text, terms.value), vectors.id, vectors.embedding, vector_codes.code "
        "FROM chunks JOIN terms ON terms.id = chunks.term "
        "LEFT JOIN vectors ON vectors.id = chunks.vector LEFT JOIN vector_codes ON vector_codes.id = vectors.id "
        "WHERE chunks.vector IS NOT NULL"
    )
    embedder = HashingEmbedder()
    for text, vector, embedding, code in rows:
        assert vector is not None, "a chunk has a vector that does not exist"
        expected = embedder.embed_query(text.decode() if isinstance(text, bytes) else text)
        stored = np.frombuffer(embedding, dtype="<f4")
        assert np.abs(expected - stored).max() < 1e-6
        assert code == sign_codes(stored[None, :]).tobytes()
    used = {row[1] for row in rows}
    assert {number for (number,) in connection.rows("SELECT id FROM vectors")} == used
    assert {number for (number,) in connection.rows("SELECT id FROM vector_codes")} == used


# -- the state machine --------------------------------------------------------------------------------------------------

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
    **{f"{text}@{language}": ox.Literal(text, language=language) for text in ("kite", "1") for language in ("en", "de")},
    "kite@ar--rtl": ox.Literal("kite", language="ar", direction=ox.BaseDirection.RTL),
    "integer": ox.Literal("1", datatype=ox.NamedNode(XSD + "integer")),
    "date": ox.Literal("2020-01-01", datatype=ox.NamedNode(XSD + "date")),
    "triple": ox.Triple(iri("a"), iri("p"), ox.Literal("kite")),
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


def without_blank_nodes(quads: Iterable[ox.Quad]) -> list[ox.Quad]:
    return [quad for quad in quads if "_:" not in str(quad)]


class Boom(Exception):
    pass


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

    # -- the model ----------------------------------------------------------------------------------------------------

    def oracle(self) -> Oracle:
        return Oracle(self.model, self.embedder, self.policy)

    def wrote(self, change: Change, after: set[ox.Quad]) -> None:
        """The world says that it did `change`; the model says that it holds `after` now."""
        before, self.model = self.model, after
        assert (change.added, change.removed) == (len(after - before), len(before - after))
        changed = after != before
        assert change.revision == (len(self.states) if changed else None)
        made = set(self.oracle().chunks) - set(Oracle(before, policy=self.policy).chunks)
        assert change.chunks >= len(made)
        if not self.policy.sizes:
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

    # -- rules --------------------------------------------------------------------------------------------------------

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
        target = None if graph is None else TERMS[graph]
        change = self.world.load(data, format=format, graph=target, mode=mode)
        if plain:
            given = [ox.Quad(*quad.triple, DEFAULT) for quad in given]
        emptied = {quad.graph_name for quad in given} | ({DEFAULT} if plain else set())
        if graph is not None:
            given = [ox.Quad(*quad.triple, target) for quad in given]
            emptied = {target}
        kept = {quad for quad in self.model if mode == "merge" or quad.graph_name not in emptied}
        self.wrote(change, kept | set(given))

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
        error = Boom()
        assert not transaction.__exit__(Boom, error, None)

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
        assert self.world._embeddings.pending() == 0

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
        if not self.oracle().chunks and self.world._embeddings.stored is None:
            return
        results = self.world.search(
            "red kite", mode="vector", plan=plan, limit=5, explain=True, **filter_.arguments()
        )
        expect(self.world, self.oracle(), results, filter_=filter_, query="red kite", match=None, limit=5)

    # -- what always holds --------------------------------------------------------------------------------------------

    @invariant()
    def holds_the_quads(self) -> None:
        assert len(self.world) == len(self.model)
        found = exported(self.world)
        assert len(found) == len(self.model)
        assert set(found) == self.model

    @invariant()
    def answers_queries(self) -> None:
        assert Counter(queried(self.world)) == Counter(self.model)

    @invariant()
    def others_see_what_was_committed(self) -> None:
        assert Counter(queried(self.witness)) == Counter(self.states[-1])

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


GateMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=50)
TestGate = GateMachine.TestCase
