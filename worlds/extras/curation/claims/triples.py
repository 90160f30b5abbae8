"""The triples of a claim: from terms, prefixed names, or the names of entities and predicates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.extras.curation.claims.literals import as_of
from worlds.extras.curation.claims.predicates import PredicateNames
from worlds.extras.curation.columns.values import LITERALS, NUMBERS
from worlds.extras.entities.disambiguation import Resolver
from worlds.graph.terms import RDF, XSD, format_term
from worlds.sql import statements

_SQL = statements("queries.sql")
_LOOKED_AT = 1000  # objects of a predicate, from either end
_SHOWN = 3  # entities of one name
_LITERAL = 3  # kind of a term
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_RANGE = ox.NamedNode(_RDFS + "range")


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
