"""The instances of a class written as a table, which comes in again as the same triples."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import openpyxl  # type: ignore[import-untyped]
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS, XSD, BNode, Literal, URIRef

import worlds
from tests.support.command_line import ok, run
from worlds import World
from worlds.errors import ArgumentError

EX = "https://example.org/"
CLASS = URIRef(EX + "Thing")
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
    st.sampled_from(
        ["", " ", "|", "a|b", "a;b", "¦|;", "\x1f¦|;", "\\N", "\x1a", "true", "1", " 1", "2020-01-01", "=1+1"]
    ),
)
LITERALS = st.one_of(
    TEXTS.map(Literal),
    st.builds(Literal, TEXTS, lang=st.sampled_from(["en", "de-AT"])),
    st.builds(
        Literal, TEXTS, datatype=st.sampled_from([XSD.integer, XSD.date, XSD.boolean, XSD.decimal, URIRef(EX + "kind")])
    ),
)
NODES = st.sampled_from([URIRef(EX + name) for name in ("a", "b", "c/ä", "d#e")])
TRIPLES = st.tuples(
    NODES, st.sampled_from([RDF.type, *(URIRef(EX + name) for name in ("p", "q#p", "iri", "type"))]), NODES | LITERALS
)


def opened() -> World:
    return worlds.open(":memory:", embedder=None)


def triples(world: World) -> set[Any]:
    return {quad[:3] for quad in world.quads()}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TRIPLES, max_size=25))
def test_a_table_comes_in_again_as_the_same_triples(tmp_path: Path, given: list[Any]) -> None:
    with opened() as world, opened() as copy:
        subjects = {triple[0] for triple in given} | {URIRef(EX + "a")}
        given = [one for one in given if not (one[1] == RDF.type and isinstance(one[2], Literal))]
        world.add([*given, *((subject, RDF.type, CLASS) for subject in subjects)])
        world.add([(EX + "other", EX + "p", EX + "a")])  # is none of the class
        file = tmp_path / "t.csv"
        count = world.export(file, table=CLASS)
        want = {triple for triple in triples(world) if triple[0] in subjects}
        assert count == len(want)
        assert copy.load(file, mapping=True).notes == ()
        assert triples(copy) == want


def test_what_a_table_cannot_hold_is_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened() as world:
        world.add([(EX + "a", RDF.type, CLASS), (EX + "a", EX + "p", BNode()), (BNode(), RDF.type, CLASS)])
        world.add([(EX + "a", EX + "p", EX + "b", EX + "g")])  # of another graph
        with caplog.at_level(logging.WARNING, "worlds"):
            assert world.export(tmp_path / "t.tsv", table=CLASS) == 1
        assert "2 quads are not in the table" in caplog.text
        for wrong, message in (("t.nq", "a .csv or .tsv file"), ("t.csv.gz", "a .csv or .tsv file")):
            with pytest.raises(ArgumentError, match=message):
                world.export(tmp_path / wrong, table=CLASS)
        with pytest.raises(ValueError, match="there is no instance of <https://example.org/None>"):
            world.export(tmp_path / "n.csv", table=EX + "None")
        with pytest.raises(ValueError, match="there is no graph"):
            world.export(tmp_path / "n.csv", table=CLASS, graph=EX + "none")
        assert not (tmp_path / "n.csv").exists()
    with worlds.open(tmp_path / "world.csv", embedder=None) as world:
        world.add([(EX + "a", RDF.type, CLASS)])
        with pytest.raises(ValueError, match="is the world itself"):
            world.export(tmp_path / "world.csv", table=CLASS)
        assert world.check().ok


def test_the_command_writes_a_table_and_its_mapping(tmp_path: Path) -> None:
    path, file = tmp_path / "kb.db", tmp_path / "out.csv"
    with worlds.open(path, embedder=None) as world:
        world.add([(EX + "a", RDF.type, CLASS), (EX + "a", EX + "born", Literal("1980-04-01", datatype=XSD.date))])
        world.add([(EX + "a", EX + "name", Literal(name, lang="en")) for name in ("Ann", "Annie")])
    assert "quads   4" in ok("export", path, file, "--table", str(CLASS))
    assert file.read_text() == f"iri,born,name@en,type\n{EX}a,1980-04-01,Ann|Annie,\n"
    columns = json.loads((tmp_path / "out.csv-metadata.json").read_text())["tableSchema"]["columns"]
    assert columns[2] == {
        "name": "name@en", "titles": "name@en", "propertyUrl": EX + "name", "lang": "en", "separator": "|",
    }  # fmt: skip
    assert run("export", path, "--table", str(CLASS)).exit_code == 2


def test_a_name_that_is_not_sure_becomes_a_proposal_once(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("id,city\n1,Springfield\n2,Lyon\n3,Springfield\n4,Xyzzy\n")
    columns = [
        {"name": "id", "suppressOutput": True},
        {"name": "city", "propertyUrl": EX + "city", "worlds:type": EX + "City"},
    ]
    mapping = {"tableSchema": {"aboutUrl": EX + "{id}", "columns": columns}}
    with opened() as world:
        for iri, name in (("s1", "Springfield"), ("s2", "Springfield"), ("lyon", "Lyon")):
            world.add([(EX + iri, RDF.type, EX + "City"), (EX + iri, RDFS.label, Literal(name))])
        change = world.load(file, mapping=mapping, graph=EX + "g")
        assert change.notes[-1] == "proposals of links wait for such names: 1"
        (proposal,) = world.proposals.list(kind="name")
        assert "'Springfield' in a table may mean Springfield <" in (proposal.why or "")
        assert {quad[0] for quad in proposal.removed} == {URIRef(EX + "1"), URIRef(EX + "3")}
        world.proposals.accept(proposal.id)
        linked = {str(o) for _, _, o, _ in world.quads(None, EX + "city", None, EX + "g")}
        assert linked >= {EX + "lyon", "Xyzzy"}
        assert linked & {EX + "s1", EX + "s2"}
        world.remove(list(world.quads(None, EX + "city", None, EX + "g")))
        assert world.load(file, mapping=mapping, graph=EX + "g").notes[-1].endswith("such names: 2")
        world.proposals.reject(2, "neither")
        world.remove(list(world.quads(None, EX + "city", None, EX + "g")))
        assert "proposals" not in " ".join(world.load(file, mapping=mapping, graph=EX + "g").notes)


def test_other_sheets_are_told(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["id", "size"])
    book.active.append([1, 2])
    more = book.create_sheet("More")
    more.append(["x"])
    more.append([1])
    book.save(tmp_path / "t.xlsx")
    with opened() as world:
        assert world.load(tmp_path / "t.xlsx", mapping=True).notes == (
            "the sheets 'More' are not read, only the first is",
        )
