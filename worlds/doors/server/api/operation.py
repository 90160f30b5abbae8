"""An operation of the HTTP API, and what operations share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from worlds.core.search.options import REQUIRED
from worlds.doors.server.api.parameters import Parameter, options_of
from worlds.verbs.table import VERBS
from worlds.verbs.verb import Level

Method = Literal["GET", "HEAD", "POST", "PUT", "DELETE"]
JSON = "application/json"


@dataclass(frozen=True)
class ResponseSchema:
    """The response of an operation on success: media type → the schema of its JSON, None for other content.

    Without a `help` the description of its schema says it.
    """

    help: str
    content: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    """One method of one path. `path` follows the world's address if `of_world`, else it is the server's.

    `body` maps media types to the name of a schema, None for other content; the fields of a JSON body are `fields`.
    Those of `several` worlds are there where a folder is served. `errors` are those beyond what every operation can
    answer, `defaults` those of its options that are not Python's. `job` answers it, where it has no handler of its own.
    `most` are the bytes of its body, where they are others than those of all. Of the parameters `some`, one is needed.
    """

    name: str
    method: Method
    path: str
    help: str
    level: Level | None
    answers: Mapping[int, ResponseSchema]
    of_world: bool = True
    several: bool = False
    parameters: tuple[Parameter, ...] = ()
    fields: tuple[Parameter, ...] | None = None
    body: Mapping[str, str | None] | None = None
    body_optional: bool = False
    most: int | None = None
    some: tuple[str, ...] = ()
    errors: tuple[int, ...] = ()
    tag: str = "World"
    defaults: Mapping[str, Any] = field(default_factory=dict)
    job: str | None = None

    @property
    def success(self) -> int:
        """The status on success."""
        return next(iter(self.answers))

    @property
    def gives(self) -> str | None:
        """The name of the schema of its JSON."""
        return self.answers[self.success].content.get(JSON)

    @cached_property
    def keys(self) -> Mapping[str, str]:
        """Python's names of the parameters of a request."""
        return {one.name: one.key for one in (*self.parameters, *(self.fields or ())) if one.key}


def operation(
    name: str,
    at: str,
    help: str,
    schema: str,
    *options: Parameter,
    level: Level | None = "read",
    status: int = 200,
    **more: Any,
) -> Operation:
    """An operation that returns JSON of a `schema`; `at` is its method and path.

    Options that the path names apart, and headers, are in the address, or in the body of a POST.
    """
    method, _, path = at.partition(" ")
    defaults, named = more.get("defaults", {}), set(re.findall(r"{(\w+)}", path))
    placed = [
        replace(one, default=defaults.get(one.name, one.default), where="path" if one.name in named else one.where)
        for one in options
    ]
    sent = [one for one in placed if one.where == "query"] if method == "POST" else []
    return Operation(
        name,
        method,  # type: ignore[arg-type]
        path,
        help,
        level,
        {status: ResponseSchema("", {JSON: schema})},
        parameters=tuple(one for one in placed if one not in sent),
        fields=tuple(sent) if method == "POST" else None,
        **{"job": name, **more},
    )


def of(
    verb: str,
    at: str,
    schema: str,
    *extra: Parameter,
    leave: tuple[str, ...] = (),
    name: str | None = None,
    help: str | None = None,
    **more: Any,
) -> Operation:
    """The operation of a verb, with its options except the ones to leave out, and with `extra` ones."""
    row = VERBS[verb]
    name, options = name or row.called("http"), (*options_of(verb, *leave), *extra)
    return operation(name, at, help or row.help, schema, *options, **{"job": verb, "level": row.level, **more})


BESIDE = Parameter("world", "texts", "Further worlds of this server; all are searched as one.")
SEVERAL = Parameter("world", "texts", "The names of the worlds that are searched as one; may be repeated.", REQUIRED)
