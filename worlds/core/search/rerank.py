"""Cross-encoders: models that read a question and a text together, and say how well the one answers the other."""

from __future__ import annotations

import atexit
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from worlds.errors import EmbedderError

DEFAULT_RERANKER: Final = "cross-encoder/ms-marco-MiniLM-L-6-v2"
_BATCH = 16  # texts that a model is asked about at a time; between batches the time is looked at
_CHARS = 4000  # of the question and of each text: more than such models read

_loaded: dict[str, Any] = {}
_loading = threading.Lock()
_working: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
_LAST_BATCH = (
    60.0  # seconds that the end of the process waits for: a model that never answers must not hold it for ever
)


@atexit.register
def _wait() -> None:
    until = time.monotonic() + _LAST_BATCH
    for thread in list(_working):
        thread.join(max(0.0, until - time.monotonic()))


class Reranker(Protocol):
    """A reranker: a cross-encoder of sentence-transformers, or anything with this method."""

    def predict(self, pairs: list[tuple[str, str]], /) -> Any:
        """The scores of pairs (question, text), in their order; higher is better."""


class RerankError(Exception):
    """Why there is no answer, in words that follow 'not reranked: '."""


class CrossEncoderReranker:
    """A sentence-transformers CrossEncoder with one output, by name or by the path of its folder.

    A name is looked for on this machine, and only then downloaded. Its answers are in [0, 1].
    """

    def __init__(self, model: str | os.PathLike[str] = DEFAULT_RERANKER) -> None:
        from worlds.core.embedders.models import installed, locate, quiet_loggers

        if not installed("sentence_transformers"):
            raise RerankError("sentence-transformers is not installed; pip install 'worlds-kg[semantic]'")
        try:
            self.name, folder = locate(model)
        except EmbedderError as error:
            raise RerankError(f"there is no cross-encoder {str(model)!r} here: {how_to_get(str(model))}") from error
        with warnings.catch_warnings(), quiet_loggers():
            warnings.simplefilter("ignore")  # torch's and transformers' own, of no use to our caller
            from sentence_transformers import CrossEncoder
            from torch.nn import Sigmoid

            self._model = CrossEncoder(str(folder), local_files_only=True, activation_fn=Sigmoid())
        self._lock = threading.Lock()  # a tokenizer that two threads use at once raises

    def predict(self, pairs: list[tuple[str, str]]) -> NDArray[np.float32]:
        """The scores of pairs (question, text), float32 [n]; higher is better."""
        with self._lock:
            answers: NDArray[np.float32] = self._model.predict(pairs, batch_size=_BATCH, show_progress_bar=False)
        return answers


def how_to_get(name: str) -> str:
    """The command that installs a cross-encoder."""
    if name.startswith(("/", ".", "~")) or name.count("/") > 1 or "\\" in name:
        return "there is no such folder, or it holds no model; rerank=True means " + DEFAULT_RERANKER
    return (
        f"where the model hub can be reached, `hf download {name}` brings it; else copy its folder here, and name the "
        "folder by rerank=PATH"
    )


def find_reranker(model: object) -> Any:
    """Return the reranker of `rerank=`: a named model, loaded once in a process, or the object itself."""
    if model is not True and not isinstance(model, str):
        return model
    name = DEFAULT_RERANKER if model is True else model
    with _loading:
        if name not in _loaded:
            _loaded[name] = CrossEncoderReranker(name)
        return _loaded[name]


def answers(model: object, question: str, texts: Sequence[str], timeout: float | None) -> NDArray[np.float64]:
    """The scores of texts for the question, float64 [n]; RerankError if the model fails or takes too long.

    With a time limit the model works in a thread of its own, which ends after the batch that it is at. The process
    waits for that when it ends: a thread that is cut off inside torch would end it with SIGABRT.
    """
    if timeout is None:
        return _asked(model, question, texts, lambda: False)
    deadline = time.monotonic() + timeout
    stopped = threading.Event()
    found: list[NDArray[np.float64]] = []
    failed: list[RerankError] = []

    def work() -> None:
        try:
            found.append(_asked(model, question, texts, stopped.is_set))
        except RerankError as error:
            failed.append(error)

    thread = threading.Thread(target=work, name="worlds-rerank", daemon=True)
    _working.add(thread)
    thread.start()
    thread.join(min(threading.TIMEOUT_MAX, max(0.0, deadline - time.monotonic())))
    stopped.set()
    if failed:
        raise failed[0]
    if not found:
        raise RerankError(f"the model did not answer within {timeout:g} s")
    return found[0]


def _asked(model: object, question: str, texts: Sequence[str], stopped: Callable[[], bool]) -> NDArray[np.float64]:
    try:
        reranker = find_reranker(model)
        pairs = [(question[:_CHARS], text[:_CHARS]) for text in texts]
        by_length = sorted(range(len(pairs)), key=lambda at: len(pairs[at][1]))  # a batch is padded to its longest
        values = np.empty(len(pairs))
        for start in range(0, len(pairs), _BATCH):
            if stopped():
                raise RerankError("there was no time left")
            batch = by_length[start : start + _BATCH]
            answer = np.asarray(reranker.predict([pairs[at] for at in batch]), dtype=np.float64)
            if answer.size != len(batch):
                raise RerankError(f"the model gave an answer of shape {answer.shape} for {len(batch)} texts")
            values[batch] = answer.reshape(-1)
    except RerankError:
        raise
    except Exception as error:
        raise RerankError(f"{type(error).__name__}: {error}".partition("\n")[0]) from error
    if not np.isfinite(values).all():
        raise RerankError("the model gave numbers that are not finite")
    return values
