"""Notes and pages that tests of documents add."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from rdflib import Literal, URIRef

import worlds
from worlds.core.texts.markdown import MARKDOWN

NOTE = URIRef("https://example.org/note")
SCHEMA = "https://schema.org/"
TERMS = "http://purl.org/dc/terms/"
KITES = """# Birds of prey

They hunt other animals.

## Red kite

The red kite has a forked tail. It soars for hours over open country.

## Osprey

The osprey eats fish, and nothing else.
"""


def said(world: worlds.World, subject: object = NOTE, graph: object = None) -> dict[str, set[Any]]:
    """Predicate → values of a subject, without its type; names of the vocabularies are left out."""
    values: dict[str, set[Any]] = {}
    for _, predicate, value, _ in world.quads(subject, graph=graph):
        name = str(predicate).removeprefix(SCHEMA).removeprefix(TERMS)
        if not name.startswith("http"):
            values.setdefault(name, set()).add(value)
    return values


def markdown(text: str) -> Literal:
    return Literal(text, datatype=URIRef(MARKDOWN))


plain = st.text(alphabet="ab1#-*>=~`.|+:_ \\", min_size=1, max_size=12).filter(str.strip)
