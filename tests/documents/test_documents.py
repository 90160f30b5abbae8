"""Documents: `add_document`, and the command."""

from __future__ import annotations

import datetime
import html
import io
import json
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib import XSD, Literal, URIRef
from typer.testing import CliRunner

import worlds
from tests.support import tables
from tests.support.embedder import HashingEmbedder
from worlds import ChunkSize, TextPolicy
from worlds.cli import app
from worlds.documents.html import Page, decode_html
from worlds.documents.reading import FORMATS, read_document
from worlds.texts.markdown import MARKDOWN, blocks

NOTE = URIRef("https://example.org/note")
SCHEMA = "https://schema.org/"
TERMS = "http://purl.org/dc/terms/"
KITES = """# Birds of prey

They hunt other animals.

## Red kite

The red kite has a forked tail. It soars for hours over open country.

## Osprey

The osprey eats fish, and nothing else.
"""


@pytest.fixture
def world() -> Iterator[worlds.World]:
    """A fresh world in memory, without an embedder."""
    with worlds.open(embedder=None) as world:
        yield world


def said(world: worlds.World, subject: object = NOTE, graph: object = None) -> dict[str, set[Any]]:
    """Predicate → values of a subject, without its type; names of the vocabularies are left out."""
    values: dict[str, set[Any]] = {}
    for _, predicate, value, _ in world.quads(subject, graph=graph):
        name = str(predicate).removeprefix(SCHEMA).removeprefix(TERMS)
        if not name.startswith("http"):
            values.setdefault(name, set()).add(value)
    return values


def markdown(text: str) -> Literal:
    return Literal(text, datatype=URIRef(MARKDOWN))


# --- what is written


def test_a_document_becomes_quads(world: worlds.World) -> None:
    world.embedder = HashingEmbedder()
    change = world.add_document(NOTE, KITES, source="https://example.org/birds", date="2024-05-01", author="ann")
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
    world.add_document(NOTE, text, title="B", date=datetime.date(2002, 3, 4), source="p. 4", language="en-GB")
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
    world.add_document(NOTE, f"---\ndate: {given}\n---\ntext")
    assert said(world)["date"] == {expected}


def test_metadata_type_predicate_and_graph(world: worlds.World) -> None:
    world.add_document(
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
    world.add_document("urn:untyped", "text", type=None)
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


# --- how it is given


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
        world.add_document(**{"iri": NOTE, "content": "text", **change})
    assert (len(world), world.history()) == (0, [])


def test_odd_characters_are_kept(world: worlds.World) -> None:
    text = "# A\0B\n\n" + "中文\u2028\x0b " * 200
    world.add_document(NOTE, text)
    assert said(world)["text"] == {markdown(text)}
    world.add_document(NOTE, "\ud800 alone")
    assert said(world)["text"] == {Literal("? alone")}
    assert world.check().ok


# --- replacing


def test_a_document_is_replaced_and_nothing_else(world: worlds.World) -> None:
    world.add([(NOTE, "dcterms:title", Literal("Mine")), (NOTE, "rdfs:seeAlso", "urn:x"), ("urn:y", "urn:p", NOTE)])
    first = "---\ntitle: Mine\ntags: [a, b]\n---\nOne."
    world.add_document(NOTE, first, metadata={"dcterms:creator": Literal("Ann")})
    world.add([(NOTE, "schema:keywords", Literal("c"))])
    change = world.add_document(NOTE, "---\ntags: [b]\n---\n# Two\n\nTwo.")
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
    world.add_document(NOTE, KITES)
    assert world.add_document(NOTE, KITES).revision is None
    assert len(world.history()) == 1


def test_undo_and_replace_go_together(world: worlds.World) -> None:
    world.add_document(NOTE, "# One")
    one = said(world)
    world.add_document(NOTE, "# Two")
    world.undo(2)
    assert said(world) == one
    world.add_document(NOTE, "# Three")
    assert said(world) == {"text": {markdown("# Three")}, "title": {Literal("Three")}}
    world.undo(4)
    assert said(world) == one


def test_a_transaction_that_fails_leaves_the_earlier_version_replaceable(world: worlds.World) -> None:
    world.add_document(NOTE, "# One")
    with pytest.raises(KeyError), world.transaction():
        world.add_document(NOTE, "# Two")
        raise KeyError
    assert said(world)["title"] == {Literal("One")}
    with world.transaction():
        world.add_document(NOTE, "# Three")
        world.add_document(NOTE, "# Four")
    assert said(world)["title"] == {Literal("Four")}
    assert [entry.revision for entry in world.history()] == [2, 1]


def test_versions_are_told_apart_by_graph_and_kept_if_asked(world: worlds.World) -> None:
    world.add_document(NOTE, "# One")
    world.add_document(NOTE, "# Two", graph="urn:g")
    assert said(world, graph="default")["title"] == {Literal("One")}
    world.add_document(NOTE, "# Three", replace=False)
    assert said(world, graph="default")["title"] == {Literal("One"), Literal("Three")}
    world.add_document(NOTE, "# Four")
    assert said(world, graph="default")["title"] == {Literal("Four")}
    assert said(world, graph="urn:g")["title"] == {Literal("Two")}


def test_it_is_known_after_reopening_and_compacting(path: Path) -> None:
    for number in range(3):
        with worlds.open(path, embedder=None) as world:
            world.add_document(NOTE, f"# Version {number}")
            world.prune(number + 2)
            world.compact()
            assert said(world)["title"] == {Literal(f"Version {number}")}


# --- searching


def test_a_search_finds_the_section(world: worlds.World) -> None:
    world.policy = TextPolicy(size=ChunkSize(150, 30))
    world.add_document(NOTE, KITES)
    hit = world.search("forked tail", mode="text")[0]
    assert hit.text == ("## Red kite\n\nThe red kite has a forked tail. It soars for hours over open country.")
    assert str(hit.literal)[hit.start : hit.end] == hit.text
    assert hit.snippet.startswith("## Red kite The red kite has a **forked** **tail**.")
    assert hit.label == "Birds of prey"


def test_a_search_by_language_finds_a_document(world: worlds.World) -> None:
    text = "# Greifvögel\n\n" + "\n\n".join(f"## Teil {number}\n\n{'Ein Satz. ' * 60}" for number in range(3))
    world.add_document(NOTE, text, language="de")
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
        world.add_document(NOTE, "Word.\n\n" + text, format="markdown", title="Title")
        spans = tables.rows(
            world, "SELECT start, end, text, value FROM chunks JOIN terms ON terms.id = term WHERE datatype IS NOT NULL"
        )
        assert spans
        for start, end, chunk, value in spans:
            assert value[start:end] == (chunk or value)
            assert len(value[start:end].strip()) <= size
        assert world.check().ok


def test_a_document_survives_export_and_load(world: worlds.World, tmp_path: Path) -> None:
    world.add_document(NOTE, KITES * 5, source="urn:x", graph="urn:g")
    for name in ("all.nq", "all.trig", "all.jsonld"):
        world.export(tmp_path / name)
        with worlds.open(embedder=None) as other:
            change = other.load(tmp_path / name)
            assert set(other.quads()) == set(world.quads())
            assert change.chunks == world.stats().chunks
            assert other.check().ok


# --- HTML

PAGE = """<!DOCTYPE html>
<html lang="en-US">
<head>
  <title>Red &amp; black
    kites</title>
  <meta name="Description" content="Two kites.">
  <meta name="author" content="Ann">
  <meta property="article:published_time" content="2024-05-01T10:00:00Z">
  <meta name="keywords" content="kites, birds ,">
  <link rel="Canonical" href="https://example.org/kites">
  <style>p { color: red }</style>
  <script>document.write("script")</script>
</head>
<body>
<nav><a href="/">Home of the site</a></nav>
<header><h1>Kites</h1></header>
<div>Text in a div<p>A paragraph with <b>bold</b> <a href="x">link</a>,<br>a second line &eacute; <code>x = 1</code>.
<h2>What they <em>eat</em></h2>
<ul><li>mice<li>carrion <ol start="3"><li>old<li><p>very old<p>indeed</ol><li></li></ul>
<table><caption>Sizes</caption><tr><th>bird<th>span<tr><td>red | kite<td>180 cm<tr><td colspan=2>-</table>
<table><tr><td><h3>Layout</h3><p>in a table</table>
<pre><span>def f():</span>
    return "```"
</pre>
<blockquote>Quoted<p>words</blockquote>
<p># no heading</p><p>1. no item</p><p hidden>hidden</p><p aria-hidden="true">icon</p>
<img src="x.png" alt="a kite"><svg><text>svg</text></svg><button>Press</button>
<template><p>template</template><!-- comment --><q>quote</q>
</div>
<aside>Advertisement</aside><footer>Imprint</footer>
</body></html>
"""

TEXT = """# Kites

Text in a div

A paragraph with bold link,
a second line é `x = 1`.

## What they eat

- mice
- carrion
  3. old
  4. very old

     indeed

Sizes

| bird | span |
| - | - |
| red \\| kite | 180 cm |
| - |  |

### Layout

in a table

````
def f():
    return "```"
````

> Quoted

> words

\\# no heading

1\\. no item

a kite "quote\"""".replace("link,\n", "link,  \n")


def test_a_page_becomes_readable_text() -> None:
    found = read_document(PAGE, None)
    assert found.text == TEXT
    assert vars(found) == {
        "text": TEXT,
        "markdown": True,
        "title": "Red & black kites",
        "source": "https://example.org/kites",
        "date": "2024-05-01T10:00:00Z",
        "language": "en-US",
        "author": ("Ann",),
        "description": "Two kites.",
        "keywords": ("kites", "birds"),
    }


def test_the_main_part_of_a_page_is_enough() -> None:
    page = "<div>Menu</div><{0}><h1>Title</h1>Text<footer>by Ann</footer></{0}><div>Shop</div>"
    for tag in ("main", "article"):
        assert Page(page.format(tag)).markdown() == "# Title\n\nText\n\nby Ann"
    assert Page("<article>A</article><article>B</article><footer>C</footer>").markdown() == "A\n\nB"
    assert Page("<main><script></script></main><p>Text").markdown() == "Text"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<p>é中".encode(), "é中"),
        (b"\xef\xbb\xbf<meta charset=latin1><p>\xc3\xa9", "é"),
        ("\ufeff<p>é".encode("utf-16-be"), "é"),
        (b'<meta charset="ISO-8859-1"><p>\x93\xe9\x94', "“é”"),
        (b"<META http-equiv=x content='text/html; charset=Shift_JIS'><p>\x83J\x83^", "カタ"),
        (b"<?xml version='1.0' encoding='KOI8-R'?><p>\xcb\xcf\xd4", "кот"),
        (b"<meta charset=gb2312><p>\xd6\xd0", "中"),
        (b"<meta charset=utf-16><p>\xc3\xa9", "é"),
        (b"<meta charset=hex><p>\xe9", "é"),
        (b"<meta charset=nonsense><p>\xe9\x81", "é\ufffd"),
        (b"<p>caf\xe9", "café"),
    ],
    ids=str,
)
def test_character_sets(data: bytes, text: str) -> None:
    assert decode_html(data).endswith("<p>" + text)
    assert read_document(data, "html").text == text


def test_pages_are_found_by_their_sections(world: worlds.World, tmp_path: Path) -> None:
    file = tmp_path / "kites.html"
    file.write_text(PAGE, "utf-8")
    world.policy = TextPolicy(size=ChunkSize(120, 0))
    world.add_document(NOTE, file)
    assert world.search("carrion", mode="text", languages="en")[0].text.startswith("## What they eat\n\n- mice")
    assert len(world.search("script", mode="text")) == len(world.search("imprint", mode="text")) == 0


def test_html_needs_its_library(world: worlds.World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    with pytest.raises(worlds.WorldsError, match=r"pip install 'worlds-kg\[html\]'"):
        world.add_document(NOTE, "<html><p>text")
    world.add_document(NOTE, "# Markdown needs none")


tags = st.sampled_from(
    ["p", "div", "h1", "h3", "ul", "ol start=2", "li", "table", "tr", "td", "pre", "blockquote", "br", "b", "nav", "q"]
)
soup = st.lists(
    st.one_of(
        tags.map("<{}>".format),
        tags.map("</{}>".format),
        st.sampled_from(
            ["text ", "a & b", "<", "</", "<!--", "-->", "<![CDATA[", "&#x0;", "&#xd800;", "- ", "```", "|", "\n"]
        ),
        st.text(max_size=5),
    ),
    max_size=40,
).map("".join)


@given(soup)
def test_no_page_is_too_broken(page: str) -> None:
    text = read_document(page, "html").text
    assert text == text.strip()
    found = read_document(page.encode("utf-8", "surrogatepass"), "html")
    found.text.encode()


plain = st.text(alphabet="ab1#-*>=~`.|+:_ \\", min_size=1, max_size=12).filter(str.strip)
parts = st.lists(st.tuples(st.sampled_from(["h2", "p", "pre"]), plain), max_size=12)


@given(parts)
def test_the_blocks_of_a_page_are_those_of_its_text(page: list[tuple[str, str]]) -> None:
    made = "".join(f"<{tag}>x{' ' if tag == 'h2' else ''}{html.escape(text)}</{tag}>" for tag, text in page)
    kinds = {"h2": "heading", "p": "text", "pre": "code"}
    found, _ = blocks(Page(made).markdown())
    assert [block.kind for block in found] == [kinds[tag] for tag, _ in page]
    markers = "".join(f"<p>{html.escape(text)}</p>" for _, text in page)
    assert {block.kind for block in blocks(Page(markers).markdown())[0]} <= {"text", "table"}


def test_deep_pages() -> None:
    assert Page("<div>" * 2000 + "deep").markdown() == "deep"
    assert Page("<ul><li>" * 500 + "deep").markdown().endswith("- deep")
    assert "deep" in Page("<blockquote>" * 500 + "deep" + "</blockquote>" * 500 + "<p>after").markdown()


# --- the command


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.chdir(tmp_path)
    notes = tmp_path / "notes"
    (notes / "deep").mkdir(parents=True)
    (notes / "red kite.md").write_text(KITES)
    (notes / "deep" / "page.html").write_text("<title>A page</title><p>Herons.")
    (notes / "deep" / ".hidden.md").write_text("hidden")
    (notes / "picture.png").write_bytes(b"\x89PNG")

    def run(*arguments: str, code: int = 0) -> Any:
        result = CliRunner().invoke(app, ["add-document", "kb.db", *arguments, "--embedder", "none"])
        assert result.exit_code == code, result.output
        return result

    return run


def test_the_command_adds_a_folder(run: Callable[..., Any]) -> None:
    told = json.loads(run("notes", "--base", "https://example.org/n/", "--author", "ann", "--json").stdout)
    assert (told["revision"], told["added"], told["removed"], told["pending"]) == (1, 6, 0, 4)
    assert [(document["iri"], document["changed"]) for document in told["documents"]] == [
        ("https://example.org/n/deep/page", True),
        ("https://example.org/n/red%20kite", True),
    ]
    Path("notes/deep/page.html").write_text("<title>A page</title><p>Cranes.")
    shown = run("notes", "--base", "https://example.org/n/").stdout
    assert "https://example.org/n/red%20kite: unchanged" in shown
    assert "revision 2: 1 quad added, 1 removed" in shown
    assert "nothing changed" in run("notes", "--base", "https://example.org/n/").stdout


def test_the_command_adds_a_file(run: Callable[..., Any]) -> None:
    run("notes/red kite.md", "--iri", "urn:kite", "--title", "Kite", "--date", "2024", "--graph", "urn:g", "--no-embed")
    run("notes/red kite.md", "--iri", "urn:kite", "--type", "foaf:Document", "--predicate", "sioc:content", "--keep")
    with worlds.open("kb.db", embedder=None) as world:
        assert said(world, "urn:kite", "urn:g")["title"] == {Literal("Kite")}
        assert {str(quad[2]) for quad in world.quads("urn:kite", "rdf:type", graph="default")} == {
            "http://xmlns.com/foaf/0.1/Document"
        }
        assert len(list(world.quads("urn:kite", "sioc:content"))) == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["notes"], 2),
        (["notes", "--base", "urn:a", "--iri", "urn:b"], 2),
        (["notes", "--iri", "urn:b"], 2),
        (["notes", "--base", "no iri "], 2),
        (["notes/red kite.md", "notes", "--base", "urn:"], 0),
        (["notes/red kite.md", "copy/red kite.txt", "--base", "urn:"], 2),
        (["nowhere", "--base", "urn:"], 3),
        (["empty", "--base", "urn:"], 3),
        (["notes/picture.png", "--base", "urn:"], 4),
        (["notes", "--base", "urn:", "--format", "pdf"], 2),
        (["notes", "--base", "urn:", "--date", "soon"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_the_exit_codes(arguments: list[str], code: int, run: Callable[..., Any]) -> None:
    Path("empty").mkdir()
    Path("copy").mkdir()
    Path("copy/red kite.txt").write_text("text")
    run(*arguments, code=code)
    if code:
        with worlds.open("kb.db", embedder=None) as world:
            assert not len(world)


def test_every_ending_has_one_format() -> None:
    endings = [ending for some in FORMATS.values() for ending in some]
    assert len(endings) == len(set(endings))
