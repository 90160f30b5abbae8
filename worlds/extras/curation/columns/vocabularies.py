"""Axioms of RDFS, OWL and SKOS about their own terms, which no world has to repeat.

All that reads declarations has it from here.
The numbers are those of the SKOS reference's integrity conditions.
"""

from __future__ import annotations

from worlds.graph.terms import RDF

RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
TYPE = RDF + "type"

DISJOINT_CLASSES = (  # S9, S37
    (SKOS + "Concept", SKOS + "ConceptScheme"),
    (SKOS + "Concept", SKOS + "Collection"),
    (SKOS + "ConceptScheme", SKOS + "Collection"),
)
SUB_CLASSES = ((SKOS + "OrderedCollection", SKOS + "Collection"),)
DISJOINT_PROPERTIES = (  # S13, S46
    (SKOS + "prefLabel", SKOS + "altLabel"),
    (SKOS + "prefLabel", SKOS + "hiddenLabel"),
    (SKOS + "altLabel", SKOS + "hiddenLabel"),
    (SKOS + "exactMatch", SKOS + "broadMatch"),
    (SKOS + "exactMatch", SKOS + "relatedMatch"),
)
SUB_PROPERTIES = (
    (SKOS + "broader", SKOS + "broaderTransitive"),
    (SKOS + "narrower", SKOS + "narrowerTransitive"),
    (SKOS + "broadMatch", SKOS + "broader"),
    (SKOS + "narrowMatch", SKOS + "narrower"),
    (SKOS + "topConceptOf", SKOS + "inScheme"),
)
INVERSES = (
    (SKOS + "broader", SKOS + "narrower"),
    (SKOS + "broaderTransitive", SKOS + "narrowerTransitive"),
    (SKOS + "broadMatch", SKOS + "narrowMatch"),
    (SKOS + "hasTopConcept", SKOS + "topConceptOf"),
)
SYMMETRIC = (
    *(OWL + name for name in ("sameAs", "differentFrom", "disjointWith")),
    *(SKOS + name for name in ("related", "exactMatch", "closeMatch", "relatedMatch")),
)
TRANSITIVE = (RDFS + "subClassOf", RDFS + "subPropertyOf", SKOS + "broaderTransitive", SKOS + "narrowerTransitive")

PART_OF = {  # predicate of a hierarchy → whether it points downwards
    SKOS + "broader": False,
    SKOS + "broaderTransitive": False,
    SKOS + "narrower": True,
    SKOS + "narrowerTransitive": True,
    RDFS + "subClassOf": False,
    RDFS + "subPropertyOf": False,
    "http://purl.org/dc/terms/isPartOf": False,
    "http://purl.org/dc/terms/hasPart": True,
    "https://schema.org/isPartOf": False,
    "https://schema.org/hasPart": True,
    "http://schema.org/isPartOf": False,
    "http://schema.org/hasPart": True,
    "http://purl.obolibrary.org/obo/BFO_0000050": False,
    "http://purl.obolibrary.org/obo/BFO_0000051": True,
}

HIERARCHIES = (
    (SKOS + "broader", SKOS + "broaderTransitive", SKOS + "narrower", SKOS + "narrowerTransitive"),
    (RDFS + "subClassOf",),
    (RDFS + "subPropertyOf",),
    ("http://purl.org/dc/terms/isPartOf", "http://purl.org/dc/terms/hasPart"),
    ("https://schema.org/isPartOf", "https://schema.org/hasPart"),
    ("http://schema.org/isPartOf", "http://schema.org/hasPart"),
    ("http://purl.obolibrary.org/obo/BFO_0000050", "http://purl.obolibrary.org/obo/BFO_0000051"),
)
"""Predicates of hierarchies: those that lead up, and as many that lead down the same way, if there are any."""
