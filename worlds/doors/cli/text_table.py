"""Plain tables: aligned columns that fit the terminal and lose nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, chop_cells

_GAP = "  "
_LEAST = 10  # cells of a column; where not all columns get as many, each row becomes a list
_MOST = 200  # cells of a column where there is no terminal to fit
NUMBER = re.compile(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?%?")


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None) -> Iterator[str]:
    """The lines of a table, the head first and a rule second. `width` in cells, None for no limit.

    Columns of numbers are set to the right. A cell that is too wide goes on in the next line. Where the columns do
    not fit side by side, each row is a list of its values.
    """
    widths = [cell_len(name) for name in head]
    numbers = [bool(rows)] * len(head)
    for row in rows:
        for column, cell in enumerate(row):
            widths[column] = max(widths[column], cell_len(cell))
            numbers[column] = numbers[column] and (not cell or NUMBER.fullmatch(cell) is not None)
    room = _MOST * len(head) if width is None else width - len(_GAP) * (len(head) - 1)
    if width is not None and sum(min(each, _LEAST) for each in widths) > room:
        yield from _lists(head, rows, width)
        return
    widths = _fitted(widths, room, _MOST if width is None else room)
    yield from _lines(head, widths, numbers)
    yield _GAP.join("─" * each for each in widths)
    for row in rows:
        yield from _lines(row, widths, numbers)


def _fitted(widths: list[int], room: int, most: int) -> list[int]:
    """The widths, the widest ones cut to one common width such that all fit into `room`."""
    widths = [min(each, most) for each in widths]
    if sum(widths) <= room:
        return widths
    left, cap = room, 0
    for place, each in enumerate(sorted(widths)):
        cap = left // (len(widths) - place)
        if each > cap:
            break
        left -= each
    return [min(each, max(cap, 1)) for each in widths]


def _lines(row: Sequence[str], widths: list[int], numbers: list[bool]) -> Iterator[str]:
    parts = [
        [cell] if cell_len(cell) <= width else folded(cell, width) for cell, width in zip(row, widths, strict=True)
    ]
    for line in range(max(map(len, parts), default=1)):
        cells = []
        for part, width, number in zip(parts, widths, numbers, strict=True):
            text = part[line] if line < len(part) else ""
            space = " " * (width - cell_len(text))
            cells.append(space + text if number else text + space)
        yield _GAP.join(cells).rstrip()


def _lists(head: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    names = max(map(cell_len, head))
    room = max(width - names - len(_GAP), _LEAST)
    for number, row in enumerate(rows, 1):
        yield f"─── {number}"
        for name, cell in zip(head, row, strict=True):
            if cell:
                yield from _lines((name, cell), [names, room], [False, False])


def folded(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells, broken between words where it can be."""
    lines: list[str] = []
    line, used = "", 0
    for word in text.split(" "):
        size = cell_len(word)
        if line and used + 1 + size <= width:
            line += f" {word}"
            used += 1 + size
            continue
        if line:
            lines.append(line)
        *full, line = chop_cells(word, width) or [""]
        lines += full
        used = cell_len(line)
    return [*lines, line]
