"""World.context: what bears on a question, in words, within a budget, with quads to cite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

import pytest

import worlds
from tests.support.embedder import HashingEmbedder

EX = "http://example.org/"
COMPANIES = f"""
@prefix ex: <{EX}> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
ex:orion a ex:Company ; rdfs:label "Orion Logistics"@en , "Orion Logistik"@de ; skos:altLabel "OLX" ;
    ex:chiefExecutive ex:mara ; ex:headquarters ex:bergen ; ex:acquired ex:petrel ; ex:registered "NO-4471" ;
    rdfs:comment "It moves freight between harbours of the north."@en , "Sie bewegt Fracht im Norden."@de .
ex:petrel a ex:Company ; rdfs:label "Petrel Freight" ; ex:headquarters ex:aberdeen ; ex:chiefExecutive ex:ian .
ex:mara a ex:Person ; rdfs:label "Mara Lindqvist" ; ex:bornIn ex:bergen .
ex:ian a ex:Person ; rdfs:label "Ian McTavish" .
ex:bergen rdfs:label "Bergen" ; ex:country ex:norway .
ex:aberdeen rdfs:label "Aberdeen" .
ex:norway rdfs:label "Norway" .
ex:lone ex:code "QX-17" ; ex:colour "teal" .
ex:Company rdfs:label "company" .
ex:Person rdfs:label "person" .
"""


@pytest.fixture(params=[False, True], ids=["words", "vectors"])
def companies(request: pytest.FixtureRequest) -> Iterator[worlds.World]:
    with worlds.open(embedder=HashingEmbedder() if request.param else None) as world:
        world.load(COMPANIES.encode(), format="turtle")
        yield world


def test_a_fact_of_the_entity_that_is_named(companies: worlds.World) -> None:
    context = companies.context("Who is the chief executive of Orion Logistics?", budget=60)
    assert "Mara Lindqvist" in context.text
    assert str(context.entities[0].iri) == EX + "orion"


def test_a_fact_a_hop_further(companies: worlds.World) -> None:
    context = companies.context("Where are the headquarters of the company that Orion Logistics acquired?")
    assert "Petrel Freight\n" in context.text
    assert "headquarters: Aberdeen" in context.text


def test_how_far_facts_are_sought() -> None:
    with worlds.open(embedder=None) as world:
        links = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
        world.add([(f"{EX}{one}", EX + "next", f"{EX}{other}") for one, other in links])
        world.add(
            [
                (EX + one, "rdfs:label", f'"{name}"')
                for one, name in zip("abcde", ("Alder", "Birch", "Cedar", "Dogwood", "Elm"), strict=True)
            ]
        )
        told = [world.context("Alder", hops=hops).text for hops in (0, 1, 2)]
        assert ["next: Birch" in text for text in told] == [False, True, True]
        assert ["next: Cedar" in text for text in told] == [False, False, True]
        assert "Dogwood" not in told[1]
        by_hops = {fact.hops for fact in world.context("Alder").facts}
        assert by_hops == {0, 1}


@pytest.mark.parametrize(
    ("question", "entity"),
    [
        ("who runs orion logistics", "orion"),  # in other letters
        ("who runs ORION LOGISTICS?", "orion"),
        ("Orion Logistics's boss", "orion"),
        ("Wer leitet Orion Logistik", "orion"),  # another language
        ("who runs OLX", "orion"),  # an alias
        ("who runs Orion Logistcs", "orion"),  # misspelt
        ("who owns Petrel", "petrel"),  # the beginning of it
        ("what colour has QX-17", "lone"),  # another short literal
        ("who is registered as NO-4471?", "orion"),
        ("where was mara lindqvist born", "mara"),
    ],
)
def test_how_a_question_may_name_an_entity(companies: worlds.World, question: str, entity: str) -> None:
    assert str(companies.context(question).entities[0].iri) == EX + entity


def test_every_number_in_the_text_is_a_fact_whose_quads_are_in_the_world(companies: worlds.World) -> None:
    context = companies.context("Who is the chief executive of Orion Logistics?")
    assert [int(number) for number in re.findall(r"\[(\d+)\]", context.text)] == [fact.number for fact in context.facts]
    assert context.facts
    for fact in context.facts:
        assert fact.quads
    for quad in context.quads:
        assert list(companies.quads(*quad[:3], "default" if quad.graph is None else quad.graph))
        assert quad.revision == 1
    assert len(set(context.quads)) == len(context.quads)


def test_quads_say_their_graph_and_their_revision() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(EX + "a", "rdfs:label", '"Alder"', EX + "g")])
        world.add([(EX + "a", EX + "grows", '"near water"', EX + "h")])
        (quad,) = [quad for quad in world.context("Alder").quads if "grows" in quad.predicate]
        assert (str(quad.graph), quad.revision) == (EX + "h", 2)


@pytest.mark.parametrize("budget", [1, 10, 40, 100, 1000])
def test_the_budget_is_kept(companies: worlds.World, budget: int) -> None:
    context = companies.context("Where are the headquarters of Orion Logistics and Petrel Freight?", budget=budget)
    assert context.tokens <= budget
    assert len(context.text.encode()) <= 3.5 * budget
    assert budget == 1000 or context.left_out


def test_a_passage_that_answers_stands_in_it(companies: worlds.World) -> None:
    context = companies.context("what moves freight between harbours")
    assert "freight between harbours" in context.text


def test_types_narrow_the_entities(companies: worlds.World) -> None:
    question = "Orion Logistics and Mara Lindqvist"
    entities = companies.context(question, types=EX + "Person").entities
    assert EX + "mara" in [str(one.iri) for one in entities]
    assert EX + "orion" not in [str(one.iri) for one in entities]


def test_labels_and_texts_are_in_the_readers_language(companies: worlds.World) -> None:
    german = companies.context("Was ist OLX?", language="de")
    assert german.text.startswith("Orion Logistik\n")
    assert "Sie bewegt Fracht" in german.text
    assert "It moves freight" in companies.context("What is OLX?").text


@pytest.mark.parametrize("question", ["", "   ", "???", "it", "who", "\0", "\ud800", "a " * 5000, '"', "AND OR NOT"])
def test_no_question_raises(companies: worlds.World, question: str) -> None:
    assert companies.context(question, budget=50).tokens <= 50


def test_an_empty_world_has_an_empty_context() -> None:
    with worlds.open(embedder=None) as world:
        context = world.context("who runs Orion Logistics")
        assert (context.text, context.facts, context.entities, context.left_out) == ("", (), (), 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("budget", 0),
        ("budget", True),
        ("hops", 3),
        ("hops", True),
        ("hops", "1"),
        ("hops", Decimal("sNaN")),
        ("rerank", Decimal("sNaN")),
    ],
)
def test_what_cannot_be_is_refused_by_name(companies: worlds.World, name: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be "):
        companies.context("words", **{name: value})  # type: ignore[arg-type]  # on purpose


def test_a_hub_does_not_crowd_out_what_is_asked() -> None:
    with worlds.open(embedder=None) as world:
        quads = [(f"{EX}p{n}", f"{EX}livesIn", EX + "town") for n in range(3000)]
        world.add([*quads, (EX + "town", "rdfs:label", '"Harbourton"'), (EX + "town", EX + "mayor", '"Ada Quill"')])
        assert "Ada Quill" in world.context("Who is the mayor of Harbourton?", budget=60).text


def test_as_json_ready_values(companies: worlds.World) -> None:
    import json

    context = companies.context("Who is the chief executive of Orion Logistics?")
    told = json.loads(json.dumps(context.to_dict()))
    assert told["text"] == str(context) == context.text
    assert told["facts"][0]["quads"][0].keys() == {"subject", "predicate", "object", "graph", "revision"}


@pytest.mark.parametrize("incoming", [False, True])
def test_a_number_of_further_values_is_the_true_one(incoming: bool) -> None:
    with worlds.open(embedder=None) as world:
        links = [("urn:hub", f"urn:s{n}", "urn:f") for n in range(1000)]
        links += [("urn:hub", "urn:s1", "urn:g"), ("urn:hub", "urn:hub", "urn:f")]
        world.add([(b, "urn:ship", a, g) if incoming else (a, "urn:ship", b, g) for a, b, g in links])
        world.add([("urn:hub", "rdfs:label", '"Harbour"')])
        world.add([(f"urn:s{n}", "rdfs:label", f'"ship {n}"') for n in range(1000)])
        told = world.context("Which ship is in the Harbour?", budget=400, hops=1)
        (fact,) = [fact for fact in told.facts if "ship 1" in fact.text and "more" in fact.text]
        shown, _, rest = fact.text.partition(": ")[2].partition(" … and ")
        assert len(shown.split(", ")) + int(rest.removesuffix(" more")) == 1000
        assert told.tokens <= 400


def test_values_in_other_languages_are_no_number() -> None:
    with worlds.open(embedder=None) as world:
        world.add([("urn:hub", "rdfs:label", '"Harbour"')])
        world.add([("urn:hub", "urn:note", f'"note {n}"@{language}') for n in range(400) for language in ("en", "de")])
        told = world.context("note of the Harbour", budget=300, hops=1, language="en")
        assert re.search(r"… and (more|\d+ more)", told.text)
        assert not re.search(r"… and \d+ more", told.text), "some of the notes say the same in German"


def test_a_context_is_narrowed() -> None:
    with worlds.open(embedder=None) as world:
        world.bind("ex", "http://example.org/")
        bio = "likes to sail the boats of the harbour in winter, as everybody there says"
        for name, team in (("Ann", "red"), ("Bob", "blue")):
            entity = f"ex:{name.lower()}"
            world.add(
                [
                    (entity, "rdfs:label", f'"{name}"'),
                    (entity, "ex:team", f"ex:{team}"),
                    (entity, "ex:bio", f'"{name} {bio}"'),
                ]
            )
        question = "Do Ann and Bob sail boats?"
        assert {"Ann", "Bob"} <= set(world.context(question).text.split("\n"))
        for options in ({"where": "?subject ex:team ex:blue"}, {"exclude": {"subjects": "ex:ann"}}, {"types": None}):
            told = world.context(question, **options)
            assert ("Ann" in told.text) == ("types" in options), options
            assert "Bob" in told.text
        assert bio not in world.context(question, predicates="rdfs:label", hops=0).text
        with pytest.raises(worlds.FilterError, match="group pattern"):
            world.context(question, where="?subject {")
