"""Kept questions: a graph of the world's own, found by words and meaning, and answered by their queries."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worlds
from benchmarks.kept import questions, ranks
from tests.support.embedder import HashingEmbedder
from tests.support.forking import run
from worlds import OpenError, QueryError, ReadOnlyError, World
from worlds.errors import ArgumentError
from worlds.extras.questions.examples import same

DATA = b"""
@prefix ex: <https://ex.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Person rdfs:label "person" . ex:Film rdfs:label "film" . ex:directed rdfs:label "directed" .
ex:nolan a ex:Person ; rdfs:label "Christopher Nolan" ; ex:directed ex:inception, ex:dunkirk .
ex:mann a ex:Person ; rdfs:label "Michael Mann" ; ex:directed ex:heat .
ex:inception a ex:Film ; rdfs:label "Inception" ; ex:year 2010 ; ex:genre "Thriller" .
ex:dunkirk a ex:Film ; rdfs:label "Dunkirk" ; ex:year 2017 ; ex:genre "War" .
ex:heat a ex:Film ; rdfs:label "Heat" ; ex:year 1995 ; ex:genre "Thriller" .
ex:oslo a ex:City ; rdfs:label "Oslo" .
"""
OF_NOLAN = "Which films did Christopher Nolan make for the screen?"
BEFORE = "How many films are there before 2000?"
QUERY = "SELECT ?f { ex:nolan ex:directed ?f }"
COUNT = "SELECT (COUNT(*) AS ?n) { ?f a ex:Film ; ex:year ?y FILTER(?y < 2000) }"
GRAPH = "urn:worlds:questions"
SIB = b"""
@prefix ex: <https://examples.example/> . @prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix schema: <https://schema.org/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
 @prefix spex: <https://purl.expasy.org/sparql-examples/ontology#> .
ex:prefixes sh:declare [ sh:prefix "film" ; sh:namespace "https://ex.example/"^^xsd:anyURI ] .
ex:1 a sh:SPARQLExecutable, sh:SPARQLSelectExecutable ; sh:prefixes ex:prefixes ;
  rdfs:comment "<p>Which <b>films</b> are thrillers &amp; older?</p>"^^rdf:HTML, "Welche Filme?"@de ;
  sh:select "SELECT ?f { ?f film:genre 'Thriller' }" ; schema:keywords "genre", "films" ;
  schema:target <https://sparql.example/> .
ex:2 a sh:SPARQLExecutable, sh:SPARQLAskExecutable ; rdfs:comment "Is there any film of Oslo?"@en ;
  sh:ask "ASK { ?f film:about film:oslo }" .
ex:3 a sh:SPARQLExecutable, spex:SPARQLDescribeExecutable ; rdfs:comment "What is Heat?" ;
  spex:describe "DESCRIBE film:heat" .
"""


@pytest.fixture
def world() -> Iterator[World]:
    with worlds.open(embedder=HashingEmbedder()) as world:
        world.bind("ex", "https://ex.example/")
        world.load(DATA, format="turtle")
        yield world


def test_what_is_kept_is_a_graph_of_its_own(world: World) -> None:
    def seen() -> list[Any]:
        return [
            world.search("films screen").to_dict()["hits"],
            {**world.schema().to_dict(), "revision": None},
            world.resolve("Which films").to_dict(),
            len(world.query("SELECT * { ?s ?p ?o }", union=True)),  # type: ignore[arg-type]
            len(world.query("SELECT * { GRAPH ?g { ?s ?p ?o } }")),  # type: ignore[arg-type]
            {**world.curation.report().to_dict()["counts"], "revision": None},
            world.curation.duplicates().to_dict(),
        ]

    before = seen()
    world.questions.add(OF_NOLAN, QUERY, description="By their director.")
    assert seen() == before
    assert len(world.query(f"SELECT * {{ GRAPH <{GRAPH}> {{ ?s ?p ?o }} }}")) == 5  # type: ignore[arg-type]
    assert world.check().ok


def test_adding_replacing_removing_and_undoing(world: World) -> None:
    rehearsed: Any = world.questions.add(OF_NOLAN, QUERY, dry_run=True)
    assert len(rehearsed.added) == 4
    assert not world.questions
    world.questions.add(OF_NOLAN, QUERY, author="ann", keywords=["films"], wordings=["Movies by Nolan"])
    (kept,) = world.questions
    assert (kept.question, kept.query, kept.wordings, kept.keywords) == (
        OF_NOLAN, f"PREFIX ex: <https://ex.example/>\n{QUERY}", ("Movies by Nolan",), ("films",),
    )  # fmt: skip
    assert world.history()[0].author == "ann"
    change: Any = world.questions.add(
        "which films did christopher nolan make, for the screen", "ASK { ex:nolan ?p ?o }"
    )
    (changed,) = world.questions
    assert changed.iri == kept.iri
    assert changed.query.endswith("ASK { ex:nolan ?p ?o }")
    world.undo(change.revision)
    assert list(world.questions) == [kept]
    world.questions.remove(kept.iri)
    assert not world.questions
    assert len(world.questions.triples) == 0
    with pytest.raises(ArgumentError, match="no such question"):
        world.questions.remove(OF_NOLAN)


@pytest.mark.parametrize(
    ("question", "query", "error"),
    [
        ("", QUERY, ArgumentError),
        ("x" * 20_000, QUERY, ArgumentError),
        (OF_NOLAN, "INSERT DATA { ex:a ex:b ex:c }", QueryError),
        (OF_NOLAN, "SELECT ?f { ex:nolan", QueryError),
        (OF_NOLAN, "", QueryError),
        (OF_NOLAN, "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }", QueryError),
    ],
)
def test_what_cannot_be_kept(world: World, question: str, query: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        world.questions.add(question, query)
    assert not world.questions
    assert len(world.history()) == 1


def test_the_same_question_is_answered_by_its_query(world: World) -> None:
    world.questions.add(OF_NOLAN, QUERY)
    context = world.context("which films did Christopher Nolan make for the screen")
    assert context.answer is not None
    assert context.answer.told
    assert {str(row[0]) for row in context.answer.rows} == {
        "https://ex.example/dunkirk",
        "https://ex.example/inception",
    }
    assert context.answer.kept == next(iter(world.questions)).iri
    assert context.text.startswith("Answer by the query of a kept question, 2 in all: ")
    brief = world.questions.brief(OF_NOLAN)
    assert brief.answer == context.answer
    assert "This query answers it:" in brief.text


def told(world: Any, question: str) -> set[str] | None:
    """The rows of what is told, in words; None where nothing is."""
    answer = world.context(question).answer
    return None if answer is None or not answer.told else {str(row[0]).rpartition("/")[2] for row in answer.rows}


def test_another_entity_or_number_takes_the_place_of_what_is_kept(world: World) -> None:
    world.questions.add(OF_NOLAN, QUERY)
    world.questions.add(BEFORE, COUNT)
    assert told(world, OF_NOLAN.replace("Christopher Nolan", "michael  MANN")) == {"heat"}
    assert told(world, BEFORE.replace("2000", "2012")) == {"2"}
    world.questions.add("What are the top 2 films by year?", "SELECT ?f { ?f ex:year ?y } ORDER BY DESC(?y) LIMIT 2")
    assert told(world, "What are the top 1 films by year?") == {"dunkirk"}
    world.questions.add("Whose genre is Thriller?", "SELECT ?f { ?f ex:genre 'Thriller' }")
    assert told(world, "whose genre is war") == {"dunkirk"}
    world.add([("ex:nolan", "skos:altLabel", '"Nolan, C."')])
    assert told(world, OF_NOLAN.replace("Christopher Nolan", "Nolan, C.")) == {"inception", "dunkirk"}


@pytest.mark.parametrize(
    "name",
    ["Nolan", "Christopher", "Kristopher Nolan", "Michael Man", "Oslo", "Mann, Michael", "2010", "Thriller", "nobody",
     "not Michael Mann", "Michael Mann and Christopher Nolan", "Person", "Jane Doe"],
)  # fmt: skip
def test_no_other_name_takes_it(world: World, name: str) -> None:
    world.add([(one, "rdfs:label", '"Jane Doe"') for one in ("ex:j1", "ex:j2")])  # two of one name
    world.add([(one, "rdf:type", "ex:Person") for one in ("ex:j1", "ex:j2")])
    world.questions.add(OF_NOLAN, QUERY)
    context = world.context(OF_NOLAN.replace("Christopher Nolan", name))
    assert context.answer is None
    assert [one.adapted for one in context.near] == [None] * len(context.near)


def test_a_query_with_more_in_it_than_its_question_is_of_that_alone(world: World) -> None:
    year = "SELECT ?f { ?f ex:year ?y FILTER(?y >= 2010 && ?y < 2011) }"
    world.questions.add("Which films came out in 2010?", year)
    assert told(world, "which FILMS came  out in 2010") == {"inception"}
    assert told(world, "Which films came out in 2017?") is None
    but = "SELECT ?f { ex:nolan ex:directed ?f FILTER(?f != ex:dunkirk) }"
    world.questions.add("What else by Christopher Nolan?", but)
    assert told(world, "What else by Michael Mann?") is None
    twice = "SELECT ?f { ?f ex:year ?y FILTER(?y > 3) } LIMIT 3"
    world.questions.add("Which 3 films are newer than 3?", twice)
    assert told(world, "Which 4 films are newer than 4?") is None


def test_two_queries_of_one_question_answer_nothing(world: World) -> None:
    form = "<urn:{0}> rdfs:comment '{1}' ; sh:select 'SELECT ?f {{ ?f <https://ex.example/{2}> ?o }}' . "
    said = [("1", "Who is Peña?", "year"), ("2", "Who is Pena?", "genre"), ("3", "Who is PEÑA?", "none")]
    prefixes = "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX sh: <http://www.w3.org/ns/shacl#> "
    world.questions.load((prefixes + "".join(form.format(*one) for one in said)).encode(), format="turtle")
    assert {str(one.iri) for one in world.context("who is pena").near} == {"urn:1", "urn:2", "urn:3"}
    assert told(world, "who is pena") is None
    answer = world.context("Who is Pena?").answer
    assert answer is not None
    assert str(answer.kept) == "urn:2"


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("Who’s  the Señor’s boss?", "who's the senor's boss", True),
        ("Which e-mail has Mr. Ito (Osaka)?", "Which e mail has Mr Ito, Osaka", True),
        ("Is 3.5 > 2?", "Is 3.5 < 2?", False),
        ("Who costs 1,000?", "Who costs 1.000?", False),
        ("Who uses C++?", "Who uses C#?", False),
        ("Is it below -5?", "Is it below 5?", False),
        ("कि?", "कु?", False),
        ("word " * 120 + "one", "word " * 120 + "two", False),
    ],
)
def test_which_questions_are_one(one: str, other: str, equal: bool) -> None:
    assert same(one, other) is equal


NAMES = ("Rome", "Rome, Georgia", "Romeo", "Rome and Ostia", "San Remo", "new rome", "Rome's port", "ROME II")


@settings(max_examples=4)
@given(st.lists(st.sampled_from(NAMES), min_size=2, max_size=6, unique=True), st.sampled_from(NAMES), st.booleans())
def test_what_is_told_is_of_what_has_the_name(names: list[str], asked: str, own: bool) -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", "https://ex.example/")
        for at, name in enumerate(names):
            said = [("rdf:type", "ex:City"), ("rdfs:label", f'"{name}"'), ("ex:mayor", f'"{at}"')]
            world.add([(f"ex:c{at}", *one) for one in said])
        world.questions.add(f"Which mayors has {names[0]} had?", "SELECT ?m { ex:c0 ex:mayor ?m }")
        asked = asked if own else asked.upper()
        meant = {str(at) for at, name in enumerate(names) if name.casefold() == asked.casefold()}
        assert told(world, f"Which mayors has {asked} had?") == (meant or None)


def test_a_kept_question_is_shown_with_what_differs(world: World) -> None:
    world.questions.add(OF_NOLAN, QUERY)
    asked = "For the screen, Michael Mann did make which films, say?"
    (near,) = world.questions.near(asked)
    assert near.score < 1
    assert near.adapted is None
    (differs,) = near.differs
    assert (differs.words, differs.asked) == ("Christopher Nolan", "Michael Mann")
    assert (str(differs.term), str(differs.value)) == ("https://ex.example/nolan", "https://ex.example/mann")
    assert "“Christopher Nolan” there is <https://ex.example/nolan>" in world.questions.brief(asked).text
    assert world.context("Weather of tomorrow").near == ()


def test_files_of_examples_are_read_as_they_are(world: World) -> None:
    world.questions.load(SIB, format="turtle")
    thrillers, about, heat = world.questions
    assert thrillers.question == "Which films are thrillers & older?"
    assert thrillers.wordings == ("Welche Filme?",)
    assert thrillers.keywords == ("films", "genre")
    assert thrillers.query == "PREFIX film: <https://ex.example/>\nSELECT ?f { ?f film:genre 'Thriller' }"
    answer = world.context("Welche Filme?").answer
    assert answer is not None
    assert answer.count == 2
    none = world.context(about.question).answer
    assert none is not None
    assert none.value is False
    shown = world.context(heat.question)  # which gives triples: no answer in words, but a query
    assert shown.near[0].iri == heat.iri
    assert shown.answer is None
    again = worlds.open(embedder=None)
    again.questions.load(world.questions.serialize().encode(), format="turtle")
    assert list(again.questions) == list(world.questions)


def test_files_of_queries_are_read_with_their_summaries(world: World, tmp_path: Path) -> None:
    (tmp_path / "thrillers.rq").write_text(
        "#+ summary: Which films are thrillers?\n#+ description:\n#+   By their\n#+   genre.\n#+ tags:\n#+   - films\n"
        "PREFIX ex: <https://ex.example/>\nSELECT ?f { ?f ex:genre 'Thriller' }\n"
    )
    (tmp_path / "films_of_war.rq").write_text("# no summary\nSELECT ?f { ?f ex:genre 'War' }")
    (tmp_path / "more.ttl").write_bytes(SIB)
    world.questions.load(tmp_path)
    kept = {one.question: one for one in world.questions}
    assert len(kept) == 5
    assert "films of war" in kept
    assert kept["Which films are thrillers?"].description == "By their genre."
    assert kept["Which films are thrillers?"].keywords == ("films",)
    world.questions.load([tmp_path / "thrillers.rq"], mode="replace")
    assert [one.question for one in world.questions] == ["Which films are thrillers?"]
    for name, text, error in (
        ("update.rq", "DELETE WHERE { ?s ?p ?o }", QueryError),
        ("yaml.rq", "#+ summary: [\nASK {}", OpenError),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(error):
            world.questions.load(tmp_path / name)
    with pytest.raises(OpenError):
        world.questions.load(tmp_path / "none.rq")


def test_what_broke_is_told(world: World) -> None:
    world.questions.add(OF_NOLAN, QUERY)
    world.questions.add(BEFORE, COUNT)
    assert world.questions.check() == ()
    world.update("DELETE { ?s ex:directed ?o } INSERT { ?s ex:director ?o } WHERE { ?s ex:directed ?o }")
    (broken,) = world.questions.check()
    assert (broken.question, broken.trouble) == (OF_NOLAN, "empty")
    assert "matches nothing" in broken.why
    many = f"SELECT (COUNT(*) AS ?n) {{ {' '.join(f'?a{n} ?b{n} ?c{n} .' for n in range(9))} }}"
    form = (
        '<urn:{0}> <http://www.w3.org/2000/01/rdf-schema#comment> "{0}" ; <http://www.w3.org/ns/shacl#select> "{1}" .'
    )
    texts = {"slow": many, "update": "CLEAR ALL", "wrong": "SELECT", "name": "SELECT ?f { ex:nolan ex:directr ?f }"}
    world.questions.load(
        "\n".join(form.format(*one) for one in texts.items()).encode(), format="turtle", mode="replace"
    )
    found = {one.question: one for one in world.questions.check()}
    assert {name: one.trouble for name, one in found.items()} == {
        "slow": "slow", "update": "fails", "wrong": "fails", "name": "empty",
    }  # fmt: skip
    assert "ex:director " in str(found["name"].repair)
    assert world.context("update").answer is None
    assert len(world) > 0


def test_a_scope_has_the_questions_of_its_graphs(world: World) -> None:
    world.load(b'<urn:x> <http://www.w3.org/2000/01/rdf-schema#label> "Secret" .', format="nt", graph="urn:other")
    world.questions.add("What is secret?", "SELECT ?s { GRAPH <urn:other> { ?s ?p ?o } }")
    outside, inside = world.only(graphs=["default"]), world.only(graphs=["default", GRAPH])
    assert not outside.questions
    assert outside.context("What is secret?").answer is None
    assert outside.questions.near("What is secret?") == () == outside.questions.brief("What is secret?").near
    assert len(inside.questions) == 1
    assert inside.questions.check()[0].trouble == "empty"
    answer = inside.context("What is secret?").answer
    assert answer is not None
    assert not answer.told
    assert answer.count == 0
    with pytest.raises(ReadOnlyError):
        outside.questions.add(OF_NOLAN, QUERY)
    world.questions.add(OF_NOLAN, QUERY)
    past = world.at(world.history()[0].revision - 1)
    assert [one.question for one in past.questions] == ["What is secret?"]
    with pytest.raises(ReadOnlyError):
        past.questions.remove("What is secret?")


def test_others_see_at_once_what_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    with worlds.open(path, embedder=None) as world:
        world.load(DATA, format="turtle")
        world.bind("ex", "https://ex.example/")
        assert len(world.questions) == 0
        program = f"import worlds; worlds.open({str(path)!r}, embedder=None).questions.add({OF_NOLAN!r}, {QUERY!r})"
        run([sys.executable, "-c", program], check=True, timeout=60)
        assert [one.question for one in world.questions] == [OF_NOLAN]
        assert world.context(OF_NOLAN).answer is not None
    with worlds.open(path, embedder=None, read_only=True) as reader:
        assert reader.context(OF_NOLAN).answer is not None


@pytest.mark.model
def test_a_reworded_question_finds_its_own() -> None:
    with worlds.open() as world:
        found, _ = ranks(world)
    assert len(questions()) == 200
    assert sum(rank is not None and rank <= 3 for rank in found) >= 190
