"""The ONNX forms of models, kept in the user's cache folder: found, made by torch or taken from the hub, and checked.

A form is a folder with the model's configuration and tokenizer, `model.onnx`, and a description, `worlds.json`. It
appears under its name only when it is complete, so any number of processes may look for it and make it at once. Beside
the forms lies one small record for each model: which form is made of it, as long as its files stay as they are.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np

from worlds.core.embedders import int8_model
from worlds.core.embedders.base import failing_as
from worlds.core.embedders.models import (
    DESCRIPTION,
    HUB_ONNX,
    hash_layers,
    installed,
    modules,
    pooling_modes,
    quiet_loggers,
    read_json,
    read_sizes,
    read_tokenizer,
    weights,
)
from worlds.core.embedders.runner import Runner, session
from worlds.core.embedders.sentence import load, sizes_of
from worlds.errors import EmbedderError

Precision: TypeAlias = Literal["float32", "int8"]

FILES: Final[dict[Precision, str]] = {"float32": "model.onnx", "int8": "model-int8-by-token.onnx"}
_FORMAT: Final = 2
_CONFIGURATION: Final = (
    "modules.json",
    "config_sentence_transformers.json",
    "sentence_*_config.json",
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
)
_STALE: Final = 3600  # seconds after which an unfinished form belongs to a process that is gone
_TOLERANCE: Final = 1e-4  # of a component; float32 forms differ by 2e-7
_SAMPLES: Final = ["a", "perovskite solar cells", "Zürich, 東京 & 42: " * 9, "the quick brown fox jumps " * 99]


def cache_folder() -> Path:
    """The folder for files that can be made again: WORLDS_CACHE, or `worlds` in the user's cache folder.

    OSError for a user without a home.
    """
    if given := os.environ.get("WORLDS_CACHE"):
        return Path(given).expanduser().absolute()
    from platformdirs import user_cache_path

    try:
        return user_cache_path("worlds", appauthor=False)
    except RuntimeError as error:
        raise OSError(f"there is no cache folder: {error}; set WORLDS_CACHE to one") from error


def find_exported(name: str, source: Path | None) -> Path | None:
    """The folder of a model's ONNX form, None where there is none; `source` is the model's own folder, if it has one.

    A model whose files changed since is another model: its form is looked for anew, which reads its weights.
    """
    try:
        record = _record(name)
        key = record.get("key")
        if source is not None and record.get("signature") != (signature := _signature(source)):
            key = _key(source)
            _write_record(name, {"signature": signature, "key": key})
        return _folder(key) if key and _complete(_folder(key)) else None
    except Exception:  # the model is damaged, and whoever loads it says so; or there is no cache folder
        return None


def failed_before(name: str, source: Path) -> bool:
    """Whether these releases of the libraries could not export this model, as it is now."""
    record = _record(name)
    return record.get("signature") == _signature(source) and record.get("failed") == _versions()


def can_export() -> bool:
    """Whether this machine has the libraries that exporting a model takes."""
    return all(map(installed, ("sentence_transformers", "onnx", "onnxruntime")))


def discard(folder: Path) -> None:
    """Remove a form that turned out to be damaged."""
    shutil.rmtree(folder, ignore_errors=True)


def export(name: str, source: Path) -> Path:
    """The folder of the ONNX form that torch makes of a model: some 5 s, and as much memory again as the model.

    The form is kept only if it gives the vectors that the model gives. EmbedderError if that fails.
    """
    signature = _signature(source)
    with failing_as(f"the model {name!r} cannot be exported to ONNX"):
        if not can_export():
            raise EmbedderError(f"exporting the model {name!r} to ONNX needs more: pip install 'worlds-kg[semantic]'")
        with _making(source) as (key, folder):
            if folder is not None:
                try:
                    _trace(source, folder)
                except OSError:
                    raise
                except Exception:  # so it will be with these libraries every time
                    _write_record(name, {"signature": signature, "key": key, "failed": _versions()})
                    raise
    _write_record(name, {"signature": signature, "key": key})
    return _folder(key)


def adopt(name: str, source: Path) -> Path:
    """The folder of the ONNX form that the model's own folder, downloaded from the hub, brings along.

    EmbedderError if it has none, or one that cannot be run as sentence-transformers would run the model.
    """
    with failing_as(f"the ONNX form of the model {name!r} cannot be used"):
        with _making(source) as (key, folder):
            if folder is not None:
                # The hub's cache has links, and onnxruntime refuses weights that lie behind one.
                with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".making-") as copied:
                    for file in (source / HUB_ONNX).parent.glob(f"{Path(HUB_ONNX).name}*"):
                        shutil.copyfile(file, Path(copied) / file.name)
                    brought = Path(copied) / Path(HUB_ONNX).name
                    _describe(source, folder, session(brought, optimized=folder / FILES["float32"]))
        _write_record(name, {"signature": _signature(source), "key": key})
    return _folder(key)


def quantize(folder: Path) -> Path:
    """The file of a form's weights as int8, made if it is not there: 2 s; needs the package `onnx`."""
    file = folder / FILES["int8"]
    if file.is_file():
        return file
    if not installed("onnx"):
        raise EmbedderError("making the int8 form of a model needs onnx: pip install 'worlds-kg[onnx]'")
    with (
        failing_as(f"the int8 form of the model in {folder} cannot be made"),
        tempfile.TemporaryDirectory(prefix=".", dir=folder, ignore_cleanup_errors=True) as made,
    ):
        part = Path(made) / file.name
        int8_model.quantize(folder / FILES["float32"], part)
        part.replace(file)
    return file


# The folders


def _folder(key: str) -> Path:
    return cache_folder() / "onnx" / key


def _complete(folder: Path) -> bool:
    return (folder / DESCRIPTION).is_file() and (folder / FILES["float32"]).is_file()


def _configuration(source: Path) -> list[Path]:
    """The model's configuration and tokenizer files, below its folder."""
    places = {"", *(path for _, path in modules(source))}
    found = {file for place in places for pattern in _CONFIGURATION for file in (source / place).glob(pattern)}
    return sorted(file.relative_to(source) for file in found)


def _signature(source: Path) -> list[list[object]]:
    """Names, sizes and times of the model's files: they change with any of the files."""
    files = [source / file for file in _configuration(source)]
    files += [file for _, path in modules(source) for file in weights(source / path)]
    found = [(str(file.relative_to(source)), file.stat()) for file in sorted(set(files))]
    return [[name, stat.st_size, stat.st_mtime_ns] for name, stat in found]


def _key(source: Path) -> str:
    """The name of the folder of an exported form: a hash of all inputs that determine its content."""
    files = [[str(file), hashlib.sha256((source / file).read_bytes()).hexdigest()] for file in _configuration(source)]
    parts = [_FORMAT, hash_layers(source), files]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


@contextlib.contextmanager
def _making(source: Path) -> Iterator[tuple[str, Path | None]]:
    """Yields the key of a form and a draft folder, which is moved into place at the end; None if the form exists."""
    key = _key(source)
    target = _folder(key)
    if _complete(target):
        yield key, None
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(".making-*"):
        with contextlib.suppress(OSError):
            if abs(time.time() - left.stat().st_mtime) > _STALE:
                discard(left)
    made = Path(tempfile.mkdtemp(prefix=".making-", dir=target.parent))
    try:
        for file in _configuration(source):
            (made / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / file, made / file)
        yield key, made
        if not _complete(target):
            discard(target)
        try:
            made.rename(target)
        except OSError:
            if not _complete(target):  # else another process was first
                raise
    finally:
        discard(made)


def _record_file(name: str) -> Path:
    return cache_folder() / "onnx" / f"{hashlib.sha256(name.encode()).hexdigest()[:32]}.json"


def _record(name: str) -> dict[str, Any]:
    try:
        return read_json(_record_file(name))
    except (OSError, ValueError):
        return {}


def _write_record(name: str, record: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # without it the weights are read again
        file = _record_file(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=".record-", delete=False) as part:
            json.dump({"model": name, **record}, part)
        Path(part.name).replace(file)


def _versions() -> dict[str, str]:
    from importlib import metadata

    names = ("torch", "transformers", "sentence-transformers", "onnx", "onnxruntime")
    return {name: metadata.version(name) for name in names}


# What is in a form


def _trace(source: Path, folder: Path) -> None:
    """Write the ONNX form of the model, with the layers that the runner lacks, and prove that it is the same."""
    model = load(source, "cpu")
    sizes = read_sizes(source) or sizes_of(model)
    model.max_seq_length = sizes[1]
    for kind, path in modules(source):
        if kind == "Pooling" and not read_json(source / path / "config.json").get("include_prompt", True):
            raise EmbedderError("its pooling leaves out the prompt, which the ONNX form cannot")
    if read_tokenizer(source) is None:
        raise EmbedderError("it has no tokenizer.json")
    import torch

    class Whole(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *values: Any) -> Any:
            return self.model(dict(zip(names, values, strict=True)))[output]

    features = model.tokenizer(_SAMPLES[:3], padding=True, return_tensors="pt")
    names = [name for name in features if name != "attention_mask"]  # the runner pads nothing
    output = "token_embeddings" if _pooling(source) else "sentence_embedding"
    traced = folder / "traced.onnx"
    with warnings.catch_warnings(), quiet_loggers(), torch.no_grad():
        warnings.simplefilter("ignore")  # that values are traced
        torch.onnx.export(
            Whole().eval(),
            tuple(features[name] for name in names),
            str(traced),
            input_names=names,
            output_names=[output],
            dynamic_axes={name: {0: "texts", 1: "tokens"} for name in names},
            opset_version=17,
            dynamo=False,  # the other exporter needs one more library
        )
    _describe(source, folder, session(traced, optimized=folder / FILES["float32"]), sizes=sizes)
    traced.unlink()
    expected = model.encode(_SAMPLES, normalize_embeddings=True, show_progress_bar=False)
    vectors = Runner(folder, folder / FILES["float32"]).run(_SAMPLES, batch_size=2)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.allclose(vectors[:, : expected.shape[1]], expected, rtol=0, atol=_TOLERANCE):
        raise EmbedderError(f"its vectors came out different, by {np.abs(vectors - expected).max():.2g}")


def _describe(source: Path, folder: Path, runtime: Any, sizes: tuple[int, int] | None = None) -> None:
    """Write the metadata of the form: sizes, hashes of the layers, the name of the model."""
    sizes = sizes or read_sizes(source)
    if sizes is None:
        raise EmbedderError("it has layers that only sentence-transformers can run")
    outputs = {output.name: len(output.shape) for output in runtime.get_outputs()}
    whole = next((name for name, rank in outputs.items() if rank == 2 and "sentence" in name), None)
    tokens = next((name for name, rank in outputs.items() if rank == 3), None)
    pooling = _pooling(source) if tokens else None
    output = tokens if pooling else whole
    if output is None:
        raise EmbedderError(f"its outputs are {', '.join(outputs)}, and its pooling is {', '.join(_modes(source))}")
    described = {
        "format": _FORMAT,
        "dimension": sizes[0],
        "max_tokens": sizes[1],
        "layers": hash_layers(source),
        "inputs": [given.name for given in runtime.get_inputs()],
        "output": output,
        "pooling": pooling,
    }
    (folder / DESCRIPTION).write_text(json.dumps(described), "utf-8")


def _pooling(source: Path) -> str | None:
    """The pooling that the runner does, by the same sums in any batch; None where the form has to."""
    modes = _modes(source)
    return modes[0] if modes in (["cls"], ["mean"], ["max"]) else None


def _modes(source: Path) -> list[str]:
    """The pooling modes of a model; none if layers follow that change the vectors."""
    kinds = dict(modules(source))
    if kinds.keys() - {"Transformer", "Normalize"} != {"Pooling"}:
        return []
    return pooling_modes(read_json(source / kinds["Pooling"] / "config.json"))
