"""The structured form of each tool's answer; the text says the same."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field


class Citation(BaseModel):
    """A passage that was found, to be cited by its number."""

    n: int = Field(description="The number to cite it by: [1], [2], …")
    subject: str = Field(description="The entity that the text is about, as a prefixed name or <IRI>.")
    label: str | None
    types: list[str]
    score: float = Field(description="Higher is better; comparable within one answer only.")
    similarity: float | None = Field(description="The cosine of the text with what was asked for, if there is one.")
    text: str = Field(description="A snippet, matches as **word**, or the whole passage if that was asked for.")
    quad: str = Field(description="The quad that holds the text, the text cut; a named graph is in the fourth place.")
    quads: int = Field(description="How many quads hold this text.")
    chunk: int = Field(description="The number of the passage in this world.")
    start: int = Field(description="Where it begins in the text of the quad, in characters.")
    end: int = Field(description="Where it ends there.")


class Found(BaseModel):
    """What a search found."""

    citations: list[Citation]
    cut: int = Field(description="Results that were found, but left out to stay within the token budget.")
    cursor: str | None = Field(description="Give it with the same arguments to get the results that follow.")
    notes: list[str]
    facets: list[str] = Field(description="How many of all texts that match have each value, if it was asked for.")
    sql: list[str] = Field(description="The SQL statements that ran, each with its step, if they were asked for.")


class Told(BaseModel):
    """What bears on a question."""

    text: str = Field(description="Facts and passages; the numbers in brackets are those of the citations.")
    citations: dict[int, list[str]] = Field(description="The quads that say each fact; a graph is in the fourth place.")
    entities: list[str] = Field(description="The entities that the question names, or that were found.")
    left_out: int = Field(description="Quads that were looked at, and are not told.")
    notes: list[str]


class Briefed(BaseModel):
    """What a query of a question takes."""

    text: str = Field(description="Entities, classes and predicates with their ends, and the prefixes.")
    query: str | None = Field(description="The query that was derived from the question, if one was.")


class MentionShown(BaseModel):
    """A part of a text that names an entity."""

    text: str
    start: int = Field(description="Its first character.")
    end: int = Field(description="The character behind it.")
    iri: str
    label: str | None
    confidence: float
    namesakes: list[str] = Field(description="Others that bear the name.")


class Mentioned(BaseModel):
    """Which entities a text names."""

    mentions: list[MentionShown]
    notes: list[str]


class EvidenceShown(BaseModel):
    """What speaks for a claim, or against it."""

    rule: str
    score: float
    message: str
    quads: list[str] = Field(description="What it rests on; a named graph is in the fourth place.")
    revisions: list[int] = Field(description="The revisions that added these quads.")


class Verified(BaseModel):
    """Whether a claim holds."""

    outcome: str = Field(description="supported, contradicted or unknown")
    revision: int
    supporting: list[EvidenceShown]
    contradicting: list[EvidenceShown]
    undecided: list[str]
    odd: list[str]
    notes: list[str]


class Solutions(BaseModel):
    """What a query gave: rows of a SELECT, the truth of an ASK, or triples of a CONSTRUCT or DESCRIBE."""

    form: str = Field(description="select, ask or construct")
    variables: list[str]
    rows: list[list[str | None]] = Field(description="Terms as in Turtle; null where unbound.")
    truth: bool | None
    total: int = Field(description="How many rows or triples there are in all.")
    notes: list[str]


class PropertyShown(BaseModel):
    """What an entity has under one predicate."""

    predicate: str
    label: str
    values: list[str]
    sources: list[str] = Field(description="For each value the revisions that said it, in which graphs: r3 <graph>.")
    count: int


class Described(BaseModel):
    """What the world says of an entity."""

    iri: str
    label: str | None
    types: list[str]
    description: str | None
    properties: list[PropertyShown]
    incoming: list[PropertyShown] = Field(description="The triples that point to it, by predicate.")
    notes: list[str]


class ClassShown(BaseModel):
    """A class."""

    iri: str
    label: str | None
    instances: int
    examples: list[str]


class PredicateShown(BaseModel):
    """A predicate."""

    iri: str
    label: str
    quads: int
    subjects: int
    of: list[str] = Field(description="Classes that its subjects have.")
    objects: list[str] = Field(description="What its objects are: classes, IRI, datatypes, @languages.")
    examples: list[str]


class Overview(BaseModel):
    """What the data look like."""

    revision: int
    quads: int
    prefixes: dict[str, str]
    classes: list[ClassShown]
    class_count: int
    predicates: list[PredicateShown]
    predicate_count: int
    graphs: dict[str, int]
    languages: dict[str, int]
    notes: list[str]


class CandidateShown(BaseModel):
    """An entity that a name may mean."""

    iri: str
    label: str | None
    types: list[str]
    confidence: float = Field(description="The chance that it is meant, from 0 to 1.")
    matched: str
    kind: str = Field(description="How the name fits: exact, alias, prefix, fuzzy or semantic.")
    apart: str | None = Field(default=None, description="A fact that tells it from others of its label.")


class ResolutionShown(BaseModel):
    """Whom one name means."""

    name: str
    outcome: str = Field(description="match, ambiguous or no match")
    candidates: list[CandidateShown]


class Resolved(BaseModel):
    """Whom names mean."""

    names: list[ResolutionShown]
    notes: list[str]


class EntryShown(BaseModel):
    """One revision."""

    revision: int
    time: str
    author: str | None
    message: str | None
    added: int
    removed: int
    created: int
    dropped: int
    undone_by: int | None


class SaidShown(BaseModel):
    """A quad, and the revisions that added and removed it."""

    quad: str
    added: EntryShown | None
    removed: EntryShown | None


class Said(BaseModel):
    """Who said what."""

    quads: list[SaidShown]
    notes: list[str]


class Changes(BaseModel):
    """Revisions, newest first, or what one of them did."""

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


class Violations(BaseModel):
    """What violates the world's shapes."""

    conforms: bool
    count: int
    results: list[ViolationShown]
    notes: list[str]


class FieldShown(BaseModel):
    """A predicate that an entity has or could have; `takes` is how many values, `of` their datatype or classes."""

    predicate: str
    label: str
    takes: str
    of: list[str]
    choices: list[str]
    declared: bool
    values: list[str]
    problems: list[str]


class FormShown(BaseModel):
    """The fields of an entity, those that a shape declares first."""

    iri: str | None
    types: list[str]
    graph: str | None
    fields: list[FieldShown]
    problems: list[str]
    notes: list[str]


class Became(BaseModel):
    """What became of a fact that was told."""

    fact: list[str]
    became: str = Field(description="written, known, proposed or refused.")
    why: str | None
    proposal: int | None
    new: list[str] = Field(description="Entities that were made for it.")


class FactsTold(BaseModel):
    """What became of facts that were told by name."""

    revision: int | None
    facts: list[Became]
    notes: list[str]


class Written(BaseModel):
    """What a write did."""

    revision: int | None = Field(description="The revision that holds the change; null when nothing changed.")
    added: int
    removed: int
    notes: list[str]


class Run(BaseModel):
    """What a run of a source came to: how many files are new, changed, moved and deleted."""

    source: str
    revision: int | None
    new: int
    changed: int
    moved: int
    deleted: int
    errors: list[str] = Field(description="Files that could not be read.")
    notes: list[str]


class Runs(BaseModel):
    """The runs of sources."""

    runs: list[Run]


def plain(answer: BaseModel) -> dict[str, Any]:
    """The answer as JSON-ready values."""
    return answer.model_dump(mode="json")
