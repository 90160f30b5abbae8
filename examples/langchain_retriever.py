"""LangChain over a world: a retriever with structural filters, a prompt with citations, a vector store of notes.

    python examples/langchain_retriever.py [WORLD]

WORLD is the file to make; without it, a temporary one. Needs the extra `langchain`, and no language model: the prompt
that one would get is printed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from rich.console import Console
from rich.markup import escape

import worlds
from worlds.adapters.langchain import WorldsRetriever, WorldsVectorStore

FOLDER = Path(__file__).parent
console = Console(highlight=False, soft_wrap=True)

PROMPT = ChatPromptTemplate.from_messages(
    [
        ("system", "Answer from the passages alone, and cite them by their numbers.\n\n{passages}"),
        ("human", "{question}"),
    ]
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder, "space.db")
        with worlds.open(path) as w:
            meaning = w.embedder.name if w.embedder else "no embedder is installed, so search is by words alone"
            console.print(f"[bold]{path.name}[/]: loading space.ttl; meaning by: {meaning}")
            w.load(FOLDER / "space.ttl")
            ask(w)
            keep_notes(w)
            report = w.check()
            console.print(f"\nQuads, chunks, full-text and vectors agree: [bold]{'yes' if report.ok else 'no'}[/]")


def cited(passages: list[Document]) -> str:
    """The passages with their numbers, each with the subject and predicate that it comes from."""
    lines = []
    for number, passage in enumerate(passages, 1):
        subject, predicate = passage.metadata["quads"][0][:2]
        lines.append(f"[{number}] {passage.metadata['label']}: {passage.page_content}\n    from {subject} {predicate}")
    return "\n".join(lines)


def ask(w: worlds.World) -> None:
    """The prompt for a question about missions launched since 2000."""
    retriever = WorldsRetriever(
        world=w,
        k=3,
        types="s:Mission",
        subclasses=True,
        predicates="s:description",
        languages="en",
        where="?subject s:launched ?day FILTER(?day >= '2000-01-01'^^xsd:date)",
    )
    chain = {"passages": retriever | cited, "question": RunnablePassthrough()} | PROMPT
    for message in chain.invoke("Which missions brought soil of another world to Earth?").to_messages():
        console.print(f"\n[bold]{message.type}[/]\n{escape(str(message.content))}")


def keep_notes(w: worlds.World) -> None:
    """Notes as documents of a vector store, in a graph of the same world; a note about Saturn is part of the graph."""
    mode = "vector" if w.embedder else "text"
    store = WorldsVectorStore(w, graph="https://worlds.example/notes", mode=mode, author="ann")
    store.add_documents(
        [
            Document(id="saturn", page_content="The rings were seen edge-on last night.", metadata={"year": 2025}),
            Document(
                id="mars", page_content="A dust storm hid the rings of hills at the pole.", metadata={"year": 2022}
            ),
        ]
    )
    w.add([("urn:worlds:document:saturn", "dcterms:subject", "ex:Saturn", "https://worlds.example/notes")])
    console.print("\n[bold]Notes[/]")
    for title, found in (
        ("since 2024", store.similarity_search("rings", filter={"year": {"$gte": 2024}})),
        ("about Saturn", store.similarity_search("rings", where="?subject dcterms:subject ex:Saturn")),
    ):
        console.print(f"  {title}: {', '.join(f'{note.id} {note.metadata}' for note in found)}")


if __name__ == "__main__":
    main()
