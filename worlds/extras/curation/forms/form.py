"""A form as data: the fields in which an entity is read and edited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from worlds.extras.entities.descriptions import Value
from worlds.graph.records import Count, Iri, Node, Record, Score, Spare

Widget: TypeAlias = Literal[
    "text", "long text", "number", "boolean", "date", "moment", "year", "entity", "choice", "iri", "literal"
]
"""How a value is asked for. A moment is a date with a time, a literal has a datatype for which there is no widget."""


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
