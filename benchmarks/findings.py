"""`contradictions` and `report` on a million quads: their time, and whether all that is planted is found.

Persons with an age, a code, two dates and a home make up the data, which have nothing wrong. Of every kind of finding
so many are planted among them, each about an entity of its own, in a revision of another author.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import worlds
from benchmarks.common import environment, table

PREFIXES = """
@prefix ex: <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix sh: <http://www.w3.org/ns/shacl#> .
"""
DECLARED = """
ex:one a owl:FunctionalProperty . ex:key a owl:InverseFunctionalProperty . ex:K owl:hasKey ( ex:k1 ex:k2 ) .
ex:C owl:disjointWith ex:D . ex:p owl:propertyDisjointWith ex:q . ex:over a owl:AsymmetricProperty .
ex:unlike a owl:IrreflexiveProperty . ex:L rdfs:subClassOf [ owl:onProperty ex:leg ; owl:maxCardinality 2 ] .
ex:number rdfs:range xsd:integer . ex:of rdfs:domain ex:C . ex:to rdfs:range ex:C .
ex:S sh:targetClass ex:Shaped ; sh:property [ sh:path ex:once ; sh:maxCount 1 ] .
"""
PLANTED = {
    "functional": "ex:{0} ex:one 1, 2 .",
    "inverse functional": 'ex:{0} ex:key "{0}" . ex:{0}b ex:key "{0}" .',
    "inverse functional, by a key": "ex:{0} a ex:K ; ex:k1 ex:{0}k ; ex:k2 1 ."
    " ex:{0}b a ex:K ; ex:k1 ex:{0}k ; ex:k2 1 .",
    "disjoint classes": "ex:{0} a ex:C, ex:D .",
    "disjoint properties": "ex:{0} ex:p ex:x ; ex:q ex:x .",
    "asymmetric": "ex:{0} ex:over ex:{0}b . ex:{0}b ex:over ex:{0} .",
    "irreflexive": "ex:{0} ex:unlike ex:{0} .",
    "identity": "ex:{0} owl:sameAs ex:{0}b ; owl:differentFrom ex:{0}b .",
    "negative assertion": "[] a owl:NegativePropertyAssertion ; owl:sourceIndividual ex:{0} ;"
    " owl:assertionProperty ex:no ; owl:targetIndividual ex:x . ex:{0} ex:no ex:x .",
    "cardinality": "ex:{0} a ex:L ; ex:leg ex:x, ex:y, ex:z .",
    "ill-typed literal": 'ex:{0} ex:day "2021-02-29"^^xsd:date .',
    "datatype": 'ex:{0} ex:number "many" .',
    "domain": "ex:{0} ex:of 1 ; a ex:D .",
    "range": "ex:{0} ex:to ex:{0}b . ex:{0}b a ex:D .",
    "labels": 'ex:{0} skos:prefLabel "{0}"@en, "{0} too"@en .',
    "cycle": "ex:{0} skos:broader ex:{0}b . ex:{0}b skos:broader ex:{0} .",
    "shape": "ex:{0} a ex:Shaped ; ex:once 1, 2 .",
    "nearly functional": 'ex:{0} ex:born "1950-01-02"^^xsd:date, "1951-01-02"^^xsd:date .',
    "outlier": "ex:{0} a ex:Person ; ex:age 99{1} .",
    "odd kind": 'ex:{0} ex:age "old" .',
    "odd type": "ex:{0} a ex:Person . ex:{0}b ex:home ex:{0} .",
    "odd form": 'ex:{0} ex:code "seven {0}" .',
    "impossible dates": 'ex:{0} ex:born "1970-01-01"^^xsd:date ; ex:died "1960-01-01"^^xsd:date .',
}


def person(number: int) -> str:
    """Six quads without a fault."""
    born, day = 1930 + number % 40, 1 + number % 28
    return (
        f'ex:p{number} a ex:Person ; ex:age {20 + number % 50} ; ex:code "AB-{100 + number}" ; '
        f'ex:born "{born}-01-{day:02}"^^xsd:date ; ex:died "{born + 60}-05-{day:02}"^^xsd:date ; '
        f"ex:home ex:c{number % 400} ."
    )


def planted(copies: int) -> str:
    """So many of each kind, in Turtle."""
    named = [
        text.format(f"{kind.replace(' ', '-').replace(',', '')}-{number}", number)
        for kind, text in PLANTED.items()
        for number in range(copies)
    ]
    return PREFIXES + "\n".join(named)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quads", type=int, default=1_000_000)
    parser.add_argument("--copies", type=int, default=20, help="of each kind that are planted")
    options = parser.parse_args()
    environment()
    lines = [PREFIXES, DECLARED, *(f"ex:c{number} a ex:City ." for number in range(400))]
    lines += map(person, range(options.quads // 6))
    with tempfile.TemporaryDirectory() as folder, worlds.open(Path(folder, "kb.db"), embedder=None) as world:
        world.load("\n".join(lines).encode(), format="turtle", embed=False)
        world.shapes.load((PREFIXES + DECLARED.splitlines()[-1]).encode(), format="turtle")
        clean = world.curation.contradictions(limit=None).counts
        world.load(planted(options.copies).encode(), format="turtle", author="planted", embed=False)
        began = time.process_time()
        found = world.curation.contradictions(limit=None)
        contradictions = time.process_time() - began
        reported = []
        for _ in range(3):
            began = time.process_time()
            report = world.curation.report()
            reported.append(time.process_time() - began)
        told = {(one.kind, str(subject)) for one in found for subject in one.subjects}
        told |= {(one.kind, str(part)) for one in found for said in one.quads for part in said.quad}
        rows = [
            (
                kind,
                options.copies,
                sum(
                    (kind.split(",")[0], f"http://example.org/{kind.replace(' ', '-').replace(',', '')}-{number}")
                    in told
                    for number in range(options.copies)
                ),
            )
            for kind in PLANTED
        ]
        table("Planted contradictions", ("kind", "planted", "found"), rows)
        table(
            "Time",
            ("quads", "contradictions, CPU s", "report, CPU s", "found before planting"),
            [(f"{len(world):,}", f"{contradictions:.1f}", f"{statistics.median(reported):.1f}", str(clean))],
        )
        assert report.counts


if __name__ == "__main__":
    main()
