"""How the mapping of a table is proposed: its predicates, its key, names of people, null words, dates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rdflib import RDF, RDFS, Literal, URIRef

import worlds
from worlds import World

EX = "https://example.org/"


@pytest.fixture
def world() -> Any:
    with worlds.open(":memory:", embedder=None) as opened:
        yield opened


def proposed(world: World, folder: Path, name: str, text: str) -> dict[str, Any]:
    file = folder / name
    file.write_text(text, "utf-8")
    (mapping,) = world.sources.mappings(file, base=EX + "new/")
    schema: dict[str, Any] = mapping["tableSchema"]
    schema["by title"] = {one["titles"]: one for one in schema["columns"] if "titles" in one}
    schema["class"] = schema["columns"][-1]["valueUrl"]
    return schema


def used(world: World, predicate: str, times: int, kind: str) -> None:
    start = len(world)
    world.add(
        quad
        for number in range(times)
        for subject in [URIRef(f"{EX}s{start}-{number}")]
        for quad in [(subject, RDF.type, URIRef(kind)), (subject, URIRef(predicate), Literal(str(number)))]
    )


def test_a_column_takes_the_predicate_that_its_class_uses_most(world: World, tmp_path: Path) -> None:
    used(world, "https://a.example/height", 9, EX + "Tower")
    used(world, "https://b.example/height", 3, EX + "Bridge")
    used(world, "https://c.example/height", 2, EX + "Bridge")
    heights = {
        name: proposed(world, tmp_path, f"{name}.csv", "key,height\na,1\nb,2\n")
        for name in ("bridges", "towers", "masts")
    }
    assert {name: one["by title"]["height"]["propertyUrl"] for name, one in heights.items()} == {
        "bridges": "https://b.example/height", "towers": "https://a.example/height", "masts": "https://a.example/height",
    }  # fmt: skip
    assert [one["class"] for one in heights.values()] == [EX + "Bridge", EX + "Tower", EX + "new/Mast"]


@pytest.mark.parametrize(
    "wrong",
    ["http:/b.example/height", "http:height", "ex:height", "https:///height"],
)
def test_a_malformed_predicate_is_never_proposed(world: World, tmp_path: Path, wrong: str) -> None:
    world.bind("ex", EX)
    world.load("".join(f'<{EX}{n}> <{wrong}> "{n}" .\n' for n in range(9)).encode(), format="nt")
    assert len(world) == 9
    schema = proposed(world, tmp_path, "bridges.csv", "key,height\na,1\nb,2\n")
    assert schema["by title"]["height"]["propertyUrl"] == EX + "new/height"
    used(world, "https://a.example/height", 2, EX + "Bridge")
    schema = proposed(world, tmp_path, "bridges.csv", "key,height\na,1\nb,2\n")
    assert schema["by title"]["height"]["propertyUrl"] == "https://a.example/height"


def test_a_predicate_that_was_used_once_is_never_proposed(world: World, tmp_path: Path) -> None:
    used(world, "https://a.example/height", 1, EX + "Bridge")
    schema = proposed(world, tmp_path, "bridges.csv", "key,height\na,1\nb,2\n")
    assert schema["by title"]["height"]["propertyUrl"] == EX + "new/height"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("planet,code\nMars,m\nVenus,v\n", "planet"),
        ("name,code\nMars,m\nVenus,v\n", "name"),
        ("name,id\nMars,4\nVenus,2\n", "id"),  # which is called so
        ("planet,code\nMars,m\nMars,v\n", "code"),  # the first is not unique
        (",code\n1,m\n2,v\n", "code"),  # the first only counts
    ],
)
def test_a_first_column_of_which_each_value_differs_is_the_key(
    world: World, tmp_path: Path, text: str, key: str
) -> None:
    assert proposed(world, tmp_path, "planets.csv", text)["primaryKey"] == key


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["Müller, Jürgen"] * 4, None),
        (["Müller, Jürgen", "Müller, Anna", "Schmidt, Jürgen", "Schmidt, Anna"], None),
        (["Müller, Jürgen", "Paul, Jean", "Jean, Paul", "King, Martin, Jr.", "King, Alva", "Plato"], None),
        (["Müller, Jürgen; Schmidt, Anna", "Schmidt, Anna", "Müller, Jürgen; Jean, Paul"], ";"),
        (["red, blue", "blue, green", "green, red", "red"], ","),
        (["Drama, Action", "Action, Drama", "Action", "Drama, Comedy, Action"], ","),
        (["Drama, Action", "Action, Drama", "Comedy, Action", "Action, Comedy"], ","),
    ],
)
def test_a_name_with_a_comma_is_no_list(world: World, tmp_path: Path, cells: list[str], separator: str | None) -> None:
    text = "".join(f'{number},"{cell}"\n' for number, cell in enumerate(cells, 100))
    schema = proposed(world, tmp_path, "books.csv", f"id,author\n{text}")
    assert schema["by title"]["author"].get("separator") == separator


def test_a_column_of_names_is_no_list(world: World, tmp_path: Path) -> None:
    text = "".join(
        f'{number},"{cell}"\n' for number, cell in enumerate(["red, blue", "blue, green", "red, green"], 100)
    )
    schema = proposed(world, tmp_path, "colours.csv", f"id,name\n{text}")
    assert "separator" not in schema["by title"]["name"]


def test_null_words_are_empty(world: World, tmp_path: Path) -> None:
    words = ["n/a", "N/A", "null", "-", "none", "unknown", "Unknown", "unbekannt", "not available", "#N/A", "--"]
    rows = "".join(f"{number},{word}\n" for number, word in enumerate(["2001-01-01", *words], 100))
    file = tmp_path / "events.csv"
    schema = proposed(world, tmp_path, "events.csv", f"id,begin\n{rows}")
    assert schema["by title"]["begin"]["null"] == ["", *words]
    assert schema["by title"]["begin"]["datatype"] == "date"
    assert (
        world.load(file, mapping={"tableSchema": {key: schema[key] for key in ("aboutUrl", "columns")}}).added
        == 1 + 2 * 12
    )
    assert not list(world.quads(None, RDFS.label, None))


@pytest.mark.parametrize(
    ("cells", "format"),
    [
        (["12/05/2020", "25/05/2020"], "dd/MM/yyyy"),
        (["12/05/2020", "05/25/2020"], "MM/dd/yyyy"),
        (["1/5/2020", "25/5/2020"], "d/M/yyyy"),
        (["1/5/2020", "5/25/2020"], "M/d/yyyy"),
        (["12-05-2020", "25-05-2020"], "dd-MM-yyyy"),
        (["12/05/2020", "unknown", "25/05/2020", ""], "dd/MM/yyyy"),
        ([*["12/05/2020", "11/06/2021"] * 200, "05/25/2020"], "MM/dd/yyyy"),
        (["12/05/2020", "11/06/2020"], None),
        (["25/05/2020", "05/25/2020"], None),
    ],
)
def test_the_whole_column_decides_the_format_of_its_dates(
    world: World, tmp_path: Path, cells: list[str], format: str | None
) -> None:
    text = "".join(f"{number},{cell}\n" for number, cell in enumerate(cells, 100))
    column = proposed(world, tmp_path, "events.csv", f"id,begin\n{text}")["by title"]["begin"]
    assert column.get("datatype") == (None if format is None else {"base": "date", "format": format})
