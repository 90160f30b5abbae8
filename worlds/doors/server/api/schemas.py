"""The JSON schemas of what the API gives, by name; the OpenAPI document has them.

Those of answers come from the types of the answers.
"""

from __future__ import annotations

from typing import Any

from worlds import records
from worlds.doors.server.api.jobs import OWNERS, Rehearsal, RevisionDetails
from worlds.graph.records import schemas
from worlds.verbs.verb import LEVELS

_TEXT = {"type": "string"}
_MAYBE = {"type": ["string", "null"]}
_COUNT = {"type": "integer", "minimum": 0}
_RANK = {"rank": {"type": "integer", "minimum": 1}}


def _list(items: object) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: dict[str, Any], optional: dict[str, Any] | None = None, help: str = "") -> dict[str, Any]:
    properties = {**required, **(optional or {})}
    shown = {"type": "object", "properties": properties, "required": list(required)}
    return {**shown, "description": help} if help else shown


def _and(schema: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object with further properties."""
    return {
        **schema,
        "properties": {**properties, **schema["properties"]},
        "required": [*properties, *schema["required"]],
    }


def _findings(of: str) -> dict[str, Any]:
    return _object({"counts": {"type": "object", "additionalProperties": _COUNT}, "findings": _list(_ref(of))})


_FACET = _list(_object({"value": _TEXT, "label": _TEXT, "count": _COUNT}))
_FACETS = ("types", "predicates", "graphs", "languages")
_PUBLIC = (
    "Brief BrokenQuestion Change Context Decision Description DueFact Duplicate Entries Explanation Finding Form Hit "
    "KeptQuestion Link Members Mentions Minted Move Passage Proposal Provenance Receipt Synced ValidationReport "
    "Resolution Schema RulesInUse Split Stats Tag Timeline Tree Verification Why WorldReport WorldSource"
)
_RECORDS = schemas((*(getattr(records, name) for name in _PUBLIC.split()), Rehearsal, RevisionDetails))

_SOURCE = _RECORDS.pop("WorldSource")
_SOURCE["properties"] = {name: schema for name, schema in _SOURCE["properties"].items() if name not in OWNERS}
_SOURCE["required"] = [name for name in _SOURCE["required"] if name not in OWNERS]

SCHEMAS: dict[str, Any] = {
    **_RECORDS,
    "RankedHit": _and(_RECORDS["Hit"], _RANK),
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
        {"hits": _list(_ref("RankedHit")), "cursor": _MAYBE, "notes": _list(_TEXT), "explain": _ref("Explanation")},
        {"facets": {**_object(dict.fromkeys(_FACETS, _FACET)), "additionalProperties": _FACET}},
    ),
    "Findings": _findings("Finding"),
    "Links": _findings("Link"),
    "Duplicates": _and(_findings("Duplicate"), {"learned": _COUNT}),
    "DueFacts": _object({"facts": _list(_ref("DueFact"))}),
    "Decisions": _object({"decisions": _list(_ref("Decision"))}),
    "Sources": _object({"sources": _list(_SOURCE)}),
    "Tags": _object({"tags": _list(_ref("Tag"))}),
    "Questions": _object(
        {"questions": _list({"oneOf": [_ref("KeptQuestion"), _ref("NearQuestion")]}), "count": _COUNT}
    ),
    "BrokenQuestions": _object({"questions": _list(_ref("BrokenQuestion"))}),
    "Labels": _object({"labels": {"type": "object", "additionalProperties": _TEXT}}),
    "Runs": _object({"runs": _list(_ref("Synced"))}),
    "Resolutions": _list(_ref("Resolution")),
    "Provenances": _object({"quads": _list(_ref("Provenance"))}),
    "Proposals": _object(
        {
            "proposals": _list(_ref("Proposal")),
            "total": {**_COUNT, "description": "How many there are from the first one on."},
            "notes": _list(_TEXT),
        }
    ),
    "Policy": _object({"profiles": {}, "tokenizer": _TEXT, "default_graph": _TEXT}, help="As `worlds policy --json`."),
    "Prefixes": {"type": "object", "additionalProperties": _TEXT},
    "WorldSummary": _object({"name": _TEXT, "bytes": _COUNT, "modified": {"type": "number"}, "address": _TEXT}),
    "Worlds": _object({"worlds": _list(_ref("WorldSummary"))}),
    "Trial": _object(
        {
            "mapping": {"type": ["object", "null"]},
            "titles": _list(_TEXT),
            "rows": _list(
                _object({"cells": _list({}), "iri": _MAYBE, "values": _list(_list(_TEXT)), "problem": _MAYBE})
            ),
            "difference": {"oneOf": [_ref("Rehearsal"), {"type": "null"}]},
            "violations": {"oneOf": [_ref("ValidationReport"), {"type": "null"}]},
        },
        help="The effect of a load: of a table its mapping, and the first rows as they would be.",
    ),
    "Access": _object(
        {"name": _MAYBE, "level": {"enum": list(LEVELS)}, "graphs": {"type": ["array", "null"], "items": _TEXT}},
        help="The name of the caller's key, null without one; its level; the graphs that it sees, null for all.",
    ),
    "Health": _object({"status": {"const": "ok"}}),
    "Object": {"type": "object"},
    "ReconciliationForm": _object(
        {}, {"queries": _TEXT, "extend": _TEXT}, "A batch of queries as JSON, or else entities and properties as JSON."
    ),
    "SparqlForm": _object({}, {"query": _TEXT, "update": _TEXT}, "A query, or else an update."),
}
