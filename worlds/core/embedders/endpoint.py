"""Embeddings from an endpoint that speaks OpenAI's protocol: OpenAI itself, Ollama, vLLM, llama.cpp and others."""

from __future__ import annotations

import contextlib
import email.utils
import hashlib
import json
import math
import threading
import time
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from worlds.errors import EmbedderError

_KINDS: Final = {401: "auth", 403: "auth", 408: "timeout", 429: "rate limit", 504: "timeout"}
_INPUT: Final = (400, 413, 422)
_TRANSIENT: Final = frozenset({"rate limit", "timeout", "network", "server"})
_FIRST_WAIT: Final = 0.5  # seconds before the second try; doubled before each later one
_MOST_BYTES: Final = 1 << 28  # of an answer
_PIECE: Final = 1 << 16


class OpenAIEmbedder:
    """A model behind an HTTP endpoint that speaks OpenAI's embeddings protocol.

    `url` is what `/embeddings` is put after, `https://api.openai.com/v1` or `http://localhost:11434/v1` (Ollama), and
    `model` the name by which it knows the model. `api_key` is sent as a bearer token; it is shown nowhere.
    `dimension` is how many components its vectors have; None asks once, with a word, when it is first needed. With
    `shorten`, the endpoint is asked to cut its vectors to `dimension`. `max_tokens` is what the model reads of a text;
    longer texts are cut into chunks. `query_prefix` and `document_prefix` are put before texts, for models that want
    it. `fingerprint` says that the vectors fit those of another embedder: give that one's. By default, two endpoints'
    vectors fit if model, dimension and prefixes are the same, wherever the endpoints are.

    Texts are sent `batch_size` at a time. `timeout` counts seconds: for each request that embeds documents, and for
    all tries together of a query's. A rate limit, a timeout, a broken connection or a fault of the server is tried
    again, `retries` times, after half a second, one, two …, or after what the answer's Retry-After says; if that is
    more than `longest_wait` seconds, it fails at once. May be shared by threads.

    Raises EmbedderError: `.kind` is "auth", "rate limit", "timeout", "network", "server", "protocol" or "input".
    ValueError for options that make no sense.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        dimension: int | None = None,
        shorten: bool = False,
        max_tokens: int = 512,
        batch_size: int = 64,
        timeout: float = 60.0,
        retries: int = 3,
        longest_wait: float = 60.0,
        query_prefix: str = "",
        document_prefix: str = "",
        fingerprint: str | None = None,
    ) -> None:
        self.name = model
        self.url = url.rstrip("/")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"url must be an http or https address, not {url!r}")
        if parts.username is not None:
            raise ValueError("url holds a name or password; give the key as api_key")
        if api_key is not None and (not api_key.isascii() or not api_key.isprintable()):
            raise ValueError("api_key holds characters that no HTTP header takes")
        for name, value, least in (
            ("dimension", 1 if dimension is None else dimension, 1),
            ("max_tokens", max_tokens, 1),
            ("batch_size", batch_size, 1),
            ("retries", retries, 0),
        ):
            if value < least:
                raise ValueError(f"{name} must be at least {least}, not {value}")
        if shorten and dimension is None:
            raise ValueError("shorten needs a dimension")
        if not 0 < timeout < float("inf"):
            raise ValueError(f"timeout is {timeout!r}; it counts seconds and is above 0")
        self.max_tokens = max_tokens
        self._api_key = api_key
        self._dimension = dimension
        self._shorten = shorten
        self._batch_size = batch_size
        self._timeout = timeout
        self._retries = retries
        self._longest_wait = longest_wait
        self._query_prefix = query_prefix
        self._document_prefix = document_prefix
        self._fingerprint = fingerprint
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r}, {self.name!r})"

    @property
    def dimension(self) -> int:
        """Components of a vector; asks the endpoint if nobody said it."""
        with self._lock:
            if self._dimension is None:
                self._dimension = self._ask(["dimension"], self._until()).shape[1]
            return self._dimension

    @property
    def fingerprint(self) -> str:
        """The digest of model, dimension and prefixes, unless given: vectors with the same digest can be compared."""
        if self._fingerprint is not None:
            return self._fingerprint
        parts = ["openai", self.name, self.dimension, self._query_prefix, self._document_prefix]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def embed_documents(self, texts: list[str]) -> NDArray[np.float32]:
        """One row a text, in the order given: [n, dimension]."""
        width = self.dimension
        rows = np.empty((len(texts), width), np.float32)
        for start in range(0, len(texts), self._batch_size):
            batch = [self._document_prefix + text for text in texts[start : start + self._batch_size]]
            rows[start : start + len(batch)] = self._fitting(self._ask(batch, None), width)
        return rows

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, [dimension]."""
        vector: NDArray[np.float32] = self._ask([self._query_prefix + text], self._until())[0]
        (fitting,) = self._fitting(vector[None], self.dimension)
        return np.asarray(fitting, np.float32)

    def _until(self) -> float:
        return time.monotonic() + self._timeout

    def _fitting(self, rows: NDArray[np.float32], width: int) -> NDArray[np.float32]:
        if rows.shape[1] != width:
            raise self._error("protocol", f"gave vectors of {rows.shape[1]} dimensions, not {width}")
        return rows

    def _ask(self, texts: list[str], until: float | None) -> NDArray[np.float32]:
        """The vectors of one request's texts, [n, d]; tried again where that may help, until the moment given."""
        tries = 0
        while True:
            left = self._timeout if until is None else until - time.monotonic()
            try:
                return self._vectors(self._post(texts, max(left, 0.001)), len(texts))
            except _AgainError as again:
                tries += 1
                wait = _FIRST_WAIT * 2 ** (tries - 1) if again.after is None else again.after
                too_late = until is not None and time.monotonic() + wait >= until
                if tries > self._retries or wait > self._longest_wait or too_late:
                    told = f"; it asks to wait {wait:.0f} s" if again.after else ""
                    raise EmbedderError(f"{again}{told}", kind=again.kind) from again
                time.sleep(wait)

    def _post(self, texts: list[str], timeout: float) -> object:
        """The JSON that the endpoint answers."""
        import urllib.error  # slow to import, and seldom needed
        import urllib.request
        from http.client import HTTPException

        body: dict[str, object] = {"model": self.name, "input": texts, "encoding_format": "float"}
        if self._shorten:
            body["dimensions"] = self._dimension
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "worlds-kg"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        request = urllib.request.Request(f"{self.url}/embeddings", json.dumps(body).encode(), headers, method="POST")
        deadline = time.monotonic() + timeout
        try:
            with self._opener.open(request, timeout=timeout) as response:
                answer = _read(response, deadline)
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error) from error
        except TimeoutError as error:
            raise self._again("timeout", f"did not answer within {timeout:.3g} s") from error
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise self._again("timeout", f"could not be connected to within {timeout:.3g} s") from error
            raise self._again("network", f"cannot be reached: {error.reason}") from error
        except (OSError, HTTPException) as error:
            raise self._again("network", f"broke the connection: {type(error).__name__}: {error}") from error
        try:
            return json.loads(answer)
        except ValueError as error:
            raise self._error("protocol", f"did not answer with JSON: {answer[:80]!r}") from error

    def _vectors(self, answer: object, count: int) -> NDArray[np.float32]:
        """The vectors in an answer, in the order of the texts, [n, d]."""
        try:
            entries: list[dict[str, Any]] = answer["data"]  # type: ignore[index]  # a wrong answer is caught
            places = [entry["index"] for entry in entries]
            with np.errstate(over="ignore"):
                rows = np.array([entry["embedding"] for entry in entries], np.float64).astype(np.float32)
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            told = _message(answer) or f"{type(error).__name__}: {error}"
            raise self._error("protocol", f"did not answer with embeddings: {told}") from error
        if sorted(places) != list(range(count)):
            raise self._error("protocol", f"gave {len(places)} vectors for {count} texts")
        if rows.ndim != 2 or not rows.shape[1]:
            raise self._error("protocol", f"gave vectors of shape {rows.shape[1:]}")
        if not np.isfinite(rows).all():
            raise self._error("protocol", "gave a vector with components that are not finite")
        ordered: NDArray[np.float32] = rows[np.argsort(places)]
        return ordered

    def _refusal(self, error: Any) -> EmbedderError:
        """An EmbedderError for an HTTP status, with the endpoint's message."""
        said = ""
        with contextlib.suppress(Exception):
            raw = error.read(_PIECE).decode("utf-8", "replace")
            said = raw
            said = _message(json.loads(raw)) or raw
        said = f"{error.code} {error.reason}" + (f": {' '.join(said.split())[:300]}" if said.strip() else "")
        if self._api_key:
            said = said.replace(self._api_key, "…")  # some endpoints repeat the key that they refuse
        if 300 <= error.code < 400:
            return self._error("protocol", f"redirects to {error.headers.get('Location')}; give that address as url")
        kind = _KINDS.get(error.code)
        kind = kind or ("server" if error.code >= 500 else "input" if error.code in _INPUT else "protocol")
        if kind in _TRANSIENT:
            return self._again(kind, f"answered {said}", _retry_after(error.headers.get("Retry-After")))
        remedy = "; check api_key" if kind == "auth" else "; check url and model" if error.code == 404 else ""
        return self._error(kind, f"answered {said}{remedy}")

    def _error(self, kind: str, what: str) -> EmbedderError:
        return EmbedderError(f"the embedding endpoint {self.url} {what}", kind=kind)

    def _again(self, kind: str, what: str, after: float | None = None) -> _AgainError:
        return _AgainError(f"the embedding endpoint {self.url} {what}", kind=kind, after=after)

    @cached_property
    def _opener(self) -> Any:
        import urllib.request

        class Staying(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *args: Any, **options: Any) -> None:
                return None  # a redirect would take the key to another host, and make a GET of the request

        return urllib.request.build_opener(Staying)


class _AgainError(EmbedderError):
    """A failure that may pass; `after` is how many seconds the endpoint asks to wait, None if it does not say."""

    def __init__(self, message: str, *, kind: str, after: float | None) -> None:
        self.after = after
        super().__init__(message, kind=kind)


def _read(response: Any, deadline: float) -> bytes:
    """The whole answer; TimeoutError when it is still coming at the deadline."""
    pieces: list[bytes] = []
    size = 0
    for piece in _pieces(response):
        pieces.append(piece)
        size += len(piece)
        if time.monotonic() > deadline:
            raise TimeoutError
        if size > _MOST_BYTES:
            raise OSError(f"more than {_MOST_BYTES} bytes")
    if response.length:
        raise OSError(f"{response.length} bytes are missing")
    return b"".join(pieces)


def _pieces(response: Any) -> Iterator[bytes]:
    while piece := response.read1(_PIECE):
        yield piece


def _message(answer: object) -> str:
    """The message in an endpoint's error, which has either of two usual forms."""
    found = answer.get("error") if isinstance(answer, dict) else None
    found = found.get("message") if isinstance(found, dict) else found
    return found if isinstance(found, str) else ""


def _retry_after(value: str | None) -> float | None:
    """Seconds that Retry-After asks to wait, given as a number or as a date (RFC 9110, 10.2.3)."""
    if not value:
        return None
    with contextlib.suppress(ValueError):
        seconds = float(value)
        return None if math.isnan(seconds) else max(seconds, 0.0)
    with contextlib.suppress(ValueError, TypeError):
        return max(email.utils.parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    return None
