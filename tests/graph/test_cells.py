"""Cells of CSV that are safe to open, and records that tell their lines."""

from __future__ import annotations

import csv
import io

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.errors import ParseError
from worlds.graph.cells import MOST, cell, escaped, fits, records, unescaped
from worlds.graph.patches import read_patch
from worlds.graph.query.results import Solutions

FORMULAS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
TEXTS = st.builds(
    "".join, st.lists(st.sampled_from([*FORMULAS, "'", "1", ".5", "e3", "INF", "x", "😀", ""]), max_size=6)
)


@given(TEXTS, st.booleans())
def test_no_cell_is_a_formula_and_every_text_comes_back(text: str, number: bool) -> None:
    told = escaped(text, number=number)
    assert unescaped(told) == text
    if told.startswith(FORMULAS):
        assert number
        float(told)  # a number stays one
        assert told == text
    assert cell(text, "all", number=number) == told


def test_every_mark_that_begins_a_formula_is_escaped() -> None:
    assert [escaped(f"{mark}x") for mark in FORMULAS] == [f"'{mark}x" for mark in FORMULAS]


@pytest.mark.parametrize("number", ["-5", "+1", "-0.5", "-.5", "-1.5e-3", "-INF", "5", "-5."])
def test_a_number_stays_a_number(number: str) -> None:
    assert escaped(number, number=True) == number
    assert escaped(number) in (number, f"'{number}")


@pytest.mark.parametrize("length", [MOST // 2, MOST - 1, MOST, 100_000])
@pytest.mark.parametrize("text", ["x", "=", "😀", "'"])
def test_a_cell_is_no_longer_than_excel_takes_and_says_what_is_cut(text: str, length: int) -> None:
    whole = text * length
    told = cell(whole, "JSON")
    units = len(told.encode("utf-16-le")) // 2
    assert units <= MOST
    assert fits(whole) == (told == escaped(whole))
    if not fits(whole):
        assert told.endswith(f"… [cut: {length:,} characters, the whole is in JSON]")
        assert units > MOST - 3


@given(st.lists(st.lists(st.sampled_from(["", "a", 'say "x"', "two\nlines", "a,b", "\r"]), min_size=1), min_size=1))
def test_records_are_those_of_csv_with_their_lines(rows: list[list[str]]) -> None:
    out = io.StringIO(newline="")
    writer, line, want = csv.writer(out), 3, []
    for row in rows:
        before = out.tell()
        writer.writerow(row)
        want.append((line, row))
        line += len(io.StringIO(out.getvalue()[before:], newline="").readlines())
    assert list(records(io.StringIO(out.getvalue(), newline=""), "t.csv", first=3)) == want


@pytest.mark.parametrize(
    ("text", "line"),
    [('a\n"b\nc', 2), ('a\n\n"b" x\n', 3), ('"a\nb",c\n"d\n', 3), ("x\n" + "y" * (1 << 24) + "yy\n", 2)],
)
def test_a_wrong_quote_names_its_line(text: str, line: int) -> None:
    with pytest.raises(ParseError) as caught:
        list(records(io.StringIO(text, newline=""), "t.csv"))
    assert (caught.value.source, caught.value.line) == ("t.csv", line)


def test_results_are_safe_to_open_as_csv() -> None:
    number = ox.Literal("-5", datatype=ox.NamedNode("http://www.w3.org/2001/XMLSchema#integer"))
    found = Solutions([{"x": ox.Literal("=1+1"), "y": number}, {"x": ox.Literal("a" * MOST), "y": None}], ["x", "y"])
    rows = list(csv.reader(io.StringIO(found.serialize("csv"), newline="")))
    assert rows[1] == ["'=1+1", "-5"]
    assert Solutions([{"x": ox.Literal("-5")}], ["x"]).serialize("csv") == "x\r\n'-5\r\n"
    assert rows[2][0].endswith("the whole is in JSON and TSV]")
    assert f'"{"a" * MOST}"' in found.serialize("tsv")


@pytest.mark.parametrize("value", ["1", "-1.5", "true", "<urn:a>", '"x"'])
def test_a_patch_with_any_header_names_the_line_that_is_wrong(value: str) -> None:
    text = f'H version {value} .\nTX .\nA <urn:a> <urn:b> "x" .\nA <urn:a> <urn:b "x" .\nTC .\n'
    with pytest.raises(ParseError) as caught:
        list(read_patch(io.BytesIO(text.encode()), "p"))
    assert (caught.value.source, caught.value.line) == ("p", 4)
    deep = f"A <urn:a> <urn:b> <urn:c> .\nA <urn:a> <urn:b> {'<<( <urn:a> <urn:b> ' * 1100}<urn:c>{' )>>' * 1100} .\n"
    with pytest.raises(ParseError, match="p, line 2, column 1: triple terms are nested"):
        list(read_patch(io.BytesIO(deep.encode()), "p"))
