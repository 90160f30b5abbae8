"""`worlds.adapters.llamaindex` under its earlier name."""

from worlds.adapters.llamaindex import LlamaIndexEmbedder, WorldsEmbedding, WorldsPropertyGraphStore, WorldsRetriever

__all__ = ["LlamaIndexEmbedder", "WorldsEmbedding", "WorldsPropertyGraphStore", "WorldsRetriever"]
