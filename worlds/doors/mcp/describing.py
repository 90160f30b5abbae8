"""The tools that describe the world: schema, describe, form, history, provenance, validate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import Field

from worlds.doors.mcp.hints import either
from worlds.doors.mcp.rendering import Part, TermRenderer, TokenBudget, quoted
from worlds.doors.mcp.toolbox import Service, answer, fitting
from worlds.doors.mcp.tools import Proves, Tokens, tool
from worlds.errors import ArgumentError
from worlds.graph.terms import listed, local_name

_LIKELY = 3  # classes of a predicate that are shown
_EXAMPLES = 2  # of a class, and of a predicate
_FORMER = 20  # ended facts, the latest of their predicates


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    @tool(server, service, "schema", "Schema", most={"limit": 500}, limit=40)
    def schema(*, token_budget: Tokens = None, **given: Any) -> CallToolResult:
        """Call it before writing a query or a filter."""
        return overview(service, tokens=token_budget, **given)

    @tool(server, service, "describe", "Describe an entity", most={"limit": 200}, limit=10)
    def describe(*, token_budget: Tokens = None, **given: Any) -> CallToolResult:
        """Behind a value stand its revision and graph: [r3 ex:graph]."""
        return described(service, tokens=token_budget, **given)

    @tool(server, service, "entities.form", "Form")
    def form(*, token_budget: Tokens = None, **given: Any) -> CallToolResult:
        """Call it before proposing quads of an entity."""
        return _form(service, tokens=token_budget, **given)

    @tool(server, service, "history", "History", most={"limit": 200}, limit=20)
    def history(
        *,
        revision: Annotated[int | None, Field(ge=1, description="Show the changes of this revision.")] = None,
        token_budget: Tokens = None,
        **given: Any,
    ) -> CallToolResult:
        """With a revision, show its quads."""
        if revision is not None:
            return _revision(service, revision, given["limit"], token_budget)
        return _revisions(service, given, token_budget)

    @tool(server, service, "revisions.provenance", "Who said what")
    def provenance(*, why: Proves = False, token_budget: Tokens = None, **given: Any) -> CallToolResult:
        """Give at least one term."""
        if all(term is None for term in given.values()):
            raise ValueError("give the subject, the predicate, the object or the graph of the quads")
        return (_proof if why else _provenance)(service, given, token_budget)

    @tool(server, service, "shapes.validate", "Validate")
    def validate(*, token_budget: Tokens = None, **given: Any) -> CallToolResult:
        """It lists violations with focus node and reason."""
        return _violations(service, given["subjects"], token_budget)


# -- schema -----------------------------------------------------------------------------------------------------------


def overview(
    service: Service, *, limit: int, graphs: list[str] | None = None, matching: str | None = None, tokens: int | None
) -> CallToolResult:
    """The schema, as much as the budget allows: of it, classes get two fifths at most."""
    found, terms = service.world.schema(limit=limit, graphs=graphs, matching=matching), service.terms()
    notes: list[str] = []
    if matching and not found.classes and not found.predicates and (nearest := service.hints.nearest(matching)):
        notes.append(f"Nothing has {matching!r} in its name; near it: {', '.join(nearest)}.")
    notes += found.notes
    named = {"default" if one.name is None else terms.show(one.name): one.quads for one in found.graphs}
    languages = {language or "none": texts for language, texts in found.languages.items()}
    lines = [f"{found.quads:,} quads, revision {found.revision}"]
    lines += [f"PREFIX {prefix}: <{iri}>" for prefix, iri in found.prefixes.items()]
    if found.graph_count:
        lines.append("graphs: " + ", ".join(f"{name} {count:,}" for name, count in named.items()))
    if languages:
        lines.append("texts by language: " + ", ".join(f"{name} {count:,}" for name, count in languages.items()))

    budget = service.budget(tokens)
    told = {"prefixes": dict(found.prefixes), "graphs": named, "languages": languages}
    budget.take("\n".join(lines), told)
    part = TokenBudget(max(budget.left * 2 // 5, 1))
    classes = part.fill([_class(one, terms) for one in found.classes])
    budget.left -= part.spent
    predicates = budget.fill([_predicate(one, terms) for one in found.predicates])
    counts = {"class_count": found.class_count, "predicate_count": found.predicate_count}
    for kind, total, shown in (
        ("classes", found.class_count, len(classes)),
        ("predicates", found.predicate_count, len(predicates)),
    ):
        if total > shown:
            notes.append(f"{total - shown:,} of {total:,} {kind} are not shown: use `matching`, or `limit`.")
    names = "predicates (quads/subjects; of → objects; examples):"
    lines += ["classes (instances; examples):", *map(str, classes), names, *map(str, predicates), *notes]
    told |= {"classes": classes, "predicates": predicates, **counts, "notes": notes}
    return answer(lines, revision=found.revision, quads=found.quads, **told)


def _class(one: Any, terms: TermRenderer) -> Part:
    examples = terms.plain(one.examples[:_EXAMPLES])
    line = f"  {terms.show(one.iri)}{quoted(one.label, 80)} ({one.instances:,}; {', '.join(examples)})"
    return Part(line, {**terms.fields(one, "iri label instances", 80), "examples": examples})


def _predicate(one: Any, terms: TermRenderer) -> Part:
    of = _classes(one.subject_classes, one.subject_class_count, terms)
    objects = _classes(one.object_classes, one.object_class_count, terms)
    for kind in one.kinds[:6]:
        if kind.kind == "literal":
            objects.append(f"@{kind.language}" if kind.language else terms.show(kind.datatype))
        elif not one.object_classes or kind.kind != "IRI":
            objects.append(kind.kind)
    objects = list(dict.fromkeys(objects))
    examples = terms.plain(one.examples[:_EXAMPLES], 50)
    ends = f"{', '.join(of) or 'any'} → {', '.join(objects)}"
    line = f"  {terms.show(one.iri)} ({one.quads:,}/{one.subjects:,}; {ends}; {', '.join(examples)})"
    known = terms.fields(one, "iri label quads subjects", 80)
    return Part(line, {**known, "of": of, "objects": objects, "examples": examples})


def _classes(named: Any, count: int, terms: TermRenderer) -> list[str]:
    more = [f"+{count - _LIKELY} more"] if count > _LIKELY else []
    return [*map(terms.show, named[:_LIKELY]), *more]


# -- describe ---------------------------------------------------------------------------------------------------------


def described(service: Service, *, iri: str, limit: int, tokens: int | None, **options: Any) -> CallToolResult:
    """The description of an entity; ValueError for an entity that the world does not know."""
    world, terms = service.world, service.terms()
    found = world.describe(iri, limit=limit, **options)
    if not found:
        raise ValueError(f"the world has no quads about {terms.show(found.iri)}.{_alike(service, iri)}")
    budget = service.budget(tokens)
    types = [_value(one, terms) for one in found.types]
    shown = terms.fields(found, "iri label description", 1500)
    head = f"{shown['iri']}{quoted(found.label)}"
    head += f"\na {', '.join(types)}" if types else ""
    head += f"\n{shown['description']}" if found.description else ""
    budget.take(head, [head])
    part = TokenBudget(max(budget.left * 2 // 3, 1))
    own = _fitting(part, found.properties, terms)
    budget.left -= part.spent
    incoming = _fitting(budget, found.incoming, terms)
    left = len(found.properties) + len(found.incoming) - len(own) - len(incoming)
    notes = [f"{left} predicates are not shown, to stay within the token budget: use `sparql`."] if left else []
    notes += [f"{terms.show(one.predicate)} has {one.conflict}." for one in found.properties if one.conflict]
    ended = [
        f"Ended: {terms.show(one.predicate)} {terms.show(one.value)}{quoted(one.label)}, {one.interval}."
        for one in found.former[-_FORMER:]
    ]
    notes += [line for line in ended if budget.take(line, line)]
    lines = [head, *(f"  {one}" for one in own), *(f"  ^{one}" for one in incoming), *notes]
    return answer(lines, **shown, types=types, properties=own, incoming=incoming, notes=notes)


def _alike(service: Service, iri: str) -> str:
    """The entities whose names are like the last part of an IRI."""
    words = local_name(iri.strip("<>")).replace("_", " ")
    candidates = service.hints.named(words)
    return f" Did you mean {either(candidates)}?" if candidates else " Call `resolve` with its name, or `search`."


def _fitting(budget: TokenBudget, properties: Sequence[Any], terms: TermRenderer) -> list[Part]:
    """The properties that fit, with fewer values where not all do."""
    shown = []
    for one in properties:
        for most in (len(one.values), 3, 1):
            part = _property(one, terms, most)
            if budget.take(f"  ^{part}", part):
                shown.append(part)
                break
    return shown


def _property(one: Any, terms: TermRenderer, most: int) -> Part:
    """The first values under a predicate, each with the revisions that said it, and in which graphs: r3 <graph>."""
    values = [_value(value, terms) for value in one.values[:most]]
    sources = [
        ", ".join(f"r{each.revision} {terms.show(each.graph)}".rstrip() for each in value.sources)
        for value in one.values[:most]
    ]
    same, more = len(set(sources)) == 1, one.count - len(values)
    told = [  # what all values have in common is said once, behind the last
        value if same and place < len(values) else f"{value} [{source}]"
        for place, (value, source) in enumerate(zip(values, sources, strict=True), 1)
    ]
    known = terms.fields(one, "predicate label count", 80)
    line = f"{known['predicate']}: {' ; '.join(told)}{f' … and {more:,} more' if more else ''}"
    return Part(line, {**known, "values": values, "sources": sources})


def _value(one: Any, terms: TermRenderer) -> str:
    """A value with its label, and its annotations."""
    said = "; ".join(f"{terms.show(each.predicate)} {terms.show(each.value, 100)}" for each in one.annotations)
    return f"{terms.show(one.term, 300)}{quoted(one.label, 80)}{f' {{| {said} |}}' if said else ''}"


# -- history ----------------------------------------------------------------------------------------------------------


def _revisions(service: Service, options: Mapping[str, Any], tokens: int | None) -> CallToolResult:
    terms = service.terms()
    entries = [_entry(one, terms) for one in service.world.history(**options)]
    shown, notes = fitting(entries, "revisions", service.budget(tokens))
    if not entries:
        notes.append("There is no such revision.")
    return answer([*shown, *notes], revisions=shown, added=[], removed=[], notes=notes)


def _entry(one: Any, terms: TermRenderer) -> Part:
    seen = terms.fields(one, "revision time author message added removed created dropped undone_by tags", 200)
    named = ", ".join(one.tags) and f"[{', '.join(one.tags)}]"
    said = " ".join(part for part in (named, one.author and f"by {seen['author']}", seen["message"]) if part)
    graphs = f" ({one.created:,} graphs created, {one.dropped:,} dropped)" if one.created or one.dropped else ""
    line = f"{one.revision}  {seen['time']}  +{one.added:,} -{one.removed:,}{graphs}  {said}".rstrip()
    return Part(line + (f"  (undone by {one.undone_by})" if one.undone_by else ""), seen)


def _provenance(service: Service, options: Mapping[str, Any], tokens: int | None) -> CallToolResult:
    terms = service.terms()
    found = [_said(one, terms) for one in service.world.revisions.provenance(**options)]
    shown, notes = fitting(found, "quads", service.budget(tokens))
    if not found:
        notes.append("No quad matches, and none ever did.")
    return answer([*shown, *notes], quads=shown, proof=[], notes=notes)


def _said(one: Any, terms: TermRenderer) -> Part:
    """A quad, and the revisions that added and removed it."""
    quad = terms.quad(one.quad)
    added, removed = (each and _entry(each, terms) for each in (one.added, one.removed))
    line = f"{quad}  added: {added or 'by a revision that is forgotten'}{f'  removed: {removed}' if removed else ''}"
    return Part(line, {"quad": quad, "added": added, "removed": removed})


def _proof(service: Service, options: Mapping[str, Any], tokens: int | None) -> CallToolResult:
    """The proof of one quad, a line for each step."""
    quad = [options.get(part) for part in ("subject", "predicate", "object", "graph")]
    if None in quad[:3]:
        raise ArgumentError("a proof needs one quad: give its subject, predicate and object", kind="quad")
    steps = service.world.rules.why(quad if quad[3] else quad[:3]).steps
    terms = service.terms()
    lines = [f"{one.number}. {terms.quad(one.quad)}  {one.reason}" for one in steps]
    shown, notes = fitting(lines, "steps", service.budget(tokens))
    return answer([*shown, *notes], quads=[], proof=shown, notes=notes)


def _violations(service: Service, subjects: list[str] | None, tokens: int | None) -> CallToolResult:
    report = service.world.shapes.validate(subjects=subjects)
    keys = ("severity", "focus", "path", "value", "message")
    rows = [{key: cell or None for key, cell in zip(keys, row, strict=False)} for row in report.rows()]
    found = [
        Part(f"{one['severity']}: {' '.join(filter(None, (one['focus'], one['path'])))}: {one['message']}", one)
        for one in rows
    ]
    shown, left = fitting(found, "results", service.budget(tokens))
    notes = [*([] if found else ["The data conform."]), *report.notes]
    if why := [f"{one.shape}: {one.reason}" for one in report.left_out]:
        notes.append(f"Not checked: {listed(why, 5, between='; ')}.")
    notes += left
    return answer([*shown, *notes], conforms=report.conforms, count=len(found), results=shown, notes=notes)


def _form(
    service: Service, *, iri: str | None, types: list[str] | None, language: str | None, tokens: int | None
) -> CallToolResult:
    found, terms = service.world.entities.form(iri, types=types, language=language), service.terms()
    fields, notes = fitting([_field(one, terms) for one in found.fields], "fields", service.budget(tokens))
    if not found.fields:
        notes.append("No fields are known: there is neither a shape nor another entity of these classes.")
    known = terms.fields(found, "iri types graph problems", 1000)
    head = f"{known['iri'] or 'a new entity'} a {', '.join(known['types']) or 'thing without a type'}"
    return answer([head, *fields, *found.problems, *notes], **known, fields=fields, notes=notes)


def _field(one: Any, terms: TermRenderer) -> Part:
    """A predicate that an entity has or could have; `takes` is how many values, `of` their datatype or classes."""
    most = "any" if one.most is None else one.most
    takes = str(most) if most in (one.least, "any") and not one.least else f"{one.least} to {most}"
    of = terms.plain(one.classes) or ([] if one.datatype is None else [terms.show(one.datatype)])
    choices = terms.plain(one.choices, 60)
    known = terms.fields(one, "predicate label declared values problems")
    values = f": {', '.join(known['values'])}" if one.values else ""
    chosen = f", one of {', '.join(choices)}" if choices else ""
    wrong = f" ! {'; '.join(one.problems)}" if one.problems else ""
    told = f"{takes} of {', '.join(of) or 'IRI'}{chosen}; {'a shape' if one.declared else 'usual'}"
    line = f"{known['predicate']}{quoted(one.label)} ({told}){values}{wrong}"
    return Part(line, {**known, "takes": takes, "of": of, "choices": choices})


def _revision(service: Service, revision: int, limit: int, tokens: int | None) -> CallToolResult:
    world, terms, budget = service.world, service.terms(), service.budget(tokens)
    newest = world.history(1)
    last = newest[0].revision if newest else 0
    if revision > last:
        raise ArgumentError(f"there is no revision {revision}: the last one is {last}", kind="revision")
    diff = world.diff(revision - 1, revision)
    known = [one for one in world.history(1, before=revision + 1) if one.revision == revision]
    entries = [_entry(one, terms) for one in known]
    lines = [*map(str, entries)]
    budget.take("\n".join(lines), entries)
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
    return answer([*lines, *notes], revisions=entries, added=kinds[0], removed=kinds[1], notes=notes)
