"""What curation lets a server be asked: what is wrong or claimed, and what is merged, proposed and decided."""

from __future__ import annotations

from typing import Any

from worlds.server.api.operation import JSON, Answer, Operation, answered, of
from worlds.server.api.parameters import Parameter, options_of

_FEW: dict[str, Any] = {"defaults": {"limit": 100}}


def finding_operations() -> tuple[Operation, ...]:
    """What is read of a text, of claims and of the world as a whole."""
    return (
        of("mentions", "POST", "/mentions", answered("The mentions, in the order of the text.", "Mentions")),
        of("suggest_links", "GET", "/links", answered("The links, the surest first.", "Links")),
        of(
            "contradictions", "GET", "/contradictions", answered("The findings, the gravest first.", "Findings"), **_FEW
        ),
        of("decisions", "GET", "/decisions", answered("The decisions, the oldest first.", "Decisions")),
        of("duplicates", "GET", "/duplicates", answered("The pairs, the likeliest first.", "Duplicates"), **_FEW),
        of(
            "suggest_shapes",
            "GET",
            "/suggested-shapes",
            answered("The suggestions, axioms first, and a draft of the shapes.", "ShapeSuggestions"),
            **_FEW,
        ),
        of("report", "GET", "/report", answered("Checks with counts, examples and queries.", "WorldReport")),
        of(
            "verify",
            "POST",
            "/verify",
            answered("The outcome, the evidence, and the trail as PROV-O in Turtle.", "Verification"),
        ),
    )


def curation_operations() -> tuple[Operation, ...]:
    """Merging, and what is proposed and decided."""
    changed, proposed = answered("The change.", "Change"), answered("The proposal.", "Proposal")
    made = {201: Answer("The proposal.", {JSON: "Proposal"})}
    tag: dict[str, Any] = {"tag": "Curation"}
    decide: dict[str, Any] = {"body_optional": True, "errors": (409,), **tag}
    match = Parameter("If-Match", "text", "The entity tag of the version that was reviewed.", where="header")
    return (
        of("merge", "POST", "/merge", changed, errors=(409,), **tag),
        of(
            "split",
            "POST",
            "/history/{revision}/split",
            answered("The change, and the quads added since.", "Split"),
            **decide,
        ),
        of("distinct", "POST", "/distinct", changed, errors=(409,), **tag),
        of("state", "POST", "/facts", changed, errors=(409,), **tag),
        of("tell", "POST", "/facts/tell", answered("What became of each fact.", "Receipt"), errors=(409,), **tag),
        of("end", "POST", "/facts/end", changed, errors=(409,), **tag),
        of("reinstate", "POST", "/facts/reinstate", changed, errors=(409,), **tag),
        of("propose", "POST", "/proposals", made, **tag),
        Operation(
            "rehearsal",
            "POST",
            "/rehearsal",
            "Try a change, and tell what it would do; nothing is written.",
            "propose",
            answered("The difference.", "Rehearsal"),
            fields=(
                *options_of("propose", "why", "confidence", "kind", "relies_on"),
                Parameter("undo", "integer", "A revision to take back.", least=1, most=2**31 - 1),
                Parameter("form", "text", "An entity, whose form is told as it would be.", most=10_000),
                Parameter("language", "text", "The reader's language, for the form.", most=100),
                Parameter("limit", "integer", "The most quads of each list.", default=1000, least=0, most=10_000),
            ),
            errors=(409,),
            **tag,
        ),
        of("proposals", "GET", "/proposals", answered("The proposals.", "Proposals"), **_FEW, **tag),
        of("proposal", "GET", "/proposals/{id}", proposed, **tag),
        of("accept", "POST", "/proposals/{id}/accept", changed, match, **decide),
        of("reject", "POST", "/proposals/{id}/reject", proposed, **decide),
        of("amend", "POST", "/proposals/{id}/amend", proposed, **decide),
        of(
            "amend",
            "POST",
            "/proposals/{id}/remarks",
            proposed,
            leave=("add", "remove", "update"),
            name="remark",
            help="Remark on a proposal.",
            **decide,
        ),
        *(
            of(
                "propose_all",
                "POST",
                path,
                {201: Answer("The new proposals.", {JSON: "Proposals"})},
                *options_of(verb),
                leave=("findings",),
                name=f"propose_{verb}",
                help=f"Propose {what} for the findings, each by itself, but for those that wait already.",
                body_optional=True,
                **_FEW,
                **tag,
            )
            for verb, path, what in (
                ("contradictions", "/contradictions", "quads to remove"),
                ("duplicates", "/duplicates", "merges"),
                ("suggest_links", "/links", "links in the place of literals, or beside them"),
            )
        ),
    )
