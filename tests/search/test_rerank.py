"""Reranking by a cross-encoder, and by whatever else scores texts."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.embedder import HashingEmbedder
from tests.support.stages import WORDS, Answering, Counting, Known
from worlds import Ranking


def failing(error: BaseException) -> Any:
    class Failing:
        def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
            raise error

    return Failing()


def test_it_says_how_to_get_a_model_that_is_not_here(known: Known, tmp_path: Path) -> None:
    for model, remedy in ((str(tmp_path / "none"), "there is no such folder"), ("no/such-model", "hf download")):
        (note,) = known.world.search("kite", rerank=model).notes
        assert "not reranked: there is no cross-encoder" in note or "sentence-transformers is not installed" in note
        assert remedy in note or "pip install" in note


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (failing(RuntimeError("out of\nmemory")), "RuntimeError: out of"),
        (failing(MemoryError()), "MemoryError"),
        (Answering([1.0]), "shape (1,)"),
        (Answering(None), "shape ()"),
        (Answering([float("nan")] * 16), "not finite"),
        ("no/such-model", "no/such-model"),
        ("/no such folder", "no such folder"),
    ],
    ids=["raises", "memory", "too few", "nothing", "nan", "name", "path"],
)
@pytest.mark.parametrize("timeout", [None, 60.0])
def test_a_reranker_that_fails_leaves_the_fused_order(
    known: Known, model: Any, said: str, timeout: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True, raising=False)
    plain = known.world.search("kite river", ranking=Ranking(boost="2 ex:size"))
    found = known.world.search(
        "kite river", ranking=Ranking(boost="2 ex:size", rerank_top=16, rerank_timeout=timeout), rerank=model
    )
    assert [(hit.chunk, hit.score) for hit in found] == [(hit.chunk, hit.score) for hit in plain]
    assert found.explain.stages == ("boost",)
    (note,) = [note for note in found.notes if note.startswith("not reranked: ")]
    assert said in note


def test_a_reranker_that_is_too_slow_leaves_the_fused_order(known: Known) -> None:
    going = threading.Event()
    batches: list[int] = []

    class Slow:
        def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
            batches.append(len(pairs))
            going.wait(10)
            return [1.0] * len(pairs)

    began = time.monotonic()
    found = known.world.search("kite river", rerank=Slow(), ranking=Ranking(rerank_timeout=0.1))
    assert time.monotonic() - began < 5
    assert [hit.chunk for hit in found] == [hit.chunk for hit in known.world.search("kite river")]
    assert found.notes == ("not reranked: the model did not answer within 0.1 s",)
    going.set()
    time.sleep(0.05)
    assert len(batches) == 1, "it is not asked on"


def test_others_search_while_a_model_thinks(known: Known) -> None:
    class Asking:
        def predict(self, pairs: list[tuple[str, str]]) -> list[float]:
            other = threading.Thread(target=known.world.search, args=("heron",))
            other.start()
            other.join(10)
            assert not other.is_alive(), "the world waits for the model"
            return [0.5] * len(pairs)

    assert known.world.search("kite", rerank=Asking()).notes == ()


def test_a_model_is_asked_in_batches_about_the_first_only(known: Known) -> None:
    model = Counting()
    known.world.search("kite river", rerank=model, ranking=Ranking(rerank_top=20))
    assert model.asked == [16, 4]
    (note,) = known.world.search(" ", vector=HashingEmbedder().embed_query("kite"), rerank=model).notes
    assert note == "not reranked: the query is blank"


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cross-encoder of random weights, some kilobytes."""
    pytest.importorskip("sentence_transformers", reason="the cross-encoder is one of sentence-transformers")
    import torch
    import transformers

    library: Any = transformers
    folder = tmp_path_factory.mktemp("model")
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]
    (folder / "vocab.txt").write_text("\n".join(vocabulary), "utf-8")
    torch.manual_seed(1)
    config = library.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        num_labels=1,
    )
    library.BertForSequenceClassification(config).save_pretrained(folder)
    library.BertTokenizerFast(vocab_file=str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    return folder


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_reranker_may_have_more_time_than_threads_can_wait_for(known: Known) -> None:
    found = known.world.search("kite", mode="text", rerank=Counting(), ranking=Ranking(rerank_timeout=1e10))
    assert not any("not reranked" in note for note in found.notes)


def test_a_cross_encoder_reranks(known: Known, cross_encoder: Path) -> None:
    from sentence_transformers import CrossEncoder

    found = known.world.search(
        "kite river", rerank=str(cross_encoder), ranking=Ranking(rerank_top=12), limit=20, explain=True
    )
    assert found.notes == ()
    plain = known.world.search("kite river", limit=20)
    assert {hit.chunk for hit in found[:12]} == {hit.chunk for hit in plain[:12]}
    assert [hit.chunk for hit in found[12:]] == [hit.chunk for hit in plain[12:]]
    texts = [hit.text for hit in found[:12]]
    model = CrossEncoder(str(cross_encoder))
    scores = model.predict([("kite river", text) for text in texts])
    if scores.min() < 0 or scores.max() > 1:
        scores = 1 / (1 + np.exp(-scores))
    assert [hit.score for hit in found[:12]] == pytest.approx(scores.tolist(), abs=1e-4)
    assert found[0].steps is not None
    assert found[0].steps[0].detail["model"] == str(cross_encoder)
    own = known.world.search("kite river", rerank=model, ranking=Ranking(rerank_top=12), limit=20)
    assert own.notes == ()


@pytest.mark.long
def test_a_reranker_that_is_still_at_work_does_not_end_the_process() -> None:
    pytest.importorskip("torch")
    script = """
import torch, worlds

class Busy:
    def predict(self, pairs):
        table = torch.rand(800, 800)
        for _ in range(80):
            table = (table @ table).softmax(0)
        return [float(table[0, 0])] * len(pairs)

torch.set_num_threads(1)
world = worlds.open(embedder=None)
world.add([(f"urn:{n}", "urn:p", f'"kite {n}"') for n in range(40)])
print(world.search("kite", rerank=Busy(), ranking=worlds.Ranking(rerank_timeout=0.05)).notes[-1])
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=250, check=False)
    assert "did not answer within 0.05 s" in ended.stdout
    assert (ended.returncode, ended.stderr) == (0, "")
