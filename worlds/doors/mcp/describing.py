"""The tools that describe the world: schema, describe, form, history, provenance, validate."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import Field

from worlds.doors.mcp.hints import either
from worlds.doors.mcp.rendering import TokenBudget, quoted
from worlds.doors.mcp.structured_answers import (
    Changes,
    Described,
    EntryShown,
    FormShown,
    Overview,
    PropertyShown,
    Said,
    SaidShown,
    Violations,
    ViolationShown,
)
from worlds.doors.mcp.toolbox import Service, answer, fitting
from worlds.doors.mcp.tools import Proves, Tokens, tool
from worlds.errors import ArgumentError
from worlds.graph.terms import listed, local_name

_FORMER = 20  # ended facts, the latest of their predicates


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    @tool(server, service, "schema", "Schema", most={"limit": 500}, limit=40)
    def schema(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, Overview]:
        """Call it before writing a query or a filter."""
        return overview(service, tokens=token_budget, **given)

    @tool(server, service, "describe", "Describe an entity", most={"limit": 200}, limit=10)
    def describe(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, Described]:
        """Behind a value stands which revision said it, and in which graph: [r3 ex:graph]."""
        return described(service, tokens=token_budget, **given)

    @tool(server, service, "entities.form", "Form")
    def form(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, FormShown]:
        """Call it before proposing quads of an entity."""
        return _form(service, tokens=token_budget, **given)

    @tool(server, service, "history", "History", most={"limit": 200}, limit=20)
    def history(
        *,
        revision: Annotated[int | None, Field(ge=1, description="Show the changes of this revision.")] = None,
        token_budget: Tokens = None,
        **given: Any,
    ) -> Annotated[CallToolResult, Changes]:
        """With a revision, show its quads."""
        if revision is not None:
            return _revision(service, revision, given["limit"], token_budget)
        return _revisions(service, given, token_budget)

    @tool(server, service, "revisions.provenance", "Who said what")
    def provenance(
        *, why: Proves = False, token_budget: Tokens = None, **given: Any
    ) -> Annotated[CallToolResult, Said]:
        """Give at least one term."""
        if all(term is None for term in given.values()):
            raise ValueError("give the subject, the predicate, the object or the graph of the quads")
        return (_proof if why else _provenance)(service, given, token_budget)

    @tool(server, service, "shapes.validate", "Validate")
    def validate(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, Violations]:
        """It lists violations with focus node and reason."""
        return _violations(service, given["subjects"], token_budget)


# -- schema -----------------------------------------------------------------------------------------------------------


def overview(
    service: Service, *, limit: int, graphs: list[str] | None = None, matching: str | None = None, tokens: int | None
) -> CallToolResult:
    """The schema, as much as the budget allows: of it, classes get two fifths at most."""
    found = service.world.schema(limit=limit, graphs=graphs, matching=matching)
    whole = Overview.made_of(found, service.terms())
    notes: list[str] = []
    if matching and not whole.classes and not whole.predicates and (nearest := service.hints.nearest(matching)):
        notes.append(f"Nothing has {matching!r} in its name; near it: {', '.join(nearest)}.")
    notes += whole.notes

    budget = service.budget(tokens)
    head = _head(whole, found.graph_count)
    budget.take(head, [whole.prefixes, whole.graphs, whole.languages])
    part = TokenBudget(max(budget.left * 2 // 5, 1))
    classes = part.fill(whole.classes)
    budget.left -= part.spent
    predicates = budget.fill(whole.predicates)
    for kind, total, shown in (
        ("classes", whole.class_count, len(classes)),
        ("predicates", whole.predicate_count, len(predicates)),
    ):
        if total > shown:
            notes.append(f"{total - shown:,} of {total:,} {kind} are not shown: use `matching`, or `limit`.")
    names = "predicates (quads/subjects; of → objects; examples):"
    lines = [head, "classes (instances; examples):", *classes, names, *predicates, *notes]
    parts = {"classes": classes, "predicates": predicates, "notes": notes}
    return answer(lines, whole.model_copy(update=parts))


def _head(found: Overview, graph_count: int) -> str:
    lines = [f"{found.quads:,} quads, revision {found.revision}"]
    lines += [f"PREFIX {prefix}: <{iri}>" for prefix, iri in found.prefixes.items()]
    if graph_count:
        lines.append("graphs: " + ", ".join(f"{name} {count:,}" for name, count in found.graphs.items()))
    if found.languages:
        counted = (f"{name} {count:,}" for name, count in found.languages.items())
        lines.append("texts by language: " + ", ".join(counted))
    return "\n".join(lines)


# -- describe ---------------------------------------------------------------------------------------------------------


def described(service: Service, *, iri: str, limit: int, tokens: int | None, **options: Any) -> CallToolResult:
    """The description of an entity; ValueError for an entity that the world does not know."""
    world, terms = service.world, service.terms()
    found = world.describe(iri, limit=limit, **options)
    if not found:
        raise ValueError(f"the world has no quads about {terms.show(found.iri)}.{_alike(service, iri)}")
    budget = service.budget(tokens)
    whole = Described.made_of(found, terms, notes=[])
    head = f"{whole.iri}{quoted(whole.label)}"
    if whole.types:
        head += f"\na {', '.join(whole.types)}"
    if whole.description:
        head += f"\n{whole.description}"
    budget.take(head, [head])
    part = TokenBudget(max(budget.left * 2 // 3, 1))
    own = _fitting(part, whole.properties)
    budget.left -= part.spent
    incoming = _fitting(budget, whole.incoming)
    left = len(found.properties) + len(found.incoming) - len(own) - len(incoming)
    notes = [f"{left} predicates are not shown, to stay within the token budget: use `sparql`."] if left else []
    notes += [f"{terms.show(one.predicate)} has {one.conflict}." for one in found.properties if one.conflict]
    ended = [
        f"Ended: {terms.show(one.predicate)} {terms.show(one.value)}{quoted(one.label)}, {one.interval}."
        for one in found.former[-_FORMER:]
    ]
    notes += [line for line in ended if budget.take(line, line)]
    lines = [head, *(f"  {one}" for one in own), *(f"  ^{one}" for one in incoming), *notes]
    shown = {"properties": own, "incoming": incoming, "notes": notes}
    return answer(lines, whole.model_copy(update=shown))


def _alike(service: Service, iri: str) -> str:
    """The entities whose names are like the last part of an IRI."""
    words = local_name(iri.strip("<>")).replace("_", " ")
    candidates = service.hints.named(words)
    return f" Did you mean {either(candidates)}?" if candidates else " Call `resolve` with its name, or `search`."


def _fitting(budget: TokenBudget, properties: list[PropertyShown]) -> list[PropertyShown]:
    """The properties that fit, with fewer values where not all do."""
    shown = []
    for one in properties:
        for most in (len(one.values), 3, 1):
            part = one.model_copy(update={"values": one.values[:most], "sources": one.sources[:most]})
            if budget.take(f"  ^{part}", part.model_dump()):
                shown.append(part)
                break
    return shown


# -- history ----------------------------------------------------------------------------------------------------------


def _revisions(service: Service, options: Mapping[str, Any], tokens: int | None) -> CallToolResult:
    terms = service.terms()
    entries = [EntryShown.made_of(one, terms) for one in service.world.history(**options)]
    shown, notes = fitting(entries, "revisions", service.budget(tokens))
    if not entries:
        notes.append("There is no such revision.")
    return answer([*shown, *notes], Changes(revisions=shown, added=[], removed=[], notes=notes))


def _provenance(service: Service, options: Mapping[str, Any], tokens: int | None) -> CallToolResult:
    terms = service.terms()
    found = [SaidShown.made_of(one, terms) for one in service.world.revisions.provenance(**options)]
    shown, notes = fitting(found, "quads", service.budget(tokens))
    if not found:
        notes.append("No quad matches, and none ever did.")
    return answer([*shown, *notes], Said(quads=shown, proof=[], notes=notes))


def _proof(service: Service, options: Mapping[str, Any], tokens: int | None) -> CallToolResult:
    """The proof of one quad, a line for each step."""
    quad = [options.get(part) for part in ("subject", "predicate", "object", "graph")]
    if None in quad[:3]:
        raise ArgumentError("a proof needs one quad: give its subject, predicate and object", kind="quad")
    steps = service.world.rules.why(quad if quad[3] else quad[:3]).steps
    terms = service.terms()
    lines = [f"{one.number}. {terms.quad(one.quad)}  {one.reason}" for one in steps]
    shown, notes = fitting(lines, "steps", service.budget(tokens))
    return answer([*shown, *notes], Said(quads=[], proof=shown, notes=notes))


def _violations(service: Service, subjects: list[str] | None, tokens: int | None) -> CallToolResult:
    report = service.world.shapes.validate(subjects=subjects)
    found = [
        ViolationShown(severity=row[0], focus=row[1], path=row[2] or None, value=row[3] or None, message=row[4])
        for row in report.rows()
    ]
    shown, left = fitting(found, "results", service.budget(tokens))
    notes = [*([] if found else ["The data conform."]), *report.notes]
    if why := [f"{one.shape}: {one.reason}" for one in report.left_out]:
        notes.append(f"Not checked: {listed(why, 5, between='; ')}.")
    notes += left
    structured = Violations(conforms=report.conforms, count=len(found), results=shown, notes=notes)
    return answer([*shown, *notes], structured)


def _form(
    service: Service, *, iri: str | None, types: list[str] | None, language: str | None, tokens: int | None
) -> CallToolResult:
    found = FormShown.made_of(
        service.world.entities.form(iri, types=types, language=language), service.terms(), notes=[]
    )
    fields, notes = fitting(found.fields, "fields", service.budget(tokens))
    if not found.fields:
        notes.append("No fields are known: there is neither a shape nor another entity of these classes.")
    head = f"{found.iri or 'a new entity'} a {', '.join(found.types) or 'thing without a type'}"
    lines = [head, *fields, *found.problems, *notes]
    return answer(lines, found.model_copy(update={"fields": fields, "notes": notes}))


def _revision(service: Service, revision: int, limit: int, tokens: int | None) -> CallToolResult:
    world, terms, budget = service.world, service.terms(), service.budget(tokens)
    newest = world.history(1)
    last = newest[0].revision if newest else 0
    if revision > last:
        raise ArgumentError(f"there is no revision {revision}: the last one is {last}", kind="revision")
    diff = world.diff(revision - 1, revision)
    known = [one for one in world.history(1, before=revision + 1) if one.revision == revision]
    entries = [EntryShown.made_of(one, terms) for one in known]
    lines = [*map(str, entries)]
    budget.take("\n".join(lines), [one.model_dump() for one in entries])
    kinds: list[list[str]] = []
    notes: list[str] = []
    for mark, quads, word in (("+", diff.added, "added"), ("-", diff.removed, "removed")):
        shown = budget.fill([terms.quad(quad, 200) for quad in islice(quads, limit)])
        kinds.append(shown)
        lines += [f"{mark} {line}" for line in shown]
        if len(quads) > len(shown):
            notes.append(f"{len(quads) - len(shown):,} of {len(quads):,} {word} quads are not shown: raise `limit`.")
    notes += [f"The graph {terms.show(graph)} was created." for graph in diff.created]
    notes += [f"The graph {terms.show(graph)} was dropped." for graph in diff.dropped]
    return answer([*lines, *notes], Changes(revisions=entries, added=kinds[0], removed=kinds[1], notes=notes))
