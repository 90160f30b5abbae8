"""The embedder of a world at work: on new texts after a write, on what is pending, on everything anew."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from functools import cached_property

from worlds.core.embedders import Embedder, reason_without, resolve_embedder
from worlds.core.history.writer import Progress
from worlds.core.vectors.embedding import Embeddings
from worlds.core.vectors.reembedding import Reembedding
from worlds.errors import EmbedderError, WorldsError
from worlds.sql.connection import Connection

_log = logging.getLogger("worlds")


class WorldEmbedder:
    """Embeds the texts of one world by its embedder, one thread at a time."""

    def __init__(self, connection: Connection, embeddings: Embeddings, embedder: Embedder | None) -> None:
        self._connection = connection
        self._embeddings = embeddings
        self.embedder = embedder
        self._one_embeds = threading.RLock()  # of two threads the second would embed the same texts again
        self._one_rebuilds = threading.RLock()

    @cached_property
    def _reason(self) -> str:
        reason = reason_without()  # looks through folders, which each search without vectors would have to wait for
        return f". {reason}" if reason else ": give --embedder auto, or embedder='auto'"

    def required(self) -> Embedder:
        """The embedder; EmbedderError without one."""
        if self.embedder is None:
            raise EmbedderError(f"this world was opened without an embedder{self._reason}")
        return self.embedder

    def embed_new(self, after: int, progress: Progress | None) -> tuple[int, tuple[str, ...]]:
        """Embed the chunks with ids above `after`; returns the number of texts, and notes.

        The write that made them is kept already, so it must not look as if it had failed.
        """
        if self.embedder is None:
            return 0, ()
        try:
            with self._one_embeds:
                return self._embeddings.embed(self.embedder, _counted(progress), after=after), self._embeddings.notes
        except WorldsError as error:
            note = f"new texts are not embedded yet, and are found by words only: {error}"
            _log.warning("%s: %s", self._connection.path, note)
            return self._embeddings.asked, (*self._embeddings.notes, note)

    def embed(
        self, *, rebuild: bool, embedder: str | os.PathLike[str] | Embedder | None, progress: Progress | None
    ) -> int:
        """See `World.embed`."""
        if embedder is not None and not rebuild:
            raise ValueError("embed() takes an embedder with rebuild=True: it makes all vectors anew")
        chosen = resolve_embedder(embedder) or self.required()
        asked = 0
        if rebuild and self._embeddings.stored is not None:
            reembedding = Reembedding(self._connection, self._embeddings)
            with self._one_rebuilds:
                asked = reembedding.prepare(chosen, _counted(progress))
                with self._one_embeds:
                    reembedding.swap(chosen)
                    self.embedder = chosen
        with self._one_embeds:
            if embedder is not None:
                self.embedder = chosen
            return asked + self._embeddings.embed(chosen, _counted(progress))


def _counted(progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, total: progress("embed", done, total)
