"""The tools that find: search, similar, resolve."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from worlds.errors import ArgumentError
from worlds.mcp.answers import CandidateShown, Citation, Found, ResolutionShown, Resolved, Told, plain
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
    option,
)
from worlds.mcp.rendering import Budget, Terms, clip, quoted
from worlds.mcp.toolbox import Service, answer, given, listed
from worlds.search.hits import Hit, SearchResults

if TYPE_CHECKING:
    from worlds.entities.names import Candidate

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_PASSAGE = 4000  # characters
_LONGEST_NAME = 1000  # characters
_LONGEST_CONTEXT = 100_000  # characters
_CURSOR = re.compile(r"([0-9]{1,9})\.(.+)", re.DOTALL)  # how many results were numbered, and the cursor of the world


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    async def search(
        query: Annotated[
            str, Field(description="A person's words, in any script; '\"a phrase\"', '-without', 'prefix*'.")
        ],
        limit: Annotated[int, option("limit", most=100)] = 10,
        mode: Mode = "hybrid",
        types: Types = None,
        subclasses: Subclasses = False,
        predicates: Predicates = None,
        subjects: Subjects = None,
        graphs: Graphs = None,
        languages: Languages = None,
        where: Where = None,
        exclude: Annotated[Exclude | None, option("exclude")] = None,
        fusion: Annotated[str | None, option("fusion")] = None,
        k: Annotated[float | None, option("k")] = None,
        weights: Annotated[dict[str, float] | None, option("weights")] = None,
        min_similarity: Annotated[float | None, option("min_similarity", "0.4.")] = None,
        rerank: Annotated[bool, Field(description="Whether a cross-encoder reads the first again; slow.")] = False,
        boost: Annotated[
            str | dict[str, str | float] | list[str | dict[str, str | float]] | None, option("boost")
        ] = None,
        decay: Annotated[dict[str, Any] | None, option("decay")] = None,
        diversity: Annotated[float | None, option("diversity", "0.7, which is mild.")] = None,
        group_by: Annotated[str | None, option("group_by")] = None,
        per_subject: Annotated[int, option("per_subject", most=20)] = 1,
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
        without = {} if exclude is None else exclude.model_dump(exclude_none=True)
        options = given(
            {
                **filters,
                "exclude": without or None,
                "mode": mode,
                "subclasses": subclasses,
                "group_by": group_by,
                "per_subject": per_subject,
                "min_similarity": min_similarity,
                "diversity": diversity,
                "boost": boost,
                "decay": decay,
                "fusion": fusion,
                "k": k,
                "weights": weights,
                "rerank": rerank or None,
            }
        )

        def work() -> CallToolResult:
            with service.explained(where):
                return _found(
                    service,
                    lambda most, after: service.world.search(query, limit=most, cursor=after, explain=True, **options),
                    limit,
                    cursor,
                    service.budget(token_budget),
                    full_text=full_text,
                )

        return await service.run(work)

    async def context(
        question: Annotated[str, Field(description="The question, in a person's words.")],
        token_budget: Tokens = None,
        hops: Annotated[int, Field(ge=0, le=2, description="How far facts may be from an entity it names.")] = 2,
        types: Types = None,
    ) -> Annotated[CallToolResult, Told]:
        """Tell the facts and passages that bear on a question, with the quads to cite; the quickest way."""
        most = service.token_budget if token_budget is None else min(token_budget, 10 * service.token_budget)

        def work() -> CallToolResult:
            with service.explained():
                found = service.world.context(question, budget=most, hops=hops, types=listed(types))
                terms = service.terms()
                cited = {
                    fact.number: [
                        " ".join(terms.show(term) for term in quad[:4] if term is not None) for quad in fact.quads
                    ]
                    for fact in found.facts
                }
                named = [f"{terms.show(one.iri)}{quoted(one.label)}" for one in found.entities]
            notes = list(found.notes)
            told = Told(text=found.text, citations=cited, entities=named, left_out=found.left_out, notes=notes)
            return answer("\n".join([found.text or "Nothing bears on it.", *notes]), told)

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
        options = given({**filters, "mode": mode})

        def work() -> CallToolResult:
            with service.explained(where):
                return _found(
                    service,
                    lambda most, after: service.world.similar(iri, limit=most, cursor=after, explain=True, **options),
                    limit,
                    cursor,
                    service.budget(token_budget),
                    full_text=False,
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

    for tool, title in (
        (search, "Search"),
        (context, "Context of a question"),
        (resolve, "Resolve names"),
        (similar, "Similar entities"),
    ):
        server.add_tool(tool, title=title, annotations=READS)


def _languages(value: str | list[str] | None) -> list[str] | None:
    """As `listed`, but "" is a value: texts without a language."""
    return [value] if isinstance(value, str) else value


def _found(
    service: Service,
    find: Callable[[int, str | None], SearchResults],
    limit: int,
    cursor: str | None,
    budget: Budget,
    *,
    full_text: bool,
) -> CallToolResult:
    """The results as numbered citations, as many as the budget allows; the numbers go on from page to page."""
    before, after = _sent(cursor)
    hits = find(limit, after)
    terms = service.terms()
    numbered = [_citation(number, hit, terms, full_text=full_text) for number, hit in enumerate(hits, before + 1)]
    notes = list(hits.notes)
    budget.take("\n".join(notes), notes)
    shown = budget.fill(numbered, lambda one: (_cited(one), plain(one)))
    cut = len(numbered) - len(shown)
    # Where results were cut, the next page begins after the last one that is shown.
    following = find(len(shown), after).cursor if cut else hits.cursor
    cursor = None if following is None else f"{before + len(shown)}.{following}"
    lines = [_cited(one) for one in shown] or ["No results."]
    if cut:
        lines.append(f"{cut} more results were found, but left out to stay within the token budget.")
    if cursor is not None:
        lines.append(f'To go on, call it again with the same arguments and cursor="{cursor}"')
    return answer("\n".join([*lines, *notes]), Found(citations=shown, cut=cut, cursor=cursor, notes=notes))


def _sent(cursor: str | None) -> tuple[int, str | None]:
    """How many results a cursor follows, and the world's cursor in it; ValueError for any other text."""
    if not cursor:
        return 0, None
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise ArgumentError(f"cursor is not one that a search gave: {cursor[:40]!r}", kind="cursor")
    return int(match[1]), match[2]


def _citation(number: int, hit: Hit, terms: Terms, *, full_text: bool) -> Citation:
    quads = hit.quads
    return Citation(
        n=number,
        subject=terms.show(hit.subject),
        label=None if hit.label is None else clip(hit.label, 120),
        types=[terms.show(kind) for kind in hit.types[:5]],
        score=round(hit.score, 4),
        similarity=_similarity(hit),
        text=hit.text[:_PASSAGE] if full_text else hit.snippet,
        quad=terms.quad(quads[0]) if quads else terms.quad((hit.subject, hit.predicate, hit.literal)),
        quads=len(quads),
        chunk=hit.chunk,
        start=hit.start,
        end=hit.end,
    )


def _cited(one: Citation) -> str:
    types = f" ({', '.join(one.types)})" if one.types else ""
    more = f"  (+{one.quads - 1} more quads with this text)" if one.quads > 1 else ""
    text = one.text.replace("\n", "\n    ")
    return f"[{one.n}] {one.subject}{quoted(one.label)}{types} score {one.score}\n    “{text}”\n    {one.quad}{more}"


def _similarity(hit: Hit) -> float | None:
    leg = (hit.explain or {}).get("vector")
    return None if leg is None else round(leg.value, 4)


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
    notes = list(dict.fromkeys(note for one in found for note in one.notes))
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
        matched = "" if each.matched == each.label else f" “{clip(each.matched, 120)}”"
        lines.append(f"  {each.confidence:.2f} {each.iri}{quoted(each.label)}{types} {each.kind}{matched}")
    return "\n".join(lines)
