"""Proposes the mapping of a table from its names and its first rows, by what the world has already."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

from worlds.errors import ParseError
from worlds.extras.sources.tables.mapping import CONTEXT, HASH, TYPE
from worlds.extras.sources.tables.quads import strptime_of
from worlds.extras.sources.tables.rows import Cell, Table
from worlds.graph.cells import is_escaped, is_formula

_ROWS = 10_000  # that are looked at
_SHARE = 0.98  # of the values, that a datatype has to fit
_LINKED = 0.8  # of the distinct values, that have to name entities
_PLACELESS = 0.3  # of the parts of names at most, that stand in both places: "Paul, Jean" beside "Jean, Paul"
_LONG = 60  # characters of a list's part at most, on average
_split = str.split
_KEYS = _split("id key identifier iri uri url isbn doi uuid guid code nr no number name label title")
_IDS = set(_split("id key identifier iri uri isbn doi uuid guid"))
_NAMES = set(_split("no number name label title")) | {""}
_NULLS = {
    *_split("null n/a na n.a. n/k k.a. - -- – — none nil nan ? #n/a #na <na> (null) <null> \\n"),
    *_split("#null! #ref! #value! #div/0! #num! #name? unknown unbekannt missing undefined -- ---"),
    *("#n/a n/a", "n. a.", "k. a.", "not available", "not applicable", "not known", "keine angabe", ""),
}
_SUFFIXES = set(_split("jr jr. sr sr. ii iii iv md m.d. phd ph.d."))  # of a name, after another comma
_LABELS = _split("name label title bezeichnung titel nom nombre")
_UNITS = {
    *_split("kg g mg t lb m km cm mm ft in mi s ms min h d a l ml k °c °f c % eur usd gbp chf € $ £ m² km² m2 km2 ha"),
    *_split("m³ m3 v w kw kwh mw gw hz khz mhz ghz pa hpa bar n j kj mb gb tb px dpi m/s km/h mph"),
    *_split("years days hours minutes seconds jahre tage"),
}
_SHORT_UNITS = _split("kg km cm mm eur usd gbp chf m2 km2 kwh")
_WORDS = set(_split("a d h n t c in min"))  # units that are words as well
_part_of_name = re.compile(r"(?i)(?:first|last|given|family|middle|fore|sur|nick|vor|nach)[\W_]*name|prénom$").match
_LANGUAGES = {
    *_split("en de fr es it pt nl pl ru zh ja ko ar he sv da fi no nb cs hu tr el uk ro bg hr sk sl lt lv et ga ca eu"),
    *_split("hi fa"),
}
_NOT_TAGS = set(_split("no it he el"))  # that end the names of columns
_SPELT = dict(zip(_split("english german deutsch french spanish italian"), _split("en de de fr es it"), strict=True))
_DATES = (
    *_split("yyyy-MM-dd dd.MM.yyyy dd/MM/yyyy MM/dd/yyyy yyyy/MM/dd d.M.yyyy d/M/yyyy M/d/yyyy yyyyMMdd"),
    *_split("dd-MM-yyyy MM-dd-yyyy"),
    *("d MMMM yyyy", "d MMM yyyy", "MMM d yyyy", "MMM d, yyyy", "MMMM d, yyyy"),
)
_TIMES = (
    *("yyyy-MM-ddTHH:mm:ss", "yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd HH:mm", "dd.MM.yyyy HH:mm", "yyyy/MM/dd HH:mm:ss"),
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
_untitled = re.compile(r"_col\.\d+|Unnamed: \d+").fullmatch
_year = re.compile(r"(?:1[0-9]|20)\d\d").fullmatch
_YEARS = "year|jahr|année|año|anno|founded|gegründet|since|born|died|published"
_years = re.compile(rf"(?:^|[_\W])(?:{_YEARS})", re.IGNORECASE).search


@dataclass(frozen=True, slots=True)
class Known:
    """The terms of a world: predicates by their names, entities by theirs, and the class of a table's rows, if any."""

    predicates: Mapping[str, str]  # folded local name or label → IRI
    entities: Callable[[Sequence[str]], Mapping[str, tuple[str, tuple[str, ...]]]]
    """Gives of names, or of IRIs, those that mean one entity for sure: its IRI and its classes."""
    kind: str | None = None


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
    read = [_values(row[place] if place < len(row) else None for row in rows) for place in range(len(table.names))]
    columns = [values for values, _ in read]
    stem = _word(path.stem)
    key = _key(table.names, columns, len(rows), path.stem)
    names, properties = {"type"}, {(TYPE, "")}
    told = []
    for place, (title, (values, nulls)) in enumerate(zip(table.names, read, strict=True)):
        name = _new(_word(_read(title)[0]) or "column", names)
        column = _described(title, name, values, known, base, others or {}, is_key=place == key)
        if (column["propertyUrl"], column.get("lang", "")) in properties:  # of a title that is nearly the same
            column["propertyUrl"] = base + _new(name, {iri.removeprefix(base) for iri, _ in properties})
        properties.add((column["propertyUrl"], column.get("lang", "")))
        told.append({**column, "null": ["", *nulls]} if nulls else column)
    if key is None:
        about = f"{base}{stem}/{{{HASH}}}"
    elif all(map(_iri, columns[key])):
        about = f"{{{told[key]['name']}}}"
        told[key] = {"name": told[key]["name"], "titles": table.names[key], "suppressOutput": True}
    else:
        about = f"{base}{stem}/{{{told[key]['name']}}}"
    kind = {
        "virtual": True,
        "name": "type",
        "propertyUrl": TYPE,
        "valueUrl": known.kind or f"{base}{class_name(path.stem)}",
    }
    schema: dict[str, Any] = {"aboutUrl": about, "columns": [*told, kind]}
    if key is not None:
        schema["primaryKey"] = told[key]["name"]
    found: dict[str, Any] = {"@context": CONTEXT, "url": path.name}
    if table.dialect is not None:
        found["dialect"] = {"delimiter": table.dialect.delimiter, "encoding": table.dialect.encoding}
        texts = [cell for row in rows for cell in row if isinstance(cell, str)]
        if any(map(is_escaped, texts)) and not any(map(is_formula, texts)):
            found["dialect"]["worlds:escaped"] = True
    return {**found, "tableSchema": schema}


def _new(name: str, taken: set[str]) -> str:
    """A name that is not taken, which takes it."""
    found = next(one for number in count(1) if (one := name if number == 1 else f"{name}{number}") not in taken)
    taken.add(found)
    return found


def _values(cells: Iterable[Cell]) -> tuple[list[str], list[str]]:
    """The non-empty texts of a column, of lists one by one; and the texts that stand for no value."""
    texts = [one for cell in cells for one in (cell if isinstance(cell, list) else [cell or ""])]
    nulls = list(dict.fromkeys(one for one in texts if one and one.strip().lower() in _NULLS))
    values = [text for one in texts if (text := one.strip()) and text.lower() not in _NULLS]
    codes = [one for one in values if len(one) == 2 and one.isupper()]
    if "NA" in nulls and len(codes) > len(values) / 2:  # Namibia's code among others
        nulls.remove("NA")
        values = [text for one in texts if (text := one.strip()) and (text == "NA" or text.lower() not in _NULLS)]
    return values, nulls


def _key(names: Sequence[str], columns: Sequence[Sequence[str]], rows: int, stem: str) -> int | None:
    """The column whose values, all there, name the rows: an identifier by its name, else the first, if they differ.

    What is called an identifier of these rows is their key although some of its values stand again.
    """
    ranked: list[tuple[int, int, int]] = []
    for place, values in enumerate(columns):
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", names[place]).lower()
        *before, last = [word for word in re.split(r"[\W_]+", name) if word] or [""]
        if not (len(values) == rows > 0 and max(map(len, values)) <= 200) or _part_of_name(names[place]):
            continue
        rank, share = _KEYS.index(last) if last in _KEYS else len(_KEYS), len(set(values)) / rows
        own = last in _IDS and (place == 0 or folded("".join(before)) in folded(stem))
        if share > 0.5 and last in _IDS and not before:
            ranked.append((0, rank, place))
        elif share == 1 and place == 0 and not _only_counts(names[0], values):
            ranked.append((0, min(rank, len(_IDS)), place))  # before columns that are called otherwise
        elif share == 1 and last in _KEYS:
            ranked.append((0 if last not in _NAMES else 2, rank, place))
        elif share >= 0.9 and own:
            ranked.append((1, rank, place))
    return min(ranked)[2] if ranked else None


def _only_counts(title: str, values: Sequence[str]) -> bool:
    """Whether the first column only counts the rows, as an index does: another row above changes it."""
    if not all(map(_integer, values)):
        return False
    found, first = list(map(int, values)), int(values[0])
    return _untitled(title) is not None or (first in (0, 1) and found == list(range(first, first + len(found))))


def _described(
    title: str,
    word: str,
    values: Sequence[str],
    known: Known,
    base: str,
    others: Mapping[str, tuple[str, frozenset[str]]],
    *,
    is_key: bool,
) -> dict[str, Any]:
    """A column as CSVW describes it; `word` is its name in templates."""
    name, unit, language = _read(title)
    column: dict[str, Any] = {"name": word, "titles": title}
    distinct = list(dict.fromkeys(values))
    column["propertyUrl"] = known.predicates.get(folded(name)) or f"{base}{_word(name) or 'column'}"
    if folded(name) in _LABELS and folded(name) not in known.predicates:
        column["propertyUrl"] = "http://www.w3.org/2000/01/rdf-schema#label"
    separator = None if is_key else _separator(distinct, named=folded(name) in _LABELS)
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
    if not (is_key or folded(name) in _LABELS) and (link := _link(name, word, distinct, known, others)):
        return {**column, **link}
    datatype = _datatype(title, distinct)
    if isinstance(datatype, dict) and "worlds:note" in datatype:
        return {**column, **datatype}
    return {**column, "datatype": datatype} if datatype is not None else column


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


def _separator(values: Sequence[str], *, named: bool) -> str | None:
    """The mark between the items of a column's distinct cells: short items, in a fifth of the cells at least.

    A comma parts no cells of a column that is `named` a name.
    """
    if any(map(_iri, values[:20])) and not any(mark in value for value in values for mark in ("|", "; ", " ;")):
        return None
    for mark in ("|", ";", ","):
        having = [value for value in values if mark in value]
        parts = [part.strip() for value in having for part in value.split(mark)]
        if len(having) < max(0.2 * len(values), 1) or not all(parts) or sum(map(len, parts)) > _LONG / 2 * len(parts):
            continue
        if mark == ",":
            if named or all(re.fullmatch(r"[+-]?[\d.,\s]+", value) for value in having):
                continue  # numbers
            single = {value.strip() for value in values if mark not in value}
            again = sum(times > 1 or part in single for part, times in Counter(parts).items())
            if again < 0.3 * len(set(parts)) or _is_record(having, mark, single):  # "Last, First", an address
                continue
        return mark
    return None


def _is_record(having: Sequence[str], mark: str, single: set[str]) -> bool:
    """Whether cells have as many parts each, and nearly each part its place: a name in two parts, no list."""
    split = [[part.strip() for part in value.split(mark)] for value in having]
    split = [parts[:-1] if len(parts) > 2 and parts[-1].lower() in _SUFFIXES else parts for parts in split]
    places = [set(place) for place in zip(*split, strict=False)]
    every = set().union(*places)
    apart = sum(map(len, places)) - len(every) <= _PLACELESS * len(every)
    return len(set(map(len, split))) == 1 and apart and not single & every


def _link(
    name: str, word: str, distinct: Sequence[str], known: Known, others: Mapping[str, tuple[str, frozenset[str]]]
) -> dict[str, Any] | None:
    """How the cells of a column name entities: IRIs, keys of another table, or names of what the world has."""
    if all(map(_iri, distinct)):
        linked = len(known.entities(distinct[:200])) >= _LINKED * len(distinct[:200])
        return {"valueUrl": f"{{{word}}}"} if linked else {"datatype": "anyURI"}
    numbers = all(re.fullmatch(r"[+-]?[\d.,]+", value) for value in distinct)
    fits = [
        (table, template)
        for table, (template, keys) in others.items()
        if sum(value in keys for value in distinct) >= _SHARE * len(distinct)
        and (not numbers or re.search(r"(?i)(?:id|ref|key|code)$", name))  # else a number is no key
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
        often = Counter(one for _, types in found.values() for one in types)
        best_types = [one for one, count in often.items() if count >= _LINKED * len(found)]
        return {"worlds:type": best_types[:1]} if best_types else None
    return None


def _datatype(title: str, distinct: Sequence[str]) -> Any:
    """A datatype with its format that nearly all values have; None for texts, or a note that tells why they are."""

    def most(test: Callable[[str], object]) -> bool:
        return sum(bool(test(value)) for value in distinct) >= _SHARE * len(distinct)

    if most(_year) and _years(title):
        return "gYear"
    if most(_integer) and not any(map(_decimal, distinct)):
        return "integer"
    for form in _BOOLEANS:
        known = len(distinct) == 2 or (len(distinct) == 1 and len(form) > len("Y|N"))  # a letter alone decides nothing
        if known and all(value in form.split("|") for value in distinct):
            return "boolean" if form == "true|false" else {"base": "boolean", "format": form}
    for form in (*_DATES, *_TIMES):
        if most(partial(_dated, form=form)):
            decided = _decided(distinct, form)
            if decided is None:
                continue
            kind = "date" if form in _DATES else "dateTime"
            plain = form in ("yyyy-MM-dd", "yyyy-MM-ddTHH:mm:ss")
            return decided or (kind if plain else {"base": kind, "format": form})
    if most(re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?").fullmatch):
        return "dateTime"
    if most(re.compile(r"\d\d:\d\d:\d\d").fullmatch):
        return "time"
    if most(lambda value: bool(_integer(value) or _decimal(value))):
        return "double" if any("e" in value.lower() for value in distinct) else "decimal"
    if most(lambda value: bool(_integer(value) or _english(value))):
        return {"base": "decimal" if any("." in value for value in distinct) else "integer", "format": "#,##0.##"}
    if most(_german) and any("," in value for value in distinct):
        return {"base": "decimal", "format": "#.##0,##"}
    if most(lambda value: bool(_integer(value) or _dotted(value))) and any(value.count(".") > 1 for value in distinct):
        return {"base": "integer", "format": "#.##0"}
    return "anyURI" if most(_iri) else None


def _decided(distinct: Sequence[str], form: str) -> dict[str, str] | None:
    """Whether this order of day and month is meant: nothing if so, a note if none is sure, None if it is the other."""
    other = form.translate({ord("d"): "M", ord("M"): "d"})
    if other == form or other not in _DATES:
        return {}
    one, two = (partial(_dated, form=each) for each in (form, other))
    dates = [value for value in distinct if one(value) or two(value)]
    if all(map(one, dates)) != all(map(two, dates)):
        return {} if all(map(one, dates)) else None
    both = next((value for value in dates if one(value) and two(value)), dates[0])
    told = f"{both} can be read as {form} and as {other}, and no other value decides it"
    return {"worlds:note": f"{told}: they stay texts until the mapping says the format"}


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
    word = "".join(part[0].upper() + part[1:] if at else part for at, part in enumerate(parts))
    return word[:1].lower() + word[1:]


def class_name(stem: str) -> str:
    """The name of a class for the rows of a file: "people" stays, "cities" is City."""
    word = _word(stem)
    if word.endswith("ies"):
        word = word[:-3] + "y"
    elif len(word) > 1 and word.endswith("s") and not word.endswith(("ss", "is", "us")):
        word = word[:-1]
    return word[:1].upper() + word[1:]
