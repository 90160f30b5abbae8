"""The structured form of each tool's answer, and the line of its text that says the same."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from worlds.doors.mcp.rendering import TermRenderer, clip, quoted
from worlds.doors.mcp.shown import COUNTED, TERM, By, Label, Name, Shown, Term, Types, cut, each, rounded, terms_of

_LIKELY = 3  # classes of a predicate that are shown
_CUT = 300  # characters of a sentence
_FILES = 20  # of a run, that are named


class Citation(Shown):
    """A passage that was found, to be cited by its number."""

    n: int = Field(description="The number to cite it by: [1], [2], …")
    subject: Term = Field(description="The entity that the text is about, as a prefixed name or <IRI>.")
    label: Name
    types: Types
    score: Annotated[float, rounded(4)] = Field(description="Higher is better; comparable within one answer only.")
    similarity: float | None = Field(description="The cosine of the text and the question, if there is one.")
    text: str = Field(description="A snippet, matches as **word**, or the whole passage if that was asked for.")
    quad: str = Field(description="The quad that holds the text, the text cut; a named graph is in the fourth place.")
    quads: Annotated[int, COUNTED] = Field(description="How many quads hold this text.")
    chunk: int = Field(description="The number of the passage in this world.")
    start: int = Field(description="Where it begins in the text of the quad, in characters.")
    end: int = Field(description="Where it ends there.")

    def __str__(self) -> str:
        types = f" ({', '.join(self.types)})" if self.types else ""
        more = f"  (+{self.quads - 1} more quads with this text)" if self.quads > 1 else ""
        text = self.text.replace("\n", "\n    ")
        head = f"[{self.n}] {self.subject}{quoted(self.label)}{types} score {self.score}"
        return f"{head}\n    “{text}”\n    {self.quad}{more}"


class SearchAnswer(BaseModel):
    """The results of a search."""

    citations: list[Citation]
    cut: int = Field(description="Results that were found, but left out to stay within the token budget.")
    cursor: str | None = Field(description="Give it with the same arguments to get the results that follow.")
    notes: list[str]
    facets: list[str] = Field(description="How many of all texts that match have each value, if it was asked for.")
    sql: list[str] = Field(description="The SQL statements that ran, each with its step, if they were asked for.")


class ContextAnswer(BaseModel):
    """The context of a question."""

    text: str = Field(description="Facts and passages; the numbers in brackets are the numbers of the citations.")
    citations: dict[int, list[str]] = Field(description="The quads that say each fact; a graph is in the fourth place.")
    entities: list[str] = Field(description="The entities that the question names, or that were found.")
    left_out: int = Field(description="The number of quads that were read, and left out.")
    notes: list[str]


class Briefed(BaseModel):
    """The brief of a question, for writing its query."""

    text: str = Field(description="Entities, classes and predicates with their ends, and the prefixes.")
    query: str | None = Field(description="The query that is kept for the question, if one is.")


class MentionShown(Shown):
    """A part of a text that names an entity."""

    text: Annotated[str, cut(120)]
    start: int = Field(description="Its first character.")
    end: int = Field(description="The character behind it.")
    iri: Term
    label: Name
    confidence: Annotated[float, rounded(2)]
    namesakes: Annotated[
        list[str], By(lambda found, terms: [terms.show(one.iri) for one in found[1:]], "candidates")
    ] = Field(description="Others that bear the name.")

    def __str__(self) -> str:
        others = f", else {', '.join(self.namesakes)}" if self.namesakes else ""
        return f"{self.start}–{self.end} “{self.text}” {self.confidence:.2f} {self.iri}{others}"


class Mentioned(BaseModel):
    """The entities that a text names."""

    mentions: list[MentionShown]
    notes: list[str]


class EvidenceShown(Shown):
    """Evidence for a claim, or against it."""

    rule: str
    score: Annotated[float, rounded(2)]
    message: Annotated[str, cut(_CUT)]
    quads: Annotated[list[str], By(lambda quads, terms: [clip(terms.quad(quad[:4], 200), _CUT) for quad in quads])] = (
        Field(description="The quads that it rests on; a named graph is in the fourth place.")
    )
    revisions: Annotated[list[int], By(lambda quads, _: [quad.revision for quad in quads], "quads")] = Field(
        description="The revisions that added these quads."
    )

    def __str__(self) -> str:
        quads = zip(self.quads, self.revisions, strict=True)
        lines = [f"  {quad} (revision {revision})" for quad, revision in quads]
        return "\n".join([f"{self.message} ({self.rule}, {self.score})", *lines])


class Verified(Shown):
    """Whether a claim holds."""

    outcome: str = Field(description="supported, contradicted or unknown")
    revision: int
    supporting: Annotated[list[EvidenceShown], each(EvidenceShown)]
    contradicting: Annotated[list[EvidenceShown], each(EvidenceShown)]
    undecided: list[str]
    notes: list[str]


class QueryAnswer(BaseModel):
    """The answer of a query: rows of a SELECT, the truth of an ASK, or triples of a CONSTRUCT or DESCRIBE."""

    form: str = Field(description="select, ask or construct")
    variables: list[str]
    rows: list[list[str | None]] = Field(description="Terms as in Turtle; null where unbound.")
    truth: bool | None
    total: int = Field(description="How many rows or triples there are in all.")
    notes: list[str]


class PropertyShown(Shown):
    """The values of an entity under one predicate."""

    predicate: Term
    label: Label
    values: Annotated[list[str], By(lambda found, terms: [shown_value(one, terms) for one in found])]
    sources: Annotated[list[str], By(lambda found, terms: [_sources(one, terms) for one in found], "values")] = Field(
        description="For each value the revisions that said it, in which graphs: r3 <graph>."
    )
    count: int

    def __str__(self) -> str:
        more = self.count - len(self.values)
        # What all values have in common is said once, behind the last.
        same = len(set(self.sources)) == 1
        values = [
            value if same and place < len(self.values) else f"{value} [{source}]"
            for place, (value, source) in enumerate(zip(self.values, self.sources, strict=True), 1)
        ]
        return f"{self.predicate}: {' ; '.join(values)}{f' … and {more:,} more' if more else ''}"


def shown_value(one: Any, terms: TermRenderer) -> str:
    """A value with its label, and its annotations."""
    said = "; ".join(f"{terms.show(each.predicate)} {terms.show(each.value, 100)}" for each in one.annotations)
    return f"{terms.show(one.term, 300)}{quoted(one.label, 80)}{f' {{| {said} |}}' if said else ''}"


def _sources(one: Any, terms: TermRenderer) -> str:
    return ", ".join(f"r{each.revision} {terms.show(each.graph)}".rstrip() for each in one.sources)


class Described(Shown):
    """The description of an entity."""

    iri: Term
    label: str | None
    types: Annotated[list[str], By(lambda found, terms: [shown_value(one, terms) for one in found])]
    description: Annotated[str | None, cut(1500)]
    properties: Annotated[list[PropertyShown], each(PropertyShown)]
    incoming: Annotated[list[PropertyShown], each(PropertyShown)] = Field(
        description="The triples that point to it, by predicate."
    )
    notes: list[str]


class ClassShown(Shown):
    """A class."""

    iri: Term
    label: Annotated[str | None, cut(80)]
    instances: int
    examples: Annotated[list[str], terms_of(2)]

    def __str__(self) -> str:
        return f"  {self.iri}{quoted(self.label)} ({self.instances:,}; {', '.join(self.examples)})"


def _classes(named: Any, count: int, terms: TermRenderer) -> list[str]:
    more = [f"+{count - _LIKELY} more"] if count > _LIKELY else []
    return [*map(terms.show, named[:_LIKELY]), *more]


def _objects(one: Any, terms: TermRenderer) -> list[str]:
    objects = _classes(one.object_classes, one.object_class_count, terms)
    for kind in one.kinds[:6]:
        if kind.kind == "literal":
            objects.append(f"@{kind.language}" if kind.language else terms.show(kind.datatype))
        elif not one.object_classes or kind.kind != "IRI":
            objects.append(kind.kind)
    return list(dict.fromkeys(objects))


class PredicateShown(Shown):
    """A predicate."""

    iri: Term
    label: Label
    quads: int
    subjects: int
    of: Annotated[
        list[str],
        By(lambda one, terms: _classes(one.subject_classes, one.subject_class_count, terms), whole=True),
    ] = Field(description="Classes that its subjects have.")
    objects: Annotated[list[str], By(_objects, whole=True)] = Field(
        description="The kinds of its objects: classes, IRI, datatypes, @languages."
    )
    examples: Annotated[list[str], terms_of(2, 50)]

    def __str__(self) -> str:
        of, objects = ", ".join(self.of) or "any", ", ".join(self.objects)
        examples = ", ".join(self.examples)
        return f"  {self.iri} ({self.quads:,}/{self.subjects:,}; {of} → {objects}; {examples})"


class Overview(Shown):
    """The schema of the data."""

    revision: int
    quads: int
    prefixes: Annotated[dict[str, str], By(lambda found, _: dict(found))]
    classes: Annotated[list[ClassShown], each(ClassShown)]
    class_count: int
    predicates: Annotated[list[PredicateShown], each(PredicateShown)]
    predicate_count: int
    graphs: Annotated[
        dict[str, int],
        By(lambda found, terms: {"default" if one.name is None else terms.show(one.name): one.quads for one in found}),
    ]
    languages: Annotated[
        dict[str, int], By(lambda found, _: {language or "none": texts for language, texts in found.items()})
    ]
    notes: list[str]


class CandidateShown(Shown):
    """An entity that a name may mean."""

    iri: Term
    label: Name
    types: Types
    confidence: Annotated[float, rounded(2)] = Field(description="The chance that it is meant, from 0 to 1.")
    matched: Annotated[str, cut(120)]
    kind: str = Field(description="How the name fits: exact, alias, prefix, fuzzy or semantic.")
    apart: Name = Field(default=None, description="A fact by which it differs from others of its label.")

    def __str__(self) -> str:
        types = f" ({', '.join(self.types)})" if self.types else ""
        matched = "" if self.matched == self.label else f" “{self.matched}”"
        apart = f"; {self.apart}" if self.apart else ""
        return f"  {self.confidence:.2f} {self.iri}{quoted(self.label)}{types} {self.kind}{matched}{apart}"


class ResolutionShown(Shown):
    """Whom one name means."""

    name: str
    outcome: str = Field(description="match, ambiguous or no match")
    candidates: Annotated[list[CandidateShown], each(CandidateShown)]

    def __str__(self) -> str:
        return "\n".join([f"{clip(self.name, 120)}: {self.outcome}", *map(str, self.candidates)])


class Resolved(BaseModel):
    """Whom names mean."""

    names: list[ResolutionShown]
    notes: list[str]


class EntryShown(Shown):
    """One revision."""

    revision: int
    time: Annotated[str, By(lambda time, _: time.isoformat(timespec="seconds"))]
    author: Annotated[str | None, cut(100)]
    message: Annotated[str | None, cut(200)]
    added: int
    removed: int
    created: int
    dropped: int
    undone_by: int | None
    tags: list[str]

    def __str__(self) -> str:
        named = ", ".join(self.tags) and f"[{', '.join(self.tags)}]"
        said = " ".join(part for part in (named, self.author and f"by {self.author}", self.message) if part)
        graphs = f" ({self.created:,} graphs created, {self.dropped:,} dropped)" if self.created or self.dropped else ""
        undone = f"  (undone by {self.undone_by})" if self.undone_by else ""
        change = f"+{self.added:,} -{self.removed:,}"
        return f"{self.revision}  {self.time}  {change}{graphs}  {said}".rstrip() + undone


_ENTRY = By(lambda entry, terms: None if entry is None else EntryShown.made_of(entry, terms))


class SaidShown(Shown):
    """A quad, and the revisions that added and removed it."""

    quad: Annotated[str, By(lambda quad, terms: terms.quad(quad))]
    added: Annotated[EntryShown | None, _ENTRY]
    removed: Annotated[EntryShown | None, _ENTRY]

    def __str__(self) -> str:
        removed = "" if self.removed is None else f"  removed: {self.removed}"
        return f"{self.quad}  added: {self.added or 'by a revision that is forgotten'}{removed}"


class Said(BaseModel):
    """The author of each statement, or the steps of a proof."""

    quads: list[SaidShown]
    proof: list[str]
    notes: list[str]


class Changes(BaseModel):
    """Revisions, newest first, or the changes of one of them."""

    revisions: list[EntryShown]
    added: list[str]
    removed: list[str]
    notes: list[str]


class ViolationShown(BaseModel):
    """One result of a validation."""

    severity: str
    focus: str
    path: str | None
    value: str | None
    message: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.focus}{f' {self.path}' if self.path else ''}: {self.message}"


class Violations(BaseModel):
    """The violations of the world's shapes."""

    conforms: bool
    count: int
    results: list[ViolationShown]
    notes: list[str]


def _takes(one: Any, _: TermRenderer) -> str:
    most = "any" if one.most is None else one.most
    return str(most) if most in (one.least, "any") and not one.least else f"{one.least} to {most}"


def _kinds(one: Any, terms: TermRenderer) -> list[str]:
    classes = [terms.show(kind.term) for kind in one.classes]
    return classes or ([] if one.datatype is None else [terms.show(one.datatype)])


class FieldShown(Shown):
    """A predicate that an entity has or could have; `takes` is how many values, `of` their datatype or classes."""

    predicate: Term
    label: Label
    takes: Annotated[str, By(_takes, whole=True)]
    of: Annotated[list[str], By(_kinds, whole=True)]
    choices: Annotated[list[str], terms_of(length=60)]
    declared: bool
    values: Annotated[list[str], terms_of(length=120)]
    problems: list[str]

    def __str__(self) -> str:
        values = f": {', '.join(self.values)}" if self.values else ""
        choices = f", one of {', '.join(self.choices)}" if self.choices else ""
        wrong = f" ! {'; '.join(self.problems)}" if self.problems else ""
        source = "a shape" if self.declared else "usual"
        kinds = ", ".join(self.of) or "IRI"
        return f"{self.predicate}{quoted(self.label)} ({self.takes} of {kinds}{choices}; {source}){values}{wrong}"


class FormShown(Shown):
    """The fields of an entity, fields declared by a shape first."""

    iri: Annotated[str | None, TERM]
    types: Annotated[list[str], terms_of()]
    graph: Annotated[str | None, TERM]
    fields: Annotated[list[FieldShown], each(FieldShown)]
    problems: list[str]
    notes: list[str]


class Became(Shown):
    """The outcome of one fact."""

    fact: list[str]
    became: str = Field(description="written, known, proposed or refused.")
    why: str | None
    proposal: int | None
    new: Annotated[list[str], By(lambda found, _: [*map(str, found)])] = Field(
        description="Entities that were made for it."
    )

    def __str__(self) -> str:
        new = f" (new: {', '.join(self.new)})" if self.new else ""
        proposal = f"; proposal {self.proposal}" if self.proposal else ""
        return f"{self.became}: {' | '.join(self.fact)}{new}{f'; {self.why}' if self.why else ''}{proposal}"


class FactsTold(Shown):
    """The outcomes of facts given by name."""

    revision: int | None
    facts: Annotated[list[Became], each(Became)]
    notes: list[str]


class WriteOutcome(Shown):
    """The outcome of a write."""

    revision: int | None = Field(description="The revision that holds the change; null when nothing changed.")
    added: int
    removed: int
    notes: list[str]


class Run(Shown):
    """The outcome of a run of a source: how many files are new, changed, moved and deleted."""

    source: str
    revision: int | None
    new: Annotated[int, COUNTED]
    changed: Annotated[int, COUNTED]
    moved: Annotated[int, COUNTED]
    deleted: Annotated[int, COUNTED]
    errors: Annotated[
        list[str], By(lambda found, _: [clip(f"{one.path}: {one.message}", _CUT) for one in found[:_FILES]])
    ] = Field(description="Files that could not be read.")
    notes: Annotated[list[str], By(lambda found, _: list(found[:_FILES]))]

    def __str__(self) -> str:
        counts = f"{self.new} new, {self.changed} changed, {self.moved} moved, {self.deleted} deleted"
        return f"{self.source}: {counts}" + ("" if self.revision is None else f"; revision {self.revision}")


class Runs(BaseModel):
    """The runs of sources."""

    runs: list[Run]
