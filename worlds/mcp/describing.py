"""The tools that describe the world: schema, describe, form, history, provenance, validate."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

from mcp.server import MCPServer
from mcp.types import CallToolResult
from pydantic import Field

from worlds.errors import ArgumentError
from worlds.mcp.answers import (
    Changes,
    ClassShown,
    Described,
    EntryShown,
    FieldShown,
    FormShown,
    Overview,
    PredicateShown,
    PropertyShown,
    Said,
    SaidShown,
    Violations,
    ViolationShown,
    plain,
)
from worlds.mcp.hints import either
from worlds.mcp.rendering import Budget, Terms, clip, quoted
from worlds.mcp.toolbox import Service, answer
from worlds.mcp.tools import Tokens, tool

if TYPE_CHECKING:
    from worlds.curation.forms.form import Field as FormField
    from worlds.entities.describing import Property, Source, Value
    from worlds.entities.schema import ClassSummary, PredicateSummary

_LIKELY = 3  # classes of a predicate that are shown
_FORMER = 20  # ended facts, the latest of their predicates


def register(server: MCPServer[Any], service: Service) -> None:
    """Add the tools."""

    @tool(server, service, "schema", "Schema", most={"limit": 500}, limit=40)
    def schema(
        *,
        token_budget: Tokens = None,
        **given: Any,
    ) -> Annotated[CallToolResult, Overview]:
        """Call it before writing a query or a filter."""
        return overview(service, tokens=token_budget, **given)

    @tool(server, service, "describe", "Describe an entity", most={"limit": 200}, limit=10)
    def describe(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, Described]:
        """Behind a value stands which revision said it, and in which graph: [r3 ex:graph]."""
        return described(service, tokens=token_budget, **given)

    @tool(server, service, "form", "Form")
    def form(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, FormShown]:
        """Call it before proposing quads of an entity."""
        return _form(service, tokens=token_budget, **given)

    @tool(server, service, "history", "History", most={"limit": 200}, limit=20)
    def history(
        *,
        revision: Annotated[int | None, Field(ge=1, description="Tell what this revision added and removed.")] = None,
        token_budget: Tokens = None,
        **given: Any,
    ) -> Annotated[CallToolResult, Changes]:
        """With a revision, show its quads."""
        if revision is not None:
            return _revision(service, revision, given["limit"], token_budget)
        return _revisions(service, given, token_budget)

    @tool(server, service, "provenance", "Who said what")
    def provenance(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, Said]:
        """Give at least one term."""
        if all(term is None for term in given.values()):
            raise ValueError("give the subject, the predicate, the object or the graph of the quads")
        return _provenance(service, given, token_budget)

    @tool(server, service, "validate", "Validate")
    def validate(*, token_budget: Tokens = None, **given: Any) -> Annotated[CallToolResult, Violations]:
        """It tells each violation, its focus node and the reason."""
        return _violations(service, given["subjects"], token_budget)


# -- schema -----------------------------------------------------------------------------------------------------------


def overview(
    service: Service, *, limit: int, graphs: list[str] | None = None, matching: str | None = None, tokens: int | None
) -> CallToolResult:
    """The schema, as much as the budget allows: of it, classes get two fifths at most."""
    found = service.world.schema(limit=limit, graphs=graphs, matching=matching)
    terms = service.terms()
    classes = [_class(one, terms) for one in found.classes]
    predicates = [_predicate(one, terms) for one in found.predicates]
    notes: list[str] = []
    if matching and not classes and not predicates and (nearest := service.hints.nearest(matching)):
        notes.append(f"Nothing has {matching!r} in its name; near it: {', '.join(nearest)}.")
    notes += found.notes
    counted = {"default" if one.name is None else terms.show(one.name): one.quads for one in found.graphs}
    languages = {language or "none": texts for language, texts in found.languages.items()}

    budget = service.budget(tokens)
    head = _head(found.quads, found.revision, found.prefixes, counted, found.graph_count, languages)
    budget.take(head, [found.prefixes, counted, languages])
    part = service.budget(max(budget.left * 2 // 5, 1))
    shown_classes = part.fill(classes, lambda one: (_class_line(one), plain(one)))
    budget.left -= part.spent
    shown = budget.fill(predicates, lambda one: (_predicate_line(one), plain(one)))
    whole = found.class_count, found.predicate_count
    for kind, total, given in (("classes", whole[0], shown_classes), ("predicates", whole[1], shown)):
        if total > len(given):
            notes.append(f"{total - len(given):,} of {total:,} {kind} are not shown: use `matching`, or `limit`.")
    lines = [
        head,
        "classes (instances; examples):",
        *map(_class_line, shown_classes),
        "predicates (quads/subjects; of → objects; examples):",
        *map(_predicate_line, shown),
        *notes,
    ]
    structured = Overview(
        revision=found.revision,
        quads=found.quads,
        prefixes=dict(found.prefixes),
        classes=shown_classes,
        class_count=found.class_count,
        predicates=shown,
        predicate_count=found.predicate_count,
        graphs=counted,
        languages=languages,
        notes=notes,
    )
    return answer("\n".join(lines), structured)


def _head(
    quads: int,
    revision: int,
    prefixes: Mapping[str, str],
    graphs: Mapping[str, int],
    graph_count: int,
    languages: Mapping[str, int],
) -> str:
    lines = [f"{quads:,} quads, revision {revision}"]
    lines += [f"PREFIX {prefix}: <{iri}>" for prefix, iri in prefixes.items()]
    if graph_count:
        lines.append("graphs: " + ", ".join(f"{name} {count:,}" for name, count in graphs.items()))
    if languages:
        lines.append("texts by language: " + ", ".join(f"{name} {count:,}" for name, count in languages.items()))
    return "\n".join(lines)


def _class(one: ClassSummary, terms: Terms) -> ClassShown:
    return ClassShown(
        iri=terms.show(one.iri),
        label=None if one.label is None else clip(one.label, 80),
        instances=one.instances,
        examples=[terms.show(value.term) for value in one.examples[:2]],
    )


def _predicate(one: PredicateSummary, terms: Terms) -> PredicateShown:
    objects = _classes(one.object_classes, one.object_class_count, terms)
    for kind in one.kinds[:6]:
        if kind.kind == "literal":
            objects.append(f"@{kind.language}" if kind.language else terms.show(kind.datatype))
        elif not one.object_classes or kind.kind != "IRI":
            objects.append(kind.kind)
    return PredicateShown(
        iri=terms.show(one.iri),
        label=clip(one.label, 80),
        quads=one.quads,
        subjects=one.subjects,
        of=_classes(one.subject_classes, one.subject_class_count, terms),
        objects=list(dict.fromkeys(objects)),
        examples=[terms.show(value.term, 50) for value in one.examples[:2]],
    )


def _classes(named: Sequence[Any], count: int, terms: Terms) -> list[str]:
    more = [f"+{count - _LIKELY} more"] if count > _LIKELY else []
    return [*map(terms.show, named[:_LIKELY]), *more]


def _class_line(one: ClassShown) -> str:
    return f"  {one.iri}{quoted(one.label)} ({one.instances:,}; {', '.join(one.examples)})"


def _predicate_line(one: PredicateShown) -> str:
    of, objects = ", ".join(one.of) or "any", ", ".join(one.objects)
    return f"  {one.iri} ({one.quads:,}/{one.subjects:,}; {of} → {objects}; {', '.join(one.examples)})"


# -- describe ---------------------------------------------------------------------------------------------------------


def described(service: Service, *, iri: str, limit: int, tokens: int | None, **options: Any) -> CallToolResult:
    """What the world says of an entity; ValueError for one that it does not know."""
    world, terms = service.world, service.terms()
    found = world.describe(iri, limit=limit, **options)
    if not found:
        raise ValueError(f"the world says nothing of {terms.show(found.iri)}.{_alike(service, iri)}")
    budget = service.budget(tokens)
    description = None if found.description is None else clip(found.description, 1500)
    types = [_value(value, terms) for value in found.types]
    head = f"{terms.show(found.iri)}{quoted(found.label)}"
    if types:
        head += f"\na {', '.join(types)}"
    if description:
        head += f"\n{description}"
    budget.take(head, [head])
    part = service.budget(max(budget.left * 2 // 3, 1))
    own = _fitting(part, [_property(one, terms) for one in found.properties])
    budget.left -= part.spent
    incoming = _fitting(budget, [_property(one, terms) for one in found.incoming])
    cut = len(found.properties) + len(found.incoming) - len(own) - len(incoming)
    notes = (
        [f"{cut} predicates were left out to stay within the token budget: ask for them by `sparql`."] if cut else []
    )
    notes += [f"{terms.show(one.predicate)} has {one.conflict}." for one in found.properties if one.conflict]
    ended = [
        f"Ended: {terms.show(one.predicate)} {terms.show(one.value)}{quoted(one.label)}, {one.interval}."
        for one in found.former[-_FORMER:]
    ]
    notes += [line for line in ended if budget.take(line, line)]
    lines = [
        head,
        *(_property_line(one, "") for one in own),
        *(_property_line(one, "^") for one in incoming),
        *notes,
    ]
    structured = Described(
        iri=terms.show(found.iri),
        label=found.label,
        types=types,
        description=description,
        properties=own,
        incoming=incoming,
        notes=notes,
    )
    return answer("\n".join(lines), structured)


def _alike(service: Service, iri: str) -> str:
    """The entities whose names are like the last part of an IRI."""
    words = re.split(r"[/#:]", iri.strip("<>").rstrip("/#:"))[-1].replace("_", " ")
    candidates = service.hints.named(words)
    return f" Did you mean {either(candidates)}?" if candidates else " Call `resolve` with its name, or `search`."


def _fitting(budget: Budget, properties: list[PropertyShown]) -> list[PropertyShown]:
    """The properties that fit, with fewer values where not all do."""
    shown = []
    for one in properties:
        for most in (len(one.values), 3, 1):
            part = one.model_copy(update={"values": one.values[:most], "sources": one.sources[:most]})
            if budget.take(_property_line(part, "^"), plain(part)):
                shown.append(part)
                break
    return shown


def _value(value: Value, terms: Terms) -> str:
    shown = terms.show(value.term, 300)
    said = "; ".join(f"{terms.show(one.predicate)} {terms.show(one.value, 100)}" for one in value.annotations)
    return f"{shown}{quoted(value.label, 80)}{f' {{| {said} |}}' if said else ''}"


def _source(one: Source, terms: Terms) -> str:
    return f"r{one.revision}" if one.graph is None else f"r{one.revision} {terms.show(one.graph)}"


def _property(one: Property, terms: Terms) -> PropertyShown:
    return PropertyShown(
        predicate=terms.show(one.predicate),
        label=clip(one.label, 80),
        values=[_value(value, terms) for value in one.values],
        sources=[", ".join(_source(source, terms) for source in value.sources) for value in one.values],
        count=one.count,
    )


def _property_line(one: PropertyShown, mark: str) -> str:
    more = one.count - len(one.values)
    # What all values have in common is said once, behind the last.
    same = len(set(one.sources)) == 1
    values = [
        value if same and place < len(one.values) else f"{value} [{source}]"
        for place, (value, source) in enumerate(zip(one.values, one.sources, strict=True), 1)
    ]
    return f"  {mark}{one.predicate}: {' ; '.join(values)}{f' … and {more:,} more' if more else ''}"


# -- history ----------------------------------------------------------------------------------------------------------


def _entry(one: Any) -> EntryShown:
    return EntryShown(
        revision=one.revision,
        time=one.time.isoformat(timespec="seconds"),
        author=None if one.author is None else clip(one.author, 100),
        message=None if one.message is None else clip(one.message, 200),
        added=one.added,
        removed=one.removed,
        created=one.created,
        dropped=one.dropped,
        undone_by=one.undone_by,
    )


def _entry_line(one: EntryShown) -> str:
    said = " ".join(part for part in (one.author and f"by {one.author}", one.message) if part)
    graphs = f" ({one.created:,} graphs created, {one.dropped:,} dropped)" if one.created or one.dropped else ""
    undone = f"  (undone by {one.undone_by})" if one.undone_by else ""
    return f"{one.revision}  {one.time}  +{one.added:,} -{one.removed:,}{graphs}  {said}".rstrip() + undone


def _revisions(service: Service, options: Mapping[str, Any], tokens: int | None) -> CallToolResult:
    entries = [_entry(one) for one in service.world.history(**options)]
    shown = service.budget(tokens).fill(entries, lambda one: (_entry_line(one), plain(one)))
    notes = [] if entries else ["There is no such revision."]
    if len(shown) < len(entries):
        notes.append("Older ones were left out to stay within the token budget.")
    text = "\n".join([*map(_entry_line, shown), *notes])
    return answer(text, Changes(revisions=shown, added=[], removed=[], notes=notes))


def _provenance(service: Service, options: Mapping[str, Any], tokens: int | None) -> CallToolResult:
    terms = service.terms()
    found = [
        SaidShown(
            quad=terms.quad(one.quad),
            added=None if one.added is None else _entry(one.added),
            removed=None if one.removed is None else _entry(one.removed),
        )
        for one in service.world.provenance(**options)
    ]

    def line(one: SaidShown) -> str:
        by = "by a revision that is forgotten" if one.added is None else _entry_line(one.added)
        return f"{one.quad}  added: {by}" + ("" if one.removed is None else f"  removed: {_entry_line(one.removed)}")

    shown = service.budget(tokens).fill(found, lambda one: (line(one), plain(one)))
    notes = [] if found else ["No quad matches, and none ever did."]
    if len(shown) < len(found):
        notes.append(f"{len(found) - len(shown):,} of {len(found):,} quads are not shown: raise `token_budget`.")
    return answer("\n".join([*map(line, shown), *notes]), Said(quads=shown, notes=notes))


def _violations(service: Service, subjects: list[str] | None, tokens: int | None) -> CallToolResult:
    report = service.world.validate(subjects=subjects)
    found = [
        ViolationShown(severity=row[0], focus=row[1], path=row[2] or None, value=row[3] or None, message=row[4])
        for row in report.rows()
    ]

    def line(one: ViolationShown) -> str:
        return f"{one.severity}: {one.focus}{f' {one.path}' if one.path else ''}: {one.message}"

    shown = service.budget(tokens).fill(found, lambda one: (line(one), plain(one)))
    notes = [] if found else ["The data conform."]
    if len(shown) < len(found):
        notes.append(f"{len(found) - len(shown):,} of {len(found):,} results are not shown: raise `token_budget`.")
    text = "\n".join([*map(line, shown), *notes])
    return answer(text, Violations(conforms=report.conforms, count=len(found), results=shown, notes=notes))


def _form(
    service: Service, *, iri: str | None, types: list[str] | None, language: str | None, tokens: int | None
) -> CallToolResult:
    found = service.world.form(iri, types=types, language=language)
    terms = service.terms()

    def shown(one: FormField) -> FieldShown:
        most = "any" if one.most is None else one.most
        kinds = [terms.show(kind.term) for kind in one.classes]
        return FieldShown(
            predicate=terms.show(one.predicate),
            label=clip(one.label, 80),
            takes=str(most) if most in (one.least, "any") and not one.least else f"{one.least} to {most}",
            of=kinds or ([] if one.datatype is None else [terms.show(one.datatype)]),
            choices=[terms.show(choice.term, 60) for choice in one.choices],
            declared=one.declared,
            values=[terms.show(value.term, 120) for value in one.values],
            problems=list(one.problems),
        )

    def line(one: FieldShown) -> str:
        values = f": {', '.join(one.values)}" if one.values else ""
        choices = f", one of {', '.join(one.choices)}" if one.choices else ""
        wrong = f" ! {'; '.join(one.problems)}" if one.problems else ""
        source = "a shape" if one.declared else "usual"
        kinds = ", ".join(one.of) or "IRI"
        return f"{one.predicate}{quoted(one.label)} ({one.takes} of {kinds}{choices}; {source}){values}{wrong}"

    every = [shown(one) for one in found.fields]
    fields = service.budget(tokens).fill(every, lambda one: (line(one), plain(one)))
    notes = [] if every else ["Nothing is known of such entities: neither a shape nor others of these classes."]
    if len(fields) < len(every):
        notes.append(f"{len(every) - len(fields):,} of {len(every):,} fields are not shown: raise `token_budget`.")
    structured = FormShown(
        iri=None if found.iri is None else terms.show(found.iri),
        types=[terms.show(one.term) for one in found.types],
        graph=None if found.graph is None else terms.show(found.graph),
        fields=fields,
        problems=list(found.problems),
        notes=notes,
    )
    head = f"{structured.iri or 'a new entity'} a {', '.join(structured.types) or 'thing without a type'}"
    return answer("\n".join([head, *map(line, fields), *found.problems, *notes]), structured)


def _revision(service: Service, revision: int, limit: int, tokens: int | None) -> CallToolResult:
    world, terms, budget = service.world, service.terms(), service.budget(tokens)
    newest = world.history(1)
    last = newest[0].revision if newest else 0
    if revision > last:
        raise ArgumentError(f"there is no revision {revision}: the last one is {last}", kind="revision")
    diff = world.diff(revision - 1, revision)
    entries = [_entry(one) for one in world.history(1, before=revision + 1) if one.revision == revision]
    lines = [_entry_line(one) for one in entries]
    budget.take("\n".join(lines), [plain(one) for one in entries])
    kinds: list[list[str]] = []
    notes: list[str] = []
    for mark, quads, word in (("+", diff.added, "added"), ("-", diff.removed, "removed")):
        shown = budget.fill([terms.quad(quad, 200) for quad in islice(quads, limit)], lambda line: (line, line))
        kinds.append(shown)
        lines += [f"{mark} {line}" for line in shown]
        if len(quads) > len(shown):
            notes.append(f"{len(quads) - len(shown):,} of {len(quads):,} {word} quads are not shown: raise `limit`.")
    notes += [f"The graph {terms.show(graph)} was created." for graph in diff.created]
    notes += [f"The graph {terms.show(graph)} was dropped." for graph in diff.dropped]
    text = "\n".join([*lines, *notes])
    return answer(text, Changes(revisions=entries, added=kinds[0], removed=kinds[1], notes=notes))
