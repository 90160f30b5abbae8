"""How a query that found nothing, or less than was meant, may be mended: what its patterns and FILTERs do not fit.

What is told is looked up in the data, a pattern at a time; what is left out is counted by the query itself.
"""

from __future__ import annotations

import difflib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary
from worlds.core.quads.used_names import TimeBudget, spelled
from worlds.graph.query.query import Query
from worlds.graph.query.tokens import Token
from worlds.graph.terms import RDF, XSD, format_term, shorten, to_python

_LOOKED_AT = 2000  # quads of a pattern
_TOLD = 5  # hints on FILTERs
_SUBJECTS = 2000  # of which it is told how many lack something
_LONGEST = 200  # characters of a text or a name that is compared by its letters
_ALIKE = 0.85  # of a name
_LIKE = 0.8  # difflib's ratio of a text that may have been meant
_COMPARISONS = frozenset({"=", "!=", "<", ">", "<=", ">="})
_MATCHING = ("CONTAINS", "STRSTARTS", "STRENDS")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SUMS = ("SUM", "AVG")
_ORDERING = frozenset({"<", ">", "<=", ">="})
_PLAIN = frozenset({"triples", "filter", "optional", "minus", "bind", "values"})
"""The elements of a group whose solutions are counted anew with an OPTIONAL at its end."""
_RDF_TYPE = ox.NamedNode(RDF + "type")
_DATES = {XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth", "dateTimeStamp")}

Terms: TypeAlias = tuple[Any, Any, Any]  # of a pattern; None for a variable


class Hint(str):
    """A note on a query that says how to mend it: `old`, as the query has it, is to be `new`."""

    old: str
    new: str

    def __new__(cls, text: str, old: str, new: str) -> Hint:
        """`old` may have other white space than the query; "" is the end of the query."""
        hint = super().__new__(cls, text)
        hint.old, hint.new = old, new
        return hint

    def __reduce__(self) -> tuple[Any, ...]:  # for another process
        return Hint, (str(self), self.old, self.new)


@dataclass(frozen=True)
class TriplePattern:
    """A triple pattern of a query, as written and as terms, and the graphs that it is looked up in."""

    line: int
    parts: tuple[str, str, str]
    terms: Terms
    graphs: Sequence[Any] | None  # None for all named graphs; [None] for any graph

    @property
    def text(self) -> str:
        """The pattern as the query has it."""
        return " ".join((*self.parts, "."))


@dataclass(eq=False, repr=False)
class Hints:
    """Hints on one query; `_quads` reads the index, `_term` reads a literal or a name of the query."""

    _query: Query
    _dictionary: Dictionary
    _quads: Callable[[Terms, Sequence[Any] | None], Iterator[ox.Quad]]
    _term: Callable[[int], tuple[Any, int]]
    _budget: TimeBudget

    @property
    def _tokens(self) -> Sequence[Token]:
        return self._query.tokens

    def _shown(self, term: Any) -> str:
        return format_term(term, self._query.prefixes)

    def _objects(self, pattern: TriplePattern) -> list[Any]:
        """Objects under the predicate of a pattern, of its subject if there are any."""
        subject, predicate, _ = pattern.terms
        for terms in ((subject, predicate, None), (None, predicate, None)):
            if found := [quad.object for quad in itertools.islice(self._quads(terms, [None]), _LOOKED_AT)]:
                return found
        return []

    # -- patterns -------------------------------------------------------------------------------------------------

    def of_empty(self, pattern: TriplePattern) -> Iterator[str]:
        """Changes that would make a pattern without solutions match."""
        subject, predicate, value = pattern.terms
        if predicate is None:
            return
        turned = (value, predicate, subject)
        if not isinstance(value, ox.Literal) and next(self._quads(turned, [None]), None) is not None:
            s, p, o = pattern.parts
            yield Hint(f"The other way round, {{ {o} {p} {s} . }} matches.", f"{s} {p} {o}", f"{o} {p} {s}")
            return
        if predicate != _RDF_TYPE:  # of classes all is known
            around = itertools.islice(self._quads((None, predicate, None), [None]), _LOOKED_AT)
            yield from self._misnamed(subject, value, around)
        if isinstance(value, ox.Literal):
            yield from self._entity(value, self._objects(pattern), f"The objects of {self._shown(predicate)} are")

    def _misnamed(self, subject: Any, value: Any, quads: Iterator[ox.Quad]) -> Iterator[str]:
        """Names that do not occur, and are written nearly as others that stand in their place."""
        unknown = [
            (place, term)
            for place, term in enumerate((subject, value))
            if isinstance(term, ox.NamedNode)
            and len(term.value) <= _LONGEST
            and not any(next(self._quads(at, [None]), None) for at in ((term, None, None), (None, None, term)))
        ]
        if not unknown:
            return
        others: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
        for quad in quads:
            for place, term in enumerate((quad.subject, quad.object)):
                if isinstance(term, ox.NamedNode) and len(term.value) <= _LONGEST:
                    others[place][spelled(term.value)] = term
        for place, term in unknown:
            for near in difflib.get_close_matches(spelled(term.value), others[place], 1, _ALIKE):
                given, meant = self._shown(term), self._shown(others[place][near])
                yield Hint(f"{given} is near {meant}.", given, meant)

    def _entity(self, given: ox.Literal, objects: Sequence[Any], are: str) -> Iterator[str]:
        """The IRI that a text stands for, where there are no literals; else a text that is written nearly so."""
        iris = {one for one in objects if isinstance(one, ox.NamedNode)}
        if iris and not any(isinstance(one, ox.Literal) for one in objects):
            named = sorted(set(self._named(given, iris)), key=str)[:3]
            shown = [self._shown(one) for one in named or sorted(iris, key=str)[:1]]
            told = f"{are} IRIs, not texts{_looked_at(objects)}: {', '.join(shown)}."
            yield Hint(told, self._shown(given), shown[0]) if len(named) == 1 else told
            return
        texts = {one.value: one for one in objects if isinstance(one, ox.Literal) and len(one.value) <= _LONGEST}
        if len(given.value) > _LONGEST or given.value in texts:
            return
        for near in difflib.get_close_matches(given.value, texts, 1, _LIKE):
            written, meant = self._shown(given), self._shown(texts[near])
            yield Hint(f"{written} is near {meant}.", written, meant)

    def _named(self, given: ox.Literal, iris: set[Any]) -> Iterator[Any]:
        """The IRIs that have the text as a label, or end in it."""
        for literal in self._dictionary.literals(given.value):
            for quad in itertools.islice(self._quads((None, None, literal), [None]), _LOOKED_AT):
                if quad.subject in iris:
                    yield quad.subject
        sought = given.value.casefold().replace(" ", "")
        yield from (one for one in iris if shorten(one.value, self._query.prefixes).casefold().endswith(f":{sought}"))

    # -- what FILTERs test ----------------------------------------------------------------------------------------

    def of_filters(self, patterns: Sequence[TriplePattern]) -> Iterator[str]:
        """Notes on the values of a variable that differ from the values in a FILTER."""
        held = {one.parts[2]: one for one in patterns if one.terms[2] is None and one.terms[1] is not None}
        said: set[str] = set()
        values: dict[str, list[Any]] = {}
        for variable, operator, given in self._tests():
            if self._budget.spent or len(said) >= _TOLD:
                return
            if variable in held and variable not in values:
                values[variable] = self._objects(held[variable])
            if objects := values.get(variable):
                for told in self._compared(variable, operator, given, objects):
                    if told not in said:
                        said.add(told)
                        yield told

    def _tests(self) -> Iterator[tuple[str, str, Any]]:
        """Variable, operator or function, and constant of each test that has these alone."""
        tokens = self._tokens
        for at, token in enumerate(tokens):
            if token.kind == "variable":
                place = at + 1
                in_lang = at > 1 and tokens[at - 2].is_word("LANG") and tokens[at - 1].text == "("
                if in_lang:
                    place += 1
                if place + 1 < len(tokens) and tokens[place].text in _COMPARISONS | {","}:
                    operator = tokens[place].text
                    before = tokens[at - 4] if in_lang and operator == "," and at > 3 else tokens[at - 2]
                    name = before.text.upper() if before.kind == "word" and operator == "," else operator
                    given = self._constant(place + 1)
                    if given is not None:
                        yield token.text, "LANG" if in_lang else name, given

    def _constant(self, at: int) -> Any:
        token = self._tokens[at]
        if token.kind in ("string", "number", "iri", "name"):
            return self._term(at)[0]
        return None

    def _compared(self, variable: str, operator: str, given: Any, objects: Sequence[Any]) -> Iterator[str]:
        literals = [one for one in objects if isinstance(one, ox.Literal)]
        text = isinstance(given, ox.Literal)
        if operator == "LANG":
            yield from self._languages(variable, given, literals, _is_cut(objects))
        elif not literals and text:
            if operator in ("=", "!="):
                yield from self._entity(given, objects, f"The values of {variable} are")
            else:
                text_of = f"STR({variable}) is the text of one"
                yield f"The values of {variable} are IRIs, not texts{_looked_at(objects)}: {text_of}."
        elif operator == "REGEX" or operator in _MATCHING:
            sought = given.value.casefold() if text else ""
            if sought and any(sought in one.value.casefold() for one in literals):
                way = (
                    f'REGEX({variable}, {self._shown(given)}, "i")'
                    if operator == "REGEX"
                    else f"{operator}(LCASE({variable}), {self._shown(ox.Literal(given.value.lower()))})"
                )
                yield f"Capital letters matter: {way} does without them."
        elif text and operator in _COMPARISONS:
            yield from self._values(
                variable, "=" if _is_cut(objects) else operator, given, literals
            )  # no range of some

    def _languages(self, variable: str, given: Any, literals: Sequence[ox.Literal], cut: bool) -> Iterator[str]:
        counts = Counter(one.language or "" for one in literals)
        if not isinstance(given, ox.Literal) or given.value.casefold() in counts:
            return
        tags = [f'"{tag}"' if tag else 'none, which is ""' for tag, _ in counts.most_common(5)]
        more = ", …" if len(counts) > 5 or cut else ""
        yield f"The languages of {variable} are {', '.join(tags)}{more}."

    def _values(self, variable: str, operator: str, given: ox.Literal, literals: Sequence[ox.Literal]) -> Iterator[str]:
        kind = Counter(one.datatype.value for one in literals).most_common(1)[0][0]
        ours = to_python(given)
        plain = given.datatype.value == XSD + "string"
        numbers: list[Any] = [value for value in map(to_python, literals) if _is_number(value)]
        if kind in _DATES and plain:
            wanted = ox.Literal(given.value, datatype=ox.NamedNode(kind))
            is_one = wanted.value.isdecimal() or not isinstance(to_python(wanted), str)
            such = next(one for one in literals if one.datatype.value == kind)
            how = f": compare with {self._shown(wanted)}" if is_one else f", such as {self._shown(such)}"
            yield f"The values of {variable} are dates{how}."
        elif kind in _DATES and _is_number(ours):
            yield f"The values of {variable} are dates, no numbers: YEAR({variable}) is the year of one."
        elif numbers and plain:
            how = (
                f": write {given.value} without quotes" if _NUMBER.fullmatch(given.value) else f", such as {numbers[0]}"
            )
            yield f"The values of {variable} are numbers{how}."
        elif numbers and _is_number(ours) and operator not in ("=", "!="):
            yield f"The values of {variable} go from {min(numbers)} to {max(numbers)}."

    # -- aggregates -----------------------------------------------------------------------------------------------

    def of_sums(self, patterns: Sequence[TriplePattern]) -> Iterator[str]:
        """Variables without numbers that are summed up."""
        held = {one.parts[2]: one for one in patterns if one.terms[2] is None and one.terms[1] is not None}
        tokens = self._tokens
        for at in range(len(tokens) - 2):
            name = tokens[at + 2].text
            if self._budget.spent:
                return
            if tokens[at].is_word(*_SUMS) and tokens[at + 1].text == "(" and name in held:
                objects = self._objects(held[name])
                if (
                    objects
                    and not _is_cut(objects)
                    and not any(_is_number(to_python(one)) for one in objects if isinstance(one, ox.Literal))
                ):
                    shown, verb = self._shown(objects[0]), tokens[at].text.upper()
                    yield f"{name} holds no numbers, but values such as {shown}, so {verb} has no value."

    # -- losses ---------------------------------------------------------------------------------------------------

    def of_losses(self, patterns: Sequence[TriplePattern], count: Callable[[Query], Any]) -> Iterator[str]:
        """How many solutions are left out because something lacks a value that is only shown.

        Both are counted by the query itself, with the pattern as an OPTIONAL; `count` answers it.
        """
        shape = self._query.shape
        body, selected = shape.query.body, shape.query.projected
        if body is None or not {one.kind for one in body.elements} <= _PLAIN:
            return
        uses = Counter(token.text for token in self._tokens if token.kind == "variable")
        rest = [shape.source(one.first, one.last) for one in body.elements if one.kind != "triples"]
        for one in patterns:
            subject, _, value = one.parts
            shown = selected is None or selected.get(value[1:], False)
            others = [other for other in patterns if other is not one and subject in other.parts[::2]]
            of_variables = (
                subject.startswith("?") and one.terms == (None, one.terms[1], None) and one.terms[1] is not None
            )
            if (
                not shown
                or not of_variables
                or uses[value] > 1 + (selected is not None)
                or not self._lacks(one, others)
            ):
                continue
            group = " ".join([*(other.text for other in patterns if other is not one), *rest])
            pattern = one.text.removesuffix(" .")
            head = f"{shape.source(0, shape.prologue)} SELECT (COUNT(*) AS ?every) (COUNT({value}) AS ?kept)"
            text = f"{head} {shape.source(*shape.query.dataset)} {{ {group} OPTIONAL {{ {pattern} }} }}"
            counted = next(iter(count(self._query.replaced(text=text))))
            every, kept = (int(term.value) for term in counted)
            if lost := every - kept:
                yield (
                    f"{lost:,} of {every:,} solutions have a {subject} without {one.parts[1]}, and are left out: "
                    f"OPTIONAL {{ {pattern} }} keeps them."
                )

    def _lacks(self, one: TriplePattern, others: Sequence[TriplePattern]) -> bool:
        """Whether one of the first things that other patterns have as the subject of this one lacks a value of it."""
        for other in others:
            place = 0 if other.parts[0] == one.parts[0] else 2
            for quad in itertools.islice(self._quads(other.terms, other.graphs), _SUBJECTS):
                if self._budget.spent:
                    return False
                terms = ((quad.subject, quad.object)[place // 2], one.terms[1], None)
                if next(self._quads(terms, one.graphs), None) is None:
                    return True
        return False

    # -- numbers that are texts -------------------------------------------------------------------------------------

    def of_texts(self, patterns: Sequence[TriplePattern]) -> Iterator[str]:
        """Numbers that are kept as text, and are compared or ordered."""
        held = {one.parts[2]: one for one in patterns if one.terms[2] is None and one.terms[1] is not None}
        for name, (how, number) in {name: (how, number) for name, how, number in self._ordered()}.items():
            if self._budget.spent:
                return
            objects = self._objects(held[name]) if name in held else []
            texts = [one.value for one in objects if _is_written_number(one)]
            if 2 * len(texts) > len(objects) and (number or sorted(texts) != sorted(texts, key=Decimal)):
                compares = "does not compare with numbers" if number else "compares letter by letter"
                shown = self._shown(ox.Literal(texts[0]))
                kept = f"{name} has numbers that are kept as text ({shown}), which {how} {compares}"
                yield f"{kept}: write xsd:decimal({name})."

    def _ordered(self) -> Iterator[tuple[str, str, bool]]:
        """(variable, the comparison, MAX, MIN or ORDER BY it stands in, whether beside a number) of the query."""
        tokens = [*self._tokens, Token("mark", "", 0, 0), Token("mark", "", 0, 0)]
        ordering = False
        for at, token in enumerate(tokens[:-2]):
            ordering = token.is_word("BY") or (ordering and not token.is_word("LIMIT", "OFFSET", "VALUES", "HAVING"))
            if token.kind != "variable" or not at:
                continue
            before, after = tokens[at - 1], tokens[at + 1]
            if after.text in _ORDERING or before.text in _ORDERING:
                sign, other = (after, tokens[at + 2]) if after.text in _ORDERING else (before, tokens[at - 2])
                yield token.text, sign.text, other.kind == "number"
            elif before.text == "(" and after.text == ")" and tokens[at - 2].is_word("MAX", "MIN", "ASC", "DESC"):
                word = tokens[at - 2].text.upper()
                yield token.text, word if word in ("MAX", "MIN") else "ORDER BY", False
            elif ordering and before.text != "(":
                yield token.text, "ORDER BY", False


def _is_cut(objects: Sequence[Any]) -> bool:
    """Whether there may be more objects than were looked at."""
    return len(objects) >= _LOOKED_AT


def _looked_at(objects: Sequence[Any]) -> str:
    return f" ({len(objects):,} were looked at)" if _is_cut(objects) else ""


def _is_written_number(term: Any) -> bool:
    """Whether a term is a plain text that is a number."""
    plain = isinstance(term, ox.Literal) and term.datatype.value == XSD + "string"
    return plain and _NUMBER.fullmatch(term.value.strip()) is not None


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool | str) and hasattr(value, "__float__")
