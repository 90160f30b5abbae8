"""The answers of a child process on their way to the parent: written there, read here.

Solutions go as TSV, which is read twice as fast as JSON but has no rows without columns, triples as N-Triples.
pyoxigraph reads these in time that grows with the square of a line's length, and refuses lines beyond 16 MB; so it gets
whole lines, many at a time, and what is long is read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyoxigraph as ox

from worlds.graph.query.query_limits import ChildOutput

_TSV, _JSON = ox.QueryResultsFormat.TSV, ox.QueryResultsFormat.JSON
_TOGETHER = 1 << 18  # bytes, at least, of the lines that are parsed together
_LONG = 1 << 16  # bytes of a line that pyoxigraph does not get
_ESCAPED = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\"": '"', r"\'": "'", r"\b": "\b", r"\f": "\f"}
_CODE_POINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")

Read = Callable[[int], bytes]


class Solution:
    """A solution that pyoxigraph did not make; it is read as pyoxigraph's own."""

    __slots__ = ("_names", "_terms")

    def __init__(self, names: Sequence[str], terms: Sequence[Any]) -> None:
        self._names = names
        self._terms = terms

    def __getitem__(self, key: Any) -> Any:
        return self._terms[key if isinstance(key, int) else self._names.index(getattr(key, "value", key))]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._terms)

    def __len__(self) -> int:
        return len(self._terms)


def write(found: ox.QuerySolutions | ox.QueryTriples | ox.QueryBoolean, out: ChildOutput) -> None:
    """Write a letter for the kind of an answer, and the answer."""
    if isinstance(found, ox.QuerySolutions):
        out.write(b"T" if found.variables else b"J")
        found.serialize(out, format=_TSV if found.variables else _JSON)  # type: ignore[arg-type]  # a stream
    elif isinstance(found, ox.QueryTriples):
        out.write(b"N")
        found.serialize(out, format=ox.RdfFormat.N_TRIPLES)  # type: ignore[arg-type]  # a stream
    else:
        out.write(b"1" if found else b"0")


def read_solutions(read: Read) -> tuple[list[ox.Variable], Iterator[Any]]:
    """The variables and the solutions that were written after a `T`."""
    blocks = _blocks(read)
    head, _, first = next(blocks).partition(b"\n")
    head += b"\n"
    names = [name[1:] for name in head.decode().rstrip("\n").split("\t")]

    def solutions() -> Iterator[Any]:
        for block in _before(first, blocks):
            if len(block) > _LONG and block.find(b"\n") == len(block) - 1:
                yield _long_solution(block.decode().rstrip("\n"), names)
            elif block:
                # A list, since what pyoxigraph reads from may be dropped by the thread alone that made it.
                yield from list(ox.parse_query_results(head + block, format=_TSV))  # type: ignore[arg-type]

    return [ox.Variable(name) for name in names], solutions()


def read_empty_solutions(read: Read) -> Iterator[Any]:
    """The solutions without variables that were written after a `J`."""
    text = b"".join(iter(lambda: read(1 << 20), b""))
    return iter(list(ox.parse_query_results(text, format=_JSON)))  # type: ignore[arg-type]  # solutions


def read_triples(read: Read) -> Iterator[ox.Triple]:
    """The triples that were written after an `N`."""
    for block in _blocks(read):
        if len(block) > _LONG and block.find(b"\n") == len(block) - 1:
            yield _triple(block.decode().rstrip("\n").removesuffix("."))
        else:
            quads = ox.parse(block, format=ox.RdfFormat.N_TRIPLES, lenient=True)
            yield from (quad.triple for quad in quads)


def _before(first: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    yield from _cut(first)
    yield from blocks


def _blocks(read: Read) -> Iterator[bytes]:
    """Whole lines, many together, and each that is long alone."""
    pieces: list[bytes] = []
    size = 0
    ends = False  # whether a line ends in the pieces
    while piece := read(1 << 20):
        pieces.append(piece)
        size += len(piece)
        ends = ends or b"\n" in piece
        if ends and size >= _TOGETHER:
            lines, newline, rest = b"".join(pieces).rpartition(b"\n")
            pieces, size, ends = [rest], len(rest), False
            yield from _cut(lines + newline)
    yield from _cut(b"".join(pieces))


def _cut(lines: bytes) -> Iterator[bytes]:
    """The lines, with long lines apart."""
    begin = at = 0
    while at < len(lines):
        # Whether a line is long is seen from where it begins: none shorter spans so many bytes without an end.
        end = lines.find(b"\n", at) + 1 or len(lines)
        if end - at > _LONG:
            if begin < at:
                yield lines[begin:at]
            yield lines[at:end]
            begin = at = end
        else:  # on to the last line that ends within the next so many bytes
            at = lines.rfind(b"\n", at, at + _LONG) + 1 or end
    if begin < len(lines):
        yield lines[begin:]


def _long_solution(line: str, names: Sequence[str]) -> Solution:
    return Solution(names, [_term(cell) if cell else None for cell in line.split("\t")])


def _triple(line: str) -> ox.Triple:
    subject, predicate, value = line.strip().split(" ", 2)
    return ox.Triple(_term(subject), _term(predicate), _term(value.strip()))


def _term(text: str) -> Any:
    """A term as pyoxigraph writes it in TSV and N-Triples."""
    if text.startswith("<<("):
        return _triple(text.removeprefix("<<(").removesuffix(")>>"))
    if len(text) <= _LONG:
        (solution,) = ox.parse_query_results(f"?x\n{text}\n", format=_TSV)  # type: ignore[misc]  # solutions
        return solution[0]
    if text.startswith("<"):
        return ox.NamedNode(_unescaped(text[1:-1]))
    end = text.rindex('"')
    value, kind = _unescaped(text[1:end]), text[end + 1 :]
    if kind.startswith("^^"):
        return ox.Literal(value, datatype=_term(kind[2:]))
    language, _, direction = kind[1:].partition("--")
    if direction:
        return ox.Literal(value, language=language, direction=ox.BaseDirection(direction))
    return ox.Literal(value, language=language) if language else ox.Literal(value)


def _unescaped(text: str) -> str:
    return "\\".join(map(_without_escapes, text.split("\\\\"))) if "\\" in text else text


def _without_escapes(text: str) -> str:
    for escape, character in _ESCAPED.items():
        text = text.replace(escape, character)
    return _CODE_POINT.sub(lambda match: chr(int(match[1] or match[2], 16)), text) if "\\" in text else text


def distinct(triples: Iterable[ox.Triple]) -> Iterable[ox.Triple]:
    """Each triple once, in their order."""
    seen: set[ox.Triple] = set()

    def is_new(triple: ox.Triple) -> bool:
        known = triple in seen
        seen.add(triple)
        return not known

    return filter(is_new, triples)
