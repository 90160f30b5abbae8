"""Makes the tools of the table of the verbs: their arguments, what a model is told of them, and how a call is run."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field, WithJsonSchema

from worlds.core.search.options import REQUIRED, Option, gathered
from worlds.doors.mcp.toolbox import Service, listed
from worlds.verbs.table import AS_OF, ENTAILED, VERBS

Part = str | int | float | bool
Names = str | list[str]
Moment = Annotated[str | None, Field(description=f"{AS_OF.help} E.g. {AS_OF.example}")]
Entails = Annotated[bool | None, Field(description=ENTAILED.help)]
Proves = Annotated[bool, Field(description="Prove one quad, written or concluded: by rules, down to what is written.")]
Tokens = Annotated[int | None, Field(ge=100, description="The answer's tokens, about.")]


MOST_QUADS = 5000
"""Quads, or facts, of one call."""
_TEXTS = [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
_ANY_TEXTS = {"type": ["string", "array"], "items": {"type": "string"}}
_Filter = Literal["subjects", "predicates", "types", "graphs", "sources", "languages", "where"]
_EXCLUDED = {"type": "object", "additionalProperties": _ANY_TEXTS}
_Boost = str | dict[str, str | float]
_Boosts = Annotated[_Boost | list[_Boost], WithJsonSchema({"type": ["string", "object", "array"]})]
_KINDS: Mapping[str, Any] = {
    "integer": int,
    "number": float,
    "boolean": bool,
    "text": str,
    "texts": Names,
    "revision": int | str,
}
_QUADS = ("quads", "add", "remove", "relies_on")
_ELSEWISE: Mapping[str, Any] = {
    "exclude": Annotated[dict[_Filter, Names | None], WithJsonSchema(_EXCLUDED)],  # in half of the words of its own
    "boost": _Boosts,
    "decay": dict[str, Any],
    "rerank": bool,
    **dict.fromkeys(_QUADS, list[list[Part]]),
    "facts": list[list[Part | dict[str, str | float]]],
}
_TOLD: Mapping[str, str] = {  # what a model is told of an option, in the place of its line
    "rerank": "Rerank by a cross-encoder; slow.",
    "quads": "Lists of subject, predicate, object and perhaps a graph: prefixed names, <IRI>s, numbers, true, false; a "
    'text is in quotes of its own: \'"a text"@en\'. E.g. [["ex:a", "rdfs:label", "\\"A\\"@en"]].',
    "facts": "Lists of subject, predicate and object in words, as people say them, and maybe an object with from, to, "
    "cites, confidence.",
    "add": 'Triples or quads to add, as lists of terms: [["ex:a", "rdfs:label", "\\"A\\"@en"]].',
    "remove": "Triples or quads to remove, likewise.",
    "relies_on": "Triples or quads that have to hold, likewise.",
}


def tool(
    server: MCPServer[Any],
    service: Service,
    verb: str,
    title: str,
    *leave: str,
    most: Mapping[str, float] | None = None,
    source: str | None = None,
    idempotent: bool | None = None,
    **defaults: Any,
) -> Callable[[Callable[..., CallToolResult]], Callable[..., CallToolResult]]:
    """Add a tool for a verb: it takes the verb's options, which its function need not name, but for those left out.

    The function is given them by Python's names, lists as lists; where the verb writes, who may not is refused, and the
    `author` is given besides. `most` and `defaults` are those of agents, where they
    are not Python's; errors quote the argument `source`.
    """
    row = VERBS[verb]

    def decorate(work: Callable[..., CallToolResult]) -> Callable[..., CallToolResult]:
        signature = inspect.signature(work, eval_str=True)
        own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
        unasked = row.level != "read" and CONTEXT.name not in signature.parameters
        own += [CONTEXT] if unasked else []
        taken = {*leave, *(one.name for one in own)}
        options = [one for one in row.at("agents") if not {one.name, one.at("agents")} & taken]
        changed = [
            replace(one, default=defaults.get(one.name, one.default), most=(most or {}).get(one.name, one.most))
            for one in options
        ]

        async def run(**given: Any) -> CallToolResult:
            asked = {one.name: given.pop(one.at("agents")) for one in options if one.at("agents") in given}
            context: Any = given.pop(CONTEXT.name) if unasked else given.get(CONTEXT.name)

            def call() -> CallToolResult:
                with service.explained({**given, **asked}.get(source or "")):
                    if row.level != "read":
                        service.require_write(context, row.level)
                        given["author"] = service.author(context)
                    values = {name: _value(row.options[name], value) for name, value in asked.items()}
                    return work(**gathered(values), **given)

            return await service.run(call, writes=row.effect != "reads")

        mine = [one.replace(kind=one.KEYWORD_ONLY) for one in own]
        parameters = [*map(_parameter, changed), *mine]
        parameters.sort(key=lambda one: (one.default is not one.empty, one in mine and one.default is not one.empty))
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        run.__annotations__["return"] = signature.return_annotation
        reads = row.effect == "reads"
        server.add_tool(
            run,
            name=row.called("agents"),
            title=title,
            description=" ".join([row.help, *(work.__doc__ or "").split()]),
            annotations=ToolAnnotations(
                read_only_hint=reads,
                destructive_hint=row.effect == "destroys",
                idempotent_hint=reads if idempotent is None else idempotent,
                open_world_hint=False,
            ),
        )
        return work

    return decorate


CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=Context[Any, Any])
"""The parameter by which a tool knows who calls; no client sees it."""


def _parameter(option: Option) -> inspect.Parameter:
    kind = Names if option.kind == "texts" else _ELSEWISE.get(option.name, _KINDS.get(option.kind))
    kind = Literal[option.choices] if option.choices else kind
    numeric = option.kind in ("integer", "number")
    told = _TOLD.get(option.name, option.help)
    example = option.example if isinstance(option.example, str) else json.dumps(option.example)
    field = Field(
        description=told if option.example is None else f"{told} E.g. {example}",
        ge=option.least if numeric else None,
        le=option.most if numeric else None,
    )
    required = option.default is REQUIRED
    default = inspect.Parameter.empty if required else None if option.default == () else option.default
    kind = kind if required or default is not None else kind | None
    return inspect.Parameter(
        option.at("agents"), inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, field]
    )


def _value(option: Option, value: Any) -> Any:
    """An argument as the verb takes it."""
    if isinstance(value, dict) and option.name == "exclude":
        return {name: one for name, one in value.items() if one is not None} or None
    if option.name in (*_QUADS, "facts") and value is not None:
        if (not value and option.default is REQUIRED) or len(value) > MOST_QUADS:
            raise ValueError(f"{option.name} must be 1 to {MOST_QUADS:,} at a time, not {len(value):,}")
        return as_quads(value) if option.name in _QUADS else value
    if option.kind == "texts":  # "" is a language: none
        return [value] if option.name == "languages" and isinstance(value, str) else listed(value)
    return value or None if option.name == "where" else value


def as_quads(quads: Sequence[Sequence[Part]]) -> list[tuple[Part, ...]]:
    """Quads as `World.add` takes them; ValueError for one that has not three or four terms."""
    for number, quad in enumerate(quads, 1):
        if len(quad) not in (3, 4):
            raise ValueError(f"quad {number} has {len(quad)} terms, not 3 or 4: {quad!r}")
    return [tuple(quad) for quad in quads]


def compact(schema: Any, *, named: bool = False) -> Any:
    """A schema without parts that a model does not need: titles, null for optional arguments, and defaults of null.

    One text or a list of texts is said in the shorter form.
    """
    if isinstance(schema, list):
        return [compact(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if named:  # the names of properties, which may be called "title"
        return {name: compact(one) for name, one in schema.items()}
    kept = {
        key: compact(one, named=key in ("properties", "$defs"))
        for key, one in schema.items()
        if key != "title" and (key, one) not in (("default", None), ("additionalProperties", True))
    }
    if {"type": "null"} in (forms := kept.get("anyOf", [])):
        forms = [form for form in forms if form != {"type": "null"}]
        kept = {**kept, "anyOf": forms}
    if forms == _TEXTS:
        forms = [_ANY_TEXTS]
    if len(forms) == 1:
        kept = {**forms[0], **{key: one for key, one in kept.items() if key != "anyOf"}}
    return kept
