"""The embedder of the tests: small, deterministic, needs no model, and can be told to misbehave."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


class HashingEmbedder:
    """Words and letter trigrams, each hashed to a vector of signs, summed: texts that share words are near.

    `fail_after`: raises RuntimeError instead of embedding more than so many documents in all; may be set to
    None later, as an embedder that recovers. A document that contains `zero_at` or `nan_at` gets a row of
    zeros or NaN. Counts what it was asked for: `documents` embedded, in `batches`, and `queries`.
    """

    def __init__(
        self,
        dimension: int = 32,
        *,
        name: str = "hashing",
        max_tokens: int = 256,
        fail_after: int | None = None,
        zero_at: str | None = None,
        nan_at: str | None = None,
    ) -> None:
        self.name = name
        self.dimension = dimension
        self.max_tokens = max_tokens
        self.fail_after = fail_after
        self.zero_at = zero_at
        self.nan_at = nan_at
        self.documents = 0
        self.batches = 0
        self.queries = 0

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        if self.fail_after is not None and self.documents + len(texts) > self.fail_after:
            raise RuntimeError(f"told to fail after {self.fail_after} documents")
        self.documents += len(texts)
        self.batches += 1
        rows = np.array([_vector(text, self.dimension) for text in texts], np.float32)
        rows = rows.reshape(len(texts), self.dimension)
        for row, text in zip(rows, texts, strict=True):
            if self.zero_at and self.zero_at in text:
                row[:] = 0
            if self.nan_at and self.nan_at in text:
                row[:] = np.nan
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        self.queries += 1
        return _vector(text, self.dimension)

    def count_tokens(self, text: str) -> int:
        return len(text.split()) + 2


def _vector(text: str, dimension: int) -> NDArray[np.float32]:
    """[dimension], of unit length; zeros for a blank text."""
    words = text.casefold().split()
    total = np.zeros(dimension)
    for word in words:
        padded = f" {word} "
        total += _signs(f"word {word}", dimension)
        for start in range(len(padded) - 2):
            total += 0.5 * _signs(f"trigram {padded[start : start + 3]}", dimension)
    if words:  # the rest is in halves, so this keeps it from being zero
        total += 0.001 * _signs(f"text {' '.join(words)}", dimension)
        total /= np.linalg.norm(total)
    return total.astype(np.float32)


@lru_cache(maxsize=100_000)
def _signs(feature: str, dimension: int) -> NDArray[np.float64]:
    """[dimension] of -1 and 1, the same on every machine."""
    hashed = hashlib.shake_256(feature.encode("utf-8", "surrogatepass")).digest((dimension + 7) // 8)
    bits = np.unpackbits(np.frombuffer(hashed, np.uint8))[:dimension]
    return np.where(bits, np.float64(1), np.float64(-1))
