"""Text to vectors: what an embedder is, the check of its answers, and the embedders that come with the package.

Importing this package, and making an embedder, loads neither torch nor weights.
"""

from worlds.core.embedders.base import (
    Embedder,
    checked_documents,
    checked_query,
    count_tokens,
    failure_kind,
    fingerprint,
)
from worlds.core.embedders.endpoint import OpenAIEmbedder
from worlds.core.embedders.fallback import FallbackEmbedder
from worlds.core.embedders.models import DEFAULT_MODEL
from worlds.core.embedders.onnx_runtime import OnnxEmbedder
from worlds.core.embedders.resolve import reason_without, resolve_embedder
from worlds.core.embedders.sentence import SentenceTransformerEmbedder
from worlds.errors import EmbedderError

__all__ = [
    "DEFAULT_MODEL",
    "Embedder",
    "EmbedderError",
    "FallbackEmbedder",
    "OnnxEmbedder",
    "OpenAIEmbedder",
    "SentenceTransformerEmbedder",
    "checked_documents",
    "checked_query",
    "count_tokens",
    "failure_kind",
    "fingerprint",
    "reason_without",
    "resolve_embedder",
]
