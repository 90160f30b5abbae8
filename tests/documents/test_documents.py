"""What a document becomes: what is written, how it is given, replaced and searched."""

from __future__ import annotations

import contextlib
import datetime
import io
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib import XSD, Literal, URIRef

import worlds
from tests.support import tables
from tests.support.documents import KITES, NOTE, SCHEMA, TERMS, markdown, said
from tests.support.embedder import HashingEmbedder
from worlds.extras.documents.conversion import read_document
from worlds.records import ChunkSize, TextPolicy

# --- what is written --------------------------------------------------------------------------------------------------


def test_a_document_becomes_quads(world: worlds.World) -> None:
    world.embedder = HashingEmbedder()
    change = world.sources.add_document(
        NOTE, KITES, source="https://example.org/birds", date="2024-05-01", author="ann"
    )
    assert (change.revision, change.added, change.removed, change.chunks) == (1, 5, 0, 2)
    assert change.embedded == 2
    assert said(world) == {
        "text": {markdown(KITES)},
        "title": {Literal("Birds of prey")},
        "source": {URIRef("https://example.org/birds")},
        "date": {Literal("2024-05-01", datatype=XSD.date)},
    }
    assert (NOTE, rdflib.RDF.type, URIRef(SCHEMA + "TextDigitalDocument"), None) in set(world.quads())
    assert world.history()[0].author == "ann"
    assert world.check().ok


def test_front_matter() -> None:
    matter = """---
title: "Kites: a survey"
date: 2024-05-01 12:30:00Z   # of the survey
url: https://example.org/kites
tags: [birds, 'of prey']
authors:
  - Ann
  - Bob C.
lang: en
nested:
  key: value
summary: >
  folded
  text
---

# Another heading
"""
    found = read_document(matter, None)
    assert found.text == "# Another heading\n"
    assert (found.title, found.date, found.source) == (
        "Kites: a survey",
        "2024-05-01 12:30:00Z",
        "https://example.org/kites",
    )
    assert (found.keywords, found.author, found.language) == (("birds", "of prey"), ("Ann", "Bob C."), "en")
    assert found.description == "folded text"


def test_front_matter_keeps_what_is_written() -> None:
    matter = """---
title: 2024
description: |
  Two lines,
  as they stand: #1

tags: [yes, 1.0, null, "", 2024-05-01, 'it''s', true, [nested]]
author: &ann Ann
authors: {name: Bob}
abstract: *ann
lang: "\\u0065n"
---
"""
    found = read_document(matter, None)
    assert (found.title, found.description) == ("2024", "Two lines,\nas they stand: #1")
    assert found.keywords == ("yes", "1.0", "2024-05-01", "it's", "true")
    assert (found.author, found.language) == (("Ann",), "en")


@pytest.mark.parametrize(
    ("matter", "line", "column"),
    [
        ("title: Kites: a survey", 2, 13),
        ("title: a\ntags: [a", 4, 1),
        ("# of mine\ntitle: {{ title }}}", 3, 19),
        ("title: a\n\tlang: b", 3, 1),
        ("title: \x07", None, None),
        ("title: " + "[" * 5000, None, None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_front_matter_that_is_no_yaml(matter: str, line: int | None, column: int | None, tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text(f"---\n{matter}\n---\ntext")
    with pytest.raises(worlds.ParseError, match="the front matter is not YAML") as raised:
        read_document(tmp_path / "note.md", None)
    assert (raised.value.source, raised.value.line, raised.value.column) == ("note.md", line, column)


def test_front_matter_is_bounded() -> None:
    doubled = "a: &a {x: y}\n" + "".join(f"{b}: &{b} {{<<: [*{a}, *{a}]}}\n" for a, b in pairwise("abcdefghi"))
    laughs = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in pairwise("abcdefghi"))
    for matter in (doubled, laughs + "tags: *i\n", "tags: &t [*t, x]\n", "a: !!python/object/apply:os.getcwd []\n"):
        assert read_document(f"---\n{matter}---\ntext", None).text == "text"


@pytest.mark.parametrize(
    "text",
    [
        "---\nNo entry here\n---\ntext",
        "---\na: b\n",
        "--- \n",
        "text\n---\na: b\n---\n",
        "---\nNo [entry], here\nis: {\n---\n",
        "---\n" + "a: b\n" * 30_000 + "---\ntext",
    ],
)
def test_what_is_no_front_matter_is_text(text: str) -> None:
    assert read_document(text, "markdown").text == text


def test_what_is_given_counts_more_than_what_the_document_says(world: worlds.World) -> None:
    text = "---\ntitle: A\ndate: 2001\nsource: urn:a\nlang: de\ntags: x\n---\n# H\n"
    world.sources.add_document(NOTE, text, title="B", date=datetime.date(2002, 3, 4), source="p. 4", language="en-GB")
    assert said(world) == {
        "text": {Literal("# H\n", lang="en-gb")},
        "title": {Literal("B", lang="en-gb")},
        "date": {Literal("2002-03-04", datatype=XSD.date)},
        "source": {Literal("p. 4")},
        "language": {Literal("en-gb", datatype=XSD.language)},
        "keywords": {Literal("x", lang="en-gb")},
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2024", Literal("2024", datatype=XSD.gYear, normalize=False)),
        ("2024-05", Literal("2024-05", datatype=XSD.gYearMonth, normalize=False)),
        ("2024-05-01", Literal("2024-05-01", datatype=XSD.date)),
        ("2024-05-01T12:30", Literal("2024-05-01T12:30:00", datatype=XSD.dateTime)),
        (
            "2024-05-01 12:30:05.5 +02:00",
            Literal("2024-05-01T12:30:05.5+02:00", datatype=XSD.dateTime, normalize=False),
        ),
        ("last May", Literal("last May")),
        ("2024-02-30", Literal("2024-02-30")),
    ],
)
def test_dates_in_a_document(given: str, expected: Literal, world: worlds.World) -> None:
    world.sources.add_document(NOTE, f"---\ndate: {given}\n---\ntext")
    assert said(world)["date"] == {expected}


def test_metadata_type_predicate_and_graph(world: worlds.World) -> None:
    world.sources.add_document(
        NOTE,
        "text",
        predicate="sioc:content",
        type="foaf:Document",
        graph="urn:g",
        metadata={"dcterms:creator": [Literal("Ann"), URIRef("urn:bob")], "schema:pageStart": 4},
    )
    assert {(str(quad[1]), quad[2]) for quad in world.quads(NOTE, graph="urn:g")} == {
        ("http://rdfs.org/sioc/ns#content", Literal("text")),
        (str(rdflib.RDF.type), URIRef("http://xmlns.com/foaf/0.1/Document")),
        (TERMS + "creator", Literal("Ann")),
        (TERMS + "creator", URIRef("urn:bob")),
        (SCHEMA + "pageStart", Literal(4)),
    }
    world.sources.add_document("urn:untyped", "text", type=None)
    assert len(list(world.quads("urn:untyped"))) == 1


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("A title", "Text first\n\n## A title ##\n\n# Later\n"),
        ("Two words", "Two words\n=========\n"),
        ("The code of a link", "# The `code` of **a** [link](urn:x)"),
        ("snake_case and 1 * 2", "# snake_case and 1 \\* 2"),
        (None, "No heading\n\n    # code\n\n```\n# code\n```\n"),
        (None, "#\n"),
    ],
)
def test_the_first_heading_is_the_title(title: str | None, text: str) -> None:
    assert read_document(text, "markdown").title == title


# --- how it is given --------------------------------------------------------------------------------------------------


def test_files_and_streams(tmp_path: Path) -> None:
    file = tmp_path / "kick-off.md"
    file.write_bytes(b"\xef\xbb\xbfText\r\nof two lines\rof three")
    assert read_document(file, None).title == "kick-off"
    with file.open("rb") as binary, file.open("r", encoding="utf-8-sig") as text:
        for given in (file, binary, text, file.read_bytes()):
            assert read_document(given, None).text == "Text\nof two lines\nof three"
    assert read_document(io.BytesIO("é".encode("utf-16")), None).text == "é"


@pytest.mark.parametrize(
    ("name", "text", "markdown"),
    [
        ("a.md", "plain", True),
        ("a.txt", "# no heading", False),
        ("a.HTM", "<p>paragraph", True),
        ("a.dat", "<!-- x --> <!DOCTYPE html><p>paragraph", True),
        ("a", "# heading", True),
        ("a", "---\na: b\n---\nmatter", True),
        ("a", "plain", False),
        ("a", "a < b <html>", False),
    ],
)
def test_the_format_is_guessed(name: str, text: str, markdown: bool, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    found = read_document(tmp_path / name, None)
    assert found.markdown is markdown
    assert "<p>" not in found.text


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"content": Path("nowhere.md")}, worlds.OpenError),
        ({"content": b"# \xff\xfe"}, worlds.ParseError),
        ({"content": 5}, TypeError),
        ({"content": None}, TypeError),
        ({"format": "pdf"}, ValueError),
        ({"iri": "no iri"}, ValueError),
        ({"iri": "_:b"}, ValueError),
        ({"predicate": None}, TypeError),
        ({"type": '"text"'}, ValueError),
        ({"date": "soon"}, ValueError),
        ({"date": "2024-02-30"}, ValueError),
        ({"date": URIRef("urn:x")}, ValueError),
        ({"language": "not a tag"}, ValueError),
        ({"metadata": {"dcterms:creator": "Ann"}}, ValueError),
        ({"metadata": {'"text"': 1}}, ValueError),
        ({"metadata": [1]}, TypeError),
    ],
    ids=str,
)
def test_what_cannot_be_a_document_changes_nothing(
    change: dict[str, Any], error: type[Exception], world: worlds.World
) -> None:
    with pytest.raises(error):
        world.sources.add_document(**{"iri": NOTE, "content": "text", **change})
    assert (len(world), world.history()) == (0, [])


def test_odd_characters_are_kept(world: worlds.World) -> None:
    text = "# A\0B\n\n" + "中文\u2028\x0b " * 200
    world.sources.add_document(NOTE, text)
    assert said(world)["text"] == {markdown(text)}
    world.sources.add_document(NOTE, "\ud800 alone")
    assert said(world)["text"] == {Literal("? alone")}
    assert world.check().ok


# --- replacing --------------------------------------------------------------------------------------------------------


def test_a_document_is_replaced_and_nothing_else(world: worlds.World) -> None:
    world.add([(NOTE, "dcterms:title", Literal("Mine")), (NOTE, "rdfs:seeAlso", "urn:x"), ("urn:y", "urn:p", NOTE)])
    first = "---\ntitle: Mine\ntags: [a, b]\n---\nOne."
    world.sources.add_document(NOTE, first, metadata={"dcterms:creator": Literal("Ann")})
    world.add([(NOTE, "schema:keywords", Literal("c"))])
    change = world.sources.add_document(NOTE, "---\ntags: [b]\n---\n# Two\n\nTwo.")
    assert (change.added, change.removed) == (2, 3)
    assert said(world) == {
        "text": {markdown("# Two\n\nTwo.")},
        "title": {Literal("Mine"), Literal("Two")},
        "keywords": {Literal("b"), Literal("c")},
    }
    assert len(list(world.quads(NOTE))) == 7
    assert [hit.text for hit in world.search("one", mode="text")] == []
    assert world.check().ok


def test_the_same_document_again_changes_nothing(world: worlds.World) -> None:
    world.sources.add_document(NOTE, KITES)
    assert world.sources.add_document(NOTE, KITES).revision is None
    assert len(world.history()) == 1


def test_undo_and_replace_go_together(world: worlds.World) -> None:
    world.sources.add_document(NOTE, "# One")
    one = said(world)
    world.sources.add_document(NOTE, "# Two")
    world.undo(2)
    assert said(world) == one
    world.sources.add_document(NOTE, "# Three")
    assert said(world) == {"text": {markdown("# Three")}, "title": {Literal("Three")}}
    world.undo(4)
    assert said(world) == one


def test_a_transaction_that_fails_leaves_the_earlier_version_replaceable(world: worlds.World) -> None:
    world.sources.add_document(NOTE, "# One")
    with pytest.raises(KeyError), world.transaction():
        world.sources.add_document(NOTE, "# Two")
        raise KeyError
    assert said(world)["title"] == {Literal("One")}
    with world.transaction():
        world.sources.add_document(NOTE, "# Three")
        world.sources.add_document(NOTE, "# Four")
    assert said(world)["title"] == {Literal("Four")}
    assert [entry.revision for entry in world.history()] == [2, 1]


def test_versions_are_told_apart_by_graph_and_kept_if_asked(world: worlds.World) -> None:
    world.sources.add_document(NOTE, "# One")
    world.sources.add_document(NOTE, "# Two", graph="urn:g")
    assert said(world, graph="default")["title"] == {Literal("One")}
    world.sources.add_document(NOTE, "# Three", replace=False)
    assert said(world, graph="default")["title"] == {Literal("One"), Literal("Three")}
    world.sources.add_document(NOTE, "# Four")
    assert said(world, graph="default")["title"] == {Literal("Four")}
    assert said(world, graph="urn:g")["title"] == {Literal("Two")}


def test_it_is_known_after_reopening_and_compacting(path: Path) -> None:
    for number in range(3):
        with worlds.open(path, embedder=None) as world:
            world.sources.add_document(NOTE, f"# Version {number}")
            world.revisions.prune(number + 2)
            world.file.compact()
            assert said(world)["title"] == {Literal(f"Version {number}")}


# --- searching --------------------------------------------------------------------------------------------------------


def test_a_search_finds_the_section(world: worlds.World) -> None:
    world.policy = TextPolicy(size=ChunkSize(150, 30))
    world.sources.add_document(NOTE, KITES)
    hit = world.search("forked tail", mode="text")[0]
    assert hit.text == ("## Red kite\n\nThe red kite has a forked tail. It soars for hours over open country.")
    assert str(hit.literal)[hit.start : hit.end] == hit.text
    assert hit.snippet.startswith("## Red kite The red kite has a **forked** **tail**.")
    assert hit.label == "Birds of prey"


def test_a_search_by_language_finds_a_document(world: worlds.World) -> None:
    text = "# Greifvögel\n\n" + "\n\n".join(f"## Teil {number}\n\n{'Ein Satz. ' * 60}" for number in range(3))
    world.sources.add_document(NOTE, text, language="de")
    found = [hit.text for hit in world.search("Satz", languages="de", mode="text", limit=20)]
    assert sum(text.startswith("## Teil") for text in found) == 2, "sections are chunks in a tagged text, too"


def test_the_policy_says_what_is_markdown(world: worlds.World) -> None:
    text = "# One\n\n" + "Some words here. " * 30 + "\n\n# Two\n\n" + "Other words here. " * 50

    def headings() -> int:
        return sum(hit.text.startswith("# ") for hit in world.search("words", mode="text", limit=20))

    world.add([("urn:s", "urn:p", Literal(text))])
    assert headings() == 1
    world.policy = TextPolicy(sizes={"urn:p": ChunkSize(format="markdown")})
    assert headings() == 2
    world.remove([("urn:s", "urn:p", Literal(text))])
    world.add([("urn:s", "urn:p", markdown(text))])
    assert headings() == 2
    world.policy = TextPolicy(size=ChunkSize(format="text"))
    assert headings() == 1
    world.policy = TextPolicy(exclude={"urn:p"})  # type: ignore[arg-type]  # a set will do
    assert headings() == 0
    assert world.check().ok
    with pytest.raises(ValueError, match="format"):
        ChunkSize(format="html")  # type: ignore[arg-type]


lines = st.sampled_from(
    [*("# H", "## H two", "Text. More text.", "- item", "```", "| a | b |", "| - | - |", "> q", "", "   ", "中文。")]
)


@given(st.lists(lines, max_size=60).map("\n".join), st.integers(50, 120))
def test_the_chunks_of_a_document_are_slices_of_its_text(text: str, size: int) -> None:
    with worlds.open(embedder=None) as world:
        world.policy = TextPolicy(size=ChunkSize(size, size // 5))
        world.sources.add_document(NOTE, "Word.\n\n" + text, format="markdown", title="Title")
        spans = tables.rows(
            world, "SELECT start, end, text, value FROM chunks JOIN terms ON terms.id = term WHERE datatype IS NOT NULL"
        )
        assert spans
        for start, end, chunk, value in spans:
            assert value[start:end] == (chunk or value)
            assert len(value[start:end].strip()) <= size
        assert world.check().ok


def test_a_document_survives_export_and_load(world: worlds.World, tmp_path: Path) -> None:
    world.sources.add_document(NOTE, KITES * 5, source="urn:x", graph="urn:g")
    for name in ("all.nq", "all.trig", "all.jsonld"):
        world.export(tmp_path / name)
        with worlds.open(embedder=None) as other:
            change = other.load(tmp_path / name)
            assert set(other.quads()) == set(world.quads())
            assert change.chunks == world.stats().chunks
            assert other.check().ok


@pytest.mark.parametrize(
    "text",
    [
        "---\n" + "\n" * 40 + "t\x17Q4-05-01\nsummary: |\n  two\n b: *a\n---\n# Head\n",
        "---\n" + "# a\n" * 40 + "t\x17: *a\n---\n# Head\n",
        "---\n" + " \t\n" * 4000 + "t\x17: *a\n---\n# Head\n",
        "<!---->" * 40 + "text",
        "<!-- a --> \n" * 4000 + "text",
    ],
    ids=["empty lines", "comments", "white space", "comments of HTML", "many comments of HTML"],
)
def test_what_is_nearly_a_head_is_read_at_once(text: str) -> None:
    began = time.process_time()
    with worlds.open(embedder=None) as world, contextlib.suppress(worlds.ParseError):
        world.sources.add_document("urn:d", text)
    assert time.process_time() - began < 5
