"""The embedder protocol, the check of its answers, and the sentence-transformers embedder."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.embedder import HashingEmbedder
from worlds.embedders import (
    DEFAULT_MODEL,
    Embedder,
    SentenceTransformerEmbedder,
    checked_documents,
    checked_query,
    count_tokens,
    fingerprint,
    reason_without,
    resolve_embedder,
)
from worlds.errors import EmbedderError

TEXTS = ["perovskite solar cells", "中文分词测试", "a", "solar cell of perovskite", "the cat sat"]


class Answering(HashingEmbedder):
    """Gives what it is told to give, whatever it is asked."""

    def __init__(self, answer: object, dimension: int = 3) -> None:
        super().__init__(dimension, name="odd")
        self.answer: Any = answer

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        return self._give()

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._give()

    def _give(self) -> NDArray[np.float32]:
        if isinstance(self.answer, BaseException):
            raise self.answer
        given: NDArray[np.float32] = self.answer
        return given


class Minimal:
    """No more than the protocol asks."""

    name = "minimal"
    dimension = 2
    max_tokens = 16

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        return np.tile(np.array([1, 0], np.float32), (len(texts), 1))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return np.array([1, 0], np.float32)


# The embedder of the tests


def test_hashing_embedder_is_an_embedder() -> None:
    assert isinstance(HashingEmbedder(), Embedder)
    assert isinstance(Minimal(), Embedder)


def test_hashing_embedder_gives_near_vectors_to_texts_that_share_words() -> None:
    rows, ok = checked_documents(HashingEmbedder(64), TEXTS)
    assert ok.all()
    similarity = rows @ rows.T
    assert similarity[0, 3] > 0.5 > similarity[0, 4]


@given(st.text(), st.integers(1, 70))
def test_hashing_embedder_never_gives_zero_for_a_text_that_is_not_blank(text: str, dimension: int) -> None:
    vector = HashingEmbedder(dimension).embed_query(text)
    assert vector.shape == (dimension,)
    assert np.linalg.norm(vector) == pytest.approx(1 if text.split() else 0, abs=1e-6)


def test_hashing_embedder_is_the_same_on_every_machine() -> None:
    assert np.flatnonzero(HashingEmbedder(8).embed_query("Paris") > 0).tolist() == [0, 2, 5]


def test_hashing_embedder_counts_and_fails_as_told() -> None:
    embedder = HashingEmbedder(fail_after=5)
    embedder.embed_documents(TEXTS[:3])
    embedder.embed_documents(TEXTS[3:])
    embedder.embed_query("a")
    assert (embedder.documents, embedder.batches, embedder.queries) == (5, 2, 1)
    with pytest.raises(EmbedderError, match="'hashing' failed: RuntimeError: told to fail after 5"):
        checked_documents(embedder, ["one more"])
    embedder.fail_after = None
    checked_documents(embedder, ["one more"])
    assert embedder.documents == 6


# The check of an embedder's answers


def test_documents_come_back_as_unit_rows_in_order() -> None:
    embedder = HashingEmbedder()
    rows, ok = checked_documents(embedder, TEXTS)
    assert rows.dtype == np.float32
    assert rows.shape == (5, 32)
    assert ok.tolist() == [True] * 5
    for row, text in zip(rows, TEXTS, strict=True):
        assert np.array_equal(row, checked_query(embedder, text))


def test_no_documents_are_no_rows_and_no_call() -> None:
    embedder = HashingEmbedder()
    rows, ok = checked_documents(embedder, [])
    assert rows.shape == (0, 32)
    assert rows.dtype == np.float32
    assert ok.shape == (0,)
    assert ok.dtype == np.bool_
    assert embedder.batches == 0


def test_rows_without_a_direction_are_zeroed_and_masked() -> None:
    embedder = HashingEmbedder(zero_at="ZERO", nan_at="NAN")
    rows, ok = checked_documents(embedder, ["good", "a ZERO", "a NAN", "good"])
    assert ok.tolist() == [True, False, False, True]
    assert not rows[1:3].any()
    assert np.array_equal(rows[0], rows[3])


@pytest.mark.parametrize(
    "answer",
    [
        np.array([[3, 4, 0]], np.float64),
        np.array([[3, 4, 0]], np.int64),
        np.array([[3, 4, 0]], np.float16),
        np.array([[3e30, 4e30, 0]], np.float32),
        np.array([[3e-42, 4e-42, 0]], np.float32),
        [[3.0, 4.0, 0.0]],
    ],
    ids=["float64", "int64", "float16", "huge", "tiny", "list"],
)
def test_rows_of_any_number_type_and_length_become_unit_float32(answer: object) -> None:
    rows, ok = checked_documents(Answering(answer), ["a"])
    assert rows.dtype == np.float32
    assert ok.all()
    assert rows[0] == pytest.approx([0.6, 0.8, 0], abs=2e-4)
    assert np.linalg.norm(rows[0]) == pytest.approx(1, abs=1e-6)


def test_a_row_of_unit_length_stays_as_it_came() -> None:
    given = HashingEmbedder().embed_documents(TEXTS)
    rows, _ = checked_documents(Answering(given, 32), TEXTS)
    assert np.array_equal(rows, given)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (np.ones((2, 3)), r"shape \(2, 3\), not \(1, 3\)"),
        (np.ones((1, 4)), r"shape \(1, 4\), not \(1, 3\)"),
        (np.ones(3), r"shape \(3,\), not \(1, 3\)"),
        ([[1.0], [1.0, 2.0]], "gave no array"),
        ([["x", "y", "z"]], "not of numbers"),
        (np.ones((1, 3), np.complex64), "not of numbers"),
        (None, "not of numbers"),
        (ConnectionError("no route"), "failed: ConnectionError: no route"),
        (MemoryError(), "failed: MemoryError"),
    ],
    ids=["rows", "columns", "flat", "ragged", "words", "complex", "none", "raises", "memory"],
)
def test_a_wrong_answer_is_an_error_that_names_the_embedder(answer: object, message: str) -> None:
    with pytest.raises(EmbedderError, match=f"^embedder 'odd' .*{message}"):
        checked_documents(Answering(answer), ["a"])


def test_the_embedders_own_error_is_chained_or_kept() -> None:
    cause = ConnectionError("no route")
    with pytest.raises(EmbedderError) as caught:
        checked_query(Answering(cause), "a")
    assert caught.value.__cause__ is cause
    own = EmbedderError("its own words")
    with pytest.raises(EmbedderError) as caught:
        checked_query(Answering(own), "a")
    assert caught.value is own


def test_an_interrupt_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        checked_documents(Answering(KeyboardInterrupt()), ["a"])


@pytest.mark.parametrize("answer", [[0, 0, 0], [np.nan, 0, 1], [np.inf, 0, 1]])
def test_a_query_without_a_direction_is_an_error(answer: list[float]) -> None:
    with pytest.raises(EmbedderError, match="'odd' gave the query 'a' a vector that is zero or not finite"):
        checked_query(Answering(np.array(answer)), "a")


def test_a_query_is_one_vector() -> None:
    assert checked_query(Answering([0, 0, 2]), "a").tolist() == [0, 0, 1]
    with pytest.raises(EmbedderError, match=r"shape \(1, 3\), not \(3,\)"):
        checked_query(Answering(np.ones((1, 3))), "a")


# What an embedder may leave out


def test_tokens_are_counted_by_the_embedder_or_estimated() -> None:
    assert count_tokens(HashingEmbedder(), "one two three") == 5
    assert count_tokens(Minimal(), "one two three") >= 3


def test_a_token_counter_that_fails_is_named() -> None:
    embedder = HashingEmbedder()
    embedder.count_tokens = lambda text: int("no number")  # type: ignore[method-assign]
    with pytest.raises(EmbedderError, match="'hashing' failed: ValueError"):
        count_tokens(embedder, "a")


def test_fingerprint_is_the_embedders_own_or_made_of_name_and_dimension() -> None:
    assert fingerprint(HashingEmbedder()) == fingerprint(HashingEmbedder(max_tokens=9))
    others = [HashingEmbedder(), HashingEmbedder(33), HashingEmbedder(name="other")]
    assert len({fingerprint(embedder) for embedder in others}) == 3
    own = HashingEmbedder()
    own.fingerprint = "of its own"  # type: ignore[attr-defined]
    assert fingerprint(own) == "of its own"


# resolve_embedder


def test_none_and_an_object_resolve_to_themselves() -> None:
    embedder = Minimal()
    assert resolve_embedder(None) is None
    assert resolve_embedder(embedder) is embedder


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (SimpleNamespace(name="half", dimension=3), "no max_tokens, embed_documents, embed_query"),
        (42, "int object is no embedder"),
        (HashingEmbedder, "class HashingEmbedder is no embedder: give an instance"),
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


def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the code in a fresh interpreter where warnings are errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def printed(result: subprocess.CompletedProcess[str]) -> list[str]:
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


def test_auto_without_sentence_transformers_is_none_and_says_why(tmp_path: Path) -> None:
    lines = printed(
        run(
            """
            import sys
            sys.modules["sentence_transformers"] = None  # as where it is not installed
            from worlds.embedders import EmbedderError, SentenceTransformerEmbedder
            from worlds.embedders import reason_without, resolve_embedder
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


def modules(*kinds: str) -> list[dict[str, str]]:
    return [
        {"type": f"sentence_transformers.models.{kind}", "path": f"{index}_{kind}" if index else ""}
        for index, kind in enumerate(kinds)
    ]


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
    with pytest.raises(EmbedderError, match="is no folder of a model"):
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
    from worlds.embedders import EmbedderError, SentenceTransformerEmbedder
    begun = time.monotonic()
    try:
        print(SentenceTransformerEmbedder(sys.argv[1]).dimension)
    except EmbedderError as error:
        print(error)
    print(time.monotonic() - begun)
"""


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


REPOSITORY = {
    "config.json": b'{"hidden_size": 12, "max_position_embeddings": 9}',
    "1_Pooling/config.json": b'{"embedding_dimension": 10}',
    "modules.json": json.dumps(modules("Transformer", "Pooling")).encode(),
    "model.safetensors": b"none",
    "pytorch_model.bin": b"the same in another form",
    "onnx/model.onnx": b"the same for another runtime",
    "README.md": b"words",
}


class Hub(BaseHTTPRequestHandler):
    """As much of the model hub as a download needs."""

    asked: list[str]
    repository: Mapping[str, bytes] = REPOSITORY

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        commit = "0123456789abcdef0123456789abcdef01234567"
        path = self.path.partition("?")[0]
        if path == f"/api/models/someone/model/tree/{commit}":
            tree = [{"type": "file", "path": n, "size": len(b), "oid": n} for n, b in self.repository.items()]
            body = json.dumps(tree).encode()
        elif path.startswith("/api/models/someone/model"):
            siblings = [{"rfilename": name} for name in self.repository]
            body = json.dumps({"id": "someone/model", "sha": commit, "siblings": siblings}).encode()
        else:
            name = path.partition("/resolve/")[2].partition("/")[2]
            if name not in self.repository:  # what a release of the client asks besides
                self.send_error(404)
                return
            self.asked.append(name)
            body = self.repository[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Repo-Commit", commit)
        self.send_header("ETag", f'"{path.replace("/", "-")}"')
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[tuple[str, list[str]]]:
    """The URL of a hub with one model, and the files that it was asked for."""
    with serving(REPOSITORY) as found:
        yield found


@contextmanager
def serving(repository: Mapping[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    asked: list[str] = []
    handler = type("OneHub", (Hub,), {"asked": asked, "repository": repository})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()
        thread.join()


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


# The real model


@pytest.fixture(scope="module")
def model() -> SentenceTransformerEmbedder:
    if reason := reason_without():
        pytest.skip(reason)
    return SentenceTransformerEmbedder(device="cpu")


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
def test_torch_waits_for_the_first_text_and_nothing_is_printed(model: SentenceTransformerEmbedder) -> None:
    lines = printed(
        run("""
            import logging, sys, warnings
            from worlds.embedders import fingerprint, resolve_embedder
            assert not {"torch", "tokenizers", "huggingface_hub"} & sys.modules.keys()
            embedder = resolve_embedder("auto")
            print(embedder.dimension, embedder.max_tokens, embedder.count_tokens("word " * 300))
            fingerprint(embedder)
            assert not {"torch", "transformers", "sentence_transformers"} & sys.modules.keys()
            filters = list(warnings.filters)
            print(embedder.embed_documents(["a", "word " * 300]).shape)
            assert warnings.filters == filters
            from transformers.utils import logging as upstream
            print(upstream.is_progress_bar_enabled(), logging.getLogger("transformers").level)
        """)
    )
    assert lines == ["384 256 302", "(2, 384)", "True 30"]
