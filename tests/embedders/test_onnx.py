"""Models run by onnxruntime: tiny ones that the tests write as a hub has them, and the real one, exported."""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import worlds
from tests.support.embedders import serving
from worlds import EmbedderError, OnnxEmbedder, SentenceTransformerEmbedder
from worlds.core.embedders import Embedder, exported, fingerprint, reason_without, resolve_embedder
from worlds.core.embedders.exported import Precision
from worlds.core.embedders.resolve import LocalEmbedder

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "red", "kite", "sun", "query:", "doc:"]
TABLE = np.random.default_rng(7).normal(size=(len(WORDS), 8)).astype(np.float32)


@pytest.fixture(autouse=True)
def runtime() -> None:
    for module in ("onnxruntime", "tokenizers", "onnx"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("WORLDS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "onnx"


def write_tiny(folder: Path, *, pooling: str = "mean", max_tokens: int = 6, table: NDArray[np.float32] = TABLE) -> Path:
    """A model whose ONNX form gives each token the row of a table, whatever stands beside it."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_truncation(3)  # as the packaged model's file, which says less than the model reads
    tokenizer.enable_padding(length=9)
    layers = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{path[2:] or kind}"}
        for index, (kind, path) in enumerate([("Transformer", ""), ("", "1_Pooling"), ("", "2_Normalize")])
    ]
    for name, content in {
        "modules.json": layers,
        "config.json": {"hidden_size": 8, "pad_token_id": 0},
        "sentence_bert_config.json": {"max_seq_length": max_tokens},
        "config_sentence_transformers.json": {"prompts": {"query": "query: ", "special": "doc: "}},
        "1_Pooling/config.json": {"word_embedding_dimension": 8, "pooling_mode": pooling},
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content), "utf-8")
    tokenizer.save(str(folder / "tokenizer.json"))
    header = json.dumps({"table": {"dtype": "F32", "shape": list(table.shape), "data_offsets": [0, table.nbytes]}})
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header.encode() + table.tobytes())
    (folder / "onnx").mkdir(exist_ok=True)
    names = ["input_ids", "attention_mask"]
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"]) for name in names],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["texts", "tokens", 8])],
        [numpy_helper.from_array(table, "table")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(folder / "onnx" / "model.onnx"))
    return folder


def expected(text: str, pooling: str = "mean", max_tokens: int = 6) -> NDArray[np.float32]:
    numbers = [2, *(WORDS.index(word) if word in WORDS else 1 for word in text.split()), 3]
    numbers = numbers if len(numbers) <= max_tokens else [*numbers[: max_tokens - 1], 3]
    rows = TABLE[numbers]
    pooled: NDArray[np.float32] = {"mean": rows.mean(axis=0), "max": rows.max(axis=0), "cls": rows[0]}[pooling]
    return pooled / np.linalg.norm(pooled)


TEXTS = ["red kite", "sun", "", "red red red red red red red kite", "kite unknown"]


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("pooling", ["mean", "max", "cls"])
def test_a_form_that_the_model_brings_along_is_pooled_padded_and_cut_as_the_model_says(
    tmp_path: Path, pooling: str
) -> None:
    embedder = OnnxEmbedder(write_tiny(tmp_path / "tiny", pooling=pooling), batch_size=2)
    assert isinstance(embedder, Embedder)
    assert (embedder.dimension, embedder.max_tokens) == (8, 6)
    rows = embedder.embed_documents(TEXTS)
    assert np.allclose(rows, [expected(text, pooling) for text in TEXTS], atol=1e-6)
    assert np.allclose(embedder.embed_query("sun"), expected("query: sun", pooling), atol=1e-6)
    assert embedder.count_tokens("red kite " * 9) == 20
    assert embedder.embed_documents([]).shape == (0, 8)


@pytest.mark.usefixtures("cache")
def test_prompts_are_chosen_by_name_given_and_fingerprinted(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path / "tiny")
    plain = OnnxEmbedder(folder)
    named = OnnxEmbedder(folder, document_prompt="special")
    assert np.allclose(named.embed_documents(["sun"])[0], expected("doc: sun"), atol=1e-6)
    assert named.count_tokens("sun") == plain.count_tokens("sun") + 1
    given = OnnxEmbedder(folder, prompts={"document": "doc: ", "query": ""})
    assert np.allclose(given.embed_documents(["sun"]), named.embed_documents(["sun"]))
    assert np.allclose(given.embed_query("sun"), expected("sun"), atol=1e-6)
    assert len({plain.fingerprint, named.fingerprint, given.fingerprint}) == 3
    with pytest.raises(EmbedderError, match=r"has no prompt 'other'; there are: 'query', 'special'"):
        OnnxEmbedder(folder, query_prompt="other").embed_query("a")


@pytest.mark.usefixtures("cache")
def test_vectors_are_cut_to_a_dimension(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path / "tiny")
    whole, short = OnnxEmbedder(folder), OnnxEmbedder(folder, dimension=3)
    assert (short.dimension, OnnxEmbedder(folder, dimension=8).fingerprint) == (3, whole.fingerprint)
    assert short.fingerprint != whole.fingerprint
    rows = whole.embed_documents(TEXTS)[:, :3]
    assert np.allclose(short.embed_documents(TEXTS), rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-6)
    with pytest.raises(EmbedderError, match="have only 8"):
        OnnxEmbedder(folder, dimension=9).embed_query("a")


def test_the_form_is_kept_and_belongs_to_the_models_content(tmp_path: Path, cache: Path) -> None:
    folder = write_tiny(tmp_path / "tiny")
    first = OnnxEmbedder(folder)
    assert first.folder.parent == cache
    shutil.rmtree(folder / "onnx")  # not needed any more
    assert OnnxEmbedder(folder).folder == first.folder

    copy = Path(shutil.copytree(folder, tmp_path / "copy"))
    again = OnnxEmbedder(copy)
    assert (again.folder, again.fingerprint) == (first.folder, first.fingerprint)
    assert again.name != first.name

    other = OnnxEmbedder(write_tiny(folder, table=TABLE[::-1].copy()))  # the model has changed
    assert other.folder != first.folder
    assert other.fingerprint != first.fingerprint
    assert not np.allclose(other.embed_query("sun"), first.embed_query("sun"))
    assert not list(cache.glob(".*"))


def test_forms_made_at_once_are_one(tmp_path: Path, cache: Path) -> None:
    folder = write_tiny(tmp_path / "tiny")
    code = "import sys; from worlds import OnnxEmbedder; print(OnnxEmbedder(sys.argv[1]).embed_query('sun')[0])"
    command = [sys.executable, "-c", code, str(folder)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = {process.communicate(timeout=60)[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(said) == 1
    assert len([path for path in cache.iterdir() if path.is_dir()]) == 1


def test_what_a_killed_process_left_is_removed_and_what_is_being_made_stays(tmp_path: Path, cache: Path) -> None:
    for name, age in (("old", 7200), ("new", 0)):
        (cache / f".making-{name}").mkdir(parents=True)
        os.utime(cache / f".making-{name}", (time.time() - age,) * 2)
    OnnxEmbedder(write_tiny(tmp_path / "tiny"))
    assert [path.name for path in cache.glob(".*")] == [".making-new"]


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda folder: (folder / "onnx" / "model.onnx").write_bytes(b"none"),
            "ONNX form of the model .* cannot be used",
        ),
        (
            lambda folder: (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": ["cls", "mean"]}'),
            "its pooling is cls, mean",
        ),
    ],
    ids=["damaged", "pooling"],
)
def test_a_form_that_cannot_be_used_is_an_error(tmp_path: Path, change: Callable[[Path], object], message: str) -> None:
    folder = write_tiny(tmp_path / "tiny")
    change(folder)
    with pytest.raises(EmbedderError, match=message):
        OnnxEmbedder(folder)


@pytest.mark.usefixtures("cache")
def test_options_without_sense_are_refused(tmp_path: Path) -> None:
    folder = write_tiny(tmp_path / "tiny")
    options: list[tuple[dict[str, Any], str]] = [
        ({"precision": "int4"}, "precision must be"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"dimension": 0}, "dimension is 0"),
    ]
    for given, message in options:
        with pytest.raises(EmbedderError, match=message):
            OnnxEmbedder(folder, **given)


def test_without_the_libraries_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(EmbedderError, match=r"needs onnxruntime: pip install 'worlds-kg\[onnx\]'"):
        OnnxEmbedder(tmp_path)


@pytest.mark.usefixtures("cache")
def test_without_torch_or_a_form_the_remedy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_tiny(tmp_path / "tiny")
    shutil.rmtree(folder / "onnx")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedderError, match=r"needs more: pip install 'worlds-kg\[semantic\]'"):
        OnnxEmbedder(folder)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(
        EmbedderError, match=r"the model 'someone/model' has no ONNX form here.*HF_HUB_OFFLINE.*\[semantic\]"
    ):
        OnnxEmbedder("someone/model")


@pytest.mark.usefixtures("cache")
def test_a_name_runs_without_torch_where_the_form_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_tiny(tmp_path / "tiny")
    OnnxEmbedder(folder)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    embedder = resolve_embedder(str(folder))
    assert isinstance(embedder, OnnxEmbedder)
    assert embedder.name == str(folder)


FROM_THE_HUB = """
import sys
sys.modules["sentence_transformers"] = None  # as where it is not installed
from worlds import OnnxEmbedder
embedder = OnnxEmbedder("someone/model")
print(embedder.name, embedder.fingerprint, *embedder.embed_documents(["red kite"])[0])
"""


def test_without_torch_the_hub_gives_the_form_and_the_cache_from_then_on(tmp_path: Path, cache: Path) -> None:
    folder = write_tiny(tmp_path / "tiny")
    repository = {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    for offline in ("0", "1"):
        with serving(repository | {"README.md": b"words"}) as (url, asked):
            environment = {"HF_ENDPOINT": url, "HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": offline}
            done = subprocess.run(
                [sys.executable, "-c", FROM_THE_HUB],
                env=os.environ | environment,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
        assert (done.returncode, done.stderr) == (0, "")
        name, same, *numbers = done.stdout.split()
        assert [float(number) for number in numbers] == pytest.approx(expected("red kite").tolist(), abs=1e-6)
        assert (name, same) == ("someone/model", OnnxEmbedder(folder).fingerprint)
        assert set(asked) == (set(repository) if offline == "0" else set())


def test_a_cache_that_cannot_be_written_to_is_an_error_of_the_embedder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WORLDS_CACHE", str(tmp_path / "file"))
    with pytest.raises(EmbedderError, match="cannot be used: NotADirectoryError"):
        OnnxEmbedder(write_tiny(tmp_path / "tiny"))


def test_without_a_home_there_is_no_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(user: int) -> None:
        raise KeyError(user)

    monkeypatch.delenv("WORLDS_CACHE")
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    assert exported.find_exported("a/b", write_tiny(tmp_path / "tiny")) is None
    with pytest.raises(EmbedderError, match="set WORLDS_CACHE to one"):
        OnnxEmbedder(tmp_path / "tiny")


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="the folder's place differs")
def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORLDS_CACHE", str(tmp_path))
    assert exported.cache_folder() == tmp_path
    monkeypatch.delenv("WORLDS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert exported.cache_folder() == tmp_path / "xdg" / "worlds"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert exported.cache_folder() == Path.home() / ".cache" / "worlds"


# The real model


@pytest.fixture(scope="module")
def model() -> SentenceTransformerEmbedder:
    if importlib.util.find_spec("sentence_transformers") is None or reason_without():
        pytest.skip("needs sentence-transformers and the default model")
    return SentenceTransformerEmbedder(device="cpu")


REAL = ["perovskite solar cells", "中文分词测试", "a", "", "word " * 300, "the cat sat on the mat " * 9]


@pytest.mark.model
def test_torch_makes_the_form_and_its_vectors_are_the_same(model: SentenceTransformerEmbedder) -> None:
    quick = OnnxEmbedder()
    assert (quick.name, quick.dimension, quick.max_tokens) == (model.name, 384, 256)
    assert quick.fingerprint == model.fingerprint
    rows = model.embed_documents(REAL)
    assert np.abs(quick.embed_documents(REAL) - rows).max() < 1e-5
    assert quick.count_tokens("word " * 300) == 302

    small = OnnxEmbedder(precision="int8")
    assert fingerprint(small) == model.fingerprint
    assert (small.embed_documents(REAL) * rows).sum(axis=1).min() > 0.975
    assert not logging.getLogger().filters


@pytest.mark.model
@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_vector_is_the_same_to_the_last_bit_in_any_batch(precision: Precision) -> None:
    texts = [*REAL, *(f"{word} cells {rest}" for word in ("solar", "fuel", "red", "new") for rest in ("", "of " * 40))]
    single = OnnxEmbedder(precision=precision)
    alone = np.array([single.embed_query(text) for text in texts])
    for batch, threads, seed in ((2, 1, 1), (3, 3, 2), (64, 2, 3)):
        order = np.random.default_rng(seed).permutation(len(texts))
        embedder = OnnxEmbedder(precision=precision, batch_size=batch, threads=threads)
        assert (embedder.embed_documents([texts[at] for at in order]) == alone[order]).all()


@pytest.mark.model
def test_torch_cuts_vectors_and_takes_prompts_too(model: SentenceTransformerEmbedder) -> None:
    torch = SentenceTransformerEmbedder(device="cpu", dimension=64, prompts={"query": "find: "})
    quick = OnnxEmbedder(dimension=64, prompts={"query": "find: "})
    assert torch.fingerprint == quick.fingerprint != model.fingerprint
    assert torch.embed_query("cats").shape == (64,)
    assert np.abs(torch.embed_query("cats") - quick.embed_query("cats")).max() < 1e-5
    assert np.linalg.norm(torch.embed_query("cats")) == pytest.approx(1, abs=1e-6)


@pytest.mark.model
def test_a_name_makes_the_form_once_and_then_needs_no_torch(model: SentenceTransformerEmbedder, cache: Path) -> None:
    first = resolve_embedder("auto")
    assert isinstance(first, LocalEmbedder)
    vector = first.embed_query("cats")
    assert len(list(cache.glob("*/model.onnx"))) == 1

    code = """
import sys
from worlds.core.embedders import resolve_embedder
embedder = resolve_embedder("auto")
print(*embedder.embed_query("cats")[:4], embedder.fingerprint)
assert not {"torch", "transformers", "sentence_transformers"} & sys.modules.keys()
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    *numbers, same = done.stdout.split()
    assert [float(number) for number in numbers] == pytest.approx(vector[:4].tolist(), abs=1e-5)
    assert same == model.fingerprint

    # A damaged form is left, and made again.
    (form,) = cache.glob("*/model.onnx")
    form.write_bytes(b"none")
    again = resolve_embedder("auto")
    assert again is not None
    assert np.abs(again.embed_query("cats") - vector).max() < 1e-5
    assert form.stat().st_size > 10_000


@pytest.mark.model
@pytest.mark.usefixtures("cache")
def test_a_model_that_cannot_be_exported_is_tried_once(
    model: SentenceTransformerEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def fail(*arguments: object, **options: object) -> None:
        tried.append(arguments)
        raise ValueError("told to")

    monkeypatch.setattr("torch.onnx.export", fail)
    for _ in range(2):
        embedder = LocalEmbedder(model, None)
        for _ in range(2):
            assert embedder.embed_documents(["cats"]).shape == (1, 384)
    assert len(tried) == 1


@pytest.mark.model
def test_a_world_embedded_by_torch_is_searched_without(model: SentenceTransformerEmbedder, path: Path) -> None:
    with worlds.open(path, embedder=model) as world:
        world.add([("urn:a", "urn:p", '"the cat sat on the mat"'), ("urn:b", "urn:p", '"stellar evolution"')])
    with worlds.open(path, embedder=OnnxEmbedder(precision="int8")) as world:
        assert world.search("feline", mode="vector", limit=1)[0].text == "the cat sat on the mat"

    code = """
import sys
from worlds.doors.cli import app
app(sys.argv[1:], standalone_mode=False)
assert not {"torch", "transformers", "sentence_transformers"} & sys.modules.keys()
"""
    command = [sys.executable, "-c", code, "search", str(path), "feline", "--mode", "vector", "--limit", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "the cat sat on the mat" in done.stdout
