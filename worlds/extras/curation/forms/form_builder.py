"""Forms: first what shapes declare, then what an entity has, then what others of its classes have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeAlias

import pyoxigraph as ox

from worlds.core.core import Core
from worlds.core.quads.dictionary import DEFAULT_GRAPH_ID
from worlds.core.texts.profiles import words_of
from worlds.extras.curation.forms.declared import Habit, PredicateDeclarations, applicable, declared, habits
from worlds.extras.entities.descriptions import Describer, Property, Value
from worlds.extras.shapes.paths import ShapeTerms
from worlds.extras.shapes.world_validation import ShapeChecker
from worlds.graph.records import Count, Iri, Node, Record, Score, Spare
from worlds.graph.terms import RDF, XSD, to_oxigraph, to_rdflib

Widget: TypeAlias = Literal[
    "text", "long text", "number", "boolean", "date", "moment", "year", "entity", "choice", "iri", "literal"
]
"""How a value is asked for. A moment is a date with a time, a literal has a datatype for which there is no widget."""
_VALUES = 200  # of a field that are given
_CHOICES = 500  # classes that one can choose from
_LANGUAGES = 12
_LONG = 100  # characters of a text with room for more
_TYPE = RDF + "type"
_TEXTS = (XSD + "string", RDF + "langString")
_WIDGETS: Mapping[str, Widget] = {
    **{
        XSD + name: "number"
        for name in (
            *("integer", "decimal", "double", "float", "long", "int", "short", "byte", "nonNegativeInteger"),
            *("positiveInteger", "nonPositiveInteger", "negativeInteger", "unsignedLong", "unsignedInt"),
            *("unsignedShort", "unsignedByte"),
        )
    },
    XSD + "boolean": "boolean",
    XSD + "date": "date",
    XSD + "dateTime": "moment",
    XSD + "dateTimeStamp": "moment",
    XSD + "gYear": "year",
    XSD + "anyURI": "literal",
}


@dataclass(frozen=True, slots=True)
class Choice(Record):
    """A term that can be chosen, with its label."""

    term: Node
    label: str | None


@dataclass(frozen=True, slots=True)
class Field(Record):
    """A predicate of a form. `least` and `most` are the numbers of values that it takes, None for any number.

    `datatype` and `languages` are those of its literals, the commonest first, `classes` those of the entities that are
    its values. `choices` are the values that there are; where it is `closed`, a shape allows no others. `declared` says
    that a shape has the field; otherwise `share` of the entities like this one have it, from 0 to 1. `problems` are the
    messages of the violations of its values.
    """

    predicate: Iri
    label: str
    widget: Widget
    least: Count = 0
    most: int | None = None
    help: Annotated[str | None, Spare] = None
    datatype: Annotated[Iri | None, Spare] = None
    languages: Annotated[tuple[str, ...], Spare] = ()
    one_each: Annotated[bool, Spare] = False
    classes: Annotated[tuple[Choice, ...], Spare] = ()
    choices: Annotated[tuple[Choice, ...], Spare] = ()
    closed: Annotated[bool, Spare] = False
    pattern: Annotated[str | None, Spare] = None
    minimum: Annotated[Node | None, Spare] = None
    maximum: Annotated[Node | None, Spare] = None
    default: Annotated[Node | None, Spare] = None
    declared: bool = False
    share: Annotated[Score | None, Spare] = None
    values: tuple[Value, ...] = ()
    count: Count = 0
    problems: Annotated[tuple[str, ...], Spare] = ()


@dataclass(frozen=True)
class Form(Record):
    """The fields of an entity, or of a new entity of some classes; fields declared by a shape come first.

    `graph` is where most of what is said of such entities stands, None for the default graph. `revision` is the last
    one of the world: a change that names it as its `base` is refused where the entity has changed since. `problems`
    are violations that belong to no field.
    """

    iri: Iri | None
    label: str | None
    types: tuple[Choice, ...]
    graph: Iri | None
    revision: Count
    fields: tuple[Field, ...]
    problems: Annotated[tuple[str, ...], Spare] = ()


class Forms:
    """Compiles the forms of one world."""

    def __init__(self, core: Core, describer: Describer, checker: ShapeChecker) -> None:
        self._core = core
        self._describer = describer
        self._checker = checker

    def form(self, entity: Any, kinds: Sequence[Any], language: str | None) -> Form:
        """See `World.entities.form`."""
        with self._core.connection.snapshot():
            return self._form(entity, kinds, language)

    def _form(self, entity: Any, kinds: Sequence[Any], language: str | None) -> Form:
        told = None if entity is None else self._describer.describe(entity, limit=_VALUES, language=language)
        given = {term.value: term for term in kinds}
        if told is not None:
            given |= {str(value.term): to_oxigraph(value.term) for value in told.types}
        classes = [term for term in given.values() if isinstance(term, ox.NamedNode)]
        graph = self._checker.own()
        terms = ShapeTerms(self._core.connection, self._core.dictionary)
        known = None if entity is None else self._core.dictionary.find([entity])[0]
        shapes = (
            applicable(graph, self._core.connection, terms, self._checker.ask, known, kinds) if graph.shapes else []
        )
        said = declared(graph, shapes, language)
        numbers = [number for number in self._core.dictionary.find(classes) if number is not None]
        usual, graphs = habits(self._core.connection, self._core.dictionary, self._core.chunks.policy, numbers)
        named = [*classes, *(one for each in said for one in (each.predicate, *each.classes, *each.choices))]
        named += [one for habit in usual for one in habit.few]
        names = self._names(named, {id for one in usual for id in (one.predicate, *one.classes)}, language)
        fields = self._fields(said, usual, () if told is None else told.properties, names)
        shown, problems = self._with_problems(fields, entity, bool(shapes and known is not None))
        own = [] if told is None else [
            source.graph for part in told.properties for value in part.values for source in value.sources
        ]  # fmt: skip
        home: Any = Counter(own).most_common(1)[0][0] if own else self._commonest(graphs.tolist())
        return Form(
            None if entity is None else to_rdflib(entity),
            None if told is None else told.label,
            tuple(Choice(to_rdflib(term), names.get(term)) for term in classes),
            home,
            self._core.history.last,
            shown,
            problems,
        )

    def _commonest(self, graphs: Sequence[int]) -> Any:
        """The commonest graph of a sample, None for the default graph."""
        number = Counter(graphs).most_common(1)[0][0] if graphs else DEFAULT_GRAPH_ID
        return None if number == DEFAULT_GRAPH_ID else to_rdflib(self._core.dictionary.terms([number])[number])

    def _names(self, terms: Iterable[Any], ids: Iterable[int], language: str | None) -> dict[Any, str]:
        """Term → label, for the terms that have one."""
        listed = [term for term in terms if not isinstance(term, ox.Literal)]
        numbers = zip(self._core.dictionary.find(listed), listed, strict=True)
        found = {number: term for number, term in numbers if number is not None}
        found |= self._core.dictionary.terms(set(ids))
        labels = self._core.facts.labels(self._core.chunks.policy, found, language=language)
        return {found[number]: text.label for number, text in labels.items()}

    # -- fields ---------------------------------------------------------------------------------------------------

    def _fields(
        self,
        said: Sequence[PredicateDeclarations],
        usual: Sequence[Habit],
        had: Sequence[Property],
        names: Mapping[Any, str],
    ) -> list[Field]:
        terms = self._core.dictionary.terms({number for one in usual for number in (one.predicate, *one.classes)})
        by_habit = {terms[one.predicate].value: one for one in usual}
        by_shape = {one.predicate.value: one for one in said}
        values = {str(part.predicate): part for part in had}
        order = [iri for iri in dict.fromkeys([*by_shape, *by_habit, *values]) if iri != _TYPE]
        return [_field(iri, by_shape.get(iri), by_habit.get(iri), values.get(iri), names, terms) for iri in order]

    def _with_problems(
        self, fields: list[Field], entity: Any, validated: bool
    ) -> tuple[tuple[Field, ...], tuple[str, ...]]:
        """The fields with the violations of their values; and the messages of the others."""
        if not validated:
            return tuple(fields), ()
        found: dict[str, list[str]] = {}
        rest: list[str] = []
        names = {f"<{one.predicate}>" for one in fields}
        for result in self._checker.validate([entity], None).results:
            if result.path in names:
                found.setdefault(str(result.path), []).append(result.message)
            else:
                rest.append(result.message)
        told = [
            replace(one, problems=tuple(dict.fromkeys(found.get(f"<{one.predicate}>", one.problems)))) for one in fields
        ]
        return tuple(told), tuple(dict.fromkeys(rest))


def _field(
    iri: str,
    said: PredicateDeclarations | None,
    habit: Habit | None,
    part: Property | None,
    names: Mapping[Any, str],
    terms: Mapping[int, Any],
) -> Field:
    predicate = ox.NamedNode(iri)
    datatype = _datatype(said, habit, part)
    classes = said.classes if said else []
    if not classes and habit and 2 * habit.entities > habit.literals:
        classes = [terms[number] for number, often in habit.classes.most_common(3) if 2 * often >= habit.entities]
    choices = said.choices if said and said.choices else habit.few if habit else ()
    languages = said.languages if said and said.languages else ()
    if not languages and datatype in _TEXTS:
        told = Counter(habit.languages if habit else ())
        for value in part.values if part else ():
            told[getattr(value.term, "language", None) or ""] += 1
        languages = tuple(tag for tag, _ in told.most_common(_LANGUAGES) if tag)
    label = said.name if said and said.name else part.label if part else names.get(predicate) or words_of(iri)
    return Field(
        to_rdflib(predicate),
        label,
        _widget(said, habit, part, datatype, bool(classes)),
        least=said.least if said else 0,
        most=said.most if said else 1 if habit and habit.single else None,
        help=said.help if said else None,
        datatype=None if datatype is None else to_rdflib(ox.NamedNode(datatype)),
        languages=languages,
        one_each=bool(said and said.one_each),
        classes=tuple(Choice(to_rdflib(one), names.get(one)) for one in classes),
        choices=tuple(Choice(to_rdflib(one), names.get(one)) for one in choices),
        closed=bool(said and said.choices),
        pattern=said.pattern if said else None,
        minimum=None if said is None or said.minimum is None else to_rdflib(said.minimum),
        maximum=None if said is None or said.maximum is None else to_rdflib(said.maximum),
        default=None if said is None or said.default is None else to_rdflib(said.default),
        declared=said is not None,
        share=habit.share if habit else None,
        values=part.values if part else (),
        count=part.count if part else 0,
        problems=(part.conflict,) if part and part.conflict else (),
    )


def _datatype(said: PredicateDeclarations | None, habit: Habit | None, part: Property | None) -> str | None:
    """The datatype of a field's literals: the declared one, the commonest, or that of the values; None for entities."""
    if said and said.datatypes:
        return said.datatypes[0]
    if said and (said.classes or (said.kinds and "Literal" not in said.kinds)):
        return None
    if habit:
        return habit.datatypes.most_common(1)[0][0] if 2 * habit.literals >= habit.entities else None
    literals = [
        term for value in (part.values if part else ()) if isinstance(term := to_oxigraph(value.term), ox.Literal)
    ]
    if literals:
        return Counter(term.datatype.value for term in literals).most_common(1)[0][0]
    return None if part else XSD + "string"


def _widget(
    said: PredicateDeclarations | None, habit: Habit | None, part: Property | None, datatype: str | None, classes: bool
) -> Widget:
    if said and said.choices:
        return "choice"
    if datatype is None:
        known = bool(part and any(value.label for value in part.values))
        return "entity" if classes or known or (habit and habit.classes) else "iri"
    if datatype in _TEXTS:
        long = habit.long if habit else any(len(str(value.term)) >= _LONG for value in (part.values if part else ()))
        return "long text" if long else "text"
    return _WIDGETS.get(datatype, "literal")
