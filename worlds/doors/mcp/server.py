"""The server: its tools, and what it says of arguments that do not fit."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CallToolResult, GetPromptResult, InputRequiredResult, TextContent, Tool
from pydantic import ValidationError

from worlds.doors import version
from worlds.doors.mcp import (
    describing,
    findings,
    guide,
    proposal_tools,
    querying,
    remembering,
    resources,
    searching,
)
from worlds.doors.mcp.rendering import fitted
from worlds.doors.mcp.toolbox import Service
from worlds.doors.mcp.tools import compact

_ASK = ("search", "context", "brief", "resolve", "describe", "schema", "sparql")
_READ = ("form", "history", "provenance", "validate", "verify", "contradictions", "duplicates", "report")
_FIND = ("similar", "mentions")  # besides
_PROPOSE = ("proposals", "propose", "propose_all", "amend")
_WRITES = ("update", "add", "tell", "undo", "sync")
PROFILES = {
    "ask": _ASK,
    "curate": (*_ASK, *_READ, *_PROPOSE),
    "memory": remembering.TOOLS,
    "all": (*_ASK, *_FIND, *_READ, *_PROPOSE, *_WRITES),
}
"""The tools of each profile: what answering takes, what curating takes, a memory's, and all but these."""

_FOUND = "citations cut:integer cursor:any notes facets sql"
_FINDINGS = "counts:object causes findings notes"
_CHANGED = "revision:any added:any removed:any notes"
_COUNTED = "revision:integer quads:integer prefixes:object class_count:integer predicate_count:integer"
_MEMBERS = {
    "search": _FOUND,
    "similar": _FOUND,
    "context": "text:string citations:object entities left_out:integer notes",
    "brief": "text:string query:any",
    "resolve": "names notes",
    "describe": "iri:string label:any types description:any properties incoming notes",
    "schema": f"{_COUNTED} classes predicates graphs:object languages:object notes",
    "sparql": "form:string variables rows truth:any total:any notes",
    "form": "iri:any types graph:any fields problems notes",
    "history": "revisions added removed notes",
    "provenance": "quads proof notes",
    "validate": "conforms:boolean count:integer results notes",
    "verify": "outcome:string revision:integer supporting contradicting undecided notes",
    "mentions": "mentions notes",
    "contradictions": _FINDINGS,
    "duplicates": _FINDINGS,
    "report": "quads:integer entities:integer causes checks notes",
    **dict.fromkeys(_PROPOSE, "proposals"),
    **dict.fromkeys(("update", "add", "undo"), _CHANGED),
    "tell": "revision:any facts notes",
    "sync": "runs",
}
"""The members of the structured form of each tool's answer: arrays, unless another type follows the name."""


class WorldServer(MCPServer[Any]):
    """An MCP server whose errors name the next step for an agent."""

    def __init__(self, service: Service) -> None:
        super().__init__(
            "worlds", title="Worlds", instructions=guide.INSTRUCTIONS, version=version() or "", log_level="WARNING"
        )
        self._service = service
        self._profile = service.tools
        if service.tools == "memory":
            remembering.register(self, service)
            return
        describing.register(self, service)
        searching.register(self, service)
        findings.register(self, service)
        querying.register(self, service)
        if service.allow_writes:
            proposal_tools.register_writes(self, service)
        if service.allow_proposals:
            proposal_tools.register(self, service)
        resources.register(self, service)

    async def list_tools(self) -> list[Tool]:
        """The tools of the server's profile, with schemas reduced to the parts that a model needs."""
        return [
            tool.model_copy(update={"input_schema": compact(tool.input_schema), **_output(tool.name)})
            for tool in await super().list_tools()
            if self._profile == "all" or tool.name in PROFILES[self._profile]
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool; ToolError, whose text is for the agent, for whatever the call got wrong."""
        tools = {tool.name: tool for tool in await self.list_tools()}
        if name not in tools:
            raise ToolError(_unknown_tool(name, list(tools), self._profile))
        schema = tools[name].input_schema
        known = list(schema.get("properties", {}))
        if strange := [argument for argument in arguments if argument not in known]:
            raise ToolError(_unknown_argument(name, strange[0], known))
        try:
            found = await super().call_tool(name, arguments, context)
            return self._fitted(found, arguments.get("token_budget")) if isinstance(found, CallToolResult) else found
        except UnexpectedToolError as error:
            raise UnexpectedToolError(
                f"`{name}` failed by a fault of the server, not of the call; see the server's log"
            ) from (error.__cause__ or error)
        except ToolError as error:
            if isinstance(error.__cause__, ValidationError):
                raise ToolError(_wrong_arguments(name, schema, error.__cause__)) from error.__cause__
            raise (error.__cause__ if isinstance(error.__cause__, ToolError) else error) from None

    def _fitted(self, found: CallToolResult, tokens: int | None) -> CallToolResult:
        """An answer within its budget, whatever its tool made of it."""
        if len(found.content) == 1 and isinstance(found.content[0], TextContent):
            given = found.content[0].text, found.structured_content or {}
            text, structured = fitted(*given, self._service.most(tokens))
            if text is not given[0]:
                content = [TextContent(type="text", text=text)]
                return found.model_copy(update={"content": content, "structured_content": structured})
        return found

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[Any, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """A prompt, filled in; MCPError for an unknown one, or a missing argument."""
        try:
            return await super().get_prompt(name, arguments, context)
        except ValueError as error:
            known = ", ".join(prompt.name for prompt in await self.list_prompts())
            raise MCPError(code=INVALID_PARAMS, message=f"{error}. Prompts: {known}") from None


def _output(tool: str) -> dict[str, Any]:
    """The schema of a tool's answer, where no class of it has made one."""
    members = [one.partition(":") for one in _MEMBERS.get(tool, "").split()]
    if not members:
        return {}
    types = {name: {} if kind == "any" else {"type": kind or "array"} for name, _, kind in members}
    return {"output_schema": {"type": "object", "properties": types, "required": [*types]}}


def _unknown_tool(name: str, tools: list[str], profile: str) -> str:
    for names, option, what in (
        (
            [one for one in PROFILES["all"] if one not in PROFILES[profile]],
            "--tools all",
            f"was started with --tools {profile}",
        ),
        (_WRITES, "--allow-writes", "does not write: it was started without --allow-writes"),
        (_PROPOSE, "--allow-proposals", "takes no proposals: it was started without --allow-proposals"),
    ):
        if name in names:
            told = f"this server {what}. Tools: {', '.join(tools)}. Tell the user to start it with {option}"
            return f"{told} if `{name}` is needed."
    close = get_close_matches(name, tools, n=1)
    return f"there is no tool {name!r}.{f' Did you mean {close[0]}?' if close else ''} Tools: {', '.join(tools)}"


def _unknown_argument(tool: str, name: str, known: list[str]) -> str:
    close = get_close_matches(name, known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"`{tool}` has no argument {name!r}.{hint} It takes: {', '.join(known)}"


def _wrong_arguments(tool: str, schema: dict[str, Any], error: ValidationError) -> str:
    told: dict[str, list[str]] = {}
    members: dict[str, str] = {}
    for one in error.errors(include_url=False, include_input=False):
        name, *place = [str(part) for part in one["loc"]] or [""]
        message = one["msg"]
        if place[1:] == ["[key]"]:
            message = f"there is no {place[0]!r} in it"
            members[name] = one["ctx"]["expected"].replace("'", "").replace(" or ", ", ")
        told.setdefault(name, []).append(message)
    lines = []
    for name, said in told.items():
        takes = members.get(name) or _takes(schema, name)
        line = f"{name or 'the arguments'}: {'; or '.join(dict.fromkeys(said))}"
        lines.append(f"{line}. It takes: {takes}" if takes else line)
    return f"`{tool}` cannot take these arguments. " + " ".join(f"{line.rstrip('.')}." for line in lines)


def _takes(schema: dict[str, Any], name: str) -> str:
    """The description of an argument that is an object; "" for any other argument."""
    found = schema.get("properties", {}).get(name, {})
    forms = [found, *found.get("anyOf", [])]
    return str(found.get("description", "")) if any("object" in form.get("type", "") for form in forms) else ""
