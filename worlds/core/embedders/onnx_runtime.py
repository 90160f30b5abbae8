"""Models run by onnxruntime, without torch."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from worlds.core.embedders import exported
from worlds.core.embedders.base import failing_as
from worlds.core.embedders.exported import FILES, Precision
from worlds.core.embedders.models import DEFAULT_MODEL, HUB_ONNX, ModelEmbedder, download, find_local, installed
from worlds.core.embedders.runner import Runner
from worlds.errors import EmbedderError


class OnnxEmbedder(ModelEmbedder):
    """A sentence-transformers model, by name or by the path of its folder, run by onnxruntime: no import of torch.

    The model's ONNX form lies in the user's cache folder (WORLDS_CACHE names another). If it is not there, it is
    made when the embedder is: of the ONNX form that the model brings along, else by torch, where sentence-transformers
    is installed (some 15 s, once), else from the hub. Models are looked for as `SentenceTransformerEmbedder` does.
    The vectors are those of torch to within 1e-6, and fit worlds that torch embedded.

    A text's vector is the same to the last bit in any batch. `precision="int8"` takes a quarter of the memory, and less
    time on CPUs with VNNI instructions alone; its vectors have a cosine of 0.996 to the others, which they fit.
    `batch_size` counts texts, which share a batch if they have as many tokens. `threads` None takes as
    many as there are cores. `dimension`, `prompts`, `query_prompt` and `document_prompt` are those of
    `SentenceTransformerEmbedder`. May be shared by threads.

    Raises EmbedderError, naming the remedy, when a library is not installed, or the model is not found or cannot be
    exported; later, when it cannot be loaded.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        *,
        precision: Precision = "float32",
        batch_size: int = 8,
        threads: int | None = None,
        dimension: int | None = None,
        prompts: Mapping[str, str] | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
    ) -> None:
        if precision not in get_args(Precision):
            raise EmbedderError(f"precision must be 'float32' or 'int8', not {precision!r}")
        if not can_run():
            raise EmbedderError(
                f"running the model {str(model)!r} without torch needs onnxruntime: pip install 'worlds-kg[onnx]'"
            )
        with failing_as(f"the model {str(model)!r} cannot be looked for"):
            name, source = find_local(model)
            folder = exported.find_exported(name, source) or _make(name, source)
        super().__init__(
            name,
            folder,
            batch_size=batch_size,
            dimension=dimension,
            prompts=prompts,
            query_prompt=query_prompt,
            document_prompt=document_prompt,
        )
        self._precision: Precision = precision
        self._threads = threads
        self._lock = threading.Lock()
        self._loaded: Runner | None = None

    def load(self) -> None:
        """Load the model now, not when the first text is embedded."""
        self._runner()

    def _embed(self, texts: list[str], prompt: str) -> NDArray[np.float32]:
        return self._truncate(self._runner().run([prompt + text for text in texts], self._batch_size))

    def _runner(self) -> Runner:
        with self._lock:
            if self._loaded is None:
                file = self.folder / FILES[self._precision]
                if self._precision == "int8":
                    file = exported.quantize(self.folder)
                with self.reading():
                    self._loaded = Runner(self.folder, file, self._threads)
            return self._loaded


def can_run() -> bool:
    """Whether this machine has the libraries that ONNX forms take."""
    return installed("onnxruntime") and installed("tokenizers")


def _make(name: str, source: Path | None) -> Path:
    """The folder of a model's ONNX form that is not there yet."""
    by_torch = exported.can_export()
    if source is None or not (by_torch or _brings(source) or name == str(source)):
        try:
            source = download(name, onnx=not by_torch)
        except EmbedderError as error:
            raise EmbedderError(
                f"the model {name!r} has no ONNX form here, and the hub gave none ({error}): "
                "pip install 'worlds-kg[semantic]' makes it with sentence-transformers"
            ) from error
    return exported.adopt(name, source) if _brings(source) else exported.export(name, source)


def _brings(source: Path) -> bool:
    return (source / HUB_ONNX).is_file()
