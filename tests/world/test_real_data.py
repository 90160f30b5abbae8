"""Real vocabularies and a film graph, loaded whole."""

from __future__ import annotations

import gzip
import io
from collections import Counter
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

import worlds
from tests.support import tables
from tests.support.oracle import RDF_TYPE, is_text, problems
from worlds.records import TextPolicy

SKOS = "http://www.w3.org/2004/02/skos/core#"


def is_named(triple: ox.Triple) -> bool:
    return not isinstance(triple.subject, ox.BlankNode) and not isinstance(triple.object, ox.BlankNode)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "triples", "query", "filters", "best"),
    [
        pytest.param(
            "schemaorg",
            18_061,
            "physical delivery address mailing",
            {"types": "http://www.w3.org/2000/01/rdf-schema#Class"},
            "https://schema.org/PostalAddress",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "fibo",
            76_383,
            "debt instrument issued by HM Treasury",
            {"predicates": SKOS + "definition"},
            "https://spec.edmcouncil.org/fibo/ontology/SEC/Debt/Bonds/UKGovernmentSecurity",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "physh",
            25_428,
            "superconductivity",
            {"where": f"?subject a <{SKOS}Concept>"},
            "https://doi.org/10.29172/ca8ddaad-441c-481c-93b3-65f46125fb93",
            marks=pytest.mark.long,
        ),
        (
            "d3fend",
            32_090,
            "embedded malicious code",
            {"languages": ""},
            "http://d3fend.mitre.org/ontologies/d3fend.owl#CWE-506",
        ),
        ("uat", 24_138, "exoplanet atmospheres", {"languages": "en"}, "http://astrothesaurus.org/uat/487"),
        pytest.param(
            "metaqa-movies",
            223_344,
            "The Bounty Hunter",
            {"types": "http://movies.example/c/Movie"},
            "http://movies.example/e/42753",
            marks=pytest.mark.long,
        ),
    ],
    ids=["schemaorg", "fibo", "physh", "d3fend", "uat", "metaqa-movies"],
)
def test_a_real_graph(
    shared_data: Path, name: str, triples: int, query: str, filters: dict[str, Any], best: str
) -> None:
    (file,) = (shared_data / name).glob("*.nt.gz")
    with gzip.open(file) as stream:
        held = {quad.triple for quad in ox.parse(stream.read(), format=ox.RdfFormat.N_TRIPLES)}
    assert len(held) == triples, "the file is another one"
    with worlds.open(embedder=None) as world:
        change = world.load(file)
        assert (change.revision, change.added, change.removed) == (1, triples, 0)
        assert len(world) == triples
        assert problems(world) == []

        target = io.BytesIO()
        assert world.export(target, format="nt") == triples
        exported = {quad.triple for quad in ox.parse(target.getvalue(), format=ox.RdfFormat.N_TRIPLES)}
        assert len(exported) == triples
        named = set(filter(is_named, held))
        assert set(filter(is_named, exported)) == named
        for mode in ("replace", "merge"):
            assert world.load(file, mode=mode).revision is None, "the same file, blank nodes and all"

        texts = {triple.object for triple in held if is_text(triple.object, {triple.predicate.value}, TextPolicy())}
        ((count,),) = tables.rows(world, "SELECT count(DISTINCT term) FROM chunks")
        assert count == len(texts)
        hits = world.search(query, limit=5, **filters)
        assert best in [str(hit.subject) for hit in hits]

        typed = Counter(triple.object for triple in held if triple.predicate == RDF_TYPE)
        for kind, number in typed.most_common(3):
            found: Any = world.query(f"SELECT (COUNT(*) AS ?n) WHERE {{ ?s a {kind} }}")
            assert int(found[0].n) == number
