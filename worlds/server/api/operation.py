"""An operation of the HTTP API, and what operations share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from worlds.server.api.parameters import Parameter, options_of
from worlds.verbs.table import VERBS
from worlds.verbs.verb import Level

Method = Literal["GET", "HEAD", "POST", "PUT", "DELETE"]
JSON = "application/json"


@dataclass(frozen=True)
class Answer:
    """What an operation gives when all goes well: media type → the schema of its JSON, None for other content."""

    help: str
    content: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    """One method of one path. `path` follows the world's address if `of_world`, else it is the server's.

    `body` maps media types to the name of a schema, None for other content; the fields of a JSON body are `fields`.
    Those of `several` worlds are there where a folder is served. `errors` are those beyond what every operation can
    answer, `defaults` those of its options that are not Python's.
    """

    name: str
    method: Method
    path: str
    help: str
    level: Level | None
    answers: Mapping[int, Answer]
    of_world: bool = True
    several: bool = False
    parameters: tuple[Parameter, ...] = ()
    fields: tuple[Parameter, ...] | None = None
    body: Mapping[str, str | None] | None = None
    body_optional: bool = False
    errors: tuple[int, ...] = ()
    tag: str = "World"
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def keys(self) -> Mapping[str, str]:
        """Python's names of what a request may say."""
        return {one.name: one.key for one in (*self.parameters, *(self.fields or ())) if one.key}


def of(
    verb: str,
    method: Method,
    path: str,
    answers: Mapping[int, Answer],
    *extra: Parameter,
    leave: tuple[str, ...] = (),
    name: str | None = None,
    help: str | None = None,
    **more: Any,
) -> Operation:
    """The operation of a verb: its options, those that the path names apart, are in the address, or a POST's body."""
    row = VERBS[verb]
    own = more.get("defaults", {})
    options = tuple(replace(one, default=own.get(one.name, one.default)) for one in (*options_of(verb, *leave), *extra))
    named = set(re.findall(r"{(\w+)}", path))
    placed = tuple(replace(option, where="path") for option in options if option.name in named)
    rest = tuple(option for option in options if option.name not in named)
    in_body = method == "POST"
    headers = tuple(option for option in rest if option.where == "header") if in_body else ()
    return Operation(
        name or row.names.get("http", verb),
        method,
        path,
        help or row.help,
        row.level,
        answers,
        parameters=(*placed, *(headers if in_body else rest)),
        fields=tuple(option for option in rest if option not in headers) if in_body else None,
        **more,
    )


def of_several(help: str, schema: str) -> dict[str, Any]:
    """What searches of several worlds have in common."""
    return {"level": "read", "answers": answered(help, schema), "of_world": False, "several": True, "errors": (404,)}


def answered(help: str, schema: str) -> Mapping[int, Answer]:
    """An answer in JSON, of a schema."""
    return {200: Answer(help, {JSON: schema})}


BESIDE = Parameter("world", "texts", "Further worlds of this server; all are searched as one.")
SEVERAL = Parameter("world", "texts", "The names of the worlds that are searched as one; may be repeated.", True)
