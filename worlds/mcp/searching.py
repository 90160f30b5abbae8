"""The tools that find: search, similar, resolve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from worlds.hits import Hit, SearchResults
from worlds.mcp.answers import CandidateShown, Citation, Found, ResolutionShown, Resolved, plain
from worlds.mcp.arguments import (
    Cursor,
    Exclude,
    Graphs,
    Iri,
    Languages,
    Mode,
    Predicates,
    Subclasses,
    Subjects,
    Tokens,
    Types,
    Where,
)
from worlds.mcp.rendering import Budget, Terms, clip
from worlds.mcp.service import Service, answer, given, listed
from worlds.resolving import Candidate

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_PASSAGE = 4000  # characters
_LONGEST_NAME = 1000  # characters
_LONGEST_CONTEXT = 100_000  # characters


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    async def search(
        query: Annotated[
            str, Field(description="A person's words, in any script; '\"a phrase\"', '-without', 'prefix*'.")
        ],
        limit: Annotated[int, Field(ge=1, le=100, description="The most results.")] = 10,
        mode: Mode = "hybrid",
        types: Types = None,
        subclasses: Subclasses = False,
        predicates: Predicates = None,
        subjects: Subjects = None,
        graphs: Graphs = None,
        languages: Languages = None,
        where: Where = None,
        exclude: Annotated[Exclude | None, Field(description="The same filters, for what must not hold.")] = None,
        group_by: Annotated[
            Literal["subject"] | None, Field(description="'subject' gives one result for each entity.")
        ] = None,
        per_subject: Annotated[int, Field(ge=1, le=20, description="With group_by: results for each entity.")] = 1,
        min_similarity: Annotated[
            float | None, Field(ge=-1, le=1, description="The least cosine of a match by meaning, e.g. 0.4.")
        ] = None,
        diversity: Annotated[
            float | None, Field(ge=0, le=1, description="Below 1, results that repeat each other fall: 0.7 is mild.")
        ] = None,
        boost: Annotated[
            dict[str, str | float] | list[dict[str, str | float]] | None,
            Field(
                description="Multiply scores: {'where': pattern over ?subject, 'factor': 2} or "
                "{'predicate': 'ex:citations', 'weight': 0.1}, or a list of such."
            ),
        ] = None,
        decay: Annotated[
            dict[str, Any] | None,
            Field(description="Prefer what is new: {'predicate': 'dcterms:date', 'half_life': days}."),
        ] = None,
        full_text: Annotated[bool, Field(description="Whole passages instead of snippets.")] = False,
        cursor: Cursor = None,
        token_budget: Tokens = None,
    ) -> Annotated[CallToolResult, Found]:
        """Find passages of text by meaning and by words, filtered by structure before anything is ranked.

        Cite a result by its number and quote its quad. Filters take prefixed names; call `schema` for them.
        """
        filters = {
            "types": listed(types),
            "predicates": listed(predicates),
            "subjects": listed(subjects),
            "graphs": listed(graphs),
            "languages": _languages(languages),
            "where": where or None,
        }
        options = given(
            {
                **filters,
                "exclude": None if exclude is None else exclude.model_dump(exclude_none=True) or None,
                "mode": mode,
                "subclasses": subclasses,
                "group_by": group_by,
                "per_subject": per_subject,
                "min_similarity": min_similarity,
                "diversity": diversity,
                "boost": boost,
                "decay": decay,
                "cursor": cursor or None,
            }
        )

        def work() -> CallToolResult:
            with service.explained(where):
                return _found(
                    service,
                    lambda most: service.world.search(query, limit=most, **options),
                    limit,
                    service.budget(token_budget),
                    full_text=full_text,
                    nothing=lambda hits: _why_nothing(service, hits, filters),
                )

        return await service.run(work)

    async def similar(
        iri: Iri,
        limit: Annotated[int, Field(ge=1, le=100, description="The most entities.")] = 10,
        types: Types = None,
        graphs: Graphs = None,
        where: Where = None,
        mode: Annotated[
            Literal["vector", "text"] | None, Field(description="By meaning, or by words; by meaning where it can be.")
        ] = None,
        cursor: Cursor = None,
        token_budget: Tokens = None,
    ) -> Annotated[CallToolResult, Found]:
        """Find the entities that are most like one, by what their texts say."""
        filters = {"types": listed(types), "graphs": listed(graphs), "where": where or None}
        options = given({**filters, "mode": mode, "cursor": cursor or None})

        def work() -> CallToolResult:
            with service.explained(where):
                return _found(
                    service,
                    lambda most: service.world.similar(iri, limit=most, **options),
                    limit,
                    service.budget(token_budget),
                    full_text=False,
                    nothing=lambda _: [
                        *service.hints.unknown("subjects", [iri]),
                        *_unknown_names(service, filters),
                        f"No other entity has texts like those of {iri}, or it has none: try `search` with its label.",
                    ],
                )

        return await service.run(work)

    async def resolve(
        names: Annotated[str | list[str], Field(description="A name, or several.")],
        context: Annotated[str | None, Field(description="The text around the names, which tells them apart.")] = None,
        types: Types = None,
        graphs: Graphs = None,
        limit: Annotated[int, Field(ge=1, le=20, description="The most candidates of a name.")] = 5,
    ) -> Annotated[CallToolResult, Resolved]:
        """Find the entities that names mean, with how sure that is. Use it before writing a query about a name."""
        asked = [names] if isinstance(names, str) else names

        def work() -> CallToolResult:
            with service.explained():
                if not asked or len(asked) > 50:
                    raise ValueError(f"names are 1 to 50 at a time, not {len(asked)}")
                if (longest := max(map(len, asked))) > _LONGEST_NAME:
                    raise ValueError(f"a name has up to {_LONGEST_NAME:,} characters, not {longest:,}: try `search`")
                if context is not None and len(context) > _LONGEST_CONTEXT:
                    raise ValueError(f"a context has up to {_LONGEST_CONTEXT:,} characters, not {len(context):,}")
                return _resolved(service, asked, context, {"types": listed(types), "graphs": listed(graphs)}, limit)

        return await service.run(work)

    for tool, title in ((search, "Search"), (resolve, "Resolve names"), (similar, "Similar entities")):
        server.add_tool(tool, title=title, annotations=READS)


def _languages(value: str | list[str] | None) -> list[str] | None:
    """As `listed`, but "" is a value: texts without a language."""
    return [value] if isinstance(value, str) else value or None


def _found(service: Service, find: Any, limit: int, budget: Budget, *, full_text: bool, nothing: Any) -> CallToolResult:
    """The results as numbered citations, as many as the budget allows."""
    hits: SearchResults = find(limit)
    terms = service.terms()
    numbered = [_citation(number, hit, terms, full_text=full_text) for number, hit in enumerate(hits, 1)]
    notes = [*([] if hits else nothing(hits)), *hits.notes]
    budget.take("\n".join(notes), notes)
    shown = budget.fill(numbered, lambda one: (_cited(one), plain(one)))
    cut = len(numbered) - len(shown)
    # Where results were cut, the next page begins after the last one that is shown.
    cursor = find(len(shown)).cursor if cut else hits.cursor
    lines = [_cited(one) for one in shown] or ["No results."]
    if cut:
        lines.append(f"{cut} more results were found, but left out to stay within the token budget.")
    if cursor is not None:
        lines.append(f'To go on, call it again with the same arguments and cursor="{cursor}"')
    return answer("\n".join([*lines, *notes]), Found(citations=shown, cut=cut, cursor=cursor, notes=notes))


def _citation(number: int, hit: Hit, terms: Terms, *, full_text: bool) -> Citation:
    quads = hit.quads
    return Citation(
        n=number,
        subject=terms.show(hit.subject),
        label=None if hit.label is None else clip(hit.label, 120),
        types=[terms.show(kind) for kind in hit.types[:5]],
        score=round(hit.score, 4),
        text=hit.text[:_PASSAGE] if full_text else hit.snippet,
        quad=terms.quad(quads[0]) if quads else terms.quad((hit.subject, hit.predicate, hit.literal)),
        quads=len(quads),
    )


def _cited(one: Citation) -> str:
    types = f" ({', '.join(one.types)})" if one.types else ""
    more = f"  (+{one.quads - 1} more quads with this text)" if one.quads > 1 else ""
    text = one.text.replace("\n", "\n    ")
    return f"[{one.n}] {one.subject} {one.label or ''}{types} score {one.score}\n    {text}\n    {one.quad}{more}"


def _unknown_names(service: Service, filters: dict[str, Any]) -> list[str]:
    """What to say of the names in filters that the world does not know."""
    told: list[str] = []
    for name in ("types", "predicates", "subjects", "graphs"):
        told += service.hints.unknown(name, filters.get(name) or [])
    if where := filters.get("where"):
        told += service.hints.strangers(where)
    return told


def _why_nothing(service: Service, hits: SearchResults, filters: dict[str, Any]) -> list[str]:
    """Why a search has found nothing."""
    told = _unknown_names(service, filters)
    languages = filters.get("languages")
    if not told and hits.explain.eligible == 0:
        told.append("No text passes the filters: leave one out.")
        if languages:
            found = ", ".join(language or "''" for language in service.world.schema(limit=1).languages)
            told.append(f"The languages of this world's texts: {found or 'none'}.")
    elif not told:
        told.append("Nothing matches these words: use others, fewer, or prefix*; `schema` shows what there is.")
    return told


def _resolved(
    service: Service, names: Sequence[str], context: str | None, filters: dict[str, Any], limit: int
) -> CallToolResult:
    found = service.world.resolve_all([(name, context) for name in names], limit=limit, **filters)
    terms = service.terms()
    shown = [
        ResolutionShown(
            name=one.name, outcome=one.outcome, candidates=[_candidate(each, terms) for each in one.candidates]
        )
        for one in found
    ]
    notes: list[str] = []
    if all(not one.candidates for one in shown):
        for name in ("types", "graphs"):
            notes += service.hints.unknown(name, filters[name] or [])
        notes.append("No entity has such a name: try `search`, which also reads descriptions.")
    budget = service.budget()
    budget.take("\n".join(notes), notes)
    kept = budget.fill(shown, lambda one: (_resolution(one), plain(one)))
    if len(kept) < len(shown):
        notes.append(f"{len(shown) - len(kept)} names were left out to stay within the token budget: ask fewer.")
    text = "\n".join([*map(_resolution, kept), *notes])
    return answer(text, Resolved(names=kept, notes=notes))


def _candidate(one: Candidate, terms: Terms) -> CandidateShown:
    return CandidateShown(
        iri=terms.show(one.iri),
        label=None if one.label is None else clip(one.label, 120),
        types=[terms.show(kind) for kind in one.types[:5]],
        confidence=round(one.confidence, 2),
        matched=clip(one.matched, 120),
        kind=one.kind,
    )


def _resolution(one: ResolutionShown) -> str:
    lines = [f"{clip(one.name, 120)}: {one.outcome}"]
    for each in one.candidates:
        types = f" ({', '.join(each.types)})" if each.types else ""
        matched = "" if each.matched == each.label else f" “{each.matched}”"
        lines.append(f"  {each.confidence:.2f} {each.iri} {each.label or ''}{types} {each.kind}{matched}")
    return "\n".join(lines)
