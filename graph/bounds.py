"""Refuses documents whose nesting would end the process, or keep it busy for hours, before their parser sees them.

pyoxigraph's parsers recurse where terms, XML elements of triple terms and JSON-LD nodes and contexts are nested: some
thousand levels are more than a stack holds. Blank nodes in brackets, collections and formulas are safe at any depth.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, Protocol
from xml.parsers import expat

import numpy as np

from worlds.errors import ParseError


class Bounds(Protocol):
    """Looks at a document before its parser does."""

    def check(self, data: bytes) -> bytes | None:
        """Look at the next piece; an empty one is the document's end. ParseError for what must not be parsed.

        Gives what is to be parsed in its place, None for the piece itself.
        """


def bounds(format: str, name: str) -> Bounds:
    """The check of a document of a format but RDF/XML; `name` is the document's, for the errors."""
    return Json(name) if format == "jsonld" else TripleTerms(name)


# --- triple terms -------------------------------------------------------------------------------------------


class TripleTerms:
    """Refuses triple terms inside one another, in N-Triples, N-Quads, Turtle, TriG, N3 and patches.

    On the way in there is no literal, for these are no subjects: the counting begins anew where a quotation mark
    stands. What follows `#` may be a comment or part of a text: at the end of the line the greater of both counts.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name
        self._depth = 0
        self._before_comment = 0
        self._rest = b""  # what may be the beginning of a mark

    def check(self, data: bytes) -> None:
        """Check the next piece of the document before the parser reads it; ParseError for deep nesting."""
        data = self._rest + data
        self._rest = data[len(data.rstrip(b"<\\")) :][-3:]
        if not (self._depth or self._before_comment) and b"<<(" not in data:
            return
        for found in _MARKS(data, 0, len(data) - len(self._rest)):
            mark = found[0]
            if mark == b"<<(":
                self._depth += 1
                if self._depth > _DEEPEST_TERMS:
                    raise ParseError("triple terms are nested deeper than 100", source=self._name)
            elif mark == b"#":
                self._before_comment = max(self._before_comment, self._depth)
            elif mark in (b"\r", b"\n"):
                self._depth, self._before_comment = max(self._depth, self._before_comment), 0
            elif mark in (b'"', b"'", b">>"):
                self._depth = 0


# An IRI may hold `#`, and a name `\'`.
_MARKS = re.compile(rb"""<[^\x00-\x20<>"{}|^`\\]*>|\\[^\r\n]|<<\(|>>|["'#\r\n]""").finditer
_DEEPEST_TERMS = 1000  # more than what a world takes, for a text may hold some of these marks


# --- RDF/XML ------------------------------------------------------------------------------------------------


class Xml:
    """Refuses deeply nested XML, XML that is not well-formed at its end, and entities with long texts.

    The time of the parser grows with the square of the depth, and with that of the number of attributes. It does not
    complain of a document that breaks off between two elements. Ten lines of nested entities can make a terabyte.
    """

    def __init__(self, name: str | None = None) -> None:
        self._name = name
        self._text = b""  # what may hold the beginning of a declaration
        self._lengths: dict[bytes, int] = {}
        self._wrong: ParseError | None = None
        self._expat = expat.ParserCreate()
        self._expat.ordered_attributes = True
        self._expat.StartElementHandler = self._begin
        self._begun, self._ended = 0, list[str]()
        self._expat.EndElementHandler = self._ended.append  # half the time of a function in Python

    def check(self, data: bytes) -> bytes | None:
        """Look at the next piece of the document, before the parser does; an empty one is its end."""
        self._refuse_long_entities(data)
        if self._wrong is None:
            try:
                self._expat.Parse(data, not data)
                self._begun -= len(self._ended)
                self._ended.clear()
            except expat.ExpatError as error:
                message = f"the XML is not well-formed: {expat.errors.messages[error.code]}"
                self._wrong = ParseError(message, source=self._name, line=error.lineno, column=error.offset + 1)
        if not data and self._wrong is not None:  # until then it is the parser's to complain, which says more
            raise self._wrong
        return None

    def _begin(self, _: str, attributes: list[str]) -> None:
        self._begun += 1
        if self._begun - len(self._ended) > _DEEPEST_XML:
            self._refuse(f"elements are nested deeper than {_DEEPEST_XML:,}")
        if len(attributes) > 2 * _MOST_ATTRIBUTES:
            self._refuse(f"an element has more than {_MOST_ATTRIBUTES:,} attributes")

    def _refuse(self, message: str) -> NoReturn:
        line, column = self._expat.CurrentLineNumber, self._expat.CurrentColumnNumber + 1
        raise ParseError(message, source=self._name, line=line, column=column)

    def _refuse_long_entities(self, data: bytes) -> None:
        self._text += data
        begin = 0
        while (begin := self._text.find(b"<!ENTITY", begin)) >= 0:
            found = _ENTITY.match(self._text, begin)
            if found is None:
                self._text = self._text[begin:]
                if len(self._text) > _LONGEST_DECLARATION:
                    raise ParseError("an XML entity is declared at too great length", source=self._name)
                return
            self._declare(found[1], found[2] or found[3] or b"")
            begin = found.end()
        self._text = self._text[-len(b"<!ENTITY") :]

    def _declare(self, name: bytes, value: bytes) -> None:
        length = len(value) + sum(self._lengths.get(other, 0) for other in _REFERENCE.findall(value))
        if length > _LONGEST_ENTITY:
            shown = name.decode(errors="replace")
            message = f"the XML entity {shown!r} stands for more than {_LONGEST_ENTITY:,} bytes"
            raise ParseError(message, source=self._name)
        self._lengths[name] = length


_ENTITY = re.compile(rb"""<!ENTITY\s*+%?+\s*+([^\s"']++)[^"']*+(?:"([^"]*)"|'([^']*)')""")
_REFERENCE = re.compile(rb"&([^;&\s]+);")
_LONGEST_ENTITY = 1000
_LONGEST_DECLARATION = 100_000
_DEEPEST_XML = 1000
_MOST_ATTRIBUTES = 1000


# --- JSON-LD ------------------------------------------------------------------------------------------------


class Json:
    """Refuses JSON that nests deep, and contexts whose terms are defined by each other in a long row."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name
        self._depth = 0
        self._in_string = False
        self._rest = b""  # half an escape
        self._text = b""  # what may hold the beginning of a context
        self._ends_at: int | None = None  # the depth around the context that is not at its end

    def check(self, data: bytes) -> None:
        """Look at the next piece of the document, before the parser does; an empty one is its end."""
        lowest = self._refuse_deep(data)
        self._text += data
        if self._ends_at is None or lowest <= self._ends_at or len(self._text) > _LONGEST_CONTEXT:
            self._refuse_rows()

    def _refuse_deep(self, data: bytes) -> int:
        """Count the brackets; gives the lowest depth of the piece."""
        data = self._rest + data
        self._rest = _half_escape(data)
        marks = data[: len(data) - len(self._rest)]
        if b"\\" in marks:
            marks = marks.replace(b"\\\\", b"").replace(b'\\"', b"")
        marks = marks.translate(None, _NO_MARKS)
        # What is left of most strings are two quotation marks; to take these away leaves all others as they are.
        parts = ((b'"' if self._in_string else b"") + marks).replace(b'""', b"").split(b'"')
        self._in_string = len(parts) % 2 == 0
        outside = np.frombuffer(b"".join(parts[::2]), np.uint8)
        if not len(outside):
            return self._depth
        depths = self._depth + np.cumsum(3 - (outside & 6).astype(np.int8), dtype=np.int64)  # { [ are 1, } ] are -1
        self._depth = int(depths[-1])
        if depths.max() > _DEEPEST_JSON:
            raise ParseError(f"the JSON is nested deeper than {_DEEPEST_JSON}", source=self._name)
        return int(depths.min())

    def _refuse_rows(self) -> None:
        text, self._ends_at = self._text, None
        done = 0
        if b"@context" in text or b"\\u00" in text:
            decoded = text.decode("latin-1")
            for found in _CONTEXT(decoded):
                if found.start() < done:
                    continue  # inside the one before
                try:
                    context, done = _DECODER.raw_decode(decoded, found.end())
                except RecursionError:  # quotation marks that others miss can make it deeper here than in all
                    raise ParseError("the JSON is nested too deep", source=self._name) from None
                except ValueError:  # it is not at its end, or wrong, which its parser says
                    self._text = text[found.start() :]
                    if len(self._text) > _LONGEST_CONTEXT:
                        message = f"a context has more than {_LONGEST_CONTEXT:,} bytes"
                        raise ParseError(message, source=self._name) from None
                    inside = Json()
                    inside._refuse_deep(text[found.end() :])
                    self._ends_at = self._depth - inside._depth if inside._depth > 0 else None
                    return
                if done - found.start() > _SHORT_CONTEXT and any(map(_has_row, _objects(context))):
                    message = f"more than {_LONGEST_ROW} terms of a context are defined by each other in a row"
                    raise ParseError(message, source=self._name)
        self._text = text[max(done, len(text) - _LONGEST_KEY) :]


def _half_escape(data: bytes) -> bytes:
    """The beginning of an escape, as which a piece ends."""
    begin = data.rfind(b"\\", max(0, len(data) - 5))
    if begin < 0 or data[begin + 1 : begin + 2] not in (b"", b"u"):
        return b""
    run = begin + 1 - len(data[: begin + 1].rstrip(b"\\"))
    return data[begin:] if run % 2 else b""


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    todo = [value]
    while todo:
        value = todo.pop()
        if isinstance(value, dict):
            yield value
            todo += value.values()
        elif isinstance(value, list):
            todo += value


def _has_row(context: Mapping[str, Any]) -> bool:
    """Whether the definition of a term takes others, and these others, and so on beyond the limit; or for ever."""
    needs: dict[str, set[str]] = {}
    for term, value in context.items():
        given = [value.get(key) for key in ("@id", "@reverse", "@type")] if isinstance(value, dict) else [value]
        texts = [term, *(text for text in given if isinstance(text, str))]
        used = {name for text in texts for name in (text, text.partition(":")[0]) if name in context}
        needs[term] = used - {term}
    for _ in range(_LONGEST_ROW):
        needs = {term: left for term, used in needs.items() if (left := used & needs.keys())}
    return bool(needs)


def _either(word: str) -> str:
    return "".join(rf"(?:{letter}|\\u{ord(letter):04x})" for letter in word)


_NO_MARKS = bytes(set(range(256)) - set(b'"{}[]'))
_CONTEXT = re.compile(rf'"{_either("@context")}"\s*(?::\s*|\Z)', re.IGNORECASE).finditer
_DECODER = json.JSONDecoder(strict=False)
_DEEPEST_JSON = 200
_LONGEST_KEY = 50  # bytes of "@context", every letter as an escape
_SHORT_CONTEXT = 10_000  # bytes
_LONGEST_CONTEXT = 1 << 22
_LONGEST_ROW = 10
