"""Documents fetched from addresses on the network, of hosts that are allowed by name."""

from __future__ import annotations

import base64
import contextlib
import os
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from worlds.errors import OpenError

_TIMEOUT = 60  # seconds without a byte


@dataclass(frozen=True, slots=True)
class Fetched:
    """The answer of an address: its bytes, the media type that it names, and the URL that it led to."""

    data: bytes
    media: str
    url: str


def fetched(
    url: str, hosts: Collection[str], user: str | None, variable: str | None, *, most: int, accept: str = "*/*"
) -> Fetched:
    """The bytes of an address, at most so many, its host being one of `hosts`.

    `variable` names the environment variable that holds the password of `user`, or, without a user, a bearer token; no
    other host is shown it. OpenError.
    """
    authorization = None
    if variable is not None:
        secret = os.environ.get(variable)
        if secret is None:
            raise OpenError(f"{url} was not fetched: the environment variable {variable} is not set")
        pair = base64.b64encode(f"{user}:{secret}".encode()).decode()
        authorization = f"Bearer {secret}" if user is None else f"Basic {pair}"
    response = response_of(url, hosts, accept, authorization)
    with contextlib.closing(response):
        try:
            data = response.read(most + 1)
        except (OSError, ValueError) as error:
            raise OpenError(f"{url} cannot be fetched: {error}") from error
    if len(data) > most:
        raise OpenError(f"{url} has more than {most >> 20} MiB")
    return Fetched(data, response.headers.get_content_type(), response.geturl())


def response_of(url: str, allow_network: bool | Collection[str], accept: str, authorization: str | None = None) -> Any:
    """The response of an address; its host, and the hosts of its redirects, must be allowed; OpenError."""
    import urllib.request  # slow to import, and seldom needed
    from http.client import HTTPException

    hosts = {allow_network} if isinstance(allow_network, str) else allow_network

    def allow(target: str) -> None:
        parts = urlsplit(target)
        if parts.scheme.lower() in ("http", "https") and (
            hosts is True or (not isinstance(hosts, bool) and (parts.hostname or "") in hosts)
        ):
            return
        raise OpenError(
            f"{target} was not fetched: the network is not allowed for it; "
            f"allow_network=True allows every host, allow_network=[{parts.hostname!r}] this one"
        )

    class Redirects(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *args: Any, **options: Any) -> urllib.request.Request | None:
            allow(args[-1])  # an allowed host must not lead to one that is not
            return super().redirect_request(*args, **options)

    allow(url)
    request = urllib.request.Request(url, headers={"Accept": accept})
    if authorization is not None:
        request.add_unredirected_header("Authorization", authorization)
    try:
        return urllib.request.build_opener(Redirects).open(request, timeout=_TIMEOUT)
    except (OSError, HTTPException, ValueError) as error:
        raise OpenError(f"{url} cannot be fetched: {error}") from error
