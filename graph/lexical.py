"""Lexical forms as they were given, of terms that the SPARQL store has another form of.

pyoxigraph keeps numbers, dates, booleans and durations by value: `"01"^^xsd:integer` comes back as `1`, and an xsd:int
as an xsd:integer. The file keeps what was given. This is the bridge from the store's form to the given ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import pyoxigraph as ox

from worlds.graph.longtexts import parse_all
from worlds.graph.query.exact import is_wide
from worlds.graph.terms import format_term

_XSD = "http://www.w3.org/2001/XMLSchema#"
_WIDE = ""  # no term
_RDF_SUBJECT = ox.NamedNode("urn:worlds:of")
_INTEGER = r"0|-?[1-9][0-9]{0,17}"
_DATE = r"[1-9][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
# What certainly stays as it is, by datatype; other forms of these datatypes are asked of a store.
_STABLE = {
    "integer": _INTEGER,
    "decimal": rf"{_INTEGER}|-?(?:0|[1-9][0-9]{{0,12}})\.[0-9]{{0,4}}[1-9]",
    "double": r"INF|NaN|-INF",
    "float": r"INF|NaN|-INF",
    "boolean": "true|false",
    "date": _DATE,
    "dateTime": rf"{_DATE}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z?",
}
_NEVER = (
    *("byte", "int", "long", "short", "unsignedByte", "unsignedInt", "unsignedLong", "unsignedShort"),
    *("nonNegativeInteger", "nonPositiveInteger", "negativeInteger", "positiveInteger", "dateTimeStamp", "time"),
    *("duration", "yearMonthDuration", "dayTimeDuration", "gYear", "gYearMonth", "gMonth", "gMonthDay", "gDay"),
)
STABLE: dict[str, re.Pattern[str]] = {
    **{_XSD + name: re.compile(pattern) for name, pattern in _STABLE.items()},
    **{_XSD + name: re.compile(r"(?!)") for name in _NEVER},
}


Learned: TypeAlias = tuple[str, str, bool]
"""A form of the store, a given one for which it stands, both as Turtle has them, and whether that came or went."""


def may_change(term: object) -> bool:
    """Whether the store may have another form of the term; false only where it surely has the same."""
    if isinstance(term, ox.Literal):
        if term.language is not None:
            return False
        stable = STABLE.get(term.datatype.value)
        return stable is not None and stable.fullmatch(term.value) is None
    return isinstance(term, ox.Triple)


def canonical(terms: Sequence[Any]) -> list[Any]:
    """The store's forms of terms, in their order."""
    store = ox.Store()
    numbers = [ox.NamedNode(f"urn:worlds:{number}") for number in range(len(terms))]
    store.extend(ox.Quad(number, _RDF_SUBJECT, term) for number, term in zip(numbers, terms, strict=True))
    found = {quad.subject: quad.object for quad in store}
    return [found[number] for number in numbers]


def is_by_value(term: object) -> bool:
    """Whether the store knows the term by its value, so that several terms may be one to it."""
    if isinstance(term, ox.Literal):
        return term.language is None and term.datatype.value in STABLE
    return isinstance(term, ox.Triple)


def canonical_quads(quads: Sequence[ox.Quad]) -> list[ox.Quad]:
    """The quads with the store's forms of their objects, in their order."""
    changing = [quad.object for quad in quads if may_change(quad.object)]
    if not changing:
        return list(quads)
    stored = dict(zip(changing, canonical(changing), strict=True))
    return [
        ox.Quad(quad.subject, quad.predicate, stored.get(quad.object, quad.object), quad.graph_name) for quad in quads
    ]


class LexicalForms:
    """Which stored terms the terms of a SPARQL store stand for, where these are others; terms as Turtle has them."""

    def __init__(self, is_used: Callable[[Sequence[Any]], Sequence[bool]], known: str = "{}") -> None:
        """`is_used` tells which terms are objects of quads in the file; `known` is the output of `dump`."""
        self._is_used = is_used
        self._given: dict[str, list[str]] = json.loads(known)  # by the store's form; the store's own too, if given
        self.wide = self._given.pop(_WIDE, None) is not None  # whether a number may be wider than the store's
        self._read: dict[str, Any] = {}
        self._settle(self._given, set())

    def __bool__(self) -> bool:
        return bool(self._given)

    def learn(self, terms: Iterable[Any], *, used: bool = True) -> list[Learned]:
        """Learn the given forms of terms of the file; returns the value that `unlearn` reverses.

        `used`: whether they are surely objects of quads, and not only known to the file.
        """
        odd = []
        added: list[tuple[str, str]] = []
        for term in terms:
            if may_change(term):
                odd.append(term)
                self.wide = self.wide or is_wide(term)
            elif self._given and (text := format_term(term)) in self._given:
                added += self._add(text, text)
        fresh: dict[str, Any] = {}
        for given, stored in zip(odd, canonical(odd) if odd else (), strict=True):
            key = format_term(stored)
            if key not in self._given and given != stored:
                fresh[key] = stored
            if key in self._given or given != stored:
                added += self._add(key, format_term(given))
        for key, known in zip(fresh, self._is_used(list(fresh.values())), strict=True):
            if known:
                added += self._add(key, key)
        gone = self._settle({key for key, _ in added}, set(added) if used else set())
        return [*((key, text, True) for key, text in added), *gone]

    def changed(self, gone: Iterable[Any], come: Iterable[Any]) -> list[Learned]:
        """Follow removed and added quads, by their objects; returns the value that `unlearn` reverses."""
        return [*self.forget(gone), *self.learn(come)]

    def forget(self, terms: Iterable[Any]) -> list[Learned]:
        """Record that quads with these objects were removed; returns the value that `unlearn` reverses."""
        if not self._given:
            return []
        held = [term for term in terms if is_by_value(term)]
        return self._settle({format_term(term) for term in canonical(held)}, set()) if held else []

    def _settle(self, keys: Iterable[str], sure: set[tuple[str, str]]) -> list[Learned]:
        """Forget the forms that no quad has any more, where a key has several."""
        several = [key for key in keys if len(self._given.get(key, ())) > 1]
        asked = [(key, text) for key in several for text in self._given[key] if (key, text) not in sure]
        used = self._is_used([_parsed(text) for _, text in asked]) if asked else ()
        gone = [(key, text, False) for (key, text), stays in zip(asked, used, strict=True) if not stays]
        for key, text, _ in gone:
            self._drop(key, text)
        return gone

    def _drop(self, key: str, text: str) -> None:
        self._read.pop(key, None)
        left = [form for form in self._given.pop(key, ()) if form != text]
        if left:
            self._given[key] = left

    def _add(self, key: str, text: str) -> list[tuple[str, str]]:
        forms = self._given.setdefault(key, [])
        if text in forms:
            return []
        forms.append(text)
        self._read.pop(key, None)
        return [(key, text)]

    def unlearn(self, learned: Sequence[Learned]) -> None:
        """Reverse `learn` and `forget`: the file is as it was before."""
        for key, text, came in reversed(learned):
            if came:
                self._drop(key, text)
            else:
                self._add(key, text)

    def several(self, given: Any) -> bool:
        """Whether the store's form of a given term stands for another term as well, or may."""
        return may_change(given) or (bool(self._given) and is_by_value(given) and format_term(given) in self._given)

    def others(self, given: Any) -> list[Any]:
        """The other terms that are the same to the store as a given one."""
        if not is_by_value(given) or not (self._given or may_change(given)):
            return []
        stored = canonical([given])[0] if may_change(given) else given
        forms = (_parsed(text) for text in self._given.get(format_term(stored), ()))
        return [term for term in dict.fromkeys((stored, *forms)) if term != given]

    def restored(self, stored: Any) -> Any:
        """The given form of a term of the store, or the term itself where several were given."""
        if not is_by_value(stored):
            return stored
        text = format_term(stored)
        forms = self._given.get(text)
        if forms is None or len(forms) > 1:
            return stored
        found = self._read.get(text)
        if found is None:
            found = self._read[text] = _parsed(forms[0])
        return found

    def among(self, is_used: Callable[[Sequence[Any]], Sequence[bool]]) -> LexicalForms:
        """The forms of some of the quads, as they are now: `is_used` says which terms are objects of these."""
        found = LexicalForms(is_used)
        found.wide = self.wide
        found._given = dict(self._given)
        found._settle(self._given, set())
        return found

    def dump(self) -> str:
        """The learned forms, for a later start."""
        known = {**self._given, _WIDE: []} if self.wide else self._given
        return json.dumps(known, ensure_ascii=False)


def _parsed(text: str) -> Any:
    (triple,) = parse_all(f"<urn:worlds:of> <urn:worlds:of> {text} .", ox.RdfFormat.TURTLE)
    return triple.object
