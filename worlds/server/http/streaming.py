"""Answers whose body comes from a worker, piece by piece."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

from starlette.requests import Request

from worlds.server.http.base import Server, StreamedResponse, client_gone
from worlds.server.workers.pool import Stream


async def begun(
    server: Server, request: Request, job: str, **arguments: Any
) -> tuple[Stream, AbstractAsyncContextManager[Stream]]:
    """A stream whose head is there, and the context that is to be left when it has been sent.

    Raises what the job raised before its head; ClientGone if the client went away, and then the job is stopped.
    """
    leaving = server.stream(request, job, **arguments)
    entering = asyncio.ensure_future(leaving.__aenter__())
    gone = asyncio.ensure_future(client_gone(request))
    try:
        await asyncio.wait((entering, gone), return_when=asyncio.FIRST_COMPLETED)
        if not entering.done():
            gone.result()
        return entering.result(), leaving
    finally:
        for task in (entering, gone):
            if not task.done():
                task.cancel()
        await asyncio.gather(entering, gone, return_exceptions=True)


def streamed(
    stream: Stream,
    leaving: AbstractAsyncContextManager[Stream],
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> StreamedResponse:
    """The response of such a stream; the head says its "type"."""
    response = StreamedResponse(stream, leaving, status_code=status, headers=headers)
    response.headers["Content-Type"] = stream.head["type"]
    return response
