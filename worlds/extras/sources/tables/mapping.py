"""A mapping of a table to RDF: a subset of CSVW's metadata (https://www.w3.org/TR/tabular-metadata/).

Of a table: `url`, `dialect` (delimiter, quoteChar, encoding, header, skipRows; and `worlds:escaped`, whether texts that
begin as formulas do have an apostrophe before them), and a `tableSchema` with `aboutUrl`,
`primaryKey` and `columns`. Of a column: `name`, `titles`, `propertyUrl`, `valueUrl`, `datatype` (a name, or `base` and
`format`, or `@id`, the IRI of one whose texts are taken as they are), `lang`, `separator`, `null`, `default`,
`required`, `suppressOutput`, `virtual`. URL templates are those of RFC 6570, level 1, with `{_row}`, and `{_hash}`: it
is made of the row's cells, and stays where rows move. Names with a prefix may stand where URLs do. `worlds:type` of a
column are classes: its cells are then names of their entities. `worlds:note` is told as long as its texts stay texts.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyoxigraph as ox

from worlds.errors import OpenError, ParseError
from worlds.extras.sources.tables.rows import Dialect, Table
from worlds.graph.terms import RDF, XSD, to_oxigraph

CONTEXT = "http://www.w3.org/ns/csvw"
REVISION, STATE, GRAPH = "worlds:revision", "worlds:state", "worlds:graph"
"""Of an exported table: the revision that it shows, the name of that state, and the named graph."""
HASH = "_hash"
"""The name in templates of what is made of a row's cells, and of how many such rows stand above it."""
DATATYPES = {
    "string": "string", "integer": "integer", "number": "double", "double": "double", "decimal": "decimal",
    "float": "float", "boolean": "boolean", "date": "date", "datetime": "dateTime", "dateTime": "dateTime",
    "time": "time", "gYear": "gYear", "gYearMonth": "gYearMonth", "anyURI": "anyURI", "long": "long", "int": "int",
    "nonNegativeInteger": "nonNegativeInteger", "positiveInteger": "positiveInteger", "duration": "duration",
    "language": "language", "any": "string",
}  # fmt: skip
"""CSVW's name of a datatype → that of XML Schema."""
_TABLE = {
    "@context": object, "@type": str, "@id": str, "url": str, "dialect": dict, "tableSchema": dict, "dc:title": object,
    "rdfs:comment": object, REVISION: int, STATE: str, GRAPH: str,
}  # fmt: skip
_SCHEMA = {
    "@type": str, "aboutUrl": str, "primaryKey": (str, list), "columns": list, "propertyUrl": str, "valueUrl": str,
    "lang": str, "null": (str, list), "separator": (str, type(None)),
}  # fmt: skip
_COLUMN = {
    "@type": str, "name": str, "titles": (str, list), "aboutUrl": str, "propertyUrl": str, "valueUrl": str,
    "datatype": (str, dict), "lang": str, "separator": (str, type(None)), "null": (str, list), "default": str,
    "required": bool, "suppressOutput": bool, "virtual": bool, "worlds:type": (str, list), "worlds:where": str,
    "worlds:unit": str, "worlds:note": str, "rdfs:comment": object,
}  # fmt: skip
_DATATYPE = {"base": str, "format": str, "@id": str}
_DIALECT = {
    "@type": str, "delimiter": str, "quoteChar": (str, type(None)), "encoding": str, "header": bool, "skipRows": int,
    "worlds:escaped": bool,
}  # fmt: skip
"""The keys of each part, and the types of JSON of their values; of lists, each item is a text or a part itself."""
_DIALECT_NAMES = {"quoteChar": "quote", "skipRows": "skip", "worlds:escaped": "escaped"}
_template = re.compile(r"\{([^{}]*)\}")
_SHOWN = 20  # names of columns in an error


class Among(NamedTuple):
    """Which entities the cells of a column may name: of which classes, and by which pattern over ?subject."""

    types: tuple[str, ...] | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and the conversion of its cells; `property` is an IRI, `value` and `about` are templates of IRIs."""

    name: str
    title: str | None = None
    property: str | None = None
    value: str | None = None
    about: str | None = None
    datatype: str = "string"
    checked: bool = True  # whether its texts have to be of the datatype
    format: str | None = None
    language: str | None = None
    separator: str | None = None
    null: tuple[str, ...] = ("",)
    default: str = ""
    required: bool = False
    suppressed: bool = False
    virtual: bool = False
    among: Among | None = None  # the entities that its cells name
    unit: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class TableMapping:
    """How a table becomes quads."""

    about: str
    columns: tuple[Column, ...]
    dialect: Dialect | None = None
    source: Mapping[str, Any] = field(default_factory=dict)


def read_mapping(given: object, prefixes: Mapping[str, str]) -> TableMapping:
    """A mapping from a file, its text or a parsed object; ParseError names the parts outside the supported subset."""
    told, name = _loaded(given)
    if "rr:" in json.dumps(told) or "rml:" in json.dumps(told):
        raise ParseError("RML is not read: write the mapping as CSVW metadata, see docs/sources.md#tables", source=name)

    def fail(message: str) -> ParseError:
        return ParseError(f"the mapping {message}", source=name)

    def known(part: object, forms: Mapping[str, Any], what: str) -> None:
        if not isinstance(part, dict):
            raise fail(f"has {part!r} as {what}")
        if strange := sorted(map(str, part.keys() - forms.keys())):
            raise fail(f"has {strange[0]!r} in {what}, which is not read; known are {', '.join(sorted(forms))}")
        for key, value in part.items():
            texts = not isinstance(value, list) or key == "columns" or all(isinstance(one, str) for one in value)
            fits = isinstance(value, forms[key]) and texts and (forms[key] is bool or not isinstance(value, bool))
            if forms[key] is not object and not fits:
                raise fail(f"has {value!r} as {key} of {what}")

    known(told, _TABLE, "the table")
    schema = told.get("tableSchema", {})
    known(schema, _SCHEMA, "tableSchema")
    if "columns" not in schema:
        raise fail("has no tableSchema with columns")

    def iri(value: str, what: str) -> str:
        if _template.fullmatch(value):  # the cell is an IRI itself
            return value
        try:
            term = to_oxigraph(_template.sub("x", value), prefixes=prefixes)
        except ValueError as error:
            raise fail(f"has {value!r} as {what}: {error}") from error
        if not isinstance(term, ox.NamedNode):
            raise fail(f"has {value!r} as {what}, which is not an IRI")
        prefix, _, local = value.partition(":")
        return value if term.value == _template.sub("x", value) else prefixes[prefix] + local

    inherited = {
        name: schema[name] for name in schema if name in ("propertyUrl", "valueUrl", "lang", "null", "separator")
    }
    columns: list[Column] = []
    for place, part in enumerate(schema["columns"], 1):
        known(part, _COLUMN, f"column {place}")
        if isinstance(part.get("datatype"), dict):
            known(part["datatype"], _DATATYPE, f"the datatype of column {place}")
        columns.append(_column({**inherited, **part}, place, iri, fail))
    names = {column.name for column in columns} | {"_row", HASH}
    about = iri(schema.get("aboutUrl", f"urn:worlds:row:{{{HASH}}}"), "aboutUrl")
    for template in (about, *(one for column in columns for one in (column.value, column.about) if one)):
        if missing := [one for one in _template.findall(template) if one not in names]:
            raise fail(f"has {{{missing[0]}}} in {template!r}, and no column of this name")
    if "dialect" in told:
        known(told["dialect"], _DIALECT, "the dialect")
    return TableMapping(about, tuple(columns), _dialect(told.get("dialect"), fail), told)


def _loaded(given: object) -> tuple[dict[str, Any], str | None]:
    if isinstance(given, Mapping):
        return dict(given), None
    name = str(given)
    try:
        text = Path(name).read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise OpenError(f"the mapping {name[:200]} cannot be read: {why}") from error
    try:
        told = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise ParseError(f"the mapping is not JSON: {error}", source=name, line=line) from error
    if not isinstance(told, dict):
        raise ParseError("the mapping is not a JSON object", source=name)
    return told, name


def _column(part: Mapping[str, Any], place: int, iri: Any, fail: Any) -> Column:
    titles = part.get("titles")
    title = titles[0] if isinstance(titles, list) and titles else titles if isinstance(titles, str) else None
    name = part.get("name") or title or f"_col.{place}"
    datatype = part.get("datatype", "string")
    described = datatype if isinstance(datatype, dict) else {"base": datatype}
    base, format_ = described.get("base", "string"), described.get("format")
    if base not in DATATYPES:
        raise fail(f"has the datatype {base!r} of column {name!r}; known are {', '.join(DATATYPES)}")
    null = part.get("null", "")
    types = part.get("worlds:type", ())
    classes = tuple(iri(one, "worlds:type") for one in ([types] if isinstance(types, str) else types))
    among = Among(classes or None, part.get("worlds:where"))
    language = part.get("lang")
    if language is not None:
        try:
            ox.Literal("", language=language)
        except ValueError as error:
            raise fail(f"has {language!r} as the language of column {name!r}") from error
    return Column(
        str(name),
        None if title is None else str(title),
        iri(part["propertyUrl"], "propertyUrl") if part.get("propertyUrl") else None,
        iri(part["valueUrl"], "valueUrl") if part.get("valueUrl") else None,
        iri(part["aboutUrl"], "aboutUrl") if part.get("aboutUrl") else None,
        XSD + DATATYPES[base] if "@id" not in described else iri(described["@id"], "a datatype"),
        "@id" not in described,
        format_,
        language if language != "und" else None,
        part.get("separator") or None,
        tuple(null) if isinstance(null, list) else (str(null),),
        part.get("default", ""),
        bool(part.get("required")),
        bool(part.get("suppressOutput")),
        bool(part.get("virtual")),
        among if any(among) else None,
        part.get("worlds:unit"),
        part.get("worlds:note"),
    )  # fmt: skip


def _dialect(told: Mapping[str, Any] | None, fail: Any) -> Dialect | None:
    if told is None:
        return None
    given = {_DIALECT_NAMES.get(key, key): value for key, value in told.items() if key != "@type"}
    for key in ("delimiter", "quote"):
        if given.get(key) is not None and len(given[key]) != 1:
            raise fail(f"has the {key} {given[key]!r}, which must be one character")
    if given.get("skip", 0) < 0:
        raise fail(f"has {given['skip']!r} as skipRows, which is from 0 on")
    try:
        "".encode(given.get("encoding", "utf-8"))
    except (LookupError, ValueError) as error:
        raise fail(f"has the encoding {given['encoding']!r}, which there is not, or not of texts") from error
    return Dialect(**given)


def placed(mapping: TableMapping, table: Table) -> dict[str, int]:
    """The place in a table of each column that has one, by its name: that of its title, or of its name, or by order.

    Titles that stand several times are taken in their order. ParseError where there is none, or it cannot be told.
    """
    titled: dict[str, list[int]] = {}
    for place, title in enumerate(table.names):
        titled.setdefault(title, []).append(place)
    columns = [column for column in mapping.columns if not column.virtual]
    keys = [one.title if one.title in titled else one.name if one.name in titled else one.title for one in columns]
    wanted = Counter(keys)
    found: dict[str, int] = {}
    for number, (column, key) in enumerate(zip(columns, keys, strict=True)):
        places = titled.get(key or "", [])
        if not places and number < len(table.names) and column.title is None and table.names[number] not in wanted:
            places = [number]  # by its order, as CSVW has it
        message = ""
        if not places:
            given = ", ".join(map(repr, table.names[:_SHOWN])) + " …" * (len(table.names) > _SHOWN)
            held = f"has {given}" if given else "is empty"
            message = f"the table has no column {key or column.name!r}; it {held}"
        elif len(places) not in (1, wanted[key]):
            told = f"columns {' and '.join(str(place + 1) for place in places)} of the table are all called {key!r}"
            message = f"{told}, and the mapping has {wanted[key]} of this name"
        if message:
            raise ParseError(message, source=str(table.path))
        found[column.name] = places[keys[:number].count(key)] if len(places) > 1 else places[0]
    return found


def required_names(template: str) -> list[str]:
    """The names in a template."""
    return _template.findall(template)


TYPE = RDF + "type"
