"""Values of the wrong kind: ill-typed literals, domains and ranges of properties."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from worlds.core.quads.dictionary import LITERAL, Ids
from worlds.extras.curation.columns.axioms import Axioms
from worlds.extras.curation.columns.quad_columns import Mask, QuadTable, distinct, groups
from worlds.extras.curation.columns.values import LITERALS, ill_typed, is_of
from worlds.extras.curation.columns.vocabularies import OWL, RDFS
from worlds.extras.curation.findings.findings import RawFinding, Severity
from worlds.graph.terms import RDF, XSD


class Signatures:
    """Finds values and subjects that do not fit the declarations of their properties."""

    def __init__(self, table: QuadTable, axioms: Axioms) -> None:
        self.table = table
        self.axioms = axioms

    def ill_typed(self) -> Iterator[RawFinding]:
        """Literals whose lexical form is none of their datatype (RDF 1.1 Concepts, section 3.3)."""
        bad = ill_typed(self.table, self.table.objects)
        for row in np.flatnonzero(np.isin(self.table.objects, bad)).tolist():
            subject, predicate, value = (
                int(column[row]) for column in (self.table.subjects, self.table.predicates, self.table.objects)
            )
            yield RawFinding(
                "ill-typed literal",
                "error",
                1.0,
                (subject,),
                (row,),
                "{0} has, as its {1}, {2}, which is not a value of its datatype",
                (subject, predicate, value),
            )

    def _ranges(self) -> Iterator[tuple[int, int]]:
        yield from zip(*(column.tolist() for column in self.table.pairs(RDFS + "range")), strict=True)

    def datatypes(self) -> Iterator[RawFinding]:
        """Values of another datatype than rdfs:range asks for, and literals where an entity is asked for."""
        table = self.table
        names = table.terms({one for _, one in self._ranges()})
        implied = {-1: XSD + "string", -2: RDF + "langString"}
        told: set[int] = set()  # rows of literals that no range allows
        for predicate, wanted in self._ranges():
            iri = getattr(names[wanted], "value", "")
            literal = iri in LITERALS or wanted in self.axioms.typed(RDFS + "Datatype")
            left, right, rows = self.axioms.extension(predicate)
            kinds, of = table.kinds[right], table.datatypes[right]
            if not literal:
                if wanted not in self.axioms.known_classes:  # of what is not loaded nobody knows that it is a class
                    continue
                told |= set(rows[kinds == LITERAL].tolist())
                yield from self._wrong(left, right, rows, kinds == LITERAL, "datatype", "an entity", predicate, wanted)
                continue
            found = distinct(of[kinds == LITERAL])
            known = {int(one): implied.get(int(one)) for one in found}
            terms = table.terms(int(one) for one in found if one > 0)
            known |= {number: getattr(term, "value", "") for number, term in terms.items() if number > 0}
            if iri in LITERALS:
                good = [number for number, name in known.items() if name is None or is_of(name, iri)]
            else:  # a datatype of the world's own: what its literals may be is not said here
                good = list(known)
            bad = (kinds != LITERAL) | ~np.isin(of, good)
            yield from self._wrong(left, right, rows, bad, "datatype", "a literal of {3}", predicate, wanted)
        for kind, what, is_wrong in (
            ("ObjectProperty", "an entity, as it is an object property", True),
            ("DatatypeProperty", "a literal, as it is a datatype property", False),
        ):
            for predicate in self.axioms.typed(OWL + kind):
                left, right, rows = self.axioms.extension(predicate)
                bad = ((table.kinds[right] == LITERAL) == is_wrong) & ~np.isin(rows, list(told))
                yield from self._wrong(left, right, rows, bad, "datatype", what, predicate, predicate)

    def _wrong(
        self, left: Ids, right: Ids, rows: Ids, bad: Mask, kind: str, what: str, predicate: int, wanted: int
    ) -> Iterator[RawFinding]:
        for subject, value, row in zip(left[bad].tolist(), right[bad].tolist(), rows[bad].tolist(), strict=True):
            text = "{0} has {2} as its {1}, where there should be " + what
            yield RawFinding(kind, "error", 1.0, (subject,), (row,), text, (subject, predicate, value, wanted))

    def domains(self) -> Iterator[RawFinding]:
        """Subjects of other classes than rdfs:domain says: an error where the classes are disjoint."""
        for predicate, wanted in zip(*(column.tolist() for column in self.table.pairs(RDFS + "domain")), strict=True):
            left, _, rows = self.axioms.extension(predicate)
            yield from self._misplaced("domain", predicate, wanted, left, rows)

    def ranges(self) -> Iterator[RawFinding]:
        """Objects of other classes than rdfs:range says: an error where the classes are disjoint."""
        for predicate, wanted in self._ranges():
            _, right, rows = self.axioms.extension(predicate)
            of = self.table.kinds[right] != LITERAL
            yield from self._misplaced("range", predicate, wanted, right[of], rows[of])

    def _misplaced(self, kind: str, predicate: int, wanted: int, nodes: Ids, rows: Ids) -> Iterator[RawFinding]:
        axioms = self.axioms
        named = axioms.any_of(wanted)
        idle = self.table.ids([OWL + "Thing", RDFS + "Resource", RDFS + "Literal"])
        if named is None or set(named) & set(idle):
            return
        # A class above the wanted one is only less exact; what is of none that tells anything is not told wrong.
        near = np.union1d(axioms.below(named), sorted({one for name in named for one in axioms.above(name)}))
        typed = distinct(axioms.types[0])
        bad = np.isin(nodes, typed) & ~np.isin(nodes, axioms.instances(near))
        excluded = [axioms.instances(axioms.below(axioms.excluded([name]))) for name in named]
        never = excluded[0]
        for more in excluded[1:]:
            never = np.intersect1d(never, more)
        # What is an instance, and of a class that excludes it, is told as an instance of disjoint classes.
        wrong = np.isin(nodes, never) & ~np.isin(nodes, axioms.instances(axioms.below(named)))
        of = bad | wrong
        errors = set(nodes[wrong].tolist())
        for node, (at,) in groups(nodes[of], rows[of]):
            is_error = node in errors
            severity: Severity = "error" if is_error else "warning"
            told = "is, by its types, no instance of" if is_error else "is not said to be an instance of"
            found = (*sorted(set(at.tolist())), *self.axioms.type_rows(node, distinct(axioms.types[1])))
            yield RawFinding(
                kind,
                severity,
                1.0 if is_error else 0.5,
                (node,),
                found,
                f"{{0}} {told} {{2}}, the {kind} of {{1}}" + (" (any of a union)" if len(named) > 1 else ""),
                (node, predicate, named[0]),
            )
