"""The blank nodes in terms and quads, and other names for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyoxigraph as ox


def blank_nodes(term: Any) -> set[ox.BlankNode]:
    """The blank nodes in a quad or a term."""
    if isinstance(term, ox.BlankNode):
        return {term}
    if isinstance(term, ox.Quad):
        return blank_nodes(term.subject) | blank_nodes(term.object) | blank_nodes(term.graph_name)
    return blank_nodes(term.subject) | blank_nodes(term.object) if isinstance(term, ox.Triple) else set()


def renamed(term: Any, names: Mapping[ox.BlankNode, ox.BlankNode]) -> Any:
    """A quad or a term with the blank nodes that have another name under it."""
    if not names:
        return term
    if isinstance(term, ox.Quad):
        return ox.Quad(*[renamed(part, names) for part in (term.subject, term.predicate, term.object, term.graph_name)])
    if isinstance(term, ox.Triple):
        return ox.Triple(renamed(term.subject, names), term.predicate, renamed(term.object, names))
    return names.get(term, term)
