"""Which embedder a name, a path or "auto" means, and what the hub is asked."""

from __future__ import annotations

import importlib.util
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.embedder import HashingEmbedder
from tests.support.embedders import REPOSITORY, Answering, Minimal, modules, printed, run, serving
from worlds.core.embedders import (
    DEFAULT_MODEL,
    SentenceTransformerEmbedder,
    reason_without,
    resolve_embedder,
)
from worlds.errors import EmbedderError

# --- which embedder a name means --------------------------------------------------------------------------------------


def test_none_and_an_object_resolve_to_themselves() -> None:
    embedder = Minimal()
    assert resolve_embedder(None) is None
    assert resolve_embedder(embedder) is embedder


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (SimpleNamespace(name="half", dimension=3), "no max_tokens, embed_documents, embed_query"),
        (42, "int object is not an embedder"),
        (HashingEmbedder, "class HashingEmbedder is not an embedder: give an instance"),
        (HashingEmbedder(max_tokens=0), "'hashing' has max_tokens 0"),
        (Answering(None, dimension=-1), "'odd' has dimension -1"),
    ],
    ids=["half", "number", "class", "max_tokens", "dimension"],
)
def test_what_is_no_embedder_is_refused(spec: Any, message: str) -> None:
    with pytest.raises(EmbedderError, match=message):
        resolve_embedder(spec)


def test_auto_gives_an_embedder_or_there_is_a_reason_with_a_remedy() -> None:
    embedder = resolve_embedder("auto")
    if embedder is None:
        assert "pip install 'worlds-kg[" in reason_without()
    else:
        assert reason_without() == ""
        assert embedder.name == DEFAULT_MODEL


def test_auto_without_sentence_transformers_is_none_and_says_why(tmp_path: Path) -> None:
    lines = printed(
        run(
            """
            import sys
            sys.modules["sentence_transformers"] = None  # as where it is not installed
            from worlds.core.embedders import EmbedderError, SentenceTransformerEmbedder
            from worlds.core.embedders import reason_without, resolve_embedder
            print(resolve_embedder("auto"))
            print(reason_without())
            try:
                SentenceTransformerEmbedder()
            except EmbedderError as error:
                print(error)
            """,
            WORLDS_CACHE=str(tmp_path),
        )
    )
    assert lines[0] == "None"
    assert "sentence-transformers is not installed; pip install 'worlds-kg[semantic,model]'" in lines[1]
    assert "needs sentence-transformers: pip install 'worlds-kg[semantic]'" in lines[2]


# Models on disk: found and described without torch


@pytest.fixture
def library() -> None:
    if importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip("sentence-transformers is not installed")


def write_model(folder: Path, files: dict[str, object]) -> Path:
    """A folder that looks like a model: the JSON files given, and weights that are no weights."""
    for name, content in ({"config.json": {"hidden_size": 12}} | files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content), "utf-8")
    (folder / "model.safetensors").write_bytes(b"none")
    return folder


@pytest.mark.model
@pytest.mark.usefixtures("library")
@pytest.mark.parametrize(
    ("files", "dimension", "max_tokens"),
    [
        ({"sentence_bert_config.json": {"max_seq_length": 128}}, 12, 128),
        ({"config.json": {"hidden_size": 12, "max_position_embeddings": 512}}, 12, 512),
        (
            {
                "config.json": {"hidden_size": 12, "max_position_embeddings": 512},
                "tokenizer_config.json": {"model_max_length": 256},
            },
            12,
            256,
        ),
        (
            {
                "modules.json": modules("Transformer", "Pooling", "Normalize"),
                "sentence_bert_config.json": {"max_seq_length": 128},
                "1_Pooling/config.json": {
                    "word_embedding_dimension": 12,
                    "pooling_mode_cls_token": True,
                    "pooling_mode_mean_tokens": True,
                },
            },
            24,
            128,
        ),
        (
            {
                "modules.json": modules("Transformer", "Pooling"),
                "sentence_bert_config.json": {"max_seq_length": 128},
                "1_Pooling/config.json": {"embedding_dimension": 12, "pooling_mode": ["cls", "mean", "max"]},
                "config_sentence_transformers.json": {"truncate_dim": 8},
            },
            8,
            128,
        ),
    ],
    ids=["bare", "positions", "tokenizer", "legacy pooling", "truncated"],
)
def test_sizes_are_read_from_the_configuration(
    tmp_path: Path, files: dict[str, object], dimension: int, max_tokens: int
) -> None:
    embedder = SentenceTransformerEmbedder(write_model(tmp_path / "model", files))
    assert (embedder.dimension, embedder.max_tokens) == (dimension, max_tokens)


@pytest.mark.model
@pytest.mark.usefixtures("library")
def test_a_path_is_an_embedders_name_and_gives_it_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_model(tmp_path / "model", {})
    monkeypatch.chdir(tmp_path)
    for spec in ("model", "./model", folder, str(folder)):
        embedder = resolve_embedder(spec)
        assert embedder is not None
        assert embedder.name == str(folder)


@pytest.mark.model
@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("spec", ["./no/model", "~/no/model", "/no/model", "a/b/c", "no model", "", Path("no")])
def test_a_path_without_a_model_is_an_error_at_once(spec: str | Path) -> None:
    with pytest.raises(EmbedderError, match="is not a folder of a model"):
        SentenceTransformerEmbedder(spec)


@pytest.mark.model
@pytest.mark.usefixtures("library")
def test_a_damaged_model_is_an_error_that_names_it(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model", {"modules.json": "no list"})
    embedder = SentenceTransformerEmbedder(folder)
    for ask in (lambda: embedder.dimension, lambda: embedder.fingerprint, lambda: embedder.count_tokens("a")):
        with pytest.raises(EmbedderError, match=r"model .*model' in .* cannot be loaded; install it again"):
            ask()


@pytest.mark.model
@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("spec", ["a/b--c", "~no-such-user/model"])
def test_a_name_that_cannot_be_one_is_an_error(spec: str) -> None:
    with pytest.raises(EmbedderError, match=f"the model '{spec}' cannot be looked for"):
        SentenceTransformerEmbedder(spec)


FIND = """
    import sys, time
    from worlds.core.embedders import EmbedderError, SentenceTransformerEmbedder
    begun = time.monotonic()
    try:
        print(SentenceTransformerEmbedder(sys.argv[1]).dimension)
    except EmbedderError as error:
        print(error)
    print(time.monotonic() - begun)
"""


# --- the hub ----------------------------------------------------------------------------------------------------------


@pytest.mark.model
@pytest.mark.usefixtures("library")
def test_a_hub_that_does_not_answer_fails_fast(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hub = f"http://127.0.0.1:{silent.getsockname()[1]}"
        result = run(FIND, "someone/model", HF_ENDPOINT=hub, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="0")
    message, seconds = printed(result)
    assert "'someone/model' is neither a folder nor in the local cache, and the hub did not give it" in message
    assert "give the path of a model's folder, or pip install 'worlds-kg[semantic,model]'" in message
    assert float(seconds) < 15


@pytest.mark.model
@pytest.mark.usefixtures("library")
def test_offline_the_hub_is_not_asked(tmp_path: Path) -> None:
    message, seconds = printed(run(FIND, "someone/model", HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1"))
    assert "and HF_HUB_OFFLINE is set; give the path" in message
    assert float(seconds) < 5


@pytest.fixture
def hub() -> Iterator[tuple[str, list[str]]]:
    """The URL of a hub with one model, and the files that it was asked for."""
    with serving(REPOSITORY) as found:
        yield found


@pytest.mark.model
@pytest.mark.usefixtures("library")
def test_a_model_is_downloaded_once_and_then_found_in_the_cache(tmp_path: Path, hub: tuple[str, list[str]]) -> None:
    url, asked = hub
    home = tmp_path / "home"
    environment = {"HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_OFFLINE": "0"}
    assert printed(run(FIND, "someone/model", **environment))[0] == "10"
    assert set(asked) == {"config.json", "1_Pooling/config.json", "modules.json", "model.safetensors"}

    asked.clear()
    assert printed(run(FIND, "someone/model", **environment))[0] == "10"
    assert asked == []

    # The other place where sentence-transformers keeps models.
    environment = {"HF_HOME": str(tmp_path / "empty"), "SENTENCE_TRANSFORMERS_HOME": str(home / "hub")}
    assert printed(run(FIND, "someone/model", **environment, HF_HUB_OFFLINE="1"))[0] == "10"
