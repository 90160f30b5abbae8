"""Vectors that outlive a run: an embedder that remembers, in a folder, what it has embedded."""

from __future__ import annotations

import hashlib
import os
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from worlds import Embedder
from worlds.core.embedders import count_tokens, fingerprint

_AT_ONCE = 64  # texts embedded before they are written down: what an interrupted run loses at most


def default_folder() -> Path:
    """The folder in the user's cache where vectors and worlds are kept."""
    if sys.platform == "win32":
        home = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        home = Path.home() / "Library" / "Caches"
    else:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "worlds-kg" / "quality"


class CachedEmbedder:
    """Another embedder, asked once for each text: its answers are kept in `folder` by the texts' digests.

    The vectors of different models stand in different folders, by fingerprint. A file is written whole and never
    changed, so that any number of processes may share the folder.
    """

    def __init__(self, inner: Embedder, folder: Path) -> None:
        self.inner = inner
        self.name = inner.name
        self.dimension = inner.dimension
        self.max_tokens = inner.max_tokens
        self.fingerprint = fingerprint(inner)
        self._folder = folder / "vectors" / hashlib.sha256(self.fingerprint.encode()).hexdigest()[:16]
        self._folder.mkdir(parents=True, exist_ok=True)
        self._layout = np.dtype([("digest", "V32"), ("vector", "<f4", (self.dimension,))])
        self._known: dict[bytes, NDArray[np.float32]] = {}
        for file in self._folder.glob("*.npy"):
            for digest, vector in zip(*self._read(file), strict=True):
                self._known[digest] = vector

    def count_tokens(self, text: str) -> int:
        return count_tokens(self.inner, text)

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        return self._vectors("document", texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = self._vectors("query", [text])[0]
        return vector

    def embed_queries(self, texts: Sequence[str]) -> None:
        """Learn the vectors of many questions, and keep them together."""
        self._vectors("query", list(texts))

    def _vectors(self, kind: str, texts: list[str]) -> NDArray[np.float32]:
        digests = [hashlib.sha256(f"{kind}\0{text}".encode("utf-8", "surrogatepass")).digest() for text in texts]
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in self._known}
        # Texts of like length together, for a batch is padded to its longest.
        order = sorted(missing, key=lambda digest: len(missing[digest]))
        for start in range(0, len(order), _AT_ONCE):
            self._learn(kind, order[start : start + _AT_ONCE], missing)
        return np.stack([self._known[digest] for digest in digests])

    def _learn(self, kind: str, digests: list[bytes], missing: dict[bytes, str]) -> None:
        texts = [missing[digest] for digest in digests]
        if kind == "query":
            vectors = np.stack([self.inner.embed_query(text) for text in texts])
        else:
            vectors = self.inner.embed_documents(texts)
        rows = np.empty(len(digests), self._layout)
        rows["digest"] = digests
        rows["vector"] = vectors
        target = self._folder / f"{uuid.uuid4().hex}.npy"
        unfinished = target.with_suffix(".part")
        with unfinished.open("wb") as file:
            np.save(file, rows)
        unfinished.replace(target)
        self._known.update(zip(digests, rows["vector"], strict=True))

    def _read(self, file: Path) -> tuple[list[bytes], NDArray[np.float32]]:
        rows = np.load(file)
        return [digest.tobytes() for digest in rows["digest"]], rows["vector"]
