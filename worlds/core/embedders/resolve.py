"""Which embedder a name means, and by which runtime its model runs."""

from __future__ import annotations

import logging
import os
import platform
import sys
import threading
from numbers import Integral
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from worlds.core.embedders import exported
from worlds.core.embedders.base import Embedder, failing_as
from worlds.core.embedders.endpoint import OpenAIEmbedder
from worlds.core.embedders.fallback import FallbackEmbedder
from worlds.core.embedders.models import DEFAULT_MODEL, ModelEmbedder, find_local, installed
from worlds.core.embedders.onnx_runtime import OnnxEmbedder, can_run
from worlds.core.embedders.sentence import SentenceTransformerEmbedder
from worlds.errors import EmbedderError

_ACCELERATORS: Final = ("/dev/nvidia0", "/dev/kfd")  # told without torch

_log = logging.getLogger("worlds")


def resolve_embedder(spec: str | os.PathLike[str] | Embedder | None) -> Embedder | None:
    """The embedder that `embedder=` names.

    None gives None. "auto" gives the default model if this machine has all that it needs, without asking the
    network, and otherwise None (`reason_without` says why). Another string is a model's name or its folder.
    Models run by onnxruntime where their ONNX form lies on this machine, else by torch: see `LocalEmbedder`.
    An object of one's own is given back. Raises EmbedderError for a model that is not found, and for an
    object that lacks a member of `Embedder`.
    """
    if spec is None:
        return None
    if spec == "auto":
        return None if reason_without() else _model(DEFAULT_MODEL)
    if isinstance(spec, str | os.PathLike):
        return _model(spec)
    if isinstance(spec, OpenAIEmbedder | FallbackEmbedder):
        return spec  # may have to ask for its dimension, and is not asked before there is something to embed
    if isinstance(spec, type):
        raise EmbedderError(f"the class {spec.__name__} is not an embedder: give an instance of it")
    members = ("name", "dimension", "max_tokens", "embed_documents", "embed_query")
    if missing := [member for member in members if not hasattr(spec, member)]:
        raise EmbedderError(f"the {type(spec).__name__} object is not an embedder: it has no {', '.join(missing)}")
    for member in ("dimension", "max_tokens"):
        value = getattr(spec, member)
        if not isinstance(value, Integral) or value < 1:
            raise EmbedderError(f"embedder {spec.name!r} has {member} {value!r}, not a whole number above 0")
    return spec


def reason_without() -> str:
    """Why "auto" finds no embedder on this machine, and the remedy; empty when it finds one."""
    name, folder = find_local(DEFAULT_MODEL)
    if can_run() and exported.find_exported(name, folder) is not None:
        return ""
    if not installed("sentence_transformers"):
        return (
            "there is no embedder: sentence-transformers is not installed; "
            "pip install 'worlds-kg[semantic,model]', or pass an embedder of your own"
        )
    if folder is None:
        return (
            f"there is no embedder: the model {DEFAULT_MODEL} is not on this machine; "
            "pip install 'worlds-kg[model]', or pass embedder= the folder of a model"
        )
    return ""


def _model(model: str | os.PathLike[str]) -> Embedder:
    if not can_run():
        return SentenceTransformerEmbedder(model)
    with failing_as(f"the model {str(model)!r} cannot be looked for"):
        name, folder = find_local(model)
        found = exported.find_exported(name, folder) is not None
    if not installed("sentence_transformers") or (found and folder is None):
        return OnnxEmbedder(model)
    return LocalEmbedder(SentenceTransformerEmbedder(model), OnnxEmbedder(model) if found else None)


class LocalEmbedder:
    """A model on this machine, by the runtime that answers soonest.

    That is onnxruntime where the model's ONNX form lies in the cache folder: it needs no import of torch. Where it does
    not, torch embeds, and afterwards, if the package `onnx` is installed, makes the form for the next time, once: some
    5 s, and the model's size on the disk. On a machine with a GPU torch embeds documents all the same.
    """

    def __init__(self, torch: SentenceTransformerEmbedder, quick: OnnxEmbedder | None) -> None:
        self.name = torch.name
        self._torch = torch
        self._quick = quick
        self._loaded = False
        self._tried = False
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def dimension(self) -> int:
        """Components of a vector."""
        return self._known.dimension

    @property
    def max_tokens(self) -> int:
        """Word pieces that the model reads of a text, special tokens included."""
        return self._known.max_tokens

    @property
    def fingerprint(self) -> str:
        """A hash of all that determines the vectors, the same for every runtime."""
        return self._known.fingerprint

    def count_tokens(self, text: str) -> int:
        """Word pieces of the text as a document, uncut, special tokens included."""
        return self._known.count_tokens(text)

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """One row a text, in the order given: [n, dimension], rows L2-normalised."""
        quick = None if _accelerated() else self._ready()
        if quick is not None:
            return quick.embed_documents(texts)
        vectors = self._torch.embed_documents(texts)
        self._export()
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, [dimension], L2-normalised."""
        quick = self._ready()
        if quick is not None:
            return quick.embed_query(text)
        vector = self._torch.embed_query(text)
        self._export()
        return vector

    @property
    def _known(self) -> ModelEmbedder:
        return self._quick or self._torch

    def _ready(self) -> OnnxEmbedder | None:
        """The embedder without torch, loaded; a form that cannot be loaded is removed, to be made again."""
        with self._lock:
            if self._quick is not None and not self._loaded:
                try:
                    self._quick.load()
                    self._loaded = True
                except EmbedderError as error:
                    _log.warning("%s is made again: %s", self._quick.folder, error)
                    exported.discard(self._quick.folder)
                    self._quick = None
            return self._quick

    def _export(self) -> None:
        """Make the ONNX form if it is missing; a failure is ignored, since the caller's work does not need it."""
        with self._lock:
            if self._tried or self._quick is not None:
                return
            self._tried = True
        try:
            if exported.can_export() and not exported.failed_before(self.name, self._torch.folder):
                exported.export(self.name, self._torch.folder)
        except (EmbedderError, OSError) as error:
            _log.info("%s", error)


def _accelerated() -> bool:
    """Whether torch would probably run on a GPU; found without importing torch."""
    apple = sys.platform == "darwin" and platform.machine() == "arm64"
    return apple or any(Path(file).exists() for file in _ACCELERATORS)
