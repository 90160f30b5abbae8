"""HTML as a document."""

from __future__ import annotations

import html
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import worlds
from tests.support.documents import NOTE, plain
from worlds.core.texts.markdown import blocks
from worlds.extras.documents.conversion import read_document
from worlds.extras.documents.html import HtmlPage, decode_html
from worlds.records import ChunkSize, TextPolicy

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
        "places": {},
        "left_out": (),
    }


def test_the_main_part_of_a_page_is_enough() -> None:
    page = "<div>Menu</div><{0}><h1>Title</h1>Text<footer>by Ann</footer></{0}><div>Shop</div>"
    for tag in ("main", "article"):
        assert HtmlPage(page.format(tag)).markdown() == "# Title\n\nText\n\nby Ann"
    assert HtmlPage("<article>A</article><article>B</article><footer>C</footer>").markdown() == "A\n\nB"
    assert HtmlPage("<main><script></script></main><p>Text").markdown() == "Text"


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
    world.sources.add_document(NOTE, file)
    assert world.search("carrion", mode="text", languages="en")[0].text.startswith("## What they eat\n\n- mice")
    assert len(world.search("script", mode="text")) == len(world.search("imprint", mode="text")) == 0


def test_html_needs_its_library(world: worlds.World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "selectolax.lexbor", None)
    with pytest.raises(worlds.WorldsError, match=r"pip install 'worlds-kg\[html\]'"):
        world.sources.add_document(NOTE, "<html><p>text")
    world.sources.add_document(NOTE, "# Markdown needs none")


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


parts = st.lists(st.tuples(st.sampled_from(["h2", "p", "pre"]), plain), max_size=12)


@given(parts)
def test_the_blocks_of_a_page_are_those_of_its_text(page: list[tuple[str, str]]) -> None:
    made = "".join(f"<{tag}>x{' ' if tag == 'h2' else ''}{html.escape(text)}</{tag}>" for tag, text in page)
    kinds = {"h2": "heading", "p": "text", "pre": "code"}
    found, _ = blocks(HtmlPage(made).markdown())
    assert [block.kind for block in found] == [kinds[tag] for tag, _ in page]
    markers = "".join(f"<p>{html.escape(text)}</p>" for _, text in page)
    assert {block.kind for block in blocks(HtmlPage(markers).markdown())[0]} <= {"text", "table"}


def test_deep_pages() -> None:
    assert HtmlPage("<div>" * 2000 + "deep").markdown() == "deep"
    assert HtmlPage("<ul><li>" * 500 + "deep").markdown().endswith("- deep")
    assert "deep" in HtmlPage("<blockquote>" * 500 + "deep" + "</blockquote>" * 500 + "<p>after").markdown()


@pytest.mark.parametrize("tag", ["<ul><li>", "<pre> ", "<b>", "<div>", "<table><tr><td>", "<svg>"])
def test_tags_that_are_never_closed_take_no_minutes(tag: str) -> None:
    began = time.process_time()
    with worlds.open(embedder=None) as world:
        with pytest.raises(worlds.ParseError, match="more than 5,000 tags that are not closed"):
            world.sources.add_document("urn:d", f"<html><body>{tag * 40_000}", format="html")
        world.sources.add_document("urn:d", f"<html><body>{tag * 1000}text", format="html")
    assert time.process_time() - began < 20


def test_tags_that_need_not_be_closed_are_no_such() -> None:
    with worlds.open(embedder=None) as world:
        world.sources.add_document("urn:e", "<html><body>" + "<table><tr><td>1<td>2<tr><td><img><br>3</table>" * 6000)
