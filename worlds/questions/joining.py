"""The patterns of queries: what is asked for, its edges to the entities that are named, and its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from worlds.entities.answers import Part
from worlds.entities.schema import ClassSummary, PredicateSummary
from worlds.graph.terms import XSD
from worlds.questions.edges import Edge, written
from worlds.questions.measuring import GUESSED, ONLY, Measuring, Pattern, is_year, ranges, renamed
from worlds.questions.reading import Reading, Span
from worlds.questions.words import Superlative

_OPERATORS = {">": ">", ">=": ">=", "<": "<", "<=": "<=", "=": "="}


class _Way(NamedTuple):
    """How what is asked for may be joined to an entity: how well words name it, how often it is so, and its lines."""

    score: float
    often: int
    lines: list[str]
    used: list[Span]
    entity: Any
    unnamed: list[str]
    predicate: str = ""


def _naming(spans: Sequence[Span], edge: Edge) -> tuple[Span | None, float]:
    """The words that name an edge, and how surely."""
    best = max(spans, key=lambda one: one.fits(edge.predicate), default=None)
    fits = 0.0 if best is None else best.fits(edge.predicate)
    return (best if fits else None), fits


def _best(found: list[_Way]) -> tuple[_Way, list[_Way]]:
    """The best way, and those that are as good."""
    found.sort(key=lambda one: (-one.score, -one.often))
    return found[0], [one for one in found[1:] if one.score >= found[0].score and one.lines != found[0].lines]


class Joining(Measuring):
    """Puts patterns together."""

    def _target(self, reading: Reading, before: Span | None = None) -> Span | None:
        """The class of what is asked for: the first that is named, or the one behind the word of a superlative."""
        classes = reading.of("class")
        role = self._role(reading)
        if role is not None and (before is None or role.first < before.first):
            return None
        if before is None or not classes:
            return classes[0] if classes else None
        if classes[0].first < before.first:
            return classes[0]
        # "the largest company" is a company; what "the most companies" are of, is another thing
        return classes[0] if classes[0] is self._behind(reading, before) and before.value.of else None

    def _things(
        self, reading: Reading, *, target: Span | None = None, bare: bool = False, of: ClassSummary | None = None
    ) -> Pattern | None:
        """What is asked for: its class, its edges to the entities that are named, and its values."""
        pattern = Pattern()
        if target is None and not bare:
            target = self._target(reading)
        kind = of
        bare = bare or bool(reading.of("value"))
        if target is not None:
            target.used = True
            kind, score = target.classes[0]
            rivals = [one for one, other in target.classes[1:] if other >= score and one.iri != kind.iri]
            pattern.say(self._typed(kind), GUESSED if rivals else score, target.text, kind.iri)
        elif (role := self._role(reading)) is not None:
            role.used = role.role = True
            predicate, score = next((one, score) for one, score in role.predicates if ranges(one) is None)
            pattern.say(f"?t <{predicate.iri}> ?x .", score, role.text, predicate.iri)
            kind = self._of_role(role)
        elif not bare:
            return None
        for number, span in enumerate(reading.of("entity", "value")):
            if not self._join(reading, pattern, kind, span, number):
                return None
        self._filters(reading, kind, pattern)
        self._relatives(reading, pattern, kind)
        return pattern

    def _join(self, reading: Reading, pattern: Pattern, kind: ClassSummary | None, span: Span, number: int) -> bool:
        """Add the edge between what is asked for and an entity that is named; False where there is none."""
        before = [one for one in reading.of("class") if one.first < span.first]
        # "people who work for companies in Oslo"
        if before and kind is not None and self._far(reading, pattern, kind, span, number, before[-1]):
            return True
        role = [one for one in reading.spans if one.role]
        kinds, spans = self._kinds(kind), [*reading.of("predicate", "class"), *role]
        told = [str(one.iri) for one, _ in self._vocabulary.predicates]
        found = []
        for entity in span.entities:
            for edge in self._edges.to(entity, kinds, told):
                named, fits = _naming(spans, edge)
                found.append(
                    _Way(
                        fits,
                        edge.often,
                        [edge.line("?x", written(entity))],
                        [named] if named else [],
                        entity,
                        [],
                        edge.predicate,
                    )
                )
        if not found:
            return self._far(reading, pattern, kind, span, number)
        best, rivals = _best(found)
        # Where a word names another edge that could lead there, the only edge that there is was not meant.
        meant = [one for one in reading.of("predicate") if self._leads(one, kind)] if not best.used else []
        iri = best.predicate
        again = any(f"<{iri}>" in line and not line.startswith("?t ") for line in pattern.lines)  # "in Oslo and Bergen"
        sure = GUESSED if rivals or meant or again or self._turns(iri) else best.score or ONLY
        words = best.used[0].text if best.used else ""
        pattern.say(best.lines[0], sure, words, iri)
        self._take(pattern, best, span)
        return True

    def _far(
        self,
        reading: Reading,
        pattern: Pattern,
        kind: ClassSummary | None,
        span: Span,
        number: int,
        between: Span | None = None,
    ) -> bool:
        """The same over one thing, of a class if that is named: by edges that are named, or that are the only ones."""
        middle = f"?m{number}"
        of = None if between is None else between.classes[0][0]
        typed = [] if of is None else [renamed(self._typed(of), x=middle)]
        spans = [one for one in reading.of("predicate", "class") if one is not between]
        found = []
        whole = True
        for entity in span.entities:
            near_by = set() if between is not None else self._direct(kind, entity)
            ways, all_ = self._edges.ways(entity, self._kinds(kind), self._kinds(of))
            whole = whole and all_
            for near, far in ways:
                first, one = _naming(spans, near)
                second, other = _naming([each for each in spans if each is not first], far)
                used = [each for each in (first, second) if each is not None]
                if any(str(edge.iri) in near_by for each in used for edge, _ in each.predicates):
                    continue  # "the projects that she leads" are not those that somebody leads who knows her
                score = min(one, other) if one and other else ONLY * (max(one, other) or ONLY)
                lines = [near.line("?x", middle), far.line(middle, written(entity)), *typed]
                unnamed = [edge.predicate for edge, each in ((near, first), (far, second)) if each is None]
                found.append(_Way(score + len(used), near.often, lines, used, entity, unnamed))
        if not found:
            return False
        best, rivals = _best(found)
        for line in best.lines:
            sure = best.score - len(best.used)
            pattern.say(line, GUESSED if rivals or (best.unnamed and not whole) else sure)
        for each in (*best.used, *([between] if between is not None else [])):
            pattern.parts.append(Part(each.text, None, round(pattern.score, 3)))
            each.used = True
        pattern.parts += [Part("", iri, round(pattern.score, 3)) for iri in best.unnamed]
        self._take(pattern, best, span)
        return True

    def _direct(self, kind: ClassSummary | None, entity: Any) -> set[str]:
        """The predicates that join things of a class to things like an entity."""
        if kind is None or not isinstance(entity, str):
            return set()
        ours = set(self._kinds(kind) or ())
        theirs = {str(one) for (one,) in self._ask(f"SELECT ?t {{ {written(entity)} a ?t }}")}
        return {
            str(one.iri)
            for one, _ in self._vocabulary.predicates
            for ends in ((one.subject_classes, one.object_classes), (one.object_classes, one.subject_classes))
            if ours & set(map(str, ends[0])) and theirs & set(map(str, ends[1]))
        }

    @staticmethod
    def _take(pattern: Pattern, way: _Way, span: Span) -> None:
        for one in (*way.used, span):
            one.used = True
        pattern.parts.append(Part(span.text, way.entity if isinstance(way.entity, str) else None, 1.0))

    def _filters(
        self, reading: Reading, kind: ClassSummary | None, pattern: Pattern, subject: object = None
    ) -> list[str]:
        """Add what numbers and years say of values; gives the lines."""
        lines: list[str] = []
        spans = reading.spans
        for number in reading.of("number"):
            place = spans.index(number)
            sign = next((one for one in reversed(spans[:place]) if one.kind == "compare"), None)
            behind = next((one for one in spans[place + 1 : place + 2] if one.kind == "compare"), None)
            if behind is not None and not behind.used and behind.value in (">=", "<="):
                sign = behind
            if sign is not None and sign.used and sign.value != "between":
                sign = None
            day = isinstance(number.value, str)
            year = day or (isinstance(number.value, int) and 1000 <= number.value <= 2200)
            if sign is not None and isinstance(sign.value, Superlative):
                about = self._than(reading, number, sign, kind, year, subject)
                if about is None:
                    continue
                choice, operator = about
            else:
                found = self._compared(reading, kind, number, year, subject)
                if found is None:
                    continue
                choice, operator = found, "=" if sign is None else _OPERATORS.get(sign.value, "")
            span, predicate, iri, score, counted = choice
            other = next((one for one in spans[place + 1 :] if one.kind == "number"), None)
            date = predicate is not None and ranges(predicate) == "date"
            if day and not date:
                continue
            this = f'"{number.value}"' if day else number.value
            if sign is None:
                if not year:
                    continue
                tests = [f"= {this}"]
            elif sign.value == "between":
                if (
                    other is None
                    or isinstance(other.value, str) != day
                    or (day and len(other.value) != len(number.value))
                ):
                    continue
                other.used = True
                tests = [f">= {this}", f'<= "{other.value}"' if day else f"<= {other.value}"]
            else:
                tests = [f"{operator} {this}"]
            number.used = True
            if sign is not None:
                sign.used = True
            if span is not None:
                span.used = True
            value = f"?n{len(lines)}"
            if counted:
                test = " && ".join(f"{value} {one}" for one in tests)
                inner = f"SELECT ?x (COUNT(DISTINCT ?c) AS {value}) {{ {pattern.text} {counted} }} GROUP BY ?x"
                line = f"{{ {inner} }} FILTER({test})"
            else:
                read = f"<{XSD}integer>(SUBSTR(STR({value}), 1, 4))" if date else value
                read = f"SUBSTR(STR({value}), 1, {len(number.value)})" if day else read
                line = f"?x <{iri}> {value} . FILTER({' && '.join(f'{read} {one}' for one in tests)})"
            lines.append(line)
            said = " ".join(one.text for one in (span, sign, number) if one is not None)
            pattern.say(line, score, said, iri)
        return lines

    def _than(
        self, reading: Reading, number: Span, sign: Span, kind: ClassSummary | None, year: bool, subject: object
    ) -> tuple[tuple[Span | None, PredicateSummary | None, Any, float, str], str] | None:
        """What "older than 60" or "founded earlier than 1990" is about, if that is one predicate, and the operator."""
        named = self._compared(reading, kind, number, year, subject)
        if named is not None and named[0] is not None and not named[4]:
            return named, ">" if sign.value.most else "<"
        fitting = [
            one
            for one, _ in self._vocabulary.predicates
            if (ranges(one) == "date" if year else ranges(one) == "number" and not is_year(one))
            and self._has(one, kind, subject)
            and self._about(one, sign.value.of | sign.value.falls)
        ]
        if len(fitting) != 1:
            return None
        more = sign.value.most != self._about(fitting[0], sign.value.falls)
        return (None, fitting[0], fitting[0].iri, 0.9, ""), ">" if more else "<"

    def _compared(
        self, reading: Reading, kind: ClassSummary | None, number: Span, year: bool, subject: object
    ) -> tuple[Span | None, PredicateSummary | None, Any, float, str] | None:
        """What a number is compared with: (words, predicate, its IRI, how sure, the pattern that is counted)."""
        near = sorted(
            reading.of("predicate", "class"), key=lambda one: (abs(one.first - number.first), one.first < number.first)
        )
        for span in near:
            for predicate, score in span.predicates:
                kinds = ranges(predicate)
                if kinds == ("date" if year else "number") and self._has(predicate, kind, subject):
                    others = (one for one, other in span.predicates if other >= score and one.iri != predicate.iri)
                    rivals = [one for one in others if ranges(one) == kinds and self._has(one, kind, subject)]
                    return span, predicate, predicate.iri, GUESSED if rivals else score, ""
                if year and kinds == "number" and self._has(predicate, kind, subject):
                    return span, predicate, predicate.iri, score * 0.9, ""
        if not year:
            for span in near:
                if (counted := self._counted(span, kind, "?c")) is not None:
                    return span, None, counted.iri, counted.score, counted.line
            return None
        dates = [
            one for one, _ in self._vocabulary.predicates if ranges(one) == "date" and self._has(one, kind, subject)
        ]
        return (None, dates[0], dates[0].iri, ONLY * 0.9, "") if len(dates) == 1 else None

    def _relatives(self, reading: Reading, pattern: Pattern, kind: ClassSummary | None) -> None:
        """Add that a thing has something of another class or under a predicate: "companies that have products"."""
        if kind is None or reading.kind not in ("list", "filter", "count") or any(s.entities for s in reading.spans):
            return
        for number, span in enumerate(reading.of("class", "predicate")):
            if (counted := self._counted(span, kind, f"?r{number}")) is not None:
                span.used = True
                # Which way round, and whether "that have" is meant, is not said.
                pattern.say(counted.line, counted.score * 0.7, span.text, counted.iri)
