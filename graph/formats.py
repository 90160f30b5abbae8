"""RDF formats: what they are called, how they are parsed, how they are written."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import pyoxigraph as ox

from worlds.errors import ParseError
from worlds.graph.terms import RDF, XSD, Term, compiled, is_prefix, to_oxigraph

if TYPE_CHECKING:
    import rdflib


@dataclass(frozen=True)
class Format:
    """A format: `graphs` says whether it can hold named graphs."""

    name: str
    rdf: ox.RdfFormat
    extensions: tuple[str, ...]
    media_types: tuple[str, ...]
    aliases: tuple[str, ...] = ()
    graphs: bool = False


FORMATS: Mapping[str, Format] = {
    format.name: format
    for format in (
        Format("turtle", ox.RdfFormat.TURTLE, ("ttl",), ("text/turtle", "application/x-turtle")),
        Format("nt", ox.RdfFormat.N_TRIPLES, ("nt",), ("application/n-triples",), ("ntriples", "n-triples")),
        Format("nq", ox.RdfFormat.N_QUADS, ("nq",), ("application/n-quads",), ("nquads", "n-quads"), True),
        Format("trig", ox.RdfFormat.TRIG, ("trig",), ("application/trig",), (), True),
        Format("n3", ox.RdfFormat.N3, ("n3",), ("text/n3", "text/rdf+n3")),
        Format("rdfxml", ox.RdfFormat.RDF_XML, ("rdf", "owl", "xml"), ("application/rdf+xml",), ("rdf/xml", "rdf+xml")),
        Format("jsonld", ox.RdfFormat.JSON_LD, ("jsonld", "json"), ("application/ld+json",), ("json-ld",), True),
    )
}

EXTENSIONS: Mapping[str, str] = {end: format.name for format in FORMATS.values() for end in format.extensions}
"""File extension, without its dot, to the name of its format."""

_BY_NAME = {
    name: format
    for format in FORMATS.values()
    for name in (format.name, *format.extensions, *format.media_types, *format.aliases)
}


def find_format(name: str) -> Format:
    """The format of a name, an extension (with or without its dot) or a media type; `ValueError` if none."""
    if not isinstance(name, str):
        raise TypeError(f"a format must be named by a str, not {name!r}")
    found = _BY_NAME.get(name.partition(";")[0].strip().lower().removeprefix("."))
    if found is None:
        raise ValueError(f"{name!r} is not a format: use one of {', '.join(FORMATS)}, or a media type")
    return found


def rdflib_quads(graph: rdflib.Graph) -> Iterator[ox.Quad]:
    """The quads of an rdflib Graph, Dataset or ConjunctiveGraph.

    A plain Graph's triples, whatever its identifier, and those of a dataset's default context are in the
    default graph. Blank nodes keep their labels where these are legal. Raises `ParseError` for what rdflib
    holds but RDF does not allow: invalid IRIs, literals as subjects, N3 formulas.
    """
    import rdflib
    from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

    default = ox.DefaultGraph()
    graphs: dict[object, Any] = {None: default, DATASET_DEFAULT_GRAPH_ID: default}
    terms: dict[object, Any] = {}

    def convert(term: object) -> Any:
        if isinstance(term, rdflib.Literal):
            return to_oxigraph(term)
        known = terms.get(term)
        if known is None:
            try:
                known = to_oxigraph(term)
            except ValueError:
                if not isinstance(term, rdflib.BNode):
                    raise
                known = ox.BlankNode()  # any string can be a label in rdflib
            terms[term] = known
        return known

    rows: Iterable[tuple[Any, ...]]
    if isinstance(graph, rdflib.ConjunctiveGraph):
        if not isinstance(graph, rdflib.Dataset):
            graphs[graph.default_context.identifier] = default
        rows = rdflib.ConjunctiveGraph.quads(graph, (None, None, None, None))
    else:
        rows = ((*triple, None) for triple in graph)
    for subject, predicate, object_, context in rows:
        name = context.identifier if isinstance(context, rdflib.Graph) else context
        try:
            yield ox.Quad(convert(subject), convert(predicate), convert(object_), graphs.get(name) or convert(name))
        except (TypeError, ValueError) as error:
            triple = (subject, predicate, object_)
            raise ParseError(f"the rdflib graph holds a triple that is not RDF, {triple!r}: {error}") from error


# --- writing --------------------------------------------------------------------------------------------


def serialize(quads: Iterable[ox.Quad], out: BinaryIO, format: str, prefixes: Mapping[str, str] | None = None) -> None:
    """Write quads, streamed in their order; every term comes back as it was when the file is parsed again.

    Turtle, TriG and RDF/XML are short where the quads of a subject (and of a graph) stand together.
    Prefixes that the format can't express are left out. Raises `ValueError` for what the format can't
    hold: named graphs in a triple format; triple terms in JSON-LD and N3; base directions in N3; in
    RDF/XML the characters that XML forbids, and predicates that are no XML name. What was written until
    then stays in `out`.
    """
    target = find_format(format)
    names = {name: iri for name, iri in (prefixes or {}).items() if is_prefix(name) and _is_iri(iri)}
    if target.name == "rdfxml":
        _write_xml(quads, out, names)
        return
    if target.name in ("jsonld", "n3"):
        quads = _writable(quads, target.name)
    ox.serialize(quads, out, target.rdf, prefixes=names)


def _is_iri(iri: str) -> bool:
    try:
        ox.NamedNode(iri)
    except ValueError:
        return False
    return True


def _writable(quads: Iterable[ox.Quad], format: str) -> Iterator[ox.Quad]:
    """The quads, up to one with a term of RDF 1.2 that pyoxigraph would write, and not read back."""
    for quad in quads:
        if isinstance(quad.object, ox.Triple):
            raise ValueError(f"{format} has no triple terms: {quad}; use turtle, nt, trig or nq")
        if format == "n3" and isinstance(quad.object, ox.Literal) and quad.object.direction is not None:
            raise ValueError(f"n3 has no base direction: {quad}; use turtle, nt, trig or nq")
        yield quad


# RDF/XML is written here: pyoxigraph 0.5.13 writes control characters and U+000D as they are, and gives the
# element of <http://example.org/1> no name, be it a predicate or a type. Only its own parser reads that back.

_NAME_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = rf"[{_NAME_START}][{_NAME_START}0-9.\-\u00b7\u0300-\u036f\u203f\u2040]*"
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_XML_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\r": "&#xD;"})
_RESERVED = frozenset(
    RDF + name
    for name in (
        *("RDF", "ID", "about", "parseType", "resource", "nodeID", "datatype", "li", "Description"),
        *("aboutEach", "aboutEachID", "bagID"),
    )
)
_XML_NAMESPACES = ("http://www.w3.org/2000/xmlns/", "http://www.w3.org/XML/1998/namespace")


def escape_xml(text: str) -> str:
    """The text as XML content or attribute, in double quotes; `ValueError` if XML forbids a character."""
    if illegal := _NOT_XML.search(text):
        raise ValueError(f"XML can't hold U+{ord(illegal[0]):04X}, which is in {text[:60]!r}")
    return text.translate(_XML_ESCAPES)


def _write_xml(quads: Iterable[ox.Quad], out: BinaryIO, prefixes: Mapping[str, str]) -> None:
    names = {  # namespace → prefix
        iri: name
        for name, iri in prefixes.items()
        if compiled(_NAME).fullmatch(name)
        and name not in ("rdf", "its")
        and not name.lower().startswith("xml")
        and iri not in _XML_NAMESPACES
    }
    names[RDF] = "rdf"

    @functools.lru_cache(maxsize=4096)
    def element(iri: str) -> tuple[str, str]:
        return _xml_name(iri, names)

    declared = "".join(f' xmlns:{name}="{escape_xml(iri)}"' for iri, name in names.items())
    out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<rdf:RDF{declared}>\n'.encode())
    subject: object = None
    for quad in quads:
        if not isinstance(quad.graph_name, ox.DefaultGraph):
            raise ValueError(f"RDF/XML has no named graphs: {quad}; use trig, nq or jsonld")
        lines = f"    {_xml_property(quad.predicate, quad.object, element)}\n"
        if quad.subject != subject:
            end = "" if subject is None else "  </rdf:Description>\n"
            subject = quad.subject
            lines = f"{end}  <rdf:Description {_xml_node(subject, 'about')}>\n{lines}"
        out.write(lines.encode())
    out.write(("" if subject is None else "  </rdf:Description>\n").encode() + b"</rdf:RDF>\n")


def _xml_property(predicate: ox.NamedNode, value: Term, element: Callable[[str], tuple[str, str]]) -> str:
    name, attributes = element(predicate.value)
    if isinstance(value, ox.Triple):
        inner = _xml_property(value.predicate, value.object, element)
        about = _xml_node(value.subject, "about")
        return (
            f'<{name}{attributes} rdf:version="1.2" rdf:parseType="Triple">'
            f"<rdf:Description {about}>{inner}</rdf:Description></{name}>"
        )
    if not isinstance(value, ox.Literal):
        return f"<{name}{attributes} {_xml_node(value, 'resource')}/>"
    if value.language is not None:
        attributes += f' xml:lang="{value.language}"'
        if value.direction is not None:
            attributes += (
                ' xmlns:its="http://www.w3.org/2005/11/its" rdf:version="1.2-basic" its:version="2.0"'
                f' its:dir="{value.direction}"'
            )
    elif value.datatype.value != XSD + "string":
        attributes += f' rdf:datatype="{escape_xml(value.datatype.value)}"'
    return f"<{name}{attributes}>{escape_xml(value.value)}</{name}>"


def _xml_name(iri: str, names: Mapping[str, str]) -> tuple[str, str]:
    """The element of a predicate, and the declaration of its namespace where the head has none."""
    match = compiled(_NAME + "$").search(iri)
    if match is None or iri in _RESERVED or iri[: match.start()] in _XML_NAMESPACES:
        raise ValueError(f"RDF/XML can't write the predicate <{iri}>; use turtle, nt or jsonld")
    for namespace, name in names.items():
        if iri.startswith(namespace) and compiled(_NAME).fullmatch(iri, len(namespace)):
            return f"{name}:{iri[len(namespace) :]}", ""
    return match[0], f' xmlns="{escape_xml(iri[: match.start()])}"'


def _xml_node(node: object, attribute: str) -> str:
    if isinstance(node, ox.BlankNode):
        # A label must be an XML name; one that is not is spelt in hex, and so is one that looks like it.
        label = node.value
        if not compiled(_NAME).fullmatch(label) or label.startswith("_x"):
            label = "_x" + label.encode().hex()
        return f'rdf:nodeID="{label}"'
    if isinstance(node, ox.NamedNode):
        return f'rdf:{attribute}="{escape_xml(node.value)}"'
    raise ValueError(f"RDF/XML can't write {node} as a subject")
