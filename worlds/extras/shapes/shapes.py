"""SHACL shapes, read from their graph and checked for what cannot be (SHACL, https://www.w3.org/TR/shacl/)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyoxigraph as ox

from worlds.errors import ShapesError
from worlds.extras.shapes.nodes import RDF_TYPE, SH, TARGETS, Nodes, near, sh, wrong
from worlds.extras.shapes.paths import PropertyPath
from worlds.extras.shapes.sparql import SparqlConstraint
from worlds.graph.query.regular_expressions import PatternError, UnsupportedPatternError, translated
from worlds.graph.records import Record
from worlds.graph.terms import format_term, listed, local_name

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SUBCLASS_OF = ox.NamedNode(RDFS + "subClassOf")
_OWL_CLASS = ox.NamedNode("http://www.w3.org/2002/07/owl#Class")

_OF_SHAPES = ("node", "property", "not", "qualifiedValueShape")  # parameters whose values are shapes
_OF_LISTS = ("and", "or", "xone")  # … are lists of shapes
_SINGLE = (  # parameters that a shape has once at most
    *("minCount", "maxCount", "minLength", "maxLength", "minExclusive", "minInclusive", "maxExclusive"),
    *("maxInclusive", "datatype", "nodeKind", "pattern", "flags", "uniqueLang", "languageIn", "in", "closed"),
    *("ignoredProperties", "qualifiedMinCount", "qualifiedMaxCount", "qualifiedValueShapesDisjoint"),
)
_OF_PATHS = ("minCount", "maxCount", "uniqueLang", "lessThan", "lessThanOrEquals", "qualifiedValueShape")  # need a path
PLAIN = (  # parameters of the other components
    *("class", "equals", "disjoint", "lessThan", "lessThanOrEquals", "hasValue", "sparql"),
    *_SINGLE,
    *_OF_SHAPES,
    *_OF_LISTS,
)
SILENT = (  # says nothing about what is valid
    *("name", "description", "order", "group", "defaultValue", "message", "severity", "deactivated", "path"),
    *("declare", "prefixes", "shapesGraph", "suggestedShapesGraph", "entailment", "codeIdentifier", "intent"),
    *("agentInstruction", "rule", "values", "select", "ask"),  # the last two of what is a SPARQL constraint, too
)
_TOLD = 5  # shapes that a sentence names
_KINDS = {
    **{name: frozenset([name]) for name in ("IRI", "BlankNode", "Literal")},
    "BlankNodeOrIRI": frozenset(["BlankNode", "IRI"]),
    "BlankNodeOrLiteral": frozenset(["BlankNode", "Literal"]),
    "IRIOrLiteral": frozenset(["IRI", "Literal"]),
}


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
    path: PropertyPath | None = None
    targets: list[tuple[str, Any]] = field(default_factory=list)  # ("targetClass", IRI) …
    constraints: list[Constraint] = field(default_factory=list)
    severity: Any = field(default_factory=lambda: sh("Violation"))
    messages: tuple[ox.Literal, ...] = ()

    @property
    def inner(self) -> list[Shape]:
        """The shapes that it refers to."""
        return [inner for constraint in self.constraints for inner in constraint.shapes]


@dataclass(frozen=True)
class Closed:
    """The predicates that the nodes of a closed shape may have."""

    allowed: frozenset[Any]


@dataclass(frozen=True)
class LeftOut(Record):
    """A shape, or a component, that is not checked: the name of its node, and the reason."""

    shape: str
    reason: str

    def __str__(self) -> str:
        return f"not checked: {self.shape}: {self.reason}"


def told(left_out: Sequence[LeftOut]) -> str:
    """The shapes that are left out, each with the reason."""
    return listed(left_out, _TOLD, lambda one: f"{one.shape}: {one.reason}", "; ")


class ShapesGraph(Nodes):
    """A graph of shapes; `shapes` are the shapes with targets that can be checked.

    What cannot be checked is left out, and `left_out` says of each shape why: it is ill-formed, it refers to itself, or
    it refers to one that is left out. Only sh:property is left out by itself: the rest of the shape is checked, but no
    other shape that asks for conformance to it, which is not known.
    """

    def __init__(self, triples: Iterable[Any]) -> None:
        """`triples` have `.subject`, `.predicate` and `.object`, terms of pyoxigraph."""
        super().__init__(triples)
        self._why: dict[Any, str] = {}  # what is left out: a shape's node, or a component's → the reason
        self._partly: set[Shape] = set()  # shapes of which a property shape is left out
        self._read: dict[Any, Shape] = {}
        self.components = dict(self._components())
        self._declared_by = {path: one for one, parameters in self.components.items() for path, _ in parameters}
        roots = [self._shape(term) for term in self._roots()]
        unread = list(self._read.values())
        while unread:
            known = len(self._read)
            self._fill(unread.pop())
            unread += list(self._read.values())[known:]
        self.order = self._ordered()
        self.shapes = [shape for shape in roots if shape.targets]

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """The shapes that are not checked, each with the reason."""
        return tuple(LeftOut(self.name(term), why) for term, why in self._why.items())

    @cached_property
    def checked(self) -> frozenset[Any]:
        """The nodes of the shapes with targets that say anything."""
        return frozenset(shape.term for shape in self.shapes if shape.constraints)

    @cached_property
    def asks(self) -> bool:
        """Whether a shape has a SPARQL constraint."""
        return any(one.component in ("SPARQL", "Declared") for shape in self.order for one in shape.constraints)

    # -- which are shapes -----------------------------------------------------------------------------------------

    @cached_property
    def _classes(self) -> set[Any]:
        """The classes in the shapes graph: instances of rdfs:Class, of a class below it, or of owl:Class."""
        kinds = {ox.NamedNode(RDFS + "Class"), _OWL_CLASS}
        while more := {
            subject
            for subject, values in self._graph.items()
            if subject not in kinds and not kinds.isdisjoint(values.get(SUBCLASS_OF, ()))
        }:
            kinds |= more
        return {s for s, values in self._graph.items() if not kinds.isdisjoint(values.get(RDF_TYPE, ()))}

    def _roots(self) -> Iterator[Any]:
        """The nodes that have targets, say that they are shapes, or have a name that looks like SHACL's and is none."""
        shapes = {sh("NodeShape"), sh("PropertyShape")}
        targets = {sh(name) for name in (*TARGETS, "target")}
        for subject, values in self._graph.items():
            types = values.get(RDF_TYPE, {})
            if not targets.isdisjoint(values) or not shapes.isdisjoint(types) or any(map(wrong, (*values, *types))):
                yield subject

    def _components(self) -> Iterator[tuple[Any, tuple[tuple[Any, bool], ...]]]:
        """The constraint components that the graph declares: IRI → (parameter's predicate, whether it may lack)."""
        validators = {sh(name) for name in ("validator", "nodeValidator", "propertyValidator")}
        for subject, values in self._graph.items():
            declared = sh("ConstraintComponent") in values.get(RDF_TYPE, ()) or not validators.isdisjoint(values)
            if sh("parameter") in values and declared:
                parameters = []
                for parameter in values[sh("parameter")]:
                    paths = [one for one in self.values(parameter, sh("path")) if isinstance(one, ox.NamedNode)]
                    try:
                        optional = self.boolean(parameter, "optional")
                    except ShapesError:
                        paths, optional = [], False
                    if len(paths) != 1:
                        self._why[subject] = "a parameter has one predicate as its sh:path, and may have sh:optional"
                    parameters += [(path, optional) for path in paths]
                yield subject, tuple(parameters)

    # -- one shape ------------------------------------------------------------------------------------------------

    def _shape(self, term: Any) -> Shape:
        """The shape that a node stands for, which is filled later."""
        if isinstance(term, ox.Literal | ox.Triple):
            raise ShapesError(f"{format_term(term)} is used as a shape, but is a literal or a triple")
        return self._read.setdefault(term, Shape(term))

    def _fill(self, shape: Shape) -> None:
        """Read the constraints of a shape."""
        term, values = shape.term, self._graph.get(shape.term, {})
        try:
            if self.boolean(term, "deactivated"):
                return
            path = self.one(term, "path")
            shape.path = None if path is None else self.path(path)
            self._refuse_unknown(shape, values)
            if (severity := self.one(term, "severity")) is not None:
                shape.severity = self.iri("severity", severity)
            shape.messages = self._messages(term)
            shape.constraints = list(self._constraints(shape, values))
            shape.targets = list(self._targets(term, values))
        except ShapesError as error:
            self._why.setdefault(term, str(error))

    def _messages(self, term: Any) -> tuple[ox.Literal, ...]:
        return tuple(self.text("message", one, language=True) for one in self.values(term, sh("message")))

    def _targets(self, term: Any, values: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
        for name in TARGETS:
            for value in values.get(sh(name), ()):
                yield name, value if name == "targetNode" else self.iri(name, value)
        implied = not {sh("NodeShape"), sh("PropertyShape")}.isdisjoint(values.get(RDF_TYPE, ()))
        if implied and isinstance(term, ox.NamedNode) and term in self._classes:
            yield "targetClass", term

    def _refuse_unknown(self, shape: Shape, values: Mapping[Any, Any]) -> None:
        known = (*PLAIN, *SILENT, *TARGETS)
        for predicate, objects in values.items():
            name = predicate.value.removeprefix(SH)
            own = name != predicate.value
            if own and name not in known and predicate not in self._declared_by:
                what = "sh:{} is not a term of SHACL" if wrong(predicate) else "it has sh:{}, which cannot be checked"
                raise ShapesError(f"{what.format(name)}{near(name, known)}")
            if shape.path is None and own and name in _OF_PATHS:
                raise ShapesError(f"sh:{name} needs an sh:path")
            if broken := self._why.get(self._declared_by.get(predicate)):
                raise ShapesError(f"{format_term(predicate)} belongs to an unsupported component: {broken}")
            for value in objects if (own and name != "nodeKind") or predicate == RDF_TYPE else ():
                if why := wrong(value, datatype=name == "datatype"):
                    raise ShapesError(why)

    # -- which can be checked -------------------------------------------------------------------------------------

    def _ordered(self) -> list[Shape]:
        """The shapes, each after the shapes that it refers to; shapes that cannot be checked lose their constraints.

        Those that a shape refers to come in the order of the last first.
        """
        done: dict[Shape, None] = {}
        for root in self._read.values():
            way: dict[Shape, Iterator[Shape]] = {} if root in done else {root: reversed(root.inner)}
            while way:
                shape, rest = next(reversed(way.items()))
                for inner in rest:
                    if inner in way:
                        self._leave_out_circle(list(way)[list(way).index(inner) :])
                    elif inner not in done:
                        way[inner] = reversed(inner.inner)
                        break
                else:
                    self._settle(shape)
                    done[shape] = None
                    way.popitem()
        return list(done)

    def _leave_out_circle(self, circle: Sequence[Shape]) -> None:
        names = [self.name(one.term) for one in (*circle[:_TOLD], circle[0])]
        if len(circle) > _TOLD:
            names[-1:-1] = ["…"]
        for shape in circle:
            self._why.setdefault(shape.term, f"it refers to itself: {' → '.join(names)}")

    def _settle(self, shape: Shape) -> None:
        """Remove unsupported constraints from a shape, or the shape; referenced shapes are settled before."""
        kept = []
        for constraint in shape.constraints:
            own = constraint.component == "Property"
            for inner in constraint.shapes:
                gone, partly = inner.term in self._why, inner in self._partly
                if own and (gone or partly):
                    self._partly.add(shape)
                elif gone or partly:
                    what = "which is left out" if gone else "of which a property shape is left out"
                    self._why.setdefault(shape.term, f"it refers to {self.name(inner.term)}, {what}")
            if not (own and constraint.value.term in self._why):
                kept.append(constraint)
        shape.constraints = kept
        if shape.term in self._why:
            shape.constraints, shape.targets = [], []

    def _constraints(self, shape: Shape, values: Mapping[Any, Any]) -> Iterator[Constraint]:
        term = shape.term
        for name in _SINGLE:
            self.one(term, name)
        for name in ("class", "datatype", "equals", "disjoint", "lessThan", "lessThanOrEquals"):
            for value in values.get(sh(name), ()):
                yield Constraint(name[0].upper() + name[1:], self.iri(name, value))
        for name in ("minCount", "maxCount", "minLength", "maxLength"):
            if (count := self.whole(term, name)) is not None:
                yield Constraint(name[0].upper() + name[1:], count)
        for name in ("minExclusive", "minInclusive", "maxExclusive", "maxInclusive"):
            if (bound := self.one(term, name)) is not None:
                yield Constraint(name[0].upper() + name[1:], self.literal(name, bound))
        if (kind := self.one(term, "nodeKind")) is not None:
            name = kind.value.removeprefix(SH) if isinstance(kind, ox.NamedNode) else ""
            if name not in _KINDS:
                raise ShapesError(
                    f"sh:nodeKind must be one of {', '.join(_KINDS)}, not {format_term(kind)}{near(name, _KINDS)}"
                )
            yield Constraint("NodeKind", _KINDS[name])
        if (pattern := self.one(term, "pattern")) is not None:
            flags = self.one(term, "flags")
            given = (self.text("pattern", pattern).value, "" if flags is None else self.text("flags", flags).value)
            try:
                translated(*given)
            except (PatternError, UnsupportedPatternError) as error:
                told = f"{given[0]!r} with the flags {given[1]!r} is not a regular expression of SPARQL: {error}"
                raise ShapesError(told) from None
            yield Constraint("Pattern", given)
        if (tags := self.one(term, "languageIn")) is not None:
            given_tags = self.members(tags, "languageIn")
            yield Constraint("LanguageIn", tuple(self.text("languageIn", tag).value for tag in given_tags))
        unique = self.one(term, "uniqueLang")
        if self.boolean(term, "uniqueLang") and unique.value == "true":  # the literal, not its value: section 4.4.5
            yield Constraint("UniqueLang", True)
        for value in values.get(sh("hasValue"), ()):
            yield Constraint("HasValue", value)
        if (members := self.one(term, "in")) is not None:
            yield Constraint("In", tuple(self.members(members, "in")))
        if self.boolean(term, "closed"):
            yield Constraint("Closed", self._closed(term))
        for name in ("node", "property", "not"):
            for value in values.get(sh(name), ()):
                found = self._shape(value)
                if name == "property" and not self.values(value, sh("path")):
                    self._why.setdefault(value, "it is a value of sh:property and has no sh:path")
                yield Constraint(name.capitalize(), found)
        for name in _OF_LISTS:
            for value in values.get(sh(name), ()):
                yield Constraint(name.capitalize(), tuple(map(self._shape, self.members(value, name))))
        yield from self._qualified(shape)
        for value in values.get(sh("sparql"), ()):
            if not self.boolean(value, "deactivated"):
                yield Constraint("SPARQL", self._sparql(shape, value, "select", (), own=True))
        for component, parameters in self.components.items():
            if all(optional or path in values for path, optional in parameters) and any(
                path in values for path, _ in parameters
            ):
                yield from self._declared(shape, component, parameters, values)

    def _declared(
        self, shape: Shape, component: Any, parameters: Sequence[tuple[Any, bool]], values: Mapping[Any, Any]
    ) -> Iterator[Constraint]:
        """The constraints of a component that the graph declares (SHACL, section 6)."""
        given = [(local_name(path), values[path]) for path, _ in parameters if path in values]
        if len(parameters) > 1 and any(len(several) > 1 for _, several in given):
            raise ShapesError(f"it has several values of one parameter of {format_term(component)}, which has others")
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
        raise ShapesError(f"{format_term(component)}, which it uses, has no validator for it")

    def _sparql(
        self, shape: Shape, term: Any, kind: str, parameters: tuple[tuple[str, Any], ...], *, own: bool = False
    ) -> SparqlConstraint:
        text = self.one(term, kind)
        if text is None:
            raise ShapesError(f"its SPARQL constraint has no sh:{kind}, which alone can be checked")
        given = (("currentShape", shape.term), *parameters)
        constraint = SparqlConstraint(
            *(term, self.text(kind, text).value, kind == "ask", tuple(self.prefixes(term).items()), given),
            *(self._messages(term), shape.path, own),
        )
        constraint.expect()
        return constraint

    def _closed(self, term: Any) -> Closed:
        ignored = self.one(term, "ignoredProperties")
        allowed = set() if ignored is None else set(self.members(ignored, "ignoredProperties"))
        for value in self.values(term, sh("property")):
            path = self.one(value, "path")
            if path is None:
                raise ShapesError("it is closed, and a value of sh:property has no sh:path")
            if isinstance(path, ox.NamedNode):
                allowed.add(path)
        return Closed(frozenset(allowed))

    def _qualified(self, shape: Shape) -> Iterator[Constraint]:
        term = shape.term
        least, most = self.whole(term, "qualifiedMinCount"), self.whole(term, "qualifiedMaxCount")
        for value in self.values(term, sh("qualifiedValueShape")):
            disjoint = self.boolean(term, "qualifiedValueShapesDisjoint")
            siblings = tuple(self._siblings(term, value)) if disjoint else ()
            yield Constraint("Qualified", (self._shape(value), least, most, siblings))

    def _siblings(self, term: Any, own: Any) -> Iterator[Shape]:
        """The other qualified value shapes of the shapes that a property shape belongs to."""
        found: dict[Any, None] = {}
        for owner in self.owners(term, sh("property")):
            for other in self.values(owner, sh("property")):
                found |= dict.fromkeys(self.values(other, sh("qualifiedValueShape")))
        found.pop(own, None)
        return map(self._shape, found)

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
                prefix, namespace = self.one(declaration, "prefix"), self.one(declaration, "namespace")
                if not isinstance(prefix, ox.Literal) or not isinstance(namespace, ox.Literal | ox.NamedNode):
                    raise ShapesError(f"sh:declare of {format_term(ontology)} has an sh:prefix and an sh:namespace")
                found[prefix.value] = namespace.value
        return found
