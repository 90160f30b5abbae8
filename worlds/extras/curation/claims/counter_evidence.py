"""Evidence for a triple in one state of a world, and against it: quads, vocabularies and shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from worlds.extras.curation.claims.declarations import Declarations, Row, Rows, State, Way
from worlds.extras.curation.claims.triples import Likeness, compare, well_formed
from worlds.extras.curation.claims.verification import Ground
from worlds.extras.curation.columns.axioms import OWL, RDFS, TYPE
from worlds.extras.curation.columns.values import LITERALS, is_of
from worlds.graph.terms import format_term

_MOST = 2000  # entities that a transitive property is followed to
_IDLE = (RDFS + "Resource", OWL + "Thing", RDFS + "Literal")


@dataclass(frozen=True)
class Claim:
    """A triple that is claimed: its terms, and their ids, below 0 where the world does not know them."""

    terms: tuple[Any, Any, Any]
    subject: int
    predicate: int
    object: int

    @property
    def ids(self) -> tuple[int, int, int]:
        """The three ids."""
        return self.subject, self.predicate, self.object


def score(rows: Sequence[Row]) -> float:
    """1 for evidence of one quad, 1 / n for evidence of n quads."""
    return 1 / max(1, len(set(rows)))


class Supporting:
    """Evidence for claims."""

    def __init__(self, state: State, declarations: Declarations) -> None:
        self.state = state
        self.declarations = declarations

    def find(self, claim: Claim) -> Iterator[Ground]:
        """The evidence for a claim, the plainest first."""
        ways = self.declarations.below(claim.predicate)
        for way in ways:
            yield from self._said(claim, way)
        if claim.terms[1] == ox.NamedNode(TYPE):
            yield from self._typed(claim)
        yield from self._followed(claim, ways)
        yield from self._equal(claim)

    def _said(self, claim: Claim, way: Way) -> Iterator[Ground]:
        """The triple itself, or one that implies it."""
        held = list(self.held(claim, way))
        if not held:
            return
        told = format_term(self.state.term(way.predicate))
        if not way.premises and not way.turned and way.predicate == claim.predicate:
            for row, rule in held:
                what = "is said" if rule == "asserted" else f"is said as {format_term(self.state.term(row[2]))}"
                yield Ground(rule, what, (row,), 1.0)
            return
        for row, _ in held:
            rows = (row, *way.premises)
            turned = "turned around, " if way.turned else ""
            yield Ground("implied", f"follows {turned}from {told}", rows, score(rows))

    def held(self, claim: Claim, way: Way) -> Iterator[tuple[Row, str]]:
        """The quads that hold a claim by a way; a literal of another form counts if it is the same value."""
        state = self.state
        if way.turned:
            yield from ((row, "asserted") for row in state.quads(claim.object, way.predicate, claim.subject))
            return
        exact = state.quads(claim.subject, way.predicate, claim.object)
        yield from ((row, "asserted") for row in exact)
        literal = claim.terms[2]
        if isinstance(literal, ox.Literal):
            for row in state.quads(claim.subject, way.predicate):
                other = state.term(row[2])
                if row not in exact and isinstance(other, ox.Literal) and compare(literal, other) == "same":
                    yield row, "equal value"

    def _typed(self, claim: Claim) -> Iterator[Ground]:
        rows = self.declarations.types(claim.subject, without=claim.ids).get(claim.object)
        if rows is not None:
            yield Ground("type", "is an instance of it by what is said and declared", rows, score(rows))

    def _followed(self, claim: Claim, ways: Sequence[Way]) -> Iterator[Ground]:
        """A transitive property, the claimed one or one that implies it, followed over several steps."""
        seen: set[int] = set()
        for way in ways:
            transitive = self.declarations.transitive(way.predicate)
            if transitive is None or way.predicate in seen:
                continue
            seen.add(way.predicate)
            start, end = (claim.object, claim.subject) if way.turned else (claim.subject, claim.object)
            path = self.follow(start, end, way.predicate)
            if path is not None and len(path) > 1:
                rows = (*path, *transitive, *way.premises)
                told = format_term(self.state.term(way.predicate))
                yield Ground("transitive", f"follows over {len(path)} steps of {told}", rows, score(rows))

    def follow(self, start: int, end: int, predicate: int) -> Rows | None:
        """The shortest path of a property from one node to another; None if there is none."""
        state = self.state
        ways = self.declarations.below(predicate)
        found: dict[int, Rows] = {start: ()}
        front = [start]
        while front and len(found) < _MOST:
            at = front.pop(0)
            for way in ways:
                steps = state.subjects(way.predicate, at) if way.turned else state.objects(at, way.predicate)
                for other, row in steps.items():
                    path = (*found[at], row, *way.premises)
                    if other == end:
                        return path
                    if other not in found:
                        found[other] = path
                        front.append(other)
        return None

    def _equal(self, claim: Claim) -> Iterator[Ground]:
        """Identity through others."""
        if claim.terms[1] == ox.NamedNode(OWL + "sameAs") and claim.subject != claim.object:
            rows = self.declarations.same(claim.subject, claim.object)
            if rows is not None and len(rows) > 1:
                yield Ground("identity", f"follows over {len(rows)} steps of owl:sameAs", rows, score(rows))


class Contradicting:
    """Evidence against claims; `unsure` has the points that a rule could not decide."""

    def __init__(self, state: State, declarations: Declarations, supporting: Supporting) -> None:
        self.state = state
        self.declarations = declarations
        self.supporting = supporting
        self.unsure: dict[str, None] = {}

    def find(self, claim: Claim) -> Iterator[Ground]:
        """The evidence against a claim."""
        self.unsure = {}
        literal = claim.terms[2]
        if isinstance(literal, ox.Literal) and not well_formed(literal):
            told = f"{format_term(literal)} is not a value of its datatype"
            yield Ground("ill-typed literal", told, (), 1.0)
        yield from self._functional(claim)
        yield from self._inverse_functional(claim)
        yield from self._exclusive(claim)
        yield from self._signatures(claim)
        yield from self._typed(claim)
        yield from self._identity(claim)
        yield from self._denied(claim)

    # -- how many -------------------------------------------------------------------------------------------------

    def _functional(self, claim: Claim) -> Iterator[Ground]:
        """Functional properties, inverses of inverse functional ones, and cardinalities."""
        for way, row in self.declarations.declared(claim.predicate, "FunctionalProperty"):
            yield from self._others(claim, way, (*way.premises, row), "functional", "of which there may be at most one")
        yield from self._restricted(claim)

    def _inverse_functional(self, claim: Claim) -> Iterator[Ground]:
        for way, row in self.declarations.declared(claim.predicate, "InverseFunctionalProperty"):
            yield from self._owners(claim, way, (*way.premises, row))

    def _others(self, claim: Claim, to: Way, premises: Rows, rule: str, told: str, most: int = 1) -> Iterator[Ground]:
        """Other values of the subject than the claimed one, where it has one at most, or `most`."""
        others: dict[int, Rows] = {}
        for way in self.declarations.below(to.predicate):
            steps = (
                self.state.subjects(way.predicate, claim.subject)
                if way.turned != to.turned
                else self.state.objects(claim.subject, way.predicate)
            )
            for value, row in steps.items():
                others.setdefault(value, (row, *way.premises))
        different: dict[int, Rows] = {}
        for value, rows in others.items():
            likeness, because = self._compared(claim.terms[2], claim.object, value)
            if likeness == "different":
                different[value] = (*rows, *because)
            elif likeness == "unsure":
                known = format_term(self.state.term(value))
                self.unsure[f"whether {format_term(claim.terms[2])} and {known} are one value"] = None
        if len(self._apart(list(different))) < most:
            return
        name = format_term(claim.terms[1])
        for value, rows in different.items():
            held = (*rows, *premises)
            message = f"{name} is {format_term(self.state.term(value))}, {told}"
            yield Ground(rule, message, held, score(held))

    def _apart(self, values: list[int]) -> list[int]:
        """The values that surely differ from each other."""
        kept: list[int] = []
        for value in values:
            if all(self._compared(self.state.term(value), value, other)[0] == "different" for other in kept):
                kept.append(value)
        return kept

    def _owners(self, claim: Claim, to: Way, premises: Rows) -> Iterator[Ground]:
        """Others that have the claimed value of a property, of which it has one owner at most."""
        literal = claim.terms[2]
        for way in self.declarations.below(to.predicate):
            turned = way.turned != to.turned
            steps = dict(
                self.state.objects(claim.object, way.predicate)
                if turned
                else self.state.subjects(way.predicate, claim.object)
            )
            if isinstance(literal, ox.Literal) and not turned:
                rows = self.state.quads(None, way.predicate)
                terms = self.state.terms(row[2] for row in rows)
                same = {number for number, term in terms.items() if _is_same(literal, term)}
                for row in rows:
                    if row[2] in same:
                        steps.setdefault(row[0], row)
            for owner, row in steps.items():
                likeness, because = self._compared(claim.terms[0], claim.subject, owner)
                if likeness == "different":
                    held = (row, *way.premises, *because, *premises)
                    told = f"{format_term(self.state.term(owner))} has it already, and at most one may"
                    yield Ground("inverse functional", told, held, score(held))
                elif likeness == "unsure":
                    known = format_term(self.state.term(owner))
                    self.unsure[f"whether {format_term(claim.terms[0])} and {known} are one"] = None

    def _compared(self, term: object, number: int, other: int) -> tuple[Likeness, Rows]:
        """Whether a term is the same as one of the world; two names mean two things, unless they are said to be one."""
        known = self.state.term(other)
        if isinstance(term, ox.Literal) and isinstance(known, ox.Literal):
            return compare(term, known), ()
        if term == known:
            return "same", ()
        if isinstance(term, ox.Literal) or isinstance(known, ox.Literal):
            return "different", ()
        if self.declarations.same(number, other) is not None:
            return "same", ()
        rows = self.declarations.different(number, other)
        if rows is not None:
            return "different", rows
        return ("unsure" if isinstance(term, ox.BlankNode) or isinstance(known, ox.BlankNode) else "different"), ()

    def _restricted(self, claim: Claim) -> Iterator[Ground]:
        """owl:maxCardinality and owl:cardinality, owl:allValuesFrom, of the classes that the subject is of."""
        state, declarations = self.state, self.declarations
        restrictions = state.subjects(OWL + "onProperty", claim.predicate)
        if not restrictions:
            return
        types = declarations.types(claim.subject)
        for node, on in restrictions.items():
            if node not in types:
                continue
            for name in ("maxCardinality", "cardinality"):
                for limit, row in state.objects(node, OWL + name).items():
                    text = getattr(state.term(limit), "value", "")
                    if text.isdecimal():
                        premises = (*types[node], on, row)
                        if int(text) == 0:
                            told = "its class has none of these"
                            yield Ground("cardinality", told, premises, score(premises))
                        else:
                            told = f"of which its class has {text} at most"
                            way = Way(claim.predicate, False, ())
                            yield from self._others(claim, way, premises, "cardinality", told, most=int(text))
            for kind, row in state.objects(node, OWL + "allValuesFrom").items():
                yield from self._of_range(claim, kind, (*types[node], on, row))

    # -- what excludes what ---------------------------------------------------------------------------------------

    def _exclusive(self, claim: Claim) -> Iterator[Ground]:
        """Asymmetric, irreflexive and disjoint properties."""
        state, declarations = self.state, self.declarations
        for kind in ("AsymmetricProperty", "IrreflexiveProperty"):
            for way, row in declarations.declared(claim.predicate, kind):
                premises = (*way.premises, row)
                name = format_term(state.term(way.predicate))
                if claim.terms[0] == claim.terms[2]:
                    yield Ground(
                        kind.removesuffix("Property").lower(),
                        f"{name} is irreflexive",
                        premises,
                        score(premises),
                    )
                elif kind == "AsymmetricProperty":
                    back = Claim((claim.terms[2], None, claim.terms[0]), claim.object, way.predicate, claim.subject)
                    back = back if not way.turned else Claim(claim.terms, claim.subject, way.predicate, claim.object)
                    for rows in self._holding(back):
                        held = (*rows, *premises)
                        yield Ground("asymmetric", f"{name} is asymmetric, and holds the other way", held, score(held))
        for way in declarations.above(claim.predicate):
            for other, said in declarations.excluded_properties(way.predicate).items():
                one, two = (claim.object, claim.subject) if way.turned else (claim.subject, claim.object)
                for rows in self._holding(Claim((state.term(one), None, state.term(two)), one, other, two)):
                    held = (*rows, *way.premises, *said)
                    told = f"{format_term(state.term(other))} holds between them, which excludes it"
                    yield Ground("disjoint properties", told, held, score(held))

    def _holding(self, claim: Claim) -> Iterator[Rows]:
        for way in self.declarations.below(claim.predicate):
            for row, _ in self.supporting.held(claim, way):
                yield (row, *way.premises)

    # -- domains, ranges, classes ---------------------------------------------------------------------------------

    def _signatures(self, claim: Claim) -> Iterator[Ground]:
        declarations = self.declarations
        if claim.terms[1] == ox.NamedNode(TYPE):
            return
        for kind, premises in declarations.signature(claim.predicate, RDFS + "domain"):
            yield from self._clash(claim, claim.subject, kind, premises, "domain")
        for kind, premises in declarations.signature(claim.predicate, RDFS + "range"):
            yield from self._of_range(claim, kind, premises)
        is_literal = isinstance(claim.terms[2], ox.Literal)
        for name, wrong, told in (
            ("ObjectProperty", True, "an object property, whose values must not be literals"),
            ("DatatypeProperty", False, "a datatype property, whose values must be literals"),
        ):
            row = declarations.typed(claim.predicate, OWL + name)
            if row is not None and is_literal == wrong:
                yield Ground("range", f"{format_term(claim.terms[1])} is {told}", (row,), 1.0)

    def _of_range(self, claim: Claim, kind: int, premises: Rows) -> Iterator[Ground]:
        """A range that the object is not of: another datatype, a literal for a class, or a class that excludes it."""
        state, value = self.state, claim.terms[2]
        wanted = state.term(kind)
        iri = wanted.value if isinstance(wanted, ox.NamedNode) else ""
        datatype = iri in LITERALS or self.declarations.typed(kind, RDFS + "Datatype") is not None
        name = format_term(wanted)
        if isinstance(value, ox.Literal):
            if iri in LITERALS:
                if not is_of(value.datatype.value, iri):
                    told = f"{format_term(value)} is no {name}, the range"
                    yield Ground("range", told, premises, score(premises))
            elif not datatype and iri and iri not in _IDLE:
                told = f"{format_term(value)} is a literal, and no instance of {name}, the range"
                yield Ground("range", told, premises, score(premises))
        elif datatype:
            yield Ground("range", f"{format_term(value)} is no literal of {name}, the range", premises, score(premises))
        else:
            yield from self._clash(claim, claim.object, kind, premises, "range")

    def _typed(self, claim: Claim) -> Iterator[Ground]:
        """A class that has no instance in common with one that the subject is of."""
        state = self.state
        if claim.terms[1] == ox.NamedNode(TYPE):
            yield from self._clash(claim, claim.subject, claim.object, (), "disjoint classes")
            nothing = self.declarations.classes_above(claim.object).get(state.id(OWL + "Nothing"))
            if nothing is not None:
                yield Ground("disjoint classes", "nothing is an instance of owl:Nothing", nothing, score(nothing))

    def _clash(self, claim: Claim, node: int, kind: int, premises: Rows, rule: str) -> Iterator[Ground]:
        state = self.state
        wanted = {above: (*premises, *rows) for above, rows in self.declarations.classes_above(kind).items()}
        found = self.declarations.clash(wanted, self.declarations.types(node, without=claim.ids))
        if found is None and rule != "disjoint classes":
            found = self.declarations.clash(wanted, wanted)
        if found is not None:
            one, other, rows = found
            told = (
                f"{format_term(state.term(node))} is an instance of {format_term(state.term(other))}, "
                f"which is disjoint with {format_term(state.term(one))}"
            )
            if rule != "disjoint classes":
                told += f", the {rule}"
            yield Ground(rule, told, rows, score(rows))

    # -- identity and denial --------------------------------------------------------------------------------------

    def _identity(self, claim: Claim) -> Iterator[Ground]:
        state, declarations = self.state, self.declarations
        is_same = claim.terms[1] == ox.NamedNode(OWL + "sameAs") and claim.terms[0] != claim.terms[2]
        is_different = claim.terms[1] == ox.NamedNode(OWL + "differentFrom")
        if is_different and claim.terms[0] == claim.terms[2]:
            yield Ground("identity", "nothing is different from itself", (), 1.0)
        if is_same:
            rows = declarations.different(claim.subject, claim.object)
            if rows is not None:
                yield Ground("identity", "they are said to be different", rows, score(rows))
            clash = declarations.clash(declarations.types(claim.subject), declarations.types(claim.object))
            if clash is not None:
                told = (
                    f"one is an instance of {format_term(state.term(clash[0]))}, the other of "
                    f"{format_term(state.term(clash[1]))}, which are disjoint"
                )
                yield Ground("disjoint classes", told, clash[2], score(clash[2]))
        elif is_different and claim.subject != claim.object:
            rows = declarations.same(claim.subject, claim.object)
            if rows is not None:
                yield Ground("identity", "they are said to be the same", rows, score(rows))

    def _denied(self, claim: Claim) -> Iterator[Ground]:
        """owl:NegativePropertyAssertion."""
        state = self.state
        for node, row in state.subjects(OWL + "sourceIndividual", claim.subject).items():
            of = state.quads(node, state.id(OWL + "assertionProperty"), claim.predicate)
            targets = {**state.objects(node, OWL + "targetIndividual"), **state.objects(node, OWL + "targetValue")}
            for target, said in targets.items():
                if of and self._compared(claim.terms[2], claim.object, target)[0] == "same":
                    held = (row, of[0], said)
                    yield Ground("negative assertion", "it is denied outright", held, 1.0)


def _is_same(literal: ox.Literal, term: object) -> bool:
    return isinstance(term, ox.Literal) and compare(literal, term) == "same"
