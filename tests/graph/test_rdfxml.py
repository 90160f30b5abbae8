"""RDF/XML as others write it: other encodings, relative bases, attributes of 1999; the oracle is rdflib's parser."""

from __future__ import annotations

import io
from typing import Any

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib.compare import isomorphic

import worlds
from worlds import ParseError
from worlds.graph.parsing import parsing
from worlds.graph.rdf_sources import sources
from worlds.graph.rdfxml import RdfXml
from worlds.graph.terms import to_rdflib

HEAD = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:e:"'


def load(document: str | bytes | io.StringIO, **options: Any) -> list[str]:
    data: Any = document.encode() if isinstance(document, str) else document
    with worlds.open(embedder=None) as world:
        world.load(data, **{"format": "rdfxml", **options})
        return sorted(" ".join(term.n3() for term in quad[:3]) for quad in world.quads())


@pytest.mark.parametrize(
    ("inside", "base", "expected"),
    [
        (
            '<rdf:Description rdf:ID="i" xml:base="sub/doc"><e:p rdf:resource=""/></rdf:Description>',
            "http://ex/d/",
            "<http://ex/d/sub/doc#i> <urn:e:p> <http://ex/d/sub/doc>",
        ),
        ('<rdf:Description about="urn:s"><e:p resource="urn:o"/></rdf:Description>', "", "<urn:s> <urn:e:p> <urn:o>"),
        ('<rdf:Description ID="i" e:p="1"/>', "http://h/x", '<http://h/x#i> <urn:e:p> "1"'),
        (
            "<rdf:Description about='a'><e:p parseType='Literal'><a about='b' xml:base='c'/></e:p></rdf:Description>",
            "http://h/",
            '<http://h/a> <urn:e:p> "<a about=\\"b\\" xml:base=\\"c\\" xmlns:',
        ),
        (
            '<e:T about="a" xml:base="x/"><e:p><e:T about="b" xml:base="y/"/></e:p><e:q resource="c"/></e:T>',
            "http://h/",
            "<http://h/x/a> <urn:e:p> <http://h/x/y/b>",
        ),
    ],
)
def test_what_others_write(inside: str, base: str, expected: str) -> None:
    found = load(
        f'<rdf:RDF xml:base="{base}" {HEAD}>{inside}</rdf:RDF>' if base else f"<rdf:RDF {HEAD}>{inside}</rdf:RDF>"
    )
    assert any(line.startswith(expected) for line in found), found


def test_a_base_that_is_no_iri_is_refused_with_its_place() -> None:
    with pytest.raises(worlds.ParseError, match=r"line 2, column 1.*xml:base is not an IRI"):
        load(f'<rdf:RDF xml:base="http://h/" {HEAD}>\n<rdf:Description xml:base="http://[x" rdf:about="a"/></rdf:RDF>')


def test_a_relative_base_of_the_root_needs_one_of_the_document() -> None:
    document = (
        f'<rdf:RDF xml:base="sub/doc" {HEAD}><rdf:Description rdf:about="x"><e:p>1</e:p></rdf:Description></rdf:RDF>'
    )
    assert load(document, base="http://h/z") == ['<http://h/sub/x> <urn:e:p> "1"']
    with pytest.raises(ParseError, match="give a base"):
        load(document)


BODY = f"<rdf:RDF {HEAD}>\n<rdf:Description rdf:about='urn:s'><e:p>\u00e9</e:p></rdf:Description></rdf:RDF>"
E_ACUTE = ['<urn:s> <urn:e:p> "\u00e9"']


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "iso-8859-1", "windows-1252", "utf-8-sig"])
@pytest.mark.parametrize("declared", [True, False])
def test_encodings(encoding: str, declared: bool) -> None:
    name = encoding.removesuffix("-sig").removesuffix("-le").removesuffix("-be")
    head = f'<?xml version="1.0" encoding="{name}"?>\n' if declared else "<?xml version='1.0'?>"
    if not declared and encoding in ("iso-8859-1", "windows-1252"):
        with pytest.raises(ParseError):
            load((head + BODY).encode(encoding))
        return
    data = (head + BODY).encode(encoding)
    assert load(data) == E_ACUTE
    with worlds.open(embedder=None) as world:
        assert world.load(data).added == 1  # the format is told by the content


def test_a_text_is_decoded_whatever_its_declaration_says() -> None:
    for name in ("iso-8859-1", "utf-16"):
        assert load(io.StringIO(f'<?xml version="1.0" encoding="{name}"?>{BODY}')) == E_ACUTE
        assert load(f'\ufeff<?xml version="1.0" encoding="{name}"?>{BODY}'.encode()) == E_ACUTE


@pytest.mark.parametrize(
    ("document", "line"),
    [
        (f'<?xml version="1.0" encoding="utf-16"?>\n{BODY}'.encode(), 1),
        (f'<?xml version="1.0" encoding="no-such"?>\n{BODY}'.encode(), None),
        (f'<?xml version="1.0" encoding="us-ascii"?>\n{BODY}'.encode(), 3),
        (f"<?xml version='1.0'?>{BODY.replace('e:p>', 'x:p>')}".encode("utf-16"), 2),
        (BODY.replace("rdf:about", "\nabout").replace("<e:p>", "<e:p resource='a' e:q='b'>").encode(), 3),
        (BODY.replace("rdf:about='urn:s'", "rdf:about='a b'").encode("utf-8"), 2),
    ],
)
def test_an_error_names_its_line(document: bytes, line: int | None) -> None:
    with pytest.raises(ParseError) as error:
        load(document, base="http://h/")
    assert error.value.line == line


names = st.sampled_from(["a", "x/b", "../c", "#d", "", "http://o/e", "\u00e9"])
bases = st.sampled_from(["", "", "y/", "../z", "http://p/q"])


@st.composite
def nodes(draw: st.DrawFn, depth: int = 2) -> str:
    base, about = draw(bases), draw(names)
    own = f" xml:base = '{base}'" if base else ""
    inside = ""
    for _ in range(draw(st.integers(0, 2))):
        if depth and draw(st.booleans()):
            inside += f"<e:in>{draw(nodes(depth - 1))}</e:in>"
        else:
            prefix = draw(st.sampled_from(["", "rdf:"]))
            inside += f'<e:to\n {prefix}resource="{draw(names)}"/>'
    prefix = draw(st.sampled_from(["", "rdf:"]))
    return f"<e:T {prefix}about='{about}'{own}>{inside}</e:T>"


@given(nodes(), st.sampled_from(["utf-8", "utf-16", "iso-8859-1"]), st.lists(st.integers(1, 40), min_size=1))
def test_all_is_read_as_rdflib_reads_it(node: str, encoding: str, sizes: list[int]) -> None:
    document = f'<?xml version="1.0" encoding="{encoding}"?><rdf:RDF {HEAD}>{node}</rdf:RDF>'
    expected = rdflib.Graph().parse(data=document.replace(encoding, "utf-8"), format="xml", publicID="http://h/d/")
    found = rdflib.Graph()
    for source in sources(document.encode(encoding), format="rdfxml", base="http://h/d/"):
        with parsing(source) as quads:
            for quad in quads:
                found.add(tuple(map(to_rdflib, (quad.subject, quad.predicate, quad.object))))
    assert isomorphic(found, expected)
    data = document.encode(encoding)
    whole, parts = RdfXml(None, "http://h/d/"), RdfXml(None, "http://h/d/")
    cut: list[Any] = []
    begin = 0
    while begin < len(data):
        size = (
            max(100, sizes[0]) if not begin else sizes[len(cut) % len(sizes)]
        )  # the declaration is in the first piece
        cut.append(parts.check(data[begin : begin + size]))
        begin += size
    assert b"".join([*cut, parts.check(b""), parts.check(b"")]) == whole.check(data) + whole.check(b"") + whole.check(
        b""
    )
