"""Curating a knowledge base: correct it, merge duplicates, propose and decide, take it back, hand it on.

    python examples/curation.py [WORLD]

WORLD is the file to make; without it, a temporary one.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

import worlds

KNOWLEDGE = Path(__file__).parent / "space.ttl"
IMPORT = b"""
@prefix ex: <https://worlds.example/space/> .
@prefix s: <https://worlds.example/space/schema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:Mars2020Rover a s:Rover ; rdfs:label "Mars 2020 rover"@en ; s:agency ex:NASA ; s:target ex:Mars ;
    s:description "The rover that caches samples of Martian rock for a later return to Earth."@en .
ex:MOXIE rdfs:label "MOXIE"@en ; s:partOf ex:Mars2020Rover ;
    s:description "An instrument that made oxygen out of the carbon dioxide of the Martian air."@en .
"""
console = Console(highlight=False, soft_wrap=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(folder, "space.db")
        with worlds.open(path) as w:
            meaning = w.embedder.name if w.embedder else "no embedder is installed, so search is by words alone"
            console.print(f"[bold]{path.name}[/]: loading {KNOWLEDGE.name}; meaning by: {meaning}")
            w.load(KNOWLEDGE, author="import", message="the knowledge base")
            w.load(IMPORT, format="turtle", author="import", message="what a partner sent")
            w.file.backup(Path(folder, "copy.db"))
            correct(w)
            merge(w)
            propose(w)
            look_back(w)
            hand_on(w, Path(folder, "copy.db"))
            report = w.check()
            console.print(f"\nQuads, chunks, full-text and vectors agree: [bold]{'yes' if report.ok else 'no'}[/]")


def correct(w: worlds.World) -> None:
    """Two corrections, one revision with its author and its reason."""
    with w.transaction(author="ann", message="people call it Curiosity"):
        for language in ("en", "de"):
            w.remove([("ex:Curiosity", "rdfs:label", f'"Mars Science Laboratory"@{language}')])
            w.remove([("ex:Curiosity", "skos:altLabel", f'"Curiosity"@{language}')])
            w.add([("ex:Curiosity", "rdfs:label", f'"Curiosity"@{language}')])
            w.add([("ex:Curiosity", "skos:altLabel", f'"Mars Science Laboratory"@{language}')])


def merge(w: worlds.World) -> None:
    """What the partner sent under another name is one with what is there."""
    console.print("\n[bold]What a merge would do[/]")
    show(w, w.curation.merge("ex:Perseverance", "ex:Mars2020Rover", dry_run=True))
    change = w.curation.merge("ex:Perseverance", "ex:Mars2020Rover", author="ann", message="one rover, two names")
    for note in change.notes:
        console.print(f"  [yellow]{escape(note)}[/]")
    console.print(f"  the old name leads on: ex:Mars2020Rover is {w.describe('ex:Mars2020Rover').label}")


def propose(w: worlds.World) -> None:
    """A program proposes, a person decides."""
    alias = '"M2020"@en'
    good = w.proposals.add(
        add=[("ex:Perseverance", "skos:altLabel", alias)], why="the team calls it so", confidence=0.9, author="bot"
    )
    bad = w.proposals.add(
        remove=[("ex:MOXIE", "rdfs:label", '"MOXIE"@en')], why="an acronym", confidence=0.3, author="bot"
    )
    console.print("\n[bold]What is proposed[/]")
    for proposal in w.proposals.list():
        console.print(f"  {proposal.id}. {proposal.author}, {proposal.confidence}: {proposal.why}")
    w.proposals.accept(good.id, reviewer="ann")
    w.proposals.reject(bad.id, "it is what it is called", reviewer="ann")
    console.print("\n[bold]What happened so far[/]")
    for entry in w.history():
        who = f"{entry.author}: {entry.message}"
        console.print(f"  {entry.revision}. +{entry.added} -{entry.removed}  {escape(who)}")


def show(w: worlds.World, diff: worlds.records.Diff) -> None:
    """The quads of a difference, with the prefixes of the world."""
    for sign, style, quads in (("-", "red", diff.removed), ("+", "green", diff.added)):
        for subject, predicate, value, _ in quads:
            words = " ".join(short(w, term) for term in (subject, predicate, value))
            console.print(f"  [{style}]{sign} {escape(words)}[/]")


def short(w: worlds.World, term: Any) -> str:
    """A term for a person."""
    if hasattr(term, "language"):
        text = str(term)
        return f'"{text if len(text) < 60 else text[:57] + "..."}"'
    namespace = max((iri for iri in w.prefixes.values() if str(term).startswith(iri)), key=len, default=None)
    if namespace is None:
        return f"<{term}>"
    prefix = next(prefix for prefix, iri in w.prefixes.items() if iri == namespace)
    return f"{prefix}:{str(term).removeprefix(namespace)}"


def look_back(w: worlds.World) -> None:
    """Ask an earlier state, and take a correction back."""
    query = "SELECT ?label { ex:Curiosity rdfs:label ?label FILTER(LANG(?label) = 'en') }"
    console.print(f"\n[bold]The label of ex:Curiosity[/] [dim]{escape(query)}[/]")
    for revision in (1, 5):
        row = w.at(revision).query(query)[0]  # type: ignore[index]
        console.print(f"  after revision {revision}: {row.label}")
    change = w.undo(3, author="bob", message="the mission keeps its official name")
    row = w.query(query)[0]  # type: ignore[index]
    console.print(f"  after undoing revision 3 in revision {change.revision}: {row.label}")
    try:
        w.undo(3)
    except worlds.ConflictError as error:
        console.print(f"  undoing it twice: [dim]{escape(str(error))}[/]")
    found = w.search("oxygen out of Martian air", limit=1)[0]
    console.print(f"\n[bold]The merged rover is found by its parts[/]\n  {escape(found.snippet)}")
    for part in w.at(change.revision or 0).quads(subject=found.subject, predicate="s:partOf"):
        console.print(f"  part of {short(w, part[2])}")


def hand_on(w: worlds.World, copy: Path) -> None:
    """Bring a copy of the world up to date with a patch."""
    patch = w.revisions.patch(2)
    console.print("\n[bold]The corrections as an RDF Patch[/]")
    for line in patch.splitlines()[:6]:
        console.print(f"  [dim]{escape(line[:110])}[/]")
    console.print(f"  [dim]… {patch.count(chr(10))} rows[/]")
    with worlds.open(copy, embedder=None) as other:
        change = other.revisions.apply(patch, author="ann", message="corrections")
        same = sorted(other.revisions.patch(2).splitlines()[2:]) == sorted(patch.splitlines()[2:])
        console.print(
            f"  applied to a copy: +{change.added} -{change.removed}; the same now: {'yes' if same else 'no'}"
        )


if __name__ == "__main__":
    main()
