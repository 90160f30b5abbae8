"""The tools that find: search, similar, resolve."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import Field

from worlds.errors import ArgumentError
from worlds.mcp.answers import Briefed, CandidateShown, Citation, Found, ResolutionShown, Resolved, Told, plain
from worlds.mcp.rendering import Terms, clip, quoted
from worlds.mcp.toolbox import Service, answer
from worlds.mcp.tools import Names, Tokens, tool
from worlds.search.hits import Hit, SearchResults

if TYPE_CHECKING:
    from worlds.entities.names import Candidate

_PASSAGE = 4000  # characters
_LONGEST_NAME = 1000  # characters
_COUNTED = 20  # values of a facet
_LONGEST_CONTEXT = 100_000  # characters
_CURSOR = re.compile(r"([0-9]{1,9})\.(.+)", re.DOTALL)  # how many results were numbered, and the cursor of the world


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    @tool(server, service, "search", "Search", most={"limit": 100, "per_subject": 20}, source="where")
    def search(
        *,
        full_text: Annotated[bool, Field(description="Whole passages instead of snippets.")] = False,
        facets: Annotated[bool, Field(description="Count by type, predicate, graph.")] = False,
        sql: Annotated[bool, Field(description="Give the SQL.")] = False,
        token_budget: Tokens = None,
        **given: Any,
    ) -> Annotated[CallToolResult, Found]:
        """Filters hold before anything is ranked; `schema` has their names. Cite a result by its number and quad."""
        return _found(service, service.world.search, given, token_budget, full_text=full_text, facets=facets, sql=sql)

    @tool(server, service, "context", "Context of a question")
    def context(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, Told]:
        """It is the quickest way to an answer."""
        most = service.token_budget if token_budget is None else min(token_budget, 10 * service.token_budget)
        found = service.world.context(budget=most, **given)
        terms = service.terms()
        cited = {
            fact.number: [" ".join(terms.show(term) for term in quad[:4] if term is not None) for quad in fact.quads]
            for fact in found.facts
        }
        named = [f"{terms.show(one.iri)}{quoted(one.label)}" for one in found.entities]
        notes = list(found.notes)
        told = Told(text=found.text, citations=cited, entities=named, left_out=found.left_out, notes=notes)
        return answer("\n".join([found.text or "Nothing bears on it.", *notes]), told)

    @tool(server, service, "brief", "Brief for a query")
    def brief(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, Briefed]:
        """Call it before `sparql`: it has the names, the entities and the ranges that the query takes."""
        most = service.token_budget if token_budget is None else min(token_budget, 10 * service.token_budget)
        found = service.world.brief(budget=most, **given)
        query = found.answer.query if found.answer is not None else None
        return answer(found.text or "The world is empty.", Briefed(text=found.text, query=query))

    @tool(server, service, "similar", "Similar entities", most={"limit": 100}, source="where")
    def similar(
        *,
        mode: Annotated[
            Literal["vector", "text"] | None, Field(description="By meaning, or by words; by meaning where it can be.")
        ] = None,
        token_budget: Tokens = None,
        **given: Any,
    ) -> Annotated[CallToolResult, Found]:
        """Their texts are compared."""
        if mode is not None:
            given["mode"] = mode
        return _found(service, service.world.similar, given, token_budget, full_text=False)

    @tool(server, service, "resolve", "Resolve names", most={"limit": 20})
    def resolve(
        *,
        names: Annotated[Names, Field(description="A name, or several.")],
        context: Annotated[str | None, Field(description="The text around the names, which tells them apart.")] = None,
        **given: Any,
    ) -> Annotated[CallToolResult, Resolved]:
        """Use it before writing a query about a name."""
        asked = [names] if isinstance(names, str) else names
        if not asked or len(asked) > 50:
            raise ValueError(f"names are 1 to 50 at a time, not {len(asked)}")
        if (longest := max(map(len, asked))) > _LONGEST_NAME:
            raise ValueError(f"a name has up to {_LONGEST_NAME:,} characters, not {longest:,}: try `search`")
        if context is not None and len(context) > _LONGEST_CONTEXT:
            raise ValueError(f"a context has up to {_LONGEST_CONTEXT:,} characters, not {len(context):,}")
        return _resolved(service, [(name, context) for name in asked], given)


def _found(
    service: Service,
    verb: Callable[..., SearchResults],
    options: Mapping[str, Any],
    tokens: int | None,
    *,
    full_text: bool,
    facets: bool = False,
    sql: bool = False,
) -> CallToolResult:
    """The results as numbered citations, as many as the budget allows; the numbers go on from page to page."""
    budget = service.budget(tokens)
    before, after = _sent(options["cursor"])
    hits = verb(**{**options, "cursor": after, "explain": True})
    terms = service.terms()
    numbered = [_citation(number, hit, terms, full_text=full_text) for number, hit in enumerate(hits, before + 1)]
    notes = list(hits.notes)
    budget.take("\n".join(notes), notes)
    shown = budget.fill(numbered, lambda one: (_cited(one), plain(one)))
    cut = len(numbered) - len(shown)
    # Where results were cut, the next page begins after the last one that is shown.
    following = hits.cursor_after(len(shown)) if cut else hits.cursor
    cursor = None if following is None else f"{before + len(shown)}.{following}"
    lines = [_cited(one) for one in shown] or ["No results."]
    if cut:
        lines.append(f"{cut} more results were found, but left out to stay within the token budget.")
    if cursor is not None:
        lines.append(f'To go on, call it again with the same arguments and cursor="{cursor}"')
    ran = [f"-- {one.step}\n{one.sql.strip()};" for one in hits.explain.statements] if sql else []
    counts = _counts(hits, service) if facets else []
    told = Found(citations=shown, cut=cut, cursor=cursor, notes=notes, facets=counts, sql=ran)
    return answer("\n".join([*lines, *notes, *counts, *ran]), told)


def _counts(hits: SearchResults, service: Service) -> list[str]:
    """The facets as lines, of each the commonest values."""
    facets = hits.facets.to_dict(service.world.prefixes)
    lines = []
    for name, values in facets.items():
        shown = [f"{clip(one['label'], 80)} {one['count']:,}" for one in values[:_COUNTED]]
        more = len(values) - len(shown)
        lines.append(f"{name}: {', '.join(shown)}{f', and {more:,} more' if more else ''}")
    return lines


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


def _resolved(service: Service, names: Sequence[tuple[str, str | None]], options: Mapping[str, Any]) -> CallToolResult:
    found = [service.world.resolve(name, context=context, **options) for name, context in names]
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
        apart=None if one.apart is None else clip(one.apart, 120),
    )


def _resolution(one: ResolutionShown) -> str:
    lines = [f"{clip(one.name, 120)}: {one.outcome}"]
    for each in one.candidates:
        types = f" ({', '.join(each.types)})" if each.types else ""
        matched = "" if each.matched == each.label else f" “{clip(each.matched, 120)}”"
        apart = f"; {each.apart}" if each.apart else ""
        lines.append(f"  {each.confidence:.2f} {each.iri}{quoted(each.label)}{types} {each.kind}{matched}{apart}")
    return "\n".join(lines)
