"""The web page of a world: a shell, and static files that need nothing from anywhere else.

`shell` answers a GET of a world's own address and of `/`; `routes` serves the files at `/page/…`. What is served was
read once and is kept in memory, plain and compressed, under its name: no path of a request ever reaches the disk.
"""

from __future__ import annotations

import gzip
import hashlib
import html
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from worlds.doors.server.http.negotiation import weights
from worlds.doors.server.problem_documents import NotFound

FOLDER = Path(__file__).with_name("page")
EDITOR = "vendor/editor.min.js"
"""The editor, where the package was built with Node.js; without it the page has a plain one."""

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_LEAST = 500  # bytes, below which compression gains nothing

SECURITY = {
    # No inline script, no inline style, nothing from another origin, and nobody may frame the page.
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""The headers of the shell and of each file."""


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page: as it is, and compressed where that is shorter."""

    body: bytes
    compressed: bytes | None
    media_type: str
    etag: str

    @classmethod
    def of(cls, body: bytes, media_type: str) -> Asset:
        """An asset with these bytes."""
        compressed = gzip.compress(body, 9, mtime=0) if len(body) >= _LEAST else None
        if compressed is not None and len(compressed) >= len(body):
            compressed = None
        return cls(body, compressed, media_type, f'"{hashlib.sha256(body).hexdigest()[:24]}"')


@cache
def assets() -> Mapping[str, Asset]:
    """The files under `/page/` by their names."""
    return {
        path.relative_to(FOLDER).as_posix(): Asset.of(path.read_bytes(), _TYPES[path.suffix])
        for path in sorted([*FOLDER.glob("*"), *FOLDER.glob("vendor/*")])
        if path.suffix in _TYPES and path.is_file()
    }


@lru_cache(maxsize=64)
def _shell(base: str, world: str) -> Asset:
    text = (FOLDER / "index.html").read_text("utf-8")
    editor = "full" if EDITOR in assets() else "plain"
    given = f'data-base="{html.escape(base)}" data-world="{html.escape(world)}" data-editor="{editor}"'
    return Asset.of(
        text.replace('data-base="" data-world="" data-editor="plain"', given).encode(), "text/html; charset=utf-8"
    )


def shell(request: Request, *, base: str = "", world: str | None = None, status: int = 200) -> Response:
    """The page. `base` is the path before the world's routes, `world` its name; without one it lists the worlds."""
    answer = _answer(request, _shell(base, world or ""))
    if answer.status_code == 200:
        answer.status_code = status
    return answer


def file(request: Request) -> Response:
    """One of the page's files."""
    found = assets().get(request.path_params["name"])
    if found is None:
        raise NotFound("the page has no such file")
    return _answer(request, found)


def routes() -> list[Route]:
    """The routes of the page's files."""
    return [Route("/page/{name:path}", file, methods=["GET"], include_in_schema=False)]


def _answer(request: Request, asset: Asset) -> Response:
    # Browsers ask each time whether it changed, and get a 304 without a body: an update of the server shows at once.
    headers = {**SECURITY, "ETag": asset.etag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
    if _matches(request.headers.get("if-none-match", ""), asset.etag):
        return Response(status_code=304, headers=headers)
    body = asset.body
    if asset.compressed is not None and _takes_gzip(request.headers.get("accept-encoding", "")):
        body = asset.compressed
        headers["Content-Encoding"] = "gzip"
    return Response(body, headers=headers, media_type=asset.media_type)


def _matches(header: str, etag: str) -> bool:
    """Whether If-None-Match names the tag; the comparison is the weak one of RFC 9110, 13.1.2."""
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return etag in tags or tags == ["*"]


def _takes_gzip(header: str) -> bool:
    """Whether Accept-Encoding allows gzip (RFC 9110, 12.5.3)."""
    allowed = weights(header)
    return allowed.get("gzip", allowed.get("*", 0.0)) > 0
