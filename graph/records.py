"""Answers as JSON: `to_dict` of a class and its JSON schema, both made from the class's annotations.

A field is told under its own name. Terms are annotated with how they are written: `Iri`, `Node` or `Plain`.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar, Union, get_args, get_origin
from typing import get_type_hints as hints_of

import pyoxigraph as ox

from worlds.graph.terms import to_oxigraph, to_rdflib

T = TypeVar("T")
_REFERENCES = "#/components/schemas/"


@dataclass(frozen=True, eq=False)
class As:
    """How JSON has a value: `write` makes it, None for the value itself.

    `schema` adds to what the value's type says, or is the type of what is written.
    """

    write: Callable[[Any], Any] | None = None
    schema: Any = None


def _named(term: Any) -> str:
    if isinstance(term, ox.NamedNode):
        return term.value
    shown = str(term)  # a blank node of pyoxigraph has its mark
    return f"_:{shown}" if type(term).__name__ == "BNode" else shown


def _rounded(number: float) -> float:
    return round(number, 4)


Plain: TypeAlias = Annotated[Any, As(str, {"type": "string"})]
"""A term as its text alone."""
Iri: TypeAlias = Annotated[Any, As(_named, {"type": "string"})]
"""An IRI as it is; a blank node as _:label."""
Node: TypeAlias = Annotated[Any, As(lambda term: str(to_oxigraph(term)), {"type": "string"})]
"""A term as in N-Triples."""
Quad: TypeAlias = Annotated[
    tuple[Node, Node, Node, Node | None],
    As(
        schema={
            "type": "array",
            "items": {"type": ["string", "null"]},
            "minItems": 4,
            "maxItems": 4,
            "description": "Subject, predicate, object and graph as in N-Triples; null is the default graph.",
        }
    ),
]
Triple: TypeAlias = Annotated[
    tuple[Node, Node, Node],
    As(
        schema={
            "type": "array",
            "items": {"type": "string"},
            "minItems": 3,
            "maxItems": 3,
            "description": "Subject, predicate and object as in N-Triples.",
        }
    ),
]
Count: TypeAlias = Annotated[int, As(schema={"minimum": 0})]
Number: TypeAlias = Annotated[int, As(schema={"minimum": 1})]
"""Of a revision or a proposal."""
Score: TypeAlias = Annotated[float, As(_rounded)]
Spare = As()
"""A field that JSON has only where it holds something."""


class TermsOf(typing.Generic[T]):
    """An attribute of a record that holds the engine's terms, and gives rdflib's: importing that takes long.

    `func` makes the value when it is first read, if the record was not made with it.
    """

    def __init__(self, func: Callable[[Any], T] | None = None) -> None:
        self.func = func
        self.__doc__ = func.__doc__

    def __set_name__(self, kind: type, name: str) -> None:
        self._name = name

    def held(self, record: Any) -> Any:
        """The value as the record has it, in which JSON needs no other terms."""
        own = vars(record)
        if self.func is not None and self._name not in own:
            own[self._name] = self.func(record)
        return own[self._name]

    def __get__(self, record: Any, kind: type | None = None) -> T:
        if record is None:
            return self  # type: ignore[return-value]  # the attribute of the class
        shown: T = _shown(self.held(record))
        vars(record)[self._name] = shown
        return shown

    def __set__(self, record: Any, value: T) -> None:
        vars(record)[self._name] = value


def _shown(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(map(_shown, value))
    return to_rdflib(value) if isinstance(value, ox.NamedNode | ox.BlankNode | ox.Literal) else value


class Record:
    """A record for JSON: its fields, except the ones that are `_untold`, and the members named in `_also`."""

    __slots__ = ()
    _also: ClassVar[tuple[str, ...]] = ()
    _untold: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """The value as JSON-ready values."""
        return told(self)


def held(record: Any, name: str) -> Any:
    """An attribute of a record in the engine's terms, without an import of rdflib."""
    return _reader(type(record), name)(record)


def told(value: Any) -> dict[str, Any]:
    """The fields of a record as JSON-ready values."""
    shown = {}
    kind: Any = type(value)
    for name, read, write, spare in _writers(kind):
        found = read(value)
        if found or not spare:
            shown[name] = found if write is None else write(found)
    return shown


class _Field(NamedTuple):
    name: str
    hint: Any
    spare: bool


@cache
def _fields(kind: type) -> tuple[_Field, ...]:
    hints = hints_of(kind, include_extras=True)
    own = [field.name for field in fields(kind)] if is_dataclass(kind) else getattr(kind, "_fields", ())
    untold = getattr(kind, "_untold", ())
    names = [*(name for name in own if name not in untold and name[0] != "_"), *getattr(kind, "_also", ())]
    found = [(name, hints[name] if name in hints else _result(getattr(kind, name))) for name in names]
    return tuple(_Field(name, hint, Spare in getattr(hint, "__metadata__", ())) for name, hint in found)


def _result(attribute: Any) -> Any:
    function = attribute.fget if isinstance(attribute, property) else attribute.func
    return hints_of(function, include_extras=True)["return"]


@cache
def _writers(kind: Any) -> tuple[tuple[str, Callable[[Any], Any], Callable[[Any], Any] | None, bool], ...]:
    return tuple((name, _reader(kind, name), _writer(hint), spare) for name, hint, spare in _fields(kind))


def _reader(kind: Any, name: str) -> Callable[[Any], Any]:
    attribute = getattr(kind, name, None)
    return attribute.held if isinstance(attribute, TermsOf) else attrgetter(name)


def _writer(hint: Any) -> Callable[[Any], Any] | None:
    """The function that makes JSON of a value; None where the value is JSON already."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        chosen = next((one.write for one in hint.__metadata__ if one.write is not None), None)
        return chosen or _writer(parts[0])
    if origin in (Union, types.UnionType):
        inner = next(filter(None, map(_writer, parts)), None)
        return inner and _or_none(inner)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        key, item = (_writer(part) or _itself for part in parts)
        return lambda value: {key(name): item(one) for name, one in value.items()}
    if origin is tuple and parts[-1] is not ...:
        each = [_writer(part) or _itself for part in parts]
        return lambda value: [write(one) for write, one in zip(each, value, strict=True)]
    if origin is not None and origin is not Literal:
        inner = _writer(parts[0])
        return list if inner is None else lambda value: list(map(inner, value))
    if hint is datetime:
        return datetime.isoformat
    if isinstance(hint, TypeVar) or hasattr(hint, "to_dict"):
        return _of_record
    return told if _has_fields(hint) else None


def _has_fields(kind: Any) -> bool:
    return is_dataclass(kind) or hasattr(kind, "_fields")


def _or_none(write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else write(value)


def _itself(value: Any) -> Any:
    return value


def _of_record(value: Any) -> Any:
    return value.to_dict()


# --- schemas ----------------------------------------------------------------------------------------------------------

_TYPES: Mapping[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def schemas(kinds: Iterable[type]) -> dict[str, Any]:
    """The JSON schemas (2020-12) of the `to_dict` of classes, and of all nested records, by the classes' names."""
    found: dict[str, Any] = {}
    named: dict[str, type] = {}
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        if named.setdefault(kind.__name__, kind) is not kind:
            raise TypeError(f"two classes are called {kind.__name__}, and a schema has one of a name")
        if kind.__name__ not in found:
            known = {field.name: schema(field.hint, waiting.append) for field in _fields(kind)}
            found[kind.__name__] = {
                "type": "object",
                "properties": known,
                "required": [field.name for field in _fields(kind) if not field.spare],
                "description": (kind.__doc__ or "").partition("\n")[0],
            }
    return found


def schema(hint: Any, met: Callable[[type], object]) -> dict[str, Any]:
    """The JSON schema of a type; the records in it are references, and are added to `met`."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        given = [one.schema for one in hint.__metadata__ if one.schema is not None]
        if given and not isinstance(given[0], Mapping):
            return schema(given[0], met)
        told = {name: part for one in given for name, part in one.items()}
        return told if "type" in told else {**schema(parts[0], met), **told}
    if origin in (Union, types.UnionType):
        shown = [schema(part, met) for part in parts]
        simple = all(one.keys() == {"type"} for one in shown)
        return {"type": [one["type"] for one in shown]} if simple else {"anyOf": shown}
    if origin is Literal:
        return {"type": "string", "enum": list(parts)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema(parts[1], met)}
    if origin is tuple and parts[-1] is not ...:
        shown = [schema(part, met) for part in dict.fromkeys(parts)]
        each = shown[0] if len(shown) == 1 else {"anyOf": shown}
        return {"type": "array", "items": each, "minItems": len(parts), "maxItems": len(parts)}
    if origin is not None:
        return {"type": "array", "items": schema(parts[0], met)}
    if hint is datetime:
        return {"type": "string", "format": "date-time"}
    kind: Any = hint.__bound__ if isinstance(hint, TypeVar) else hint
    if hasattr(kind, "to_dict") or _has_fields(kind):
        met(kind)
        return {"$ref": _REFERENCES + kind.__name__}
    return {"type": _TYPES[kind]} if kind in _TYPES else {}
