"""A table that was exported, edited and loaded again changes the cells that were edited, and nothing else."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from rdflib import RDF, XSD, BNode, Literal, URIRef

import worlds
from tests.support.command_line import ok, run
from worlds import World
from worlds.errors import ArgumentError, ConflictError, ParseError, WorldsError
from worlds.graph.cells import escaped

EX = "https://example.org/"
CLASS = URIRef(EX + "Thing")
TYPE = (RDF.type, "iri", "")
TEXTS = ["x", "a,b", 'say "hi"', "two\nlines", "007", "=1+1", " padded ", "a|b", "Müller, Jürgen", "", "n/a", "true"]
VALUES: dict[tuple[str, str], list[str]] = {
    ("iri", ""): [EX + "a", EX + "b", EX + "far"],
    ("lang", "en"): TEXTS,
    ("lang", "de"): TEXTS,
    ("type", str(XSD.string)): TEXTS,
    ("type", str(XSD.integer)): ["1", "007", "-3", "+4"],
    ("type", str(XSD.date)): ["2020-01-01", "1999-12-31"],
    ("type", EX + "kind"): ["1", "k"],
}
SUBJECTS = [URIRef(EX + name) for name in ("a", "b", "c", "d")]
PREDICATES = [URIRef(EX + name) for name in ("p", "q", "type")]

Kind = tuple[URIRef, str, str]
Row = tuple[URIRef, dict[Kind, frozenset[str]]]


def term(kind: Kind, text: str) -> Any:
    _, what, of = kind
    if what == "iri":
        return URIRef(text)
    return Literal(text, lang=of) if what == "lang" else Literal(text, datatype=URIRef(of), normalize=False)


def kind_of(predicate: URIRef, value: Any) -> Kind:
    if isinstance(value, URIRef):
        return predicate, "iri", ""
    return (
        (predicate, "lang", value.language)
        if value.language
        else (predicate, "type", str(value.datatype or XSD.string))
    )


@st.composite
def triples(draw: st.DrawFn, most: int) -> set[Any]:
    found = set()
    for _ in range(draw(st.integers(0, most))):
        kind = draw(st.sampled_from(sorted(VALUES)))
        predicate = draw(st.sampled_from(PREDICATES))
        value = term((predicate, *kind), draw(st.sampled_from(VALUES[kind])))
        found.add((draw(st.sampled_from(SUBJECTS)), predicate, value))
    for subject in draw(st.sets(st.sampled_from(SUBJECTS))):
        found.add((subject, RDF.type, draw(st.sampled_from([CLASS, URIRef(EX + "Other")]))))
    return found


def cells_of(quads: set[Any]) -> dict[tuple[URIRef, Kind], set[str]]:
    found: dict[tuple[URIRef, Kind], set[str]] = defaultdict(set)
    for subject, predicate, value, *_ in quads:
        found[subject, kind_of(predicate, value)].add(str(value))
    return found


def held(world: World) -> set[Any]:
    return {quad[:3] for quad in world.quads()}


def kinds(metadata: Any) -> dict[Kind, Any]:
    """The columns of an exported table, by what its cells are."""
    found = {}
    for column in metadata["tableSchema"]["columns"]:
        if column["name"] not in ("iri", "class"):
            datatype = column.get("datatype", "string")
            of = datatype["@id"] if isinstance(datatype, dict) else str(XSD[datatype])
            what = "iri" if "valueUrl" in column else "lang" if "lang" in column else "type"
            of = {"iri": "", "lang": column.get("lang"), "type": of}[what]
            found[URIRef(column["propertyUrl"]), what, of] = column
    return found


def written(path: Path, rows: list[Row], columns: dict[Kind, Any]) -> None:
    """The rows as a person would type them: a test's own writer."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["iri", *(escaped(column["titles"]) for column in columns.values())])
        for subject, cells in rows:
            line = [str(subject)]
            for kind, column in columns.items():
                texts = sorted(cells.get(kind, ()))
                line.append(escaped(column.get("separator", "|").join(texts) if texts else column.get("null", "")))
            writer.writerow(line)


def typable(column: Any, text: str) -> bool:
    """Whether a cell of a column can hold a text as a value."""
    separator, null = column.get("separator"), column.get("null", "")
    if text == null:
        return False
    return separator is None or (text == text.strip() and bool(text) and separator not in text)


def shown(before: dict[tuple[URIRef, Kind], set[str]], columns: dict[Kind, Any]) -> list[Row]:
    """The rows of the export: those of an entity are several where a cell holds one value."""
    rows = []
    for subject in sorted({one for (one, kind), values in before.items() if kind == TYPE and str(CLASS) in values}):
        cells: dict[Kind, list[frozenset[str]]] = {}
        for kind, column in columns.items():
            values = sorted(before.get((subject, kind), set()) - ({str(CLASS)} if kind == TYPE else set()))
            cells[kind] = [frozenset(values)] if column.get("separator") else [frozenset([one]) for one in values]
        for at in range(max([1, *map(len, cells.values())])):
            rows.append((subject, {kind: parts[at] for kind, parts in cells.items() if at < len(parts)}))
    return rows


@st.composite
def edited(draw: st.DrawFn, rows: list[Row], columns: dict[Kind, Any]) -> list[Row]:
    """The rows with random edits: of cells; rows put in, moved, copied, taken out."""
    rows = [(subject, dict(cells)) for subject, cells in rows]
    for _ in range(draw(st.integers(0, 4))):
        what = draw(st.sampled_from(["cell", "cell", "cell", "insert", "move", "copy", "remove"]))
        at = draw(st.integers(0, max(len(rows) - 1, 0)))
        if what == "insert":
            rows.insert(at, (draw(st.sampled_from([*SUBJECTS, URIRef(EX + "new")])), {}))
        elif not rows:
            continue
        elif what == "move":
            rows.insert(draw(st.integers(0, len(rows) - 1)), rows.pop(at))
        elif what == "copy":
            subject = draw(st.sampled_from([rows[at][0], URIRef(EX + "copy")]))
            rows.insert(draw(st.integers(0, len(rows))), (subject, dict(rows[at][1])))
        elif what == "remove":
            rows.pop(at)
        else:
            kind = draw(st.sampled_from(sorted(columns)))
            choices = [one for one in VALUES.get(kind[1:], [EX + "Other"]) if typable(columns[kind], one)]
            if choices:
                most = 3 if columns[kind].get("separator") else 1
                rows[at][1][kind] = draw(st.frozensets(st.sampled_from(choices), max_size=most))
    return rows


@given(st.data())
def rows_come_back_as_quads(folder: Path, data: st.DataObject) -> None:
    before = data.draw(triples(12))
    meanwhile = data.draw(triples(2)) | {one for one in before if data.draw(st.integers(0, 9)) == 0}
    remove_rows = data.draw(st.booleans())
    assume(any(one[1:] == (RDF.type, CLASS) for one in before))
    file = folder / "t.csv"
    with worlds.open(":memory:", embedder=None) as world, worlds.open(":memory:", embedder=None) as twin:
        world.add(before)
        world.export(file, table=CLASS)
        columns = kinds(json.loads((folder / "t.csv-metadata.json").read_text("utf-8")))
        then = cells_of(before)
        exported = shown(then, columns)
        rows = data.draw(edited(exported, columns))
        written(file, rows, columns)
        world.edit(add=meanwhile - before, remove=meanwhile & before)
        now = cells_of(held(world))

        table: dict[tuple[URIRef, Kind], set[str]] = defaultdict(set)
        for subject, cells in rows:
            table[subject, TYPE].add(str(CLASS))
            for kind, values in cells.items():
                table[subject, kind] |= values
        instances, there = {subject for subject, _ in exported}, {subject for subject, _ in rows}
        add, remove, refused = set(), set(), False
        for cell in {*then, *table}:
            subject, kind = cell
            if subject in there:
                wanted = table.get(cell, set()) | (set() if subject in instances else then.get(cell, set()))
            elif subject in instances and remove_rows:
                wanted = set()
            else:
                continue
            was, is_ = then.get(cell, set()), now.get(cell, set())
            refused |= wanted != was and is_ not in (was, wanted)
            add |= {(subject, kind[0], term(kind, text)) for text in wanted - was}
            remove |= {(subject, kind[0], term(kind, text)) for text in was - wanted}
        twin.add(held(world))
        revision = world.history(limit=1)[0].revision
        options: Any = {"mode": "edit", "remove_rows": remove_rows}
        if refused:
            with pytest.raises(ConflictError, match="changed since the export"):
                world.load(file, **options)
            assert world.history(limit=1)[0].revision == revision
            return
        twin.edit(add=add, remove=remove)
        trial = world.load(file, dry_run=True, **options)
        assert world.history(limit=1)[0].revision == revision
        change = world.load(file, **options)
        assert held(world) == held(twin)
        assert (len(trial.added), len(trial.removed)) == (change.added, change.removed)
        gone = instances - there
        assert any("rows" in note for note in change.notes) == bool(gone)
        assert all(any(name in note for note in change.notes) for name in gone)
        assert world.load(file, **options).revision is None  # it has come back already


def test_edits_of_a_table_are_edits_of_quads(tmp_path: Path, long: bool) -> None:
    quiet: Any = {"deadline": None, "suppress_health_check": list(HealthCheck)}
    settings(max_examples=500 if long else 8, **quiet)(rows_come_back_as_quads)(tmp_path)


@pytest.fixture
def people(tmp_path: Path) -> tuple[World, Path]:
    world = worlds.open(tmp_path / "kb.db", embedder=None)
    for name, born, code in (("ann", "1980-04-01", "007"), ("bob", "1975-02-03", "12"), ("cy", "1990-12-24", "013")):
        subject = URIRef(EX + name)
        world.add(
            [
                (subject, RDF.type, CLASS),
                (subject, EX + "born", Literal(born, datatype=XSD.date)),
                (subject, EX + "code", Literal(code)),
                (subject, EX + "name", Literal(name.title(), lang="en")),
                (subject, EX + "name", Literal(f"{name}, die", lang="de")),
            ]
        )
    file = tmp_path / "people.csv"
    world.export(file, table=CLASS)
    return world, file


def replaced(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


def test_one_cell_is_one_removal_and_one_addition(people: tuple[World, Path]) -> None:
    world, file = people
    replaced(file, "1980-04-01", "1980-04-02")
    diff = world.load(file, mode="edit", dry_run=True)
    assert {str(quad[2]) for quad in diff.added} == {"1980-04-02"}
    assert {str(quad[2]) for quad in diff.removed} == {"1980-04-01"}
    before = held(world)
    change = world.load(file, mode="edit", author="ann", message="born a day later")
    assert (change.added, change.removed, change.notes) == (1, 1, ())
    world.undo(change.revision or 0)
    assert held(world) == before
    world.close()


def test_a_cell_that_the_world_changed_is_refused_and_named(people: tuple[World, Path]) -> None:
    world, file = people
    replaced(file, "1980-04-01", "1980-04-02")
    replaced(file, "013", "014")
    world.edit(
        add=[(EX + "ann", EX + "born", Literal("1981-01-01", datatype=XSD.date))],
        remove=[(EX + "ann", EX + "born", Literal("1980-04-01", datatype=XSD.date))],
    )
    last = world.history(limit=1)[0].revision
    with pytest.raises(ConflictError, match=r"ann> <.*born>.*'1980-04-01'.*'1981-01-01'.*'1980-04-02'"):
        world.load(file, mode="edit")
    with pytest.raises(ConflictError):
        world.load(file, mode="edit", dry_run=True)
    assert world.history(limit=1)[0].revision == last
    replaced(file, "1980-04-02", "1980-04-01")  # as it was: the world's change stays
    assert world.load(file, mode="edit").added == 1
    assert (URIRef(EX + "ann"), URIRef(EX + "born"), Literal("1981-01-01", datatype=XSD.date)) in held(world)
    world.close()


def test_rows_that_are_gone_are_named_and_left(people: tuple[World, Path]) -> None:
    world, file = people
    lines = file.read_text("utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if "bob" not in line), "utf-8")
    change = world.load(file, mode="edit")
    assert change.revision is None
    (note,) = change.notes
    assert "bob" in note
    assert "remove_rows" in note
    change = world.load(file, mode="edit", remove_rows=True)
    assert (change.added, change.removed) == (0, 5)
    assert not {triple for triple in held(world) if triple[0] == URIRef(EX + "bob")}
    world.close()


def edit_metadata(file: Path, change: Callable[[Any], object]) -> None:
    beside = file.with_name(f"{file.name}-metadata.json")
    metadata = json.loads(beside.read_text("utf-8"))
    change(metadata)
    beside.write_text(json.dumps(metadata), "utf-8")


def test_what_cannot_come_back_is_refused_whole(people: tuple[World, Path], tmp_path: Path) -> None:
    world, file = people
    before = held(world)
    replaced(file, "013", "014")
    whole = file.read_text("utf-8")
    for old, new, error, message in (
        ("1990-12-24", "24.12.90", ParseError, r"row 3: '24.12.90' of 'born' is no date"),
        ("code", "number", ParseError, "the table has no column 'code'"),
        (EX + "cy", "", ParseError, "row 3: 'iri' is empty"),
    ):
        file.write_text(whole.replace(old, new), "utf-8")
        with pytest.raises(error, match=message):
            world.load(file, mode="edit")
    file.write_text(whole, "utf-8")
    with worlds.open(tmp_path / "other.db", embedder=None) as other:
        other.add(before)
        with pytest.raises(WorldsError, match="exported from another world"):
            other.load(file, mode="edit")
    with pytest.raises(ArgumentError, match="for mode='edit'"):
        world.load(file, mapping=True, remove_rows=True)
    with pytest.raises(ArgumentError, match="graph"):
        world.load(file, mode="edit", graph=EX + "g")
    edit_metadata(file, lambda metadata: metadata.pop("worlds:revision"))
    with pytest.raises(ArgumentError, match=r"worlds:revision.*export"):
        world.load(file, mode="edit")
    edit_metadata(file, lambda metadata: metadata.update({"worlds:revision": "two"}))
    with pytest.raises(ParseError, match="'two' as worlds:revision"):
        world.load(file, mode="edit")
    assert held(world) == before
    world.close()


def test_what_the_table_does_not_show_stays(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        long, node = Literal("x" * 40_000), BNode()
        world.add(
            [(EX + "a", RDF.type, CLASS), (EX + "a", EX + "p", Literal("old")), (EX + "a", EX + "q", Literal("left"))]
        )
        world.add([(EX + "a", EX + "p", long), (EX + "a", EX + "p", node), (node, RDF.type, CLASS)])
        before = held(world)
        world.export(file, table=CLASS)
        assert world.load(file, mode="edit").revision is None
        lines = list(csv.reader(file.read_text("utf-8").splitlines()))
        place = lines[0].index("q")  # the column is taken out of the table, and of its mapping
        file.write_text("".join(",".join(row[:place] + row[place + 1 :]) + "\n" for row in lines), "utf-8")
        edit_metadata(file, lambda metadata: metadata["tableSchema"]["columns"].pop(place))
        assert world.load(file, mode="edit").revision is None
        assert held(world) == before


def test_a_table_of_a_forgotten_revision_is_refused(people: tuple[World, Path]) -> None:
    world, file = people
    replaced(file, "013", "014")
    world.add([(EX + "x", EX + "p", EX + "y")])
    world.revisions.prune(world.history(limit=1)[0].revision)
    world.add([(EX + "x", EX + "p", EX + "z")])
    world.revisions.prune(world.history(limit=1)[0].revision)
    with pytest.raises(WorldsError, match="forgotten"):
        world.load(file, mode="edit")
    world.close()


def test_a_named_graph_is_edited_alone(tmp_path: Path) -> None:
    file, graph = tmp_path / "t.csv", EX + "g"
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        for where in ((), (graph,)):
            world.add([(EX + "a", RDF.type, CLASS, *where), (EX + "a", EX + "p", Literal("old"), *where)])
        world.export(file, table=CLASS, graph=graph)
        replaced(file, "old", "new")
        scope = world.only(graphs=[graph])
        assert {str(quad[3]) for quad in scope.load(file, mode="edit", dry_run=True).added} == {graph}
        assert (change := scope.load(file, mode="edit")).added == change.removed == 1
        assert {str(quad[2]) for quad in world.quads(None, EX + "p", None, graph)} == {"new"}
        assert {str(quad[2]) for quad in world.quads(None, EX + "p", None, "default")} == {"old"}


def test_the_command_takes_rows_back(people: tuple[World, Path], tmp_path: Path) -> None:
    world, file = people
    world.close()
    path = tmp_path / "kb.db"
    replaced(file, "013", "014")
    trial = ok("load", path, file, "--mode", "edit", "--dry-run")
    assert '~ <https://example.org/code>: "013" → "014"' in trial
    assert "added" in ok("load", path, file, "--mode", "edit", "--no-embed")
    replaced(file, "014", "015")
    refused = run("load", path, file, "--mode", "edit", "--no-embed")
    assert refused.exit_code == 7
    assert "export the table again" in refused.stderr
