"""Reads PDF in a process of its own, which may take so much time and memory: what a file can do ends with it.

Run as a program, it reads a PDF from standard input and writes what it says to standard output, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from typing import Any

from worlds.errors import ParseError, WorldsError

_SECONDS = 60
_BYTES = 2 << 30  # of memory
_CHARACTERS = 50_000_000
_PAGES = 100_000


def read_pdf(data: bytes, name: str | None) -> dict[str, Any]:
    """The texts of its pages, title, author, date, and unreadable pages; ParseError above the limits."""
    try:
        import pypdf  # noqa: F401  # the child needs it
    except ImportError as error:
        raise WorldsError("PDF needs pypdf: pip install 'worlds-kg[sources]'") from error
    try:
        command = [sys.executable, "-m", "worlds.extras.documents.pdf"]
        done = subprocess.run(command, input=data, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise ParseError(f"the PDF takes more than {_SECONDS} s to read", source=name) from error
    if done.returncode:
        told = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = told[-1][:200] if told else "it takes more memory than it may"
        raise ParseError(f"the PDF cannot be read: {reason}", source=name)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _read(stream: Any) -> dict[str, Any]:
    from pypdf import PdfReader

    reader = PdfReader(stream)
    if reader.is_encrypted and not reader.decrypt(""):
        raise ValueError("it has a password")
    pages: list[str] = []
    left = _CHARACTERS
    unread: dict[str, list[int]] = {}  # why → pages
    for page in reader.pages[:_PAGES]:
        text, why = "", "have no text, as a scan has none"
        try:
            text = page.extract_text()
        except MemoryError:
            raise
        except Exception as error:  # a page may be broken in any way, and the others not
            why = f"cannot be read ({error or type(error).__name__})"
        pages.append(text[:left])
        left -= len(pages[-1])
        if len(text) > len(pages[-1]):
            why = f"are beyond {_CHARACTERS:,} characters"
        if len(text) > len(pages[-1]) or not text.strip():
            unread.setdefault(why, []).append(len(pages))
    if len(reader.pages) > _PAGES:
        unread[f"are beyond {_PAGES:,}"] = list(range(_PAGES + 1, len(reader.pages) + 1))
    if len(pages) == sum(len(found) for why, found in unread.items() if why.startswith("cannot")) > 0:
        raise ValueError(next(iter(unread)))
    about = reader.metadata
    date = None
    with contextlib.suppress(Exception):  # a date may be anything
        date = about.creation_date.date().isoformat() if about and about.creation_date else None
    return {
        "pages": pages,
        "title": about and about.title,
        "author": about and about.author,
        "date": date,
        "unread": unread,
    }


def main() -> None:
    """Be the child."""
    import io
    import logging
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    logging.disable(logging.CRITICAL)
    try:
        told = _read(io.BytesIO(sys.stdin.buffer.read()))
    except Exception as error:  # whatever the library meets is the file's fault
        sys.stderr.write(f"{error or type(error).__name__}\n")
        sys.exit(1)
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
