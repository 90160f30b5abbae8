"""Proposes the mapping of a table from its names and its first rows, by what the world has already."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from worlds.errors import ParseError
from worlds.sources.tables.mapping import CONTEXT, TYPE
from worlds.sources.tables.quads import strptime_of
from worlds.sources.tables.reading import Cell, Table, sniffed

_ROWS = 10_000  # that are looked at
_SHARE = 0.98  # of the values, that a datatype has to fit
_LINKED = 0.8  # of the distinct values, that have to name entities
_LONG = 60  # characters of a list's part at most, on average
_split = str.split
_KEYS = _split("id key code identifier iri uri url isbn doi nr no number name label title")
_LABELS = _split("name label title bezeichnung titel nom nombre")
_UNITS = {
    *_split(
        "kg g mg t lb m km cm mm ft in mi s ms min h d a l ml k °c °f c % eur usd gbp chf € $ £ m² km² m2 km2 ha m³"
    ),
    *_split(
        "m3 v w kw kwh mw gw hz khz mhz ghz pa hpa bar n j kj mb gb tb px dpi m/s km/h mph years days hours minutes"
    ),
    *_split("hours minutes seconds jahre tage"),
}
_SHORT_UNITS = _split("kg km cm mm eur usd gbp chf m2 km2 kwh")
_WORDS = set(_split("a d h n t c in min"))  # units that are words as well
_part_of_name = re.compile(r"(?i)(?:first|last|given|family|middle|fore|sur|nick|vor|nach)[\W_]*name|prénom$").match
_LANGUAGES = set(
    _split(
        "en de fr es it pt nl pl ru zh ja ko ar he sv da fi no nb cs hu tr el uk ro bg hr sk sl lt lv et ga ca eu hi fa"
    )
)
_NOT_TAGS = set(_split("no it he el"))  # that end the names of columns
_SPELT = dict(zip(_split("english german deutsch french spanish italian"), _split("en de de fr es it"), strict=True))
_DATES = (
    *_split("yyyy-MM-dd dd.MM.yyyy dd/MM/yyyy MM/dd/yyyy yyyy/MM/dd d.M.yyyy d/M/yyyy M/d/yyyy yyyyMMdd dd-MM-yyyy"),
    "d MMMM yyyy",
    "d MMM yyyy",
    "MMM d yyyy",
    "MMM d, yyyy",
    "MMMM d, yyyy",
)
_TIMES = (
    "yyyy-MM-ddTHH:mm:ss",
    "yyyy-MM-dd HH:mm:ss",
    "yyyy-MM-dd HH:mm",
    "dd.MM.yyyy HH:mm",
    "yyyy/MM/dd HH:mm:ss",
    "yyyy/MM/dd HH:mm",
)
_BOOLEANS = _split("true|false yes|no Yes|No TRUE|FALSE True|False Y|N y|n ja|nein Ja|Nein oui|non YES|NO")
_brackets = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]\s*$").search
_tagged = re.compile(r"^(.*?)[\s_@.-]+([A-Za-z]{2}(?:-[A-Z]{2})?)$").match
_iri = re.compile(r"(?:https?|urn|ftp):\S+").fullmatch
_integer = re.compile(r"[+-]?(?:0|[1-9]\d*)").fullmatch
_decimal = re.compile(r"[+-]?(?:0|[1-9]\d*)\.\d+(?:[eE][+-]?\d+)?").fullmatch
_english = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?").fullmatch
_german = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+)(?:,\d+)?").fullmatch
_dotted = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+").fullmatch
_year = re.compile(r"(?:1[0-9]|20)\d\d").fullmatch
_YEARS = "year|jahr|année|año|anno|founded|gegründet|since|born|died|published"
_years = re.compile(rf"(?:^|[_\W])(?:{_YEARS})", re.IGNORECASE).search


@dataclass(frozen=True, slots=True)
class Known:
    """What a world has: predicates by their names, and entities by theirs."""

    predicates: Mapping[str, str]  # folded local name or label → IRI
    entities: Callable[[Sequence[str]], Mapping[str, tuple[str, tuple[str, ...]]]]
    """Gives of names, or of IRIs, those that mean one entity for sure: its IRI and its classes."""


def folded(name: str) -> str:
    """A name without case, accents, separators, and "has" before it."""
    plain = "".join(one for one in unicodedata.normalize("NFKD", name) if not unicodedata.combining(one)).lower()
    plain = re.sub(r"[^a-z0-9]+", "", plain)
    return plain[3:] if plain.startswith("has") and len(plain) > 5 else plain


def propose(
    path: Path, known: Known, base: str, others: Mapping[str, tuple[str, frozenset[str]]] | None = None
) -> dict[str, Any]:
    """The mapping of a table as CSVW metadata; `base` is what new IRIs begin with.

    `others` are the keys of tables that belong to it: name of a table → (template of its IRIs, the keys).
    """
    table = Table(path)
    if not table.names:
        raise ParseError("the table is empty", source=str(path))
    rows = [row for _, row in islice(table, _ROWS) if any(row)]
    columns = [_values(row[place] if place < len(row) else None for row in rows) for place in range(len(table.names))]
    stem = _word(path.stem)
    key = _key(table.names, columns, len(rows))
    told = [
        _described(name, values, known, base, others or {}, is_key=place == key)
        for place, (name, values) in enumerate(zip(table.names, columns, strict=True))
    ]
    taken: dict[str, int] = {}
    for column in told:
        taken[column["name"]] = taken.get(column["name"], 0) + 1
        if taken[column["name"]] > 1:
            column["name"] += str(taken[column["name"]])
    if key is None:
        about = f"{base}{stem}/{{_row}}"
    elif all(map(_iri, columns[key])):
        about = f"{{{told[key]['name']}}}"
        told[key] = {"name": told[key]["name"], "titles": table.names[key], "suppressOutput": True}
    else:
        about = f"{base}{stem}/{{{told[key]['name']}}}"
    kind = {"virtual": True, "name": "type", "propertyUrl": TYPE, "valueUrl": f"{base}{_class(path.stem)}"}
    schema: dict[str, Any] = {"aboutUrl": about, "columns": [*told, kind]}
    if key is not None:
        schema["primaryKey"] = told[key]["name"]
    found: dict[str, Any] = {"@context": CONTEXT, "url": path.name}
    if path.suffix.lower() in (".csv", ".tsv"):
        with path.open("rb") as stream:
            dialect = sniffed(stream.read(1 << 16), "\t" if path.suffix.lower() == ".tsv" else None)
        found["dialect"] = {"delimiter": dialect.delimiter, "encoding": dialect.encoding}
    return {**found, "tableSchema": schema}


def _values(cells: Iterable[Cell]) -> list[str]:
    """The texts of a column that are not empty; those of lists one by one."""
    found: list[str] = []
    for cell in cells:
        found += [one.strip() for one in cell] if isinstance(cell, list) else [(cell or "").strip()]
    return [value for value in found if value and value.lower() not in ("null", "n/a", "na", "-", "none")]


def _key(names: Sequence[str], columns: Sequence[Sequence[str]], rows: int) -> int | None:
    """The column whose values name the rows: all there, all different; by its name, else the first such."""
    unique = [
        place
        for place, values in enumerate(columns)
        if len(values) == rows > 0
        and len(set(values)) == rows
        and max(map(len, values)) <= 200
        and not _part_of_name(names[place])
    ]

    def rank(place: int) -> tuple[int, int]:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", names[place]).lower()
        last = re.split(r"[\W_]+", name.strip("_"))[-1:] or [""]
        return (_KEYS.index(last[0]) if last[0] in _KEYS else len(_KEYS), place)

    best = min(unique, key=rank, default=None)
    if best is None or (rank(best)[0] == len(_KEYS) and best != 0):
        return None
    return best


def _described(
    title: str,
    values: Sequence[str],
    known: Known,
    base: str,
    others: Mapping[str, tuple[str, frozenset[str]]],
    *,
    is_key: bool,
) -> dict[str, Any]:
    """A column as CSVW describes it."""
    name, unit, language = _read(title)
    column: dict[str, Any] = {"name": _word(name) or "column", "titles": title}
    distinct = list(dict.fromkeys(values))
    column["propertyUrl"] = known.predicates.get(folded(name)) or f"{base}{_word(name) or 'column'}"
    if folded(name) in _LABELS and folded(name) not in known.predicates:
        column["propertyUrl"] = "http://www.w3.org/2000/01/rdf-schema#label"
    separator = None if is_key else _separator(values)
    if separator is not None:
        column["separator"] = separator
        distinct = list(
            dict.fromkeys(part.strip() for value in values for part in value.split(separator) if part.strip())
        )
    if unit is not None:
        column["worlds:unit"] = unit
    if language is not None:
        return {**column, "lang": language}
    if not distinct:
        return column
    if not (is_key or folded(name) in _LABELS) and (link := _link(name, distinct, known, others)):
        return {**column, **link}
    datatype = _datatype(title, distinct)
    if datatype is not None:
        column["datatype"] = datatype
    return column


def _read(title: str) -> tuple[str, str | None, str | None]:
    """The name of a column, its unit and its language, as its title has them."""
    name, unit, language = title.strip(), None, None
    if match := _brackets(name):
        inner = match[1].strip()
        if inner.lower() in _LANGUAGES or inner.lower() in _SPELT:
            language = _SPELT.get(inner.lower(), inner.lower())
            name = name[: match.start()]
        elif inner.lower() in _UNITS or not inner.isalpha():
            unit, name = inner, name[: match.start()]
    elif match := _tagged(name):
        tail = match[2]
        if "@" in name or ((tail.split("-")[0].lower() in _LANGUAGES - _NOT_TAGS) and match[1]):
            language, name = tail, match[1]
    words = re.split(r"[_\s]+", name)
    if unit is None and language is None and len(words) > 1:
        last = words[-1].lower()
        if last in _SHORT_UNITS or (last in _UNITS - _WORDS and "_" in name):
            unit, name = words[-1], " ".join(words[:-1])
    return name.strip(" _"), unit, language


def _separator(values: Sequence[str]) -> str | None:
    """What parts the lists of a column's cells: short parts, in a fifth of the cells at least."""
    if any(map(_iri, values[:20])) and not any(mark in value for value in values for mark in ("|", "; ", " ;")):
        return None
    for mark in ("|", ";", ","):
        having = [value for value in values if mark in value]
        parts = [part.strip() for value in having for part in value.split(mark)]
        if len(having) < max(0.2 * len(values), 1) or not all(parts) or sum(map(len, parts)) > _LONG / 2 * len(parts):
            continue
        if mark == ",":
            if all(re.fullmatch(r"[+-]?[\d.,\s]+", value) for value in having):
                continue  # numbers
            single = {value.strip() for value in values if mark not in value} | set()
            again = sum(parts.count(part) > 1 or part in single for part in set(parts))
            if again < 0.3 * len(set(parts)):  # "Last, First", an address
                continue
        return mark
    return None


def _link(
    name: str, distinct: Sequence[str], known: Known, others: Mapping[str, tuple[str, frozenset[str]]]
) -> dict[str, Any] | None:
    """How the cells of a column name entities: IRIs, keys of another table, or names of what the world has."""
    word = _word(name) or "column"
    if all(map(_iri, distinct)):
        found = known.entities(distinct[:200])
        if len(found) >= _LINKED * len(distinct[:200]):
            return {"valueUrl": f"{{{word}}}"}
        return {"datatype": "anyURI"}
    if all(re.fullmatch(r"[+-]?[\d.,]+", value) for value in distinct) and not re.search(
        r"(?i)(?:id|ref|key|code)$", name
    ):
        fits = []  # a number is a key only where its column is called so
    else:
        fits = [
            (table, template)
            for table, (template, keys) in others.items()
            if sum(value in keys for value in distinct) >= _SHARE * len(distinct)
        ]
    if fits:
        stem = folded(re.sub(r"(?i)[_\s]*(?:id|key|code|ref)$", "", name))
        best = next((one for one in fits if folded(one[0]).rstrip("s").startswith(stem.rstrip("s")) and stem), fits[0])
        return {"valueUrl": best[1].replace("{key}", f"{{{word}}}")}
    named = [value for value in distinct[:200] if not re.fullmatch(r"[\W\d_]+", value)]
    if len(named) < _LINKED * len(distinct[:200]) or max(map(len, named), default=0) > 200:
        return None
    found = known.entities(named)
    if named and len(found) >= _LINKED * len(named):
        often: dict[str, int] = {}
        for _, types in found.values():
            for one in types:
                often[one] = often.get(one, 0) + 1
        best_types = [one for one, count in often.items() if count >= _LINKED * len(found)]
        return {"worlds:type": best_types[:1]} if best_types else None
    return None


def _datatype(title: str, distinct: Sequence[str]) -> Any:
    """A datatype with its format that nearly all values have; None for texts."""

    def most(test: Callable[[str], object]) -> bool:
        return sum(bool(test(value)) for value in distinct) >= _SHARE * len(distinct)

    if most(_year) and _years(title):
        return "gYear"
    if most(_integer) and not any(map(_decimal, distinct)):
        return "integer"
    for form in _BOOLEANS:
        if len(distinct) <= 2 and all(value in form.split("|") for value in distinct):
            return "boolean" if form == "true|false" else {"base": "boolean", "format": form}
    for form in (*_DATES, *_TIMES):
        if most(partial(_dated, form=form)):
            kind = "date" if form in _DATES else "dateTime"
            plain = form in ("yyyy-MM-dd", "yyyy-MM-ddTHH:mm:ss")
            return kind if plain else {"base": kind, "format": form}
    if most(re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?").fullmatch):
        return "dateTime"
    if most(re.compile(r"\d\d:\d\d:\d\d").fullmatch):
        return "time"
    if most(lambda value: bool(_integer(value) or _decimal(value))):
        exponents = any("e" in value.lower() for value in distinct)
        return "double" if exponents else "decimal"
    if most(lambda value: bool(_integer(value) or _english(value))):
        return {"base": "decimal" if any("." in value for value in distinct) else "integer", "format": "#,##0.##"}
    if most(_german) and any("," in value for value in distinct):
        return {"base": "decimal", "format": "#.##0,##"}
    if most(lambda value: bool(_integer(value) or _dotted(value))) and any(value.count(".") > 1 for value in distinct):
        return {"base": "integer", "format": "#.##0"}
    return "anyURI" if most(_iri) else None


def _dated(value: str, form: str) -> bool:
    """Whether a date is written so; where two digits are asked for, there have to be two."""
    try:
        datetime.datetime.strptime(value, strptime_of(form))
    except ValueError:
        return False
    return "MMM" in form or form.startswith(("d.", "d/", "M/")) or len(value) == len(form)


def _word(name: str) -> str:
    """A name as the last part of an IRI: camelCase."""
    parts = [part for part in re.split(r"[^\w]+|_+", name) if part]
    return "".join(
        [part[0].lower() + part[1:] if at == 0 else part[0].upper() + part[1:] for at, part in enumerate(parts)]
    )


def _class(stem: str) -> str:
    """The name of a class for the rows of a file: "people" stays, "cities" is City."""
    word = _word(stem)
    word = (
        word[:-3] + "y"
        if word.endswith("ies")
        else word[:-1]
        if word.endswith("s") and not word.endswith(("ss", "is", "us"))
        else word
    )
    return word[:1].upper() + word[1:]
