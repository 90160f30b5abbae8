"""The jobs of the SPARQL Protocol: queries, updates, and what the service description tells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
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

_TRUTHS = {
    "json": ox.QueryResultsFormat.JSON,
    "xml": ox.QueryResultsFormat.XML,
    "csv": ox.QueryResultsFormat.CSV,
    "tsv": ox.QueryResultsFormat.TSV,
}

SD = "http://www.w3.org/ns/sparql-service-description#"
_DESCRIPTION = f"""
@prefix sd: <{SD}> . @prefix f: <http://www.w3.org/ns/formats/> .
_:service a sd:Service ; sd:supportedLanguage sd:SPARQL10Query, sd:SPARQL11Query, sd:SPARQL11Update ;
  sd:resultFormat f:SPARQL_Results_JSON, f:SPARQL_Results_XML, f:SPARQL_Results_CSV, f:SPARQL_Results_TSV,
    f:Turtle, f:N-Triples, f:RDF_XML, f:JSON-LD, f:TriG, f:N-Quads, f:N3 ;
  sd:inputFormat f:Turtle, f:N-Triples, f:RDF_XML, f:JSON-LD, f:TriG, f:N-Quads, f:N3 ;
  sd:feature sd:EmptyGraphs ; sd:propertyFeature <http://jena.apache.org/text#query> ;
  sd:extensionFunction <urn:worlds:similarity> ; sd:defaultDataset _:dataset .
<http://jena.apache.org/text#query> a sd:Feature . <urn:worlds:similarity> a sd:Function .
_:dataset a sd:Dataset ; sd:defaultGraph _:default . _:default a sd:Graph .
"""
"""The abilities of an endpoint, and its dataset, in the vocabulary sd:."""

T = TypeVar("T")


@job("prepare", unlimited=True)
def prepare(world: World) -> None:
    """Build the SPARQL index of a large world, and leave it where other processes find it."""
    world.query("ASK {}")


@job("query", streams=True)
def query(
    world: World,
    *,
    query: str,
    base: str,
    accept: str | None,
    union: bool | None,
    default_graphs: Sequence[str] | None = None,
    named_graphs: Sequence[str] | None = None,
    own: str = "",
    beside: Mapping[str, Path] | None = None,
    **options: Any,
) -> tuple[dict[str, Any], Iterator[bytes]]:
    """The answer in the type that is accepted: its head has the "type", which is a Content-Type.

    With worlds `beside` it, by names and paths, the group of these and the world, by its `own` name, answers.
    """
    if beside:
        with together(world, own, beside, None) as group:
            found = _with_base(query, base, lambda text: group.query(text, union=union, **options))
    else:
        dataset: Any = {"default_graphs": _names(default_graphs), "named_graphs": _names(named_graphs), "union": union}
        found = _with_base(query, base, lambda text: world.query(text, **dataset, **options))
    notes: Sequence[str] = () if isinstance(found, bool) else found.notes
    if found is False and not beside and default_graphs is None and named_graphs is None:
        notes = _with_base(query, base, lambda text: world.explain(text, union=union, answer=False).notes)
    return _document(found, accept, notes)


def _document(
    found: Solutions | Triples | bool, accept: str | None, notes: Sequence[str]
) -> tuple[dict[str, Any], Iterator[bytes]]:
    """An answer in the type that is accepted, with its head."""
    if isinstance(found, bool):
        media_type, name = choose(accept, RESULTS)
        truth = ox.Store().query(f"ASK {{ FILTER({str(found).lower()}) }}")
        assert isinstance(truth, ox.QueryBoolean)
        pieces = iter([truth.serialize(format=_TRUTHS[name]) or b""])
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
    graphs = "".join(
        f"_:dataset sd:namedGraph _:named{number} . _:named{number} a sd:NamedGraph ; sd:name {ox.NamedNode(name)} .\n"
        for number, name in enumerate(sorted(str(row["g"]) for row in found))
    )
    text = f"{_DESCRIPTION}_:service sd:endpoint {ox.NamedNode(endpoint)} .\n{graphs}"
    format = ox.RdfFormat.from_media_type(media_type)
    assert format is not None
    document = ox.serialize(ox.parse(text, format=ox.RdfFormat.TURTLE), format=format, prefixes={"sd": SD})
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
