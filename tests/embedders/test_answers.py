"""What an embedder may answer, and what becomes of wrong answers; the tests' own embedder."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.embedder import HashingEmbedder
from tests.support.embedders import TEXTS, Answering, Minimal
from worlds.core.embedders import (
    Embedder,
    checked_documents,
    checked_query,
    count_tokens,
    fingerprint,
)
from worlds.errors import EmbedderError

# --- the tests' own ---------------------------------------------------------------------------------------------------


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


# --- what an embedder answers -----------------------------------------------------------------------------------------


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
