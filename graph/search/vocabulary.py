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
class Property:
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
PROPERTIES: Mapping[str, Property] = {
    "query": Property("text"),
    "limit": Property("limit", "whole number"),
    "mode": Property("mode"),
    "syntax": Property("syntax"),
    "queryLanguage": Property("query_language"),
    "fusion": Property("fusion"),
    "normalise": Property("normalise"),
    "labelBonus": Property("label_bonus", "boolean"),
    "k": Property("k", "number"),
    "vectorWeight": Property("weights.vector", "number"),
    "textWeight": Property("weights.text", "number"),
    "candidates": Property("candidates", "whole number"),
    "plan": Property("plan"),
    "vector": Property("vector", "numbers"),
    "minSimilarity": Property("min_similarity", "number"),
    "related": Property("related", "boolean"),
    "rerank": Property("rerank", "boolean"),  # a name would let a query load any model
    "rerankTop": Property("rerank_top", "whole number"),
    "rerankTimeout": Property("rerank_timeout", "number"),
    "boost": Property("boost", many=True),
    "decayPredicate": Property("decay.predicate", "IRI"),
    "decayHalfLife": Property("decay.half_life", "number"),
    "decayNow": Property("decay.now"),
    "evergreenTypes": Property("decay.evergreen_types", "IRI", many=True),
    "evergreenPredicates": Property("decay.evergreen_predicates", "IRI", many=True),
    "evergreenFlags": Property("decay.evergreen_flags", "IRI", many=True),
    "diversity": Property("diversity", "number"),
    "groupBy": Property("group_by"),
    "perSubject": Property("per_subject", "whole number"),
    "cursor": Property("cursor", gives="what w:cursor takes to give the hits that follow; unbound at the end"),
    "subclasses": Property("subclasses", "boolean"),
    "where": Property("where"),
    **{
        name: Property(option, form, many=True)
        for singular, form in _FILTERS.items()
        for name, option in (
            (f"{singular}s", f"{singular}s"),
            (f"exclude{singular.title()}", f"exclude.{singular}s"),
            (f"exclude{singular.title()}s", f"exclude.{singular}s"),
        )
    },
    "type": Property("types", "IRI", many=True),
    "excludeWhere": Property("exclude.where"),
    "source": Property("sources", many=True),
    "sourceKind": Property("source_kinds", many=True),
    "excludeSource": Property("exclude.sources", many=True),
    "excludeSourceKind": Property("exclude.source_kinds", many=True),
    "subject": Property("subjects", "IRI", many=True, gives="the subject of a quad that holds the text"),
    "predicate": Property("predicates", "IRI", many=True, gives="the quad's predicate"),
    "graph": Property("graphs", "graph", many=True, gives="the quad's graph; unbound for the default graph"),
    "language": Property("languages", "language tag", many=True, gives='the literal\'s language, "" for none'),
    "object": Property(gives="the literal"),
    "text": Property(gives="the passage of the literal that was found"),
    "snippet": Property(gives="its part with most of the query's words, each as **word**"),
    "label": Property(gives="a label of the hit's first subject"),
    "start": Property(gives="where the passage begins in the literal, in characters"),
    "end": Property(gives="where it ends"),
    "score": Property(gives="the fused score, higher is better"),
    "rank": Property(gives="the hit's place, from 1"),
    "vectorRank": Property(gives="its place among the vectors' matches; unbound where it is not one"),
    "vectorScore": Property(gives="cosine similarity"),
    "textRank": Property(gives="its place among the words' matches; unbound where it is not one"),
    "textScore": Property(gives="BM25 as SQLite gives it, lower is better"),
}  # fmt: skip
"""The vocabulary, by local name. What has an option and gives something is an input where its object is a constant."""
