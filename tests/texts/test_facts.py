"""Labels and descriptions are chosen by one rule, which the policy's roles decide, wherever they are shown."""

from __future__ import annotations

from pathlib import Path

import worlds

EX = "http://example.org/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


def test_search_describe_resolve_and_schema_agree_on_a_label_of_the_policys_own() -> None:
    with worlds.open(embedder=None) as world:
        world.policy = worlds.records.TextPolicy(roles={EX + "called": "label", LABEL: "other"})
        world.load(
            f"""<{EX}heron> <{EX}called> "Grey heron" ; <{LABEL}> "record 17" ; a <{EX}Bird> ;
                            <{EX}note> "It stands in shallow water." .
                <{EX}Bird> <{EX}called> "Bird" ; <{LABEL}> "class 3" .""".encode(),
            format="turtle",
        )
        assert [hit.label for hit in world.search("shallow water")] == ["Grey heron"]
        assert world.describe(EX + "heron").label == "Grey heron"
        assert world.resolve("Grey heron").candidates[0].label == "Grey heron"
        assert world.schema().classes[0].label == "Bird"
        rows = world.query(
            "PREFIX w: <urn:worlds:> SELECT ?text { SERVICE w:search { ?hit w:query 'water' ; w:label ?text } }"
        )
        assert isinstance(rows, worlds.records.Solutions)
        assert [str(row["text"]) for row in rows] == ["Grey heron"]


def test_an_alias_is_no_label() -> None:
    with worlds.open(embedder=None) as world:
        world.policy = worlds.records.TextPolicy(roles={LABEL: "alias"})
        world.add([(EX + "a", LABEL, '"heron"')])
        assert world.search("heron")[0].label is None
        assert world.describe(EX + "a").label is None


def test_a_long_label_says_that_it_is_cut() -> None:
    with worlds.open(embedder=None) as world:
        world.add([(EX + "a", LABEL, '"' + "heron " * 50 + '"')])
        for label in (world.search("heron")[0].label, world.describe(EX + "a").label):
            assert label is not None
            assert len(label) <= 200
            assert label.endswith("…")


def test_a_predicate_below_one_that_describes_does_so_too() -> None:
    with worlds.open(embedder=None) as world:
        world.load(Path(__file__).parents[2] / "examples" / "space.ttl")
        told = world.describe("ex:Curiosity").description
        assert told is not None
        assert told.startswith("This car-sized chemistry laboratory")
        world.policy = worlds.records.TextPolicy(
            roles={"https://worlds.example/space/schema#description": "other"}
        )  # what the policy says comes first
        assert world.describe("ex:Curiosity").description is None


def test_sub_properties_may_go_round_in_a_circle() -> None:
    with worlds.open(embedder=None) as world:
        below = "http://www.w3.org/2000/01/rdf-schema#subPropertyOf"
        world.add(
            [
                (EX + "p", below, "rdfs:comment"),
                ("rdfs:comment", below, EX + "p"),
                (EX + "a", EX + "p", '"It wades."'),
            ]
        )
        assert world.describe(EX + "a").description == "It wades."
