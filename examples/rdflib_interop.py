"""One world in two hands: rdflib writes and reads it, Worlds searches it and keeps its history.

    python examples/rdflib_interop.py [WORLD]

WORLD is the file to make; without it, a temporary one.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from rdflib import RDF, RDFS, Dataset, Graph, Literal, Namespace, URIRef
from rich.console import Console
from rich.markup import escape

import worlds
from worlds.adapters.rdflib_store import WorldsStore

KNOWLEDGE = Path(__file__).parent / "space.ttl"
SPACE = Namespace("https://worlds.example/space/schema#")
THINGS = Namespace("https://worlds.example/space/")
NOTES = URIRef("https://worlds.example/notes")
console = Console(highlight=False, soft_wrap=True)


def show(title: str, code: str) -> None:
    console.print(f"\n[bold]{title}[/]\n[dim]{escape(code)}[/]")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder, "space.db")
        with worlds.open(path) as w:
            meaning = w.embedder.name if w.embedder else "no embedder is installed, so search is by words alone"
            console.print(f"[bold]{path.name}[/]: loading {KNOWLEDGE.name}; meaning by: {meaning}")
            change = w.load(KNOWLEDGE)
            console.print(f"{change.added:,} quads in revision {change.revision}")
            read(w)
            write(w)
            ask(w)
            take_out(w)
            report = w.check()
            console.print(f"\nQuads, chunks, full-text and vectors agree: [bold]{'yes' if report.ok else 'no'}[/]")


def read(w: worlds.World) -> None:
    """rdflib's own way of walking a graph, over the file."""
    show(
        "rdflib reads the world",
        "for rover in Dataset(WorldsStore(w)).default_graph.subjects(RDF.type, SPACE.Rover): …",
    )
    graph = Dataset(WorldsStore(w)).default_graph
    for rover in sorted(graph.subjects(RDF.type, SPACE.Rover))[:3]:
        name = next(label for label in graph.objects(rover, RDFS.label) if label.language == "en")
        launched = graph.value(rover, SPACE.launched)
        console.print(f" {name}: {len([*graph.predicate_objects(rover)])} statements, launched {launched}")


def write(w: worlds.World) -> None:
    """What rdflib adds is one revision where a transaction says so, and is found at once."""
    show(
        "rdflib writes, Worlds finds",
        "notes = Graph(WorldsStore(w, autocommit=False), NOTES); notes.add(…); notes.commit(); w.search(…)",
    )
    notes = Graph(WorldsStore(w, autocommit=False), NOTES)
    for number, text in enumerate(["The rings were seen edge-on.", "Clouds until midnight, then a meteor."], 1):
        note = URIRef(f"{NOTES}#{number}")
        notes.add((note, RDFS.comment, Literal(text, lang="en")))
        notes.add((note, SPACE.target, THINGS.Saturn))
    notes.commit()
    hit = w.search("rings edge-on", graphs=NOTES)[0]
    console.print(f" {hit.subject} in <{hit.graph}>: {hit.snippet}")
    entry = w.history()[0]
    console.print(f" revision {entry.revision}: {entry.added} added, {entry.removed} removed")


def ask(w: worlds.World) -> None:
    """A query of an rdflib dataset is answered by the world's engine, over all graphs or one."""
    query = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
    show("rdflib asks, Worlds answers", f'Dataset(WorldsStore(w), default_union=True).query("{query}")')
    store = WorldsStore(w)
    for name, graph in (("all graphs", Dataset(store, default_union=True)), ("the notes", Graph(store, NOTES))):
        for row in graph.query(query):
            console.print(f" {name}: {row[0]} triples")  # type: ignore[index]  # a SELECT's row


def take_out(w: worlds.World) -> None:
    """A copy in memory for what wants one, as validators do; and its graphs back into another world."""
    show("A copy in memory, and back", "copy = w.to_rdflib(); worlds.open().add(copy)")
    copy = w.to_rdflib()
    with worlds.open(embedder=None) as other:
        other.add(copy)
        same = {*other.quads()} == {*w.quads()}
        console.print(
            f" {len(copy):,} triples in {len([*copy.graphs()])} graphs; the same quads again: {'yes' if same else 'no'}"
        )


if __name__ == "__main__":
    main()
