"""What a person may write into a search box, with known answers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
import rdflib

import worlds
from tests.support.search_worlds import EX, add_texts, iri, texts
from worlds import FilterError, QueryError, World
from worlds.core.search.options import gathered

# --- known answers: texts and words -----------------------------------------------------------------------------------


def test_a_text_with_a_null_character_is_found_on_both_sides_of_it_and_given_back_whole(world: World) -> None:
    add_texts(world, "red\0kite", "blue heron", "\0")
    for word in ("red", "kite"):
        hits = world.search(word, mode="text")
        assert texts(hits) == ["red\0kite"]
        assert hits[0].literal == rdflib.Literal("red\0kite")
        assert (hits[0].start, hits[0].end) == (0, 8)
        assert f"**{word}**" in hits[0].snippet
    assert world.search("red\0kite", mode="text")[0].text == "red\0kite"
    assert len(world.search("red kite")) == 3


def test_results_say_how_many_they_are(world: World) -> None:
    world.add([("urn:a", "rdfs:label", '"osprey"'), ("urn:b", "rdfs:label", '"osprey nest"')])
    assert repr(world.search("osprey", mode="text")) == "<SearchResults: 2 hits, text, plan None>"
    assert repr(world.search("osprey", mode="text", limit=1)) == "<SearchResults: 1 hit, text, plan None>"


@pytest.mark.slow
def test_a_literal_of_ten_megabytes_is_searched_in_pieces() -> None:
    sentence = "The kites of the lake were counted again in the year that followed, and there were more. "
    half = sentence * (5_000_000 // len(sentence))
    text = half + "Then an osprey came. " + half
    with worlds.open(embedder=None) as world:
        began = time.process_time()
        change = world.add([(iri("s"), iri("note"), ox.Literal(text))])
        assert change.chunks > 8_000
        hits = world.search("osprey")
        assert time.process_time() - began < 30
        assert len(hits) in (1, 2)  # the sentence may be repeated by the next chunk
        for hit in hits:
            assert "osprey" in hit.text
            assert hit.text == text[hit.start : hit.end]
            assert "**osprey**" in hit.snippet
        assert len(hits[0].snippet) < 300
        world.remove([(iri("s"), iri("note"), ox.Literal(text))])
        assert len(world.search("osprey")) == 0


@pytest.mark.parametrize("query", ["kite " * 200_000, "k" * 1_000_000, '"' * 1_000_000, "(kite) -" * 125_000], ids=len)
def test_a_query_of_a_million_characters_is_answered(world: World, query: str) -> None:
    add_texts(world, "red kite", "blue heron")
    began = time.process_time()
    world.search(query, mode="text")
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    "query",
    [
        "?!",
        "…",
        '"',
        "''",
        "*",
        "-",
        "()",
        "^",
        "~",
        ":",
        "%",
        "\\",
        "🦉",
        "🪁 👩‍👩‍👧",
        "\ud800",
        "AND",
        "NEAR(",
        "\x1f",
    ],
)
@pytest.mark.parametrize("mode", ["text", "hybrid"])
def test_no_query_raises(world: World, query: str, mode: Any) -> None:
    add_texts(world, "red kite", "blue heron 🦅")
    hits = world.search(query, mode=mode)
    assert len(hits) == 0 or mode == "hybrid"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("中文", "这是中文分词测试"),
        ("分词", "这是中文分词测试"),
        ("東京都", "東京都は日本の首都です"),
        ("한국어", "이것은 한국어를 배우는 책입니다"),
        ("ภาษา", "นี่คือภาษาไทย"),
        ("كتاب", "هذا كتاب جديد"),
        ("zurich", "Ein Tag in Zürich"),
        ("ZÜRICH", "Ein Tag in Zürich"),
        ("Ελλάδα", "Η Ελλάδα είναι όμορφη"),
        ("москва", "Москва — столица"),
        ("running", "She runs every day"),
    ],
)
def test_words_are_found_in_every_script(world: World, query: str, found: str) -> None:
    add_texts(world, found, "something else", "другое", "别的东西", "อื่น")
    hits = world.search(query, mode="text")
    assert texts(hits) == [found]
    assert "**" in hits[0].snippet
    assert "\x1f" not in hits[0].snippet + hits[0].text


def test_phrases_exclusions_and_prefixes(world: World) -> None:
    add_texts(world, "red kite", "kite red", "red heron", "redstart")
    assert texts(world.search('"red kite"', mode="text")) == ["red kite"]
    assert set(texts(world.search("red -heron", mode="text"))) == {"red kite", "kite red"}
    assert set(texts(world.search("redst*", mode="text"))) == {"redstart"}


@pytest.mark.parametrize(
    "expression", ['"red', "red AND", "AND", "(red", "nocolumn:red", "red NEAR(", "", "re\0d", "*"]
)
def test_a_wrong_fts5_expression_is_a_query_error(world: World, expression: str) -> None:
    add_texts(world, "red kite")
    for mode in ("text", "hybrid"):
        with pytest.raises(QueryError):
            world.search(expression, syntax="fts5", mode=mode)


def test_an_unquoted_hyphen_or_colon_in_fts5_is_explained(world: World) -> None:
    add_texts(world, "red kite")
    for expression, column in (("main-sequence", "sequence"), ("label:red", "label")):
        with pytest.raises(QueryError, match=f"no column '{column}'; words with a hyphen or a colon go into") as told:
            world.search(expression, syntax="fts5", mode="text")
        assert "damaged" not in str(told.value)


def test_a_prefix_that_another_connection_binds_anew_counts_at_once(path: Path) -> None:
    with worlds.open(path, embedder=None) as writer:
        writer.load(
            b'<urn:A:x> a <urn:A:C>; <urn:p> "solar one". <urn:B:x> a <urn:B:C>; <urn:p> "solar two".', format="ttl"
        )
        with worlds.open(path, embedder=None, read_only=True) as reader:
            for namespace, text in (("urn:A:", "solar one"), ("urn:B:", "solar two")):
                writer.bind("mine", namespace)
                for _ in range(2):
                    assert texts(reader.search("solar", where="?subject a mine:C")) == [text]
                assert texts(reader.search("solar", ranking=worlds.Ranking(boost="5 ?subject a mine:C")))[0] == text


def test_a_hit_names_a_blank_node_as_filters_take_it(world: World) -> None:
    world.load(b'[] <http://www.w3.org/2000/01/rdf-schema#comment> "unnamed quokka" .', format="turtle")
    name = world.search("quokka").to_dict()["hits"][0]["subject"]
    assert name.startswith("_:")
    assert len(world.search("quokka", subjects=name)) == 1
    assert world.describe(name).iri is not None


@pytest.mark.parametrize(
    "pattern", ["FILTER(isIRI(?subject))", "FILTER EXISTS { ?subject ?p ?o }", "MINUS { ?subject ?p 1 }"]
)
def test_a_pattern_that_binds_nothing_is_refused(world: World, pattern: str) -> None:
    add_texts(world, "red kite")
    for options in ({"where": pattern}, {"exclude": {"where": pattern}}, {"boost": f"2 {pattern}"}):
        with pytest.raises(FilterError, match="has to bind .subject"):
            world.search("kite", **gathered(options))
    assert not world.search("kite", where="VALUES ?subject { <urn:none> }")


def test_an_fts5_expression_is_handed_over(world: World) -> None:
    add_texts(world, "red kite", "blue kite", "red heron")
    assert texts(world.search("red AND kite", syntax="fts5", mode="text")) == ["red kite"]
    assert set(texts(world.search("kite NOT red", syntax="fts5", mode="text"))) == {"blue kite"}


# --- known answers: hits ----------------------------------------------------------------------------------------------


def test_a_text_that_many_quads_hold_is_one_hit_that_cites_them_all(world: World) -> None:
    many = [(iri(f"s{number}"), iri("label"), ox.Literal("red kite")) for number in range(100)]
    for quad in many:
        world.add([quad])
    world.add([(iri("other"), iri("label"), ox.Literal("red heron"))])
    hits = world.search("red", limit=2)
    assert texts(hits) == ["red kite", "red heron"] or texts(hits) == ["red heron", "red kite"]
    hit = next(hit for hit in hits if hit.text == "red kite")
    assert [str(quad[0]) for quad in hit.quads] == [f"{EX}s{number}" for number in range(100)], "oldest first"
    assert str(hit.subject) == EX + "s0"
    (narrowed,) = world.search("kite", subjects=[iri("s7"), iri("s50")], mode="text")
    assert [str(quad[0]) for quad in narrowed.quads] == [EX + "s7", EX + "s50"]


def test_a_hit_says_what_it_is_about(world: World) -> None:
    world.bind("ex", EX)
    world.load(
        b"""
        @prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        ex:kite a ex:Bird, ex:Raptor ; rdfs:label "Rotmilan"@de, "red kite"@en ;
            ex:note "A bird of prey that soars over open country." .
        """,
        format="ttl",
    )
    (hit,) = world.search("soars", mode="text", explain=True)
    assert str(hit.subject) == EX + "kite"
    assert str(hit.predicate) == EX + "note"
    assert hit.graph is None
    assert hit.label == "red kite"
    assert {str(kind) for kind in hit.types} == {EX + "Bird", EX + "Raptor"}
    assert hit.snippet == "A bird of prey that **soars** over open country."
    assert hit.to_dict()["quads"] == [
        [f"<{EX}kite>", f"<{EX}note>", '"A bird of prey that soars over open country."', None]
    ]


def test_a_triple_term_is_no_label() -> None:
    data = b"""@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        <urn:a> rdfs:label <<( <urn:s> <urn:p> "kite" )>> ; rdfs:comment "a red kite" ; a <<( <urn:s> <urn:p> 1 )>> .
        <urn:b> rdfs:label <<( <urn:s> <urn:p> "kite" )>> , "Kite" ."""
    with worlds.open(embedder=None) as world:
        world.load(data, format="turtle")
        assert {str(hit.subject): hit.label for hit in world.search("kite")} == {"urn:a": None, "urn:b": "Kite"}
        rows = world.query(
            'SELECT ?s ?l { SERVICE <urn:worlds:search> { ?h <urn:worlds:query> "kite" ; <urn:worlds:subject> ?s ; '
            "<urn:worlds:label> ?l } }"
        )
        assert len(list(rows)) == 2  # type: ignore[arg-type]  # solutions
        assert world.describe("urn:a").label is None
