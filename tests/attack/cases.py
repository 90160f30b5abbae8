"""Hostile cases, each made by its kind, the seed and its number alone."""

from __future__ import annotations

import base64
import bz2
import functools
import gzip
import json
import random
from collections.abc import Callable
from typing import Any

import pyoxigraph as ox

from tests.graph.test_bounds import DEEP
from tests.sparql.test_fuzz import DATA, HEAD, QUERIES, UPDATES, mutated
from worlds.graph.formats import FORMATS

TURTLE = DATA.encode()
_QUADS = list(ox.parse(TURTLE, ox.RdfFormat.TRIG))
_PLAIN = [quad.triple for quad in _QUADS if not isinstance(quad.object, ox.Triple)]
_XML = b"""<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY e "http://e/"><!ENTITY f "&e;f">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="&e;" xml:base="http://b/" xml:lang="en">
<!-- a --><rdf:Description rdf:about="a#b" x:p="1"><x:q rdf:parseType="Collection"><x:C/><x:D/></x:q><x:r rdf:ID="i"
rdf:datatype="&f;">t &amp; <![CDATA[<]]></x:r><x:s rdf:parseType="Literal"><b xmlns="u:">x</b></x:s><x:t
rdf:parseType="Resource"><rdf:li>1</rdf:li></x:t></rdf:Description><?pi x?></rdf:RDF>"""
_JSON = b"""{"@context": {"@version": 1.1, "@vocab": "http://v/", "e": "http://e/", "t": {"@id": "e:t", "@type": "@id",
"@container": ["@index", "@set"], "@context": {"u": "e:u"}}, "l": {"@id": "e:l", "@container": "@list"}, "r":
{"@reverse": "e:r"}, "g": {"@id": "e:g", "@container": "@graph"}, "n": "@nest"}, "@id": "e:a", "@type": "C", "t":
{"i": ["e:b", {"@id": "e:c", "u": "\\u0041\\ud83d\\ude00"}]}, "l": [1, 2.5e3, true, null, ["x"]], "r": {"@id": "_:b"},
"n": {"p": {"@value": "v", "@language": "en", "@direction": "rtl"}}, "g": {"q": {"@type": "@json", "@value": [{}]}},
"@included": [{"@graph": [{"@id": "e:d", "p": "x"}]}]}"""
_PATCH = b"""H id <uuid:1> .\nTX .\nPA "e" <http://e/> .\nA <urn:a> <urn:b> "text"@en <urn:g> .\nD _:b <urn:b> 1 .\n
A <urn:a> <urn:b> <<( <urn:a> <urn:b> "x\\u0041" )>> .\nPD "e" .\nTC .\nTX .\nTA .\n"""
_MARKDOWN = b"""---\ntitle: "A: b"\ntags: [x, 'y', &a z]\ndate: 2024-05-01
summary: |\n  two\n  lines\nb: *a\n---\n# Head
\n- item\n  1. nested\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```py
code\n```\n> quote\n[link](http://e/) ![i](x) `c`\n"""
_HTML = b"""<!DOCTYPE html><html lang=en><head><title>T</title><meta charset=utf-8><meta name=author content=A></head>
<body><nav>n</nav><main><h1>H</h1><p>a<b>b<i>c</b>d</i>&eacute;<br>x<ul><li>1<ol start=3><li>2</ol></ul><table><tr><td>
1<td>2<tr><td colspan=2>3</table><pre>c\n```</pre><img alt=a><svg><p>s</svg><!-- c --></main></body></html>"""


def _serialized(format: str) -> bytes:
    quads: Any = _QUADS if FORMATS[format].graphs else _PLAIN
    return bytes(ox.serialize(quads, format=FORMATS[format].rdf))  # type: ignore[arg-type]  # bytes


DOCUMENTS: dict[str, list[bytes]] = {
    "turtle": [_serialized("turtle"), TURTLE.replace(b":g {", b"").replace(b":h {", b"").replace(b" }\n", b"\n")],
    "nt": [_serialized("nt"), b'<urn:a> <urn:b> <<( <urn:a> <urn:b> "x"@en--ltr )>> .\n'],
    "nq": [_serialized("nq")],
    "trig": [TURTLE, _serialized("trig")],
    "n3": [
        _serialized("n3"),
        b"@prefix : <urn:e:> . { :a :b ?c } => { ?c :d ( 1 :e!:f^:g ) } .\n:a = :b , [ :c :d ] .",
    ],
    "rdfxml": [_XML],
    "jsonld": [_JSON],
    "patch": [_PATCH],
    "markdown": [_MARKDOWN],
    "html": [_HTML],
}
_TOKENS = {
    "turtle": b"<<( )>> << >> {| |} [ ] ( ) { } . ; , a @prefix @base GRAPH \"\"\" ''' \" ' \\u0041 \\ # ^^ @en "
    b"@en--ltr _: <> <urn:a> => <= ! ^ = ~ true 1e9 -0.0 \xff \x00 \xed\xa0\x80 \r \n",
    "rdfxml": b"<x:a> </x:a> <x:a/> <!-- --> <![CDATA[ ]]> &amp; &e; &#0; <? ?> <!DOCTYPE <!ENTITY xmlns:x='' "
    b"rdf:parseType='Triple' rdf:parseType='Literal' rdf:about='' rdf:ID='a' xml:base='' xml:lang='x' rdf:li "
    b"its:dir='rtl' "
    b"rdf:version='1.2' \xff \x00 \" ' < > =",
    "jsonld": b'{ } [ ] : , " \\ \\u0041 \\ud800 "@context": "@id": "@type": "@graph": "@list": "@set": "@reverse": '
    b'"@nest": "@included": "@index": "@container": "@json" "@none" "@vocab": "@base": "@import": "@propagate": '
    b'"@protected": "@prefix": "@version": "@language": "@direction": "@value": null true 1e999 -0 \xff \x00',
    "patch": b'H TX TC TA PA PD A D . " <urn:a> _:b <_:b> <<( )>> \\ \r \n \x00 \xff # 1',
    "markdown": b"--- ... # ## - * 1. > | ``` ~~~ : [ ] { } & * ! | > % @ \" ' \t \\ <<: [link]( ` \x00 \xff \n\n ? -",
    "html": b"<div> </div> <p> <ul> <li> <table> <td> <pre> <b> <a href='x'> <svg> <math> <template> <script> <!-- --> "
    b"<![CDATA[ ]]> &amp; &#0; &#xd800; <select> <frameset> <plaintext> <title> "
    b'<meta charset=utf-16> \x00 \xff < > = "',
}
_ALIKE = dict.fromkeys(("nt", "nq", "trig", "n3"), "turtle")


def mangled(chance: random.Random, data: bytes, format: str) -> bytes:
    """The document with some of its parts taken away, doubled, moved, nested or replaced."""
    tokens: list[bytes] = _TOKENS[_ALIKE.get(format, format)].split(b" ")
    for _ in range(chance.choice([1, 1, 2, 3, 8])):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.choice([1, 1, 4, 20, 200]))
        kind = chance.randrange(9)
        if kind == 0:
            data = data[:at] + data[end:]
        elif kind == 1:
            data = data[:at] + chance.choice(tokens) + data[at:]
        elif kind == 2:
            data = data[:at] + chance.choice(tokens) + data[end:]
        elif kind == 3:
            data = data[:end] + data[at:end] * chance.choice([1, 2, 30, 3000]) + data[end:]
        elif kind == 4:
            data = data[:at] + chance.choice(tokens) * chance.choice([2, 90, 1100, 20_000]) + data[at:]
        elif kind == 5:
            other = chance.choice(DOCUMENTS[format])
            data = data[:at] + other[chance.randrange(len(other)) :]
        elif kind == 6:
            one, two = chance.choice(tokens), chance.choice(tokens)
            data = data[:at] + (one + b" " + two + b" ") * chance.choice([2, 300, 5000]) + data[at:]
        elif kind == 7:
            data = data[:at] + chance.randbytes(end - at) + data[end:]
        else:
            data = data[:at]
        data = data[:400_000]
    return data


def document(chance: random.Random) -> dict[str, Any]:
    texts = ("markdown", "html")  # which take ten times as long as the others
    format = chance.choices(list(DOCUMENTS), [1 if name in texts else 3 for name in DOCUMENTS])[0]
    data = mangled(chance, chance.choice(DOCUMENTS[format]), format)
    if format not in texts and chance.random() < 0.05:
        data = gzip.compress(data) if chance.random() < 0.5 else bz2.compress(data)
        if chance.random() < 0.5:
            at = chance.randrange(len(data))
            data = data[:at] + chance.randbytes(3) + data[at + 3 :]
    return {"format": format, "data": base64.b64encode(data).decode()}


def query(chance: random.Random) -> dict[str, Any]:
    return {"text": HEAD + mutated(chance, chance.choice(QUERIES), QUERIES)}


def update(chance: random.Random) -> dict[str, Any]:
    return {"text": HEAD + mutated(chance, chance.choice(UPDATES), UPDATES)}


_SAID = [
    "kite",
    "river kite",
    '"red kite"',
    "-kite",
    "ki*",
    "NEAR(a b)",
    "中文",
    "a:b",
    "C++",
    "AND",
    "OR",
    "NOT",
    "^a",
    "é",
]


def words(chance: random.Random) -> dict[str, Any]:
    marks = [*_SAID, *"\"'*()-+^:{}\\\0\t\n\u2028\ufeff", "\ud800", "x" * 5000, "\U0001f600"]
    text = "".join(chance.choices([*marks, *(f"{mark} " for mark in marks)], k=chance.choice([1, 3, 20, 3000])))
    options: dict[str, Any] = {}
    choices: dict[str, list[Any]] = {
        "mode": ["hybrid", "text", "vector"],
        "syntax": ["words", "fts5"],
        "types": [":C", "no iri", ["urn:x"], 5],
        "languages": ["en", "*", "", "\0"],
        "where": ["?subject ?p ?o", "?subject ?p ?o } {", "{" * 300, "\0"],
        "limit": [1, 0, -1, 10**30, 1.5, None],
        "candidates": [1, 10**9, -5],
        "fusion": ["rrf", "weighted", "none"],
        "k": [0, 1e308, float("nan"), -1],
        "weights": [{"text": 1}, {"x": 1}, {"text": float("inf")}],
        "cursor": ["x", "e30=", "\0"],
        "diversity": [0.5, 7],
        "group_by": ["subject", "x"],
    }
    for name, values in choices.items():
        if chance.random() < 0.08:
            options[name] = chance.choice(values)
    return {"text": text, "options": options}


def _json(chance: random.Random, depth: int = 0) -> Any:
    kind = chance.randrange(9 if depth < 4 else 6)
    if kind < 6:
        return chance.choice(
            [None, True, -1, 10**40, 1e308, "", "kite", "\0", "\ud800", "x" * 3000, "urn:a", "?s ?p ?o"]
        )
    if kind < 8:
        names = [
            "q",
            "query",
            "text",
            "mode",
            "limit",
            "where",
            "types",
            "iri",
            "add",
            "remove",
            "names",
            "\0",
            "x" * 300,
        ]
        return {chance.choice(names): _json(chance, depth + 1) for _ in range(chance.randrange(5))}
    return [_json(chance, depth + 1) for _ in range(chance.randrange(5))]


_VERBS = "search similar resolve history quads stats schema prefixes sparql graphs worlds"
_PATHS = [
    *(f"/{name}" for name in _VERBS.split()),
    *(
        "/history/1",
        "/history/1/undo",
        "/graphs/x",
        "/worlds/kb",
        "/entities/x",
        "/health",
        "/metrics",
        "/openapi.json",
    ),
    *("/", "/page/app.js", "/page/../../x", "/%00", "/%ff", "//x"),
]


def request(chance: random.Random) -> dict[str, Any]:
    """A request as bytes, whole or not."""
    method = chance.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE", "get", "\x00", "PRI"])
    given = {
        name: chance.choice(["kite", "1", "-1", "x" * 2000, "\0", "SELECT * {?s ?p ?o}", "urn:g", "{" * 300])
        for name in ("q", "query", "update", "graph", "limit", "default-graph-uri", "cursor", "where", "mode")
        if chance.random() < 0.25
    }
    parts = "&".join(f"{name}={_percent(chance, value)}" for name, value in given.items())
    bodies: list[Callable[[], tuple[str, bytes]]] = [
        lambda: ("", b""),
        lambda: ("application/json", json.dumps(_json(chance)).encode()),
        lambda: ("application/json", _nested(chance.choice([10, 200, 400, 900, 3000, 100_000]))),
        lambda: ("application/sparql-query", query(chance)["text"].encode("utf-8", "surrogatepass")),
        lambda: ("application/sparql-update", update(chance)["text"].encode("utf-8", "surrogatepass")),
        lambda: ("application/x-www-form-urlencoded", parts.encode()),
        lambda: (
            "multipart/form-data; boundary=b",
            mangled(chance, b"--b\r\nContent-Type: text/turtle\r\n\r\n--b--", "patch"),
        ),
        lambda: (
            chance.choice(["text/turtle", "application/ld+json", "application/rdf+xml", "application/n-quads"]),
            base64.b64decode(document(chance)["data"]),
        ),
    ]
    media, body = bodies[chance.randrange(len(bodies))]()
    body = body[:300_000]
    length = str(len(body)) if chance.random() < 0.9 else chance.choice(["-1", "x", "1e3", "99999999999999999999", "5"])
    headers = {"Host": "localhost", "Content-Length": length, "Content-Type": media, "Connection": "close"}
    for name, values in {
        "Authorization": ["Bearer KEY", "Bearer x", "Basic eA==", "Bearer " + "x" * 9000, "\xff"],
        "Accept": ["*/*", "text/turtle", "application/json;q=x", "," * 3000, "a/b" * 2000],
        "Transfer-Encoding": ["chunked", "gzip", "chunked, chunked"],
        "Content-Encoding": ["gzip", "br"],
        "If-Match": ["*", '"x"', ","],
        "Range": ["bytes=0-", "bytes=9-1,x"],
        "Origin": ["null", "http://e"],
        "Host": ["", "evil", "localhost:x"],
    }.items():
        if chance.random() < (0.7 if name == "Authorization" else 0.08):
            headers[name] = values[0] if name == "Authorization" and chance.random() < 0.8 else chance.choice(values)
    path = chance.choice(_PATHS) + ("?" + parts if parts and chance.random() < 0.6 else "")
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    data = "\r\n".join(lines).encode("latin-1", "replace") + body
    if chance.random() < 0.1:
        at = chance.randrange(len(data))
        data = data[:at] + chance.randbytes(chance.randrange(9)) + data[at + chance.randrange(9) :]
    return {"data": base64.b64encode(data).decode()}


def _nested(depth: int) -> bytes:
    return b'{"text": "kite", "types": ' + b"[" * depth + b"1" + b"]" * depth + b"}"


def _percent(chance: random.Random, text: str) -> str:
    if chance.random() < 0.1:
        return chance.choice(["%", "%f", "%ff%fe", "%00", "+", "%u0041"])
    return "".join(character if character.isalnum() else f"%{ord(character):02X}" for character in text)


def _past(format: str, data: bytes) -> dict[str, Any]:
    return {"kind": "document", "format": format, "data": base64.b64encode(data).decode()}


_LABEL = b"""<urn:a> <http://www.w3.org/2000/01/rdf-schema#label> <<( <urn:a> <urn:b> "kite" )>> ; <urn:c> "kite" ."""
PAST: list[Callable[[], dict[str, Any]]] = [
    *(
        functools.partial(lambda format, deep, make: _past(format, make(deep).encode()), format, deep, make)
        for format, _, deep, make in DEEP.values()
    ),
    lambda: _past("jsonld", DEEP["JSON contexts"][3](3000).encode()),
    lambda: _past("jsonld", b'{" "@context": ' + b'{"a":' * 50_000),
    lambda: _past("rdfxml", DEEP["XML elements"][3](12_500).encode()),
    lambda: _past("nq", b'<urn:a> <urn:b> "' + b"x" * 17_000_000 + b'"^^<urn:t> .'),
    lambda: _past("patch", b'A <urn:a> <urn:b> "' + b"x" * 17_000_000 + b'"^^<urn:t> .'),
    lambda: _past("turtle", b'<urn:a> <urn:b> """\n' + b"x" * 17_000_000 + b'""" .'),
    lambda: _past("nq", gzip.compress(b"\n" * 10**7) * 3),
    lambda: _past("patch", bz2.compress(b"\n" * 10**7) * 9),
    lambda: _past("rdfxml", b'<?xml version="1.0"?><!DOCTYPE r [' + b"<!ENTITY" * 20_000),
    lambda: _past("markdown", b"---\n" + b"\n" * 40 + b"t\x17: *a\n---\n"),
    lambda: _past("markdown", b"---\na: " + b"[" * 90_000 + b"\n---\n"),
    lambda: _past("html", b"<!DOCTYPE html><body>" + b"<pre> " * 40_000),
    lambda: _past("turtle", _LABEL),
    lambda: {"kind": "words", "text": "kite", "options": {}},
    lambda: {"kind": "file", "seed": 986932658},
    lambda: {
        "kind": "query",
        "text": f"SELECT ?s {{ ?s <http://jena.apache.org/text#query> ( <urn:p> 'kite' {'5 ' * 300}) }}",
        "limited": True,
    },
    *(
        functools.partial(lambda kind, before, mark, count: {"kind": kind, "text": before + mark * count}, *given)
        for given in (
            ("update", "INSERT DATA { <urn:a> <urn:b> 1 } ", "}", 78_000),
            ("update", "INSERT DATA ", "{", 78_000),
            ("update", "INSERT DATA { <urn:a> <urn:b> ", "(", 78_000),
            ("query", "SELECT * ", "{ ", 10_000),
            ("query", "SELECT * { FILTER", "(", 100_000),
            ("query", "SELECT * { ?s ?p ", "<<( ?s ?p ", 20_000),
            ("query", "ASK { ?s ?p ?o } ", ")", 78_000),
            ("query", "SELECT * { FILTER(", "!(", 30),
            ("update", "INSERT { ?s ?p 1 } WHERE { SELECT (COUNT(", "!( ", 30),
        )
    ),
]
"""What once crashed the process, kept it busy or raised an error of another library."""

KINDS: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "document": document,
    "query": query,
    "update": update,
    "words": words,
    "kept": lambda chance: chance.choice((query, update))(chance),
    "request": request,
    "file": lambda chance: {"seed": chance.randrange(10**9)},
}


REQUESTS = [
    b"PUT //x HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n--b\r\n",
    b"HEAD /schema HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc",
]
"""What made the server log a traceback, or fail: the first requests of each seed."""


def case(kind: str, seed: int, number: int) -> dict[str, Any]:
    """The case, as what can be written as JSON."""
    if kind == "past":
        return PAST[number]()
    if kind == "request" and number < len(REQUESTS):
        return {"kind": kind, "data": base64.b64encode(REQUESTS[number]).decode()}
    return {"kind": kind, **KINDS[kind](random.Random(f"{seed} {kind} {number}"))}
