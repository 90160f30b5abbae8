"""The report of a validation: its results as objects, as SHACL's own graph, as rows and text, with their messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from worlds.extras.shapes.nodes import sh
from worlds.extras.shapes.paths import PropertyPath
from worlds.extras.shapes.shapes import RDFS, Constraint, LeftOut, Shape
from worlds.graph.query.results import Triples as GraphTriples
from worlds.graph.records import Plain, Record
from worlds.graph.terms import RDF, XSD, format_term, listed, shorten, to_rdflib

if TYPE_CHECKING:
    import rdflib

_KINDS = {"IRI": "an IRI", "BlankNode": "a blank node", "Literal": "a literal"}
_LISTED = 5  # members that a sentence names
_SAYS = {
    "Class": "is not an instance of {}",
    "Datatype": "is not a well-formed {}",
    "MinLength": "has fewer than {} characters",
    "MaxLength": "has more than {} characters",
    "MinExclusive": "is not more than {}",
    "MinInclusive": "is not {} or more",
    "MaxExclusive": "is not less than {}",
    "MaxInclusive": "is not {} or less",
    "HasValue": "the value {} is missing",
    "Equals": "is a value of this path or of {}, but not of both",
    "Disjoint": "is a value of {}, too, which it must not be",
    "LessThan": "is not less than every value of {}",
    "LessThanOrEquals": "is more than a value of {}, or cannot be compared with it",
    "UniqueLang": "several values are in the same language",
    "And": "does not conform to every shape of sh:and",
    "Or": "conforms to no shape of sh:or",
    "Xone": "does not conform to exactly one shape of sh:xone",
}
_IRI = re.compile(r"<([^<>]*)>")


def sentence(constraint: Constraint, value: Any, predicate: Any, prefixes: Mapping[str, str]) -> str:
    """The message of a result: on the value, if it is wrong, and on the predicate that a closed shape forbids."""
    name, asked = constraint.component, constraint.value

    def short(term: Any) -> str:
        return format_term(term, prefixes)

    def shape(one: Shape) -> str:
        return short(one.term) if isinstance(one.term, ox.NamedNode) else "the shape inside"

    if name == "MinCount":
        return "a value is missing" if asked == 1 else f"fewer than {asked} values"
    if name in ("MaxCount", "QualifiedMaxCount", "QualifiedMinCount"):
        return _count(name, asked, shape)
    if name == "SPARQL":
        return f"the query of {short(asked.term) if isinstance(asked.term, ox.NamedNode) else 'the shape'} finds it"
    said = {
        "Closed": lambda: f"{short(predicate)} is not allowed here, but has this value: the shape is closed",
        "Node": lambda: f"does not conform to {shape(asked)}",
        "Not": lambda: f"conforms to {shape(asked)}, which it must not",
        "NodeKind": lambda: "is not " + " or ".join(_KINDS[kind] for kind in sorted(asked)),
        "Pattern": lambda: f"does not match {asked[0]!r}" + (f" (flags {asked[1]})" if asked[1] else ""),
        "LanguageIn": lambda: f"is in none of the languages {', '.join(asked)}",
        "In": lambda: f"is none of the values allowed: {listed(asked, _LISTED, short)}",
    }
    if name in said:
        told = said[name]()
    elif name in _SAYS:
        told = _SAYS[name].format(short(asked) if not isinstance(asked, int | tuple) else asked)
    else:
        told = f"violates {short(constraint.iri)}"
    return told if value is None or name == "Closed" else f"{short(value)} {told}"


def _count(name: str, asked: Any, shape: Any) -> str:
    if name == "MaxCount":
        return "no value is allowed" if asked == 0 else "more than one value" if asked == 1 else f"over {asked} values"
    inner, least, most, _ = asked
    if name == "QualifiedMinCount":
        return f"fewer than {least} {'value conforms' if least == 1 else 'values conform'} to {shape(inner)}"
    return f"more than {most} {'value conforms' if most == 1 else 'values conform'} to {shape(inner)}"


@dataclass(frozen=True)
class Result(Record):
    """One result of a validation (SHACL, section 3.6); terms are rdflib's.

    `path` is a property path as SPARQL writes it, None for a node shape's result; `quads` are those that bear it out:
    (subject, predicate, object, graph or None, revision that added it). `new` is true in the report of a write that
    was validated: the write brought the violation.
    """

    severity: str  # "Violation", "Warning", "Info", or an IRI
    focus: Plain
    path: str | None
    value: Plain | None  # None where no single value is wrong
    component: str  # the constraint component's IRI
    shape: Plain
    message: str
    quads: tuple[tuple[Plain, Plain, Plain, Plain | None, int], ...] = ()
    new: bool = False
    _untold = ("new",)


class ValidationReport(Record):
    """The report of a validation. True where the data conform and all shapes were checked; iterates over its results.

    `results` are ordered by shape, then by focus node. `left_out` are the shapes that cannot be checked. `notes` name
    the target classes that have no instances.
    """

    results: tuple[Result, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...] = ()
    _also = ("conforms", "results", "left_out", "notes")

    def __init__(
        self,
        results: Sequence[Result],
        graph: Sequence[ox.Triple],
        prefixes: Mapping[str, str],
        left_out: Sequence[LeftOut] = (),
    ) -> None:
        self.results = tuple(results)
        self.left_out = tuple(left_out)
        self._graph = graph
        self._prefixes = prefixes

    @property
    def conforms(self) -> bool:
        """Whether there is no result, of whatever severity (SHACL, section 3.6.1.1)."""
        return not self.results

    def __bool__(self) -> bool:
        return self.conforms and not self.left_out

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Any:
        return iter(self.results)

    def __repr__(self) -> str:
        left_out = f", {len(self.left_out)} shapes left out" if self.left_out else ""
        return f"<ValidationReport: {'conforms' if self.conforms else f'{len(self.results)} results'}{left_out}>"

    def __str__(self) -> str:
        lines = ["the data conform"] if self.conforms else [*map(self.line, self.results)]
        return "\n".join([*lines, *map(str, self.left_out), *self.notes])

    def line(self, result: Result) -> str:
        """A result in one line: severity, focus node, path and message."""
        path = f" {self._path(result)}" if result.path else ""
        return f"{result.severity}: {self._short(result.focus)}{path}: {result.message}"

    def _short(self, term: Any) -> str:
        """As a person reads it: a literal is its text."""
        return str(term) if hasattr(term, "datatype") else shorten(str(term), self._prefixes)

    def _path(self, result: Result) -> str:
        return _IRI.sub(lambda match: shorten(match[1], self._prefixes), result.path or "")

    def rows(self) -> list[tuple[str, str, str, str, str, str]]:
        """The results as a table: severity, focus node, path, value, message, revisions of the quads."""
        return [
            (
                one.severity,
                self._short(one.focus),
                self._path(one),
                "" if one.value is None else self._short(one.value),
                one.message,
                ", ".join(str(number) for number in sorted({quad[4] for quad in one.quads})),
            )
            for one in self.results
        ]

    def to_dicts(self) -> list[dict[str, Any]]:
        """The results as rows of JSON-ready values."""
        return [one.to_dict() for one in self.results]

    @property
    def triples(self) -> GraphTriples:
        """The report as a graph of SHACL's vocabulary, to be serialised."""
        return GraphTriples(list(self._graph), self._prefixes)

    def to_rdflib(self) -> rdflib.Graph:
        """The report as an rdflib graph of SHACL's vocabulary."""
        return self.triples.to_rdflib()


@dataclass(frozen=True)
class RawResult:
    """One result before it is shown; terms are pyoxigraph's, `predicate` is that of a closed shape's result."""

    shape: Shape
    constraint: Constraint
    focus: Any
    value: Any
    predicate: Any
    said: str | None = None  # by a SPARQL constraint

    @property
    def path(self) -> PropertyPath | None:
        """The path of the result."""
        if self.predicate is not None:
            return PropertyPath("predicate", predicate=self.predicate)
        return self.shape.path

    def message(self, prefixes: Mapping[str, str]) -> str:
        """The shape's message, English first, or a sentence on the fault."""
        if self.said is not None:
            return self.said
        if self.shape.messages:
            ranked = sorted(self.shape.messages, key=lambda one: (one.language or "en") != "en")
            return ranked[0].value
        return sentence(self.constraint, self.value, self.predicate, prefixes)


def report_graph(found: Sequence[RawResult], messages: Sequence[str], left_out: Sequence[LeftOut]) -> list[ox.Triple]:
    """The triples of a validation report (SHACL, section 3.6); unsupported shapes are named in its rdfs:comment."""
    rdf_type = ox.NamedNode(RDF + "type")
    report = ox.BlankNode()
    boolean = ox.Literal("false" if found else "true", datatype=ox.NamedNode(XSD + "boolean"))
    triples = [ox.Triple(report, rdf_type, sh("ValidationReport")), ox.Triple(report, sh("conforms"), boolean)]
    comment = ox.NamedNode(RDFS + "comment")
    triples += [ox.Triple(report, comment, ox.Literal(str(one))) for one in left_out]
    for one, message in zip(found, messages, strict=True):
        result = ox.BlankNode()
        triples += [
            ox.Triple(report, sh("result"), result),
            ox.Triple(result, rdf_type, sh("ValidationResult")),
            ox.Triple(result, sh("focusNode"), one.focus),
            ox.Triple(result, sh("resultSeverity"), one.shape.severity),
            ox.Triple(result, sh("sourceConstraintComponent"), one.constraint.iri),
            ox.Triple(result, sh("sourceShape"), one.shape.term),
        ]
        texts = (ox.Literal(message),) if one.said is not None else one.shape.messages or (ox.Literal(message),)
        triples += [ox.Triple(result, sh("resultMessage"), text) for text in texts]
        if one.value is not None:
            triples.append(ox.Triple(result, sh("value"), one.value))
        if one.constraint.component == "SPARQL":
            triples.append(ox.Triple(result, sh("sourceConstraint"), one.constraint.value.term))
        if one.path is not None:
            node, more = _path_graph(one.path)
            triples += [ox.Triple(result, sh("resultPath"), node), *more]
    return triples


def _path_graph(path: PropertyPath) -> tuple[Any, list[ox.Triple]]:
    """A node that stands for a path, and the triples about it."""
    if path.kind == "predicate":
        return path.predicate, []
    parts = [_path_graph(part) for part in path.parts]
    triples = [triple for _, more in parts for triple in more]
    nodes = [node for node, _ in parts]
    if path.kind in ("sequence", "alternative"):
        head: Any = ox.NamedNode(RDF + "nil")
        for node in reversed(nodes):
            cell = ox.BlankNode()
            triples += [
                ox.Triple(cell, ox.NamedNode(RDF + "first"), node),
                ox.Triple(cell, ox.NamedNode(RDF + "rest"), head),
            ]
            head = cell
        if path.kind == "sequence":
            return head, triples
        nodes = [head]
    name = {
        "alternative": "alternativePath",
        "inverse": "inversePath",
        "*": "zeroOrMorePath",
        "+": "oneOrMorePath",
        "?": "zeroOrOnePath",
    }[path.kind]
    node = ox.BlankNode()
    return node, [*triples, ox.Triple(node, sh(name), nodes[0])]


def as_results(
    found: Sequence[RawResult],
    messages: Sequence[str],
    quads: Sequence[tuple[tuple[Any, Any, Any, Any, int], ...]],
    *,
    new: bool,
) -> list[Result]:
    """The results as they are shown."""
    return [
        Result(
            severity=one.shape.severity.value.removeprefix("http://www.w3.org/ns/shacl#"),
            focus=to_rdflib(one.focus),
            path=None if one.path is None else str(one.path),
            value=None if one.value is None else to_rdflib(one.value),
            component=one.constraint.iri.value,
            shape=to_rdflib(one.shape.term),
            message=message,
            quads=held,
            new=new,
        )
        for one, message, held in zip(found, messages, quads, strict=True)
    ]
