"""Gives the chunks of a world their vectors: resumable, cached by content, one vector for each distinct text."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from worlds.core.embedders import Embedder, checked_documents, count_tokens, fingerprint
from worlds.core.quads.delta import Delta, Follower
from worlds.core.quads.dictionary import batches, json_ids
from worlds.core.texts.chunks import ChunkStore
from worlds.core.vectors.codes import sign_codes
from worlds.core.vectors.index import NativeIndex, embedder_of
from worlds.errors import EmbedderError, ReadOnlyError
from worlds.sql import statements, texts
from worlds.sql.bound_values import as_text
from worlds.sql.connection import Connection, Row

_SQL = statements("queries.sql")
_VECTORS = texts("vectors.sql")
_BLOCK = 4096  # pending chunks read at a time, and sorted by length
_SLICE = 256  # texts embedded, and stored in one transaction, unless the embedder wants more at a time

Progress = Callable[[int, int], None]  # (chunks done, chunks to do)


class RetiredVectors(Follower):
    """Vectors of removed texts, kept for their return. All runs inside the caller's transaction."""

    def __init__(self, connection: Connection, index: NativeIndex) -> None:
        self._connection = connection
        self._index = index

    def apply(self, delta: Delta) -> None:
        """Follow a write: retire the vectors that its texts no longer use."""
        self.retire(delta.orphans)

    def retire(self, orphans: Collection[int]) -> None:
        """Retire the vectors without a chunk."""
        gone: list[int] = []
        for ids in batches(np.array(sorted(orphans), dtype=np.int64)):
            gone += [number for (number,) in self._connection.rows(_SQL["vectors_without_chunks"], (ids,))]
        for ids in batches(np.array(gone, dtype=np.int64)):
            for name in ("retire_vectors", "delete_codes", "delete_vectors"):
                self._connection.run(_SQL[name], (ids,))
        if gone:
            self._connection.run(_SQL["add_to_meta"], ("vector_removals", len(gone)))
            self._index.renew(len(gone))

    def revive(self, vectors: Collection[int]) -> None:
        """Bring back the retired vectors that a chunk is about to use."""
        ids = json_ids(sorted(vectors))
        rows = self._connection.rows(_SQL["retired_among"], (ids,))
        if not rows:
            return
        self._connection.run(_SQL["revive_vectors"], (ids,))
        stored = [(number, np.frombuffer(blob, dtype="<f4")) for number, blob in rows if blob is not None]
        codes = [[number, sign_codes(vector[None, :])[0].tobytes().hex()] for number, vector in stored]
        self._connection.run(_SQL["revive_codes"], (json.dumps(codes),))
        self._connection.run(_SQL["forget_retired"], (ids,))
        # Their ids lie among the old ones, so whoever keeps the codes in memory must read all of them again.
        self._connection.run(_SQL["add_to_meta"], ("vector_removals", 1))


def text_digest(text: str) -> bytes:
    """The digest that identifies a text that was embedded."""
    return blake2b(text.encode(), digest_size=16).digest()


def vector_keys(vectors: NDArray[np.float32]) -> list[bytes]:
    """A digest of each row of float32 [n, d]: rounded, because runtimes differ in the last bits."""
    rounded = np.round(vectors, 3) + np.float32(0)  # + 0 makes -0.0 into 0.0
    return [blake2b(row.tobytes(), digest_size=16).digest() for row in rounded.astype("<f4")]


def reads_whole(embedder: Embedder, text: str) -> bool:
    """Whether the embedder reads all of the text."""
    # No tokenizer makes more tokens than it reads bytes, its two marks aside.
    return len(text) * 4 + 2 <= embedder.max_tokens or count_tokens(embedder, text) <= embedder.max_tokens


def batch_of(embedder: Embedder) -> int:
    """The number of texts for one call of an embedder: more if its `batch` says so."""
    return max(_SLICE, int(getattr(embedder, "batch", 0)))


def about(embedder: Embedder) -> dict[str, object]:
    """The description of an embedder that a file keeps beside its vectors."""
    return {
        "name": embedder.name,
        "dimension": int(embedder.dimension),
        "fingerprint": fingerprint(embedder),
        "metric": "cosine",
    }


class Embeddings:
    """The vectors of one world."""

    def __init__(self, connection: Connection, chunks: ChunkStore) -> None:
        self._connection = self.connection = connection
        self._chunks = chunks
        self.index = NativeIndex(connection)
        self.retired = RetiredVectors(connection, self.index)
        self.reading: Callable[[str], str] = str  # what the embedder reads of a text
        self.asked = 0  # texts that the embedder was asked for in the last call of embed()
        self.notes: tuple[str, ...] = ()  # what there is to say about that call

    # -- which embedder -------------------------------------------------------------------------------------------

    @property
    def stored(self) -> dict[str, object] | None:
        """The file's record of its embedder: name, dimension, fingerprint, metric; None before the first vector."""
        return embedder_of(self._connection)

    def fits(self, embedder: Embedder) -> bool:
        """Whether the embedder's vectors are comparable with the stored ones."""
        stored = self.stored
        return stored is None or (
            stored["fingerprint"] == fingerprint(embedder) and stored["dimension"] == embedder.dimension
        )

    def require(self, embedder: Embedder) -> None:
        """EmbedderError unless the embedder fits."""
        stored = self.stored
        if stored is not None and not self.fits(embedder):
            raise EmbedderError(
                f"this world was embedded with {stored['name']} ({stored['dimension']} dimensions, fingerprint "
                f"{str(stored['fingerprint'])[:12]}…), not with {embedder.name} ({embedder.dimension} dimensions, "
                f"fingerprint {fingerprint(embedder)[:12]}…); open it with that embedder, or embed it anew: "
                "worlds embed --rebuild"
            )

    def adopt(self, embedder: Embedder) -> None:
        """Make the tables for this embedder's vectors, unless they are there; EmbedderError if another one's are."""
        self.require(embedder)
        if self.stored is not None:
            return
        with self._connection.transaction():
            self.require(embedder)
            if self._connection.meta("embedder") is None:  # else another process was first
                self.make(about(embedder))

    def make(self, told: Mapping[str, object]) -> None:
        """Create the tables for vectors, in a transaction; `told` is the file's record of their embedder."""
        self._connection.run(_VECTORS["create_vectors"].format(dimension=int(str(told["dimension"]))))
        if self.index.wanted:
            self.index.create()
        self._connection.run(_SQL["set_meta"], ("embedder", json.dumps(told)))

    # -- embedding ------------------------------------------------------------------------------------------------

    def pending(self, after: int = 0) -> int:
        """The number of chunks with ids above `after` that have no vector yet."""
        return int(self._connection.value(_SQL["count_pending"], (after,)))

    def embed(self, embedder: Embedder, progress: Progress | None = None, *, after: int = 0) -> int:
        """Give every pending chunk with an id above `after` its vector; gives the number of texts the embedder read.

        Each slice of texts is kept as soon as it is done: what was embedded before an interruption stays.
        """
        self.asked, self.notes = 0, ()
        self.require(embedder)
        total = self.pending(after)
        if not total:
            return 0
        if self._connection.read_only:
            raise ReadOnlyError(f"{self._connection.path} was opened read-only")
        outgrown = self.index.outgrown(total, int(embedder.dimension))
        self.notes = () if outgrown is None else (outgrown,)
        if progress:
            progress(0, total)  # the first slice takes long: it loads the model
        done = 0
        refitted: set[int] = set()
        while rows := self._connection.rows(_SQL["pending_chunks"], (after, _BLOCK)):
            after = rows[-1][0]
            by_text = _by_text(self._refit(embedder, rows, refitted))
            done += self._reuse(by_text)
            ordered = sorted(by_text.items(), key=lambda item: len(item[1][0]))
            size = batch_of(embedder)
            for start in range(0, len(ordered), size):
                part = ordered[start : start + size]
                vectors, usable = checked_documents(embedder, [self.reading(text) for _, (text, _) in part])
                self.adopt(embedder)  # not before it has shown that it works
                chunks = [chunks for _, (_, chunks) in part]
                self._store([digest for digest, _ in part], chunks, vectors, usable)
                self.asked += len(part)
                done += sum(map(len, chunks))
                if progress:
                    progress(done, max(done, total))
        return self.asked

    def _refit(self, embedder: Embedder, rows: list[Row], refitted: set[int]) -> list[tuple[int, str]]:
        """(chunk id, text) of the chunks that the embedder reads whole; the literals of the others are cut anew."""
        fitting: list[tuple[int, str]] = []
        too_long: set[int] = set()
        for chunk, term, stored in rows:
            text = as_text(stored)
            if term in refitted or reads_whole(embedder, text):
                fitting.append((chunk, text))
            else:
                too_long.add(term)
        if too_long:
            refitted |= too_long
            with self._connection.transaction():
                cut = self._chunks.rechunk(
                    np.array(sorted(too_long), dtype=np.int64),
                    max_tokens=embedder.max_tokens,
                    count_tokens=lambda text: count_tokens(embedder, text),
                )
                self.retired.retire(cut.orphans)
                for counter in ("embedding_changes", "recuts"):
                    self._connection.run(_SQL["add_to_meta"], (counter, 1))
        return fitting

    def _reuse(self, by_text: dict[bytes, tuple[str, list[int]]]) -> int:
        """Assign known vectors to chunks whose text was embedded before, and remove these texts from `by_text`."""
        if not self._known(by_text):
            return 0
        with self._connection.transaction():
            found = self._known(by_text)  # once more: another process may have forgotten some
            pairs = [(vector, chunk) for digest, vector in found.items() for chunk in by_text.pop(digest)[1]]
            self._assign(pairs)
        return len(pairs)

    def _known(self, digests: Iterable[bytes]) -> dict[bytes, int]:
        """Digest of a text → its vector, for the texts that have a vector."""
        ordered = list(digests)
        found: dict[bytes, int] = {}
        for start in range(0, len(ordered), _SLICE):
            part = ordered[start : start + _SLICE]
            rows = self._connection.rows(_SQL["find_embedded"], (json.dumps([digest.hex() for digest in part]),))
            found.update((part[int(position)], vector) for position, vector in rows)
        return found

    def _store(
        self, digests: list[bytes], chunks: list[list[int]], vectors: NDArray[np.float32], usable: NDArray[np.bool_]
    ) -> None:
        """Store the result of one call of the embedder: vectors float32 [n, d], and which rows are usable."""
        keys = vector_keys(vectors)
        with self._connection.transaction():
            found = self._connection.rows(_SQL["find_vectors"], (json.dumps([key.hex() for key in keys]),))
            numbers = {keys[int(position)]: number for position, number in found if number is not None}
            following = self._connection.value(_SQL["next_vector"])
            new_vectors, new_codes = number_vectors(keys, vectors, usable, numbers, following)
            self._connection.insert("INSERT INTO vectors (id, key, embedding)", new_vectors)
            self._connection.insert("INSERT INTO vector_codes (id, code)", new_codes)
            texts = [(digest, numbers[key]) for digest, key in zip(digests, keys, strict=True)]
            self._connection.insert("INSERT OR IGNORE INTO embedded_texts (digest, vector)", texts)
            self._assign([(numbers[key], chunk) for key, group in zip(keys, chunks, strict=True) for chunk in group])

    def _assign(self, pairs: list[tuple[int, int]]) -> None:
        """Give vectors to chunks, as pairs (vector id, chunk id); retired vectors come back."""
        vectors = {vector for vector, _ in pairs}
        self.retired.revive(vectors)
        for start in range(0, len(pairs), _BLOCK):
            packed = [vector << 32 | chunk for vector, chunk in pairs[start : start + _BLOCK]]
            self._connection.run(_SQL["set_chunk_vectors"], (json.dumps(packed),))
        self.retired.retire(vectors)  # another process may have removed the chunks meanwhile
        self._connection.run(_SQL["add_to_meta"], ("embedding_changes", 1))


def _by_text(chunks: Iterable[tuple[int, str]]) -> dict[bytes, tuple[str, list[int]]]:
    """Digest of a text → the text, and the chunks that have it; of pairs (chunk id, text)."""
    found: dict[bytes, tuple[str, list[int]]] = {}
    for chunk, text in chunks:
        found.setdefault(text_digest(text), (text, []))[1].append(chunk)
    return found


def number_vectors(
    keys: list[bytes],
    vectors: NDArray[np.float32],
    usable: NDArray[np.bool_],
    numbers: dict[bytes, int],
    following: int,
) -> tuple[list[Row], list[Row]]:
    """Number the vectors, float32 [n, d], whose keys `numbers` lacks, from `following` on, and add them to it.

    Gives the rows to store: (id, key, embedding or None) of all, (id, sign bits) of those rows that are `usable`.
    """
    codes, vectors = sign_codes(vectors), vectors.astype("<f4")
    new_vectors: list[Row] = []
    new_codes: list[Row] = []
    for row, key in enumerate(keys):
        if key not in numbers:
            numbers[key] = following
            new_vectors.append((following, key, vectors[row].tobytes() if usable[row] else None))
            if usable[row]:
                new_codes.append((following, codes[row].tobytes()))
            following += 1
    return new_vectors, new_codes
