"""Clients of the MCP server: in this process, of a child over stdio, and over HTTP."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, Implementation, TextContent

import worlds
from tests.support.forking import Forked
from worlds.doors.mcp.server import WorldServer
from worlds.doors.mcp.toolbox import Service

ENVIRONMENT = {**os.environ, "WORLDS_CONFIG": os.devnull}


class Agent:
    """Calls tools as an agent does."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> CallToolResult:
        return await self.client.call_tool(tool, arguments)

    async def text(self, tool: str, **arguments: Any) -> str:
        """The text of an answer that is no error."""
        answer = await self.call(tool, **arguments)
        assert not answer.is_error, text_of(answer)
        return text_of(answer)

    async def data(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured form of an answer that is no error."""
        answer = await self.call(tool, **arguments)
        assert not answer.is_error, text_of(answer)
        assert answer.structured_content is not None
        return dict(answer.structured_content)

    async def error(self, tool: str, **arguments: Any) -> str:
        """The text of an error of a tool."""
        answer = await self.call(tool, **arguments)
        assert answer.is_error, text_of(answer)
        told = text_of(answer)
        assert "Traceback" not in told
        return told


def text_of(answer: CallToolResult) -> str:
    (content,) = answer.content
    assert isinstance(content, TextContent)
    return content.text


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "worlds", "mcp", *arguments]


Connect = Callable[[], contextlib.AbstractAsyncContextManager[Client]]


def ask(connect: Connect, scenario: Callable[[Agent], Coroutine[Any, Any, None]], seconds: float = 60) -> None:
    """Run a scenario with a client that is connected, for so many seconds at most."""

    failures: list[Exception] = []  # as they are, outside of the groups that the client's tasks make of them

    async def main() -> None:
        with anyio.fail_after(seconds):
            async with connect() as client:
                try:
                    await scenario(Agent(client))
                except Exception as error:
                    failures.append(error)

    anyio.run(main)
    if failures:
        raise failures[0]


def inside(world: worlds.World, **options: Any) -> Connect:
    """Connects to a server in this process."""
    server = WorldServer(Service(world, **options))
    return lambda: Client(server)


def stdio(*arguments: str, name: str = "tester", environment: dict[str, str] | None = None) -> Connect:
    """Connects to a new child process over its standard streams."""

    @contextlib.asynccontextmanager
    async def connect() -> AsyncIterator[Client]:
        parameters = StdioServerParameters(
            command=sys.executable,
            args=command(*arguments)[1:],
            env={"WORLDS_CONFIG": os.devnull, **(environment or {})},
        )
        async with Client(parameters, client_info=Implementation(name=name, version="1")) as client:
            yield client

    return connect


def over_http(url: str, *, name: str = "tester", mode: str = "auto") -> Connect:
    """Connects to a server at a URL."""
    return lambda: Client(url, client_info=Implementation(name=name, version="1"), mode=mode)


@contextlib.contextmanager
def http_server(path: Path, *arguments: str) -> Iterator[str]:
    """A child process that serves a world over HTTP; gives its URL."""
    process = Forked(
        command(str(path), "--http", "--port", "0", "--embedder", "none", *arguments),
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        assert line.startswith("worlds mcp: http"), line + process.stderr.read()
        yield line.split()[-1]
    finally:
        process.terminate()
        rest = process.stderr.read()
        process.stderr.close()
        code = process.wait(10)
    assert (code, "Traceback" in rest) == (0, False), rest
