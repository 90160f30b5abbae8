"""What curation lets a server be asked: what is wrong or claimed, and what is merged, proposed and decided."""

from __future__ import annotations

from typing import Any

from worlds.server.api.operation import (
    ENTITY,
    IN_GRAPHS,
    JSON,
    MESSAGE,
    QUADS,
    REVISION,
    TYPES,
    Answer,
    Operation,
    answered,
)
from worlds.server.api.parameters import Parameter

_CLAIM = {
    "oneOf": [
        {"type": "string"},
        {"type": "array", "items": {"type": ["string", "number", "boolean"]}, "minItems": 3, "maxItems": 3},
    ],
    "example": ["ex:a", "rdf:type", "ex:C"],
}

_OF_LINKS = (
    TYPES,
    IN_GRAPHS,
    Parameter("predicates", "texts", "Only literals under these predicates."),
    Parameter("limit", "integer", "The most links.", default=100, least=1, most=10_000),
    Parameter("minimum", "number", "The least confidence.", default=0.5, least=0, most=1),
)
_OF_CONTRADICTIONS = (
    Parameter("suggested", "boolean", "Also what the data suggest, not only what is declared.", default=True),
    Parameter("limit", "integer", "The most of each kind.", default=100, least=1, most=10_000),
)
_OF_DUPLICATES = (
    TYPES,
    IN_GRAPHS,
    Parameter("between", "texts", "Given twice: the entities of one graph with those of another."),
    Parameter("probability", "number", "The least probability.", default=0.5, least=0, most=1),
    Parameter("limit", "integer", "The most pairs.", default=100, least=1, most=10_000),
)


def finding_operations() -> tuple[Operation, ...]:
    """What is read of a text, of claims and of the world as a whole."""
    return (
        Operation(
            "mentions",
            "POST",
            "/mentions",
            "Find the entities that a text names, and where.",
            "read",
            answered("The mentions, in the order of the text.", "Mentions"),
            fields=(
                Parameter("text", "text", "The text, or a document's IRI.", True, most=1_000_000, example="in Paris"),
                TYPES,
            ),
        ),
        Operation(
            "suggest_links",
            "GET",
            "/links",
            "Find literals that should be entities, and texts that name what their subject is not joined with.",
            "read",
            answered("The links, the surest first.", "Findings"),
            parameters=_OF_LINKS,
        ),
        Operation(
            "contradictions",
            "GET",
            "/contradictions",
            "Find what contradicts itself, and who said it.",
            "read",
            answered("What was found, the gravest first.", "Findings"),
            parameters=_OF_CONTRADICTIONS,
        ),
        Operation(
            "duplicates",
            "GET",
            "/duplicates",
            "Find pairs of entities that may be one, with what is for and against it.",
            "read",
            answered("The pairs, the likeliest first.", "Findings"),
            parameters=_OF_DUPLICATES,
        ),
        Operation(
            "report",
            "GET",
            "/report",
            "Tell what the world lacks and what is untidy in it.",
            "read",
            answered("Checks with counts, examples and queries.", "WorldReport"),
        ),
        Operation(
            "verify",
            "POST",
            "/verify",
            "Tell whether a claim is supported, contradicted or unknown, and why.",
            "read",
            answered("The outcome, the evidence, and the trail as PROV-O in Turtle.", "Verification"),
            fields=(
                Parameter(
                    "claim",
                    "json",
                    "A list of subject, predicate and object, as prefixed names, terms or names; or words.",
                    True,
                    most=100_000,
                    schema=_CLAIM,
                ),
                Parameter("at", "integer", "As it was after this revision.", least=0, most=2**31 - 1),
            ),
        ),
    )


def curation_operations() -> tuple[Operation, ...]:
    """Merging, and what is proposed and decided."""
    number = Parameter(
        "number", "integer", "The number of a proposal.", True, least=1, most=2**31 - 1, where="path", example=1
    )
    why = Parameter("why", "text", "The reason.", most=10_000)
    sure = Parameter("confidence", "number", "How sure it is, from 0 to 1.", least=0, most=1)
    change = (
        Parameter("add", "json", "What is to be added: N-Quads, a text or a list of them.", schema=QUADS),
        Parameter("remove", "json", "What is to be removed, likewise.", schema=QUADS),
        Parameter("update", "text", "A SPARQL Update that says it.", most=1_000_000),
    )
    changed, proposed = answered("What was done.", "Change"), answered("The proposal.", "Proposal")
    decide: dict[str, Any] = {"scope": "write", "body_optional": True, "errors": (409,), "tag": "Curation"}
    return (
        Operation(
            "merge",
            "POST",
            "/merge",
            "Let an entity take the place of others, in all graphs and positions.",
            answers=changed,
            fields=(
                Parameter("kept", "text", "The entity that stays: " + ENTITY, True, most=10_000),
                Parameter("others", "texts", "Those that it replaces.", True),
                Parameter("redirect", "text", "owl:sameAs or dcterms:isReplacedBy: how the old names lead on."),
                Parameter("conflicts", "text", "report, kept, newest or refuse: of functional properties."),
                MESSAGE,
            ),
            **{**decide, "body_optional": False},
        ),
        Operation(
            "split",
            "POST",
            "/history/{revision}/split",
            "Take a merge back, whatever has changed since.",
            answers=answered("What was done, and the quads that were added since.", "Split"),
            parameters=(REVISION,),
            fields=(MESSAGE,),
            **decide,
        ),
        Operation(
            "propose",
            "POST",
            "/proposals",
            "Propose a change; nothing of it is in the world before it is accepted.",
            "propose",
            {201: Answer("The proposal.", {JSON: "Proposal"})},
            fields=(
                *change,
                Parameter("merge", "texts", "Entities to merge, the one to keep first."),
                why,
                sure,
                Parameter("kind", "text", "A word to find it by.", most=100),
            ),
            tag="Curation",
        ),
        Operation(
            "proposals",
            "GET",
            "/proposals",
            "List what is proposed, the oldest first.",
            "read",
            answered("The proposals.", "Proposals"),
            parameters=(
                Parameter("status", "text", "open, accepted, rejected or any.", default="open"),
                Parameter("author", "text", "Only those of this author.", most=10_000),
                Parameter("entity", "text", "Only those on this entity.", most=10_000),
                Parameter("kind", "text", "Only those of this kind.", most=100),
                Parameter("limit", "integer", "The most proposals.", default=100, least=1, most=10_000),
            ),
            tag="Curation",
        ),
        Operation(
            "proposal",
            "GET",
            "/proposals/{number}",
            "Tell what is proposed, and whether what it relies on has changed.",
            "read",
            proposed,
            parameters=(number,),
            tag="Curation",
        ),
        Operation(
            "accept",
            "POST",
            "/proposals/{number}/accept",
            "Make the change of a proposal.",
            answers=changed,
            parameters=(
                number,
                Parameter("If-Match", "text", "The entity tag of the version that was reviewed.", where="header"),
            ),
            fields=(
                why,
                Parameter("version", "integer", "The version that was reviewed; 409 for another.", least=1, most=10**9),
                Parameter("force", "boolean", "Also if what it relies on has changed.", default=False),
            ),
            **decide,
        ),
        Operation(
            "reject",
            "POST",
            "/proposals/{number}/reject",
            "Decide that the change of a proposal is not made.",
            answers=proposed,
            parameters=(number,),
            fields=(why,),
            **decide,
        ),
        Operation(
            "amend",
            "POST",
            "/proposals/{number}/amend",
            "Say something of a proposal; its author, and who may write, can put another change in its place.",
            answers=proposed,
            parameters=(number,),
            fields=(*change, why, sure),
            **{**decide, "scope": "propose"},
        ),
        Operation(
            "remark",
            "POST",
            "/proposals/{number}/remarks",
            "Say something of a proposal.",
            answers=proposed,
            parameters=(number,),
            fields=(why, sure),
            **{**decide, "scope": "propose"},
        ),
        *(
            Operation(
                f"propose_{verb}",
                "POST",
                path,
                f"Propose what would put right what is found, each by itself, but for what waits already: {what}.",
                "propose",
                {201: Answer("The proposals that were made.", {JSON: "Proposals"})},
                fields=options,
                body_optional=True,
                tag="Curation",
            )
            for verb, path, what, options in (
                ("contradictions", "/contradictions", "quads to remove", _OF_CONTRADICTIONS),
                ("duplicates", "/duplicates", "merges", _OF_DUPLICATES),
                ("suggest_links", "/links", "links in the place of literals, or beside them", _OF_LINKS),
            )
        ),
    )
