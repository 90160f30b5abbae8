"""The checks of a report: sets of ids, and queries that give the same.

Much of it is what ROBOT's report looks for in ontologies, and qSKOS in thesauri.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from worlds.core.quads.dictionary import IRI, LITERAL, Ids
from worlds.core.quads.redirects import REDIRECTS
from worlds.extras.curation.columns.axioms import OWL, RDFS, SKOS, TYPE, Axioms
from worlds.extras.curation.columns.quad_columns import NO_IDS, Mask, QuadTable, distinct
from worlds.extras.curation.findings.declared import Declared
from worlds.extras.curation.findings.findings import RawFinding, Severity
from worlds.extras.curation.findings.tidiness import CheckResult, Tidiness, checked, spelling
from worlds.graph.terms import RDF

_VOCABULARIES = (RDF, RDFS, OWL, "http://www.w3.org/2001/XMLSchema#", "http://www.w3.org/ns/shacl#")
_LANGUAGE = 0.2  # share of the labelled entities that a language names, from which on the others lack it
_PROPERTIES = ("ObjectProperty", "DatatypeProperty", "AnnotationProperty")
_LISTED = 100  # contradictions whose entities a query names
_MOST_NAMESPACES = 30  # of the world's own, the largest


class Checks:
    """Runs the checks of a report over a table."""

    def __init__(self, table: QuadTable, roles: Mapping[str, Sequence[str]]) -> None:
        """`roles` are the predicates that name and describe: "label", "alias", "description"."""
        self.table = table
        self.declared = Declared(table)
        self.axioms: Axioms = self.declared.axioms
        used = set(table.used.tolist())
        self._roles = {role: [iri for iri in iris if table.id(iri) in used] for role, iris in roles.items()}

    # -- sets -----------------------------------------------------------------------------------------------------

    def _mask(self, ids: Ids) -> Mask:
        found = np.zeros(len(self.table.kinds), dtype=np.bool_)
        found[ids] = True
        return found

    @cached_property
    def _iris(self) -> dict[int, str]:
        subjects = distinct(self.table.subjects)
        return self.table.values(subjects[self.table.kinds[subjects] == IRI])

    @cached_property
    def entities(self) -> Ids:
        """The described IRIs, except from RDF's own vocabularies."""
        return np.array(
            sorted(number for number, iri in self._iris.items() if not iri.startswith(_VOCABULARIES)), dtype=np.int64
        )

    @cached_property
    def _said(self) -> Mask:
        return self._mask(self.table.subjects)

    def _with(self, iris: Sequence[str], *, literal: bool = True) -> Mask:
        """The subjects that have a value, a literal, under any of the predicates."""
        found = [NO_IDS]
        for iri in iris:
            subjects, objects = self.table.pairs(iri)
            found.append(subjects[self.table.kinds[objects] == LITERAL] if literal else subjects)
        return self._mask(np.concatenate(found))

    def _labels(self) -> tuple[Ids, Ids]:
        pairs = [self.table.pairs(iri) for iri in self._roles["label"]]
        subjects = np.concatenate([NO_IDS, *(one for one, _ in pairs)])
        objects = np.concatenate([NO_IDS, *(other for _, other in pairs)])
        of = self.table.kinds[objects] == LITERAL
        return subjects[of], objects[of]

    # -- checks ---------------------------------------------------------------------------------------------------

    def run(self) -> Iterator[CheckResult]:
        """The result of each check, including checks without cases."""
        yield from self._of_literals()
        yield from self._circles()
        yield from self._missing()
        yield from self._references()
        yield from self._names()
        yield self._merged_names()
        yield from self._vocabulary()
        path = "|".join(f"<{iri}>" for iri in self._roles["label"]) or f"<{RDFS}label>"
        yield from Tidiness(self.table, self._labels(), path).run()
        yield self._contradictions()

    def _contradictions(self) -> CheckResult:
        """The contradictions of declarations, but for ill-typed literals, which have a check of their own."""
        return of_entities(
            self.table,
            "contradiction",
            "error",
            "contradictions of declarations, which `contradictions` lists",
            [one.subjects for one in self.contradicting],
        )

    @cached_property
    def contradicting(self) -> list[RawFinding]:
        """The contradictions of declarations."""
        kinds = [kind for kind in self.declared.checks if kind != "ill-typed literal"]
        return [one for kind in kinds for one in self.declared.checks[kind]() if one.severity == "error"]

    def _missing(self) -> Iterator[CheckResult]:
        for role in ("label", "type", "description"):
            iris = [TYPE] if role == "type" else self._roles[role]
            having = self._with(iris, literal=role != "type")
            path = "|".join(f"<{iri}>" for iri in iris)
            lacking = "FILTER(isLiteral(?x)) " if role != "type" else ""
            absent = f" FILTER NOT EXISTS {{ ?entity {path} ?x {lacking}}}" if iris else ""
            query = f"SELECT DISTINCT ?entity WHERE {{ ?entity ?p ?o {_ENTITY}{absent} }}"
            yield CheckResult(
                f"missing {role}",
                "info" if role == "description" else "warning",
                f"entities without a {role}",
                self.entities[~having[self.entities]],
                query,
            )
        links = (self.table.kinds[self.table.objects] != LITERAL) & (self.table.predicates != self.table.id(TYPE))
        tied = self._mask(np.concatenate([self.table.subjects[links], self.table.objects[links]]))
        query = (
            f"SELECT DISTINCT ?entity WHERE {{ ?entity ?p ?o {_ENTITY}"
            f" FILTER NOT EXISTS {{ ?entity ?q ?other FILTER(!isLiteral(?other) && ?q != <{TYPE}>) }}"
            f" FILTER NOT EXISTS {{ ?other ?q ?entity FILTER(?q != <{TYPE}>) }} }}"
        )
        yield checked("orphan", self.entities[~tied[self.entities]], query)

    def _merged_names(self) -> CheckResult:
        """Names of merged entities, which redirect to another name, that quads use again."""
        columns = (self.table.subjects, self.table.predicates, self.table.objects)
        query = (
            f"SELECT DISTINCT ?entity WHERE {{ GRAPH <{REDIRECTS.value}> {{ ?entity ?redirect ?kept }}"
            f" GRAPH ?g {{ {{ ?entity ?p ?o }} UNION {{ ?s ?p ?entity }} UNION {{ ?s ?entity ?o }} }}"
            f" FILTER(?g != <{REDIRECTS.value}>) }}"
        )
        return checked("merged name", self.table.led[np.isin(self.table.led, np.concatenate(columns))], query)

    def _references(self) -> Iterator[CheckResult]:
        """Objects without a description, in the namespaces of described entities."""
        table = self.table
        spaces: dict[str, int] = defaultdict(int)
        for number in self.entities.tolist():
            spaces[_namespace(self._iris[number])] += 1
        own = tuple(sorted(spaces, key=lambda space: (-spaces[space], space))[:_MOST_NAMESPACES])
        objects = distinct(table.objects)
        bare = objects[(table.kinds[objects] == IRI) & ~self._said[objects]]
        names = table.values(bare)
        broken = [n for n in bare.tolist() if own and _namespace(names[n]) in own]
        listed = " ".join(f'"{space}"' for space in own)
        query = (
            "SELECT DISTINCT ?missing WHERE { ?s ?p ?missing FILTER(isIRI(?missing))"
            f" FILTER NOT EXISTS {{ ?missing ?q ?x }}"
            f' BIND(REPLACE(STR(?missing), "[^/#:]+$", "") AS ?space) VALUES ?space {{ {listed} }} }}'
        )
        yield checked("broken reference", np.array(broken, dtype=np.int64), query)
        deprecated = [
            subject
            for subject, value in table.couples(OWL + "deprecated")
            if table.values(np.array([value]))[value] in ("true", "1")
        ]
        of = np.isin(table.objects, deprecated)
        query = f"SELECT DISTINCT ?entity WHERE {{ ?entity <{OWL}deprecated> true . ?s ?p ?entity }}"
        yield checked("deprecated reference", distinct(table.objects[of]), query)

    def _of_literals(self) -> Iterator[CheckResult]:
        found: list[RawFinding] = list(self.declared.checks["ill-typed literal"]())
        rows = [row for one in found for row in one.rows]
        terms = self.table.terms(distinct(self.table.objects[rows]).tolist()) if rows else {}
        listed = " ".join(sorted(str(term) for number, term in terms.items() if number))
        query = f"SELECT ?s ?p ?o WHERE {{ VALUES ?o {{ {listed} }} ?s ?p ?o }}"
        yield checked(
            "ill-typed literal", NO_IDS, query, rows=rows, count=len({_triple(self.table, row) for row in rows})
        )
        subjects, objects = self._labels()
        texts = self.table.values(objects)
        bad = {n for n, text in texts.items() if not text.strip() or text != " ".join(text.split())}
        of = np.isin(objects, sorted(bad))
        path = "|".join(f"<{iri}>" for iri in self._roles["label"]) or f"<{RDFS}label>"
        query = (
            f"SELECT DISTINCT ?entity WHERE {{ ?entity {path} ?label FILTER(isLiteral(?label) &&"
            r' REGEX(STR(?label), "^\\s|\\s$|\\s\\s|[\\t\\r\\n]|^$")) }'
        )
        yield checked("untidy label", distinct(subjects[of]), query)

    def _circles(self) -> Iterator[CheckResult]:
        found = list(self.declared.checks["cycle"]())
        predicates = sorted({int(self.table.predicates[row]) for one in found for row in one.rows})
        terms = self.table.terms(predicates)
        path = "|".join(str(terms[number]) for number in predicates) or f"<{SKOS}broader>"
        query = f"SELECT DISTINCT ?entity WHERE {{ ?entity ({path})+ ?entity }}"
        yield checked("cycle", NO_IDS, query, groups=[one.subjects for one in found])

    def _names(self) -> Iterator[CheckResult]:
        """Labels that several entities of one type bear, and languages that some entities have no label in."""
        subjects, objects = self._labels()
        instances, kinds = self.axioms.types
        order = np.argsort(instances, kind="stable")
        instances, kinds = instances[order], kinds[order]
        first, last = (np.searchsorted(instances, subjects, side=side) for side in ("left", "right"))
        often = last - first
        at = np.repeat(first, often) + np.arange(often.sum()) - np.repeat(np.cumsum(often) - often, often)
        keys = np.repeat(objects, often) << 32 | kinds[at]
        bearers = np.repeat(subjects, often)
        order = np.lexsort((bearers, keys))
        keys, bearers = keys[order], bearers[order]
        fresh = np.append(True, (np.diff(keys) != 0) | (np.diff(bearers) != 0))[: len(keys)]
        keys, bearers = keys[fresh], bearers[fresh]
        starts = np.flatnonzero(np.append(True, np.diff(keys) != 0)[: len(keys)])
        sizes = np.diff(np.append(starts, len(keys)))
        clashes = {
            int(keys[start]) >> 32: bearers[start : start + size].tolist()
            for start, size in zip(starts[sizes > 1].tolist(), sizes[sizes > 1].tolist(), strict=True)
        }
        path = "|".join(f"<{iri}>" for iri in self._roles["label"]) or f"<{RDFS}label>"
        query = (
            "SELECT DISTINCT ?label WHERE { { SELECT ?label ?type (COUNT(DISTINCT ?a) AS ?bearers)"
            f" WHERE {{ ?a {path} ?label ; a ?type FILTER(isLiteral(?label)) }} GROUP BY ?label ?type }}"
            f" FILTER(?bearers > 1 && ?type NOT IN (<{OWL}NamedIndividual>, <{OWL}Thing>, <{RDFS}Resource>)) }}"
        )
        yield checked("label clash", NO_IDS, query, groups=list(clashes.values()))
        names, places = self.table.languages
        named = np.intersect1d(distinct(subjects), self.entities, assume_unique=True)
        for place, language in enumerate(names):
            having = np.intersect1d(distinct(subjects[places[objects] == place]), named, assume_unique=True)
            if language and _LANGUAGE * len(named) <= len(having) < len(named):
                query = (
                    f"SELECT DISTINCT ?entity WHERE {{ ?entity {path} ?label FILTER(isLiteral(?label)) {_ENTITY}"
                    f' FILTER NOT EXISTS {{ ?entity {path} ?other FILTER(LCASE(LANG(?other)) = "{language}") }} }}'
                )
                yield CheckResult(
                    f"no label in {language}",
                    "info",
                    f"labelled entities without a label in {language!r}, which {len(having):,} have",
                    np.setdiff1d(named, having, assume_unique=True),
                    query,
                )

    def _vocabulary(self) -> Iterator[CheckResult]:
        """Classes and properties that are declared and not used, and predicates with nearly one name."""
        table = self.table
        classes = sorted({number for iri in (OWL, RDFS) for number in self.axioms.typed(iri + "Class")})
        instances = table.pairs(TYPE)[1]
        above = np.concatenate([table.pairs(RDFS + "subClassOf")[1], table.pairs(OWL + "equivalentClass")[1]])
        idle = np.setdiff1d(np.array(classes, dtype=np.int64), np.concatenate([instances, above]))
        idle = idle[table.kinds[idle] == IRI]
        query = (
            f"SELECT DISTINCT ?class WHERE {{ ?class a ?kind FILTER(?kind IN (<{OWL}Class>, <{RDFS}Class>)"
            f" && isIRI(?class))"
            f" FILTER NOT EXISTS {{ ?x a|<{RDFS}subClassOf>|<{OWL}equivalentClass> ?class }} }}"
        )
        yield checked("unused class", idle, query)
        kinds = [OWL + kind for kind in _PROPERTIES] + [RDF + "Property"]
        properties = sorted({number for iri in kinds for number in self.axioms.typed(iri)})
        held = np.concatenate([table.used, table.pairs(RDFS + "subPropertyOf")[1]])
        idle = np.setdiff1d(np.array(properties, dtype=np.int64), held)
        idle = idle[table.kinds[idle] == IRI]
        listed = ", ".join(f"<{iri}>" for iri in kinds)
        query = (
            f"SELECT DISTINCT ?property WHERE {{ ?property a ?kind FILTER(?kind IN ({listed}) && isIRI(?property))"
            f" FILTER NOT EXISTS {{ ?x ?property ?y }} FILTER NOT EXISTS {{ ?x <{RDFS}subPropertyOf> ?property }} }}"
        )
        yield checked("unused property", idle, query)
        alike: dict[str, list[int]] = defaultdict(list)
        for number, iri in table.values(table.used).items():
            if not iri.startswith((*_VOCABULARIES, SKOS)):
                alike[spelling(iri)].append(number)
        groups = [sorted(found) for _, found in sorted(alike.items()) if len(found) > 1]
        terms = table.terms({number for group in groups for number in group})
        named = ", ".join(str(term) for number, term in terms.items() if number)
        query = f"SELECT ?p (COUNT(*) AS ?uses) WHERE {{ ?s ?p ?o FILTER(?p IN ({named})) }} GROUP BY ?p ORDER BY ?p"
        yield checked("near-duplicate predicates", NO_IDS, query, groups=groups)


_ENTITY = "FILTER(isIRI(?entity)" + "".join(f' && !STRSTARTS(STR(?entity), "{iri}")' for iri in _VOCABULARIES) + ")"
_ENTITY += f" FILTER NOT EXISTS {{ GRAPH <{REDIRECTS.value}> {{ ?entity ?redirect ?kept }} }}"


def of_entities(
    table: QuadTable, name: str, level: Severity, title: str, found: Sequence[Sequence[int]]
) -> CheckResult:
    """The result of another verb: the entities of each case, and a query for the quads of the first."""
    terms = table.terms({number for group in found[:_LISTED] for number in group})
    listed = " ".join(sorted({str(term) for number, term in terms.items() if number and str(term)[0] == "<"}))
    query = f"SELECT ?entity ?p ?o WHERE {{ VALUES ?entity {{ {listed} }} ?entity ?p ?o }}"
    return CheckResult(name, level, title, NO_IDS, query, groups=found)


def _namespace(iri: str) -> str:
    return re.sub(r"[^/#:]*$", "", iri)


def _triple(table: QuadTable, row: int) -> tuple[int, int, int]:
    return int(table.subjects[row]), int(table.predicates[row]), int(table.objects[row])
