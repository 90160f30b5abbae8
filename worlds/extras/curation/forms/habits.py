"""Usual properties of the entities of a class, read from a sample of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, Ids, json_ids
from worlds.core.texts.entity_facts import Facts
from worlds.core.texts.policy import TextPolicy
from worlds.sql import statements
from worlds.sql.connection import Connection

_SQL = statements("curation.sql")
_SAMPLE = 300  # entities that are looked at
_ROWS = 20_000  # quads of theirs that are read
_SHARE = 0.15  # of them that have what is a habit, at least
_VALUES = 100  # of a predicate whose terms are looked at
_FEW = 12  # different values that are offered
_OFTEN = 4  # times that each of them occurs, on average
_ENOUGH = 5  # entities that tell that there is one value
_LONG = 100  # characters of a long text


@dataclass
class Habit:
    """The values of a predicate: `share` of the sample has some, `single` is whether never several."""

    predicate: int
    share: float
    single: bool
    datatypes: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    classes: Counter[int] = field(default_factory=Counter)
    entities: int = 0
    literals: int = 0
    long: bool = False
    few: tuple[Any, ...] = ()  # the values, where there are few that come again and again


def habits(
    connection: Connection, dictionary: Dictionary, policy: TextPolicy, kinds: Sequence[int]
) -> tuple[list[Habit], Ids]:
    """The habits of the instances of some classes, the commonest first; and the graphs of their quads."""
    facts = Facts(connection, dictionary)
    statement = _SQL["quads_of_instances"]
    bound = statement.bind(classes_json=json_ids(kinds), rdf_type=facts.rdf_type, limit=_SAMPLE, rows=_ROWS)
    rows = connection.table(statement, bound)
    if len(rows) == _ROWS and rows[0, 0] != rows[-1, 0]:  # the last one is not there whole
        rows = rows[rows[:, 0] != rows[-1, 0]]
    things = np.unique(rows[:, 0])
    if not len(things):
        return [], np.empty(0, dtype=np.int64)
    triples = np.unique(rows[:, :3], axis=0)
    columns: dict[int, Ids] = {}
    for predicate in np.unique(triples[:, 1]).tolist():
        of = triples[triples[:, 1] == predicate]
        if len(np.unique(of[:, 0])) >= _SHARE * len(things):
            columns[predicate] = of
    looked = {predicate: np.unique(of[:, 2])[:: max(1, len(of) // _VALUES)] for predicate, of in columns.items()}
    terms = dictionary.terms({number for values in looked.values() for number in values.tolist()})
    entities = [number for number, term in terms.items() if not isinstance(term, ox.Literal)]
    types = facts.labels_and_types(policy, entities)[1]
    told = [_habit(predicate, of, looked[predicate], terms, types, len(things)) for predicate, of in columns.items()]
    return sorted(told, key=lambda one: (-one.share, one.predicate)), rows[:, 3]


def _habit(predicate: int, of: Ids, looked: Ids, terms: Any, types: Any, total: int) -> Habit:
    subjects, often = np.unique(of[:, 0], return_counts=True)
    made = Habit(predicate, len(subjects) / total, len(subjects) >= _ENOUGH and int(often.max()) == 1)
    lengths = []
    for number in looked.tolist():
        term = terms[number]
        if isinstance(term, ox.Literal):
            made.literals += 1
            made.datatypes[term.datatype.value] += 1
            lengths.append(len(term.value))
            if term.language:
                made.languages[term.language] += 1
        else:
            made.entities += 1
            made.classes.update(types.get(number, ()))
    made.long = bool(lengths) and sorted(lengths)[len(lengths) // 2] >= _LONG
    values = np.unique(of[:, 2])
    if len(values) <= _FEW and len(of) >= _OFTEN * len(values) and len(values) > 1:
        made.few = tuple(terms[number] for number in values.tolist() if number in terms)
    return made
