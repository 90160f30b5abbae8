"""The jobs of the SPARQL Protocol: queries, updates, and what the service description tells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pyoxigraph as ox

from worlds.doors.server.http.negotiation import GRAPHS, RESULTS, choose, with_charset
from worlds.doors.server.problem_documents import NotAcceptable
from worlds.doors.server.workers.jobs import job, together
from worlds.errors import OpenError, QueryError
from worlds.graph.query.results import Solutions, Triples
from worlds.world import World

_ROWS = 2000  # solutions that are written at a time
_PIECE = 1 << 16  # bytes
_INLINE = 100_000  # characters of an update whose texts are embedded before it is acknowledged
_MOST_NAMES = 1000  # named graphs that the service description lists
_MAY_BE_RELATIVE = re.compile(r"<(?![A-Za-z][A-Za-z0-9+.\-]*:)[^<>\"{}|^`\\\s]*>")

# What `Solutions.serialize` puts before the rows and after them.
_FRAMES: dict[str, tuple[str, str]] = {
    "json": ('"bindings":[', "]}}"),
    "xml": ("<results>", "</results></sparql>"),
    "csv": ("\r\n", ""),
    "tsv": ("\n", ""),
}

T = TypeVar("T")


@job("prepare", unlimited=True)
def prepare(world: World) -> None:
    """Build the SPARQL index of a large world, and leave it where other processes find it."""
    world.query("ASK {}")


@job("query_together", streams=True)
def query_together(
    world: World,
    *,
    own: str,
    beside: Mapping[str, Path],
    query: str,
    base: str,
    accept: str | None,
    **options: Any,
) -> tuple[dict[str, Any], Iterator[bytes]]:
    """Answer by `Group.query` over a world, under its `own` name, and the worlds `beside` it, by names and paths."""
    with together(world, own, beside, None) as group:
        found = _with_base(query, base, lambda text: group.query(text, **options))
        return _document(found, accept, () if isinstance(found, bool) else found.notes)


@job("query", streams=True)
def query(
    world: World,
    *,
    query: str,
    base: str,
    accept: str | None,
    union: bool | None,
    default_graphs: Sequence[str] | None,
    named_graphs: Sequence[str] | None,
    **options: Any,
) -> tuple[dict[str, Any], Iterator[bytes]]:
    """The answer in the type that is accepted: its head has the "type", which is a Content-Type."""
    dataset: Any = {"default_graphs": _names(default_graphs), "named_graphs": _names(named_graphs), "union": union}
    found = _with_base(query, base, lambda text: world.query(text, **dataset, **options))
    if isinstance(found, bool):
        notes: tuple[str, ...] = ()
        if not found and default_graphs is None and named_graphs is None:
            notes = _with_base(query, base, lambda text: world.explain(text, union=union, answer=False).notes)
    else:
        notes = found.notes
    return _document(found, accept, notes)


def _document(
    found: Solutions | Triples | bool, accept: str | None, notes: Sequence[str]
) -> tuple[dict[str, Any], Iterator[bytes]]:
    """An answer in the type that is accepted, with its head."""
    if isinstance(found, bool):
        media_type, name = choose(accept, RESULTS)
        pieces = iter([_boolean(found, name)])
    elif isinstance(found, Solutions):
        media_type, name = choose(accept, RESULTS)
        pieces = _solutions(found, name)
        if name == "xml":  # which cannot hold every text
            with _cannot_hold(media_type):
                pieces = iter(list(pieces))
    else:
        media_type, name = choose(accept, GRAPHS)
        with _cannot_hold(media_type):
            pieces = _triples(found, name)
    return {"type": with_charset(media_type), "notes": list(notes)}, pieces


@job("update", write=True)
def update(
    world: World,
    *,
    update: str,
    base: str,
    using_graphs: Sequence[str] | None,
    using_named_graphs: Sequence[str] | None,
    **options: Any,
) -> dict[str, Any]:
    """The outcome of an update: the "revision", None if nothing, and the quads "added" and "removed"."""
    dataset: Any = {"using_graphs": _names(using_graphs), "using_named_graphs": _names(using_named_graphs)}
    try:
        change = _with_base(
            update, base, lambda text: world.update(text, embed=len(text) < _INLINE, **dataset, **options)
        )
    except OpenError as error:  # the world is open, so this is what LOAD could not open
        if " cannot be fetched: " in str(error):
            raise QueryError(f"LOAD: {error}") from error
        raise QueryError(
            "LOAD: the server fetches from the hosts alone that --allow-network (server.allow_network) names, and "
            "reads no files: send the document to the graph store, or have its host allowed"
        ) from error
    return {"revision": change.revision, "added": change.added, "removed": change.removed}


@job("service_description")
def service_description(world: World, *, endpoint: str, accept: str | None) -> tuple[str, bytes]:
    """The service description, as its Content-Type and its document."""
    media_type, _ = choose(accept, GRAPHS)
    found = world.query(f"SELECT DISTINCT ?g {{ GRAPH ?g {{}} }} LIMIT {_MOST_NAMES}")
    assert isinstance(found, Solutions)
    names = sorted(str(row["g"]) for row in found)
    format = ox.RdfFormat.from_media_type(media_type)
    assert format is not None
    document = ox.serialize(description(endpoint, names), format=format, prefixes={"sd": SD})
    assert document is not None
    return with_charset(media_type), document


def _names(iris: Sequence[str] | None) -> list[ox.NamedNode] | None:
    return None if iris is None else [ox.NamedNode(iri) for iri in iris]


def _with_base(text: str, base: str, run: Callable[[str], T]) -> T:
    """Run a request with relative IRIs resolved against `base`; positions in errors refer to the original text."""
    if not _MAY_BE_RELATIVE.search(text):
        return run(text)
    declared = f"BASE <{base}> "
    try:
        return run(declared + text)
    except QueryError as error:
        if error.line != 1 or error.column is None:
            raise
        message = str(error).removeprefix(f"line 1, column {error.column}: ")
        raise type(error)(message, line=1, column=max(1, error.column - len(declared))) from error


@contextmanager
def _cannot_hold(media_type: str) -> Iterator[None]:
    """Turn the error of a format that cannot hold the answer into NotAcceptable."""
    try:
        yield
    except ValueError as error:
        raise NotAcceptable(f"{media_type} cannot hold this answer: {error}") from error


def _boolean(value: bool, name: str) -> bytes:
    text = "true" if value else "false"
    if name == "json":
        return f'{{"head":{{}},"boolean":{text}}}'.encode()
    if name == "xml":
        return (
            '<?xml version="1.0"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head></head>'
            f"<boolean>{text}</boolean></sparql>"
        ).encode()
    return text.encode()  # CSV and TSV have no form for it


def _solutions(found: Solutions, name: str) -> Iterator[bytes]:
    """The document in pieces, each of some rows: a document of all would be in memory as a whole."""
    opening, closing = _FRAMES[name]
    for start in range(0, max(1, len(found)), _ROWS):
        document = found[start : start + _ROWS].serialize(name)
        head, mark, rows = document.partition(opening)
        rows = rows.removesuffix(closing)
        if not start:
            yield (head + mark).encode()
        elif name == "json":
            yield b","
        yield rows.encode()
    yield closing.encode()


def _triples(found: Triples, name: str) -> Iterator[bytes]:
    document = found.serialize(name).encode()
    return (document[at : at + _PIECE] for at in range(0, len(document), _PIECE))


SD = "http://www.w3.org/ns/sparql-service-description#"
_RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_FORMATS = "http://www.w3.org/ns/formats/"
_RESULTS = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV")
_GRAPHS = ("Turtle", "N-Triples", "RDF_XML", "JSON-LD", "TriG", "N-Quads", "N3")
_LANGUAGES = ("SPARQL10Query", "SPARQL11Query", "SPARQL11Update")
_SEARCH = "urn:worlds:"


def description(endpoint: str, graphs: Iterable[str]) -> Iterator[ox.Quad]:
    """The abilities of an endpoint, and the graphs of its dataset, as triples of the vocabulary sd:."""
    service, dataset, default = (ox.BlankNode(name) for name in ("service", "dataset", "default"))

    def triple(subject: ox.BlankNode, predicate: str, value: ox.NamedNode | ox.BlankNode) -> ox.Quad:
        return ox.Quad(subject, ox.NamedNode(SD + predicate), value)

    yield ox.Quad(service, _RDF_TYPE, ox.NamedNode(SD + "Service"))
    yield triple(service, "endpoint", ox.NamedNode(endpoint))
    for language in _LANGUAGES:
        yield triple(service, "supportedLanguage", ox.NamedNode(SD + language))
    for name in (*_RESULTS, *_GRAPHS):
        yield triple(service, "resultFormat", ox.NamedNode(_FORMATS + name))
    for name in _GRAPHS:
        yield triple(service, "inputFormat", ox.NamedNode(_FORMATS + name))
    yield triple(service, "feature", ox.NamedNode(SD + "EmptyGraphs"))
    yield triple(service, "propertyFeature", ox.NamedNode("http://jena.apache.org/text#query"))
    yield ox.Quad(ox.NamedNode("http://jena.apache.org/text#query"), _RDF_TYPE, ox.NamedNode(SD + "Feature"))
    yield triple(service, "extensionFunction", ox.NamedNode(_SEARCH + "similarity"))
    yield ox.Quad(ox.NamedNode(_SEARCH + "similarity"), _RDF_TYPE, ox.NamedNode(SD + "Function"))
    yield triple(service, "defaultDataset", dataset)
    yield ox.Quad(dataset, _RDF_TYPE, ox.NamedNode(SD + "Dataset"))
    yield triple(dataset, "defaultGraph", default)
    yield ox.Quad(default, _RDF_TYPE, ox.NamedNode(SD + "Graph"))
    for number, name in enumerate(graphs):
        named = ox.BlankNode(f"named{number}")
        yield triple(dataset, "namedGraph", named)
        yield ox.Quad(named, _RDF_TYPE, ox.NamedNode(SD + "NamedGraph"))
        yield triple(named, "name", ox.NamedNode(name))
