"""One entry of the table of what the server can be asked, and what entries share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from worlds.server.api.parameters import Parameter
from worlds.server.http.base import Scope

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
    answer.
    """

    name: str
    method: Method
    path: str
    help: str
    scope: Scope | None
    answers: Mapping[int, Answer]
    of_world: bool = True
    several: bool = False
    parameters: tuple[Parameter, ...] = ()
    fields: tuple[Parameter, ...] | None = None
    body: Mapping[str, str | None] | None = None
    body_optional: bool = False
    errors: tuple[int, ...] = ()
    tag: str = "World"


def of_several(help: str, schema: str) -> dict[str, Any]:
    """What searches of several worlds have in common."""
    return {"scope": "read", "answers": answered(help, schema), "of_world": False, "several": True, "errors": (404,)}


def answered(help: str, schema: str) -> Mapping[int, Answer]:
    """An answer in JSON, of a schema."""
    return {200: Answer(help, {JSON: schema})}


ENTITY = "IRI or prefixed name; in a path it is percent-encoded."
BESIDE = Parameter("world", "texts", "Other worlds of this server that are taken with this one, as one.")
SEVERAL = Parameter("world", "texts", "The worlds that are taken as one, by their names; may be repeated.", True)
TYPES = Parameter("types", "texts", "Only entities of these types.")
IN_GRAPHS = Parameter("graphs", "texts", 'Only what these graphs say; "default" is the default graph.')
MESSAGE = Parameter("message", "text", "What the history says of it.", most=10_000)
REVISION = Parameter(
    "revision", "integer", "The number of a revision.", True, least=1, most=2**31 - 1, where="path", example=1
)
QUADS = {"oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
