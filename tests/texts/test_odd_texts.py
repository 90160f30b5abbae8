"""Texts that are allowed, but odd: how they are cut, found, kept and given."""

from __future__ import annotations

import time
from pathlib import Path

import pyoxigraph as ox
import pytest
import rdflib

import worlds
from tests.support.embedder import HashingEmbedder
from tests.support.odd_input import EX, P, check_kept, exported, select, texts
from tests.support.oracle import problems
from worlds import World

# --- texts ------------------------------------------------------------------------------------------------------------


def test_literals_of_blanks_and_controls() -> None:
    odd = ["", " ", "\t", "\n", "\r", "\r\n", "a\rb", "a\nb", "a\r\nb", "\u00a0", "\u2028", "\ufeff", "\u200b", "\x85"]
    odd += [
        "\x1f",
        "a\x1fb",
        "\x02kite\x03",
        "\0",
        "a\0b",
        "\0\0\0",
        "\uffff",
        "\U0010ffff",
        '"',
        "\\",
        "\\u0000",
        "'''",
    ]
    check_kept([ox.Literal(text) for text in odd])
    check_kept([ox.Literal(text, language="en") for text in odd])


def test_blank_literals_are_no_texts(world: World) -> None:
    world.add([(EX, P, ox.Literal(text)) for text in ("", " ", "\n\t\r\n", "\u00a0\u2003", "\u2028")])
    assert len(world) == 5
    assert world.stats().chunks == 0


def test_a_literal_with_u0000(world: World) -> None:
    text = "before\0after words"
    world.add([(EX + "1", P, ox.Literal(text))])
    world.load(b'<http://example.org/2> <http://example.org/p> "alpha\\u0000beta gamma"@en , "\\u0000" .', format="ttl")
    for query in ("before", "after", "words", '"before after"'):
        (hit,) = world.search(query, mode="text")
        assert (hit.text, hit.start, hit.end, hit.literal) == (text, 0, len(text), rdflib.Literal(text))
        assert "**" in hit.snippet
        assert hit.quads == [(rdflib.URIRef(EX + "1"), rdflib.URIRef(P), rdflib.Literal(text), None)]
    assert texts(world, "beta") == ["alpha\0beta gamma"]
    assert world.query(r'ASK { ?s ?p "alpha\u0000beta gamma"@en }') is True
    assert select(world, f"SELECT ?o {{ <{EX}1> ?p ?o }}")[0].o == rdflib.Literal(text)
    with pytest.raises(ValueError, match=r"XML can't hold U\+0000"):
        exported(world, "rdfxml")
    assert world.remove([(EX + "1", P, ox.Literal(text))]).removed == 1
    assert texts(world, "after") == []


def test_marks_of_the_snippet_in_a_text_itself(world: World) -> None:
    world.add([(EX, P, ox.Literal("\x02red\x03 kite \x1f **bold** \x03\x02 end"))])
    (hit,) = world.search("kite", mode="text")
    assert hit.text == "\x02red\x03 kite \x1f **bold** \x03\x02 end"
    assert hit.snippet.count("kite") == hit.snippet.count("red") == 1
    assert "**kite**" in hit.snippet


def test_megabytes_in_one_literal(path: Path) -> None:
    text = "".join(f"Sentence number {n} has words of its own. " for n in range(90_000)) + "The end is zzyzx."
    assert len(text) > 3_900_000
    document = ox.serialize(
        [ox.Quad(ox.NamedNode(EX), ox.NamedNode(P), ox.Literal(text))], format=ox.RdfFormat.N_TRIPLES
    )
    with worlds.open(path, embedder=HashingEmbedder()) as world:
        began = time.monotonic()
        change = world.load(document, format="nt", embed=False)
        assert time.monotonic() - began < 30
        assert 3_900 < change.chunks < 20_000
        (hit,) = world.search("zzyzx", mode="text")
        assert text[hit.start : hit.end] == hit.text
        assert hit.end == len(text)
        assert hit.snippet.endswith("The end is **zzyzx**.")
        assert world.search('"number 89999"', mode="text")[0].text.count("number 89999") == 1
        assert str(hit.literal) == text
        assert len(select(world, "SELECT ?o { ?s ?p ?o }")[0].o) == len(text)
        assert len(exported(world)) > 3_900_000
        assert problems(world) == []
        assert world.remove([(EX, P, ox.Literal(text))]).removed == 1
        assert world.stats().chunks == 0


@pytest.mark.parametrize(
    "text",
    [
        "x" * 300_000,
        "a" + " " * 300_000 + "end",
        "中文分词测试" * 50_000 + "end",
        "😀" * 100_000 + " end",
        "a\n" * 100_000 + "end",
        "." * 300_000 + "end",
        "e" + "\u0301" * 100_000 + " end",
        "\u200d" * 100_000 + " end",
        "0123456789" * 30_000 + " end",
        "\0" * 100_000 + "end",
        "a\u0000b " * 50_000 + "end",
    ],
    ids=lambda text: ascii(text[:6]),
)
def test_long_texts_without_sentences(world: World, text: str) -> None:
    began = time.monotonic()
    change = world.add([(EX, P, ox.Literal(text))], embed=False)
    assert time.monotonic() - began < 10
    assert change.chunks < len(text) / 50
    for hit in world.search("end", mode="text"):
        assert hit.text == text[hit.start : hit.end]
    if not text.startswith("x"):
        assert len(world.search("end", mode="text")) == 1
    assert problems(world) == []


def test_the_same_text_many_times(world: World) -> None:
    count = 20_000
    lines = [b'<http://example.org/%d> <http://example.org/p> "the same text" .\n' % n for n in range(count)]
    change = world.load(b"".join(lines), format="nt")
    assert (change.added, change.chunks, change.embedded) == (count, 1, 1)
    (hit,) = world.search("same")
    assert len(hit.quads) == count
    assert hit.quads[0][0] == rdflib.URIRef(EX + "0")
    (hit,) = world.search("same", subjects=f"{EX}{count - 1}")
    assert [quad[0] for quad in hit.quads] == [rdflib.URIRef(f"{EX}{count - 1}")]
    assert world.load(lines[-1], format="nt", mode="replace").removed == count - 1
    (hit,) = world.search("same")
    assert len(hit.quads) == 1
    assert world.remove([(f"{EX}{count - 1}", P, '"the same text"')]).removed == 1
    assert len(world.search("same")) == 0
    assert problems(world) == []
