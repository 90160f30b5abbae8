"""The fields of a form as shapes declare them, and as other entities of the classes have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyoxigraph as ox

from worlds.core.quads.dictionary import Dictionary, Ids, json_ids
from worlds.core.texts.entity_facts import Facts
from worlds.core.texts.policy import TextPolicy
from worlds.extras.shapes.nodes import sh
from worlds.extras.shapes.paths import DataTriples, ShapeTerms, within
from worlds.extras.shapes.shapes import SUBCLASS_OF, Constraint, Shape, ShapesGraph
from worlds.extras.shapes.sparql import Ask
from worlds.extras.shapes.validation import Validator
from worlds.sql import statements
from worlds.sql.connection import Connection

_LAST = 1e9  # where a field without sh:order stands
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
class PredicateDeclarations:
    """The declarations of all shapes on one predicate."""

    predicate: Any
    order: float = _LAST
    least: int = 0
    most: int | None = None
    name: str | None = None
    help: str | None = None
    datatypes: list[str] = field(default_factory=list)
    classes: list[Any] = field(default_factory=list)
    kinds: frozenset[str] = frozenset()
    languages: tuple[str, ...] = ()
    one_each: bool = False
    choices: tuple[Any, ...] = ()
    pattern: str | None = None
    minimum: Any = None
    maximum: Any = None
    default: Any = None


def applicable(
    graph: ShapesGraph, connection: Connection, terms: ShapeTerms, ask: Ask, entity: int | None, kinds: Sequence[Any]
) -> list[Shape]:
    """The shapes that an entity is a target of, or that the instances of some classes are."""
    triples = DataTriples(connection, terms)
    validator = Validator(graph, terms, triples, ask)
    among: Ids = np.array([] if entity is None else [entity], dtype=np.int64)
    ids = np.array(terms.ids(kinds), dtype=np.int64)

    def fits(shape: Shape) -> bool:
        if entity is not None and len(validator.targets(shape, among)):
            return True
        return any(
            kind == "targetClass" and within(ids, triples.below([term], SUBCLASS_OF)).any()
            for kind, term in shape.targets
        )

    return [shape for shape in graph.shapes if fits(shape)]


def declared(graph: ShapesGraph, shapes: Sequence[Shape], language: str | None) -> list[PredicateDeclarations]:
    """The declarations of shapes by predicate, in the order of sh:order, then of the shapes."""
    found: dict[Any, PredicateDeclarations] = {}
    for shape in shapes:
        for inner in _properties(shape):
            assert inner.path is not None
            known = found.setdefault(inner.path.predicate, PredicateDeclarations(inner.path.predicate))
            _words(known, graph, inner, language)
            for constraint in inner.constraints:
                _take(known, constraint)
    return sorted(found.values(), key=lambda one: one.order)


def _properties(shape: Shape) -> Iterator[Shape]:
    """The property shapes of one predicate that a shape asks its nodes to conform to, each once."""
    waiting, seen = [shape], {shape}
    while waiting:
        one = waiting.pop()
        if one.path is None:
            asked = [each for each in one.constraints if each.component in ("Property", "Node", "And")]
            inner = dict.fromkeys(shape for constraint in asked for shape in constraint.shapes)
            waiting += [shape for shape in reversed(inner) if shape not in seen]
            seen |= inner.keys()
        elif one.path.kind == "predicate":
            yield one


def _words(known: PredicateDeclarations, graph: ShapesGraph, shape: Shape, language: str | None) -> None:
    known.name = known.name or _text(graph.values(shape.term, sh("name")), language)
    known.help = known.help or _text(graph.values(shape.term, sh("description")), language)
    known.default = known.default or next(iter(graph.values(shape.term, sh("defaultValue"))), None)
    for value in graph.values(shape.term, sh("order")):
        try:
            known.order = min(known.order, float(value.value))
        except (AttributeError, ValueError):
            continue


def _text(values: Sequence[Any], language: str | None) -> str | None:
    texts = [value for value in values if isinstance(value, ox.Literal)]
    wanted = [language, "en", None]
    texts.sort(key=lambda one: wanted.index(one.language) if one.language in wanted else len(wanted))
    return texts[0].value if texts else None


def _take(known: PredicateDeclarations, constraint: Constraint) -> None:
    component, value = constraint.component, constraint.value
    if component == "MinCount":
        known.least = max(known.least, value)
    elif component == "MaxCount":
        known.most = value if known.most is None else min(known.most, value)
    elif component == "Datatype":
        known.datatypes.append(value.value)
    elif component == "Class":
        known.classes.append(value)
    elif component == "NodeKind":
        known.kinds = value if not known.kinds else known.kinds & value
    elif component == "LanguageIn":
        known.languages = value
    elif component == "UniqueLang":
        known.one_each = True
    elif component == "In":
        known.choices = value
    elif component == "Pattern":
        known.pattern = value[0]
    elif component in ("MinInclusive", "MinExclusive"):
        known.minimum = value
    elif component in ("MaxInclusive", "MaxExclusive"):
        known.maximum = value
    elif component in ("Or", "Xone", "And", "Node"):  # of the values: datatypes and classes to choose from
        for inner in constraint.shapes:
            for one in inner.constraints:
                if one.component in ("Datatype", "Class"):
                    _take(known, one)


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
