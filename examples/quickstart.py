"""Worlds in a minute: load a knowledge base, search it by meaning and structure, ask it with SPARQL.

    python examples/quickstart.py [WORLD]

WORLD is the file to make; without it, a temporary one.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

import worlds

KNOWLEDGE = Path(__file__).parent / "space.ttl"
console = Console(highlight=False, soft_wrap=True)


def show(title: str, code: str, hits: worlds.records.SearchResults) -> None:
    console.print(f"\n[bold]{title}[/]\n[dim]{escape(code)}[/]")
    for number, hit in enumerate(hits, 1):
        kinds = ", ".join(str(kind).rsplit("#", 1)[-1] for kind in hit.types)
        console.print(f" {number}. [bold cyan]{escape(hit.label or str(hit.subject))}[/] [dim]({kinds})[/]")
        console.print(f"    {escape(hit.snippet)}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder, "space.db")
        with worlds.open(path) as w:
            meaning = w.embedder.name if w.embedder else "no embedder is installed, so search is by words alone"
            console.print(f"[bold]{path.name}[/]: loading {KNOWLEDGE.name}; meaning by: {meaning}")
            change = w.load(KNOWLEDGE)
            console.print(
                f"{change.added:,} quads, {change.chunks:,} chunks of text, {change.embedded:,} of them embedded; "
                f"revision {change.revision}"
            )
            tell(w)


def tell(w: worlds.World) -> None:
    """Search with and without filters, explain a score, and ask in SPARQL."""
    question = "stealing speed from a planet to fly further without fuel"
    show("By meaning and by words at once", f'w.search("{question}")', w.search(question, limit=3))

    question = "chemistry lab in a dry lake bed"
    show(
        "Only what is said of rovers",
        f'w.search("{question}", types="s:Rover", predicates="s:description", languages="en")',
        w.search(question, types="s:Rover", predicates="s:description", languages="en", limit=2),
    )

    question = "bringing back soil from another world"
    where = "?subject s:launched ?day FILTER(?day >= '2000-01-01'^^xsd:date)"
    show(
        "Any kind of mission, launched since 2000",
        f'w.search("{question}", types="s:Mission", subclasses=True, languages="en",\n         where="{where}")',
        w.search(question, types="s:Mission", subclasses=True, where=where, languages="en", limit=2),
    )

    question = "Rakete, deren erste Stufe wieder landet"
    show(
        "In German",
        f'w.search("{question}", predicates="s:description", languages="de")',
        w.search(question, predicates="s:description", languages="de", limit=2),
    )

    hit = w.search("steering by the gravity of a planet", explain=True, limit=1)[0]
    console.print(f"\n[bold]Why is this first?[/] {escape(hit.label or '')}, score {hit.score:.4f}")
    for name, leg in (hit.explain or {}).items():
        console.print(f"  {name}: rank {leg.rank}, value {leg.value:.3f}, contributes {leg.contribution:.4f}")
    subject, predicate, literal, _ = hit.quads[0]
    console.print(f"  cited: {subject} {predicate.rsplit('#', 1)[-1]} {escape(str(literal)[:60])}…")

    query = """SELECT ?telescope (MIN(?launch) AS ?launched) (COUNT(DISTINCT ?partner) AS ?agencies) WHERE {
  ?t a s:SpaceTelescope ; rdfs:label ?telescope ; s:launched ?launch ; s:agency ?partner .
  FILTER(LANG(?telescope) = 'en')
} GROUP BY ?telescope ORDER BY DESC(?launched) LIMIT 5"""
    console.print(f"\n[bold]In SPARQL[/]\n[dim]{escape(query)}[/]")
    solutions = w.query(query)
    assert isinstance(solutions, worlds.records.Solutions)
    table = Table(*solutions.variables)
    for row in solutions:
        table.add_row(*[str(value) for value in row])
    console.print(table)

    report = w.check()
    console.print(f"Quads, chunks, full-text and vectors agree: [bold]{'yes' if report.ok else 'no'}[/]")


if __name__ == "__main__":
    main()
