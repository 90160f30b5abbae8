"""Checks of spellings and links: datatypes, characters, names, notations, hierarchies, inverses."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from worlds.core.quads.dictionary import LITERAL, Ids
from worlds.extras.curation.columns.axioms import OWL, RDFS, SKOS, TYPE
from worlds.extras.curation.columns.quad_columns import NO_IDS, QuadTable, distinct
from worlds.extras.curation.findings.findings import Severity
from worlds.graph.datatypes import BOUNDS, FORMS
from worlds.graph.terms import XSD, local_name

_STRINGS = ("string", "normalizedString", "token", "NMTOKEN", "Name", "NCName", "ENTITY", "ID", "IDREF")
_XSD = {*FORMS, *BOUNDS, *_STRINGS, "QName", "NOTATION", "anyURI", "anySimpleType", "anyAtomicType"}
_TOLD: dict[str, tuple[Severity, str]] = {  # name of a check → its level and title
    "merged name": ("warning", "old names of merged entities that quads use again"),
    "orphan": ("info", "entities with no links in or out"),
    "broken reference": ("warning", "IRIs of the world's own namespaces that are used but never described"),
    "deprecated reference": ("warning", "references to deprecated terms"),
    "ill-typed literal": ("error", "literals that their datatype does not allow"),
    "untidy label": ("info", "labels that are blank, or have spaces at an end or in a row"),
    "cycle": ("warning", "circles of broader, subClassOf, part of"),
    "label clash": ("warning", "labels that several entities of a type share"),
    "unused class": ("info", "classes without instances and subclasses"),
    "unused property": ("info", "properties without triples and subproperties"),
    "near-duplicate predicates": ("warning", "predicates with nearly the same name"),
    "unknown datatype": ("error", "literals of a datatype that XML Schema does not have"),
    "control character": ("warning", "labels with control characters"),
    "near-duplicate classes": ("warning", "classes with nearly the same name"),
    "repeated notation": ("warning", "notations that several concepts of a scheme share"),
    "redundant link": ("info", "links that a chain of two links implies"),
    "missing inverse": ("info", "links whose declared inverse is not stated"),
}
_ABOVE = (RDFS + "subClassOf", SKOS + "broader")


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check, as ids; `rows` are of triples, where these are at fault rather than entities."""

    name: str
    level: Severity
    title: str
    ids: Ids
    query: str
    rows: Sequence[int] = ()
    groups: Sequence[Sequence[int]] = field(default=())  # entities that are at fault together
    count: int = -1

    @property
    def total(self) -> int:
        """The number of cases."""
        return self.count if self.count >= 0 else len(self.groups) or len(self.rows) or len(self.ids)

    def cases(self, table: QuadTable) -> set[tuple[int, ...]]:
        """The cases as ids: each is an entity, entities that are at fault together, or a triple."""
        if self.rows:
            columns = (column[list(self.rows)].tolist() for column in (table.subjects, table.predicates, table.objects))
            return set(zip(*columns, strict=True))
        return set(map(tuple, map(sorted, self.groups))) or {(number,) for number in self.ids.tolist()}


def checked(
    name: str, ids: Ids, query: str, *, rows: Sequence[int] = (), groups: Sequence[Sequence[int]] = (), count: int = -1
) -> CheckResult:
    """The result of a check by its name."""
    return CheckResult(name, *_TOLD[name], ids, query, rows, groups, count)


def spelling(iri: str) -> str:
    """The name of a predicate or a class without case, separators, "has" before it and a plural's s behind it.

    British and American spellings of -isation are one.
    """
    local = local_name(iri)
    plain = re.sub(r"[^a-z0-9]", "", re.sub(r"^has(?=[A-Z_])", "", local).lower()).replace("isation", "ization")
    return plain[:-1] if len(plain) > 4 and plain.endswith("s") and not plain.endswith("ss") else plain


class Tidiness:
    """The checks of a table's spellings and links."""

    def __init__(self, table: QuadTable, labels: tuple[Ids, Ids], path: str) -> None:
        """`labels` are the subjects and objects of labels, `path` is the SPARQL property path of their predicates."""
        self._table = table
        self._labels = labels
        self._path = path

    def run(self) -> Iterator[CheckResult]:
        """The result of each check, including checks without cases."""
        yield self._datatypes()
        yield self._characters()
        yield self._classes()
        yield self._notations()
        yield self._redundant()
        yield self._inverses()

    def _datatypes(self) -> CheckResult:
        table = self._table
        used = distinct(table.datatypes[table.objects])
        names = table.values(used[used > 0])
        unknown = {n: iri for n, iri in names.items() if iri.startswith(XSD) and iri[len(XSD) :] not in _XSD}
        rows = np.flatnonzero(np.isin(table.datatypes[table.objects], sorted(unknown)))
        listed = " ".join(f"<{iri}>" for iri in sorted(unknown.values()))
        query = f"SELECT DISTINCT ?s ?p ?o WHERE {{ VALUES ?d {{ {listed} }} ?s ?p ?o FILTER(DATATYPE(?o) = ?d) }}"
        return _of_rows(table, "unknown datatype", rows, query)

    def _characters(self) -> CheckResult:
        subjects, objects = self._labels
        bad = [n for n, text in self._table.values(objects).items() if _control(text)]
        query = (
            f"SELECT DISTINCT ?entity WHERE {{ ?entity {self._path} ?label FILTER(isLiteral(?label) &&"
            r' REGEX(STR(?label), "[\\p{Cc}-[\\t\\n\\r]]")) }'
        )
        return checked("control character", distinct(subjects[np.isin(objects, bad)]), query)

    def _classes(self) -> CheckResult:
        alike: dict[tuple[str, str], list[int]] = defaultdict(list)
        for number, iri in self._table.values(distinct(self._table.pairs(TYPE)[1])).items():
            space = re.sub(r"^https?://(?:www\.)?|[^/#:]*$", "", iri)
            alike[space, spelling(iri)].append(number)
        groups = [sorted(found) for _, found in sorted(alike.items()) if len(found) > 1]
        terms = self._table.terms({number for group in groups for number in group})
        named = " ".join(str(term) for number, term in terms.items() if number)
        query = f"SELECT ?class (COUNT(*) AS ?uses) WHERE {{ VALUES ?class {{ {named} }} ?x a ?class }} GROUP BY ?class"
        return checked("near-duplicate classes", NO_IDS, query, groups=groups)

    def _notations(self) -> CheckResult:
        entities, notations = self._table.pairs(SKOS + "notation")
        members, schemes = self._table.pairs(SKOS + "inScheme")
        of: dict[int, list[int]] = defaultdict(list)
        for member, scheme in zip(members.tolist(), schemes.tolist(), strict=True):
            of[member].append(scheme)
        bearers: dict[tuple[int, int], list[int]] = defaultdict(list)
        for entity, notation in zip(entities.tolist(), notations.tolist(), strict=True):
            for scheme in of[entity]:
                bearers[notation, scheme].append(entity)
        query = (
            f"SELECT DISTINCT ?notation ?scheme WHERE {{ ?a <{SKOS}notation> ?notation ; <{SKOS}inScheme> ?scheme ."
            f" ?b <{SKOS}notation> ?notation ; <{SKOS}inScheme> ?scheme FILTER(STR(?a) < STR(?b)) }}"
        )
        return checked(
            "repeated notation", NO_IDS, query, groups=[found for _, found in sorted(bearers.items()) if len(found) > 1]
        )

    def _redundant(self) -> CheckResult:
        table, found = self._table, [NO_IDS]
        for iri in _ABOVE:
            lower, upper = table.pairs(iri)
            loose = lower != upper
            lower, upper = lower[loose], upper[loose]
            first = np.searchsorted(lower, upper)
            counts = np.searchsorted(lower, upper, "right") - first
            at = np.repeat(first - np.concatenate([[0], np.cumsum(counts)])[:-1], counts) + np.arange(counts.sum())
            over = np.repeat(lower, counts) << 32 | upper[at]
            of = table.rows(table.id(iri))
            found.append(of.start + np.flatnonzero(np.isin(table.subjects[of] << 32 | table.objects[of], over)))
        rows = np.concatenate(found)
        rows = rows[table.subjects[rows] != table.objects[rows]]
        listed = " ".join(f"<{iri}>" for iri in _ABOVE)
        query = (
            f"SELECT DISTINCT ?s ?p ?o WHERE {{ VALUES ?p {{ {listed} }} ?s ?p ?o . ?s ?p ?via . ?via ?p ?o"
            " FILTER(?s != ?o && ?via != ?s && ?via != ?o) }"
        )
        return _of_rows(table, "redundant link", rows, query)

    def _inverses(self) -> CheckResult:
        table, found = self._table, [NO_IDS]
        declared = table.couples(OWL + "inverseOf")
        both = {pair for one, other in declared for pair in ((one, other), (other, one))}
        for one, other in sorted(both):
            of, back = table.rows(one), table.rows(other)
            held = table.objects[back] << 32 | table.subjects[back]
            links = (table.kinds[table.objects[of]] != LITERAL) & ~np.isin(
                table.subjects[of] << 32 | table.objects[of], held
            )
            found.append(of.start + np.flatnonzero(links))
        query = (
            f"SELECT DISTINCT ?s ?p ?o WHERE {{ ?p <{OWL}inverseOf>|^<{OWL}inverseOf> ?q . ?s ?p ?o"
            " FILTER(!isLiteral(?o)) FILTER NOT EXISTS { ?o ?q ?s } }"
        )
        return _of_rows(table, "missing inverse", distinct(np.concatenate(found)), query)


def _of_rows(table: QuadTable, name: str, rows: Ids, query: str) -> CheckResult:
    """The result of a check on quads, each triple of which counts once."""
    triples = np.stack([column[rows] for column in (table.subjects, table.predicates, table.objects)], axis=1)
    return checked(name, NO_IDS, query, rows=rows.tolist(), count=len(np.unique(triples, axis=0)))


def _control(text: str) -> bool:
    return any((one < " " and one not in "\t\n\r") or "\x7f" <= one <= "\x9f" for one in text)
