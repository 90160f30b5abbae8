"""Decisions on many proposals: by what holds of them, and by a table that goes out and comes back."""

from __future__ import annotations

import csv
import io
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Literal, URIRef

import worlds
from tests.support.command_line import ok, run
from tests.support.forking import Forked
from worlds.doors.cli.decide import COLUMNS
from worlds.graph.cells import escaped, unescaped

EX = "http://example.org/"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.bind("ex", EX)
        for number, confidence in enumerate((0.99, 0.96, 0.5, None), 1):
            world.proposals.add(
                add=[(f"ex:e{number}", "ex:size", number)], why=f"=HYPERLINK({number})", confidence=confidence,
                author="bot" if number < 4 else "ann", kind="sizes",
            )  # fmt: skip
    return path


def statuses(path: Path) -> list[str]:
    with worlds.open(path, embedder=None) as world:
        return [one.status for one in world.proposals.list(status="any")]


def table(path: Path) -> list[dict[str, str]]:
    csv.field_size_limit(10**7)
    return list(csv.DictReader(io.StringIO(ok("proposals list", path, "--csv"), newline="")))


def written(path: Path, rows: list[dict[str, str]]) -> Path:
    file = path.parent / "decisions.csv"
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    return file


def test_many_are_accepted_by_what_holds_of_them(path: Path) -> None:
    tried = ok("proposals accept", path, "--min", "0.95", "--kind", "sizes", "--dry-run")
    assert "ex:e1" in tried
    assert "ex:e2" in tried
    assert statuses(path) == ["open"] * 4
    ok("proposals accept", path, "--min", "0.95", "--kind", "sizes", "--reviewer", "cid")
    assert statuses(path) == ["accepted", "accepted", "open", "open"]
    ok("proposals reject", path, "--proposer", "ann", "--why", "no")
    assert statuses(path) == ["accepted", "accepted", "open", "rejected"]
    assert "no open proposal matches" in run("proposals accept", path, "--entity", "ex:none").stderr
    assert run("proposals accept", path).exit_code == 2
    assert run("proposals accept", path, "3", "--min", "0.1").exit_code == 2
    with worlds.open(path, embedder=None) as world:
        assert len(world.history()) == 2, "a revision each"
        assert [one.id for one in world.proposals.list(status="any", minimum=0.96)] == [1, 2]
        with pytest.raises(ValueError, match="minimum"):
            world.proposals.list(minimum=2)


def test_a_query_chooses_the_entities_whose_proposals_are_decided(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.add([("ex:e1", "ex:of", "ex:a"), ("ex:e3", "ex:of", "ex:a"), ("ex:e4", "ex:of", "ex:b")])
    query = "SELECT ?e { ?e <http://example.org/of> <http://example.org/a> }"
    ok("proposals accept", path, "--query", query, "--min", "0.9")
    assert statuses(path) == ["accepted", "open", "open", "open"]
    assert "no open proposal matches" in ok("proposals reject", path, "--query", query + " LIMIT 0")
    assert statuses(path) == ["accepted", "open", "open", "open"]
    ok("proposals reject", path, "--query", query)
    assert statuses(path) == ["accepted", "open", "rejected", "open"]
    for wrong in ("ASK {}", "SELECT ?x { VALUES ?x { 1 } }", "SELECT"):
        assert run("proposals accept", path, "--query", wrong).exit_code not in (0, 1), wrong
    assert run("proposals accept", path, "--query", query, "--entity", "ex:e1").exit_code == 2
    assert statuses(path) == ["accepted", "open", "rejected", "open"]


def test_a_table_goes_out_and_its_decisions_come_back(path: Path) -> None:
    rows = table(path)
    assert [row["proposal"] for row in rows] == ["1", "2", "3", "4"]
    assert rows[0]["why"] == "'=HYPERLINK(1)"
    assert rows[0]["change"].startswith("'+ ex:e1 ex:size 1")
    for row, decision in zip(rows, ("accept", "Reject", "", "accept"), strict=True):
        row["decision"] = decision
    rows[1]["reason"] = escaped("-no source")
    file = written(path, rows)
    tried = run("proposals decide", path, file, "--dry-run")
    assert tried.exit_code == 0
    assert "nothing is written" in tried.stderr
    outcomes = re.findall(r"(?m)^ *(\d) +\S+ +(\S+)$", tried.stdout)
    assert outcomes == [("1", "accepted"), ("2", "rejected"), ("4", "accepted")]
    assert statuses(path) == ["open"] * 4
    told = json.loads(ok("proposals decide", path, file, "--author", "cid", "--json"))["decisions"]
    assert [row["outcome"] for row in told] == ["accepted", "rejected", "accepted"]
    assert statuses(path) == ["accepted", "rejected", "open", "accepted"]
    with worlds.open(path, embedder=None) as world:
        assert world.proposals.get(2).decision == "-no source"
        assert world.proposals.get(1).reviewer == "cid"
    again = run("proposals decide", path, file)  # it was decided: nothing is done twice
    assert again.exit_code == 1
    assert len(re.findall(r"(?m)^ *\d +(?:accept|reject) +refused ", again.stdout)) == 3


def test_what_has_moved_is_refused_and_the_rest_goes_in(path: Path) -> None:
    rows = table(path)
    with worlds.open(path, embedder=None) as world:
        world.add([("ex:e5", "ex:size", 1)])
        world.proposals.add(remove=[("ex:e5", "ex:size", 1)], author="bot")
        rows = table(path)
        world.remove([("ex:e5", "ex:size", 1)])  # what it would remove
        world.proposals.amend(3, add=[("ex:e3", "ex:size", 33)], author="bot")  # another version than the table's
    for row in rows:
        row["decision"] = "accept"
    found = run("proposals decide", path, written(path, rows), "--json")
    assert found.exit_code == 1
    outcomes = {row["proposal"]: row["outcome"] for row in json.loads(found.output)["decisions"]}
    assert outcomes == {1: "accepted", 2: "accepted", 3: "refused", 4: "accepted", 5: "refused"}
    assert statuses(path) == ["accepted", "accepted", "open", "accepted", "open"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"decision": "perhaps"}, "line 2"),
        ({"version": "one"}, "must be numbers"),
        ({"proposal": "2"}, "decided twice"),
    ],
)
def test_a_table_that_is_wrong_decides_nothing(path: Path, change: dict[str, str], message: str) -> None:
    rows = [{**row, "decision": "accept"} for row in table(path)]
    rows[0] |= change
    found = run("proposals decide", path, written(path, rows))
    assert found.exit_code != 0
    assert message in " ".join(found.output.split())
    assert statuses(path) == ["open"] * 4
    file = path.parent / "other.csv"
    file.write_text("a,b\n1,2\n")
    assert "lacks the columns" in " ".join(run("proposals decide", path, file).output.split())
    file.write_bytes(b"\xff\xfe\x00")
    assert "it is not UTF-8" in " ".join(run("proposals decide", path, file).output.split())
    assert "cannot be read" in " ".join(run("proposals decide", path, path.parent / "none.csv").output.split())


def test_a_long_change_and_another_separator_come_back(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        world.proposals.add(add=[("ex:long", "ex:text", Literal("long " * 60_000, datatype=URIRef(EX + "blob")))])
    rows = table(path)
    rows[4]["decision"] = "accept"
    assert re.search(r"(?m)^ *5 +accept +accepted +1$", ok("proposals decide", path, written(path, rows)))
    rows[4]["decision"], rows[0]["decision"] = "", "reject"
    file = path.parent / "semicolons.csv"
    with file.open("w", newline="", encoding="utf-8-sig") as stream:  # as spreadsheets write it in some countries
        writer = csv.DictWriter(stream, COLUMNS, delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    ok("proposals decide", path, file)
    assert statuses(path) == ["rejected", "open", "open", "open", "accepted"]


def test_an_interrupt_tells_how_many_were_decided(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        for number in range(200):
            world.proposals.add(add=[(EX + f"e{number}", EX + "size", number)], confidence=0.99)
    command = [sys.executable, "-m", "worlds", "proposals", "accept", str(path), "--min", "0.9", "--embedder", "none"]
    with Forked(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    with worlds.open(path, embedder=None) as world:
        done = len(world.history(limit=None))
        assert 0 < done < 200
        counted = re.search(r"interrupted: ([\d,]+) proposals? decided", " ".join(told.split()))
        assert counted is not None, told
        assert int(counted[1].replace(",", "")) in (done - 1, done)  # the last may be kept and not told yet
        assert len(world) == done
        assert world.check().ok


def test_what_is_not_there_is_refused_and_the_rest_goes_in(path: Path) -> None:
    rows = table(path)
    rows = [{**rows[0], "proposal": "99999"}, {**rows[1], "proposal": "1" * 40}, rows[2]]
    found = run("proposals decide", path, written(path, [{**row, "decision": "accept"} for row in rows]), "--json")
    assert [row["outcome"] for row in json.loads(found.output)["decisions"]] == ["refused", "refused", "accepted"]


@given(st.text(st.sampled_from("'=+-@\t\r\na 1")))
def test_a_text_is_no_formula_and_comes_back(text: str) -> None:
    assert not escaped(text).startswith(tuple("=+-@\t\r"))
    assert unescaped(escaped(text)) == text


def test_validate_prints_the_first_results_and_how_many_more(tmp_path: Path) -> None:
    with worlds.open(tmp_path / "kb.db", embedder=None) as world:
        world.bind("ex", EX)
        world.shapes.load(
            f"@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <{EX}> . "
            "ex:S sh:targetClass ex:C ; sh:property [ sh:path ex:p ; sh:minCount 1 ] .".encode(),
            format="turtle",
        )
        world.add([(f"ex:a{number:02}", "rdf:type", "ex:C") for number in range(30)])
    found = run("shapes validate", tmp_path / "kb.db")
    assert found.exit_code == 1
    assert "and 10 more" in found.stderr
    assert "ex:a19" in found.output
    assert "ex:a20" not in found.stdout
    assert "ex:a29" in run("shapes validate", tmp_path / "kb.db", "--limit", "40").stdout
    assert len(json.loads(run("shapes validate", tmp_path / "kb.db", "--json").output)["results"]) == 30
    for command in ("shapes validate", "curate contradictions", "curate duplicates", "curate links"):
        assert run(command, tmp_path / "kb.db", "--limit", "-3").exit_code == 2


def test_scores_are_no_confidence(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        for iri in ("a", "b"):
            world.add([(EX + iri, "rdfs:label", '"Massachusetts Institute"'), (EX + iri, EX + "code", '"QX-77"')])
        (made,) = world.proposals.add_all(world.curation.duplicates(score=0.0))
        assert made.confidence is None
    refused = run("proposals accept", path, "--min", "0")
    assert refused.exit_code == 2
    assert "decide 30 of a kind" in " ".join(refused.stderr.split())
    ok("proposals accept", path, str(made.id), "--reviewer", "ann")
