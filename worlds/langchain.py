"""`worlds.adapters.langchain` under its earlier name."""

from worlds.adapters.langchain import LangChainEmbedder, WorldsEmbeddings, WorldsRetriever, WorldsVectorStore

__all__ = ["LangChainEmbedder", "WorldsEmbeddings", "WorldsRetriever", "WorldsVectorStore"]
