"""What tables look like that others made: every cell lands under a predicate of its own, or what is wrong is named."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl  # type: ignore[import-untyped]
import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import worlds
from worlds.errors import ParseError
from worlds.extras.sources.tables.mapping import read_mapping
from worlds.extras.sources.tables.mapping_proposal import Known, propose
from worlds.extras.sources.tables.quads import RowNotes, triples
from worlds.extras.sources.tables.rows import Table

EX = "https://example.org/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def proposed(file: Path) -> dict[str, Any]:
    return propose(file, Known({}, lambda names: {}), EX)


def loaded(file: Path, given: Any = None) -> tuple[list[ox.Quad], list[str]]:
    """The triples of a table, and the notes, by a mapping that is given or proposed."""
    mapping = read_mapping(given or proposed(file), {"ex": EX})
    told = RowNotes(mapping, given=given is not None)
    lines = "".join(triples(Table(file, mapping.dialect), mapping, told))
    return list(ox.parse(lines.encode(), ox.RdfFormat.N_TRIPLES)), told.notes()


def columns(file: Path, given: Any = None) -> dict[str, list[str]]:
    """Predicate, without `EX` → its values."""
    found: dict[str, list[str]] = {}
    for quad in loaded(file, given)[0]:
        if not quad.predicate.value.endswith("#type"):
            found.setdefault(quad.predicate.value.removeprefix(EX), []).append(getattr(quad.object, "value", ""))
    return {predicate: sorted(values) for predicate, values in found.items()}


def written(folder: Path, text: str, name: str = "t.csv") -> Path:
    file = folder / name
    file.write_text(text, newline="", encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("id,score,score\n1,10,20\n2,30,40\n", {"id": ["1", "2"], "score": ["10", "30"], "score2": ["20", "40"]}),
        ("id,a b,a-b,a_b\n1,x,v,z\n", {"id": ["1"], "aB": ["x"], "aB2": ["v"], "aB3": ["z"]}),
        ("id,a,a2,a\n1,x,v,z\n", {"id": ["1"], "a": ["x"], "a2": ["v"], "a3": ["z"]}),
        (",id,a\n0,q,x\n1,r,y\n", {"col1": ["0", "1"], "id": ["q", "r"], "a": ["x", "y"]}),
        ("id,a,\nq,x,\nr,y,\n", {"id": ["q", "r"], "a": ["x", "y"]}),
        ("id,a\nq,x,,\nr,y,,\n", {"id": ["q", "r"], "a": ["x", "y"]}),
        ("id,,a\nq,m,x\nr,n,y\n", {"id": ["q", "r"], "col2": ["m", "n"], "a": ["x", "y"]}),
        ("\n\nid,a\nq,x\nr,y\n", {"id": ["q", "r"], "a": ["x", "y"]}),
        ("sep=;\nid;a\nq;x\nr;y\n", {"id": ["q", "r"], "a": ["x", "y"]}),
        ("sep=|\r\nid|a,b\r\nq|x,1\r\n", {"id": ["q"], "aB": ["x,1"]}),
        ("# made: by\n# us, 2020\nid,a\nq,x\nr,y\n", {"id": ["q", "r"], "a": ["x", "y"]}),
        ("# made by us\nid\nq\nr\n", {"id": ["q", "r"]}),
        ('# us, 2020\n#id;b\nq, 1;"m\nn"\nr, 2;y\n', {"id": ["q, 1", "r, 2"], "b": ["m\nn", "y"]}),
        ("#id,a\n1,x\n2,y\n", {"id": ["1", "2"], "a": ["x", "y"]}),
        ("#,a\nu,x\nv,y\n", {"column": ["u", "v"], "a": ["x", "y"]}),
        ("##v=1\n#CHROM\tPOS\n1\t2\n", {"cHROM": ["1"], "pOS": ["2"]}),
        ("Report of May,,\n,,\nid,a,b\nq,x,1\n", {"id": ["q"], "a": ["x"], "b": ["1"]}),
        ("Report of May\n\nid,a,b\nq,x,1\n", {"id": ["q"], "a": ["x"], "b": ["1"]}),
        (",\nq,x\nr,y\n", {"col1": ["q", "r"], "col2": ["x", "y"]}),
        ("a,b\nm,1,2\nn,3,4\n", {"col1": ["m", "n"], "a": ["1", "3"], "b": ["2", "4"]}),
        ("type,a\nx,z\n", {"type": ["x"], "a": ["z"]}),
    ],
)  # fmt: skip
def test_headers_that_everybody_has(tmp_path: Path, text: str, want: dict[str, list[str]]) -> None:
    file = written(tmp_path, text, "t.tsv" if "\t" in text else "t.csv")
    assert columns(file) == want
    assert columns(file, proposed(file)) == want, "one reader for mapping and loading"


TITLES = st.sampled_from(
    ["id", "a", "a b", "a-b", "a_b", "A b", "aB", "aB2", "", " ", "score", "score2", "_col.2", "Unnamed: 0", "name",
     "title", "type", "a (km)", "a [kg]", "name_de", "label_de", "%", "{a}", "#a", "é", "has a", "Column", "column"]
)  # fmt: skip
ABOVE = st.lists(st.sampled_from(["", "# made by us", "# us, 2020", '# "x" y', "##v;1"]), max_size=3)


Drawn = tuple[list[str], int, str, list[str], bool, bool, Any]
DRAWN = st.tuples(
    st.lists(TITLES, min_size=2, max_size=6), st.integers(1, 4), st.sampled_from(",;\t|"), ABOVE, st.booleans(),
    st.booleans(), st.randoms(use_true_random=False),
)  # fmt: skip


def check(folder: Path, drawn: Drawn) -> None:
    titles, rows, mark, above, trailing, quoted, draw = drawn
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=mark, quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL)
    forms = [draw.choice(["v{}x{}", "{}0{}7", "two\nlines {} {}", "q, {} {}", 's"{}"{}']) for _ in titles]
    cells = [[form.format(row + 1, at) for at, form in enumerate(forms)] for row in range(rows)]
    for row in cells:
        row[draw.randrange(len(row))] = draw.choice(["", row[0]])
    writer.writerows([[*row, *[""] * trailing] for row in (titles, *cells)])
    file = written(folder, "".join(f"{line}\n" for line in above) + out.getvalue())
    told = list(csv.reader(io.StringIO(out.getvalue(), newline=""), delimiter=mark))  # the oracle
    wanted = sorted(sorted({row[at] for row in told[1:] if row[at]}) for at in range(len(titles)))
    try:
        found: dict[Any, set[str]] = {}
        for quad in loaded(file)[0]:
            if not quad.predicate.value.endswith(("#type", "unitText")):
                language = getattr(quad.object, "language", None)
                found.setdefault((quad.predicate, language), set()).add(getattr(quad.object, "value", ""))
    except ParseError as error:
        refused = str(error)
    else:
        refused = ""
        assert sorted(map(sorted, found.values())) == [values for values in wanted if values]
    assert not refused or "column" in refused


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(DRAWN)
@example((["score", "score", ""], 2, ",", ["# us, 2020"], True, True, random.Random(1)))
def test_every_cell_lands_under_a_predicate_of_its_own(tmp_path: Path, drawn: Drawn) -> None:
    check(tmp_path, drawn)


@pytest.mark.long
@settings(max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(DRAWN)
def test_many_cells_land_under_predicates_of_their_own(tmp_path: Path, drawn: Drawn) -> None:
    check(tmp_path, drawn)


def test_what_is_above_the_header_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, "# made: by\nid,a\nq,x\n")
    assert loaded(file)[1] == ["above the header is left out: '# made: by'"]
    book = openpyxl.Workbook()
    for row in ([], ["Report of May"], [], ["id", 2019, "b"], ["q", 1, None]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert columns(tmp_path / "t.xlsx") == {"id": ["q"], "2019": ["1"]}
    assert loaded(tmp_path / "t.xlsx")[1] == ["above the header is left out: 'Report of May'"]


def test_a_mapping_that_fits_no_column_or_several_names_them(tmp_path: Path) -> None:
    file = written(tmp_path, "id,score,score,extra,\n1,10,20,x,\n")

    def mapped(*titles: str) -> dict[str, Any]:
        told = [{"name": f"c{at}", "titles": one, "propertyUrl": f"ex:c{at}"} for at, one in enumerate(titles)]
        return {"tableSchema": {"aboutUrl": "ex:{c0}", "columns": told}}

    with pytest.raises(ParseError, match=r"columns 2 and 3 of the table are all called 'score', and the mapping has 1"):
        loaded(file, mapped("id", "score"))
    with pytest.raises(ParseError, match=r"no column 'none'; it has 'id', 'score', 'score', 'extra'"):
        loaded(file, mapped("id", "none"))
    found, notes = loaded(file, mapped("id", "score", "score"))
    assert [getattr(quad.object, "value", None) for quad in found] == ["1", "10", "20"]
    assert "columns that the mapping gives no place to are left out: 'extra' (4)" in notes
    assert {getattr(quad.object, "value", None) for quad in loaded(file, mapped("id", "id", "score", "score"))[0]} == {
        "1",
        "10",
        "20",
    }


@pytest.mark.parametrize(
    ("cells", "want"),
    [
        (["03/04/2020", "05/06/2020"], None),
        (["03/04/2020", "25/04/2020"], "dd/MM/yyyy"),
        (["03/04/2020", "04/25/2020"], "MM/dd/yyyy"),
        (["3/4/2020", "25/4/2020"], "d/M/yyyy"),
        (["03-04-2020", "05-06-2020"], None),
        (["03-04-2020", "04-25-2020"], "MM-dd-yyyy"),
        (["03/04/2020", "25/04/2020", "04/25/2020"], None),
        (["03/04/2020"] + [f"{day:02}/01/2020" for day in range(1, 13)] * 9 + ["25/04/2020"], "dd/MM/yyyy"),
        (["03.04.2020", "05.06.2020"], "dd.MM.yyyy"),
        (["2020/03/04"], "yyyy/MM/dd"),
    ],
)
def test_a_date_that_can_be_read_two_ways_stays_a_text(tmp_path: Path, cells: Sequence[str], want: str | None) -> None:
    file = written(tmp_path, "id,d\n" + "".join(f"{row},{one}\n" for row, one in enumerate(cells, 1)))
    column = proposed(file)["tableSchema"]["columns"][1]
    found, notes = loaded(file)
    if want is None:
        assert "datatype" not in column
        assert set(cells) <= {getattr(quad.object, "value", "") for quad in found}
        assert any("column 'd': " in note and "can be read as" in note for note in notes) or len(cells) == 3
        column["datatype"] = {"base": "date", "format": "dd/MM/yyyy" if "/" in cells[0] else "dd-MM-yyyy"}
        mapping = proposed(file)
        mapping["tableSchema"]["columns"][1] = column
        found, notes = loaded(file, mapping)
        assert "2020-04-03" in {getattr(quad.object, "value", "") for quad in found}
        assert not any("can be read" in note for note in notes)
    else:
        assert column["datatype"] == {"base": "date", "format": want}
        assert not notes


def test_a_key_that_stands_again_stays_the_key_and_is_named(tmp_path: Path) -> None:
    lines = ["id;name;collected", *(f"G-{one:03};Probe {one};{one % 28 + 1:02}.03.2020" for one in range(40))]
    file = written(tmp_path, "\n".join([*lines, lines[5]]) + "\n")
    assert proposed(file)["tableSchema"]["aboutUrl"] == EX + "t/{id}"
    assert loaded(file)[1] == ["row 41 repeats the key of row 5"]
    many = written(tmp_path, "id,a\n" + "".join(f"{one % 30},{one}\n" for one in range(55)))
    assert loaded(many)[1][-1] == "and 5 more rows that repeat a key"
    for text, about in (
        ("title,author_id\n" + "".join(f"T{n},{n % 19}\n" for n in range(20)), "t/{title}"),  # an author of two
        ("date,id\n" + "".join(f"2020-01-{n % 9 + 1:02},{n % 9}\n" for n in range(20)), "t/{_hash}"),
        ("a,sample_id\nx,1\nx,2\n", "t/{sampleId}"),
        ("row,a\n1,x\n2,x\n", "t/{_hash}"),  # which only counts
    ):
        assert proposed(written(tmp_path, text))["tableSchema"]["aboutUrl"] == EX + about


@pytest.mark.parametrize("head", ["a,b", ",b", "id,b"])
def test_a_row_above_moves_no_other_rows_data(tmp_path: Path, head: str) -> None:
    rows = ["x,1", "y,2", "y,2", "z,1"]
    before = set(loaded(written(tmp_path, "\n".join([head, *rows])))[0])
    after = set(loaded(written(tmp_path, "\n".join([head, "w,9", *rows])))[0])
    assert before < after
    assert len(after - before) == 3
    if not head.startswith("id"):
        assert len({quad.subject for quad in after}) == 5, "rows that are the same are two"


def test_texts_for_nothing_are_proposed_and_told(tmp_path: Path) -> None:
    file = written(tmp_path, "id,size,kind\n1,5,a\n2,n/a,-\n3,N/A,b\n4,NULL,none\n5,#N/A,c\n6,7,None\n")
    mapping = proposed(file)
    size, kind = mapping["tableSchema"]["columns"][1:3]
    assert (size["datatype"], size["null"]) == ("integer", ["", "n/a", "N/A", "NULL", "#N/A"])
    assert kind["null"] == ["", "-", "none", "None"]
    assert columns(file) == {"id": list("123456"), "size": ["5", "7"], "kind": ["a", "b", "c"]}
    assert loaded(file)[1] == [
        "4 cells of column 'size' are read as no value: 'n/a', 'N/A', 'NULL'",
        "3 cells of column 'kind' are read as no value: '-', 'none', 'None'",
    ]
    assert loaded(file, mapping)[1] == [], "who gives the mapping has seen them"
    codes = written(tmp_path, "id,land\n1,NA\n2,DE\n3,FR\n")
    assert columns(codes)["land"] == ["DE", "FR", "NA"]


@pytest.mark.parametrize(
    ("values", "want"),
    [
        (["Müller, Jürgen", "Čapek, Zoë", "Smith, Ann", "Müller, Jürgen"], None),
        (["Müller, Jürgen", "Müller, Ann", "Smith, Ann", "Acme"], None),
        (["1 Main St, Rome, IT", "2 Main St, Rome, IT"], None),
        (["red, blue", "blue, green", "red"], ","),
        (["a|b", "b"], "|"),
        (["Smith, A.; Jones, B.", "Jones, B."], ";"),
    ],
)
def test_names_in_two_parts_are_no_lists(tmp_path: Path, values: list[str], want: str | None) -> None:
    file = tmp_path / "t.csv"
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows([["id", "who"], *enumerate(values, 1)])
    assert proposed(file)["tableSchema"]["columns"][1].get("separator") == want


def test_what_cannot_be_read_names_its_line(tmp_path: Path) -> None:
    for name, data, line in (
        ("q.csv", b'a;b\n1;2\n3;4\n"4;5\n', 4),
        ("u.csv", b"a,b\n" + b"x,y\n" * 40_000 + b"\xff,z\n", 40_002),
        ("t.jsonl", b'{"a": 1}\n{"a": 1, "a": 2}\n', 2),
    ):
        file = tmp_path / name
        file.write_bytes(data)
        with pytest.raises(ParseError) as caught:
            loaded(file, {"tableSchema": {"columns": [{"name": "a", "propertyUrl": "ex:a"}]}})
        assert (caught.value.source, caught.value.line) == (str(file), line)
    told = loaded(written(tmp_path, 'id;a\n1;2\n"4;5\n6;7"\n8;9\n'))[1]
    assert told == ["row 2: 1 cells instead of 2, and one of several lines, from line 3 on: a quote may be missing"]
    nested = written(tmp_path, '{"id": 1, "of": {"x": 1.5}, "some": [["y"], null]}\n', "n.jsonl")
    assert columns(nested) == {"id": ["1"], "of": ['{"x": 1.5}'], "some": ['["y"]']}


def test_several_tables_name_theirs_and_a_source_follows_by_the_same_reader(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    for name in ("a.csv", "b.csv"):
        (folder / name).write_text("# of us\nid,score,score,n\n1,10,20,x\n2,30,40,y\n")
    with worlds.open(embedder=None) as world:
        world.sources.add(str(folder), "f", base=EX)
        (run,) = world.sources.sync()
        assert "a.csv, above the header is left out: '# of us'" in run.notes
        assert "b.csv, columns 2 and 3 are all called 'score', and are told apart by their order" in run.notes
        (folder / "a.csv").write_text("id,score,score,n,new\n9,10,20,-,z\n1,10,20,x,\n2,30,40,y,\n")
        (run,) = world.sources.sync()
        assert (run.added, run.removed) == (5, 0)
        assert "a.csv, columns that the mapping gives no place to are left out: 'new' (5)" in run.notes
        file = written(tmp_path, "id,said\n1,'=1+1\n2,x\n", "e.csv")
        (mapping,) = world.sources.mappings(file)
        assert mapping["dialect"]["worlds:escaped"] is True
        assert "=1+1" in columns(file, json.loads(json.dumps(mapping)))["said"]


def test_formulas_that_no_program_has_worked_out_are_named(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for row in (["id", "size"], ["a", "=1+1"], ["b", 3], *([f"c{n}", "=A1"] for n in range(12))):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    _, notes = loaded(tmp_path / "t.xlsx")
    (told,) = notes
    assert told.startswith("formulas without a value that a program has worked out are left out: B2, B4, B5")
    assert told.endswith("and 3 more")


@pytest.mark.parametrize("between", ["", "\n"])
def test_a_title_stands_above_two_columns_too(tmp_path: Path, between: str) -> None:
    file = written(tmp_path, f"Report 2020\n{between}id,x\n1,a\n2,c\n")
    assert columns(file) == {"id": ["1", "2"], "x": ["a", "c"]}
    assert loaded(file)[1] == ["above the header is left out: 'Report 2020'"]
    assert columns(written(tmp_path, "value\nann,23\nbob,31\n")) == {"col1": ["ann", "bob"], "value": ["23", "31"]}
    assert columns(written(tmp_path, "name\nx\n1\n2\n"))[LABEL] == ["1", "2", "x"]


@pytest.mark.parametrize(
    ("cells", "boolean"), [("NN", False), ("yy", False), ("NY", True), ("yn", True), (["true", "true"], True)]
)
def test_a_letter_alone_is_no_boolean(tmp_path: Path, cells: Sequence[str], boolean: bool) -> None:
    quads, _ = loaded(written(tmp_path, f"id,a\n1,{cells[0]}\n2,{cells[1]}\n"))
    kinds = {quad.object.datatype.value for quad in quads if quad.predicate.value == EX + "a"}  # type: ignore[union-attr]  # a literal
    assert all(kind.endswith("#boolean") for kind in kinds) == boolean, kinds


def test_numbers_of_json_are_as_they_are_written(tmp_path: Path) -> None:
    file = written(tmp_path, '{"id":"a","x":0.12345678901234567890123,"o":{"k":0.5}}\n{"id":"b","x":1.50}\n', "t.jsonl")
    assert columns(file) == {"id": ["a", "b"], "x": ["0.12345678901234567890123", "1.50"], "o": ['{"k": 0.5}']}
    assert columns(written(tmp_path, '{"id":"a","x":1e400}\n', "t.jsonl"))["x"] == ["1e400"]
    with pytest.raises(ParseError, match=r"line 1: line 1 has a lone surrogate"):
        proposed(written(tmp_path, '{"id":"a","x":"\\ud800z"}\n', "t.jsonl"))
