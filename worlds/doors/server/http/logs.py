"""The log of requests: a line for each, for people or as JSON, with an id that the answer has too."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import uuid
from datetime import UTC, datetime
from typing import Any, Literal

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from worlds.doors.server.http.metrics import Metrics

REQUEST_ID = "X-Request-ID"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}
"""The headers that every answer has, unless it has its own."""

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_log = logging.getLogger("worlds.doors.server.requests")


class RequestLog:
    """Assigns an id to each request, logs and counts it, and adds the headers of all responses."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        self.app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        number = state["request_id"] = _request_id(scope)

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                state["status"] = message["status"]
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = number
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        began = time.perf_counter()
        self._metrics.running.inc()
        try:
            await self.app(scope, receive, sending)
        finally:
            self._metrics.running.dec()
            self._note(scope, state, time.perf_counter() - began)

    def _note(self, scope: Scope, state: dict[str, Any], seconds: float) -> None:
        status, method = state.get("status", 500), scope["method"]
        counted = method if method in _METHODS else "other"
        route = state.get("route", "none")
        self._metrics.requests.labels(route, counted, str(status)).inc()
        self._metrics.seconds.labels(route, counted).observe(seconds)
        _log.info(
            "%s %s %d",
            method,
            _path(scope),
            status,
            extra={
                "fields": {
                    "request": state["request_id"],
                    "method": method,
                    "path": _path(scope),
                    "status": status,
                    "ms": round(seconds * 1000, 1),
                    "key": getattr(state.get("principal"), "name", None),
                    "client": scope["client"][0] if scope.get("client") else None,
                }
            },
        )


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


def _request_id(scope: Scope) -> str:
    """The client's, if it is one that a log can take, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _ID.fullmatch(given := value.decode("latin-1")):
            return str(given)
    return uuid.uuid4().hex


def _path(scope: Scope) -> str:
    """The path as it was sent, without the query: percent-encoded, so it is one word on one line."""
    raw = scope.get("raw_path") or scope["path"].encode()
    return str(raw.partition(b"?")[0].decode("ascii", "backslashreplace"))


class TextLines(logging.Formatter):
    """Log records as lines of text; the line of a request has its most important fields first."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and the traceback if there is one."""
        when = datetime.fromtimestamp(record.created).strftime("%H:%M:%S")
        fields = getattr(record, "fields", None)
        if fields is None:
            return f"{when} {record.levelname.lower()}: {super().format(record)}"
        who = fields["key"] or "-"
        return (
            f"{when} {fields['method']} {fields['path']} {fields['status']} {fields['ms']} ms "
            f"{fields['client'] or '-'} {who} {fields['request']}"
        )


class JSONLines(logging.Formatter):
    """One JSON object a record."""

    def format(self, record: logging.LogRecord) -> str:
        """The object, in one line."""
        document: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        fields = getattr(record, "fields", None)
        if fields is not None:
            return json.dumps({**document, **fields})
        document["message"] = record.getMessage()
        if record.exc_info:
            document["exception"] = self.formatException(record.exc_info)
        return json.dumps(document)


def configure_logs(form: Literal["text", "json"]) -> None:
    """Configure logging of this process to standard error, in this form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JSONLines() if form == "json" else TextLines())
    for name, level in (("worlds", logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False
