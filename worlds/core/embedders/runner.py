"""Runs the ONNX form of a model: text to tokens to vectors, with onnxruntime and tokenizers alone."""

from __future__ import annotations

import os
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worlds.core.embedders.models import DESCRIPTION, read_json, read_tokenizer


def session(file: Path, threads: int | None = None, *, optimized: Path | None = None) -> Any:
    """onnxruntime's session of a model file; `threads` None takes OMP_NUM_THREADS, or as many as there are cores.

    The optimised model is written to the file `optimized`, and its weights to another beside it, which later sessions
    map into memory: they load in a quarter of the time.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    if optimized is not None:  # by the optimisations that are the same on every machine
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(optimized)
        weights = f"{optimized.name}.data"
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", weights)
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
        self._width: int = about["dimension"]
        self._tokenizer = read_tokenizer(folder)
        self._tokenizer.enable_truncation(about["max_tokens"])
        self._session = session(file, threads)

    def run(self, texts: list[str], batch_size: int) -> NDArray[np.float32]:
        """One row a text, in the order given: float32 [n, width], of any length.

        The texts of a batch have the same number of tokens. So nothing is padded or masked, and no text changes
        another's vector by a bit.
        """
        # One by one: a tokenizer that was given a batch warns on the terminal when the process forks later.
        encodings = [self._tokenizer.encode(text) for text in texts]
        lengths = [len(encoding) for encoding in encodings]
        rows = np.empty((len(texts), self._width), np.float32)
        for _, group in groupby(sorted(range(len(texts)), key=lengths.__getitem__), key=lengths.__getitem__):
            alike = list(group)
            for start in range(0, len(alike), batch_size):
                batch = alike[start : start + batch_size]
                rows[batch] = self._batch([encodings[index] for index in batch])[:, : self._width]
        return rows

    def _batch(self, encodings: list[Any]) -> NDArray[np.float32]:
        tokens = np.array([encoding.ids for encoding in encodings], np.int64)
        types = np.array([encoding.type_ids for encoding in encodings], np.int64)
        given = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": types}
        (answer,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        vectors: NDArray[np.float32] = answer
        if self._pooling == "cls":
            vectors = vectors[:, 0]
        elif self._pooling == "max":
            vectors = vectors.max(axis=1)
        elif self._pooling == "mean":
            vectors = vectors.mean(axis=1)
        return vectors
