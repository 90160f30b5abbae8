"""The protocol of an embedder, and the check of its answers.

An embedder turns texts into float32 vectors of unit length; their similarity is the cosine. The rest of the
package calls one only through `checked_documents` and `checked_query`.
"""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from worlds.errors import EmbedderError


@runtime_checkable
class Embedder(Protocol):
    """An embedder as a world needs it: any object with these members.

    Three members more are used where they exist: `count_tokens(text) -> int`, how much of `max_tokens` a text
    takes (see `count_tokens`); `fingerprint: str`, what decides whether two embedders' vectors may be compared (see
    `fingerprint`); and `batch: int`, how many texts it wants to be given at a time.
    """

    @property
    def name(self) -> str:
        """The name in messages and in the world's file."""

    @property
    def dimension(self) -> int:
        """Components of a vector."""

    @property
    def max_tokens(self) -> int:
        """Tokens it reads of a text, special tokens included; the rest is lost."""

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """One row a text, in the order given: [n, dimension], rows L2-normalised."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, [dimension], L2-normalised."""


def fingerprint(embedder: Embedder) -> str:
    """The fingerprint of an embedder: the vectors of two can be compared where theirs are equal.

    The embedder's own `fingerprint` where it has one, else one made of its name and dimension.
    """
    own = getattr(embedder, "fingerprint", None)
    if isinstance(own, str) and own:
        return own
    return hashlib.sha256(json.dumps([embedder.name, int(embedder.dimension)]).encode()).hexdigest()


def count_tokens(embedder: Embedder, text: str) -> int:
    """The number of tokens in a text by the embedder's tokenizer, before truncation to `max_tokens`.

    By the embedder's own `count_tokens` where it has one, else a conservative estimate.
    Raises EmbedderError when the embedder's own fails.
    """
    own = getattr(embedder, "count_tokens", None)
    if callable(own):
        with failing_as(f"embedder {embedder.name!r} failed"):
            tokens: int = own(text)
            return tokens
    from worlds.core.texts.chunking import estimate_tokens

    return estimate_tokens(text)


def checked_documents(embedder: Embedder, texts: list[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The texts' vectors, [n, dimension] with rows of unit length, and which of them are usable, [n].

    A row that came back zero or not finite has no direction: it is zeros here, and False in the mask. Raises
    EmbedderError, naming the embedder, when it fails or answers in another shape or with other than numbers.
    """
    if not texts:
        return np.zeros((0, embedder.dimension), np.float32), np.zeros(0, np.bool_)
    with failing_as(f"embedder {embedder.name!r} failed"):
        answer = embedder.embed_documents(texts)
    return _unit_rows(embedder, answer, (len(texts), embedder.dimension))


def checked_query(embedder: Embedder, text: str) -> NDArray[np.float32]:
    """The question's vector, [dimension], of unit length.

    Raises EmbedderError, naming the embedder, when it fails, answers in another shape or with other than
    numbers, or when the vector is zero or not finite.
    """
    with failing_as(f"embedder {embedder.name!r} failed"):
        answer = embedder.embed_query(text)
    rows, ok = _unit_rows(embedder, answer, (embedder.dimension,))
    if not ok[0]:
        raise EmbedderError(
            f"embedder {embedder.name!r} gave the query {text[:60]!r} a vector that is zero or not finite; "
            "use other words, or mode='text'"
        )
    vector: NDArray[np.float32] = rows[0]
    return vector


@contextmanager
def failing_as(message: str) -> Iterator[None]:
    """Whatever fails inside is an EmbedderError that begins with the message."""
    try:
        yield
    except EmbedderError:
        raise
    except Exception as error:
        raise EmbedderError(f"{message}: {type(error).__name__}: {error}", kind=failure_kind(error)) from error


def failure_kind(error: BaseException) -> str:
    """The kind of an embedder's failure, for callers who may try again or elsewhere."""
    if isinstance(error, EmbedderError):
        return error.kind
    if isinstance(error, TimeoutError):
        return "timeout"
    return "network" if isinstance(error, ConnectionError | socket.gaierror) else "other"


def _unit_rows(
    embedder: Embedder, answer: object, shape: tuple[int, ...]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The answer as [n, d] float32 rows of unit length, and the mask [n] of rows that have a direction."""
    with failing_as(f"embedder {embedder.name!r} gave no array"):  # ragged lists, tensors on a GPU
        raw = np.asarray(answer)
    if raw.dtype.kind not in "fiu":
        raise EmbedderError(f"embedder {embedder.name!r} gave an array of {raw.dtype}, not of numbers")
    if raw.shape != shape:
        raise EmbedderError(f"embedder {embedder.name!r} gave an array of shape {raw.shape}, not {shape}")
    rows = np.atleast_2d(raw).astype(np.float64)  # squares of large float32 values overflow float32
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows))
    ok = np.isfinite(lengths) & (lengths > 0)
    rows[~ok] = 0
    off = ok & (np.abs(lengths - 1) > 1e-6)  # what is already of unit length stays as it came
    rows[off] /= lengths[off, np.newaxis]
    return rows.astype(np.float32), ok
