"""The real model, loaded once."""

from __future__ import annotations

import pytest

from worlds.core.embedders import (
    SentenceTransformerEmbedder,
    reason_without,
)


@pytest.fixture(scope="session")
def model() -> SentenceTransformerEmbedder:
    if reason := reason_without():
        pytest.skip(reason)
    return SentenceTransformerEmbedder(device="cpu")
