"""An embedding model of another library, as an embedder of a world."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from worlds.errors import EmbedderError


class AdaptedEmbedder:
    """Two functions that embed, of many texts and of one question, as an `Embedder`.

    `name` is what the world's file calls it. `dimension` None embeds a word once to see. `max_tokens` is what the model
    reads of a text; longer texts are cut.
    """

    def __init__(
        self,
        documents: Callable[[list[str]], Sequence[Sequence[float]]],
        query: Callable[[str], Sequence[float]],
        *,
        name: str,
        dimension: int | None,
        max_tokens: int,
    ) -> None:
        self._documents = documents
        self._query = query
        self.name = name
        self.max_tokens = max_tokens
        if dimension is not None:
            self.dimension = dimension  # in the place of the cached property

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @cached_property
    def dimension(self) -> int:
        """Components of a vector; EmbedderError where the model cannot be asked."""
        try:
            return len(self._query("dimension"))
        except Exception as error:
            raise EmbedderError(f"embedder {self.name!r} failed: {type(error).__name__}: {error}") from error

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """One row a text, in the order given: [n, dimension]."""
        return np.array(self._documents(texts), np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, [dimension]."""
        return np.array(self._query(text), np.float32)
