"""RDF terms: what callers may write, what the engine holds, what comes back.

Inside, a term is a pyoxigraph term; outside it is an rdflib term, or a plain Python value where asked for.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import pyoxigraph as ox

from worlds.errors import ArgumentError
from worlds.graph.datatypes import BOUNDS, FORMS, INTEGER

if TYPE_CHECKING:
    import rdflib.term

Term: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple
NamedGraph: TypeAlias = ox.NamedNode | ox.BlankNode
GraphName: TypeAlias = NamedGraph | ox.DefaultGraph

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"

WELL_KNOWN_PREFIXES: Mapping[str, str] = {
    "rdf": RDF,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": XSD,
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "skosxl": "http://www.w3.org/2008/05/skos-xl#",
    "dcterms": "http://purl.org/dc/terms/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcmitype": "http://purl.org/dc/dcmitype/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "schema": "https://schema.org/",
    "prov": "http://www.w3.org/ns/prov#",
    "sh": "http://www.w3.org/ns/shacl#",
    "void": "http://rdfs.org/ns/void#",
    "dcat": "http://www.w3.org/ns/dcat#",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "geosparql": "http://www.opengis.net/ont/geosparql#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "org": "http://www.w3.org/ns/org#",
    "time": "http://www.w3.org/2006/time#",
    "qb": "http://purl.org/linked-data/cube#",
    "ssn": "http://www.w3.org/ns/ssn/",
    "sosa": "http://www.w3.org/ns/sosa/",
    "odrl": "http://www.w3.org/ns/odrl/2/",
    "bibo": "http://purl.org/ontology/bibo/",
    "vann": "http://purl.org/vocab/vann/",
    "doap": "http://usefulinc.com/ns/doap#",
    "sioc": "http://rdfs.org/sioc/ns#",
}
"""Prefixes that an author expects to work undeclared; a URI of the scheme geo is written `<geo:…>`."""

# A literal needs a language (and a direction) to be of these types; without, no parser reads it back.
_NEED_LANGUAGE = frozenset({RDF + "langString", RDF + "dirLangString"})

DEEPEST_TERMS = 100
"""Triple terms in one another, at most."""
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)(?:--(ltr|rtl))?|\^\^(\S+))?', re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)
_ESCAPED = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
# Schemes that are written without a slash, and so look like prefixes (from IANA's registry, and doi and its like).
_SCHEMES = frozenset(
    """
    about acct ark arxiv bitcoin blob cid data did doi ethereum geo hdl im info ipfs isbn issn javascript jid lsid
    mailto magnet mid news ni orcid pkcs11 pmid pres sip sips sms tag tel urn uuid xmpp
    """.split()  # noqa: SIM905  # a list of forty strings is no easier to read
)
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")

# Turtle's PN_PREFIX and PN_LOCAL, without the escapes that make a name harder to read than its IRI.
_PN_BASE = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_PN_CHARS = _PN_BASE + r"_0-9\-\u00b7\u0300-\u036f\u203f\u2040"
_PN_PREFIX = f"(?:[{_PN_BASE}](?:[{_PN_CHARS}.]*[{_PN_CHARS}])?)?"
_PN_LOCAL = (
    f"(?:(?:[{_PN_BASE}_0-9:]|%[0-9A-Fa-f]{{2}})"
    f"(?:(?:[{_PN_CHARS}.:]|%[0-9A-Fa-f]{{2}})*(?:[{_PN_CHARS}:]|%[0-9A-Fa-f]{{2}}))?)?"
)


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled at its first use: those with all of Unicode's letters take 5 ms each."""
    return re.compile(pattern)


@functools.cache
def _rdflib() -> Any:
    """rdflib.term, imported at its first use: `import worlds` must stay quick."""
    import rdflib.term

    return rdflib.term


# --- in -------------------------------------------------------------------------------------------------


def to_oxigraph(term: object, *, prefixes: Mapping[str, str] | None = None) -> Term:
    """The term that a caller means: a pyoxigraph term, an rdflib term, or a string.

    A string is an IRI (`http://…`, `<urn:x>`), a name whose prefix is in `prefixes` (`ex:thing`), a blank
    node (`_:b`) or a literal in N-Triples syntax (`"text"@en`, `"1"^^xsd:integer`), never a bare text.
    Where a prefix is also the name of a scheme, `scheme://…` is the IRI and all else the prefixed name. A
    name with an unknown prefix is no IRI, unless its prefix is a scheme that has no `/` (`urn:x`); without
    `prefixes` at all it is one.

    Raises `ValueError` for a string or a term that RDF does not allow, `TypeError` for any other object.
    """
    if type(term) is str:
        return _from_text(term, prefixes)
    if isinstance(term, (ox.NamedNode, ox.Triple)):
        return term
    if isinstance(term, ox.Literal):
        if term.language is None and term.datatype.value in _NEED_LANGUAGE:
            raise _needs_language(term.value, term.datatype.value)
        return term
    if isinstance(term, ox.BlankNode):
        return _blank(term.value)
    if isinstance(term, str):
        return _from_rdflib(term, prefixes)
    raise TypeError(
        f"{term!r} ({type(term).__name__}) is not an RDF term: give an rdflib or pyoxigraph term, or a string"
    )


def to_object(value: object, *, prefixes: Mapping[str, str] | None = None) -> Term:
    """`to_oxigraph`, and int, float, bool, Decimal, datetime and date as typed literals.

    A string follows the same rules as anywhere: a text is `rdflib.Literal("text")` or `'"text"'`.
    """
    if isinstance(value, bool):
        return ox.Literal("true" if value else "false", datatype=_xsd("boolean"))
    if isinstance(value, int):
        return ox.Literal(int.__repr__(value), datatype=_xsd("integer"))
    if isinstance(value, float):  # float.__repr__: a NumPy float's own repr is `np.float64(1.5)`
        lexical = float.__repr__(value).replace("inf", "INF").replace("nan", "NaN")
        return ox.Literal(lexical, datatype=_xsd("double"))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value!r} has no xsd:decimal; give a float for it")
        return ox.Literal(format(value, "f"), datatype=_xsd("decimal"))
    if isinstance(value, datetime):
        offset = value.utcoffset()
        if offset is not None and offset.total_seconds() % 60:
            value = value.astimezone(UTC)  # xsd:dateTime has no seconds in its zone
        return ox.Literal(value.isoformat(), datatype=_xsd("dateTime"))
    if isinstance(value, date):
        return ox.Literal(value.isoformat(), datatype=_xsd("date"))
    if type(value) is str:
        return _from_text(value, prefixes, or_literal=True)
    return to_oxigraph(value, prefixes=prefixes)


def _triple_term(text: str, prefixes: Mapping[str, str] | None) -> Term:
    """A triple term as Turtle writes it (RDF 1.2 Turtle, section 2.11)."""
    if text.count("<<(") > DEEPEST_TERMS:  # the parser's own term ends the process where it is nested far more deeply
        raise ArgumentError(f"triple terms are nested deeper than {DEEPEST_TERMS}: {text[:40]!r}…")
    known = {name: iri for name, iri in (prefixes or {}).items() if f"{name}:" in text}
    declared = "".join(f"@prefix {name}: <{iri}> .\n" for name, iri in known.items())
    try:
        (quad,) = ox.parse(f"{declared}<urn:s> <urn:p> {text} .".encode(), format=ox.RdfFormat.TURTLE)
    except (SyntaxError, ValueError) as error:
        raise ArgumentError(f"{text[:200]!r} is not a triple term, such as <<( ex:a ex:p ex:b )>>") from error
    return quad.object  # type: ignore[no-any-return]  # a Term


@functools.cache
def _xsd(name: str) -> ox.NamedNode:
    return ox.NamedNode(XSD + name)


def _from_text(text: str, prefixes: Mapping[str, str] | None, *, or_literal: bool = False) -> Term:
    """The term of a string. Where a literal may stand, the error for an unknown name says how one is written."""
    if text.startswith("<<(") and text.endswith(")>>"):
        return _triple_term(text, prefixes)
    if text.startswith("<") and text.endswith(">"):
        return _iri(unescaped(text[1:-1]))
    if text.startswith("_:"):
        return _blank(text[2:])
    if text.startswith('"') and (match := _LITERAL.fullmatch(text)):
        body, language, direction, datatype = match.groups()
        of_type = None if datatype is None else _from_text(datatype, prefixes)
        if isinstance(of_type, ox.NamedNode | None):
            return _literal(unescaped(body), language, direction, of_type)
    prefix, colon, local = text.partition(":")
    if colon:
        if prefixes is not None and not local.startswith("//") and prefix in prefixes:
            return _iri(prefixes[prefix] + local)
        if prefixes is None or local.startswith("/") or prefix.lower() in _SCHEMES:
            if _SCHEME.match(text):
                return _iri(text)
        elif is_prefix(prefix):
            raise ArgumentError(
                f"{text!r}: the prefix '{prefix}:' is not known: declare it (`worlds prefix`, `bind`); "
                f"an IRI of that scheme is written in angle brackets: <{text}>",
                name=text,
                prefix=prefix,
            )
    remedy = "`worlds resolve` finds the IRI that a name stands for"
    if or_literal:
        remedy = f"a text is written rdflib.Literal({text!r}) or in quotes: '\"…\"'"
    told = f"{text!r} is neither an IRI nor a name with a known prefix, such as rdfs:label; {remedy}"
    raise ArgumentError(told, name=text)


def _from_rdflib(term: str, prefixes: Mapping[str, str] | None) -> Term:
    rdf = _rdflib()
    if isinstance(term, rdf.Literal):
        datatype: str | None = term.datatype
        language: str | None = term.language
        if language is not None or datatype is None:
            return _literal(str(term), language, None, None)
        return _literal(str(term), None, None, _iri(str(datatype)))
    if isinstance(term, rdf.URIRef):
        return _iri(str(term))
    if isinstance(term, rdf.BNode):
        return _blank(str(term))
    if isinstance(term, rdf.Identifier):  # a SPARQL variable, a graph's name for itself
        raise TypeError(f"{term!r} is not an RDF term")
    return _from_text(str(term), prefixes)


def _iri(iri: str) -> ox.NamedNode:
    try:
        return ox.NamedNode(iri)
    except ValueError as error:
        raise ValueError(f"{iri!r} is not an IRI: {error}") from error


def _blank(label: str) -> ox.BlankNode:
    # pyoxigraph constructs labels with a colon, which N-Triples 1.1 had, but no longer parses them.
    if ":" not in label:
        try:
            return ox.BlankNode(label)
        except ValueError:
            pass
    raise ValueError(f"{label!r} is not a blank node label: letters, digits, '_', '-' and inner dots only")


def _literal(value: str, language: str | None, direction: str | None, datatype: ox.NamedNode | None) -> ox.Literal:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{value!r} holds a lone surrogate, which no RDF literal can: {error}") from error
    if datatype is not None:
        if datatype.value in _NEED_LANGUAGE:
            raise _needs_language(value, datatype.value)
        return ox.Literal(value, datatype=datatype)
    if language is None:
        return ox.Literal(value)
    try:
        if direction is None:
            return ox.Literal(value, language=language)
        return ox.Literal(value, language=language, direction=ox.BaseDirection(direction))
    except ValueError as error:
        raise ValueError(f"{language!r} is not a language tag: {error}") from error


def _needs_language(value: str, datatype: str) -> ValueError:
    return ValueError(f"{value!r} is typed <{datatype}>, but has no language: give it one, or no datatype")


def unescaped(text: str) -> str:
    """A text whose escapes, as of N-Triples, stand for characters; ValueError for others."""
    return _ESCAPE.sub(_unescaped_one, text) if "\\" in text else text


def _unescaped_one(match: re.Match[str]) -> str:
    code = match[1]
    try:
        return _ESCAPED[code] if len(code) == 1 else chr(int(code[1:], 16))
    except (KeyError, ValueError, OverflowError) as error:
        raise ValueError(f"{match[0]!r} is not an escape that N-Triples knows") from error


# --- out ------------------------------------------------------------------------------------------------


def to_rdflib(term: Term) -> Any:
    """The term as an rdflib term, its lexical form untouched.

    rdflib has neither triple terms nor base directions: such a term is returned as it is, in pyoxigraph's
    form. An ill-typed literal is built without rdflib's log line about it.
    """
    rdf = _rdflib()
    if isinstance(term, ox.NamedNode):
        return str.__new__(rdf.URIRef, term.value)  # pyoxigraph has validated it already
    if isinstance(term, ox.Literal):
        language = term.language
        if language is not None:
            return term if term.direction is not None else _new_literal(rdf, term.value, language)
        datatype, value_of, well_formed = _rdflib_datatype(term.datatype.value)
        return _new_literal(rdf, term.value, None, datatype, value_of, well_formed)
    if isinstance(term, ox.BlankNode):
        return str.__new__(rdf.BNode, term.value)
    return term


def quad_to_rdflib(quad: ox.Quad) -> tuple[Any, Any, Any, Any]:
    """A quad as rdflib terms: subject, predicate, object, and the graph, None for the default graph."""
    graph = None if isinstance(quad.graph_name, ox.DefaultGraph) else to_rdflib(quad.graph_name)
    return to_rdflib(quad.subject), to_rdflib(quad.predicate), to_rdflib(quad.object), graph


def _new_literal(
    rdf: Any,
    lexical: str,
    language: str | None,
    datatype: rdflib.term.URIRef | None = None,
    value_of: Callable[[str], Any] | None = str,
    well_formed: Callable[[str, Any], bool] | None = None,
) -> Any:
    """The literal of rdflib's constructor, without its faults.

    The constructor rewrites the lexical forms of xsd:token and xsd:normalizedString even under
    `normalize=False`, logs a traceback for each ill-typed literal, and checks IRIs again.
    """
    value = None
    if value_of is not None:
        try:
            value = value_of(lexical)
        except Exception:  # a converter may raise anything: the literal is ill-typed, which is legal RDF
            value = None
    literal = str.__new__(rdf.Literal, lexical)
    literal._language = language
    literal._datatype = datatype
    literal._value = value
    literal._ill_typed = None if well_formed is None else not well_formed(lexical, value)
    return literal


@functools.lru_cache(maxsize=1024)
def _rdflib_datatype(iri: str) -> tuple[Any, Callable[[str], Any] | None, Callable[[str, Any], bool] | None]:
    """A datatype in rdflib: its IRI (None: a plain string), its converter, its check."""
    rdf = _rdflib()
    if iri == XSD + "string":  # rdflib tells "x" from "x"^^xsd:string; RDF 1.1 does not
        return None, str, None
    datatype = rdf.URIRef(iri)
    if datatype not in rdf._toPythonMapping:
        return datatype, None, None
    well_formed = rdf._check_well_formed_types.get(datatype, rdf._well_formed_by_value)
    return datatype, rdf._toPythonMapping[datatype] or str, well_formed


_INTEGER = re.compile(INTEGER)
_ZONE = r"(?:Z|[+-][0-9]{2}:[0-9]{2})"
_DATE = re.compile(rf"([0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}){_ZONE}?")
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?"


def to_python(term: Term | None) -> object:
    """The plain Python value: IRIs and texts as str, blank nodes as `_:x`, numbers, booleans and dates typed.

    A value that is invalid for its datatype, and every datatype without an exact Python type, stays the
    lexical str. A date loses its zone and a dateTime what is finer than a microsecond.
    """
    if isinstance(term, ox.Literal):
        convert = _CONVERTERS.get(term.datatype.value)
        if convert is None:
            return term.value
        try:
            value = convert(term.value)
        except ValueError:  # a 13th month; an integer beyond Python's limit of digits
            return term.value
        return term.value if value is None else value
    if isinstance(term, ox.NamedNode):
        return term.value
    return None if term is None else format_term(term)


def _to_bool(text: str) -> bool | None:
    return {"true": True, "1": True, "false": False, "0": False}.get(text)


def _by(pattern: re.Pattern[str], convert: Callable[[str], object], part: int = 0) -> Callable[[str], object]:
    """A converter of a part of the texts that have a pattern; it gives None for others."""

    def converted(text: str) -> object:
        match = pattern.fullmatch(text)
        return convert(match[part]) if match else None

    return converted


def _to_int(low: float, high: float) -> Callable[[str], int | None]:
    def convert(text: str) -> int | None:
        value = int(text) if _INTEGER.fullmatch(text) else None
        return value if value is not None and low <= value <= high else None

    return convert


_CONVERTERS: dict[str, Callable[[str], object]] = {
    XSD + "boolean": _to_bool,
    XSD + "decimal": _by(re.compile(FORMS["decimal"]), Decimal),
    XSD + "double": _by(re.compile(FORMS["double"]), float),
    XSD + "float": _by(re.compile(FORMS["float"]), float),
    XSD + "date": _by(_DATE, date.fromisoformat, 1),
    XSD + "dateTime": _by(re.compile(f"{_TIME}(?:{_ZONE})?"), datetime.fromisoformat),
    XSD + "dateTimeStamp": _by(re.compile(_TIME + _ZONE), datetime.fromisoformat),
    **{XSD + name: _to_int(*bounds) for name, bounds in BOUNDS.items()},
}


# --- for people -----------------------------------------------------------------------------------------


def is_prefix(name: str) -> bool:
    """Whether Turtle and SPARQL allow the name before the colon; the empty name is one."""
    return compiled(_PN_PREFIX).fullmatch(name) is not None


def shorten(iri: str, prefixes: Mapping[str, str]) -> str:
    """The prefixed name by the longest namespace that fits, valid in Turtle and SPARQL; else `<iri>`."""
    best, length = "", 0
    is_local = compiled(_PN_LOCAL).fullmatch
    for prefix, namespace in prefixes.items():
        if len(namespace) > length and iri.startswith(namespace):
            local = iri[len(namespace) :]
            if is_local(local):
                best, length = f"{prefix}:{local}", len(namespace)
    return best or f"<{iri}>"


_BARE = {
    XSD + "integer": _INTEGER,
    XSD + "decimal": re.compile(r"[+-]?[0-9]*\.[0-9]+"),
    XSD + "double": re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][+-]?[0-9]+"),
    XSD + "boolean": re.compile(r"true|false"),
}


def format_term(term: Term, prefixes: Mapping[str, str] | None = None) -> str:
    """The term in Turtle: names shortened, numbers and booleans bare where that is the same literal."""
    prefixes = prefixes or {}
    if isinstance(term, ox.NamedNode):
        return shorten(term.value, prefixes)
    if isinstance(term, ox.Triple):
        parts = (format_term(part, prefixes) for part in (term.subject, term.predicate, term.object))
        return f"<<( {' '.join(parts)} )>>"
    if isinstance(term, ox.Literal) and term.language is None:
        datatype = term.datatype.value
        if datatype in _BARE and _BARE[datatype].fullmatch(term.value):
            return term.value
        if datatype != XSD + "string":
            return f"{ox.Literal(term.value)}^^{shorten(datatype, prefixes)}"
    return str(term)


def local_name(iri: object) -> str:
    """The last part of an IRI, or of a term that is one: https://example.org/terms#broader is "broader"."""
    return re.split(r"[/#:]", str(getattr(iri, "value", iri)).rstrip("/#:"))[-1]


def listed(items: Sequence[Any], most: int, show: Callable[[Any], str] = str, between: str = ", ") -> str:
    """The first items as a list in a sentence, with how many more there are."""
    more = f"{between.lstrip(',')}and {len(items) - most:,} more" if len(items) > most else ""
    return between.join(map(show, items[:most])) + more


def skolemised(quad: ox.Quad, start: str) -> ox.Quad:
    """The quad with IRIs in the place of blank nodes: `start` and the node's label."""

    def named(term: Any) -> Any:
        if isinstance(term, ox.BlankNode):
            return ox.NamedNode(start + term.value)
        if isinstance(term, ox.Triple):
            return ox.Triple(named(term.subject), term.predicate, named(term.object))
        return term

    return ox.Quad(named(quad.subject), quad.predicate, named(quad.object), named(quad.graph_name))


def entity_of(text: str) -> ox.NamedNode | ox.BlankNode:
    """The entity that N-Triples writes so."""
    return ox.BlankNode(text[2:]) if text.startswith("_:") else ox.NamedNode(text[1:-1])
