"""Media types: which of those that can be given a client wants most (RFC 9110, section 12.5.1), and what it sends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from worlds.doors.server.problem_documents import NotAcceptable, UnsupportedType

# What the server prefers stands first. The second is the name that the library knows the format by.
RESULTS: tuple[tuple[str, str], ...] = (
    ("application/sparql-results+json", "json"),
    ("application/sparql-results+xml", "xml"),
    ("text/csv", "csv"),
    ("text/tab-separated-values", "tsv"),
    ("application/json", "json"),
    ("application/xml", "xml"),
)
"""Media types of solutions, and of the answer to an ASK."""
GRAPHS: tuple[tuple[str, str], ...] = (
    ("text/turtle", "turtle"),
    ("application/n-triples", "nt"),
    ("application/rdf+xml", "rdfxml"),
    ("application/ld+json", "jsonld"),
    ("application/trig", "trig"),
    ("application/n-quads", "nq"),
    ("text/n3", "n3"),
)
"""Media types of a graph."""

_QUALITY = re.compile(r"0(\.[0-9]*)?|\.[0-9]+|1(\.0*)?")
_UTF8 = ("utf-8", "utf8", "us-ascii", "ascii")
_MOST_RANGES = 100  # of an Accept header that are looked at


@dataclass(frozen=True)
class _Range:
    """A media range of an Accept header."""

    type: str
    subtype: str
    quality: float

    def specificity(self, media_type: str) -> int:
        """How exactly it names a media type: 0 if it does not, 3 if it is the same."""
        type_, _, subtype = media_type.partition("/")
        if (self.type, self.subtype) == (type_, subtype):
            return 3
        if (self.type, self.subtype) == (type_, "*"):
            return 2
        return int((self.type, self.subtype) == ("*", "*"))


def choose(accept: str | None, offers: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The offer, a media type and a name, that an Accept header likes best; of equal ones the first.

    Without a header anything will do. NotAcceptable if it wants none of them.
    """
    if accept is None or not accept.strip():
        return offers[0]
    ranges = _ranges(accept)
    best, quality = offers[0], 0.0
    for offer in offers:
        fitting = [(found, one.quality) for one in ranges if (found := one.specificity(offer[0]))]
        if fitting and max(fitting)[1] > quality:
            best, quality = offer, max(fitting)[1]
    if not quality:
        types = ", ".join(dict.fromkeys(media_type for media_type, _ in offers))
        raise NotAcceptable(f"the requested type is not available; available are {types}")
    return best


def accepts_any(accept: str | None, *families: Sequence[tuple[str, str]]) -> None:
    """NotAcceptable if an Accept header wants nothing of all these."""
    choose(accept, [offer for family in families for offer in family])


def _ranges(accept: str) -> list[_Range]:
    """Its media ranges, without malformed ones; of their parameters only the quality counts."""
    found = []
    for part in accept.split(",", _MOST_RANGES)[:_MOST_RANGES]:
        media_range, *parameters = (piece.strip().lower() for piece in part.split(";"))
        type_, slash, subtype = ("*/*" if media_range == "*" else media_range).partition("/")
        quality = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                quality = float(value) if _QUALITY.fullmatch(value.strip()) else 0.0
        if slash and type_ and subtype:
            found.append(_Range(type_, subtype, quality))
    return found


def with_charset(media_type: str) -> str:
    """The Content-Type for a media type: texts say that they are UTF-8."""
    return f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type


def type_of(content_type: str) -> str:
    """The media type that a Content-Type names, "" if none; UnsupportedType for another encoding than UTF-8."""
    media_type, *parameters = content_type.lower().split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset" and value.strip().strip('"') not in _UTF8:
            raise UnsupportedType(f"a body is in UTF-8, not in {value.strip()[:40]}")
    return media_type.strip()
