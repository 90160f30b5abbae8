"""Worlds: an embedded RDF knowledge-graph engine with hybrid retrieval.

One world is one libSQL database file: RDF quads, the text chunks of their literals, a full-text index and a vector
index. Quads, chunks and full-text change in one transaction; a vector that is still missing is a visible state.

    >>> import worlds
    >>> with worlds.open(":memory:", embedder=None) as w:
    ...     change = w.load(b'<http://ex/1> <http://www.w3.org/2000/01/rdf-schema#label> "red kite" .', format="nt")
    ...     w.search("kite")[0].text
    'red kite'
"""

from worlds.embedders import (
    Embedder,
    FallbackEmbedder,
    OnnxEmbedder,
    OpenAIEmbedder,
    SentenceTransformerEmbedder,
)
from worlds.errors import (
    ConflictError,
    EmbedderError,
    FilterError,
    IntegrityError,
    OpenError,
    ParseError,
    QueryError,
    QueryTimeout,
    ReadOnlyError,
    SchemaError,
    WorldsError,
)
from worlds.gate import Change
from worlds.graph.results import Solutions, Triples
from worlds.history import Diff, Entry, Past, Retention
from worlds.hits import Hit, SearchResults
from worlds.policy import ChunkSize, TextPolicy
from worlds.world import World, open

__all__ = [
    "Change",
    "ChunkSize",
    "ConflictError",
    "Diff",
    "Embedder",
    "EmbedderError",
    "Entry",
    "FallbackEmbedder",
    "FilterError",
    "Hit",
    "IntegrityError",
    "OnnxEmbedder",
    "OpenAIEmbedder",
    "OpenError",
    "ParseError",
    "Past",
    "QueryError",
    "QueryTimeout",
    "ReadOnlyError",
    "Retention",
    "SchemaError",
    "SearchResults",
    "SentenceTransformerEmbedder",
    "Solutions",
    "TextPolicy",
    "Triples",
    "World",
    "WorldsError",
    "open",
]
