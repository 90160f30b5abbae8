"""worlds search."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import worlds
from tests.support.command_line import ENVIRONMENT, fails, hits, ok, process, run


def subjects(path: Path, *args: str) -> set[str]:
    return {hit["subject"].rpartition("/")[2] for hit in hits(path, *args)}


def test_search_shows_what_a_person_reads(made: Path) -> None:
    first, second, *rest = ok("search", made, "forked", "tail", "--mode", "text").splitlines()
    assert re.fullmatch(r"1\. Red kite  ex:kite a ex:Raptor  1\.0000", first.strip())
    assert second.strip() == "rdfs:comment@en: The red kite is a bird of prey with a forked tail."
    assert rest == []


def test_hits_are_shown_without_rdflib(made: Path) -> None:
    code = "import sys\nfrom worlds.doors.cli import app\napp(sys.argv[1:], standalone_mode=False)\n"
    command = [sys.executable, "-c", f"{code}assert 'rdflib' not in sys.modules", "search", str(made), "box"]
    done = subprocess.run([*command, "--mode", "text"], capture_output=True, env=ENVIRONMENT, check=True)
    assert b"also ex:crate" in done.stdout


def test_garbage_is_collected_once_all_is_imported(made: Path) -> None:
    code = "import atexit, gc\nfrom worlds.doors.cli import main\n"
    code += "atexit.register(lambda: print(gc.isenabled(), gc.get_freeze_count() > 10_000))\nmain()"
    command = [sys.executable, "-c", code, "search", str(made), "box", "--mode", "text"]
    done = subprocess.run(command, capture_output=True, env=ENVIRONMENT, check=True)
    assert done.stdout.splitlines()[-1] == b"True True"


def test_a_text_of_several_subjects_names_them(made: Path) -> None:
    assert "also ex:crate" in ok("search", made, "box", "--mode", "text")


def test_a_graph_is_named(made: Path) -> None:
    assert " in ex:g1  " in ok("search", made, "note", "--mode", "text")


def test_no_hits_is_a_note(made: Path, path: Path) -> None:
    result = run("search", made, "nothingofthekind", "--mode", "text")
    assert (result.exit_code, result.stdout) == (0, "")
    why, what = result.stderr.splitlines()
    assert why.startswith("note: Nothing matches these words")
    assert what == "note: no hits"
    for blank in ("", "  ", "!?"):
        result = run("search", made, blank, "--mode", "text")
        assert (result.exit_code, result.stdout) == (0, "")
    with worlds.open(path, embedder=None):
        pass
    assert "is empty" in run("search", path, "red", "--mode", "text").stderr


def test_search_as_json(made: Path) -> None:
    told = json.loads(ok("search", made, "forked", "tail", "--mode", "text", "--json", "--explain"))
    assert told["query"] == "forked tail"
    (hit,) = told["hits"]
    assert hit["rank"] == 1
    assert hit["subject"] == "http://example.org/kite"
    assert hit["snippet"].count("**") == 4
    assert set(hit["explain"]) == {"text"}
    assert told["explain"]["mode"] == "text"
    assert told["explain"]["milliseconds"]["all"] > 0


def test_without_an_embedder_a_note_says_so(made: Path) -> None:
    result = run("search", made, "kite", "--embedder", "none")
    assert result.exit_code == 0
    assert "Red kite" in result.stdout
    assert result.stderr.startswith("note: keyword search only: ")
    told = json.loads(ok("search", made, "kite", "--embedder", "none", "--json"))
    assert "sql" not in told["explain"]
    assert "SELECT" in json.loads(ok("search", made, "kite", "--json", "--explain"))["explain"]["sql"]
    assert told["explain"]["notes"]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ([], {"kite", "robin", "box", "a"}),
        (["--limit", "1"], {"kite"}),
        (["--type", "ex:Bird"], {"robin"}),
        (["--type", "ex:Bird", "--subclasses"], {"robin", "kite"}),
        (["-t", "ex:Raptor", "-t", "ex:Thing"], {"kite", "box"}),
        (["--predicate", "rdfs:comment"], {"kite", "robin", "box"}),
        (["-s", "http://example.org/kite"], {"kite"}),
        (["--graph", "ex:g1"], {"a"}),
        (["--graph", "default"], {"kite", "robin", "box"}),
        (["--lang", "en"], {"kite", "robin"}),
        (["--lang", ""], {"box", "a"}),
        (["--where", "?subject ex:year ?y FILTER(?y < 1800)"], {"kite"}),
        (["--exclude-type", "ex:Raptor"], {"robin", "box", "a"}),
        (["--exclude-type", "ex:Raptor", "--exclude-type", "ex:Thing"], {"robin", "a"}),
        (["--exclude-predicate", "rdfs:comment"], {"kite", "a"}),
        (["--exclude-subject", "ex:kite", "--exclude-graph", "ex:g1"], {"robin", "box"}),
        (["--exclude-lang", "en"], {"box", "a"}),
        (["--exclude-where", "?subject ex:year ?y"], {"robin", "box", "a"}),
    ],
)
def test_filters(made: Path, options: list[str], found: set[str]) -> None:
    assert subjects(made, "red", *options) == found


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--type", "nope:Bird"], "nope:Bird"),
        (["--type", "Bird"], "'Bird' is neither an IRI nor a name with a known prefix, such as rdfs:label; `worlds"),
        (["--lang", "not a tag"], "languages"),
        (["--where", "?subject nope:p ?o"], "nope:"),
        (["--where", "?subject"], "where takes a SPARQL group pattern"),
        (["--syntax", "fts5"], "FTS5"),
    ],
)
def test_filters_that_cannot_be(made: Path, options: list[str], said: str) -> None:
    assert said in fails(5, "search", made, 'red "', *options, "--mode", "text")


def test_words_that_are_operators(made: Path) -> None:
    assert subjects(made, "red -breast -box") == {"kite", "a"}
    after_options = ok("search", made, "--mode", "text", "--json", "--", "red", "-breast", "-box")
    assert {hit["label"] for hit in json.loads(after_options)["hits"]} == {"Red kite", None}
    assert subjects(made, '"forked tail"') == {"kite"}
    assert subjects(made, "fork*") == {"kite"}
    assert subjects(made, "rotmilan") == {"kite"}


def test_a_huge_query_is_answered(made: Path) -> None:
    assert subjects(made, "kite " * 20_000) == {"kite"}
    assert json.loads(ok("search", made, "-", "--mode", "text", "--json", input="robin\n"))["query"].strip() == "robin"


def test_bytes_that_are_no_text_are_answered(made: Path) -> None:
    found = process("search", made, b"kite \xff\xfe".decode("utf-8", "surrogateescape"), "--mode", "text", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["hits"][0]["label"] == "Red kite"


def test_explain_shows_legs_plan_and_time(made: Path) -> None:
    shown = ok("search", made, "kite", "--mode", "text", "--explain")
    assert re.search(r"(?m)^rank +score +text # +BM25 +gives +hit$", shown)
    assert re.search(r"(?m)^ +1  1\.00000 +1  -\d\.\d+  1\.00000  Red kite$", shown)
    assert re.search(r"(?m)^ +1 +ex:kite rdfs:label$", shown)
    assert re.search(r"(?m)^mode +text$", shown)
    assert re.search(r"(?m)^fusion +relative, minmax$", shown)
    assert "found (chunk, vector_rank, similarity, text_rank, bm25) AS" in shown
    assert re.search(r"(?m)^time +filter [\d.]+, ", shown)


@pytest.mark.parametrize(
    ("options", "first", "count"),
    [
        (["--boost", "9 ?subject a ex:Thing"], "box", 5),
        (["--boost", "0.5 ex:year"], "kite", 5),
        (["--decay", "ex:year", "--half-life", "30"], "box", 5),
        (["--decay", "ex:year", "--evergreen-type", "ex:Raptor"], "kite", 5),
        (["--diversity", "0.5", "--fusion", "rrf", "--k", "5"], "kite", 5),
        (["--group-by", "subject", "--per-subject", "2"], "kite", 6),
        (["--group", "--per-subject", "2"], "kite", 6),
        (["--reranker", "no such folder", "--rerank-timeout", "60"], "kite", 5),
    ],
)
def test_stages(made: Path, options: list[str], first: str, count: int) -> None:
    shown = json.loads(ok("search", made, "red", "--mode", "text", "--json", "--explain", *options))
    assert shown["hits"][0]["subject"] == f"http://example.org/{first}"
    assert len(shown["hits"]) == count
    assert ok("search", made, "red", "--mode", "text", "--explain", *options)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--half-life", "30"], "need --decay"),
        (["--evergreen-type", "ex:Raptor"], "need --decay"),
        (["--no-rerank", "--reranker", "any"], "use --no-rerank or --reranker, not both"),
    ],
)
def test_options_that_mean_nothing_are_refused(made: Path, options: list[str], told: str) -> None:
    assert told in fails(2, "search", made, "red", "--mode", "text", *options)


def test_pages(made: Path) -> None:
    first = json.loads(ok("search", made, "red", "--mode", "text", "--json", "--limit", "3"))
    second = json.loads(ok("search", made, "red", "--mode", "text", "--json", "--cursor", first["cursor"]))
    assert [len(first["hits"]), len(second["hits"]), second["cursor"]] == [3, 2, None]
    assert "another search" in run("search", made, "kite", "--mode", "text", "--cursor", first["cursor"]).stderr


def test_sql_shows_the_statement(made: Path) -> None:
    shown = ok("search", made, "kite", "--mode", "text", "--sql", "--type", "ex:Raptor")
    assert "\n-- statement\nWITH\n" in shown
    assert re.search(r"(?m)^-- \?1 = ", shown)
    index = ("--plan", "index", "--fusion", "rrf")
    told = json.loads(ok("search", made, "kite", "--mode", "text", "--sql", "--json", "--type", "ex:Raptor", *index))
    (fused,) = [one for one in told if one["step"] == "statement"]
    assert fused["sql"].startswith("WITH\n")
    assert {"base64"} in [set(value) for one in told for value in one["parameters"] if isinstance(value, dict)]


def test_text_mode_touches_no_embedder(made: Path) -> None:
    code = (
        "import sys; from worlds.doors.cli import app\n"
        f"try: app(['search', {str(made)!r}, 'kite', '--mode', 'text', '--embedder', 'no/such-model'])\n"
        "except SystemExit as end: print(end.code, {'torch', 'tokenizers'} & set(sys.modules), file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, env=ENVIRONMENT, check=True)
    assert shown.stderr.strip() == b"0 set()"


def test_facets_are_counted_and_printed(made: Path) -> None:
    asked: list[str | Path] = ["search", made, "", "--mode", "text", "--type", "ex:Raptor", "--facet", "rdfs:label"]
    shown = ok(*asked, "--facets")
    assert re.search(r"(?m)^types +texts$", shown)
    assert re.search(r"(?m)^rdfs:label +texts$", shown)
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    kinds = {"types", "predicates", "graphs", "languages", "sources"}
    assert {*json.loads(ok(*asked, "--json"))["facets"]} == {*kinds, label}
    assert "facets" not in json.loads(ok("search", made, "kite", "--mode", "text", "--json"))
