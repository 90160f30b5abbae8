"""The JSON schemas of what the API gives, by name; the OpenAPI document has them."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_MAYBE_TEXT = {"type": ["string", "null"]}
_COUNT = {"type": "integer", "minimum": 0}
_REVISION = {"type": "integer", "minimum": 1}
_NUMBER = {"type": "number"}


def _list(items: object) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _or_null(schema: object) -> dict[str, Any]:
    return {"oneOf": [schema, {"type": "null"}]}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None, help: str | None = None) -> Any:
    shown: dict[str, Any] = {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
    }
    return shown if help is None else {**shown, "description": help}


_QUAD = {
    "type": "array",
    "items": _MAYBE_TEXT,
    "minItems": 4,
    "maxItems": 4,
    "description": "Subject, predicate, object and graph as in N-Triples; null is the default graph.",
}
_LEG = _object(
    {
        "rank": {"type": ["integer", "null"]},
        "value": _NUMBER,
        "weight": _NUMBER,
        "contribution": _NUMBER,
        "factors": {"type": "object", "additionalProperties": _NUMBER},
    }
)
_COUNTS = {"type": "object", "additionalProperties": _COUNT}
_CITED = _object(
    {
        "subject": _TEXT,
        "predicate": _TEXT,
        "object": _TEXT,
        "graph": _MAYBE_TEXT,
        "revision": {"type": ["integer", "null"], "description": "The revision that added it."},
    }
)
_EVIDENCE = _object({"triple": _COUNT, "rule": _TEXT, "score": _NUMBER, "message": _TEXT, "quads": _list(_CITED)})
_LABELLED = _list(_object({"term": _TEXT, "label": _MAYBE_TEXT}))
_SAID = _object(
    {
        "quad": _list(_MAYBE_TEXT),
        "revision": {"type": ["integer", "null"]},
        "author": _MAYBE_TEXT,
        "time": _MAYBE_TEXT,
        "message": _MAYBE_TEXT,
    }
)
_FACET = _list(_object({"value": _TEXT, "label": _TEXT, "count": _COUNT}))
_ENTRY = {
    "revision": _REVISION,
    "time": {"type": "string", "format": "date-time"},
    "author": _MAYBE_TEXT,
    "message": _MAYBE_TEXT,
    "added": _COUNT,
    "removed": _COUNT,
    "created": _COUNT,
    "dropped": _COUNT,
    "undoes": {"type": ["integer", "null"], "description": "The revision that it took back."},
    "undone_by": {"type": ["integer", "null"], "description": "The revision that took it back."},
}

SCHEMAS: dict[str, Any] = {
    "Problem": _object(
        {"type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT},
        {
            "line": {"type": "integer"},
            "column": {"type": "integer"},
            "kind": {"type": "string", "description": "What is wrong, in a word or two, for programs."},
            "request": {"type": "string", "description": "The request's id, as in the server's log."},
        },
        "An error, as RFC 9457 has it.",
    ),
    "SearchResults": _object(
        {"hits": _list(_ref("Hit")), "cursor": _MAYBE_TEXT, "notes": _list(_TEXT), "explain": _ref("Explanation")},
        {
            "facets": _object({"types": _FACET, "predicates": _FACET, "graphs": _FACET, "languages": _FACET}),
        },
    ),
    "Hit": _object(
        {
            "rank": {"type": "integer", "minimum": 1},
            "score": {"type": "number", "description": "Higher is better."},
            "subject": _TEXT,
            "label": _MAYBE_TEXT,
            "types": _list(_TEXT),
            "predicate": _TEXT,
            "graph": _MAYBE_TEXT,
            "text": _TEXT,
            "snippet": {"type": "string", "description": "Where most of the query's words are, each as **word**."},
            "language": _MAYBE_TEXT,
            "chunk": {"type": "integer", "description": "The number of the passage in this world."},
            "start": _COUNT,
            "end": _COUNT,
            "quads": _list(_QUAD),
            "explain": {"anyOf": [{"type": "null"}, _object({}, {"vector": _LEG, "text": _LEG})]},
            "steps": _or_null(
                _list(
                    _object(
                        {
                            "stage": _TEXT,
                            "rank_before": {"type": ["integer", "null"]},
                            "rank": {"type": ["integer", "null"]},
                            "score_before": _NUMBER,
                            "score": _NUMBER,
                            "detail": {"type": "object", "additionalProperties": True},
                        }
                    )
                )
            ),
        },
        {
            "world": {"type": "string", "description": "Which of several worlds it cites."},
            "others": _list(_ref("Hit")),
        },
    ),
    "Explanation": _object(
        {"query": _TEXT, "mode": _TEXT, "plan": _MAYBE_TEXT, "reason": _TEXT, "notes": _list(_TEXT)},
        help="How a search was answered.",
    ),
    "Context": _object(
        {
            "question": _TEXT,
            "text": {"type": "string", "description": "For a language model; its numbers in brackets are the facts'."},
            "tokens": _COUNT,
            "facts": _list(
                _object(
                    {
                        "number": _COUNT,
                        "text": _TEXT,
                        "entity": _MAYBE_TEXT,
                        "hops": _COUNT,
                        "score": _NUMBER,
                        "quads": _list(_CITED),
                    }
                )
            ),
            "entities": _list(_object({"iri": _TEXT, "label": _MAYBE_TEXT, "types": _list(_TEXT), "hops": _COUNT})),
            "left_out": {"type": "integer", "description": "Quads that were looked at and are not told."},
            "notes": _list(_TEXT),
        }
    ),
    "Value": _object(
        {"term": _TEXT, "label": _MAYBE_TEXT},
        {"sources": _list(_object({"graph": _MAYBE_TEXT, "revision": _REVISION}))},
    ),
    "Property": _object({"predicate": _TEXT, "label": _TEXT, "count": _COUNT, "values": _list(_ref("Value"))}),
    "Description": _object(
        {
            "iri": _TEXT,
            "label": _MAYBE_TEXT,
            "types": _list(_ref("Value")),
            "description": _MAYBE_TEXT,
            "properties": _list(_ref("Property")),
            "incoming": _list(_ref("Property")),
        }
    ),
    "Candidate": _object(
        {
            "iri": _TEXT,
            "label": _MAYBE_TEXT,
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
            "kind": _TEXT,
            "matched": _TEXT,
            "score": _NUMBER,
            "similarity": {"type": ["number", "null"]},
            "context": _NUMBER,
            "types": _list(_TEXT),
        }
    ),
    "Resolution": _object(
        {
            "name": _TEXT,
            "outcome": {"type": "string", "enum": ["match", "ambiguous", "no match"]},
            "candidates": _list(_ref("Candidate")),
            "notes": _list(_TEXT),
        }
    ),
    "Mentions": _object(
        {
            "mentions": _list(
                _object(
                    {
                        "text": _TEXT,
                        "start": _COUNT,
                        "end": _COUNT,
                        "iri": _TEXT,
                        "label": _MAYBE_TEXT,
                        "types": _list(_TEXT),
                        "confidence": _NUMBER,
                        "candidates": _list(_ref("Candidate")),
                        "quad": {"type": ["object", "null"], "description": "Whose text it is, of a document."},
                    }
                )
            ),
            "notes": _list(_TEXT),
        }
    ),
    "Finding": _object(
        {
            "kind": _TEXT,
            "severity": {"type": "string", "enum": ["error", "warning", "info"]},
            "score": _NUMBER,
            "message": _TEXT,
            "subjects": _list(_TEXT),
            "quads": _list(_SAID),
            "add": _list(_list(_MAYBE_TEXT)),
            "remove": _list(_list(_MAYBE_TEXT)),
        },
        {
            **{name: {**_TEXT, "description": "Of a link."} for name in ("subject", "predicate", "object", "text")},
            **{name: {**_COUNT, "description": "Of a link, in characters."} for name in ("start", "end")},
            **{name: {**_list(_TEXT), "description": "Of duplicates."} for name in ("evidence", "against")},
        },
    ),
    "Findings": _object({"counts": _COUNTS, "findings": _list(_ref("Finding"))}),
    "WorldReport": _object(
        {
            "quads": _COUNT,
            "entities": _COUNT,
            "counts": {"type": "object", "additionalProperties": _COUNT},
            "checks": _list(
                _object(
                    {
                        "name": _TEXT,
                        "level": {"type": "string", "enum": ["error", "warning", "info"]},
                        "title": _TEXT,
                        "count": _COUNT,
                        "examples": _list(_TEXT),
                        "query": _TEXT,
                    }
                )
            ),
        }
    ),
    "Verification": _object(
        {
            "claim": _TEXT,
            "revision": _COUNT,
            "outcome": {"type": "string", "enum": ["supported", "contradicted", "unknown"]},
            "triples": _list(_list(_TEXT)),
            "outcomes": _list(_TEXT),
            "readings": _list(_TEXT),
            "unread": _list(_TEXT),
            "supporting": _list(_EVIDENCE),
            "contradicting": _list(_EVIDENCE),
            "paths": _list(_list(_CITED)),
            "undecided": _list(_TEXT),
            "odd": _list(_object({"kind": _TEXT, "message": _TEXT, "quads": _list(_CITED)})),
            "visited": _list(_CITED),
            "left_out": _COUNT,
            "passages": _list(_object({"text": _TEXT, "score": _NUMBER, "quads": _list(_list(_MAYBE_TEXT))})),
            "trail": {"type": "string", "description": "PROV-O in Turtle."},
        }
    ),
    "Resolutions": _list(_ref("Resolution")),
    "Entry": _object(_ENTRY),
    "History": _object({"revisions": _list(_ref("Entry"))}),
    "Provenance": _object(
        {"quads": _list(_object({"quad": _QUAD, "added": _or_null(_ref("Entry")), "removed": _or_null(_ref("Entry"))}))}
    ),
    "Revision": _object(
        {
            **_ENTRY,
            "quads_added": _list(_QUAD),
            "quads_removed": _list(_QUAD),
            "graphs_created": _list(_TEXT),
            "graphs_dropped": _list(_TEXT),
            "truncated": {"type": "boolean", "description": "Whether there are more quads than are listed."},
            "undone": {"type": "boolean", "description": "Whether nothing of what it did holds any more."},
        }
    ),
    "Change": _object(
        {
            "revision": {"type": ["integer", "null"], "description": "null where nothing changed."},
            "added": _COUNT,
            "removed": _COUNT,
            "chunks": _COUNT,
            "embedded": _COUNT,
            "notes": _list(_TEXT),
        }
    ),
    "Split": _object(
        {
            "revision": {"type": ["integer", "null"], "description": "null where nothing changed."},
            "added": _COUNT,
            "removed": _COUNT,
            "unassigned": _list(_QUAD),
        }
    ),
    "Proposal": _object(
        {
            "id": {"type": "integer", "minimum": 1},
            "status": {"type": "string", "enum": ["open", "accepted", "rejected"]},
            "kind": _TEXT,
            "time": _TEXT,
            "author": _MAYBE_TEXT,
            "content_author": {"type": ["string", "null"], "description": "Who gave the change that it has now."},
            "version": {"type": "integer", "minimum": 1, "description": "Counts the changes that it has had."},
            "why": _MAYBE_TEXT,
            "confidence": {"type": ["number", "null"]},
            "base": _COUNT,
            "added": _list(_TEXT),
            "removed": _list(_TEXT),
            "merged": _list(_TEXT),
            "moved": {"type": "array", "items": _TEXT, "description": "What has changed of what it relies on."},
            "validation": _list(_TEXT),
            "discussion": _list(
                _object({"time": _TEXT, "author": _MAYBE_TEXT, "text": _MAYBE_TEXT, "replaced": _MAYBE_TEXT})
            ),
            "reviewer": _MAYBE_TEXT,
            "decided": _MAYBE_TEXT,
            "decision": _MAYBE_TEXT,
            "revision": {"type": ["integer", "null"]},
        }
    ),
    "Proposals": _object({"proposals": _list(_ref("Proposal"))}),
    "Stats": _object(
        {
            "bytes": _COUNT,
            "created": _TEXT,
            "quads": _COUNT,
            "named_quads": _COUNT,
            "graphs": _COUNT,
            "terms": _COUNT,
            "revisions": _COUNT,
            "last_revision": _COUNT,
            "texts": _COUNT,
            "chunks": _COUNT,
            "pending": _COUNT,
            "vectors": _COUNT,
            "embedder": _MAYBE_TEXT,
            "dimension": {"type": ["integer", "null"]},
            "predicates": {"type": "object", "additionalProperties": _COUNT},
            "types": {"type": "object", "additionalProperties": _COUNT},
        }
    ),
    "Schema": _object(
        {
            "revision": _COUNT,
            "quads": _COUNT,
            "classes": _list(_object({"iri": _TEXT, "label": _MAYBE_TEXT, "instances": _COUNT, "examples": _LABELLED})),
            "class_count": _COUNT,
            "predicates": _list(
                _object(
                    {
                        "iri": _TEXT,
                        "label": _TEXT,
                        "quads": _COUNT,
                        "subjects": _COUNT,
                        "kinds": _list(_object({"kind": _TEXT, "datatype": _MAYBE_TEXT, "language": _MAYBE_TEXT})),
                        "subject_classes": _list(_TEXT),
                        "object_classes": _list(_TEXT),
                        "examples": _LABELLED,
                    }
                )
            ),
            "predicate_count": _COUNT,
            "graphs": _list(_object({"name": _MAYBE_TEXT, "quads": _COUNT})),
            "graph_count": _COUNT,
            "languages": _COUNTS,
            "prefixes": {"type": "object", "additionalProperties": _TEXT},
            "notes": _list(_TEXT),
        },
        help="Classes, predicates, graphs and languages, the commonest first.",
    ),
    "Report": _object(
        {
            "conforms": {"type": "boolean"},
            "results": _list(
                _object(
                    {
                        "severity": _TEXT,
                        "focus": _TEXT,
                        "path": _MAYBE_TEXT,
                        "value": _MAYBE_TEXT,
                        "component": _TEXT,
                        "shape": _TEXT,
                        "message": _TEXT,
                        "quads": _list(_list({"type": ["string", "integer", "null"]})),
                    }
                )
            ),
        },
        help="What a validation found; a result's quads end with the revision that added them.",
    ),
    "Policy": _object({"profiles": {}, "tokenizer": _TEXT, "default_graph": _TEXT}, help="As `worlds policy --json`."),
    "Prefixes": {"type": "object", "additionalProperties": _TEXT},
    "WorldSummary": _object({"name": _TEXT, "bytes": _COUNT, "modified": _NUMBER, "address": _TEXT}),
    "Worlds": _object({"worlds": _list(_ref("WorldSummary"))}),
    "Health": _object({"status": {"const": "ok"}}),
    "Object": {"type": "object"},
    "SparqlForm": {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "A query; or else"},
            "update": {"type": "string", "description": "an update."},
        },
    },
}
