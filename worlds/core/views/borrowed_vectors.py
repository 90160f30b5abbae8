"""An embedder that takes the vectors which a world has already, and asks the world's own embedder for others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from worlds.core.embedders.base import Embedder, count_tokens
from worlds.core.vectors.embedding import text_digest
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("scopes.sql")
_ANY = 1 << 30
_BATCH = 5000  # digests a statement

Known = Callable[[list[bytes]], Mapping[bytes, bytes | None]]
"""Digest of a text → its vector, float32 little-endian; None for a text without a direction."""

Made = Callable[[list[bytes], NDArray[np.float32]], None]
"""Is told of vectors, float32 [n, d], by their texts' digests."""


class Borrowing:
    """The embedder of a slice: `stored` says whose vectors the world has, `known` finds them by their texts' digests.

    Without an `embedder`, texts that are not known get a vector without a direction, and are counted in `.blank`.
    """

    def __init__(
        self,
        stored: Mapping[str, object],
        embedder: Embedder | None,
        known: Known,
        made: Made | None = None,
        *,
        whole: bool = False,
    ) -> None:
        """`made` is called with the vectors that the embedder computes; `whole` lets no text be too long."""
        self._embedder = embedder
        self._known = known
        self._made = made
        self.name = str(stored["name"])
        self.dimension = int(str(stored["dimension"]))
        self.fingerprint = str(stored["fingerprint"])
        self.max_tokens = _ANY if embedder is None or whole else embedder.max_tokens
        self.blank = 0

    def count_tokens(self, text: str) -> int:
        """How many of `max_tokens` the text takes; without an embedder, nothing is too long."""
        return 0 if self.max_tokens == _ANY or self._embedder is None else count_tokens(self._embedder, text)

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """One row a text, in the order given: [n, dimension]."""
        digests = [text_digest(text) for text in texts]
        known = self._known(digests)
        rows = np.zeros((len(texts), self.dimension), np.float32)
        missing = [place for place, digest in enumerate(digests) if digest not in known]
        for place, digest in enumerate(digests):
            if (vector := known.get(digest)) is not None:
                rows[place] = np.frombuffer(vector, dtype="<f4")
        if missing and self._embedder is not None:
            rows[missing] = self._embedder.embed_documents([texts[place] for place in missing])
            if self._made is not None:
                self._made([digests[place] for place in missing], rows[missing])
        elif missing:
            self.blank += len(missing)
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, [dimension]."""
        return np.zeros(self.dimension, np.float32) if self._embedder is None else self._embedder.embed_query(text)


def known_vectors(connection: Connection, digests: list[bytes]) -> dict[bytes, bytes | None]:
    """The vectors that a world has, or has retired, of the texts with these digests; see `Known`."""
    found: dict[bytes, bytes | None] = {}
    for start in range(0, len(digests), _BATCH):
        part = digests[start : start + _BATCH]
        rows = connection.rows(_SQL["embeddings_of"], (json.dumps([digest.hex() for digest in part]),))
        found.update((part[int(position)], vector) for position, vector in rows)
    return found
