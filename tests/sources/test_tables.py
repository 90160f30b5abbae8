"""Tables as triples: by a mapping, by one that is proposed, and in step with their files."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import openpyxl  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS, XSD, Literal, URIRef

import worlds
from tests.support.command_line import ok, run
from tests.support.seams import parse_beside_from
from worlds import World
from worlds.errors import ArgumentError, OpenError, ParseError

EX = "https://example.org/"
PEOPLE = "id,Name,born,mass (kg),knows,city\n1,Ann,1980-04-01,61.5,2|3,Köln\n2,Bob,1975-12-24,,1,Lyon\n3,Cid,,80,,\n"
MAPPING: dict[str, Any] = {
    "@context": "http://www.w3.org/ns/csvw",
    "tableSchema": {
        "aboutUrl": f"{EX}person/{{id}}",
        "columns": [
            {"name": "id", "titles": "id", "suppressOutput": True},
            {"name": "name", "titles": "Name", "propertyUrl": "rdfs:label", "lang": "en", "required": True},
            {"name": "born", "titles": "born", "propertyUrl": f"{EX}born", "datatype": "date"},
            {
                "name": "mass", "titles": "mass (kg)", "propertyUrl": f"{EX}mass", "datatype": "decimal",
                "worlds:unit": "kg",
            },
            {
                "name": "knows", "titles": "knows", "propertyUrl": f"{EX}knows", "separator": "|",
                "valueUrl": f"{EX}person/{{knows}}",
            },
            {"name": "city", "titles": "city", "propertyUrl": f"{EX}city", "worlds:type": f"{EX}City"},
            {"virtual": True, "propertyUrl": "rdf:type", "valueUrl": f"{EX}Person"},
        ],
    },
}  # fmt: skip


def opened() -> World:
    world = worlds.open(":memory:", embedder=None)
    world.bind("rdf", str(RDF))
    world.bind("rdfs", str(RDFS))
    return world


def test_a_table_is_what_its_mapping_says(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(PEOPLE)
    with opened() as world:
        koeln = URIRef(f"{EX}koeln")
        world.add([(koeln, RDF.type, URIRef(f"{EX}City")), (koeln, RDFS.label, Literal("Köln", lang="de"))])
        before = set(world.quads())
        change = world.load(file, mapping=MAPPING)
        found = {quad[:3] for quad in set(world.quads()) - before}
        ann, bob, cid = (URIRef(f"{EX}person/{n}") for n in "123")
        assert found == {
            *((one, RDF.type, URIRef(f"{EX}Person")) for one in (ann, bob, cid)),
            (ann, RDFS.label, Literal("Ann", lang="en")),
            (bob, RDFS.label, Literal("Bob", lang="en")),
            (cid, RDFS.label, Literal("Cid", lang="en")),
            (ann, URIRef(f"{EX}born"), Literal("1980-04-01", datatype=XSD.date)),
            (bob, URIRef(f"{EX}born"), Literal("1975-12-24", datatype=XSD.date)),
            (ann, URIRef(f"{EX}mass"), Literal("61.5", datatype=XSD.decimal)),
            (cid, URIRef(f"{EX}mass"), Literal("80", datatype=XSD.decimal)),
            (URIRef(f"{EX}mass"), URIRef("https://schema.org/unitText"), Literal("kg")),
            (ann, URIRef(f"{EX}knows"), bob),
            (ann, URIRef(f"{EX}knows"), cid),
            (bob, URIRef(f"{EX}knows"), ann),
            (ann, URIRef(f"{EX}city"), koeln),
            (bob, URIRef(f"{EX}city"), Literal("Lyon")),
        }
        assert change.notes == ("1 names of column 'city' are ambiguous or unknown, and stay texts: 'Lyon'",)
        assert world.load(file, mapping=MAPPING).revision is None


def test_a_row_that_does_not_fit_is_told_and_the_rest_goes_in(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text(PEOPLE + "4,Dot,1980-02-30,1,,\n5,,,,,\n6,Eve,,heavy,,\n,Fay,,,,\n8,Gus,,1,,,,\n9,Hal\n")
    with opened() as world:
        change = world.load(file, mapping=MAPPING)
        assert change.notes[:5] == (
            "row 4: '1980-02-30' of 'born' is no date",
            "row 5: 'name' is empty",
            "row 6: 'heavy' of 'mass' is no decimal",
            "row 7: 'id' is empty, but the row's IRI is made from it",
            "row 8: 8 cells instead of 6",
        )
        names = {str(o) for _, p, o, _ in world.quads() if p == RDFS.label}
        assert names == {"Ann", "Bob", "Cid", "Hal"}
        file.write_text("id,Name,born,mass (kg),knows,city\n" + "x,,,,,\n" * 100)
        assert world.load(file, mapping=MAPPING).notes[-1] == "and 80 more rows that do not fit"


def test_no_text_of_a_mapping_or_a_cell_becomes_another_quad(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text('id,link\n1,"x"" . <urn:a> <urn:b> ""c"\n2,urn:ok\n3,a\\b\n')
    strange = '5" . <urn:a> <urn:b> "c\\'
    columns = [
        {"name": "id", "titles": "id", "propertyUrl": f"{EX}id", "datatype": "integer", "worlds:unit": strange},
        {"name": "link", "titles": "link", "propertyUrl": f"{EX}link", "datatype": "anyURI"},
    ]
    with opened() as world:
        world.load(file, mapping={"tableSchema": {"aboutUrl": EX + "{id}", "columns": columns}})
        assert not world.count("urn:a")
        assert [str(o) for *_, o, _ in world.quads(f"{EX}id")] == [strange]
        assert {str(o) for _, _, o, _ in world.quads(None, f"{EX}link")} == {"urn:ok", "a\\b"}


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=8))
def test_every_text_comes_back_as_it_was(tmp_path: Path, rows: list[tuple[str, str]]) -> None:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["one", "two"])
    writer.writerows(rows)
    file = tmp_path / "t.csv"
    file.write_text(out.getvalue(), newline="", encoding="utf-8")
    columns = [{"name": name, "titles": name, "propertyUrl": EX + name} for name in ("one", "two")]
    with opened() as world:
        change = world.load(file, mapping={"tableSchema": {"aboutUrl": EX + "{_row}", "columns": columns}})
        assert change.notes == (() if any(map(any, rows)) else ("the source holds no quads",))
        found = {(str(s), str(p), str(o)) for s, p, o, _ in world.quads()}
    read = list(csv.reader(io.StringIO(out.getvalue(), newline="")))[1:]  # the oracle
    assert found == {
        (f"{EX}{number}", EX + name, cell)
        for number, row in enumerate(read, 1)
        for name, cell in zip(("one", "two"), row, strict=False)
        if cell
    }


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"tables": [], "rml:logicalSource": {}}, "RML is not read"),
        ({"tableSchema": {"columns": [{"name": "id", "propertyUrl": f"{EX}p", "datatype": "colour"}]}}, "'colour'"),
        ({"tableSchema": {"columns": [{"name": "id", "propertyUrl": "no iri"}]}}, "neither an IRI nor a name"),
        ({"tableSchema": {"columns": [{"name": "id", "strange": 1}]}}, "'strange' in column 1"),
        ({"tableSchema": {"aboutUrl": EX + "{x}", "columns": [{"name": "id"}]}}, "{x}"),
        ({"tableSchema": {}}, "no tableSchema with columns"),
        (
            {"tableSchema": {"columns": [{"name": "nothing", "titles": "nothing", "propertyUrl": EX}]}},
            "no column 'nothing'",
        ),
        ({"tableSchema": {"columns": [3]}}, "3 as column 1"),
        ({"tableSchema": {"columns": [{"name": "id", "propertyUrl": "zz:a"}]}}, "the prefix 'zz:' is not known"),
        ({"tableSchema": {"columns": [{"name": "id", "datatype": [1]}]}}, "[1] as datatype of column 1"),
        ({"tableSchema": {"columns": [{"name": "id", "datatype": {"base": {}}}]}}, "as base of the datatype"),
        ({"tableSchema": {"columns": [{"name": "id", "separator": 1}]}}, "1 as separator"),
        ({"tableSchema": {"columns": [{"name": "id", "null": [2]}]}}, "[2] as null"),
        ({"tableSchema": {"columns": [{"name": "id", "worlds:type": 4}]}}, "4 as worlds:type"),
        ({"tableSchema": {"columns": {"name": "id"}}}, "as columns of tableSchema"),
        ({"tableSchema": {"aboutUrl": 3, "columns": []}}, "3 as aboutUrl"),
        ({"dialect": {"delimiter": 3}, "tableSchema": {"columns": []}}, "3 as delimiter"),
        ({"dialect": {"skipRows": "x"}, "tableSchema": {"columns": []}}, "'x' as skipRows"),
        ({"dialect": {"skipRows": True}, "tableSchema": {"columns": []}}, "True as skipRows"),
        ({"dialect": {"skipRows": -1}, "tableSchema": {"columns": []}}, "-1 as skipRows"),
        ({"dialect": {"skipRows": 10**15}, "tableSchema": {"columns": [{"name": "id"}]}}, "no column 'id'"),
        ({"dialect": {"encoding": "no such"}, "tableSchema": {"columns": []}}, "the encoding 'no such'"),
        ({"dialect": {"encoding": "base64"}, "tableSchema": {"columns": []}}, "the encoding 'base64'"),
        ({"dialect": {"encoding": "undefined"}, "tableSchema": {"columns": []}}, "the encoding 'undefined'"),
        ({"dialect": {"encoding": "utf-16"}, "tableSchema": {"columns": [{"name": "id"}]}}, "another encoding"),
        ({"dialect": {"delimiter": ";;"}, "tableSchema": {"columns": [{"name": "id"}]}}, "one character"),
        ({"tableSchema": {"columns": [{"name": "id", "lang": "not a tag"}]}}, "the language"),
    ],
)
def test_a_mapping_that_cannot_be_read_says_why(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    file = tmp_path / "people.csv"
    file.write_text(PEOPLE)
    with opened() as world:
        with pytest.raises(ParseError) as caught:
            world.load(file, mapping=given)
        assert message in str(caught.value)
        assert len(world) == 0
        for wrong in (tmp_path / "none.json", file):
            with pytest.raises((OpenError, ParseError)):
                world.load(file, mapping=str(wrong))
        with pytest.raises(ArgumentError, match="not a table by its name"):
            world.load(__file__, mapping=True)


def test_an_empty_table_is_called_empty(tmp_path: Path, world: World) -> None:
    file = tmp_path / "people.csv"
    file.write_text("\n")
    with pytest.raises(ParseError, match="no column 'id'; it is empty$"):
        world.load(file, mapping={"tableSchema": {"columns": [{"name": "id", "propertyUrl": f"{EX}p"}]}})


def test_excel_and_json_lines_are_the_same_table(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (["id", "size", "on", "said"], [1, 2.5, True, "=1+1"], [2, 3, False, "x"]):
        sheet.append(row)
    sheet["D2"].data_type = "s"  # a text that begins as a formula does
    sheet["E1"], sheet["E2"] = "sum", "=B2+B3"  # never computed: it has no value
    book.save(tmp_path / "t.xlsx")
    lines = [{"id": 1, "size": 2.5, "on": True, "said": "=1+1"}, {"id": 2, "size": 3, "on": False, "said": "x"}]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with opened() as world:
        (mapping,) = world.sources.mappings(tmp_path / "t.jsonl")
        found = []
        for name in ("t.xlsx", "t.jsonl"):
            with opened() as one:
                one.load(tmp_path / name, mapping=mapping)
                found.append(set(one.quads()))
        assert found[0] == found[1]
        assert Literal("=1+1") in {quad[2] for quad in found[0]}
        (tmp_path / "bad.jsonl").write_text('{"id": 1}\n[2]\n')
        with pytest.raises(ParseError, match="line 2 is not a JSON object"):
            world.sources.mappings(tmp_path / "bad.jsonl")
        (tmp_path / "bad.xlsx").write_bytes(b"no book")
        with pytest.raises(ParseError, match="the table cannot be read"):
            world.sources.mappings(tmp_path / "bad.xlsx")


def test_tables_are_kept_in_step(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "people.csv-metadata.json").write_text(json.dumps(MAPPING))
    with opened() as world:
        world.sources.add(str(folder), "data")
        (run,) = world.sources.sync()
        assert (run.new, run.errors) == (("people.csv",), ())
        assert world.sources.sync()[0].revision is None
        (folder / "people.csv").write_text(PEOPLE.replace("Bob", "Rob").replace(",80,", ",heavy,"))
        (run,) = world.sources.sync()
        assert (run.changed, run.added) == (("people.csv",), 1)
        assert "row 3: 'heavy' of 'mass' is no decimal" in run.notes
        assert world.search("rob", source_kinds="tables")
        (folder / "people.csv").write_bytes(b'"never ends\n' * 3)
        (run,) = world.sources.sync()
        assert [error.path for error in run.errors] == ["people.csv"]
        assert world.search("rob")


def test_a_table_without_a_mapping_is_read_as_at_first(tmp_path: Path) -> None:
    file = tmp_path / "cities.csv"
    file.write_text("city,country\nKöln,Germany\nLyon,France\n")
    with opened() as world:
        world.sources.add(str(file), base=EX)
        assert world.sources.sync()[0].added == 6
        for name in ("Germany", "France"):
            world.add([(f"urn:{name}", RDF.type, URIRef(f"{EX}Country")), (f"urn:{name}", RDFS.label, Literal(name))])
        assert world.sources.mappings(file)[0]["tableSchema"]["columns"][1]["worlds:type"]
        assert world.sources.sync(again=True)[0].revision is None
        file.write_text(file.read_text() + "Bonn,Germany\n")
        assert world.sources.sync()[0].added == 3


def test_the_command_reads_tables(tmp_path: Path) -> None:
    path, file = tmp_path / "kb.db", tmp_path / "people.csv"
    file.write_text(PEOPLE)
    mapping = json.loads(ok("load", path, file, "--propose-map", "--base", f"{EX}x/"))
    assert mapping["tableSchema"]["aboutUrl"] == f"{EX}x/people/{{id}}"
    assert not path.exists()
    (tmp_path / "map.json").write_text(json.dumps(mapping))
    assert "19 quads added" in ok("load", path, file, "--map", tmp_path / "map.json", "--embedder", "none")
    assert "nothing changed" in ok("load", path, file, "--map", "-", "--base", f"{EX}x/", "--embedder", "none")
    assert run("load", path, file, "--map", tmp_path / "none.json").exit_code != 0
    told = ok("sparql", path, f"SELECT ?s ?name {{ ?s <{RDFS.label}> ?name }} ORDER BY ?s", "--format", "csv")
    assert told.splitlines()[1].endswith("people/1,Ann")


# Ten tables as people make them: the gold of each column is its predicate, datatype, language and link.
LABEL = str(RDFS.label)
GOLD: dict[str, tuple[str, dict[str, tuple[str, str | None, str | None, str | None]]]] = {
    "staff.csv": (
        "id,Name,Birth date,Salary (EUR),dept_id,active\n1,Ann Smith,1980-04-01,52000.50,d1,yes\n"
        "2,Bob Jones,1975-12-24,48000.00,d2,no\n3,Cid Lee,1990-01-31,61000.25,d1,yes\n",
        {
            "Name": (LABEL, None, None, None),
            "Birth date": (f"{EX}v/birthDate", "date", None, None),
            "Salary (EUR)": ("salary", "decimal", None, None),
            "dept_id": ("deptId", None, None, "depts/"),
            "active": ("active", "boolean", None, None),
        },
    ),
    "depts.csv": (
        "id,label_en,label_de\nd1,Research,Forschung\nd2,Sales,Vertrieb\n",
        {"label_en": (LABEL, None, "en", None), "label_de": (LABEL, None, "de", None)},
    ),
    "orte.csv": (
        "Ort;Einwohner;Fläche (km²);Gründung;Land\nKöln;1.073.096;405,02;01.05.0950;Germany\n"
        "Lyon;522.250;47,87;12.10.1043;France\nPorto;231.800;41,42;03.02.1123;Portugal\n",
        {
            "Ort": ("ort", None, None, None),
            "Einwohner": ("einwohner", "integer", None, None),
            "Fläche (km²)": ("fläche", "decimal", None, None),
            "Gründung": ("gründung", "date", None, None),
            "Land": (f"{EX}v/land", None, None, "Country"),
        },
    ),
    "books.tsv": (
        "isbn\ttitle@en\tauthors\tpublished\tpages\n978-1\tOn Birds\tAnn Smith|Bob Jones\t2001\t320\n"
        "978-2\tOn Fish\tCid Lee\t1999\t210\n978-3\tOn Trees\tAnn Smith|Cid Lee\t2010\t412\n",
        {
            "isbn": ("isbn", None, None, None),
            "title@en": (LABEL, None, "en", None),
            "authors": ("authors", None, None, None),
            "published": ("published", "gYear", None, None),
            "pages": ("pages", "integer", None, None),
        },
    ),
    "readings.csv": (
        "sensor,measured at,temperature [°C],humidity (%),ok\ns1,2024-01-02 10:00:00,21.5,40,true\n"
        "s2,2024-01-02 11:00:00,-3.25,55,false\ns3,2024-01-03 11:00:00,0.5,60,true\n",
        {
            "measured at": ("measuredAt", "dateTime", None, None),
            "temperature [°C]": ("temperature", "decimal", None, None),
            "humidity (%)": ("humidity", "integer", None, None),
            "ok": ("ok", "boolean", None, None),
        },
    ),
    "pages.csv": (
        "page,homepage,seen\np1,https://a.example/1,03/25/2024\np2,https://a.example/2,12/01/2023\n",
        {"homepage": ("homepage", "anyURI", None, None), "seen": ("seen", "date", None, None)},
    ),
    "events.jsonl": (
        '{"event": "e1", "start": "2024-05-01T10:00:00Z", "tags": ["a", "b"], "where": "Germany"}\n'
        '{"event": "e2", "start": "2024-06-01T12:30:00Z", "tags": ["b"], "where": "France"}\n',
        {
            "start": ("start", "dateTime", None, None),
            "tags": ("tags", None, None, None),
            "where": ("where", None, None, "Country"),
        },
    ),
    "prices.csv": (
        "sku,price_usd,stock,colours\nA-1,\"1,250.00\",\"2,000\",red;blue\nA-2,80.50,15,red\nA-3,\"12,000.99\",7,green;red\n",
        {
            "price_usd": ("price", "decimal", None, None),
            "stock": ("stock", "integer", None, None),
            "colours": ("colours", None, None, None),
        },
    ),
    "species.csv": (
        "code,scientific name,English,German,first described\nk,Milvus milvus,Red kite,Rotmilan,1758\n"
        "r,Erithacus rubecula,European robin,Rotkehlchen,1758\nh,Ardea cinerea,Grey heron,Graureiher,1758\n",
        {
            "scientific name": ("scientificName", None, None, None),
            "English": (LABEL, None, "en", None),
            "German": (LABEL, None, "de", None),
            "first described": ("firstDescribed", "integer", None, None),
        },
    ),
    "links.csv": (
        "a,partner,weight,since\nn1,https://example.org/v/Germany,0.5,2001-01-01\n"
        "n2,https://example.org/v/France,0.25,2002-02-02\n",
        {
            "partner": ("partner", None, None, "{partner}"),
            "weight": ("weight", "decimal", None, None),
            "since": ("since", "date", None, None),
        },
    ),
}  # fmt: skip
KNOWN = """@prefix v: <https://example.org/v/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
v:Germany a v:Country ; rdfs:label "Germany" . v:France a v:Country ; rdfs:label "France" .
v:Portugal a v:Country ; rdfs:label "Portugal" . v:ann v:birthDate "1900" ; v:land v:Germany .
v:bob v:birthDate "1901" ; v:land v:France .
"""


def test_proposed_mappings_have_the_gold_of_nine_columns_in_ten(tmp_path: Path) -> None:
    for name, (text, _) in GOLD.items():
        (tmp_path / name).write_text(text)
    right = wrong = 0
    missed = []
    with opened() as world:
        world.load(KNOWN.encode(), format="turtle")
        for name, (_, columns) in GOLD.items():
            group = ["staff.csv", "depts.csv"] if name in ("staff.csv", "depts.csv") else [name]
            told = world.sources.mappings(*(tmp_path / one for one in group))
            mapping = next(one for one in told if one["url"] == name)
            found = {one["titles"]: one for one in mapping["tableSchema"]["columns"] if "titles" in one}
            for title, (predicate, datatype, language, link) in columns.items():
                column = found[title]
                given = column.get("datatype")
                base = given["base"] if isinstance(given, dict) else given
                fits = (
                    column["propertyUrl"].endswith(predicate)
                    and base == datatype
                    and column.get("lang") == language
                    and (link or "") in str(column.get("valueUrl") or column.get("worlds:type") or "")
                    and bool(link) == bool(column.get("valueUrl") or column.get("worlds:type"))
                )
                right += fits
                wrong += not fits
                missed += [] if fits else [(name, column)]
            with opened() as own:
                change = own.load(tmp_path / name, mapping=mapping)
                assert not [note for note in change.notes if note.startswith("row")], name
    assert right >= 0.9 * (right + wrong), missed


def test_what_tables_of_others_showed(tmp_path: Path) -> None:
    """A single fraction, a first name that is unique by chance, dates of other forms, a class that ends in s."""
    file = tmp_path / "iris.csv"
    rows = [
        f"Ann{n},{n}{'.5' if n == 7 else ''},Jan {n % 28 + 1} 2000,2010/01/{n % 28 + 1:02} 0{n % 10}:00"
        for n in range(99)
    ]
    file.write_text("first_name,size,day,at\n" + "\n".join(rows).replace(",Jan", ',"Jan').replace(" 2000,", ' 2000",'))
    with opened() as world:
        (mapping,) = world.sources.mappings(file, base=EX)
        schema = mapping["tableSchema"]
        assert schema["aboutUrl"] == f"{EX}iris/{{_hash}}"
        assert [one.get("datatype") for one in schema["columns"][1:4]] == [
            "decimal",
            {"base": "date", "format": "MMM d yyyy"},
            {"base": "dateTime", "format": "yyyy/MM/dd HH:mm"},
        ]
        assert schema["columns"][4]["valueUrl"] == f"{EX}Iris"
        assert world.load(file, mapping=mapping).notes == ()


def test_a_large_table_is_read_in_a_process_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parse_beside_from(monkeypatch, 1_000_000)
    draw = random.Random(2)
    file = tmp_path / "large.csv"
    with file.open("w") as stream:
        stream.write("id,size,note\n")
        for number in range(30_000):
            size = "big" if number == 17_777 else draw.randint(1, 99)
            stream.write(f"{number},{size},a note of {number % 100} things that were seen there once\n")
    with opened() as world:
        mapping = {
            "tableSchema": {
                "aboutUrl": EX + "{id}",
                "columns": [
                    {"name": "id", "suppressOutput": True},
                    {"name": "size", "propertyUrl": EX + "size", "datatype": "integer"},
                    {"name": "note", "propertyUrl": EX + "note"},
                ],
            }
        }
        change = world.load(file, mapping=mapping, embed=False)
        assert change.notes == ("row 17778: 'big' of 'size' is no integer",)
        assert change.added == 2 * 29_999
