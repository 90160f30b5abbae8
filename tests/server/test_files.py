"""Files that are brought in over HTTP: what a load would do, its mapping, its violations, and the load itself."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest

import worlds
from tests.support.page import EX
from tests.support.serving import Served, served

TABLE = "name,born,of\nAda,1815-12-10,x\nBea,10.12.1815,y\nCid,1999-01-01,x\n"
SHAPE = f"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
[] a sh:NodeShape ; sh:targetClass <{EX}Person> ; sh:property [ sh:path <{EX}born> ; sh:datatype xsd:date ] ."""
OLD = f'<{EX}old> a <{EX}Person> ; <{EX}born> "long ago" .'


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("files") / "kb.db"
    with worlds.open(made, embedder=None) as world:
        world.load(OLD.encode(), format="turtle")
        world.shapes.load(SHAPE.encode(), format="turtle")
    return made


def file(name: str, content: str | bytes, **options: Any) -> dict[str, Any]:
    data = content.encode() if isinstance(content, str) else content
    return {"name": name, "content": base64.b64encode(data).decode(), **options}


def revision(client: httpx.Client) -> int:
    return int(client.get("/history").json()["revisions"][0]["revision"])


def test_a_table_is_tried_changed_loaded_and_taken_back(client: httpx.Client) -> None:
    before = revision(client)
    told = client.post("/files/trial", json=file("person.csv", TABLE, base=EX, difference=False)).json()
    assert told["difference"] is told["violations"] is None
    assert told["titles"] == ["name", "born", "of"]
    assert told["rows"][0]["iri"] == f"{EX}person/Ada"
    mapping = told["mapping"]
    assert mapping["tableSchema"]["columns"][3]["valueUrl"] == f"{EX}Person", "the class of the world"
    # As dates, the second row does not fit; as texts it goes in, and violates the shape.
    mapping["tableSchema"]["columns"][1] |= {"propertyUrl": f"{EX}born", "datatype": "date"}
    told = client.post("/files/trial", json=file("person.csv", TABLE, mapping=mapping)).json()
    first, second, _ = told["rows"]
    assert first["values"][1] == ['"1815-12-10"^^<http://www.w3.org/2001/XMLSchema#date>']
    assert first["problem"] is None
    assert second["values"][1] == []
    assert second["problem"] == "'10.12.1815' of 'born' is no date"
    assert told["difference"]["edits"]["added"] == 8
    assert told["difference"]["notes"] == ["row 2: '10.12.1815' of 'born' is no date"]
    assert told["violations"]["conforms"] is True, "that of before is not the file's"
    mapping["tableSchema"]["columns"][1]["datatype"] = "string"
    told = client.post("/files/trial", json=file("person.csv", TABLE, mapping=mapping, limit=2)).json()
    assert told["difference"]["edits"]["added"] == 12
    assert told["difference"]["truncated"] is True
    assert len(told["difference"]["quads_added"]) == 2
    assert {one["focus"] for one in told["violations"]["results"]} == {
        f"{EX}person/{name}" for name in ("Ada", "Bea", "Cid")
    }
    assert revision(client) == before, "nothing was written"
    change = client.post("/files", json=file("person.csv", TABLE, mapping=mapping, message="people")).json()
    assert (change["added"], change["revision"]) == (12, before + 1)
    entry = client.get("/history").json()["revisions"][0]
    assert (entry["author"], entry["message"]) == ("write", "people")
    again = client.post("/files/trial", json=file("person.csv", TABLE, mapping=mapping)).json()
    assert again["difference"]["edits"]["added"] == 0
    assert client.post(f"/history/{before + 1}/undo").json()["removed"] == 12


def test_rdf_goes_where_it_is_told_or_takes_the_place_of_a_graph(client: httpx.Client) -> None:
    one = file("a.ttl", "<b> <urn:p> 1, 2 .", base="https://base.example/", graph="urn:g")
    told = client.post("/files/trial", json=one).json()
    assert told["mapping"] is None
    assert told["rows"] == []
    assert told["difference"]["quads_added"][0][::3] == ["<https://base.example/b>", "<urn:g>"]
    assert client.post("/files", json=one).json()["added"] == 2
    other = file("a.nt", "<https://base.example/b> <urn:p> <urn:c> .", graph="urn:g", mode="replace")
    told = client.post("/files/trial", json=other).json()["difference"]["edits"]
    assert (told["added"], told["removed"]) == (1, 2)
    assert client.post("/files", json=other).json()["removed"] == 2


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", "", "empty.csv: the table is empty"),
        ("a.ttl", "<urn:a> <urn:b> .", "line 1, column 17: "),
        ("a.csv", 'a,b\n"1,2\n', "a.csv, line 2: "),
        ("../../etc/a.csv", "", "a.csv: the table is empty"),
        ("a.docx", "x", "a.docx is neither RDF nor a table by its name"),
        ("", "x", "file is neither RDF nor a table by its name"),
        ("a.xlsx", "no zip", "a.xlsx: the table cannot be read"),
        ("a.csv", b"a\n1\n\xff", "a.csv, line 3: the table cannot be read: 'utf-8' codec can't decode"),
    ],
)
def test_broken_files_are_refused_by_their_names(
    client: httpx.Client, name: str, content: str | bytes, said: str
) -> None:
    before = revision(client)
    for path in ("/files/trial", "/files"):
        answer = client.post(path, json=file(name, content))
        assert answer.status_code == 400, answer.text
        assert answer.json()["detail"].startswith(said), answer.text
        assert "/worlds-" not in answer.text, "where the server keeps it is its business"
        assert revision(client) == before
    assert client.post("/files", json={"name": "a.ttl", "content": "not base64"}).status_code == 400


def test_levels_and_what_new_iris_begin_with(server: Served, keys: dict[str, str], client: httpx.Client) -> None:
    one = file("a.nt", "<urn:a> <urn:b> <urn:c> .")
    with server.client(keys["read"]) as reader, server.client(keys["propose"]) as proposer:
        assert reader.post("/files/trial", json=one).status_code == 403
        assert proposer.post("/files/trial", json=one).json()["difference"]["edits"]["added"] == 1
        assert proposer.post("/files", json=one).status_code == 403
        assert proposer.post("/namespace", json={"namespace": EX}).status_code == 403
    assert client.post("/namespace", json={"namespace": "https://worlds.example"}).status_code == 400
    assert client.get("/mint", params={"label": "A b", "type": "urn:T"}).status_code == 400
    assert client.post("/namespace", json={"namespace": EX, "prefix": "mine"}).json()["mine"] == EX
    assert client.post("/namespace", json={"namespace": EX}).status_code == 200
    assert client.post("/namespace", json={"namespace": "https://other.example/"}).status_code == 409
    assert client.get("/mint", params={"label": "A b", "type": "urn:T"}).json()["iri"] == f"{EX}a-b"


def test_a_file_of_some_megabytes_is_tried_without_a_key(path: Path, tmp_path: Path) -> None:
    """A body without a key is small by default; a file is not."""
    with worlds.open(tmp_path / "kb.db", embedder=None):
        pass
    rows = "".join(f"{number},{'x' * 1000}\n" for number in range(5000))
    with served(tmp_path / "kb.db", "--allow-writes", "--readers", "1") as server, server.client() as client:
        told = client.post("/files/trial", json=file("long.csv", f"id,text\n{rows}", limit=1)).json()
        assert told["difference"]["edits"]["added"] == 15_000


@pytest.mark.parametrize("name", ["é" * 190 + ".csv", "a\ud800.csv", "/" * 300 + ".ttl", ".csv"])
def test_a_strange_name_is_shortened_or_refused(client: httpx.Client, name: str) -> None:
    sent = json.dumps(file(name, "name\nAda\n", difference=False))
    assert client.post("/files/trial", content=sent, headers={"content-type": "application/json"}).status_code in (
        200,
        400,
    )


def test_a_workbook_that_unpacks_to_too_much_is_refused(client: httpx.Client) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/worksheets/sheet1.xml", b" " * (2**26 + 1))
    refused = client.post("/files/trial", json=file("bomb.xlsx", packed.getvalue(), difference=False))
    assert refused.status_code == 400
    assert "unpacks to" in refused.json()["detail"]


def test_a_long_cell_is_shown_in_part(client: httpx.Client) -> None:
    told = client.post(
        "/files/trial", json=file("long.csv", f"name,said\nAda,{'x' * 100_000}\n", difference=False)
    ).json()
    assert len(told["rows"][0]["cells"][1]) == 1000
