"""A libSQL server's protocol over HTTP: Hrana 3 over JSON, `POST /v2/pipeline`.

One request can hold a whole transaction, each of whose steps runs only if the one before it did. A longer one is sent
in pieces on a stream, which the server keeps for ten seconds between them.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from worlds.errors import ConflictError, IntegrityError, OpenError, UncertainError, WorldsError

if TYPE_CHECKING:
    pass

Parameters: TypeAlias = Sequence[object]
Step: TypeAlias = tuple[str, Parameters]

PIECE = 4_000_000  # characters of statements in one request
_PATH = "/v2/pipeline"


class StaleError(WorldsError):
    """The primary is not in the state that a write was made from."""


class _StreamGoneError(OpenError):
    """The server does not know the stream, and has done nothing."""


class Hrana:
    """One database of a server, by its address; for use by one thread at a time.

    `name` is the database's where the address does not have it; `token` is a JWT. OpenError if the server cannot be
    reached, has no such database or refuses the token.
    """

    def __init__(self, address: str, name: str | None, token: str | None, *, timeout: float = 10.0) -> None:
        try:
            import httpx
        except ImportError as error:
            raise OpenError("a world on a server needs httpx: pip install 'worlds-kg[remote]'") from error
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        if name is not None:
            headers["x-namespace-bin"] = namespace(name)
        self.address = address
        self.named = address if name is None else f"{address}/{name}"
        self.stream: str | None = None  # the baton of one that has no transaction, for the next
        self._httpx = httpx
        self._client = httpx.Client(base_url=address, headers=headers, timeout=timeout, trust_env=False)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def rows(self, sql: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement that reads."""
        answer = self.send([_execute(sql, parameters), {"type": "close"}])
        result = answer["results"][0]
        if result["type"] == "error":
            raise self._error(result["error"])
        return [tuple(map(_read, row)) for row in result["response"]["result"]["rows"]]

    def send(self, requests: Sequence[object], baton: str | None = None, *, timeout: float | None = None) -> Any:
        """One request's answer. OpenError before anything was sent, UncertainError where no answer came back."""
        httpx = self._httpx
        try:
            answer = self._client.post(
                _PATH,
                json={"baton": baton, "requests": requests},
                timeout=self._client.timeout if timeout is None else timeout,
            )
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol) as error:
            raise OpenError(f"{self.named}: the primary cannot be reached: {error}") from error
        except httpx.HTTPError as error:
            raise UncertainError(
                f"{self.named}: the primary did not answer: {type(error).__name__}: {error}"
            ) from error
        if answer.status_code == 200:
            return answer.json()
        told = answer.text[:300]
        if answer.status_code == 400 and baton is not None and ("STREAM_EXPIRED" in told or "baton" in told):
            raise _StreamGoneError(f"{self.named}: {told}")
        if answer.status_code in (401, 403):
            raise OpenError(f"{self.named}: the primary refuses the token ({answer.status_code}): {told}")
        if answer.status_code == 404:
            raise OpenError(f"{self.named}: the primary has no such world: {told}")
        raise OpenError(f"{self.named}: the primary answered {answer.status_code}: {told}")

    def _error(self, error: dict[str, Any]) -> WorldsError:
        message, code = str(error.get("message")), str(error.get("code"))
        if "malformed JSON" in message:
            return StaleError(message)
        if "BUSY" in code or "STREAM_EXPIRED" in code or "TX_TIMEOUT" in code or "locked" in message:
            return ConflictError(f"{self.named}: another writer holds the primary ({message})")
        if "FULL" in code or "disk is full" in message or "I/O" in message:
            return IntegrityError(f"{self.named}: the primary's disk is full, and nothing was changed ({message})")
        if "BLOCKED" in code:
            return OpenError(f"{self.named}: the primary refuses: {message}")
        return WorldsError(f"{self.named}: {message} ({code})")

    # -- transactions ---------------------------------------------------------------------------------------------

    def lock(self, *asked: Step) -> Transaction:
        """A transaction that holds the primary's write lock from here on. `answer` is what was asked last then."""
        transaction = Transaction(self)
        transaction.run([("BEGIN IMMEDIATE", ()), *asked])
        return transaction

    def write(self, steps: Sequence[Step]) -> None:
        """Run all steps as one transaction, or none of them.

        StaleError if a step was a guard that failed, ConflictError if another writer kept the lock, and nothing was
        changed; UncertainError if the answer was lost.
        """
        with Transaction(self) as transaction:
            transaction.finish([("BEGIN IMMEDIATE", ()), *steps])


class Transaction:
    """A stream on which a transaction runs. Left without `commit`, it is rolled back.

    The stream of the one before is used again where the server still has it: its connection is open, and its log's
    folder need not be synced once more.
    """

    def __init__(self, server: Hrana) -> None:
        self._server = server
        self._baton, server.stream = server.stream, None
        self._over = True
        self.answer: list[tuple[Any, ...]] = []  # the rows of the last step that was run

    def __enter__(self) -> Transaction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.rollback()

    def rollback(self) -> None:
        """Give up what is not committed."""
        if not self._over:
            self._over = True
            try:
                self._server.send([_execute("ROLLBACK", ()), {"type": "close"}], self._baton, timeout=3)
            except WorldsError:  # the stream's end is the transaction's
                return

    def finish(self, steps: Sequence[Step]) -> None:
        """Run steps, many in pieces, and keep all."""
        *pieces, last = _pieces(steps)
        for piece in pieces:
            self.run(piece)
        self.run([*last, ("COMMIT", ())], last=True)

    def run(self, steps: Sequence[Step], *, last: bool = False) -> None:
        """Run steps, each if the one before it did; rolls back, and raises, if one does not."""
        written: list[dict[str, Any]] = []
        for place, (sql, parameters) in enumerate(steps):
            step: dict[str, Any] = {"stmt": _statement(sql, parameters)}
            if place:
                step["condition"] = {"type": "ok", "step": place - 1}
            written.append(step)
        failed = {"type": "not", "cond": {"type": "ok", "step": len(steps) - 1}}
        written.append({"stmt": _statement("ROLLBACK", ()), "condition": failed})
        begins, self._over = self._over, False
        requests = [{"type": "batch", "batch": {"steps": written}}]
        try:
            try:
                answer = self._server.send(requests, self._baton)
            except _StreamGoneError:
                if not begins:
                    raise
                answer = self._server.send(requests)
        except UncertainError as error:
            self._over = True
            if last:
                raise
            raise ConflictError(f"{error}; the write was not finished") from error
        self._baton = answer["baton"]
        result = answer["results"][0]
        self._over = last
        if result["type"] == "error":
            self._over = True
            raise self._server._error(result["error"])
        for failure in result["response"]["result"]["step_errors"][: len(steps)]:
            if failure is not None:
                self._over = True
                raise self._server._error(failure)
        if last:
            self._server.stream = self._baton
        self.answer = [tuple(map(_read, row)) for row in result["response"]["result"]["step_results"][-2]["rows"]]


def namespace(name: str) -> str:
    """A database's name as the field x-namespace-bin has it."""
    return base64.b64encode(name.encode()).decode().rstrip("=")


def _pieces(steps: Sequence[Step]) -> list[list[Step]]:
    pieces: list[list[Step]] = [[]]
    size = 0
    for step in steps:
        length = len(step[0]) + sum(len(value) + 8 if isinstance(value, (str, bytes)) else 8 for value in step[1])
        if pieces[-1] and size + length > PIECE:
            pieces.append([])
            size = 0
        pieces[-1].append(step)
        size += length
    return pieces


def _execute(sql: str, parameters: Parameters) -> dict[str, object]:
    return {"type": "execute", "stmt": _statement(sql, parameters)}


def _statement(sql: str, parameters: Parameters) -> dict[str, object]:
    return {"sql": sql, "args": [_value(value) for value in parameters], "want_rows": True}


def _value(value: object) -> dict[str, object]:
    if value is None:
        return {"type": "null"}
    if isinstance(value, int):
        return {"type": "integer", "value": str(value)}
    if isinstance(value, float):
        return {"type": "float", "value": value}
    if isinstance(value, str):
        return {"type": "text", "value": value}
    assert isinstance(value, bytes)
    return {"type": "blob", "base64": base64.b64encode(value).decode()}


def _read(value: dict[str, Any]) -> Any:
    kind = value["type"]
    if kind == "integer":
        return int(value["value"])
    if kind == "blob":
        text = value["base64"]
        return base64.b64decode(text + "=" * (-len(text) % 4))
    return value.get("value")
