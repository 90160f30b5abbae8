"""The contents of a world, in figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

import pyoxigraph as ox

from worlds.core.quads.dictionary import BLANK_NODE, IRI, LITERAL, TRIPLE, Dictionary
from worlds.core.vectors.embedding import Embeddings
from worlds.graph.query.running import abandoned
from worlds.graph.records import Record, Spare
from worlds.graph.terms import RDF
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("maintenance.sql")
_QUERIES = statements("queries.sql")
_COMMONEST = 10  # predicates and types that stats() names


@dataclass(frozen=True)
class Stats(Record):
    """The contents of a world, as of one moment."""

    _also = ("terms",)

    path: Annotated[str, Spare]
    bytes: int  # the file and its log
    created: str  # UTC, ISO 8601
    quads: int
    named_quads: int  # those in named graphs
    graphs: int  # named graphs with a quad
    iris: int  # terms that are stored, for the history too
    blank_nodes: int
    literals: int
    triple_terms: int
    revisions: int  # that are kept
    last_revision: int
    texts: int  # literals that are text
    chunks: int
    characters: int  # of all chunks, their overlap counted twice
    pending: int  # chunks without a vector yet
    vectors: int  # distinct ones
    retired_vectors: int  # kept for texts that are gone, until compact()
    embedder: str | None  # None before the first text was embedded
    dimension: int | None
    vector_index: bool
    predicates: Mapping[str, int]  # the ten commonest: IRI → quads
    types: Mapping[str, int]  # the ten commonest: IRI → instances
    abandoned: int  # queries that were cancelled and are still evaluated, in this process
    rules: tuple[str, ...] = ()  # rule sets, and rules of the world's own
    conclusions: int = 0  # quads that follow by them, and are not written

    @property
    def terms(self) -> int:
        """The number of distinct terms."""
        return self.iris + self.blank_nodes + self.literals + self.triple_terms


def stats(connection: Connection, embeddings: Embeddings) -> Stats:
    """Count the world's contents in one snapshot; a tenth of a second for a million quads and more with the texts."""
    with connection.snapshot():
        (counts,) = connection.rows(_SQL["counts"])
        size, created, quads, named, graphs, revisions, last, texts, chunks, pending, characters, retired = counts
        kinds: dict[int, int] = dict(connection.rows(_SQL["terms_by_kind"]))
        stored = embeddings.stored
        predicates = connection.rows(_SQL["commonest_predicates"], (_COMMONEST,))
        rdf_type = Dictionary(connection).find([ox.NamedNode(RDF + "type")])[0]
        commonest = _SQL["commonest_types"]
        types = connection.rows(commonest, commonest.bind(rdf_type=rdf_type, limit=_COMMONEST))
        return Stats(
            path=connection.path,
            bytes=_size(connection.file) or size,
            created=created,
            quads=quads,
            named_quads=named,
            graphs=graphs,
            iris=kinds.get(IRI, 0),
            blank_nodes=kinds.get(BLANK_NODE, 0),
            literals=kinds.get(LITERAL, 0),
            triple_terms=kinds.get(TRIPLE, 0),
            revisions=revisions,
            last_revision=last,
            texts=texts,
            chunks=chunks,
            characters=characters,
            pending=pending,
            vectors=0 if stored is None else connection.value(_SQL["count_vectors"]),
            retired_vectors=retired,
            embedder=None if stored is None else str(stored["name"]),
            dimension=None if stored is None else cast(int, stored["dimension"]),
            vector_index=embeddings.index.built,
            predicates=dict(predicates),
            types=dict(types),
            abandoned=abandoned(),
        )


def _size(path: str) -> int:
    """Bytes of the file and its log; 0 for a world that lies nowhere."""
    files = [] if path == ":memory:" else [Path(path), Path(path + "-wal")]
    return sum(file.stat().st_size for file in files if file.exists())
