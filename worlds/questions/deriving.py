"""Derives the SPARQL query that answers a question, from its words, the world's schema and the edges of its entities.

What a query says is only as sure as the least sure of its parts: a word that names a class or a predicate by its
letters, an edge that is the only one there is, and every word of the question that no part has taken up.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from worlds.entities.answers import Kind, Part
from worlds.graph.terms import shorten
from worlds.questions.joining import Joining
from worlds.questions.measuring import GUESSED, ONLY, Measure, Pattern, ranges, renamed
from worlds.questions.reading import Reading, Span, kind_of

_IRI_OR_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|<([^<>\s]+)>')
UNREAD = 0.5
"""What each word counts that no part of a query has taken up."""


@dataclass
class Derived:
    """A query, how sure it is, and its parts."""

    kind: Kind
    query: str
    score: float
    parts: list[Part] = field(default_factory=list)


class Deriver(Joining):
    """Derives the queries of questions to one world."""

    def derive(self, reading: Reading) -> Derived | None:
        """The query of a question; None where none can be derived, or none is needed."""
        self._describe(reading)
        reading.kind = kind_of(reading.spans, reading.comparative)
        if reading.kind == "lookup":
            return None
        if reading.kind == "superlative":
            reading.take_best()
        found = {
            "list": self._list,
            "count": self._count,
            "superlative": self._superlative,
            "filter": self._list,
            "comparison": self._comparison,
            "yes or no": self._confirm,
        }[reading.kind](reading)
        if found is None:
            return None
        said = {str(part.iri) for part in found.parts}
        left = [
            one
            for one in reading.of("class", "predicate", "unknown", "entity", "value", "number", "or")
            if not any(str(predicate.iri) in said for predicate, _ in one.predicates)  # "earns the highest salary"
        ]
        score = found.score * UNREAD ** len(left)
        parts = found.parts + [Part(one.text, None, 0.0) for one in left]
        return replace(found, score=round(score, 3), parts=parts)

    def _describe(self, reading: Reading) -> None:
        """Take classes that only say what an entity is, as in "the film Metropolis", or what a class is of."""
        for one, other in pairwise(reading.spans):
            if other.first != one.first + len(one.text.split()):
                continue
            if one.kind == "entity" and other.kind == "class":
                one, other = other, one  # "the Finance department"
            if one.kind != "class":
                continue
            if other.kind == "class":
                one.used = True  # "which film genre"
            elif other.kind == "entity":
                line = self._typed(one.classes[0][0])
                fitting = [
                    e for e in other.entities if self._ask(f"SELECT ?x {{ {line} VALUES ?x {{ <{e}> }} }} LIMIT 1")
                ]
                if fitting:
                    one.used, other.entities = True, fitting

    # -- kinds --------------------------------------------------------------------------------------------------------

    def _list(self, reading: Reading) -> Derived | None:
        pattern = self._things(reading, bare=bool(reading.asks("who")))
        if pattern is None or (len(pattern.lines) < 1 + (not reading.asks("who")) and reading.kind == "filter"):
            return None
        return self._derived(reading, f"SELECT DISTINCT ?x {{ {pattern.text} }}", pattern)

    def _count(self, reading: Reading) -> Derived | None:
        asks = reading.asks("average", "sum")
        if asks:
            return self._aggregate(reading, "AVG" if asks[0].value == "average" else "SUM")
        said = self._said_number(reading)
        if said is not None:
            return said
        pattern = self._things(reading) or self._values(reading)
        return (
            None
            if pattern is None
            else self._derived(reading, f"SELECT (COUNT(DISTINCT ?x) AS ?count) {{ {pattern.text} }}", pattern)
        )

    def _aggregate(self, reading: Reading, function: str) -> Derived | None:
        measured = self._measured(reading, None)
        if measured is None or measured.counted or measured.date:
            return None
        alone = not reading.of("class")
        pattern = self._things(reading, bare=alone, of=self._of(measured) if alone else None)
        if pattern is None:
            return None
        pattern.say(measured.line, measured.score, measured.words, measured.iri)
        # Each thing once: several graphs may say the same.
        inner = f"SELECT DISTINCT ?x ?v {{ {pattern.text} }}"
        return self._derived(reading, f"SELECT ({function}(?v) AS ?value) {{ {inner} }}", pattern)

    def _superlative(self, reading: Reading) -> Derived | None:
        (asked,) = reading.of("superlative")[:1]
        if reading.comparative or reading.asks("count", "average", "sum", "confirm"):
            return None  # than what, is no second entity; or something about the one that has the most
        target = self._target(reading, before=asked)
        measured = self._measured(reading, target, asked)
        if measured is None:
            return None
        who = bool(reading.asks("who"))
        if not who and target is None and self._role(reading) is None and not reading.of("value"):
            if reading.best > 1:
                return None
            return self._highest(reading, asked, measured)
        pattern = self._things(reading, target=target, bare=who, of=None if target else self._of(measured))
        if pattern is None:
            return None
        return self._extreme(reading, pattern, measured, asked.value.most)

    def _highest(self, reading: Reading, asked: Span, measured: Measure) -> Derived | None:
        """The value itself: "the highest salary", "the lowest price of a product"."""
        if measured.counted or self._behind(reading, asked) is None:
            return None
        alone = not reading.of("class")
        pattern = self._things(reading, bare=alone, of=self._of(measured) if alone else None)
        if pattern is None:
            return None
        pattern.say(measured.line, measured.score, measured.words, measured.iri)
        function = "MAX" if asked.value.most != measured.falls else "MIN"
        return self._derived(reading, f"SELECT ({function}(?v) AS ?value) {{ {pattern.text} }}", pattern)

    def _comparison(self, reading: Reading) -> Derived | None:
        (asked,) = reading.of("superlative")[:1]
        named = reading.of("entity")
        if len(named) != 2 or any(len(one.entities) != 1 for one in named):
            return None
        measured = self._measured(reading, None, asked, of=[one.entities[0] for one in named])
        if measured is None:
            return None
        pattern = Pattern()
        for one in reading.of("or"):
            one.used = True
        for one in named:
            one.used = True
            pattern.parts.append(Part(one.text, str(one.entities[0]), 1.0))
        for one in reading.of("class"):
            one.used = True  # "which company is older, A or B"
        pattern.say(f"VALUES ?x {{ {' '.join(f'<{one.entities[0]}>' for one in named)} }}", 1.0)
        if reading.asks("confirm"):
            sign = ">" if asked.value.most != measured.falls else "<"
            lines = [renamed(measured.line, x=f"<{one.entities[0]}>", v=f"?v{at}") for at, one in enumerate(named)]
            pattern.say("", measured.score, measured.words, measured.iri)
            return (
                None
                if measured.counted
                else self._derived(reading, f"ASK {{ {' '.join(lines)} FILTER(?v0 {sign} ?v1) }}", pattern)
            )
        return self._extreme(reading, pattern, measured, asked.value.most)

    def _extreme(self, reading: Reading, pattern: Pattern, measured: Measure, most: bool) -> Derived:
        """The things with the most of a measure, or the best so many, all of them where several have as much."""
        pattern.say("", measured.score, measured.words, measured.iri)
        function = "MAX" if most != measured.falls else "MIN"
        if reading.best > 1:
            return self._first(reading, pattern, measured, falling=function == "MAX")
        if measured.counted:
            body = f"{{ {pattern.text} {measured.line} }} GROUP BY ?x"
            each = f"SELECT ?x (COUNT(DISTINCT ?y) AS ?v) {body}"
            best = f"SELECT ({function}(?n) AS ?v) {{ SELECT ?x (COUNT(DISTINCT ?y) AS ?n) {body} }}"
            return self._derived(reading, f"SELECT ?x ?v {{ {{ {each} }} {{ {best} }} }}", pattern)
        whole = f"{pattern.text} {measured.line}"
        best = f"SELECT ({function}(?v_) AS ?v) {{ {renamed(whole, x='?x_', v='?v_')} }}"
        return self._derived(reading, f"SELECT DISTINCT ?x ?v {{ {{ {best} }} {whole} }}", pattern)

    def _first(self, reading: Reading, pattern: Pattern, measured: Measure, *, falling: bool) -> Derived:
        """The things whose measure is that of the last of the best so many, or better."""
        body = f"{pattern.text} {measured.line}"
        each = f"SELECT DISTINCT ?x ?v {{ {body} }}"
        if measured.counted:
            each = f"SELECT ?x (COUNT(DISTINCT ?y) AS ?v) {{ {body} }} GROUP BY ?x"
        order, function, sign = ("DESC(?v)", "MIN", ">=") if falling else ("?v", "MAX", "<=")
        last = f"SELECT ({function}(?v) AS ?t) {{ {{ {each} ORDER BY {order} LIMIT {reading.best} }} }}"
        query = f"SELECT ?x ?v {{ {{ {each} }} {{ {last} }} FILTER(?v {sign} ?t) }} ORDER BY {order}"
        return self._derived(reading, query, pattern)

    def _confirm(self, reading: Reading) -> Derived | None:
        named = reading.of("entity")
        if not named or any(len(one.entities) != 1 for one in named):
            return None
        first = named[0]
        if any(one.first < first.first for one in reading.of("class")):
            things = self._things(reading)  # "are there companies in Oslo"
            if things is None:
                return None
            ask = f"ASK {{ {things.text} }}"
            if not self._ask(f"SELECT ?x {{ {things.text} }} LIMIT 1"):
                things.say("", GUESSED)  # that there is none, nobody says
            return self._derived(reading, ask, things)
        subject = f"<{first.entities[0]}>"
        pattern = Pattern()
        first.used = True
        pattern.parts.append(Part(first.text, str(first.entities[0]), 1.0))
        for one in reading.of("class"):  # "does she work there" of an employee
            line = self._typed(one.classes[0][0])
            if not one.predicates and self._ask(f"SELECT ?x {{ {line} VALUES ?x {{ {subject} }} }} LIMIT 1"):
                one.used = len(named) == 2
        if len(named) == 2:
            return self._confirm_edge(reading, first, named[1], pattern)
        if compared := self._filters(reading, None, pattern, subject=first.entities[0]):
            return self._derived(reading, f"ASK {{ {renamed(' '.join(compared), x=subject)} }}", pattern)
        classes = reading.of("class")
        if len(classes) == 1 and len(named) == 1:
            classes[0].used = True
            kind, score = classes[0].classes[0]
            line = renamed(self._typed(kind), x=subject)
            told = self._ask(f"SELECT ?t {{ {subject} a ?t }} LIMIT 1")
            pattern.say(line, score if told else GUESSED, classes[0].text, kind.iri)
            return self._derived(reading, f"ASK {{ {line} }}", pattern)
        return None

    def _confirm_edge(self, reading: Reading, first: Span, second: Span, pattern: Pattern) -> Derived | None:
        one, other = f"<{first.entities[0]}>", f"<{second.entities[0]}>"
        second.used = True
        pattern.parts.append(Part(second.text, str(second.entities[0]), 1.0))
        choices: list[tuple[float, int, Span, str, str, str]] = []
        for span in reading.of("predicate", "class"):
            for predicate, score in span.predicates:
                if ranges(predicate) is not None:
                    continue
                for at, (s, o) in enumerate(((one, other), (other, one))):
                    there = bool(self._ask(f"SELECT ?s {{ {s} <{predicate.iri}> {o} BIND({s} AS ?s) }} LIMIT 1"))
                    # What has one other value, or is that of one other thing, is not joined to this one.
                    ends = (f"SELECT DISTINCT ?e {{ {s} <{predicate.iri}> ?e }} LIMIT 2",
                            f"SELECT DISTINCT ?e {{ ?e <{predicate.iri}> {o} }} LIMIT 2")  # fmt: skip
                    sure = (
                        GUESSED
                        if self._turns(str(predicate.iri))
                        else score
                        if there
                        else score * 0.8
                        if any(len(self._ask(e)) == 1 for e in ends)
                        else GUESSED
                    )
                    choices.append((sure, -at, span, str(predicate.iri), s, o))
        if not choices:
            return self._confirm_unnamed(reading, one, other, pattern)
        best = max(choices, key=lambda choice: choice[:2])
        best[2].used = True
        pattern.say(f"{best[4]} <{best[3]}> {best[5]} .", best[0], best[2].text, best[3])
        return self._derived(reading, f"ASK {{ {pattern.text} }}", pattern)

    def _confirm_unnamed(self, reading: Reading, one: str, other: str, pattern: Pattern) -> Derived | None:
        """Whether something is said to join two things, where no word names what: "is it in Oslo"."""
        there = {str(p) for (p,) in self._ask(f"SELECT DISTINCT ?p {{ {one} ?p {other} }}")}
        kin = f"SELECT DISTINCT ?p {{ {one} ?p ?o . ?o a ?kind . {other} a ?kind }}"
        edges = there or {str(p) for (p,) in self._ask(kin)}
        if len(edges) != 1:
            return None
        (edge,) = edges
        pattern.say(f"{one} <{edge}> {other} .", ONLY if there else ONLY * ONLY, iri=edge)
        return self._derived(reading, f"ASK {{ {pattern.text} }}", pattern)

    # -- patterns -----------------------------------------------------------------------------------------------------

    def _values(self, reading: Reading) -> Pattern | None:
        """What an entity has under a predicate that is named."""
        named, predicates = reading.of("entity"), reading.of("predicate")
        if len(named) != 1 or len(named[0].entities) != 1 or len(predicates) != 1:
            return None
        entity = named[0].entities[0]
        for predicate, score in predicates[0].predicates:
            if self._ask(f"SELECT ?x {{ <{entity}> <{predicate.iri}> ?x }} LIMIT 1"):
                pattern = Pattern()
                pattern.say(f"<{entity}> <{predicate.iri}> ?x .", score, predicates[0].text, predicate.iri)
                pattern.parts.append(Part(named[0].text, str(entity), 1.0))
                named[0].used = predicates[0].used = True
                return pattern
        return None

    def _said_number(self, reading: Reading) -> Derived | None:
        """A number that an entity says itself: "how many inhabitants does Oslo have"."""
        named = reading.of("entity")
        if len(named) != 1 or len(named[0].entities) != 1 or reading.of("number"):
            return None
        entity = named[0].entities[0]
        for span in reading.of("predicate", "class"):
            if any(one is not span for one in reading.of("class")):
                continue  # "how many people does it employ" are counted
            for predicate, score in span.predicates:
                rival = span.classes[0][1] if span.classes else 0.0
                if ranges(predicate) != "number" or (rival == 1.0 and not self._says(predicate, span.text)):
                    continue  # "people" are counted, though there is a number of employees
                if self._ask(f"SELECT ?v {{ <{entity}> <{predicate.iri}> ?v }} LIMIT 1"):
                    pattern = Pattern()
                    # Of what could be counted as well, nobody knows which is meant.
                    sure = score * UNREAD if rival == 1.0 else score
                    pattern.say(f"<{entity}> <{predicate.iri}> ?count .", sure, span.text, predicate.iri)
                    pattern.parts.append(Part(named[0].text, str(entity), 1.0))
                    named[0].used = span.used = True
                    return self._derived(reading, f"SELECT DISTINCT ?count {{ {pattern.text} }}", pattern)
        return None

    def _derived(self, reading: Reading, query: str, pattern: Pattern) -> Derived:
        return Derived(reading.kind, query, pattern.score, pattern.parts)


def shortened(query: str, prefixes: Mapping[str, str]) -> str:
    """A query with prefixed names in place of IRIs, where the world has prefixes for them."""
    return _IRI_OR_TEXT.sub(lambda found: shorten(found[1], prefixes) if found[1] else found[0], query)
