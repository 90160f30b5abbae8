"""The triples of a claim: from terms, prefixed names, or the names of entities, predicates and values."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Literal, TypeAlias

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dictionary import Dictionary
from worlds.core.texts.chunks import ChunkStore
from worlds.core.texts.entity_facts import Facts
from worlds.core.texts.profiles import words_of
from worlds.extras.curation.columns.values import ALL, DATES, LITERALS, NUMBERS, WELL_FORMED, is_of
from worlds.extras.entities.disambiguation import Resolver
from worlds.extras.entities.names import normal
from worlds.extras.questions.question_terms import date_at, tokens, words_of_language
from worlds.graph.lexical import canonical, is_by_value
from worlds.graph.terms import RDF, XSD, format_term, to_python
from worlds.sql import statements
from worlds.sql.connection import Connection

Likeness: TypeAlias = Literal["same", "different", "unsure"]

_LANGUAGE = RDF + "langString"
_BINARY = (XSD + "double", XSD + "float")
_INSTANTS = (XSD + "dateTime", XSD + "dateTimeStamp")
_EDGES = " \t\r\n"
_DIGITS = 300  # of a number that is written without an exponent
_ZONES = datetime.timedelta(hours=14)  # how far a time without a zone may be from where it seems to be

_UNMADE = ALL.union(RDF + name for name in ("PlainLiteral", "langString", "dirLangString"))  # of a text alone
_TRUTHS = {"true": "true", "yes": "true", "false": "false", "no": "false"}

_dated = re.compile(r"(-?[0-9]+)(?:-([0-9]{2})(?:-([0-9]{2}))?)?").match
_PREDICATES = 3000  # whose names are compared
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_DECLARING = {  # predicate → which ends of its quads are properties
    _RDFS + "domain": (0,),
    _RDFS + "range": (0,),
    _RDFS + "subPropertyOf": (0, 2),
    _OWL + "inverseOf": (0, 2),
    _OWL + "equivalentProperty": (0, 2),
}
_SQL = statements("queries.sql")
_LOOKED_AT = 1000  # objects of a predicate, from either end
_SHOWN = 3  # entities of one name
_LITERAL = 3  # kind of a term
_RANGE = ox.NamedNode(_RDFS + "range")


def well_formed(literal: ox.Literal) -> bool:
    """Whether its lexical form is one of its datatype; of datatypes that are not known every form is."""
    check = WELL_FORMED.get(literal.datatype.value)
    return check is None or check(literal.value.strip(_EDGES))


def compare(one: ox.Literal, other: ox.Literal) -> Likeness:
    """Whether the literals are the same value.

    Numbers are compared as numbers, whatever their datatype. A form that is none of its datatype, an unknown datatype,
    a day beside a time of that day, and a time with a zone beside one without that is near, are not
    sure; neither are values of different datatypes that are written alike.
    """
    if one == other:
        return "same"
    if not well_formed(one) or not well_formed(other):
        return "unsure"
    a, b = one.datatype.value, other.datatype.value
    if a in NUMBERS and b in NUMBERS:
        return _compare_numbers(one, other)
    if a in DATES and b in DATES:
        return _compare_times(one, other)
    if a != b:
        return "unsure" if one.value.split() == other.value.split() or not (_known(a) and _known(b)) else "different"
    if not _known(a):
        return "unsure"
    return "same" if is_by_value(one) and len(set(canonical([one, other]))) == 1 else "different"


def as_of(given: ox.Literal, kinds: Iterable[tuple[str, str | None]]) -> ox.Literal | None:
    """A text or a number as the well-formed literal that it is of some kinds, (datatype, language); None where of none.

    Texts come last, as all is one. A number, or a text that is a decimal, is of another datatype of numbers if it has
    that value there: 5.0 is the integer 5. Texts may have months by name, yes and no, and in numbers no commas. A
    literal of any other datatype stays as it is, or is of none of the kinds.
    """
    own, text = given.datatype.value, given.value.strip(_EDGES)
    if not well_formed(given):
        return None
    if (own, given.language) in kinds:
        return given
    if own in NUMBERS or own == XSD + "string":
        for datatype, language in sorted(kinds, key=lambda kind: kind[0] in (XSD + "string", _LANGUAGE)):
            if language:
                return ox.Literal(_plain(text) if own in NUMBERS else text, language=language)
            for form in _forms(text, datatype, number=own in NUMBERS):
                made = ox.Literal(form, datatype=ox.NamedNode(datatype))
                if well_formed(made):
                    return made
    return given if any(is_of(own, datatype) for datatype, _ in kinds) else None


def _forms(text: str, datatype: str, *, number: bool) -> Iterable[str]:
    """How a text, or a number that is written so, may be written as a value of a datatype."""
    if datatype in _UNMADE:
        return ()
    if datatype == XSD + "boolean":
        return () if number else filter(None, [_TRUTHS.get(text.casefold())])
    if datatype in NUMBERS:
        plain = _plain(text) if number or WELL_FORMED[XSD + "decimal"](text) else text
        return (plain, text) if number and datatype not in _BINARY else (text, plain)
    if number:
        return (_plain(text),)
    told = tokens(text) if datatype in DATES else ()
    if told and (told[0].start, told[-1].end) == (0, len(text)):
        read = date_at(words_of_language(), told, text, 0)
        return (text, read[0]) if read is not None and read[1] == len(told) else (text,)
    return (text,)


def _plain(number: str) -> str:
    """A number without an exponent or idle zeros, where it has few digits so."""
    try:
        value = Decimal(number)
    except InvalidOperation:  # an infinity, as XML Schema writes it, is none
        return number
    if not value.is_finite() or abs(value.adjusted()) > _DIGITS:
        return number
    return f"{int(value)}" if value == value.to_integral_value() else f"{value.normalize():f}"


def _known(datatype: str) -> bool:
    return datatype in WELL_FORMED or datatype in (XSD + "string", _LANGUAGE)


def _compare_numbers(one: ox.Literal, other: ox.Literal) -> Likeness:
    a, b = (literal.value.strip(_EDGES).replace("INF", "Infinity") for literal in (one, other))
    if "NaN" in (a, b):
        return "same" if a == b else "different"
    binary = any(literal.datatype.value in _BINARY for literal in (one, other))
    return "same" if Decimal(a) == Decimal(b) or (binary and float(a) == float(b)) else "different"


def _compare_times(one: ox.Literal, other: ox.Literal) -> Likeness:
    a, b = one.datatype.value, other.datatype.value
    if a in _INSTANTS and b in _INSTANTS:
        first, second = to_python(one), to_python(other)
        if not isinstance(first, datetime.datetime) or not isinstance(second, datetime.datetime):
            return "unsure"
        if (first.tzinfo is None) == (second.tzinfo is None):
            return "same" if first == second else "different"
        return "unsure" if abs(first.replace(tzinfo=None) - second.replace(tzinfo=None)) <= 2 * _ZONES else "different"
    first_day, second_day = _day(one), _day(other)
    given = min(len(first_day), len(second_day))
    if first_day[:given] != second_day[:given]:
        return "different"
    return "same" if a == b and len(set(canonical([one, other]))) == 1 else "unsure"


def _day(literal: ox.Literal) -> list[str]:
    """Year, month and day, as far as they are given."""
    found = _dated(literal.value.strip(_EDGES))
    return [] if found is None else [part for part in found.groups() if part is not None]


class PredicateNames:
    """The predicates that quads use or vocabularies declare, by their names; read again when the world changes."""

    def __init__(self, connection: Connection, dictionary: Dictionary, chunks: ChunkStore) -> None:
        self._connection = connection
        self._chunks = chunks
        self._dictionary = dictionary
        self._facts = Facts(connection, dictionary)

    def of(self, name: str) -> list[ox.NamedNode]:
        """The predicates that a name is of, in any case and without punctuation: "hasManager" is "has manager", too."""
        known = self._connection.remembered("predicates by name", self._named)
        return list(
            dict.fromkeys(one for form in (normal(name), normal(words_of(name))) for one in known.get(form, ()))
        )

    def _named(self) -> dict[str, list[ox.NamedNode]]:
        numbers = sorted(self._properties())
        terms = self._dictionary.terms(numbers)
        labels = self._facts.labels(self._chunks.policy, numbers)
        found: dict[str, list[ox.NamedNode]] = {}
        for number in numbers:
            term = terms[number]
            if isinstance(term, ox.NamedNode):
                told = [words_of(term.value), *([labels[number].whole] if number in labels else [])]
                for name in dict.fromkeys(map(normal, told)):
                    found.setdefault(name, []).append(term)
        return found

    def _properties(self) -> set[int]:
        """The predicates that quads use or vocabularies declare."""
        statement = _SQL["predicates_after"]
        found = {n for (n,) in self._connection.rows(statement, statement.bind(after=0, limit=_PREDICATES))}
        statement = _SQL["quads_of_predicate"]
        for iri, ends in _DECLARING.items():
            for predicate in self._facts.numbers([iri]):
                rows = self._connection.table(statement, statement.bind(predicate=predicate, graph=-1))
                found.update(rows[:, list(ends)].ravel().tolist())
        return found


@dataclass
class Reading:
    """A claim as it was read: its triples, the readings of its names, and its unread parts."""

    words: str
    triples: list[tuple[Any, Any, Any]] = field(default_factory=list)
    readings: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


class ClaimReader:
    """Reads claims about one world."""

    def __init__(self, core: Core, resolver: Resolver) -> None:
        self._core = core
        self._resolver = resolver
        self._to_pattern = core.namespaces.pattern
        self._names = PredicateNames(core.connection, core.dictionary, core.chunks)

    def read(self, words: str, given: object) -> Reading:
        """The triples that were given for a claim in words, "" for a claim that is a triple.

        What is given for words and is no triple is `unread`; a claim that is none is a TypeError or a ValueError.
        """
        found = Reading(words)
        for item in given if isinstance(given, Iterable) and not isinstance(given, str) else [given]:
            try:
                self._take(item, found)
            except (TypeError, ValueError) as error:
                if not words:
                    raise
                found.unread.append(str(error))  # of a model, which may give anything
        return found

    def _take(self, item: object, found: Reading) -> None:
        """Read one triple, as far as it can be."""
        if isinstance(item, str) or not isinstance(item, (tuple, list, ox.Triple, ox.Quad)):
            raise TypeError(f"a claim must be a triple, or words with extract= that gives triples, not {item!r}")
        parts = list(item)
        if len(parts) not in (3, 4) or None in parts[:3]:
            raise ValueError(f"a claim has a subject, a predicate and an object, not {item!r}")
        predicate = self._predicate(parts[1], found)
        subject = self._term(parts[0]) or self._entity(parts[0], found)
        read = [subject, predicate, self._object(parts[2], subject, predicate, found)]
        if None not in read:
            subject, predicate, value = self._to_pattern(*read)
            if not isinstance(predicate, ox.NamedNode) or isinstance(subject, ox.Literal):
                raise ValueError(f"no triple has these parts: {read!r}")
            found.triples.append((subject, predicate, value))
        if not found.words:
            found.words = " ".join(map(str, parts[:3]) if None in read else map(format_term, found.triples[-1]))

    def _term(self, part: object, *, text: bool = False) -> Any:
        """The term of a part that is written as a term; None for a name, and with `text` for other text."""
        try:
            return self._to_pattern(part)[0]
        except ValueError:
            if type(part) is not str or (":" in part and not text and len(part.split()) == 1):
                raise
            return None

    def _entity(self, name: str, found: Reading) -> Any:
        """The one entity with a name; None for an ambiguous or unknown name, or one that is only similar."""
        called = self._resolver.called(name)
        if len(called) == 1:
            found.readings.append(f"{name!r} is read as {called[0].value}")
            return called[0]
        if called:
            told = ", ".join(format_term(one) for one in called[:_SHOWN])
            found.unread.append(f"{name!r} is the name of several entities: {told}")
        else:
            found.unread.append(f"{name!r} is the name of no entity{self._near(name)}")
        return None

    def _near(self, name: str) -> str:
        """Whose names are near, as a question."""
        resolved = self._resolver.resolve(name, context=None, types=None, graphs=None, limit=2)
        near = " or ".join(f"{one.label or one.matched} <{one.iri}>" for one in resolved.candidates)
        return f": did you mean {near}?" if near else ""

    # -- objects ----------------------------------------------------------------------------------------------------

    def _object(self, part: Any, subject: Any, predicate: Any, found: Reading) -> Any:
        """The term of an object, as the predicate has them: a literal, or else an entity; None where it is neither."""
        if predicate is None:
            return None
        words = type(part) is str
        with self._core.connection.snapshot():
            kinds, entities = self._kinds(predicate)
            term = self._term(part, text=bool(kinds))
            if isinstance(term, ox.Literal):
                own, datatypes = term.datatype.value, {datatype for datatype, _ in kinds}
                made = as_of(term, kinds) if own in NUMBERS or (words and own == XSD + "string") else None
                typed = not kinds or isinstance(part, str | ox.Literal)
                if made or typed or own in datatypes or (own in NUMBERS and datatypes & NUMBERS):
                    return made or term
                return self._none_of(part, kinds, predicate, found)
            held = self._held(part, subject, predicate) if words and kinds else None
            if term is not None or (held is not None and held[1]):
                return held[0] if held is not None else term
        if entities or not kinds:
            called = self._resolver.called(part)
            if called or not kinds:
                return self._entity(part, found) if called or entities else self._text(ox.Literal(part), found)
        if held is None and entities and (near := self._near(part)):
            found.unread.append(f"{part!r} is the name of no entity{near}")
            return None
        literal = held[0] if held is not None else as_of(ox.Literal(part), kinds)
        if literal is not None:
            return self._text(literal, found)
        return self._none_of(part, kinds, predicate, found)

    @staticmethod
    def _none_of(part: object, kinds: Iterable[tuple[str, object]], predicate: ox.NamedNode, found: Reading) -> None:
        """Tell that an object is no value as the predicate has them."""
        names = " or ".join(dict.fromkeys(datatype.rpartition("#")[2] for datatype, _ in kinds))
        found.unread.append(f"{part!r} is no {names}, as {format_term(predicate)} has them")

    @staticmethod
    def _text(literal: ox.Literal, found: Reading) -> ox.Literal:
        found.readings.append(f"{literal.value!r} is read as {format_term(literal)}")
        return literal

    def _kinds(self, predicate: ox.NamedNode) -> tuple[list[tuple[str, str | None]], bool]:
        """The (datatype, language) of the literals that a predicate may have, and whether it may have entities.

        As rdfs:range declares it, and as the quads have it, the commonest first.
        """
        number, range_ = self._core.dictionary.find([predicate, _RANGE])
        if number is None:
            return [], False
        said = self._core.facts.quads_by("quads_of_entities", [number])
        declared = self._core.dictionary.terms(
            said[(said[:, 0] == number) & (said[:, 1] == (range_ or -1)), 2].tolist()
        )
        classes = [one.value for one in declared.values() if isinstance(one, ox.NamedNode)]
        statement = _SQL["kinds_under"]
        rows = list(self._core.connection.rows(statement, statement.bind(predicate=number, most=_LOOKED_AT)))
        datatypes = self._core.dictionary.terms({datatype for _, datatype, _ in rows if datatype is not None})
        kinds: dict[tuple[str, str | None], None] = {}
        for one in classes:
            if one in LITERALS:
                kinds[one, None] = None
        for kind, datatype, language in rows:
            if kind == _LITERAL:
                named = RDF + "langString" if language else XSD + "string"
                kinds[named if datatype is None else datatypes[datatype].value, language] = None
        entities = any(one not in LITERALS for one in classes) or any(kind != _LITERAL for kind, _, _ in rows)
        return list(kinds), entities

    def _held(self, text: str, subject: Any, predicate: ox.NamedNode) -> tuple[ox.Literal, bool] | None:
        """A literal that is written so and stands under a predicate, and whether the subject has it: of these, that."""
        literals = self._core.dictionary.literals(text)
        of, under, *numbers = self._core.dictionary.find([subject or predicate, predicate, *literals])
        statement = _SQL["quads_of_predicate_object"]
        found = None
        for literal, number in zip(literals, numbers, strict=True):
            rows = self._core.connection.table(statement, statement.bind(predicate=under, object=number, graph=-1))
            if len(rows) and (found is None or (rows[:, 0] == of).any()):
                found = literal, bool((rows[:, 0] == of).any())
        return found

    def _predicate(self, part: object, found: Reading) -> Any:
        try:
            return self._to_pattern(part)[0]
        except ValueError:
            if type(part) is not str or ":" in part:
                raise
        with self._core.connection.snapshot():
            named = self._names.of(part)
        if len(named) == 1:
            found.readings.append(f"{part!r} is read as {named[0].value}")
            return named[0]
        found.unread.append(f"{part!r} is the name of {'several predicates' if named else 'no predicate'}")
        return None
