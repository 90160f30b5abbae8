"""LlamaIndex over a world: a retriever with structural filters, a prompt with citations, a property graph.

    python examples/llamaindex_retriever.py [WORLD]

WORLD is the file to make; without it, a temporary one. Needs the extra `llamaindex`, and no language model: the prompts
that one would get are printed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from llama_index.core.graph_stores.types import EntityNode, Relation
from llama_index.core.prompts import PromptTemplate
from rich.console import Console
from rich.markup import escape

import worlds
from worlds.adapters.llamaindex import WorldsPropertyGraphStore, WorldsRetriever

FOLDER = Path(__file__).parent
console = Console(highlight=False, soft_wrap=True)

PROMPT = PromptTemplate(
    "Answer from the passages alone, and cite them by their numbers.\n\n{passages}\n\nQuestion: {question}\nAnswer: "
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder, "space.db")
        with worlds.open(path) as w:
            meaning = w.embedder.name if w.embedder else "no embedder is installed, so search is by words alone"
            console.print(f"[bold]{path.name}[/]: loading space.ttl; meaning by: {meaning}")
            w.load(FOLDER / "space.ttl")
            ask(w)
            walk(w)
            report = w.check()
            console.print(f"\nQuads, chunks, full-text and vectors agree: [bold]{'yes' if report.ok else 'no'}[/]")


def ask(w: worlds.World) -> None:
    """The prompt for a question about rovers."""
    question = "Which rover makes oxygen, or looks for traces of life?"
    retriever = WorldsRetriever(w, limit=3, types="s:Rover", predicates="s:description", languages="en")
    passages = []
    for number, found in enumerate(retriever.retrieve(question), 1):
        subject, predicate = found.metadata["quads"][0][:2]
        passages.append(f"[{number}] {found.metadata['label']}: {found.text}\n    from {subject} {predicate}")
    console.print(f"\n[bold]The prompt[/]\n{escape(PROMPT.format(passages=chr(10).join(passages), question=question))}")


def walk(w: worlds.World) -> None:
    """The world's RDF as a property graph, and what an extractor found in a text, written beside it."""
    store = WorldsPropertyGraphStore(w, author="extractor")
    store.upsert_nodes([EntityNode(name="Linda Spilker", label="PERSON", properties={"born": 1955})])
    store.upsert_relations(
        [Relation(label="LED", source_id="Linda Spilker", target_id="ex:CassiniHuygens", properties={"since": 2010})]
    )
    console.print("\n[bold]Around Cassini–Huygens[/]")
    for subject, relation, value in store.get_triplets(ids=["ex:CassiniHuygens"], relation_names=["LED", "s:target"]):
        console.print(escape(f"  {subject.id} -> {relation} -> {value.id}"))
    rows = store.structured_query(
        "SELECT ?name ?agency { ?m s:target ?planet ; rdfs:label ?name ; s:agency/rdfs:label ?agency "
        "FILTER(LANG(?name) = 'en' && LANG(?agency) = 'en') } ORDER BY ?name ?agency LIMIT 3",
        {"planet": "ex:Saturn"},
    )
    console.print(escape(f"  in SPARQL: {rows}"))
    schema = store.get_schema_str().splitlines()
    console.print(f"\n[bold]What a language model is told of the schema[/], {len(schema)} lines")
    for line in [*schema[:2], *(line for line in schema if "s:target" in line)]:
        console.print(escape(f"  {line}"))


if __name__ == "__main__":
    main()
