"""Doors for other libraries: rdflib, LangChain, LlamaIndex."""
