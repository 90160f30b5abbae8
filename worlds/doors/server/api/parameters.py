"""The parameters of a request: read from its address or its JSON body, and checked.

The parameters of a verb come from the table of the verbs, so that there are neither more nor fewer.
"""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import json
import math
import re
import time
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal

from starlette.requests import Request

from worlds.core.search.options import REQUIRED, Kind, Option
from worlds.doors.server.http.base import address_of, body_of, server_of
from worlds.doors.server.problem_documents import ClientGone, HttpProblem, UnsupportedType
from worlds.verbs import table
from worlds.verbs.table import VERBS

# Bytes of a JSON body: it is parsed whole, while nothing else runs. Without a key one asks, and needs less.
MOST_JSON, MOST_WITHOUT_KEY = 16 * 2**20, 2**20
_QUICK = 2**16  # bytes that are parsed in no time worth sharing
_DIGITS = 100  # of a whole number
_DEEPEST = 32  # objects and lists within each other; what is much deeper cannot be handed to a worker
MOST_VALUES = 1000
"""Texts of one list, such as `types`."""
TEXTS = {"type": "array", "items": {"type": "string"}, "maxItems": MOST_VALUES}
_KINDS = {"text": "string", "json": "object", "revision": ["string", "integer"]}
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
_EXPECTED: Mapping[Kind, str] = {
    "text": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "texts": "a text, or a list of texts",
    "json": "a JSON object",
    "numbers": "a list of numbers",
    "revision": "the number of a revision, a tag or a time",
}


@dataclass(frozen=True, slots=True)
class Parameter(Option):
    """An option as a request has it. `least` and `most` bound a number, or the length of a text or a list."""

    where: Literal["query", "path", "header"] = "query"
    schema: Mapping[str, Any] | None = None  # of a value of the kind "json"
    key: str = ""  # Python's name for it, where that is another

    @property
    def required(self) -> bool:
        """Whether a request has to give it."""
        return self.default is REQUIRED

    def expects(self) -> str:
        """The kind of value that a parameter takes, in words."""
        if self.schema is not None and self.kind == "json":
            return f"what its description says ({self.help})"
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        bounds = ""
        if self.kind in ("integer", "number") and self.least is not None:
            bounds = f" from {self.least:,}" + (" on" if self.most is None else f" to {self.most:,}")
        return _EXPECTED[self.kind] + bounds

    @property
    def json_schema(self) -> dict[str, Any]:
        """The JSON schema of its values."""
        if self.schema is not None:
            return dict(self.schema)
        if self.kind == "texts":
            return {"anyOf": [{"type": "string"}, TEXTS]}
        if self.kind == "numbers":
            return {"type": "array", "items": {"type": "number"}}
        shown: dict[str, Any] = {"type": _KINDS.get(self.kind, self.kind)}
        if self.choices:
            shown["enum"] = list(self.choices)
        if self.kind in ("integer", "number"):
            bounds = {"minimum": self.least, "maximum": self.most}
            shown |= {name: bound for name, bound in bounds.items() if bound is not None}
        elif self.kind == "text" and self.most is not None:
            shown["maxLength"] = self.most
        if isinstance(self.default, bool | float | int | str):
            shown["default"] = self.default
        return shown

    def check(self, value: Any) -> Any:
        """The value; Problem if it is not as the schema says, or is too long."""
        if isinstance(value, (str, list)) and self.most is not None and len(value) > self.most:
            raise HttpProblem(f"{self.name} is longer than {self.most:,}")
        own = [value] if self.kind == "texts" and self.schema is None else ()
        lists = value.values() if isinstance(value, dict) else own
        if any(isinstance(item, list) and len(item) > MOST_VALUES for item in lists):
            raise HttpProblem(f"{self.name} has more than {MOST_VALUES:,} values")
        if self.kind == "number" and _is_number(value):
            value = float(value)
        if not fits(value, self.json_schema):
            raise HttpProblem(f"{self.name} must be {self.expects()}, not {_shown(value)}")
        return [value] if self.kind == "texts" and isinstance(value, str) else value

    def parse(self, texts: Sequence[str]) -> Any:
        """The value that an address's parameter has; Problem if it is not of the kind."""
        if self.kind == "texts":
            return self.check(list(texts))
        if len(texts) > 1:
            raise HttpProblem(f"{self.name} is given {len(texts)} times; it takes one value")
        text = texts[0]
        value: Any = text
        try:
            if self.kind == "integer":
                value = int(text) if len(text) < 20 else text
            elif self.kind == "number":
                value = float(text)
            elif self.kind == "boolean":
                value = _BOOLEANS[text.lower()]
            elif self.kind in ("json", "numbers"):
                value = _loads(text)
        except (ValueError, KeyError, RecursionError):
            if self.kind != "json" or self.schema is None:  # else it may be a plain text
                raise HttpProblem(f"{self.name} must be {self.expects()}, not {_shown(text)}") from None
        return self.check(value)


_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether JSON is as a schema says, by the words of JSON Schema that the parameters use."""
    if forms := schema.get("oneOf", schema.get("anyOf")):
        return any(fits(value, one) for one in forms)
    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        kinds = [kind for name in names for kind in _TYPES[name]]
        if not isinstance(value, tuple(kinds)) or (isinstance(value, bool) and bool not in kinds):
            return False
    if isinstance(value, list):
        few, items = len(value) < schema.get("minItems", 0), schema.get("items", {})
        return not few and len(value) <= schema.get("maxItems", len(value)) and all(fits(one, items) for one in value)
    if isinstance(value, dict):
        known, more = schema.get("properties", {}), schema.get("additionalProperties", {})
        strange = more is False and not value.keys() <= known.keys()
        there = value.keys() >= set(schema.get("required", ())) and not strange
        return there and all(fits(part, known.get(name, {})) for name, part in value.items())
    if isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        return False
    return value in schema.get("enum", (value,)) and not (isinstance(value, float) and not math.isfinite(value))


def read_query(request: Request, parameters: Iterable[Parameter]) -> dict[str, Any]:
    """The values in the address; Problem for a parameter that is unknown, missing, or has a wrong value."""
    known = {parameter.name: parameter for parameter in parameters if parameter.where == "query"}
    given: dict[str, list[str]] = {}
    for name, value in address_of(request):
        given.setdefault(name, []).append(value)
    refuse_unknown(given, known)
    values = {name: known[name].parse(texts) for name, texts in given.items()}
    _require(values, known)
    return values


async def read_json(
    request: Request, parameters: Iterable[Parameter], *, optional: bool = False, most: int = MOST_JSON
) -> dict[str, Any]:
    """The values in a JSON body; errors as `read_query`, UnsupportedType for another body, TooLarge beyond `most`."""
    known = {parameter.name: parameter for parameter in parameters}
    larger = "with a key it may be larger" if most < MOST_JSON else "graphs take more"
    body = await body_of(request, most, f"a JSON body may have {most:,} bytes; {larger}")
    if not body and optional:
        return {}
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise UnsupportedType(f"the body is JSON, with the Content-Type application/json, not {media_type or 'none'!r}")
    async with _turn(request, len(body)):
        try:
            text = body.decode("utf-8")
        except UnicodeDecodeError as error:
            raise HttpProblem(f"the body is not UTF-8: {error.reason} at byte {error.start}") from error
        document = document_of(text, "the body")
        if not isinstance(document, dict):
            raise HttpProblem(f"the body must be a JSON object, not {_shown(document)}")
        given = {name: value for name, value in document.items() if value is not None}
        refuse_unknown(given, known)
        values = {name: known[name].check(value) for name, value in given.items()}
        _require(values, known)
        return values


def document_of(text: str, what: str) -> Any:
    """The JSON document in a text, which errors call `what`; HttpProblem for other text."""
    try:
        return _loads(text)
    except json.JSONDecodeError as error:
        raise HttpProblem(f"{what} is not JSON: {error}") from error
    except RecursionError as error:
        raise HttpProblem(f"{what} is nested too deeply") from error
    except ValueError as error:
        raise HttpProblem(f"{what} is not JSON that this server can read: {error}") from error


@contextlib.asynccontextmanager
async def _turn(request: Request, size: int) -> AsyncIterator[None]:
    """Large documents are read one at a time, with a pause of three times as long, in which others run."""
    if size < _QUICK:
        yield
        return
    turn, began = server_of(request).limits.parsing, 0.0
    await turn.acquire()
    try:
        if await request.is_disconnected():
            raise ClientGone
        began = time.monotonic()
        yield
    finally:
        asyncio.get_running_loop().call_later(3 * (time.monotonic() - began) if began else 0, turn.release)


_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def _loads(text: str) -> Any:
    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is not a number in JSON")

    def whole(digits: str) -> int:
        if len(digits) > _DIGITS:
            raise ValueError(f"a number of more than {_DIGITS} digits")
        return int(digits)

    document = json.loads(text, parse_constant=refuse, parse_int=whole)
    if text.count("[") + text.count("{") > _DEEPEST and not _is_flat(text):
        _check_depth(document)
    return document


def _is_flat(text: str) -> bool:
    """Whether a JSON text is surely not nested too deeply; a fifth of the time that looking at its values takes."""
    brackets = _STRING.sub("", text).encode().translate(None, _NO_BRACKETS)
    for _ in range(_DEEPEST // 2):  # each takes away one level, or two
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if not brackets:
            return True
    return False


def _check_depth(document: object) -> None:
    """RecursionError for a document that is nested more deeply than any request needs."""
    level = [document]
    for _ in range(_DEEPEST):
        inner = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        if not inner:
            return
        level = [item for items in inner for item in items]
    raise RecursionError(f"nested more than {_DEEPEST} deep")


def refuse_unknown(given: Iterable[str], known: Collection[str]) -> None:
    """Problem for a parameter that is not known, with the nearest one that is."""
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name[:100], known, 1, 0.5)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known) or 'none'}"
            raise HttpProblem(f"there is no parameter {_shown(name)}{hint}")


def _require(values: dict[str, Any], known: Mapping[str, Parameter]) -> None:
    if "entailed" in known:
        values.setdefault("entailed", None)  # the world's policy says
    for name, parameter in known.items():
        if parameter.required and name not in values:
            raise HttpProblem(f"the parameter {name!r} is missing: {parameter.help}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


# --- the parameters of a verb ---------------------------------------------------------------------------------------

_OBJECT = {"type": "object"}
_QUADS = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
_NQUADS = {"kind": "texts", "schema": _QUADS, "also": "N-Quads, as a text or a list of texts."}
_ELSEWISE: Mapping[str, Mapping[str, Any]] = {
    "boost": {
        "schema": {
            "oneOf": [{"type": "string"}, _OBJECT, {"type": "array", "items": {"oneOf": [{"type": "string"}, _OBJECT]}}]
        }
    },
    # A model's name or path would let a client load files of the server.
    "rerank": {"kind": "boolean", "help": "Rerank the first hits by the server's cross-encoder."},
    "rerank_timeout": {"most": 3600},
    "cursor": {"most": 65_536},  # characters; a cursor is compressed, so a long one could be very large
    "add": _NQUADS,
    "remove": _NQUADS,
    "relies_on": _NQUADS,
    "facts": {
        "most": 1000,
        "schema": {
            "type": "array",
            "items": {
                "type": "array",
                "items": {"oneOf": [{"type": ["string", "number", "boolean"]}, _OBJECT]},
                "minItems": 3,
                "maxItems": 4,
            },
            "example": [["Ann", "works at", "Acme", {"from": "2026-05"}]],
        },
    },
    "claim": {
        "schema": {
            "oneOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": ["string", "number", "boolean"]}, "minItems": 3, "maxItems": 3},
            ],
            "example": ["ex:a", "rdf:type", "ex:C"],
        }
    },
}


@cache
def options_of(verb: str, *leave: str) -> tuple[Parameter, ...]:
    """The options of a verb that HTTP has, in Python's order, except the ones to leave out."""
    return tuple(_parameter(option) for option in VERBS[verb].at("http") if option.name not in leave)


def _parameter(option: Option) -> Parameter:
    elsewise = dict(_ELSEWISE.get(option.name, {}) if option.kind in ("json", "text", "number") else {})
    unit = f"In {option.unit}." if option.unit else None
    told: dict[str, Any] = {one.name: getattr(option, one.name) for one in fields(option)}
    told |= {
        "help": " ".join(filter(None, (option.told, elsewise.pop("also", None), unit))),
        "name": option.at("http"),
        "key": option.name,
    }
    return Parameter(**{**told, **elsewise})


AS_OF = _parameter(table.AS_OF)
ENTAILED = _parameter(table.ENTAILED)
"""The time as of which a world is read: see `worlds.doors.server.workers.worker`."""
