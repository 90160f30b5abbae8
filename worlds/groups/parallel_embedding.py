"""Many workers embed the texts of one world."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Iterator
from concurrent.futures import Executor
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from worlds.core.embedders import Embedder, count_tokens, fingerprint, reason_without, resolve_embedder
from worlds.errors import EmbedderError
from worlds.groups.workers import working

_TEXTS = 128  # that a worker is given at a time, at least


@contextlib.contextmanager
def parallel_embedder(
    embedder: str | os.PathLike[str] | Embedder | None = "auto", *, workers: int = 2, ray: str | None = None
) -> Iterator[Embedder]:
    """An embedder that has texts embedded by `workers` processes, or by Ray: for a world's `embed`, while it is open.

    Each loads the model, so give a name, or an object that can be pickled. `ray` is the address of a cluster, or
    "local". EmbedderError as of `worlds.open`.
    """
    own = resolve_embedder(embedder)
    if own is None:
        raise EmbedderError(reason_without() or "several workers can embed nothing without an embedder")
    with working(workers, ray) as pool:
        yield _Parallel(own, pickle.dumps(embedder), workers, pool)


class _Parallel:
    """An `Embedder`."""

    def __init__(self, own: Embedder, pickled: bytes, workers: int, pool: Executor) -> None:
        self._own = own
        self._pickled = pickled
        self._workers = workers
        self._pool = pool
        self.name = own.name
        self.dimension = own.dimension
        self.max_tokens = own.max_tokens
        self.fingerprint = fingerprint(own)
        self.batch = workers * _TEXTS

    def count_tokens(self, text: str) -> int:
        """Tokens of the text, uncut."""
        return count_tokens(self._own, text)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, [dimension]."""
        return self._own.embed_query(text)

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """One row a text, in the order given: [n, dimension]."""
        # Every so many-th text, since those of one length stand together.
        parts = [texts[start :: self._workers] for start in range(min(self._workers, len(texts)))]
        rows = np.empty((len(texts), self.dimension), np.float32)
        running = [self._pool.submit(_embed, self._pickled, part) for part in parts]
        for start, future in enumerate(running):
            rows[start :: self._workers] = future.result()
        return rows


def _embed(pickled: bytes, texts: list[str]) -> NDArray[np.float32]:
    return np.asarray(_loaded(pickled).embed_documents(texts), np.float32)


@lru_cache(maxsize=1)
def _loaded(pickled: bytes) -> Embedder:
    found = resolve_embedder(pickle.loads(pickled))
    assert found is not None
    return found
