"""A mapping of a table to RDF: a subset of CSVW's metadata (https://www.w3.org/TR/tabular-metadata/).

Of a table: `url`, `dialect` (delimiter, quoteChar, encoding, header, skipRows), and a `tableSchema` with `aboutUrl`,
`primaryKey` and `columns`. Of a column: `name`, `titles`, `propertyUrl`, `valueUrl`, `datatype` (a name, or `base` and
`format`), `lang`, `separator`, `null`, `default`, `required`, `suppressOutput`, `virtual`. URL templates are those of
RFC 6570, level 1, with `{_row}`; names with a prefix may stand where URLs do. `worlds:type` of a column are classes:
its cells are then names of their entities.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from worlds.errors import OpenError, ParseError
from worlds.graph.terms import RDF, XSD
from worlds.sources.tables.reading import Dialect

CONTEXT = "http://www.w3.org/ns/csvw"
DATATYPES = {
    "string": "string", "integer": "integer", "number": "double", "double": "double", "decimal": "decimal",
    "float": "float", "boolean": "boolean", "date": "date", "datetime": "dateTime", "dateTime": "dateTime",
    "time": "time", "gYear": "gYear", "gYearMonth": "gYearMonth", "anyURI": "anyURI", "long": "long", "int": "int",
    "nonNegativeInteger": "nonNegativeInteger", "positiveInteger": "positiveInteger", "duration": "duration",
    "language": "language", "any": "string",
}  # fmt: skip
"""CSVW's name of a datatype → that of XML Schema."""
_TABLE = {"@context", "@type", "@id", "url", "dialect", "tableSchema", "dc:title", "rdfs:comment", "tables"}
_SCHEMA = {"@type", "aboutUrl", "primaryKey", "columns", "propertyUrl", "valueUrl", "lang", "null", "separator"}
_COLUMN = {
    "@type", "name", "titles", "aboutUrl", "propertyUrl", "valueUrl", "datatype", "lang", "separator", "null",
    "default", "required", "suppressOutput", "virtual", "worlds:type", "worlds:unit", "rdfs:comment",
}  # fmt: skip
_template = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Column:
    """A column, and what becomes of its cells; `property` is an IRI, `value` and `about` are templates of IRIs."""

    name: str
    title: str | None = None
    property: str | None = None
    value: str | None = None
    about: str | None = None
    datatype: str = "string"
    format: str | None = None
    language: str | None = None
    separator: str | None = None
    null: tuple[str, ...] = ("",)
    default: str = ""
    required: bool = False
    suppressed: bool = False
    virtual: bool = False
    types: tuple[str, ...] = ()  # of the entities that its cells name
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class TableMapping:
    """How a table becomes quads."""

    about: str
    columns: tuple[Column, ...]
    dialect: Dialect | None = None
    source: Mapping[str, Any] = field(default_factory=dict)


def read_mapping(given: object, prefixes: Mapping[str, str]) -> TableMapping:
    """A mapping from a file, its text or the object that it holds; ParseError names what is not in the subset."""
    told, name = _loaded(given)
    if "rr:" in json.dumps(told) or "rml:" in json.dumps(told):
        raise ParseError("RML is not read: write the mapping as CSVW metadata, see docs/sources.md#tables", source=name)

    def fail(message: str) -> ParseError:
        return ParseError(f"the mapping {message}", source=name)

    def known(part: Mapping[str, Any], names: set[str], what: str) -> None:
        if strange := sorted(part.keys() - names):
            raise fail(f"has {strange[0]!r} in {what}, which is not read; known are {', '.join(sorted(names))}")

    known(told, _TABLE, "the table")
    schema = told.get("tableSchema")
    if not isinstance(schema, dict) or not isinstance(schema.get("columns"), list):
        raise fail("has no tableSchema with columns")
    known(schema, _SCHEMA, "tableSchema")

    def iri(value: object, what: str) -> str:
        if not isinstance(value, str):
            raise fail(f"has {value!r} as {what}, which is a text")
        prefix, colon, local = value.partition(":")
        full = prefixes[prefix] + local if colon and prefix in prefixes and not local.startswith("//") else value
        if _template.fullmatch(full):  # the cell is an IRI itself
            return full
        try:
            ox.NamedNode(_template.sub("x", full))
        except ValueError as error:
            raise fail(f"has {value!r} as {what}, which is no absolute IRI: {error}") from error
        return full

    inherited = {
        name: schema[name] for name in ("propertyUrl", "valueUrl", "lang", "null", "separator") if name in schema
    }
    columns: list[Column] = []
    for place, part in enumerate(schema["columns"], 1):
        if not isinstance(part, dict):
            raise fail(f"has {part!r} as a column")
        known(part, _COLUMN, f"column {place}")
        columns.append(_column({**inherited, **part}, place, iri, fail))
    names = {column.name for column in columns} | {"_row"}
    about = iri(schema.get("aboutUrl", "urn:worlds:row:{_row}"), "aboutUrl")
    for template in (about, *(one for column in columns for one in (column.value, column.about) if one)):
        if missing := [one for one in _template.findall(template) if one not in names]:
            raise fail(f"has {{{missing[0]}}} in {template!r}, and no column of this name")
    return TableMapping(about, tuple(columns), _dialect(told.get("dialect"), fail), told)


def _loaded(given: object) -> tuple[dict[str, Any], str | None]:
    if isinstance(given, Mapping):
        return dict(given), None
    name = str(given)
    try:
        text = Path(name).read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise OpenError(
            f"the mapping {name[:200]} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    try:
        told = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise ParseError(f"the mapping is not JSON: {error}", source=name, line=line) from error
    if not isinstance(told, dict):
        raise ParseError("the mapping is no JSON object", source=name)
    return told, name


def _column(part: Mapping[str, Any], place: int, iri: Any, fail: Any) -> Column:
    titles = part.get("titles")
    title = titles[0] if isinstance(titles, list) and titles else titles if isinstance(titles, str) else None
    name = part.get("name") or title or f"_col.{place}"
    datatype = part.get("datatype", "string")
    base, format_ = (
        (datatype.get("base", "string"), datatype.get("format")) if isinstance(datatype, dict) else (datatype, None)
    )
    if base not in DATATYPES:
        raise fail(f"has the datatype {base!r} of column {name!r}; known are {', '.join(DATATYPES)}")
    null = part.get("null", "")
    types = part.get("worlds:type", ())
    language = part.get("lang")
    if language is not None:
        try:
            ox.Literal("", language=language)
        except (TypeError, ValueError) as error:
            raise fail(f"has {language!r} as the language of column {name!r}") from error
    for what in ("separator", "default"):
        if part.get(what) is not None and not isinstance(part[what], str):
            raise fail(f"has {part[what]!r} as {what} of column {name!r}, which is a text")
    return Column(
        str(name),
        None if title is None else str(title),
        iri(part["propertyUrl"], "propertyUrl") if part.get("propertyUrl") else None,
        iri(part["valueUrl"], "valueUrl") if part.get("valueUrl") else None,
        iri(part["aboutUrl"], "aboutUrl") if part.get("aboutUrl") else None,
        XSD + DATATYPES[base],
        format_,
        language if language != "und" else None,
        part.get("separator") or None,
        tuple(null) if isinstance(null, list) else (str(null),),
        part.get("default", ""),
        bool(part.get("required")),
        bool(part.get("suppressOutput")),
        bool(part.get("virtual")),
        tuple(iri(one, "worlds:type") for one in ([types] if isinstance(types, str) else types)),
        part.get("worlds:unit"),
    )  # fmt: skip


def _dialect(told: object, fail: Any) -> Dialect | None:
    if told is None:
        return None
    if not isinstance(told, dict):
        raise fail(f"has {told!r} as dialect")
    names = {
        "delimiter": "delimiter",
        "quoteChar": "quote",
        "encoding": "encoding",
        "header": "header",
        "skipRows": "skip",
    }
    if strange := sorted(told.keys() - names.keys() - {"@type"}):
        raise fail(f"has {strange[0]!r} in the dialect; known are {', '.join(names)}")
    if len(told.get("delimiter", ",")) != 1:
        raise fail(f"has the delimiter {told['delimiter']!r}, which is one character")
    return Dialect(**{names[key]: value for key, value in told.items() if key in names})


def filled(template: str, values: Mapping[str, str]) -> str:
    """A template with percent-encoded values in the places of names (RFC 6570, level 1)."""
    from urllib.parse import quote

    return _template.sub(lambda match: quote(values.get(match[1], ""), safe=""), template)


def required_names(template: str) -> list[str]:
    """The names in a template."""
    return _template.findall(template)


TYPE = RDF + "type"
