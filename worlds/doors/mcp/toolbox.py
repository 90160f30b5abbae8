"""The common part of the tools: the world, its limits, and how a call to it is run."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent

from worlds.aio import Work
from worlds.doors.mcp.hints import AgentHints
from worlds.doors.mcp.rendering import TermRenderer, TokenBudget
from worlds.doors.server.problem_documents import Forbidden
from worlds.errors import ReadOnlyError, WorldsError
from worlds.extras.memory.memory_records import seen_through
from worlds.looks.look import answering

if TYPE_CHECKING:
    from worlds.world import World

T = TypeVar("T")
_FRAME = 120  # tokens for the names of an answer's parts, and for notes on what was left out
MOST_CALLS = 8  # at a time; more wait
MEMORY = 1 << 30  # bytes that a query may take
PATTERN_SECONDS = 30.0  # that a pattern of a search may take
LONGEST, LONGEST_READ = 120.0, 30.0  # seconds that a query may ask for
MOST_ROWS = 10_000  # that a query may have before it is refused
EXPECTED = (WorldsError, ValueError, TypeError, OverflowError, RecursionError)
"""Errors of a call that its arguments explain; any other is a mistake in worlds."""


class Service:
    """One world, with the rights of agents on it."""

    def __init__(
        self,
        world: World,
        *,
        token_budget: int = 4000,
        author: str | None = None,
        allow_writes: bool = False,
        allow_proposals: bool = False,
        tools: str = "all",
        memory: Sequence[str] = ("agent",),
    ) -> None:
        self.world = world
        self.memory = tuple(memory)
        self.tools = tools
        self.token_budget = token_budget
        self.allow_writes = allow_writes
        self.allow_proposals = allow_proposals or allow_writes
        self.hints = AgentHints(world)
        world.file.pattern_timeout = PATTERN_SECONDS
        self._author = author
        self._limiter: anyio.CapacityLimiter | None = None

    def only(self, graphs: Sequence[str]) -> Service:
        """The same of the world seen through some of its graphs; Forbidden where none of them is seen here."""
        seen = self.world.file.view.names
        mine = [graph for graph in graphs if seen is None or graph in seen]
        if not mine:
            raise Forbidden("this server shows none of the graphs of this key")
        made = copy.copy(self)
        made.world = seen_through(self.world, mine)
        made.world.file.pattern_timeout = PATTERN_SECONDS
        made.hints = AgentHints(made.world)
        return made

    def at(self, time: str | None, *, entailed: bool | None = None) -> World:
        """The world, or as of a time; with its conclusions or without, None as its policy has it."""
        found: World = answering(self.world if time is None else self.world.as_of(time), entailed)
        return found

    def most(self, tokens: int | None = None) -> int:
        """The tokens that an answer may have, text and structured form together."""
        return self.token_budget if tokens is None else min(tokens, 10 * self.token_budget)

    def budget(self, tokens: int | None = None) -> TokenBudget:
        """The tokens that the content of an answer may use."""
        most = self.most(tokens)
        return TokenBudget(most - min(_FRAME, most // 2))

    def terms(self) -> TermRenderer:
        """Shows terms by the prefixes that the world has now."""
        return TermRenderer({"w": "urn:worlds:", **self.world.prefixes})

    def author(self, context: Context[Any, Any]) -> str | None:
        """The author of writes: the key's name, the server's `--author`, or the client's name."""
        if (principal := _known(context).get("worlds.principal")) is not None:
            return str(principal.name)
        if self._author is not None:
            return self._author
        client = context.request_context.session.client_params
        return None if client is None else client.client_info.name

    def may(self, context: Context[Any, Any], what: str) -> bool:
        """Whether the client may "write", or "propose"."""
        allowed = self.allow_writes if what == "write" else self.allow_proposals
        return allowed and bool(_known(context).get(f"worlds.may_{what}", True))

    def longest(self, context: Context[Any, Any]) -> float:
        """Seconds that a query of this client may ask for: of one over HTTP that may not write, less."""
        remote = context.request_context.request is not None
        return LONGEST_READ if remote and not self.may(context, "write") else LONGEST

    def require_write(self, context: Context[Any, Any], what: str = "write") -> None:
        """ReadOnlyError where the client may not write, or propose."""
        if not self.may(context, what):
            principal = _known(context).get("worlds.principal")
            who = "no key was sent, which" if principal is None else f"the key {principal.name!r}"
            raise ReadOnlyError(f"{who} does not allow to {what}")

    def require_memory(self, context: Context[Any, Any]) -> None:
        """ReadOnlyError where the client may not write into the memory, which an agent that has it may."""
        if not _known(context).get("worlds.may_write", True):
            raise ReadOnlyError("the key does not allow to write")

    async def run(self, work: Callable[[], T], *, writes: bool = False) -> T:
        """Do work with the world in a thread, so that other messages are answered meanwhile.

        A cancelled call's queries are stopped; other reads, which are short, are left to end, and a write is always
        waited for.
        """
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(MOST_CALLS)
        call = Work(self.world)
        done: list[T] = []
        try:
            with anyio.CancelScope(shield=writes):
                done.append(
                    await anyio.to_thread.run_sync(
                        lambda: call.run(work), abandon_on_cancel=not writes, limiter=self._limiter
                    )
                )
        except anyio.get_cancelled_exc_class():
            call.stop()
            raise
        return done[0]

    @contextmanager
    def explained(self, source: str | None = None) -> Iterator[None]:
        """Turn an error of the block into one with a remedy for the agent; `source` is its query."""
        try:
            yield
        except EXPECTED as error:
            try:
                text = self.hints.error(error, source=source)
            except EXPECTED:  # a damaged file has no schema to look into
                text = str(error)
            raise ToolError(text) from None


def _known(context: Context[Any, Any]) -> Mapping[str, Any]:
    """The caller over HTTP: the key and its rights; nothing over stdio."""
    found: Mapping[str, Any] = getattr(context.request_context.request, "scope", {})
    return found


def answer(lines: Iterable[object], **structured: Any) -> CallToolResult:
    """A tool's answer, as text and as its structured form."""
    text = TextContent(type="text", text="\n".join(map(str, lines)))
    return CallToolResult(content=[text], structured_content=structured)


def fitting(
    found: Sequence[T], what: str, budget: TokenBudget, *, more: str = "raise `token_budget`"
) -> tuple[list[T], list[str]]:
    """The first parts of an answer that fit, and a note on the others, with how to see `more`."""
    shown = budget.fill(found)
    left = len(found) - len(shown)
    return shown, [f"{left:,} of {len(found):,} {what} are not shown: {more}."] if left else []


def listed(value: str | Sequence[str] | None) -> list[str] | None:
    """A filter's values; None for no filter. An empty list is a filter that nothing passes."""
    if value is None or isinstance(value, str):
        return [value] if value else None
    return list(value)
