"""Facts by which entities of the same name differ, such as the country of each Paris."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary
from worlds.core.texts.entity_facts import Facts
from worlds.core.texts.policy import TextPolicy
from worlds.graph.terms import RDF, local_name
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("entities.sql")
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_FIRST = (RDF + "type", _SKOS + "inScheme", _SKOS + "broader")  # before other entities, these before texts
_LONGEST = 60  # characters of a value
_VALUES = 2  # of a predicate that are told


def told_apart(
    connection: Connection, dictionary: Dictionary, policy: TextPolicy, groups: Sequence[Sequence[int]]
) -> Mapping[int, str]:
    """Entity → a fact that distinguishes it within its group, "country: France", if there is one.

    One predicate is chosen for a group: the one by which most of them differ.
    """
    statement = _SQL["properties_of"]
    rows = [
        (number, predicate, value)
        for group in groups
        for number in group
        for predicate, value, _ in connection.rows(statement, statement.bind(entity=number, limit=_VALUES))
    ]
    terms = dictionary.terms({number for row in rows for number in row})
    labels = {number: text.label for number, text in Facts(connection, dictionary).labels(policy, terms).items()}
    naming = {*policy.predicates("label"), *policy.predicates("alias")}
    said: dict[int, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    linked: set[int] = set()
    for subject, predicate, value in rows:
        if terms[predicate].value in naming:
            continue
        if isinstance(terms[value], ox.NamedNode):
            linked.add(predicate)
        shown = labels.get(value) or _shown(terms[value])
        said[predicate][subject].add(shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1].rstrip() + "…")
    found: dict[int, str] = {}
    for group in groups:
        best: tuple[int, int, str] | None = None
        chosen: dict[int, str] = {}
        for predicate, by_subject in said.items():
            values = {one: ", ".join(sorted(by_subject[one])) for one in group if one in by_subject}
            own = {one: text for one, text in values.items() if list(values.values()).count(text) == 1}
            iri = terms[predicate].value
            place = _FIRST.index(iri) if iri in _FIRST else len(_FIRST) + (predicate not in linked)
            key = (-len(own), place, iri)
            if own and (best is None or key < best):
                best, name = key, labels.get(predicate) or _words(iri)
                chosen = {one: f"{name}: {text}" for one, text in own.items()}
        found |= chosen
    return found


def _shown(term: object) -> str:
    """A literal as it is written, an IRI by its last part."""
    return term.value if isinstance(term, ox.Literal) else local_name(term)


def _words(iri: str) -> str:
    """The last part of an IRI, as words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", local_name(iri)).lower()
