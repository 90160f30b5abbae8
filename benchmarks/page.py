"""How long the web page's views take to their first content, in a real browser, on worlds of many texts.

    python -m benchmarks.page [--texts 50000] [--texts 500000] [--rounds 7]

Each view is opened by a click on a link of the page, as a person does it, once to warm up and then some times; the time
goes from the click to the first frame in which the content is visible. It needs a Chromium on the PATH.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

import worlds
from benchmarks.common import Sentences, environment, median, table, vocabulary

EX = "http://ex.org/"
SHAPES = f"""@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix ex: <{EX}> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:PersonShape a sh:NodeShape ; sh:targetClass ex:Person ; sh:property
  [ sh:path rdfs:label ; sh:minCount 1 ; sh:order 1 ] , [ sh:path ex:worksFor ; sh:class ex:Firm ; sh:maxCount 1 ] ."""
VIEWS: dict[str, tuple[dict[str, str], str]] = {  # name → the state, and its first content
    "start": ({}, ".figures"),
    "search": ({"q": "p5"}, ".hit"),
    "entity": ({"entity": f"{EX}p5"}, ".properties"),
    "edit": ({"edit": f"{EX}p5"}, ".field"),
    "new": ({"new": ""}, ".new-form"),
    "merge": ({"merge": f"{EX}p5", "with": f"{EX}p6"}, ".sides"),
    "review": ({"review": ""}, ".review-group .item"),
    "health": ({"health": ""}, ".health-view .figures"),
    "query": ({"query": f"SELECT ?o {{ <{EX}p5> ?p ?o }}"}, ".results-head"),
    "update": ({"query": f'INSERT DATA {{ <{EX}p5> <{EX}x> "y" }}'}, ".output .diff"),
    "history": ({"history": "2"}, ".diff"),
    "browse": ({"browse": ""}, ".tree-links a"),
    "tree": ({"browse": "http://www.w3.org/2000/01/rdf-schema#subClassOf"}, ".tree-name"),
    "members": ({"browse": f"{EX}Person"}, ".member-list a"),
}


def build(path: Path, texts: int) -> None:
    """A world of persons, each with a name and a description, and of firms; with proposals, shapes and a history."""
    chance, words = random.Random(1), Sentences(vocabulary(20_000), 1)
    persons = texts // 2
    with worlds.open(path, embedder=None) as world:
        world.bind("ex", EX)
        lines = []
        for n in range(persons):
            lines.append(
                f'<{EX}p{n}> a <{EX}Person> ; <http://www.w3.org/2000/01/rdf-schema#label> "{words(2)} p{n}"@en ; '
                f'<http://www.w3.org/2000/01/rdf-schema#comment> "{words(25)}"@en ; <{EX}born> {1900 + n % 100} ; '
                f"<{EX}worksFor> <{EX}f{chance.randrange(max(1, persons // 50))}> ; "
                f"<{EX}knows> <{EX}p{chance.randrange(persons)}> ."
            )
        for n in range(max(1, persons // 50)):
            lines.append(f'<{EX}f{n}> a <{EX}Firm> ; <http://www.w3.org/2000/01/rdf-schema#label> "firm {n}" .')
        world.load("\n".join(lines).encode(), format="turtle", author="ann", message="persons and firms")
        world.shapes.load(SHAPES.encode(), format="turtle")
        world.add([("ex:p5", "ex:born", 1850)], author="bob", message="another year")
        for n in range(200):
            world.proposals.add(
                add=[(f"ex:p{n}", "ex:nick", f'"nick {n}"')], why=f"heard so {n}", confidence=n / 200, author="agent"
            )


@contextmanager
def serving(path: Path) -> Iterator[str]:
    """The address of a server of the world."""
    options = ("--port", "0", "--allow-writes", "--embedder", "none")
    command = [sys.executable, "-m", "worlds", "serve", str(path), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().rpartition(" ")[2].strip()
        finally:
            process.terminate()


CLICK = """async ([address, ready]) => {
    const link = document.createElement("a");
    link.href = address;
    document.getElementById("main").append(link);
    const began = performance.now();
    link.click();
    for (;;) {
        const found = document.querySelector("#main " + ready);
        if (found && found.checkVisibility()) break;
        await new Promise((resolve) => requestAnimationFrame(resolve));
        if (performance.now() - began > 60000) return -1;
    }
    return performance.now() - began;
}"""


def measure(page: Any, address: str, rounds: int) -> dict[str, list[float]]:
    """Milliseconds to the first content of each view, of some rounds; the first round only warms up."""
    found: dict[str, list[float]] = {name: [] for name in VIEWS}
    for number in range(rounds + 1):
        for name, (state, ready) in VIEWS.items():
            page.goto(f"{address}/#{urlencode({'history': ''} if name != 'history' else {'new': ''})}")
            page.wait_for_load_state("networkidle")
            taken = page.evaluate(CLICK, [f"#{urlencode(state)}", ready])
            page.wait_for_load_state("networkidle")
            if number:
                found[name].append(taken)
    return found


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--texts", type=int, action="append", help="texts of a world; may be repeated")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    environment()
    rows = []
    for texts in options.texts or [50_000, 500_000]:
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
            path = Path(folder) / "page.db"
            build(path, texts)
            with serving(path) as address:
                browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                found = measure(page, address, options.rounds)
                browser.close()
        rows += [[f"{texts:,}", name, f"{median(taken):.0f}", f"{max(taken):.0f}"] for name, taken in found.items()]
    table("First content after a click, milliseconds", ["texts", "view", "median", "most"], rows)


if __name__ == "__main__":
    main()
