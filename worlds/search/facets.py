"""What the hits of a search have in common: how many have each type, predicate, graph and language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from worlds.graph.terms import shorten

if TYPE_CHECKING:
    from worlds.search.hits import Hit

Counts: TypeAlias = list[tuple[str, int]]


@dataclass(frozen=True)
class Facets:
    """Values and the number of hits that have each, the commonest first; among equals, in their order.

    Each value is what the filter of the same name takes: an IRI, "default" for the default graph, "" for no language.
    A hit has as many types as its subject has.
    """

    types: Counts
    predicates: Counts
    graphs: Counts
    languages: Counts

    def to_dict(self, prefixes: Mapping[str, str] | None = None) -> dict[str, list[dict[str, Any]]]:
        """The counts as JSON-ready values; `label` is the value for people, a prefixed name where there is one."""
        return {
            item.name: [
                {"value": value, "label": _label(item.name, value, prefixes or {}), "count": count}
                for value, count in getattr(self, item.name)
            ]
            for item in fields(self)
        }


def count_facets(hits: Iterable[Hit]) -> Facets:
    """The facets of some hits."""
    types: Counter[str] = Counter()
    predicates: Counter[str] = Counter()
    graphs: Counter[str] = Counter()
    languages: Counter[str] = Counter()
    for hit in hits:
        types.update({str(kind) for kind in hit.types})
        predicates[str(hit.predicate)] += 1
        graphs["default" if hit.graph is None else str(hit.graph)] += 1
        languages[getattr(hit.literal, "language", None) or ""] += 1
    return Facets(*map(_ordered, (types, predicates, graphs, languages)))


def _ordered(counts: Counter[str]) -> Counts:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _label(facet: str, value: str, prefixes: Mapping[str, str]) -> str:
    if facet == "languages":
        return value or "no language"
    if facet == "graphs" and value == "default":
        return "default graph"
    return shorten(value, prefixes)
