"""Contradictions of declarations, by OWL 2, RDF Schema and SKOS; over all quads, in sets of ids.

A declaration counts with all that follows from the hierarchies of classes and properties, and from inverses. What is
only missing contradicts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from worlds.core.quads.dictionary import LITERAL, Ids
from worlds.extras.curation.columns.axioms import OWL, RDFS, Axioms
from worlds.extras.curation.columns.quad_columns import Mask, QuadTable, distinct, groups, several
from worlds.extras.curation.columns.values import LITERALS, ill_typed, is_of
from worlds.extras.curation.findings.findings import RawFinding, Severity, listed
from worlds.extras.curation.findings.hierarchies import Hierarchies
from worlds.graph.lexical import canonical, is_by_value
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
            text = "{0} has, as its {1}, {2}, which is not a value of its datatype"
            yield RawFinding("ill-typed literal", (subject,), (row,), text, (subject, predicate, value))

    def _ranges(self) -> Iterator[tuple[int, int]]:
        yield from self.table.couples(RDFS + "range")

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
            yield RawFinding(kind, (subject,), (row,), text, (subject, predicate, value, wanted))

    def domains(self) -> Iterator[RawFinding]:
        """Subjects of other classes than rdfs:domain says: an error where the classes are disjoint."""
        for predicate, wanted in self.table.couples(RDFS + "domain"):
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
            text = f"{{0}} {told} {{2}}, the {kind} of {{1}}" + (" (any of a union)" if len(named) > 1 else "")
            yield RawFinding(
                kind,
                (node,),
                found,
                text,
                (node, predicate, named[0]),
                severity=severity,
                score=1.0 if is_error else 0.5,
            )


class Declared:
    """Contradictions of declarations in a table."""

    def __init__(self, table: QuadTable) -> None:
        self.table = table
        self.axioms = Axioms(table)

    @property
    def checks(self) -> dict[str, Callable[[], Iterator[RawFinding]]]:
        """Name → the function that finds it."""
        signatures, hierarchies = Signatures(self.table, self.axioms), Hierarchies(self.table, self.axioms)
        return {
            "functional": self.functional,
            "inverse functional": self.inverse_functional,
            "disjoint classes": self.disjoint_classes,
            "disjoint properties": self.disjoint_properties,
            "asymmetric": self.asymmetric,
            "irreflexive": self.irreflexive,
            "identity": self.identity,
            "negative assertion": self.negative_assertions,
            "cardinality": self.cardinalities,
            "ill-typed literal": signatures.ill_typed,
            "datatype": signatures.datatypes,
            "domain": signatures.domains,
            "range": signatures.ranges,
            "labels": hierarchies.labels,
            "related": hierarchies.related,
            "cycle": hierarchies.cycles,
        }

    def find(self) -> Iterator[RawFinding]:
        """All contradictions of declarations."""
        for check in self.checks.values():
            yield from check()

    # -- how many ---------------------------------------------------------------------------------------------------

    def _values(self, ids: Ids) -> dict[int, object]:
        """Id → a key of its value: literals of one value have the same key."""
        terms = self.table.terms(ids.tolist())
        by_value = [number for number, term in terms.items() if is_by_value(term)]
        same = dict(zip(by_value, canonical([terms[number] for number in by_value]), strict=True))
        return {number: same.get(number, term) for number, term in terms.items()}

    def _too_many(
        self, left: Ids, right: Ids, rows: Ids, most: int = 1
    ) -> Iterator[tuple[int, list[int], tuple[int, ...]]]:
        """(id, values, rows) for each id on the left with more than `most` different values on the right."""
        many = np.isin(left, several(left, right))
        left, right, rows = left[many], right[many], rows[many]
        values = self._values(distinct(right))
        for one, (others, at) in groups(left, right, rows):
            different = list({values[other]: other for other in others.tolist()}.values())
            if len(different) > most:
                yield one, different, tuple(sorted(set(at.tolist())))

    def functional(self) -> Iterator[RawFinding]:
        """Properties with one value at most, owl:FunctionalProperty (OWL 2, section 9.2.7)."""
        for predicate in self.axioms.typed(OWL + "FunctionalProperty"):
            for subject, values, rows in self._too_many(*self.axioms.extension(predicate)):
                text = f"{{0}} has {len(values)} values of {{1}}, which may have at most one: {listed(values, 2)}"
                yield RawFinding(
                    "functional", (subject,), rows, text, (subject, predicate, *values[:3]), severity=self.grave(values)
                )

    def inverse_functional(self) -> Iterator[RawFinding]:
        """Properties whose value has one subject at most, owl:InverseFunctionalProperty, and keys, owl:hasKey."""
        for predicate in self.axioms.typed(OWL + "InverseFunctionalProperty"):
            left, right, rows = self.axioms.extension(predicate)
            for value, subjects, at in self._too_many(right, left, rows):
                text = (
                    f"{len(subjects)} entities have the same {{0}}, {{1}}, which may belong to at most one: "
                    f"{listed(subjects, 2)}"
                )
                yield RawFinding(
                    "inverse functional",
                    tuple(sorted(subjects)),
                    at,
                    text,
                    (predicate, value, *subjects[:3]),
                    severity=self.grave(subjects),
                )
        for kind, head in self.table.couples(OWL + "hasKey"):
            yield from self._same_key(kind, self.axioms.items(head))

    def _same_key(self, kind: int, key: list[int]) -> Iterator[RawFinding]:
        instances = self.axioms.instances_below(kind)
        held: dict[int, list[tuple[int, int]]] = {}
        for place, predicate in enumerate(key):
            left, right, rows = self.axioms.extension(predicate)
            of = np.isin(left, instances)
            for subject, value, row in zip(left[of].tolist(), right[of].tolist(), rows[of].tolist(), strict=True):
                if len(held.setdefault(subject, [])) == place:  # of several values the first, which is enough to tell
                    held[subject].append((value, row))
        by_key: dict[tuple[int, ...], list[int]] = {}
        for subject, values in held.items():
            if key and len(values) == len(key):
                by_key.setdefault(tuple(value for value, _ in values), []).append(subject)
        for subjects in by_key.values():
            if len(subjects) > 1:
                rows_of = tuple(sorted(row for subject in subjects for _, row in held[subject]))
                text = f"{len(subjects)} instances of {{0}} have the same key: {listed(subjects, 1)}"
                yield RawFinding(
                    "inverse functional",
                    tuple(sorted(subjects)),
                    rows_of,
                    text,
                    (kind, *subjects[:3]),
                    severity=self.grave(subjects),
                )

    def grave(self, ids: list[int]) -> Severity:
        """An error where these are surely not one: literals, or entities that are said to be different."""
        if any(self.table.kinds[number] == LITERAL for number in ids):
            return "error"
        different = self.axioms.different
        return "error" if any((a, b) in different for a in ids[:50] for b in ids[:50]) else "warning"

    def cardinalities(self) -> Iterator[RawFinding]:
        """owl:maxCardinality, owl:cardinality and their qualified forms, of the classes below such a restriction."""
        table, axioms = self.table, self.axioms
        for name in ("maxCardinality", "cardinality", "maxQualifiedCardinality", "qualifiedCardinality"):
            restrictions, limits = table.pairs(OWL + name)
            texts = table.values(limits)
            for restriction, limit in zip(restrictions.tolist(), limits.tolist(), strict=True):
                most = texts[limit].strip().lstrip("+")
                for predicate in axioms.objects(restriction, OWL + "onProperty") if most.isdecimal() else ():
                    instances = axioms.instances_below(restriction)
                    left, right, rows = self.axioms.extension(predicate)
                    of = np.isin(left, instances)
                    for kind in axioms.objects(restriction, OWL + "onClass"):
                        if kind != table.id(OWL + "Thing"):
                            of &= np.isin(right, axioms.instances_below(kind))
                    yield from self._above(int(most), predicate, left[of], right[of], rows[of])

    def _above(self, most: int, predicate: int, left: Ids, right: Ids, rows: Ids) -> Iterator[RawFinding]:
        found = self._too_many(left, right, rows, most) if most else _each(left, right, rows)
        for subject, values, at in found:
            text = f"{{0}} has {len(values)} values of {{1}}, of which its class allows {most}: {listed(values, 2)}"
            yield RawFinding(
                "cardinality",
                (subject,),
                at,
                text,
                (subject, predicate, *values[:3]),
                severity="error" if most == 0 else self.grave(values),
            )

    # -- what excludes what -----------------------------------------------------------------------------------------

    def disjoint_classes(self) -> Iterator[RawFinding]:
        """Instances of two classes that have none in common, and of owl:Nothing."""
        axioms = self.axioms
        pairs = axioms.disjoint_classes
        below = {kind: axioms.below([kind]) for pair in pairs for kind in pair}
        instances = {kind: axioms.instances(kinds) for kind, kinds in below.items()}
        for one, other in pairs:
            for subject in np.intersect1d(instances[one], instances[other], assume_unique=True).tolist():
                rows = self.axioms.type_rows(subject, np.union1d(below[one], below[other]))
                text = "{0} is an instance of {1} and of {2}, which are disjoint"
                yield RawFinding("disjoint classes", (subject,), rows, text, (subject, one, other))
            for kind in np.intersect1d(below[one], below[other], assume_unique=True).tolist():
                of = self.table.rows(self.table.id(RDFS + "subClassOf"))
                at = tuple((of.start + np.flatnonzero(self.table.subjects[of] == kind)).tolist())
                if at and kind != self.table.id(OWL + "Nothing"):
                    text = "the class {0} is below {1} and {2}, which are disjoint"
                    yield RawFinding("disjoint classes", (kind,), at, text, (kind, one, other))
        nothing = self.table.id(OWL + "Nothing")
        for subject in axioms.instances_below(nothing).tolist() if nothing >= 0 else ():
            rows = self.axioms.type_rows(subject, axioms.below([nothing]))
            yield RawFinding("disjoint classes", (subject,), rows, "{0} is an instance of owl:Nothing", (subject,))

    def disjoint_properties(self) -> Iterator[RawFinding]:
        """Pairs that two properties share which share none; skos:related beside a path of skos:broader (S27)."""
        for one, other in self.axioms.disjoint_properties:
            a, b = self.axioms.extension(one), self.axioms.extension(other)
            yield from self._shared(one, other, a, b)

    def _shared(self, one: int, other: int, a: tuple[Ids, Ids, Ids], b: tuple[Ids, Ids, Ids]) -> Iterator[RawFinding]:
        both = np.intersect1d(a[0] << 32 | a[1], b[0] << 32 | b[1])
        for pair in both.tolist():
            rows = [part[2][(part[0] << 32 | part[1]) == pair] for part in (a, b)]
            text = "{0} has {1} by {2} and by {3}, which exclude each other"
            yield RawFinding(
                "disjoint properties",
                (pair >> 32,),
                tuple(sorted(set(np.concatenate(rows).tolist()))),
                text,
                (pair >> 32, pair & 0xFFFFFFFF, one, other),
            )

    def asymmetric(self) -> Iterator[RawFinding]:
        """Pairs that an owl:AsymmetricProperty holds of both ways."""
        for predicate in self.axioms.typed(OWL + "AsymmetricProperty"):
            left, right, rows = self.axioms.extension(predicate)
            keys, turned = left << 32 | right, right << 32 | left
            for pair in np.intersect1d(keys, turned).tolist():
                one, other = pair >> 32, pair & 0xFFFFFFFF
                if one <= other:
                    text = "{1} holds from {0} to {2} and back, though it is asymmetric"
                    yield RawFinding(
                        "asymmetric",
                        (one, other) if one != other else (one,),
                        tuple(sorted(set(rows[(keys == pair) | (turned == pair)].tolist()))),
                        text,
                        (one, predicate, other),
                    )

    def irreflexive(self) -> Iterator[RawFinding]:
        """Entities that have themselves as a value of an owl:IrreflexiveProperty."""
        for predicate in self.axioms.typed(OWL + "IrreflexiveProperty"):
            left, right, rows = self.axioms.extension(predicate)
            for subject, (at,) in groups(left[left == right], rows[left == right]):
                found = tuple(sorted(set(at.tolist())))
                yield RawFinding("irreflexive", (subject,), found, "{0} has itself as its {1}", (subject, predicate))

    def identity(self) -> Iterator[RawFinding]:
        """owl:sameAs between entities that are declared different, however many steps away."""
        different = self.axioms.different
        if not different:
            return
        left, right = self.table.pairs(OWL + "sameAs")
        same: dict[int, set[int]] = {}
        for one, other in zip(left.tolist(), right.tolist(), strict=True):
            same.setdefault(one, set()).add(other)
            same.setdefault(other, set()).add(one)
        for one, other in sorted(pair for pair in different if pair[0] <= pair[1]):
            path = _path(one, other, same)
            if path is not None:
                steps = [row for a, b in pairwise(path) for row in self._either(a, OWL + "sameAs", b)]
                rows = tuple(sorted({*steps, *self._either(one, OWL + "differentFrom", other)}))
                text = "{0} and {1} are said to be the same and to be different"
                yield RawFinding("identity", (one, other) if one != other else (one,), rows, text, (one, other))

    def _either(self, one: int, iri: str, other: int) -> list[int]:
        predicate = self.table.id(iri)
        return [*self.table.quads_of(one, predicate, other), *self.table.quads_of(other, predicate, one)]

    def negative_assertions(self) -> Iterator[RawFinding]:
        """Triples that an owl:NegativePropertyAssertion denies (OWL 2, section 9.6.5)."""
        for node in self.axioms.typed(OWL + "NegativePropertyAssertion"):
            sources = self.axioms.objects(node, OWL + "sourceIndividual")
            predicates = self.axioms.objects(node, OWL + "assertionProperty")
            targets = [
                *self.axioms.objects(node, OWL + "targetIndividual"),
                *self.axioms.objects(node, OWL + "targetValue"),
            ]
            for source in sources:
                for predicate in predicates:
                    left, right, rows = self.axioms.extension(predicate)
                    for target in targets:
                        at = tuple(sorted(set(rows[(left == source) & (right == target)].tolist())))
                        if at:
                            text = "{0} has {2} by {1}, which is denied"
                            yield RawFinding("negative assertion", (source,), at, text, (source, predicate, target))


def _each(left: Ids, right: Ids, rows: Ids) -> Iterator[tuple[int, list[int], tuple[int, ...]]]:
    for one, (others, at) in groups(left, right, rows):
        yield one, distinct(others).tolist(), tuple(sorted(set(at.tolist())))


def _path(start: int, end: int, edges: dict[int, set[int]]) -> list[int] | None:
    """The shortest path between two nodes; of a node to itself, the node alone."""
    before: dict[int, int] = {start: start}
    front = [start]
    while front and end not in before:
        following: list[int] = []
        for node in front:
            for other in sorted(edges.get(node, ())):
                if other not in before:
                    before[other] = node
                    following.append(other)
        front = following
    if end not in before:
        return None
    path = [end]
    while path[-1] != start:
        path.append(before[path[-1]])
    return path
