"""Axioms and shapes that the data nearly keep: a draft for whoever declares them, each with its exceptions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.curation.columns.axioms import Axioms
from worlds.curation.columns.lists import code, place
from worlds.curation.columns.table import NO_IDS, Table, distinct
from worlds.curation.columns.vocabularies import OWL, RDFS, TYPE
from worlds.curation.findings.findings import Finding, Findings, Shown
from worlds.curation.findings.suggested import IDLE, at_least, form
from worlds.errors import ArgumentError
from worlds.graph.records import Count
from worlds.graph.terms import XSD, format_term, shorten, to_rdflib
from worlds.quads.dictionary import IRI, LITERAL, Dictionary, Ids
from worlds.revisions.history import History
from worlds.sql.connection import Connection

KINDS = (
    "domain", "range", "functional", "inverse functional", "symmetric", "inverse", "disjoint", "key",
    "at least one", "at most one", "one a language", "datatype", "class", "form", "one of",
)  # fmt: skip
"""The kinds of suggestions: first axioms of OWL and RDF Schema, then constraints of SHACL."""

_SHOWN = 10  # exceptions whose quads are told
_FEW = 8  # values that sh:in lists
_OFTEN = 10  # cases of each of these values, on average
_MOST_TEXTS = 50_000  # whose forms are compared
_SHORT = 60  # characters of a text that has a form
_MOST_CLASSES = 60  # that are compared with each other
_SAMPLE = 40  # pairs by which an inverse is looked for
_USED = 0.1  # share of a predicate's subjects that a class has at least, for a shape of the class to tell of it
_ALL = 0.9  # share of all instances from which on a class tells nothing
_iris = re.compile(r"<([^<>]+)>").sub
_MARKS = re.compile(r"([\\.^$|?*+()\[\]{}])")


@dataclass(frozen=True, slots=True)
class ShapeSuggestion(Finding):
    """An axiom, or a constraint of a shape, that `support` of `total` cases keep; `score` is the least share at 95 %.

    `exceptions` is how many break it, `quads` has the first ten quads of these, and `revisions` is how many of the last
    revisions added one: a guard would have told of these. `add` has the quads of an axiom, `turtle` is the shape.
    """

    support: Count = 0
    total: Count = 0
    exceptions: Count = 0
    revisions: Count = 0
    turtle: str = ""


class ShapeSuggestions(Findings[ShapeSuggestion]):
    """What could be declared, axioms first; `turtle` is a draft of all shapes, to be edited."""

    _also = ("counts", "turtle", "findings")
    turtle: str = ""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A suggestion by ids: `parts` fill the places of `text`, `rows` are all that break it."""

    kind: str
    text: str
    parts: tuple[int, ...]
    support: int
    total: int
    rows: Ids
    axiom: tuple[int, str, int | str] | None = None  # subject, predicate and object; an object may be an IRI
    target: tuple[int, int] | None = None  # class and path of a shape's property
    constraint: tuple[str, int | tuple[int, ...] | str] | None = None


class Drafting:
    """Suggests axioms and shapes for one world."""

    def __init__(self, connection: Connection, dictionary: Dictionary, history: History) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._history = history

    def suggest(
        self,
        *,
        types: Sequence[Any] | None,
        minimum: float,
        least: int,
        revisions: int,
        limit: int | None,
        prefixes: Mapping[str, str],
    ) -> ShapeSuggestions:
        """See `World.suggest_shapes`."""
        if not 0.5 <= minimum <= 1:
            raise ArgumentError(f"minimum is a share from 0.5 to 1, not {minimum!r}")
        with self._connection.snapshot():
            table = Table(self._connection, self._dictionary)
            kinds = None if types is None else [n for n in self._dictionary.find(list(types)) if n is not None]
            found = list(_Drafts(table, minimum, least, kinds).all())
            counts = {kind: sum(one.kind == kind for one in found) for kind in KINDS}
            found.sort(key=lambda one: (KINDS.index(one.kind), -one.total, one.parts))
            found = found[:limit]
            told = [one.rows[:_SHOWN].tolist() for one in found]
            ids = {part for one in found for part in one.parts} | {part for one in found for part in _ids(one)}
            rows = sorted({row for some in told for row in some})
            shown = Shown(table, self._history, prefixes, rows, ids)
            last = distinct(table.revisions)[-revisions:] if revisions else NO_IDS
            made: list[ShapeSuggestion] = []
            for one, some in zip(found, told, strict=True):
                judged = np.intersect1d(table.revisions[one.rows], last)
                made.append(_suggestion(one, shown, [shown.said(row) for row in some], len(judged)))
            suggestions = ShapeSuggestions(made, {kind: count for kind, count in counts.items() if count})
            suggestions.turtle = _turtle([(one, told) for one, told in zip(found, made, strict=True)], shown)
            return suggestions


# -- what the data keep -----------------------------------------------------------------------------------------------


class _Drafts:
    def __init__(self, table: Table, minimum: float, least: int, kinds: Sequence[int] | None) -> None:
        self.table = table
        self.axioms = Axioms(table)
        self._minimum = minimum
        self._least = least
        names = table.values(table.used)
        self._used = [n for n in table.used.tolist() if names[n] not in (TYPE, OWL + "sameAs", OWL + "differentFrom")]
        self._telling = [n for n in self._used if not names[n].startswith(IDLE)]
        self.instances = cache(self.axioms.instances_below)
        every = {above for kind in distinct(self.axioms.types[1]).tolist() for above in self.axioms.above(kind)}
        every -= set(table.ids([OWL + "Thing", RDFS + "Resource"]))
        values = table.values(np.array(sorted(every), dtype=np.int64))
        wanted = every if kinds is None else set(self.axioms.below(kinds).tolist())
        self.classes = sorted(
            (kind for kind in every & wanted if table.kinds[kind] == IRI and not values[kind].startswith(IDLE)
             and len(self.instances(kind)) >= least),
            key=lambda kind: (-len(self.instances(kind)), len(self.axioms.above(kind)), kind),
        )  # fmt: skip
        every_instance = len(distinct(np.concatenate([NO_IDS, *map(self.instances, self.classes)])))
        self._narrow = [kind for kind in reversed(self.classes) if len(self.instances(kind)) < _ALL * every_instance]
        if kinds is not None:
            those = self.axioms.instances(self.axioms.below(kinds))
            self._telling = [n for n in self._telling if np.isin(table.pairs(n)[0], those).any()]
        self._said: set[tuple[object, ...]] = set()

    def all(self) -> Iterator[_Draft]:
        """All suggestions."""
        for predicate in self._telling:
            subjects, objects = self.table.pairs(predicate)
            if len(subjects) >= self._least:
                yield from self._placed("domain", predicate, subjects)
                yield from self._placed("range", predicate, objects)
                yield from self._functional(predicate, subjects, objects)
        yield from self._inverses()
        yield from self._disjoint()
        for predicate in self._used:
            subjects, objects = self.table.pairs(predicate)
            for kind in self.classes:
                of = np.isin(subjects, self.instances(kind), assume_unique=False)
                if np.count_nonzero(of) > _USED * len(of):
                    yield from self._of_class(kind, predicate, subjects[of], objects[of])

    def _kept(self, good: int, total: int) -> bool:
        return total >= self._least and good >= self._minimum * total

    def _rows(self, predicate: int, subjects: Ids, objects: Ids | None = None) -> Ids:
        """The rows of a predicate with these subjects, and these objects beside them."""
        of = self.table.rows(predicate)
        if objects is None:
            found = np.isin(self.table.subjects[of], subjects)
        else:
            codes = code(self.table.subjects[of], self.table.objects[of])
            found = np.isin(codes, code(subjects, objects))
        rows: Ids = of.start + np.flatnonzero(found)
        return rows

    # -- axioms -------------------------------------------------------------------------------------------------------

    def _placed(self, kind: str, predicate: int, nodes: Ids) -> Iterator[_Draft]:
        """The narrowest class, or the datatype, of nearly all subjects or objects of a predicate."""
        if self.axioms.objects(predicate, RDFS + kind):
            return
        of = self.table.rows(predicate)
        column = self.table.subjects[of] if kind == "domain" else self.table.objects[of]
        literal = self.table.kinds[nodes] == LITERAL
        if kind == "range" and literal.all():
            datatypes, often = np.unique(self.table.datatypes[nodes], return_counts=True)
            common = int(datatypes[often.argmax()])
            iri = _TEXTS.get(common, common)
            if self._kept(int(often.max()), len(nodes)) and iri:
                rows = of.start + np.flatnonzero(self.table.datatypes[column] != common)
                parts = (predicate,) if isinstance(iri, str) else (predicate, iri)
                text = f"the values of {{0}} are {f'<{iri}>' if isinstance(iri, str) else '{1}'}"
                yield _Draft(kind, text, parts, int(often.max()), len(nodes), rows, (predicate, RDFS + kind, iri))
            return
        typed = np.isin(nodes, distinct(self.axioms.types[0]))
        if literal.any() or not self._kept(int(np.count_nonzero(typed)), len(nodes)):
            return
        found = self._narrowest(nodes[typed])
        if found is not None:
            name, good = found
            odd = np.isin(column, distinct(self.axioms.types[0])) & ~np.isin(column, self.instances(name))
            text = f"the {'subjects' if kind == 'domain' else 'values'} of {{0}} are instances of {{1}}"
            total = int(np.count_nonzero(typed))
            yield _Draft(kind, text, (predicate, name), good, total, of.start + np.flatnonzero(odd),
                         (predicate, RDFS + kind, name))  # fmt: skip

    def _narrowest(self, nodes: Ids) -> tuple[int, int] | None:
        """The smallest class of which nearly all of these nodes are instances, and how many are."""
        for kind in self._narrow:
            if len(self.instances(kind)) >= self._minimum * len(distinct(nodes)):
                good = int(np.count_nonzero(np.isin(nodes, self.instances(kind))))
                if self._kept(good, len(nodes)):
                    return kind, good
        return None

    def _functional(self, predicate: int, subjects: Ids, objects: Ids) -> Iterator[_Draft]:
        named = self.table.datatypes[objects] == -2
        for kind, keys, what in (("functional", subjects, "subject"), ("inverse functional", objects, "value")):
            iri = OWL + ("FunctionalProperty" if kind == "functional" else "InverseFunctionalProperty")
            entities = bool((self.table.kinds[objects] != LITERAL).all())
            if predicate in self.axioms.typed(iri) or (named.any() if kind == "functional" else not entities):
                continue
            found, often = np.unique(keys, return_counts=True)
            good = int(np.count_nonzero(often == 1))
            if self._kept(good, len(found)):
                odd = np.isin(keys, found[often > 1])
                rows = self._rows(predicate, subjects[odd], objects[odd])
                text = f"each {what} of {{0}} has one {'value' if kind == 'functional' else 'subject'}"
                yield _Draft(kind, text, (predicate,), good, len(found), rows, (predicate, TYPE, iri))

    def _inverses(self) -> Iterator[_Draft]:
        pairs: dict[int, tuple[Ids, Ids]] = {}
        for predicate in self._telling:
            subjects, objects = self.table.pairs(predicate)
            if len(subjects) >= self._least and bool((self.table.kinds[objects] != LITERAL).all()):
                pairs[predicate] = subjects, objects
        chance = np.random.default_rng(1)
        for one, (subjects, objects) in pairs.items():
            some = chance.integers(0, len(subjects), _SAMPLE)
            turned = code(objects, subjects)
            for other, (left, right) in pairs.items():
                if other < one or other in self.axioms.inverses.get(one, ()) or len(left) < self._minimum * len(turned):
                    continue
                held = code(left, right)  # ascending
                if np.count_nonzero(place(turned[some], held) >= 0) < 0.8 * _SAMPLE:
                    continue
                good = place(turned, held) >= 0
                total = len(turned) + (len(held) if other != one else 0)
                back = np.isin(held, turned) if other != one else NO_IDS.astype(bool)
                kept = int(np.count_nonzero(good) + np.count_nonzero(back))
                if not self._kept(kept, total):
                    continue
                rows = self._rows(one, subjects[~good], objects[~good])
                if other == one:
                    if one not in self.axioms.typed(OWL + "SymmetricProperty"):
                        yield _Draft("symmetric", "{0} holds both ways", (one,), kept, total, rows,
                                     (one, TYPE, OWL + "SymmetricProperty"))  # fmt: skip
                    continue
                rows = np.concatenate([rows, self._rows(other, left[~back], right[~back])])
                yield _Draft("inverse", "{0} and {1} say the same the other way round", (one, other), kept, total, rows,
                             (one, OWL + "inverseOf", other))  # fmt: skip

    def _disjoint(self) -> Iterator[_Draft]:
        """Classes beside each other, directly below one class or below none, that share no instances but a few."""
        declared = set(self.axioms.disjoint_classes)
        above = {kind: frozenset(self.axioms.classes_above.get(kind, ())) for kind in self.classes}
        classes = self.classes[:_MOST_CLASSES]
        types = self.table.rows(self.table.id(TYPE))
        for at, one in enumerate(classes):
            for other in classes[at + 1 :]:
                beside = bool(above[one] & above[other]) or not (above[one] or above[other])
                if not beside or (min(one, other), max(one, other)) in declared:
                    continue
                if other in self.axioms.above(one) or one in self.axioms.above(other):
                    continue
                both = np.intersect1d(self.instances(one), self.instances(other), assume_unique=True)
                total = len(self.instances(other))  # the smaller one
                if self._kept(total - len(both), total):
                    named = np.isin(self.table.objects[types], self.axioms.below([one, other]))
                    rows = types.start + np.flatnonzero(np.isin(self.table.subjects[types], both) & named)
                    yield _Draft("disjoint", "nothing is an instance of {0} and of {1}", (one, other),
                                 total - len(both), total, rows, (one, OWL + "disjointWith", other))  # fmt: skip

    # -- shapes -------------------------------------------------------------------------------------------------------

    def _draft(
        self, kind: str, name: int, predicate: int, text: str, good: int, total: int, rows: Ids,
        constraint: tuple[str, int | tuple[int, ...] | str], *parts: int,
    ) -> Iterator[_Draft]:  # fmt: skip
        """A constraint of a class's shape, unless a class above has it."""
        key = (kind, predicate, constraint)
        if self._kept(good, total) and not any((above, *key) in self._said for above in self.axioms.above(name)):
            self._said.add((name, *key))
            yield _Draft(kind, text, (name, predicate, *parts), good, total, rows, None, (name, predicate), constraint)

    def _of_class(self, kind: int, predicate: int, subjects: Ids, objects: Ids) -> Iterator[_Draft]:
        instances = self.instances(kind)
        having, often = np.unique(subjects, return_counts=True)
        missing = instances[~np.isin(instances, having)]
        types = self.table.id(TYPE)
        of_type = self._rows(types, missing)
        of_type = of_type[np.isin(self.table.objects[of_type], self.axioms.below([kind]))]
        yield from self._draft("at least one", kind, predicate, "each {0} has a {1}", len(having), len(instances),
                               of_type, ("minCount", "1"))  # fmt: skip
        single = int(np.count_nonzero(often == 1))
        many = np.isin(subjects, having[often > 1])
        datatypes = self.table.datatypes[objects]
        if bool((datatypes == -2).all()):
            languages = self.table.languages[1][objects]
            once, times = np.unique(code(subjects, languages), return_counts=True)
            twice = distinct(once[times > 1] >> 32)
            of = np.isin(subjects, twice)
            yield from self._draft(
                "one a language", kind, predicate, "each {0} has one {1} in a language at most",
                len(having) - len(twice), len(having), self._rows(predicate, subjects[of], objects[of]),
                ("uniqueLang", "true"),
            )  # fmt: skip
        else:
            yield from self._draft("at most one", kind, predicate, "each {0} has one {1} at most", single, len(having),
                                   self._rows(predicate, subjects[many], objects[many]), ("maxCount", "1"))  # fmt: skip
        literal = self.table.kinds[objects] == LITERAL
        if literal.all():
            yield from self._literals(kind, predicate, subjects, objects)
        elif not literal.any():
            found = self._narrowest(objects) if len(objects) >= self._least else None
            if found is not None:
                odd = ~np.isin(objects, self.instances(found[0]))
                yield from self._draft(
                    "class", kind, predicate, "the {1} of a {0} is an instance of {2}", found[1], len(objects),
                    self._rows(predicate, subjects[odd], objects[odd]), ("class", found[0]), found[0],
                )  # fmt: skip
        unique = len(distinct(objects)) == len(objects) == single == len(instances)
        keys = [key for head in self.axioms.objects(kind, OWL + "hasKey") for key in self.axioms.items(head)]
        if unique and bool((datatypes == -1).all()) and ("key", predicate) not in self._said and predicate not in keys:
            self._said.add(("key", predicate))
            yield _Draft("key", "no two instances of {0} have one {1}", (kind, predicate), single, single, NO_IDS,
                         (kind, OWL + "hasKey", predicate))  # fmt: skip

    def _literals(self, kind: int, predicate: int, subjects: Ids, objects: Ids) -> Iterator[_Draft]:
        """Datatype, form and list of the literals that instances of a class have."""
        datatypes = self.table.datatypes[objects]
        found, often = np.unique(datatypes, return_counts=True)
        common = int(found[often.argmax()])
        iri = _TEXTS.get(common, common)
        if iri:
            odd = datatypes != common
            what = f"<{iri}>" if isinstance(iri, str) else "{2}"
            yield from self._draft(
                "datatype", kind, predicate, f"the {{1}} of a {{0}} is {what}", int(often.max()), len(objects),
                self._rows(predicate, subjects[odd], objects[odd]), ("datatype", iri),
                *(() if isinstance(iri, str) else (iri,)),
            )  # fmt: skip
        values, times = np.unique(objects, return_counts=True)
        usual = values[times >= max(2.0, 0.01 * len(objects))]
        if 0 < len(usual) <= _FEW and len(objects) >= max(self._least, _OFTEN * len(usual)) and common in (-1, -2):
            odd = ~np.isin(objects, usual)
            places = ", ".join(f"{{{2 + at}}}" for at in range(len(usual)))
            yield from self._draft(
                "one of", kind, predicate, f"the {{1}} of a {{0}} is one of {places}", int((~odd).sum()), len(objects),
                self._rows(predicate, subjects[odd], objects[odd]), ("in", tuple(usual.tolist())), *usual.tolist(),
            )  # fmt: skip
        elif common == -1 and self._least <= len(values) <= _MOST_TEXTS:
            texts = self.table.values(values)
            if max(map(len, texts.values())) > _SHORT:
                return
            forms = {number: form(text) for number, text in texts.items()}
            names, counts = np.unique(list(forms.values()), return_counts=True)
            shape = str(names[counts.argmax()])
            if not re.search(r"9|[^Aa ]", shape):  # words alone are no form
                return
            odd = np.array([forms[number] != shape for number in objects.tolist()], dtype=bool)
            pattern = "".join({"A": r"\p{L}+", "9": r"\d+"}.get(mark, _MARKS.sub(r"\\\1", mark)) for mark in shape)
            yield from self._draft(
                "form", kind, predicate, "the {1} of a {0} is written as " + _braced(shape), int((~odd).sum()),
                len(objects), self._rows(predicate, subjects[odd], objects[odd]), ("pattern", f"^{pattern}$"),
            )  # fmt: skip


_TEXTS = {-1: XSD + "string", -2: "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"}


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


# -- what is told of it -----------------------------------------------------------------------------------------------


def _ids(one: _Draft) -> Iterable[int]:
    """The terms of a draft's axiom and shape."""
    for part in (one.axiom or ())[::2]:
        if isinstance(part, int):
            yield part
    yield from one.target or ()
    value = one.constraint[1] if one.constraint else ""
    yield from [value] if isinstance(value, int) else value if isinstance(value, tuple) else []


def _suggestion(one: _Draft, shown: Shown, quads: Sequence[Any], judged: int) -> ShapeSuggestion:
    total = f"{one.support:,} of {one.total:,}"
    return ShapeSuggestion(
        one.kind,
        "info",
        at_least(one.support, one.total),
        f"{_iris(lambda iri: shorten(iri[1], shown.prefixes), one.text).format(*map(shown.text, one.parts))} ({total})",
        tuple(shown.term(number) for number in one.parts[:2]),
        tuple(quads),
        add=_axiom(one, shown),
        support=one.support,
        total=one.total,
        exceptions=one.total - one.support,
        revisions=judged,
        turtle="" if one.target is None else _shape([one], shown),
    )


def _axiom(one: _Draft, shown: Shown) -> tuple[tuple[Any, ...], ...]:
    if one.axiom is None:
        return ()
    subject, predicate, value = one.axiom
    object_ = to_rdflib(ox.NamedNode(value)) if isinstance(value, str) else shown.term(value)
    left, named = shown.term(subject), to_rdflib(ox.NamedNode(predicate))
    if one.kind != "key":
        return ((left, named, object_, None),)
    import rdflib

    head = rdflib.BNode()
    return (
        (left, named, head, None),
        (head, rdflib.RDF.first, object_, None),
        (head, rdflib.RDF.rest, rdflib.RDF.nil, None),
    )


def _constraint(one: _Draft, shown: Shown) -> str:
    assert one.constraint is not None
    name, value = one.constraint
    if isinstance(value, int):
        told = shown.text(value)
    elif isinstance(value, tuple):
        told = f"( {' '.join(map(shown.text, value))} )"
    elif name == "pattern":
        told = format_term(ox.Literal(value))
    elif name == "datatype":
        told = format_term(ox.NamedNode(value), shown.prefixes)
    else:
        told = value
    return f"sh:{name} {told}"


def _shape(drafts: Sequence[_Draft], shown: Shown, notes: Sequence[str] = ()) -> str:
    """One class's shape, a property a path, with a comment behind each constraint."""
    assert drafts[0].target is not None
    paths: dict[int, list[str]] = {}
    for at, one in enumerate(drafts):
        assert one.target is not None
        note = f"  # {notes[at]}" if notes else ""
        paths.setdefault(one.target[1], []).append(f"    {_constraint(one, shown)} ;{note}")
    lines = [f"[] a sh:NodeShape ;\n  sh:targetClass {shown.text(drafts[0].target[0])} ;"]
    for path, constraints in paths.items():
        lines.append("\n".join([f"  sh:property [\n    sh:path {shown.text(path)} ;", *constraints, "  ] ;"]))
    return "\n".join(lines).rstrip(" ;") + " .\n"


def _turtle(told: Sequence[tuple[_Draft, ShapeSuggestion]], shown: Shown) -> str:
    """The draft of all shapes, class by class, with the prefixes that it uses."""
    classes: dict[int, list[tuple[_Draft, ShapeSuggestion]]] = {}
    for one, suggestion in told:
        if one.target is not None:
            classes.setdefault(one.target[0], []).append((one, suggestion))
    parts = []
    for both in classes.values():
        both.sort(key=lambda pair: pair[0].target[1])  # type: ignore[index]  # it has one
        notes = [
            f"{one.support:,} of {one.total:,}" + (f", broken in {one.revisions} revisions" if one.revisions else "")
            for _, one in both
        ]
        parts.append(_shape([one for one, _ in both], shown, notes))
    body = "\n".join(parts)
    prefixes = {"sh": "http://www.w3.org/ns/shacl#", **shown.prefixes}
    used = [name for name in prefixes if re.search(rf"(?<![\w:<]){re.escape(name)}:", body)]
    return "".join(f"@prefix {name}: <{prefixes[name]}> .\n" for name in sorted(used)) + ("\n" if used else "") + body
