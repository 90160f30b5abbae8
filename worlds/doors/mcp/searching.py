"""The tools that find: search, similar, resolve."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import Field

from worlds.core.search.hits import Hit, SearchResults
from worlds.doors.mcp.rendering import Part, TermRenderer, clip, quoted
from worlds.doors.mcp.toolbox import Service, answer, fitting
from worlds.doors.mcp.tools import Entails, Moment, Names, Tokens, tool
from worlds.errors import ArgumentError

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
        entailed: Entails = None,
        token_budget: Tokens = None,
        **given: Any,
    ) -> CallToolResult:
        """Filters hold before ranking; `schema` has their names. Cite a result by its number and quad."""
        seen = service.at(None, entailed=entailed)
        return _found(service, seen.search, given, token_budget, full_text=full_text, facets=facets, sql=sql)

    @tool(server, service, "context", "Context of a question")
    def context(
        *, as_of: Moment = None, entailed: Entails = None, token_budget: Tokens = None, **given: Any
    ) -> CallToolResult:
        """It is the quickest way to an answer."""
        found = service.at(as_of, entailed=entailed).context(
            budget=service.most(token_budget) // 4, **given
        )  # it is there twice, and cited
        terms = service.terms()
        cited = {
            str(fact.number): [
                " ".join(terms.show(term) for term in quad[:4] if term is not None) for quad in fact.quads
            ]
            for fact in found.facts
        }
        named = [f"{terms.show(one.iri)}{quoted(one.label)}" for one in found.entities]
        notes = list(found.notes)
        told = {"text": found.text, "citations": cited, "entities": named, "left_out": found.left_out, "notes": notes}
        return answer([found.text or "Nothing bears on it.", *notes], **told)

    @tool(server, service, "questions.brief", "Brief for a query")
    def brief(*, as_of: Moment = None, token_budget: Tokens = None, **given: Any) -> CallToolResult:
        """Call it before `sparql`."""
        found = service.at(as_of).questions.brief(
            budget=service.most(token_budget) * 2 // 5, **given
        )  # it is there twice
        query = found.answer.query if found.answer is not None else None
        return answer([found.text or "The world is empty."], text=found.text, query=query)

    @tool(server, service, "entities.similar", "Similar entities", most={"limit": 100}, source="where")
    def similar(
        *,
        mode: Annotated[
            Literal["vector", "text"] | None, Field(description="By meaning, or by words; by meaning where it can be.")
        ] = None,
        token_budget: Tokens = None,
        **given: Any,
    ) -> CallToolResult:
        """Their texts are compared."""
        if mode is not None:
            given["mode"] = mode
        return _found(service, service.world.entities.similar, given, token_budget, full_text=False)

    @tool(server, service, "resolve", "Resolve names", most={"limit": 20})
    def resolve(
        *,
        names: Annotated[Names, Field(description="A name, or several.")],
        context: Annotated[str | None, Field(description="The text around the names, for their meaning.")] = None,
        **given: Any,
    ) -> CallToolResult:
        """Use it before writing a query about a name."""
        asked = [names] if isinstance(names, str) else names
        if not asked or len(asked) > 50:
            raise ValueError(f"names must be 1 to 50 at a time, not {len(asked)}")
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
    shown = budget.fill(numbered)
    cut = len(numbered) - len(shown)
    # Where results were cut, the next page begins after the last one that is shown.
    following = hits.cursor_after(len(shown)) if cut else hits.cursor
    cursor = None if following is None else f"{before + len(shown)}.{following}"
    lines = [*map(str, shown)] or ["No results."]
    if cut:
        lines.append(f"{cut} more results were found, but left out to stay within the token budget.")
    if cursor is not None:
        lines.append(f'To go on, call it again with the same arguments and cursor="{cursor}"')
    ran = [f"-- {one.step}\n{one.sql.strip()};" for one in hits.explain.statements] if sql else []
    counts = _counts(hits, service) if facets else []
    told = {"citations": shown, "cut": cut, "cursor": cursor, "notes": notes, "facets": counts, "sql": ran}
    return answer([*lines, *notes, *counts, *ran], **told)


def _citation(number: int, hit: Hit, terms: TermRenderer, *, full_text: bool) -> Part:
    """A passage that was found, to be cited by its number."""
    leg = (hit.explain or {}).get("vector")
    seen = {
        "n": number,
        **terms.fields(hit, "subject label score chunk start end"),
        "types": terms.plain(hit.types[:5]),
    }
    seen["similarity"] = None if leg is None else round(leg.value, 4)
    text = seen["text"] = hit.text[:_PASSAGE] if full_text else hit.snippet
    quad = seen["quad"] = terms.quad(hit.quads[0] if hit.quads else (hit.subject, hit.predicate, hit.literal))
    seen["quads"] = len(hit.quads)
    types = f" ({', '.join(seen['types'])})" if hit.types else ""
    more = f"  (+{len(hit.quads) - 1} more quads with this text)" if len(hit.quads) > 1 else ""
    head = f"[{number}] {seen['subject']}{quoted(hit.label)}{types} score {seen['score']}"
    passage = text.replace("\n", "\n    ")
    return Part(f"{head}\n    “{passage}”\n    {quad}{more}", seen)


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
    """The number of results before a cursor, and the world's cursor in it; ValueError for any other text."""
    if not cursor:
        return 0, None
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise ArgumentError(f"cursor is not the cursor of a search: {cursor[:40]!r}", kind="cursor")
    return int(match[1]), match[2]


def _resolved(service: Service, names: Sequence[tuple[str, str | None]], options: Mapping[str, Any]) -> CallToolResult:
    terms, budget = service.terms(), service.budget()
    found = [service.world.resolve(name, context=context, **options) for name, context in names]
    notes = list(dict.fromkeys(note for one in found for note in one.notes))
    budget.take("\n".join(notes), notes)
    shown, left = fitting([_resolution(one, terms) for one in found], "names", budget, more="ask for fewer")
    notes += left
    return answer([*shown, *notes], names=shown, notes=notes)


def _resolution(one: Any, terms: TermRenderer) -> Part:
    """Whom one name means."""
    candidates = [_candidate(each, terms) for each in one.candidates]
    line = "\n".join([f"{clip(one.name, 120)}: {one.outcome}", *map(str, candidates)])
    return Part(line, {"name": one.name, "outcome": one.outcome, "candidates": candidates})


def _candidate(one: Any, terms: TermRenderer) -> Part:
    seen = terms.fields(one, "iri label confidence matched kind apart")
    seen["types"] = terms.plain(one.types[:5])
    types = f" ({', '.join(seen['types'])})" if one.types else ""
    matched = "" if seen["matched"] == seen["label"] else f" “{seen['matched']}”"
    apart = f"; {seen['apart']}" if one.apart else ""
    line = f"  {one.confidence:.2f} {seen['iri']}{quoted(one.label)}{types} {one.kind}{matched}{apart}"
    return Part(line, seen)
