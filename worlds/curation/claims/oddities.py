"""What is strange among the quads that were met on the way to a verdict."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from itertools import combinations

import pyoxigraph as ox

from worlds.curation.claims.declarations import Declarations
from worlds.curation.claims.literals import compare, well_formed
from worlds.curation.claims.state import Row, State
from worlds.curation.claims.supporting import Claim
from worlds.curation.columns.values import DATES, NUMBERS
from worlds.graph.terms import RDF, format_term

_SAMPLE = 2000  # quads of a predicate that tell what is usual
_FEWEST = 20  # subjects from which on there is something usual
_NEARLY_ALL = 0.95  # of the subjects
_FAR = 8.0  # distances from the median, in median absolute deviations, from which on a value is an outlier
_COMPARED = 50  # values of one subject
_QUOTED = 5  # statements about a triple that are told
_REIFIES, _TYPE, *_PARTS = (ox.NamedNode(RDF + name) for name in ("reifies", "type", "subject", "predicate", "object"))


class Oddities:
    """Finds what is strange about the subject of a claim."""

    def __init__(self, state: State, declarations: Declarations) -> None:
        self._state = state
        self._declarations = declarations

    def find(self, claim: Claim) -> Iterator[tuple[str, str, list[Row]]]:
        """Kind, sentence and quads of each oddity."""
        rows = list(self._state.quads(claim.subject, claim.predicate))[:_COMPARED]
        terms = self._state.terms(row[2] for row in rows)
        for row in rows:
            term = terms[row[2]]
            if isinstance(term, ox.Literal) and not well_formed(term):
                yield "ill-typed literal", f"{format_term(term)} is no value of its datatype", [row]
        several = any(self._differ(terms[a], terms[b]) for a, b in combinations(terms, 2))
        second = not several and any(self._differ(claim.terms[2], term) for term in terms.values())
        if several and any(self._declarations.declared(claim.predicate, "FunctionalProperty")):
            yield "disagreement", "there are several values of what has one at most", rows
        usual = self._state.quads(None, claim.predicate, most=_SAMPLE)
        others = {row[0] for row in usual} - {claim.subject}
        if (several or second) and len(others) >= _FEWEST:
            single = sum(len(values) == 1 for values in self._state.values(claim.predicate, others).values())
            if single >= _NEARLY_ALL * len(others):
                added = f"it would be a second value beside {format_term(terms[rows[0][2]])}, and " if second else ""
                read = " that were read" if len(usual) == _SAMPLE else ""
                yield "several values", f"{added}{single} of {len(others)} other subjects{read} have one value", rows
        yield from self._outliers(claim, rows, usual)

    def quoted(self, claim: Claim) -> Iterator[tuple[str, str, list[Row]]]:
        """Statements about the triple, which do not say that it holds: RDF 1.2's reifiers, and RDF 1.1's statements."""
        subject, predicate, value = claim.terms
        if isinstance(subject, ox.Literal):
            return
        state = self._state
        triple = state.id(ox.Triple(subject, predicate, value))
        about = list(state.quads(None, state.id(_REIFIES), triple, most=_QUOTED))
        by_part = [state.quads(None, state.id(part), number) for part, number in zip(_PARTS, claim.ids, strict=True)]
        statements = set.intersection(*({row[0] for row in rows} for rows in by_part)) if all(by_part) else set()
        about += [row for row in by_part[0] if row[0] in statements]
        for row in about[:_QUOTED]:
            own = {state.id(part) for part in (_REIFIES, *_PARTS, _TYPE)}
            said = [one for one in state.quads(row[0], most=_COMPARED) if one[1] not in own]
            told = [f"{format_term(state.term(one[1]))} {format_term(state.term(one[2]))}" for one in said[:_QUOTED]]
            sentence = ": ".join(filter(None, ("it is quoted, which does not say that it holds", "; ".join(told))))
            yield "quoted", sentence, [row, *said]

    def _outliers(self, claim: Claim, rows: list[Row], usual: tuple[Row, ...]) -> Iterator[tuple[str, str, list[Row]]]:
        known = self._state.terms({row[2] for row in (*usual, *rows)})
        places = {number: place for number, term in known.items() if (place := _place(term)) is not None}
        held = [places[row[2]] for row in usual if row[2] in places]
        if len(held) < _FEWEST:
            return
        middle = statistics.median(held)
        spread = statistics.median(abs(value - middle) for value in held)
        for row in rows:
            if spread and row[2] in places and abs(places[row[2]] - middle) > _FAR * spread:
                others = "the others that were read" if len(usual) == _SAMPLE else "all others"
                told = f"{format_term(known[row[2]])} is far from {others}, whose median is {middle:g}"
                yield "outlier", told, [row]

    @staticmethod
    def _differ(one: object, other: object) -> bool:
        if isinstance(one, ox.Literal) and isinstance(other, ox.Literal):
            return compare(one, other) == "different"
        return one != other


def _place(term: object) -> float | None:
    """Where a number stands on a line; of a date, its year."""
    if not isinstance(term, ox.Literal) or not well_formed(term):
        return None
    datatype = term.datatype.value
    if datatype in NUMBERS:
        value = float(term.value.replace("INF", "inf"))
        return value if abs(value) < float("inf") else None
    if datatype in DATES:
        year = term.value.strip(" \t\r\n")
        sign = -1 if year.startswith("-") else 1
        return float(sign * int(year.lstrip("-").partition("-")[0].partition("Z")[0].partition("+")[0]))
    return None
