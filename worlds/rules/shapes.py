"""SHACL shapes, read from their graph and checked for what cannot be (SHACL, https://www.w3.org/TR/shacl/)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyoxigraph as ox

from worlds.errors import ShapesError
from worlds.graph.terms import RDF, format_term
from worlds.rules.paths import Path
from worlds.rules.sparql import SparqlConstraint

SH = "http://www.w3.org/ns/shacl#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
RDF_TYPE = ox.NamedNode(RDF + "type")
SUBCLASS_OF = ox.NamedNode(RDFS + "subClassOf")
_OWL_CLASS = ox.NamedNode("http://www.w3.org/2002/07/owl#Class")
_NIL = ox.NamedNode(RDF + "nil")

_TARGETS = ("targetNode", "targetClass", "targetSubjectsOf", "targetObjectsOf")
_OF_SHAPES = ("node", "property", "not", "qualifiedValueShape")  # parameters whose values are shapes
_OF_LISTS = ("and", "or", "xone")  # … are lists of shapes
_SINGLE = (  # parameters that a shape has once at most
    *("minCount", "maxCount", "minLength", "maxLength", "minExclusive", "minInclusive", "maxExclusive"),
    *("maxInclusive", "datatype", "nodeKind", "pattern", "flags", "uniqueLang", "languageIn", "in", "closed"),
    *("ignoredProperties", "qualifiedMinCount", "qualifiedMaxCount", "qualifiedValueShapesDisjoint"),
)
_WHOLE = ("minCount", "maxCount", "minLength", "maxLength", "qualifiedMinCount", "qualifiedMaxCount")
_BOOLEAN = ("uniqueLang", "closed", "deactivated", "qualifiedValueShapesDisjoint")
_OF_PATHS = ("minCount", "maxCount", "uniqueLang", "lessThan", "lessThanOrEquals", "qualifiedValueShape")  # need a path
_PLAIN = (  # parameters of the other components
    *("class", "equals", "disjoint", "lessThan", "lessThanOrEquals", "hasValue", "sparql"),
    *_SINGLE,
    *_OF_SHAPES,
    *_OF_LISTS,
)
_SILENT = (  # says nothing about what is valid
    *("name", "description", "order", "group", "defaultValue", "message", "severity", "deactivated", "path"),
    *("declare", "prefixes", "shapesGraph", "suggestedShapesGraph", "entailment", "codeIdentifier", "intent"),
    *("agentInstruction", "rule", "values", "select", "ask"),  # the last two of what is a SPARQL constraint, too
)
_DEEPEST = 100  # paths and lists inside one another
_KINDS = {
    **{name: frozenset([name]) for name in ("IRI", "BlankNode", "Literal")},
    "BlankNodeOrIRI": frozenset(["BlankNode", "IRI"]),
    "BlankNodeOrLiteral": frozenset(["BlankNode", "Literal"]),
    "IRIOrLiteral": frozenset(["IRI", "Literal"]),
}


def _local(iri: Any) -> str:
    """The local name of a parameter's predicate, which is the variable that it fills."""
    return re.split(r"[#/:]", iri.value)[-1]


def sh(name: str) -> ox.NamedNode:
    """A name of SHACL's vocabulary."""
    return ox.NamedNode(SH + name)


def _is_pattern(pattern: str, flags: str) -> bool:
    """Whether SPARQL's REGEX takes a pattern and its flags; with others it is an error, and unbound."""
    given = ", ".join(format_term(ox.Literal(part)) for part in ("", pattern, flags))
    (row,) = ox.Store().query(f"SELECT ?met {{ BIND(REGEX({given}) AS ?met) }}")  # type: ignore[misc]  # a SELECT
    return row[0] is not None


@dataclass(frozen=True)
class Constraint:
    """One constraint of a shape: its component's name, as `MinCount`, and its parameter's value."""

    component: str
    value: Any
    component_iri: Any = None  # of a component that the shapes graph declares

    @property
    def iri(self) -> Any:
        """The component's IRI."""
        return self.component_iri or sh(f"{self.component}ConstraintComponent")

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes that it asks its values to conform to."""
        if self.component in ("Node", "Property", "Not"):
            return (self.value,)
        if self.component in ("And", "Or", "Xone"):
            return tuple(self.value)
        if self.component == "Qualified":
            return (self.value[0], *self.value[3])
        return ()


@dataclass(eq=False)
class Shape:
    """A node shape, or with a `path` a property shape."""

    term: Any
    path: Path | None = None
    targets: list[tuple[str, Any]] = field(default_factory=list)  # ("targetClass", IRI) …
    constraints: list[Constraint] = field(default_factory=list)
    severity: Any = field(default_factory=lambda: sh("Violation"))
    messages: tuple[ox.Literal, ...] = ()

    def __str__(self) -> str:
        return format_term(self.term)


@dataclass(frozen=True)
class Closed:
    """The predicates that the nodes of a closed shape may have."""

    allowed: frozenset[Any]


class ShapesGraph:
    """A graph of shapes, by its terms; `shapes` are those with targets. ShapesError for what cannot be checked."""

    def __init__(self, triples: Iterable[Any]) -> None:
        """`triples` have `.subject`, `.predicate` and `.object`, terms of pyoxigraph."""
        self._graph: dict[Any, dict[Any, list[Any]]] = {}
        for triple in triples:
            values = self._graph.setdefault(triple.subject, {}).setdefault(triple.predicate, [])
            if triple.object not in values:
                values.append(triple.object)
        self._read: dict[Any, Shape] = {}
        self._reading: list[Any] = []
        self.components = dict(self._components())
        self.shapes = [shape for shape in map(self.shape, self._roots()) if shape.targets]

    @cached_property
    def asks(self) -> bool:
        """Whether a shape has a SPARQL constraint."""
        return any(
            one.component in ("SPARQL", "Declared") for shape in self._read.values() for one in shape.constraints
        )

    def values(self, term: Any, predicate: Any) -> list[Any]:
        """The objects of a subject and a predicate."""
        return self._graph.get(term, {}).get(predicate, [])

    def _one(self, term: Any, name: str) -> Any:
        found = self.values(term, sh(name))
        if len(found) > 1:
            raise ShapesError(f"{format_term(term)} has {len(found)} values of sh:{name}; it takes one")
        return found[0] if found else None

    # -- which are shapes -----------------------------------------------------------------------------------------

    @cached_property
    def _classes(self) -> set[Any]:
        """What is a class in the shapes graph: an instance of rdfs:Class, of a class below it, or of owl:Class."""
        kinds = {ox.NamedNode(RDFS + "Class"), _OWL_CLASS}
        while more := {
            subject
            for subject, values in self._graph.items()
            if subject not in kinds and not kinds.isdisjoint(values.get(SUBCLASS_OF, ()))
        }:
            kinds |= more
        return {s for s, values in self._graph.items() if not kinds.isdisjoint(values.get(RDF_TYPE, ()))}

    def _roots(self) -> Iterator[Any]:
        """The nodes that have targets, or say that they are shapes."""
        shapes = {sh("NodeShape"), sh("PropertyShape")}
        targets = {sh(name) for name in (*_TARGETS, "target")}
        for subject, values in self._graph.items():
            if not targets.isdisjoint(values) or not shapes.isdisjoint(values.get(RDF_TYPE, ())):
                yield subject

    def _components(self) -> Iterator[tuple[Any, tuple[tuple[Any, bool], ...]]]:
        """The constraint components that the graph declares: IRI → (parameter's predicate, whether it may lack)."""
        validators = {sh(name) for name in ("validator", "nodeValidator", "propertyValidator")}
        for subject, values in self._graph.items():
            declared = sh("ConstraintComponent") in values.get(RDF_TYPE, ()) or not validators.isdisjoint(values)
            if sh("parameter") in values and declared:
                yield (
                    subject,
                    tuple(
                        (self._one(parameter, "path"), self._boolean(parameter, "optional"))
                        for parameter in values[sh("parameter")]
                    ),
                )

    # -- one shape ------------------------------------------------------------------------------------------------

    def shape(self, term: Any) -> Shape:
        """The shape that a node stands for."""
        if term in self._read:
            return self._read[term]
        if term in self._reading:
            names = " → ".join(map(format_term, [*self._reading[self._reading.index(term) :], term]))
            raise ShapesError(f"a shape that refers to itself cannot be checked: {names}")
        self._reading.append(term)
        try:
            found = self._read[term] = self._shape(term)
        finally:
            self._reading.pop()
        return found

    def _shape(self, term: Any) -> Shape:
        values = self._graph.get(term, {})
        if isinstance(term, ox.Literal):
            raise ShapesError(f"{format_term(term)} stands for a shape, but is a literal")
        path = self._one(term, "path")
        shape = Shape(term, None if path is None else self.path(path))
        if self._boolean(term, "deactivated"):
            return shape
        self._refuse_unknown(shape, values)
        shape.severity = self._one(term, "severity") or shape.severity
        shape.messages = tuple(value for value in values.get(sh("message"), ()) if isinstance(value, ox.Literal))
        shape.targets = [(name, value) for name in _TARGETS for value in values.get(sh(name), ())]
        kinds = values.get(RDF_TYPE, ())
        if (
            isinstance(term, ox.NamedNode)
            and term in self._classes
            and (sh("NodeShape") in kinds or sh("PropertyShape") in kinds)
        ):
            shape.targets.append(("targetClass", term))
        shape.constraints = list(self._constraints(shape, values))
        return shape

    def _refuse_unknown(self, shape: Shape, values: Mapping[Any, list[Any]]) -> None:
        for predicate in values:
            name = predicate.value.removeprefix(SH)
            if name != predicate.value and name not in (*_PLAIN, *_SILENT, *_TARGETS):
                declared = any(predicate == path for ones in self.components.values() for path, _ in ones)
                if not declared:
                    raise ShapesError(f"the shape {shape} has sh:{name}, which cannot be checked")
            if shape.path is None and name in _OF_PATHS and name != predicate.value:
                raise ShapesError(f"the shape {shape} has sh:{name}, which needs an sh:path")

    def _constraints(self, shape: Shape, values: Mapping[Any, list[Any]]) -> Iterator[Constraint]:
        term = shape.term
        for name in _SINGLE:
            self._one(term, name)
        for name in ("class", "datatype", "equals", "disjoint", "lessThan", "lessThanOrEquals"):
            for value in values.get(sh(name), ()):
                yield Constraint(name[0].upper() + name[1:], self._iri(term, name, value))
        for name in ("minCount", "maxCount", "minLength", "maxLength"):
            if (count := self._whole(term, name)) is not None:
                yield Constraint(name[0].upper() + name[1:], count)
        for name in ("minExclusive", "minInclusive", "maxExclusive", "maxInclusive"):
            if (bound := self._one(term, name)) is not None:
                yield Constraint(name[0].upper() + name[1:], self._literal(term, name, bound))
        if (kind := self._one(term, "nodeKind")) is not None:
            name = kind.value.removeprefix(SH) if isinstance(kind, ox.NamedNode) else ""
            if name not in _KINDS:
                raise ShapesError(f"{shape}: sh:nodeKind is one of {', '.join(_KINDS)}, not {format_term(kind)}")
            yield Constraint("NodeKind", _KINDS[name])
        if (pattern := self._one(term, "pattern")) is not None:
            flags = self._one(term, "flags")
            given = (self._literal(term, "pattern", pattern).value, flags.value if flags else "")
            if not _is_pattern(*given):
                raise ShapesError(
                    f"{shape}: {given[0]!r} with the flags {given[1]!r} is no regular expression of SPARQL"
                )
            yield Constraint("Pattern", given)
        if (tags := self._one(term, "languageIn")) is not None:
            yield Constraint("LanguageIn", tuple(tag.value for tag in self.list(tags)))
        unique = self._one(term, "uniqueLang")
        if self._boolean(term, "uniqueLang") and unique.value == "true":  # the literal, not its value: section 4.4.5
            yield Constraint("UniqueLang", True)
        for value in values.get(sh("hasValue"), ()):
            yield Constraint("HasValue", value)
        if (members := self._one(term, "in")) is not None:
            yield Constraint("In", tuple(self.list(members)))
        if self._boolean(term, "closed"):
            yield Constraint("Closed", self._closed(term))
        for name in ("node", "property", "not"):
            for value in values.get(sh(name), ()):
                found = self.shape(value)
                if name == "property" and found.path is None:
                    raise ShapesError(f"{shape}: the value of sh:property {found} has no sh:path")
                yield Constraint(name.capitalize(), found)
        for name in _OF_LISTS:
            for value in values.get(sh(name), ()):
                yield Constraint(name.capitalize(), tuple(self.shape(member) for member in self.list(value)))
        yield from self._qualified(shape)
        for value in values.get(sh("sparql"), ()):
            if not self._boolean(value, "deactivated"):
                yield Constraint("SPARQL", self._sparql(shape, value, "select", (), own=True))
        for component, parameters in self.components.items():
            if all(optional or path in values for path, optional in parameters) and any(
                path in values for path, _ in parameters
            ):
                yield from self._declared(shape, component, parameters, values)

    def _declared(
        self, shape: Shape, component: Any, parameters: Sequence[tuple[Any, bool]], values: Mapping[Any, list[Any]]
    ) -> Iterator[Constraint]:
        """The constraints of a component that the graph declares (SHACL, section 6)."""
        given = [(_local(path), values[path]) for path, _ in parameters if path in values]
        if len(parameters) > 1 and any(len(several) > 1 for _, several in given):
            raise ShapesError(
                f"{shape} has several values of a parameter of {format_term(component)}, which has others"
            )
        for validator, kind in (
            *(
                (one, "select")
                for one in self.values(component, sh(f"{'node' if shape.path is None else 'property'}Validator"))
            ),
            *((one, "ask") for one in self.values(component, sh("validator"))),
        ):
            for combined in itertools.product(*([(name, value) for value in several] for name, several in given)):
                value = self._sparql(shape, validator, kind, tuple(combined))
                yield Constraint("Declared", value, component)
            return
        raise ShapesError(f"{format_term(component)}, which {shape} uses, has no validator for it")

    def _sparql(
        self, shape: Shape, term: Any, kind: str, parameters: tuple[tuple[str, Any], ...], *, own: bool = False
    ) -> SparqlConstraint:
        text = self._one(term, kind)
        if not isinstance(text, ox.Literal):
            raise ShapesError(f"{format_term(term)}, of {shape}, has no sh:{kind}, which alone can be checked")
        messages = tuple(one for one in self.values(term, sh("message")) if isinstance(one, ox.Literal))
        given = (("currentShape", shape.term), *parameters)
        constraint = SparqlConstraint(
            term, text.value, kind == "ask", tuple(self.prefixes(term).items()), given, messages, shape.path, own
        )
        constraint.expect()
        return constraint

    def _closed(self, term: Any) -> Closed:
        allowed = set(self.list(ignored)) if (ignored := self._one(term, "ignoredProperties")) is not None else set()
        for value in self.values(term, sh("property")):
            path = self._one(value, "path")
            if isinstance(path, ox.NamedNode):
                allowed.add(path)
        return Closed(frozenset(allowed))

    def _qualified(self, shape: Shape) -> Iterator[Constraint]:
        term = shape.term
        least, most = self._whole(term, "qualifiedMinCount"), self._whole(term, "qualifiedMaxCount")
        for value in self.values(term, sh("qualifiedValueShape")):
            disjoint = self._boolean(term, "qualifiedValueShapesDisjoint")
            siblings = tuple(self._siblings(term, value)) if disjoint else ()
            yield Constraint("Qualified", (self.shape(value), least, most, siblings))

    def _siblings(self, term: Any, own: Any) -> Iterator[Shape]:
        """The other qualified value shapes of the shapes that a property shape belongs to."""
        found = {}
        for values in self._graph.values():
            properties = values.get(sh("property"), ())
            if term in properties:
                for other in properties:
                    found.update(dict.fromkeys(self.values(other, sh("qualifiedValueShape"))))
        found.pop(own, None)
        return map(self.shape, found)

    # -- values ---------------------------------------------------------------------------------------------------

    def list(self, head: Any) -> list[Any]:
        """The members of an rdf:List; ShapesError for what is none."""
        members: list[Any] = []
        seen = set()
        while head != _NIL:
            first, rest = (self.values(head, ox.NamedNode(RDF + name)) for name in ("first", "rest"))
            if head in seen or len(first) != 1 or len(rest) != 1:
                raise ShapesError(f"{format_term(head)} is no well-formed list")
            seen.add(head)
            members.append(first[0])
            head = rest[0]
        return members

    def path(self, term: Any, depth: int = 0) -> Path:
        """The property path that a node stands for."""
        if isinstance(term, ox.NamedNode):
            return Path("predicate", predicate=term, term=term)
        if depth > _DEEPEST or not isinstance(term, ox.BlankNode):
            raise ShapesError(f"{format_term(term)} is no property path")

        def inner(member: Any) -> Path:
            return self.path(member, depth + 1)

        if self.values(term, ox.NamedNode(RDF + "first")):
            members = self.list(term)
            if len(members) < 2:
                raise ShapesError(f"{format_term(term)}: a path that is a list has two members at least")
            return Path("sequence", tuple(map(inner, members)), term=term)
        makers: dict[str, Callable[[Any], Path]] = {
            "inversePath": lambda value: Path("inverse", (inner(value),), term=term),
            "alternativePath": lambda value: Path("alternative", tuple(map(inner, self.list(value))), term=term),
            "zeroOrMorePath": lambda value: Path("*", (inner(value),), term=term),
            "oneOrMorePath": lambda value: Path("+", (inner(value),), term=term),
            "zeroOrOnePath": lambda value: Path("?", (inner(value),), term=term),
        }
        for name, make in makers.items():
            if (value := self._one(term, name)) is not None:
                return make(value)
        raise ShapesError(f"{format_term(term)} is no property path")

    def _boolean(self, term: Any, name: str) -> bool:
        value = self._one(term, name)
        if value is None:
            return False
        if not isinstance(value, ox.Literal) or value.value not in ("true", "false", "1", "0"):
            raise ShapesError(f"{format_term(term)}: sh:{name} is true or false, not {format_term(value)}")
        return value.value in ("true", "1")

    def _whole(self, term: Any, name: str) -> int | None:
        value = self._one(term, name)
        if value is None:
            return None
        if not isinstance(value, ox.Literal) or not value.value.removeprefix("+").isdecimal():
            raise ShapesError(f"{format_term(term)}: sh:{name} is a whole number, not {format_term(value)}")
        return int(value.value)

    def _iri(self, term: Any, name: str, value: Any) -> Any:
        if not isinstance(value, ox.NamedNode) and not (name == "class" and isinstance(value, ox.BlankNode)):
            raise ShapesError(f"{format_term(term)}: sh:{name} is an IRI, not {format_term(value)}")
        return value

    def _literal(self, term: Any, name: str, value: Any) -> ox.Literal:
        if not isinstance(value, ox.Literal):
            raise ShapesError(f"{format_term(term)}: sh:{name} is a literal, not {format_term(value)}")
        return value

    # -- SPARQL ---------------------------------------------------------------------------------------------------

    def prefixes(self, term: Any) -> dict[str, str]:
        """The prefixes that a SPARQL constraint or validator declares by sh:prefixes (section 5.2.1)."""
        found: dict[str, str] = {}
        owl_imports = ox.NamedNode("http://www.w3.org/2002/07/owl#imports")
        waiting, seen = list(self.values(term, sh("prefixes"))), set()
        while waiting:
            ontology = waiting.pop()
            if ontology in seen:
                continue
            seen.add(ontology)
            waiting += self.values(ontology, owl_imports)
            for declaration in self.values(ontology, sh("declare")):
                prefix, namespace = self._one(declaration, "prefix"), self._one(declaration, "namespace")
                if prefix is None or namespace is None:
                    raise ShapesError(f"{format_term(ontology)}: sh:declare has an sh:prefix and an sh:namespace")
                found[prefix.value] = namespace.value
        return found
