"""What a world is found to hold, by each way of reading it, and the terms that tests of writes write."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyoxigraph as ox

from tests.support import tables
from tests.support.embedder import HashingEmbedder
from tests.support.oracle import (
    DEFAULT,
    RDF_TYPE,
    Chunk,
)
from worlds import World
from worlds.core.vectors.codes import sign_codes
from worlds.graph.terms import to_oxigraph

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
WORDS = ("kite", "red", "blue", "heron", "river")


def iri(name: str) -> ox.NamedNode:
    return ox.NamedNode(EX + name)


def exported(world: World) -> list[ox.Quad]:
    target = io.BytesIO()
    count = world.export(target, format="nq")
    found = list(ox.parse(target.getvalue(), format=ox.RdfFormat.N_QUADS))
    assert count == len(found)
    return found


def quads_of(source: World) -> set[ox.Quad]:
    target = io.BytesIO()
    count = source.export(target, format="nq")
    found = set(ox.parse(target.getvalue(), format=ox.RdfFormat.N_QUADS))
    assert len(found) == count == len(source)
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


def nquads(quads: Iterable[ox.Quad]) -> bytes:
    return ox.serialize(quads, format=ox.RdfFormat.N_QUADS)  # type: ignore[return-value]  # bytes where no output is given


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
        f"{text}@{language}": ox.Literal(text, language=language) for text in ("kite", "1") for language in ("en", "la")
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


def quad(name: str) -> ox.Quad:
    return ox.Quad(*[TERMS[part] for part in name.split()])
