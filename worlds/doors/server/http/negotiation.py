"""Media types: which of those that can be given a client wants most (RFC 9110, section 12.5.1), and what it sends."""

from __future__ import annotations

import re
from collections.abc import Sequence

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


def choose(accept: str | None, offers: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """The offer, a media type and a name, that an Accept header likes best; of equal ones the first.

    Without a header anything will do. NotAcceptable if it wants none of them.
    """
    if accept is None or not accept.strip():
        return offers[0]
    wanted = weights(accept)

    def weight(offer: tuple[str, str]) -> float:
        forms = (offer[0], f"{offer[0].partition('/')[0]}/*", "*/*", "*")  # the most exact counts
        return next((wanted[form] for form in forms if form in wanted), 0.0)

    if not weight(best := max(offers, key=weight)):
        types = ", ".join(dict.fromkeys(media_type for media_type, _ in offers))
        raise NotAcceptable(f"the requested type is not available; available are {types}")
    return best


def accepts_any(accept: str | None, *families: Sequence[tuple[str, str]]) -> None:
    """NotAcceptable if an Accept header wants nothing of all these."""
    choose(accept, [offer for family in families for offer in family])


def weights(header: str) -> dict[str, float]:
    """The values of an Accept header, or another of its kind, in lower case, with their weights from 0 to 1."""
    found: dict[str, float] = {}
    for part in header.lower().split(",", _MOST_RANGES)[:_MOST_RANGES]:
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weight = 1.0
        for key, _, value in (parameter.partition("=") for parameter in parameters):
            if key.strip() == "q":
                weight = float(value) if _QUALITY.fullmatch(value.strip()) else 0.0
        found[name] = max(weight, found.get(name, 0.0))
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
