"""Text to vectors: what an embedder is, the check of its answers, and the embedders that come with the package.

Importing this package, and making an embedder, loads neither torch nor weights.
"""

from worlds.embedders.base import Embedder, checked_documents, checked_query, count_tokens, failure_kind, fingerprint
from worlds.embedders.endpoint import OpenAIEmbedder
from worlds.embedders.fallback import FallbackEmbedder
from worlds.embedders.models import DEFAULT_MODEL
from worlds.embedders.onnx_runtime import OnnxEmbedder
from worlds.embedders.resolve import reason_without, resolve_embedder
from worlds.embedders.sentence import SentenceTransformerEmbedder
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
