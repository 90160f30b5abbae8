"""The SPARQL 1.1 Service Description of an endpoint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyoxigraph as ox

SD = "http://www.w3.org/ns/sparql-service-description#"
_RDF_TYPE = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_FORMATS = "http://www.w3.org/ns/formats/"
_RESULTS = ("SPARQL_Results_JSON", "SPARQL_Results_XML", "SPARQL_Results_CSV", "SPARQL_Results_TSV")
_GRAPHS = ("Turtle", "N-Triples", "RDF_XML", "JSON-LD", "TriG", "N-Quads", "N3")
_LANGUAGES = ("SPARQL10Query", "SPARQL11Query", "SPARQL11Update")
_SEARCH = "urn:worlds:"


def description(endpoint: str, graphs: Iterable[str]) -> Iterator[ox.Quad]:
    """What an endpoint can do, and the graphs of its dataset, as triples of the vocabulary sd:."""
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
