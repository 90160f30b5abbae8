"""Search inside SPARQL: meaning and words find, patterns decide what may be found and say what is known of it.

    python examples/search_in_sparql.py [WORLD]

WORLD is a file that holds examples/space.ttl, or is made to; without it, a temporary world.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import worlds

KNOWLEDGE = Path(__file__).parent / "space.ttl"
console = Console(highlight=False, soft_wrap=True)

LAUNCHED_SINCE = """
SELECT ?mission ?launched ?rocket ?snippet WHERE {
  SERVICE w:search {
    ?hit w:query "bringing back soil from another world" ;
         w:subject ?m ; w:predicate s:description ; w:language "en" ; w:snippet ?snippet ; w:rank ?rank ; w:limit 4 .
  }
  ?m s:launched ?launched ; rdfs:label ?mission ; s:launchVehicle/rdfs:label ?rocket .
  FILTER(?launched >= "1999-01-01"^^xsd:date && LANG(?mission) = "en" && LANG(?rocket) = "en")
} ORDER BY ?rank"""

FOR_EACH_PLANET = """
SELECT ?planet ?probe ?score WHERE {
  ?p a s:TerrestrialPlanet ; rdfs:label ?planet . FILTER(LANG(?planet) = "en")
  BIND(CONCAT("landing on the surface of ", ?planet) AS ?words)
  ?probe_ s:target ?p ; rdfs:label ?probe . FILTER(LANG(?probe) = "en")
  SERVICE w:search {
    ?hit w:query ?words ; w:subject ?probe_ ; w:predicate s:description ; w:language "en" ; w:score ?score ; w:limit 2
  }
} ORDER BY ?planet DESC(?score)"""

WHO = """
SELECT ?agency (COUNT(DISTINCT ?m) AS ?missions) (SAMPLE(?mission) AS ?one) WHERE {
  SERVICE w:search { ?hit w:query "crew in danger, explosion, rescue" ; w:subject ?m ; w:language "en" ; w:limit 20 }
  ?m s:agency/rdfs:label ?agency ; rdfs:label ?mission . FILTER(LANG(?agency) = "en" && LANG(?mission) = "en")
} GROUP BY ?agency ORDER BY DESC(?missions) ?agency LIMIT 5"""

FROM_JENA = """
PREFIX text: <http://jena.apache.org/text#>
SELECT ?rover ?passage WHERE {
  ?r a s:Rover ; rdfs:label ?rover . FILTER(LANG(?rover) = "en")
  (?r ?score ?passage) text:query (s:description "wheels rocks" 3 "lang:en" "highlight:s:[ | e:]") .
} ORDER BY DESC(?score)"""

ALIKE = """
SELECT ?telescope ?likeness WHERE {
  ?t a s:SpaceTelescope ; rdfs:label ?telescope ; s:description ?about .
  FILTER(LANG(?telescope) = "en" && LANG(?about) = "en")
  BIND(ROUND(100 * w:similarity(?about, "hunting for planets of other stars")) AS ?likeness)
} ORDER BY DESC(?likeness) LIMIT 3"""


def main() -> None:
    path = sys.argv[1] if len(sys.argv) > 1 else ":memory:"
    with worlds.open(path) as w:
        meaning = w.embedder.name if w.embedder else "no embedder is installed, so search is by words alone"
        console.print(f"Loading {KNOWLEDGE.name}; meaning by: {meaning}")
        w.load(KNOWLEDGE)
        tell(w, "The best four, among what was launched since 1999: the pattern is the filter", LAUNCHED_SINCE)
        tell(
            w,
            "A search for each planet, by its name, among the probes that went there",
            FOR_EACH_PLANET,
        )
        tell(w, "Hits, counted", WHO)
        tell(w, "A query written for Apache Jena", FROM_JENA)
        if w.embedder:
            tell(w, "A text's likeness, in percent, as a function", ALIKE)
        console.print(f"Quads, chunks, full-text and vectors agree: [bold]{'yes' if w.check().ok else 'no'}[/]")


def tell(w: worlds.World, title: str, query: str) -> None:
    console.print(f"\n[bold]{title}[/]\n[dim]{escape(query.strip())}[/]")
    solutions = w.query(query)
    assert isinstance(solutions, worlds.records.Solutions)
    table = Table(*solutions.variables)
    for row in solutions:
        table.add_row(*[escape(f"{value.toPython():.4f}" if is_fraction(value) else str(value)) for value in row])
    console.print(table)


def is_fraction(value: object) -> bool:
    return isinstance(getattr(value, "value", None), float) and not float(str(value)).is_integer()


if __name__ == "__main__":
    main()
