"""Embeds a world anew, mostly by another embedder, while the old vectors answer, which they replace at the end.

Until then the new vectors lie in tables of their own (`new_…`), and `meta` says whose they are, so an interrupted call
goes on where it stopped, also in another process.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from worlds.core.embedders import Embedder, checked_documents
from worlds.core.vectors.embedding import (
    Embeddings,
    Progress,
    about,
    batch_of,
    number_vectors,
    reads_whole,
    text_digest,
    vector_keys,
)
from worlds.errors import ConflictError, IntegrityError, ReadOnlyError
from worlds.sql import statements, texts
from worlds.sql.bound_values import as_text
from worlds.sql.connection import Connection, Row

_SQL = statements("reembedding.sql")
_QUERIES = statements("queries.sql")
_VECTORS = texts("vectors.sql")
_META = "new_embedder"
_BLOCK = 4096  # chunks read at a time, and sorted by length

_Texts = dict[bytes, tuple[str, list[int]]]  # digest of a text → the text, its chunks


class _DoneError(Exception):
    """Raised where another process has already put the same embedder's new vectors in place."""


class Reembedding:
    """The new vectors of one world. Processes that make the same embedder's share the work."""

    def __init__(self, connection: Connection, embeddings: Embeddings) -> None:
        self._connection = connection
        self._embeddings = embeddings

    def prepare(self, embedder: Embedder, progress: Progress | None = None) -> int:
        """Give every chunk a new vector beside the one that it has; gives the number of texts the embedder read.

        Chunks that the embedder does not read whole are left out: they will be cut anew. Each slice of texts is kept
        as soon as it is done. ConflictError when another process begins to embed the world by yet another embedder.
        """
        if self._connection.read_only:
            raise ReadOnlyError(f"{self._connection.path} was opened read-only")
        whose = json.dumps(about(embedder))
        with self._connection.transaction():
            if self._connection.meta(_META) != whose:
                self._connection.script(_VECTORS["drop_new_vectors"])
                self._connection.run(_QUERIES["set_meta"], (_META, whose))
            self._connection.script(_VECTORS["create_new_vectors"].format(dimension=int(embedder.dimension)))
        asked = after = 0
        with contextlib.suppress(_DoneError):
            ((done, total),) = self._rows(whose, "count_new")
            if progress:
                progress(done, total)  # the first slice takes long: it loads the model
            while rows := self._rows(whose, "chunks_without_new", (after, _BLOCK)):
                after = rows[-1][0]
                pending = self._pending(embedder, rows)
                known = self._known(whose, pending)
                done += self._assign(whose, [(vector, pending.pop(digest)[1]) for digest, vector in known.items()])
                ordered = sorted(pending.items(), key=lambda item: len(item[1][0]))
                size = batch_of(embedder)
                for start in range(0, len(ordered), size):
                    part = ordered[start : start + size]
                    read = [self._embeddings.reading(text) for _, (text, _) in part]
                    vectors, usable = checked_documents(embedder, read)
                    asked += len(part)
                    done += self._store(whose, part, vectors, usable)
                    if progress:
                        progress(done, max(done, total))
        return asked

    def swap(self, embedder: Embedder) -> None:
        """Replace the old vectors by the new ones, in one transaction; chunks without a new one are pending then.

        The native index, if it is part of the world, is built afterwards, or by the next opening for writing. The
        vectors are found without it.
        """
        whose = json.dumps(about(embedder))
        with contextlib.suppress(_DoneError), self._connection.transaction():
            self._check(whose)
            self._embeddings.index.drop()
            self._connection.script(_VECTORS["drop_vectors"])
            self._connection.run(_VECTORS["create_vectors"].format(dimension=int(embedder.dimension)))
            self._connection.script(_VECTORS["take_new_vectors"])
            self._connection.script(_VECTORS["drop_new_vectors"])
            self._connection.run(_QUERIES["set_meta"], ("embedder", whose))
            self._connection.run(_QUERIES["delete_meta"], (_META,))
            self._connection.run(_QUERIES["add_to_meta"], ("embedding_changes", 1))
            self._connection.run(_QUERIES["add_to_meta"], ("vector_removals", 1))
        self._embeddings.index.mend()

    def _check(self, whose: str) -> None:
        """Raise ConflictError unless the new vectors are, or were, from this embedder. Needs a transaction."""
        making = self._connection.meta(_META)
        if making is None and self._connection.meta("embedder") == whose:
            raise _DoneError
        if making != whose:
            raise ConflictError("another process embeds this world anew, by another embedder")

    def _rows(self, whose: str, statement: str, parameters: Sequence[object] = ()) -> list[Row]:
        with self._connection.snapshot():
            self._check(whose)
            return self._connection.rows(_SQL[statement], parameters)

    def _pending(self, embedder: Embedder, rows: list[Row]) -> _Texts:
        found: _Texts = {}
        for chunk, stored in rows:
            if not isinstance(stored, str | bytes):
                raise IntegrityError(f"chunk {chunk} has no text: the file is damaged, `worlds check` shows more")
            text = as_text(stored)
            if reads_whole(embedder, text):
                found.setdefault(text_digest(text), (text, []))[1].append(chunk)
        return found

    def _known(self, whose: str, pending: _Texts) -> dict[bytes, int]:
        """Digest of a text → its new vector, for the texts that have a new vector already."""
        digests = list(pending)
        rows = self._rows(whose, "find_new_texts", (json.dumps([digest.hex() for digest in digests]),))
        return {digests[int(position)]: vector for position, vector in rows}

    def _assign(self, whose: str, found: list[tuple[int, list[int]]]) -> int:
        """Keep which vectors chunks get; gives the number of chunks."""
        pairs = [(chunk, vector) for vector, chunks in found for chunk in chunks]
        if pairs:
            with self._connection.transaction():
                self._check(whose)
                self._connection.insert("INSERT OR REPLACE INTO new_chunks (chunk, vector)", pairs)
        return len(pairs)

    def _store(
        self,
        whose: str,
        part: list[tuple[bytes, tuple[str, list[int]]]],
        vectors: NDArray[np.float32],
        usable: NDArray[np.bool_],
    ) -> int:
        """Store the result of one call of the embedder: float32 [n, d], and which rows are usable."""
        keys = vector_keys(vectors)
        with self._connection.transaction():
            self._check(whose)
            rows = self._connection.rows(_SQL["find_new_vectors"], (json.dumps([key.hex() for key in keys]),))
            numbers = {keys[int(position)]: number for position, number in rows}
            following = self._connection.value(_SQL["next_new_vector"])
            new_vectors, new_codes = number_vectors(keys, vectors, usable, numbers, following)
            self._connection.insert("INSERT INTO new_vectors (id, key, embedding)", new_vectors)
            self._connection.insert("INSERT INTO new_codes (id, code)", new_codes)
            digests = [(digest, numbers[key]) for (digest, _), key in zip(part, keys, strict=True)]
            self._connection.insert("INSERT OR REPLACE INTO new_texts (digest, vector)", digests)
            return self._assign(whose, [(numbers[key], item[1][1]) for key, item in zip(keys, part, strict=True)])
