"""The commands of curation."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rdflib import XSD

import worlds
from tests.support.command_line import ok, run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.bind("ex", "http://example.org/")
        world.add([("ex:born", "rdf:type", "owl:FunctionalProperty")], author="ann")
        world.add([("ex:a", "ex:born", 1), ("ex:a", "ex:born", 2)], author="bob")
    return path


def test_contradictions_are_told_with_who_said_them(path: Path) -> None:
    found = run("curate contradictions", path)
    assert found.exit_code == 1
    assert "has 2 values of" in " ".join(found.output.split())
    assert "bob" in found.output
    document = json.loads(run("curate contradictions", path, "--json").output)
    assert document["counts"] == {"functional": 1}
    assert [said["author"] for said in document["findings"][0]["quads"]] == ["bob", "bob"]


def test_a_world_without_any_says_so(tmp_path: Path) -> None:
    worlds.open(tmp_path / "kb.db", embedder=None).close()
    assert "nothing was found" in ok("curate contradictions", tmp_path / "kb.db")


def test_a_report_for_people_programs_and_ci(path: Path, tmp_path: Path) -> None:
    found = run("curate report", path)
    assert found.exit_code == 1, "a functional property has two values"
    assert "entities without a label" in " ".join(found.output.split())
    assert json.loads(run("curate report", path, "--json").output)["counts"]["error"] == 1
    with worlds.open(path, embedder=None) as world:
        world.remove([("ex:a", "ex:born", 2)])
    assert json.loads(ok("curate report", path, "--json"))["counts"]["error"] == 0
    assert run("curate report", path, "--fail-on", "warning").exit_code == 1
    assert ok("curate report", path, "-f", "markdown").startswith("# Report")
    assert not ok("curate report", path, "-f", "html", "-o", tmp_path / "report.html")
    assert "<svg" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert run("curate report", path, "--fail-on", "no").exit_code == 2
    worlds.open(tmp_path / "empty.db", embedder=None).close()
    assert "nothing was found" in ok("curate report", tmp_path / "empty.db")


def test_duplicates_and_the_decision_that_there_are_none(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        for name in ("one", "other"):
            world.add([(f"ex:{name}", "rdfs:label", '"Grace Hopper"'), (f"ex:{name}", "ex:mail", '"grace@navy"')])
    assert "Grace Hopper" in ok("curate duplicates", path)
    assert json.loads(ok("curate duplicates", path, "--json"))["counts"] == {"duplicate": 1}
    assert "ex:one" in ok("curate distinct", path, "ex:one", "ex:other", "--dry-run")
    assert "revision" in ok("curate distinct", path, "ex:one", "ex:other", "--author", "ann")
    assert "nothing was found" in ok("curate duplicates", path)
    assert "nothing was found" in ok("curate duplicates", path, "--between", "default", "ex:none")


def test_what_is_proposed_is_not_what_is_shown(path: Path) -> None:
    names = [f"Grace{number} Hopper{number}" for number in range(25)]
    with worlds.open(path, embedder=None) as world:
        for number, name in enumerate(names):
            for twin in "ab":
                entity = f"ex:{twin}{number}"
                world.add([(entity, "rdfs:label", f'"{name}"'), (entity, "ex:mail", f'"grace{number}@navy"')])
    found = run("curate duplicates", path, "--propose")
    assert "25 proposals made: 1 to 25" in found.stderr
    assert "and 5 more" in found.stderr
    assert found.stdout.count("Hopper") < 25 * 4


def test_a_write_that_waits_is_told_as_a_proposal(path: Path, tmp_path: Path) -> None:
    shape = "[] a sh:NodeShape ; sh:targetSubjectsOf ex:born ; sh:property [ sh:path ex:born ; sh:maxCount 1 ] ."
    (tmp_path / "shapes.ttl").write_text(f"@prefix sh: <http://www.w3.org/ns/shacl#> .\n"
                                         f"@prefix ex: <http://example.org/> .\n{shape}")  # fmt: skip
    (tmp_path / "more.nt").write_text(
        "".join(f'<http://example.org/new> <http://example.org/born> "{year}" .\n' for year in (1, 2))
    )
    ok("shapes load", path, tmp_path / "shapes.ttl")
    ok("shapes guard", path, "queue")
    assert "proposal 1 waits for a decision" in ok("load", path, tmp_path / "more.nt")
    document = json.loads(ok("load", path, tmp_path / "more.nt", "--json"))
    assert (document["revision"], document["proposal"]) == (None, 1)
    assert "all of it is there already" not in ok("load", path, tmp_path / "more.nt")


def test_findings_become_proposals(path: Path) -> None:
    with worlds.open(path, embedder=None) as world:
        for name in ("one", "other"):
            world.add([(f"ex:{name}", "rdfs:label", '"Grace Hopper"'), (f"ex:{name}", "ex:mail", '"grace@navy"')])
    assert "1 proposal made" in run("curate duplicates", path, "--propose", "--author", "finder").stderr
    assert "no new proposals" in run("curate duplicates", path, "--propose").stderr
    assert json.loads(ok("curate duplicates", path, "--propose", "--json"))["proposed"] == []
    ok("proposals reject", path, "1", "--why", "an aunt of the same name")
    assert "no new proposals" in run("curate duplicates", path, "--propose").stderr
    assert "no new proposals" in run("curate contradictions", path, "--propose").stderr
    assert "nothing was found" in ok("curate links", path, "--propose")
    with worlds.open(path, read_only=True) as world:
        (waiting,) = world.proposals.list(status="rejected")
        assert (waiting.author, waiting.kind) == ("finder", "duplicate")
        assert sorted(map(str, waiting.merged)) == ["http://example.org/one", "http://example.org/other"]


def test_a_proposal_is_amended(path: Path) -> None:
    ok("proposals add", path, "DELETE DATA { ex:a ex:born 1 }", "--why", "it is 2", "--author", "bot")
    told = ok("proposals amend", path, "1", "--why", "no, it is 1", "--author", "ann")
    assert re.search(r"  ann     no, it is 1$", told, re.MULTILINE)
    document = json.loads(
        ok("proposals amend", path, "1", "DELETE DATA { ex:a ex:born 2 }", "--author", "ann", "--json")
    )
    assert [quad.split()[2] for quad in document["removed"]] == ['"2"^^<http://www.w3.org/2001/XMLSchema#integer>']
    assert run("proposals amend", path, "9", "--why", "x").exit_code != 0
    shown = dict(re.findall(r"(?m)^(\w[\w ]*?) {2,}(.*)$", ok("proposals get", path, "1")))
    assert (shown["version"], shown["content author"]) == ("2", "ann")
    refused = run("proposals accept", path, "1", "--reviewer", "cid")
    assert refused.exit_code != 0
    assert "version 2 now, given by ann" in refused.stderr
    ok("proposals accept", path, "1", "--reviewer", "cid", "--version", "2")


def test_a_rehearsal_that_changes_nothing_says_so(path: Path, tmp_path: Path) -> None:
    (tmp_path / "same.nt").write_text(
        "".join(f'<http://example.org/a> <http://example.org/born> "{year}"^^<{XSD.integer}> .\n' for year in (1, 2))
    )
    assert "nothing would change" in ok("load", path, tmp_path / "same.nt", "--dry-run")
    assert json.loads(ok("load", path, tmp_path / "same.nt", "--dry-run", "--json"))["added"] == []


def test_several_worlds_without_words_lack_the_words(path: Path) -> None:
    assert "QUERY" in run("search", "--world", path, "--world", path).stderr
    assert "WORLD" in run("search").stderr
