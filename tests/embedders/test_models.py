"""Models run by sentence-transformers."""

from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.support.embedders import TEXTS, printed, run
from worlds.core.embedders import (
    DEFAULT_MODEL,
    Embedder,
    SentenceTransformerEmbedder,
    fingerprint,
)
from worlds.errors import EmbedderError


@pytest.fixture
def copied(model: SentenceTransformerEmbedder, tmp_path: Path) -> Path:
    """A copy of the model's folder that a test may change."""
    return Path(shutil.copytree(model.folder, tmp_path / "copy"))


@pytest.mark.model
def test_model_describes_itself(model: SentenceTransformerEmbedder) -> None:
    assert isinstance(model, Embedder)
    assert (model.name, model.dimension, model.max_tokens) == (DEFAULT_MODEL, 384, 256)
    assert SentenceTransformerEmbedder("all-MiniLM-L6-v2").name == DEFAULT_MODEL


@pytest.mark.model
def test_vectors_equal_the_librarys_own_in_the_order_given(model: SentenceTransformerEmbedder) -> None:
    texts = [" ".join(TEXTS * (7 * index % 5)) + f" {index}" for index in range(11)]
    rows = model.embed_documents(texts)
    assert rows.dtype == np.float32
    assert rows.shape == (11, 384)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-6)

    from sentence_transformers import SentenceTransformer

    direct = SentenceTransformer(str(model.folder), device="cpu")
    for row, text in zip(rows, texts, strict=True):
        assert row == pytest.approx(direct.encode(text), abs=1e-5)
        assert row == pytest.approx(model.embed_query(text), abs=1e-5)

    for text in (*texts, *TEXTS, ""):
        assert model.count_tokens(text) == len(direct.tokenizer(text, verbose=False)["input_ids"])


@pytest.mark.model
def test_256_tokens_are_read_and_counted(model: SentenceTransformerEmbedder) -> None:
    def with_tail(words: int) -> str:
        return "word " * words + "elephant"

    assert model.count_tokens(with_tail(253)) == model.max_tokens == 256
    plain, past_128, last, past_256 = model.embed_documents(
        ["word " * 300, with_tail(150) + " word" * 300, with_tail(253), with_tail(254)]
    )
    assert np.abs(plain - past_128).max() > 1e-3
    assert np.abs(plain - last).max() > 1e-3
    assert np.abs(plain - past_256).max() < 1e-6


@pytest.mark.model
def test_threads_share_a_model(model: SentenceTransformerEmbedder) -> None:
    expected = model.embed_documents(TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for rows in pool.map(lambda _: model.embed_documents(TEXTS), range(8)):
            assert rows == pytest.approx(expected, abs=1e-5)


@pytest.mark.model
def test_fingerprint_is_of_the_content(model: SentenceTransformerEmbedder, copied: Path) -> None:
    same = fingerprint(model)
    assert fingerprint(SentenceTransformerEmbedder()) == same
    assert fingerprint(SentenceTransformerEmbedder(copied)) == same

    (copied / "README.md").write_text("other words")
    layers = json.loads((copied / "modules.json").read_text())
    (copied / "modules.json").write_text(json.dumps(layers[:2]))  # without Normalize: the rows are unit anyway
    assert fingerprint(SentenceTransformerEmbedder(copied)) == same

    pooling = copied / "1_Pooling" / "config.json"
    before = pooling.read_text()
    pooling.write_text('{"embedding_dimension": 384, "pooling_mode": "mean", "include_prompt": true}')
    assert fingerprint(SentenceTransformerEmbedder(copied)) == same
    pooling.write_text('{"embedding_dimension": 384, "pooling_mode": "cls"}')
    assert fingerprint(SentenceTransformerEmbedder(copied)) != same
    pooling.write_text(before)

    with (copied / "model.safetensors").open("r+b") as weights:
        weights.seek(-1, os.SEEK_END)
        weights.write(b"!")
    assert fingerprint(SentenceTransformerEmbedder(copied)) != same


@pytest.mark.model
def test_fingerprint_survives_saving_again(model: SentenceTransformerEmbedder, tmp_path: Path) -> None:
    model.embed_query("loads the library without its warnings")
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(str(model.folder), device="cpu").save(str(tmp_path / "again"))
    again = SentenceTransformerEmbedder(tmp_path / "again")
    assert again.fingerprint == model.fingerprint
    assert (again.dimension, again.max_tokens) == (model.dimension, model.max_tokens)


@pytest.mark.model
def test_prompts_of_the_model_are_used_counted_and_fingerprinted(
    model: SentenceTransformerEmbedder, copied: Path
) -> None:
    prompts = {"prompts": {"query": "query: ", "document": "", "passage": "passage: "}}
    (copied / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    prompted = SentenceTransformerEmbedder(copied)
    assert prompted.embed_query("cats") == pytest.approx(model.embed_query("query: cats"), abs=1e-6)
    document = model.embed_query("passage: cats")
    assert prompted.embed_documents(["cats"])[0] == pytest.approx(document, abs=1e-6)
    assert prompted.count_tokens("cats") == model.count_tokens("cats") + 2
    assert prompted.fingerprint != model.fingerprint


@pytest.mark.model
def test_sizes_and_tokens_that_no_file_tells_come_from_the_loaded_model(
    model: SentenceTransformerEmbedder, copied: Path
) -> None:
    text = " ".join(TEXTS * 30)
    layers = json.loads((copied / "modules.json").read_text())
    layers.append({"idx": 3, "name": "3", "path": "3_Dropout", "type": "sentence_transformers.models.Dropout"})
    (copied / "modules.json").write_text(json.dumps(layers))
    (copied / "3_Dropout").mkdir()
    (copied / "3_Dropout" / "config.json").write_text('{"dropout": 0.1}')
    (copied / "tokenizer.json").unlink()
    loaded = SentenceTransformerEmbedder(copied, device="cpu")
    assert (loaded.dimension, loaded.max_tokens) == (384, 256)
    assert loaded.count_tokens(text) == model.count_tokens(text) > 256
    assert loaded.embed_query(text) == pytest.approx(model.embed_query(text), abs=1e-5)


@pytest.mark.model
def test_weights_that_are_none_are_an_error_that_names_the_model(
    model: SentenceTransformerEmbedder, copied: Path
) -> None:
    (copied / "model.safetensors").write_bytes(b"none")
    with pytest.raises(EmbedderError, match=r"the model .*copy' in .* cannot be loaded; install"):
        SentenceTransformerEmbedder(copied).embed_query("a")


@pytest.mark.model
def test_torch_waits_for_the_first_text_and_nothing_is_printed(model: SentenceTransformerEmbedder, long: bool) -> None:
    made = """
        import logging, sys, warnings
        from worlds.core.embedders import fingerprint, resolve_embedder
        assert not {"torch", "tokenizers", "huggingface_hub"} & sys.modules.keys()
        embedder = resolve_embedder("auto")
        print(embedder.dimension, embedder.max_tokens, embedder.count_tokens("word " * 300))
        fingerprint(embedder)
        assert not {"torch", "transformers", "sentence_transformers"} & sys.modules.keys()
        filters = list(warnings.filters)
    """
    used = """
        print(embedder.embed_documents(["a", "word " * 300]).shape)
        assert warnings.filters == filters
        from transformers.utils import logging as upstream
        print(upstream.is_progress_bar_enabled(), logging.getLogger("transformers").level)
    """
    lines = printed(run(made + (used if long else "")))
    assert lines == ["384 256 302", *(["(2, 384)", "True 30"] if long else [])]
