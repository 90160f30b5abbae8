"""The vocabulary of a search in SPARQL: `w:query`, `w:limit`, and what else a `SERVICE w:search` takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

NAMESPACE = "urn:worlds:"
SEARCH = NAMESPACE + "search"
SIMILARITY = NAMESPACE + "similarity"
TEXT_QUERY = "http://jena.apache.org/text#query"

Form: TypeAlias = Literal["text", "whole number", "number", "boolean", "IRI", "graph", "language tag", "numbers"]


@dataclass(frozen=True)
class SearchProperty:
    """A property of a search: an input has an `option` of World.search and a `form`, an output has what it `gives`."""

    option: str = ""
    form: Form = "text"
    many: bool = False  # takes several values, any of which will do
    gives: str = ""


_FILTERS: dict[str, Form] = {
    "type": "IRI",
    "subject": "IRI",
    "predicate": "IRI",
    "graph": "graph",
    "language": "language tag",
}
PROPERTIES: Mapping[str, SearchProperty] = {
    "query": SearchProperty("text"),
    "limit": SearchProperty("limit", "whole number"),
    "mode": SearchProperty("mode"),
    "syntax": SearchProperty("syntax"),
    "queryLanguage": SearchProperty("query_language"),
    "fusion": SearchProperty("fusion"),
    "normalise": SearchProperty("normalise"),
    "labelBonus": SearchProperty("label_bonus", "boolean"),
    "k": SearchProperty("k", "number"),
    "vectorWeight": SearchProperty("weights.vector", "number"),
    "textWeight": SearchProperty("weights.text", "number"),
    "candidates": SearchProperty("candidates", "whole number"),
    "plan": SearchProperty("plan"),
    "vector": SearchProperty("vector", "numbers"),
    "minSimilarity": SearchProperty("min_similarity", "number"),
    "related": SearchProperty("related", "boolean"),
    "rerank": SearchProperty("rerank", "boolean"),  # a name would let a query load any model
    "rerankTop": SearchProperty("rerank_top", "whole number"),
    "rerankTimeout": SearchProperty("rerank_timeout", "number"),
    "boost": SearchProperty("boost", many=True),
    "decayPredicate": SearchProperty("decay.predicate", "IRI"),
    "decayHalfLife": SearchProperty("decay.half_life", "number"),
    "decayNow": SearchProperty("decay.now"),
    "evergreenTypes": SearchProperty("decay.evergreen_types", "IRI", many=True),
    "evergreenPredicates": SearchProperty("decay.evergreen_predicates", "IRI", many=True),
    "evergreenFlags": SearchProperty("decay.evergreen_flags", "IRI", many=True),
    "diversity": SearchProperty("diversity", "number"),
    "groupBy": SearchProperty("group_by"),
    "perSubject": SearchProperty("per_subject", "whole number"),
    "cursor": SearchProperty("cursor", gives="what w:cursor takes to give the hits that follow; unbound at the end"),
    "subclasses": SearchProperty("subclasses", "boolean"),
    "where": SearchProperty("where"),
    **{
        name: SearchProperty(option, form, many=True)
        for singular, form in _FILTERS.items()
        for name, option in (
            (f"{singular}s", f"{singular}s"),
            (f"exclude{singular.title()}", f"exclude.{singular}s"),
            (f"exclude{singular.title()}s", f"exclude.{singular}s"),
        )
    },
    "type": SearchProperty("types", "IRI", many=True),
    "excludeWhere": SearchProperty("exclude.where"),
    "source": SearchProperty("sources", many=True),
    "sourceKind": SearchProperty("source_kinds", many=True),
    "excludeSource": SearchProperty("exclude.sources", many=True),
    "excludeSourceKind": SearchProperty("exclude.source_kinds", many=True),
    "subject": SearchProperty("subjects", "IRI", many=True, gives="the subject of a quad that holds the text"),
    "predicate": SearchProperty("predicates", "IRI", many=True, gives="the quad's predicate"),
    "graph": SearchProperty("graphs", "graph", many=True, gives="the quad's graph; unbound for the default graph"),
    "language": SearchProperty("languages", "language tag", many=True, gives='the literal\'s language, "" for none'),
    "object": SearchProperty(gives="the literal"),
    "text": SearchProperty(gives="the passage of the literal that was found"),
    "snippet": SearchProperty(gives="its part with most of the query's words, each as **word**"),
    "label": SearchProperty(gives="a label of the hit's first subject"),
    "start": SearchProperty(gives="where the passage begins in the literal, in characters"),
    "end": SearchProperty(gives="where it ends"),
    "score": SearchProperty(gives="the fused score, higher is better"),
    "rank": SearchProperty(gives="the hit's place, from 1"),
    "vectorRank": SearchProperty(gives="its place among the vectors' matches; unbound where it is not one"),
    "vectorScore": SearchProperty(gives="cosine similarity"),
    "textRank": SearchProperty(gives="its place among the words' matches; unbound where it is not one"),
    "textScore": SearchProperty(gives="BM25 as SQLite gives it, lower is better"),
}  # fmt: skip
"""The vocabulary, by local name. What has an option and gives something is an input where its object is a constant."""
