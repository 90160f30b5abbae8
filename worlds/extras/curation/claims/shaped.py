"""Violations of a world's shapes by a triple: of rules on present values, without regard to missing ones."""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox

from worlds.extras.curation.claims.declarations import Declarations
from worlds.extras.curation.claims.evidence import Ground
from worlds.extras.curation.claims.state import Rows, State
from worlds.extras.curation.claims.support import Claim, score
from worlds.extras.curation.columns.vocabularies import OWL, RDFS, TYPE
from worlds.graph.terms import format_term, listed

_SH = "http://www.w3.org/ns/shacl#"
_NAMED = 3  # values that are told
_KINDS = {"IRI": ox.NamedNode, "Literal": ox.Literal, "BlankNode": ox.BlankNode}


class Shaped:
    """Reads the shapes of one state: `shapes` is the state of their graph, `state` that of the data."""

    def __init__(self, shapes: State, state: State, declarations: Declarations) -> None:
        self._shapes = shapes
        self._state = state
        self._declarations = declarations
        self._lists = Declarations(shapes)

    def find(self, claim: Claim) -> Iterator[Ground]:
        """sh:maxCount, sh:in, sh:datatype and sh:nodeKind of the shapes whose target the subject is."""
        shapes = self._shapes
        for shape, path in shapes.subjects(_SH + "path", claim.predicate).items():
            owners: dict[int, Rows] = {shape: (path,)}
            owners |= {owner: (row, path) for owner, row in shapes.subjects(_SH + "property", shape).items()}
            for owner, rows in owners.items():
                target = self._target(owner, claim)
                if target is not None and self._counts(shape) and self._counts(owner):
                    yield from self._against(shape, claim, (*target, *rows))

    def _counts(self, shape: int) -> bool:
        """Whether the shape is active, and its results have the severity of a violation."""
        shapes = self._shapes
        inactive = [shapes.term(one).value for one in shapes.objects(shape, _SH + "deactivated")]
        severities = [shapes.term(one) for one in shapes.objects(shape, _SH + "severity")]
        return "true" not in inactive and severities in ([], [ox.NamedNode(_SH + "Violation")])

    def _target(self, shape: int, claim: Claim) -> Rows | None:
        """The quads that make the subject a focus node of a shape; None if nothing does."""
        shapes = self._shapes
        for node, row in shapes.objects(shape, _SH + "targetNode").items():
            if node == claim.subject:
                return (row,)
        for predicate, row in shapes.objects(shape, _SH + "targetSubjectsOf").items():
            if predicate == claim.predicate or self._state.quads(claim.subject, predicate):
                return (row,)
        wanted = {kind: (row,) for kind, row in shapes.objects(shape, _SH + "targetClass").items()}
        for iri in (OWL + "Class", RDFS + "Class"):
            for row in shapes.quads(shape, shapes.id(TYPE), shapes.id(iri)):
                wanted[shape] = (row,)
        for said in self._state.quads(claim.subject, self._state.id(TYPE)):
            for kind, premises in self._declarations.classes_above(said[2]).items():
                if kind in wanted:
                    return (said, *premises, *wanted[kind])
        return None

    def _against(self, shape: int, claim: Claim, premises: Rows) -> Iterator[Ground]:
        shapes, value = self._shapes, claim.terms[2]
        for limit, row in shapes.objects(shape, _SH + "maxCount").items():
            text = getattr(shapes.term(limit), "value", "")
            others = [
                held for held in self._state.objects(claim.subject, claim.predicate).items() if held[0] != claim.object
            ]
            if text.isdecimal() and len(others) >= int(text):
                rows = (*(row for _, row in others), *premises, row)
                held = listed([other for other, _ in others], _NAMED, lambda one: format_term(self._state.term(one)))
                path = format_term(claim.terms[1])
                told = f"{path} has the value {held} already, and a shape allows {text} in all"
                yield Ground("shape", told, rows, score(rows))
        for head, row in shapes.objects(shape, _SH + "in").items():
            items = self._lists.items(head)
            if claim.object not in [item for item, _ in items]:
                rows = (*premises, row)
                yield Ground(
                    "shape", f"{format_term(value)} is none of the values that a shape allows", rows, score(rows)
                )
        for wanted, row in shapes.objects(shape, _SH + "datatype").items():
            name = shapes.term(wanted)
            if not isinstance(value, ox.Literal) or value.datatype != name:
                told = f"{format_term(value)} is no {format_term(name)}, which a shape asks for"
                yield Ground("shape", told, (*premises, row), score((*premises, row)))
        for wanted, row in shapes.objects(shape, _SH + "nodeKind").items():
            name = shapes.term(wanted).value.removeprefix(_SH)
            if not isinstance(value, tuple(kind for part, kind in _KINDS.items() if part in name.split("Or"))):
                told = f"{format_term(value)} is no {name}, which a shape asks for"
                yield Ground("shape", told, (*premises, row), score((*premises, row)))
