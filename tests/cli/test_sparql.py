"""worlds sparql."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import fails, ok, run

LABELS = "SELECT ?bird ?label WHERE { ?bird a/rdfs:subClassOf* ex:Bird ; rdfs:label ?label } ORDER BY ?label"


def test_rows_are_a_table_with_short_names(made: Path) -> None:
    assert ok("sparql", made, LABELS).splitlines() == [
        "?bird     ?label",
        "────────  ─────────────",
        'ex:kite   "Red kite"@en',
        'ex:robin  "Robin"@en',
        'ex:kite   "Rotmilan"@de',
    ]


def test_rows_in_every_format(made: Path) -> None:
    document = json.loads(ok("sparql", made, LABELS, "--json"))
    assert document["head"]["vars"] == ["bird", "label"]
    assert document["results"]["bindings"][0]["label"] == {"type": "literal", "value": "Red kite", "xml:lang": "en"}
    assert json.loads(ok("sparql", made, LABELS, "--format", "json")) == document
    assert ok("sparql", made, LABELS, "--format", "csv").splitlines()[1] == "http://example.org/kite,Red kite"
    assert ok("sparql", made, LABELS, "--format", "tsv").splitlines()[1] == '<http://example.org/kite>\t"Red kite"@en'
    assert ok("sparql", made, LABELS, "--format", "xml").startswith("<?xml")


def test_ask_prints_its_answer_and_exits_with_it(made: Path) -> None:
    assert ok("sparql", made, "ASK { ?s a ex:Raptor }") == "true\n"
    no = run("sparql", made, "ASK { ?s a ex:Fish }")
    assert (no.exit_code, no.stdout) == (1, "false\n")
    assert "ex:Fish does not occur in this world" in no.stderr
    assert json.loads(run("sparql", made, "ASK { ?s a ex:Fish }", "--json").stdout) == {"head": {}, "boolean": False}
    assert "<boolean>true</boolean>" in ok("sparql", made, "ASK {}", "--format", "xml")


def test_triples_are_turtle_or_what_is_asked_for(made: Path) -> None:
    query = "CONSTRUCT WHERE { ex:robin rdfs:label ?l }"
    turtle = ok("sparql", made, query)
    assert "@prefix ex:" in turtle
    assert 'ex:robin rdfs:label "Robin"@en .' in turtle
    assert ok("sparql", made, query, "--format", "nt").count(" .\n") == 1
    assert json.loads(ok("sparql", made, query, "--json"))
    assert ok("sparql", made, "DESCRIBE ex:robin", "--format", "nt").count("\n") == 3


def test_the_query_comes_from_an_argument_a_file_or_standard_input(made: Path, tmp_path: Path) -> None:
    (tmp_path / "q.rq").write_text("ASK {}")
    assert ok("sparql", made, "--file", tmp_path / "q.rq") == "true\n"
    assert ok("sparql", made, "-", input="ASK {}") == "true\n"
    assert "give one query" in fails(2, "sparql", made)
    assert "give one query" in fails(2, "sparql", made, "ASK {}", "--file", tmp_path / "q.rq")
    assert "cannot be read" in fails(3, "sparql", made, "--file", tmp_path / "no.rq")
    (tmp_path / "latin.rq").write_bytes(b'ASK { ?s ?p "\xe9" }')
    assert "UTF-8" in fails(3, "sparql", made, "--file", tmp_path / "latin.rq")


def test_bindings(made: Path) -> None:
    query = "SELECT ?s ?y WHERE { ?s ex:year ?y }"
    assert ok("sparql", made, query, "--bind", "s=ex:kite", "--format", "csv").splitlines()[1:] == [
        "http://example.org/kite,1758"
    ]
    assert ok("sparql", made, query, "--bind", "?y=1758", "--format", "csv").splitlines()[1:] != []
    assert ok("sparql", made, query, "-b", "y=1759", "--format", "csv").splitlines()[1:] == []
    label = 'l="Robin"@en'
    assert ok("sparql", made, "ASK { ?s rdfs:label ?l }", "--bind", label) == "true\n"
    assert "NAME=TERM" in fails(2, "sparql", made, query, "--bind", "nonsense")
    assert "known prefix" in fails(2, "sparql", made, query, "--bind", "s=kite")


def test_the_union_of_all_graphs_on_request(made: Path) -> None:
    assert run("sparql", made, "ASK { ?s ex:note ?o }").exit_code == 1
    assert ok("sparql", made, "ASK { ?s ex:note ?o }", "--union") == "true\n"


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT ?s WHERE { ?s a ex:Bird", "line 1, column"),
        ("SELECT ?s\nWHERE { ?s a nope:Bird }", "line 2, column 23: the prefix 'nope:' is not declared"),
        ("", "unexpected end"),
        ("SELECT * { SERVICE <http://x/> { ?s ?p ?o } }", "SERVICE is not allowed"),
        ("DELETE WHERE { ?s a ex:Bird }", "line 1, column 1: DELETE begins an update, not a query: `worlds update`"),
        ("SELEC ?s { ?s a ex:Bird }", "line 1, column 1: a query begins with SELECT, ASK, CONSTRUCT or DESCRIBE, not"),
        ("SELECT * {" + "{" * 10_000 + "}" * 10_000 + "}", "nested deeper"),
    ],
)
def test_queries_that_cannot_be_answered(made: Path, query: str, said: str) -> None:
    assert said in fails(5, "sparql", made, "-", input=query)


def test_formats_that_do_not_suit_the_query(made: Path) -> None:
    assert "is not a format" in fails(2, "sparql", made, "ASK {}", "--format", "nonsense")
    assert "gives rows" in fails(2, "sparql", made, LABELS, "--format", "turtle")
    assert "gives triples" in fails(2, "sparql", made, "DESCRIBE ex:robin", "--format", "csv")
    assert "true or false" in fails(2, "sparql", made, "ASK {}", "--format", "nt")
    assert "use --json or --format, not both" in fails(2, "sparql", made, "ASK {}", "--format", "xml", "--json")
