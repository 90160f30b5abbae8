"""Runs the ONNX form of a model: text to tokens to vectors, with onnxruntime and tokenizers alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worlds.core.embedders.models import DESCRIPTION, read_json, read_tokenizer


def session(file: Path, threads: int | None = None) -> Any:
    """onnxruntime's session of a model file; `threads` None takes OMP_NUM_THREADS, or as many as there are cores."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what goes wrong is raised
    given = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    options.intra_op_num_threads = threads or (int(given) if given.isdecimal() else 0)
    # Threads that wait in a loop take the cores from whatever else runs: on a busy machine, four times slower.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


class Runner:
    """A model's ONNX form, loaded. May be shared by threads."""

    def __init__(self, folder: Path, file: Path, threads: int | None = None) -> None:
        about = read_json(folder / DESCRIPTION)
        self._inputs: list[str] = about["inputs"]
        self._output: str = about["output"]
        self._pooling: str | None = about["pooling"]
        self._padding: int = about["padding"]
        self._width: int = about["dimension"]
        self._tokenizer = read_tokenizer(folder)
        self._tokenizer.enable_truncation(about["max_tokens"])
        self._session = session(file, threads)

    def run(self, texts: list[str], batch_size: int) -> NDArray[np.float32]:
        """One row a text, in the order given: float32 [n, width], of any length."""
        # One by one: a tokenizer that was given a batch warns on the terminal when the process forks later.
        encodings = [self._tokenizer.encode(text) for text in texts]
        # Texts of like length share a batch, for a batch is padded to its longest.
        order = sorted(range(len(texts)), key=lambda index: len(encodings[index].ids))
        rows = np.empty((len(texts), self._width), np.float32)
        for start in range(0, len(order), batch_size):
            batch = order[start : start + batch_size]
            rows[batch] = self._batch([encodings[index] for index in batch])[:, : self._width]
        return rows

    def _batch(self, encodings: list[Any]) -> NDArray[np.float32]:
        shape = len(encodings), max(len(encoding.ids) for encoding in encodings)
        tokens = np.full(shape, self._padding, np.int64)
        mask, types = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, encoding in enumerate(encodings):
            size = len(encoding.ids)
            tokens[row, :size], mask[row, :size], types[row, :size] = encoding.ids, 1, encoding.type_ids
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": types}
        vectors: NDArray[np.float32] = self._session.run([self._output], {name: given[name] for name in self._inputs})[
            0
        ]
        return vectors if self._pooling is None else _pool(vectors, mask, self._pooling)


def _pool(vectors: NDArray[np.float32], mask: NDArray[np.int64], mode: str) -> NDArray[np.float32]:
    """The vectors of texts, [n, d], pooled from the vectors of their tokens, [n, t, d]."""
    pooled: NDArray[np.float32]
    if mode == "cls":
        pooled = vectors[:, 0]
    elif mode == "max":
        pooled = np.where(mask[:, :, None] > 0, vectors, -np.inf).max(axis=1)
    else:
        weights = mask[:, :, None].astype(np.float32)
        pooled = (vectors * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
    return pooled
