"""Texts that are longer than the parser's buffer of 16 MiB: what is written is read back."""

from __future__ import annotations

import gzip
import io
import json
import random

import pyoxigraph as ox
import pytest

import worlds
from tests.support import seams
from worlds.graph.formats import FORMATS, serialize
from worlds.graph.longtexts import LongTexts, parse_all
from worlds.graph.parsing import parsing
from worlds.graph.rdf_sources import sources

S, P = ox.NamedNode("urn:x:s"), ox.NamedNode("urn:x:p")
LONG = 17_000_000
PIECES = [
    '"quoted" ',
    "line\nend ",
    "back\\slash ",
    "Zürich 東京 😀 ",
    "it's <http://a#b> # no comment ",
    "tab\t",
    "{[,:0 ",
]


def text(length: int, seed: int = 0) -> str:
    chosen = random.Random(seed)
    part = "".join(chosen.choice(PIECES) for _ in range(1000))
    return (part * (length // len(part) + 1))[:length]


def quads(value: str) -> list[ox.Quad]:
    return [
        ox.Quad(S, P, ox.Literal("before")),
        ox.Quad(S, P, ox.Literal(value)),
        ox.Quad(S, P, ox.Literal(value[5:], language="de")),
        ox.Quad(S, P, ox.Literal("after", datatype=ox.NamedNode("urn:x:type"))),
    ]


def written(some: list[ox.Quad], format: str) -> bytes:
    out = io.BytesIO()
    serialize(some, out, format)
    return out.getvalue()


@pytest.mark.parametrize(
    "format", ["nq", "jsonld", *(pytest.param(name, marks=pytest.mark.long) for name in ("turtle", "rdfxml"))]
)
def test_a_long_text_is_read_back(format: str) -> None:
    given = quads(text(LONG))[:2]
    data = written(given, format)
    (source,) = sources(gzip.compress(data, 1) if format == "nq" else data, format=format)
    with parsing(source) as found:
        assert list(found) == given


@pytest.mark.slow
def test_what_a_world_exports_can_be_loaded_and_applied() -> None:
    with worlds.open(embedder=None) as world, worlds.open(embedder=None) as other:
        for one in (world, other):
            one.policy = worlds.records.TextPolicy(exclude=frozenset({P.value}))
        world.add([(S, P, ox.Literal("x" * LONG))])
        out = io.BytesIO()
        world.export(out, format="nq")
        assert other.load(out.getvalue(), format="nq").added == 1
        other.undo(other.history()[0].revision)
        other.revisions.apply(world.diff(0, world.history()[0].revision).patch())
        assert set(other.quads()) == set(world.quads())


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are long from 3000 bytes on."""
    seams.take_short_texts_for_long(monkeypatch, 3000)


def read(data: bytes, format: str, size: int) -> list[ox.Quad]:
    rdf = FORMATS[format].rdf
    texts = LongTexts(rdf)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return list(texts.restored(ox.parse(b"".join(map(texts.take, [*pieces, b""])), rdf)))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("format", [name for name in FORMATS if name != "rdfxml"])
def test_it_is_cut_wherever_a_piece_ends(format: str) -> None:
    for seed in range(6):
        chosen = random.Random(seed)
        given = [quad for _ in range(3) for quad in quads(text(chosen.choice([10, 2900, 6000, 20_000]), seed))]
        data = written(given, format)
        if format == "jsonld":
            given = sorted(set(given), key=str)
            if seed % 2:
                data = json.dumps(json.loads(data), ensure_ascii=True).encode()
            assert sorted(set(read(data, format, chosen.randint(20, 3000))), key=str) == given
        else:
            assert read(data, format, chosen.randint(20, 3000)) == given


@pytest.mark.usefixtures("short")
def test_what_surrounds_a_long_text() -> None:
    long = "x" * 20_000
    for document in (
        f"@prefix e: <urn:x:> . e:it\\'s e:p <urn:x:#> , '{long}\\'\"' , \"\" , 'a\"b' , \"{long}\"@en .\ne:s e:p 1 .",
        f'<urn:x:s> <urn:x:p> <<( <urn:x:s> <urn:x:p> "{long}" )>> .',
        f'# it\'s {long} "\n<urn:x:s> <urn:x:p> "{long}" .',
        f'<urn:x:s> <urn:x:p> """{long}\n""" , "a" .',
    ):
        for size in (100, 333, 4096):
            data = document.encode()
            assert read(data, "turtle", size) == list(ox.parse(data, ox.RdfFormat.TURTLE))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize(
    "document",
    [
        '<urn:x:s> <urn:x:p> "{long}\\q{long}" .',
        '<urn:x:s> <urn:x:p> "{long}\\uD800{long}" .',
        '<urn:x:s> <urn:x:p> "{long}\n{long}" .',
        '<urn:x:s> <urn:x:p> "{long}',
        '<urn:x:s> <urn:x:p> "{long}\\',
        '<urn:x:s> <urn:x:p> "{long}\\u12',
    ],
)
def test_a_long_text_that_is_not_valid_is_refused(document: str) -> None:
    data = document.replace("{long}", "x" * 9000).encode()
    for size in (100, 4096):
        with pytest.raises((SyntaxError, worlds.ParseError)):
            read(data, "nq", size)
    with worlds.open(embedder=None) as world, pytest.raises(worlds.ParseError):
        world.load(data, format="nq")


@pytest.mark.parametrize(
    ("format", "document"),
    [
        ("turtle", '<urn:x:s> <urn:x:p> """\n{long}""" .'),
        ("nq", "<urn:x:{long}> <urn:x:p> <urn:x:o> ."),
        ("jsonld", '{"@id": "urn:x:s", "urn:x:p": {"@type": "@json", "@value": "{long}"}}'),
    ],
)
def test_what_is_too_long_for_the_parser_is_an_error_that_names_the_limit(format: str, document: str) -> None:
    data = document.replace("{long}", "x" * LONG).encode()
    with worlds.open(embedder=None) as world:
        with pytest.raises(worlds.ParseError, match="longer than 16,777,216 bytes"):
            world.load(data, format=format)
        assert not world.history()


@pytest.mark.slow
def test_a_long_text_in_an_update() -> None:
    value = "x" * LONG
    with worlds.open(embedder=None) as world:
        world.policy = worlds.records.TextPolicy(exclude=frozenset({P.value, "urn:x:q"}))
        world.update(f"INSERT DATA {{ <urn:x:s> <urn:x:p> {json.dumps(value)} }}")
        world.update("INSERT { ?s <urn:x:q> ?o } WHERE { ?s <urn:x:p> ?o }")
        assert {str(term) for _, _, term, _ in world.quads()} == {value}
    (quad,) = parse_all(f"<urn:x:s> <urn:x:p> {ox.Literal(value)} .", ox.RdfFormat.N_QUADS)
    assert quad.object == ox.Literal(value)
