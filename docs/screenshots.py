"""Make the screenshots of the web page in docs/server.md: a real server, the world of examples/space.ttl, and Chromium.

    python docs/screenshots.py [NAME ...]

It needs the extras server and dev, a Chromium on the PATH, and best a model (the extra model).
"""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from PIL import Image
from playwright.sync_api import sync_playwright

import worlds

ROOT = Path(__file__).resolve().parents[1]
IMAGES = Path(__file__).with_name("images")
EX = "https://worlds.example/space/"
COMMENT = "http://www.w3.org/2000/01/rdf-schema#comment"
WIDE = {"width": 1200, "height": 800}
SMALL = {"width": 360, "height": 720}
MOST = 150_000  # bytes of an image
ROVERS = """SELECT ?rover ?launched ?score ?text WHERE {
  ?rover a s:Rover ; s:launched ?launched .
  SERVICE w:search {
    ?hit w:query "signs of ancient water" ; w:limit 10 ; w:language "en" ;
         w:subject ?rover ; w:score ?score ; w:text ?text .
  }
} ORDER BY DESC(?score)"""
STATIONS = """CONSTRUCT { ?a ?property ?b } WHERE {
  SERVICE w:search {
    ?hit w:query "space station" ; w:subject ?a ; w:limit 12 .
  }
  ?a ?property ?b .
  FILTER(isIRI(?b) && ?property != rdf:type)
} LIMIT 60"""
MISSIONS = """SELECT ?target (COUNT(?mission) AS ?missions) WHERE {
  ?mission s:target ?target
} GROUP BY ?target ORDER BY DESC(?missions) LIMIT 12"""


def build(path: Path) -> None:
    """A world with a history."""
    with worlds.open(path) as world:
        world.load(ROOT / "examples" / "space.ttl", author="ann", message="The space of space.ttl")
        world.update(
            'INSERT DATA { ex:Sojourner skos:altLabel "Micro rover"@en ; s:carries ex:APXS . '
            'ex:APXS rdfs:label "Alpha proton X-ray spectrometer"@en }',
            author="ben",
            message="What Sojourner carried",
        )
        world.update(
            "DELETE { ?r s:massKg ?old } INSERT { ?r s:massKg 11.5 } "
            "WHERE { VALUES ?r { ex:Sojourner } ?r s:massKg ?old }",
            author="carla",
            message="The mass of Sojourner, with its mounts",
        )
        world.load(
            f'<{EX}Mars> <{COMMENT}> "Next opposition: February 2027."@en .'.encode(),
            format="nt",
            graph="urn:notes",
            author="ann",
            message="Notes of the observers",
        )


@contextmanager
def serving(path: Path) -> Iterator[str]:
    """The address of a server of the world."""
    command = [sys.executable, "-m", "worlds", "serve", str(path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().rpartition(" ")[2].strip()
            for number in range(8):  # each of its processes opens the world and the model at its first search
                with urlopen(f"{address}/search?q=warm+{number}&types=ex:Warm&facets=true") as answer:
                    answer.read()
            yield address
        finally:
            process.terminate()


SHOTS: dict[str, tuple[dict[str, str], str]] = {  # name → the state, and what must be there
    "start": ({}, ".figures"),
    "search": ({"q": "soil from another world", "languages": "en"}, ".facet"),
    "explanation": ({"q": "who walked on the moon", "languages": "en"}, ".facet"),
    "entity": ({"entity": f"{EX}Sojourner"}, ".short-list"),
    "query": ({"query": ROVERS}, ".results-head"),
    "graph": ({"query": STATIONS, "as": "graph"}, ".results-head"),
    "chart": ({"query": MISSIONS, "as": "chart"}, ".results-head"),
    "history": ({"history": "3"}, ".diff"),
}
DARK = ("search", "entity", "graph")
ON_A_PHONE = ("search", "entity", "query", "history")


def shots() -> Iterator[tuple[str, str, dict[str, int], str]]:
    """What is taken: the file's name, the view, the window, the colours."""
    for name in SHOTS:
        yield name, name, WIDE, "light"
    for name in DARK:
        yield f"{name}-dark", name, WIDE, "dark"
    for name in ON_A_PHONE:
        yield f"{name}-small", name, SMALL, "light"


def save(picture: bytes, path: Path) -> None:
    """Write a picture with as many colours as it may have."""
    with Image.open(io.BytesIO(picture)) as image:
        for colours in (256, 128, 64):
            image.convert("RGB").quantize(colours, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
                path, optimize=True
            )
            if path.stat().st_size < MOST:
                return
    raise SystemExit(f"{path} has {path.stat().st_size} bytes")


def take(browser: Any, address: str, wanted: list[str]) -> None:
    """Take the pictures."""
    for file, name, window, scheme in shots():
        if wanted and not any(re.fullmatch(one, file) for one in wanted):
            continue
        state, ready = SHOTS[name]
        context = browser.new_context(viewport=window, color_scheme=scheme)
        page = context.new_page()
        page.goto(f"{address}/#{urlencode(state)}")
        page.wait_for_load_state("networkidle")
        page.locator(ready).first.wait_for(state="attached")
        if name == "explanation":
            page.locator(".hit .why").first.click()
            page.locator(".legs").wait_for()
        page.wait_for_load_state("networkidle")
        page.evaluate("document.activeElement?.blur()")
        page.wait_for_timeout(400)
        save(page.screenshot(), IMAGES / f"page-{file}.png")
        context.close()
        print(f"page-{file}.png", (IMAGES / f"page-{file}.png").stat().st_size, "bytes")


def main() -> None:
    """All of them, or those that are named."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "space.db"
        build(path)
        with serving(path) as address, sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            take(browser, address, sys.argv[1:])
            browser.close()


if __name__ == "__main__":
    main()
